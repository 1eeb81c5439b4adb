"use strict";
// The dictionary of the page: words by search, by first letter, in both directions.
const data = JSON.parse(document.getElementById("data").textContent);
const find = document.getElementById("find"), found = document.getElementById("found"), said = document.getElementById("said");
const way = document.getElementById("way"), unsure = document.getElementById("unsure"), letters = document.getElementById("letters");
const MOST = 150, CLASSES = {"seen once": "once", unsure: "sure0", likely: "sure1", sure: "sure2"};
let letter = "";

const plain = word => word.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
const initial = word => { const first = plain(word).charAt(0); return /\p{L}/u.test(first) ? first.toUpperCase() : "#"; };

// Both directions: word -> its entries, in the order of the data, which is by worth.
const directions = [new Map(), new Map()];
data.entries.forEach(entry => directions.forEach((words, side) => {
  if (!words.has(entry[side])) words.set(entry[side], []);
  words.get(entry[side]).push(entry);
}));
directions[1].forEach(entries => entries.sort((a, b) => b[2] - a[2]));

function make(tag, name, ...content) {
  const node = document.createElement(tag);
  if (name) node.className = name;
  node.append(...content);
  return node;
}

function example(entry, side) {
  if (entry[5] < 0) return [];
  const lines = data.examples[entry[5]];
  return (side ? [1, 0] : [0, 1]).map(i => {
    const line = make("dd", "");
    line.dir = data.directions[i];
    lines[i].split(" ").forEach((word, n) => {
      if (n) line.append(" ");
      line.append(word.toLowerCase() === entry[i].toLowerCase() ? make("mark", "", word) : word);
    });
    return line;
  });
}

function row(word, entries, side) {
  const head = make("dt", "", make("bdi", "word head", word));
  head.dir = data.directions[side];
  const gloss = side ? "" : data.glosses[word];
  if (gloss) head.append(" ", make("small", "gloss", gloss));
  entries.slice(0, 6).forEach((entry, n) => {
    const numbers = make("small", "", `${entry[2]} %, ${entry[3]}×`);
    numbers.dir = "ltr";
    head.append(n ? "; " : " ", make("bdi", `word ${CLASSES[entry[4]]}`, entry[1 - side]), " ", numbers);
  });
  return make("div", "", head, ...example(entries.find(entry => entry[5] >= 0) || entries[0], side));
}

function show() {
  const side = Number(way.value), wanted = plain(find.value.trim()), rows = [];
  let count = 0;
  for (const [word, all] of directions[side]) {
    const entries = unsure.checked ? all : all.filter(entry => entry[4] !== "seen once" && entry[4] !== "unsure");
    if (!entries.length || (letter && initial(word) !== letter)) continue;
    if (wanted && !plain(word).includes(wanted) && !entries.some(entry => plain(entry[1 - side]).includes(wanted))) continue;
    count += 1;
    if (rows.length < MOST) rows.push([plain(word).startsWith(wanted) ? 0 : 1, rows.length, row(word, entries, side)]);
  }
  rows.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  found.replaceChildren(...rows.map(each => each[2]));
  said.textContent = `${count.toLocaleString("en")} words` + (count > MOST ? `; the first ${MOST} are shown: search, or choose a letter.` : ".");
}

function index() {
  const all = [...new Set([...directions[Number(way.value)].keys()].map(initial))].sort((a, b) => a.localeCompare(b));
  letters.replaceChildren(...["", ...all].map(each => {
    const button = make("button", each === letter ? "chosen" : "", each || "all");
    button.type = "button";
    button.addEventListener("click", () => { letter = each; index(); show(); });
    return button;
  }));
}

find.addEventListener("input", show);
unsure.addEventListener("change", show);
way.addEventListener("change", () => { letter = ""; index(); show(); });
index();
show();
