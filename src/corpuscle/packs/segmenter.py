"""The segmenter of a pack: the words of a text that is written without spaces.

Nothing but the text is needed. A model learns from nine tenths of it and is measured on the others; another one, with
the same settings, learns from everything and splits the whole text into words, which is what all later steps work on.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from corpuscle.measure import segmentation_scores
from corpuscle.packs import page
from corpuscle.packs.heldout import part_held, split
from corpuscle.packs.step import FEWEST_SPACES, SEGMENTED, Chapter, Findings, Job, LeftOut, Step, blaming, unfinished
from corpuscle.segment import NestedSegmenter
from corpuscle.segment.chain import HISTORY
from corpuscle.text import write_text
from corpuscle.text.corpus import Corpus
from corpuscle.text.tables import write_table
from corpuscle.text.vocab import FIRST, UNKNOWN

__all__ = ["SEGMENTER", "number_of_iterations"]

FILE, WORDS = "models/segment.model", "words.tsv"
MOST, FEWEST, LETTERS = 200, 30, 40_000_000
SETTINGS = {"method": "npylm", "order": 2, "iterations": f"{MOST}; fewer, down to {FEWEST}, for large texts"}

_EXAMPLES, _LONGEST, _DRAWS, _FREQUENT = 24, 60, 50, 40


def number_of_iterations(letters: int) -> int:
    """The rule: how many sweeps over a text of so many letters.

    >>> number_of_iterations(100_000), number_of_iterations(400_000), number_of_iterations(10_000_000)
    (200, 100, 30)
    """
    return max(FEWEST, min(MOST, LETTERS // max(1, letters)))


def _run(job: Job, settings: Mapping[str, Any]) -> Findings:
    raw, folder, path = job.raw, job.kit.folder / "text", job.pack / FILE
    if not job.unspaced:
        reason = f"{page.percent(job.share_of_spaces)} of the characters of the text are spaces: its words are known"
        raise LeftOut(folder, None, reason)
    letters = sum(
        len(word) * int(n) for word, n in zip(raw.vocab.strings[FIRST:], raw.vocab.counts[FIRST:], strict=True)
    )
    iterations = settings["iterations"] if isinstance(settings["iterations"], int) else number_of_iterations(letters)

    def learned(text: Corpus, name: str) -> NestedSegmenter:
        model = NestedSegmenter(settings["order"], iterations=iterations, seed=job.seed, workers=job.workers)
        place = path.with_name(name)
        with unfinished(lambda resume: model.checkpoint(text, None, place, resume), place) as checkpoint:
            return model.fit(text, checkpoint=checkpoint)

    train, held_out, unit = split(raw, job.seed)
    with blaming(folder):
        measured = learned(train, "segment.measured.model")
        final = learned(raw, path.name)
        final.save(path)
        words = final.segment(raw)
        unseen, seen = measured.segment(held_out), final.segment(held_out)
        figures = measured.perplexity(held_out, spaces=None, seed=job.seed).to_json()
    if raw.document_starts is not None:
        words = words.with_documents(raw.document_starts)
    write_text(words, job.pack / SEGMENTED)
    counts = np.bincount(words.tokens, minlength=len(words.vocab))
    order = np.argsort(-counts, kind="stable")
    frequent = [(words.vocab.word(int(i)), int(counts[i])) for i in order if counts[i] and i >= FIRST]
    write_table(job.pack / WORDS, (), frequent)
    agreed = segmentation_scores(seen, unseen, draws=1).to_json()
    known = unseen.recode(measured.segment(train).vocab).tokens != UNKNOWN
    return {
        "letters": letters,
        "words": words.n_tokens,
        "types": len(frequent),
        "iterations": iterations,
        "max_word": final.max_word,
        "held_out": {"unit": unit, "sentences": len(held_out), "known": float(known.mean()), **figures},
        "agreement": {name: 1.0 if agreed["f1"] == 1.0 else agreed[name] for name in ("f1", "boundary_f1")},
        "history": final.history_[0, 1:, : len(HISTORY)].tolist(),  # nothing is predicted before the first round
        "growth": _growth(words),
        "lengths": _lengths(words),
        "frequent": [[page.clip(word), n] for word, n in frequent[:_FREQUENT]],
        "examples": _examples(measured, held_out, job.seed),
        "bytes": path.stat().st_size,
    }


def _growth(words: Corpus) -> dict[str, list[int]]:
    """How many different words there are among the first n words of the text."""
    _, first = np.unique(words.tokens, return_index=True)
    read = np.unique(np.geomspace(1, max(1, words.n_tokens), 40).astype(np.int64))
    return {"read": read.tolist(), "types": np.searchsorted(np.sort(first), read, side="left").tolist()}


def _lengths(words: Corpus) -> list[float]:
    """The share of words with 1, 2, 3 ... letters; the last is for all longer ones."""
    lengths = np.array([0] * FIRST + [min(len(word), 12) for word in words.vocab.strings[FIRST:]])
    counts = np.bincount(lengths[words.tokens], minlength=13)[1:]
    return (counts / max(1, counts.sum())).tolist()


def _examples(model: NestedSegmenter, held_out: Corpus, seed: int) -> list[list[list[Any]]]:
    """Unseen sentences as letters with the chosen cut and the probability of a cut before each."""
    some = held_out[:_EXAMPLES]
    words = model.segment(some)
    letters, probabilities = model.posterior(some, draws=_DRAWS, seed=seed)
    spelled = letters.vocab.decode(letters.tokens)
    result = []
    for i, (first, last) in enumerate(pairwise(letters.starts.tolist())):
        begins, at = set(), 0
        for word in words.words(i):
            begins.add(at)
            at += len(word)
        cuts, at = [], 0
        for letter in spelled[first:last]:
            cuts.append(at in begins)
            at += len(letter)
        rows = zip(spelled[first:last], cuts, probabilities[first:last].tolist(), strict=True)
        result.append([[letter, cut, round(p, 2)] for letter, cut, p in list(rows)[:_LONGEST]])
    return [example for example in result if example]


def _report(findings: Findings, pack: str) -> Chapter:
    held, model = findings["held_out"], shlex.quote(f"{pack}/{FILE}")
    length = findings["letters"] / max(1, findings["words"])
    return Chapter(
        headline=(
            f"word segmenter: {page.counted(findings['types'], 'different word')} of {length:.1f} letters on average, "
            f"{held['bits_per_letter']:.2f} bits a letter of unseen text"
        ),
        figures={
            **{name: findings[name] for name in ("letters", "words", "types", "iterations")},
            **{name: held[name] for name in ("perplexity", "low", "high", "bits_per_letter", "known")},
            "agreement": findings["agreement"]["f1"],
            "boundary_agreement": findings["agreement"]["boundary_f1"],
        },
        cards=[(page.percent(findings["agreement"]["boundary_f1"], 0), "word boundaries on which two models agree")],
        body=_in_words(findings, length) + _plots(findings) + _frequent(findings) + _shown(findings),
        commands=[
            (f"corpuscle segment apply {model} TEXT", "split other text into words"),
            (f"corpuscle segment lexicon {model}", "the words it knows"),
        ],
    )


def _in_words(findings: Findings, length: float) -> str:
    held, agreed = findings["held_out"], findings["agreement"]
    part = part_held(held["letters"] / findings["letters"])
    return page.paragraph(
        f"Fewer than {page.percent(FEWEST_SPACES, 0)} of the characters of this text are spaces, so its words had to "
        f"be found first. In {findings['iterations']} rounds over the text the computer drew the words of each "
        "sentence anew, given those of all others: words are what makes the whole text most probable. It found "
        f"{page.count(findings['words'])} words, {page.count(findings['types'])} different ones, with {length:.2f} "
        f"letters on average. The longest word it considers has {findings['max_word']} letters. The split text is in "
        f"{SEGMENTED}, all words are in {WORDS}, and all that follows in this report is about those words."
    ) + page.paragraph(
        f"There are no gold words to compare with. A model that learned without {part} of the text "
        f"({page.counted(held['sentences'], 'sentence')}) needs {held['bits_per_letter']:.2f} bits to predict a letter "
        f"of that part (perplexity {held['perplexity']:.2f}, 95 % interval {held['low']:.2f} to {held['high']:.2f}). "
        f"{page.percent(held['known'])} of the words that it finds there also occur in the rest. It and the model in "
        f"the pack, which has the same settings and learned from everything, agree on {page.percent(agreed['f1'])} of "
        f"the words and {page.percent(agreed['boundary_f1'])} of the boundaries of these sentences: where they do not, "
        "the text says too little, and one should not trust either."
    )


def _plots(findings: Findings) -> str:
    history, growth = np.array(findings["history"]), findings["growth"]
    rounds = list(range(1, len(history) + 1))
    courses = (
        (
            0, "log probability", "Has it settled?",
            "In the first half words hardly depend on their neighbours; a line that still rises at the right wants "
            "more rounds.",
        ),
        (1, "perplexity of a letter", "How well letters are predicted", "Each sentence given all others."),
        (3, "different words", "The lexicon, round by round", "Words are tried, kept and dropped."),
    )  # fmt: skip
    plots = [
        page.curve(
            name, rounds, history[:, i].tolist(), said, title=title, x_label="rounds over the text", y_label=name
        )
        for i, name, title, said in courses
    ]
    plots.append(
        page.curve(
            "different words",
            growth["read"],
            growth["types"],
            "Most languages show nearly a straight line (Heaps' law).",
            title="How the lexicon grows with the text",
            x_label="words of text read",
            y_label="different words",
            log_x=True,
            log_y=True,
        )
    )
    return page.plots(plots)


def _frequent(findings: Findings) -> str:
    shown = "".join(
        f'<bdi class="word">{page.escape(word)}</bdi> <small>{page.count(n)}</small> '
        for word, n in findings["frequent"]
    )
    lengths = ", ".join(
        f"{i}{' or more' if i == len(findings['lengths']) else ''}: {page.percent(share, 0)}"
        for i, share in enumerate(findings["lengths"], 1)
        if share >= 0.005
    )
    return f'<h3>The most frequent words</h3><p translate="no">{shown}</p>' + page.note(
        f"Letters of a word, by share of the text: {lengths}."
    )


def _shown(findings: Findings) -> str:
    """The page of examples."""
    lines = []
    for example in findings["examples"]:
        parts = []
        for i, (letter, cut, probability) in enumerate(example):
            if i and cut:
                kind = "cut" if probability >= 0.8 else "cut unsure"
                parts.append(f'<span class="{kind}" title="{page.percent(probability, 0)}">|</span>')
            elif i and probability >= 0.2:
                parts.append(f'<span class="maybe" title="{page.percent(probability, 0)}">¦</span>')
            parts.append(page.escape(letter))
        lines.append(f'<p class="sentence" dir="auto" translate="no">{"".join(parts)}</p>')
    key = (
        '<p class="key"><span class="cut">|</span> a boundary; <span class="cut unsure">|</span> one of which the '
        'model is less than 80 % sure; <span class="maybe">¦</span> none, though it is at least 20 % sure of one</p>'
    )
    return f"<h3>Unseen sentences, split</h3>{key}{''.join(lines)}"


SEGMENTER = Step(
    name="segment",
    title="Word segmenter",
    version=2,
    needs=("text",),
    writes=(FILE, SEGMENTED, WORDS),
    run=_run,
    report=_report,
    settings=SETTINGS,
    learned="a word segmenter",
    kernels="corpuscle.segment",
)
