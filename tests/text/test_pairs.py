"""Pairs: tab-separated files and the XML of the NEWS tasks, which must be harmless."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpuscle.errors import InputError
from corpuscle.text.pairs import Pair, ScoredPair, read_news, read_pairs, read_scored_pairs, write_pairs
from corpuscle.text.xml import read_xml

SAMPLE = "melu\tмелу\tмелю\nvo sadi\tво сади\n"
NEWS = """<?xml version="1.0" encoding="UTF-8"?>
<TransliterationCorpus CorpusID="1" SourceLang="A" TargetLang="B">
  <Name ID="1"><SourceName>melu</SourceName>
    <TargetName ID="1">мелу</TargetName><TargetName ID="2">мелю</TargetName></Name>
  <Name ID="2"><SourceName>A &amp; B</SourceName><TargetName ID="1"> во </TargetName></Name>
</TransliterationCorpus>
"""


def put(folder, text):
    (folder / "a").write_text(text, encoding="utf-8")
    return folder / "a"


def test_pairs(tmp_path):
    pairs = read_pairs(put(tmp_path, SAMPLE))
    assert pairs == [Pair("melu", ("мелу", "мелю")), Pair("vo sadi", ("во сади",))]
    write_pairs(pairs, tmp_path / "b")
    assert (tmp_path / "b").read_text(encoding="utf-8") == SAMPLE


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("a\tb\nc\n", 2, "at least one target"),
        ("\tb\n", 1, "field 1 is empty"),
        ("a\tb\na\tb\t\n", 2, "field 3 is empty"),
        ("a\tb\n\n", 2, "at least one target"),
        ("a\t \n", 1, "field 2"),
        ("\u00a0\ta\n", 1, "field 1 is empty"),
        ("a\t\u3000 \n", 1, "field 2 is empty"),
    ],
)
def test_errors_name_the_line(tmp_path, text, line, reason):
    with pytest.raises(InputError) as caught:
        read_pairs(put(tmp_path, text))
    assert caught.value.line == line
    assert reason in caught.value.reason


field = st.text(st.characters(exclude_characters="\t\n\r\0\ufeff", exclude_categories=["Cs"]), min_size=1).filter(
    lambda text: text.strip()
)


@given(st.lists(st.tuples(field, st.lists(field, min_size=1, max_size=3)), max_size=5))
@settings(deadline=None)
def test_pairs_round_trip(tmp_path_factory, pairs):
    path = tmp_path_factory.mktemp("pairs") / "a"
    write_pairs(pairs, path)
    assert [(source, list(targets)) for source, targets in read_pairs(path)] == pairs


def test_what_cannot_be_read_back_is_not_written(tmp_path):
    for bad in [("a", []), ("a\tb", ["c"]), ("a", [""]), ("\u3000", ["a"])]:
        with pytest.raises(InputError):
            write_pairs([bad], tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_names_of_the_news_tasks(tmp_path):
    assert read_news(put(tmp_path, NEWS)) == [Pair("melu", ("мелу", "мелю")), Pair("A & B", ("во",))]
    for bad in ["<a><Name ID='7'><SourceName>x</SourceName></Name></a>", "<a><Name ID='7'/></a>"]:
        with pytest.raises(InputError, match=r"name 1 \(ID 7\) needs"):
            read_news(put(tmp_path, bad))


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ('<?xml version="1.0"?>\n<!DOCTYPE a [<!ENTITY b "c">]>\n<a>&b;</a>', 2, "DTD"),
        ('<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', 1, "DTD"),
        ("<a>\n<b></a>", 2, "not well-formed"),
        ("<a>&other;</a>", 1, "not well-formed"),
        ('<?xml version="1.0" encoding="latin-1"?><a/>', 1, "UTF-8"),
        (f'<?xml version="1.0" encoding="{"x" * 5000}"?><a/>', 1, f"the encoding is '{'x' * 40}';"),
        ("<a>" * 101 + "</a>" * 101, 1, "nested more than 100"),
        ("", 1, "not well-formed"),
    ],
)
def test_dangerous_and_broken_xml_is_refused(tmp_path, text, line, reason):
    with pytest.raises(InputError) as caught:
        read_xml(put(tmp_path, text))
    assert caught.value.line == line
    assert reason in caught.value.reason


def test_xml_has_a_largest_size(tmp_path):
    with pytest.raises(InputError, match="at most 10"):
        read_xml(put(tmp_path, "<a>     </a>"), largest=10)


@pytest.mark.parametrize(
    "text",
    [
        "cat\tdog\t7.5\nold\tnew\t1e0\n",
        "word1\tword2\tscore\ncat\tdog\t7.5\nold\tnew\t1.0\n",
        "Word 1,Word 2,Human (mean)\ncat,dog,7.5\nold,new,1\n",
        "cat;dog;7.50\nold;new;1\n",
        "cat dog 7.5\r\nold  new  1.\r\n",
    ],
)
def test_scored_pairs_come_with_any_separator_and_with_or_without_a_heading(tmp_path, text):
    assert read_scored_pairs(put(tmp_path, text)) == [ScoredPair("cat", "dog", 7.5), ScoredPair("old", "new", 1.0)]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("a\tb\t1\na\tb\tx\n", 2, "'x' is not a score"),
        ("a\tb\t1\na\tb\tnan\n", 2, "'nan' is not a score"),
        ("a\tb\t1\na\tb\t1e999\n", 2, "is not a score"),
        ("a\tb\t1\na b 2\n", 2, "1 fields, where two words and a score are expected"),
        ("a\tb\n", 1, "2 fields"),
        ("a\t\t1\n", 1, "field 2 is empty"),
        ("a\tb\t1\n\n", 2, "1 fields"),
        ("a\tb\tscore\n", None, "no pairs"),
        ("", None, "no pairs"),
    ],
)
def test_scored_pairs_that_are_none_are_refused_with_their_line(tmp_path, text, line, reason):
    with pytest.raises(InputError, match=reason) as caught:
        read_scored_pairs(put(tmp_path, text))
    assert caught.value.line == line
