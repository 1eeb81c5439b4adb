"""Compiled code of entity taggers: features, conditional random fields, dictionary look-up."""
