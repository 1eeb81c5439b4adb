"""Classes and clusters of vectors as features: values follow the classes, words are found in other spellings."""

import numpy as np

from corpuscle.text import Corpus, Vocab
from corpuscle.text.vocab import FIRST
from corpuscle.words import BrownClasses, WordFeatures, class_sources, joint_sources, vector_sources

TEXT = [["the", "cat", "ran"], ["the", "dog", "ran"], ["a", "cat", "sat"], ["a", "dog", "sat"]] * 5


def test_words_of_one_class_share_all_values_and_paths_are_nested():
    model = BrownClasses(classes=3).fit(Corpus.from_sentences(TEXT))
    source = class_sources(model)
    words = model.vocab_.strings[FIRST:]
    values, classes = source.of(words), model.classes_[FIRST:]
    for a in range(len(words)):
        for b in range(len(words)):
            assert (values[a, 0] == values[b, 0]) == (classes[a] == classes[b])
    assert source.n_columns == 4
    assert not source.of(["unheard"]).any()


def test_other_spellings_are_found_and_the_exact_one_first():
    source = WordFeatures.from_words(["US", "us", "0000"], np.array([[1], [2], [3]], np.uint64))
    assert source.of(["US", "us", "Us", "1987", "x"])[:, 0].tolist() == [1, 2, 2, 3, 0]


def test_near_vectors_share_clusters_and_sources_stand_side_by_side():
    words = [f"w{i}" for i in range(60)]
    matrix = np.zeros((FIRST + 60, 2))
    matrix[FIRST : FIRST + 30, 0], matrix[FIRST + 30 :, 1] = np.linspace(1, 2, 30), np.linspace(1, 2, 30)
    clusters = vector_sources(Vocab.from_words(words), matrix)
    left, right = set(clusters.of(words[:30])[:, 0].tolist()), set(clusters.of(words[30:])[:, 0].tolist())
    assert left.isdisjoint(right)
    both = joint_sources(clusters, WordFeatures.from_words(["w0", "new"], np.array([[7], [8]], np.uint64)))
    assert both.n_columns == clusters.n_columns + 1
    assert both.of(["w0"])[0, -1] == 7 and both.of(["new"])[0].tolist() == [*[0] * clusters.n_columns, 8]
    np.testing.assert_array_equal(both.of(words)[:, :-1], clusters.of(words))


def test_no_source_has_no_columns():
    assert WordFeatures.none().of(["a", "b"]).shape == (2, 0)


def test_one_column_of_each_source_serves_alone():
    classes = class_sources(BrownClasses(classes=3).fit(Corpus.from_sentences(TEXT)))
    vectors = vector_sources(Vocab.from_words([f"w{i}" for i in range(60)]), np.eye(FIRST + 60, 3) + 1.0)
    both = joint_sources(classes, vectors)
    alone = both.alone()
    assert both.n_columns > 2 and alone.n_columns == 2 and both.all_serve().alone().n_columns == both.n_columns
    np.testing.assert_array_equal(alone.of(["cat", "w3"]), both.of(["cat", "w3"])[:, list(both.single)])
    np.testing.assert_array_equal(alone.of(["cat"])[:, 0], classes.of(["cat"])[:, 0])
    np.testing.assert_array_equal(alone.alone().values, alone.values)
