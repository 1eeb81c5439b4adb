"""A pack on disk: models, report, and the state from which an interrupted run goes on.

    PACK/state.json      what has been done, from which input, with which settings, and what was found
    PACK/models/*.model  what was learned
    PACK/report.html     the report for people
    PACK/report.json     the same figures for programs
    PACK/kit/            the built-in sample, if nothing else was given

The state is written after every step, all of it or nothing. A step counts as done when its fingerprint (the content
of its input files, its settings, its version) is the one that was written down, and its files and the record itself are
still what they were.

As one object a pack has its models by name, what they say about a text, and the report:

    pack = corpuscle.load("pack")
    pack.lm.perplexity("other.txt")
    pack("A text.").surprisal

A model is loaded when it is first asked for, through the checks of model files.

Layers: what the models of a pack say about a text, word by word and sentence by sentence.

A text is read once: running text is split into sentences and words by ``text prepare``, and the sentences of a language
without spaces by the pack's segmenter. Each model then adds what it can say, one after the other; the parser sees the
tags of the tagger, as it does everywhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from corpuscle.atomic import check_all_inside, fence, lies_within
from corpuscle.errors import InputError
from corpuscle.model import load
from corpuscle.packs.kit import content_hash, second_columns
from corpuscle.text.corpus import Corpus, Preprocessing
from corpuscle.text.files import AnyPath, decode, open_bytes, write_atomically
from corpuscle.text.html import bdi, code, div, element, fragment, p, small, table
from corpuscle.text.interlinear import Interlinear, Phrase, completed
from corpuscle.text.running import prepare
from corpuscle.text.tables import read_table
from corpuscle.text.treebank import Treebank
from corpuscle.text.vocab import FIRST, UNKNOWN

FORMAT = 1
_MARK = "corpuscle_pack"


def write_json(path: AnyPath, value: Any) -> None:
    """Write plain data, readable for people, in one go."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    with write_atomically(path) as file:
        # A file name need not be valid Unicode; the backslash escape of what is not is also JSON's.
        file.write(text.encode("utf-8", "backslashreplace"))


def record_digest(record: Mapping[str, Any]) -> str:
    """A hash of what is written down about a step, by which damage is noticed."""
    facts = json.dumps({name: value for name, value in record.items() if name != "digest"})
    in_order = json.dumps(json.loads(facts), sort_keys=True)
    return hashlib.blake2b(in_order.encode(), digest_size=16).hexdigest()


