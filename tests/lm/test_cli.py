"""``corpuscle lm``: the commands as a user runs them, and model files as an enemy would write them."""

import gzip
import io
import json
import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import corpuscle
from corpuscle.cli.main import main
from corpuscle.lm import ClassModel, Mixture, NgramModel, read_arpa, write_arpa
from corpuscle.model import save
from corpuscle.text import Corpus, read_text
from tests.hostile import survives_hostile_edits
from tests.mutation import survives
from tests.schemas import FRACTION, last_line_conforms

WORDS = ["the", "a", "cat", "dog", "sees", "chases", "small", "big", "bird", "sleeps"]


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """A folder with a training, a development and a test text."""
    folder = tmp_path_factory.mktemp("texts")
    random = np.random.default_rng(7)
    weights = 1 / np.arange(1, len(WORDS) + 1)
    for name, lines in (("train", 400), ("dev", 80), ("test", 60)):
        sentences = [
            " ".join(random.choice(WORDS, random.integers(0, 9), p=weights / weights.sum())) for _ in range(lines)
        ]
        (folder / f"{name}.txt").write_text("\n".join(sentences) + "\n")
    (folder / "test.txt").write_text((folder / "test.txt").read_text() + "the zebra sleeps\n")
    return folder


@pytest.fixture(scope="module")
def model(texts):
    assert main(["lm", "train", str(texts / "train.txt"), "-o", str(texts / "m"), "--quiet"]) == 0
    return texts / "m"


def run(capsys, *args):
    code = main([str(arg) for arg in args])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def run_json(capsys, schema, *args):
    code, out, _ = run(capsys, *args, "--json")
    assert code == 0
    return last_line_conforms(out, schema)


PERPLEXITY = {
    "perplexity": float | None, "perplexity_without_oov": float | None, "tokens": int, "oov": int,
    "bits_per_token": float | None, "low": float | None, "high": float | None, "deviation": float | None,
    "signature": str, "overlap_training": FRACTION, "overlap_tuning": FRACTION, "vocabulary": int,
}  # fmt: skip


def test_perplexity_prints_the_contract(capsys, texts, model):
    result = run_json(capsys, PERPLEXITY, "lm", "perplexity", model, texts / "test.txt")
    assert result["oov"] == 1
    assert result["low"] < result["perplexity"] < result["high"]
    assert math.log2(result["perplexity"]) == pytest.approx(result["bits_per_token"])
    assert run_json(capsys, PERPLEXITY, "lm", "perplexity", model, texts / "train.txt")["overlap_training"] == 1.0


@pytest.mark.parametrize("method", ["absolute", "backoff-kn", "kn", "backoff-mkn", "mkn"])
def test_every_method_trains_and_says_what_it_did(capsys, texts, tmp_path, method):
    schema = {"method": str, "order": int, "sentences": int, "words": int, "types": int, "ngrams": [int],
              "discounts": [[float]], "tuned": [str], "seconds": float}  # fmt: skip
    result = run_json(
        capsys, schema, "lm", "train", texts / "train.txt", "-o", tmp_path / "m", "--method", method, "--order", 4
    )
    assert result["order"] == 4 and len(result["ngrams"]) == 4 and result["types"] == len(WORDS)
    header = json.loads(run(capsys, "info", tmp_path / "m", "--json")[1])
    assert header["settings"]["method"] == [method, "given"]
    assert header["settings"]["boundary"] == ["single", "default"]


def test_a_development_text_chooses_order_and_discounts(capsys, texts, tmp_path):
    args = ["lm", "train", texts / "train.txt", "-o", tmp_path / "m", "--order", "auto", "--dev", texts / "dev.txt"]
    code, out, err = run(capsys, *args, "--json")
    assert code == 0 and "chosen on" in err
    result = json.loads(out)
    assert result["tuned"] == ["discounts", "order"] and 1 <= result["order"] <= 6
    overlap = run_json(capsys, PERPLEXITY, "lm", "perplexity", tmp_path / "m", texts / "dev.txt")
    assert overlap["overlap_tuning"] == 1.0


