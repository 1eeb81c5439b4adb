"""``lm train --memory``: the same model within a limit, and nothing left beside it."""

import os
import signal
import subprocess
import sys
import tempfile

import numpy as np
import pytest

from corpuscle import samples
from corpuscle.cli.main import main
from corpuscle.errors import SettingError
from corpuscle.lm import NgramModel, ngram
from corpuscle.lm.kernels import counting
from corpuscle.text import Corpus

resource = pytest.importorskip("resource")


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """Sentences with words as frequent as in natural text, some of them empty."""
    path, random = tmp_path_factory.mktemp("text") / "t.txt", np.random.default_rng(3)
    draws = np.minimum(random.zipf(1.4, 9000), 200)
    cuts = np.cumsum(random.integers(0, 12, 1600))
    path.write_text("".join(" ".join(f"w{i}" for i in part) + "\n" for part in np.split(draws, cuts[cuts < 9000])))
    return path


@pytest.fixture
def counted(monkeypatch):
    """Texts of some thousand words count as long, and the process as having no memory; the chunks that are counted."""
    monkeypatch.setattr(ngram, "resident", lambda: 0)
    monkeypatch.setattr(ngram, "MARGIN", 0)
    monkeypatch.setattr(ngram, "LEAST_SYMBOLS", 100)
    monkeypatch.setattr(counting, "_ROWS", 256)
    chunks = []

    class Noted(counting.Spilled):
        def __init__(self, *arguments):
            chunks.append(arguments)
            super().__init__(*arguments)

    monkeypatch.setattr(counting, "Spilled", Noted)
    return chunks


LIMIT = "200000"


@pytest.mark.filterwarnings("ignore::corpuscle.errors.CorpuscleWarning")
@pytest.mark.parametrize("boundary", ["single", "pad", "none"])
@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(("method", "min_count"), [("mkn", 1), ("mkn", 2), ("backoff-kn", 3), ("absolute", 2)])
def test_the_model_has_the_same_bytes(text, tmp_path, counted, boundary, order, method, min_count):
    command = ["lm", "train", str(text), "--order", str(order), "--boundary", boundary]
    command += ["--method", method, "--min-count", str(min_count), "--quiet"]
    limit = {1: "50000", 2: "75000"}.get(order, LIMIT)
    assert main([*command, "-o", str(tmp_path / "plain")]) == 0 and not counted
    assert main([*command, "-o", str(tmp_path / "limited"), "--memory", limit]) == 0
    assert len(counted) > 2
    assert (tmp_path / "limited").read_bytes() == (tmp_path / "plain").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["limited", "plain"]


def test_the_sample_language_has_the_same_model_within_a_limit(tmp_path, counted):
    corpus = samples.generate(seed=1).corpus()
    NgramModel(order=5).fit(corpus).save(tmp_path / "plain")
    NgramModel(order=5, memory=1_200_000).fit(corpus).save(tmp_path / "limited")
    assert len(counted) > 2
    assert (tmp_path / "limited").read_bytes() == (tmp_path / "plain").read_bytes()


def test_a_text_that_fits_is_counted_at_once(text, tmp_path):
    for name, options in ("plain", []), ("limited", ["--memory", "64G"]):
        assert main(["lm", "train", str(text), "-o", str(tmp_path / name), "--quiet", *options]) == 0
    assert (tmp_path / "limited").read_bytes() == (tmp_path / "plain").read_bytes()


def test_a_model_in_files_scores_like_one_in_memory(counted):
    random = np.random.default_rng(5)
    corpus = Corpus.from_sentences([[f"w{i}" for i in random.zipf(1.5, 6) if i < 300] for _ in range(1500)])
    plain, limited = NgramModel(order=3).fit(corpus), NgramModel(order=3, memory=int(LIMIT)).fit(corpus)
    assert len(counted) > 2
    np.testing.assert_array_equal(plain.events(corpus).log_probability, limited.events(corpus).log_probability)
    assert plain.next_words("w1 w2") == limited.next_words("w1 w2")


