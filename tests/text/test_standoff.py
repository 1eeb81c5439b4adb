"""Standoff annotation: brat, PubTator, pipe and JSON files, into one model and back."""

import dataclasses
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpuscle.errors import CorpuscleWarning, InputError
from corpuscle.text.brat import read_brat, write_brat
from corpuscle.text.standoff import (
    Attribute,
    Mention,
    Relation,
    Standoff,
    read_pipe,
    read_pubtator,
    read_standoff_json,
    write_pipe,
    write_pubtator,
    write_standoff_json,
)

TEXT = "Melu sadi vo.\nTa ze 😀 pelu nok.\n"
ANN = (
    "T1\tThing 0 4\tMelu\n"
    "T2\tPart 5 9;14 16\tsadi Ta\tC:7\n"
    "R1\tOwns Arg1:T1 Arg2:T2\t\n"
    "A1\tSure T1\n"
    "#1\tAnnotatorNotes T1\tas  said\n"
    "T3\tThing 10 16\tvo. Ta\n"
    "E1\tGoing:T3 Who:T1 Where:T2\n"
    "M1\tDegree E1 high\n"
    "N1\tReference T1 Some:12\tmelu\n"
    "*\tEquiv T1 T2\n"
    "T4\tFace 20 21\t😀\n"
)
PUBTATOR = (
    "101|t|Melu sadi|vo\n"
    "101|a|Ta ze pelu.\n"
    "101\t0\t4\tMelu\tThing\tC1\n"
    "101\t13\t15\tTa\tThing\t\n"
    "101\t0\t9\tMelu sadi\tComposite\tC1|C2\tMelu|sadi\n"
    "101\t16\t18\tze\tPart\n"
    "101\tCID\tC1\tC2\n"
    "\n"
    "102|t|Empty\n"
    "102|a|\n"
    "\n"
)
PIPE = "a.txt||Thing||C1||0||4\na.txt||Part||CUI-less||5||9||14||16\nb.txt||Thing||||0||1\n"
JSON = (
    '{"name": "a", "text": "Melu sadi", "mentions": [{"id": "T1", "type": "Thing", "spans": [[0, 4], [5, 9]], '
    '"attributes": {"Sure": ""}, "concept": "C1"}], "relations": [{"type": "Is", "arguments": [["", "T1"]]}]}\n'
    '{"text": "vo", "mentions": []}\n'
)


def put(folder, ann=ANN, text=TEXT):
    (folder / "a.txt").write_bytes(text.encode())
    (folder / "a.ann").write_bytes(ann.encode())
    return folder / "a.ann"


def test_a_brat_document(tmp_path):
    (document,) = read_brat(put(tmp_path))
    assert document.text == TEXT
    assert document.mentions == (
        Mention("Thing", ((0, 4),), "T1", attributes=(Attribute("Sure", "", "A1"),)),
        Mention("Part", ((5, 9), (14, 16)), "T2", "C:7"),
        Mention("Thing", ((10, 16),), "T3"),
        Mention("Face", ((20, 21),), "T4"),
    )
    assert document.relations == (
        Relation("Owns", (("Arg1", "T1"), ("Arg2", "T2")), "R1"),
        Relation("Going", (("Who", "T1"), ("Where", "T2")), "E1", "T3", (Attribute("Degree", "high", "M1"),)),
    )
    assert len(document.notes) == 3
    assert [document.covered(mention) for mention in document.mentions[:2]] == ["Melu", "sadi Ta"]


@pytest.mark.parametrize("text", [TEXT, "\ufeff" + TEXT[1:], TEXT.replace(".\n", "\r\n", 1)])
def test_brat_documents_come_back_byte_for_byte(tmp_path, text):
    ann = ANN
    if text[0] == "\ufeff":
        ann = ann.replace("\tMelu\n", "\t\ufeffelu\n")
    if "\r" in text:
        ann = ann.replace("vo. Ta", "vo  Ta")
    put(tmp_path, ann, text)
    write_brat(read_brat(tmp_path), tmp_path / "out")
    assert (tmp_path / "out/a.txt").read_bytes().decode() == text
    assert (tmp_path / "out/a.ann").read_bytes().decode() == ann


