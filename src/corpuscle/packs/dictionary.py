"""The dictionary of a pack as a page to read: headwords with their translations, how sure each is, and an example."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from corpuscle.align.lexicon import Entry
from corpuscle.packs import page
from corpuscle.text import tables
from corpuscle.text.bitext import Bitext
from corpuscle.text.files import AnyPath, write_atomically

__all__ = ["headwords", "listed", "write_page", "write_table"]

MOST_HEADWORDS = 5000
"""So many words, the most frequent ones, have a place in the page; a browser should open it at once."""

_MOST_TRANSLATIONS, _EXAMPLE = 6, 40
_LIKELY, _SURE = 0.25, 0.5
COLUMNS = (
    "source", "target", "confidence", "links", "p(target|source)", "p(source|target)", "example", "translation",
)  # fmt: skip


def write_table(entries: Iterable[Entry], bitext: Bitext, path: AnyPath) -> None:
    """Write all entries as a table with a heading, tab-separated, with both sides of an example."""
    rows = (
        (e.source, e.target, e.confidence, f"{e.links:.2f}", e.forward, e.backward, *e.shown_in(bitext))
        for e in entries
    )
    tables.write_table(path, COLUMNS, rows)


def _proper(entries: Iterable[Entry]) -> list[Entry]:
    """Without numbers and marks that stay as they are: they need no place in a dictionary that people read."""
    return [e for e in entries if e.source != e.target or any(map(str.isalpha, e.source))]


def headwords(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """Words with their translations (target, links, confidence) as plain data, in the order of the entries."""
    return [
        {
            "word": page.clip(word),
            "translations": [[page.clip(e.target), round(e.links, 1), round(e.confidence, 3)] for e in group],
        }
        for word, group in groupby(_proper(entries), key=lambda entry: entry.source)
    ]


def listed(words: Sequence[dict[str, Any]]) -> str:
    """Headwords as small cards."""
    cards = []
    for word in words:
        translations = ", ".join(
            f'<bdi class="word {_class(sure)}">{page.escape(target)}</bdi>'
            for target, _, sure in word["translations"][:_MOST_TRANSLATIONS]
        )
        cards.append(
            f'<div class="class" translate="no"><p><bdi class="word head">{page.escape(word["word"])}</bdi> '
            f"{translations}</p></div>"
        )
    return f'<div class="grid">{"".join(cards)}</div>{key()}'


def key() -> str:
    """What the shading of translations means."""
    steps = ((0.0, "unsure"), (_LIKELY, "likely"), (_SURE, "sure"))
    shown = " ".join(f'<span class="{_class(sure)}">{name}</span>' for sure, name in steps)
    return f'<p class="key">{shown}</p>'


def _class(sure: float) -> str:
    return "sure2" if sure >= _SURE else "sure1" if sure >= _LIKELY else "sure0"


def write_page(entries: Sequence[Entry], bitext: Bitext, path: AnyPath) -> None:
    """Write the dictionary as a page: both directions, by alphabet, with examples."""
    entries = _proper(entries)
    forward = [
        (word, sorted(group, key=lambda e: -e.confidence))
        for word, group in groupby(entries, key=lambda entry: entry.source)
    ]
    turned: dict[str, list[Entry]] = {}
    for entry in entries:
        turned.setdefault(entry.target, []).append(entry)
    frequent = sorted(turned.items(), key=lambda item: (-sum(e.links for e in item[1]), item[0]))
    backward = [(word, sorted(group, key=lambda e: (-e.confidence, e.source))) for word, group in frequent]
    parts = [
        "<header><h1>Dictionary</h1>",
        f'<p class="lead">{page.counted(len(entries), "entry", "entries")}, learned from '
        f"{page.counted(len(bitext), 'sentence pair')} by counting which words are linked. Nobody has checked them. "
        "The percentage is how sure an entry is (of the links of the two words, the share that they have with each "
        "other, had each one link more to something else), followed by how often the two were linked.</p>",
        key(),
        '<nav><a href="#forward">From the first language</a><a href="#backward">From the second language</a></nav>',
        "</header>",
        _direction("forward", "From the first language", forward, bitext, False),
        _direction("backward", "From the second language", backward, bitext, True),
    ]
    with write_atomically(path, "w") as file:
        file.write(page.document("Dictionary", "".join(parts)))


def _direction(
    name: str, title: str, words: Sequence[tuple[str, Sequence[Entry]]], bitext: Bitext, turned: bool
) -> str:
    """One direction: the most frequent words, by alphabet, under their first letters."""
    chosen = sorted(words[:MOST_HEADWORDS], key=lambda item: (_letter(item[0]), item[0].casefold(), item[0]))
    said = f"{page.counted(len(chosen), 'word')}."
    if len(words) > len(chosen):
        said = f"The {len(chosen):,} most frequent of {len(words):,} words; dictionary.tsv has all of them."
    groups = [(letter, list(group)) for letter, group in groupby(chosen, key=lambda item: _letter(item[0]))]
    links = "".join(f'<a href="#{name}-{i}">{page.escape(letter)}</a>' for i, (letter, _) in enumerate(groups))
    body = []
    for i, (letter, group) in enumerate(groups):
        rows = "".join(_headword(word, entries, bitext, turned) for word, entries in group)
        body.append(f'<h3 id="{name}-{i}">{page.escape(letter)}</h3><dl class="dictionary" translate="no">{rows}</dl>')
    return f'<section id="{name}"><h2>{title}</h2>{page.paragraph(said)}<nav>{links}</nav>{"".join(body)}</section>'


def _letter(word: str) -> str:
    """Under which heading a word stands: its first letter without accents, or one for all that is not a letter."""
    first = unicodedata.normalize("NFD", word[:1])[:1].upper()[:1]
    return first if first.isalpha() else "#"


def _headword(word: str, entries: Sequence[Entry], bitext: Bitext, turned: bool) -> str:
    """A word with its translations, and the example of the surest one that has any."""
    translations = "; ".join(
        f'<bdi class="word {_class(e.confidence)}">{page.escape(page.clip(e.source if turned else e.target))}</bdi> '
        f"<small>{page.percent(e.confidence, 0)}, {e.links:.0f}×</small>"
        for e in entries[:_MOST_TRANSLATIONS]
    )
    shown = next((entry for entry in entries if entry.example >= 0), None)
    example = "" if shown is None else _example(shown, bitext, turned)
    return f'<div><dt><bdi class="word head">{page.escape(page.clip(word))}</bdi> {translations}</dt>{example}</div>'


def _example(entry: Entry, bitext: Bitext, turned: bool) -> str:
    sides = [(bitext.source.words(entry.example), entry.source), (bitext.target.words(entry.example), entry.target)]
    lines = []
    for words, marked in reversed(sides) if turned else sides:
        cut = words[:_EXAMPLE] + (["…"] if len(words) > _EXAMPLE else [])
        inside = " ".join(
            f"<mark>{page.escape(page.clip(word))}</mark>" if word == marked else page.escape(page.clip(word))
            for word in cut
        )
        lines.append(f'<dd dir="auto">{inside}</dd>')
    return "".join(lines)
