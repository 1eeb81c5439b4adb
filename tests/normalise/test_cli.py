"""The commands: from messages to a model and back, and what they refuse."""

import json
import subprocess
import sys

import pytest

from corpuscle.cli.main import main
from tests.schemas import FRACTION, last_line_conforms

FIGURES = ("precision", "recall", "accuracy", "word_accuracy", "f1")
EVALUATE = {f"{name}{edge}": FRACTION for name in FIGURES for edge in ("", "_low", "_high")} | {
    f"{name}{edge}": float for name in ("error_reduction", "word_error_rate") for edge in ("", "_low", "_high")
} | {
    "bleu": FRACTION, "changed": int, "ill_formed": int, "tokens": int, "messages": int, "low": FRACTION,
    "high": FRACTION, "deviation": float, "signature": str, "overlap_training": FRACTION, "overlap_tuning": FRACTION,
    "detection_precision": FRACTION, "detection_recall": FRACTION, "detection_f1": FRACTION, "detection_tokens": int,
}  # fmt: skip
TRAIN = {
    "method": str, "messages": int, "annotated": int, "words": int, "sentences": int, "replacements": int, "slang": int,
    "ngrams": int, "bank": int, "tuned": [str], "seconds": float,
}  # fmt: skip


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kit") / "sample"
    sizes = ["--sentences", "300", "--pairs", "10", "--names", "10", "--notes", "5", "--messages", "120"]
    assert main(["samples", "write", str(folder), *sizes, "-q"]) == 0
    train = ["normalise", "train", str(folder / "gold/noisy.tsv"), "-o", str(folder / "m"), "--min-count", "1", "-q"]
    assert main(train) == 0
    return folder


def test_train_and_evaluate_say_what_their_schemas_say(kit, capsys, tmp_path):
    plain = str(tmp_path / "n")
    command = ["normalise", "train", str(kit / "noisy.txt"), "-o", plain, "--clean", str(kit / "text")]
    assert main([*command, "--min-count", "1", "--json", "-q"]) == 0
    figures = last_line_conforms(capsys.readouterr().out, TRAIN)
    assert figures["annotated"] == 0 and figures["messages"] == 120
    gold = str(kit / "gold/noisy.tsv")
    assert main(["normalise", "evaluate", gold, "--model", str(kit / "m"), "--json", "-q"]) == 0
    learned = last_line_conforms(capsys.readouterr().out, EVALUATE)
    assert main(["normalise", "evaluate", gold, "--model", plain, "--gold-detection", "--json", "-q"]) == 0
    known = last_line_conforms(capsys.readouterr().out, EVALUATE)
    assert learned["f1"] > 0.8 and learned["overlap_training"] == 1.0
    assert known["ill_formed"] == learned["ill_formed"] >= known["changed"]


