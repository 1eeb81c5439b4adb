// The views of a text, a pair, a name or a word: each asks the server and shows the answer.
// A view: id (in addresses), title, input (which form it reads), verb it needs, run(context) -> {nodes, copies}.
import { bdi, el, empty, percent, picture, spaced, table, tsv } from "./dom.js";

const STEPS = [2, 5, 8, 11, 14, 17];
const shade = (bits) => STEPS.filter((step) => bits >= step).length;

const heatKey = () => el("p", { class: "key note" }, "bits of surprise: ",
  spaced([0, ...STEPS].map((step, i) => el("span", { class: `word s${i}` }, i ? `${step}+` : `0–${STEPS[0]}`))),
  " ", el("span", { class: "word unknown" }, "unknown word"));

// A sentence; an endless one in pieces, which browsers lay out far quicker.
const PIECE = 300;
function sentence(nodes) {
  const pieces = [];
  for (let i = 0; i === 0 || i < nodes.length; i += PIECE) {
    pieces.push(el("p", { class: "sentence", dir: "auto", translate: "no" }, spaced(nodes.slice(i, i + PIECE))));
  }
  return pieces.length === 1 ? pieces[0] : el("div", {}, pieces);
}

const svgs = (items) => items.map((item) => item.svg).filter(Boolean);

async function surprisal({ ask, text, raw }) {
  const found = await ask("lm", "surprisal", { text, raw });
  const rows = [];
  const nodes = found.sentences.map((each, i) => sentence(each.words.map(({ word, bits, oov }) => {
    rows.push([i + 1, word, bits.toFixed(4), Number(oov)]);
    const shown = word === "</s>" ? "■" : word;
    return bdi(shown, { class: `word s${shade(bits)}${oov ? " unknown" : ""}${word === "</s>" ? " end" : ""}`,
      title: `${bits.toFixed(1)} bits${oov ? ", unknown" : ""}${word === "</s>" ? ", end of the sentence" : ""}` });
  })));
  const said = found.perplexity === null ? "" :
    `Perplexity ${found.perplexity.toFixed(1)} over ${found.tokens} tokens, ${found.oov} of them unknown.`;
  return { nodes: [heatKey(), ...nodes, empty(said)],
    copies: { TSV: tsv(["sentence", "word", "bits", "oov"], rows) } };
}

async function next({ ask, text }) {
  const context = text.split("\n").at(-1);
  const found = await ask("lm", "next", { context, k: 20 });
  const rows = found.next.map(({ word, probability }) => [word, probability.toFixed(4)]);
  return { nodes: [empty(`After “${found.context.join(" ")}” (the last line of the text):`),
    table(["next word", "probability"], rows, { numbers: [1] })], copies: { TSV: tsv(["word", "probability"], rows) } };
}

async function segmentation({ ask, text }) {
  const found = await ask("segment", "apply", { text });
  const rows = [];
  const nodes = found.lines.map((line, number) => {
    if (!line.boundaries) return sentence(line.words.map((word) => bdi(word)));
    const parts = [line.boundaries.length ? line.boundaries[0].before : line.words.join("")];
    for (const { before, after, probability, position } of line.boundaries) {
      rows.push([number + 1, position, before, after, probability.toFixed(4)]);
      if (probability >= 0.05) {
        parts.push(el("span", { class: `gap${probability < 0.5 ? " faint" : ""}`, title: `boundary ${percent(probability)}`,
          role: "img", "aria-label": `boundary ${percent(probability)}`, }));
      }
      parts.push(after);
    }
    return el("p", { class: "sentence", dir: "auto", translate: "no" }, parts);
  });
  const words = found.lines.map((line) => line.words.join(" ")).join("\n") + "\n";
  return { nodes: [empty("A line is a boundary; a dotted one is possible, but less likely than not."), ...nodes],
    copies: { text: words, TSV: tsv(["line", "position", "before", "after", "probability"], rows) } };
}

async function classes({ ask, text, raw }) {
  const found = await ask("classes", "classes", { text, raw });
  const rows = [];
  const nodes = found.sentences.map((words, i) => sentence(words.map(({ word, class: number, known }) => {
    rows.push([i + 1, word, number]);
    return el("span", { class: "class" }, bdi(word, { class: known ? "word" : "word unknown" }), el("sub", {}, number ?? "?"));
  })));
  return { nodes, copies: { TSV: tsv(["sentence", "word", "class"], rows) } };
}

