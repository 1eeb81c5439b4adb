"""Thirty kits as people have them: what is in each, what ``learn --check`` says, and what ``learn`` makes of it."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from tests.packs.kits import sentences

LINES = sentences(60)
PLAIN = "".join(f"{line}\n" for line in LINES)
RUNNING = " ".join(f"{line.capitalize()}!" for line in LINES) + "\n"
WRAPPED = "\n".join(
    "The men who came over the hills before dawn were old, and"[: 52 + i % 5] + " so on." * (i % 4 == 0)
    for i in range(60)
)
FRENCH = "".join(f"{line} été déjà naïve façon\n" for line in LINES)
RUSSIAN = "".join("Вот текст на русском языке и ещё немного слов\n" for _ in LINES)
HINDI = "".join(f"यह एक छोटा वाक्य है {i}\n" for i in range(60))
JAPANESE = "".join("これは日本語の文です。もう一つの文があります。短い文です。\n" for _ in range(60))
ARABIC = "هذا نص قصير باللغة العربية، وفيه جمل. هل هذا صحيح؟ نعم، هو صحيح. " * 30
PAIRS = "".join(f"{line}\tein {line}\n" for line in LINES)
NAMES = "".join(f"anna{i}\tанна{i}\n" for i in range(60))
TMX = (
    '<?xml version="1.0"?><tmx version="1.4"><header srclang="en"/><body>'
    + "".join(
        f'<tu><tuv xml:lang="en"><seg>{line}</seg></tuv><tuv xml:lang="fr"><seg>le {line}</seg></tuv></tu>'
        for line in LINES
    )
    + "</body></tmx>"
)


def annotations(*rows: tuple[str, str, str, str]) -> str:
    """Annotations that hang on others: name, the one above, the one before, value."""
    return "".join(
        f'<ANNOTATION><REF_ANNOTATION ANNOTATION_ID="{name}" ANNOTATION_REF="{above}" '
        + (f'PREVIOUS_ANNOTATION="{before}"' if before else "")
        + f"><ANNOTATION_VALUE>{value}</ANNOTATION_VALUE></REF_ANNOTATION></ANNOTATION>\n"
        for name, above, before, value in rows
    )


def utterance(name: str, begin: int, value: str) -> str:
    """An annotation on the time line."""
    return (
        f'<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="{name}" TIME_SLOT_REF1="ts{begin}" '
        f'TIME_SLOT_REF2="ts{begin + 1}"><ANNOTATION_VALUE>{value}</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION>'
        "</ANNOTATION>\n"
    )


EAF = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<ANNOTATION_DOCUMENT><TIME_ORDER>'
    + "".join(f'<TIME_SLOT TIME_SLOT_ID="ts{i}" TIME_VALUE="{t}"/>' for i, t in ((1, 0), (2, 900), (3, 900), (4, 2000)))
    + '</TIME_ORDER>\n<TIER TIER_ID="tx@A" LINGUISTIC_TYPE_REF="utterance">\n'
    + utterance("a2", 3, "Oku-du.")
    + utterance("a1", 1, "kitablar geldi")
    + '</TIER><TIER TIER_ID="wd@A" PARENT_REF="tx@A">'
    + annotations(("w1", "a1", "", "kitablar"), ("w2", "a1", "w1", "geldi"))
    + '</TIER><TIER TIER_ID="mb@A" PARENT_REF="wd@A">'
    + annotations(
        ("m1", "w1", "", "kitab"), ("m2", "w1", "m1", "-lar"), ("m3", "w2", "", "gel"), ("m4", "w2", "m3", "-di")
    )
    + '</TIER><TIER TIER_ID="ge@A" PARENT_REF="mb@A">'
    + annotations(("g1", "m1", "", "book"), ("g2", "m2", "", "-PL"), ("g3", "m3", "", "come"), ("g4", "m4", "", "-PST"))
    + '</TIER><TIER TIER_ID="ft@A" PARENT_REF="tx@A">'
    + annotations(("f1", "a1", "", "The books came."))
    + '</TIER><TIER TIER_ID="notes"/></ANNOTATION_DOCUMENT>\n'
)
FLEXTEXT = """<?xml version="1.0" encoding="utf-8"?>
<document version="2"><interlinear-text><paragraphs><paragraph><phrases><phrase>
<item type="segnum" lang="en">1</item><words>
<word><item type="txt" lang="qaa">kitablar</item><morphemes>
<morph><item type="txt" lang="qaa">kitab</item><item type="gls" lang="en">book</item></morph>
<morph><item type="txt" lang="qaa">-lar</item><item type="gls" lang="en">-PL</item></morph></morphemes></word>
<word><item type="txt" lang="qaa">geldi</item><item type="gls" lang="en">came</item></word>
<word><item type="punct" lang="qaa">.</item></word></words>
<item type="gls" lang="en">The books came.</item></phrase></phrases></paragraph></paragraphs></interlinear-text>
</document>
"""
TOOLBOX = """\\_sh v3.0  400  Text
\\_DateStampHasFourDigitYear

