"""Other packages add a method, a tagger, a format of text and a metric, in at most three files each and without an edit
of ours: they are installed as pip would do it, and used through the command line and from Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiny_models import TREES

METHOD = {
    "addk/__init__.py": """
from corpuscle.catalogue import Method
from corpuscle.settings import Parallel, setting
from corpuscle.text.settings import TextSettings


class AddKSettings(TextSettings, Parallel):
    k: float = setting("What is added to every count.", default=1.0, above=0.0)


METHOD = Method("addk:AddKSettings", "addk.model:AddK", "words alone, k added", kinds={"addk.model": "addk.model:AddK"})
""",
    "addk/model.py": """
from typing import ClassVar

import numpy as np

from addk import AddKSettings
from corpuscle.lm import Events, LanguageModel
from corpuscle.model import VOCAB, Array, Arrays, Kind, Record
from corpuscle.text import Vocab
from corpuscle.text.vocab import END, FIRST, START, UNKNOWN


class AddK(AddKSettings, LanguageModel):
    KIND: ClassVar = Kind("addk.model", 1, {**VOCAB, "probability": Array("float64", ("types+3",), low=0, finite=True)})
    SAVED: ClassVar = {"vocab_": Record(Vocab), "probability_": Arrays("probability")}
    boundary, order_ = "single", 1

    def fit(self, corpus):
        corpus = corpus.counted()
        self.vocab_ = corpus.vocab
        counts = corpus.vocab.counts + self.k
        counts[START], counts[END] = 0.0, len(corpus) + self.k
        self.probability_ = counts / counts.sum()
        self.provenance_ = {"sentences": len(corpus), "words": corpus.n_tokens}
        return self

    def _distribution(self, context):
        return self.probability_.copy()

    def _events(self, corpus):
        ends = corpus.sentence_starts[1:]
        tokens = np.insert(corpus.tokens, ends, END)
        starts = corpus.sentence_starts + np.arange(len(corpus) + 1)
        return Events(np.log(self.probability_[tokens]), tokens == UNKNOWN, starts)
""",
}
TAGGER = {
    "majority/__init__.py": """
from corpuscle.catalogue import Method
from corpuscle.settings import Parallel, setting


class MajoritySettings(Parallel):
    unseen: str = setting("The tag of words that were not seen.", default="NOUN")


METHOD = Method(
    "majority:MajoritySettings", "majority.tagger:Majority", "its most frequent tag for each word",
    kinds={"majority.tagger": "majority.tagger:Majority"},
)
""",
    "majority/tagger.py": """
from collections import Counter
from typing import ClassVar

import numpy as np

from corpuscle.model import Array, Arrays, Kind, Record, vocab_arrays
from corpuscle.tag import Tagging, WordTagger
from corpuscle.text import Vocab
from majority import MajoritySettings

ARRAYS = {**vocab_arrays("words/", "words"), **vocab_arrays(), "best": Array("int32", ("words",), low=0, high="types")}


class Majority(MajoritySettings, WordTagger):
    KIND: ClassVar = Kind("majority.tagger", 1, ARRAYS)
    SAVED: ClassVar = {"words_": Record(Vocab, "words/"), "labels_": Record(Vocab), "best_": Arrays("best")}
    layers_ = ("tags",)

    def fit(self, bank):
        counts = Counter(zip((word for words in bank.corpus for word in words), bank.tags.strings()))
        best = {}
        for (word, tag), _ in counts.most_common():
            best.setdefault(word, tag)
        labels = sorted({*best.values(), self.unseen})
        self.words_, self.labels_ = Vocab.from_words(list(best)), Vocab.from_words(labels)
        self.best_ = np.array([labels.index(tag) for tag in best.values()], np.int32)
        self.provenance_ = {"sentences": len(bank), "labels": len(labels)}
        return self

    def tag(self, bank, *, confidence=False):
        ids = self.words_.encode([word for words in bank.corpus for word in words]) - 3
        unseen = self.labels_.encode([self.unseen])[0] - 3
        found = np.where(ids >= 0, self.best_[ids], unseen).astype(np.int32)
        return Tagging(found, np.ones(len(found)) if confidence else np.zeros(0))

    def known(self, bank):
        return self.words_.encode([word for words in bank.corpus for word in words]) >= 3
""",
}
FORMAT = {
    "subtitles.py": """
import re

from corpuscle.text.formats import Format

FORMAT = Format("subtitles", (".srt",), "subtitles:read", "the lines that are said in a film")


def read(path):
    with open(path, encoding="utf-8") as file:
        return [line for line in file.read().splitlines() if line and not re.fullmatch(r"[0-9]+|.* --> .*", line)]
""",
}
METRIC = {
    "nouns.py": """
from corpuscle.measure import accuracy


def recall(gold, found):
    nouns = [tag == "NOUN" for tag in gold.tags.strings()]
    right = [a == b and noun for a, b, noun in zip(gold.tags.strings(), found.tags.strings(), nouns)]
    return accuracy(right, nouns)
