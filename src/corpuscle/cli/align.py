"""``corpuscle align``: learn word alignment from sentence pairs, align, measure, and look at what was learned."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from corpuscle.align import settings as known
from corpuscle.catalogue import TASKS
from corpuscle.cli import common
from corpuscle.cli.command import (
    COUNT,
    Figures,
    argument,
    command,
    option,
    output,
    resume,
    task_group,
    trainer,
    work_of,
    written,
)
from corpuscle.errors import InputError, SettingError, warn
from corpuscle.progress import clock
from corpuscle.text.wording import number, percent

if TYPE_CHECKING:
    from corpuscle.align import Aligner
    from corpuscle.measure import Result
    from corpuscle.text.alignments import Alignments
    from corpuscle.text.bitext import Bitext

__all__ = ["group"]

group = task_group("align")

_MODELS = tuple(f"align.{method}" for method in TASKS["align"].methods)
_BOTH: dict[str, Any] = {"nargs": 2, "type": str, "metavar": "SRC TGT"}


def _checked(_: click.Context, __: click.Parameter, how: str) -> str:
    known.check_symmetrisation(how)
    return how


symmetrise = option(
    "symmetrise",
    f"{', '.join(known.WAYS[:-1])} or {known.WAYS[-1]}.",
    metavar="HOW",
    words=known.WAYS,
    default=known.DEFAULT_SYMMETRISATION,
    callback=_checked,
)


def _read(source: str, target: str | None, model: Aligner | None = None) -> Bitext:
    """Source and target sentences; without a target, both on each line. They are read as the model reads them."""
    from corpuscle.text.bitext import read_bitext

    return read_bitext(source, target, **({} if model is None else model.reading))


def _read_to_learn(source: str, target: str | None, model: Aligner) -> Bitext:
    """Sentence pairs, of which some at least can be learned from."""
    import numpy as np

    from corpuscle.align.training import no_pairs

    bitext = _read(source, target, model)
    lengths = np.column_stack([bitext.source.lengths, bitext.target.lengths])
    if not ((lengths > 0) & (lengths <= model.max_length)).all(axis=1).any():
        raise InputError(source, None, no_pairs(bool((lengths > model.max_length).any()), model.max_length))
    return bitext


def _load(path: str) -> Aligner:
    return common.load(path, "align", _MODELS)


def _write(links: Alignments, path: str, weights: bool = False) -> None:
    import dataclasses

    from corpuscle.text.alignments import write_pharaoh

    write_pharaoh(links if weights else dataclasses.replace(links, weights=None), path)


def _learned(model: Aligner, seconds: float, output: str) -> Figures:
    counted = ("sentence_pairs", "learned_from", "source_tokens", "target_tokens")
    return Figures(
        {
            "method": model.method,
            **{name: model.provenance_[name] for name in counted},
            "couples": len(model.couples_.columns),
            "log_likelihood_per_token": model.history_[-1],
            "seconds": seconds,
            "model": output,
        }
    )


@trainer(group)
@argument("source")
@argument("target", required=False)
@output()
@written("links", "Also write the links of these sentence pairs.", metavar="FILE")
@symmetrise
@resume
def train(
    model: Aligner,
    source: str,
    target: str | None,
    output: str,
    links: str | None,
    symmetrise: str,
    resume: bool,
) -> Figures:
    """Learn from sentence pairs, in both directions: SOURCE and TARGET, or both in one file with ||| between them."""

    begin = clock()
    bitext = _read_to_learn(source, target, model)
    with model.checkpoint(bitext, output, resume) as checkpoint:
        model.fit(bitext, checkpoint=checkpoint).save(output)
    if links is not None:
        _write(model.align(bitext, symmetrise), links)
    return _learned(model, clock() - begin, output)


@command(group, work=True)
@argument("model")
@argument("source")
@argument("target", required=False)
@output()
def update(model: str, source: str, target: str | None, output: str) -> Figures:
    """Go on learning from new sentence pairs; what the model has counted before stays."""

    begin = clock()
    base = _load(model)
    bitext = _read_to_learn(source, target, base)
    learner = type(base).restored(base.described())
    learner.workers, learner.cluster = base.workers, base.cluster
    learner.fit(bitext, base=base).save(output)
    return _learned(learner, clock() - begin, output)


@command(group, work=True, figures=False)
@argument("model")
@argument("source")
@argument("target", required=False)
@output("-")
@symmetrise
@option(
    "decode",
    "viterbi: the best link of each word; posterior: all above the threshold.",
    metavar="|".join(known.DECODINGS),
    default="viterbi",
)
@option("threshold", "The least probability of a link, where that decides.", metavar="P", type=float, default=0.5)
@option("weights", "Write i-j:probability.", is_flag=True)
@option("min_confidence", "Less sure sentence pairs get no links.", metavar="P", type=click.FloatRange(0, 1), default=0)
@written(
    "every", "Write PREFIX.forward, PREFIX.union and so on: all of them.", "--all", form="prefix", metavar="PREFIX"
)
@option(
    "nbest",
    "The N best of one direction: line, rank, probability, links.",
    metavar="N",
    type=COUNT,
)
def apply(
    model: str,
    source: str,
    target: str | None,
    output: str,
    symmetrise: str,
    decode: str,
    threshold: float,
    weights: bool,
    min_confidence: float,
    every: str | None,
    nbest: int | None,
) -> None:
    """Align sentence pairs, new ones or old ones; one line of links for each pair."""
    loaded = _load(model)
    bitext = _read(source, target, loaded)
    if nbest is not None:
        if every is not None or weights or min_confidence > 0 or decode != "viterbi":
            raise SettingError("--nbest goes with --symmetrise forward or backward, and with nothing else")
        _write_n_best(loaded, bitext, nbest, symmetrise, output)
        return
    ways = (symmetrise,) if every is None else known.WAYS
    found = loaded.align_all(bitext, ways, decode, threshold)
    if weights:
        found = {how: loaded.weighted(links, bitext) for how, links in found.items()}
    if min_confidence > 0:
        sure = loaded.confidence(bitext) >= min_confidence
        found = {how: links.filtered(sure[links.pairs]) for how, links in found.items()}
    for how, links in found.items():
        _write(links, output if every is None else f"{every}.{how}", weights)


def _write_n_best(model: Aligner, bitext: Bitext, k: int, symmetrise: str, output: str) -> None:
    """Write line, rank, probability and links of the best alignments of one direction."""
    from corpuscle.align import n_best
    from corpuscle.text.tables import write_table

    if symmetrise not in ("forward", "backward"):
        raise SettingError("the best alignments are those of one direction: --symmetrise forward or backward")
    rows = (
        (line, rank, each.probability, " ".join(f"{i}-{j}" for i, j in each.links.tolist()))
        for line, ranked in enumerate(n_best(model, bitext, k, int(symmetrise == "backward")), 1)
        for rank, each in enumerate(ranked, 1)
    )
    write_table(output, (), rows, names=("line", "rank", "probability", "links"))


@command(group, work=True)
@argument("model")
@argument("source")
@argument("target", required=False)
@output("-")
@option("min_confidence", "Pairs below this are suspicious.", metavar="P", type=click.FloatRange(0, 1), default=0.3)
@written("kept", "Write the other pairs, as source ||| target.", metavar="FILE")
def filter(
    model: str, source: str, target: str | None, output: str, min_confidence: float, kept: str | None
) -> Figures:
    """List sentence pairs that hardly translate each other: line, confidence, source, target; the worst first."""
    import numpy as np

    from corpuscle.text.bitext import Bitext, read_bitext, write_bitext
    from corpuscle.text.preprocessing import Preprocessing
    from corpuscle.text.tables import write_table

    loaded = _load(model)
    text = read_bitext(source, target, preprocessing=Preprocessing(nfc=False))  # what is written is what was read
    bitext = Bitext(*map(loaded.preprocessing.apply, (text.source, text.target)))
    confidence = loaded.confidence(bitext)
    bad = np.flatnonzero(confidence < min_confidence)
    if kept is not None:
        write_bitext(text.select(confidence >= min_confidence), kept)
    order = bad[np.argsort(confidence[bad], kind="stable")].tolist()
    sides = (text.source, text.target)
    write_table(output, (), ((k + 1, confidence[k], *(" ".join(side.words(k)) for side in sides)) for k in order))
    mean = float(confidence.mean()) if len(confidence) else None
    return Figures({"sentence_pairs": len(bitext), "suspicious": len(bad), "mean_confidence": mean}, "")


@command(group)
@argument("source")
@argument("target")
@argument("more", many=True, required=False)
@output("-")
@option("links", "Links of these sentence pairs; several: all of them.", metavar="LINKS", multiple=True, required=True)
@option("max_phrase", "Words of the longest phrase.", metavar="N", type=click.IntRange(1, 8), default=7)
@option("hierarchical", "Rules with gaps, [X,1] and [X,2], instead of phrases.", is_flag=True)
@option("match", "Only what this text of the source language can use.", metavar="TEXT")
def phrases(
    source: str,
    target: str,
    more: tuple[str, ...],
    output: str,
    links: tuple[str, ...],
    max_phrase: int,
    hierarchical: bool,
    match: Any,
) -> Figures:
    """Write the phrase table of aligned sentence pairs, as Moses does: source ||| target ||| phi(f|e) lex(f|e) phi(e|f)
    lex(e|f) ||| links ||| counts of target, source and both. MORE are further links: --links A B."""
    from corpuscle.align import write_table
    from corpuscle.text.plain import read_text

    bitext = _read(source, target)
    each = [_read_links(path, len(bitext)) for path in (*links, *more)]
    for path, own in zip((*links, *more), each, strict=True):
        own.check_range(bitext, path)
    text = None if match is None else read_text(match)
    entries, matching = write_table(output, bitext, each, max_phrase, hierarchical, text)
    return Figures({"sentence_pairs": len(bitext), "entries": entries, "matching": matching}, "")


@command(group, work=True, figures=False)
@argument("model")
@output("-")
@option("min_links", "At least so many expected links.", metavar="X", type=float, default=1.0)
@option(
    "min_score",
    "The least geometric mean of the probabilities of both directions.",
    metavar="P",
    type=float,
    default=0.1,
)
@option("examples", "Sentence pairs to take an example of each entry from.", **_BOTH)
def lexicon(model: str, output: str, min_links: float, min_score: float, examples: tuple[str, str] | None) -> None:
    """Write a bilingual lexicon: source, target, links, p(target|source), p(source|target), score (, examples)."""
    from corpuscle.align.lexicon import lexicon as entries
    from corpuscle.align.lexicon import write_lexicon

    loaded = _load(model)
    bitext = None if examples is None else _read(*examples, loaded)
    found = entries(loaded, min_links=min_links, min_score=min_score, examples=bitext)
    write_lexicon(found, output, bitext)


@command(group, work=True)
@argument("model")
@argument("source")
@argument("target", required=False)
@output()
@option("matrix", "Of which direction, or the mean of both.", metavar="|".join(known.MATRICES), default="geo")
def matrix(model: str, source: str, target: str | None, output: str, matrix: str) -> Figures:
    """Write the probability of every link of every sentence pair."""
    from corpuscle.align.base import save_matrix

    loaded = _load(model)
    found = loaded.matrix(_read(source, target, loaded), matrix)
    save_matrix(found, output, matrix=matrix, method=loaded.method)
    return Figures({"sentence_pairs": len(found), "cells": len(found.weights), "matrix": output})


@command(group, figures=False)
@argument("model")
@output("-")
@option("top", "Only so many of each direction.", metavar="N", type=COUNT)
@option("family", "Family by family: the N strongest of each, ten unless --top says so.", is_flag=True)
def weights(model: str, output: str, top: int | None, family: bool) -> None:
    """List the features of a log-linear model and their weights, the strongest first: direction, feature, weight."""
    from corpuscle.align import LogLinear
    from corpuscle.text.tables import write_table

    loaded = _load(model)
    if not isinstance(loaded, LogLinear):
        raise SettingError(f"{model}: only the method loglinear has features; this model is {loaded.method}")
    rows = (
        (name, *learned)
        for direction, name in enumerate(("forward", "backward"))
        for learned in (loaded.strongest(direction, top or 10) if family else loaded.learned_features(direction)[:top])
    )
    write_table(output, (), rows, names=("direction", "feature", "weight"))


@command(group, work=True, figures=False)
@argument("model")
@argument("source")
@argument("target", required=False)
@output(form="figure")
@option("line", "Which sentence pair, counted from 1.", metavar="N", type=COUNT, default=1)
@symmetrise
@option("gold", "Gold links.", metavar="FILE")
def draw(
    model: str, source: str, target: str | None, output: str, line: int, symmetrise: str, gold: str | None
) -> None:
    """Draw a sentence pair as a grid: shaded by probability, links as dots, gold links as frames (SVG or PNG)."""
    from corpuscle.figures import alignment_grid, save_figure

    loaded = _load(model)
    bitext = _read(source, target, loaded)
    if line > len(bitext):
        raise SettingError(f"there is no line {line}: {source} has {len(bitext)}")
    marks: dict[str, list[tuple[int, int]]] = {"sure": [], "possible": []}
    if gold is not None:
        links = _read_links(gold, len(bitext))
        links.check_range(bitext, gold)
        begin, end = links.starts[line - 1 : line + 1]
        for (i, j), sure in zip(links.links[begin:end].tolist(), links.sure[begin:end].tolist(), strict=True):
            marks["sure" if sure else "possible"].append((i, j))
    one = bitext[line - 1 : line]
    found = [(i, j) for i, j in loaded.align(one, symmetrise).pair(0).tolist()]
    title = f"Sentence pair {line}"
    picture = alignment_grid(
        one.source.words(0), one.target.words(0), loaded.matrix(one).matrix(0), found, title=title, **marks
    )
    save_figure(picture, output)


@command(group, work=True, seed=True)
@argument("gold")
@argument("links", required=False)
@option("model", "Judge what this model gives instead of links.", metavar="FILE")
@option("source", "The source sentences.", metavar="SRC")
@option("target", "The target sentences.", metavar="TGT")
@option("train", "The training text, for the fertility of its rare words.", **_BOTH)
@option("against", "Other links of the same pairs, to compare with.", metavar="LINKS")
@option("oracle", "Judge what this neighbourhood, of the text of --train, allows: eb-model1, ...", metavar="NAME")
@symmetrise
def evaluate(
    gold: str,
    links: str | None,
    model: str | None,
    source: str | None,
    target: str | None,
    train: tuple[str, str] | None,
    against: str | None,
    oracle: str | None,
    symmetrise: str,
    seed: int,
) -> Figures:
    """Measure links against gold links (Pharaoh: i-j sure, i?j possible; or NAACL): AER, precision, recall, F1."""
    from corpuscle.measure.links import alignment_error, compare_alignments, singleton_fertility

    if oracle is not None:
        if source is None or target is None or train is None or links is not None or model is not None:
            raise SettingError("--oracle needs --source, --target and --train, and neither links nor a model")
        return _measure_oracle(gold, _read(source, target), _read(*train), oracle, seed)
    if (links is None) == (model is None):
        raise SettingError("give links to judge, or a model and its texts (--model, --source, --target)")
    if (source is None) != (target is None):
        raise SettingError("--source and --target belong together")
    if source is None and (model is not None or train is not None):
        raise SettingError("this needs the sentences: --source and --target")
    loaded = None if model is None else _load(model)
    bitext = None if source is None else _read(source, target, loaded)
    wanted = _read_links(gold, None if bitext is None else len(bitext))
    if loaded is not None and bitext is not None:
        found = loaded.align(bitext, symmetrise)
    else:
        assert links is not None
        found = _read_links(links, len(wanted))
    _check_links(wanted, found, gold, links or model or "", bitext)
    result = alignment_error(wanted, found, seed=seed)
    turned = alignment_error(wanted, found.transposed(), draws=1)
    if turned["aer"] < result["aer"]:
        warn("the links fit better when source and target change places: is one of the files the wrong way round?")
    values: dict[str, Any] = result.to_json()
    if train is not None and bitext is not None:
        training = _read(*train, loaded)
        values["singleton_fertility"] = singleton_fertility(found, bitext.source, training.source)
        values["singleton_fertility_target"] = singleton_fertility(found.transposed(), bitext.target, training.target)
    if against is not None:
        other = _read_links(against, len(wanted))
        _check_links(wanted, other, gold, against, bitext)
        values["against"] = compare_alignments(wanted, found, other, seed=seed).to_json()
    return Figures(values, _as_text(result, values))


def _read_links(path: str, sentences: int | None = None) -> Alignments:
    """Links in either format, of one sentence pair at least."""
    from corpuscle.text.alignments import read_links

    links = read_links(path, sentences)
    if not len(links):
        raise InputError(path, None, "there are no sentence pairs")
    return links


def _check_links(gold: Alignments, found: Alignments, gold_path: str, path: str, bitext: Bitext | None) -> None:
    """Complain about links of other sentence pairs than those of the gold links, or of the text."""
    if len(gold) != len(found):
        raise InputError(path, None, f"links of {len(found)} sentence pairs, but {gold_path} has {len(gold)}")
    if bitext is not None:
        gold.check_range(bitext, gold_path)
        found.check_range(bitext, path)


def _measure_oracle(gold: str, bitext: Bitext, training: Bitext, name: str, seed: int) -> Figures:
    """How good links could be if only those that a neighbourhood allows may be chosen."""
    from corpuscle.align.neighbourhood import Neighbourhood, allowed_links
    from corpuscle.measure.links import alignment_error
    from corpuscle.scale import workers

    if name not in known.NEIGHBOURHOODS:
        raise SettingError(f"a neighbourhood is one of {', '.join(known.NEIGHBOURHOODS)}, not {name!r}")
    wanted = _read_links(gold, len(bitext))
    wanted.check_range(bitext, gold)
    work = work_of()
    with workers(work.get("workers"), work.get("cluster")) as pool:
        neighbourhood = Neighbourhood.learn(training, name, pool)
    values: dict[str, Any] = {"neighbourhood": name}
    lines = []
    for direction, which in enumerate(("forward", "backward")):
        result = alignment_error(wanted, allowed_links(wanted, bitext, neighbourhood, training, direction), seed=seed)
        couples = neighbourhood.size(direction)
        values |= {f"aer_{which}": result["aer"], f"couples_{which}": couples}
        lines.append(f"{which}: oracle AER {percent(result['aer'])}, {couples:,} couples")
    return Figures(values, "\n".join(lines))


def _as_text(result: Result, values: dict[str, Any]) -> str:
    """The figures of ``align evaluate`` for people: the result, and what else was asked."""
    lines = [result.text()]
    for name, key in (("source", "singleton_fertility"), ("target", "singleton_fertility_target")):
        if not math.isnan(values.get(key, math.nan)):
            lines.append(f"links of {name} words seen once in training: {number(values[key])}")
    if "against" in values:
        other = values["against"]
        interval = f"({percent(other['low'])} to {percent(other['high'])})"
        difference, p_value = percent(other["difference"]), number(other["p_value"])
        lines.append(f"AER minus the other's: {difference} {interval}, p = {p_value}")
    return "\n".join(lines)
