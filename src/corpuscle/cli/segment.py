"""``corpuscle segment ...``: where the words are in text that does not show them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from corpuscle.cli.common import (
    Digits,
    Input,
    Json,
    Lowercase,
    ModelFile,
    Output,
    Quiet,
    Raw,
    Resume,
    Seed,
    Workers,
    check_model_output,
    emit,
    given,
    naming,
    place_of,
    read_input,
    write_table,
)
from corpuscle.errors import InputError, SettingError, warn

if TYPE_CHECKING:
    from corpuscle.segment import NestedSegmenter, TrivialSegmenter
    from corpuscle.text import Corpus

__all__ = ["app"]

app = typer.Typer(help="Word segmentation: where the words are.")

Spaces = Annotated[
    str | None,
    typer.Option(
        "--spaces", show_default="as in training", help="White space in the text: forced boundaries, or remove it."
    ),
]


def _load(path: str, workers: int | None) -> NestedSegmenter:
    """A learned model of this task, and of no other."""
    from corpuscle.segment import TrivialSegmenter

    model = _load_any(path, workers)
    if isinstance(model, TrivialSegmenter):
        raise InputError(path, None, f"the rule {model.method!r} has learned nothing: it can only segment")
    return model


def _load_any(path: str, workers: int | None) -> NestedSegmenter | TrivialSegmenter:
    """A model or rule of this task."""
    import corpuscle
    from corpuscle.scale import default_workers
    from corpuscle.segment import NestedSegmenter, TrivialSegmenter

    model = corpuscle.load(path)
    if not isinstance(model, NestedSegmenter | TrivialSegmenter):
        raise InputError(path, None, f"a model of kind {model.KIND.name}, not a segmenter")
    model.workers = workers or default_workers()
    return model


def _read(path: str, raw: bool = False) -> Corpus:
    return read_input([path], raw, unk_token="literal")


def _training_text(model: NestedSegmenter, files: list[str] | None) -> Corpus | None:
    if not files:
        return None
    corpus = read_input(files, False, unk_token="literal", preprocessing=model.preprocessing)
    if corpus.n_tokens == 0:
        raise InputError(files[0], None, "the training text is empty")
    return corpus


def _baseline(method: str, options: set[str], settings: dict[str, Any]) -> NestedSegmenter:
    from corpuscle.segment import DirichletSegmenter

    if method not in ("unigram", "bigram"):
        raise SettingError(f"method is npylm, unigram, bigram, letters or lines; not {method!r}")
    for name in ("order", "mh", "types", "length_norm", "max_context", "paths", "start"):
        if name in options:
            raise SettingError(f"--{name.replace('_', '-')} means nothing to the method {method}")
    return DirichletSegmenter(1 if method == "unigram" else 2, **settings)


def _write_rule(method: str, units: str, output: str, options: set[str], as_json: bool) -> None:
    from corpuscle.segment import TrivialSegmenter

    for name in sorted(options - {"method", "units", "output", "text", "quiet", "as_json"}):
        raise SettingError(f"--{name.replace('_', '-')} means nothing to the method {method}, which learns nothing")
    rule = TrivialSegmenter(method, units=units)
    rule.origins = {name: "given" for name in options if name in ("method", "units")}
    rule.save(output)
    emit({"method": method, "units": units, "model": output}, as_json, f"{output}: {method}")


@app.command()
def train(
    context: typer.Context,
    output: Annotated[str, typer.Option("-o", "--output", metavar="MODEL", help="Where to write the model.")],
    text: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT...]", help="Unsegmented text, a sentence a line; - is stdin.")
    ] = None,
    gold: Annotated[
        str | None, typer.Option("--gold", metavar="FILE", help="Segmented lines to learn from, too (or only).")
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            help="npylm; the baselines unigram and bigram (Dirichlet processes), letters and lines (rules that cut "
            "everywhere or nowhere).",
        ),
    ] = "npylm",
    order: Annotated[int, typer.Option("--order", help="2: a bigram model of words; 3: a trigram model.")] = 2,
    max_word: Annotated[
        int | None,
        typer.Option(
            "--max-word", show_default="4 for Chinese, 8 for Japanese, else 10", help="Letters of the longest word."
        ),
    ] = None,
    iterations: Annotated[int, typer.Option("--iterations", help="Sweeps over the text.")] = 200,
    spaces: Annotated[
        str,
        typer.Option("--spaces", help="White space in TEXT: forced boundaries, remove it, or gold (all are)."),
    ] = "forced",
    joiner: Annotated[
        str | None, typer.Option("--joiner", metavar="CHARACTER", help="It says: no boundary here.")
    ] = None,
    units: Annotated[
        str, typer.Option("--units", help="What is never cut: characters, graphemes, or words (finds phrases).")
    ] = "characters",
    chains: Annotated[int, typer.Option("--chains", help="Independent runs; the most probable one segments.")] = 1,
    samples: Annotated[int, typer.Option("--samples", help="Kept of each run, for boundary probabilities.")] = 1,
    mh: Annotated[bool, typer.Option("--mh", help="Correct for words that repeat within a sentence.")] = False,
    types: Annotated[
        bool | None,
        typer.Option("--types/--no-types", show_default="by script", help="Lengths by script, punctuation apart."),
    ] = None,
    length_norm: Annotated[
        str, typer.Option("--length-norm", help="Correction of word lengths: type, paper or none.")
    ] = "type",
    max_context: Annotated[int, typer.Option("--max-context", help="Letters that a letter looks back at most.")] = 10,
    boundary: Annotated[float, typer.Option("--boundary", help="Base probability of a sentence end.")] = 0.05,
    paths: Annotated[int, typer.Option("--paths", help="Random spellings that estimate lengths in a sweep.")] = 200,
    start: Annotated[
        str,
        typer.Option("--start", help="First words: by branching entropy, or growing (each sentence by those before)."),
    ] = "branching",
    lowercase: Lowercase = False,
    digits: Digits = False,
    resume: Resume = False,
    seed: Seed = 1,
    workers: Workers = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Learn to segment from unsegmented text, from segmented lines, or from both."""
    check_model_output(output)
    import time

    from corpuscle.segment import NestedSegmenter
    from corpuscle.text import Preprocessing

    begin = time.perf_counter()
    if method in ("letters", "lines"):
        _write_rule(method, units, output, given(context), as_json)
        return
    if not text and gold is None:
        raise SettingError("nothing to learn from: give a TEXT, or segmented lines with --gold")
    settings: dict[str, Any] = {
        "max_word": max_word, "iterations": iterations, "spaces": spaces, "units": units, "joiner": joiner,
        "chains": chains, "samples": samples, "boundary": boundary,
        "preprocessing": Preprocessing(lowercase=lowercase, digits=digits), "workers": workers, "seed": seed,
    }  # fmt: skip
    if method == "npylm":
        model = NestedSegmenter(
            order, mh=mh, types=types, length_norm=length_norm, max_context=max_context, paths=paths, start=start,
            **settings,
        )  # fmt: skip
    else:
        model = _baseline(method, given(context), settings)
    model.origins = {name: "given" for name in given(context) if name in model.settings()}
    unsegmented, segmented = (_training_text(model, files) for files in (text, None if gold is None else [gold]))
    try:
        with model.checkpoint(unsegmented, segmented, output, resume) as checkpoint:
            model.fit(unsegmented, segmented, checkpoint=checkpoint).save(output)
    except InputError as error:
        if error.path:
            raise
        files = [*(text or []), *([] if gold is None else [gold])]
        n_lines = sum(len(corpus) for corpus in (unsegmented, segmented) if corpus is not None)
        path, line = (files[0], None) if error.line is None else place_of(error.line, files, n_lines)
        raise InputError(path, line, error.reason) from error
    last = model.history_[int(model.history_[:, -1, 0].argmax()), -1]
    result = {
        "method": model.method, "order": model.order, "max_word": model.max_word, "types": model.types,
        "sentences": model.provenance["sentences"], "given_sentences": model.provenance["given_sentences"],
        "letters": model.provenance["letters"], "iterations": model.iterations, "chains": model.chains,
        "log_likelihood": last[0], "perplexity": last[1], "words": int(last[2]), "lexicon": int(last[3]),
        "word_length": last[4], "seconds": time.perf_counter() - begin, "model": output,
    }  # fmt: skip
    summary = (
        f"{output}: {result['letters']:,} letters, {result['words']:,} words, {result['lexicon']:,} of them distinct, "
        f"{model.iterations} sweeps in {result['seconds']:.1f} s"
    )
    emit(result, as_json, summary)


