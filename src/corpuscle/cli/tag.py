"""``corpuscle tag``: learn taggers from treebanks, tag text, compare with gold tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from corpuscle.cli.command import COUNT, Figures, argument, command, option, output, raw, resume, task_group, trainer
from corpuscle.cli.common import load, naming, read_bank, sources_of, table_text, warn_of_overlap
from corpuscle.errors import InputError, SettingError
from corpuscle.progress import clock
from corpuscle.text.wording import seconds

if TYPE_CHECKING:
    from corpuscle.tag import Tagger
    from corpuscle.text.treebank import Treebank

__all__ = ["group"]

group = task_group("tag")


def _read(path: str) -> Treebank:
    from corpuscle.text import read_conllu

    bank = read_conllu(path)
    if bank.corpus.n_tokens == 0:
        raise InputError(path, None, "the treebank is empty")
    return bank


@trainer(group)
@argument("treebank")
@output()
@option("dev", "Stop after the pass that tags these sentences best.", metavar="CONLLU")
@option("class_model", "Take the classes of words in this model as features.", metavar="FILE")
@option("vectors", "Take clusters of word vectors as features: a model of vectors train, or .txt.", metavar="FILE")
@resume
def train(
    model: Tagger,
    treebank: str,
    output: str,
    dev: str | None,
    class_model: str | None,
    vectors: str | None,
    resume: bool,
) -> Figures:
    """Learn a tagger from the UPOS, XPOS, FEATS and lemmas of a treebank (CoNLL-U), whichever it has."""

    begin, bank = clock(), _read(treebank)
    development, sources = None if dev is None else _read(dev), sources_of(class_model, vectors, model.seed)
    with naming(treebank), model.checkpoint(bank, output, resume) as checkpoint:
        model.fit(bank, development, sources=sources, checkpoint=checkpoint).save(output)
    figures: dict[str, Any] = {
        **model.provenance_,
        "layers": list(model.layers_),
        "tuned": sorted(model.chosen_),
        "passes": model.chosen_.get("passes", model.passes),
        "wrong": float(model.history_[-1, 0]),
        "seconds": clock() - begin,
    }
    if dev is not None:
        figures["right_dev"] = float(model.history_[:, 1].max())
    return Figures(
        figures,
        f"{output}: {figures['labels']:,} labels of {', '.join(model.layers_)}, {figures['lemma_rules']:,} rules for "
        f"lemmas, {figures['sentences']:,} sentences, {seconds(figures['seconds'])}",
    )


@command(group, work=True, figures=False)
@argument("model")
@argument("input", default="-")
@output("-")
@raw
@option("confidence", "Write how likely each label is into MISC (TagConfidence=).", is_flag=True)
def apply(model: str, input: str, output: str, raw: bool, confidence: bool) -> None:
    """Tag a text, one sentence of words a line, or a CoNLL-U file (.conllu, stdin), whose tags are replaced; writes
    CoNLL-U."""
    from corpuscle.text import write_conllu

    loaded, bank = load(model, "tag"), read_bank(input, raw)
    with naming(input):
        tagged = loaded.annotate(bank, confidence=confidence)
    write_conllu(tagged, output)


@command(group, work=True, figures=False)
@argument("treebank")
@output("-")
@option("folds", "Into how many parts the sentences are divided.", metavar="N", type=COUNT, default=10)
def jackknife(treebank: str, output: str, folds: int) -> None:
    """Write a treebank with tags as new text would have them: each part is tagged by a tagger of the other parts."""
    from corpuscle.cli.command import work_of
    from corpuscle.tag import Tagger
    from corpuscle.tag import jackknife as jackknifed
    from corpuscle.text import write_conllu

    bank = _read(treebank)
    with naming(treebank):
        write_conllu(jackknifed(Tagger(**work_of()), bank, folds), output)


@command(group, work=True, seed=True)
@argument("gold")
@argument("found", required=False)
@option("model", "Tag the words of the gold file with this model first.", metavar="FILE")
@option("training", "Tell words that this treebank has from unknown ones.", metavar="CONLLU")
@option("by", "Also by tag.", type=click.Choice(("tag",)))
def evaluate(
    gold: str, found: str | None, model: str | None, training: str | None, by: str | None, seed: int
) -> Figures:
    """The accuracy of each layer, of all of them and of sentences, of known and unknown words, with 95 % intervals."""
    from corpuscle.measure import tagging, tagging_by_tag
    from corpuscle.measure.tags import TAG_LAYERS

    if (found is None) == (model is None):
        raise SettingError("give a file of tags, or --model")
    if model is not None and training is not None:
        raise SettingError("--training means nothing with --model, which knows its words")
    right, shares, known = _read(gold), dict[str, float](), None
    if model is not None:
        loaded = load(model, "tag")
        shares, known = warn_of_overlap(loaded, right.corpus, model), loaded.known(right)
        with naming(gold):
            guess = loaded.annotate(right.without(*TAG_LAYERS.values()))
    else:
        guess = _read(str(found))
    if training is not None:
        import numpy as np

        words = _read(training).corpus.vocab
        known = np.array([form in words for form in right.corpus.vocab.strings])[right.corpus.tokens]
    try:
        result = tagging(right, guess, known, seed=seed)
    except ValueError as error:
        raise InputError(found or gold, None, str(error)) from None
    figures, text = result.to_json() | shares, result.text()
    if by is not None:
        figures["by_tag"] = rows = tagging_by_tag(right, guess)
        heading = ("tag", "words", "precision", "recall", "F1", "most often taken for")
        text += "\n" + table_text(heading, [list(row.values()) for row in rows])
    return Figures(figures, text)
