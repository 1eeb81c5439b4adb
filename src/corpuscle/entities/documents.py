"""Documents as entity taggers see them: texts with mentions, their tokens, and what is known of each token.

Every format becomes a list of ``Standoff`` documents beside one ``Corpus`` of all their tokens with offsets. Running
text is split by ``text.running``; where a gold mention begins or ends inside a token, the token is split, so that tags
can say it. Files of columns have their tokens; their text is the tokens with spaces between them, and where such a file
has no documents every sentence is one.

A *section* of a note begins with a header: a line that starts with a capitalised name and a colon, or a line of at most
six words in capitals. The *source* of a document is the folder it lies in, or the name before a hyphen or underscore of
its file, as the user says.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from corpuscle.errors import InputError, SettingError, expect
from corpuscle.hashing import hashes_of
from corpuscle.text.brat import read_brat
from corpuscle.text.columns import read_columns
from corpuscle.text.conllu import read_conllu
from corpuscle.text.corpus import Corpus, starts_of
from corpuscle.text.files import head_of, read_raw, suffix_of
from corpuscle.text.layers import Layer
from corpuscle.text.mention_tags import TokenMention, convert_tags, mentions_of_tags
from corpuscle.text.origin import Origin, Sourced
from corpuscle.text.running import prepare
from corpuscle.text.standoff import Mention, Standoff, read_pubtator, read_standoff_json
from corpuscle.text.treebank import Treebank
from corpuscle.verbs import File

COLUMN_NAMES = {
    1: ("word",), 2: ("word", "label"), 3: ("word", "tag", "label"), 4: ("word", "tag", "chunk", "label"),
}  # fmt: skip
"""What the columns of a file are, by their number, unless the user names them."""
UNTYPED = "entity"  # the type of mentions whose file names none
_HEADER = re.compile(r"^([A-Z][A-Za-z /]{2,40}):", re.M)
_CAPITALS = re.compile(r"^(?=[^\n]*[A-Z])[^\na-z]{3,80}$", re.M)
_LONGEST_HEADER = 6
_PUBTATOR = re.compile(rb"\A\s*[0-9A-Za-z_.-]+\|t\|")
_TAGGED = re.compile(rb"[^\t\n]+(\t[^\t\n]+)*\t(O|[BDEHILSU]{1,2}(-\S+)?)\r?(\n|\Z)")
_BY_SUFFIX = {
    ".jsonl": "jsonl", ".pubtator": "pubtator", ".conllu": "conllu",
    **dict.fromkeys((".tsv", ".bio", ".conll", ".iob", ".iob2"), "columns"),
}  # fmt: skip
_ENDED = {"E": "bioes", "S": "bioes", "L": "bilou", "U": "bilou"}


@dataclass(frozen=True, eq=False)
class Documents(Sourced):
    """Some documents and their tokens.

    - ``texts``: the documents; their mentions are gold ones, or none;
    - ``corpus``: all tokens, with ``offsets`` into the text of their document and ``document_starts``;
    - ``mentions``: of each sentence, the mentions that lie in it;
    - ``lost``: how many mentions cross the end of a sentence;
    - ``tags``, ``lemmas``, ``chunks``, ``sections``: a value for each token, unset where nothing is known;
    - ``sources``: a name for each document, or empty strings.
    """

    texts: tuple[Standoff, ...]
    corpus: Corpus
    mentions: tuple[tuple[TokenMention, ...], ...]
    lost: int
    tags: Layer
    lemmas: Layer
    chunks: Layer
    sections: Layer
    sources: tuple[str, ...]

    def __repr__(self) -> str:
        mentions = sum(len(text.mentions) for text in self.texts)
        return f"Documents({len(self):,} documents, {self.corpus.n_tokens:,} tokens, {mentions:,} mentions)"

    def __len__(self) -> int:
        """The number of documents."""
        return len(self.texts)

    @property
    def origin(self) -> Origin | None:
        """Where the sentences came from: that of their words."""
        return self.corpus.origin

    @property
    def document_of(self) -> np.ndarray:
        """The document of each sentence, int64 (n_sentences,)."""
        assert self.corpus.document_starts is not None
        return np.repeat(np.arange(len(self)), np.diff(self.corpus.document_starts))

    @property
    def lowered(self) -> np.ndarray:
        """Hashes of all tokens in lower case, uint64 (n_tokens,)."""
        return hashes_of([word.lower() for word in self.corpus.vocab.strings])[self.corpus.tokens]

    @property
    def types(self) -> list[str]:
        return sorted({mention.type for document in self.texts for mention in document.mentions})

    def named(self, path: str) -> Documents:
        """With a name for the documents that have none; sorted by these they keep their order, as in a folder."""
        digits = len(str(len(self.texts)))
        texts = tuple(
            text if text.name else dataclasses.replace(text, name=f"{path}-{number:0{digits}}")
            for number, text in enumerate(self.texts, 1)
        )
        return dataclasses.replace(self, texts=texts)

    def with_layers(self, bank: Treebank) -> Documents:
        """With the tags and lemmas of a treebank of the same tokens."""
        return dataclasses.replace(self, tags=bank.tags, lemmas=bank.lemmas)

    def select(self, documents: np.ndarray) -> Documents:
        """Some of the documents, in the order of their numbers."""
        chosen = np.isin(self.document_of, documents)
        sentences = np.flatnonzero(chosen)
        words = np.repeat(chosen, self.corpus.lengths)
        corpus = self.corpus.select(sentences)
        return Documents(
            tuple(self.texts[i] for i in documents.tolist()),
            corpus.with_documents(starts_of(np.bincount(self.document_of[sentences], minlength=len(self))[documents])),
            tuple(self.mentions[i] for i in sentences.tolist()),
            0, self.tags[words], self.lemmas[words], self.chunks[words], self.sections[words],
            tuple(self.sources[i] for i in documents.tolist()),
        )  # fmt: skip

    def annotated(self, found: Sequence[Sequence[TokenMention]]) -> list[Standoff]:
        """The documents with these mentions of their sentences in place of their own, numbered T1, T2, ..."""
        assert self.corpus.offsets is not None and self.corpus.document_starts is not None
        offsets, starts = self.corpus.offsets.tolist(), self.corpus.sentence_starts.tolist()
        results = []
        for text, (first, last) in zip(self.texts, pairwise(self.corpus.document_starts.tolist()), strict=True):
            mentions: list[Mention] = []
            for sentence in range(first, last):
                base = starts[sentence]
                for mention in found[sentence]:
                    spans = tuple((offsets[base + a][0], offsets[base + b][1]) for a, b in mention.runs)
                    mentions.append(Mention(mention.type, spans, f"T{len(mentions) + 1}"))
            results.append(Standoff(text.text, tuple(mentions), name=text.name))
        return results


# ---- making documents


def _cut_at(offsets: np.ndarray, cuts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tokens, int64 (n, 2), split where a cut lies inside them; and how many pieces each has become, int64 (n,)."""
    inside = np.searchsorted(cuts, offsets[:, 1], "left") - np.searchsorted(cuts, offsets[:, 0], "right")
    # Where a cut lies inside of a token, one more token begins than ends before it.
    within = cuts[np.searchsorted(offsets[:, 0], cuts, "left") > np.searchsorted(offsets[:, 1], cuts, "right")]
    edges = np.column_stack([np.sort(np.concatenate([side, within])) for side in offsets.T])
    return edges, 1 + np.maximum(inside, 0)


