"""Learning curves of parsers with few trees: what classes and vectors of raw text bring, LAS on development trees.

Training sentences are drawn at random, three times for each amount, with UPOS as their only tags, as a young treebank
has them; figures are means over the draws, and a smaller amount is a part of a larger one. *Gold tags*: parsers learn
from and read those of the files. *Predicted tags*: a tagger learns from the same few sentences, with the same classes
as features, the parser from jackknifed tags, and the development sentences have the tags of the tagger. First order,
other settings by default; judged on at most 400 development sentences, at equal distances. The raw text is captions
(multi30k) and short sentences (tatoeba11, tatoeba), lower-cased: 500 Brown classes of the words that occur ten times,
and clusters of vectors (PPMI, 50 dimensions).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harness import CELLS, Call, Cell, Claim, row
from bench.parse import _known

TREEBANKS = {"de": "german-gsd", "cs": "czech-fictree", "fr": "french-sequoia", "fi": "finnish-tdt"}
AMOUNTS: dict[str, tuple[int, ...]] = {"gold": (50, 100, 200, 500), "jackknife": (50, 100, 200)}
"""Trees to learn from; with predicted tags a parser takes eleven taggers, too."""
DRAWS, JUDGED = 3, 400
PLAIN, CLASSES, BOTH = "forms and tags", "+ classes", "+ classes and vectors"
WAYS: dict[str, list[str]] = {PLAIN: [], CLASSES: ["frequent"], BOTH: ["frequent", "vectors"]}
TAGS = {"gold": "gold tags", "jackknife": "predicted tags"}
SOURCES = (
    "corpuscle/parse/**/*.py", "corpuscle/tag/**/*.py", "corpuscle/engine/dp/*.py", "corpuscle/words/word_features.py",
)  # fmt: skip


def cells(data: Path) -> Iterator[Cell]:
    """A cell for each language and kind of tags."""
    for language, name in TREEBANKS.items():
        train, dev = (data / f"ud-{name}" / f"{part}.conllu" for part in ("train", "dev"))
        texts = _texts(data, language)
        for tags, shown in TAGS.items():
            given = {"data": str(data), "language": language, "tags": tags}
            sides = tuple(Call(way, "bench.parse_small:job", {**given, "kinds": kinds}) for way, kinds in WAYS.items())
            inputs = (train, dev, *texts)
            title = f"{name}, {shown}"
            yield Cell(f"{language}-{tags}", title, sides, inputs=inputs, repeats=1, warm_up=False, sources=SOURCES)


def _texts(data: Path, language: str) -> list[Path]:
    """The files of raw text of a language."""
    files = [data / "multi30k" / f"train.{language}", data / "tatoeba11" / f"{language}.txt"]
    return [path for path in (*files, data / "tatoeba" / f"en-{language}.tsv") if path.exists()]


def _plain(path: Path) -> str:
    """A file of plain text: of a file of pairs the second side, which is kept beside the cells."""
    if path.suffix != ".tsv":
        return str(path)
    kept = CELLS / "files" / f"{path.stem}.txt"
    if not kept.exists():
        from bench.parse_text import _words

        lines = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text("".join(" ".join(_words(line[1])) + "\n" for line in lines if len(line) > 1), encoding="utf-8")
    return str(kept)


def job(timer: Any, data: str, language: str, tags: str, kinds: list[str]) -> dict[str, Any]:
    """LAS by amount, with the right words of every sentence, over all draws."""
    import numpy as np

    from corpuscle.parse import MstParser, warm
    from corpuscle.random import Random
    from corpuscle.text import read_conllu

    warm()
    folder = Path(data) / f"ud-{TREEBANKS[language]}"
    bank, gold = (
        read_conllu(folder / f"{part}.conllu").without("xpos", "features", "lemmas") for part in ("train", "dev")
    )
    some = np.linspace(0, len(gold) - 1, min(len(gold), JUDGED)).astype(np.int64)
    gold = gold.select(np.unique(some))
    known = _known([_plain(path) for path in _texts(Path(data), language)], kinds) if kinds else None
    starts, figures = gold.corpus.sentence_starts[:-1], dict[str, Any]()
    with timer:
        for amount in AMOUNTS[tags]:
            right, upos = np.zeros(len(gold)), 0.0
            for draw in range(DRAWS):
                drawn = np.array(Random(draw, "bench.parse_small").shuffled(range(len(bank)))[:amount])
                parser = MstParser(order=1, workers=1, tags=tags).fit(bank.select(np.sort(drawn)), known=known)
                tagged = gold if tags == "gold" else parser.tagged(gold.without("tags"))
                found = parser.annotate(tagged)
                same = np.array(found.relations.strings()) == np.array(gold.relations.strings())
                right += np.add.reduceat((same & (found.heads == gold.heads)).astype(np.int64), starts)
                upos += float(np.mean(np.array(tagged.tags.strings()) == np.array(gold.tags.strings()))) / DRAWS
            figures[f"{amount} trees"] = 100 * float(right.sum()) / (DRAWS * gold.corpus.n_tokens)
            figures[f"right, {amount} trees"] = right.tolist()
            if tags != "gold":
                figures[f"UPOS, {amount} trees"] = 100 * upos
    figures["words"] = gold.corpus.lengths.astype(float).tolist()
    return figures


def _gain(result: dict[str, Any], way: str, *amounts: str) -> Any:
    """LAS of a way minus that without raw text, the mean over amounts of trees, by paired bootstrap over sentences."""
    import numpy as np

    from corpuscle.measure import paired_bootstrap

    curves = {side: runs[0]["curves"] for side, runs in result["runs"].items()}
    one, other = (np.sum([curves[side][f"right, {amount}"] for amount in amounts], axis=0) for side in (way, PLAIN))
    return paired_bootstrap(one, other, np.multiply(DRAWS * len(amounts), curves[way]["words"]), items="sentences")


def claims(results: dict[str, Any]) -> list[Claim]:
    """What raw text brings, by language and tags, over all amounts of trees."""
    found = []
    for language, name in TREEBANKS.items():
        for tags, shown in TAGS.items():
            amounts = [f"{amount} trees" for amount in AMOUNTS[tags]]
            for way in (CLASSES, BOTH):
                text = f"{name}, {shown}, {AMOUNTS[tags][0]} to {amounts[-1]}: LAS that {way.removeprefix('+ ')} bring"
                claim = Claim(text, "above 0")
                if result := results.get(f"{language}-{tags}"):
                    claim = claim.told(_gain(result, way, *amounts))
                found.append(claim)
    return found


def tables(results: dict[str, Any]) -> list[str]:
    """A table for each language and kind of tags: LAS by amount, with the gain over forms and tags."""
    made = []
    for result in results.values():
        figures = list(result["runs"][PLAIN][0]["figures"])
        lines = [
            f"### {result['title']}",
            "",
            row(["LAS", *figures, "CPU s"]),
            row(["---"] + ["---:"] * (len(figures) + 1)),
        ]
        for way, runs in result["runs"].items():
            cells = [f"{runs[0]['figures'][name]:.2f}" for name in figures]
            if way != PLAIN:
                for at, name in enumerate(figures):
                    if name.startswith("UPOS"):
                        continue
                    told = _gain(result, way, name)
                    cells[at] += f" ({100 * told.low:+.2f} to {100 * told.high:+.2f})"
            lines.append(row([way, *cells, f"{runs[0]['cpu']:.0f}"]))
        made.append("\n".join([*lines, ""]))
    return made


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    about = " ".join("".join((__doc__ or "").split("\n\n")[1:]).split())
    return f"### Notes\n\n{about} In brackets the paired 95 % interval of the difference from forms and tags."
