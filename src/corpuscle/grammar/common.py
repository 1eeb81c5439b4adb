"""CommonGrammar: one grammar for each of several languages, learned from their raw sentences, and what they share.

The texts are no translations of each other and have neither tags nor trees. Categories have the same numbers in all
languages, since they begin with one random common grammar and differ only in their words; see ``variational`` for the
model. Category 0 is the root.

A common grammar says which rules languages share, the words of its categories in every language, and how far languages
deviate. The common probability of A -> B C is the prior mean alpha_A1 / (alpha_A0 + alpha_A1) beta_ABC / sum beta_A;
the strength of A, sum beta_A, says how much the languages agree on it. Languages differ by how they branch: their
distance is the Jensen-Shannon divergence of their rows phi_lA, the categories weighted by how often the two use them; a
tree joins the nearest ones first (average linkage).

Iwata, Mochihashi and Sawada, "Learning common grammar from multilingual corpus", 2010.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from corpuscle.engine.dp import cky
from corpuscle.engine.dp.dense import inside_outside
from corpuscle.errors import SettingError, warn
from corpuscle.grammar.base import Constituent, Parsed
from corpuscle.grammar.settings import CommonSettings
from corpuscle.grammar.tables import trees_from
from corpuscle.grammar.variational import (
    STATE,
    Common,
    Grammar,
    GrammarLearner,
    Weights,
    arrays_of,
    chunks_of_language,
    dirichlet_rows,
    restored_grammars,
)
from corpuscle.learning import Checkpoint, partial
from corpuscle.model import TRAINING_ITEMS, Array, Arrays, Container, Fact, Kind, Model, vocab_arrays
from corpuscle.random import purpose_id, stream
from corpuscle.scale import chunks_of, starts_of, workers
from corpuscle.settings import learned
from corpuscle.text.corpus import Corpus
from corpuscle.text.heldout import item_hashes
from corpuscle.text.treebank import Treebank
from corpuscle.text.trees import Trees
from corpuscle.text.vocab import FIRST, Vocab

_MOST, _MOST_SURPRISED = 200, 700.0
"""Languages; nats per word of which exp is a float."""
_WORK = 100_000
"""The sum of cubed lengths of a chunk of sentences to parse."""
PARTIAL = partial("grammar.common", *[{**STATE, "values": Array("float64", (2,))}] * 100)


def _declared(extra: Mapping[str, Any]) -> dict[str, Array]:
    names = extra.get("languages", [])
    if not isinstance(names, list) or not 1 <= len(names) <= _MOST or len(set(map(str, names))) < len(names):
        raise ValueError("it does not say which languages it has")
    # Side by side for each language: unknown words, then its types.
    words = replace(STATE["words"], parts=tuple(f"types{number}+1" for number in range(len(names))))
    declared = {**STATE, "words": words, "history": Array("float64", ("sweeps",), finite=True), **TRAINING_ITEMS}
    for number in range(len(names)):
        declared |= vocab_arrays(f"language/{number}/", f"types{number}")
    return declared


def _check(loaded: Container) -> None:
    arrays, k = loaded.arrays, loaded.settings.get("nonterminals")
    pairs = k * k if not loaded.settings.get("root_once") else (k - 1) ** 2  # type: ignore[operator]
    fits = arrays["common/emits"].shape[0] == k and arrays["common/pairs"].shape[1] == pairs
    if not fits or len(arrays["emits"]) != len(loaded.extra["languages"]):
        raise ValueError("its grammars do not fit its languages")
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
        pairs = zip(starts, kept, self.vocabs_, strict=True) if starts is not None else ()
        words = []
        for start, text, vocab in pairs:  # of the words that are kept; the first column is that of unknown ones
            ids = [text.vocab.id(word) for word in vocab.strings[FIRST:]]
            words.append(np.column_stack([np.ones(self.nonterminals), 1.0 + start[:, ids]]))
        best: GrammarLearner | None = None
        with workers(self.workers, self.cluster) as pool:
            held = pool.scatter(chunks)
            facts = {"categories": self.nonterminals}
            for restart in range(self.restarts):
                learner = GrammarLearner(self, sizes, restart, words)
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
        logs = np.zeros(len(starts) - 1)
        for which, words in _by_length(slots, starts):
            logs[which] = inside_outside(weights.leaves[words], weights.rules, np.ones(len(which))).logarithms
        return logs

    def perplexity(self, corpus: Corpus) -> float:
        """exp of minus the mean log probability of a word."""
        surprisal = -float(self.sentence_probability(corpus).sum()) / max(1, corpus.n_tokens)
        return math.exp(surprisal) if surprisal < _MOST_SURPRISED else math.inf

    def parse(self, corpus: Corpus, tags: Sequence[Sequence[str]] | None = None) -> Parsed:
        """The most probable trees of sentences; categories are numbers, 0 the root; how likely each span is."""
        weights, slots, starts = self._seen(corpus)
        bounds = chunks_of(np.diff(starts) ** 3 + 1, _WORK).tolist()
        jobs = ((slots[starts[a] : starts[b]], starts[a : b + 1] - starts[a], weights) for a, b in pairwise(bounds))
        found = list(self.spread(_parse, jobs))
        nodes = [each for chunk in found for each in chunk[0]]
        logs, sure = (np.concatenate([np.zeros(0), *(chunk[i] for chunk in found)]) for i in (1, 2))
        trees = trees_from(nodes, corpus, [str(number) for number in range(self.nonterminals)])
        return Parsed(trees, sure, logs, logs == -np.inf)

    def marginals(
        self, corpus: Corpus, least: float = 0.01, tags: Sequence[Sequence[str]] | None = None
    ) -> list[list[Constituent]]:
        """Of each sentence the spans of its tree that are at least so likely, over all trees."""
        return self.parse(corpus).constituents(least)

    def best_trees(self, corpus: Corpus, k: int, tags: Sequence[Sequence[str]] | None = None) -> list[Parsed]:
        raise SettingError("a common grammar gives one tree a sentence: there are no n best")

    def probability(self, trees: Trees) -> np.ndarray:
        raise SettingError("a common grammar has other categories than these trees: give it text")

    # ---- files

    def _arrays(self) -> dict[str, np.ndarray]:
        arrays = {**super()._arrays(), **arrays_of(self.common_, self.grammars_)}
        for number, vocab in enumerate(self.vocabs_):
            arrays |= vocab.arrays(f"language/{number}/")
        return arrays

    def _restore(self, loaded: Container) -> None:
        super()._restore(loaded)
        self.vocabs_ = [Vocab.from_arrays(loaded.arrays, f"language/{i}/") for i in range(len(self.languages_))]
        sizes = [len(vocab) - FIRST + 1 for vocab in self.vocabs_]
        self.common_, self.grammars_ = restored_grammars(loaded.arrays, sizes)


def _parse(
    job: tuple[np.ndarray, np.ndarray, Weights], model: CommonGrammar
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Nodes of each sentence's best tree, its log probability, and how likely each node's span is. A sentence without
    any has a flat tree, of log probability -inf."""
    slots, starts, weights = job
    lengths, k = np.diff(starts), model.nonterminals
    parents, pairs = np.divmod(np.arange(k**3), k * k)
    order = np.lexsort((parents, pairs))
    with np.errstate(divide="ignore"):
        logs = np.log(weights.rules).ravel()[order]
        leaves = np.log(weights.leaves[slots])
    good = np.isfinite(logs)
    left, right = np.divmod(pairs[order][good], k)
    rules = cky.rules_for(parents[order][good], left, right, logs[good], k)
    root = np.full(k, -np.inf)
    root[0] = 0.0
    trees, scores = [np.zeros((max(2 * n - 1, 0), 3), np.int32) for n in lengths.tolist()], np.zeros(len(lengths))
    chart = cky.chart_for(int(lengths.max()), k)
    for i, n in enumerate(lengths.tolist()):
        if n:
            words = leaves[starts[i] : starts[i + 1]]
            scores[i] = cky.best_chart(n, rules, root, words, cky.NO_SPANS, cky.ALL, chart)
            if not cky.best_tree(n, rules, root, chart, trees[i]):
                rows = [(symbol, k, k + 1) for k, symbol in enumerate(words.argmax(axis=1).tolist())]
                trees[i] = np.array([(0, 0, n), *rows] if n > 1 else rows, np.int32)
    cut = starts_of(map(len, trees)).tolist()
    sure = np.zeros(cut[-1])
    for which, words in _by_length(slots, starts):
        n = words.shape[1]
        spans = inside_outside(weights.leaves[words], weights.rules, np.ones(len(which)), spans=True).spans
        for column, i in enumerate(which.tolist()):
            sure[cut[i] : cut[i + 1]] = spans[cky.cell_numbers(n, trees[i][:, 1], trees[i][:, 2]), column]
    return trees, scores, np.minimum(sure, 1.0)


