"""Manners that every command has: figures as data, examples in its help, values that complete in the shell."""

import json
import re
import shlex
from contextlib import chdir

import click
import pytest
from click.shell_completion import ShellComplete

from corpuscle import catalogue
from corpuscle.catalogue import TASKS, find
from corpuscle.cli.command import examples as lines_of
from corpuscle.cli.main import _root, main
from corpuscle.cli.outputs import Output
from corpuscle.verbs import verbs_of
from tests.tiny_models import FOLDER, TEXT


def walk(command: click.Command, path: tuple[str, ...] = ()):
    """All commands by their paths."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from walk(command.get_command(context, name), (*path, name))
    else:
        yield " ".join(path), command


COMMANDS = dict(walk(_root()))


def examples(path):
    """The examples of a command: what to type, and what for."""
    return lines_of(COMMANDS[path].example, path)


def test_every_command_but_the_server_has_json():
    without = [
        path for path, command in COMMANDS.items() if not any("--json" in param.opts for param in command.params)
    ]
    assert without == ["serve"]


def test_every_command_has_examples_and_every_example_parses():
    assert [path for path in COMMANDS if not examples(path)] == []
    of_verbs = [each.example for task in TASKS for each in verbs_of(task).values()]
    of_verbs += [find(each.verb).example for each in catalogue.COMMANDS.values()]
    lines = [line for part in of_verbs for line in part.strip().splitlines()]
    assert sum(len(examples(path)) for path in COMMANDS) == len(lines)
    for path in COMMANDS:
        for typed, _ in examples(path):
            words = shlex.split(re.sub(r"<\(.*?\)", "FILE", typed).rpartition("corpuscle ")[2].partition(" > ")[0])
            root = _root()
            with root.make_context("corpuscle", words) as context:
                context.invoked_subcommand = words[0]
                group = root.get_command(context, words[0])
                rest, command, outer = words[1:], group, context
                if isinstance(group, click.Group):
                    outer = group.make_context(words[0], rest, parent=context)
                    command, rest = group.get_command(outer, rest[0]), rest[1:]
                command.make_context(path, rest, parent=outer).close()


def test_help_ends_with_the_examples(capsys):
    assert main(["align", "evaluate", "--help"]) == 0
    end = capsys.readouterr().out.partition("Examples:\n")[2].splitlines()
    assert end[0] == "  corpuscle align evaluate gold.links new.links"
    assert end[1].startswith("  corpuscle align evaluate gold.links <(")


@pytest.fixture
def folder(tmp_path):
    for model in FOLDER.iterdir():
        (tmp_path / model.stem).symlink_to(model)
    (tmp_path / "text.txt").write_text(TEXT, "utf-8")
    (tmp_path / "unspaced.txt").write_text(TEXT.replace(" ", ""), "utf-8")
    with chdir(tmp_path):
        yield tmp_path


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("lm score lm.ngram text.txt", {"sentence", "tokens", "oov", "log10", "perplexity"}),
        ("lm score lm.ngram text.txt --by-word", {"sentence", "word", "bits", "oov"}),
        ("lm sample lm.ngram -n 3", {"sentence"}),
        ("segment lexicon segment.npylm", {"word", "occurrences", "tables", "type", "surprisal"}),
        ("segment score segment.npylm unspaced.txt", {"sentence", "letters", "unknown", "log10", "perplexity"}),
        ("segment history segment.npylm", None),
        ("align lexicon align.hmm", {"source", "target", "links", "forward", "backward", "score"}),
        ("align weights align.loglinear", {"direction", "feature", "weight"}),
        ("lm weights lm.loglinear", {"context", "word", "weight"}),
    ],
)
def test_what_a_command_lists_is_data_with_json(command, names, folder, capsys):
    assert main([*command.split(), "--quiet"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert main([*command.split(), "--quiet", "--json"]) == 0
    printed = capsys.readouterr().out
    rows = json.loads(printed)["rows"]
    assert printed.count("\n") == 1 and len(rows) in (len(listed), len(listed) - 1) and rows
    assert names is None or rows[0].keys() == names
    shown = [line.split("\t") for line in listed][-len(rows) :]
    for row, fields in zip(rows, shown, strict=True):
        for value, field in zip(row.values(), fields, strict=True):
            if isinstance(value, float):
                assert float(field) == pytest.approx(value, abs=0.006)
            else:
                assert value is None or field == str(value)


def test_what_was_written_is_said_with_counts(folder, capsys):
    assert main(["segment", "apply", "segment.npylm", "unspaced.txt", "-o", "words.txt", "--json"]) == 0
    printed = capsys.readouterr()
    size = (folder / "words.txt").stat().st_size
    lines = TEXT.count("\n")
    assert json.loads(printed.out) == {"written": [{"file": "words.txt", "bytes": size, "lines": lines}]}
    assert printed.err == f"words.txt: {lines} lines\n"
    assert main(["lm", "export", "lm.ngram", "-o", "lm.arpa.gz"]) == 0
    assert re.fullmatch(r"lm\.arpa\.gz: [\d,]+ lines\n", capsys.readouterr().err)
    assert main(["lm", "import", "lm.arpa.gz", "-o", "copy"]) == 0
    assert re.fullmatch(r"copy: [\d,.]+ (bytes|kB)\n", capsys.readouterr().err)
    assert main(["lm", "sample", "lm.ngram", "-n", "3"]) == 0
    assert capsys.readouterr().err == ""


def test_a_figure_is_svg_or_png_by_its_suffix(folder, capsys, monkeypatch):
    pytest.importorskip("resvg_py")
    for suffix, begin in ("svg", b"<svg"), ("png", b"\x89PNG"):
        assert main(["classes", "draw", "words.brown", "-o", f"tree.{suffix}"]) == 0
        assert (folder / f"tree.{suffix}").read_bytes().startswith(begin)
    assert main(["classes", "draw", "words.brown", "-o", "tree.gif"]) == 2
    assert "its name ends in .svg or .png" in capsys.readouterr().err
    monkeypatch.setitem(__import__("sys").modules, "resvg_py", None)
    assert main(["classes", "draw", "words.brown", "-o", "other.png"]) == 2
    assert "pip install 'corpuscle[png]'" in capsys.readouterr().err and not (folder / "other.png").exists()


def completed(*words: str, incomplete: str) -> list[tuple[str, str]]:
    """What the shell offers for a word after others."""
    complete = ShellComplete(_root(), {}, "corpuscle", "_CORPUSCLE_COMPLETE")
    return [(item.type, item.value) for item in complete.get_completions(list(words), incomplete)]


def test_values_complete_in_the_shell():
    assert completed("lm", "train", "text.txt", "--method", incomplete="hp") == [("plain", "hpy")]
    assert completed("lm", "train", incomplete="te") == [("file", "te")]
    assert completed("lm", "train", "text.txt", "--dev", incomplete="d") == [("file", "d")]
    assert completed("align", "apply", "m", "--symmetrise", incomplete="u") == [("plain", "union")]
    assert completed("align", "apply", "m", "--decode", incomplete="p") == [("plain", "posterior")]
    assert completed("samples", "write", incomplete="k") == [("dir", "k")]
    assert completed("warm", incomplete="tra") == [("plain", "transliterate"), ("plain", "translate")]


def test_every_option_with_words_or_a_file_completes():
    """An option whose value is one of some words says so, with bars between them; others name what they are."""
    without = []
    for path, command in COMMANDS.items():
        context = click.Context(command)
        for param in command.params:
            if isinstance(param, click.Argument | Output) or param.is_flag:
                continue
            words = [word for word in (param.metavar or "").split("|")[-1:] if word.islower()]
            if not all(param.shell_complete(context, word[:1]) for word in words):
                without.append((path, param.name, words))
    assert without == []
