"""Normaliser: what was meant, word by word, by similarity, sound, frequency, context and what was seen before.

Every token that may be a word has candidates (``candidates``): without annotated messages only tokens that are not in
the lexicon, with them every token, itself among its candidates. In its place each candidate gets a score of the
language model with the words around it, where those have the form that they stand for most often; then

- ``loglinear``: w.h, the weights w by default or of highest likelihood on annotated messages (``engine.optim``);
- ``sum``: the plain sum of similarities and of the context, scaled to 0..1 over the candidates; ``similarity``,
  ``context``: one of the two;
- ``channel``: log P(t | s) P(s); ``dictionary``: the most frequent replacement.

Of equal candidates the one that fits the context better is taken, then the more frequent, then the first by alphabet.

Han and Baldwin, "Lexical normalisation of short text messages: makn sens a #twitter", 2011; Cook and Stevenson, "An
unsupervised model for text message normalization", 2009.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import compress, pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from corpuscle import model as container
from corpuscle.compiled import frozen
from corpuscle.engine.optim import likelihood
from corpuscle.engine.optim.mert import Pools
from corpuscle.errors import InputError, SettingError, warn
from corpuscle.lm import NgramModel
from corpuscle.model import Array, vocab_arrays
from corpuscle.normalise.candidates import (
    AMONG,
    CHANGE,
    CONTEXT,
    DEFAULTS,
    FEATURES,
    FREQUENCY,
    ITSELF,
    SEEN,
    SEEN_COLUMNS,
    SLANG,
    Entry,
    change_of,
    entry_of,
    seen_columns,
)  # fmt: skip
from corpuscle.normalise.kernels.context import score_candidates
from corpuscle.normalise.lexicon import LEXICON, Lexicon, Reach
from corpuscle.normalise.replacements import Replacements, replacement_arrays
from corpuscle.normalise.settings import NormaliserSettings
from corpuscle.normalise.tokens import is_examined, with_case
from corpuscle.random import folds
from corpuscle.scale import chunks_of
from corpuscle.settings import learned
from corpuscle.text.corpus import Corpus, starts_of
from corpuscle.text.normalised import Normalised
from corpuscle.text.overlap import item_hashes
from corpuscle.text.vocab import END, FIRST, START, Vocab

__all__ = ["Choice", "Normaliser"]

_CHUNK = 4096
"""A worker takes about so many tokens at a time."""
_FOLDS = 5
_FEWEST = 50
"""So many annotated tokens are needed for weights of one's own."""
_PENALTY = 1e-6
"""On squared weights; most words are right as they are, so that the mean likelihood changes little."""
_KEPT = 10
_CACHED = 200_000
_SIMILAR = np.array([1, 2, 3, 4, 5])

Message = Sequence[str]
Messages = Sequence[Message]


class Choice(NamedTuple):
    """What became of a token: where it stands, how it was typed, what it becomes, how certain that is; and its
    candidates, best first, with their scores and the part of each feature that has one."""

    place: int
    typed: str
    form: str
    confidence: float
    ranked: list[tuple[str, float, dict[str, float]]]


class _Places(NamedTuple):
    """The tokens of some messages that have candidates: message and token, entry, and context, int32
    (n_places, 2 (order - 1)); and ``unknown``, the share of words of the message that are not in the lexicon."""

    messages: list[int]
    tokens: list[int]
    entries: list[Entry]
    contexts: np.ndarray
    unknown: list[float]

    def table(self, k: int, scores: np.ndarray) -> np.ndarray:
        """The features of the candidates of place k, given their scores in context: float64 (n, n_features)."""
        table = self.entries[k].table.copy()
        table[:, AMONG] = table[:, ITSELF] * self.unknown[k]
        table[:, CONTEXT] = scores
        return table


