"""Confusion sets and the channel: equal to brute force, and probabilities that add up to one."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpuscle.measure.overlaps import edit_distance
from corpuscle.normalise.decoding import scaled
from corpuscle.normalise.kernels.words import build_index, channel_parts, near_words
from corpuscle.normalise.lexicon import Lexicon, Reach, default_channel, spelled
from corpuscle.normalise.tokens import Phonetics, is_examined, reduced, sounds, with_case

STRINGS = st.text("abcé", min_size=1, max_size=11)


def plain_distance(a, b):
    """Wagner and Fischer's table as it is in the textbook."""
    table = np.zeros((len(a) + 1, len(b) + 1), int)
    table[:, 0], table[0] = np.arange(len(a) + 1), np.arange(len(b) + 1)
    for i, j in product(range(1, len(a) + 1), range(1, len(b) + 1)):
        change = table[i - 1, j - 1] + (a[i - 1] != b[j - 1])
        table[i, j] = min(change, table[i - 1, j] + 1, table[i, j - 1] + 1)
    return int(table[-1, -1])


def letters(word):
    return spelled([word]).letters


@given(STRINGS, STRINGS, st.integers(0, 12))
def test_the_banded_distance_is_the_whole_table_up_to_its_bound(a, b, most):
    assert edit_distance(letters(a), letters(b), most) == min(plain_distance(a, b), most + 1)


@settings(max_examples=60)
@given(st.lists(STRINGS, min_size=1, max_size=25, unique=True), STRINGS, st.integers(0, 2))
def test_the_index_finds_what_a_scan_finds(words, query, distance):
    own = spelled(words)
    found = near_words(letters(query), own, build_index(own, distance)).tolist()
    assert found == [i for i, word in enumerate(words) if plain_distance(query, word) <= distance]


def test_a_crowded_index_grows_its_room():
    words = ["".join(three) for three in product("abcdefghijklmnopqrst", repeat=3)]
    own = spelled(words)
    found = near_words(letters("abc"), own, build_index(own, 2)).tolist()
    assert found == [i for i, word in enumerate(words) if plain_distance("abc", word) <= 2]


@pytest.mark.parametrize("token", ["nite", "b4", "u", "talkin", "fone", "gr8", "zzzzz"])
@pytest.mark.parametrize("length", [0, 4])
def test_a_confusion_set_is_letters_or_sounds_by_brute_force(token, length):
    words = ["night", "knight", "nit", "before", "bee", "you", "talking", "phone", "great", "tail", "fun", "a", "won't"]
    lexicon = Lexicon.learn(dict.fromkeys(words, 1), Phonetics(length))

    def alike(word):
        pairs = product(sounds(token, length), sounds(word, length))
        return plain_distance(token, word) <= 2 or any(plain_distance(a, b) <= 1 for a, b in pairs)

    found = [lexicon.strings[k] for k in lexicon.confusion_set(token, Reach(2, 1)).tolist()]
    assert found == [word for word in lexicon.strings if alike(word)]


def test_lengthened_words_have_one_confusion_set():
    assert reduced("gooooood", 3) == reduced("goood", 3) == "goood"
    assert reduced("soooo", 1) == "so"


def test_words_of_other_scripts_have_no_code_and_are_found_by_letters():
    lexicon = Lexicon.learn({"привет": 1, "дом": 1}, Phonetics())
    assert sounds("привет", 0) == () and lexicon.confusion_set("превет", Reach(2, 1)).tolist() == [0]


def parts_of(typed, meant, channel):
    parts, own = np.empty(4), letters(meant)
    vowels = np.array([letter in "aeiou" for letter in meant])
    channel_parts(letters(typed), own, vowels, channel, parts)
    return parts


@pytest.mark.parametrize("meant", ["ab", "aba", "bee"])
def test_subsequences_and_clippings_add_up_to_one_and_edits_tend_to_it(meant):
    alphabet = "abe"
    channel = default_channel(len(alphabet))
    by_length = [
        sum(parts_of("".join(typed), meant, channel) for typed in product(alphabet, repeat=n)) for n in range(9)
    ]
    total = np.sum(by_length, axis=0)
    np.testing.assert_allclose(total[1:], 1.0, atol=1e-12)
    assert 0.99999 < total[0] <= 1.0


def test_a_subsequence_is_the_sum_over_its_embeddings():
    channel = default_channel(26)
    kept = [0.98, 0.35, 0.35, 0.85]
    expected = 0.0
    for mask in product((0, 1), repeat=4):
        if "".join(letter for letter, bit in zip("foot", mask, strict=True) if bit) == "fot":
            expected += np.prod([k if bit else 1 - k for k, bit in zip(kept, mask, strict=True)])
    assert parts_of("fot", "foot", channel)[1] == pytest.approx(expected, abs=1e-15)


def test_features_of_the_worked_pair():
    lexicon = Lexicon.learn({"talking": 1}, Phonetics())
    row = lexicon.compare("talkin", np.array([0]))[0]
    np.testing.assert_allclose(row[1:5], [np.exp(-1), 6 / 7, 0, 6 / 7], atol=1e-12)
    assert row[5] == pytest.approx(np.exp(-plain_distance("TLKN", "TLKNK")))
    np.testing.assert_allclose(lexicon.compare_forms("talkin", ["talking"])[0], row)


def test_a_constant_column_scales_to_zero():
    np.testing.assert_array_equal(scaled(np.full(3, -7.0)), 0.0)
    np.testing.assert_array_equal(scaled(np.array([-4.0, -2.0, -3.0])), [0, 1, 0.5])


@given(st.text(max_size=12))
def test_case_and_token_classes_take_any_string(text):
    assert not (is_examined(text) and any(map(str.isspace, text)))
    assert with_case("abc", text).lower() == "abc"
