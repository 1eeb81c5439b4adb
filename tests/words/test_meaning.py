"""Meaning: exact checks of representations, similarities, maps and phrases; recovery; files, commands, bad input."""

from __future__ import annotations

import itertools
import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import corpuscle
from corpuscle.cli.main import main
from corpuscle.errors import CorpuscleWarning, SettingError
from corpuscle.text import FIRST, Corpus, Phrase, ScoredPair, Term, Treebank, Vocab, phrase_of, write_conllu
from corpuscle.words import Forest, HmmClasses, Meaning, compose, judge_pairs, judge_phrases, represent, sweep
from corpuscle.words.meaning import COMPOSITIONS, floored, phrase_posteriors, similarity_matrix, similarity_rows
from corpuscle.words.senses import Sentences, classical_scaling, draw_meanings, senses, substitutes
from corpuscle.words.settings import MEASURES
from corpuscle.words.similarity_benchmarks import judge_relations, pair_scores, standardise
from tests.schemas import FRACTION, conforms, last_line_conforms
from tests.words.test_hmm import Truth, bank

ROWS = st.lists(st.lists(st.integers(0, 5), min_size=4, max_size=4).filter(any), min_size=2, max_size=6)


def made(
    words: list[str], classes: int = 3, seed: int = 1, layer: str = "form/tag", relations: tuple[str, ...] = ()
) -> HmmClasses:
    """A tree model with random parameters."""
    dice = np.random.default_rng(seed)
    model = HmmClasses(classes=classes, structure="tree", layer=layer)
    vocab = Vocab.from_words(words, [20] * len(words))
    emission = np.zeros((len(vocab), classes))
    emission[FIRST:] = dice.dirichlet(np.ones(len(words)), classes).T
    model.vocab_, model.relations_ = vocab, list(relations)
    model.first_ = dice.dirichlet(np.ones(classes)).astype(np.float32)
    model.steps_ = dice.dirichlet(np.ones(classes), (1 + len(relations), classes)).transpose(0, 2, 1).astype(np.float32)
    model.emission_ = emission.astype(np.float32)
    model.counts_ = (20 * emission / np.maximum(emission.sum(axis=1, keepdims=True), 1e-9)).astype(np.float32)
    model.roots_, model.links_ = np.ones(classes), dice.uniform(1, 9, classes)
    model._derive()
    return model


WORDS = [f"{word}/{tag}" for tag in ("NOUN", "VERB", "ADJ") for word in "abc"]


def enumerated(model: HmmClasses, phrase: Phrase, first: np.ndarray, link=lambda relation: 0) -> np.ndarray:
    """The posteriors of a phrase by going through all assignments, float64 (words, C)."""
    classes, n = model.n_classes_, len(phrase.terms)
    ids = [model.vocab_.id(str(term)) for term in phrase.terms]
    result = np.zeros((n, classes))
    for assigned in itertools.product(range(classes), repeat=n):
        weight = 1.0
        for k, c in enumerate(assigned):
            head = phrase.heads[k]
            step = model.steps_[link(phrase.relations[k])].astype(np.float64)
            weight *= first[c] if head == 0 else step[c, assigned[head - 1]]
            weight *= float(model.emission_[ids[k], c])
        for k, c in enumerate(assigned):
            result[k, c] += weight
    return result / result.sum(axis=1, keepdims=True)


# ---- representations


def test_tokens_and_words_add_up_to_one_and_words_to_the_expected_classes():
    forest = Forest.tree(bank())
    model = HmmClasses(classes=4, structure="tree", passes=5).fit(forest)
    meaning = Meaning(represent(model, forest))
    rows = np.concatenate(list(model.posteriors(forest)))
    known = meaning.counts > 0
    assert np.allclose(rows.sum(axis=1), 1, atol=1e-6) and np.allclose(meaning.vectors[known].sum(axis=1), 1, atol=1e-6)
    assert np.allclose(meaning.counts @ meaning.vectors, rows.sum(axis=0), rtol=1e-5)
    for id in np.flatnonzero(known):
        tokens = rows[forest.recode(model.vocab_).corpus.tokens == id]
        assert np.allclose(meaning.vectors[id], tokens.mean(axis=0), atol=1e-6)


def test_right_after_a_pass_words_are_emissions_times_class_counts():
    forest = Forest.tree(bank())
    model = HmmClasses(classes=4, structure="tree", passes=400, tolerance=0.0, prior=0.0).fit(forest)
    counts = model.expected_counts(forest)
    by_hand = model.emission_ * counts.sum(axis=0)
    known = counts.any(axis=1)
    by_hand = by_hand[known] / by_hand[known].sum(axis=1, keepdims=True)
    assert np.allclose(Meaning(represent(model, forest)).vectors[known], by_hand, atol=2e-3)  # learning has converged


