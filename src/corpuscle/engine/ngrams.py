"""N-grams of all orders as one trie in flat arrays: counting, look-up, and back-off language models over it.

The one idea: rows. The m-grams of a text, in lexicographic order, are numbered one after the other, order by order, and
an m-gram's context is the row of an (m-1)-gram. So the words that follow a context are a contiguous, sorted range of
rows (``first_child``), dropping the oldest word is one array access (``suffix``), and a decoder's language-model state
is a single integer. Unigram rows are the symbol ids themselves; the empty context is the state ``ROOT``.

Counting sorts text positions, never keys: positions that share an m-gram form a run, and each run is sorted by the next
symbol to make the runs of order m+1. Most runs are short, so this is close to linear, whatever the vocabulary.
"""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel, prefetch

__all__ = [
    "ROOT",
    "Automaton",
    "Ngrams",
    "Tables",
    "add_boundaries",
    "automaton",
    "chunk_bounds",
    "count_ngrams",
    "distribution",
    "find",
    "score_sentences",
    "score_stream",
    "state_of",
    "step",
    "truncate",
]

ROOT = -1
"""The state of the empty context."""

_CHUNK = 1 << 18
_INSERTION = 40
_LANES = 16
_NONE = np.empty(0, np.int32)


class Ngrams(NamedTuple):
    """All n-grams of a text with their counts.

    - ``levels``: int64 (order + 1,), the rows of order m are ``levels[m - 1]`` to ``levels[m]``;
    - ``words``: int32 (rows,), the last symbol of each n-gram;
    - ``first_child``: int32 (context_rows + 1,), the n-grams that extend row r to the right are the rows
      ``first_child[r]`` to ``first_child[r + 1]``, with rising ``words``; rows of the highest order have none;
    - ``suffix``: int32 (rows,), the row of the n-gram without its oldest symbol, ``ROOT`` for unigrams;
    - ``counts``: int32 (rows,), how often each n-gram occurs.
    """

    levels: np.ndarray
    words: np.ndarray
    first_child: np.ndarray
    suffix: np.ndarray
    counts: np.ndarray

    @property
    def order(self) -> int:
        return len(self.levels) - 1


class Tables(NamedTuple):
    """A back-off language model: the trie with log probabilities instead of counts.

    P(w | h) is the ``log_probability`` of row (h, w) if there is one, else ``backoff[h]`` plus that of w in the longest
    shorter context. Here ``suffix`` may skip orders that were pruned away.

    - ``log_probability``: float64 (rows,), natural logs;
    - ``backoff``: float64 (context_rows,), natural logs.
    """

    levels: np.ndarray
    words: np.ndarray
    first_child: np.ndarray
    suffix: np.ndarray
    log_probability: np.ndarray
    backoff: np.ndarray

    @property
    def order(self) -> int:
        return len(self.levels) - 1


CONTEXT = np.dtype([("backoff", np.float64), ("first_child", np.int32), ("suffix", np.int32)])
ROW = np.dtype([("log_probability", np.float64), ("word", np.int32), ("state", np.int32)])


class Automaton(NamedTuple):
    """The same model laid out for reading text: what is needed together stands together, in one cache line.

    - ``contexts``: CONTEXT (context_rows + 1,), of which the last only ends the range of children before it;
    - ``rows``: ROW (rows,), with the state after an n-gram: its longest suffix that is a context which matters, because
      it has continuations or a back-off weight.
    """

    order: int
    contexts: np.ndarray
    rows: np.ndarray


# ---- counting


@kernel
def _add_boundaries(tokens, starts, left, start, end, out):
    at = 0
    for sentence in range(len(starts) - 1):
        for _ in range(left):
            out[at] = start
            at += 1
        for i in range(starts[sentence], starts[sentence + 1]):
            out[at] = tokens[i]
            at += 1
        out[at] = end
        at += 1


def add_boundaries(tokens: np.ndarray, starts: np.ndarray, left: int, start: int, end: int) -> np.ndarray:
    """The stream of all sentences, each with ``left`` start symbols before it and an end symbol after it: int32."""
    out = np.empty(len(tokens) + (len(starts) - 1) * (left + 1), np.int32)
    _add_boundaries(frozen(tokens, np.int32), frozen(starts, np.int64), left, start, end, out)
    return out