async function topics({ ask, text, raw, knows }) {
  const found = await ask("topics", "topics", { text, raw });
  const rows = found.documents.flatMap((d) => d.topics.map((t) => [d.document, t.topic, percent(t.share, 1), t.words.join(" ")]));
  const nodes = [table(["document", "topic", "share", "typical words"], rows, { numbers: [1, 2], caption: "What the text is about; blank lines part documents." })];
  const copies = { TSV: tsv(["document", "topic", "share", "words"], rows) };
  if (knows("topics", "mark")) {
    const marked = await ask("topics", "mark", { text, raw });
    nodes.push(el("h2", {}, "Topical words"), picture(marked.svg));
    copies.SVG = marked.svg;
  }
  const all = await ask("topics", "show", { k: 10 });
  nodes.push(el("h2", {}, "All topics"), picture(all.svg));
  return { nodes, copies };
}

async function normalisation({ ask, text }) {
  const found = await ask("normalise", "normalise", { text });
  const nodes = found.messages.map((message) => {
    const changed = new Map(message.changes.map((change) => [change.token, change]));
    const words = message.typed.split(" ").filter(Boolean).map((word, i) => {
      const change = changed.get(i);
      return change ? el("span", { title: change.candidates.map((c) => `${c.form} ${c.score.toFixed(2)}`).join("; ") },
        el("del", {}, bdi(word)), " ", el("ins", {}, bdi(change.form || "∅"))) : bdi(word);
    });
    const why = message.changes.map((change) => [change.typed, change.form, percent(change.confidence),
      Object.entries(change.candidates[0]?.parts ?? {}).map(([name, value]) => `${name} ${Number(value).toFixed(2)}`).join(", "),
      change.candidates.slice(1, 5).map((c) => c.form).join(" ")]);
    return [sentence(words), why.length ? table(["typed", "standard", "sure", "why", "others"], why, { numbers: [2] }) : null];
  });
  return { nodes: nodes.flat(), copies: { text: found.messages.map((m) => m.text).join("\n") + "\n" } };
}

// Words that the reader knows, remembered in this browser.
const familiar = { get words() { return localStorage.getItem("familiar") ?? ""; }, set words(words) { localStorage.setItem("familiar", words); } };

async function analyses({ ask, text, raw, again }) {
  const given = { text, raw, familiar: familiar.words };
  const found = await ask("disambiguate", "analyse", { ...given, nbest: 3 });
  const list = await ask("disambiguate", "vocabulary", given);
  const cards = found.sentences.map(({ words }) => el("div", { class: "cards", dir: "auto" }, words.map((word) => {
    const best = word.analyses[0];
    return el("div", { class: word.familiar ? "card familiar" : "card" },
      el("p", {}, bdi(best?.vowelled || word.form, { class: word.known ? "" : "unknown" })),
      best?.gloss ? el("p", { class: "note" }, bdi(best.gloss)) : null,
      word.analyses.map((a) => el("p", { class: "note" }, `${percent(a.probability)} `,
        bdi(Object.entries(a.elements).filter(([, value]) => !["_", "-"].includes(value)).map(([name, value]) => `${name} ${value}`).join(", ")))));
  })));
  const learn = (words) => { familiar.words = words.trim(); again(); };
  const known = el("textarea", { id: "familiar", rows: 3, dir: "auto", value: familiar.words, onchange: (event) => learn(event.target.value) });
  const knows = (card) => el("button", { type: "button", "aria-label": `I know it: ${card.lemma}`, onclick: () => learn(`${familiar.words} ${card.lemma}`) }, "I know it");
  const rows = list.cards.map((card) => [card.lemma, card.vowelled, card.gloss, card.times]);
  return { nodes: [...cards, el("h2", {}, "Vocabulary of this text"),
    empty(`New to you: ${percent(list.difficulty)} of its ${list.lemmas} lemmas, ${percent(list.unknown_words)} of its ${list.words} words. ` +
      "Underlined above: words that the model has never seen."),
    table(["lemma", "form", "gloss", "times", ""], rows.map((row, i) => [...row, knows(list.cards[i])]), { numbers: [3] }),
    el("details", {}, el("summary", {}, `Words that you know (${familiar.words.split(/\s+/).filter(Boolean).length})`), el("label", {}, "Words or lemmas, with spaces between them", known))],
    copies: { TSV: tsv(["lemma", "vowelled", "gloss", "times"], rows), "CoNLL-U": found.conllu } };
}

