"""N-grams: counted, smoothed and looked up, all over one trie in flat arrays.

- ``trie``: the rows of a text's n-grams; back-off models over them: look-up, scores, ``step`` for decoders, and what
  low rank orders in between give to unseen n-grams;
- ``counting``: the n-grams of a text;
- ``smoothing``: adjusted counts, discounts and the Kneser-Ney family.
"""
