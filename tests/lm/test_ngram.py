"""The Kneser-Ney family: against formulas written out over dictionaries, sums, marginals and ARPA files."""

import math
from collections import defaultdict
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corpuscle
from corpuscle.errors import CorpuscleWarning, InputError, SettingError
from corpuscle.lm import ClassModel, HpyModel, Mixture, NgramModel, compare, read_arpa, write_arpa
from corpuscle.lm.kernels.arpa import get_number
from corpuscle.lm.ngram import AUTO_ORDERS, FAMILY, FEW
from corpuscle.lm.settings import METHODS
from corpuscle.text import Corpus, Vocab

pytestmark = pytest.mark.filterwarnings("ignore::corpuscle.errors.CorpuscleWarning")

BOUNDARIES = ("single", "pad", "none")


def class_ngram(**settings):
    """The model of class sequences inside a class n-gram."""
    return NgramModel(min_count=1, **settings)


def zipf_corpus(seed=3, sentences=300, types=30, longest=12):
    """Sentences from a random bigram process with few frequent and many rare words."""
    random = np.random.default_rng(seed)
    weights = 1 / np.arange(1, types + 1)
    table = np.array([random.permutation(weights) ** 1.5 + 0.02 * weights for _ in range(types)])
    table /= table.sum(1, keepdims=True)
    result = []
    for _ in range(sentences):
        word, sentence = random.integers(types), []
        for _ in range(random.integers(0, longest)):
            word = random.choice(types, p=table[word])
            sentence.append(f"w{word}")
        result.append(sentence)
    return Corpus.from_sentences(result)


class PlainModel:
    """Spec formulas over dictionaries of tuples, slow and obvious."""

    def __init__(self, sentences, method, order, boundary, unigram="uniform"):
        self.kind, self.order, self.boundary = FAMILY[method], order, boundary
        if boundary == "none":
            streams = [[word for sentence in sentences for word in sentence]]
        else:
            left = 1 if boundary == "single" else order - 1
            streams = [["<s>"] * left + list(sentence) + ["</s>"] for sentence in sentences]
        self.vocabulary = sorted({w for stream in streams for w in stream} - {"<s>"} | {"<unk>"})
        counts = defaultdict(int)
        for stream in streams:
            for m in range(1, order + 1):
                for i in range(len(stream) - m + 1):
                    if stream[i + m - 1] != "<s>":
                        counts[tuple(stream[i : i + m])] += 1
        self.adjusted = self._adjust(counts)
        self.unigram = unigram
        self.discount = {m: self._discounts(m) for m in range(1, order + 1)}
        self.children = defaultdict(dict)
        for gram, count in self.adjusted.items():
            if count:
                self.children[gram[:-1]][gram[-1]] = count

    def _adjust(self, counts):
        if self.kind.raw:
            return dict(counts)
        lefts = defaultdict(set)
        for gram in counts:
            lefts[gram[1:]].add(gram[0])
        keep = lambda g: len(g) == self.order or (self.boundary == "single" and len(g) > 1 and g[0] == "<s>")  # noqa: E731
        return {gram: count if keep(gram) else len(lefts[gram]) for gram, count in counts.items()}

    def _discounts(self, m):
        n = [sum(1 for g, c in self.adjusted.items() if len(g) == m and c == k) for k in range(5)]
        if self.kind.modified:
            if all(n[1:5]):
                y = n[1] / (n[1] + 2 * n[2])
                d = [0, 1 - 2 * y * n[2] / n[1], 2 - 3 * y * n[3] / n[2], 3 - 4 * y * n[4] / n[3]]
                if all(0 <= d[k] <= k for k in (1, 2, 3)):
                    return d
            return [0, 0.5, 1.0, 1.5]
        y = n[1] / (n[1] + 2 * n[2]) if n[1] and n[2] else 0.5
        return [0, y, y, y]

    def p(self, word, history):
        seen = self.children.get(history, {})
        total = sum(seen.values())
        discount = self.discount[len(history) + 1]
        freed = sum(discount[min(c, 3)] for c in seen.values())
        count = seen.get(word, 0)
        direct = (count - discount[min(count, 3)]) / total if total else 0.0
        if not history:
            if self.unigram == "types":
                return count / total
            size = len(self.vocabulary)
            if self.kind.interpolated:
                return direct + freed / total / size
            if len(seen) == size:
                return count / total
            return direct if count else freed / total / (size - len(seen))
        lower = self.p(word, history[1:])
        if not total:
            return lower
        if self.kind.interpolated:
            return direct + freed / total * lower
        if len(seen) == len(self.vocabulary):
            return count / total
        if count:
            return direct
        return freed / total / (1 - sum(self.p(w, history[1:]) for w in seen)) * lower