def test_apply_keeps_lines_and_explains(kit, capsys, tmp_path):
    messages = tmp_path / "in.txt"
    messages.write_text("\n" + (kit / "noisy.txt").read_text("utf-8") + "\n@me :) http://a.b\n", "utf-8")
    out = tmp_path / "out.txt"
    assert main(["normalise", "apply", str(kit / "m"), str(messages), "-o", str(out), "-q"]) == 0
    lines = out.read_text("utf-8").split("\n")
    assert len(lines) == len(messages.read_text("utf-8").split("\n"))
    assert lines[0] == "" and lines[-2] == "@me :) http://a.b"
    assert main(["normalise", "apply", str(kit / "m"), str(messages), "--explain"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["text"] for row in rows] == lines[:-1]
    change = next(row["changes"][0] for row in rows if row["changes"])
    assert change["typed"] != change["form"] and change["candidates"][0]["form"].lower() == change["form"].lower()


def test_raw_messages_are_split(kit, tmp_path, capsys):
    message = tmp_path / "in.txt"
    message.write_text("(@me,)\n", "utf-8")
    assert main(["normalise", "apply", str(kit / "m"), str(message), "--raw"]) == 0
    assert capsys.readouterr().out == "( @me , )\n"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("train {kit}/noisy.txt -o x --words {empty}", "empty.tsv: the word list is empty"),
        ("train {kit}/noisy.txt -o x --slang {empty}", "empty.tsv: the dictionary is empty"),
        ("train {kit}/noisy.txt -o x --slang {bad}", "bad.tsv:2:"),
        ("train {kit}/noisy.txt -o x --words {three}", "three.txt:1: needs one word"),
        ("train {empty} -o x", "empty.tsv"),
        ("train {kit}/gold/noisy.tsv -o x --combine sum", "mean nothing with combine sum"),
        ("train {kit}/gold/noisy.tsv -o x --detect", "detect means nothing with annotated messages"),
        ("train {kit}/noisy.txt -o x --clean {kit}/text --parsed {bad}", "bad.tsv:1:"),
        ("train {kit}/noisy.txt -o x --clean {kit}/text --dev {uneven}", "uneven.jsonl:1: 2 tokens typed, but 1"),
        ("evaluate {uneven} --model {kit}/m", "uneven.jsonl:1: 2 tokens typed, but 1"),
        ("evaluate {empty} --model {kit}/m", "empty.tsv"),
        ("apply {kit}/text {kit}/noisy.txt", "text"),
    ],
)
def test_what_is_refused(kit, capsys, tmp_path, monkeypatch, words, reason):
    contents = {
        "empty.tsv": "", "bad.tsv": "u\tyou\nur your\n", "three.txt": "a b c\n",
        "uneven.jsonl": '{"input": ["a", "b"], "output": ["a"]}\n',
    }  # fmt: skip
    for name, content in contents.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    paths = {name.partition(".")[0]: tmp_path / name for name in contents}
    assert main(["normalise", *words.format(kit=kit, **paths).split()]) == 2
    said = capsys.readouterr().err
    assert reason in said and said.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(contents)


def test_dev_chooses_the_confidence_and_is_remembered(kit, capsys, tmp_path):
    gold, out = str(kit / "gold/noisy.tsv"), str(tmp_path / "n")
    train = ["normalise", "train", str(kit / "noisy.txt"), "--clean", str(kit / "text"), "-o", out, "--dev", gold]
    assert main([*train, "--min-count", "1", "--parsed", str(kit / "tagged.conllu"), "--json", "-q"]) == 0
    figures = last_line_conforms(capsys.readouterr().out, TRAIN)
    assert figures["tuned"] == ["min_confidence"] and figures["bank"] > 0
    assert main(["normalise", "evaluate", gold, "--model", out, "--json", "-q"]) == 0
    tuned = last_line_conforms(capsys.readouterr().out, EVALUATE)
    assert main([*train, "--min-count", "1", "--min-confidence", "0", "--json", "-q"]) == 0
    assert last_line_conforms(capsys.readouterr().out, TRAIN)["tuned"] == []
    assert main(["normalise", "evaluate", gold, "--model", out, "--json", "-q"]) == 0
    plain = last_line_conforms(capsys.readouterr().out, EVALUATE)
    assert tuned["overlap_tuning"] == 1.0 and tuned["f1"] >= plain["f1"]


def test_what_is_piped_in_is_answered_before_its_end(kit):
    command = [sys.executable, "-m", "corpuscle", "normalise", "apply", str(kit / "m"), "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        for line in ("@me one\n", "\n", "@me two\n"):
            process.stdin.write(line)
            process.stdin.flush()
            assert process.stdout.readline().startswith(line[:3])
        process.stdin.close()
        assert process.wait() == 0


def test_a_message_of_100000_letters_and_one_of_as_many_tokens(kit, tmp_path):
    message = tmp_path / "long.txt"
    message.write_text("x" * 100_000 + "\n" + "to " * 30_000 + "\n", "utf-8")
    out = tmp_path / "out.txt"
    assert main(["normalise", "apply", str(kit / "m"), str(message), "-o", str(out), "-q"]) == 0
    assert len(out.read_text("utf-8").splitlines()) == 2
