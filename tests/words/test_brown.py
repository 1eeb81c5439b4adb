"""Brown clustering: its bookkeeping against the definition, its promises, its tree, its model files, its commands."""

from __future__ import annotations

import json
import shutil
from collections import Counter

import numpy as np
import pytest

import corpuscle
from corpuscle.cli.main import main
from corpuscle.errors import InputError, Interrupted, SettingError
from corpuscle.model import read
from corpuscle.text import FIRST, UNKNOWN, Corpus, Treebank, read_conllu, write_conllu
from corpuscle.words import BrownClasses, ExchangeClasses, Forest, draw_tree
from corpuscle.words.kernels import brown
from tests.hostile import survives_hostile_edits
from tests.schemas import last_line_conforms
from tests.words.test_classes import StopAt, information, neighbours, planted, random_pairs, text

WORDS = 14


def ranked_pairs(seed: int, tree: bool) -> tuple[np.ndarray, np.ndarray]:
    """Random pairs of parents and children whose words are numbered by falling frequency."""
    parents, children = random_pairs(seed, WORDS, 300, tree)
    order = np.argsort(-np.bincount(children, minlength=WORDS), kind="stable")
    rank = np.append(np.argsort(order), WORDS)
    return rank[parents], rank[children]


def window_information(parents: np.ndarray, children: np.ndarray, places: list[int]) -> float:
    """N I of the classes of a window from the definition; a place of -1 is outside, margins are of the whole text."""
    pairs = Counter((places[a], places[b]) for a, b in zip(parents, children, strict=True))
    left, right = Counter(places[a] for a in parents), Counter(places[b] for b in children)
    total = len(children)
    return sum(n * np.log(n * total / (left[a] * right[b])) for (a, b), n in pairs.items() if min(a, b) >= 0)


class ByHand:
    """Brown clustering as the textbook has it: every loss recomputed from the text, after every step."""

    def __init__(self, parents: np.ndarray, children: np.ndarray, slots: int):
        self.parents, self.children, self.slots = parents, children, slots
        self.places = [-1] * WORDS + [slots]

    def losses(self) -> dict[tuple[int, int], float]:
        """The loss of every pair of classes."""
        before = window_information(self.parents, self.children, self.places)
        used = sorted({place for place in self.places[:-1] if place >= 0})
        return {
            (i, j): before - window_information(self.parents, self.children, [i if p == j else p for p in self.places])
            for i in used
            for j in used
            if i < j
        }


@pytest.mark.parametrize("tree", [False, True])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_classes", [1, 2, 5])
def test_every_loss_is_the_recomputed_drop_after_every_insertion_and_merger(
    n_classes: int, seed: int, tree: bool
) -> None:
    parents, children = ranked_pairs(seed, tree)
    near, total = neighbours(parents, children, WORDS), len(children)
    slots = n_classes + 2  # a slot more than the learner has, so that words come and mergers are made one at a time
    window, log = brown.empty_window(near, slots, total), brown.empty_log(WORDS, slots)
    hand, loss = ByHand(parents, children, slots), np.empty(slots)

    def check() -> dict[tuple[int, int], float]:
        hand.places[:-1] = brown.places(window).tolist()
        expected = hand.losses()
        for i in range(slots):
            brown.losses(window, i, loss)
            for j in range(slots):
                known = expected.get((min(i, j), max(i, j)), np.inf)
                assert loss[j] == known if np.isinf(known) else abs(loss[j] - known) / total < 1e-12
            before = [loss[j] for j in range(slots) if window.born[j] < window.born[i]]
            assert window.bounds[i] <= min(before, default=np.inf) + window.tolerance[0]
        return expected

    def merge() -> None:
        expected = check()
        brown.merge(near, window, log, 0, 0, 1)
        assert abs(log.losses[log.n_merges[0] - 1] - min(expected.values())) / total < 1e-12

    for word in range(WORDS):
        brown.merge(near, window, log, word, word + 1, 0)
        if window.active.sum() > n_classes:
            merge()
    while window.active.sum() > 1:
        merge()
    check()
    assert log.n_merges[0] == WORDS - 1 and log.nodes[np.flatnonzero(window.active)[0]] == 2 * WORDS - 2


