"""Compiled code that only grammars need."""