def _sections(text: str, begins: np.ndarray) -> list[str]:
    """The section in which each token lies, by the headers of a text."""
    headers = [(match.start(), match[1]) for match in _HEADER.finditer(text)]
    headers += [
        (match.start(), match[0]) for match in _CAPITALS.finditer(text) if len(match[0].split()) <= _LONGEST_HEADER
    ]
    headers.sort()
    names = ["none", *(" ".join(name.strip(" :").lower().split()) for _, name in headers)]
    at = np.searchsorted(np.array([place for place, _ in headers], np.int64), begins, "right")
    return [names[i] for i in at.tolist()]


def _in_sentences(
    texts: Sequence[Standoff], offsets: Sequence[np.ndarray], starts: Sequence[np.ndarray]
) -> tuple[list[tuple[TokenMention, ...]], int]:
    """The mentions of all sentences of all documents, and how many cross the end of one."""
    found: list[tuple[TokenMention, ...]] = []
    lost = 0
    for text, edges, bounds in zip(texts, offsets, starts, strict=True):
        here: list[list[TokenMention]] = [[] for _ in range(len(bounds) - 1)]
        for mention in text.mentions:
            begins, ends = np.array(mention.spans, np.int64).reshape(-1, 2).T
            firsts, lasts = np.searchsorted(edges[:, 1], begins, "right"), np.searchsorted(edges[:, 0], ends, "left")
            tokens = dict.fromkeys(token for a, b in zip(firsts, lasts, strict=True) for token in range(a, b))
            at = np.searchsorted(bounds, list(tokens), "right") - 1
            if not tokens or at[0] != at[-1]:
                lost += 1
                continue
            base = int(bounds[at[0]])
            here[at[0]].append(TokenMention(mention.type, tuple(token - base for token in tokens)))
        found += [tuple(dict.fromkeys(mentions)) for mentions in here]
    return found, lost


