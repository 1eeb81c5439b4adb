"""Claims about bench.record: two checkouts are compared on this machine, and a difference is found."""

from bench import record

STUB = """
from pathlib import Path

def main(words):
    Path("out.txt").write_text("a\\nb{change}\\n")
    print('{{"value": {value}, "seconds": {value}}}')
"""


def checkout(folder, **facts):
    """A checkout whose command line does next to nothing."""
    package = folder / "src/corpuscle/cli"
    package.mkdir(parents=True)
    for file in (package.parent / "__init__.py", package / "__init__.py"):
        file.write_text("")
    (package / "main.py").write_text(STUB.format(**facts))
    return folder


def test_a_checkout_gives_what_it_gave(capsys):
    assert record.main(["--against", str(record.ROOT), "text"]) == 0
    assert capsys.readouterr().out == ""


def test_differences_of_texts_and_figures_are_found(tmp_path):
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    chosen = {"toy": {"toy one": ["one", "--json"]}}
    old = record.run_side(checkout(tmp_path / "old", change="", value=1), inputs, chosen)
    new = record.run_side(checkout(tmp_path / "new", change="!", value=2), inputs, chosen)
    assert list(record.differences(old, new)) == [
        "toy one: json: value: 1 is now 2",
        r"toy one: out.txt: line 2: 'b\n' is now 'b!\n'",
    ]


def test_what_only_one_side_has_is_a_difference():
    old, new = {"a": {"x": "1"}, "b": {"json": {"n": [1, 2]}}}, {"a": {"failed": "no"}, "b": {"json": {"n": [1, 3]}}}
    wanted = ["a: failed: is new, 'no'", "a: x: is gone", "b: json: n: [1, 2] is now [1, 3]"]
    assert list(record.differences(old, new)) == wanted


def test_a_label_runs_with_what_comes_before_it_in_its_group():
    groups = {"a": {"a one": ["1"], "a two": ["2"], "a three": ["3"]}, "b": {"b one": ["4"]}}
    assert record.choose(["a two"], groups) == {"a": {"a one": ["1"], "a two": ["2"]}}
    assert record.choose([], groups) == groups and list(record.choose(["b", "a one"], groups)) == ["b", "a"]
