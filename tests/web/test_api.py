"""Claims about the endpoints: every kind of model is asked, wrong input is refused, nothing breaks."""

from __future__ import annotations

import numpy as np
import pytest

import corpuscle
from corpuscle.catalogue import TASKS
from corpuscle.cli.derive import group_of
from corpuscle.errors import InputError
from corpuscle.text import read_strings
from corpuscle.verbs import views, views_of
from tests.web.served import MODELS, answer, client, write_pack

KINDS = sorted(path.name.removesuffix(".model") for path in MODELS.iterdir())
SILENT = {"align.matrix"}
"""Kinds that are results, not models."""


@pytest.fixture(scope="module")
def pack(tmp_path_factory):
    return write_pack(tmp_path_factory.mktemp("packs") / "pack", *KINDS)


@pytest.fixture(scope="module")
def web(pack):
    with client(pack) as opened:
        yield opened


def test_every_kind_of_model_can_be_asked():
    kinds = {kind for task in TASKS.values() for kind in task.kinds}
    assert {kind for kind in kinds if not views_of(kind)} == SILENT
    assert all(verb.help.endswith(".") and verb.asked for verb in views().values())


LEARN = {
    "train",
    "update",
    "combine",
    "boost",
    "project",
    "rerank",
    "induce",
    "common",
    "coarsen",
    "mix",
    "prune",
    "curve",
    "jackknife",
    "export",
    "import",
}
"""Commands that make models or other files of models."""
FILES = [
    "evaluate",
    "similarity",
    "analogies",
    "phrases",
    "relations",
    "survey",
    "strip",
    "dependencies",
    "languages",
    "corrupt",
    "matrix",
    "represent",
    "filter",
]
"""Commands that need files: what people say is right, or much text."""
INSIDE = ["weights", "categories", "distances", "rules", "history"]
"""Commands that list the numbers of a model, for those who look inside."""
MORE = {
    "lm": {"compare"}, "parse": {"compare", "probability"}, "grammar": {"compare"}, "align": {"lexicon"},
    "topics": {"score", "perplexity"}, "vectors": {"apply"}, "entities": {"features"},
}  # fmt: skip
"""Of single tasks: commands that compare files, or are about all of a model or a text."""
OTHER_NAMES = {
    "segment": {"posterior": "apply", "perplexity": "score"},
    "lm": {"score": "surprisal", "perplexity": "surprisal"},
    "classes": {"apply": "classes", "draw": "tree"},
    "meaning": {"nearest": "similar", "map": "meanings"},
    "metric": {"apply": "neighbours", "show": "features"},
    "topics": {"apply": "topics"},
    "align": {"apply": "align", "draw": "align"},
    "transliterate": {"apply": "transliterate", "draw": "lattice"},
    "translate": {"apply": "translate"}, "tag": {"apply": "tag"}, "disambiguate": {"apply": "analyse"},
    "parse": {"apply": "parse", "draw": "parse"}, "normalise": {"apply": "normalise"},
    "entities": {"apply": "entities", "draw": "entities", "uncertain": "doubts"},
    "grammar": {"draw": "parse", "perplexity": "probability"},
}  # fmt: skip
"""Commands that are asked under another name, where one verb says what several commands do."""


@pytest.mark.parametrize("task", [name for name, task in TASKS.items() if task.kinds])
def test_every_command_that_asks_a_model_is_a_verb(task):
    commands = set(group_of(task).commands)
    asked = commands.difference(LEARN, FILES, INSIDE, MORE.get(task, ()))
    verbs = {name for of, name in views() if of == task}
    assert {OTHER_NAMES.get(task, {}).get(name, name) for name in asked} <= verbs


def test_the_page_is_told_what_can_be_asked_and_openapi_has_an_endpoint_with_an_example_for_each(web):
    told = answer(web.get("/api/pack"))
    asked = {(m["name"], v["name"]) for m in told["models"] for v in m["verbs"]}
    paths = answer(web.get("/openapi.json"))["paths"]
    for name, verb in asked:
        operation = paths[f"/api/models/{name}/{verb}"]["post"]
        content = operation["requestBody"]["content"]["application/json"]
        assert content["example"] and operation["summary"] and content["schema"]["additionalProperties"] is False
    assert told["report"] and told["kit"] == "kit" and ("dictionary", "lookup") in asked


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in SILENT])
def test_no_verb_stumbles_over_nothing(web, kind):
    name = kind.replace(".", "_")
    for verb in views_of(kind):
        response = web.post(f"/api/models/{name}/{verb.name}", json={})
        assert response.status_code in (200, 400, 409, 422), (verb.name, response.text)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in SILENT])
def test_the_example_of_every_verb_is_answered_or_says_what_is_missing(web, kind):
    name = kind.replace(".", "_")
    for verb in views_of(kind):
        response = web.post(f"/api/models/{name}/{verb.name}", json=dict(verb.asked))
        assert response.status_code in (200, 422), response.text
        if response.status_code == 422:  # the tiny models do not know the words of all examples
            assert "nothing is known of" in response.text or "learned from" in response.text