\\id story
\\ref story.1
\\tx kitablar   geldi
\\mb kitab -lar gel  -di
\\ge book  -PL  come -PST
\\ft The books came.

\\ref story.2
\\tx okudum
\\mb oku  -du  -m
\\ge read -PST -1SG
\\ft I read it.
"""


def zipped(name: str, content: str) -> bytes:
    """A zip archive with one file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return buffer.getvalue()


def docx(paragraphs: list[str]) -> bytes:
    body = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r><w:del><w:t>gone</w:t></w:del></w:p>" for text in paragraphs)
    return zipped("word/document.xml", f'<w:document xmlns:w="w"><w:body>{body}</w:body></w:document>')


def odt(paragraphs: list[str]) -> bytes:
    body = "".join(f"<text:p>{text[:3]}<text:span>{text[3:]}</text:span></text:p>" for text in paragraphs)
    return zipped("content.xml", f"<office:document><office:body>{body}</office:body></office:document>")


class Messy(NamedTuple):
    """A kit: its files (strings are UTF-8), what the check says, the files of each role that are used, the error of
    ``learn``, if it ends with one, and the options of both."""

    files: dict[str, str | bytes]
    says: tuple[str, ...] = ()
    roles: Mapping[str, int] = MappingProxyType({})
    error: str = ""
    options: Mapping[str, object] = MappingProxyType({})


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><w:document>&b;</w:document>'
ENTITIES = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]><ANNOTATION_DOCUMENT/>'

