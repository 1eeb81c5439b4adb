"""Grammars: what they learn, keep and say."""

import math

import numpy as np
import pytest

import corpuscle
from corpuscle.engine.dp.cky import cell_numbers
from corpuscle.errors import CorpuscleWarning, InputError, Interrupted, SettingError
from corpuscle.grammar import EmGrammar, Pcfg, SpectralGrammar, sequence_trees, to_dependencies
from corpuscle.grammar.heads import PENN, head_words
from corpuscle.grammar.tables import Lexicon, Symbols, clean, prepare, restore, signatures_of
from corpuscle.measure import bracket_counts, bracket_scores
from corpuscle.samples import generate
from corpuscle.text import Corpus, format_brackets, parse_brackets
from tests.hostile import survives_hostile_edits

LEARNERS = {
    "pcfg": Pcfg(horizontal=1, vertical=2),
    "em": EmGrammar(states=3, iterations=6),
    "spectral": SpectralGrammar(states=3),
    "cluster": SpectralGrammar(states=3, estimate="cluster", iterations=2),
}


@pytest.fixture(scope="module")
def bank():
    return generate(seed=1, sentences=200).trees()


@pytest.fixture(scope="module")
def other():
    return generate(seed=1, sentences=260).trees()[200:]


@pytest.fixture(scope="module")
def models(bank):
    return {name: learner.replace().fit(bank) for name, learner in LEARNERS.items()}


def strings(trees):
    return list(format_brackets(trees))


@pytest.mark.parametrize(("side", "horizontal", "vertical"), [("right", 0, 1), ("left", 1, 2), ("right", 2, 3)])
def test_preparation_and_its_inverse_restore_clean_trees(bank, side, horizontal, vertical):
    texts = [
        "(S (NP (NP (N a))) (VP (V b) (NP (D c) (N d) (N e) (N f))))",
        "(X (X y))",
        "(NP (NP (NP (N a) (N b)) (N c)))",
    ]
    for trees in (bank, parse_brackets(texts)):
        assert strings(restore(prepare(trees, side, horizontal, vertical))) == strings(clean(trees))


def test_a_label_that_is_a_phrase_and_a_tag_is_told_apart():
    trees = parse_brackets(["(S (NP (NP a) (N b)) (VP (V c) (X d)))"])
    with pytest.warns(CorpuscleWarning, match="phrases and tags: NP"):
        assert strings(restore(prepare(trees, "right", 0, 1))) == strings(trees)
        assert strings(Pcfg().fit(trees).parse(trees.words).trees) == strings(trees)


def test_a_word_without_a_tag_is_an_error():
    with pytest.raises(InputError, match="tree 2: the word 'b' has no tag"):
        Pcfg().fit(parse_brackets(["(S (N a))", "(S (N a) b)"]))
    with pytest.raises(InputError, match="no trees with words"):
        Pcfg().fit(parse_brackets([""]))


@pytest.mark.parametrize("name", LEARNERS)
def test_parses_have_the_words_and_are_better_than_nothing(models, other, name):
    parsed = models[name].parse(other.words)
    assert list(parsed.trees.words) == list(other.words)
    assert bracket_scores(other, parsed.trees, draws=1)["labelled_f1"] > 0.8
    assert not parsed.failed.any() and np.isfinite(parsed.logp).all()
    assert len(parsed.confidence) == parsed.trees.n_nodes and (parsed.confidence > 0).all()


@pytest.mark.parametrize("name", LEARNERS)
def test_a_model_survives_its_file_and_hostile_edits_of_it(models, other, tmp_path, name):
    models[name].save(tmp_path / "m")
    loaded = corpuscle.load(tmp_path / "m")
    assert strings(loaded.parse(other.words[:8]).trees) == strings(models[name].parse(other.words[:8]).trees)
    assert np.array_equal(loaded.probability(other[:8]), models[name].probability(other[:8]))
    survives_hostile_edits(tmp_path / "m", lambda path: corpuscle.load(path).parse(other.words[:2]), 60)


@pytest.mark.parametrize("name", LEARNERS)
def test_the_number_of_workers_changes_no_byte(models, bank, other, tmp_path, name):
    again = LEARNERS[name].replace(workers=2).fit(bank)
    again.save(tmp_path / "a")
    models[name].save(tmp_path / "b")
    first, second = (corpuscle.load(tmp_path / each) for each in "ab")
    assert all(np.array_equal(a, b) for a, b in zip(first._arrays().values(), second._arrays().values(), strict=True))
    assert strings(again.parse(other.words).trees) == strings(models[name].parse(other.words).trees)


