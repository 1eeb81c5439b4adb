"""Layers of annotation: what a correction of a sentence looks like, what is wrong with one, and where it goes in a kit.

A correction is about a whole sentence (or pair, or message), given as a value, plain data:

    segment     {"words": [...]}                        -> segmented.txt, words with spaces between them
    trees       {"words": [{"form", "upos", ...}]}      -> tagged.conllu, as the columns of CoNLL-U
    entities    {"words": [...], "mentions": [{"type", "tokens"}]}   -> entities/annotated.jsonl
    links       {"source": [...], "target": [...], "links": [[i, j]]} -> links/annotated.{src,tgt,links}, Pharaoh
    normalise   {"words": [...], "standard": [...], "oov": [i]}       -> noisy.tsv, LexNorm
    brackets    {"tree": "(S (NP ...) ...)"}            -> trees.mrg, Penn bracketings
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from corpuscle.errors import InputError, SettingError
from corpuscle.text.files import write_atomically

Value = Mapping[str, Any]
_COLUMNS = {"lemma": "lemmas", "upos": "tags", "xpos": "xpos", "feats": "features", "deprel": "relations"}
_MOST = 1000  # words of a sentence


@dataclass(frozen=True)
class Layer:
    """``files``: of a kit, where annotations go; ``check``: the text that a value is about, or ``SettingError``;
    ``units``: what annotators agree on, unit by unit; ``write``: values into those files."""

    files: tuple[str, ...]
    check: Callable[[Value], str]
    units: Callable[[Value], list[Any]]
    write: Callable[[Path, Sequence[Value]], None]


def _words(value: Value, name: str = "words", spaces: bool = False) -> list[str]:
    words = value.get(name)
    if not isinstance(words, list) or not 0 < len(words) <= _MOST:
        raise SettingError(f"{name} is a list of 1 to {_MOST} words")
    for word in words:
        if not isinstance(word, str) or len(word) > 500 or any(c in word for c in "\t\n\r\0"):
            raise SettingError(f"{name}: a word has no tab and no line break in it, and at most 500 characters")
        if not spaces and (not word or any(c.isspace() for c in word)):
            raise SettingError(f"{name}: {word[:40]!r} is not a word, which is not empty and has no spaces")
        if any("\ud800" <= c <= "\udfff" for c in word):
            raise SettingError(f"{name}: half a surrogate pair is no character")
    return words


def _only(value: Value, *names: str) -> None:
    if unknown := sorted(map(str, set(value) - set(names))):
        raise SettingError(f"unknown: {', '.join(unknown)[:80]}; a value has {', '.join(names)}")


# ---- segmentation


def _check_segment(value: Value) -> str:
    _only(value, "words")
    return "".join(_words(value))


def _gaps(value: Value) -> list[bool]:
    """Whether there is a boundary after each letter but the last."""
    return [edge == len(word) for word in value["words"] for edge in range(1, len(word) + 1)][:-1]


def _write_segment(kit: Path, values: Sequence[Value]) -> None:
    _write_lines(kit / "segmented.txt", [" ".join(value["words"]) for value in values])


def _write_lines(path: Path, lines: Sequence[str]) -> None:
    with write_atomically(path, "w") as file:
        file.writelines(f"{line}\n" for line in lines)


# ---- trees


def _check_trees(value: Value) -> str:
    _only(value, "words")
    words = value.get("words")
    if not isinstance(words, list) or not all(isinstance(word, dict) for word in words):
        raise SettingError("words is a list of objects")
    for word in words:
        _only(word, "form", "head", *_COLUMNS)
        if "head" in word and type(word["head"]) is not int:
            raise SettingError("a head is a whole number")
    forms = _words({"words": [word.get("form") for word in words]})
    for name in _COLUMNS:
        _words({name: [word.get(name, "_") for word in words]}, name)
    heads = [word for word in words if "head" in word]
    if heads and len(heads) < len(words):
        raise SettingError("either all words have a head or none has")
    if heads:
        if not all(0 <= word["head"] <= len(words) for word in words):
            raise SettingError(f"a head is from 0 (the root) to {len(words)}")
        try:
            _bank([value]).check_trees()
        except InputError as error:
            raise SettingError(f"the heads make no tree: {error.reason}") from None
    return " ".join(forms)


def _bank(values: Sequence[Value]) -> Any:
    from corpuscle.text import Treebank

    sentences = [value["words"] for value in values]
    layers: dict[str, Any] = {
        layer: [[word.get(name, "_") for word in words] for words in sentences] for name, layer in _COLUMNS.items()
    }
    heads = [[word.get("head", -1) for word in words] for words in sentences]
    forms = [[word["form"] for word in words] for words in sentences]
    return Treebank.from_sentences(forms, heads=heads, **layers)


def _tagged(value: Value) -> list[Any]:
    return [tuple(word.get(name, "_") for name in ("head", *_COLUMNS)) for word in value["words"]]


def _write_trees(kit: Path, values: Sequence[Value]) -> None:
    """Into the treebank of the kit: a sentence that it has gets the new annotation, others come behind."""
    import numpy as np

    from corpuscle.text import read_conllu
    from corpuscle.text.conllu import format_conllu

    path, new = kit / "tagged.conllu", {tuple(word["form"] for word in value["words"]): value for value in values}
    blocks: list[str] = []
    if path.is_file():
        old = read_conllu(path)
        kept = [i for i in range(len(old)) if tuple(old.corpus.words(i)) not in new]
        blocks += format_conllu(old.select(np.array(kept, np.int64)))
    blocks += format_conllu(_bank(list(new.values())))
    with write_atomically(path, "w") as file:
        file.writelines(blocks)


# ---- entities


def _check_entities(value: Value) -> str:
    _only(value, "words", "mentions")
    words, mentions = _words(value), value.get("mentions")
    if not isinstance(mentions, list) or len(mentions) > _MOST:
        raise SettingError("mentions is a list")
    for mention in mentions:
        if not isinstance(mention, dict) or set(mention) != {"type", "tokens"}:
            raise SettingError("a mention has a type and tokens")
        _words({"type": [mention["type"]]}, "type")
        tokens = mention["tokens"]
        good = isinstance(tokens, list) and tokens and all(type(t) is int and 0 <= t < len(words) for t in tokens)
        if not good or any(a >= b for a, b in pairwise(tokens)):
            raise SettingError("the tokens of a mention are rising numbers of words, from 0 on")
    return " ".join(words)


def _mentioned(value: Value) -> list[Any]:
    """For each word the types of the mentions that it is part of, and whether it begins one."""
    return [
        tuple(sorted((m["type"], m["tokens"][0] == i) for m in value["mentions"] if i in m["tokens"]))
        for i in range(len(value["words"]))
    ]


def _write_entities(kit: Path, values: Sequence[Value]) -> None:
    from corpuscle.text import Mention, Standoff, write_standoff_json
    from corpuscle.text.mention_tags import TokenMention

    documents = []
    for number, value in enumerate(values, 1):
        words = value["words"]
        starts = accumulate((len(word) + 1 for word in words), initial=0)
        edges = [(first, following - 1) for first, following in pairwise(starts)]
        mentions = tuple(
            Mention(m["type"], tuple((edges[a][0], edges[b][1]) for a, b in TokenMention(m["type"], m["tokens"]).runs))
            for m in value["mentions"]
        )
        documents.append(Standoff(" ".join(words), mentions, name=f"annotated-{number}"))
    (kit / "entities").mkdir(parents=True, exist_ok=True)
    write_standoff_json(documents, kit / "entities" / "annotated.jsonl")


# ---- links

_LINKS = ("links/annotated.src", "links/annotated.tgt", "links/annotated.links")


def _check_links(value: Value) -> str:
    _only(value, "source", "target", "links")
    source, target, links = _words(value, "source"), _words(value, "target"), value.get("links")
    if not isinstance(links, list) or len(links) > _MOST:
        raise SettingError("links is a list of pairs")
    for link in links:
        good = isinstance(link, list) and len(link) == 2 and all(type(place) is int for place in link)
        if not good or not (0 <= link[0] < len(source) and 0 <= link[1] < len(target)):
            raise SettingError("a link is a pair of places, of a source word and a target word, from 0 on")
    return f"{' '.join(source)} ||| {' '.join(target)}"


def _cells(value: Value) -> list[bool]:
    links = {tuple(link) for link in value["links"]}
    return [(i, j) in links for i in range(len(value["source"])) for j in range(len(value["target"]))]


def _write_links(kit: Path, values: Sequence[Value]) -> None:
    (kit / "links").mkdir(parents=True, exist_ok=True)
    sides = ([" ".join(value[side]) for value in values] for side in ("source", "target"))
    links = [" ".join(f"{i}-{j}" for i, j in sorted(map(tuple, value["links"]))) for value in values]
    for name, lines in zip(_LINKS, (*sides, links), strict=True):
        _write_lines(kit / name, lines)


# ---- normalisation


def _check_normalise(value: Value) -> str:
    _only(value, "words", "standard", "oov")
    words, standard, unknown = _words(value), _words(value, "standard", spaces=True), value.get("oov", [])
    if len(words) != len(standard):
        raise SettingError(f"{len(words)} words, but {len(standard)} standard forms")
    if not isinstance(unknown, list) or not all(type(i) is int and 0 <= i < len(words) for i in unknown):
        raise SettingError("oov is a list of numbers of words, from 0 on, that no lexicon has")
    return " ".join(words)


def _write_normalise(kit: Path, values: Sequence[Value]) -> None:
    """Into the messages of the kit: one that it has gets the new standard forms, others come behind."""
    from corpuscle.text.columns import FLAGS, Normalised, read_normalised, write_normalised

    path, messages, flags = kit / "noisy.tsv", dict[tuple[str, ...], list[str]](), dict[tuple[str, ...], list[str]]()
    if path.is_file():
        old = read_normalised(path)
        notes, starts = old.notes.strings(), old.corpus.sentence_starts.tolist()
        for i, bounds in enumerate(pairwise(starts)):
            words, standard = tuple(old.corpus.words(i)), old.standard(i)
            said = zip(words, standard, notes[slice(*bounds)], strict=True)
            messages[words] = standard
            flags[words] = [note if note in FLAGS else _flag(typed, form) for typed, form, note in said]
    for value in values:
        words = tuple(value["words"])
        messages[words], unknown = value["standard"], value.get("oov", ())
        flags[words] = [_flag(*pair, i in unknown) for i, pair in enumerate(zip(words, messages[words], strict=True))]
    write_normalised(Normalised.from_messages(messages.keys(), messages.values(), flags.values()), path)


def _flag(typed: str, standard: str, unknown: bool = False) -> str:
    """What LexNorm says of a token: no word; none of the lexicon, ill-formed or not; or one of the lexicon."""
    return "NO" if not any(map(str.isalpha, typed)) else "OOV" if unknown or typed != standard else "IV"


# ---- brackets


def _check_brackets(value: Value) -> str:
    from corpuscle.text.brackets import parse_brackets

    _only(value, "tree")
    tree = value.get("tree")
    if not isinstance(tree, str) or len(tree) > 20_000 or "\n" in tree:
        raise SettingError("tree is a bracketing on one line")
    try:
        trees = parse_brackets([tree])
    except InputError as error:
        raise SettingError(f"tree: {error.reason}") from None
    if len(trees) != 1:
        raise SettingError("tree: one tree is expected")
    return " ".join(trees.words.words(0))


def _constituents(value: Value) -> list[Any]:
    """For each word the constituents that begin with it: their ends and labels."""
    from corpuscle.text.brackets import parse_brackets

    tree = parse_brackets([value["tree"]])
    begun: list[list[Any]] = [[] for _ in tree.words.words(0)]
    for (first, end), label in zip(tree.spans.tolist(), tree.labels.strings(), strict=True):
        begun[first].append((end, label))
    return [tuple(each) for each in begun]


def _write_brackets(kit: Path, values: Sequence[Value]) -> None:
    path = kit / "trees.mrg"
    old = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    _write_lines(path, list(dict.fromkeys([*old, *(value["tree"] for value in values)])))


LAYERS = {
    "segment": Layer(("segmented.txt",), _check_segment, _gaps, _write_segment),
    "trees": Layer(("tagged.conllu",), _check_trees, _tagged, _write_trees),
    "entities": Layer(("entities/annotated.jsonl",), _check_entities, _mentioned, _write_entities),
    "links": Layer(_LINKS, _check_links, _cells, _write_links),
    "normalise": Layer(("noisy.tsv",), _check_normalise, lambda value: list(value["standard"]), _write_normalise),
    "brackets": Layer(("trees.mrg",), _check_brackets, _constituents, _write_brackets),
}
"""Name -> layer."""
