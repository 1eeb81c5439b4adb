"""Pitman-Yor language models beside modified Kneser-Ney: perplexity, sweeps a second, memory a token.

WikiText-2, training to validation text, all words kept, as in the benchmark ``lm``; the Brown corpus with every tenth
sentence held out. The models have the same vocabulary, so their perplexities can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harness import Call, Cell, Claim, typical

SWEEPS, SAMPLES = 30, 5
ORDERS = (3, 5)


def cells(data: Path) -> Iterator[Cell]:
    """All comparisons, cheap ones first."""
    wikitext = (data / "wikitext2" / "train.txt", data / "wikitext2" / "valid.txt")
    brown = (data / "brown" / "brown.txt",)
    for name, title, inputs in (("brown", "Brown corpus", brown), ("wikitext2", "WikiText-2", wikitext)):
        texts = {"train": str(inputs[0]), "test": str(inputs[-1])}
        sides = [
            Call(f"{method}, order {order}", f"bench.lm_pitman_yor:{function}", {**texts, "order": order})
            for method, function, orders in (("mkn", "counted", ORDERS), ("hpy", "sampled", (*ORDERS, "infinite")))
            for order in orders
        ]
        yield Cell(name, title, tuple(sides), inputs=inputs, repeats=1, warm_up=False)


def claims(results: dict[str, Any]) -> list[Claim]:
    """What these figures must show."""
    found = []
    for name, result in results.items():
        ours, theirs = (typical(result, f"{method}, order 3", "perplexity") for method in ("hpy", "mkn"))
        claim = f"{name}: perplexity of hpy, order 3, over that of mkn"
        found.append(Claim(claim, "1.01", f"{ours / theirs:.3f}", ours <= 1.01 * theirs))
    return found


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    return "\n".join(
        [
            "### Notes",
            "",
            f"- {SWEEPS} sweeps, {SAMPLES} samples averaged; `last sample` is the perplexity of the last one alone. "
            "Times are of training on an encoded corpus with warm kernels, on one thread.",
            "- Million tokens a second: words reseated in a CPU second of a sweep, hyperparameters included. Bytes a "
            "token: the arrays of the sampler.",
        ]
    )


def _texts(train: str, test: str):
    """Training and test text in one vocabulary; one file alone has every tenth sentence held out."""
    import numpy as np

    from corpuscle.text import read_text

    corpus = read_text(train, unk_token="literal")
    if train != test:
        return corpus, read_text(test, unk_token="literal")
    held_out = np.arange(len(corpus)) % 10 == 9
    return corpus.select(~held_out), corpus.select(held_out)


def counted(timer, train: str, test: str, order: int) -> dict[str, float]:
    """Interpolated modified Kneser-Ney."""
    from corpuscle.lm import NgramModel, warm

    warm()
    corpus, other = _texts(train, test)
    with timer:
        model = NgramModel(method="mkn", order=order, min_count=1, unk_token="literal", workers=1).fit(corpus)
    return {"perplexity": float(model.perplexity(other, draws=1)["perplexity"])}


def sampled(timer, train: str, test: str, order: int | str) -> dict[str, float]:
    """A Pitman-Yor model; one more run of a sampler alone for its speed and size."""
    import time

    from corpuscle.learning import sweep
    from corpuscle.lm import HpyModel, warm

    warm()
    corpus, other = _texts(train, test)
    settings: dict[str, Any] = {"min_count": 1, "unk_token": "literal", "workers": 1}
    with timer:
        model = HpyModel(order=order, sweeps=SWEEPS, samples=SAMPLES, **settings).fit(corpus)
    averaged = float(model.perplexity(other, draws=1)["perplexity"])
    last = HpyModel(order=order, sweeps=1, samples=1, **settings)
    last.vocab_, last.ngrams_, last.samples_ = model.vocab_, model.ngrams_, model.samples_[-1:]
    sampler = last._sampler(corpus)
    spent = []
    for number in range(4):
        begin = time.process_time()
        sweep(sampler, number)
        spent.append(time.process_time() - begin)
    words = corpus.n_tokens + len(corpus)
    return {
        "perplexity": averaged,
        "last sample": float(last.perplexity(other, draws=1)["perplexity"]),
        "million tokens a second": words / min(spent[1:]) / 1e6,
        "bytes a token": sum(array.nbytes for array in sampler.pool) / words,
    }
