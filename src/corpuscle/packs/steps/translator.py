"""The draft translator of a pack: what it makes of sentences that it has not seen, and how near that comes.

A model learns from nine tenths of the pairs (and tunes its weights on a tenth of those) and is measured on the tenth
that it has not seen. Then one is learned from all pairs and the links of the pack, with the weights of the first: that
is the one in the pack.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from corpuscle.measure import bleu
from corpuscle.packs.chapters import translator as chapter
from corpuscle.packs.heldout import tenth
from corpuscle.packs.job import Job
from corpuscle.packs.step import Findings, Step, check_enough, naming
from corpuscle.packs.steps.alignments import LINKS, read_parallel
from corpuscle.text import Bitext
from corpuscle.text.alignments import read_pharaoh
from corpuscle.text.wording import beginning
from corpuscle.translate import PhraseTranslator

__all__ = ["TRANSLATOR"]

FILE = "models/translate.model"
SETTINGS = {"method": "phrase", "aligner": "fertility", "measured_on": 1000}
FEWEST_PAIRS = 1000
"""With fewer, most words of a new sentence are unknown."""

_SHOWN, _WORDS, _LONGEST = 12, 30, 100


def run(job: Job, settings: Mapping[str, Any]) -> Findings:
    """Learn to translate, and measure on pairs that were held out."""
    bitext, folder = read_parallel(job).bitext, job.kit.folder / "parallel"
    lengths = np.column_stack([bitext.source.lengths, bitext.target.lengths])
    usable = np.flatnonzero(((lengths > 0) & (lengths <= _LONGEST)).all(axis=1))
    check_enough(folder, len(usable), FEWEST_PAIRS, "sentence pair", "sentence pairs")
    held = np.array(tenth(usable.tolist(), job.seed, "packs/translate"))
    test = bitext.select(held[: settings["measured_on"]])
    part = bitext.select(np.setdiff1d(usable, held))
    with naming(folder):
        model = PhraseTranslator(aligner=settings["aligner"], **job.work)
        job.fit(model, Bitext(part.source.counted(), part.target.counted()), None, None, name=FILE)
        final = model.replace(tune=False)
        final.fit(bitext, links=read_pharaoh(job.pack / LINKS))
    final.set_weights(model.weights_)
    found = [ranked[0].target for ranked in model.translate(test.source)]
    sources, wanted = ([" ".join(words) for words in side] for side in (test.source, test.target))
    final.save(job.pack / FILE)
    unknown = set(model.decoder.unknown(list(test.source)))
    missing = sum(word in unknown for words in test.source for word in words)
    rows = list(zip(sources, found, wanted, strict=True))[:_SHOWN]
    return {
        "pairs": len(usable),
        "held_out": len(test),
        "tuned_on": model.provenance_["tuning_pairs"],
        "entries": len(final.table_),
        "measures": bleu(found, wanted, seed=job.seed).to_json(),
        "unknown": missing / max(1, test.source.n_tokens),
        "same": sum(a == b for a, b in zip(found, wanted, strict=True)),
        "examples": [[beginning(text.split(), _WORDS) for text in row] for row in rows],
    }


TRANSLATOR = Step(
    name="translate", title="Draft translator", version=1, needs=("parallel",), writes=(FILE,), run=run,
    report=chapter.report, settings=SETTINGS, after=("align",), learned="a draft translator",
    kernels="corpuscle.translate",
)  # fmt: skip
