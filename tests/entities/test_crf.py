"""Taggers: exact sums, recovery of a made-up language of findings, files, what cannot be learned."""

from itertools import pairwise, product

import numpy as np
import pytest

import corpuscle
from corpuscle.entities import CrfTagger, DictionaryTagger
from corpuscle.entities.dictionary import Dictionary
from corpuscle.entities.documents import from_corpus, from_standoff
from corpuscle.entities.features import NcValues
from corpuscle.entities.kernels.fields import likely_tags, score_tokens, tag_tokens
from corpuscle.entities.learning import steps_of
from corpuscle.errors import InputError, SettingError
from corpuscle.measure import mention_scores
from corpuscle.random import Random
from corpuscle.text import Corpus, Layer, Mention, Standoff
from corpuscle.text.mention_tags import TokenMention, without_ends
from corpuscle.words import WordFeatures


def findings(seed, n):
    """Sentences such as "the left and right atrium are mildly dilated .", with their disorders in pieces."""
    random = Random(seed, "tests.entities")
    texts = []
    for _ in range(n):
        sides, organ = random.shuffled(["left", "right"]), random.choice(["atrium", "ventricle", "kidney"])
        degree, state = random.choice(["mildly", "very"]), random.choice(["dilated", "swollen"])
        kind = random.below(3)
        if kind == 0:
            words = ["the", sides[0], organ, "is", degree, state, "."]
            mentions = [(1, 2, 5)]
        elif kind == 1:
            words = ["the", sides[0], "and", sides[1], organ, "are", degree, state, "."]
            mentions = [(1, 4, 7), (3, 4, 7)]
        else:
            words = ["no", "change", "of", "the", organ, "or", random.choice(["fever", "pain"]), "."]
            mentions = [(6,)]
        begins = np.cumsum([0, *(len(word) + 1 for word in words)])
        spans = [TokenMention("X", tokens).runs for tokens in mentions]
        texts.append(Standoff(" ".join(words), tuple(
            Mention("X", tuple((int(begins[a]), int(begins[b] + len(words[b]))) for a, b in runs)) for runs in spans
        )))  # fmt: skip
    return texts


@pytest.fixture(scope="module")
def learned():
    return CrfTagger(nc="none", iterations=60, algorithm="lbfgs").fit(from_standoff(findings(1, 200)))


def test_findings_in_pieces_are_recovered_and_plain_tags_lose_them(learned):
    test = from_standoff(findings(2, 100))
    result = mention_scores(test.texts, learned.annotate(test))
    assert result["strict_f1"] >= 0.99 and result["complex_f1"] >= 0.99
    plain = CrfTagger(nc="none", encoding="bio", iterations=60).fit(from_standoff(findings(1, 200)))
    assert mention_scores(test.texts, plain.annotate(test))["complex_f1"] < 0.5
    assert plain.provenance_["lost"] > 0 and learned.provenance_["lost"] == 0


def test_best_tags_probabilities_and_the_sum_are_those_of_enumeration(learned):
    documents = from_corpus(Corpus.from_sentences([["left", "atrium", "is", "swollen"]]))
    sheet = learned.tokens_of(documents)
    field, n, s = learned._field, 4, len(learned._field.steps)
    scores = np.zeros((n, s))
    weight_of = {int(key): slice(*field.starts[k : k + 2]) for k, key in enumerate(field.keys)}
    from corpuscle.entities.learning import all_features

    for i, row in enumerate(all_features(sheet).tolist()):
        for key in row:
            if key in weight_of:
                scores[i, field.labels[weight_of[key]]] += field.weights[weight_of[key]]
    paths = np.array(list(product(range(s), repeat=n)))
    logs = scores[np.arange(n), paths].sum(axis=1) + field.steps[paths[:, :-1], paths[:, 1:]].sum(axis=1)
    shares, tags = np.zeros((n, s)), np.zeros(n, np.int32)
    total = likely_tags(sheet.tokens, field, 0, 1, shares)
    assert total == pytest.approx(np.logaddexp.reduce(logs), abs=1e-9)
    weights = np.exp(logs - total)
    expected = [[weights[paths[:, i] == label].sum() for label in range(s)] for i in range(n)]
    np.testing.assert_allclose(shares, expected, atol=1e-9)
    tag_tokens(sheet.tokens, field, 0, 1, tags)
    np.testing.assert_array_equal(tags, paths[np.argmax(logs)])
    apart = np.full((s, s), -1e90)
    apart[0, 1] = 0.0  # one step can be taken, and none after it
    assert likely_tags(sheet.tokens, field._replace(steps=apart), 0, 1, shares) == -np.inf and not shares.any()


