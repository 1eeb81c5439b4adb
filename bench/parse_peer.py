"""UDPipe 1 as a side of ``bench parse``: run by the Python of UDPIPE_PYTHON, in which ``ufal.udpipe`` is installed.

    parse_peer.py train TRAIN.conllu MODEL       learns its parser with its default settings, prints CPU seconds
    parse_peer.py parse MODEL DEV.conllu OUT     parses (words and tags of the file), prints CPU seconds of parsing

Features of morphology (FEATS) are taken away on both sides, because the training part of EWT has none.
"""

from __future__ import annotations

import json
import sys
import time

from ufal import udpipe


def sentences(path: str):  # type: ignore[no-untyped-def]
    """The sentences of a file, without FEATS."""
    reader, error = udpipe.InputFormat.newConlluInputFormat(), udpipe.ProcessingError()
    with open(path, encoding="utf-8") as file:
        reader.setText(file.read())
    while True:
        sentence = udpipe.Sentence()
        if not reader.nextSentence(sentence, error):
            break
        for number in range(1, sentence.words.size()):
            sentence.words[number].feats = ""
        yield sentence
    if error.occurred():
        raise SystemExit(error.message)


def train(source: str, model: str) -> dict[str, float]:
    """Learn a parser with default settings."""
    bank, error = udpipe.Sentences(), udpipe.ProcessingError()
    for sentence in sentences(source):
        bank.push_back(sentence)
    begin = time.process_time()
    learned = udpipe.Trainer.train(
        "morphodita_parsito", bank, udpipe.Sentences(), udpipe.Trainer.NONE, udpipe.Trainer.NONE,
        udpipe.Trainer.DEFAULT, error,
    )  # fmt: skip
    seconds = time.process_time() - begin
    if error.occurred():
        raise SystemExit(error.message)
    with open(model, "wb") as file:
        file.write(learned)
    return {"seconds": seconds, "sentences": bank.size()}


def parse(model: str, source: str, output: str, options: str = "") -> dict[str, float]:
    """Parse the words of a file by its tags; ``options``: ``beam_search=1``, say (default: the model's own, 5)."""
    loaded, error = udpipe.Model.load(model), udpipe.ProcessingError()
    bank = list(sentences(source))
    wall, begin = time.perf_counter(), time.process_time()
    for sentence in bank:
        if not loaded.parse(sentence, options, error):
            raise SystemExit(error.message)
    seconds, wall = time.process_time() - begin, time.perf_counter() - wall
    writer = udpipe.OutputFormat.newConlluOutputFormat()
    with open(output, "w", encoding="utf-8") as file:
        for sentence in bank:
            file.write(writer.writeSentence(sentence))
    return {"seconds": seconds, "wall": wall, "sentences": len(bank)}


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    print(json.dumps({"train": train, "parse": parse}[what](*arguments)))
