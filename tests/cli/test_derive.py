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
from corpuscle.text import Bitext, Corpus, Treebank, write_bitext, write_text
from corpuscle.text.conllu import format_conllu
from corpuscle.verbs import (
    SEED,
    Answer,
    Export,
    Lines,
    Picture,
    Table,
    Typed,
    a_model,
    annotated,
    bitext,
    messages,
    path,
    read_by,
    setting,
    text,
    verb,
    verbs_of,
    word,
    written,
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


@verb("toy", "toy split text.txt --at 1", out="file?")
def split(
    input: list = messages(raw=True),
    *,
    at: tuple[int, ...] = setting("Only these words.", default=(), low=1, high=9, repeated=True, metavar="N"),
    pairs: list = read_by("corpuscle.text.pairs:read_pairs", "Instead of these words.", metavar="TSV", option=True),
    output: str | None,
) -> Lines:
    """The words of messages."""
    known = {pair.source: pair.targets[0] for pair in pairs or []}
    words = [[known.get(word, word) for word in message] for message in input]
    return Lines([[word for i, word in enumerate(each, 1) if not at or i in at] for each in words])


@verb("toy", "toy couple a.txt b.txt", out="-")
def couple(
    pairs: Bitext = bitext(),
    *,
    dev: Bitext | None = bitext("More pairs.", metavar="SRC TGT", option=True),
    among: tuple = path("Only of these texts.", metavar="FILE", option=True, many=True),
    copy: str | None = written("Write them there, too."),
) -> Table:
    """Pairs of sentences."""
    if copy is not None:
        write_bitext(pairs, copy)
    figures = {"more": len(dev or ()), "among": list(among or ())}
    return Table((), [(" ".join(s), " ".join(t)) for s, t in pairs], figures=figures)


@verb("toy", "toy sides --source a.txt --target b.txt")
def sides(
    source: Bitext | None = bitext(
        metavar="SRC", option=True, options={"target": path(metavar="TGT", option=True, belongs=True)}
    ),
) -> Answer:
    """How many pairs there are."""
    return Answer({"pairs": len(source or ())})


def _fits(values):
    if values["json"] and values["start"] > 1:
        raise SettingError("JSON has no numbers")


@verb("toy", "toy number text.txt --start 7", out="-", check=_fits)
def number(
    input: Corpus = text(),
    *,
    start: int = setting("The first number.", default=1, low=0, high=99),
    json: bool = setting("Write a list for each line.", default=False),
) -> Lines:
    """Number lines."""
    return Lines.of(str(list(each)) if json else f"{n} {' '.join(each)}" for n, each in enumerate(input, start))


@verb("toy", "toy learn text.txt --seed 3", settings="corpuscle.settings:Seeded")
def learn(input: Corpus = text(), *, settings: dict) -> Answer:
    """Learn in the only way."""
    return Answer(dict(settings))


@verb("toy", "toy trees text.txt --tagger words.tagger --parser trees.parser", out="-")
def trees(input: Treebank = annotated()) -> Treebank:
    """The trees of a text."""
    return input


@verb("toy", "toy cut text.txt --at 2 -o cut.txt", out="-")
def cut(
    input: Corpus = text(metavar="TEXT"),
    *,
    at: int = setting("How many letters are left.", default=..., low=1, high=9),
) -> Export:
    """Cut words."""
    words = Corpus.from_sentences([word[:at] for word in sentence] for sentence in input)
    return Export(lambda path: write_text(words, path), words, {"words": words.n_tokens})


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(TASKS, "toy", replace(TOY, verbs=__name__))
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
    names = ["apply", "longest", "about", "draw", "split", "couple", "sides", "number", "learn", "trees", "cut"]
    assert list(group_of("toy").commands) == list(verbs_of("toy")) == names


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


def test_lines_are_written_block_by_block_and_an_option_may_be_repeated(run, tmp_path):
    (tmp_path / "pairs.tsv").write_text("dog\thound\n")
    assert run("toy split text.txt") == (0, "the\ncats\nsing\na\ndog\n", "")
    assert run("toy split text.txt --at 1 --at 3")[1] == "the\nsing\na\n"
    assert run("toy split text.txt --at 2 --pairs pairs.tsv -o out.txt")[:2] == (0, "")
    assert (tmp_path / "out.txt").read_text() == "cats\nhound\n"
    assert list(split(["(a,b)"], raw=False, at=[1])) == ["(a,b)"]
    assert list(split(Typed("(a, b)\n"), raw=True, pairs=[])) == ["(", "a", ",", "b", ")"]
    assert list(split("text.txt", at=(2,))) == ["cats", "dog"]


def test_sentence_pairs_are_two_files_or_one_and_an_option_has_both(run, tmp_path):
    (tmp_path / "pairs.txt").write_text("a ||| b\nc ||| d\n")
    assert run("toy couple text.txt text.txt") == (0, "the cats sing\tthe cats sing\na dog\ta dog\n", "")
    assert run("toy couple pairs.txt --copy copy.txt -q")[:2] == (0, "a\tb\nc\td\n")
    assert (tmp_path / "copy.txt").read_text() == "a ||| b\nc ||| d\n"
    line = "--dev text.txt text.txt --among text.txt --among other.txt --json"
    code, out, _ = run(f"toy couple pairs.txt {line}")
    assert code == 0 and out.startswith("a\tb\nc\td\n")
    assert json.loads(out.splitlines()[-1]) == {"more": 2, "among": ["text.txt", "other.txt"]}
    assert run("toy sides --source text.txt --target text.txt") == (0, "pairs: 2\n", "")
    both = ["a b", "c"], ["d", "e f"]
    for given in (both, [*zip(*both, strict=True)]):
        assert [list(row) for row in couple(given).rows] == [["a b", "d"], ["c", "e f"]]
    assert list(couple(Typed("a\nb"), target=Typed("c\nd\n")).rows) == [("a", "c"), ("b", "d")]
    with pytest.raises(SettingError, match="source has 2 lines, target 1: they must be as many"):
        couple(Typed("a\nb"), target=Typed("c"))


def test_a_verb_that_learns_in_one_way_gets_the_settings_that_were_given(run):
    assert run("toy learn text.txt --seed 3 --json")[1] == '{"seed": 3}\n'
    assert run("toy learn text.txt --json")[1] == "{}\n"
    assert run("toy learn text.txt --seed -1")[:2] == (2, "")
    assert learn(["a b"], seed=2).to_json() == {"seed": 2}
    assert "--seed N" in run("toy learn --help")[1]


def test_a_text_is_tagged_and_parsed_before_the_verb_sees_it(run, tmp_path):
    (tmp_path / "tagger").symlink_to(FOLDER / "tag.crf.model")
    (tmp_path / "parser").symlink_to(FOLDER / "parse.mst.model")
    assert not trees("text.txt").tags.ids.any()
    bank = trees("text.txt", tagger="tagger", parser=str(tmp_path / "parser"))
    assert bank.tags.ids.any() and (bank.heads >= 0).all()
    assert run("toy trees text.txt --tagger tagger --parser parser")[1] == "".join(format_conllu(bank))


def test_lines_are_written_and_a_verb_may_have_json_of_its_own(run):
    assert run("toy number text.txt") == (0, "1 the cats sing\n2 a dog\n", "")
    assert run("toy number text.txt --json") == (0, "['the', 'cats', 'sing']\n['a', 'dog']\n", "")
    assert list(number(["a"], start=5)) == ["5 a"]


def test_a_picture_is_written_where_o_says(run, tmp_path):
    assert run("toy draw text.txt -o text.svg")[0] == 0
    assert (tmp_path / "text.svg").read_text() == "<svg><text>5</text></svg>\n"
    assert run("toy draw text.txt -o text.gif")[:2] == (2, "")


def test_a_setting_without_a_default_is_needed_and_what_has_a_form_of_its_own_is_written(run, tmp_path):
    assert run("toy cut text.txt --at 2") == (0, "th ca si\na do\n", "")
    assert run("toy cut text.txt --at 2 -o cut.txt --json")[:2] == (0, '{"words": 5}\n')
    assert (tmp_path / "cut.txt").read_text() == "th ca si\na do\n"
    assert "--at N How many letters are left. [required]" in " ".join(run("toy cut --help")[1].split())
    assert cut.schema()["required"] == ["input", "at"] and "default" not in cut.schema()["properties"]["at"]
    assert list(cut(["abc d"], at=1).value) == [["a", "d"]]
    with pytest.raises(TypeError, match="toy cut needs at"):
        cut(["abc d"])


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
        ("toy cut text.txt", "missing option '--at'"),
        ("toy split text.txt --at 0", "--at is a list, each a whole number from 1 to 9; not"),
        ("toy couple text.txt other.txt", "other.txt: 1 lines, but text.txt has 2"),
        ("toy sides --source text.txt", "--source and --target belong together"),
        ("toy sides --target text.txt", "--source and --target belong together"),
        ("toy couple text.txt text.txt --copy text.txt", "cannot write: it would replace text.txt, which is read"),
        ("toy number none.txt --json --start 2", "error: JSON has no numbers"),
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