def test_score_gives_a_line_for_each_sentence_and_word(capsys, texts, model):
    code, out, _ = run(capsys, "lm", "score", model, texts / "test.txt")
    rows = [line.split("\t") for line in out.splitlines()]
    sentences = (texts / "test.txt").read_text().splitlines()
    assert code == 0 and len(rows) == len(sentences) + 1
    assert rows[0] == ["sentence", "tokens", "oov", "log10", "perplexity"]
    loaded = corpuscle.load(model)
    for row, sentence in zip(rows[1:], sentences, strict=True):
        assert int(row[1]) == len(sentence.split()) + 1
        assert float(row[3]) == pytest.approx(loaded.log_probability(sentence.split()) / math.log(10), rel=1e-5)
    code, out, _ = run(capsys, "lm", "score", model, texts / "test.txt", "--by-word")
    last = [line.split("\t") for line in out.splitlines()][-4:]
    assert [row[1] for row in last] == ["the", "zebra", "sleeps", "</s>"]
    assert [row[3] for row in last] == ["0", "1", "0", "0"]


def test_scores_without_boundaries_do_not_depend_on_how_much_is_read_at_a_time(capsys, texts, tmp_path):
    (tmp_path / "long.txt").write_text((texts / "train.txt").read_text() * 26)
    run(capsys, "lm", "train", texts / "train.txt", "-o", tmp_path / "m", "--boundary", "none")
    out = run(capsys, "lm", "score", tmp_path / "m", tmp_path / "long.txt")[1]
    log10 = [float(line.split("\t")[3]) for line in out.splitlines()[1:]]
    loaded, text = corpuscle.load(tmp_path / "m"), read_text(tmp_path / "long.txt")
    assert len(log10) == 26 * 400 > 10_000
    np.testing.assert_allclose(log10, loaded.events(text).by_sentence().log_probability / math.log(10), rtol=1e-5)
    assert "events:tokens|" in loaded.perplexity(text, draws=1).signature


@pytest.mark.parametrize("options", [[], ["--raw"]])
def test_scores_of_an_empty_text_are_a_heading(capsys, model, tmp_path, options):
    (tmp_path / "empty.txt").write_text("")
    out = run(capsys, "lm", "score", model, tmp_path / "empty.txt", *options)
    assert out == (0, "sentence\ttokens\toov\tlog10\tperplexity\n", "")


def test_score_streams_from_standard_input(texts, model):
    process = subprocess.run(
        [sys.executable, "-m", "corpuscle", "lm", "score", model, "-"], input=b"the cat\n\n", capture_output=True
    )
    assert process.returncode == 0, process.stderr
    assert [line.split(b"\t")[1] for line in process.stdout.splitlines()] == [b"tokens", b"3", b"1"]


def test_next_words_and_samples(capsys, model):
    schema = {"context": [str], "next": [{"word": str, "probability": FRACTION}]}
    result = run_json(capsys, schema, "lm", "next", model, "the cat", "-k", 3)
    assert len(result["next"]) == 3 and result["context"] == ["the", "cat"]
    code, _out, err = run(capsys, "lm", "next", model, "the zebra")
    assert code == 0 and "zebra" in err
    first, second = (run(capsys, "lm", "sample", model, "-n", 4, "--seed", 9)[1] for _ in range(2))
    assert first == second and len(first.splitlines()) == 4
    assert set(first.split()) <= set(WORDS)


PRUNED = {"order": int, "ngrams": [int], "ngrams_before": [int]}


def test_models_are_pruned_and_their_files_are_smaller(capsys, model, tmp_path):
    pruned = run_json(capsys, PRUNED, "lm", "prune", model, "-o", tmp_path / "p", "--prune", "0,0,1", "--entropy", 1e-6)
    assert sum(pruned["ngrams"]) < sum(pruned["ngrams_before"])
    again = run_json(capsys, PRUNED, "lm", "prune", tmp_path / "p", "-o", tmp_path / "q", "--entropy", 1e-3)
    assert again["ngrams_before"] == pruned["ngrams"] and sum(again["ngrams"]) < sum(pruned["ngrams"])
    sizes = [path.stat().st_size for path in (model, tmp_path / "p", tmp_path / "q")]
    assert sizes == sorted(sizes, reverse=True) and len(set(sizes)) == 3
    wrong = {"--prune=0,1": "no counts", "--prune=": "what to leave out", "--entropy=x": "--entropy is a number"}
    for option, reason in wrong.items():
        code, _, err = run(capsys, "lm", "prune", tmp_path / "p", "-o", tmp_path / "no", option)
        assert code == 2 and reason in err and err.count("\n") == 1, err
    assert not (tmp_path / "no").exists()


