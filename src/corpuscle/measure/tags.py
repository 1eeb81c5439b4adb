"""Tags and lemmas against gold ones: how many words have the right value of each layer, and of all of them.

Each layer that both files have is compared: ``upos``, ``xpos``, ``feats``, ``lemma``; ``all``: words that are right in
every one of them; ``sentence``: sentences without a wrong word. Where it is known which words the tagger has met in
training, the first layer is also given for those and for unknown words, if there are any. Sentences are resampled.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from corpuscle.measure.bootstrap import bootstrap_all, compare
from corpuscle.measure.counts import share
from corpuscle.measure.result import Comparison, Result, Shown, resampled, signature
from corpuscle.text.treebank import Treebank

TAG_LAYERS = {"upos": "tags", "xpos": "xpos", "feats": "features", "lemma": "lemmas"}
"""Figure -> layer of a treebank."""
_SHOWN = (
    Shown("upos", "UPOS"), Shown("xpos", "XPOS"), Shown("feats", "FEATS"), Shown("lemma", "lemmas"),
    Shown("all", "all of them"), Shown("sentence", "sentences"), Shown("known", "known words"),
    Shown("unknown", "unknown words"), Shown("words", "words", ","), Shown("unknown_words", "unknown", ","),
)  # fmt: skip


def _right(gold: Treebank, found: Treebank) -> dict[str, np.ndarray]:
    """Figure -> which words are right, bool (n_words,), for the layers that both have."""
    if not np.array_equal(gold.corpus.sentence_starts, found.corpus.sentence_starts):
        raise ValueError("the two treebanks do not have the same sentences")
    right = {}
    for figure, name in TAG_LAYERS.items():
        one, other = getattr(gold, name), getattr(found, name)
        if one.ids.any() and other.ids.any():
            numbers = {value: number for number, value in enumerate(one.values)}
            same = np.array([numbers.get(value, -1) for value in other.values])
            right[figure] = same[other.ids] == one.ids
    if not right:
        raise ValueError("the two treebanks have no layer of tags in common")
    return right


def _statistics(gold: Treebank, found: Treebank, known: np.ndarray | None) -> tuple[dict[str, Any], np.ndarray]:
    """Figure -> its columns of part and whole; and the columns by sentence, float64 (n_sentences, columns)."""
    right = _right(gold, found)
    right["all"] = np.logical_and.reduce(list(right.values()))
    main = next(iter(right.values()))
    columns = {"words": np.ones(len(main))} | right
    places = {name: (list(columns).index(name), 0) for name in right}
    if known is not None:
        columns |= {"known_right": main & known, "known_words": known, "new_right": main & ~known, "new": ~known}
        names = list(columns)
        if known.any():
            places["known"] = names.index("known_right"), names.index("known_words")
        if not known.all():
            places["unknown"] = names.index("new_right"), names.index("new")
    starts, filled = gold.corpus.sentence_starts, np.flatnonzero(gold.corpus.lengths > 0)
    if not len(filled):
        raise ValueError("there are no words to compare")
    sums = [np.add.reduceat(np.asarray(values, np.float64), starts[filled]) for values in columns.values()]
    complete = sums[places["all"][0]] == sums[0]
    places["sentence"] = (len(sums), len(sums) + 1)
    return places, np.column_stack([*sums, complete, np.ones(len(filled))])


def _rate(part: int, whole: int):  # type: ignore[no-untyped-def]
    return lambda sums: share(sums[..., part], sums[..., whole])


def tagging(
    gold: Treebank, found: Treebank, known: np.ndarray | None = None, *, draws: int = 1000, seed: int = 1
) -> Result:
    """The accuracy of each layer, of all together and of sentences, each with its interval; the headline is the first
    layer. ``known``: which words were in the training text, bool (n_words,)."""
    places, statistics = _statistics(gold, found, known)
    main = next(iter(places))
    rates = {name: _rate(*columns) for name, columns in places.items()}
    rates[main] = rates.pop(main)  # the headline comes last
    figures, interval = bootstrap_all(statistics, rates, draws=draws, seed=seed)
    figures |= {"words": int(statistics[:, 0].sum()), "sentences": len(statistics)}
    if known is not None:
        figures["unknown_words"] = int((~known).sum())
    layers = "+".join(name for name in TAG_LAYERS if name in places)
    how = signature(main, layers=layers, interval=resampled("sentences", draws, seed))
    headline = next(shown for shown in _SHOWN if shown.name == main)
    others = [shown for shown in _SHOWN if shown.name in figures and shown is not headline]
    return Result(figures, interval, how, (headline, *others))


def compare_tagging(
    gold: Treebank, one: Treebank, other: Treebank, *, figure: str = "upos", seed: int = 1
) -> Comparison:
    """A figure of one tagging minus that of another, by paired bootstrap over sentences."""
    places, a = _statistics(gold, one, None)
    _, b = _statistics(gold, other, None)
    shown = next(shown for shown in _SHOWN if shown.name == figure)
    return compare(a, b, _rate(*places[figure]), seed=seed, of=shown, items="sentences")


def tagging_by_tag(gold: Treebank, found: Treebank) -> list[dict[str, Any]]:
    """By gold tag of the first layer that both have: rows of ``tag``, ``words``, ``precision``, ``recall``, ``f1`` and
    ``confused``, the tag that is most often found in its place (or an empty string); most words first."""
    name = TAG_LAYERS[next(iter(_right(gold, found)))]
    right, ours = getattr(gold, name).strings(), getattr(found, name).strings()
    wanted, given, pairs = Counter(right), Counter(ours), Counter(zip(right, ours, strict=True))
    rows = []
    for tag, words in sorted(wanted.items(), key=lambda item: (-item[1], item[0])):
        hits = pairs[tag, tag]
        wrong = [(-count, other) for (own, other), count in pairs.items() if own == tag and other != tag]
        rows.append({
            "tag": tag, "words": words, "precision": hits / given[tag] if given[tag] else 0.0, "recall": hits / words,
            "f1": 2 * hits / (words + given[tag]), "confused": min(wrong)[1] if wrong else "",
        })  # fmt: skip
    return rows
