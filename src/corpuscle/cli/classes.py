"""``corpuscle classes``: learn word classes from text or trees, look at them, export them, apply them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from corpuscle.cli.command import (
    COUNT,
    Figures,
    annotation,
    argument,
    command,
    option,
    output,
    raw,
    resume,
    task_group,
    trainer,
    written,
)
from corpuscle.cli.common import annotated, load, read_input, warn_of_overlap
from corpuscle.errors import InputError, SettingError
from corpuscle.progress import clock
from corpuscle.text.wording import percent
from corpuscle.words.settings import WAYS

if TYPE_CHECKING:
    from corpuscle.words import BrownClasses, ExchangeClasses, HmmClasses, WordClasses

__all__ = ["group"]

group = task_group("classes")


@trainer(group)
@argument("text", many=True)
@output()
@resume
def train(
    model: ExchangeClasses | BrownClasses | HmmClasses, text: tuple[str, ...], output: str, resume: bool
) -> Figures:
    """Learn word classes from text, a sentence a line, or from treebanks (CoNLL-U)."""

    begin = clock()
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
            "seconds": clock() - begin,
            "model": output,
        }
    )


@command(group)
@argument("model")
@option("numbers", "Only class number N; may be repeated.", "--class", metavar="N", type=int, multiple=True)
@option("k", "How many words of each class.", "-k", metavar="N", type=COUNT, default=10)
@option("word", "Only the classes of this word, with their shares of its tokens.", metavar="WORD")
@option("by", "What words of a class are chosen by; count in all but hmm.", type=click.Choice(WAYS), default=WAYS[0])
def show(model: str, numbers: tuple[int, ...], k: int, word: str | None, by: str) -> Figures:
    """Show the most frequent words of each class, and its path in the class tree."""
    loaded = load(model, "classes")
    if word is not None:
        return _show_word(loaded, word, k, by)
    counts = loaded.class_counts_
    paths = [None] * loaded.n_classes_ if loaded.tree_ is None else loaded.tree_.paths
    members = {number: loaded.words_of(number, k, by) for number in numbers or range(loaded.n_classes_)}
    rows = [
        {
            "class": number,
            "path": paths[number],
            "count": int(counts[number]),
            "words": [{"word": word, by: value} for word, value in words],
        }
        for number, words in members.items()
    ]
    wide = max(len(paths[number] or "") for number in members)
    lines = [
        f"{number:>4} {paths[number] or '':<{wide}} {int(counts[number]):>9,}  {' '.join(word for word, _ in words)}"
        for number, words in members.items()
    ]
    figures = {
        "method": loaded.KIND.name.rpartition(".")[2],
        "mutual_information": loaded.mutual_information_,
        "classes": rows,
    }
    return Figures(figures, "\n".join(lines))


def _show_word(loaded: WordClasses, word: str, k: int, by: str) -> Figures:
    """The classes of a word that have at least a hundredth of its tokens, each with its first words."""
    known = word in loaded.vocab_
    rows: list[dict[str, Any]] = [
        {"class": number, "share": share, "words": [each for each, _ in loaded.words_of(number, k, by)]}
        for number, share in loaded.classes_of(word)
        if share >= 0.01
    ]
    count = int(loaded.vocab_.counts[loaded.vocab_.id(word)]) if known else 0
    lines = [f"{percent(row['share']):>8} {row['class']:>4}  {' '.join(row['words'])}" for row in rows]
    title = f"{word}: {count:,} tokens" if known else f"{word}: an unknown word"
    return Figures({"word": word, "known": known, "count": count, "classes": rows}, "\n".join([title, *lines]))


@command(group, figures=False)
@argument("model")
@output("-")
@option(
    "format",
    "tsv (word, class, count) or paths (bit string, word, count).",
    type=click.Choice(("tsv", "paths")),
    show_default="paths for Brown clusters, else tsv",
)
@option("full_paths", "A path of its own for each word: what was merged below the classes.", is_flag=True)
def export(model: str, output: str, format: str | None, full_paths: bool) -> None:
    """Write all words with their classes and counts."""
    load(model, "classes").export(output, format, full_paths)


@command(group)
@argument("model")
@output()
@option("classes", "How many classes are left.", metavar="N", type=COUNT, required=True)
def coarsen(model: str, output: str, classes: int) -> Figures:
    """Make a model with fewer classes: cut the class tree where so many are left."""
    coarse = load(model, "classes").coarsened(classes)
    coarse.save(output)
    figures = {"mutual_information": coarse.mutual_information_, "log_likelihood": coarse.likelihood_}
    return Figures({"classes": classes, **figures, "model": output})


@command(group, figures=False)
@argument("model")
@output(form="figure")
@option("classes", "Cut the tree where so many classes are left.", metavar="N", type=COUNT, default=60)
@option("k", "How many words of each class.", "-k", metavar="N", type=COUNT, default=10)
def draw(model: str, output: str, classes: int, k: int) -> None:
    """Draw the class tree with the most frequent words of each class (SVG or PNG)."""
    from corpuscle.figures import save_figure
    from corpuscle.words import draw_tree

    loaded = load(model, "classes")
    save_figure(draw_tree(loaded.coarsened(min(classes, loaded.n_classes_)), k), output)


@command(group, work=True, figures=False)
@argument("model")
@argument("input", default="-")
@output("-")
@raw
@annotation
@written("posteriors", "Also write how likely each class is at each token (NumPy, float32); only with hmm.")
def apply(
    model: str,
    input: str,
    output: str,
    raw: bool,
    tagger: str | None,
    parser: str | None,
    posteriors: str | None,
) -> None:
    """Replace every word of a text by the number of its class, lines stay lines; or write CoNLL-U (from such a file, or
    a text that is tagged or parsed first) with Class=NUMBER in its MISC column."""
    from corpuscle.text import read_conllu, write_conllu, write_text
    from corpuscle.text.conllu import is_treebank
    from corpuscle.words.forests import forest_of

    loaded = load(model, "classes")
    structure, layer = (loaded.settings.get(name, usual) for name, usual in (("structure", "chain"), ("layer", "form")))
    made = tagger is not None or parser is not None
    if not made and not is_treebank(input) and not (input == "-" and structure == "tree"):
        text = read_input([input], raw, vocab=loaded.vocab_, **loaded.reading)
        if posteriors is not None:
            loaded.write_posteriors(text, posteriors)
        return write_text(loaded.apply(text), output)
    if raw and not made:
        raise SettingError("--raw means nothing for a CoNLL-U file, which has its words already")
    bank = annotated(input, raw, tagger, parser) if made else read_conllu(input)
    forest = forest_of(bank, structure, layer, loaded.preprocessing, input)
    if posteriors is not None:
        loaded.write_posteriors(forest, posteriors)
    return write_conllu(loaded.annotate(bank, layer, loaded.preprocessing), output)


@command(group, work=True)
@argument("model")
@argument("text", many=True)
def evaluate(model: str, text: tuple[str, ...]) -> Figures:
    """The log-likelihood a token of a text that a hidden Markov model has not seen, with a 95 % interval."""
    loaded = load(model, "classes", ("words.hmm",))
    read = loaded.read(*text)
    shares = warn_of_overlap(loaded, getattr(read, "corpus", read), model)
    try:
        result = loaded.evaluate(read)
    except ValueError as error:
        raise InputError(" ".join(text), None, str(error)) from None
    return Figures(result.to_json() | shares, result.text())
