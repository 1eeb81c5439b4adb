"""Compiled code of word segmentation.

- ``model``: words over letters, nested; ``lengths``: how long words are; ``state``: a whole model and its arrays;
- ``lattice``: all segmentations of a sentence at once; ``gibbs``: sampling, with steps that can be taken back;
- ``apply``: using it;
- ``boundaries``: one gap at a time, for the Dirichlet baselines, and first words by branching entropy.
"""
