"""The log-linear aligner as a whole: what it learns, its neighbourhoods, features of one's own, its files."""

from __future__ import annotations

import numpy as np
import pytest

import corpuscle
import corpuscle.model
from corpuscle.align import HMM, Diagonal, Fertility, Model1
from corpuscle.align.base import n_best, n_best_matrix
from corpuscle.align.features import read_features
from corpuscle.align.lexicon import lexicon
from corpuscle.align.loglinear import LogLinear
from corpuscle.align.loglinear_training import Neighbourhood, allowed_links
from corpuscle.align.settings import NEIGHBOURHOODS
from corpuscle.errors import InputError, Interrupted, SettingError
from corpuscle.scale import workers
from corpuscle.text.alignments import Alignments
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import Preprocessing
from tests.align.test_models import SAMPLE, TRUTH, bitext_of, error_rate
from tests.hostile import survives_hostile_edits

FEW = ("pair", "m1", "dice", "diag", "jump")
SMALL = SAMPLE[:120]
TINY = bitext_of([("a b", "x y"), ("b", "y"), ("a c", "z x"), ("c b", "y z")])
SPELT = bitext_of(
    [("anna sees bernard", "bernard Anna voit"), ("clara sees anna", "Anna clara voit"), ("bernard", "bernard")] * 3
)


@pytest.fixture(scope="module")
def small() -> LogLinear:
    """A model of a part of the sampled text."""
    return LogLinear(passes=2, classes=5).fit(SMALL)


@pytest.mark.parametrize("adaptive", [True, False])
def test_the_truth_is_recovered_better_than_by_the_diagonal_model(adaptive) -> None:
    model = LogLinear(families=FEW, classes=10, neighbourhood="cooc", adaptive=adaptive).fit(SAMPLE)
    error = error_rate(model.align(SAMPLE, "forward"), TRUTH)
    assert error < 0.11
    assert error < error_rate(Diagonal().fit(SAMPLE).align(SAMPLE, "forward"), TRUTH)
    assert (np.diff(model.history_[:-1], axis=0) > 0).all()


def test_learning_starts_from_model_1() -> None:
    nearly_still = {"rate": 1e-9, "beta": 0.0, "passes": 1, "agreement": False}
    model = LogLinear(families=("m1log",), neighbourhood="cooc", **nearly_still).fit(SAMPLE)
    start = Model1(bayes=True, passes=8).fit(SAMPLE)
    for kind in "forward", "backward":
        differences = np.abs(model.matrix(SAMPLE, kind).weights - start.matrix(SAMPLE, kind).weights)
        assert (differences > 0.02).mean() < 1e-3  # but for outputs that no word explains
    for direction in (0, 1):
        assert dict(model.learned_features(direction))["m1log log p(t|x)"] == pytest.approx(1)


def with_rare_words() -> tuple[Bitext, Alignments]:
    """Short sentence pairs, behind them 25 long ones with many words that occur once; the links of the long ones."""
    dice, rare = np.random.default_rng(1), 0
    rows = [(" ".join(SAMPLE.source.words(k)), " ".join(SAMPLE.target.words(k))) for k in range(400)]
    gold = []
    for first in range(400, 525, 5):
        long: tuple[list[str], list[str]] = [], []
        links = []
        for k in range(first, first + 5):
            source, target, pairs = SAMPLE.source.words(k), SAMPLE.target.words(k), TRUTH.pair(k).tolist()
            for i in np.flatnonzero(dice.uniform(size=len(source)) < 0.4).tolist():
                rare += 1
                source[i] = f"rare{rare}"
                for j in [j for other, j in pairs if other == i]:
                    target[j] = f"selten{rare}"
            links += [(i + len(long[0]), j + len(long[1])) for i, j in pairs]
            long[0].extend(source)
            long[1].extend(target)
        rows.append((" ".join(long[0]), " ".join(long[1])))
        gold.append(links)
    return bitext_of(rows), Alignments.from_pairs(gold)


