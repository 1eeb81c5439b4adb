"""The settings of taggers."""

from __future__ import annotations

from corpuscle.settings import Parallel, Seeded, setting


class TaggerSettings(Seeded, Parallel):
    """Settings of taggers."""

    passes: int = setting("Passes over the training sentences.", default=5, low=1, high=1000)
    rate: float = setting("How far one word may move the weights.", default=0.05, above=0.0)
    closed: int = setting("Words with N or more tokens have only the tags they were seen with.", default=20, low=1)
    hash_bits: int = setting("The weights stand in a table of 2^N.", default=22, low=10, high=28)