def test_changes_are_written_and_the_rest_stays_as_it_was(tmp_path):
    (document,) = read_brat(put(tmp_path))
    kept = (*document.mentions[:3], Mention("New", ((17, 19),), attributes=(Attribute("Odd"),)))
    write_brat([dataclasses.replace(document, mentions=kept)], tmp_path / "out")
    expected = ANN.replace("T4\tFace 20 21\t😀\n", "") + "T4\tNew 17 19\tze\nA2\tOdd T4\n"
    assert (tmp_path / "out/a.ann").read_text(encoding="utf-8") == expected
    with pytest.raises(InputError, match="R1 points to 'T1', which is not there"):
        write_brat([dataclasses.replace(document, mentions=())], tmp_path / "out")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("T1\tThing 0 99\tx", "ends after the text"),
        ("T1\tThing 4 4\t", "is empty"),
        ("T1\tThing 5 9;0 4\tsadi Melu", "overlaps the one before it or stands before"),
        ("T1\tThing 0 4\tmelu", "the text is 'Melu', not 'melu'"),
        ("T1\tThing 0 x\tMelu", "expected: id, type and offsets"),
        ("T1 Thing 0 4 Melu", "not the id"),
        ("X1\tThing", "not the id"),
        ("T1\tThing 0 4\tMelu\nT1\tThing 0 4\tMelu", "occurs twice"),
        ("T1\tThing 0 4\tMelu\nA1\tSure T1\nA1\tOdd T1", "the id A1 occurs twice"),
        ("T1\tThing 0 4\tMelu\nM1\tSure T1\nM1\tSure T1", "the id M1 occurs twice"),
        ("R1\tOwns Arg1:T9", "R1 points to T9"),
        ("R1\tOwns:T1 Arg1:T1", "expected: id, a tab, type"),
        ("E1\tGoing", "expected: id, a tab, type"),
        ("A1\tSure", "expected: id, a tab, name"),
        ("A1\tSure T7", "A1 points to T7"),
    ],
)
def test_brat_errors_name_the_line(tmp_path, line, reason):
    ann = "#1\tnote\n" + line + "\n"
    with pytest.raises(InputError) as caught:
        read_brat(put(tmp_path, ann))
    assert caught.value.line == 1 + len(line.split("\n"))
    assert reason in caught.value.reason


def test_faulty_mentions_can_be_left_out_with_a_warning(tmp_path):
    put(tmp_path, "T1\tThing 4 4\t\nT2\tThing 0 4\tMelu\n")
    with pytest.warns(CorpuscleWarning, match="a.ann:1: mention left out"):
        (document,) = read_brat(tmp_path, skip_faulty=True)
    assert [mention.id for mention in document.mentions] == ["T2"]


def test_brat_needs_both_files(tmp_path):
    with pytest.raises(InputError, match=r"no \.ann files"):
        read_brat(tmp_path)
    (tmp_path / "b.ann").write_text("")
    with pytest.raises(InputError, match=r"b\.txt: no such file"):
        read_brat(tmp_path)
    with pytest.raises(InputError, match=r"with an \.ann beside it"):
        read_brat(tmp_path / "c.csv")
    for name in ["", "..", "a/b"]:
        with pytest.raises(InputError, match="cannot be the name"):
            write_brat([Standoff("x", name=name)], tmp_path)


