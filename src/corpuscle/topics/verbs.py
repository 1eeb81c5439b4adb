"""The verbs of topic models: learn from documents, predict others, show topics, mark topical words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice, pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any

from corpuscle.errors import SettingError, warn
from corpuscle.progress import clock, one_line
from corpuscle.settings import Setting
from corpuscle.text.wording import number, percent
from corpuscle.verbs import (
    MOST,
    RAW,
    SEED,
    Answer,
    File,
    Input,
    K,
    Keep,
    Learned,
    Shown,
    Table,
    a_model,
    path,
    setting,
    trains,
    verb,
    view,
    written,
)

if TYPE_CHECKING:
    from corpuscle.figures import TopicShown
    from corpuscle.text import Corpus
    from corpuscle.topics import NgramTopicModel, RescalingModel
    from corpuscle.topics.base import TopicModel
    from corpuscle.topics.inspection import DocumentTopics, Mark, TopicSummary

_NOTHING_KNOWN = "no word of the text is known to the model"


def documents_of(value: Any, model: Any, declared: Input, *, documents: Any = None, split: int | None = None) -> Corpus:
    """Documents as the model reads them: files and folders, see ``read_documents``, or a text with documents."""
    files = isinstance(value, tuple) and value and isinstance(value[0], File)
    if files or isinstance(value, str | PathLike):
        return model.read(*(value if files else [value]), documents=documents, split=split)
    from corpuscle.text import inputs
    from corpuscle.topics import split_documents

    corpus = inputs.corpus(value, model)
    return corpus if split is None else split_documents(corpus, split)


_DOCUMENTS: Any = Input(
    "corpuscle.topics.verbs:documents_of",
    many=True,
    options={
        "documents": path("first_line and lines of every document of one text.", metavar="TSV", option=True),
        "split": Setting(
            None, "Cut documents after every N sentences.", low=1, high=MOST, name="split", type=int, optional=True
        ),
    },
)


def typed_documents(value: Any, model: Any, declared: Input, *, raw: bool = False) -> Corpus:
    """Documents that were typed, with blank lines between them."""
    import numpy as np

    from corpuscle.text import inputs

    corpus = inputs.text(value, model, declared, raw=raw)
    filled = corpus.lengths > 0
    starts = np.flatnonzero(filled & ~np.append(False, filled[:-1]))
    if len(starts) == 0:
        raise SettingError("text: there are no words in it")
    starts[0] = 0
    return corpus.with_documents(np.append(starts, len(corpus)))


_TYPED: Any = Input("corpuscle.topics.verbs:typed_documents", "Text, a sentence a line.", options={"raw": RAW})


def settings_of(value: Any, model: Any, declared: Input, **settings: Any) -> dict[str, Any]:
    """The options of an input that has nothing else."""
    return settings


_PARTICLES: Any = Setting(10, "Guesses at a document's topics.", low=1, high=100_000, name="particles", type=int)
_AFRESH = "Draw the topics of earlier words afresh when particles are resampled."
_READING: Any = Input(
    "corpuscle.topics.verbs:settings_of",
    only_options=True,
    options={
        "particles": _PARTICLES,
        "every": Setting(10, "Words between two resamplings of particles.", low=1, high=MOST, name="every", type=int),
        "mode": Setting("weighted", "wallach: more exact, slow.", choices=("weighted", "wallach"), name="mode"),
        "rejuvenate": Setting(False, _AFRESH, name="rejuvenate", type=bool),
    },
)
"""How new documents are read from left to right: arguments of ``log_probabilities``."""


@trains("topics", "topics train documents -o docs.topics --topics 20")
def train(
    model: NgramTopicModel | RescalingModel,
    docs: Corpus = _DOCUMENTS,
    *,
    log: str | None = written("Write every sweep's log probability and seconds.", metavar="TSV"),
    keep: Keep,
) -> Learned:
    """Learn topics and their n-grams from documents: texts with blank lines between them, folders, or .jsonl."""
    from corpuscle.text import write_table

    begin, times = clock(), dict[int, float]()
    checkpoint = keep.checkpoint(model, docs)
    model.fit(docs, checkpoint=checkpoint, log=lambda sweep, _: times.update({sweep: clock() - begin}))
    if log is not None:
        # Sweeps before a resumption have no time: nobody knows how long they took.
        rows = ((i, value, times.get(i, "")) for i, value in enumerate(model.history_))
        write_table(log, ("sweep", "log_probability", "seconds"), rows, ".9g")
    figures = {
        "topics": model.topics_,
        "order": model.order,
        "documents": model.provenance_["documents"],
        "sentences": len(docs),
        "words": docs.n_tokens,
        "types": len(model.vocab_) - 3,
        "sweeps": model.sweeps_,
        "log_likelihood": float(model.history_[-1]),
        "nodes": model.nodes,
        "model": keep.output,
    }
    return Learned(
        model,
        figures,
        f"{model.method}, {model.topics_} topics, order {model.order}, {figures['documents']:,} documents, "
        f"{docs.n_tokens:,} words, {model.nodes:,} nodes, {model.sweeps_} sweeps",
    )


@verb("topics", "topics show docs.topics --figure topics.svg")
def show(
    model: TopicModel = a_model("topics"),
    *,
    words: int = setting("Typical words of each topic.", default=10, low=1, high=MOST),
    phrases: int = setting("Phrases of each topic.", default=5, low=0, high=MOST),
    contexts: int = setting("So many of the least and of the most topical contexts.", default=0, low=0, high=MOST),
    least: int | None = setting(
        "Only contexts with so many customers, which say how topical it is.", default=None, low=1, high=MOST, shown="20"
    ),
    figure: str | None = written("Draw the topics.", form="figure"),
    tsv: str | None = written("Write topic, share, words and phrases as a table."),
) -> Shown:
    """Show topics with their words and phrases, and what they share: the global topic, number 0. A phrase that begins a
    sentence begins with <s>."""
    from corpuscle.figures import save_figure, topic_list
    from corpuscle.topics import contexts as topical_contexts
    from corpuscle.topics import global_summary, summaries

    if not contexts and least is not None:
        raise SettingError("--least means nothing without --contexts")
    table = topical_contexts(model, least or 20) if contexts else []
    found, shared = summaries(model, words, phrases), global_summary(model, words, phrases)
    everything = [*found, *([] if shared is None else [shared])]
    if figure is not None:
        save_figure(topic_list(_as_shown(found)), figure)
    if tsv is not None:
        rows = (
            (t.number, t.share, " ".join(word for word, _ in t.words), " | ".join(p.text for p in t.phrases))
            for t in everything
        )
        Table(("topic", "share", "words", "phrases"), rows).write(tsv)
    plain = [topic._asdict() | {"phrases": [phrase._asdict() for phrase in topic.phrases]} for topic in everything]
    values: dict[str, Any] = {"topics": plain[: len(found)], "global": plain[-1] if shared is not None else None}
    lines = _topic_lines(everything if model.has_topics else [])
    if contexts:
        chosen = table if len(table) <= 2 * contexts else [*table[:contexts], *table[-contexts:]]
        values["contexts"] = [row._asdict() for row in chosen]
        topical = ((row.topical, row.customers, row.text or "(no context)") for row in chosen)
        lines.append(Table(("topical", "customers", "context"), topical).text())
    return Answer(values, "" if tsv == "-" else "\n".join(lines))


def _topic_lines(found: Sequence[TopicSummary]) -> list[str]:
    lines = [] if found else ["no topics: a model of the method hpylm is one n-gram model"]
    for topic in found:
        name = f"topic {topic.number}" if topic.number else "the global topic"
        share = f", {percent(topic.share)}" if topic.number or topic.share else ""
        lines.append(f"{name}{share}: " + " ".join(word for word, _ in topic.words))
        if topic.phrases:
            lines.append("    " + " · ".join(phrase.text for phrase in topic.phrases))
    return lines


def _as_shown(found: Sequence[TopicSummary]) -> list[TopicShown]:
    from corpuscle.figures import TopicShown

    return [
        TopicShown(topic.number, topic.share, [word for word, _ in topic.words], [p.text for p in topic.phrases])
        for topic in found
    ]


@verb("topics", "topics apply docs.topics new-documents -o shares.tsv", out="-", work=True)
def apply(
    model: TopicModel = a_model("topics"),
    docs: Corpus = _DOCUMENTS,
    *,
    top: int | None = setting("So many topics of each document.", default=None, low=1, high=MOST, shown="3"),
    words: int | None = setting("Typical words of each topic.", default=None, low=1, high=MOST, shown="5"),
    shares: bool = setting("A line a document with the shares of all topics.", default=False),
    particles: int = _PARTICLES,
    seed: int = SEED,
) -> Shown:
    """What each document is about (TSV: document, words, oov, topic, share, typical words; a line for each of its
    largest topics)."""
    from corpuscle.topics import document_topics

    for name, given in (("--top", top), ("--words", words)):
        if shares and given is not None:
            raise SettingError(f"{name} means nothing with --shares")
    found = document_topics(model, docs, particles=particles, seed=seed)
    if all(document.oov == document.words for document in found):
        warn(_NOTHING_KNOWN)
    values = [_about(document) | {"shares": document.shares.tolist()} for document in found]
    if not shares:
        values = _largest(model, found, top or 3, words or 5)
    rows: list[tuple[Any, ...]] = []
    for each in values:
        begin = one_line(each["document"]), each["words"], each["oov"]
        about = [each["shares"]] if shares else [(t["topic"], t["share"], " ".join(t["words"])) for t in each["topics"]]
        rows += [(*begin, *row) for row in about]
    columns = [f"topic_{k}" for k in range(1, model.topics_ + 1)] if shares else ["topic", "share", "typical"]
    return Answer({"documents": values}, Table(("document", "words", "oov", *columns), rows).text())


def _about(document: DocumentTopics) -> dict[str, Any]:
    return {"document": document.name, "words": document.words, "oov": document.oov}


def _largest(model: TopicModel, found: Sequence[DocumentTopics], top: int, words: int) -> list[dict[str, Any]]:
    """The largest topics of each document with their typical words."""
    from corpuscle.topics import summaries

    typical = {topic.number: [word for word, _ in topic.words] for topic in summaries(model, words, 0)}
    values = []
    for document in found:
        best = [(int(k) + 1, float(document.shares[k])) for k in (-document.shares).argsort(kind="stable")[:top]]
        topics = [{"topic": k, "share": share, "words": typical[k]} for k, share in best]
        values.append(_about(document) | {"topics": topics})
    return values


@verb("topics", "topics mark docs.topics new-documents --figure marked.png", out="-", work=True)
def mark(
    model: TopicModel = a_model("topics"),
    docs: Corpus = _DOCUMENTS,
    *,
    lines: bool = setting("A sentence a line: every word with its topic, or 0 if not topical.", default=False),
    particles: int = _PARTICLES,
    figure: str | None = written("Draw the first document, topical words shaded.", form="figure"),
    seed: int = SEED,
) -> Shown:
    """Mark topical words: a word a line, how topical it is, its topic; the names of documents after #, blank lines
    between documents."""
    from corpuscle.figures import save_figure, shaded_text
    from corpuscle.topics import mark as marked
    from corpuscle.topics.inspection import document_names

    texts = _by_sentence(marked(model, docs, particles=particles, seed=seed), docs)
    if figure is not None:
        save_figure(shaded_text(*_columns(texts[0])), figure)
    shown = list[str]()
    for i, sentences in enumerate(texts):
        shown += [""] * bool(i) + ([] if docs.labels is None else [f"# {one_line(docs.labels[i])}"])
        for sentence in sentences:
            by_word = " ".join(f"{word}/{topic if share > 0.5 else 0}" for word, share, topic in sentence)
            shown.append(by_word if lines else Table((), sentence).text())
    values = [
        {"document": name, "sentences": _marked_values(sentences)}
        for name, sentences in zip(document_names(docs), texts, strict=True)
    ]
    return Answer({"documents": values}, "\n".join(shown))


MarkedSentence = list[tuple[str, float, int]]
"""Each word, how topical it is, and its topic."""


def _by_sentence(found: Sequence[Mark], docs: Corpus) -> list[list[MarkedSentence]]:
    """The marked words of documents by sentence; empty sentences are left out."""
    assert docs.document_starts is not None
    texts = []
    for document, (first, last) in zip(found, pairwise(docs.document_starts.tolist()), strict=True):
        words = zip(document.words, document.topical.tolist(), document.topics.tolist(), strict=True)
        texts.append([list(islice(words, n)) for n in docs.lengths[first:last].tolist() if n])
    return texts


def _columns(sentences: Sequence[MarkedSentence]) -> tuple[list[list[str]], list[float], list[int]]:
    """The words of sentences, how topical all words are, and their topics."""
    flat = [word for sentence in sentences for word in sentence]
    return [[w for w, _, _ in sentence] for sentence in sentences], [s for _, s, _ in flat], [t for _, _, t in flat]


def _marked_values(sentences: Sequence[MarkedSentence]) -> list[list[dict[str, Any]]]:
    return [[dict(zip(("word", "topical", "topic"), word, strict=True)) for word in each] for each in sentences]


@verb("topics", "topics score docs.topics new-documents -o scores.tsv", out="-", work=True)
def score(
    model: TopicModel = a_model("topics"),
    docs: Corpus = _DOCUMENTS,
    *,
    by_word: bool = setting("Every word with its surprisal in bits.", default=False),
    reading: Mapping[str, Any] = _READING,
    seed: int = SEED,
) -> Table:
    """Log10 probability and perplexity of every sentence given all before it in its document (TSV: sentence, tokens,
    oov, log10, perplexity, document)."""
    import numpy as np

    from corpuscle.text.vocab import UNKNOWN
    from corpuscle.topics.inspection import document_names

    logs = model.log_probabilities(docs, seed=seed, **reading)
    unknown = docs.recode(model.vocab_).tokens == UNKNOWN
    assert docs.document_starts is not None
    lengths = np.diff(docs.document_starts).tolist()
    names = [one_line(name) for name, n in zip(document_names(docs), lengths, strict=True) for _ in range(n)]
    sentence = np.repeat(np.arange(len(docs)), docs.lengths)
    if by_word:
        read = docs.vocab.decode(docs.tokens), (logs / -np.log(2)).tolist(), unknown.astype(int).tolist()
        of_words = ((i + 1, *row, names[i]) for i, *row in zip(sentence.tolist(), *read, strict=True))
        return Table(("sentence", "word", "bits", "oov", "document"), of_words)
    sums, oov = (np.bincount(sentence, values, len(docs)) for values in (logs, unknown))
    with np.errstate(all="ignore"):
        perplexity = np.exp(-sums / docs.lengths).tolist()
    log10 = sums / np.log(10)
    rows = zip(range(1, len(docs) + 1), docs.lengths, oov.astype(int), log10, perplexity, names, strict=True)
    return Table(("sentence", "tokens", "oov", "log10", "perplexity", "document"), rows)


@verb("topics", "topics perplexity docs.topics new-documents", work=True)
def perplexity(
    model: TopicModel = a_model("topics"),
    docs: Corpus = _DOCUMENTS,
    *,
    reading: Mapping[str, Any] = _READING,
    seed: int = SEED,
) -> Shown:
    """How well a model predicts new documents, each read from left to right."""
    from corpuscle.text.heldout import overlap
    from corpuscle.topics.inspection import document_names

    begin = clock()
    result, by_sample = model.perplexities(docs, seed=seed, **reading)
    seconds = clock() - begin
    if result["oov"] == docs.n_tokens:
        warn(_NOTHING_KNOWN)
    share = overlap(model.items_, docs)
    if share > 0.05:
        warn(f"{percent(share, 0)} of these sentences were among those that the model learned from")
    figures, text = result.to_json(), result.text()
    if len(by_sample) > 1:
        mean = sum(by_sample) / len(by_sample)
        figures |= {"perplexity_by_sample": by_sample, "mean_of_samples": mean}
        text += f"; mean of the perplexities of {len(by_sample)} samples {number(mean)}"
    figures |= {"documents": len(document_names(docs)), "overlap_training": share, "seconds": seconds}
    return Answer(figures | {"words_per_second": docs.n_tokens / max(seconds, 1e-9)}, text)


_GUESSES: Any = setting("Guesses at a document's topics.", default=10, low=1, high=100)


@view("topics", text="a b c\nb c a")
def topics(
    model: TopicModel,
    text: Corpus = _TYPED,
    *,
    top: int = setting("So many topics of each document.", default=3, low=1, high=100),
    particles: int = _GUESSES,
    seed: int = SEED,
) -> dict[str, Any]:
    """What each document is about: its largest topics with their typical words."""
    from corpuscle.topics import document_topics

    found = document_topics(model, text, particles=particles, seed=seed)
    return {"documents": _largest(model, found, top, 5)}


@view("topics", name="mark", kinds=("topics.ngram",), text="a b c\nb c a")
def mark_typed(
    model: TopicModel, text: Corpus = _TYPED, *, particles: int = _GUESSES, seed: int = SEED
) -> dict[str, Any]:
    """How topical each word is, and its topic; as a picture, too."""
    from corpuscle.figures import shaded_text
    from corpuscle.topics import mark as marked

    texts = _by_sentence(marked(model, text, particles=particles, seed=seed), text)
    sentences = [sentence for document in texts for sentence in document]
    return {"sentences": _marked_values(sentences), "svg": shaded_text(*_columns(sentences))}


@view("topics", name="show", k=5)
def show_all(
    model: TopicModel, *, k: int = K, phrases: int = setting("Phrases of each topic.", default=5, low=0, high=100)
) -> dict[str, Any]:
    """All topics with their typical words and phrases; as a picture, too."""
    from corpuscle.figures import topic_list
    from corpuscle.topics import summaries

    shown = _as_shown(summaries(model, k, phrases))
    return {"topics": [topic._asdict() for topic in shown], "svg": topic_list(shown)}


def _tiny() -> Corpus:
    import numpy as np

    from corpuscle.text import Corpus

    return Corpus.from_sentences([["a", "b", "a"], ["b", "c"], ["a"]]).with_documents(np.array([0, 2, 3]))


def warm() -> None:
    """Compile every kernel of this task by running it on a few words."""
    import os
    import tempfile

    from corpuscle.topics import RescalingModel

    warm_defaults()
    corpus = _tiny()
    rescaled = RescalingModel(topics=2, order=3, sweeps=2, word_sweeps=2, samples=1, min_count=1).fit(corpus)
    rescaled.perplexity(corpus, draws=10)
    with tempfile.TemporaryDirectory() as folder:
        rescaled.save(os.path.join(folder, "model"))


def warm_defaults() -> None:
    """Compile what the default method needs."""
    import os
    import tempfile

    from corpuscle.text import warm as warm_text
    from corpuscle.topics import DocumentReader, NgramTopicModel
    from corpuscle.topics import mark as marked

    warm_text()
    corpus = _tiny()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        sampled = NgramTopicModel(topics=2, order=2, sweeps=2, min_count=1)
        with sampled.checkpoint(corpus, path) as checkpoint:
            checkpoint.every = 0.0
            sampled.fit(corpus, checkpoint=checkpoint)
        marked(sampled, corpus)
        DocumentReader(sampled).observe("a")
        sampled.perplexity(corpus, draws=10, rejuvenate=True)