def test_surprisal_is_that_of_the_model_and_an_answer_is_remembered(web):
    model = corpuscle.load(MODELS / "lm.ngram.model")
    bits = model.events(read_strings(["a b", "c"], **model.reading)).log_probability / -np.log(2)
    for _ in range(2):
        found = answer(web.post("/api/models/lm_ngram/surprisal", json={"text": "a b\nc\n"}))
        assert [w["bits"] for s in found["sentences"] for w in s["words"]] == pytest.approx(bits.tolist())


def test_a_parser_gets_the_tags_of_the_tagger_beside_it(web):
    found = answer(web.post("/api/models/parse_mst/parse", json={"text": "a b c"}))
    words = found["sentences"][0]["words"]
    assert {"form", "upos", "head", "confidence"} <= set(words[0]) and found["sentences"][0]["svg"].startswith("<svg")
    assert found["conllu"].count("\n") == 4


def test_a_network_shows_where_it_looks_and_a_combined_model_both_pictures(web):
    for model, verbs in (("neural", ["attention"]), ("phrase", ["lattice"]), ("combined", ["lattice", "attention"])):
        for verb in verbs:
            found = answer(web.post(f"/api/models/transliterate_{model}/{verb}", json={"names": "ab\ncd", "k": 3}))
            assert found["source"] == "ab" and found["svg"].startswith("<svg")
            assert answer(web.post(f"/api/models/transliterate_{model}/{verb}", json={"names": " "}))["svg"] == ""
    assert web.post("/api/models/transliterate_phrase/attention", json={"names": "ab"}).status_code == 404


def test_what_a_reader_knows_makes_a_text_easier(web):
    def ask(verb, **more):
        return answer(web.post(f"/api/models/disambiguate_ranker/{verb}", json={"text": "a b c b", **more}))

    new = ask("vocabulary")
    assert new["difficulty"] == 1.0 and new["words"] == 4 and {"lemma", "gloss", "times"} <= set(new["cards"][0])
    known = ask("vocabulary", familiar="b")
    assert known["difficulty"] < 1.0 and known["unknown_words"] <= 0.5 and len(known["cards"]) < len(new["cards"])
    words = ask("analyse", familiar="b", nbest=2)["sentences"][0]["words"]
    assert [word["familiar"] for word in words] == [False, True, False, True]


def test_the_dictionary_is_searched_by_the_beginnings_of_words_of_both_languages(web):
    assert [
        e["source"] for e in answer(web.post("/api/models/dictionary/lookup", json={"search": "K"}))["entries"]
    ] == ["ka"]
    assert [
        e["source"] for e in answer(web.post("/api/models/dictionary/lookup", json={"search": "su"}))["entries"]
    ] == ["mi"]


def test_a_single_model_file_is_served(tmp_path):
    with client(MODELS / "lm.ngram.model") as opened:
        told = answer(opened.get("/api/pack"))
        assert not told["pack"] and [m["name"] for m in told["models"]] == ["lm.ngram"]
        answer(opened.post("/api/models/lm.ngram/next", json={"context": "a"}))
        assert opened.get("/api/kit").status_code == 404 == opened.get("/report").status_code


# ---- wrong input


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"{", 400, "not JSON"),
        (b"\xff\xfe", 400, "not UTF-8"),
        (b'{"text": NaN}', 400, "not JSON"),
        (b"[" * 100_000, 400, "not JSON"),
        (b"[]", 422, "not a JSON object"),
        (b'{"text": 3}', 422, "text is text"),
        (b'{"text": "\\ud800"}', 422, "surrogate"),
        (b'{"nothing": 3}', 422, "takes no 'nothing'"),
        (b'{"raw": "yes"}', 422, "raw is true or false"),
        (b'{"text": "' + b"a" * 100_001 + b'"}', 413, "100,001 characters"),
        (b" " * (2 << 20) + b"{}", 413, "bytes"),
    ],
)
def test_wrong_input_is_refused_with_a_sentence(web, body, status, said):
    response = web.post("/api/models/lm_ngram/surprisal", content=body, headers={"content-type": "application/json"})
    assert response.status_code == status and said in response.json()["error"]


@pytest.mark.parametrize(
    "path",
    [
        "/../pyproject.toml",
        "/page/../app.py",
        "/page/%2e%2e/app.py",
        "/page/..%2fapp.py",
        "/report/../state.json",
        "/api/models/..%2f..%2fetc/next",
        "/api/models/lm_ngram/%00",
        "/state.json",
        "/models/lm_ngram.model",
        "/kit/text/a.txt",
    ],
)
def test_nothing_but_pages_and_endpoints_is_served(web, path):
    for response in (web.get(path), web.post(path, json={})):
        assert response.status_code in (404, 405), (path, response.text)


def test_a_link_out_of_the_pack_is_not_served(tmp_path):
    pack = write_pack(tmp_path / "pack", "lm.ngram")
    (tmp_path / "secret.html").write_text("secret")
    with client(pack) as opened:
        assert opened.get("/report").status_code == 200
        (pack / "report.html").unlink()
        (pack / "report.html").symlink_to(tmp_path / "secret.html")
        assert opened.get("/report").status_code == 404
    (pack / "report.html").unlink()
    (pack / "models" / "lm_ngram.model").rename(tmp_path / "moved.model")
    (pack / "models" / "lm_ngram.model").symlink_to(tmp_path / "moved.model")
    with pytest.raises(InputError, match="leads out of the folder"), client(pack):
        pass
