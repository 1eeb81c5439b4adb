"""Parsers of pairs: features, the classifier, the three decoders, the file."""

from contextlib import nullcontext
from itertools import product

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import corpuscle
from corpuscle.cli.main import main
from corpuscle.engine.dp import charts
from corpuscle.errors import Interrupted
from corpuscle.learning import Checkpoint
from corpuscle.parse import BranchingParser, PairParser, pairs
from corpuscle.parse.kernels.features import collins
from corpuscle.parse.kernels.pairs import FEATURES, YES, Instances, best_segments, pair_features, places_of
from corpuscle.parse.pairs import sampling_of
from corpuscle.random import Random
from corpuscle.samples import generate
from corpuscle.text import write_conllu
from corpuscle.text.treebank import Treebank
from corpuscle.words import ExchangeClasses
from tests.engine.dp.test_charts import all_heads, is_projective
from tests.hostile import survives_hostile_edits
from tests.schemas import last_line_conforms

SMALL = {"hash_bits": 14, "relation_bits": 8, "passes": 25}


@pytest.fixture(scope="module")
def bank():
    return generate(seed=1, sentences=130).treebank()[:120]


@pytest.fixture(scope="module")
def parser(bank):
    return PairParser(**SMALL).fit(bank[:100])


def arcs_for(seed, n):
    arcs = 4 * Random(seed, "segments", n).uniforms(n + 1, n + 1) - 2
    arcs[0] = 0.0
    return arcs


def trees_of(n, arcs):
    """All projective trees with one root and their scores, the best one first."""
    trees = [heads for heads in all_heads(n) if is_projective(heads) and heads.count(0) == 1]
    return sorted(((sum(arcs[h, m] for m, h in enumerate(tree, 1)), tree) for tree in trees), reverse=True)


def segments(n, arcs, k, margin=4, per_root=False):
    heads, scores = np.zeros((k, n), np.int32), np.zeros(k)
    count = best_segments(n, arcs, k, margin, per_root, heads, scores)
    return [(float(scores[rank]), tuple(heads[rank].tolist())) for rank in range(count)]


@pytest.mark.parametrize(("n", "count"), [(1, 1), (2, 2), (3, 7), (4, 30), (5, 143)])
def test_with_an_unlimited_beam_the_chart_has_every_projective_tree_once_and_in_order(n, count):
    arcs = arcs_for(1, n)
    found, right = segments(n, arcs, 200), trees_of(n, arcs)
    assert len(found) == len(right) == count
    assert {tree for _, tree in found} == {tree for _, tree in right}
    assert [score for score, _ in found] == pytest.approx([score for score, _ in right])


def test_one_segment_for_each_root_is_exact_and_one_for_each_span_is_not():
    exact = {(k, per_root): 0 for k in (1, 2, 8) for per_root in (False, True)}
    for seed, (k, per_root) in product(range(40), exact):
        arcs = arcs_for(seed, 5)
        exact[k, per_root] += segments(5, arcs, k, per_root=per_root)[0][1] == trees_of(5, arcs)[0][1]
    assert exact[1, True] == exact[2, True] == 40
    assert exact[1, False] < exact[2, False] <= exact[8, False]


def exhaustive(n, arcs, k):
    """The chart with all cells of all grids, in plain Python: the k best distinct segments of every span."""
    table = {(i, i): [(0.0, i, frozenset())] for i in range(n)}
    for width in range(2, n + 1):
        for i in range(n - width + 1):
            j, found = i + width - 1, {}
            for split in range(i, j):
                for (ls, lr, la), (rs, rr, ra) in product(table[i, split], table[split + 1, j]):
                    for head, modifier in ((lr, rr), (rr, lr)):
                        made = la | ra | {(head, modifier)}
                        found.setdefault(made, (ls + rs + arcs[head + 1, modifier + 1], head, made))
            table[i, j] = sorted(found.values(), key=lambda item: -item[0])[:k]
    return [score for score, _, _ in table[0, n - 1]]


