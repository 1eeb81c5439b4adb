"""The workbench as a web application: pages, and one JSON endpoint for each verb of each model that is served."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse, Response

from corpuscle import __version__
from corpuscle.figures.svg import STYLE
from corpuscle.web.endpoints import described, errors, json_response
from corpuscle.web.guard import REFUSED, Guard, Refusal
from corpuscle.web.learning_loop import add_loop
from corpuscle.web.served_models import Asking, Holdings, parsed

PAGE = Path(__file__).with_name("page")
_KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'; sandbox"


def page_policy() -> str:
    """The content security policy of the page: its own files, and the one style that all pictures have."""
    style = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self' 'sha256-{style}'; img-src 'self' data:; "
        "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def make_app(
    asking: Asking,
    *,
    hosts: frozenset[str],
    token: str = "",
    read_only: bool = False,
    crew: Mapping[str, Any] | None = None,
) -> Guard:
    """The ASGI application behind its guard; ``crew``: who learns, ``workers`` or a ``cluster``."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await asking.pool.open()
        yield
        if learning is not None:
            await learning.close()
        await asking.pool.close()

    app = FastAPI(
        title="Corpuscle", version=__version__, docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan
    )
    app.add_exception_handler(Refusal, _refused)
    app.state.asking = asking
    _add_pages(app, asking.holdings)
    _add_verbs(app, asking, read_only)
    learning = add_loop(app, asking, read_only, crew or {})
    return Guard(app, hosts, page_policy(), token, asking.limits)


async def _refused(_: Request, refusal: Any) -> Response:
    return JSONResponse({"error": refusal.reason}, refusal.status, REFUSED.get(refusal.status))


def _add_pages(app: FastAPI, holdings: Holdings) -> None:
    files = {path.name: path for path in PAGE.iterdir() if path.suffix in _KINDS}

    @app.get("/", include_in_schema=False)
    async def index() -> Response:
        return Response(files["index.html"].read_bytes(), media_type="text/html")

    @app.get("/page/{name}", include_in_schema=False)
    async def part(name: str) -> Response:
        if name not in files:
            raise Refusal(404, "there is no such page")
        return Response(files[name].read_bytes(), media_type=_KINDS[files[name].suffix])

    @app.get("/report", include_in_schema=False)
    async def report() -> Response:
        path = holdings.inside("report.html")
        if path is None:
            raise Refusal(404, "there is no report")
        headers = {"content-security-policy": _REPORT_POLICY}
        return Response(path.read_bytes(), media_type="text/html", headers=headers)


def _add_verbs(app: FastAPI, asking: Asking, read_only: bool) -> None:
    @app.get("/api/pack", responses=errors(403))
    async def pack() -> dict[str, Any]:
        """What is served: models, what each can be asked, whether there is a report."""
        asking.holdings.refresh()
        return {**asking.holdings.told(), "read_only": read_only, "version": __version__}

    @app.post("/api/models/{model}/{verb}", include_in_schema=False)
    async def ask(model: str, verb: str, request: Request) -> Response:
        return json_response(*await asking.ask(model, verb, parsed(await request.body())))

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        # the fixed endpoints, and one for each verb of each model, with an example
        schema = get_openapi(title=app.title, version=app.version, routes=app.routes)
        for holding in asking.holdings.models().values():
            for verb in holding.verbs:
                operation = described(verb.help, verb, asking.limits, verb.asked)
                operation |= {"tags": [holding.name], "operationId": f"{holding.name}_{verb.name}"}
                schema["paths"][f"/api/models/{holding.name}/{verb.name}"] = {"post": operation}
        return JSONResponse(schema)
