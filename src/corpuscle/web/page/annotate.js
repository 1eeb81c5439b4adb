// The annotation loop: least certain items first, corrected by keys, saved at once.
// Keys: 1-9 choose, n none, u undo, s skip, Enter (outside of fields) accept.
import { get, post } from "./api.js";
import { bdi, el, empty, percent, table } from "./dom.js";

let items = [], choices = [], layer = "", current = null, edited = null, pack, tell, holder, done = 0;
const remembered = { get name() { return localStorage.getItem("annotator") ?? ""; }, set name(value) { localStorage.setItem("annotator", value); } };
const clone = (value) => structuredClone(value);
const doubtful = () => pack.models.filter((model) => model.verbs.some((verb) => verb.name === "doubts"));

export async function annotate(context) {
  ({ pack, tell } = context);
  const models = doubtful();
  if (pack.read_only) return [empty("This workbench is read-only: nothing can be annotated.")];
  const name = el("input", { id: "annotator", autocomplete: "name", required: true, value: remembered.name,
    oninput: (event) => { remembered.name = event.target.value.trim(); } });
  const model = el("select", { id: "doubting" }, models.map((each) => el("option", { value: each.name }, each.name)));
  const text = el("textarea", { id: "annotate-text", rows: 2, dir: "auto",
    placeholder: pack.kit ? "Empty: sentences of the kit" : "Sentences, one a line (pairs: source ||| target)" });
  holder = el("section", { id: "item", "aria-label": "Item" }, empty("Fetch the items of which a model is least sure, and correct them."));
  const fetchItems = async () => {
    if (!remembered.name) { tell("Say who you are first.", "error"); name.focus(); return; }
    tell("Looking for what is least sure …", "busy");
    try {
      const found = await post("/api/doubts", { model: model.value, text: text.value, annotator: remembered.name, n: 50 });
      ({ items, choices, layer } = found);
      items = items.slice();
      done = 0;
      const spared = items.reduce((sum, item) => sum + item.saved, 0) / items.length;
      tell(items.length ? `${items.length} items, the least sure first; guesses are expected to save ${percent(spared)} of the keystrokes.` : "Nothing is left to annotate.");
      show();
    } catch (error) { tell(error.message, "error"); }
  };
  const exported = el("div", { id: "exported" });
  const exportThem = async () => {
    try {
      const { files } = await post("/api/annotations/export", {});
      const names = Object.values(files).flat();
      exported.replaceChildren(empty(names.length ? `Written into the kit: ${names.join(", ")}. Learn again under “Kit”.` : "There is nothing to write yet."));
    } catch (error) { tell(error.message, "error"); }
  };
  return [
    el("div", { class: "row" }, el("label", {}, "Annotator", name), el("label", {}, "Model", model),
      el("button", { type: "button", class: "main", id: "fetch", onclick: fetchItems }, "Fetch the least sure")),
    el("label", {}, "Text", text), holder,
    el("p", { class: "hint" }, ...keys([["1–9", "choose"], ["n", "none"], ["Enter", "accept"], ["s", "skip"], ["u", "undo"]])),
    el("div", { class: "row" }, el("button", { type: "button", id: "export", onclick: exportThem }, "Write into the kit"),
      el("button", { type: "button", onclick: overview }, "Agreement")),
    exported, el("div", { id: "agreement" }),
  ];
}

const keys = (pairs) => pairs.flatMap(([key, what]) => [el("kbd", {}, key), ` ${what}  `]);

async function overview() {
  const { layers } = await get("/api/annotations");
  const rows = Object.entries(layers).map(([name, each]) => [name, each.items,
    Object.entries(each.annotators).map(([who, n]) => `${who} ${n}`).join(", "),
    each.agreement ? percent(each.agreement.agreement, 1) : "–", each.agreement ? each.agreement.alpha.toFixed(3) : "–"]);
  document.getElementById("agreement").replaceChildren(table(["layer", "items", "annotators", "agreement", "Krippendorff's alpha"], rows, { numbers: [1, 3, 4] }));
}

// ---- one item

function show() {
  current = items[0] ?? null;
  if (!current) { holder.replaceChildren(empty(done ? `Done: ${done} items. Thank you.` : "Nothing is left to annotate.")); return; }
  edited = clone(current.value);
  const draw = { trees, segment, entities, links, normalise, brackets }[layer];
  holder.replaceChildren(
    el("p", { class: "note" }, `${items.length} left; how sure the model is: ${percent(current.confidence)}; ` +
      `its guess is expected to save ${percent(current.saved)} of the keystrokes.`),
    draw(),
    el("div", { class: "row" }, el("button", { type: "button", class: "main", id: "accept", onclick: accept }, "Accept"),
      el("button", { type: "button", onclick: skip }, "Skip"), el("button", { type: "button", onclick: undo }, "Undo")));
  (holder.querySelector("[data-first]") ?? document.getElementById("accept")).focus();
}

