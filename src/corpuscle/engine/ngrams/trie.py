"""N-grams of all orders as one trie in flat arrays, and back-off language models over it: look-up, steps, scores.

The one idea: rows. The m-grams of a text, in lexicographic order, are numbered one after the other, order by order, and
an m-gram's context is the row of an (m-1)-gram. So the words that follow a context are a contiguous, sorted range of
rows (``first_child``), dropping the oldest word is one array access (``suffix``), and a decoder's language-model state
is a single integer. Unigram rows are the symbol ids themselves; the empty context is the state ``ROOT``.

Low rank shares. Between order m and order m - 1 of a model may stand ``eta`` *layers*, which give words a share after
a context that never saw them. In layer j the context u h and the n-gram h w, both rows of the trie of the same order,
m - 1, have a vector of ``ranks[m - 2, j]`` numbers each. Scaled, their product is the share of the probability of w
after u h that this layer has.

Back-off: Katz, "Estimation of probabilities from sparse data for the language model component of a speech recognizer",
1987; tries of n-grams: Heafield, "KenLM: faster and smaller language model queries", 2011; layers: Parikh,
Saluja, Dyer and Xing, "Language modeling with power low rank ensembles", 2014, section 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel, part, prefetch
from corpuscle.scale import each

ROOT = -1
"""The state of the empty context."""

_CHUNK = 1 << 18
_LANES = 32


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

    def arrays(self) -> dict[str, np.ndarray]:
        return self._asdict()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Ngrams:
        return frozen_ngrams(*(arrays[name] for name in cls._fields))


class BackoffTables(NamedTuple):
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


CONTEXT_TYPE = np.dtype([("backoff", np.float64), ("first_child", np.int32), ("suffix", np.int32)])
ROW_TYPE = np.dtype([("log_probability", np.float64), ("state", np.int32)])


class Layers(NamedTuple):
    """The layers of all orders; a model without any has no ``ranks``.

    - ``levels``: int64 (order,), the contexts of order m - 1 are the rows ``levels[m - 2]`` to ``levels[m - 1]``;
    - ``ranks``: int64 (order - 1, eta), how long the vectors are; 0 where there is no layer;
    - ``vectors``: float32 (2, size), those of all rows, the layers of a row side by side: as n-gram h w (``WORD``) and
      as context u h (``CONTEXT``);
    - ``scales``: float64 (2, contexts, eta); 0 where a row has no part in a layer.
    """

    levels: np.ndarray
    ranks: np.ndarray
    vectors: np.ndarray
    scales: np.ndarray


WORD, CONTEXT = 0, 1


def frozen_layers(*arrays: np.ndarray) -> Layers:
    """Layers of these arrays, in the order of the fields of ``Layers``."""
    return Layers(*map(frozen, arrays, (np.int64, np.int64, np.float32, np.float64)))


NO_LAYERS = frozen_layers(np.zeros(0), np.zeros((0, 0)), np.zeros((2, 0)), np.zeros((2, 0, 0)))


class Automaton(NamedTuple):
    """The same model laid out for reading text: what is needed together stands together, in one cache line.

    - ``contexts``: CONTEXT_TYPE (context_rows + 1,), of which the last only ends the range of children before it;
    - ``words``: int32 (rows,), apart from the rest because a search reads many of them;
    - ``rows``: ROW_TYPE (rows,), with the state after an n-gram: its longest suffix that is a context which matters,
      because it has continuations or a back-off weight;
    - ``layers``: what the last context that does not know a word gives to it in addition to the back-off; most models
      have none.
    """

    order: int
    contexts: np.ndarray
    words: np.ndarray
    rows: np.ndarray
    layers: Layers


def chunk_bounds(starts: np.ndarray, size: int = _CHUNK) -> np.ndarray:
    """Cut rows into chunks of about ``size`` items each, by data alone: int64 row bounds."""
    targets = np.arange(0, int(starts[-1]) + 1, size, dtype=starts.dtype)  # another type would copy all of ``starts``
    return np.unique(np.append(np.searchsorted(starts, targets).clip(max=len(starts) - 1), [0, len(starts) - 1]))


def frozen_ngrams(*arrays: np.ndarray) -> Ngrams:
    """N-grams of these arrays, in the order of the fields of ``Ngrams``."""
    return Ngrams(*(frozen(array, np.int64 if i == 0 else np.int32) for i, array in enumerate(arrays)))


def frozen_tables(*arrays: np.ndarray) -> BackoffTables:
    """A back-off model of these arrays, in the order of the fields of ``BackoffTables``."""
    types = (np.int64, np.int32, np.int32, np.int32, np.float64, np.float64)
    return BackoffTables(*map(frozen, arrays, types))


def linked_tables(
    levels: np.ndarray, words: np.ndarray, first_child: np.ndarray, log_probability: np.ndarray, backoff: np.ndarray
) -> BackoffTables:
    """A back-off model of these arrays, which finds the suffixes itself."""
    return frozen_tables(levels, words, first_child, suffixes_of(words, first_child), log_probability, backoff)


def suffixes_of(words: np.ndarray, first_child: np.ndarray) -> np.ndarray:
    """The row of the longest proper suffix of every row that is an n-gram, too: int32 (rows,)."""
    suffix = np.full(len(words), ROOT, np.int32)
    _find_suffixes(frozen(words, np.int32), frozen(first_child, np.int32), suffix)
    return suffix


def truncate(ngrams: Ngrams, order: int) -> Ngrams:
    """The same counts up to a lower order (views)."""
    rows, contexts = int(ngrams.levels[order]), int(ngrams.levels[order - 1])
    first_child = ngrams.first_child[: contexts + 1] if order > 1 else np.zeros(1, np.int32)
    kept = ngrams.words[:rows], first_child, ngrams.suffix[:rows], ngrams.counts[:rows]
    return frozen_ngrams(ngrams.levels[: order + 1], *kept)


def log_tables(ngrams: Ngrams, probability: np.ndarray, backoff: np.ndarray) -> BackoffTables:
    """The tables of a model from its probabilities and back-off weights, float64, which become logs in place."""
    with np.errstate(divide="ignore"):
        np.log(probability, out=probability)
        np.log(backoff, out=backoff)
    return frozen_tables(ngrams.levels, ngrams.words, ngrams.first_child, ngrams.suffix, probability, backoff)


@part(bare=True)
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
def _find_suffixes(words, first_child, suffix):
    """Fill in the longest proper suffix of every row but unigrams: an ending of its context, followed by its word."""
    for context in range(len(first_child) - 1):
        for row in range(first_child[context], first_child[context + 1]):
            ending, found = suffix[context], np.int64(-1)
            while ending >= 0 and found < 0:
                found = find(words, first_child[ending], first_child[ending + 1], words[row])
                ending = suffix[ending]
            suffix[row] = found if found >= 0 else words[row]


@kernel
def children_rise(words, first_child):
    """Whether the words after every context rise; ``first_child`` rises and does not exceed the number of rows."""
    for context in range(len(first_child) - 1):
        for row in range(first_child[context] + 1, first_child[context + 1]):
            if words[row] <= words[row - 1]:
                return False
    return True


@part
def find_ngram(words, first_child, gram):
    """The row of an n-gram (an array of symbols), or -1."""
    row = np.int64(gram[0])
    for k in range(1, len(gram)):
        if row >= len(first_child) - 1:
            return np.int64(-1)
        row = find(words, np.int64(first_child[row]), np.int64(first_child[row + 1]), gram[k])
        if row < 0:
            break
    return row


@kernel
def _look_up(words, first_child, grams, rows):
    for i in range(len(grams)):
        rows[i] = find_ngram(words, first_child, grams[i])


def look_up(ngrams: Ngrams | BackoffTables, grams: np.ndarray) -> np.ndarray:
    """The rows of many n-grams of one order, (n, order) symbols: int64 (n,), -1 where there is none."""
    rows = np.empty(len(grams), np.int64)
    _look_up(ngrams.words, ngrams.first_child, frozen(grams, np.int64), rows)
    return rows


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
        if row < last and (tables.first_child[row] < tables.first_child[row + 1] or tables.backoff[row] != 0.0):
            rows[row].state = row
        elif tables.suffix[row] == ROOT:
            rows[row].state = ROOT
        else:
            rows[row].state = rows[tables.suffix[row]].state


def automaton(tables: BackoffTables, layers: Layers | None = None) -> Automaton:
    """Lay a model out for reading text."""
    contexts, rows = np.empty(len(tables.backoff) + 1, CONTEXT_TYPE), np.empty(len(tables.words), ROW_TYPE)
    _fill_automaton(tables, contexts, rows)
    return Automaton(tables.order, contexts, tables.words, rows, layers or NO_LAYERS)


@part(bare=True)
def layer_share(layers, context, row):
    """S(u h, h w) / a(u h): the probability that all layers of an order add for n-gram ``row`` after ``context``."""
    order, base = 0, np.int64(0)
    while True:
        width = np.int64(0)
        for j in range(layers.ranks.shape[1]):
            width += layers.ranks[order, j]
        if context < layers.levels[order + 1]:
            break
        base += (layers.levels[order + 1] - layers.levels[order]) * width
        order += 1
    here = base + (context - layers.levels[order]) * width
    there = base + (row - layers.levels[order]) * width
    total = 0.0
    for j in range(layers.ranks.shape[1]):
        scale, rank = layers.scales[CONTEXT, context, j] * layers.scales[WORD, row, j], layers.ranks[order, j]
        if scale > 0:
            product = 0.0
            for k in range(rank):
                product += np.float64(layers.vectors[CONTEXT, here + k]) * np.float64(layers.vectors[WORD, there + k])
            total += scale * product
        here += rank
        there += rank
    return total


@part(bare=True)
def _backed_off(model, weight, last, passed, row):
    """The log probability of n-gram ``row`` after contexts that do not know it have been passed, ``passed`` with the
    back-off weight ``last`` as the last of them, those before it with ``weight``."""
    if passed != ROOT and len(model.layers.ranks) > 0:
        share = layer_share(model.layers, passed, row)
        if share > 0:
            return weight + np.log(np.exp(last + model.rows[row].log_probability) + share)
    return weight + last + model.rows[row].log_probability


@part(bare=True)
def step(model, state, word):
    """Read one word: ``(state after it, natural log of its probability)``.

    Decoders call this inside their own kernels, from a state that ``step`` or ``state_of`` gave, or from ``ROOT``.
    """
    state, row, weight, last, passed = np.int64(state), np.int64(word), 0.0, 0.0, np.int64(ROOT)
    while state != ROOT:
        context = model.contexts[state]
        low = np.int64(context.first_child)
        size = model.contexts[state + 1].first_child - low
        while size > 1:  # find the last row whose word is not above this one, without branches
            half = size >> 1
            low += half * (model.words[low + half] <= word)
            size -= half
        if size == 1 and model.words[low] == word:
            row = low
            break
        weight, last, passed = weight + last, context.backoff, state
        state = np.int64(context.suffix)
    return np.int64(model.rows[row].state), _backed_off(model, weight, last, passed, row)


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
    with a sentence of its own, that take turns, and a turn asks for the memory that the lane's next turn will need.
    ``size`` says what comes next: below 0, the context ``state`` is opened; above 1, the range of ``size`` rows from
    ``low`` on is halved; 1, the row that is left is compared with the word; 0, ``low`` is the row of the word.
    """
    contexts, words, rows = model.contexts, model.words, model.rows
    lanes = min(_LANES, last - first)
    sentence, at, word = np.empty(lanes, np.int64), np.empty(lanes, np.int64), np.empty(lanes, np.int64)
    state, low, size = np.empty(lanes, np.int64), np.empty(lanes, np.int64), np.full(lanes, -1)
    weight, weight_of_last, passed = np.zeros(lanes), np.zeros(lanes), np.full(lanes, ROOT)
    for lane in range(lanes):
        sentence[lane], at[lane], state[lane] = first + lane, starts[first + lane], initial
        word[lane] = tokens[at[lane]] if at[lane] < starts[first + lane + 1] else end
    waiting = first + lanes
    while lanes > 0:
        lane = 0
        while lane < lanes:
            here = state[lane]
            if size[lane] > 1:
                half = size[lane] >> 1
                low[lane] += half * (words[low[lane] + half] <= word[lane])
                size[lane] -= half
                prefetch(words, low[lane] + (size[lane] >> 1))
            elif size[lane] < 0 and here == ROOT:
                low[lane], size[lane] = word[lane], 0
                prefetch(rows, low[lane])
            elif size[lane] < 0 and contexts[here].first_child < contexts[here + 1].first_child:
                low[lane] = contexts[here].first_child
                size[lane] = contexts[here + 1].first_child - low[lane]
                prefetch(words, low[lane] + (size[lane] >> 1))
            elif size[lane] == 1 and words[low[lane]] == word[lane]:
                size[lane] = 0
                prefetch(rows, low[lane])
            elif size[lane] != 0:
                weight[lane] += weight_of_last[lane]
                weight_of_last[lane], passed[lane] = contexts[here].backoff, here
                state[lane], size[lane] = contexts[here].suffix, -1
                prefetch(contexts, max(0, state[lane]))
            else:
                event = at[lane] + sentence[lane]
                out[event] = _backed_off(model, weight[lane], weight_of_last[lane], passed[lane], low[lane])
                weight[lane], weight_of_last[lane], passed[lane] = 0.0, 0.0, ROOT
                state[lane], size[lane] = rows[low[lane]].state, -1
                at[lane] += 1
                if at[lane] > starts[sentence[lane] + 1]:
                    if waiting == last:  # the last lane moves here
                        lanes -= 1
                        sentence[lane], at[lane], word[lane] = sentence[lanes], at[lanes], word[lanes]
                        state[lane], low[lane], size[lane] = state[lanes], low[lanes], size[lanes]
                        weight[lane], weight_of_last[lane] = weight[lanes], weight_of_last[lanes]
                        passed[lane] = passed[lanes]
                        continue
                    sentence[lane], at[lane], state[lane] = waiting, starts[waiting], initial
                    waiting += 1
                word[lane] = tokens[at[lane]] if at[lane] < starts[sentence[lane] + 1] else end
                prefetch(contexts, max(0, state[lane]))
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
    bounds = chunk_bounds(starts + np.arange(len(starts)), _CHUNK >> 2).tolist()

    def score(chunk: tuple[int, int]) -> None:
        _score_sentences(model, tokens, starts, chunk[0], chunk[1], initial, end, out)

    each(score, list(pairwise(bounds)), workers)
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
        if len(model.layers.ranks) > 0:
            below = np.int64(model.contexts[context].suffix)
            first = 0 if below == ROOT else model.contexts[below].first_child
            last = len(out) if below == ROOT else model.contexts[below + 1].first_child
            for row in range(first, last):
                out[model.words[row]] += layer_share(model.layers, context, row)
        for row in range(model.contexts[context].first_child, model.contexts[context + 1].first_child):
            out[model.words[row]] = np.exp(model.rows[row].log_probability)


