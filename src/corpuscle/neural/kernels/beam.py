"""One step of beam search over many sentences at once, with hypotheses that leave when they have ended.

Hoang, Dwojak, Krislauks, Torregrosa and Heafield, "Fast neural machine translation implementation", 2018, section
3.3. Rows are the live hypotheses of all sentences. A hypothesis that has produced the end symbol, or is as long as it
may be, moves to the finished list of its sentence, which then keeps one live hypothesis fewer; a sentence without
room for any has ended. So the rows become fewer from step to step, and no row is computed in vain.

A hypothesis is a node of a tree: its last symbol and the node before it. A row has its node, its length and the sum
of the logs of its symbols' probabilities, ``total``; finished ones are ranked by total / length^alpha.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part

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
    count = finished.counts[s]
    if count < wanted:
        return NO_BOUND
    for i in range(count):
        above = 0
        for j in range(count):
            above += finished.scores[s, j] > finished.scores[s, i] or (
                finished.scores[s, j] == finished.scores[s, i] and j < i
            )
        if above == wanted - 1:
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
