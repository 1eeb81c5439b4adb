"""N-grams: counted, merged, smoothed and looked up, all over one trie in flat arrays.

- ``trie``: the rows of a text's n-grams; back-off models over them: look-up, scores, ``step`` for decoders;
- ``counting``, ``merging``: the n-grams of a text, and of several texts together;
- ``smoothing``: adjusted counts, discounts and the Kneser-Ney family;
- ``ensemble``, ``layers``: low rank orders in between, and what they give to unseen n-grams.
"""
