"""The word vectors of a pack, and words of several senses.

Vectors are learned from the whole text, for words that occur at least five times; their dimensions are a quarter of the
number of those words, at most 100. Neighbours are shown for words of middle frequency: the most frequent ones after
those that make up half of the text, which are mostly function words.

A vector says one thing about a word, wherever it stands. Senses come from a hidden Markov model, in which the class of
a word depends on its sentence. It learns from running text, where a word depends on its left neighbour, or from the
dependency trees of the kit, where they have at least as many words as the running text: from the same text, trees
without labels give classes that fit parts of speech worse than those of chains do, and fewer words make it worse still.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from corpuscle.errors import InputError, SettingError, warn
from corpuscle.packs.chapters import word_vectors as chapter
from corpuscle.packs.job import Job
from corpuscle.packs.step import Findings, LeftOut, Step, by_rule, check_enough
from corpuscle.packs.steps.word_classes import number_of_classes
from corpuscle.text.conllu import read_conllu
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import FIRST
from corpuscle.text.wording import clip
from corpuscle.words import Forest, HmmClasses, PpmiVectors, ambiguous_words, forest_of, map_shown

__all__ = ["WORD_VECTORS", "number_of_dimensions", "number_of_passes"]

FILE, SENSES = "models/vectors.model", "models/senses.model"
FEWEST, MOST_DIMENSIONS, MOST_CLASSES = 20, 100, 128
SETTINGS = {
    "method": "ppmi",
    "min_count": 5,
    "dimensions": f"a quarter of the words that occur so often, at most {MOST_DIMENSIONS}",
    "senses": f"hidden Markov, as many classes as words have, at most {MOST_CLASSES}",
    "passes": "10; fewer for large texts",
}
_ASKED = 500
_SHOWN, _NEIGHBOURS, _ON_MAP, _AROUND = 24, 8, 8, 8
_AMBIGUOUS, _LEAST, _SHARE, _OTHERS, _LONGEST = 12, 20, 0.1, 8, 30


def number_of_dimensions(words: int) -> int:
    """The rule: the dimensions of vectors of so many words.

    >>> number_of_dimensions(20), number_of_dimensions(10_000)
    (5, 100)
    """
    return min(MOST_DIMENSIONS, words // 4)


def number_of_passes(tokens: int) -> int:
    """The rule: how often the hidden Markov model goes over a text of so many tokens.

    >>> number_of_passes(60_000), number_of_passes(2_000_000), number_of_passes(100_000_000)
    (10, 5, 1)
    """
    return max(1, min(10, 10_000_000 // max(1, tokens)))


def _trees(job: Job, fewest: int) -> Forest | None:
    """The trees of the kit, if there are at least so many words in them."""
    parts = []
    for path in job.kit.paths("tagged"):
        try:
            bank = read_conllu(path)
            if not (bank.heads >= 0).any():
                continue
            parts.append(forest_of(bank, "tree", path=path))
        except InputError as error:
            warn(f"no senses from trees: {error}")
            return None
    return Forest.joined(parts) if parts and sum(part.n_tokens for part in parts) >= fewest else None


def run(job: Job, settings: Mapping[str, Any]) -> Findings:
    """Learn vectors from the text and senses from the text or from trees."""
    text, folder, least = job.text.counted(), job.kit.folder / "text", settings["min_count"]
    counts = text.vocab.counts[FIRST:]
    words = int((counts >= least).sum())
    check_enough(folder, words, FEWEST, f"word that occurs {least} times", f"words that occur {least} times")
    chosen = {"min_count": least, "dimensions": by_rule(settings["dimensions"], number_of_dimensions(words))}
    try:
        vectors = job.fit(PpmiVectors(**chosen, **job.work), text, name=FILE, save=True)
    except SettingError as error:  # words that hardly ever stand together span few directions
        raise LeftOut(folder, None, str(error)) from None
    shown = _middle(text, least, vectors)
    source: Corpus | Forest = _trees(job, text.n_tokens) or text
    model = _senses(job, source, settings)
    return {
        **chosen,
        "words": words,
        "tokens": text.n_tokens,
        "nearest": [
            {
                "word": word,
                "count": int(text.vocab.counts[text.vocab.id(word)]),
                "neighbours": vectors.nearest(word, _NEIGHBOURS),
            }
            for word in shown
        ],
        "map": [place._asdict() for place in map_shown(vectors, shown[:_ON_MAP], _AROUND)],
        "structure": model.structure,
        "also_from": ["tagged"] if model.structure == "tree" else [],
        "classes": model.n_classes_,
        "passes": len(model.history_) - 1,
        "read": model.n_tokens_,
        "least": _LEAST,
        "share": _SHARE,
        "senses": _described(model, source),
        "alike": _alike(vectors, model),
    }


def _alike(vectors: PpmiVectors, model: HmmClasses) -> dict[str, float]:
    """How often the nearest neighbour of a word is of its main hidden class, which was learned in another way, and how
    often any other word would be; of so many words."""
    words = [word for word in vectors.vocab_.strings[FIRST:] if word in model.vocab_]
    sizes = np.bincount([model.class_of(word) for word in words], minlength=model.n_classes_) / max(1, len(words))
    asked = [word for word in words[:_ASKED] if vectors.vectors_of([word]).any()]
    pairs = [(word, near[0][0]) for word in asked if (near := vectors.nearest(word, 1))]
    same = [float(model.class_of(word) == model.class_of(other)) for word, other in pairs if other in model.vocab_]
    chance = [sizes[model.class_of(word)] for word, other in pairs if other in model.vocab_]
    return {"share": float(np.mean(same or [0.0])), "chance": float(np.mean(chance or [0.0])), "words": len(same)}


def _middle(text: Corpus, least: int, vectors: PpmiVectors) -> list[str]:
    """Words to show: the most frequent ones after those that make up half of the text, where they are frequent
    enough; otherwise all that are."""
    counts = text.vocab.counts
    order = np.argsort(-counts[FIRST:], kind="stable") + FIRST
    after = order[np.cumsum(counts[order]) > counts[FIRST:].sum() / 2]
    kept = [id for id in after if counts[id] >= least] or [id for id in order if counts[id] >= least]
    words = (text.vocab.word(int(id)) for id in kept)
    return [word for word in words if vectors.vectors_of([word]).any()][:_SHOWN]


def _senses(job: Job, source: Corpus | Forest, settings: Mapping[str, Any]) -> HmmClasses:
    corpus = source.corpus if isinstance(source, Forest) else source
    counts = corpus.vocab.counts[FIRST:]
    model = HmmClasses(
        classes=min(MOST_CLASSES, number_of_classes(counts[counts > 0])),
        structure="tree" if isinstance(source, Forest) else "chain",
        passes=by_rule(settings["passes"], number_of_passes(corpus.n_tokens)),
        **job.work,
    )
    return job.fit(model, source, name=SENSES, save=True)


def _described(model: HmmClasses, source: Corpus | Forest) -> list[dict[str, Any]]:
    """Ambiguous words as plain data, their sentences cut to what stands around them."""
    result = []
    for word in ambiguous_words(model, source, _AMBIGUOUS, _LEAST, _SHARE, _OTHERS):
        senses = []
        for sense in word.classes:
            first = max(0, min(sense.place - _LONGEST // 2, len(sense.sentence) - _LONGEST))
            kept = [clip(each) for each in sense.sentence[first : first + _LONGEST]]
            senses.append({
                "class": sense.number, "share": sense.share, "words": [clip(each) for each in sense.words],
                "sentence": kept, "place": sense.place - first,
                "cut": [first > 0, first + _LONGEST < len(sense.sentence)],
            })  # fmt: skip
        result.append({"word": clip(word.word), "count": word.tokens, "ambiguity": word.ambiguity, "senses": senses})
    return result


WORD_VECTORS = Step(
    name="vectors", title="Word vectors and senses", version=2, needs=("text",), writes=(FILE, SENSES), run=run,
    report=chapter.report, check=Job.check_text, settings=SETTINGS, after=("segment",), kernels="corpuscle.words",
    wants=("tagged",), learned="word vectors and senses",
)  # fmt: skip