@kernel
def _sort_by_symbol(symbols, n_types, positions, starts):
    """Text positions grouped by symbol: those of symbol s are ``positions[starts[s]:starts[s + 1]]``."""
    for symbol in symbols:
        starts[symbol + 1] += 1
    for symbol in range(n_types):
        starts[symbol + 1] += starts[symbol]
    cursor = starts[:-1].copy()
    for position in range(len(symbols)):
        symbol = symbols[position]
        positions[cursor[symbol]] = position
        cursor[symbol] += 1


@kernel
def _sort_keys(keys, spare, first, last, passes):
    """Sort ``keys[first:last]``: symbols of ``passes`` bytes in the upper half, positions, which rise, in the lower."""
    length = last - first
    if length <= _INSERTION:
        for i in range(first + 1, last):
            key = keys[i]
            j = i
            while j > first and keys[j - 1] > key:
                keys[j] = keys[j - 1]
                j -= 1
            keys[j] = key
        return
    cursor = np.empty(256, np.int64)
    for digit in range(passes):
        shift = 32 + 8 * digit
        cursor[:] = 0
        for i in range(first, last):
            cursor[(keys[i] >> shift) & 255] += 1
        total = 0
        for value in range(256):
            total, cursor[value] = total + cursor[value], total
        for i in range(first, last):
            value = (keys[i] >> shift) & 255
            spare[cursor[value]] = keys[i]
            cursor[value] += 1
        keys[first:last] = spare[:length]


@kernel
def _extend(symbols, n_types, end, depth, words, starts, positions, row_of, first, last, new, new_positions, children):
    """Split the runs of rows ``first`` to ``last`` (n-grams of order ``depth``) by their next symbol.

    ``new`` (3, n_positions) receives word, count and suffix row of each longer n-gram, ``new_positions`` their sorted
    positions, both from index ``starts[first]`` on; ``children`` how many each row has. Returns how many rows and how
    many positions were written. The gathers from the text are loops of their own, so that their cache misses overlap.
    """
    begin, n = starts[first], starts[last] - starts[first]
    keys = np.empty(n, np.int64)
    for i in range(n):
        after = np.int64(positions[begin + i]) + depth
        symbol = symbols[after] if after < len(symbols) else n_types
        keys[i] = (np.int64(symbol) << 32) | positions[begin + i]
    longest = 0
    for row in range(first, last):
        longest = max(longest, starts[row + 1] - starts[row])
    spare = np.empty(longest, np.int64)
    passes = 1
    while n_types >> (8 * passes):
        passes += 1
    rows = kept = begin
    for row in range(first, last):
        low, high = starts[row] - begin, starts[row + 1] - begin
        children[row] = 0
        if low == high or words[row] == end:
            continue
        if high - low > 1:
            _sort_keys(keys, spare, low, high, passes)
        if keys[high - 1] >> 32 == n_types:  # the text ends here
            high -= 1
        before, word = rows, np.int64(-1)
        for i in range(low, high):
            new_positions[kept] = keys[i] & 0xFFFFFFFF
            if keys[i] >> 32 != word:
                word = keys[i] >> 32
                new[0, rows] = word
                new[1, rows] = 0
                new[2, rows] = new_positions[kept]
                rows += 1
            new[1, rows - 1] += 1
            kept += 1
        children[row] = rows - before
    for i in range(begin, rows):
        new[2, i] = row_of[new[2, i] + 1]
    return rows - begin, kept - begin


@kernel
def _number_positions(positions, starts, first, last, base, row_of):
    """Note for every position the row of the n-gram that begins there."""
    for row in range(first, last):
        for i in range(starts[row], starts[row + 1]):
            row_of[positions[i]] = base + row


