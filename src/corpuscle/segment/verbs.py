"""The verbs of word segmentation: learn, segment, evaluate, and those of language models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any

from corpuscle.errors import InputError, SettingError, warn
from corpuscle.text.wording import number, percent
from corpuscle.verbs import (
    ITEMS,
    MOST,
    RAW,
    SEED,
    Answer,
    File,
    Input,
    K,
    Keep,
    Learned,
    Lines,
    Shown,
    Table,
    Typed,
    a_model,
    made_by,
    setting,
    text,
    trains,
    verb,
    view,
    word,
)

if TYPE_CHECKING:
    import numpy as np

    from corpuscle.segment import Letters, LineScores, Segmenter
    from corpuscle.text import Corpus

_LEARNED = ("segment.npylm", "segment.dirichlet")
"""Kinds of models that are language models, too."""


def as_written(value: Any, model: Any, declared: Input, *, raw: bool = False) -> Corpus:
    """A text as it stands: a model reads its letters itself, and gives them back as they were written."""
    from corpuscle.text import Corpus, inputs

    if isinstance(value, str | PathLike):
        value = File(value)
    elif not isinstance(value, Typed):
        value = Corpus.checked(value, unk_token="literal")
    return inputs.text(value, None, declared, raw=raw, unk_token="literal")


def stream_of(value: Any, model: Any, declared: Input, *, raw: bool = False) -> Iterator[Corpus]:
    """A text as it stands, piece by piece."""
    from corpuscle.text import iter_text

    if isinstance(value, str | PathLike) and not raw:
        return iter_text(value, unk_token="literal", lines_per_chunk=5000)
    return iter([as_written(value, model, declared, raw=raw)])


_written = partial(made_by, "corpuscle.segment.verbs:as_written")
_stream = partial(made_by, "corpuscle.segment.verbs:stream_of", default="-")
_SPACES: Any = setting(
    "White space in the text: forced boundaries, or remove it.",
    default=None,
    choices=("forced", "remove"),
    shown="as in training",
)
_BEST: Any = setting("Of the best segmentation instead of all together.", default=False)
_SCORED: Any = setting(
    "White space in the text: remove it, forced boundaries, or gold (these are all boundaries).",
    default="remove",
    choices=("remove", "forced", "gold"),
)


@trains(
    "segment",
    "segment train text.txt -o words.segment\n"
    "segment train text.txt -o words.segment --sweeps 500 --chains 2  # longer, and twice",
)
def train(
    model: Segmenter,
    text: Corpus | None = text(many=True, default=None, empty="the training text is empty"),
    *,
    gold: Corpus | None = text(
        "Segmented lines to learn from, too (or only).", metavar="FILE", option=True, empty="the training text is empty"
    ),
    keep: Keep,
) -> Learned:
    """Learn to segment from unsegmented text, a sentence a line, from segmented lines, or from both."""
    if not model.LEARNS:
        for name, given in (("--gold", gold), ("--resume", keep.resume)):
            if given:
                raise SettingError(f"{name} means nothing with --method {model.method}, which learns nothing")
        facts = {"units": model.units, "model": keep.output}
        return Learned(model, facts, f"{keep.output}: {model.method}", named=True)
    if text is None and gold is None:
        raise SettingError("nothing to learn from: give a TEXT, or segmented lines with --gold")
    model.fit(text, gold, checkpoint=keep.checkpoint(model, text, gold))
    last = model.history_[int(model.history_[:, -1, 0].argmax()), -1]
    figures = {
        "order": model.order,
        "max_word": model.max_word_,
        "types": model.types_,
        **{name: model.provenance_[name] for name in ("sentences", "given_sentences", "letters")},
        "sweeps": model.sweeps,
        "chains": model.chains,
        "log_likelihood": last[0],
        "perplexity": last[1],
        "words": int(last[2]),
        "lexicon": int(last[3]),
        "word_length": last[4],
        "model": keep.output,
    }
    return Learned(
        model,
        figures,
        f"{figures['letters']:,} letters, {figures['words']:,} words, {figures['lexicon']:,} of them distinct, "
        f"{model.sweeps} sweeps",
    )


@verb("segment", "segment apply words.segment new.txt -o new.words.txt", out="-", work=True)
def apply(
    model: Segmenter = a_model("segment"),
    text: Iterator[Corpus] = _stream(options={"raw": RAW}),
    *,
    spaces: str | None = _SPACES,
) -> Lines:
    """Segment text: the same lines with spaces between words."""
    return Lines(block.decode().split("\n")[:-1] for block in model.segment_lines(text, spaces=spaces))


@verb("segment", "segment evaluate gold.txt --model words.segment", work=True)
def evaluate(
    gold: Corpus = _written(empty="there are no words to score"),
    found: Corpus | None = _written(metavar="OUTPUT", default=None),
    *,
    model: Segmenter | None = a_model(
        "segment",
        help="Take the spaces away and apply this model first, instead of reading an OUTPUT.",
        metavar="MODEL",
        option=True,
    ),
    seed: int = SEED,
    names: Mapping[str, str],
) -> Shown:
    """Precision, recall and F1 of words, boundaries and lexicon, with 95 % intervals."""
    from corpuscle.measure.segmentation import OtherText, segmentation_scores

    if (found is None) == (model is None):
        raise SettingError("give either an OUTPUT to measure or a --model to apply")
    shares: dict[str, float] = {}
    if model is not None:
        if model.units == "words":
            raise InputError(names.get("model"), None, "a model of phrases; only words can be measured")
        found, share = model.segment(gold, spaces="remove"), model.overlap(gold)
        if share > 0.05 and model.provenance_.get("given_sentences"):
            warn(f"{percent(share, 0)} of these lines were in the training text, perhaps segmented")
        shares = {"overlap_training": share}
    assert found is not None
    try:
        result = segmentation_scores(gold, found, seed=seed)
    except OtherText as error:
        reason = str(error).partition(": ")[2]
        raise InputError(names.get("found", names.get("gold")), error.sentence + 1, reason) from None
    return Answer(result.to_json() | shares, result.text())


@verb("segment", "segment perplexity words.segment new.txt", work=True)
def perplexity(
    model: Segmenter = a_model("segment", *_LEARNED),
    text: Corpus = _written(default="-"),
    *,
    best: bool = _BEST,
    spaces: str = _SCORED,
    seed: int = SEED,
    names: Mapping[str, str],
) -> Shown:
    """Perplexity per letter, with a 95 % interval, and per word of a text."""
    result = model.perplexity(text, best=best, spaces=spaces, seed=seed)
    share = model.overlap(text)
    if share > 0.05:
        warn(f"{percent(share, 0)} of these lines were in the training text of {names.get('model', 'the model')}")
    words = f"{number(result['word_perplexity'])} a word ({result['words']:,} words and the ends of lines)"
    return Answer(result.to_json() | {"overlap_training": share}, f"{result.text()}\n{words}")


@verb("segment", "segment score words.segment new.txt > scores.tsv", work=True)
def score(
    model: Segmenter = a_model("segment", *_LEARNED),
    text: Iterator[Corpus] = _stream(),
    *,
    best: bool = _BEST,
    spaces: str = _SCORED,
) -> Table:
    """Log10 probability and perplexity a letter of every line (TSV: sentence, letters, unknown, log10, perplexity)."""
    rows = _score_rows(model.score_lines(text, best=best, spaces=spaces))
    return Table(("sentence", "letters", "unknown", "log10", "perplexity"), rows)


def _score_rows(pieces: Iterable[LineScores]) -> Iterator[tuple[Any, ...]]:
    """Rows about the lines of a text whose scores come in pieces."""
    import numpy as np

    sentence = 1
    for scores in pieces:
        with np.errstate(all="ignore"):
            perplexities = np.exp(-scores.log_probability / scores.letters)
        log10 = scores.log_probability / np.log(10)
        numbers = range(sentence, sentence + len(scores.letters))
        yield from zip(numbers, scores.letters, scores.unknown, log10, perplexities, strict=True)
        sentence += len(scores.letters)


@verb("segment", 'segment next words.segment "thed" -k 5')
def next_(
    model: Segmenter = a_model("segment", *_LEARNED),
    context: str = word(default=""),
    *,
    k: int = setting("How many words.", default=10, low=1, high=MOST, flag="-k"),
    spaces: str | None = _SPACES,
) -> Shown:
    """The most likely next words after the beginning of a sentence, CONTEXT, however that is cut into words."""
    values = _next(model, context, k, spaces)
    rows = [(each["probability"], each["word"]) for each in values["next"]]
    return Answer(values, Table((), [*rows, (values["new"], "(a new word)")]).text())


def _next(model: Segmenter, context: str, k: int, spaces: str | None = None) -> dict[str, Any]:
    from corpuscle.text import read_strings
    from corpuscle.text.origin import Origin

    begin = replace(read_strings([context], unk_token="literal"), origin=Origin(("CONTEXT",), rows=range(1)))
    found = model.next_words(begin, k, spaces=spaces)
    return {
        "context": model.segment(begin, spaces=spaces).words(0),
        "next": [{"word": word, "probability": probability} for word, probability in found.words],
        "new": found.new,
    }


@verb("segment", "segment sample words.segment -n 3")
def sample(
    model: Segmenter = a_model("segment", *_LEARNED),
    *,
    n: int = setting("How many sentences.", default=5, low=1, high=MOST, flag="-n"),
    temperature: float = setting("Below 1: likelier words.", default=1.0),
    max_length: int = setting("Cut sentences at this many words.", default=100, low=1, high=MOST),
    seed: int = SEED,
) -> Table:
    """Random sentences of the model, one a line, with spaces between words; some of the words are new."""
    drawn = model.sample(n, seed=seed, temperature=temperature, max_length=max_length)
    return Table(("sentence",), ([" ".join(words)] for words in drawn), heading=False)


@verb("segment", "segment lexicon words.segment -o lexicon.tsv", out="-")
def lexicon(model: Segmenter = a_model("segment", *_LEARNED)) -> Table:
    """The words that a model found: occurrences, tables, type, and the surprisal of their spelling (natural log)."""
    return Table(("word", "occurrences", "tables", "type", "surprisal"), model.lexicon())


@verb("segment", "segment posterior words.segment new.txt -o boundaries.tsv", out="-", work=True)
def posterior(
    model: Segmenter = a_model("segment", *_LEARNED),
    text: Corpus = _written(default="-"),
    *,
    draws: int = setting("Segmentations drawn from each sample of the model.", default=100, low=1, high=100_000),
    spaces: str | None = _SPACES,
    seed: int = SEED,
) -> Table:
    """How probable a boundary is at every gap between two letters: line, letters before the gap, the letters on both
    sides, probability."""
    gaps = _gaps(*model.posterior(text, draws=draws, seed=seed, spaces=spaces))
    rows = ((line, *gap) for line, of_line in enumerate(gaps, 1) for gap in of_line)
    return Table(("line", *_GAP), rows)


_GAP = ("position", "before", "after", "probability")


def _gaps(letters: Letters, probabilities: np.ndarray) -> Iterator[list[tuple[int, str, str, float]]]:
    """The gaps of each line: letters before it, the letters on both sides, how probable a boundary is."""
    strings, tokens, sure = letters.vocab.strings, letters.tokens.tolist(), probabilities.tolist()
    for begin, end in pairwise(letters.starts.tolist()):
        yield [(i - begin, strings[tokens[i - 1]], strings[tokens[i]], sure[i]) for i in range(begin + 1, end)]


@verb("segment", "segment history words.segment", out="-")
def history(model: Segmenter = a_model("segment", *_LEARNED)) -> Table:
    """What was noted after every sweep of training, and the parameters that were drawn: discounts and strengths by the
    length of the context, mean lengths of words by type."""
    rows = (
        (chain, sweep, *row) for chain, sweeps in enumerate(model.history_.tolist()) for sweep, row in enumerate(sweeps)
    )
    return Table(("chain", "sweep", *model.history_columns()), rows, number=".9g")


_DRAWS: Any = setting("Segmentations drawn, for how probable boundaries are.", default=50, low=1, high=1000)


_TYPED: Any = _written("Text, a sentence a line.", options={"raw": RAW})


@view("segment", name="apply", text="abcab", draws=10)
def cut_typed(model: Segmenter, text: Corpus = _TYPED, *, draws: int = _DRAWS, seed: int = SEED) -> dict[str, Any]:
    """The words of text without spaces, and how probable a boundary is between any two letters."""
    return {"lines": _cut(model, text, draws, seed)}


def _cut(model: Segmenter, text: Corpus, draws: int, seed: int) -> list[dict[str, Any]]:
    """The words of each line and, if the model has learned, its gaps."""
    words = [list(line) for line in model.segment(text)]
    if not model.LEARNS:
        return [{"words": line, "boundaries": None} for line in words]
    gaps = _gaps(*model.posterior(text, draws=draws, seed=seed))
    bounds = [[dict(zip(_GAP, gap, strict=True)) for gap in of_line] for of_line in gaps]
    return [{"words": a, "boundaries": b} for a, b in zip(words, bounds, strict=True)]


@view("segment", name="score", kinds=_LEARNED, text="abcab")
def score_typed(model: Segmenter, text: Corpus = _TYPED) -> dict[str, Any]:
    """How likely each line is, however it is cut into words, and its perplexity a letter."""
    import numpy as np

    found = model.score(text)
    rows = zip(found.letters.tolist(), found.unknown.tolist(), found.log_probability.tolist(), strict=True)
    lines = [
        {"letters": n, "unknown": unknown, "log10": log / np.log(10),
         "perplexity": float(np.exp(min(700.0, -log / n))) if n else None}
        for n, unknown, log in rows
    ]  # fmt: skip
    return {"lines": lines}


@view("segment", name="next", kinds=_LEARNED, context="ab", k=3)
def next_typed(model: Segmenter, context: str = word("The beginning of a sentence."), *, k: int = K) -> dict[str, Any]:
    """The most likely next words after the beginning of a line, however that is cut, and how likely a new one is."""
    return _next(model, context, k)


@view("segment", name="sample", kinds=_LEARNED, n=2)
def sample_typed(
    model: Segmenter,
    *,
    n: int = setting("How many sentences.", default=5, low=1, high=100),
    temperature: float = setting("Below 1: likelier words.", default=1.0, low=0.01, high=100.0),
    max_length: int = setting("Cut sentences at this many words.", default=50, low=1, high=1000),
    seed: int = SEED,
) -> dict[str, Any]:
    """Random sentences of the model."""
    return {"sentences": list(model.sample(n, seed=seed, temperature=temperature, max_length=max_length))}


@view("segment", name="lexicon", kinds=_LEARNED, k=5)
def frequent_words(model: Segmenter, *, k: int = K) -> dict[str, Any]:
    """The words that a model found, the most frequent first."""
    return {"words": [entry._asdict() for entry in model.lexicon()[:k]]}


@view("segment", kinds=_LEARNED, text="abcab")
def doubts(
    model: Segmenter, text: Corpus = _TYPED, *, n: int = ITEMS, draws: int = _DRAWS, seed: int = SEED
) -> dict[str, Any]:
    """Lines whose boundaries are least sure, with the words."""
    from corpuscle.measure import least_sure, unsure_item

    items = []
    for line in _cut(model, text, draws, seed):
        if line["words"]:
            sure = [max(gap["probability"], 1 - gap["probability"]) for gap in line["boundaries"]]
            items.append(unsure_item({"words": line["words"]}, sure))
    return least_sure(items, n, layer="segment", choices=[])


def warm() -> None:
    """Compile the kernels of this task by running them on a few letters."""
    import os
    import tempfile

    import corpuscle
    from corpuscle.segment import DirichletSegmenter, NestedSegmenter
    from corpuscle.text import Corpus
    from corpuscle.text import warm as warm_text

    warm_text()
    text = Corpus.from_sentences([["abab"], ["ab", "a"], ["abba"]])
    DirichletSegmenter(sweeps=1, workers=1).fit(text)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        for mh in True, False:
            model = NestedSegmenter(sweeps=2, mh=mh, workers=1)
            with model.checkpoint(text, None, path) as checkpoint:
                checkpoint.every = 0.0
                model.fit(text, checkpoint=checkpoint).save(path)
        loaded = corpuscle.load(path)
        loaded.segment(text)
        loaded.posterior(text, draws=2)
        loaded.perplexity(text, draws=10)
        loaded.lexicon()
        loaded.next_words(text)
        list(loaded.sample(2, max_length=5))
