"""Documents of all formats: tokens, mentions, sections, and back to text."""

import numpy as np
import pytest

from corpuscle.entities import read_documents
from corpuscle.entities.documents import from_standoff
from corpuscle.errors import InputError
from corpuscle.text import Mention, Standoff, write_brat, write_standoff_json
from corpuscle.text.mention_tags import TokenMention

TEXT = "HISTORY\nThe left atrium is dilated.\nPlan: rest.\n"
NOTE = Standoff(TEXT, (Mention("X", ((12, 23), (27, 34))), Mention("Y", ((42, 45),))), name="a")


def put(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return str(tmp_path / name)


def test_a_boundary_inside_a_token_splits_it_and_mentions_come_back():
    documents = from_standoff([NOTE, Standoff("No mention here.", name="b")])
    words = [documents.corpus.words(i) for i in range(len(documents.corpus))]
    assert words[1] == ["The", "left", "atrium", "is", "dilated", "."]
    assert words[2] == ["Plan", ":", "res", "t", "."]
    assert documents.mentions[1] == (TokenMention("X", (1, 2, 4)),)
    back = documents.annotated(documents.mentions)
    assert {(m.type, m.spans) for m in back[0].mentions} == {(m.type, m.spans) for m in NOTE.mentions}
    assert back[1].mentions == ()


def test_sections_begin_with_headers():
    documents = from_standoff([NOTE])
    words = documents.corpus.vocab.decode(documents.corpus.tokens)
    of_word = dict(zip(words, documents.sections.strings(), strict=True))
    assert of_word["atrium"] == "history" and of_word["Plan"] == "plan"


def test_a_mention_across_sentences_is_lost_and_counted():
    documents = from_standoff([Standoff("One two.\nThree four.", (Mention("X", ((4, 14),)),))])
    assert documents.lost == 1 and not any(documents.mentions)


def test_columns_with_tags_and_all_schemes(tmp_path):
    documents = read_documents(put(tmp_path, "a.tsv", "Ann\tN\tB-PER\nsaw\tV\tO\n\nBo\tN\tB-PER\nLee\tN\tI-PER\n"))
    assert documents.tags.strings() == ["N", "V", "N", "N"] and len(documents) == 2
    assert documents.texts[1].text == "Bo Lee" and documents.texts[1].mentions[0].spans == ((0, 6),)
    ended = read_documents(put(tmp_path, "b.bio", "Bo\tB-PER\nLee\tE-PER\nAnn\tS-PER\n"))
    assert ended.mentions[0] == (TokenMention("PER", (0, 1)), TokenMention("PER", (2,)))
    gaps = read_documents(put(tmp_path, "c.bio", "left\tDB-X\nis\tO\nbig\tDB-X\n"))
    assert gaps.mentions[0] == (TokenMention("X", (0, 2)),)
    bare = read_documents(put(tmp_path, "d.bio", "Ann\tB\nsaw\tO\n"))
    assert bare.mentions[0][0].type == "entity"


def test_columns_need_names_where_there_are_many(tmp_path):
    path = put(tmp_path, "a.tsv", "a\tb\tc\td\tO\n")
    with pytest.raises(InputError, match="5 columns: say what they are"):
        read_documents(path)
    named = read_documents(path, columns=["word", "lemma", "tag", "other", "label"])
    assert named.lemmas.strings() == ["b"] and named.tags.strings() == ["c"]


def test_every_format_gives_the_same_mentions(tmp_path):
    write_brat([NOTE], str(tmp_path / "brat"))
    write_standoff_json([NOTE], str(tmp_path / "a.jsonl"))
    brat, lines = read_documents(str(tmp_path / "brat")), read_documents(str(tmp_path / "a.jsonl"))
    assert brat.mentions == lines.mentions and any(brat.mentions)
    pubtator = put(tmp_path, "x.txt", "7|t|Left pain\n7|a|None.\n7\t0\t9\tLeft pain\tX\tD1\n")
    assert read_documents(pubtator).mentions[0] == (TokenMention("X", (0, 1)),)
    plain = read_documents(put(tmp_path, "y.txt", "Left pain."))
    assert plain.corpus.words(0) == ["Left", "pain", "."] and not any(plain.mentions)


def test_sources_by_folder_and_by_name(tmp_path):
    (tmp_path / "echo").mkdir()
    write_brat([Standoff("a", name="ecg-1"), Standoff("b", name="ecg-2")], str(tmp_path / "echo"))
    assert read_documents(str(tmp_path / "echo"), source="name").sources == ("ecg", "ecg")
    path = put(tmp_path / "echo", "z.txt", "Left.")
    assert read_documents(path, source="folder").sources == ("echo",)


def test_parts_are_joined_and_selected(tmp_path):
    one, two = put(tmp_path, "a.tsv", "Ann\tB-PER\n"), put(tmp_path, "b.tsv", "saw\tO\n\nBo\tB-PER\n")
    both = read_documents(one, two)
    assert len(both) == 3 and [len(each) for each in both.mentions] == [1, 0, 1]
    last = both.select(np.array([2]))
    assert last.corpus.words(0) == ["Bo"] and last.texts[0].text == "Bo" and len(last.mentions) == 1


def test_an_unknown_tag_is_named_with_its_sentence(tmp_path):
    with pytest.raises(InputError, match="sentence 1, token 2: 'Q' is not a tag"):
        read_documents(put(tmp_path, "a.tsv", "a\tO\nb\tQ\n"))


def test_empty_documents_have_no_sentences():
    documents = from_standoff([Standoff(""), Standoff("x"), Standoff("")])
    assert len(documents) == 3 and documents.document_of.tolist() == [1]
    assert [text.mentions for text in documents.annotated([[TokenMention("X", (0,))]])][1][0].spans == ((0, 1),)
