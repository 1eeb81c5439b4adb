"""What can be asked over the web: one table of verbs, filled task by task.

- ``table``: the record of a verb, its inputs, the table itself;
- ``texts``, ``letters``, ``trees``, ``constituents``, ``pairs``, ``words``: the verbs;
- ``doubts``: what models are least sure of, for annotators.
"""

from corpuscle.web.verbs import constituents, doubts, letters, pairs, texts, trees, words
from corpuscle.web.verbs.table import VERBS, Verb, verbs_of

__all__ = ["VERBS", "Verb", "verbs_of"]
