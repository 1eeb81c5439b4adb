"""The page "Which command do I need?", the list of tasks on the start page, and their table on the page about the
architecture, from the catalogue and the linter's list, see ``make_pages``."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from corpuscle.catalogue import COMMANDS, TASKS

DOCS = Path(__file__).parent
BEGIN, END = "<!-- tasks: begin -->", "<!-- tasks: end -->"

QUESTIONS = {
    "text": "I have running text, or want to know what is in a text",
    "segment": "My language is written without spaces",
    "lm": "How likely is a sentence? What comes next? What is odd here?",
    "classes": "Which words behave alike?",
    "vectors": "Which words mean alike?",
    "meaning": "What does a word mean here? Which senses has it?",
    "metric": "Which texts are alike, as my groups say?",
    "topics": "What are my documents about?",
    "align": "I have translations: which words translate which?",
    "transliterate": "I have names in two scripts",
    "translate": "I need a draft of a translation",
    "tag": "I have tagged sentences, and more text",
    "disambiguate": "I have a lexicon: which analysis is right here?",
    "normalise": "My messages are full of misspellings and slang",
    "entities": "Where are people, places, products in my text?",
    "parse": "I have trees of dependencies: which word depends on which?",
    "grammar": "I have trees of phrases, or want phrases without any trees",
    "samples": "I want something to try things on, with the truth beside it",
}
OPENING = """# Which command do I need?

Begin with `corpuscle learn KIT --check`: it says what your files are good for. `corpuscle learn KIT` then does all of
it at once, and its [report](learn.md) names the commands for each model. For one thing at a time:

"""

ENDING = """Every command has `--help`; `train --help` lists the settings of all methods, as does the
[page of settings](settings.md).
"""


def _row(name: str, question: str, help: str, page: str) -> str:
    return f"| {question} | `corpuscle {name}` | {help} | [{page.removesuffix('.md')}]({page}) |"


def which() -> str:
    """The page of questions."""
    rows = [_row(name, QUESTIONS.get(name, task.help), task.summary, task.page) for name, task in TASKS.items()]
    rows += [_row(name, command.help.rstrip("."), command.summary, command.page) for name, command in COMMANDS.items()]
    heading = "| question | command | what it offers | page |\n| --- | --- | --- | --- |\n"
    return OPENING + heading + "\n".join(rows) + "\n\n" + ENDING


def start(text: str) -> str:
    """The start page with its list of tasks."""
    listed = "\n".join(f"- [{name}]({task.page}): {task.summary}." for name, task in TASKS.items())
    return _between(text, listed)


def _between(text: str, made: str) -> str:
    """A page with what is made between its two marks."""
    return re.sub(f"{BEGIN}.*?{END}", lambda _: f"{BEGIN}\n{made}\n{END}", text, flags=re.S)


def house(text: str) -> str:
    """The page about the architecture with its table of packages, the leftmost first."""
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))
    order = project["tool"]["importlinter"]["contracts"][0]["layers"]
    rows = ["| package | commands | what it learns | page |", "| --- | --- | --- | --- |"]
    for package in reversed(order[order.index("samples") + 1 : order.index("measure | figures")]):
        tasks = {name: task for name, task in TASKS.items() if task.package == f"corpuscle.{package}"}
        commands = ", ".join(f"`{name}`" for name in tasks) or "none of its own"
        about = "; ".join(task.summary for task in tasks.values()) or "networks that rewrite sequences, for other tasks"
        pages = ", ".join(f"[{name}]({task.page})" for name, task in tasks.items()) or f"[{package}]({package}.md)"
        rows.append(f"| `{package}` | {commands} | {about} | {pages} |")
    return _between(text, "\n".join(rows))