@pytest.mark.parametrize("tree", [False, True])
def test_a_window_that_is_built_anew_is_the_same_to_the_last_bit(tree: bool) -> None:
    parents, children = ranked_pairs(7, tree)
    near = neighbours(parents, children, WORDS)
    window, log = brown.empty_window(near, 6, len(children)), brown.empty_log(WORDS, 6)
    for word in range(WORDS):
        brown.merge(near, window, log, word, word + 1, 0)
        again = brown.filled_window(near, brown.places(window), 6)
        np.testing.assert_array_equal(brown.places(again), brown.places(window))
        for name in ("active", "cells", "margins", "inside", "shared", "spent"):
            np.testing.assert_array_equal(getattr(again, name), getattr(window, name))


def test_counts_beyond_the_table_of_x_log_x_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = text()
    with_table = BrownClasses(classes=5).fit(corpus)
    monkeypatch.setattr(brown, "LARGEST_TABLE", 20)
    without = BrownClasses(classes=5).fit(corpus)
    np.testing.assert_array_equal(with_table.merges_, without.merges_)
    np.testing.assert_array_equal(with_table.tree_.losses, without.tree_.losses)


def test_the_whole_clustering_is_that_of_the_textbook() -> None:
    """A rival that recomputes everything makes the same classes."""
    for seed, tree in (1, False), (2, True), (3, False):
        parents, children = ranked_pairs(seed, tree)
        near = neighbours(parents, children, WORDS)
        window, log = brown.empty_window(near, 5, len(children)), brown.empty_log(WORDS, 5)
        brown.merge(near, window, log, 0, WORDS, 0)
        hand = ByHand(parents, children, WORDS)
        for word in range(WORDS):
            hand.places[word] = word
            if word >= 4:
                losses = hand.losses()
                i, j = min(losses, key=losses.__getitem__)
                hand.places = [i if place == j else place for place in hand.places]
        ours, theirs = brown.places(window).tolist(), hand.places[:-1]
        assert len(set(zip(ours, theirs, strict=True))) == 4 == len(set(ours)) == len(set(theirs))


def planted_trees(seed: int) -> tuple[Forest, np.ndarray]:
    """Trees from a class model: the words of ``planted``, but each token hangs on any earlier one."""
    random = np.random.default_rng(seed)
    transitions = random.dirichlet(np.full(8, 0.15), 8)
    zipf = 1 / (1 + np.arange(20))
    sentences, heads = [], []
    for _ in range(1000):
        heads.append([0, *(int(random.integers(1, i + 1)) for i in range(1, 20))])
        classes = [0]
        for head in heads[-1]:
            classes.append(random.choice(8, p=transitions[classes[head]]))
        sentences.append([f"w{c + 8 * random.choice(20, p=zipf / zipf.sum())}" for c in classes[1:]])
    forest = Forest.tree(Treebank.from_sentences(sentences, heads=heads))
    return forest, np.array([int(word[1:]) % 8 for word in forest.corpus.vocab.strings[FIRST:]])


def forest_information(forest: Forest, classes: np.ndarray) -> float:
    """I of given classes of the types of a forest."""
    words = len(forest.corpus.vocab) - FIRST
    parents = np.where(forest.parents < 0, words, forest.parent_words - FIRST)
    places = [*classes.tolist(), int(classes.max()) + 1]
    return window_information(parents, forest.corpus.tokens - FIRST, places) / forest.n_tokens


