"""The graph-based parser: what it learns, what it says, what it refuses."""

import json

import numpy as np
import pytest

import corpuscle
from corpuscle.cli.main import main
from corpuscle.engine.dp import charts
from corpuscle.errors import CorpuscleWarning, SettingError
from corpuscle.parse import MstParser
from corpuscle.parse.kernels import training
from corpuscle.parse.kernels.features import arc_features, sibling_features
from corpuscle.parse.kernels.training import crossings, lift
from corpuscle.parse.words import layers_of
from corpuscle.samples import generate
from corpuscle.text import read_conllu, write_conllu
from corpuscle.text.layers import Layer
from corpuscle.text.treebank import Treebank
from corpuscle.words import BrownClasses, ExchangeClasses, class_sources, joint_sources
from tests.engine.dp.test_charts import all_heads, is_projective, is_tree
from tests.schemas import last_line_conforms

SMALL = {"hash_bits": 16, "relation_bits": 12}
CROSSED = {"heads": [[3, 4, 0, 3]], "tags": [["A", "B", "C", "D"]], "relations": [["x", "y", "root", "z"]]}


@pytest.fixture(scope="module")
def bank():
    return generate(seed=1, sentences=130).treebank()[:120]


@pytest.fixture(scope="module")
def parser(bank):
    return MstParser(passes=4, **SMALL).fit(bank[:100])


def test_a_parser_learns_its_training_trees_by_heart_and_parses_others(bank, parser):
    again = parser.annotate(bank[:50])
    assert (again.heads == bank[:50].heads).mean() > 0.99
    pairs = zip(again.relations.strings(), bank[:50].relations.strings(), strict=True)
    assert np.mean([ours == right for ours, right in pairs]) > 0.99
    fresh = parser.annotate(bank[100:])
    assert (fresh.heads == bank[100:].heads).mean() > 0.8
    fresh.check_trees(single_root=True)


@pytest.mark.parametrize("settings", [
    {"order": 1}, {"order": 1, "trees": 4}, {"order": 2, "trees": 3}, {"learner": "perceptron"},
    {"order": 1, "decode": "nonprojective"}, {"order": 1, "decode": "nonprojective", "trees": 3},
    {"order": 2, "decode": "nonprojective"}, {"order": 1, "distance": "collins"}, {"order": 2, "distance": "both"},
])  # fmt: skip
def test_every_way_to_learn_and_to_decode_learns(bank, settings):
    parser = MstParser(passes=3, **SMALL, **settings).fit(bank[:60])
    assert (parser.annotate(bank[:60]).heads == bank[:60].heads).mean() > 0.95
    parser.annotate(bank[60:70]).check_trees(single_root=True)


def scored(parser, bank, sentence, order):
    n = int(bank.corpus.lengths[sentence])
    layers = layers_of(bank, parser.tag_layers_, parser.sources_, parser.known_)
    room = training.room_for(n, order)
    decoding = parser.decoding(order)
    training.score(layers, sentence, decoding, parser.weights_, room.marks, room.places, room.arcs, room.siblings)
    return layers, n, room, decoding


def test_scores_are_sums_of_the_weights_of_features(bank, parser):
    sentence = int(np.flatnonzero(bank.corpus.lengths >= 4)[0])
    layers, n, room, decoding = scored(parser, bank, sentence, 2)
    base, places = layers.starts[sentence] + 1, room.places
    for h, m in [(0, 1), (1, 2), (n, 1), (1, n)]:
        count = arc_features(layers, base, h, m, decoding.shift, room.marks, places)
        assert room.arcs[h, m] == pytest.approx(parser.weights_[places[:count]].astype(float).sum())
    count = sibling_features(layers, base, 1, 1, 3, decoding.shift, places)
    assert room.siblings[1, 1, 3] == pytest.approx(parser.weights_[places[:count]].astype(float).sum())


