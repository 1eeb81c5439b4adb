"""NeuralTranslator: what it learns, its pieces and shortlist, files, resuming, workers, commands, errors."""

import json
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import corpuscle
from corpuscle.cli.main import main
from corpuscle.errors import CorpuscleWarning, InputError, Interrupted, SettingError
from corpuscle.measure import bleu
from corpuscle.text.alignments import write_pharaoh
from corpuscle.text.corpus import Corpus
from corpuscle.translate import NeuralTranslator
from corpuscle.translate.neural import _matrices
from tests.hostile import survives_hostile_edits
from tests.schemas import FRACTION, last_line_conforms
from tests.translate.test_phrase import MEASURED, best, lines, world
from tests.transliterate.test_neural import _stopping

pytest.importorskip("torch", reason="training needs the extra neural")
pytestmark = pytest.mark.filterwarnings("ignore::corpuscle.errors.CorpuscleWarning")
QUICK = {"embedding": 8, "state": 8, "max_epochs": 2, "batch": 32, "merges": 20, "aligner": "ibm1", "shortlist": 5}
FLAGS = ["--embedding", "8", "--state", "8", "--max-epochs", "2", "--batch", "32", "--aligner", "ibm1"]
TRAINED = {
    "method": str,
    **dict.fromkeys(("sentence_pairs", "learned_from", "tuning_pairs", "pieces", "models", "parameters"), int),
    "validations": int, "validation_bleu": FRACTION, "cross_entropy": float, "seconds": float, "model": str,
}  # fmt: skip


@pytest.fixture(scope="module")
def small():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return NeuralTranslator(**QUICK, ensemble=2, right_to_left=1, workers=1).fit(world(1, 120)[0])


def test_it_learns_a_language_with_another_order_and_the_links_help():
    bitext, _ = world(1, 400)
    settings = {"embedding": 24, "state": 32, "max_epochs": 12, "batch": 32, "merges": 200, "aligner": "ibm1"}
    plain = {"dropout": 0.0, "symbol_dropout": 0.0, "rate": 0.01, "warm_up": 20, "patience": 100}
    model = NeuralTranslator(**settings, **plain).fit(bitext)
    test, _ = world(2, 60)
    assert bleu(best(model, test.source), lines(test.target))["bleu"] > 0.9
    shares = model.attention("a1 n2 v a3 n4", "N2 A1 VV N4 A3")[2]
    assert shares.argmax(axis=1)[:5].tolist() == [1, 0, 2, 4, 3]


def test_the_links_of_words_are_those_of_their_pieces():
    bitext, links = world(3, 10)
    model = NeuralTranslator(**QUICK)
    from corpuscle.neural.subwords import Subwords

    model.subwords_ = Subwords.learn({word: 1 for words in (*bitext.source, *bitext.target) for word in words}, 10)
    for pair, matrix in enumerate(_matrices(bitext, model.subwords_, links, range(len(bitext)))):
        sides = [model.subwords_.encode(side.words(pair)) for side in (bitext.source, bitext.target)]
        owners = [np.repeat(np.arange(len(side)), [len(pieces) for pieces in side]) for side in sides]
        known = {tuple(link) for link in links.pair(pair).tolist()}
        for j, target in enumerate(owners[1]):
            row = np.array([(i, target) in known for i in owners[0]], float)
            np.testing.assert_allclose(matrix[j], row / max(1, row.sum()))


def test_translations_are_ranked_and_an_empty_sentence_has_none(small):
    text = Corpus.from_sentences([["a1", "n2"], [], ["zz", "n3"]])
    with pytest.warns(CorpuscleWarning, match="not in the pairs: z"):
        found = small.translate(text, n_best=4)
    assert [len(each) for each in found] == [4, 0, 4]
    scores = [each.score for each in found[0]]
    assert scores == sorted(scores, reverse=True) and max(scores) < 0
    assert len({each.target for each in found[0]}) == 4


def test_a_shortlist_keeps_to_what_was_linked(small):
    text = world(4, 20)[0].source
    allowed = small.shortlist_.allowed(small.subwords_.pieces(text).symbols)
    written = small.translate(text, shortlist=True)
    pieces = small.subwords_.pieces(Corpus.from_sentences([each[0].target.split() for each in written]))
    assert len(allowed) < len(small.vocab_) and len(pieces.symbols)
    decoded = small.decoder().decode(small.subwords_.pieces(text).split(), shortlist=small.shortlist_, workers_=1)
    assert set(np.concatenate([each[0].symbols for each in decoded]).tolist()) <= set(allowed.tolist())


def test_characters_are_no_merges_and_without_links_there_is_no_shortlist():
    model = NeuralTranslator(**QUICK | {"merges": None, "units": "characters", "shortlist": 0, "guide": 0.0})
    model.fit(world(1, 60)[0])
    assert not len(model.subwords_.merges)
    with pytest.raises(SettingError, match="without a shortlist"):
        model.translate(world(2, 2)[0].source, shortlist=True)
    with pytest.raises(SettingError, match="merges are of units bpe"):
        NeuralTranslator(units="characters", merges=5)


def test_a_model_file_gives_back_the_model_and_a_hostile_one_is_an_error(small, tmp_path):
    small.save(tmp_path / "m")
    text = world(5, 5)[0].source
    assert corpuscle.load(tmp_path / "m").translate(text, 3, shortlist=True) == small.translate(text, 3, shortlist=True)
    survives_hostile_edits(tmp_path / "m", lambda path: corpuscle.load(path).translate(text, shortlist=True), edits=60)


