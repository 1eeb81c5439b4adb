"""Every learner whose statistics are sums, and every way to apply a model: the same bytes on one thread, on two, and on
a cluster of processes. The pieces are made small, so that small texts have many."""

import json
import re

import numpy as np
import pytest

import corpuscle
from corpuscle.cli.main import main
from corpuscle.lm import ClassModel, HmmModel, HpyModel, Mixture, NgramModel
from corpuscle.segment import NestedSegmenter
from corpuscle.text import Corpus
from corpuscle.topics import NgramTopicModel, RescalingModel, document_topics, mark
from corpuscle.words import BrownClasses, ExchangeClasses, HmmClasses, LrmvlVectors, PpmiVectors, TsccaVectors

SMALL = {
    "corpuscle.lm.base._EVENTS": 300,
    "corpuscle.lm.base._CHARACTERS": 1500,
    "corpuscle.lm.base._COUNTED": 500,
    "corpuscle.words.hard_classes.PAIRS": 400,
    "corpuscle.words.classes.PIECE": 400,
    "corpuscle.words.cooccurrence.CHUNK": 300,
    "corpuscle.words.hmm_learning.MOST": 160,
    "corpuscle.segment.kernels.apply._CHUNK": 100,
    "corpuscle.segment.kernels.apply._DRAWN": 3000,
    "corpuscle.topics.base._WORDS": 20,
}


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    for name, value in SMALL.items():
        monkeypatch.setattr(name, value)


def text_of(seed=1, sentences=300, types=60):
    random = np.random.default_rng(seed)
    weights = 1 / np.arange(1, types + 1)
    words = [f"w{i}" for i in range(types)]
    return [list(random.choice(words, random.integers(0, 12), p=weights / weights.sum())) for _ in range(sentences)]


TEXT = Corpus.from_sentences(text_of())
OTHER = Corpus.from_sentences(text_of(2, types=70))
DOCUMENTS = Corpus.from_sentences(text_of(3, 48, 20)).with_documents(np.arange(13) * 4)


def is_same_everywhere(cluster, result):
    """Whether ``result(workers=..., cluster=...)`` is the same on a thread, on two and on a cluster."""
    pytest.importorskip("distributed")
    one, two, there = (result(**where) for where in ({"workers": 1}, {"workers": 2}, {"cluster": cluster}))
    return repr_of(one) == repr_of(two) == repr_of(there)


def repr_of(value):
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, dict):
        return [(key, repr_of(item)) for key, item in value.items()]
    return [repr_of(item) for item in value] if isinstance(value, list | tuple) else value


def saved(folder, learner, *data):
    learner.fit(*data).save(folder / "model")
    return (folder / "model").read_bytes()


def working(model, **where):
    """The model, working there."""
    model.workers = model.cluster = None
    for name, value in where.items():
        setattr(model, name, value)
    return model


@pytest.mark.parametrize(
    "learner",
    [
        lambda **where: NgramModel(order=4, **where),
        lambda **where: NgramModel(order=2, boundary="none", **where),
        lambda **where: HpyModel(order=3, sweeps=3, samples=1, **where),
        lambda **where: HmmModel(states=4, **where),
        lambda **where: HmmModel(states=4, estimator="em", passes=3, **where),
        lambda **where: ClassModel({f"w{i}": i % 5 for i in range(50)}, NgramModel(order=3, min_count=1, **where)),
        lambda **where: ExchangeClasses(classes=6, **where),
        lambda **where: BrownClasses(classes=6, **where),
        lambda **where: PpmiVectors(dimensions=5, **where),
        lambda **where: TsccaVectors(dimensions=5, **where),
        lambda **where: LrmvlVectors(dimensions=5, passes=2, **where),
        lambda **where: HmmClasses(classes=4, passes=3, k_best=2, **where),
        lambda **where: HmmClasses(classes=4, passes=1, estimator="online", batch_tokens=400, init="random", **where),
    ],
    ids=[
        *("ngram", "stream", "hpy", "operators", "em", "class ngram", "exchange", "brown", "ppmi", "tscca", "lrmvl"),
        *("hmm", "online hmm"),
    ],
)
def test_a_learner_gives_the_same_bytes(cluster, tmp_path, learner):
    assert is_same_everywhere(cluster, lambda **where: saved(tmp_path, learner(**where), TEXT))


