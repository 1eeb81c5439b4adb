"""Transliteration: preparation, table, tuning, names of several words, files; quality where the rules are known."""

import itertools

import numpy as np
import pytest

import corpuscle
from corpuscle.align import build_table, lexical_weights
from corpuscle.errors import CorpuscleWarning, InputError, Interrupted, SettingError
from corpuscle.learning import Checkpoint
from corpuscle.model import read_header
from corpuscle.random import Random
from corpuscle.scale import workers
from corpuscle.text.alignments import Alignments
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import SPACE, Corpus
from corpuscle.text.pairs import Pair
from corpuscle.transliterate import (
    Candidate,
    LetterMap,
    PhraseTransliterator,
    read_results,
    reversed_pairs,
    write_results,
)
from corpuscle.transliterate.base import combined
from corpuscle.transliterate.decoding import Decoder, Tuner
from corpuscle.transliterate.links import align_letters
from corpuscle.transliterate.preparation import Spelling, prepare
from corpuscle.transliterate.settings import METRICS, PhraseSettings
from tests.hostile import survives_hostile_edits

pytestmark = pytest.mark.filterwarnings("ignore::corpuscle.errors.CorpuscleWarning")
QUICK = {"restarts": 1, "rounds": 2, "tuning_nbest": 10}
LETTERS = "abcdefghijklmno"


