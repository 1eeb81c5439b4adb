"""The mathematics that several tasks share, compiled: arrays in, arrays out; no files, no strings.

- ``dp``: dynamic programs; ``ngrams``: counting and smoothing; ``restaurants``: hierarchical Pitman-Yor processes;
- ``linalg``: large sparse matrices; ``phrase_extraction``, ``phrase_decoding``: phrase pairs, and decoders with them;
- ``mert`` (minimum error rate by exact line search) and ``likelihood`` (the weights under which right candidates are
  likely): weights of ranked candidates;
- ``hashtable`` (numbered items found by 64-bit keys) and ``heap`` (the best first).

What only one task needs is in the ``kernels`` of that task.
"""
