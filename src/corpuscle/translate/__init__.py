"""Translation of short sentences: a draft to correct, learned from a few thousand sentence pairs and more.

- ``PhraseTranslator``: phrases of words, an n-gram model, weights tuned on BLEU; phrases may change places a little;
- ``NeuralTranslator``: networks that write the pieces of words one by one (see ``corpuscle.neural``);
- ``Translation``: a translation and its score.

How good translations are is measured by ``corpuscle.measure.bleu``.
"""

from typing import TYPE_CHECKING

from corpuscle.lazy import contents

if TYPE_CHECKING:
    from corpuscle.translate.base import Translation
    from corpuscle.translate.neural import NeuralTranslator
    from corpuscle.translate.phrase import FEATURES, PhraseTranslator
    from corpuscle.translate.verbs import warm, warm_defaults

__all__, __getattr__, __dir__ = contents(__name__, __file__)