def test_too_little_memory_is_one_line_that_says_what_would_do(text, tmp_path, capsys):
    assert main(["lm", "train", str(text), "-o", str(tmp_path / "m"), "--memory", "1M"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: 1M of memory are too little to count this text; ") and error.count("\n") == 1
    enough = error.split()[-3]
    assert main(["lm", "train", str(text), "-o", str(tmp_path / "m"), "--memory", enough, "--quiet"]) == 0


@pytest.mark.parametrize("bad", ["0", "2X", "-1", "much"])
def test_a_size_that_is_none_is_refused(text, tmp_path, capsys, bad):
    assert main(["lm", "train", str(text), "-o", str(tmp_path / "m"), "--memory", bad]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: --memory: a size is a number of bytes such as 500M or 2G, not")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("options", [["--dev"], ["--prune", "0,1"], ["--entropy", "1e-6"], ["--arpa"]])
def test_what_needs_the_whole_model_in_memory_is_refused(text, tmp_path, capsys, options):
    values = {"--dev": [str(text)], "--arpa": [str(tmp_path / "a")]}.get(options[0], [])
    assert main(["lm", "train", str(text), "-o", str(tmp_path / "m"), "--memory", "1G", *options, *values]) == 2
    assert "memory limits counting alone" in capsys.readouterr().err and os.listdir(tmp_path) == []


def test_the_limit_is_not_saved(text):
    model = NgramModel(memory=1 << 40)
    assert "memory" not in model.settings and "memory" not in model.described()
    with pytest.raises(SettingError, match="memory is a whole number from 1"):
        NgramModel(memory=0)


def test_an_interrupt_leaves_nothing_and_temporary_files_have_no_name(text, tmp_path, counted, monkeypatch):
    seen, merge = [], counting._merge

    def interrupted(*arguments):
        seen.append(os.listdir(tmp_path))
        if len(seen) == 3:
            signal.raise_signal(signal.SIGINT)
        return merge(*arguments)

    monkeypatch.setattr(counting, "_merge", interrupted)
    assert main(["lm", "train", str(text), "-o", str(tmp_path / "m"), "--memory", LIMIT]) == 130
    assert seen == [[]] * 3 and os.listdir(tmp_path) == []


def test_a_full_disk_is_one_line_and_leaves_nothing(text, tmp_path, counted, capsys):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        assert main(["lm", "train", str(text), "-o", str(tmp_path / "m"), "--memory", LIMIT]) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "cannot write temporary files: file too large" in capsys.readouterr().err and os.listdir(tmp_path) == []


TRAIN = "import sys; from corpuscle.cli.main import main; sys.exit(main())"


def peak_of(*arguments):
    """Exit code, standard error and peak memory in bytes of a command in a process of its own."""
    command = [sys.executable, "-c", TRAIN, "lm", "train", *map(str, arguments), "--order", "5", "--quiet"]
    with tempfile.TemporaryFile() as errors, subprocess.Popen(command, stderr=errors, stdout=errors) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        return process.returncode, errors.read().decode(), usage.ru_maxrss * 1024


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems count memory otherwise")
def test_the_whole_command_stays_within_the_limit_and_within_a_hundred_bytes_a_token(tmp_path):
    text, random = tmp_path / "t.txt", np.random.default_rng(1)
    draws = (random.pareto(0.9, 5_000_000) * 30).astype(np.int64).clip(max=100_000).reshape(-1, 20)
    text.write_text("".join(" ".join(map(str, sentence)) + "\n" for sentence in draws.tolist()))
    assert peak_of(text, "-o", tmp_path / "plain")[0] == 0  # compiles, if need be
    code, _, peak = peak_of(text, "-o", tmp_path / "plain")
    assert code == 0 and peak <= 100 * draws.size
    code, error, _ = peak_of(text, "-o", tmp_path / "limited", "--memory", "100M")
    assert code == 2 and "too little" in error
    enough = error.split()[-3]
    code, _, peak = peak_of(text, "-o", tmp_path / "limited", "--memory", enough)
    assert code == 0 and peak <= int(enough[:-1]) << 20
    assert (tmp_path / "limited").read_bytes() == (tmp_path / "plain").read_bytes()
