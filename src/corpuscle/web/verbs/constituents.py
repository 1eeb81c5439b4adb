"""Verbs about constituents: the trees of sentences by a grammar, learned from trees or without any."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from corpuscle.errors import SettingError
from corpuscle.web.verbs.table import Lines, bank_of, verb

__all__ = ["parse"]


@verb("grammar", Lines, beside="tag", text="a b c")
def parse(model: Any, given: Any, tagger: Any = None) -> dict[str, Any]:
    """The constituent tree of each sentence, as brackets and as a picture, and how sure each node is."""
    from corpuscle.figures import NodeShown, draw_constituents
    from corpuscle.text import Corpus, format_brackets

    bank, tags = bank_of(given), None
    written = [[word.replace("(", "-LRB-").replace(")", "-RRB-") for word in words] for words in bank.corpus]
    corpus = Corpus.from_sentences(written)
    if not len(corpus):
        return {"sentences": []}
    if model.needs_tags:
        if tagger is None:
            raise SettingError("this grammar is of tags, and there is no tagger beside it")
        tagged = tagger.annotate(bank)
        values = (tagged.xpos if tagged.xpos.ids.any() else tagged.tags).strings()
        tags = [values[a:b] for a, b in pairwise(corpus.sentence_starts.tolist())]
    found = model.parse(corpus, tags)
    sentences = []
    for i, (begin, end) in enumerate(pairwise(found.trees.tree_starts.tolist())):
        tree = found.trees[i : i + 1]
        sure = [float(share) for share in found.confidence[begin:end]] or [1.0] * (end - begin)
        rows = zip(tree.labels.strings(), tree.parents.tolist(), *tree.spans.T.tolist(), sure, strict=True)
        nodes = [NodeShown(*row) for row in rows]
        sentences.append({
            "words": tree.words.words(0),
            "tree": " ".join(format_brackets(tree.with_root())),
            "nodes": [node._asdict() for node in nodes],
            "svg": draw_constituents(tree.words.words(0), nodes) if nodes else "",
        })  # fmt: skip
    return {"sentences": sentences}
