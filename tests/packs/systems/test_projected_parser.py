"""Claims about the parser of the other language that ``corpuscle learn`` makes of translations and a treebank."""

from __future__ import annotations

import pytest

import corpuscle
from corpuscle import samples
from corpuscle.packs import learn
from corpuscle.packs.systems.alignments import ALIGNMENTS
from corpuscle.packs.systems.parser import PARSER, PROJECTED
from corpuscle.packs.systems.tagger import TAGGER
from corpuscle.parse import BranchingParser
from corpuscle.text import read_conllu
from tests.packs.kits import findings, kit_of
from tests.packs.pages import Page


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("projected")


@pytest.fixture(scope="module")
def big_sample(folder):
    samples.write(folder / "sample", sentences=900, pairs=400, names=10, notes=2, messages=2)
    return folder / "sample"


@pytest.mark.parametrize(("sides", "own"), [(("src", "tgt"), ()), (("tgt", "src"), (TAGGER, PARSER))])
def test_trees_come_over_to_the_language_without_a_treebank(folder, big_sample, sides, own):
    kit = kit_of(folder / f"kit-{sides[0]}", big_sample, "tagged.conllu")
    (kit / "parallel").mkdir()
    for side, other in zip(("src", "tgt"), sides, strict=True):
        (kit / "parallel" / f"a.{side}").write_bytes((big_sample / "parallel" / f"train.{other}").read_bytes())
    pack = folder / f"pack-{sides[0]}"
    learn(kit, pack, steps=[ALIGNMENTS, *own, PROJECTED])
    found = findings(pack, "projected")
    assert found["side"] == (sides[0] == "tgt") and found["arcs"] > 500
    if own:
        assert found["judged"] is None
    else:
        assert found["judged"]["uas"] > max(found["judged"]["uas_left"], found["judged"]["uas_right"])
    gold = read_conllu(big_sample / "gold" / "parallel.tgt.conllu")
    parsed = corpuscle.load(pack / "models" / "projected.parser").parse(gold)
    alone = max((BranchingParser(method=side).parse(gold).heads == gold.heads).mean() for side in ("left", "right"))
    assert (parsed.heads == gold.heads).mean() > alone + 0.05
    text = "".join(Page((pack / "report.html").read_text(encoding="utf-8")).text)
    assert "came over" in text and ("in the place of tags" in text) == (not own)


def test_a_treebank_of_a_third_language_is_left_out(folder, big_sample):
    kit = kit_of(folder / "other", big_sample, "parallel/train.src", "parallel/train.tgt")
    lines = (big_sample / "tagged.conllu").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    other = ["\t".join([row[0], "ø" + row[1], *row[2:]]) if len(row) == 10 else row[0] for row in rows]
    (kit / "tagged.conllu").write_text("\n".join(other) + "\n", encoding="utf-8")
    outcome = learn(kit, folder / "other-pack", steps=[ALIGNMENTS, PROJECTED])
    assert "neither side" in outcome.left_out["projected"]
