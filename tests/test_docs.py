"""The documentation tells the truth: commands exist, examples run, links lead somewhere."""

import ast
import doctest
import glob
import importlib
import json
import pkgutil
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import corpuscle
from corpuscle.cli.main import COMMANDS, TASKS, main
from corpuscle.errors import MissingExtra

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("bench/**/*.md")])
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(corpuscle.__path__, "corpuscle.")
    if not module.name.endswith("__main__")
)


def block_after(mark, text):
    return re.search(rf"<!-- {mark} -->\n```sh\n(.*?)\n```", text, re.S).group(1)


def commands_in(text):
    """Every ``corpuscle ...`` line of the shell blocks of a page, as lists of words."""
    blocks = re.findall(r"```(?:sh|bash|console)\n(.*?)```", text, re.S)
    lines = [x for x in "\n".join(blocks).replace("\\\n", " ").splitlines() if not x.lstrip().startswith("#")]
    found = [re.split(r"&&|\||;|>|<| #", line) for line in lines]
    parts = [shlex.split(part.strip().removeprefix("$ ")) for line in found for part in line]
    return [words for words in parts if words and words[0].endswith("corpuscle")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_true(name):
    try:
        module = importlib.import_module(name)
    except MissingExtra as error:
        pytest.skip(str(error))
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_in_the_documentation_exist(page, capsys):
    for words in commands_in(page.read_text(encoding="utf-8")):
        if len(words) == 1 or words[1].startswith("-"):
            continue
        assert words[1] in TASKS or words[1] in COMMANDS, " ".join(words)
        action = [words[1], words[2]] if words[1] in TASKS and len(words) > 2 else [words[1]]
        if words[1] in TASKS and action[-1].startswith("-"):
            action.pop()
        assert main([*action, "--help"]) == 0, " ".join(words)
        help = capsys.readouterr().out
        for option in (word.partition("=")[0] for word in words if word.startswith("--")):
            assert option in help, f"{' '.join(words)}: no option {option}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"[a-z]+:", target):
            path = target.partition("#")[0]
            assert not path or (page.parent / path).exists(), target


def test_every_page_is_in_the_menu_and_the_menu_has_only_pages():
    menu = re.findall(r":\s+([\w/-]+\.md)\s*$", (ROOT / "mkdocs.yml").read_text(), re.M)
    assert sorted(menu) == sorted(str(page.relative_to(ROOT / "docs")) for page in ROOT.glob("docs/**/*.md"))


def test_the_picture_of_the_floors_shows_the_layers_of_the_linter():
    made = runpy.run_path(str(ROOT / "docs" / "make_floors.py"))
    assert made["PICTURE"].read_text(encoding="utf-8") == made["picture"](), "python docs/make_floors.py makes it anew"
    page, (tasks, ground) = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"), made["layers"]()
    assert [name for name in (*tasks, *ground) if f"`{name}`" not in page] == []


def test_the_pictures_of_shared_work_and_of_penalties_are_what_their_script_draws():
    made = runpy.run_path(str(ROOT / "docs" / "make_figures.py"))
    for name, draw in (("scale-tree", "sharing"), ("lm-penalties", "penalties")):
        assert (ROOT / "docs" / "images" / f"{name}.svg").read_text(encoding="utf-8") == made[draw]() + "\n"


def test_the_glossary_is_in_order_and_says_every_word_once_in_a_line_or_two():
    entries = re.split(r"^- ", (ROOT / "docs" / "glossary.md").read_text(), flags=re.M)[1:]
    words = [re.match(r"\*\*([\w -]+)\*\*", entry)[1] for entry in entries]
    assert words == sorted(set(words))
    assert all(len(entry.strip().splitlines()) <= 2 for entry in entries)


def test_the_page_of_settings_follows_from_their_declarations():
    script = runpy.run_path(str(ROOT / "docs" / "make_settings.py"))
    assert script["PAGE"].read_text(encoding="utf-8") == script["page"]()


def test_the_tables_of_tasks_follow_from_the_catalogue():
    made = runpy.run_path(str(ROOT / "docs" / "make_tables.py"))
    start = made["START"].read_text(encoding="utf-8")
    assert made["WHICH"].read_text(encoding="utf-8") == made["which"](), "python docs/make_tables.py makes it anew"
    assert start == made["start"](start) and made["BEGIN"] in start, "python docs/make_tables.py makes it anew"
    house = made["HOUSE"].read_text(encoding="utf-8")
    assert house == made["house"](house) and made["BEGIN"] in house, "python docs/make_tables.py makes it anew"


def test_the_picture_of_the_start_page_shows_every_step():
    made = runpy.run_path(str(ROOT / "docs" / "make_overview.py"))
    assert made["PICTURE"].read_text(encoding="utf-8") == made["picture"](), "docs/make_overview.py makes it anew"


def test_the_reference_has_every_public_name_of_every_package():
    made = runpy.run_path(str(ROOT / "docs" / "make_api.py"))
    assert {task.package.partition(".")[2] for task in TASKS.values()} <= {*made["packages"]()}
    for package in made["packages"]():
        public = set(importlib.import_module(f"corpuscle.{package}").__all__)
        shown = set(re.findall(r"^## (\w+)$", made["page"](package), re.M))
        assert public - shown == set(), package
        defined = [each for each in made["entries"](package) if isinstance(each.node, ast.ClassDef | ast.FunctionDef)]
        assert [each.name for each in defined if not each.doc] == []


def test_the_notebook_runs():
    cells = json.loads((ROOT / "docs" / "notebook.ipynb").read_text(encoding="utf-8"))["cells"]
    names: dict = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), "notebook", "exec"), names)
    assert names["intake"].kit.files["parallel"] and names["model"].order == 3


