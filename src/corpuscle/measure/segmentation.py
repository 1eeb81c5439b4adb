"""Word segmentation against gold words: the same characters, cut at the same places?

Three things are counted, each as precision, recall and F1:

- *tokens*: a found word is right when both its edges are edges of one gold word;
- *boundaries*: the cuts between two words of a sentence; its two ends are given, so they do not count;
- *lexicon*: the distinct words, wherever they stand.

Sentences are what is resampled for the intervals of tokens and boundaries. The lexicon has none: sentences drawn again
with replacement have fewer distinct words, so the drawn figures would be biased.
"""

from __future__ import annotations

import numpy as np

from corpuscle.measure.bootstrap import compare_f1, precision_recall, share
from corpuscle.measure.result import Comparison, Result, Shown, resampled, signature
from corpuscle.text.corpus import Corpus, characters_of_types, starts_of
from corpuscle.text.vocab import FIRST, MARKUP, UNKNOWN
from corpuscle.text.wording import percent

SEGMENTATION = (
    Shown("f1", "words F1"), Shown("precision", "precision"), Shown("recall", "recall"),
    Shown("boundary_f1", "boundaries F1"), Shown("lexicon_f1", "lexicon F1"), Shown("words", "words", ","),
    Shown("sentences", "sentences", ","),
)  # fmt: skip

_CHUNK = 1 << 20


class OtherText(ValueError):
    """Two segmentations are not of the same text; ``sentence`` is the first that differs, counted from 0."""

    def __init__(self, sentence: int, reason: str):
        self.sentence = sentence
        super().__init__(f"sentence {sentence + 1}: {reason}")


def _spelling(corpus: Corpus) -> tuple[np.ndarray, np.ndarray]:
    """The UTF-8 of all ids and where each begins; literal markup such as ``<unk>`` is spelled as it is written."""
    markup = "".join(MARKUP).encode()
    offsets = np.concatenate([starts_of(len(word) for word in MARKUP)[:-1], corpus.vocab.offsets + len(markup)])
    return np.concatenate([np.frombuffer(markup, np.uint8), corpus.vocab.bytes]), offsets


def _edges(corpus: Corpus) -> np.ndarray:
    """Where each word begins in the bytes of the text, and the end of the last: int64 (n_tokens + 1,)."""
    return starts_of(np.diff(_spelling(corpus)[1])[corpus.tokens])


def _check_same_text(gold: Corpus, found: Corpus, gold_edges: np.ndarray, found_edges: np.ndarray) -> None:
    """Both consist of the same sentences of the same characters, or ``OtherText``."""
    ends, other = gold_edges[gold.sentence_starts], found_edges[found.sentence_starts]
    common = min(len(ends), len(other))
    differing = np.flatnonzero(ends[:common] != other[:common])
    # Up to here all sentences have the same lengths; what lies behind cannot be compared byte by byte.
    same = int(differing[0]) - 1 if len(differing) else common - 1
    texts = [(corpus, *_spelling(corpus), edges) for corpus, edges in ((gold, gold_edges), (found, found_edges))]
    for first in range(0, int(ends[same]), _CHUNK):
        last = min(first + _CHUNK, int(ends[same]))
        a, b = (_bytes(*text, first, last) for text in texts)
        if not np.array_equal(a, b):
            at = first + int(np.flatnonzero(a != b)[0])
            raise OtherText(int(np.searchsorted(ends, at, "right")) - 1, "other characters than in the gold text")
    if len(differing):
        raise OtherText(same, "not as many characters as in the gold text")
    if len(ends) != len(other):
        raise OtherText(common - 1, f"gold text of {len(ends) - 1} sentences, but {len(other) - 1} were segmented")


def _bytes(
    corpus: Corpus, spelling: np.ndarray, offsets: np.ndarray, edges: np.ndarray, first: int, last: int
) -> np.ndarray:
    """The bytes ``first`` to ``last`` of a text, words run together."""
    begin = int(np.searchsorted(edges, first, "right")) - 1
    end = int(np.searchsorted(edges, last, "left"))
    tokens = corpus.tokens[begin:end]
    source = np.repeat(offsets[tokens] - edges[begin:end], np.diff(edges[begin : end + 1]))
    source += np.arange(edges[begin], edges[end])
    return spelling[source[first - edges[begin] : last - edges[begin]]]


