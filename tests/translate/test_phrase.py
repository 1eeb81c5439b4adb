"""Translation by phrases: quality where the rules are known, unknown words, files, resuming, workers, commands."""

import json

import numpy as np
import pytest

import corpuscle
from corpuscle.cli.main import main
from corpuscle.errors import InputError, Interrupted, SettingError
from corpuscle.learning import Checkpoint
from corpuscle.measure import bleu, compare_bleu
from corpuscle.random import Random
from corpuscle.text.alignments import Alignments, write_pharaoh
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import Corpus
from corpuscle.text.pairs import Pair
from corpuscle.translate import FEATURES, PhraseTranslator, verbs
from corpuscle.transliterate import PhraseTransliterator
from tests.hostile import survives_hostile_edits
from tests.schemas import FRACTION, last_line_conforms

pytestmark = pytest.mark.filterwarnings("ignore::corpuscle.errors.CorpuscleWarning")
QUICK = {"aligner": "hmm", "restarts": 1, "rounds": 2, "tuning_nbest": 10, "beam": 10, "order": 3}
NOUNS, ADJECTIVES = [f"n{i}" for i in range(20)], [f"a{i}" for i in range(12)]


def sentence(random):
    """Noun phrases with verbs between them; the other language has the adjective behind its noun."""
    source, target, links = [], [], []
    for part in range(1 + random.below(3)):
        if part:
            source.append("v")
            target.append("VV")
            links.append((len(source) - 1, len(target) - 1))
        noun, adjective = random.choice(NOUNS), random.choice(ADJECTIVES)
        source += [adjective, noun]
        target += [noun.upper(), adjective.upper()]
        links += [(len(source) - 2, len(target) - 1), (len(source) - 1, len(target) - 2)]
    return source, target, sorted(links)


def world(seed, count):
    random = Random(seed, "translations")
    source, target, links = zip(*(sentence(random) for _ in range(count)), strict=True)
    return Bitext(Corpus.from_sentences(source), Corpus.from_sentences(target)), Alignments.from_pairs(links)


@pytest.fixture(scope="module")
def small():
    return PhraseTranslator(**QUICK).fit(world(1, 300)[0])


def lines(corpus):
    return [" ".join(words) for words in corpus]


def best(model, corpus, **settings):
    return [ranked[0].target if ranked else "" for ranked in model.translate(corpus, **settings)]


def test_a_language_with_adjectives_behind_nouns_is_translated(small):
    test, _ = world(2, 100)
    assert bleu(best(small, test.source), lines(test.target))["bleu"] > 0.95
    assert small.history_[-1].value > 0.95
    # Pairs of words that never stood together need a jump.
    given = PhraseTranslator(**QUICK | {"max_phrase": 1}).fit(*world(1, 300)[:1], links=world(1, 300)[1])
    stiff = given.replace(distortion=0).fit(world(1, 300)[0], links=world(1, 300)[1])
    found, fixed = (bleu(best(model, test.source), lines(test.target))["bleu"] for model in (given, stiff))
    assert found > 0.9 > fixed and stiff.weights_[-1] == 0


def test_ranked_translations_are_different_and_sorted_and_an_empty_sentence_has_none(small):
    text = Corpus.from_sentences([["a1", "n3", "v", "a2", "n4"], []])
    first, nothing = small.translate(text, 5)
    scores = [score for _, score in first]
    assert scores == sorted(scores, reverse=True) and len({target for target, _ in first}) == 5 and nothing == []
    with pytest.raises(SettingError, match="n_best"):
        small.translate(text, 0)


def test_unknown_words_are_copied_or_transliterated(small):
    text = Corpus.from_sentences([["a1", "zebra"], ["zebra", "n3"]])
    assert all("zebra" in target.split() for target in best(small, text))
    names = ["".join(Random(3, "names", 0, i).choice("abrze") for _ in range(4)) for i in range(80)]
    greek = str.maketrans("abrze", "αβρζε")
    other = PhraseTransliterator(tune=False, context=0).fit([Pair(name, (name.translate(greek),)) for name in names])
    written = other.transliterate(["zebra"])[0][0].target
    assert written != "zebra" and all(written in target.split() for target in best(small, text, transliterator=other))


