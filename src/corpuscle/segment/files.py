"""How a model file keeps samples of a nested model, and what must hold before a kernel sees them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from corpuscle import model as container
from corpuscle.engine.restaurants.contexts import check_contexts, depths
from corpuscle.segment.chain import sample_arrays
from corpuscle.segment.kernels.state import tree_of

if TYPE_CHECKING:
    from corpuscle.segment.base import Segmenter

__all__ = ["check_model", "model_arrays"]


def model_arrays(extra: Mapping[str, Any]) -> dict[str, container.Array]:
    """The arrays of a model."""
    samples = extra["samples"]
    if type(samples) is not int or not 1 <= samples <= 10**5:
        raise ValueError("it does not say how many samples it has")
    arrays = {**container.VOCAB, **container.TRAINING_ITEMS}
    arrays["history"] = container.Array("float64", ("chains", "sweeps", "columns"))
    for number in range(samples):
        arrays |= sample_arrays(f"sample/{number}/")
    return arrays


def check_sample(sample: Mapping[str, np.ndarray], order: int, max_context: int, max_word: int) -> None:
    """What declarations cannot express about one sample; ``ValueError``."""
    words, letters = tree_of(sample, "words"), tree_of(sample, "letters")
    for tree, deepest in ((words, order - 1), (letters, max_context)):
        check_contexts(tree)
        customers = np.append(0, np.cumsum(tree.customers, dtype=np.int64))[tree.first_entry]
        if np.diff(customers).max() > np.iinfo(np.int32).max:
            raise ValueError("a context has more customers than there can be")
        if depths(tree).max() > deepest:
            raise ValueError("a context is longer than the model looks back")
    if len(sample["words/discounts"]) != order or len(sample["letters/discounts"]) != max_context + 1:
        raise ValueError("a sample has a discount and a strength for every length of context")
    n_words = len(sample["lexicon_starts"]) - 1
    if not np.array_equal(words.dishes[: words.first_entry[1]], np.arange(n_words + 1)):
        raise ValueError("the words without context are not those of the lexicon")
    lengths = np.diff(sample["lexicon_starts"])
    if n_words and not 1 <= lengths.min() <= lengths.max() < sample["factors"].shape[1]:
        raise ValueError("a word is longer than the longest")
    if sample["factors"].shape[1] <= max_word:
        raise ValueError("its lengths do not fit its longest word")
    spelled = sample["lexicon"].astype("<i4").tobytes()
    starts = (4 * sample["lexicon_starts"]).tolist()
    if len({spelled[a:b] for a, b in pairwise(starts)}) != n_words:
        raise ValueError("a word stands twice in the lexicon")
    for name in ("words", "letters"):
        if not (sample[f"{name}/strengths"] + sample[f"{name}/discounts"] > 0).all():
            raise ValueError("a context that passes nothing on")


def check_model(model: Segmenter) -> None:
    """Validate what a file claims to be before any kernel sees it; ``ValueError``."""
    if type(model.max_word_) is not int or model.max_word_ < 1 or type(model.types_) is not bool:
        raise ValueError("it does not say how long its words are")
    if model.chains * model.samples != len(model.samples_) or model.history_.shape[2] != len(model.history_columns()):
        raise ValueError("its settings do not fit its samples or its history")
    marks = model.inner_marks_
    if not isinstance(marks, list) or not all(isinstance(mark, str) for mark in marks):
        raise ValueError("its punctuation marks are no strings")
    for sample in model.samples_:
        check_sample(sample, model.order, model.max_context, model.max_word_)