@app.command()
def apply(
    model: ModelFile,
    text: Input = "-",
    output: Output = "-",
    spaces: Spaces = None,
    raw: Raw = False,
    workers: Workers = None,
    quiet: Quiet = False,
) -> None:
    """Segment text: the same lines with spaces between words."""
    from corpuscle.text import iter_text
    from corpuscle.text.files import write_atomically

    loaded = _load_any(model, workers)
    corpora = iter([_read(text, raw)]) if raw else iter_text(text, unk_token="literal", lines_per_chunk=5000)
    with naming(text), write_atomically(output, "wb") as out:
        for block in loaded.segment_lines(corpora, spaces=spaces):
            out.write(block)


@app.command()
def evaluate(
    gold: Annotated[str, typer.Argument(metavar="GOLD", help="Segmented text.")],
    found: Annotated[str | None, typer.Argument(metavar="[OUTPUT]", help="The same lines as apply cut them.")] = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="MODEL", help="Take the spaces away and apply this model first.")
    ] = None,
    seed: Seed = 1,
    workers: Workers = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Precision, recall and F1 of words, boundaries and lexicon, with 95 % intervals."""
    from corpuscle.measure.segmentation import OtherText, segmentation_scores
    from corpuscle.text import read_text

    if (found is None) == (model is None):
        raise SettingError("give either an OUTPUT to measure or a --model to apply")
    shares: dict[str, float] = {}
    if model is not None:
        loaded = _load_any(model, workers)
        if loaded.units == "words":
            raise InputError(model, None, "a model of phrases; only words can be measured")
        right = _read(gold)
        guess = loaded.segment(right, spaces="remove")
        shares = {"overlap_training": loaded.overlap(right)}
        if shares["overlap_training"] > 0.05 and loaded.provenance.get("given_sentences"):
            warn(f"{shares['overlap_training']:.0%} of these lines were in the training text, perhaps segmented")
    else:
        assert found is not None
        right, guess = read_text(gold, unk_token="literal"), read_text(found, unk_token="literal")
    if right.n_tokens == 0:
        raise InputError(gold, None, "there are no words to score")
    try:
        result = segmentation_scores(right, guess, seed=seed)
    except OtherText as error:
        reason = str(error).partition(": ")[2]
        raise InputError(found or gold, error.sentence + 1, reason) from None
    figures = result.to_json() | shares
    lines = [
        f"{name:<11}precision {figures[prefix + 'precision']:.2%}, recall {figures[prefix + 'recall']:.2%}, "
        f"F1 {figures[prefix + 'f1']:.2%}"
        for name, prefix in (("words", ""), ("boundaries", "boundary_"), ("lexicon", "lexicon_"))
    ]
    lines.append(f"95 % interval of the words' F1: {figures['f1_low']:.2%} to {figures['f1_high']:.2%}")
    emit(figures, as_json, "\n".join(lines))


@app.command(name="perplexity")
def perplexity_(
    model: ModelFile,
    text: Input = "-",
    best: Annotated[bool, typer.Option("--best", help="Of the best segmentation instead of all together.")] = False,
    spaces: Annotated[
        str,
        typer.Option("--spaces", help="White space in the text: remove it, forced boundaries, or gold (all are)."),
    ] = "remove",
    seed: Seed = 1,
    workers: Workers = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Perplexity per letter of a text, with a 95 % interval."""
    loaded = _load(model, workers)
    with naming(text):
        result = loaded.perplexity(_read(text), best=best, spaces=spaces, seed=seed)
    figures = result.to_json()
    summary = f"perplexity {figures['perplexity']:.3f} a letter ({figures['low']:.3f} to {figures['high']:.3f}), " + (
        f"{figures['letters']:,} letters, {figures['unknown']:,} of them unknown"
    )
    emit(figures, as_json, summary)


