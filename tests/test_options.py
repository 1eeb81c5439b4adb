"""Claims about options: what a command takes changes what comes of it, or is refused."""

import re
import shutil
import unicodedata
from collections.abc import Iterator
from contextlib import chdir
from functools import cache
from pathlib import Path

import pytest

from bench import record
from corpuscle.catalogue import TASKS, find
from corpuscle.cli.main import main
from corpuscle.settings import Setting
from corpuscle.verbs import verbs_of
from tests import tiny_models

SAMPLE = "samples write sample --seed 1 --sentences 400 --pairs 120 --names 100 --notes 20 --messages 40"
FOLLOWING = 3
"""A setting of a training that changes no array may be one of applying: so many commands with it are asked."""

VALUES = {
    "discounts": ("0.6",), "prune": ("0,1,2",), "powers": ("0.5,0.2",), "ranks": ("20,2",), "numbers": ("1,2",),
    "rates": ("0.1",), "strengths": ("10,20",), "joiner": ("-",), "at": ("1,2",), "target": ("abc",),
    "tokenise": ("simple",), "elements": ("lemma,pos",), "letters": ("a",), "also": ("fa",), "keep": ("noisy",),
    "columns": ("pos",), "prune_below": ("0.4",), "label": ("B-DRUG",), "languages": ("x,y",), "language": ("x",),
}  # fmt: skip
"""What is given for settings of which the declaration says too little."""


def others(setting: Setting) -> tuple[str, ...]:
    """Values of a setting that is no switch, as they are typed."""
    if setting.type is bool:
        return ()
    if setting.name in VALUES and not setting.choices:
        return VALUES[setting.name]
    if setting.choices:
        return tuple(map(str, setting.choices))
    whole = setting.type is int
    start = setting.default if isinstance(setting.default, int | float) else setting.low or (2 if whole else 0.5)
    least = setting.low if setting.low is not None else setting.above
    tried = [start * 2, *([] if least is None else [least]), start / 2, start + 1, start * 10, 0.25]
    found = dict.fromkeys(int(each) if whole else float(each) for each in tried)
    found.pop(setting.default, None)
    return (*map(str, filter(lambda each: allowed(setting, each), found)), *setting.words)


def allowed(setting: Setting, value: float) -> bool:
    try:
        setting.checked((value,) if setting.items else value)
    except ValueError:
        return False
    return True


def typed(setting: Setting, value: str | None) -> list[str]:
    if value is None:
        return [setting.option if not setting.default else "--no-" + setting.name.replace("_", "-")]
    return [setting.option, value]


def roughened(line: str) -> str:
    """A line with accents of their own and a full stop that touches its word, for settings that read text."""
    return unicodedata.normalize("NFD", line.rstrip("\n")) + ".\n"


@cache
def inputs(folder: Path) -> Path:
    folder.mkdir()
    with chdir(folder):
        record.make_inputs(SAMPLE, 100)
        held_out = Path("sample/gold/held-out.txt").read_text("utf-8").splitlines(True)
        Path("dev.txt").write_text("".join(held_out[::2]), "utf-8")  # so few that the usual cut leaves none to test
        Path("test.txt").write_text("".join(held_out[1::2]), "utf-8")
        texts = [*Path().glob("*.txt"), *Path("documents").iterdir(), *Path().glob("old.*"), Path("items.tsv")]
        for path in texts:
            if path.name not in ("questions.txt", "names.txt", "unspaced.txt", "kana.txt"):
                lines = enumerate(path.read_text("utf-8").splitlines(True))
                path.write_text("".join(roughened(line) if n % 3 == 1 else line for n, line in lines), "utf-8")
        with Path("text.txt").open("a", encoding="utf-8") as file:
            file.write("<unk> <unk> <unk>\n")
    return folder


class Survey:
    """The commands of a group of the record, run as they are, then with one setting more each."""

    def __init__(self, group: str, labels: int | None = None):
        lines = list(record.commands()[group].items())[:labels]
        self.commands = {
            label: words if "--json" in words or words[1] != "train" else [*words, "--json"] for label, words in lines
        }
        self.plain = {label: record.results(words) for label, words in self.commands.items()}
        self.files = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
        self.found: dict[str, list[tuple[str, str, str]]] = {}

    def declared(self, label: str) -> dict[str, Setting]:
        """Key -> declaration, of all settings that a command takes and that may change its results."""
        words = self.commands[label]
        task, name = words[:2]
        verb = verbs_of(task)[name.replace("-", "_")]
        method = ""
        if verb.methods:
            usual = self.plain[label]["json"].get("method", verb.methods[0])
            method = words[words.index("--method") + 1] if "--method" in words else usual
        settings = {n: each for n, each in verb.parameters.items() if isinstance(each, Setting)}
        settings |= verb.own_settings
        settings |= find(TASKS[task].methods[method].settings).SETTINGS if method else {}
        return {f"{task} {name} {method + ' ' if method else ''}{n}": s for n, s in settings.items() if not s.runtime}

    @staticmethod
    def variants(setting: Setting, words: list[str]) -> Iterator[tuple[str, list[str]]]:
        """The command with the setting at other values than it has, three at most: value, words."""
        if setting.type is bool:
            switched = typed(setting, None)
            line = [word for word in words if word not in switched] if switched[0] in words else [*words, *switched]
            yield " ".join(switched), line
            return
        given = words[words.index(setting.option) + 1] if setting.option in words else str(setting.default)
        tried = [value for value in others(setting) if value != given]
        for value in tried[: max(3, len(setting.choices))]:
            yield value, [*words, setting.option, value]
        if not tried and setting.option in words:
            at = words.index(setting.option)
            yield "none", [*words[:at], *words[at + 2 :]]

    def changed(self, name: str, label: str, words: list[str], *, following: bool = True) -> str:
        """What comes of a command with other words: ``differs``, ``same``, or what it says when it fails."""
        before = record.files()
        try:
            new, old = record.results(words), self.plain[label]
            if "failed" in new:
                return new["failed"]
            for each in (new, old):  # a setting among the figures says what was asked for, not what came of it
                if not isinstance(each.get("json", {}).get(name), list | dict):
                    each.get("json", {}).pop(name, None)
            if new != old:
                return "differs"
            if following and "-o" in words:
                model = words[words.index("-o") + 1]
                using = [each for each, line in self.commands.items() if model in line and each != label]
                for each in using[:FOLLOWING]:
                    if self.changed(name, each, self.commands[each], following=False) != "same":
                        return "differs"
            return "same"
        finally:
            if following:
                for path, written in record.files().items():
                    if before.get(path) != written:
                        if path in self.files:
                            path.write_bytes(self.files[path])
                        else:
                            path.unlink()

    def run(self) -> None:
        for label, words in self.commands.items():
            if "failed" in self.plain[label] or words[0] not in TASKS:
                continue
            for key, setting in self.declared(label).items():
                tries = self.found.setdefault(key, [])
                if any(outcome == "differs" for _, _, outcome in tries):
                    continue
                for value, line in self.variants(setting, words):
                    outcome = self.changed(setting.name, label, line)
                    tries.append((label, value, outcome))
                    if outcome == "differs":
                        break

    def ignored(self) -> dict[str, list[tuple[str, str, str]]]:
        """What was taken every time and changed nothing, and what broke a command."""
        return {
            key: tries for key, tries in self.found.items()
            if all(said == "same" for _, _, said in tries) or any("internal error" in said for _, _, said in tries)
        }  # fmt: skip


