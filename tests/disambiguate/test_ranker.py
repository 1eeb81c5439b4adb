"""Disambiguators: counts against brute force, reductions to baselines, recovery of what decides, files and enemies."""

from collections import Counter

import numpy as np
import pytest

import corpuscle
from corpuscle.disambiguate import BaselineDisambiguator, PairRanker, Ranker, read_candidates, weight_fitting
from corpuscle.disambiguate.analysers import Guesser, Lexicon
from corpuscle.disambiguate.analyses import (
    Counts,
    Rows,
    columns_for,
    elements_of,
    label_hashes,
    labels_of,
    text_of,
    written,
)
from corpuscle.disambiguate.weight_fitting import Pool, Weights
from corpuscle.errors import InputError, SettingError
from corpuscle.hashing import hashes_of
from corpuscle.measure import analyses, analyses_by_probability, ranks_of
from corpuscle.model import Model
from corpuscle.samples import generate
from corpuscle.text.treebank import Treebank

EDGES = "<s>", "</s>"


@pytest.fixture(scope="module")
def bank():
    return generate(seed=1, sentences=300).treebank()


@pytest.fixture(scope="module")
def ranker(bank):
    return Ranker().fit(bank[:250])


def ranks(model: Model, bank: Treebank) -> np.ndarray:
    ranking = model.rank(bank)
    return ranks_of(ranking.starts, ranking.labels, model.gold(bank, ranking))


def with_documents(sentences, size=1, **layers):
    bank = Treebank.from_sentences(sentences, **layers)
    corpus = bank.corpus.with_documents(np.arange(0, len(sentences) + 1, size))
    return Treebank(**(vars(bank) | {"corpus": corpus}))


def test_counts_equal_a_contingency_table_of_dictionaries(bank):
    text, elements = text_of(bank, True), elements_of(bank)
    names, gold = labels_of(bank, elements)
    values, columns = label_hashes(names, elements), columns_for("full", len(elements), free=True, shares=True)
    counts = Counts.of(text.contexts, gold, values, columns)
    tables = [Counter() for _ in columns]
    rows, where = [], []
    for sentence in bank.corpus:
        padded = [EDGES[0], *sentence, EDGES[1]]
        for i, word in enumerate(sentence, 1):
            before, behind = padded[i - 1], padded[i + 1]
            letters = [(w, w) if w in EDGES else (w[0], w[-1]) for w in (before, behind)]
            where.append([word, None, before, behind, letters[0][0], letters[1][0], letters[0][1], letters[1][1]])
    for (word, *fields), label in zip(where, gold.tolist(), strict=True):
        parts = names[label].split("\t")
        row = []
        for target, kind in columns.tolist():
            value = None if target < 0 else names[label] if target == 0 else parts[target - 1]
            row.append((word if kind < 7 else None, fields[kind % 7], value))
        rows.append(row)
        for table, key in zip(tables, row, strict=True):
            table[key] += 1
    n = len(gold)
    found = counts.look_up(Rows(np.arange(n), gold, np.arange(n + 1)), text.contexts, values, columns)
    wanted = [[table[key] for table, key in zip(tables, row, strict=True)] for row in rows]
    assert found.tolist() == wanted


def test_counts_without_some_tokens_are_those_of_the_others(bank):
    text, elements = text_of(bank, True), elements_of(bank)
    names, gold = labels_of(bank, elements)
    values, columns = label_hashes(names, elements), columns_for("full", len(elements), free=True, shares=False)
    some = np.arange(len(gold)) % 3 == 0
    total, part, rest = (
        Counts.of(text.contexts[mask], gold[mask], values, columns) for mask in (some | True, some, ~some)
    )
    for least in (1, 2):
        less, wanted = total.less(part).kept(least), rest.kept(least)
        assert less.keys.tolist() == wanted.keys.tolist()
        assert less.counts.tolist() == wanted.counts.tolist()


def test_a_key_that_was_never_counted_counts_nothing(bank):
    counts = Counts.of_keys(np.zeros(0, np.uint64), np.zeros(0, np.int32))
    text, columns = text_of(bank, True), columns_for("uni", 1, free=False, shares=False)
    rows = Rows(np.arange(3), np.zeros(3, np.int32), np.arange(4))
    assert not counts.look_up(rows, text.contexts, label_hashes(["a"], ["pos"]), columns).any()