class Pack:
    """The folder of a pack and its state. ``shown`` is the path as the user wrote it."""

    def __init__(self, folder: AnyPath):
        self.shown = str(folder)
        self.folder = Path(folder)
        self.state: dict[str, Any] = {_MARK: FORMAT, "steps": {}}
        fence(self.folder)
        if self.folder.exists() or self.folder.is_symlink():
            self._check()

    def _check(self) -> None:
        """Take up an existing folder if it is empty or ours; never write into anything else."""
        if not self.folder.is_dir():
            raise InputError(self.shown, None, "is a file; a pack is a folder")
        if not any(self.folder.iterdir()):
            return
        path = self.folder / "state.json"
        if not path.exists():
            raise InputError(self.shown, None, "is neither empty nor a pack; choose another folder with -o")
        try:
            state = json.loads(decode(open_bytes(path), path))
        except (ValueError, RecursionError) as error:
            raise InputError(path, None, f"not the state of a pack: {error}") from None
        if not isinstance(state, dict) or not isinstance(state.get(_MARK), int):
            raise InputError(path, None, "not the state of a pack; choose another folder with -o")
        if state[_MARK] > FORMAT:
            raise InputError(path, None, "written by a newer version of Corpuscle")
        steps = state.get("steps")
        if not isinstance(steps, dict) or not all(
            isinstance(done, dict)
            and isinstance(done.get("files"), dict)
            and all(lies_within(self.folder, name) for name in done["files"])
            for done in steps.values()
        ):
            raise InputError(path, None, "a damaged state; remove it together with its folder to begin again")
        check_all_inside(self.folder)
        self.state = state

    def create(self) -> None:
        """Make the folder, and mark it as ours before anything else is in it."""
        try:
            (self.folder / "models").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(self.shown, None, f"cannot make this folder: {(error.strerror or '').lower()}") from error
        self.save()

    def save(self) -> None:
        write_json(self.folder / "state.json", self.state)

    def done(self, step: str) -> Mapping[str, Any] | None:
        return self.state["steps"].get(step)

    def changed(self, record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """The files of a step that are not what it wrote, and why: missing, or changed."""
        for name, digest in record["files"].items():
            path = self.folder / name
            if not path.is_file():
                yield name, "missing"
            elif content_hash(path) != digest:
                yield name, "is not what the step wrote"

    def record(self, step: str, writes: Iterable[str], **facts: Any) -> None:
        files = {name: content_hash(self.folder / name) for name in writes}
        record = {**facts, "files": files}
        self.state["steps"][step] = record | {"digest": record_digest(record)}
        self.save()

    def forget(self, step: str) -> None:
        """Remove what a step has left, which no longer fits the kit."""
        record = self.state["steps"].pop(step, {"files": ()})
        self.save()
        for name in record["files"]:
            (self.folder / name).unlink(missing_ok=True)


class LoadedPack:
    """What was learned from a kit. ``pack.lm`` is the model of ``models/lm.model``, and so on (``list(pack)`` names
    them); ``pack(text)`` is what they say about a text."""

    def __init__(self, folder: AnyPath):
        self._pack = Pack(folder)
        self.folder = Path(folder)
        if not (self.folder / "state.json").is_file():
            raise InputError(folder, None, "not a pack, which has a state.json; corpuscle learn makes one")
        files = [name for record in self._pack.state["steps"].values() for name in record["files"]]
        paths = [PurePosixPath(name) for name in files]
        self._files = {path.stem: str(path) for path in paths if path.parts[0] == "models" and len(path.parts) == 2}
        self._models: dict[str, Any] = {}

    @property
    def report(self) -> Path:
        """Where the report is, a page for people."""
        return self.folder / "report.html"

    @property
    def findings(self) -> Mapping[str, Any]:
        """Step -> what it found, as plain data: the figures behind the report."""
        return {name: record.get("findings", {}) for name, record in self._pack.state["steps"].items()}

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def __contains__(self, name: object) -> bool:
        return name in self._files

    def path(self, name: str) -> Path:
        if name not in self._files:
            raise InputError(self.folder, None, f"this pack has no model {name!r}; it has {', '.join(self) or 'none'}")
        return self.folder / self._files[name]

    def model(self, name: str) -> Any:
        """A model by name, loaded at most once."""
        if name not in self._models:
            self._models[name] = load(self.path(name))
        return self._models[name]

    def __getattr__(self, name: str) -> Any:
        """A model by its name. Called for a property that failed, too: that one is asked again, for its own error."""
        if hasattr(type(self), name):
            return object.__getattribute__(self, name)
        if name.startswith("_") or name not in self._files:
            raise AttributeError(f"this pack has no {name!r}; its models are {', '.join(self) or 'none'}")
        return self.model(name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    def __call__(self, text: Text, layers: Iterable[str] | None = None) -> Layers:
        """What the models say about running text, sentences of it, or sentences of words; ``layers``: only these models
        (and ``dictionary``, ``glosses``)."""
        wanted = [*self, *_TABLES] if layers is None else list(layers)
        for name in wanted:
            if name not in _TABLES:
                self.path(name)  # complains about a model that is not there
        raw, words, offsets = read(self, text)
        found: dict[str, Any] = {}
        if words:
            reading = Reading(self, words, Preprocessing().apply(Corpus.from_sentences(words)))
            for name in [name for name in LAYERS if name in wanted]:
                found |= LAYERS[name](reading, self.model(name))
            for name, attribute in _TABLES.items():
                if name in wanted and (meanings := getattr(self, attribute)):
                    found[name] = [[meanings.get(word) for word in sentence] for sentence in words]
        return Layers(raw, words, offsets, found)

    @cached_property
    def translations(self) -> Mapping[str, str]:
        """Word -> its best translation in the dictionary, where that is not unsure."""
        path, best = self.folder / "dictionary.tsv", dict[str, str]()
        if path.is_file():
            for line, row in read_table(path):
                if line > 1 and row[-1] in ("sure", "likely"):
                    best.setdefault(row[0], row[1])
        return best

    @cached_property
    def glosses(self) -> Mapping[str, str]:
        """Word -> gloss, from the ``glosses.tsv`` of the kit."""
        return second_columns(self.folder / "glosses.tsv")

    @cached_property
    def morphs(self) -> Mapping[str, str]:
        """Word -> its morphs, spaces between them, as the glossed texts of the kit have them."""
        return second_columns(self.folder / "morphs.tsv", after=1)

    def interlinear(self, text: Text, name: str = "text") -> Interlinear:
        """Glossed text: morphs and glosses as the kit has them, else translations of the dictionary, and a draft
        translation of each sentence, where the pack has a translator. ``write_interlinear`` writes it."""
        layers = self(text, layers=["translate"] if "translate" in self else [])
        free = layers.layers.get("translation", [""] * len(layers.words))
        table = {**self.translations, **self.glosses}
        phrases = [Phrase(" ".join(words), (), draft) for words, draft in zip(layers.words, free, strict=True)]
        return Interlinear(name, tuple(completed(phrase, table, self.morphs, mark="") for phrase in phrases))

    def __repr__(self) -> str:
        return f"LoadedPack({str(self.folder)!r}: {', '.join(self) or 'no models'})"

    def _repr_html_(self) -> str:
        """Its steps with what each says, and the way to the report."""
        from corpuscle.packs.run import STEPS

        records = self._pack.state["steps"]
        rows = [
            (step.title, found.chapter(step).headline, code(step.writes[0]))
            for step in STEPS
            if (found := step.read(records.get(step.name))) is not None
        ]
        link = element("a", "report", href=self.report.as_posix())
        return fragment(table(("", "what was learned", "model"), rows), element("p", link))


Text = str | Sequence[str] | Sequence[Sequence[str]]  # running text, sentences of running text, or sentences of words
_TREE = ("tags", "xpos", "features", "lemmas")
_TABLES = {"dictionary": "translations", "glosses": "glosses"}  # layer -> attribute of a pack
_TOPICS, _TYPICAL = 3, 5


@dataclass(frozen=True)
class Layers:
    """A text and what is known about it.

    - ``text``: the running text, if that was given;
    - ``words``: its sentences as lists of words;
    - ``offsets``: begin and end of every word in the characters of ``text``, None where words were given;
    - ``layers``: name -> values, also as attributes (``layers.surprisal``). Most have a list for every sentence with a
      value for every word: ``surprisal`` (bits; the end of the sentence last), ``known``, ``classes``, ``senses``,
      ``tags``, ``xpos``, ``features``, ``lemmas``, ``heads`` (words from 1 on, 0: the root), ``relations``,
      ``dictionary`` (the best translation of a word that is not unsure), ``glosses`` (those of the kit). ``entities``
      are dictionaries with ``sentence``, ``words`` (numbers), ``type`` and ``text``; ``topics`` has the largest topics
      of the whole text; ``translation`` a string for every sentence.
    """

    text: str | None
    words: list[list[str]]
    offsets: list[list[tuple[int, int]]] | None
    layers: Mapping[str, Any]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self.layers:
            raise AttributeError(f"no layer {name!r}; there are {', '.join(self.layers) or 'none'}")
        return self.layers[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.layers]

    def to_json(self) -> dict[str, Any]:
        return {"text": self.text, "words": self.words, "offsets": self.offsets, "layers": dict(self.layers)}

    def _repr_html_(self) -> str:
        """A table for each sentence: the words, and below them what is known of each."""

        def shown(value: Any) -> str:
            return "" if value is None else f"{value:.1f}" if isinstance(value, float) else str(value)

        by_word = [name for name in self.layers if name not in ("entities", "topics", "translation")]
        parts = []
        for number, words in enumerate(self.words):
            rows = [(small(name), *map(shown, self.layers[name][number][: len(words)])) for name in by_word]
            parts.append(table(("", *map(bdi, words)), rows))
            if "translation" in self.layers:
                parts.append(p(self.layers["translation"][number], dir="auto"))
        for name in ("entities", "topics"):
            items = (", ".join(f"{key} {value}" for key, value in item.items()) for item in self.layers.get(name, ()))
            parts += [p(element("b", name), " ", item) for item in items]
        return div(*parts)


@dataclass(frozen=True)
class Reading:
    """A text as the models of a pack see it."""

    pack: LoadedPack
    words: list[list[str]]
    corpus: Corpus

    @property
    def bank(self) -> Treebank:
        return Treebank.from_sentences(self.words)

    def by_sentence(self, values: list[Any]) -> list[list[Any]]:
        """Values of all words, a list for every sentence."""
        return [values[a:b] for a, b in pairwise(self.corpus.sentence_starts.tolist())]


def read(pack: LoadedPack, text: Text) -> tuple[str | None, list[list[str]], list[list[tuple[int, int]]] | None]:
    """A text in sentences and words, with the place of every word where there is running text."""
    if not isinstance(text, str):
        given = list(text)
        if all(not isinstance(sentence, str) for sentence in given):
            return None, [list(sentence) for sentence in given if sentence], None
        text = "\n\n".join(map(str, given))
    prepared = prepare(text)
    starts, edges = prepared.sentence_starts.tolist(), [tuple(edge) for edge in prepared.offsets.tolist()]
    offsets = [edges[a:b] for a, b in pairwise(starts)]
    if "segment" in pack:
        offsets = _segmented(pack, text, offsets)
    return text, [[text[a:b] for a, b in sentence] for sentence in offsets], offsets


def _segmented(pack: LoadedPack, text: str, sentences: list[list[tuple[int, int]]]) -> list[list[tuple[int, int]]]:
    """The words of text without spaces, cut where the segmenter cuts; what it has removed stays between words."""
    lines = [[text[sentence[0][0] : sentence[-1][1]]] for sentence in sentences]
    found = pack.segment.segment(Corpus.from_sentences([["".join(line[0].split())] for line in lines]))
    result = []
    for number, sentence in enumerate(sentences):
        at, words = sentence[0][0], []
        for word in found.words(number):
            begin, left = at, len(word)
            while left:
                if text[at].isspace():
                    begin += at == begin
                else:
                    left -= 1
                at += 1
            words.append((begin, at))
        result.append(words)
    return result


def _surprisal(reading: Reading, model: Any) -> dict[str, Any]:
    bits, starts = model.surprisals(reading.corpus)
    known = reading.by_sentence((reading.corpus.recode(model.vocab_).tokens != UNKNOWN).tolist())
    return {"surprisal": [bits[a:b].tolist() for a, b in pairwise(starts.tolist())], "known": known}


def _classes(reading: Reading, model: Any, name: str) -> dict[str, Any]:
    return {name: reading.by_sentence((model.apply(reading.corpus).tokens - FIRST).tolist())}


def _topics(reading: Reading, model: Any) -> dict[str, Any]:
    from corpuscle.topics import document_topics, summaries

    corpus = reading.corpus.with_documents(np.array([0, len(reading.corpus)]))
    [about] = document_topics(model, corpus)
    typical = {topic.number: [word for word, _ in topic.words] for topic in summaries(model, _TYPICAL, 0)}
    best = (-about.shares).argsort(kind="stable")[:_TOPICS].tolist()
    return {"topics": [{"topic": k + 1, "share": float(about.shares[k]), "words": typical[k + 1]} for k in best]}


def _tags(reading: Reading, model: Any) -> dict[str, Any]:
    bank = model.annotate(reading.bank)
    names = [name for name in _TREE if name in model.layers_ or (name == "lemmas" and model.lemmatiser_.n_rules)]
    return {name: reading.by_sentence(getattr(bank, name).strings()) for name in names}


def _trees(reading: Reading, model: Any) -> dict[str, Any]:
    tag = reading.pack.tagger.annotate if "tagger" in reading.pack else model.tagged
    parsed = model.annotate(tag(reading.bank))
    heads, relations = parsed.heads.tolist(), parsed.relations.strings()
    return {"heads": reading.by_sentence(heads), "relations": reading.by_sentence(relations)}


def _entities(reading: Reading, model: Any) -> dict[str, Any]:
    from corpuscle.entities.documents import from_corpus

    mentions = model.tag(from_corpus(reading.corpus)).mentions
    return {"entities": [
        {"sentence": number, "words": list(tokens), "type": type, "text": " ".join(words[i] for i in tokens)}
        for number, (words, found) in enumerate(zip(reading.words, mentions, strict=True)) for type, tokens in found
    ]}  # fmt: skip


LAYERS: dict[str, Callable[[Reading, Any], dict[str, Any]]] = {
    "lm": _surprisal, "classes": partial(_classes, name="classes"), "senses": partial(_classes, name="senses"),
    "topics": _topics, "tagger": _tags, "parser": _trees, "entities": _entities,
    "translate": lambda reading, model: {
        "translation": [best[0].target if best else "" for best in model.translate(reading.corpus)]
    },
}  # fmt: skip
"""Name of a model -> what it adds, in this order."""