def test_features_are_combined_with_length_with_verbs_and_commas_between_or_with_both():
    def places(words, tags, distance, h, m):
        layers = layers_of(Treebank.from_sentences([words], tags=[tags]), ("tags",), distance=distance)
        room = training.room_for(len(words), 1)
        count = arc_features(layers, layers.starts[0] + 1, h, m, np.uint64(42), room.marks, room.places)
        return room.places[:count].copy()

    plain = ["dogs", "he", "likes", "now", "bark"], ["NOUN", "PRON", "VERB", "ADV", "VERB"]
    longer = ["dogs", "he", "likes", "me", "now", "bark"], ["NOUN", "PRON", "VERB", "PRON", "ADV", "VERB"]
    for distance, same in (("length", False), ("collins", True), ("both", False)):
        one, other = places(*plain, distance, 1, 5), places(*longer, distance, 1, 6)
        assert np.array_equal(one[::2], other[::2])  # without distance: the same words, neighbours and tags between
        assert np.array_equal(one[1::2], other[1::2]) == same  # 4 and 5 words apart; a verb and no comma between
    comma = ["dogs", ",", "likes", "now", "bark"], ["NOUN", "PRON", "VERB", "ADV", "VERB"]
    for distance, same in (("length", True), ("collins", False), ("both", False)):
        one, other = places(*plain, distance, 1, 5), places(*comma, distance, 1, 5)
        assert np.array_equal(one[::2], other[::2]) and np.array_equal(one[1::2], other[1::2]) == same


@pytest.mark.parametrize("trees", [1, 3])
@pytest.mark.parametrize("order", [1, 2])
def test_after_a_step_of_mira_the_right_tree_is_better_by_the_loss(bank, order, trees):
    one = bank[7:8]
    parser = MstParser(order=order, **SMALL)
    parser.tag_layers_, parser.crossing_ = ("tags",), False
    layers, n = layers_of(one, ("tags",)), int(one.corpus.lengths[0])
    size, starts, heads = 1 << 16, one.corpus.sentence_starts, one.heads.astype(np.int32)
    weights = np.zeros(size, np.float32)
    learning = training.Learning(
        weights, np.zeros(size), np.zeros(size, np.float32), np.zeros(1, np.int64), trees, 1e9, 0.0
    )
    room, decoding = training.room_for(n, order, trees), parser.decoding(order)
    touched = np.empty((trees, (n + 4) * 4 * len(room.places)), np.uint32)
    assert training.learn(layers, np.zeros(1, np.int64), heads, starts, decoding, learning, room, touched) > 0
    guesses = room.trees[:, :n].copy()
    training.score(layers, 0, decoding, weights, room.marks, room.places, room.arcs, room.siblings)

    def value(tree):
        total = sum(room.arcs[h, m] for m, h in enumerate(tree, 1))
        if order == 2:
            total += sum(room.siblings[h, training._sibling_of(tree, m), m] for m, h in enumerate(tree, 1))
        return total

    margins = [value(heads) - value(guess) for guess in guesses]
    losses = [(guess != heads).sum() for guess in guesses]
    assert not learning.delta.any()
    if trees == 1:
        assert margins[0] == pytest.approx(losses[0], abs=1e-3)
    assert all(margin >= loss - 1e-2 for margin, loss in zip(margins, losses, strict=True))


@pytest.mark.parametrize(("order", "crossing"), [(1, False), (1, True), (2, False), (2, True)])
def test_room_to_spare_changes_nothing(bank, order, crossing):
    one = bank[7:8]
    layers, n, size = layers_of(one, ("tags",)), int(one.corpus.lengths[0]), 1 << 16
    decoding, learned = training.Decoding(order, crossing, True, np.uint64(48)), []
    for spare in 0, 9:
        weights, zeros = np.zeros(size, np.float32), np.zeros(size, np.float32)
        learning = training.Learning(weights, np.zeros(size), zeros, np.zeros(1, np.int64), 1, 1.0, 1.0)
        room = training.room_for(n + spare, order)
        room.trees[:], room.arcs[:] = n + spare, 5.0
        touched = np.empty((1, (n + spare) * 8 * len(room.places)), np.uint32)
        heads, sentences = one.heads.astype(np.int32), np.zeros(5, np.int64)
        training.learn(layers, sentences, heads, one.corpus.sentence_starts, decoding, learning, room, touched)
        learned.append(weights)
    assert learned[0].any() and np.array_equal(*learned)


