"""The catalogue: every task of Corpuscle, said once, and nothing imported.

A task is a group of commands. Its record names its package, its methods with their classes and settings, the kinds of
its model files, its step of ``learn`` and its page. Everything above the ground is named by a string ``"module:name"``,
imported when it is used (``find``). The command line, ``load``, ``warm``, ``learn``, the navigation of the
documentation, the tables of the README and the layers of the linter follow from it, or a test says that they differ.

A new method of a task is its class, its line here, its tests and a paragraph of the task's page. Other installed
packages add methods of tasks, formats of text and metrics, each by an entry point:

    [project.entry-points."corpuscle.methods"]
    "lm.uniform" = "uniform.record:METHOD"        # a ``Method``: train --method uniform, load
    [project.entry-points."corpuscle.formats"]
    subtitles = "subtitles:FORMAT"                # a ``text.formats.Format``: wherever a text is read
    [project.entry-points."corpuscle.metrics"]
    "tag.nouns" = "nouns:accuracy"                # a function of gold and found: a line more of ``tag evaluate``

An entry point is loaded when something asks for what none of ours is, or for all there are; so a record imports nothing
heavy. One that cannot be loaded is said once, and is not there. Our names come first: nobody takes them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, TypeVar

T = TypeVar("T")


@cache
def extensions(group: str) -> Mapping[str, Any]:
    """What other packages add to a group, such as ``methods``, by name."""
    from importlib.metadata import entry_points

    from corpuscle.errors import warn

    found = {}
    for point in sorted(entry_points(group=f"corpuscle.{group}"), key=lambda point: (point.name, point.value)):
        try:
            found[point.name] = point.load()
        except Exception as error:
            warn(f"{point.value} of an installed package cannot be used: {error}")
    return found


class Extended(Mapping[str, T]):
    """What there is of ours, then what other packages add; these are asked only where none of ours will do."""

    def __init__(self, own: Mapping[str, T], more: Callable[[], Mapping[str, T]]):
        self.own, self._more = own, more

    def __getitem__(self, name: str) -> T:
        return self.own[name] if name in self.own else self._more()[name]

    def __iter__(self) -> Iterator[str]:
        yield from self.own
        yield from (name for name in self._more() if name not in self.own)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return bool(self.own) or bool(self._more())


@dataclass(frozen=True)
class Method:
    """A way to learn: ``--method NAME``. ``settings`` is the light class with its declarations, ``learner`` the class
    that learns; where a class serves several methods, its setting ``method`` has their names as choices. ``kinds``:
    of a method of another package, kind of its model files -> class."""

    settings: str
    learner: str
    help: str
    kinds: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """A group of commands.

    - ``help``: one line; ``summary``: a line of the README; ``package``: its home; ``page``: in docs/;
    - ``verbs``: the module with its verbs, from which its commands and views follow;
    - ``methods``: name -> ``Method``, the default first; ``kinds``: kind of model file -> its class;
    - ``kernels``: whether the package has a ``warm()``; ``step``: what ``learn`` does for it, one or several.
    """

    help: str
    summary: str
    package: str
    verbs: str
    page: str
    methods: Mapping[str, Method] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    kernels: bool = True
    step: str = ""


@dataclass(frozen=True)
class Command:
    """A command without actions; ``verb``: what it does, as ``"module:name"``."""

    help: str
    summary: str
    verb: str
    page: str


def _methods(task: str) -> dict[str, Method]:
    """What other packages add to the methods of a task."""
    added = {name.partition("."): method for name, method in extensions("methods").items()}
    return {method: record for (of, _, method), record in added.items() if of == task}


def _kinds(task: str) -> dict[str, str]:
    return {kind: home for method in _methods(task).values() for kind, home in method.kinds.items()}


def _task(
    name: str,
    help: str,
    summary: str,
    *,
    package: str = "",
    methods: Mapping[str, tuple[str, str, str]] | None = None,
    kinds: Mapping[str, str] | None = None,
    kernels: bool = True,
    step: str = "",
    verbs: str = "verbs",
) -> tuple[str, Task]:
    """A task and its name, from which its package (unless that is another), its module of verbs and its page follow.

    ``methods``: name -> class of settings, class that learns, help; ``kinds``: kind -> class; ``verbs``: the module of
    its verbs; all in the package.
    """
    home = f"corpuscle.{package or name}"
    ways = {
        method: Method(f"{home}.settings:{settings}", f"{home}:{learner}", about)
        for method, (settings, learner, about) in (methods or {}).items()
    }
    homes = {kind: f"{home}:{learner}" for kind, learner in (kinds or {}).items()}
    of_all = Extended(ways, partial(_methods, name)) if ways else ways
    of_all_kinds = Extended(homes, partial(_kinds, name)) if homes else homes
    place = " ".join(f"corpuscle.packs.systems.{each}" for each in step.split())
    return name, Task(help, summary, home, f"{home}.{verbs}", f"{name}.md", of_all, of_all_kinds, kernels, place)


_NGRAM = ("NgramSettings", "NgramModel")
_DIRICHLET = ("DirichletSettings", "DirichletSegmenter")
_TRIVIAL = ("TrivialSettings", "TrivialSegmenter")
_METRIC = ("MetricSettings", "MetricModel")
_BRANCHING = ("BranchingSettings", "BranchingParser")
_RANKER = ("RankerSettings", "Ranker")
_FREQUENT = ("BaselineSettings", "BaselineDisambiguator")
_TOPICAL = ("NgramTopicSettings", "NgramTopicModel")

TASKS: dict[str, Task] = dict([
    _task(
        "text",
        "Prepare running text: sentences, tokens, formats.",
        "sentence splitting and tokenisation, reversible; statistics",
        step="interlinear:INTERLINEAR",
    ),
    _task(
        "segment",
        "Word segmentation: where the words are in text without spaces.",
        "words of text without spaces, without a dictionary; with segmented lines where there are any",
        methods={
            "npylm": ("NestedSettings", "NestedSegmenter", "a nested Pitman-Yor language model"),
            "unigram": (*_DIRICHLET, "a Dirichlet process over words"),
            "bigram": (*_DIRICHLET, "a hierarchical Dirichlet process over words"),
            "letters": (*_TRIVIAL, "cut everywhere"),
            "lines": (*_TRIVIAL, "cut nowhere"),
        },
        kinds={
            "segment.npylm": "NestedSegmenter",
            "segment.dirichlet": "DirichletSegmenter",
            "segment.trivial": "TrivialSegmenter",
        },
        step="segmenter:SEGMENTER",
    ),
    _task(
        "lm",
        "Language models: how likely is a sentence, what comes next.",
        "Kneser-Ney, Pitman-Yor, low rank, log-linear and hidden Markov models: train, score, mix, compare, prune",
        methods={
            "mkn": (*_NGRAM, "Kneser-Ney with modified discounts, interpolated"),
            "kn": (*_NGRAM, "Kneser-Ney, interpolated"),
            "backoff-mkn": (*_NGRAM, "Kneser-Ney with modified discounts, back-off"),
            "backoff-kn": (*_NGRAM, "Kneser-Ney, back-off"),
            "absolute": (*_NGRAM, "absolute discounting, interpolated"),
            "hpy": (
                "HpySettings",
                "HpyModel",
                "hierarchical Pitman-Yor processes, of fixed or infinite order, by Gibbs sampling",
            ),
            "hmm": ("HmmSettings", "HmmModel", "a hidden Markov model, by linear algebra or by EM"),
            "plre": ("PlreSettings", "PlreModel", "power low rank ensembles: Kneser-Ney with orders in between"),
            "auto": ("AutoSettings", "AutoModel", "all of them and class n-grams, mixed, and what pays on --dev kept"),
            "cache": ("CacheSettings", "CacheModel", "the words of the document so far, for mixtures"),
            "loglinear": (
                "LogLinearSettings",
                "LogLinearModel",
                "a log-linear model of all contexts, with a convex penalty on their tree",
            ),
        },
        kinds={
            "lm.ngram": "NgramModel",
            "lm.class": "ClassModel",
            "lm.hpy": "HpyModel",
            "lm.hmm": "HmmModel",
            "lm.plre": "PlreModel",
            "lm.cache": "CacheModel",
            "lm.loglinear": "LogLinearModel",
            "lm.mixture": "Mixture",
        },
        step="language_model:LANGUAGE_MODEL",
    ),
    _task(
        "classes",
        "Word classes: which words behave alike.",
        "word classes by exchange and by merging (Brown clusters, bit strings, their tree), or of tokens in context by "
        "hidden Markov models",
        package="words",
        methods={
            "exchange": (
                "ExchangeSettings",
                "ExchangeClasses",
                "move words between classes while the class bigram model gets better",
            ),
            "brown": ("BrownSettings", "BrownClasses", "merge the classes whose merger loses least (Brown clusters)"),
            "hmm": ("HmmSettings", "HmmClasses", "classes that depend on the context, by a hidden Markov model"),
        },
        kinds={"words.exchange": "ExchangeClasses", "words.brown": "BrownClasses", "words.hmm": "HmmClasses"},
        step="word_classes:WORD_CLASSES",
        verbs="verbs.classes",
    ),
    _task(
        "vectors",
        "Word vectors: which words mean alike, as numbers.",
        "word vectors from counts: train, nearest, analogy, similarity, map, apply, export",
        package="words",
        methods={
            "ppmi": ("PpmiSettings", "PpmiVectors", "what stands near a word more often than by chance"),
            "svd": ("SvdSettings", "SvdVectors", "what stands near a word, plain counts"),
            "oscca": ("OsccaSettings", "OsccaVectors", "canonical correlation of words with their contexts"),
            "tscca": ("TsccaSettings", "TsccaVectors", "canonical correlation in two steps, left with right first"),
            "lrmvl": ("LrmvlSettings", "LrmvlVectors", "canonical correlation of contexts of all lengths"),
        },
        kinds={
            "words.ppmi": "PpmiVectors",
            "words.svd": "SvdVectors",
            "words.oscca": "OsccaVectors",
            "words.tscca": "TsccaVectors",
            "words.lrmvl": "LrmvlVectors",
        },
        step="word_vectors:WORD_VECTORS",
        verbs="verbs.vectors",
    ),
    _task(
        "meaning",
        "Meaning: what words mean, alone, in a sentence and in phrases.",
        "what words, tokens in context and phrases mean, as shares of hidden classes; senses, substitutes, maps",
        package="words",
        verbs="verbs.meaning",
    ),
    _task(
        "metric",
        "Metrics: a distance that fits the data.",
        "a distance for texts or vectors, learned from groups of items: retrieval, clustering",
        methods={
            "discriminant": (*_METRIC, "weight the directions in which groups differ more than their items do"),
            "distortion": (*_METRIC, "bring the items of each group as close together as possible"),
            "diagonal": (*_METRIC, "the same with weights of single features only"),
        },
        kinds={"metric.model": "MetricModel"},
    ),
    _task(
        "topics",
        "Topics: language models that adapt to the document at hand.",
        "topics of documents inside language models: train, show, apply, mark, perplexity",
        methods={
            "switching": (*_TOPICAL, "each word comes from a global n-gram model or from that of a topic"),
            "hierarchical": (*_TOPICAL, "topics that lean on a global n-gram model"),
            "hpytm": (*_TOPICAL, "an n-gram model for each topic"),
            "hpylm": (*_TOPICAL, "one n-gram model without topics"),
            "rescaling": (
                "RescalingSettings",
                "RescalingModel",
                "an n-gram model bent towards the topics of the document",
            ),
        },
        kinds={"topics.ngram": "NgramTopicModel", "topics.rescaling": "RescalingModel"},
        step="topics:TOPICS",
    ),
    _task(
        "align",
        "Word alignment: which words translate which.",
        "word alignment: Model 1, diagonal, HMM, fertilities, log-linear features; dictionaries, new sentences",
        methods={
            "fertility": ("FertilitySettings", "Fertility", "the hidden Markov model, then sampling with fertilities"),
            "ibm1": ("Ibm1Settings", "Model1", "every position alike"),
            "diagonal": ("DiagonalSettings", "Diagonal", "links near the diagonal"),
            "hmm": ("HmmSettings", "HMM", "a link depends on the one before it"),
            "loglinear": ("LogLinearSettings", "LogLinear", "any features, also your own"),
        },
        kinds={
            "align.ibm1": "Model1",
            "align.diagonal": "Diagonal",
            "align.hmm": "HMM",
            "align.fertility": "Fertility",
            "align.loglinear": "LogLinear",
            "align.matrix": "MatrixFile",
        },
        step="alignments:ALIGNMENTS",
    ),
    _task(
        "transliterate",
        "Transliteration: write names in another script.",
        "names in another script, learned from a list of pairs: by phrases, by networks, or both together",
        methods={
            "phrase": (
                "PhraseSettings",
                "PhraseTransliterator",
                "phrases of letters, n-gram models and a context model under tuned weights",
            ),
            "neural": ("NeuralSettings", "NeuralTransliterator", "networks that write letter by letter"),
        },
        kinds={
            "transliterate.phrase": "PhraseTransliterator",
            "transliterate.neural": "NeuralTransliterator",
            "transliterate.combined": "CombinedTransliterator",
        },
        step="transliterator:TRANSLITERATOR",
    ),
    _task(
        "translate",
        "Translation: a draft of short sentences.",
        "a draft translator from sentence pairs: phrases and a language model under tuned weights, or networks",
        methods={
            "phrase": ("PhraseSettings", "PhraseTranslator", "phrases of words, an n-gram model, tuned weights"),
            "neural": ("NeuralSettings", "NeuralTranslator", "networks that write pieces of words one by one"),
        },
        kinds={"translate.phrase": "PhraseTranslator", "translate.neural": "NeuralTranslator"},
        step="translator:TRANSLATOR",
    ),
    _task(
        "tag",
        "Tagging: parts of speech, morphology and lemmas of words in sentences.",
        "part-of-speech and morphological taggers with lemmas from a treebank: train, apply, evaluate, jackknife",
        methods={"crf": ("TaggerSettings", "Tagger", "a conditional random field over the likely tags of each word")},
        kinds={"tag.crf": "Tagger"},
        step="tagger:TAGGER",
    ),
    _task(
        "disambiguate",
        "Disambiguation: which analysis of a word is right where it stands.",
        "ranked analyses of words from a treebank and a lexicon: train, apply, evaluate, vocabulary, update",
        methods={
            "full": (*_RANKER, "analyses and their elements with neighbours, weighed"),
            "uni": (*_RANKER, "analyses and their elements without neighbours, weighed"),
            "baseline": (*_RANKER, "whole analyses with neighbours, weighed"),
            "agreement": (*_RANKER, "the votes of elements, each by its own counts"),
            "cheat": ("TwoPassSettings", "TwoPassRanker", "full, then once more with the analyses of neighbours"),
            "viterbi": ("SequenceSettings", "SequenceRanker", "full, then the best sequence of a sentence"),
            "ind": ("PairSettings", "PairRanker", "lemmas, and all else, one by one"),
            "frequency": (*_FREQUENT, "the most frequent analysis of a word"),
            "first": (*_FREQUENT, "the first analysis of a word"),
        },
        kinds={
            "disambiguate.ranker": "Ranker",
            "disambiguate.twopass": "TwoPassRanker",
            "disambiguate.sequence": "SequenceRanker",
            "disambiguate.pairs": "PairRanker",
            "disambiguate.baseline": "BaselineDisambiguator",
        },
        step="disambiguator:DISAMBIGUATOR",
    ),
    _task(
        "parse",
        "Dependency parsing: which word depends on which.",
        "dependency parsers from a treebank or from translations: train, project, boost, rerank, apply, evaluate, draw",
        methods={
            "mst": ("MstSettings", "MstParser", "the best tree under weights of arcs and neighbouring modifiers"),
            "pairs": ("PairSettings", "PairParser", "the best tree by how likely each word is the head of another"),
            "left": (*_BRANCHING, "every word hangs on the next one"),
            "right": (*_BRANCHING, "every word hangs on the one before it"),
        },
        kinds={
            "parse.mst": "MstParser",
            "parse.rerank": "Reranker",
            "parse.pairs": "PairParser",
            "parse.projected": "ProjectedParser",
            "parse.boosted": "BoostedParser",
            "parse.branching": "BranchingParser",
        },
        step="parser:PARSER parser:PROJECTED",
    ),
    _task(
        "normalise",
        "Normalisation: messages typed in a hurry, back to standard spelling.",
        "hurried messages back to standard spelling, from a word list and text or from annotated messages",
        methods={"ranker": ("NormaliserSettings", "Normaliser", "candidates by letters and sound, ranked in context")},
        kinds={"normalise.ranker": "Normaliser"},
        step="normaliser:NORMALISER",
    ),
    _task(
        "entities",
        "Entities: who, what and where in text, also in several pieces.",
        "mentions in text, also with gaps and shared words, from annotated documents: train, apply, evaluate, draw",
        methods={
            "crf": ("CrfSettings", "CrfTagger", "a conditional random field over words and what is around them"),
            "dictionary": ("DictionarySettings", "DictionaryTagger", "the longest strings that were mentions before"),
        },
        kinds={"entities.crf": "CrfTagger", "entities.dictionary": "DictionaryTagger"},
        step="entities:ENTITIES",
    ),
    _task(
        "grammar",
        "Grammars: how sentences are built, in constituent trees.",
        "constituent trees from a treebank or from text without trees: train, induce, parse, evaluate, draw, marginals",
        methods={
            "spectral": ("SpectralSettings", "SpectralGrammar", "hidden states from moments of features, in one pass"),
            "em": ("EmSettings", "EmGrammar", "hidden states by expectation-maximisation"),
            "pcfg": ("PcfgSettings", "Pcfg", "relative frequencies of the treebank's rules"),
            "treemetric": ("TreeMetricSettings", "TreeMetric", "the shortest tree by how words co-vary"),
            "ccm": ("CcmSettings", "ConstituentContext", "strings of tags and their contexts, by EM"),
        },
        kinds={
            "grammar.pcfg": "Pcfg",
            "grammar.em": "EmGrammar",
            "grammar.spectral": "SpectralGrammar",
            "grammar.treemetric": "TreeMetric",
            "grammar.ccm": "ConstituentContext",
            "grammar.common": "CommonGrammar",
        },
        step="grammar:GRAMMAR grammar:BRACKETS",
    ),
    _task(
        "samples",
        "A made-up language whose truth is known, to try things on.",
        "a generated language with all gold layers",
        kernels=False,
    ),
    _task(
        "pack",
        "Packs: check one, send one, compare two, read one without a server.",
        "a pack checked, as one reproducible file, beside another one, as pages to read",
        package="packs",
        kernels=False,
    ),
])
"""Name -> task, in the order in which ``learn`` does their steps."""

COMMANDS: dict[str, Command] = {
    "learn": Command(
        "Learn everything that a folder of files allows.",
        "everything that a folder of files allows, with a report",
        verb="corpuscle.packs.verbs:learn",
        page="learn.md",
    ),
    "serve": Command(
        "Look at a pack, or one model, in the browser; annotate, learn again.",
        "a pack or a model in the browser: views of a text, annotation, learning again",
        verb="corpuscle.cli.verbs:serve",
        page="workbench.md",
    ),
    "info": Command(
        "Show what is in a model file.",
        "what is in a model file",
        verb="corpuscle.cli.verbs:info",
        page="data-model.md",
    ),
    "warm": Command(
        "Compile the kernels of a task now instead of at its first use.",
        "compile kernels ahead of first use",
        verb="corpuscle.cli.verbs:warm",
        page="data-model.md",
    ),
}


def home_of(kind: str) -> str | None:
    """The class of a kind of model file, if there is such a kind."""
    ours = (getattr(task.kinds, "own", task.kinds) for task in TASKS.values())
    own = next((kinds[kind] for kinds in ours if kind in kinds), None)
    return own or next((task.kinds[kind] for task in TASKS.values() if kind in task.kinds), None)


def find(place: str) -> Any:
    """What a string ``"module:name"`` stands for."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)