def test_the_file_gives_back_the_model_and_survives_hostile_edits(small, tmp_path):
    test, _ = world(4, 5)
    small.save(tmp_path / "m")
    loaded = corpuscle.load(tmp_path / "m")
    assert loaded.translate(test.source, 3) == small.translate(test.source, 3)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()

    def use(path):
        model = corpuscle.load(path)
        model.translate(test.source[:1], 2)
        list(model.table_.lines(model.source_vocab_, model.lm_.vocab_))

    survives_hostile_edits(tmp_path / "m", use, edits=80)


class StopAt(Checkpoint):
    """Interrupted after the first round of tuning."""

    def run(self, learner, *arguments, **settings):
        finish = learner.finish

        def stopping(sweep):
            row = finish(sweep)
            self._stop.requested = True
            return row

        learner.finish = stopping
        return super().run(learner, *arguments, **settings)


def test_an_interrupted_training_resumes_to_the_identical_bytes_on_any_number_of_workers(small, tmp_path):
    bitext, _ = world(1, 300)
    small.save(tmp_path / "whole")
    path, learner = tmp_path / "m", PhraseTranslator(**QUICK, workers=2)
    kind = learner.checkpoint(bitext, None, None, path).kind
    stop = StopAt(path, kind, learner.settings, learner.signature(bitext, None, None))
    with pytest.raises(Interrupted), stop as checkpoint:
        learner.fit(bitext, checkpoint=checkpoint)
    with pytest.raises(InputError, match="other data"):
        learner.checkpoint(bitext[1:], None, None, path, resume=True)
    with learner.checkpoint(bitext, None, None, path, resume=True) as checkpoint:
        learner.fit(bitext, checkpoint=checkpoint).save(path)
    assert path.read_bytes() == (tmp_path / "whole").read_bytes()


def test_the_phrases_of_several_alignments_are_counted_in_equal_parts():
    bitext, links = world(1, 60)
    learner = PhraseTranslator(tune=False, max_phrase=2)
    alone = learner.fit(bitext, links=links)
    twice = learner.replace().fit(bitext, links=[links, links])
    assert list(twice.table_.lines(twice.source_vocab_, twice.lm_.vocab_)) == list(
        alone.table_.lines(alone.source_vocab_, alone.lm_.vocab_)
    )
    nothing = Alignments.from_pairs([[] for _ in range(60)])
    halved = learner.replace().fit(bitext, links=[links, nothing])
    assert np.array_equal(halved.table_.counts * 2, alone.table_.counts)
    assert (
        halved.provenance_["signature"]
        != alone.provenance_["signature"]
        == twice.replace().fit(bitext, links=[links]).provenance_["signature"]
    )


def test_too_little_to_learn_from_and_settings_that_exclude_each_other():
    bitext, links = world(1, 20)
    with pytest.raises(InputError, match="only 5 sentence pairs"):
        PhraseTranslator().fit(bitext[:5])
    with pytest.raises(SettingError, match="for tuning"):
        PhraseTranslator(tune=False).fit(bitext, dev=bitext, links=links)
    with pytest.raises(InputError, match="no words are linked"):
        PhraseTranslator(tune=False).fit(bitext, links=Alignments.from_pairs([[] for _ in range(20)]))
    with pytest.raises(InputError, match="development pairs are empty"):
        PhraseTranslator(**QUICK).fit(bitext, dev=bitext[:0], links=links)


@pytest.mark.parametrize("tokenise", ["none", "13a"])
def test_bleu_is_that_of_sacrebleu(tokenise):
    sacrebleu = pytest.importorskip("sacrebleu")
    random = Random(7, "bleu")
    for length in (2, 6, 15):

        def text(length=length):
            words = [random.choice(["a", "b", "c.", "d,", "e"]) for _ in range(1 + random.below(length))]
            return " ".join(words)

        pairs = [(text(), text()) for _ in range(12)]
        found, wanted = map(list, zip(*pairs, strict=True))
        ours = bleu(found, wanted, tokenise=tokenise, draws=10)
        theirs = sacrebleu.corpus_bleu(found, [wanted], tokenize=tokenise, force=True)
        assert 100 * ours["bleu"] == pytest.approx(theirs.score, abs=1e-9)
        assert ours["length_ratio"] == pytest.approx(theirs.sys_len / theirs.ref_len)
    assert bleu(["x"], ["y"])["bleu"] == 0.0
    assert compare_bleu(found, found, wanted).difference == 0.0