@pytest.mark.parametrize("k", [1, 2, 5])
def test_cube_pruning_with_unlimited_pops_is_exhaustive_combination(k):
    for seed in range(6):
        arcs = arcs_for(seed, 6)
        assert [s for s, _ in segments(6, arcs, k, margin=100_000)] == pytest.approx(exhaustive(6, arcs, k))


def test_the_distance_has_six_answers():
    words = ["we", ",", "he", "saw", ",", "dogs"]
    tags = ["PRON", "PUNCT", "PRON", "VERB", "PUNCT", "NOUN"]
    bank = Treebank.from_sentences([words, words], tags=[tags, tags])
    parser = PairParser()
    parser.tag_layers_ = ("tags",)
    layers = parser._layers(bank)
    base = int(layers.starts[1]) + 1  # the second sentence: what is before it does not matter

    def answers(i, j):
        number = int(collins(layers.verbs, layers.commas, base + i, base + j))
        return [number & 1, number >> 1 & 1, number >> 2 & 1, number >> 3 & 3, number >> 5 & 1, number >> 6]

    assert answers(1, 6) == [1, 0, 1, 2, 1, 1]  # before, not adjacent, a verb, two commas, one at each end
    assert answers(6, 1) == [0, 0, 1, 2, 1, 1]
    assert answers(3, 6) == [1, 0, 1, 1, 0, 1]
    assert answers(1, 3) == [1, 0, 0, 1, 1, 1]
    assert answers(3, 4) == [1, 1, 0, 0, 0, 0]


def test_a_pair_has_62_features_and_a_constant_and_order_matters(bank):
    parser = PairParser()
    parser.tag_layers_ = ("tags",)
    layers, shift = parser._layers(bank), np.uint64(64 - 22)
    one, other = np.zeros(FEATURES, np.uint32), np.zeros(FEATURES, np.uint32)
    pair_features(layers, 3, 4, shift, one)
    pair_features(layers, 4, 3, shift, other)
    assert len(set(one.tolist())) >= 62 and FEATURES == 63
    assert set(one.tolist()) & set(other.tolist()) == {int(one[-1])}


def dense(parser, bank, found):
    places = np.zeros((len(found.sure), FEATURES), np.uint32)
    places_of(parser._layers(bank), found, np.uint64(64 - parser.hash_bits), places)
    matrix = np.zeros((len(places), 1 << parser.hash_bits))
    np.add.at(matrix, (np.arange(len(places))[:, None], places), 1.0)
    return matrix


@pytest.mark.parametrize("classifier", ["maxent", "svm"])
def test_the_classifier_is_that_of_scikit_learn_with_the_right_penalty(bank, classifier, monkeypatch):
    monkeypatch.setattr(pairs, "TOLERANCE", 1e-14)
    settings = {"classifier": classifier, "hash_bits": 10, "relation_bits": 8, "min_count": 1, "passes": 3000}
    few, parser = bank[:6], PairParser(variance=0.5, **settings)
    parser.tag_layers_ = ("tags",)
    found, parser.correction_ = parser._instances(few, 2.5)
    parser._learn(few, found, Checkpoint())
    matrix, labels = dense(parser, few, found), found.sure > 0.5
    # |v|^2 / (4 variance) + loss is |v|^2 / 2 + C loss with C = 2 variance.
    if classifier == "maxent":
        other = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-12, max_iter=10_000).fit(matrix, labels)
    else:
        other = LinearSVC(C=1.0, fit_intercept=False, tol=1e-10, dual=False, max_iter=100_000).fit(matrix, labels)
    scores = matrix @ parser.weights_
    assert scores == pytest.approx(matrix @ other.coef_[0], abs=2e-3)

    def objective(v):
        margins = np.where(labels, 1, -1) * (matrix @ v)
        losses = np.log1p(np.exp(-margins)) if classifier == "maxent" else np.maximum(0, 1 - margins) ** 2
        return losses.sum() + v @ v / 2

    assert objective(parser.weights_.astype(float)) == pytest.approx(objective(other.coef_[0]), rel=1e-6)