def test_directions_in_agreement_make_fewer_errors_with_rare_words_than_the_models_they_start_from() -> None:
    bitext, gold = with_rare_words()

    def errors(model) -> dict[str, float]:
        found = model.fit(bitext).align_all(bitext, ("forward", "grow-diag-final-and"))
        return {way: error_rate(links[len(links) - len(gold) :], gold) for way, links in found.items()}

    ours, alone = (errors(LogLinear(classes=5, agreement=agreement)) for agreement in (True, False))
    baselines = [errors(each) for each in (Model1(bayes=False), Diagonal(bayes=True, agreement=False))]
    for way, error in ours.items():
        assert error < min(alone[way], *(each[way] for each in baselines))


def test_a_huge_penalty_leaves_no_feature_and_all_words_alike() -> None:
    model = LogLinear(beta=1e8, passes=1).fit(TINY)
    assert not any(weights.any() for weights in model.weights_)
    assert model.learned_features(0) == []
    for k in range(len(TINY)):
        share = 1 / (len(TINY.source.words(k)) + 1)  # those of the other side and none
        assert np.allclose(model.matrix(TINY, "forward").matrix(k), share)


def test_neighbourhoods_contain_each_other_and_reach_every_word() -> None:
    with workers(1) as pool:
        hoods = {name: Neighbourhood.learn(SMALL, name, pool) for name in NEIGHBOURHOODS}
    width = len(SMALL.target.vocab)

    def allowed(name: str, d: int) -> set[int]:
        hood = hoods[name]
        keys = hood.rows.astype(np.int64) * width + hood.couples.columns
        return set(keys[hood.allowed[d]].tolist())

    sources, targets = np.unique(SMALL.source.tokens), np.unique(SMALL.target.tokens)
    for d in (0, 1):
        assert allowed("eb-model1", d) < allowed("cooc", d) < allowed("full", d)
        assert allowed("model1", d) < allowed("cooc", d)
        assert len(allowed("full", d)) == len(sources) * len(targets)
        hood, ok = hoods["eb-model1"], allowed("eb-model1", d)
        for k in range(len(SMALL)):
            s, t = SMALL.source.sentence(k).tolist(), SMALL.target.sentence(k).tolist()
            for output in t if d == 0 else s:
                reached = [(x * width + output if d == 0 else output * width + x) in ok for x in (s if d == 0 else t)]
                assert any(reached) or hood.from_null[d][output]
    met = {
        (s * width + t) for k in range(len(SMALL)) for s in SMALL.source.sentence(k) for t in SMALL.target.sentence(k)
    }
    assert allowed("cooc", 0) == met


def test_the_oracle_keeps_the_gold_links_that_are_allowed() -> None:
    gold = TRUTH[: len(SMALL)]
    with workers(1) as pool:
        for name in NEIGHBOURHOODS:
            hood = Neighbourhood.learn(SMALL, name, pool)
            for d in (0, 1):
                kept = allowed_links(gold, SMALL, hood, SMALL, d)
                assert len(kept.intersection(gold).links) == len(kept.links) <= len(gold.links)
                if name in ("cooc", "full"):
                    assert len(kept.links) == len(gold.links)
                else:
                    assert 0.5 < len(kept.links) / len(gold.links) < 1
    other = bitext_of([("s0 unheard", "t0 t1")])
    strange = Alignments.from_pairs([[(0, 0), (1, 0), (1, 1)]])
    assert (allowed_links(strange, other, hood, SMALL, 0).links[:, 0] == 0).all()


def test_a_neighbourhood_that_would_be_too_large_is_refused(monkeypatch) -> None:
    monkeypatch.setattr("corpuscle.align.loglinear_training._MOST_COUPLES", 10)
    with pytest.raises(SettingError, match="too large; use cooc"):
        LogLinear(neighbourhood="full").fit(SMALL)


def gold_words() -> set[tuple[str, str]]:
    """All word pairs that are linked somewhere in the sampled text."""
    words = set()
    for k in range(len(SMALL)):
        source, target = SMALL.source.words(k), SMALL.target.words(k)
        words |= {(source[i], target[j]) for i, j in TRUTH.pair(k).tolist()}
    return words