def chunk_bounds(starts: np.ndarray, size: int = _CHUNK) -> np.ndarray:
    """Cut rows into chunks of about ``size`` items each, by data alone: int64 row bounds."""
    targets = np.arange(0, int(starts[-1]) + size, size)
    return np.unique(np.append(np.searchsorted(starts, targets).clip(max=len(starts) - 1), [0, len(starts) - 1]))


def _starts(lengths: np.ndarray, base: int = 0) -> np.ndarray:
    starts = np.empty(len(lengths) + 1, np.int64)
    starts[0] = base
    np.cumsum(lengths, out=starts[1:])
    starts[1:] += base
    return starts


def count_ngrams(symbols: np.ndarray, n_types: int, order: int, end: int = -1, workers: int = 1) -> Ngrams:
    """Count the n-grams of orders 1 to ``order`` of a stream of symbols (int32, ids below ``n_types``).

    No n-gram reaches beyond the symbol ``end`` (-1: there is no such symbol). Boundary symbols must be in the stream.
    """
    if len(symbols) >= 2**31 - order:
        raise ValueError("a stream of more than 2^31 symbols cannot be counted at once")
    symbols = frozen(symbols, np.int32)
    positions, starts = np.empty(len(symbols), np.int32), np.zeros(n_types + 1, np.int64)
    _sort_by_symbol(symbols, n_types, positions, starts)
    words = np.arange(n_types, dtype=np.int32)
    levels, row_of = [0, n_types], symbols
    parts = {
        "words": [words],
        "counts": [np.diff(starts).astype(np.int32)],
        "suffix": [np.full(n_types, ROOT, np.int32)],
        "first_child": [],
    }
    with ThreadPoolExecutor(max(1, workers)) as pool:
        for depth in range(1, order):
            new, new_positions = np.empty((3, len(positions)), np.int32), np.empty(len(positions), np.int32)
            children = np.empty(len(words), np.int32)
            bounds = chunk_bounds(starts).tolist()
            chunks = list(itertools.pairwise(bounds))

            def extend(chunk, depth=depth, words=words, starts=starts, positions=positions, row_of=row_of,
                       new=new, new_positions=new_positions, children=children):  # fmt: skip
                return _extend(symbols, n_types, end, depth, words, starts, positions, row_of, chunk[0], chunk[1],
                               new, new_positions, children)  # fmt: skip

            sizes = list(pool.map(extend, chunks))
            origins = [int(starts[first]) for first, _ in chunks]
            pieces = list(zip(origins, sizes, strict=True))
            words, counts, suffix = (
                np.concatenate([_NONE, *(new[i, origin : origin + rows] for origin, (rows, _) in pieces)])
                for i in range(3)
            )
            kept_positions = (new_positions[origin : origin + kept] for origin, (_, kept) in pieces)
            positions = np.concatenate([_NONE, *kept_positions])
            parts["first_child"].append(_starts(children, levels[-1])[:-1])
            parts["words"].append(words)
            parts["counts"].append(counts)
            parts["suffix"].append(suffix)
            starts = _starts(counts)
            if depth + 1 < order:
                numbers = np.empty(len(symbols), np.int32)
                bounds = chunk_bounds(starts).tolist()
                for future in [
                    pool.submit(_number_positions, positions, starts, first, last, levels[-1], numbers)
                    for first, last in itertools.pairwise(bounds)
                ]:
                    future.result()
                row_of = frozen(numbers, np.int32)
            levels.append(levels[-1] + len(words))
    if levels[-1] >= 2**31:
        raise ValueError("more than 2^31 distinct n-grams")
    first_child = np.concatenate([*parts["first_child"], [levels[-1] if order > 1 else 0]])
    return Ngrams(
        frozen(np.array(levels), np.int64),
        frozen(np.concatenate(parts["words"]), np.int32),
        frozen(first_child, np.int32),
        frozen(np.concatenate(parts["suffix"]), np.int32),
        frozen(np.concatenate(parts["counts"]), np.int32),
    )


