"""Parsers projected from English through text that our own tagger, parser and aligner have prepared.

The English side is tagged and parsed by the parser of ``bench/english.py``, the links are those of our aligner, learned
from the same pairs. The target words have the tags of our tagger, which learned from a treebank of that language, or
none: then 200 word classes of the target side stand for tags. Judged on the development part of PUD (number mod 5 = 4)
with the words prepared as the text has them: in lower case, French of the Hansards without accents, Chinese in
simplified characters (by OpenCC, ``pip install opencc-python-reimplemented``), and with tags of the same tagger.

The texts have 29,000 to 100,000 pairs. Every so many pairs are taken, so that there are 28,000, and again so that there
are 8,000, of which smaller amounts are the first ones; each amount has an aligner, classes and a parser of its own.
Rows of methods have 2,000 pairs and the tags of the tagger.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench import english
from bench.harness import Call, Cell, Claim, joined, row
from bench.parse_project import PASSES, TREEBANKS, _aligned, _halves, _pud

TEXTS = {
    "fr, captions": ("multi30k/train.en", "multi30k/train.fr"),
    "fr, Hansards": ("align-fr-en/train.en", "align-fr-en/train.fr"),
    "de, captions": ("multi30k/train.en", "multi30k/train.de"),
    "de, Tatoeba": ("tatoeba/en-de.tsv",),
    "cs, captions": ("multi30k/train.en", "multi30k/train.cs"),
    "zh, Tatoeba and captions": ("align-zh-en/train.en", "align-zh-en/train.zh"),
}
AMOUNTS, MOST = (500, 2000, 8000), 28000
MIDDLE = AMOUNTS[1]
WAYS: dict[str, dict[str, Any]] = {
    "direct": {"method": "direct"}, "direct, coverage 0.8": {"method": "direct", "coverage": 0.8},
    "tree": {"method": "tree"}, "tree, coverage 0.8": {"method": "tree", "coverage": 0.8},
    "b 0.65": {"threshold": 0.65}, "b 0.95": {"threshold": 0.95}, "r 1": {"ratio": 1.0},
}  # fmt: skip
CLASSES, HARD, TAGGER = ", classes", "1-best links", "UPOS of the tagger"
SOURCES = (*english.SOURCES, "corpuscle/align/*.py")


def cells(data: Path) -> Iterator[Cell]:
    """A cell for each text, then one for more of each."""
    for name, more in (*((name, {}) for name in TEXTS), *((name, {"amounts": [MOST]}) for name in TEXTS)):
        language = name[:2]
        if language == "zh" and importlib.util.find_spec("opencc") is None:
            continue
        files = tuple(data / text for text in TEXTS[name])
        inputs = (*files, _pud(data, language), data / f"ud-{TREEBANKS[language]}" / "train.conllu")
        side, cell = (f"{MOST:,} pairs", f"{name}, more") if more else ("projected", name)
        call = Call(side, "bench.parse_text:job", {"data": str(data), "name": name, **more})
        yield Cell(cell, name, (call,), inputs=inputs, repeats=1, warm_up=False, sources=SOURCES)


def _words(line: str) -> list[str]:
    """The words of a line of running text.

    >>> _words("Geh's dir gut, Tom?")
    ["Geh's", 'dir', 'gut', ',', 'Tom', '?']
    """
    import re

    return re.findall(r"\w+(?:['’-]\w+)*|[^\w\s]", line)


def _read(data: Path, name: str, most: int) -> tuple[list[list[str]], list[list[str]]]:
    """So many pairs of a text, at equal distances, in lower case."""
    texts = [(data / text).read_text(encoding="utf-8").splitlines() for text in TEXTS[name]]
    if len(texts) == 1:
        pairs = [[_words(side) for side in line.split("\t")[:2]] for line in texts[0]]
    else:
        pairs = [[line.split() for line in both] for both in zip(*texts, strict=True)]
    pairs = [pair for pair in pairs if len(pair) == 2 and all(0 < len(side) <= 60 for side in pair)]
    # short sentences stand first in some of the texts
    most = min(most, len(pairs))
    chosen = [pairs[i * len(pairs) // most] for i in range(most)]
    order = [pair for first in range(20) for pair in chosen[first::20]]
    lower = [[[word.lower() for word in side] for side in pair] for pair in order]
    return [pair[0] for pair in lower], [pair[1] for pair in lower]


def _spelled(bank: Any, name: str) -> Any:
    """A treebank with its words as the text has them."""
    import unicodedata

    from corpuscle.text import Treebank

    def prepared(word: str) -> str:
        word = word.lower()
        if name == "fr, Hansards":
            word = "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
        return convert(word)

    convert: Any = str
    if name.startswith("zh"):
        import opencc

        convert = opencc.OpenCC("t2s").convert
    sentences = range(len(bank))
    starts, tags, names = bank.corpus.sentence_starts.tolist(), bank.tags.strings(), bank.relations.strings()
    return Treebank.from_sentences(
        [[prepared(word) for word in bank.corpus.words(i)] for i in sentences],
        heads=[bank.sentence_heads(i).tolist() for i in sentences],
        tags=[tags[starts[i] : starts[i + 1]] for i in sentences],
        relations=[names[starts[i] : starts[i + 1]] for i in sentences],
    )


def job(timer: Any, data: str, name: str, amounts: Sequence[int] = AMOUNTS) -> dict[str, Any]:
    """UAS on the development sentences by amount, tags, method and kind of links, with the right words of each."""
    import numpy as np

    from corpuscle.parse import ProjectedParser, Projection
    from corpuscle.tag import Tagger
    from corpuscle.text import Treebank, read_conllu

    folder, language = Path(data), name[:2]
    one, other = _read(folder, name, amounts[-1])
    source = read_conllu(english.parsed(folder, one, f"project-{name.replace(',', '').replace(' ', '-')}"))
    dev = _spelled(_halves(str(_pud(folder, "en")), str(_pud(folder, language)))[2], name)
    bank = _spelled(read_conllu(folder / f"ud-{TREEBANKS[language]}" / "train.conllu"), name)
    tagger = Tagger(workers=1).fit(bank)
    target = tagger.annotate(Treebank.from_sentences(other))
    bare, seen = dev.without("tags"), tagger.annotate(dev.without("tags"))
    figures: dict[str, Any] = {"words": dev.corpus.lengths.astype(float).tolist()}
    right = sum(a == b for a, b in zip(seen.tags.strings(), dev.tags.strings(), strict=True))
    figures[TAGGER] = 100 * right / len(dev.heads)

    def judge(name: str, given: Any, bank: Any, **settings: Any) -> None:
        parser = ProjectedParser(passes=PASSES, workers=1, **settings).fit(given)
        right = (parser.parse(bank).heads == bank.heads).astype(float)
        figures[name] = 100 * right.mean()
        figures[f"right, {name}"] = np.add.reduceat(right, bank.corpus.sentence_starts[:-1]).tolist()

    with timer:
        for amount in amounts:
            pair = source[:amount], target[:amount]
            matrix, links = _aligned(*pair)
            given = Projection(*pair, matrix)
            judge(f"{amount:,} pairs", given, seen)
            untagged = given._replace(target=pair[1].without("tags"))
            judge(f"{amount:,} pairs{CLASSES}", untagged, bare, tag_layer="classes")
            if amount == MIDDLE:
                for way, settings in WAYS.items():
                    judge(way, given, seen, **settings)
                judge(HARD, given._replace(links=links), seen)
    return figures


def claims(results: dict[str, Any]) -> list[Claim]:
    """What more text, single pairs and matrices bring, by paired bootstrap over sentences."""
    from corpuscle.measure import paired_bootstrap

    few, some, many, most = (f"{amount:,} pairs" for amount in (*AMOUNTS, MOST))
    texts, found = _of(results, "curves"), []
    for name in TEXTS:
        curves = texts.get(name, {})
        for text, better, other in (
            (f"{many} over {few}", many, few), (f"{most} over {many}", most, many),
            ("instances of pairs over whole trees", some, "tree"), ("matrices over 1-best links", some, HARD),
        ):  # fmt: skip
            claim, sides = Claim(f"{name}: UAS of {text}", "above 0"), [f"right, {way}" for way in (better, other)]
            if all(side in curves for side in sides):
                one, two = (curves[side] for side in sides)
                claim = claim.told(paired_bootstrap(one, two, curves["words"], items="sentences"))
            found.append(claim)
    return found


def _of(results: dict[str, Any], what: str) -> dict[str, dict[str, Any]]:
    """Figures or curves of each text, of all amounts."""
    return {
        each["title"]: {name: value for runs in each["runs"].values() for name, value in runs[0][what].items()}
        for each in joined(results)
    }


def tables(results: dict[str, Any]) -> list[str]:
    """All texts side by side: amounts first, then methods."""
    texts = _of(results, "figures")
    amounts = [f"{amount:,} pairs{tags}" for tags in ("", CLASSES) for amount in (*AMOUNTS, MOST)]
    lines = [row(["UAS", *texts]), row(["---"] + ["---:"] * len(texts))]
    for name in (TAGGER, *amounts, *WAYS, HARD):
        lines.append(row([name, *(f"{each[name]:.1f}" if name in each else "" for each in texts.values())]))
    spent = [sum(runs[0]["cpu"] for runs in each["runs"].values()) for each in joined(results)]
    return ["\n".join([*lines, row(["CPU s, all rows", *(f"{seconds:.0f}" for seconds in spent)]), ""])]


def notes(results: dict[str, Any]) -> str:
    """How to read the table."""
    return "\n\n".join(" ".join(part.split()) for part in (__doc__ or "").split("\n\n")[1:]) + (
        f" {PASSES} steps of L-BFGS. Sentences of PUD are long and of news, those of the texts are short: captions, "
        "conversation, speeches."
    )
