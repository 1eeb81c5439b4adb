"""Claims about the door: foreign hosts and sites, the token, limits, what browsers are told."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
import zipfile
from pathlib import Path

import httpx
import pytest

from corpuscle.cli.main import main
from corpuscle.web.app import PAGE
from corpuscle.web.guard import Guard, Limits
from corpuscle.web.server import _names
from tests.web.processes import Server
from tests.web.served import HOST, MODELS, answer, client, write_pack

LM = "/api/models/lm_ngram/surprisal"


@pytest.fixture(scope="module")
def pack(tmp_path_factory):
    return write_pack(tmp_path_factory.mktemp("packs") / "pack", "lm.ngram", "words.exchange")


@pytest.fixture(scope="module")
def web(pack):
    with client(pack) as opened:
        yield opened


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "localhost", "localhost:1", "127.0.0.1.evil.example:8765"]
)
def test_a_foreign_host_is_refused_so_that_no_name_can_be_rebound_to_us(web, host):
    for path in ("/", "/api/pack", "/page/app.js", "/report"):
        assert web.get(path, headers={"host": host}).status_code == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://localhost", "http://localhost:1", "file://"]
)
def test_requests_of_other_sites_are_refused(web, origin):
    assert web.post(LM, json={"text": "a"}, headers={"origin": origin}).status_code == 403
    assert web.get("/api/pack", headers={"origin": origin}).status_code == 403


def test_our_own_page_may_ask(web):
    answer(web.post(LM, json={"text": "a"}, headers={"origin": f"http://{HOST}", "sec-fetch-site": "same-origin"}))
    assert web.get("/api/pack", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert web.get("/", headers={"sec-fetch-site": "cross-site"}).status_code == 200  # a link on another page


def test_a_form_of_another_site_cannot_post(web):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        assert web.post(LM, content=b'{"text": "a"}', headers={"content-type": kind}).status_code == 415


def test_every_answer_tells_the_browser_what_it_may_do(web):
    for response in (
        web.get("/"),
        web.get("/page/app.js"),
        web.get("/api/pack"),
        web.get("/nowhere"),
        web.get("/", headers={"host": "x"}),
    ):
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert (
            response.headers["x-content-type-options"] == "nosniff" and response.headers["cache-control"] == "no-store"
        )
    report = web.get("/report").headers["content-security-policy"]
    assert "sandbox" in report and "script-src" not in report and "frame-ancestors 'self'" in report


def test_outside_the_machine_nothing_is_said_without_the_token(pack):
    with client(pack, token="secret") as opened:
        for path in ("/", "/page/app.js", "/api/pack", "/report", "/?token=wrong"):
            assert opened.get(path).status_code == 401
        assert opened.get("/api/pack", headers={"authorization": "Bearer wrong"}).status_code == 401
        assert opened.get("/api/pack", headers={"authorization": "Bearer secret"}).status_code == 200
        entered = opened.get("/?token=secret", follow_redirects=False)
        assert entered.status_code == 303 and "HttpOnly" in entered.headers["set-cookie"]
        assert "SameSite=Strict" in entered.headers["set-cookie"] and entered.headers["location"] == "/"
        assert opened.get("/api/pack").status_code == 200  # by the cookie


def test_a_loopback_address_has_the_names_of_this_machine_for_itself_alone():
    assert _names("127.0.0.1", 80) >= {"localhost", "127.0.0.1:80", "[::1]:80"}
    assert "10.0.0.7:99" in _names("10.0.0.7", 99) and "10.0.0.7:99" not in _names("127.0.0.1", 99)


def test_a_body_without_a_length_is_counted_while_it_comes(web):
    def pieces():
        for _ in range(40):
            yield b" " * 100_000

    response = web.post(LM, content=pieces(), headers={"content-type": "application/json"})
    assert response.status_code == 413


def test_what_takes_too_long_is_refused_and_the_next_question_is_answered(pack):
    with client(pack, seconds=0.001) as opened:
        response = opened.post(LM, json={"text": "a"})
        assert response.status_code == 503 and response.headers["retry-after"] == "1"
        assert "seconds" in response.json()["error"] or "busy" in response.json()["error"]
        assert opened.get("/api/pack").status_code == 200


def test_what_needs_more_memory_than_there_is_is_refused(pack):
    with client(pack, memory=30 << 20) as opened:  # a worker may have twice that, and Numba alone needs more
        response = opened.post(LM, json={"text": "a"})
        assert response.status_code == 503 and "memory" in response.json()["error"]
        assert opened.get("/api/pack").status_code == 200


def test_a_worker_that_dies_costs_its_question_only(pack):
    with client(pack) as opened:
        answer(opened.post(LM, json={"text": "a"}))
        pool = opened.app.app.state.asking.pool
        pool._workers[0].process.kill()
        first = opened.post(LM, json={"text": "a b"})
        assert first.status_code in (200, 503)
        answer(opened.post(LM, json={"text": "a b"}))


def test_too_many_requests_at_a_time_are_refused(pack):
    with client(pack, requests=2) as opened:
        statuses = []
        ask = lambda i: statuses.append(opened.post(LM, json={"text": f"a {i}"}).status_code)  # noqa: E731
        threads = [threading.Thread(target=ask, args=(i,)) for i in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(statuses) <= {200, 503} and 200 in statuses
        assert opened.app.busy == 0


def test_models_are_let_go_when_memory_runs_short():
    from corpuscle.web.worker import Answerer

    paths = [str(MODELS / f"{kind}.model") for kind in ("lm.ngram", "lm.hpy", "words.exchange")]
    poor, rich = Answerer(1), Answerer(1 << 40)
    for answerer in (poor, rich):
        for path in paths:
            answerer.model(path, 0, "")
    assert len(poor._models) == 1 and len(rich._models) == 3
    again = rich.model(paths[0], 0, "")
    assert again is rich.model(paths[0], 0, "") and again is not rich.model(paths[0], 1, "") and len(rich._models) == 3


def test_the_page_is_small_and_asks_nobody_else():
    files = [path for path in PAGE.iterdir() if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 300_000
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert "://" not in text.replace("http://www.w3.org/2000/svg", ""), path


def test_the_wheel_contains_the_page_and_all_data(tmp_path):
    wheel = pytest.importorskip("hatchling.builders.wheel", reason="hatchling is not installed")
    root = Path(__file__).parents[2]
    built = next(wheel.WheelBuilder(str(root)).build(directory=str(tmp_path), versions=["standard"]))
    with zipfile.ZipFile(built) as archive:
        for path in PAGE.iterdir():
            assert archive.read(f"corpuscle/web/page/{path.name}") == path.read_bytes()
        for path in (path for end in ("toml", "txt", "css", "js") for path in (root / "src").rglob(f"*.{end}")):
            assert archive.read(path.relative_to(root / "src").as_posix()) == path.read_bytes()


def test_a_port_that_is_taken_and_a_path_that_is_nothing_are_one_line_each(tmp_path, capsys):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["serve", str(MODELS / "lm.ngram.model"), "--port", port]) == 2
    (tmp_path / "text.txt").write_text("no model")
    assert main(["serve", str(tmp_path / "text.txt")]) == 2
    assert main(["serve", str(tmp_path / "nothing"), "--read-only"]) == 2
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "x").write_text("x")
    assert main(["serve", str(tmp_path / "folder")]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 4 and all(line.startswith("error: ") for line in said)


def asked(address: str, *parts: bytes, pause: float = 0.0) -> socket.socket:
    """A connection on which something was sent."""
    opened = socket.create_connection(address.removeprefix("http://").rstrip("/").split(":"), timeout=20)
    for part in parts:
        opened.sendall(part)
        time.sleep(pause)
    return opened


def heads(address: str, length: int) -> bytes:
    host = address.removeprefix("http://").rstrip("/")
    return (
        f"POST /api/models/lm_ngram/surprisal HTTP/1.1\r\nHost: {host}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


def test_clients_that_never_finish_keep_nobody_out_and_are_let_go(tmp_path):
    server = Server(write_pack(tmp_path / "pack", "lm.ngram"), requests=4, patience=2.0)
    address = server.address
    try:
        unfinished = [asked(address, heads(address, 1000), b"12345") for _ in range(10)]
        silent, partial = asked(address), asked(address, b"GET / HTTP/1.1\r\nHost: x")
        began = time.monotonic()
        assert (
            httpx.post(f"{address}api/models/lm_ngram/surprisal", json={"text": "a b"}, timeout=60).status_code == 200
        )
        waited = time.monotonic() - began
        for opened in unfinished:
            answer = opened.recv(4096)
            assert answer.startswith(b"HTTP/1.1 408") and b"connection: close" in answer and waited < 60
        for opened in (silent, partial):
            assert opened.recv(4096) == b""
        for opened in (*unfinished, silent, partial):
            opened.close()
    finally:
        server.end()


def test_a_client_that_leaves_in_the_middle_costs_no_traceback(tmp_path):
    server = Server(write_pack(tmp_path / "pack", "lm.ngram"))
    try:
        host = server.address.removeprefix("http://").rstrip("/")
        upload = (
            f"POST /api/kit/files/story.txt HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/octet-stream\r\n"
            "Content-Length: 1000\r\n\r\n"
        ).encode()
        for head in (heads(server.address, 1000), upload):
            asked(server.address, head, b"12345", pause=0.2).close()
        assert httpx.get(server.address, timeout=60).status_code == 200
        assert sorted(path.name for path in (tmp_path / "pack" / "kit" / "text").iterdir()) == ["a.txt"]
    finally:
        server.process.terminate()
        said = server.process.stderr.read()
        server.process.wait(20)
    assert "Traceback" not in said and "ERROR" not in said, said


def test_a_body_that_drips_is_given_up_and_one_that_keeps_coming_is_not():
    async def ask(pause: float) -> int:
        sent: list[dict] = []
        parts = iter(range(6))

        async def receive():
            await asyncio.sleep(pause)
            return {"type": "http.request", "body": b"x" * 100, "more_body": next(parts) < 5}

        async def send(message):
            sent.append(message)

        async def app(scope, receive, send):
            message = await receive()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": message["body"]})

        guard = Guard(app, frozenset({"here"}), "", limits=Limits(patience=0.3, rate=1000))
        headers = [(b"host", b"here"), (b"content-type", b"application/json")]
        scope = {"type": "http", "method": "POST", "path": "/x", "headers": headers, "query_string": b""}
        await guard(scope, receive, send)
        assert guard.busy == guard.arriving == 0
        return sent[0]["status"]

    assert asyncio.run(ask(0.02)) == 200 and asyncio.run(ask(0.25)) == 408
