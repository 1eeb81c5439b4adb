"""Word segmentation without a dictionary: what all learned segmenters have in common, and the nested Pitman-Yor model.

A word n-gram model whose unknown words are spelled by a letter n-gram model, both nonparametric, is learned from text
without word boundaries, from segmented text or from both, by sampling the words of one sentence after the other, each
given all others. The words of any text are then found by the Viterbi algorithm, boundary probabilities by drawing
segmentations, probabilities of sentences by summing over all segmentations.

**As a language model** it predicts the next word and draws sentences. Every context gives each known word a
probability; what is left belongs to all other words together, which the base measure spells letter by letter:

    P(a new word | context) = 1 - sum of P(w | context) over the words w that the model knows, and the end

A new word is drawn by rejection: the letters spell a word, which is kept with a probability in proportion to the factor
of its type and length (see ``kernels.lengths``), and only if it is new and has no letter that the training text lacks.

Mochihashi, Yamada and Ueda, "Bayesian unsupervised word segmentation with nested Pitman-Yor language modeling", 2009,
and for the latter its section 3: "a word n-gram language model directly from characters"."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import accumulate, islice, pairwise
from os import PathLike
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from corpuscle import learning, scale
from corpuscle import model as container
from corpuscle.engine.dp import MAX, SUM
from corpuscle.engine.restaurants.contexts import distribution, predictor
from corpuscle.errors import InputError, SettingError, UnfitData
from corpuscle.learning import Checkpoint
from corpuscle.measure.likelihood import letter_perplexity
from corpuscle.measure.result import Result
from corpuscle.model import Kind, Model
from corpuscle.random import Random
from corpuscle.segment.chain import (
    HISTORY,
    STOP_PRIOR,
    Chain,
    chain_arrays,
    check_model,
    letter_base,
    model_arrays,
    sample_arrays,
)
from corpuscle.segment.kernels.apply import SentenceChunk, applied, chunks, final_states
from corpuscle.segment.kernels.lengths import new_word, root_tables, speller, word_types
from corpuscle.segment.kernels.model import BOUNDARY, BOUNDARY_BASE, Nested
from corpuscle.segment.kernels.state import base_logs, thaw, tree_of
from corpuscle.segment.letters import (
    FORBIDDEN,
    PHRASE_MARK,
    Letters,
    Material,
    around_punctuation,
    check_stretches,
    known_gaps,
    letter_masks,
    letters_of,
    pieces,
    prepare,
    segmented_bytes,
    word_corpus,
)
from corpuscle.segment.settings import NestedSettings, SegmentSettings
from corpuscle.settings import Seeded, learned
from corpuscle.text.corpus import Corpus, Preprocessing, starts_of
from corpuscle.text.heldout import item_hashes, overlap
from corpuscle.text.scripts import TYPES, WORD_TYPES
from corpuscle.text.settings import TextSettings
from corpuscle.text.vocab import END, FIRST, MARKUP, UNKNOWN, Vocab


class LexiconEntry(NamedTuple):
    """A word of the lexicon: occurrences in the training text, tables in the root, type by script, and the negative log
    probability of its spelling in the base measure."""

    word: str
    occurrences: int
    tables: int
    type: str
    surprisal: float


class LineScores(NamedTuple):
    """Natural logs of the probabilities of lines, each with its end, float64 (lines,), the number of their letters, and
    of letters that the training text does not have, int64 (lines,)."""

    log_probability: np.ndarray
    letters: np.ndarray
    unknown: np.ndarray


class NextWords(NamedTuple):
    """The most probable next words of the lexicon, perhaps the end of the sentence ``</s>``, with their probabilities;
    and the probability of all other words together."""

    words: list[tuple[str, float]]
    new: float


def _of_chains(extra: Mapping[str, Any], prefix: str, arrays: Callable[[str], Any]) -> dict[str, container.Array]:
    chains = extra["chains"]
    if type(chains) is not int or not 1 <= chains <= 100:
        raise ValueError("it does not say how many chains it has")
    return {name: a for chain in range(chains) for name, a in arrays(f"{prefix}chain/{chain}/").items()}


PARTIAL = learning.partial(
    "segment",
    lambda extra: _of_chains(extra, "", chain_arrays),
    sample=lambda extra, number: _of_chains(extra, f"sample/{number}/", sample_arrays),
)
"""An unfinished run."""


def _applied(chunk: SentenceChunk, model: Segmenter, longest: int, semiring: int) -> tuple[np.ndarray, np.ndarray]:
    _, cuts, logs = applied(chunk, model._models[0], longest, semiring)
    return cuts.astype(np.uint8), logs


def _drawn(chunk: SentenceChunk, model: Segmenter, longest: int, draws: int, seed: int) -> np.ndarray:
    """How often a word begins at each letter, over all samples."""
    models = enumerate(model._models)
    return np.sum([applied(chunk, nested, longest, SUM, draws, seed, number)[1] for number, nested in models], axis=0)


class Segmenter(SegmentSettings, TextSettings, Seeded, Model):
    """A segmenter that has learned words. Learned: ``vocab_`` (letters), ``samples_`` (a list of dicts of arrays, the
    one that segments first), ``history_`` float64 (chains, sweeps + 1, columns), see ``history_columns``,
    ``inner_marks_`` (punctuation that is a letter like others, by the words that are given); ``max_word_`` and
    ``types_``: as set, or else by the script of the text."""

    LEARNS: ClassVar[bool] = True
    """Whether there is anything to learn, and so a language model in it."""

    SAVED: ClassVar = {
        "vocab_": container.Record(Vocab),
        "samples_": container.Samples(),
        "history_": container.Arrays("history"),
        "max_word_": container.Fact("max_word"),
        "types_": container.Fact("word_types"),
        "inner_marks_": container.Fact("inner_marks"),
    }

    method: str = learned()
    order: int = learned()
    max_context: int = learned()
    types: bool | None = learned()
    max_word_: int = learned()
    types_: bool = learned()
    vocab_: Vocab = learned()
    history_: np.ndarray = learned()
    samples_: list[dict[str, np.ndarray]] = learned()
    inner_marks_: list[str] = learned()

    @property
    def reading(self) -> dict[str, Any]:
        """Arguments of ``read_text``."""
        return {"preprocessing": self.preprocessing, "unk_token": "literal"}

    @abstractmethod
    def _chain(self, material: Material, seed: int) -> Chain:
        """A new chain over the sentences of a text."""

    @abstractmethod
    def history_columns(self) -> list[str]:
        """The names of the columns of ``history_``: those of ``HISTORY``, and in a nested model discounts and strengths
        by length of context, and the mean lengths of words by type."""

    def checkpoint(
        self, text: Corpus | None, gold: Corpus | None, path: str | PathLike[str], resume: bool = False
    ) -> Checkpoint:
        """Where ``fit`` keeps unfinished work while it learns the model ``path`` from these texts."""
        signature = "+".join("none" if corpus is None else corpus.signature() for corpus in (text, gold))
        return Checkpoint(path, PARTIAL, self.settings, signature, resume=resume)

    def fit(
        self, text: Corpus | None = None, gold: Corpus | None = None, *, checkpoint: Checkpoint | None = None
    ) -> Self:
        """Learn from a text, from segmented lines (``gold``), or from both: corpora of what stands between white space.
        ``checkpoint`` keeps unfinished work."""
        letters, material = prepare(text, gold, self)
        self.vocab_, self.items_ = letters.vocab, item_hashes(letters.as_corpus())
        self.provenance_ = {"sentences": len(letters), "letters": len(letters.tokens)}
        self.provenance_["given_sentences"] = 0 if gold is None else len(gold)
        self.stays_here("a Gibbs chain is sequential by nature; chains run side by side")
        seeds = [self.seed, *(int(Random(self.seed, "segment.chain", 0, c).key >> 1) for c in range(1, self.chains))]
        with scale.workers(min(self.threads, self.chains)) as pool:
            chains = learning.Chains([self._chain(material, seed) for seed in seeds], pool)
            columns = len(self.history_columns())
            history, kept = (checkpoint or Checkpoint()).run(
                chains,
                self.sweeps + 1,
                columns=self.chains * columns,
                samples=learning.Samples(learning.spread(self.sweeps, self.samples), chains.sample),
                facts={"chains": self.chains, "types": len(self.vocab_) - FIRST},
                note="log P {0:.5g}, {3:,.0f} words",
            )
        self.history_ = history.reshape(-1, self.chains, columns).transpose(1, 0, 2).copy()
        ranking = np.argsort(-self.history_[:, -1, 0], kind="stable").tolist()
        self.samples_ = [container.stripped(f"chain/{chain}/", several) for several in kept[::-1] for chain in ranking]
        for cached in ("_models", "_prediction"):
            self.__dict__.pop(cached, None)
        return self

    @cached_property
    def _models(self) -> list[Nested]:
        """Every sample, ready to predict."""
        masks = letter_masks(self.vocab_, self.types_)
        base = letter_base(masks)
        return [thaw(sample, masks, WORD_TYPES, base, self.end_probability, STOP_PRIOR) for sample in self.samples_]

    def _known(
        self, corpus: Corpus, spaces: str | None, longest: int | None = None
    ) -> tuple[Letters, np.ndarray, np.ndarray, np.ndarray]:
        """A text as its letters, their ids, the starts of its pieces, and the gaps; ``longest``: of its words."""
        # White space is where it was in the training text: where it is written, and where words were split.
        corpus = Preprocessing(nfc=False, tokenise=self.tokenise).apply(corpus)
        letters = letters_of(corpus, self.units, self.joiner)
        gaps = known_gaps(letters, spaces or ("forced" if self.spaces == "gold" else self.spaces))
        if self.types_:
            gaps = around_punctuation(letters, gaps, self.inner_marks_)
        check_stretches(letters, gaps, longest or self.max_word_)
        # The letters stay as they were written; the model sees them as it would have read them.
        spelled = map(self.preprocessing.spell, letters.vocab.strings[FIRST:])
        ids = np.concatenate([np.arange(FIRST), self.vocab_.encode(spelled)]).astype(np.int32)
        return letters, ids[letters.tokens], pieces(letters, gaps != FORBIDDEN), gaps

    def _stream(
        self, corpora: Iterable[Corpus], spaces: str | None, longest: int
    ) -> Iterator[tuple[Letters, np.ndarray, np.ndarray, np.ndarray]]:
        """A stream of texts, each as ``_known``; an error names the line from the beginning of all of them."""
        lines = 0
        for corpus in corpora:
            try:
                known = self._known(corpus, spaces, longest)
            except InputError as error:
                if error.path is not None or error.line is None:
                    raise
                raise UnfitData(None, lines + error.line, error.reason) from None
            lines += len(corpus)
            yield known

    def _prepare(self) -> None:
        assert self._models

    def _cuts(self, corpora: Iterable[Corpus], spaces: str | None) -> Iterator[tuple[Letters, np.ndarray]]:
        """A stream of texts as their letters, and where words begin, uint8 (letters,)."""
        if spaces not in (None, "forced", "remove"):
            raise SettingError(f"spaces is forced or remove, not {spaces!r}")
        texts = self._stream(corpora, spaces, self.max_word_)
        groups = ((letters, chunks(text, starts, gaps)) for letters, text, starts, gaps in texts)
        best = partial(_applied, longest=self.max_word_, semiring=MAX)
        for letters, found in self.spread_groups(best, groups):
            yield letters, np.concatenate([cuts for cuts, _ in found])

    def segment(self, corpus: Corpus, *, spaces: str | None = None) -> Corpus:
        """The most probable words of a text (a corpus of what stands between white space), as a corpus of words;
        ``spaces``: ``forced`` or ``remove``, by default as in training."""
        [(letters, cuts)] = self._cuts([corpus], spaces)
        return word_corpus(letters, cuts, self.units)

    def segment_lines(self, corpora: Iterator[Corpus], *, spaces: str | None = None) -> Iterator[bytes]:
        """The most probable words of a stream of texts, as bytes of segmented lines."""
        for letters, cuts in self._cuts(corpora, spaces):
            yield segmented_bytes(letters, cuts, self.units)

    def posterior(
        self, corpus: Corpus, *, draws: int = 100, seed: int = 1, spaces: str | None = None
    ) -> tuple[Letters, np.ndarray]:
        """The probability that a word begins at each letter, float64 (letters,): its share in N segmentations
        (``draws``) from each sample."""
        letters, text, starts, gaps = self._known(corpus, spaces)
        draw = partial(_drawn, longest=self.max_word_, draws=draws, seed=seed)
        counts = np.concatenate(list(self.spread(draw, chunks(text, starts, gaps, draws))))
        return letters, counts / (draws * len(self._models))

    @cached_property
    def _prediction(self) -> Prediction:
        """The sample that segments, ready to predict words."""
        return Prediction(self.samples_[0], self._models[0])

    def _longest(self, best: bool, spaces: str | None) -> int:
        """The length of the longest word in a probability: for the sum over all segmentations, that the model can make;
        for the best, that it proposes."""
        if spaces not in (None, "forced", "remove", "gold"):
            raise SettingError(f"spaces is remove, forced or gold, not {spaces!r}")
        return self.max_word_ if best and spaces != "gold" else self._models[0].factors.shape[1] - 1

    def score_lines(
        self, corpora: Iterable[Corpus], *, best: bool = False, spaces: str | None = "remove"
    ) -> Iterator[LineScores]:
        """The probabilities of the lines of a stream of texts: of all segmentations together, or (``best``) of the best
        one; ``spaces`` as of ``perplexity``. An empty line has the probability that a sentence ends at once."""
        longest, nothing = self._longest(best, spaces), float(np.log(self._prediction.after_words([])[0]))
        texts = self._stream(corpora, spaces, longest)
        groups = (((letters, text, starts), chunks(text, starts, gaps)) for letters, text, starts, gaps in texts)
        work = partial(_applied, longest=longest, semiring=MAX if best else SUM)
        for (letters, text, starts), found in self.spread_groups(work, groups):
            lengths, filled = np.diff(letters.starts), np.diff(starts) > 0
            line = np.searchsorted(letters.starts, starts[:-1], "right") - 1  # of each piece of a line
            logs = np.bincount(line[filled], np.concatenate([logs for _, logs in found])[filled], len(letters))
            unknown = np.diff(starts_of(text == UNKNOWN)[letters.starts])
            yield LineScores(np.where(lengths > 0, logs, nothing), lengths, unknown)

    def score(self, corpus: Corpus, *, best: bool = False, spaces: str | None = "remove") -> LineScores:
        """The probabilities of the lines of a text, see ``score_lines``."""
        return next(self.score_lines([corpus], best=best, spaces=spaces))

    def next_words(self, begin: Corpus, k: int = 10, *, spaces: str | None = None) -> NextWords:
        """The k most probable words after the first line of a text, summed over its segmentations; ``spaces`` as of
        ``segment``."""
        longest = self._longest(False, spaces)
        _, text, starts, gaps = self._known(begin[:1], spaces, longest)
        probabilities = self._prediction.after_letters(text[: starts[1]], gaps[: starts[1]], longest)
        ranking = np.argsort(-probabilities[:-1], kind="stable")[:k].tolist()
        words = [(self._spelled(self._prediction.lexicon[i]) or MARKUP[END], float(probabilities[i])) for i in ranking]
        return NextWords(words, float(probabilities[-1]))

    def sample(
        self, n: int = 1, *, seed: int = 1, temperature: float = 1.0, max_length: int = 100
    ) -> Iterator[list[str]]:
        """Random sentences of known and new words, at most ``max_length``; low temperatures prefer likely words."""
        for words in self._prediction.sentences(n, seed, temperature, max_length):
            yield [self._spelled(word) for word in words]

    def _spelled(self, letters: Iterable[int]) -> str:
        """A word as it is written (a phrase with its marks)."""
        return (PHRASE_MARK if self.units == "words" else "").join(self.vocab_.word(letter) for letter in letters)

    def perplexity(
        self, corpus: Corpus, *, best: bool = False, spaces: str | None = "remove", draws: int = 1000, seed: int = 1
    ) -> Result:
        """Perplexity per letter and per word: of all segmentations together, or (``best``) of the best one. ``spaces``:
        ``remove``, ``forced``, or ``gold``: only the segmentation that they make counts. Sentence ends are predicted;
        they count as words, but not as letters. Figures: ``perplexity`` with ``low`` and ``high``, ``letters``,
        ``unknown`` (letters that the training text does not have), ``sentences``, ``bits_per_letter``; ``words`` (of
        the best segmentation), ``word_perplexity`` and ``word_length``."""
        longest = self._longest(best, spaces)
        letters, text, starts, gaps = self._known(corpus, spaces, longest)
        if len(text) == 0:
            raise corpus.error("the text is empty")
        sentences = chunks(text, starts, gaps)
        found = list(self.spread(partial(_applied, longest=longest, semiring=MAX), sentences))
        words = sum(int(cuts.sum()) for cuts, _ in found)
        if not best:
            found = list(self.spread(partial(_applied, longest=longest, semiring=SUM), sentences))
        logs = np.concatenate([logs for _, logs in found])
        figures = {
            "unknown": int((text == UNKNOWN).sum()),
            "sentences": len(letters),
            "words": words,
            "word_perplexity": float(np.exp(-logs.sum() / (words + int((np.diff(starts) > 0).sum())))),
            "word_length": len(text) / words,
        }
        return letter_perplexity(logs, np.diff(starts), figures, draws=draws, seed=seed)

    def lexicon(self) -> list[LexiconEntry]:
        """The words of the training text, most frequent first."""
        sample, nested = self.samples_[0], self._models[0]
        numbers = np.arange(1, len(sample["occurrences"]))
        tables = np.zeros(len(sample["occurrences"]), np.int64)
        words, of_root = root_tables(nested)
        tables[words] = of_root
        types, surprisals = word_types(nested, numbers), -base_logs(nested, numbers)
        starts, spelled = sample["lexicon_starts"].tolist(), sample["lexicon"].tolist()
        return [
            LexiconEntry(
                self._spelled(spelled[starts[i - 1] : starts[i]]), int(sample["occurrences"][i]), int(tables[i]),
                TYPES[types[i - 1]] if self.types_ else "any", float(surprisals[i - 1]),
            )
            for i in numbers.tolist()
        ]  # fmt: skip

    def overlap(self, corpus: Corpus) -> float:
        """The share of the lines of a text that were in the training text, with or without their boundaries."""
        corpus = self.preprocessing.apply(corpus)
        return overlap(self.items_, letters_of(corpus, self.units, self.joiner).as_corpus())

    def _extra(self) -> dict[str, Any]:
        return {**super()._extra(), "chains": self.chains}


class NestedSegmenter(NestedSettings, Segmenter):
    """A segmenter whose words are spelled by a model of letters."""

    KIND: ClassVar[Kind] = Kind(
        "segment.npylm", 1, model_arrays, check=lambda loaded: check_model(NestedSegmenter.from_container(loaded))
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.method = "npylm"

    def _chain(self, material: Material, seed: int) -> Chain:
        return Chain(material, {**self.settings, "max_word": self.max_word_}, seed)

    def history_columns(self) -> list[str]:
        drawn = [
            f"{what}_{name}_{depth}"
            for what, depths in (("word", self.order), ("letter", self.max_context + 1))
            for name in ("discount", "strength")
            for depth in range(depths)
        ]
        return [*HISTORY, *drawn, *(f"length_{kind}" for kind in TYPES)]


_ATTEMPTS = 64
"""Blocks of spellings that are tried for one new word."""

_ALWAYS_ON = (0.0, 1.0)
"""The prior of contexts that are always used in full, as those of words are."""


class Prediction:
    """One sample of a model, ready to predict words. ``lexicon``: the letters of each word by its number (the end of a
    sentence, number 0, has none)."""

    def __init__(self, sample: Mapping[str, np.ndarray], nested: Nested):
        self.nested = nested
        spelled, starts = sample["lexicon"].tolist(), sample["lexicon_starts"].tolist()
        self.lexicon = [(), *(tuple(spelled[begin:end]) for begin, end in pairwise(starts))]
        self._known = set(self.lexicon)
        parameters = sample["words/discounts"], sample["words/strengths"]
        self._words = predictor(tree_of(sample, "words"), *parameters, _ALWAYS_ON)
        self._back = len(parameters[0]) - 1
        logs = base_logs(nested, np.arange(1, len(self.lexicon)))
        self._base = np.concatenate([nested.bases[BOUNDARY_BASE : BOUNDARY_BASE + 1], np.exp(logs)])
        self._speller = speller(nested)

    def after_words(self, words: Sequence[int]) -> np.ndarray:
        """P(word | the words before it, by number; -1: a new one), float64 (words of the lexicon + 2,): the end, the
        known words, and last any new word."""
        context = [int(BOUNDARY)] * self._back + list(words)
        known = distribution(self._words, np.array(context[len(context) - self._back :], np.int64), self._base)
        return np.append(known, max(0.0, 1.0 - known.sum()))

    def after_letters(self, text: np.ndarray, gaps: np.ndarray, longest: int) -> np.ndarray:
        """P(word | letters before it), as ``after_words``, summed over all segmentations of the letters into words.
        ``text``: int32 (n,); ``gaps``: uint8 (n,), what is known of them; ``longest``: letters of a word."""
        if len(text) == 0:
            return self.after_words([])
        contexts, weights = final_states(self.nested, text, gaps, longest)
        found = zip(contexts.tolist(), (weights / weights.sum()).tolist(), strict=True)
        return np.sum([weight * self.after_words(context) for context, weight in found], axis=0)

    def spell(self, stream: np.ndarray) -> tuple[int, ...]:
        """The letters of a new word, drawn from the base measure."""
        for _ in range(_ATTEMPTS):
            letters = new_word(self.nested, self._speller, stream)
            if letters and letters not in self._known:
                return letters
        raise SettingError("the model hardly spells any new words; it cannot be sampled from")

    def sentences(self, n: int, seed: int, temperature: float, max_length: int) -> Iterator[list[tuple[int, ...]]]:
        """Random sentences, each word as its letters; all new words together are one event for the temperature."""
        if not 0 < temperature < np.inf:
            raise SettingError(f"temperature is above 0 and finite, not {temperature}")
        for i in range(n):
            stream, numbers = Random(seed, "segment.sample", 0, i), list[int]()
            spelling, words = Random(seed, "segment.spelling", 0, i).array(), list[tuple[int, ...]]()
            while len(words) < max_length:
                probability = self.after_words(numbers)
                cumulative = np.cumsum((probability / probability.max()) ** (1.0 / temperature))
                word = int(np.searchsorted(cumulative, stream.uniform() * cumulative[-1], side="right"))
                if word == BOUNDARY:
                    break
                new = word == len(self.lexicon)
                numbers.append(-1 if new else word)
                words.append(self.spell(spelling) if new else self.lexicon[word])
            yield words


Example = Sequence[tuple[str, bool, float]]
"""A sentence in letters: each with the chosen cut before it, and the probability of one."""
_DRAWS = 50


def without(lines: Corpus | None, text: Corpus) -> Corpus | None:
    """Lines whose letters are not among those of a text: what is measured must not have been seen."""
    if lines is None:
        return None
    held = {"".join(words) for words in text}
    kept = np.array(["".join(words) not in held for words in lines])
    return lines.select(kept).counted() if kept.any() else None


def examples(model: NestedSegmenter, text: Corpus, longest: int, seed: int) -> tuple[Example, ...]:
    """Sentences in letters, at most the ``longest``, with the chosen cut and the probability of a cut before each."""
    words = model.segment(text)
    letters, probabilities = model.posterior(text, draws=_DRAWS, seed=seed)
    spelled = letters.vocab.decode(letters.tokens)
    result: list[Example] = []
    for i, (first, last) in enumerate(pairwise(letters.starts.tolist())):
        begins = set(accumulate(map(len, words.words(i)), initial=0))
        places = accumulate(map(len, spelled[first:last]), initial=0)
        rows = zip(spelled[first:last], places, probabilities[first:last].tolist(), strict=False)
        result.append([(letter, at in begins, round(p, 2)) for letter, at, p in islice(rows, longest)])
    return tuple(filter(None, result))
