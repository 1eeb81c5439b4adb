"""Tags and lemmas against gold ones: how many words have the right value of each layer, and of all of them.

Each layer that both files have is compared: ``upos``, ``xpos``, ``feats``, ``lemma``; ``all``: words that are right in
every one of them; ``sentence``: sentences without a wrong word. Where it is known which words the tagger has met in
training, the first layer is also given for those and for unknown words, if there are any. Sentences are resampled.

Ranked analyses: how often the right one is first, or among the first two. ``a1``, ``a2``: the shares of words whose
right analysis is first, or among the first two; ``e1``, ``e2``: of all others; ``ceiling``: is a candidate at all;
``mrr``: mean reciprocal rank, 0 where it is none; ``random``: what a random order would have as ``a1``; ``unseen_a1``:
of words that the analyser does not know; ``ambiguous_a1``, ``ambiguous_e1``, ``ambiguous_e2``: of words with several
candidates, one of them right; ``candidates``: how many a word has; ``keystrokes``: the mean rank, or one more than
there are candidates where none is right: what an annotator looks at. Sentences are resampled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from corpuscle.measure.bootstrap import Figure, bootstrap_all, rate, share, sums_by_sentence
from corpuscle.measure.result import Result, Shown, resampled, signature
from corpuscle.text.treebank import Treebank
from corpuscle.text.wording import clip

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
    if not len(main):
        raise ValueError("there are no words to compare")
    sums = sums_by_sentence(gold.corpus.sentence_starts, columns.values())
    complete = sums[:, places["all"][0]] == sums[:, 0]
    places["sentence"] = (len(columns), len(columns) + 1)
    return places, np.column_stack([sums, complete, np.ones(len(sums))])


def tagging(
    gold: Treebank, found: Treebank, known: np.ndarray | None = None, *, draws: int = 1000, seed: int = 1
) -> Result:
    """The accuracy of each layer, of all together and of sentences, each with its interval; the headline is the first
    layer. ``known``: which words were in the training text, bool (n_words,)."""
    places, statistics = _statistics(gold, found, known)
    main = next(iter(places))
    rates = {name: rate(*columns) for name, columns in places.items()}
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
            "tag": tag, "words": words, "precision": float(share(hits, given[tag])), "recall": hits / words,
            "f1": 2 * hits / (words + given[tag]), "confused": min(wrong)[1] if wrong else "",
        })  # fmt: skip
    return rows


_SHOWN_RANKED = (
    Shown("a1", "first"), Shown("a2", "first or second"), Shown("ceiling", "a candidate"),
    Shown("mrr", "reciprocal rank", "."),
    Shown("random", "at random"), Shown("ambiguous_a1", "ambiguous words"), Shown("unseen_a1", "unseen words"),
    Shown("candidates", "candidates a word", "."), Shown("keystrokes", "to look at", "."),
    Shown("words", "words", ","), Shown("unseen_words", "unseen", ","),
    Shown("ambiguous_words", "ambiguous", ","),
)  # fmt: skip


def ranks_of(starts: np.ndarray, labels: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """The rank of the gold label of each word, from 1, or 0 where it is no candidate, int64 (n_words,); ``starts``
    int64 (n_words + 1,): of the ``labels`` of each word, in their order.

    >>> ranks_of(np.array([0, 2, 3]), np.array([4, 5, 4]), np.array([5, 7])).tolist()
    [2, 0]
    """
    item = np.repeat(np.arange(len(gold)), np.diff(starts))
    right = np.flatnonzero(labels == gold[item])
    ranks = np.zeros(len(gold), np.int64)
    ranks[item[right]] = right - starts[item[right]] + 1
    return ranks


def analyses(
    starts: np.ndarray, ranks: np.ndarray, known: np.ndarray, sentences: np.ndarray, *, draws: int = 1000, seed: int = 1
) -> Result:
    """Of words with ranks as ``ranks_of`` gives them, ``known`` bool (n_words,) to their analyser, in sentences that
    begin at ``sentences`` int64 (n_sentences + 1,)."""
    if not len(ranks):
        raise ValueError("there are no words to compare")
    sizes = np.diff(starts)
    inside = ranks > 0
    many = (sizes > 1) & inside
    columns = {
        "words": np.ones(len(ranks)), "first": ranks == 1, "two": inside & (ranks <= 2), "inside": inside,
        "inverse": np.where(inside, 1 / np.maximum(ranks, 1), 0), "chance": inside / np.maximum(sizes, 1),
        "sizes": sizes, "looks": np.where(inside, ranks, sizes + 1),
        "new": ~known, "new_first": ~known & (ranks == 1), "many": many, "many_first": many & (ranks == 1),
        "many_two": many & (ranks <= 2),
    }  # fmt: skip
    statistics = sums_by_sentence(sentences, columns.values())
    places = list(columns)

    def of(part: str, whole: str = "words") -> Figure:
        return rate(places.index(part), places.index(whole))

    def other(part: str, whole: str = "words") -> Figure:
        return lambda sums: 1 - of(part, whole)(sums)

    rates = {
        "a2": of("two"), "e1": other("first"), "e2": other("two"), "ceiling": of("inside"), "mrr": of("inverse"),
        "random": of("chance"), "candidates": of("sizes"), "keystrokes": of("looks"),
    }  # fmt: skip
    if many.any():
        rates |= {
            "ambiguous_a1": of("many_first", "many"), "ambiguous_e1": other("many_first", "many"),
            "ambiguous_e2": other("many_two", "many"),
        }  # fmt: skip
    if not known.all():
        rates["unseen_a1"] = of("new_first", "new")
    rates["a1"] = of("first")  # the headline comes last
    figures, interval = bootstrap_all(statistics, rates, draws=draws, seed=seed)
    figures |= {
        "words": len(ranks), "sentences": len(statistics), "unseen_words": int((~known).sum()),
        "ambiguous_words": int(many.sum()),
    }  # fmt: skip
    how = signature("a1", ties="analyser", interval=resampled("sentences", draws, seed))
    return Result(figures, interval, how, tuple(shown for shown in _SHOWN_RANKED if shown.name in figures))


def analyses_by_element(
    starts: np.ndarray, labels: np.ndarray, values: np.ndarray, gold: np.ndarray, elements: Sequence[str]
) -> list[dict[str, Any]]:
    """By element: rows of ``element``, ``e1`` and ``e2``, the shares of words whose first analysis, or none of whose
    first two, has the right value. ``values`` int64 (n_labels, n_elements): of labels; ``gold``
    int64 (n_words, n_elements)."""
    one = labels[starts[:-1]]
    two = labels[np.minimum(starts[:-1] + 1, starts[1:] - 1)]
    first, either = values[one] == gold, (values[one] == gold) | (values[two] == gold)
    return [
        {"element": name, "e1": float(1 - first[:, i].mean()), "e2": float(1 - either[:, i].mean())}
        for i, name in enumerate(elements)
    ]


def analyses_by_probability(probabilities: np.ndarray, right: np.ndarray, parts: int = 10) -> list[dict[str, Any]]:
    """How often first analyses are right by how likely they were said to be: rows of ``above`` (the probabilities are
    from there on, up to the next row), ``words``, ``probability`` (their mean) and ``right`` (their share). Equal parts
    of the unit interval; those without words are left out. ``probabilities`` float64 (n_words,), ``right`` bool.

    >>> analyses_by_probability(np.array([0.95, 0.92, 0.31]), np.array([True, True, False]))[0]["above"]
    0.3
    """
    part = np.minimum((probabilities * parts).astype(np.int64), parts - 1)
    rows = []
    for number in np.unique(part).tolist():
        here = part == number
        rows.append({
            "above": number / parts, "words": int(here.sum()), "probability": float(probabilities[here].mean()),
            "right": float(right[here].mean()),
        })  # fmt: skip
    return rows


_CONFUSIONS, _ERRORS, _AROUND = 12, 12, 4


def mistakes(gold: Treebank, found: Treebank, layer: str, known: list[bool]) -> tuple[Any, Any]:
    """Which tags are taken for which, and the first words with a wrong tag, with the words around them."""
    wanted, given = getattr(gold, layer).strings(), getattr(found, layer).strings()
    wrong = [i for i, (a, b) in enumerate(zip(wanted, given, strict=True)) if a != b]
    confused, errors = Counter((wanted[i], given[i]) for i in wrong), []
    for at in wrong[:_ERRORS]:
        sentence = int(np.searchsorted(gold.corpus.sentence_starts, at, side="right")) - 1
        words, i = gold.corpus.words(sentence), at - int(gold.corpus.sentence_starts[sentence])
        around = " ".join(words[max(0, i - _AROUND) : i]), words[i], " ".join(words[i + 1 : i + 1 + _AROUND])
        errors.append((*map(clip, around), given[at], wanted[at], known[at]))
    return tuple((a, b, n) for (a, b), n in confused.most_common(_CONFUSIONS)), tuple(errors)
