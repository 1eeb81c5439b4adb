"""The nested Pitman-Yor model against enumeration: spelling, segmentations, lengths, removal, Metropolis-Hastings."""

from collections import Counter
from itertools import pairwise, product
from math import exp, log

import numpy as np
import pytest

from corpuscle.engine.dp import MAX, SUM
from corpuscle.engine.restaurants import hierarchy as hpy
from corpuscle.engine.restaurants import pool as pools
from corpuscle.engine.restaurants.pool import DISH, FREE_COUNT, NODE, USED
from corpuscle.engine.restaurants.seating import sample_parameters
from corpuscle.random import Random, shuffle
from corpuscle.segment import NestedSegmenter
from corpuscle.segment.kernels import gibbs, lattice, lengths, model, state
from corpuscle.text import Corpus

KINDS = np.full(2048, 2, np.uint8)  # letters of two types, and mixed words
KINDS[[1, 2]] = 0, 1


class Text:
    """A text of letters 3, 4, ... (a, b, ...) in a model, with all that a sampler needs."""

    def __init__(self, sentences, longest=10, order=2, letters=None, seed=1, typed=False, **settings):
        self.seed, self.order = seed, order
        letters = letters or 1 + max(ord(c) - ord("a") for s in sentences for c in s)
        self.text = np.array([ord(c) - ord("a") + 3 for s in sentences for c in s], np.int32)
        self.starts = np.concatenate([[0], np.cumsum([len(s) for s in sentences])]).astype(np.int64)
        masks = np.ones(letters + 3, np.uint16)
        if typed:
            masks[3 + letters // 2 :] = 2
        n, room = len(sentences), max(map(len, sentences))
        self.nested = model.new_nested(
            self.text, masks, KINDS, order=order, longest=longest, types=3, letter_base=1 / (letters + 2),
            room=room, **settings,
        )  # fmt: skip
        self.lattice = lattice.new_lattice(room, longest, order)
        self.gaps, self.cuts = np.zeros(len(self.text), np.uint8), np.zeros(len(self.text), np.uint8)
        self.fixed, self.seated = np.zeros(n, np.uint8), np.zeros(n, np.uint8)
        self.ends, self.numbers = np.zeros(room + 1, np.int32), np.zeros(room + 1, np.int32)
        self.old_cuts, self.notes = np.zeros(room, np.uint8), gibbs.new_notes(room)
        self.means, self.sums = np.full(3, 2.5), np.zeros(4)
        self.stream = Random(seed, "tests.nested").array()
        self.new_lengths(0)

    def new_lengths(self, iteration, norm="type"):
        law = lengths.length_law(self.nested, 200, self.seed, iteration)
        self.nested.factors[:] = lengths.length_factors(law, self.means, 0.05, 2, norm)

    def sweep(self, iteration, mh=False, norm="type", parameters=True):
        order = np.arange(len(self.seated))
        shuffle(self.stream, order)
        sentences = gibbs.Sentences(
            self.starts, self.gaps, self.fixed, self.seated, self.cuts, self.ends, self.numbers, self.sums,
            self.old_cuts, self.notes if mh else self.notes[:0],
        )  # fmt: skip
        at = 0
        while at < len(order):
            at = gibbs.sweep(self.nested, self.lattice, sentences, order, at, len(order), self.stream)
            if at < len(order):
                self.nested = model.grown_nested(self.nested, 2 * len(self.old_cuts))
        if parameters:
            sample_parameters(self.nested.words, self.seed, 2 * iteration)
            sample_parameters(self.nested.letters, self.seed, 2 * iteration + 1)
            self.means = lengths.sample_means(self.nested, (0.2, 0.1), self.seed, iteration)
            self.new_lengths(iteration, norm)

    def verify(self):
        state.verify_nested(self.nested, self.starts, self.seated, self.cuts)

    def forward(self, sentence, best=False):
        first, n = self.starts[sentence], self.starts[sentence + 1] - self.starts[sentence]
        lattice.fill(self.nested, self.lattice, self.text, first, n, self.gaps)
        return lattice.forward(self.nested.words, self.lattice, n, MAX if best else SUM)

    def words(self, sentence, cuts=None):
        """The lengths of the words of a sentence."""
        cuts = self.cuts if cuts is None else cuts
        first, last = self.starts[sentence : sentence + 2]
        begins = [*np.flatnonzero(cuts[first:last]).tolist(), int(last - first)]
        return tuple(b - a for a, b in pairwise(begins))


def probability(text, begin, length, context):
    """P(word | context), step by step; the word ``$`` has length 0. ``context``: (begin, length), most recent first."""
    nested = text.nested

    known = {}
    for word, (start, size, _) in enumerate(nested.rows[: nested.counters[0, USED]].tolist()):
        if start >= 0:
            known[tuple(text.text[start : start + size].tolist())] = word

    def number(begin, length):
        return known.get(tuple(text.text[begin : begin + length].tolist()), -1)

    node = 0
    for before in context[: text.order - 1]:
        symbol = number(*before)
        child = pools.find_child(nested.words, node, symbol) if symbol >= 0 else -1
        if child < 0:
            break
        node = child
    if length == 0:
        base = float(nested.bases[model.BOUNDARY_BASE])
    else:
        mask = int(np.bitwise_or.reduce(nested.masks[text.text[begin : begin + length]]))
        base = model.spelled(nested, text.text, begin, length) * nested.factors[nested.kinds[mask], length]
    dish = number(begin, length)
    if dish < 0:  # nobody has had it: what all contexts pass on
        weight = 1.0
        while node >= 0:
            weight *= hpy.passed_on(nested.words, node)
            node = int(nested.words.nodes[node, 0])
        return weight * base
    return hpy.probability(nested.words, node, dish, base)


def segmentations(text, sentence, longest):
    """Every segmentation (lengths of words) with its probability, by enumeration."""
    first, n = int(text.starts[sentence]), int(text.starts[sentence + 1] - text.starts[sentence])
    found = {}
    for cut in product((0, 1), repeat=n - 1):
        gaps = text.gaps[first + 1 : first + n]
        if any((gap == 1 and not c) or (gap == 2 and c) for gap, c in zip(gaps, cut, strict=True)):
            continue
        begins = [0, *(i + 1 for i, c in enumerate(cut) if c), n]
        words = [(first + a, b - a) for a, b in pairwise(begins)]
        if max(length for _, length in words) > longest:
            continue
        total, context = 0.0, [(0, 0), (0, 0)]
        for begin, length in [*words, (0, 0)]:
            total += log(probability(text, begin, length, context))
            context = [(begin, length), context[0]]
        found[tuple(length for _, length in words)] = total
    return found


SENTENCES = ["abacabad", "abadacab", "cabadaba", "dabacaba", "abab", "bac", "a", "abacabad"]


@pytest.fixture(scope="module", params=[(2, 10), (2, 3), (3, 10), (3, 3)], ids=str)
def sampled(request):
    """A model after some sweeps, from which the first sentence was taken."""
    order, longest = request.param
    text = Text(SENTENCES, longest=longest, order=order, typed=True)
    for iteration in range(8):
        text.sweep(iteration)
        text.verify()
    gibbs.remove_sentence(text.nested, 0, 8, text.cuts, text.ends, text.numbers, text.stream, text.notes[:0], False)
    text.seated[0] = 0
    text.verify()
    return text, longest


# ---- spelling


def test_words_are_spelled_alike_in_the_lattice_and_one_by_one(sampled):
    text, longest = sampled
    text.forward(0)
    for end in range(1, 9):
        for length in range(1, min(end, longest) + 1):
            spelled = np.prod([text.lattice.inner[end - length + i, i] for i in range(length)])
            spelled *= text.lattice.last[end, length]
            assert spelled == pytest.approx(model.spelled(text.nested, text.text, end - length, length), rel=1e-12)


@pytest.mark.parametrize("deepest", [2, 10])
def test_the_base_measure_sums_to_one_with_an_enumerated_law_of_lengths(deepest):
    longest = 7
    text = Text(["abcdabcd", "abbacddc", "aabbccdd", "abab"], longest=longest, typed=True, deepest=deepest)
    for iteration in range(5):
        text.sweep(iteration)
    nested = text.nested
    strings = [word for k in range(1, longest + 1) for word in product((0, 3, 4, 5, 6), repeat=k)]
    letters = np.array([c for word in strings for c in word], np.int32)
    law, spelled, cells, begin = np.zeros((3, longest + 1)), [], [], 0
    for word in strings:
        spelled.append(model.spelled(nested, letters, begin, len(word)))
        mask = int(np.bitwise_or.reduce(nested.masks[list(word)]))
        cells.append((int(KINDS[mask]), len(word)))
        law[cells[-1]] += spelled[-1]
        begin += len(word)
    means = np.array([2.0, 3.0, 4.0])
    factors = lengths.length_factors(law, means, 0.05, 2)
    total = 0.05 + sum(p * factors[cell] for p, cell in zip(spelled, cells, strict=True))
    # the share of the law of all types together moves mass between the lengths of a type, a little
    assert total == pytest.approx(1, abs=0.02)
    lengths_only = {"pooled": 0.0}
    exact = lengths.length_factors(law, means, 0.05, 2, **lengths_only)
    total = 0.05 + sum(p * exact[cell] for p, cell in zip(spelled, cells, strict=True))
    assert total == pytest.approx(1, abs=1e-12)
    estimates = [lengths.length_law(nested, 200, 1, i) for i in range(5)]
    np.testing.assert_allclose(estimates[0].sum(0), law.sum(0), rtol=0.05)
    np.testing.assert_allclose(np.mean(estimates, axis=0).sum(1), law.sum(1), rtol=0.1)


def test_without_length_correction_the_letters_decide_and_the_printed_form_divides_by_all_types():
    law = np.array([[0.0, 0.3, 0.1], [0.0, 0.1, 0.1], [0.0, 0.0, 0.2]])
    means = np.array([1.0, 2.0, 3.0])
    plain = lengths.length_factors(law, means, 0.05, 2, "none")
    assert (law * plain).sum() == pytest.approx(0.95, abs=1e-12)
    printed = lengths.length_factors(law, means, 0.05, 2, "paper")
    assert printed[1, 2] == pytest.approx(0.95 * exp(-2) * 2 / 0.4, rel=1e-12)


# ---- segmentations


def test_the_forward_sum_is_the_sum_over_all_segmentations(sampled):
    text, longest = sampled
    for sentence in range(len(SENTENCES)):
        every = np.array(list(segmentations(text, sentence, longest).values()))
        assert text.forward(sentence) == pytest.approx(np.logaddexp.reduce(every), abs=1e-11)


def test_the_best_segmentation_is_the_best_of_all(sampled):
    text, longest = sampled
    for sentence in range(len(SENTENCES)):
        every = segmentations(text, sentence, longest)
        found = text.forward(sentence, best=True)
        assert found == pytest.approx(max(every.values()), abs=1e-11)
        first = text.starts[sentence]
        cuts = text.cuts.copy()
        lattice.trace(text.lattice, text.starts[sentence + 1] - first, cuts, first)
        assert every[text.words(sentence, cuts)] == pytest.approx(found, abs=1e-11)


def test_drawn_segmentations_have_their_probabilities(sampled):
    text, longest = sampled
    every = segmentations(text, 0, longest)
    total = text.forward(0)
    cuts, seen, draws = text.cuts.copy(), Counter(), 20_000
    for _ in range(draws):
        lattice.draw(text.nested.words, text.lattice, 8, cuts, 0, text.stream)
        seen[text.words(0, cuts)] += 1
    distance = sum(abs(seen[words] / draws - exp(p - total)) for words, p in every.items()) / 2
    assert distance < 0.03 and not seen.keys() - every.keys()


def test_known_boundaries_restrict_the_segmentations(sampled):
    text, longest = sampled
    text.gaps[[3, 6]] = lattice.FORCED
    text.gaps[[1, 5]] = lattice.FORBIDDEN
    try:
        every = segmentations(text, 0, longest)
        assert 0 < len(every) < 2**5
        assert text.forward(0) == pytest.approx(np.logaddexp.reduce(list(every.values())), abs=1e-11)
        assert text.forward(0, best=True) == pytest.approx(max(every.values()), abs=1e-11)
    finally:
        text.gaps[:] = 0


def test_long_sentences_do_not_underflow():
    sentence = "abcdefghij" * 100
    text = Text([sentence, "abc"], longest=6)
    text.fixed[0] = 1
    text.cuts[::5] = 1
    text.sweep(0)
    parts = 0.0
    text.gaps[1:] = lattice.FORBIDDEN
    text.gaps[5:1000:5] = lattice.FORCED
    text.cuts[:] = 0
    whole = text.forward(0)
    context = [(0, 0), (0, 0)]
    for begin, length in [*((i, 5) for i in range(0, 1000, 5)), (0, 0)]:
        parts += log(probability(text, begin, length, context))
        context = [(begin, length), context[0]]
    assert whole == pytest.approx(parts, rel=1e-12)
    text.gaps[:] = 0
    assert text.forward(0) > whole


# ---- the sampler


@pytest.mark.parametrize("order", [2, 3])
def test_when_all_sentences_are_gone_nothing_is_left(order):
    text = Text(SENTENCES * 3, order=order)
    for iteration in range(4):
        text.sweep(iteration)
    for sentence in range(len(text.seated)):
        first, last = text.starts[sentence : sentence + 2]
        gibbs.remove_sentence(
            text.nested, first, last - first, text.cuts, text.ends, text.numbers, text.stream, text.notes[:0], False
        )
    text.seated[:] = 0
    text.verify()
    nested = text.nested
    for pool in (nested.words, nested.letters):
        assert (pool.counters[:, USED] - pool.counters[:, FREE_COUNT]).tolist() == [1, 0, 0]
        assert not pool.nodes[0, 3:].any()
    assert (nested.counters[:, USED] - nested.counters[:, FREE_COUNT]).tolist() == [1, 0]
    assert (nested.slots >= 0).sum() == 0


def test_a_model_that_was_kept_goes_on_as_if_it_had_not_been():
    text = Text(SENTENCES, order=3)
    text.sweep(0)
    kept = {name: array.copy() for name, array in state.to_arrays(text.nested).items()}
    other = Text(SENTENCES, order=3)
    other.nested = state.from_arrays(other.nested, kept)
    for name in ("cuts", "seated", "stream", "means"):
        setattr(other, name, getattr(text, name).copy())
    other.verify()
    for t in (text, other):
        t.sweep(1)
    for name, array in state.to_arrays(text.nested).items():
        np.testing.assert_array_equal(array, state.to_arrays(other.nested)[name], name)


def test_an_unsound_model_is_refused():
    text = Text(SENTENCES)
    text.sweep(0)
    text.cuts[1] ^= 1
    with pytest.raises(ValueError, match="other words"):
        text.verify()
    text.cuts[1] ^= 1
    text.nested.orders[0, 0] += 1
    with pytest.raises(ValueError, match="other letters"):
        text.verify()


def test_a_frozen_model_predicts_the_same(sampled):
    text, _ = sampled
    nested = text.nested
    frozen = state.freeze_nested(nested)
    copy = state.thaw(frozen, nested.masks, KINDS, *nested.bases.tolist(), (4.0, 1.0))
    for best in (False, True):
        for sentence in range(len(SENTENCES)):
            first, n = text.starts[sentence], text.starts[sentence + 1] - text.starts[sentence]
            lattice.fill(copy, text.lattice, text.text, first, n, text.gaps)
            again = lattice.forward(copy.words, text.lattice, n, MAX if best else SUM)
            assert again == pytest.approx(text.forward(sentence, best), abs=1e-11)
    assert frozen["occurrences"][0] == len(SENTENCES) - 1  # the first was taken out
    entries = nested.words.entries
    assert len(frozen["lexicon_starts"]) - 1 == ((entries[:, NODE] == 0) & (entries[:, DISH] > 0)).sum()


def test_metropolis_hastings_samples_from_the_posterior():
    """Two sentences whose posterior was enumerated over all words and seatings."""
    text = Text(["abab", "aba"], longest=4, deepest=0, boundary_base=0.1)
    nested = text.nested
    nested.words.discounts[:], nested.words.strengths[:] = 0.3, 0.5
    seen, draws = Counter(), 6000
    for iteration in range(draws):
        # Letters in which nothing is learned: so strong a base that every word of k letters has 0.9 * 0.5^k * 2^-k.
        nested.letters.strengths[:], nested.letters.discounts[:] = 1e12, 0.0
        base = float(nested.bases[model.LETTER_BASE])
        nested.factors[:] = 0.9 * 0.25 ** np.arange(5) / base ** (np.arange(5) + 1)
        text.sweep(iteration, mh=True, parameters=False)
        if iteration % 1000 == 0:
            text.verify()
        seen[text.words(0), text.words(1)] += 1
    assert seen[(3, 1), (3,)] / draws == pytest.approx(0.480, abs=0.03)
    assert seen[(2, 2), (2, 1)] / draws == pytest.approx(0.169, abs=0.03)
    assert seen[(1, 1, 1, 1), (1, 1, 1)] / draws == pytest.approx(0.095, abs=0.03)


@pytest.mark.parametrize("order", [2, 3])
def test_metropolis_hastings_keeps_every_count_sound(order):
    text = Text(SENTENCES * 2, order=order, typed=True)
    for iteration in range(6):
        text.sweep(iteration, mh=True)
        text.verify()


def vocabulary(seed, words=60, letters=12):
    random = np.random.default_rng(seed)
    found = set()
    while len(found) < words:
        found.add("".join(chr(ord("a") + c) for c in random.integers(letters, size=random.integers(2, 6))))
    return sorted(found)


def independent_words(seed, sentences=200):
    """Sentences of 3 to 7 words drawn independently, frequency by rank."""
    random = np.random.default_rng(seed)
    words = random.permutation(vocabulary(seed))
    weights = np.arange(1, len(words) + 1) ** -0.7
    return [random.choice(words, random.integers(3, 8), p=weights / weights.sum()).tolist() for _ in range(sentences)]


def f1(gold, found):
    """Of two collections with counts."""
    gold, found = Counter(gold), Counter(found)
    return 2 * sum((gold & found).values()) / (gold.total() + found.total())


def scores(sentences, gold):
    """Token F1 and lexicon F1."""
    tokens = []
    for cut in (gold, sentences):
        ends = [np.cumsum([0, *map(len, sentence)]) for sentence in cut]
        tokens.append([(s, *span) for s, places in enumerate(ends) for span in pairwise(places.tolist())])
    return f1(*tokens), f1(*({word for sentence in cut for word in sentence} for cut in (gold, sentences)))


@pytest.mark.parametrize("start", ["branching", "growing"])
def test_independent_words_are_found(start):
    results = []
    for seed in range(1, 5):
        gold = independent_words(seed)
        text = Corpus.from_sentences([["".join(sentence)] for sentence in gold])
        model = NestedSegmenter(sweeps=12, max_word=8, types=False, start=start, seed=seed).fit(text)
        results.append(scores(list(model.segment(text)), gold))
    tokens, lexicon = np.array(results).T
    assert tokens.min() >= 0.65 and tokens.mean() >= 0.75 and lexicon.min() >= 0.75, results


def test_after_supervision_every_sentence_is_cut_as_it_was():
    gold = independent_words(1)
    text = Text(["".join(s) for s in gold], longest=8, letters=12)
    text.fixed[:] = 1
    for s, sentence in enumerate(gold):
        begins = text.starts[s] + np.concatenate([[0], np.cumsum([len(w) for w in sentence])[:-1]])
        text.cuts[begins] = 1
    for iteration in range(4):
        text.sweep(iteration)
    text.fixed[:] = 0
    text.sweep(4)
    ends = [np.cumsum([0, *text.words(s)]) for s in range(len(gold))]
    found = [["".join(s)[a:b] for a, b in pairwise(places)] for s, places in zip(gold, ends, strict=True)]
    assert scores(found, gold)[0] >= 0.97
