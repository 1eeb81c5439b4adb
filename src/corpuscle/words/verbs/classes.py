"""What word classes can do: learn, be looked at, be exported, cut and drawn, and stand for the words of a text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from corpuscle.errors import SettingError
from corpuscle.text.wording import percent
from corpuscle.verbs import (
    Answer,
    Export,
    K,
    Keep,
    Learned,
    Picture,
    Shown,
    a_model,
    made_by,
    setting,
    text,
    trains,
    verb,
    view,
    word,
    written,
)
from corpuscle.words.settings import WAYS
from corpuscle.words.verbs import ANNOTATION, how_many, of_data, words_of_a_text

if TYPE_CHECKING:
    from corpuscle.text import Corpus, Treebank
    from corpuscle.words import BrownClasses, ExchangeClasses, Forest, HmmClasses, WordClasses


@trains("classes", "classes train text.txt -o words.classes --classes 100")
def train(
    model: ExchangeClasses | BrownClasses | HmmClasses,
    text: Corpus | Forest = words_of_a_text(empty="an empty text: there are no words to learn from"),
    *,
    keep: Keep,
) -> Learned:
    """Learn word classes from text, a sentence a line, or from treebanks (CoNLL-U)."""
    from corpuscle.text import Corpus

    if (layer := model.settings.get("layer", "form")) != "form" and isinstance(text, Corpus):
        raise SettingError(f"--layer {layer} means nothing for running text: it is of treebanks (CoNLL-U)")
    if model.origins.get("seed") == "given" and (start := model.settings.get("start", "random")) != "random":
        raise SettingError(f"--seed means nothing with --start {start}, which makes no random choices")
    model.fit(text, checkpoint=keep.checkpoint(model, text))
    figures = {
        "classes": model.n_classes_,
        "words": model.n_tokens_,
        "types": model.provenance_["types"],
        "passes": len(model.history_) - 1,
        "mutual_information": model.mutual_information_,
        "log_likelihood": model.likelihood_,
        "log_likelihood_per_word": model.likelihood_ / model.n_tokens_,
    }
    return Learned(model, figures)


@verb("classes", "classes show words.classes -k 8")
def show(
    model: WordClasses = a_model("classes"),
    *,
    numbers: tuple[int, ...] = setting("Only class N; may be repeated.", default=(), flag="--class", repeated=True),
    k: int = how_many("How many words of each class."),
    word: str | None = word("Only the classes of this word, with shares of its tokens.", metavar="WORD", option=True),
    by: str = setting("What words of a class are chosen by; count in all but hmm.", default=WAYS[0], choices=WAYS),
) -> Shown:
    """Show the most frequent words of each class, and its path in the class tree."""
    if word is not None:
        return _classes_of(model, word, k, by)
    rows = _rows(model, numbers or range(model.n_classes_), k, by)
    wide = max(len(row["path"] or "") for row in rows)
    lines = [
        f"{row['class']:>4} {row['path'] or '':<{wide}} {row['count']:>9,}  {' '.join(w['word'] for w in row['words'])}"
        for row in rows
    ]
    about = {"method": model.KIND.name.rpartition(".")[2], "mutual_information": model.mutual_information_}
    return Answer({**about, "classes": rows}, "\n".join(lines))


def _rows(model: WordClasses, numbers: Iterable[int], k: int, by: str = "count") -> list[dict[str, Any]]:
    """Classes with their paths in the tree, how often they occur, and their first words."""
    counts = model.class_counts_
    paths = [None] * model.n_classes_ if model.tree_ is None else model.tree_.paths
    return [
        {
            "class": number,
            "path": paths[number],
            "count": int(counts[number]),
            "words": [{"word": each, by: value} for each, value in words],
        }
        for number, words in ((number, model.words_of(number, k, by)) for number in numbers)
    ]


def _classes_of(model: WordClasses, word: str, k: int, by: str = "count") -> Answer:
    """The classes of a word that have at least a hundredth of its tokens, each with its first words."""
    known = word in model.vocab_
    rows: list[dict[str, Any]] = [
        {"class": number, "share": share, "words": [each for each, _ in model.words_of(number, k, by)]}
        for number, share in model.classes_of(word)
        if share >= 0.01
    ]
    count = int(model.vocab_.counts[model.vocab_.id(word)]) if known else 0
    lines = [f"{percent(row['share']):>8} {row['class']:>4}  {' '.join(row['words'])}" for row in rows]
    title = f"{word}: {count:,} tokens" if known else f"{word}: an unknown word"
    return Answer({"word": word, "known": known, "count": count, "classes": rows}, "\n".join([title, *lines]))


@verb("classes", "classes export words.classes -o classes.tsv", out="-")
def export(
    model: WordClasses = a_model("classes"),
    *,
    format: str | None = setting(
        "tsv (word, class, count) or paths (bit string, word, count).",
        default=None,
        choices=("tsv", "paths"),
        shown="paths for Brown clusters, else tsv",
    ),
    full_paths: bool = setting("A path of its own for each word: what was merged below the classes.", default=False),
) -> Export:
    """Write all words with their classes and counts."""
    return Export(lambda path: model.export(path, format, full_paths))


@verb("classes", "classes coarsen words.classes -o few.classes --classes 20", out="model")
def coarsen(
    model: WordClasses = a_model("classes"),
    *,
    classes: int = how_many("How many classes are left.", ...),
) -> Learned:
    """Make a model with fewer classes: cut the class tree where so many are left."""
    coarse = model.coarsened(classes)
    figures = {"mutual_information": coarse.mutual_information_, "log_likelihood": coarse.likelihood_}
    return Learned(coarse, {"classes": classes, **figures})


@verb("classes", "classes draw words.classes -o tree.svg", out="figure")
def draw(
    model: WordClasses = a_model("classes"),
    *,
    classes: int = how_many("Cut the tree where N classes are left.", 60),
    k: int = how_many("How many words of each class."),
) -> Picture:
    """Draw the class tree with the most frequent words of each class (SVG or PNG)."""
    return Picture(_tree(model, classes, k))


@verb("classes", "classes apply words.classes new.txt > new.classes.txt", out="-", work=True)
def apply(
    model: WordClasses = a_model("classes"),
    input: Corpus | Treebank = made_by("corpuscle.words.verbs:read_text_or_bank", default="-", options=ANNOTATION),
    *,
    posteriors: str | None = written("Also write the probability of each class per token (NumPy, float32); hmm only."),
) -> Corpus | Treebank:
    """Replace every word of a text by the number of its class, lines stay lines; or write CoNLL-U (from such a file, or
    a text that is tagged or parsed first) with Class=NUMBER in its MISC column."""
    from corpuscle.text import Treebank
    from corpuscle.words import forest_of

    how = model.layer, model.preprocessing
    text = forest_of(input, model.structure, *how) if isinstance(input, Treebank) else input
    if posteriors is not None:
        model.write_posteriors(text, posteriors)
    return model.annotate(input, *how) if isinstance(input, Treebank) else model.apply(text)


@verb("classes", "classes evaluate hmm.classes test.txt", work=True, overlap="text")
def evaluate(model: HmmClasses = a_model("classes", "words.hmm"), text: Corpus | Forest = words_of_a_text()) -> Shown:
    """The log-likelihood a token of a text that a hidden Markov model has not seen, with a 95 % interval."""
    with of_data():
        return model.evaluate(text)


# ---- the workbench


@view("classes", name="classes", text="a b c\nb c a")
def classes_typed(model: WordClasses, text: Corpus = text(raw=True)) -> dict[str, Any]:
    """The class of each word of each sentence."""
    if model.structure == "tree":
        raise SettingError("this model has learned from trees: it has classes of words in trees, not in plain text")
    return {
        "sentences": [
            [
                {"word": word, "class": int(number) if number.isdigit() else None, "known": word in model.vocab_}
                for word, number in zip(words, numbers, strict=True)
            ]
            for words, numbers in zip(text, model.apply(text.recode(model.vocab_)), strict=True)
        ]
    }


@view("classes", name="word", word="a", k=5)
def word_typed(model: WordClasses, word: str = word("A word."), *, k: int = K) -> Mapping[str, Any]:
    """The classes of a word, with their shares of its tokens and their first words."""
    return _classes_of(model, word, k).values


@view("classes", name="show", k=5)
def show_typed(model: WordClasses, *, k: int = K) -> dict[str, Any]:
    """The most frequent words of each class, and its path in the class tree."""
    return {"classes": _rows(model, range(min(model.n_classes_, 1000)), k)}


@view("classes", name="tree", kinds=("words.exchange", "words.brown"), classes=5, k=5)
def tree_typed(
    model: WordClasses,
    *,
    classes: int = setting("Cut the tree where N classes are left.", default=40, low=1, high=200),
    k: int = K,
) -> dict[str, Any]:
    """A picture of the class tree with the most frequent words of each class."""
    return {"svg": _tree(model, classes, k)}


def _tree(model: WordClasses, classes: int, k: int) -> str:
    from corpuscle.words import draw_tree

    return draw_tree(model.coarsened(min(classes, model.n_classes_)), k)
