"""The language models beside KenLM: training, perplexity, agreement, scoring, growth, sizes.

KenLM's ``lmplz``, ``query`` and ``build_binary`` take part when they are on PATH, its Python module when it is
installed. ``lmplz`` refuses a literal ``<unk>``, so it reads a copy of the text in which that word has another name;
ours reads the text as it is, with ``--unk-token literal``.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from bench.harness import CELLS, CORPUSCLE, Call, Cell, Claim, Commands, ratios, source_digest, typical

FILES = CELLS / "files"
ORDERS = (3, 5)
MILLIONS = (1, 2, 4, 8)
TARGETS = {3: 242.325, 5: 234.862}
"""What lmplz and query give for WikiText-2, train to valid, 217,646 predicted tokens."""

GROWTH = (
    "wikitext2/train.txt",
    "brown/brown.txt",
    "ml-papers/train.txt",
    "align-fr-en/train.en",
    "align-fr-en/train.fr",
    "russian/opencorpora.txt",
    "russian/nerel-news.txt",
    "russian/mixed-news.txt",
    "russian/novels.txt.gz",
    "sighan2005/pd199801.train.txt",
)
"""Different texts, 9.5 million tokens together, for the growth of time and memory."""


def cells(data: Path) -> Iterator[Cell]:
    """All comparisons, cheap ones first."""
    train, valid = data / "wikitext2" / "train.txt", data / "wikitext2" / "valid.txt"
    for order in ORDERS:
        yield training(order, train)
    for order in ORDERS:
        yield perplexity(order, train, valid)
    yield scoring("valid", valid, train)
    yield scoring("train", train, train)
    if _has_kenlm():
        yield Cell(
            "agreement",
            "Log probabilities (log10) of WikiText-2 valid beside KenLM reading our ARPA file, order 5",
            (
                Call(
                    "difference",
                    "bench.lm_sides:agreement",
                    {"model": str(_model(5)), "arpa": str(_model(5).with_suffix(".arpa")), "text": str(valid)},
                ),
            ),
            inputs=(train, valid),
            prepare=partial(make_arpa, 5, train),
            repeats=1,
            warm_up=False,
        )
    yield loading(train)
    for millions in MILLIONS:
        yield growth(millions, data)
    yield Cell(
        "sizes",
        "Sizes in MB, order 5",
        (Call("sizes", "bench.lm_sides:sizes", {"files": _sized_files()}),),
        inputs=(train,),
        prepare=partial(make_sized_files, train),
        repeats=1,
        warm_up=False,
    )


def training(order: int, train: Path) -> Cell:
    """From text to model, whole commands."""
    model, arpa = str(FILES / f"trained-{order}.lm"), str(FILES / f"trained-{order}.arpa")
    ours = _train(train, model, order)
    sides = [
        Commands("corpuscle", (ours,)),
        Commands("corpuscle, with ARPA", ((*ours, "--arpa", arpa),)),
    ]
    if shutil.which("lmplz"):
        sides.append(Commands("lmplz", (_lmplz(FILES / "train.renamed.txt", FILES / f"lmplz-{order}.arpa", order),)))
    return Cell(
        f"train-{order}",
        f"Training on WikiText-2, order {order}",
        tuple(sides),
        peer="lmplz" if len(sides) == 3 else None,
        inputs=(train,),
        prepare=partial(rename_unknown, train, FILES / "train.renamed.txt"),
    )


def perplexity(order: int, train: Path, valid: Path) -> Cell:
    """Perplexity of the validation text, whole commands."""
    ours = (CORPUSCLE, "lm", "perplexity", str(_model(order)), str(valid), "--json")
    sides = [Commands("corpuscle", (ours,), read="bench.lm_sides:read_json")]
    if shutil.which("lmplz") and shutil.which("query"):
        query = ("query", "-v", "summary", str(FILES / f"lmplz-{order}.arpa"))
        text = str(FILES / "valid.renamed.txt")
        sides.append(Commands("query", (query,), read="bench.lm_sides:read_query", stdin=text))
    return Cell(
        f"perplexity-{order}",
        f"Perplexity of WikiText-2 valid, order {order}",
        tuple(sides),
        peer="query" if len(sides) == 2 else None,
        inputs=(train, valid),
        prepare=partial(make_both_models, order, train, valid),
    )


def scoring(name: str, text: Path, train: Path) -> Cell:
    """Log probabilities of sentences inside one process, order 5."""
    model = {"model": str(_model(5)), "text": str(text)}
    sides = [
        Call("encoded corpus", "bench.lm_sides:score_corpus", model),
        Call("strings", "bench.lm_sides:score_strings", model),
    ]
    if _has_kenlm():
        arpa = {"arpa": str(_model(5).with_suffix(".arpa")), "text": str(text)}
        sides.append(Call("kenlm module", "bench.lm_sides:score_with_kenlm", arpa))
    return Cell(
        f"score-{name}",
        f"Scoring the sentences of WikiText-2 {name}, order 5",
        tuple(sides),
        peer="kenlm module" if len(sides) == 3 else None,
        inputs=(train, text),
        prepare=partial(make_arpa, 5, train),
    )


def loading(train: Path) -> Cell:
    """From file to a model that can score, order 5."""
    sides = [Call("corpuscle", "bench.lm_sides:load", {"model": str(_model(5))})]
    if _has_kenlm():
        arpa = _model(5).with_suffix(".arpa")
        sides.append(Call("kenlm, ARPA", "bench.lm_sides:load_with_kenlm", {"path": str(arpa)}))
        if shutil.which("build_binary"):
            binary = {"path": str(arpa.with_suffix(".bin"))}
            sides.append(Call("kenlm, binary", "bench.lm_sides:load_with_kenlm", binary))
    return Cell(
        "load",
        "Loading a model and scoring one sentence, order 5",
        tuple(sides),
        inputs=(train,),
        prepare=partial(make_sized_files, train),
    )


def growth(millions: int, data: Path) -> Cell:
    """Training on more and more text, none of it repeated."""
    text = FILES / f"growth-{millions}m.txt"
    sides = [Commands("corpuscle", (_train(text, str(FILES / "growth.lm"), 5),))]
    if shutil.which("lmplz"):
        sides.append(Commands("lmplz", (_lmplz(text, FILES / "growth.arpa", 5),)))
    return Cell(
        f"growth-{millions}m",
        f"Training on {millions} million tokens of different text, order 5",
        tuple(sides),
        peer="lmplz" if len(sides) == 2 else None,
        inputs=tuple(data / name for name in GROWTH),
        prepare=partial(make_growth_text, data, millions),
    )


def claims(results: dict[str, Any]) -> list[Claim]:
    """What these figures must show."""
    found = []
    for order, target in TARGETS.items():
        value = typical(results[f"perplexity-{order}"], "corpuscle", "perplexity")
        error = abs(value / target - 1)
        text = f"perplexity of WikiText-2 valid, order {order}"
        found.append(Claim(text, f"{target} to 0.01 %", f"{value:.3f}", error < 1e-4))
    agreement: tuple[str, bool] | tuple[()] = ()
    if "agreement" in results:
        worst = typical(results["agreement"], "difference", "largest of a word")
        agreement = (f"{worst:.1e}", worst < 1e-5)
    found.append(Claim("log10 of a word beside KenLM with our ARPA file", "1e-5", *agreement))
    trained = results["train-5"]
    found.append(Claim("training order 5, times faster than lmplz", "2", *faster(trained, "corpuscle", 2)))
    peak = typical(trained, "corpuscle", "peak")
    found.append(Claim("training order 5, peak memory", "600 MB", f"{peak:.0f} MB", peak < 600))
    for small, large in pairwise(MILLIONS):
        times = [typical(results[f"growth-{millions}m"], "corpuscle") for millions in (small, large)]
        share = times[1] / times[0]
        found.append(Claim(f"time for {large}M over {small}M tokens", "2.3", f"{share:.2f}", share <= 2.3))
    for name, times in (("valid", 1.5), ("train", 2)):
        scored = results[f"score-{name}"]
        speed = typical(scored, "encoded corpus", "tokens") / typical(scored, "encoded corpus") / 1e6
        text = f"million tokens a second on an encoded corpus ({name})"
        found.append(Claim(text, "5", f"{speed:.1f}", speed >= 5))
        text = f"scoring strings, times faster than the kenlm module ({name})"
        found.append(Claim(text, str(times), *faster(scored, "strings", times)))
    seconds = typical(results["load"], "corpuscle")
    found.append(Claim("loading order 5 and scoring one sentence", "0.3 s", f"{seconds:.2f} s", seconds <= 0.3))
    return found


def faster(result: dict[str, Any], side: str, wanted: float) -> tuple[str, bool] | tuple[()]:
    """How many times as fast as the peer a side is (median over repeats), and whether it is ``wanted`` times; nothing
    without a peer."""
    if not result["peer"]:
        return ()
    times = 1 / median(ratios(result, side))
    return f"{times:.2f}", times >= wanted


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    lines = [
        "### Notes",
        "",
        "- Whole commands: warm kernel cache, start-up included. Calls: only what counts is timed, in a fresh process;",
        "  peak memory is that of the whole process.",
        "- Growth: blocks of 100 lines of these sets in a fixed random order, cut at the number of tokens: "
        + ", ".join(GROWTH)
        + ".",
    ]
    if not shutil.which("lmplz"):
        lines.append("- lmplz was not on PATH: no peer for training and perplexity.")
    if not _has_kenlm():
        lines.append("- The kenlm module was not installed: no peer for scoring, no test of agreement.")
    return "\n".join(lines)


def _train(text: Path, model: str, order: int) -> tuple[str, ...]:
    settings = ("--method", "mkn", "--order", str(order), "--min-count", "1", "--unk-token", "literal")
    return (CORPUSCLE, "lm", "train", str(text), "-o", model, *settings)


def _lmplz(text: Path, arpa: Path, order: int) -> tuple[str, ...]:
    return ("lmplz", "-o", str(order), "-S", "1G", "-T", str(FILES), "--text", str(text), "--arpa", str(arpa))


def _has_kenlm() -> bool:
    return importlib.util.find_spec("kenlm") is not None


# ---- what the sides need, made once and kept


def _model(order: int) -> Path:
    """Our model of the training text; another source, another file."""
    return FILES / source_digest() / f"order{order}.lm"


def _sized_files() -> dict[str, str]:
    model = _model(5)
    files = {"model": model, "ARPA": model.with_suffix(".arpa"), "ARPA, gzip": model.with_suffix(".arpa.gz")}
    if shutil.which("build_binary"):
        files["KenLM probing"] = model.with_suffix(".bin")
        files["KenLM trie"] = model.with_suffix(".trie")
    return {name: str(path) for name, path in files.items()}


def make_model(order: int, train: Path) -> Path:
    """Train ours, unless it is there."""
    model = _model(order)
    model.parent.mkdir(parents=True, exist_ok=True)
    if not model.exists():
        subprocess.run(_train(train, str(model), order), check=True)
    return model


def make_arpa(order: int, train: Path) -> None:
    """Our model as ARPA file."""
    model = make_model(order, train)
    if not model.with_suffix(".arpa").exists():
        subprocess.run((CORPUSCLE, "lm", "export", model, "-o", model.with_suffix(".arpa")), check=True)


def make_sized_files(train: Path) -> None:
    """Our model in all its forms."""
    make_arpa(5, train)
    model = _model(5)
    subprocess.run((CORPUSCLE, "lm", "export", model, "-o", model.with_suffix(".arpa.gz")), check=True)
    if shutil.which("build_binary"):
        for kind, suffix in ("probing", ".bin"), ("trie", ".trie"):
            target = model.with_suffix(suffix)
            if not target.exists():
                arguments = ("build_binary", "-T", str(FILES / "build"), kind, model.with_suffix(".arpa"), target)
                subprocess.run(arguments, check=True, stderr=subprocess.DEVNULL)


def make_both_models(order: int, train: Path, valid: Path) -> None:
    """Our model and that of lmplz, each with its text."""
    make_model(order, train)
    rename_unknown(train, FILES / "train.renamed.txt")
    rename_unknown(valid, FILES / "valid.renamed.txt")
    arpa = FILES / f"lmplz-{order}.arpa"
    if shutil.which("lmplz") and not arpa.exists():
        subprocess.run(_lmplz(FILES / "train.renamed.txt", arpa, order), check=True, stderr=subprocess.DEVNULL)


def rename_unknown(source: Path, target: Path) -> None:
    """A copy in which the word ``<unk>`` is an ordinary one."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(source.read_bytes().replace(b"<unk>", b"<UNKNOWN>"))


def make_growth_text(data: Path, millions: int) -> None:
    """Blocks of 100 lines of all sets, in a random order that depends on their names only."""
    target = FILES / f"growth-{millions}m.txt"
    if target.exists():
        return
    blocks = []
    for name in GROWTH:
        raw = (data / name).read_bytes()
        text = gzip.decompress(raw) if name.endswith(".gz") else raw
        lines = text.replace(b"<unk>", b"<UNKNOWN>").split(b"\n")
        for start in range(0, len(lines), 100):
            rank = hashlib.blake2b(f"{name} {start}".encode(), digest_size=8).digest()
            blocks.append((rank, lines[start : start + 100]))
    FILES.mkdir(parents=True, exist_ok=True)
    left = millions * 1_000_000
    with open(target.with_suffix(".partial"), "wb") as file:
        for line in (line for _, block in sorted(blocks) for line in block):
            file.write(line + b"\n")
            left -= len(line.split())
            if left <= 0:
                break
    target.with_suffix(".partial").replace(target)
