"""Compiled parts: the index of words by deletions, similarities and the noisy channel, scores in context."""