def test_processes_change_no_byte(small, tmp_path):
    again = NeuralTranslator(**QUICK, ensemble=2, right_to_left=1, workers=2).fit(world(1, 120)[0])
    for path, each in ("one", small), ("two", again):
        each.save(tmp_path / path)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_an_interrupted_training_resumes_to_the_identical_bytes(tmp_path, monkeypatch):
    bitext, links = world(1, 100)
    learner, path = NeuralTranslator(**QUICK), tmp_path / "m"
    learner.fit(bitext, links=links).save(tmp_path / "whole")
    monkeypatch.setattr("corpuscle.translate.base.Checkpoint", _stopping(1))
    with pytest.raises(Interrupted), learner.checkpoint(bitext, None, links, path) as checkpoint:
        learner.fit(bitext, None, links, checkpoint)
    monkeypatch.undo()
    unfinished = tmp_path / "m.partial"
    kept = unfinished.read_bytes()

    def go_on(place):
        """Go on from an edited file, and learn to the end."""
        unfinished.write_bytes(place.read_bytes())
        with learner.checkpoint(bitext, None, links, path, True) as checkpoint:
            learner.fit(bitext, None, links, checkpoint)

    (tmp_path / "edited").write_bytes(kept)
    survives_hostile_edits(tmp_path / "edited", go_on, edits=12)
    unfinished.write_bytes(kept)
    with pytest.raises(InputError, match="other data"):
        learner.checkpoint(bitext[1:], None, links, path, True)
    with learner.checkpoint(bitext, None, links, path, True) as checkpoint:
        learner.fit(bitext, None, links, checkpoint).save(path)
    assert path.read_bytes() == (tmp_path / "whole").read_bytes()


def test_applying_never_imports_torch(small, tmp_path):
    small.save(tmp_path / "m")
    code = (
        "import sys, corpuscle; sys.modules['torch'] = None\n"
        "from corpuscle.text.corpus import Corpus\n"
        f"model = corpuscle.load({str(tmp_path / 'm')!r})\n"
        "print(len(model.translate(Corpus.from_sentences([['a1', 'n2']]), 3)[0]))\n"
        "from corpuscle.translate import NeuralTranslator\n"
        "try: NeuralTranslator().fit(None)\n"
        "except corpuscle.errors.MissingExtra as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ)
    assert run.stdout.splitlines() == ["3", "this needs torch: pip install 'corpuscle[neural]'"], run.stderr


def test_the_command_line_trains_applies_measures_and_draws(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, (bitext, links) in {"train": world(1, 120), "test": world(2, 10)}.items():
        for side, corpus in ("src", bitext.source), ("tgt", bitext.target):
            (tmp_path / f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines(corpus)), "utf-8")
        write_pharaoh(links, tmp_path / f"{name}.links")
    train = ["translate", "train", "train.src", "train.tgt", "--method", "neural", *FLAGS]
    more = ["--units", "bpe", "--merges", "30", "--links", "train.links", "--dev", "test.src", "test.tgt", "--json"]
    assert main([*train, "-o", "m", *more]) == 0
    assert last_line_conforms(capsys.readouterr().out, TRAINED)["tuning_pairs"] == 10
    fast = ["--shortlist", "--precision", "int8", "--tolerance", "1", "--beam", "3", "--report", "run.json"]
    assert main(["translate", "apply", "m", "test.src", "-o", "out", *fast]) == 0
    report = json.loads((tmp_path / "run.json").read_text("utf-8"))
    assert report["sentences"] == 10 and report["precision"] == "int8" and report["seconds"]["network"] >= 0
    assert len((tmp_path / "out").read_text("utf-8").splitlines()) == 10
    assert main(["translate", "evaluate", "test.tgt", "--model", "m", "--source", "test.src", "--json"]) == 0
    last_line_conforms(capsys.readouterr().out, MEASURED)
    assert main(["translate", "apply", "m", "test.src", "--nbest", "2"]) == 0
    assert [line.split("\t")[1] for line in capsys.readouterr().out.splitlines()] == ["1", "2"] * 10
    for more, softmax in ([], False), (["--nbest", "1"], True):
        assert main(["translate", "apply", "m", "test.src", "--beam", "1", "--report", "run.json", *more]) == 0
        assert json.loads((tmp_path / "run.json").read_text("utf-8"))["softmax"] is softmax
    greedy = capsys.readouterr().out.splitlines()
    assert greedy[:10] == [line.split("\t")[3] for line in greedy[10:]]
    assert main(["translate", "attention", "m", "a1 n2"]) == 0
    assert "Where the model looks" in capsys.readouterr().out
    for wrong, message in (
        ("translate weights m", "translate.neural"), ("translate apply m test.src --names m", "--names is for phrases"),
        ("translate export m", "say where with -o"), ("translate apply m test.src --beam 0", "beam"),
        ([*train, "-o", "x", "--order", "3"], "means nothing with --method neural"),
        ([*train, "-o", "x", "--links", "train.links", "--links", "train.links"], "links of one aligner, not of 2"),
        ([*train, "-o", "x", "--units", "characters", "--merges", "3"], "merges"),
        ([*train, "-o", "x", "--rate", "1", "--max-length", "1"], "longer than 1 pieces"),
    ):  # fmt: skip
        assert main(wrong.split() if isinstance(wrong, str) else wrong) == 2
        error = capsys.readouterr().err.strip().splitlines()[-1]
        assert error.startswith("error: ") and message in error
    assert not (tmp_path / "x").exists()
