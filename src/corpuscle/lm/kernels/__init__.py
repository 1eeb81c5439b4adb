"""Compiled code of language models: ``arpa`` (numbers and rows of ARPA files), ``loglinear`` (loss and gradient)."""