def histories(model, corpus, order):
    """Seen, half-seen and unseen histories."""
    words = corpus.vocab.strings[3:6]
    some = [list(h) for length in range(order) for h in product(words, repeat=length)]
    started = [["<s>", *h] for h in some if len(h) < order - 1] if model.boundary != "none" else []
    return some + started + [["never", *some[-1]], [words[0], "never"]]


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_every_model_sums_to_one_after_every_history(method, boundary, order):
    corpus = zipf_corpus()
    model = NgramModel(method=method, order=order, min_count=2, boundary=boundary).fit(corpus)
    for history in histories(model, corpus, min(order, 3)):
        assert model.distribution(history).sum() == pytest.approx(1.0, abs=1e-12)
        assert model.distribution(history)[1] == 0.0, "the start symbol is never predicted"


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("method", METHODS)
def test_probabilities_equal_the_formulas_over_dictionaries(method, boundary):
    corpus = zipf_corpus(sentences=60, types=8)
    order = 3
    model = NgramModel(method=method, order=order, min_count=1, boundary=boundary).fit(corpus)
    plain = PlainModel(list(corpus), method, order, boundary)
    np.testing.assert_allclose(model.discounts_, [plain.discount[m] for m in (1, 2, 3)], atol=1e-15)
    words = corpus.vocab.strings[3:]
    for history in [[], *([w] for w in words), *map(list, product(words[:5], repeat=2))]:
        ours = model.distribution(history)
        for word in plain.vocabulary:
            id = {"<unk>": 0, "</s>": 2}.get(word) or model.vocab_.id(word)
            assert ours[id] == pytest.approx(plain.p(word, tuple(history)), abs=1e-12)
    if boundary != "none":
        start = ("<s>",) * (1 if boundary == "single" else order - 1)
        ours = model.distribution(["<s>"])
        for word in words:
            assert ours[model.vocab_.id(word)] == pytest.approx(plain.p(word, start), abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_models_without_discounted_unigrams_sum_to_one(method):
    for corpus, boundary in (
        (zipf_corpus(), "single"),
        (Corpus.from_sentences([["a", "a"]]), "single"),
        (Corpus.from_sentences([["a"]]), "none"),
    ):
        model = NgramModel(method=method, order=2, min_count=1, unigram="types", boundary=boundary).fit(corpus)
        for history in ([], [corpus.vocab.word(3)], ["<s>"], ["never"]):
            assert model.distribution(history).sum() == pytest.approx(1.0, abs=1e-12)


def test_unigrams_may_be_left_undiscounted():
    corpus = zipf_corpus(types=6)
    model = NgramModel(method="kn", order=2, min_count=1, unigram="types").fit(corpus)
    plain = PlainModel(list(corpus), "kn", 2, "single", unigram="types")
    assert model.distribution([])[0] == 0.0
    for word in corpus.vocab.strings[3:]:
        assert model.distribution([])[model.vocab_.id(word)] == pytest.approx(plain.p(word, ()), abs=1e-12)


def marginal_error(method):
    """max_w |sum_h a(h) P(w|h) - c(w)| / N over all events of the corpus."""
    corpus = zipf_corpus(sentences=80, types=10)
    order = 3
    model = NgramModel(method=method, order=order, min_count=1, boundary="pad", unigram="types").fit(corpus)
    expected, observed = np.zeros(len(model.vocab_)), np.zeros(len(model.vocab_))
    for sentence in corpus:
        padded = ["<s>"] * (order - 1) + sentence + ["</s>"]
        for i in range(order - 1, len(padded)):
            history = padded[i - order + 1 : i]
            starts = history.count("<s>")
            expected += model.distribution((["<s>"] if starts else []) + history[starts:])
            observed[2 if padded[i] == "</s>" else model.vocab_.id(padded[i])] += 1
    return np.abs(expected - observed).max() / observed.sum()


def test_plain_interpolated_kneser_ney_keeps_the_marginals():
    assert marginal_error("kn") < 1e-10


def test_absolute_discounting_breaks_the_marginals():
    assert marginal_error("absolute") > 1e-4


def test_discounts_fall_back_with_a_warning_or_fail_when_strict():
    tiny = Corpus.from_sentences([["a", "b"], ["a"]])
    with pytest.warns(CorpuscleWarning, match="order 1, 2"):
        model = NgramModel(method="mkn", order=2, min_count=1).fit(tiny)
    assert model.discounts_[:, 1:].tolist() == [[0.5, 1.0, 1.5]] * 2
    with pytest.raises(SettingError, match="order 1, 2"):
        NgramModel(method="mkn", order=2, min_count=1, strict=True).fit(tiny)


def test_given_discounts_are_used_and_checked():
    corpus = zipf_corpus()
    assert NgramModel(method="kn", order=2, discounts=0.7).fit(corpus).discounts_.tolist() == [[0, 0.7, 0.7, 0.7]] * 2
    three = NgramModel(method="mkn", order=2, discounts=[[0.5, 1, 1.5], [0.6, 1.1, 1.6]]).fit(corpus)
    assert three.discounts_[1].tolist() == [0, 0.6, 1.1, 1.6]
    for method, bad in (("kn", 0.0), ("kn", 1.2), ("mkn", [0.5, 2.1, 1.0]), ("mkn", 0.5), ("kn", [0.1, 0.2, 0.3])):
        with pytest.raises(SettingError, match="discount"):
            NgramModel(method=method, order=2, discounts=bad).fit(corpus)


@pytest.mark.parametrize("method", METHODS)
def test_tuned_discounts_make_the_development_text_likelier(method):
    corpus, dev = zipf_corpus(seed=3), zipf_corpus(seed=3, sentences=500)[300:]
    plain = NgramModel(method=method, order=3, min_count=1).fit(corpus)
    tuned = NgramModel(method=method, order=3, min_count=1).fit(corpus, dev)
    assert tuned.perplexity(dev)["perplexity"] < plain.perplexity(dev)["perplexity"] + 1e-9
    assert tuned.described()["order"] == (3, "given") and tuned.origins["discounts"] == "tuned"


def test_the_gradient_of_the_tuning_objective_is_the_finite_difference():
    from corpuscle.engine.ngrams.counting import count_ngrams
    from corpuscle.lm.ngram import interpolated_objective

    corpus, dev = zipf_corpus(sentences=50, types=9), zipf_corpus(seed=8, sentences=30, types=9)
    model = NgramModel(method="mkn", order=3, min_count=1).fit(corpus)
    ngrams = count_ngrams(model._symbols(corpus), len(corpus.vocab), 3, end=2)
    objective = interpolated_objective(
        ngrams, model._adjusted(ngrams), model._predictable, model._symbols(dev.recode(corpus.vocab)), 2
    )
    discounts = model.discounts_.copy()
    value, gradient = objective(discounts)
    assert value == pytest.approx(np.log(model.perplexity(dev)["perplexity"]), abs=1e-12)
    for m, k in product(range(3), (1, 2, 3)):
        up, down = discounts.copy(), discounts.copy()
        up[m, k] += 1e-6
        down[m, k] -= 1e-6
        slope = (objective(up)[0] - objective(down)[0]) / 2e-6
        assert gradient[m, k] == pytest.approx(slope, abs=1e-7)


def test_order_auto_takes_the_best_order_on_the_development_text():
    corpus, dev = zipf_corpus(seed=3), zipf_corpus(seed=3, sentences=400)[300:]
    auto = NgramModel(method="mkn", order="auto", min_count=1).fit(corpus, dev)
    scores = [NgramModel(method="mkn", order=n, min_count=1).fit(corpus).perplexity(dev)["perplexity"]
              for n in range(1, AUTO_ORDERS + 1)]  # fmt: skip
    assert auto.order_ == int(np.argmin(scores)) + 1
    with pytest.raises(SettingError, match="auto"):
        NgramModel(method="mkn", order="auto").fit(corpus)


def circle(sentences):
    """Sentences in which the next letter is nearly certain."""
    return Corpus.from_sentences([list("abcdabcdabcd"[i % 4 : i % 4 + 6]) for i in range(sentences)] + [["b", "a"]])


def test_words_without_a_probability_do_not_decide_the_order():
    dev = Corpus.from_sentences([*circle(8), ["never"]])
    assert NgramModel(method="mkn", order="auto", unigram="types", min_count=1).fit(circle(80), dev).order_ > 1


@pytest.mark.parametrize("discounts", [0.999, [[0.999]] * AUTO_ORDERS])
def test_orders_are_compared_with_the_discounts_that_are_given(discounts):
    text, dev = zipf_corpus(sentences=60), zipf_corpus(8, sentences=60)
    model = NgramModel(method="kn", order="auto", discounts=discounts).fit(text, dev)
    tried = [NgramModel(method="kn", order=order, discounts=0.999).fit(text) for order in range(1, AUTO_ORDERS + 1)]
    best = min(tried, key=lambda one: one.perplexity(dev, draws=1)["perplexity"])
    assert model.order_ == best.order_ and (model.discounts_[:, 1:] == 0.999).all()


def test_a_development_text_without_any_probability_is_refused():
    text, dev = circle(20), Corpus.from_sentences([["never"]])
    for settings_ in ({"order": "auto"}, {"order": 2}):
        with pytest.raises(SettingError, match="nothing in the development text has a probability"):
            NgramModel(method="mkn", unigram="types", boundary="none", min_count=1, **settings_).fit(text, dev)
    part = NgramModel(method="mkn", order=1, unigram="types", boundary="none", min_count=1).fit(text)
    with pytest.raises(InputError, match="no model gives anything in the development text a probability"):
        Mixture([part, part]).fit(dev)


@pytest.mark.parametrize("method", METHODS)
def test_a_lower_order_from_the_same_counts_is_that_order_trained_anew(method):
    corpus = zipf_corpus()
    high = NgramModel(method=method, order=4).fit(corpus)
    for order in (1, 2, 3):
        lower, fresh = high.at_order(order), NgramModel(method=method, order=order).fit(corpus)
        np.testing.assert_array_equal(lower.events(corpus).log_probability, fresh.events(corpus).log_probability)
    assert high.order == 4


# ---- perplexity and its friends


def test_perplexity_is_that_of_the_events_one_by_one():
    corpus = zipf_corpus()
    model = NgramModel(method="mkn", order=3).fit(corpus)
    dev = Corpus.from_sentences([["w1", "w2"], [], ["never", "w3"]])
    logs, known = [], []
    for sentence in dev:
        history = ["<s>"]
        for word in [*sentence, "</s>"]:
            id = 2 if word == "</s>" else model.vocab_.id(word)
            logs.append(math.log(model.distribution(history)[id]))
            if id:
                known.append(logs[-1])
            history.append(word)
    result = model.perplexity(dev)
    assert result["tokens"] == 7 and result["oov"] == 1
    assert result["perplexity"] == pytest.approx(math.exp(-np.mean(logs)), rel=1e-12)
    assert result["perplexity_without_oov"] == pytest.approx(math.exp(-np.mean(known)), rel=1e-12)
    assert result["low"] <= result["perplexity"] <= result["high"]
    bits, starts = model.surprisals(dev)
    np.testing.assert_allclose(bits, np.array(logs) / -math.log(2), rtol=1e-12)
    assert starts.tolist() == [0, 3, 4, 7]


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("method", FAMILY)
def test_a_few_words_score_the_same_before_and_after_the_model_is_laid_out(method, boundary):
    corpus = zipf_corpus()
    unseen = Corpus.from_sentences([["w1", "never", "w2", "w29", "w28"], [], *zipf_corpus(seed=5)])
    for order, unigram in product((1, 2, 4), ("uniform", "types")):
        model = NgramModel(method=method, order=order, boundary=boundary, unigram=unigram).fit(corpus)
        before = model.events(unseen).log_probability
        assert ("automaton_" in vars(model)) == (not FAMILY[method].interpolated)
        model.next_words(["w1"])
        np.testing.assert_array_equal(model.events(unseen).log_probability, before)


def test_who_asks_much_or_often_makes_the_model_lay_itself_out(tmp_path):
    corpus = zipf_corpus()
    NgramModel(order=3).fit(corpus).save(tmp_path / "m")
    short = corpus[:20]
    events = short.n_tokens + len(short)
    model = corpuscle.load(tmp_path / "m")
    for _ in range(FEW // events):
        model.events(short)
    assert "automaton_" not in vars(model)
    model.events(short)
    assert "automaton_" in vars(model)
    for much in [["w1 w2"] * FEW], [["w1"], ["w2"]] * FEW, []:
        model = corpuscle.load(tmp_path / "m")
        model.score([" ".join(words) for words in much])
        assert "automaton_" in vars(model)


def test_workers_and_chunks_do_not_change_scores():
    corpus = zipf_corpus(sentences=8000)
    one = NgramModel(method="mkn", order=3, workers=1).fit(corpus)
    two = NgramModel(method="mkn", order=3, workers=2).fit(corpus)
    np.testing.assert_array_equal(one.events(corpus).log_probability, two.events(corpus).log_probability)


def test_a_better_model_wins_the_paired_comparison():
    corpus = zipf_corpus(sentences=1500)
    train, test = corpus[:1000], corpus[1000:]
    good, poor = NgramModel(method="mkn", order=2).fit(train), NgramModel(method="mkn", order=1).fit(train)
    result = compare(good, poor, test, test)
    assert result.difference < 0 and result.high < 0 and result.p_value < 0.01


@pytest.mark.parametrize("extra", [{}, {"prune": (0, 1)}, {"method": "backoff-mkn"}])
def test_next_words_are_the_largest_of_the_distribution(extra):
    corpus = zipf_corpus()
    model = NgramModel(order=3, **extra).fit(corpus)
    for history in histories(model, corpus, 3):
        everything = np.sort(model.distribution(history)[1:])[::-1]
        for k in (1, 5, 20):
            assert [p for _, p in model.next_words(history, k)] == pytest.approx(everything[:k].tolist())
    assert len(model.next_words(["w1"], 10_000)) == np.count_nonzero(model.distribution(["w1"])[1:])


def test_samples_repeat_with_the_seed_and_follow_the_unigrams():
    corpus = zipf_corpus(sentences=400, types=6)
    model = NgramModel(method="mkn", order=1, min_count=1).fit(corpus)
    drawn = list(model.sample(600, seed=4))
    assert drawn[:20] == list(model.sample(20, seed=4)) != list(model.sample(20, seed=5))
    tokens = [word for sentence in drawn for word in sentence]
    expected = model.distribution([])
    share = 1 - expected[0] - expected[2]
    for word in corpus.vocab.strings[3:]:
        assert tokens.count(word) / len(tokens) == pytest.approx(expected[model.vocab_.id(word)] / share, abs=0.03)


@pytest.mark.parametrize("make", [NgramModel, lambda **settings: HpyModel(order=2, sweeps=2, samples=1, **settings)])
@pytest.mark.parametrize("min_count", [1, 2])
def test_a_part_of_a_text_is_a_text_of_its_own(make, min_count):
    whole = zipf_corpus(sentences=60)
    part = whole[:12]
    alone = Corpus.from_sentences(list(part))
    model, expected = (make(min_count=min_count).fit(corpus) for corpus in (part, alone))
    assert sorted(model.vocab_.strings) == sorted(expected.vocab_.strings)
    assert len(model.vocab_) < len(whole.vocab)
    assert model.provenance_ == expected.provenance_
    if isinstance(model, NgramModel):
        np.testing.assert_allclose(model.events(whole).log_probability, expected.events(whole).log_probability)


def test_words_with_a_count_of_zero_stay_if_the_counts_are_those_of_the_text():
    vocab = Vocab.from_words(["a", "b", "never"], [2, 1, 0])
    model = NgramModel(order=2, min_count=1).fit(Corpus.from_sentences([["a", "b"], ["a"]], vocab))
    assert model.vocab_ is vocab and model.distribution([])[vocab.id("never")] > 0


def test_a_first_start_symbol_is_the_beginning_of_a_sentence_even_if_it_is_a_word_too():
    corpus = Corpus.from_sentences([["a", "<s>", "b"], ["a", "b"], ["a", "<s>", "b", "b"]])
    settings_ = {"min_count": 1, "allow_markup": True}
    word_model = NgramModel(method="kn", order=2, **settings_).fit(corpus)
    sampled = {"sweeps": 2, "samples": 1, **settings_}
    for model in (
        word_model,
        ClassModel({"a": 1, "b": 2, "<s>": 3}, class_ngram(method="kn", order=2, allow_markup=True)).fit(corpus),
        HpyModel(order=2, **sampled).fit(corpus),
        HpyModel(order="infinite", **sampled).fit(corpus),
        Mixture([word_model, word_model]),
    ):
        first, after_word = model.distribution(["<s>"]), model.distribution(["<s>", "<s>"])
        events = model.events(Corpus.from_sentences([["a", "<s>", "b"]])).log_probability
        assert np.log(first[model.vocab_.id("a")]) == pytest.approx(events[0])
        assert np.log(after_word[model.vocab_.id("b")]) != pytest.approx(np.log(first[model.vocab_.id("b")]))
    stream = NgramModel(method="kn", order=2, boundary="none", **settings_).fit(corpus)
    np.testing.assert_array_equal(stream.distribution(["<s>"]), stream.distribution(["a", "<s>"]))


def test_models_that_learn_again_forget_what_they_had_learned():
    first, second, dev = zipf_corpus(sentences=60), zipf_corpus(4, 40, types=12), zipf_corpus(5, 20)
    classes = {f"w{i}": i % 3 for i in range(30)}
    for make in (
        lambda: NgramModel(method="mkn", order=2),
        lambda: NgramModel(method="kn", order=2, prune=(0, 1)),
        lambda: ClassModel(classes, class_ngram()),
    ):
        model, fresh = make().fit(first, dev), make().fit(second)
        model.events(dev), model.next_words(["w1"])
        model.fit(second)
        np.testing.assert_array_equal(model.events(dev).log_probability, fresh.events(dev).log_probability)
        assert model.next_words(["w1"]) == fresh.next_words(["w1"])
        assert len(model.tuning_items_) == 0
        assert model.part().settings == fresh.part().settings
    parts = [NgramModel(method="mkn", order=order).fit(first) for order in (1, 2)]
    mixture, fresh = Mixture(parts).fit(first).fit(dev), Mixture(parts).fit(dev)
    np.testing.assert_array_equal(mixture.weights_, fresh.weights_)
    np.testing.assert_array_equal(mixture.tuning_items_, fresh.tuning_items_)


# ---- pruning


@pytest.mark.parametrize("settings_", [{"prune": (0, 1)}, {"prune": (0, 0, 2)}, {"entropy": 1e-4}, {"entropy": 1e9}])
@pytest.mark.parametrize("method", ["mkn", "backoff-kn"])
def test_pruned_models_are_smaller_and_still_sum_to_one(method, settings_):
    corpus = zipf_corpus()
    full = NgramModel(method=method, order=3).fit(corpus)
    model = NgramModel(method=method, order=3, **settings_).fit(corpus)
    assert len(model.tables_.words) < len(full.tables_.words)
    for history in histories(model, corpus, 3):
        assert model.distribution(history).sum() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("settings_", [{"prune": (0, 1)}, {"prune": (0, 0, 2), "entropy": 1e-4}, {"entropy": 1e-5}])
def test_pruning_a_model_that_was_learned_is_learning_a_pruned_one(tmp_path, settings_):
    corpus = zipf_corpus()
    full = NgramModel(order=3, workers=1).fit(corpus)
    full.save(tmp_path / "full")
    for model in full, corpuscle.load(tmp_path / "full"):
        model.pruned(**settings_).save(tmp_path / "later")
        NgramModel(order=3, **settings_).fit(corpus).save(tmp_path / "at once")
        assert (tmp_path / "later").read_bytes() == (tmp_path / "at once").read_bytes()
    assert full.ngrams_ is not None and full.prune == () and full.pruned(**settings_).workers == 1


@pytest.mark.parametrize("how", ["pruned", "tuned", "imported"])
def test_a_model_without_counts_is_pruned_by_entropy_alone(tmp_path, how):
    corpus = zipf_corpus()
    model = NgramModel(order=3).fit(corpus, corpus if how == "tuned" else None)
    if how == "imported":
        write_arpa(model, tmp_path / "arpa")
        model = read_arpa(tmp_path / "arpa")
    else:
        model = model.pruned((0, 0, 1), 1e-6)
    model.save(tmp_path / "model")
    loaded = corpuscle.load(tmp_path / "model")
    pruned = loaded.pruned(entropy=1e-4)
    assert sum(pruned.sizes_) < sum(model.sizes_) and (pruned.prune, pruned.entropy) == (model.prune, 1e-4)
    assert pruned.sizes_ == model.pruned(entropy=1e-4).sizes_
    for history in histories(pruned, corpus, 3):
        assert pruned.distribution(history).sum() == pytest.approx(1.0, abs=1e-6)
    pruned.save(tmp_path / "pruned")
    assert (tmp_path / "pruned").stat().st_size < (tmp_path / "model").stat().st_size
    for arguments, reason in (((0, 1), 0.0), "no counts"), (((), 0.0), "what to leave out"), (((1,), 1e-4), "prune is"):
        with pytest.raises(SettingError, match=reason):
            loaded.pruned(*arguments)


def test_the_file_of_a_pruned_model_is_smaller_even_if_little_was_left_out(tmp_path):
    full = NgramModel(order=3).fit(zipf_corpus())
    full.save(tmp_path / "full")
    pruned = full.pruned(entropy=1e-7)
    assert sum(pruned.sizes_) > 0.9 * sum(full.sizes_)
    pruned.save(tmp_path / "pruned")
    assert (tmp_path / "pruned").stat().st_size < (tmp_path / "full").stat().st_size
    np.testing.assert_array_equal(corpuscle.load(tmp_path / "pruned").tables_.suffix, pruned.tables_.suffix)


def test_entropy_pruning_removes_what_changes_the_model_least():
    from corpuscle.engine.ngrams.smoothing import relative_entropy

    corpus = zipf_corpus(sentences=60, types=6)
    model = NgramModel(method="mkn", order=2, min_count=1).fit(corpus)
    tables = model.tables_
    divergence = relative_entropy(tables, 1, 2)
    for row in range(int(tables.levels[1]), int(tables.levels[1]) + 12):
        context = int(np.searchsorted(tables.first_child, row, side="right") - 1)
        before = np.exp(model.automaton_.rows["log_probability"])  # all rows
        history = [tables_word(model, context)]
        p = model.distribution(history)
        children = range(int(tables.first_child[context]), int(tables.first_child[context + 1]))
        q = np.exp(tables.log_probability[: len(model.vocab_)].copy())
        kept = {int(tables.words[r]): before[r] for r in children if r != row}
        weight = (1 - sum(kept.values())) / (1 - sum(q[w] for w in kept))
        q = q * weight
        for word, probability in kept.items():
            q[word] = probability
        weight_of_history = math.exp(tables.log_probability[2 if context == 1 else context])
        positive = p > 0
        exact = weight_of_history * float((p[positive] * np.log(p[positive] / q[positive])).sum())
        assert divergence[row] == pytest.approx(exact, abs=1e-10)


def test_entropy_pruning_gives_the_beginnings_of_padded_sentences_a_weight():
    from corpuscle.engine.ngrams.smoothing import relative_entropy
    from corpuscle.engine.ngrams.trie import find_ngram

    model = NgramModel(method="mkn", order=3, min_count=1, boundary="pad").fit(zipf_corpus(sentences=60, types=6))
    tables = model.tables_
    context = find_ngram(tables.words, tables.first_child, np.array([1, 1]))
    assert (relative_entropy(tables, 1, 2)[tables.first_child[context] : tables.first_child[context + 1]] > 0).all()


def tables_word(model, context):
    return "<s>" if context == 1 else model.vocab_.word(context)


# ---- files


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_a_saved_model_scores_the_same_exactly_if_it_has_counts_else_to_seven_digits(tmp_path, boundary):
    corpus = zipf_corpus()
    for name, extra, digits in (("counts", {}, 0), ("pruned", {"prune": (0, 1)}, 5e-7)):
        model = NgramModel(method="mkn", order=3, boundary=boundary, **extra).fit(corpus)
        model.save(tmp_path / name)
        loaded = corpuscle.load(tmp_path / name)
        ours, theirs = model.events(corpus).log_probability, loaded.events(corpus).log_probability
        np.testing.assert_allclose(theirs, ours, rtol=digits, atol=0)
        loaded.save(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == (tmp_path / name).read_bytes()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("suffix", [".arpa", ".arpa.gz"])
def test_arpa_round_trip_is_exact_to_text_rounding(tmp_path, method, suffix):
    corpus = zipf_corpus()
    model = NgramModel(method=method, order=4).fit(corpus)
    write_arpa(model, tmp_path / f"m{suffix}")
    again = read_arpa(tmp_path / f"m{suffix}")
    test = Corpus.from_sentences([["w1", "w2", "never", "w3"], [], ["w29", "w1"], *list(corpus)[:50]])
    ours, theirs = model.events(test).log_probability, again.events(test).log_probability
    np.testing.assert_allclose(theirs / math.log(10), ours / math.log(10), atol=1e-9)


words_with_traps = st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zs", "Zl", "Zp")), min_size=1, max_size=4)
traps = st.sampled_from(["<unk>", "<s>", "</s>", "\\<s>", "\\\\<unk>", "<UNK>", "\\data\\", "-1.5", "\\end\\"])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(words_with_traps | traps, max_size=5), min_size=1, max_size=6).filter(any))
def test_any_word_survives_an_arpa_file(tmp_path_factory, sentences):
    corpus = Corpus.from_sentences(sentences)
    model = NgramModel(method="kn", order=2, min_count=1, allow_markup=True, unk_token="literal").fit(corpus)
    path = tmp_path_factory.mktemp("arpa") / "m.arpa"
    write_arpa(model, path)
    again = read_arpa(path)
    assert again.vocab_.strings == model.vocab_.strings
    np.testing.assert_allclose(again.events(corpus).log_probability, model.events(corpus).log_probability, atol=1e-8)


def test_arpa_of_pruned_models_with_gaps_is_read_like_other_tools_do(tmp_path):
    (tmp_path / "m.arpa").write_text(
        "some tool's comment\n\n\\data\\\nngram 1=5\nngram 2=2\nngram 3=1\n\n"
        "\\1-grams:\n-1.0 <UNK>\n-99 <s> -0.5\n-0.5\t</s>\n-0.6\ta\t-0.25\n-0.7 b -0.1\n\n"
        "\\2-grams:\n-0.3\t<s> a\t-0.2\n-0.1\tb b\n\n\\3-grams:\n-0.05\t<s> a b\n\n\\end\\\n"
    )
    model = read_arpa(tmp_path / "m.arpa")
    log10 = model.events(Corpus.from_sentences([["a", "b", "b", "x"]])).log_probability / math.log(10)
    # (a b) is not listed: after "<s> a b" the context is just b, and its weight counts.
    np.testing.assert_allclose(log10, [-0.3, -0.05, -0.1, -0.1 - 1.0, -0.5], atol=1e-12)


def test_numbers_with_exponents_are_read_from_arpa_files(tmp_path):
    unigrams = "-1.2e+01\t<unk>\n-99\t<s>\t-5e-01\n-1.5e0\t</s>\n-0.0025E+2\ta\t1.25e-05\n"
    text = f"\\data\\\nngram 1=4\nngram 2=1\n\n\\1-grams:\n{unigrams}\n\\2-grams:\n-3e-05\ta a\n\n\\end\\\n"
    (tmp_path / "m.arpa").write_text(text)
    model = read_arpa(tmp_path / "m.arpa")
    log10 = model.events(Corpus.from_sentences([["a", "a", "x"]])).log_probability / math.log(10)
    np.testing.assert_allclose(log10, [-0.5 - 0.25, -3e-05, 1.25e-05 - 12, -1.5], rtol=1e-9)


@pytest.mark.parametrize(
    "text",
    [
        "-1.2e+05",
        "1e-05",
        "-7.25E-3",
        "+2e3",
        "1e10",
        "-1e+00",
        "-1e-22",
        "1e-400",
        "0.5",
        "5.",
        ".5",
        "12345678901234567890.5",
        "123456789012345678e-18",
    ],
)
def test_numbers_are_parsed_like_python_does(text):
    data = np.frombuffer(text.encode(), np.uint8)
    value, good = get_number(data, 0, len(data))
    assert good and value == pytest.approx(float(text), rel=1e-15, abs=0)


@pytest.mark.parametrize("text", ["", "e-05", "1e", "1e+", "1e-", "-", ".", "1e5.0", "1-5", "1e+-5", "nan", "0x1"])
def test_what_is_no_number_is_not_taken_for_one(text):
    data = np.frombuffer(text.encode(), np.uint8)
    assert not get_number(data, 0, len(data))[1]


def test_the_start_of_a_sentence_is_never_predicted_whatever_an_arpa_file_says(tmp_path):
    unigrams = "-1\t<unk>\n0\t<s>\t-0.3\n-0.6\t</s>\n-0.5\ta\t-0.2\n"
    text = f"\\data\\\nngram 1=4\nngram 2=2\n\n\\1-grams:\n{unigrams}\n\\2-grams:\n-0.2\t<s> a\n-0.4\ta a\n\n\\end\\\n"
    (tmp_path / "a.arpa").write_text(text)
    model = read_arpa(tmp_path / "a.arpa")
    assert model.distribution(["<s>"])[1] == model.distribution(["a"])[1] == 0.0
    assert "<s>" not in [word for word, _ in model.next_words(["<s>", "a"])]
    assert not any("<s>" in sentence for sentence in model.sample(20, max_length=5))
    assert model.log_probability(["a"]) / math.log(10) == pytest.approx(-0.2 - 0.2 - 0.6)


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("", None, "not an ARPA file"),
        ("\\data\\\nngram 1=1\n\\1-grams:\n0.5 a\n\\end\\\n", 4, "at most 0"),
        ("\\data\\\n", 1, "too early"),
        ("\\data\\\nngram 2=1\n\\1-grams:\n", 2, "order 1 is missing"),
        ("\\data\\\nngram 1=1\n\\2-grams:\n", 3, "expected \\1-grams:"),
        ("\\data\\\nngram 1=2\n\\1-grams:\n-1 a\n\\end\\\n", 5, "1 n-grams of order 1, but the header says 2"),
        ("\\data\\\nngram 1=1\n\\1-grams:\n-1 a\n-1 b\n\\end\\\n", 5, "expected \\end\\"),
        ("\\data\\\nngram 1=1\n\\1-grams:\nx a\n\\end\\\n", 4, "log probability"),
        ("\\data\\\nngram 1=1\n\\1-grams:\n-1 a b\n\\end\\\n", 4, "back-off"),
        ("\\data\\\nngram 1=1\nngram 2=1\n\\1-grams:\n-1 a\n\\2-grams:\n-1 a\n\\end\\\n", 7, "too few"),
        ("\\data\\\nngram 1=1\nngram 2=1\n\\1-grams:\n-1 a\n\\2-grams:\n-1 a c\n\\end\\\n", 6, "no unigram"),
        ("\\data\\\nngram 1=2\n\\1-grams:\n-1 a\n-1 a\n\\end\\\n", 3, "twice"),
        ("\\data\\\nngram 1=99999999999\n\\1-grams:\n-1 a\n\\end\\\n", 3, "more than the file can hold"),
    ],
)
def test_malformed_arpa_files_are_named_by_line(tmp_path, text, line, reason):
    (tmp_path / "bad.arpa").write_text(text)
    with pytest.raises(InputError) as caught:
        read_arpa(tmp_path / "bad.arpa")
    assert reason in caught.value.reason
    assert caught.value.line == line


