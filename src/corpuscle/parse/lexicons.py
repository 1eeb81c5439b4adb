"""Lexicons: what other models know of words, as hashes that stand beside forms and tags in the features of a parser.

Word classes become the bit strings of their tree, cut after four and six bits and whole (the class itself where there
is no tree); word vectors become the numbers of their clusters, few large and many small ones. A parser keeps hashes of
the words and of these values, so that it needs no other file.

Koo, Carreras and Collins, "Simple semi-supervised dependency parsing", 2008; clusters of vectors as in Guo, Che, Wang
and Liu, "Revisiting embedding features for simple semi-supervised learning", 2014.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from corpuscle.errors import SettingError
from corpuscle.model import Array
from corpuscle.text.hashes import find, hashes_of
from corpuscle.text.preprocessing import Preprocessing
from corpuscle.text.vocab import FIRST, Vocab

if TYPE_CHECKING:
    from corpuscle.words import WordClasses

__all__ = ["LEXICON", "Lexicon"]

_BITS = (4, 6, None)
"""Where the bit strings of classes are cut."""
_CLUSTERS = (48, 400)
"""How many clusters vectors are put into."""
_ROUNDS = 20
LEXICON = {
    "words": Array("uint64", ("words",)),
    "values": Array("uint64", ("layers", "words")),
}


class Lexicon(NamedTuple):
    """Values of words in some layers.

    - ``words``: uint64 (n_words,), hashes of the words, rising; ``values``: uint64 (layers, n_words);
    - ``preprocessing``: how forms are spelled before they are looked up.
    """

    words: np.ndarray
    values: np.ndarray
    preprocessing: Preprocessing

    @classmethod
    def of_values(cls, words: Sequence[str], layers: Sequence[Sequence[str]], preprocessing: Preprocessing) -> Lexicon:
        """From words and their values as strings, layer by layer; each layer has values of its own."""
        hashes = hashes_of(words)
        order = np.argsort(hashes)
        named = [hashes_of([f"{layer} {value}" for value in values]) for layer, values in enumerate(layers)]
        return cls(hashes[order], np.array(named, np.uint64)[:, order], preprocessing)

    @classmethod
    def from_classes(cls, classes: WordClasses) -> Lexicon:
        """The bit strings of word classes, or their numbers where the classes have no tree."""
        known = classes.as_dict()
        if not known:
            raise SettingError("the classes have no words")
        names = [str(number) for number in range(classes.n_classes_)]
        cuts: Sequence[int | None] = (None,)
        if classes.tree_ is not None:
            names, cuts = classes.tree_.paths, _BITS
        layers = [[names[number][:cut] for number in known.values()] for cut in cuts]
        return cls.of_values(list(known), layers, classes.preprocessing)

    @classmethod
    def from_vectors(
        cls, vocab: Vocab, vectors: np.ndarray, preprocessing: Preprocessing | None = None, seed: int = 1
    ) -> Lexicon:
        """The clusters of word vectors, float (len(vocab), dimensions), by k-means of their directions."""
        from sklearn.cluster import KMeans
        from threadpoolctl import threadpool_limits

        rows = np.asarray(vectors[FIRST:], np.float64)
        norms = np.linalg.norm(rows, axis=1)
        known = np.flatnonzero(norms > 0.0)
        if not len(known):
            raise SettingError("the vectors have no words")
        rows, layers = rows[known] / norms[known, None], []
        for wanted in _CLUSTERS:
            means = KMeans(min(wanted, len(known)), n_init=1, max_iter=_ROUNDS, random_state=seed)
            with threadpool_limits(1):  # sums in one order, whatever the machine
                layers.append([str(cluster) for cluster in means.fit(rows).labels_])
        words = [vocab.word(int(id)) for id in known + FIRST]
        return cls.of_values(words, layers, preprocessing or Preprocessing())

    def rows(self, forms: Sequence[str]) -> np.ndarray:
        """The values of words, uint64 (layers, n), 0 for unknown ones."""
        at = find(hashes_of([self.preprocessing.spell(form) for form in forms]), self.words)
        return np.where(at >= 0, self.values[:, at], np.uint64(0))

    def arrays(self) -> dict[str, np.ndarray]:
        """What a model file keeps."""
        return {"words": self.words, "values": self.values}

    @classmethod
    def restored(cls, arrays: Mapping[str, np.ndarray], described: Mapping[str, Any]) -> Lexicon:
        """From a model file and the settings of the preprocessing; ``ValueError`` if they are none."""
        words = arrays["words"]
        if not len(words) or (words[1:] <= words[:-1]).any():
            raise ValueError("the words of a lexicon do not rise")
        try:
            return cls(words, arrays["values"], Preprocessing(**described))
        except (SettingError, TypeError) as error:
            raise ValueError(f"a lexicon was made of text in an unknown way: {error}") from None
