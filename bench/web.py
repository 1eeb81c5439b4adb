"""The workbench: how soon it answers, how it bears a crowd, and whether it keeps its word when it is killed.

The pack is that of the built-in sample, learned once and kept beside the cells, or the one that the environment
variable ``CORPUSCLE_PACK`` names. Everything is asked over loopback, of a server in a process of its own.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.align import FILES
from bench.harness import Call, Cell, Claim, Timer, typical

PACK = Path(os.environ.get("CORPUSCLE_PACK", FILES / "web-pack"))
SOURCES = ("corpuscle/web/**/*.py", "corpuscle/lm/**/*.py")
LATENCY, FIRST, CROWD, KILLS, REQUESTS = "latency", "first view", "crowd", "kills", "requests"
_WORDS, _CROWD, _KILLS, _REQUESTS = 20, 1000, 100, 10_000


def cells(data: Path) -> Iterator[Cell]:
    """Latency, the first view, a crowd, kills, and any input."""
    jobs = {
        LATENCY: f"surprisal of {_WORDS} words", FIRST: "from serve to the first view", CROWD: f"{_CROWD:,} at a time",
        KILLS: f"{_KILLS} kills", REQUESTS: f"{_REQUESTS:,} generated requests",
    }  # fmt: skip
    for name, title in jobs.items():
        call = Call("corpuscle", f"bench.web:{name.replace(' ', '_')}_job", {"pack": str(PACK)})
        yield Cell(name, title, (call,), prepare=_prepare, repeats=1, warm_up=False, sources=SOURCES)


def _prepare() -> None:
    """Learn the sample, unless that is done."""
    if not (PACK / "report.html").is_file():
        subprocess.run([sys.executable, "-m", "corpuscle", "learn", "-o", str(PACK)], check=True)


class Served:
    """A server process."""

    def __init__(self, pack: str | Path):
        self.begun = time.perf_counter()
        command = [sys.executable, "-m", "corpuscle", "serve", str(pack), "--port", "0"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        found = re.search(r"http://\S+", self.process.stderr.readline())
        assert found is not None
        self.address = found[0]

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()

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
    import httpx

    from corpuscle.packs.pack import Pack
    from corpuscle.web.annotations import Annotations

    chance, acknowledged = random.Random(1), list[str]()
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "pack"
        Pack(empty).create()
        for number in range(_KILLS):
            server = Served(empty)
            with httpx.Client(base_url=server.address, timeout=60) as web:
                end = time.perf_counter() + 0.2 * chance.random()
                while time.perf_counter() < end:
                    words = [f"w{number}", str(len(acknowledged))]
                    body = {"layer": "segment", "value": {"words": words}, "annotator": "Ana"}
                    if web.post("/api/annotations", json=body).status_code == 200:
                        acknowledged.append("".join(words))
            server.process.kill()
            server.process.wait()
        kept = Annotations(empty)
        lost = len(set(acknowledged) - set(kept.standing("segment")))
    return {"kills": _KILLS, "acknowledged": len(acknowledged), "lost": lost, "torn lines": kept.torn}


def requests_job(timer: Timer, pack: str) -> dict[str, float]:
    """Requests generated from the schema: any strings, numbers of any type, names of nothing."""
    import httpx

    chance, found = random.Random(1), Counter[int]()
    pieces = ["a", "b c", "\n", "\t", "\x00", "é", "\u2028", "\u202e", "<unk>", "</s>", "_", "#", "😀", " " * 9, "٣"]

    def value(schema: dict[str, Any]) -> Any:
        if chance.random() < 0.15:
            return chance.choice([None, -1, 1e300, [], {}, "x", True, 2**70])
        if "enum" in schema:
            return chance.choice(schema["enum"])
        if schema.get("type") == "string":
            return "".join(chance.choices(pieces, k=chance.randrange(12)))
        return chance.choice([0, 1, 3, 20, 0.5, True, False])

    with Served(pack) as server, httpx.Client(base_url=server.address, timeout=120) as web:
        paths = web.get("/openapi.json").json()["paths"]
        schemas = {
            path: each["post"]["requestBody"]["content"]["application/json"]["schema"]
            for path, each in paths.items()
            if path.startswith("/api/models/")
        }
        for _ in range(_REQUESTS):
            path = chance.choice(list(schemas))
            named = schemas[path]["properties"]
            body = {name: value(schema) for name, schema in named.items() if chance.random() < 0.7}
            found[web.post(path, json=body).status_code] += 1
    return {f"status {status}": count for status, count in sorted(found.items())} | {"bugs": found[500]}


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
        "answered before. Of a thousand requests at a time, those above the limit of "
        "64 are refused at once with 503 and Retry-After."
    )