# ---- classes and mixtures


def test_a_class_model_sums_to_one_and_equals_its_factors(tmp_path):
    corpus = zipf_corpus(types=12)
    classes = {f"w{i}": i % 4 for i in range(12)}
    model = ClassModel(classes, class_ngram(method="kn")).fit(corpus)
    for history in [[], ["w1"], ["<s>", "w2", "w3"], ["never"]]:
        assert model.distribution(history).sum() == pytest.approx(1.0, abs=1e-12)
    counts = np.bincount(corpus.tokens, minlength=len(corpus.vocab))
    count = {word: counts[corpus.vocab.id(word)] for word in classes if word in corpus.vocab}
    inner = model.ngram.distribution(["<s>", "1", "2"])
    expected = inner[model.ngram.vocab_.id("3")] * count["w3"] / sum(count[w] for w in count if classes[w] == 3)
    assert model.distribution(["<s>", "w1", "w2"])[model.vocab_.id("w3")] == pytest.approx(expected, rel=1e-12)
    events = model.events(Corpus.from_sentences([["w1", "w2", "w3"]]))
    assert math.exp(events.log_probability[2]) == pytest.approx(expected, rel=1e-12)
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(
        corpuscle.load(tmp_path / "m").events(corpus).log_probability, model.events(corpus).log_probability
    )


