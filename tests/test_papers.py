"""Every module of kernels says which paper or textbook its idea is from: who, the title in quotes, the year."""

import ast
import re
import time
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "src" / "corpuscle"
MODULES = sorted(
    path
    for path in SOURCES.rglob("*.py")
    if re.search(r"^@(kernel|part)\b", path.read_text(encoding="utf-8"), re.M)
    or (path.is_relative_to(SOURCES / "engine") and path.name != "__init__.py")
)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCES)))
def test_a_module_of_kernels_names_its_paper(path):
    says = " ".join((ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split())
    papers = re.findall(r'([A-Z]\w+), "([^"]+)", (\d{4})\b', says)
    assert papers, f'{path.name}: no reference like: Teh, "A hierarchical Bayesian language model", 2006'
    assert all(1900 <= int(year) <= time.localtime().tm_year for _, _, year in papers)


def test_a_paper_has_the_same_author_and_year_in_every_module():
    said: dict[str, set[tuple[str, str]]] = {}
    for path in SOURCES.rglob("*.py"):
        text = " ".join((ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split())
        for author, title, year in re.findall(r'([A-Z]\w+), "([^"]+)", (\d{4})\b', text):
            said.setdefault(re.sub(r"\W+", " ", title.lower()), set()).add((author, year))
    assert len(said) > 100
    assert {title: named for title, named in said.items() if len(named) > 1} == {}


def test_no_module_names_a_paper_by_author_and_year_alone():
    for path in MODULES:
        says = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        assert not re.search(r"[A-Z]\w+ \(?(19|20)\d\d\b", says), path.name
