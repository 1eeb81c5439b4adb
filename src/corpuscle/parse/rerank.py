"""Reranker: the best of a parser's best trees, by features of whole trees.

A parser knows arcs and pairs of them; a list of its 50 best trees has a better one than the first in most sentences
where that is wrong. Each tree gets the parser's score, log p of the words given the tree by hidden states (``latent``),
tags of heads with their nearest children, of words with their head and its head, perhaps how many children words have;
weights are learned on lists by jackknife (``lists``).

Dhillon, Rodu, Collins, Foster and Ungar, "Spectral dependency parsing with latent variables", 2012, section 6; Collins,
"Discriminative reranking for natural language parsing", 2000.
"""

from __future__ import annotations

from itertools import islice
from os import PathLike
from typing import Any, ClassVar

import numpy as np

from corpuscle import learning
from corpuscle import model as container
from corpuscle.errors import SettingError
from corpuscle.learning import Checkpoint
from corpuscle.parse import latent
from corpuscle.parse import lists as candidates
from corpuscle.parse.base import signature
from corpuscle.parse.decoding import Parses, with_ranks
from corpuscle.parse.kernels import reranking as kernels
from corpuscle.parse.kernels.reranking import MOST_CHILDREN, Lists
from corpuscle.parse.latent import LATENT, LatentTrees, Likelihoods
from corpuscle.parse.lists import CHOICES, Jackknife, Judged, Trials
from corpuscle.parse.mst import ARCS, MstParser
from corpuscle.parse.settings import RerankSettings
from corpuscle.random import folds
from corpuscle.settings import learned
from corpuscle.tag import Tagger
from corpuscle.text.heldout import item_hashes
from corpuscle.text.layers import Layer
from corpuscle.text.treebank import Treebank
from corpuscle.text.vocab import Vocab
from corpuscle.words import WordVectors

Vectors = WordVectors | tuple[Vocab, np.ndarray]


