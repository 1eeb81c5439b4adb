"""Names of languages and scripts, for headings: what a suffix such as ``hi`` stands for, what a text is written in."""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import lru_cache

__all__ = ["LANGUAGES", "code_of", "language_name", "script_of", "script_of_letter"]

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
