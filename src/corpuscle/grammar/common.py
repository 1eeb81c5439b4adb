"""CommonGrammar: one grammar for each of several languages, learned from their raw sentences, and what they share.

The texts are no translations of each other and have neither tags nor trees. Categories have the same numbers in all
languages, since they begin with one random common grammar and differ only in their words; see ``variational`` for the
model. Category 0 is the root.

Iwata, Mochihashi and Sawada, "Learning common grammar from multilingual corpus", 2010.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from corpuscle.engine.dp.cky import cell_numbers, rules_for
from corpuscle.engine.dp.dense import inside_outside
from corpuscle.errors import SettingError, warn
from corpuscle.grammar.base import Constituent, Parsed
from corpuscle.grammar.kernels.spans import best_labelled, fill_gammas
from corpuscle.grammar.preparation import trees_from
from corpuscle.grammar.settings import CommonSettings
from corpuscle.grammar.variational import (
    Common,
    Grammar,
    Weights,
    chunks_of_language,
    dirichlet_step,
    divergence,
    expect,
)
from corpuscle.learning import Checkpoint, partial
from corpuscle.model import TRAINING_ITEMS, Array, Arrays, Container, Fact, Kind, Model, Record, vocab_arrays
from corpuscle.random import purpose_id, stream
from corpuscle.scale import Chunks, chunks_of, workers
from corpuscle.settings import learned
from corpuscle.text.corpus import Corpus
from corpuscle.text.overlap import item_hashes
from corpuscle.text.treebank import Treebank
from corpuscle.text.trees import Trees
from corpuscle.text.vocab import FIRST, Vocab

_MOST = 200
_WORK = 100_000
"""Chunks of sentences to parse have about so many words to the third."""
_STATE = {
    "common/emits": Array("float64", ("categories", 2), low=0.0, finite=True),
    "common/pairs": Array("float64", ("categories", "pairs"), low=0.0, finite=True),
    "emits": Array("float64", ("languages", "categories", 2), low=0.0, finite=True),
    "pairs": Array("float64", ("languages", "categories", "pairs"), low=0.0, finite=True),
    "words": Array("float64", ("categories", "slots"), low=0.0, finite=True),
}
PARTIAL = partial("grammar.common", *[{**_STATE, "values": Array("float64", (2,))}] * 100)


def _dirichlet(rows: int, columns: int, shape: float, draws: np.ndarray) -> np.ndarray:
    """Rows drawn from a symmetric Dirichlet distribution."""
    values = np.zeros((rows, columns))
    fill_gammas(draws, shape, values)
    return values / values.sum(axis=1, keepdims=True)


class _Learner:
    """One start, as a learner: its state are the common grammar and those of all languages."""

    def __init__(self, model: CommonGrammar, sizes: Sequence[int], restart: int, words: list[np.ndarray]):
        self.model, self.sizes = model, sizes
        self.allowed = model.allowed
        k, n = model.nonterminals, len(self.allowed)
        draws = stream(model.seed, purpose_id("grammar.common"), restart, 0)
        emits, pairs = _dirichlet(k, 2, 2.0, draws), _dirichlet(k, n, 1.0, draws)
        self.common = Common(np.ones((k, 2)), 0.2 + k * pairs)
        if model.estimate == "separate":
            self.common = Common(np.ones((k, 2)), np.full((k, n), 0.1))
        prior = model.word_prior
        self.grammars = []
        for number, size in enumerate(sizes):
            if len(words):
                rows = words[number]
            else:
                own = stream(model.seed, purpose_id("grammar.common.words"), restart, number)
                rows = _dirichlet(k, size, 1.0, own)
            rows = rows / rows.sum(axis=1, keepdims=True)
            start = Grammar(self.common.emits + 20 * emits, self.common.pairs + n * pairs, prior + size * rows)
            self.grammars.append(start.means() if model.estimate == "em" else start)
        self.held: Chunks | None = None
        self.chunks: list[Any] = []
        self.annealing = 0 if model.estimate == "em" else model.annealing
        self.values = np.full(2, np.nan)  # the objective of the last two iterations

    def steps(self, sweep: int) -> int:
        return 0

    def step(self, sweep: int, number: int) -> None:
        return None

    def _counts(self, power: float = 1.0) -> tuple[list[Grammar], float]:
        """Expected counts of each language, and the sum of log Z, with weights to a power."""
        em = self.model.estimate == "em"
        rows = self.grammars if em else [grammar.weights(power) for grammar in self.grammars]
        weights = [Weights.of(each, self.allowed) for each in rows]
        k = self.model.nonterminals
        counts = [Grammar(np.zeros((k, 2)), np.zeros((k, len(self.allowed))), np.zeros((k, n))) for n in self.sizes]
        total = 0.0
        assert self.held is not None
        for chunk, found in zip(self.chunks, self.held.map(expect, weights), strict=True):
            own = counts[chunk.language]
            own.pairs[:] += found.rules[:, self.allowed]
            own.words[:, chunk.types] += found.words
            total += found.logarithm
        for own in counts:
            own.emits[:, 0], own.emits[:, 1] = own.words.sum(axis=1), own.pairs.sum(axis=1)
        if not math.isfinite(total):
            raise ArithmeticError("a sentence has no tree")
        return counts, total

    def finish(self, sweep: int) -> float:
        """The objective with the present parameters, and the parameters that follow; while it anneals, the value is
        none of the objective."""
        counts, value = self._counts(0.5 + 0.5 * sweep / self.annealing if sweep < self.annealing else 1.0)
        model = self.model
        if model.estimate == "em":
            self.grammars = [
                Grammar(*(_normalised(own, old) for own, old in zip(new, before, strict=True)))
                for new, before in zip(counts, self.grammars, strict=True)
            ]
            self.values = np.array([self.values[1], value])
            return value
        for grammar in self.grammars:
            value -= divergence(grammar.emits, self.common.emits) + divergence(grammar.pairs, self.common.pairs)
            value -= divergence(grammar.words, np.full((1, 1), model.word_prior))
        priors = ((model.emit_shape, model.emit_rate), (model.pair_shape, model.pair_rate))
        if model.estimate == "common":
            for rows, (shape, rate) in zip(self.common, priors, strict=True):
                value += float(((shape - 1) * np.log(rows) - rate * rows).sum())
                value += rows.size * (shape * math.log(rate) - math.lgamma(shape))
        self.grammars = [
            Grammar(self.common.emits + own.emits, self.common.pairs + own.pairs, model.word_prior + own.words)
            for own in counts
        ]
        if model.estimate == "common":
            self._move(priors)
        self.values = np.array([self.values[1], value if sweep >= self.annealing else np.nan])
        return value

    def _move(self, priors: Sequence[tuple[float, float]]) -> None:
        """Move the common grammar towards the rows of all languages."""
        moved = []
        for name, rows, (shape, rate) in zip(Common._fields, self.common, priors, strict=True):
            logs = sum(getattr(grammar.logs(), name) for grammar in self.grammars)
            for _ in range(self.model.common_steps):
                rows = dirichlet_step(rows, logs, len(self.grammars), shape, rate)
            moved.append(rows)
        self.common = Common(*moved)

    def converged(self) -> bool:
        """Whether the last iteration gained too little."""
        before, now = self.values.tolist()
        return now - before < self.model.tolerance * abs(before)

    def state(self) -> dict[str, np.ndarray]:
        return {
            "values": self.values,
            "common/emits": self.common.emits,
            "common/pairs": self.common.pairs,
            "emits": np.stack([each.emits for each in self.grammars]),
            "pairs": np.stack([each.pairs for each in self.grammars]),
            "words": np.concatenate([each.words for each in self.grammars], axis=1),
        }

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        if any(arrays[name].shape != own.shape for name, own in self.state().items()):
            raise ValueError("it does not fit the text")
        self.common, self.grammars = _restored(arrays, self.sizes)
        self.values = np.array(arrays["values"])

    def sample(self) -> dict[str, np.ndarray]:
        return self.state()


def _normalised(counts: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Rows of probabilities from counts; a row without counts stays as it was."""
    totals = counts.sum(axis=1, keepdims=True)
    return np.where(totals > 0, counts / np.where(totals > 0, totals, 1.0), before)


