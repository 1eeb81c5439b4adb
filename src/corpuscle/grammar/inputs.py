"""What grammars work on: trees, words with or without tags, word vectors, names of categories."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from os import PathLike
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from corpuscle.errors import InputError, SettingError
from corpuscle.parse.verbs import TAGGER
from corpuscle.settings import Setting
from corpuscle.verbs import File, Input, made_by

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
    """An input that a function of this module reads."""
    return made_by(f"corpuscle.grammar.inputs:{function}", help, **facts)


def bracketed_trees(help: str = "", **facts: Any) -> Any:
    return read_with("read_trees", help, **facts)


def tagged_words() -> Any:
    """Sentences, with tags if they are asked for or needed."""
    return read_with("read_words", default="-", options={"tags": TAGS, "tagger": TAGGER})


def read_trees(value: Any, model: Any, declared: Input) -> Trees:
    """Bracketed trees; of a CoNLL-U file, its tags as trees that branch to the right."""
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
    from corpuscle.text.files import decode, open_bytes

    if os.path.isdir(path):
        return True
    text = decode(open_bytes(path), path)
    return text.lstrip()[:1] == "(" and text.count("(") == text.count(")") and text.rstrip()[-1:] == ")"


def _escaped(sentences: Iterable[Iterable[str]], origin: Origin | None) -> Corpus:
    """Words as they stand in trees, where brackets are others."""
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
    from corpuscle.text.inputs import corpus

    if isinstance(value, str | PathLike) and value != "-":
        if is_treebank(value):
            value = read_conllu(value)
        elif _is_brackets(value):
            value = read_brackets(value)
    if isinstance(value, Treebank):
        return words_of_bank(value, wanted)
    if isinstance(value, Trees):
        return words_of_trees(value, wanted)
    text = corpus(value, None)
    words, tags = _split(text, "/") if wanted else (list(text), None)
    return Words(_escaped(words, text.origin), tags)


def _split(text: Corpus, mark: str, where: str = "") -> tuple[list[list[str]], list[list[str]]]:
    """The words and the tags of lines of word/TAG, whatever the ``mark`` between them."""
    lines = list(text)
    for row, line in enumerate(lines):
        wrong = next((word for word in line if not all(word.rpartition(mark)[::2])), None)
        if wrong is not None:
            raise text.error(f"expected word{mark}TAG,{where} not {wrong[:40]!r}", row)
    words, tags = ([[word.rpartition(mark)[at] for word in line] for line in lines] for at in (0, 2))
    return words, tags


def words_of_bank(bank: Treebank, wanted: bool) -> Words:
    words = _escaped(bank.corpus, bank.origin)
    layer = bank.xpos if bank.xpos.ids.any() else bank.tags
    return Words(words, _by_sentence(layer.strings(), words) if wanted else None)


def words_of_trees(trees: Trees, wanted: bool) -> Words:
    plain = trees.without_traces().without_functions()
    return Words(plain.words, _by_sentence(plain.word_tags, plain.words) if wanted else None)


def _by_sentence(values: list[str], words: Corpus) -> list[list[str]]:
    return [values[first:last] for first, last in pairwise(words.sentence_starts.tolist())]


def read_tagged(value: Any, model: Any, declared: Input) -> tuple[Treebank, Trees | None]:
    """Words with tags: of CoNLL-U, of trees (which come along), or of lines of word/TAG or word_TAG; of lines of plain
    words there are no tags."""
    from corpuscle.grammar import bank_of_trees
    from corpuscle.text import Treebank, Trees, read_brackets, read_conllu
    from corpuscle.text.conllu import is_treebank
    from corpuscle.text.inputs import corpus as read_corpus

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
    words, tags = _split(corpus, mark, " as on the lines before,")
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
    from corpuscle.text.inputs import corpus

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


def parsed_trees(value: Any, wanted: int) -> Trees:
    """Trees that a parser has written; where there are fewer than wanted, one a line, and a blank line is none."""
    from corpuscle.text import read_brackets
    from corpuscle.text.inputs import trees

    if not isinstance(value, str | PathLike):
        return trees(value, None)
    found = read_brackets(value)
    return found if len(found) >= wanted else read_brackets(value, lines=True)


def first_categories(
    model: CommonGrammar, texts: Sequence[Any], corpora: list[Corpus], class_models: Sequence[Any]
) -> Any:
    """What words are to categories at first, by their tags or classes; None at random."""
    import numpy as np

    from corpuscle.grammar import starts_from_groups, starts_from_tags
    from corpuscle.text import read_conllu
    from corpuscle.text.conllu import is_treebank

    if (model.start == "classes") != bool(class_models) or (class_models and len(class_models) != len(texts)):
        raise SettingError("--start classes needs a --class-model for each text, in the same order")
    if model.start == "random":
        return None
    if model.start == "classes":
        both = enumerate(zip(class_models, corpora, strict=True))
        groups = ((i, np.asarray(of.classes_)[of.vocab_.mapping_from(text.vocab)]) for i, (of, text) in both)
        return [starts_from_groups(each, model.nonterminals, model.seed, i) for i, each in groups]
    for text in texts:
        if not is_treebank(text):
            raise InputError(text, None, "--start tags needs CoNLL-U files with UPOS")
    banks = [read_conllu(text) for text in texts]
    tags = sorted({tag for bank in banks for tag in bank.tags.used} - {"_"})
    return [starts_from_tags(bank, model.nonterminals, tags) for bank in banks]


def language_codes(texts: Sequence[Any], languages: str | None) -> list[str] | None:
    """Codes of languages: as given, or the names of their files without folder and ending; None if these are none."""
    if languages is None and not all(isinstance(text, str | PathLike) for text in texts):
        return None
    codes = [PurePath(text).name.partition(".")[0] for text in texts] if languages is None else languages.split(",")
    if len(codes) != len(texts) or len(set(codes)) < len(codes) or not all(codes):
        raise SettingError("every text needs a language code of its own: --languages en,de,...")
    return codes
