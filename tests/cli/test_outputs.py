"""What a command writes is never what it reads, whatever the command, the option and the name of the file."""

import os

import click
import pytest

from corpuscle.cli.main import _root
from corpuscle.cli.outputs import Output, check_place
from corpuscle.errors import InputError, SettingError


def leaves(command, words=()):
    """All commands of the tree with their words."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from leaves(command.get_command(context, name), (*words, name))
    else:
        yield words, command


WRITING = [
    pytest.param(words, command, each, id=" ".join([*words, each.opts[-1]]))
    for words, command in leaves(_root())
    for each in command.params
    if isinstance(each, Output) and each.form != "folder"
]


def line(words, command, output, source, target):
    """A command line that reads ``source`` wherever it can, and writes ``target`` by the given option."""
    for param in command.params:
        if isinstance(param, click.Argument):
            words = (*words, source)
        elif param is output:
            words = (*words, param.opts[-1], target)
        elif param.required:
            counts = getattr(getattr(param, "setting", None), "type", None) is int
            other = "1" if counts else source
            words = (*words, param.opts[-1], str(source) + ".other" if isinstance(param, Output) else other)
    return words


def test_there_is_something_to_test():
    assert len(WRITING) > 30
    assert {each.values[2].form for each in WRITING} == {"file", "model", "figure", "page", "prefix", "either"}


@pytest.mark.parametrize(("words", "command", "output"), WRITING)
def test_an_output_that_is_an_input_is_refused(run, tmp_path, words, command, output):
    source = tmp_path / ("a.tgt" if output.form == "prefix" else "a.svg")
    source.write_text("dear old text\n")
    os.link(source, tmp_path / "hard.svg")
    os.symlink(source, tmp_path / "soft.svg")
    targets = [tmp_path / "a"] if output.form == "prefix" else [source, tmp_path / "hard.svg", tmp_path / "soft.svg"]
    for target in targets:
        code, out, message = run(*line(words, command, output, source, target))
        assert (code, out) == (2, "") and "would replace" in message and message.count("\n") == 1, message
    assert source.read_text() == "dear old text\n" and len(list(tmp_path.iterdir())) == 3


def test_a_text_in_a_folder_that_is_read_is_an_input(run, tmp_path):
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("dear old text\n")
    code, _, message = run("lm", "train", tmp_path / "texts", "-o", tmp_path / "texts" / "a.txt")
    assert code == 2 and "would replace" in message
    assert (tmp_path / "texts" / "a.txt").read_text() == "dear old text\n"


def test_two_outputs_are_two_files(run, tmp_path):
    (tmp_path / "a.txt").write_text("a b\n")
    place = tmp_path / "m"
    assert "two outputs" in run("lm", "train", tmp_path / "a.txt", "-o", place, "--arpa", place)[2]
    assert not place.exists()


def test_a_figure_is_not_written_under_a_false_name(tmp_path):
    check_place(str(tmp_path / "a.SVG"), "figure")
    with pytest.raises(InputError, match=r"g\.gif: cannot write: .* \.svg or \.png"):
        check_place(str(tmp_path / "g.gif"), "figure")


def test_a_place_where_nothing_can_be_written_is_refused_before_any_work(tmp_path, monkeypatch):
    check_place("-")
    check_place(str(tmp_path / "new"))
    check_place(str(tmp_path / "new"), "model")
    if os.path.exists("/dev/full"):
        check_place("/dev/full", "model")
    for target, reason in [
        (tmp_path, "is a directory"),
        (tmp_path / "none" / "new", "no such folder: .*none"),
        ("a\0b", "a NUL byte"),
    ]:
        with pytest.raises(InputError, match=reason):
            check_place(str(target))
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # as for a user who may not write here
    with pytest.raises(InputError, match="permission denied"):
        check_place(str(tmp_path / "new"))


def test_a_model_does_not_go_to_stdout():
    with pytest.raises(SettingError, match="stdout"):
        check_place("-", "model")


def test_a_word_that_an_option_knows_is_no_file(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("a b c\nb c a\n" * 20)
    for name, options in {"best": ["--start", "best"], "exchange": ["--method", "exchange"]}.items():
        for _ in range(2):  # the second run replaces the model of the first
            code, _, message = run("classes", "train", "text", "-o", name, "--classes", "2", *options)
            assert code == 0, message
