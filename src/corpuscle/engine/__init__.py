"""The mathematics, compiled: arrays in, arrays out; no files, no strings.

One file a subject:

- ``ngrams``: all n-grams of a text as one trie; back-off tables, look-up, ``step`` for decoders;
- ``smoothing``: adjusted counts, discounts and the Kneser-Ney family;
- ``exchange``: word classes by exchange.
"""
