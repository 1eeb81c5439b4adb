"""``corpuscle topics ...``: language models that know what the document at hand is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from corpuscle.cli.command import Figures, argument, command, option, output, resume, task_group, trainer, written
from corpuscle.cli.common import load, table_text
from corpuscle.errors import SettingError, warn
from corpuscle.progress import clock, one_line
from corpuscle.text.wording import number, percent, seconds

if TYPE_CHECKING:
    from corpuscle.text import Corpus
    from corpuscle.topics import NgramTopicModel, RescalingModel
    from corpuscle.topics.products import Mark, TopicSummary

__all__ = ["group"]

group = task_group("topics")

_NOTHING_KNOWN = "no word of the text is known to the model"


def _count(name: str, help: str, *, low: int = 1, high: int = 10**9, **facts: Any) -> Any:
    """An option that is a number from ``low`` on."""
    return option(name, help, metavar="N", type=click.IntRange(low, high), **facts)


_listed = option("documents", "first_line and lines of every document of one text.", metavar="TSV")
_split = _count("split", "Cut documents after every N sentences.")


def _index(function: Any) -> Any:
    """Options of commands that read documents: where they end."""
    return _listed(_split(function))


_particles = _count("particles", "Guesses at a document's topics.", high=100_000, default=10)


def _reading(function: Any) -> Any:
    """Options of commands that read new documents from left to right: arguments of ``log_probabilities``."""
    for each in (
        option("rejuvenate", "Draw the topics of earlier words afresh when particles are resampled.", is_flag=True),
        option("mode", "wallach: more exact, slow.", type=click.Choice(("weighted", "wallach")), default="weighted"),
        _count("every", "Words between two resamplings of particles.", default=10),
        _particles,
    ):
        function = each(function)
    return function


@trainer(group)
@argument("docs", many=True)
@output()
@_index
@written("log", "Write every sweep's log probability and seconds.", metavar="TSV")
@resume
def train(
    model: NgramTopicModel | RescalingModel,
    docs: tuple[str, ...],
    output: str,
    documents: str | None,
    split: int | None,
    log: str | None,
    resume: bool,
) -> Figures:
    """Learn topics and their n-grams from documents: texts with blank lines between them, folders, or .jsonl."""

    from corpuscle.text import write_table

    begin = clock()
    corpus = model.read(*docs, documents=documents, split=split)
    times: dict[int, float] = {}
    with model.checkpoint(corpus, output, resume) as checkpoint:
        model.fit(
            corpus, checkpoint=checkpoint, log=lambda sweep, _: times.update({sweep: clock() - begin})
        ).save(output)
    if log is not None:
        # Sweeps before a resumption have no time: nobody knows how long they took.
        rows = ((i, value, times.get(i, "")) for i, value in enumerate(model.history_))
        write_table(log, ("sweep", "log_probability", "seconds"), rows, ".9g")
    figures = {
        "method": model.method,
        "topics": model.topics_,
        "order": model.order,
        "documents": model.provenance_["documents"],
        "sentences": len(corpus),
        "words": corpus.n_tokens,
        "types": len(model.vocab_) - 3,
        "sweeps": model.sweeps_,
        "log_likelihood": float(model.history_[-1]),
        "nodes": model.nodes,
        "seconds": clock() - begin,
        "model": output,
    }
    text = (
        f"{output}: {model.method}, {model.topics_} topics, order {model.order}, {figures['documents']:,} documents, "
        f"{corpus.n_tokens:,} words, {model.nodes:,} nodes, {model.sweeps_} sweeps in {seconds(figures['seconds'])}"
    )
    return Figures(figures, text)


@command(group, work=True, seed=True)
@argument("model")
@argument("docs", many=True)
@_index
@_reading
def perplexity(
    model: str, docs: tuple[str, ...], documents: str | None, split: int | None, seed: int, **reading: Any
) -> Figures:
    """How well a model predicts new documents, each read from left to right."""

    from corpuscle.text.overlap import overlap
    from corpuscle.topics.products import document_names, perplexities

    loaded = load(model, "topics")
    corpus = loaded.read(*docs, documents=documents, split=split)
    begin = clock()
    result, by_sample = perplexities(loaded, corpus, seed=seed, **reading)
    seconds = clock() - begin
    if result["oov"] == corpus.n_tokens:
        warn(_NOTHING_KNOWN)
    share = overlap(loaded.items_, corpus)
    if share > 0.05:
        warn(f"{percent(share, 0)} of these sentences were among those that the model learned from")
    figures = result.to_json()
    text = result.text()
    if len(by_sample) > 1:
        mean = sum(by_sample) / len(by_sample)
        figures |= {"perplexity_by_sample": by_sample, "mean_of_samples": mean}
        text += f"; mean of the perplexities of {len(by_sample)} samples {number(mean)}"
    figures |= {"documents": len(document_names(corpus)), "overlap_training": share, "seconds": seconds}
    return Figures(figures | {"words_per_second": corpus.n_tokens / max(seconds, 1e-9)}, text)


@command(group, work=True, seed=True, figures=False)
@argument("model")
@argument("docs", many=True)
@output("-")
@option("by_word", "Every word with its surprisal in bits.", is_flag=True)
@_index
@_reading
def score(
    model: str,
    docs: tuple[str, ...],
    output: str,
    by_word: bool,
    documents: str | None,
    split: int | None,
    seed: int,
    **reading: Any,
) -> None:
    """Log10 probability and perplexity of every sentence given all before it in its document (TSV: sentence, tokens,
    oov, log10, perplexity, document)."""
    import numpy as np

    from corpuscle.text import write_table
    from corpuscle.text.vocab import UNKNOWN
    from corpuscle.topics.products import document_names

    loaded = load(model, "topics")
    corpus = loaded.read(*docs, documents=documents, split=split)
    logs = loaded.log_probabilities(corpus, seed=seed, **reading)
    unknown = corpus.recode(loaded.vocab_).tokens == UNKNOWN
    assert corpus.document_starts is not None
    lengths = np.diff(corpus.document_starts).tolist()
    names = [one_line(name) for name, n in zip(document_names(corpus), lengths, strict=True) for _ in range(n)]
    sentence = np.repeat(np.arange(len(corpus)), corpus.lengths)
    if by_word:
        read = corpus.vocab.decode(corpus.tokens), (logs / -np.log(2)).tolist(), unknown.astype(int).tolist()
        of_words = ((i + 1, *row, names[i]) for i, *row in zip(sentence.tolist(), *read, strict=True))
        write_table(output, ("sentence", "word", "bits", "oov", "document"), of_words)
        return
    sums, oov = (np.bincount(sentence, values, len(corpus)) for values in (logs, unknown))
    with np.errstate(all="ignore"):
        perplexity = np.exp(-sums / corpus.lengths).tolist()
    log10 = sums / np.log(10)
    rows = zip(range(1, len(corpus) + 1), corpus.lengths, oov.astype(int), log10, perplexity, names, strict=True)
    heading = ("sentence", "tokens", "oov", "log10", "perplexity", "document")
    write_table(output, heading, rows)


def _save(path: str, text: str) -> None:
    """Write some text and a line feed."""
    from corpuscle.text.files import write_atomically

    with write_atomically(path, "w") as out:
        out.write(text + "\n")


def _written(values: list[dict[str, Any]], text: str, output: str) -> Figures:
    """What a command says about documents: its text goes to a file, or (``-``) is what it prints."""
    if output == "-":
        return Figures({"documents": values}, text)
    _save(output, text)
    return Figures({"documents": values}, "")


@command(group, work=True, seed=True)
@argument("model")
@argument("docs", many=True)
@output("-")
@_count("top", "So many topics of each document.", show_default="3")
@_count("words", "Typical words of each topic.", show_default="5")
@option("shares", "A line a document with the shares of all topics.", is_flag=True)
@_particles
@_index
def apply(
    model: str,
    docs: tuple[str, ...],
    output: str,
    top: int | None,
    words: int | None,
    shares: bool,
    particles: int,
    documents: str | None,
    split: int | None,
    seed: int,
) -> Figures:
    """What each document is about (TSV: document, words, oov, topic, share, typical words; a line for each of its
    largest topics)."""
    from corpuscle.topics import document_topics, summaries

    for name, given in (("--top", top), ("--words", words)):
        if shares and given is not None:
            raise SettingError(f"{name} means nothing with --shares")
    loaded = load(model, "topics")
    found = document_topics(
        loaded, loaded.read(*docs, documents=documents, split=split), particles=particles, seed=seed
    )
    if all(document.oov == document.words for document in found):
        warn(_NOTHING_KNOWN)
    typical = {topic.number: [word for word, _ in topic.words] for topic in summaries(loaded, words or 5, 0)}
    columns = [f"topic_{k}" for k in sorted(typical)] if shares else ["topic", "share", "typical"]
    values: list[dict[str, Any]] = []
    rows: list[tuple[Any, ...]] = []
    for document in found:
        about = {"document": document.name, "words": document.words, "oov": document.oov}
        begin, by_topic = (one_line(document.name), document.words, document.oov), document.shares.tolist()
        if shares:
            values.append(about | {"shares": by_topic})
            rows.append((*begin, *by_topic))
        else:
            best = [(int(k) + 1, by_topic[k]) for k in (-document.shares).argsort(kind="stable")[: top or 3]]
            shown = [{"topic": k, "share": share, "words": typical[k]} for k, share in best]
            values.append(about | {"topics": shown})
            rows += [(*begin, k, share, " ".join(typical[k])) for k, share in best]
    return _written(values, table_text(("document", "words", "oov", *columns), rows), output)


@command(group)
@argument("model")
@_count("words", "Typical words of each topic.", default=10)
@_count("phrases", "Phrases of each topic.", low=0, default=5)
@_count("contexts", "So many of the least and of the most topical contexts.", low=0, default=0)
@_count("least", "Only contexts with so many customers, which say how topical it is.", show_default="20")
@written("figure", "Draw the topics.", form="figure")
@written("tsv", "Write topic, share, words and phrases as a table.", metavar="FILE")
def show(
    model: str,
    words: int,
    phrases: int,
    contexts: int,
    least: int | None,
    figure: str | None,
    tsv: str | None,
) -> Figures:
    """Show topics with their words and phrases, and what they share: the global topic, number 0. A phrase that begins a
    sentence begins with <s>."""
    from corpuscle.text import write_table
    from corpuscle.topics import contexts as topical_contexts
    from corpuscle.topics import summaries
    from corpuscle.topics.products import global_summary, has_topics

    if not contexts and least is not None:
        raise SettingError("--least means nothing without --contexts")
    loaded = load(model, "topics")
    table = topical_contexts(loaded, least or 20) if contexts else []
    found, shared = summaries(loaded, words, phrases), global_summary(loaded, words, phrases)
    everything = [*found, *([] if shared is None else [shared])]
    if figure is not None:
        _draw(figure, found)
    if tsv is not None:
        rows = (
            (t.number, t.share, " ".join(word for word, _ in t.words), " | ".join(p.text for p in t.phrases))
            for t in everything
        )
        write_table(tsv, ("topic", "share", "words", "phrases"), rows)
    values: dict[str, Any] = {
        "topics": [_values(topic) for topic in found],
        "global": None if shared is None else _values(shared),
    }
    shown = table if len(table) <= 2 * contexts else [*table[:contexts], *table[-contexts:]]
    if contexts:
        values["contexts"] = [row._asdict() for row in shown]
    lines = _topic_lines(everything if has_topics(loaded) else [])
    if contexts:
        topical = ((row.topical, row.customers, row.text or "(no context)") for row in shown)
        lines.append(table_text(("topical", "customers", "context"), topical))
    return Figures(values, "" if tsv == "-" else "\n".join(lines))


def _values(topic: TopicSummary) -> dict[str, Any]:
    return topic._asdict() | {"phrases": [phrase._asdict() for phrase in topic.phrases]}


def _topic_lines(found: list[TopicSummary]) -> list[str]:
    """Topics as people read them."""
    lines = [] if found else ["no topics: a model of the method hpylm is one n-gram model"]
    for topic in found:
        name = f"topic {topic.number}" if topic.number else "the global topic"
        share = f", {percent(topic.share)}" if topic.number or topic.share else ""
        lines.append(f"{name}{share}: " + " ".join(word for word, _ in topic.words))
        if topic.phrases:
            lines.append("    " + " · ".join(phrase.text for phrase in topic.phrases))
    return lines


def _draw(path: str, found: list[TopicSummary]) -> None:
    from corpuscle.figures import TopicShown, save_figure, topic_list

    shown = [
        TopicShown(topic.number, topic.share, [word for word, _ in topic.words], [p.text for p in topic.phrases])
        for topic in found
    ]
    save_figure(topic_list(shown), path)


@command(group, work=True, seed=True)
@argument("model")
@argument("docs", many=True)
@output("-")
@option("lines", "A sentence a line: every word with its topic, or 0 if not topical.", is_flag=True)
@_index
@_particles
@written("figure", "Draw the first document, topical words shaded.", form="figure")
def mark(
    model: str,
    docs: tuple[str, ...],
    output: str,
    lines: bool,
    documents: str | None,
    split: int | None,
    particles: int,
    figure: str | None,
    seed: int,
) -> Figures:
    """Mark topical words: a word a line, how topical it is, its topic; the names of documents after #, blank lines
    between documents."""
    from itertools import pairwise

    from corpuscle.topics import mark as marked
    from corpuscle.topics.products import document_names

    loaded = load(model, "topics")
    corpus = loaded.read(*docs, documents=documents, split=split)
    found = marked(loaded, corpus, particles=particles, seed=seed)
    assert corpus.document_starts is not None
    texts = [
        _sentences(document, corpus.lengths[first:last].tolist())
        for document, (first, last) in zip(found, pairwise(corpus.document_starts.tolist()), strict=True)
    ]
    if figure is not None:
        _shade(figure, found[0], texts[0])
    fields = ("word", "topical", "topic")
    values = [
        {"document": name, "sentences": [[dict(zip(fields, w, strict=True)) for w in s] for s in sentences]}
        for name, sentences in zip(document_names(corpus), texts, strict=True)
    ]
    return _written(values, "\n".join(_marked_lines(corpus, texts, lines)), output)


Marked = tuple[str, float, int]
"""A word, how topical it is, and its topic."""


def _sentences(document: Mark, lengths: list[int]) -> list[list[Marked]]:
    """The words of a document by sentence; empty sentences are left out."""
    from itertools import islice

    words = zip(document.words, document.topical.tolist(), document.topics.tolist(), strict=True)
    return [list(islice(words, n)) for n in lengths if n]


def _marked_lines(corpus: Corpus, texts: list[list[list[Marked]]], by_sentence: bool) -> list[str]:
    """Marked documents, a word or a sentence a line."""
    lines: list[str] = []
    for document, sentences in enumerate(texts):
        lines += [""] * bool(document)
        if corpus.labels is not None:
            lines.append(f"# {one_line(corpus.labels[document])}")
        for sentence in sentences:
            if by_sentence:
                lines.append(" ".join(f"{word}/{topic if share > 0.5 else 0}" for word, share, topic in sentence))
            else:
                lines.append(table_text((), sentence))
    return lines


def _shade(path: str, document: Mark, sentences: list[list[Marked]]) -> None:
    from corpuscle.figures import save_figure, shaded_text

    words = [[word for word, _, _ in sentence] for sentence in sentences]
    save_figure(shaded_text(words, document.topical.tolist(), document.topics.tolist()), path)
