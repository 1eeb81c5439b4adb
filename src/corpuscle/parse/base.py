"""What all dependency parsers share: the verbs of the task, the names of relations, and which sentences they take; and
``BranchingParser``, what a parser has to beat: every word hangs on its left neighbour, or on its right one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from corpuscle import model as container
from corpuscle.catalogue import find, home_of
from corpuscle.errors import SettingError, warn
from corpuscle.learning import Checkpoint, Shuffled
from corpuscle.model import Array
from corpuscle.parse.decoding import Parses, Ranked, chunks_for, joined, parse_chunk, rank_chunk, related, with_ranks
from corpuscle.parse.kernels.features import Layers
from corpuscle.parse.kernels.training import learn_relations
from corpuscle.parse.settings import BranchingSettings
from corpuscle.parse.words import SOURCES, TAG_LAYERS, layers_of
from corpuscle.settings import learned
from corpuscle.tag import Tagger
from corpuscle.text.layers import Layer, aligned_signature
from corpuscle.text.treebank import Treebank
from corpuscle.text.vocab import FIRST, Vocab
from corpuscle.words import WordFeatures

LONGEST = 1000
"""Words of the longest sentence that is parsed: the room for pairs grows with their cube."""
_COLUMNS = {"tags": "UPOS", "xpos": "XPOS", "lemmas": "LEMMA", "features": "FEATS"}


class DependencyParser(container.Model):
    """What all parsers of sentences do; a parser is this and a class of settings, with what its ``WORK`` needs and,
    if it learns relations, the settings ``relation_bits`` and ``seed``.

    Learned: ``relation_weights_`` float32 (2^relation_bits, relations), both 0 without relations; ``relations_``: a
    ``Vocab`` of their names; ``tag_layers_``: which layers it takes for tags; ``sources_``: which others stand beside
    forms; ``known_``: what raw text says of words; ``tagger_``: a tagger for words without tags, or None.

    ``KNOWS_WORDS``: its ``fit`` takes what raw text says of words; ``CALIBRATED``: it knows how likely its arcs are;
    ``WORK``: what finds the best tree, and the k best trees, of the sentences of a job.
    """

    KNOWS_WORDS: ClassVar[bool] = False
    CALIBRATED: ClassVar[bool] = False
    WORK: ClassVar[tuple[Callable[..., Parses], Callable[..., Ranked]]] = (parse_chunk, rank_chunk)

    relation_weights_: np.ndarray = learned()
    relations_: Vocab = learned()
    tag_layers_: tuple[str, ...] = learned()
    sources_: tuple[str, ...] = ()
    known_: WordFeatures = WordFeatures.none()
    tagger_: Tagger | None = None
    distance: str = "length"

    def tagged(self, bank: Treebank) -> Treebank:
        """The treebank with the tags of the tagger inside, whatever it had."""
        if self.tagger_ is None:
            raise SettingError("this parser has no tagger inside: train one with tags jackknife, or give a tagger")
        return self.tagger_.annotate(bank.without(*self.tagger_.layers_))

    def tagged_by(self, tagger: Tagger | None, bank: Treebank) -> Treebank:
        """A text with the tags that the parser needs: those of a tagger of its language, or of the one inside."""
        return self.tagged(bank) if tagger is None else tagger.annotate(bank)

    def parse(self, bank: Treebank, *, confidence: bool = False) -> Parses:
        """The best tree of every sentence; ``confidence``: also how likely each of its arcs is."""
        return joined(Parses, self.spread(self.WORK[0], self._jobs(bank, int(confidence))))

    def ranked(self, bank: Treebank, k: int) -> Ranked:
        """The k best trees of every sentence with their relations, as flat arrays."""
        self.check_ranking()
        return joined(Ranked, self.spread(self.WORK[1], self._jobs(bank, k)))

    def check_ranking(self) -> None:
        """Raise a ``SettingError`` if only the best tree can be found."""

    def _jobs(self, bank: Treebank, wanted: int) -> list[Any]:
        """The sentences in parts, as workers get them; ``wanted``: see ``Chunk``."""
        return chunks_for(self._layers(bank), wanted)

    def annotate(self, bank: Treebank, *, confidence: bool = False) -> Treebank:
        """The treebank with our heads and relations; ``confidence``: with how likely each arc is in MISC."""
        parses = self.parse(bank, confidence=confidence)
        if confidence:
            bank = bank.with_misc("Confidence", [f"{value:.3f}" for value in parses.confidence])
        return bank.replace(heads=parses.heads, relations=self._named(parses.relations))

    def k_best(self, bank: Treebank, k: int) -> list[list[tuple[np.ndarray, float]]]:
        """The k best trees of every sentence, heads int32 with their scores, the best one first."""
        ranked, lists, tree, word = self.ranked(bank, k), [], 0, 0
        for n, count in zip(bank.corpus.lengths.tolist(), ranked.counts.tolist(), strict=True):
            heads = ranked.heads[word : word + n * count].reshape(count, n)
            lists.append(list(zip(heads, ranked.scores[tree : tree + count].tolist(), strict=True)))
            tree, word = tree + count, word + n * count
        return lists

    def best_trees(self, bank: Treebank, k: int) -> Treebank:
        """Every sentence with its k best trees, one after the other, with ``# rank`` and ``# score`` comments."""
        ranked = self.ranked(bank, k)
        notes = ((f"# score = {score:.6f}",) for score in ranked.scores.tolist())
        repeated = with_ranks(bank, ranked.counts, notes, ("# score = 0.000000",))
        return repeated.replace(heads=ranked.heads, relations=self._named(ranked.relations))

    def _named(self, relations: np.ndarray) -> Layer:
        if not len(self.relations_.strings[FIRST:]):
            return Layer.unset(len(relations))
        return Layer((relations + FIRST).astype(np.int32), self.relations_)

    def _relate(self, bank: Treebank, heads: np.ndarray) -> np.ndarray:
        """The best relations of given trees, int32 (n_words,)."""
        return related(self._layers(bank), np.arange(len(bank)), heads.astype(np.int32), self)

    def _layers(self, bank: Treebank) -> Layers:
        """What the parser sees of sentences, none of which is too long or lacks its tags."""
        bank.check_lengths(LONGEST)
        for names, needed in ((self.tag_layers_, True), (self.sources_, False)):
            lacking = [name for name in names if bank.corpus.n_tokens and not getattr(bank, name).ids.any()]
            if lacking:
                columns = " and ".join(_COLUMNS[name] for name in lacking)
                reason = f"the words have no {columns}, which this parser learned from"
                if needed:
                    raise bank.error(reason)
                warn(reason)  # a few words may well have none
        return layers_of(bank, self.tag_layers_, self.sources_, self.known_, self.distance)

    def _learn_relations(self, layers: Layers, bank: Treebank, passes: int, checkpoint: Checkpoint) -> None:
        """Learn the names of arcs from a treebank, if all of its words have one."""
        self._forget_relations()
        names, ids = bank.relations.vocab.strings[FIRST:], (bank.relations.ids - FIRST).astype(np.int32)
        if names and (ids >= 0).all():
            self._relation_weights(layers, bank, ids, names, passes, checkpoint)

    def _forget_relations(self) -> None:
        self.relations_, self.relation_weights_ = Vocab.from_words([]), np.zeros((0, 0), np.float32)

    def _relation_weights(
        self, layers: Layers, bank: Treebank, ids: np.ndarray, names: list[str], passes: int, checkpoint: Checkpoint
    ) -> None:
        """Learn the weights of relations from trees; ``ids`` int32 (n_words,): that of each arc, -1 if not known."""
        known = bank.heads.astype(np.int32), ids, bank.corpus.sentence_starts
        facts = {"rows": 1 << self.settings["relation_bits"], "relations": len(names)}
        learner = RelationLearner(layers, known, tuple(facts.values()), self.settings["seed"])
        checkpoint.run(learner, passes, facts=facts, title="relations", note="wrong {:.3f}")
        self.relations_, self.relation_weights_ = Vocab.from_words(names), learner.mean()


