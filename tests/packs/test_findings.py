"""Claims about findings: they are read back as they were written, and what cannot be read is learned again."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest

from corpuscle.measure import Interval, Result
from corpuscle.packs import Findings, LoadedPack, learn
from corpuscle.packs.chapter import Table, pick, with_counts
from corpuscle.packs.pack import Pack
from corpuscle.packs.run import STEPS
from tests.packs.kits import findings, plain_step, write_kit


class Pair(NamedTuple):
    word: str
    count: int


@dataclass(frozen=True)
class Inner:
    share: float
    rank: int | None


@dataclass(frozen=True)
class Everything(Findings):
    pairs: tuple[Pair, ...]
    inner: Inner | None
    by_name: Mapping[str, Inner]
    rows: Table
    result: Result
    late: bool = False


RESULT = Result({"f1": 0.5, "n": 3}, Interval(0.5, 0.4, 0.6, 0.05), "f1|items:words")
FOUND = Everything(
    pairs=(Pair("a", 1), Pair("b", 2)), inner=Inner(0.5, None), by_name={"x": Inner(1.0, 2)},
    rows=({"tag": "N", "words": 3},), result=RESULT, also_from=("text",),
)  # fmt: skip


def test_findings_are_read_back_as_they_were_written():
    data = json.loads(json.dumps(FOUND.to_json()))
    again = Everything.from_json(data)
    assert again.to_json() == data and again.pairs == FOUND.pairs and again.by_name == FOUND.by_name
    assert again.result["f1"] == 0.5 and pick(again.result, "low", "high") == {"low": 0.4, "high": 0.6}
    assert data["pairs"] == [["a", 1], ["b", 2]] and data["inner"] == {"share": 0.5, "rank": None}


def test_a_share_that_cannot_be_computed_is_null_and_comes_back_as_no_number():
    data = Everything(**vars(FOUND) | {"inner": Inner(math.nan, None)}).to_json()
    assert data["inner"]["share"] is None and math.isnan(Everything.from_json(data).inner.share)


def test_counts_beside_a_result_are_figures_of_it():
    both = with_counts(RESULT, documents=7)
    assert both.to_json() == {"documents": 7, **RESULT.to_json()}


def test_a_figure_that_is_not_finite_is_null_and_comes_back_as_no_number():
    data = Everything(**vars(FOUND) | {"result": Result({"perplexity": math.inf}, None, "x")}).to_json()
    assert data["result"]["perplexity"] is None
    again = Everything.from_json(data).result
    assert math.isnan(again["perplexity"]) and again.interval is None and again.to_json() == data["result"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"pairs": None}, "pairs"),
        ({"pairs": [["a", "b", "c"]]}, "pairs"),
        ({"inner": {"share": "much", "rank": 1}}, "inner: share: 'much' is no float"),
        ({"inner": [0.5, 1]}, "inner: .* is no Inner"),
        ({"by_name": []}, "by_name"),
        ({"result": {"f1": 1.0}}, "result"),
        ({"late": 1}, "late: 1 is no bool"),
    ],
)
def test_data_of_another_shape_are_an_error_that_names_the_field(change, reason):
    with pytest.raises(ValueError, match=reason):
        Everything.from_json(FOUND.to_json() | change)


def test_a_field_without_a_default_must_be_there_and_unknown_ones_are_left_alone():
    data = FOUND.to_json()
    assert Everything.from_json({name: each for name, each in data.items() if name != "late"} | {"new": 1}) == (
        Everything.from_json(data)
    )
    with pytest.raises(ValueError, match="rows is missing"):
        Everything.from_json({name: each for name, each in data.items() if name != "rows"})


def test_what_was_found_in_another_shape_is_learned_again(tmp_path):
    kit, folder, step = write_kit(tmp_path / "kit"), tmp_path / "pack", plain_step("one", "text")
    learn(kit, folder, steps=[step])
    pack = Pack(folder)
    facts = {name: each for name, each in pack.state["steps"]["one"].items() if name not in ("files", "digest")}
    pack.record("one", step.writes, **facts | {"findings": {"letters": 3}})
    assert learn(kit, folder, steps=[step]).kept == () and "size" in findings(folder, "one")
    assert learn(kit, folder, steps=[step]).kept == ("one",)


def test_a_pack_of_before_shows_itself_without_what_it_cannot_read(tmp_path):
    pack = Pack(tmp_path / "pack")
    pack.create()
    for name in ("lm", "tagger"):
        (pack.folder / "models" / f"{name}.model").write_text("x")
        pack.record(name, [f"models/{name}.model"], findings={"sentences": 3})
    loaded = LoadedPack(tmp_path / "pack")
    assert list(loaded) == ["lm", "tagger"] and "report" in loaded._repr_html_()


def test_every_step_has_findings_of_its_own_and_files_that_nobody_else_writes():
    assert len({step.findings for step in STEPS}) == len({step.name for step in STEPS}) == len(STEPS)
    written = [name for step in STEPS for name in step.writes]
    assert len(set(written)) == len(written) and all(not Path(name).is_absolute() for name in written)