@pytest.mark.parametrize("seed", [1, 2])
def test_planted_classes_are_found_in_chains_and_trees(seed: int) -> None:
    corpus, truth = planted(seed)
    model = BrownClasses(classes=8).fit(corpus)
    assert model.mutual_information_ >= 0.99 * information(corpus, truth)
    forest, truth = planted_trees(seed)
    model = BrownClasses(classes=8, structure="tree").fit(forest)
    assert model.mutual_information_ >= 0.99 * forest_information(forest, truth)
    assert model.mutual_information_ == pytest.approx(forest_information(forest, model.classes_[FIRST:]), abs=1e-12)


def test_exchange_after_merging_never_loses_and_keeps_no_full_paths(tmp_path) -> None:
    corpus, _ = planted(1, tokens=3000)
    merged, refined = BrownClasses(classes=8).fit(corpus), BrownClasses(classes=8, passes=10).fit(corpus)
    assert refined.history_[0] == merged.history_[0]
    assert refined.mutual_information_ > merged.mutual_information_ and refined.merges_ is None
    assert refined.tree_.losses.sum() == pytest.approx(refined.mutual_information_, abs=1e-10)
    with pytest.raises(SettingError, match="exchanged after merging"):
        list(refined.rows(full_paths=True))
    refined.save(tmp_path / "m")
    assert corpuscle.load(tmp_path / "m").merges_ is None


def test_the_log_likelihood_is_n_times_information_minus_entropy() -> None:
    corpus = text()
    model = BrownClasses(classes=6).fit(corpus)
    assert model.mutual_information_ == pytest.approx(information(corpus, model.classes_[FIRST:]), abs=1e-12)
    counts = corpus.vocab.counts[FIRST:]
    entropy = -(counts / counts.sum() * np.log(counts / counts.sum())).sum()
    assert model.likelihood_ == pytest.approx(corpus.n_tokens * (model.mutual_information_ - entropy), rel=1e-12)


def test_words_that_behave_the_same_are_merged_first_and_ties_go_by_slots() -> None:
    twins = Corpus.from_sentences([["a", "x"], ["a", "y"], ["b", "x"], ["b", "y"]] * 3)
    model = BrownClasses(classes=2).fit(twins)
    assert model.class_of("a") == model.class_of("b") != model.class_of("x") == model.class_of("y")
    assert {frozenset(model.vocab_.word(i) for i in pair) for pair in model.merges_.tolist()} == {
        frozenset("ab"), frozenset("xy"),
    }  # fmt: skip
    alike = BrownClasses(classes=4).fit(Corpus.from_sentences([[word] for word in "abcdef"]))
    assert [alike.vocab_.word(i) for i in alike.merges_[0]] == ["a", "b"]


def test_the_tree_merges_everything_and_its_losses_are_all_the_information() -> None:
    corpus = text()
    for learner in BrownClasses(classes=20), ExchangeClasses(classes=20):
        model = learner.fit(corpus)
        tree = model.class_tree()
        assert tree.leaves == 20 and tree.losses.sum() == pytest.approx(model.mutual_information_, abs=1e-10)
        paths = tree.paths
        assert sum(2.0 ** -len(path) for path in paths) == 1  # no path is the beginning of another, none is missing
        counts = dict.fromkeys(range(39), 0) | dict(enumerate(model.class_counts_.tolist()))
        for m, (first, second) in enumerate(tree.merges.tolist()):
            assert counts[first] >= counts[second]
            counts[20 + m] = counts[first] + counts[second]