def test_weight_one_on_frequency_and_none_elsewhere_is_the_frequency_baseline(bank):
    ranker = Ranker(free=False).fit(bank[:250])
    weights = np.zeros_like(ranker.weights_.weights)
    weights[0] = 1.0
    ranker.weights_ = Weights(weights, weights, weights)
    mine, theirs = ranker.rank(bank[250:]), BaselineDisambiguator().fit(bank[:250]).rank(bank[250:])
    assert mine.starts.tolist() == theirs.starts.tolist()
    assert [mine.names[i] for i in mine.labels] == [theirs.names[i] for i in theirs.labels]


def test_counts_of_a_single_element_are_those_of_the_whole_label(bank):
    ranker = Ranker(elements=("pos",)).fit(bank[:100])
    text, lists = text_of(bank, True), ranker.lists_of(text_of(bank, True))
    numbers = ranker.numbers(text, lists, None)[:, : len(ranker.columns)]
    for kind in range(14):
        same = [i for i, (_, other) in enumerate(ranker.columns.tolist()) if other == kind]
        assert len(same) == 2 and (numbers[:, same[0]] == numbers[:, same[1]]).all()


def test_the_order_of_candidates_changes_no_score(bank, ranker):
    text = text_of(bank[250:], True)
    lists = ranker.lists_of(text)
    order = np.lexsort((-np.arange(len(lists.rows.tokens)), lists.rows.tokens))
    turned = lists._replace(rows=lists.rows._replace(labels=lists.rows.labels[order]))
    assert (ranker.numbers(text, lists, None)[order] == ranker.numbers(text, turned, None)).all()


def test_figures_are_ordered_and_two_candidates_reach_the_ceiling(bank, ranker):
    held = bank[250:]
    ranking = ranker.rank(held)
    found = analyses(ranking.starts, ranks(ranker, held), ranker.knows(held), held.corpus.sentence_starts, draws=20)
    figures = found.figures
    assert figures["random"] <= figures["a1"] <= figures["a2"] <= figures["ceiling"] and figures["a1"] > 0.7
    assert figures["e1"] == pytest.approx(1 - figures["a1"])
    few = np.minimum(np.diff(ranking.starts), 2)
    starts = np.concatenate([[0], np.cumsum(few)])
    short = np.where(ranks(ranker, held) <= 2, ranks(ranker, held), 0)
    cut = analyses(starts, short, ranker.knows(held), held.corpus.sentence_starts, draws=20).figures
    assert cut["a2"] == cut["ceiling"]


def test_keystrokes_and_shares_by_probability_of_a_hand_example():
    starts, ranks_found = np.array([0, 2, 5, 6, 9]), np.array([2, 1, 0, 3])
    found = analyses(starts, ranks_found, np.ones(4, bool), np.array([0, 4]), draws=5)
    assert found["keystrokes"] == (2 + 1 + 2 + 3) / 4
    rows = analyses_by_probability(np.array([0.5, 1.0, 0.55, 0.95]), np.array([True, True, False, True]))
    assert rows == [
        {"above": 0.5, "words": 2, "probability": pytest.approx(0.525), "right": 0.5},
        {"above": 0.9, "words": 2, "probability": pytest.approx(0.975), "right": 1.0},
    ]


def decided_by_the_word_before(n, seed=1):
    """Documents of 100 tokens; the label of a word is told by the word before it, 2 % of the time by chance."""
    dice = np.random.default_rng(seed)
    words = dice.integers(0, 50, (n, 100))
    before = np.roll(words, 1, axis=1)
    before[:, 0] = 0
    labels = np.where(dice.random(words.shape) < 0.02, dice.integers(0, 5, words.shape), before % 5)
    tags = [[f"T{label}" for label in row] for row in labels.tolist()]
    return with_documents([[f"w{word}" for word in row] for row in words.tolist()], tags=tags)


def test_a_label_decided_by_the_word_before_needs_the_neighbours():
    train, test = decided_by_the_word_before(160), decided_by_the_word_before(40, seed=2)
    right = {method: np.mean(ranks(Ranker(method=method).fit(train), test) == 1) for method in ("uni", "full")}
    assert right["uni"] < 0.4 and right["full"] > 0.96