def test_arpa_goes_out_and_comes_back(capsys, texts, model, tmp_path):
    for name in ("m.arpa", "m.arpa.gz"):
        assert run(capsys, "lm", "export", model, "-o", tmp_path / name)[0] == 0
        assert run(capsys, "lm", "import", tmp_path / name, "-o", tmp_path / "again")[0] == 0
        before, after = (
            run_json(capsys, PERPLEXITY, "lm", "perplexity", path, texts / "test.txt")
            for path in (model, tmp_path / "again")
        )
        assert after["perplexity"] == pytest.approx(before["perplexity"], rel=1e-6)  # its file has seven digits
    assert gzip.decompress((tmp_path / "m.arpa.gz").read_bytes()) == (tmp_path / "m.arpa").read_bytes()


def test_models_are_compared_and_mixed(capsys, texts, model, tmp_path):
    run(capsys, "lm", "train", texts / "train.txt", "-o", tmp_path / "one", "--order", 1)
    schema = {"perplexity_a": float, "perplexity_b": float, "oov_a": int, "oov_b": int, "tokens": int,
              "difference": float, "low": float, "high": float, "deviation": float, "p_value": FRACTION,
              **{f"overlap_{part}_{side}": FRACTION for part in ("training", "tuning") for side in "ab"}}  # fmt: skip
    compared = run_json(capsys, schema, "lm", "compare", model, tmp_path / "one", texts / "test.txt")
    assert compared["difference"] == pytest.approx(compared["perplexity_a"] - compared["perplexity_b"])
    _, out, err = run(capsys, "lm", "compare", model, tmp_path / "one", texts / "train.txt", "--json")
    for path in (model, tmp_path / "one"):
        assert f"100 % of these sentences were in the training text of {path}" in err
    again = last_line_conforms(out, schema)
    assert again["overlap_training_a"] == again["overlap_training_b"] == 1.0
    schema = {"weights": [FRACTION], "perplexity": float, "perplexities": [float]}
    mixed = run_json(
        capsys, schema, "lm", "mix", model, tmp_path / "one", "--dev", texts / "dev.txt", "-o", tmp_path / "mix"
    )
    assert sum(mixed["weights"]) == pytest.approx(1) and mixed["perplexity"] <= min(mixed["perplexities"]) * 1.0001
    assert run_json(capsys, PERPLEXITY, "lm", "perplexity", tmp_path / "mix", texts / "test.txt")["oov"] == 1
    assert "no ARPA form" in run(capsys, "lm", "export", tmp_path / "mix", "-o", tmp_path / "x")[2]


def test_perplexities_of_models_that_know_different_words_are_over_all_their_words(capsys, texts, tmp_path):
    for name, count in ("all", 1), ("few", 150):
        run(capsys, "lm", "train", texts / "train.txt", "-o", tmp_path / name, "--min-count", count)
    mixed = ["lm", "mix", tmp_path / "all", tmp_path / "few", "--dev", texts / "dev.txt", "-o", tmp_path / "mix"]
    code, out, _ = run(capsys, *mixed)
    assert code == 0 and "the models know different words: these perplexities are over the 10 words of all" in out
    full, few = json.loads(run(capsys, *mixed, "--json")[1].splitlines()[-1])["perplexities"]
    told = run(capsys, "lm", "perplexity", tmp_path / "few", texts / "dev.txt")[1]
    alone = json.loads(run(capsys, "lm", "perplexity", tmp_path / "few", texts / "dev.txt", "--json")[1])
    assert alone["perplexity"] < min(few, alone["perplexity_without_oov"])  # one word of many is easy to predict
    assert "all unknown words count as one word" in told
    own = json.loads(run(capsys, "lm", "perplexity", tmp_path / "all", texts / "dev.txt", "--json")[1])
    assert full == pytest.approx(own["perplexity"])
    mixed[3] = mixed[2]
    assert "different words" not in run(capsys, *mixed)[1]


