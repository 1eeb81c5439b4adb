"""What kind of text a file holds: running text, whose punctuation is attached to words, or sentences of tokens; with
spaces or without; and what a line end is."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from corpuscle.text.running import prepare

ATTACHED = 0.5  # text with at least this share of its punctuation attached to words is running text
SAMPLE = 100_000  # characters of a file that tell its script and its punctuation
_FEWEST_MARKS, _FEWEST_SPACES = 10, 0.02
_WITHIN = "-‐‑'’ʼ·._@/:&"


def _is_mark(c: str) -> bool:
    return unicodedata.category(c)[0] == "P" and c not in _WITHIN


def attached_punctuation(text: str) -> tuple[float, int]:
    """Which share of the punctuation that could stand alone is attached to a word, and how many such marks there
    are."""
    attached = alone = 0
    for token in text.split():
        if all(map(_is_mark, token)):
            alone += 1
        elif _is_mark(token[-1]) or (token[-1] == "." and len(token) > 2) or _is_mark(token[0]):
            attached += 1
        elif token == ".":
            alone += 1
    return attached / max(1, attached + alone), attached + alone


def is_unspaced(text: str) -> bool:
    some = text[:SAMPLE]
    return sum(map(some.count, " \t\u3000")) < _FEWEST_SPACES * max(1, len(some))


def is_running(text: str) -> bool:
    share, marks = attached_punctuation(text[:SAMPLE])
    return marks >= _FEWEST_MARKS and share >= ATTACHED and not is_unspaced(text)


def _ends_sentence(line: str) -> bool:
    last = line.rstrip().rstrip("\"'”’»)]】」』")[-1:]
    return bool(last) and unicodedata.category(last) == "Po" and last not in ",;:،、"


def line_breaks_of(text: str) -> str:
    """What a line end is in running text: ``sentence`` where lines end as sentences do or are of very different
    lengths, ``space`` where sentences go on in the next line."""
    lines = [line for line in text[:SAMPLE].split("\n") if line.strip()]
    if not lines or sum(map(_ends_sentence, lines)) >= 0.5 * len(lines):
        return "sentence"
    lengths = np.array([len(line) for line in lines])
    wrapped = len(lines) > 3 and np.percentile(lengths, 75) > 40 and lengths.max() < 1.6 * np.percentile(lengths, 75)
    return "space" if wrapped else "sentence"


def several_sentences(text: str) -> bool:
    """Whether lines of text without spaces hold more than one sentence."""
    lines = [line.strip() for line in text[:SAMPLE].split("\n") if line.strip()]
    inner = sum(sum(c in "。！？．" for c in line[:-1]) for line in lines)
    return inner > 0.5 * len(lines)


def tokenised_lines(lines: Sequence[str]) -> list[str]:
    """Lines with their punctuation split off, a line for each line."""
    text = "\n".join(line.replace("\n", " ") for line in lines)
    offsets = prepare(text, line_breaks="sentence").offsets
    begins = np.cumsum([0, *(len(line) + 1 for line in lines)])
    bounds = np.searchsorted(offsets[:, 0], begins) if len(offsets) else np.zeros(len(begins), int)
    edges = offsets.tolist()
    return [" ".join(text[x:y] for x, y in edges[a:b]) for a, b in pairwise(bounds.tolist())]