async function tags({ ask, text, raw }) {
  const found = await ask("tag", "tag", { text, raw });
  const heads = ["form", "lemma", "upos", "xpos", "feats"].filter((name) => found.sentences.some((s) => s.words.some((w) => w[name] && w[name] !== "_")));
  const nodes = found.sentences.map(({ words }) => table([...heads, "sure"],
    words.map((word) => [...heads.map((name) => word[name] ?? "_"), word.confidence === null ? "" : percent(word.confidence)]), { numbers: [heads.length] }));
  return { nodes, copies: { "CoNLL-U": found.conllu } };
}

async function trees({ ask, text, raw }) {
  const found = await ask("parse", "parse", { text, raw });
  return { nodes: [empty("The fainter an arc, the less sure it is; rest the pointer on it for the number."),
    ...svgs(found.sentences).map((svg) => picture(svg))],
    copies: { "CoNLL-U": found.conllu, SVG: svgs(found.sentences).join("\n") } };
}

async function constituents({ ask, text, raw }) {
  const found = await ask("grammar", "parse", { text, raw });
  return { nodes: found.sentences.flatMap((each) => [each.svg ? picture(each.svg) : empty("no tree"), el("pre", {}, bdi(each.tree))]),
    copies: { text: found.sentences.map((each) => each.tree).join("\n") + "\n", SVG: svgs(found.sentences).join("\n") } };
}

async function mentions({ ask, text, raw }) {
  const found = await ask("entities", "entities", { text, raw });
  const rows = found.sentences.flatMap((s, i) => s.mentions.map((m) => [i + 1, m.type, m.text, percent(m.confidence)]));
  return { nodes: [...svgs(found.sentences).map((svg) => picture(svg)),
    table(["sentence", "type", "mention", "sure"], rows, { numbers: [0, 3] })],
    copies: { TSV: tsv(["sentence", "type", "mention", "confidence"], rows), SVG: svgs(found.sentences).join("\n") } };
}

async function drafts({ ask, text, raw }) {
  const found = await ask("translate", "translate", { text, raw, nbest: 3 });
  const nodes = found.sentences.map((each) => el("div", {}, sentence([bdi(each.source)]),
    el("ol", {}, each.translations.map((t) => el("li", { dir: "auto", title: `score ${t.score.toFixed(2)}` }, bdi(t.target))))));
  return { nodes, copies: { text: found.sentences.map((s) => s.translations[0]?.target ?? "").join("\n") + "\n" } };
}

async function links({ ask, source, target }) {
  const found = await ask("align", "align", { source, target });
  const pharaoh = found.pairs.map((p) => p.links.map((l) => `${l.source}-${l.target}`).join(" ")).join("\n") + "\n";
  return { nodes: found.pairs.map((pair) => picture(pair.svg, `confidence ${percent(pair.confidence)}`)),
    copies: { text: pharaoh, SVG: svgs(found.pairs).join("\n") } };
}

async function dictionary({ ask, word }) {
  const found = await ask("dictionary", "lookup", { search: word, k: 100 });
  const rows = found.entries.map((e) => [e.source, e.target, percent(Number(e.confidence)), e.sure, e.example ?? "", e.translation ?? ""]);
  return { nodes: [empty(`${found.found} of ${found.all} entries.`),
    table(["word", "translation", "confidence", "", "example", "its translation"], rows, { numbers: [2] })],
    copies: { TSV: tsv(["source", "target", "confidence", "sure", "example", "translation"], rows) } };
}

async function names({ ask, names, knows }) {
  const found = await ask("transliterate", "transliterate", { names, k: 10 });
  const drawn = [];
  for (const [verb, caption] of [["lattice", ""], ["attention", "Letters that the network looks at while it writes"]]) {
    if (knows("transliterate", verb)) drawn.push({ caption, ...await ask("transliterate", verb, { names, k: 6 }) });
  }
  const rows = found.names.flatMap((each) => each.candidates.map((c, i) => [each.source, i + 1, c.target, c.score.toFixed(3)]));
  return { nodes: [...drawn.filter((each) => each.svg).map((each) => picture(each.svg, each.caption)), table(["name", "rank", "written", "score"], rows, { numbers: [1, 3] })],
    copies: { TSV: tsv(["name", "rank", "target", "score"], rows), SVG: svgs(drawn).join("\n") } };
}

