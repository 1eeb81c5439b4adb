"""The endpoints asked by schemathesis: what the schema allows, and what it does not, of a real server."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.web.generated import ask_everything
from tests.web.processes import Server
from tests.web.served import MODELS, write_pack

pytest.importorskip("schemathesis", reason="schemathesis is not installed (pip install schemathesis)")

FEW = ("lm.ngram", "words.exchange", "align.ibm1", "tag.crf", "entities.dictionary")
ALL = tuple(sorted(path.name.removesuffix(".model") for path in MODELS.iterdir()))
FINE = {200, 400, 404, 405, 409, 411, 413, 415, 422}


@pytest.mark.parametrize(
    ("kinds", "requests"), [(FEW, 400), pytest.param(ALL, 10_000, marks=pytest.mark.slow)], ids=["few", "all"]
)
def test_no_request_is_a_bug(tmp_path, kinds, requests):
    server = Server(write_pack(tmp_path / "pack", *kinds), "--seconds", "600")
    try:
        found = Counter(each.status for each in ask_everything(server.address, requests))
    finally:
        server.end()
    assert found.total() >= requests and set(found) <= FINE, found
    assert found[200] > requests / 5 and found[422] > requests / 20, found
