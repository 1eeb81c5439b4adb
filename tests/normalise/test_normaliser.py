"""Normalisers: what they must leave alone, what they recover, files, workers."""

import numpy as np
import pytest

import corpuscle
from corpuscle.errors import CorpuscleWarning, InputError, SettingError
from corpuscle.measure import normalisation_scores
from corpuscle.normalise import Normaliser, Replacements
from corpuscle.random import Random
from corpuscle.text.columns import Normalised

SUBJECTS = ["the doctor", "my brother", "our teacher", "every student", "that woman"]
VERBS = ["is talking about", "was looking at", "has forgotten", "will remember", "keeps watching"]
OBJECTS = ["the weather", "a football match", "something important", "yesterday evening", "another question"]
pytestmark = pytest.mark.filterwarnings("ignore::corpuscle.errors.CorpuscleWarning")


def clean(seed, n):
    random = Random(seed, "tests.normalise")
    return [" ".join(random.choice(part) for part in (SUBJECTS, VERBS, OBJECTS)).split() for _ in range(n)]


def corrupted(sentences, seed):
    """Words lose a vowel or a final g, or double a letter, 15 % of them."""
    random = Random(seed, "tests.normalise.noise")
    typed = []
    for sentence in sentences:
        message = []
        for word in sentence:
            if len(word) > 3 and random.below(100) < 15:
                vowels = [i for i, letter in enumerate(word) if letter in "aeiou" and i]
                kind = random.below(3)
                if kind == 0 and vowels:
                    at = random.choice(vowels)
                    word = word[:at] + word[at + 1 :]
                elif kind == 1 and word.endswith("g"):
                    word = word[:-1]
                else:
                    at = random.below(len(word))
                    word = word[:at] + word[at] + word[at:]
            message.append(word)
        typed.append(message)
    return Normalised.from_messages(typed, sentences)


@pytest.fixture(scope="module")
def gold():
    return corrupted(clean(2, 200), 3)


def figures(model, gold):
    typed = [list(message) for message in gold.corpus]
    wrong = [[a != b for a, b in zip(m, gold.standard(i), strict=True)] for i, m in enumerate(typed)]
    return normalisation_scores(gold, model.normalise(typed, wrong), draws=2)


def test_corrupted_words_are_recovered_and_the_default_is_not_worse_than_its_parts(gold):
    accuracy = {}
    for combine in ("loglinear", "channel", "similarity", "sum"):
        model = Normaliser(combine=combine, min_count=1).fit(clean=clean(1, 300))
        result = figures(model, gold)
        assert result["precision"] == result["recall"] == result["accuracy"]
        accuracy[combine] = result["accuracy"]
    assert accuracy["loglinear"] >= accuracy["channel"] > 0.9 and accuracy["loglinear"] >= accuracy["similarity"]
    assert accuracy["loglinear"] > 0.97


def test_annotated_messages_teach_which_words_are_wrong_even_those_of_the_lexicon():
    sentences = [["i", "lost", "my", "paper"], ["the", "paper", "is", "their"], ["we", "like", "the", "cat"]] * 20
    typed = [["i", "lost", "ma", "papr"], ["teh", "paper", "is", "there"], ["we", "like", "the", "cat"]] * 20
    gold = Normalised.from_messages(typed, sentences)
    words = {word for sentence in [*typed, *sentences] for word in sentence} - {"teh", "papr"}
    model = Normaliser().fit(gold=gold, words=words)
    assert model.normalise([["TEH", "paper", "is", "there", "Papr"]]) == [["THE", "paper", "is", "their", "Paper"]]
    assert normalisation_scores(gold, model.normalise(typed), draws=2)["f1"] == 1.0
    alone = Normaliser(combine="dictionary").fit(gold=gold, words=words)
    assert alone.normalise([["teh", "catt"]]) == [["the", "catt"]]


def test_new_words_stay_although_all_words_of_the_annotated_messages_are_known():
    ends = ("ton", "dale", "wick", "by", "ham")
    names = [first + last for first in ("Sal", "Wes", "Hol", "Mar", "Kel") for last in ends]
    random = Random(4, "tests.normalise.names")
    sentences = [[*sentence, "in", random.choice(names)] for sentence in clean(5, 150)]
    known, new = ([s for s in sentences if (s[-1] in names[:15]) == is_known] for is_known in (True, False))
    model = Normaliser(min_count=1).fit([], corrupted(known, 6))
    kept = [message[-1] for message in model.normalise(new)]
    assert np.mean([a == b[-1] for a, b in zip(kept, new, strict=True)]) > 0.8


def test_standard_forms_of_several_words_and_of_none():
    typed, meant = ["wanna", "go", "al", "right", "now"], ["want to", "go", "alright", "", "now"]
    gold = Normalised.from_messages([typed] * 20, [meant] * 20)
    model = Normaliser(min_count=1).fit(gold=gold)
    assert model.normalise([["Wanna", "go", "al", "right"]]) == [["Want to", "go", "alright", ""]]


