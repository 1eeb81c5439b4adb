"""Servers in processes of their own, for tests and benchmarks."""

from __future__ import annotations

import random
import re
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

__all__ = ["Server", "kill_at_random"]


class Server:
    """``corpuscle serve`` in a process of its own; ``limits``: those that its command has no options for."""

    def __init__(self, path: Path, *options: str, **limits: Any):
        command = [sys.executable, "-m", "corpuscle", "serve", str(path), "--port", "0", *options]
        if limits:
            call = f"serve({str(path)!r}, port=0, limits=Limits(**{limits}))"
            command = [sys.executable, "-c", f"from corpuscle.web.server import Limits, serve; {call}"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
        line = self.process.stderr.readline()
        found = re.search(r"http://\S+", line)
        assert found, line + self.process.stderr.read()
        self.address = found[0]

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(20)
        self.process.stderr.close()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(20)
        self.process.stderr.close()


def kill_at_random(path: Path, kills: int, seed: int = 1) -> tuple[list[str], Any]:
    """Kill servers of a pack at random moments while they are told annotations, one request after the other: what they
    acknowledged, and the annotations that a new server would find."""
    import httpx

    from corpuscle.web.annotations import Annotations

    chance, acknowledged = random.Random(seed), []
    for number in range(kills):
        server = Server(path)
        killer = threading.Timer(chance.uniform(0.0, 0.25), server.process.kill)
        with httpx.Client(base_url=server.address, timeout=60) as web, suppress(httpx.TransportError):
            for i in range(1_000_000):
                words = [f"w{number}", str(i)]
                body = {"layer": "segment", "value": {"words": words}, "annotator": "Ana"}
                if web.post("/api/annotations", json=body).status_code == 200:
                    acknowledged.append("".join(words))
                if i == 0:  # it is up: from now on it may die in the middle of anything
                    killer.start()
        killer.join()
        server.kill()
    return acknowledged, Annotations(path)
