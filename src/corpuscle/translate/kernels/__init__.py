"""Compiled code of translation: ``reordering``, the phrase decoder whose phrases may change places."""
