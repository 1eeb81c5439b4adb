"""The same work on threads and on a cluster of processes of this computer: what sharing it gains, and what it costs.

A cluster is up before the clock starts; connecting to it, handing out data and model, and fetching the results are
measured. Kernels are warm on both. Every side must give the same bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from typing import Any

from bench.harness import Call, Cell, Claim, ratios, typical

SIDES = {
    "1 thread": {"workers": 1},
    "2 threads": {"workers": 2},
    "1 process": {"processes": 1},
    "2 processes": {"processes": 2},
}
PAIRS = 30_000
PARTICLES = 200


def cells(data: Path) -> Iterator[Cell]:
    """Learning by counts, learning by expectations, and applying: cheap and dear ones."""
    wiki, brent = data / "wikitext2" / "train.txt", data / "brent" / "br-phono.txt"
    papers, index = data / "ml-papers" / "dev.txt", data / "ml-papers" / "dev.docs.tsv"
    french, english = data / "align-fr-en" / "train.fr", data / "align-fr-en" / "train.en"
    for name, title, inputs in (
        ("lm_train", "`lm train`, order 5, WikiText-2, 2.1 million tokens", (wiki,)),
        ("lm_perplexity", "`lm perplexity` of those tokens, order 5", (wiki,)),
        ("align_ibm1", f"`align train --method ibm1`, {PAIRS:,} pairs French-English", (french, english)),
        ("align_hmm", f"`align train --method hmm`, {PAIRS:,} pairs French-English", (french, english)),
        ("segment_apply", "`segment apply`, 8,790 utterances without spaces", (brent,)),
        ("topics_perplexity", f"`topics perplexity --particles {PARTICLES}`, 98,456 words", (papers, index)),
    ):
        sides = tuple(
            Call(side, "bench.scale:job", {"name": name, "texts": [str(path) for path in inputs]} | where)
            for side, where in SIDES.items()
        )
        yield Cell(name, title, sides, peer="1 thread", inputs=inputs, repeats=3, warm_up=False)


def claims(results: dict[str, Any]) -> list[Claim]:
    """Where a worker has much to do for each byte that it gets, two are quicker than one, wherever they are."""
    found = []
    for side in ("2 threads", "2 processes"):
        text, target = f"topics perplexity: {side} beside 1 thread", "0.75 of the time"
        if "topics_perplexity" not in results:
            found.append(Claim(text, target))
            continue
        share = median(ratios(results["topics_perplexity"], side))
        found.append(Claim(text, target, f"{share:.2f}", share <= 0.75))
    return found


def tables(results: dict[str, Any]) -> list[str]:
    """All cells in one table: seconds, and beside them the share of one thread's."""
    lines = ["| seconds (share of 1 thread) | " + " | ".join(SIDES) + " |", "| --- |" + " ---: |" * len(SIDES)]
    for result in results.values():
        assert len({run["figures"]["checksum"] for runs in result["runs"].values() for run in runs}) == 1
        shown = [f"{typical(result, side):.2f} ({median(ratios(result, side)):.2f})" for side in SIDES]
        lines.append(f"| {result['title']} | " + " | ".join(shown) + " |")
    return ["\n".join(lines)]


def notes(results: dict[str, Any]) -> str:
    """How to read the table."""
    busy = max((result["others"] for result in results.values()), default=0.0)
    return (
        "Medians of three; the sides take turns, and a share is taken within each turn. Other processes took up to "
        f"{busy:.0%} of the cores meanwhile."
    )


def job(
    timer: Any, name: str, texts: list[str], workers: int | None = None, processes: int | None = None
) -> dict[str, Any]:
    """Run one of the functions below here or on a cluster of so many processes; the second time counts."""
    run, cluster = prepare(name, texts), None
    if processes is not None:
        import distributed

        cluster = distributed.LocalCluster(
            n_workers=processes, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        )
    with cluster or nullcontext():
        where = {"workers": workers} if cluster is None else {"cluster": cluster.scheduler_address}
        run(**where)
        with timer:
            result = run(**where)
    return {"checksum": zlib.crc32(result)}


def prepare(name: str, texts: list[str]) -> Any:
    """A function of ``workers`` or ``cluster`` that does the work and returns the bytes that come of it."""
    from corpuscle.align import learner
    from corpuscle.lm import NgramModel
    from corpuscle.segment import NestedSegmenter
    from corpuscle.text import Corpus, read_text
    from corpuscle.text.bitext import Bitext
    from corpuscle.topics import NgramTopicModel, read_documents

    if name == "topics_perplexity":
        documents = read_documents(texts[0], documents=texts[1])
        model: Any = NgramTopicModel(topics=20, order=3, sweeps=5).fit(documents)
        return lambda **where: _there(model, **where).log_probabilities(documents, particles=PARTICLES).tobytes()
    corpora = [read_text(text) for text in texts]
    if name == "lm_train":
        return lambda **where: (
            NgramModel(order=5, unk_token="literal", **where).fit(corpora[0]).ngrams_.counts.tobytes()
        )
    if name.startswith("align"):
        bitext = Bitext(corpora[0][:PAIRS], corpora[1][:PAIRS])
        return lambda **where: learner(name.removeprefix("align_"), **where).fit(bitext).counts_.tobytes()
    if name == "lm_perplexity":
        model = NgramModel(order=5).fit(corpora[0])
        return lambda **where: repr(_there(model, **where).perplexity(corpora[0], draws=100).to_json()).encode()
    lines = Corpus.from_sentences([["".join(sentence)] for sentence in corpora[0] if sentence])
    model = NestedSegmenter(sweeps=5).fit(lines)
    return lambda **where: _there(model, **where).segment(lines).tokens.tobytes()


def _there(model: Any, workers: int | None = None, cluster: Any = None) -> Any:
    """The model, working there."""
    model.workers, model.cluster = workers, cluster
    return model
