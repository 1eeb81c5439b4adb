"""Neural transliteration: accuracy of one network, of several, ranked from the end, with synthetic pairs, and together
with the phrase model; by the number of pairs; and CPU time of training beside a plain loop over PyTorch's own cells.

Every model learns from the training file alone; 500 names of it choose the weights of networks and tune those of the
combination, and the phrase model of the combination has not seen them either. Systems of *all pairs* learn from these
names as well: networks keep their last weights, and the combination has the weights that were found without. Figures
are on the development file, on which nothing was chosen. Every network is a cell of its own; it is kept beside the
cells, a training that was stopped goes on, and the cells of several systems put kept networks together.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.harness import HERE, Call, Cell, Claim, row, trained, typical
from bench.transliterate import SETS as NAMES
from bench.transliterate import _figures, _interval

SETS = NAMES | {
    f"dakshina-{language}": (f"translit-dakshina/{language}.train.tsv.gz", f"translit-dakshina/{language}.dev.tsv")
    for language in ("hi", "ta", "bn")
}
TABLE = {
    "en-hi": (4, 2), "en-vi": (4, 2), "en-fa": (1, 0), "ar-en": (1, 0), "en-ja": (1, 0), "wikidata-he": (1, 0),
    "wikidata-ru": (1, 0), "dakshina-hi": (1, 0), "dakshina-ta": (1, 0), "dakshina-bn": (1, 0),
}  # fmt: skip
"""The sets, and how many networks write from the beginning and from the end."""
ALL_PAIRS = ("en-hi",)
"""Sets whose networks learn from the held-out names, too."""
OTHERS: dict[str, dict[str, Any]] = {
    "without dropout": {"dropout": 0.0, "symbol_dropout": 0.0},
    "transformer": {"preset": "transformer"},
    "state 128": {"state": 128},
    "whole names, nothing remembered": {"whole_names": True, "remember": False},
}
SYNTHETIC = {"en-hi": ("en-vi", "en-fa"), "en-vi": ("en-hi",)}
"""Sets, and others whose English names are made pairs of."""
CURVE = (500, 1000, 2000, 5000)
SOURCES = ("corpuscle/neural/*.py", "corpuscle/neural/kernels/*.py", "corpuscle/transliterate/*.py")
LOOP = tuple(
    f"corpuscle/{name}.py"
    for name in ("neural/kernels/gradients", "neural/network", "neural/fused", "neural/training")
)
HELD_OUT, STEP = 500, 1000
UPDATES = 20
HISTORY = ("cross-entropy by validation", "accuracy by validation")


def cells(data: Path) -> Iterator[Cell]:
    """Time of training; every network; systems of them; other networks; names of one side; by number of pairs."""
    yield Cell(
        "training", "Training, en-hi, tiny, batches of 32", tuple(
            Call(side, f"bench.transliterate_neural:{job}", {"train": str(data / SETS["en-hi"][0])})
            for side, job in (("corpuscle", "ours"), ("plain loop", "plain_loop"))
        ), "plain loop", (data / SETS["en-hi"][0],), None, 3, False, LOOP,
    )  # fmt: skip
    for name, (left, right) in TABLE.items():
        for title, facts in {name: {}, f"{name}, all pairs": {"all_pairs": True}}.items():
            if facts and name not in ALL_PAIRS:
                continue
            for number in range(left):
                yield _cell(data, name, f"{title}, network {number + 1}", "network", number=number, **facts)
            for number in range(left, left + right):
                end = f"{title}, network {number - left + 1} from the end"
                yield _cell(data, name, end, "network", number=number, from_end=True, **facts)
            yield _cell(data, name, f"{title}, together", "together", left=left, right=right, **facts)
        if name in SYNTHETIC:
            for kind, settings in OTHERS.items():
                yield _cell(data, name, f"{name}, {kind}", "network", **settings)
    for name, others in SYNTHETIC.items():
        pool = [str(data / SETS[other][0]) for other in others]
        yield _cell(data, name, f"{name}, synthetic, out of English", "network", pool=pool, side="source")
        yield _cell(data, name, f"{name}, into English", "network", reverse=True)
        facts = {"reverse": True, "pool": pool, "side": "target"}
        yield _cell(data, name, f"{name}, synthetic, into English", "network", **facts)
    for size in CURVE:
        yield _cell(data, "en-hi", f"curve, {size} pairs", "together", left=1, right=0, size=size)


def _cell(data: Path, name: str, title: str, job: str, **facts: Any) -> Cell:
    train, dev = (data / path for path in SETS[name])
    call = Call(job, f"bench.transliterate_neural:{job}", {"train": str(train), "dev": str(dev), **facts})
    return Cell(title, title, (call,), None, (train, dev), None, 1, False, SOURCES)


# ---- the sides


def _pairs(path: str, reverse: bool = False, size: int | None = None) -> list[Any]:
    from corpuscle.transliterate import read_names, reversed_pairs

    pairs = (_romanised(path) if "dakshina" in path else read_names(path))[:size]
    return reversed_pairs(pairs) if reverse else pairs


def _romanised(path: str) -> list[Any]:
    """Romanisations with the words that they may stand for, those of most annotators first."""
    from corpuscle.text.pairs import Pair
    from corpuscle.text.tables import read_table

    found: dict[str, dict[str, int]] = {}
    for _, (word, romanisation, annotators) in read_table(path):
        found.setdefault(romanisation, {})[word] = int(annotators)
    return [Pair(name, tuple(sorted(words, key=lambda word: -words[word]))) for name, words in found.items()]


def _divided(train: str, reverse: bool, size: int | None) -> tuple[list[Any], list[Any]]:
    """Pairs to learn from, and those that stop the training and tune combinations."""
    from corpuscle.transliterate import NeuralTransliterator

    return NeuralTransliterator().divided(_pairs(train, reverse, size), 1, HELD_OUT)


def _turned(name: str, by_word: bool) -> str:
    """A name, or each of its words, from the end, grapheme clusters as they are."""
    from corpuscle.text.scripts import clusters
    from corpuscle.transliterate.preparation import Spelling

    normal = Spelling().normal(name)
    return " ".join("".join(reversed(clusters(part))) for part in (normal.split() if by_word else [normal]))


def _learned(
    train: str,
    number: int = 0,
    from_end: bool = False,
    reverse: bool = False,
    size: int | None = None,
    pool: tuple[str, ...] = (),
    side: str = "",
    all_pairs: bool = False,
    **settings: Any,
) -> tuple[Any, float]:
    """A single network, kept or learned now, and the CPU seconds of its training. ``number``: which one of an
    ensemble; ``all_pairs``: no names are held out; ``pool``: synthetic pairs are made of the sources of these files,
    names of this ``side``, by the first network from the real sources to the real targets."""
    from corpuscle.text.pairs import Pair
    from corpuscle.transliterate import NeuralTransliterator, Synthetic
    from corpuscle.transliterate.preparation import words_match

    rest, tuning = _divided(train, reverse, size)
    if from_end:
        by_word = words_match(rest)
        rest, tuning = (
            [Pair(source, tuple(_turned(target, by_word) for target in targets)) for source, targets in part]
            for part in (rest, tuning)
        )
    facts = (train, from_end, reverse, size, tuple(pool), side, sorted(settings.items()))
    key = hashlib.blake2b(repr(facts).encode(), digest_size=4).hexdigest()
    more = {}
    if pool:
        names = {pair.source: None for path in pool for pair in _pairs(path)}
        more["synthetic"] = Synthetic(list(names), side, _learned(train)[0])
    learner = NeuralTransliterator(**settings, hold_out=not all_pairs, seed=1 + STEP * number, workers=1)
    if all_pairs:
        return trained(f"network-{key}-{number}-all", lambda: learner, rest + tuning, None, **more)
    return trained(f"network-{key}-{number}", lambda: learner, rest, tuning, **more)


def _measured(model: Any, held_out: list[Any], from_end: bool = False) -> dict[str, float]:
    found = model.transliterate([pair.source for pair in held_out], 20)
    targets = [[candidate.target for candidate in ranked] for ranked in found]
    if from_end:
        targets = [[_turned(target, not model.whole_names) for target in each] for each in targets]
    return _figures(targets, held_out)


def network(timer, train: str, dev: str, **facts: Any) -> dict[str, Any]:
    """Learn one network, and measure it."""
    model, seconds = _learned(train, **facts)
    held_out = _pairs(dev, facts.get("reverse", False))
    figures = {"CPU s of training": seconds, "validations": len(model.history_), "names": len(held_out)}
    figures |= {name: model.history_[:, column].tolist() for column, name in enumerate(HISTORY)}
    figures |= {name: model.provenance_[name] for name in ("pairs", "synthetic_pairs")}
    return figures | _measured(model, held_out, facts.get("from_end", False))


def together(
    timer, train: str, dev: str, left: int, right: int, size: int | None = None, all_pairs: bool = False
) -> dict[str, float]:
    """The phrase model, a network, several, ranked from the end, and both kinds of models; with ``all_pairs`` those
    that have learned from all pairs, in combinations with the weights of those that have not."""
    from corpuscle.transliterate import CombinedTransliterator, PhraseTransliterator

    rest, tuning = _divided(train, False, size)

    def networks(all_pairs: bool) -> dict[str, Any]:
        each = [
            _learned(train, number, number >= left, size=size, all_pairs=all_pairs)[0]
            for number in range(left + right)
        ]
        made = {"one network": each[0]}
        if left > 1:
            made |= {"several networks": _joined(each[:left], left, 0), "all networks": _joined(each, left, right)}
        return made

    phrase, of_rest = PhraseTransliterator().fit(rest), networks(False)
    weighed = {
        name: CombinedTransliterator().fit(phrase, of_rest[name], tuning)
        for name in ("one network", "all networks") if name in of_rest
    }  # fmt: skip
    alone = of_rest
    if all_pairs:
        alone, again = networks(True), PhraseTransliterator(tune=False).fit(rest + tuning)
        again.set_weights(phrase.weights_.tolist())
        weighed = {name: model.with_models(again, alone[name]) for name, model in weighed.items()}
        phrase = PhraseTransliterator().fit(rest + tuning)
    models = {"phrase": phrase, **alone} | {f"phrase and {name}": model for name, model in weighed.items()}
    if right:
        models["ranked from the end"] = models["all networks"]
    models.pop("all networks", None)
    held_out = _pairs(dev)
    figures = {"pairs": len(rest) + len(tuning) * all_pairs, "names": len(held_out)}
    for name, model in models.items():
        figures |= {f"{name}: {figure}": value for figure, value in _measured(model, held_out).items()}
    return figures


def _joined(networks: list[Any], left: int, right: int) -> Any:
    """Single networks as one model."""
    first = networks[0]
    joined = first.replace(ensemble=left, right_to_left=right, whole_names=first.whole_names)
    if any(each.vocab_ != first.vocab_ for each in networks):
        raise ValueError("networks of one model have the same letters")
    for name in ("vocab_", "memory_", "history_", "provenance_", "items_", "tuning_items_"):
        setattr(joined, name, getattr(first, name))
    joined.models_ = [each.models_[0] for each in networks]
    return joined


def _task(train: str) -> Any:
    from corpuscle.text.vocab import Vocab
    from corpuscle.transliterate import NeuralTransliterator, read_names

    model = NeuralTransliterator(whole_names=False)
    training, held = model.divided(read_names(train), 1, 500)
    rows = model._rows(training)
    model.vocab_ = Vocab.from_words(sorted({letter for each in rows for side in each for letter in side}))
    return model._tasks(model._lessons(rows, held, len(rows)))[0]


def ours(timer, train: str) -> dict[str, float]:
    """CPU time of some updates, after some more that compile kernels."""
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


SYSTEMS = {
    "phrase": "phrase model", "several networks": "ensemble of four", "ranked from the end": "+ two from the end",
    "phrase and one network": "phrase model and one network",
    "phrase and all networks": "phrase model and all networks",
}  # fmt: skip


def tables(results: dict[str, Any]) -> list[str]:
    """ACC of all systems; synthetic pairs; by number of pairs; pictures of the training and of the latter."""
    found = {name: result["runs"][next(iter(result["runs"]))][0] for name, result in results.items()}
    if "en-hi, network 1" in found:
        draw_training(*(found["en-hi, network 1"]["curves"][name] for name in HISTORY))
    sizes = {size: found[f"curve, {size} pairs"]["figures"] for size in CURVE if f"curve, {size} pairs" in found}
    if len(sizes) > 1:
        _draw_pairs(sizes)
    figures = {name: run["figures"] for name, run in found.items()}
    return [table for table in (_table(figures), _synthetic_table(figures), _curve_table(sizes)) if table]


def _lines(title: str, head: list[str], rows: list[list[str]]) -> str:
    if not rows:
        return ""
    return "\n".join([f"### {title}", "", row(head), row(["---"] + ["---:"] * (len(head) - 1)), *map(row, rows)])


def _mean(figures: dict[str, Any], names: list[str]) -> str:
    found = [figures[name]["acc"] for name in names if name in figures]
    return f"{fmean(found):.3f} (mean of {len(found)})" if found[1:] else "".join(f"{acc:.3f}" for acc in found)


def _table(figures: dict[str, Any]) -> str:
    """Rows are systems, columns sets."""
    names = [*(f"{name}, all pairs" for name in ALL_PAIRS), *TABLE]
    sets = [name for name in names if f"{name}, network 1" in figures]
    rows = {"pairs": [f"{figures[f'{name}, network 1']['pairs']:,}" for name in sets]}
    rows |= {kind: [_mean(figures, [f"{name}, {kind}"]) for name in sets] for kind in OTHERS}
    rows["one network"] = [_mean(figures, [f"{name}, network {k + 1}" for k in range(4)]) for name in sets]
    ends = [[f"{name}, network {k + 1} from the end" for k in range(2)] for name in sets]
    rows["one network from the end"] = [_mean(figures, names) for names in ends]
    for system, title in SYSTEMS.items():
        each = [_of(figures.get(f"{name}, together", {}), system) for name in sets]
        rows[title] = [_interval(part, "acc") if part else "" for part in each]
    seconds = [f"{figures[f'{name}, network 1']['CPU s of training']:,.0f}" for name in sets]
    rows["CPU s of training, one network"] = seconds
    return _lines(
        "Accuracy on unseen names",
        ["ACC (95 % interval)", *sets],
        [[name, *values] for name, values in rows.items() if any(values)],
    )


def _synthetic_table(figures: dict[str, Any]) -> str:
    rows = []
    for name in SYNTHETIC:
        for way, real in ("out of English", f"{name}, network 1"), ("into English", f"{name}, into English"):
            more = figures.get(f"{name}, synthetic, {way}")
            if more and real in figures:
                counts = [f"{more[kind]:,}" for kind in ("pairs", "synthetic_pairs")]
                rows.append([f"{name}, {way}", *counts, _interval(figures[real], "acc"), _interval(more, "acc")])
    return _lines("Synthetic pairs", ["ACC (95 % interval)", "pairs", "made", "real pairs", "and synthetic ones"], rows)


def _curve_table(sizes: dict[int, Any]) -> str:
    systems = ("phrase", "one network", "phrase and one network")
    rows = [[f"{size:,}", *(_interval(_of(each, s), "acc") for s in systems)] for size, each in sizes.items()]
    return _lines("By the number of pairs, en-hi", ["pairs", *systems], rows)


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


def _draw_pairs(figures: dict[int, Any]) -> None:
    """Accuracy by the number of pairs."""
    from corpuscle.figures import Series, line_plot

    systems = {"phrase": "phrase", "one network": "one network", "phrase and one network": "both"}
    picture = line_plot(
        [
            Series(title, list(figures), [each[f"{system}: acc"] for each in figures.values()])
            for system, title in systems.items()
        ],
        title="Accuracy by the number of pairs",
        description="Accuracy on development names, English to Hindi, of phrases, a network and both, by pairs.",
        x_label="pairs", y_label="accuracy", log_x=True, zero=True, x_ticks=list(figures),
    )  # fmt: skip
    (HERE.parent / "docs" / "images" / "neural-pairs.svg").write_text(picture + "\n", encoding="utf-8")


def _of(figures: dict[str, float], system: str) -> dict[str, float]:
    return {name.partition(": ")[2]: value for name, value in figures.items() if name.startswith(f"{system}: ")}


def claims(results: dict[str, Any]) -> list[Claim]:
    """What these figures must show."""
    made = []
    for prefix in "en-hi", "en-hi, all pairs":
        singles = [results.get(f"{prefix}, network {k + 1}") for k in range(4)]
        means = [typical(found, "network", "acc") for found in singles if found]
        acc = fmean(means) if len(means) == len(singles) else None
        made.append(_claim(f"{prefix}, ACC of one network, mean of four", 0.45, acc))
        found = results.get(f"{prefix}, together")
        for system, target in ("ranked from the end", 0.465), ("phrase and all networks", 0.50):
            acc = None if found is None else typical(found, "together", f"{system}: acc")
            made.append(_claim(f"{prefix}, ACC of {SYSTEMS[system]}", target, acc))
    if "en-hi, network 1" in results:
        minutes = typical(results["en-hi, network 1"], "network", "CPU s of training") / 60
        text = "en-hi, CPU minutes of training a network"
        made.append(Claim(text, "below 20", f"{minutes:.1f}", minutes < 20))
    if "training" in results:
        mine, other = (typical(results["training"], s, "ms of CPU an update") for s in ("corpuscle", "plain loop"))
        text, share = "CPU time of an update beside a plain loop", mine / other
        made.append(Claim(text, "at most 1.0", f"{share:.2f}", share <= 1))
    return made


def _claim(text: str, target: float, acc: float | None) -> Claim:
    return Claim(text, f"{target}") if acc is None else Claim(text, f"{target}", f"{acc:.3f}", acc >= target)


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    return "\n".join(
        [
            "### Notes",
            "",
            "- ACC as the NEWS tasks define it, beam 20 for 20 candidates. All systems of a set learned from the same "
            "pairs, without the 500 (a tenth of fewer than 5,000) that networks choose their weights by and "
            "combinations are tuned on; the phrase model alone would learn from them too.",
            "- *All pairs*: networks learned from these names, too, and keep their last weights (`--no-hold-out`); "
            "combinations have the weights that were found without them.",
            "- *Dakshina*: romanisations, each with the words of the lexicon that it stands for.",
            "- *By the number of pairs*: a tenth of them is held out as well, and counted.",
            "- Single networks are means over seeds where it says so, an ensemble has the same networks.",
            "- *Phrase model and all networks*: the ensemble with its ranking from the end.",
            "- *Synthetic pairs* are made by network 1, of the names of other sets; into English: sources are made.",
            "- *Plain loop*: a model of the same sizes without layer normalisation, an `nn.GRU` of two layers reads, "
            "three `nn.GRUCell` write, batches of unequal lengths, PyTorch's Adam.",
        ]
    )