def test_an_interrupted_training_goes_on_to_the_same_result(bank, tmp_path, monkeypatch):
    from corpuscle.grammar import latent

    plain, count = LEARNERS["em"].replace().fit(bank), [0]
    finish = latent.StateLearner.finish

    def stopping(self, sweep):
        count[0] += 1
        if count[0] == 4:
            raise Interrupted("stopped")
        return finish(self, sweep)

    model = LEARNERS["em"].replace()
    monkeypatch.setattr(latent.StateLearner, "finish", stopping)
    with pytest.raises(Interrupted), model.checkpoint(bank, tmp_path / "m") as checkpoint:
        checkpoint.every = 0.0
        model.fit(bank, checkpoint=checkpoint)
    monkeypatch.setattr(latent.StateLearner, "finish", finish)
    with model.checkpoint(bank, tmp_path / "m", resume=True) as checkpoint:
        model.fit(bank, checkpoint=checkpoint)
    assert np.array_equal(model.counts_.left, plain.counts_.left) and np.array_equal(model.history_, plain.history_)


@pytest.mark.parametrize("name", LEARNERS)
def test_the_best_trees_are_ordered_and_as_probable_as_they_say(models, other, name):
    for parsed in models[name].best_trees(other.words[:4], 5):
        assert (np.diff(parsed.logp) <= 0).all() and len(set(strings(parsed.trees))) == len(parsed.trees)
        assert np.allclose(models[name].probability(parsed.trees), parsed.logp, atol=1e-9)


@pytest.mark.parametrize("name", ["pcfg", "em", "cluster"])
def test_a_sentence_is_at_least_as_probable_as_its_best_trees(models, other, name):
    words = other.words[:6]
    whole = models[name].sentence_probability(words)
    for logp, parsed in zip(whole, models[name].best_trees(words, 10), strict=True):
        assert np.logaddexp.reduce(parsed.logp) <= logp + 1e-9
    assert (models[name].probability(other[:6]) <= whole + 1e-9).all()


def test_marginals_are_shares_and_whole_sentences_have_all_trees(models, other):
    spans = models["em"].marginals(other.words[:3], 0.001)
    for sentence, constituents in zip(other.words[:3], spans, strict=True):
        tops = [each for each in constituents if (each.first, each.end) == (0, len(sentence))]
        assert sum(each.share for each in tops) > 0.99 and all(0 < each.share <= 1 for each in constituents)
        for i in range(len(sentence)):
            assert sum(each.share for each in constituents if (each.first, each.end) == (i, i + 1)) > 0.98


def test_given_tags_are_kept_and_unknown_words_parsed(models, other):
    words = [["zzz"] * 4, ["Unseen", "blurp", "."], [], ["word"]]
    for model in models.values():
        parsed = model.parse(Corpus.from_sentences(words))
        assert [len(each) for each in parsed.trees.words] == [4, 3, 0, 1]
    here = other[:5]
    tags = [here[i : i + 1].word_tags for i in range(5)]
    found = models["em"].parse(here.words, tags).trees
    assert found.word_tags == here.word_tags


def test_a_sentence_that_is_too_long_gets_a_flat_tree(bank):
    model = Pcfg(max_length=3).fit(bank)
    parsed = model.parse(Corpus.from_sentences([["a", "b", "c", "d"]]))
    assert parsed.failed.tolist() == [True] and parsed.logp[0] == -math.inf
    assert (np.diff(parsed.trees.spans[1:], axis=1) == 1).all()


def test_the_lexicon_is_a_distribution():
    names = ["S", "NP+N", "N", "V"]
    words = ["dog", "dog", "cat", "runs", "eats", "eats", "singing", "ringing"]
    tags = np.array([0, 1, 0, 2, 2, 2, 1, 1])
    lexicon, entries = Lexicon.learned(words, tags, Symbols.of(names, 1), 1, 2.0, 3.0)
    weights = lexicon.weights(np.arange(len(lexicon.words) + len(lexicon.looks)))
    assert np.allclose(weights.sum(axis=0), 1.0) and (weights > 0).any(axis=1).all()
    assert entries[0] == entries[1] == lexicon.entry("Dog", first=True) != lexicon.entry("Dog")
    plain, _ = Lexicon.learned(words, tags, Symbols.of(names, 1), 0, 0.0, 0.0)
    assert plain.weights(np.array([plain.entry("dog")]))[0].tolist() == [0.5, 1 / 3, 0.0]


def test_signatures_say_what_a_word_looks_like():
    assert signatures_of("Running")[0] == "<C>ing" and signatures_of("1998") == ["<0>"]
    assert signatures_of("USA")[-1] == "<A>" and signatures_of("--") == ["<-.>"]


def test_heads_and_dependencies_follow_the_table():
    trees = parse_brackets(["(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat))) (. .))"])
    assert head_words(trees, PENN)[0] == 2
    bank = to_dependencies(trees)
    assert bank.heads.tolist() == [2, 3, 0, 5, 3, 3] and bank.xpos.strings()[1] == "NN"
    bank.check_trees(single_root=True)


