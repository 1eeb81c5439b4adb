"""What there is to look at in a transliterator: where an answer and the right one part."""

from __future__ import annotations

from corpuscle.text.scripts import clusters


def difference(found: str, wanted: str) -> tuple[str, str]:
    """What is left of two strings without the grapheme clusters that they have in common at the beginning and end.

    >>> difference("karan", "kiran")
    ('a', 'i')
    """
    a, b = list(clusters(found)), list(clusters(wanted))
    while a and b and a[0] == b[0]:
        del a[0], b[0]
    while a and b and a[-1] == b[-1]:
        del a[-1], b[-1]
    return "".join(a), "".join(b)
