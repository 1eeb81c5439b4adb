"""Phrase decoding with a distortion limit: phrases of the source may be translated in another order, within a window.

Let g be the first source word not covered, and e the word behind the phrase translated last. The next phrase may begin
at g or up to D words behind it, at most D words from e; one that does not begin at g ends at most D words behind g, so
that the way back stays open. With D = 0 this is monotone decoding. All covered words behind g then lie in a window, and
(g, which words of the window, e) is a number of 31 bits; what follows depends on that and on the state of the language
model.

Hypotheses of a stack cover equally many words, but not the same ones, so they are compared by their score plus an
estimate of the rest (the best phrases for each stretch that is left, each scored by the language model on its own).
The estimate is a potential of the coverage: added with the new coverage and taken away with the old one, it cancels out
along every path, and the scores of complete translations are exact.

Sentences and their translations are the records of the monotone decoder: ``logs`` float64 (n, 2) has the log
probability of the language model, and minus the distance of all jumps; ``segments`` int32 (n, 3), in target order, the
option (or ``-1 - word`` for a copied one), the first source word, and the number of words.

Koehn, "Statistical machine translation", 2010, chapter 6 (decoding, future cost, distortion limit); Och and Ney, "The
alignment template approach to statistical machine translation", 2004, section 5.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.ngrams.trie import ROOT, Automaton, step
from corpuscle.engine.phrase_decoding import (
    NO_ROOM,
    Options,
    Stacks,
    begin,
    find_nodes,
    floor,
    new_stacks,
    offer,
    open_stack,
    settle,
    stack_of,
)
from corpuscle.transliterate.kernels.monotone import Derivations, Sequences, best_derivations, decoded

MOST_DISTORTION = 8
"""No limit is larger: the window is part of a number of 31 bits."""

_EDGES = 50_000  # room in the beginning


class Limits(NamedTuple):
    """How the search goes.

    - ``beam``, ``threshold``: how many hypotheses a stack keeps, and how much worse than its best;
    - ``longest``: words of the longest source phrase; ``n_best``: how many translations; ``distinct``: different ones
      only; ``distortion``: D;
    - ``language``, ``phrase``, ``word``, ``jump``: the weights of the language model, of each phrase, of each target
      word, and of minus the distance of each jump; ``unknown``: the score of copying a word that the table does not
      cover;
    - ``initial``, ``end``: first state and last symbol of the language model; ``types``: symbols from here on are
      copied words that it does not know.
    """

    beam: int
    threshold: float
    longest: int
    n_best: int
    distinct: bool
    distortion: int
    language: float
    phrase: float
    word: float
    jump: float
    unknown: float
    initial: int
    end: int
    types: int


class Problem(NamedTuple):
    """What is the same for all sentences; ``estimates``: float64 (options,), see ``estimate``."""

    options: Options
    language: Automaton
    limits: Limits
    estimates: np.ndarray


class Work(NamedTuple):
    """Buffers for a sentence of at most N words.

    - ``stacks``; ``nodes``: int64 (N, longest), the trie node of the k + 1 words from p on, or -1; ``ranked``: int64,
      ``values``: float64 (N, longest, most options of a node), its options, best first;
    - ``future``: float64 (N + 1, N + 1), the estimate of the words i..j-1; ``endings``: float64 (beam,), what the end
      adds to each hypothesis of the last stack.
    """

    stacks: Stacks
    nodes: np.ndarray
    ranked: np.ndarray
    values: np.ndarray
    future: np.ndarray
    endings: np.ndarray


@part(bare=True)
def _packed(state, g, window, e, limit):
    """A state of the language model and a coverage as one number; bit b of ``window``: word g + 1 + b is covered."""
    # state + 1 from bit 32 on, g in bits 13-31, the window in 5-12, e - g in 0-4, not negative thanks to the limit
    return ((state + 1) << 32) | (g << 13) | (window << 5) | (e - g + limit)


@part(bare=True)
def _coverage(packed, limit):
    """The inverse of ``_packed``: g, window and e."""
    g = (packed & 4294967295) >> 13
    return g, (packed >> 5) & 255, (packed & 31) + g - limit


@part(bare=True)
def _after(g, window, p, end):
    """g and window after the words p..end-1 have been covered, too."""
    if p > g:  # g is still open
        for x in range(p, end):
            window |= 1 << (x - g - 1)
        return g, window
    window >>= end - g - 1  # bit 0 is the word ``end`` now
    g = end
    while window & 1:
        window >>= 1
        g += 1
    return g, window >> 1


@part(bare=True)
def _rest(future, g, window, n):
    """The estimate of all words that are not covered."""
    total, first = 0.0, g
    p = g + 1
    while window:  # a covered word ends the open stretch before it
        if window & 1:
            total += future[first, p]
            first = p + 1
        window >>= 1
        p += 1
    return total + future[first, n] if first < n else total


@kernel
def estimate(options, language):
    """The log probability of every option's target in an empty context, float64 (options,)."""
    out = np.empty(len(options.scores))
    for option in range(len(out)):
        state, total = np.int64(ROOT), 0.0
        for i in range(options.target_starts[option], options.target_starts[option + 1]):
            state, logp = step(language, state, options.targets[i])
            total += logp
        out[option] = total
    return out


