"""What a tagger knows of each token, as columns of hashes, and the templates that make features of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corpuscle.entities.dictionary import Dictionary
from corpuscle.entities.documents import Documents
from corpuscle.entities.kernels.features import Tokens
from corpuscle.entities.second_pass import COLUMNS
from corpuscle.entities.shortforms import short_forms
from corpuscle.hashing import hashes_of
from corpuscle.text.wording import shape_of
from corpuscle.words import WordFeatures

Template = tuple[tuple[int, str], ...]
_NEIGHBOURS = ("<before>", "<after>")
LEVELS = ("", "low", "medium", "high")


@dataclass(frozen=True, eq=False)
class Sheet:
    """The tokens of documents with all that is known of them.

    ``strings``: column -> a value for each token, "" for none (spelled out, for reports, by ``explain``).
    """

    names: tuple[str, ...]
    tokens: Tokens
    templates: tuple[Template, ...]

    @classmethod
    def of(
        cls,
        documents: Documents,
        *,
        window: int,
        affixes: int,
        sources: WordFeatures,
        dictionary: Dictionary | None,
        levels: np.ndarray | None,
        first_pass: Mapping[str, np.ndarray],
    ) -> Sheet:
        """``levels``: the NC-classes of the tokens, or None; ``first_pass``: columns of what that found elsewhere."""
        corpus = documents.corpus
        forms = corpus.vocab.strings
        columns: dict[str, np.ndarray] = {}

        def by_form(name: str, values: Sequence[str]) -> None:
            columns[name] = hashes_of(values)[corpus.tokens]

        by_form("word", [form.lower() for form in forms])
        by_form("form", forms)
        by_form("shape", [shape_of(form) for form in forms])
        by_form("outline", [shape_of(form, 1) for form in forms])
        for k in range(1, affixes + 1):
            by_form(f"prefix{k}", [form[:k] if len(form) > k else "" for form in forms])
            by_form(f"suffix{k}", [form[-k:] if len(form) > k else "" for form in forms])
        for name, layer in (("tag", documents.tags), ("chunk", documents.chunks), ("lemma", documents.lemmas)):
            if layer.ids.any():
                columns[name] = np.where(layer.ids > 0, hashes_of(layer.values)[layer.ids], 0).astype(np.uint64)
        if len(set(documents.sections.ids.tolist())) > 1:
            columns["section"] = hashes_of(documents.sections.values)[documents.sections.ids]
        if any(documents.sources):
            names = hashes_of(documents.sources)[documents.document_of]
            columns["source"] = np.repeat(names, corpus.lengths)
        if dictionary is not None:
            columns["entry"] = dictionary.marks(documents)
        if levels is not None:
            marks = hashes_of(LEVELS)
            columns["nc before"], columns["nc after"] = marks[levels[:, 0]], marks[levels[:, 1]]
        columns |= short_forms(documents)
        columns |= first_pass
        if sources.n_columns:
            of_types = sources.of(forms)
            for k in range(sources.n_columns):
                columns[f"source{k}"] = of_types[:, k][corpus.tokens]
        numbered = {
            template: number for number, template in enumerate(_templates(columns, window, affixes), 1)
            if all(name in columns for _, name in template)
        }  # fmt: skip
        templates = tuple(numbered)
        number = {name: k for k, name in enumerate(columns)}
        rows = [[(d, number[name]) for d, name in template] + [(0, -1)] * (3 - len(template)) for template in templates]
        outside = np.repeat(hashes_of(_NEIGHBOURS)[:, None], len(columns), axis=1)
        values = np.ascontiguousarray(np.concatenate([np.column_stack(list(columns.values())), outside]))
        return cls(
            tuple(columns),
            Tokens(corpus.sentence_starts, values, np.array(rows, np.int32), np.array([*numbered.values()], np.uint64)),
            templates,
        )

    @property
    def names_of_templates(self) -> list[str]:
        """How each template is called: ``word[-1] word[0]``, say."""
        return [" ".join(f"{name}[{d:+d}]" if d else f"{name}" for d, name in each) for each in self.templates]


def _templates(columns: Sequence[str] | dict[str, np.ndarray], window: int, affixes: int) -> list[Template]:
    """All templates in their order, also those whose columns are missing: each has the same number in every text, and
    in a file, so that new ones come last."""
    around = range(-window, window + 1)
    near = range(-min(1, window), min(1, window) + 1)
    made: list[Template] = [((d, name),) for name in ("word", "form", "outline") for d in around]
    made += [((0, "shape"),), *([((-1, "shape"),), ((1, "shape"),)] if window else [])]
    made += [((0, f"{side}{k}"),) for side in ("prefix", "suffix") for k in range(1, affixes + 1)]
    if affixes >= 3:
        made += [((d, "suffix3"),) for d in around if d]
    if affixes >= 3 and window:
        made += [((-1, "suffix3"), (0, "suffix3")), ((0, "suffix3"), (1, "suffix3"))]
        made += [((-1, "word"), (0, "suffix3")), ((0, "suffix3"), (1, "word"))]
    if window:
        made += [((-1, "word"), (0, "word")), ((0, "word"), (1, "word")), ((-1, "word"), (1, "word"))]
        made += [((-1, "outline"), (0, "outline")), ((0, "outline"), (1, "outline"))]
        made += [((-1, "outline"), (0, "outline"), (1, "outline"))]
    for name in ("long", "short"):
        made += [((d, name),) for d in near]
    made += [((0, "long"), (0, "word")), ((0, "short"), (0, "outline"))]
    made += [((0, "bracket"), *more) for more in ((), ((0, "outline"),), ((0, "word"),))]
    made += [((0, "lemma"),), ((0, "entry"),), ((0, "entry"), (0, "word")), ((-1, "entry"),), ((1, "entry"),)]
    made += [((d, "tag"),) for d in around] + [((d, "chunk"),) for d in near]
    made += [((-1, "tag"), (0, "tag")), ((0, "tag"), (1, "tag")), ((0, "tag"), (0, "outline"))]
    made += [((0, "section"),), ((0, "section"), (0, "word")), ((0, "source"),), ((0, "source"), (0, "word"))]
    made += [((0, "nc before"),), ((0, "nc after"),), ((0, "nc before"), (0, "nc after"))]
    for name in COLUMNS:
        made += [((d, name),) for d in near] + [((-1, name), (0, name)), ((0, name), (1, name))] * (window > 0)
    made += [(*((0, name) for name in COLUMNS),)]
    for name in columns:
        if name.startswith("source") and name != "source":
            made += [((d, name),) for d in around]
            if window:
                made += [((-1, name), (0, name)), ((0, name), (1, name))]
    made += [((-2, "word"), (-1, "word")), ((1, "word"), (2, "word"))] * (window > 1)
    made += [((-1, "prefix3"),), ((1, "prefix3"),)] * (window > 0 and affixes >= 3)
    return list(dict.fromkeys(made))
