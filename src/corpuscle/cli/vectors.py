"""``corpuscle vectors``: learn word vectors from text, ask them, judge them, draw them, export them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corpuscle.cli.command import COUNT, Figures, argument, command, option, output, raw, resume, task_group, trainer
from corpuscle.cli.common import load, read_input, table_text
from corpuscle.errors import InputError, SettingError
from corpuscle.progress import clock

if TYPE_CHECKING:
    from corpuscle.words import WordVectors
    from corpuscle.words.vectors import Neighbour

__all__ = ["group"]

group = task_group("vectors")
_k = option("k", "How many.", "-k", metavar="N", type=COUNT, default=10)


@trainer(group)
@argument("text", many=True)
@output()
@resume
def train(model: WordVectors, text: tuple[str, ...], output: str, resume: bool) -> Figures:
    """Learn word vectors from text, a sentence a line."""

    begin = clock()
    corpus = model.read(*text)
    if corpus.n_tokens == 0:
        raise InputError(" ".join(text), None, "an empty text: there are no words to learn from")
    with model.checkpoint(corpus, output, resume) as checkpoint:
        model.fit(corpus, checkpoint=checkpoint).save(output)
    return Figures(
        {
            "dimensions": model.vectors_.shape[1],
            "words": corpus.n_tokens,
            "types": model.provenance_["types"],
            "first_singular_value": float(model.singular_values_[0]),
            "last_singular_value": float(model.singular_values_[-1]),
            "seconds": clock() - begin,
            "model": output,
        }
    )


def _listed(what: dict[str, object], found: list[Neighbour]) -> Figures:
    rows = [{"word": word, "cosine": cosine} for word, cosine in found]
    return Figures({**what, "words": rows}, table_text((), found))


@command(group)
@argument("model")
@argument("word")
@_k
def nearest(model: str, word: str, k: int) -> Figures:
    """Show the words nearest to a word, with their cosines."""
    loaded = load(model, "vectors")
    return _listed({"word": word, "known": word in loaded}, loaded.nearest(word, k))


@command(group)
@argument("model")
@argument("a")
@argument("b")
@argument("c")
@_k
def analogy(model: str, a: str, b: str, c: str, k: int) -> Figures:
    """Show what is to C as B is to A: the words nearest to B - A + C."""
    return _listed({"a": a, "b": b, "c": c}, load(model, "vectors").analogy(a, b, c, k))


@command(group, seed=True)
@argument("model")
@argument("pairs")
def similarity(model: str, pairs: str, seed: int) -> Figures:
    """Compare with how alike people find words: Spearman's rank correlation on a file of two words and a score a
    line."""
    from corpuscle.text.pairs import read_scored_pairs

    loaded = load(model, "vectors")
    scored = read_scored_pairs(pairs)
    try:
        result = loaded.similarity(scored, seed=seed)
    except SettingError as error:
        raise InputError(pairs, None, str(error)) from None
    return Figures(result.to_json(), result.text())


@command(group)
@argument("model")
@argument("questions")
def analogies(model: str, questions: str) -> Figures:
    """Answer a file of analogies, four words a line: how often the fourth is found first. Lines that begin with a colon
    are headings. Questions with unknown words are left out of the accuracy and counted."""
    from corpuscle.measure import accuracy
    from corpuscle.text.files import read_lines

    loaded, asked = load(model, "vectors"), []
    for number, line in read_lines(questions):
        fields = line.split()
        if line.startswith(":") or not fields:
            continue
        if len(fields) != 4:
            raise InputError(questions, number, f"{len(fields)} words, where four are expected")
        asked.append(tuple(fields))
    if not asked:
        raise InputError(questions, None, "there are no questions in it")
    known, found = loaded.analogies(asked)
    if not known.any():
        raise InputError(questions, None, f"none of {len(asked)} questions has only words with vectors")
    result = accuracy(found[known], known[known], of="questions")
    values = {"accuracy": result["accuracy"], "questions": len(asked), "covered": int(known.sum())}
    values |= {name: value for name, value in result.to_json().items() if name in ("low", "high", "signature")}
    return Figures(values, f"{result.text()}\n{known.sum():,} of {len(asked):,} questions have vectors of all words")


@command(group, figures=False)
@argument("model")
@output("-")
def export(model: str, output: str) -> None:
    """Write all vectors as word2vec text: a word and its numbers on a line."""
    load(model, "vectors").export(output)


@command(group, work=True, figures=False)
@argument("model")
@argument("input", default="-")
@output("-")
@raw
def apply(model: str, input: str, output: str, raw: bool) -> None:
    """Write vectors of all words of a text, of unknown words from their contexts and spelling, as word2vec text."""
    from corpuscle.text.vectors import write_vectors

    loaded = load(model, "vectors")
    vocab, vectors = loaded.apply(read_input([input], raw, **loaded.reading))
    write_vectors(vocab, vectors, output)


@command(group, "map", figures=False)
@argument("model")
@argument("words", many=True, required=False)
@output("-", form="figure")
@option(
    "k", "How many of the most frequent words, or of the neighbours of each given word.", "-k", metavar="N", type=COUNT
)
def map_(model: str, words: tuple[str, ...], output: str, k: int | None) -> None:
    """Draw words where their vectors are, in two dimensions, as SVG or PNG: frequent words, or given ones and their
    neighbours."""
    from corpuscle.figures import save_figure
    from corpuscle.words.map import draw_map

    picture = draw_map(load(model, "vectors"), words, k)
    save_figure(picture, output)
