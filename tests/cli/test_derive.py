"""A verb is declared once: its command, help, schema, complaints, what Python calls and what a form sends follow."""
# ruff: noqa: B008  (the defaults of a verb are declarations)

import json
import subprocess
import sys
from dataclasses import replace

import click
import pytest

from corpuscle import progress
from corpuscle.catalogue import TASKS
from corpuscle.cli.derive import command_of, group_of
from corpuscle.cli.main import main
from corpuscle.errors import InputError, SettingError
from corpuscle.text import Corpus
from corpuscle.verbs import (
    SEED,
    Answer,
    Picture,
    Table,
    Typed,
    a_model,
    setting,
    text,
    verb,
    verbs_of,
    word,
)  # fmt: skip
from tests.cli import TOY
from tests.tiny_models import FOLDER


@verb("toy", "toy apply text.txt --loud  # in capitals", out="-")
def apply(
    input: Corpus = text(metavar="TEXT", default="-", raw=True, empty="the text is empty"),
    *,
    loud: bool = setting("Write capitals.", default=False),
) -> Corpus:
    """Write a text again."""
    return Corpus.from_sentences([[word.upper() if loud else word for word in each] for each in input])


@verb("toy", "toy longest text.txt -k 2")
def longest(
    input: Corpus = text(metavar="TEXT"),
    *,
    k: int = setting("How many.", default=3, low=1, high=9, flag="-k"),
    least: int | None = setting("Only words of so many letters.", default=None, low=1, high=99),
    among: Corpus | None = text("Only words of this text.", metavar="TEXT", option=True, without={"only": "alone"}),
    only: str | None = word("Only this word.", metavar="WORD", option=True),
    seed: int = SEED,
) -> Table:
    """The longest words."""
    if not input.n_tokens:
        raise InputError(None, 1, "no words")
    known = {word for sentence in input for word in sentence}
    if among is not None:
        known &= {word for sentence in among for word in sentence}
    words = sorted((w for w in known if len(w) >= (least or 0) and only in (None, w)), key=lambda w: (-len(w), w))
    return Table(("word", "letters"), [(word, len(word)) for word in words[:k]])


@verb("toy", "toy about lm.model text.txt", name="about", work=True, overlap="input")
def about_(model: object = a_model("lm"), input: Corpus = text(raw=True), *, work: dict, names: dict) -> Answer:
    """What a model and a text are."""
    return Answer({"kind": model.KIND.name, "tokens": input.n_tokens, "work": dict(work), "names": sorted(names)})


@verb("toy", "toy draw text.txt -o text.svg", out="figure")
def draw(input: Corpus = text()) -> Picture:
    """A picture of a text."""
    return Picture(f"<svg><text>{input.n_tokens}</text></svg>")


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(TASKS, "toy", replace(TOY, verbs=__name__, commands=""))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("the cats sing\na dog\n")
    (tmp_path / "other.txt").write_text("cats\n")
    (tmp_path / "empty.txt").write_text("")

    def run(line):
        code = main(line.split())
        progress.quiet(False)
        return code, *capsys.readouterr()

    return run


def test_the_commands_of_a_task_are_its_verbs_in_their_order(run):
    assert list(group_of("toy").commands) == list(verbs_of("toy")) == ["apply", "longest", "about", "draw"]


def test_one_line_makes_an_option_of_the_command_its_help_its_schema_and_an_argument_in_python(run):
    assert run("toy apply text.txt --loud") == (0, "THE CATS SING\nA DOG\n", "")
    assert run("toy apply text.txt") == (0, "the cats sing\na dog\n", "")
    help = " ".join(run("toy apply --help")[1].split())
    assert "--loud Write capitals." in help and "--raw" in help and "toy apply [OPTIONS] [TEXT]" in help
    assert "Write a text again." in help and "corpuscle toy apply text.txt --loud # in capitals" in help
    told = {"type": "boolean", "description": "Write capitals.", "default": False}
    assert apply.schema()["properties"]["loud"] == told
    assert list(apply(["a b"], loud=True)) == [["A", "B"]]


def test_an_input_takes_paths_lines_words_objects_and_what_was_typed_into_a_form(run, tmp_path):
    forms = ["text.txt", tmp_path / "text.txt", ["the cats sing", "a dog"], [["the", "cats", "sing"], ["a", "dog"]]]
    forms += [Corpus.from_sentences([["the", "cats", "sing"], ["a", "dog"]]), Typed("the cats sing\na dog\n")]
    for form in forms:
        assert list(apply(form)) == [["the", "cats", "sing"], ["a", "dog"]], form
    assert list(apply(Typed("The cats sing. A dog!"), raw=True)) == [["The", "cats", "sing", "."], ["A", "dog", "!"]]


