"""``python -m bench.encode TEXT``: how fast text becomes integers, beside ``str.split`` and a dict.

The sides take turns in one process, warm; figures are medians in tokens a second, ratios are taken within each turn.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from corpuscle.text import prepare, read_text


def with_dict(path: str) -> None:
    """What a user would write: one id for each token, one start for each line."""
    ids: dict[str, int] = {}
    tokens, starts = [], [0]
    for line in Path(path).read_text(encoding="utf-8").split("\n"):
        tokens += [ids.setdefault(word, len(ids)) for word in line.split()]
        starts.append(len(tokens))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", help="one sentence a line, tokens between spaces")
    parser.add_argument("--repeats", type=int, default=7)
    given = parser.parse_args()
    corpus = read_text(given.text)
    raw = Path(given.text).read_text(encoding="utf-8")
    sides: dict[str, Callable[[], object]] = {
        "str.split and a dict": lambda: with_dict(given.text),
        "read_text": lambda: read_text(given.text),
        "read_text(vocab=...)": lambda: read_text(given.text, vocab=corpus.vocab),
        "read_text(units='characters')": lambda: read_text(given.text, units="characters"),
        "prepare": lambda: prepare(raw),
    }
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(given.repeats):
        for name, side in sides.items():
            begin = time.perf_counter()
            side()
            seconds[name].append(time.perf_counter() - begin)
    reference = seconds["str.split and a dict"]
    print(f"{corpus.n_tokens:,} words; million words a second, and how many times the dict's speed")
    for name, times in seconds.items():
        ratio = median(theirs / ours for theirs, ours in zip(reference, times, strict=True))
        print(f"{name:<32}{corpus.n_tokens / median(times) / 1e6:8.2f}{ratio:8.2f}")


if __name__ == "__main__":
    main()
