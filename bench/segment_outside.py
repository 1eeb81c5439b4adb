"""Segmenters as language models, on text outside training: words found, and perplexity per letter and per word.

Models learn from training lines without spaces (unsupervised), with the words of every fifth line (``semi``) or of all
lines (``gold``), and meet other lines, without spaces: cut by the Viterbi algorithm for F1, summed over all
segmentations for perplexity. Beside them, per letter: Kneser-Ney and Pitman-Yor models of the words that the segmenter
found, whose unknown words a model of letters has to spell, and the same models of letters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bench.harness import (
    Call,
    Cell,
    Claim,
    cpu_hours,
    joined,
    not_run,
    perplexity_ratio,
    row,
    source_digest,
    trained,
    typical,
)
from bench.segment import SOURCES, _chain, _scores, _segmenter

SWEEPS, LONG, PART = 40, 20_000, 100
CORPORA: dict[str, tuple[str, str, str, int, dict[str, Any]]] = {
    "brent": ("transcripts of speech to children", "brent/br-phono.txt", "", 0, {}),
    "msr": ("Chinese, MSR", "sighan2005/msr-part.train.txt", "sighan2005/msr-part.dev.txt", 1_300, {"max_word": 4}),
    "cityu": ("Chinese, AS to CityU", "sighan2005/as-part.train.txt", "sighan2005/cityu-part.dev.txt", 4_500,
              {"max_word": 4}),
    "pd199801": ("Chinese, People's Daily", "sighan2005/pd199801.train.txt", "sighan2005/pd199801.dev.txt", 700,
                 {"max_word": 4}),
    "kwdlc": ("Japanese, web text", "japanese-kwdlc/train.txt", "japanese-kwdlc/dev.txt", 2_000, {}),
    "english": ("English without spaces, Brown corpus", "brown/brown.txt", "", 600, {}),
    "arabic": ("Arabic without spaces, with its vowels", "tashkeela-ar/train.txt", "tashkeela-ar/dev.txt", 200,
               {"units": "graphemes"}),
    "quran": ("the Quran without spaces, with its vowels", "quran-morphology-ar/train.tsv",
              "quran-morphology-ar/dev.tsv", 600, {"units": "graphemes"}),
}  # fmt: skip
"""By name: a title, training text, other text (none: every tenth line of the first), how many lines of the first (0:
all), settings."""

ORDERS = {2: "bigram", 3: "trigram"}
GIVEN = {"": "unsupervised", "semi": "semi", "gold": "gold"}
DIRICHLET = ("unigram", "bigram")
STARTED = 100
STARTS: dict[str, dict[str, Any]] = {
    "growing": {"start": "growing"},
    "growing, seed 2": {"start": "growing", "seed": 2},
    "growing, `--max-word 20`": {"start": "growing", "max_word": 20},
    "growing, `--order 3`": {"start": "growing", "order": 3},
    "growing, lengths by script": {"start": "growing", "scripts": True},
    "growing, lengths by script, `--order 3`": {"start": "growing", "order": 3, "scripts": True},
    "growing, parameters of words fixed": {"start": "growing", "fixed": ((0.5, 0.0), (200.0, 300.0))},
    "growing, the same, lengths by script": {
        "start": "growing",
        "scripts": True,
        "fixed": ((0.5, 0.0), (200.0, 300.0)),
    },
    "every utterance a word": {"start": "growing", "first": "lines"},
    "the true words, `--max-word 20`": {"start": "growing", "max_word": 20, "first": "truth"},
    "branching entropy (default), 200 sweeps": {"start": "branching", "sweeps": 200},
    "the same, lengths by script": {"start": "branching", "sweeps": 200, "scripts": True},
}
"""How chains begin; ``first``: the words that they begin with; ``fixed``: discounts and strengths that are not sampled,
by length of context."""

RIVALS = ("mkn words", "hpy words", "mkn letters", "hpy letters")
COMPARED = ("brent", "msr", "kwdlc", "english")
"""The texts on which they are compared with the segmenter."""


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
        for order, of_words in ORDERS.items():
            for given, shown in GIVEN.items():
                arguments = {**files(corpus), "order": order, "given": given, "sweeps": SWEEPS}
                side = Call(f"{of_words} {shown}", "bench.segment_outside:outside", arguments)
                yield cell(f"{corpus}-{of_words}-{shown}", corpus, "outside training", [side])
    for corpus in COMPARED:
        sides = [Call(name, "bench.segment_outside:rival", {**files(corpus), "name": name}) for name in RIVALS]
        first = Call("npylm", "bench.segment_outside:outside", {**files(corpus), "order": 2, "sweeps": SWEEPS})
        yield cell(f"{corpus}-letters", corpus, "per letter, bigrams of words", [first, *sides])
    part = {**files("brent"), "lines": -PART}
    sides = [
        Call(f"Dirichlet {method}, {LONG:,} sweeps", "bench.segment_outside:outside",
             {**part, "method": method, "sweeps": LONG})
        for method in DIRICHLET
    ]  # fmt: skip
    for order, of_words in ORDERS.items():
        arguments = {**part, "order": order, "sweeps": 200}
        sides.append(Call(f"npylm {of_words}, 200 sweeps", "bench.segment_outside:outside", arguments))
    yield cell("brent-part", "brent", "every tenth utterance, outside training", sides)
    sides = [
        Call(f"Dirichlet {method}, {count} sweeps", "bench.segment_outside:outside",
             {**files("brent"), "method": method, "sweeps": count})
        for method in DIRICHLET for count in (20, 50)
    ]  # fmt: skip
    yield cell("brent-dirichlet", "brent", "outside training", sides)
    text = {"train": str(data / CORPORA["brent"][1])}
    sides = [Call(name, "bench.segment_outside:started", {**text, **settings}) for name, settings in STARTS.items()]
    yield cell("brent-starts", "brent", f"chains by how they begin, {STARTED} sweeps", sides)


# ---- what they show


def claims(results: dict[str, Any]) -> list[Claim]:
    """What these figures must show: given words cost perplexity per letter, and semi-supervision is best."""
    found = []
    for corpus in CORPORA:
        for of_words in ORDERS.values():
            free, semi, gold = (f"{corpus}-{of_words}-{given}" for given in GIVEN.values())
            text = f"{corpus}, {of_words}: perplexity a letter, gold over unsupervised"
            found.append(Claim(text, "above 1", *perplexity_ratio(results, gold, free)))
            for other in free, gold:
                text = f"{corpus}, {of_words}: perplexity a letter, {other.rpartition('-')[2]} over semi"
                found.append(Claim(text, "above 1", *perplexity_ratio(results, other, semi)))
        if (cell := results.get(f"{corpus}-letters")) is not None:
            values = {side: typical(cell, side, "perplexity a letter") for side in cell["runs"]}
            best = min(values[name] for name in RIVALS[:2])
            text = f"{corpus}: perplexity a letter over that of the better model of its words"
            found.append(Claim(text, "1", f"{values['npylm'] / best:.3f}", values["npylm"] <= best))
    return found


def tables(results: dict[str, Any]) -> list[str]:
    """Words and perplexities of all texts; language models beside the segmenter; Dirichlet processes."""
    outside = {name: result for name, result in results.items() if name.endswith(tuple(GIVEN.values()))}
    rivals = {name: result for name, result in results.items() if name.endswith("-letters")}
    rest = {name: result for name, result in results.items() if name not in outside and name not in rivals}
    lines = [_head("### Lines outside training", _COLUMNS)]
    for result in joined(outside):
        lines += _rows(result, result["title"].partition(":")[0])
    shown = ["\n".join(lines)]
    if rivals:
        lines = [_head("### Perplexity a letter, bigrams of words", ("npylm", *RIVALS, "unknown words"))]
        for result in joined(rivals):
            cells = [f"{typical(result, side, 'perplexity a letter'):.2f}" for side in ("npylm", *RIVALS)]
            unknown = f"{100 * typical(result, 'mkn words', 'unknown'):.1f} %"
            lines.append(row([result["title"].partition(":")[0], *cells, unknown]))
        shown.append("\n".join(lines))
    starts = rest.pop("brent-starts", None)
    for name, result in rest.items():
        shown.append("\n".join([_head(f"### {result['title']}: {name.partition('-')[2]}", _COLUMNS), *_rows(result)]))
    if starts is not None:
        lines = [_head(f"### {starts['title']}", ("F1", "log P", "perplexity a letter", "letters a word", "CPU s"))]
        for side, (run,) in starts["runs"].items():
            found = run["figures"]
            cells = [f"{found['F1']:.3f}", f"{found['log P']:,.0f}", f"{found['perplexity']:.2f}"]
            cells.append(f"{found['letters a word']:.2f}")
            lines.append(row([side, *cells, f"{run['cpu']:.0f}"]))
        shown.append("\n".join(lines))
    return shown


_COLUMNS = ("perplexity a letter (95 % interval)", "a word", "letters a word", "F1 (95 % interval)", "lexicon F1",
            "training CPU s")  # fmt: skip


def _head(title: str, columns: Iterable[str]) -> str:
    columns = tuple(columns)
    return "\n".join([title, "", row(["", *columns]), row(["---"] + ["---:"] * len(columns))])


def _rows(result: dict[str, Any], of: str = "") -> list[str]:
    """A row for each side."""
    made = []
    for side, (run,) in result["runs"].items():
        found = run["figures"]
        perplexity = f"{found['perplexity a letter']:.2f} ({found['low']:.2f} to {found['high']:.2f})"
        score = f"{found['F1']:.3f} ({found['F1 low']:.3f} to {found['F1 high']:.3f})"
        cells = [perplexity, f"{found['perplexity a word']:.1f}", f"{found['letters a word']:.2f}", score]
        cells += [f"{found['lexicon F1']:.3f}", f"{found['training CPU s']:.0f}"]
        made.append(row([f"{of}: {side}" if of else side, *cells]))
    return made


def notes(results: dict[str, Any]) -> str:
    """How to read the tables, and which cells have not run."""
    lines = {name: count for name, (_, _, _, count, _) in CORPORA.items() if count}
    return "\n".join(
        [
            "### Notes",
            "",
            f"- {SWEEPS} sweeps, one chain, seed 1, of the first {', '.join(f'{n:,} ({m})' for m, n in lines.items())} "
            f"lines; all these figures together cost {cpu_hours(results):.1f} hours of CPU time, training included. "
            "The paper had 50,000 lines of Chinese, 37,400 of Japanese, and 400 sweeps (200 of the transcripts).",
            "- Perplexities are of lines that no model has seen, without their spaces, ends of lines included; per "
            "word: divided by the words of the best segmentation and the ends.",
            f"- `mkn words`, `hpy words` ({SWEEPS} sweeps): bigrams of the words that the segmenter found; an unknown "
            "word costs its probability as one and its spelling by a model of letters (Kneser-Ney, order 5) of the "
            "words found. `mkn letters`, `hpy letters`: order 8.",
            f"- The Dirichlet processes with {LONG:,} sweeps, as many as in the paper, have every {PART}th utterance "
            "of the transcripts; the time of a sweep grows with the text.",
            "- Chains by how they begin: all utterances, of whose words the last sample is judged; log P is that of "
            "words and seating, to be compared where the longest word is the same; the perplexity is of each utterance "
            "as all others predict it, over all segmentations, in the last sweep. The paper has types of words by "
            "script; phonemes are written with digits, letters and marks.",
            *not_run(cells(Path()), results),
        ]
    )


# ---- what the sides do


def _texts(train: str, test: str, lines: int):
    """So many training lines (below zero: every so manieth) and other lines, as they are written; a table has a word a
    line, with its number in its verse."""
    from itertools import groupby

    import numpy as np

    from corpuscle.text import Corpus, read_text
    from corpuscle.text.files import read_lines

    def read(path: str):
        if not path.endswith(".tsv"):
            return read_text(path, unk_token="literal")
        rows = [line.split("\t") for _, line in read_lines(path) if line and not line.startswith("#")]
        verses = groupby(rows, lambda row: row[0].rpartition(":")[0])
        return Corpus.from_sentences([[row[1] for row in words] for _, words in verses])

    first = read(train)
    first = first[:lines] if lines > 0 else first.select(np.arange(len(first)) % -lines == 0) if lines else first
    if test:
        return first, read(test)
    new = np.arange(len(first)) % 10 == 9
    return first.select(~new), first.select(new)


def _stem(train: str, lines: int) -> str:
    return f"{Path(train).parent.name}-{Path(train).stem}-{lines}"


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
    model, seconds = _trained(learning, _stem(train, lines), given, seed=1, **settings)
    model.workers = 1
    model.perplexity(new[:1], draws=1)  # compiles
    with timer:
        result = model.perplexity(new)
    scores, lines_ = _scores(new, model.segment(new, spaces="remove")), model.score(new)
    return {
        "perplexity a letter": result["perplexity"],
        "low": result["low"],
        "high": result["high"],
        "perplexity a word": result["word_perplexity"],
        "letters a word": result["word_length"],
        **{name: scores[name] for name in ("F1", "F1 low", "F1 high", "lexicon F1")},
        "training CPU s": seconds,
        "logs": lines_.log_probability.round(4).tolist(),
        "lengths": lines_.letters.tolist(),
    }


def rival(timer, train: str, test: str, lines: int, name: str, **settings: Any) -> dict[str, float]:
    """A language model of the words that a segmenter found, or of letters: perplexity per letter of new lines."""
    import numpy as np

    from corpuscle.lm import HpyModel, NgramModel
    from corpuscle.text import Corpus

    learning, new = _texts(train, test, lines)
    model, _ = _trained(learning, _stem(train, lines), seed=1, **settings, order=2, sweeps=SWEEPS)
    model.workers = 1
    method, unit = name.split()
    found, cut = model.segment(learning, spaces="remove"), model.segment(new, spaces="remove")
    n_letters = sum(len(word) for line in cut for word in line)

    def letters(words):
        return Corpus.from_sentences([list("".join(line)) for line in words])

    order = 2 if unit == "words" else 8
    settings = {"sweeps": SWEEPS} if method == "hpy" else {}
    language = (HpyModel if method == "hpy" else NgramModel)(order=order, workers=1, **settings)
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


def started(
    timer,
    train: str,
    first: str = "",
    scripts: bool = False,
    fixed: tuple[list[float], list[float]] | None = None,
    order: int = 2,
    sweeps: int = STARTED,
    **settings: Any,
) -> dict[str, float]:
    """Sweeps of a chain over all of a text, perhaps begun with its true words, or with lines as words; ``scripts``: a
    law of lengths for each type of word, as in the paper, but punctuation is a letter like others."""
    import dataclasses

    import numpy as np

    from corpuscle.learning import sweep
    from corpuscle.measure import segmentation_counts
    from corpuscle.segment import word_corpus
    from corpuscle.segment.letters import letter_masks
    from corpuscle.text import read_text

    text = read_text(train, unk_token="literal")
    chain, letters = _chain(text, order=order, sweeps=sweeps, **settings)
    material = chain.material
    if scripts:
        material = dataclasses.replace(material, masks=letter_masks(letters.vocab, True))
    if first == "lines":
        material = dataclasses.replace(material, longest=int(np.diff(material.starts).max()))
    chain = type(chain)(material, chain.settings, chain.seed)
    if first:  # as words of branching entropy are: every sentence comes with them, later sweeps may change them
        whole = [[len("".join(line))] if first == "lines" else [len(word) for word in line] for line in text]
        begins = [int(at == 0) for line in whole for length in line for at in range(length)]
        object.__setattr__(chain.material, "first_words", lambda _: np.array(begins, np.uint8))
        chain.branching = True
    if fixed is not None:
        chain.held = sweeps + 1
        chain.nested.words.discounts[:], chain.nested.words.strengths[:] = fixed
    with timer:
        for number in range(sweeps + 1):
            noted = sweep(chain, number)
    found = word_corpus(letters, np.asarray(chain.cuts), "characters")
    right, words, gold = segmentation_counts(text, found)[0].sum(0)
    figures = {"F1": 2 * right / (words + gold), "log P": noted[0], "perplexity": noted[1], "letters a word": noted[4]}
    return {name: float(value) for name, value in figures.items()}