@pytest.mark.parametrize("learner", [BrownClasses(classes=20), ExchangeClasses(classes=20)])
def test_any_smaller_number_of_classes_comes_from_the_tree(learner, tmp_path) -> None:
    corpus = text()
    model = learner.fit(corpus)
    for classes in 1, 7, 19, 20:
        coarse = model.coarsened(classes)
        assert coarse.n_classes_ == classes and (np.diff(coarse.class_counts_) <= 0).all()
        known = information(corpus, coarse.classes_[FIRST:])
        assert coarse.mutual_information_ == pytest.approx(known, abs=1e-10)
        for number in range(20):
            members = coarse.classes_[model.classes_ == number]
            assert len(set(members.tolist())) == 1
            assert model.tree_.paths[number].startswith(coarse.tree_.paths[members[0]])
        coarse.save(tmp_path / "m")
        again = corpuscle.load(tmp_path / "m")
        np.testing.assert_array_equal(again.classes_, coarse.classes_)
    with pytest.raises(SettingError, match="20 classes can become 1 to 20, not 21"):
        model.coarsened(21)


def test_full_paths_are_those_of_the_classes_and_lead_to_single_words() -> None:
    corpus = text()
    model = BrownClasses(classes=9).fit(corpus)
    short = {word: path for path, word, _ in model.rows("paths")}
    full = {word: path for path, word, _ in model.rows("paths", full_paths=True)}
    assert short.keys() == full.keys() == set(corpus.vocab.strings[FIRST:])
    assert all(full[word].startswith(path) for word, path in short.items())
    assert sum(2.0 ** -len(path) for path in full.values()) == 1
    coarse = {word: path for path, word, _ in model.coarsened(4).rows("paths", full_paths=True)}
    assert coarse == full
    with pytest.raises(SettingError, match="means nothing without"):
        list(model.rows("tsv", full_paths=True))
    with pytest.raises(SettingError, match="not made by merging"):
        list(ExchangeClasses(classes=3).fit(corpus).rows("paths", full_paths=True))


def test_one_class_and_one_class_a_word() -> None:
    corpus = text(sentences=60)
    types = len(corpus.vocab) - FIRST
    one, each = BrownClasses(classes=1).fit(corpus), BrownClasses(classes=types).fit(corpus)
    assert one.mutual_information_ == pytest.approx(0.0, abs=1e-12) and one.tree_.paths == [""]
    assert sorted(each.classes_[FIRST:]) == list(range(types)) and len(each.merges_) == 0
    with pytest.raises(SettingError, match=f"{types + 1} classes are too many for {types} different words"):
        BrownClasses(classes=types + 1).fit(corpus)


def test_rare_words_are_one_word_and_its_class_is_learned() -> None:
    corpus = text()
    model = BrownClasses(classes=5, min_count=20).fit(corpus)
    assert model.vocab_.counts[UNKNOWN] > 0
    assert model.class_of("never seen") == model.classes_[UNKNOWN] >= 0
    assert ("<unk>", int(model.vocab_.counts[UNKNOWN])) in model.words_of(model.classes_[UNKNOWN])


def test_trees_whose_heads_are_left_neighbours_give_what_the_text_gives() -> None:
    corpus = text()
    bank = Treebank.from_sentences(list(corpus), heads=[range(n) for n in corpus.lengths])
    from_trees = BrownClasses(classes=5, structure="tree").fit(Forest.tree(bank))
    assert BrownClasses(classes=5).fit(corpus).as_dict() == from_trees.as_dict()


@pytest.mark.parametrize("stop_at, stage", [(1, 0), (20, 0), (91, 0), (150, 1), (368, 2), (376, 2)])
def test_an_interrupted_run_resumes_to_the_identical_bytes(tmp_path, monkeypatch, stop_at: int, stage: int) -> None:
    monkeypatch.setattr("corpuscle.words.hard_classes.LONGEST_MERGING", 1)
    monkeypatch.setattr("corpuscle.words.hard_classes.LONGEST", 1)
    monkeypatch.setattr("corpuscle.words.classes.Checkpoint", StopAt)
    corpus = text(3, 1000)
    learner = BrownClasses(classes=8, passes=3, workers=1)
    learner.fit(corpus).save(tmp_path / "whole")
    path = tmp_path / "m"
    with pytest.raises(Interrupted), learner.checkpoint(corpus, path) as checkpoint:
        checkpoint.stop_at = stop_at
        learner.fit(corpus, checkpoint=checkpoint)
    state = read(tmp_path / "m.partial", BrownClasses.PARTIAL)
    assert state.extra["stage"] == stage and ("places" in state.arrays) == (stage != 1)
    with pytest.raises(InputError, match="other data"):
        learner.checkpoint(corpus[1:], path, resume=True)
    again = BrownClasses(classes=8, passes=3, workers=3)
    with again.checkpoint(corpus, path, resume=True) as checkpoint:
        again.fit(corpus, checkpoint=checkpoint).save(path)
    assert path.read_bytes() == (tmp_path / "whole").read_bytes()
    assert not (tmp_path / "m.partial").exists()


