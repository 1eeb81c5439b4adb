"""``corpuscle transliterate ...``: write names in another script, learned from a list of pairs."""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from corpuscle.cli import networks
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
    written,
)
from corpuscle.cli.common import load
from corpuscle.errors import InputError, SettingError, warn
from corpuscle.progress import clock, one_line, say
from corpuscle.text.wording import number, percent

if TYPE_CHECKING:
    from corpuscle.text.pairs import Pair
    from corpuscle.transliterate import NeuralTransliterator, PhraseTransliterator

__all__ = ["group"]

group = task_group("transliterate")

_PHRASE, _NEURAL = ("transliterate.phrase",), ("transliterate.neural",)

reverse_way = option("reverse", "The way back: from targets to sources.", is_flag=True)


def _read(path: str, reverse: bool) -> list[Pair]:
    from corpuscle.transliterate import read_names, reversed_pairs

    pairs = read_names(path)
    if not pairs:
        raise InputError(path, None, "there are no pairs")
    return reversed_pairs(pairs) if reverse else pairs


@trainer(group)
@argument("pairs")
@output()
@option("dev", "Tune weights (stop training) on these pairs instead of a tenth of the input.", metavar="PAIRS")
@option("synthetic", "Neural: names of one side, a line each, of which pairs are made.", metavar="NAMES")
@option("side", "Which side they are.", type=click.Choice(("source", "target")))
@option("helper", "The model that makes the other side of them; else one is trained.", metavar="MODEL")
@reverse_way
@resume
def train(
    model: Any, pairs: str, output: str, dev: str | None, synthetic: str | None, side: str | None, helper: str | None,
    reverse: bool, resume: bool,
) -> Figures:  # fmt: skip
    """Learn from names and their transliterations: source, tab, accepted targets; or NEWS XML (.xml)."""

    from corpuscle.transliterate import PhraseTransliterator

    begin = clock()
    more = _synthetic(model, synthetic, side, helper)
    names = _read(pairs, reverse)
    development = None if dev is None else _read(dev, reverse)
    if development is not None:
        model.check_development(development)
    with model.checkpoint(names, development, output, resume, *more) as checkpoint:
        model.fit(names, development, checkpoint, *more)
        model.save(output)
    figures, text = (_of_phrases if isinstance(model, PhraseTransliterator) else _of_networks)(model)
    known = {"pairs": len(names), "tuning_pairs": model.provenance_["tuning_pairs"]}
    end = {"seconds": clock() - begin, "model": output}
    return Figures(known | figures | end, f"{output}: {len(names):,} pairs, {text}")


def _of_phrases(model: PhraseTransliterator) -> tuple[dict[str, Any], str]:
    """What there is to say about a new model of phrases."""
    value = model.history_[-1].value if model.history_ else None
    figures = {
        "entries": len(model.table_),
        "metric": model.metric if model.tune else None,
        "rounds": len(model.history_),
        "tuning_value": value,
        "weights": _named(model),
    }
    tuned = "" if value is None else f", {model.metric} {number(value)} on the pairs it was tuned on"
    return figures, f"{len(model.table_):,} phrase pairs{tuned}"


def _of_networks(model: NeuralTransliterator) -> tuple[dict[str, Any], str]:
    """What there is to say about a new neural model."""
    made = {"synthetic_pairs": model.provenance_["synthetic_pairs"]}
    figures = made | networks.figures_of(model, "validation_accuracy")
    models = f"{figures['models']} model" + "s" * (figures["models"] > 1)
    if not model.hold_out:
        return figures | {"validation_accuracy": None, "cross_entropy": None}, f"{models}, no names were held out"
    return figures, f"{models}, {percent(figures['validation_accuracy'])} of held-out names right without a beam"


def _synthetic(model: Any, path: str | None, side: str | None, helper: str | None) -> list[Any]:
    """Names of one side, if there are any."""
    from corpuscle.text.files import read_lines
    from corpuscle.transliterate import NeuralTransliterator, Synthetic

    if path is None and side is None and helper is None:
        return []
    if not isinstance(model, NeuralTransliterator):
        raise SettingError("--synthetic, --side and --helper are for --method neural")
    if path is None or side is None:
        raise SettingError("--synthetic NAMES and --side belong together")
    names = [line for _, line in read_lines(path) if line.strip()]
    if not names:
        raise InputError(path, None, "there are no names")
    return [Synthetic(names, side, None if helper is None else load(helper, "transliterate"))]


def _named(model: PhraseTransliterator) -> dict[str, float]:
    """The weights of a model by their names."""
    from corpuscle.transliterate import FEATURES

    return dict(zip(FEATURES, model.weights_.tolist(), strict=True))


