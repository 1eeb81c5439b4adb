"""The verbs of normalisation: learn, normalise, evaluate; survey, corrupt and choose messages."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from corpuscle.errors import InputError, SettingError
from corpuscle.text.files import suffix_of
from corpuscle.text.wording import percent
from corpuscle.verbs import (
    ITEMS,
    RAW,
    SEED,
    Answer,
    Input,
    Learned,
    Lines,
    Shown,
    Typed,
    a_model,
    lines,
    made_by,
    messages,
    names,
    path,
    read_by,
    setting,
    trains,
    treebank,
    verb,
    view,
)

if TYPE_CHECKING:
    from corpuscle.normalise import Normaliser
    from corpuscle.normalise.lexicon import Replacements
    from corpuscle.text import Treebank
    from corpuscle.text.columns import Normalised
    from corpuscle.text.origin import Listed

_GOLD = (".norm", ".tsv", ".jsonl")
_RANKED = 5
_FREQUENT = 5
_BLOCK = 1 << 18
_RAW: Any = RAW
_WORDS, _SLANG = "corpuscle.normalise:read_words", "corpuscle.normalise:read_slang"


class TrainingMessages(NamedTuple):
    """What a normaliser learns from: plain messages, and annotated ones."""

    plain: Sequence[list[str]]
    annotated: Normalised | None


def _paths(value: Any) -> tuple[str, ...]:
    """The names of files, one or several; none where the value is data."""
    return value if isinstance(value, tuple) else (os.fspath(value),) if isinstance(value, str | os.PathLike) else ()


def training_messages(value: Any, model: Any, declared: Input, *, raw: bool = False) -> TrainingMessages:
    """Messages of files, annotated by the names of these or plain; or messages as they are in Python."""
    from corpuscle.text.columns import Normalised, read_normalised
    from corpuscle.text.inputs import messages, read_messages

    if isinstance(value, Normalised):
        return TrainingMessages([], value)
    if not (paths := _paths(value)):
        return TrainingMessages(messages(value, model), None)
    parts = [read_normalised(path) for path in paths if suffix_of(path) in _GOLD]
    plain = read_messages([path for path in paths if suffix_of(path) not in _GOLD], raw)
    if len(parts) < 2:
        return TrainingMessages(plain, parts[0] if parts else None)
    typed = [message for part in parts for message in part.corpus]
    meant = [part.standard(i) for part in parts for i in range(len(part))]
    origin = None if parts[0].origin is None else parts[0].origin.loose()
    return TrainingMessages(plain, Normalised.from_messages(typed, meant, origin=origin))


def message_blocks(value: Any, model: Any, declared: Input, *, raw: bool = False) -> Iterator[list[list[str]]]:
    """The messages of a text, some at a time, as they come in: what is piped in is answered before its end."""
    from corpuscle.text import inputs
    from corpuscle.text.files import decode, expand, open_stream
    from corpuscle.text.inputs import split_messages

    if isinstance(value, Typed) or not (paths := _paths(value)):
        yield inputs.messages(value, model, declared, raw=raw)
        return
    for file in expand(paths):
        rest, number = b"", 1
        with open_stream(file) as stream:
            while block := stream.read(_BLOCK):
                whole, newline, rest = (rest + block).rpartition(b"\n")
                if newline:
                    lines = decode(whole, file, number).split("\n")
                    number += len(lines)
                    yield split_messages(lines, raw)
        if rest:
            yield split_messages([decode(rest, file, number)], raw)


def texts_by_name(value: Any, model: Any, declared: Input, **_: Any) -> list[tuple[str, Listed[str]]]:
    """The lines of texts with the names of their files, without folder and ending; or of a mapping."""
    from corpuscle.text.inputs import names

    if isinstance(value, Mapping):
        return list(value.items())
    return [(os.path.basename(path).partition(".")[0], names(path, model)) for path in _paths(value)]


def write_messages(messages: Normalised, path: str) -> None:
    """Write annotated messages in one of their formats if the name of the file says so; else as typed, one a line."""
    from corpuscle.text.columns import write_normalised
    from corpuscle.text.files import write_atomically

    if path.endswith(_GOLD):
        write_normalised(messages, path)
        return
    with write_atomically(path, "w") as file:
        file.writelines(" ".join(message) + "\n" for message in messages.corpus)


_gold = partial(read_by, "corpuscle.text.columns:read_normalised")


@trains("normalise", "normalise train messages.txt --clean text.txt -o chat.normaliser")
def train(
    model: Normaliser,
    messages: TrainingMessages = made_by(
        "corpuscle.normalise.verbs:training_messages", many=True, options={"raw": RAW}
    ),
    *,
    words: Sequence[str] | None = read_by(
        _WORDS, "The words of the language, one a line (default: frequent ones of the clean text).", option=True
    ),
    slang: Replacements | None = read_by(
        _SLANG, "A dictionary: a word and what it stands for, with a tab between.", metavar="TSV", option=True
    ),
    clean: Sequence[list[str]] | None = messages(
        "Text of the language in standard spelling.", raw=True, metavar="TEXT", option=True
    ),
    never: Sequence[str] | None = read_by(_WORDS, "Words that are never changed, one a line.", option=True),
    parsed: Treebank | None = treebank(
        "Text with dependency trees: which words stand near which speaks for candidates.", metavar="CONLLU", option=True
    ),
    sounds: Mapping[str, str] | None = read_by(
        "corpuscle.normalise:read_sounds",
        "Letters and what they become in phonetic codes, with a tab between (any script).", metavar="TSV", option=True,
    ),
    dev: Normalised | None = _gold(
        "Annotated messages by which --min-confidence is chosen.", metavar="GOLD", option=True
    ),
) -> Learned:  # fmt: skip
    """Learn from messages, one a line, or from annotated ones (.norm, .tsv, .jsonl), or from both."""
    model.fit(
        messages.plain, messages.annotated, clean=clean or [], words=words, slang=slang, never=never or (),
        parsed=parsed, sounds=sounds, dev=dev,
    )  # fmt: skip
    figures = model.provenance_
    return Learned(
        model,
        {**figures, "tuned": sorted(model.chosen_)},
        f"{figures['messages']:,} messages ({figures['annotated']:,} annotated), {figures['words']:,} words, "
        f"{figures['ngrams']:,} n-grams",
    )


@verb("normalise", "normalise apply chat.normaliser new.txt -o standard.txt", out="-", work=True)
def apply(
    model: Normaliser = a_model("normalise"),
    messages: Iterator[list[list[str]]] = made_by(
        "corpuscle.normalise.verbs:message_blocks", default="-", options={"raw": RAW}
    ),
    *,
    explain: bool = setting(
        "Write every changed word with its candidates and what decided, as JSON lines.", default=False
    ),
) -> Lines:
    """Write messages, one a line, in standard spelling."""
    import json

    from corpuscle.normalise import explained

    def block(lines: list[list[str]]) -> list[str]:
        if not explain:
            return [" ".join(filter(None, message)) for message in model.normalise(lines)]
        found = zip(lines, model.choices(lines, ranked=_RANKED), strict=True)
        return [json.dumps(explained(*pair), ensure_ascii=False) for pair in found]

    return Lines(map(block, messages))


@verb("normalise", "normalise evaluate gold.tsv --model chat.normaliser", work=True, overlap="gold")
def evaluate(
    gold: Normalised = _gold(),
    *,
    model: Normaliser = a_model(
        "normalise", help="Normalise the messages of the gold file with this model.", option=True, default=...
    ),
    gold_detection: bool = setting("The ill-formed words are known: change them and no others.", default=False),
    seed: int = SEED,
) -> Shown:
    """Precision, recall and F1 of changes, errors that are left, and BLEU, in lower case, with 95 % intervals; of words
    outside the lexicon (those flagged OOV) also whether ill-formed ones are told from others."""
    from corpuscle.measure import detection, normalisation_scores

    typed, wrong = list(gold.corpus), None
    if gold_detection:
        wrong = [
            [one.lower() != other.lower() for one, other in zip(message, gold.standard(i), strict=True)]
            for i, message in enumerate(typed)
        ]
    found = model.normalise(typed, wrong)
    try:
        result = normalisation_scores(gold, found, seed=seed)
    except ValueError as error:
        raise InputError(None, None, str(error)) from None
    figures = detection(gold, found, model.unknown(gold))
    shares = (f"{name} {percent(figures[f'detection_{name}'])}" for name in ("precision", "recall", "f1"))
    return Answer(result.to_json() | figures, f"{result.text()}\nof unknown words: {', '.join(shares)}")


@verb("normalise", "normalise survey messages.txt text.txt")
def survey(
    texts: tuple[str, ...] = path(many=True),
    *,
    words: Sequence[str] | None = read_by(
        _WORDS, f"The words of the language, one a line (default: those that the texts have {_FREQUENT} times).",
        option=True,
    ),
    slang: Replacements | None = read_by(
        _SLANG, "A dictionary: its words are counted as slang among the errors.", metavar="TSV", option=True
    ),
    raw: bool = _RAW,
) -> Shown:  # fmt: skip
    """How many words of texts, and of annotated messages, are not known, message by message; and kinds of errors."""
    from collections import Counter

    from corpuscle.measure.bootstrap import share
    from corpuscle.normalise.corpus_tools import error_categories, survey_of
    from corpuscle.normalise.tokens import is_examined
    from corpuscle.text.columns import read_normalised
    from corpuscle.text.inputs import read_messages

    texts = _paths(texts) or texts
    gold = {path: read_normalised(path) for path in texts if suffix_of(path) in _GOLD}
    read = {path: list(gold[path].corpus) if path in gold else read_messages([path], raw) for path in texts}
    if words is not None:
        known = {word.lower() for word in words}
    else:
        counts = Counter(word.lower() for text in read.values() for message in text for word in message)
        known = {word for word, count in counts.items() if count >= _FREQUENT and is_examined(word)}
    rows = []
    for name, typed in read.items():
        found = survey_of(typed, known)
        rate = float(share(found.unknown, found.tokens))
        row = {"name": os.path.basename(name), **found._asdict(), "unknown_rate": rate}
        if name in gold:
            row["errors"] = error_categories(gold[name], set(slang.of) if slang is not None else set())
        rows.append(row)
    return Answer({"words": len(known), "texts": rows}, "\n".join(map(_survey_text, rows)))


def _survey_text(row: dict[str, Any]) -> str:
    shares = " ".join(map(str, row["histogram"]))
    text = (
        f"{row['name']}: {row['messages']:,} messages, {row['tokens']:,} words, "
        f"{percent(row['unknown_rate'])} not known "
        f"({row['unknown_types']:,} of {row['types']:,} types); messages by tenths of unknown words: {shares}"
    )
    frequent = ", ".join(f"{word} ({n})" for word, n in row["frequent"][:_RANKED])
    text += f"\n  most frequent unknown words: {frequent}" if frequent else ""
    if "errors" in row:
        text += "\n  errors: " + ", ".join(f"{name} {n}" for name, n in row["errors"].items())
    return text


@verb("normalise", "normalise corrupt gold.tsv text.txt -o noisy.tsv", out="-")
def corrupt(
    gold: Normalised = _gold(), text: Sequence[list[str]] = messages(default="-", raw=True), *, seed: int = SEED
) -> Normalised:
    """Write a text as it might have been typed, with noise learned from annotated messages: with what it means, token
    by token (.norm, .tsv, .jsonl), or as plain messages."""
    from corpuscle.normalise.corpus_tools import Noise

    return Noise(gold).corrupt([message for message in text if message], seed)


@verb("normalise", "normalise languages messages.txt english.txt spanish.txt -o languages.tsv", out="-")
def languages(
    text: Sequence[str] = names(),
    examples: list[tuple[str, Listed[str]]] = made_by("corpuscle.normalise.verbs:texts_by_name", many=True),
    *,
    keep: str | None = setting(
        "The language to keep: the name of its text without ending (default: the first).", default=None, metavar="NAME"
    ),
) -> Lines:
    """Write the messages of a text that are in one language, given texts of several, each a file named by its
    language."""
    from corpuscle.normalise import Languages

    known = [name for name, _ in examples]
    wanted = known[0] if keep is None else keep
    if wanted not in known or len(set(known)) < len(known):
        raise SettingError(f"--keep is one of {', '.join(known)}, each given once, not {wanted!r}")
    language = Languages(dict(examples)).language
    return Lines.of(line for line in text if language(line) == wanted)


@view("normalise", text="u there")
def normalise(model: Normaliser, text: list[str] = lines(raw=True)) -> dict[str, Any]:
    """Messages in standard spelling: what was changed, from what, among which candidates."""
    from corpuscle.normalise import explained

    messages = [line.split() for line in text]
    return {
        "messages": [
            explained(message, choices) | {"asked": [choice.described() for choice in choices]}
            for message, choices in zip(messages, model.choices(messages, ranked=9), strict=True)
        ]
    }


@view("normalise", text="u there")
def doubts(model: Normaliser, text: list[str] = lines(raw=True), *, n: int = ITEMS) -> dict[str, Any]:
    """Messages with unknown words, the least sure first, with standard forms and candidates."""
    from corpuscle.measure import least_sure, unsure_item

    items = []
    for message in normalise(model, text)["messages"]:
        words, standard = message["typed"].split(), message["typed"].split()
        for word in message["asked"]:
            standard[word["token"]] = word["form"]
        if words:
            value = {"words": words, "standard": standard, "oov": [word["token"] for word in message["asked"]]}
            item = unsure_item(value, [word["confidence"] for word in message["asked"]])
            items.append(item | {"asked": {w["token"]: [c["form"] for c in w["candidates"]] for w in message["asked"]}})
    return least_sure(items, n, layer="normalise", choices=[])


def warm() -> None:
    """Compile every kernel of this task by learning from a few words and normalising some."""
    import tempfile
    import warnings

    from corpuscle.errors import CorpuscleWarning
    from corpuscle.normalise import Normaliser

    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore", CorpuscleWarning)
        path = os.path.join(folder, "model")
        train(Normaliser(min_count=1), [["see", "you", "there"], ["are", "you", "here"]]).model.save(path)
        list(apply(path, [["yu", "thre"]]))
