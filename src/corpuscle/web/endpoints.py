"""Endpoints that take a JSON object and give one: how they are made, and how they are described."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response

from corpuscle.errors import CorpuscleError
from corpuscle.settings import Settings
from corpuscle.web.guard import REFUSED, Limits, Refusal
from corpuscle.web.served_models import checked, input_schema, parsed

_ERROR = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
_REASONS = {
    400: "The body is not JSON.", 401: "The token is missing.", 403: "A foreign Host or Origin.",
    404: "No such thing here.", 409: "Not now.", 413: "Too long.", 415: "The body is not declared as what it must be.",
    422: "Wrong input, and what would be right.", 503: "Too busy, too slow, or out of memory.",
}  # fmt: skip


def json_response(status: int, body: bytes) -> Response:
    """JSON that is bytes already."""
    return Response(body, status, REFUSED.get(status), "application/json")


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The responses of an endpoint that refuses."""
    return {
        status: {"description": _REASONS[status], "content": {"application/json": {"schema": _ERROR}}}
        for status in statuses
    }


def described(help: str, inputs: Any, limits: Limits, example: Mapping[str, Any]) -> dict[str, Any]:
    """OpenAPI's words for an endpoint: its input from its settings, an example, what it answers and refuses."""
    answer = {"description": "The answer.", "content": {"application/json": {"schema": {"type": "object"}}}}
    refused = errors(400, 403, 404, 409, 413, 415, 422, 503)
    schema = input_schema(inputs, limits)
    return {
        "summary": " ".join(help.split()),
        "requestBody": {
            "required": True, "content": {"application/json": {"schema": schema, "example": dict(example)}},
        },
        "responses": {"200": answer, **{str(status): each for status, each in refused.items()}},
    }  # fmt: skip


def endpoint(
    app: FastAPI,
    limits: Limits,
    path: str,
    inputs: type[Settings],
    call: Callable[[Any], Awaitable[Any]],
    example: Mapping[str, Any],
) -> None:
    """Add ``POST path``: a JSON object, checked by the settings of ``inputs``, to ``call``."""

    async def asked(request: Request) -> Response:
        try:
            found = await call(checked(parsed(await request.body()), inputs, limits))
        except CorpuscleError as error:
            raise Refusal(422, str(error)) from None
        return found if isinstance(found, Response) else JSONResponse(found)

    extra = described(call.__doc__ or "", inputs, limits, example)
    app.post(path, name=path, operation_id=path.strip("/").replace("/", "_"), openapi_extra=extra)(asked)
