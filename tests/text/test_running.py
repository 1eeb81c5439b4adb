"""Running text: tokens and sentences in many scripts, and the exact way back."""

import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from corpuscle.cli.main import main
from corpuscle.errors import InputError, SettingError
from corpuscle.text import prepare, read_text, restore
from corpuscle.text import running as running_text
from corpuscle.text.running import read_gaps, restore_file, write_gaps
from corpuscle.text.sentences import character_classes, split_words
from tests.mutation import survives

pieces = st.sampled_from([
    "Mr.", "e.g.", "The", "end", ".", "...", "!", "?", "\u3002", "\u0964", '"', "'", "(", ")", " ", "\n", "\n\n",
    "\r\n", "\u00a0", "\u200b", "\ufeff", "3", "1,000.5", "http://a.b/c", "a@b.co", "\u0301", "\u200d", "\U0001f468",
    "\u2581", "\\",
])  # fmt: skip
running = st.one_of(st.text(), st.lists(pieces).map("".join))


def sentences(text: str, **settings) -> list[str]:
    return [" ".join(words) for words in prepare(text, **settings)]


@given(running, st.sampled_from(["space", "sentence"]))
@example("", "space")
@example("\n\n \n", "sentence")
def test_tokens_and_gaps_are_the_text(text, line_breaks):
    prepared = prepare(text, line_breaks=line_breaks)
    assert restore(prepared.tokens, prepared.gaps()) == text
    assert all(token and not set(token) & set(" \t\n\v\f\r") for token in prepared.tokens)
    assert all(not gap.strip() or not gap.isprintable() for gap in prepared.gaps())
    lengths = np.diff(prepared.sentence_starts)
    assert prepared.sentence_starts[-1] == len(prepared.offsets) and (lengths > 0).all()
    assert prepared.document_starts[-1] == len(prepared) and (np.diff(prepared.document_starts) > 0).all()


@given(running)
def test_the_files_alone_give_the_text_back(tmp_path_factory, text):
    folder = tmp_path_factory.getbasetemp()
    prepared = prepare(text)
    prepared.write(folder / "text")
    write_gaps(prepared, folder / "gaps")
    assert restore_file(folder / "text", folder / "gaps") == text
    offsets, gaps = read_gaps(folder / "gaps")
    assert np.array_equal(offsets, prepared.offsets) and gaps == prepared.gaps()


@given(running, st.sampled_from([1, 3, 1 << 14]))
def test_a_prepared_file_reads_as_the_prepared_corpus_however_few_tokens_are_written_at_a_time(
    tmp_path_factory, text, several
):
    path = tmp_path_factory.getbasetemp() / "text"
    prepared = prepare(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running_text, "_SEVERAL", several)
        prepared.write(path)
    corpus = prepared.corpus()
    if prepared.tokens[:1] and prepared.tokens[0].startswith("\ufeff"):
        raise AssertionError("a BOM is a gap")
    read = read_text(path, blank="document", unk_token="literal")
    assert list(map(len, read)) == list(map(len, corpus))
    assert np.array_equal(read.document_starts, corpus.document_starts)
    assert np.array_equal(corpus.offsets, prepared.offsets)
    assert [text[begin:end] for begin, end in corpus.offsets] == prepared.tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("(Don't stop, please!)", "( Don't stop , please ! )"),
        ("It cost $3.50, i.e. 1,000,000 or 50%.", "It cost $ 3.50 , i.e. 1,000,000 or 50 % ."),
        ("On 2020-01-02 at 10:30, 3/4 of 10\u00a0000", "On 2020-01-02 at 10:30 , 3/4 of 10\u00a0000"),
        ("Mail a.b+c@d-e.org or see https://x.y/z?q=1.", "Mail a.b+c@d-e.org or see https://x.y/z?q=1 ."),
        ("#tag_one @you: well-known R&D--no", "#tag_one @you : well-known R&D -- no"),
        ("l\u2019été col\u00b7lecció 1990s 3rd", "l\u2019été col\u00b7lecció 1990s 3rd"),
        ("हिन्दी में, सही।", "हिन्दी में , सही ।"),
        ("「はい！」と言った。", "「 はい ！ 」 と言った 。"),
        ("ภาษาไทย ไม่มีช่องว่าง", "ภาษาไทย ไม่มีช่องว่าง"),
        ("می\u200cخواهم؟", "می\u200cخواهم ؟"),
        ("ሰላም፣ ዓለም።", "ሰላም ፣ ዓለም ።"),
        ("Ինչպե՞ս ես։", "Ինչպե՞ս ես ։"),
        ("ok\U0001f44d\U0001f3fd\U0001f1eb\U0001f1f7", "ok \U0001f44d\U0001f3fd \U0001f1eb\U0001f1f7"),
    ],
)
def test_tokens(text, tokens):
    assert split_words(text) == tokens


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Wu came.| He left.",
        "Do this:\n1. Open the tin.|\n2. The rest.| The open tin is the rest.",
        "We met J. R. R. Wu and Mrs. Li.| They sat.",
        '"Is it?" he asked.| "Yes!"| She left.',
        "It is (so we hear.)| Then more.",
        "She left... and came back.| Wait...| What?",
        "It was 3.5 km.| 20 more came.",
        "See p. 5 and no. 7.| The answer was no.| Fine.",
        "Das war am 3. mai so.| Gut.",
        "1. First things first.| Then the rest.",
        "यह अच्छा है।| वह आया?| हाँ।",
        "今日は。|「はい！」|と言った。|本当？|うん。",
        "ما اسمك؟| أنا هنا.| شكرا.",
        "Τι κάνεις;| Καλά.".replace(";", "\u037e"),
        "Он пришёл, т.е. почти.| Потом ушёл!",
        "ሰላም ነው።| እሺ።",
        "First line\ngoes on.| Second.\n\n|Heading\n\n|Text.",
        "all in lower case.| no capitals here!| none?| none.",
        "Sentences «quoted.»| Another «one.\u00a0»| More.",
        "He said 'no.'| Then he went.",
    ],
)
def test_sentences(text):
    expected = ["".join(part.split()) for part in text.split("|")]
    assert ["".join(s.split()) for s in sentences(text.replace("|", ""))] == expected


