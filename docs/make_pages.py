"""Pages, tables and a picture that follow from declarations, made when the site is built (a hook of MkDocs):
``settings.md``, ``which.md``, ``images/floors.svg``, and the tables on the start page and on that of the architecture.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent / "src"))


def _made(script: str) -> dict[str, Any]:
    return runpy.run_path(str(DOCS / f"{script}.py"))


def generated() -> dict[str, str]:
    """Every file that is made, by its name in docs."""
    return {
        "settings.md": _made("make_settings")["page"](),
        "which.md": _made("make_tables")["which"](),
        "images/floors.svg": _made("make_floors")["picture"](),
    }


def with_tables(name: str, text: str) -> str:
    """A page with its table of tasks, if it has one."""
    fill = {"index.md": "start", "architecture.md": "house"}.get(name)
    return text if fill is None else _made("make_tables")[fill](text)


def on_files(files: Any, config: Any) -> Any:
    """The files."""
    from mkdocs.structure.files import File

    for name, content in generated().items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The tables."""
    return with_tables(page.file.src_uri, markdown)
