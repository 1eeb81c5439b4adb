"""The draft translator of a pack: what it makes of sentences that it has not seen, and how near that comes.

A model learns from nine tenths of the pairs (and tunes its weights on a tenth of those) and is measured on the tenth
that it has not seen. Then one is learned from all pairs and the links of the pack, with the weights of the first: that
is the one in the pack.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corpuscle.measure import Result, bleu
from corpuscle.packs import page
from corpuscle.packs.chapter import Card, Chapter, Findings, amount, between, grade, learned_from, pick
from corpuscle.packs.step import Job, Settings, Step, check_enough, declared, naming
from corpuscle.packs.systems.alignments import LINKS
from corpuscle.text import Bitext
from corpuscle.text.alignments import read_pharaoh
from corpuscle.text.heldout import tenth
from corpuscle.text.wording import beginning, counted, percent
from corpuscle.translate import PhraseTranslator

FILE = "models/translate.model"
FEWEST_PAIRS = 1000  # with fewer, most words of a new sentence are unknown
_SHOWN, _WORDS, _LONGEST = 12, 30, 100


@dataclass(frozen=True)
class Drafts(Findings):
    """How near drafts of ``held_out`` sentences come to the translations in the file; ``entries``: phrase pairs;
    ``unknown``: the share of words; ``same``: drafts that are the translation; ``examples``: sentence, draft,
    translation."""

    pairs: int
    held_out: int
    tuned_on: int
    entries: int
    measures: Result
    unknown: float
    same: int
    examples: tuple[tuple[str, str, str], ...]

    def chapter(self, step: Step) -> Chapter:
        score, much = 100 * self.measures["bleu"], amount(self.pairs, 2_000, 50_000, "translations", ("few", "many"))
        low, high = (100 * edge for edge in pick(self.measures, "low", "high").values())
        perfect = "the very words of the other translator"
        how = grade(score, (40, "Good drafts"), (20, "Drafts to correct"), (10, "Rough drafts"), (0, "Hardly usable"))
        return Chapter(
            headline=f"draft translator: BLEU {score:.1f} on {counted(self.held_out, 'unseen sentence')}",
            figures={
                "pairs": self.pairs, "sentences": self.held_out,
                **pick(self.measures, "bleu", "low", "high", "length_ratio"), "unknown": self.unknown,
            },
            cards=[Card(f"{score:.0f}", "BLEU of drafts of unseen sentences", f"{perfect}: 100")],
            body=[
                learned_from(
                    f"{counted(self.pairs, 'sentence pair')}: {counted(self.entries, 'phrase pair')}", "model",
                    f"was measured on {counted(self.held_out, 'sentence')} that it has not seen: BLEU {score:.1f} "
                    f"{between(low, high, '{:.1f}'.format)}, with words as they are in the files. "
                    f"{counted(self.same, 'draft')} of these are the translation in the file, word for word; "
                    f"{percent(self.unknown)} of the words were unknown and are copied. A draft is to be corrected, "
                    "not to be trusted.", "pairs",
                    f"them, its weights tuned on {counted(self.tuned_on, 'pair')} of the others,",
                    "settings and weights",
                ),
                *page.titled(
                    "Drafts of unseen sentences", ("sentence", "draft", "translation in the file"), self.examples
                ),
            ],
            verdict=f"{how}, {much}: BLEU {score:.0f}, where 100 are {perfect}; "
            f"{percent(self.unknown, 0)} of the words of new sentences are unknown.",
        )  # fmt: skip


def learn(job: Job, settings: Settings) -> Drafts:
    bitext, folder = job.parallel, job.kit.folder / "parallel"
    lengths = np.column_stack([bitext.source.lengths, bitext.target.lengths])
    usable = np.flatnonzero(((lengths > 0) & (lengths <= _LONGEST)).all(axis=1))
    check_enough(folder, len(usable), FEWEST_PAIRS, "sentence pair")
    held = np.array(tenth(usable.tolist(), job.seed, "packs/translate"))
    test, part = bitext.select(held[: settings["measured_on"]]), bitext.select(np.setdiff1d(usable, held))
    with naming(folder):
        model = PhraseTranslator(aligner=settings["aligner"], **job.common)
        job.fit(model, Bitext(part.source.counted(), part.target.counted()), None, None, name=FILE)
        final = model.replace(tune=False).fit(bitext, links=read_pharaoh(job.pack / LINKS))
    final.set_weights(model.weights_)
    final.save(job.pack / FILE)
    found = [ranked[0].target for ranked in model.translate(test.source)]
    sources, wanted = ([" ".join(words) for words in side] for side in (test.source, test.target))
    unknown = set(model.decoder.unknown(list(test.source)))
    missing = sum(word in unknown for words in test.source for word in words)
    shown = [[beginning(text.split(), _WORDS) for text in each[:_SHOWN]] for each in (sources, found, wanted)]
    return Drafts(
        pairs=len(usable), held_out=len(test), tuned_on=model.provenance_["tuning_pairs"], entries=len(final.table_),
        measures=bleu(found, wanted, seed=job.seed), unknown=missing / max(1, test.source.n_tokens),
        same=sum(a == b for a, b in zip(found, wanted, strict=True)), examples=tuple(zip(*shown, strict=True)),
    )  # fmt: skip


TRANSLATOR = declared("translate", 1, (FILE,), learn, Drafts)
