"""Decoding: names a second beside PyTorch and ONNX Runtime, by batch size, softmax and search in one pass, 8 bits.

The names are development names of four sets with English sources; the model is a transliterator of preset tiny that has
learned English to Hindi, names whole, from 4,000 pairs in 8 epochs (how good it is does not matter here). All sides
search alike, with a beam of 5, and their targets are compared. PyTorch and ONNX Runtime have one thread. Times are CPU
seconds, which a busy machine distorts least, the shortest of several rounds in which the sides take turns; each process
warms up first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.harness import CELLS, HERE, Call, Cell, Claim, row, trained

SETS = ("en-hi", "en-vi", "en-fa", "en-ja")
EACH, BEAM, ROUNDS = 256, 5, 5
SINGLE, BATCHED, BATCH = 32, 128, 64
"""So many names are decoded one at a time, and in naive batches of this size: both take long."""
BATCHES = (1, 8, 64, 256, 1024)
WAYS = {
    "efficient": {"sort": True, "refill": True},
    "without refill": {"sort": True, "refill": False},
    "not sorted": {"sort": False, "refill": False},
    "naive": {"sort": True, "batching": "naive"},
    "naive, not sorted": {"sort": False, "batching": "naive"},
}
CLASSES, BEAMS = (1_000, 10_000, 30_000, 100_000), (1, 3, 9)
SENTENCES, HIDDEN = 32, 512
ENGINE = ("corpuscle/neural/kernels/*.py",)
NETWORKS = (*ENGINE, *(f"corpuscle/neural/{name}.py" for name in ("forward", "output")))
SOURCES = (*NETWORKS, "corpuscle/neural/decoder.py")
"""What the figures depend on."""


def cells(data: Path) -> Iterator[Cell]:
    """Names by side, by threads, by batch; the output layer; precision; large vocabularies."""
    names = [data / f"translit-{each}" / "dev.tsv" for each in SETS]
    given: dict[str, Any] = {"data": str(data)}

    def cell(name: str, title: str, side: str, sources: tuple[str, ...] = SOURCES) -> Cell:
        sides = (Call(side, f"bench.decode:{name}", given),)
        return Cell(name, title, sides, inputs=tuple(names), repeats=1, warm_up=False, sources=sources)

    yield cell("names", f"Names, beam {BEAM}", "all")
    yield cell("threads", "All development names on two threads", "corpuscle")
    yield cell("batches", "By batch size", "corpuscle")
    yield cell("output", "Bias, softmax and k best", "all", ENGINE)
    yield cell("precision", "8 bits", "corpuscle")
    yield cell("vocabulary", "Large vocabularies", "corpuscle", NETWORKS)


# ---- what is decoded


def _model(data: str) -> Any:
    """The transliterator, learned once."""
    from corpuscle.transliterate import NeuralTransliterator, read_names

    pairs = read_names(Path(data) / "translit-en-hi" / "train.tsv")[:4000]
    learner = NeuralTransliterator(preset="tiny", max_epochs=8, whole_names=True)
    return trained("decode-tiny", lambda: learner, pairs, None)[0]


def _sources(model: Any, data: str, most: int | None) -> list[Any]:
    """Symbols of development names, so many of each set (all where None)."""
    from corpuscle.text.corpus import SPACE
    from corpuscle.transliterate import read_names

    names = [pair.source for each in SETS for pair in read_names(Path(data) / f"translit-{each}" / "dev.tsv")[:most]]
    normal = [model.spelling.normal(name).replace(" ", SPACE) for name in names]
    return [model.vocab_.encode(model.spelling.symbols(name)).astype("i4") for name in normal]


def _weights(model: Any) -> Any:
    from corpuscle.neural import Weights

    return Weights(model.architecture, model.vocab_, model.vocab_, model.models_[0])


def _random_weights(preset: str, symbols: int) -> Any:
    """A model that has learned nothing, of some size."""
    import numpy as np

    from corpuscle.neural import PRESETS, Weights, shapes
    from corpuscle.text.vocab import Vocab

    rng = np.random.default_rng(1)
    vocab = Vocab.from_words([str(i) for i in range(symbols - 3)])
    arrays = {
        name: (rng.normal(size=shape) * 0.1 + (name.rpartition("/")[2] in ("g", "gx", "gh", "gu", "gw"))).astype("f4")
        for name, shape in shapes(PRESETS[preset], symbols, symbols).items()
    }
    return Weights(PRESETS[preset], vocab, vocab, arrays)


def _shortest(rounds: int, **works: Callable[[], Any]) -> dict[str, float]:
    """CPU seconds of each work, the shortest of some rounds in which they take turns; all run once before."""
    best = {}
    for name, work in works.items():
        work()
        best[name] = float("inf")
    for _ in range(rounds):
        for name, work in works.items():
            begin = time.process_time()
            work()
            best[name] = min(best[name], time.process_time() - begin)
    return best


# ---- names


def names(timer, data: str) -> dict[str, float]:
    """Names a CPU second of every side, one thread each; how many targets of the others are ours."""
    import torch

    from bench.decode_peer import TorchModel, search
    from corpuscle.neural import Decoder

    torch.set_num_threads(1)
    model = _model(data)
    weights, sources = _weights(model), _sources(model, data, EACH)
    plain, small, peer = Decoder(weights), Decoder(weights, precision="int8"), TorchModel(weights)
    few, some = sources[:: len(sources) // SINGLE], sorted(sources[:: len(sources) // BATCHED], key=len)
    step = _onnx_step(weights)

    def batches(step: Any = None) -> list[Any]:
        return [found for i in range(0, len(some), BATCH) for found in search(peer, some[i : i + BATCH], BEAM, step)]

    works: dict[str, tuple[int, Callable[[], Any]]] = {
        "corpuscle": (len(sources), lambda: plain.decode(sources, beam=BEAM, workers_=1)),
        "corpuscle, 8 bits": (len(sources), lambda: small.decode(sources, beam=BEAM, workers_=1)),
        "corpuscle, beam 1, no scores": (len(sources), lambda: plain.decode(sources, beam=1, scores=False, workers_=1)),
        "corpuscle, one at a time": (len(few), lambda: plain.decode(few, beam=BEAM, batch=1, refill=False, workers_=1)),
        "PyTorch, one at a time": (len(few), lambda: [search(peer, [source], BEAM)[0] for source in few]),
        "PyTorch, naive batches": (len(some), batches),
        "ONNX Runtime, naive batches": (len(some), lambda: batches(step)),
    }
    with timer:
        seconds = _shortest(ROUNDS, **{name: work for name, (_, work) in works.items()})
    figures = {name: count / seconds[name] for name, (count, _) in works.items()}
    expected = [each[0].symbols.tolist() for each in plain.decode(some, beam=BEAM, workers_=1)]
    for name in "PyTorch, naive batches", "ONNX Runtime, naive batches":
        same = sum(a[0] == b for a, b in zip(works[name][1](), expected, strict=True))
        figures[f"same targets, {name}"] = same / len(some)
    plain.decode(sources, beam=BEAM, workers_=1)
    report = plain.report_
    figures["rows a name"] = report.rows / len(sources)
    total = sum(report.seconds.values())
    return figures | {f"share of {stage}": each / total for stage, each in report.seconds.items()}


def _onnx_step(weights: Any) -> Callable[..., Any]:
    import onnxruntime
    import torch

    from corpuscle.neural import write_onnx

    path = CELLS / "files" / "decode-tiny.onnx"
    write_onnx(weights, path)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def step(read: dict[str, Any], real: Any, symbols: Any, state: Any) -> tuple[Any, Any]:
        given = {name: tensor.numpy() for name, tensor in read.items()}
        given |= {"symbols": symbols.numpy(), "lengths": real.sum(1).numpy(), "state": state.numpy()}
        logs, after = session.run(["logs", "next_state"], given)
        return torch.from_numpy(logs.copy()), torch.from_numpy(after)

    return step


def threads(timer, data: str) -> dict[str, float]:
    """Every development name, on one thread and on two: wall time, and CPU time of all threads; and some of them by
    PyTorch, one at a time on two threads."""
    import torch

    from bench.decode_peer import TorchModel, search
    from corpuscle.neural import Decoder

    model = _model(data)
    sources = _sources(model, data, None)
    decoder, peer = Decoder(_weights(model)), TorchModel(_weights(model))
    figures: dict[str, float] = {"names": len(sources)}
    decoder.decode(sources[:500], beam=BEAM)
    for count in 1, 2:
        walls, cpus = [], []
        for _ in range(2):
            begin, cpu = time.perf_counter(), time.process_time()
            with timer:
                decoder.decode(sources, beam=BEAM, workers_=count)
            walls.append(time.perf_counter() - begin)
            cpus.append(time.process_time() - cpu)
        figures[f"names a second, {count} threads"] = len(sources) / min(walls)
        figures[f"names a CPU second, {count} threads"] = len(sources) / min(cpus)
    figures["peak MB"] = decoder.report_.peak_memory
    torch.set_num_threads(2)
    few, walls = sources[:: len(sources) // SINGLE], []
    for _ in range(3):
        begin = time.perf_counter()
        for source in few:
            search(peer, [source], BEAM)
        walls.append(time.perf_counter() - begin)
    return figures | {"PyTorch, names a second, one at a time, 2 threads": len(few) / min(walls)}


def batches(timer, data: str) -> dict[str, Any]:
    """Names a CPU second and rows a name by batch size and way of batching; time by step."""
    from corpuscle.neural import Decoder

    model = _model(data)
    sources = _sources(model, data, EACH)
    few = sources[::16]
    decoder = Decoder(_weights(model))
    figures: dict[str, Any] = {}
    with timer:
        for batch in BATCHES:
            some = few if batch < 8 else sources
            works = {
                way: lambda o=options, b=batch, s=some: decoder.decode(s, beam=BEAM, batch=b, workers_=1, **o)
                for way, options in WAYS.items()
            }
            for way, seconds in _shortest(1, **works).items():
                figures[f"{way}, {batch}"] = len(some) / seconds
            for way, options in WAYS.items() if batch == BATCHES[2] else ():
                decoder.decode(some, beam=BEAM, batch=batch, workers_=1, **options)
                figures[f"rows of {way}"] = decoder.report_.rows / len(some)
        for way in "not sorted", "naive, not sorted":
            best: list[float] = []
            for _ in range(5):
                decoder.decode(sources[:256], beam=BEAM, batch=256, workers_=1, **WAYS[way])
                curve = [microseconds / 1000 for _, microseconds in decoder.report_.curve]
                best = [min(pair) for pair in zip(best, curve, strict=True)] if best else curve
            figures[f"milliseconds by step, {way}"] = best
    return figures


# ---- the output layer


def output(timer, data: str) -> dict[str, float]:
    """Milliseconds of a step of 32 sentences: bias, softmax and k best, apart and in one pass."""
    import numpy as np
    import torch

    from corpuscle.neural.kernels.search import absorb, nothing, peaks, ranked

    torch.set_num_threads(1)
    rng, figures = np.random.default_rng(1), {}

    def by_numpy(p, b, k):
        x = p + b
        x -= x.max(axis=1, keepdims=True)
        e = np.exp(x)
        e /= e.sum(axis=1, keepdims=True)
        best = e.argmax(axis=1)[:, None] if k == 1 else np.argpartition(e, -k, axis=1)[:, -k:]
        found = np.take_along_axis(e, best, axis=1)
        order = np.argsort(-found, axis=1)
        return np.take_along_axis(best, order, axis=1), np.log(np.take_along_axis(found, order, axis=1))

    def fused(p, b, k):
        best = nothing(len(p), k)
        absorb(best, p, b)
        return ranked(best)

    with timer:
        for classes in CLASSES:
            W, b = rng.normal(size=(HIDDEN, classes)).astype("f4") / 20, rng.normal(size=classes).astype("f4")
            for beam in BEAMS:
                x = rng.normal(size=(SENTENCES * beam, HIDDEN)).astype("f4")
                p, out = x @ W, np.empty((len(x), classes), "f4")
                tp, tb = torch.from_numpy(p), torch.from_numpy(b)
                found = _shortest(
                    3,
                    product=lambda x=x, W=W, out=out: np.matmul(x, W, out=out),
                    numpy=lambda p=p, b=b, k=beam: by_numpy(p, b, k),
                    pytorch=lambda p=tp, b=tb, k=beam: torch.topk(torch.log_softmax(p + b, 1), k),
                    fused=lambda p=p, b=b, k=beam: fused(p, b, k),
                    argmax=lambda p=p, b=b: peaks(p, b),
                )
                figures |= {f"{name}, {classes}, {beam}": 1000 * each for name, each in found.items()}
    return figures


# ---- precision, vocabulary


def precision(timer, data: str) -> dict[str, float]:
    """8 bits beside 32: names a CPU second by preset; what they change in the targets of the trained model."""
    import numpy as np

    from corpuscle.neural import Decoder

    model = _model(data)
    sources, figures = _sources(model, data, EACH)[::2], {}
    plain, small = Decoder(_weights(model)), Decoder(_weights(model), precision="int8")
    expected, found = (each.decode(sources, beam=BEAM, workers_=1) for each in (plain, small))
    same = [np.array_equal(a[0].symbols, b[0].symbols) for a, b in zip(expected, found, strict=True)]
    targets = [each[0].symbols for each in expected]
    apart = np.abs(plain.score(sources, targets) - small.score(sources, targets))
    figures |= {"same targets": float(np.mean(same))}
    figures |= {"mean of log": float(apart.mean()), "most of log": float(apart.max())}
    with timer:
        for preset in "tiny", "small", "medium", "transformer", "mlstm":
            weights = _weights(model) if preset == "tiny" else _random_weights(preset, 100)
            some = sources if preset == "tiny" else [np.minimum(source, 99) for source in sources[::8]]
            both = {each: Decoder(weights, precision=each) for each in ("fp32", "int8")}
            limits = {} if preset == "tiny" else {"length_factor": 1, "length_extra": 1}
            works = {
                each: lambda d=decoder, s=some, o=limits: d.decode(s, beam=BEAM, workers_=1, **o)
                for each, decoder in both.items()
            }
            figures |= {f"{preset}, {each}": len(some) / seconds for each, seconds in _shortest(3, **works).items()}
    return figures


def split_softmax(decoder: Any) -> None:
    """Let a decoder compute scores, bias, softmax and search one after the other."""
    import numpy as np

    from corpuscle.neural.kernels.search import Ranked
    from corpuscle.neural.output import Output

    class Apart(Output):
        """Scores, bias, softmax and search one after the other."""

        def best(self, hidden, k, room):
            x = self.product(hidden, room("scores", len(hidden), len(self)), 0, len(self))
            x += self.bias
            x -= x.max(axis=1, keepdims=True)
            e = np.exp(x)
            e /= e.sum(axis=1, keepdims=True)
            best = np.argpartition(e, -k, axis=1)[:, -k:] if k > 1 else e.argmax(axis=1)[:, None]
            found = np.take_along_axis(e, best, axis=1)
            order = np.argsort(-found, axis=1, kind="stable")
            return Ranked(
                np.take_along_axis(best, order, axis=1).astype(np.int32),
                np.log(np.take_along_axis(found, order, axis=1)),
            )

    decoder.output.outputs = [Apart(*vars(each).values()) for each in decoder.output.outputs]


def vocabulary(timer, data: str) -> dict[str, float]:
    """Sentences a CPU second with 30,000 classes: softmax and search apart or fused, 8 bits, a shortlist."""
    import numpy as np

    from corpuscle.neural import Decoder, Shortlist

    weights = _random_weights("mlstm", CLASSES[2])
    rng, figures = np.random.default_rng(1), {}
    sources = [rng.integers(3, CLASSES[2], length).astype("i4") for length in rng.integers(8, 20, SENTENCES)]
    fused, apart, small = Decoder(weights), Decoder(weights), Decoder(weights, precision="int8")
    split_softmax(apart)
    # Translations of a symbol are mostly frequent symbols: drawn by Zipf's law.
    likely = np.minimum(rng.zipf(1.2, (CLASSES[2], 100)) + 2, CLASSES[2] - 1)
    short = Shortlist(np.arange(100), likely)
    figures["allowed by the shortlist"] = len(short.allowed(np.concatenate(sources)))
    limits = {"length_factor": 1, "length_extra": 1, "batch": SENTENCES, "workers_": 1}
    with timer:
        for beam in BEAMS:
            found = _shortest(
                2,
                apart=lambda k=beam: apart.decode(sources, beam=k, **limits),
                fused=lambda k=beam: fused.decode(sources, beam=k, **limits),
                int8=lambda k=beam: small.decode(sources, beam=k, **limits),
                shortlist=lambda k=beam: fused.decode(sources, beam=k, shortlist=short, **limits),
            )
            figures |= {f"{name}, {beam}": SENTENCES / seconds for name, seconds in found.items()}
            for name, decoder in (("apart", apart), ("fused", fused)):
                decoder.decode(sources, beam=beam, **limits)
                seconds = decoder.report_.seconds
                share = (seconds["output"] + seconds["search"]) / sum(seconds.values())
                figures[f"share of output and search, {name}, {beam}"] = share
        found = _shortest(
            2,
            softmax=lambda: fused.decode(sources, beam=1, **limits),
            skipped=lambda: fused.decode(sources, beam=1, scores=False, **limits),
        )
    return figures | {f"{name}, beam 1": SENTENCES / seconds for name, seconds in found.items()}


# ---- the report


def _figures(results: dict[str, Any], cell: str, side: str = "corpuscle") -> dict[str, Any]:
    """Figures and curves of a side."""
    run = results[cell]["runs"][side][0]
    return {**run["figures"], **run.get("curves", {})}


def _busy(result: dict[str, Any]) -> str:
    return f"({result['date']}, load {result['load']:.1f}, {result['others']:.0%} of the cores taken by others.)"


def _grid(title: str, corner: str, columns: Sequence[Any], rows: dict[str, list[str]], note: str = "") -> str:
    lines = [f"### {title}", "", row([corner, *map(str, columns)]), row(["---"] + ["---:"] * len(columns))]
    lines += [row([name, *cells]) for name, cells in rows.items()]
    return "\n".join([*lines, "", note])


def tables(results: dict[str, Any]) -> list[str]:
    """Sides, batches, output layer, precision, vocabulary; and the pictures."""
    from bench.harness import table

    parts = []
    if "names" in results:
        figures = _figures(results, "names", "all")
        others = ("same", "rows", "share")
        rows = {name: [f"{each:,.0f}"] for name, each in figures.items() if not name.startswith(others)}
        stages = {name[9:]: each for name, each in figures.items() if name.startswith("share of ")}
        shares = ", ".join(f"{stage} {each:.0%}" for stage, each in stages.items())
        same = ", ".join(f"{each:.2%} ({name[14:]})" for name, each in figures.items() if name.startswith("same"))
        note = (
            f"Our time goes to {shares}; {figures['rows a name']:.1f} rows of the decoder a name. "
            f"Targets that are ours: {same}. {_busy(results['names'])}"
        )
        parts.append(_grid(f"Names a CPU second, beam {BEAM}, one thread", "", ["names a CPU second"], rows, note))
    parts += [table(results[name]) for name in ("threads",) if name in results]
    if "batches" in results:
        figures = _figures(results, "batches")
        rate = {way: [f"{figures[f'{way}, {batch}']:,.0f}" for batch in BATCHES] for way in WAYS}
        for way in WAYS:
            rate[way].append(f"{figures[f'rows of {way}']:.1f}")
        columns = [*BATCHES, f"rows a name, {BATCHES[2]}"]
        parts.append(_grid("Names a CPU second by batch size", "", columns, rate, _busy(results["batches"])))
        _pictures(figures)
    if "output" in results:
        figures = _figures(results, "output", "all")
        cases = [(classes, beam) for classes in CLASSES for beam in BEAMS]
        columns = ["product", "NumPy", "PyTorch", "fused", "argmax", "saved beside NumPy", "beside PyTorch"]
        rows = {}
        for classes, beam in cases:
            stages = ("product", "numpy", "pytorch", "fused", "argmax")
            ms = {name: figures[f"{name}, {classes}, {beam}"] for name in stages}
            saved = [f"{1 - ms['fused'] / ms[peer]:.0%}" for peer in ("numpy", "pytorch")]
            rows[f"{classes:,}, beam {beam}"] = [*(f"{each:.2f}" for each in ms.values()), *saved]
        note = f"CPU milliseconds of a step of {SENTENCES} sentences; the product is that of {HIDDEN} numbers a row."
        parts.append(_grid("Bias, softmax and k best", "classes", columns, rows, note))
    if "precision" in results:
        figures = _figures(results, "precision")
        presets = dict.fromkeys(key.partition(",")[0] for key in figures if key.endswith("fp32"))
        rows = {
            preset: [
                f"{figures[f'{preset}, fp32']:,.0f}",
                f"{figures[f'{preset}, int8']:,.0f}",
                f"{figures[f'{preset}, int8'] / figures[f'{preset}, fp32']:.2f}",
            ]
            for preset in presets
        }
        note = (
            f"Targets of the trained model (tiny) that stay the same in 8 bits: {figures['same targets']:.2%}; logs of "
            f"probabilities differ by {figures['mean of log']:.4f} in the mean, {figures['most of log']:.3f} at most."
        )
        parts.append(_grid("Names a CPU second in 32 and in 8 bits", "preset", ["fp32", "int8", "times"], rows, note))
    if "vocabulary" in results:
        figures = _figures(results, "vocabulary")
        columns = ["apart", "fused", "int8", "shortlist", "gain of fusion", "output and search, apart", "fused"]
        rows = {}
        for beam in BEAMS:
            rate = {name: figures[f"{name}, {beam}"] for name in ("apart", "fused", "int8", "shortlist")}
            shares = [f"{figures[f'share of output and search, {name}, {beam}']:.0%}" for name in ("apart", "fused")]
            gain = f"{rate['fused'] / rate['apart'] - 1:.0%}"
            rows[f"beam {beam}"] = [*(f"{each:.1f}" for each in rate.values()), gain, *shares]
        note = (
            f"Sentences a CPU second, preset mlstm with {CLASSES[2]:,} symbols and random weights. Beam 1 with softmax "
            f"{figures['softmax, beam 1']:.1f}, without {figures['skipped, beam 1']:.1f}. The shortlist allows "
            f"{figures['allowed by the shortlist']:,.0f} symbols for the batch."
        )
        parts.append(_grid("Large vocabularies", "", columns, rows, note))
    return parts


def _pictures(figures: dict[str, Any]) -> None:
    """Names a second by batch size; time by step."""
    from corpuscle.figures import Series, line_plot

    images = HERE.parent / "docs" / "images"
    lines = [Series(way, BATCHES, [figures[f"{way}, {batch}"] for batch in BATCHES]) for way in WAYS]
    picture = line_plot(
        lines,
        title="Names a second by batch size",
        description="Names that one thread decodes in a CPU second, by the number of names in a batch.",
        x_label="names in a batch",
        y_label="names a CPU second",
        log_x=True,
        zero=True,
        x_ticks=BATCHES,
    )
    (images / "decode-batches.svg").write_text(picture + "\n", encoding="utf-8")
    curves = {way: figures[f"milliseconds by step, {way}"] for way in ("not sorted", "naive, not sorted")}
    names = {"not sorted": "ended hypotheses leave", "naive, not sorted": "naive"}
    picture = line_plot(
        [Series(names[way], range(1, len(curve) + 1), curve) for way, curve in curves.items()],
        title="Time of each step",
        description="Milliseconds of each step of the decoder for a batch of 256 names, not sorted.",
        x_label="step",
        y_label="milliseconds",
        zero=True,
    )
    (images / "decode-steps.svg").write_text(picture + "\n", encoding="utf-8")


def claims(results: dict[str, Any]) -> list[Claim]:
    """What these figures must show."""
    rate = _figures(results, "names", "all") if "names" in results else {}
    both = _figures(results, "threads") if "threads" in results else {}
    batch = _figures(results, "batches") if "batches" in results else {}
    times = _figures(results, "output", "all") if "output" in results else {}

    def claim(text: str, target: float, figures: dict[str, Any], value: Callable[[], float], form: str = ".1f"):
        if not figures:
            return Claim(text, format(target, form))
        measured = value()
        return Claim(text, format(target, form), format(measured, form), measured >= target)

    ours = "corpuscle"
    return [
        *(
            claim(f"times {peer}", least, rate, lambda peer=peer: rate[ours] / rate[peer])
            for peer, least in (
                ("PyTorch, one at a time", 20),
                ("PyTorch, naive batches", 3),
                ("ONNX Runtime, naive batches", 1),
            )
        ),
        claim(
            "targets that all sides agree on", 0.99, rate,
            lambda: min(each for name, each in rate.items() if name.startswith("same targets")), ".3f",
        ),
        claim(
            f"names a CPU second on two threads, preset tiny, beam {BEAM} (half of 5,000 names a second)", 2500, both,
            lambda: both["names a CPU second, 2 threads"], ",.0f",
        ),
        claim(
            "times PyTorch, one at a time, both on two threads, by the clock", 20, both,
            lambda: both["names a second, 2 threads"] / both["PyTorch, names a second, one at a time, 2 threads"],
        ),
        claim(
            "speed with batches of 1,024 beside the best batch", 0.9, batch,
            lambda: batch["efficient, 1024"] / max(batch[f"efficient, {size}"] for size in BATCHES), ".2f",
        ),
        *(
            claim(
                f"saved by fusion, 30,000 classes, beam 9, beside {peer}", 0.7, times,
                lambda peer=peer: 1 - times["fused, 30000, 9"] / times[f"{peer.lower()}, 30000, 9"], ".0%",
            )
            for peer in ("NumPy", "PyTorch")
        ),
    ]  # fmt: skip


def notes(results: dict[str, Any]) -> str:
    """What the figures are."""
    return (
        "- The step that ONNX Runtime runs is the exported one (`transliterate export`), inside the search of the"
        " PyTorch side; the encoder is PyTorch's on both.\n"
        "- Hoang et al. 2018 report, on a V100 with beams 1, 3, 9: bias, softmax and search in one kernel save 86.6 %,"
        " 87.1 %, 72.1 % of their time; batching is over 20 times as fast as single sentences."
    )
