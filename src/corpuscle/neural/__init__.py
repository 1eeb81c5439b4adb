"""Neural sequence-to-sequence models of short strings: weights as named arrays, trained with PyTorch, applied without.

- ``Weights``, ``shapes``: what a model consists of; ``PRESETS``, ``Architecture``: how large it is;
- ``encode``, ``start``, ``step``: the forward pass in plain NumPy, to which everything faster is compared;
- ``Decoder``: beam search, compiled, with ``DecodingSettings``; its ``Hypothesis`` and ``Report``; ``Shortlist``;
- ``draw_attention``: where a model looks while it writes;
- ``write_onnx``: models for programs in other languages; ``corpuscle.neural.gpu``: a kernel for graphics processors;
- ``fused_topk``, ``fused_argmax``: the most probable classes of an output layer in one pass over its scores.
"""

from typing import TYPE_CHECKING

from corpuscle.lazy import contents

if TYPE_CHECKING:
    from corpuscle.neural.base import draw_attention
    from corpuscle.neural.decoder import Decoder, Hypothesis, Report
    from corpuscle.neural.kernels.search import fused_argmax, fused_topk
    from corpuscle.neural.onnx_export import write_onnx
    from corpuscle.neural.output import Shortlist
    from corpuscle.neural.reference import Weights, encode, shapes, start, step
    from corpuscle.neural.settings import PRESETS, Architecture, DecodingSettings

__all__, __getattr__, __dir__ = contents(__name__, __file__)
