"""Word alignment: which words of a sentence translate which words of its translation, learned from sentence pairs.

- ``Model1``, ``Diagonal``, ``HMM``, ``Fertility``, ``LogLinear``: the methods, each of them an ``Aligner``;
- ``learner``: one of them by name; ``align_pairs``: links of a bitext in one call;
- ``n_best``: the most probable alignments of one direction; ``symmetrise``: one alignment from those of two directions;
- ``build_table``, ``build_rules``: phrase tables and hierarchical rules from links; ``merged_links``: several of them;
- ``read_features``: a table of features for ``LogLinear``.
"""

from typing import TYPE_CHECKING

from corpuscle.lazy import contents

if TYPE_CHECKING:
    from corpuscle.align.base import (
        DEFAULT_METHOD,
        METHODS,
        Aligner,
        MatrixFile,
        align_pairs,
        learner,
        n_best,
        symmetrise,
    )
    from corpuscle.align.em_models import HMM, Diagonal, Model1
    from corpuscle.align.features import read_features
    from corpuscle.align.fertility import Fertility
    from corpuscle.align.loglinear import LogLinear
    from corpuscle.align.phrases import (
        FEATURES,
        PhraseTable,
        RuleTable,
        build_rules,
        build_table,
        lexical_weights,
        merged_links,
        write_table,
    )
    from corpuscle.align.settings import DECODINGS, DEFAULT_SYMMETRISATION, MATRICES, SYMMETRISATIONS
    from corpuscle.align.verbs import warm, warm_defaults

__all__, __getattr__, __dir__ = contents(__name__, __file__)