def check_weights(loaded: container.Container) -> None:
    """Raise a ``ValueError`` if tables of weights do not have the size that the settings of their parser say."""
    model, arrays = find(str(home_of(loaded.kind))).restored(loaded.described), loaded.arrays
    if len(arrays["weights"]) != 1 << model.hash_bits:
        raise ValueError("its table of weights does not fit its settings")
    if arrays["relation_weights"].shape[1] and len(arrays["relation_weights"]) != 1 << model.relation_bits:
        raise ValueError("its table of relations does not fit its settings")


def signature(bank: Treebank, known: WordFeatures | None = None) -> str:
    """A hash of words, heads, relations, of all layers that a parser may look at, and of what is known of words."""
    layers = (getattr(bank, name) for name in (*TAG_LAYERS, *SOURCES))
    more = () if known is None else (known.words, known.values)
    return aligned_signature(bank.corpus.signature(), bank.heads.astype(np.int32), bank.relations, *layers, *more)


class BranchingParser(BranchingSettings, DependencyParser):
    """``right``: the head of a word is the one before it, the first is the root (branches grow to the right); ``left``:
    the one behind it, the last is the root. There is nothing to learn, and relations have no names."""

    KIND: ClassVar[container.Kind] = container.Kind("parse.branching", 1, {})

    def __post_init__(self) -> None:
        super().__post_init__()
        self.relations_ = Vocab.from_words([])

    def fit(self, bank: Treebank, dev: Treebank | None = None) -> BranchingParser:
        """Look at the trees, from which there is nothing to learn."""
        if dev is not None:
            raise SettingError("a rule learns nothing: there is nothing that --dev could choose")
        bank.check_trees()
        bank.check_lengths(LONGEST)
        self.provenance_ = {"sentences": len(bank), "words": bank.corpus.n_tokens, "relations": 0}
        return self

    def tagged_by(self, tagger: Any, bank: Treebank) -> Treebank:
        """The text with the tags of a tagger, if there is one: no tags are needed."""
        return bank if tagger is None else tagger.annotate(bank)

    def parse(self, bank: Treebank, *, confidence: bool = False) -> Parses:
        """The one tree of every sentence; it is neither likely nor unlikely."""
        if confidence:
            raise SettingError("trees that know nothing of words have no confidence")
        starts, lengths = bank.corpus.sentence_starts, bank.corpus.lengths
        before = np.arange(bank.corpus.n_tokens) - np.repeat(starts[:-1], lengths)
        behind = np.where(before + 2 > np.repeat(lengths, lengths), 0, before + 2)
        heads = (before if self.method == "right" else behind).astype(np.int32)
        return Parses(heads, np.zeros(len(heads), np.int32), np.zeros(len(bank)), np.empty(0))

    def ranked(self, bank: Treebank, k: int) -> Ranked:
        parses, counts = self.parse(bank), (bank.corpus.lengths > 0).astype(np.int64)
        return Ranked(counts, np.zeros(int(counts.sum())), parses.heads, parses.relations)

    def summary(self) -> dict[str, Any]:
        return {}