def test_a_sample_has_the_size_that_was_asked_for_and_every_pair_is_as_likely(bank):
    parser = PairParser(seed=5)
    found, correction = parser._instances(bank, 2.0)
    arcs, n = int((bank.heads > 0).sum()), bank.corpus.lengths.astype(int)
    assert (found.sure > 0.5).sum() == arcs and len(found.sure) == 3 * arcs
    assert correction == pytest.approx(np.log((n * (n - 1)).sum() - arcs) - np.log(2 * arcs))
    drawn = {(s, h, m) for s, h, m in zip(*(field.tolist() for field in found[:3]), strict=True)}
    assert len(drawn) == len(found.sure)  # without replacement
    negatives = found.sure < 0.5
    place = found.sentences[negatives] / len(bank)
    assert abs(place.mean() - np.average(np.arange(len(bank)) / len(bank), weights=n * (n - 1))) < 0.05
    sampling, _ = sampling_of(1, np.array([1000, 300]), 2.5, 70)
    assert sampling.wanted.tolist() == [50, 20] and sampling.wanted[YES] == 20


def test_trees_are_the_best_by_the_sum_of_log_c_whatever_the_decoder(bank, parser):
    n = 5
    sentence = int(np.flatnonzero(bank.corpus.lengths == n)[0])
    one = bank[sentence : sentence + 1]
    arcs = np.zeros((n + 1, n + 1))
    parser.score(parser._layers(one), 0, arcs)
    assert (arcs[0] == 0).all() and (arcs <= 0).all() and (arcs >= np.log(1e-12) - 1e-9).all()
    right = trees_of(n, arcs)
    parses = parser.parse(one, confidence=True)
    assert parses.scores[0] == pytest.approx(right[0][0]) and tuple(parses.heads.tolist()) == right[0][1]
    inner = parses.heads > 0
    chosen = arcs[parses.heads, np.arange(1, n + 1)]
    assert parses.confidence == pytest.approx(np.exp(chosen)) and inner.sum() == n - 1
    ranked = parser.k_best(one, 4)[0]
    assert [score for _, score in ranked] == pytest.approx([score for score, _ in right[:4]])
    for decoder in ({"decoder": "chart"}, {"decoder": "chart", "beam": 1, "per_root": True}, {"decoder": "mst"}):
        other = parser.replace(**decoder)
        for name in ("weights_", "correction_", "relations_", "relation_weights_", "tag_layers_"):
            setattr(other, name, getattr(parser, name))
        found = other.k_best(one, 1)[0][0][1]
        assert found >= right[0][0] - 1e-9 if decoder["decoder"] == "mst" else found == pytest.approx(right[0][0])
        other.annotate(bank[100:]).check_trees(single_root=True)


def test_a_parser_of_pairs_learns_and_names_relations(bank, parser):
    again = parser.annotate(bank[:100])
    assert (again.heads == bank[:100].heads).mean() > 0.93
    assert np.mean([a == b for a, b in zip(again.relations.strings(), bank.relations.strings(), strict=False)]) > 0.9
    fresh = parser.annotate(bank[100:])
    assert (fresh.heads == bank[100:].heads).mean() > 0.75
    support = PairParser(classifier="svm", **SMALL).fit(bank[:100])
    assert (support.annotate(bank[100:]).heads == bank[100:].heads).mean() > 0.7


def test_word_classes_stand_for_tags_and_travel_with_the_model(bank, tmp_path):
    classes = ExchangeClasses(classes=12).fit(bank.corpus)
    parser = PairParser(tag_layer="classes", **SMALL)
    parser.classes_ = classes
    parser.fit(bank[:80]).save(tmp_path / "m")
    bare = Treebank.from_sentences([bank.corpus.words(i) for i in range(80, 120)])
    found = corpuscle.load(tmp_path / "m").parse(bare).heads
    assert (found == bank[80:].heads).mean() > 0.5


def test_development_trees_choose_the_ratio(bank):
    parser = PairParser(hash_bits=12, relation_bits=8, passes=4).fit(bank[:30], bank[30:40])
    assert parser.chosen_["ratio"] in (1.0, 1.5, 2.0, 2.5, 3.0) and len(parser.tuning_items_)
    assert "ratio" not in PairParser(ratio=2.0, hash_bits=12, relation_bits=8, passes=2).fit(bank[:9], bank[:9]).chosen_


