"""Compiled code of word classes: ``exchange``."""
