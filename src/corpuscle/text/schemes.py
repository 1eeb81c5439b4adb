"""Tag schemes: spans of a sentence as one tag for each token, and back.

- ``bio`` (IOB2): ``B-X`` begins a span of type X, ``I-X`` goes on with it, ``O`` is outside;
- ``iob1``: ``B-X`` only where a span follows another of the same type without a gap, else ``I-X`` from the start;
- ``bioes``: ``E-X`` ends a span of several tokens, ``S-X`` is a span of one;
- ``bilou``: the same with ``L`` for ``E`` and ``U`` for ``S``.

A span is ``(begin, end, type)``, zero-based, end exclusive. Spans of one tagging do not overlap. The type is what
follows the first hyphen; a bare ``B`` has the empty type.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from corpuscle.errors import InputError, SettingError

__all__ = ["SCHEMES", "Span", "convert_tags", "spans_of_tags", "tags_of_spans"]

SCHEMES = ("bio", "iob1", "bioes", "bilou")

_TO_BIOES = {"L": "E", "U": "S"}
_TO_BILOU = {"E": "L", "S": "U"}

Span = tuple[int, int, str]
"""Begin, end (exclusive) and type."""


def _check_scheme(scheme: str) -> None:
    if scheme not in SCHEMES:
        raise SettingError(f"the tag scheme is one of {', '.join(SCHEMES)}, not {scheme!r}")


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
    _check_scheme(scheme)
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
    _check_scheme(scheme)
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
