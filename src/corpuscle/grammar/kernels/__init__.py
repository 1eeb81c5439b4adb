"""Compiled code of grammars: charts of vectors, and hidden states of trees that are given."""
