"""The dictionary of a pack: a page to read with a search box, tables to work with, and a file for FLEx.

What people look for comes first: content words by frequency, then the words that make up half of the text (articles,
particles, punctuation), then what is written alike in both languages (names, numbers). What was linked only once is in
the tables, and on the page behind a switch.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from corpuscle.align.lexicon import SEVERAL, Entry, content_first, frequent_words, how_sure, kind_of
from corpuscle.packs import page
from corpuscle.text.bitext import Bitext
from corpuscle.text.files import write_atomically
from corpuscle.text.html import Html, bdi, div, element, fragment, p, small, span
from corpuscle.text.interlinear import Sense, write_lift
from corpuscle.text.scripts import code_of, direction
from corpuscle.text.tables import NUMBER, write_table
from corpuscle.text.wording import clip, counted

PAGE, TABLES = "dictionary.html", ("dictionary.tsv", "dictionary.csv", "dictionary.lift")
MOST_BYTES = 450_000  # the data of the page have at most this number of bytes; the tables hold everything
COLUMNS = (
    "source", "target", "confidence", "links", "p(target|source)", "p(source|target)", "example", "translation",
    "kind", "sure",
)  # fmt: skip

_SCRIPT = Path(__file__).parent.parent / "dictionary.js"
_MOST_TRANSLATIONS, _EXAMPLE, _FOR_EXAMPLES = 6, 30, 0.5
_CLASSES = {"seen once": "once", "unsure": "sure0", "likely": "sure1", "sure": "sure2"}


def headwords(entries: Iterable[Entry], glosses: Mapping[str, str]) -> list[dict[str, Any]]:
    """Words with glosses and translations (target, links, confidence) as plain data, in the order of the entries."""
    return [
        {"word": clip(word), "gloss": glosses.get(word, ""),
         "translations": [[clip(e.target), round(e.links, 1), round(e.confidence, 3)] for e in group]}
        for word, group in groupby(entries, key=lambda entry: entry.source)
    ]  # fmt: skip


def card(headword: Mapping[str, Any]) -> Html:
    translations = [
        bdi(clip(word), class_=f"word {_CLASSES[how_sure(links, confidence)]}")
        for word, links, confidence in headword["translations"][:_MOST_TRANSLATIONS]
    ]
    head = bdi(headword["word"], class_="word head")
    gloss = [small(headword["gloss"], " ", class_="gloss")] if headword.get("gloss") else []
    line = p(head, " ", *gloss, fragment(*translations, between=", "), dir=direction(headword["word"]))
    return page.card(line, translate="no")


def key() -> Html:
    """What the shading of translations means."""
    return p(fragment(*(span(name, class_=shade) for name, shade in _CLASSES.items()), between=" "), class_="key")


def write(
    entries: Sequence[Entry], bitext: Bitext, folder: Path, languages: Sequence[str], glosses: Mapping[str, str]
) -> int:
    """Write all entries as TSV, as CSV and as LIFT, and the page; returns how many of them the page has."""
    frequent = frequent_words(bitext.source)
    rows = [
        (e.source, e.target, e.confidence, e.links, e.forward, e.backward, *e.shown_in(bitext),
         kind_of(e, frequent), how_sure(e.links, e.confidence))
        for e in entries
    ]  # fmt: skip
    tsv, comma, lift = (folder / name for name in TABLES)
    write_table(tsv, COLUMNS, rows)
    with write_atomically(comma, "w") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([f"{cell:{NUMBER}}" if isinstance(cell, float) else cell for cell in row] for row in rows)
    codes = (code_of(languages[0]) or "qaa", code_of(languages[1]) or "qab")

    def sense(e: Entry) -> Sense:
        sure = f"{how_sure(e.links, e.confidence)}, {e.confidence:.2f}, {e.links:.1f} links"
        return Sense(e.target, sure, *e.shown_in(bitext))

    by_word = groupby(entries, key=lambda entry: entry.source)
    words = ((word, list(map(sense, sorted(group, key=lambda e: -e.confidence)))) for word, group in by_word)
    write_lift(words, lift, codes)
    page, on_page = whole_page(entries, bitext, languages, glosses)
    with write_atomically(folder / PAGE, "w") as file:
        file.write(page)
    return on_page


def whole_page(
    entries: Sequence[Entry], bitext: Bitext, languages: Sequence[str], glosses: Mapping[str, str]
) -> tuple[Html, int]:
    data = _data(entries, bitext, glosses)
    titles = [f"{languages[0]} to {languages[1]}", f"{languages[1]} to {languages[0]}"]
    shown, rest = len(data["entries"]), ""
    if shown < len(entries):
        rest = f" This page has {shown:,} of them, the more frequent words; the tables have all."
    lead = (
        f"{counted(len(entries), 'entry', 'entries')}, learned from {counted(len(bitext), 'sentence pair')} by "
        f"counting which words are linked. Nobody has checked them.{rest} The percentage says of how many such entries "
        "people would find the links right (measured where people have linked words by hand), followed by how often "
        "the two words were linked."
    )
    options = [element("option", title, value=i) for i, title in enumerate(titles)]
    controls = div(
        element("label", "Find ", element("input", id="find", type="search", autocomplete="off")),
        element("label", "from ", element("select", *options, id="way")),
        element("label", element("input", id="unsure", type="checkbox"), " also what is unsure or seen once"),
        class_="controls",
    )
    files = [element("a", name, href=name) for name in TABLES]
    written = page.document(
        "Dictionary", element("header", element("h1", "Dictionary"), p(lead, class_="lead"), key()), controls,
        element("nav", id="letters", class_="letters"), p("", id="said", class_="note", **{"aria-live": "polite"}),
        element("dl", id="found", class_="dictionary", translate="no"),
        element("noscript", p("The search of this page needs JavaScript; the tables do not.")),
        page.note("All entries: ", fragment(*files, between=", "), "."), script=_SCRIPT.read_text(encoding="utf-8"),
        data=data,
    )  # fmt: skip
    return written, shown


def _data(entries: Sequence[Entry], bitext: Bitext, glosses: Mapping[str, str]) -> dict[str, Any]:
    """What the script of the page reads: the entries that have room there, in the order of their worth, and an example
    for the surest translation of each word while there is room."""

    def room(value: object) -> int:
        return len(json.dumps(value)) + 2

    def beginning(words: Sequence[str]) -> str:
        return " ".join([*map(clip, words[:_EXAMPLE]), *["…"] * (len(words) > _EXAMPLE)])

    ordered = content_first(entries, frequent_words(bitext.source))
    rows: list[list[Any]] = []
    examples: dict[int, int] = {}
    lines: list[list[str]] = []
    meanings: dict[str, str] = {}
    size, for_examples, seen = 0, 0, set[str]()
    for e in ordered:
        sure, places = how_sure(e.links, e.confidence), (round(100 * e.confidence), round(e.links))
        row: list[Any] = [clip(e.source), clip(e.target), *places, sure, -1]
        size += room(row)
        if e.source in glosses and e.source not in meanings:
            meanings[row[0]] = glosses[e.source]
            size += room(row[0]) + room(glosses[e.source])
        if size > MOST_BYTES:
            break
        if e.example >= 0 and e.source not in seen and e.links >= SEVERAL:
            cut = [beginning(side.words(e.example)) for side in (bitext.source, bitext.target)]
            more = 0 if e.example in examples else room(cut)
            if more and for_examples + more < _FOR_EXAMPLES * MOST_BYTES and size + more < MOST_BYTES:
                for_examples, size = for_examples + more, size + more
                examples[e.example] = len(lines)
                lines.append(cut)
            row[5] = examples.get(e.example, -1)
            seen.add(e.source)
        rows.append(row)
    ways = [
        direction(" ".join(side.words(i)[0] for i in range(min(50, len(side))) if side.lengths[i])) or "ltr"
        for side in (bitext.source, bitext.target)
    ]
    return {"entries": rows, "examples": lines, "glosses": meanings, "directions": ways}