@pytest.fixture(scope="module")
def plain():
    slang = Replacements.from_pairs([("lol", "laughing out loud"), ("u", "you"), ("weather", "rain")])
    return Normaliser(min_count=1).fit(clean=clean(1, 300), slang=slang, never=["docter"])


def test_known_words_mentions_tags_addresses_and_numbers_stay(plain):
    message = ["The", "Doctor", "@docter_", "#wether", "http://wether.com", "wether.com", ":)", "1234", "!!", "weather"]
    message += ["x" * 41, "docтor"]
    assert plain.normalise([message, []]) == [message, []]


def test_words_of_the_never_change_list_stay(plain):
    assert plain.normalise([["docter", "DOCTER", "doctr"]]) == [["docter", "DOCTER", "doctor"]]


def test_the_dictionary_comes_first(plain):
    messages = [["LOL", "u", "talkin"]]
    alone = Normaliser(combine="dictionary", min_count=1).fit(clean=clean(1, 300), slang=plain.slang_)
    assert alone.normalise(messages) == [["LAUGHING OUT LOUD", "you", "talkin"]]
    assert plain.normalise(messages) == [["LAUGHING OUT LOUD", "you", "talking"]]


def test_without_annotation_changes_must_be_likely_unless_the_word_is_known_to_be_wrong():
    careful = Normaliser(min_count=1).fit(clean=clean(1, 300))
    bold = careful.replace(min_confidence=0.0).fit(clean=clean(1, 300))
    assert (careful.least_confidence, bold.least_confidence) == (0.9, 0.0)
    message = [["the", "tor", "forgoten"]]
    sure = {one.typed: one.confidence for one in bold.choices(message)[0]}
    assert sure["tor"] < 0.9 < sure["forgoten"]
    assert careful.normalise(message) == [["the", "tor", "forgotten"]]
    assert careful.normalise(message, [[False, True, False]]) == bold.normalise(message, [[False, True, False]])


def test_a_word_without_candidates_stays_and_a_doubtful_one_where_care_is_asked_for(plain):
    assert plain.normalise([["qqqqqqqqqq"]]) == [["qqqqqqqqqq"]] and plain.choices([["qqqqqqqqqq"]]) == [[]]
    careful = Normaliser(min_count=1, min_confidence=1.0).fit(clean=clean(1, 300))
    assert careful.normalise([["remembr", "wther"]]) == [["remember", "wther"]]  # remembr has one candidate


def test_explanations_add_up_to_scores(plain):
    [[choice]] = plain.choices([["is", "talkin", "about"]], ranked=5)
    assert choice.form == "talking" and 0 < choice.confidence <= 1 and choice.ranked[0][0] == "talking"
    assert all(score == pytest.approx(sum(parts.values())) for _, score, parts in choice.ranked)


def test_a_model_survives_its_file_and_any_number_of_workers(gold, tmp_path):
    model = Normaliser(min_count=1).fit(gold=gold)
    model.save(tmp_path / "m")
    again = corpuscle.load(tmp_path / "m")
    messages = [list(message) for message in corrupted(clean(7, 1500), 8).corpus]
    expected = model.choices(messages, ranked=3)
    for workers in (1, 2):
        again.workers = workers
        assert again.choices(messages, ranked=3) == expected
    twin = Normaliser(min_count=1).fit(gold=gold)
    np.testing.assert_array_equal(twin.weights_, model.weights_)


def test_what_cannot_be_learned():
    with pytest.raises(InputError, match="no words"):
        Normaliser().fit([["once"]])
    with pytest.raises(InputError, match="no clean text"):
        Normaliser().fit([["tehs"]], words=["this"])
    with pytest.raises(InputError, match="annotated words"):
        Normaliser(min_count=1).fit(gold=Normalised.from_messages([["teh"]], [["the"]]))
    with pytest.raises(SettingError, match="mean nothing"):
        Normaliser(combine="sum").fit(gold=Normalised.from_messages([["teh"]], [["the"]]))
    with pytest.warns(CorpuscleWarning, match="of this language"):
        Normaliser().fit([["ein", "haus"], ["das"], ["the"]], words=["the", "house"])


def test_figures_by_hand():
    gold = Normalised.from_messages([["u", "wanna", "eat", "tu"]], [["you", "want to", "eat", "to"]])
    result = normalisation_scores(gold, [["You", "wanna", "ate", "two"]], draws=2)
    assert (result["precision"], result["recall"], result["f1"]) == (1 / 3, 1 / 3, 1 / 3)
    assert result["word_accuracy"] == 1 / 4 and result["error_reduction"] == pytest.approx(0.0)
    assert result["word_error_rate"] == 4 / 5