def test_pubtator_articles(tmp_path):
    (tmp_path / "a").write_text(PUBTATOR, encoding="utf-8")
    first, second = read_pubtator(tmp_path / "a")
    assert first.text == "Melu sadi|vo\nTa ze pelu."
    assert [first.covered(mention) for mention in first.mentions] == ["Melu", "Ta", "Melu sadi", "ze"]
    assert first.mentions[2].concept == "C1|C2"
    assert first.mentions[2].attributes == (Attribute("parts", "Melu|sadi"),)
    assert first.relations == (Relation("CID", (("", "C1"), ("", "C2"))),)
    assert (second.name, second.text, second.mentions) == ("102", "Empty\n", ())
    write_pubtator([first, second], tmp_path / "b")
    assert (tmp_path / "b").read_text(encoding="utf-8") == PUBTATOR
    more = dataclasses.replace(first, mentions=(*first.mentions, Mention("New", ((5, 9),), concept="C2")))
    write_pubtator([more], tmp_path / "b")
    assert "101\tCID\tC1\tC2\n101\t5\t9\tsadi\tNew\tC2\n" in (tmp_path / "b").read_text(encoding="utf-8")
    moved = dataclasses.replace(first, text="x" + first.text, mentions=(), relations=())
    write_pubtator([moved], tmp_path / "b")
    assert len(read_pubtator(tmp_path / "b")[0].lines) == 0


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("1|t|x\n", 1, "an article begins with"),
        ("1|a|x\n1|t|y\n", 1, "an article begins with"),
        ("1|t|x\n2|a|y\n", 2, "the abstract of '2'"),
        ("1|t|x\n1|a|y\n2\t0\t1\tx\tA\tB\n", 3, "a line of article '2'"),
        ("1|t|x\n1|a|y\n1\t0\t9\tx\tA\tB\n", 3, "ends after the text"),
        ("1|t|x\n1|a|y\n1\t0\t1\tz\tA\tB\n", 3, "the text is 'x', not 'z'"),
        ("1|t|x\n1|a|y\n1\t0\t1\tx\n", 3, "expected: article, start"),
        ("1|t|x\n1|a|y\n1\tCID\tA\n", 3, "neither a mention nor a relation"),
        ("1|t|x\n1|a|y\n\n1\t0\t1\tx\tA\tB\n", 4, "an article begins with"),
    ],
)
def test_pubtator_errors_name_the_line(tmp_path, text, line, reason):
    (tmp_path / "a").write_text(text)
    with pytest.raises(InputError) as caught:
        read_pubtator(tmp_path / "a")
    assert caught.value.line == line
    assert reason in caught.value.reason


@pytest.mark.parametrize(
    "document",
    [
        Standoff("no abstract", name="1"),
        Standoff("a\nb", name="1|2"),
        Standoff("a\nb", (Mention("X", ((0, 1), (2, 3))),), name="1"),
        Standoff("a\nb", (Mention("X", ((0, 3),)),), name="1"),
        Standoff("a\nb", (Mention("X", ((0, 9),)),), name="1"),
        Standoff("a\nb", (Mention("X\t", ((0, 1),)),), name="1"),
        Standoff("a\nb", (), (Relation("1", (("", "2"), ("", "x"))),), name="1"),
    ],
)
def test_what_pubtator_cannot_hold_is_not_written(tmp_path, document):
    with pytest.raises(InputError):
        write_pubtator([document], tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_pipe_lines_point_into_a_folder(tmp_path):
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "a.txt").write_text(TEXT, encoding="utf-8")
    (texts / "b.txt").write_text("b")
    (texts / "c.text").write_text("c")
    (tmp_path / "p").write_text(PIPE)
    documents = read_pipe(tmp_path / "p", texts)
    assert [(document.name, len(document.mentions)) for document in documents] == [("a", 2), ("b", 1), ("c", 0)]
    assert documents[0].covered(documents[0].mentions[1]) == "sadi Ta"
    write_pipe(documents, tmp_path / "q")
    assert (tmp_path / "q").read_text() == PIPE
    (tmp_path / "p").write_text("b||Thing||||0||1\n")
    assert len(read_pipe(tmp_path / "p", texts)[1].mentions) == 1
    for line, reason in [
        ("a.txt||Thing||C1||0", "expected: file"),
        ("a.txt||Thing||C1||0||x", "numbers"),
        ("../a.txt||Thing||C1||0||1", "no text"),
        ("a.txt||Thing||C1||0||99", "ends after"),
    ]:
        (tmp_path / "p").write_text(PIPE + line + "\n")
        with pytest.raises(InputError, match=f"p:4: .*{reason}"):
            read_pipe(tmp_path / "p", texts)
    with pytest.raises(InputError, match="cannot hold"):
        write_pipe([Standoff("a", (Mention("x||y", ((0, 1),)),))], tmp_path / "q")


