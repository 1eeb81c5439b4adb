"""The mathematics, compiled: arrays in, arrays out; no files, no strings.

One file a subject:

- ``ngrams``: all n-grams of a text as one trie, back-off models over it: look-up, scores, ``step`` for decoders;
- ``counting``, ``merging``: the n-grams of a text, and of several texts together;
- ``smoothing``: adjusted counts, discounts and the Kneser-Ney family;
- ``exchange``: word classes by exchange;
- ``restaurants``, ``variable``: hierarchical Pitman-Yor processes of fixed and variable depth, over the arrays of
  ``pool``; ``seating``: their parameters and soundness; ``gibbs``: sweeps over a text; ``contexts``: prediction.
"""
