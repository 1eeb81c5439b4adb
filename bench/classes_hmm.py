"""Hidden Markov classes: tokens a second by classes and projection, growth with the text, and the log-likelihood of
text that was held out by projection (also on the way, batch by batch), step size, splitting, prior, estimator, start.

The text is the Brown corpus, its 15,000 most frequent words; every tenth sentence is held out. There is no peer: no
other tool that is kept up learns hidden Markov models on trees, or with projections.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harness import HERE, Call, Cell, Claim, table, typical

TYPES = 15_000
SPEEDS = {
    "128 classes, k-best 16": {"classes": 128, "k_best": 16},
    "128 classes, epsilon 0.01": {"classes": 128, "k_best": "all", "epsilon": 0.01},
    "128 classes, exact": {"classes": 128, "k_best": "all"},
    "512 classes, k-best 16": {"classes": 512, "k_best": 16},
}
ONLINE = {"classes": 128, "estimator": "online", "passes": 2}
PROJECTIONS = {
    **{f"k-best {k}": {"k_best": k} for k in (4, 8, 16, 32)},
    **{f"epsilon {epsilon}": {"k_best": "all", "epsilon": epsilon} for epsilon in (0.1, 0.01, 0.001)},
    "exact": {"k_best": "all"},
}
DECAYS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
QUALITY: dict[str, tuple[str, dict[str, dict[str, Any]]]] = {
    "projections": ("projections, 128 classes, online, 2 passes", PROJECTIONS),
    "priors": (
        "priors of words and transitions, 128 classes",
        {
            **{f"online, 5 passes, priors {words:g} and {steps:g}": {"passes": 5, "prior": words, "prior_steps": steps}
               for words, steps in ((0, 0), (0.003, 0.3), (0.01, 0.1), (0.01, 0.3), (0.01, 1.0), (0.03, 0.3))},
            **{f"batch, 10 passes, priors {words:g} and {steps:g}":
               {"estimator": "batch", "passes": 10, "prior": words, "prior_steps": steps}
               for words, steps in ((0, 0), (0.01, 0.3))},
        },
    ),
    "decay": ("step sizes, 128 classes, online, 2 passes", {f"decay {d}": {"decay": d} for d in DECAYS}),
    "splitting": (
        "splitting, 128 classes, online, 4 passes",
        {
            **{f"{name}, {init}": {"split": split, "init": init, "passes": 4}
               for init in ("exchange", "random") for name, split in (("all at once", None), ("from 32", 32))},
        },
    ),
    "estimators": (
        "estimators and starts, 128 classes",
        {
            "hard classes": {"passes": 0},
            **{f"online, {passes} passes": {"passes": passes} for passes in (1, 2, 5)},
            "batch, 10 passes": {"estimator": "batch", "passes": 10},
            "batch, 10 passes, random": {"estimator": "batch", "passes": 10, "init": "random"},
            "online, 5 passes, random": {"passes": 5, "init": "random"},
        },
    ),
}  # fmt: skip


def cells(data: Path) -> Iterator[Cell]:
    """All measurements, cheap ones first."""
    text = data / "brown" / "brown.txt"
    yield Cell(
        "speed",
        "Brown corpus, one pass of online learning from random counts",
        tuple(
            Call(f"{name}, {workers} workers", "bench.classes_hmm:speed", {"text": str(text), "workers": workers} | how)
            for name, how in SPEEDS.items()
            for workers in ((1, 2) if how["k_best"] == 16 else (1,))
        ),
        inputs=(text,),
    )
    yield Cell(
        "growth",
        "parts of the Brown corpus, 128 classes, k-best 16, one worker",
        tuple(
            Call(
                f"1/{part} of the text",
                "bench.classes_hmm:speed",
                {"text": str(text), "workers": 1, "part": part} | how,
            )
            for part in (8, 4, 2, 1)
            for how in [SPEEDS["128 classes, k-best 16"]]
        ),
        inputs=(text,),
    )
    yield Cell(
        "curves",
        "Brown corpus, held-out log-likelihood and support batch by batch, 128 classes, random start",
        tuple(
            Call(side, "bench.classes_hmm:curve", {"text": str(text), "settings": ONLINE | {"init": "random"} | how})
            for side, how in PROJECTIONS.items()
        ),
        inputs=(text,), repeats=1, warm_up=False,
    )  # fmt: skip
    for name, (title, sides) in QUALITY.items():
        calls = tuple(
            Call(side, "bench.classes_hmm:held_out", {"text": str(text), "settings": ONLINE | how})
            for side, how in sides.items()
        )
        yield Cell(name, f"Brown corpus, {title}", calls, inputs=(text,), repeats=1, warm_up=False)


def claims(results: dict[str, Any]) -> list[Claim]:
    """What these figures must show."""
    fast, linear = "Online learning, 128 classes, k-best 16, 2 workers", "Time grows like the text: exponent"
    claims = [Claim(fast, "200,000 tokens a second"), Claim(linear, "1.1")]
    if "speed" in results:
        rate = typical(results["speed"], "128 classes, k-best 16, 2 workers", "tokens a second")
        claims[0] = Claim(fast, "200,000 tokens a second", f"{rate:,.0f}", rate >= 200_000)
    if "growth" in results:
        few, many = (typical(results["growth"], f"1/{part} of the text") for part in (8, 1))
        exponent = math.log(many / few) / math.log(8)
        claims[1] = Claim(linear, "1.1", f"{exponent:.2f}", exponent <= 1.1)
    return claims


def tables(results: dict[str, Any]) -> list[str]:
    """All tables; and the pictures of what projections keep and lose."""
    if "curves" in results:
        _draw_curves(results["curves"])
    return [table(result) for result in results.values()]


def _draw_curves(result: dict[str, Any]) -> None:
    from corpuscle.figures import Series, line_plot

    runs = {side: each[0]["curves"] for side, each in result["runs"].items()}
    for what, title, log in (
        ("log-likelihood", "Held-out log-likelihood a token", False),
        ("support", "Classes that messages keep", True),
    ):
        lines = [Series(side, curves["batch"], curves[what]) for side, curves in runs.items()]
        picture = line_plot(lines, title=title, x_label="batches of 10,000 tokens", log_x=True, log_y=log)
        (HERE.parent / "docs" / "images" / f"classes-hmm-{what}.svg").write_text(picture)


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    return "\n".join([
        "### Notes",
        "",
        f"- The {TYPES:,} most frequent words; all others are the unknown word. Held out: every tenth sentence; "
        "the log-likelihood is that of exact inference, in nats a token; support: how many classes messages keep.",
        "- Speed: passes of online learning over an encoded text, kernels warm; counting the text under the "
        "finished model, which `train` does in the end, takes as long as another pass.",
    ])


def _text(path: str, part: int = 1):
    """The sentences to learn from and those held out."""
    import numpy as np

    from corpuscle.text import read_text
    from corpuscle.words import warm

    warm()
    corpus = read_text(path)
    corpus = corpus[: len(corpus) // part]
    held_out = np.arange(len(corpus)) % 10 == 0
    return corpus.select(~held_out), corpus.select(held_out)


def speed(
    timer, text: str, classes: int, k_best: int | str, workers: int, epsilon: float = 0.0, part: int = 1
) -> dict[str, float]:
    """One pass of online learning."""
    from corpuscle.words.hmm_learning import Em

    corpus, _ = _text(text, part)
    model = _model(classes=classes, k_best=k_best, epsilon=epsilon, estimator="online", passes=1, init="random")
    model.workers, step = workers, Em.step

    def timed(self, sweep, number):
        with timer:
            step(self, sweep, number)

    Em.step = timed
    model.fit(corpus)
    return {"tokens a second": corpus.n_tokens / timer.wall, "support": model.history_[0].support}


def held_out(timer, text: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Learn, and look at what was held out."""
    train, dev = _text(text)
    model = _model(**settings)
    with timer:
        model.fit(train)
    result = model.evaluate(dev)
    return {
        "log-likelihood": result["log_likelihood"],
        "projected": result["projected"],
        "support": result["support"],
        "of training": model.history_[-1].log_likelihood,
        "supports": [step.support for step in model.history_],
    }


