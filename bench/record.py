"""``python -m bench.record --against CHECKOUT``: do two checkouts give the same results on this machine?

Every method of every task is trained and applied on a small generated sample through the command line, with fixed
seeds; the commands are in ``record.txt``. Each side runs in a process of its own that has the ``src`` of its checkout
on its path. Arrays of models are compared by hash, ``--json`` as objects, texts by content; the headers of models, and
fields that are never the same twice, have no part in it. So a change of the code that should not change results can be
checked against the commit before it: each difference is one line, and the exit code is 1.

Names of groups or labels run only these: ``lm``, or ``"lm perplexity kn"`` with what its group runs before it.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = Path(__file__).with_name("record.txt")
SAMPLE = "samples write sample --seed 1 --sentences 1500 --pairs 400 --names 300 --notes 40 --messages 40"
VOLATILE = {"seconds", "words_per_second", "model", "matrix", "folder", "pack", "report", "signature", "version"}
"""Fields of results that say when, where and how, not what."""
WITH_TIMES = {"report.html", "report.json", "state.json"}
"""Files that say so."""
MANY = 20
"""So many files of one kind in a folder have one hash together."""
SIDE = "import sys; from bench.record import side; side(*sys.argv[1:])"


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


def _vectors(documents: list[str], most: int) -> str:
    """How many letters, spaces and full stops the sentences have, labelled by their documents."""
    return "".join(
        f"{number},{len(line)},{line.count(' ')},{line.count('.')}.5\n"
        for number, document in enumerate(documents)
        for line in document.splitlines()[:most]
        if line
    )


def _judgements(tagged: str) -> dict[str, str]:
    """Word pairs, phrases, relations and analogies of the most frequent words of a treebank, that mean nothing."""
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
    questions = [f"{a} {b} {c} {d}\n" for (a, b), (c, d) in pairwise(pairwise(nouns))]
    return {
        "pairs.tsv": "".join(pairs), "phrases.tsv": heading + "".join(phrases), "triples.tsv": "".join(triples),
        "questions.txt": "".join(questions),
    }  # fmt: skip


def make_inputs(command: str = SAMPLE, segmented: int = 250, items: int = 12) -> None:
    """Write the sample, and texts made of it, to the current folder; ``segmented``: how many lines text without spaces
    is made of; ``items``: how many sentences of a document are items of a metric."""
    run(shlex.split(command))
    sample = Path("sample")
    documents = [path.read_text("utf-8") for path in sorted(sample.glob("text/*.txt"))]
    held_out = (sample / "gold/held-out.txt").read_text("utf-8").splitlines(True)
    words = "".join((sample / "gold/words.txt").read_text("utf-8").splitlines(True)[:segmented])
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
        "items.tsv": _items(documents, items),
        "vectors.csv": _vectors(documents, items),
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
    from corpuscle.cli.main import main as corpuscle  # late: that of the checkout whose process this is

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


def figures(value: Any) -> Any:
    """A result without the fields that are never the same twice."""
    if isinstance(value, dict):
        return {name: figures(each) for name, each in value.items() if name not in VOLATILE}
    return value


def arrays(content: bytes) -> dict[str, str]:
    """The arrays of a model, if that is what a file has in it: name -> type, shape and hash."""
    size = int.from_bytes(content[:8], "little")
    if content[8:9] != b"{" or size >= len(content):
        return {}
    begin, header = 8 + size, json.loads(content[8 : 8 + size])
    header.pop("__metadata__", None)
    return {
        name: f"{each['dtype']} {each['shape']} {hash_of(content[slice(*(begin + at for at in each['data_offsets']))])}"
        for name, each in sorted(header.items())
    }


def text_or_hash(content: bytes) -> str:
    """A text as it is; a hash of anything else."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return hash_of(content)


def files() -> dict[Path, int]:
    """All files of the current folder, and when they were written."""
    return {path: path.stat().st_mtime_ns for path in sorted(Path().rglob("*")) if path.is_file()}


def results(words: list[str]) -> dict[str, Any]:
    """Run a command: what it printed (``json``, ``stdout``) or that it failed; file -> text, file: array -> hash."""
    before = files()
    try:
        printed = run(words)
    except Exception as error:  # whatever one side says must not stop the other
        return {"failed": str(error) or repr(error)}
    found: dict[str, Any] = {}
    if "--json" in words:
        *lines, last = printed.splitlines(True)
        printed = "".join(lines)
        found["json"] = figures(json.loads(last))
    if printed:
        found["stdout"] = printed
    new = [path for path, written in files().items() if before.get(path) != written and path.name not in WITH_TIMES]
    in_folder = Counter((path.parent, path.suffix) for path in new)
    together: dict[str, list[bytes]] = {}
    for path in new:
        content = path.read_bytes()
        if of_model := arrays(content):
            found |= {f"{path}: {name}": value for name, value in of_model.items()}
        elif in_folder[path.parent, path.suffix] > MANY:
            together.setdefault(f"{path.parent}/*{path.suffix}", []).extend((path.name.encode(), content))
        else:
            found[str(path)] = text_or_hash(content)
    return found | {name: hash_of(*contents) for name, contents in together.items()}