def test_a_lemma_decided_by_the_topic_needs_the_document():
    def text(n, seed):
        dice = np.random.default_rng(seed)
        topics = dice.integers(0, 2, n)
        words = [[f"x{w}" if w < 10 else f"t{topic}-{w % 15}" for w in dice.integers(0, 40, 60)] for topic in topics]
        lemmas = [[f"{w}/{topic}" if w[0] == "x" else w for w in row] for row, topic in zip(words, topics, strict=True)]
        # sentences of one word, so that neighbours say nothing
        flat = [[w] for row in words for w in row]
        return with_documents(flat, size=60, lemmas=[[w] for row in lemmas for w in row])

    train, test = text(60, 1), text(20, 2)
    wrong = {on: 1 - np.mean(ranks(Ranker(documents=on).fit(train), test) == 1) for on in (False, True)}
    assert wrong[False] > 0.05 and wrong[True] < wrong[False] / 4


def test_the_gradient_of_the_loss_is_that_of_finite_differences():
    dice = np.random.default_rng(1)
    starts = np.array([0, 2, 5, 9])
    right = np.zeros(9, bool)
    right[[1, 2, 8]] = True
    pool, at = Pool(dice.normal(size=(9, 4)), starts, right), dice.normal(size=4)
    _, gradient = weight_fitting.loss(pool, at, 0.7)
    for i, step in enumerate(np.eye(4) * 1e-5):
        slope = (weight_fitting.loss(pool, at + step, 0.7)[0] - weight_fitting.loss(pool, at - step, 0.7)[0]) / 2e-5
        assert gradient[i] == pytest.approx(slope, abs=1e-6)
    shares = weight_fitting.shares_of(pool.numbers @ at, starts)
    assert np.add.reduceat(shares, starts[:-1]) == pytest.approx(1)


@pytest.mark.parametrize("settings", [
    {"stage2": "ridge"}, {"stage2": "svr"}, {"stage2": "svc"}, {"transform": "raw"}, {"transform": "fraction"},
    {"crossfit": 0}, {"method": "baseline"}, {"min_count": 2}, {"stage2": "james-stein"}, {"stage2": "none"},
    {"method": "agreement"}, {"method": "agreement", "transform": "fraction"},
], ids=str)  # fmt: skip
def test_every_variant_beats_chance_and_gives_probabilities(bank, settings):
    ranker = Ranker(**settings).fit(bank[:250])
    ranking = ranker.rank(bank[250:])
    assert np.add.reduceat(ranking.probabilities, ranking.starts[:-1]) == pytest.approx(1)
    many = np.diff(ranking.starts) > 1
    found = ranks(ranker, bank[250:])
    chance = np.mean((found > 0)[many] / np.diff(ranking.starts)[many])
    assert np.mean(found[many] == 1) > chance + 0.1


def test_lemmas_and_the_rest_one_by_one_make_pairs_in_the_order_of_their_products(bank):
    model = PairRanker().fit(bank[:250])
    ranking = model.rank(bank[250:])
    assert np.add.reduceat(ranking.probabilities, ranking.starts[:-1]) == pytest.approx(1)
    inside = np.ones(len(ranking.labels), bool)
    inside[ranking.starts[:-1]] = False
    assert (np.diff(ranking.probabilities)[inside[1:]] <= 0).all()
    lemmas = model.lemma_ranker_.rank(bank[250:])
    best = [ranking.names[i].split("\t")[0] for i in ranking.labels[ranking.starts[:-1]]]
    assert best == [lemmas.names[i] for i in lemmas.labels[lemmas.starts[:-1]]]


def test_what_is_held_out_is_no_candidate_when_weights_are_learned():
    sentences = [[f"w{i}", "x"] for i in range(40)]
    tags = [["A" if i % 2 else "B", "X"] for i in range(40)]
    with pytest.raises(InputError, match="nothing to learn from"):
        Ranker(guesser=False, crossfit=40).fit(with_documents(sentences, tags=tags))


def test_a_lexicon_keeps_the_order_of_labels_and_falls_back_to_lower_case():
    forms, labels = hashes_of(["a", "b", "a", "a", "b"]), np.array([7, 3, 2, 7, 1], np.int32)
    lexicon = Lexicon.of(forms, labels)
    assert lexicon.ids(["a", "b", "B", "c"]) == [[7, 2], [3, 1], [3, 1], []]
    assert lexicon.knows(["a", "B"]).tolist() == [True, False]