def test_a_sentence_of_one_token_is_the_start_times_the_emission():
    model = made(WORDS)
    forest = Forest.tree(Treebank.from_sentences([["b/VERB"]], heads=[[0]]))
    row = next(iter(model.posteriors(forest)))[0]
    by_hand = model.first_ * model.emission_[model.vocab_.id("b/VERB")]
    assert np.allclose(row, by_hand / by_hand.sum(), atol=1e-6)
    alone, _, _ = phrase_posteriors(Meaning(model), [phrase_of([Term("b", "VERB")])])
    emission = model.emission_[model.vocab_.id("b/VERB")].astype(np.float64)
    assert np.allclose(alone[0], emission / emission.sum(), atol=1e-12)


def test_with_a_class_for_each_word_words_are_alike_or_have_nothing_in_common():
    model = made(WORDS[:3])
    model.emission_ = np.zeros((6, 3), np.float32)
    model.emission_[FIRST:] = model.counts_[FIRST:] = np.eye(3)
    model.counts_[:FIRST] = 0
    model._derive()
    forest = Forest.tree(Treebank.from_sentences([["a/NOUN", "c/NOUN"]], heads=[[0, 1]]))
    assert np.array_equal(next(iter(model.posteriors(forest))), np.eye(3, dtype=np.float32)[[0, 2]])
    vectors = Meaning(model).vectors[FIRST:]
    assert np.array_equal(similarity_matrix(vectors, vectors), np.eye(3) - 1)


def test_the_number_of_workers_changes_no_representation():
    forest = Forest.tree(bank(3, 400))
    model = HmmClasses(classes=200, structure="tree", init="random", passes=1, workers=1).fit(forest)
    one = model.expected_counts(forest)
    model.workers = 3
    assert np.array_equal(one, model.expected_counts(forest))


# ---- similarities


@given(ROWS, st.sampled_from(MEASURES))
def test_similarities_are_symmetric_within_bounds_and_the_same_by_matrix_product_as_by_loop(rows, measure):
    p = np.array(rows, np.float64)
    p /= p.sum(axis=1, keepdims=True)
    table = similarity_matrix(p, p, measure)
    loop = np.array([[similarity_rows(a[None], b[None], measure)[0] for b in p] for a in p])
    assert np.allclose(table, loop, atol=1e-7 if measure == "hellinger" else 1e-9) and np.allclose(table, table.T)
    assert np.allclose(np.diag(loop), 1 if measure == "cosine" else 0, atol=1e-7)
    least = {"hellinger": -1, "js": -np.log(2), "kl": -np.inf, "cosine": 0}[measure]
    assert (table >= least - 1e-9).all() and (table <= 1 + 1e-9).all()


@given(ROWS)
def test_hellinger_lies_around_the_total_variation_and_js_by_its_definition(rows):
    p = np.array(rows[:2], np.float64)
    p /= p.sum(axis=1, keepdims=True)
    distance = -similarity_rows(p[:1], p[1:])[0]
    variation = np.abs(p[0] - p[1]).sum() / 2
    assert distance**2 <= variation + 1e-9 and variation <= distance * np.sqrt(2) + 1e-9
    assert distance == pytest.approx(np.linalg.norm(np.sqrt(p[0]) - np.sqrt(p[1])) / np.sqrt(2), abs=1e-7)
    m = p.mean(axis=0)
    js = sum(a * np.log(a / b) for row in p for a, b in zip(row, m, strict=True) if a > 0) / 2
    assert similarity_rows(p[:1], p[1:], "js")[0] == pytest.approx(-js, abs=1e-12)
    a, b = floored(p)
    kl = (a * np.log(a / b)).sum() + (b * np.log(b / a)).sum()
    assert similarity_rows(p[:1], p[1:], "kl")[0] == pytest.approx(-kl, rel=1e-9, abs=1e-12)


def test_distributions_without_a_common_class_are_as_far_apart_as_can_be():
    p, q = np.eye(2)[:1], np.eye(2)[1:]
    found = [similarity_rows(p, q, measure)[0] for measure in ("hellinger", "js", "cosine")]
    assert found == pytest.approx([-1, -np.log(2), 0])
    with pytest.raises(SettingError, match="hellinger, js, kl, cosine"):
        similarity_rows(p, q, "euclid")


# ---- heads and dependents


@pytest.mark.parametrize("prior", ["uniform", "marginal", "jeffrey"])
def test_the_map_to_heads_follows_its_formula(prior):
    model = made(WORDS)
    v, step = np.array([0.2, 0.5, 0.3]), model.steps_[0].astype(np.float64)
    by_hand = np.array([
        sum(v[i] * step[i, j] / (step[i].sum() if prior == "jeffrey" else 1) for i in range(3)) for j in range(3)
    ])  # fmt: skip
    by_hand *= model.links_ if prior == "marginal" else 1
    assert np.allclose(Meaning(model, head_prior=prior).mapped(v[None])[0], by_hand / by_hand.sum(), atol=1e-12)