def test_class_n_grams_from_the_command_line(capsys, texts, tmp_path):
    train = texts / "train.txt"
    assert run(capsys, "classes", "train", train, "-o", tmp_path / "c", "--classes", 3, "--quiet")[0] == 0
    assert run(capsys, "lm", "train", train, "-o", tmp_path / "m", "--class-model", tmp_path / "c")[0] == 0
    for option in (["--min-count", 2], ["--lowercase"]):
        assert run(capsys, "lm", "train", train, "-o", tmp_path / "x", "--class-model", tmp_path / "c", *option)[0] == 2
    assert run_json(capsys, PERPLEXITY, "lm", "perplexity", tmp_path / "m", texts / "test.txt")["oov"] == 1


def test_characters_with_high_order(capsys, texts, tmp_path):
    args = ["lm", "train", texts / "train.txt", "-o", tmp_path / "m", "--units", "characters", "--order", 9]
    assert run(capsys, *args, "--min-count", 1)[0] == 0
    result = run_json(capsys, PERPLEXITY, "lm", "perplexity", tmp_path / "m", texts / "test.txt")
    assert result["perplexity"] < 4
    assert run_json(capsys, dict, "lm", "next", tmp_path / "m", "the c")["context"] == list("the▁c")


def test_running_text_is_split_on_request(capsys, texts, model, tmp_path):
    (tmp_path / "raw.txt").write_text("the cat sleeps. the dog sees\na bird!\n")
    _, out, _ = run(capsys, "lm", "score", model, tmp_path / "raw.txt", "--raw", "--by-word")
    words = [line.split("\t")[1] for line in out.splitlines()[1:]]
    assert words == ["the", "cat", "sleeps", ".", "</s>", "the", "dog", "sees", "a", "bird", "!", "</s>"]
    result = run_json(capsys, PERPLEXITY, "lm", "perplexity", model, tmp_path / "raw.txt", "--raw")
    assert result["tokens"] == 12 and result["oov"] == 2


def test_preprocessing_is_kept_with_the_model(capsys, texts, tmp_path):
    run(capsys, "lm", "train", texts / "train.txt", "-o", tmp_path / "m", "--lowercase")
    (tmp_path / "loud.txt").write_text("THE CAT SLEEPS\n")
    assert run_json(capsys, PERPLEXITY, "lm", "perplexity", tmp_path / "m", tmp_path / "loud.txt")["oov"] == 0


@pytest.mark.parametrize("token", ["unknown", "literal"])
def test_a_literal_unk_is_the_unknown_word_or_a_word(capsys, tmp_path, token):
    (tmp_path / "t.txt").write_text("a <unk> b\na b\n" * 5)
    run(capsys, "lm", "train", tmp_path / "t.txt", "-o", tmp_path / "m", "--unk-token", token, "--min-count", 1)
    result = run_json(capsys, PERPLEXITY, "lm", "perplexity", tmp_path / "m", tmp_path / "t.txt")
    assert result["oov"] == (5 if token == "unknown" else 0)
    run(capsys, "lm", "export", tmp_path / "m", "-o", tmp_path / "m.arpa")
    assert ("\\<unk>" in (tmp_path / "m.arpa").read_text()) == (token == "literal")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"\n\n", "empty"),
        (b"a b\nc \xff d\n", ":2: invalid UTF-8"),
        (b"a b\nc \0 d\n", ":2: NUL"),
        (b"a\nb <s> c\n", ":2: a literal <s>"),
    ],
)
def test_bad_texts_are_one_line_and_leave_nothing_behind(capsys, tmp_path, content, reason):
    (tmp_path / "bad.txt").write_bytes(content)
    code, _out, err = run(capsys, "lm", "train", tmp_path / "bad.txt", "-o", tmp_path / "m")
    assert code == 2 and reason in err and err.startswith(f"error: {tmp_path / 'bad.txt'}") and err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["bad.txt"]


