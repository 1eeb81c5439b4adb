"""Compiled code of transliteration: ``joint`` (monotone alignment by EM), ``phrases`` (phrase pairs from links),
``windows`` (pieces in their context), ``stacks`` and ``monotone`` (the decoder)."""
