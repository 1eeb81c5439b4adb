"""CoNLL-U: exact round trips, strict checks with line numbers, trees that are trees."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpuscle.errors import InputError
from corpuscle.text.conllu import read_conllu, write_conllu
from corpuscle.text.layers import Layer
from corpuscle.text.treebank import Treebank

SAMPLE = """\
# newdoc id = one
# sent_id = s1
# text = Melu sadi vo.
1-2\tMelu\t_\t_\t_\t_\t_\t_\t_\t_
1\tme\tmi\tPRON\tP\tCase=Nom|Number=Sing\t3\tnsubj\t3:nsubj\t_
2\tlu\t_\tPART\t_\t_\t1\tadvmod\t_\t_
3\tsadi\tsad\tVERB\tV\tTense=Past\t0\troot\t0:root\t_
3.1\tze\tze\tVERB\t_\t_\t_\t_\t0:root\tCopyOf=3
4\tvo\tvo\tNOUN\tN\tCase=Acc\t3\tobj\t_\tSpaceAfter=No
5\t.\t.\tPUNCT\t_\t_\t3\tpunct\t_\t_

# sent_id = s2
0.1\t_\t_\t_\t_\t_\t_\t_\t1:dep\t_
1\tten hu\tten hu\tNOUN\tN\t_\t_\t_\t_\tGloss=the hill

# newdoc id = two
1\t_\t_\tSYM\t_\t_\t0\troot\t_\t_

