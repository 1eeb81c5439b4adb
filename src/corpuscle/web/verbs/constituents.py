"""Verbs about constituents: the trees of sentences by a grammar, learned from trees or without any."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from corpuscle.errors import SettingError
from corpuscle.settings import Seeded, setting
from corpuscle.web.verbs.table import Lines, bank_of, verb

__all__ = ["parse"]


def _read(model: Any, given: Any, tagger: Any) -> tuple[Any, list[list[str]] | None]:
    """The sentences that were given, as trees write words, and tags for a grammar that is of tags."""
    from corpuscle.text import Corpus

    bank = bank_of(given)
    written = [[word.replace("(", "-LRB-").replace(")", "-RRB-") for word in words] for words in bank.corpus]
    corpus = Corpus.from_sentences(written)
    if not model.needs_tags or not len(corpus):
        return corpus, None
    if tagger is None:
        raise SettingError("this grammar is of tags, and there is no tagger beside it")
    tagged = tagger.annotate(bank)
    values = (tagged.xpos if tagged.xpos.ids.any() else tagged.tags).strings()
    return corpus, [values[a:b] for a, b in pairwise(corpus.sentence_starts.tolist())]


@verb("grammar", Lines, beside="tag", text="a b c")
def parse(model: Any, given: Any, tagger: Any = None) -> dict[str, Any]:
    """The constituent tree of each sentence, as brackets and as a picture, and how sure each node is."""
    from corpuscle.figures import NodeShown, draw_constituents
    from corpuscle.text import format_brackets

    corpus, tags = _read(model, given, tagger)
    if not len(corpus):
        return {"sentences": []}
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


class Likely(Lines):
    """Text, and which constituents are shown."""

    least: float = setting("Only constituents with at least this share.", default=0.01, low=0.0, high=1.0)


@verb("grammar", Likely, beside="tag", text="a b c")
def marginals(model: Any, given: Any, tagger: Any = None) -> dict[str, Any]:
    """How likely every constituent of each sentence is, over all its trees."""
    corpus, tags = _read(model, given, tagger)
    found = model.marginals(corpus, given.least, tags) if len(corpus) else []
    spans = [[span._asdict() for span in each] for each in found]
    return {"sentences": [{"words": list(w), "spans": each} for w, each in zip(corpus, spans, strict=True)]}


@verb("grammar", Lines, kinds=("grammar.pcfg", "grammar.em", "grammar.spectral", "grammar.common"), text="a b c")
def probability(model: Any, given: Any) -> dict[str, Any]:
    """How likely each sentence is, over all its trees (log10), where it has one."""
    import numpy as np

    corpus, _ = _read(model, given, None)
    logs = model.sentence_probability(corpus) / np.log(10) if len(corpus) else np.zeros(0)
    rows = zip(corpus, logs.tolist(), strict=True)
    return {"sentences": [{"words": list(w), "log10": log if np.isfinite(log) else None} for w, log in rows]}


class Drawing(Seeded, Lines):
    """Text, and how many trees of each sentence."""

    draws: int = setting("Trees of each sentence.", default=5, low=1, high=100)


@verb("grammar", Drawing, kinds=("grammar.pcfg", "grammar.em", "grammar.spectral"), beside="tag", text="a b c", draws=2)
def sample(model: Any, given: Any, tagger: Any = None) -> dict[str, Any]:
    """Trees of each sentence drawn by their probability, as brackets."""
    from corpuscle.text import format_brackets

    corpus, tags = _read(model, given, tagger)
    drawn = model.sample_trees(corpus, given.draws, seed=given.seed, tags=tags) if len(corpus) else []
    return {
        "sentences": [
            {"words": list(words), "trees": [" ".join(format_brackets(found.trees[i : i + 1].with_root()))
                                             for i in range(len(found.trees))]}
            for words, found in zip(corpus, drawn, strict=True)
        ]
    }  # fmt: skip
