"""English text with the tags and trees of our own tagger and parser, for benches that need trees of raw text.

The parser learns from the training part of EWT, by jackknifed tags, and has its tagger inside. What has been parsed is
kept beside the cells.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.harness import CELLS, source_digest, trained

FILES = CELLS / "files"
SOURCES = ("corpuscle/parse/**/*.py", "corpuscle/tag/**/*.py", "corpuscle/engine/dp/*.py")
ENDS = frozenset(".?!")
LONGEST = 80
AFTER = frozenset(["'", '"', "''", ")", "]"])


def place(tags: str, order: int = 2) -> Path:
    """Where a parser is kept."""
    return FILES / f"english-{tags}{'' if order == 2 else '-first'}-{source_digest(SOURCES)}.model"


def learned(data: Path, tags: str, order: int = 2) -> tuple[Any, float]:
    """A parser from gold or jackknifed tags, and the CPU seconds that it took: learned now, or kept from before."""
    from corpuscle.parse import MstParser
    from corpuscle.text import read_conllu

    bank = read_conllu(data / "ud-english-ewt" / "train.conllu")
    return trained(place(tags, order).stem, lambda: MstParser(tags=tags, order=order, workers=2), bank)


def parser(data: Path) -> Any:
    """The parser with a tagger inside."""
    return learned(data, "jackknife")[0]


def parsed(data: Path, sentences: Iterable[list[str]], name: str) -> Path:
    """A CoNLL-U file of sentences of words with the tags and trees of the parser."""
    from corpuscle.text import Treebank, write_conllu

    bank = Treebank.from_sentences(sentences)
    known = hashlib.sha256(f"{source_digest(SOURCES)} {bank.corpus.signature()}".encode()).hexdigest()[:16]
    path = FILES / f"parsed-{name}-{known}.conllu"
    if not path.exists():
        model = parser(data)
        aside = path.with_suffix(".new")
        write_conllu(model.annotate(model.tagged(bank)), aside)
        aside.replace(path)
    return path


def running_text(data: Path) -> Path:
    """The Brown corpus, WikiText-2 and the text of two treebanks as a CoNLL-U file, sentence by sentence."""
    lines = text(data).read_text(encoding="utf-8").splitlines()
    return parsed(data, (sentence for line in lines for sentence in split(line.split())), "text")


def text(data: Path) -> Path:
    """All running text in one file, in the order of a stride, so that every part of it mixes all."""
    path = FILES / "classes-text.txt"
    if path.exists():
        return path
    from corpuscle.text import read_conllu

    lines = [
        line
        for path in (data / "brown" / "brown.txt", data / "wikitext2" / "train.txt")
        for line in path.read_text(encoding="utf-8").split("\n")
        if line.strip()
    ]
    for bank in banks(data):
        corpus = read_conllu(bank).corpus
        lines += [" ".join("_".join(word.split()) for word in corpus.words(i)) for i in range(len(corpus))]
    FILES.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(line for first in range(97) for line in lines[first::97]) + "\n", encoding="utf-8")
    return path


def banks(data: Path) -> list[Path]:
    """Treebanks of English."""
    return [data / name / "train.conllu" for name in ("ud-english-ewt", "ud-english-gum")]


def split(words: list[str]) -> list[list[str]]:
    """The sentences of a line of words: one ends at a full stop, a question or an exclamation mark that is a word of
    its own, with the quotation marks and brackets that close after it; none is longer than ``LONGEST``.

    >>> split("He said : ' No . ' They left".split())
    [['He', 'said', ':', "'", 'No', '.', "'"], ['They', 'left']]
    """
    found: list[list[str]] = []
    ended = False
    for word in words:
        if not found or (ended and word not in AFTER) or len(found[-1]) == LONGEST:
            found.append([])
        found[-1].append(word)
        ended = word in ENDS or (ended and word in AFTER)
    return found
