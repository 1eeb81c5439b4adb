"""Neural transliteration: accuracy of one network, of several, ranked from the end, with synthetic pairs, and together
with the phrase model; by the number of pairs; and CPU time of training beside a plain loop over PyTorch's own cells.

Every model learns from the training file alone; 500 names of it stop the training of networks and tune the weights of
the combination, and the phrase model of the combination has not seen them either. Figures are on the development file,
on which nothing was chosen. Trained models are kept beside the cells, and a training that was stopped goes on.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harness import CELLS, HERE, Call, Cell, Claim, row, typical
from bench.transliterate import SETS, _figures, _interval

TABLE = ("en-hi", "en-vi", "en-fa", "en-ja", "ar-en", "wikidata-he", "wikidata-ru")
SINGLE = ("en-hi", "en-vi")
CURVE = {500: 40, 1000: 25, 2000: 15, 5000: 8}
"""Pairs of the learning curve, and how often networks go through them: 600 to 1,300 updates of 32 pairs."""
SYSTEMS = ("phrase", "one network", "four networks", "and two from the end", "combined")
SOURCES = ("corpuscle/neural/*.py", "corpuscle/engine/neural/*.py", "corpuscle/transliterate/*.py")
LOOP = tuple(f"corpuscle/neural/{name}.py" for name in ("network", "training", "examples"))
JOB = "bench.transliterate_neural:systems"
UPDATES = 10
CURVES = ("cross-entropy by validation", "accuracy by validation")


def cells(data: Path) -> Iterator[Cell]:
    """One network each; the whole table; with names of one side; by number of pairs; time of training."""
    yield Cell(
        "training", "Training, en-hi, tiny, batches of 128", tuple(
            Call(side, f"bench.transliterate_neural:{job}", {"train": str(data / SETS["en-hi"][0])})
            for side, job in (("corpuscle", "ours"), ("plain loop", "plain_loop"))
        ), "plain loop", (data / SETS["en-hi"][0],), None, 2, False, LOOP,
    )  # fmt: skip
    for name in SINGLE:
        yield _cell(data, name, f"{name}, one network", [("tiny", {})])
    for name in SINGLE:
        without = {"dropout": 0.0, "symbol_dropout": 0.0}
        sides = [("without dropout", without), ("transformer", {"preset": "transformer"})]
        yield _cell(data, name, f"{name}, other networks", sides)
    pool = {"pool": [str(data / SETS[name][0]) for name in ("en-vi", "en-fa", "en-ja")]}
    ways = [("out of English", {"side": "source"}), ("into English", {"side": "target", "reverse": True})]
    for way, facts in ways:
        sides = [("real pairs", facts), ("and synthetic ones", {**facts, **pool})]
        yield _cell(data, "en-hi", f"en-hi, synthetic pairs, {way}", sides)
    for name in TABLE:
        yield _cell(data, name, f"{name}, all systems", [("all", {"ensemble": 4, "right_to_left": 2})])
    train, dev = (str(data / path) for path in SETS["en-hi"])
    sides = [
        Call(f"{size:,} pairs", JOB, {"train": train, "dev": dev, "size": size, "max_epochs": epochs, "batch": 32})
        for size, epochs in CURVE.items()
    ]
    inputs = (data / SETS["en-hi"][0],)
    yield Cell("curve", "en-hi by number of pairs", tuple(sides), None, inputs, None, 1, False, SOURCES)


def _cell(data: Path, name: str, title: str, sides: list[tuple[str, dict[str, Any]]]) -> Cell:
    train, dev = (data / path for path in SETS[name])
    calls = [Call(side, JOB, {"train": str(train), "dev": str(dev), **facts}) for side, facts in sides]
    return Cell(title, title, tuple(calls), None, (train, dev), None, 1, False, SOURCES)


# ---- the sides


def systems(
    timer,
    train: str,
    dev: str,
    size: int | None = None,
    reverse: bool = False,
    side: str = "",
    pool: tuple[str, ...] = (),
    **settings: Any,
) -> dict[str, float]:
    """Learn, keep the networks, and measure all systems that there are; ``pool``: make synthetic pairs of the sources
    of these files, which are names of this ``side``."""
    from corpuscle.transliterate import (
        CombinedTransliterator,
        NeuralTransliterator,
        PhraseTransliterator,
        Synthetic,
        read_names,
        reversed_pairs,
    )

    network = NeuralTransliterator(**settings)
    pairs, held_out = read_names(train)[:size], read_names(dev)
    if reverse:
        pairs, held_out = reversed_pairs(pairs), reversed_pairs(held_out)
    rest, tuning = network.divided(pairs, 1, 500)
    names = {pair.source: None for path in pool for pair in read_names(path)}
    more = {"synthetic": Synthetic(list(names), side)} if names else {}
    facts = (train, size, reverse, side, tuple(pool), sorted(settings.items()))
    key = hashlib.blake2b(repr(facts).encode(), digest_size=8).hexdigest()
    path = CELLS / "files" / f"network-{key}"
    path.parent.mkdir(parents=True, exist_ok=True)
    begin = time.process_time()
    unfinished = path.with_name(path.name + ".partial").exists()
    with network.checkpoint(rest, tuning, path, unfinished, **more) as checkpoint:
        network.fit(rest, tuning, checkpoint, **more)
        network.save(path)
    figures = {"CPU s of training here": time.process_time() - begin, "validations": len(network.history_)}
    figures |= {name: network.history_[:, column].tolist() for column, name in enumerate(CURVES)}
    figures |= {"pairs": len(pairs), "names": len(held_out)}
    phrase = PhraseTransliterator().fit(rest)
    models: dict[str, Any] = {"phrase": phrase, "one network": _members(network, 1, 0)}
    if network.ensemble > 1:
        models["four networks"] = _members(network, network.ensemble, 0)
    if network.right_to_left:
        models["and two from the end"] = network
    models["combined"] = CombinedTransliterator().fit(phrase, network, tuning)
    for name, model in models.items():
        found = model.transliterate([pair.source for pair in held_out], 20)
        measured = _figures([[candidate.target for candidate in ranked] for ranked in found], held_out)
        figures |= {f"{name}: {figure}": value for figure, value in measured.items()}
    return figures


def _members(network: Any, ensemble: int, right_to_left: int) -> Any:
    """Some of the models of a network as one of their own."""
    few = network.replace(ensemble=ensemble, right_to_left=right_to_left)
    few.vocab_, few.history_, few.models_ = network.vocab_, network.history_, network.models_[:ensemble]
    return few


def _task(train: str) -> Any:
    from corpuscle.text.vocab import Vocab
    from corpuscle.transliterate import NeuralTransliterator, read_names

    model = NeuralTransliterator()
    training, held = model.divided(read_names(train), 1, 500)
    rows = model._rows(training)
    model.vocab_ = Vocab.from_words(sorted({letter for each in rows for side in each for letter in side}))
    return model._tasks(model._lessons(rows, held, len(rows)))[0]


def ours(timer, train: str) -> dict[str, float]:
    """CPU time of some updates, after some more."""
    from corpuscle.neural.training import advance, begun

    task = _task(train)
    progress = advance(begun(task, 1), task, 2)
    with timer:
        advance(progress, task, UPDATES)
    return {"updates": UPDATES, "ms of CPU an update": 1000 * timer.cpu / UPDATES}


def plain_loop(timer, train: str) -> dict[str, float]:
    """A model of the same size (sizes, numbers of cells and attention; no layer normalisation, one layer more in the
    place of a deeper one), written as one does with ``nn.GRU`` and ``nn.GRUCell``, one target position after the other,
    batches as they come, ``torch.optim.Adam``."""
    import numpy as np
    import torch
    from torch import nn

    from corpuscle.neural.training import _batch

    torch.set_num_threads(1)
    task = _task(train)
    a, symbols = task.architecture, len(task.vocabs[0])

    class Plain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            d, e = a.state, a.embedding
            self.embedding = nn.Embedding(symbols, e)
            self.encoder = nn.GRU(e, d, 2, bidirectional=True, batch_first=True)
            self.start, self.keys = nn.Linear(2 * d, d), nn.Linear(2 * d, a.attention)
            self.query, self.score = nn.Linear(d, a.attention), nn.Linear(a.attention, 1)
            self.read, self.output = nn.Linear(e + 3 * d, e), nn.Linear(e, symbols)
            self.first, self.second, self.third = nn.GRUCell(e, d), nn.GRUCell(2 * d, d), nn.GRUCell(d, d)
            self.dropout = nn.Dropout(0.2)

        def forward(self, sources: Any, inputs: Any, real: Any) -> Any:
            context, _ = self.encoder(self.dropout(self.embedding(sources)))
            keys, h = self.keys(context), torch.tanh(self.start(context.mean(1)))
            logits = []
            for j in range(inputs.shape[1]):
                y = self.dropout(self.embedding(inputs[:, j]))
                h = self.first(y, h)
                scores = self.score(torch.tanh(keys + self.query(h).unsqueeze(1))).squeeze(-1)
                shares = torch.softmax(scores.masked_fill(~real, -1e9), -1)
                c = (shares.unsqueeze(1) @ context).squeeze(1)
                h = self.second(self.dropout(c), h)
                h = self.third(h, h)
                logits.append(self.output(torch.tanh(self.read(torch.cat([y, h, c], -1)))))
            return torch.stack(logits, 1)

    model = Plain()
    adam = torch.optim.Adam(model.parameters(), lr=0.002)
    order = np.random.default_rng(1).permutation(len(task.training))

    def update(number: int) -> None:
        inputs, wanted, real = _batch(task.training, order[number * task.plan.batch : (number + 1) * task.plan.batch])
        adam.zero_grad()
        nn.functional.cross_entropy(model(*inputs)[real], wanted[real]).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()

    update(0)
    with timer:
        for number in range(1, UPDATES + 1):
            update(number)
    return {"updates": UPDATES, "ms of CPU an update": 1000 * timer.cpu / UPDATES}


# ---- the report


def tables(results: dict[str, Any]) -> list[str]:
    """ACC of all systems; by number of pairs; pictures of the training and of the latter."""
    if "en-hi, one network" in results:
        draw_training(*(results["en-hi, one network"]["runs"]["tiny"][0]["curves"][name] for name in CURVES))
    if "curve" in results:
        _draw_pairs(results["curve"]["runs"])
    head = ["ACC (95 % interval)", "pairs", *SYSTEMS, "CPU s of training"]
    lines = ["### Accuracy on unseen names", "", row(head), row(["---"] + ["---:"] * (len(head) - 1))]
    for name, result in results.items():
        for side, (run, *_) in result["runs"].items():
            figures = run["figures"]
            if "pairs" in figures:
                found = [_interval(_of(figures, s), "acc") if f"{s}: acc" in figures else "" for s in SYSTEMS]
                seconds = f"{figures['CPU s of training here']:,.0f}"
                lines.append(row([f"{name}: {side}", f"{figures['pairs']:,.0f}", *found, seconds]))
    return ["\n".join(lines)]


def draw_training(entropies: list[float], accuracies: list[float]) -> None:
    """Cross-entropy and accuracy of held-out names after each validation."""
    from corpuscle.figures import Series, line_plot

    passes = range(1, len(entropies) + 1)
    picture = line_plot(
        [Series("accuracy of names", passes, accuracies), Series("cross-entropy of a letter", passes, entropies)],
        title="A network learns to write names",
        description="Accuracy and cross-entropy (nats) of 500 held-out names, English to Hindi, tiny, by passes.",
        x_label="passes over the pairs", y_label="accuracy; nats", zero=True,
    )  # fmt: skip
    (HERE.parent / "docs" / "images" / "neural-training.svg").write_text(picture + "\n", encoding="utf-8")


def _draw_pairs(runs: dict[str, Any]) -> None:
    """Accuracy by the number of pairs."""
    from corpuscle.figures import Series, line_plot

    figures = {int(side.partition(" ")[0].replace(",", "")): run[0]["figures"] for side, run in runs.items()}
    systems = ("phrase", "one network", "combined")
    picture = line_plot(
        [Series(system, list(figures), [each[f"{system}: acc"] for each in figures.values()]) for system in systems],
        title="Accuracy by the number of pairs",
        description="Accuracy on development names, English to Hindi, of phrases, a network and both, by pairs.",
        x_label="pairs", y_label="accuracy", log_x=True, zero=True, x_ticks=list(figures),
    )  # fmt: skip
    (HERE.parent / "docs" / "images" / "neural-pairs.svg").write_text(picture + "\n", encoding="utf-8")


def _of(figures: dict[str, float], system: str) -> dict[str, float]:
    return {name.partition(": ")[2]: value for name, value in figures.items() if name.startswith(f"{system}: ")}


def claims(results: dict[str, Any]) -> list[Claim]:
    """What these figures must show."""
    targets = {
        ("en-hi, one network", "tiny", "one network"): 0.45,
        ("en-hi, all systems", "all", "and two from the end"): 0.465,
        ("en-hi, all systems", "all", "combined"): 0.50,
    }
    made = []
    for (cell, side, system), target in targets.items():
        text = f"{cell.partition(',')[0]}, ACC of {system}"
        if cell not in results:
            made.append(Claim(text, f"{target}"))
            continue
        acc = typical(results[cell], side, f"{system}: acc")
        made.append(Claim(text, f"{target}", f"{acc:.3f}", acc >= target))
    if "training" in results:
        mine, other = (typical(results["training"], s, "ms of CPU an update") for s in ("corpuscle", "plain loop"))
        text, share = "CPU time of an update beside a plain loop", mine / other
        made.append(Claim(text, "at most 1.0", f"{share:.2f}", share <= 1))
    return made


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    return "\n".join(
        [
            "### Notes",
            "",
            "- ACC as the NEWS tasks define it, beam 20 for 20 candidates. All systems of a row learned from the same "
            "pairs, without the 500 that networks stop by and the combination is tuned on; the phrase model alone "
            "would learn from them too.",
            "- *CPU s of training*: of this process; members that were trained in other processes are not in it.",
            "- *Plain loop*: a model of the same sizes without layer normalisation, an `nn.GRU` of two layers reads, "
            "three `nn.GRUCell` write, batches of unequal lengths, PyTorch's Adam.",
        ]
    )