# ---- learning


RELATIONS = {
    "weights": Array("float32", ("rows", "relations"), finite=True),
    "totals": Array("float64", ("rows", "relations"), finite=True),
    "clock": Array("int64", (1,), low=0),
}


class Averaged(Shuffled):
    """An online learner of mean weights: a few sentences at a time, in another order each pass.

    ``weights`` float32 and ``totals`` float64, of one shape, ``clock`` int64 (1,): see ``kernels.training``.
    """

    KEEPS: ClassVar[tuple[str, ...]] = ("weights", "totals", "clock")

    def __init__(self, starts: np.ndarray, seed: int, purpose: str, shape: tuple[int, ...]):
        super().__init__(np.diff(starts), seed, purpose)
        self.weights, self.totals, self.clock = np.zeros(shape, np.float32), np.zeros(shape), np.zeros(1, np.int64)
        self._words, self._wrong = max(1, int(starts[-1])), 0

    def mean(self) -> np.ndarray:
        """The mean of the weights so far, float32."""
        return (self.weights - self.totals / max(1, self.clock[0])).astype(np.float32)

    def finish(self, sweep: int) -> list[float]:
        """The share of words whose head or relation was wrong in this pass."""
        wrong, self._wrong = self._wrong, 0
        return [wrong / self._words]


class RelationLearner(Averaged):
    """Learns the weights of relations, (rows, relations), on right trees; ``bank``: heads, relations, first words."""

    def __init__(self, layers: Layers, bank: Any, shape: tuple[int, ...], seed: int):
        super().__init__(bank[2], seed, "parse.relations", shape)
        self._text, self._shift = (layers, bank), np.uint64(64 - (shape[0] - 1).bit_length())

    def step(self, sweep: int, number: int) -> None:
        layers, bank = self._text
        learning = self.weights, self.totals, self.clock
        self._wrong += learn_relations(layers, self.part(sweep, number), bank, self._shift, learning)
