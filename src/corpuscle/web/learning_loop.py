"""The loop from reading to annotating to learning again: what is unsure, corrections, the kit, a new ``learn``.

Learning from the page: the same ``corpuscle learn``, in a process of its own, its messages as events.

Cancelling is Ctrl-C: the step writes what it has, and the next start goes on from there.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response, StreamingResponse

from corpuscle.errors import CorpuscleError, InputError
from corpuscle.settings import Seeded, Settings, setting
from corpuscle.text.files import read_lines
from corpuscle.web import intake
from corpuscle.web.annotation_formats import LAYERS
from corpuscle.web.annotations import Annotations
from corpuscle.web.endpoints import endpoint, errors, json_response
from corpuscle.web.guard import Refusal
from corpuscle.web.served_models import Asking, Holdings

_MOST_SENTENCES = 300  # of a kit, evenly over it, are looked at for the least sure ones


class Correction(Settings):
    """A correction of a sentence."""

    layer: str = setting("Which layer: segment, trees, entities, links, normalise, brackets.", default="")
    value: Any = setting("The sentence with its annotation, see the page on the workbench.", default=None)
    annotator: str = setting("Whose it is.", default="")


class Annotator(Settings):
    """Somebody who annotates."""

    annotator: str = setting("Whose.", default="")


class Wanted(Annotator):
    """What is to be annotated."""

    model: str = setting("The model whose doubts they are.", default="")
    text: str = setting("The text to choose from; empty: the text of the kit.", default="")
    n: int = setting("How many items.", default=20, low=1, high=200)


class Run(Seeded):
    """How to learn."""

    cluster: bool = setting("On the cluster that is served with, not on this machine.", default=False)


class Nothing(Settings):
    """No input."""


def _spread(lines: list[Any]) -> list[Any]:
    step = max(1, len(lines) // _MOST_SENTENCES)
    return lines[::step][:_MOST_SENTENCES]


def _material(holdings: Holdings, kind: str, most: int) -> dict[str, str]:
    """Text of the kit for the doubts of a kind of model, as the input of the verb."""
    from corpuscle.packs import Job, find_kit

    if holdings.kit is None or not holdings.kit.is_dir():
        raise Refusal(409, "the pack has no kit of its own to take text from: give a text, or serve it with --kit KIT")
    kit, longest = find_kit(holdings.kit, holdings.path), most // _MOST_SENTENCES
    if kind.startswith("align."):
        bitext = Job(kit, holdings.path, 1, None).parallel
        pairs = [(" ".join(source), " ".join(target)) for source, target in bitext if source and target]
        chosen = _spread([pair for pair in pairs if max(map(len, pair)) < longest])
        return {"source": "\n".join(a for a, _ in chosen), "target": "\n".join(b for _, b in chosen)}
    role = "noisy" if kind.startswith("normalise.") and kit.files.get("noisy") else "text"
    texts = (islice(read_lines(path), 100_000) for path in kit.paths(role))
    lines = [line for text in texts for _, line in text if line.strip() and len(line) < longest]
    return {"text": "\n".join(_spread(lines))}


def add_loop(app: FastAPI, asking: Asking, read_only: bool, crew: Mapping[str, Any]) -> Learning | None:
    """The endpoints of the loop, where there is a pack; those that write only where writing is allowed."""
    holdings = asking.holdings
    if not holdings.is_pack:
        return None
    annotations = Annotations(holdings.path)
    _add_reading(app, asking, annotations)
    if read_only:
        return None
    _add_writing(app, asking, annotations)
    learning = Learning(holdings.path, **crew)
    _add_learning(app, asking, learning)
    return learning


def _add_reading(app: FastAPI, asking: Asking, annotations: Annotations) -> None:
    holdings = asking.holdings

    @app.get("/api/annotations", responses=errors(403))
    async def annotations_() -> dict[str, Any]:
        """How much was annotated, by whom, and how far annotators agree."""
        return annotations.told()

    @app.get("/api/kit", responses=errors(403))
    async def kit() -> dict[str, Any]:
        """The files of the kit: what each is, what is wrong with them, what can be learned from them."""
        try:
            return await asyncio.to_thread(intake.told, holdings.kit, holdings.path)
        except InputError as error:
            raise Refusal(422, str(error)) from None

    async def doubts(given: Any) -> Response:
        """Items of which a model is least sure, the least sure first, without those that the annotator has done."""
        holding, verb = asking.find(given.model, "doubts")
        material: dict[str, Any] = {"text": given.text}
        if not given.text.strip():
            material = await asyncio.to_thread(_material, holdings, holding.kind, asking.limits.text)
        elif holding.kind.startswith("align."):
            pairs = [line.partition("|||")[::2] for line in given.text.split("\n") if "|||" in line]
            material = {name: "\n".join(p[i].strip() for p in pairs) for i, name in enumerate(("source", "target"))}
        most = verb.parameters["n"].high
        status, body = await asking.ask(given.model, "doubts", {**material, "n": int(most or given.n)})
        if status != 200:
            return json_response(status, body)
        found = json.loads(body)
        done = {item for item, by in annotations.standing(found["layer"]).items() if given.annotator in by}
        layer = LAYERS[found["layer"]]
        found["items"] = [item for item in found["items"] if layer.check(item["value"]) not in done][: given.n]
        return json_response(200, json.dumps(found, ensure_ascii=False).encode())

    endpoint(app, asking.limits, "/api/doubts", Wanted, doubts, {"model": "parser", "text": "a b c"})


def _add_writing(app: FastAPI, asking: Asking, annotations: Annotations) -> None:
    holdings = asking.holdings

    async def annotate(given: Any) -> dict[str, Any]:
        """Keep a correction: it is on the disk when this is answered."""
        holdings.create()
        return await asyncio.to_thread(annotations.add, given.layer, given.value, given.annotator)

    async def undo(given: Any) -> dict[str, Any]:
        """Take back the last correction of an annotator."""
        return await asyncio.to_thread(annotations.undo, given.annotator)

    async def export(given: Any) -> dict[str, Any]:
        """Write the corrections into the kit, in the formats of the field, so that learning again learns from them."""
        if holdings.kit is None:
            raise Refusal(409, "the pack has no kit of its own: serve it with --kit KIT to write there")
        return {"files": await asyncio.to_thread(annotations.export, holdings.kit)}

    example = {"layer": "segment", "value": {"words": ["a", "b"]}, "annotator": "Ana"}
    endpoint(app, asking.limits, "/api/annotations", Correction, annotate, example)
    endpoint(app, asking.limits, "/api/annotations/undo", Annotator, undo, {"annotator": "Ana"})
    endpoint(app, asking.limits, "/api/annotations/export", Nothing, export, {})

    @app.post("/api/kit/files/{name:path}", responses=errors(403, 409, 413, 415, 422), openapi_extra={
        "requestBody": {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}},
    })  # fmt: skip
    async def add(name: str, request: Request) -> dict[str, Any]:
        """Add a file to the kit, or put another one in its place."""
        if holdings.kit is None:
            raise Refusal(409, "the pack has no kit of its own: serve it with --kit KIT to write there")
        try:
            holdings.create()
            return {"file": await intake.store(holdings.kit, name, request.stream())}
        except (CorpuscleError, OSError) as error:
            raise Refusal(422, f"cannot write: {error}") from None


def _add_learning(app: FastAPI, asking: Asking, learning: Learning) -> None:
    holdings = asking.holdings

    async def start(given: Any) -> dict[str, Any]:
        """Learn, or go on with what was stopped."""
        if holdings.kit is None:
            raise Refusal(409, "the pack has no kit of its own to learn from: serve it with --kit KIT")
        holdings.create()  # a kit inside a folder that is no pack yet would be in its way
        await learning.start(holdings.kit, given.seed, given.cluster)
        return learning.told()

    async def cancel(given: Any) -> dict[str, Any]:
        """Stop learning, as Ctrl-C does; starting again goes on from there."""
        await learning.cancel()
        return learning.told()

    @app.get("/api/learning", responses=errors(403))
    async def state() -> dict[str, Any]:
        """How the run stands."""
        return learning.told()

    @app.get("/api/learning/dashboard", responses=errors(403))
    async def dashboard() -> dict[str, Any]:
        """The page on which the cluster shows what it does."""
        return await asyncio.to_thread(learning.dashboard)

    @app.get("/api/learning/events", include_in_schema=False)
    async def events() -> StreamingResponse:
        return StreamingResponse(learning.events(), media_type="text/event-stream")

    endpoint(app, asking.limits, "/api/learning/start", Run, start, {"seed": 1})
    endpoint(app, asking.limits, "/api/learning/cancel", Nothing, cancel, {})


# ---- relearn

_MOST_LINES, _MOST_READERS, _BEAT = 2000, 16, 15.0
_ENDS = {0: "done", 2: "failed", 130: "stopped"}


class Learning:
    """At most one run at a time. ``state``: idle, running, done, stopped (it can go on) or failed; ``cluster``: the
    address of one to work on, instead of ``workers`` of this machine."""

    def __init__(self, pack: Path, workers: int | None = None, cluster: str | None = None):
        self.pack, self.workers, self.cluster = pack, workers, cluster
        self.state = "idle"
        self.lines: list[str] = []
        self.begun = 0
        self._process: asyncio.subprocess.Process | None = None
        self._task: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self._readers = 0

    def told(self) -> dict[str, Any]:
        last = (self.lines or [""])[-1]
        return {"state": self.state, "run": self.begun, "lines": len(self.lines), "last": last, "cluster": self.cluster}

    def dashboard(self) -> dict[str, str | None]:
        """Where the cluster shows what it does, or why it does not answer."""
        from corpuscle.scale import dashboard

        try:
            return {"dashboard": dashboard(self.cluster) if self.cluster else None, "problem": None}
        except CorpuscleError as error:
            return {"dashboard": None, "problem": str(error)}

    async def start(self, kit: Path, seed: int, on_cluster: bool = False) -> None:
        """Begin, or go on with what was stopped; on the cluster, or on this machine."""
        if self.state == "running":
            raise Refusal(409, "a run is under way; cancel it first")
        if not kit.is_dir():
            raise Refusal(409, "there is no kit yet: add files first")
        command = [sys.executable, "-m", "corpuscle", "learn", str(kit), "-o", str(self.pack), "--seed", str(seed)]
        if on_cluster:
            if self.cluster is None:
                raise Refusal(409, "there is no cluster: serve with --cluster ADDRESS")
            command += ["--cluster", self.cluster]
        elif self.workers is not None:
            command += ["--workers", str(self.workers)]
        self._process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT, start_new_session=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
        self.state, self.lines, self.begun = "running", [], self.begun + 1
        self._task = asyncio.create_task(self._follow(self._process))

    async def _follow(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while line := await process.stdout.readline():
            self.lines.append(line.decode("utf-8", "replace").rstrip("\n"))
            del self.lines[:-_MOST_LINES]
            self._tell()
        self.state = _ENDS.get(await process.wait(), "failed")
        self._tell()

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def cancel(self) -> None:
        """Ask the run to stop, as Ctrl-C does, and wait until it has written what it has."""
        if self.state != "running" or self._process is None or self._task is None:
            raise Refusal(409, "nothing is being learned")
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)
        try:
            await asyncio.wait_for(asyncio.shield(self._task), 20)
        except TimeoutError:
            self._process.kill()
            await self._task

    async def close(self) -> None:
        """The server ends: so does the run, in good order."""
        if self.state == "running":
            await self.cancel()

    async def events(self) -> AsyncIterator[str]:
        """All messages of the run so far and then as they come, as server-sent events, until it ends."""
        if self._readers >= _MOST_READERS:
            raise Refusal(503, "too many readers of the progress")
        self._readers += 1
        try:
            sent, run = 0, self.begun
            while run == self.begun:
                news = self._news
                for line in self.lines[sent:]:
                    yield f"event: line\ndata: {json.dumps(line)}\n\n"
                sent = len(self.lines)
                if self.state != "running":
                    break
                try:
                    await asyncio.wait_for(news.wait(), _BEAT)
                except TimeoutError:
                    yield ": still here\n\n"
            yield f"event: end\ndata: {json.dumps(self.told())}\n\n"
        finally:
            self._readers -= 1
