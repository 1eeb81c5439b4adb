"""Power low rank ensembles: against formulas over dictionaries, Kneser-Ney, Jelinek-Mercer, sums and marginals."""

import json
from collections import defaultdict
from itertools import product

import numpy as np
import pytest

import corpuscle
from corpuscle.cli.main import main
from corpuscle.engine.ngrams.trie import CONTEXT, WORD, layer_share, step
from corpuscle.errors import InputError, SettingError
from corpuscle.lm import Mixture, NgramModel, PlreModel, read_arpa, write_arpa
from corpuscle.lm.kernels import plre as ensemble
from corpuscle.text import Corpus
from corpuscle.text.vocab import END, START
from tests.lm.test_ngram import BOUNDARIES, PlainModel, histories, zipf_corpus
from tests.schemas import last_line_conforms

pytestmark = pytest.mark.filterwarnings("ignore::corpuscle.errors.CorpuscleWarning")


def plre(**settings):
    return PlreModel(**({"min_count": 1, "order": 3, "ranks": (5, 2), "powers": (0.5,)} | settings))


def probabilities(model, history):
    """P of every word after a history."""
    distribution = model.distribution(list(history))
    return dict(zip(model.vocab_.strings, distribution.tolist(), strict=True))


class PlainEnsemble(PlainModel):
    """The formulas over dictionaries; low rank matrices come from outside, ``low(j, context, word)``."""

    def __init__(self, sentences, order, boundary, powers, low):
        super().__init__(sentences, "kn", order, boundary)
        self.powers, self.low = (1.0, *powers, 0.0), low

    def p(self, word, history):
        if not history:
            return super().p(word, history)
        seen = self.children.get(history, {})
        if not seen:
            return self.p(word, history[1:])
        eta = len(self.powers) - 2
        big, d = self.discount[len(history) + 1][1], self.discount[len(history) + 1][1] ** (1 / (eta + 1))
        count = seen.get(word, 0)
        total = count - d * count ** self.powers[1] if count else 0.0
        for j in range(1, eta + 1):
            share = d**j * (count ** self.powers[j] - d * count ** self.powers[j + 1]) if count else 0.0
            low = self.low(j - 1, history, word)
            total += share if low is None else low * sum(seen.values())
        return (total + big * len(seen) * self.p(word, history[1:])) / sum(seen.values())


@pytest.mark.parametrize("powers", [(0.5,), (0.6, 0.2), (0.5, 0.5)])
@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_probabilities_equal_the_formulas_over_dictionaries(boundary, powers):
    corpus = zipf_corpus(sentences=60, types=9)
    model = plre(boundary=boundary, powers=powers, ranks=((4, 1),) * len(powers)).fit(corpus)
    layers, ngrams = model.layers_, model.ngrams_

    def row(*words):
        ids = [{"<s>": START, "</s>": END}.get(word) or model.vocab_.id(word) for word in words]
        return int(ensemble_row(ngrams, ids))

    def low(j, context, word):
        """S_j / a(context), or None where the slice stays as it is."""
        here = row(*context)
        if layers.scales[CONTEXT, here, j] == 0:
            return None
        there = row(*context[1:], word)
        if there < 0:
            return 0.0
        m = len(context) - 1
        widths, sizes = layers.ranks.sum(1), np.diff(layers.levels)
        begin = int((widths[:m] * sizes[:m]).sum())
        vectors = layers.vectors[:, begin : begin + widths[m] * sizes[m]].reshape(2, -1, widths[m])
        columns = slice(layers.ranks[m, :j].sum(), layers.ranks[m, : j + 1].sum())
        product = vectors[CONTEXT, here - layers.levels[m], columns].astype(float)
        product = product @ vectors[WORD, there - layers.levels[m], columns].astype(float)
        return layers.scales[CONTEXT, here, j] * layers.scales[WORD, there, j] * product

    plain = PlainEnsemble(list(corpus), 3, boundary, powers, low)
    words = corpus.vocab.strings[3:]
    checked = [[], *([w] for w in words), *map(list, product(words[:5], repeat=2))]
    for history in checked:
        ours = model.distribution(history)
        for word in plain.vocabulary:
            id = {"<unk>": 0, "</s>": 2}.get(word) or model.vocab_.id(word)
            assert ours[id] == pytest.approx(plain.p(word, tuple(history)), abs=1e-12)
    assert (layers.scales[CONTEXT] > 0).any(), "some slices are of low rank"


