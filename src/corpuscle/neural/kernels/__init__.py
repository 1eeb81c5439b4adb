"""Neural networks without a framework, compiled: what stands between matrix products, and the search over their output.

- ``softmax``: bias, softmax and the k best classes in one pass (``fused_topk``, ``fused_argmax``), by shards;
- ``beam``: a step of beam search over many sentences, hypotheses that have ended leave;
- ``cells``: gates of recurrent cells, layer normalisation, attention; ``exponential``: what they are made of;
- ``gradients``: the same with the way back, for training;
- ``products``: matrices in single precision and in 8 bits.
"""