def test_development_trees_choose_the_weight_of_the_pcfg(bank, other):
    model = SpectralGrammar(states=2).fit(bank, other[:20])
    assert "mix" in model.chosen_ and model.origins["mix"] == "tuned" and len(model.tuning_items_)
    assert "mix" not in SpectralGrammar(states=2, mix=0.2).fit(bank, other[:20]).chosen_


def test_figures_of_a_parse_are_those_of_pyevalb(models, other):
    evalb = pytest.importorskip("PYEVALB.scorer")
    from PYEVALB import parser

    found = models["pcfg"].parse(other.words).trees
    gold = clean(other)
    rows = bracket_counts(gold, found, punctuation="none")
    for one, guess, row in zip(strings(gold), strings(found), rows, strict=True):
        result = evalb.Scorer().score_trees(*(parser.create_from_bracket_string(text) for text in (one, guess)))
        assert row[:3].tolist() == [result.matched_brackets, result.test_brackets, result.gold_brackets]
        assert row[19] == result.cross_brackets and row[21] == result.correct_tags


def test_the_best_coarse_tree_survives_pruning(models, other):
    from corpuscle.grammar.parsing import best_of_pcfg, look_at

    model = models["spectral"]
    for entries, _ in next(iter(model._jobs(other.words[:20], None))):
        shares = look_at(model.serving, entries, None, 0.49, True)
        best = best_of_pcfg(model.serving, shares.leaves)
        assert shares.fine is not None
        assert (shares.fine.items.number[cell_numbers(len(entries), best[:, 1], best[:, 2]), best[:, 0]] >= 0).all()
        assert (shares.fine.items.number >= 0).sum() < (shares.chart.inside > 0).sum()


def test_drawn_trees_come_as_often_as_they_are_likely(models, other):
    model, some = models["pcfg"], other.words[:3]
    drawn = model.sample_trees(some, 400, seed=3)
    assert [len(each.trees) for each in drawn] == [400] * 3
    for i, each in enumerate(drawn):
        total = model.sentence_probability(some[i : i + 1])[0]
        texts = strings(each.trees)
        for tree in set(texts):
            share = math.exp(each.logp[texts.index(tree)] - total)
            assert texts.count(tree) / 400 == pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / 400) + 1e-3)
    again = model.replace(workers=2).fit(generate(seed=1, sentences=200).trees()).sample_trees(some, 5, seed=3)
    assert [strings(each.trees) for each in again] == [strings(each.trees[:5]) for each in drawn]


def test_features_of_ones_own(bank, other):
    def first_letters(nodes):
        assert len(nodes.words) == nodes.sentences[-1, 1]
        return {"letter": [nodes.words[first][0] for first in nodes.spans[:, 0].tolist()]}

    def alike(nodes):
        return {"same": ["x"] * len(nodes.labels)}

    plain, more = SpectralGrammar(states=3).fit(bank), SpectralGrammar(states=3).fit(bank, inside=first_letters)
    assert more.operators_.values.shape != plain.operators_.values.shape or (
        np.abs(more.operators_.values - plain.operators_.values).max() > 1e-6
    )
    assert bracket_scores(other, more.parse(other.words).trees, draws=1)["labelled_f1"] > 0.8
    with pytest.raises(SettingError, match="'short' has 1 values"):
        SpectralGrammar(states=3).fit(bank, outside=lambda nodes: {"short": ["x"]})
    assert SpectralGrammar(states=3).fit(bank, outside=alike).operators_.values.size


def test_tags_keep_their_hyphens():
    trees = parse_brackets(["(S (NP-SBJ (N-N a) (N-D b)) (VP (V c)))"] * 12)
    assert trees.without_functions().word_tags == ["N-N", "N-D", "V"] * 12
    assert strings(Pcfg().fit(trees).parse(trees.words[:1]).trees) == ["(S (NP (N-N a) (N-D b)) (VP (V c)))"]


@pytest.mark.parametrize("learner", [Pcfg(), EmGrammar(states=2, iterations=20), SpectralGrammar(states=2)])
def test_sequences_as_trees_make_a_tagger(learner):
    sample = generate(seed=1, sentences=260).treebank()
    known, new = sample[:200], sample[200:]
    trees = sequence_trees(known)
    assert trees.word_tags == known.tags.strings()
    ends = trees.spans[~trees.preterminals, 1]  # every phrase reaches to the end of its sentence
    assert (ends == np.repeat(known.corpus.lengths, np.maximum(known.corpus.lengths - 1, 0))).all()
    found = learner.replace().fit(trees).parse(new.corpus).trees
    right = np.mean([a == b for a, b in zip(new.tags.strings(), found.word_tags, strict=True)])
    assert right > 0.9 and not found.preterminals.all()
