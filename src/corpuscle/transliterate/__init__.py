"""Transliteration: write names in another script, learned from a list of pairs.

- ``PhraseTransliterator``: phrases of letters, n-gram models, tuned weights, ranked candidates;
- ``NeuralTransliterator``: a network, or several, that write letter by letter; ``Synthetic``: names of one side;
- ``CombinedTransliterator``: the candidates of both, ranked by weighing both;
- ``LetterMap``: every letter by its most frequent counterpart, to compare with;
- ``read_names``, ``write_results``, ``read_results``: TSV and the XML of the NEWS shared tasks;
- ``reversed_pairs``: the way back; ``draw_lattice``, ``draw_attention``: pictures of how a name is written;
- ``with_case``, ``capitalised_like``: what was written with the capitals of the names.

How good candidates are is measured by ``corpuscle.measure.news_measures``.
"""

from typing import TYPE_CHECKING

from corpuscle.lazy import contents

if TYPE_CHECKING:
    from corpuscle.transliterate.base import (
        Candidate,
        Transliterator,
        read_names,
        read_results,
        result_lines,
        reversed_pairs,
        write_results,
    )
    from corpuscle.transliterate.combination import COMBINED_FEATURES, CombinedTransliterator
    from corpuscle.transliterate.links import LetterMap
    from corpuscle.transliterate.neural import NeuralTransliterator, Synthetic
    from corpuscle.transliterate.phrase import FEATURES, PhraseTransliterator, draw_lattice
    from corpuscle.transliterate.preparation import capitalised_like, with_case
    from corpuscle.transliterate.verbs import warm, warm_defaults

__all__, __getattr__, __dir__ = contents(__name__, __file__)
