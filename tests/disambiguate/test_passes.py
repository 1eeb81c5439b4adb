"""Votes, two passes, sequences and updates: against enumeration, brute force and what they reduce to."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

import corpuscle
from corpuscle.disambiguate import BaselineDisambiguator, PairRanker, Ranker, SequenceRanker, TwoPassRanker
from corpuscle.disambiguate.analyses import Rows, label_hashes, text_of
from corpuscle.disambiguate.sequence import Bigrams, Grid
from corpuscle.disambiguate.twopass import _around
from corpuscle.disambiguate.weight_fitting import Pool, fit_votes, james_stein
from corpuscle.errors import InputError, SettingError
from corpuscle.samples import generate
from corpuscle.text.treebank import Treebank
from tests.disambiguate.test_ranker import ranks
from tests.hostile import survives_hostile_edits


@pytest.fixture(scope="module")
def bank():
    return generate(seed=1, sentences=200).treebank()


def chained(n, seed):
    """The tag of a word is told by the tag before it, which no word tells but the first: A B A B or B A B A."""
    dice = np.random.default_rng(seed)
    sentences, tags = [], []
    for first in dice.integers(0, 2, n):
        sentences.append([f"begin{first}", *(f"w{i}" for i in dice.integers(0, 3, 4))])
        tags.append(["AB"[first], *("AB"[(first + i) % 2] for i in range(1, 5))])
    return Treebank.from_sentences(sentences, tags=tags)


@pytest.mark.parametrize("learner", [TwoPassRanker(), SequenceRanker()], ids=lambda model: type(model).__name__)
def test_an_analysis_that_only_the_one_before_tells_needs_the_neighbours(learner):
    train, test = chained(120, 1), chained(60, 2)
    far = np.tile([False, False, True, True, True], 60)
    alone, together = (ranks(model.fit(train), test)[far] for model in (Ranker(), learner))
    assert np.mean(alone == 1) < 0.7 and np.mean(together == 1) > np.mean(alone == 1) + 0.15
    if isinstance(learner, SequenceRanker):
        assert (together == 1).all()


def test_right_neighbours_tell_more_than_those_of_a_first_pass():
    train, test = chained(120, 1), chained(60, 2)
    wrong = [np.mean(ranks(TwoPassRanker(neighbours=which).fit(train), test) != 1) for which in ("predicted", "gold")]
    assert wrong[1] == 0 < wrong[0]


def test_contexts_of_neighbours_are_the_same_where_word_and_neighbour_are():
    bank = Treebank.from_sentences(
        [["x", "y", "z"], ["x", "y"], ["q", "y", "z"]],
        tags=[["A", "B", "C"], ["A", "B"], ["A", "B", "C"]], lemmas=[["a", "b", "c"], ["a", "b"], ["q", "b", "c"]],
    )  # fmt: skip
    model = Ranker(elements=("lemma", "pos"))
    model.elements_ = ("lemma", "pos")
    names, ids = model.labels_of(bank)
    text = text_of(bank, True)
    around = _around(text, label_hashes(names, model.elements_)[ids], model.elements_)
    pos_before, pos_behind, lemma_before = around[:, :3].T
    assert pos_before[1] == pos_before[4] == pos_before[6]  # y after A
    assert lemma_before[1] == lemma_before[4] != lemma_before[6]  # after a, after q
    assert pos_behind[1] == pos_behind[6] != pos_behind[4]  # before C, at the end
    assert len(set(around[1].tolist())) == 8 and around[0, 4] == around[3, 4] == around[5, 4]  # first words


def grid_of(dice, n, top, n_elements):
    """A grid of random candidates with random scores, and how its pairs are scored."""
    sizes = dice.integers(1, top + 1, n)
    scores = np.where(np.arange(top) < sizes[:, None], dice.normal(size=(n, top)), -np.inf)
    right = np.zeros((n, top), bool)
    right[np.arange(n), [dice.integers(size) for size in sizes]] = True
    right[n // 2] = scores[n // 2] > -np.inf
    starts = np.array([0, 3, 3, n])
    second = [j for j in range(1, n) if j not in (3,)]
    places = [(j, p, q) for j in second for p in range(sizes[j - 1]) for q in range(sizes[j])]
    information = dice.normal(size=(7, n_elements)).astype(np.float32)
    which = dice.integers(0, 7, len(places))
    return Grid(scores, right, starts, tuple(np.array(places).T), which, information)


def enumerated(grid, weights, allowed):
    """Every sequence of a grid with its score, by sentence."""
    pair = {place: grid.information[k] @ weights[1:] for *place, k in zip(*grid.places, grid.which, strict=True)
            for place in [tuple(map(int, place))]}  # fmt: skip
    for first, last in zip(grid.starts[:-1], grid.starts[1:], strict=True):
        if first < last:
            every = product(*(np.flatnonzero(row) for row in allowed[first:last]))
            yield (
                first,
                {
                    path: sum(weights[0] * grid.scores[first + j, q] for j, q in enumerate(path))
                    + sum(pair[first + j, path[j - 1], path[j]] for j in range(1, len(path)))
                    for path in every
                },
            )


def test_sequences_and_their_probabilities_are_those_of_enumeration():
    dice = np.random.default_rng(3)
    grid, weights = grid_of(dice, 7, 3, 2), np.array([0.8, 0.5, -0.7])
    path, shares = grid.decoded(weights)
    for first, scores in enumerated(grid, weights, grid.scores > -np.inf):
        best = max(scores, key=scores.get)
        assert path[first : first + len(best)].tolist() == list(best)
        total = sum(np.exp(score) for score in scores.values())
        wanted = np.zeros((len(best), 3))
        for each, score in scores.items():
            wanted[np.arange(len(best)), each] += np.exp(score) / total
        assert shares[first : first + len(best)] == pytest.approx(wanted)
    value, gradient = grid.figure(weights)
    sides = [
        sum(np.log(sum(np.exp(s) for s in scores.values())) for _, scores in enumerated(grid, weights, allowed))
        for allowed in (grid.right, grid.scores > -np.inf)
    ]
    assert value == pytest.approx(sides[0] - sides[1])
    for i, step in enumerate(np.eye(3) * 1e-5):
        slope = (grid.figure(weights + step)[0] - grid.figure(weights - step)[0]) / 2e-5
        assert gradient[i] == pytest.approx(slope, abs=1e-5)


def test_bigrams_are_counted_within_sentences():
    values = label_hashes(["A", "B"], ("pos",))
    gold, sentences = np.array([0, 1, 0, 1, 1, -1, 0]), np.array([0, 0, 0, 1, 1, 1, 1])
    bigrams = Bigrams.of(gold, values, sentences)
    pairs = [(a, b) for a, b, s, t in zip(gold, gold[1:], sentences, sentences[1:], strict=False)
             if s == t and a >= 0 and b >= 0]  # fmt: skip
    both, first, second = Counter(pairs), Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    before, behind = (np.array(side, np.int32) for side in zip(*product((0, 1), repeat=2), strict=True))
    found = bigrams.information(before, behind, values)[:, 0]
    wanted = [
        np.log((both[a, b] + 0.5) * (len(pairs) + 0.5) / (first[a] + 0.5) / (second[b] + 0.5))
        for a, b in zip(before, behind, strict=True)
    ]
    assert found == pytest.approx(wanted, rel=1e-5)


def test_a_sequence_ranker_without_pairs_is_its_ranker(bank):
    model = SequenceRanker().fit(bank[:150])
    model.weights_ = np.zeros_like(model.weights_)
    model.weights_[0] = 1.0
    mine, first = model.rank(bank[150:]), model.first_ranker_.rank(bank[150:])
    assert mine.labels.tolist() == first.labels.tolist()
    assert mine.probabilities == pytest.approx(first.probabilities)


def test_votes_are_the_best_values_of_elements_and_trust_is_never_negative():
    dice = np.random.default_rng(5)
    n = 400
    starts = np.arange(0, 4 * n + 1, 4)
    values = dice.integers(0, 3, (4 * n, 2)).astype(np.uint64)
    right = np.zeros(4 * n, bool)
    right[starts[:-1] + dice.integers(0, 4, n)] = True
    gold = values[right].repeat(4, axis=0)
    # the first element is told by its own number, the second by nothing
    numbers = np.column_stack([np.zeros(4 * n), values[:, 0] == gold[:, 0], dice.normal(size=4 * n)])
    pool = Pool(numbers.astype(np.float32), starts, right)
    votes = fit_votes(pool, values, [np.array([1]), np.array([2])], 1.0)
    agreeing = votes.agreeing(pool.numbers, values, starts)
    assert (agreeing[:, 0] == (values[:, 0] == gold[:, 0])).all()
    assert (votes.trust >= 0).all() and votes.trust[0] > 10 * votes.trust[1]
    scores = numbers[:, 2] * np.sign(votes.weights[1, 2])
    for i in range(20):
        rows = slice(4 * i, 4 * i + 4)
        best = values[rows][np.argmax(scores[rows]), 1]
        assert agreeing[rows, 1].tolist() == (values[rows, 1] == best).tolist()


def test_shrunk_slopes_are_drawn_to_their_mean_the_more_the_noisier_they_are():
    dice = np.random.default_rng(7)
    numbers = dice.normal(size=(4000, 12))
    numbers = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    target = numbers @ np.linspace(-1, 1, 12) + dice.normal(size=4000)
    plain = numbers.T @ (target - target.mean()) / 4000
    close, far = james_stein(numbers, target), james_stein(numbers[:40], target[:40])
    rough = numbers[:40].T @ (target[:40] - target[:40].mean()) / 40
    kept = [np.ptp(close) / np.ptp(plain), np.ptp(far) / np.ptp(rough)]
    assert 0.99 < kept[0] < 1 and kept[1] < kept[0] and close.mean() == pytest.approx(plain.mean())
    assert np.ptp(james_stein(numbers[:8], dice.normal(size=8))) == pytest.approx(0, abs=1e-12)  # nothing but noise


@pytest.mark.parametrize("learner", [
    Ranker(), Ranker(method="agreement"), TwoPassRanker(), SequenceRanker(), PairRanker(), BaselineDisambiguator(),
], ids=lambda model: f"{type(model).__name__}-{model.settings.get('method')}")  # fmt: skip
def test_files_give_back_the_model_and_hostile_ones_are_refused(learner, bank, tmp_path):
    model, some = learner.fit(bank[:40]), bank[40:43]
    model.save(tmp_path / "m")
    again, mine = corpuscle.load(tmp_path / "m").rank(bank[40:]), model.rank(bank[40:])
    assert mine.labels.tolist() == again.labels.tolist()
    assert mine.probabilities.tolist() == again.probabilities.tolist()

    def use(path):
        loaded = corpuscle.load(path)
        loaded.readings(some, 2), loaded.updated(some)

    assert survives_hostile_edits(tmp_path / "m", use, edits=60) > 10


def test_counting_more_is_counting_all(bank):
    first, all_of = Ranker().fit(bank[:100]), Ranker().fit(bank[:150])
    grown = first.updated(bank[100:150])
    assert grown.counts_.keys.tolist() == all_of.counts_.keys.tolist()
    assert grown.counts_.counts.tolist() == all_of.counts_.counts.tolist()
    assert set(grown.labels_.strings) == set(all_of.labels_.strings)
    forms = {form for sentence in bank[:150].corpus for form in sentence}
    assert [grown.analyse(form) for form in forms] == [all_of.analyse(form) for form in forms]
    assert len(first.counts_.keys) < len(grown.counts_.keys)  # the first is as it was
    two = TwoPassRanker().fit(bank[:100]).updated(bank[100:150])
    assert two.counts_.counts.tolist() == TwoPassRanker().fit(bank[:150]).counts_.counts.tolist()


def test_the_choice_of_an_annotator_is_known_at_once(bank):
    ranker = Ranker().fit(bank[:100])
    words = ["zork", "zork", "blif"]
    sentence = Treebank.from_sentences([words])
    chosen = Treebank.from_sentences([words], tags=[["_", "INTJ", "_"]], lemmas=[["_", "zorken", "_"]],
                                     misc=[["_", "Gloss=to_zork", "_"]])  # fmt: skip
    grown = ranker.updated(chosen)
    before, after = (model.readings(sentence, 1)[0] for model in (ranker, grown))
    assert [word["known"] for word in before] == [False] * 3
    assert [word["known"] for word in after] == [True, True, False]
    assert after[0]["analyses"][0]["elements"]["lemma"] == "zorken" and after[0]["analyses"][0]["gloss"] == "to_zork"
    assert grown.provenance_["words"] == ranker.provenance_["words"] + 1


def test_what_cannot_be_counted_is_refused(bank):
    ranker = Ranker(min_count=2).fit(bank[:60])
    with pytest.raises(SettingError, match="min_count"):
        ranker.updated(bank[60:70])
    with pytest.raises(InputError, match="no word has an analysis"):
        Ranker().fit(bank[:60]).updated(Treebank.from_sentences([["a", "b"]]))
    with pytest.raises(SettingError, match="pos and lemma"):
        TwoPassRanker(elements=("Case",)).fit(bank[:60])


def test_a_gold_analysis_that_nobody_proposes_is_an_error_and_not_a_crash(bank):
    ranker = Ranker(guesser=False).fit(bank[:100])
    strange = bank[100:110].replace(lemmas=bank[100:110].lemmas.map(lambda lemma: lemma + "?"))
    assert (ranks(ranker, strange) == 0).all()
    rows = Rows(np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(1, np.int64))
    assert ranker.counts_.look_up(rows, np.zeros((0, 14), np.uint64), np.zeros((1, 1), np.uint64),
                                  ranker.columns).shape[0] == 0  # fmt: skip


def test_weights_refit_to_choices_make_them_likelier_and_stay_near(bank):
    ranker = Ranker(crossfit=0).fit(bank[:60])
    kept, refit = ranker.updated(bank[60:160]), ranker.updated(bank[60:160], refit=True)
    assert kept.weights_ is ranker.weights_ and kept.counts_.keys.tolist() == refit.counts_.keys.tolist()
    stiff = Ranker(crossfit=0, c2=1e9).fit(bank[:60])
    before, after = stiff.weights_.weights, stiff.updated(bank[60:160], refit=True).weights_.weights
    assert after == pytest.approx(before, abs=1e-4)
    assert abs(refit.weights_.weights - ranker.weights_.weights).max() > 0.01

    def surprise(model):  # of the choices, by what was counted before them
        old = Ranker(crossfit=0).fit(bank[:60])
        old.weights_ = model.weights_
        ranking = old.rank(bank[60:160])
        item = np.repeat(np.arange(len(ranking.starts) - 1), np.diff(ranking.starts))
        right = ranking.labels == old.gold(bank[60:160], ranking)[item]
        return -np.log(ranking.probabilities[right]).sum()

    assert surprise(refit) < surprise(kept)
    with pytest.raises(SettingError, match="one pass"):
        SequenceRanker(crossfit=0).fit(bank[:60]).updated(bank[60:70], refit=True)
    with pytest.raises(SettingError, match="one pass"):
        Ranker(method="agreement", crossfit=0).fit(bank[:60]).updated(bank[60:70], refit=True)