MESSY: dict[str, Messy] = {
    "upper case suffix": Messy({"text/A.TXT": PLAIN}, ("text", "utf-8", "Latin"), {"text": 1}),
    "subfolders of text": Messy({"text/one/a.txt": PLAIN, "text/two/b.txt": PLAIN}, (), {"text": 2}),
    "text in the root": Messy({"story.txt": PLAIN, "README.txt": "about"}, ("a note about the kit",), {"text": 1}),
    "text in folders of any name": Messy({"stories/a.txt": PLAIN, "songs/b.txt": PLAIN}, (), {"text": 2}),
    "text beside a folder text": Messy({"text/a.txt": PLAIN, "old/b.txt": PLAIN}, ("move it there",), {"text": 1}),
    "packed text": Messy({"text/a.txt.gz": gzip.compress(PLAIN.encode())}, (), {"text": 1}),
    "pairs by language suffixes": Messy(
        {"parallel/x.hi": HINDI, "parallel/x.en": PLAIN}, ("Devanagari",), {"parallel": 2}
    ),
    "pairs in the root": Messy({"x.hi": HINDI, "x.en": PLAIN}, (), {"parallel": 2}),
    "three languages": Messy(
        {"x.hi": HINDI, "x.en": PLAIN, "x.fr": PLAIN}, ("more than two languages",), {}, "nothing to learn from"
    ),
    "three languages, two of them named": Messy(
        {"x.hi": HINDI, "x.en": PLAIN, "x.fr": PLAIN, "kit.toml": '[languages]\nsource = "hi"\ntarget = "fr"\n'},
        ("not one of the two",), {"parallel": 2},
    ),
    "a language without the other": Messy({"text/a.txt": PLAIN, "x.hi": HINDI}, ("no other language",), {"text": 1}),
    "pairs of different lengths": Messy(
        {"parallel/x.hi": HINDI, "parallel/x.en": PLAIN + "more\n"}, ("but parallel/x.hi has 60",), {},
        "nothing to learn from",
    ),
    "pairs in a table": Messy({"parallel/a.tsv": "English\tGerman\n" + PAIRS}, ("names the columns",), {"parallel": 2}),
    "pairs in a table with bad lines": Messy(
        {"parallel/a.tsv": PAIRS + "alone\n"}, ("1 bad line (line 61: 0 tabs",), {"parallel": 2}
    ),
    "pairs in a table with bad lines, strictly": Messy(
        {"parallel/a.tsv": PAIRS + "alone\n"}, ("1 bad line",), {}, "nothing to learn from", {"strict": True}
    ),
    "a translation memory": Messy({"memory.tmx": TMX}, (), {"parallel": 2}),
    "names with commas": Messy({"names.csv": "name,russian\n" + NAMES.replace("\t", ",")}, ("','",), {"names": 1}),
    "names with a few bad lines": Messy(
        {"names.tsv": NAMES + "lost\n"}, ("no second column", "left out"), {"names": 1}
    ),
    "UTF-16": Messy({"text/a.txt": PLAIN.encode("utf-16")}, ("utf-16-le, by its byte-order mark",), {"text": 1}),
    "another encoding": Messy(
        {"text/a.txt": FRENCH.encode("cp1252")}, ("60 lines are not UTF-8 (perhaps cp1252); --encoding cp1252",),
        {"text": 1},
    ),
    "another encoding, declared": Messy(
        {"text/a.txt": RUSSIAN.encode("cp1251")}, ("read as cp1251, as you said", "Cyrillic"), {"text": 1}, "",
        {"encoding": "cp1251"},
    ),
    "another encoding, in kit.toml": Messy(
        {"text/a.txt": RUSSIAN.encode("koi8_r"), "kit.toml": 'encoding = "koi8_r"\n'}, ("koi8_r",), {"text": 1}
    ),
    "a few broken lines": Messy(
        {"text/a.txt": PLAIN.encode() + b"ka \xff mi\nka \0 mi\n"}, ("2 lines are not UTF-8",), {"text": 1}
    ),
    "running text": Messy({"story.txt": RUNNING}, ("running text, prepared into 60 sentences",), {"text": 1}),
    "running text in short lines": Messy({"story.txt": WRAPPED}, ("line ends are spaces",), {"text": 1}),
    "running text, Arabic": Messy({"a.txt": ARABIC}, ("Arabic", "running text"), {"text": 1}),
    "text without spaces": Messy({"a.txt": JAPANESE}, ("Japanese", "180 sentences"), {"text": 1}),
    "a word processor": Messy(
        {"a.docx": docx([f"{line.capitalize()}!" for line in LINES]), "b.odt": odt(LINES)}, (".docx", ".odt"),
        {"text": 2},
    ),
    "a damaged word processor's file": Messy(
        {"a.docx": b"PK no", "b.txt": PLAIN}, ("cannot be unpacked",), {"text": 2}
    ),
    "a word processor's file with entities": Messy(
        {"a.docx": zipped("word/document.xml", BOMB), "b.txt": PLAIN}, ("document type declaration",), {"text": 2}
    ),
    "ELAN": Messy(
        {"rec/a.eaf": EAF, "rec/a.wav": b"RIFF"},
        ("tx@A = transcription (2)", "ge@A = glosses (4)", "notes = not used (0)", "a recording"),
        {"interlinear": 1, "text": 1, "parallel": 2},
    ),
    "ELAN with entities": Messy({"a.eaf": ENTITIES}, ("document type declaration",), {"interlinear": 1}),
    "ELAN with tiers of one's own": Messy(
        {"a.eaf": EAF.replace("tx@A", "Xyz"), "kit.toml": '[tiers]\ntranscription = "Xyz"\n'}, ("Xyz = transcription",),
        {"interlinear": 1, "text": 1, "parallel": 2},
    ),
    "ELAN without a transcription": Messy(
        {"a.eaf": EAF.replace("tx@A", "Xyz").replace("utterance", "?")}, ("no transcription among its tiers",), {},
        "nothing to learn from",
    ),
    "FLEx": Messy(
        {"a.flextext": FLEXTEXT}, ("phrase gls en = translation",), {"interlinear": 1, "text": 1, "parallel": 2}
    ),
    "Toolbox": Messy({"a.txt": TOOLBOX}, ("\\tx = transcription (2)",), {"interlinear": 1, "text": 1, "parallel": 2}),
    "glosses": Messy({"text/a.txt": PLAIN, "glosses.tsv": "ka\tstone\n"}, (), {"text": 1, "glosses": 1}),
    "literal markup": Messy({"text/a.txt": PLAIN + "a <s> b\n"}, ("literal <s>",), {"text": 1}),
    "a PDF": Messy({"a.pdf": b"%PDF", "b.doc": b"x"}, ("pdftotext", "save it as .docx"), {}, "nothing to learn from"),
    "a description with a mistake": Messy({"kit.toml": "colour = 1\n", "a.txt": PLAIN}, (), {}, "unknown key 'colour'"),
    "an empty folder": Messy({}, (), {}, "nothing to learn from: .* and no files"),
}  # fmt: skip
