"""Short forms: the letters of the long form in their order, and where they are known."""

import numpy as np
import pytest

from corpuscle.entities.documents import from_corpus
from corpuscle.entities.features import long_form, short_forms
from corpuscle.text import Corpus


@pytest.mark.parametrize(
    ("text", "begin"),
    [
        ("the Huntington disease ( HD )", 1),
        ("heat shock protein ( HSP )", 0),
        ("the ataxia - telangiectasia ( A-T )", 1),
        ("X linked adrenal hypoplasia ( AHC )", -1),
        ("adrenal hypoplasia congenita ( AHC )", 0),
        ("( HD )", -1),
        ("such hard and other words ( HAW )", 1),
    ],
)
def test_a_long_form_has_the_letters_of_its_short_form_in_order(text, begin):
    words = text.split()
    assert long_form(words, len(words) - 2) == begin


def columns(*sentences, documents=None):
    corpus = Corpus.from_sentences([sentence.split() for sentence in sentences])
    if documents is not None:
        corpus = corpus.with_documents(np.array(documents))
    return {name: (values != 0).tolist() for name, values in short_forms(from_corpus(corpus)).items()}


def test_a_short_form_is_known_where_it_is_explained_and_in_its_text():
    first, second = "Wilson disease ( WD ) is rare", "WD again"
    found = columns(first, second, "WD", documents=[0, 2, 3])
    assert found["long"] == [True, True] + [False] * 8
    assert found["short"] == [False] * 3 + [True] + [False] * 3 + [True, False] + [False]
    assert found["bracket"] == [False] * 3 + [True] + [False] * 6


def test_texts_without_brackets_have_no_such_columns_and_odd_brackets_do_no_harm():
    assert columns("no brackets here") == {}
    for odd in (") (", "(", "( A", "( (", "a ( b ( C )", "[ ]"):
        assert set(columns(odd)) <= {"long", "short", "bracket"}
