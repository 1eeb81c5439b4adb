"""The channel fitted by expectation maximisation, and phonetic keys of any script."""

from itertools import pairwise, product

import numpy as np
import pytest

import corpuscle
from corpuscle.errors import InputError, SettingError
from corpuscle.normalise import Normaliser, read_sounds
from corpuscle.normalise.kernels.words import COUNTS, add_counts, channel_parts
from corpuscle.normalise.lexicon import Lexicon, Reach, channel_array, channel_from_array, default_channel, shapes_of
from corpuscle.normalise.tokens import Phonetics, learned_table, letters_of_word
from corpuscle.normalise.training import Example, fitted_channel
from corpuscle.random import Random
from corpuscle.text.columns import Normalised

pytestmark = pytest.mark.filterwarnings("ignore::corpuscle.errors.CorpuscleWarning")


def shapes(words):
    return shapes_of(words, [], np.full((len(words), 2), -1, np.int32))


def counts_of(typed, words, shares, channel):
    own, counts = shapes(words), np.zeros(COUNTS)
    numbers = np.arange(len(words), dtype=np.int32)
    value = add_counts(letters_of_word(typed), own.letters, own.vowels, numbers, np.array(shares), channel, counts)
    return value, counts


def test_expected_counts_are_derivatives_of_the_log_likelihood():
    """d log P / d log p is the expected number of times that p is used, for every parameter that is free."""
    words, shares, typed = ["tomato", "tomb"], [0.7, 0.3], "tmto"
    channel = default_channel(26)
    value, counts = counts_of(typed, words, shares, channel)
    own = shapes(words)

    def log_likelihood(other):
        total = 0.0
        for k, share in enumerate(shares):
            begin, end = own.letters.starts[k : k + 2]
            parts = np.empty(4)
            channel_parts(letters_of_word(typed), own.letters.letters[begin:end], own.vowels[begin:end], other, parts)
            total += share * (parts * other.types).sum()
        return np.log(total)

    assert value == pytest.approx(log_likelihood(channel))
    step = 1e-6
    for name, at in (("keep", 5), ("substitute", 6), ("delete", 7)):
        moved = channel._replace(**{name: getattr(channel, name) * (1 + step)})
        assert (log_likelihood(moved) - value) / step == pytest.approx(counts[at], rel=1e-4, abs=1e-7)
    for name, at in (("first", 9), ("consonant", 11), ("vowel", 13)):
        p = getattr(channel, name)
        moved = channel._replace(**{name: p * (1 + step)})
        expected = counts[at] - counts[at + 1] * p / (1 - p)
        assert (log_likelihood(moved) - value) / step == pytest.approx(expected, rel=1e-4, abs=1e-6)
    for k in range(4):
        types = channel.types.copy()
        types[k] *= 1 + step
        moved = channel._replace(types=types)
        assert (log_likelihood(moved) - value) / step == pytest.approx(counts[k], rel=1e-4, abs=1e-7)
    assert counts[:4].sum() == pytest.approx(1.0)


def test_every_pass_raises_the_likelihood_and_the_truth_is_found():
    words = ["evening", "tomorrow", "because", "people", "something", "nothing", "another", "remember"]
    random = Random(1, "tests.channel")
    examples, own = [], shapes(words)
    for item in range(400):
        k = item % len(words)
        kept = [letter for i, letter in enumerate(words[k]) if i == 0 or random.uniform() < (
            0.2 if letter in "aeiou" else 0.95
        )]  # fmt: skip
        examples.append(Example(letters_of_word("".join(kept)), np.array([k], np.int32), np.ones(1), 1.0))
    found, history = fitted_channel(default_channel(26), examples, own.letters, own.vowels)
    assert all(b >= a - 1e-6 * abs(a) for a, b in pairwise(history)) and history[-1] > history[0]
    assert found.types[1] > 0.9 and abs(found.vowel - 0.2) < 0.05 and abs(found.consonant - 0.95) < 0.04
    assert found.keep + found.substitute + found.delete == pytest.approx(1.0)
    again = channel_from_array(channel_array(found))
    assert again[:8] == pytest.approx(found[:8]) and again.types.tolist() == found.types.tolist()