def ensemble_row(ngrams, ids):
    from corpuscle.engine.ngrams.trie import look_up

    return look_up(ngrams, np.array([ids]))[0]


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize(
    "more",
    [
        {"order": 1, "ranks": None},
        {"order": 2, "ranks": (4,)},
        {},
        {"discounting": "modified", "lower": "mass"},
        {"order": 5, "ranks": (6, 2, 1), "powers": (0.8, 0.4)},
    ],
)
def test_every_ensemble_sums_to_one_after_every_history(boundary, more):
    corpus = zipf_corpus()
    model = plre(boundary=boundary, min_count=2, **more).fit(corpus)
    for history in histories(model, corpus, min(model.order, 3)):
        assert model.distribution(history).sum() == pytest.approx(1.0, abs=1e-12)
        assert model.distribution(history)[START] == 0.0


def test_shares_add_up_to_the_count():
    counts = np.array([0.0, 1, 2, 3, 4, 17, 1000])
    for powers in ((1.0, 0.5, 0.0), (1.0, 0.9, 0.3, 0.1, 0.0)):
        steps = np.tile([0.0, 0.7, 0.9, 1.1], (len(powers) - 1, 1))
        parts = ensemble.Discounting(steps, np.array(powers))
        total = sum(ensemble.shares(parts, counts, j) for j in range(len(powers)))
        np.testing.assert_allclose(total, counts, rtol=1e-12)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_without_low_ranks_an_ensemble_is_kneser_ney(order):
    corpus, test = zipf_corpus(), zipf_corpus(seed=4)
    ours = plre(order=order, ranks=(0,), powers=(0.7, 0.2)).fit(corpus).events(test)
    kn = NgramModel(method="kn", order=order, min_count=1).fit(corpus).events(test)
    np.testing.assert_allclose(np.exp(ours.log_probability), np.exp(kn.log_probability), atol=1e-12)


def test_slices_of_full_rank_stay_as_they_are():
    model = plre(ranks=(0, 0)).fit(zipf_corpus())
    adjusted = model._adjusted(model.discounts_)
    for m in (2, 3):
        slices = ensemble.slices_of(model.ngrams_, m)
        most = ensemble.largest_slice(slices, adjusted)
        for rank, expected in (most, False), (most - 1, True):
            found = ensemble.factorise_slices(slices, adjusted[slices.entries], rank, iterations=1, seed=1)
            assert found.row_scales.any() == expected


@pytest.mark.parametrize("discount", [0.3, 0.7])
def test_rank_one_of_power_zero_is_the_kneser_ney_unigram(discount):
    corpus, test = zipf_corpus(), zipf_corpus(seed=4)
    of_order_two = {"order": 2, "min_count": 1, "unigram": "types"}
    ours = PlreModel(ranks=(1,), powers=(0.0,), discounts=((0.5,), (discount**2,)), **of_order_two).fit(corpus)
    kn = NgramModel(method="kn", discounts=((0.5,), (discount,)), **of_order_two).fit(corpus)
    both = [np.exp(model.events(test).log_probability) for model in (ours, kn)]
    np.testing.assert_allclose(*both, atol=1e-12)


def test_a_step_of_equal_powers_is_jelinek_mercer():
    """With rho_1 = 1 the first step mixes the relative frequency and what follows, with weight d."""
    corpus, discount = zipf_corpus(sentences=80, types=10), 0.49
    model = plre(order=2, ranks=(1,), powers=(1.0,), discounts=discount).fit(corpus)
    counts, d = defaultdict(lambda: defaultdict(float)), discount**0.5
    for sentence in corpus:
        for before, word in zip(["<s>", *sentence], [*sentence, "</s>"], strict=True):
            counts[before][word] += 1
    rest = {u: {w: c - d for w, c in row.items()} for u, row in counts.items()}
    column, total = defaultdict(float), sum(sum(row.values()) for row in rest.values())
    for row in rest.values():
        for word, value in row.items():
            column[word] += value
    for u in list(counts)[:5]:
        ours, size = probabilities(model, [u]), sum(counts[u].values())
        for word in ("w0", "w3", "</s>"):
            below = probabilities(model, [])[word]
            smooth = sum(rest[u].values()) * column[word] / total + d * len(counts[u]) * below
            expected = (1 - d) * counts[u].get(word, 0) / size + d * smooth / size
            assert ours[word] == pytest.approx(expected, abs=1e-12)