class Reranker(RerankSettings, container.Model):
    """A parser, and what chooses among its best trees.

    Learned: ``parser_``; ``latent_``: trees with hidden states; ``valences_`` float64 (tags, 2, 3, 2): log
    probabilities of having another child; ``weights_`` float32 (2^hash_bits,) of features, ``number_weights_`` float64
    (numbers,) of the parser's score and other numbers, ``deviations_`` float64 (numbers,), which those are divided by;
    ``history_`` float64 (values, passes): the share of right heads in held-out lists, by what is chosen from.
    """

    KIND: ClassVar[container.Kind] = container.Kind(
        "parse.rerank",
        1,
        {
            **container.ITEMS,
            **LATENT,
            "valences": container.Array("float64", ("tags+3", 2, MOST_CHILDREN + 1, 2), high=1e-9, finite=True),
            "weights": container.Array("float32", ("table",), finite=True),
            "number_weights": container.Array("float64", ("numbers",), finite=True),
            "deviations": container.Array("float64", ("numbers",), low=1e-300, finite=True),
            "history": container.Array("float64", ("values", "passes"), finite=True),
        },
        components={"parser": (MstParser.KIND,)},
        check=lambda loaded: _check(loaded),
    )

    CALIBRATED: ClassVar[bool] = False
    SAVED: ClassVar = {
        "parser_": container.Inner("parser", "corpuscle.parse:MstParser"),
        "valences_": container.Arrays("valences"),
        "weights_": container.Arrays("weights"),
        "number_weights_": container.Arrays("number_weights"),
        "deviations_": container.Arrays("deviations"),
        "history_": container.Arrays("history"),
    }

    parser_: MstParser = learned()
    latent_: LatentTrees = learned()
    valences_: np.ndarray = learned()
    weights_: np.ndarray = learned()
    number_weights_: np.ndarray = learned()
    deviations_: np.ndarray = learned()
    history_: np.ndarray = learned()

    def checkpoint(self, bank: Treebank, path: str | PathLike[str], resume: bool = False) -> Checkpoint:
        """Where ``fit`` keeps unfinished work while it learns the model ``path`` from trees."""
        partial = learning.partial("parse.rerank", *[ARCS] * self.folds, CHOICES)
        return Checkpoint(path, partial, self.settings, signature(bank), resume=resume)

    def fit(
        self,
        bank: Treebank,
        parser: MstParser,
        dev: Treebank | None = None,
        *,
        vectors: Vectors | None = None,
        lists: Jackknife | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> Reranker:
        """Learn to choose among the best trees of ``parser`` from the treebank it was learned from; development trees
        are held out, too, where a setting is chosen; ``vectors``: of words, for log p; ``lists``: what
        ``jackknife`` returned, for several re-rankers of the same parser."""
        bank.filled()
        if len(bank) < self.folds:
            raise SettingError(f"{self.folds} folds are too many for {len(bank)} sentences")
        if parser.crossing_ and parser.order == 2:
            raise SettingError("lists of trees with crossing arcs are known in order 1 only: train the parser so")
        if vectors is not None:
            if self.observe == "tags":
                raise SettingError("vectors of words mean nothing where only tags are observed")
            for name in ("projection", "kappa", "min_count"):
                if self.origins[name] == "given":
                    raise SettingError(f"{name} is of vectors from the trees: it means nothing with given ones")
        for each in (bank,) if dev is None else (bank, dev):
            each.check_trees(single_root=parser.single_root)
        self.parser_, self.chosen_ = parser, {}
        checkpoint = checkpoint or Checkpoint(signature=signature(bank))
        lists = lists or self.jackknife(bank, parser, dev, checkpoint=checkpoint)
        # The models of all trees are those that the file keeps; training lists must not see them.
        layer = parser.tag_layers_[0]
        self.latent_ = latent.learn(bank, self, layer, vectors)
        self.valences_ = self._valences(bank)
        found = []
        parts = self._folds(bank)
        for here, of_fold in zip(parts, lists.folds, strict=True):
            states, valences = self.latent_, self.valences_
            if self.jackknife_spectral:
                rest = _without(bank, here)
                valences = self._valences(rest)
                states = latent.learn(rest, self, layer, vectors) if "logp" in self.features else states
            found.append(self._numbered(of_fold, bank.select(here), states, valences))
        self.deviations_ = candidates.standardised(candidates.joined(found))[1]
        held_out = [self._judged(each, bank.select(here).heads) for here, each in zip(parts, found, strict=True)]
        judged = None
        if dev is not None:
            assert lists.dev is not None
            judged = self._judged(self._numbered(lists.dev, dev, self.latent_, self.valences_), dev.heads)
            self.tuning_items_ = item_hashes(dev.corpus)
        every = Judged.joined(held_out)
        weights = self._learn(every, held_out, judged, checkpoint)
        first = every.lists.firsts[:-1][np.diff(every.lists.firsts) > 0]
        self.items_ = item_hashes(bank.corpus)
        self.provenance_ = {
            "sentences": len(bank), "words": bank.corpus.n_tokens, "trees": int(every.lists.firsts[-1]),
            "uas_lists": float(every.right[first].sum() / bank.corpus.n_tokens),
            "oracle_lists": float(np.maximum.reduceat(every.right, first).sum() / bank.corpus.n_tokens),
            **({} if judged is None else {"uas_dev": candidates.share_right(self, judged, weights)}),
            **self.latent_.facts,
        }  # fmt: skip
        return self

    def _judged(self, lists: Lists, gold: np.ndarray) -> Judged:
        return Judged(candidates.standardised(lists, self.deviations_)[0], candidates.right_heads(lists, gold))

    def _valences(self, bank: Treebank) -> np.ndarray:
        """How likely words of each tag have another child, in gold trees."""
        layer, tags = self.latent_.layer, self.latent_.tags
        return candidates.valence_logs(bank, latent.tags_of(bank, layer, tags), len(tags))

    def _folds(self, bank: Treebank) -> list[np.ndarray]:
        parts = folds(self.seed, "parse.rerank", len(bank), self.folds)
        return [np.flatnonzero(parts == number) for number in range(self.folds)]

    def jackknife(
        self, bank: Treebank, parser: MstParser, dev: Treebank | None = None, *, checkpoint: Checkpoint | None = None
    ) -> Jackknife:
        """Lists of the sentences of every fold, by parsers like ``parser`` of all other folds, and of development
        sentences by ``parser``."""
        found = []
        decode = "nonprojective" if parser.crossing_ else "projective"
        settings = MstParser.restored(parser.described()).settings | {"decode": decode, "workers": self.workers}
        for here in self._folds(bank):
            rest = _without(bank, here)
            rest = rest.replace(relations=Layer.unset(rest.corpus.n_tokens))
            other = MstParser(**settings).fit(rest, checkpoint=checkpoint)
            found.append(candidates.lists_of(other, bank.select(here), self.nbest))
        return Jackknife(found, None if dev is None else candidates.lists_of(parser, dev, self.nbest))

    def _numbered(self, lists: Lists, bank: Treebank, states: LatentTrees, valences: np.ndarray, k: int = 0) -> Lists:
        """Lists of ``nbest`` trees (or k, if that is more) with tags, and all numbers that the features name."""
        tags = latent.tags_of(bank, self.latent_.layer, self.latent_.tags)
        lists = candidates.shortened(lists, max(self.nbest, k))._replace(tags=tags)
        columns = [lists.numbers[:, 0]]
        if "logp" in self.features:
            columns.append(candidates.likely(lists, states.score(bank, lists.firsts, lists.heads, self.workers)))
        if "structure" in self.features:
            columns.append(candidates.scores_of(lists, valences, self.workers, kernels.valences))
        return lists._replace(numbers=np.ascontiguousarray(np.column_stack(columns)))

    def _learn(self, every: Judged, folds: list[Judged], dev: Judged | None, checkpoint: Checkpoint) -> np.ndarray:
        """Choose what is open, learn the weights of all lists, and return them."""
        trials = Trials(self, folds, dev)
        checkpoint.run(trials, len(trials.values), title="choosing", note="{:.4f} right", lasting=True)
        value, passes = trials.best()
        self.history_ = trials.shares
        if len(trials.values) > 1:
            self.chosen_["base_weight" if self.learner == "perceptron" else "variance"] = value
        if self.learner == "perceptron":
            self.chosen_["passes"] = passes
        weights = list(islice(candidates.learn_weights(self, every, value), passes))[-1]
        size = 1 << self.hash_bits
        self.weights_, self.number_weights_ = weights[:size].astype(np.float32), weights[size:]
        return weights

    # ---- parsing

    def ranked(self, bank: Treebank, k: int = 0, *, found: Lists | None = None) -> tuple[Lists, np.ndarray]:
        """The lists of sentences, with numbers as they are found (the parser's score first), of at least k trees, and
        the score of every tree, float64 (n_trees,); ``found``: what ``lists_of`` returned for them, if it is known."""
        found = found or candidates.lists_of(self.parser_, bank, max(self.nbest, k))
        lists = self._numbered(found, bank, self.latent_, self.valences_, k)
        ranking = candidates.ranking_of(self, np.concatenate([self.weights_.astype(np.float64), self.number_weights_]))
        return lists, candidates.scores_of(candidates.standardised(lists, self.deviations_)[0], ranking, self.workers)

    def parse(self, bank: Treebank, *, confidence: bool = False) -> Parses:
        """The best tree of every list; ``confidence`` is known of a parser's own trees only."""
        if confidence:
            raise SettingError("a re-ranker does not know how likely arcs are: its parser does")
        lists, scores = self.ranked(bank)
        best = candidates.best_trees_of(lists, scores)
        heads = candidates.heads_of(lists, best)
        of_best = np.where(best >= 0, scores[np.maximum(best, 0)] if len(scores) else 0.0, 0.0)
        return Parses(heads, self.parser_._relate(bank, heads), of_best, np.empty(0))

    def tagged(self, bank: Treebank) -> Treebank:
        """The treebank with the tags of the tagger inside the parser, whatever it had."""
        return self.parser_.tagged(bank)

    def tagged_by(self, tagger: Tagger | None, bank: Treebank) -> Treebank:
        """A text with the tags that the parser needs."""
        return self.parser_.tagged_by(tagger, bank)

    def annotate(self, bank: Treebank, *, confidence: bool = False) -> Treebank:
        """The treebank with the best trees and their relations."""
        parses = self.parse(bank, confidence=confidence)
        return bank.replace(heads=parses.heads, relations=self.parser_._named(parses.relations))

    def best_trees(self, bank: Treebank, k: int) -> Treebank:
        """Every sentence with its k best trees, one after the other, with ``# rank``, ``# score`` and ``# logp``."""
        lists, scores = self.ranked(bank, k)
        logs = self.latent_.score(bank, lists.firsts, lists.heads, self.workers).logs
        best = candidates.first_trees(lists, k, scores)
        both = zip(scores[best].tolist(), (logs[best] / np.log(10)).tolist(), strict=True)
        notes = ((f"# score = {score:.6f}", f"# logp = {log:.6f}") for score, log in both)
        repeated = with_ranks(bank, np.minimum(np.diff(lists.firsts), k), notes)
        heads = candidates.heads_of(lists, best)
        return repeated.replace(heads=heads, relations=self.parser_._named(self.parser_._relate(repeated, heads)))

    def probability(self, bank: Treebank) -> Likelihoods:
        """Log p of the words of every sentence given its tree."""
        bank.check_trees()
        return self.latent_.probability(bank, self.workers)

    # ---- the file

    def _arrays(self) -> dict[str, np.ndarray]:
        return {**super()._arrays(), **self.latent_.arrays()}

    def _extra(self) -> dict[str, Any]:
        return self.latent_.extra()

    def _restore(self, loaded: container.Container) -> None:
        super()._restore(loaded)
        self.latent_ = LatentTrees.restored(loaded.arrays, loaded.extra, self.observe)


def _without(bank: Treebank, sentences: np.ndarray) -> Treebank:
    return bank.select(np.setdiff1d(np.arange(len(bank)), sentences))


def _check(loaded: container.Container) -> None:
    model, arrays = Reranker.restored(loaded.described), loaded.arrays
    restored = LatentTrees.restored(arrays, loaded.extra, model.observe)
    if restored.layer not in loaded.component("parser").extra["tag_layers"]:
        raise ValueError("its tags are not those of its parser")
    if len(arrays["weights"]) != 1 << model.hash_bits:
        raise ValueError("its table of weights does not fit its settings")
    if len(arrays["number_weights"]) != 1 + ("logp" in model.features) + ("structure" in model.features):
        raise ValueError("its weights of numbers do not fit its features")