def curve(timer, text: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Learn, and look at a fifth of what was held out, and at the support of the last batch, on the way."""
    from corpuscle.words.hmm_learning import Em, Parameters, batches_of, expect, links_of, weights_of

    train, dev = _text(text)
    model, step = _model(workers=1, **settings), Em.step
    seen: dict[str, list[float]] = {"batch": [], "log-likelihood": [], "support": []}
    forest = None

    def watched(em, sweep, number):
        nonlocal forest
        with timer:
            before = em.tallies[1]
            step(em, sweep, number)
            kept = em.tallies[1] - before
        t = sweep * len(em.batches) + number + 1
        if t & (t - 1) and t != em.total:
            return
        forest = forest or _forest(dev, em)
        (batch,) = batches_of(forest, links_of(forest, []), forest.n_tokens, 8192)
        weights = weights_of(*em.first_and_steps(), em.emissions(batch.types))
        now = Parameters(weights, em.table.n_classes, 0.0)
        logs = sum(expect(chunk, now).likelihoods.sum() for chunk in batch.chunks)
        seen["batch"].append(t)
        seen["log-likelihood"].append(float(logs / forest.n_tokens))
        seen["support"].append(float(kept / em.batches[number].tokens))

    def _forest(corpus, em):
        from corpuscle.words import Forest

        cut, _ = train.counted().vocab.cut(1, TYPES)
        assert len(cut) == len(em.occurs)
        return Forest.chain(corpus[: len(corpus) // 5].recode(cut))

    Em.step = watched
    model.fit(train)
    last = {f"last {name}": values[-1] for name, values in seen.items() if name != "batch"}
    return {**last, **seen}


def _model(**settings: Any):
    from corpuscle.words import HmmClasses

    return HmmClasses(max_types=TYPES, **settings)