def test_new_words_get_the_analyses_of_words_with_their_ending():
    pairs = [("walked", "walk\tVERB"), ("talked", "talk\tVERB"), ("red", "red\tADJ")]
    pairs += [("12", "12\tNUM"), ("!", "!\tPUNCT")]
    guesser = Guesser.learn(pairs, ("lemma", "pos"))
    assert guesser.guess("balked", ("lemma", "pos")) == ["balk\tVERB"]
    assert set(guesser.guess("bed", ("lemma", "pos"))) == {"b\tVERB", "bed\tADJ"}
    assert guesser.guess("1999", ("lemma", "pos")) == ["1999\tNUM"]
    assert guesser.guess("?", ("lemma", "pos")) == ["?\tPUNCT"]
    assert guesser.guess("xyz", ("lemma", "pos"))


def test_without_a_guesser_a_new_word_is_kept_with_an_analysis_that_says_nothing(bank):
    found = Ranker(guesser=False).fit(bank[:100]).annotate(Treebank.from_sentences([["zzzz"], ["q", "zzzz"]]))
    assert found.tags.strings()[0] == "_" and len(found.heads) == 3


def test_vowel_signs_are_no_part_of_the_written_form_but_readers_see_them():
    vowelled, bare = "كَتَبَ", "كتب"
    assert written(vowelled) == bare and written(vowelled, False) == vowelled and written("َ") == "َ"
    sentences = [[vowelled, "x"], ["كُتُب", "y"]] * 10
    bank = Treebank.from_sentences(sentences, tags=[["VERB", "X"], ["NOUN", "X"]] * 10,
                                   misc=[["Gloss=write", "_"], ["Gloss=books", "_"]] * 10)  # fmt: skip
    words = Ranker().fit(bank).readings(Treebank.from_sentences([[bare, "y"]]), nbest=2)[0]
    assert words[0]["form"] == bare and [each["gloss"] for each in words[0]["analyses"]] == ["books", "write"]
    assert [each["vowelled"] for each in words[0]["analyses"]] == ["كُتُب", vowelled]
    assert sum(each["probability"] for each in words[0]["analyses"]) == pytest.approx(1)


def test_a_table_proposes_analyses_that_the_treebank_never_had(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("go\twent\tUPOS=VERB|Tense=Past\nwent\twent\tUPOS=NOUN\n\n", "utf-8")
    bank = Treebank.from_sentences([["a", "b"]] * 6, tags=[["VERB", "NOUN"], ["NOUN", "NOUN"]] * 3,
                                   lemmas=[["a", "b"]] * 6, features=[["Tense=Past", "_"], ["_", "_"]] * 3)  # fmt: skip
    ranker = Ranker(analyser="table").fit(bank, read_candidates(path))
    assert ranker.analyse("went") == ["go\tVERB\tPast", "went\tNOUN\t-"]
    with pytest.raises(SettingError):
        Ranker(analyser="table").fit(bank)
    with pytest.raises(SettingError):
        Ranker().fit(bank, read_candidates(path))


def test_a_file_gives_back_the_same_ranking_on_any_number_of_workers(bank, ranker, tmp_path, monkeypatch):
    monkeypatch.setattr("corpuscle.disambiguate.ranker._ROWS", 50)
    for model in (ranker, PairRanker(crossfit=0).fit(bank[:120]), BaselineDisambiguator(method="first").fit(bank[:50])):
        model.save(tmp_path / "m")
        again = corpuscle.load(tmp_path / "m")
        again.workers = 3
        mine, theirs = model.rank(bank[250:]), again.rank(bank[250:])
        assert mine.labels.tolist() == theirs.labels.tolist() and mine.names == theirs.names
        assert mine.probabilities.tolist() == theirs.probabilities.tolist()


def test_what_cannot_be_learned_from_is_refused(bank):
    plain = Treebank.from_sentences([["a", "b"]] * 3)
    with pytest.raises(InputError, match="no analyses to learn from"):
        Ranker().fit(plain)
    with pytest.raises(SettingError, match="no element 'Mood2'"):
        Ranker(elements=("pos", "Mood2")).fit(bank)
    with pytest.raises(InputError, match="no words"):
        Ranker().fit(plain[:0])
    with pytest.raises(InputError, match="one sentence"):
        Ranker().fit(bank[:1])
    with pytest.raises(SettingError, match="a lemma and something else"):
        PairRanker(elements=("pos",)).fit(bank)


def test_empty_sentences_stay_empty(ranker):
    text = Treebank.from_sentences([["to"], [], ["to"]])
    assert [len(words) for words in ranker.readings(text, 1)] == [1, 0, 1]
    assert ranker.readings(text[1:2], 1) == [[]] and len(ranker.annotate(text[1:2])) == 1
