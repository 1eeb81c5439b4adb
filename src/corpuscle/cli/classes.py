"""``corpuscle classes``: learn word classes from text, look at them, export them, apply them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from corpuscle.cli.common import (
    Digits,
    Input,
    Inputs,
    Json,
    Lowercase,
    ModelFile,
    Output,
    Quiet,
    Raw,
    Resume,
    Seed,
    Tokenise,
    Workers,
    check_model_output,
    check_output,
    emit,
    given,
    read_input,
)
from corpuscle.errors import InputError, SettingError

if TYPE_CHECKING:
    from corpuscle.words import WordClasses

__all__ = ["app"]

METHODS = ("exchange",)

app = typer.Typer(help="Word classes: which words behave alike.")


@app.command()
def train(
    context: typer.Context,
    inputs: Inputs,
    output: Output,
    method: Annotated[str, typer.Option("--method", help=f"One of: {', '.join(METHODS)}.")] = "exchange",
    classes: Annotated[int, typer.Option("--classes", help="How many classes.")] = 100,
    passes: Annotated[int, typer.Option("--passes", help="At most so many passes over the words.")] = 15,
    min_count: Annotated[
        int, typer.Option("--min-count", help="Rarer words are one type, the unknown word.")
    ] = 1,
    max_types: Annotated[
        int | None, typer.Option("--max-types", help="Keep only so many of the most frequent words.")
    ] = None,
    start: Annotated[
        str, typer.Option("--start", help="Where words are at first: best, frequent, cyclic or random.")
    ] = "best",
    lowercase: Lowercase = False,
    digits: Digits = False,
    tokenise: Tokenise = "none",
    resume: Resume = False,
    seed: Seed = 1,
    workers: Workers = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Learn word classes from text, a sentence a line."""
    check_model_output(output)
    import time

    from corpuscle.text import Preprocessing, read_text
    from corpuscle.words import ExchangeClasses

    if method not in METHODS:
        raise SettingError(f"the method is one of {', '.join(METHODS)}, not {method!r}")
    begin = time.perf_counter()
    learner = ExchangeClasses(
        classes=classes,
        passes=passes,
        min_count=min_count,
        max_types=max_types,
        start=start,
        seed=seed,
        workers=workers,
    )
    preprocessing = Preprocessing(lowercase=lowercase, digits=digits, tokenise=tokenise)
    corpus = read_text(*inputs, preprocessing=preprocessing)
    if corpus.n_tokens == 0:
        raise InputError(" ".join(inputs), None, "an empty text: there are no words to learn from")
    with learner.checkpoint(corpus, output, resume, preprocessing=preprocessing) as checkpoint:
        model = learner.fit(corpus, preprocessing=preprocessing, checkpoint=checkpoint)
        chosen = given(context)
        model.settings_ = {
            name: (value, "given" if name in chosen else "default") for name, (value, _) in model.settings_.items()
        }
        model.save(output)
    emit(
        {
            "method": method,
            "classes": model.n_classes_,
            "words": model.n_tokens_,
            "types": model.provenance_["types"],
            "passes": len(model.history_) - 1,
            "mutual_information": model.mutual_information_,
            "log_likelihood": model.likelihood_,
            "log_likelihood_per_word": model.likelihood_ / model.n_tokens_,
            "seconds": time.perf_counter() - begin,
            "model": output,
        },
        as_json,
    )


def _load(path: str) -> WordClasses:
    """A model of this task, and of no other."""
    from corpuscle.model import read
    from corpuscle.words import WordClasses

    return WordClasses.from_container(read(path, WordClasses.KIND))


@app.command()
def show(
    model: ModelFile,
    classes: Annotated[
        list[int] | None, typer.Option("--class", metavar="N", help="Only class number N; may be repeated.")
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="How many words of each class.")] = 10,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Show the most frequent words of each class."""
    loaded = _load(model)
    numbers = classes or list(range(loaded.n_classes_))
    counts = loaded.class_counts_
    members = {number: loaded.words_of(number, k) for number in numbers}
    rows = [
        {
            "class": number,
            "count": int(counts[number]),
            "words": [{"word": word, "count": count} for word, count in words],
        }
        for number, words in members.items()
    ]
    lines = [
        f"{number:>4} {counts[number]:>9,}  {' '.join(word for word, _ in words)}"
        for number, words in members.items()
    ]
    emit(
        {"method": loaded.method, "mutual_information": loaded.mutual_information_, "classes": rows},
        as_json,
        "\n".join(lines),
    )


@app.command()
def export(
    model: ModelFile,
    output: Output = "-",
    format: Annotated[
        str, typer.Option("--format", help="tsv (word, class, count) or paths (class, word, count).")
    ] = "tsv",
    quiet: Quiet = False,
) -> None:
    """Write all words with their classes and counts."""
    check_output(output)
    _load(model).export(output, format)


@app.command()
def apply(
    model: ModelFile,
    input: Input = "-",
    output: Output = "-",
    raw: Raw = False,
    quiet: Quiet = False,
) -> None:
    """Replace every word of a text by the number of its class; lines stay lines."""
    check_output(output)
    from corpuscle.text import write_text

    loaded = _load(model)
    corpus = read_input([input], raw, vocab=loaded.vocab_, preprocessing=loaded.preprocessing_)
    write_text(loaded.apply(corpus), output)