@pytest.mark.parametrize(
    "name, edit, reason",
    [
        ("merges", lambda array: array[::-1], "damaged file"),
        ("places", lambda array: np.full_like(array, -1), "does not fit the text"),
        ("nodes", lambda array: array[::-1], "does not fit the classes"),
    ],
)
def test_unfinished_work_that_cannot_be_is_refused(tmp_path, monkeypatch, name, edit, reason) -> None:
    monkeypatch.setattr("corpuscle.words.hard_classes.LONGEST_MERGING", 1)
    monkeypatch.setattr("corpuscle.words.classes.Checkpoint", StopAt)
    corpus, path = text(3, 1000), tmp_path / "m"
    learner = BrownClasses(classes=8)
    with pytest.raises(Interrupted), learner.checkpoint(corpus, path) as checkpoint:
        checkpoint.stop_at = 40
        learner.fit(corpus, checkpoint=checkpoint)
    checkpoint = learner.checkpoint(corpus, path, resume=True)
    checkpoint.state.arrays[name] = edit(checkpoint.state.arrays[name])
    with pytest.raises(InputError, match=reason), checkpoint:
        learner.fit(corpus, checkpoint=checkpoint)


def test_a_model_file_gives_back_the_model(tmp_path) -> None:
    model = BrownClasses(classes=6, min_count=2).fit(text())
    path = tmp_path / "m"
    model.save(path)
    loaded = corpuscle.load(path)
    assert type(loaded) is BrownClasses and list(loaded.rows(full_paths=True)) == list(model.rows(full_paths=True))
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    "edit, reason",
    [
        (lambda m: m.tree_.merges.__setitem__((0, 0), m.tree_.merges[0, 1]), "merged twice"),
        (lambda m: m.tree_.merges.__setitem__((0, 0), 6), "before it is there"),
        (lambda m: setattr(m, "tree_", type(m.tree_)(m.tree_.merges[1:], m.tree_.losses[1:])), "does not fit"),
        (lambda m: m.merges_.__setitem__(slice(None), m.merges_[:, ::-1].max() + 1), "before it is there"),
        (lambda m: setattr(m, "merges_", m.merges_[:-1]), "not those that were merged"),
        (lambda m: m.classes_.__setitem__(FIRST, (m.classes_[FIRST] + 1) % 6), "not those that were merged"),
    ],
)
def test_a_model_file_with_an_impossible_tree_is_refused(tmp_path, edit, reason) -> None:
    model = BrownClasses(classes=6).fit(text())
    edit(model)
    with pytest.raises(ValueError, match=reason):
        model.save(tmp_path / "m")


def test_damaged_model_files_are_errors_and_nothing_worse(tmp_path) -> None:
    corpus = text(sentences=40)
    for number, learner in enumerate((BrownClasses(classes=5), ExchangeClasses(classes=5))):
        path = tmp_path / f"m{number}"
        learner.fit(corpus).save(path)

        def use(damaged):
            model = corpuscle.load(damaged)
            list(model.rows("paths"))
            model.coarsened(1).apply(corpus)
            draw_tree(model)
            if isinstance(model, BrownClasses):
                list(model.rows("paths", full_paths=True))

        assert survives_hostile_edits(path, use, edits=150) > 30