def language_models():
    first, second = NgramModel(order=3, min_count=1).fit(TEXT), NgramModel(order=2, min_count=1).fit(OTHER)
    yield first
    yield NgramModel(order=2, boundary="none").fit(TEXT)
    yield HpyModel(order=3, sweeps=3, samples=2).fit(TEXT)
    yield HpyModel(order="infinite", sweeps=3, samples=2).fit(TEXT)
    yield HmmModel(states=4, estimator="reduced").fit(TEXT)
    yield ClassModel({f"w{i}": i % 5 for i in range(50)}, NgramModel(order=3, min_count=1)).fit(TEXT)
    yield Mixture([first, second]).fit(OTHER[:50])


def test_language_models_score_with_the_same_bytes(cluster):
    lines = [" ".join(sentence) for sentence in OTHER]
    for model in language_models():
        whole = model._events(OTHER.recode(model.vocab_))
        for name, value in whole._asdict().items():
            np.testing.assert_array_equal(value, getattr(model.events(OTHER), name))
        assert is_same_everywhere(cluster, lambda model=model, **where: working(model, **where).events(OTHER))
        assert is_same_everywhere(cluster, lambda model=model, **where: working(model, **where).score(lines))
        assert is_same_everywhere(
            cluster, lambda model=model, **where: working(model, **where).perplexity(OTHER, draws=20).to_json()
        )


def test_classes_are_applied_with_the_same_bytes(cluster):
    model = ExchangeClasses(classes=6).fit(TEXT)
    assert is_same_everywhere(cluster, lambda **where: working(model, **where).apply(OTHER).tokens)


def test_hidden_markov_classes_are_applied_with_the_same_bytes(cluster):
    model = HmmClasses(classes=4, passes=2, init="random").fit(TEXT)
    for verb in (
        lambda model: model.apply(OTHER).tokens,
        lambda model: list(model.posteriors(OTHER)),
        lambda model: model.evaluate(OTHER).to_json(),
    ):
        assert is_same_everywhere(cluster, lambda verb=verb, **where: verb(working(model, **where)))


def test_segmenters_are_applied_with_the_same_bytes(cluster):
    lines = Corpus.from_sentences([["".join(sentence)] if sentence else [] for sentence in text_of(4, 60, 9)])
    model = NestedSegmenter(sweeps=4, max_word=4, samples=2).fit(lines)
    assert is_same_everywhere(cluster, lambda **where: working(model, **where).segment(lines).tokens)
    assert is_same_everywhere(cluster, lambda **where: working(model, **where).posterior(lines, draws=10)[1])
    assert is_same_everywhere(
        cluster, lambda **where: list(working(model, **where).segment_lines(iter([lines[:20], lines[:0], lines[20:]])))
    )
    for best in True, False:
        assert is_same_everywhere(
            cluster, lambda best=best, **where: working(model, **where).perplexity(lines, best=best, draws=20).to_json()
        )


@pytest.mark.parametrize(
    "learner",
    [
        NgramTopicModel(topics=3, order=2, sweeps=4, samples=2, min_count=1),
        RescalingModel(topics=3, sweeps=4, min_count=1, word_sweeps=5),
    ],
    ids=["ngram", "rescaling"],
)  # fmt: skip
def test_topic_models_are_applied_with_the_same_bytes(cluster, learner):
    model = learner.fit(DOCUMENTS)
    assert is_same_everywhere(cluster, lambda **where: working(model, **where).log_probabilities(DOCUMENTS))
    assert is_same_everywhere(cluster, lambda **where: document_topics(working(model, **where), DOCUMENTS))
    if isinstance(model, NgramTopicModel):
        assert is_same_everywhere(cluster, lambda **where: mark(working(model, **where), DOCUMENTS))


def test_a_client_serves_as_a_cluster_and_the_model_that_goes_there_knows_none(cluster):
    distributed = pytest.importorskip("distributed")
    model = NgramModel(order=2).fit(TEXT)
    expected = model.events(OTHER).log_probability
    with distributed.Client(cluster, set_as_default=False) as client:
        model.cluster = client
        np.testing.assert_array_equal(model.events(OTHER).log_probability, expected)
        assert client.status == "running" and model.__getstate__()["cluster"] is None


