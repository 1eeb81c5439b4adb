"""Multiword tokens as one word each: ``wktAbhm``, *and their book*, is a noun with something before and behind it.

Of the words of a range, the first that no clitic usually is makes the analysis; the nearest before it is its feature
``pre1``, those farther away ``pre2``, those behind it ``pron``, each as lemma/UPOS.
"""

from __future__ import annotations

import numpy as np

from corpuscle.text.corpus import Corpus, starts_of
from corpuscle.text.layers import Layer, Numbering
from corpuscle.text.treebank import LAYERS, Insertions, Treebank

_CLITICS = frozenset({"ADP", "AUX", "CCONJ", "CONJ", "DET", "PART", "PRON", "PUNCT", "SCONJ"})


def _main(tags: list[str]) -> int:
    """The word of a range that the others lean on.

    >>> _main(["CCONJ", "NOUN", "PRON"]), _main(["ADP", "PRON"])
    (1, 0)
    """
    return next((i for i, tag in enumerate(tags) if tag not in _CLITICS), 0)


def joined(bank: Treebank) -> Treebank:
    """The treebank with one word for each multiword token; trees and empty nodes go where there is such a token."""
    if not len(bank.ranges):
        return bank
    starts = bank.corpus.sentence_starts
    lemmas, tags, features = (getattr(bank, name).strings() for name in ("lemmas", "tags", "features"))
    kept = np.ones(bank.corpus.n_tokens, bool)
    forms = {}
    for sentence, (first, last), form in zip(
        bank.ranges.sentences.tolist(), bank.ranges.numbers.tolist(), bank.ranges.forms, strict=True
    ):
        begin, end = int(starts[sentence]) + first - 1, int(starts[sentence]) + last
        main = begin + _main(tags[begin:end])
        kept[begin:end] = False
        kept[main], forms[main] = True, form

        def name(token: int) -> str:
            return f"{lemmas[token]}/{tags[token]}".replace("|", "_")

        near = max(begin, main - 1)
        parts = {"pre1": range(near, main), "pre2": range(begin, near), "pron": range(main + 1, end)}
        more = [f"{key}={'+'.join(map(name, tokens))}" for key, tokens in parts.items() if len(tokens)]
        features[main] = "|".join([*(() if features[main] == "_" else (features[main],)), *more]) or "_"
    words, numbering = bank.corpus.vocab.strings, Numbering()
    places = np.flatnonzero(kept).tolist()
    numbering.add(forms.get(i) or words[bank.corpus.tokens[i]] for i in places)
    tokens, vocab = numbering.finish()
    counts = np.concatenate([[0], np.cumsum(kept)])
    origin = None if bank.origin is None else bank.origin.by_item()
    corpus = Corpus(tokens, starts_of(np.diff(counts[starts])), vocab, origin=origin)
    if bank.corpus.document_starts is not None:
        corpus = corpus.with_documents(bank.corpus.document_starts, bank.corpus.labels)
    layers = {name: getattr(bank, name)[places] for name in LAYERS}
    unset, nothing = Layer.unset(len(tokens)), Insertions.build()
    layers |= {"features": Layer.from_strings([features[i] for i in places]), "relations": unset, "deps": unset}
    return Treebank(
        corpus, np.full(len(tokens), -1, np.int32), **layers, comments=bank.comments, ranges=nothing, empties=nothing
    )