"""


@pytest.fixture
def bank(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text(SAMPLE, encoding="utf-8")
    return read_conllu(path)


def line(number, form="a", head="0", columns=10):
    return "\t".join([str(number), form, "_", "_", "_", "_", head, "_", "_", "_"][:columns]) + "\n"


def test_all_that_a_file_says_is_there(bank):
    assert list(bank.corpus) == [["me", "lu", "sadi", "vo", "."], ["ten hu"], ["_"]]
    assert bank.heads.tolist() == [3, 1, 0, 3, 3, -1, 0]
    assert bank.heads.dtype == np.int32
    assert bank.tags.strings() == ["PRON", "PART", "VERB", "NOUN", "PUNCT", "NOUN", "SYM"]
    assert bank.lemmas.strings()[:2] == ["mi", "_"]
    assert bank.lemmas.ids[1] == 0
    assert bank.feature("Case").strings() == ["Nom", "_", "_", "Acc", "_", "_", "_"]
    assert bank.corpus.document_starts.tolist() == [0, 2, 3]
    assert bank.corpus.labels == ("one", "two")
    assert bank.sentence_id(1) == "s2"
    assert bank.ranges.of(0)[0][:2] == (1, 2)
    assert bank.ranges.forms == ["Melu"]
    assert bank.empties.numbers.tolist() == [[3, 1], [0, 1]]
    assert bank.text(0) == "Melu sadi vo."


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_a_file_comes_back_byte_for_byte(bank, tmp_path, suffix):
    path = tmp_path / f"b.conllu{suffix}"
    write_conllu(bank, path)
    if not suffix:
        assert path.read_text(encoding="utf-8") == SAMPLE
    if suffix == ".gz":
        assert gzip.decompress(path.read_bytes()).decode() == SAMPLE
    write_conllu(read_conllu(path), tmp_path / "c.conllu")
    assert (tmp_path / "c.conllu").read_text(encoding="utf-8") == SAMPLE


@pytest.mark.parametrize("change", [lambda s: s[:-1], lambda s: s + "\n\n", lambda s: s.replace("\n", "\r\n")])
def test_the_end_of_a_file_and_its_line_ends_are_brought_into_form(tmp_path, change):
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbf" + change(SAMPLE).encode())
    write_conllu(read_conllu(tmp_path / "a"), tmp_path / "b")
    assert (tmp_path / "b").read_bytes().decode() == SAMPLE


@pytest.mark.parametrize("batch", [0, 1, 5, 6])
def test_a_file_of_many_batches_is_read_like_one_of_one(bank, tmp_path, monkeypatch, batch):
    monkeypatch.setattr("corpuscle.text.conllu._BATCH", batch)
    write_conllu(read_conllu(tmp_path / "a.conllu"), tmp_path / "b.conllu")
    assert (tmp_path / "b.conllu").read_text(encoding="utf-8") == SAMPLE


def test_documents_begin_where_comments_say_and_the_first_may_have_no_name(tmp_path):
    named, plain = "# newdoc id = x\n", "# newdoc\n"
    for marks, starts, labels in [
        (["", named, "", plain], [0, 1, 3, 4], ("", "x", "")),
        ([plain, named, "", ""], [0, 1, 4], ("", "x")),
        (["", "", "", named], [0, 3, 4], ("", "x")),
    ]:
        (tmp_path / "a").write_text("\n".join(mark + line(1) for mark in marks))
        corpus = read_conllu(tmp_path / "a").corpus
        assert (corpus.document_starts.tolist(), corpus.labels) == (starts, labels)
    (tmp_path / "a").write_text(line(1) + "\n# new\n" + line(1))
    assert read_conllu(tmp_path / "a").corpus.labels is None


def test_slices_and_selections_are_treebanks(bank, tmp_path):
    blocks = SAMPLE.strip("\n").split("\n\n")
    for part, expected in [
        (bank[1:], blocks[1:]),
        (bank[:0], []),
        (bank.select(np.array([2, 0])), [blocks[2], blocks[0]]),
        (bank.select(np.array([False, True, False])), [blocks[1]]),
    ]:
        write_conllu(part, tmp_path / "part")
        assert (tmp_path / "part").read_text(encoding="utf-8") == "".join(block + "\n\n" for block in expected)
    assert bank[1:].corpus.labels == ("one", "two")


def test_layers_can_be_replaced(bank, tmp_path):
    tags = Layer.from_strings(["X"] * 7)
    heads = bank.heads.copy()
    heads[5] = 0
    write_conllu(bank.replace(tags=tags, heads=heads), tmp_path / "new")
    again = read_conllu(tmp_path / "new")
    assert again.tags.strings() == ["X"] * 7
    assert again.heads[5] == 0
    assert again.comments == bank.comments
    with pytest.raises(ValueError, match="2 values for 7 tokens"):
        bank.replace(tags=tags[:2])
    with pytest.raises(TypeError, match="colour"):
        bank.replace(colour=tags)


cells = st.text(st.characters(exclude_characters="\t\n\r\0", exclude_categories=["Cs"]), min_size=1, max_size=6)
tight = cells.map(lambda cell: cell.replace(" ", "x"))


@st.composite
def treebanks(draw):
    """The text of a valid file, with everything that may stand in one."""
    text = []
    for _ in range(draw(st.integers(0, 4))):
        text += [f"#{comment}" for comment in draw(st.lists(cells, max_size=2))]
        length, last = draw(st.integers(1, 5)), 0
        for number in range(length + 1):
            if number:
                if number > last and draw(st.integers(0, 3)) == 0:
                    last = draw(st.integers(number, length))
                    text.append("\t".join([f"{number}-{last}", draw(cells), *"_______", draw(cells)]))
                head = draw(st.one_of(st.just("_"), st.integers(0, length).map(str)))
                row = [str(number), draw(cells), draw(cells), *(draw(tight) for _ in range(3)), head]
                text.append("\t".join([*row, draw(tight), draw(tight), draw(cells)]))
            for minor in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
                text.append("\t".join([f"{number}.{minor + 1}", draw(cells), *"_______", draw(cells)]))
        text.append("")
    return "".join(row + "\n" for row in text)


@given(treebanks())
@settings(max_examples=150, deadline=None)
def test_every_valid_file_round_trips(tmp_path_factory, text):
    folder = tmp_path_factory.mktemp("round")
    (folder / "a").write_bytes(text.encode())
    write_conllu(read_conllu(folder / "a"), folder / "b")
    assert (folder / "b").read_bytes().decode() == text


@pytest.mark.parametrize(
    ("text", "number", "reason"),
    [
        (line(1) + line(2, columns=9), 2, "9 columns instead of 10"),
        ("a b c\n", 1, "1 columns"),
        (line(1) + line(3), 2, "'3' where 2 is expected"),
        (line(2), 1, "'2' where 1 is expected"),
        (line("x"), 1, "'x' where 1"),
        (line("٣"), 1, "where 1"),
        ("# one\n\n", 2, "without words"),
        (line(1) + "\n\n" + line(1), 3, "without words"),
        (line(1) + "# late\n", 2, "comment inside a sentence"),
        (line("1-2") + "# late\n" + line(1) + line(2), 2, "comment inside a sentence"),
        (line("0.1") + "# late\n" + line(1), 2, "comment inside a sentence"),
        (line(1) + line(2, head="3"), 2, "'3' lies outside"),
        ("# one\n" + line(1) + "\n" + line(1, head="2"), 4, "'2' lies outside"),
        ("# one\n" + line(1) + "\n# two\n" + line(1, form=""), 5, "FORM column is empty"),
        (line(1).replace("_", "x y"), 1, "space in the UPOS"),
        (line(1, head="x"), 1, "'x' is not a number"),
        (line(1, head="-1"), 1, "'-1' is not a number"),
        (line(1, head="01"), 1, "'01' is not a number"),
        (line(1, head="99999999999"), 1, "is not a number"),
        (line(1, form=""), 1, "FORM column is empty"),
        (line(1) + line(2, head=""), 2, "HEAD column is empty"),
        (line(1) + line(2, head="0 "), 2, "space in the HEAD"),
        (line("2-1") + line(1), 1, "ends before it begins"),
        (line("2-3") + line(1), 1, "right before its first word"),
        (line("1-2") + line("1-2") + line(1), 2, "right before its first word"),
        (line("1-2") + line(1) + line("2-3") + line(2), 3, "overlaps"),
        (line("1-2") + line(1), 3, "beyond the sentence"),
        (line("1.1") + line(1), 1, "out of order"),
        (line(1) + line("1.2"), 2, "out of order"),
        (line("1-1") + line("0.1") + line(1), 2, "out of order"),
        (line("0.1"), 2, "without words"),
    ],
)
def test_errors_name_the_line_and_the_reason(tmp_path, text, number, reason):
    path = tmp_path / "bad.conllu"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_conllu(path)
    assert str(caught.value).startswith(f"{path}:{number}: ")
    assert reason in caught.value.reason


def test_files_that_are_not_text_are_errors(tmp_path):
    (tmp_path / "latin").write_bytes((line(1) + "\n").encode() + b"1\t\xe9")
    with pytest.raises(InputError, match=r"latin:3: invalid UTF-8"):
        read_conllu(tmp_path / "latin")
    (tmp_path / "empty").write_bytes(b"")
    assert len(read_conllu(tmp_path / "empty")) == 0
    with pytest.raises(InputError, match="directory"):
        read_conllu(tmp_path)


def circular(heads):
    """Brute force: follow each word upwards for as many steps as there are words."""
    for word in range(len(heads)):
        for _ in heads:
            if heads[word] == 0:
                break
            word = heads[word] - 1
        else:
            return True
    return False


@given(st.lists(st.integers(1, 7).flatmap(lambda n: st.lists(st.integers(0, n), min_size=n, max_size=n)), max_size=5))
@settings(deadline=None)
def test_circles_are_found_wherever_they_are(heads):
    bank = Treebank.from_sentences([["w"] * len(row) for row in heads], heads=heads)
    wrong = [i for i, row in enumerate(heads) if circular(row)]
    if wrong:
        with pytest.raises(InputError, match=f"sentence {wrong[0] + 1}, word .* circle"):
            bank.check_trees()
    else:
        bank.check_trees()


def test_check_trees_names_the_sentence_and_the_word(bank):
    with pytest.raises(InputError, match=r".conllu:14: sentence 2 \(s2\), word 1 \(ten hu\) has no head"):
        bank.check_trees()
    with pytest.raises(InputError, match=r".conllu:14: sentence 1 \(s2\), word 1 \(ten hu\) has no head"):
        bank[1:].check_trees()
    two = Treebank.from_sentences([["a", "b"]], heads=[[0, 0]])
    two.check_trees()
    with pytest.raises(InputError, match=r"sentence 1, word 2 \(b\) is a second root"):
        two.check_trees(single_root=True)


@pytest.mark.parametrize(
    ("bank", "reason"),
    [
        (Treebank.from_sentences([["a"], []]), "sentence 2 has no words"),
        (Treebank.from_sentences([["a\tb"]]), r"cannot hold the value 'a\\tb' \(FORM\)"),
        (Treebank.from_sentences([["a"]], tags=[["x\n"]]), "cannot hold"),
        (Treebank.from_sentences([["a\rb"]]), "cannot hold"),
        (Treebank.from_sentences([["a"]], heads=[[2]]), "outside its sentence"),
        (Treebank.from_sentences([["a"]], heads=[[-2]]), "outside its sentence"),
        (Treebank.from_sentences([["a"]], comments=[["no mark"]]), "begins with '#'"),
        (Treebank.from_sentences([["a"]], comments=[["# two\nlines"]]), "begins with '#'"),
        (Treebank.from_sentences([["a"]], comments=[["# two\rlines"]]), "begins with '#'"),
    ],
)
def test_what_a_file_cannot_hold_is_not_written(tmp_path, bank, reason):
    with pytest.raises(InputError, match=reason) as caught:
        write_conllu(bank, tmp_path / "out")
    assert str(caught.value).startswith(f"{tmp_path / 'out'}: ")
    assert not list(tmp_path.iterdir())
