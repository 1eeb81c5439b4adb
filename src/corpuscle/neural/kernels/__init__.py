"""Neural networks without a framework, compiled: what stands between matrix products, and the search over their output.

- ``search``: bias, softmax and the k best classes in one pass (``fused_topk``, ``fused_argmax``); a step of beam
  search;
- ``cells``: gates of recurrent cells, layer normalisation, attention;
- ``gradients``: the same with the way back, for training;
- ``products``: matrices in single precision and in 8 bits.
"""