def test_damaged_unfinished_work_is_an_error_and_nothing_worse(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("corpuscle.words.hard_classes.LONGEST_MERGING", 1)
    monkeypatch.setattr("corpuscle.words.classes.Checkpoint", StopAt)
    corpus, path = text(3, 200), tmp_path / "m"
    learner = BrownClasses(classes=8)
    for stop_at in 40, 98:
        with pytest.raises(Interrupted), learner.checkpoint(corpus, path) as checkpoint:
            checkpoint.stop_at = stop_at
            learner.fit(corpus, checkpoint=checkpoint)
        shutil.copy(f"{path}.partial", tmp_path / "copy")

        def use(damaged):
            shutil.copy(damaged, f"{path}.partial")
            with learner.checkpoint(corpus, path, resume=True) as checkpoint:
                learner.fit(corpus, checkpoint=checkpoint).save(path)

        survives_hostile_edits(tmp_path / "copy", use, edits=60)


def test_an_old_file_without_a_tree_says_so() -> None:
    model = ExchangeClasses(classes=3).fit(text())
    model.tree_ = None
    with pytest.raises(SettingError, match="has no class tree"):
        list(model.rows("paths"))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A text file and a Brown model learned from it by the command."""
    folder = tmp_path_factory.mktemp("brown")
    source, model = folder / "text.txt", folder / "m"
    source.write_text("\n".join(" ".join(words) for words in text()) + "\n", encoding="utf-8")
    command = ["classes", "train", str(source), "-o", str(model), "--method", "brown", "--classes", "12", "--quiet"]
    assert main(command) == 0
    return source, model


def test_the_number_of_workers_changes_no_byte(trained, tmp_path) -> None:
    source, model = trained
    for workers in "1", "2", "5":
        command = ["classes", "train", str(source), "-o", str(tmp_path / "m"), "--method", "brown", "--classes", "12"]
        assert main([*command, "--workers", workers, "--quiet"]) == 0
        assert (tmp_path / "m").read_bytes() == model.read_bytes()


def test_the_paths_file_has_the_customary_columns_and_gives_back_the_classes(trained, tmp_path) -> None:
    _, model = trained
    learned = corpuscle.load(model)
    assert main(["classes", "export", str(model), "-o", str(tmp_path / "paths.txt")]) == 0
    rows = [line.split("\t") for line in (tmp_path / "paths.txt").read_text(encoding="utf-8").splitlines()]
    assert all(set(bits) <= {"0", "1"} for bits, _, _ in rows)
    assert [bits for bits, _, _ in rows] == sorted(bits for bits, _, _ in rows)
    number = {bits: learned.tree_.paths.index(bits) for bits, _, _ in rows}
    assert {word: number[bits] for bits, word, _ in rows} == learned.as_dict()
    assert {word: int(count) for _, word, count in rows} == dict(
        zip(learned.vocab_.strings[FIRST:], learned.vocab_.counts[FIRST:].tolist(), strict=True)
    )
    assert main(["classes", "export", str(model), "-o", str(tmp_path / "tsv"), "--format", "tsv"]) == 0
    assert (tmp_path / "tsv").read_text().splitlines()[0].split("\t")[1] == "0"


def test_show_has_the_paths(trained, capsys) -> None:
    _, model = trained
    learned = corpuscle.load(model)
    assert main(["classes", "show", str(model), "-k", "2"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[1] for line in lines] == learned.tree_.paths
    assert main(["classes", "show", str(model), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["method"] == "brown" and [row["path"] for row in shown["classes"]] == learned.tree_.paths


def test_what_the_commands_print_as_json_has_its_schema(trained, tmp_path, capsys) -> None:
    source, model = trained
    learned = {"mutual_information": float, "log_likelihood": float}
    trained_schema = {
        "method": str, "classes": int, "words": int, "types": int, "passes": int, **learned,
        "log_likelihood_per_word": float, "seconds": float, "model": str,
    }  # fmt: skip
    shown = {"class": int, "path": str | None, "count": int, "words": [{"word": str, "count": int}]}
    command = ["classes", "train", str(source), "-o", str(tmp_path / "m"), "--method", "brown", "--classes", "4"]
    for arguments, schema in (
        ([*command, "--quiet"], trained_schema),
        (["classes", "show", str(model)], {"method": str, "mutual_information": float, "classes": [shown]}),
        (
            ["classes", "coarsen", str(model), "-o", str(tmp_path / "c"), "--classes", "3"],
            {"classes": int, **learned, "model": str},
        ),
    ):
        assert main([*arguments, "--json"]) == 0
        last_line_conforms(capsys.readouterr().out, schema)


def test_coarsen_writes_a_model_with_fewer_classes(trained, tmp_path, capsys) -> None:
    _, model = trained
    assert main(["classes", "coarsen", str(model), "-o", str(tmp_path / "m"), "--classes", "4", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    coarse = corpuscle.load(tmp_path / "m")
    assert figures["classes"] == coarse.n_classes_ == 4
    assert figures["mutual_information"] == coarse.mutual_information_ < corpuscle.load(model).mutual_information_
    assert main(["classes", "coarsen", str(model), "-o", str(tmp_path / "n"), "--classes", "13"]) == 2
    assert not (tmp_path / "n").exists()


def test_draw_writes_a_picture_of_the_tree(trained, tmp_path) -> None:
    _, model = trained
    assert main(["classes", "draw", str(model), "-o", str(tmp_path / "t.svg"), "--classes", "5", "-k", "3"]) == 0
    picture = (tmp_path / "t.svg").read_text(encoding="utf-8")
    assert picture.startswith("<svg") and picture.count("<path") == 4
    for path in corpuscle.load(model).coarsened(5).tree_.paths:
        assert f">{path}</text>" in picture


def test_trees_are_learned_from_and_classes_written_back(tmp_path, capsys) -> None:
    corpus = text(5, 200)
    sentences = [sentence for sentence in corpus if sentence]
    bank = Treebank.from_sentences(
        sentences,
        heads=[[0, *([1] * (len(sentence) - 1))] for sentence in sentences],
        misc=[["SpaceAfter=No"] * len(sentence) for sentence in sentences],
    )
    source, model = tmp_path / "a.conllu", tmp_path / "m"
    write_conllu(bank, source)
    for method in "brown", "exchange":
        command = ["classes", "train", str(source), "-o", str(model), "--method", method, "--structure", "tree"]
        assert main([*command, "--classes", "6", "--quiet"]) == 0
        assert main(["classes", "apply", str(model), str(source), "-o", str(tmp_path / "b.conllu")]) == 0
        again, learned = read_conllu(tmp_path / "b.conllu"), corpuscle.load(model)
        words = bank.corpus.vocab.decode(bank.corpus.tokens)
        assert again.misc.strings() == [f"SpaceAfter=No|Class={learned.class_of(word)}" for word in words]
        np.testing.assert_array_equal(again.heads, bank.heads)
        capsys.readouterr()
        assert main(["classes", "apply", str(model), str(source), "--raw"]) == 2
        assert "--raw means nothing" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, reason",
    [
        (["--classes", "9"], "9 classes are too many for 2 different words"),
        (["--start", "cyclic"], "--start means nothing with --method brown"),
        (["--structure", "tree"], "trees are needed"),
        (["--passes", "-1"], "--passes is a whole number from 0 to"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(tmp_path, capsys, arguments, reason) -> None:
    source = tmp_path / "text"
    source.write_text("a b\n")
    command = ["classes", "train", str(source), "-o", str(tmp_path / "m"), "--method", "brown"]
    assert main([*command, *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and reason in error and error.count("\n") == 1
    assert not (tmp_path / "m").exists()