def test_markup_is_found_in_the_file_where_it_stands(capsys, tmp_path):
    (tmp_path / "kit").mkdir()
    (tmp_path / "kit" / "a.txt").write_text("fine\n")
    (tmp_path / "kit" / "b.txt").write_text("fine\nnot </s> fine\n")
    code, _, err = run(capsys, "lm", "train", tmp_path / "kit", "-o", tmp_path / "m")
    assert code == 2 and f"{tmp_path / 'kit' / 'b.txt'}:2: a literal </s>" in err
    (tmp_path / "later.txt").write_text("<s> fine\n")
    code, _, err = run(capsys, "lm", "train", tmp_path / "kit", tmp_path / "later.txt", "-o", tmp_path / "m")
    assert code == 2 and f"{tmp_path / 'kit' / 'b.txt'}:2: a literal </s>" in err
    (tmp_path / "kit" / "b.txt").write_text("fine\nnot <S> fine\n")
    code, _, err = run(capsys, "lm", "train", tmp_path / "kit", "-o", tmp_path / "m", "--lowercase")
    assert code == 2 and f"{tmp_path / 'kit' / 'b.txt'}:2: a literal <s>" in err


def test_markup_is_found_in_a_stream_between_files(capsys, monkeypatch, tmp_path):
    (tmp_path / "fine.txt").write_text("fine\nfine\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"fine\na </s>\n")))
    code, _, err = run(capsys, "lm", "train", tmp_path / "fine.txt", "-", tmp_path / "fine.txt", "-o", tmp_path / "m")
    assert code == 2 and err.startswith("error: -:2: a literal </s>")


def test_bad_arguments_are_one_line(capsys, texts, model, tmp_path):
    for args, reason in [
        (["lm", "train", texts / "nothing.txt", "-o", tmp_path / "m"], "no such file"),
        (["lm", "train", texts, "-o", tmp_path / "no" / "m"], "no such folder"),
        (["lm", "train", texts / "train.txt", "-o", tmp_path / "m", "--order", "0"], "order"),
        (["lm", "train", texts / "train.txt", "-o", tmp_path / "m", "--order", "auto"], "auto"),
        (["lm", "train", texts / "train.txt", "-o", tmp_path / "m", "--method", "magic"], "is not one of 'mkn', 'kn'"),
        (["lm", "train", texts / "train.txt", "-o", tmp_path / "m", "--method", "imported"], "is not one of"),
        (["lm", "train", texts / "train.txt", "-o", tmp_path / "m", "--arpa", tmp_path / "." / "m"], "be one file"),
        (["text", "prepare", texts / "train.txt", "-o", tmp_path / "m", "--offsets", tmp_path / "m"], "be one file"),
        (["lm", "train", texts / "train.txt", "-o", tmp_path / "m", "--discounts", "x"], "discounts"),
        (["lm", "train", texts / "train.txt", "-o", tmp_path / "m", "--prune", "1,x"], "prune"),
        (["lm", "train", texts / "train.txt", "-o", tmp_path / "m", "--class-model", model], "words.exchange"),
        (["lm", "perplexity", texts / "train.txt", texts / "train.txt"], "not a"),
        (["lm", "perplexity", model, tmp_path], "no "),
        (["lm", "sample", model, "--temperature", "0"], "temperature"),
        (["lm", "import", texts / "train.txt", "-o", tmp_path / "m"], "not an arpa file"),
        (["lm", "train", texts / "train.txt", "-o", "-"], "stdout"),
        (["lm", "train", texts / "train.txt", "-o", tmp_path], "directory"),
        (["lm", "train", texts / "train.txt", "-o", tmp_path / "m", "--order", "3000000000"], "order"),
        (["lm", "train", texts / "train.txt", "-o", tmp_path / "m", "--entropy", "nan"], "entropy"),
        (["lm", "train", texts / "train.txt", "-o", tmp_path / "m", "--arpa", tmp_path / "no" / "a"], "no such folder"),
        (["lm", "train", texts / "train.txt", "-o", tmp_path / "m", "--dev", "/dev/null"], "development text is empty"),
        (["lm", "train", texts / "train.txt", "-o", tmp_path / "m", "--boundary", "none", "--arpa", "x"], "arpa form"),
        (["lm", "nonsense"], "nonsense"),
    ]:
        code, _, err = run(capsys, *args)
        assert code == 2 and reason in err.lower() and err.startswith("error: ") and err.count("\n") == 1, err
    assert list(tmp_path.iterdir()) == []


def test_no_room_on_the_disk_leaves_the_old_model_alone(texts, model, tmp_path):
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)); "
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "from corpuscle.cli.main import run; run()"
    )
    (tmp_path / "m").write_bytes(b"precious")
    args = ["lm", "train", str(texts / "train.txt"), "-o", str(tmp_path / "m"), "--quiet"]
    process = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True)
    assert process.returncode == 2 and process.stderr.splitlines()[-1].startswith("error: "), process.stderr
    assert (tmp_path / "m").read_bytes() == b"precious" and len(list(tmp_path.iterdir())) == 1


