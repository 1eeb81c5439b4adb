"""Which relations between words a space of meanings captures: the protocol of BLESS.

For each concept and relation the largest similarity with its relata counts; for each concept these are standardised, to
mean 0 and deviation 1, so that concepts can be compared; then relations are compared over all concepts, by box plots
and by Wilcoxon's signed-rank test against the random words of the same part of speech.

With the map of ``Meaning.mapped``, adjectives (dependents of nouns) are mapped before they are compared with concepts,
and concepts (dependents of verbs) before they are compared with verbs. Where a model has transitions of its own for
subjects and objects, the better of both counts.

Baroni and Lenci, "How we BLESSed distributional semantic evaluation", 2011.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from corpuscle.errors import SettingError
from corpuscle.figures.boxes import box_plot
from corpuscle.text.judgements import Triple
from corpuscle.words.meaning import Meaning

__all__ = ["Relation", "Standardised", "draw_relations", "judge_relations", "standardise"]

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
