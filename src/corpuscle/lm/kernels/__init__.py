"""Compiled code of language models: ``loglinear``."""
