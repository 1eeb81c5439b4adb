"""Word vectors: exact cases, recovery of hidden classes, unknown words, model files, commands."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from scipy.cluster.vq import kmeans2

import corpuscle
from corpuscle.cli.main import main
from corpuscle.engine.linalg import unit_rows
from corpuscle.engine.linalg.sparse import Rows
from corpuscle.errors import Interrupted, SettingError
from corpuscle.learning import Checkpoint
from corpuscle.measure import compare_clusterings
from corpuscle.model import read
from corpuscle.text import FIRST, UNKNOWN, Corpus, ScoredPair, read_vectors
from corpuscle.words import LrmvlVectors, OsccaVectors, PpmiVectors, SvdVectors, TsccaVectors, cooccurrence
from corpuscle.words.cooccurrence import At, count_contexts, pointwise_information
from corpuscle.words.spelling import learn_spelling, signature_of, vocabulary_of
from tests.hostile import survives_hostile_edits
from tests.schemas import last_line_conforms

PLAIN = {"common": 0, "spelling": 0.0, "min_count": 1}
EXACT = {**PLAIN, "power": 1.0, "kappa": 0.0}
METHODS = (PpmiVectors, SvdVectors, OsccaVectors, TsccaVectors, LrmvlVectors)
NEAR = {**PLAIN, "subsample": 0.0}


@cache
def planted(seed: int = 1, words: int = 300, states: int = 6, tokens: int = 100_000) -> tuple[Corpus, np.ndarray]:
    """A sampled hidden Markov model in which each word comes from one state; and the state of each word."""
    chance = np.random.default_rng(seed)
    transitions = chance.dirichlet(np.full(states, 0.3), states).cumsum(axis=1)
    of_word = np.arange(words) % states
    emissions = chance.dirichlet(np.full(words // states, 1.0), states).cumsum(axis=1)
    draws, sentences, state = chance.uniform(size=(tokens, 2)), [], 0
    for first in range(0, tokens, 20):
        sentence = []
        for to, word in draws[first : first + 20]:
            state = min(int(np.searchsorted(transitions[state], to)), states - 1)
            which = min(int(np.searchsorted(emissions[state], word)), words // states - 1)
            sentence.append(f"w{which * states + state}")
        sentences.append(sentence)
    return Corpus.from_sentences(sentences), of_word


@cache
def text(seed: int = 1, sentences: int = 300) -> Corpus:
    """Nonsense: a Markov chain over twenty words that share syllables."""
    chance = np.random.default_rng(seed)
    words = [f"{first}{last}" for first in ("ba", "ki", "mo", "tu", "re") for last in ("na", "sol", "tik", "ra")]
    transitions = chance.dirichlet(np.full(20, 0.3), 20).cumsum(axis=1)
    result, state = [], 0
    for length in chance.integers(1, 12, sentences):
        for _ in range(length):
            state = min(int(np.searchsorted(transitions[state], chance.uniform())), 19)
            result.append(words[state])
        result.append("")
    return Corpus.from_sentences([part.split() for part in " ".join(result).split("  ")])


def states_found(model, of_word: np.ndarray) -> float:
    """The adjusted Rand index of k-means on unit rows with the true states, the best of three."""
    rows = unit_rows(model._scaled())[FIRST:]
    truth = [int(of_word[int(word[1:])]) for word in model.vocab_.strings[FIRST:]]
    found = (kmeans2(rows, 6, minit="++", seed=seed, iter=50) for seed in range(5))
    best = min(found, key=lambda centres_labels: ((rows - centres_labels[0][centres_labels[1]]) ** 2).sum())
    return float(compare_clusterings(best[1], truth)["adjusted_rand"])


# ---- what must be exact


def test_the_first_correlation_of_one_slot_is_one_and_says_nothing():
    corpus = text()
    types = len(corpus.vocab)
    counts = count_contexts(corpus, At((0,), (1,), False, types))
    p, q = counts.row_sums() / counts.values.sum(), counts.column_sums() / counts.values.sum()
    from corpuscle.engine.linalg.cca import diagonal_cca

    joint = counts._replace(values=counts.values / counts.values.sum())
    found = diagonal_cca(joint, p, q, 5)
    assert found.correlations[0] == pytest.approx(1.0, abs=1e-10)
    assert found.left[p > 0, 0] == pytest.approx(1.0, abs=1e-9) and found.right[q > 0, 0] == pytest.approx(
        1.0, abs=1e-9
    )


def test_with_c_slots_the_first_value_is_nearly_the_root_of_c():
    corpus, _ = planted()
    model = OsccaVectors(dimensions=3, window=2, **EXACT).fit(corpus)
    assert 1.95 < model.singular_values_[0] <= 2.0 + 1e-9
    dropped = OsccaVectors(dimensions=2, window=2, drop_first=1, **EXACT).fit(corpus)
    assert dropped.singular_values_ == pytest.approx(model.singular_values_[1:], rel=1e-3)


def test_words_of_one_state_have_equal_vectors_when_moments_are_exact():
    """A model in which each word comes from one state: p(word, next) by hand, in the place of counts."""
    from corpuscle.engine.linalg.cca import diagonal_cca

    chance = np.random.default_rng(2)
    states, words = 4, 24
    of_word = np.arange(words) % states
    transition = chance.dirichlet(np.ones(states), states)
    start = np.linalg.matrix_power(transition, 200)[0]
    emission = np.zeros((states, words))
    for state in range(states):
        emission[state, of_word == state] = chance.dirichlet(np.ones(words // states))
    joint = emission.T @ (start[:, None] * transition) @ emission
    found = diagonal_cca(Rows.of(joint), joint.sum(axis=1), joint.sum(axis=0), states + 1)
    assert (found.correlations[:states] > 1e-3).all() and found.correlations[states] < 1e-10  # as many as states
    for state in range(states):
        rows = found.left[of_word == state, :states]
        assert abs(rows - rows[0]).max() < 1e-10


def test_pointwise_information_is_its_formula():
    counts = np.array([[0.0, 4.0, 1.0], [2.0, 0.0, 1.0], [3.0, 2.0, 0.0]])
    found = pointwise_information(Rows.of(counts), counts.sum(axis=0), 0.75, 1.5).dense()
    chances = counts.sum(axis=0) ** 0.75
    with np.errstate(divide="ignore"):
        exact = np.log(counts / counts.sum(axis=1, keepdims=True) / (chances / chances.sum())) - np.log(1.5)
    assert found == pytest.approx(np.maximum(0, exact))


def test_a_word_whose_counts_are_folded_in_gets_the_row_that_training_gave_it():
    model = PpmiVectors(dimensions=6, **PLAIN).fit(corpus := text())
    counts = model._count_near(corpus.counted().recode(model.vocab_))
    assert model.folded(counts) == pytest.approx(model.projection_, abs=2e-5)


def test_two_steps_are_the_cca_of_words_with_projected_contexts():
    """The second step with S formed token by token."""
    corpus = text(3, 60)
    model = TsccaVectors(dimensions=4, window=1, **EXACT).fit(corpus)
    coded = corpus.counted().recode(model.vocab_)
    types = len(model.vocab_)
    from corpuscle.engine.linalg.cca import diagonal_cca
    from corpuscle.text import END, START

    before, words, after = [], [], []
    for number in range(len(coded)):
        padded = [START, *coded.sentence(number), END]
        before += padded[:-2]
        words += padded[1:-1]
        after += padded[2:]
    left, word, right = (np.eye(types)[each] for each in (before, words, after))
    state = diagonal_cca(Rows.of(left.T @ right), left.sum(axis=0), right.sum(axis=0), 4)
    both = np.hstack([left @ state.left, right @ state.right])
    values, vectors = np.linalg.eigh(both.T @ both)
    keep = values > 1e-8 * values.sum()
    whitened = (word / np.sqrt(np.maximum(1, word.sum(axis=0)))).T @ both @ (vectors[:, keep] / np.sqrt(values[keep]))
    assert model.singular_values_ == pytest.approx(np.linalg.svd(whitened, compute_uv=False)[:4], abs=1e-6)
    assert model.singular_values_.max() <= 1 + 1e-9


def test_smooths_are_their_recursion_and_lrmvl_states_are_white():
    from corpuscle.words.kernels.contexts import smooths

    tokens, starts = np.array([3, 1, 2, 2, 1], np.int32), np.array([0, 0, 3, 5])
    table, rates = np.random.default_rng(1).normal(size=(4, 2)), np.array([0.25, 1.0])
    left, right = smooths(tokens, starts, table, rates)
    assert left[2, :2] == pytest.approx(0.75 * 0.25 * table[3] + 0.25 * table[1]) and not left[[0, 3]].any()
    assert left[2, 2:] == pytest.approx(table[1]) and right[0, 2:] == pytest.approx(table[1])
    assert right[0, :2] == pytest.approx(0.25 * table[1] + 0.75 * 0.25 * table[2]) and not right[[2, 4]].any()
    model = LrmvlVectors(dimensions=5, passes=3, **PLAIN).fit(corpus := text())
    states = model.token_vectors(corpus)
    assert states.shape == (corpus.n_tokens, 10)
    assert states[:, :3].T @ states[:, :3] / corpus.n_tokens == pytest.approx(np.eye(3), abs=1e-9)
    assert states[:, 8:].T @ states[:, 8:] / corpus.n_tokens == pytest.approx(np.eye(2), abs=1e-9)
    assert len(model.angles_) == 3


@pytest.mark.parametrize(
    ("model", "least"),
    [
        (OsccaVectors(dimensions=6, **EXACT), 0.9),
        (OsccaVectors(dimensions=6, power=0.5, **PLAIN), 0.9),
        (TsccaVectors(dimensions=6, **EXACT), 0.75),
        (LrmvlVectors(dimensions=6, **PLAIN), 0.6),
        (LrmvlVectors(dimensions=6, last="cca", **PLAIN), 0.6),
    ],
    ids=["oscca", "oscca, square roots", "tscca", "lrmvl", "lrmvl, cca"],
)
def test_hidden_states_are_recovered_better_than_by_plain_counts(model, least):
    corpus, of_word = planted()
    found = states_found(model.fit(corpus), of_word)
    plain = SvdVectors(dimensions=6, window=2, weighting="flat", subsample=0.0, exponent=1.0, **PLAIN).fit(corpus)
    assert found >= least and found > states_found(plain, of_word)


# ---- promises


@pytest.mark.parametrize("method", METHODS)
def test_seeds_and_workers_change_what_they_should(method, monkeypatch, tmp_path):
    monkeypatch.setattr(cooccurrence, "CHUNK", 200)
    monkeypatch.setattr("corpuscle.engine.linalg.sparse.WORK", 300)
    corpus, small = text(), {"dimensions": 4, "min_count": 1}
    contents = []
    for settings in {"workers": 1}, {"workers": 3}, {"workers": 1, "seed": 1}:
        method(**small, **settings).fit(corpus).save(tmp_path / "model")
        contents.append(read(tmp_path / "model").arrays)
    for other in contents[1:]:
        assert all(contents[0][name].tobytes() == other[name].tobytes() for name in other)


@pytest.mark.parametrize("method", METHODS)
def test_a_model_file_gives_back_the_model_and_vectors_of_unknown_words(method, tmp_path):
    corpus = text()
    more = {"subsample": 0.0, "negative": 1.0} if method is PpmiVectors else {}
    model = method(dimensions=4, min_count=1, **more).fit(corpus)
    model.save(tmp_path / "model")
    loaded = corpuscle.load(tmp_path / "model")
    assert repr(loaded) == repr(model) and loaded.nearest("bana") == model.nearest("bana")
    # A new word where another always stands: contexts alone make it that word's neighbour.
    replaced = Corpus.from_sentences([["xyz" if word == "kitik" else word for word in words] for words in corpus])
    vocab, vectors = loaded.replace(spelling=0.0).fit(corpus).apply(replaced)
    known = model.replace(spelling=0.0).fit(corpus)
    cosines = known.vectors_[FIRST:] @ vectors[vocab.id("xyz")]
    assert known.vocab_.word(FIRST + int(cosines.argmax())) == "kitik" and cosines.max() > 0.8
    assert np.array_equal(vectors[vocab.id("bana")], known.vectors_[known.vocab_.id("bana")])
    assert np.linalg.norm(vectors[FIRST:], axis=1) == pytest.approx(1.0, abs=1e-5)


def test_vectors_are_unit_rows_without_what_all_words_share():
    model = PpmiVectors(dimensions=8, min_count=1, common=2).fit(text())
    rows = model.vectors_[FIRST:].astype(np.float64)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0, abs=1e-6)
    assert abs(rows @ model.directions_.T).max() < 1e-6 and model.directions_.shape == (2, 8)
    assert model.projection_.T @ model.projection_ == pytest.approx(np.eye(8), abs=1e-5)  # unscaled, as it was found
    assert (np.diff(model.singular_values_) <= 0).all() and not model.vectors_[[UNKNOWN, 1, 2]].any()


def test_unknown_words_have_the_vectors_of_their_spelling():
    model = PpmiVectors(dimensions=6, min_count=1).fit(text())
    assert "banasol" not in model and np.linalg.norm(model.vector("banasol")) == pytest.approx(1.0, abs=1e-6)
    assert model.nearest("banasol", 3)
    with pytest.raises(SettingError, match="nothing is known of the word 'zzz'"):
        model.vector("zzz")
    plain = PpmiVectors(dimensions=6, min_count=1, spelling=0.0).fit(text())
    with pytest.raises(SettingError, match="nothing is known"):
        plain.vector("banasol")


def test_pieces_of_words_learn_what_words_share():
    chance = np.random.default_rng(1)
    meanings = chance.normal(size=(2, 5))
    words = [f"{stem}{ending}" for stem in ("wal", "tal", "jum", "coo", "bak", "hel") for ending in ("king", "kness")]
    vectors = np.array([meanings[int(word.endswith("kness"))] for word in words])
    spelling, said = learn_spelling(words, np.full(len(words), 1000), vectors)
    assert said == pytest.approx(vectors, abs=0.35)
    new = spelling.vectors_of(["zorkness", "qq"])
    cosine = new[0] @ meanings[1] / np.linalg.norm(new[0]) / np.linalg.norm(meanings[1])
    assert cosine > 0.9 and not new[1].any()


def test_rare_words_share_classes_by_what_they_look_like():
    rare = [["the", f"{stem}ing", "of", f"{number}"] for number, stem in enumerate(("Walk", "Runn", "Sitt", "Bak"))]
    corpus = Corpus.from_sentences([*rare * 1, *[["the", "of"]] * 5])
    vocab, mapping = vocabulary_of(corpus.vocab, 3, None, "signature")
    assert set(vocab.strings[FIRST:]) == {"the", "of", "<unk:A:ng>", "<unk:0>"}
    assert mapping[corpus.vocab.id("Walking")] == vocab.id("<unk:A:ng>") and vocab.counts[vocab.id("<unk:0>")] == 4
    assert vocab.counts.sum() == corpus.n_tokens and (np.diff(vocab.counts[FIRST:]) <= 0).all()
    assert vocabulary_of(corpus.vocab, 3, None, "unknown")[0].strings[FIRST:] == ["the", "of"]
    model = OsccaVectors(dimensions=2, min_count=3, rare="signature", spelling=0.0).fit(corpus)
    assert np.array_equal(model.vector("Sleeping"), model.vectors_[model.vocab_.id(signature_of("Sleeping"))])


def test_neighbours_and_analogies_are_the_largest_cosines():
    model = PpmiVectors(dimensions=6, negative=1.0, **NEAR).fit(text())
    rows = dict(zip(model.vocab_.strings[FIRST:], model.vectors_[FIRST:], strict=True))
    ranked = sorted((-float(rows["bana"] @ row), word) for word, row in rows.items() if word != "bana")
    assert [word for word, _ in model.nearest("bana", 4)] == [word for _, word in ranked[:4]]
    query = rows["basol"] - rows["bana"] + rows["kina"]
    left = {word: float(query @ row) for word, row in rows.items() if word not in ("bana", "basol", "kina")}
    assert model.analogy("bana", "basol", "kina", 1)[0][0] == max(left, key=lambda word: left[word])
    questions = [("bana", "basol", "kina", max(left, key=lambda word: left[word])), ("bana", "basol", "kina", "zzz")]
    known, found = model.analogies(questions)
    assert known.tolist() == [True, False] and found.tolist() == [True, False]


def test_similarity_leaves_out_pairs_without_vectors():
    model = PpmiVectors(dimensions=6, negative=1.0, **NEAR).fit(text())
    words = model.vocab_.strings[FIRST:]
    cosine = {word: float(model.vector(words[0]) @ model.vector(word)) for word in words[1:9]}
    pairs = [ScoredPair(words[0], word, score) for word, score in cosine.items()]
    result = model.similarity([*pairs, ScoredPair("zzz", words[0], 3.0)], draws=20)
    assert result["spearman"] == pytest.approx(1.0) and result["covered"] == 8 and result["pairs"] == 9
    with pytest.raises(SettingError, match="1 of 1 pairs have vectors of both words"):
        model.similarity(pairs[:1])
    with pytest.raises(SettingError, match="no pairs"):
        model.similarity([])


def test_an_interrupted_run_of_lrmvl_resumes_to_the_identical_bytes(tmp_path, monkeypatch):
    corpus, settings = text(), {"dimensions": 4, "min_count": 1, "passes": 5}
    model = LrmvlVectors(**settings)
    model.fit(corpus).save(tmp_path / "whole")
    calls = []
    plain = Checkpoint.after

    def after(self, *args, **named):
        calls.append(1)
        if len(calls) == 2:
            self._stop.requested = True
        plain(self, *args, **named)

    monkeypatch.setattr(Checkpoint, "after", after)
    path = tmp_path / "model"
    with pytest.raises(Interrupted), model.checkpoint(corpus, path) as checkpoint:
        LrmvlVectors(**settings).fit(corpus, checkpoint=checkpoint)
    with model.checkpoint(corpus, path, resume=True) as checkpoint:
        LrmvlVectors(**settings).fit(corpus, checkpoint=checkpoint).save(path)
    whole, resumed = read(tmp_path / "whole").arrays, read(path).arrays
    assert all(whole[name].tobytes() == resumed[name].tobytes() for name in whole)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("method", METHODS)
def test_damaged_models_are_refused_or_harmless(method, tmp_path):
    method(dimensions=3, min_count=1).fit(text()).save(tmp_path / "model")
    other = Corpus.from_sentences([["bana", "xyz", "basol"], ["kina"]])

    def use(path):
        model = corpuscle.load(path)
        model.nearest("bana", 3)
        model.apply(other)

    assert survives_hostile_edits(tmp_path / "model", use, edits=100) > 20


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("last", [0.0, 1e-200])
def test_singular_values_that_no_text_has_are_refused(method, last, tmp_path):
    model = method(dimensions=3, min_count=1).fit(text())
    model.singular_values_ = np.array([*model.singular_values_[:-1], last])
    with pytest.raises(ValueError, match=r"'singular_values' has the value .*, below"):
        model.save(tmp_path / "model")


# ---- bad input


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"dimensions": 21}, "21 dimensions are too many for 20 words"),
        ({"dimensions": 5, "common": 5}, "leaves nothing"),
        ({"dimensions": 2, "min_count": 10_000}, "no word occurs 10000 times"),
        ({"window": 0}, "from 1 to 1,000"),
        ({"weighting": "steep"}, "one of flat, linear, harmonic"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, reason):
    with pytest.raises(SettingError, match=reason):
        PpmiVectors(**{"min_count": 1, **settings}).fit(text())


def test_more_dimensions_than_the_counts_have_are_refused_with_the_rank():
    corpus = Corpus.from_sentences([["a", "b"], ["c", "d"], ["e", "f"]] * 3)
    with pytest.raises(SettingError, match=r"rank 6 .*singular values|too many for 6 words"):
        SvdVectors(dimensions=7, min_count=1).fit(corpus)
    lone = Corpus.from_sentences([["a", "b"], ["c"], ["d"], ["e"]])
    with pytest.raises(SettingError, match="rank 2 "):
        SvdVectors(dimensions=4, min_count=1).fit(lone)


def test_nothing_to_learn_from_is_an_error():
    for corpus in Corpus.from_sentences([]), Corpus.from_sentences([[], []]):
        with pytest.raises(SettingError, match="no words"):
            PpmiVectors().fit(corpus)


# ---- commands


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vectors")
    lines = [" ".join(words) for words in text()]
    (folder / "text").write_text("\n".join(lines) + "\n")
    assert main(["vectors", "train", f"{folder}/text", "-o", f"{folder}/model", "--dimensions", "5", "-q"]) == 0
    return folder


def test_train_reports_its_figures_as_json(trained, tmp_path, capsys):
    schema = {
        "method": str, "dimensions": int, "words": int, "types": int, "first_singular_value": float,
        "last_singular_value": float, "seconds": float, "model": str,
    }  # fmt: skip
    for method in "ppmi", "svd", "oscca", "tscca", "lrmvl":
        arguments = ["vectors", "train", f"{trained}/text", "-o", f"{tmp_path}/m", "--method", method]
        assert main([*arguments, "--dimensions", "4", "--json"]) == 0
        figures = last_line_conforms(capsys.readouterr().out, schema)
        assert figures["method"] == method and figures["types"] == 20 and figures["dimensions"] == 4


def test_questions_are_answered_as_json_and_as_text(trained, tmp_path, capsys):
    model, words = f"{trained}/model", [{"word": str, "cosine": float}]
    assert main(["vectors", "nearest", model, "bana", "-k", "3", "--json"]) == 0
    found = last_line_conforms(capsys.readouterr().out, {"word": str, "known": bool, "words": words})
    assert len(found["words"]) == 3 and found["known"]
    assert main(["vectors", "nearest", model, "bana", "-k", "2"]) == 0
    assert capsys.readouterr().out.splitlines()[0].split("\t")[0] == found["words"][0]["word"]
    assert main(["vectors", "analogy", model, "bana", "basol", "kina", "--json"]) == 0
    last_line_conforms(capsys.readouterr().out, {"a": str, "b": str, "c": str, "words": words})
    (tmp_path / "questions").write_text(": endings\nbana basol kina kisol\nbana basol kina zzz\n")
    assert main(["vectors", "analogies", model, f"{tmp_path}/questions", "--json"]) == 0
    schema = {"accuracy": float, "questions": int, "covered": int, "low": float, "high": float, "signature": str}
    assert last_line_conforms(capsys.readouterr().out, schema)["covered"] == 1


def test_similarity_reports_coverage_and_interval(trained, tmp_path, capsys):
    (tmp_path / "pairs.tsv").write_text(
        "word1\tword2\tscore\nbana\tbasol\t3\nbana\tkina\t2.5\nkitik\tmona\t1\nzz\tbana\t0\n"
    )
    assert main(["vectors", "similarity", f"{trained}/model", f"{tmp_path}/pairs.tsv", "--json"]) == 0
    schema = {
        "spearman": float, "pairs": int, "covered": int, "low": float, "high": float, "deviation": float,
        "signature": str,
    }  # fmt: skip
    figures = last_line_conforms(capsys.readouterr().out, schema)
    assert figures["pairs"] == 4 and figures["covered"] == 3


def test_export_and_apply_write_word2vec_text_that_reads_back(trained, tmp_path, capsys):
    assert main(["vectors", "export", f"{trained}/model", "-o", f"{tmp_path}/out.txt"]) == 0
    model = corpuscle.load(trained / "model")
    vocab, vectors = read_vectors(tmp_path / "out.txt")
    assert vocab == model.vocab_ and vectors.tobytes() == np.ascontiguousarray(model.vectors_).tobytes()
    (tmp_path / "new").write_text("bana xyzzy basol\n")
    assert main(["vectors", "apply", f"{trained}/model", f"{tmp_path}/new", "-o", f"{tmp_path}/new.txt"]) == 0
    vocab, vectors = read_vectors(tmp_path / "new.txt")
    assert vocab.strings[FIRST:] == ["bana", "xyzzy", "basol"] and vectors[FIRST:].any(axis=1).all()


def test_a_map_shows_frequent_words_or_given_ones_with_their_neighbours(trained, tmp_path, capsys):
    assert main(["vectors", "map", f"{trained}/model", "-o", f"{tmp_path}/map.svg", "-k", "10"]) == 0
    assert (tmp_path / "map.svg").read_text().count("<circle") == 10
    assert main(["vectors", "map", f"{trained}/model", "bana", "-k", "4"]) == 0
    picture = capsys.readouterr().out
    assert picture.startswith("<svg") and picture.count("<circle") == 5 and ">bana<" in picture


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["nearest", "MODEL", "zzzz"], "nothing is known of the word 'zzzz'"),
        (["similarity", "MODEL", "BAD"], "BAD:2: 2 fields, where two words and a score are expected"),
        (["similarity", "MODEL", "FEW"], "FEW: 0 of 1 pairs have vectors of both words"),
        (["analogies", "MODEL", "BAD"], "BAD:1: 3 words, where four are expected"),
        (["nearest", "TEXT", "bana"], "TEXT"),
        (["train", "EMPTY", "-o", "OUT"], "EMPTY: an empty text"),
        (["train", "TEXT", "-o", "OUT", "--resume"], "nothing to resume"),
        (["train", "TEXT", "-o", "OUT", "--negative", "2", "--method", "svd"], "--negative means nothing with"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(trained, tmp_path, monkeypatch, capsys, arguments, reason):
    monkeypatch.chdir(tmp_path)
    for name, content in {"BAD": "a\tb\t1\na\tb\n", "FEW": "x\ty\t1\n", "EMPTY": "\n", "TEXT": "a b\n"}.items():
        (tmp_path / name).write_text(content)
    assert main(["vectors", *(f"{trained}/model" if word == "MODEL" else word for word in arguments)]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ") and reason in err and err.count("\n") == 1
    assert not (tmp_path / "OUT").exists()


def test_lower_casing_is_kept_in_the_model_and_applied_to_words_that_are_asked_for(tmp_path, capsys):
    (tmp_path / "text").write_text("The Cat sat on the mat\nthe cat ran to the dog\n" * 4)
    arguments = [
        "vectors",
        "train",
        f"{tmp_path}/text",
        "-o",
        f"{tmp_path}/m",
        "--dimensions",
        "3",
        "--lowercase",
        "--min-count",
        "1",
    ]
    assert main([*arguments, "-q"]) == 0
    assert main(["vectors", "nearest", f"{tmp_path}/m", "CAT", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["known"] is True