async function accept() {
  try {
    await post("/api/annotations", { layer, value: edited, annotator: remembered.name });
    items.shift();
    done += 1;
    tell(`Saved (${done}).`);
    show();
  } catch (error) { tell(error.message, "error"); }
}

function skip() { items.push(items.shift()); show(); }

async function undo() {
  try {
    const back = await post("/api/annotations/undo", { annotator: remembered.name });
    tell("Taken back.");
    if (back.layer === layer) { items.unshift({ value: back.value, confidence: 0, saved: 0, by_part: [] }); show(); }
  } catch (error) { tell(error.message, "error"); }
}

document.addEventListener("keydown", (event) => {
  if (!current || !holder?.isConnected || !holder.contains(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
  const field = event.target.matches("input:not([type=checkbox]):not([type=radio]), textarea, select");
  const chooser = event.target.closest("[data-choose]");
  if (/^[1-9]$/.test(event.key) && !event.target.matches("textarea, input:not([type=checkbox])")) {
    event.preventDefault();
    (chooser ? chooser.choose : holder.choose)?.(Number(event.key) - 1);
  } else if (event.key === "n" && !field) { event.preventDefault(); (chooser ? chooser.choose : holder.choose)?.(-1); }
  else if (event.key === "u" && !field) { event.preventDefault(); undo(); }
  else if (event.key === "s" && !field) { event.preventDefault(); skip(); }
  else if (event.key === "Enter" && !event.target.matches("button, textarea, select")) { event.preventDefault(); accept(); }
  else if (["ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp"].includes(event.key) && event.target.matches("[data-move]")) move(event);
});

function move(event) {
  const all = [...holder.querySelectorAll("[data-move]")];
  const wide = Number(event.target.dataset.move) || all.length;
  const back = getComputedStyle(event.target).direction === "rtl" ? -1 : 1;
  const step = { ArrowRight: back, ArrowLeft: -back, ArrowDown: wide, ArrowUp: -wide }[event.key];
  const next = all[all.indexOf(event.target) + step];
  if (next) { event.preventDefault(); next.focus(); }
}

const listed = (names) => names.length ? el("p", { class: "hint" }, names.slice(0, 9).flatMap((name, i) => [el("kbd", {}, String(i + 1)), " ", bdi(name), "  "])) : null;

// ---- layers

function trees() {
  const words = edited.words;
  const hasHeads = words.some((word) => "head" in word);
  const tagged = words.some((word) => "upos" in word) || !hasHeads;
  const chosen = hasHeads ? "deprel" : "upos";
  const rows = words.map((word, i) => {
    const sure = current.by_part[i] ?? 1;
    const value = (name) => el("input", { size: 10, value: word[name] ?? "_", list: name === chosen ? "choices" : null, "aria-label": `${name} of ${word.form}`,
      oninput: (event) => { word[name] = event.target.value || "_"; } });
    const tag = tagged ? value("upos") : null, relation = hasHeads ? value("deprel") : null;
    const head = hasHeads ? el("select", { "aria-label": `head of ${word.form}`, onchange: (event) => { word.head = Number(event.target.value); } },
      el("option", { value: 0, selected: word.head === 0 }, "0 (root)"),
      words.map((other, j) => j === i ? null : el("option", { value: j + 1, selected: word.head === j + 1 }, `${j + 1} ${other.form}`))) : null;
    const pick = el("button", { type: "button", "data-move": "1", "data-first": i === 0, "aria-label": `${word.form}: keys 1 to 9 choose` }, bdi(word.form));
    const row = el("tr", { "data-choose": "", class: sure < 0.8 ? "unsure" : null },
      [String(i + 1), pick, tag, head, relation, percent(sure)].filter((cell) => cell !== null).map((cell) => el("td", {}, cell)));
    const analyses = current.asked?.[i];
    if (analyses) {
      row.append(el("td", {}, analyses.map((each, k) => el("div", { class: "hint" }, el("kbd", {}, String(k + 1)), " ",
        bdi(Object.values(each).filter((value) => value !== "_").join(" "))))));
    }
    row.choose = (n) => {
      if (n >= (analyses ?? choices).length) return;
      if (analyses) Object.assign(word, n < 0 ? { lemma: "_", upos: "_", xpos: "_", feats: "_" } : analyses[n]);
      else word[chosen] = n < 0 ? "_" : choices[n];
      if (tag) tag.value = word.upos ?? "_";
      if (relation) relation.value = word.deprel ?? "_";
      row.classList.remove("unsure");
    };
    return row;
  });
  return el("div", { class: "wide", dir: "auto" }, listed(choices), el("datalist", { id: "choices" }, choices.map((name) => el("option", { value: name }))),
    el("table", {}, el("thead", {}, el("tr", {}, ["", "word", tagged ? "tag" : null, hasHeads ? "head" : null, hasHeads ? "relation" : null, "sure"]
      .filter((name) => name !== null).map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, rows)));
}

function segment() {
  const letters = edited.words.flatMap((word) => [...word]);
  let at = 0;
  const ends = new Set(edited.words.map((word) => (at += [...word].length)));
  const update = () => {
    edited.words = [];
    let word = "";
    letters.forEach((letter, i) => { word += letter; if (ends.has(i + 1) || i === letters.length - 1) { edited.words.push(word); word = ""; } });
  };
  const nodes = letters.flatMap((letter, i) => {
    if (i === letters.length - 1) return [bdi(letter)];
    const cut = el("button", { type: "button", class: "cut", "data-move": "1", "data-first": i === 0, "aria-pressed": String(ends.has(i + 1)),
      "aria-label": `boundary after ${letter}`, onclick: (event) => {
        if (ends.has(i + 1)) ends.delete(i + 1); else ends.add(i + 1);
        event.currentTarget.setAttribute("aria-pressed", String(ends.has(i + 1)));
        update();
      } }, "|");
    return [bdi(letter), cut];
  });
  return el("div", { class: "letters", dir: "auto" }, nodes);
}

function entities() {
  const chosen = new Set();
  const list = el("ul");
  const buttons = edited.words.map((word, i) => el("button", { type: "button", "data-move": "1", "data-first": i === 0, "aria-pressed": "false", onclick: (event) => {
    if (chosen.has(i)) chosen.delete(i); else chosen.add(i);
    event.currentTarget.setAttribute("aria-pressed", String(chosen.has(i)));
  } }, bdi(word)));
  const redraw = () => list.replaceChildren(...edited.mentions.map((mention, k) => el("li", {}, `${mention.type}: `, bdi(mention.tokens.map((t) => edited.words[t]).join(" ")), " ",
    el("button", { type: "button", "aria-label": `remove ${mention.type}`, onclick: () => { edited.mentions.splice(k, 1); redraw(); } }, "×"))));
  const assign = (type) => {
    const tokens = [...chosen].sort((a, b) => a - b);
    if (!tokens.length) return;
    if (type === null) edited.mentions = edited.mentions.filter((mention) => !mention.tokens.some((t) => chosen.has(t)));
    else edited.mentions.push({ type, tokens });
    chosen.clear();
    buttons.forEach((button) => button.setAttribute("aria-pressed", "false"));
    redraw();
  };
  holder.choose = (n) => { if (n < choices.length) assign(n < 0 ? null : choices[n]); };
  redraw();
  return el("div", { dir: "auto" }, el("p", { class: "hint" }, "Choose words (Space), then a type."), listed(choices),
    el("div", { class: "tokens" }, buttons),
    el("div", { class: "row" }, choices.slice(0, 30).map((type) => el("button", { type: "button", onclick: () => assign(type) }, type)),
      el("button", { type: "button", onclick: () => assign(null) }, "none")), list);
}

function links() {
  const { source, target } = edited;
  const has = (i, j) => edited.links.some(([a, b]) => a === i && b === j);
  const cell = (i, j) => el("td", {}, el("input", { type: "checkbox", "data-move": String(target.length), "data-first": i + j === 0, checked: has(i, j),
    "aria-label": `${source[i]} – ${target[j]}`, onchange: (event) => {
      edited.links = edited.links.filter(([a, b]) => a !== i || b !== j);
      if (event.target.checked) edited.links.push([i, j]);
    } }));
  return el("div", { class: "wide" }, el("table", { class: "grid" },
    el("thead", {}, el("tr", {}, el("td"), target.map((word) => el("th", { scope: "col" }, bdi(word))))),
    el("tbody", {}, source.map((word, i) => el("tr", {}, el("th", { scope: "row" }, bdi(word)), target.map((_, j) => cell(i, j)))))));
}

function normalise() {
  const asked = current.asked ?? {};
  const rows = edited.words.map((word, i) => {
    const candidates = (asked[i] ?? []).filter((form) => form !== word).slice(0, 9);
    const field = el("input", { value: edited.standard[i], "aria-label": `standard form of ${word}`, dir: "auto", oninput: (event) => { edited.standard[i] = event.target.value; } });
    const pick = el("button", { type: "button", "data-move": "1", "data-first": i === 0, "aria-label": `${word}: keys 1 to 9 choose, n keeps it` }, bdi(word));
    const row = el("tr", { "data-choose": "", class: i in asked ? "unsure" : null }, [pick, i in asked ? "unknown" : "", field,
      el("span", {}, candidates.flatMap((form, k) => [el("kbd", {}, String(k + 1)), " ", bdi(form), " "]))].map((each) => el("td", {}, each)));
    row.choose = (n) => { if (n < candidates.length) { edited.standard[i] = n < 0 ? word : candidates[n]; field.value = edited.standard[i]; } };
    return row;
  });
  return el("div", { class: "wide", dir: "auto" }, el("table", {}, el("thead", {}, el("tr", {}, ["typed", "", "standard", "candidates"].map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, rows)));
}

function brackets() {
  return el("label", {}, "Tree", el("textarea", { "data-first": "", value: edited.tree, oninput: (event) => { edited.tree = event.target.value.replace(/\s+/g, " "); } }));
}