def test_a_mixture_sums_to_one_over_the_union_and_beats_its_parts(tmp_path):
    corpus = zipf_corpus(sentences=900)
    first = NgramModel(method="mkn", order=3, min_count=1).fit(corpus[:200])
    second = NgramModel(method="mkn", order=1, min_count=3).fit(corpus[200:700])
    dev = corpus[700:]
    mixture = Mixture([first, second]).fit(dev)
    assert mixture.weights_.sum() == pytest.approx(1.0)
    for history in [[], ["w1"], ["<s>", "w2"], ["never"]]:
        assert mixture.distribution(history).sum() == pytest.approx(1.0, abs=1e-12)
    assert mixture.perplexity(dev)["perplexity"] <= min(m.perplexity(dev)["perplexity"] for m in (first, second))
    sentence = ["w1", "w2", "w28"]
    stepwise, history = 0.0, ["<s>"]
    for word in [*sentence, "</s>"]:
        stepwise += math.log(mixture.distribution(history)[2 if word == "</s>" else mixture.vocab_.id(word)])
        history.append(word)
    assert mixture.log_probability(sentence) == pytest.approx(stepwise, abs=1e-10)
    mixture.save(tmp_path / "m")
    np.testing.assert_array_equal(
        corpuscle.load(tmp_path / "m").events(dev).log_probability, mixture.events(dev).log_probability
    )


