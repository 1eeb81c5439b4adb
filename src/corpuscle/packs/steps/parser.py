"""The dependency parser of a pack: how often heads and relations are right, with how many trees, and what goes wrong.

Parsers of a quarter, a half and all of nine tenths of the trees are measured on the tenth that none of them
has seen. Then one is learned from all trees, with the same settings: that is the one in the pack.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from corpuscle.errors import InputError
from corpuscle.measure import attachment_by
from corpuscle.packs.chapters import parser as chapter
from corpuscle.packs.job import Job
from corpuscle.packs.step import Findings, LeftOut, Step, check_enough, naming, wrong_files
from corpuscle.parse import MstParser, learning_curve
from corpuscle.text.treebank import Treebank

__all__ = ["PARSER"]

FILE = "models/parser.model"
SETTINGS = {"method": "mst", "order": 2, "points": 3}
FEWEST_SENTENCES = 50
"""With fewer, a tenth held out says nothing."""
_RELATIONS, _EXAMPLES, _LONGEST = 12, 3, 14
_RARE = 5
"""Relations that the held-out trees have less often are not judged."""


def check(job: Job) -> list[InputError]:
    """What is wrong with the file of annotated sentences."""
    return wrong_files(lambda: job.trees, [()])


def run(job: Job, settings: Mapping[str, Any]) -> Findings:
    """Learn to parse, and measure on trees that were held out."""
    path, bank = job.kit.paths("tagged")[0], job.trees
    check_enough(path, len(bank), FEWEST_SENTENCES, "annotated sentence")
    if (bank.heads < 0).all():
        raise LeftOut(path, None, "the words have no heads")
    with naming(path):
        bank.check_trees()
        return _learned(job, bank, settings)


def _learned(job: Job, bank: Treebank, settings: Mapping[str, Any]) -> Findings:
    single = bool((np.add.reduceat(bank.heads == 0, bank.corpus.sentence_starts[:-1]) == 1).all())
    learner = MstParser(order=settings["order"], single_root=single, **job.work)
    train, held = job.split_trees
    points = list(learning_curve(learner, train, held, settings["points"]))
    found = points[-1].parser.annotate(held, confidence=True)
    final = job.fit(learner.replace(), bank, name=FILE, save=True)
    rows = [row for row in attachment_by(held, found, "relation") if float(row["words"]) >= _RARE]
    named = final.provenance_["relations"] > 0
    return {
        "sentences": len(bank),
        "words": bank.corpus.n_tokens,
        "held_out": len(held),
        "crossing": final.crossing_,
        "measures": points[-1].result.to_json(),
        "curve": [[p.sentences, *(p.result[f"{name}{end}"] for name in ("uas", "las") for end in ("", "_low", "_high"))]
                  for p in points],
        "worst": sorted(rows, key=lambda row: float(row["las"]))[:_RELATIONS] if named else [],
        "examples": _examples(held, found),
    }  # fmt: skip


def _examples(held: Treebank, found: Treebank) -> list[dict[str, Any]]:
    """A few sentences with our tree and the heads that are right: some with mistakes first."""
    lengths, starts = held.corpus.lengths, held.corpus.sentence_starts
    wrong = np.add.reduceat(np.append(held.heads != found.heads, False).astype(np.int64), starts[:-1])
    fitting = np.flatnonzero((lengths > 3) & (lengths <= _LONGEST))
    chosen = fitting[np.lexsort((fitting, -np.minimum(wrong[fitting], 2)))][:_EXAMPLES]
    examples = []
    for sentence in chosen.tolist():
        ours, right = found[sentence : sentence + 1], held.sentence_heads(sentence).tolist()
        examples.append({
            "words": ours.corpus.words(0), "heads": ours.heads.tolist(), "right": right,
            "relations": ours.relations.strings(),
            "confidence": [float(note.rpartition("=")[2]) for note in ours.misc.strings()],
        })  # fmt: skip
    return examples


PARSER = Step(
    name="parser", title="Dependency parser", version=1, needs=("tagged",), writes=(FILE,), run=run,
    report=chapter.report, check=check, settings=SETTINGS, learned="a dependency parser", kernels="corpuscle.parse",
)  # fmt: skip
