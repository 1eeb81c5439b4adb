"""The workbench: how soon it answers, how it bears a crowd, and whether it keeps its word when it is killed.

The pack is that of the built-in sample, learned once and kept beside the cells, or the one that the environment
variable ``CORPUSCLE_PACK`` names. Everything is asked over loopback, of a server in a process of its own.
"""

from __future__ import annotations

import asyncio
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from bench.align import FILES
from bench.harness import Call, Cell, Claim, Timer, typical
from tests.web.generated import ask_everything
from tests.web.processes import Server, kill_at_random

PACK = Path(os.environ.get("CORPUSCLE_PACK", FILES / "web-pack"))
SERVER = tuple(
    f"corpuscle/web/{name}.py"
    for name in ("annotations", "app", "endpoints", "guard", "learning_loop", "pool", "served_models", "server")
)
"""What takes part in every answer, and in keeping annotations."""
LATENCY, FIRST, CROWD, KILLS, REQUESTS = "latency", "first view", "crowd", "kills", "requests"
_WORDS, _CROWD, _KILLS, _REQUESTS, _CLIENTS = 20, 1000, 100, 10_000, 6


def cells(data: Path) -> Iterator[Cell]:
    """Latency, the first view, a crowd, kills, and any input."""
    jobs = {
        LATENCY: f"surprisal of {_WORDS} words", FIRST: "from serve to the first view", CROWD: f"{_CROWD:,} at a time",
        KILLS: f"{_KILLS} kills", REQUESTS: f"{_REQUESTS:,} generated requests",
    }  # fmt: skip
    for name, title in jobs.items():
        call = Call("corpuscle", f"bench.web:{name.replace(' ', '_')}_job", {"pack": str(PACK)})
        more = () if name == KILLS else ("corpuscle/web/worker.py", "corpuscle/lm/verbs.py", "corpuscle/lm/*.py")
        yield Cell(name, title, (call,), prepare=_prepare, repeats=1, warm_up=False, sources=SERVER + more)


def _prepare() -> None:
    """Learn the sample, unless that is done."""
    if not (PACK / "report.html").is_file():
        subprocess.run([sys.executable, "-m", "corpuscle", "learn", "-o", str(PACK)], check=True)


class Served(Server):
    """A server process, and what it costs."""

    def __init__(self, pack: str | Path, *options: str):
        self.begun = time.perf_counter()
        super().__init__(Path(pack), *options)

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def cpu(self) -> float:
        """Seconds of CPU time of the process and of its workers so far."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as file:
            processes = [str(self.process.pid), *file.read().split()]
        fields = [Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split() for each in processes]
        return sum(int(each[11]) + int(each[12]) for each in fields) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Megabytes that the process has now."""
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def _sentences(pack: str, n: int, seed: int = 1) -> list[str]:
    """Different sentences of so many words each, of words of the pack's text."""
    words = [w for path in sorted(Path(pack, "kit", "text").glob("*.txt"))[:20] for w in path.read_text().split()]
    chance = random.Random(seed)
    return [" ".join(chance.choices(words, k=_WORDS)) for _ in range(n)]


def latency_job(timer: Timer, pack: str) -> dict[str, float]:
    """Milliseconds of warm requests, each with another sentence, one after the other."""
    import httpx

    with Served(pack) as server, httpx.Client(base_url=server.address, timeout=60) as web:
        taken, cpu = [], 0.0
        for i, text in enumerate(_sentences(pack, 520)):
            cpu = server.cpu() if i == 20 else cpu
            begin = time.perf_counter()
            assert web.post("/api/models/lm/surprisal", json={"text": text}).status_code == 200
            if i >= 20:
                taken.append(1000 * (time.perf_counter() - begin))
        cpu = (server.cpu() - cpu) / len(taken)
        text = _sentences(pack, 1)[0]
        begin = time.perf_counter()
        web.post("/api/models/lm/surprisal", json={"text": text})
        known = 1000 * (time.perf_counter() - begin)
    taken.sort()
    quantiles = {"median ms": statistics.median(taken), "95 % ms": taken[475], "greatest ms": taken[-1]}
    return quantiles | {"CPU ms": 1000 * cpu, "known ms": known}


def first_view_job(timer: Timer, pack: str) -> dict[str, float]:
    """Seconds from the start of the command to the page, to what the page is told, and to the first surprisal."""
    import httpx

    with Served(pack) as server, httpx.Client(base_url=server.address, timeout=60) as web:
        listening = time.perf_counter() - server.begun
        for path in ("/", "/page/app.js", "/page/views.js", "/page/style.css", "/api/pack"):
            assert web.get(path).status_code == 200
        told = time.perf_counter() - server.begun
        assert web.post("/api/models/lm/surprisal", json={"text": _sentences(pack, 1)[0]}).status_code == 200
        seconds = {"listening s": listening, "page s": told, "first view s": time.perf_counter() - server.begun}
        return seconds | {"first view CPU s": server.cpu()}


