"""Compiled code of word segmentation.

- ``model``: words over letters, nested; ``lengths``: how long words are; ``state``: a whole model and its arrays;
- ``lattice``, ``paths``: all segmentations of a sentence at once; ``gibbs`` (over ``transactions``): sampling;
- ``apply``: using it;
- ``boundaries``: one gap at a time, for the Dirichlet baselines; ``branching``: first words by branching entropy.
"""