def segmentation_counts(gold: Corpus, found: Corpus) -> tuple[np.ndarray, np.ndarray]:
    """Counts by sentence, int64 (n_sentences, 3) each: right, found and gold words, and the same of boundaries.

    Both are corpora of words, one sentence per line; ``OtherText`` if their characters differ.
    """
    gold_edges, found_edges = _edges(gold), _edges(found)
    _check_same_text(gold, found, gold_edges, found_edges)
    # Words are not empty, so their beginnings rise: each found word has at most one gold word that ends with it.
    place = np.searchsorted(gold_edges[1:], found_edges[1:])
    ends = gold_edges[1:][place] == found_edges[1:]
    right = ends & (gold_edges[:-1][place] == found_edges[:-1])

    def by_sentence(flags: np.ndarray) -> np.ndarray:
        return np.diff(np.concatenate([[0], np.cumsum(flags)])[found.sentence_starts])

    tokens = np.column_stack([by_sentence(right), found.lengths, gold.lengths])
    full = (gold.lengths > 0).astype(np.int64)  # every sentence with words has one end that is no inner boundary
    return tokens, np.column_stack([by_sentence(ends), found.lengths, gold.lengths]) - full[:, None]


def _lexicon(gold: Corpus, found: Corpus) -> tuple[int, int, int]:
    """Distinct words: common, found, gold."""
    in_gold = np.bincount(gold.tokens, minlength=len(gold.vocab)) > 0
    types = np.flatnonzero(np.bincount(found.tokens, minlength=len(found.vocab)) > 0)
    mapped = gold.vocab.mapping_from(found.vocab)[types]
    known = (types < FIRST) | (mapped != UNKNOWN)
    return int((in_gold[mapped] & known).sum()), len(types), int(in_gold.sum())


def segmentation_scores(gold: Corpus, found: Corpus, *, draws: int = 1000, seed: int = 1) -> Result:
    """Tokens, boundaries and lexicon against gold; the headline interval is that of the tokens' F1.

    Figures: ``precision``, ``recall``, ``f1`` (tokens), the same with ``boundary_`` and ``lexicon_`` before them, the
    first two groups also with ``_low`` and ``_high``; ``word_length`` and ``gold_word_length``, the mean in
    characters; the counts ``words``, ``gold_words``, ``lexicon``, ``gold_lexicon``, ``characters``, ``sentences``.

    >>> gold = Corpus.from_sentences([["the", "cat", "sat"]])
    >>> scores = segmentation_scores(gold, Corpus.from_sentences([["the", "cats", "at"]]))
    >>> round(scores["f1"], 3), scores["boundary_f1"], round(scores["lexicon_f1"], 3)
    (0.333, 0.5, 0.333)
    """
    tokens, boundaries = segmentation_counts(gold, found)
    if len(tokens) == 0:
        raise ValueError("there is no sentence to score")
    figures: dict[str, float | int] = {}
    of_tokens = precision_recall(*tokens.T, of="words", draws=draws, seed=seed)
    of_boundaries = precision_recall(*boundaries.T, of="boundaries", draws=draws, seed=seed)
    for prefix, result in (("", of_tokens), ("boundary_", of_boundaries)):
        for name in ("precision", "recall", "f1"):
            figures |= {f"{prefix}{name}{end}": result[name + end] for end in ("", "_low", "_high")}
    common, of_found, of_gold = _lexicon(gold, found)
    ratios = {"precision": of_found, "recall": of_gold, "f1": (of_found + of_gold) / 2}
    figures |= {f"lexicon_{name}": float(share(common, whole)) for name, whole in ratios.items()}
    lengths = np.concatenate([[len(word) for word in MARKUP], characters_of_types(gold.vocab)])
    characters = int(lengths[gold.tokens].sum())
    figures |= {
        "word_length": characters / found.n_tokens if found.n_tokens else float("nan"),
        "gold_word_length": characters / gold.n_tokens if gold.n_tokens else float("nan"),
        "words": found.n_tokens,
        "gold_words": gold.n_tokens,
        "lexicon": of_found,
        "gold_lexicon": of_gold,
        "characters": characters,
        "sentences": len(gold),
    }
    how = signature("segmentation", boundaries="inner", interval=resampled("sentences", draws, seed))
    return Result(figures, of_tokens.interval, how, SEGMENTATION, _text)


def _text(result: Result) -> str:
    lines = [
        f"{name:<11}precision {percent(result[prefix + 'precision'])}, recall {percent(result[prefix + 'recall'])}, "
        f"F1 {percent(result[prefix + 'f1'])}"
        for name, prefix in (("words", ""), ("boundaries", "boundary_"), ("lexicon", "lexicon_"))
    ]
    interval = f"{percent(result['f1_low'])} to {percent(result['f1_high'])}"
    return "\n".join([*lines, f"95 % interval of the words' F1: {interval}"])


def compare_segmentations(gold: Corpus, one: Corpus, other: Corpus, *, draws: int = 1000, seed: int = 1) -> Comparison:
    """The tokens' F1 of one segmentation minus that of the other, by paired bootstrap over sentences."""
    a, b = segmentation_counts(gold, one)[0], segmentation_counts(gold, other)[0]
    return compare_f1(a, b, draws=draws, seed=seed, items="sentences")
