"""The catalogue: every task of Corpuscle, said once, and nothing imported.

A task is a group of commands. Its record names its package, its methods with their classes and settings, the kinds of
its model files, its step of ``learn`` and its page. Everything above the ground is named by a string ``"module:name"``,
imported when it is used (``find``). The command line, ``load``, ``warm``, ``learn``, the navigation of the
documentation, the tables of the README and the layers of the linter follow from it, or a test says that they differ.

A new method of a task is its class, its line here, its tests and a paragraph of the task's page.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["COMMANDS", "TASKS", "Command", "Method", "Task", "find", "home_of"]


@dataclass(frozen=True)
class Method:
    """A way to learn: ``--method NAME``. ``settings`` is the light class with its declarations, ``learner`` the class
    that learns; where a class serves several methods, its setting ``method`` has their names as choices."""

    settings: str
    learner: str
    help: str


@dataclass(frozen=True)
class Task:
    """A group of commands.

    - ``help``: one line; ``summary``: a line of the README; ``package``: its home; ``commands``: the module with its
      ``group``; ``page``: in docs/;
    - ``methods``: name -> ``Method``, the default first; ``kinds``: kind of model file -> its class;
    - ``kernels``: whether the package has a ``warm()``; ``step``: what ``learn`` does for it.
    """

    help: str
    summary: str
    package: str
    commands: str
    page: str
    methods: Mapping[str, Method] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    kernels: bool = True
    step: str = ""


@dataclass(frozen=True)
class Command:
    """A command without actions: ``commands`` is the module that has it by its name."""

    help: str
    summary: str
    commands: str
    page: str


def _ngram(help: str) -> Method:
    return Method("corpuscle.lm.settings:NgramSettings", "corpuscle.lm:NgramModel", help)


def _dirichlet(help: str) -> Method:
    return Method("corpuscle.segment.settings:DirichletSettings", "corpuscle.segment:DirichletSegmenter", help)


def _trivial(help: str) -> Method:
    return Method("corpuscle.segment.settings:TrivialSettings", "corpuscle.segment:TrivialSegmenter", help)


def _topical(help: str) -> Method:
    return Method("corpuscle.topics.settings:NgramTopicSettings", "corpuscle.topics:NgramTopicModel", help)


TASKS: dict[str, Task] = {
    "text": Task(
        "Prepare running text: sentences, tokens, formats.",
        "sentence splitting and tokenisation, reversible; statistics",
        package="corpuscle.text",
        commands="corpuscle.cli.text",
        page="text.md",
    ),
    "segment": Task(
        "Word segmentation: where the words are in text without spaces.",
        "words of text without spaces, without a dictionary; with segmented lines where there are any",
        package="corpuscle.segment",
        commands="corpuscle.cli.segment",
        page="segment.md",
        methods={
            "npylm": Method(
                "corpuscle.segment.settings:NestedSettings",
                "corpuscle.segment:NestedSegmenter",
                "a nested Pitman-Yor language model",
            ),
            "unigram": _dirichlet("a Dirichlet process over words"),
            "bigram": _dirichlet("a hierarchical Dirichlet process over words"),
            "letters": _trivial("cut everywhere"),
            "lines": _trivial("cut nowhere"),
        },
        kinds={
            "segment.npylm": "corpuscle.segment:NestedSegmenter",
            "segment.dirichlet": "corpuscle.segment:DirichletSegmenter",
            "segment.trivial": "corpuscle.segment:TrivialSegmenter",
        },
        step="corpuscle.packs.steps.segmenter:SEGMENTER",
    ),
    "lm": Task(
        "Language models: how likely is a sentence, what comes next.",
        "Kneser-Ney and Pitman-Yor language models: train, score, sample, mix, compare, ARPA",
        package="corpuscle.lm",
        commands="corpuscle.cli.lm",
        page="lm.md",
        methods={
            "mkn": _ngram("Kneser-Ney with modified discounts, interpolated"),
            "kn": _ngram("Kneser-Ney, interpolated"),
            "backoff-mkn": _ngram("Kneser-Ney with modified discounts, back-off"),
            "backoff-kn": _ngram("Kneser-Ney, back-off"),
            "absolute": _ngram("absolute discounting, interpolated"),
            "hpy": Method(
                "corpuscle.lm.settings:HpySettings",
                "corpuscle.lm:HpyModel",
                "hierarchical Pitman-Yor processes, of fixed or infinite order, by Gibbs sampling",
            ),
        },
        kinds={
            "lm.ngram": "corpuscle.lm:NgramModel",
            "lm.class": "corpuscle.lm:ClassModel",
            "lm.hpy": "corpuscle.lm:HpyModel",
            "lm.mixture": "corpuscle.lm:Mixture",
        },
        step="corpuscle.packs.steps.language_model:LANGUAGE_MODEL",
    ),
    "classes": Task(
        "Word classes: which words behave alike.",
        "word classes by exchange",
        package="corpuscle.words",
        commands="corpuscle.cli.classes",
        page="classes.md",
        methods={
            "exchange": Method(
                "corpuscle.words.settings:ExchangeSettings",
                "corpuscle.words:ExchangeClasses",
                "move words between classes while the class bigram model gets better",
            ),
        },
        kinds={"words.exchange": "corpuscle.words:ExchangeClasses"},
        step="corpuscle.packs.steps.word_classes:WORD_CLASSES",
    ),
    "topics": Task(
        "Topics: language models that adapt to the document at hand.",
        "topics of documents inside language models: train, show, apply, mark, perplexity",
        package="corpuscle.topics",
        commands="corpuscle.cli.topics",
        page="topics.md",
        methods={
            "switching": _topical("each word comes from a global n-gram model or from that of a topic"),
            "hierarchical": _topical("topics that lean on a global n-gram model"),
            "hpytm": _topical("an n-gram model for each topic"),
            "hpylm": _topical("one n-gram model without topics"),
            "rescaling": Method(
                "corpuscle.topics.settings:RescalingSettings",
                "corpuscle.topics:RescalingModel",
                "an n-gram model bent towards the topics of the document",
            ),
        },
        kinds={
            "topics.ngram": "corpuscle.topics:NgramTopicModel",
            "topics.rescaling": "corpuscle.topics:RescalingModel",
        },
        step="corpuscle.packs.steps.topics:TOPICS",
    ),
    "align": Task(
        "Word alignment: which words translate which.",
        "word alignment: Model 1, diagonal, HMM, fertilities, log-linear features; dictionaries, new sentences",
        package="corpuscle.align",
        commands="corpuscle.cli.align",
        page="align.md",
        methods={
            "fertility": Method(
                "corpuscle.align.settings:FertilitySettings",
                "corpuscle.align:Fertility",
                "the hidden Markov model, then sampling with fertilities",
            ),
            "ibm1": Method("corpuscle.align.settings:Ibm1Settings", "corpuscle.align:Model1", "every position alike"),
            "diagonal": Method(
                "corpuscle.align.settings:DiagonalSettings", "corpuscle.align:Diagonal", "links near the diagonal"
            ),
            "hmm": Method(
                "corpuscle.align.settings:HmmSettings", "corpuscle.align:HMM", "a link depends on the one before it"
            ),
            "loglinear": Method(
                "corpuscle.align.settings:LogLinearSettings", "corpuscle.align:LogLinear", "any features, also your own"
            ),
        },
        kinds={
            "align.ibm1": "corpuscle.align:Model1",
            "align.diagonal": "corpuscle.align:Diagonal",
            "align.hmm": "corpuscle.align:HMM",
            "align.fertility": "corpuscle.align:Fertility",
            "align.loglinear": "corpuscle.align:LogLinear",
            "align.matrix": "corpuscle.align:MatrixFile",
        },
        step="corpuscle.packs.steps.alignments:ALIGNMENTS",
    ),
    "transliterate": Task(
        "Transliteration: write names in another script.",
        "names in another script, learned from a list of pairs",
        package="corpuscle.transliterate",
        commands="corpuscle.cli.transliterate",
        page="transliterate.md",
        methods={
            "phrase": Method(
                "corpuscle.transliterate.settings:PhraseSettings",
                "corpuscle.transliterate:PhraseTransliterator",
                "phrases of letters, n-gram models and a context model under tuned weights",
            ),
        },
        kinds={"transliterate.phrase": "corpuscle.transliterate:PhraseTransliterator"},
        step="corpuscle.packs.steps.transliterator:TRANSLITERATOR",
    ),
    "samples": Task(
        "A made-up language whose truth is known, to try things on.",
        "a generated language with all gold layers",
        package="corpuscle.samples",
        commands="corpuscle.cli.samples",
        page="samples.md",
        kernels=False,
    ),
}
"""Name -> task, in the order in which ``learn`` does their steps."""

COMMANDS: dict[str, Command] = {
    "learn": Command(
        "Learn everything that a folder of files allows.",
        "everything that a folder of files allows, with a report",
        commands="corpuscle.cli.learn",
        page="learn.md",
    ),
    "info": Command(
        "Show what is in a model file.",
        "what is in a model file",
        commands="corpuscle.cli.info",
        page="data-model.md",
    ),
    "warm": Command(
        "Compile the kernels of a task now instead of at its first use.",
        "compile kernels ahead of first use",
        commands="corpuscle.cli.warm",
        page="data-model.md",
    ),
}


def home_of(kind: str) -> str | None:
    """The class of a kind of model file, if there is such a kind."""
    return next((task.kinds[kind] for task in TASKS.values() if kind in task.kinds), None)


def find(place: str) -> Any:
    """What a string ``"module:name"`` stands for."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)
