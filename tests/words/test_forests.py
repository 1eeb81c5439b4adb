"""Forests: words with parents, from running text and from treebanks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from corpuscle.errors import InputError, SettingError
from corpuscle.text import Corpus, Preprocessing, Treebank, write_conllu
from corpuscle.text.vocab import FIRST, START
from corpuscle.words import Forest, read_forest, words_of


def bank() -> Treebank:
    return Treebank.from_sentences(
        [["Dogs", "bark"], ["Big", "dogs", "bite", "a priori"]],
        heads=[[2, 0], [2, 3, 0, 3]],
        tags=[["NOUN", "VERB"], ["ADJ", "NOUN", "VERB", "ADV"]],
        lemmas=[["dog", "bark"], ["big", "dog", "_", "a priori"]],
        relations=[["nsubj", "root"], ["amod", "nsubj", "root", "advmod"]],
    )


def words(corpus: Corpus) -> list[str]:
    return corpus.vocab.decode(corpus.tokens)


def test_left_neighbours_know_sentence_boundaries_and_empty_sentences() -> None:
    forest = Forest.chain(Corpus.from_sentences([[], ["a", "b"], [], [], ["c"], []]))
    assert forest.parents.tolist() == [-1, 0, -1]
    assert forest.parent_words.tolist() == [START, FIRST, START]


def test_the_layer_says_what_a_word_is() -> None:
    assert words(words_of(bank())) == ["Dogs", "bark", "Big", "dogs", "bite", "a_priori"]
    assert words(words_of(bank(), "lemma")) == ["dog", "bark", "big", "dog", "bite", "a_priori"]
    low = Preprocessing(lowercase=True)
    tagged = words_of(bank(), "form/tag", low)
    assert words(tagged)[:4] == ["dogs/NOUN", "bark/VERB", "big/ADJ", "dogs/NOUN"]
    assert tagged.vocab.counts[tagged.vocab.id("dogs/NOUN")] == 2
    with pytest.raises(SettingError, match="tokenise"):
        words_of(bank(), "form", Preprocessing(tokenise="simple"))


def test_parents_are_positions_in_the_whole_text() -> None:
    forest = Forest.tree(bank())
    assert forest.parents.tolist() == [1, -1, 3, 4, -1, 4]
    assert forest[1:].parents.tolist() == [1, 2, -1, 2]
    assert forest[1:].relations is not None and forest[1:].relations.strings() == ["amod", "nsubj", "root", "advmod"]
    assert forest.signature() != Forest.chain(forest.corpus).signature()


def test_chosen_sentences_keep_their_trees() -> None:
    forest = Forest.tree(bank())
    chosen = forest.select(np.array([1, 0]))
    assert chosen.parents.tolist() == [1, 2, -1, 2, 5, -1] and list(chosen.corpus) == list(forest.corpus)[::-1]
    assert chosen.relations is not None and chosen.relations.strings()[-2:] == ["nsubj", "root"]
    assert forest.select(np.array([False, True])).parents.tolist() == forest[1:].parents.tolist()


def test_joined_texts_are_their_sentences_one_after_the_other() -> None:
    one, other = Forest.tree(bank()), Forest.tree(bank().select(np.array([1])))
    both = Forest.joined([one, other])
    assert list(both.corpus) == [*one.corpus, *other.corpus]
    assert both.parents.tolist() == [*one.parents, 7, 8, -1, 8]
    assert both.relations is not None and both.relations.strings()[-4:] == ["amod", "nsubj", "root", "advmod"]
    assert both.corpus.vocab.counts[both.corpus.vocab.id("dogs")] == 2


def test_files_are_treebanks_by_their_name(tmp_path: Path) -> None:
    write_conllu(bank(), tmp_path / "a.conllu")
    (tmp_path / "b.txt").write_text("Cats sleep\n")
    trees = read_forest([tmp_path / "a.conllu"], "tree")
    assert isinstance(trees, Forest) and trees.parents.tolist() == [1, -1, 3, 4, -1, 4]
    mixed = read_forest([tmp_path / "a.conllu", tmp_path / "b.txt"], "chain", "lemma")
    assert isinstance(mixed, Forest) and list(mixed.corpus)[-1] == ["Cats", "sleep"]
    assert mixed.parents.tolist() == [-1, 0, -1, 2, 3, 4, -1, 6]
    assert isinstance(read_forest([tmp_path / "b.txt"], "chain"), Corpus)
    with pytest.raises(InputError, match=r"b\.txt: trees are needed"):
        read_forest([tmp_path / "a.conllu", tmp_path / "b.txt"], "tree")


def test_heads_that_run_in_a_circle_are_an_error_with_file_and_place(tmp_path: Path) -> None:
    circle = Treebank.from_sentences([["a", "b"]], heads=[[2, 1]])
    write_conllu(circle, tmp_path / "c.conllu")
    with pytest.raises(InputError, match=r"c\.conllu:1: sentence 1, word . .* circle"):
        read_forest([tmp_path / "c.conllu"], "tree")
