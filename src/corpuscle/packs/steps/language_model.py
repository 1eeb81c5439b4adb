"""The language model of a pack: which order and method suit the text, how good it is, and what surprises it.

Kneser-Ney models of orders 1 to 5 learn from nine tenths of the text and are measured on the tenth that they have not
seen; at the best order other methods are tried, too. The best of them is then learned once more, from everything: that
model is the one in the pack.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from corpuscle.errors import InputError, warn
from corpuscle.lm import LanguageModel, NgramModel, PlreModel, find_markup
from corpuscle.packs.chapters import language_model as chapter
from corpuscle.packs.job import FEWEST_SPACES, Job
from corpuscle.packs.step import Findings, Step
from corpuscle.progress import bar
from corpuscle.random import purpose_id, shuffle, stream
from corpuscle.text.corpus import Corpus
from corpuscle.text.overlap import item_hashes, seen
from corpuscle.text.vocab import FIRST, UNKNOWN
from corpuscle.text.wording import clip, percent

__all__ = ["LANGUAGE_MODEL"]

FILE = "models/lm.model"
SETTINGS = {"methods": ["mkn", "plre"], "orders": [1, 2, 3, 4, 5], "min_count": 1}
_SURPRISING, _ORDINARY, _SAMPLED = 8, 3, 5
_FEWEST_WORDS = 6  # a sentence of a word or two is surprising by accident
_MOST_WORDS = 60


def _markup(job: Job, text: Corpus) -> list[InputError]:
    """The first literal edge of a sentence, if there is one."""
    found = find_markup(text)
    if found is None:
        return []
    return [InputError(*job.place(found[0]), f"a literal {found[1]}, which stands for the edge of a sentence")]


def check(job: Job) -> list[InputError]:
    """What is wrong with the text."""
    return job.check_text() or _markup(job, job.raw)


def run(job: Job, settings: Mapping[str, Any]) -> Findings:
    """Learn models of several orders, choose one by a tenth that was held out, and learn it from everything."""
    text, (train, held_out, groups) = job.text, job.split
    if wrong := _markup(job, text):  # a segmenter may have split off what was no word before
        raise wrong[0]
    if job.unspaced and text is job.raw:
        warn(
            f"fewer than {percent(FEWEST_SPACES, 0)} of the characters are spaces, and words are what stands "
            "between spaces: split the text into words before learning from it"
        )

    def learned(method: str, order: int, corpus: Corpus) -> Any:
        same = {"order": order, "min_count": settings["min_count"], **job.work}
        model = PlreModel(**same) if method == "plre" else NgramModel(method=method, **same)
        return model.fit(corpus)

    figures: list[dict[str, Any]] = []
    first, *others = settings["methods"]
    best: LanguageModel | None = None
    with bar("language model", len(settings["orders"]) + len(others) + 1) as progress:
        longest = learned(first, max(settings["orders"]), train)
        for order in settings["orders"]:
            model = longest.at_order(order)
            result = model.perplexity(held_out, seed=job.seed)
            figures.append({"order": order, **result.to_json()})
            if best is None or _perplexity(figures[-1]) < min(map(_perplexity, figures[:-1])):
                best = model
            progress.advance(note=f"order {order}: {result['perplexity']:.1f}")
        assert best is not None
        methods = [{"method": first, **figures[settings["orders"].index(best.order_)]}]
        for method in others:
            other = learned(method, best.order_, train)
            result = other.perplexity(held_out, seed=job.seed)
            methods.append({"method": method, "order": best.order_, **result.to_json()})
            if _perplexity(methods[-1]) < min(map(_perplexity, methods[:-1])):
                best = other
            progress.advance(note=f"{method}: {result['perplexity']:.1f}")
        chosen = min(methods, key=_perplexity)["method"]
        final = learned(chosen, best.order_, text)
        final.chosen_["order"] = best.order_
        final.save(job.pack / FILE)
        progress.advance()
    recoded, repeated = held_out.recode(train.vocab), seen(item_hashes(train), held_out)
    return {
        "words": text.n_tokens,
        "types": len(text.vocab) - FIRST,
        "marked_unknown": int((text.tokens == UNKNOWN).sum()),
        "sentences": len(text),
        "segmented": text is not job.raw,
        "documents": 0 if text.document_starts is None else len(text.document_starts) - 1,
        "held_out": {
            "groups": groups,
            "sentences": len(held_out),
            "words": held_out.n_tokens,
            "repeated_sentences": int(repeated.sum()),
            "repeated_words": int(held_out.lengths[repeated].sum()),
        },
        "orders": figures,
        "order": best.order_,
        "methods": methods,
        "method": chosen,
        "coverage": _coverage(train, recoded, job.seed),
        "frequencies": _frequencies(text),
        **_surprises(best, held_out),
        "sampled": list(final.sample(_SAMPLED, seed=job.seed, max_length=_MOST_WORDS)),
        "ngrams": np.diff(final.tables_.levels).tolist(),
    }


def _perplexity(figures: Mapping[str, Any]) -> float:
    value = figures["perplexity"]
    return float("inf") if value is None else value


def _coverage(train: Corpus, held_out: Corpus, seed: int) -> dict[str, list[float]]:
    """The share of held-out words that are unseen after reading so many tokens, and covered by so many types.

    Sentences are read in random order: in their own, the curve would tell the order of topics and not the need of text.
    """
    order = np.arange(len(train))
    shuffle(stream(seed, purpose_id("packs.coverage"), 0, 0), order)
    n_types = len(train.vocab)
    first_seen = np.full(n_types, train.n_tokens, np.int64)
    types, first = np.unique(train.select(order).tokens, return_index=True)
    first_seen[types] = first
    first_seen[UNKNOWN] = train.n_tokens
    reached = np.sort(first_seen[held_out.tokens])
    read = np.unique(np.geomspace(min(100, train.n_tokens), train.n_tokens, 25).astype(np.int64))
    unseen = 1 - np.searchsorted(reached, read, side="left") / max(1, len(reached))

    by_frequency = np.argsort(-train.vocab.counts[FIRST:], kind="stable") + FIRST
    rank = np.full(n_types, n_types, np.int64)
    rank[by_frequency] = np.arange(len(by_frequency))
    ranks = np.sort(rank[held_out.tokens])
    sizes = np.unique(np.geomspace(1, max(1, len(by_frequency)), 30).astype(np.int64))
    covered = np.searchsorted(ranks, sizes, side="left") / max(1, len(ranks))
    return {"read": read.tolist(), "unseen": unseen.tolist(), "vocabulary": sizes.tolist(), "covered": covered.tolist()}


def _frequencies(text: Corpus) -> dict[str, list[int]]:
    """How often the r-th most frequent word occurs, for ranks r at equal distances on a log scale."""
    counts = np.sort(text.vocab.counts[FIRST:])[::-1]
    ranks = np.unique(np.geomspace(1, len(counts), 60).astype(np.int64))
    return {"rank": ranks.tolist(), "count": counts[ranks - 1].tolist()}


def _surprises(model: LanguageModel, held_out: Corpus) -> dict[str, list[dict[str, Any]]]:
    """The held-out sentences with the highest and the lowest surprisal a word, each only once."""
    bits, starts = model.surprisals(held_out)
    lengths = held_out.lengths
    means = np.add.reduceat(bits, starts[:-1]) / np.diff(starts)
    long_enough = np.flatnonzero(lengths >= min(_FEWEST_WORDS, int(lengths.max())))
    unknown = model.vocab_.mapping_from(held_out.vocab) == UNKNOWN
    falling = long_enough[np.argsort(-means[long_enough], kind="stable")]

    def described(order: np.ndarray, most: int) -> list[dict[str, Any]]:
        chosen: dict[bytes, dict[str, Any]] = {}
        for i in order:
            key = held_out.sentence(i).tobytes()
            if key in chosen:
                continue
            if len(chosen) == most:
                break
            ids = held_out.sentence(i)[:_MOST_WORDS]
            surprisal = bits[starts[i] : starts[i] + len(ids)]
            words = [
                [clip(held_out.vocab.word(int(id))), _finite(b), bool(unknown[id])]
                for id, b in zip(ids, surprisal, strict=True)
            ]
            cut = bool(lengths[i] > _MOST_WORDS)
            chosen[key] = {"words": words, "bits_per_token": _finite(means[i]), "cut": cut}
        return list(chosen.values())

    return {"surprising": described(falling, _SURPRISING), "ordinary": described(falling[::-1], _ORDINARY)}


def _finite(bits: float) -> float | None:
    return round(float(bits), 3) if np.isfinite(bits) else None


LANGUAGE_MODEL = Step(
    name="lm", title="Language model", version=4, needs=("text",), writes=(FILE,), run=run, report=chapter.report,
    check=check, settings=SETTINGS, after=("segment",), learned="a language model", kernels="corpuscle.lm",
)  # fmt: skip
