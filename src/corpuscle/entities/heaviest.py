"""The heaviest features of each label of a field, spelled out by an example: what a tagger goes by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from corpuscle.entities.documents import Documents
from corpuscle.entities.features import Sheet
from corpuscle.entities.learning import all_features

__all__ = ["Feature", "heaviest_features"]

_HEAVIEST = 20


class Feature(NamedTuple):
    """A weight and what it is of: the label, the template and an example of its words."""

    label: str
    feature: str
    weight: float


def heaviest_features(
    sheet: Sheet, documents: Documents, weights: Mapping[str, np.ndarray], labels: Sequence[str]
) -> list[Feature]:
    """The heaviest features of each label, spelled by the first place where they occur in the training text."""
    rows = np.repeat(np.arange(len(weights["field/keys"])), np.diff(weights["field/starts"]))
    chosen: list[int] = []
    for label in range(len(labels)):
        mine = np.flatnonzero(weights["field/labels"] == label)
        chosen += mine[np.argsort(-weights["field/weights"][mine], kind="stable")[:_HEAVIEST]].tolist()
    wanted = np.unique(weights["field/keys"][rows[chosen]])
    found = all_features(sheet)
    at = np.flatnonzero(np.isin(found, wanted).ravel())
    _, first = np.unique(found.ravel()[at], return_index=True)
    where = dict(zip(wanted.tolist(), at[first].tolist(), strict=True))
    forms = documents.corpus.vocab.decode(documents.corpus.tokens)
    names, seen, results = sheet.names_of_templates, set(), []
    for k in chosen:
        token, template = divmod(where[int(weights["field/keys"][rows[k]])], len(sheet.templates))
        places = [token + d for d in dict.fromkeys(d for d, _ in sheet.templates[template])]
        words = [forms[place] if 0 <= place < len(forms) else "" for place in places]
        name = labels[int(weights["field/labels"][k])]
        spelled = f"{names[template]} as at {' '.join(words)}"
        if (name, spelled) not in seen:
            seen.add((name, spelled))
            results.append(Feature(name, spelled, float(weights["field/weights"][k])))
    return results