@command(group, work=True, figures=False)
@argument("model")
@argument("names", default="-")
@output("-")
@option("nbest", "Source, rank, target and score of so many.", metavar="N", type=click.IntRange(1, 10_000))
@option("format", "tsv, json (a line a name) or news (XML).", type=click.Choice(("tsv", "json", "news")), default="tsv")
@option("sum", "Add up the probabilities of all ways to write the same target.", is_flag=True)
@option("case", "Capitals as in the names, or none.", type=click.Choice(("keep", "lower")), default="keep")
@networks.beam
@networks.faster
def apply(
    model: str, names: str, output: str, nbest: int | None, format: str, sum: bool, case: str, beam: int | None,
    precision: str | None, tolerance: float, report: str | None,
) -> None:  # fmt: skip
    """Write names in the other script, one name a line, with capitals where the script has them."""
    from corpuscle.text.files import read_lines, write_atomically
    from corpuscle.text.tables import write_table
    from corpuscle.transliterate import NeuralTransliterator, with_case, write_results

    loaded = load(model, "transliterate")
    sources, neural = [line for _, line in read_lines(names)], isinstance(loaded, NeuralTransliterator)
    if report is not None and not neural:
        raise SettingError("--report is about networks")
    if precision == "int8" and neural:
        loaded.check_precision(sources, precision, tolerance)
    found = loaded.transliterate(sources, nbest or 1, sum, beam, precision)
    networks.write_report(loaded, precision, report)
    _say_unknown(loaded, sources, found)
    if case == "keep" and loaded.lowercase:
        found = with_case(sources, found)
    if format == "news":
        write_results(zip(sources, found, strict=True), output)
    elif format == "json":
        with write_atomically(output, "w") as out:
            for source, candidates in zip(sources, found, strict=True):
                listed = {"source": source, "candidates": [candidate._asdict() for candidate in candidates]}
                out.write(json.dumps(listed, ensure_ascii=False) + "\n")
    elif nbest is None:
        written = ([candidates[0].target if candidates else ""] for candidates in found)
        write_table(output, (), written, names=("target",))
    else:
        rows = (
            (source.replace("\t", " "), rank, target, score)
            for source, candidates in zip(sources, found, strict=True)
            for rank, (target, score) in (enumerate(candidates, 1) if candidates else [(0, ("", ""))])
        )
        write_table(output, (), rows, names=("source", "rank", "target", "score"))


def _say_unknown(model: Any, sources: list[str], found: list[list[Any]]) -> None:
    """Name the letters that the model could not spell, and the names that it could not write at all; a neural model
    complains about letters by itself."""
    unknown = model.unknown_letters(sources) if model.KIND.name in _PHRASE else Counter()
    if unknown:
        letters = ", ".join(f"{one_line(letter)} ({n:,})" for letter, n in unknown.most_common(10))
        more = f" and {len(unknown) - 10:,} more" if len(unknown) > 10 else ""
        say(f"letters that were in no pair and could not be spelled, with the names they are in: {letters}{more}")
    missing = [line for line, ranked in enumerate(found, 1) if not ranked and sources[line - 1].strip()]
    if missing:
        say(f"not written at all: {len(missing):,} names, the first in line {missing[0]}")


@command(group, work=True, seed=True)
@argument("pairs")
@argument("output", required=False)
@option("model", "Apply this model first.", metavar="MODEL")
@option("nbest", "How many candidates of each name.", metavar="N", type=click.IntRange(1, 10_000), default=20)
@reverse_way
@option(
    "lowercase",
    "Compare an OUTPUT in lower case (a model knows its own).",
    "--lowercase/--no-lowercase",
    default=True,
)
@networks.beam
@option("at", "Is the right answer among the first N? May be repeated.", metavar="N", type=COUNT, multiple=True)
def evaluate(
    pairs: str,
    output: str | None,
    model: str | None,
    nbest: int,
    reverse: bool,
    lowercase: bool,
    beam: int | None,
    at: tuple[int, ...],
    seed: int,
) -> Figures:
    """ACC, mean F-score, MRR and MAP_ref, as the NEWS shared tasks define them, with 95 % intervals.

    OUTPUT is what apply wrote for the sources of PAIRS, in the same order.
    """
    from corpuscle.measure import accuracy_at, news_measures
    from corpuscle.transliterate import read_results
    from corpuscle.transliterate.preparation import Spelling

    gold = _read(pairs, reverse)
    shares: dict[str, float] = {}
    if model is not None and output is None:
        loaded = load(model, "transliterate")
        spelling = loaded.spelling
        ranked = loaded.transliterate([pair.source for pair in gold], nbest, beam=beam)
        candidates = [[candidate.target for candidate in found] for found in ranked]
        shares = _overlap(loaded, gold)
    elif output is not None and model is None:
        spelling = Spelling(lowercase=lowercase)
        candidates = [[spelling.normal(target) for target in found] for found in read_results(output)]
        if len(candidates) != len(gold):
            raise InputError(output, None, f"{len(candidates)} names, but {pairs} has {len(gold)}")
    else:
        raise SettingError("give either an OUTPUT to measure or a --model to apply")
    references = [[spelling.normal(target) for target in pair.targets] for pair in gold]
    result = news_measures(candidates, references, seed=seed)
    found = accuracy_at(candidates, references, at)
    lines = [result.text(), *(f"right answer among the first {rank}: {number(share)}" for rank, share in found.items())]
    values = {f"acc_at_{rank}": share for rank, share in found.items()}
    return Figures(result.to_json() | values | shares, "\n".join(lines))