def side(source: str, inputs: str, chosen: str, out: str) -> None:
    """In a process of its own: run commands (JSON: group -> label -> words) with the package of a checkout."""
    import corpuscle

    if not Path(corpuscle.__file__).resolve().is_relative_to(source):
        raise SystemExit(f"{source}: not the package that is imported, which is {corpuscle.__file__}")
    if not Path(inputs).exists():
        Path(inputs).mkdir()
        with chdir(inputs):
            make_inputs()
    found: dict[str, dict[str, Any]] = {}
    for group, labelled in json.loads(chosen).items():
        begin = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(inputs, folder, dirs_exist_ok=True)
            with chdir(folder):
                found |= {label: results(words) for label, words in labelled.items()}
        print(f"{group}: {len(labelled)} commands, {time.perf_counter() - begin:.0f} s", file=sys.stderr)
    Path(out).write_text(json.dumps(found), "utf-8")


def run_side(checkout: Path, inputs: Path, chosen: Mapping[str, Mapping[str, list[str]]]) -> dict[str, dict[str, Any]]:
    """The results of a checkout: label -> what ``results`` gives. The first side writes the inputs of both."""
    source, out = checkout.resolve() / "src", inputs.with_name("results.json")
    path = os.pathsep.join([str(source), str(ROOT), os.environ.get("PYTHONPATH", "")])
    words = [sys.executable, "-c", SIDE, str(source), str(inputs), json.dumps(chosen), str(out)]
    subprocess.run(words, env=os.environ | {"PYTHONPATH": path}, cwd=ROOT, check=True)
    return json.loads(out.read_text("utf-8"))


def differences(old: Any, new: Any, name: str = "") -> Iterator[str]:
    """What is not the same, one line each."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            where = f"{name}: {key}" if name else key
            if key not in new:
                yield f"{where}: is gone"
            elif key not in old:
                yield f"{where}: is new" + (f", {_short(new[key])}" if key == "failed" else "")
            else:
                yield from differences(old[key], new[key], where)
    elif isinstance(old, str) and isinstance(new, str) and old.count("\n") + new.count("\n") > 0 and old != new:
        before, after = old.splitlines(True), new.splitlines(True)
        same = next((k for k, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), None)
        if same is None:
            yield f"{name}: {len(before):,} lines are now {len(after):,}"
        else:
            yield f"{name}: line {same + 1}: {_short(before[same])} is now {_short(after[same])}"
    elif old != new:
        yield f"{name}: {_short(old)} is now {_short(new)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 100 else text[:97] + "..."


def choose(names: Iterable[str], groups: Mapping[str, Mapping[str, list[str]]]) -> dict[str, dict[str, list[str]]]:
    """The commands of groups, and of labels with those before them in their group; all if there are no names."""
    chosen: dict[str, dict[str, list[str]]] = {}
    for name in names or groups:
        group = name if name in groups else next((each for each in groups if name in groups[each]), None)
        if group is None:
            raise KeyError(name)
        labels = list(groups[group])
        wanted = labels if name == group else labels[: labels.index(name) + 1]
        if len(wanted) > len(chosen.get(group, ())):
            chosen[group] = {label: groups[group][label] for label in wanted}
    return chosen


def main(arguments: list[str] | None = None) -> int:
    groups = commands()
    parser = argparse.ArgumentParser(prog="python -m bench.record", description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="GROUP|LABEL", help=f"{', '.join(groups)} (default: all)")
    parser.add_argument("--against", type=Path, required=True, metavar="CHECKOUT", help="the one to compare with")
    given = parser.parse_args(arguments)
    if not (given.against / "src/corpuscle").is_dir():
        parser.error(f"{given.against} is no checkout: it has no src/corpuscle")
    try:
        chosen = choose(given.names, groups)
    except KeyError as error:
        parser.error(f"no such group or label: {error.args[0]}")
    with tempfile.TemporaryDirectory() as folder:
        inputs = Path(folder, "inputs")
        new = run_side(ROOT, inputs, chosen)
        old = run_side(given.against, inputs, chosen)
    lines = list(differences(old, new))
    lines += [f"{label}: failed on both sides: {_short(found['failed'])}" for label, found in new.items()
              if "failed" in found and "failed" in old[label]]  # fmt: skip
    print(*lines, sep="\n", end="\n" if lines else "")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
