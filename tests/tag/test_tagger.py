"""The tagger: what it learns, what it says, what it refuses."""

import itertools
import json
import math

import numpy as np
import pytest

import corpuscle
from corpuscle.cli.main import main
from corpuscle.compiled import frozen
from corpuscle.errors import InputError
from corpuscle.learning import Checkpoint
from corpuscle.parse import MstParser
from corpuscle.random import folds
from corpuscle.samples import generate
from corpuscle.tag import Tagger, jackknife
from corpuscle.tag import kernels as decoding
from corpuscle.tag.kernels import Learning, learn, local_features, step_places
from corpuscle.tag.lemmas import apply_rule, lemma_rule
from corpuscle.text import Corpus, read_conllu, write_conllu
from corpuscle.text.treebank import Treebank
from corpuscle.text.vocab import FIRST
from corpuscle.text.wording import shape_of
from corpuscle.words import ExchangeClasses, class_sources
from tests.hostile import survives_hostile_edits
from tests.schemas import last_line_conforms

SMALL = {"hash_bits": 16}


@pytest.fixture(scope="module")
def bank():
    return generate(seed=1, sentences=130).treebank()[:120]


@pytest.fixture(scope="module")
def tagger(bank):
    return Tagger(passes=4, **SMALL).fit(bank[:100])


def accuracy(bank, found, layer="tags"):
    pairs = zip(getattr(bank, layer).strings(), getattr(found, layer).strings(), strict=True)
    return np.mean([a == b for a, b in pairs])


def test_a_tagger_learns_its_training_text_by_heart_and_tags_others(bank, tagger):
    again, fresh = tagger.annotate(bank[:50]), tagger.annotate(bank[100:])
    assert tagger.layers_ == ("tags", "features")
    for layer in (*tagger.layers_, "lemmas"):
        assert accuracy(bank[:50], again, layer) > 0.97
        assert accuracy(bank[100:], fresh, layer) > 0.75
    assert fresh.heads.tolist() == bank[100:].heads.tolist()


def scored(tagger, bank, sentence):
    """The words, room and bounds of a scored sentence."""
    words = tagger.lexicon_.words(bank.corpus, tagger.closed, tagger.sources_)
    first, last = (int(at) for at in words.starts[sentence : sentence + 2])
    labels = tagger.lexicon_.labels
    room = decoding.room_for(last - first, words, labels)
    decoding.score_sentence(words, first, last, labels, tagger.weights_, tagger._shift, room)
    return words, room, first, last


def score_by_formula(tagger, words, first, last, path):
    """The score of a path of labels, from the features one by one: words without a choice are not scored."""
    labels, places = tagger.lexicon_.labels, np.zeros(200, np.int64)

    def of_label(places, count, label):
        own = [labels.n_parts + label, *labels.parts[labels.starts[label] : labels.starts[label + 1]]]
        return sum(float(tagger.weights_[place + part]) for place in places[:count] for part in own)

    total = []
    for i, label in enumerate(path):
        count = local_features(words, first, last, first + i, tagger._shift, places)
        total.append(of_label(places, count, label))
        before, previous = path[i - 2] if i > 1 else -1, path[i - 1] if i > 0 else -1
        step_places(words, first + i, before, previous, labels, tagger._shift, places)
        total.append(of_label(places, decoding.STEPS, label))
    return total


def hard_sentence(tagger, bank):
    """A short sentence with several paths."""
    for sentence in np.flatnonzero(bank.corpus.lengths <= 6).tolist():
        room = scored(tagger, bank, sentence)[1]
        if 2 < np.prod(room.counts) < 5000 and len(room.counts) > 2:
            return sentence
    raise AssertionError("no such sentence")


