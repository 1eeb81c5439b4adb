"""A small pack of the tiny models, and the application around it."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path

from starlette.testclient import TestClient

from corpuscle.packs.pack import Pack
from corpuscle.web.app import make_app
from corpuscle.web.guard import Limits
from corpuscle.web.served_models import Asking, Holdings

MODELS = Path(__file__).parents[1] / "data" / "models"
HOST = "localhost:8765"
DICTIONARY = (
    "source\ttarget\tconfidence\tlinks\tp(target|source)\tp(source|target)\texample\ttranslation\tsure\n"
    "ka\tto\t0.9\t4.00\t1\t1\tka mi\tto su\tsure\nmi\tsu\t0.5\t1.00\t1\t1\t\t\tseen once\n"
)


def write_pack(folder: Path, *kinds: str) -> Path:
    """A pack with the tiny models of some kinds, a dictionary, a report, and a kit of a few lines."""
    pack = Pack(folder)
    pack.create()
    names = []
    for kind in kinds:
        name = f"models/{kind.replace('.', '_')}.model"
        (folder / name).write_bytes((MODELS / f"{kind}.model").read_bytes())
        names.append(name)
    (folder / "dictionary.tsv").write_text(DICTIONARY, encoding="utf-8")
    (folder / "report.html").write_text("<!doctype html><title>Report</title><p>A report", encoding="utf-8")
    (folder / "kit" / "text").mkdir(parents=True)
    (folder / "kit" / "text" / "a.txt").write_text("a b c\nb c a\nc a b\n", encoding="utf-8")
    pack.record("all", [*names, "dictionary.tsv"], findings={})
    return folder


@contextmanager
def client(path: Path, *, token: str = "", kit: Path | None = None, read_only: bool = False, crew=None, **limits):
    """The application in memory, asked as a browser on this machine would."""
    asking = Asking(Holdings(path, kit), Limits(**{"workers": 1, "seconds": 300.0, **limits}))
    app = make_app(asking, hosts=frozenset({HOST}), token=token, read_only=read_only, crew=crew)
    with TestClient(app, base_url=f"http://{HOST}", raise_server_exceptions=False) as opened:
        yield opened


def answer(response):
    """The JSON of an answer that is fine."""
    assert response.status_code == 200, response.text
    return json.loads(response.text)
