"""``serve``: the workbench on an address of this machine, until Ctrl-C."""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
import socket
import webbrowser
from typing import Any

from corpuscle.errors import InputError, SettingError, require
from corpuscle.progress import say
from corpuscle.text.files import AnyPath
from corpuscle.web.guard import Limits
from corpuscle.web.served_models import Asking, Holdings

_BACKLOG = 2048


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _names(host: str, port: int) -> frozenset[str]:
    """What ``Host`` may say: the names of this machine for itself, or the address that was asked for."""
    shown = f"[{host}]" if ":" in host else host
    own = ("localhost", "127.0.0.1", "[::1]")
    names = own if _is_loopback(host) else (*own, shown, socket.gethostname().lower())
    return frozenset(f"{name}:{port}" for name in names) | (frozenset(names) if port == 80 else frozenset())


def _listen(host: str, port: int) -> socket.socket:
    """A socket on an address; port 0 is any free one."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # Said that it is TCP, asyncio turns off Nagle's wait for a full packet, which costs 40 ms an answer.
        opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((host, port))
        opened.listen(_BACKLOG)  # who comes before the server is ready waits
        return opened
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SettingError(f"cannot listen on {host}:{port}: {reason.lower()}") from None


def serve(
    path: AnyPath,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    open_page: bool = False,
    read_only: bool = False,
    kit: AnyPath | None = None,
    limits: Limits | None = None,
    **crew: Any,
) -> None:
    """Serve a pack (or an empty folder that becomes one) or a model file until Ctrl-C.

    Only this machine is answered, unless ``host`` is another address: then a token is made and printed once, and nobody
    is answered without it. ``read_only``: nothing is written. ``kit``: the folder that annotations and files go to,
    where the pack does not have its own inside. ``crew``: who works when it is learned from the
    page: ``workers`` of this machine, or the address of a ``cluster``.
    """
    require("uvicorn", extra="web")
    holdings = Holdings(path, kit)
    if holdings.is_pack and not holdings.path.exists() and read_only:
        raise InputError(path, None, "no such pack or model")
    opened = _listen(host, port)
    port = opened.getsockname()[1]
    token = "" if _is_loopback(host) else secrets.token_urlsafe(24)
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}/" + (f"?token={token}" if token else "")
    say(f"{path}: {address}  (Ctrl-C ends it)")
    if open_page:
        webbrowser.open(address)
    door = {"hosts": _names(host, port), "token": token, "read_only": read_only, "crew": crew}
    asyncio.run(_answer(Asking(holdings, limits or Limits()), opened, door))


async def _answer(asking: Asking, opened: socket.socket, door: dict[str, Any]) -> None:
    """Answer on a socket until Ctrl-C. A worker loads models while this process loads the web."""
    await asking.pool.open()
    import uvicorn

    from corpuscle.web.app import make_app

    config = uvicorn.Config(
        make_app(asking, **door), log_level="warning", access_log=False, server_header=False, date_header=False,
        http=_patient(asking.limits.patience), backlog=_BACKLOG, timeout_keep_alive=15,
        h11_max_incomplete_event_size=1 << 16, timeout_graceful_shutdown=3, lifespan="on",
    )  # fmt: skip
    await uvicorn.Server(config).serve(sockets=[opened])


def _patient(seconds: float) -> Any:
    """The protocol of a connection, which is closed if the head of a request is not whole after some seconds."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Patient(H11Protocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait()

        def _wait(self) -> None:
            self._waiting = self.loop.call_later(seconds, self.transport.close)

        def data_received(self, data: bytes) -> None:
            if self._waiting.cancelled() and self.cycle.response_complete:  # the first bytes of the next request
                self._wait()
            super().data_received(data)

        def handle_events(self) -> None:
            before = self.cycle
            super().handle_events()
            if self.cycle is not before:
                self._waiting.cancel()

        def connection_lost(self, exc: Exception | None) -> None:
            self._waiting.cancel()
            super().connection_lost(exc)

    return Patient
