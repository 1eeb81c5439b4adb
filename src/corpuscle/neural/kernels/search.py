"""From the scores of an output layer to hypotheses: softmax with the k best classes in one pass, a step of beam search.

Hoang, Dwojak, Krislauks, Torregrosa and Heafield, "Fast neural machine translation implementation", 2018, sections 3.1
and 3.3.

**Bias, softmax and the k best.** For a row of scores p and a bias b, let x_i = p_i + b_i. Done one after the other,
bias, maximum, sum, division and search read the row five times. The sum of a softmax can be kept relative to the
largest x so far, M: when M grows to M', sum_i e^(x_i - M') = e^(M - M') sum_i e^(x_i - M). (The listing of the paper
multiplies by M - M' itself; its own derivation has the exponential.) So one pass keeps M, the sum S and the k largest
x, and at its end log p(i) = x_i - M - log S. Blocks of 1,024 classes are added, largest score first found, then summed,
then searched only if they have something above the k-th best so far, so that all loops vectorise.

What is known of a piece of a row is (M, S, k best); two pieces join to one by the same identity (``merge``), which is
associative and commutative, with (-inf, 0, nothing) as its identity. So a row may be cut into shards, and the scores
of a large layer need never stand in memory all at once: ``absorb`` takes them a block of classes after the other.

Among equal scores the smaller class comes first. A score -inf forbids a class; NaN is an error.

**Beam search.** Rows are the live hypotheses of all sentences. A hypothesis that has produced the end symbol, or is as
long as it may be, moves to the finished list of its sentence, which then keeps one live hypothesis fewer; a sentence
without room for any has ended. So the rows become fewer from step to step, and no row is computed in vain.

A hypothesis is a node of a tree: its last symbol and the node before it. A row has its node, its length and the sum
of the logs of its symbols' probabilities, ``total``; finished ones are ranked by total / length^alpha.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel, part
from corpuscle.errors import CorpuscleError, SettingError, warn
from corpuscle.neural.kernels.cells import exponential
from corpuscle.scale import workers

BLOCK = 1024
SPAN, LANES = 64, 16
"""The number of scores of a block that are looked at together before any is compared alone; and the distance of those
that are, when the first block of a row is looked through for a score that k of them reach."""


class NoClass(CorpuscleError):
    """A row of scores from which no class can be chosen; ``row`` says which."""

    def __init__(self, row: int, reason: str):
        super().__init__(f"row {row}: {reason}")
        self.row, self.reason = row, reason

    def __reduce__(self):
        return NoClass, (self.row, self.reason)


class Best(NamedTuple):
    """What is known of the classes seen so far: ``peak`` (rows,) float32, M; ``total`` (rows,) float64, S; ``scores``
    (rows, k) float32, the largest x in falling order, and their ``classes`` (rows, k) int32, -1 where there is none."""

    peak: np.ndarray
    total: np.ndarray
    scores: np.ndarray
    classes: np.ndarray


class Ranked(NamedTuple):
    """The k best classes of each row in falling order: ``classes`` (rows, k) int32, ``logs`` (rows, k) float32, natural
    logs of their probabilities. Where fewer than k are allowed, the class is -1 and the log -inf."""

    classes: np.ndarray
    logs: np.ndarray


def nothing(rows: int, k: int) -> Best:
    """No class seen yet."""
    peak, scores = np.full(rows, -np.inf, np.float32), np.full((rows, k), -np.inf, np.float32)
    return Best(peak, np.zeros(rows), scores, np.full((rows, k), -1, np.int32))


# ---- kernels


@part(inline=True)
def _add(scores, bias, floats, words):
    """Write x = p + b of a block to ``floats`` and return the largest.

    ``words`` are the bits of ``floats`` as integers. Floats in the order of their bits, those of the negative ones
    turned over, are in the order of their values, and the largest of integers vectorises as that of floats does not.
    NaN may count as large or small here; it is found in the sum.
    """
    for i in range(scores.size):
        floats[i] = scores[i] + bias[i]
    largest = np.int32(-2147483648)
    for i in range(scores.size):
        word = words[i]
        key = word ^ ((word >> np.int32(31)) & np.int32(2147483647))
        largest = max(largest, key)
    words[BLOCK] = largest ^ ((largest >> np.int32(31)) & np.int32(2147483647))
    return floats[BLOCK]


@part(reorder=True)
def _sum(floats, size, peak):
    """The sum of e^(x - peak) over a block."""
    total = np.float32(0)
    for i in range(size):
        total += exponential(floats[i] - peak)
    return total


@part(inline=True)
def _above(scores, least):
    """How many of some scores are above ``least``."""
    count = 0
    for i in range(scores.size):
        count += scores[i] > least
    return count


@part(inline=True)
def _reached(floats, size, lanes, k):
    """A score that at least k scores of a block reach, or -inf: the k-th largest of the largest of every 16th score.
    Whoever knows it inserts hardly more than k scores. ``lanes`` (16,) is scratch."""
    lanes[:] = -np.inf
    for first in range(0, size - LANES + 1, LANES):
        part = floats[first : first + LANES]
        for i in range(LANES):
            lanes[i] = part[i] if part[i] > lanes[i] else lanes[i]
    least = np.float32(-np.inf)
    for _ in range(k):
        least = np.float32(-np.inf)
        for i in range(LANES):  # the largest is taken out
            x = lanes[i]
            lanes[i] = least if x > least else x
            least = x if x > least else least
    return least


@part(inline=True)
def _insert(scores, classes, x, c):
    """Put class c with score x, which is larger than the last, where it belongs: after all that are as large."""
    place = scores.size - 1
    while place > 0 and scores[place - 1] < x:
        scores[place], classes[place] = scores[place - 1], classes[place - 1]
        place -= 1
    scores[place], classes[place] = x, c


@kernel(bare=True)
def _absorb(p, bias, offset, best, floats, words):
    """See ``absorb``; ``floats`` and ``words`` are one array of BLOCK + 1 + LANES entries, seen in two ways."""
    for row in range(p.shape[0]):
        values, classes = best.scores[row], best.classes[row]
        last = values.size - 1
        for first in range(0, p.shape[1], BLOCK):
            size = min(BLOCK, p.shape[1] - first)
            largest = _add(p[row, first : first + size], bias[first : first + size], floats, words)
            peak = best.peak[row]
            if largest > peak:
                best.total[row] *= math.exp(float(peak) - float(largest))
                best.peak[row] = peak = largest
            elif peak == -np.inf and largest == -np.inf:
                continue
            best.total[row] += _sum(floats, size, peak)
            if not largest > values[last]:
                continue
            least = np.float32(-np.inf)
            if values[0] == -np.inf and values.size <= LANES:
                least = _reached(floats, size, floats[BLOCK + 1 :], values.size)
            for begin in range(0, size, SPAN):
                span = floats[begin : min(begin + SPAN, size)]
                if _above(span, values[last]):
                    for i in range(span.size):
                        if span[i] > values[last] and span[i] >= least:
                            _insert(values, classes, span[i], np.int32(offset + first + begin + i))


@kernel(bare=True)
def _logs(best, out):
    """Natural logs of the probabilities of the best classes; the first row that has none, or -1."""
    bad = -1
    for row in range(best.peak.size):
        total = best.total[row]
        if not (total > 0.0 and total < np.inf):
            bad = row if bad < 0 else bad
            continue
        norm = float(best.peak[row]) + math.log(total)
        for place in range(out.shape[1]):
            out[row, place] = float(best.scores[row, place]) - norm
    return bad


@kernel(bare=True)
def _argmax(p, bias, out, floats, words):
    """The class of the largest x of each row, -1 where none is above -inf; the first row with NaN or inf, or -1."""
    bad = -1
    for row in range(p.shape[0]):
        peak, wrong = np.float32(-np.inf), 0
        out[row] = -1
        for first in range(0, p.shape[1], BLOCK):
            size = min(BLOCK, p.shape[1] - first)
            largest = _add(p[row, first : first + size], bias[first : first + size], floats, words)
            for i in range(size):
                wrong += floats[i] != floats[i]
            if largest > peak:
                peak = largest
                for i in range(size):
                    if floats[i] == largest:
                        out[row] = first + i
                        break
        if (wrong or peak == np.inf) and bad < 0:
            bad = row
    return bad


# ---- arrays in, arrays out


def _buffer() -> tuple[np.ndarray, np.ndarray]:
    floats = np.empty(BLOCK + 1 + LANES, np.float32)
    return floats, floats.view(np.int32)


def absorb(best: Best, scores: np.ndarray, bias: np.ndarray, offset: int = 0) -> None:
    """Let ``best`` see more classes: scores (rows, n) and bias (n,) of the classes from ``offset`` on, which come after
    all that it has seen, float32 and contiguous."""
    _absorb(scores, frozen(bias, np.float32), offset, best, *_buffer())


def merge(a: Best, b: Best) -> Best:
    """What is known of two pieces of the same rows, with the same k; of equal scores the smaller class comes first."""
    peak = np.maximum(a.peak, b.peak)
    total = np.zeros(len(peak))
    with np.errstate(invalid="ignore"):  # inf - inf: a score that is not finite, which ``ranked`` finds in the sum
        for side in a, b:
            seen = side.peak > -np.inf
            total[seen] += side.total[seen] * np.exp(side.peak[seen].astype(np.float64) - peak[seen])
    scores, classes = np.concatenate([a.scores, b.scores], axis=1), np.concatenate([a.classes, b.classes], axis=1)
    best = np.lexsort((classes, -scores))[:, : a.scores.shape[1]]
    return Best(peak, total, np.take_along_axis(scores, best, axis=1), np.take_along_axis(classes, best, axis=1))


def ranked(best: Best) -> Ranked:
    """The best classes with the logs of their probabilities among all that have been seen."""
    logs = np.empty_like(best.scores)
    bad = _logs(best, logs)
    if bad >= 0:
        raise _complaint(bad, float(best.total[bad]))
    return Ranked(best.classes, logs)


def peaks(scores: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """The best class of each row (rows,) int32, without softmax, -1 if none: scores (rows, n), bias (n,), float32."""
    out = np.empty(len(scores), np.int32)
    bad = _argmax(scores, frozen(bias, np.float32), out, *_buffer())
    if bad >= 0:
        raise _complaint(bad, np.nan)
    return out


def _complaint(row: int, total: float) -> NoClass:
    return NoClass(row, "no class is allowed" if total == 0.0 else "a score is not a finite number")


def _checked(logits: np.ndarray, bias: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    scores = np.ascontiguousarray(logits, np.float32)
    if scores.ndim != 2 or scores.shape[1] < 1:
        raise SettingError(f"scores have rows and at least one class, not the shape {scores.shape}")
    added = np.zeros(scores.shape[1], np.float32) if bias is None else np.ascontiguousarray(bias, np.float32)
    if added.shape != scores.shape[1:]:
        raise SettingError(f"a bias for {scores.shape[1]} classes is needed, not one of the shape {added.shape}")
    return scores, added


def _seen(piece: tuple[np.ndarray, np.ndarray, int, int]) -> Best:
    """What is to be known of a piece: scores, bias, first class, k."""
    scores, bias, offset, k = piece
    best = nothing(len(scores), k)
    absorb(best, np.ascontiguousarray(scores), bias, offset)
    return best


def fused_topk(
    logits: np.ndarray, bias: np.ndarray | None = None, k: int = 1, *, shards: int = 1, workers_: int | None = 1
) -> Ranked:
    """The k most probable classes of each row and the logs of their probabilities.

    :param logits: (rows, n_classes), what an output layer gives; ``bias``: (n_classes,), added to each row.
    :param k: clipped to the number of classes, with a warning.
    :param shards: the number of pieces into which the classes are cut, for few rows and many workers.
    :param workers_: threads; None: one for each core.

    >>> ranked = fused_topk(np.array([[1.0, 2.0, 3.0]]), k=1)
    >>> int(ranked.classes[0, 0]), round(float(np.exp(ranked.logs[0, 0])), 5)
    (2, 0.66524)
    """
    scores, added = _checked(logits, bias)
    if k < 1 or shards < 1:
        raise SettingError(f"the number of {'best classes' if k < 1 else 'shards'} is at least 1, not {min(k, shards)}")
    rows, classes = scores.shape
    if k > classes:
        warn(f"there are only {classes} classes: the {k} best are all of them")
        k = classes
    cuts = [classes * shard // shards for shard in range(shards + 1)]
    pieces = [(scores[:, a:b], added[a:b], a, k) for a, b in pairwise(cuts) if a < b]
    with workers(workers_) as pool:
        if len(pieces) > 1 or rows < 2 or workers_ == 1:
            return ranked(pool.scatter(pieces).map_reduce(_seen, merge))
        found = pool.map(_seen, [(part, added, 0, k) for part in np.array_split(scores, min(rows, 16))])
        return ranked(Best(*(np.concatenate(arrays) for arrays in zip(*found, strict=True))))


def fused_argmax(logits: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
    """The most probable class of each row, without computing probabilities.

    >>> fused_argmax(np.array([[1.0, 3.0, 3.0]])).tolist()
    [1]
    """
    found = peaks(*_checked(logits, bias))
    if (found < 0).any():
        raise _complaint(int(found.argmin()), 0.0)
    return found


NO_BOUND = -np.inf


class Live(NamedTuple):
    """Live hypotheses, (rows,) each; those of one sentence stand together, the most probable first: ``sentences``
    int32, ``totals`` float64, ``nodes`` int32, ``lengths`` int32."""

    sentences: np.ndarray
    totals: np.ndarray
    nodes: np.ndarray
    lengths: np.ndarray


class Nodes(NamedTuple):
    """The tree of hypotheses: ``before`` and ``symbols`` (capacity,) int32; the root of all is -1."""

    before: np.ndarray
    symbols: np.ndarray


class Finished(NamedTuple):
    """What has ended, by sentence: ``counts`` (n_sentences,) int32; in order of ending ``scores``, ``totals`` float64,
    ``nodes`` and ``depths`` int32 (how many symbols, the end not counted), (n_sentences, beam). ``limits``
    (n_sentences,) int32: how long a hypothesis may be."""

    counts: np.ndarray
    scores: np.ndarray
    totals: np.ndarray
    nodes: np.ndarray
    depths: np.ndarray
    limits: np.ndarray


@part(inline=True)
def _finish(finished, s, total, node, depth, score):
    place = finished.counts[s]
    finished.scores[s, place], finished.totals[s, place] = score, total
    finished.nodes[s, place], finished.depths[s, place] = node, depth
    finished.counts[s] = place + 1


@part(inline=True)
def _bound(finished, s, wanted):
    """The worst of the ``wanted`` best finished scores of a sentence, -inf if there are fewer."""
    for i in range(finished.counts[s]):
        above, reached = 0, 0
        for j in range(finished.counts[s]):
            above += finished.scores[s, j] > finished.scores[s, i]
            reached += finished.scores[s, j] >= finished.scores[s, i]
        if above < wanted <= reached:
            return finished.scores[s, i]
    return NO_BOUND


@kernel(bare=True)
def choose(live, classes, logs, width, parents, picks, heads):
    """The best continuations of every sentence, ``width[sentence]`` (int32) of them at most, the most probable first,
    written to ``parents`` and ``picks``: row and rank of each among ``classes`` and ``logs`` (rows, k). Returns how
    many. Of equal ones the earlier row comes first. ``heads`` (beam,) int32 is scratch."""
    count, begin, rows, k = 0, 0, live.sentences.size, classes.shape[1]
    while begin < rows:
        s, end = live.sentences[begin], begin
        while end < rows and live.sentences[end] == s:
            heads[end - begin] = 0
            end += 1
        for _ in range(width[s]):
            best, row = -np.inf, -1
            for i in range(begin, end):  # a merge of sorted lists: each row offers its best class that is left
                head = heads[i - begin]
                if head < k and classes[i, head] >= 0 and live.totals[i] + logs[i, head] > best:
                    best, row = live.totals[i] + logs[i, head], i
            if row < 0:
                break
            parents[count], picks[count] = row, heads[row - begin]
            heads[row - begin] += 1
            count += 1
        begin = end
    return count


@kernel(bare=True)
def advance(live, ranked, chosen, nodes, used, finished, rule, out):
    """Make the chosen continuations: ended ones join ``finished``, the others ``out`` and the tree, from node ``used``
    on. ``chosen``: ``parents`` and ``picks`` of ``choose``; ``parents`` is overwritten with those of ``out``. Returns
    how many go on.

    ``rule``: end symbol, alpha, and how many finished hypotheses are wanted if those that cannot be among them are to
    be left (0: none is left). The best that a live hypothesis can still become is total / limit^alpha: its total only
    falls, its length only grows.
    """
    classes, logs = ranked
    parents, picks = chosen
    end_symbol, alpha, wanted = rule
    count = 0
    for i in range(parents.size):
        row = parents[i]
        symbol, length = classes[row, picks[i]], live.lengths[row] + 1
        s, total = live.sentences[row], live.totals[row] + logs[row, picks[i]]
        score = total / float(length) ** alpha
        if symbol == end_symbol:
            _finish(finished, s, total, live.nodes[row], length - 1, score)
            continue
        nodes.before[used + count], nodes.symbols[used + count] = live.nodes[row], symbol
        if length >= finished.limits[s]:
            _finish(finished, s, total, used + count, length, score)
            used += 1  # its node stays in the tree, though no row has it
            continue
        out.sentences[count], out.totals[count] = s, total
        out.nodes[count], out.lengths[count] = used + count, length
        parents[count] = row  # count <= i: what is overwritten has been read
        count += 1
    if wanted:
        count = _leave(finished, out, parents, count, alpha, wanted)
    return count


@part(inline=True)
def _leave(finished, out, parents, count, alpha, wanted):
    """Drop the live hypotheses that cannot be among the ``wanted`` best any more; how many stay."""
    kept, s, bound = 0, -1, NO_BOUND
    for i in range(count):
        if out.sentences[i] != s:
            s = out.sentences[i]
            bound = _bound(finished, s, wanted)
        if out.totals[i] / float(finished.limits[s]) ** alpha >= bound:
            out.sentences[kept], out.totals[kept] = s, out.totals[i]
            out.nodes[kept], out.lengths[kept] = out.nodes[i], out.lengths[i]
            parents[kept] = parents[i]
            kept += 1
    return kept


@kernel(bare=True)
def follow(nodes, lasts, starts, symbols):
    """Write the symbols of hypotheses one after the other: those of node ``lasts[i]`` to ``symbols[starts[i] :
    starts[i + 1]]``."""
    for i in range(lasts.size):
        node = lasts[i]
        for place in range(starts[i + 1] - 1, starts[i] - 1, -1):
            symbols[place] = nodes.symbols[node]
            node = nodes.before[node]
