"""Judgements on words and phrases: every format, and what is wrong with a file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpuscle.errors import InputError
from corpuscle.text import Judgement, Phrase, Term, parse_phrase, phrase_of, read_judgements, read_triples


def noun(word: str) -> Term:
    return Term(word, "NOUN")


def verb(word: str) -> Term:
    return Term(word, "VERB")


def read(tmp_path, text: str) -> list[Judgement]:
    (tmp_path / "f").write_text(text)
    return read_judgements(tmp_path / "f")


def test_verbs_with_landmarks(tmp_path):
    heading = "participant verb subject object landmark input hilo\n"
    (found,) = read(tmp_path, heading + "p1 meet system requirement visit 2 LOW\n")
    assert found == Judgement(
        Phrase((noun("system"), verb("meet"), noun("requirement")), (2, 0, 2), ("nsubj", "root", "obj")),
        phrase_of([verb("visit")]), 2.0, "p1", landmark=True,
    )  # fmt: skip
    (found,) = read(tmp_path, "participant\tverb\tnoun\tlandmark\tinput\thilo\np\tstray\tthought\troam\t7\tlow\n")
    assert found.first == phrase_of([noun("thought"), verb("stray")]) and found.first.head == 1


def test_in_verb_objects_the_object_comes_first_in_the_file_and_the_verb_heads_the_phrase(tmp_path):
    expected = phrase_of([verb("start"), noun("work")]), phrase_of([verb("begin"), noun("career")])
    (found,) = read(tmp_path, "noun1\tverb1\tnoun2\tverb2\trating\nwork\tstart\tcareer\tbegin\t7\n")
    assert (found.first, found.second) == expected and found.subject is None and found.first.head == 0
    (found,) = read(tmp_path, "s1 verbobjects high work start career begin 7\n")
    assert (found.first, found.second, found.rating, found.subject) == (*expected, 7.0, "s1")


def test_adjectives_and_compounds_head_last(tmp_path):
    text = "s1 adjectivenouns low old person right hand 1\ns1 compoundnouns high tax charge interest rate 5\n"
    adjective, compound = read(tmp_path, text)
    assert adjective.first.relations == ("amod", "root") and compound.second.relations == ("compound", "root")
    assert read(tmp_path, "subject type level w1 w2 w3 w4 rating\n" + text) == [adjective, compound]


def test_free_phrases_may_lack_parts_of_speech(tmp_path):
    heading = "participant\tphrase1\tphrase2\trating\n"
    (found,) = read(tmp_path, heading + "p\tsmall house\tvery/ADV/2 large/ADJ/3/amod home/NOUN/0\t3.5\n")
    assert found.first == (Term("small"), Term("house"))
    assert found.second == Phrase(
        (Term("very", "ADV"), Term("large", "ADJ"), noun("home")), (2, 3, 0), ("_", "amod", "root")
    )


@given(st.text("ab/1AN", min_size=1, max_size=8))
def test_a_word_is_its_spelling_and_perhaps_a_part_of_speech(text):
    term = Term.parse(text)
    assert str(term) == text and term.word and (term.tag == "" or term.tag.isalpha())
    parsed = parse_phrase("x/NOUN y/NOUN")
    assert parsed == (noun("x"), noun("y"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no judgements"),
        ("a b c\n", ":1: unknown columns"),
        ("noun1 verb1 noun2 verb2 rating\na b c d\n", ":2: 4 fields, where 5"),
        ("noun1\tverb1\tnoun2\tverb2\trating\na\tb\t\td\t1\n", ":2: field 3 is empty"),
        ("noun1 verb1 noun2 verb2 rating\na b c d nan\n", ":2: 'nan' is not a rating"),
        ("s verbobjects high a b c d 1\ns verbs high a b c d 1\n", ":2: the type 'verbs'"),
        ("phrase1\tphrase2\trating\na/X/7 b/X/0\tc\t1\n", ":2: the head of word 1 points nowhere"),
    ],
)
def test_bad_files_name_their_line(tmp_path, text, reason):
    with pytest.raises(InputError) as error:
        read(tmp_path, text)
    assert reason in str(error.value)


def test_triples_have_parts_of_speech(tmp_path):
    (tmp_path / "b").write_text("alligator-n\treptile\tattri\tgreen-j\nt-shirt-n\tclothing\tevent\twear-v\n")
    found = read_triples(tmp_path / "b")
    assert found[0].concept == noun("alligator") and found[0].relatum == Term("green", "ADJ")
    assert found[1].concept == noun("t-shirt") and found[1].relation == "event"
    for text, reason in {"a\tb\tc\n": ":1: 3 fields", "a-n\tb\tc\td\n": "'d' does not end", "": "no concepts"}.items():
        (tmp_path / "b").write_text(text)
        with pytest.raises(InputError, match=reason):
            read_triples(tmp_path / "b")