def marginal_error(boundary, **more):
    """max_w |sum of P(w | its context) over all events - c(w)| / N."""
    corpus = zipf_corpus(sentences=80, types=12)
    model = plre(boundary=boundary, unigram="types", **more).fit(corpus)
    expected, observed = np.zeros(len(model.vocab_)), np.zeros(len(model.vocab_))
    for sentence in corpus:
        words = [*sentence, "</s>"]
        for i, word in enumerate(words):
            expected += model.distribution(["<s>", *words[:i]])
            observed[END if word == "</s>" else model.vocab_.id(word)] += 1
    return np.abs(expected - observed).max() / observed.sum()


def test_plain_discounts_keep_the_marginals_of_padded_text():
    assert marginal_error("pad") < 1e-10
    assert marginal_error("pad", powers=(0.6, 0.3), ranks=(4, 2)) < 1e-10


@pytest.mark.parametrize("boundary", ["single", "pad"])
@pytest.mark.parametrize("discounting", ["plain", "modified"])
def test_lower_orders_by_mass_keep_all_marginals(boundary, discounting):
    assert marginal_error(boundary, lower="mass", discounting=discounting) < 1e-10


def test_numbers_of_types_do_not_keep_the_marginals_of_modified_discounts():
    assert marginal_error("pad", discounting="modified") > 1e-6


def test_mass_is_numbers_of_types_where_there_is_one_discount():
    model = plre(boundary="pad", ranks=(0,)).fit(zipf_corpus())
    by_mass = ensemble.mass_counts(model.ngrams_, model.discounts_, START, False)
    np.testing.assert_allclose(by_mass, model._adjusted(model.discounts_), rtol=1e-12)


def test_scores_distributions_and_steps_agree():
    model, test = plre().fit(zipf_corpus()), zipf_corpus(seed=4, sentences=40)
    events = model.events(test)
    for i, sentence in enumerate(test):
        state = model.initial_state
        for at, word in enumerate([*model.vocab_.encode(sentence).tolist(), END]):
            expected = events.log_probability[events.starts[i] + at]
            state, score = step(model.automaton_, state, word)
            assert score == pytest.approx(expected, abs=1e-12)
            distribution = model.distribution(["<s>", *sentence[:at]])
            assert distribution[word] == pytest.approx(np.exp(expected), rel=1e-12)


def test_unseen_words_get_what_contexts_like_theirs_have():
    """Two classes of words, each followed by the other: an ensemble learns that from a part of the pairs."""
    chance = np.random.default_rng(1)
    nouns, verbs = [f"n{i}" for i in range(40)], [f"v{i}" for i in range(40)]
    sentences = [[str(chance.choice(nouns)), str(chance.choice(verbs))] for _ in range(700)]
    train, test = Corpus.from_sentences(sentences[:400]), Corpus.from_sentences(sentences[400:])
    kn = NgramModel(method="kn", order=2, min_count=1).fit(train)
    ours = plre(order=2, ranks=(3,)).fit(train)
    perplexities = [float(model.perplexity(test, draws=1)["perplexity"]) for model in (ours, kn)]
    assert perplexities[0] < 0.97 * perplexities[1]
    unseen = next(v for v in verbs if ["n0", v] not in sentences)
    assert layer_share(ours.layers_, ours.vocab_.id("n0"), ours.vocab_.id(unseen)) > 0