def test_the_map_is_the_identity_or_forgets_everything_where_transitions_do():
    model, v = made(WORDS), np.array([[0.2, 0.5, 0.3], [0, 0, 1]])
    model.steps_ = np.eye(3, dtype=np.float32)[None]
    assert np.allclose(Meaning(model).mapped(v), v)
    model.steps_ = np.repeat(np.array([[0.2], [0.3], [0.5]], np.float32), 3, axis=1)[None]
    assert np.allclose(Meaning(model).mapped(v), 1 / 3)


def test_relations_have_maps_of_their_own_and_chains_none():
    model = made(WORDS, relations=("nsubj", "obj"))
    meaning, v = Meaning(model), np.array([[0.2, 0.5, 0.3]])
    by_hand = v @ model.steps_[2].astype(np.float64)
    assert np.allclose(meaning.mapped(v, "obj"), by_hand / by_hand.sum())
    assert np.array_equal(meaning.mapped(v, "amod"), meaning.mapped(v))
    chain = Meaning(HmmClasses(classes=2, passes=1).fit(Corpus.from_sentences([["a", "b"]])))
    for ask in (lambda: chain.mapped(v), lambda: compose(chain, [phrase_of([Term("a")])])):
        with pytest.raises(SettingError, match="neighbours, not heads"):
            ask()


# ---- phrases

PHRASES = [
    phrase_of([Term("a", "ADJ"), Term("b", "NOUN")]),
    phrase_of([Term("a", "NOUN"), Term("b", "NOUN")]),
    phrase_of([Term("c", "VERB"), Term("a", "NOUN")]),
    phrase_of([Term("a", "NOUN"), Term("b", "VERB"), Term("c", "NOUN")]),
    Phrase(
        (Term("a", "ADJ"), Term("b", "ADJ"), Term("c", "NOUN"), Term("a", "VERB")), (2, 3, 4, 0), ("_",) * 3 + ("r",)
    ),
]


@pytest.mark.parametrize("relations", [(), ("amod", "nsubj", "obj")])
def test_words_of_phrases_are_those_of_all_assignments_gone_through(relations):
    model = made(WORDS, relations=relations)
    rows, starts, impossible = phrase_posteriors(Meaning(model), PHRASES)
    for phrase, begin, end in zip(PHRASES, starts, starts[1:], strict=False):
        by_hand = enumerated(
            model, phrase, np.full(3, 1 / 3), lambda name: 1 + relations.index(name) if name in relations else 0
        )
        assert np.abs(rows[begin:end] - by_hand).max() < 1e-12
    assert impossible == 0


def test_the_formulas_of_the_paper_give_subject_verb_and_object():
    model = made(WORDS)
    meaning, step = Meaning(model), model.steps_[0].astype(np.float64)
    e = {str(term): model.emission_[meaning.id(term)].astype(np.float64) for term in PHRASES[3].terms}
    subject, verb, thing = e.values()
    head = verb * (step.T @ subject) * (step.T @ thing)
    dependent = subject * (step @ (verb * (step.T @ thing)))
    rows, _, _ = phrase_posteriors(meaning, PHRASES[3:4])
    assert np.allclose(rows[1], head / head.sum(), atol=1e-12)
    assert np.allclose(rows[0], dependent / dependent.sum(), atol=1e-12)


def test_the_context_has_no_effect_where_children_do_not_depend_on_parents():
    model = made(WORDS)
    model.steps_ = np.repeat(np.array([[0.2], [0.3], [0.5]], np.float32), 3, axis=1)[None]
    found = compose(Meaning(model), PHRASES[3:4], ways=["head-context"]).vectors["head-context"][0]
    verb = model.emission_[model.vocab_.id("b/VERB")].astype(np.float64)
    assert np.allclose(found, verb / verb.sum(), atol=1e-7)


def test_ways_to_compose_are_sums_and_products():
    meaning = Meaning(made(WORDS))
    a, b = meaning.vector("a/ADJ"), meaning.vector("b/NOUN")
    found = compose(meaning, PHRASES[:1], weight=0.75, stretch=3.0).vectors
    assert set(found) == set(COMPOSITIONS)
    inside, _, _ = phrase_posteriors(meaning, PHRASES[:1])
    by_hand = {
        "head": b, "add": (a + b) / 2, "head-context": inside[1], "add-context": inside.mean(axis=0), "product": a * b,
        "weighted": 0.75 * b + 0.25 * a, "dilation": (a @ a) * b + 2 * (a @ b) * a,
    }  # fmt: skip
    for way, vector in by_hand.items():
        assert np.allclose(found[way][0], vector / vector.sum(), atol=1e-9), way
    assert np.allclose(compose(meaning, PHRASES[:1], stretch=1.0, ways=["dilation"]).vectors["dilation"], b)
    one = compose(meaning, [phrase_of([Term("b", "NOUN")])]).vectors
    assert all(np.allclose(one[way][0], b) for way in COMPOSITIONS if not way.endswith("-context"))


