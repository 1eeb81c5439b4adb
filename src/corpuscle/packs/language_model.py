"""The language model of a pack: which order suits the text, how good it is, and what surprises it.

Models of orders 1 to 5 learn from nine tenths of the text and are measured on the tenth that they have not seen. The
best order is then learned once more, from everything: that model is the one in the pack.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import numpy as np

from corpuscle.errors import InputError, warn
from corpuscle.figures import Series, line_plot
from corpuscle.lm import NgramModel, find_markup
from corpuscle.packs import page
from corpuscle.packs.heldout import FEWEST_DOCUMENTS, part_held
from corpuscle.packs.step import FEWEST_SPACES, Chapter, Findings, Job, Step
from corpuscle.progress import bar
from corpuscle.random import purpose_id, shuffle, stream
from corpuscle.text.corpus import Corpus
from corpuscle.text.overlap import item_hashes, seen
from corpuscle.text.vocab import FIRST, UNKNOWN

__all__ = ["LANGUAGE_MODEL"]

FILE = "models/lm.model"
SETTINGS = {"method": "mkn", "orders": [1, 2, 3, 4, 5], "min_count": 1}
_SURPRISING, _ORDINARY, _SAMPLED = 8, 3, 5
_FEWEST_WORDS = 6  # a sentence of a word or two is surprising by accident
_MOST_WORDS = 60


def _run(job: Job, settings: Mapping[str, Any]) -> Findings:
    text, (train, held_out, unit) = job.text, job.halves
    if (markup := find_markup(text)) is not None:
        raise InputError(*job.place(markup[0]), f"a literal {markup[1]}, which stands for the edge of a sentence")
    if job.unspaced and text is job.raw:
        warn(
            f"fewer than {page.percent(FEWEST_SPACES, 0)} of the characters are spaces, and words are what stands "
            "between spaces: split the text into words before learning from it"
        )

    def learned(order: int, corpus: Corpus) -> NgramModel:
        model = NgramModel(
            method=settings["method"], order=order, min_count=settings["min_count"], workers=job.workers, seed=job.seed
        )
        return model.fit(corpus)

    figures: list[dict[str, Any]] = []
    best: NgramModel | None = None
    with bar("language model", len(settings["orders"]) + 1) as progress:
        longest = learned(max(settings["orders"]), train)
        for order in settings["orders"]:
            model = longest.at_order(order)
            result = model.perplexity(held_out, seed=job.seed)
            figures.append({"order": order, **result.to_json()})
            if best is None or _perplexity(figures[-1]) < min(map(_perplexity, figures[:-1])):
                best = model
            progress.advance(note=f"order {order}: {result['perplexity']:.1f}")
        assert best is not None
        final = learned(best.order_, text)
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
            "unit": unit,
            "sentences": len(held_out),
            "words": held_out.n_tokens,
            "repeated_sentences": int(repeated.sum()),
            "repeated_words": int(held_out.lengths[repeated].sum()),
        },
        "orders": figures,
        "order": best.order_,
        "coverage": _coverage(train, recoded, job.seed),
        "frequencies": _frequencies(text),
        **_surprises(best, held_out),
        "sampled": list(final.sample(_SAMPLED, seed=job.seed, max_length=_MOST_WORDS)),
        "ngrams": np.diff(final.tables_.levels).tolist(),
        "bytes": (job.pack / FILE).stat().st_size,
    }


def _perplexity(figures: Mapping[str, Any]) -> float:
    value = figures["perplexity"]
    return float("inf") if value is None else value


def _coverage(train: Corpus, held_out: Corpus, seed: int) -> dict[str, list[float]]:
    """The share of held-out words that are unseen after reading so many tokens, and covered by so many types.

    Sentences are read in random order: in their own, the curve would tell the order of topics and not the need of
    text.
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
    return {
        "read": read.tolist(),
        "unseen": unseen.tolist(),
        "vocabulary": sizes.tolist(),
        "covered": covered.tolist(),
    }


def _frequencies(text: Corpus) -> dict[str, list[int]]:
    """How often the r-th most frequent word occurs, for ranks r at equal distances on a log scale."""
    counts = np.sort(text.vocab.counts[FIRST:])[::-1]
    ranks = np.unique(np.geomspace(1, len(counts), 60).astype(np.int64))
    return {"rank": ranks.tolist(), "count": counts[ranks - 1].tolist()}