def truncate(ngrams: Ngrams, order: int) -> Ngrams:
    """The same counts up to a lower order (views)."""
    rows, contexts = int(ngrams.levels[order]), int(ngrams.levels[order - 1])
    first_child = ngrams.first_child[: contexts + 1] if order > 1 else np.zeros(1, np.int32)
    return Ngrams(
        frozen(ngrams.levels[: order + 1], np.int64),
        frozen(ngrams.words[:rows], np.int32),
        frozen(first_child, np.int32),
        frozen(ngrams.suffix[:rows], np.int32),
        frozen(ngrams.counts[:rows], np.int32),
    )


# ---- reading text


@kernel
def _fill_automaton(tables, contexts, rows):
    last = len(contexts) - 1
    for row in range(last):
        contexts[row].backoff = tables.backoff[row]
        contexts[row].first_child = tables.first_child[row]
        contexts[row].suffix = tables.suffix[row]
    contexts[last].backoff = 0.0
    contexts[last].first_child = len(rows) if last > 0 else 0
    contexts[last].suffix = ROOT
    for row in range(len(rows)):
        rows[row].log_probability = tables.log_probability[row]
        rows[row].word = tables.words[row]
        if row < last and (tables.first_child[row] < tables.first_child[row + 1] or tables.backoff[row] != 0.0):
            rows[row].state = row
        elif tables.suffix[row] == ROOT:
            rows[row].state = ROOT
        else:
            rows[row].state = rows[tables.suffix[row]].state


def automaton(tables: Tables) -> Automaton:
    """Lay a model out for reading text."""
    contexts, rows = np.empty(len(tables.backoff) + 1, CONTEXT), np.empty(len(tables.words), ROW)
    _fill_automaton(tables, contexts, rows)
    return Automaton(tables.order, contexts, rows)


@kernel
def find(words, low, high, word):
    """The row of ``word`` among the rows ``low`` to ``high``, whose words rise; or -1."""
    end = high
    while low < high:
        middle = (low + high) >> 1
        if words[middle] < word:
            low = middle + 1
        else:
            high = middle
    return low if low < end and words[low] == word else np.int64(-1)


@kernel
def _search(rows, low, size, word):
    """The last of ``size`` rows from ``low`` on whose word is not above ``word``, or ``low``; without branches."""
    while size > 1:
        half = size >> 1
        low += half * (rows[low + half].word <= word)
        size -= half
    return low


@kernel
def step(model, state, word):
    """Read one word: ``(state after it, natural log of its probability)``.

    Decoders call this inside their own kernels, from a state that ``step`` or ``state_of`` gave, or from ``ROOT``.
    """
    state, weight = np.int64(state), 0.0
    while state != ROOT:
        context = model.contexts[state]
        low = np.int64(context.first_child)
        size = model.contexts[state + 1].first_child - low
        row = _search(model.rows, low, size, word)
        if size > 0 and model.rows[row].word == word:
            return np.int64(model.rows[row].state), weight + model.rows[row].log_probability
        weight += context.backoff
        state = np.int64(context.suffix)
    return np.int64(model.rows[word].state), weight + model.rows[word].log_probability


@kernel
def state_of(model, context):
    """The state after some words (int32 array): their longest suffix that is a context of the model."""
    state = np.int64(ROOT)
    for word in context:
        state = step(model, state, word)[0]
    return state