async function neighbours({ ask, word, knows, text, tell }) {
  const parts = [], pictures = [], copies = {};
  const part = async (task, verb, title, show, into = parts) => {
    if (!knows(task, verb)) return;
    let found;
    try { found = await show(); } catch (error) { if (error.name === "AbortError") throw error; found = empty(error.message); }
    into.push(el("section", {}, el("h2", {}, title), found));
  };
  if (!word.trim()) tell("No word is given: here are the most frequent ones.");
  if (word.trim()) {
    await part("vectors", "nearest", "Neighbours", async () => {
      const found = await ask("vectors", "nearest", { word, k: 12 });
      const rows = found.words.map((w) => [w.word, w.cosine.toFixed(3)]);
      copies.TSV = tsv(["word", "cosine"], rows);
      return table(["word", "cosine"], rows, { numbers: [1] });
    });
    await part("meaning", "similar", "Alike in meaning", async () => {
      const found = await ask("meaning", "similar", { word, k: 12 });
      return table(["word", "similarity", "count"], found.words.map((w) => [w.word, w.similarity.toFixed(3), w.count]), { numbers: [1, 2] });
    });
    await part("classes", "word", "Its classes", async () => {
      const found = await ask("classes", "word", { word, k: 15 });
      return table(["class", "share", "words"], found.classes.map((c) => [c.class, percent(c.share), c.words.join(" ")]), { numbers: [0, 1] });
    });
  }
  if (word.trim() && text.trim()) {
    await part("meaning", "senses", "Senses in the text of the input", async () => {
      const found = await ask("meaning", "senses", { word, text, k: 8 });
      return found.senses.map((s) => el("div", { class: "card" }, el("p", {}, `${percent(s.share)}: `, bdi(s.words.map((w) => w.word).join(" "))),
        s.examples.map((e) => el("p", { class: "note", dir: "auto" }, bdi(e.text)))));
    });
    await part("meaning", "substitutes", "What could stand in its place there", async () => {
      const found = await ask("meaning", "substitutes", { word, text, k: 8 });
      return table(["text", "instead"], found.tokens.slice(0, 20).map((t) => [t.text, t.words.map((w) => w.word).join(" ")]));
    });
  }
  await part("vectors", "map", "Map", async () => {
    const found = await ask("vectors", "map", { words: word, k: 20 });
    copies.SVG = found.svg;
    return picture(found.svg);
  }, pictures);
  await part("classes", "tree", "Tree of classes", async () => picture((await ask("classes", "tree", { classes: 40, k: 8 })).svg), pictures);
  return { nodes: [parts.length ? el("div", { class: "parts" }, parts) : null, ...pictures], copies };
}

async function near({ ask, text }) {
  const found = await ask("metric", "neighbours", { text, k: 5 });
  const rows = found.texts.flatMap((t) => t.near.map((n) => [t.text, n.text, n.distance.toFixed(4)]));
  return { nodes: [table(["text", "near", "distance"], rows, { numbers: [2] })], copies: { TSV: tsv(["text", "near", "distance"], rows) } };
}

export const VIEWS = [
  { id: "lm", title: "Surprisal", input: "text", task: "lm", verb: "surprisal", run: surprisal },
  { id: "next", title: "Next word", input: "text", task: "lm", verb: "next", run: next },
  { id: "segment", title: "Segmentation", input: "text", task: "segment", verb: "apply", run: segmentation },
  { id: "classes", title: "Classes", input: "text", task: "classes", verb: "classes", run: classes },
  { id: "topics", title: "Topics", input: "text", task: "topics", verb: "topics", run: topics },
  { id: "normalise", title: "Normalisation", input: "text", task: "normalise", verb: "normalise", run: normalisation },
  { id: "analyses", title: "Reading helper", input: "text", task: "disambiguate", verb: "analyse", run: analyses },
  { id: "tag", title: "Tags", input: "text", task: "tag", verb: "tag", run: tags },
  { id: "parse", title: "Trees", input: "text", task: "parse", verb: "parse", run: trees },
  { id: "grammar", title: "Constituents", input: "text", task: "grammar", verb: "parse", run: constituents },
  { id: "entities", title: "Entities", input: "text", task: "entities", verb: "entities", run: mentions },
  { id: "translate", title: "Draft translation", input: "text", task: "translate", verb: "translate", run: drafts },
  { id: "metric", title: "Near texts", input: "text", task: "metric", verb: "neighbours", run: near },
  { id: "align", title: "Alignment", input: "pair", task: "align", verb: "align", run: links },
  { id: "dictionary", title: "Dictionary", input: "word", task: "dictionary", verb: "lookup", run: dictionary, bare: true },
  { id: "names", title: "Names", input: "names", task: "transliterate", verb: "transliterate", run: names },
  { id: "words", title: "Words", input: "word", task: "vectors", verb: "map", run: neighbours, bare: true },
  { id: "meaning", title: "Meaning", input: "word", task: "meaning", verb: "similar", run: neighbours },
];