def _overlap(model: Any, pairs: list[Pair]) -> dict[str, float]:
    """How many of some names a model has seen before; a warning if that is more than a few."""
    shares = dict(zip(("overlap_training", "overlap_tuning"), model.overlap(pairs), strict=True))
    for name, share in shares.items():
        if share > 0.05:
            warn(f"{percent(share, 0)} of these names were in the model's {name[8:]} pairs")
    return shares


@command(group, figures=False)
@argument("model")
@output("-")
def export(model: str, output: str) -> None:
    """Write the phrase table in the text form of Moses, or a neural model as ONNX files (.onnx, .encoder.onnx)."""
    from corpuscle.text.files import write_atomically
    from corpuscle.transliterate import NeuralTransliterator

    loaded = load(model, "transliterate", (*_PHRASE, *_NEURAL))
    if isinstance(loaded, NeuralTransliterator):
        return networks.export_networks(loaded, output)
    with write_atomically(output, "w") as out:
        out.writelines(line + "\n" for line in loaded.table_.lines(loaded.source_vocab_, loaded.lm_.vocab_))


@command(group)
@argument("model")
@option("set", "JSON with other weights, for the model in -o.", metavar="FILE")
@written("output", "The changed model.", "-o", "--output", form="model")
def weights(model: str, set: str | None, output: str | None) -> Figures:
    """Show the weights as JSON, or write a model with other ones."""
    if (set is None) != (output is None):
        raise SettingError("--set and -o belong together")
    loaded = load(model, "transliterate", _PHRASE)
    if set is None or output is None:
        return Figures(_named(loaded), json.dumps(_named(loaded)))
    loaded.set_weights(_weights(set))
    loaded.save(output)
    return Figures(_named(loaded), "")


def _weights(path: str) -> list[float]:
    """Weights by name from a JSON file; every feature must be there, and nothing else."""
    from corpuscle.text.files import decode, open_bytes
    from corpuscle.transliterate import FEATURES

    try:
        given = json.loads(decode(open_bytes(path), path))
    except (ValueError, RecursionError) as error:
        raise InputError(path, None, f"not JSON: {error}") from None
    numbers = isinstance(given, dict) and all(
        type(value) in (int, float) and abs(value) <= sys.float_info.max for value in given.values()
    )
    if not numbers or given.keys() != {*FEATURES}:
        raise InputError(path, None, f"expected {len(FEATURES)} finite weights by name: {', '.join(FEATURES)}")
    return [float(given[name]) for name in FEATURES]


@command(group, figures=False)
@argument("model")
@argument("word")
@output("-", form="figure")
@option("nbest", "How many ways to write it.", metavar="N", type=click.IntRange(1, 30), default=5)
def draw(model: str, word: str, output: str, nbest: int) -> None:
    """Draw the best ways to write a word as a lattice of phrases (SVG or PNG)."""
    from corpuscle.figures import save_figure
    from corpuscle.transliterate import draw_lattice

    save_figure(draw_lattice(load(model, "transliterate", _PHRASE), word, nbest), output)


@command(group, work=True)
@argument("phrase")
@argument("neural")
@option("dev", "Names that neither model has learned from, to find the weights.", metavar="PAIRS", required=True)
@option("candidates", "Candidates of each model.", metavar="N", type=click.IntRange(2, 1000), default=20)
@reverse_way
@output()
def combine(phrase: str, neural: str, dev: str, candidates: int, reverse: bool, output: str) -> Figures:
    """Rank the candidates of a phrase model and of a neural one together, under weights tuned on --dev."""
    from corpuscle.transliterate import COMBINED_FEATURES, CombinedTransliterator

    one, other = load(phrase, "transliterate", _PHRASE), load(neural, "transliterate", _NEURAL)
    pairs = _read(dev, reverse)
    spelled = {"units": one.units, "lowercase": one.lowercase}
    model = CombinedTransliterator(candidates=candidates, **spelled).fit(one, other, pairs)
    model.save(output)
    weights = dict(zip(COMBINED_FEATURES, model.weights_.tolist(), strict=True))
    said = ", ".join(f"{name} {number(value)}" for name, value in weights.items())
    return Figures(
        {"tuning_pairs": len(pairs), "weights": weights, "model": output}, f"{output}: tuned on {len(pairs):,}: {said}"
    )


@command(group, figures=False)
@argument("model")
@argument("name")
@output("-", form="figure")
@option("target", "What is written, instead of the model's own best.", metavar="TEXT")
def attention(model: str, name: str, output: str, target: str | None) -> None:
    """Draw which letters of a name a neural model looks at while it writes each letter (SVG or PNG)."""
    networks.draw(load(model, "transliterate", _NEURAL), name, target, output)
