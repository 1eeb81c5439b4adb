"""``corpuscle segment ...``: where the words are in text that does not show them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from corpuscle.cli.command import COUNT, Figures, argument, command, option, output, raw, resume, task_group, trainer
from corpuscle.cli.common import load, read_input, table_text
from corpuscle.errors import InputError, SettingError, warn
from corpuscle.progress import clock
from corpuscle.text.wording import number, percent, seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from corpuscle.segment import Segmenter
    from corpuscle.text import Corpus

__all__ = ["group"]

group = task_group("segment")

_LEARNED = ("segment.npylm", "segment.dirichlet")

_spaces = option(
    "spaces",
    "White space in the text: forced boundaries, or remove it.",
    type=click.Choice(("forced", "remove")),
    show_default="as in training",
)


def _read(path: str, raw: bool = False) -> Corpus:
    """A text as it stands."""
    return read_input([path], raw, unk_token="literal")


@trainer(group)
@argument("text", many=True, required=False)
@output()
@option("gold", "Segmented lines to learn from, too (or only).", metavar="FILE")
@resume
def train(model: Any, text: tuple[str, ...], output: str, gold: str | None, resume: bool) -> Figures:
    """Learn to segment from unsegmented text, a sentence a line, from segmented lines, or from both."""
    from corpuscle.segment import TrivialSegmenter

    if not isinstance(model, TrivialSegmenter):
        return _learn(model, text, () if gold is None else (gold,), output, resume)
    for name, given in (("--gold", gold), ("--resume", resume)):
        if given:
            raise SettingError(f"{name} means nothing with --method {model.method}, which learns nothing")
    model.save(output)
    return Figures({"method": model.method, "units": model.units, "model": output}, f"{output}: {model.method}")


def _learn(model: Segmenter, text: Sequence[str], gold: Sequence[str], output: str, resume: bool) -> Figures:
    """Learn a model, and say what came of it."""

    begin = clock()
    if not text and not gold:
        raise SettingError("nothing to learn from: give a TEXT, or segmented lines with --gold")
    unsegmented, segmented = _training_text(model, text), _training_text(model, gold)
    with model.checkpoint(unsegmented, segmented, output, resume) as checkpoint:
        model.fit(unsegmented, segmented, checkpoint=checkpoint).save(output)
    last = model.history_[int(model.history_[:, -1, 0].argmax()), -1]
    figures = {
        "method": model.method,
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
        "seconds": clock() - begin,
        "model": output,
    }
    summary = (
        f"{output}: {figures['letters']:,} letters, {figures['words']:,} words, {figures['lexicon']:,} of them "
        f"distinct, {model.sweeps} sweeps in {seconds(figures['seconds'])}"
    )
    return Figures(figures, summary)


def _training_text(model: Segmenter, files: Sequence[str]) -> Corpus | None:
    """What a model learns from, if there are files."""
    return model.read(*files).filled("training text") if files else None


@command(group, work=True, figures=False)
@argument("model")
@argument("text", default="-")
@output("-")
@_spaces
@raw
def apply(model: str, text: str, output: str, spaces: str | None, raw: bool) -> None:
    """Segment text: the same lines with spaces between words."""
    from corpuscle.text import iter_text
    from corpuscle.text.files import write_atomically

    loaded = load(model, "segment")
    corpora = iter([_read(text, raw)]) if raw else iter_text(text, unk_token="literal", lines_per_chunk=5000)
    with write_atomically(output, "wb") as out:
        for block in loaded.segment_lines(corpora, spaces=spaces):
            out.write(block)


@command(group, work=True, seed=True)
@argument("gold")
@argument("output", required=False)
@option("model", "Take the spaces away and apply this model first, instead of reading an OUTPUT.", metavar="MODEL")
def evaluate(gold: str, output: str | None, model: str | None, seed: int) -> Figures:
    """Precision, recall and F1 of words, boundaries and lexicon, with 95 % intervals."""
    from corpuscle.measure.segmentation import OtherText, segmentation_scores

    if (output is None) == (model is None):
        raise SettingError("give either an OUTPUT to measure or a --model to apply")
    right = _read(gold)
    shares: dict[str, float] = {}
    if output is not None:
        guess = _read(output)
    else:
        assert model is not None
        guess, shares = _applied(model, right)
    if right.n_tokens == 0:
        raise InputError(gold, None, "there are no words to score")
    try:
        result = segmentation_scores(right, guess, seed=seed)
    except OtherText as error:
        reason = str(error).partition(": ")[2]
        raise InputError(output or gold, error.sentence + 1, reason) from None
    return Figures(result.to_json() | shares, result.text())


def _applied(path: str, gold: Corpus) -> tuple[Corpus, dict[str, float]]:
    """The words that a model finds in a text, and how much of the text it has seen before."""
    model = load(path, "segment")
    if model.units == "words":
        raise InputError(path, None, "a model of phrases; only words can be measured")
    found, share = model.segment(gold, spaces="remove"), model.overlap(gold)
    if share > 0.05 and model.provenance_.get("given_sentences"):
        warn(f"{percent(share, 0)} of these lines were in the training text, perhaps segmented")
    return found, {"overlap_training": share}


_best = option("best", "Of the best segmentation instead of all together.", is_flag=True)
_scored_spaces = option(
    "spaces",
    "White space in the text: remove it, forced boundaries, or gold (these are all boundaries).",
    type=click.Choice(("remove", "forced", "gold")),
    default="remove",
)


@command(group, work=True, seed=True)
@argument("model")
@argument("text", default="-")
@_best
@_scored_spaces
def perplexity(model: str, text: str, best: bool, spaces: str, seed: int) -> Figures:
    """Perplexity per letter, with a 95 % interval, and per word of a text."""
    loaded = load(model, "segment", _LEARNED)
    corpus = _read(text)
    result = loaded.perplexity(corpus, best=best, spaces=spaces, seed=seed)
    share = loaded.overlap(corpus)
    if share > 0.05:
        warn(f"{percent(share, 0)} of these lines were in the training text of {model}")
    words = f"{number(result['word_perplexity'])} a word ({result['words']:,} words and the ends of lines)"
    return Figures(result.to_json() | {"overlap_training": share}, f"{result.text()}\n{words}")


@command(group, work=True, figures=False)
@argument("model")
@argument("text", default="-")
@_best
@_scored_spaces
def score(model: str, text: str, best: bool, spaces: str) -> None:
    """Log10 probability and perplexity a letter of every line (TSV: sentence, letters, unknown, log10, perplexity)."""
    from corpuscle.text import iter_text, write_table

    loaded = load(model, "segment", _LEARNED)
    corpora = iter_text(text, unk_token="literal", lines_per_chunk=5000)
    rows = _score_rows(loaded.score_lines(corpora, best=best, spaces=spaces))
    write_table("-", ("sentence", "letters", "unknown", "log10", "perplexity"), rows)


def _score_rows(pieces: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
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


@command(group, "next")
@argument("model")
@argument("context", default="")
@option("k", "How many words.", "-k", metavar="N", type=COUNT, default=10)
@_spaces
def next_words(model: str, context: str, k: int, spaces: str | None) -> Figures:
    """The most likely next words after the beginning of a sentence, CONTEXT, however that is cut into words."""
    from dataclasses import replace

    from corpuscle.text import read_strings
    from corpuscle.text.origin import Origin

    loaded = load(model, "segment", _LEARNED)
    begin = replace(read_strings([context], unk_token="literal"), origin=Origin(("CONTEXT",), rows=range(1)))
    found = loaded.next_words(begin, k, spaces=spaces)
    words = loaded.segment(begin, spaces=spaces).words(0)
    return Figures(
        {
            "context": words,
            "next": [{"word": word, "probability": probability} for word, probability in found.words],
            "new": found.new,
        },
        table_text((), [*((p, word) for word, p in found.words), (found.new, "(a new word)")]),
    )


@command(group, seed=True, figures=False)
@argument("model")
@option("n", "How many sentences.", "-n", metavar="N", type=COUNT, default=5)
@option("temperature", "Below 1: likelier words.", metavar="X", type=float, default=1.0)
@option("max_length", "Cut sentences at this many words.", metavar="N", type=COUNT, default=100)
def sample(model: str, n: int, temperature: float, max_length: int, seed: int) -> None:
    """Random sentences of the model, one a line, with spaces between words; some of the words are new."""
    from corpuscle.text import write_table

    loaded = load(model, "segment", _LEARNED)
    found = loaded.sample(n, seed=seed, temperature=temperature, max_length=max_length)
    write_table("-", (), ([" ".join(words)] for words in found), names=("sentence",))


@command(group, figures=False)
@argument("model")
@output("-")
def lexicon(model: str, output: str) -> None:
    """The words that a model found: occurrences, tables, type, and the surprisal of their spelling (natural log)."""
    from corpuscle.text import write_table

    heading = ("word", "occurrences", "tables", "type", "surprisal")
    write_table(output, heading, load(model, "segment", _LEARNED).lexicon())


@command(group, work=True, seed=True, figures=False)
@argument("model")
@argument("text", default="-")
@output("-")
@option(
    "draws",
    "Segmentations drawn from each sample of the model.",
    metavar="N",
    type=click.IntRange(1, 100_000),
    default=100,
)
@_spaces
def posterior(model: str, text: str, output: str, draws: int, spaces: str | None, seed: int) -> None:
    """How probable a boundary is at every gap between two letters: line, letters before the gap, the letters on both
    sides, probability."""
    import numpy as np

    from corpuscle.text import write_table

    loaded = load(model, "segment", _LEARNED)
    letters, probabilities = loaded.posterior(_read(text), draws=draws, seed=seed, spaces=spaces)
    line = np.repeat(np.arange(len(letters)), np.diff(letters.starts))
    inner = np.flatnonzero(np.arange(len(line)) > letters.starts[line])
    strings, tokens = letters.vocab.strings, letters.tokens
    rows = (
        (line[i] + 1, i - letters.starts[line[i]], strings[tokens[i - 1]], strings[tokens[i]], float(probabilities[i]))
        for i in inner.tolist()
    )
    write_table(output, ("line", "position", "before", "after", "probability"), rows)


@command(group, figures=False)
@argument("model")
@output("-")
def history(model: str, output: str) -> None:
    """What was noted after every sweep of training, and the parameters that were drawn: discounts and strengths by the
    length of the context, mean lengths of words by type."""
    from corpuscle.text import write_table

    loaded = load(model, "segment", _LEARNED)
    rows = (
        (chain, sweep, *row)
        for chain, sweeps in enumerate(loaded.history_.tolist())
        for sweep, row in enumerate(sweeps)
    )
    write_table(output, ("chain", "sweep", *loaded.history_columns()), rows, ".9g")