def _surprises(model: NgramModel, held_out: Corpus) -> dict[str, list[dict[str, Any]]]:
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
                [page.clip(held_out.vocab.word(int(id))), _finite(b), bool(unknown[id])]
                for id, b in zip(ids, surprisal, strict=True)
            ]
            cut = bool(lengths[i] > _MOST_WORDS)
            chosen[key] = {"words": words, "bits_per_token": _finite(means[i]), "cut": cut}
        return list(chosen.values())

    return {"surprising": described(falling, _SURPRISING), "ordinary": described(falling[::-1], _ORDINARY)}


def _finite(bits: float) -> float | None:
    return round(float(bits), 3) if np.isfinite(bits) else None


def _report(findings: Findings, pack: str) -> Chapter:
    by_order = {row["order"]: row for row in findings["orders"]}
    chosen = by_order[findings["order"]]
    held = findings["held_out"]
    unseen = chosen["oov"] / max(1, held["words"])
    model = shlex.quote(f"{pack}/{FILE}")
    return Chapter(
        headline=(
            f"language model of order {findings['order']}: held-out perplexity {_shown(chosen['perplexity'])} "
            f"({_shown(chosen['low'])} to {_shown(chosen['high'])}), {page.percent(unseen)} unknown words"
        ),
        figures={name: chosen[name] for name in chosen if name != "signature"},
        cards=[
            (page.count(findings["words"]), "words of text read"),
            (page.count(findings["types"]), "different words"),
            (_shown(chosen["perplexity"]), "perplexity on unseen text"),
            (page.percent(unseen), "unknown words in unseen text"),
        ],
        body=_in_words(findings, chosen, unseen)
        + _plots(findings)
        + _sentences(findings)
        + page.note(f"How the figures were counted: {chosen['signature'].replace('|', ', ')}."),
        commands=[
            (f"corpuscle lm score {model} TEXT --words", "the surprisal of every word of a text"),
            (f"corpuscle lm perplexity {model} TEXT", "how well the model predicts a text"),
            (f'corpuscle lm next {model} "SOME WORDS"', "what may come next"),
            (f"corpuscle lm sample {model} -n 5", "sentences that the model makes up"),
            (f"corpuscle lm export {model} -o lm.arpa", "the model for other tools"),
        ],
    )


def _shown(number: float | None) -> str:
    return "infinite" if number is None else f"{number:,.1f}" if number < 1000 else f"{number:,.0f}"


def _in_words(findings: Findings, chosen: Mapping[str, Any], unseen: float) -> str:
    held, order = findings["held_out"], findings["order"]
    looks = "looks at each word alone" if order == 1 else f"looks at the last {order - 1} words to predict the next"
    if order == 2:
        looks = "looks at the last word to predict the next"
    whole = "whole documents"
    if held["unit"] == "sentences":
        few = findings["documents"] < FEWEST_DOCUMENTS
        whole = f"single sentences, since {'there are few documents' if few else 'nearly all is in a few documents'}"
    part = part_held(held["words"] / max(1, findings["words"]))
    marked = ", or the text itself marks them as unknown" if findings["marked_unknown"] else ""
    unknown = (
        f"{page.percent(unseen)} of the words were unknown: they do not occur in the text it learned from{marked}. "
        f"Leaving them out, the perplexity is {_shown(chosen['perplexity_without_oov'])}."
        if chosen["oov"]
        else "Not a single word was unknown."
    )
    parts = [
        page.paragraph(
            f"The model {looks}. On text that it had not seen it was, on average, as unsure as if it had to choose "
            f"among {_shown(chosen['perplexity'])} equally likely words (that is its perplexity; for another sample of "
            f"sentences one would expect {_shown(chosen['low'])} to {_shown(chosen['high'])}). {unknown}"
        ),
        page.paragraph(
            f"These figures come from models trained without {part} of the text ({page.count(held['sentences'])} "
            f"sentences, {page.count(held['words'])} words, {whole}, drawn by the seed). The order was chosen by the "
            f"same part. The model in the pack was then trained once more, with the same settings, on all "
            f"{page.count(findings['words'])} words, so it should be a little better than the figures say."
        ),
    ]
    if findings["segmented"]:
        parts.append(
            page.paragraph(
                "The words are those that the segmenter has found. It was not told anything about that part, but it "
                "has read it, which flatters these figures a little; and they are figures a word, so they cannot be "
                "compared with those of other words for the same text."
            )
        )
    sentences = held["repeated_sentences"] / held["sentences"]
    if sentences >= 0.005:
        words = held["repeated_words"] / max(1, held["words"])
        parts.append(
            page.paragraph(
                f"{page.percent(sentences)} of the held-out sentences, with {page.percent(words)} of the words, also "
                "occur word for word in the rest of the text. Repetition makes figures look better than they are."
            )
        )
    return "".join(parts)