TRAINED = {
    "method": str, **dict.fromkeys(("sentence_pairs", "learned_from", "tuning_pairs", "entries", "rounds"), int),
    "tuning_bleu": FRACTION, "weights": dict.fromkeys(FEATURES, float), "seconds": float, "model": str,
}  # fmt: skip
MEASURED = {
    **dict.fromkeys(("bleu", "low", "high", *(f"precision_{n}" for n in range(1, 5))), FRACTION),
    "length_ratio": float, "sentences": int, "deviation": float, "signature": str,
    "overlap_training?": FRACTION, "overlap_tuning?": FRACTION,
    "against?": {"difference": float, "low": float, "high": float, "deviation": float, "p_value": FRACTION},
}  # fmt: skip


def test_the_command_line_trains_applies_and_measures(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, (bitext, links) in {"train": world(1, 200), "test": world(2, 30)}.items():
        for side, corpus in ("src", bitext.source), ("tgt", bitext.target):
            (tmp_path / f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines(corpus)), "utf-8")
        write_pharaoh(links, tmp_path / f"{name}.links")
    quick = "--rounds 2 --restarts 0 --tuning-nbest 5 --beam 10 --links train.links --dev test.src test.tgt --json"
    assert main(["translate", "train", "train.src", "train.tgt", "-o", "m", *quick.split()]) == 0
    last_line_conforms(capsys.readouterr().out, TRAINED)
    again = [*quick.split(), "--links", "train.links"]
    assert main(["translate", "train", "train.src", "train.tgt", "-o", "both", *again]) == 0
    assert main(["translate", "export", "both"]) == main(["translate", "export", "m"]) == 0
    table = [line for line in capsys.readouterr().out.splitlines() if " ||| " in line]
    assert table[: len(table) // 2] == table[len(table) // 2 :]
    assert main(["translate", "apply", "m", "test.src", "-o", "out"]) == 0
    assert main(["translate", "evaluate", "test.tgt", "out", "--against", "test.tgt", "--json"]) == 0
    figures = last_line_conforms(capsys.readouterr().out, MEASURED)
    assert figures["bleu"] > 0.9 and figures["against"]["difference"] == pytest.approx(figures["bleu"] - 1)
    assert main(["translate", "evaluate", "test.tgt", "--model", "m", "--source", "test.src", "--json"]) == 0
    assert last_line_conforms(capsys.readouterr().out, MEASURED)["bleu"] == figures["bleu"]
    assert main(["translate", "apply", "m", "test.src", "--nbest", "3"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert rows[0][:2] == ["1", "1"] and rows[0][3] == (tmp_path / "out").read_text("utf-8").splitlines()[0]
    assert main(["translate", "export", "m", "-o", "table"]) == 0
    assert " ||| " in (tmp_path / "table").read_text("utf-8")
    assert main(["translate", "weights", "m", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == set(FEATURES)
    (tmp_path / "short").write_text("x\n", "utf-8")
    for wrong in (
        "translate evaluate test.tgt", "translate evaluate test.tgt short", "translate evaluate short out",
        "translate train train.src test.tgt -o x", "translate train train.src train.tgt -o x --links test.links",
        "translate evaluate test.tgt out --tokenise martian", "translate train short short -o x",
    ):  # fmt: skip
        assert main(wrong.split()) == 2
        assert capsys.readouterr().err.strip().splitlines()[-1].startswith("error: ")
    assert not (tmp_path / "x").exists() and np.isfinite(figures["deviation"])


def test_verbs_take_strings_and_objects_in_python():
    (bitext, links), (unseen, _) = world(1, 200), world(2, 30)
    learner = PhraseTranslator(rounds=2, restarts=0, tuning_nbest=5, beam=10)
    trained = verbs.train(learner, bitext, dev=unseen, links=[links])
    assert trained.figures["sentence_pairs"] == 200 and trained.figures["tuning_pairs"] == 30
    source, target = lines(unseen.source), lines(unseen.target)
    written = list(verbs.apply(trained.model, source))
    assert written == [ranked[0].target for ranked in trained.model.translate(unseen.source)]
    assert [row[3] for row in verbs.apply(trained.model, source, nbest=1).rows] == written
    measured = verbs.evaluate(target, written).to_json()
    assert verbs.evaluate(target, model=trained.model, source=source).to_json() == measured and measured["bleu"] > 0.9
    assert verbs.weights(trained.model).to_json() == trained.figures["weights"]
    assert all(" ||| " in line for line in verbs.export(trained.model))
    for options in ({"beam": 3}, {"shortlist": True}, {"precision": "fp32"}):
        with pytest.raises(SettingError, match=f"--{next(iter(options))} is about networks"):
            verbs.apply(trained.model, source, **options)