def test_confidence_is_the_share_of_trees_and_n_best_lists_are_sorted(bank, parser):
    sentence = int(np.flatnonzero(bank.corpus.lengths == 5)[0])
    one = bank[sentence : sentence + 1]
    _, n, room, _ = scored(parser, one, 0, 2)
    parses = parser.parse(one, confidence=True)

    def value(tree):
        tree = np.array(tree, np.int32)
        return sum(room.arcs[h, m] + room.siblings[h, training._sibling_of(tree, m), m] for m, h in enumerate(tree, 1))

    trees = [tree for tree in all_heads(n) if is_projective(tree) and tree.count(0) == 1]
    weights = np.exp([value(tree) - parses.scores[0] for tree in trees])
    for word in range(n):
        share = sum(w for w, tree in zip(weights, trees, strict=True) if tree[word] == parses.heads[word])
        assert parses.confidence[word] == pytest.approx(share / weights.sum(), abs=1e-9)
    ranked = parser.k_best(one, 6)[0]
    best = sorted(map(value, trees), reverse=True)[:6]
    assert [score for _, score in ranked] == pytest.approx(best, abs=1e-6)
    listed = parser.best_trees(one, 6)
    assert len(listed) == 6 and "# rank = 2" in listed.comments[1]
    assert listed.heads[:n].tolist() == parses.heads.tolist()
    assert listed.relations.strings()[:n] == parser.annotate(one).relations.strings()