@pytest.mark.parametrize("gold", [True, False])
def test_a_fitted_channel_survives_its_file(tmp_path, gold):
    sentences = [["see", "you", "tomorrow", "evening"], ["tomorrow", "evening", "is", "fine"]] * 15
    typed = [["see", "you", "tmrrw", "evning"], ["tmrrw", "evening", "is", "fine"]] * 15
    annotated = Normalised.from_messages(typed, sentences) if gold else None
    model = Normaliser(min_count=1, fit_channel=True)
    model.fit([] if gold else typed, annotated, clean=sentences)
    assert channel_array(model.lexicon_.channel)[8:].tolist() != channel_array(default_channel(26))[8:].tolist()
    model.save(tmp_path / "m")
    again = corpuscle.load(tmp_path / "m")
    assert again.lexicon_.channel[:8] == pytest.approx(model.lexicon_.channel[:8])
    assert again.choices(typed[:2], ranked=3) == model.choices(typed[:2], ranked=3)
    with pytest.raises(InputError, match="nothing to fit the channel to"):
        Normaliser(min_count=1, fit_channel=True).fit(sentences)


def test_codes_by_a_table_of_rewrites():
    key = Phonetics(0, {"ш": "s", "щ": "s", "тс": "c", "ц": "c", "о": "", "а": ""})
    assert key.codes("отсека") == ("cек",) and key.codes("цека") == ("cек",) and key.codes("оа") == ()
    assert key.codes("щщи-ш") == ("sиs",) and Phonetics(2, {"x": "y"}).codes("xabc") == ("ya",)
    lexicon = Lexicon.learn({"шалаш": 1, "цена": 1}, key)
    assert [lexicon.strings[k] for k in lexicon.sounding_alike("щолощ", Reach(0, 0)).tolist()] == ["шалаш"]


def test_a_table_is_learned_from_letters_that_are_typed_for_each_other():
    swapped = [("зуб", "суб"), ("коза", "коса"), ("лиз", "лис")]
    table = learned_table([*swapped, ("млк", "млак"), ("дм", "дам"), ("рк", "рак"), ("же", "ше")])
    assert table["с"] == "з" and table["а"] == "" and "ш" not in table and "ж" not in table
    key = Phonetics(0, table)
    assert key.codes("коса") == key.codes("коз") != key.codes("коша")


def test_sounds_of_another_script_make_candidates(tmp_path):
    path = tmp_path / "sounds.tsv"
    path.write_text("щ\tш\nо\t\nа\t\nе\t\nи\t\n", "utf-8")
    clean = [["шалаши", "стоят", "здесь"], ["здесь", "дома", "и", "шалаши"]] * 10
    message = [["щолощо"]]
    plain = Normaliser(min_count=1).fit(clean=clean)
    by_sound = Normaliser(min_count=1).fit(clean=clean, sounds=read_sounds(path))
    assert plain.normalise(message) == message and by_sound.normalise(message) == [["шалаши"]]
    by_sound.save(tmp_path / "m")
    assert corpuscle.load(tmp_path / "m").normalise(message) == [["шалаши"]]
    for content, reason in (("", "is empty"), ("a b\tc\n", ":1: needs letters"), ("\tc\n", ":1: needs letters")):
        path.write_text(content, "utf-8")
        with pytest.raises(InputError, match=reason):
            read_sounds(path)


def test_sounds_can_be_learned_from_annotated_messages_only():
    with pytest.raises(SettingError, match="learn_sounds needs annotated messages"):
        Normaliser(min_count=1, learn_sounds=True).fit(clean=[["a", "b"]])
    words = ["".join(letters) for letters in product("bd", "aio", "kg", "aio")]
    typed = [[word.replace("k", "q") for word in words]] * 4
    gold = Normalised.from_messages(typed, [words] * 4)
    model = Normaliser(min_count=1, learn_sounds=True).fit(gold=gold)
    assert ("q", "k") in model.sounds_.counts
