"""What a tagger can do: learn, tag, be compared with gold tags, tag a treebank as new text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from corpuscle.errors import SettingError
from corpuscle.verbs import (
    ITEMS,
    MOST,
    SEED,
    Answer,
    Keep,
    Learned,
    Shown,
    Table,
    a_model,
    evaluates,
    setting,
    trains,
    treebank,
    verb,
    view,
)
from corpuscle.words.verbs import of_data, word_features

if TYPE_CHECKING:
    from corpuscle.tag import WordTagger
    from corpuscle.text import Treebank
    from corpuscle.words import WordFeatures

_EMPTY = "the treebank is empty"


@trains("tag", "tag train train.conllu -o words.tagger")
def train(
    model: Any,
    bank: Treebank = treebank(metavar="TREEBANK", empty=_EMPTY),
    *,
    dev: Treebank | None = treebank(
        "Stop after the pass that tags these sentences best.", metavar="CONLLU", option=True, empty=_EMPTY
    ),
    sources: WordFeatures = word_features(),
    keep: Keep,
) -> Learned:
    """Learn a tagger from the UPOS, XPOS, FEATS and lemmas of a treebank (CoNLL-U), whichever it has."""
    for name, given, takes in (
        ("--dev", dev is not None, model.TUNES),
        ("--class-model or --vectors", len(sources.words) > 0, model.SOURCES),
    ):
        if given and not takes:
            raise SettingError(f"{name} means nothing with this method")
    arguments: dict[str, Any] = {} if dev is None else {"dev": dev}
    arguments |= {"sources": sources} if model.SOURCES else {}
    model.fit(bank, **arguments, **keep.for_fit(model, bank))
    figures = {
        **model.provenance_, "layers": list(model.layers_), "tuned": sorted(model.chosen_), **model.summary(),
    }  # fmt: skip
    rules = f", {figures['lemma_rules']:,} rules for lemmas" if "lemma_rules" in figures else ""
    said = f"{figures['labels']:,} labels of {', '.join(model.layers_)}{rules}, {figures['sentences']:,} sentences"
    return Learned(model, figures, said)


@verb("tag", "tag apply words.tagger text.txt -o text.conllu", out="-", work=True)
def apply(
    model: WordTagger = a_model("tag"),
    input: Treebank = treebank(default="-", raw=True),
    *,
    confidence: bool = setting("Write how likely each label is into MISC (TagConfidence=).", default=False),
    keep_lemmas: bool = setting("Keep the lemmas of the file.", default=False),
) -> Treebank:
    """Tag a text, one sentence of words a line, or a CoNLL-U file (.conllu, stdin), whose tags are replaced; writes
    CoNLL-U."""
    tagged = model.annotate(input, confidence=confidence)
    return tagged.replace(lemmas=input.lemmas) if keep_lemmas else tagged


@verb("tag", "tag jackknife train.conllu -o train.tagged.conllu", out="-", work=True)
def jackknife(
    bank: Treebank = treebank(metavar="TREEBANK", empty=_EMPTY),
    *,
    folds: int = setting("Into how many parts the sentences are divided.", default=10, low=1, high=MOST),
    work: Mapping[str, Any],
) -> Treebank:
    """Write a treebank with tags as new text would have them: each part is tagged by a tagger of the other parts."""
    from corpuscle.tag import Tagger
    from corpuscle.tag import jackknife as jackknifed

    return jackknifed(Tagger(**work), bank, folds)


@evaluates(
    "tag",
    "tag evaluate gold.conllu --model words.tagger",
    apply=apply,
    hides=("tags", "xpos", "features", "lemmas"),
    instead="a file of tags",
    work=True,
)
def evaluate(
    gold: Treebank = treebank(empty=_EMPTY),
    found: Treebank = treebank(default=None, empty=_EMPTY),
    *,
    model: WordTagger | None = a_model("tag", help="Tag the words of the gold file with this model.", option=True),
    training: Treebank | None = treebank(
        "Tell words that this treebank has from unknown ones.",
        metavar="CONLLU",
        option=True,
        empty=_EMPTY,
        without={"model": "which knows its words"},
    ),
    by: str | None = setting("Also by tag.", default=None, choices=("tag",)),
    seed: int = SEED,
) -> Shown:
    """The accuracy of each layer, of all of them and of sentences, of known and unknown words, with 95 % intervals."""
    import numpy as np

    from corpuscle.measure import tagging, tagging_by_tag

    known = None if model is None else model.known(gold)
    if training is not None:
        words = training.corpus.vocab
        known = np.array([form in words for form in gold.corpus.vocab.strings])[gold.corpus.tokens]
    with of_data():
        result = tagging(gold, found, known, seed=seed)
    if by is None:
        return result
    rows = tagging_by_tag(gold, found)
    columns = ("tag", "words", "precision", "recall", "F1", "most often taken for")
    table = Table(columns, [row.values() for row in rows])
    return Answer({**result.to_json(), "by_tag": rows}, f"{result.text()}\n{table.text()}")


# ---- the workbench


@view("tag", name="tag", text="a b c")
def tag_typed(model: WordTagger, text: Treebank = treebank(raw=True)) -> dict[str, Any]:
    """Parts of speech, morphology and lemmas of the words of each sentence, and how sure they are."""
    from corpuscle.text.conllu import treebank_as_json

    return treebank_as_json(model.annotate(text, confidence=True), "TagConfidence")


@view("tag", text="a b c")
def doubts(model: WordTagger, text: Treebank = treebank(raw=True), *, n: int = ITEMS) -> dict[str, Any]:
    """Sentences whose tags are least sure, with the tags."""
    from corpuscle.measure import least_sure, unsure_words
    from corpuscle.text.conllu import rows_by_sentence

    rows = rows_by_sentence(model.annotate(text, confidence=True), "TagConfidence")
    first_layer = [label.split("\t")[0] for label in model.labels_.strings[3:]]
    return least_sure(map(unsure_words, rows), n, layer="trees", choices=list(dict.fromkeys(first_layer))[:60])


def warm() -> None:
    """Compile every kernel of this task by learning from a few words and tagging them."""
    import os
    import tempfile

    from corpuscle.tag import Tagger
    from corpuscle.text import Treebank

    bank = Treebank.from_sentences([["a", "b", "a"], ["b", "a"]], tags=[["A", "B", "B"], ["B", "A"]])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        with (keep := Keep(path)).stack:
            train(Tagger(passes=1, hash_bits=10), bank, keep=keep).model.save(path)
        apply(path, bank, confidence=True)
