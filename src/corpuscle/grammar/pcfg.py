"""The treebank PCFG: relative frequencies of rules, roots and words.

With ``horizontal`` and ``vertical`` Markovisation a symbol remembers siblings and ancestors (Johnson, "PCFG models of
linguistic tree representations", 1998; Klein and Manning, "Accurate unlexicalized parsing", 2003).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from corpuscle.grammar.base import TreebankGrammar
from corpuscle.grammar.kernels.vectors import Latent, pairs_for
from corpuscle.grammar.parsing import Directions, Serving
from corpuscle.grammar.settings import PcfgSettings
from corpuscle.grammar.tables import TABLES, check_tables
from corpuscle.model import TRAINING_ITEMS, Container, Kind
from corpuscle.text.trees import Trees

__all__ = ["Pcfg"]


class Pcfg(PcfgSettings, TreebankGrammar):
    """A treebank PCFG. Learned: ``tables_``, its counts."""

    KIND: ClassVar[Kind] = Kind("grammar.pcfg", 1, {**TRAINING_ITEMS, **TABLES}, check=check_tables)

    def fit(self, trees: Trees, dev: Trees | None = None) -> Pcfg:
        """Count a treebank."""
        self._count(trees)
        return self

    def _serving(self) -> Serving:
        tables = self.tables_
        n, most = len(tables.symbols.names), 1
        latent = Latent(
            np.ones(n, np.int64), np.arange(len(tables.counts)), tables.rules.weights, pairs_for(tables.rules, n), most
        )
        ones = Directions(np.ones((tables.lexicon.counts.nnz, most)), np.ones((len(tables.symbols.base), most)))
        return Serving(tables, latent, tables.root[:, None].copy(), ones, self._real())

    def _arrays(self) -> dict[str, np.ndarray]:
        return self.tables_.arrays()

    def _extra(self) -> dict[str, Any]:
        return self.tables_.extra()

    def _restore(self, loaded: Container) -> None:
        self._restore_tables(loaded)
