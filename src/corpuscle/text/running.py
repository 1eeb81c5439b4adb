"""From running text to one tokenised sentence per line, and exactly back.

Nothing is thrown away: a prepared text knows where each token stands in the raw text, and what lies between tokens (the
gaps: white space, control characters) can be written to a side file. Tokens and gaps, one after the other, are the raw
text again, character by character.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np

from corpuscle.errors import InputError, SettingError
from corpuscle.text.corpus import Corpus
from corpuscle.text.files import AnyPath, read_lines, write_atomically
from corpuscle.text.sentences import Stretch, Usage, character_classes, join_abbreviations, sentence_ends, token_spans
from corpuscle.text.tables import read_table, write_table
from corpuscle.text.vocab import Vocab

_BLANK_LINE = re.compile("N[sS]*N[sSN]*")
_LINE_END = re.compile("N[sSN]*")
_NUMBER = re.compile("[0-9]{1,17}")
_STRETCH = 1 << 20
"""Stretches have at least this many characters, so that what NumPy does for each of them costs nothing."""
_SEVERAL = 1 << 14
"""How many tokens are written at a time."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """A text with its tokens, sentences and documents (what stands between blank lines).

    - ``text``: the raw text;
    - ``offsets``: int64 (n_tokens, 2), begin and end of each token in its characters;
    - ``sentence_starts``: int64 (n_sentences + 1,) in tokens;
    - ``document_starts``: int64 (n_documents + 1,) in sentences.

    >>> prepared = prepare("Hello, Mr. Wu!\\nHow are you?")
    >>> [" ".join(sentence) for sentence in prepared]
    ['Hello , Mr. Wu !', 'How are you ?']
    """

    text: str
    offsets: np.ndarray
    sentence_starts: np.ndarray
    document_starts: np.ndarray

    @property
    def tokens(self) -> list[str]:
        text = self.text
        return [text[begin:end] for begin, end in self.offsets.tolist()]

    def __len__(self) -> int:
        return len(self.sentence_starts) - 1

    def __iter__(self) -> Iterator[list[str]]:
        """The sentences as lists of tokens; few of them are in memory at a time."""
        text, bounds = self.text, self.sentence_starts
        for first in range(0, len(self), 1000):
            several = bounds[first : first + 1001]
            edges = self.offsets[several[0] : several[-1]].tolist()
            tokens = [text[begin:end] for begin, end in edges]
            yield from (tokens[begin:end] for begin, end in pairwise((several - several[0]).tolist()))

    def gaps(self) -> list[str]:
        """What stands before each token, and after the last: n_tokens + 1 strings."""
        text = self.text
        edges = [0, *self.offsets.ravel().tolist(), len(text)]
        return [text[begin:end] for begin, end in zip(edges[::2], edges[1::2], strict=True)]

    def corpus(self, vocab: Vocab | None = None) -> Corpus:
        """As a Corpus with offsets and documents, in a new vocabulary unless one is given."""
        plain = Corpus.from_sentences(self, vocab)
        return Corpus(plain.tokens, self.sentence_starts, plain.vocab, self.document_starts, offsets=self.offsets)

    def write(self, path: AnyPath) -> None:
        """Write one sentence per line, a blank line between documents."""
        text, after = self.text, np.full(len(self.offsets), " ", object)
        after[self.sentence_starts[1:] - 1] = "\n"
        after[self.sentence_starts[self.document_starts[1:-1]] - 1] = "\n\n"
        with write_atomically(path, "w") as output:
            for first in range(0, len(after), _SEVERAL):  # however long a sentence is
                here = slice(first, first + _SEVERAL)
                begins, ends = self.offsets[here].T.tolist()
                rows = zip(begins, ends, after[here], strict=True)
                output.write("".join([text[begin:end] + gap for begin, end, gap in rows]))


def prepare(text: str, *, abbreviations: Iterable[str] = (), line_breaks: str = "space") -> Prepared:
    """Find the tokens, sentences and documents of running text in any script.

    - ``abbreviations``: words whose full stop does not end a sentence, besides those that the text itself shows;
    - ``line_breaks``: a single line end is white space (``space``), or also ends a sentence (``sentence``: headings,
      verse, one paragraph per line). Blank lines always end sentence and document.
    """
    if line_breaks not in ("space", "sentence"):
        raise SettingError(f"line_breaks is 'space' or 'sentence', not {line_breaks!r}")
    classes = character_classes(text)
    stretches = list(_stretches(text, classes))
    usage = Usage.of(stretches, abbreviations)
    separator = _LINE_END if line_breaks == "sentence" else _BLANK_LINE
    offsets: list[np.ndarray] = [np.zeros((0, 2), np.int64)]
    sentence_starts: list[np.ndarray] = [np.zeros(1, np.int64)]
    document_starts: list[np.ndarray] = [np.zeros(1, np.int64)]  # in tokens
    n_tokens = base = 0
    for stretch in stretches:
        stretch, joined = join_abbreviations(stretch, usage)
        ends = sentence_ends(stretch, joined, usage)
        stretch_classes = stretch.classes.decode()
        ends = np.union1d(ends, _tokens_before(stretch, separator, stretch_classes))
        ends = ends[ends > 0]
        documents = _tokens_before(stretch, _BLANK_LINE, stretch_classes)
        documents = np.union1d(documents[documents > 0], ends[-1:])
        offsets.append(np.stack([stretch.begins, stretch.ends], axis=1) + base)
        sentence_starts.append(ends + n_tokens)
        document_starts.append(documents + n_tokens)
        n_tokens += len(stretch.begins)
        base += len(stretch.text)
    starts = np.concatenate(sentence_starts)
    return Prepared(text, np.concatenate(offsets), starts, np.searchsorted(starts, np.concatenate(document_starts)))


def _stretches(text: str, classes: str) -> Iterator[Stretch]:
    """The text and its tokens, cut at blank lines into stretches of some length."""
    begin = 0
    while begin < len(text):
        separator = _BLANK_LINE.search(classes, begin + _STRETCH)
        end = separator.end() if separator else len(text)
        edges = chain.from_iterable(token_spans(classes[begin:end]))
        begins, ends = np.fromiter(edges, np.int64).reshape(-1, 2).T.copy()
        yield Stretch(text[begin:end], classes[begin:end].encode(), begins, ends)
        begin = end


def _tokens_before(stretch: Stretch, separator: re.Pattern[str], classes: str) -> np.ndarray:
    """For every separator the number of tokens before it."""
    positions = np.array([match.start() for match in separator.finditer(classes)], np.int64)
    return np.searchsorted(stretch.begins, positions)


def restore(tokens: Sequence[str], gaps: Sequence[str]) -> str:
    """The raw text: gap, token, gap, token, ..., gap."""
    if len(gaps) != len(tokens) + 1:
        raise ValueError(f"{len(tokens)} tokens need {len(tokens) + 1} gaps, not {len(gaps)}")
    parts = [""] * (len(tokens) + len(gaps))
    parts[::2], parts[1::2] = gaps, tokens
    return "".join(parts)


_COLUMNS = ("begin", "end", "gap")


def write_gaps(prepared: Prepared, path: AnyPath) -> None:
    """Write the side file: for each token its begin and end in the raw text and the gap before it, as TSV.

    The last row has no token: it holds the gap at the end of the text.
    """
    edges = [*prepared.offsets.tolist(), [len(prepared.text)] * 2]
    rows = ((*edge, gap) for edge, gap in zip(edges, prepared.gaps(), strict=True))
    write_table(path, _COLUMNS, rows, escaped=True)


def read_gaps(path: AnyPath) -> tuple[np.ndarray, list[str]]:
    """Read a side file: offsets int64 (n_tokens, 2), and n_tokens + 1 gaps."""
    rows: list[tuple[int, int]] = []
    gaps: list[str] = []
    end_before, number = 0, 0
    for number, (*edge, gap) in read_table(path, _COLUMNS, heading=True, escaped=True):
        if not all(map(_NUMBER.fullmatch, edge)):
            raise InputError(path, number, "begin and end are whole numbers")
        begin, end = map(int, edge)
        if begin != end_before + len(gap) or end < begin:
            raise InputError(path, number, "offsets do not fit the gap and the row before")
        end_before = end
        rows.append((begin, end))
        gaps.append(gap)
    if not rows or rows[-1][0] != rows[-1][1]:
        raise InputError(path, number or None, "truncated: the last row holds the end of the text")
    return np.array(rows[:-1], np.int64).reshape(-1, 2), gaps


def restore_file(text_path: AnyPath, gaps_path: AnyPath) -> str:
    """The raw text from a prepared file and its side file."""
    offsets, gaps = read_gaps(gaps_path)
    tokens: list[str] = []
    lengths: Any = np.diff(offsets, axis=1)[:, 0]
    for number, line in read_lines(text_path):
        for word in re.split(r"[ \t\v\f\r]+", line):
            if not word:
                continue
            if len(tokens) == len(lengths) or len(word) != lengths[len(tokens)]:
                raise InputError(text_path, number, f"token {word!r} does not fit {gaps_path}")
            tokens.append(word)
    if len(tokens) != len(lengths):
        raise InputError(text_path, None, f"{len(tokens)} tokens, but {gaps_path} has {len(lengths)}")
    return restore(tokens, gaps)


ATTACHED = 0.5  # text with at least this share of its punctuation attached to words is running text
SAMPLE = 100_000  # characters of a file from which its script and its punctuation are judged
_FEWEST_MARKS, _FEWEST_SPACES = 10, 0.02
_WITHIN = "-‐‑'’ʼ·._@/:&"


def _is_mark(c: str) -> bool:
    return unicodedata.category(c)[0] == "P" and c not in _WITHIN


def attached_punctuation(text: str) -> tuple[float, int]:
    """Which share of the punctuation that could stand alone is attached to a word, and how many such marks there
    are."""
    attached = alone = 0
    for token in text.split():
        if all(map(_is_mark, token)):
            alone += 1
        elif _is_mark(token[-1]) or (token[-1] == "." and len(token) > 2) or _is_mark(token[0]):
            attached += 1
        elif token == ".":
            alone += 1
    return attached / max(1, attached + alone), attached + alone


def is_unspaced(text: str) -> bool:
    some = text[:SAMPLE]
    return sum(map(some.count, " \t\u3000")) < _FEWEST_SPACES * max(1, len(some))


def is_running(text: str) -> bool:
    share, marks = attached_punctuation(text[:SAMPLE])
    return marks >= _FEWEST_MARKS and share >= ATTACHED and not is_unspaced(text)


def _ends_sentence(line: str) -> bool:
    last = line.rstrip().rstrip("\"'”’»)]】」』")[-1:]
    return bool(last) and unicodedata.category(last) == "Po" and last not in ",;:،、"


def line_breaks_of(text: str) -> str:
    """What a line end is in running text: ``sentence`` where lines end as sentences do or are of very different
    lengths, ``space`` where sentences go on in the next line."""
    lines = [line for line in text[:SAMPLE].split("\n") if line.strip()]
    if not lines or sum(map(_ends_sentence, lines)) >= 0.5 * len(lines):
        return "sentence"
    lengths = np.array([len(line) for line in lines])
    wrapped = len(lines) > 3 and np.percentile(lengths, 75) > 40 and lengths.max() < 1.6 * np.percentile(lengths, 75)
    return "space" if wrapped else "sentence"


def several_sentences(text: str) -> bool:
    """Whether lines of text without spaces hold more than one sentence."""
    lines = [line.strip() for line in text[:SAMPLE].split("\n") if line.strip()]
    inner = sum(sum(c in "。！？．" for c in line[:-1]) for line in lines)
    return inner > 0.5 * len(lines)


def tokenised_lines(lines: Sequence[str]) -> list[str]:
    """Lines with their punctuation split off, a line for each line."""
    text = "\n".join(line.replace("\n", " ") for line in lines)
    offsets = prepare(text, line_breaks="sentence").offsets
    begins = np.cumsum([0, *(len(line) + 1 for line in lines)])
    bounds = np.searchsorted(offsets[:, 0], begins) if len(offsets) else np.zeros(len(begins), int)
    edges = offsets.tolist()
    return [" ".join(text[x:y] for x, y in edges[a:b]) for a, b in pairwise(bounds.tolist())]