def test_json_lines(tmp_path):
    (tmp_path / "a").write_text(JSON)
    documents = read_standoff_json(tmp_path / "a")
    mention = Mention("Thing", ((0, 4), (5, 9)), "T1", "C1", (Attribute("Sure"),))
    assert documents[0] == Standoff("Melu sadi", (mention,), (Relation("Is", (("", "T1"),)),), "a")
    write_standoff_json(documents, tmp_path / "b")
    assert (tmp_path / "b").read_text() == JSON


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("[]", "must be an object"),
        ("{}", "needs the field 'text'"),
        ('{"text": 3}', "is no str"),
        ('{"text": "a", "mention": []}', "unknown field 'mention'"),
        ('{"text": "a", "mentions": [{"type": "X"}]}', "without spans"),
        ('{"text": "a", "mentions": [{"type": "X", "spans": [[0, 2]]}]}', "ends after the text"),
        ('{"text": "a", "mentions": [{"type": "X", "spans": [[0, true]]}]}', "pair of integers"),
        ('{"text": "a", "mentions": [{"type": "X", "spans": [[0, 1.0]]}]}', "pair of integers"),
        ('{"text": "\\ud800"}', "surrogates"),
        ('{"text": "a", "relations": [{"type": "X", "arguments": [["a", 3]]}]}', "a string expected"),
        ("", "not JSON"),
    ],
)
def test_json_errors_name_the_line(tmp_path, line, reason):
    (tmp_path / "a").write_text('{"text": "x"}\n' + line + "\n")
    with pytest.raises(InputError) as caught:
        read_standoff_json(tmp_path / "a")
    assert caught.value.line == 2
    assert reason in caught.value.reason


names = st.text(st.sampled_from("abZé9_-"), min_size=1, max_size=5)


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


@st.composite
def documents(draw, text=texts):
    content = draw(text)
    mentions = []
    for number in range(draw(st.integers(0, 4)) if content else 0):
        cuts = sorted(draw(st.sets(st.integers(0, len(content)), min_size=2, max_size=6)))
        spans = tuple(zip(cuts[::2], cuts[1::2], strict=False))
        keys = sorted(draw(st.sets(names, max_size=2)))
        attributes = tuple(Attribute(key, draw(st.sampled_from(["", "x"]))) for key in keys)
        mentions.append(Mention(draw(names), spans, f"T{number + 1}", draw(st.sampled_from(["", "C1"])), attributes))
    relations = []
    for number in range(draw(st.integers(0, 2)) if mentions else 0):
        roles = draw(st.lists(st.tuples(names, st.sampled_from([mention.id for mention in mentions])), max_size=2))
        trigger = draw(st.sampled_from(["", mentions[0].id]))
        relations.append(Relation(draw(names), tuple(roles), f"{'E' if trigger else 'R'}{number + 1}", trigger))
    return Standoff(content, tuple(mentions), tuple(relations), "doc")


@given(documents())
@settings(deadline=None)
def test_any_document_goes_through_json_and_brat(tmp_path_factory, document):
    folder = tmp_path_factory.mktemp("standoff")
    write_standoff_json([document], folder / "a")
    assert read_standoff_json(folder / "a") == [document]
    write_brat([document], folder / "b")
    (again,) = read_brat(folder / "b")
    plain = [
        dataclasses.replace(mention, attributes=tuple(attribute._replace(id="") for attribute in mention.attributes))
        for mention in again.mentions
    ]
    assert (again.text, plain, again.relations) == (document.text, list(document.mentions), document.relations)
    write_brat([again], folder / "c")
    for name in ("doc.txt", "doc.ann"):
        assert (folder / "c" / name).read_bytes() == (folder / "b" / name).read_bytes()


line_text = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff"), max_size=10)


@given(st.lists(documents(st.tuples(line_text, line_text).map("\n".join)), max_size=3))
@settings(deadline=None)
def test_articles_round_trip(tmp_path_factory, articles):
    path = tmp_path_factory.mktemp("articles") / "a"
    simple = []
    for number, article in enumerate(articles):
        mentions = []
        for mention in article.mentions:
            begin, end = mention.spans[0]
            if "\n" not in article.text[begin:end]:
                mentions.append(Mention(mention.type, ((begin, end),), concept=mention.concept))
        relations = tuple(Relation("r" + each.type, (("", "C1"), ("", each.type))) for each in article.relations)
        simple.append(Standoff(article.text, tuple(mentions), relations, str(number)))
    write_pubtator(simple, path)
    assert [dataclasses.replace(article, lines=()) for article in read_pubtator(path)] == simple


def test_json_is_what_it_says(tmp_path):
    document = Standoff("ab", (Mention("X", ((0, 1),)),))
    write_standoff_json([document], tmp_path / "a")
    assert json.loads((tmp_path / "a").read_text()) == {"text": "ab", "mentions": [{"type": "X", "spans": [[0, 1]]}]}
