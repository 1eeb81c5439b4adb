"""Compiled code of transliteration: ``joint`` (monotone alignment by EM, links repaired, names cut into pieces),
``windows`` (pieces in their context), ``monotone`` (the decoder)."""
