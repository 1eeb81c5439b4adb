"""Hidden Markov language models by linear algebra and by EM: perplexity and CPU time by states and by tokens, beside
modified Kneser-Ney; and how the error shrinks with the text where the truth is known.

The Brown corpus, one sentence in twenty held out for the test, one for the share of unigrams. All models of a row know
the same words. Random hidden Markov models with 3 states and 10 words are the truth of the last table.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harness import HERE, Call, Cell, Claim, row, table, typical

ESTIMATORS = ("hkz", "reduced", "em", "spectral-em")
STATES = (5, 10, 20, 30, 50)
PART = 3
"""The tables by states have every third sentence."""
PARTS = (9, 3, 1)
PASSES = 50
SIZES = (300, 1000, 3000, 10_000, 30_000)
SEEDS = (1, 2, 3, 4, 5)
_SOURCES = ("corpuscle/lm/*.py", "corpuscle/lm/kernels/*.py", "corpuscle/words/hmm_*.py", "corpuscle/engine/**/*.py")


def cells(data: Path) -> Iterator[Cell]:
    """All comparisons, cheap ones first."""
    text = data / "brown" / "brown.txt"
    how: dict[str, Any] = {"inputs": (text,), "repeats": 1, "warm_up": False, "sources": _SOURCES}
    truth = tuple(Call(each, "bench.lm_hmm:excess", {"estimator": each}) for each in ESTIMATORS)
    yield Cell("truth", "random hidden Markov models", truth, repeats=1, warm_up=False, sources=_SOURCES)
    for states in STATES:
        title = f"Brown corpus, one sentence in {PART}, {states} states"
        yield Cell(f"states-{states}", title, _sides(text, states, PART), **how)
    for part in PARTS:
        if part != PART:
            yield Cell(
                f"part-{part}", f"Brown corpus, one sentence in {part}, 20 states", _sides(text, 20, part), **how
            )


def _sides(text: Path, states: int, part: int) -> tuple[Call, ...]:
    given = {"text": str(text), "part": part}
    sides = [Call(each, "bench.lm_hmm:hidden", {**given, "estimator": each, "states": states}) for each in ESTIMATORS]
    return (*sides, Call("mkn", "bench.lm_hmm:counted", given))


def claims(results: dict[str, Any]) -> list[Claim]:
    """What these figures must show: what the literature promises of spectral learning, that it is as good as EM in a
    fraction of the time."""
    quality = Claim("20 states: perplexity of hkz over that of em", "1.02")
    time = Claim("20 states: CPU time of em over that of hkz", "10")
    mixed = Claim("20 states: perplexity of mkn mixed with hkz over that of mkn", "0.95")
    shrinks = Claim("the error of every estimator shrinks with the text", "yes")
    if (result := results.get("states-20")) is not None:
        ratio = typical(result, "hkz", "perplexity") / typical(result, "em", "perplexity")
        faster = typical(result, "em", "cpu") / typical(result, "hkz", "cpu")
        gain = typical(result, "hkz", "mixed with mkn") / typical(result, "mkn", "perplexity")
        mixed = Claim(mixed.text, mixed.target, f"{gain:.3f}", gain <= 0.95)
        quality = Claim(quality.text, quality.target, f"{ratio:.3f}", ratio <= 1.02)
        time = Claim(time.text, time.target, f"{faster:.1f}", faster >= 10)
    if "truth" in results:
        curves = [_curve(results["truth"], each) for each in ESTIMATORS]
        holds = all(curve[-1] < curve[0] for curve in curves)
        shrinks = Claim(shrinks.text, shrinks.target, "yes" if holds else "no", holds)
    return [quality, time, mixed, shrinks]


def _curve(result: dict[str, Any], estimator: str, what: str = "excess") -> list[float]:
    return [typical(result, estimator, f"{what} {size}") for size in SIZES]


def tables(results: dict[str, Any]) -> list[str]:
    """Perplexity and CPU seconds by states and by tokens, the error by sentences, and one cell in full; the pictures of
    the page are drawn on the way."""
    found = [
        _side_by_side("states", {str(states): results.get(f"states-{states}") for states in STATES}),
        _side_by_side("tokens", {_tokens(result): result for part in PARTS if (result := _of_part(results, part))}),
    ]
    if "truth" in results:
        lines = [row(["estimator", *(f"{size:,}" for size in SIZES)]), row(["---", *["---:"] * len(SIZES)])]
        lines += [row([each, *(f"{x:.2f}" for x in _curve(results["truth"], each))]) for each in ESTIMATORS]
        found.append("\n".join(["### Perplexity above that of the truth, percent, by sentences", "", *lines]))
    _draw(results)
    return [*found, *(table(results[name]) for name in ("states-20",) if name in results)]


def _of_part(results: dict[str, Any], part: int) -> dict[str, Any] | None:
    return results.get("states-20" if part == PART else f"part-{part}")


def _tokens(result: dict[str, Any]) -> str:
    return f"{typical(result, 'hkz', 'tokens'):,.0f}"


def _side_by_side(title: str, rows: dict[str, dict[str, Any] | None]) -> str:
    """A table with a row for each result and a column for each model."""
    sides = (*ESTIMATORS, "mkn")
    lines = [row([title, *sides]), row(["---:"] * (len(sides) + 1))]
    for name, result in rows.items():
        if result is not None:
            figures = [(typical(result, side, "perplexity"), typical(result, side, "cpu")) for side in sides]
            lines.append(row([name, *(f"{quality:.1f} ({cpu:.1f})" for quality, cpu in figures)]))
    return "\n".join([f"### Perplexity (CPU seconds of training) by {title}", "", *lines])


def _draw(results: dict[str, Any]) -> None:
    """Perplexity by states, and the error and the singular values by sentences, for the page."""
    from corpuscle.figures import Series, line_plot

    images = HERE.parent / "docs" / "images"
    found = [results.get(f"states-{states}") for states in STATES]
    if all(found):
        lines = [
            Series(each, STATES, [typical(result, each, "perplexity") for result in found if result])
            for each in (*ESTIMATORS, "mkn")
        ]
        title = "Perplexity by states, a third of the Brown corpus"
        picture = line_plot(lines, title=title, x_label="states", y_label="perplexity", x_ticks=STATES)
        (images / "spectral-states.svg").write_text(picture)
    if "truth" in results:
        curves = [Series(each, SIZES, _curve(results["truth"], each)) for each in ESTIMATORS]
        title = "Perplexity above that of the truth, in percent"
        picture = line_plot(curves, title=title, x_label="sentences", y_label="percent", log_x=True, log_y=True)
        (images / "spectral-error.svg").write_text(picture)
        names = {"smallest of the model": "smallest", "next, which is zero in truth": "next", "1 / sqrt(N)": "noise"}
        values = [Series(name, SIZES, _curve(results["truth"], "hkz", what)) for name, what in names.items()]
        title = "Canonical correlations of neighbouring symbols"
        picture = line_plot(values, title=title, x_label="sentences", y_label="", log_x=True, log_y=True)
        (images / "spectral-values.svg").write_text(picture)


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    return "\n".join(
        [
            "### Notes",
            "",
            f"- Words that occur once are the unknown word. EM has one random start and at most {PASSES} passes. CPU "
            "time is that of `fit` on an encoded text, on one worker, kernels warm, the choice of the share of "
            "unigrams on the development text included.",
            "- resets: how often a belief begins anew, a symbol of the training text; smallest: the last of the "
            "canonical correlations that the model has.",
            f"- The truth: {len(SEEDS)} random models with 3 states, 10 words and the end; mean of the perplexity on "
            "held-out text over that of the truth, less one, in percent. No share of unigrams is chosen (0.001), "
            "predictions are at least 0.0001.",
        ]
    )


def _texts(path: str, part: int):
    """The sentences to learn from, to tune on and to test on."""
    import numpy as np

    from corpuscle.lm import warm
    from corpuscle.text import read_text

    warm()
    corpus = read_text(path)
    place = np.arange(len(corpus)) % 20
    train = corpus.select((place != 9) & (place != 19))
    return train.select(np.arange(len(train)) % part == 0), corpus.select(place == 9), corpus.select(place == 19)


def hidden(timer, text: str, part: int, estimator: str, states: int) -> dict[str, float]:
    """A hidden Markov model."""
    from corpuscle.lm import HmmModel, Mixture, NgramModel

    train, dev, test = _texts(text, part)
    settings = {"passes": PASSES} if "em" in estimator else {}
    with timer:
        model = HmmModel(estimator=estimator, states=states, workers=1, **settings).fit(train, dev)
    figures, mixed = model.summary(), Mixture([model, NgramModel(order=3, workers=1).fit(train, dev)]).fit(dev)
    more = {"passes": figures["passes"]} if settings else {"smallest": figures["smallest_singular_value"]}
    return {
        "perplexity": float(model.perplexity(test, draws=1)["perplexity"]),
        "mixed with mkn": float(mixed.perplexity(test, draws=1)["perplexity"]),
        "tokens": train.n_tokens,
        "resets": figures["resets"],
        "unigram share": figures["unigram_share"],
        **more,
    }


def counted(timer, text: str, part: int) -> dict[str, float]:
    """Interpolated modified Kneser-Ney, order 3, discounts chosen on the development text."""
    from corpuscle.lm import NgramModel

    train, dev, test = _texts(text, part)
    with timer:
        model = NgramModel(order=3, workers=1).fit(train, dev)
    return {"perplexity": float(model.perplexity(test, draws=1)["perplexity"]), "tokens": train.n_tokens}


def excess(timer, estimator: str) -> dict[str, float]:
    """How much worse than the truth, by sentences; the mean over some random truths."""
    import numpy as np

    from bench.lm_truth import Truth
    from corpuscle.lm import HmmModel, warm

    warm()
    settings: dict[str, Any] = {"passes": PASSES} if "em" in estimator else {}
    settings |= {"kappa": 0.0, "rank_tolerance": 0.0} if estimator != "em" else {}
    found: dict[str, list[float]] = {}
    for seed in SEEDS:
        truth = Truth(seed, k=3, n=10, stop=0.1, evenness=0.5)
        test = truth.corpus(2000)
        for size in SIZES:
            corpus = truth.corpus(size)
            with timer:
                model = HmmModel(
                    estimator=estimator, states=3, min_count=1, pool=1, unigram_share=1e-3, least=1e-4, workers=1,
                    **settings,
                ).fit(corpus)  # fmt: skip
            ratio = float(model.perplexity(test, draws=1)["perplexity"]) / truth.perplexity(test)
            found.setdefault(f"excess {size}", []).append(100 * (ratio - 1))
            if estimator == "hkz":
                for name, value in zip(("smallest", "next"), model.values_[-2:].tolist(), strict=True):
                    found.setdefault(f"{name} {size}", []).append(value)
                found.setdefault(f"noise {size}", []).append(model.summary()["noise"])
    return {name: float(np.mean(values)) for name, values in found.items()}