@part(bare=True)
def _prepare(problem, n, copies, work):
    """Fill ``ranked``, ``values`` and ``future``, which do not depend on the search."""
    options, limits = problem.options, problem.limits
    for i in range(n):
        work.future[i, i] = 0.0
        for j in range(i + 1, n + 1):
            work.future[i, j] = -np.inf
    for p in range(n):
        for k in range(min(limits.longest, n - p)):
            node, best = work.nodes[p, k], -np.inf
            begin, end = np.int64(0), np.int64(0)
            if node >= 0:
                begin, end = options.first_option[node], options.first_option[node + 1]
            for option in range(begin, end):
                words = options.target_starts[option + 1] - options.target_starts[option]
                score = options.scores[option] + limits.phrase + limits.word * words
                best = max(best, score + limits.language * problem.estimates[option])
                at = option - begin
                while at > 0 and work.values[p, k, at - 1] < score:
                    work.values[p, k, at], work.ranked[p, k, at] = work.values[p, k, at - 1], work.ranked[p, k, at - 1]
                    at -= 1
                work.values[p, k, at], work.ranked[p, k, at] = score, option
            if k == 0 and begin == end:
                best = limits.unknown + limits.phrase + limits.word
                best += limits.language * step(problem.language, np.int64(ROOT), _known(copies[p], limits))[1]
            work.future[p, p + k + 1] = best
    for size in range(2, n + 1):
        for i in range(n - size + 1):
            for middle in range(i + 1, i + size):
                both = work.future[i, middle] + work.future[middle, i + size]
                work.future[i, i + size] = max(work.future[i, i + size], both)


@part(bare=True)
def _known(word, limits):
    """The symbol of a target word in the language model, 0 for words that it does not know."""
    return np.int32(word) if word < limits.types else np.int32(0)


@part(bare=True)
def _read(problem, option, state, score, reach):
    """Read an option: the state after it, and its score. Stops when the score has fallen below ``reach``."""
    options, limits = problem.options, problem.limits
    if option < 0:
        state, logp = step(problem.language, state, _known(-1 - option, limits))
        return state, score + limits.language * logp
    for i in range(options.target_starts[option], options.target_starts[option + 1]):
        state, logp = step(problem.language, state, options.targets[i])
        score += limits.language * logp
        if score < reach:
            break
    return state, score


@part(bare=True)
def _extend(problem, work, copies, n, h, p, k):
    """Offer the hypothesis h with every option of the k + 1 words from p on; returns whether there was room."""
    limits, stacks = problem.limits, work.stacks
    bounded = limits.language >= 0.0  # else reading on may raise a score, and nothing can be given up early
    node, count = work.nodes[p, k], np.int64(0)
    if node >= 0:
        count = problem.options.first_option[node + 1] - problem.options.first_option[node]
    unknown = count == 0
    if unknown and k > 0:
        return True
    g, window, e = _coverage(stacks.states[h], limits.distortion)
    new_g, new_window = _after(g, window, p, p + k + 1)
    base = stacks.scores[h] - limits.jump * abs(p - e)
    base += _rest(work.future, new_g, new_window, n) - _rest(work.future, g, window, n)
    if unknown:
        base += limits.unknown + limits.phrase + limits.word
        count = np.int64(1)
    for o in range(count):
        option = np.int64(-1 - copies[p]) if unknown else work.ranked[p, k, o]
        score = base if unknown else base + work.values[p, k, o]
        if bounded and score < floor(stacks):
            break
        reach = floor(stacks) if bounded else -np.inf
        state, score = _read(problem, option, (stacks.states[h] >> 32) - 1, score, reach)
        if not score >= floor(stacks):
            continue
        packed = _packed(state, new_g, new_window, p + k + 1, limits.distortion)
        if not offer(stacks, limits, packed, score, h, option):
            return False
    return True


