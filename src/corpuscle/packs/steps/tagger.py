"""The tagger of a pack: parts of speech, morphology and lemmas, how many are right, and which are taken for which.

A tagger learns from nine tenths of the annotated sentences and is measured on the tenth that it has not seen. Then one
is learned from all of them with the same settings: that is the one in the pack.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from corpuscle.errors import InputError
from corpuscle.measure import tagging, tagging_by_tag
from corpuscle.measure.tags import TAG_LAYERS
from corpuscle.packs.chapters import tagger as chapter
from corpuscle.packs.job import Job
from corpuscle.packs.step import Findings, Step, check_enough, naming, wrong_files
from corpuscle.tag import Tagger
from corpuscle.text.treebank import Treebank
from corpuscle.text.wording import clip

__all__ = ["TAGGER"]

FILE = "models/tagger.model"
SETTINGS = {"method": "crf"}
FEWEST_SENTENCES = 20
"""With fewer, a tenth of them says nothing."""
_CONFUSIONS, _ERRORS, _AROUND = 12, 12, 4


def check(job: Job) -> list[InputError]:
    """What is wrong with the file of annotated sentences."""
    return wrong_files(lambda: job.trees, [()])


def run(job: Job, settings: Mapping[str, Any]) -> Findings:
    """Learn to tag, and measure on sentences that were held out."""
    path = job.kit.paths("tagged")[0]
    filled = int((job.trees.corpus.lengths > 0).sum())
    check_enough(path, filled, FEWEST_SENTENCES, "annotated sentence")
    train, held = job.split_trees
    with naming(path):
        model = job.fit(Tagger(**job.work), train, name=FILE)
        found = model.annotate(held.without(*TAG_LAYERS.values()))
        known = model.known(held)
        measured = tagging(held, found, known, seed=job.seed)
        rows = tagging_by_tag(held, found)
        job.fit(Tagger(**job.work), job.trees, name=FILE, save=True)
    return {
        "sentences": len(job.trees),
        "held_out": len(held),
        "layers": [name for name in TAG_LAYERS if name in measured.figures],
        "measures": measured.to_json(),
        "tags": rows,
        **_mistakes(held, found, model.layers_[0], known.tolist()),
    }


def _mistakes(gold: Treebank, found: Treebank, layer: str, known: list[bool]) -> Findings:
    """Which tags are taken for which, and the first words with a wrong tag, with the words around them."""
    wanted, given = getattr(gold, layer).strings(), getattr(found, layer).strings()
    confused = Counter((a, b) for a, b in zip(wanted, given, strict=True) if a != b)
    errors: list[list[Any]] = []
    at = 0
    for sentence in range(len(gold)):
        words = gold.corpus.words(sentence)
        for i, word in enumerate(words):
            if wanted[at + i] != given[at + i] and len(errors) < _ERRORS:
                around = [" ".join(words[max(0, i - _AROUND) : i]), word, " ".join(words[i + 1 : i + 1 + _AROUND])]
                errors.append([*map(clip, around), given[at + i], wanted[at + i], known[at + i]])
        at += len(words)
    return {"confusions": [[a, b, n] for (a, b), n in confused.most_common(_CONFUSIONS)], "errors": errors}


TAGGER = Step(
    name="tagger", title="Tagger", version=1, needs=("tagged",), writes=(FILE,), run=run, report=chapter.report,
    check=check, settings=SETTINGS, learned="a tagger", kernels="corpuscle.tag",
)  # fmt: skip
