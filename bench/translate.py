"""Translation by phrases over the links of different aligners: BLEU, training time, sentences a second.

The system is the same, only the links differ. Image captions (``multi30k``) are learned from their training part and
judged on ``val``; of ``tatoeba`` a seeded twentieth of the source sentences is held out and judged on. Weights are
tuned on pairs held out of the training part, with three seeds: figures are means, with the smallest and the largest.
BLEU is sacreBLEU's, of words as they are in the files. ``eflomal-align`` takes part as in ``bench.align``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.align import EFLOMAL, _peers, _warm
from bench.harness import Call, Cell, Claim, not_run, row

ALIGNERS = ("ibm1", "diagonal", "hmm", "fertility", "loglinear")
BOTH = "hmm and loglinear"
"""The links of two aligners in one table."""
SEEDS = (1, 2, 3)
PAIRS, JUDGED = 5000, 500
TUNING = {"tuning_pairs": 200, "rounds": 3, "restarts": 3, "beam": 20}
SETS = {
    **{f"multi30k en-{other}": ("multi30k/train.en", f"multi30k/train.{other}") for other in ("de", "fr", "cs")},
    "tatoeba en-de": ("tatoeba/en-de.tsv", None),
}
SOURCES = (
    "corpuscle/translate/**/*.py",
    "corpuscle/transliterate/decoding.py",
    "corpuscle/align/**/*.py",
    *(f"corpuscle/engine/{part}.py" for part in ("dp/*", "ngrams/*", "mert", "phrase_*")),
)
"""What the figures depend on."""


def cells(data: Path) -> Iterator[Cell]:
    """A cell for each set and aligner; one for the monotone decoder; the rules that a text can use."""
    for name, (source, target) in SETS.items():
        paths = [str(data / path) for path in (source, target) if path is not None]
        for aligner in (*ALIGNERS, BOTH, *(("eflomal",) if EFLOMAL else ())):
            call = Call(aligner, "bench.translate:ours", {"paths": paths, "aligner": aligner})
            yield _cell(f"{name} {aligner}", call, paths)
        if name == "multi30k en-de":
            settings = {"paths": paths, "aligner": "hmm", "distortion": 0}
            yield _cell(f"{name} monotone", Call("monotone", "bench.translate:ours", settings), paths)
            yield _cell("rules", Call("rules", "bench.translate:rules", {"paths": paths}), paths)


def _cell(name: str, side: Call, paths: list[str]) -> Cell:
    inputs = tuple(map(Path, paths))
    return Cell(name, name, (side,), inputs=inputs, repeats=1, warm_up=False, sources=SOURCES)


def _texts(paths: list[str]) -> tuple[Any, Any]:
    """The training part and what is judged on."""
    import numpy as np

    from corpuscle.random import Random
    from corpuscle.text.bitext import Bitext, read_bitext
    from corpuscle.text.corpus import Preprocessing

    if len(paths) == 2:
        test = read_bitext(*(path.replace("train.", "val.") for path in paths))[:JUDGED]
        training = read_bitext(*paths)[:PAIRS]
    else:
        whole = read_bitext(paths[0], separator="\t", preprocessing=Preprocessing(tokenise="simple"))
        sources = list(dict.fromkeys(" ".join(words) for words in whole.source))
        held = set(Random(1, "bench/tatoeba").shuffled(sources)[: len(sources) // 20])
        inside = np.array([" ".join(words) in held for words in whole.source])
        order = np.array(Random(1, "bench/tatoeba/pairs").shuffled(range(len(whole))))
        training = whole.select(order[~inside[order]][:PAIRS])
        test = whole.select(order[inside[order]][:JUDGED])
    return Bitext(training.source.counted(), training.target.counted()), test


def _links(timer, bitext: Any, aligner: str) -> Any:
    """Links by one of our aligners (or two), or eflomal's, symmetrised by grow-diag-final-and; the time is that of all
    directions."""
    from corpuscle.align import align_pairs

    if aligner != "eflomal":
        with timer:
            found = [align_pairs(bitext, method=method, workers=1).sorted() for method in aligner.split(" and ")]
        return found if aligner == BOTH else found[0]
    import tempfile

    from corpuscle.align import symmetrise
    from corpuscle.text.alignments import read_pharaoh
    from corpuscle.text.bitext import write_bitext

    with tempfile.TemporaryDirectory() as folder:
        text, forward, backward = (str(Path(folder, name)) for name in ("text", "forward", "backward"))
        write_bitext(bitext, text)
        _peers(timer, [(str(EFLOMAL), "-i", text, "-f", forward, "-r", backward)])
        return symmetrise(read_pharaoh(forward), read_pharaoh(backward)).sorted()


def ours(timer, paths: list[str], aligner: str, distortion: int = 4) -> dict[str, float]:
    """Align once, then learn, tune and translate with each seed."""
    import time

    import sacrebleu

    from corpuscle.translate import PhraseTranslator

    training, test = _texts(paths)
    for method in () if aligner == "eflomal" else aligner.split(" and "):
        _warm(method)
    links = _links(timer, training, aligner)
    aligned = timer.cpu
    wanted = [" ".join(words) for words in test.target]
    figures: dict[str, float] = {"pairs": len(training), "sentences": len(test), "CPU s of aligning": aligned}
    rates = []
    for seed in SEEDS:
        model = PhraseTranslator(seed=seed, workers=1, distortion=distortion, **TUNING)
        with timer:
            model.fit(training, links=links)
        begin = time.process_time()
        found = [ranked[0].target if ranked else "" for ranked in model.translate(test.source)]
        rates.append(len(test) / (time.process_time() - begin))
        figures[f"BLEU, seed {seed}"] = sacrebleu.corpus_bleu(found, [wanted], tokenize="none", force=True).score
    untuned = model.replace(tune=False).fit(training, links=links)
    found = [ranked[0].target if ranked else "" for ranked in untuned.translate(test.source)]
    figures["BLEU, untuned"] = sacrebleu.corpus_bleu(found, [wanted], tokenize="none", force=True).score
    figures["sentences a CPU second"] = sum(rates) / len(rates)
    return figures | {"entries": len(untuned.table_)}


def rules(timer, paths: list[str]) -> dict[str, float]:
    """Types of phrases and of rules with gaps that match the test text, by aligner, and of two alignments together."""
    import numpy as np

    from corpuscle.align import build_rules, build_table, merged_links

    training, test = _texts(paths)
    text = test.source.recode(training.source.vocab)
    found = {aligner: _links(timer, training, aligner) for aligner in ALIGNERS}
    figures: dict[str, float] = {}
    with timer:
        for name in (*ALIGNERS, BOTH):
            pairs = merged_links(training, [found[method] for method in name.split(" and ")])
            table, _ = build_table(*pairs, 7)
            gaps = build_rules(*pairs, 7)
            figures[f"phrases {name}"] = int(np.count_nonzero(table.matching(text)))
            figures[f"rules {name}"] = int(np.count_nonzero(gaps.matching(text, 7)))
    return figures


# ---- the report


def _bleu(figures: dict[str, float]) -> str:
    scores = [figures[f"BLEU, seed {seed}"] for seed in SEEDS]
    return f"{sum(scores) / len(scores):.1f} ({min(scores):.1f} to {max(scores):.1f})"


def tables(results: dict[str, Any]) -> list[str]:
    """BLEU by aligner; what a test text can use."""
    head = ["", "pairs", "BLEU, mean of 3 seeds (range)", "untuned", "phrase pairs", "CPU s of aligning", "CPU s"]
    head.append("sentences a CPU second")
    lines = ["### BLEU by aligner", "", row(head), row(["---"] + ["---:"] * (len(head) - 1))]
    for name, result in results.items():
        run = next(iter(result["runs"].values()))[0]
        figures = run["figures"]
        if "BLEU, untuned" in figures:
            cells = [f"{figures['pairs']:,.0f}", _bleu(figures), f"{figures['BLEU, untuned']:.1f}"]
            cells += [f"{figures['entries']:,.0f}", f"{figures['CPU s of aligning']:.1f}", f"{run['cpu']:.0f}"]
            lines.append(row([name, *cells, f"{figures['sentences a CPU second']:.0f}"]))
    if "rules" not in results:
        return ["\n".join(lines)]
    figures = results["rules"]["runs"]["rules"][0]["figures"]
    more = ["### Types that match the test text (multi30k en-de)", "", row(["links", "phrases", "rules with gaps"]),
            row(["---", "---:", "---:"])]  # fmt: skip
    for name in (*ALIGNERS, BOTH):
        more.append(row([name, f"{figures[f'phrases {name}']:,.0f}", f"{figures[f'rules {name}']:,.0f}"]))
    return ["\n".join(lines), "\n".join(more)]


def claims(results: dict[str, Any]) -> list[Claim]:
    """What these figures must show."""
    made = []
    for name in SETS:
        figures = [results.get(f"{name} {aligner}") for aligner in ("ibm1", "fertility")]
        if None not in figures:
            first, second = (
                sum(run["figures"][f"BLEU, seed {seed}"] for seed in SEEDS) / len(SEEDS)
                for result in figures
                for run in [next(iter(result["runs"].values()))[0]]
            )
            claim = f"{name}, BLEU with fertility's links minus that with Model 1's"
            made.append(Claim(claim, "above 0", f"{second - first:+.1f}", second > first))
    return made


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    tuning = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in TUNING.items())
    return "\n".join([
        "### Notes", "",
        f"- The first {PAIRS:,} pairs of each set, {JUDGED} sentences judged; {tuning}; otherwise default settings.",
        "- The range over seeds is that of tuning (other held-out pairs, other random starts), not of test sentences.",
        *not_run(cells(Path()), results),
    ])  # fmt: skip