@app.command()
def lexicon(model: ModelFile, output: Output = "-", quiet: Quiet = False) -> None:
    """The words that a model found: occurrences, tables, type, and the surprisal of their spelling (natural log)."""
    heading = ("word", "occurrences", "tables", "type", "surprisal")
    write_table(output, heading, _load(model, None).lexicon(), ".6g")


@app.command()
def posterior(
    model: ModelFile,
    text: Input = "-",
    output: Output = "-",
    draws: Annotated[
        int, typer.Option("--draws", min=1, max=100_000, help="Segmentations drawn from each sample of the model.")
    ] = 100,
    spaces: Spaces = None,
    seed: Seed = 1,
    workers: Workers = None,
    quiet: Quiet = False,
) -> None:
    """How probable a boundary is at every gap between two letters: line, letters before the gap, the letters on both
    sides, probability."""
    import numpy as np

    loaded = _load(model, workers)
    with naming(text):
        letters, probabilities = loaded.posterior(_read(text), draws=draws, seed=seed, spaces=spaces)
    line = np.repeat(np.arange(len(letters)), np.diff(letters.starts))
    inner = np.flatnonzero(np.arange(len(line)) > letters.starts[line])
    strings, tokens = letters.vocab.strings, letters.tokens
    rows = (
        (line[i] + 1, i - letters.starts[line[i]], strings[tokens[i - 1]], strings[tokens[i]], float(probabilities[i]))
        for i in inner.tolist()
    )
    write_table(output, ("line", "position", "before", "after", "probability"), rows, ".6g")


@app.command()
def history(model: ModelFile, output: Output = "-", quiet: Quiet = False) -> None:
    """What was noted after every sweep of training, and the parameters that were drawn: discounts and strengths by the
    length of the context, mean lengths of words by type."""
    loaded = _load(model, None)
    of_chains = loaded.history_
    rows = (
        (chain, sweep, *map(float, of_chains[chain, sweep]))
        for chain in range(of_chains.shape[0])
        for sweep in range(of_chains.shape[1])
    )
    write_table(output, ("chain", "sweep", *loaded.history_columns()), rows, ".6g")