def _restored(arrays: Mapping[str, np.ndarray], sizes: Sequence[int]) -> tuple[Common, list[Grammar]]:
    bounds = np.cumsum([0, *sizes])
    grammars = [
        Grammar(np.array(arrays["emits"][i]), np.array(arrays["pairs"][i]),
                np.array(arrays["words"][:, bounds[i] : bounds[i + 1]]))
        for i in range(len(sizes))
    ]  # fmt: skip
    return Common(np.array(arrays["common/emits"]), np.array(arrays["common/pairs"])), grammars


def _declared(extra: Mapping[str, Any]) -> dict[str, Array]:
    names = extra.get("languages", [])
    if not isinstance(names, list) or not 1 <= len(names) <= _MOST or len(set(map(str, names))) < len(names):
        raise ValueError("it does not say which languages it has")
    vocabularies: dict[str, Array] = {}
    for number in range(len(names)):
        vocabularies |= vocab_arrays(f"language/{number}/", f"types{number}")
    return {**_STATE, **vocabularies, "history": Array("float64", ("sweeps",), finite=True), **TRAINING_ITEMS}


def _check(loaded: Container) -> None:
    arrays, k = loaded.arrays, loaded.settings.get("nonterminals")
    sizes = [len(arrays[f"language/{i}/offsets"]) for i in range(len(loaded.extra["languages"]))]
    pairs = k * k if not loaded.settings.get("root_once") else (k - 1) ** 2  # type: ignore[operator]
    fits = arrays["common/emits"].shape[0] == k and arrays["common/pairs"].shape[1] == pairs
    if not fits or sum(sizes) != arrays["words"].shape[1] or len(arrays["emits"]) != len(sizes):
        raise ValueError("its grammars do not fit its words")
    if any((arrays[name].sum(axis=-1) <= 0).any() for name in ("emits", "pairs", "common/emits", "common/pairs")):
        raise ValueError("a category has no rules")
    if not all(isinstance(name, str) and name.isprintable() and len(name) < 100 for name in loaded.extra["languages"]):
        raise ValueError("its languages have no names")