""",
}


def install(folder: Path, name: str, files: dict[str, str], group: str, point: str, place: str) -> None:
    """What pip leaves behind when it installs a package with one entry point."""
    for path, text in files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[corpuscle.{group}]\n{point} = {place}\n")
    assert len(files) + 1 <= 3  # and its pyproject.toml


@pytest.fixture
def run(tmp_path):
    """A Python process that has the packages of a folder installed."""

    def run(*arguments: str, code: int = 0) -> str:
        path = os.pathsep.join([str(tmp_path / "site"), *filter(None, [os.environ.get("PYTHONPATH")])])
        done = subprocess.run(
            [sys.executable, *arguments], env=os.environ | {"PYTHONPATH": path}, cwd=tmp_path, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    (tmp_path / "site").mkdir()
    (tmp_path / "text.txt").write_text("the cat sees the dog\na bird sings\n" * 20)
    return run


def test_a_language_model_of_another_package_learns_scores_suggests_and_loads(run, tmp_path):
    install(tmp_path / "site", "addk", METHOD, "methods", "lm.addk", "addk:METHOD")
    help = " ".join(run("-m", "corpuscle", "lm", "train", "--help").split())
    assert "addk: words alone, k added" in help and "-k X What is added to every count. [default: 1.0]" in help
    trained = run("-m", "corpuscle", "lm", "train", "text.txt", "-o", "m", "--method", "addk", "-k", "0.5", "--json")
    assert json.loads(trained)["method"] == "addk" and json.loads(trained)["types"] == 7
    # 160 words and 40 ends; "the" 40 times; 7 words, the end and the unknown word get one half more.
    [best, *_] = run("-m", "corpuscle", "lm", "next", "m", "the", "-k", "2").splitlines()[-2:]
    expected = 40.5 / (200 + 9 * 0.5)
    k, probability = run(
        "-c", "import corpuscle; m = corpuscle.load('m'); print(m.k, dict(m.next_words('the', 9))['the'])"
    ).split()
    assert float(k) == 0.5 and float(probability) == pytest.approx(expected) and best
    assert json.loads(run("-m", "corpuscle", "lm", "perplexity", "m", "text.txt", "--json"))["tokens"] == 200
    assert "'addk'" in run("-m", "corpuscle", "lm", "train", "text.txt", "-o", "m", "--method", "none", code=2)


def test_a_tagger_of_another_package_learns_tags_and_is_evaluated(run, tmp_path):
    (tmp_path / "gold.conllu").write_text(TREES)
    install(tmp_path / "site", "majority", TAGGER, "methods", "tag.majority", "majority:METHOD")
    train = ("-m", "corpuscle", "tag", "train", "gold.conllu", "-o", "m", "--method", "majority")
    assert json.loads(run(*train, "--unseen", "VERB", "--json"))["method"] == "majority"
    (tmp_path / "new.txt").write_text("zyx\n")
    assert run("-m", "corpuscle", "tag", "apply", "m", "new.txt").split("\t")[3] == "VERB"
    found = json.loads(run("-m", "corpuscle", "tag", "evaluate", "gold.conllu", "--model", "m", "--json"))
    assert found["upos"] == 1.0
    assert "--dev means nothing with this method" in run(*train, "--dev", "gold.conllu", code=2)
    code = """
from corpuscle.tag import jackknife
from corpuscle.text import read_conllu
from majority.tagger import Majority
bank = read_conllu("gold.conllu")
print(len(jackknife(Majority(), bank, 2)) == len(bank) > 1)
"""
    assert run("-c", code) == "True\n"


def test_a_text_in_a_format_of_another_package_is_read_wherever_texts_are(run, tmp_path):
    film = "1\n00:01 --> 00:02\nthe cat sees\nthe dog\n\n2\n00:03 --> 00:04\na bird sings\n"
    (tmp_path / "film.srt").write_text(film)
    bare = run("-m", "corpuscle", "text", "stats", "film.srt", "--json")
    install(tmp_path / "site", "subtitles", FORMAT, "formats", "subtitles", "subtitles:FORMAT")
    found = json.loads(run("-m", "corpuscle", "text", "stats", "film.srt", "--json"))
    assert json.loads(bare)["words"] == 16 and found["words"] == 8 and found["sentences"] == 3
    run("-m", "corpuscle", "lm", "train", "film.srt", "-o", "m")
    (tmp_path / "kit" / "text").mkdir(parents=True)
    (tmp_path / "film.srt").rename(tmp_path / "kit" / "text" / "film.srt")
    checked = run("-m", "corpuscle", "learn", "kit", "--check")
    assert "text/film.srt  text" in checked and "text of a .srt file" in checked


def test_a_metric_of_another_package_is_a_line_of_evaluate(run, tmp_path):
    (tmp_path / "gold.conllu").write_text(TREES)
    install(tmp_path / "site", "nouns", METRIC, "metrics", "tag.nouns", "nouns:recall")
    found = json.loads(run("-m", "corpuscle", "tag", "evaluate", "gold.conllu", "gold.conllu", "--json"))
    assert found["nouns"]["accuracy"] == 1.0


def test_an_extension_that_cannot_be_loaded_is_said_and_stops_nothing(run, tmp_path):
    install(tmp_path / "site", "broken", {"broken.py": "1 / 0\n"}, "methods", "lm.broken", "broken:METHOD")
    assert "kn" in run("-m", "corpuscle", "lm", "train", "--help")
    found = run("-m", "corpuscle", "lm", "train", "nothing.txt", "-o", "m", code=2)
    assert "broken:METHOD of an installed package cannot be used: division by zero" in found
