"""Rewriting a sequence phrase by phrase: words in translation, letters in transliteration.

``extraction`` (phrase pairs from links, their lexical weights, a trie of phrases), ``gaps`` (phrase pairs with gaps:
hierarchical rules), ``stacks`` (what a decoder keeps of its hypotheses while it searches).
"""