def test_the_schema_has_texts_and_settings_and_not_how_the_work_is_done():
    schema = about_.schema()
    assert schema["title"] == "toy about" and list(schema["properties"]) == ["input", "raw"]
    assert schema["required"] == ["input"] and schema["additionalProperties"] is False
    known = longest.schema()["properties"]
    assert list(known) == ["input", "k", "least", "among", "only", "seed"] and known["k"]["maximum"] == 9


def test_a_table_is_written_or_its_rows_are_data(run):
    assert run("toy longest text.txt -k 2") == (0, "word\tletters\ncats\t4\nsing\t4\n", "")
    code, out, _ = run("toy longest text.txt --among other.txt --json")
    assert (code, json.loads(out)) == (0, {"rows": [{"word": "cats", "letters": 4}], "written": []})
    assert longest(["a bb"], k=1).to_json() == {"rows": [{"word": "bb", "letters": 2}]}
    assert longest(["a bb"], k=1).text() == "word\tletters\nbb\t2"


def test_a_picture_is_written_where_o_says(run, tmp_path):
    assert run("toy draw text.txt -o text.svg")[0] == 0
    assert (tmp_path / "text.svg").read_text() == "<svg><text>5</text></svg>\n"
    assert run("toy draw text.txt -o text.gif")[:2] == (2, "")


def test_a_model_is_loaded_shares_its_work_and_says_what_it_has_seen(run, tmp_path):
    (tmp_path / "m").symlink_to(FOLDER / "lm.ngram.model")
    code, out, _ = run("toy about m text.txt --workers 2 --json")
    told = json.loads(out)
    assert code == 0 and told["work"] == {"workers": 2} and told["names"] == ["input", "model"]
    assert told["kind"] == "lm.ngram" and told["overlap_training"] == 0 and told["tokens"] == 5


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("toy apply empty.txt", "empty.txt: the text is empty"),
        ("toy apply none.txt", "none.txt: no such file"),
        ("toy apply text.txt -o text.txt", "text.txt: cannot write: it would replace text.txt, which is read"),
        ("toy longest", "missing argument 'TEXT' (see corpuscle toy longest --help)"),
        ("toy longest text.txt -k 0", "-k is a whole number from 1 to 9; not 0"),
        ("toy longest text.txt --least x", "--least is a whole number from 1 to 99; not 'x'"),
        ("toy longest empty.txt", "empty.txt:1: no words"),
        ("toy longest text.txt --among other.txt --only a", "--among means nothing with --only, alone"),
        ("toy about text.txt text.txt", "text.txt: not a model"),
        ("toy about m text.txt --workers 1 --cluster x", "give workers or a cluster, not both"),
        ("toy draw text.txt", "missing option '-o' / '--output'"),
    ],
)
def test_a_complaint_is_one_line(run, line, complaint):
    code, out, err = run(line)
    assert (code, out, err.count("\n")) == (2, "", 1) and err.startswith("error: ") and complaint in err


def test_python_is_told_what_is_missing_unknown_or_wrong():
    for call, error, complaint in (
        (lambda: longest(), TypeError, "toy longest needs input"),
        (lambda: longest(["a"], loud=True), TypeError, "toy longest knows no loud"),
        (lambda: longest(["a"], k=10), SettingError, "k is a whole number from 1 to 9; not 10"),
    ):
        with pytest.raises(error, match=complaint):
            call()


def test_an_input_of_a_command_has_its_metavar_and_completes_files():
    params = {param.name: param for param in command_of(longest).params}
    assert params["input"].metavar == "TEXT" and params["among"].metavar == "TEXT"
    context = click.Context(command_of(longest))
    assert params["input"].shell_complete(context, "te")[0].type == "file"
    assert params["only"].shell_complete(context, "te") == []


@pytest.mark.parametrize("module", sorted({task.verbs for task in TASKS.values() if task.verbs}))
def test_a_module_of_verbs_imports_nothing_heavy(module):
    code = f"import sys, {module}; print({{'numpy', 'numba', 'scipy', 'click'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stdout + done.stderr


def test_the_help_of_everything_imports_no_module_of_verbs():
    code = "import sys; from corpuscle.cli.main import main; main(['--help'])\n"
    code += "print([name for name in sys.modules if name.endswith('.verbs') and name != 'corpuscle.verbs'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.endswith("\n[]\n"), done.stdout + done.stderr