def test_guesses_are_the_best_labellings_of_enumeration(learned):
    texts = from_corpus(Corpus.from_sentences([["the", "fever"], [], ["left", "swollen", "."]]))
    guesses, sheet = learned.guesses(texts, 400), learned.tokens_of(texts)
    s, names = len(learned.labels_) - 3, learned.labels_.strings[3:]
    for i, n in enumerate((2, 0, 3)):
        scores = np.zeros((n, s))
        if n:
            score_tokens(sheet.tokens, learned._field, i, scores)
        weights = {
            path: np.exp(sum(scores[j, q] for j, q in enumerate(path))
                         + sum(learned._field.steps[p, q] for p, q in pairwise(path)))
            for path in product(range(s), repeat=n)
        }  # fmt: skip
        total, wanted = sum(weights.values()), {}
        for path in sorted(weights, key=weights.get, reverse=True)[:400]:
            mentions = tuple(learned._join(texts.corpus.words(i), [without_ends(names[q]) for q in path]))
            wanted[mentions] = wanted.get(mentions, 0) + weights[path] / total
        assert dict(guesses[i]) == pytest.approx(wanted, abs=1e-9)
        found = [guess.probability for guess in guesses[i]]
        assert found == sorted(found, reverse=True)
    assert learned.guesses(texts, 1)[0][0].mentions == tuple(learned.tag(texts).mentions[0])


def test_weights_are_those_of_crfsuite(learned):
    import pycrfsuite

    train = from_standoff(findings(1, 200))
    from corpuscle.entities.learning import all_features
    from corpuscle.text.mention_tags import tags_of_mentions, with_ends

    sheet = learned.tokens_of(train)
    features, starts = all_features(sheet), train.corpus.sentence_starts
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params({"c1": 0.0, "c2": 0.1, "max_iterations": 60})
    known = set(learned._field.keys.tolist())
    for i, mentions in enumerate(train.mentions):
        rows = [[str(key) for key in row if key in known] for row in features[starts[i] : starts[i + 1]].tolist()]
        trainer.append(rows, with_ends(tags_of_mentions(mentions, len(rows)).tags))
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        trainer.train(f"{folder}/crf")
        tagger = pycrfsuite.Tagger()
        tagger.open(f"{folder}/crf")
        test = from_standoff(findings(3, 30))
        sheet = learned.tokens_of(test)
        keys, starts = all_features(sheet).tolist(), test.corpus.sentence_starts
        found = learned.best_tags(test)
        for i in range(len(test.corpus)):
            rows = [[str(key) for key in row] for row in keys[starts[i] : starts[i + 1]]]
            assert list(map(without_ends, tagger.tag(rows))) == found[starts[i] : starts[i + 1]]


def test_a_model_survives_its_file_and_any_number_of_workers(learned, tmp_path):
    learned.save(tmp_path / "m")
    again = corpuscle.load(tmp_path / "m")
    test = from_standoff(findings(4, 400))
    found = learned.tag(test)
    for workers in (1, 2):
        again.workers = workers
        other = again.tag(test)
        assert other.mentions == found.mentions and other.confidence == found.confidence
        np.testing.assert_array_equal(other.surest, found.surest)
    assert again.heaviest_ == learned.heaviest_ and {each.label for each in again.heaviest_} >= {"HB-X", "DB-X"}


@pytest.mark.parametrize("algorithm", ["sgd", "lbfgs"])
def test_the_same_seed_gives_the_same_weights(algorithm):
    one, twin = (
        CrfTagger(nc="none", iterations=10, algorithm=algorithm).fit(from_standoff(findings(1, 100))) for _ in range(2)
    )
    for name in one._field._fields:
        np.testing.assert_array_equal(getattr(one._field, name), getattr(twin._field, name))
    assert one.provenance_["iterations"] == 10


def test_both_algorithms_find_the_same_tags_and_only_one_has_both_penalties(learned):
    documents = from_standoff(findings(1, 200))
    other = CrfTagger(nc="none", iterations=100, algorithm="sgd").fit(documents)
    assert other.best_tags(documents) == learned.best_tags(documents)
    with pytest.raises(SettingError, match="c1 needs"):
        CrfTagger(nc="none", c1=0.1, algorithm="sgd").fit(documents)