def _by_length(slots: np.ndarray, starts: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Sentences of equal length together: their numbers, and their words (n_sentences, length)."""
    lengths = np.diff(starts)
    for n in np.unique(lengths[lengths > 0]).tolist():
        which = np.flatnonzero(lengths == n)
        yield which, slots[starts[which][:, None] + np.arange(n)]


def _slots(tokens: np.ndarray) -> np.ndarray:
    """Columns of words: 0 for unknown ones."""
    return np.maximum(tokens - (FIRST - 1), 0).astype(np.int32)


def starts_from_groups(groups: np.ndarray, categories: int, seed: int, language: int) -> np.ndarray:
    """Start values float64 (categories, n_words), equal within each of ``groups``, int64 (n_words,), -1 for none."""
    n = int(groups.max(initial=-1)) + 1
    draws = stream(seed, purpose_id("grammar.common.groups"), 0, language)
    rows = dirichlet_rows(categories, max(1, n), 0.3, draws) * max(1, n)
    return np.where(groups >= 0, rows[:, np.maximum(groups, 0)], 0.0)


def starts_from_tags(bank: Treebank, categories: int, tags: Sequence[str]) -> np.ndarray:
    """Start values float64 (categories, len(vocab)), from how often words have each tag: tag number t is category t + 1
    in all languages."""
    if len(tags) + 1 > categories:
        raise SettingError(f"{len(tags)} tags need {len(tags) + 1} nonterminals")
    names = {tag: number + 1 for number, tag in enumerate(tags)}
    numbers = np.array([names.get(tag, 0) for tag in bank.tags.values])[bank.tags.ids]
    rows = np.zeros((categories, len(bank.corpus.vocab)))
    np.add.at(rows, (numbers, bank.corpus.tokens), 1.0)
    rows[0] = 0.0
    return 10.0 * rows


# ---- what a common grammar says


class CommonRule(NamedTuple):
    """A rule of the common grammar: categories, its probability, how much languages agree on its parent, and for each
    language an example: a typical word of either child."""

    parent: int
    left: int
    right: int
    probability: float
    strength: float
    examples: dict[str, str]


def category_words(model: CommonGrammar, most: int = 10) -> list[dict[str, list[str]]]:
    """The most probable words of each category in each language; none where it emits less than one word."""
    table: list[dict[str, list[str]]] = [{} for _ in range(model.nonterminals)]
    for name, vocab, grammar in zip(model.languages_, model.vocabs_, model.grammars_, strict=True):
        means = grammar.means().words
        prior = 0.0 if model.estimate == "em" else model.word_prior
        said = (grammar.words - prior).sum(axis=1)
        for category in range(model.nonterminals):
            order = np.argsort(-means[category, 1:], kind="stable")[:most]
            good = order[grammar.words[category, 1:][order] > 2 * prior]
            words = [vocab.strings[i + FIRST] for i in good.tolist()]
            table[category][name] = words if said[category] >= 1.0 or model.estimate == "em" else []
    return table


def common_rules(model: CommonGrammar, most: int = 30) -> list[CommonRule]:
    """The most probable rules of the common grammar that some language uses, by how often all use them."""
    common, k = model.common_, model.nonterminals
    branch = common.emits[:, 1] / common.emits.sum(axis=1)
    strength = common.pairs.sum(axis=1)
    probability = branch[:, None] * common.pairs / strength[:, None]
    used = np.mean([(each.emits[:, 1:] * each.means().pairs) for each in model.grammars_], axis=0)
    words = category_words(model, 1)
    rules = []
    for at in np.argsort(-used.ravel(), kind="stable")[:most].tolist():
        parent, column = divmod(at, len(model.allowed))
        left, right = divmod(int(model.allowed[column]), k)
        examples = {
            name: " ".join(first[0] if (first := words[child][name]) else f"<{child}>" for child in (left, right))
            for name in model.languages_
        }
        rules.append(
            CommonRule(parent, left, right, float(probability[parent, column]), float(strength[parent]), examples)
        )
    return rules


def _rows(model: CommonGrammar) -> tuple[np.ndarray, np.ndarray]:
    """Mean branching rows of each language (L, K, n_pairs), and how often each category branches (L, K)."""
    prior = 0.0 if model.estimate == "em" else model.common_.emits[:, 1]
    used = np.array([np.maximum(each.emits[:, 1] - prior, 0.0) for each in model.grammars_])
    shares = used / np.maximum(used.sum(axis=1, keepdims=True), 1e-300)
    return np.array([each.means().pairs for each in model.grammars_]), shares


def _divergence(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """KL of rows (K, n), summed over the last axis."""
    good = one > 0
    return np.where(good, one * np.log(np.where(good, one, 1.0) / np.where(good, other, 1.0)), 0.0).sum(axis=-1)


def deviations(model: CommonGrammar) -> dict[str, float]:
    """How far the branching of each language is from the common one: KL, by how often it uses each category."""
    rows, used = _rows(model)
    mean = model.common_.pairs / model.common_.pairs.sum(axis=1, keepdims=True)
    return {name: float(used[i] @ _divergence(rows[i], mean)) for i, name in enumerate(model.languages_)}


def language_distances(model: CommonGrammar) -> np.ndarray:
    """Distances between languages, float64 (L, L)."""
    rows, used = _rows(model)
    n = len(rows)
    table = np.zeros((n, n))
    for a in range(n):
        for b in range(a):
            middle = (rows[a] + rows[b]) / 2
            both = (_divergence(rows[a], middle) + _divergence(rows[b], middle)) / 2
            table[a, b] = table[b, a] = (used[a] + used[b]) / 2 @ both
    return table


def language_tree(model: CommonGrammar) -> str:
    """The tree of languages in Newick's notation, nearest first."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    names = list(model.languages_)
    if len(names) == 1:
        return f"{names[0]};"
    for one, other, height, _ in linkage(squareform(language_distances(model)), "average").tolist():
        names.append(f"({names[int(one)]},{names[int(other)]}):{height:.4f}")
    return f"{names[-1].rpartition(':')[0]};"