def test_workers_and_interruptions_change_no_byte(bank, tmp_path, monkeypatch):
    for workers in (1, 2):
        PairParser(workers=workers, **SMALL).fit(bank[:30]).save(tmp_path / str(workers))
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()
    steps, finish = [], Checkpoint.after

    def interrupt(self, *arguments, **more):
        steps.append(1)
        self.every = 0.0
        finish(self, *arguments, **more)
        if len(steps) in (7, 30):
            raise Interrupted("stop")

    monkeypatch.setattr(Checkpoint, "after", interrupt)
    for interrupted in (True, True, False):
        parser = PairParser(**SMALL)
        outcome = pytest.raises(Interrupted) if interrupted else nullcontext()
        with outcome, parser.checkpoint(bank[:30], tmp_path / "m", len(steps) > 0) as checkpoint:
            parser.fit(bank[:30], checkpoint=checkpoint).save(tmp_path / "m")
    assert parser.history_.shape[0] < 30 <= len(steps)  # the second time relations were being learned
    assert (tmp_path / "m").read_bytes() == (tmp_path / "1").read_bytes()


def test_branching_trees_know_nothing_of_words(bank, tmp_path):
    for method, heads in (("left", [2, 3, 0]), ("right", [0, 1, 2])):
        BranchingParser(method=method).save(tmp_path / method)
        found = corpuscle.load(tmp_path / method).annotate(Treebank.from_sentences([["a", "b", "c"], ["a"]]))
        assert found.heads.tolist() == [*heads, 0]


def test_the_commands_train_and_apply_every_method(bank, tmp_path, capsys):
    gold, model = tmp_path / "gold.conllu", tmp_path / "m"
    write_conllu(bank[:40], gold)
    common = {"method": str, "sentences": int, "words": int, "relations": int, "tuned": [str], "seconds": float}
    learned = {"arcs": int, "others": int, "features": int, "passes": int, "loss": float}
    options = ["--hash-bits", "12", "--relation-bits", "8", "--passes", "5"]
    for method, more in (("pairs", learned), ("left", {}), ("right", {})):
        given = options if method == "pairs" else []
        assert main(["parse", "train", str(gold), "-o", str(model), "--method", method, *given, "--json"]) == 0
        last_line_conforms(capsys.readouterr().out, common | more)
        assert main(["parse", "apply", str(model), str(gold), "--nbest", "2"]) == 0
        assert "# rank = 1" in capsys.readouterr().out
    for wrong in (
        ["--method", "left", "--ratio", "2"], ["--method", "pairs", "--beam", "3"], ["--class-model", "x"],
        ["--method", "pairs", "--tag-layer", "classes"],
    ):  # fmt: skip
        assert main(["parse", "train", str(gold), "-o", str(tmp_path / "new"), *wrong]) == 2
        assert capsys.readouterr().err.count("error:") == 1 and not (tmp_path / "new").exists()


def test_hostile_files_of_pairs_are_refused(bank, tmp_path):
    PairParser(hash_bits=10, relation_bits=8, passes=2).fit(bank[:5]).save(tmp_path / "m")

    def use(path):
        corpuscle.load(path).annotate(bank[5:7])

    assert survives_hostile_edits(tmp_path / "m", use, edits=80) > 20


def test_instances_are_what_they_say(bank):
    found, _ = PairParser()._instances(bank[:20], 1.0)
    assert isinstance(found, Instances)
    starts = bank.corpus.sentence_starts
    heads = bank.heads[starts[found.sentences] + found.modifiers - 1]
    assert ((heads == found.heads) == (found.sure > 0.5)).all()


def test_a_chart_of_the_first_order_has_the_same_best_tree():
    for seed in range(5):
        arcs = arcs_for(seed, 12)
        heads = np.zeros(12, np.int32)
        best = charts.best_heads(12, arcs, charts.NO_SIBLINGS, True, charts.chart_for(12), heads)
        assert segments(12, arcs, 1, per_root=True)[0][0] == pytest.approx(best)
