"""Spans of a sentence, and mentions that have gaps or share words, as one tag for each token, and back.

- ``bio`` (IOB2): ``B-X`` begins a span of type X, ``I-X`` goes on with it, ``O`` is outside;
- ``iob1``: ``B-X`` only where a span follows another of the same type without a gap, else ``I-X`` from the start;
- ``bioes``: ``E-X`` ends a span of several tokens, ``S-X`` is a span of one;
- ``bilou``: the same with ``L`` for ``E`` and ``U`` for ``S``.

A span is ``(begin, end, type)``, zero-based, end exclusive. Spans of one tagging do not overlap. The type is what
follows the first hyphen; a bare ``B`` has the empty type.

Mentions need more. One is *simple* if its tokens are consecutive and in no other mention; all others are *complex*.
Seven tags, each with its type behind a hyphen:

- ``B``, ``I``: words of a simple mention, as in the ``bio`` scheme;
- ``DB``, ``DI``: words of one complex mention only; ``HB``, ``HI``: words that several mentions share; ``O``: none.

A tag goes on (``I``) where the token before is in exactly the same mentions, else it begins (``B``). Back: every run of
B I is a mention; with D and H runs in a sentence each D run forms a mention with all H runs; D runs alone are one
mention (policy ``merge``), or, from four on, one for each two (``pairs``). So every tag string has an answer, and a
sentence survives the way there and back if it has at most one complex mention, or if all of them share one core and
the rest of each is a single run.

A chain of tags learns better where the last word of a simple mention has a tag of its own, as in the ``bioes`` scheme:
``with_ends`` gives it one (``E``, or ``S`` for a mention of one word), ``without_ends`` takes it away.

Parikh, Avinesh, Mustafi, Agarwalla and Mungi, "ThinkMiners: disorder recognition using conditional random fields and
distributional semantics", 2014.

>>> tags_of_mentions([TokenMention("X", (1, 2, 5))], 7).tags
('O', 'DB-X', 'DI-X', 'O', 'O', 'DB-X', 'O')
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from corpuscle.errors import InputError, SettingError

SCHEMES = ("bio", "iob1", "bioes", "bilou")

_TO_BIOES = {"L": "E", "U": "S"}
_TO_BILOU = {"E": "L", "S": "U"}

Span = tuple[int, int, str]
"""Begin, end (exclusive) and type."""


def _check(what: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise SettingError(f"the {what} is one of {', '.join(known)}, not {value!r}")


def _split(tag: str, position: int, scheme: str) -> tuple[str, str]:
    """The letter of a tag (B, I, E, S or O) and its type."""
    letter, _, type = tag.partition("-")
    if scheme == "bilou":
        letter = _TO_BIOES.get(letter, "" if letter in _TO_BILOU else letter)
    if letter == "" or letter not in ("BIOES" if scheme in ("bioes", "bilou") else "BIO") or len(letter) > 1:
        raise InputError(None, None, f"token {position + 1}: {tag[:40]!r} is not a tag of the {scheme} scheme")
    if letter == "O" and tag != "O":
        raise InputError(None, None, f"token {position + 1}: {tag[:40]!r} has a type, which 'O' must not have")
    return letter, type


def spans_of_tags(tags: Sequence[str], scheme: str = "bio", repair: bool = False) -> list[Span]:
    """The spans that the tags of one sentence stand for, from left to right.

    Tags that do not fit together (``O I-X`` in ``bio``) are an ``InputError``; with ``repair`` a tag that goes on with
    no span begins one, and a span that nothing ends is ended, as evaluation scripts have it.

    >>> spans_of_tags(["B-PER", "I-PER", "O", "B-LOC"])
    [(0, 2, 'PER'), (3, 4, 'LOC')]
    """
    _check("tag scheme", scheme, SCHEMES)
    ends_are_marked = scheme in ("bioes", "bilou")
    spans: list[Span] = []
    begin, current, open = 0, "", False
    for position, tag in enumerate([*tags, "O"]):
        letter, type = _split(tag, position, scheme)
        goes_on = open and letter in "IE" and type == current
        if open and not goes_on:
            if ends_are_marked and not repair:
                place = f"before token {position + 1}" if position < len(tags) else "at the end of the sentence"
                raise InputError(None, None, f"the span of {current[:40]!r} from token {begin + 1} has no end {place}")
            spans.append((begin, position, current))
            open = False
        if letter in "IE" and not goes_on:
            if scheme != "iob1" and not repair:
                reason = f"{tag[:40]!r} goes on with a span that is not there"
                raise InputError(None, None, f"token {position + 1}: {reason}")
            letter = "B" if letter == "I" else "S"
        if letter in "BS":
            begin, current, open = position, type, True
        if letter in "ES":
            spans.append((begin, position + 1, current))
            open = False
    return spans


def tags_of_spans(spans: Iterable[Span], length: int, scheme: str = "bio") -> list[str]:
    """The tags of a sentence of ``length`` tokens with these spans, which must not be empty or overlap.

    >>> tags_of_spans([(0, 2, "PER"), (3, 4, "LOC")], 4, "bioes")
    ['B-PER', 'E-PER', 'O', 'S-LOC']
    """
    _check("tag scheme", scheme, SCHEMES)
    tags = ["O"] * length
    last_end, last_type = 0, None
    for begin, end, type in sorted(spans):
        if not 0 <= begin < end <= length:
            raise ValueError(f"the span {begin}..{end} does not fit into {length} tokens")
        if begin < last_end:
            raise ValueError(f"the span {begin}..{end} overlaps the one before it; tags cannot say that")
        letters = ["B"] + ["I"] * (end - begin - 1)
        if scheme == "iob1" and not (begin == last_end and type == last_type):
            letters[0] = "I"
        if scheme in ("bioes", "bilou"):
            letters[-1] = "S" if end - begin == 1 else "E"
        if scheme == "bilou":
            letters = [_TO_BILOU.get(letter, letter) for letter in letters]
        tags[begin:end] = [f"{letter}-{type}" if type else letter for letter in letters]
        last_end, last_type = end, type
    return tags


def convert_tags(tags: Sequence[str], given: str, wanted: str, repair: bool = False) -> list[str]:
    """The same spans in another scheme."""
    return tags_of_spans(spans_of_tags(tags, given, repair), len(tags), wanted)


ENCODINGS = ("biodh", "bio")
POLICIES = ("merge", "pairs")
_FAMILIES = {"B": "", "I": "", "DB": "D", "DI": "D", "HB": "H", "HI": "H"}
_FEWEST_PAIRED = 4
_ENDED = {"B": "S", "I": "E"}
_NOT_ENDED = {"S": "B", "E": "I"}


class TokenMention(NamedTuple):
    """An entity in a sentence: its type and its tokens, from 0, in rising order."""

    type: str
    tokens: tuple[int, ...]

    @property
    def runs(self) -> list[tuple[int, int]]:
        """The pieces of consecutive tokens: first and last."""
        pieces: list[tuple[int, int]] = []
        for token in self.tokens:
            if pieces and pieces[-1][1] == token - 1:
                pieces[-1] = (pieces[-1][0], token)
            else:
                pieces.append((token, token))
        return pieces


class Encoded(NamedTuple):
    """The tags of a sentence, and the mentions that had to be left out because tags cannot say them."""

    tags: tuple[str, ...]
    lost: tuple[TokenMention, ...]


def _by_type(mentions: Iterable[TokenMention]) -> tuple[dict[str, list[TokenMention]], list[TokenMention]]:
    """Distinct mentions by type, and those that were left out: where two types claim a word, the longer mention
    stays (of equally long ones, the one that begins first)."""
    owner: dict[int, str] = {}
    kept: dict[str, list[TokenMention]] = defaultdict(list)
    lost = []
    for mention in sorted(set(mentions), key=lambda each: (-len(each.tokens), each.tokens, each.type)):
        if any(owner.get(token, mention.type) != mention.type for token in mention.tokens):
            lost.append(mention)
            continue
        owner |= dict.fromkeys(mention.tokens, mention.type)
        kept[mention.type].append(mention)
    return kept, lost


def tags_of_mentions(mentions: Iterable[TokenMention], length: int, encoding: str = "biodh") -> Encoded:
    """The tags of a sentence of ``length`` tokens. With the encoding ``bio`` complex mentions are left out."""
    _check("encoding", encoding, ENCODINGS)
    kept, lost = _by_type(mentions)
    tags = ["O"] * length
    for type, several in kept.items():
        if any(not mention.tokens or mention.tokens[0] < 0 or mention.tokens[-1] >= length for mention in several):
            raise ValueError(f"a mention does not fit into {length} tokens")
        covering: list[frozenset[int]] = [frozenset()] * length
        for number, mention in enumerate(several):
            for token in mention.tokens:
                covering[token] |= {number}
        simple = [len(each.runs) == 1 and all(len(covering[token]) == 1 for token in each.tokens) for each in several]
        if encoding == "bio":
            lost += [mention for mention, is_simple in zip(several, simple, strict=True) if not is_simple]
        for token, cover in enumerate(covering):
            alone = all(simple[number] for number in cover)
            if cover and (alone or encoding != "bio"):
                family = "H" if len(cover) > 1 else "" if alone else "D"
                place = "I" if token and covering[token - 1] == cover else "B"
                tags[token] = family + place + (f"-{type}" if type else "")
    return Encoded(tuple(tags), tuple(lost))


def mentions_of_tags(tags: Sequence[str], policy: str = "merge") -> list[TokenMention]:
    """The mentions that the tags of one sentence stand for, by their first tokens; every string of tags has some."""
    _check("policy", policy, POLICIES)
    runs: dict[tuple[str, str], list[list[int]]] = defaultdict(list)
    before: tuple[str, str] | None = None
    for position, tag in enumerate(tags):
        name, _, type = tag.partition("-")
        if tag == "O":
            before = None
            continue
        if name not in _FAMILIES:
            raise InputError(None, None, f"token {position + 1}: {tag[:40]!r} is not a tag of this scheme")
        here = type, _FAMILIES[name]
        if name.endswith("B") or here != before:
            runs[here].append([])
        runs[here][-1].append(position)
        before = here
    found: list[TokenMention] = []
    for type in sorted({type for type, _ in runs}):
        found += [TokenMention(type, tuple(run)) for run in runs.get((type, ""), ())]
        own = runs.get((type, "D"), [])
        shared = [token for run in runs.get((type, "H"), ()) for token in run]
        for group in _groups(own, bool(shared), policy):
            found.append(TokenMention(type, tuple(sorted([*group, *shared]))))
    return sorted(set(found), key=lambda mention: (mention.tokens, mention.type))


def with_ends(tags: Sequence[str]) -> list[str]:
    """The tags of a sentence, with those of the last words of simple mentions marked.

    >>> with_ends(["B-X", "I-X", "B-X", "O", "DB-X"])
    ['B-X', 'E-X', 'S-X', 'O', 'DB-X']
    """
    marked = []
    for tag, after in zip(tags, [*tags[1:], "O"], strict=True):
        name, hyphen, type = tag.partition("-")
        goes_on = after == f"I{hyphen}{type}"
        marked.append(tag if goes_on or name not in _ENDED else f"{_ENDED[name]}{hyphen}{type}")
    return marked


def without_ends(tag: str) -> str:
    """A tag without the mark of a last word."""
    name, hyphen, type = tag.partition("-")
    return f"{_NOT_ENDED.get(name, name)}{hyphen}{type}"


def _groups(own: list[list[int]], shared: bool, policy: str) -> list[list[int]]:
    """Which runs of own words form a mention together."""
    if shared:
        return own or [[]]
    if not own:
        return []
    if policy == "merge" or len(own) < _FEWEST_PAIRED:
        return [[token for run in own for token in run]]
    pairs = [own[i] + own[i + 1] for i in range(0, len(own) - 1, 2)]
    if len(own) % 2:
        pairs[-1] = pairs[-1] + own[-1]
    return pairs
