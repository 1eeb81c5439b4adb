"""``corpuscle normalise``: learn to write messages in standard spelling, do it, compare with what was meant; survey,
corrupt and choose messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from corpuscle.cli.command import Figures, argument, command, option, output, raw, task_group, trainer
from corpuscle.cli.common import load, warn_of_overlap
from corpuscle.errors import InputError, SettingError
from corpuscle.progress import clock
from corpuscle.text.files import suffix_of
from corpuscle.text.wording import percent, seconds

if TYPE_CHECKING:
    from corpuscle.normalise import Normaliser
    from corpuscle.text.normalised import Normalised
    from corpuscle.text.origin import Listed

__all__ = ["group"]

group = task_group("normalise")

_GOLD = (".norm", ".tsv", ".jsonl")
_RANKED = 5
_FREQUENT = 5
_BLOCK = 1 << 18


def _arriving(path: str, split: bool) -> Iterator[list[list[str]]]:
    """The messages of a text, some at a time, as they come in: what is piped in is answered before its end."""
    from corpuscle.text.files import STDIO, decode, expand, open_stream
    from corpuscle.text.tokens import split_words

    for file in [path] if path == STDIO else expand([path]):
        rest, number = b"", 1
        with open_stream(file) as stream:
            while block := stream.read(_BLOCK):
                whole, newline, rest = (rest + block).rpartition(b"\n")
                if newline:
                    lines = decode(whole, file, number).split("\n")
                    number += len(lines)
                    yield [(split_words(line) if split else line).split() for line in lines]
        if rest:
            line = decode(rest, file, number)
            yield [(split_words(line) if split else line).split()]


def _lines(paths: Sequence[str], split: bool) -> Listed[list[str]]:
    """The messages of texts, a line each, by their spaces or (``--raw``) split into tokens."""
    from corpuscle.text.files import expand, read_lines
    from corpuscle.text.origin import Listed, Origin
    from corpuscle.text.tokens import split_words

    messages: list[list[str]] = []
    files, firsts = expand(paths), []
    for file in files:
        firsts.append(len(messages))
        messages += [(split_words(line) if split else line).split() for _, line in read_lines(file)]
    return Listed(messages, Origin(tuple(files), tuple(firsts), rows=range(len(messages))) if files else None)


def _joined(parts: list[Normalised]) -> Normalised | None:
    """The messages of several files as one."""
    from corpuscle.text.normalised import Normalised

    if len(parts) < 2:
        return parts[0] if parts else None
    typed = [message for part in parts for message in part.corpus]
    origin = None if parts[0].origin is None else parts[0].origin.loose()
    meant = [part.standard(i) for part in parts for i in range(len(part))]
    return Normalised.from_messages(typed, meant, origin=origin)


@trainer(group)
@argument("messages", many=True)
@output()
@option("words", "The words of the language, one a line (default: frequent ones of the clean text).", metavar="FILE")
@option("slang", "A dictionary: a word and what it stands for, with a tab between.", metavar="TSV")
@option("clean", "Text of the language in standard spelling.", metavar="TEXT")
@option("never", "Words that are never changed, one a line.", metavar="FILE")
@option("parsed", "Text with dependency trees: which words stand near which speaks for candidates.", metavar="CONLLU")
@option("sounds", "Letters and what they become in phonetic codes, with a tab between (any script).", metavar="TSV")
@option("dev", "Annotated messages by which --min-confidence is chosen.", metavar="GOLD")
@raw
def train(
    model: Normaliser,
    messages: tuple[str, ...],
    output: str,
    words: str | None,
    slang: str | None,
    clean: str | None,
    never: str | None,
    parsed: str | None,
    sounds: str | None,
    dev: str | None,
    raw: bool,
) -> Figures:
    """Learn from messages, one a line, or from annotated ones (.norm, .tsv, .jsonl), or from both."""

    from corpuscle.normalise import read_slang, read_sounds, read_words
    from corpuscle.text import read_conllu
    from corpuscle.text.normalised import read_normalised

    begin = clock()
    gold = _joined([read_normalised(path) for path in messages if suffix_of(path) in _GOLD])
    texts = _lines([path for path in messages if suffix_of(path) not in _GOLD], raw)
    model.fit(
        texts, gold, clean=[] if clean is None else _lines([clean], raw),
        words=None if words is None else read_words(words),
        slang=None if slang is None else read_slang(slang),
        never=() if never is None else read_words(never),
        parsed=None if parsed is None else read_conllu(parsed),
        sounds=None if sounds is None else read_sounds(sounds),
        dev=None if dev is None else read_normalised(dev),
    ).save(output)  # fmt: skip
    figures: dict[str, Any] = {**model.provenance_, "tuned": sorted(model.chosen_)}
    figures["seconds"] = clock() - begin
    return Figures(
        figures,
        f"{output}: {figures['messages']:,} messages ({figures['annotated']:,} annotated), {figures['words']:,} words, "
        f"{figures['ngrams']:,} n-grams, {seconds(figures['seconds'])}",
    )


@command(group, work=True, figures=False)
@argument("model")
@argument("messages", default="-")
@output("-")
@raw
@option("explain", "Write every changed word with its candidates and what decided, as JSON lines.", is_flag=True)
def apply(model: str, messages: str, output: str, raw: bool, explain: bool) -> None:
    """Write messages, one a line, in standard spelling."""
    import json

    from corpuscle.normalise import explained
    from corpuscle.text.files import write_atomically

    loaded = load(model, "normalise")
    with write_atomically(output, "w") as file:
        for lines in _arriving(messages, raw):
            if explain:
                found = zip(lines, loaded.choices(lines, ranked=_RANKED), strict=True)
                results = [json.dumps(explained(*pair), ensure_ascii=False) for pair in found]
            else:
                results = [" ".join(filter(None, message)) for message in loaded.normalise(lines)]
            file.writelines(f"{line}\n" for line in results)
            file.flush()


@command(group, work=True, seed=True)
@argument("gold")
@option("model", "Normalise the messages of the gold file with this model.", metavar="FILE", required=True)
@option("gold_detection", "The ill-formed words are known: change them and no others.", is_flag=True)
def evaluate(gold: str, model: str, gold_detection: bool, seed: int) -> Figures:
    """Precision, recall and F1 of changes, errors that are left, and BLEU, in lower case, with 95 % intervals; of words
    outside the lexicon (those flagged OOV) also whether ill-formed ones are told from others."""
    from corpuscle.measure import detection, normalisation_scores
    from corpuscle.text.normalised import read_normalised

    loaded, right = load(model, "normalise"), read_normalised(gold)
    typed = [list(message) for message in right.corpus]
    shares = warn_of_overlap(loaded, right.corpus, model)
    wrong = None
    if gold_detection:
        wrong = [
            [one.lower() != other.lower() for one, other in zip(message, right.standard(i), strict=True)]
            for i, message in enumerate(typed)
        ]
    found = loaded.normalise(typed, wrong)
    try:
        result = normalisation_scores(right, found, seed=seed)
    except ValueError as error:
        raise InputError(gold, None, str(error)) from None
    figures = detection(right, found, loaded.unknown(right))
    text = "of unknown words: " + ", ".join(
        f"{name} {percent(figures[f'detection_{name}'])}" for name in ("precision", "recall", "f1")
    )
    return Figures(result.to_json() | shares | figures, f"{result.text()}\n{text}")


@command(group)
@argument("texts", many=True)
@option("words", "The words of the language, one a line (default: those that the texts have 5 times).", metavar="FILE")
@option("slang", "A dictionary: its words are counted as slang among the errors.", metavar="TSV")
@raw
def survey(texts: tuple[str, ...], words: str | None, slang: str | None, raw: bool) -> Figures:
    """How many words of texts, and of annotated messages, are not known, message by message; and kinds of errors."""
    from collections import Counter
    from os.path import basename

    from corpuscle.normalise import read_slang, read_words
    from corpuscle.normalise.survey import error_categories, survey_of
    from corpuscle.normalise.tokens import is_examined
    from corpuscle.text.normalised import read_normalised

    gold = {path: read_normalised(path) for path in texts if suffix_of(path) in _GOLD}
    read = {path: list(map(list, gold[path].corpus)) if path in gold else _lines([path], raw) for path in texts}
    if words is not None:
        known = {word.lower() for word in read_words(words)}
    else:
        counts = Counter(word.lower() for text in read.values() for message in text for word in message)
        known = {word for word, count in counts.items() if count >= _FREQUENT and is_examined(word)}
    listed = set(read_slang(slang).of) if slang is not None else set()
    rows = []
    for path, messages in read.items():
        found = survey_of(messages, known)
        row = {"name": basename(path), **found._asdict(), "unknown_rate": found.unknown / max(1, found.tokens)}
        if path in gold:
            row["errors"] = error_categories(gold[path], listed)
        rows.append(row)
    return Figures({"words": len(known), "texts": rows}, "\n".join(map(_survey_text, rows)))


def _survey_text(row: dict[str, Any]) -> str:
    """What a survey says of one text."""
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


@command(group, figures=False, seed=True)
@argument("gold")
@argument("text", default="-")
@output("-")
@raw
def corrupt(gold: str, text: str, output: str, raw: bool, seed: int) -> None:
    """Write a text as it might have been typed, with noise learned from annotated messages: beside what it means, token
    by token (.norm, .tsv, .jsonl), or as plain messages."""
    from corpuscle.normalise.noise import Noise
    from corpuscle.text.files import write_atomically
    from corpuscle.text.normalised import read_normalised, write_normalised

    noise = Noise(read_normalised(gold))
    messages = noise.corrupt([message for message in _lines([text], raw) if message], seed)
    if output.endswith(_GOLD):
        write_normalised(messages, output)
        return
    with write_atomically(output, "w") as file:
        file.writelines(" ".join(message) + "\n" for message in messages.corpus)


@command(group, figures=False)
@argument("text")
@argument("examples", many=True)
@output("-")
@option("keep", "The language to keep: the name of its text without ending (default: the first).", metavar="NAME")
def languages(text: str, examples: tuple[str, ...], output: str, keep: str | None) -> None:
    """Write the messages of a text that are in one language, given texts of several, each a file named by its
    language."""
    from corpuscle.normalise import Languages
    from corpuscle.text.files import read_lines, write_atomically
    from corpuscle.text.origin import Listed, Origin

    names = [_stem(path) for path in examples]
    wanted = names[0] if keep is None else keep
    if wanted not in names or len(set(names)) < len(names):
        raise SettingError(f"--keep is one of {', '.join(names)}, each given once, not {wanted!r}")
    texts = {
        name: Listed([line for _, line in read_lines(path)], Origin.of(path))
        for name, path in zip(names, examples, strict=True)
    }
    known = Languages(texts)
    kept = [line for _, line in read_lines(text) if known.language(line) == wanted]
    with write_atomically(output, "w") as file:
        file.writelines(f"{line}\n" for line in kept)


def _stem(path: str) -> str:
    """The name of a file without its ending."""
    from os.path import basename

    return basename(path).partition(".")[0]