@kernel
def _score_sentences(model, tokens, starts, first, last, initial, end, out):
    """``step`` over whole sentences, many of them side by side.

    Reading one sentence is a chain of look-ups that miss the cache and wait for one another. So there are lanes, each
    with a sentence of its own, that take turns: a turn asks for the memory that the lane's next turn will need. Turns
    alternate between opening a context (``size`` is -1) and searching its continuations for the word.
    """
    contexts, rows = model.contexts, model.rows
    lanes = min(_LANES, last - first)
    sentence, at, word = np.empty(lanes, np.int64), np.empty(lanes, np.int64), np.empty(lanes, np.int64)
    state, low, size = np.empty(lanes, np.int64), np.empty(lanes, np.int64), np.full(lanes, -1)
    weight = np.zeros(lanes)
    for lane in range(lanes):
        sentence[lane], at[lane], state[lane] = first + lane, starts[first + lane], initial
        word[lane] = tokens[at[lane]] if at[lane] < starts[first + lane + 1] else end
    waiting = first + lanes
    while lanes > 0:
        lane = 0
        while lane < lanes:
            here = state[lane]
            if size[lane] < 0:
                if here == ROOT:
                    low[lane], size[lane] = word[lane], 1
                else:
                    low[lane] = contexts[here].first_child
                    size[lane] = contexts[here + 1].first_child - low[lane]
                prefetch(rows, low[lane] + (size[lane] >> 1))
                lane += 1
                continue
            row = _search(rows, low[lane], size[lane], word[lane])
            found = size[lane] > 0 and rows[row].word == word[lane]
            size[lane] = -1
            if not found:
                weight[lane] += contexts[here].backoff
                state[lane] = contexts[here].suffix
            else:
                out[at[lane] + sentence[lane]] = weight[lane] + rows[row].log_probability
                weight[lane], state[lane] = 0.0, rows[row].state
                at[lane] += 1
                if at[lane] > starts[sentence[lane] + 1]:
                    if waiting == last:  # the last lane moves here
                        lanes -= 1
                        sentence[lane], at[lane], word[lane] = sentence[lanes], at[lanes], word[lanes]
                        state[lane], low[lane], size[lane] = state[lanes], low[lanes], size[lanes]
                        weight[lane] = weight[lanes]
                        continue
                    sentence[lane], at[lane], state[lane] = waiting, starts[waiting], initial
                    waiting += 1
                word[lane] = tokens[at[lane]] if at[lane] < starts[sentence[lane] + 1] else end
            if state[lane] != ROOT:
                prefetch(contexts, state[lane])
            lane += 1


@kernel
def _score_stream(model, tokens, state, out):
    for i in range(len(tokens)):
        state, out[i] = step(model, state, tokens[i])
    return state


def score_sentences(
    model: Automaton, tokens: np.ndarray, starts: np.ndarray, initial: int, end: int, workers: int = 1
) -> np.ndarray:
    """Log probability of every token and of ``end`` after every sentence: float64 (n_tokens + n_sentences,).

    The events of sentence i are ``out[starts[i] + i : starts[i + 1] + i + 1]``.
    """
    tokens, starts = frozen(tokens, np.int32), frozen(starts, np.int64)
    out = np.empty(len(tokens) + len(starts) - 1)
    bounds = chunk_bounds(starts + np.arange(len(starts)), _CHUNK >> 3).tolist()
    with ThreadPoolExecutor(max(1, workers)) as pool:
        for future in [
            pool.submit(_score_sentences, model, tokens, starts, first, last, initial, end, out)
            for first, last in itertools.pairwise(bounds)
        ]:
            future.result()
    return out


def score_stream(model: Automaton, tokens: np.ndarray) -> np.ndarray:
    """Log probability of every token of one endless stream without boundaries: float64 (n_tokens,)."""
    tokens = frozen(tokens, np.int32)
    out = np.empty(len(tokens))
    state = ROOT
    for first in range(0, len(tokens), _CHUNK):
        state = _score_stream(model, tokens[first : first + _CHUNK], state, out[first : first + _CHUNK])
    return out


@kernel
def _distribution(model, state, out):
    """Probabilities of all symbols after ``state``: first the unigrams, then longer and longer contexts over them."""
    chain = np.empty(model.order, np.int64)
    depth = 0
    while state != ROOT:
        chain[depth] = state
        depth += 1
        state = np.int64(model.contexts[state].suffix)
    for word in range(len(out)):
        out[word] = np.exp(model.rows[word].log_probability)
    for i in range(depth - 1, -1, -1):
        context = chain[i]
        out *= np.exp(model.contexts[context].backoff)
        for row in range(model.contexts[context].first_child, model.contexts[context + 1].first_child):
            out[model.rows[row].word] = np.exp(model.rows[row].log_probability)


def distribution(model: Automaton, state: int, n_types: int) -> np.ndarray:
    """The probability of every symbol after a state: float64 (n_types,), summing to one."""
    out = np.empty(n_types)
    _distribution(model, state, out)
    return out