def test_the_best_path_and_the_chances_of_labels_are_those_of_all_paths(bank, tagger):
    fresh = Tagger(passes=1, **SMALL).fit(bank[:12])
    sentence = hard_sentence(fresh, bank[100:])
    words, room, first, last = scored(fresh, bank[100:], sentence)
    n, candidates = last - first, [room.candidates[j, : room.counts[j]].tolist() for j in range(last - first)]
    paths = list(itertools.product(*candidates))
    free = [
        (k % 2 == 0 and (room.counts[k // 2] > 1 or words.open[words.tokens[first + k // 2]]))
        or (k % 2 == 1 and np.prod(room.counts[max(0, k // 2 - 2) : k // 2 + 1]) > 1)
        for k in range(2 * n)
    ]
    scores = [
        math.fsum(np.compress(free, score_by_formula(fresh, words, first, last, path)).tolist()) for path in paths
    ]
    found = np.zeros(n, np.int32)
    assert decoding.best_labels(n, room, found) == pytest.approx(max(scores), abs=1e-4)
    assert tuple(found.tolist()) == paths[int(np.argmax(scores))]
    decoding.expectations(n, room)
    shares = np.exp(np.array(scores) - max(scores))
    shares /= shares.sum()
    for j in range(n):
        for q, label in enumerate(candidates[j]):
            exact = sum(share for share, path in zip(shares, paths, strict=True) if path[j] == label)
            assert room.local[j, q] == pytest.approx(exact, abs=1e-5)
    assert fresh.tag(bank[100:], confidence=True).confidence[first] <= 1.0


def test_a_step_of_learning_follows_the_gradient_of_the_likelihood(bank):
    """With tiny rates the log-likelihood of the sentence grows by what the squared gradient says."""
    tagger = Tagger(passes=1, **SMALL).fit(bank[:12])
    sentence = hard_sentence(tagger, bank[100:])
    one = bank[100 + sentence : 101 + sentence]
    names = tagger.labels_.ids
    joined = ["\t".join(row) for row in zip(one.tags.strings(), one.features.strings(), strict=True)]
    words, room, first, last = scored(tagger, one, 0)
    gold = np.array([names.get(label, FIRST) - FIRST for label in joined], np.int32)
    for j in range(last - first):
        gold[j] = gold[j] if gold[j] in room.candidates[j, : room.counts[j]] else room.candidates[j, 0]

    def log_likelihood(weights):
        labels, shift = tagger.lexicon_.labels, tagger._shift
        decoding.score_sentence(words, first, last, labels, weights, shift, room)
        n, choices = last - first, [room.candidates[j, : room.counts[j]].tolist() for j in range(last - first)]
        totals = {}
        for path in itertools.product(*(range(len(each)) for each in choices)):
            score = 0.0
            for j, q in enumerate(path):
                score += room.local[j, q] + room.steps[j, path[j - 2] if j > 1 else 0, path[j - 1] if j > 0 else 0, q]
            totals[tuple(choices[j][q] for j, q in enumerate(path))] = score
        top = max(totals.values())
        assert n == len(gold)
        return totals[tuple(gold.tolist())] - top - math.log(sum(math.exp(score - top) for score in totals.values()))

    size, rate = len(tagger.weights_), 1e-4
    weights = tagger.weights_.astype(np.float32).copy()
    learning = Learning(weights, np.zeros(size), np.full(size, 1e6, np.float32), np.zeros(1, np.int64), rate * 1e3,
                        tagger._shift)  # fmt: skip
    before, old = log_likelihood(weights), weights.astype(np.float64)
    learn(words, np.zeros(1, np.int64), gold, tagger.lexicon_.labels, frozen(weights, np.float32), learning, room)
    slopes = (weights - old) / rate  # the squares are so large that every weight moves by the rate times its gradient
    gain = log_likelihood(weights) - before
    assert gain > 0 and gain == pytest.approx(rate * (slopes**2).sum(), rel=0.05)


def test_unknown_words_are_tagged_by_endings_and_shapes():
    rows = [[f"{stem}{end}", "runs"] for stem in ("lam", "tor", "pis", "gul", "bem", "kor") for end in ("ity", "ous")]
    tags = [["NOUN" if row[0].endswith("ity") else "ADJ", "VERB"] for row in rows]
    tagger = Tagger(passes=8, **SMALL).fit(Treebank.from_sentences(rows, tags=tags))
    new = Treebank.from_sentences([["zarkity", "runs"], ["zarkous", "runs"]])
    assert tagger.annotate(new).tags.strings() == ["NOUN", "VERB", "ADJ", "VERB"]
    assert tagger.known(new).tolist() == [False, True, False, True]
    assert shape_of("McX-12", 1, ".") == "XxX.d"


def test_frequent_words_keep_to_the_tags_they_were_seen_with(bank, tagger):
    seen = {}
    for form, label in zip(
        [bank.corpus.vocab.word(t) for t in bank[:100].corpus.tokens.tolist()],
        zip(bank[:100].tags.strings(), bank[:100].features.strings(), strict=True), strict=True,
    ):  # fmt: skip
        seen.setdefault(form, []).append(label)
    fresh = tagger.annotate(bank[100:])
    words = [bank.corpus.vocab.word(t) for t in fresh.corpus.tokens.tolist()]
    labels = list(zip(fresh.tags.strings(), fresh.features.strings(), strict=True))
    frequent = [(w, label) for w, label in zip(words, labels, strict=True) if len(seen.get(w, ())) >= tagger.closed]
    assert frequent and all(label in seen[word] for word, label in frequent)


@pytest.mark.parametrize(("form", "lemma"), [("Houses", "house"), ("went", "go"), ("Anna", "Anna"), ("é", "é")])
def test_rules_of_lemmas_give_the_lemma_back(form, lemma):
    assert apply_rule(lemma_rule(form, lemma), form) == lemma
    assert apply_rule(" 7 x", "cat") is None


def test_lemmas_follow_endings_and_labels():
    rows = [["cats", "walked"], ["dogs", "talked"], ["birds", "barked"]]
    lemmas = [["cat", "walk"], ["dog", "talk"], ["bird", "bark"]]
    bank = Treebank.from_sentences(rows, lemmas=lemmas, tags=[["NOUN", "VERB"]] * 3)
    found = Tagger(passes=4, **SMALL).fit(bank).annotate(Treebank.from_sentences([["cows", "milked"]]))
    assert found.lemmas.strings() == ["cow", "milk"]


def test_classes_of_raw_text_are_features(bank):
    sentences = [bank.corpus.words(i) for i in range(len(bank))]
    corpus = Corpus.from_sentences(sentences)
    sources = class_sources(ExchangeClasses(classes=8, seed=1).fit(corpus))
    plain = Tagger(passes=2, **SMALL).fit(bank[:40])
    rich = Tagger(passes=2, **SMALL).fit(bank[:40], sources=sources)
    assert rich.sources_.n_columns == sources.n_columns and plain.sources_.n_columns == 0
    assert not np.array_equal(rich.weights_, plain.weights_)


def test_jackknifed_tags_come_from_the_other_parts(bank):
    part = bank[:24]
    learner = Tagger(passes=1, **SMALL)
    tagged = jackknife(learner, part, 4)
    places = folds(learner.seed, "tag.jackknife", 24, 4)
    for fold in range(4):
        own = Tagger(passes=1, **SMALL).fit(part.select(places != fold)).annotate(part.select(places == fold))
        assert tagged.select(places == fold).tags.strings() == own.tags.strings()
        assert tagged.select(places == fold).lemmas.strings() == own.lemmas.strings()
    assert tagged.heads.tolist() == part.heads.tolist()
    alone = jackknife(Tagger(passes=1, workers=1, **SMALL), part, 4)
    assert alone.tags.strings() == tagged.tags.strings()
    with pytest.raises(InputError):
        jackknife(learner, part[:1])


def test_workers_change_no_byte_and_files_keep_everything(bank, tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    Tagger(passes=2, workers=1, **SMALL).fit(bank[:30]).save(first)
    Tagger(passes=2, workers=2, **SMALL).fit(bank[:30]).save(second)
    assert first.read_bytes() == second.read_bytes()
    one, two = corpuscle.load(first), corpuscle.load(second)
    one.workers, two.workers = 1, 2
    for layer in ("tags", "features", "lemmas", "misc"):
        found = [getattr(each.annotate(bank, confidence=True), layer).strings() for each in (one, two)]
        assert found[0] == found[1]


def test_development_sentences_choose_the_passes(bank):
    tagger = Tagger(passes=3, **SMALL).fit(bank[:40], bank[40:60])
    assert tagger.chosen_["passes"] == int(np.argmax(tagger.history_[:, 1])) + 1
    found = tagger.annotate(bank[40:60])
    both = np.array([a == b for a, b in zip(*(
        list(zip(each.tags.strings(), each.features.strings(), strict=True)) for each in (found, bank[40:60])
    ), strict=True)])  # fmt: skip
    assert both.mean() == pytest.approx(tagger.history_[:, 1].max())


def test_the_commands_train_tag_and_measure(bank, tmp_path, capsys):
    gold, model, out, text = (tmp_path / name for name in ("gold.conllu", "m", "out.conllu", "new.txt"))
    write_conllu(bank[:60], gold)
    train = {
        "method": str, "sentences": int, "words": int, "labels": int, "lemma_rules": int, "layers": [str],
        "tuned": [str], "passes": int, "wrong": float, "seconds": float,
    }  # fmt: skip
    options = ["--passes", "3", "--hash-bits", "14", "--json"]
    assert main(["tag", "train", str(gold), "-o", str(model), *options]) == 0
    last_line_conforms(capsys.readouterr().out, train)
    assert main(["tag", "apply", str(model), str(gold), "-o", str(out), "--confidence"]) == 0
    assert "TagConfidence=" in out.read_text()
    own = bank[:60].replace(lemmas=bank[:60].tags)  # lemmas that the tagger would not give
    write_conllu(own, gold)
    assert main(["tag", "apply", str(model), str(gold), "-o", str(text), "--keep-lemmas"]) == 0
    assert read_conllu(text).lemmas.strings() == own.lemmas.strings() and read_conllu(text).tags.ids.any()
    write_conllu(bank[:60], gold)
    assert main(["tag", "evaluate", str(gold), str(out), "--by", "tag", "--training", str(gold), "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["upos"] > 0.9 and found["upos_low"] <= found["upos"] <= found["upos_high"]
    assert found["unknown_words"] == 0 and found["known"] == found["upos"] and "unknown" not in found
    assert sum(row["words"] for row in found["by_tag"]) == found["words"]
    assert found["all"] <= min(found[name] for name in ("upos", "feats", "lemma"))
    assert main(["tag", "evaluate", str(gold), "--model", str(model), "--json"]) == 0
    again = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert again["upos"] == found["upos"] and again["overlap_training"] == 1.0
    other = bank[:60].replace(xpos=bank[:60].tags)  # a layer that the tagger does not know is not compared
    write_conllu(other, gold)
    assert main(["tag", "evaluate", str(gold), "--model", str(model), "--json"]) == 0
    assert "xpos" not in json.loads(capsys.readouterr().out.splitlines()[-1])
    text.write_text(" ".join(bank.corpus.words(0)) + "\n\n" + " ".join(bank.corpus.words(1)) + "\n")
    assert main(["tag", "apply", str(model), str(text), "-o", str(out)]) == 0
    tagged = read_conllu(out)
    assert len(tagged) == 2 and tagged.corpus.words(0) == bank.corpus.words(0) and tagged.tags.ids.all()
    assert main(["tag", "apply", str(model), str(text), "--raw"]) == 0
    assert capsys.readouterr().out.count("\n\n") >= 1
    assert main(["tag", "jackknife", str(gold), "--folds", "2", "-o", str(out)]) == 0
    assert read_conllu(out).tags.strings() != read_conllu(gold).tags.strings()


def test_bad_input_is_one_line(bank, tagger, tmp_path, capsys):
    model = tmp_path / "m"
    tagger.save(model)
    rows = {
        "untagged.conllu": "1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n",
        "columns.conllu": "1\ta\t_\tA\n\n",
        "empty.conllu": "",
    }
    for name, content in rows.items():
        (tmp_path / name).write_text(content)
        code = main(["tag", "train", str(tmp_path / name), "-o", str(tmp_path / "new")])
        errors = capsys.readouterr().err
        assert code == 2 and errors.count("error:") == 1 and name in errors and not (tmp_path / "new").exists()
    gold = tmp_path / "gold.conllu"
    write_conllu(bank[:3], gold)
    (tmp_path / "two.conllu").write_text("1\ta\ta\tA\t_\t_\t0\troot\t_\t_\n\n")
    for command in (
        ["tag", "evaluate", str(gold), str(tmp_path / "two.conllu")],
        ["tag", "evaluate", str(gold)],
        ["tag", "evaluate", str(gold), "--model", str(model), "--training", str(gold)],
        ["tag", "apply", str(model), str(gold), "--raw"],
        ["tag", "apply", str(gold), str(gold)],
    ):
        assert main(command) == 2
        assert capsys.readouterr().err.count("error:") == 1
    assert main(["tag", "apply", str(model), str(tmp_path / "untagged.conllu"), "-o", str(tmp_path / "o.conllu")]) == 0
    assert read_conllu(tmp_path / "o.conllu").tags.ids.all()


def test_classes_and_meaning_take_text_that_is_tagged_and_parsed_first(bank, tmp_path, capsys):
    gold, text, out = (tmp_path / name for name in ("gold.conllu", "new.txt", "out.conllu"))
    tagger, parser, hidden = (str(tmp_path / name) for name in ("t", "p", "h"))
    write_conllu(bank[:60], gold)
    text.write_text("".join(" ".join(bank.corpus.words(i)) + "\n" for i in range(20)))
    Tagger(passes=2, **SMALL).fit(bank[:60]).save(tagger)
    MstParser(passes=1, hash_bits=14, relation_bits=10).fit(bank[:60]).save(parser)
    train = ["classes", "train", str(gold), "-o", hidden, "--method", "hmm", "--structure", "tree"]
    assert main([*train, "--layer", "form/tag", "--classes", "4", "--passes", "2", "--quiet"]) == 0
    both = ["--tagger", tagger, "--parser", parser]
    assert main(["classes", "apply", hidden, str(text), *both, "-o", str(out)]) == 0
    made = read_conllu(out)
    made.check_trees(single_root=True)
    assert len(made) == 20 and all("Class=" in note for note in made.misc.strings())
    word, tag = bank.corpus.words(0)[0], made.tags.strings()[0]
    capsys.readouterr()
    assert main(["meaning", "substitutes", hidden, f"{word}/{tag}", str(text), *both, "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["tokens"]
    vectors = []
    for words in ([str(out)], [str(text), *both]):
        assert main(["meaning", "represent", hidden, *words]) == 0
        vectors.append(capsys.readouterr().out)
    assert vectors[0] == vectors[1]
    assert main(["meaning", "represent", hidden, str(text), "--raw"]) == 2
    assert main(["meaning", "substitutes", hidden, f"{word}/{tag}", str(text), "--raw"]) == 2
    assert main(["classes", "apply", hidden, str(text), "--parser", parser]) == 2
    assert "no tagger inside" in capsys.readouterr().err


def test_edited_files_are_refused_or_harmless(bank, tmp_path):
    Tagger(passes=1, hash_bits=10).fit(bank[:6]).save(tmp_path / "m")

    def use(path):
        with np.errstate(all="ignore"):
            corpuscle.load(path).annotate(bank[:2], confidence=True)

    assert survives_hostile_edits(tmp_path / "m", use, edits=100) > 20


def test_an_interrupted_run_resumes_to_the_identical_bytes(bank, tmp_path, monkeypatch):
    whole, path, part = tmp_path / "whole", tmp_path / "part", bank[:12]
    monkeypatch.setattr("corpuscle.learning._WORDS", 40)
    settings = {"passes": 2, "hash_bits": 10}
    Tagger(**settings).fit(part, bank[12:20]).save(whole)
    steps = 0

    def after(self, *arguments, **more):
        nonlocal steps
        steps += 1
        self.every = 0.0
        saved(self, *arguments, **more)
        if steps == 4:
            raise KeyboardInterrupt

    saved = Checkpoint.after
    monkeypatch.setattr(Checkpoint, "after", after)
    tagger = Tagger(**settings)
    with pytest.raises(KeyboardInterrupt), tagger.checkpoint(part, path) as checkpoint:
        tagger.fit(part, bank[12:20], checkpoint=checkpoint)
    monkeypatch.setattr(Checkpoint, "after", saved)
    with pytest.raises(InputError), Tagger(**settings).checkpoint(part, path, resume=True) as checkpoint:
        Tagger(**settings).fit(part, bank[20:30], checkpoint=checkpoint)
    tagger = Tagger(**settings)
    with tagger.checkpoint(part, path, resume=True) as checkpoint:
        tagger.fit(part, bank[12:20], checkpoint=checkpoint).save(path)
    assert path.read_bytes() == whole.read_bytes()
