"""UDPipe 1 on a treebank: ``python parse_peer.py TRAIN DEV`` in a Python that has ``ufal.udpipe``; prints JSON."""

import json
import os
import sys
import tempfile
import time

from ufal.udpipe import Model, Pipeline, ProcessingError, Sentence, Trainer


def blanked(path):
    """The sentences of a CoNLL-U file without FEATS, multiword tokens and empty nodes, as text."""
    lines = []
    for line in open(path, encoding="utf-8"):
        fields = line.rstrip("\n").split("\t")
        if len(fields) == 10:
            if not fields[0].isdigit():
                continue
            fields[5] = "_"
            line = "\t".join(fields) + "\n"
        elif line.startswith("#"):
            continue
        lines.append(line)
    return "".join(lines)


def rows(text):
    return [tuple(line.split("\t")[6:8]) for line in text.splitlines() if line.count("\t") == 9]


def main(train, dev):
    from ufal.udpipe import InputFormat, Sentences

    training, reader = Sentences(), InputFormat.newConlluInputFormat()
    reader.setText(blanked(train))
    sentence = Sentence()
    while reader.nextSentence(sentence, ProcessingError()):
        training.push_back(sentence)
        sentence = Sentence()
    begin = time.process_time()
    made = Trainer.train("morphodita_parsito", training, Sentences(), "none", "none", "", ProcessingError())
    learned = time.process_time() - begin
    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(made if isinstance(made, bytes) else made.encode("latin-1"))
    model = Model.load(file.name)
    os.unlink(file.name)
    text = blanked(dev)
    begin = time.process_time()
    found = Pipeline(model, "conllu", Pipeline.NONE, Pipeline.DEFAULT, "conllu").process(text, ProcessingError())
    parsed = time.process_time() - begin
    pairs = list(zip(rows(text), rows(found), strict=True))
    count = text.count("\n\n")
    print(json.dumps({
        "UAS": 100 * sum(a[0] == b[0] for a, b in pairs) / len(pairs),
        "LAS": 100 * sum(a == b for a, b in pairs) / len(pairs),
        "training CPU s": learned, "sentences a CPU second": count / parsed,
    }))  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
