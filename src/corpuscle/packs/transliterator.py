"""The transliterator of a pack: how names are written in the other script, how often rightly, and what goes wrong.

A model learns from nine tenths of the names (and tunes its weights on a tenth of those) and is measured on the tenth
that it has not seen. Then one is learned from all names, with the same settings and the weights of the first: that is
the one in the pack.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from corpuscle.figures import bar_plot, phrase_lattice
from corpuscle.measure import news_measures
from corpuscle.packs import page
from corpuscle.packs.heldout import SHARE
from corpuscle.packs.step import Chapter, Findings, Job, LeftOut, Step, blaming, unfinished
from corpuscle.random import Random
from corpuscle.text.pairs import Pair, read_pairs
from corpuscle.transliterate import PhraseTransliterator

__all__ = ["TRANSLITERATOR"]

FILE = "models/names.model"
SETTINGS = {"method": "phrase", "candidates": 20}
FEWEST_NAMES = 100
"""With fewer, nine tenths of nine tenths are too few to learn from."""

_ERRORS, _CONFUSIONS, _DRAWN, _WAYS = 12, 10, 2, 4


def _run(job: Job, settings: Mapping[str, Any]) -> Findings:
    paths = job.kit.paths("names")
    pairs = [pair for path in paths for pair in read_pairs(path)]
    if len(pairs) < FEWEST_NAMES:
        reason = f"only {page.counted(len(pairs), 'name')}; at least {FEWEST_NAMES} are needed"
        raise LeftOut(paths[0], None, reason)
    with blaming(paths[0]):
        return _learned(job, pairs, settings)


def _learned(job: Job, pairs: list[Pair], settings: Mapping[str, Any]) -> Findings:
    path = job.pack / FILE
    model = PhraseTransliterator(seed=job.seed, workers=job.workers)
    normal = model.spelling.normal
    sources = list(dict.fromkeys(normal(pair.source) for pair in pairs))
    if len(sources) == 1:
        raise LeftOut(None, None, "all names are the same")
    held = set(Random(job.seed, "packs/names").shuffled(sources)[: max(1, round(SHARE * len(sources)))])
    train = [pair for pair in pairs if normal(pair.source) not in held]
    test = [pair for pair in pairs if normal(pair.source) in held]
    with unfinished(lambda resume: model.checkpoint(train, None, path, resume), path) as checkpoint:
        model.fit(train, checkpoint=checkpoint)
    ranked = model.transliterate([pair.source for pair in test], settings["candidates"])
    candidates = [[candidate.target for candidate in found] for found in ranked]
    references = [[normal(target) for target in pair.targets] for pair in test]
    measured = news_measures(candidates, references, seed=job.seed)
    final = PhraseTransliterator(seed=job.seed, workers=job.workers, tune=False).fit(pairs)
    final.set_weights(model.weights_.tolist())
    final.save(path)
    wrong: list[dict[str, Any]] = [
        {
            "source": page.clip(pair.source),
            "found": page.clip(found[0]) if found else "",
            "wanted": page.clip(wanted[0]),
            "rank": next((rank for rank, target in enumerate(found, 1) if target in wanted), None),
        }
        for pair, found, wanted in zip(test, candidates, references, strict=True)
        if not found or found[0] not in wanted
    ]
    confused = Counter(_difference(row["found"], row["wanted"]) for row in wrong)
    words = list(dict.fromkeys(max(normal(pair.source).split(), key=len) for pair in test))
    return {
        "pairs": len(pairs),
        "held_out": len(test),
        "tuned_on": model.provenance_["tuning_pairs"],
        "rounds": len(model.history_),
        "measures": measured.to_json(),
        "errors": wrong[:_ERRORS],
        "confusions": [[found, wanted, n] for (found, wanted), n in confused.most_common(_CONFUSIONS)],
        "wrong": len(wrong),
        "lattices": [[word, _ways(model, word)] for word in words[:_DRAWN]],
        "bytes": path.stat().st_size,
    }


def _ways(model: PhraseTransliterator, word: str) -> list[Any]:
    """The best ways to write a word: the whole and its phrases."""
    return [[target, [list(phrase) for phrase in phrases]] for (target, _), phrases in model.derivations(word, _WAYS)]


def _difference(found: str, wanted: str) -> tuple[str, str]:
    """What is left of two strings without their common beginning and end.

    >>> _difference("karan", "kiran")
    ('a', 'i')
    """
    first = 0
    while first < min(len(found), len(wanted)) and found[first] == wanted[first]:
        first += 1
    last = 0
    while last < min(len(found), len(wanted)) - first and found[-1 - last] == wanted[-1 - last]:
        last += 1
    return found[first : len(found) - last], wanted[first : len(wanted) - last]


def _report(findings: Findings, pack: str) -> Chapter:
    model, figures = shlex.quote(f"{pack}/{FILE}"), findings["measures"]
    names = ("acc", "f_score", "mrr", "map_ref", "acc_low", "acc_high")
    return Chapter(
        headline=(
            f"transliterator: {page.percent(figures['acc'])} of {page.counted(findings['held_out'], 'unseen name')} "
            "right at the first try"
        ),
        figures={"pairs": findings["pairs"], "names": findings["held_out"]} | {name: figures[name] for name in names},
        cards=[(page.percent(figures["acc"], 0), "unseen names written right")],
        body=_in_words(findings) + _pictures(findings) + _errors(findings),
        commands=[
            (f"corpuscle transliterate apply {model} NAMES", "write names in the other script"),
            (f"corpuscle transliterate apply {model} NAMES --nbest 5", "the five best ways to write each"),
        ],
    )


def _in_words(findings: Findings) -> str:
    figures = findings["measures"]
    tuned = f"were tuned on {page.counted(findings['tuned_on'], 'name')} of the other nine tenths"
    if not findings["rounds"]:
        tuned = "are those it began with: the other nine tenths gave nothing to tune them on"
    return page.paragraph(
        f"Learned from {page.counted(findings['pairs'], 'name')} in two scripts. A model trained without a tenth of "
        f"them writes {page.percent(figures['acc'])} of the {page.counted(findings['held_out'], 'name')} it has not "
        f"seen as the list has them (95 % interval: {page.percent(figures['acc_low'])} to "
        f"{page.percent(figures['acc_high'])}). Its answers share {page.percent(figures['f_score'])} of their letters "
        f"with the right ones; the mean reciprocal rank of the right one is {figures['mrr']:.2f}. The weights of its "
        f"features {tuned}. The model in the pack has the same settings and weights, and learned from all names."
    )


def _pictures(findings: Findings) -> str:
    plots = [
        page.figure(
            phrase_lattice(
                [(target, [(source, written) for source, written in phrases]) for target, phrases in ways],
                title=f"Ways to write {page.clip(word, 24)}",
            ),
            "An unseen name, piece by piece; the best way is on top.",
        )
        for word, ways in findings["lattices"]
        if ways
    ]
    confusions: Sequence[Sequence[Any]] = findings["confusions"]
    if confusions:
        plots.append(
            page.figure(
                bar_plot(
                    [f"{found or '∅'} for {wanted or '∅'}" for found, wanted, _ in confusions],
                    [n for *_, n in confusions],
                    title="What is written for what",
                    value_label="wrong names",
                ),
                "Where the answer and the right one part; ∅ is nothing.",
            )
        )
    return page.plots(plots)


def _errors(findings: Findings) -> str:
    if not findings["errors"]:
        return ""
    rows = [
        (row["source"], row["found"] or "∅", row["wanted"], "not found" if row["rank"] is None else row["rank"])
        for row in findings["errors"]
    ]
    said = f"{page.counted(findings['wrong'], 'name')} of {page.count(findings['held_out'])} came out wrong. The first:"
    table = page.table(("name", "written", "right", "rank of the right one"), rows, (3,))
    return f"<h3>Typical errors</h3>{page.paragraph(said)}{table}"


TRANSLITERATOR = Step(
    name="names",
    title="Transliterator of names",
    version=1,
    needs=("names",),
    writes=(FILE,),
    run=_run,
    report=_report,
    settings=SETTINGS,
    learned="a transliterator of names",
    kernels="corpuscle.transliterate",
)