def _plots(findings: Findings) -> str:
    rows = [row for row in findings["orders"] if row["perplexity"] is not None]
    plots = []
    if rows:
        line = Series(
            "held-out perplexity",
            *([row[name] for row in rows] for name in ("order", "perplexity", "low", "high")),
        )
        plots.append(
            page.figure(
                line_plot(
                    [line],
                    title="How much context helps",
                    x_label="order: words the model looks at, with the predicted one",
                    y_label="held-out perplexity (lower is better)",
                    x_ticks=line.x,
                    numbers=True,
                ),
                f"The best order is {findings['order']}. The band is the 95 % interval.",
            )
        )
    coverage, frequencies = findings["coverage"], findings["frequencies"]
    plots += [
        page.curve(
            "unknown words",
            coverage["read"],
            [100 * u for u in coverage["unseen"]],
            _trend(coverage),
            title="Would more text help?",
            x_label="words of text read",
            y_label="unknown words in unseen text, %",
            log_x=True,
            zero=True,
        ),
        page.curve(
            "covered",
            coverage["vocabulary"],
            [100 * c for c in coverage["covered"]],
            _few_words(coverage),
            title="How few words cover the text",
            x_label="most frequent words known",
            y_label="share of unseen text that they cover, %",
            log_x=True,
            zero=True,
        ),
        page.curve(
            "words",
            frequencies["rank"],
            frequencies["count"],
            "In most languages this is nearly a straight line (Zipf's law). Steps at the right are the rare words.",
            title="Frequent and rare words",
            x_label="rank of the word",
            y_label="how often it occurs",
            log_x=True,
            log_y=True,
        ),
    ]
    return page.plots(plots)


def _trend(coverage: Mapping[str, Any]) -> str:
    now = coverage["unseen"][-1]
    half = float(np.interp(coverage["read"][-1] / 2, coverage["read"], coverage["unseen"]))
    return (
        f"After half of the text {page.percent(half)} of the words of unseen text were unknown, after all of it "
        f"{page.percent(now)}."
    )


def _few_words(coverage: Mapping[str, Any]) -> str:
    known = [size for size in (10, 100, 1000, 10_000) if size <= coverage["vocabulary"][-1]]
    shares = np.interp(known, coverage["vocabulary"], coverage["covered"])
    said = [
        f"{page.count(size)} words cover {page.percent(share, 0)}" for size, share in zip(known, shares, strict=True)
    ]
    return f"The most frequent {', '.join(said)}." if said else ""


def _sentences(findings: Findings) -> str:
    def shown(sentence: Mapping[str, Any]) -> str:
        tokens = [(word, bits, unknown) for word, bits, unknown in sentence["words"]]
        return page.shaded(tokens + ([("…", 0.0, False)] if sentence["cut"] else []))

    parts = ["<h3>The most surprising sentences</h3>"]
    parts.append(
        page.paragraph(
            "The unseen sentences that the model found hardest, word for word. Look here first for other languages, "
            "misspellings, lists, and passages that were not split into words well."
        )
    )
    parts.append(page.shades())
    parts += [shown(sentence) for sentence in findings["surprising"]]
    parts.append("<h3>The most ordinary ones</h3>")
    parts += [shown(sentence) for sentence in findings["ordinary"]]
    parts.append("<h3>Sentences that the model made up</h3>")
    parts += [
        f'<p class="sentence" dir="auto" translate="no">{page.words(words)}</p>'
        for words in findings["sampled"]
        if words
    ]
    sizes = [(f"n-grams of order {m}", page.count(n)) for m, n in enumerate(findings["ngrams"], 1)]
    return "".join(parts) + "<h3>Size</h3>" + page.facts([*sizes, ("file", f"{findings['bytes'] / 1e6:.2f} MB")])


LANGUAGE_MODEL = Step(
    name="lm",
    title="Language model",
    version=3,
    needs=("text",),
    writes=(FILE,),
    run=_run,
    report=_report,
    settings=SETTINGS,
    after=("segment",),
    learned="a language model",
    kernels="corpuscle.lm",
)
