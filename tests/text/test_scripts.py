"""Claims about corpuscle.text.scripts: the tables against the names and categories of Unicode."""

from __future__ import annotations

import sys
import unicodedata

import numpy as np
import pytest

from corpuscle.text import Vocab
from corpuscle.text.scripts import TYPES, WORD_TYPES, character_masks, type_of

ASSIGNED = [
    chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) not in ("Cn", "Cs", "Co")
]
MASKS = dict(zip(ASSIGNED, character_masks(Vocab.from_words(ASSIGNED))[3:].tolist(), strict=True))
TYPE = {character: TYPES[WORD_TYPES[mask]] for character, mask in MASKS.items()}
LETTERS = [character for character in ASSIGNED if unicodedata.category(character)[0] == "L"]


def named(*beginnings: str) -> list[str]:
    """Letters whose names begin so, whatever the width of the character."""
    plain = {c: unicodedata.name(c, "").removeprefix("FULLWIDTH ").removeprefix("HALFWIDTH ") for c in LETTERS}
    return [c for c in LETTERS if plain[c].startswith(beginnings)]


SCRIPTS = {
    "latin": ("LATIN ", "MODIFIER LETTER SMALL A", "FEMININE ORDINAL", "MASCULINE ORDINAL"),
    "hiragana": ("HIRAGANA ", "HENTAIGANA "),
    "katakana": ("KATAKANA ",),
    "han": ("CJK UNIFIED ", "CJK COMPATIBILITY IDEOGRAPH", "IDEOGRAPHIC "),
    "hangul": ("HANGUL ",),
    "thai": ("THAI ",),
}
MARKS = "ー\uff70\uff9e\uff9f"


@pytest.mark.parametrize("script", SCRIPTS)
def test_letters_belong_to_the_script_that_their_name_says(script):
    wrong = [c for c in named(*SCRIPTS[script]) if TYPE[c] != script and c not in MARKS]
    assert [unicodedata.name(c) for c in wrong] == []


def test_letters_of_other_scripts_are_other():
    scripts = ("GREEK ", "CYRILLIC ", "ARABIC ", "HEBREW ", "DEVANAGARI ", "LAO ", "KHMER ", "TIBETAN ", "BOPOMOFO ")
    assert {TYPE[c] for c in named(*scripts)} == {"other"}


def test_no_script_takes_letters_that_are_named_after_another():
    others = ("GREEK", "CYRILLIC", "COPTIC", "ARMENIAN", "GEORGIAN", "LAO", "YI", "BOPOMOFO", "ARABIC", "HEBREW")
    for character in LETTERS:
        if unicodedata.name(character, "").split(" ")[0] in others:
            assert TYPE[character] == "other", unicodedata.name(character)


def test_numbers_are_digits_whatever_their_script_and_symbols_are_punctuation():
    for character in ASSIGNED:
        category = unicodedata.category(character)
        if category == "Nd":
            assert TYPE[character] == "digits", unicodedata.name(character)
        if category in ("Po", "Ps", "Pe", "Pd", "Pc", "Pi", "Pf", "Sm", "Sc", "Zs", "Cc"):
            assert TYPE[character] == "punctuation", unicodedata.name(character, repr(character))
    assert type_of("2³") == type_of("１９９８") == type_of("๑๒") == "digits"
    assert type_of("。") == type_of("—") == type_of("😀") == type_of("・") == "punctuation"


def test_the_prolonged_sound_mark_takes_the_kana_before_or_after_it():
    assert type_of("らーめん") == "hiragana"
    assert type_of("ラーメン") == type_of("ー") == type_of("ﾗｰﾒﾝ") == type_of("ｶﾞ") == "katakana"
    assert type_of("時ー") == type_of("らーメン") == type_of("ーa") == "mixed"


def test_combining_marks_and_joiners_take_the_type_of_their_company():
    assert type_of("e\u0301") == type_of("é") == "latin"
    assert type_of("か\u3099") == "hiragana" and type_of("カ\u3099") == "katakana"
    assert type_of("葛\ufe00") == type_of("葛\U000e0100") == "han"
    assert type_of("कि") == type_of("क\u094d\u200d") == "other"
    assert type_of("1\ufe0f\u20e3") == "digits"
    assert type_of("ก็") == type_of("\u0e48") == "thai"
    assert type_of("\u0301") == type_of("") == "other"


def test_mixtures_are_mixed_in_any_order():
    assert type_of("Tシャツ") == type_of("3D") == type_of("可愛い") == type_of("い可") == type_of("a.") == "mixed"


def test_the_mask_of_a_longer_unit_is_that_of_its_characters_joined():
    vocab = Vocab.from_words(["a", "1", "a1", "か\u3099", "漢字"])
    masks = character_masks(vocab)
    assert masks.dtype == np.uint16 and masks[5] == masks[3] | masks[4]
    assert [TYPES[i] for i in WORD_TYPES[masks]] == [
        *["other"] * 3, "latin", "digits", "mixed", "hiragana", "han"
    ]  # fmt: skip
    assert character_masks(Vocab.from_words([])).tolist() == masks[:3].tolist()
