"""What word vectors can do: learn, be asked for neighbours and analogies, be judged, drawn and exported, and give
vectors to the words of a text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from corpuscle.errors import InputError
from corpuscle.verbs import (
    SEED,
    Answer,
    Export,
    K,
    Keep,
    Learned,
    Picture,
    Shown,
    Table,
    a_model,
    read_by,
    text,
    trains,
    verb,
    view,
    word,
)
from corpuscle.words.verbs import how_many, of_data

if TYPE_CHECKING:
    from corpuscle.text import Corpus
    from corpuscle.text.pairs import ScoredPair
    from corpuscle.words import WordVectors

_K: Any = how_many("How many.")


@trains("vectors", "vectors train text.txt -o words.vectors --dimensions 100")
def train(
    model: WordVectors,
    text: Corpus = text(many=True, empty="an empty text: there are no words to learn from"),
    *,
    keep: Keep,
) -> Learned:
    """Learn word vectors from text, a sentence a line."""
    model.fit(text, checkpoint=keep.checkpoint(model, text))
    figures = {
        "dimensions": model.vectors_.shape[1],
        "words": text.n_tokens,
        "types": model.provenance_["types"],
        "first_singular_value": float(model.singular_values_[0]),
        "last_singular_value": float(model.singular_values_[-1]),
    }
    return Learned(model, figures)


def _found(about: dict[str, Any], words: list[tuple[str, float]]) -> Answer:
    rows = [{"word": each, "cosine": cosine} for each, cosine in words]
    return Answer({**about, "words": rows}, Table((), words).text())


@verb("vectors", "vectors nearest words.vectors house")
def nearest(model: WordVectors = a_model("vectors"), word: str = word(), *, k: int = _K) -> Shown:
    """Show the words nearest to a word, with their cosines."""
    return _found({"word": word, "known": word in model}, model.nearest(word, k))


@verb("vectors", "vectors analogy words.vectors man king woman")
def analogy(
    model: WordVectors = a_model("vectors"), a: str = word(), b: str = word(), c: str = word(), *, k: int = _K
) -> Shown:
    """Show what is to C as B is to A: the words nearest to B - A + C."""
    return _found({"a": a, "b": b, "c": c}, model.analogy(a, b, c, k))


@verb("vectors", "vectors similarity words.vectors pairs.tsv")
def similarity(
    model: WordVectors = a_model("vectors"),
    pairs: list[ScoredPair] = read_by("corpuscle.text.pairs:read_scored_pairs"),
    *,
    seed: int = SEED,
) -> Shown:
    """Compare with how alike people find words: Spearman's rank correlation on a file of two words and a score a
    line."""
    with of_data():
        return model.similarity(pairs, seed=seed)


def read_questions(path: str) -> list[tuple[str, ...]]:
    """Analogies of a file, four words a line; lines that begin with a colon are headings."""
    from corpuscle.text.files import read_lines

    found = []
    for number, line in read_lines(path):
        fields = line.split()
        if line.startswith(":") or not fields:
            continue
        if len(fields) != 4:
            raise InputError(path, number, f"{len(fields)} words, where four are expected")
        found.append(tuple(fields))
    return found


@verb("vectors", "vectors analogies words.vectors questions.txt")
def analogies(
    model: WordVectors = a_model("vectors"),
    questions: list[tuple[str, str, str, str]] = read_by("corpuscle.words.verbs.vectors:read_questions"),
) -> Shown:
    """Answer a file of analogies, four words a line: how often the fourth is found first. Lines that begin with a colon
    are headings. Questions with unknown words are left out of the accuracy and counted."""
    from corpuscle.measure import accuracy

    if not questions:
        raise InputError(None, None, "there are no questions in it")
    known, found = model.analogies(questions)
    if not known.any():
        raise InputError(None, None, f"none of {len(questions)} questions has only words with vectors")
    result = accuracy(found[known], known[known], of="questions")
    values = {"accuracy": result["accuracy"], "questions": len(questions), "covered": int(known.sum())}
    values |= {name: value for name, value in result.to_json().items() if name in ("low", "high", "signature")}
    covered = f"{known.sum():,} of {len(questions):,} questions have vectors of all words"
    return Answer(values, f"{result.text()}\n{covered}")


@verb("vectors", "vectors map words.vectors house street -o map.png", name="map", out="figure?")
def map_(
    model: WordVectors = a_model("vectors"),
    words: tuple[str, ...] = word(many=True, default=()),
    *,
    k: int | None = how_many("How many of the most frequent words, or of the neighbours of each given word.", None),
) -> Picture:
    """Draw words where their vectors are, in two dimensions, as SVG or PNG: frequent words, or given ones and their
    neighbours."""
    from corpuscle.words import draw_map

    return Picture(draw_map(model, words, k))


@verb("vectors", "vectors apply words.vectors new.txt -o new.vec", out="-", work=True)
def apply(model: WordVectors = a_model("vectors"), input: Corpus = text(default="-", raw=True)) -> Export:
    """Write vectors of all words of a text, of unknown words from their contexts and spelling, as word2vec text."""
    from corpuscle.text import write_vectors

    found = model.apply(input)
    return Export(lambda path: write_vectors(*found, path), found)


@verb("vectors", "vectors export words.vectors -o words.vec", out="-")
def export(model: WordVectors = a_model("vectors")) -> Export:
    """Write all vectors as word2vec text: a word and its numbers on a line."""
    return Export(model.export, (model.vocab_, model.vectors_))


# ---- the workbench


@view("vectors", name="nearest", word="a", k=3)
def nearest_typed(model: WordVectors, word: str = word("A word."), *, k: int = K) -> Mapping[str, Any]:
    """The words nearest to a word."""
    return nearest.function(model, word, k=k).values


@view("vectors", name="analogy", a="a", b="b", c="c", k=3)
def analogy_typed(
    model: WordVectors,
    a: str = word("A word."),
    b: str = word("What is to it ..."),
    c: str = word("... as the answer is to this one."),
    *,
    k: int = K,
) -> Mapping[str, Any]:
    """What is to one word as a second is to a third."""
    return analogy.function(model, a, b, c, k=k).values


@view("vectors", name="map", words="a", k=3)
def map_typed(
    model: WordVectors,
    words: str = word("Words with spaces between them; none: the most frequent ones."),
    *,
    k: int = K,
) -> dict[str, Any]:
    """A picture of words where their vectors are: given ones and their neighbours, or frequent ones."""
    from corpuscle.words import draw_map

    given = words.split()[:20]
    return {"words": given, "svg": draw_map(model, given, k if given else max(k, 60))}
