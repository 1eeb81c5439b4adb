"""``python -m bench.record``: does every method of every task still give what it gave when the record was written?

Every method is trained and applied on a small generated sample through the command line, with fixed seeds; the
commands are in ``record.txt``. The record, ``record.json``, has a hash of each array of each model and of each text
that was written or printed, and each figure of ``--json``; the headers of models, and fields that are never the same
twice, have no part in it. So a change of the code that should not change results can be checked after every step: each
difference is one line, and the exit code is 1.

``--write`` writes the record; names of groups run only these. The hashes hold for one type of machine and one set of
library versions (a sum in another order is another hash), which is why this is a script and not a test.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import shlex
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from corpuscle.cli.main import main as corpuscle

COMMANDS = Path(__file__).with_name("record.txt")
RECORD = Path(__file__).with_name("record.json")
SAMPLE = "samples write sample --seed 1 --sentences 1500 --pairs 400 --names 300 --notes 40 --messages 40"
VOLATILE = {"seconds", "words_per_second", "model", "matrix", "folder", "pack", "report", "signature", "version"}
"""Fields of results that say when, where and how, not what."""
WITH_TIMES = {"report.html", "report.json", "state.json"}
"""Files that say so."""
MANY = 20
"""So many files of one kind in a folder have one hash together."""


def commands() -> dict[str, dict[str, list[str]]]:
    """Group -> label -> command line."""
    groups: dict[str, dict[str, list[str]]] = {}
    for line in COMMANDS.read_text("utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            group = line.strip("[]")
            found, uses = groups.setdefault(group, {}), {}
        elif line.startswith("* "):
            label, _, command = line[2:].partition(": ")
            uses[label] = command
        elif " = " in line:
            name, _, options = line.partition(" = ")
            for label, command in uses.items():
                found[f"{group} {label} {name}"] = shlex.split(command.format(name=name, options=options))
        else:
            label, _, command = line.partition(": ")
            found[f"{group} {label}"] = shlex.split(command)
    return groups


def _items(documents: list[str], most: int) -> str:
    """Sentences labelled by their documents, at most so many of each."""
    return "".join(
        f"{number}\t{line}\n"
        for number, document in enumerate(documents)
        for line in document.splitlines()[:most]
        if line
    )


def _vectors(documents: list[str]) -> str:
    """How many letters, spaces and full stops the sentences have, labelled by their documents."""
    return "".join(
        f"{number},{len(line)},{line.count(' ')},{line.count('.')}.5\n"
        for number, document in enumerate(documents)
        for line in document.splitlines()[:12]
        if line
    )


def _judgements(tagged: str) -> dict[str, str]:
    """Word pairs, phrases and relations of the most frequent words of a treebank, with ratings that mean nothing."""
    fields = [line.split("\t") for line in tagged.splitlines() if "\t" in line]
    words = Counter((field[1].lower(), field[3]) for field in fields)
    nouns, verbs, adjectives = ([word for (word, tag), _ in words.most_common() if tag == wanted][:12]
                                for wanted in ("NOUN", "VERB", "ADJ"))  # fmt: skip
    pairs = [f"{a}\t{b}\t{(7 * i + 3 * j) % 10}\n" for i, a in enumerate(nouns) for j, b in enumerate(nouns[:i])]
    phrases = [
        f"p{(i + j) % 2} {verb} {nouns[i]} {nouns[j]} {verbs[(i + j) % 4]} {(i * j + i) % 7 + 1} HIGH\n"
        for i, verb in enumerate(verbs)
        for j in range(6)
    ]
    relata = {"coord": (nouns[4:], "n"), "attri": (adjectives[:6], "j"), "event": (verbs[:6], "v"),
              "random-n": (nouns[2:5], "n"), "random-j": (adjectives[6:], "j")}  # fmt: skip
    triples = [
        f"{concept}-n\tthing\t{relation}\t{word}-{letter}\n"
        for concept in nouns[:4]
        for relation, (chosen, letter) in relata.items()
        for word in chosen
    ]
    heading = "participant verb subject object landmark input hilo\n"
    return {"pairs.tsv": "".join(pairs), "phrases.tsv": heading + "".join(phrases), "triples.tsv": "".join(triples)}


def make_inputs(command: str = SAMPLE) -> None:
    """Write the sample, and texts made of it, to the current folder."""
    run(shlex.split(command))
    sample = Path("sample")
    documents = [path.read_text("utf-8") for path in sorted(sample.glob("text/*.txt"))]
    held_out = (sample / "gold/held-out.txt").read_text("utf-8").splitlines(True)
    words = "".join((sample / "gold/words.txt").read_text("utf-8").splitlines(True)[:250])
    names = (sample / "gold/names.tsv").read_text("utf-8").splitlines()
    sides = ((sample / f"parallel/train.{side}").read_text("utf-8").splitlines() for side in ("src", "tgt"))
    first_words = {(source.split()[0], target.split()[0]) for source, target in zip(*sides, strict=True)}
    texts = {
        "text.txt": "".join(documents),
        "dev.txt": "".join(held_out[:50]),
        "test.txt": "".join(held_out[50:]),
        "new-documents/one.txt": "".join(held_out[:20]),
        "new-documents/two.txt": "".join(held_out[20:40]),
        "words.txt": words,
        "items.tsv": _items(documents, 12),
        "vectors.csv": _vectors(documents),
        "unspaced.txt": words.replace(" ", ""),
        "kana.txt": "".join(c if c == "\n" else chr(0x3042 + ord(c) % 80) for c in words.replace(" ", "")),
        "notes.txt": "\n\n".join(path.read_text("utf-8") for path in sorted(sample.glob("entities/*.txt"))),
        "names.txt": "".join(line.split("\t")[0] + "\n" for line in names),
        "features.tsv": "".join(f"{a}\t{b}\tend={a[-1] == b[-1]}\t1\n" for a, b in sorted(first_words)),
        "unspaced-kit/text/all.txt": words.replace(" ", ""),
        **_judgements((sample / "tagged.conllu").read_text("utf-8")),
    }
    for name, text in texts.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, "utf-8")
    for name in "src", "tgt", "align":
        shutil.copy(sample / f"gold/parallel.{name}", f"new.{name}")
    for name in "src", "tgt":
        shutil.copy(sample / f"parallel/train.{name}", f"old.{name}")
    shutil.copy(sample / "names.tsv", "names.tsv")
    shutil.copy(sample / "gold/names.tsv", "new-names.tsv")
    shutil.copytree(sample / "text", "documents")


def run(words: list[str]) -> str:
    """What a command prints; one that fails is an error with what it says."""
    output, messages = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with redirect_stdout(output), redirect_stderr(messages):
        code = corpuscle([*words, "--quiet"])
    if code:
        raise RuntimeError(messages.getvalue().strip())
    output.seek(0)
    return output.read()


def hash_of(*parts: bytes) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def figures(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The figures of a result: name -> number or text, or a hash of a list."""
    for name, value in values.items():
        if isinstance(value, dict) and name not in VOLATILE:
            yield from figures(value, f"{prefix}{name}.")
        elif name not in VOLATILE:
            yield prefix + name, hash_of(json.dumps(value).encode()) if isinstance(value, list) else value