def test_a_development_text_chooses_what_is_not_given():
    train, dev = zipf_corpus(types=60, sentences=400), zipf_corpus(types=60, seed=9)
    model = PlreModel(min_count=1).fit(train, dev)
    assert set(model.chosen_) == {"powers", "ranks", "discounts"}
    default = PlreModel(min_count=1).fit(train)
    assert model.events(dev).log_probability.mean() > default.events(dev).log_probability.mean()
    again = PlreModel(min_count=1, **model.chosen_)
    assert again.fit(train).layers_.vectors.tobytes() == model.layers_.vectors.tobytes()
    partly = PlreModel(min_count=1, powers=(0.5,), discounts=0.6).fit(train, dev)
    assert set(partly.chosen_) == {"ranks"} and partly.powers_ == (0.5,)
    assert (partly.discounts_[:, 1:] == 0.6).all()


def test_workers_change_no_byte(tmp_path):
    corpus = zipf_corpus()
    files = [tmp_path / str(count) for count in (1, 3)]
    for count, path in zip((1, 3), files, strict=True):
        plre(workers=count).fit(corpus).save(path)
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize("more", [{}, {"boundary": "none", "lower": "mass", "powers": (0.7, 0.3)}, {"ranks": None}])
def test_a_saved_model_scores_the_same(tmp_path, more):
    test = zipf_corpus(seed=4)
    model = plre(**more).fit(zipf_corpus())
    model.save(tmp_path / "m")
    loaded = corpuscle.load(tmp_path / "m")
    assert loaded.events(test).log_probability.tobytes() == model.events(test).log_probability.tobytes()
    assert loaded.origins["powers"] == model.origins["powers"]


def test_an_arpa_file_comes_near(tmp_path):
    model, test = plre().fit(zipf_corpus()), zipf_corpus(seed=4)
    with pytest.raises(SettingError, match="approximate"):
        model.as_ngram()
    near = model.approximate_ngram()
    for history in histories(model, zipf_corpus(), 3):
        assert near.distribution(history).sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_array_equal(near.tables_.log_probability, model.tables_.log_probability)
    write_arpa(near, tmp_path / "arpa")
    perplexities = [float(each.perplexity(test)["perplexity"]) for each in (read_arpa(tmp_path / "arpa"), model)]
    assert perplexities[0] == pytest.approx(perplexities[1], rel=0.05)


def test_an_ensemble_is_part_of_a_mixture(tmp_path):
    train, dev = zipf_corpus(), zipf_corpus(seed=4)
    mixture = Mixture([plre().fit(train), NgramModel(order=2, min_count=1).fit(train)]).fit(dev)
    mixture.save(tmp_path / "m")
    events = corpuscle.load(tmp_path / "m").events(dev)
    np.testing.assert_array_equal(events.log_probability, mixture.events(dev).log_probability)


@pytest.mark.parametrize(
    "settings, reason",
    [
        ({"powers": (0.2, 0.5)}, "does not rise"),
        ({"powers": ()}, "does not rise"),
        ({"powers": (1.2,)}, "from 0.0 to 1.0"),
        ({"ranks": (5, 2, 1)}, "at most 2 of them"),
        ({"ranks": (5, -2)}, "whole numbers"),
        ({"ranks": ((5,), (2,))}, "one for each of 1 powers"),
        ({"ranks": "many"}, "whole numbers"),
        ({"order": 1}, "none at all"),
    ],
)
def test_wrong_settings_are_refused_at_once(settings, reason):
    with pytest.raises(SettingError, match=reason):
        plre(**settings)


@pytest.mark.parametrize(
    "settings, reason",
    [
        ({"ranks": (500, 2)}, "no matrix of order 2 of this text has rank 501: 30 fits"),
        ({"ranks": (5, 50)}, "no matrix of order 3 of this text has rank 51: .. fits"),
        ({"order": 50}, "no n-grams of order 50: its longest sentence has 13"),
        ({"discounts": 1.5}, "at most at k"),
        ({"discounts": (0.5, 0.6)}, "one number"),
    ],
)
def test_what_the_text_cannot_support_is_refused_with_what_would_fit(settings, reason):
    with pytest.raises(SettingError, match=reason):
        plre(**settings).fit(zipf_corpus())


