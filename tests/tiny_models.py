"""Tiny files of every kind of model: ``python -m tests.tiny_models`` makes them anew in tests/data/models.

They are committed so that a test notices when a file that users have can no longer be read. A change of a format raises
the version of its kind, adds a migration and keeps the old file beside the new one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

from corpuscle.cli.main import main
from corpuscle.transliterate.kernels import windows

FOLDER = Path(__file__).parent / "data" / "models"
TEXT = "the cat sees the dog\nthe dog sees a cat\na bird sings\n\nthe bird sees the cat\na dog sings\n" * 3
LETTERS = str.maketrans("abdiknotu", "αβδικνοτυ")
SPELLED = [
    first + last
    for first in ("an", "bo", "di", "ku", "na", "ta", "ob")
    for last in ("na", "da", "ko", "bi", "ton", "ida", "ut", "ak")
]
NAMES = "".join(f"{name}\t{name.translate(LETTERS)}\n" for name in SPELLED)
SOURCE = "das haus ist klein\ndas buch\nein haus\nein kleines buch\ndas ist ein buch\n" * 3
TARGET = "the house is small\nthe book\na house\na small book\nthat is a book\n" * 3
ITEMS = "".join(f"{i // 3}\t{line}\n" for i, line in enumerate(TEXT.replace("\n\n", "\n").splitlines()))

TREES = "".join(
    f"{i}\t{word}\t_\t{tag}\t_\t_\t{head}\t{relation}\t_\t_\n" + "\n" * (i == 3)
    for rows in [(("the", "DET", 2, "det"), ("cat", "NOUN", 3, "nsubj"), ("sings", "VERB", 0, "root"))] * 4
    for i, (word, tag, head, relation) in enumerate(rows, 1)
)

AMBIGUOUS = "".join(
    f"# newdoc id = {i}\n1\t{before}\t{before}\tX"
    + "\t_" * 6
    + f"\n2\tsaw\t{lemma}\t{tag}"
    + "\t_" * 5
    + f"\tGloss={lemma}\n\n"
    for i in range(4)
    for before, lemma, tag in (("I", "see", "VERB"), ("a", "saw", "NOUN"))
)

NOTES = (
    '{"text": "left and right eye red", "mentions": [{"type": "X", "spans": [[0, 4], [15, 22]]}, '
    '{"type": "X", "spans": [[9, 14], [15, 22]]}]}\n'
    '{"text": "no pain", "mentions": [{"type": "Y", "spans": [[3, 7]]}]}\n'
) * 5

MESSAGES = "u\tyou\nsee\tsee\nteh\tthe\ncatt\tcat\n\nthe\tthe\ncat\tcat\nsees\tsees\nu\tyou\n\n" * 8

BRACKETS = (
    "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (DT a) (NN dog))))\n(S (NP (NNP Ann)) (VP (VBZ sings)))\n"
    "(S (NP (DT a) (JJ old) (NN dog)) (VP (VBZ sleeps)))\n" * 3
)

COMMANDS = {
    "words.exchange": "classes train text -o {0} --classes 3",
    "words.brown": "classes train text -o {0} --method brown --classes 3",
    "words.ppmi": "vectors train text -o {0} --dimensions 2 --min-count 1 --subsample 0 --negative 1",
    "words.svd": "vectors train text -o {0} --method svd --dimensions 2 --min-count 1",
    "words.oscca": "vectors train text -o {0} --method oscca --dimensions 2 --min-count 1 --window 1",
    "words.tscca": "vectors train text -o {0} --method tscca --dimensions 2 --min-count 1 --window 1",
    "words.lrmvl": "vectors train text -o {0} --method lrmvl --dimensions 2 --min-count 1 --passes 2",
    "words.hmm": "classes train text -o {0} --method hmm --classes 3 --passes 4",
    "lm.ngram": "lm train text -o {0} --min-count 1 --order 2",
    "lm.class": "lm train text -o {0} --class-model words.exchange --order 2",
    "lm.loglinear": "lm train text -o {0} --method loglinear --order 3 --passes 30 --min-count 1",
    "lm.hpy": "lm train text -o {0} --method hpy --order 2 --sweeps 4 --samples 2 --min-count 1",
    "lm.hmm": "lm train text -o {0} --method hmm --states 2 --min-count 1 --pool 1",
    "lm.plre": "lm train text -o {0} --method plre --ranks 2,1 --min-count 1",
    "lm.cache": "lm train text -o {0} --method cache --min-count 1",
    "lm.mixture": "lm mix lm.ngram lm.class -o {0} --dev text",
    "segment.npylm": "segment train unspaced -o {0} --sweeps 3",
    "segment.dirichlet": "segment train unspaced -o {0} --method bigram --sweeps 3",
    "segment.trivial": "segment train unspaced -o {0} --method letters",
    "topics.ngram": "topics train text -o {0} --topics 2 --sweeps 3 --min-count 1 --order 2",
    "topics.rescaling": "topics train text -o {0} --method rescaling --topics 2 --sweeps 3 --min-count 1 --order 2",
    "align.ibm1": "align train source target -o {0} --method ibm1",
    "align.diagonal": "align train source target -o {0} --method diagonal",
    "align.hmm": "align train source target -o {0} --method hmm",
    "align.fertility": "align train source target -o {0} --method fertility",
    "align.loglinear": "align train source target -o {0} --method loglinear --passes 2",
    "align.matrix": "align matrix align.hmm source target -o {0}",
    "metric.model": "metric train items.tsv -o {0} --method distortion --dimensions 3 --min-count 1 --function-words 3",
    "transliterate.phrase": "transliterate train names.tsv -o {0}",
    "transliterate.neural": "transliterate train names.tsv -o {0} --method neural --embedding 2 --state 2 "
    "--max-epochs 2 --right-to-left 1",
    "transliterate.combined": "transliterate combine transliterate.phrase transliterate.neural --dev names.tsv "
    "--candidates 3 -o {0}",
    "translate.phrase": "translate train source target -o {0} --aligner ibm1 --order 2 --rounds 2 --restarts 0",
    "translate.neural": "translate train source target -o {0} --method neural --embedding 2 --state 2 --merges 4 "
    "--max-epochs 2 --aligner ibm1 --shortlist 2",
    "tag.crf": "tag train trees.conllu -o {0} --passes 2 --hash-bits 10",
    "disambiguate.ranker": "disambiguate train ambiguous.conllu -o {0} --crossfit 3",
    "disambiguate.twopass": "disambiguate train ambiguous.conllu -o {0} --method cheat --crossfit 3",
    "disambiguate.sequence": "disambiguate train ambiguous.conllu -o {0} --method viterbi --crossfit 3",
    "disambiguate.pairs": "disambiguate train ambiguous.conllu -o {0} --method ind --crossfit 3",
    "disambiguate.baseline": "disambiguate train ambiguous.conllu -o {0} --method frequency",
    "normalise.ranker": "normalise train messages.tsv -o {0} --min-count 1 --slang slang.tsv --pairs-bank",
    "entities.crf": "entities train notes.jsonl -o {0} --iterations 5 --min-count 1 --gazetteer organs.tsv",
    "entities.dictionary": "entities train notes.jsonl -o {0} --method dictionary",
    "parse.mst": "parse train trees.conllu -o {0} --passes 2 --hash-bits 10 --relation-bits 8",
    "parse.pairs": "parse train trees.conllu -o {0} --method pairs --passes 2 --hash-bits 10 --relation-bits 8",
    "parse.projected": "parse project trees.conllu trees.conllu --links links -o {0} --passes 2 --hash-bits 10 "
    "--relation-bits 8",
    "parse.boosted": "parse boost parse.mst parse.projected --dev trees.conllu -o {0}",
    "parse.branching": "parse train trees.conllu -o {0} --method right",
    "parse.rerank": "parse rerank trees.conllu --parser parse.mst -o {0} --nbest 3 --passes 2 --hash-bits 10",
    "grammar.pcfg": "grammar train trees.mrg -o {0} --method pcfg",
    "grammar.em": "grammar train trees.mrg -o {0} --method em --states 2 --iterations 2 --nodes-a-state 1",
    "grammar.spectral": "grammar train trees.mrg -o {0} --states 2 --nodes-a-state 1",
    "grammar.treemetric": "grammar induce trees.conllu -o {0} --rank 1 --dimensions 2 --max-distance 3",
    "grammar.ccm": "grammar induce trees.conllu -o {0} --method ccm --iterations 2",
    "grammar.common": "grammar common source target -o {0} --nonterminals 2 --restarts 1 --iterations 3",
}
"""Kind -> how its file is made, in this order."""


def make() -> Iterator[tuple[str, bytes]]:
    """Every kind with its file."""
    windows.WEIGHTS = 256
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        Path("text").write_text(TEXT, "utf-8")
        Path("unspaced").write_text(TEXT.replace(" ", ""), "utf-8")
        Path("names.tsv").write_text(NAMES, "utf-8")
        Path("items.tsv").write_text(ITEMS, "utf-8")
        Path("source").write_text(SOURCE, "utf-8")
        Path("target").write_text(TARGET, "utf-8")
        Path("trees.conllu").write_text(TREES, "utf-8")
        Path("links").write_text("0-0 1-1 2-2\n" * 4, "utf-8")
        Path("ambiguous.conllu").write_text(AMBIGUOUS, "utf-8")
        Path("notes.jsonl").write_text(NOTES, "utf-8")
        Path("organs.tsv").write_text("eye\tORGAN\nright eye\tORGAN\n", "utf-8")
        Path("messages.tsv").write_text(MESSAGES, "utf-8")
        Path("trees.mrg").write_text(BRACKETS, "utf-8")
        Path("slang.tsv").write_text("lol\tlaughing out loud\n", "utf-8")
        for kind, command in COMMANDS.items():
            if main([*command.format(kind).split(), "--quiet"]) != 0:
                raise SystemExit(f"{kind} could not be made")
            yield kind, Path(kind).read_bytes()


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for kind, content in make():
        (FOLDER / f"{kind}.model").write_bytes(content)
