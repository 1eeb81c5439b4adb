"""Two passes: what is told elsewhere against brute force, recovery of names that only other sentences tell, files."""

from collections import Counter

import numpy as np
import pytest

import corpuscle
from corpuscle.entities import CrfTagger
from corpuscle.entities.documents import from_corpus
from corpuscle.entities.features import document_features, parts_of
from corpuscle.errors import InputError
from corpuscle.hashing import hashes_of
from corpuscle.measure import mention_scores
from corpuscle.random import Random
from corpuscle.text import Corpus, Layer
from tests.hostile import survives_hostile_edits


@pytest.mark.parametrize("documents", [None, [0, 25, 26, 90, 120]])
def test_what_is_told_elsewhere_is_what_brute_force_counts(documents):
    random = Random(3, "t")
    rows = [["Aa", "b", "B", "c", "d"][: 1 + random.below(5)] + ["c"] * random.below(3) for _ in range(120)]
    tags = [["O", "O", "B-X", "I-X", "B-Y"][random.below(5)] for row in rows for _ in row]
    corpus = Corpus.from_sentences(rows)
    if documents is not None:
        corpus = corpus.with_documents(np.array(documents))
    found = document_features(from_corpus(corpus), tags)
    sentence = [i for i, row in enumerate(rows) for _ in row]
    words = [word.lower() for row in rows for word in row]
    order = ["O", "B-X", "B-Y", "I-X"]
    for at, (word, here) in enumerate(zip(words, sentence, strict=True)):
        others = [k for k, other in enumerate(words) if other == word and sentence[k] != here]
        if documents is None:
            close = [k for k in others if abs(sentence[k] - here) <= 30]
        else:
            text = np.searchsorted(documents, sentence, "right")
            close = [k for k in others if text[k] == text[at]]
        for name, some in (("near", close), ("whole", others)):
            votes = Counter(tags[k] for k in some)
            expected = ""
            if votes:
                best = min(order, key=lambda tag: (-votes[tag], order.index(tag)))
                inside = 1 - votes["O"] / len(some)
                expected = f"{best} {sum([inside > 0, inside >= 0.25, inside >= 0.75, inside == 1])}"
            assert found[name][at] == hashes_of([expected])[0]


def names(seed, n):
    """Texts of six sentences about a new name: two say what it is, two could be about anything."""
    random, sentences, labels = Random(seed, "names"), [], []
    for i in range(n):
        kind = "PL"[random.below(2)]
        name, other = f"Q{seed}x{i}", f"z{seed}x{i}"
        where = ["mr"] if kind == "P" else ["in"]
        for row, marks in (
            *([([*where, name], ["O", f"B-{kind}"]), (["see", name, "now"], ["O", f"B-{kind}", "O"])] * 2),
            (["a", other], ["O", "O"]), (["see", other, "now"], ["O"] * 3),
        ):  # fmt: skip
            sentences.append(row)
            labels += marks
    return from_corpus(Corpus.from_sentences(sentences), Layer.from_strings(labels))


def test_names_that_only_other_sentences_tell_are_found_by_a_second_pass(tmp_path):
    train, test = names(1, 60), names(2, 30)
    once, twice = (CrfTagger(passes=passes, iterations=40).fit(train) for passes in (1, 2))
    figures = [float(mention_scores(test.texts, each.annotate(test))["strict_f1"]) for each in (once, twice)]
    assert figures[0] < 0.85 and figures[1] > 0.95
    assert float(mention_scores(test.texts, twice.first_.annotate(test))["strict_f1"]) == figures[0]
    twice.save(tmp_path / "m")
    again = corpuscle.load(tmp_path / "m")
    again.workers = 3
    assert again.best_tags(test) == twice.best_tags(test)
    assert survives_hostile_edits(tmp_path / "m", lambda path: corpuscle.load(path).tag(test), edits=40) > 5


def test_sentences_that_stand_together_are_in_one_part_and_one_document_is_not_enough():
    train = names(1, 60)
    parts = parts_of(train, 1)
    assert set(parts.tolist()) == {0, 1, 2} and (np.diff(parts) != 0).sum() < len(parts) / 19
    one = Corpus.from_sentences([["mr", "Q"], ["in", "R"]]).with_documents(np.array([0, 2]))
    one = from_corpus(one, Layer.from_strings(["O", "B-P", "O", "B-L"]))
    with pytest.raises(InputError, match="several documents"):
        CrfTagger(passes=2).fit(one)
