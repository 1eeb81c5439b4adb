"""``corpuscle entities``: learn to find mentions in text, find them, compare with gold ones, show them and
what is unsure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from corpuscle.cli.command import COUNT, Figures, argument, command, option, output, task_group, trainer, written
from corpuscle.cli.common import load, sources_of, table_text, warn_of_overlap
from corpuscle.errors import InputError, SettingError
from corpuscle.progress import clock
from corpuscle.text.wording import seconds

if TYPE_CHECKING:
    from corpuscle.entities import Documents, EntityTagger
    from corpuscle.text.standoff import Standoff

__all__ = ["group"]

group = task_group("entities")

WRITTEN = ("brat", "bio", "pubtator", "jsonl")
_TAGGER = option("tagger", "Tag the words with this model first (features of tags).", metavar="MODEL")


def _tagged(documents: Documents, tagger: str | None) -> Documents:
    """With the tags of a tagger, if one was given."""
    if tagger is None:
        return documents
    from corpuscle.text.treebank import Treebank

    return documents.with_layers(load(tagger, "tag").annotate(Treebank.from_sentences(list(documents.corpus))))


@trainer(group)
@argument("documents", many=True)
@output()
@option("class_model", "Word classes from raw text as features.", metavar="MODEL")
@option("vectors", "Word vectors as features (a model, or text of word2vec).", metavar="FILE")
@option("gazetteer", "Entries, each with its type behind a tab, as features.", metavar="FILE")
@_TAGGER
def train(
    model: EntityTagger,
    documents: tuple[str, ...],
    output: str,
    class_model: str | None,
    vectors: str | None,
    gazetteer: str | None,
    tagger: str | None,
) -> Figures:
    """Learn from documents with mentions: brat folders, PubTator, JSON lines, or columns of BIO tags."""

    from corpuscle.entities import CrfTagger, read_dictionary

    begin = clock()
    texts = _tagged(model.read(*documents), tagger)
    given = {"--class-model": class_model, "--vectors": vectors, "--gazetteer": gazetteer}
    if isinstance(model, CrfTagger):
        entries = None if gazetteer is None else read_dictionary(gazetteer)
        model.fit(texts, sources=sources_of(class_model, vectors), dictionary=entries)
    else:
        wrong = next((name for name, path in given.items() if path is not None), None)
        if wrong is not None:
            raise SettingError(f"{wrong} means nothing with --method dictionary")
        model.fit(texts)
    model.save(output)
    figures: dict[str, Any] = {**model.provenance_, "tuned": sorted(model.chosen_)}
    figures["seconds"] = clock() - begin
    text = f"{output}: {figures['documents']:,} documents, {figures['words']:,} words"
    if "mentions" in figures:
        text += f", {figures['mentions']:,} mentions"
        if figures["lost"]:
            text += f" ({figures['lost']:,} of them cannot be said by tags)"
    return Figures(figures, f"{text}, {seconds(figures['seconds'])}")


def _write(texts: list[Standoff], documents: Documents, form: str, output: str) -> None:
    from corpuscle.text import write_brat, write_columns, write_pubtator, write_standoff_json
    from corpuscle.text.columns import Columns
    from corpuscle.text.gapped import tags_of_mentions
    from corpuscle.text.layers import Layer

    if form == "brat":
        write_brat(texts, output)
    elif form == "pubtator":
        write_pubtator(texts, output)
    elif form == "jsonl":
        write_standoff_json(texts, output)
    else:
        corpus = documents.corpus
        tags = [
            tag
            for mentions, n in zip(documents.mentions, corpus.lengths.tolist(), strict=True)
            for tag in tags_of_mentions(mentions, n).tags
        ]
        filled = corpus if (corpus.lengths > 0).all() else corpus.select(corpus.lengths > 0)
        write_columns(Columns(filled, {"label": Layer.from_strings(tags, "")}), output)


def _write_guesses(loaded: Any, texts: Documents, nbest: int, output: str) -> None:
    """A sentence a line: its words, and the sets of mentions that it may have."""
    import json

    from corpuscle.text.files import write_atomically

    guesses = loaded.guesses(texts, nbest)
    with write_atomically(output, "w") as stream:
        for i, each in enumerate(guesses):
            words = texts.corpus.words(i)
            row = {"document": texts.texts[texts.document_of[i]].name, "words": words, "guesses": [
                {"probability": guess.probability, "mentions": [
                    {"type": mention.type, "tokens": list(mention.tokens)} for mention in guess.mentions
                ]} for guess in each
            ]}  # fmt: skip
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")


@command(group, work=True, figures=False)
@argument("model")
@argument("documents", many=True)
@output("-", help="Where to write; - is stdout; with --format brat a folder.", form="either")
@option("format", "How mentions are written.", type=click.Choice(WRITTEN), default="jsonl")
@option("confidence", "Write how likely each mention is (brat, jsonl).", is_flag=True)
@option("nbest", "Write what the K best labellings of each sentence say (JSON lines).", metavar="K", type=COUNT)
@_TAGGER
def apply(
    model: str,
    documents: tuple[str, ...],
    output: str,
    format: str,
    confidence: bool,
    nbest: int | None,
    tagger: str | None,
) -> None:
    """Find mentions in text (brat, PubTator, JSON lines, columns, CoNLL-U or plain); those in the input are ignored."""
    import dataclasses

    if nbest is not None:
        if format != "jsonl" or confidence:
            raise SettingError("--nbest writes JSON lines with the probability of each guess, and nothing else")
        loaded = load(model, "entities", ("entities.crf",))
        _write_guesses(loaded, _tagged(loaded.read(*documents), tagger).named("document"), nbest, output)
        return
    if format == "brat" and output == "-":
        raise SettingError("--format brat writes a folder: name it with -o")
    if confidence and format in ("bio", "pubtator"):
        raise SettingError(f"--format {format} has no place for --confidence")
    loaded = load(model, "entities")
    texts = _tagged(loaded.read(*documents), tagger).named("document")
    found = loaded.annotate(texts, confidence=confidence)
    if format == "bio":
        texts = dataclasses.replace(texts, mentions=tuple(map(tuple, loaded.tag(texts).mentions)))
    _write(found, texts, format, output)


@command(group, work=True, seed=True)
@argument("gold")
@argument("found", required=False)
@option("model", "Find the mentions of the gold file with this model first.", metavar="FILE")
@option("by_type", "Also by type.", is_flag=True)
@option("one_to_one", "Relaxed: every mention counts once.", is_flag=True)
@written("errors", "Write every wrong mention with its sentence (TSV).")
@_TAGGER
def evaluate(
    gold: str,
    found: str | None,
    model: str | None,
    by_type: bool,
    one_to_one: bool,
    errors: str | None,
    tagger: str | None,
    seed: int,
) -> Figures:
    """Strict and relaxed precision, recall and F1, also of mentions with gaps, each with its 95 % interval."""
    from corpuscle.entities import read_documents
    from corpuscle.entities.errors import write_errors
    from corpuscle.measure import mention_scores, mention_scores_by_type

    if (found is None) == (model is None):
        raise SettingError("give a file of found mentions, or --model")
    shares: dict[str, float] = {}
    if model is not None:
        loaded = load(model, "entities")
        right = _tagged(loaded.read(gold), tagger)
        shares = warn_of_overlap(loaded, right.corpus, model)
        guess = loaded.annotate(right)
    else:
        right = read_documents(gold)
        guess = list(read_documents(str(found)).texts)
    try:
        result = mention_scores(right.texts, guess, one_to_one=one_to_one, seed=seed)
    except ValueError as error:
        raise InputError(found or gold, None, str(error)) from None
    figures, text = result.to_json() | shares, result.text()
    if by_type:
        rows = mention_scores_by_type(right.texts, guess)
        figures["by_type"] = rows
        heading = ("type", "gold", "found", "P", "R", "F1", "P relaxed", "R relaxed", "F1 relaxed")
        text += "\n" + table_text(heading, [list(row.values()) for row in rows])
    if errors is not None:
        write_errors(right.texts, guess, errors)
    return Figures(figures, text)


@command(group, work=True)
@argument("model")
@argument("documents", many=True)
@option("most", "How many sentences.", metavar="N", type=COUNT, default=20)
@_TAGGER
def uncertain(model: str, documents: tuple[str, ...], most: int, tagger: str | None) -> Figures:
    """The sentences of which a model is least sure, for annotators: correct them, add them, train again."""
    import numpy as np

    loaded = load(model, "entities")
    texts = _tagged(loaded.read(*documents), tagger).named("document")
    tagged = loaded.tag(texts)
    rows = []
    for i in np.argsort(tagged.surest, kind="stable")[:most].tolist():
        words = texts.corpus.words(i)
        found = "; ".join(
            f"{mention.type}: {' '.join(words[token] for token in mention.tokens)}" for mention in tagged.mentions[i]
        )
        name = texts.texts[texts.document_of[i]].name
        rows.append({"document": name, "confidence": float(tagged.surest[i]), "text": " ".join(words), "found": found})
    return Figures({"sentences": rows}, table_text(("document", "confidence", "text", "found"), map(dict.values, rows)))


@command(group, work=True, figures=False)
@argument("documents", many=True)
@output(form="file", help="The page (.html), or the picture of one sentence (.svg, .png).")
@option("model", "Find the mentions with this model first; the less sure, the fainter.", metavar="FILE")
@option("sentence", "Which sentence a picture shows, from 1 on.", metavar="N", type=COUNT)
@_TAGGER
def draw(
    documents: tuple[str, ...], output: str, model: str | None, sentence: int | None, tagger: str | None
) -> None:
    """Show texts with their mentions underlined: all of them as a page (HTML), or one sentence as a picture (SVG or
    PNG)."""
    from corpuscle.cli.outputs import check_place
    from corpuscle.entities import draw_documents, read_documents
    from corpuscle.figures import draw_mentions, save_figure
    from corpuscle.text.files import write_atomically

    picture = output.endswith((".svg", ".png"))
    if not picture and not output.endswith(".html"):
        raise SettingError("-o is a page (.html) or a picture (.svg, .png)")
    if picture:
        check_place(output, "figure")
    if sentence is not None and not picture:
        raise SettingError("--sentence goes with a picture (-o x.svg); a page has all sentences")
    if model is None:
        texts = read_documents(*documents)
        mentions, sure = [list(each) for each in texts.mentions], None
    else:
        loaded = load(model, "entities")
        texts = _tagged(loaded.read(*documents), tagger)
        found = loaded.tag(texts)
        mentions, sure = found.mentions, found.confidence
    if sentence is not None and sentence > len(mentions):
        raise InputError(documents[0], None, f"it has {len(mentions):,} sentences, and none of number {sentence:,}")
    if picture:
        at = next((i for i, each in enumerate(mentions) if each), 0) if sentence is None else sentence - 1
        words = texts.corpus.words(at) if mentions else []
        confidence = None if sure is None or not mentions else sure[at]
        drawn = draw_mentions(words, mentions[at] if mentions else [], confidence=confidence, title=" ".join(words))
        return save_figure(drawn, output)
    with write_atomically(output, "w") as stream:
        stream.write(draw_documents(texts, mentions, sure).rstrip("\n") + "\n")


@command(group)
@argument("model")
@option("label", "Only of this tag.", metavar="TAG")
def features(model: str, label: str | None) -> Figures:
    """The heaviest features of each tag, with an example of each from the training text."""
    loaded = load(model, "entities", ("entities.crf",))
    rows = [each for each in loaded.heaviest_ if label in (None, each.label)]
    if not rows:
        raise SettingError(f"there is no tag {label!r}; there are {', '.join(loaded.labels_.strings[3:])}")
    values = {"features": [each._asdict() for each in rows]}
    return Figures(values, table_text(("tag", "feature", "weight"), rows))