def distribution(model: Automaton, state: int, n_types: int) -> np.ndarray:
    """The probability of every symbol after a state: float64 (n_types,), summing to one."""
    out = np.empty(n_types)
    _distribution(model, state, out)
    return out


def top_continuations(model: Automaton, state: int, ranked: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k likeliest symbols after a state and their log probabilities, without computing those of all others.

    ``ranked``: unigram rows by falling probability. A word that none of the contexts knows keeps its place among the
    unigrams, so the best k are among the continuations of the contexts and the first k other unigrams.
    """
    words, scores, weight = [np.empty(0, np.int64)], [np.empty(0)], 0.0
    while state != ROOT:
        context = model.contexts[state]
        rows = slice(context["first_child"], model.contexts[state + 1]["first_child"])
        words.append(model.words[rows].astype(np.int64))
        scores.append(weight + model.rows[rows]["log_probability"])
        weight += float(context["backoff"])
        state = int(context["suffix"])
    known, first = np.unique(np.concatenate(words), return_index=True)  # the longest context has the first say
    others = ranked[: k + len(known)]
    others = others[~np.isin(others, known)][:k]
    candidates = np.concatenate([known, others])
    values = np.concatenate([np.concatenate(scores)[first], weight + model.rows["log_probability"][others]])
    best = np.lexsort((candidates, -values))[:k]
    return candidates[best], values[best]
