"""NeuralTransliterator and CombinedTransliterator: what goes in and comes out, files, ensembles, ranking, errors."""

import itertools
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
from corpuscle.neural import Decoder
from corpuscle.neural.base import Networks
from corpuscle.text.corpus import SPACE
from corpuscle.text.pairs import Pair
from corpuscle.text.vocab import Vocab
from corpuscle.transliterate import CombinedTransliterator, NeuralTransliterator, PhraseTransliterator, Synthetic
from corpuscle.transliterate.neural import Memory, _backwards
from tests.hostile import survives_hostile_edits
from tests.schemas import last_line_conforms
from tests.transliterate.test_phrase import StopAt, cipher

QUICK = {"embedding": 8, "state": 8, "max_epochs": 2, "batch": 16, "guide": 0.0}
FLAGS = ["--embedding", "8", "--state", "8", "--max-epochs", "2", "--batch", "16"]
TRAINED = {
    "method": str, "pairs": int, "tuning_pairs": int, "synthetic_pairs": int, "models": int, "parameters": int,
    "validations": int, "validation_accuracy": float, "cross_entropy": float, "seconds": float, "model": str,
}  # fmt: skip

UNKNOWN_HERE = ("validation_accuracy", "cross_entropy")
"""What is not measured where no names are held out."""

pytest.importorskip("torch", reason="training needs the extra neural")
pytestmark = pytest.mark.filterwarnings("ignore::corpuscle.errors.CorpuscleWarning")


@pytest.fixture(scope="module")
def pairs():
    return cipher(1, 110)