def test_a_product_without_a_common_class_and_an_impossible_phrase_are_counted():
    model = made(["a/ADJ", "b/NOUN"], classes=2)
    model.counts_[FIRST:] = model.emission_[FIRST:] = np.eye(2)
    model.steps_ = np.eye(2, dtype=np.float32)[None]
    model._derive()
    with pytest.warns(CorpuscleWarning, match="1 phrases are impossible"):
        found = compose(Meaning(model), PHRASES[:1])
    assert (found.vanished, found.impossible) == (1, 1)
    assert np.array_equal(found.vectors["product"][0], [0.5, 0.5])
    assert np.array_equal(found.vectors["head-context"][0], [0, 1])


def test_a_phrase_needs_a_pattern_or_a_tree():
    meaning = Meaning(made(WORDS))
    assert meaning.phrase("a/ADJ b/NOUN").heads == (2, 0) and meaning.phrase("a/ADV/2 b/ADJ/0").heads == (2, 0)
    for text, reason in {
        "a/ADV b/ADJ": "no pattern for ADV ADJ: give its tree",
        "a/ADJ/3 b/NOUN/0": "points nowhere",
        "a/ADJ/2 b/NOUN/1 c/VERB/0": "circle",
        "a/ADJ/0 b/NOUN/0": "2 of its words are the root",
        "a/ADJ/2 b/NOUN": "others none",
        " ": "no word",
    }.items():
        with pytest.raises(SettingError, match=reason):
            meaning.phrase(text)
    with pytest.raises(SettingError, match="nothing is known of the word 'z/NOUN'"):
        compose(meaning, [meaning.phrase("a/ADJ z/NOUN")])
    for wrong in {"ways": ["sum"]}, {"weight": 2.0}, {"stretch": 0.5}:
        with pytest.raises(SettingError):
            compose(meaning, PHRASES[:1], **wrong)


# ---- words


def test_a_bare_word_is_a_noun_if_it_can_be_and_its_best_reading_if_asked():
    model = made(["run/VERB", "run/NOUN", "walk/VERB", "go/VERB", "go/INTJ"])
    model.counts_[model.vocab_.id("run/VERB")] *= 3
    model.counts_[model.vocab_.id("go/INTJ")] *= 3
    meaning = Meaning(model)
    assert meaning.id("run") == model.vocab_.id("run/NOUN") and meaning.id("go") == model.vocab_.id("go/INTJ")
    assert meaning.id("run/VERB") == model.vocab_.id("run/VERB") and meaning.find(Term("run", "ADJ")) is None
    assert meaning.phrase("run").terms == (Term("run", "VERB"),)
    pairs = [ScoredPair("run", "walk", 1.0), ScoredPair("walk", "fly", 2.0)]
    first, _ = pair_scores(meaning, pairs)
    best, _ = pair_scores(meaning, pairs, best=True)
    readings = [meaning.similarity(f"run/{tag}", "walk/VERB") for tag in ("NOUN", "VERB")]
    assert first[0] == pytest.approx(readings[0]) and best[0] == pytest.approx(max(readings)) and np.isnan(first[1])


def test_neighbours_are_of_one_part_of_speech_and_not_rare():
    model = made(WORDS)
    model.counts_[model.vocab_.id("c/NOUN")] *= 0.1
    meaning = Meaning(model)
    found = meaning.nearest(meaning.vector("a/NOUN"), 5, "NOUN", [meaning.id("a/NOUN")])
    assert [word for word, _, _ in found] == ["b/NOUN"] and found[0][2] == 20
    everywhere = Meaning(model, rare_below=0).nearest(meaning.vector("a/NOUN"), 20)
    scores = [score for _, score, _ in everywhere]
    assert len(scores) == 9 and scores == sorted(scores, reverse=True) and scores[0] == pytest.approx(0, abs=1e-7)


# ---- judgements


