"""What words in Latin letters are worth to the log-linear aligner, for languages written in other scripts.

No links by people are at hand for most of these languages, but tags are: 800 sentences in several languages
(``ud-pud-parallel``, ``ud-pud-hi-ru``). A name should be linked to a name, so of the links that touch a proper noun on
either side those that join two are counted. The log-linear aligner learns from the 800 pairs alone, in lower case, with
and without ``--romanise latin``; both directions joined by grow-diag-final-and.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.align import SOURCES
from bench.harness import Call, Cell, Claim, row

LANGUAGES = {"Russian": "ud-pud-hi-ru/ru", "Arabic": "ud-pud-parallel/ar", "Hindi": "ud-pud-hi-ru/hi",
             "Chinese": "ud-pud-parallel/zh"}  # fmt: skip
WAYS = ("none", "latin")


def cells(data: Path) -> Iterator[Cell]:
    """A cell for each language."""
    english = data / "ud-pud-parallel/en.conllu"
    for language, stem in LANGUAGES.items():
        texts = english, data / f"{stem}.conllu"
        arguments = {"english": str(texts[0]), "other": str(texts[1])}
        sides = tuple(Call(way, "bench.align_romanise:names", arguments | {"romanise": way}) for way in WAYS)
        sources = (*SOURCES, "corpuscle/text/scripts.py")
        yield Cell(language, language, sides, inputs=texts, repeats=1, warm_up=False, sources=sources)


def names(timer, english: str, other: str, romanise: str) -> dict[str, Any]:
    """Align, and count by pair the links that touch a proper noun and those that join two."""
    import numpy as np

    from corpuscle.align import LogLinear
    from corpuscle.text import read_conllu
    from corpuscle.text.bitext import Bitext
    from corpuscle.text.corpus import Corpus

    banks = [read_conllu(path) for path in (english, other)]
    sides = [Corpus.from_sentences([[word.lower() for word in words] for words in bank.corpus]) for bank in banks]
    proper = [np.array(bank.tags.strings()) == "PROPN" for bank in banks]
    bitext = Bitext(*sides)
    with timer:
        links = LogLinear(romanise=romanise, workers=1).fit(bitext).align(bitext)
    places = [side.sentence_starts[links.pairs] + links.links[:, i] for i, side in enumerate(sides)]
    first, second = (own[where] for own, where in zip(proper, places, strict=True))
    counts = [np.bincount(links.pairs[chosen], minlength=len(bitext)) for chosen in (first & second, first | second)]
    share = float(counts[0].sum() / counts[1].sum())
    return {"links of names": int(counts[1].sum()), "to names": share} | {
        name: own.tolist() for name, own in zip(("right", "touching"), counts, strict=True)
    }


# ---- the report


def _gain(result: dict[str, Any]) -> tuple[str, bool | None]:
    """The share with Latin letters minus that without, with its 95 % interval over the same sentence pairs."""
    import numpy as np

    right, touching = (
        np.array([run["curves"][name] for (run,) in result["runs"].values()]) for name in ("right", "touching")
    )
    drawn = np.random.default_rng(1).integers(right.shape[1], size=(1000, right.shape[1]))
    shares = right[:, drawn].sum(2) / touching[:, drawn].sum(2)
    low, high = np.quantile(100 * (shares[1] - shares[0]), (0.025, 0.975))
    before, after = 100 * right.sum(1) / touching.sum(1)
    shown = f"{after - before:+.1f} ({low:+.1f} to {high:+.1f})"
    return shown, None if low <= 0 <= high else bool(after > before)


def tables(results: dict[str, Any]) -> list[str]:
    """The share of links of names that join two names."""
    head = ["", "as written", "in Latin letters", "difference (95 % interval)", "links of names", "CPU s"]
    lines = [row(head), row(["---"] + ["---:"] * (len(head) - 1))]
    for name, result in results.items():
        runs = [run for (run,) in result["runs"].values()]
        shares = [f"{100 * run['figures']['to names']:.1f} %" for run in runs]
        lines.append(row([name, *shares, _gain(result)[0], f"{runs[1]['figures']['links of names']:,.0f}",
                          f"{runs[1]['cpu']:.0f}"]))  # fmt: skip
    return ["\n".join(lines)]


def claims(results: dict[str, Any]) -> list[Claim]:
    """Latin letters bring names together where the letters of a script have sounds."""
    return [
        Claim(f"{name}: links of names that join two names, in Latin letters minus as written, points", "above 0",
              *_gain(results[name]))
        for name in LANGUAGES if name in results and name != "Chinese"
    ]  # fmt: skip


def notes(results: dict[str, Any]) -> str:
    """How to read the table."""
    return "\n".join([
        "### Notes", "",
        "- Of all links that touch a proper noun (by the tags of the treebanks) on either side, those that join two; "
        "800 sentence pairs with English, nothing else is learned from. Languages differ in what is tagged as a name: "
        "only the two columns of one row are to be compared.",
        "- Chinese characters have no letters in their Unicode names, and stay as they are.",
    ])  # fmt: skip
