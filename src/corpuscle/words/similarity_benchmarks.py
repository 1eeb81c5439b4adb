"""How well meanings agree with people: pairs of words, pairs of phrases, relations, several models on the same pairs.

Rank correlations are those of ``measure.correlation``. Of phrases that several people have rated there are two: over
single ratings, in which every judgement is a point (published figures and ceilings are such ones), and over the mean of
each item, which is usually much higher. In both, items are drawn for the interval, with all their ratings.

Which relations between words a space of meanings captures, the protocol of BLESS tells. For each concept and relation
the largest similarity with its relata counts; for each concept these are standardised, to mean 0 and deviation 1, so
that concepts can be compared; then relations are compared over all concepts, by box plots and by Wilcoxon's signed-rank
test against the random words of the same part of speech.

With the map of ``Meaning.mapped``, adjectives (dependents of nouns) are mapped before they are compared with concepts,
and concepts (dependents of verbs) before they are compared with verbs. Where a model has transitions of its own for
subjects and objects, the better of both counts.

Baroni and Lenci, "How we BLESSed distributional semantic evaluation", 2011.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from corpuscle.errors import SettingError, warn
from corpuscle.figures.plots import box_plot
from corpuscle.measure.correlation import compare_spearman, human_ceiling, spearman
from corpuscle.measure.result import Comparison, Result, Shown
from corpuscle.text.pairs import Judgement, Phrase, ScoredPair, Term, Triple
from corpuscle.words.meaning import Meaning, compose

DRAWS = 2000
CONTRASTS = (("head-context", "head"), ("add-context", "add"), ("head-context", "add"))
"""Which ways to compose are compared on the same items."""


def pair_scores(meaning: Meaning, pairs: Sequence[ScoredPair], best: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """How alike the words of each pair are, float64 (pairs,), not a number where one is unknown; and whether one of
    them is rare, bool (pairs,). ``best``: of all parts of speech that the words may have, those that are most alike."""
    scores, rare = np.full(len(pairs), np.nan), np.zeros(len(pairs), bool)
    for i, pair in enumerate(pairs):
        first, second = (meaning.readings(Term.parse(word)) for word in pair[:2])
        if not first or not second:
            continue
        if not best:
            first, second = first[:1], second[:1]
        table = meaning.similarities(meaning.vectors[first], meaning.vectors[second])
        a, b = np.unravel_index(int(table.argmax()), table.shape)
        scores[i] = table[a, b]
        rare[i] = meaning.rare([first[a], second[b]]).any()
    return scores, rare


def _check_order(values: np.ndarray, what: str) -> None:
    """``SettingError`` where there is no rank correlation."""
    if len(values) < 3:
        raise SettingError(f"{len(values)} {what} have only known words; at least 3 are needed")
    if (values == values[0]).all():
        raise SettingError(f"all {len(values)} {what} have the same rating: there is nothing to rank")


def judge_pairs(
    meaning: Meaning,
    pairs: Sequence[ScoredPair],
    *,
    best: bool = False,
    unknown: str = "drop",
    draws: int = DRAWS,
    seed: int = 1,
) -> Result:
    """Spearman's correlation of similarities with the scores of pairs of words. Figures: ``spearman``, ``pairs``,
    ``covered`` (both words are known), ``rare`` (one of these is rare). ``best``: see ``pair_scores``; ``unknown``:
    pairs with an unknown word are left out (``drop``), or get the mean of the other similarities (``mean``)."""
    if unknown not in ("drop", "mean"):
        raise SettingError(f"unknown is drop or mean; not {unknown!r}")
    gold = np.array([pair.score for pair in pairs], np.float64)
    scores, rare = pair_scores(meaning, pairs, best)
    known = ~np.isnan(scores)
    _check_order(gold[known], "pairs")
    repeated = len(pairs) - len({frozenset(pair[:2]) for pair in pairs})
    if repeated:
        warn(f"{repeated} of {len(pairs)} pairs stand there twice, and count twice")
    scores, used = np.where(known, scores, scores[known].mean()), known | (unknown == "mean")
    result = spearman(scores[used], gold[used], pairs=len(pairs), draws=draws, seed=seed)
    figures = {**result.figures, "covered": int(known.sum()), "rare": int((rare & known).sum())}
    shown = (*result.shown, Shown("rare", "pairs with a rare word", ","))
    return Result(figures, result.interval, result.signature.replace("left out", unknown), shown)


def sweep(
    meanings: Mapping[str, Meaning],
    pairs: Sequence[ScoredPair],
    *,
    best: bool = False,
    draws: int = DRAWS,
    seed: int = 1,
) -> dict[str, Result]:
    """Spearman's correlation of several models on the pairs whose words all of them know, by their names."""
    gold = np.array([pair.score for pair in pairs], np.float64)
    scores = {name: pair_scores(meaning, pairs, best)[0] for name, meaning in meanings.items()}
    known = ~np.isnan(np.array(list(scores.values()))).any(axis=0)
    _check_order(gold[known], "pairs")
    return {
        name: spearman(each[known], gold[known], pairs=len(pairs), draws=draws, seed=seed)
        for name, each in scores.items()
    }


