"""The dependency bank and the detector: by hand, and by brute force."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from corpuscle.normalise import Normaliser
from corpuscle.normalise.bank import Detector, bank_of_pairs, bank_of_trees, fits, matches
from corpuscle.normalise.candidates import neighbour_of
from corpuscle.normalise.kernels.context import OFFSETS, Windows
from corpuscle.text.treebank import Treebank
from tests.normalise.test_normaliser import clean

pytestmark = pytest.mark.filterwarnings("ignore::corpuscle.errors.CorpuscleWarning")
WORDS = {word: i for i, word in enumerate(["look", "on", "the", "way", "go"])}


def entries(bank):
    names = list(WORDS)
    return {
        (names[key // 7 // 5], names[key // 7 % 5], key % 7 - 3): value
        for key, value in zip(bank.keys.tolist(), bank.values.tolist(), strict=True)
    }


def test_edges_count_both_ways_with_the_offset_of_the_context():
    trees = Treebank.from_sentences([["The", "way", "you", "look"]] * 3 + [["go"]], heads=[[2, 4, 4, 0]] * 3 + [[0]])
    found = entries(bank_of_trees(trees, WORDS, "count"))
    assert found == {
        ("look", "way", 2): 1.0, ("way", "look", -2): 1.0, ("way", "the", 1): 1.0, ("the", "way", -1): 1.0
    }  # fmt: skip


def test_values_are_logarithms_of_counts_and_rare_or_far_edges_are_left_out():
    trees = Treebank.from_sentences(
        [["go", "on"]] * 7 + [["look", "on"]] * 2 + [["go", "way"]] + [["go", "x", "x", "x", "the"]] * 5,
        heads=[[0, 1]] * 10 + [[0, 1, 1, 1, 1]] * 5,
    )
    found = entries(bank_of_trees(trees, WORDS, "count"))
    assert set(found) == {("go", "on", -1), ("on", "go", 1), ("look", "on", -1), ("on", "look", 1)}
    assert found["go", "on", -1] == 1.0 and found["look", "on", -1] == pytest.approx(np.log(3) / np.log(8))


def test_mutual_information_by_hand():
    trees = Treebank.from_sentences([["go", "on"]] * 6 + [["look", "way"]] * 2, heads=[[0, 1]] * 8)
    found = entries(bank_of_trees(trees, WORDS, "npmi"))
    joint, one = 6 / 16, 6 / 16
    assert found["go", "on", -1] == pytest.approx(np.log(joint / one**2) / -np.log(joint))


def test_pairs_weigh_one_over_their_distance():
    found = entries(bank_of_pairs([["go", "on", "the", "way"]] * 6, WORDS, "count"))
    counts = {1: 6.0, 2: 3.0, 3: 2.0}
    assert len(found) == 12
    for (_, _, d), value in found.items():
        assert value == pytest.approx(np.log1p(counts[abs(d)]) / np.log(7.0), rel=1e-6)


def test_what_speaks_for_a_word_is_what_a_scan_finds():
    rng = np.random.default_rng(3)
    sentences = [[str(w) for w in rng.choice(list(WORDS), 8)] for _ in range(12)]
    bank = bank_of_pairs(sentences, WORDS, "count")
    known = dict(zip(bank.keys.tolist(), bank.values.tolist(), strict=True))
    own = rng.integers(-1, 5, (9, 6)).astype(np.int32)
    near = [rng.integers(0, 5, rng.integers(0, 3)).astype(np.int32) for _ in range(54)]
    starts = np.cumsum([0, *map(len, near)])
    windows = Windows(own, np.concatenate(near).astype(np.int32), starts.astype(np.int64))
    places, words = np.arange(9), rng.integers(-1, 5, 9).astype(np.int32)
    for share in (0.0, 0.5):
        found = matches(bank, windows, places, words, share)
        for k in range(9):
            values = []
            for o, d in enumerate(OFFSETS):

                def entry(context, word=words[k], d=d):
                    return known.get((int(context) * 5 + int(word)) * 7 + d + 3) if word >= 0 and context >= 0 else None

                if entry(own[k, o]) is not None:
                    values.append(entry(own[k, o]))
                elif share:
                    alike = [entry(context) for context in near[6 * k + o]]
                    values += [share * value for value in alike if value is not None]
            assert found.sums[k] == pytest.approx(sum(values)) and found.numbers[k] == len(values)
            assert found.highest[k] == pytest.approx(max(values, default=0.0))


def test_a_word_for_which_nothing_speaks_does_not_fit():
    bank = bank_of_pairs([["go", "on"]] * 4, WORDS, "count")
    own = np.full((2, 6), -1, np.int32)
    own[0, 2] = WORDS["go"]
    windows = Windows(own, np.zeros(0, np.int32), np.zeros(13, np.int64))
    found = matches(bank, windows, np.arange(2), np.array([WORDS["on"]] * 2), 0.0)
    assert fits(Detector(np.zeros(len(bank.keys)), np.array([0, 0, 0, 1.0])), found).tolist() == [True, False]
    assert fits(Detector(np.full(len(bank.keys), -2.0), np.array([0, 0, 0, 1.0])), found).tolist() == [False, False]
    assert fits(Detector(np.zeros(len(bank.keys)), np.array([0, 0, 1.0, -0.5])), found).tolist() == [True, False]


def test_more_positives_never_add_detections_and_w_0_is_no_expansion():
    messages = [["my", "brothr", "is", "talkin", "about", "zzyz"], ["evry", "studnt", "keps", "qatching"]] * 3
    changed = []
    for positives in (1, 2, 3, 10):
        model = Normaliser(min_count=1, detect=True, positives=positives, examples=400).fit(clean=clean(1, 200))
        out = model.normalise(messages)
        changed.append({(i, k) for i, m in enumerate(out) for k, word in enumerate(m) if word != messages[i][k]})
    assert all(later <= earlier for earlier, later in pairwise(changed)) and changed[0]
    plain = Normaliser(min_count=1, detect=True, expand=0.0, examples=400).fit(clean=clean(1, 200))
    assert all(len(plain.once(neighbour_of, token)[1]) == 0 for message in messages for token in message)
    assert any(len(model.once(neighbour_of, token)[1]) for message in messages for token in message)


def test_the_detector_leaves_words_alone_that_nothing_speaks_for(tmp_path):
    import corpuscle

    model = Normaliser(min_count=1, detect=True, examples=600).fit(clean=clean(1, 300))
    assert model.normalise([["my", "brothr", "was", "looking", "at", "the", "weathr"]]) == [
        ["my", "brother", "was", "looking", "at", "the", "weather"]
    ]
    assert model.normalise([["brothr"]]) == [["brothr"]]  # no neighbour speaks for anything
    assert Normaliser(min_count=1).fit(clean=clean(1, 300)).normalise([["brothr"]]) == [["brother"]]
    model.save(tmp_path / "m")
    messages = [["evry", "studnt", "keps", "watching"]]
    assert corpuscle.load(tmp_path / "m").choices(messages, ranked=3) == model.choices(messages, ranked=3)


def test_support_of_the_bank_takes_part_in_the_scores():
    trees = Treebank.from_sentences([["eat", "bread"]] * 5 + [["eat", "now"]], heads=[[0, 1]] * 6)
    sentences = [["the", "bread"], ["the", "broad"], ["eat", "now"]] * 5
    plain = Normaliser(min_count=1, combine="context").fit(clean=sentences)
    bank = Normaliser(min_count=1, combine="context").fit(clean=sentences, parsed=trees)
    [[one]], [[other]] = (model.choices([["eat", "brxad"]], ranked=2) for model in (plain, bank))
    assert Counter(form for form, *_ in other.ranked) == Counter(form for form, *_ in one.ranked)
    assert other.form == "bread" and "support" in other.ranked[0][2] and "support" not in one.ranked[0][2]