@pytest.fixture(scope="module")
def model(pairs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return NeuralTransliterator(ensemble=2, right_to_left=1, workers=1, **QUICK).fit(pairs[:80])


@pytest.fixture(scope="module")
def phrase(pairs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PhraseTransliterator(rounds=1, tuning_nbest=5).fit(pairs[:80])


# ---- learning


def test_without_held_out_names_all_are_learned_from_and_the_last_weights_kept(pairs):
    from corpuscle.neural.training import advance, begun

    rest, validation = NeuralTransliterator().divided(pairs, 1, 500)
    learner = NeuralTransliterator(workers=1, hold_out=False, **QUICK)
    learner.chosen_["whole_names"] = True
    rows = learner._rows(pairs)
    learner.vocab_ = Vocab.from_words(sorted({letter for row in rows for side in row for letter in side}))
    (task,) = learner._tasks(learner._lessons(rows, validation, len(rows)))
    assert len(task.training) == len(rows) > len(learner._rows(rest))
    progress = begun(task, 1)
    while progress.updates < task.plan.updates:
        progress = advance(progress, task, task.plan.interval)
        assert np.array_equal(progress.best, progress.mean)
    learner.fit(pairs)
    assert learner.provenance_["tuning_pairs"] == 0 and not len(learner.tuning_items_)
    flat = np.concatenate([array.ravel() for array in learner.models_[0].values()])
    assert np.array_equal(flat, progress.mean)


def test_without_held_out_names_training_needs_a_plan_for_its_end(pairs):
    for settings, dev in ({"schedule": "plateau"}, None), ({"preset": "transformer"}, None), ({}, pairs[:9]):
        with pytest.raises(SettingError, match="held"):
            NeuralTransliterator(hold_out=False, **settings).fit(pairs, dev)


def test_members_are_different_and_the_first_is_the_model_alone(pairs, model):
    assert len(model.models_) == 3 and (model.models_[0]["read/W"] != model.models_[1]["read/W"]).any()
    alone = NeuralTransliterator(**QUICK).fit(pairs[:80])
    for name, array in alone.models_[0].items():
        np.testing.assert_array_equal(array, model.models_[0][name])
    assert model.provenance_["tuning_pairs"] == 8 and len(model.history_) == 2


def test_processes_change_no_byte(pairs, model, tmp_path):
    again = NeuralTransliterator(ensemble=2, right_to_left=1, workers=2, **QUICK).fit(pairs[:80])
    for path, each in ("one", model), ("two", again):
        each.save(tmp_path / path)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_cluster_changes_no_byte(pairs, model, cluster, tmp_path):
    there = NeuralTransliterator(ensemble=2, right_to_left=1, cluster=cluster, **QUICK).fit(pairs[:80])
    for path, each in ("here", model), ("there", there):
        each.save(tmp_path / path)
    assert (tmp_path / "here").read_bytes() == (tmp_path / "there").read_bytes()


def test_an_interrupted_training_resumes_to_the_identical_bytes(pairs, tmp_path, monkeypatch):
    names = Synthetic([pair.targets[0] for pair in pairs[80:]], "target")
    learner = NeuralTransliterator(**QUICK)
    learner.fit(pairs[:60], synthetic=names).save(tmp_path / "whole")
    path = tmp_path / "m"
    for wanted in range(2):
        monkeypatch.setattr("corpuscle.transliterate.neural.Checkpoint", _stopping(2 if wanted else 5))
        arguments = (pairs[:60], None, path, wanted > 0, names)
        with pytest.raises(Interrupted), learner.checkpoint(*arguments) as checkpoint:
            learner.fit(pairs[:60], checkpoint=checkpoint, synthetic=names)
        monkeypatch.undo()
    with pytest.raises(InputError, match="other data"):
        learner.checkpoint(pairs[1:60], None, path, True, names)
    with learner.checkpoint(pairs[:60], None, path, True, names) as checkpoint:
        learner.fit(pairs[:60], checkpoint=checkpoint, synthetic=names).save(path)
    assert path.read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_hostile_partial_file_is_an_error(pairs, tmp_path, monkeypatch):
    learner, path = NeuralTransliterator(**QUICK | {"max_epochs": 1}), tmp_path / "m"
    monkeypatch.setattr("corpuscle.transliterate.neural.Checkpoint", _stopping(1))
    with pytest.raises(Interrupted), learner.checkpoint(pairs[:60], None, path) as checkpoint:
        learner.fit(pairs[:60], checkpoint=checkpoint)
    monkeypatch.undo()
    place = tmp_path / "m.partial"
    (tmp_path / "kept").write_bytes(place.read_bytes())

    def go_on(edited):
        place.write_bytes(edited.read_bytes())
        with learner.checkpoint(pairs[:60], None, path, True) as checkpoint:
            learner.fit(pairs[:60], checkpoint=checkpoint)

    assert survives_hostile_edits(tmp_path / "kept", go_on, edits=25) > 5


def _stopping(items):
    """A checkpoint that is stopped after so many items."""

    class Stopping(StopAt):
        left = items

        def after(self, *args, **named):
            Stopping.left -= 1
            if Stopping.left == 0:
                super().after(*args, **named)

    return Stopping


def test_synthetic_pairs_have_the_genuine_name_on_its_side(pairs):
    class Mirror(NeuralTransliterator):
        def transliterate(self, names, *_, **__):
            from corpuscle.transliterate import Candidate

            return [[Candidate("x" + name[::-1], 0.0)] for name in names]

    learner, helper = NeuralTransliterator(**QUICK), Mirror()
    held = [Pair("xcba", ("Q",))]
    made = learner._synthesised(pairs[:5], held, Synthetic(["abc", "dd", "dd", "e" * 40], "target", helper), None)
    assert made == [Pair("xdd", ("dd",))]  # its source is held out; twice; too long
    made = learner._synthesised(pairs[:5], held, Synthetic(["abc", pairs[0].source], "source", helper), None)
    assert made[0] == Pair("abc", ("xcba",)) and len(made) == 2


def test_real_pairs_are_repeated_among_synthetic_ones(pairs):
    names = Synthetic([pair.targets[0] for pair in pairs[55:]], "target", None)
    trained = NeuralTransliterator(**QUICK, oversample=2).fit(pairs[:55], synthetic=names)
    assert 0 < trained.provenance_["synthetic_pairs"] <= 55
    with pytest.raises(SettingError, match="--synthetic"):
        NeuralTransliterator(**QUICK, oversample=2).fit(pairs[:55])


def test_what_cannot_be_learned_from_is_refused(pairs):
    learner = NeuralTransliterator(**QUICK)
    for wrong, reason in ((pairs[:10], "only 10 pairs"), ([Pair("a", ("\u200b ",)), *pairs], None),
                          ([Pair("a" * 100, ("b",))] * 60, "longer than 80")):  # fmt: skip
        if reason:
            with pytest.raises(InputError, match=reason):
                learner.fit(wrong)
    with pytest.raises(InputError, match="empty side"):
        learner.fit([Pair(" ", ("b",)), *pairs])
    with pytest.raises(InputError, match="development pairs are empty"):
        learner.check_development([])
    with pytest.warns(CorpuscleWarning, match="--method phrase learns more"):
        NeuralTransliterator(**QUICK | {"max_epochs": 1}).fit(pairs[:60])


# ---- writing


def test_candidates_are_ranked_distinct_and_scored_by_the_models(model):
    found = model.transliterate(["abc", "", "abc dea"], n_best=5)
    assert found[1] == [] and len(found[0]) == 5
    for each in found[0], found[2]:
        assert len({candidate.target for candidate in each}) == 5
        assert all(a.score >= b.score for a, b in itertools.pairwise(each))
    written = model.decoder().decode([model.vocab_.encode("abc")], beam=20, nbest=20)[0]
    logs = {"".join(model.vocab_.decode(h.symbols)): h.log for h in written}
    back = model.scores(["abc"], [[candidate.target for candidate in found[0]]])[0][:, 1]
    for (target, score), last in zip(found[0], back, strict=True):
        assert score == pytest.approx((2 * logs[target] + last) / (len(target) + 1), abs=1e-4)


def test_an_ensemble_of_one_model_twice_is_that_model(model):
    twice = Decoder([model.weights(0)] * 2), Decoder(model.weights(0))
    sources = [model.vocab_.encode(name) for name in ("abc", "dea")]
    both, one = (each.decode(sources, beam=5, nbest=5) for each in twice)
    for left, right in zip(both, one, strict=True):
        assert [h.symbols.tolist() for h in left] == [h.symbols.tolist() for h in right]
        np.testing.assert_allclose([h.score for h in left], [h.score for h in right], atol=1e-5)


def test_ranking_without_models_from_the_end_keeps_the_order(model):
    alone = NeuralTransliterator(**QUICK | {"ensemble": 2})
    alone.vocab_, alone.memory_, alone.models_ = model.vocab_, Memory.of([]), model.models_[:2]
    (written,) = alone.decoder().decode([alone.vocab_.encode("abcd")], beam=20, nbest=20)
    limit = 3 * 4 + 10  # what is as long as this has no end
    means = [h.log / (len(h.symbols) + (len(h.symbols) < limit)) for h in written]
    assert means == sorted(means, reverse=True)
    ranked = alone.transliterate(["abcd"], n_best=20)[0]
    np.testing.assert_allclose([candidate.score for candidate in ranked], means, atol=1e-6)
    assert (alone.scores(["abcd"], [["X"]])[0][:, 1] == 0).all()


def test_marks_stay_with_their_letters_from_the_end():
    letters = list("ki\u0301\u0323no")
    turned = "".join(letters[i] for i in _backwards(letters))
    assert turned == "oni\u0301\u0323k" and sorted(_backwards(letters).tolist()) == list(range(6))
    assert "".join(letters[i] for i in _backwards(letters[:0])) == ""


def test_unknown_letters_warn_or_are_copied(model):
    with pytest.warns(CorpuscleWarning, match="not in the pairs: !"):
        model.transliterate(["a!b"])
    copying = NeuralTransliterator(**QUICK | {"copy_unknown": True})
    copying.vocab_, copying.memory_, copying.models_ = model.vocab_, Memory.of([]), model.models_[:1]
    found = copying.transliterate(["a!b", "!!"], n_best=2)
    one, other = (copying.transliterate([piece])[0][0] for piece in "ab")
    assert found[0][0].target == f"{one.target}!{other.target}" and found[1][0].target == "!!"
    assert found[0][0].score == pytest.approx(one.score + other.score, abs=1e-5)


def test_beam_sum_and_n_best_are_checked(model, phrase):
    for wrong in ({"n_best": 0}, {"sum": True}, {"beam": 0}, {"precision": "fp8"}):
        with pytest.raises(SettingError):
            model.transliterate(["abc"], **wrong)
    with pytest.raises(SettingError, match="neural"):
        phrase.transliterate(["abc"], precision="int8")
    assert model.transliterate(["abc"], precision="int8")[0]


def test_names_of_matching_words_are_learned_and_written_word_by_word(model, pairs, tmp_path):
    assert model.chosen_ == {"whole_names": False} and SPACE not in model.vocab_
    one, other = (model.transliterate([word], 3)[0] for word in ("abc", "dea"))
    both = model.transliterate([" abc  Dea "], 3)[0]
    assert both[0].target == f"{one[0].target} {other[0].target}"
    assert both[0].score == pytest.approx(one[0].score + other[0].score, abs=1e-5)
    words = [("abc", "XY"), ("dea", "Z")]
    sums = sum(model.scores([source], [[target]])[0] for source, target in words)
    np.testing.assert_allclose(model.scores(["abc dea"], [["XY Z"]])[0], sums, atol=1e-5)
    model.save(tmp_path / "m")
    assert corpuscle.load(tmp_path / "m").transliterate(["abc dea"], 3)[0] == both


def test_names_are_whole_where_their_words_do_not_match(pairs):
    longer = [Pair(source, (f"{targets[0]} x",)) for source, targets in pairs[:60]]
    trained = NeuralTransliterator(**QUICK | {"max_epochs": 1}).fit(longer)
    assert trained.chosen_ == {"whole_names": True} and SPACE in trained.vocab_
    matching = [Pair("ab cd", ("X Y", "X  y", "Z Y")), Pair("ab", ("x y",)), Pair("a b", ("x y z",))]
    rows = NeuralTransliterator(whole_names=False)._rows(matching)
    joined = ["ab x", "cd y", "ab z", f"ab x{SPACE}y", f"a{SPACE}b x{SPACE}y{SPACE}z"]
    assert [" ".join("".join(side) for side in row) for row in rows] == joined
    assert len(NeuralTransliterator(whole_names=True)._rows(matching)) == 4


def test_what_was_in_the_pairs_is_remembered(model, pairs):
    source = pairs[0].source
    known = NeuralTransliterator(**QUICK, ensemble=2, right_to_left=1)
    known.vocab_, known.models_, known.chosen_ = model.vocab_, model.models_, model.chosen_
    known.memory_ = Memory.of([])
    alone, plain = known.transliterate(["abcde"], 3), known.transliterate(["abcde", f"{source} abcde"], 3)
    known.memory_ = Memory.of([(source, "right"), (source, "right"), (source, "other")])
    assert known.transliterate(["abcde"], 3) == alone
    best = known.transliterate([source, f"{source} abcde"], 3)
    assert [c.target for c in best[0][:2]] == ["right", "other"] and len(best[0]) == 3
    assert best[1][0].target == f"right {plain[0][0].target}" != plain[1][0].target
    logs = known._logs([(source, "right")])[0]
    for way, log in enumerate(logs):
        assert known.scores([source], [["Right"]])[0][0, way] == pytest.approx(known.memory_.log(source, "right", log))
    words = [word for pair in pairs[:80] for word in pair.source.split()]
    assert model.memory_.counts.keys() == set(words)
    assert not NeuralTransliterator(**QUICK | {"max_epochs": 1}, remember=False).fit(pairs[:60]).memory_.counts


def test_what_was_learned_from_is_not_validated_on(pairs):
    learner = NeuralTransliterator(**QUICK, whole_names=False)
    learner.vocab_ = Vocab.from_words(list("abcxyz"))
    rows = learner._rows([Pair("ab", ("x",))])
    for held, sources in ([Pair("ab ca", ("x y",))], ["ca"]), ([Pair("ab", ("x",))], ["ab"]):
        kept = learner._lessons(rows, held, 1).validation
        assert ["".join(learner.vocab_.decode(source)) for source, _ in kept] == sources


def test_attention_is_a_share_of_each_source_letter(model):
    for target, letters in ("XY", ["x", "y"]), ("X Y", ["x", SPACE, "y"]):
        source, written, shares = model.attention("ab c", target)
        assert source == ["a", "b", SPACE, "c"] and written == letters and shares.shape == (len(letters) + 1, 5)
        np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-5)
    assert (shares[:2, 3:] == 0).all() and (shares[2:, :3] == 0).all()


# ---- files


def test_a_model_file_gives_back_the_model(model, tmp_path):
    model.save(tmp_path / "m")
    loaded = corpuscle.load(tmp_path / "m")
    assert loaded.transliterate(["abc", "dea"], 5) == model.transliterate(["abc", "dea"], 5)
    assert loaded.overlap([Pair("zz", ("Q",))]) == (0.0, 0.0)


def test_a_file_of_before_there_was_a_memory_writes_whole_names(model, tmp_path, monkeypatch):
    older = model.replace()
    older.vocab_, older.models_, older.history_ = model.vocab_, model.models_, model.history_
    older.provenance_, older.items_, older.tuning_items_ = model.provenance_, model.items_, model.tuning_items_
    for name in ("_arrays", "_extra"):
        monkeypatch.setattr(NeuralTransliterator, name, getattr(Networks, name))
    older.save(tmp_path / "m")
    monkeypatch.undo()
    loaded = corpuscle.load(tmp_path / "m")
    assert not loaded.memory_.counts and loaded._words("abc dea") == ["abc dea"]


def test_a_hostile_model_file_is_an_error(model, phrase, pairs, tmp_path):
    model.save(tmp_path / "m")
    survives_hostile_edits(tmp_path / "m", lambda path: corpuscle.load(path).transliterate(["abc"]), edits=60)
    CombinedTransliterator(candidates=3).fit(phrase, model, pairs[80:]).save(tmp_path / "c")
    survives_hostile_edits(tmp_path / "c", lambda path: corpuscle.load(path).transliterate(["abc"]), edits=30)


def test_applying_never_imports_torch(model, tmp_path):
    model.save(tmp_path / "m")
    code = (
        "import sys, corpuscle; sys.modules['torch'] = None\n"
        f"print(len(corpuscle.load({str(tmp_path / 'm')!r}).transliterate(['abc'], 3)[0]))\n"
        "from corpuscle.transliterate import NeuralTransliterator\n"
        "try: NeuralTransliterator().fit([])\n"
        "except corpuscle.errors.MissingExtra as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ)
    assert run.stdout.splitlines() == ["3", "this needs torch: pip install 'corpuscle[neural]'"], run.stderr


# ---- both models together


def test_a_combined_model_ranks_the_candidates_of_both(phrase, model, pairs, tmp_path):
    both = CombinedTransliterator(candidates=5).fit(phrase, model, pairs[80:])
    found = both.transliterate([pairs[80].source, ""], 20)
    proposed = {c.target for each in (phrase, model) for c in each.transliterate([pairs[80].source], 5)[0]}
    assert {c.target for c in found[0]} == proposed and found[1] == []
    right = sum(both.transliterate([p.source])[0][0].target == p.targets[0].lower() for p in pairs[80:])
    assert right >= sum(phrase.transliterate([p.source])[0][0].target == p.targets[0].lower() for p in pairs[80:]) - 1
    both.save(tmp_path / "c")
    assert corpuscle.load(tmp_path / "c").transliterate([pairs[80].source], 20) == found[:1]
    with pytest.raises(SettingError, match="not for it"):
        both.transliterate(["abc"], beam=3)
    with pytest.raises(SettingError, match="spell names alike"):
        CombinedTransliterator(lowercase=False).fit(phrase, model, pairs[80:])
    with pytest.warns(CorpuscleWarning, match="were in training pairs"):
        CombinedTransliterator(candidates=2).fit(phrase, model, pairs[:20])


# ---- the command line


@pytest.fixture(scope="module")
def kit(pairs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("neural")
    for name, part in ("train", pairs[:80]), ("dev", pairs[80:]):
        (folder / f"{name}.tsv").write_text("".join(f"{p.source}\t{p.targets[0]}\n" for p in part), "utf-8")
    (folder / "names.txt").write_text("".join(f"{p.targets[0]}\n" for p in pairs[80:]), "utf-8")
    train = ["transliterate", "train", str(folder / "train.tsv"), "-q"]
    assert main([*train, "-o", str(folder / "n"), "--method", "neural", *FLAGS]) == 0
    assert main([*train, "-o", str(folder / "p"), "--rounds", "1"]) == 0
    return folder


def test_training_combining_and_drawing_on_the_command_line(kit, capsys):
    command = ["transliterate", "train", f"{kit}/train.tsv", "-o", f"{kit}/s", "--method", "neural", *FLAGS]
    more = ["--dev", f"{kit}/dev.tsv", "--synthetic", f"{kit}/names.txt", "--side", "target", "--json"]
    assert main([*command, *more]) == 0
    result = last_line_conforms(capsys.readouterr().out, TRAINED)
    assert result["tuning_pairs"] == 30 and result["models"] == 1 and result["validations"] == 2
    assert main([*command, "--no-hold-out", "--json"]) == 0
    result = last_line_conforms(capsys.readouterr().out, TRAINED | dict.fromkeys(UNKNOWN_HERE, type(None)))
    assert result["tuning_pairs"] == 0
    assert main(["transliterate", "combine", f"{kit}/p", f"{kit}/n", "--dev", f"{kit}/dev.tsv", "-o", f"{kit}/c",
                 "--json"]) == 0  # fmt: skip
    combined = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert combined["tuning_pairs"] == 30 and len(combined["weights"]) == 5
    for name in ("n", "c", "s"):
        assert main(["transliterate", "evaluate", f"{kit}/dev.tsv", "--model", f"{kit}/{name}", "--json", "-q"]) == 0
        assert 0 <= json.loads(capsys.readouterr().out.splitlines()[-1])["acc"] <= 1
    assert main(["transliterate", "attention", f"{kit}/n", "abc"]) == 0
    assert "Where the model looks in abc" in capsys.readouterr().out
    apply = ["transliterate", "apply", f"{kit}/n", f"{kit}/names.txt", "--nbest", "2", "--precision", "int8"]
    assert main([*apply, "--tolerance", "1"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 60


def test_mistakes_on_the_command_line_are_one_line(kit, capsys):
    train = ["transliterate", "train", f"{kit}/train.tsv", "-o", f"{kit}/x"]
    for command, message in (
        ([*train, "--synthetic", f"{kit}/names.txt", "--side", "target"], "--method neural"),
        ([*train, "--method", "neural", "--synthetic", f"{kit}/names.txt"], "belong together"),
        ([*train, "--method", "neural", "--order", "3"], "means nothing with --method neural"),
        ([*train, "--method", "neural", "--preset", "transformer", "--state", "5"], "has no state"),
        (["transliterate", "combine", f"{kit}/n", f"{kit}/p", "--dev", f"{kit}/dev.tsv", "-o", f"{kit}/x"], "kit"),
        (["transliterate", "weights", f"{kit}/n"], f"{kit}/n"),
        (["transliterate", "attention", f"{kit}/p", "abc"], f"{kit}/p"),
        (["transliterate", "apply", f"{kit}/p", f"{kit}/names.txt", "--precision", "int8"], "neural models"),
    ):
        assert main([*command, "-q"]) == 2
        error = capsys.readouterr().err.splitlines()
        assert len(error) == 1 and error[0].startswith("error: ") and (message in error[0] or message == "kit")
    assert not (kit / "x").exists()