def test_em_finds_the_weight_that_a_grid_finds():
    corpus = zipf_corpus(sentences=900)
    parts = [
        NgramModel(method="mkn", order=2, min_count=1).fit(corpus[:100]),
        NgramModel(method="mkn", order=1, min_count=1).fit(corpus[:600]),
    ]
    mixture = Mixture(parts).fit(corpus[600:])
    best = mixture.perplexity(corpus[600:])["perplexity"]
    for weight in np.linspace(0.02, 0.98, 25):
        mixture.weights_ = np.array([weight, 1 - weight])
        assert mixture.perplexity(corpus[600:], draws=1)["perplexity"] >= best - 1e-9


# ---- edges


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "sentences",
    [[["a"]], [["a", "a", "a"]], [["a"], []], [["a", "b"]] * 3, [["a"] * 2000]],
    ids=["one word", "one type", "an empty sentence", "repeats", "a long sentence"],
)
def test_degenerate_texts_give_proper_models(method, sentences):
    for order in (1, 2, 9):
        model = NgramModel(method=method, order=order, min_count=1).fit(Corpus.from_sentences(sentences))
        for history in ([], ["a"], ["<s>"], ["<s>", "a"], ["b", "a"]):
            assert model.distribution(history).sum() == pytest.approx(1.0, abs=1e-12)


