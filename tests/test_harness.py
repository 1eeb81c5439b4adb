"""The benchmark harness: sides take turns, finished cells are kept, memory and figures are read correctly."""

import importlib
import json
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from bench import harness
from bench.harness import Call, Cell, Claim, Commands
from corpuscle.catalogue import TASKS

PYTHON = sys.executable


def python(name, code, **settings):
    return Commands(name, ((PYTHON, "-c", code),), **settings)


def add_up(timer, n):
    with timer:
        total = sum(range(n))
    return {"total": total}


def read_answer(output):
    return {"answer": int(output)}


def test_sides_take_turns_and_every_repeat_is_kept(tmp_path):
    log = tmp_path / "log"
    write = f"open({str(log)!r}, 'a').write"
    cell = Cell("turns", "Turns", (python("ours", write + "('o')"), python("peer", write + "('p')")), peer="peer")
    result = harness.run_cell("test", replace(cell, warm_up=False), 3, folder=tmp_path / "cells")
    assert log.read_text() == "opopop"
    assert [len(runs) for runs in result["runs"].values()] == [3, 3]
    assert len(harness.ratios(result, "ours")) == 3


def test_a_finished_cell_is_not_run_again_unless_asked(tmp_path):
    log = tmp_path / "log"
    cell = Cell("once", "Once", (python("ours", f"open({str(log)!r}, 'a').write('x')"),), warm_up=False)
    first = harness.run_cell("test", cell, 1, folder=tmp_path)
    assert harness.run_cell("test", cell, 1, folder=tmp_path) == json.loads(json.dumps(first))
    assert log.read_text() == "x"
    harness.run_cell("test", cell, 1, fresh=True, folder=tmp_path)
    assert log.read_text() == "xx"


def test_another_input_another_command_or_more_repeats_make_another_cell(tmp_path):
    text = tmp_path / "text"
    text.write_text("a b")
    cell = Cell("key", "Key", (python("ours", "pass"),), inputs=(text,))
    keys = {harness.key_of("test", cell, 1), harness.key_of("test", cell, 2)}
    keys.add(harness.key_of("test", replace(cell, sides=(python("ours", "1"),)), 1))
    text.write_text("a c")
    keys.add(harness.key_of("test", cell, 1))
    assert len(keys) == 4


def test_a_cell_may_depend_on_some_sources_only(tmp_path, monkeypatch):
    monkeypatch.setattr(harness, "HERE", tmp_path / "bench")
    (tmp_path / "src").mkdir()
    cell = Cell("key", "Key", (python("ours", "pass"),), sources=("a*.py",))
    keys = []
    for changed in ("a.py", "b.py", "a.py"):
        (tmp_path / "src" / changed).write_text(f"change {len(keys)}")
        keys.append((harness.key_of("test", cell, 1), harness.key_of("test", replace(cell, sources=("**/*.py",)), 1)))
    assert [len(set(column)) for column in zip(*keys, strict=True)] == [2, 3] and keys[0][0] == keys[1][0]


def test_peak_memory_is_that_of_the_child():
    code = """
import sys
from bench.harness import Commands, measure
for work in "pass", "b'x' * (200 << 20)":
    print(measure(Commands("side", ((sys.executable, "-c", work),)))["peak"])
"""
    # In a process of its own, because the peak of a child includes what its parent has, and pytest has a lot.
    printed = subprocess.run([PYTHON, "-c", code], cwd=harness.HERE.parent, capture_output=True, text=True, check=True)
    small, large = map(float, printed.stdout.split())
    assert small < 100 and 200 < large < 300


def test_a_chain_of_commands_adds_up_time_and_reads_the_last_output():
    chain = ((PYTHON, "-c", "print(1)"), (PYTHON, "-c", "print(42)"))
    run = harness.measure(Commands("chain", chain, read="tests.test_harness:read_answer"))
    assert run["figures"] == {"answer": 42}
    assert run["wall"] > 0 and run["cpu"] > 0


def test_a_call_is_timed_inside_its_own_process():
    run = harness.measure(Call("call", "tests.test_harness:add_up", {"n": 1000}))
    assert run["figures"] == {"total": 499500}
    assert 0 < run["wall"] < run["core_seconds"]


def test_a_failing_command_says_what_it_said():
    with pytest.raises(RuntimeError, match="exit code 3"):
        harness.measure(python("bad", "import sys; sys.exit(3)"))