def test_a_function_of_ones_own_that_tells_the_truth_is_believed(tmp_path) -> None:
    known = gold_words()
    plain = LogLinear(families=FEW, passes=3).fit(SMALL)
    told = LogLinear(families=FEW, passes=3, features=lambda s, t: {"known": 1.0} if (s, t) in known else {})
    told.fit(SMALL)
    truth = TRUTH[: len(SMALL)]
    errors = [error_rate(model.align(SMALL, "intersection"), truth) for model in (plain, told)]
    assert errors[1] < errors[0]
    for direction in (0, 1):
        assert dict(told.learned_features(direction))["user known"] > 0.3
    told.save(tmp_path / "m")
    loaded = corpuscle.load(tmp_path / "m")
    with pytest.raises(SettingError, match="a function of your own"):
        loaded.align(SMALL)
    loaded.set_functions(features=told.user_.function)
    assert (loaded.align(SMALL).links == told.align(SMALL).links).all()


def test_a_table_does_what_a_function_does_and_stays_in_the_model(tmp_path) -> None:
    table = tmp_path / "features.tsv"
    lines = [f"{s}\t{t}\tknown\t1\n" for s, t in sorted(gold_words())]
    table.write_text("".join(lines) + "\tt0\tnone\t0.5\ns1\t\tnone\t-2\n\n")
    known = gold_words()

    def function(source, target):
        if source is None:
            return {"none": 0.5} if target == "t0" else {}
        if target is None:
            return {"none": -2.0} if source == "s1" else {}
        return {"known": 1.0} if (source, target) in known else {}

    models = [LogLinear(families=FEW, passes=1, features=each).fit(SMALL) for each in (read_features(table), function)]
    weights = [[dict(model.learned_features(d)) for d in (0, 1)] for model in models]
    assert weights[0] == weights[1]
    models[0].save(tmp_path / "m")
    loaded = corpuscle.load(tmp_path / "m")
    assert (loaded.matrix(SMALL).weights == models[0].matrix(SMALL).weights).all()
    # Words that were never seen are linked by what the table says about them.
    new = bitext_of([("s0 new", "neu t0")])
    table.write_text("".join(lines) + "new\tneu\tknown\t1\n")
    taught = LogLinear(families=FEW, passes=1, features=read_features(table)).fit(SMALL)
    assert taught.matrix(new).matrix(0)[1, 0] > models[0].matrix(new).matrix(0)[1, 0]


@pytest.mark.parametrize(
    "text, line, reason",
    [
        ("a\tb\tn\t1\na\tb\tn\n", 2, "3 fields"),
        ("a\tb\tn\tx\n", 1, "'x' is not a number"),
        ("a\tb\tn\tnan\n", 1, "is not between"),
        ("a\tb\tn\t1e9\n", 1, "is not between"),
        ("\t\tn\t1\n", 1, "both empty"),
        ("a b\tc\tn\t1\n", 1, "more than one word"),
        ("a\tb\t \t1\n", 1, "no name"),
        ("a\tb\tn\t1\n\nA\tb\tn\t2\n", 3, "for the second time"),
        ("\n", None, "no features"),
    ],
)
def test_a_bad_table_is_an_error_with_its_line(tmp_path, text, line, reason) -> None:
    path = tmp_path / "f.tsv"
    path.write_text(text)
    with pytest.raises(InputError, match=reason) as error:
        read_features(path, Preprocessing(lowercase=True))
    assert str(error.value).startswith(f"{path}:{line}:" if line else f"{path}:")


def test_a_function_that_gives_nonsense_is_an_error() -> None:
    for bad in ({"x": float("inf")}, {"": 1.0}, {"a\nb": 1.0}):
        with pytest.raises(SettingError, match="feature"):
            LogLinear(features=lambda s, t, bad=bad: bad).fit(TINY)


def test_spelling_links_words_that_were_never_seen() -> None:
    model = LogLinear(families=("identity", "prefix", "ortho", "source"), romanise="plain").fit(SPELT)
    assert (
        error_rate(
            model.align(bitext_of([("Zoe meets Élodie", "elodie Zoe rencontre")]), "intersection"),
            Alignments.from_pairs([[(0, 1), (2, 0)]]),
        )
        < 0.35
    )
    romanised = LogLinear(families=("ortho",)).set_functions(romaniser=str.lower).fit(SPELT)
    assert dict(romanised.learned_features(0)).keys() <= {f"ortho {e / 10:.1f}" for e in range(9, 30, 2)}


