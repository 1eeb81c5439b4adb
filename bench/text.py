"""Reading text: how fast it becomes integers, beside ``str.split`` and a dict.

All sides read WikiText-2, warm, in processes of their own. ``prepare`` splits the same text into sentences and tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harness import Call, Cell, Claim, typical

PEER = "str.split and a dict"


def cells(data: Path) -> Iterator[Cell]:
    """The one comparison."""
    text = data / "wikitext2" / "train.txt"
    sides = [
        Call("read_text", "bench.text:encode", {"text": str(text)}),
        Call("read_text(vocab=...)", "bench.text:encode_with_vocab", {"text": str(text)}),
        Call("read_text(units='characters')", "bench.text:encode", {"text": str(text), "units": "characters"}),
        Call("prepare", "bench.text:prepare", {"text": str(text)}),
        Call(PEER, "bench.text:encode_with_dict", {"text": str(text)}),
    ]
    yield Cell("encode", "Reading WikiText-2 into integers", tuple(sides), peer=PEER, inputs=(text,))


def claims(results: dict[str, Any]) -> list[Claim]:
    """What these figures must show."""
    encoded = results["encode"]
    speed = typical(encoded, "read_text", "tokens") / typical(encoded, "read_text") / 1e6
    return [Claim("million tokens a second from text to integers", "10", f"{speed:.1f}", speed >= 10)]


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    return (
        "### Notes\n\n- Only what counts is timed, in a fresh process with warm kernels; peak memory is that of the "
        "whole process."
    )


def encode(timer, text: str, units: str = "words") -> dict[str, float]:
    """The compiled scanner, warm."""
    from corpuscle.text import FIRST, read_text

    read_text(text, units=units)
    with timer:
        corpus = read_text(text, units=units)
    return {"tokens": corpus.n_tokens, "types": len(corpus.vocab) - FIRST}


def encode_with_vocab(timer, text: str) -> dict[str, float]:
    """The compiled scanner with types that are known already, warm."""
    from corpuscle.text import FIRST, read_text

    vocab = read_text(text).vocab
    read_text(text, vocab=vocab)
    with timer:
        corpus = read_text(text, vocab=vocab)
    return {"tokens": corpus.n_tokens, "types": len(vocab) - FIRST}


def prepare(timer, text: str) -> dict[str, float]:
    """From running text to sentences and tokens."""
    from corpuscle import text as task

    raw = Path(text).read_text(encoding="utf-8")
    task.prepare(raw[:10_000])
    with timer:
        task.prepare(raw)
    return {}


def encode_with_dict(timer, text: str) -> dict[str, float]:
    """What one would write in plain Python."""
    import numpy as np

    with timer:
        ids: dict[str, int] = {}
        tokens, lengths = [], []
        with open(text, encoding="utf-8") as file:
            for line in file:
                words = line.split()
                tokens += [ids.setdefault(word, len(ids)) for word in words]
                lengths.append(len(words))
        np.array(tokens, np.int32)
    return {"tokens": len(tokens), "types": len(ids)}
