"""Decoding of sentences: English captions to German (multi30k), BLEU and speed by vocabulary, state and beam; where
the time goes; what fusing softmax and search is worth in the whole decoder; batches to 4,096.

The models are small and have learned little: one pass over the 29,000 pairs, at most 10,000 merges and 96 numbers
of state (Hoang et al. 2018: millions of pairs, 40,000 and 1,024), so that each trains in about two minutes of CPU. 500
of the training pairs are held out; figures are on the validation file, which nothing was chosen on. Times are CPU
seconds of one thread, the shortest of two rounds in which the sides take turns.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.decode import SOURCES, _busy, _figures, _grid, _shortest, split_softmax
from bench.harness import Call, Cell, Claim, trained

COMMON = {
    "batch": 32, "max_epochs": 1, "validate_every": 900, "rate": 0.003, "schedule": "plateau", "warm_up": 100,
    "dropout": 0.0, "symbol_dropout": 0.0, "label_smoothing": 0.0, "aligner": "diagonal",
}  # fmt: skip
MODELS: dict[str, dict[str, Any]] = {
    "5k": {"merges": 5000},
    "1k": {"merges": 1000},
    "10k": {"merges": 10_000},
    "5k, state 48": {"merges": 5000, "state": 48},
    "5k, mlstm": {"merges": 5000, "preset": "mlstm", "state": 128},
}
BEAMS, WIDTHS = (1, 2, 3, 4, 5), (1, 3, 9)
"""Beams whose BLEU is measured, and those whose time is taken apart."""
BATCHES, EACH = (1, 8, 64, 256, 1024, 4096), (64, 256, 1024, 4096, 4096, 4096)
"""Sentences in a batch, and how many are translated to time it."""
USUAL, FEW, STAGED = "5k", 256, 64


def cells(data: Path) -> Iterator[Cell]:
    """Every model by beam; where the time goes; batches."""
    inputs = tuple(map(Path, (*_files(data, "train"), *_files(data, "val"))))

    def cell(name: str, title: str, job: str, **given: Any) -> Cell:
        sides = (Call("corpuscle", f"bench.decode_sentences:{job}", {"data": str(data), **given}),)
        return Cell(name, title, sides, inputs=inputs, repeats=1, warm_up=False, sources=SOURCES)

    for name in MODELS:
        yield cell(f"quality {name}", f"BLEU and speed, {name}", "quality", which=name)
    yield cell("stages", "Where the time goes", "stages")
    yield cell("batches", "Sentences by batch size", "batches")


def _files(data: str | Path, part: str) -> list[str]:
    return [str(Path(data) / "multi30k" / f"{part}.{side}") for side in ("en", "de")]


def _model(name: str, data: str) -> tuple[Any, float]:
    """A translator, learned once, and the CPU seconds that it took."""
    from corpuscle.text.bitext import read_bitext
    from corpuscle.translate import NeuralTranslator

    settings = {**COMMON, **MODELS[name]}
    texts = read_bitext(*_files(data, "train"))
    stem = f"sentences-{name.replace(', ', '-').replace(' ', '')}"
    return trained(stem, lambda: NeuralTranslator(**settings, workers=1), texts, None, None)


def quality(timer, data: str, which: str) -> dict[str, float]:
    """BLEU (sacrebleu) of the validation sentences and sentences a CPU second by beam; beam 1 needs no softmax."""
    import sacrebleu

    from corpuscle.text.bitext import read_bitext

    model, seconds = _model(which, data)
    test = read_bitext(*_files(data, "val"))
    wanted = [" ".join(words) for words in test.target]
    sources, decoder = model.subwords_.pieces(test.source).split(), model.decoder()
    figures = {"CPU s of training": seconds, "pieces": len(model.vocab_), "held-out BLEU": model.history_[:, 1].max()}
    figures |= {"pieces of a source": sum(map(len, sources)) / len(sources)}
    with timer:
        for beam in BEAMS:
            skip = {"beam": beam, "scores": beam > 1, "workers_": 1}
            found = decoder.decode(sources, **skip)
            lines = [model.subwords_.join(each[0].symbols) for each in found]
            figures[f"BLEU, {beam}"] = sacrebleu.corpus_bleu(lines, [wanted], tokenize="none", force=True).score
            figures[f"softmax, {beam}"] = float(decoder.report_.softmax)
            took = _shortest(1, one=lambda skip=skip: decoder.decode(sources, **skip))["one"]
            figures[f"sentences, {beam}"] = len(sources) / took
    return figures


def stages(timer, data: str) -> dict[str, float]:
    """Sentences a CPU second by beam: softmax and search apart and fused, 8 bits, shortlist;
    the share of each stage; how many symbols of references the shortlist allows."""
    import numpy as np

    from corpuscle.neural import Decoder
    from corpuscle.text.bitext import read_bitext

    model, _ = _model(USUAL, data)
    test = read_bitext(*_files(data, "val"))
    sources, targets = (model.subwords_.pieces(side).split() for side in (test.source, test.target))
    short, sources = model.shortlist_, sources[:STAGED]
    figures: dict[str, float] = {"covered": short.coverage(sources, targets[:STAGED])}
    figures["allowed"] = len(short.allowed(np.concatenate(sources)))
    weights = model.weights(0)
    apart, fused, small = Decoder(weights), Decoder(weights), Decoder(weights, precision="int8")
    split_softmax(apart)
    with timer:
        for beam in WIDTHS:
            given = {"beam": beam, "workers_": 1, "batch": STAGED}
            took = _shortest(
                2,
                apart=lambda g=given: apart.decode(sources, **g),
                fused=lambda g=given: fused.decode(sources, **g),
                int8=lambda g=given: small.decode(sources, **g),
                shortlist=lambda g=given: fused.decode(sources, shortlist=short, **g),
            )
            figures |= {f"{name}, {beam}": len(sources) / seconds for name, seconds in took.items()}
            for name, decoder in (("apart", apart), ("fused", fused)):
                decoder.decode(sources, **given)
                every = decoder.report_.seconds
                total = sum(every.values())
                figures |= {f"{stage} {name}, {beam}": seconds / total for stage, seconds in every.items()}
            both = [decoder.decode(sources, **given) for decoder in (apart, fused)]
            same = [np.array_equal(a[0].symbols, b[0].symbols) for a, b in zip(*both, strict=True)]
            figures[f"same, {beam}"] = sum(same) / len(same)
    return figures


def batches(timer, data: str) -> dict[str, float]:
    """Sentences a CPU second by batch size, of training sources: only time counts here."""
    from corpuscle.text.plain import read_text

    model, _ = _model(USUAL, data)
    text = read_text(_files(data, "train")[0])[: max(EACH)]
    sources, decoder, figures = model.subwords_.pieces(text).split(), model.decoder(), {}
    decoder.decode(sources[:64], workers_=1)
    with timer:
        for way, given in {"efficient": {}, "naive": {"batching": "naive"}}.items():
            for batch, count in zip(BATCHES, EACH, strict=True):
                some = sources[: count if way == "efficient" else min(count, FEW)]
                if batch > len(some):
                    continue
                begin = time.process_time()
                decoder.decode(some, batch=batch, workers_=1, **given)
                figures[f"{way}, {batch}"] = len(some) / (time.process_time() - begin)
    return figures


# ---- the report


def tables(results: dict[str, Any]) -> list[str]:
    """BLEU with speed, stages and the gain of fusion, batches."""
    parts = []
    known = {name: _figures(results, f"quality {name}") for name in MODELS if f"quality {name}" in results}
    if known:
        rows = {}
        for name, figures in known.items():
            cells = [f"{figures[f'BLEU, {beam}']:.1f} ({figures[f'sentences, {beam}']:,.0f})" for beam in BEAMS]
            settings = f"{figures['pieces']:,.0f} pieces"
            rows[f"{name} ({settings})"] = [*cells, f"{figures['CPU s of training']:,.0f}"]
        columns = [*(f"beam {beam}" for beam in BEAMS), "CPU s of training"]
        note = (
            "BLEU in percent (sacrebleu, tokenise none) and, in brackets, sentences a CPU second of one thread, 1,014"
            " validation captions. State 96 and two cells deep where nothing else is said. Beam 1 is without scores"
            f" and skips the softmax. {_busy(results[f'quality {next(iter(known))}'])}"
        )
        parts.append(_grid("BLEU and speed by vocabulary, state size and beam", "model", columns, rows, note))
    if "stages" in results:
        figures = _figures(results, "stages")
        columns = ["apart", "fused", "int8", "shortlist", "gain of fusion"]
        rows, shares = {}, {}
        for beam in WIDTHS:
            rate = [figures[f"{name}, {beam}"] for name in columns[:4]]
            rows[f"beam {beam}"] = [*(f"{each:,.0f}" for each in rate), f"{rate[1] / rate[0] - 1:.0%}"]
            for name in ("apart", "fused"):
                stages = [figures.get(f"{stage} {name}, {beam}", 0.0) for stage in STAGES]
                both = figures[f"output {name}, {beam}"] + figures[f"search {name}, {beam}"]
                shares[f"beam {beam}, {name}"] = [*(f"{each:.0%}" for each in stages), f"{both:.0%}"]
        note = (
            f"Sentences a CPU second, {STAGED} sentences in one batch. The shortlist allows {figures['allowed']:,.0f}"
            f" pieces for the batch, {figures['covered']:.1%} of those of the references. {_busy(results['stages'])}"
        )
        title = f"The whole decoder, {USUAL} merges, softmax and search apart or fused"
        parts.append(_grid(title, "", columns, rows, note))
        parts.append(_grid("Share of the time by stage", "", [*STAGES, "output and search"], shares))
    if "batches" in results:
        figures = _figures(results, "batches")
        rows = {
            way: [f"{figures[key]:,.0f}" if (key := f"{way}, {batch}") in figures else "" for batch in BATCHES]
            for way in ("efficient", "naive")
        }
        note = f"Beam 5, {USUAL} merges; naive batches are of {FEW} sentences at most. {_busy(results['batches'])}"
        parts.append(_grid("Sentences a CPU second by batch size", "", BATCHES, rows, note))
    return parts


STAGES = ("encode", "network", "output", "search", "states", "results")


def claims(results: dict[str, Any]) -> list[Claim]:
    """What these figures must show."""
    stage = _figures(results, "stages") if "stages" in results else {}
    batch = _figures(results, "batches") if "batches" in results else {}
    usual = _figures(results, f"quality {USUAL}") if f"quality {USUAL}" in results else {}
    share, speed = "output layer and search, apart, beam 9, as a share of the time", "batches of 4,096 beside the best"
    found = [
        Claim(share, "60%"), Claim("whole decoder faster by fusion, beam 9", "25%"), Claim(speed, "0.90"),
        Claim("beam 1 without scores skips the softmax", "always"),
    ]  # fmt: skip
    if stage:
        both, gain = stage["output apart, 9"] + stage["search apart, 9"], stage["fused, 9"] / stage["apart, 9"] - 1
        found[0] = Claim(share, "60%", f"{both:.0%}", both > 0.6)
        found[1] = Claim(found[1].text, "25%", f"{gain:.0%}", gain >= 0.25)
    if batch:
        ratio = batch["efficient, 4096"] / max(batch[f"efficient, {size}"] for size in BATCHES)
        found[2] = Claim(speed, "0.90", f"{ratio:.2f}", ratio >= 0.9)
    if usual:
        skipped = usual["softmax, 1"] == 0 and all(usual[f"softmax, {beam}"] == 1 for beam in BEAMS[1:])
        found[3] = Claim(found[3].text, "always", "always" if skipped else "no", skipped)
    return found


def notes(results: dict[str, Any]) -> str:
    """What the figures are, and which have not been measured."""
    missing = [name for name in MODELS if f"quality {name}" not in results]
    waiting = f"\n- Not trained yet: {'; '.join(missing)}." if missing else ""
    return (
        "- Hoang et al. 2018 report BLEU 12.2 (1k), 16.8 (5k), 18.0 (10k) with 256 numbers of state and 12.8, 17.2,"
        " 18.2 with 512, and 23.5, 24.2, 24.5, 24.4, 24.5 for beams 1 to 5 with their mLSTM, all trained on a large"
        " corpus; output layer and search took over 60 % of their time, and fusion made the decoder some 25 % faster.\n"
        "- Made smaller for two shared cores: one training a model, one pass over the pairs, states of 48 to 128"
        " numbers, at most 10,000 merges. BLEU says how models of equal training compare, not how good they can become."
        + waiting
    )