def test_the_number_of_workers_and_an_interruption_change_no_byte(bank, tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    MstParser(passes=2, workers=1, **SMALL).fit(bank[:30]).save(first)
    MstParser(passes=2, workers=2, **SMALL).fit(bank[:30]).save(second)
    assert first.read_bytes() == second.read_bytes()
    loaded = [corpuscle.load(path) for path in (first, second)]
    for workers, each in enumerate(loaded, 1):
        each.workers = workers
    outputs = [each.annotate(bank[30:]) for each in loaded]
    assert outputs[0].heads.tolist() == outputs[1].heads.tolist()


def test_development_trees_choose_the_passes(bank):
    parser = MstParser(passes=3, **SMALL).fit(bank[:40], bank[40:60])
    assert parser.chosen_["passes"] == int(np.argmax(parser.history_[:, 1])) + 1
    found = parser.parse(bank[40:60]).heads
    assert (found == bank[40:60].heads).mean() == pytest.approx(parser.history_[:, 1].max())


def test_lifting_makes_every_tree_projective_and_leaves_projective_ones_alone():
    for heads in all_heads(5):
        tree, lifted = np.array(heads, np.int32), np.zeros(5, np.int32)
        starts = np.array([0, 5])
        lift(tree, starts, lifted)
        assert is_tree(tuple(lifted.tolist())) and is_projective(tuple(lifted.tolist()))
        assert (lifted.tolist() == list(heads)) == is_projective(heads)
        assert bool(crossings(tree, starts)) != is_projective(heads)


def test_crossing_trees_choose_the_decoder():
    crossed = Treebank.from_sentences([["a", "b", "c", "d"]] * 3, **{name: rows * 3 for name, rows in CROSSED.items()})
    assert MstParser(passes=2, order=1, **SMALL).fit(crossed).crossing_
    parser = MstParser(passes=2, decode="projective", **SMALL).fit(crossed)
    assert not parser.crossing_ and parser.provenance_["lifted"] == 3
    assert MstParser(passes=3, order=1, **SMALL).fit(crossed).parse(crossed).heads.tolist() == [3, 4, 0, 3] * 3


def test_the_commands_train_parse_measure_and_draw(bank, tmp_path, capsys):
    gold, model, out = tmp_path / "gold.conllu", tmp_path / "m", tmp_path / "out.conllu"
    write_conllu(bank[:60], gold)
    train = {
        "method": str, "sentences": int, "words": int, "crossing": int, "lifted": int, "relations": int, "order": int,
        "nonprojective": bool, "sources": [str], "known_words": int,
        "temperature": float, "tuned": [str], "passes": int, "wrong_heads": float, "seconds": float,
    }  # fmt: skip
    options = ["--passes", "2", "--hash-bits", "14", "--relation-bits", "10", "--json"]
    assert main(["parse", "train", str(gold), "-o", str(model), *options]) == 0
    last_line_conforms(capsys.readouterr().out, train)
    assert main(["parse", "apply", str(model), str(gold), "-o", str(out), "--confidence"]) == 0
    assert main(["parse", "evaluate", str(gold), str(out), "--by", "relation", "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["uas"] > 0.9 and found["uas_low"] <= found["uas"] <= found["uas_high"]
    assert sum(row["words"] for row in found["by_relation"]) == found["words"]
    assert main(["parse", "evaluate", str(gold), "--model", str(model), "--json"]) == 0
    again = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert again["las"] == found["las"] and again["overlap_training"] == 1.0
    drawing = tmp_path / "t.svg"
    assert main(["parse", "draw", str(out), "-o", str(drawing), "--sentence", "2", "--other", str(gold)]) == 0
    assert "<svg" in drawing.read_text()
    lists = tmp_path / "lists.conllu"
    assert main(["parse", "apply", str(model), str(gold), "--nbest", "2", "-o", str(lists)]) == 0
    assert lists.read_text().count("# rank = 1") == 60
    assert main(["parse", "evaluate", str(gold), str(lists), "--json"]) == 0
    of_lists = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert of_lists["uas"] == found["uas"] <= of_lists["oracle_uas"] and 1 < of_lists["trees"] <= 2
    assert 0 <= again["calibration_error"] < 1
    assert again["calibration_error"] == pytest.approx(found["calibration_error"])
    assert main(["parse", "compare", str(gold), str(gold), str(out), "--json"]) == 0
    figures = {f"{name}_{side}": float for name in ("las", "uas", "complete") for side in "ab"}
    difference = dict.fromkeys(("difference", "low", "high", "deviation", "p_value"), float)
    last_line_conforms(capsys.readouterr().out, figures | difference | {"uas": difference})
    assert main(["parse", "curve", str(model), str(gold), str(out), "--points", "2", "--json"]) == 0
    names = [f"{name}{end}" for name in ("uas", "las") for end in ("", "_low", "_high")]
    point = {"sentences": int, "words": int} | dict.fromkeys(names, float)
    curve = last_line_conforms(capsys.readouterr().out, {"points": [point]})
    assert [each["sentences"] for each in curve["points"]] == [30, 60]


def test_punctuation_can_be_taken_out(tmp_path, capsys):
    marked = Treebank.from_sentences(
        [["so", ",", "it", "is", "."]], heads=[[2, 4, 4, 0, 4]], tags=[["ADV", "PUNCT", "PRON", "VERB", "PUNCT"]]
    )
    write_conllu(marked, tmp_path / "a.conllu")
    assert main(["parse", "strip", str(tmp_path / "a.conllu"), "-o", str(tmp_path / "b.conllu")]) == 0
    left = read_conllu(tmp_path / "b.conllu")
    assert left.corpus.words(0) == ["so", "it", "is"] and left.heads.tolist() == [3, 3, 0]
    assert main(["parse", "strip", str(tmp_path / "a.conllu"), "--punctuation", "penn"]) == 0
    assert capsys.readouterr().out.count("\tPUNCT\t") == 2


def test_raw_text_and_other_layers_are_sources_of_features(bank, tmp_path):
    known = joint_sources(class_sources(ExchangeClasses(classes=8, workers=1, passes=2).fit(bank.corpus)))
    plain = MstParser(passes=2, sources=("none",), **SMALL).fit(bank[:60])
    rich = MstParser(passes=2, sources=("lemmas", "features"), **SMALL).fit(bank[:60], known=known)
    assert plain.sources_ == () and rich.sources_ == ("lemmas", "features")
    layers = layers_of(bank[:60], rich.tag_layers_, rich.sources_, known)
    assert len(layers.lexical) == 2 + known.n_columns + 2 and not np.array_equal(plain.weights_, rich.weights_)
    at = layers.starts[0] + 2
    assert layers.lexical[2, at] == known.of([bank.corpus.words(0)[0]])[0, 0] != 0
    rich.save(tmp_path / "m")
    loaded = corpuscle.load(tmp_path / "m")
    assert loaded.parse(bank[60:80]).heads.tolist() == rich.parse(bank[60:80]).heads.tolist()
    with pytest.warns(CorpuscleWarning, match="no LEMMA"):
        loaded.parse(bank[:2].replace(lemmas=Layer.unset(bank[:2].corpus.n_tokens)))
    bare = bank.replace(features=Layer.unset(bank.corpus.n_tokens))
    assert MstParser(passes=1, **SMALL).fit(bare[:20]).sources_ == ()


def test_beside_right_tags_a_source_of_words_serves_with_one_value_and_beside_predicted_ones_with_all(bank):
    known = class_sources(BrownClasses(classes=8).fit(bank.corpus))
    gold, predicted = (
        MstParser(passes=1, tags=tags, **SMALL).fit(bank[:40], known=known) for tags in ("gold", "jackknife")
    )
    assert known.n_columns == 4 and gold.known_.n_columns == 1 and predicted.known_.n_columns == 4
    np.testing.assert_array_equal(gold.known_.values[:, 0], known.values[:, 0])


def test_the_margin_is_learned_until_right_trees_win_by_it(bank):
    wide, none = (MstParser(passes=4, order=1, augmented=wins, **SMALL).fit(bank[:40]) for wins in (True, False))

    def margin_of(parser):
        """How much better the right tree of a sentence is than the second best, in units of the largest weight."""
        gaps = []
        for trees, right in zip(parser.k_best(bank[:40], 2), range(40), strict=True):
            heads = [tree.tolist() for tree, _ in trees]
            if len(trees) == 2 and heads[0] == bank.sentence_heads(right).tolist():
                gaps.append(trees[0][1] - trees[1][1])
        return np.quantile(gaps, 0.1)

    assert margin_of(wide) > margin_of(none) and wide.history_[-1, 0] >= none.history_[-1, 0]


@pytest.mark.parametrize("settings", [{}, {"order": 1, "decode": "nonprojective"}])
def test_confidence_is_calibrated_on_trees_that_were_not_learned(bank, settings):
    raw = MstParser(passes=2, **SMALL, **settings).fit(bank[:60])
    tuned = MstParser(passes=2, **SMALL, **settings).fit(bank[:60], bank[60:90])
    folded = MstParser(passes=2, folds=2, **SMALL, **settings).fit(bank[:60])
    assert raw.temperature_ == 1.0 and tuned.temperature_ != 1.0 and folded.temperature_ != 1.0
    held = bank[60:90]

    def loss(parser, temperature):
        parser.temperature_ = temperature
        parses = parser.parse(held, confidence=True)
        likely = np.where(parses.heads == held.heads, parses.confidence, 1 - parses.confidence)
        return -np.log(np.clip(likely, 1e-6, 1)).mean()

    chosen = tuned.temperature_
    best = loss(tuned, chosen)
    assert all(best <= loss(tuned, chosen * factor) + 1e-12 for factor in (0.25, 0.5, 2.0, 4.0))
    with pytest.raises(SettingError, match="folds"):
        MstParser(folds=1)


def test_a_long_sentence_does_not_change_how_its_neighbours_are_parsed(bank, parser):
    both = [bank.corpus.words(3), *[["a"] * 310]]
    tags = [bank.tags[slice(*bank.corpus.sentence_starts[3:5].tolist())].strings(), ["N"] * 310]
    features = [bank.features[slice(*bank.corpus.sentence_starts[3:5].tolist())].strings(), ["_"] * 310]
    joined = Treebank.from_sentences(both, tags=tags, features=features)
    n = len(both[0])
    with pytest.warns(CorpuscleWarning, match="arcs alone"):
        found = parser.parse(joined)
    assert found.heads[:n].tolist() == parser.parse(bank[3:4]).heads.tolist()


def test_a_parser_with_a_tagger_inside_parses_text(bank, tmp_path, capsys):
    gold, model, text, out = (tmp_path / name for name in ("gold.conllu", "m", "new.txt", "out.conllu"))
    write_conllu(bank[:40], gold)
    options = ["--passes", "2", "--hash-bits", "14", "--relation-bits", "10", "--tags", "jackknife", "--quiet"]
    assert main(["parse", "train", str(gold), "-o", str(model), *options]) == 0
    text.write_text("".join(" ".join(bank.corpus.words(i)) + "\n" for i in range(3)))
    assert main(["parse", "apply", str(model), str(text), "-o", str(out)]) == 0
    parsed, parser = read_conllu(out), corpuscle.load(model)
    parsed.check_trees(single_root=True)
    assert parsed.tags.strings() == parser.tagger_.annotate(bank[:3]).tags.strings()
    assert parsed.heads.tolist() == parser.annotate(parser.tagged(bank[:3])).heads.tolist()
    scores = []
    for more in ([], ["--tags", "predict"]):
        assert main(["parse", "evaluate", str(gold), "--model", str(model), "--json", *more]) == 0
        scores.append(json.loads(capsys.readouterr().out.splitlines()[-1])["uas"])
    assert all(score > 0.6 for score in scores)
    plain = MstParser(passes=1, **SMALL).fit(bank[:10])
    plain.save(model)
    assert main(["parse", "apply", str(model), str(text)]) == 2
    assert "no tagger" in capsys.readouterr().err
    tagger = tmp_path / "t"
    parser.tagger_.save(tagger)
    assert main(["parse", "apply", str(model), str(text), "--tagger", str(tagger), "-o", str(out)]) == 0
    assert read_conllu(out).tags.strings() == parsed.tags.strings()


def test_bad_input_is_one_line(bank, parser, tmp_path, capsys):
    model = tmp_path / "m"
    parser.save(model)

    def row(number, head):
        return f"{number}\ta\t_\tA\t_\t_\t{head}\tx\t_\t_\n"

    rows = {
        "cycle.conllu": "# text = ab\n1-2\tab" + 8 * "\t_" + f"\n{row(1, 2)}{row(2, 1)}\n",
        "two.conllu": f"{row(1, 0)}\n{row(1, 0)}{row(2, 0)}\n",
        "far.conllu": "1\ta\t_\tA\t_\t_\t7\tx\t_\t_\n\n",
        "columns.conllu": "1\ta\t_\tA\n\n",
        "untagged.conllu": "1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n",
        "empty.conllu": "",
        "long.conllu": "".join(f"{i}\ta\t_\tA\t_\t_\t{i - 1}\tx\t_\t_\n" for i in range(1, 2001)) + "\n",
    }
    lines = {"cycle.conllu": 3, "two.conllu": 4, "far.conllu": 1, "columns.conllu": 1, "long.conllu": 1}
    for name, content in rows.items():
        (tmp_path / name).write_text(content)
        code = main(["parse", "train", str(tmp_path / name), "-o", str(tmp_path / "new")])
        errors = capsys.readouterr().err
        assert code == 2 and errors.count("error:") == 1 and len(errors.splitlines()) <= 2, (name, errors)
        assert name in errors and not (tmp_path / "new").exists()
        if name in lines:
            assert f"{name}:{lines[name]}: " in errors
    assert main(["parse", "apply", str(model), str(tmp_path / "untagged.conllu")]) == 2
    assert "no UPOS" in capsys.readouterr().err
    bare = Treebank.from_sentences([["a", "b"]], heads=[[0, 1]], tags=[["A", "B"]])
    without_names, new = str(tmp_path / "bare.conllu"), str(tmp_path / "new")
    write_conllu(bare, without_names)
    assert main(["parse", "train", without_names, "-o", new, "--hash-bits", "10"]) == 0
    assert main(["parse", "apply", new, without_names, "-o", str(tmp_path / "o")]) == 0
    assert read_conllu(tmp_path / "o").heads.tolist() == [0, 1]


def test_a_chart_has_room_for_every_sentence_of_a_chunk(bank, parser):
    whole = parser.parse(bank)
    single = [parser.parse(bank[i : i + 1]).heads.tolist() for i in range(len(bank))]
    assert whole.heads.tolist() == [head for heads in single for head in heads]
    assert charts.chart_for(3).complete.shape == (4, 4)
