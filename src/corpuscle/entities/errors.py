"""What a tagger got wrong, mention by mention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corpuscle.text.files import AnyPath
from corpuscle.text.standoff import Mention, Standoff
from corpuscle.text.tables import write_table

__all__ = ["faults", "write_errors"]

KINDS = ("missed", "false", "boundaries", "type")
_CONTEXT = 40


def faults(gold: Standoff, found: Standoff) -> Iterator[tuple[str, Mention, Mention | None]]:
    """Every wrong mention of a document and what is wrong with it: ``missed`` (a gold one that nothing touches),
    ``false`` (a found one that touches nothing), ``boundaries`` or ``type``, with the found one beside the gold one."""
    right = {(mention.type, mention.spans) for mention in gold.mentions}
    got = {(mention.type, mention.spans) for mention in found.mentions}
    left = [mention for mention in found.mentions if (mention.type, mention.spans) not in right]
    for mention in gold.mentions:
        if (mention.type, mention.spans) in got:
            continue
        near = next((other for other in left if other.spans == mention.spans), None)
        near = near or next((other for other in left if _touch(mention, other)), None)
        if near is None:
            yield "missed", mention, None
            continue
        left.remove(near)
        yield "type" if near.type != mention.type else "boundaries", mention, near
    for mention in left:
        yield "false", mention, None


def _touch(one: Mention, other: Mention) -> bool:
    return any(a < d and c < b for a, b in one.spans for c, d in other.spans)


def write_errors(gold: Sequence[Standoff], found: Sequence[Standoff], path: AnyPath) -> None:
    """Write all wrong mentions as a table."""

    def rows() -> Iterator[list[str]]:
        for right, guess in zip(gold, found, strict=True):
            for kind, mention, near in faults(right, guess):
                begin, end = mention.spans[0][0], mention.spans[-1][1]
                around = right.text[max(0, begin - _CONTEXT) : end + _CONTEXT]
                beside = "" if near is None else f"{near.type}: {right.covered(near, ' ... ')}"
                cells = (right.name, kind, f"{mention.type}: {right.covered(mention, ' ... ')}", beside, around)
                yield [" ".join(cell.split()) for cell in cells]

    write_table(path, ("document", "error", "mention", "found", "text"), rows())
