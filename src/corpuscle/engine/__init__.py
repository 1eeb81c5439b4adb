"""The mathematics that several tasks share, compiled: arrays in, arrays out; no files, no strings.

- ``dp``: dynamic programs; ``ngrams``: counting and smoothing; ``restaurants``: hierarchical Pitman-Yor processes;
- ``optim``: finding weights.

What only one task needs is in the ``kernels`` of that task.
"""
