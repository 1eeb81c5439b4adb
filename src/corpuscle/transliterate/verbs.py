"""What a transliterator can do: learn from names and their transliterations, write names, be measured, show and change
its weights, be combined with another one, draw what it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from corpuscle.errors import InputError, SettingError, warn
from corpuscle.neural.settings import BEAM, PRECISION, REPORT, TOLERANCE, applying, export_networks
from corpuscle.settings import Setting
from corpuscle.text.wording import number, percent
from corpuscle.verbs import (
    SEED,
    Answer,
    Input,
    K,
    Keep,
    Learned,
    Lines,
    Picture,
    Shown,
    Table,
    a_model,
    lines,
    names,
    read_by,
    setting,
    trains,
    verb,
    view,
    word,
)

if TYPE_CHECKING:
    from corpuscle.text.pairs import Pair
    from corpuscle.transliterate import Candidate, NeuralTransliterator, PhraseTransliterator, Transliterator

_MOST = 10_000
_FORMATS, _CASES, _SIDES = ("tsv", "json", "news"), ("keep", "lower"), ("source", "target")
_REVERSE = Setting(False, "The way back: from targets to sources.", name="reverse", type=bool)


def name_pairs(value: Any, model: Any, declared: Input, *, reverse: bool = False) -> Sequence[Pair]:
    """Names with their accepted targets, or targets with the names they stand for."""
    from corpuscle.text import inputs
    from corpuscle.transliterate import reversed_pairs

    pairs = inputs.pairs(value, model, declared)
    if not pairs:
        raise InputError(value if isinstance(value, str) else None, None, "there are no pairs")
    return reversed_pairs(pairs) if reverse else pairs


def _pairs(help: str = "", **facts: Any) -> Any:
    return Input(
        "corpuscle.transliterate.verbs:name_pairs", help, metavar="PAIRS", options={"reverse": _REVERSE}, **facts
    )


_PHRASE: Any = a_model("transliterate", "transliterate.phrase")
_NEURAL: Any = a_model("transliterate", "transliterate.neural")


@trains("transliterate", "transliterate train names.tsv -o names.translit")
def train(
    model: Any,
    pairs: Sequence[Pair] = _pairs(),
    *,
    dev: Sequence[Pair] | None = _pairs(
        "Tune weights (stop training) on these pairs instead of a tenth of the input.", option=True, default=None
    ),
    synthetic: Sequence[str] | None = names(
        "Neural: names of one side, a line each, of which pairs are made.", metavar="NAMES", option=True
    ),
    side: str | None = setting("Which side they are.", default=None, choices=_SIDES),
    helper: Transliterator | None = a_model(
        "transliterate", help="The model that makes the other side of them; else one is trained.", metavar="MODEL",
        option=True,
    ),
    keep: Keep,
    output: str | None,
    names: Mapping[str, str],
) -> Learned:  # fmt: skip
    """Learn from names and their transliterations: source, tab, accepted targets; or NEWS XML (.xml)."""
    from corpuscle.transliterate import Synthetic

    more: dict[str, Any] = {}
    if not (synthetic is None and side is None and helper is None):
        if not model.NEURAL:
            raise SettingError("--synthetic, --side and --helper are for --method neural")
        if synthetic is None or side is None:
            raise SettingError("--synthetic NAMES and --side belong together")
        given = [name for name in synthetic if name.strip()]
        if not given:
            raise InputError(names.get("synthetic"), None, "there are no names")
        more["synthetic"] = Synthetic(given, side, helper)
    if dev is not None:
        model.check_development(dev)
    model.fit(pairs, dev, keep.checkpoint(model, pairs, dev, **more), **more)
    figures, said = model.summary()
    known = {"pairs": len(pairs), "tuning_pairs": model.provenance_["tuning_pairs"], "model": output}
    return Learned(model, known | figures, f"{len(pairs):,} pairs, {said}")


@verb("transliterate", "transliterate apply names.translit names.txt --nbest 3", out="-", work=True)
def apply(
    model: Transliterator = a_model("transliterate"),
    names: Sequence[str] = names(default="-"),
    *,
    nbest: int | None = setting("Source, rank, target and score of so many.", default=None, low=1, high=_MOST),
    format: str = setting("tsv, json (a line a name) or news (XML).", default="tsv", choices=_FORMATS),
    sum: bool = setting("Add up the probabilities of all ways to write the same target.", default=False),
    case: str = setting("Capitals as in the names, or none.", default="keep", choices=_CASES),
    beam: int | None = BEAM,
    precision: str | None = PRECISION,
    tolerance: float = TOLERANCE,
    report: str | None = REPORT,
) -> Table | Lines:
    """Write names in the other script, one name a line, with capitals where the script has them."""
    import json

    from corpuscle.transliterate import result_lines, with_case

    sources = list(names)
    with applying(model, sources, precision, tolerance, report):
        found = model.transliterate(sources, nbest or 1, sum, beam, precision)
    _say_unknown(model, sources, found)
    if case == "keep" and model.lowercase:
        found = with_case(sources, found)
    both = list(zip(sources, found, strict=True))
    if format == "news":
        return Lines.of(result_lines(both))
    if format == "json":
        records = ({"source": source, "candidates": [each._asdict() for each in ranked]} for source, ranked in both)
        return Lines.of(json.dumps(record, ensure_ascii=False) for record in records)
    if nbest is None:
        return Table(("target",), ([ranked[0].target if ranked else ""] for ranked in found), heading=False)
    rows = (
        (source.replace("\t", " "), rank, target, score)
        for source, ranked in both
        for rank, (target, score) in (enumerate(ranked, 1) if ranked else [(0, ("", ""))])
    )
    return Table(("source", "rank", "target", "score"), rows, heading=False)


def _say_unknown(model: Transliterator, sources: Sequence[str], found: Sequence[Sequence[Candidate]]) -> None:
    """Name the letters that the model could not spell, unless it does so itself, and the names without any result."""
    from corpuscle.progress import one_line, say

    unknown = None if model.NEURAL else model.unknown_letters(sources)
    if unknown:
        letters = ", ".join(f"{one_line(letter)} ({n:,})" for letter, n in unknown.most_common(10))
        more = f" and {len(unknown) - 10:,} more" if len(unknown) > 10 else ""
        say(f"letters that were in no pair and could not be spelled, with the names they are in: {letters}{more}")
    missing = [line for line, ranked in enumerate(found, 1) if not ranked and sources[line - 1].strip()]
    if missing:
        say(f"not written at all: {len(missing):,} names, the first in line {missing[0]}")


@verb("transliterate", "transliterate evaluate test.tsv --model names.translit", work=True)
def evaluate(
    pairs: Sequence[Pair] = _pairs(),
    found: Sequence[Sequence[str]] | None = read_by(
        "corpuscle.transliterate:read_results", metavar="OUTPUT", default=None
    ),
    *,
    model: Transliterator | None = a_model(
        "transliterate", help="Apply this model first.", metavar="MODEL", option=True
    ),
    nbest: int = setting("How many candidates of each name.", default=20, low=1, high=_MOST),
    lowercase: bool = setting("Compare an OUTPUT in lower case (a model knows its own).", default=True),
    beam: int | None = BEAM,
    at: tuple[int, ...] = setting(
        "Is the right answer among the first N? May be repeated.",
        default=(), low=1, high=10**9, repeated=True, metavar="N",
    ),
    seed: int = SEED,
    names: Mapping[str, str],
) -> Shown:  # fmt: skip
    """ACC, mean F-score, MRR and MAP_ref, as the NEWS shared tasks define them, with 95 % intervals.

    OUTPUT is what apply wrote for the sources of PAIRS, in the same order.
    """
    from corpuscle.measure import accuracy_at, news_measures
    from corpuscle.transliterate.preparation import Spelling

    shares: dict[str, float] = {}
    if model is not None and found is None:
        spelling = model.spelling
        ranked = model.transliterate([pair.source for pair in pairs], nbest, beam=beam)
        candidates = [[candidate.target for candidate in each] for each in ranked]
        shares = dict(zip(("overlap_training", "overlap_tuning"), model.overlap(pairs), strict=True))
        for name, share in shares.items():
            if share > 0.05:
                warn(f"{percent(share, 0)} of these names were in the model's {name[8:]} pairs")
    elif found is not None and model is None:
        spelling = Spelling(lowercase=lowercase)
        candidates = [[spelling.normal(target) for target in each] for each in found]
        if len(candidates) != len(pairs):
            of = names.get("pairs", "the gold list")
            raise InputError(names.get("found"), None, f"{len(candidates)} names, but {of} has {len(pairs)}")
    else:
        raise SettingError("give either an OUTPUT to measure or a --model to apply")
    references = [[spelling.normal(target) for target in pair.targets] for pair in pairs]
    result = news_measures(candidates, references, seed=seed)
    right = accuracy_at(candidates, references, at)
    lines = [result.text(), *(f"right answer among the first {rank}: {number(share)}" for rank, share in right.items())]
    return Answer(result.to_json() | {f"acc_at_{n}": share for n, share in right.items()} | shares, "\n".join(lines))


@verb("transliterate", "transliterate export names.translit -o phrases.tsv", out="-")
def export(
    model: Any = a_model("transliterate", "transliterate.phrase", "transliterate.neural"), *, output: str | None
) -> Lines | None:
    """Write the phrase table in the text form of Moses, or a neural model as ONNX files (.onnx, .encoder.onnx)."""
    if model.NEURAL:
        export_networks(model, output)
        return None
    return Lines.of(model.table_.lines(model.source_vocab_, model.lm_.vocab_))


def weights_from(path: str) -> list[float]:
    """Weights by name from a JSON file; every feature must be there, and nothing else."""
    import json
    import sys

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


@verb("transliterate", "transliterate weights names.translit", out="model?")
def weights(
    model: PhraseTransliterator = _PHRASE,
    *,
    set: Sequence[float] | None = read_by(
        "corpuscle.transliterate.verbs:weights_from", "JSON with other weights, for the model in -o.", option=True
    ),
    output: str | None,
) -> Shown:
    """Show the weights as JSON, or write a model with other ones."""
    import json

    if (set is None) != (output is None):
        raise SettingError("--set and -o belong together")
    if set is None or output is None:
        return Answer(model.named_weights, json.dumps(model.named_weights))
    model.set_weights(set)
    model.save(output)
    return Answer(model.named_weights, "")


@verb("transliterate", "transliterate draw names.translit Ivanov -o ways.svg", out="figure?")
def draw(
    model: PhraseTransliterator = _PHRASE,
    word: str = word(),
    *,
    nbest: int = setting("How many ways to write it.", default=5, low=1, high=30),
) -> Picture:
    """Draw the best ways to write a word as a lattice of phrases (SVG or PNG)."""
    from corpuscle.transliterate import draw_lattice

    return Picture(draw_lattice(model, word, nbest))


@verb(
    "transliterate", "transliterate combine phrase.translit neural.translit --dev dev.tsv -o both.translit",
    out="model", work=True,
)  # fmt: skip
def combine(
    phrase: PhraseTransliterator = _PHRASE,
    neural: NeuralTransliterator = _NEURAL,
    *,
    dev: Sequence[Pair] = _pairs("Names that neither model has learned from, to find the weights.", option=True),
    candidates: int = setting("Candidates of each model.", default=20, low=2, high=1000),
    output: str | None,
) -> Learned:
    """Rank the candidates of a phrase model and of a neural one together, under weights tuned on --dev."""
    from corpuscle.transliterate import CombinedTransliterator

    model = CombinedTransliterator(candidates=candidates, units=phrase.units, lowercase=phrase.lowercase)
    model.fit(phrase, neural, dev)
    said = ", ".join(f"{name} {number(value)}" for name, value in model.named_weights.items())
    figures = {"tuning_pairs": len(dev), "weights": model.named_weights, "model": output}
    return Learned(model, figures, f"tuned on {len(dev):,}: {said}")


@verb("transliterate", "transliterate attention neural.translit Ivanov -o where.png", out="figure?")
def attention(
    model: NeuralTransliterator = _NEURAL,
    name: str = word(),
    *,
    target: str | None = setting("What is written, instead of the model's own best.", default=None),
) -> Picture:
    """Draw which letters of a name a neural model looks at while it writes each letter (SVG or PNG)."""
    from corpuscle.neural import draw_attention

    return Picture(draw_attention(model, name, target))


# ---- the workbench


_TYPED: Any = lines("Names, one a line.")


@view("transliterate", names="ab", k=3)
def transliterate(model: Transliterator, names: list[str] = _TYPED, *, k: int = K) -> dict[str, Any]:
    """The best ways to write names in the other script."""
    found = zip(names, model.transliterate(names, k), strict=True)
    written = [{"source": source, "candidates": [each._asdict() for each in ranked]} for source, ranked in found]
    return {"names": written}


@view("transliterate", kinds=("transliterate.phrase", "transliterate.combined"), names="ab", k=3)
def lattice(model: Transliterator, names: list[str] = _TYPED, *, k: int = K) -> dict[str, Any]:
    """A picture of the best ways to write the first word of some names, piece by piece."""
    from corpuscle.transliterate import draw_lattice

    name = next(iter(" ".join(names).split()), "")
    return {"source": name, "svg": draw_lattice(model.member("phrase"), name, min(k, 30)) if name else ""}


@view("transliterate", name="attention", kinds=("transliterate.neural", "transliterate.combined"), names="ab")
def attention_typed(model: Transliterator, names: list[str] = _TYPED, *, k: int = K) -> dict[str, Any]:
    """A picture of the letters of the first of some names that a network looks at while it writes each letter."""
    from corpuscle.neural import draw_attention

    name = next((name for name in names if name.strip()), "")
    return {"source": name, "svg": draw_attention(model.member("neural"), name) if name else ""}


def warm() -> None:
    """Compile every kernel of this task by running it on a few made-up names."""
    from corpuscle.neural.decoder import warm_decoder
    from corpuscle.transliterate.settings import ALIGNERS

    warm_decoder()
    _warm(("bleu", "fscore", "likelihood"), ALIGNERS)


def warm_defaults() -> None:
    """Compile what the default settings need."""
    _warm(("likelihood",))


def _warm(metrics: tuple[str, ...], aligners: tuple[str, ...] = ()) -> None:
    """Learn from a few made-up names, save, apply and measure."""
    import os
    import tempfile
    import warnings

    from corpuscle.errors import CorpuscleWarning
    from corpuscle.random import Random
    from corpuscle.text.alignments import Alignments
    from corpuscle.text.pairs import Pair
    from corpuscle.transliterate import PhraseTransliterator
    from corpuscle.transliterate.links import align_letters, repair

    names = ["".join(Random(1, "warm", 0, i).choice("abc") for _ in range(3 + i % 3)) for i in range(60)]
    pairs = [Pair(name, (name.replace("c", "ks"),)) for name in (*names, "dab")]  # d: letters that meet once
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore", CorpuscleWarning)
        path = os.path.join(folder, "model")
        for metric in metrics:
            model = train(PhraseTransliterator(metric=metric, restarts=0, rounds=1, tuning_nbest=3), pairs).model
        for aligner in aligners:
            align_letters(model.bitext_, aligner, passes=2)
        repair(Alignments.from_pairs([[(0, 0)] for _ in range(len(model.bitext_))]), model.bitext_)
        model.save(path)
        for nbest, sum in ((1, False), (3, True)):
            apply(path, ["abc"], nbest=nbest, sum=sum)
        evaluate(pairs[:2], model=path, nbest=3)
