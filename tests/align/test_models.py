"""Word alignment: every probability against enumeration, every closed form against a sum."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from corpuscle.align import HMM, SYMMETRISATIONS, Diagonal, Fertility, Model1, align_pairs, symmetrise
from corpuscle.align.counts import pairs_of
from corpuscle.align.distortion import Diagonal as DiagonalLaw
from corpuscle.align.distortion import Jumps, Uniform, widened
from corpuscle.align.kernels import em
from corpuscle.align.kernels.cooccurrence import couples_of, directed, locate
from corpuscle.compiled import frozen
from corpuscle.random import Random
from corpuscle.text.alignments import Alignments
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import Corpus, starts_of


def bitext_of(rows: list[tuple[str, str]]) -> Bitext:
    """A bitext from strings."""
    return Bitext(
        Corpus.from_sentences([source.split() for source, _ in rows]),
        Corpus.from_sentences([target.split() for _, target in rows]),
    )


def pairs_from(bitext: Bitext):
    """The bitext as kernels see it, with its couples."""
    pairs = pairs_of(bitext.source, bitext.target)
    return pairs, couples_of(pairs, len(bitext.source.vocab), len(bitext.target.vocab))


RANDOM = np.random.default_rng(7)
TINY = bitext_of([("a b c", "x y z x"), ("b", "y y"), ("c a", "z")])


def random_tables(direction: int):
    """Any tables for the tiny bitext."""
    pairs, couples = pairs_from(TINY)
    outputs = TINY.source if direction else TINY.target
    table = RANDOM.uniform(0.01, 1, len(couples.columns) + 1).astype(np.float32)
    null = RANDOM.uniform(0.01, 1, len(outputs.vocab)).astype(np.float32)
    return pairs, table, null


def sentence_tables(pairs, sentence: int, direction: int, table, null):
    """Emissions of one pair: (n_states, n_outputs), and those of the null word (n_outputs,)."""
    m, n = (int(np.diff(s)[sentence]) for s in (pairs.source_starts, pairs.target_starts))
    begin = pairs.cell_starts[sentence]
    emission = table[pairs.cells[begin : begin + m * n].reshape(m, n)].astype(float)
    tokens, starts = (pairs.source, pairs.source_starts) if direction else (pairs.target, pairs.target_starts)
    words = tokens[starts[sentence] : starts[sentence + 1]]
    return (emission.T if direction else emission), null[words].astype(float)


def test_cells_know_their_couples() -> None:
    pairs, couples = pairs_from(TINY)
    seen = {(s, t) for k in range(len(TINY)) for s in TINY.source.sentence(k) for t in TINY.target.sentence(k)}
    rows = np.repeat(np.arange(len(couples.row_starts) - 1), np.diff(couples.row_starts))
    assert len(couples.columns) == len(seen)
    for k in range(len(TINY)):
        cells = pairs.cells[pairs.cell_starts[k] : pairs.cell_starts[k + 1]].tolist()
        wanted = itertools.product(TINY.source.sentence(k), TINY.target.sentence(k))
        assert [(rows[c], couples.columns[c]) for c in cells] == list(wanted)


def test_couples_are_found_again_by_search_and_strangers_are_not() -> None:
    pairs, couples = pairs_from(TINY)
    rows = np.repeat(np.arange(len(couples.row_starts) - 1), np.diff(couples.row_starts))
    order = np.lexsort((couples.columns, rows))
    rising = couples._replace(columns=couples.columns[order])
    again = pairs_of(TINY.source, TINY.target)
    locate(again, rising)
    assert (order[again.cells] == pairs.cells).all()
    unknown = Corpus(np.array([0], np.int32), np.array([0, 1]), TINY.source.vocab)
    strange = pairs_of(unknown, unknown)
    locate(strange, rising)
    assert strange.cells.tolist() == [len(couples.columns)]


def jump_law(m: int, wide: np.ndarray, p0: float, rho: float) -> np.ndarray:
    """P(i' -> i) for i' = 0..m and i = 1..m, by the definition."""
    middle = len(wide) // 2
    law = np.empty((m + 1, m))
    for before in range(m + 1):
        c = np.array([wide[middle + i - before] for i in range(1, m + 1)])
        law[before] = (1 - p0) * ((1 - rho) * c / c.sum() + rho / m)
    return law


def hmm_paths(emission, null, law, p0):
    """All alignments of one sentence pair with their probabilities (0 is the null word)."""
    m, n = emission.shape
    for path in itertools.product(range(m + 1), repeat=n):
        at, probability, steps = 0, 1.0, []
        for j, state in enumerate(path):
            if state == 0:
                probability *= p0 * null[j]
            else:
                steps.append(state - at)
                probability *= law[at, state - 1] * emission[state - 1, j]
                at = state
        yield path, probability, steps


@pytest.mark.parametrize("direction", [0, 1])
def test_hmm_expectations_and_best_path_equal_enumeration(direction) -> None:
    pairs, table, null = random_tables(direction)
    p0, rho = 0.15, 0.07
    counts = RANDOM.uniform(0.1, 5, 101)
    law = Jumps(p0, rho, np.stack([counts, counts]))
    evidence = law.expect(directed(pairs, direction), table[pairs.cells], null)
    wide = widened(counts, 60)
    best = np.empty(len(evidence.nulls), np.int32)
    law = em.JumpLaw(wide, *_frozen(null), p0, rho)
    em.best_path(directed(pairs, direction), law, table[pairs.cells], best)
    outputs = pairs.source_starts if direction else pairs.target_starts
    total, taken = 0.0, np.zeros(121)
    for sentence in range(3):
        emission, from_null = sentence_tables(pairs, sentence, direction, table, null)
        m, n = emission.shape
        steps = jump_law(m, wide, p0, rho)
        share = (
            np.array([
                [(1 - p0) * (1 - rho) * wide[60 + i - b] / wide[61 - b : 61 - b + m].sum() for i in range(1, m + 1)]
                for b in range(m + 1)
            ])
            / steps
        )  # the part of a jump that is not the uniform one
        paths = list(hmm_paths(emission, from_null, steps, p0))
        z = sum(p for _, p, _ in paths)
        expected, nulls = np.zeros((m, n)), np.zeros(n)
        for path, probability, _ in paths:
            at = 0
            for j, state in enumerate(path):
                if state:
                    expected[state - 1, j] += probability / z
                    taken[60 + state - at] += probability / z * share[at, state - 1]
                    at = state
                else:
                    nulls[j] += probability / z
        begin, end = pairs.cell_starts[sentence : sentence + 2]
        shape = (n, m) if direction else (m, n)
        found = evidence.links[begin:end].reshape(shape)
        assert np.allclose(found.T if direction else found, expected, atol=1e-6)
        assert np.allclose(evidence.nulls[outputs[sentence] : outputs[sentence + 1]], nulls, atol=1e-6)
        top = max(paths, key=lambda item: item[1])[0]
        assert (best[outputs[sentence] : outputs[sentence + 1]] + 1).tolist() == list(top)
        total += np.log(z)
    assert evidence.likelihood == pytest.approx(total, rel=1e-12)
    assert np.allclose(evidence.moments, taken[10:111], rtol=1e-9)


def _frozen(*arrays):
    return [frozen(array, np.float32) for array in arrays]


@pytest.mark.parametrize("direction", [0, 1])
@pytest.mark.parametrize("kind", [em.UNIFORM, em.DIAGONAL])
def test_model_1_and_diagonal_posteriors_equal_their_definitions(direction, kind) -> None:
    pairs, table, null = random_tables(direction)
    p0, strength = 0.2, 3.3
    law = Uniform() if kind == em.UNIFORM else DiagonalLaw(p0, np.full(2, strength))
    evidence = law.expect(directed(pairs, direction), table[pairs.cells], null)
    total, sum_h = 0.0, 0.0
    for sentence in range(3):
        emission, from_null = sentence_tables(pairs, sentence, direction, table, null)
        m, n = emission.shape
        h = -np.abs(np.arange(1, m + 1)[:, None] / m - np.arange(1, n + 1) / n)
        prior = (1 - p0) * np.exp(strength * h) / np.exp(strength * h).sum(axis=0)
        zero = p0
        if kind == em.UNIFORM:
            prior, zero = np.full((m, n), 1 / (m + 1)), 1 / (m + 1)
        joint = prior * emission
        z = joint.sum(axis=0) + zero * from_null
        begin, end = pairs.cell_starts[sentence : sentence + 2]
        found = evidence.links[begin:end].reshape((n, m) if direction else (m, n))
        assert np.allclose(found.T if direction else found, joint / z, atol=1e-6)
        total += np.log(z).sum()
        sum_h += (joint / z * h).sum()
    assert evidence.likelihood == pytest.approx(total)
    assert evidence.moments[0] == pytest.approx(sum_h, rel=1e-5)


def test_diagonal_closed_forms_equal_sums_and_finite_differences() -> None:
    dice = Random(3, "test")
    for _ in range(300):
        m, n = 1 + dice.below(40), 1 + dice.below(40)
        j, strength = 1 + dice.below(n), 0.1 + 14 * dice.uniform()
        h = -np.abs(np.arange(1, m + 1) / m - j / n)
        plain, weighted = em.diagonal_sums(j, m, n, strength)
        assert plain == pytest.approx(np.exp(strength * h).sum(), rel=1e-12)
        assert weighted == pytest.approx((h * np.exp(strength * h)).sum(), rel=1e-9, abs=1e-12)
        up, down = (np.log(em.diagonal_sums(j, m, n, strength + e)[0]) for e in (1e-5, -1e-5))
        assert weighted / plain == pytest.approx((up - down) / 2e-5, rel=1e-6, abs=1e-8)
    assert em.diagonal_sums(3, 7, 9, 1e-12)[0] == pytest.approx(7)


def test_digamma_equals_scipys() -> None:
    from scipy.special import digamma

    x = np.geomspace(1e-4, 1e6, 200)
    assert np.allclose([em.digamma(v) for v in x], digamma(x), rtol=2e-11, atol=2e-11)


def sampled(pairs: int = 1500, seed: int = 1) -> tuple[Bitext, Alignments]:
    """Sentence pairs from a hidden Markov model whose truth is known: 150 types, 6 % of words from nothing."""
    dice = np.random.default_rng(seed)
    types = 150
    zipf = 1 / np.arange(1, types + 1)
    zipf /= zipf.sum()
    translations = np.array([dice.choice(types, 3, replace=False) for _ in range(types)])
    law = np.array([0.02, 0.05, 0.08, 0.15, 0.5, 0.12, 0.05, 0.03])  # jumps of -3..4
    sources, targets, links = [], [], []
    for _ in range(pairs):
        m = dice.integers(3, 10)
        source = dice.choice(types, m, p=zipf)
        at, target, linked = -1, [], []
        for j in range(int(dice.integers(max(3, m - 2), m + 3))):
            if dice.uniform() < 0.06:
                target.append(dice.choice(types, p=zipf))
                continue
            reach = np.arange(m) - at
            weight = np.where((reach >= -3) & (reach <= 4), law[np.clip(reach + 3, 0, 7)], 1e-4)
            at = int(dice.choice(m, p=weight / weight.sum()))
            target.append(translations[source[at], dice.choice(3, p=[0.75, 0.2, 0.05])])
            linked.append((at, j))
        sources.append([f"s{word}" for word in source])
        targets.append([f"t{word}" for word in target])
        links.append(linked)
    return Bitext(Corpus.from_sentences(sources), Corpus.from_sentences(targets)), Alignments.from_pairs(links)


SAMPLE, TRUTH = sampled()


def error_rate(found: Alignments, truth: Alignments) -> float:
    """AER where all links are sure."""
    right = len(found.intersection(truth).links)
    return 1 - 2 * right / (len(found.links) + len(truth.links))


@pytest.mark.parametrize(
    "model, most",
    [
        (Model1(bayes=False), 0.20),
        (Model1(), 0.20),
        (Diagonal(), 0.14),
        (Diagonal(bayes=True, agreement=False), 0.14),
        (HMM(agreement=False), 0.09),
        (HMM(), 0.09),
        (Fertility(), 0.12),  # these words have no habits of fertility to learn
    ],
    ids=["ibm1", "ibm1-vb", "diagonal", "diagonal-vb", "hmm", "hmm-agreement", "fertility"],
)
def test_the_truth_is_recovered(model, most) -> None:
    found = model.fit(SAMPLE).align(SAMPLE, "forward")
    assert error_rate(found, TRUTH) < most


def test_model_1_and_the_hmm_never_become_less_likely() -> None:
    for model in Model1(bayes=False, passes=12), HMM(agreement=False, passes=8):
        history = model.fit(SAMPLE[:200]).history_
        if isinstance(model, HMM):
            history = history[model.warm_up :]  # the step from one model to the other is no step of either
            least = -1e-3 * np.abs(history[:-1])  # jumps are normalised by sentence, which EM does not know
        else:
            least = -1e-6  # tables have 24 bits
        assert (np.diff(history, axis=0) > least).all(), (model.method, history)


def test_the_variational_bound_never_falls() -> None:
    """The log-likelihood under the table minus the divergence of the Dirichlet posteriors from their prior."""
    from scipy.special import gammaln, psi

    bitext, alpha = SAMPLE[:100], 0.3
    bounds = []
    for passes in range(2, 9):
        learning = Model1(alpha=alpha, passes=passes).fit(bitext)
        before = Model1(alpha=alpha, passes=passes - 1).fit(bitext)
        likelihood = learning.history_[-1, 0] * bitext.target.n_tokens
        _, couples = pairs_from(bitext)
        rows = np.repeat(np.arange(len(couples.row_starts) - 1), np.diff(couples.row_starts))
        counts = np.zeros(len(rows))
        keys = rows * 10**6 + couples.columns
        kept_rows = np.repeat(np.arange(len(before.couples_.row_starts) - 1), np.diff(before.couples_.row_starts))
        places = {key: k for k, key in enumerate(keys.tolist())}
        for key, value in zip((kept_rows * 10**6 + before.couples_.columns).tolist(), before.counts_[0], strict=True):
            counts[places[key]] = value
        divergence = 0.0
        groups = [counts[rows == row] for row in np.unique(rows)] + [before.null_counts_[0]]
        for group in groups:
            k, total = len(group), group.sum() + alpha * len(group)
            divergence += gammaln(total) - gammaln(group + alpha).sum() - gammaln(alpha * k) + k * gammaln(alpha)
            divergence += (group * (psi(group + alpha) - psi(total))).sum()
        bounds.append(likelihood - divergence)
    assert (np.diff(bounds) > -1e-2).all()


@pytest.mark.parametrize("method", [HMM, Fertility])
def test_the_result_does_not_depend_on_the_number_of_workers(method, tmp_path) -> None:
    files = []
    for workers in 1, 3:
        method(workers=workers, passes=2).fit(SAMPLE).save(tmp_path / f"m{workers}")
        files.append((tmp_path / f"m{workers}").read_bytes())
    assert files[0] == files[1]


A = Alignments.from_pairs([[(0, 0), (1, 1), (3, 3), (4, 3)]])
B = Alignments.from_pairs([[(0, 0), (1, 1), (1, 2), (4, 5)]])


@pytest.mark.parametrize(
    "how, wanted",
    [
        ("intersection", "0-0 1-1"),
        ("union", "0-0 1-1 1-2 3-3 4-3 4-5"),
        ("grow-diag", "0-0 1-1 1-2"),
        ("grow-diag-final", "0-0 1-1 1-2 3-3 4-3 4-5"),
        ("grow-diag-final-and", "0-0 1-1 1-2 3-3 4-5"),
    ],
)
def test_the_worked_example_of_symmetrisation(how, wanted) -> None:
    assert " ".join(f"{i}-{j}" for i, j in symmetrise(A, B, how).links) == wanted


def _links(alignments: Alignments) -> set[tuple[int, ...]]:
    return {(int(p), *link) for p, link in zip(alignments.pairs, alignments.links.tolist(), strict=True)}


def grow_by_the_book(a: set, b: set, diagonal: bool, final: str | None) -> set:
    """Grow-diag and its finals, written as in the literature."""
    steps = [(-1, 0), (0, -1), (1, 0), (0, 1)] + ([(-1, -1), (-1, 1), (1, -1), (1, 1)] if diagonal else [])
    current, union = a & b, a | b
    while True:
        size = len(current)
        for i, j in itertools.product(range(9), range(9)):
            if (i, j) not in current:
                continue
            for x, y in steps:
                new = (i + x, j + y)
                rows, columns = {r for r, _ in current}, {c for _, c in current}
                if new in union and new not in current and (new[0] not in rows or new[1] not in columns):
                    current = current | {new}
        if len(current) == size:
            break
    for side in (a, b) if final else ():
        for i, j in sorted(side):
            free = [i not in {r for r, _ in current}, j not in {c for _, c in current}]
            if all(free) if final == "and" else any(free):
                current = current | {(i, j)}
    return current


def test_symmetrisations_equal_the_book_and_contain_each_other() -> None:
    dice = np.random.default_rng(5)
    rows = [[sorted({tuple(dice.integers(8, size=2).tolist()) for _ in range(9)}) for _ in range(60)] for _ in "ab"]
    a, b = (Alignments.from_pairs(each) for each in rows)
    joined = {how: _links(symmetrise(a, b, how)) for how in SYMMETRISATIONS}
    for final in "grow-diag-final", "grow-diag-final-and":
        assert joined["intersection"] <= joined["grow-diag"] <= joined[final] <= joined["union"]
    for how, diagonal, final in [
        ("grow", False, None),
        ("grow-diag", True, None),
        ("grow-diag-final", True, "or"),
        ("grow-diag-final-and", True, "and"),
    ]:
        wanted = [grow_by_the_book(set(x), set(y), diagonal, final) for x, y in zip(*rows, strict=True)]
        assert joined[how] == {(p, *link) for p, links in enumerate(wanted) for link in links}
    for how in "intersection", "union":
        assert _links(symmetrise(b.transposed(), a.transposed(), how)) == {(p, j, i) for p, i, j in joined[how]}


def as_prepared(model, pairs):
    return pairs


def test_posteriors_of_every_output_sum_to_one() -> None:
    for model in Model1(), Diagonal(), HMM():
        model.fit(SAMPLE[:50])
        (pairs,) = model.map(SAMPLE[:50], as_prepared)
        for direction in (0, 1):
            found = model.posteriors(pairs, direction)
            for k in range(50):
                m, n = (int(np.diff(s)[k]) for s in (pairs.source_starts, pairs.target_starts))
                matrix = found.links[pairs.cell_starts[k] : pairs.cell_starts[k + 1]].reshape(m, n)
                starts = pairs.source_starts if direction else pairs.target_starts
                nulls = found.nulls[starts[k] : starts[k + 1]]
                assert np.allclose(matrix.sum(axis=1 if direction else 0) + nulls, 1, atol=1e-5)


def test_characters_are_tokens_too() -> None:
    names = [("anna", "АННА"), ("ana", "АНА"), ("nina", "НИНА"), ("ian", "ИАН"), ("ani", "АНИ")] * 4
    bitext = bitext_of([(" ".join(a), " ".join(b)) for a, b in names])
    links = align_pairs(bitext)
    assert len(links) == len(bitext)
    assert [tuple(link) for link in links.pair(3).tolist()] == [(0, 0), (1, 1), (2, 2)]


def test_a_pair_with_an_empty_side_gets_no_links() -> None:
    with pytest.warns(UserWarning, match="1 of 4 sentence pairs have an empty side"):
        found = align_pairs(bitext_of([("a b", "x y"), ("", "x"), ("a", "x"), ("b", "y")]))
    assert found.pair(1).tolist() == [] and found.pair(2).tolist() == [[0, 0]]
    assert found.starts.tolist() == starts_of([2, 0, 1, 1]).tolist()