class CommonGrammar(CommonSettings, Model):
    """Grammars of several languages, and the common one.

    Learned: ``languages_``: their codes; ``vocabs_``: their words; ``common_``; ``grammars_``, parameters of posterior
    rows, or probabilities with EM (the first column of words is that of unknown ones); ``history_``: the objective by
    iteration, of the best start.
    """

    KIND: ClassVar[Kind] = Kind("grammar.common", 1, _declared, check=_check)
    SAVED: ClassVar = {
        "languages_": Fact("languages", list),
        "common_": Record(Common, "common/", copied=True),
        "history_": Arrays("history"),
    }
    needs_tags = False

    languages_: list[str] = learned()
    vocabs_: list[Vocab] = learned()
    common_: Common = learned()
    grammars_: list[Grammar] = learned()
    history_: np.ndarray = learned()
    language: str | None = None

    @property
    def allowed(self) -> np.ndarray:
        """The pairs B K + C that there are, int64 (n_pairs,)."""
        k = self.nonterminals
        first, second = np.divmod(np.arange(k * k), k)
        return np.flatnonzero((first > 0) & (second > 0)) if self.root_once else np.arange(k * k)

    def checkpoint(self, texts: Sequence[Corpus], path: Any, resume: bool = False) -> Checkpoint:
        """What keeps unfinished work on these texts."""
        signature = " ".join(text.signature() for text in texts)
        return Checkpoint(path, PARTIAL, self.settings, signature, resume=resume)

    def fit(
        self,
        texts: Sequence[Corpus],
        languages: Sequence[str] | None = None,
        *,
        starts: Sequence[np.ndarray] | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> Self:
        """Learn from texts, one a language; ``languages``: their codes; ``starts``: for each language how much each
        category is to each of its words at first, float64 (K, len(vocab)), see ``starts_from_groups``."""
        texts = [Corpus.checked(text) for text in texts]
        if self.estimate == "em" and self.annealing and self.origins["annealing"] == "given":
            raise SettingError("there is no annealing with --estimate em")
        self.languages_ = list(languages or (f"language{i + 1}" for i in range(len(texts))))
        if len(set(self.languages_)) < len(self.languages_) or len(self.languages_) != len(texts):
            raise SettingError("every text is of another language, with a code of its own")
        kept = [self._kept(text, name) for text, name in zip(texts, self.languages_, strict=True)]
        counts = [len(text) for text in kept]
        if max(counts) > 10 * min(counts):
            warn(f"from {min(counts):,} to {max(counts):,} sentences: every language counts once in the common grammar")
        cuts = [text.vocab.cut(self.min_count) for text in kept]
        recoded = [text.map_tokens(mapping, vocab) for text, (vocab, mapping) in zip(kept, cuts, strict=True)]
        self.vocabs_ = [text.vocab for text in recoded]
        sizes = [len(vocab) - FIRST + 1 for vocab in self.vocabs_]
        chunks = [
            chunk
            for number, text in enumerate(recoded)
            for chunk in chunks_of_language(number, [_slots(text.sentence(i)) for i in range(len(text))])
        ]
        words = [self._starting(start, text.vocab, vocab) for start, text, vocab in
                 zip(starts or (), kept, self.vocabs_, strict=True)] if starts is not None else []  # fmt: skip
        best: _Learner | None = None
        with workers(self.workers, self.cluster) as pool:
            held = pool.scatter(chunks)
            facts = {"categories": self.nonterminals}
            for restart in range(self.restarts):
                learner = _Learner(self, sizes, restart, words)
                learner.held, learner.chunks = held, chunks
                history = (checkpoint or Checkpoint()).run(
                    learner, learner.annealing + self.iterations, converged=learner.converged, lasting=True,
                    facts=facts, title=f"start {restart + 1} of {self.restarts}", note="objective {:.8g}",
                ).history[learner.annealing :, 0]  # fmt: skip
                if best is None or history[-1] > self.history_[-1]:
                    best, self.history_ = learner, history
        assert best is not None
        self.common_, self.grammars_ = best.common, best.grammars
        self.items_ = np.unique(np.concatenate([item_hashes(text) for text in kept]))
        self.provenance_ = {
            "languages": len(texts), "sentences": int(sum(counts)), "left_out": int(sum(map(len, texts)) - sum(counts)),
            "words": int(sum(text.n_tokens for text in kept)), "iterations": len(self.history_),
            "objective": float(self.history_[-1]),
        }  # fmt: skip
        return self

    def _kept(self, text: Corpus, name: str) -> Corpus:
        lengths = text.lengths
        good = (lengths > 0) & (lengths <= self.max_length)
        if not good.any():
            raise text.error(f"{name}: no sentence has from 1 to {self.max_length} words")
        return text.select(good).counted()

    def _starting(self, start: np.ndarray, old: Vocab, new: Vocab) -> np.ndarray:
        """What words are to categories at first, for the words that are kept."""
        rows = np.full((self.nonterminals, len(new) - FIRST + 1), 1.0)
        ids = [old.id(word) for word in new.strings[FIRST:]]
        rows[:, 1:] += start[:, ids]
        return rows

    # ---- sentences

    def language_of(self, corpus: Corpus) -> int:
        """Which language a text is in: the one that was asked for, or that knows most of its words."""
        if self.language is not None:
            if self.language not in self.languages_:
                raise SettingError(f"no language {self.language!r}; there are {', '.join(self.languages_)}")
            return self.languages_.index(self.language)
        known = [float((vocab.mapping_from(corpus.vocab)[corpus.tokens] >= FIRST).sum()) for vocab in self.vocabs_]
        return int(np.argmax(known))

    def _seen(self, corpus: Corpus) -> tuple[Weights, np.ndarray, np.ndarray]:
        """Mean probabilities of the text's language, the slots of its words, where sentences begin."""
        number = self.language_of(corpus)
        tokens = self.vocabs_[number].mapping_from(corpus.vocab)[corpus.tokens]
        return Weights.of(self.grammars_[number].means(), self.allowed), _slots(tokens), corpus.sentence_starts

    def sentence_probability(self, corpus: Corpus) -> np.ndarray:
        """Log probabilities of sentences, over all their trees, float64 (n_sentences,); 0 for empty ones."""
        weights, slots, starts = self._seen(corpus)
        logs, lengths = np.zeros(len(starts) - 1), np.diff(starts)
        for n in np.unique(lengths[lengths > 0]).tolist():
            which = np.flatnonzero(lengths == n)
            words = np.stack([slots[starts[i] : starts[i + 1]] for i in which.tolist()])
            logs[which] = inside_outside(weights.leaves[words], weights.rules, np.ones(len(which))).logarithms
        return logs

    def perplexity(self, corpus: Corpus) -> float:
        """exp of minus the mean log probability of a word."""
        return math.exp(-float(self.sentence_probability(corpus).sum()) / max(1, corpus.n_tokens))

    def parse(self, corpus: Corpus, tags: Sequence[Sequence[str]] | None = None) -> Parsed:
        """The most probable trees of sentences; categories are numbers, 0 the root; how likely each span is."""
        weights, slots, starts = self._seen(corpus)
        bounds = chunks_of(np.diff(starts) ** 3 + 1, _WORK).tolist()
        jobs = ((slots[starts[a] : starts[b]], starts[a : b + 1] - starts[a], weights) for a, b in pairwise(bounds))
        found = list(self.spread(_parse, jobs))
        nodes = [each for chunk in found for each in chunk[0]]
        logs, sure = (np.concatenate([np.zeros(0), *(chunk[i] for chunk in found)]) for i in (1, 2))
        trees = trees_from(nodes, corpus, [str(number) for number in range(self.nonterminals)])
        return Parsed(trees, sure, logs, np.zeros(len(logs), bool))

    def marginals(
        self, corpus: Corpus, least: float = 0.01, tags: Sequence[Sequence[str]] | None = None
    ) -> list[list[Constituent]]:
        """Of each sentence the spans of its tree that are at least so likely, over all trees."""
        parsed = self.parse(corpus)
        labels, spans = parsed.trees.labels.strings(), parsed.trees.spans.tolist()
        each = zip(labels, spans, parsed.confidence.tolist(), strict=True)
        rows = [Constituent(name, first, end, sure) for name, (first, end), sure in each]
        bounds = pairwise(parsed.trees.tree_starts.tolist())
        return [[row for row in rows[a:b] if row.share >= least] for a, b in bounds]

    def best_trees(self, corpus: Corpus, k: int, tags: Sequence[Sequence[str]] | None = None) -> list[Parsed]:
        """There is one tree of each sentence only."""
        raise SettingError("a common grammar gives one tree a sentence: there are no n best")

    def probability(self, trees: Trees) -> np.ndarray:
        """There are no probabilities of given trees."""
        raise SettingError("a common grammar has other categories than these trees: give it text")

    # ---- files

    def _arrays(self) -> dict[str, np.ndarray]:
        arrays = {
            **super()._arrays(),
            "emits": np.stack([each.emits for each in self.grammars_]),
            "pairs": np.stack([each.pairs for each in self.grammars_]),
            "words": np.concatenate([each.words for each in self.grammars_], axis=1),
        }  # fmt: skip
        for number, vocab in enumerate(self.vocabs_):
            arrays |= vocab.arrays(f"language/{number}/")
        return arrays

    def _restore(self, loaded: Container) -> None:
        super()._restore(loaded)
        self.vocabs_ = [Vocab.from_arrays(loaded.arrays, f"language/{i}/") for i in range(len(self.languages_))]
        sizes = [len(vocab) - FIRST + 1 for vocab in self.vocabs_]
        self.grammars_ = _restored(loaded.arrays, sizes)[1]


def _parse(
    job: tuple[np.ndarray, np.ndarray, Weights], model: CommonGrammar
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Nodes of each sentence's best tree, its log probability, and how likely each node's span is."""
    slots, starts, weights = job
    lengths, k = np.diff(starts), model.nonterminals
    parents, pairs = np.divmod(np.arange(k**3), k * k)
    order = np.lexsort((parents, pairs))
    with np.errstate(divide="ignore"):
        logs = np.log(weights.rules).ravel()[order]
        leaves = np.log(weights.leaves[slots])
    good = np.isfinite(logs)
    left, right = np.divmod(pairs[order][good], k)
    rules = rules_for(parents[order][good], left, right, logs[good], k)
    root = np.full(k, -np.inf)
    root[0] = 0.0
    sizes = np.maximum(2 * lengths - 1, 0)
    nodes, scores = np.zeros((int(sizes.sum()), 3), np.int32), np.zeros(len(lengths))
    best_labelled(leaves, starts, rules, root, nodes, scores)
    cut = np.cumsum([0, *sizes]).tolist()
    trees = [nodes[a:b] for a, b in pairwise(cut)]
    sure = np.zeros(len(nodes))
    for n in np.unique(lengths[lengths > 0]).tolist():
        which = np.flatnonzero(lengths == n)
        words = np.stack([slots[starts[i] : starts[i + 1]] for i in which.tolist()])
        spans = inside_outside(weights.leaves[words], weights.rules, np.ones(len(which)), spans=True).spans
        for column, i in enumerate(which.tolist()):
            sure[cut[i] : cut[i + 1]] = spans[cell_numbers(n, trees[i][:, 1], trees[i][:, 2]), column]
    return trees, scores, np.minimum(sure, 1.0)


def _slots(tokens: np.ndarray) -> np.ndarray:
    """Columns of words: 0 for unknown ones."""
    return np.maximum(tokens - (FIRST - 1), 0).astype(np.int32)


def starts_from_groups(groups: np.ndarray, categories: int, seed: int, language: int) -> np.ndarray:
    """What words are to categories at first, all words of a group alike: ``groups`` int64 (n_words,), -1 for none;
    float64 (categories, n_words)."""
    n = int(groups.max(initial=-1)) + 1
    draws = stream(seed, purpose_id("grammar.common.groups"), 0, language)
    rows = _dirichlet(categories, max(1, n), 0.3, draws) * max(1, n)
    return np.where(groups >= 0, rows[:, np.maximum(groups, 0)], 0.0)


def starts_from_tags(bank: Treebank, categories: int, tags: Sequence[str]) -> np.ndarray:
    """What words are to categories at first, by how often they have each tag: tag number t is category t + 1, the same
    in all languages; float64 (categories, len(vocab))."""
    if len(tags) + 1 > categories:
        raise SettingError(f"{len(tags)} tags need {len(tags) + 1} nonterminals")
    names = {tag: number + 1 for number, tag in enumerate(tags)}
    numbers = np.array([names.get(tag, 0) for tag in bank.tags.values])[bank.tags.ids]
    rows = np.zeros((categories, len(bank.corpus.vocab)))
    np.add.at(rows, (numbers, bank.corpus.tokens), 1.0)
    rows[0] = 0.0
    return 10.0 * rows
