"""Claims about annotating and learning again: nothing acknowledged is lost, formats are those of the field."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpuscle.errors import SettingError
from corpuscle.measure import agreement, expected_saving
from corpuscle.text import read_conllu, read_standoff_json
from corpuscle.text.columns import read_normalised
from corpuscle.web.annotation_formats import LAYERS
from corpuscle.web.annotations import FILE, Annotations
from corpuscle.web.intake import place_of
from tests.web.processes import Server, kill_at_random
from tests.web.served import answer, client, write_pack

TREE = {
    "words": [
        {"form": "a", "upos": "X", "head": 2, "deprel": "dep"},
        {"form": "b", "upos": "Y", "head": 0, "deprel": "root"},
    ]
}
VALUES = {
    "segment": {"words": ["ab", "c"]},
    "trees": TREE,
    "entities": {
        "words": ["Ana", "in", "Rome"],
        "mentions": [{"type": "PER", "tokens": [0]}, {"type": "GAP", "tokens": [0, 2]}],
    },
    "links": {"source": ["a", "b"], "target": ["c"], "links": [[1, 0]]},
    "normalise": {"words": ["u", "there", "!"], "standard": ["you", "there", "!"]},
    "brackets": {"tree": "(S (NP a) (VP b))"},
}


@pytest.fixture(scope="module")
def pack(tmp_path_factory):
    return write_pack(
        tmp_path_factory.mktemp("packs") / "pack",
        "tag.crf",
        "align.ibm1",
        "entities.dictionary",
        "parse.mst",
        "segment.npylm",
        "normalise.ranker",
        "disambiguate.ranker",
        "grammar.pcfg",
    )


# ---- values


def test_every_layer_takes_its_value_and_says_what_it_is_about():
    said = {name: LAYERS[name].check(value) for name, value in VALUES.items()}
    assert (
        said
        == {
            "segment": "abc",
            "trees": "a b",
            "entities": "Ana in Rome",
            "links": "a b ||| c",
            "normalise": "u there !",
            "brackets": "a b",
        }
        and VALUES.keys() == LAYERS.keys()
    )


@pytest.mark.parametrize(
    ("layer", "value"),
    [
        ("segment", {"words": []}),
        ("segment", {"words": ["a b"]}),
        ("segment", {"words": ["\ud800"]}),
        ("segment", {}),
        ("trees", {"words": [{"form": "a", "head": 1}]}),
        ("trees", {"words": [{"form": "a", "head": 2}, {"form": "b", "head": 1}]}),
        ("trees", {"words": [{"form": "a", "head": 0}, {"form": "b"}]}),
        ("trees", {"words": [{"form": "a", "upos": "N N"}]}),
        ("trees", {"words": [{"form": "a", "head": 1.5}]}),
        ("entities", {"words": ["a"], "mentions": [{"type": "X", "tokens": [1]}]}),
        ("entities", {"words": ["a", "b"], "mentions": [{"type": "X", "tokens": [1, 0]}]}),
        ("links", {"source": ["a"], "target": ["b"], "links": [[0, 1]]}),
        ("links", {"source": ["a"], "target": ["b"], "links": [[0]]}),
        ("normalise", {"words": ["a"], "standard": []}),
        ("brackets", {"tree": "(S a"}),
        ("brackets", {"tree": "(S a) (S b)"}),
    ],
)
def test_a_wrong_value_is_refused(layer, value):
    with pytest.raises(SettingError):
        LAYERS[layer].check(value)


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([
                "words",
                "form",
                "head",
                "mentions",
                "type",
                "tokens",
                "links",
                "source",
                "target",
                "standard",
                "tree",
            ]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(sorted(LAYERS)),
    st.dictionaries(
        st.sampled_from(["words", "mentions", "links", "source", "target", "standard", "tree"]), _json, max_size=4
    ),
)
def test_any_value_is_taken_or_refused(layer, value):
    try:
        LAYERS[layer].check(value)
    except SettingError:
        return
    LAYERS[layer].units(value)


# ---- keeping


def test_annotations_stand_until_they_are_taken_back_and_outlive_the_process(tmp_path):
    first = Annotations(tmp_path)
    for name, value in VALUES.items():
        first.add(name, value, "Ana")
    first.add("segment", {"words": ["a", "bc"]}, "Ben")
    assert first.undo("Ana")["layer"] == "brackets"
    second = Annotations(tmp_path)
    assert second.standing("brackets") == {} and set(second.standing("segment")["abc"]) == {"Ana", "Ben"}
    assert second.told()["layers"] == first.told()["layers"]
    with pytest.raises(SettingError, match="nothing of"):
        second.undo("Eve")


def test_a_line_that_a_crash_cut_is_passed_over_and_the_next_one_is_whole(tmp_path):
    Annotations(tmp_path).add("segment", {"words": ["ab"]}, "Ana")
    with open(tmp_path / FILE, "ab") as file:
        file.write(b'{"id": 2, "layer": "segm')
    torn = Annotations(tmp_path)
    torn.add("segment", {"words": ["cd"]}, "Ana")
    again = Annotations(tmp_path)
    assert set(again.standing("segment")) == {"ab", "cd"} and again.torn == 1


@pytest.mark.parametrize(
    "line",
    [
        b'{"id": 9, "layer": [], "value": {}, "annotator": "Eve"}',
        b'{"id": 9, "layer": "segment", "value": {"words": ["ab"]}, "annotator": "Eve"}',
        b'{"id": 9, "layer": "segment", "item": "ab", "value": {"words": "ab"}, "annotator": "Eve"}',
        b'{"id": 9, "layer": "segment", "item": "ab", "value": {"words": ["ab"]}}',
        b'{"id": 9, "undo": [1], "annotator": "Ana"}',
        b'{"id": true, "undo": 1, "annotator": "Ana"}',
        b'{"id": 1' + b"0" * 5000 + b', "undo": 1, "annotator": "Ana"}',
        b"[" * 100_000,
        b"null",
        b"no JSON \xff",
    ],
)
def test_a_line_that_is_no_annotation_is_set_aside_named_once_and_stays(tmp_path, capsys, line):
    Annotations(tmp_path).add("segment", {"words": ["ab"]}, "Ana")
    with open(tmp_path / FILE, "ab") as file:
        file.write(line + b"\n")
    again = Annotations(tmp_path)
    assert capsys.readouterr().err.count("line 2 is no annotation") == 1
    again.add("segment", {"words": ["cd"]}, "Ana")
    assert set(again.standing("segment")) == {"ab", "cd"} and again.told()["layers"]["segment"]["items"] == 2
    assert line in (tmp_path / FILE).read_bytes().split(b"\n") and len(Annotations(tmp_path).set_aside) == 1


def test_annotations_are_not_appended_to_what_a_link_names(tmp_path):
    from corpuscle.errors import InputError

    precious, pack = tmp_path / "precious.txt", tmp_path / "pack"
    precious.write_text("x")
    pack.mkdir()
    (pack / FILE).symlink_to(precious)
    with pytest.raises(InputError, match="leads out"):
        Annotations(pack).add("segment", {"words": ["ab"]}, "Ana")
    assert precious.read_text() == "x"


def test_a_link_that_comes_later_is_not_followed_either(tmp_path):
    from corpuscle.errors import InputError

    late = Annotations(tmp_path)
    (tmp_path / "elsewhere").write_text("x")
    (tmp_path / FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises((InputError, OSError)):
        late.add("segment", {"words": ["ab"]}, "Ana")
    assert (tmp_path / "elsewhere").read_text() == "x"


def test_one_server_at_a_time_writes(tmp_path):
    from corpuscle.errors import InputError

    one, other = Annotations(tmp_path), Annotations(tmp_path)
    one.add("segment", {"words": ["ab"]}, "Ana")
    with pytest.raises(InputError, match="another server"):
        other.add("segment", {"words": ["ab"]}, "Ben")


def test_what_most_annotators_say_is_exported_in_the_formats_of_the_field(tmp_path):
    kept = Annotations(tmp_path)
    for who, words in (("Ana", ["ab", "c"]), ("Ben", ["a", "bc"]), ("Eve", ["ab", "c"])):
        kept.add("segment", {"words": words}, who)
    for name in VALUES.keys() - {"segment"}:
        kept.add(name, VALUES[name], "Ana")
    kit = tmp_path / "kit"
    kit.mkdir()
    (kit / "tagged.conllu").write_text(
        "1\ta\t_\tOLD\t_\t_\t2\tdep\t_\t_\n2\tb\t_\tOLD\t_\t_\t0\troot\t_\t_\n\n1\tz\t_\tZ\t_\t_\t0\troot\t_\t_\n\n"
    )
    for _ in range(2):  # writing again changes nothing
        kept.export(kit)
        assert (kit / "segmented.txt").read_text() == "ab c\n"
        bank = read_conllu(kit / "tagged.conllu")
        assert [list(words) for words in bank.corpus] == [["z"], ["a", "b"]] and bank.tags.strings() == ["Z", "X", "Y"]
        document = read_standoff_json(kit / "entities" / "annotated.jsonl")[0]
        assert [(m.type, m.spans) for m in document.mentions] == [("PER", ((0, 3),)), ("GAP", ((0, 3), (7, 11)))]
        assert (kit / "links" / "annotated.links").read_text() == "1-0\n"
        messages = read_normalised(kit / "noisy.tsv")
        assert messages.standard(0) == ["you", "there", "!"] and messages.notes.strings() == ["OOV", "IV", "NO"]
        assert (kit / "trees.mrg").read_text() == "(S (NP a) (VP b))\n"


def test_lexnorm_says_which_words_no_lexicon_has_and_old_messages_stay(tmp_path):
    (tmp_path / "noisy.tsv").write_text("Rijeka\tOOV\tRijeka\nu\tOOV\tyou\n\nold\tIV\told\n\n")
    value = {"words": ["gr8", "Ana", "old", "!"], "standard": ["great", "Ana", "old", "!"], "oov": [0, 1]}
    LAYERS["normalise"].write(tmp_path, [value, {"words": ["old"], "standard": ["cold"]}])
    found = read_normalised(tmp_path / "noisy.tsv")
    assert [found.standard(i) for i in range(3)] == [["Rijeka", "you"], ["cold"], ["great", "Ana", "old", "!"]]
    assert found.notes.strings() == ["OOV", "OOV", "OOV", "OOV", "OOV", "IV", "NO"]
    for wrong in ([4], [-1], ["0"], 3, [True]):
        with pytest.raises(SettingError, match="oov"):
            LAYERS["normalise"].check(value | {"oov": wrong})


def test_alpha_is_one_for_the_same_zero_for_chance_and_krippendorffs_for_his_example():
    assert agreement([[["a", "a"], ["b", "b"]]])["alpha"] == 1.0
    # Krippendorff, "Computing Krippendorff's alpha-reliability", 2011, section C: 4 observers, 12 units, nominal 0.743
    rows = ["1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3", ". 3 3 3 2 3 4 2 2 5 1 .", "1 2 3 3 2 4 4 1 2 5 1 ."]
    units = [[v for v in unit if v != "."] for unit in zip(*(row.split() for row in rows), strict=True)]
    assert agreement([[unit] for unit in units])["alpha"] == pytest.approx(0.743, abs=5e-4)
    coins = random.Random(1)
    assert abs(agreement([[[coins.random() < 0.5, coins.random() < 0.5]] for _ in range(2000)])["alpha"]) < 0.07


# ---- over the web


def test_doubts_are_annotated_exported_and_no_longer_asked(pack):
    with client(pack) as web:
        ask = {"model": "tag_crf", "annotator": "Ana"}
        found = answer(web.post("/api/doubts", json=ask))
        sure = [item["confidence"] for item in found["items"]]
        assert found["layer"] == "trees" and sure == sorted(sure) and len(sure) == 3
        answer(
            web.post(
                "/api/annotations", json={"layer": "trees", "value": found["items"][0]["value"], "annotator": "Ana"}
            )
        )
        assert len(answer(web.post("/api/doubts", json=ask))["items"]) == 2
        assert len(answer(web.post("/api/doubts", json={**ask, "annotator": "Ben"}))["items"]) == 3
        assert answer(web.post("/api/annotations/export", json={}))["files"] == {"trees": ["tagged.conllu"]}
        assert len(read_conllu(pack / "kit" / "tagged.conllu")) == 1
        assert answer(web.get("/api/annotations"))["layers"]["trees"]["annotators"] == {"Ana": 1}
        answer(web.post("/api/annotations/undo", json={"annotator": "Ana"}))
        assert answer(web.get("/api/annotations"))["layers"] == {}
        assert web.post("/api/annotations", json={"layer": "trees", "value": 3, "annotator": "Ana"}).status_code == 422


@pytest.mark.parametrize(
    "model",
    ["parse_mst", "entities_dictionary", "segment_npylm", "normalise_ranker", "disambiguate_ranker", "grammar_pcfg"],
)
def test_the_guess_of_every_model_is_a_value_of_its_layer(pack, model):
    with client(pack) as web:
        found = answer(web.post("/api/doubts", json={"model": model, "text": "a b c\nabc", "annotator": "Ana"}))
        assert found["items"]
        for item in found["items"]:
            LAYERS[found["layer"]].check(item["value"])
            assert 0 <= item["confidence"] <= 1 and 0 <= item["saved"] <= 1


def test_two_annotators_are_compared_in_every_layer(tmp_path):
    kept = Annotations(tmp_path)
    for name, value in VALUES.items():
        for who in ("Ana", "Ben"):
            kept.add(name, value, who)
    told = kept.told()["layers"]
    assert set(told) == set(LAYERS) and {each["agreement"]["alpha"] for each in told.values()} == {1.0}
    kept.add("brackets", {"tree": "(S (NP a) (NP b))"}, "Ben")
    kept.add("trees", {"words": [TREE["words"][0], {**TREE["words"][1], "lemma": "x"}]}, "Ben")
    told = kept.told()["layers"]
    assert {told[name]["agreement"]["agreement"] for name in ("brackets", "trees")} == {0.5}


def test_a_guess_that_is_sure_saves_keystrokes_in_every_layer(pack):
    """One key accepts a sentence instead of one a word; nothing is saved where there is nothing to guess."""
    assert expected_saving([1.0] * 4) == 0.75 and expected_saving([0.5] * 4) == 0.25 and expected_saving([0.0]) == 0.0
    with client(pack) as web:
        for model in ("tag_crf", "parse_mst", "entities_dictionary", "segment_npylm", "grammar_pcfg"):
            found = answer(web.post("/api/doubts", json={"model": model, "text": "a b c a b c", "annotator": "Ana"}))
            for item in found["items"]:
                assert item["saved"] == pytest.approx(expected_saving(item["by_part"])) and len(item["by_part"]) > 1


def test_pairs_are_given_with_bars_between_them(pack):
    with client(pack) as web:
        found = answer(
            web.post("/api/doubts", json={"model": "align_ibm1", "text": "a b ||| c d\nx", "annotator": "Ana"})
        )
        assert found["layer"] == "links" and [item["value"]["source"] for item in found["items"]] == [["a", "b"]]


def test_read_only_writes_nothing(pack):
    before = sorted(path.name for path in pack.rglob("*"))
    with client(pack, read_only=True) as web:
        for path in ("/api/annotations", "/api/annotations/undo", "/api/annotations/export", "/api/learning/start"):
            assert web.post(path, json={}).status_code in (404, 405)
        assert (
            web.post(
                "/api/kit/files/a.txt", content=b"x", headers={"content-type": "application/octet-stream"}
            ).status_code
            == 404
        )
        assert web.get("/api/kit").status_code == 200
    assert sorted(path.name for path in pack.rglob("*")) == before


def test_a_pack_that_was_moved_keeps_its_kit_and_one_from_elsewhere_needs_leave(tmp_path, small):
    state = json.loads((small / "state.json").read_text())
    for said, inside, kit in (("pack/kit", True, "kit"), ("/elsewhere/kit", False, None), (None, False, "kit")):
        moved = tmp_path / f"moved-{inside}-{kit}"
        shutil.copytree(small, moved, ignore=None if inside else shutil.ignore_patterns("kit"))
        (moved / "state.json").write_text(json.dumps(state | ({} if said is None else {"kit": said})))
        with client(moved) as web:
            assert answer(web.get("/api/pack"))["kit"] == kit
            headers = {"content-type": "application/octet-stream"}
            added = web.post("/api/kit/files/b.txt", content=b"a\n", headers=headers)
            assert added.status_code == (409 if kit is None else 200)


# ---- a kit from the browser


@pytest.mark.parametrize(
    "name", ["../x.txt", "text/../../x", ".hidden", "", "a/b/c.txt", "x" * 121, "a\\b", "kit/..", "\u0000"]
)
def test_a_file_cannot_be_put_outside_of_the_kit(tmp_path, name):
    pack = write_pack(tmp_path / "pack", "lm.ngram")
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    with client(pack) as web:
        from urllib.parse import quote

        response = web.post(
            f"/api/kit/files/{quote(name, safe='')}", content=b"x", headers={"content-type": "application/octet-stream"}
        )
        assert response.status_code in (404, 405, 422), response.text
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before


def test_files_stand_where_a_kit_has_them_and_what_is_wrong_is_said_with_its_line(tmp_path):
    assert place_of("a.src") == "parallel/a.src" and place_of("x.jsonl") == "entities/x.jsonl"
    with client(tmp_path / "new") as web:

        def put(name, content):
            headers = {"content-type": "application/octet-stream"}
            return answer(web.post(f"/api/kit/files/{name}", content=content, headers=headers))["file"]

        assert put("story.txt", b"a b\n" * 30) == "text/story.txt"
        assert put("bad.txt", b"a \xff b\n") == "text/bad.txt"
        assert put("a.src", b"a\n") == "parallel/a.src" and put("photo.jpg", b"x") == "photo.jpg"
        told = answer(web.get("/api/kit"))
        roles = {each["name"]: each["role"] for each in told["files"]}
        assert roles["text/story.txt"] == "running text" and roles["photo.jpg"] is None
        wrong = {(each["file"], each["line"]) for each in told["wrong"]}
        assert ("text/bad.txt", 1) in wrong and ("parallel/a.src", None) in wrong
        assert {step["name"] for step in told["steps"]} >= {"lm", "classes", "align"}


# ---- a real server


@pytest.fixture
def small(tmp_path):
    return write_pack(tmp_path / "pack", "lm.ngram")


@pytest.mark.parametrize("kills", [3, pytest.param(100, marks=pytest.mark.slow)])
def test_a_killed_server_loses_no_acknowledged_annotation(small, kills):
    acknowledged, kept = kill_at_random(small, kills)
    assert len(acknowledged) >= kills and set(acknowledged) <= set(kept.standing("segment"))


def test_learning_from_the_page_tells_its_progress_can_be_stopped_and_goes_on(tmp_path):
    pack = tmp_path / "pack"
    server = Server(pack)
    try:
        with httpx.Client(base_url=server.address, timeout=120) as web:
            assert web.post("/api/learning/start", json={}).status_code == 409  # no kit yet
            text = "".join(f"w{i % 7} w{i % 5} w{i % 3} .\n" for i in range(60)).encode()
            web.post("/api/kit/files/a.txt", content=text, headers={"content-type": "application/octet-stream"})
            assert web.post("/api/learning/start", json={}).json()["state"] == "running"
            assert web.post("/api/learning/start", json={}).status_code == 409
            assert web.post("/api/learning/cancel", json={}).json()["state"] in ("stopped", "failed", "done")
            web.post("/api/learning/start", json={})
            with web.stream("GET", "/api/learning/events") as events:
                lines = [line for line in events.iter_lines() if line.startswith(("event", "data"))]
            assert lines[-2] == "event: end" and json.loads(lines[-1][6:])["state"] in ("done", "failed"), lines
            assert any("language model" in line for line in lines)
            models = {each["name"] for each in web.get("/api/pack").json()["models"]}
            assert "lm" in models
            assert web.post("/api/models/lm/surprisal", json={"text": "w1 w2"}).status_code == 200
    finally:
        server.end()


def test_ctrl_c_ends_a_server_and_its_workers_with_one_word(small):
    server = Server(small)
    with httpx.Client(base_url=server.address, timeout=120) as web:
        assert web.post("/api/models/lm_ngram/surprisal", json={"text": "a"}).status_code == 200
    os.killpg(server.process.pid, signal.SIGINT)
    assert server.process.wait(30) == 130 and server.process.stderr.read() == "interrupted\n"
    server.process.stderr.close()


def test_annotating_leaves_the_state_of_a_pack_to_learn(small):
    before = (small / "state.json").stat().st_mtime_ns
    with client(small) as web:
        (small / "state.json").write_bytes((small / "state.json").read_bytes().replace(b'"all"', b'"new"'))
        answer(web.post("/api/annotations", json={"layer": "segment", "value": {"words": ["a"]}, "annotator": "Ana"}))
        headers = {"content-type": "application/octet-stream"}
        answer(web.post("/api/kit/files/a.txt", content=b"a\n", headers=headers))
    assert b'"new"' in (small / "state.json").read_bytes() and (small / "state.json").stat().st_mtime_ns != before


def test_learning_goes_on_a_cluster_whose_dashboard_is_linked(tmp_path):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        client(tmp_path / "pack", crew={"cluster": cluster.scheduler_address}) as web,
    ):
        headers = {"content-type": "application/octet-stream"}
        text = "".join(f"w{i % 7} w{i % 5} w{i % 3} .\n" for i in range(60)).encode()
        answer(web.post("/api/kit/files/a.txt", content=text, headers=headers))
        assert answer(web.get("/api/learning"))["cluster"] == cluster.scheduler_address
        linked = answer(web.get("/api/learning/dashboard"))
        assert linked == {"dashboard": cluster.dashboard_link, "problem": None}
        answer(web.post("/api/learning/start", json={"cluster": True}))
        with web.stream("GET", "/api/learning/events") as events:
            lines = [line for line in events.iter_lines() if line.startswith("data")]
        assert json.loads(lines[-1][6:])["state"] == "done", lines
        assert cluster.scheduler.transition_counter > 0  # it had work to do


def test_a_cluster_that_does_not_answer_or_is_not_there_is_said(small):
    with client(small, crew={"cluster": "tcp://127.0.0.1:1"}) as web:
        said = answer(web.get("/api/learning/dashboard"))
        assert said["dashboard"] is None and "no Dask cluster answers" in said["problem"]
    with client(small) as web:
        assert answer(web.get("/api/learning/dashboard")) == {"dashboard": None, "problem": None}
        assert web.post("/api/learning/start", json={"cluster": True}).status_code == 409