def crowd_job(timer: Timer, pack: str) -> dict[str, float]:
    """A thousand short requests at a time: how many are answered, how many refused cleanly, how much memory."""
    import httpx

    async def ask(web: Any, text: str) -> int:
        try:
            return (await web.post("/api/models/lm/surprisal", json={"text": text})).status_code
        except httpx.HTTPError:
            return 0

    async def crowd(address: str) -> list[int]:
        limits = httpx.Limits(max_connections=_CROWD)
        async with httpx.AsyncClient(base_url=address, timeout=120, limits=limits) as web:
            return await asyncio.gather(*(ask(web, text) for text in _sentences(pack, _CROWD)))

    with Served(pack) as server:
        httpx.post(f"{server.address}api/models/lm/surprisal", json={"text": "a"}, timeout=60)
        before = server.memory()
        found = Counter(asyncio.run(crowd(server.address)))
        after = server.memory()
        well = httpx.get(f"{server.address}api/pack").status_code == 200
    return {
        "answered": found[200], "refused": found[503], "otherwise": _CROWD - found[200] - found[503],
        "MB before": before, "MB after": after, "well afterwards": float(well),
    }  # fmt: skip


def kills_job(timer: Timer, pack: str) -> dict[str, float]:
    """Kill the server at random moments while it is told annotations; how many that it acknowledged are lost."""
    from corpuscle.packs.pack import Pack

    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "pack"
        Pack(empty).create()
        acknowledged, kept = kill_at_random(empty, _KILLS)
        lost = set(acknowledged) - set(kept.standing("segment"))
    return {"kills": _KILLS, "acknowledged": len(acknowledged), "lost": len(lost), "torn lines": kept.torn}


def requests_job(timer: Timer, pack: str) -> dict[str, float]:
    """Requests that schemathesis generates from the schema, half of them against it, to all endpoints but the start of
    learning, of a pack with tiny models of the kinds that the sample has."""
    import httpx

    from corpuscle.model import read_header
    from tests.web.served import write_pack

    kinds = sorted({read_header(path)[0]["kind"] for path in Path(pack, "models").glob("*.model")})
    with tempfile.TemporaryDirectory() as folder:
        server = Served(write_pack(Path(folder) / "pack", *kinds), "--seconds", "600")
        with server:
            with ProcessPoolExecutor(_CLIENTS) as clients:
                every = [server.address] * _CLIENTS, [_REQUESTS] * _CLIENTS, range(_CLIENTS), [_CLIENTS] * _CLIENTS
                asked = [each for part in clients.map(ask_everything, *every) for each in part]
            memory, well = server.memory(), httpx.get(f"{server.address}api/pack").status_code == 200
    found = Counter(each.status for each in asked)
    for each in asked:
        if each.status >= 500:
            print(each, file=sys.stderr)
    figures = {"requests": len(asked), "endpoints": len({each.operation for each in asked}), "MB": memory}
    figures |= {f"status {status}": count for status, count in sorted(found.items())}
    bad = sum(count for status, count in found.items() if status >= 500 and status != 503)
    return figures | {"bugs": bad, "well afterwards": float(well)}


def claims(results: dict[str, Any]) -> list[Claim]:
    """What a user is promised."""
    wanted = (
        (LATENCY, "median of a warm surprisal request, 20 words", "below 20 ms", "median ms", "{:.1f} ms", 20.0),
        (LATENCY, "CPU time of such a request", "below 20 ms", "CPU ms", "{:.1f} ms", 20.0),
        (FIRST, "CPU time from `serve` to the first view", "below 3 s", "first view CPU s", "{:.2f} s", 3.0),
        (FIRST, "from `serve` to the first view", "within 3 s", "first view s", "{:.2f} s", 3.0),
        (CROWD, "1,000 at a time: neither answered nor refused", "none", "otherwise", "{:.0f}", 0.5),
        (KILLS, "acknowledged annotations lost in 100 kills", "none", "lost", "{:.0f}", 0.5),
        (REQUESTS, "answers 500 to 10,000 generated requests", "none", "bugs", "{:.0f}", 0.5),
    )
    found = []
    for name, text, target, figure, form, most in wanted:
        claim = Claim(text, target)
        if name in results:
            measured = typical(results[name], "corpuscle", figure)
            claim = Claim(text, target, form.format(measured), measured < most)
        found.append(claim)
    return found


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    return (
        "Wall-clock times, over loopback, of the pack of the built-in sample; on a busy machine they are upper bounds. "
        "`CPU ms` is what a request takes of the cores, server and worker together; `known ms` is a request that was "
        "answered before. The first view is the page with its files, what it is told of the pack, and the surprisal of "
        "a sentence; the CPU time is that of the server and of its worker, which load side by side. Of a thousand "
        "requests at a time, those above the limit of 64 are refused at once with 503 and Retry-After; `MB` is the "
        "memory of the server process. A kill is `kill -9` at a random moment while annotations are sent one after the "
        "other. Generated requests are those of schemathesis to every endpoint but the start of learning, of a pack "
        "with tiny models of the kinds that the sample has, about half of them against the schema."
    )
