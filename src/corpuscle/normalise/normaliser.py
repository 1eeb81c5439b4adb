"""Normaliser: what was meant, word by word, by similarity, sound, frequency, context and what was seen before.

Every token that may be a word has candidates (``candidates``): without annotated messages only tokens outside the
lexicon, with them every token, itself among its candidates. In its context each candidate gets scores of the language
model and of the dependency bank, and one is chosen (``decoding``): by weighted features, with default weights or those
of highest likelihood on annotated messages (``training``), or by a simpler method. Without annotated messages a
detector may say which words are ill-formed at all (``bank``).

Han and Baldwin, "Lexical normalisation of short text messages: makn sens a #twitter", 2011; Cook and Stevenson, "An
unsupervised model for text message normalization", 2009.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, ClassVar, TypeVar

import numpy as np

from corpuscle import model as container
from corpuscle.compiled import frozen
from corpuscle.errors import SettingError, warn
from corpuscle.lm import NgramModel
from corpuscle.model import Array, vocab_arrays
from corpuscle.normalise.bank import BANK, DETECTOR, Detector, bank_of_pairs, bank_of_trees, empty_bank, learn_detector
from corpuscle.normalise.candidates import DEFAULTS, EDGES, FEATURES
from corpuscle.normalise.decoding import Choice, choose
from corpuscle.normalise.kernels.context import SPAN, Entries
from corpuscle.normalise.lexicon import (
    CHANNEL,
    LEXICON,
    Lexicon,
    Messages,
    Reach,
    Replacements,
    Run,
    channel_array,
    channel_from_array,
    replacement_arrays,
    runs_of,
)
from corpuscle.normalise.settings import NormaliserSettings
from corpuscle.normalise.tokens import Phonetics, annotated_tokens, change_of, is_examined, learned_table
from corpuscle.normalise.training import best_threshold, fitted_channel, fitted_weights, message_examples, pair_examples
from corpuscle.scale import chunks_of
from corpuscle.settings import learned
from corpuscle.text.columns import Normalised
from corpuscle.text.corpus import Corpus
from corpuscle.text.heldout import item_hashes
from corpuscle.text.origin import Listed, error_about
from corpuscle.text.treebank import Treebank
from corpuscle.text.vocab import FIRST, Vocab
from corpuscle.text.wording import percent

T = TypeVar("T")

_CHUNK = 4096
"""The number of tokens, about, that a worker takes at a time."""
_CAREFUL = 0.9
"""The confidence that a change needs if nothing says which words are wrong: many unknown words are names. F1 of changes
was best between 0.7 (a generated language) and 0.98 (the training messages of W-NUT 2015)."""
_FEWEST = 50
"""The number of annotated tokens that weights of one's own need at least."""
_CACHED = 200_000
_PARTS = ("seen", "after", "before", "slang", "sounds")


