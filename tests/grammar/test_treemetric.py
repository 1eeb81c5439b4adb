"""Brackets by additive distances: distances that add up, estimates, tops, trees, files."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from corpuscle.errors import InputError, SettingError
from corpuscle.grammar import (
    BRANCHINGS,
    Sentences,
    TagMap,
    TreeMetric,
    bank_of_trees,
    branching,
    class_vectors,
    gold_spans,
    heuristic_tops,
    oracle_tops,
    span_f1,
    span_table,
    trees_of,
)
from corpuscle.grammar.treemetric import Estimator, Words, distance_table, smoothing
from corpuscle.model import read
from corpuscle.text import Treebank, format_brackets, parse_brackets
from corpuscle.words import BrownClasses, class_sources
from tests.grammar.test_minimum_evolution import leanings, leaves, random_tree, solve, spans

RANDOM = np.random.default_rng(11)


def bank(sentences: int = 150) -> Treebank:
    """Noun phrases and verbs of a few words, with tags."""
    words, tags = [], []
    for _ in range(sentences):
        row = []
        for part in ("np", "v", "np", "pp") if RANDOM.random() < 0.5 else ("np", "v", "np"):
            if part == "pp":
                row.append(("IN", f"in{RANDOM.integers(3)}"))
            if part == "v":
                row.append(("VBD", f"saw{RANDOM.integers(8)}"))
            else:
                row += [("DT", f"the{RANDOM.integers(2)}"), ("NN", f"dog{RANDOM.integers(12)}")]
        row.append((".", "."))
        words.append([word for _, word in row])
        tags.append([tag for tag, _ in row])
    return Treebank.from_sentences(words, xpos=tags)


# ---- distances


def latent(tree, p: int, m: int):
    """E[w_i w_j'] of every pair of leaves of a random linear latent tree, which is undirected: (n, n, p, p)."""
    n = len(leaves(tree))
    mixing = {i: RANDOM.normal(size=(p, m)) for i in range(n)}
    covariance: dict = {}

    def walk(node):
        """Second moments between this node and the leaves below, with the node's own moment the identity."""
        if isinstance(node, int):
            return {node: mixing[node]}
        below = {}
        for part in node:
            step = RANDOM.normal(size=(m, m)) if not isinstance(part, int) else np.eye(m)
            step = step / np.linalg.norm(step, 2) * 0.9 if not isinstance(part, int) else step
            found = {leaf: matrix @ step for leaf, matrix in walk(part).items()}
            for a, first in below.items():
                for b, second in found.items():
                    covariance[a, b] = first @ second.T
                    covariance[b, a] = covariance[a, b].T
            below |= found
        return below

    walk(tree)
    return covariance


def distance(sigma: np.ndarray, m: int) -> float:
    return float(-np.log(np.linalg.svd(sigma, compute_uv=False)[:m]).sum())


def test_distances_of_a_linear_latent_tree_give_its_tree():
    for n in (4, 5, 6, 7):
        tree = random_tree(0, n)
        sigma = latent(tree, 8, 3)
        d = np.zeros((n, n))
        for (a, b), moment in sigma.items():
            d[a, b] = distance(moment, 3)
        for a in range(n):  # the four point condition: the two largest of three sums are equal
            for b, c, e in combinations(range(a), 3):
                sums = sorted((d[a, b] + d[c, e], d[a, c] + d[b, e], d[a, e] + d[b, c]))
                assert sums[2] == pytest.approx(sums[1], abs=1e-10)
        _, brackets, _, _ = solve(d, 0, leanings(n, len(leaves(tree[0]))))
        assert {tuple(span) for span in brackets.tolist()} == spans(tree)


def test_samples_of_a_latent_tree_give_its_tree():
    m, p, right = 3, 8, 0
    for draw in range(30):
        random = np.random.default_rng(draw)
        tree = ((0, 1), (2, (3, (4, 5)))) if draw % 2 else (((0, 1), 2), ((3, 4), 5))
        n_samples, values = 1000, {}

        def sample(node, parent, random=random, values=values):
            size = p if isinstance(node, int) else m
            matrix = random.normal(size=(size, m)) / np.sqrt(m)
            own = parent @ matrix.T + 0.3 * random.normal(size=(len(parent), size))
            values.setdefault(node, own) if isinstance(node, int) else [sample(part, own) for part in node]

        top = random.normal(size=(n_samples, m))
        for part in tree:
            sample(part, top)
        d = np.zeros((6, 6))
        for a in range(6):
            for b in range(6):
                if a != b:
                    d[a, b] = distance(values[a].T @ values[b] / n_samples, m)
        _, brackets, _, _ = solve(d, 0, leanings(6, len(leaves(tree[0]))))
        right += {tuple(span) for span in brackets.tolist()} == spans(tree)
    assert right >= 27


@pytest.mark.parametrize("graded", [True, False])
def test_the_table_is_the_double_loop_over_sentences(graded):
    symbols = RANDOM.integers(0, 3, 80)
    starts = np.arange(0, 81, 8)
    vectors = RANDOM.normal(size=(80, 4))
    words = Words(symbols, starts, vectors, np.arange(3))
    rank, gamma = 2, 0.4
    table = distance_table(words, Estimator(rank, gamma, graded, 7, 1.0), 1)

    def kernel(apart, other):
        value = max(0.0, 1.0 - abs(apart - other) / (apart + other) / gamma)
        return value if graded else float(value > 0)

    def volume(sigma):
        return np.log(np.linalg.svd(sigma, compute_uv=False)[:rank]).sum()

    own = [volume(vectors[symbols == s].T @ vectors[symbols == s] / (symbols == s).sum()) for s in range(3)]
    for s, t, apart in [(0, 1, 1), (1, 0, 2), (2, 2, 3), (0, 2, 5)]:
        total, weight = np.zeros((4, 4)), 0.0
        for a, b in pairwise(starts.tolist()):
            for j in range(a, b):
                for k in range(j + 1, b):
                    if symbols[j] == s and symbols[k] == t:
                        total += kernel(apart, k - j) * np.outer(vectors[j], vectors[k])
                        weight += kernel(apart, k - j)
        assert weight >= rank
        right = -volume(total / weight) + 0.5 * own[s] + 0.5 * own[t]
        assert table[s, t, apart] == pytest.approx(right, abs=1e-10)


def test_neighbours_and_words_two_apart_share_by_a_sixth():
    kernel = smoothing(Estimator(7, 0.4, True, 5, 1.0))
    assert kernel[0, :3] == pytest.approx([1.0, 1.0 / 6.0, 0.0])


def test_the_number_of_workers_changes_no_distance():
    symbols, vectors = RANDOM.integers(0, 4, 300), RANDOM.normal(size=(300, 5))
    words = Words(symbols, np.arange(0, 301, 10), vectors, np.array([0, 1, 0, 3]))
    one, two = (distance_table(words, Estimator(2, 0.4, True, 9, 20.0), n) for n in (1, 2))
    assert (one == two).all()


def test_classes_of_tags_fall_back_to_their_tags():
    symbols, vectors = RANDOM.integers(0, 3, 400), RANDOM.normal(size=(400, 4))
    tags = np.array([0, 1, 0])
    fine = distance_table(Words(symbols, np.arange(0, 401, 8), vectors, tags), Estimator(2, 0.4, True, 7, 1e12), 1)
    coarse = distance_table(
        Words(tags[symbols], np.arange(0, 401, 8), vectors, np.arange(2)), Estimator(2, 0.4, True, 7, 1.0), 1
    )
    assert fine[2, 1] == pytest.approx(coarse[0, 1], abs=1e-6)


# ---- tops


def tagged(text: str) -> Sentences:
    pairs = [word.rpartition("/")[::2] for word in text.split()]
    return Sentences.from_bank(Treebank.from_sentences([[word for word, _ in pairs]], xpos=[[tag for _, tag in pairs]]))


@pytest.mark.parametrize(
    "text, top",
    [
        ("the/DT dog/NN barks/VBZ loudly/RB ./.", 2),
        ("bark/VB now/RB", 1),
        ("the/DT dog/NN", 1),
        ("a/DT barking/VBG dog/NN sleeps/VBZ", 3),
        ("when/WRB it/PRP rains/VBZ ,/, the/DT dog/NN barks/VBZ", 3),
        ("rain/NN ,/, the/DT dog/NN barks/VBZ", 3),  # no verb before the comma
        ("it/PRP rains/VBZ ,/, the/DT dog/NN ,/, the/DT cat/NN sleeps/VBZ ,/, often/RB", 4),
        ("", 1),
    ],
)
def test_the_rule_of_the_top_bracket(text, top):
    assert heuristic_tops(tagged(text)).tolist() == [top]


def test_the_oracle_is_the_inner_end_of_the_widest_bracket_at_an_end():
    trees = parse_brackets([
        "(S (NP (DT a) (NN b)) (VP (V c) (NP (DT d) (NN e))) (. .))",
        "(S (A (B (X a) (X b)) (X c)) (X d))",
        "(S (X a) (X b))",
    ])  # fmt: skip
    own = Sentences.from_bank(bank_of_trees(trees), TagMap.from_patterns([("*", "X", True), (".", ".", True)]))
    gold = gold_spans(trees, own.kept)
    assert [each.tolist() for each in gold] == [
        [[0, 2], [0, 5], [2, 5], [3, 5]], [[0, 2], [0, 3], [0, 4]], [[0, 2]],
    ]  # fmt: skip
    assert oracle_tops(gold, own.lengths, np.array([9, 9, 7])).tolist() == [2, 3, 7]


# ---- models


@pytest.fixture(scope="module")
def model() -> TreeMetric:
    return TreeMetric(dimensions=6, rank=3).fit(bank())


def test_brackets_are_a_binary_tree_with_the_top_of_the_rule(model):
    text = bank(20)
    found, own = model.brackets(text), model.sentences(text)
    for one, n, top in zip(found.lists(own.lengths), own.lengths.tolist(), heuristic_tops(own).tolist(), strict=True):
        parts = {tuple(span) for span in one.tolist()}
        assert len(parts) == n - 1
        assert {(0, n), (top, n)} <= parts
        assert all(not (a < c < b < d) for a, b in parts for c, d in parts)


def test_trees_keep_all_words_and_put_punctuation_where_it_belongs(model):
    text = bank(5)
    trees, sure = trees_of(model.sentences(text), model.brackets(text, confidence=True))
    assert len(sure) == trees.n_nodes
    assert (sure >= 0).all()
    one = Treebank.from_sentences(
        [["the0", "dog1", ",", "saw1", "dog2", "."]], xpos=[["DT", "NN", ",", "VBD", "NN", "."]]
    )
    text = next(format_brackets(model.annotate(one)))
    assert text == "(X (X (DT the0) (NN dog1)) (, ,) (X (VBD saw1) (NN dog2)) (. .))"


@pytest.mark.parametrize("text", [[], ["."], ["dog1"], ["dog1", "saw1"], [",", "dog1"]])
def test_the_smallest_sentences_have_trees(model, text):
    tags = [{"dog1": "NN", "saw1": "VBD"}.get(word, ".") for word in text]
    tree = model.annotate(Treebank.from_sentences([text], xpos=[tags]))
    assert list(tree.words) == [text]


@pytest.mark.parametrize("settings", [
    {"decode": "risk"}, {"top_bracket": "free"}, {"top_bracket": "learned"}, {"edge": "least-squares"},
    {"kernel": "binary"}, {"boundaries": 1.0, "lean": 2.0}, {"symbols": "fine"},
])  # fmt: skip
def test_every_way_gives_trees_and_survives_its_file(settings, tmp_path):
    text = bank(40)
    model = TreeMetric(dimensions=6, rank=3, workers=2, **settings).fit(text)
    model.save(tmp_path / "m")
    loaded = TreeMetric.from_container(read(tmp_path / "m"))
    loaded.workers = 1
    one, two = model.brackets(text, confidence=True), loaded.brackets(text, confidence=True)
    assert all((a == b).all() for a, b in zip(one, two, strict=True))
    assert len(one.shares) == len(one.spans)
    assert one.shares.max() <= 1 + 1e-9


def test_a_free_root_is_the_longest_edge_of_the_shortest_tree(model):
    free = model.replace(top_bracket="free")
    for name in ("symbols_", "gap_symbols_", "gap_kind_", "gaps_", "distances_", "known_", "tag_map_"):
        setattr(free, name, getattr(model, name))
    text = bank(10)
    words = model.sentences(text).lengths
    for one, n in zip(free.brackets(text).lists(words), words.tolist(), strict=True):
        parts = [tuple(span) for span in one.tolist()]
        assert len(set(parts)) == n - 1
        assert parts == sorted(parts, key=lambda span: (span[0], -span[1]))
        assert all(not (a < c < b < d) for a, b in parts for c, d in parts)


def test_classes_are_vectors_and_symbols(tmp_path):
    text = bank(100)
    classes = BrownClasses(classes=6).fit(text.corpus)
    vocab, matrix = class_vectors(classes)
    assert matrix.shape == (len(vocab), 6 + 3)
    assert (matrix[3:, :6].sum(axis=1) == 1).all()
    for symbols in ("classes", "universal-classes"):
        model = TreeMetric(rank=2, symbols=symbols, min_count=5)
        model.fit(text, vectors=(vocab, matrix), sources=class_sources(classes))
        assert len(model.symbols_.keys) > 4
        model.save(tmp_path / "m")
        loaded = TreeMetric.from_container(read(tmp_path / "m"))
        assert (loaded.brackets(text).spans == model.brackets(text).spans).all()
    raw = Treebank.from_sentences(list(text.corpus))
    plain = TreeMetric(rank=2, symbols="classes").fit(raw, sources=class_sources(classes))
    assert plain.annotate(raw).n_nodes > 0


def test_what_cannot_be_learned_is_said():
    text = bank(10)
    with pytest.raises(SettingError, match="class model"):
        TreeMetric(symbols="classes").fit(text)
    with pytest.raises(SettingError, match="rank 9"):
        TreeMetric(rank=9).fit(text, vectors=class_vectors(BrownClasses(classes=4).fit(text.corpus)))
    with pytest.raises(InputError, match="no tags"):
        TreeMetric().fit(Treebank.from_sentences([["a", "b"]]))
    with pytest.raises(InputError, match="no sentence"):
        TreeMetric().fit(Treebank.from_sentences([["a"]], xpos=[["NN"]]))
    with pytest.raises(InputError, match="no universal tag"):
        TreeMetric(strict=True).fit(Treebank.from_sentences([["a", "b"]], xpos=[["QQ", "NN"]]))
    with pytest.raises(SettingError, match="oracle"):
        TreeMetric(rank=2, dimensions=4, top_bracket="oracle").fit(text).brackets(text)


def test_a_new_tag_is_like_others_of_its_universal_tag_or_an_error(model):
    new = Treebank.from_sentences([["a", "b", "c"]], xpos=[["DT", "NNPS", "VBD"]])
    assert len(model.brackets(new).spans) == 2
    strict = TreeMetric(dimensions=6, rank=3, strict=True, symbols="fine").fit(bank())
    with pytest.raises(InputError, match="sentence 1: the tag 'NNPS'"):
        strict.brackets(new)


# ---- baselines and the table


def test_branching_trees_are_what_their_names_say():
    words, tops = np.array([5, 1, 0, 2]), np.array([2, 1, 1, 1])
    lists = {kind: branching(kind, words, tops).lists(words) for kind in BRANCHINGS}
    assert lists["right"][0].tolist() == [[0, 5], [1, 5], [2, 5], [3, 5]]
    assert lists["left"][0].tolist() == [[0, 5], [0, 4], [0, 3], [0, 2]]
    assert lists["balanced"][0].tolist() == [[0, 5], [0, 3], [0, 2], [3, 5]]
    assert lists["top-right"][0].tolist() == [[0, 5], [0, 2], [2, 5], [3, 5]]
    for each in lists.values():
        assert [len(own) for own in each] == [4, 0, 0, 1]
    drawn = [branching("random", np.array([3] * 300), np.ones(300, int), seed).spans for seed in (1, 2)]
    assert (drawn[0] != drawn[1]).any()
    assert 100 < (drawn[0][1::2, 0] == 0).sum() < 200


def test_a_tree_scored_with_itself_is_right_and_right_branching_is_on_its_own_trees():
    trees = parse_brackets(["(S (X a) (S (X b) (S (X c) (X d))))", "(S (X a) (X b))"])
    own = Sentences.from_bank(bank_of_trees(trees))
    gold = gold_spans(trees, own.kept)
    assert span_f1(gold, gold, own.lengths, 10) == {"f1": 1.0, "proper": 1.0, "sentences": 1.0}
    rows = {row["name"]: row for row in span_table(own, trees, {}, limits=(10,))}
    assert rows["right"]["f1"] == rows["right"]["proper"] == 1.0
    assert rows["left"]["f1"] == pytest.approx(4 / 8)
    assert rows["left"]["proper"] == pytest.approx(0.0)