def test_few_sentences_are_learned_from_at_once_and_many_one_by_one():
    assert steps_of(CrfTagger(), 100) == ("lbfgs", 200) and steps_of(CrfTagger(), 5000) == ("sgd", 80)
    assert steps_of(CrfTagger(c1=0.1), 5000) == ("lbfgs", 200)
    assert steps_of(CrfTagger(algorithm="sgd", iterations=7), 100) == ("sgd", 7)


def test_confidence_is_a_probability_and_lower_where_words_are_new(learned):
    test = from_corpus(Corpus.from_sentences([["the", "left", "atrium", "is", "very", "swollen", "."],
                                              ["the", "upper", "spleen", "seems", "quite", "torn", "."]]))  # fmt: skip
    tagged = learned.tag(test)
    assert all(0 < value <= 1 for sentence in tagged.confidence for value in sentence)
    assert tagged.surest[0] > tagged.surest[1]
    texts = learned.annotate(test, confidence=True)
    assert texts[0].mentions[0].attributes[0].name == "Confidence"


def test_the_dictionary_takes_the_longest_string_of_training():
    texts = [Standoff("Bad Lung pain", (Mention("X", ((4, 13),)),)), Standoff("lung", (Mention("Y", ((0, 4),)),))]
    train = from_standoff(texts)
    tagger = DictionaryTagger().fit(train)
    found = tagger.tag(from_corpus(Corpus.from_sentences([["lung", "pain", "lung", "x"]])))
    assert found.mentions == [[TokenMention("X", (0, 1)), TokenMention("Y", (2,))]]


def test_dictionary_matches_are_those_of_brute_force():
    random = Random(5, "tests.dictionary")
    for _ in range(50):
        letters = "abc"
        entries = {tuple(random.choice(letters) for _ in range(1 + random.below(3))): "X" for _ in range(3)}
        words = [random.choice(letters) for _ in range(8)]
        found, begins = Dictionary.from_entries(entries.items()).matches(from_corpus(Corpus.from_sentences([words])))
        expected, starts, i = [0] * 8, [False] * 8, 0
        while i < 8:
            longest = max((len(entry) for entry in entries if tuple(words[i : i + len(entry)]) == entry), default=0)
            for j in range(i, i + longest):
                expected[j], starts[j] = 1, j == i
            i += max(1, longest)
        assert found.tolist() == expected and begins.tolist() == starts


def test_nc_values_of_a_hand_example():
    words = [["severe", "pain"], ["a", "pain"], ["severe", "cold"], ["cold", "day"]]
    tags = Layer.from_strings(["ADJ", "NOUN", "DET", "NOUN", "ADJ", "NOUN", "NOUN", "NOUN"])
    labels = Layer.from_strings(["O", "B-X", "O", "B-X", "O", "O", "O", "O"], "")
    documents = from_corpus(Corpus.from_sentences(words), labels, tags=tags)
    values = NcValues.learn(documents, "token")
    assert values.scores(documents, "token")[5, 0] == 0.5  # one of two mentions has "severe" before it
    big = from_corpus(Corpus.from_sentences(words * 130), tags=Layer.from_strings(tags.strings() * 130))
    assert values.scores(big, "raw")[5, 0] == pytest.approx(0.5 * 130)
    assert values.scores(big, "mean")[5, 0] == pytest.approx(0.25)
    assert values.classes(documents, "token")[0].tolist() == [0, 0]


def test_sources_and_a_dictionary_become_features():
    train = from_standoff(findings(1, 60))
    sources = WordFeatures.from_words(["atrium", "kidney"], np.array([[1], [1]], np.uint64))
    entries = Dictionary.from_entries([(("atrium",), "ORGAN")])
    tagger = CrfTagger(nc="none", iterations=10).fit(train, sources=sources, dictionary=entries)
    names = " ".join(tagger.tokens_of(train).names_of_templates)
    assert "source0[-1]" in names and "entry" in names


def test_what_cannot_be_learned_from():
    with pytest.raises(InputError, match="no mentions to learn from"):
        CrfTagger().fit(from_standoff([Standoff("a b")]))
    with pytest.raises(InputError, match="need them"):
        CrfTagger(nc="raw").fit(from_standoff(findings(1, 5)))
    with pytest.raises(InputError, match="no mention in one piece"):
        DictionaryTagger().fit(from_standoff([Standoff("a b")]))
