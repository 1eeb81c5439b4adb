"use strict";
// Finds a word in the sentences of the page: its occurrences in the middle, what stands around them on both sides.
const data = JSON.parse(document.getElementById("data").textContent);
const find = document.getElementById("find"), found = document.getElementById("found"), said = document.getElementById("said");
const MOST = 500, AROUND = 8;

// Columns stand in the order in which the language is read.
found.parentElement.dir = data.length ? data[0][2] : "ltr";

function cell(text, name, direction) {
  const td = document.createElement("td");
  td.className = name;
  td.dir = direction;
  const inner = document.createElement("bdi");
  inner.textContent = text;
  td.append(inner);
  return td;
}

function show() {
  const wanted = find.value.trim().normalize("NFC").toLowerCase();
  found.replaceChildren();
  let count = 0;
  for (const [sentence, translation, direction] of wanted ? data : []) {
    const words = sentence.split(" ");
    words.forEach((word, i) => {
      if (!word.toLowerCase().startsWith(wanted)) return;
      count += 1;
      if (count > MOST) return;
      const row = document.createElement("tr");
      row.append(cell(words.slice(Math.max(0, i - AROUND), i).join(" "), "before", direction), cell(word, "word", direction),
                 cell(words.slice(i + 1, i + 1 + AROUND).join(" "), "after", direction));
      if (translation) row.title = translation;
      found.append(row);
    });
  }
  said.textContent = !wanted ? "Type the beginning of a word." :
    count > MOST ? `${count} occurrences; the first ${MOST} are shown.` : `${count} occurrences.`;
}

find.addEventListener("input", show);
show();
