"""Verbs about two languages: links between words, the dictionary, drafts, names in another script."""

from __future__ import annotations

from typing import Any

from corpuscle.align.settings import DEFAULT_SYMMETRISATION, WAYS
from corpuscle.catalogue import TASKS
from corpuscle.errors import SettingError
from corpuscle.settings import setting
from corpuscle.web.verbs.table import K, Lines, Pair, corpus_of, split_lines, verb

__all__ = ["ALIGNERS", "DICTIONARY"]

ALIGNERS = tuple(f"align.{method}" for method in TASKS["align"].methods)
DICTIONARY = "dictionary"
"""The task and the kind of the dictionary of a pack, a table, which is asked like a model."""


class Linking(Pair):
    """Sentence pairs."""

    symmetrise: str = setting(
        "How the links of both directions are joined.", default=DEFAULT_SYMMETRISATION, choices=WAYS
    )


class Names(K):
    """Names."""

    names: str = setting("Names, one a line.", default="")


class Drafting(Lines):
    """Sentences to translate."""

    nbest: int = setting("How many translations of each.", default=3, low=1, high=50)


class Search(K):
    """What to look up."""

    search: str = setting("The beginning of a word, of either language; empty: the first entries.", default="")


@verb("align", Linking, kinds=ALIGNERS, source="a b", target="c d")
def align(model: Any, given: Any) -> dict[str, Any]:
    """Which words of sentence pairs translate which, how probable every link is, and the grid as a picture."""
    from corpuscle.figures import alignment_grid
    from corpuscle.text import Bitext, read_strings

    sides = [split_lines(given.source), split_lines(given.target)]
    if len(sides[0]) != len(sides[1]):
        raise SettingError(f"source has {len(sides[0])} lines, target {len(sides[1])}: they must be as many")
    bitext = Bitext(*(read_strings(side, **model.reading) for side in sides))
    links, matrix, sure = model.align(bitext, given.symmetrise), model.matrix(bitext), model.confidence(bitext)
    pairs = []
    for i in range(len(bitext)):
        source, target, cells = bitext.source.words(i), bitext.target.words(i), matrix.matrix(i)
        linked = [(int(a), int(b)) for a, b in links.pair(i).tolist()]
        pairs.append({
            "source": source, "target": target, "confidence": float(sure[i]),
            "links": [{"source": a, "target": b, "probability": float(cells[a, b])} for a, b in linked],
            "svg": alignment_grid(source, target, cells, linked),
        })  # fmt: skip
    return {"pairs": pairs}


@verb(DICTIONARY, Search, search="a")
def lookup(table: Any, given: Any) -> dict[str, Any]:
    """Entries of the dictionary whose words begin like this, with how sure they are and an example."""
    import unicodedata

    wanted = unicodedata.normalize("NFC", given.search).casefold()
    found = [row for row in table if row["source"].casefold().startswith(wanted)] or [
        row for row in table if row["target"].casefold().startswith(wanted)
    ]
    return {"entries": found[: given.k], "found": len(found), "all": len(table)}


@verb("transliterate", Names, names="ab", k=3)
def transliterate(model: Any, given: Any) -> dict[str, Any]:
    """The best ways to write names in the other script."""
    names = split_lines(given.names)
    found = model.transliterate(names, given.k)
    return {
        "names": [
            {"source": source, "candidates": [candidate._asdict() for candidate in candidates]}
            for source, candidates in zip(names, found, strict=True)
        ]
    }


@verb("transliterate", Names, kinds=("transliterate.phrase", "transliterate.combined"), names="ab", k=3)
def lattice(model: Any, given: Any) -> dict[str, Any]:
    """A picture of the best ways to write the first word of some names, piece by piece."""
    from corpuscle.transliterate import draw_lattice

    name = next(iter(given.names.split()), "")
    return {"source": name, "svg": draw_lattice(_part(model, "phrase"), name, min(given.k, 30)) if name else ""}


@verb("transliterate", Names, kinds=("transliterate.neural", "transliterate.combined"), names="ab")
def attention(model: Any, given: Any) -> dict[str, Any]:
    """A picture of the letters of the first of some names that a network looks at while it writes each letter."""
    return _attention(_part(model, "neural"), given.names)


def _attention(model: Any, text: str) -> dict[str, Any]:
    from corpuscle.neural import draw_attention

    line = next((line for line in split_lines(text) if line.strip()), "")
    return {"source": line, "svg": draw_attention(model, line) if line else ""}


def _part(model: Any, method: str) -> Any:
    """The model of a method inside of a combined one, or the model itself."""
    return getattr(model, f"{method}_") if model.KIND.name == "transliterate.combined" else model


@verb("translate", Drafting, text="a b")
def translate(model: Any, given: Any) -> dict[str, Any]:
    """Draft translations of sentences, the best first."""
    corpus = corpus_of(model, given)
    found = model.translate(corpus, given.nbest)
    return {
        "sentences": [
            {"source": " ".join(words), "translations": [{"target": t, "score": s} for t, s in ranked]}
            for words, ranked in zip(corpus, found, strict=True)
        ]
    }


@verb("translate", Lines, kinds=("translate.neural",), name="attention", text="a b")
def attention_of_sentences(model: Any, given: Any) -> dict[str, Any]:
    """A picture of the pieces of the first sentence that a network looks at while it writes each piece."""
    return _attention(model, "\n".join(map(" ".join, corpus_of(model, given))))
