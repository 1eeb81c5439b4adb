"""What grammars work on: trees, words with or without tags, word vectors, names of categories."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

from corpuscle.errors import InputError, SettingError
from corpuscle.parse.verbs import TAGGER
from corpuscle.settings import Setting
from corpuscle.verbs import (
    File,
    Input,
)

if TYPE_CHECKING:
    from corpuscle.grammar import CommonGrammar
    from corpuscle.text import Corpus, Treebank, Trees
    from corpuscle.text.origin import Origin


class Words(NamedTuple):
    """Sentences as grammars take them, and the tags of their words, where these are wanted."""

    corpus: Corpus
    tags: list[list[str]] | None = None


TAGS: Any = Setting(
    "predict",
    "gold: the tags in the input are right (trees, CoNLL-U, or word/TAG); predict: only its words are read.",
    choices=("predict", "gold"),
    name="tags",
)


def read_with(function: str, help: str = "", **facts: Any) -> Any:
    """What a function of this module reads."""
    if "option" in facts:
        facts.setdefault("default", None)
    return Input(f"corpuscle.grammar.inputs:{function}", help, **facts)


def bracketed_trees(help: str = "", **facts: Any) -> Any:
    return read_with("read_trees", help, **facts)


def tagged_words(default: Any = "-") -> Any:
    """Sentences, with tags if they are asked for or needed."""
    return read_with("read_words", default=default, options={"tags": TAGS, "tagger": TAGGER})


def read_trees(value: Any, model: Any, declared: Input) -> Trees:
    """Bracketed trees; of a CoNLL-U file, its tags as trees that branch to the right."""
    from dataclasses import replace

    from corpuscle.grammar import sequence_trees
    from corpuscle.text import read_brackets, read_conllu
    from corpuscle.text.conllu import is_treebank
    from corpuscle.text.inputs import trees as read_given

    paths = value if isinstance(value, tuple) and value and isinstance(value[0], File) else (value,)
    if not isinstance(paths[0], str | PathLike):
        trees = read_given(value, model, declared)
    elif is_treebank(paths[0]) and len(paths) == 1:
        bank = read_conllu(paths[0])
        trees = sequence_trees(replace(bank, corpus=_escaped(bank.corpus, bank.origin)))
    else:
        trees = read_brackets(*paths)
    if len(trees) == 0:
        raise InputError(paths[0] if isinstance(paths[0], str) else None, None, "there are no trees in this file")
    return trees


def _is_brackets(path: str | PathLike[str]) -> bool:
    """Whether a file holds trees: what it begins with is an opening bracket and it has as many closing ones."""
    import os

    from corpuscle.text.files import decode, open_bytes

    if os.path.isdir(path):
        return True
    text = decode(open_bytes(path), path)
    return text.lstrip()[:1] == "(" and text.count("(") == text.count(")") and text.rstrip()[-1:] == ")"


def _escaped(sentences: Iterable[Iterable[str]], origin: Origin | None = None) -> Corpus:
    """Words as they stand in trees, where brackets are others."""
    from dataclasses import replace

    from corpuscle.text import Corpus

    rows = ([word.replace("(", "-LRB-").replace(")", "-RRB-") for word in each] for each in sentences)
    return replace(Corpus.from_sentences(list(rows)), origin=origin)


def read_words(value: Any, model: Any, declared: Input, *, tags: str = "predict", tagger: Any = None) -> Words:
    """The sentences of a text, of trees or of a CoNLL-U file, and the tags of their words, if they are wanted."""
    from corpuscle.text import Treebank

    found = _words_of(value, model.needs_tags or tags == "gold")
    if tagger is None:
        return found
    return found._replace(tags=words_of_bank(tagger.annotate(Treebank.from_sentences(found.corpus)), True).tags)


def _words_of(value: Any, wanted: bool) -> Words:
    from corpuscle.text import Treebank, Trees, read_brackets, read_conllu
    from corpuscle.text.conllu import is_treebank
    from corpuscle.text.reading import corpus

    if isinstance(value, str | PathLike) and value != "-":
        if is_treebank(value):
            value = read_conllu(value)
        elif _is_brackets(value):
            value = read_brackets(value)
    if isinstance(value, Treebank):
        return words_of_bank(value, wanted)
    return words_of_trees(value, wanted) if isinstance(value, Trees) else _words_of_text(corpus(value, None), wanted)


def words_of_bank(bank: Treebank, wanted: bool) -> Words:
    words = _escaped(bank.corpus, bank.origin)
    layer = bank.xpos if bank.xpos.ids.any() else bank.tags
    return Words(words, _by_sentence(layer.strings(), words) if wanted else None)


def words_of_trees(trees: Trees, wanted: bool) -> Words:
    plain = trees.without_traces().without_functions()
    return Words(plain.words, _by_sentence(plain.word_tags, plain.words) if wanted else None)


def _words_of_text(text: Corpus, wanted: bool) -> Words:
    lines, tags = list(text), None
    if wanted:
        tags = [_tags_of(text, number, line) for number, line in enumerate(lines)]
        lines = [[word.rpartition("/")[0] for word in line] for line in lines]
    return Words(_escaped(lines, text.origin), tags)


def _tags_of(text: Corpus, number: int, line: list[str]) -> list[str]:
    """The tags of a line of word/TAG."""
    wrong = next((word for word in line if not all(word.rpartition("/")[::2])), None)
    if wrong is not None:
        raise text.error(f"expected word/TAG, not {wrong[:40]!r}", number)
    return [word.rpartition("/")[2] for word in line]


def _by_sentence(values: list[str], words: Corpus) -> list[list[str]]:
    from itertools import pairwise

    return [values[first:last] for first, last in pairwise(words.sentence_starts.tolist())]


def read_tagged(value: Any, model: Any, declared: Input) -> tuple[Treebank, Trees | None]:
    """Words with tags: of CoNLL-U, of trees (which come along), or of lines of word/TAG or word_TAG; of lines of plain
    words there are no tags."""
    from corpuscle.grammar import bank_of_trees
    from corpuscle.text import Treebank, Trees, read_brackets, read_conllu
    from corpuscle.text.conllu import is_treebank
    from corpuscle.text.reading import corpus as read_corpus

    if isinstance(value, Trees):
        return bank_of_trees(value), value
    if isinstance(value, Treebank):
        return value, None
    if isinstance(value, str | PathLike) and is_treebank(value):
        return read_conllu(value), None
    corpus = read_corpus(value, None)
    corpus = corpus.select(corpus.lengths > 0)
    lines = list(corpus)
    if not lines:
        raise corpus.error("an empty text: there are no words to learn from")
    if lines[0][0].startswith("(") and isinstance(value, str | PathLike):
        trees = read_brackets(value, keep_traces=False, keep_functions=False)
        return bank_of_trees(trees), trees
    mark = next((each for each in "/_" if all(all(word.rpartition(each)[::2]) for word in lines[0])), None)
    if mark is None:
        return Treebank.from_sentences(corpus), None
    for row, line in enumerate(lines):
        wrong = next((word for word in line if not all(word.rpartition(mark)[::2])), None)
        if wrong is not None:
            raise corpus.error(f"expected word{mark}TAG, as on the lines before, not {wrong[:40]!r}", row)
    words, tags = ([[word.rpartition(mark)[at] for word in line] for line in lines] for at in (0, 2))
    return Treebank.from_sentences(words, xpos=tags, origin=corpus.origin), None


def read_vectors(value: Any, model: Any, declared: Input) -> Any:
    """Word vectors for an inducer that takes them: a model, or word2vec text."""
    from corpuscle.parse.verbs import read_vectors

    if not model.TAKES_VECTORS:
        raise SettingError("--vectors means nothing with --method ccm")
    return read_vectors(value, model, declared)


def read_text(value: Any, model: Any, declared: Any) -> Corpus:
    """A text as a common grammar reads it, or the words of a CoNLL-U file."""
    from corpuscle.text import Corpus, read_conllu
    from corpuscle.text.conllu import is_treebank
    from corpuscle.text.reading import corpus

    if isinstance(value, str | PathLike) and is_treebank(value):
        return Corpus.from_sentences(read_conllu(value).corpus)
    return corpus(value, model)


def read_names(value: Any, model: CommonGrammar, declared: Input) -> list[str]:
    """Names of categories: numbers, or from a file of number, tab, name."""
    from corpuscle.text import read_table

    names = list(map(str, range(model.nonterminals)))
    for line, (category, name) in read_table(value, ("category", "name"), skip_blank=True):
        if not category.isdecimal() or int(category) >= model.nonterminals:
            raise InputError(value, line, f"{category[:20]!r} is no category from 0 to {model.nonterminals - 1}")
        names[int(category)] = name
    return names


def read_either(value: Any, model: Any, declared: Input) -> Trees | Corpus:
    """Trees, or the sentences of a text or of a CoNLL-U file."""
    from corpuscle.text import Trees

    is_file = isinstance(value, str | PathLike) and value != "-"
    if isinstance(value, Trees) or (is_file and _is_brackets(value)):
        return read_trees(value, model, declared)
    return _words_of(value, False).corpus