def test_pairs_are_judged_with_coverage_and_models_on_the_same_pairs():
    words = [f"w{i}/NOUN" for i in range(9)]
    good, other = Meaning(made(words, 4)), Meaning(made(words[:7], 4, seed=2))
    pairs = [ScoredPair(f"w{i}", f"w{j}", good.similarity(f"w{i}", f"w{j}")) for i in range(9) for j in range(i)]
    result = judge_pairs(good, [*pairs, ScoredPair("w1", "unknown", 3.0)], draws=50)
    assert result["spearman"] == pytest.approx(1) and (result["pairs"], result["covered"], result["rare"]) == (
        37,
        36,
        0,
    )
    assert judge_pairs(good, [*pairs, ScoredPair("w1", "unknown", 3.0)], unknown="mean", draws=5)["spearman"] < 1
    both = sweep({"good": good, "other": other}, pairs, draws=20)
    assert both["good"]["covered"] == both["other"]["covered"] == 21
    assert both["other"]["spearman"] < both["good"]["spearman"] == pytest.approx(1)
    with pytest.warns(CorpuscleWarning, match="1 of 4 pairs stand there twice"):
        judge_pairs(good, [*pairs[:3], pairs[0]], draws=2)
    with pytest.raises(SettingError, match="0 pairs have only known words"):
        judge_pairs(good, [ScoredPair("x", "y", 1.0)] * 4)
    with pytest.raises(SettingError, match="nothing to rank"):
        judge_pairs(good, [pair._replace(score=1.0) for pair in pairs])


def test_hellinger_and_its_square_rank_alike():
    good = Meaning(made([f"w{i}/NOUN" for i in range(9)], 4))
    pairs = [ScoredPair(f"w{i}", f"w{j}", float((7 * i + 3 * j) % 11)) for i in range(9) for j in range(i)]
    scores, _ = pair_scores(good, pairs)
    from corpuscle.measure import rank_correlation

    gold = [pair.score for pair in pairs]
    assert rank_correlation(scores, gold) == pytest.approx(rank_correlation(-(scores**2), gold))


def test_phrases_are_judged_by_ratings_and_by_means_and_landmarks_stand_alone():
    from corpuscle.text import Judgement

    meaning = Meaning(made(WORDS))
    svo = [phrase_of([Term(a, "NOUN"), Term(b, "VERB"), Term(c, "NOUN")]) for a in "abc" for b in "abc" for c in "abz"]
    landmarks = [phrase_of([Term(word, "VERB")]) for word in "abc"]
    h = compose(meaning, [each for each in svo if each.terms[2].word != "z"], ways=["head-context"]).vectors
    known = iter(h["head-context"])
    judgements = []
    for number, phrase in enumerate(svo):
        mark = landmarks[number % 3]
        truth = 0.0
        if phrase.terms[2].word != "z":
            truth = float(meaning.similarity_of(next(known)[None], meaning.vector(mark.terms[0])[None])[0])
        judgements += [Judgement(phrase, mark, truth, subject, landmark=True) for subject in ("p1", "p2")]
    found = judge_phrases(meaning, judgements, draws=50)
    assert (found.items, found.covered) == (27, 18) and found.ratings["head"]["covered"] == 36
    assert found.ratings["head-context"]["spearman"] == pytest.approx(1) == found.means["head-context"]["spearman"]
    assert found.ratings["head"]["spearman"] < 1 and found.ceiling == pytest.approx(1)
    difference = found.differences["head-context", "head"]
    assert difference.difference == pytest.approx(1 - found.ratings["head"]["spearman"])
    assert found.means["add"]["pairs"] == 27 and found.means["add"]["covered"] == 18


def test_relations_are_standardised_by_concept():
    from corpuscle.text import Triple

    meaning = Meaning(made(WORDS))
    a, b = Term("a", "NOUN"), Term("b", "NOUN")
    triples = [
        Triple(concept, relation, Term(word, tag))
        for concept in (a, b)
        for relation, tag in (("coord", "NOUN"), ("attri", "ADJ"), ("event", "VERB"), ("random-j", "ADJ"))
        for word in ("b" if concept == a else "a", "c")
    ]
    found = judge_relations(meaning, [*triples, Triple(Term("z", "NOUN"), "coord", a)])
    assert found.names == ("coord", "attri", "event", "random-j") and (found.were, found.known) == (3, 16)
    assert np.allclose(found.scores.mean(axis=1), 0) and np.allclose(found.scores.std(axis=1), 1)
    best = max(meaning.similarity("a/NOUN", f"{word}/ADJ") for word in "bc")
    raw = [max(meaning.similarity("a/NOUN", f"{w}/{tag}") for w in "bc") for tag in ("NOUN", "ADJ", "VERB", "ADJ")]
    assert raw[1] == best and np.allclose(found.scores[0], (np.array(raw) - np.mean(raw)) / np.std(raw))
    mapped = judge_relations(meaning, triples, mapped=True)
    noun, verbs = (
        meaning.mapped(meaning.vector("a/NOUN")[None]),
        meaning.vectors[[meaning.id(f"{w}/VERB") for w in "bc"]],
    )
    adjectives = meaning.mapped(meaning.vectors[[meaning.id(f"{w}/ADJ") for w in "bc"]])
    raw = [raw[0], meaning.similarities(meaning.vector("a/NOUN")[None], adjectives).max(),
           meaning.similarities(noun, verbs).max()]  # fmt: skip
    raw.append(raw[1])
    assert np.allclose(mapped.scores[0], (np.array(raw) - np.mean(raw)) / np.std(raw))
    summary = found.relations()
    assert summary["attri"].beside == "random-j" and summary["attri"].p_value == 1.0 and summary["coord"].beside is None


