// The page: tabs for what the pack holds, one input, an address that reproduces the view.
import { ask, Failed, get } from "./api.js";
import { annotate } from "./annotate.js";
import { el, empty } from "./dom.js";
import { kit } from "./kit.js";
import { VIEWS } from "./views.js";

const $ = (id) => document.getElementById(id);
const FIELDS = {
  text: [["text", "Text, a sentence a line", "textarea"], ["raw", "Running text: split it into sentences and tokens", "checkbox"]],
  pair: [["source", "Sentences, one a line", "textarea"], ["target", "Their translations, one a line", "textarea"]],
  names: [["names", "Names, one a line", "textarea"]],
  word: [["word", "Word", "search"]],
};
const state = { view: "", text: "", raw: false, source: "", target: "", names: "", word: "", model: {} };
let pack = { models: [] };
let running = null;

// ---- what the pack can do

const modelsWith = (task, verb) => pack.models.filter((model) => model.verbs.some((v) => v.task === task && v.name === verb));
const knows = (task, verb) => modelsWith(task, verb).length > 0;
function chosen(task, verb) {
  const models = modelsWith(task, verb);
  return (models.find((model) => model.name === state.model[task]) ?? models[0]).name;
}

function views() {
  const found = VIEWS.filter((view) => knows(view.task, view.verb));
  if (pack.report) found.push({ id: "report", title: "Report", page: report });
  if (pack.pack) {
    if (pack.models.some((model) => model.verbs.some((v) => v.name === "doubts"))) found.push({ id: "annotate", title: "Annotate", page: annotate });
    found.push({ id: "kit", title: "Kit", page: kit });
  }
  return found;
}

function report() {
  return [el("iframe", { src: "/report", title: "Report of the pack", sandbox: "" })];
}

// ---- the address

function read() {
  const [view, ...rest] = location.hash.slice(1).split("&");
  const given = new URLSearchParams(rest.join("&"));
  for (const name of ["text", "source", "target", "names", "word"]) state[name] = given.get(name) ?? "";
  state.raw = given.has("raw");
  for (const [name, value] of given) if (name.startsWith("model.")) state.model[name.slice(6)] = value;
  state.view = view;
}

function write(replace = false) {
  const view = views().find((each) => each.id === state.view);
  const given = new URLSearchParams();
  for (const [name] of view?.input ? FIELDS[view.input] : []) if (state[name]) given.set(name, name === "raw" ? "1" : state[name]);
  if (view?.task && state.model[view.task]) given.set(`model.${view.task}`, state.model[view.task]);
  const hash = `#${state.view}${given.size ? `&${given}` : ""}`;
  if (hash.length > 30000) return;
  if (replace) history.replaceState(null, "", hash); else if (hash !== location.hash) history.pushState(null, "", hash);
}

// ---- the parts of the page

function tell(message, kind = "") {
  $("status").textContent = message;
  $("status").className = kind;
}

function drawTabs() {
  const all = views();
  $("tabs").replaceChildren(...all.map((view) => el("button", {
    role: "tab", type: "button", id: `tab-${view.id}`, "aria-selected": String(view.id === state.view),
    "aria-controls": "output", tabindex: view.id === state.view ? "0" : "-1", onclick: () => go(view.id),
  }, view.title)));
}

$("tabs").addEventListener("keydown", (event) => {
  const all = views();
  const at = all.findIndex((view) => view.id === state.view);
  const step = { ArrowRight: 1, ArrowLeft: -1, Home: -at, End: all.length - 1 - at }[event.key];
  if (step === undefined) return;
  event.preventDefault();
  go(all[(at + step + all.length) % all.length].id);
  $(`tab-${state.view}`).focus();
});

