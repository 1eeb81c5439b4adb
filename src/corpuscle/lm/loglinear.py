"""Log-linear language models on suffix trees: smoothing by a convex penalty instead of hand-made discounts.

Every context of a history adds a learned weight to the scores of the words that have followed it, and the penalty
decides how long contexts may become: a tree penalty takes back whole subtrees of longer contexts at once (see
``lm.kernels.proximal``; loss and gradient: ``lm.kernels.loglinear``; how weights are found: ``lm.loglinear_fitting``).

Such a model is a back-off model, exactly. Let Z(s) be the normaliser of the longest context s of a history. A word that
followed s has the score of that n-gram, any other the score that it has in the longest shorter context, so

    log P(v | s) = score(s v) - log Z(s),   weight of backing off from s = Z(s without its oldest word) / Z(s)

Where a context adds nothing to any word, its n-grams can be left out without a change, and they are: the file has the
n-grams that add something, and what they need. So reading text, decoders and ARPA files come for free.

Nelakanti, Archambeau, Mairal, Bach and Bouchard, "Structured penalties for log-linear language models", 2013.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from corpuscle import learning
from corpuscle import model as container
from corpuscle.compiled import frozen
from corpuscle.engine.ngrams.smoothing import kept_rows
from corpuscle.engine.ngrams.trie import Ngrams, frozen_ngrams, frozen_tables, look_up, suffixes_of
from corpuscle.errors import SettingError, warn
from corpuscle.learning import Checkpoint
from corpuscle.lm import loglinear_fitting as trials
from corpuscle.lm.base import Events, LanguageModel
from corpuscle.lm.kernels.loglinear import collapsed, longest_matches, score_rows, suffix_trie, with_all_words
from corpuscle.lm.ngram import ROWS, NgramModel, check_rows, consistent
from corpuscle.lm.settings import AUTO, LogLinearSettings
from corpuscle.settings import learned
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import END, START, Vocab

DEFAULTS = {"l1": (0.7, 1.0), "l2": (0.25, 1.0), "tree-l2": (0.85, 1.1), "tree-linf": (0.85, 1.0)}
"""Strength and weight by depth of each penalty where none is given and there is nothing to choose on."""
_HIGHEST = 500.0
"""Scores above this are not computed with."""
_MOST_ENTRIES = 1 << 28
_MOST_TRIALS = 100

_ARRAYS = {
    **container.VOCAB,
    **container.ITEMS,
    **{name: array for name, array in ROWS.items() if name != "suffix"},
    "added": container.Array("float64", ("rows",), low=-_HIGHEST, high=_HIGHEST, finite=True),
    "history": container.Array("float64", ("blocks", trials.COLUMNS), finite=True),
}


class LogLinearModel(LogLinearSettings, LanguageModel):
    """A log-linear language model.

    Learned: ``vocab_``, ``added_`` float64 (rows,): what every n-gram adds to the score of its last word, over the trie
    ``ngrams_`` (without counts); ``strength_``, ``weighted_``; ``history_`` float64 (blocks, 4): strength, weight by
    depth, objective and, if there was a development text, its log probability a word, after each ten passes.
    """

    TUNES = True
    PARTIAL = learning.partial("lm.loglinear", trials.STATE)
    STARTS = True
    KIND: ClassVar[container.Kind] = container.Kind("lm.loglinear", 1, _ARRAYS, check=lambda loaded: _check(loaded))
    SAVED: ClassVar = {"vocab_": container.Record(Vocab), "history_": container.Arrays("history")}

    ngrams_: Ngrams = learned()
    added_: np.ndarray = learned()
    history_: np.ndarray = learned()

    def fit(
        self, corpus: Corpus, dev: Corpus | None = None, *, checkpoint: Checkpoint | None = None,
        start: LogLinearModel | None = None,
    ) -> LogLinearModel:  # fmt: skip
        """Learn from a text; with a development text choose strength and weight by depth, unless they are given, and
        when to stop. ``start``: begin with the weights of another model, which keeps its words: the text may have grown
        since, or the order. ``checkpoint`` keeps unfinished work."""
        tuned = self._tuned(dev is not None)
        shape = self._shape(self._first()[1])
        if self.collapse == "yes" and (reason := trials.may_collapse(shape)):
            raise SettingError(f"collapse yes is not exact here: {reason}")
        corpus = self._take(corpus)
        if start is not None:
            corpus, self.vocab_ = corpus.recode(start.vocab_), start.vocab_
        ngrams = self._counting(corpus)()
        self.stays_here("gradients are added up over one tree")
        if (longest := int(np.count_nonzero(np.diff(ngrams.levels)))) < self.order:
            warn(f"no sentence is long enough for order {self.order}: the longest n-gram has {longest} words")
        if self.signed > 1:
            most = (int(ngrams.levels[self.signed - 1]) + 1) * len(self.vocab_)
            if most > _MOST_ENTRIES:
                fewer = f"signed 1 has {len(self.vocab_):,}, and a higher min_count fewer"
                raise SettingError(f"signed {self.signed} would have up to {most:,} weights; {fewer}")
            ngrams = with_all_words(ngrams, self.signed)
        tree = suffix_trie(ngrams, self._predictable)
        # A weight that is to be chosen may need the trie, so a tree that is collapsed has to be good for all of them.
        strictest = shape._replace(weighted=0.5) if tuned[1] else shape
        if self.collapse != "no" and not trials.may_collapse(strictest):
            tree = collapsed(tree)
        text = None if dev is None else trials.Development(
            ngrams, self._symbols(self._take_dev(dev)), self._predictable, *self._ends
        )  # fmt: skip

        def make(strength: float, weighted: float) -> trials.Objective:
            uniform = self.estimator == "stochastic"
            shape = self._shape(weighted)
            return trials.Objective(tree, self._predictable, shape, strength, uniform=uniform, threads=self.threads)

        batches = None
        if self.estimator == "stochastic":
            entries = longest_matches(ngrams, self._symbols(corpus), *self._ends)[1]
            batches = trials.Batches(tree.entry_of[entries[entries >= 0]], self.batch_tokens, self.seed)
        weights = np.zeros(tree.n_entries)
        if start is not None:
            weights[tree.entry_of] = start.carried(ngrams) / make(*self._first()).row_slopes
        search = trials.Search(self._first(), tuned, self.passes, self.tolerance, self.early)
        fitting = trials.Fitting(make, weights, search, text, batches, self.steepness, self.noise)
        begun = "" if start is None else blake2b(start.added_.tobytes(), digest_size=16).hexdigest()
        facts = {"entries": tree.n_entries, "dev": "" if dev is None else dev.signature(), "start": begun}
        blocks = -(-self.passes // trials.BLOCK) * (_MOST_TRIALS if any(tuned) else 1)
        self.history_ = (checkpoint or Checkpoint()).run(
            fitting, blocks, columns=trials.COLUMNS, facts=facts, converged=lambda: search.over,
            title="passes by tens", note="strength {:.3g}, weighted {:.3g}, objective {:.5f}, development {:.4f}",
        ).history  # fmt: skip
        self._keep(ngrams, fitting)
        return self

    @property
    def _ends(self) -> tuple[int, int]:
        """The symbols that begin and end sentences, or none."""
        return (START, END) if self.boundary != "none" else (-1, -1)

    def _first(self) -> tuple[float, float]:
        """Strength and weight by depth of the first trial."""
        given = zip((self.strength, self.weighted), DEFAULTS[self.penalty], strict=True)
        strength, weighted = (value if isinstance(value, float) else usual for value, usual in given)
        return strength, weighted

    def _shape(self, weighted: float) -> trials.Shape:
        return trials.Shape(self.penalty, weighted, self.weighting, self.signed)

    def _tuned(self, has_dev: bool) -> tuple[bool, bool]:
        """Whether strength and weight by depth are to be chosen."""
        if not has_dev and AUTO in (self.strength, self.weighted):
            raise SettingError("strength or weighted auto needs a development text to choose on")
        return has_dev and not isinstance(self.strength, float), has_dev and not isinstance(self.weighted, float)

    def _keep(self, ngrams: Ngrams, fitting: trials.Fitting) -> None:
        """Become what was found: the n-grams that add something to scores."""
        search = fitting.search
        self.strength_, self.weighted_ = search.best[1]
        objective = fitting.make(self.strength_, self.weighted_)
        for name, tuned, value in zip(("strength", "weighted"), search.tuned, search.best[1], strict=True):
            if tuned:
                self.chosen_[name] = round(value, 6)
        added = objective.added(fitting.best)
        self.provenance_ |= {"parameters": objective.tree.n_entries, "nonzero": int(np.count_nonzero(fitting.best))}
        if _highest(ngrams.levels, added) > _HIGHEST:
            raise SettingError("scores are too large to be computed with; a higher strength keeps them smaller")
        shape, kept = kept_rows(ngrams, added != 0.0)
        self._set(*shape, added[kept])

    def _set(self, levels: np.ndarray, words: np.ndarray, first_child: np.ndarray, added: np.ndarray) -> None:
        suffix = suffixes_of(words, first_child)
        self.ngrams_ = frozen_ngrams(levels, words, first_child, suffix, np.zeros(len(words), np.int32))
        self.added_ = frozen(added, np.float64)

    def carried(self, ngrams: Ngrams) -> np.ndarray:
        """What each of some n-grams in our words adds to scores: float64 (rows,); those that are new to us nothing."""
        added, levels = np.zeros(len(ngrams.words)), self.ngrams_.levels.tolist()
        added[: levels[1]] = self.added_[: levels[1]]
        contexts = np.repeat(np.arange(len(self.ngrams_.first_child) - 1), np.diff(self.ngrams_.first_child))
        before = np.arange(levels[1])[:, None]
        for m in range(2, min(self.ngrams_.order, ngrams.order) + 1):
            here = slice(levels[m - 1], levels[m])
            above = contexts[here.start - levels[1] : here.stop - levels[1]] - levels[m - 2]
            before = np.column_stack([before[above], self.ngrams_.words[here]])
            found = look_up(ngrams, before)
            added[found[found >= 0]] = self.added_[here][found >= 0]
        return added

    @cached_property
    def _ngram_model(self) -> NgramModel:
        ngrams = self.ngrams_
        scores, totals = np.empty(len(self.added_)), np.empty(len(ngrams.first_child))
        base = frozen(np.where(self._predictable, 0.0, -np.inf), np.float64)
        score_rows(ngrams, self.added_, base, scores, totals)
        contexts, n_types = len(ngrams.first_child) - 1, int(ngrams.levels[1])
        scores[:n_types] -= totals[-1]
        scores[n_types:] -= np.repeat(totals[:-1], np.diff(ngrams.first_child))
        backoff = totals[ngrams.suffix[:contexts]] - totals[:contexts]  # a suffix of -1 finds the empty context
        tables = frozen_tables(ngrams.levels, ngrams.words, ngrams.first_child, ngrams.suffix, scores, backoff)
        return NgramModel.imitating(self, consistent(tables, "the weights of this model leave nothing to some context"))

    def check_arpa(self) -> None:
        self._check_boundary()

    def as_ngram(self) -> NgramModel:
        self.check_arpa()
        return self._ngram_model

    def weights(self, words: Sequence[str] = ()) -> Iterator[tuple[tuple[str, ...], str, float]]:
        """Contexts, words and what they add to the score, the largest first; of some words alone, if they are given."""
        if unknown := [word for word in words if word not in self.vocab_]:
            raise SettingError(f"the model does not know {unknown[0]}")
        ids = self.vocab_.encode(list(words)) if words else None
        contexts = np.repeat(np.arange(len(self.ngrams_.first_child) - 1), np.diff(self.ngrams_.first_child))
        for row in np.argsort(-self.added_, kind="stable").tolist():
            if self.added_[row] == 0.0 or (ids is not None and self.ngrams_.words[row] not in ids):
                continue
            context, at = [], row
            while at >= self.ngrams_.levels[1]:
                at = int(contexts[at - self.ngrams_.levels[1]])
                context.append(self.vocab_.word(int(self.ngrams_.words[at])))
            yield tuple(reversed(context)), self.vocab_.word(int(self.ngrams_.words[row])), float(self.added_[row])

    def summary(self) -> dict[str, Any]:
        """Penalty, what was chosen, how many weights there are and how many are not zero, the end of the history."""
        blocks = np.unique(self.history_[:, :2], axis=0, return_counts=True)[1]
        return {
            "order": self.order_,
            "penalty": self.penalty,
            "strength": self.strength_,
            "weighted": self.weighted_,
            "parameters": self.provenance_["parameters"],
            "nonzero": self.provenance_["nonzero"],
            "ngrams": np.diff(self.ngrams_.levels).tolist(),
            "passes": int(np.minimum(trials.BLOCK * blocks, self.passes).sum()),
            "objective": float(self.history_[-1, 2]),
        }

    def _events(self, corpus: Corpus) -> Events:
        return self._ngram_model._events(corpus)

    def _distribution(self, context: list[str]) -> np.ndarray:
        return self._ngram_model.distribution(context)

    def _arrays(self) -> dict[str, np.ndarray]:
        ngrams = {name: getattr(self.ngrams_, name) for name in ("levels", "words", "first_child")}
        return {**super()._arrays(), **ngrams, "added": self.added_}

    def _restore(self, loaded: container.Container) -> None:
        super()._restore(loaded)
        self._set(*(loaded.arrays[name] for name in ("levels", "words", "first_child", "added")))


def _check(loaded: container.Container) -> None:
    check_rows(loaded)
    model = LogLinearModel.restored(loaded.described)
    if len(loaded.arrays["levels"]) - 1 > model.order:
        raise ValueError("its n-grams do not fit its order")
    if _highest(loaded.arrays["levels"], loaded.arrays["added"]) > _HIGHEST:
        raise ValueError("its weights add up to more than can be computed with")


def _highest(levels: np.ndarray, added: np.ndarray) -> float:
    """A bound of all scores: the sum of the largest weights of all orders."""
    return sum(float(np.abs(added[first:last]).max(initial=0.0)) for first, last in pairwise(levels.tolist()))
