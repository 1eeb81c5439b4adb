"""Compiled code of reading text: ``scan`` (bytes to tokens), ``fingerprints`` (hashes of items)."""
