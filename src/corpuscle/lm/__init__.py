"""Language models: how likely is a sentence, how surprising a word, what comes next.

- ``NgramModel``: absolute discounting and the Kneser-Ney family, interpolated or back-off, plain or modified;
- ``HpyModel``: hierarchical Pitman-Yor models of fixed or infinite order, by Gibbs sampling;
- ``HmmModel``: hidden Markov models, by linear algebra or by EM;
- ``PlreModel``: power low rank ensembles, Kneser-Ney with low rank orders in between;
- ``LogLinearModel``: log-linear models on suffix trees, with penalties on single weights or on trees of them;
- ``ClassModel``: n-grams of word classes;
- ``CacheModel``: the words of the document so far, for mixtures;
- ``Mixture``: a weighted mean of models; ``AutoModel``: one of those that pay on a development text;
- ``read_arpa``, ``write_arpa``: exchange with other tools; ``compare``: a paired test of two models.

All models are ``LanguageModel``: ``fit``, ``perplexity``, ``surprisals``, ``next_words``, ``sample``, ``save``.
"""

from typing import TYPE_CHECKING

from corpuscle.lazy import contents

if TYPE_CHECKING:
    from corpuscle.lm.arpa import read_arpa, write_arpa
    from corpuscle.lm.base import (
        Events,
        LanguageModel,
        SentenceScores,
        Surprisals,
        compare,
        compare_events,
        find_markup,
    )
    from corpuscle.lm.classes import ClassModel
    from corpuscle.lm.hmm import HmmModel
    from corpuscle.lm.loglinear import LogLinearModel
    from corpuscle.lm.mixture import AutoModel, CacheModel, Mixture
    from corpuscle.lm.ngram import NgramModel
    from corpuscle.lm.pitman_yor import HpyModel
    from corpuscle.lm.plre import PlreModel
    from corpuscle.lm.verbs import warm

__all__, __getattr__, __dir__ = contents(__name__, __file__)
