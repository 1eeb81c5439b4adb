"""What a disambiguator can do: learn to rank the analyses of words, rank those of a text, be compared with gold ones;
say what a reader has yet to learn, and count what an annotator has chosen."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from corpuscle.errors import SettingError
from corpuscle.text.wording import percent
from corpuscle.verbs import (
    ITEMS,
    MOST,
    SEED,
    Answer,
    Learned,
    Lines,
    Shown,
    Table,
    a_model,
    read_by,
    setting,
    trains,
    treebank,
    verb,
    view,
)

if TYPE_CHECKING:
    from corpuscle.disambiguate import Disambiguator
    from corpuscle.text import Treebank


def _known(help: str) -> Any:
    return read_by("corpuscle.disambiguate.base:read_familiar", help, metavar="WORDS", option=True)


def _has_its_table(values: Mapping[str, Any]) -> None:
    if (values["candidates"] is not None) != (values["model"].analyser == "table"):
        raise SettingError("--analyser table and --candidates go together: give both or neither")


@trains("disambiguate", "disambiguate train train.conllu -o words.ranker", check=_has_its_table)
def train(
    model: Any,
    bank: Treebank = treebank(metavar="TREEBANK"),
    *,
    candidates: Any = read_by(
        "corpuscle.disambiguate:read_candidates",
        "A table of lemma, form and features: what --analyser table proposes.",
        metavar="TSV",
        option=True,
    ),
) -> Learned:
    """Learn from a treebank (CoNLL-U) which analysis of a word is right where it stands."""
    model.fit(bank, candidates)
    figures = {**model.provenance_, "tuned": sorted(model.chosen_)}
    elements = ", ".join(figures["elements"])
    return Learned(model, figures, f"{figures['labels']:,} analyses of {elements}, {figures['words']:,} words")


def _one_form(values: Mapping[str, Any]) -> None:
    if values["nbest"] is not None and not values["json"]:
        raise SettingError("--nbest is for --json: CoNLL-U has room for one analysis")
    if values["known"] is not None and not values["json"]:
        raise SettingError("--known is for --json")
    if values["json"] and values["vowelled"]:
        raise SettingError("--json and --vowelled exclude each other")


@verb("disambiguate", "disambiguate apply words.ranker text.conllu --nbest 2", out="-", work=True, check=_one_form)
def apply(
    model: Disambiguator = a_model("disambiguate"),
    input: Treebank = treebank(default="-", raw=True),
    *,
    json: bool = setting("Write a sentence a line as JSON: words with their likeliest analyses.", default=False),
    nbest: int | None = setting(
        "With --json: how many analyses of a word.", default=None, low=1, high=MOST, metavar="K"
    ),
    known: Collection[str] | None = _known("With --json: words or lemmas that a reader knows, one a line."),
    vowelled: bool = setting(
        "Write a sentence a line with the vowelled forms of the likeliest analyses.", default=False
    ),
) -> Treebank | Lines:
    """Analyse a text, one sentence of words a line, or a CoNLL-U file (.conllu, stdin), whose analyses are replaced;
    writes CoNLL-U with the probability of each analysis in MISC (Prob=), JSON, or the vowelled text."""
    from json import dumps

    if not json and not vowelled:
        return model.annotate(input)
    sentences = model.readings(input, (nbest or 3) if json else 1, known)
    if json:
        return Lines.of(dumps({"words": words}, ensure_ascii=False) for words in sentences)
    return Lines.of(" ".join(word["analyses"][0]["vowelled"] for word in words) for words in sentences)


@verb("disambiguate", "disambiguate vocabulary words.ranker text.conllu -o cards.tsv", out="file", work=True)
def vocabulary(
    model: Disambiguator = a_model("disambiguate"),
    input: Treebank = treebank(default="-", raw=True),
    *,
    known: Collection[str] | None = _known("Words or lemmas that the reader knows, one a line."),
    output: str | None,
) -> Shown:
    """What there is to learn in a text: a table of lemmas that a reader does not know, with a vowelled form, gloss and
    how often it is there, the most frequent first (for flash cards); the difficulty of the text is the share of its
    lemmas that are among them."""
    from corpuscle.disambiguate.base import Card
    from corpuscle.disambiguate.base import vocabulary as vocabulary_of

    found = vocabulary_of(model.readings(input, 1), known or ())
    if output is not None:
        Table(Card._fields, found.cards).write(output)
    figures = {name: value for name, value in found._asdict().items() if name != "cards"}
    return Answer(
        figures | {"unknown_lemmas": len(found.cards)},
        f"{len(found.cards):,} of {found.lemmas:,} lemmas are not known ({percent(found.difficulty)}), "
        f"{percent(found.unknown_words)} of {found.words:,} words",
    )


@verb("disambiguate", "disambiguate update words.ranker more.conllu -o grown.ranker", out="model", work=True)
def update(
    model: Disambiguator = a_model("disambiguate"),
    bank: Treebank = treebank(metavar="TREEBANK"),
    *,
    refit: bool = setting(
        "Fit the weights to these words first, near what they were; for many choices.", default=False
    ),
) -> Learned:
    """Count the analysed words of more sentences (CoNLL-U; words whose columns are empty are only neighbours): what an
    annotator has chosen is known from then on. Guesses stay as they are, and weights too, unless --refit."""
    found = model.updated(bank, refit)
    words, labels = found.provenance_["words"], found.provenance_["labels"]
    figures = {"words": words, "added": words - model.provenance_["words"], "labels": labels}
    return Learned(found, figures, f"{figures['added']:,} words more, {labels:,} analyses")


@verb("disambiguate", "disambiguate evaluate gold.conllu --model words.ranker", work=True, overlap="gold")
def evaluate(
    gold: Treebank = treebank(empty="the treebank is empty"),
    *,
    model: Disambiguator = a_model(
        "disambiguate",
        help="Rank the analyses of the words of the gold file with this model.",
        option=True,
        default=...,
    ),
    seed: int = SEED,
) -> Shown:
    """How often the right analysis is first (a1) or among the first two (a2), or not (e1, e2), with 95 % intervals;
    how often it is a candidate at all; of unseen and ambiguous words; by element; by how likely it was said to be."""
    import numpy as np

    from corpuscle.disambiguate.analyses import label_hashes
    from corpuscle.measure import analyses_by_element, analyses_by_probability

    result, ranks, ranking = model.measured(gold, seed)
    names, ids = model.labels_of(model.words_of(gold))
    found, right = (label_hashes(each, model.elements_)[:, 1:].view(np.int64) for each in (ranking.names, names))
    rows = analyses_by_element(ranking.starts, ranking.labels, found, right[ids], model.elements_)
    likely = analyses_by_probability(ranking.probabilities[ranking.starts[:-1]], ranks == 1)
    tables = (("element", "E1", "E2"), rows), (("above", "words", "probability", "right"), likely)
    said = [result.text(), *(Table(columns, map(dict.values, each)).text() for columns, each in tables)]
    return Answer({**result.to_json(), "by_element": rows, "by_probability": likely}, "\n".join(said))


# ---- the workbench

_FAMILIAR: Any = setting("Words or lemmas that the reader knows, with spaces between them.", default="")


@view("disambiguate", text="a b c")
def analyse(
    model: Disambiguator,
    text: Treebank = treebank(raw=True),
    *,
    familiar: str = _FAMILIAR,
    nbest: int = setting("How many analyses of a word.", default=5, low=1, high=50),
) -> dict[str, Any]:
    """The likeliest analyses of the words of each sentence, with vowelled forms and glosses where they are known."""
    from corpuscle.text.conllu import format_conllu

    conllu = "".join(format_conllu(model.annotate(text))) if len(text) else ""
    readings = model.readings(text, nbest, frozenset(familiar.split()))
    return {"sentences": [{"words": words} for words in readings], "conllu": conllu}


@view("disambiguate", name="vocabulary", text="a b c", familiar="a")
def vocabulary_typed(
    model: Disambiguator, text: Treebank = treebank(raw=True), *, familiar: str = _FAMILIAR
) -> dict[str, Any]:
    """What there is to learn in a text: lemmas that its reader does not know, the most frequent first, with vowelled
    form and gloss, and how hard the text is for that: the share of its lemmas and of its words that they make."""
    from corpuscle.disambiguate.base import vocabulary as vocabulary_of

    found = vocabulary_of(model.readings(text, 1), frozenset(familiar.split()))
    return {**found._asdict(), "cards": [card._asdict() for card in found.cards]}


@view("disambiguate", text="a b c")
def doubts(model: Disambiguator, text: Treebank = treebank(raw=True), *, n: int = ITEMS) -> dict[str, Any]:
    """Sentences whose analyses are least sure, with the likeliest analyses of each word."""
    from corpuscle.disambiguate.analyses import columns_of
    from corpuscle.measure import least_sure, unsure_words
    from corpuscle.text.conllu import rows_by_sentence

    columns, items = ("lemma", "upos", "xpos", "feats"), []
    for words, told in zip(rows_by_sentence(model.annotate(text), "Prob"), model.readings(text, 9), strict=True):
        asked = {
            i: [dict(zip(columns, columns_of(each["elements"]), strict=True)) for each in word["analyses"]]
            for i, word in enumerate(told)
        }
        items.append(unsure_words(words) | {"asked": asked})
    return least_sure(items, n, layer="trees", choices=[])


def warm() -> None:
    """Compile every kernel of this task by running it on a few words."""
    from dataclasses import replace

    import numpy as np

    from corpuscle.disambiguate import SequenceRanker, TwoPassRanker
    from corpuscle.text import Treebank

    bank = Treebank.from_sentences([["a", "b"]] * 64, tags=[["A", "B"], ["B", "B"]] * 32)
    bank = replace(bank, corpus=bank.corpus.with_documents(np.arange(0, 65, 8)))
    for learner in (TwoPassRanker(crossfit=2), SequenceRanker(crossfit=2)):
        learner.fit(bank).annotate(bank)
