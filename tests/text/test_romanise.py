"""Words of other scripts in Latin letters, by the names of their letters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpuscle.text.scripts import plain, romanise


@pytest.mark.parametrize(
    "word, latin",
    [
        ("Москва", "moskva"), ("Щербаков", "shcherbakov"), ("Ельцин", "eltsin"), ("Αθήνα", "athena"), ("서울", "seoul"),
        ("محمد", "mhmd"), ("हिन्दी", "hindi"), ("トヨタ", "toyota"), ("თბილისი", "tbilisi"), ("Tōkyō", "tokyo"),
        ("北京", "北京"), ("", ""), ("don't", "don't"),
    ],
)  # fmt: skip
def test_words_are_written_by_the_names_of_their_letters(word, latin):
    assert romanise(word) == latin


@given(st.text())
def test_any_text_can_be_written_and_composition_does_not_matter(word):
    import unicodedata

    assert isinstance(romanise(word), str)
    assert romanise(unicodedata.normalize("NFD", "é" + "ж")) == romanise("éж") == "ezh"


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_words_are_only_lower_cased(word):
    assert romanise(word) == plain(word) == word.lower()
