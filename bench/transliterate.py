"""Transliteration: accuracy, training time and names a second by language pair and beam, beside joint n-gram tools.

Every model learns from the training file alone, and tunes on a tenth of it; the figures are on the development file,
which it has never seen and on which nothing was chosen. ``phonetisaurus`` and Sequitur's ``g2p.py`` take part in
English to Hindi where they are on PATH, with their usual settings.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harness import Call, Cell, Claim, row, typical

SETS = {
    "en-hi": ("translit-en-hi/train.tsv", "translit-en-hi/dev.tsv"),
    "en-vi": ("translit-en-vi/train.tsv", "translit-en-vi/dev.tsv"),
    "en-fa": ("translit-en-fa/train.tsv", "translit-en-fa/dev.tsv"),
    "ar-en": ("translit-ar-en/train.tsv", "translit-ar-en/dev.tsv"),
    "en-ja": ("translit-en-ja/train.tsv", "translit-en-ja/dev.tsv"),
    "wikidata-he": ("translit-wikidata/he.train.tsv", "translit-wikidata/he.dev.tsv"),
    "wikidata-ar": ("translit-wikidata/ar.train.tsv", "translit-wikidata/ar.dev.tsv"),
    "wikidata-ru": ("translit-wikidata/ru.train.tsv", "translit-wikidata/ru.dev.tsv"),
    "en-zh": ("translit-en-zh/train.tsv", "translit-en-zh/dev.tsv"),
}
BEAMS = (5, 20, 100)
PHONETISAURUS, SEQUITUR = shutil.which("phonetisaurus"), shutil.which("g2p.py")
SEQUITUR_ORDERS = 6
SOURCES = (
    "corpuscle/transliterate/**/*.py",
    *(f"corpuscle/engine/{part}.py" for part in ("dp/*", "ngrams/*", "mert", "phrase_*")),
)
"""What the figures depend on."""

PLAIN = {
    "aligner": "hmm", "joint_order": 0, "context": 0, "metric": "bleu",
}  # fmt: skip
"""The system of phrases alone, tuned by line search on BLEU."""


def cells(data: Path) -> Iterator[Cell]:
    """All language pairs; English to Hindi has further sides."""
    for name, (train, dev) in SETS.items():
        paths = {"train": str(data / train), "dev": str(data / dev)}
        sides = [Call("corpuscle", "bench.transliterate:ours", paths)]
        if name == "en-hi":
            sides.append(Call("letter map", "bench.transliterate:letter_map", paths))
            if PHONETISAURUS:
                more = {**paths, "program": PHONETISAURUS}
                sides.append(Call("phonetisaurus", "bench.transliterate:phonetisaurus", more))
        yield _cell(name, tuple(sides), data / train, data / dev)
    train, dev = SETS["en-hi"]
    paths = {"train": str(data / train), "dev": str(data / dev)}
    sides = [Call("en-hi", "bench.transliterate:plain", paths)]
    yield _cell("phrases alone", tuple(sides), data / train, data / dev)
    if SEQUITUR:
        sides = [Call("en-hi", "bench.transliterate:sequitur", {**paths, "program": SEQUITUR})]
        yield _cell("sequitur", tuple(sides), data / train, data / dev)


def _cell(name: str, sides: tuple[Call, ...], *inputs: Path) -> Cell:
    return Cell(name, name, sides, inputs=inputs, repeats=1, warm_up=False, sources=SOURCES)


# ---- the sides


def _figures(candidates: list[list[str]], dev: str | list[Any]) -> dict[str, float]:
    from corpuscle.measure import news_measures
    from corpuscle.transliterate import read_names
    from corpuscle.transliterate.preparation import Spelling

    normal = Spelling().normal
    gold = read_names(dev) if isinstance(dev, str) else dev
    references = [[normal(target) for target in pair.targets] for pair in gold]
    result = news_measures([[normal(target) for target in found] for found in candidates], references)
    ends = ("", "_low", "_high")
    return {f"{name}{end}": float(result[name + end]) for name in ("acc", "f_score", "mrr", "map_ref") for end in ends}


def _ours(timer, train: str, dev: str, beams: tuple[int, ...], **settings: Any) -> dict[str, float]:
    """Learn and tune; rank 20 candidates; write the best candidate of every name, at several beams."""
    import time

    from corpuscle.transliterate import PhraseTransliterator, read_names, warm

    warm()
    pairs, held_out = read_names(train), read_names(dev)
    names = [pair.source for pair in held_out]
    with timer:
        model = PhraseTransliterator(**settings).fit(pairs)
    found = model.transliterate(names, 20)
    figures = _figures([[candidate.target for candidate in ranked] for ranked in found], dev)
    figures |= {"pairs": len(pairs), "names": len(names), "seen names": model.overlap(held_out)[0]}
    model.workers = 2
    walls = []
    for _ in range(3):
        begin = time.perf_counter()
        model.transliterate(names)
        walls.append(time.perf_counter() - begin)
    figures["names a second, two threads"] = len(names) / min(walls)
    model.workers = 1
    for beam in sorted({model.beam, *beams}):
        model.transliterate(names[:1], beam=beam)
        begin = time.process_time()
        best = model.transliterate(names, beam=beam)
        figures[f"names a CPU second, beam {beam}"] = len(names) / (time.process_time() - begin)
        figures[f"acc, beam {beam}"] = _figures([[c.target for c in ranked] for ranked in best], dev)["acc"]
    return figures


def ours(timer, train: str, dev: str) -> dict[str, float]:
    """The defaults."""
    return _ours(timer, train, dev, BEAMS)


def plain(timer, train: str, dev: str) -> dict[str, float]:
    """Phrases and a letter model only, as in statistical machine translation."""
    return _ours(timer, train, dev, (), **PLAIN)


def letter_map(timer, train: str, dev: str) -> dict[str, float]:
    """Every letter by its most frequent counterpart."""
    from corpuscle.transliterate import LetterMap, read_names

    pairs = read_names(train)
    with timer:
        model = LetterMap().fit(pairs)
    found = model.transliterate([pair.source for pair in read_names(dev)])
    return _figures([[candidate.target for candidate in ranked] for ranked in found], dev)


def _word_list(names: list[Any]) -> list[str]:
    """The different words of some names, as models see them."""
    from corpuscle.transliterate.preparation import Spelling

    return list(dict.fromkeys(word for pair in names for word in Spelling().normal(pair.source).split(" ")))


def _peer(timer, train: str, dev: str, commands, read) -> dict[str, float]:
    """Let another program learn from word pairs and rank words; ``commands(lexicon, model, words)`` gives the commands
    of training and that of prediction, ``read`` a word and its letters from a line. Names of several words are made of
    the first answers for their words."""
    from corpuscle.text.corpus import SPACE
    from corpuscle.transliterate import read_names
    from corpuscle.transliterate.preparation import Spelling, prepare

    held_out = read_names(dev)
    rows = dict.fromkeys(
        (word.source, word.targets[0])
        for word in prepare(read_names(train), Spelling()).words
        if SPACE not in word.source
    )
    with tempfile.TemporaryDirectory() as folder:
        lexicon, words = Path(folder) / "lexicon", Path(folder) / "words"
        lexicon.write_text("".join(f"{f}\t{' '.join(e)}\n" for f, e in rows), encoding="utf-8")
        words.write_text("".join(f"{word}\n" for word in _word_list(held_out)), encoding="utf-8")
        training, predicting = commands(str(lexicon), str(Path(folder) / "model"), str(words))
        with timer:
            for command in training:
                subprocess.run(command, check=True, capture_output=True)
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        timer.cpu += usage.ru_utime + usage.ru_stime
        with open(words, "rb") as stdin:
            done = subprocess.run(predicting, stdin=stdin, check=False, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    predicted = after.ru_utime + after.ru_stime - usage.ru_utime - usage.ru_stime
    answers: dict[str, list[str]] = {}
    for line in done.stdout.decode().splitlines():
        word, letters = read(line)
        answers.setdefault(word, []).append(letters.replace(" ", "").replace(SPACE, " "))
    candidates = []
    for pair in held_out:
        found = [answers.get(word, []) for word in Spelling().normal(pair.source).split(" ")]
        joined = [" ".join(ranked[0] for ranked in found)] if all(found) else []
        candidates.append(found[0] if len(found) == 1 else joined)
    return _figures(candidates, dev) | {"names a CPU second, 20 candidates": len(held_out) / predicted}


def phonetisaurus(timer, train: str, dev: str, program: str) -> dict[str, float]:
    """Joint n-grams as weighted finite-state transducers."""

    def commands(lexicon: str, model: str, words: str):
        return [[program, "train", "--model", model, lexicon]], [program, "predict", "--nbest", "20", "--model", model]

    return _peer(timer, train, dev, commands, lambda line: line.partition(" ")[::2])


def sequitur(timer, train: str, dev: str, program: str) -> dict[str, float]:
    """Joint n-grams by EM over all segmentations, grown order by order."""

    def commands(lexicon: str, model: str, words: str):
        training, given = [], ["--train", lexicon, "--devel", "5%", "--encoding", "UTF-8"]
        for order in range(1, SEQUITUR_ORDERS + 1):
            start = [] if order == 1 else ["--model", f"{model}-{order - 1}", "--ramp-up"]
            training.append([program, *start, *given, "--write-model", f"{model}-{order}"])
        last = ["--model", f"{model}-{SEQUITUR_ORDERS}", "--apply", words, "--encoding", "UTF-8"]
        return training, [program, *last, "--variants-number", "20"]

    return _peer(timer, train, dev, commands, lambda line: (line.split("\t")[0], line.split("\t")[-1]))


# ---- the report


def _interval(figures: dict[str, float], name: str) -> str:
    return f"{figures[name]:.3f} ({figures[f'{name}_low']:.3f} to {figures[f'{name}_high']:.3f})"


def tables(results: dict[str, Any]) -> list[str]:
    """Accuracy of everything; speed and accuracy by beam."""
    rates = ("acc", "f_score", "mrr", "map_ref")
    head = ["", "pairs", "names", "ACC (95 % interval)", "mean F", "MRR", "MAP_ref", "CPU s of training", "peak MB"]
    lines = ["### Accuracy on unseen names", "", row(head), row(["---"] + ["---:"] * (len(head) - 1))]
    for name, result in results.items():
        for side, (run, *_) in result["runs"].items():
            figures = run["figures"]
            counts = [f"{figures[what]:,.0f}" if what in figures else "" for what in ("pairs", "names")]
            measures = [_interval(figures, rate) for rate in rates]
            times = [f"{run['cpu']:.1f}", f"{run['peak']:,.0f}"]
            lines.append(row([f"{name}: {side}", *counts, *measures, *times]))
    beams = sorted({*BEAMS, 10})
    head = ["", *(f"names a CPU second, beam {beam}" for beam in beams), *(f"ACC, beam {beam}" for beam in beams)]
    speed = ["### By beam, one thread, best candidate", "", row(head), row(["---"] + ["---:"] * (len(head) - 1))]
    for name, result in results.items():
        figures = result["runs"].get("corpuscle", [{"figures": {}}])[0]["figures"]
        if figures:
            rate = [f"{figures[f'names a CPU second, beam {beam}']:,.0f}" for beam in beams]
            speed.append(row([name, *rate, *(f"{figures[f'acc, beam {beam}']:.3f}" for beam in beams)]))
    return ["\n".join(lines), "\n".join(speed)]


def claims(results: dict[str, Any]) -> list[Claim]:
    """What these figures must show."""
    if "en-hi" not in results:
        return []
    result = results["en-hi"]
    acc, seconds = typical(result, "corpuscle", "acc"), typical(result, "corpuscle", "cpu")
    rate = typical(result, "corpuscle", "names a second, two threads")
    each = typical(result, "corpuscle", "names a CPU second, beam 10")
    return [
        Claim("en-hi, ACC on names never seen", "0.45", f"{acc:.3f}", acc >= 0.45),
        Claim("en-hi, CPU s of training with tuning", "below 120", f"{seconds:.0f}", seconds < 120),
        Claim("en-hi, names a second on two threads, same settings", "2,000", f"{rate:,.0f}", rate >= 2000),
        Claim("en-hi, names a CPU second, same settings", "1,000", f"{each:,.0f}", each >= 1000),
    ]


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    taken = {name: f"{result['others']:.0%}" for name, result in results.items()}
    return "\n".join(
        [
            "### Notes",
            "",
            "- ACC, mean F, MRR and MAP_ref are those of the NEWS tasks on 20 candidates; letters: code points, NFC, "
            "both sides in lower case. Kernels are warm. Training includes the alignment, the tuning on a tenth of the "
            "pairs and the second training on all of them.",
            "- *Phrases alone*: no joint model, no context model, alignment by HMM in both directions, weights tuned "
            "by line search on BLEU. *Letter map*: every letter by its most frequent counterpart.",
            "- Settings were chosen on parts of the English-Hindi training file; other pairs run with the same.",
            "- Share of the cores that other processes took: " + ", ".join(f"{n} {s}" for n, s in taken.items()) + ".",
        ]
    )
