"""Segmenters as language models, on text outside training: words found, and perplexity per letter and per word.

Models learn from training lines without spaces (unsupervised), with the words of every fifth line (``semi``) or of all
lines (``gold``), and meet other lines, without spaces: cut by the Viterbi algorithm for F1, summed over all
segmentations for perplexity. Beside them, per letter: Kneser-Ney and Pitman-Yor models of the words that the segmenter
found, whose unknown words a model of letters has to spell, and the same models of letters.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harness import Call, Cell, Claim, cpu_hours, joined, not_run, source_digest, table, trained, typical
from bench.segment import SOURCES, _scores, _segmenter

SWEEPS, LONG = 200, 20_000
CORPORA: dict[str, tuple[str, str, str, int, dict[str, Any]]] = {
    "brent": ("transcripts of speech to children", "brent/br-phono.txt", "", 0, {}),
    "msr": ("Chinese, MSR", "sighan2005/msr-part.train.txt", "sighan2005/msr-part.dev.txt", 0, {"max_word": 4}),
    "cityu": ("Chinese, AS to CityU", "sighan2005/as-part.train.txt", "sighan2005/cityu-part.dev.txt", 0,
              {"max_word": 4}),
    "pd199801": ("Chinese, People's Daily", "sighan2005/pd199801.train.txt", "sighan2005/pd199801.dev.txt", 0,
                 {"max_word": 4}),
    "kwdlc": ("Japanese, web text", "japanese-kwdlc/train.txt", "japanese-kwdlc/dev.txt", 0, {}),
    "english": ("English without spaces, Brown corpus", "brown/brown.txt", "", 10_000, {}),
    "arabic": ("Arabic without spaces, classical", "tashkeela-ar/train.txt", "tashkeela-ar/dev.txt", 0,
               {"units": "graphemes"}),
}  # fmt: skip
"""By name: a title, training text, other text (none: every tenth line of the first), lines of it (0: all), settings."""

ORDERS = {2: "bigram", 3: "trigram"}
GIVEN = {"": "unsupervised", "semi": "semi", "gold": "gold"}
DIRICHLET = ("unigram", "bigram")
RIVALS = ("mkn words", "hpy words", "mkn letters", "hpy letters")


def cells(data: Path) -> Iterator[Cell]:
    """All comparisons, small texts first."""

    def cell(name: str, corpus: str, what: str, sides: list[Call]) -> Cell:
        title, train, test, *_ = CORPORA[corpus]
        inputs = tuple(data / path for path in (train, test) if path)
        return Cell(name, f"{title}: {what}", tuple(sides), inputs=inputs, repeats=1, warm_up=False, sources=SOURCES)

    def files(corpus: str) -> dict[str, Any]:
        _, train, test, lines, settings = CORPORA[corpus]
        return {"train": str(data / train), "test": str(data / test) if test else "", "lines": lines, **settings}

    for corpus in CORPORA:
        sides = [Call(name, "bench.segment_outside:rival", {**files(corpus), "name": name}) for name in RIVALS]
        first = Call("npylm", "bench.segment_outside:outside", {**files(corpus), "order": 2, "sweeps": SWEEPS})
        yield cell(f"{corpus}-letters", corpus, "per letter, bigrams of words", [first, *sides])
        for order, of_words in ORDERS.items():
            for given, shown in GIVEN.items():
                arguments = {**files(corpus), "order": order, "given": given, "sweeps": SWEEPS}
                side = Call(f"{of_words} {shown}", "bench.segment_outside:outside", arguments)
                yield cell(f"{corpus}-{of_words}-{shown}", corpus, "outside training", [side])
    for method in DIRICHLET:
        arguments = {**files("brent"), "method": method, "sweeps": LONG}
        side = Call(f"Dirichlet {method}, {LONG:,} sweeps", "bench.segment_outside:outside", arguments)
        yield cell(f"brent-dirichlet-{method}", "brent", "outside training", [side])


# ---- what they show


def _figure(results: dict[str, Any], name: str, what: str) -> float | None:
    """A figure of a cell with one side; None if it has not run."""
    return typical(results[name], next(iter(results[name]["runs"])), what) if name in results else None


def claims(results: dict[str, Any]) -> list[Claim]:
    """What these figures must show: given words cost perplexity per letter, and semi-supervision is best."""
    found = []
    for corpus in CORPORA:
        for of_words in ORDERS.values():
            free, semi, gold = (
                _figure(results, f"{corpus}-{of_words}-{given}", "perplexity a letter") for given in GIVEN.values()
            )
            text = f"{corpus}, {of_words}: perplexity a letter, gold over unsupervised"
            measured = (f"{gold / free:.3f}", gold > free) if free and gold else ()
            found.append(Claim(text, "above 1", *measured))
            text = f"{corpus}, {of_words}: perplexity a letter, semi over the better of the two others"
            measured = (f"{semi / min(free, gold):.3f}", semi <= min(free, gold)) if free and semi and gold else ()
            found.append(Claim(text, "1", *measured))
        if (cell := results.get(f"{corpus}-letters")) is not None:
            values = {side: typical(cell, side, "perplexity a letter") for side in cell["runs"]}
            best = min(values[name] for name in RIVALS[:2])
            text = f"{corpus}: perplexity a letter over that of the better model of its words"
            found.append(Claim(text, "1", f"{values['npylm'] / best:.3f}", values["npylm"] <= best))
    return found


def tables(results: dict[str, Any]) -> list[str]:
    """One table for all cells with the same title."""
    return [table(result) for result in joined(results)]


def notes(results: dict[str, Any]) -> str:
    """How to read the tables, and which cells have not run."""
    return "\n".join(
        [
            "### Notes",
            "",
            f"- {SWEEPS} sweeps, one chain, seed 1; all these figures together cost {cpu_hours(results):.1f} hours of "
            "CPU time, training included.",
            "- Perplexities are of lines that no model has seen, without their spaces, ends of lines included; per "
            "word: divided by the words of the best segmentation and the ends.",
            "- `mkn words`, `hpy words`: bigrams of the words that the segmenter found; an unknown word costs its "
            "probability as one and its spelling by a model of letters (Kneser-Ney, order 5) of the words found. "
            "`mkn letters`, `hpy letters`: order 8.",
            *not_run(cells(Path()), results),
        ]
    )


# ---- what the sides do


def _texts(train: str, test: str, lines: int):
    """Training lines and other lines, as they are written."""
    import numpy as np

    from corpuscle.text import read_text

    first = read_text(train, unk_token="literal")
    first = first[:lines] if lines else first
    if test:
        return first, read_text(test, unk_token="literal")
    new = np.arange(len(first)) % 10 == 9
    return first.select(~new), first.select(new)


def _trained(learning, stem: str, given: str = "", **settings: Any):
    """A segmenter of the training lines, with the words of some, see ``bench.harness.trained``."""
    import numpy as np

    is_gold = np.arange(len(learning)) % 5 == 0 if given == "semi" else np.full(len(learning), given == "gold")
    name = "-".join(["segment-outside", stem, given or "free", *map(str, settings.values()), source_digest(SOURCES)])
    text, gold = (learning.select(chosen) if chosen.any() else None for chosen in (~is_gold, is_gold))
    return trained(name, lambda: _segmenter(**settings), text, gold)


def outside(timer, train: str, test: str, lines: int, given: str = "", **settings: Any) -> dict[str, float]:
    """Train a segmenter, and meet new lines; the time is that of their perplexity."""
    learning, new = _texts(train, test, lines)
    model, seconds = _trained(learning, Path(train).stem, given, seed=1, **settings)
    model.workers = 1
    model.perplexity(new[:1], draws=1)  # compiles
    with timer:
        result = model.perplexity(new)
    scores = _scores(new, model.segment(new, spaces="remove"))
    return {
        "perplexity a letter": result["perplexity"],
        "low": result["low"],
        "high": result["high"],
        "perplexity a word": result["word_perplexity"],
        "letters a word": result["word_length"],
        **{name: scores[name] for name in ("F1", "F1 low", "F1 high", "lexicon F1")},
        "training CPU s": seconds,
    }


def rival(timer, train: str, test: str, lines: int, name: str, **settings: Any) -> dict[str, float]:
    """A language model of the words that a segmenter found, or of letters: perplexity per letter of new lines."""
    import numpy as np

    from corpuscle.lm import HpyModel, NgramModel
    from corpuscle.text import Corpus

    learning, new = _texts(train, test, lines)
    model, _ = _trained(learning, Path(train).stem, seed=1, **settings, order=2, sweeps=SWEEPS)
    model.workers = 1
    method, unit = name.split()
    found, cut = model.segment(learning, spaces="remove"), model.segment(new, spaces="remove")
    n_letters = sum(len(word) for line in cut for word in line)

    def letters(words):
        return Corpus.from_sentences([list("".join(line)) for line in words])

    order = 2 if unit == "words" else 8
    language = HpyModel(order=order, workers=1) if method == "hpy" else NgramModel(order=order, workers=1)
    language.fit(found if unit == "words" else letters(found))
    asked = cut if unit == "words" else letters(cut)
    with timer:
        events = language.events(asked.recode(language.vocab_))
    total, free = float(events.log_probability.sum()), float(events.log_probability[~events.unknown].sum())
    if unit == "words" and events.unknown.any():
        spelling = NgramModel(order=5, workers=1).fit(letters([word] for word in found.vocab.strings[3:]))
        strange = [[word] for line in cut for word in line if word not in language.vocab_]
        total += float(spelling.events(letters(strange).recode(spelling.vocab_)).log_probability.sum())
    return {
        "perplexity a letter": float(np.exp(-total / n_letters)),
        "unknown words free": float(np.exp(-free / n_letters)),
        "unknown": float(events.unknown.mean()),
    }