@pytest.mark.parametrize("model", [Model1(), Diagonal(), HMM(), LogLinear(), LogLinear(null_jump="remember")])
@pytest.mark.parametrize("direction", [0, 1])
def test_all_best_alignments_together_are_certain_and_have_the_links_of_the_posteriors(model, direction) -> None:
    model = model.replace(passes=2).fit(TINY)
    kind = "backward" if direction else "forward"
    matrix, best = model.matrix(TINY, kind), model.align(TINY, kind)
    for k, ranked in enumerate(n_best(model, TINY, 200, direction)):
        probabilities = [each.probability for each in ranked]
        outputs, states = (len(side.words(k)) for side in (TINY.target, TINY.source)[:: -1 if direction else 1])
        assert len(ranked) == (states + 1) ** outputs
        assert probabilities == sorted(probabilities, reverse=True)
        assert sum(probabilities) == pytest.approx(1, abs=1e-5)
        summed = np.zeros((len(TINY.source.words(k)), len(TINY.target.words(k))))
        for each in ranked:
            summed[each.links[:, 0], each.links[:, 1]] += each.probability
        assert np.allclose(summed, matrix.matrix(k), atol=0.0101)
        assert ranked[0].links.tolist() == best.pair(k).tolist()


def test_the_matrix_of_the_best_alignments(small) -> None:
    all_of_them = n_best_matrix(small, TINY, 1)
    both = [small.align(TINY, kind) for kind in ("forward", "backward")]
    for k in range(len(TINY)):
        wanted = np.zeros(all_of_them.matrix(k).shape)
        for links in both:
            for i, j in links.pair(k).tolist():
                wanted[i, j] += 0.5
        assert (all_of_them.matrix(k) == wanted).all()


def test_a_loaded_model_aligns_as_the_learned_one_did(small, tmp_path) -> None:
    small.save(tmp_path / "m")
    loaded = corpuscle.load(tmp_path / "m")
    assert (loaded.matrix(SMALL).weights == small.matrix(SMALL).weights).all()
    assert (loaded.align(SMALL).links == small.align(SMALL).links).all()
    for direction in (0, 1):
        assert loaded.learned_features(direction) == small.learned_features(direction)
    entries = lexicon(loaded, min_links=2)
    assert len(entries) > 20
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def as_prepared(model, pairs):
    return pairs


def test_new_words_empty_sides_and_posteriors_that_sum_to_one(small) -> None:
    bitext = bitext_of([("s1 never", "t3 heard t1"), ("", "t1"), ("s1", ""), ("new", "new")])
    matrix = small.matrix(bitext, "forward")
    assert len(small.align(bitext)) == 4
    assert (matrix.matrix(0).sum(axis=0) <= 1.0001).all()
    (prepared,) = small.map(bitext, as_prepared)
    for direction in (0, 1):
        found = small.posteriors(prepared, direction)
        first = found.links[:6].reshape(2, 3).sum(axis=direction)
        assert np.allclose(first + found.nulls[: len(first)], 1, atol=1e-5)
    assert len(small.align(bitext[:0])) == 0


def test_a_pair_that_is_too_long_gets_no_links_and_others_theirs(small) -> None:
    bitext = bitext_of([("s1 s2", "t3 t1"), ("s1 " * 1001, "t1 t2"), ("s1", "t1"), ("s3", "t1 " * 1001)])
    with pytest.warns(UserWarning, match="2 sentence pairs have a side of more than 1,000 words"):
        matrix = small.matrix(bitext, "forward")
    short = small.matrix(bitext.select(np.array([0, 2])), "forward")
    assert (matrix.matrix(0) == short.matrix(0)).all() and (matrix.matrix(2) == short.matrix(1)).all()
    assert not matrix.matrix(1).any() and not matrix.matrix(3).any()
    with pytest.warns(UserWarning):
        links = small.align(bitext)
    assert np.diff(links.starts)[[1, 3]].tolist() == [0, 0]


def test_the_result_does_not_depend_on_the_number_of_workers(tmp_path) -> None:
    files = []
    for count in (1, 2):
        LogLinear(passes=1, classes=5, workers=count).fit(SMALL).save(tmp_path / f"m{count}")
        files.append((tmp_path / f"m{count}").read_bytes())
    assert files[0] == files[1]


