"""``corpuscle classes``: learn word classes from text, look at them, export them, apply them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from corpuscle.cli.command import COUNT, Figures, argument, command, option, output, raw, resume, task_group, trainer
from corpuscle.cli.common import load, read_input
from corpuscle.errors import InputError

if TYPE_CHECKING:
    from corpuscle.words import ExchangeClasses

__all__ = ["group"]

group = task_group("classes")


@trainer(group)
@argument("text", many=True)
@output()
@resume
def train(model: ExchangeClasses, text: tuple[str, ...], output: str, resume: bool) -> Figures:
    """Learn word classes from text, a sentence a line."""
    import time

    begin = time.perf_counter()
    corpus = model.read(*text)
    if corpus.n_tokens == 0:
        raise InputError(" ".join(text), None, "an empty text: there are no words to learn from")
    with model.checkpoint(corpus, output, resume) as checkpoint:
        model.fit(corpus, checkpoint=checkpoint).save(output)
    return Figures(
        {
            "classes": model.n_classes_,
            "words": model.n_tokens_,
            "types": model.provenance_["types"],
            "passes": len(model.history_) - 1,
            "mutual_information": model.mutual_information_,
            "log_likelihood": model.likelihood_,
            "log_likelihood_per_word": model.likelihood_ / model.n_tokens_,
            "seconds": time.perf_counter() - begin,
            "model": output,
        }
    )


@command(group)
@argument("model")
@option("numbers", "Only class number N; may be repeated.", "--class", metavar="N", type=int, multiple=True)
@option("k", "How many words of each class.", "-k", metavar="N", type=COUNT, default=10)
def show(model: str, numbers: tuple[int, ...], k: int) -> Figures:
    """Show the most frequent words of each class."""
    loaded = load(model, "classes")
    counts = loaded.class_counts_
    members = {number: loaded.words_of(number, k) for number in numbers or range(loaded.n_classes_)}
    rows = [
        {
            "class": number,
            "count": int(counts[number]),
            "words": [{"word": word, "count": count} for word, count in words],
        }
        for number, words in members.items()
    ]
    lines = [
        f"{number:>4} {counts[number]:>9,}  {' '.join(word for word, _ in words)}" for number, words in members.items()
    ]
    figures = {
        "method": loaded.KIND.name.rpartition(".")[2],
        "mutual_information": loaded.mutual_information_,
        "classes": rows,
    }
    return Figures(figures, "\n".join(lines))


@command(group, figures=False)
@argument("model")
@output("-")
@option(
    "format",
    "tsv (word, class, count) or paths (class, word, count).",
    type=click.Choice(("tsv", "paths")),
    default="tsv",
)
def export(model: str, output: str, format: str) -> None:
    """Write all words with their classes and counts."""
    load(model, "classes").export(output, format)


@command(group, work=True, figures=False)
@argument("model")
@argument("input", default="-")
@output("-")
@raw
def apply(model: str, input: str, output: str, raw: bool) -> None:
    """Replace every word of a text by the number of its class; lines stay lines."""
    from corpuscle.text import write_text

    loaded = load(model, "classes")
    write_text(loaded.apply(read_input([input], raw, vocab=loaded.vocab_, **loaded.reading)), output)