# ---- hostile files


def kinds_of_models():
    corpus = Corpus.from_sentences([["a", "b", "a", "c"], ["b", "c"], ["a"], ["c", "a", "b"]] * 3)
    plain = NgramModel(method="mkn", order=3, min_count=1).fit(corpus)
    classes = ClassModel({"a": 0, "b": 1, "c": 1}, NgramModel(method="kn", order=2, min_count=1)).fit(corpus)
    yield "counts", plain
    yield "pruned", NgramModel(method="mkn", order=3, min_count=1, prune=(0, 3)).fit(corpus)
    yield "classes", classes
    yield "mixture", Mixture([plain, classes]).fit(corpus)


def use(path):
    """Load whatever it is and make it read text."""
    loaded = corpuscle.load(path)
    loaded.perplexity(Corpus.from_sentences([["a", "b", "z"], []]), draws=2)
    loaded.next_words(["a"], 3)
    loaded.surprisals(Corpus.from_sentences([["c"] * 5]))


@pytest.mark.parametrize(
    ("name", "index", "value", "reason"),
    [
        ("words", "a", 5, "must rise"),  # </s> c b c instead of </s> a b c
        ("words", "a", 4, "must rise"),
        ("words", 3, 4, "the symbols themselves"),
        ("suffix", -1, 2**31 - 1, "a shorter n-gram"),
        ("suffix", -1, -1, "a shorter n-gram"),
        ("suffix", 3, 0, "no suffix"),
        ("first_child", -1, 2**31 - 1, "end with the last row"),
        ("first_child", 0, 0, "must follow the contexts"),
        ("levels", 1, 1, "do not fit"),
        ("levels", 2, 2**62, "do not fit"),
    ],
)
def test_a_trie_that_is_none_is_refused(tmp_path, name, index, value, reason):
    corpus = Corpus.from_sentences([["a", "a"], ["a", "b"], ["a", "c"], ["b", "c"]] * 3)
    part = NgramModel(order=2, min_count=1, discounts=[0.5, 1, 1.5]).fit(corpus).part()
    bad = part.arrays[name].copy()
    bad[part.arrays["first_child"][3] + 1 if index == "a" else index] = value
    with pytest.raises(ValueError, match=reason):
        save(tmp_path / "m", replace(part, arrays={**part.arrays, name: bad}))


@pytest.mark.filterwarnings("ignore")
def test_damaged_models_are_refused_or_harmless(tmp_path):
    for name, model in kinds_of_models():
        model.save(tmp_path / name)
        assert survives_hostile_edits(tmp_path / name, use, edits=150) > 30


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_damaged_models_are_refused_or_harmless_many_times(tmp_path):
    for name, model in kinds_of_models():
        model.save(tmp_path / name)
        survives_hostile_edits(tmp_path / name, use, edits=5000, seed=2)


def arpa_bytes(tmp_path):
    corpus = Corpus.from_sentences([["a", "b", "a", "c"], ["b", "ç"], ["a"]])
    write_arpa(NgramModel(method="mkn", order=3, min_count=1, discounts=[0.5, 1, 1.5]).fit(corpus), tmp_path / "m.arpa")
    return (tmp_path / "m.arpa").read_bytes()


def read_and_use(path):
    with np.errstate(all="ignore"):
        read_arpa(path).perplexity(Corpus.from_sentences([["a", "b", "z"], []]), draws=2)


def test_mutated_arpa_files_give_clear_errors(tmp_path):
    survives(read_and_use, arpa_bytes(tmp_path), 200, 1)


@pytest.mark.slow
def test_mutated_arpa_files_give_clear_errors_many_times(tmp_path):
    survives(read_and_use, arpa_bytes(tmp_path), 10_000, 2)
