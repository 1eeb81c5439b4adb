"""Compiled code of evaluation: ``resampling`` (bootstrap), ``overlaps`` (common n-grams and subsequences)."""