def cipher(seed, count):
    """Names under a cipher: every letter has one or two letters of its own on the other side."""
    random = Random(seed, "cipher")
    other = random.shuffled("ABCDEFGHIJKLMNOPQRSTUVWXYZαβγδεζηθικλμνξοπρστυφχψω")
    letters = iter(other)
    code = {letter: "".join(itertools.islice(letters, 1 + random.below(2))) for letter in LETTERS}
    names = dict.fromkeys(
        "".join(random.choice(LETTERS) for _ in range(3 + random.below(6))) for _ in range(count + count // 10)
    )
    return [Pair(name, ("".join(code[letter] for letter in name),)) for name in itertools.islice(names, count)]


@pytest.fixture(scope="module")
def small():
    """A quickly learned model of a cipher."""
    return PhraseTransliterator(**QUICK, lowercase=False).fit(cipher(1, 300))


def decoded(model, words, n_best):
    """The candidates of some words."""
    with workers(2) as pool:
        return model.decoder.decode([list(word) for word in words], pool, n_best)


# ---- preparation


def test_names_of_several_words_are_split_joined_or_dropped():
    pairs = [
        Pair("New  York", ("ny yrk",)),
        Pair("aachen", ("a khen",)),
        Pair("a b c", ("x y",)),
        Pair("b", ("xxxxxxxxxx",)),
    ]
    prepared = prepare(pairs, Spelling())
    assert [(word.source, word.targets) for word in prepared.words] == [
        ("new", ("ny",)),
        ("york", ("yrk",)),
        ("aachen", (f"a{SPACE}khen",)),
    ]
    assert (prepared.mismatched, prepared.lopsided) == (1, 1)


def test_accepted_targets_share_the_weight_of_their_name():
    pairs = [Pair("ab", ("x", "y"))]
    assert prepare(pairs, Spelling()).words[0].targets == ("x",)
    everything = prepare(pairs, Spelling(), "all").words[0]
    assert everything.targets == ("x", "y") and everything.weights == (0.5, 0.5)


def test_grapheme_clusters_are_one_letter():
    assert Spelling("graphemes").symbols("किa") == ["कि", "a"] and len(Spelling().symbols("किa")) == 3


# ---- the table


@pytest.fixture(scope="module")
def aligned():
    pairs = cipher(3, 200)
    bitext = Bitext(
        Corpus.from_sentences([list(pair.source) for pair in pairs]),
        Corpus.from_sentences([list(pair.targets[0]) for pair in pairs]),
    )
    return bitext, align_letters(bitext)


def test_probabilities_of_the_whole_table_sum_to_one(aligned):
    bitext, alignments = aligned
    table, *_ = build_table(bitext, alignments, np.ones(len(bitext)), 7)
    probabilities = np.exp(table.features)
    np.testing.assert_allclose(np.bincount(table.nodes, probabilities[:, 2])[np.unique(table.nodes)], 1.0)
    bounds = table.target_starts.tolist()
    by_target = {}
    for entry, (a, b) in enumerate(itertools.pairwise(bounds)):
        key = tuple(table.targets[a:b].tolist())
        by_target[key] = by_target.get(key, 0.0) + probabilities[entry, 0]
    np.testing.assert_allclose(list(by_target.values()), 1.0)
    assert (probabilities[:, [1, 3]] <= 1 + 1e-6).all()


def test_letter_weights_sum_to_one_with_nothing_as_a_letter():
    bitext = Bitext(Corpus.from_sentences([["a", "b"], ["a"]]), Corpus.from_sentences([["x"], ["x", "y"]]))
    links = Alignments.from_pairs([[(0, 0)], [(0, 0)]])
    letters = lexical_weights(bitext, links, np.ones(2))
    f, e = letters.keys // letters.n_targets, letters.keys % letters.n_targets
    np.testing.assert_allclose(np.bincount(f, letters.forward)[np.unique(f)], 1.0)
    np.testing.assert_allclose(np.bincount(e, letters.backward)[np.unique(e)], 1.0)


def test_the_lexical_weight_is_the_product_of_mean_letter_weights():
    # a-x twice, b alone once, y linked to b once: w(x|a) = 1, w(y|b) = w(NULL|b) = 1/2, w(b|y) = 1, w(b|NULL) = 1.
    bitext = Bitext(Corpus.from_sentences([["a", "b"], ["a", "b"]]), Corpus.from_sentences([["x", "y"], ["x"]]))
    links = Alignments.from_pairs([[(0, 0), (1, 1)], [(0, 0)]])
    table, *_ = build_table(bitext, links, np.ones(2), 7)
    rows = {line.split(" ||| ")[0] + ">" + line.split(" ||| ")[1]: line.split(" ||| ") for line in
            table.lines(bitext.source.vocab, bitext.target.vocab)}  # fmt: skip
    both = [float(x) for x in rows["a b>x y"][2].split()]
    np.testing.assert_allclose(both, [1.0, 1.0, 0.5, 0.5])
    assert rows["a b>x y"][3] == "0-0 1-1" and rows["a b>x y"][4] == "1 2 1"
    alone = [float(x) for x in rows["a b>x"][2].split()]
    np.testing.assert_allclose(alone, [1 / 3, 1.0, 0.5, 1.0], rtol=1e-5)  # x stands for "a" twice and for "a b" once


def test_the_limit_keeps_the_best_targets_of_each_source(aligned):
    bitext, alignments = aligned
    table, *_ = build_table(bitext, alignments, np.ones(len(bitext)), 3)
    weights = np.array([0.2, 0.1, 0.5, 0.3])
    options, kept = table.options(weights, 1)
    scores = table.features @ weights
    for node in np.unique(table.nodes):
        assert scores[kept[table.nodes[kept] == node]].tolist() == [scores[table.nodes == node].max()]
    assert len(options.scores) == len(np.unique(table.nodes))


@pytest.mark.parametrize("aligner", ["hmm", "ibm1"])
def test_aligners_of_sentences_give_links_that_do_not_cross_and_reach_every_target(aligned, aligner):
    bitext, _ = aligned
    found = align_letters(bitext, aligner, passes=5)
    for i in range(len(found)):
        own = found.pair(i).tolist()
        assert {j for _, j in own} == set(range(int(bitext.target.lengths[i])))
        assert all((a - c) * (b - d) >= 0 for (a, b), (c, d) in itertools.combinations(own, 2))


# ---- learning and writing


@pytest.mark.parametrize("settings", [{}, {"joint_order": 0}, {"context": 0}, {"units": "graphemes"}])
def test_a_cipher_is_broken_without_tuning(settings):
    pairs = cipher(7, 2200)
    model = PhraseTransliterator(tune=False, lowercase=False, **settings).fit(pairs[:2000])
    found = model.transliterate([pair.source for pair in pairs[2000:]])
    right = [ranked[0].target == pair.targets[0] for ranked, pair in zip(found, pairs[2000:], strict=True)]
    assert np.mean(right) >= 0.95


def test_the_system_of_phrases_alone_is_tuned_by_line_search_on_bleu():
    pairs = cipher(7, 400)
    plain = {"aligner": "hmm", "joint_order": 0, "context": 0, "metric": "bleu"}
    model = PhraseTransliterator(**QUICK, **plain, lowercase=False).fit(pairs[:300])
    found = model.transliterate([pair.source for pair in pairs[300:]])
    assert np.mean([ranked[0].target == pair.targets[0] for ranked, pair in zip(found, pairs[300:], strict=True)]) > 0.8
    assert model.joint_ is None and not len(model.table_.pieces) and model.weights_[[5, 6, 7]].tolist() == [0, 0, 0]


def test_a_map_of_letters_writes_what_each_letter_most_often_stands_for():
    pairs = [Pair("ab", ("xy",)), Pair("aab", ("xxy",)), Pair("ba", ("yx",)), Pair("bab c", ("yxy z",))] * 20
    model = LetterMap().fit(pairs)
    assert model.map_ == {"a": "x", "b": "y", "c": "z"}
    assert model.transliterate(["Abba? CA", ""]) == [[Candidate("xyyx zx", 0.0)], []]


def test_names_for_which_nothing_was_found_stay_in_their_place(tmp_path):
    found = [("a", [Candidate("x", 0.0), Candidate("y", -1.0)]), ("", []), ("b & c", [Candidate("", 0.0)])]
    write_results(found, tmp_path / "out.xml")
    assert read_results(tmp_path / "out.xml") == [["x", "y"], [], [""]]


def test_what_xml_cannot_hold_is_replaced_with_a_warning(tmp_path):
    good, bad = "\t\n \x7f\ufffd\U0001f600", "\0\x01\x08\x0b\x0c\x0e\x1f\ufffe\uffff"
    with pytest.warns(CorpuscleWarning, match="U.FFFD: 10$"):
        write_results([("a\x1b", [Candidate(f"x{mark}y", 0.0) for mark in good + bad])], tmp_path / "out.xml")
    assert read_results(tmp_path / "out.xml") == [[f"x{mark}y" for mark in good + "\ufffd" * len(bad)]]


def test_scores_are_weights_times_features_and_candidates_are_distinct(small):
    found = decoded(small, ["abcde", "aabb"], 20)
    np.testing.assert_allclose(found.scores, found.features @ small.weights_, atol=1e-9)
    strings = [string for ranked in found.ranked(small.lm_.vocab_) for string, _ in ranked]
    for a, b in itertools.pairwise(found.starts.tolist()):
        assert len(set(strings[a:b])) == b - a
        assert (np.diff(found.scores[a:b]) <= 1e-12).all()


def test_one_best_is_the_first_of_the_n_best(small):
    names = [pair.source for pair in cipher(2, 40)]
    first = [ranked[0] for ranked in small.transliterate(names)]
    ranked = [ranked[0] for ranked in small.transliterate(names, 5)]
    assert [c.target for c in first] == [c.target for c in ranked]
    np.testing.assert_allclose([c.score for c in first], [c.score for c in ranked])


def test_summing_adds_up_the_ways_to_write_the_same_target(small):
    plain, summed = small.transliterate(["abcab"], 3)[0], small.transliterate(["abcab"], 3, sum=True)[0]
    assert summed[0].score >= plain[0].score and len({target for target, _ in summed}) == len(summed)


def test_names_of_several_words_combine_the_lists_of_their_words(small):
    words = small.transliterate(["abc", "dea"], 4)
    assert small.transliterate(["abc  dea"], 4)[0] == combined(words, 4)
    lists = [[Candidate(f"{w}{r}", -r * (w + 1.5)) for r in range(4)] for w in range(3)]
    every = sorted((sum(c.score for c in way) for way in itertools.product(*lists)), reverse=True)
    np.testing.assert_allclose([c.score for c in combined(lists, 30)], every[:30])


def test_unknown_letters_are_copied_or_dropped_and_there_is_always_an_output(small):
    target = small.lm_.vocab_.strings[5]
    assert small.transliterate(["?!"])[0][0].target == ""
    assert small.transliterate([target])[0][0].target == target
    assert small.transliterate(["", "   "]) == [[], []]
    assert len(small.transliterate(["a"])[0][0].target) > 0


def test_derivations_spell_the_word_and_the_target(small):
    for (target, _), phrases in small.derivations("abcd", 3):
        assert "".join(f for f, _ in phrases) == "abcd" and "".join(e for _, e in phrases) == target


def test_the_way_back_has_all_sources_of_a_target():
    assert reversed_pairs([Pair("a", ("x", "y")), Pair("b", ("x",))]) == [Pair("x", ("a", "b")), Pair("y", ("a",))]


def test_words_that_become_several_words_come_back_with_spaces():
    pairs = [Pair(p.source, (p.targets[0][:1] + " " + p.targets[0][1:],)) for p in cipher(5, 300)]
    model = PhraseTransliterator(tune=False, lowercase=False).fit(pairs)
    found = model.transliterate([pair.source for pair in pairs[:50]])
    assert np.mean([ranked[0].target == pair.targets[0] for ranked, pair in zip(found, pairs, strict=False)]) > 0.8


def test_workers_do_not_change_a_byte(tmp_path):
    pairs = cipher(4, 200)
    for count in 1, 3:
        PhraseTransliterator(**QUICK, workers=count).fit(pairs).save(tmp_path / f"{count}")
    assert (tmp_path / "1").read_bytes() == (tmp_path / "3").read_bytes()


def test_a_cluster_of_processes_gives_the_same_bytes_as_threads(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr("corpuscle.transliterate.decoding._WORK", 200)  # several chunks
    pairs, names = cipher(4, 150), [pair.source for pair in cipher(3, 40)]
    settings = QUICK | {"aligner": "ibm1", "passes": 2, "metric": "acc", "joint_order": 2, "order": 3}
    threads = PhraseTransliterator(**settings, workers=2).fit(pairs)
    threads.save(tmp_path / "threads")
    model = PhraseTransliterator(**settings, cluster=cluster).fit(pairs)
    model.save(tmp_path / "cluster")
    assert model.transliterate(names, 3) == threads.transliterate(names, 3)
    assert (tmp_path / "cluster").read_bytes() == (tmp_path / "threads").read_bytes()


def test_tuned_weights_are_at_least_as_good_on_the_pool_as_those_before():
    pairs = cipher(9, 150)
    words = [pair.source for pair in pairs[100:]]
    model = PhraseTransliterator(tune=False, lowercase=False).fit(pairs[:100])
    for metric in METRICS:
        references = [[list(pair.targets[0])] for pair in pairs[100:]]
        with workers(2) as pool:
            tuner = Tuner(references, model.lm_.vocab_, metric, np.array([True] * 7 + [False]), 2, 1, pool)
            tuner.merge(decoded(model, words, 10))
            pools = tuner.pools()
            value, weights = tuner.optimise(model.weights_, 0)
        assert value >= tuner.figure(pools, model.weights_) and weights[7] == 0.0
        assert tuner.figure(pools, weights) == pytest.approx(value, abs=1e-9)
        assert metric == "likelihood" or np.abs(weights).sum() == pytest.approx(1.0)


PLAIN = {"order": 2, "joint_order": 0, "context": 0}


def test_weights_stay_where_no_accepted_target_is_found():
    model = PhraseTransliterator(**QUICK, **PLAIN)
    with pytest.warns(CorpuscleWarning, match="the weights stay .* no accepted target was found"):
        model.fit(cipher(6, 60), [Pair("?!", ("Ж",))])
    assert model.weights_.tolist() == [0.2, 0.2, 0.2, 0.2, 0.5, 0.0, 0.0, 0.0] and model.history_ == []


def test_weights_stay_where_words_have_right_candidates_only_or_none():
    model = PhraseTransliterator(tune=False, **PLAIN).fit(cipher(6, 60))
    with pytest.warns(CorpuscleWarning, match="the weights stay .* right candidates only, or none"), workers(1) as pool:
        tuner = Tuner([[["Ж"]], [[]]], model.lm_.vocab_, "likelihood", np.array([True] * 5 + [False] * 3), 0, 1, pool)
        rounds = tuner.run(model.weights_, lambda _: decoded(model, "?!", 5), 3, Checkpoint())
    assert rounds == []


@pytest.mark.parametrize(
    "pairs, reason",
    [
        ([Pair(f"{pair.source} {pair.source}", pair.targets) for pair in cipher(6, 60)], "sources of several words"),
        ([Pair("a", ("b",))] * 60, "there is only one name"),
    ],
)
def test_weights_stay_where_no_pair_can_be_held_out_for_tuning(pairs, reason):
    model = PhraseTransliterator(**QUICK, **PLAIN)
    with pytest.warns(CorpuscleWarning, match=f"the weights stay .*: {reason}"):
        model.fit(pairs)
    assert model.weights_[4] == 0.5 and model.history_ == [] and model.lm_.provenance_["sentences"] == 60
    assert model.transliterate(["a"])[0]


@pytest.mark.parametrize(
    "target, reason", [("b c", "different numbers of words"), ("x", "one side is more than nine times as long")]
)
def test_pairs_of_which_none_can_be_used_say_why(target, reason):
    source = "a b c" if " " in target else "abcdefghij"
    for given in ([Pair(source, (target,))] * 60, None), (cipher(6, 60), [Pair(source, (target,))]):
        with pytest.raises(InputError, match=f"pair can be used: {reason}$"):
            PhraseTransliterator(**QUICK, **PLAIN).fit(*given)


def test_development_pairs_are_not_learned(tmp_path):
    pairs = cipher(6, 300)
    dev = [Pair("zzz", ("Ж",)), *cipher(6, 320)[300:]]
    model = PhraseTransliterator(**QUICK).fit(pairs, dev)
    assert "z" not in model.source_vocab_ and "ж" not in model.lm_.vocab_
    assert model.overlap(dev) == (0.0, 1.0) and model.overlap(pairs)[0] == 1.0


def test_the_held_out_tenth_is_learned_in_the_end_unless_told_otherwise():
    pairs = cipher(6, 300)
    models = [PhraseTransliterator(**QUICK, final_refit=refit).fit(pairs) for refit in (True, False)]
    assert [model.lm_.provenance_["sentences"] for model in models] == [300, 270]


class StopAt(Checkpoint):
    """A checkpoint at which the user presses Ctrl-C after the first round."""

    def after(self, *args, **named):
        self._stop.requested = True
        super().after(*args, **named)


def test_an_interrupted_training_resumes_to_the_identical_bytes(tmp_path, monkeypatch):
    pairs = [Pair(source, (target.replace("K", "KR"[i % 2]),)) for i, (source, (target,)) in enumerate(cipher(8, 200))]
    learner = PhraseTransliterator(rounds=3, tuning_nbest=5)
    learner.fit(pairs).save(tmp_path / "whole")
    assert len(learner.history_) > 1
    path = tmp_path / "m"
    with monkeypatch.context() as patch:
        patch.setattr("corpuscle.transliterate.phrase.Checkpoint", StopAt)
        with pytest.raises(Interrupted), learner.checkpoint(pairs, None, path) as checkpoint:
            learner.fit(pairs, checkpoint=checkpoint)
    with pytest.raises(InputError, match="other data"):
        learner.checkpoint(pairs[1:], None, path, resume=True)
    with learner.checkpoint(pairs, None, path, resume=True) as checkpoint:
        learner.fit(pairs, checkpoint=checkpoint).save(path)
    assert path.read_bytes() == (tmp_path / "whole").read_bytes()


# ---- files and errors


def test_a_model_file_gives_back_the_model(small, tmp_path):
    small.save(tmp_path / "m")
    loaded = corpuscle.load(tmp_path / "m")
    names = [pair.source for pair in cipher(2, 20)]
    assert loaded.transliterate(names, 5) == small.transliterate(names, 5)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def test_a_model_file_says_which_settings_were_given(small, tmp_path):
    small.save(tmp_path / "m")
    header, *_ = read_header(tmp_path / "m")
    given = {name for name, (_, origin) in header["settings"].items() if origin == "given"}
    assert given == {*QUICK, "lowercase"} and header["settings"]["beam"] == [10, "default"]
    assert "workers" not in header["settings"]
    loaded = corpuscle.load(tmp_path / "m")
    assert loaded.settings == small.settings and loaded.origins == small.origins


def test_a_second_fit_keeps_nothing_of_the_first(tmp_path):
    first, second = cipher(1, 80), [Pair(source[::-1], targets) for source, targets in cipher(2, 60)]
    learner = PhraseTransliterator(**QUICK, **PLAIN).fit(first, first[:20])
    learner.transliterate(["abc"])
    learner.fit(second).save(tmp_path / "again")
    PhraseTransliterator(**QUICK, **PLAIN).fit(second).save(tmp_path / "new")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "new").read_bytes()


@pytest.mark.parametrize("settings", [{}, {"joint_order": 0}, {"joint_order": 0, "context": 0}])
def test_damaged_model_files_are_refused_or_harmless(tmp_path, settings):
    path = tmp_path / "m"
    small = {"max_phrase": 2, "order": 3, "joint_order": 2} | settings
    PhraseTransliterator(**QUICK, **small).fit(cipher(1, 60)).save(path)

    def use(path):
        model = corpuscle.load(path)
        model.workers = 1
        model.transliterate(["abcx", "de fa"], 3)
        model.transliterate(["abc"])
        list(model.table_.lines(model.source_vocab_, model.lm_.vocab_))

    survives_hostile_edits(path, use, edits=150)


@pytest.mark.parametrize(
    "settings, reason",
    [
        ({"max_phrase": 9}, "max_phrase is a whole number from 1 to 8; not 9"),
        ({"metric": "ter"}, "metric is one of likelihood, bleu, acc, fscore"),
        ({"aligner": "giza"}, "aligner is one of"),
        ({"symmetrise": "foo"}, "symmetrise is one of forward, .*, posterior; not 'foo'"),
        ({"units": "words"}, "units is one of"),
        ({"beam": 0}, "beam is a whole number"),
        ({"context": 9}, "context is a whole number from 0 to 8"),
        ({"beam_threshold": 0}, "beam_threshold is a number above 0"),
        ({"beam_threshold": float("inf")}, "beam_threshold is a number above 0"),
        ({"beam_threshold": 10**400}, "beam_threshold is a number above 0"),
        ({"references": "some"}, "references is one of"),
    ],
)
def test_impossible_settings_are_refused(settings, reason):
    with pytest.raises(SettingError, match=reason):
        PhraseTransliterator(**settings)


def test_too_few_pairs_are_an_error_and_few_a_warning():
    with pytest.raises(InputError, match="at least 50"):
        PhraseTransliterator().fit(cipher(1, 49))
    with pytest.warns(CorpuscleWarning, match="expect many errors"):
        PhraseTransliterator(tune=False).fit(cipher(1, 60))
    with pytest.raises(InputError, match="development pairs are empty"):
        PhraseTransliterator().fit(cipher(1, 60), [])


def test_weights_of_the_wrong_number_are_refused(small):
    with pytest.raises(SettingError, match="8 weights"):
        small.set_weights([1.0, 2.0])


def test_a_beam_of_one_and_of_thousands_work(small):
    for beam in 1, 3000:
        decoder = Decoder(
            small.table_,
            small.lm_,
            small.joint_,
            small.context_,
            small.source_vocab_,
            small.weights_,
            PhraseSettings(beam=beam),
        )
        with workers(1) as pool:
            assert len(decoder.decode([list("abcd")], pool, 5).scores) >= 1
        assert 1 <= len(small.transliterate(["abcd"], 5, beam=beam)[0]) <= 5
    with pytest.raises(SettingError, match="beam is a whole number from 1 to 10,000; not 0"):
        small.transliterate(["abcd"], beam=0)
