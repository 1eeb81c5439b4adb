"""What the sides of the language-model benchmark do inside their processes, and how their output is read.

Imports stay inside the functions: the harness itself must remain small (see there).
"""

from __future__ import annotations

import json
from pathlib import Path

LN_10 = 2.302585092994046


def read_json(output: str) -> dict[str, float]:
    """Figures from the last line of ``--json``."""
    figures = json.loads(output.splitlines()[-1])
    return {key: figures[key] for key in ("perplexity", "tokens")}


def read_query(output: str) -> dict[str, float]:
    """Figures from KenLM's summary."""
    lines = dict(line.split(":", 1) for line in output.splitlines() if ":" in line)
    return {"perplexity": float(lines["Perplexity including OOVs"]), "tokens": int(lines["Tokens"])}


def score_corpus(timer, model: str, text: str) -> dict[str, float]:
    """Log probability of every event of an encoded corpus, model warm."""
    import corpuscle
    from corpuscle.text import read_text

    ours = corpuscle.load(model)
    corpus = read_text(text, vocab=ours.vocab_, unk_token=ours.unk_token)
    assert ours.automaton_ is not None  # laid out for much text, as KenLM's is when it is loaded
    ours.events(corpus[:10])
    with timer:
        events = ours.events(corpus)
    return {"tokens": len(events.log_probability), "sum (ln)": float(events.log_probability.sum())}


def score_strings(timer, model: str, text: str) -> dict[str, float]:
    """From a list of strings to the log probability of each, encoding included, model warm."""
    import corpuscle

    ours = corpuscle.load(model)
    lines = _lines(text, "<unk>")
    assert ours.automaton_ is not None
    ours.score(lines[:10])
    with timer:
        scores = ours.score(lines)
    return {"tokens": int(scores.tokens.sum()), "sum (ln)": float(scores.log_probability.sum())}


def score_with_kenlm(timer, arpa: str, text: str) -> dict[str, float]:
    """A loop over sentences with KenLM's module."""
    import kenlm

    theirs = kenlm.Model(arpa)
    lines = _lines(text, r"\<unk>")
    theirs.score(lines[0])
    with timer:
        total = 0.0
        for line in lines:
            total += theirs.score(line)
    return {"tokens": sum(len(line.split()) + 1 for line in lines), "sum (ln)": total * LN_10}


def agreement(timer, model: str, arpa: str, text: str) -> dict[str, float]:
    """The largest difference between our log10 probabilities and KenLM's, of a word and of a sentence (a word)."""
    import kenlm
    import numpy as np

    import corpuscle
    from corpuscle.text import read_text

    ours, theirs = corpuscle.load(model), kenlm.Model(arpa)
    events = ours.events(read_text(text, vocab=ours.vocab_, unk_token=ours.unk_token))
    lines = _lines(text, r"\<unk>")
    with timer:
        words = [score for line in lines for score, _, _ in theirs.full_scores(line)]
    difference = np.abs(events.log_probability / np.log(10) - np.array(words))
    sentences = np.add.reduceat(difference, events.starts[:-1]) / np.diff(events.starts)
    return {
        "events": len(words),
        "largest of a word": float(difference.max()),
        "largest mean of a sentence": float(sentences.max()),
    }


def load(timer, model: str) -> dict[str, float]:
    """From file to first score; importing the class and what it needs is not counted."""
    import corpuscle
    from corpuscle.lm import NgramModel  # noqa: F401

    with timer:
        score = corpuscle.load(model).log_probability(["the", "end"])
    return {"score (ln)": score}


def load_with_kenlm(timer, path: str) -> dict[str, float]:
    """From file to first score with KenLM's module."""
    import kenlm

    with timer:
        score = kenlm.Model(path).score("the end") * LN_10
    return {"score (ln)": score}


def sizes(timer, files: dict[str, str]) -> dict[str, float]:
    """Sizes in MB."""
    return {name: Path(path).stat().st_size / 1e6 for name, path in files.items()}


def _lines(text: str, unknown: str) -> list[str]:
    with open(text, encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n").replace("<unk>", unknown) for line in file]