def test_empty_texts_and_bad_settings_are_refused():
    with pytest.raises(InputError, match="development text is empty"):
        NgramModel().fit(zipf_corpus(), Corpus.from_sentences([[]]))
    for temperature in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(SettingError, match="temperature"):
            list(NgramModel(order=1).fit(zipf_corpus()).sample(temperature=temperature))
    with pytest.raises(SettingError, match="knows no word"):
        list(NgramModel(order=1, min_count=10**6, boundary="none").fit(zipf_corpus()).sample())
    with pytest.raises(InputError, match="empty"):
        NgramModel().fit(Corpus.from_sentences([[], []]))
    with pytest.raises(InputError, match="literal </s>"):
        NgramModel().fit(Corpus.from_sentences([["a", "</s>"]]))
    for bad in ({"method": "x"}, {"order": 0}, {"order": "many"}, {"order": 10**9}, {"min_count": 0},
                {"boundary": "x"}, {"prune": (1,)}, {"prune": (0, 2, 1)}, {"entropy": -1.0}, {"entropy": math.nan},
                {"unk_token": "x"}, {"unigram": "x"}, {"units": "x"}):  # fmt: skip
        with pytest.raises(SettingError):
            NgramModel(**bad)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from("abcde"), max_size=6), min_size=1, max_size=10).filter(any),
    st.sampled_from(list(METHODS)), st.sampled_from(BOUNDARIES), st.integers(1, 4), st.integers(1, 3),
)  # fmt: skip
def test_any_small_text_gives_a_distribution(sentences, method, boundary, order, min_count):
    model = NgramModel(method=method, order=order, min_count=min_count, boundary=boundary).fit(
        Corpus.from_sentences(sentences)
    )
    for history in ([], ["a"], ["a", "b"], ["b", "a", "z"]):
        assert model.distribution(history).sum() == pytest.approx(1.0, abs=1e-11)


def test_strings_are_scored_like_the_corpus_that_they_make():
    corpus = zipf_corpus(sentences=3000)
    model = NgramModel(method="mkn", order=3, workers=2).fit(corpus)
    lines = [*(" ".join(sentence) for sentence in corpus), "never w1", "", "  w2  "]
    together = model.score(lines)
    for column, expected in zip(together, model.events(Corpus.from_sentences(
        [line.split() for line in lines], model.vocab_)).by_sentence(), strict=True):  # fmt: skip
        np.testing.assert_array_equal(column, expected)
