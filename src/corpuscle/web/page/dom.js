// Small helpers: elements, pictures, tables. Text is always text, never markup.

export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "value") node.value = value;
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat(2).filter((child) => child !== null && child !== undefined));
  // Browsers pass over words in bdi when they look for the direction of a text themselves.
  if (attributes.dir === "auto" && !node.matches("input, textarea")) node.dir = direction(node.textContent);
  return node;
}

const BACKWARDS = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;

// The way most letters of a text run.
export function direction(text) {
  let back = 0, all = 0;
  for (const letter of text.slice(0, 2000).match(/\p{L}/gu) ?? []) { all += 1; back += BACKWARDS.test(letter); }
  return 2 * back > all ? "rtl" : "ltr";
}

export const bdi = (text, attributes = {}) => el("bdi", { translate: "no", ...attributes }, text);

// A picture of the server, whose style the page's policy knows by its hash.
export function picture(text, caption = "") {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  const size = parsed.viewBox?.baseVal;
  if (size?.width) parsed.setAttribute("width", size.width);
  return el("figure", {}, document.importNode(parsed, true), caption ? el("figcaption", {}, caption) : null);
}

export function table(head, rows, { caption = "", numbers = [] } = {}) {
  const line = (cells, tag) => el("tr", {}, cells.map((cell, i) =>
    el(tag, { class: numbers.includes(i) ? "n" : null, scope: tag === "th" ? "col" : null },
      cell instanceof Node ? cell : typeof cell === "string" ? bdi(cell) : String(cell ?? ""))));
  return el("div", { class: "wide" }, el("table", {}, caption ? el("caption", {}, caption) : null,
    el("thead", {}, line(head, "th")), el("tbody", {}, rows.map((row) => line(row, "td")))));
}

export const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)} %`;

export const tsv = (head, rows) => [head, ...rows].map((row) =>
  row.map((cell) => String(cell ?? "").replace(/[\t\n\r]/g, " ")).join("\t")).join("\n") + "\n";

export const spaced = (nodes) => nodes.flatMap((node, i) => (i ? [" ", node] : [node]));

export const empty = (text) => el("p", { class: "note" }, text);