def test_ci_runs_the_test_command_of_the_readme():
    readme, script = (ROOT / "README.md").read_text(), (ROOT / ".ci" / "run").read_text()
    line = next(line for line in script.splitlines() if line.startswith("tests=$("))
    extracted = subprocess.run(["bash", "-c", line + '; printf %s "$tests"'], cwd=ROOT, capture_output=True, text=True)
    assert extracted.stdout == block_after("test command", readme)
    assert "pytest" in extracted.stdout and '".[test]"' in extracted.stdout


def test_the_test_command_needs_no_compiler_and_ci_compares_with_kenlm_as_well():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert not any("kenlm" in requirement for requirement in extras["test"]) and extras["kenlm"]
    assert 'pip install --quiet ".[test,kenlm]" torch' in (ROOT / ".ci" / "run").read_text()


def test_the_first_command_of_the_readme_learns_from_the_sample():
    command = block_after("learn command", (ROOT / "README.md").read_text())
    assert command.endswith("corpuscle learn")
    assert main(["learn", "--help"]) == 0


def test_the_tour_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    tour = (ROOT / "README.md").read_text().partition("## A short tour")[2].partition("\n## ")[0]
    monkeypatch.chdir(tmp_path)
    for line in re.findall(r"^printf .*$", tour, re.M):
        subprocess.run(["sh", "-c", line], check=True)
    for words in commands_in(tour):
        arguments = [path for word in words[1:] for path in (sorted(glob.glob(word)) or [word])]
        assert main(arguments) == 0, " ".join(words) + "\n" + capsys.readouterr().err
    for code in re.findall(r"```python\n(.*?)```", tour, re.S):
        exec(compile(code, "README.md", "exec"), {})


def test_committed_pages_name_no_machine_paths():
    for page in PAGES:
        assert not re.search(r"(?<![\w.])/(work|tmp|home|root)/", page.read_text(encoding="utf-8")), page.name


@pytest.mark.slow
def test_no_page_scrolls_sideways_on_a_phone(tmp_path):
    """The site is built and every page is opened in a window of 390 pixels."""
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("there is no Chromium on this system")
    pytest.importorskip("mkdocs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(tmp_path / "site")]
    subprocess.run(command, cwd=ROOT, check=True)
    pages = sorted((tmp_path / "site").rglob("index.html"))
    assert len(pages) > 60
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 390, "height": 844})
        wide = []
        for path in pages:
            page.goto(path.as_uri())
            if page.evaluate("document.documentElement.scrollWidth") > 390:
                wide.append(path.parent.name)
        browser.close()
    assert wide == []