def test_equal_scores_become_zeros_and_missing_ones_stay_missing():
    assert np.array_equal(standardise(np.full((1, 4), 0.3)), np.zeros((1, 4)))
    rows = standardise(np.array([[1.0, np.nan, 3.0]]))
    assert np.allclose(rows[0, [0, 2]], [-1, 1]) and np.isnan(rows[0, 1])


# ---- tokens in context


def test_a_homonym_is_told_apart_in_context_and_words_of_a_class_are_alike():
    truth = Truth(1, 4, 24)
    drawn, classes = truth.draw(2000)
    forest = Forest.tree(drawn)
    tries = [
        HmmClasses(classes=4, structure="tree", init="random", passes=150, seed=seed, tolerance=1e-6).fit(forest)
        for seed in range(1, 7)
    ]
    model = max(tries, key=lambda each: each.likelihood_)
    own = np.arange(24) % 4
    names = np.zeros(4, np.int64)  # true class -> learned class, by the words
    meaning = Meaning(represent(model, forest))
    ids = np.array([model.vocab_.id(f"v{word}") for word in range(24)])
    for c in range(4):
        names[c] = meaning.vectors[ids[:-1][own[:-1] == c]].mean(axis=0).argmax()
    rows = np.concatenate(list(model.posteriors(forest)))
    homonym = forest.recode(model.vocab_).corpus.tokens == ids[-1]
    right = (rows[homonym].argmax(axis=1) == names[classes[homonym]]).mean()
    oracle = np.concatenate(list(truth.model(model.vocab_).posteriors(forest)))
    best = (oracle[homonym].argmax(axis=1) == classes[homonym]).mean()
    assert right >= best - 0.02
    table = meaning.similarities(meaning.vectors[ids[:-1]], meaning.vectors[ids[:-1]])
    same = own[:-1, None] == own[None, :-1]
    above = np.triu(np.ones_like(same), 1).astype(bool)
    inside, across = table[above & same], table[above & ~same]
    assert (inside[:, None] > across).mean() >= 0.95


def test_senses_and_substitutes_come_from_the_sentences_of_a_word():
    """Two classes of roots decide what x is: under a it is of the class of b words, under c of d words."""
    words, heads = [], []
    for _ in range(30):
        words += [["a", "x"], ["c", "x"], ["a", "b"], ["c", "d"]]
        heads += [[0, 1]] * 4
    treebank = Treebank.from_sentences(words, heads=heads)
    forest = Forest.tree(treebank)
    tries = [
        HmmClasses(classes=4, structure="tree", init="random", seed=seed, passes=200).fit(forest)
        for seed in range(1, 5)
    ]
    model = max(tries, key=lambda each: each.likelihood_)
    meaning, sentences = Meaning(model), Sentences(forest, lambda i: " ".join(words[i]))
    found = senses(meaning, "x", sentences)
    assert [sense.share for sense in found] == [0.5, 0.5] and len(found[0].tokens) == 30
    assert {sense.words[0][0] for sense in found} == {"b", "d"}
    for sense in found:
        shown = "a x" if sense.words[0][0] == "b" else "c x"
        assert {token.shown for token in sense.tokens} == {shown}
    assert len(senses(meaning, "x", sentences, number=1)) == 1
    in_place = substitutes(meaning, "x", sentences, k=1, most=8)
    assert len(in_place) == 8
    assert {(token.shown, near[0][0]) for token, near in in_place} == {("a x", "b"), ("c x", "d")}
    picture = draw_meanings(meaning, ["x"], sentences, most=4)
    assert picture.startswith("<svg") and picture.count("a x") >= 2 and ">b<" in picture
    with pytest.raises(SettingError, match="does not occur"):
        senses(meaning, "x", Sentences(Forest.tree(treebank[2:3]), str))


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1, max_size=8))
def test_classical_scaling_restores_the_distances_of_points_in_a_plane(points):
    places = np.array(points, np.float64)
    distances = np.linalg.norm(places[:, None] - places, axis=2)
    found, kept = classical_scaling(distances)
    assert np.allclose(np.linalg.norm(found[:, None] - found, axis=2), distances, atol=1e-6) and kept > 1 - 1e-6
    assert (found[np.abs(found).argmax(axis=0), [0, 1]] >= 0).all()


# ---- files and commands