@pytest.mark.parametrize("adaptive", [True, False])
def test_an_interrupted_run_goes_on_to_the_same_model(tmp_path, monkeypatch, adaptive) -> None:
    monkeypatch.setattr("corpuscle.align.loglinear_training._WORK_A_CALL", 200_000)  # several slices a pass
    settings = {"passes": 2, "classes": 5, "adaptive": adaptive}
    path = tmp_path / "m"
    LogLinear(**settings).fit(SMALL).save(tmp_path / "whole")
    model = LogLinear(**settings)
    seen = []
    with pytest.raises(Interrupted), model.checkpoint(SMALL, path) as checkpoint:
        after = checkpoint.after

        def stop_in_the_middle(iteration, arrays, **more):
            seen.append((iteration, more.get("position", 0)))
            checkpoint._stop.requested = seen[-1] == (1, 2)
            after(iteration, arrays, **more)

        checkpoint.after = stop_in_the_middle
        model.fit(SMALL, checkpoint=checkpoint)
    again = LogLinear(**settings)
    with again.checkpoint(SMALL, path, resume=True) as checkpoint:
        again.fit(SMALL, checkpoint=checkpoint).save(path)
    assert path.read_bytes() == (tmp_path / "whole").read_bytes()
    assert seen[-1] == (1, 2)


def use(path) -> None:
    """Load a model and work with it."""
    model = corpuscle.load(path)
    model.workers = 1
    bitext = bitext_of([("a b", "x"), ("q", "y z")])
    model.align(bitext)
    model.matrix(bitext)
    lexicon(model)
    model.learned_features(0)


@pytest.mark.filterwarnings("ignore")
def test_damaged_models_are_refused_or_harmless(tmp_path) -> None:
    table = tmp_path / "f.tsv"
    table.write_text("a\tx\tgood\t1\n\ty\tnull\t2\nb\t\tnull\t1\n")
    LogLinear(passes=1, classes=2, features=read_features(table)).fit(TINY).save(tmp_path / "m")
    assert survives_hostile_edits(tmp_path / "m", use, edits=150) > 40


@pytest.mark.parametrize(
    "settings, reason",
    [
        ({"passes": 0}, "passes is a whole number from 1 to 10,000"),
        ({"rate": 0}, "rate is a number from 1e-09 to"),
        ({"beta": -1.0}, "beta is a number from 0.0 to"),
        ({"families": ("magic",)}, "families is some of"),
        ({"neighbourhood": "all"}, "neighbourhood is one of"),
        ({"null_jump": "forget"}, "null_jump is one of"),
        ({"romanise": "greek"}, "romanise is one of"),
        ({"adaptive": 1}, "adaptive is true or false"),
        ({"agreement": None}, "agreement is true or false"),
        ({"max_length": 1001}, "max_length is a whole number from 1 to 1,000"),
        ({"workers": 0}, "workers is a whole number from 1 to"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, reason) -> None:
    with pytest.raises(SettingError, match=reason):
        LogLinear(**settings)


def test_features_of_ones_own_may_be_all_there_are(tmp_path) -> None:
    table = tmp_path / "f.tsv"
    table.write_text("a\tx\tgood\t1\nb\ty\tgood\t1\nc\tz\tgood\t1\n")
    LogLinear(families=(), features=read_features(table)).fit(TINY).save(tmp_path / "m")
    model = corpuscle.load(tmp_path / "m")
    assert [name for name, _ in model.learned_features(1)] == ["user good"]
    assert model.align(TINY, "intersection").links.tolist() == [[0, 0], [1, 1], [0, 0], [0, 1], [1, 0], [0, 1], [1, 0]]
    with pytest.raises(SettingError, match="no features"):
        LogLinear(families=()).fit(TINY)


def test_what_a_log_linear_model_cannot_do_is_said(small) -> None:
    with pytest.raises(SettingError, match="learn from all the text"):
        LogLinear().fit(TINY, base=small)
    with pytest.raises(SettingError, match="fertility has no list"):
        next(n_best(Fertility(passes=1).fit(TINY), TINY, 2, 0))
    with pytest.raises(SettingError, match="no probabilities of new text"):
        small.log_likelihood(TINY)
    assert isinstance(small.align(TINY), Alignments)
    assert isinstance(TINY, Bitext)
