"""What an entity tagger can do: learn to find mentions in text, find them, be compared with gold ones, show them and
what is unsure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from corpuscle.errors import InputError, SettingError
from corpuscle.settings import option_of
from corpuscle.verbs import (
    ITEMS,
    MOST,
    RAW,
    SEED,
    Answer,
    File,
    Input,
    Learned,
    Lines,
    Picture,
    Shown,
    Table,
    Typed,
    Writable,
    a_model,
    evaluates,
    read_by,
    setting,
    trains,
    verb,
    view,
    written,
)
from corpuscle.words.verbs import of_data, word_features

if TYPE_CHECKING:
    from corpuscle.entities import CrfTagger, Dictionary, Documents, EntityTagger
    from corpuscle.tag import Tagger
    from corpuscle.text.mention_tags import TokenMention
    from corpuscle.text.standoff import Standoff
    from corpuscle.words import WordFeatures

_PICTURES = (".svg", ".png")


# ---- inputs


def documents_of(
    value: Any, model: Any, declared: Input, *, tagger: Tagger | None = None, raw: bool = False
) -> Documents:
    """Documents as the model reads them; with the tags of a tagger, if there is one."""
    from corpuscle.entities.documents import given
    from corpuscle.text import Treebank, inputs

    if isinstance(value, Typed):
        value = [line.split() for line in inputs.lines(value, model, declared, raw=raw)]
    documents = given(value, model)
    if tagger is None:
        return documents
    return documents.with_layers(tagger.annotate(Treebank.from_sentences(list(documents.corpus))))


def _documents(**facts: Any) -> Any:
    tagger = a_model("tag", help="Tag the words with this model first (features of tags).", option=True)
    return Input("corpuscle.entities.verbs:documents_of", **{"options": {"tagger": tagger}, **facts})


# ---- verbs


def _of_these_documents(values: Mapping[str, Any]) -> None:
    """Complain about settings of a format that none of the files has."""
    from corpuscle.entities.documents import format_of

    forms = {format_of(each) for each in values["documents"] if isinstance(each, File)}
    for name, form in ("columns", "columns"), ("skip_faulty", "brat"):
        if getattr(values["model"], name) and forms and form not in forms:
            raise SettingError(f"{option_of(name)} means nothing here: it is for {form}, these are {', '.join(forms)}")


@trains("entities", "entities train documents -o mentions.entities", check=_of_these_documents)
def train(
    model: Any,
    documents: Documents = _documents(many=True),
    *,
    sources: WordFeatures = word_features("crf"),
    gazetteer: Dictionary | None = read_by(
        "corpuscle.entities:read_dictionary",
        "Entries, each with its type behind a tab, as features.",
        option=True,
        methods=("crf",),
    ),
) -> Learned:
    """Learn from documents with mentions: brat folders, PubTator, JSON lines, or columns of BIO tags."""
    model.fit(documents, **{"sources": sources, "dictionary": gazetteer} if model.HAS_FEATURES else {})
    figures = {**model.provenance_, "tuned": sorted(model.chosen_)}
    said = f"{figures['documents']:,} documents, {figures['words']:,} words"
    if "mentions" in figures:
        said += f", {figures['mentions']:,} mentions"
        if figures["lost"]:
            said += f" ({figures['lost']:,} of them cannot be said by tags)"
    return Learned(model, figures, said)


@dataclass(frozen=True)
class Found(Writable):
    """Documents with the mentions that were found: ``texts``, and how they are written (``form``); ``documents``: their
    tokens, with these mentions where columns are written."""

    texts: list[Standoff]
    documents: Documents
    form: str = "jsonl"

    def write(self, path: str) -> None:
        """Write them; ``brat``: into a folder."""
        from corpuscle.text import write_brat, write_columns, write_pubtator, write_standoff_json
        from corpuscle.text.columns import Columns
        from corpuscle.text.layers import Layer
        from corpuscle.text.mention_tags import tags_of_mentions

        if self.form != "bio":
            writers = {"brat": write_brat, "pubtator": write_pubtator, "jsonl": write_standoff_json}
            return writers[self.form](self.texts, path)
        corpus = self.documents.corpus
        lengths = corpus.lengths.tolist()
        each = zip(self.documents.mentions, lengths, strict=True)
        tags = [tag for mentions, n in each for tag in tags_of_mentions(mentions, n).tags]
        corpus = corpus if all(lengths) else corpus.select(corpus.lengths > 0)
        write_columns(Columns(corpus, {"label": Layer.from_strings(tags, "")}), path)


def _one_form(values: Mapping[str, Any]) -> None:
    form, sure = values["format"], values["confidence"]
    if values["nbest"] is not None and (form != "jsonl" or sure):
        raise SettingError("--nbest writes JSON lines with the probability of each guess, and nothing else")
    if form == "brat" and values["output"] == "-":
        raise SettingError("--format brat writes a folder: name it with -o")
    if sure and form in ("bio", "pubtator"):
        raise SettingError(f"--format {form} has no place for --confidence")


@verb(
    "entities", "entities apply mentions.entities new-documents -o found.ann", out="either", work=True, check=_one_form
)
def apply(
    model: EntityTagger = a_model("entities"),
    documents: Documents = _documents(many=True),
    *,
    format: str = setting(
        "How mentions are written; brat: into a folder.", default="jsonl", choices=("brat", "bio", "pubtator", "jsonl")
    ),
    confidence: bool = setting("Write how likely each mention is (brat, jsonl).", default=False),
    nbest: int | None = setting(
        "Write what the K best labellings of each sentence say (JSON lines).",
        default=None,
        low=1,
        high=MOST,
        metavar="K",
    ),
) -> Found | Lines:
    """Find mentions in text (brat, PubTator, JSON lines, columns, CoNLL-U or plain); those in the input are ignored."""
    documents = documents.named("document")
    if nbest is not None:
        return Lines.of(_guesses(model, documents, nbest))
    if format != "bio":
        return Found(model.annotate(documents, confidence=confidence), documents, format)
    mentions = model.tag(documents).mentions
    return Found(documents.annotated(mentions), replace(documents, mentions=tuple(map(tuple, mentions))), format)


def _guesses(model: EntityTagger, documents: Documents, nbest: int) -> Iterator[str]:
    """A sentence a line: its words, and the sets of mentions that it may have."""
    import json

    for i, guesses in enumerate(model.guesses(documents, nbest)):
        name, words = documents.texts[documents.document_of[i]].name, documents.corpus.words(i)
        told = [{"probability": guess.probability, "mentions": _plain(guess.mentions)} for guess in guesses]
        yield json.dumps({"document": name, "words": words, "guesses": told}, ensure_ascii=False)


def _plain(mentions: Iterable[TokenMention]) -> list[dict[str, Any]]:
    return [{"type": each.type, "tokens": list(each.tokens)} for each in mentions]


@evaluates(
    "entities",
    "entities evaluate gold-documents --model mentions.entities",
    apply=apply,
    instead="a file of found mentions",
    work=True,
)
def evaluate(
    gold: Documents = _documents(),
    found: Documents | Found = _documents(default=None, options={}),
    *,
    model: EntityTagger | None = a_model("entities", help="Find the mentions with this model.", option=True),
    by_type: bool = setting("Also by type.", default=False),
    one_to_one: bool = setting("Relaxed: every mention counts once.", default=False),
    errors: str | None = written("Write every wrong mention with its sentence (TSV)."),
    seed: int = SEED,
) -> Shown:
    """Strict and relaxed precision, recall and F1, also of mentions with gaps, each with its 95 % interval."""
    from corpuscle.entities.inspection import write_errors
    from corpuscle.measure import mention_scores, mention_scores_by_type

    right, guess = gold.texts, found.texts
    with of_data():
        result = mention_scores(right, guess, one_to_one=one_to_one, seed=seed)
    if errors is not None:
        write_errors(right, guess, errors)
    if not by_type:
        return result
    rows = mention_scores_by_type(right, guess)
    columns = ("type", "gold", "found", "P", "R", "F1", "P relaxed", "R relaxed", "F1 relaxed")
    table = Table(columns, map(dict.values, rows))
    return Answer({**result.to_json(), "by_type": rows}, f"{result.text()}\n{table.text()}")


@verb("entities", "entities uncertain mentions.entities new-documents --most 20", work=True)
def uncertain(
    model: EntityTagger = a_model("entities"),
    documents: Documents = _documents(many=True),
    *,
    most: int = setting("How many sentences.", default=20, low=1, high=MOST),
) -> Shown:
    """The sentences of which a model is least sure, for annotators: correct them, add them, train again."""
    import numpy as np

    documents = documents.named("document")
    tagged, rows = model.tag(documents), []
    for i in np.argsort(tagged.surest, kind="stable")[:most].tolist():
        words, name = documents.corpus.words(i), documents.texts[documents.document_of[i]].name
        found = [f"{each.type}: {' '.join(words[token] for token in each.tokens)}" for each in tagged.mentions[i]]
        rows.append((name, float(tagged.surest[i]), " ".join(words), "; ".join(found)))
    table = Table(("document", "confidence", "text", "found"), rows)
    return Answer({"sentences": table.to_json()["rows"]}, table.text())


def _a_page_or_a_picture(values: Mapping[str, Any]) -> None:
    if values["sentence"] is not None and not str(values["output"]).endswith(_PICTURES):
        raise SettingError("--sentence goes with a picture (-o x.svg); a page has all sentences")


@verb(
    "entities",
    "entities draw new-documents --model mentions.entities -o page.html",
    out="page",
    work=True,
    check=_a_page_or_a_picture,
)
def draw(
    documents: Documents = _documents(many=True),
    *,
    model: EntityTagger | None = a_model(
        "entities", help="Find the mentions with this model first; the less sure, the fainter.", option=True
    ),
    sentence: int | None = setting("Which sentence a picture shows, from 1 on.", default=None, low=1, high=MOST),
    output: str | None,
) -> Lines | Picture:
    """Show texts with their mentions underlined: all of them as a page (HTML), or one sentence as a picture (SVG or
    PNG)."""
    from corpuscle.entities import draw_documents
    from corpuscle.figures import draw_mentions

    tagged = None if model is None else model.tag(documents)
    mentions, sure = (documents.mentions, None) if tagged is None else (tagged.mentions, tagged.confidence)
    if output is None or not output.endswith(_PICTURES):
        return Lines.of([draw_documents(documents, mentions, sure).rstrip("\n")])
    if sentence is not None and sentence > len(mentions):
        raise InputError(None, None, f"it has {len(mentions):,} sentences, and none of number {sentence:,}")
    if not mentions:
        return Picture(draw_mentions([], [], title=""))
    at = next((i for i, each in enumerate(mentions) if each), 0) if sentence is None else sentence - 1
    words, confidence = documents.corpus.words(at), None if sure is None else sure[at]
    return Picture(draw_mentions(words, mentions[at], confidence=confidence, title=" ".join(words)))


@verb("entities", "entities features mentions.entities")
def features(
    model: CrfTagger = a_model("entities", "entities.crf"),
    *,
    label: str | None = setting("Only of this tag.", default=None, metavar="TAG"),
) -> Shown:
    """The heaviest features of each tag, with an example of each from the training text."""
    rows = [each for each in model.heaviest_ if label in (None, each.label)]
    if not rows:
        raise SettingError(f"there is no tag {label!r}; there are {', '.join(model.labels_.strings[3:])}")
    return Answer({"features": [each._asdict() for each in rows]}, Table(("tag", "feature", "weight"), rows).text())


# ---- the workbench


_TYPED: Any = _documents(options={"raw": RAW})


@view("entities", name="entities", text="a b c")
def find_typed(model: EntityTagger, text: Documents = _TYPED) -> dict[str, Any]:
    """The mentions in each sentence, also with gaps, how sure each is, and a picture."""
    from corpuscle.figures import draw_mentions

    tagged, sentences = model.tag(text), []
    for words, mentions, sure in zip(text.corpus, tagged.mentions, tagged.confidence, strict=True):
        found = [
            {**told, "text": " ".join(words[t] for t in told["tokens"]), "confidence": confidence}
            for told, confidence in zip(_plain(mentions), sure, strict=True)
        ]
        svg = draw_mentions(words, mentions, confidence=sure) if words else ""
        sentences.append({"words": list(words), "mentions": found, "svg": svg})
    return {"sentences": sentences, "types": model.types}


@view("entities", text="a b c")
def doubts(model: EntityTagger, text: Documents = _TYPED, *, n: int = ITEMS) -> dict[str, Any]:
    """Sentences whose mentions are least sure, with the mentions."""
    from corpuscle.measure import least_sure, unsure_item

    tagged = model.tag(text)
    items = [
        unsure_item({"words": list(words), "mentions": _plain(found)}, sure.tolist())
        for words, found, sure in zip(text.corpus, tagged.mentions, tagged.by_token, strict=True)
        if words
    ]
    return least_sure(items, n, layer="entities", choices=model.types)


def warm() -> None:
    """Compile every kernel of this task by running it on a few words."""
    import os
    import tempfile

    from corpuscle.entities import CrfTagger, DictionaryTagger
    from corpuscle.entities.documents import from_standoff
    from corpuscle.text.standoff import Mention, Standoff

    texts = [Standoff("a b c", (Mention("X", ((0, 1),)),)), Standoff("b a", (Mention("X", ((2, 3),)),))]
    documents = from_standoff(texts)
    pieces = from_standoff([Standoff("a b c d c", (Mention("X", ((0, 1), (4, 5))),))] * 4)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        dictionary = DictionaryTagger().fit(documents)
        dictionary.tag(documents)
        tiny = CrfTagger(iterations=1, min_count=1, nc="none")
        tiny.replace(gaps="learned").fit(pieces).tag(pieces)
        tiny.replace(passes=2).fit(documents, dictionary=dictionary.dictionary_).save(path)
        apply(path, documents)
        apply(path, documents, nbest=2)
