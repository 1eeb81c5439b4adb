"""Metrics of texts and vectors: features, files of items, model files, commands."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

import corpuscle
from corpuscle.cli.main import main
from corpuscle.errors import CorpuscleWarning, InputError, SettingError
from corpuscle.metric import Items, MetricModel, evaluate, read_documents, read_items
from corpuscle.metric.features import counted, find_features, occurrences, resampled
from corpuscle.text import read_strings
from tests.schemas import FRACTION, conforms

NOUNS = ["cat", "dog", "house", "river", "king", "song", "tree", "boat", "moon", "road"]
NOISE = ["the", "a", "so", "and", *(f"n{i}" for i in range(30))]


def texts(seed: int = 1, groups: int = 10, each: int = 8) -> tuple[list[str], list[str]]:
    """Texts of one group share two nouns of their own; the rest is noise."""
    random = np.random.default_rng(seed)
    items, labels = [], []
    for group in range(groups):
        for _ in range(each):
            words = [NOUNS[group % 10], NOUNS[(group + 3) % 10], *random.choice(NOISE, 12)]
            items.append(" ".join(random.permutation(words)))
            labels.append(f"g{group}")
    return items, labels


def vectors_of(labels: list[str]) -> np.ndarray:
    """Vectors of four numbers that differ by label."""
    random = np.random.default_rng(1)
    _, number = np.unique(labels, return_inverse=True)
    return random.normal(size=(number.max() + 1, 4))[number] + 0.5 * random.normal(size=(len(labels), 4))


def write_items(path: Path, items: list[str], labels: list[str]) -> str:
    path.write_text("".join(f"{label}\t{item}\n" for label, item in zip(labels, items, strict=True)))
    return str(path)


def test_features_are_words_and_pairs_of_frequent_words() -> None:
    corpus = read_strings(["of the cat", "the cat of the cat", "", "the dog"])
    features = find_features(corpus, min_count=1, function_words=2)  # the, cat
    assert features.names() == ["of", "the", "cat", "dog", "the cat"]
    matrix = counted(*occurrences(read_strings(["the cat the cat xyz", "", "dog of"]), features), features)
    assert matrix.toarray().tolist() == [[0, 2, 2, 0, 2], [0, 0, 0, 0, 0], [1, 0, 0, 1, 0]]


def test_texts_are_drawn_to_equal_length() -> None:
    corpus = read_strings(["a a b c d e", "a", "", "b c"])
    features = find_features(corpus, 1, 0)
    found, starts = occurrences(corpus, features)
    drawn, begins = resampled(found, starts, 3, seed=1)
    assert np.diff(begins).tolist() == [3, 3, 0, 3]
    assert set(drawn[3:6].tolist()) == {0} and {1, 2} <= set(drawn[6:].tolist())
    counts = np.bincount(drawn[:3], minlength=5)
    assert (counts <= np.bincount(found[:6], minlength=5)).all()  # without replacement
    assert np.diff(resampled(found, starts, "median", seed=1)[1]).tolist() == [2, 2, 0, 2]


@pytest.mark.parametrize("method", ["discriminant", "distortion", "diagonal"])
def test_new_texts_of_known_kinds_are_found_better_than_before(method: str) -> None:
    items, labels = texts()
    model = MetricModel(method=method, dimensions=0).fit(items, labels)
    fresh = Items(*texts(seed=2))
    found = evaluate(model, fresh)
    assert found.results["metric"]["eleven_point"] > found.results["euclidean"]["eleven_point"] + 0.1
    assert found.gains["euclidean"].low > 0


def test_empty_and_unknown_texts_are_legal() -> None:
    items, labels = texts()
    model = MetricModel(dimensions=5).fit(items, labels)
    mapped = model.transform(["", "never seen words", items[0]])
    assert not mapped[:2].any() and np.linalg.norm(mapped[2]) == pytest.approx(1)
    found, distances = model.neighbours(items, 3)
    assert found.shape == (80, 3) and (found != np.arange(80)[:, None]).all() and (np.diff(distances) >= 0).all()


def test_sparse_and_dense_vectors_give_the_same_metric() -> None:
    random = np.random.default_rng(3)
    labels = np.repeat(np.arange(10), 6)
    dense = random.normal(size=(10, 7))[labels] + 0.3 * random.normal(size=(60, 7))
    dense[dense < 0] = 0
    for dimensions in (0, 4):
        one, other = (
            MetricModel(dimensions=dimensions, workers=1).fit(items, labels) for items in (dense, csr_array(dense))
        )
        np.testing.assert_allclose(one.transform(dense), other.transform(csr_array(dense)), atol=1e-9)


def test_at_most_so_many_items_of_a_group_are_learned_from() -> None:
    items, labels = texts(each=9)
    model = MetricModel(max_items=4, dimensions=3).fit(items, labels)
    assert model.provenance_["items"] == 40 and model.provenance_["groups"] == 10
    again = MetricModel(max_items=4, dimensions=3).fit(items, labels)
    np.testing.assert_array_equal(model.solution_.map, again.solution_.map)


def test_workers_change_no_byte(tmp_path: Path) -> None:
    items, labels = texts()
    for workers in (1, 3):
        MetricModel(dimensions=6, workers=workers).fit(items, labels).save(tmp_path / str(workers))
    assert (tmp_path / "1").read_bytes() == (tmp_path / "3").read_bytes()


def test_models_come_back_from_their_files(tmp_path: Path) -> None:
    items, labels = texts()
    vectors = vectors_of(labels)
    for content, settings in ((items, {"function_words": 3}), (items, {"dimensions": 0}), (vectors, {})):
        model = MetricModel(**settings).fit(content, labels)  # type: ignore[arg-type]
        model.save(tmp_path / "m")
        loaded = corpuscle.load(tmp_path / "m")
        np.testing.assert_array_equal(model.transform(content), loaded.transform(content))
        assert loaded.top_features(0, 3) == model.top_features(0, 3)


def test_what_does_not_fit_is_said() -> None:
    items, labels = texts()
    model = MetricModel(dimensions=3).fit(items, labels)
    with pytest.raises(SettingError, match="one of texts"):
        model.transform(np.eye(3))
    of_vectors = MetricModel().fit(vectors_of(labels), labels)
    with pytest.raises(SettingError, match="items of 3 numbers, where the metric is one of 4"):
        of_vectors.transform(np.eye(3))
    with pytest.raises(SettingError, match="one of vectors"):
        of_vectors.transform(["a"])
    with pytest.raises(SettingError, match="80 items cannot have 79 labels"):
        MetricModel().fit(items, labels[1:])
    with pytest.raises(SettingError, match="must be finite"):
        MetricModel().fit(np.full((80, 2), np.nan), labels)
    with pytest.raises(SettingError, match="no 500 dimensions"):
        MetricModel(dimensions=500).fit(items, labels)
    with pytest.raises(SettingError, match="span 2 dimensions, not 3"):
        flat = np.random.default_rng(1).normal(size=(80, 2)) @ np.ones((2, 5))
        flat[:, 0] += np.arange(80) % 7
        MetricModel(dimensions=3).fit(flat, labels)
    with pytest.raises(SettingError, match="means nothing with the method diagonal"):
        MetricModel(method="diagonal", directions=2)
    with pytest.warns(CorpuscleWarning, match="1 of 11 groups have one item"):
        MetricModel(dimensions=3).fit([*items, "a cat"], [*labels, "alone"])


def test_items_are_texts_or_vectors_by_the_first_row(tmp_path: Path) -> None:
    path = tmp_path / "items.tsv"
    path.write_text("x\t12\tsome words\ny\t13\tmore\n")
    assert read_items(path) == Items(["some words", "more"], ["x", "y"])
    path.write_text("x\t1\t2.5\ny\t-3\t4e1\n")
    assert read_items(path).content.tolist() == [[1, 2.5], [-3, 40]]  # type: ignore[union-attr]
    (tmp_path / "items.csv").write_text('x,1,2\n"y, z",3,4\n')
    assert read_items(tmp_path / "items.csv").labels == ["x", "y, z"]
    for content, line, reason in (
        ("x\t1\t2\ny\t3\n", 2, "1 numbers, where the first row has 2"),
        ("x\t1\ny\tword\n", 2, "not a number"),
        ("x\t1\ny\tnan\n", 2, "finite"),
        ("x\n", 1, "a label, a tab"),
        ("", None, "no items"),
    ):
        path.write_text(content)
        with pytest.raises(InputError, match=reason) as caught:
            read_items(path)
        assert caught.value.line == line


def test_documents_are_groups_of_sentences(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("a b\nc\n\nd e\n")
    assert read_documents(path) == Items(["a b", "c", "d e"], ["1", "1", "2"])


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train, test = write_items(tmp_path / "train.tsv", *texts()), write_items(tmp_path / "test.tsv", *texts(2))
    model = str(tmp_path / "m")
    assert main(["metric", "train", train, "-o", model, "--dimensions", "10", "--json"]) == 0
    learned = {"method": str, "items": int, "groups": int, "features": int, "dimensions": int, "directions": int}
    conforms(json.loads(capsys.readouterr().out), {**learned, "distance": str, "seconds": float, "model": str})
    assert main(["metric", "evaluate", model, test, "--starts", "2", "--draws", "50", "--json"]) == 0
    levels = {f"precision_at_{10 * i}": FRACTION for i in range(11)}
    result = {
        "eleven_point": FRACTION, "r_precision": FRACTION, "map": FRACTION, "queries": int, "skipped": int, **levels,
        "low": float, "high": float, "deviation": float, "signature": str,
    }  # fmt: skip
    gain = {"difference": float, "low": float, "high": float, "deviation": float, "p_value": float}
    agreement = {"rand": FRACTION, "balanced": FRACTION}
    conforms(
        json.loads(capsys.readouterr().out),
        {
            **result,
            "baselines": {"euclidean": result, "cosine": result},
            "gains": {"euclidean": gain, "cosine": gain},
            "k_means": {"metric": agreement, "euclidean": agreement, "cosine": agreement},
        },
    )
    assert main(["metric", "neighbours", model, test, "-k", "2", "--among", train]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == ["query", "rank", "item", "distance", "correct"] and len(rows) == 161
    assert sum(row[4] == "yes" for row in rows[1:]) > 80
    assert main(["metric", "apply", model, test]) == 0
    assert len(capsys.readouterr().out.splitlines()[0].split("\t")) > 2
    assert main(["metric", "show", model, "-n", "2", "-k", "3", "--json"]) == 0
    weight = {"feature": str, "weight": float}
    shown = {"distance": str, "directions": [{"direction": int, "value": float, "features": [weight]}]}
    conforms(json.loads(capsys.readouterr().out), shown)


def test_sentences_of_documents_as_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items, labels = texts()
    path = tmp_path / "text"
    path.write_text("".join(("\n" if i and labels[i] != labels[i - 1] else "") + f"{t}\n" for i, t in enumerate(items)))
    command = ["metric", "train", str(path), "-o", str(tmp_path / "m"), "--groups", "documents", "--json"]
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["groups"] == 10
    assert main([*command[:5], "--documents", "x.tsv"]) == 2
    assert "means nothing without --groups documents" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("x\ta\ny\tb\n", "no group has two items"),
        ("x\ta\nx\ta\n", "no group has any scatter"),
        ("", "there are no items"),
    ],
)
def test_bad_items_are_one_clear_line(
    content: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "items.tsv"
    path.write_text(content)
    assert main(["metric", "train", str(path), "-o", str(tmp_path / "m"), "--min-count", "1"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and reason in error and error.count("\n") == 1
    assert not (tmp_path / "m").exists()


def test_the_ridge_is_scaled_for_vectors_and_the_same_for_texts_and_the_choice_is_kept(tmp_path: Path) -> None:
    items, labels = texts()
    for material, singular in (items, "ridge"), (vectors_of(labels), "scaled"):
        model = MetricModel().fit(material, labels)
        assert model.chosen_ == {"singular": singular} and model.singular is None
        model.save(tmp_path / "m")
        assert corpuscle.load(tmp_path / "m").origins["singular"] == "tuned"
    assert MetricModel(singular="pinv").fit(items, labels).chosen_ == {}


def test_weights_of_features_need_no_table_of_pairs_of_features(tmp_path: Path) -> None:
    items, labels = texts()
    model = MetricModel(method="diagonal", dimensions=0).fit(items, labels)
    assert model.solution_.map.shape == (model.n_features_,)
    model.save(tmp_path / "m")
    again = corpuscle.load(tmp_path / "m")
    np.testing.assert_array_equal(model.transform(items[:5]), again.transform(items[:5]))
    name, weight = model.top_features(3, 1)[0]
    assert name == model.features_.names()[3] and weight == model.solution_.map[3]