class RatedPhrases(NamedTuple):
    """How well ways to compose agree with people.

    - ``ratings``, ``means``: way -> correlation over single ratings, and over the means of items;
    - ``differences``: two ways -> the correlation of the first minus that of the second, over single ratings;
    - ``ceiling``: how well people agree with each other, not a number where nobody says who has rated what;
    - ``items``, ``covered``: phrase pairs, and those with known words only; ``rare``: those of them with a rare word;
    - ``vanished``, ``impossible``: see ``Composed``.
    """

    ratings: dict[str, Result]
    means: dict[str, Result]
    differences: dict[tuple[str, str], Comparison]
    ceiling: float
    items: int
    covered: int
    rare: int
    vanished: int
    impossible: int


def judge_phrases(
    meaning: Meaning,
    judgements: Sequence[Judgement],
    *,
    weight: float = 0.5,
    stretch: float = 2.0,
    draws: int = DRAWS,
    seed: int = 1,
) -> RatedPhrases:
    """Compare the similarity of phrases with what people say; ``weight``, ``stretch``: see ``compose``."""
    meaning.check_trees()
    keys = [(meaning.phrase(each.first), meaning.phrase(each.second), each.landmark) for each in judgements]
    numbers: dict[tuple[Phrase, Phrase, bool], int] = {}
    items = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)
    ratings = np.array([each.rating for each in judgements], np.float64)
    pairs = list(numbers)
    ids = [[meaning.find(term) for phrase in pair[:2] for term in phrase.terms] for pair in pairs]
    known = np.array([None not in each for each in ids], bool)
    rare = sum(meaning.rare(each).any() for each, ok in zip(ids, known, strict=True) if ok)
    inside = known[items]
    _check_order(ratings[inside], "ratings")
    scores, vanished, impossible = _phrase_scores(meaning, pairs, known, weight=weight, stretch=stretch)
    points, gold, where = {way: each[items[inside]] for way, each in scores.items()}, ratings[inside], items[inside]
    means = np.bincount(where, gold, len(pairs))[known] / np.bincount(where, minlength=len(pairs))[known]
    how: dict[str, Any] = {"of": "phrase pairs", "draws": draws, "seed": seed}
    subjects = [each.subject for each in judgements]
    return RatedPhrases(
        {way: spearman(each, gold, items=where, pairs=len(ratings), **how) for way, each in points.items()},
        {way: spearman(each[known], means, pairs=len(pairs), **how) for way, each in scores.items()},
        {(a, b): compare_spearman(points[a], points[b], gold, items=where, **how) for a, b in CONTRASTS},
        float("nan") if None in subjects else human_ceiling(ratings, items, subjects),
        *(len(pairs), int(known.sum()), int(rare), vanished, impossible),
    )


def _phrase_scores(
    meaning: Meaning, pairs: Sequence[tuple[Phrase, Phrase, bool]], known: np.ndarray, **how: Any
) -> tuple[dict[str, np.ndarray], int, int]:
    """Way -> how alike the phrases of each pair are, float64 (pairs,), not a number where not all words are known; a
    landmark stands by itself, out of context. ``how``: see ``compose``."""
    chosen = np.flatnonzero(known).tolist()
    numbers: dict[Phrase, int] = {}
    for i in chosen:
        first, second, landmark = pairs[i]
        for phrase in (first,) if landmark else (first, second):
            numbers.setdefault(phrase, len(numbers))
    composed = compose(meaning, list(numbers), **how)
    found = {}
    for way, vectors in composed.vectors.items():
        p = vectors[[numbers[pairs[i][0]] for i in chosen]]
        q = [meaning.vector(pairs[i][1].terms[0]) if pairs[i][2] else vectors[numbers[pairs[i][1]]] for i in chosen]
        found[way] = np.full(len(pairs), np.nan)
        found[way][chosen] = meaning.similarity_of(p, np.array(q))
    return found, composed.vanished, composed.impossible


ORDER = ("coord", "hyper", "mero", "attri", "event", "random-n", "random-j", "random-v")
NAMES = {"coord": "co-hyponym", "hyper": "hypernym", "mero": "meronym", "attri": "attribute"}
ADJECTIVE, VERB = ("ADJ", ("amod",)), ("VERB", ("nsubj", "obj"))
"""A part of speech, and the relations by which it hangs on concepts, or concepts on it."""


class Relation(NamedTuple):
    """A relation over all concepts: median, mean and quartiles of its standardised similarities; how likely they are no
    higher than those of ``beside``, the random words of its part of speech (Wilcoxon, two-sided)."""

    median: float
    mean: float
    lower: float
    upper: float
    beside: str | None
    p_value: float