def test_empty_texts_are_refused_and_strict_models_have_discounts():
    with pytest.raises(InputError, match="empty"):
        plre().fit(Corpus.from_sentences([[], []]))
    with pytest.raises(InputError, match="development text is empty"):
        plre().fit(zipf_corpus(), Corpus.from_sentences([[]]))
    with pytest.raises(SettingError, match="do not give discounts"):
        PlreModel(strict=True, min_count=1, order=2).fit(Corpus.from_sentences([["a", "b"]]))


@pytest.mark.parametrize("sentences", [[["a"]], [["a", "a", "a"]], [["a"], [], ["b"]]])
def test_degenerate_texts_give_proper_models(sentences):
    for order in (1, 2):
        model = PlreModel(min_count=1, order=order).fit(Corpus.from_sentences(sentences))
        for history in ([], ["a"], ["<s>"], ["never"]):
            assert model.distribution(history).sum() == pytest.approx(1.0, abs=1e-12)


# ---- the command


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("plre") / "text.txt"
    path.write_text("\n".join(" ".join(sentence) for sentence in zipf_corpus()) + "\n")
    return path


TRAIN = {
    "method": str, "order": int, "sentences": int, "words": int, "types": int, "ngrams": [int],
    "discounts": [[float]], "powers": [float], "ranks": [[int]], "tuned": [str], "seconds": float,
}  # fmt: skip


def test_the_command_trains_measures_predicts_mixes_and_exports(source, tmp_path, capsys):
    path, arpa, other = (str(tmp_path / name) for name in ("m", "arpa", "other"))
    options = ["--method", "plre", "--ranks", "6,2;3,1", "--powers", "0.6,0.3", "--min-count", "1", "--json"]
    assert main(["lm", "train", str(source), "-o", path, *options]) == 0
    result = last_line_conforms(capsys.readouterr().out, TRAIN)
    assert result["method"] == "plre" and result["ranks"] == [[6, 2], [3, 1]]
    assert main(["lm", "perplexity", path, str(source), "--json"]) == 0
    ours = json.loads(capsys.readouterr().out)["perplexity"]
    assert main(["lm", "next", path, "w1", "-k", "3"]) == 0 and main(["lm", "score", path, str(source)]) == 0
    assert main(["lm", "sample", path, "-n", "2"]) == 0 and main(["info", path]) == 0
    assert main(["lm", "train", str(source), "-o", other, "--min-count", "1"]) == 0
    assert main(["lm", "mix", path, other, "-o", str(tmp_path / "mix"), "--dev", str(source)]) == 0
    assert main(["lm", "compare", path, other, str(source)]) == 0
    capsys.readouterr()
    assert main(["lm", "export", path, "-o", arpa]) == 2 and "--approximate" in capsys.readouterr().err
    assert main(["lm", "export", path, "-o", arpa, "--approximate"]) == 0
    assert float(read_arpa(arpa).perplexity(zipf_corpus())["perplexity"]) == pytest.approx(ours, rel=0.05)


@pytest.mark.parametrize(
    "options, reason",
    [
        (["--ranks", "6,x"], "ranks is"),
        (["--ranks", "600"], "rank 601: 30 fits"),
        (["--powers", "0.2,0.5"], "does not rise"),
        (["--order", "60"], "order 60"),
        (["--arpa", "x"], "no exact ARPA form"),
        (["--resume"], "--resume means nothing with --method plre"),
        (["--prune", "0,1"], "--prune means nothing with --method plre"),
    ],
)
def test_what_cannot_be_done_is_one_line(source, tmp_path, capsys, options, reason):
    assert main(["lm", "train", str(source), "-o", str(tmp_path / "m"), "--method", "plre", *options, "--quiet"]) == 2
    error = capsys.readouterr().err
    assert reason in error and error.count("error: ") == 1 and error.splitlines()[-1].startswith("error: ")
    assert not (tmp_path / "m").exists()


def test_a_file_whose_vectors_do_not_fit_is_refused(tmp_path):
    model = plre().fit(zipf_corpus())
    layers = model.layers_
    for change in ({"ranks": layers.ranks + 1}, {"vectors": layers.vectors[:, 1:]}, {"scales": layers.scales[:, 1:]}):
        model.layers_ = layers._replace(**change)
        with pytest.raises(ValueError):
            model.save(tmp_path / "m")
