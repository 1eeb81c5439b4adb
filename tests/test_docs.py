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
from xml.etree import ElementTree

import pytest

import corpuscle
from corpuscle.catalogue import find
from corpuscle.cli.main import COMMANDS, TASKS, main
from corpuscle.errors import MissingExtra
from corpuscle.settings import option_of

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("bench/**/*.md")])
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(corpuscle.__path__, "corpuscle.")
    if not module.name.endswith("__main__")
)


def script(name):
    """What a script of the documentation defines."""
    return runpy.run_path(str(ROOT / "docs" / f"{name}.py"))


MADE = script("make_pages")["generated"]()
"""The files that are made when the site is built."""


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
            assert not path or (page.parent / path).exists() or path in MADE, target


def test_every_page_is_in_the_menu_and_the_menu_has_only_pages():
    menu = re.findall(r":\s+([\w/-]+\.md)\s*$", (ROOT / "mkdocs.yml").read_text(), re.M)
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in ROOT.glob("docs/**/*.md")}
    assert sorted(menu) == sorted(pages | {name for name in MADE if name.endswith(".md")})


def test_the_picture_of_the_floors_shows_the_layers_of_the_linter():
    page, (tasks, ground) = (ROOT / "docs" / "architecture.md").read_text(), script("make_floors")["layers"]()
    assert [name for name in (*tasks, *ground) if name not in MADE["images/floors.svg"]] == []
    assert [name for name in ground if f"`{name}`" not in page] == []


@pytest.mark.parametrize(("name", "draw"), [("scale-tree", "sharing"), ("lm-penalties", "penalties")])
def test_a_picture_says_what_its_script_draws(name, draw):
    committed = (ROOT / "docs" / "images" / f"{name}.svg").read_text(encoding="utf-8")
    assert labels(committed) == labels(script("make_figures")[draw]())


def test_the_picture_of_the_start_page_shows_every_step():
    made = script("make_overview")
    assert labels(made["PICTURE"].read_text(encoding="utf-8")) == labels(made["picture"]()), "make it anew"


def labels(svg):
    """What a picture says, place for place, without where it stands."""
    return [text.strip() for text in ElementTree.fromstring(svg).itertext() if text.strip()]


def test_the_glossary_says_every_word_once_in_a_line_or_two():
    entries = re.split(r"^- ", (ROOT / "docs" / "glossary.md").read_text(), flags=re.M)[1:]
    words = [re.match(r"\*\*([\w -]+)\*\*", entry)[1] for entry in entries]
    assert len(words) == len(set(words)) > 50
    assert all(len(entry.strip().splitlines()) <= 2 for entry in entries)


def test_the_glossary_names_options_and_classes_that_there_are():
    page, declared, classes = (ROOT / "docs" / "glossary.md").read_text(), set(), set()
    for path in (ROOT / "src" / "corpuscle").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.arg):
                declared.add(node.arg)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                declared.add(node.target.id)
            elif isinstance(node, ast.ClassDef):
                classes.add(node.name)
    options = {option_of(name) for name in declared}
    assert set(re.findall(r"--[a-z][\w-]*", page)) - options == set()
    assert set(re.findall(r"`([A-Z]\w+)`", page)) - classes == set()


def test_the_page_of_settings_has_every_option_of_every_method_with_its_default():
    sections = dict(zip(*[iter(re.split(r"^## (\w+)$", MADE["settings.md"], flags=re.M)[1:])] * 2, strict=True))
    for name, task in TASKS.items():
        for method, each in task.methods.items():
            [section] = [part for part in sections[name].split("### ") if f"`--method {method}`" in part.split("\n")[0]]
            rows = dict(re.findall(r"^\| `(--[\w-]+)`\*? \| (.*) \|$", section, re.M))
            for setting in find(each.settings).SETTINGS.values():
                if setting.name != "method":
                    assert setting.default_text() in rows[option_of(setting.name)], (name, method, setting.name)


def test_the_page_of_questions_and_the_tables_name_every_task_and_its_page():
    made, which = script("make_pages"), MADE["which.md"]
    for name, each in (TASKS | COMMANDS).items():
        assert f"`corpuscle {name}`" in which and f"]({each.page})" in which
    pages = [made["with_tables"](name, (ROOT / "docs" / name).read_text()) for name in ("index.md", "architecture.md")]
    assert all(f"[{name}]({task.page})" in pages[0] for name, task in TASKS.items())
    assert all(f"[{name}]({TASKS[name].page})" in pages[1] for name in ("lm", "classes", "align", "grammar"))


def test_the_reference_has_every_public_name_of_every_package():
    made = script("make_api")
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
