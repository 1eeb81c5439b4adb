"""Kernels take few arguments: what travels together is a record. And commands write numbers in one way."""

import ast
import re
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src" / "corpuscle"
MOST = 10
MEASURED = re.compile(r"\d ?(%|times|[mnµ]?s\b)")


def kernels():
    """Every compiled function of the engine and of the tasks: where it stands, and what it is."""
    for path in sorted(SOURCES.rglob("*.py")):
        where = path.relative_to(SOURCES)
        if where.parts[0] == "engine" or "kernels" in where.with_suffix("").parts:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef) and any(
                    ast.unparse(decorator).startswith(("kernel", "part")) for decorator in node.decorator_list
                ):
                    yield where, node


def arguments(function: ast.FunctionDef) -> int:
    given = function.args
    return len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs)


def test_there_are_kernels_to_look_at():
    assert len(list(kernels())) > 100


def test_a_kernel_with_many_arguments_says_what_a_record_would_cost():
    for where, node in kernels():
        if arguments(node) > MOST:
            says = ast.get_docstring(node) or ""
            told = "argument" in says and MEASURED.search(says)
            assert told, f"{where}: {node.name} has {arguments(node)} arguments: make a record"


def formats(path: Path) -> list[str]:
    """The formats of fractions in the f-strings of a file."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    values = (node for node in nodes if isinstance(node, ast.FormattedValue))
    specs = (ast.unparse(value.format_spec) for value in values if value.format_spec is not None)
    return [spec for spec in specs if re.search(r"\.\d", spec)]


def test_commands_and_measures_write_numbers_as_text_wording_says():
    found = {
        str(path.relative_to(SOURCES)): formats(path)
        for pattern in ("cli/*.py", "measure/*.py", "*/verbs.py") for path in sorted(SOURCES.glob(pattern))
    }  # fmt: skip
    assert formats(SOURCES / "text" / "wording.py")
    # The confidence that is a part of a label in a tree is data.
    assert {name: specs for name, specs in found.items() if specs} == {"grammar/verbs.py": ["f'.3f'"]}
