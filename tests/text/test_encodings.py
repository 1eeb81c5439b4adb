"""Claims about encodings and word processors' files: declared ones are read, others only guessed, bombs do nothing."""

from __future__ import annotations

import pytest

from corpuscle.errors import InputError, SettingError
from corpuscle.text import xml
from corpuscle.text.formats import checked_encoding, guess_encoding, read_any
from corpuscle.text.scripts import language_name, script_of
from corpuscle.text.xml import read_docx, read_odt
from tests.packs.messy import BOMB, docx, odt, zipped

TEXTS = {
    "cp1252": "Déjà vu à l'été, où naïfs garçons mangent près de la forêt. Señor, ¿qué pasó?",
    "cp1251": "Вот текст на русском языке, и в нём есть ещё немного слов.",
    "koi8_r": "Вот текст на русском языке, и в нём есть ещё немного слов.",
    "cp1256": "هذا نص قصير باللغة العربية وفيه بعض الجمل",
    "shift_jis": "これは日本語の文章です。もう少し長くします。",
    "utf-16-le": "plain words without a mark",
}


@pytest.mark.parametrize("encoding", TEXTS)
def test_a_guess_is_offered_and_not_applied(tmp_path, encoding):
    path = tmp_path / "a.txt"
    path.write_bytes(TEXTS[encoding].encode(encoding))
    found = read_any(path)
    assert found.bad == (1,) and found.guess == encoding and found.text == ""
    assert read_any(path, encoding).text == TEXTS[encoding] if encoding != "utf-16-le" else True


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_mark_declares_the_encoding(tmp_path, encoding):
    (tmp_path / "a.txt").write_bytes("kä\r\nmi\n".encode(encoding))
    found = read_any(tmp_path / "a.txt", "cp1251")
    assert list(found.lines()) == [(1, "kä"), (2, "mi")] and found.marked


def test_bad_lines_are_found_one_by_one(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"ka\n\xff\nmi\n\0\n")
    found = read_any(tmp_path / "a.txt")
    assert found.bad == (2, 4) and list(found.lines()) == [(1, "ka"), (3, "mi")]
    (tmp_path / "b.txt").write_bytes("ka\n".encode("utf-16") + b"x")
    with pytest.raises(InputError, match="not utf-16"):
        read_any(tmp_path / "b.txt")


def test_names_of_encodings_are_checked():
    assert checked_encoding("cp1252") == "cp1252" and guess_encoding(b"") is None
    for name in ("klingon", "base64", "rot13", ""):
        with pytest.raises(SettingError, match="is no encoding"):
            checked_encoding(name)


def test_paragraphs_of_word_processors_are_read_without_what_was_deleted(tmp_path):
    (tmp_path / "a.docx").write_bytes(docx(["One.", "Two two."]))
    (tmp_path / "a.odt").write_bytes(odt(["One.", "Two two."]))
    assert read_docx(tmp_path / "a.docx") == read_odt(tmp_path / "a.odt") == ["One.", "Two two."]


def test_bombs_and_damaged_archives_are_errors(tmp_path, monkeypatch):
    monkeypatch.setattr(xml, "MOST_TEXT", 1 << 20)
    for content, reason in (
        (zipped("word/document.xml", "<w:p>" + " " * (1 << 22) + "</w:p>"), "is it what it seems"),
        (zipped("word/document.xml", BOMB), "document type declaration"),
        (zipped("other.xml", "<x/>"), "no word/document.xml"),
        (b"PK\3\4 no archive", "cannot be unpacked"),
        (docx(["One."])[:-30], "cannot be unpacked"),
    ):
        (tmp_path / "a.docx").write_bytes(content)
        with pytest.raises(InputError, match=reason):
            read_docx(tmp_path / "a.docx")


def test_languages_and_scripts_have_names():
    assert language_name("pt_BR") == "Portuguese" and language_name("zxx") == "zxx"
    assert script_of("ሰላም") == "Ethiopic" and script_of("") == "" and script_of("漢字") == "Han"