function drawInput(view) {
  const form = $("input");
  form.className = view.input ?? "";
  const fields = (view.input ? FIELDS[view.input] : []).map(([name, label, kind]) => {
    const set = (event) => { state[name] = kind === "checkbox" ? event.target.checked : event.target.value; };
    const shared = { id: `field-${name}`, name, oninput: set, dir: "auto", spellcheck: "false", autocomplete: "off" };
    if (kind === "checkbox") return el("label", { class: "inline" }, el("input", { type: "checkbox", id: shared.id, name, onchange: set, checked: state[name] }), label);
    const field = kind === "textarea" ? el("textarea", { ...shared, rows: 3 }) : el("input", { ...shared, type: kind });
    field.value = state[name];
    return el("label", {}, label, field);
  });
  const models = view.task ? modelsWith(view.task, view.verb) : [];
  const choose = models.length < 2 ? null : el("label", { class: "inline" }, "Model ", el("select", {
    onchange: (event) => { state.model[view.task] = event.target.value; },
  }, models.map((model) => el("option", { value: model.name, selected: model.name === chosen(view.task, view.verb) }, model.name))));
  const inline = fields.filter((field) => field.className === "inline");
  const button = view.input ? el("div", { class: "row all" }, el("button", { type: "submit", class: "main" }, "Show"),
    el("span", { class: "hint" }, el("kbd", {}, "Ctrl"), " ", el("kbd", {}, "Enter")), inline, choose) : null;
  form.replaceChildren(...[...fields.filter((field) => !inline.includes(field)), button].filter(Boolean));
}

$("input").addEventListener("submit", (event) => { event.preventDefault(); write(); run(); });
$("input").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); write(); run(); }
});

async function copy(name, text) {
  try {
    await navigator.clipboard.writeText(typeof text === "function" ? text() : text);
    tell(`Copied as ${name}.`);
  } catch {
    tell("The browser does not allow copying here.", "error");
  }
}

function drawCopies(copies) {
  const link = { link: location.href };
  $("tools").replaceChildren(...Object.entries({ ...copies, ...link }).filter(([, text]) => text).map(([name, text]) =>
    el("button", { type: "button", onclick: () => copy(name, text) }, name === "link" ? "Copy the link" : `Copy as ${name}`)));
}

async function run() {
  const view = views().find((each) => each.id === state.view);
  running?.abort();
  running = null;
  $("tools").replaceChildren();
  $("output").setAttribute("aria-labelledby", `tab-${view?.id}`);
  if (!view) return;
  if (view.page) {
    tell("");
    const nodes = await view.page({ pack, state, tell, reload });
    if (state.view === view.id) $("output").replaceChildren(...nodes);
    return;
  }
  const filled = FIELDS[view.input].some(([name]) => name !== "raw" && String(state[name]).trim());
  if (!filled && !view.bare) {
    tell("");
    $("output").replaceChildren(empty("Write or paste something above."));
    return;
  }
  const own = running = new AbortController();
  const waiting = setTimeout(() => tell("Working …", "busy"), 120);
  $("output").setAttribute("aria-busy", "true");
  try {
    const context = { ...state, knows, tell, again: run, ask: (task, verb, body) => ask(chosen(task, verb), verb, body, own.signal) };
    tell("");
    const { nodes, copies } = await view.run(context);
    if (own.signal.aborted) return;
    $("output").replaceChildren(...nodes.filter(Boolean));
    drawCopies({ text: () => $("output").innerText, ...copies });
    if ($("status").className === "busy") tell("");
  } catch (error) {
    if (error.name === "AbortError") return;
    if (!(error instanceof Failed)) console.error(error);
    tell(error instanceof Failed ? error.message : `Something went wrong in the page: ${error.message}`, "error");
    $("output").replaceChildren(el("button", { type: "button", onclick: run }, "Try again"));
  } finally {
    clearTimeout(waiting);
    if (running === own) { running = null; $("output").removeAttribute("aria-busy"); if ($("status").className === "busy") tell(""); }
  }
}

function go(id, push = true) {
  state.view = id;
  if (push) write();
  drawTabs();
  drawInput(views().find((view) => view.id === id) ?? {});
  run();
}

async function reload() {
  try {
    pack = await get("/api/pack");
  } catch (error) {
    tell(error.message, "error");
    $("output").replaceChildren(el("button", { type: "button", onclick: reload }, "Try again"));
    return false;
  }
  $("title").textContent = pack.title;
  document.title = `${pack.title} – Corpuscle`;
  return true;
}

async function start() {
  read();
  if (!await reload()) return;
  const all = views();
  if (!all.length) { tell("There is nothing to show in this model.", "error"); return; }
  if (!all.some((view) => view.id === state.view)) state.view = all[0].id;
  go(state.view, false);
  write(true);
}

window.addEventListener("popstate", () => { read(); if (pack.models) start(); });
start();
