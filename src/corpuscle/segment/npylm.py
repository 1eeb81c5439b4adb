"""Word segmentation without a dictionary, by a nested Pitman-Yor language model (Mochihashi, Yamada and Ueda, "Bayesian
unsupervised word segmentation with nested Pitman-Yor language modeling", 2009).

A word n-gram model whose unknown words are spelled by a letter n-gram model, both nonparametric, is learned from text
without word boundaries by sampling the words of one sentence after the other, each given all others.
"""

from __future__ import annotations

from typing import ClassVar

from corpuscle.model import Kind
from corpuscle.segment.base import Segmenter
from corpuscle.segment.chain import Chain, Material
from corpuscle.segment.files import check_model, model_arrays
from corpuscle.segment.settings import NestedSettings

__all__ = ["NestedSegmenter"]


class NestedSegmenter(NestedSettings, Segmenter):
    """A segmenter whose words are spelled by a model of letters."""

    KIND: ClassVar[Kind] = Kind(
        "segment.npylm", 1, model_arrays, check=lambda loaded: check_model(NestedSegmenter.from_container(loaded))
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.method = "npylm"

    def _chain(self, material: Material, seed: int) -> Chain:
        return Chain(material, {**self.settings, "max_word": self.max_word_}, seed)

    def history_columns(self) -> list[str]:
        """The names of the columns of ``history_``."""
        return Chain.columns(self.order, self.max_context)
