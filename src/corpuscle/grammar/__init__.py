"""Grammars: constituent trees learned from treebanks, and from text that nobody has annotated.

Trees are ``corpuscle.text.Trees``; ``corpuscle.measure.bracket_scores`` compares them with gold ones.
"""

from corpuscle.lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, __file__)