class Normaliser(NormaliserSettings, container.Model):
    """A normaliser of messages.

    Learned: ``lexicon_``, ``lm_``, ``seen_`` (replacements in annotated messages), ``slang_``, ``never_`` (words that
    stay), ``weights_`` of ``FEATURES``.
    """

    KIND: ClassVar[container.Kind] = container.Kind(
        "normalise.ranker", 1,
        {
            **container.ITEMS, **LEXICON, **replacement_arrays("seen/"), **replacement_arrays("slang/"),
            **vocab_arrays("never/", "never"), "weights": Array("float64", (len(FEATURES),), finite=True),
        },
        components={"lm": (NgramModel.KIND,)},
        check=lambda loaded: _check(loaded),
    )  # fmt: skip

    lexicon_: Lexicon = learned()
    lm_: NgramModel = learned()
    seen_: Replacements = learned()
    slang_: Replacements = learned()
    never_: frozenset[str] = learned()
    weights_: np.ndarray = learned()

    def __post_init__(self) -> None:
        super().__post_init__()
        self._entries: dict[tuple[str, bool], Entry] = {}

    @property
    def annotated(self) -> bool:
        """Whether it has learned from annotated messages."""
        return len(self.seen_) > 0

    @property
    def reach(self) -> Reach:
        """How far candidates are looked for."""
        return Reach(self.edits, self.sound_edits if self.phonetic else -1)

    @cached_property
    def changes(self) -> Counter[tuple[str, str]]:
        """How many pairs of annotated messages have each change."""
        pairs = ((typed, meant) for typed, meant in self.seen_.counts if typed != meant and " " not in meant)
        return Counter(change_of(*pair) for pair in pairs)

    # ---- learning

    def fit(
        self,
        messages: Messages = (),
        gold: Normalised | None = None,
        *,
        clean: Messages = (),
        words: Iterable[str] | None = None,
        slang: Replacements | None = None,
        never: Collection[str] = (),
    ) -> Normaliser:
        """Learn from messages as they were typed, annotated ones (``gold``), and ``clean`` text of the language.

        ``words``: the lexicon (default: frequent words of the clean text, or of all there is); ``never``: words that
        are not changed.
        """
        for some in (messages, clean):
            if isinstance(some, str) or any(not isinstance(message, list) for message in some):
                raise SettingError("messages are lists of words: read_text(path), or a list of such lists, makes one")
        if gold is not None and self.combine not in ("loglinear", "dictionary"):
            raise SettingError(f"annotated messages mean nothing with combine {self.combine}")
        self._entries = {}
        self.__dict__.pop("changes", None)
        self.slang_, self.never_ = slang or Replacements({}), frozenset(word.lower() for word in never)
        standard = [] if gold is None else [_lower(" ".join(gold.standard(i)).split()) for i in range(len(gold))]
        text, typed = [*map(_lower, clean), *standard], [*map(_lower, messages)]
        known = self._words(words, text or typed)
        usable = [message for message in typed if all(w in known or not is_examined(w) for w in message)]
        text = [*filter(None, usable), *text]
        if not any(text):
            raise InputError(None, None, "no clean text for the language model: give --clean")
        counts = Counter(word for sentence in text for word in sentence)
        self.lexicon_ = Lexicon.learn({word: counts[word] for word in sorted(known)}, self.phonetic, self.code_length)
        _warn_of_coverage(known, typed or [_lower(sentence) for sentence in (gold.corpus if gold is not None else [])])
        self.lm_ = self._language_model(text)
        self.seen_, self.weights_ = Replacements({}), DEFAULTS
        if gold is not None:
            self._learn_weights(gold, text[: len(text) - len(standard)], standard)
        self.provenance_ = {
            "messages": len(typed) + len(standard), "annotated": len(standard), "words": len(known),
            "sentences": len(text), "replacements": len(self.seen_), "slang": len(self.slang_),
            "ngrams": sum(self.lm_.sizes_),
        }  # fmt: skip
        learned_from = Corpus.from_sentences([*messages, *(gold.corpus if gold is not None else [])])
        self.items_ = item_hashes(learned_from)
        return self

    def _words(self, words: Iterable[str] | None, text: Messages) -> set[str]:
        """The words of the lexicon."""
        if words is None:
            counts = Counter(word for sentence in text for word in sentence if is_examined(word))
            words = [word for word, count in counts.items() if count >= self.min_count]
        known = {word.lower() for word in words}
        known = {word for word in known if len(word) > 1 or word in self.letters}
        if not known:
            reason = f"no words: none occurs {self.min_count} times; give a list with --words, or --min-count"
            raise InputError(None, None, reason)
        return known | set(self.also)

    def _language_model(self, text: Messages) -> NgramModel:
        model = NgramModel(order=self.order, min_count=1, allow_markup=True, workers=self.workers, seed=self.seed)
        return model.fit(Corpus.from_sentences(text))

    def _learn_weights(self, gold: Normalised, clean: Messages, standard: Messages) -> None:
        """Learn replacements and weights. Each token is looked at as if it had not been seen: without itself among the
        replacements, and with a language model of the other parts of the messages."""
        typed, meant = list(map(list, gold.corpus)), [gold.standard(i) for i in range(len(gold))]
        pairs = [
            (a, b) for one, other in zip(typed, meant, strict=True) for a, b in zip(one, other, strict=True)
            if is_examined(a) and a.lower() not in self.never_
        ]  # fmt: skip
        if len(pairs) < _FEWEST:
            raise InputError(None, None, f"{len(pairs)} annotated words; at least {_FEWEST} are needed")
        self.seen_ = Replacements.from_pairs(pairs)
        if self.combine == "dictionary":
            return
        part = folds(self.seed, "normalise.weights", len(typed), _FOLDS)
        starts, tables, right = [0], [], []
        for fold in range(_FOLDS):
            others = [standard[i] for i in np.flatnonzero(part != fold).tolist()]
            if not any(others):
                continue
            lm, mine = self._language_model([*clean, *others]), np.flatnonzero(part == fold).tolist()
            places = self._places([typed[i] for i in mine], None)
            scores = self._context(places, lm)
            begins = starts_of(len(entry.forms) for entry in places.entries)
            for k, entry in enumerate(places.entries):
                answer = " ".join(meant[mine[places.messages[k]]][places.tokens[k]].lower().split())
                own = np.array([form == answer for form in entry.forms])
                counts = np.maximum(entry.counts - own, 0.0)
                kept = entry.unseen | (counts > 0)
                if kept.sum() < 2 or not (kept & own).any():
                    continue
                table = places.table(k, scores[begins[k] : begins[k + 1]])
                table[:, SEEN_COLUMNS] = seen_columns(counts, table[:, ITSELF] > 0)
                if entry.counts[own][0] == 1 and table[own, ITSELF][0] == 0:  # without it, its change is rarer by one
                    shared = table[:, CHANGE] == table[own, CHANGE]
                    table[shared, CHANGE] = np.log(np.maximum(np.exp(table[shared, CHANGE]) - 1.0, 1.0))
                tables.append(table[kept])
                right.append(own[kept])
                starts.append(starts[-1] + int(kept.sum()))
        if tables:
            pools = Pools(np.array(starts), np.vstack(tables), np.concatenate(right).astype(np.float64)[:, None])
            positive = np.isin(np.arange(len(FEATURES)), [0, SEEN, CONTEXT])
            _, self.weights_ = likelihood.maximise(pools, DEFAULTS, positive, _PENALTY)

    # ---- candidates in their places

    def _entry(self, typed: str, wrong: bool) -> Entry:
        found = self._entries.get((typed, wrong))
        if found is None:
            found = entry_of(self, typed, wrong)
            if len(self._entries) >= _CACHED:
                self._entries.clear()
            self._entries[typed, wrong] = found
        return found

    def _places(self, messages: Messages, wrong: Sequence[Sequence[bool]] | None) -> _Places:
        """The tokens of messages that may be changed; ``wrong``: those that are to be, and no others."""
        at, tokens, entries, rows, unknown = [], [], [], [], []
        reach = self.order - 1
        for i, message in enumerate(messages):
            lower = _lower(message)
            examined = [is_examined(token) and token not in self.never_ for token in lower]
            asked = examined if wrong is None else wrong[i]
            if not any(asked):
                continue
            share = sum(token not in self.lexicon_ for token in compress(lower, examined)) / max(1, sum(examined))
            found = [
                self._entry(token, wrong is not None and asked[k]) if examined[k] or asked[k] else None
                for k, token in enumerate(lower)
            ]
            ids, begins = [START], []
            for typed, entry in zip(self.lm_.vocab_.encode(lower).tolist(), found, strict=True):
                begins.append(len(ids))
                ids += [typed] if entry is None else entry.context.tolist()
            ids.append(END)
            begins.append(len(ids) - 1)
            for k, entry in enumerate(found):
                if asked[k] and entry is not None and entry.forms:
                    before, behind = ids[: begins[k]][-reach:] if reach else [], ids[begins[k + 1] :][:reach]
                    rows.append([-1] * (reach - len(before)) + before + behind + [-1] * (reach - len(behind)))
                    at.append(i)
                    tokens.append(k)
                    entries.append(entry)
                    unknown.append(share)
        contexts = np.array(rows, np.int32).reshape(len(rows), 2 * reach)
        return _Places(at, tokens, entries, contexts, unknown)

    def _context(self, places: _Places, lm: NgramModel) -> np.ndarray:
        """The score of each candidate in its place by a language model, ours or one of a part of our text."""
        words = np.concatenate([np.zeros(0, np.int32), *(entry.words for entry in places.entries)])
        lengths = [np.diff(entry.starts) for entry in places.entries]
        starts = starts_of(np.concatenate([np.zeros(0, np.int64), *lengths]))
        contexts = places.contexts
        if lm is not self.lm_:
            ids = lm.vocab_.mapping_from(self.lm_.vocab_)
            words, contexts = ids[words], np.where(contexts < 0, -1, ids[contexts])
        scores = np.empty(len(starts) - 1)
        begins = starts_of(len(entry.forms) for entry in places.entries)
        score_candidates(
            lm.automaton_, frozen(contexts, np.int32), frozen(begins, np.int64), frozen(words, np.int32),
            frozen(starts, np.int64), scores,
        )  # fmt: skip
        return scores

    def _prepare(self) -> None:
        self.lexicon_.prepare(self.reach)
        self.lm_.automaton_  # noqa: B018

    def _scores(self, entry: Entry, table: np.ndarray) -> np.ndarray:
        """The scores of the candidates of one token, -inf: not considered."""
        if self.combine == "loglinear":
            return table @ self.weights_
        if self.combine == "channel":
            return table[:, 0] + table[:, FREQUENCY]
        if self.combine == "dictionary":
            return entry.counts + 0.5 * table[:, SLANG]
        context = table[:, CONTEXT]
        scores = np.zeros(len(table))
        if self.combine != "context":
            scores += table[:, _SIMILAR].sum(axis=1)
        if self.combine != "similarity":
            scores += scaled(context)
        kept = max(_KEPT, int(np.ceil(self.keep * len(table))))
        if kept < len(table):
            scores[np.argsort(-context, kind="stable")[kept:]] = -np.inf
        return scores

    # ---- normalising

    def choices(
        self, messages: Messages, wrong: Sequence[Sequence[bool]] | None = None, ranked: int = 0
    ) -> list[list[Choice]]:
        """What becomes of the tokens of messages that have candidates; ``ranked``: with so many of them. ``wrong``:
        which tokens are ill-formed, where that is known; they and no others are changed."""
        sizes = np.array([len(message) for message in messages], np.int64) + 1
        chunks = [
            (messages[a:b], None if wrong is None else wrong[a:b], ranked)
            for a, b in pairwise(chunks_of(sizes, _CHUNK).tolist())
        ]
        return [choices for part in self.spread(_choose_chunk, chunks) for choices in part]

    def _choose(self, messages: Messages, wrong: Any, ranked: int) -> list[list[Choice]]:
        places = self._places(messages, wrong)
        scores = self._context(places, self.lm_)
        found: list[list[Choice]] = [[] for _ in messages]
        begins = starts_of(len(entry.forms) for entry in places.entries).tolist()
        for k, entry in enumerate(places.entries):
            message, token = places.messages[k], places.tokens[k]
            table = places.table(k, scores[begins[k] : begins[k + 1]])
            total = self._scores(entry, table)
            order = np.lexsort((-table[:, FREQUENCY], -table[:, CONTEXT], -total))
            shares = np.exp(total - total[order[0]])
            confidence = float(1.0 / shares.sum()) if self.combine != "dictionary" else 1.0
            typed, form = messages[message][token], entry.forms[int(order[0])]
            is_kept = form == typed.lower() or confidence < self.min_confidence
            rows = [
                (entry.forms[c], float(total[c]), self._parts(table[c]))
                for c in order[:ranked].tolist() if total[c] > -np.inf
            ]  # fmt: skip
            chosen = typed if is_kept else with_case(form, typed)
            found[message].append(Choice(token, typed, chosen, confidence, rows))
        return found

    def _parts(self, row: np.ndarray) -> dict[str, float]:
        """What each feature adds to the score (loglinear), or its value."""
        values = row * self.weights_ if self.combine == "loglinear" else row
        return {name: float(value) for name, value in zip(FEATURES, values.tolist(), strict=True) if value}

    def normalise(self, messages: Messages, wrong: Sequence[Sequence[bool]] | None = None) -> list[list[str]]:
        """The standard form of each token of messages; it may be several words, or empty."""
        results = [list(message) for message in messages]
        for result, choices in zip(results, self.choices(messages, wrong), strict=True):
            for choice in choices:
                result[choice.place] = choice.form
        return results

    # ---- files

    def _arrays(self) -> Mapping[str, np.ndarray]:
        return {
            **self.lexicon_.arrays(), **self.seen_.arrays("seen/"), **self.slang_.arrays("slang/"),
            **Vocab.from_words(sorted(self.never_)).arrays("never/"), "weights": self.weights_,
        }  # fmt: skip

    def _components(self) -> dict[str, container.Part]:
        return {"lm": self.lm_.part()}

    def _restore(self, loaded: container.Container) -> None:
        arrays = loaded.arrays
        words, codes = (Vocab.from_arrays(arrays, f"{name}/") for name in ("words", "codes"))
        self.lexicon_ = Lexicon(words, codes, arrays["word_codes"], self.code_length)
        self.seen_, self.slang_ = (Replacements.from_arrays(arrays, f"{name}/") for name in ("seen", "slang"))
        self.never_ = frozenset(Vocab.from_arrays(arrays, "never/").strings[FIRST:])
        self.weights_ = arrays["weights"]
        self.lm_ = NgramModel.from_container(loaded.component("lm"))


def scaled(values: np.ndarray) -> np.ndarray:
    """Values scaled to 0..1; 0 where all are the same."""
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else np.zeros(len(values))


def _lower(message: Message) -> list[str]:
    return [token.lower() for token in message]


def _choose_chunk(chunk: tuple[Messages, Any, int], model: Normaliser) -> list[list[Choice]]:
    return model._choose(*chunk)


def _warn_of_coverage(known: Collection[str], messages: Messages) -> None:
    """Warn if most words are not in the lexicon."""
    words = [token for message in messages for token in message if is_examined(token)]
    share = sum(word in known for word in words) / max(1, len(words))
    if words and share < 0.5:
        warn(f"only {share:.0%} of the words are in the word list: is it one of this language?")


def _check(loaded: container.Container) -> None:
    """What the declarations of the arrays cannot say."""
    arrays = loaded.arrays
    if not len(Vocab.from_arrays(arrays, "words/").strings[FIRST:]):
        raise ValueError("it has no words")
    for name in ("seen", "slang"):
        Replacements.from_arrays(arrays, f"{name}/")
    order = Normaliser.restored(loaded.described).order
    if len(loaded.component("lm").arrays["levels"]) - 1 != order:
        raise ValueError("its language model is of another order")