def from_standoff(
    texts: Sequence[Standoff], sources: Sequence[str] = (), line_breaks: str = "sentence", origin: Origin | None = None
) -> Documents:
    """Documents of running text: split into sentences and tokens, all together, so that they share abbreviations."""
    gap = "\n\n"
    bases = starts_of(len(text.text) + len(gap) for text in texts)
    whole = prepare(gap.join(text.text for text in texts), line_breaks=line_breaks)
    document = np.searchsorted(bases, whole.offsets[:, 0], "right") - 1
    first_words = whole.sentence_starts[:-1]
    offsets, starts, words, sections = [], [], [], []
    for number, text in enumerate(texts):
        mine = slice(*np.searchsorted(document, [number, number + 1]).tolist())
        cuts = np.unique([edge for mention in text.mentions for span in mention.spans for edge in span])
        edges, pieces = _cut_at(whole.offsets[mine] - bases[number], cuts.astype(np.int64))
        begins = first_words[(first_words >= mine.start) & (first_words < mine.stop)] - mine.start
        bounds = np.append(starts_of(pieces)[begins], len(edges))
        offsets.append(edges)
        starts.append(bounds)
        words += [[text.text[a:b] for a, b in edges[first:last].tolist()] for first, last in pairwise(bounds.tolist())]
        sections += _sections(text.text, edges[:, 0])
    mentions, lost = _in_sentences(texts, offsets, starts)
    corpus = Corpus.from_sentences(words).with_documents(starts_of(len(bounds) - 1 for bounds in starts))
    edges = np.concatenate([np.zeros((0, 2), np.int64), *offsets])
    corpus = dataclasses.replace(corpus, offsets=edges, origin=origin)
    unset = Layer.unset(corpus.n_tokens)
    return Documents(
        tuple(texts), corpus, tuple(mentions), lost, unset, unset, unset, Layer.from_strings(sections, "none"),
        tuple(sources) or ("",) * len(texts),
    )  # fmt: skip


def from_corpus(corpus: Corpus, labels: Layer | None = None, **layers: Layer) -> Documents:
    """Documents of tokens with a space between them; without ``document_starts`` every sentence is one."""
    bounds = corpus.document_starts if corpus.document_starts is not None else np.arange(len(corpus) + 1)
    sentences, values = list(corpus), [] if labels is None else labels.strings()
    found: list[tuple[TokenMention, ...]] = []
    for i, (first, last) in enumerate(pairwise(corpus.sentence_starts.tolist())):
        here = values[first:last]
        try:
            scheme = next((_ENDED[tag[0]] for tag in here if tag[:1] in _ENDED), None)
            tagged = mentions_of_tags(convert_tags(here, scheme, "bio") if scheme else here)
            found.append(tuple(TokenMention(mention.type or UNTYPED, mention.tokens) for mention in tagged))
        except InputError as error:
            fault = corpus.error(f"sentence {i + 1}, {error.reason}", i)
            raise InputError(fault.path, fault.line, fault.reason) from None
    texts, offsets = [], []
    for first, last in pairwise(bounds.tolist()):
        lines = [" ".join(words) for words in sentences[first:last]]
        at, mentions, edges = 0, [], np.zeros((0, 2), np.int64)
        for i, line in zip(range(first, last), lines, strict=True):
            begins = at + starts_of(len(word) + 1 for word in sentences[i])
            edges = np.column_stack([begins[:-1], begins[1:] - 1])
            offsets.append(edges)
            mentions += [
                Mention(each.type, tuple((int(edges[a, 0]), int(edges[b, 1])) for a, b in each.runs))
                for each in found[i]
            ]
            at += len(line) + 1
        texts.append(Standoff("\n".join(lines), tuple(mentions)))
    unset = Layer.unset(corpus.n_tokens)
    corpus = dataclasses.replace(
        corpus, document_starts=np.asarray(bounds, np.int64),
        offsets=np.concatenate([np.zeros((0, 2), np.int64), *offsets]),
    )  # fmt: skip
    known = {name: layers.get(name, unset) for name in ("tags", "lemmas", "chunks", "sections")}
    return Documents(tuple(texts), corpus, tuple(found), 0, **known, sources=("",) * len(texts))