def written_bank(folder) -> Treebank:
    sentences = [
        ["Small", "dogs", "chase", "cats"],
        ["old", "cats", "see", "dogs"],
        ["dogs", "see", "small", "cats"],
    ] * 8
    heads = [[2, 3, 0, 3], [2, 3, 0, 3], [2, 0, 4, 2]] * 8
    tags = [["ADJ", "NOUN", "VERB", "NOUN"], ["ADJ", "NOUN", "VERB", "NOUN"], ["NOUN", "VERB", "ADJ", "NOUN"]] * 8
    relations = [["amod", "nsubj", "root", "obj"]] * 2 + [["nsubj", "root", "amod", "obj"]]
    made = Treebank.from_sentences(sentences, heads=heads, tags=tags, relations=relations * 8)
    write_conllu(made, folder / "bank.conllu")
    return made


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("meaning")
    written_bank(folder)
    train = ["classes", "train", f"{folder}/bank.conllu", "-o", f"{folder}/m", "--method", "hmm", "--classes", "3"]
    assert main([*train, "--structure", "tree", "--layer", "form/tag", "--lowercase", "--passes", "5", "-q"]) == 0
    (folder / "pairs.tsv").write_text("dogs\tcats\t9\nsmall\told\t8\nsee\tchase\t5\ndogs\tsee\t1\ndogs\tbirds\t4\n")
    (folder / "gs.tsv").write_text(
        "participant verb subject object landmark input hilo\n"
        "p1 see dogs cats chase 5 HIGH\np2 see dogs cats chase 6 HIGH\np1 chase cats dogs see 2 LOW\n"
        "p2 chase cats dogs see 1 LOW\np1 see cats dogs chase 3 LOW\np2 see cats dogs chase 4 LOW\n"
    )
    (folder / "bless.tsv").write_text(
        "".join(
            f"{concept}-n\tanimal\t{relation}\t{relatum}\n"
            for concept, other in (("dogs", "cats"), ("cats", "dogs"))
            for relation, relatum in (("coord", f"{other}-n"), ("attri", "small-j"), ("attri", "green-j"),
                                      ("event", "see-v"), ("random-j", "old-j"), ("random-v", "chase-v"))
        )
    )  # fmt: skip
    return folder


def run(capsys, *words) -> tuple[int, str, str]:
    code = main(list(map(str, words)))
    out, err = capsys.readouterr()
    return code, out, err


INTERVAL = {"spearman": float | None, "low": float | None, "high": float | None}
NEAR = [{"word": str, "similarity": float, "count": int}]


def test_represent_writes_vectors_tokens_and_a_model(place, capsys):
    command = ["meaning", "represent", place / "m", place / "bank.conllu"]
    code, out, _ = run(capsys, *command)
    assert code == 0 and out.splitlines()[0] == "6 3" and "small/ADJ" in out
    more = ["-o", place / "v.txt", "--tokens", place / "t.tsv", "--save", place / "m2", "-k", "2", "--json"]
    code, out, _ = run(capsys, *command, *more)
    last_line_conforms(out, {"tokens": int, "types": int, "classes": int, "rare": int})
    rows = (place / "t.tsv").read_text().splitlines()
    assert rows[0] == "sentence\ttoken\tword\tclasses" and len(rows) == 97 and rows[1].startswith("0\t0\tsmall/ADJ\t")
    again = corpuscle.load(place / "m2")
    assert np.allclose(Meaning(again).counts[FIRST:], again.vocab_.counts[FIRST:], rtol=1e-5)
    for file in ("m", "m2"):
        assert run(capsys, "meaning", "nearest", place / file, "dogs")[0] == 0