def test_abbreviations_are_learnt_from_the_text():
    text = "Der Abt. kam. " + "Wir sahen die abk. des wortes. " * 3 + "Eine Abk. Das war alles. Denn das ist so. "
    assert "Wir sahen die abk. des wortes ." in sentences(text)
    titles = "".join(f"Then Xyz. {name} spoke to us. " for name in ("Anna", "Bela", "Carl", "Dora", "Emil"))
    assert "Then Xyz. Anna spoke to us ." in sentences(titles)


def test_abbreviations_can_be_given():
    text = "Siehe Kap. Vier. Danke."
    assert sentences(text) == ["Siehe Kap .", "Vier .", "Danke ."]
    assert sentences(text, abbreviations=["Kap."]) == ["Siehe Kap. Vier .", "Danke ."]


def test_a_known_starter_ends_a_sentence_after_an_abbreviation():
    assert sentences("He lives in the U.S. The house is big, and the garden too.") == [
        "He lives in the U.S.",
        "The house is big , and the garden too .",
    ]


@pytest.mark.parametrize(("low", "high", "ends"), [(0, 1, False), (1, 1, True), (1, 2, False), (2, 2, True)])
def test_a_starter_is_at_least_as_often_without_its_capital(low, high, ends):
    text = "We saw U.S. The house is red" + " and the car" * low + " of The Times" * (high - 1) + "."
    assert (sentences(text)[0] == "We saw U.S.") == ends


def test_line_breaks_can_end_sentences():
    assert sentences("A heading\nSome text", line_breaks="sentence") == ["A heading", "Some text"]
    assert sentences("A heading\nSome text") == ["A heading Some text"]
    with pytest.raises(SettingError):
        prepare("", line_breaks="x")


def test_long_texts_are_cut_at_blank_lines_without_a_trace(monkeypatch):
    paragraph = "Mr. A. came. It was 5 p.m. The end. And the rest. "
    text = "\n\n".join([paragraph * n for n in range(1, 60)])
    whole = prepare(text)
    monkeypatch.setattr("corpuscle.text.running._STRETCH", 1000)
    pieces = prepare(text)
    assert np.array_equal(whole.offsets, pieces.offsets)
    assert np.array_equal(whole.sentence_starts, pieces.sentence_starts)
    assert np.array_equal(whole.document_starts, pieces.document_starts) and len(whole.document_starts) == 60


@pytest.mark.parametrize("unit", ["xxx", "a.", "a'", "1,", "@", "a-", "a+", "a:/", "\u0301", "1\u00a0"])
def test_a_long_odd_text_comes_back(unit):
    """Where the time grew with the square of the length, this would last for hours."""
    text = unit * 200_000
    prepared = prepare(text)
    assert restore(prepared.tokens, prepared.gaps()) == text


def test_classes_keep_positions():
    text = "a\U0001f468\u0301é\n中"
    assert len(character_classes(text)) == len(text) and character_classes(text).isascii()


def test_the_commands_prepare_restore_and_count(tmp_path, capsys):
    raw, text, gaps = (str(tmp_path / name) for name in ("raw", "text", "gaps.tsv"))
    data = "\ufeffDr. Wu came.\r\nHe left!\n\n\tNew \\ text.".encode()
    (tmp_path / "raw").write_bytes(data)
    assert main(["text", "prepare", raw, "-o", text, "--offsets", gaps, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"characters": 37, "words": 11, "sentences": 3, "documents": 2}
    assert (tmp_path / "text").read_text() == "Dr. Wu came .\nHe left !\n\nNew \\ text .\n"
    assert main(["text", "restore", text, "--offsets", gaps, "-o", str(tmp_path / "back")]) == 0
    assert (tmp_path / "back").read_bytes() == data
    assert main(["text", "stats", text, "--against", raw, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["words"] == 11 and figures["sentences"] == 4 and figures["oov"] == 6
    (tmp_path / "list").write_text("came\n")
    assert main(["text", "prepare", raw, "--abbreviations", str(tmp_path / "list"), "--line-breaks", "sentence"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "Dr. Wu came."


def test_a_text_that_does_not_fit_its_offsets_is_an_error(tmp_path):
    prepared = prepare("One two.\nThree.")
    prepared.write(tmp_path / "t")
    write_gaps(prepared, tmp_path / "g")
    good = (tmp_path / "t").read_text()
    for text, message in [
        (good.replace("two", "twofold"), "t:1: token 'twofold'"),
        (good + "more", "t:3: token 'more'"),
        ("One", "t: 1 tokens"),
    ]:
        (tmp_path / "t").write_text(text)
        with pytest.raises(InputError, match=message):
            restore_file(tmp_path / "t", tmp_path / "g")
    (tmp_path / "g").write_text("begin\tend\tgap\n0\t3\t\n")
    with pytest.raises(InputError, match="g:2: truncated"):
        read_gaps(tmp_path / "g")


@pytest.mark.parametrize("count", [200, pytest.param(10_000, marks=pytest.mark.slow)])
def test_damaged_offsets_are_read_or_refused(tmp_path, count):
    write_gaps(prepare("One \\ two.\n\n\tThree\u2028four."), tmp_path / "good")
    survives(read_gaps, (tmp_path / "good").read_bytes(), count, seed=1)