class Standardised(NamedTuple):
    """Standardised similarities: ``scores`` float64 (concepts, relations), not a number where nothing is known;
    ``concepts`` by name, and how many there ``were``; ``tags``: the part of speech of the relata of each relation;
    ``known`` of ``triples`` have both words."""

    scores: np.ndarray
    names: tuple[str, ...]
    tags: tuple[str, ...]
    concepts: tuple[str, ...]
    were: int
    triples: int
    known: int

    def relations(self) -> dict[str, Relation]:
        """Every relation by its name."""
        from scipy.stats import wilcoxon

        result = {}
        for column, (name, tag) in enumerate(zip(self.names, self.tags, strict=True)):
            own = self.scores[:, column]
            others = [i for i, each in enumerate(self.names) if each.startswith("random") and self.tags[i] == tag]
            beside = self.names[others[0]] if others and not name.startswith("random") else None
            p_value = float("nan")
            if beside is not None:
                pairs = self.scores[:, [column, others[0]]]
                pairs = pairs[~np.isnan(pairs).any(axis=1)]
                same = len(pairs) == 0 or (pairs[:, 0] == pairs[:, 1]).all()
                p_value = 1.0 if same else float(wilcoxon(pairs[:, 0], pairs[:, 1]).pvalue)
            lower, median, upper = np.nanquantile(own, [0.25, 0.5, 0.75])
            result[name] = Relation(float(median), float(np.nanmean(own)), float(lower), float(upper), beside, p_value)
        return result


def standardise(scores: np.ndarray) -> np.ndarray:
    """Rows (concepts, relations) with mean 0 and deviation 1, of what is there; equal scores become zeros."""
    centred = scores - np.nanmean(scores, axis=1, keepdims=True)
    deviations = np.sqrt(np.nanmean(centred**2, axis=1, keepdims=True))
    flat = deviations <= 1e-12 * np.maximum(1.0, np.nanmax(np.abs(scores), axis=1, keepdims=True))
    return np.where(flat, centred * 0.0, centred / np.where(flat, 1.0, deviations))


def judge_relations(
    meaning: Meaning, triples: Sequence[Triple], *, mapped: bool = False, partial: bool = False
) -> Standardised:
    """Standardised similarities of concepts with their relata; ``mapped``: by way of the transitions from heads;
    ``partial``: also of concepts that lack a relation, which are left out otherwise."""
    if mapped:
        meaning.check_trees()
    found = {name for _, name, _ in triples}
    names = (*(name for name in ORDER if name in found), *sorted(found - set(ORDER)))
    tags = tuple(next(triple.relatum.tag for triple in triples if triple.relation == name) for name in names)
    concepts = list(dict.fromkeys(triple.concept for triple in triples))
    ids = {term: meaning.find(term) for triple in triples for term in (triple.concept, triple.relatum)}
    known = [triple for triple in triples if None not in (ids[triple.concept], ids[triple.relatum])]
    best = np.full((len(concepts), len(names)), np.nan)
    place, column = ({each: i for i, each in enumerate(all)} for all in (concepts, names))
    for tag in sorted({triple.relatum.tag for triple in known}):
        here = [triple for triple in known if triple.relatum.tag == tag]
        pairs = np.array([(ids[triple.concept], ids[triple.relatum]) for triple in here], np.int64)
        scores = _scores(meaning, pairs, tag if mapped else "")
        where = [place[triple.concept] for triple in here], [column[triple.relation] for triple in here]
        np.fmax.at(best, where, scores)
    kept = ~np.isnan(best).all(axis=1) if partial else ~np.isnan(best).any(axis=1)
    if not kept.any():
        raise SettingError(f"none of {len(concepts)} concepts has a known word for each of its relations")
    shown = tuple(concept.word for concept, keep in zip(concepts, kept, strict=True) if keep)
    return Standardised(standardise(best[kept]), names, tags, shown, len(concepts), len(triples), len(known))


def _scores(meaning: Meaning, pairs: np.ndarray, tag: str) -> np.ndarray:
    """The similarity of concepts with relata, ids (n, 2), float64 (n,); mapped as the part of speech ``tag`` wants."""
    concepts, relata = meaning.vectors[pairs[:, 0]], meaning.vectors[pairs[:, 1]]
    own = [name for name in dict([ADJECTIVE, VERB]).get(tag, ()) if name in meaning.model.relations_]
    relations: list[str | None] = [*own] or [None]
    if tag == ADJECTIVE[0]:
        return np.max([meaning.similarity_of(concepts, meaning.mapped(relata, each)) for each in relations], axis=0)
    if tag == VERB[0]:
        return np.max([meaning.similarity_of(meaning.mapped(concepts, each), relata) for each in relations], axis=0)
    return meaning.similarity_of(concepts, relata)


def draw_relations(plain: Standardised, mapped: Standardised | None = None) -> str:
    """An SVG of box plots: relations without and with the map."""
    sides = {"without map": plain} | ({} if mapped is None else {"with map": mapped})
    boxes = {
        side: [each.scores[:, i][~np.isnan(each.scores[:, i])].tolist() for i in range(len(plain.names))]
        for side, each in sides.items()
    }
    names = [NAMES.get(name, name) for name in plain.names]
    title = f"Similarity to {len(plain.concepts)} concepts by relation"
    return box_plot(names, boxes, title=title, value_label="largest similarity, standardised by concept")
