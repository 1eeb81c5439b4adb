"""What a word is written in: digits, one of the scripts that tell word types apart, punctuation, or a mixture.

Every character has a *mask*, a bit for its class. The masks of the characters of a word are joined by "or", in any
order, and ``WORD_TYPES[mask]`` is the type of the word: so kernels can type all substrings of a text as they go.

    digits         decimal digits of all scripts, and other numbers that are no letters (², ①, ½)
    latin .. thai  letters and marks of that script (々 and 〇 are Han, Ⅷ is Latin)
    other          letters of all other scripts
    punctuation    punctuation, symbols, spaces, control characters
    mixed          characters of several classes

Two kinds of characters take the type of their company. Combining marks and joiners fit every class. The prolonged sound
mark and the voicing marks of kana fit hiragana and katakana, and are katakana when they stand alone.

The direction of a text is found from its letters, too (``direction``).

*Romanisation* writes words in Latin letters by a rule of thumb: what the name of each character in Unicode begins with.

    ж  CYRILLIC SMALL LETTER ZHE -> zh      ب  ARABIC LETTER BEH -> b      한  HANGUL SYLLABLE HAN -> han
    м  CYRILLIC SMALL LETTER EM -> m        क  DEVANAGARI LETTER KA -> k   ね  HIRAGANA LETTER NE -> ne

Consonants are what stands before the first vowel of the name; vowels are one letter. It is no transcription: short
vowels that a script does not write are missing, and so are tones. It brings names and loan words of two scripts close
enough for an edit distance. Ideographs have no letters in their names and stay as they are.

And for headings: names of languages and scripts, what a suffix such as ``hi`` stands for, what a text is written in.

*Grapheme clusters* are what readers take for one character. They follow UAX #29 (extended grapheme clusters) as far as
the standard library knows the properties: every code point becomes one letter for its class, and a regular expression
over those letters finds the clusters. Three properties are not in ``unicodedata`` and are approximated:
Extended_Pictographic by the symbols of the emoji blocks, Indic_Conjunct_Break by the consonants and viramas of the
scripts that have it, Prepend by a short list.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, lru_cache

import numpy as np

from corpuscle.text.corpus import characters_of_types, starts_of
from corpuscle.text.vocab import FIRST, Vocab

TYPES = ("digits", "latin", "hiragana", "katakana", "han", "hangul", "thai", "other", "punctuation", "mixed")
"""The names of the word types, by number."""

_DIGITS, _LATIN, _HIRAGANA, _KATAKANA, _HAN, _HANGUL, _THAI, _OTHER, _PUNCTUATION, _MIXED = range(10)
_KANA_MARK, _COMBINING = 9, 10  # classes of characters, in addition to the types 0 to 8
_CLASSES = 11

_RANGES = {
    _LATIN: "41-5A 61-7A AA BA C0-D6 D8-F6 F8-2B8 2E0-2E4 363-36F 1D00-1D25 1D2C-1D5C 1D62-1D65 1D6B-1D77 1D79-1DBE "
    "1DD3-1DE6 1DE7-1DF4 1E00-1EFF 2071 207F 2090-209C 212A-212B 2132 214E 2160-2188 2C60-2C7F A722-A787 A78B-A7FF "
    "AB30-AB5A AB5C-AB64 AB66-AB69 FB00-FB06 FF21-FF3A FF41-FF5A 10780-107BA 1DF00-1DFFF",
    _HIRAGANA: "3041-3096 309D-309F 1B001-1B11F 1B132 1B150-1B152 1F200",
    _KATAKANA: "30A1-30FA 30FD-30FF 31F0-31FF 32D0-32FE 3300-3357 FF66-FF6F FF71-FF9D 1AFF0-1AFFE 1B000 1B120-1B122 "
    "1B155 1B164-1B167",
    _HAN: "2E80-2FD5 3005-3007 3021-3029 3038-303B 3400-4DBF 4E00-9FFF F900-FAD9 16FE3 16FF0-16FF1 20000-3FFFD",
    _HANGUL: "1100-11FF 302E-302F 3131-318E 3200-321E 3260-327E A960-A97C AC00-D7A3 D7B0-D7FB FFA0-FFDC",
    _THAI: "E01-E3A E40-E4E",
    _KANA_MARK: "3099-309C 30FC FF70 FF9E-FF9F",
}
"""Code points in hexadecimal, from-to, both included. Other characters have the class of their general category."""

_BY_CATEGORY = {"Nd": _DIGITS, "No": _DIGITS, "Mn": _COMBINING, "Me": _COMBINING, "Cf": _COMBINING}


def _spans(ranges: str) -> list[tuple[int, int]]:
    """First and last code points of some ranges."""
    edges = (span.partition("-") for span in ranges.split())
    return [(int(first, 16), int(last or first, 16)) for first, _, last in edges]


_FIRSTS, _LASTS, _KINDS = np.array(
    sorted((*span, kind) for kind, ranges in _RANGES.items() for span in _spans(ranges)), np.int64
).T.copy()


def _word_types() -> np.ndarray:
    """The type for each set of classes."""
    table = np.full(1 << _CLASSES, _MIXED, np.uint8)
    kana, any_mark = 1 << _KANA_MARK, 1 << _COMBINING
    for marks in (0, any_mark):
        for kind in range(_MIXED):
            table[(1 << kind) | marks] = kind
        for kind, mask in ((_HIRAGANA, 1 << _HIRAGANA), (_KATAKANA, 1 << _KATAKANA), (_KATAKANA, 0)):
            table[mask | kana | marks] = kind
    table[any_mark] = table[0] = _OTHER
    table.flags.writeable = False
    return table


WORD_TYPES = _word_types()
"""The type of a word by the joined masks of its characters: uint8 (2048,)."""


def _masks(codes: np.ndarray) -> np.ndarray:
    """The masks of code points: uint16, of the same shape."""
    distinct, inverse = np.unique(codes, return_inverse=True)
    place = np.maximum(np.searchsorted(_FIRSTS, distinct, "right") - 1, 0)
    inside = (_FIRSTS[place] <= distinct) & (distinct <= _LASTS[place])
    kinds = np.where(inside, _KINDS[place], 0)
    categories = [unicodedata.category(chr(code)) for code in distinct[~inside].tolist()]
    kinds[~inside] = [_BY_CATEGORY.get(c, _OTHER if c[0] in "LMN" else _PUNCTUATION) for c in categories]
    return (1 << kinds).astype(np.uint16)[inverse]


def character_masks(vocab: Vocab) -> np.ndarray:
    """The mask of every id of a vocabulary of characters (or graphemes, or words): uint16 (len(vocab),).

    The reserved symbols are ``other``.
    """
    result = np.full(len(vocab), 1 << _OTHER, np.uint16)
    codes, _ = letters_of([vocab.bytes.tobytes().decode()])
    if len(codes):
        result[FIRST:] = np.bitwise_or.reduceat(_masks(codes), starts_of(characters_of_types(vocab))[:-1])
    return result


def type_of(word: str) -> str:
    """The type of one word.

    >>> [type_of(word) for word in ("1998", "らーめん", "ラーメン", "時々", "cafe\\u0301", "。", "Tシャツ")]
    ['digits', 'hiragana', 'katakana', 'han', 'latin', 'punctuation', 'mixed']
    """
    mask = int(np.bitwise_or.reduce(_masks(letters_of([word])[0]))) if word else 0
    return TYPES[WORD_TYPES[mask]]


_ISOLATED = re.compile("\u2068[^\u2069]*\u2069")


def direction(text: str) -> str | None:
    """The way most letters of a text run, ``ltr`` or ``rtl``; the first decides a tie, None is for no letters at all.

    What is ``isolated`` has no say.

    >>> direction("سلام, world!"), direction("1998"), direction("שלום עולם (world)")
    ('ltr', None, 'rtl')
    """
    classes = [unicodedata.bidirectional(c) for c in _ISOLATED.sub("", text)]
    ways = ["ltr" if c == "L" else "rtl" for c in classes if c in ("L", "R", "AL")]
    return max(dict.fromkeys(ways), key=ways.count, default=None)


def isolated(text: str) -> str:
    """A text to stand inside another: between U+2068 and U+2069 if it has letters that run from right to left."""
    return f"\u2068{text}\u2069" if any(unicodedata.bidirectional(c) in ("R", "AL") for c in text) else text


def based(text: str) -> str:
    """A text whose first character is no combining sign: one that is stands on a no-break space."""
    return "\u00a0" + text if unicodedata.category(text[:1] or " ")[0] == "M" else text


_NAMED = re.compile(r"(?:LETTER|VOWEL SIGN|SYLLABLE|CHARACTER) (?:(?:SMALL|SHORT|LONG|FINAL|ARCHAIC|SARA) )*([A-Z]+)")
_AFTER_E = re.compile(r"E([FLMNRS])$")
_SILENT = re.compile(r"SOFT SIGN|HARD SIGN|VIRAMA|NUKTA|TATWEEL|SUKUN|SHADDA")
_VOWELS = "AEIOU"
_SOUNDS = {"YERU": "y", "YU": "yu", "YA": "ya", "IO": "yo", "IE": "e", "HAMZA": "", "AIN": "", "QOF": "k", "QAF": "k"}


def plain(word: str) -> str:
    """Lower case without accents."""
    return "".join(c for c in unicodedata.normalize("NFKD", word.casefold()) if not unicodedata.combining(c))


@cache
def _letter(character: str) -> str:
    """A character in Latin letters, or as it is."""
    if character.isascii():
        return character
    name = unicodedata.name(character, "")
    if _SILENT.search(name):
        return ""
    found = _NAMED.search(name)
    if name.startswith("LATIN") or found is None:
        return plain(character)
    sound = found[1]
    if sound in _SOUNDS:
        return _SOUNDS[sound]
    if name.startswith(("HANGUL SYLLABLE", "HIRAGANA", "KATAKANA")):
        return sound.lower()
    if name.startswith("CYRILLIC") and (single := _AFTER_E.match(sound)):
        return single[1].lower()
    if sound[0] in _VOWELS:
        return sound[0].lower()
    return re.split(f"[{_VOWELS}]", sound)[0].lower()


def romanise(word: str) -> str:
    """A word in Latin letters, lower case, without accents.

    >>> romanise("Москва"), romanise("Αθήνα"), romanise("서울")
    ('moskva', 'athena', 'seoul')
    """
    return plain("".join(map(_letter, unicodedata.normalize("NFC", word.casefold()))))


_NAMES = (
    "aa:Afar ab:Abkhazian af:Afrikaans ak:Akan am:Amharic an:Aragonese ar:Arabic as:Assamese av:Avaric ay:Aymara "
    "az:Azerbaijani ba:Bashkir be:Belarusian bg:Bulgarian bi:Bislama bm:Bambara bn:Bengali bo:Tibetan br:Breton "
    "bs:Bosnian ca:Catalan ce:Chechen ch:Chamorro co:Corsican cr:Cree cs:Czech cu:Church_Slavonic cv:Chuvash "
    "cy:Welsh da:Danish de:German dv:Dhivehi dz:Dzongkha ee:Ewe el:Greek en:English eo:Esperanto es:Spanish "
    "et:Estonian eu:Basque fa:Persian ff:Fula fi:Finnish fj:Fijian fo:Faroese fr:French fy:West_Frisian ga:Irish "
    "gd:Scottish_Gaelic gl:Galician gn:Guarani gu:Gujarati gv:Manx ha:Hausa he:Hebrew hi:Hindi ho:Hiri_Motu "
    "hr:Croatian ht:Haitian_Creole hu:Hungarian hy:Armenian hz:Herero ia:Interlingua id:Indonesian ig:Igbo "
    "ii:Nuosu ik:Inupiaq io:Ido is:Icelandic it:Italian iu:Inuktitut ja:Japanese jv:Javanese ka:Georgian kg:Kongo "
    "ki:Kikuyu kj:Kuanyama kk:Kazakh kl:Greenlandic km:Khmer kn:Kannada ko:Korean kr:Kanuri ks:Kashmiri ku:Kurdish "
    "kv:Komi kw:Cornish ky:Kyrgyz la:Latin lb:Luxembourgish lg:Ganda li:Limburgish ln:Lingala lo:Lao lt:Lithuanian "
    "lu:Luba-Katanga lv:Latvian mg:Malagasy mh:Marshallese mi:Maori mk:Macedonian ml:Malayalam mn:Mongolian "
    "mr:Marathi ms:Malay mt:Maltese my:Burmese na:Nauruan nb:Norwegian_Bokmål nd:Northern_Ndebele ne:Nepali "
    "ng:Ndonga nl:Dutch nn:Norwegian_Nynorsk no:Norwegian nr:Southern_Ndebele nv:Navajo ny:Chewa oc:Occitan "
    "oj:Ojibwe om:Oromo or:Odia os:Ossetian pa:Punjabi pi:Pali pl:Polish ps:Pashto pt:Portuguese qu:Quechua "
    "rm:Romansh rn:Kirundi ro:Romanian ru:Russian rw:Kinyarwanda sa:Sanskrit sc:Sardinian sd:Sindhi "
    "se:Northern_Sami sg:Sango si:Sinhala sk:Slovak sl:Slovene sm:Samoan sn:Shona so:Somali sq:Albanian sr:Serbian "
    "ss:Swazi st:Southern_Sotho su:Sundanese sv:Swedish sw:Swahili ta:Tamil te:Telugu tg:Tajik th:Thai ti:Tigrinya "
    "tk:Turkmen tl:Tagalog tn:Tswana to:Tongan tr:Turkish ts:Tsonga tt:Tatar tw:Twi ty:Tahitian ug:Uyghur "
    "uk:Ukrainian ur:Urdu uz:Uzbek ve:Venda vi:Vietnamese vo:Volapük wa:Walloon wo:Wolof xh:Xhosa yi:Yiddish "
    "yo:Yoruba za:Zhuang zh:Chinese zu:Zulu"
)
LANGUAGES = dict(row.split(":") for row in _NAMES.split())
"""Two-letter codes of ISO 639-1 and English names, an underscore for a space."""

_ALIASES = {"Cjk": "Han"}


def language_name(code: str) -> str:
    """The name of a language by its code, with or without a region; a code that has none stays as it is.

    >>> language_name("hi"), language_name("pt-BR"), language_name("tlh")
    ('Hindi', 'Portuguese', 'tlh')
    """
    name = LANGUAGES.get(code.lower().replace("_", "-").partition("-")[0])
    return code if name is None else name.replace("_", " ")


def code_of(name: str) -> str:
    """The two-letter code of a language by its name or code; empty if there is none.

    >>> code_of("Hindi"), code_of("hi"), code_of("Evenki")
    ('hi', 'hi', '')
    """
    wanted = name.lower().replace(" ", "_")
    return next((code for code, known in LANGUAGES.items() if wanted in (code, known.lower())), "")


@lru_cache(maxsize=1 << 14)
def script_of_letter(letter: str) -> str:
    """The script of a letter by its name in Unicode; empty if it has none."""
    name = unicodedata.name(letter, "").partition(" ")[0].title()
    return _ALIASES.get(name, name)


def script_of(text: str) -> str:
    """The script of most letters of a text; empty if there are none.

    >>> script_of("नमस्ते world"), script_of("日本語のテキスト"), script_of("2024")
    ('Devanagari', 'Japanese', '')
    """
    letters = Counter(script_of_letter(c) for c in text if unicodedata.category(c)[0] in "LM")
    letters.pop("Combining", None)
    kana = letters["Hiragana"] + letters["Katakana"]
    if kana and kana + letters["Han"] > sum(letters.values()) / 2:
        return "Japanese"
    return max(letters, key=lambda name: letters[name], default="") if letters else ""


def _points(ranges: str) -> frozenset[int]:
    return frozenset(code for first, last in _spans(ranges) for code in range(first, last + 1))


_PREPEND = _points("600-605 6DD 70F 890-891 8E2 D4E 110BD 110CD 111C2-111C3")
_EXTEND = _points("200C FF9E-FF9F 1F3FB-1F3FF E0020-E007F") | _points(
    # spacing marks that Unicode wants to extend: each is the second half of a vowel sign with a decomposition
    "9BE 9D7 B3E B57 BBE BD7 CC2 CD5-CD6 D3E D57 DCF DDF 302E-302F"
)
_SYMBOLS = _points("A9 AE 203C 2049 2122 2139 3030 303D 3297 3299")
_VIRAMA = _points("94D 9CD ACD B4D C4D D4D")
_CONJOINING = (
    "DEVANAGARI LETTER", "BENGALI LETTER", "GUJARATI LETTER", "ORIYA LETTER", "TELUGU LETTER", "MALAYALAM LETTER",
)  # fmt: skip


def _cluster_class(code: int) -> str:
    """The letter for the class of a code point (see ``_CLUSTER``)."""
    char = chr(code)
    category = unicodedata.category(char)
    if char in "\r\n":
        return "Y" if char == "\r" else "J"
    if 0x1100 <= code <= 0x115F or 0xA960 <= code <= 0xA97C:
        return "L"
    if 0x1160 <= code <= 0x11A7 or 0xD7B0 <= code <= 0xD7C6:
        return "V"
    if 0x11A8 <= code <= 0x11FF or 0xD7CB <= code <= 0xD7FB:
        return "T"
    if 0xAC00 <= code <= 0xD7A3:
        return "H" if (code - 0xAC00) % 28 == 0 else "I"
    if code == 0x200D:
        return "Z"
    if code in _VIRAMA:
        return "N"
    if 0x1F1E6 <= code <= 0x1F1FF:
        return "R"
    if code in _PREPEND:
        return "P"
    if category in ("Mn", "Me") or code in _EXTEND:
        return "E"
    if category == "Mc" or code in (0xE33, 0xEB3):
        return "S"
    if category in ("Cc", "Cf", "Zl", "Zp"):
        return "C"
    emoji = 0x1F000 <= code <= 0x1FAFF or 0x2190 <= code <= 0x2BFF
    if code in _SYMBOLS or (emoji and category in ("So", "Sm", "Cn")):
        return "X"
    if category == "Lo" and unicodedata.name(char, "").startswith(_CONJOINING):
        # Independent vowels of the Indic scripts do not join; they stand before the consonant KA in each block.
        place = code & 0x7F
        return "O" if place < 0x15 or place in (0x60, 0x61) or 0x71 <= place <= 0x77 else "K"
    return "O"


class Classes(dict[int, str]):
    """A translation table from code points to the letters of their classes that fills itself."""

    def __init__(self, class_of: Callable[[int], str]):
        self.class_of = class_of

    def __missing__(self, code: int) -> str:
        self[code] = self.class_of(code)
        return self[code]


_cluster_classes = Classes(_cluster_class)
_CLUSTER = re.compile(
    r"""YJ | [CYJ]                             # control characters stand alone, but for CR LF
    | P* (?: RR                                # a flag
           | L* (?: HV* | I | V+ ) T* | L+ | T+ # a Hangul syllable
           | X (?: E* Z X )*                   # an emoji sequence
           | K (?: [ENZ]* N [ENZ]* K )*        # an Indic conjunct
           | [^CPYJ]
         ) [ENZS]*
    | P+ [ENZS]*
    """,
    re.VERBOSE,
)


def clusters(text: str) -> list[str]:
    """The extended grapheme clusters of a text.

    >>> len(clusters("e\\u0301a")), len(clusters("\\U0001F468\\u200D\\U0001F469\\u200D\\U0001F467"))
    (2, 1)
    """
    if text.isascii() and "\r" not in text:
        return list(text)
    return [text[m.start() : m.end()] for m in _CLUSTER.finditer(text.translate(_cluster_classes))]


def letters_of(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The code points of texts, int32, one after the other, and where each begins."""
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.int32)
    return codes, starts_of(map(len, texts))