@part(bare=True)
def _forward(problem, source, copies, work):
    """Fill the stacks and ``endings``; returns the number of edges, kept if ``n_best`` > 1, or ``NO_ROOM``."""
    n, limits, stacks = len(source), problem.limits, work.stacks
    find_nodes(problem.options, source, limits.longest, work.nodes)
    _prepare(problem, n, copies, work)
    start = _packed(np.int64(limits.initial), np.int64(0), np.int64(0), np.int64(0), limits.distortion)
    begin(stacks, start, work.future[0, n] if n else 0.0)
    n_edges = np.int64(0)
    for q in range(1, n + 1):
        open_stack(stacks)
        for k in range(min(limits.longest, q)):
            for h in range(stacks.first[q - k - 1], stacks.first[q - k]):
                g, window, e = _coverage(stacks.states[h], limits.distortion)
                for p in range(g, min(g + limits.distortion, n - 1 - k) + 1):
                    if p > g and p + k + 1 - g > limits.distortion:
                        break
                    free = abs(p - e) <= limits.distortion
                    for x in range(max(p, g + 1), min(p + k, g + MOST_DISTORTION) + 1):
                        free = free and (window >> (x - g - 1)) & 1 == 0
                    if free and not _extend(problem, work, copies, n, h, p, k):
                        return NO_ROOM
        n_edges = settle(stacks, limits, q)
    for h in range(stacks.first[n], stacks.first[n + 1]):
        state = (stacks.states[h] >> 32) - 1
        work.endings[h - stacks.first[n]] = limits.language * step(problem.language, state, np.int32(limits.end))[1]
    return n_edges


@part(bare=True)
def _write(problem, stacks, score, steps, row, out):
    """Write a translation: its score, the log probability of its words, the distance of its jumps and its segments."""
    options, limits, begin = problem.options, problem.limits, out.segment_starts[row]
    out.segment_starts[row + 1], out.scores[row] = begin + len(steps), score
    state, total, jumps, e = np.int64(limits.initial), 0.0, 0, 0
    for s in range(len(steps)):
        before, after, option = steps[s, 0], steps[s, 1], steps[s, 2]
        length = stack_of(stacks.first, after) - stack_of(stacks.first, before)
        _, _, end = _coverage(stacks.states[after], limits.distortion)
        out.segments[begin + s, 0], out.segments[begin + s, 1], out.segments[begin + s, 2] = (
            option,
            end - length,
            length,
        )
        if option < 0:
            state, logp = step(problem.language, state, _known(-1 - option, limits))
            total += logp
        else:
            for i in range(options.target_starts[option], options.target_starts[option + 1]):
                state, logp = step(problem.language, state, options.targets[i])
                total += logp
        jumps += abs(end - length - e)
        e = end
    out.logs[row, 0] = total + step(problem.language, state, np.int32(limits.end))[1]
    out.logs[row, 1] = -jumps


@kernel
def _decode(problem, sentences, sentence, work, out):
    """Write the best translations of the sentences from ``sentence`` on after those before it, which are there; returns
    the sentence before which there was no room for edges, or how many there are."""
    row = out.starts[sentence]
    while sentence < len(sentences.starts) - 1:
        a, b = sentences.starts[sentence], sentences.starts[sentence + 1]
        n_edges = _forward(problem, sentences.tokens[a:b], sentences.copies[a:b], work)
        if n_edges == NO_ROOM:
            break
        steps, starts, scores = best_derivations(problem, work, b - a, n_edges)
        for k in range(len(scores)):
            _write(problem, work.stacks, scores[k], steps[starts[k] : starts[k + 1]], row, out)
            row += 1
        sentence += 1
        out.starts[sentence] = row
    return sentence


def _buffers(problem: Problem, longest: int, edges: int) -> Work:
    """Room for sentences of at most ``longest`` words, and for ``edges``."""
    limits = problem.limits
    most = int(np.diff(problem.options.first_option).max(initial=1))
    return Work(
        stacks=new_stacks(limits.beam, longest, edges),
        nodes=np.empty((longest, limits.longest), np.int64),
        ranked=np.empty((longest, limits.longest, most), np.int64),
        values=np.empty((longest, limits.longest, most)),
        future=np.empty((longest + 1, longest + 1)),
        endings=np.empty(limits.beam),
    )


def decode(sentences: Sequences, problem: Problem) -> Derivations:
    """The best translations of some sentences; an empty one has none."""
    return decoded(sentences, problem, 2, 3, _decode, _buffers, _EDGES)