# ---- the command line


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def write_lines(path, corpus, between=" ", blank_every=0):
    lines = [between.join(sentence) for sentence in corpus]
    if blank_every:
        lines = [
            line
            for i, line in enumerate(lines)
            for line in ([""] if i and i % blank_every == 0 else []) + [line or "w1"]
        ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    ("task", "settings", "actions", "said"),
    [
        ("lm", ["--order", "3"], ["perplexity", "score"], ""),
        ("lm", ["--method", "hpy", "--order", "2", "--sweeps", "2", "--samples", "1"], ["score"], "Gibbs"),
        ("lm", ["--boundary", "none"], ["perplexity", "score"], "one stream"),
        ("classes", ["--classes", "5"], ["apply"], "where a word goes"),
        ("segment", ["--sweeps", "3", "--max-word", "4"], ["apply", "perplexity"], "Gibbs"),
        ("topics", ["--topics", "2", "--sweeps", "3", "--order", "2"], ["apply", "perplexity", "score"], "Gibbs"),
    ],
)  # fmt: skip
def test_commands_do_the_same_on_a_cluster(capsys, cluster, tmp_path, task, settings, actions, said):
    text = write_lines(tmp_path / "text", TEXT[:80], "" if task == "segment" else " ", 8 if task == "topics" else 0)
    outputs = []
    for where in ("--workers", 1), ("--workers", 2), ("--cluster", cluster):
        model = tmp_path / "model"
        code, _, err = run(capsys, task, "train", text, "-o", model, *settings, *where)
        assert code == 0 and (said in err) == (where[0] == "--cluster" or not said), err
        outputs.append([model.read_bytes()])
        for action in actions:
            code, out, err = run(capsys, task, action, model, text, *where)
            assert code == 0 and "Traceback" not in err
            outputs[-1].append(re.sub(r"[\d,]+ words a second", "", out))
    assert outputs[0] == outputs[1] == outputs[2]


def test_commands_refuse_bad_clusters_in_one_line(capsys, tmp_path):
    pytest.importorskip("distributed")
    text, model = write_lines(tmp_path / "text", TEXT[:20]), tmp_path / "model"
    assert run(capsys, "lm", "train", text, "-o", model, "--quiet")[0] == 0
    other = write_lines(tmp_path / "other", OTHER[:20])
    for arguments in (["train", text, "-o", model], ["perplexity", model, other], ["score", model, other]):
        code, out, err = run(capsys, "lm", *arguments, "--cluster", "tcp://127.0.0.1:1")
        assert code == 2 and out == "" and err.count("\n") == 1 and err.startswith("error: no Dask cluster answers at")
        code, _, err = run(capsys, "lm", *arguments, "--cluster", "tcp://127.0.0.1:1", "--workers", "2")
        assert code == 2 and err.count("\n") == 1 and "not both" in err
    loaded = corpuscle.load(model)
    loaded.workers = 2
    with pytest.raises(corpuscle.errors.SettingError, match="not both"):
        loaded.cluster = "tcp://127.0.0.1:1"


def test_the_figures_as_json_are_the_same_on_a_cluster(capsys, cluster, tmp_path):
    text, model = write_lines(tmp_path / "text", TEXT), tmp_path / "model"
    run(capsys, "lm", "train", text, "-o", model, "--cluster", cluster, "--quiet")
    found = [
        json.loads(run(capsys, "lm", "perplexity", model, text, "--json", *where)[1].splitlines()[-1])
        for where in (("--workers", 1), ("--cluster", cluster))
    ]
    assert found[0] == found[1]


def test_a_kit_is_learned_on_a_cluster(capsys, cluster, tmp_path):
    (tmp_path / "kit" / "text").mkdir(parents=True)
    write_lines(tmp_path / "kit" / "text" / "a.txt", TEXT)
    packs = []
    for name, where in (("one", ("--workers", 1)), ("many", ("--cluster", cluster))):
        code, _, err = run(capsys, "learn", tmp_path / "kit", "-o", tmp_path / name, "--quiet", *where)
        assert code == 0, err
        packs.append({path.name: path.read_bytes() for path in (tmp_path / name / "models").iterdir()})
    assert packs[0] and packs[0] == packs[1]
