"""The Python reference: a page for each package, made of its docstrings when the site is built (a hook of MkDocs).

Nothing is imported: names, signatures and docstrings are read from the sources. A package's public names are those of
its table of contents (its ``__init__``), in that order by module.
"""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src"
FIRST, LAST = ("text", "measure", "figures"), ("samples", "packs")


class Entry(NamedTuple):
    """A public name: what it is, where it is, and its syntax tree."""

    name: str
    module: str
    node: ast.AST
    doc: str


def packages() -> list[str]:
    """The packages with a public table of contents: text and figures first, then the tasks, then packs."""
    from corpuscle.catalogue import TASKS

    tasks = dict.fromkeys(task.package.partition(".")[2] for task in TASKS.values())
    return list(dict.fromkeys([*FIRST, *(task for task in tasks if task not in LAST), *LAST]))


def _file(module: str) -> Path:
    place = SOURCES.joinpath(*module.split("."))
    return place.with_suffix(".py") if place.with_suffix(".py").is_file() else place / "__init__.py"


def _tree(module: str) -> ast.Module:
    return ast.parse(_file(module).read_text(encoding="utf-8"))


def public_names(package: str) -> dict[str, str]:
    """Public name -> the module that it comes from, as the table of contents imports them; own ones, too."""
    module = f"corpuscle.{package}"
    names: dict[str, str] = {}
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(module + "."):
            names |= {alias.asname or alias.name: node.module for alias in node.names}
    if not any(home.startswith(module + ".") for home in names.values()):
        names |= {node.name: module for node in _tree(module).body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    return {name: home for name, home in names.items() if not name.startswith("_")}


def entries(package: str) -> list[Entry]:
    """The public names of a package with their docstrings; a constant has the string that follows it."""
    found = []
    for name, module in public_names(package).items():
        body = _tree(module).body
        for i, node in enumerate(body):
            targets = getattr(node, "targets", [getattr(node, "target", None)])
            named = [getattr(each, "id", None) for target in targets for each in getattr(target, "elts", [target])]
            if name not in (getattr(node, "name", None), *named):
                continue
            after = body[i + 1] if i + 1 < len(body) else None
            said = getattr(getattr(after, "value", None), "value", "") if isinstance(after, ast.Expr) else ""
            defined = isinstance(node, ast.ClassDef | ast.FunctionDef)
            doc = ast.get_docstring(node) if defined else inspect.cleandoc(said) if isinstance(said, str) else ""
            found.append(Entry(name, module, node, doc or ""))
            break
    return found


def _signature(node: ast.FunctionDef, method: bool = False) -> str:
    arguments = ast.unparse(node.args)
    if method:
        arguments = arguments.partition(",")[2].strip() if "," in arguments else ""
        arguments = arguments.removeprefix("/, ")
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{node.name}({arguments}){returned}"


def _text(doc: str) -> str:
    """A docstring as Markdown: names in single backquotes, examples as code, no accidental markup."""
    lines, inside = [], False
    for line in doc.replace("``", "`").splitlines():
        if line.lstrip().startswith(">>>") and not inside:
            lines += ["", "```python"]
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line.strip() if inside else line.replace("<", "&lt;").replace("|", "\\|"))
    return "\n".join([*lines, "```"] if inside else lines)


def _entry(entry: Entry) -> list[str]:
    node = entry.node
    kind = f"*{entry.module.removeprefix('corpuscle.')}*"
    if isinstance(node, ast.FunctionDef):
        return [f"## {entry.name}", kind, f"```python\n{_signature(node)}\n```", _text(entry.doc)]
    if not isinstance(node, ast.ClassDef):
        return [f"## {entry.name}", kind, _text(entry.doc)]
    bases = ", ".join(f"`{ast.unparse(base)}`" for base in node.bases)
    parts = [f"## {entry.name}", f"{kind}{f', a kind of {bases}' if bases else ''}", _text(entry.doc)]
    for verb in node.body:
        if isinstance(verb, ast.FunctionDef) and not verb.name.startswith("_"):
            said = _text((ast.get_docstring(verb) or "").partition("\n\n")[0])
            decorated = {ast.unparse(each).partition("(")[0] for each in verb.decorator_list}
            if decorated & {"property", "cached_property"}:
                parts.append(f"- `{verb.name}`: {said}")
            else:
                parts.append(f"- `{_signature(verb, method='staticmethod' not in decorated)}`: {said}")
    return parts


def page(package: str) -> str:
    """The reference of a package."""
    doc = _text(ast.get_docstring(_tree(f"corpuscle.{package}")) or "")
    parts = [f"# corpuscle.{package}", doc]
    for entry in entries(package):
        parts += _entry(entry)
    return "\n\n".join(part for part in parts if part) + "\n"


def on_config(config: Any) -> Any:
    """A group of the menu."""
    config.nav.append({"Python": [{name: f"api/{name}.md"} for name in packages()]})
    return config


def on_files(files: Any, config: Any) -> Any:
    """The pages."""
    from mkdocs.structure.files import File

    for name in packages():
        files.append(File.generated(config, f"api/{name}.md", content=page(name)))
    return files