def test_nothing_is_stored_when_a_side_fails(tmp_path):
    cell = Cell("bad", "Bad", (python("bad", "1/0"),), warm_up=False)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        harness.run_cell("test", cell, 1, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_tables_show_medians_ratios_and_commands_without_folders():
    def run(wall):
        return {"wall": wall, "cpu": wall, "peak": 12.3, "others": 0.0, "figures": {"tokens": 1234.0}}

    result = {
        "title": "T",
        "peer": "peer",
        "date": "2024-01-01",
        "load": 0.1,
        "others": 0.0,
        "shown": {"ours": Commands("ours", (("/a/b/tool", "/c/text"),)).shown()},
        "runs": {"ours": [run(1.0), run(2.0), run(3.0)], "peer": [run(2.0), run(2.0), run(2.0)]},
    }
    text = harness.table(result)
    assert "| ours | 2 | 2 | 12.3 | 1.00 (0.50 to 1.50) | 1,234 |" in text
    assert "- ours: `tool text`" in text


def test_a_section_is_replaced_in_place(tmp_path):
    page = tmp_path / "results" / "lm.md"
    harness.write_section(page, "lm", "old")
    harness.write_section(page, "lm_other", "kept")
    harness.write_section(page, "lm", "new")
    text = page.read_text()
    assert "old" not in text and text.count("lm: begin") == 1
    assert text.index("# Results: lm") < text.index("new") < text.index("kept")


def test_the_summary_has_every_claim_with_its_date_and_counts_what_holds(tmp_path):
    claims = [Claim("a", "1", "2", True), Claim("b", "1", "0", False), Claim("c", "1", "1"), Claim("d", "1")]
    section = "## lm\n\n2024-01-01 to 2024-01-02 on a machine.\n\n" + harness.claims_table(claims)
    harness.write_section(tmp_path / "lm.md", "lm", section)
    text = harness.summary(tmp_path)
    assert "4 claims: 1 hold, 1 do not, 1 not told apart, 1 not measured." in text
    for line in ("a | 1 | 2 | yes", "b | 1 | 0 | **no**", "c | 1 | 1 | not told apart"):
        assert f"| {line} | 2024-01-01 to 2024-01-02 |\n" in text
    assert "| d | 1 | not measured |  |  |\n" in text


@pytest.mark.parametrize(("difference", "low", "high", "holds"), [
    (0.02, 0.01, 0.03, True), (-0.02, -0.03, -0.01, False), (0.02, -0.01, 0.05, None),
])  # fmt: skip
def test_a_gain_holds_only_where_its_interval_leaves_zero_out(difference, low, high, holds):
    claim = Claim("a gain", "above 0").told(SimpleNamespace(difference=difference, low=low, high=high))
    assert (claim.text, claim.target, claim.holds) == ("a gain", "above 0", holds)
    assert claim.measured == f"{100 * difference:+.2f} ({100 * low:+.2f} to {100 * high:+.2f})"


def test_the_page_of_all_claims_is_what_the_pages_of_results_say():
    assert (harness.HERE / "RESULTS.md").read_text() == harness.summary()


def test_every_benchmark_belongs_to_a_task_and_has_a_section():
    for bench in harness.benches():
        assert bench.partition("_")[0] in {*TASKS, "cli", "decode", "learn", "scale", "web"}, bench
        assert f"<!-- {bench}: begin -->" in harness.page_of(bench).read_text(), bench


@pytest.mark.parametrize("bench", harness.benches())
def test_the_sources_and_functions_that_cells_name_exist(bench):
    module = importlib.import_module(f"bench.{bench}")
    for cell in module.cells(harness.HERE / "no-data"):
        assert harness.source_digest(cell.sources)
        for side in cell.sides:
            name = side.function if isinstance(side, Call) else side.read
            assert not name or callable(harness._function(name)), cell.name


def test_perplexities_of_the_same_pieces_are_compared_and_chance_is_told():
    def cell(logs):
        return {"runs": {"ours": [{"curves": {"logs": logs, "lengths": [10] * len(logs)}}]}}

    better, worse = [-20.0] * 50, [-21.0] * 50
    mixed = [log + (2 if i % 2 else -2) for i, log in enumerate(better)]
    results = {"better": cell(better), "worse": cell(worse), "mixed": cell(mixed)}
    assert harness.perplexity_ratio(results, "worse", "better") == ("1.105 (1.105 to 1.105)", True)  # exp(1 / 10)
    assert harness.perplexity_ratio(results, "better", "worse")[1] is False
    assert harness.perplexity_ratio(results, "mixed", "better")[1] is None
    assert harness.perplexity_ratio(results, "mixed", "absent") == ()


def test_links_of_giza_are_read_by_number_and_without_the_null_word(tmp_path):
    from bench.align_large import _read_links

    path = tmp_path / "x.A3.final"
    path.write_text(
        "# Sentence pair (3) source length 2 target length 3 alignment score : 0.1\n"
        "das Haus da\nNULL ({ 3 }) the ({ 1 }) house ({ 2 })\n"
        "# Sentence pair (1) source length 1 target length 2 alignment score : 0.2\n"
        "ja doch\nNULL ({ }) yes ({ 1 2 })\n"
    )
    links = _read_links(path, 3)
    assert [links.pair(k).tolist() for k in range(3)] == [[[0, 0], [0, 1]], [], [[0, 0], [1, 1]]]


def test_a_pattern_without_sources_is_an_error():
    with pytest.raises(ValueError, match="no source matches"):
        harness.source_digest(("corpuscle/no-such-file.py",))
