"""Claims about what ``corpuscle learn`` makes of many sentence pairs."""

from __future__ import annotations

import pytest

import corpuscle
from corpuscle.packs import learn
from corpuscle.packs.systems import translator
from corpuscle.packs.systems.alignments import ALIGNMENTS
from corpuscle.translate import PhraseTranslator
from tests.packs.kits import findings, write_pairs
from tests.packs.pages import Page
from tests.translate.test_phrase import lines, world

pytestmark = pytest.mark.filterwarnings("ignore::corpuscle.errors.CorpuscleWarning")


@pytest.fixture(scope="module")
def translated(tmp_path_factory):
    folder, (bitext, _) = tmp_path_factory.mktemp("translated"), world(1, 300)
    kit = write_pairs(folder / "kit", lines(bitext.source), lines(bitext.target))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(translator, "FEWEST_PAIRS", 200)
        learn(kit, folder / "pack", steps=[ALIGNMENTS, translator.TRANSLATOR])
    return folder


def test_pairs_give_a_draft_translator_with_its_bleu_on_unseen_pairs(translated):
    found = findings(translated / "pack", "translate")
    assert found["pairs"] == 300 and found["held_out"] == 30 and found["measures"]["bleu"] > 0.9
    model = corpuscle.load(translated / "pack" / "models" / "translate.model")
    assert isinstance(model, PhraseTranslator) and model.provenance_["learned_from"] == 300
    text = "".join(Page((translated / "pack" / "report.html").read_text(encoding="utf-8")).text)
    assert "Draft translator" in text and all(draft in text for _, draft, _ in found["examples"])


def test_few_pairs_are_left_out_with_the_reason(translated):
    outcome = learn(translated / "kit", translated / "other", steps=[ALIGNMENTS, translator.TRANSLATOR])
    assert outcome.left_out == {"translate": "only 300 sentence pairs; at least 1000 are needed"}