def arrays(content: bytes) -> Iterator[tuple[str, str]]:
    """The arrays of a model, if that is what a file has in it: name -> hash."""
    from safetensors.numpy import load  # late: NumPy comes after the setting of its threads

    if content[8:9] == b"{" and int.from_bytes(content[:8], "little") < len(content):
        for name, array in sorted(load(content).items()):
            yield name, hash_of(str((array.dtype, array.shape)).encode(), array.tobytes())


def files() -> dict[Path, int]:
    """All files of the current folder, and when they were written."""
    return {path: path.stat().st_mtime_ns for path in sorted(Path().rglob("*")) if path.is_file()}


def results(words: list[str]) -> dict[str, Any]:
    """Run a command: name of each array, text and figure -> hash or number."""
    before = files()
    try:
        printed = run(words)
    except RuntimeError as error:
        return {"failed": str(error)}
    found: dict[str, Any] = {}
    if "--json" in words:
        *lines, last = printed.splitlines(True)
        printed = "".join(lines)
        found |= figures(json.loads(last))
    if printed:
        found["stdout"] = hash_of(printed.encode())
    new = [path for path, written in files().items() if before.get(path) != written and path.name not in WITH_TIMES]
    in_folder = Counter((path.parent, path.suffix) for path in new)
    together: dict[str, list[bytes]] = {}
    for path in new:
        content = path.read_bytes()
        if of_model := dict(arrays(content)):
            found |= {f"{path}: {name}": value for name, value in of_model.items()}
        elif in_folder[path.parent, path.suffix] > MANY:
            together.setdefault(f"{path.parent}/*{path.suffix}", []).extend((path.name.encode(), content))
        else:
            found[str(path)] = hash_of(content)
    return found | {name: hash_of(*contents) for name, contents in together.items()}


def differences(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    """What is not the same, one line each."""
    for name in old.keys() | new.keys():
        if name not in new:
            yield f"{name}: is gone"
        elif name not in old:
            yield f"{name}: is new" if name != "failed" else f"failed: {new[name]}"
        elif old[name] != new[name]:
            yield f"{name}: {old[name]} is now {new[name]}"


def main() -> int:
    groups = commands()
    parser = argparse.ArgumentParser(prog="python -m bench.record", description=__doc__.partition("\n")[0])
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"{', '.join(groups)} (default: all)")
    parser.add_argument("--write", action="store_true", help="write the record (of these groups) instead of comparing")
    given = parser.parse_args()
    if unknown := set(given.groups) - groups.keys():
        parser.error(f"no such group: {', '.join(sorted(unknown))}")
    chosen = given.groups or list(groups)
    record = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
    kept = {label: found for label, found in record.items() if label.split()[0] not in chosen}
    now: dict[str, dict[str, Any]] = {}
    changes = 0
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        inputs = Path(folder, "inputs")
        inputs.mkdir()
        with chdir(inputs):
            make_inputs()
        for group in chosen:
            begin = time.perf_counter()
            shutil.copytree(inputs, group)
            with chdir(group):
                for label, words in groups[group].items():
                    now[label] = results(words)
                    if given.write and "failed" not in now[label]:
                        continue
                    for line in sorted(differences(record.get(label, {}), now[label])):
                        print(f"{label}: {line}", flush=True)
                        changes += 1
            print(f"{group}: {len(groups[group])} commands, {time.perf_counter() - begin:.0f} s", file=sys.stderr)
    for label in sorted(record.keys() - kept.keys() - now.keys()):
        print(f"{label}: is gone")
        changes += not given.write
    if given.write and not changes:
        known = kept | now
        ordered = {label: known[label] for labels in groups.values() for label in labels if label in known}
        RECORD.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return int(changes > 0)


if __name__ == "__main__":
    sys.exit(main())