def test_commands_print_what_their_schemas_say(place, capsys):
    def printed(*words, schema):
        code, out, err = run(capsys, "meaning", *words, "--json")
        assert code == 0, err
        return last_line_conforms(out, schema)

    m = place / "m"
    phrase = printed(
        "nearest", m, "small dogs", schema={"word": str, "phrase": str, "count": int, "rare": bool, "words": NEAR}
    )
    assert phrase["phrase"] == "small/ADJ dogs/NOUN" and phrase["word"] == "dogs/NOUN"
    found = printed(
        "compare", m, "small dogs", "old cats",
        schema={"first": str, "second": str, "measure": str, "similarity": {str: float}},
    )  # fmt: skip
    assert set(found["similarity"]) == set(COMPOSITIONS)
    result = {
        "measure": str,
        **INTERVAL,
        "pairs": int,
        "covered": int,
        "rare": int,
        "deviation": float,
        "signature": str,
    }
    found = printed("similarity", m, place / "pairs.tsv", "--draws", 50, schema=result)
    assert (found["pairs"], found["covered"]) == (5, 4)
    models = [{"model": str, "classes": int, "types": int, "covered": int, **INTERVAL}]
    swept = printed(
        "similarity", m, place / "pairs.tsv", "--draws", 20, "--sweep", m, "--measure", "js",
        schema={"measure": str, "best": str, "pairs": int, "models": models},
    )  # fmt: skip
    assert swept["measure"] == "js" and swept["best"] == str(m)
    found = printed("phrases", m, place / "gs.tsv", "--draws", 50, schema={
        "measure": str, "items": int, "covered": int, "rare": int, "vanished": int, "impossible": int,
        "ceiling": float | None, "ratings": {"ratings": int, "covered": int, "ways": {str: INTERVAL}},
        "means": {str: INTERVAL}, "signature": str,
        "differences": [{"first": str, "second": str, "difference": float | None, "low": float | None,
                         "high": float | None, "deviation": float | None, "p_value": float | None}],
    })  # fmt: skip
    assert (found["items"], found["covered"]) == (3, 3) and set(found["means"]) == set(COMPOSITIONS)
    relation = {"median": float, "mean": float, "lower": float, "upper": float, "beside": str | None,
                "p_value": float | None}  # fmt: skip
    found = printed("relations", m, place / "bless.tsv", "--plot", place / "b.svg", schema={
        "measure": str, "concepts": int, "covered": int, "triples": int, "known": int, "plain": {str: relation},
        "mapped": {str: relation},
    })  # fmt: skip
    assert (found["triples"], found["known"]) == (12, 10) and (place / "b.svg").read_text().startswith("<svg")
    token = {"sentence": int, "token": int, "text": str}
    sense = {"share": FRACTION, "tokens": int, "words": NEAR, "examples": [token]}
    sense["classes"] = [{"class": int, "share": FRACTION}]
    printed("senses", m, "dogs", place / "bank.conllu", schema={"word": str, "senses": [sense]})
    found = printed("substitutes", m, "dogs", place / "bank.conllu", "--most", 3,
                    schema={"word": str, "tokens": [{**token, "words": NEAR}]})  # fmt: skip
    assert len(found["tokens"]) == 3 and found["tokens"][0]["text"] == "Small dogs chase cats"
    code, _, _ = run(capsys, "meaning", "map", m, "dogs", "--sentences", place / "bank.conllu", "-o", place / "map.svg")
    assert code == 0 and "Small dogs chase cats" in (place / "map.svg").read_text()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["similarity", "m", "none.tsv"], "pairs.*have only known words"),
        (["similarity", "m", "equal.tsv"], "nothing to rank"),
        (["similarity", "m", "bad.tsv"], "bad.tsv:2: 2 fields"),
        (["phrases", "m", "bad.tsv"], "bad.tsv:1: unknown columns"),
        (["phrases", "m", "free.tsv"], "free.tsv: the phrase .* no pattern for ADJ ADJ: give its tree"),
        (["relations", "m", "bad.tsv"], "bad.tsv:1: 3 fields"),
        (["nearest", "m", "unicorn"], "nothing is known of the word 'unicorn'"),
        (["map", "m", "unicorn", "-o", "x.svg"], "nothing is known"),
        (["represent", "m", "plain.txt"], "trees are needed"),
        (["represent", "m", "empty.conllu"], "empty text"),
        (["represent", "m", "circle.conllu"], "circle"),
        (["map", "m", "dogs", "--sentences", "plain.txt"], "plain.txt"),
        (["senses", "m", "dogs", "empty.conllu"], "does not occur"),
        (["phrases", "chain", "gs.tsv"], "neighbours, not heads"),
        (["similarity", "pairs.tsv", "pairs.tsv"], "pairs.tsv: "),
        (["similarity", "m", "pairs.tsv", "--measure", "euclid"], "hellinger"),
    ],
)
def test_bad_input_is_one_line(place, capsys, monkeypatch, words, reason):
    monkeypatch.chdir(place)
    (place / "none.tsv").write_text("x\ty\t1\nz\tw\t2\n")
    (place / "equal.tsv").write_text("dogs\tcats\t1\nsmall\told\t1\nsee\tchase\t1\n")
    (place / "bad.tsv").write_text("a\tb\t1\nc\t2\n")
    (place / "free.tsv").write_text("phrase1\tphrase2\trating\nsmall old\tdogs\t3\n")
    (place / "plain.txt").write_text("dogs see cats\n")
    (place / "empty.conllu").write_text("")
    (place / "circle.conllu").write_text("1\ta\t_\t_\t_\t_\t2\t_\t_\t_\n2\tb\t_\t_\t_\t_\t1\t_\t_\t_\n\n")
    if "chain" in words:
        HmmClasses(classes=2, passes=1).fit(Corpus.from_sentences([["dogs", "see", "cats"]])).save("chain")
    code, out, err = run(capsys, "meaning", *words)
    lines = [line for line in err.splitlines() if not line.startswith("warning")]
    assert code == 2 and out == "" and len(lines) == 1 and lines[0].startswith("error: "), err
    assert re.search(reason, lines[0]), lines[0]
    assert not (place / "x.svg").exists()


def test_schemas_are_json(place, capsys):
    _, out, _ = run(capsys, "meaning", "compare", place / "m", "dogs", "cats", "--json")
    conforms(json.loads(out)["similarity"], {"head": float})
