"""The settings of word classes."""

from __future__ import annotations

from corpuscle.settings import Parallel, Seeded, setting
from corpuscle.text.settings import TextSettings

__all__ = ["STARTS", "ExchangeSettings"]

STARTS = ("best", "frequent", "cyclic", "random")


class ExchangeSettings(TextSettings, Seeded, Parallel):
    """Settings of the exchange algorithm."""

    classes: int = setting("How many classes.", default=100, low=1)
    passes: int = setting("At most so many passes over the words.", default=15, low=0)
    min_count: int = setting("Rarer words are one type, the unknown word.", default=1, low=1)
    max_types: int | None = setting("Keep only so many of the most frequent words.", default=None, low=1)
    start: str = setting("Where words are at first; best tries frequent and cyclic.", default="best", choices=STARTS)
