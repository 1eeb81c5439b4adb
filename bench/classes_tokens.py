"""What a tagger sees of a token, for ``classes_features``: features with weights, and tags of supersenses.

Classes of a token are features with weights: one class, the beginnings of its path, or all classes by probability.
"""

from __future__ import annotations

from collections.abc import Iterator

Weights = dict[str, float]


def prefixes(path: str) -> list[str]:
    """The path of a class, cut at 4, 6, 10 and 20 bits."""
    return [f"p{n}={path[:n]}" for n in (4, 6, 10, 20)]


def _around(i: int, width: int, n: int) -> Iterator[tuple[int, int]]:
    """Offsets of up to so many tokens, with places in a sentence."""
    return ((offset, i + offset) for offset in range(-width, width + 1) if 0 <= i + offset < n)


def classes_and_capitals(i: int, width: int, words: list[str], tags: list[str], classes: list[Weights]) -> Weights:
    """Classes and capitals of token i and of so many to either side."""
    found = {"bias": 1.0}
    for offset, at in _around(i, width, len(words)):
        found |= {f"{offset}:{each}": weight for each, weight in classes[at].items()}
        if words[at][:1].isupper():
            found[f"{offset}:capital"] = 1.0
    return found


def all_features(i: int, width: int, words: list[str], tags: list[str], classes: list[Weights]) -> Weights:
    """Words, their parts and shapes, tags, and classes."""
    word, n = words[i], len(words)
    found, of_classes = ["bias", *(["first"] if i == 0 else []), *(["last"] if i == n - 1 else [])], Weights()
    for offset, at in _around(i, width, n):
        found += [f"{offset}:w={words[at]}", f"{offset}:l={words[at].lower()}", f"{offset}:s={shape(words[at])}"]
        of_classes |= {f"{offset}:{each}": weight for each, weight in classes[at].items()}
        if tags:
            found.append(f"{offset}:t={tags[at]}")
    low = word.lower()
    found += [f"prefix={low[:k]}" for k in range(1, 5)] + [f"suffix={low[-k:]}" for k in range(1, 5)]
    found += [f"pair-={words[i - 1].lower()}|{low}"] if i else []
    found += [f"pair+={low}|{words[i + 1].lower()}"] if i + 1 < n else []
    found += ["digit"] if any(c.isdigit() for c in word) else []
    found += ["capitals"] if word.isupper() else []
    return dict.fromkeys(found, 1.0) | of_classes


def shape(word: str) -> str:
    """Capitals, small letters, digits and the rest, runs as one.

    >>> shape("McDonald's-42")
    'XxXx-x-d'
    """
    kinds = ["d" if c.isdigit() else "X" if c.isupper() else "x" if c.isalpha() else "-" for c in word]
    return "".join(kind for kind, before in zip(kinds, ["", *kinds], strict=False) if kind != before)


def spans_of_supersenses(tags: list[str]) -> list[str]:
    """BIO tags of noun and verb supersenses from lexical tags.

    >>> spans_of_supersenses(["O-N-n.FOOD", "B-V.VPC.full-v.social", "I_", "O-PRON", "I_"])
    ['B-n.FOOD', 'B-v.social', 'I-v.social', 'O', 'O']
    """
    found, inside = [], ""
    for tag in tags:
        mark, _, rest = tag.partition("-")
        sense = rest.rpartition("-")[2] if rest else ""
        if mark == "I_":
            found.append(f"I-{inside}" if inside else "O")
            continue
        known = sense.startswith(("n.", "v."))
        found.append(f"B-{sense}" if known else "O")
        inside = sense if known and mark == "B" else ""
    return found