def format_of(path: str) -> str:
    """The format of a file or folder, by what is in it, then by its name and, for plain text, what lies beside it."""
    suffix = suffix_of(path)
    stem = path.removesuffix(".gz").removesuffix(".xz").removesuffix(suffix)
    if os.path.isdir(path) or suffix == ".ann" or (suffix == ".txt" and os.path.exists(stem + ".ann")):
        return "brat"
    if suffix in _BY_SUFFIX:
        return _BY_SUFFIX[suffix]
    head = head_of(path)
    return "pubtator" if _PUBTATOR.match(head) else "columns" if _TAGGED.match(head) else "text"


def read_documents(
    *paths: str,
    format: str | None = None,
    columns: Sequence[str] | None = None,
    source: str = "none",
    line_breaks: str = "sentence",
    skip_faulty: bool = False,
) -> Documents:
    """Read files of any format; ``columns``: the names of the columns of a file (word, tag, lemma, chunk, label,
    section, or others, which are not used); ``skip_faulty``: leave out wrong lines of brat annotation."""
    readers: dict[str, Callable[[str], list[Standoff]]] = {
        "brat": partial(read_brat, skip_faulty=skip_faulty), "pubtator": read_pubtator, "jsonl": read_standoff_json,
    }  # fmt: skip
    if not paths:
        raise SettingError("read_documents needs at least one file or folder")
    parts = []
    for path in paths:
        form = format or format_of(path)
        if form in ("columns", "conllu"):
            parts.append(_read_tokens(path, form, columns))
            continue
        stem = os.path.splitext(os.path.basename(path))[0]
        texts = readers[form](path) if form in readers else [Standoff(read_raw(path), name=stem)]
        folder = os.path.basename(os.path.dirname(os.path.abspath(path)))
        sources = [{"folder": folder, "name": re.split("[-_]", text.name)[0]}.get(source, "") for text in texts]
        parts.append(from_standoff(texts, sources, line_breaks, Origin.of(path)))
    return parts[0] if len(parts) == 1 else joined(parts)


def given(value: Any, model: Any = None) -> Documents:
    """Documents of a path or a tuple of ``File``, read as the model reads them, of strings (a document each), of lists
    of words (a sentence each) or of a corpus."""
    several = isinstance(value, tuple) and value and isinstance(value[0], File)
    if several or isinstance(value, str | os.PathLike):
        return (model.read if model else read_documents)(*map(os.fspath, value if several else [value]))
    if isinstance(value, list | tuple) and value and all(isinstance(item, str) for item in value):
        return from_standoff([Standoff(text) for text in value], [""] * len(value), "sentence")
    if isinstance(value, list | tuple | Corpus):
        return from_corpus(Corpus.checked(value))
    return expect(value, Documents, "read_documents(path) makes one")


def _read_tokens(path: str, format: str, columns: Sequence[str] | None) -> Documents:
    """A file that has its tokens: columns, or CoNLL-U."""
    if format == "conllu":
        bank = read_conllu(path)
        return from_corpus(bank.corpus, tags=bank.tags, lemmas=bank.lemmas)
    table = read_columns(path, columns)
    layers, n = table.layers, len(table.layers) + 1
    if columns is None:
        if n not in COLUMN_NAMES:
            raise InputError(path, None, f"{n} columns: say what they are (--columns word,tag,label, for example)")
        layers = dict(zip(COLUMN_NAMES[n][1:], layers.values(), strict=True))
    known = {f"{name}s": layers[name] for name in ("tag", "lemma", "chunk", "section") if name in layers}
    return from_corpus(table.corpus, layers.get("label"), **known)


def joined(parts: Iterable[Documents]) -> Documents:
    parts = list(parts)
    sentences = [words for part in parts for words in part.corpus]
    lengths = [np.diff(part.corpus.document_starts) for part in parts if part.corpus.document_starts is not None]
    offsets = [part.corpus.offsets for part in parts if part.corpus.offsets is not None]
    corpus = Corpus.from_sentences(sentences).with_documents(starts_of(np.concatenate(lengths)))
    origin = None if parts[0].origin is None else parts[0].origin.loose()

    def layer(name: str) -> Layer:
        each = [getattr(part, name) for part in parts]
        if not any(one.ids.any() for one in each):
            return Layer.unset(corpus.n_tokens)
        return Layer.from_strings([value for one in each for value in one.strings()], each[0].missing)

    return Documents(
        tuple(text for part in parts for text in part.texts),
        dataclasses.replace(corpus, offsets=np.concatenate(offsets), origin=origin),
        tuple(mentions for part in parts for mentions in part.mentions),
        sum(part.lost for part in parts),
        layer("tags"), layer("lemmas"), layer("chunks"), layer("sections"),
        tuple(source for part in parts for source in part.sources),
    )  # fmt: skip
