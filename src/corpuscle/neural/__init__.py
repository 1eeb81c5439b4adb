"""Neural sequence-to-sequence models of short strings: weights as named arrays, trained with PyTorch, applied without.

- ``Weights``, ``shapes``: what a model consists of; ``PRESETS``, ``Architecture``: how large it is;
- ``encode``, ``start``, ``step``: the forward pass in plain NumPy, to which everything faster is compared.
"""

from typing import TYPE_CHECKING

from corpuscle.lazy import contents

if TYPE_CHECKING:
    from corpuscle.neural.reference import encode, start, step
    from corpuscle.neural.settings import PRESETS, Architecture
    from corpuscle.neural.weights import Weights, shapes

__all__, __getattr__, __dir__ = contents(__name__, __file__)
