"""Messages and what was meant: three formats, round trips, what does not fit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpuscle.errors import InputError
from corpuscle.text import Normalised, read_normalised, write_normalised

COLUMNS = "u\tyou\nwanna\twant to\n\nalot\ta lot\na\ta\nlot\t\n"
LEXNORM = "u\tOOV\tyou\nsee\tIV\tsee\n!\tNO\t!\n"
JSON = '{"input": ["u", "see"], "output": ["you", "see"]}\n'


def put(tmp_path, text, name="a.norm"):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / name


def test_two_columns_with_several_and_with_no_words(tmp_path):
    messages = read_normalised(put(tmp_path, COLUMNS))
    assert list(messages.corpus) == [["u", "wanna"], ["alot", "a", "lot"]]
    assert messages.standard(0) == ["you", "want to"] and messages.standard(1) == ["a lot", "a", ""]
    assert not messages.notes.ids.any() and not messages.flagged
    assert messages.select(np.array([1])).standard(0) == ["a lot", "a", ""]


def test_a_flag_in_the_middle_is_lexnorm_and_a_note_stands_last(tmp_path):
    flagged = read_normalised(put(tmp_path, LEXNORM))
    assert flagged.flagged and flagged.notes.strings() == ["OOV", "IV", "NO"]
    assert flagged.standard(0) == ["you", "see", "!"]
    noted = read_normalised(put(tmp_path, "u\tyou\tslang\nsee\tsee\t\n"))
    assert noted.notes.strings() == ["slang", ""] and noted.standard(0) == ["you", "see"]


@pytest.mark.parametrize("text", [COLUMNS, LEXNORM, "u\tyou\tslang\nsee\tsee\t\n"])
def test_columns_are_written_as_they_were_read(tmp_path, text):
    write_normalised(read_normalised(put(tmp_path, text)), tmp_path / "b.norm")
    assert (tmp_path / "b.norm").read_text(encoding="utf-8").rstrip("\n") == text.rstrip("\n")


TOKEN = st.text(st.characters(blacklist_categories=("Cc", "Cs", "Zs", "Zl", "Zp")), min_size=1, max_size=4)
MESSAGES = st.lists(st.lists(st.tuples(TOKEN, st.just("") | TOKEN), min_size=1, max_size=5), max_size=5)


@given(MESSAGES)
@settings(max_examples=50, deadline=None)
def test_json_lines_round_trip(tmp_path_factory, messages):
    path = tmp_path_factory.mktemp("messages") / "a.jsonl"
    typed, meant = ([[pair[side] for pair in message] for message in messages] for side in (0, 1))
    write_normalised(Normalised.from_messages(typed, meant), path)
    again = read_normalised(path)
    assert [list(message) for message in again.corpus] == typed
    assert [again.standard(i) for i in range(len(again))] == meant


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [
        ("a\tb\tc\td\n", "a.norm", "a.norm: 4 columns"),
        ("a\n", "a.norm", "a.norm: 1 columns"),
        ("a\tb\n\nc\n", "a.norm", "a.norm:3: 1 columns"),
        ("\tb\n", "a.norm", "a.norm:1: column 1 is empty"),
        ("{\n", "a.jsonl", "a.jsonl:1: not a line of JSON"),
        ('{"input": ["a"]}\n', "a.jsonl", 'a.jsonl:1: needs "output"'),
        ('{"input": ["a", "b"], "output": ["a"]}\n', "a.jsonl", "a.jsonl:1: 2 tokens typed, but 1"),
        ('{"input": [" "], "output": ["a"]}\n', "a.jsonl", "a.jsonl:1: a token is empty"),
        ("[1]\n", "a.jsonl", 'a.jsonl:1: needs "input"'),
    ],
)
def test_what_does_not_fit_is_named(tmp_path, text, name, reason):
    path = put(tmp_path, text, name)
    with pytest.raises(InputError) as error:
        read_normalised(path)
    assert reason in str(error.value)