BECAUSE = {
    "no note has a line end within a sentence": ("entities train (crf|dictionary) line_breaks",),
    "few notes have mentions with gaps": ("entities train crf gaps",),
    "nothing in the text is called so": ("lm train .* allow_markup", "normalise train ranker letters"),
    "few messages have few states": ("normalise train ranker beam",),
    "there is nothing to tokenise": ("normalise corrupt raw", ".* (perplexity|score) raw"),
    "the text has no spaces": ("segment (apply|next|posterior) spaces",),
    "no line of annotation is wrong": ("entities train .* skip_faulty",),
    "no mention touches two": ("entities evaluate one_to_one",),
    "the text without spaces is in NFC": ("segment train (unigram|bigram) nfc",),
    "there is one class whose words have one order": ("classes show by",),
}
"""Settings that change nothing here, by why; patterns of ``task verb method setting``."""


def surveyed(group: str, folder: Path, inputs_of: Path) -> dict[str, list[tuple[str, str, str]]]:
    """What is ignored of the settings of a group without a reason."""
    shutil.copytree(inputs(inputs_of), folder, dirs_exist_ok=True)
    with chdir(folder):
        survey = Survey(group)
        survey.run()
    assert survey.found
    known = [pattern for patterns in BECAUSE.values() for pattern in patterns]
    return {key: tries for key, tries in survey.ignored().items() if not any(re.fullmatch(p, key) for p in known)}


def test_no_option_of_word_classes_is_taken_and_ignored(tmp_path):
    assert surveyed("classes", tmp_path / "classes", tmp_path / "inputs") == {}


GROUPS = ("tag", "lm", "segment", "normalise", "entities")


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_no_option_is_taken_and_ignored(group, tmp_path):
    assert surveyed(group, tmp_path / group, tmp_path / "inputs") == {}


REFUSED = """
align apply align.hmm.model SOURCE TARGET --all OUT --symmetrise union
align apply align.hmm.model SOURCE TARGET --threshold 0.3
align train SOURCE TARGET -o OUT --method hmm --no-bayes --alpha 0.1
classes train TEXT -o OUT --classes 2 --layer lemma
classes train TEXT -o OUT --classes 2 --seed 3
entities train NOTES.jsonl -o OUT --columns word,label
entities train NOTES.jsonl -o OUT --method dictionary --source name
entities train NOTES.jsonl -o OUT --skip-faulty
grammar evaluate BRACKETS.mrg BRACKETS.mrg --tags gold
grammar train BRACKETS.mrg -o OUT --iterations 3
lm train TEXT -o OUT --method cache --seed 2
lm train TEXT -o OUT --seed 2
normalise train MESSAGES.tsv -o OUT --min-count 1 --decode token --beam 8
normalise train MESSAGES.tsv -o OUT --min-count 1 --expand 0.1
normalise train MESSAGES.tsv -o OUT --min-count 1 --keep 0.5
normalise train MESSAGES.tsv -o OUT --min-count 1 --positives 2
parse evaluate TREES.conllu TREES.conllu --tags predict
""".strip().splitlines()


@pytest.mark.parametrize("command", REFUSED)
def test_an_option_that_means_nothing_here_is_refused(command, tmp_path, capsys):
    for name in ("BRACKETS.mrg", "MESSAGES.tsv", "NOTES.jsonl", "SOURCE", "TARGET", "TEXT", "TREES.conllu"):
        (tmp_path / name).write_text(getattr(tiny_models, name.partition(".")[0]), "utf-8")
    words = [str(tiny_models.FOLDER / word) if word.endswith(".model") else word for word in command.split()]
    with chdir(tmp_path):
        assert main([*words, "--quiet"]) == 2
    said = capsys.readouterr().err
    assert re.search(r"error: .*mean(s|) nothing", said) and said.count("\n") == 1
    assert not list(tmp_path.glob("OUT*"))
