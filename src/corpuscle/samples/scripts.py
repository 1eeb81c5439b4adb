"""Two scripts: rules that spell sounds with letters, and read letters as sounds again.

A script maps one or two phonemes to a grapheme of one or two letters; a grapheme may depend on the sounds beside it
(as Greek writes another sigma at the end of a word). Every grapheme stands for one thing only, so that reading, which
takes the longest grapheme that fits, inverts spelling; where two graphemes side by side would be misread, a separator
is written between them. ``read(spell(sounds)) == sounds`` for every string of sounds. Names have exceptions to the
rules, see ``corpuscle.samples.names``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from corpuscle.random import Random
from corpuscle.samples.sounds import BACK, CONSONANTS, FRONT, VOWELS

Spelling = tuple[frozenset[str] | None, frozenset[str] | None, str]
"""The sounds before, the sounds after (None: any; ``#`` is the edge of the word), and the grapheme."""

_EDGE = frozenset("#")


class Script:
    """A way to write sounds.

    ``rules`` gives for one or two phonemes a list of spellings, of which the first that fits is written.

    >>> greek = SCRIPTS["greek"]
    >>> greek.spell("saksos"), greek.read("σαξος")
    ('σαξος', 'saksos')
    """

    def __init__(self, name: str, rules: Mapping[str, list[Spelling]], separator: str, cased: bool = True):
        self.name = name
        self.rules = rules
        self.separator = separator
        self.cased = cased
        self.sounds: dict[str, str] = {}
        for sounds, spellings in rules.items():
            for _, _, grapheme in spellings:
                if self.sounds.setdefault(grapheme, sounds) != sounds:
                    raise ValueError(f"{grapheme} stands for both {self.sounds[grapheme]} and {sounds}")

    def __repr__(self) -> str:
        return f"Script({self.name!r})"

    @cached_property
    def longest(self) -> int:
        """The letters of the longest grapheme."""
        return max(map(len, self.sounds))

    def graphemes(self, sounds: str) -> list[str]:
        """The graphemes of a word, without separators."""
        result, i = [], 0
        while i < len(sounds):
            unit = sounds[i : i + 2]
            if unit not in self.rules:
                unit = sounds[i]
            before = sounds[i - 1] if i else "#"
            after = sounds[i + len(unit)] if i + len(unit) < len(sounds) else "#"
            for left, right, grapheme in self.rules[unit]:
                if (left is None or before in left) and (right is None or after in right):
                    result.append(grapheme)
                    break
            i += len(unit)
        return result

    def spell(self, sounds: str) -> str:
        """The letters of a word."""
        return self.assemble(self.graphemes(sounds))

    def assemble(self, graphemes: list[str]) -> str:
        """Graphemes as one word, with separators where a reader would go wrong."""
        letters, previous = "", ""
        for grapheme in graphemes:
            if previous and self._first(previous + grapheme) != previous:
                letters += self.separator
            letters += grapheme
            previous = grapheme
        return letters

    def _first(self, letters: str) -> str:
        for length in range(min(self.longest, len(letters)), 0, -1):
            if letters[:length] in self.sounds:
                return letters[:length]
        raise ValueError(f"{letters[0]!r} is no letter of the {self.name} script")

    def read(self, letters: str) -> str:
        """The sounds of a regularly spelled word; upper case is read as lower case."""
        letters = letters.lower() if self.cased else letters
        sounds, i = "", 0
        while i < len(letters):
            if letters.startswith(self.separator, i):
                i += len(self.separator)
                continue
            grapheme = self._first(letters[i:])
            sounds += self.sounds[grapheme]
            i += len(grapheme)
        return sounds

    def capitalise(self, word: str) -> str:
        """The word with a first capital, if the script has capitals."""
        return word[0].upper() + word[1:] if self.cased else word


def _plain(table: str) -> dict[str, list[Spelling]]:
    """Rules without context from text such as ``"p π b μπ"``."""
    parts = table.split()
    return {sounds: [(None, None, letters)] for sounds, letters in zip(parts[::2], parts[1::2], strict=True)}


def _initial(word_initial: str, elsewhere: str) -> list[Spelling]:
    return [(_EDGE, None, word_initial), (None, None, elsewhere)]


def _final(word_final: str, elsewhere: str) -> list[Spelling]:
    return [(None, _EDGE, word_final), (None, None, elsewhere)]


def _before(following: frozenset[str], there: str, elsewhere: str) -> list[Spelling]:
    return [(None, following, there), (None, None, elsewhere)]


SCRIPTS: dict[str, Script] = {
    "greek": Script(
        "greek",
        _plain(
            "p π b μπ t τ d δ k κ g γ m μ n ν ɲ νν ŋ γγ f φ v β z ζ ʒ ζζ x χ h θ ʦ τσ ʧ τζ ʤ δζ l λ r ρ "
            "j ϊ w ϋ a α e ε i ι u ου y υ ø οι ɨ η ps ψ ks ξ"
        )
        | {"s": _final("ς", "σ"), "ʃ": _final("σς", "σσ"), "o": _final("ω", "ο")},
        separator="’",
    ),
    "cyrillic": Script(
        "cyrillic",
        _plain(
            "p п b б t т d д k к g г m м n н ɲ њ ŋ ң f ф v в s с z з ʃ ш ʒ ж x х h һ ʦ ц ʧ ч ʤ џ l л r р j й "
            "w ў a а e э i и o о u у y ү ø ө ɨ ы ja я ju ю je е jo ё"
        ),
        separator="ъ",
    ),
    "georgian": Script(
        "georgian",
        _plain(
            "p პ b ბ d დ g გ m მ n ნ ɲ ყ ŋ ღ f ფ v ვ s ს z ზ ʃ შ ʒ ჟ x ხ h ჰ ʦ ც ʧ ჩ ʤ ჯ l ლ r რ j ჲ w ჳ "
            "a ა e ე i ი o ო u უ y უე ø ოე ɨ ჷ"
        )
        | {"k": _before(FRONT, "ქ", "კ"), "t": _final("თ", "ტ")},
        separator="’",
        cased=False,
    ),
    "armenian": Script(
        "armenian",
        _plain(
            "p պ b բ t տ d դ k կ g գ m մ n ն ɲ նյ ŋ ղ f ֆ v վ s ս z զ ʃ շ ʒ ժ x խ h հ ʦ ց ʧ չ ʤ ջ l լ j յ w ւ "
            "a ա i ի o օ u ու y իւ ø ոյ ɨ ը"
        )
        | {"r": _initial("ռ", "ր"), "e": _initial("է", "ե")},
        separator="’",
    ),
}


def other_script(seed: int) -> Script:
    """The second script of a seed, which its sister language is written in."""
    return SCRIPTS[Random(seed, "samples/other script").choice(sorted(SCRIPTS))]


def latin(seed: int) -> Script:
    """The Latin orthography of a seed: digraphs or diacritics, and a few habits that depend on context."""
    random = Random(seed, "samples/latin")

    def either(*options: str) -> list[Spelling]:
        return [(None, None, random.choice(options))]

    rules = _plain("p p b b t t d d g g m m n n f f v v s s z z h h l l r r w w a a i i o o u u")
    rules |= {
        "ʃ": either("sh", "š", "ş"),
        "ʧ": either("ch", "č", "ç"),
        "ʒ": either("zh", "ž"),
        "ʤ": either("dj", "ǧ"),
        "x": either("kh", "x"),
        "ŋ": either("ng", "ŋ"),
        "ɲ": either("ny", "ñ"),
        "ʦ": either("ts", "ț"),
        "j": either("y", "j"),
        "y": either("ü"),
        "ø": either("ö", "ø"),
        "ɨ": either("î", "ï"),
    }
    soft = random.uniform() < 0.6
    rules["k"] = _before(BACK | frozenset(CONSONANTS), "c", "k") if soft else [(None, None, "k")]
    rules["e"] = _final("é", "e") if random.uniform() < 0.6 else [(None, None, "e")]
    if random.uniform() < 0.4:
        rules["ks"] = [(VOWELS, VOWELS, "cz"), (None, None, "cs")]
    return Script("latin", rules, separator="'")
