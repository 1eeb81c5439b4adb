"""The dictionary of a pack as a page to read: headwords with their translations, how sure each is, and an example."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from corpuscle.align.lexicon import Entry
from corpuscle.packs import page
from corpuscle.text.bitext import Bitext
from corpuscle.text.html import Html, bdi, div, element, fragment, h3, p, section, small, span
from corpuscle.text.scripts import direction
from corpuscle.text.wording import clip, counted, percent

__all__ = ["card", "headwords", "how_sure", "key", "whole_page"]

MOST_HEADWORDS = 5000
"""So many words, the most frequent ones, have a place in the page; a browser should open it at once."""

_MOST_TRANSLATIONS, _EXAMPLE = 6, 40
_LIKELY, _SURE, _SEVERAL = 0.25, 0.5, 1.5
_CLASSES = {"seen once": "once", "unsure": "sure0", "likely": "sure1", "sure": "sure2"}


def _proper(entries: Iterable[Entry]) -> list[Entry]:
    """Without numbers and marks that stay as they are: they need no place in a dictionary that people read."""
    return [e for e in entries if e.source != e.target or any(map(str.isalpha, e.source))]


def headwords(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """Words with their translations (target, links, confidence) as plain data, in the order of the entries."""
    return [
        {
            "word": clip(word),
            "translations": [[clip(e.target), round(e.links, 1), round(e.confidence, 3)] for e in group],
        }
        for word, group in groupby(_proper(entries), key=lambda entry: entry.source)
    ]


def card(headword: dict[str, Any]) -> Html:
    """A headword with its translations in a small box."""
    translations = [_translation(*translation) for translation in headword["translations"][:_MOST_TRANSLATIONS]]
    head = bdi(headword["word"], class_="word head")
    line = p(head, " ", fragment(*translations, between=", "), dir=direction(headword["word"]))
    return page.card(line, translate="no")


def _translation(word: str, links: float, confidence: float) -> Html:
    return bdi(clip(word), class_=f"word {_CLASSES[how_sure(links, confidence)]}")


def key() -> Html:
    """What the shading of translations means."""
    return p(fragment(*(span(name, class_=shade) for name, shade in _CLASSES.items()), between=" "), class_="key")


def how_sure(links: float, confidence: float) -> str:
    """``seen once``, whatever its confidence, ``unsure``, ``likely`` or ``sure``.

    >>> how_sure(1.0, 0.5), how_sure(2.0, 0.5)
    ('seen once', 'sure')
    """
    if links < _SEVERAL:
        return "seen once"
    return "sure" if confidence >= _SURE else "likely" if confidence >= _LIKELY else "unsure"


def whole_page(entries: Sequence[Entry], bitext: Bitext) -> Html:
    """The dictionary as a page: both directions, by alphabet, with examples."""
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
    titles = {"forward": "From the first language", "backward": "From the second language"}
    lead = (
        f"{counted(len(entries), 'entry', 'entries')}, learned from {counted(len(bitext), 'sentence pair')} by "
        "counting which words are linked. Nobody has checked them. The percentage is how sure an entry is (of the "
        "links of the two words, the share that they have with each other, had each one link more to something else), "
        "followed by how often the two were linked. What was linked only once may be an accident, and is marked."
    )
    return page.document(
        "Dictionary",
        element("header", element("h1", "Dictionary"), p(lead, class_="lead"), key(), page.links(titles.items())),
        _direction("forward", titles["forward"], forward, bitext, False),
        _direction("backward", titles["backward"], backward, bitext, True),
    )


def _direction(
    name: str, title: str, words: Sequence[tuple[str, Sequence[Entry]]], bitext: Bitext, turned: bool
) -> Html:
    """One direction: the most frequent words, by alphabet, under their first letters."""
    chosen = sorted(words[:MOST_HEADWORDS], key=lambda item: (_letter(item[0]), item[0].casefold(), item[0]))
    said = f"{counted(len(chosen), 'word')}."
    if len(words) > len(chosen):
        said = f"The {len(chosen):,} most frequent of {len(words):,} words; dictionary.tsv has all of them."
    groups = [(letter, list(group)) for letter, group in groupby(chosen, key=lambda item: _letter(item[0]))]
    body = []
    for i, (letter, group) in enumerate(groups):
        rows = [_headword(word, entries, bitext, turned) for word, entries in group]
        way = direction(" ".join(word for word, _ in group))
        body += [
            h3(letter, id=f"{name}-{i}", dir=way), element("dl", *rows, class_="dictionary", dir=way, translate="no")
        ]  # fmt: skip
    letters = page.links((f"{name}-{i}", letter) for i, (letter, _) in enumerate(groups))
    return section(element("h2", title), p(said), letters, *body, id=name)


def _letter(word: str) -> str:
    """Under which heading a word stands: its first letter without accents, or one for all that is not a letter."""
    first = unicodedata.normalize("NFD", word[:1])[:1].upper()[:1]
    return first if first.isalpha() else "#"


def _headword(word: str, entries: Sequence[Entry], bitext: Bitext, turned: bool) -> Html:
    """A word with its translations, and the example of the surest one that has any."""
    translations = [
        fragment(
            _translation(e.source if turned else e.target, e.links, e.confidence),
            " ",
            small(f"{percent(e.confidence, 0)}, {e.links:.0f}×", dir="ltr"),
        )
        for e in entries[:_MOST_TRANSLATIONS]
    ]
    shown = next((entry for entry in entries if entry.example >= 0), None)
    example = [] if shown is None else _example(shown, bitext, turned)
    head = bdi(clip(word), class_="word head")
    return div(element("dt", head, " ", fragment(*translations, between="; "), dir=direction(word)), *example)


def _example(entry: Entry, bitext: Bitext, turned: bool) -> list[Html]:
    sides = [(bitext.source.words(entry.example), entry.source), (bitext.target.words(entry.example), entry.target)]
    lines = []
    for words, marked in reversed(sides) if turned else sides:
        cut = words[:_EXAMPLE] + (["…"] if len(words) > _EXAMPLE else [])
        inside = (element("mark", clip(word)) if word == marked else clip(word) for word in cut)
        lines.append(element("dd", fragment(*inside, between=" "), dir="auto"))
    return lines
