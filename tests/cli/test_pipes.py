"""Every input is read once, so that it may be a pipe, as in ``corpuscle align evaluate gold <(command)``."""

import os
from contextlib import chdir

import pytest

from corpuscle.cli.main import main
from tests.tiny_models import FOLDER, NAMES, SOURCE, TARGET, TEXT

FILES = {
    "TEXT": TEXT,
    "GOLD": "0-0 1-1\n0-0 1?1\n",
    "LINKS": "0-0\n0-0 1-1\n",
    "OTHERS": "1-1\n1-1\n",
    "NAACL": "1 1 1 S\n1 2 2 S\n2 1 1 S\n2 2 2 P\n",
    "SOURCE": SOURCE,
    "TARGET": TARGET,
    "SOURCES": "das haus\ndas buch\n",
    "TARGETS": "the house\nthe book\n",
    "WORDS": TEXT,
    "OUTPUT": TEXT.replace("the ", "the"),
    "NAMES": NAMES,
    "RESULTS": "".join(line.split("\t")[1] + "\n" for line in NAMES.splitlines()),
    "UNSPACED": TEXT.replace(" ", ""),
}


def piped(content: str) -> str:
    """The name of a pipe with a text in it, which can be read once."""
    reading, writing = os.pipe()
    os.write(writing, content.encode())
    os.close(writing)
    return f"/dev/fd/{reading}"


@pytest.mark.parametrize(
    "command",
    [
        "lm perplexity lm.ngram TEXT",
        "lm compare lm.ngram lm.hpy TEXT",
        "lm score lm.ngram TEXT",
        "classes apply words.exchange TEXT",
        "topics perplexity topics.ngram TEXT",
        "segment apply segment.npylm UNSPACED",
        "segment evaluate WORDS OUTPUT",
        "segment evaluate WORDS --model segment.npylm",
        "align evaluate GOLD LINKS",
        "align evaluate NAACL LINKS --against OTHERS",
        "align evaluate GOLD NAACL --source SOURCES --target TARGETS --train SOURCE TARGET",
        "align evaluate GOLD --model align.hmm --source SOURCES --target TARGETS --train SOURCE TARGET",
        "align lexicon align.hmm --examples SOURCE TARGET",
        "transliterate evaluate NAMES RESULTS",
        "transliterate evaluate NAMES --model transliterate.phrase",
        "text stats TEXT --against WORDS",
    ],
)
def test_a_command_reads_pipes_as_it_reads_files(command, tmp_path, capsys):
    for model in FOLDER.iterdir():
        (tmp_path / model.stem).symlink_to(model)
    for name, content in FILES.items():
        (tmp_path / name).write_text(content, "utf-8")
    words = command.split()
    pipes = {word: piped(FILES[word]) for word in words if word in FILES}
    try:
        with chdir(tmp_path):
            assert main([*words, "--quiet"]) == 0, capsys.readouterr().err
            from_files = capsys.readouterr().out
            assert main([*(pipes.get(word, word) for word in words), "--quiet"]) == 0, capsys.readouterr().err
        assert capsys.readouterr().out == from_files
    finally:
        for pipe in pipes.values():
            os.close(int(pipe.removeprefix("/dev/fd/")))
