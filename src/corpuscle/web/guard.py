"""The door: who may ask, how much, how often; and what every answer says about itself to the browser.

A page of another site that the user has open must not reach the workbench: the ``Host`` must be ours (else a name
that an attacker controls could be made to point here, DNS rebinding), an ``Origin`` must be ours, and a body must be
declared as what no form of a foreign page can send without asking first. Outside the machine nothing is said without
the token. A request takes one of the places only when all of its body is there, and a body that does not come is not
waited for; so clients that never finish what they announce keep nobody else out.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE = "corpuscle_token"


@dataclass(frozen=True)
class Limits:
    """How much is answered: bytes of a body, and of one that is a file, characters of a text, seconds of an answer,
    requests at a time, worker processes and bytes of memory of each; ``patience``: seconds for the head of a request,
    for the first bytes of a body, and for a connection that is idle; ``rate``: bytes of a body for one second more."""

    body: int = 2 << 20
    upload: int = 256 << 20
    text: int = 100_000
    seconds: float = 60.0
    requests: int = 64
    workers: int = 2
    memory: int = 2 << 30
    patience: float = 15.0
    rate: int = 16 << 10


class Refusal(Exception):
    """A request that is not answered: status and reason."""

    def __init__(self, status: int, reason: str):
        super().__init__(reason)
        self.status, self.reason = status, reason


REFUSED = {503: {"retry-after": "1"}, 408: {"connection": "close"}}
"""Headers of refusals by status."""


class _Left(Exception):
    """The client has gone before its request was whole."""


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope.get("headers", ())}


@dataclass
class Guard:
    """ASGI middleware: allowed ``Host`` headers, content security policy of pages, the token to be known, if any."""

    app: App
    hosts: frozenset[str]
    policy: str
    token: str = ""
    limits: Limits = field(default_factory=Limits)
    busy: int = 0
    arriving: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        if scope["type"] != "http":
            raise RuntimeError("only HTTP is spoken here")
        if self._entering(scope):
            return await self._enter(send)
        try:
            self._check(scope, _headers(scope))
        except Refusal as refusal:
            return await self._refuse(send, refusal)
        stream = scope["path"].endswith("/events")
        crowded = Refusal(503, "too many requests at a time; try again in a moment")
        if self.busy >= self.limits.requests or self.arriving >= 4 * self.limits.requests:
            return await self._refuse(send, crowded)
        self.arriving += 1
        receive = self._bounded(scope, receive)
        try:
            if not self._is_file(scope):  # a file goes to the disk as it comes
                receive = await self._whole(receive)
        except Refusal as refusal:
            return await self._refuse(send, refusal)
        except _Left:
            return None
        finally:
            self.arriving -= 1
        if self.busy >= self.limits.requests:
            return await self._refuse(send, crowded)
        self.busy += not stream
        try:
            await self.app(scope, receive, self._dressed(send))
        except _Left:
            return None
        finally:
            self.busy -= not stream

    # ---- who

    def _check(self, scope: Scope, headers: dict[str, str]) -> None:
        host = headers.get("host", "").lower()
        if host not in self.hosts:
            raise Refusal(403, "this Host is not served here")
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in {f"http://{host}", f"https://{host}"}:
            raise Refusal(403, "requests of other sites are not answered")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and scope["path"] != "/":
            raise Refusal(403, "requests of other sites are not answered")
        if self.token and not self._knows(headers):
            raise Refusal(401, "the token is needed: open the address that was printed when the server began")
        if scope["method"] == "POST":
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            wanted = "application/octet-stream" if self._is_file(scope) else "application/json"
            if kind != wanted:
                raise Refusal(415, f"a body is {wanted} here")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._most(scope):
            raise Refusal(413, f"a body has at most {self._most(scope):,} bytes")

    def _is_file(self, scope: Scope) -> bool:
        return scope["path"].startswith("/api/kit/files/")

    def _most(self, scope: Scope) -> int:
        return self.limits.upload if self._is_file(scope) else self.limits.body

    def _knows(self, headers: dict[str, str]) -> bool:
        given = headers.get("authorization", "").removeprefix("Bearer ")
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            cookie = None
        known = given, cookie.value if cookie else ""
        return any(hmac.compare_digest(each.encode(), self.token.encode()) for each in known)

    def _entering(self, scope: Scope) -> bool:
        """Whether somebody opens the address with the token: it becomes a cookie, and leaves the address."""
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0]
        known = bool(self.token) and hmac.compare_digest(given.encode(), self.token.encode())
        return known and scope["path"] == "/" and _headers(scope).get("host", "").lower() in self.hosts

    async def _enter(self, send: Send) -> None:
        cookie = f"{COOKIE}={self.token}; Path=/; HttpOnly; SameSite=Strict"
        headers = [(b"location", b"/"), (b"set-cookie", cookie.encode()), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    # ---- how much

    def _bounded(self, scope: Scope, receive: Receive) -> Receive:
        """A body is counted and timed while it comes, whatever it says of its length."""
        got, most, began, ended = 0, self._most(scope), time.monotonic(), False

        async def counted() -> MutableMapping[str, Any]:
            nonlocal got, ended
            if ended:  # what comes now is that the client has gone, at any time
                return await receive()
            left = began + self.limits.patience + got / self.limits.rate - time.monotonic()
            try:
                message = await asyncio.wait_for(receive(), max(0.0, left))
            except TimeoutError:
                raise Refusal(408, "the rest of the request did not come in time") from None
            if message["type"] == "http.disconnect":
                raise _Left
            got += len(message.get("body", b""))
            if got > most:
                raise Refusal(413, f"a body has at most {most:,} bytes")
            ended = not message.get("more_body", False)
            return message

        return counted

    async def _whole(self, receive: Receive) -> Receive:
        parts, more = [], True
        while more:
            message = await receive()
            parts.append(message.get("body", b""))
            more = message.get("more_body", False)
        whole: list[MutableMapping[str, Any]] = [{"type": "http.request", "body": b"".join(parts), "more_body": False}]

        async def replayed() -> MutableMapping[str, Any]:
            return whole.pop() if whole else await receive()

        return replayed

    def _dressed(self, send: Send) -> Send:
        """Answers say what a browser may do with them."""

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *self._safety(message["headers"])]
            await send(message)

        return with_headers

    def _safety(self, has: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        names = {name.lower() for name, _ in has}
        own = {
            b"content-security-policy": self.policy.encode(),
            b"x-content-type-options": b"nosniff",
            b"referrer-policy": b"no-referrer",
            b"cross-origin-opener-policy": b"same-origin",
            b"cross-origin-resource-policy": b"same-origin",
            b"cache-control": b"no-store",
        }
        return [(name, value) for name, value in own.items() if name not in names]

    async def _refuse(self, send: Send, refusal: Refusal) -> None:
        body = json.dumps({"error": refusal.reason}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        headers += [(name.encode(), value.encode()) for name, value in REFUSED.get(refusal.status, {}).items()]
        headers += self._safety(())
        await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})
