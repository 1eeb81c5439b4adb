// The kit: files are dropped, what they are is said, and everything is learned again, with its progress.
import { get, post, upload } from "./api.js";
import { el, empty, table } from "./dom.js";

let events = null;

// Files of one folder and role in one row where there are many of them.
function grouped(files) {
  const groups = new Map();
  for (const file of files) {
    const key = `${file.name.includes("/") ? file.name.split("/")[0] : file.name}|${file.role}`;
    groups.set(key, [...(groups.get(key) ?? []), file]);
  }
  return [...groups.values()].flatMap((each) => each.length > 6 ?
    [[`${each[0].name} … ${each.at(-1).name.split("/").at(-1)} (${each.length} files)`, said(each[0]), grouping(each.reduce((sum, file) => sum + file.bytes, 0))]] :
    each.map((file) => [file.name, said(file), grouping(file.bytes)]));
}

const grouping = (bytes) => bytes.toLocaleString("en");
const said = (file) => file.role ?? `not used: ${file.why || "nothing is learned from it"}`;

export async function kit({ pack, tell, reload }) {
  const listing = el("div", { id: "files" }), log = el("pre", { id: "log", tabindex: "0", "aria-label": "Progress", role: "log" }), state = el("p", { id: "learning", role: "status" });
  const refresh = async () => {
    const found = await get("/api/kit");
    const wrong = found.wrong.map((each) => el("li", { class: "bad" }, `${each.file ?? ""}${each.line ? `:${each.line}` : ""}: ${each.reason}`));
    listing.replaceChildren(
      found.files.length ? table(["file", "what it is", "bytes"], grouped(found.files), { numbers: [2] }) : empty("There are no files yet."),
      wrong.length ? el("ul", {}, wrong) : "",
      found.steps.length ? el("p", {}, "Can be learned: ", found.steps.map((s) => s.title + (s.ready ? "" : s.why ? ` (left out: ${s.why})` : " (files are wrong)")).join(", ") + ".") : "");
  };
  try { await refresh(); } catch (error) { tell(error.message, "error"); }
  if (pack.read_only) return [empty("This workbench is read-only."), listing];
  if (!pack.kit) return [empty("The pack was learned from a kit outside of it. Serve it with --kit KIT to add files and learn here."), listing];

  const add = async (files) => {
    for (const file of files) {
      tell(`Adding ${file.name} …`, "busy");
      try { await upload(file.name, file); } catch (error) { tell(`${file.name}: ${error.message}`, "error"); return; }
    }
    tell(`${files.length} added.`);
    await refresh();
  };
  const chooser = el("input", { type: "file", multiple: true, id: "chooser", onchange: (event) => add([...event.target.files]) });
  const drop = el("div", { class: "drop" }, el("label", {}, "Drop files here, or choose them: text (.txt), translations (.src and .tgt), names.tsv, lexicon.tsv, annotated sentences (.conllu), entities (.jsonl, .ann), noisy.txt", chooser));
  drop.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => { event.preventDefault(); drop.classList.remove("over"); add([...event.dataTransfer.files]); });

  const start = el("button", { type: "button", class: "main", id: "learn", onclick: () => begin() }, "Learn");
  const cancel = el("button", { type: "button", id: "cancel", disabled: true, onclick: async () => {
    cancel.disabled = true;
    try { await post("/api/learning/cancel", {}); } catch (error) { tell(error.message, "error"); }
  } }, "Cancel");
  const words = { idle: "", running: "Learning …", done: "Done. The views show the new models.", stopped: "Stopped; Learn goes on from there.", failed: "It failed; the messages say why." };
  const say = (name) => {
    state.textContent = words[name] ?? name;
    start.disabled = name === "running";
    cancel.disabled = name !== "running";
  };
  const follow = () => {
    events?.close();
    log.replaceChildren();
    events = new EventSource("/api/learning/events");
    events.addEventListener("line", (event) => { log.append(`${JSON.parse(event.data)}\n`); log.scrollTop = log.scrollHeight; });
    events.addEventListener("end", async (event) => {
      events.close();
      say(JSON.parse(event.data).state);
      await reload();
      await refresh();
    });
  };
  const where = el("div", { id: "where" }), onCluster = el("input", { type: "checkbox", id: "on-cluster", checked: true });
  const offer = async (address) => {
    where.replaceChildren(el("label", { class: "inline" }, onCluster, `On the Dask cluster at ${address}`));
    const { dashboard, problem } = await get("/api/learning/dashboard");
    where.append(" ", dashboard ? el("a", { href: dashboard, target: "_blank", rel: "noopener noreferrer" }, "its dashboard") : el("span", { class: "bad" }, problem ?? "It has no dashboard."));
  };
  const begin = async () => {
    try { await post("/api/learning/start", { cluster: onCluster.isConnected && onCluster.checked }); } catch (error) { tell(error.message, "error"); return; }
    say("running");
    follow();
  };
  try {
    const run = await get("/api/learning");
    say(run.state);
    if (run.state === "running") follow();
    if (run.cluster) await offer(run.cluster);
  } catch (error) { tell(error.message, "error"); }
  return [el("h2", {}, "Files"), drop, listing, el("h2", {}, "Learn"), el("div", { class: "row" }, start, cancel), where, state, log];
}
