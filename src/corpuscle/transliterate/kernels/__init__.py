"""Compiled code of transliteration: ``joint`` (monotone alignment by EM), ``pieces`` (links
repaired, names cut into pieces),
``windows`` (pieces in their context), ``forward`` and ``monotone`` (the decoder)."""