class Normaliser(NormaliserSettings, container.Model):
    """A normaliser of messages. Learned: ``lexicon_``, ``lm_``, ``seen_`` (replacements in annotated messages),
    ``after_``, ``before_`` (those of words that have several, with the word before or behind), ``slang_``, ``never_``
    (words that stay), ``weights_`` of ``FEATURES`` for unseen and for seen words, ``bank_`` and ``detector_`` (none
    unless asked for)."""

    KIND: ClassVar[container.Kind] = container.Kind(
        "normalise.ranker", 1,
        {
            **container.ITEMS, **LEXICON, **vocab_arrays("never/", "never"), **BANK, **DETECTOR, **CHANNEL,
            **{name: array for part in _PARTS for name, array in replacement_arrays(f"{part}/").items()},
            "weights": Array("float64", (2, len(FEATURES)), finite=True),
        },
        components={"lm": (NgramModel.KIND,)},
        check=lambda loaded: _check(loaded),
    )  # fmt: skip

    SAVED: ClassVar = {
        **{f"{part}_": container.Record(Replacements, f"{part}/") for part in _PARTS},
        "weights_": container.Arrays("weights"),
        "detector_": container.Record(Detector, "detector/"),
        "lm_": container.Inner("lm", "corpuscle.lm:NgramModel"),
    }

    lexicon_: Lexicon = learned()
    lm_: NgramModel = learned()
    seen_: Replacements = learned()
    after_: Replacements = learned()
    before_: Replacements = learned()
    slang_: Replacements = learned()
    sounds_: Replacements = learned()
    never_: frozenset[str] = learned()
    weights_: np.ndarray = learned()
    bank_: Entries = learned()
    detector_: Detector | None = learned()

    def __post_init__(self) -> None:
        super().__post_init__()
        self._forget()

    def _forget(self) -> None:
        """Drop what was computed from what has been learned."""
        self._computed: dict[Any, Any] = {}
        for name in ("changes", "runs", "bank_contexts", "lm_words"):
            self.__dict__.pop(name, None)

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
        pairs = ((typed, meant) for typed, meant in self.seen_.counts if typed != meant and " " not in typed + meant)
        return Counter(change_of(*pair) for pair in pairs)

    @cached_property
    def runs(self) -> dict[str, list[Run]]:
        """First token -> the runs of tokens that stand for one form."""
        return runs_of(self.slang_, self.seen_)

    @cached_property
    def bank_contexts(self) -> np.ndarray:
        """Which words of the lexicon are contexts in the bank: bool (n_words,)."""
        found = np.zeros(self.bank_.words, bool)
        found[self.bank_.keys // SPAN // self.bank_.words] = True
        return found

    @cached_property
    def lm_words(self) -> np.ndarray:
        """The words of the lexicon in the language model: int32 (n_words,)."""
        return frozen(self.lm_.vocab_.encode(self.lexicon_.strings), np.int32)

    def once(self, compute: Callable[..., T], *of: Any) -> T:
        """``compute(self, *of)``, remembered as long as what has been learned stays the same."""
        found = self._computed.get((compute, of))
        if found is None:
            if len(self._computed) >= _CACHED:
                self._computed.clear()
            found = self._computed[compute, of] = compute(self, *of)
        return found

    def fit(
        self,
        messages: Messages = (),
        gold: Normalised | None = None,
        *,
        clean: Messages = (),
        words: Iterable[str] | None = None,
        slang: Replacements | None = None,
        never: Collection[str] = (),
        parsed: Treebank | None = None,
        dev: Normalised | None = None,
        sounds: Mapping[str, str] | None = None,
    ) -> Normaliser:
        """Learn from messages as they were typed, annotated ones (``gold``), and ``clean`` text of the language.
        ``words``: the lexicon (default: frequent words of the clean text, or of all there is); ``never``: words that
        are not changed; ``parsed``: text with dependency trees for the bank; ``dev``: annotated messages by which
        ``min_confidence`` is chosen if not given; ``sounds``: letters and what they become in phonetic codes."""
        for some in (messages, clean):
            if isinstance(some, str) or any(not isinstance(message, list) for message in some):
                raise SettingError("messages are lists of words: read_text(path), or a list of such lists, makes one")
        if gold is not None and self.combine not in ("loglinear", "dictionary"):
            raise SettingError(f"annotated messages mean nothing with combine {self.combine}")
        if gold is not None and self.detect:
            raise SettingError("detect means nothing with annotated messages, which say what is ill-formed")
        self._check_combination(parsed)
        self._forget()
        self.slang_, self.never_ = slang or Replacements({}), frozenset(word.lower() for word in never)
        standard = [] if gold is None else [_lower(" ".join(gold.standard(i)).split()) for i in range(len(gold))]
        written, typed = [*map(_lower, clean)], [*map(_lower, messages)]
        text = [*written, *standard]
        source = messages if messages or gold is None else gold
        known = self._words(words, text or typed, source)
        usable = [message for message in typed if all(w in known or not is_examined(w) for w in message)]
        text = [*filter(None, usable), *text]
        if not any(text):
            raise error_about(source, "no clean text for the language model: give --clean")
        self.lexicon_ = _lexicon(known, text, self._phonetics(sounds, gold))
        if self.fit_channel:
            self._fit_channel(typed, gold, source)
        looked_at = typed if typed or gold is None else map(_lower, gold.corpus)
        met = [word for message in looked_at for word in message if is_examined(word)]
        share = sum(word in known for word in met) / max(1, len(met))
        if met and share < 0.5:
            warn(f"only {percent(share, 0)} of the words are in the word list: is it one of this language?")
        self.lm_ = self.language_model(text)
        self.seen_ = self.after_ = self.before_ = Replacements({})
        self.weights_ = np.stack([DEFAULTS, DEFAULTS])
        self._learn_bank(parsed, Listed(text, getattr(source, "origin", None)))
        if gold is not None:
            knowing = partial(self._knowing, written, parsed) if words is None else lambda some: self
            self._learn_weights(gold, text[: len(text) - len(standard)], standard, knowing)
        self._forget()
        self.provenance_ = {
            "messages": len(typed) + len(standard), "annotated": len(standard), "words": len(known),
            "sentences": len(text), "replacements": len(self.seen_), "slang": len(self.slang_),
            "ngrams": sum(self.lm_.sizes_), "bank": len(self.bank_.keys),
        }  # fmt: skip
        self.items_ = item_hashes(Corpus.from_sentences([*messages, *(() if gold is None else gold.corpus)]))
        if dev is not None:
            self.tuning_items_ = item_hashes(dev.corpus)
            if self.origins["min_confidence"] != "given":
                self.chosen_["min_confidence"] = 0.0  # all changes are weighed
                self.chosen_["min_confidence"] = best_threshold(self, dev)
        return self

    def _check_combination(self, parsed: Treebank | None) -> None:
        """Complain about settings of what is not asked for."""
        if not self.detect:
            self._refuse(("positives", "examples", "aggregates"), "without detect")
            if parsed is None and not self.pairs_bank:
                self._refuse(("bank_score", "expand"), "without a bank: parsed text, pairs_bank or detect")
        here = f"with combine {self.combine}"
        if self.combine != "loglinear":
            self._refuse(("decode", "beam"), here)
        elif self.decode == "token":
            self._refuse(("beam",), "with decode token")
        if self.combine not in ("loglinear", "channel"):
            self._refuse(("candidates",), here)
        if self.combine not in ("sum", "similarity", "context"):
            self._refuse(("keep",), here)

    @property
    def least_confidence(self) -> float:
        """The confidence that a change needs if it is not known which words are wrong."""
        given = self.chosen_.get("min_confidence", self.min_confidence)
        if given is not None:
            return float(given)
        known = self.annotated or self.detector_ is not None
        return _CAREFUL if self.combine == "loglinear" and not known else 0.0

    def _phonetics(self, sounds: Mapping[str, str] | None, gold: Normalised | None) -> Phonetics | None:
        """How codes are made: by a table that is given or learned, or by double metaphone."""
        if self.learn_sounds:
            if gold is None or sounds is not None:
                raise SettingError("learn_sounds needs annotated messages, and no table of sounds")
            sounds = learned_table(_pairs(gold))
        self.sounds_ = Replacements({} if sounds is None else dict.fromkeys(sounds.items(), 1))
        return Phonetics(self.code_length, sounds or None) if self.phonetic else None

    def _fit_channel(self, typed: Messages, gold: Normalised | None, source: Any) -> None:
        """Estimate the channel from annotated messages, or from the words of messages that are not in the lexicon."""
        lexicon = self.lexicon_
        examples = message_examples(self, typed) if gold is None else pair_examples(self, _pairs(gold))
        if not examples:
            raise error_about(source, "nothing to fit the channel to: no word of the messages is ill-formed")
        lexicon.channel, _ = fitted_channel(lexicon.channel, examples, lexicon.shapes.letters, lexicon.shapes.vowels)

    def _words(self, words: Iterable[str] | None, text: Messages, source: Any = None) -> set[str]:
        """The words of the lexicon; ``source``: the data to blame where there are none."""
        if words is None:
            counts = Counter(word for sentence in text for word in sentence if is_examined(word))
            words = [word for word, count in counts.items() if count >= self.min_count]
        known = {word.lower() for word in words}
        known = {word for word in known if len(word) > 1 or word in self.letters}
        if not known:
            reason = f"no words: none occurs {self.min_count} times; give a list with --words, or --min-count"
            raise error_about(source, reason)
        return known | set(self.also)

    def language_model(self, text: Messages) -> NgramModel:
        model = NgramModel(order=self.order, min_count=1, allow_markup=True, workers=self.workers, seed=self.seed)
        return model.fit(Corpus.from_sentences(text))

    def _learn_bank(self, parsed: Treebank | None, text: Messages) -> None:
        """Learn the bank and the detector that are asked for."""
        number = self.lexicon_.number
        self.bank_, self.detector_ = empty_bank(len(number)), None
        if parsed is not None:
            self.bank_ = bank_of_trees(parsed, number, self.bank_score)
        elif self.pairs_bank or self.detect:
            self.bank_ = bank_of_pairs(text, number, self.bank_score)
        if self.detect:
            self.detector_ = learn_detector(self, text)

    def _knowing(self, clean: Messages, parsed: Treebank | None, some: Messages) -> Normaliser:
        """The same with the words of clean text and of some of what was meant."""
        part, lexicon, text = copy(self), self.lexicon_, [*clean, *some]
        part._forget()
        part.lexicon_ = _lexicon(self._words(None, text), text, lexicon.phonetics if self.phonetic else None)
        part.lexicon_.channel = lexicon.channel
        part._learn_bank(parsed, text)
        return part

    def _learn_weights(
        self, gold: Normalised, clean: Messages, standard: Messages, knowing: Callable[[Messages], Normaliser]
    ) -> None:
        """Learn replacements and weights; see ``fitted_weights``."""
        typed, meant = list(gold.corpus), [gold.standard(i) for i in range(len(gold))]
        self.seen_ = Replacements.seen(typed, meant, self.never_)
        if (found := sum(self.seen_.counts.values())) < _FEWEST:
            raise gold.error(f"{found} annotated words; at least {_FEWEST} are needed")
        if self.combine == "dictionary":
            return
        self.after_, self.before_ = Replacements.with_neighbours(self.seen_, typed, meant, EDGES)
        if (weights := fitted_weights(self, typed, meant, clean, standard, knowing)) is not None:
            self.weights_ = weights

    def _prepare(self) -> None:
        self.lexicon_.prepare(self.reach)
        self.lm_.automaton_  # noqa: B018

    def choices(
        self, messages: Messages, wrong: Sequence[Sequence[bool]] | None = None, ranked: int = 0
    ) -> list[list[Choice]]:
        """What becomes of the tokens of messages that have candidates; ``ranked``: how many of these to list;
        ``wrong``: which tokens are ill-formed, if that is known: only they are changed."""
        sizes = np.array([len(message) for message in messages], np.int64) + 1
        chunks = [
            (messages[a:b], None if wrong is None else wrong[a:b], ranked)
            for a, b in pairwise(chunks_of(sizes, _CHUNK).tolist())
        ]
        return [choices for part in self.spread(choose, chunks) for choices in part]

    def normalise(self, messages: Messages, wrong: Sequence[Sequence[bool]] | None = None) -> list[list[str]]:
        """The standard form, several words or none, of each token of messages."""
        results = [list(message) for message in messages]
        for result, choices in zip(results, self.choices(messages, wrong), strict=True):
            for choice in choices:
                result[choice.place] = choice.form
        return results

    def unknown(self, gold: Normalised) -> list[list[bool]]:
        """Which tokens of messages are words outside the lexicon: by the flags of LexNorm, or by our own lexicon."""
        if gold.flagged:
            notes, starts = gold.notes.strings(), gold.corpus.sentence_starts.tolist()
            return [[note == "OOV" for note in notes[a:b]] for a, b in pairwise(starts)]
        return [
            [is_examined(token) and token not in self.lexicon_ for token in _lower(message)] for message in gold.corpus
        ]

    def _arrays(self) -> Mapping[str, np.ndarray]:
        never = Vocab.from_words(sorted(self.never_)).arrays("never/")
        own = {"channel": channel_array(self.lexicon_.channel)}
        bank = {"bank/keys": self.bank_.keys, "bank/values": self.bank_.values}
        return {**self.lexicon_.arrays(), **never, **own, **bank, **super()._arrays()}

    def _restore(self, loaded: container.Container) -> None:
        super()._restore(loaded)
        arrays = loaded.arrays
        words, codes = (Vocab.from_arrays(arrays, f"{name}/") for name in ("words", "codes"))
        phonetics = Phonetics(self.code_length, dict(list(self.sounds_.counts)) or None)
        self.lexicon_ = Lexicon(words, codes, arrays["word_codes"], phonetics)
        self.lexicon_.channel = channel_from_array(arrays["channel"])
        self.never_ = frozenset(Vocab.from_arrays(arrays, "never/").strings[FIRST:])
        keys, values = frozen(arrays["bank/keys"], np.int64), frozen(arrays["bank/values"], np.float32)
        self.bank_ = Entries(keys, values, len(self.lexicon_.strings))


def _pairs(gold: Normalised) -> list[tuple[str, str]]:
    """The words of annotated messages as typed and as meant, in lower case, those that stay one word."""
    pairs = annotated_tokens(gold)
    return [(one.lower(), right.lower()) for one, right in pairs if is_examined(one) and len(right.split()) == 1]


def _lexicon(words: Collection[str], text: Messages, phonetics: Phonetics | None) -> Lexicon:
    counts = Counter(word for sentence in text for word in sentence)
    return Lexicon.learn({word: counts[word] for word in sorted(words)}, phonetics)


def _lower(message: Sequence[str]) -> list[str]:
    return [token.lower() for token in message]


def _check(loaded: container.Container) -> None:
    """What the declarations of the arrays cannot say."""
    arrays = loaded.arrays
    if not len(Vocab.from_arrays(arrays, "words/").strings[FIRST:]):
        raise ValueError("it has no words")
    for part in _PARTS:
        Replacements.from_arrays(arrays, f"{part}/")
    channel_from_array(arrays["channel"])
    keys, words = arrays["bank/keys"], arrays["words/counts"].shape[0]
    if len(keys) and (np.diff(keys).min(initial=1) < 1 or keys[-1] >= SPAN * words**2):
        raise ValueError("its bank has entries that do not rise, or of words that are not there")
    if ("detector/entries" in arrays) != ("detector/others" in arrays):
        raise ValueError("it has one half of a detector")
    order = Normaliser.restored(loaded.described).order
    if len(loaded.component("lm").arrays["levels"]) - 1 != order:
        raise ValueError("its language model is of another order")
