"""The page of all settings, from their declarations, see ``make_pages``."""

from __future__ import annotations

from corpuscle.catalogue import TASKS, find
from corpuscle.settings import Setting, option_of

INTRODUCTION = """# Settings

Every setting is declared once, on the class that has it; this page, the help of the command line, the checks and the
headers of model files follow from the declarations. An option `--max-word` is the argument `max_word` of the class.
What is marked with * says how the work is done and does not change the result.
"""


def _row(setting: Setting) -> str:
    values = setting.value_text().replace("|", "\\|") or "switch"
    cells = (f"`{option_of(setting.name)}`" + "*" * setting.runtime, values, setting.default_text(), setting.help)
    return "| " + " | ".join(cell.replace("<", "&lt;") for cell in cells) + " |"


def page() -> str:
    """The page as it should be."""
    lines = [INTRODUCTION]
    for name, task in TASKS.items():
        if not task.methods:
            continue
        lines.append(f"## {name}\n")
        by_class: dict[str, list[str]] = {}
        for method, each in task.methods.items():
            by_class.setdefault(each.settings, []).append(method)
        for place, methods in by_class.items():
            names = ", ".join(f"`--method {method}`" for method in methods)
            learner = task.methods[methods[0]].learner.replace(":", ".")
            lines += [
                f"### {names}\n",
                f"`{learner}`\n",
                "| option | values | default | meaning |",
                "| --- | --- | --- | --- |",
            ]
            lines += [_row(setting) for setting in find(place).SETTINGS.values() if setting.name != "method"]
            lines.append("")
    return "\n".join(lines)

