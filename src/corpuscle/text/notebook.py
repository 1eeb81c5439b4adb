"""How texts and what is said about their words look in a notebook: a line a sentence, words apart or shaded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from corpuscle.text.html import Html, div, element, p, small, span, table

__all__ = ["MOST_SHOWN", "show_links", "show_sentences", "show_shaded"]

MOST_SHOWN = 10
"""Sentences of a text that a notebook shows."""

_WORD = "display:inline-block;margin:0 .15em .25em 0;padding:0 .3em;border:1px solid #8885;border-radius:.3em"


def _ended(shown: list[Html], n: int) -> Html:
    return div(*shown, *([p(small(f"{n - len(shown):,} more"))] if n > len(shown) else []))


def show_sentences(sentences: Iterable[Sequence[str]], n: int) -> Html:
    """The first of ``n`` sentences, so that it can be seen where each word begins and ends."""
    lines = [
        p(*(span(word, style=_WORD) for word in words), dir="auto")
        for words, _ in zip(sentences, range(MOST_SHOWN), strict=False)
    ]
    return _ended(lines, n)


def show_shaded(sentences: Iterable[tuple[Sequence[str], Sequence[float]]], n: int, most: float, unit: str) -> Html:
    """The first of ``n`` sentences, each word the darker the greater its value, ``most`` and above the darkest."""
    lines = []
    for (words, values), _ in zip(sentences, range(MOST_SHOWN), strict=False):
        shares = [min(max(value / most, 0.0), 1.0) for value in values]
        cells = (
            span(word, style=f"{_WORD};background:rgba(194,80,10,{0.6 * share:.2f})", title=f"{value:.1f} {unit}")
            for word, value, share in zip(words, values, shares, strict=False)
        )
        lines.append(p(*cells, dir="auto"))
    return _ended(lines, n)


def show_links(pairs: Iterable[tuple[Sequence[str], Sequence[str], Sequence[tuple[int, int]]]], n: int) -> Html:
    """The first of ``n`` sentence pairs: each word of the source above what it is linked with."""
    tables = []
    for (source, target, links), _ in zip(pairs, range(MOST_SHOWN), strict=False):
        linked = [" ".join(target[j] for i, j in sorted(links) if i == place) for place in range(len(source))]
        lonely = [word for j, word in enumerate(target) if j not in {j for _, j in links}]
        rest = [element("p", small("not linked: "), " ".join(lonely), dir="auto")] if lonely else []
        tables.append(div(table(source, [linked]), *rest))
    return _ended(tables, n)
