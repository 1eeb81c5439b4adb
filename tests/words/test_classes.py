"""Word classes: the exchange algorithm against brute force, its promises, its model files, its commands."""

from __future__ import annotations

import json
from collections import Counter
from itertools import product

import numpy as np
import pytest

import corpuscle
from corpuscle import scale
from corpuscle.cli.main import main
from corpuscle.errors import InputError, Interrupted, SettingError
from corpuscle.learning import Checkpoint
from corpuscle.model import read
from corpuscle.random import Random
from corpuscle.text import END, FIRST, START, UNKNOWN, Corpus, Treebank, Vocab
from corpuscle.words import ExchangeClasses, Forest
from corpuscle.words.hard_classes import Search
from corpuscle.words.kernels import exchange
from corpuscle.words.settings import STARTS


def random_pairs(seed: int, words: int = 12, pairs: int = 300, tree: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Parents and children in 0..words-1 with many repetitions, self pairs and roots; every word is a child once.

    On a chain a token's parent is the token before it; on a tree it is any earlier token.
    """
    random = Random(seed, "pairs")
    children = [*range(words), *(int(words * random.uniform() ** 2) for _ in range(pairs))]
    parents = [words]
    for i in range(1, len(children)):
        parents.append(words if random.uniform() < 0.1 else children[random.below(i) if tree else i - 1])
    return np.array(parents), np.array(children)


def neighbours(parents: np.ndarray, children: np.ndarray, words: int) -> exchange.Neighbours:
    """What each word occurs with, from the parent (``words``: the root) and the child of every pair."""
    return exchange.neighbours_of(exchange.count_pairs(np.stack([parents, children]), words))


def objective_by_hand(parents: np.ndarray, children: np.ndarray, classes: np.ndarray) -> float:
    """F from its definition; the root is class -1."""

    def f(counts: Counter) -> float:
        return sum(n * np.log(n) for n in counts.values())

    assigned = [*classes.tolist(), -1]
    pairs = Counter((assigned[a], assigned[b]) for a, b in zip(parents, children, strict=True))
    left = Counter(assigned[a] for a in parents)
    right = Counter(assigned[b] for b in children)
    return f(pairs) - f(left) - f(right)


def planted(seed: int, words: int = 160, classes: int = 8, tokens: int = 20_000) -> tuple[Corpus, np.ndarray]:
    """Text from a class bigram model with Dirichlet(0.15) transitions and Zipf words; and each id's true class."""
    random = np.random.default_rng(seed)
    transitions = random.dirichlet(np.full(classes, 0.15), classes)
    truth = np.arange(words) % classes
    zipf = 1 / (1 + np.arange(words // classes))
    sentences, state = [], 0
    for _ in range(tokens // 20):
        sentence = []
        for _ in range(20):
            state = random.choice(classes, p=transitions[state])
            sentence.append(f"w{state + classes * random.choice(words // classes, p=zipf / zipf.sum())}")
        sentences.append(sentence)
    corpus = Corpus.from_sentences(sentences)
    return corpus, np.array([truth[int(word[1:])] for word in corpus.vocab.strings[FIRST:]])


def information(corpus: Corpus, classes: np.ndarray) -> float:
    """I of given classes of the types of a corpus."""
    words, n = len(corpus.vocab) - FIRST, corpus.n_tokens
    parents, children = Forest.chain(corpus).parent_words - FIRST, corpus.tokens - FIRST
    parents = np.where(parents < 0, words, parents)
    return objective_by_hand(parents, children, classes) / n + np.log(n)


def text(seed: int = 1, sentences: int = 400) -> Corpus:
    random = Random(seed, "text")
    words = [f"w{i}" for i in range(90)]
    return Corpus.from_sentences([
        [words[int(90 * random.uniform() ** 3)] for _ in range(random.below(12))] for _ in range(sentences)
    ])


def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every batch small, and worth the threads."""
    monkeypatch.setattr("corpuscle.words.hard_classes.PARALLEL", 1)
    monkeypatch.setattr("corpuscle.words.hard_classes.LONGEST", 1)


@pytest.mark.parametrize("tree", [False, True])
@pytest.mark.parametrize("n_classes", [1, 2, 4, 12])
def test_every_gain_is_the_recomputed_change_of_the_objective(n_classes: int, tree: bool) -> None:
    parents, children = random_pairs(n_classes, tree=tree)
    near = neighbours(parents, children, 12)
    classes = np.arange(12) % n_classes
    table = exchange.class_counts(near, classes, n_classes)
    assert exchange.objective(table) == pytest.approx(objective_by_hand(parents, children, classes), abs=1e-10)
    gain = np.empty(n_classes)
    for word in range(12):
        exchange.gains(near, table, word, exchange.empty_context(n_classes), gain)
        for c in range(n_classes):
            moved = classes.copy()
            moved[word] = c
            change = objective_by_hand(parents, children, moved) - exchange.objective(table)
            assert gain[c] - gain[classes[word]] == pytest.approx(change, abs=1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_a_proposal_is_the_best_single_move_of_all(seed: int) -> None:
    parents, children = random_pairs(seed, tree=bool(seed % 2))
    near = neighbours(parents, children, 12)
    classes = np.arange(12) % 4
    table = exchange.class_counts(near, classes, 4)
    proposals = np.zeros(12, np.int32)
    exchange.propose(near, table, 0, 12, proposals)
    for word in range(12):
        values = []
        for c in range(4):
            moved = classes.copy()
            moved[word] = c
            values.append(objective_by_hand(parents, children, moved))
        assert values[proposals[word]] == pytest.approx(max(values), abs=1e-9)


@pytest.mark.parametrize("share", [0.0, 0.05, 1.0])
def test_the_objective_never_falls_and_the_tables_stay_exact(share: float) -> None:
    parents, children = random_pairs(3, words=40, pairs=2000)
    near = neighbours(parents, children, 40)
    table = exchange.class_counts(near, np.arange(40) % 6, 6)
    starts = exchange.batches(near, share)
    proposals = np.zeros(40, np.int32)
    before, moved = exchange.objective(table), 0
    for _ in range(5):
        for batch in range(len(starts) - 1):
            moved += exchange.sweep(near, table, starts, batch, batch + 1, proposals)
            after = exchange.objective(table)
            assert after >= before
            before = after
    assert moved > 20
    fresh = exchange.class_counts(near, table.classes[:-1], 6)
    for kept, recomputed in zip(table, fresh, strict=True):
        np.testing.assert_array_equal(kept, recomputed)


def test_counts_beyond_the_table_of_x_log_x_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = text()
    with_table = ExchangeClasses(classes=5).fit(corpus)
    monkeypatch.setattr(exchange, "LARGEST_TABLE", 20)
    without = ExchangeClasses(classes=5).fit(corpus)
    np.testing.assert_array_equal(with_table.classes_, without.classes_)


def test_batches_cover_all_words_and_frequent_words_stand_alone() -> None:
    parents, children = random_pairs(5, words=50, pairs=4000)
    order = np.argsort(-np.bincount(children, minlength=50), kind="stable")
    rank = np.append(np.argsort(order), 50)
    near = neighbours(rank[parents], rank[children], 50)
    starts = exchange.batches(near, 0.03, 2)
    assert starts[0] == 0 and starts[-1] == 50
    sizes = np.diff(starts)
    assert sizes.min() == 1 and sizes.max() == 2
    for first, size in zip(starts, sizes, strict=False):
        assert size == 1 or near.degrees[exchange.UP, first : first + size].sum() <= 0.03 * len(children)


@pytest.mark.parametrize("start", ["best", "cyclic"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_planted_classes_are_found(seed: int, start: str) -> None:
    corpus, truth = planted(seed)
    model = ExchangeClasses(classes=8, start=start).fit(corpus)
    assert model.mutual_information_ >= 0.95 * information(corpus, truth)


def test_the_best_start_is_the_one_that_leads_after_its_trial() -> None:
    for seed in range(1, 5):
        corpus, _ = planted(seed, tokens=2000)
        tried = {start: ExchangeClasses(classes=8, start=start).fit(corpus) for start in ("frequent", "cyclic")}
        leader = max(tried.values(), key=lambda model: model.history_[:4][-1].mutual_information)
        best = ExchangeClasses(classes=8).fit(corpus)
        np.testing.assert_array_equal(best.classes_, leader.classes_)
        assert best.history_ == leader.history_


def test_the_history_rises_from_the_cyclic_start() -> None:
    corpus = text()
    model = ExchangeClasses(classes=7, start="cyclic").fit(corpus)
    values = [step.mutual_information for step in model.history_]
    assert values == sorted(values)
    ranks = np.argsort(np.argsort(-corpus.vocab.counts[FIRST:], kind="stable"))
    assert values[0] == pytest.approx(information(corpus, ranks % 7), abs=1e-12)
    assert values[-1] == pytest.approx(information(corpus, model.classes_[FIRST:]), abs=1e-12)


def test_the_log_likelihood_is_that_of_the_class_bigram_model() -> None:
    corpus = text()
    model = ExchangeClasses(classes=6).fit(corpus)
    before = Forest.chain(corpus).parent_words
    parents = np.where(before == START, -1, model.classes_[before])
    children = model.classes_[corpus.tokens]
    pairs = Counter(zip(parents.tolist(), children.tolist(), strict=True))
    left, right = Counter(parents.tolist()), Counter(children.tolist())
    words = Counter(corpus.tokens.tolist())
    by_hand = sum(
        np.log(pairs[a, b] / left[a] * words[w] / right[b])
        for a, b, w in zip(parents.tolist(), children.tolist(), corpus.tokens.tolist(), strict=True)
    )
    assert model.likelihood_ == pytest.approx(by_hand, rel=1e-12)
    assert model.n_tokens_ == corpus.n_tokens


def test_one_class_says_nothing_and_one_class_a_word_says_all() -> None:
    corpus = text(sentences=60)
    n_types = len(corpus.vocab) - FIRST
    one = ExchangeClasses(classes=1).fit(corpus)
    assert one.mutual_information_ == pytest.approx(0.0, abs=1e-12)
    each = ExchangeClasses(classes=n_types).fit(corpus)
    assert sorted(each.classes_[FIRST:]) == list(range(n_types))
    assert len(each.history_) == 2 and each.history_[1].moved == 0


def test_brute_force_over_all_partitions_bounds_the_result() -> None:
    corpus = Corpus.from_sentences([list("abcacbd"), list("dabcab"), list("ccadb"), list("abdd")])
    n_types = len(corpus.vocab) - FIRST
    best = max(information(corpus, np.array(classes)) for classes in product(range(2), repeat=n_types))
    found = max(ExchangeClasses(classes=2, start=start).fit(corpus).mutual_information_ for start in STARTS)
    assert found == pytest.approx(best, abs=1e-9)


def test_no_class_is_ever_empty_and_classes_are_numbered_by_falling_frequency() -> None:
    corpus = text()
    for start in STARTS:
        for classes in 2, 30, 60:
            model = ExchangeClasses(classes=classes, start=start).fit(corpus)
            counts = model.class_counts_
            assert (counts > 0).all() and (np.diff(counts) <= 0).all()
            assert counts.sum() == corpus.n_tokens


def test_the_result_is_the_same_on_any_number_of_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    corpus = text(2, 2000)
    before = ExchangeClasses(classes=9, workers=1).fit(corpus)
    small_batches(monkeypatch)
    for workers in 1, 2, 3, 7:
        after = ExchangeClasses(classes=9, workers=workers).fit(corpus)
        np.testing.assert_array_equal(before.classes_, after.classes_)
        assert before.history_ == after.history_


def test_a_random_start_depends_on_the_seed_and_on_nothing_else() -> None:
    corpus = text()
    first, again, other = (
        ExchangeClasses(classes=9, passes=0, start="random", seed=seed).fit(corpus).classes_ for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_trees_whose_heads_are_left_neighbours_give_what_the_text_gives() -> None:
    corpus = text()
    from_text = ExchangeClasses(classes=5).fit(corpus)
    bank = Treebank.from_sentences(list(corpus), heads=[range(n) for n in corpus.lengths])
    from_trees = ExchangeClasses(classes=5, structure="tree").fit(Forest.tree(bank))
    assert from_text.as_dict() == from_trees.as_dict()
    assert from_trees.apply(Forest.tree(bank)).tokens.tolist() == from_text.apply(corpus).tokens.tolist()
    with pytest.raises(SettingError, match="trees are needed"):
        ExchangeClasses(classes=5, structure="tree").fit(corpus)


def test_rare_words_share_one_type_with_a_class_of_its_own() -> None:
    corpus = Corpus.from_sentences([["a", "b", "a", "b", "x"], ["a", "b", "y"], ["b", "a"]])
    model = ExchangeClasses(classes=2, min_count=2).fit(corpus)
    assert model.vocab_.strings[FIRST:] == ["a", "b"] and model.vocab_.counts[UNKNOWN] == 2
    assert model.class_of("x") == model.class_of("never seen") == model.classes_[UNKNOWN]
    assert ExchangeClasses(classes=2, max_types=1).fit(corpus).vocab_.strings[FIRST:] == ["a"]
    with pytest.raises(SettingError, match="4 classes are too many for 3 different words"):
        ExchangeClasses(classes=4, min_count=2).fit(corpus)


def test_without_unknown_words_in_training_they_go_where_the_rarest_words_are() -> None:
    corpus = text()
    model = ExchangeClasses(classes=6).fit(corpus)
    counts = model.vocab_.counts[FIRST:]
    rarest = model.classes_[FIRST:][counts == counts.min()]
    assert model.class_of("never seen") == np.bincount(rarest).argmax()
    assert model.classes_[START] == model.classes_[END] == -1
    assert model.as_dict() == {word: model.class_of(word) for word in corpus.vocab.strings[FIRST:]}


def test_apply_puts_classes_in_the_place_of_words() -> None:
    corpus = text()
    model = ExchangeClasses(classes=6).fit(corpus)
    new = Corpus.from_sentences([["w1", "zzz", "w2"], [], ["w0"]])
    applied = model.apply(new)
    expected = [[str(model.class_of(word)) for word in sentence] for sentence in new]
    assert list(applied) == expected and len(applied) == 3
    np.testing.assert_array_equal(model.apply(corpus).tokens - FIRST, model.classes_[corpus.tokens])


def test_a_slice_of_a_corpus_counts_only_itself() -> None:
    corpus = text()
    part = corpus[:50]
    alone = Corpus.from_sentences(list(part))
    a, b = ExchangeClasses(classes=4).fit(part), ExchangeClasses(classes=4).fit(alone)
    assert a.history_ == b.history_ and a.vocab_ == b.vocab_


def test_a_model_file_gives_back_the_model(tmp_path) -> None:
    model = ExchangeClasses(classes=6, min_count=2).fit(text())
    path = tmp_path / "m"
    model.save(path)
    loaded = corpuscle.load(path)
    assert type(loaded) is ExchangeClasses and loaded.settings == model.settings and loaded.origins == model.origins
    np.testing.assert_array_equal(loaded.classes_, model.classes_)
    assert loaded.vocab_ == model.vocab_ and loaded.history_ == model.history_
    assert loaded.likelihood_ == model.likelihood_ and loaded.words_of(0) == model.words_of(0)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_a_model_file_with_impossible_classes_is_refused(tmp_path) -> None:
    for position, value in (FIRST, 6), (FIRST, -1), (START, 0):
        model = ExchangeClasses(classes=6).fit(text())
        model.classes_[position] = value
        with pytest.raises(ValueError):
            model.save(tmp_path / "m")


class StopAt(Checkpoint):
    """A checkpoint at which the user presses Ctrl-C at the given call."""

    calls = 0
    stop_at = 0

    def after(self, *args, **named) -> None:
        self.calls += 1
        self._stop.requested = self.calls == self.stop_at
        super().after(*args, **named)


@pytest.mark.parametrize(
    "start, stop_at",
    [("best", 1), ("best", 40), ("best", 200), ("best", 300), ("best", 450), ("best", 912), ("cyclic", 457)],
)
def test_an_interrupted_run_resumes_to_the_identical_bytes(tmp_path, monkeypatch, start: str, stop_at: int) -> None:
    small_batches(monkeypatch)
    monkeypatch.setattr("corpuscle.words.classes.Checkpoint", StopAt)
    corpus = text(3, 1000)
    learner = ExchangeClasses(classes=8, start=start)
    learner.fit(corpus).save(tmp_path / "whole")
    path = tmp_path / "m"
    with pytest.raises(Interrupted), learner.checkpoint(corpus, path) as checkpoint:
        checkpoint.stop_at = stop_at
        learner.fit(corpus, checkpoint=checkpoint)
    state = read(tmp_path / "m.partial", ExchangeClasses.PARTIAL)
    assert [f"stage/{stage}/classes" in state.arrays for stage in (0, 1)] == [state.extra["stage"] > n for n in (0, 1)]
    with pytest.raises(InputError, match="other data"):
        learner.checkpoint(corpus[1:], path, resume=True)
    assert ("places" in state.arrays) == (stop_at in (912, 457))  # where the tree is made
    with pytest.raises(InputError, match="passes was 15"):
        ExchangeClasses(classes=8, start=start, passes=3).checkpoint(corpus, path, resume=True)
    with pytest.raises(InputError, match="lowercase was False"):
        ExchangeClasses(classes=8, start=start, lowercase=True).checkpoint(corpus, path, resume=True)
    again = ExchangeClasses(classes=8, start=start, workers=3)
    with again.checkpoint(corpus, path, resume=True) as checkpoint:
        again.fit(corpus, checkpoint=checkpoint).save(path)
    assert path.read_bytes() == (tmp_path / "whole").read_bytes()
    assert not (tmp_path / "m.partial").exists()


@pytest.mark.parametrize(
    "settings, reason",
    [
        ({"classes": 0}, "classes is a whole number from 1 to 10,000; not 0"),
        ({"passes": -1}, "passes is a whole number from 0 to"),
        ({"min_count": 0}, "min_count is a whole number from 1 to"),
        ({"max_types": 0}, "max_types is a whole number from 1 to"),
        ({"workers": 0}, "workers is a whole number from 1 to 1,024"),
        ({"start": "here"}, "start is one of"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict, reason: str) -> None:
    with pytest.raises(SettingError, match=reason):
        ExchangeClasses(**settings)


def test_nothing_to_learn_from_is_an_error() -> None:
    empty = Corpus(np.empty(0, np.int32), np.zeros(3, np.int64), Vocab.from_words([]))
    with pytest.raises(SettingError, match="no words"):
        ExchangeClasses(classes=1).fit(empty)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A text file and a model learned from it by the command."""
    folder = tmp_path_factory.mktemp("classes")
    source = folder / "text.txt"
    source.write_text("\n".join(" ".join(words) for words in text()) + "\n", encoding="utf-8")
    model = folder / "m"
    assert main(["classes", "train", str(source), "-o", str(model), "--classes", "5", "--quiet"]) == 0
    return source, model


def test_train_reports_its_figures_as_json(trained, tmp_path, capsys) -> None:
    source, model = trained
    command = ["classes", "train", str(source), "-o", str(tmp_path / "m"), "--classes", "5"]
    assert main([*command, "--workers", "2", "--quiet", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    learned = corpuscle.load(model)
    assert figures["mutual_information"] == learned.mutual_information_
    assert figures["log_likelihood"] == learned.likelihood_
    assert figures["classes"] == 5 and figures["words"] == learned.n_tokens_
    assert (tmp_path / "m").read_bytes() == model.read_bytes()


def test_what_the_user_gave_is_recorded_as_given_even_if_it_is_the_default(trained, tmp_path) -> None:
    source, model = trained
    assert corpuscle.model.read(model).described["passes"][1] == "default"
    command = ["classes", "train", str(source), "-o", str(tmp_path / "m"), "--classes", "5", "--passes", "15"]
    assert main(command) == 0
    described = corpuscle.model.read(tmp_path / "m").described
    assert {name for name, (_, origin) in described.items() if origin == "given"} == {"classes", "passes"}


def test_a_model_is_not_written_to_stdout(trained, capsys) -> None:
    assert main(["classes", "train", str(trained[0]), "-o", "-", "--classes", "5"]) == 2
    assert "cannot go to stdout" in capsys.readouterr().err


def test_show_prints_the_most_frequent_words_of_each_class(trained, capsys) -> None:
    _, model = trained
    learned = corpuscle.load(model)
    assert main(["classes", "show", str(model), "-k", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5 and lines[0].split()[3:] == [word for word, _ in learned.words_of(0, 3)]
    assert main(["classes", "show", str(model), "--class", "2", "--class", "4", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["classes"]
    assert [row["class"] for row in rows] == [2, 4]
    assert rows[0]["words"][0] == dict(zip(("word", "count"), learned.words_of(2)[0], strict=True))
    assert main(["classes", "show", str(model), "--class", "5"]) == 2
    assert "there is no class 5; classes are 0 to 4" in capsys.readouterr().err


def test_export_writes_every_word_once(trained, tmp_path, capsys) -> None:
    _, model = trained
    learned = corpuscle.load(model)
    assert main(["classes", "export", str(model)]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert {word: int(number) for word, number, _ in rows} == {
        word: learned.class_of(word) for word in learned.vocab_.strings[FIRST:]
    }
    assert sum(int(count) for _, _, count in rows) == learned.n_tokens_
    paths = tmp_path / "paths"
    assert main(["classes", "export", str(model), "-o", str(paths), "--format", "paths"]) == 0
    by_path = [line.split("\t") for line in paths.read_text().splitlines()]
    number = {path: str(number) for number, path in enumerate(learned.tree_.paths)}
    assert sorted([word, number[path], count] for path, word, count in by_path) == sorted(rows)
    assert main(["classes", "export", str(model), "--format", "xml"]) == 2


def test_apply_writes_a_class_number_for_each_token_and_a_line_for_each_line(trained, tmp_path, capsys) -> None:
    _, model = trained
    learned = corpuscle.load(model)
    new = tmp_path / "new.txt"
    new.write_text("w0 w1\n\nzzz\n")
    assert main(["classes", "apply", str(model), str(new)]) == 0
    expected = [[str(learned.class_of(word)) for word in line.split()] for line in ("w0 w1", "", "zzz")]
    assert capsys.readouterr().out.split("\n")[:3] == [" ".join(words) for words in expected]


def test_lower_casing_is_kept_in_the_model_and_applied_again(tmp_path, capsys) -> None:
    source = tmp_path / "text"
    source.write_text("The dog\nthe cat\nTHE dog\n")
    model = tmp_path / "m"
    assert main(["classes", "train", str(source), "-o", str(model), "--classes", "2", "--lowercase", "--quiet"]) == 0
    assert corpuscle.load(model).vocab_.strings[FIRST:] == ["the", "dog", "cat"]
    capsys.readouterr()
    assert main(["classes", "apply", str(model), str(source)]) == 0
    assert len({line.split()[0] for line in capsys.readouterr().out.splitlines()}) == 1


@pytest.mark.parametrize(
    "content, arguments, reason",
    [
        ("a b\n", ["--classes", "0"], "classes is a whole number from 1 to 10,000; not 0"),
        ("a b\n", ["--classes", "3"], "3 classes are too many for 2 different words"),
        ("", ["--classes", "1"], "an empty text"),
        ("\n \n", ["--classes", "1"], "an empty text"),
        ("a b\n", ["--method", "magic"], "'magic' is not one of 'exchange'"),
        ("a b\n", ["--classes", "1", "--resume"], "nothing to resume"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(tmp_path, capsys, content, arguments, reason) -> None:
    source = tmp_path / "text"
    source.write_text(content)
    assert main(["classes", "train", str(source), "-o", str(tmp_path / "m"), *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and reason in error and error.count("\n") == 1
    assert not (tmp_path / "m").exists()


def test_other_files_are_not_taken_for_models(tmp_path, capsys) -> None:
    path = tmp_path / "text"
    path.write_text("a b\n")
    for action in "show", "export", "apply":
        assert main(["classes", action, str(path)]) == 2
        assert capsys.readouterr().err.startswith(f"error: {path}: ")


@pytest.mark.parametrize(("moved", "history"), [(1 << 62, 0.0), (0, 1e300), (0, np.nan), (0, -1.0)])
def test_unfinished_work_that_counts_what_cannot_be_is_refused(moved, history):
    parents, children = random_pairs(1)
    with scale.workers(1) as pool:
        search = Search(neighbours(parents, children, 12), 3, pool)
        search.begin(np.arange(12) % 3)
        state = search.state()
        search.restore({**state, "history": np.array([[1.0, 0.0]])}, 1, 0)
        wrong = {**state, "moved": np.array([moved]), "history": np.array([[1.0, history]])}
        with pytest.raises(ValueError, match=r"fit the text|more words"):
            search.restore(wrong, 1, 0)
