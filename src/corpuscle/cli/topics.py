"""``corpuscle topics ...``: language models that know what the document at hand is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from corpuscle.cli.common import (
    Digits,
    Json,
    Lowercase,
    ModelFile,
    Output,
    Quiet,
    Resume,
    Seed,
    UnkToken,
    Workers,
    check_model_output,
    check_output,
    emit,
    given,
    naming,
    one_line,
    write_table,
)
from corpuscle.errors import SettingError, warn

if TYPE_CHECKING:

    from corpuscle.text import Corpus
    from corpuscle.topics import TopicModel
    from corpuscle.topics.products import Mark

__all__ = ["app"]

METHODS = ("hpylm", "hpytm", "hierarchical", "switching", "rescaling")

app = typer.Typer(help="Topics: language models that adapt to the document at hand.")

Docs = Annotated[
    list[str],
    typer.Argument(metavar="DOCS...", help="Texts with blank lines between documents, folders, or .jsonl; - is stdin."),
]
Index = Annotated[
    str | None,
    typer.Option("--documents", metavar="TSV", help="first_line and lines of every document of one text."),
]
Particles = Annotated[int, typer.Option("--particles", min=1, max=100_000, help="Guesses at a document's topics.")]
Every = Annotated[int, typer.Option("--every", min=1, help="Words between two resamplings of particles.")]
Mode = Annotated[str, typer.Option("--mode", help="weighted, or wallach: more exact, slow.")]
Rejuvenate = Annotated[
    bool, typer.Option("--rejuvenate", help="Draw the topics of earlier words afresh when particles are resampled.")
]

_ONLY = {
    "sampler": ("hpytm", "hierarchical", "switching"),
    "topics": ("hpytm", "hierarchical", "switching", "rescaling"),
    "max_order": ("hpylm", "hpytm", "hierarchical", "switching"),
    "exponent": ("rescaling",),
    "prior": ("rescaling",),
    "word_iterations": ("rescaling",),
}
"""Option -> the methods that have it."""

_NOTHING_KNOWN = "no word of the text is known to the model"


def _read(docs: list[str], index: str | None, model: TopicModel) -> Corpus:
    from corpuscle.topics import read_documents

    return read_documents(*docs, documents=index, unk_token=model.unk_token, preprocessing=model.preprocessing)


def _load(path: str) -> Any:
    """A model of this task, and of no other."""
    from corpuscle.model import read
    from corpuscle.topics import NgramTopicModel, RescalingModel

    loaded = read(path, (NgramTopicModel.KIND, RescalingModel.KIND))
    home = NgramTopicModel if loaded.kind == NgramTopicModel.KIND.name else RescalingModel
    return home.from_container(loaded)


def _model(context: typer.Context, method: str, order: str, **settings: Any) -> Any:
    """The model that the options ask for; one that would do nothing is an error."""
    from corpuscle.topics import NgramTopicModel, RescalingModel

    if method not in METHODS:
        raise SettingError(f"the method is one of {', '.join(METHODS)}, not {method!r}")
    chosen = given(context)
    for name, methods in _ONLY.items():
        if name in chosen and method not in methods:
            raise SettingError(f"--{name.replace('_', '-')} means nothing with --method {method}")
        if method not in methods:
            settings.pop(name, None)
    if order != "infinite" and not order.isdecimal():
        raise SettingError(f"the order is a number from 1 on, or infinite; not {order!r}")
    if order != "infinite" and "max_order" in chosen:
        raise SettingError("--max-order means nothing without --order infinite")
    settings = {name: value for name, value in settings.items() if value is not None}
    if method == "rescaling":
        if order == "infinite":
            raise SettingError("rescaling has no infinite order")
        model: Any = RescalingModel(order=int(order), **settings)
    else:
        model = NgramTopicModel(method, order=order if order == "infinite" else int(order), **settings)
    for name in model.settings():
        if ("unk_token" if name == "unk_token" else name) in chosen:
            model.origins[name] = "given"
    return model


@app.command()
def train(
    context: typer.Context,
    docs: Docs,
    output: Output,
    method: Annotated[str, typer.Option("--method", help=f"One of: {', '.join(METHODS)}.")] = "switching",
    topics: Annotated[int, typer.Option("--topics", min=1, max=32_000, help="How many topics.")] = 50,
    order: Annotated[str, typer.Option("--order", help="How many words an n-gram has, or infinite.")] = "3",
    iterations: Annotated[
        int | None,
        typer.Option("--iterations", min=1, show_default="500; hpylm 100; rescaling 900", help="Gibbs sweeps."),
    ] = None,
    sampler: Annotated[
        str, typer.Option("--sampler", help="Topics change word by word (token), or whole tables at once too (table).")
    ] = "table",
    samples: Annotated[
        int | None,
        typer.Option(
            "--samples", min=1, show_default="1; rescaling 5", help="How many states are kept and averaged."
        ),
    ] = None,
    documents: Index = None,
    max_order: Annotated[int, typer.Option("--max-order", min=1, help="Of a model of infinite order.")] = 8,
    min_count: Annotated[int, typer.Option("--min-count", min=1, help="Rarer words are unknown.")] = 4,
    exponent: Annotated[float, typer.Option("--exponent", min=0.0, help="How far rescaling goes.")] = 0.7,
    prior: Annotated[float, typer.Option("--prior", help="Of words in the topics of rescaling.")] = 0.01,
    word_iterations: Annotated[
        int, typer.Option("--word-iterations", min=1, help="Sweeps of the language model of rescaling.")
    ] = 100,
    lowercase: Lowercase = False,
    digits: Digits = False,
    unk_token: UnkToken = "unknown",
    log: Annotated[
        str | None, typer.Option("--log", metavar="TSV", help="Write every sweep's log probability and seconds.")
    ] = None,
    resume: Resume = False,
    seed: Seed = 1,
    workers: Workers = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Learn topics and their n-grams from documents."""
    import time

    from corpuscle.text import Preprocessing

    check_model_output(output)
    if log is not None:
        check_output(log)
    begin = time.perf_counter()
    model = _model(
        context, method, order, topics=topics, iterations=iterations, sampler=sampler, samples=samples,
        max_order=max_order, min_count=min_count, exponent=exponent, prior=prior, word_iterations=word_iterations,
        unk_token=unk_token, preprocessing=Preprocessing(lowercase=lowercase, digits=digits), seed=seed, workers=workers,
    )  # fmt: skip
    corpus = _read(docs, documents, model)
    seconds: dict[int, float] = {}
    with naming(docs[0]), model.checkpoint(corpus, output, resume) as checkpoint:
        model.fit(
            corpus,
            checkpoint=checkpoint,
            log=lambda sweep, _: seconds.update({sweep: time.perf_counter() - begin}),
        )
        model.save(output)
    if log is not None:
        heading = ("iteration", "log_probability", "seconds")
        # Sweeps before a resumption have no time: nobody knows how long they took.
        times = (f"{seconds[i]:.3f}" if i in seconds else "" for i in range(len(model.history_)))
        rows = zip(range(len(model.history_)), (f"{value:.6f}" for value in model.history_), times, strict=True)
        write_table(log, heading, rows)
    n_documents = len(corpus.document_starts) - 1 if corpus.document_starts is not None else 1
    result = {
        "method": method, "topics": model.topics, "order": order if order == "infinite" else int(order),
        "documents": n_documents, "sentences": len(corpus), "words": corpus.n_tokens, "types": len(model.vocab_) - 3,
        "iterations": model.iterations, "log_likelihood": float(model.history_[-1]),
        "seconds": time.perf_counter() - begin, "model": output,
    }  # fmt: skip
    emit(
        result,
        as_json,
        f"{output}: {method}, {model.topics} topics, order {order}, {n_documents:,} documents, "
        f"{corpus.n_tokens:,} words, {model.iterations} sweeps in {result['seconds']:.1f} s",
    )


@app.command()
def perplexity(
    model: ModelFile,
    docs: Docs,
    particles: Particles = 10,
    every: Every = 10,
    mode: Mode = "weighted",
    rejuvenate: Rejuvenate = False,
    documents: Index = None,
    seed: Seed = 1,
    workers: Workers = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """How well a model predicts new documents, each read from left to right."""
    import math
    import time

    from corpuscle.text.overlap import overlap
    from corpuscle.topics.products import document_names, perplexities

    loaded = _load(model)
    corpus = _read(docs, documents, loaded)
    begin = time.perf_counter()
    result, by_sample = perplexities(
        loaded, corpus, seed=seed, particles=particles, every=every, mode=mode, rejuvenate=rejuvenate, workers=workers
    )
    seconds = time.perf_counter() - begin
    if result["oov"] == corpus.n_tokens:
        warn(_NOTHING_KNOWN)
    share = overlap(loaded.items_, corpus)
    if share > 0.05:
        warn(f"{share:.0%} of these sentences were among those that the model learned from")
    figures = result.to_json()
    text = (
        f"perplexity {result['perplexity']:.3f} (95 % {result['low']:.3f} to {result['high']:.3f}), "
        f"{result['tokens']:,} words, {result['oov']:,} unknown"
    )
    if math.isfinite(result["perplexity_without_oov"]):
        text += f", {result['perplexity_without_oov']:.3f} without them"
    if len(by_sample) > 1:
        mean = sum(by_sample) / len(by_sample)
        figures |= {"perplexity_by_sample": by_sample, "mean_of_samples": mean}
        text += f"; mean of the perplexities of {len(by_sample)} samples {mean:.3f}"
    figures |= {
        "documents": len(document_names(corpus)), "overlap_training": share, "seconds": seconds,
        "words_per_second": corpus.n_tokens / max(seconds, 1e-9),
    }  # fmt: skip
    emit(figures, as_json, text)


@app.command()
def score(
    model: ModelFile,
    docs: Docs,
    output: Output = "-",
    words: Annotated[bool, typer.Option("--words", help="Every word with its surprisal in bits.")] = False,
    particles: Particles = 10,
    every: Every = 10,
    mode: Mode = "weighted",
    rejuvenate: Rejuvenate = False,
    documents: Index = None,
    seed: Seed = 1,
    workers: Workers = None,
    quiet: Quiet = False,
) -> None:
    """Log10 probability and perplexity of every sentence given all before it in its document (TSV: sentence, tokens,
    oov, log10, perplexity, document)."""
    import numpy as np

    from corpuscle.text.vocab import UNKNOWN
    from corpuscle.topics.products import document_names

    check_output(output)
    loaded = _load(model)
    corpus = _read(docs, documents, loaded)
    logs = loaded.log_probabilities(
        corpus, particles=particles, every=every, mode=mode, rejuvenate=rejuvenate, seed=seed, workers=workers
    )
    unknown = corpus.recode(loaded.vocab_).tokens == UNKNOWN
    assert corpus.document_starts is not None
    lengths = np.diff(corpus.document_starts).tolist()
    names = [one_line(name) for name, n in zip(document_names(corpus), lengths, strict=True) for _ in range(n)]
    sentence = np.repeat(np.arange(len(corpus)), corpus.lengths)
    if words:
        read = corpus.vocab.decode(corpus.tokens), (logs / -np.log(2)).tolist(), unknown.astype(int).tolist()
        by_word = ((i + 1, *row, names[i]) for i, *row in zip(sentence.tolist(), *read, strict=True))
        write_table(output, ("sentence", "word", "bits", "oov", "document"), by_word)
        return
    sums, oov = (np.bincount(sentence, values, len(corpus)) for values in (logs, unknown))
    with np.errstate(all="ignore"):
        perplexity = np.exp(-sums / corpus.lengths).tolist()
    log10 = [f"{value:.6f}" for value in sums / np.log(10)]
    rows = zip(range(1, len(corpus) + 1), corpus.lengths, oov.astype(int), log10, perplexity, names, strict=True)
    write_table(output, ("sentence", "tokens", "oov", "log10", "perplexity", "document"), rows)


@app.command()
def apply(
    context: typer.Context,
    model: ModelFile,
    docs: Docs,
    output: Output = "-",
    top: Annotated[int, typer.Option("--top", min=1, help="So many topics of each document.")] = 3,
    words: Annotated[int, typer.Option("--words", min=1, help="Typical words of each topic.")] = 5,
    shares: Annotated[bool, typer.Option("--shares", help="A line a document with the shares of all topics.")] = False,
    particles: Particles = 10,
    documents: Index = None,
    seed: Seed = 1,
    workers: Workers = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """What each document is about (TSV: document, words, oov, topic, share, typical words; a line for each of its
    largest topics)."""
    from corpuscle.topics import document_topics, summaries

    check_output(output)
    for name in ("top", "words"):
        if shares and name in given(context):
            raise SettingError(f"--{name} means nothing with --shares")
    loaded = _load(model)
    found = document_topics(loaded, _read(docs, documents, loaded), particles=particles, seed=seed, workers=workers)
    if all(document.oov == document.words for document in found):
        warn(_NOTHING_KNOWN)
    typical = {topic.number: [word for word, _ in topic.words] for topic in summaries(loaded, words, 0)}
    values: list[dict[str, Any]] = []
    rows: list[tuple[Any, ...]] = []
    for document in found:
        about = {"document": document.name, "words": document.words, "oov": document.oov}
        begin, by_topic = (one_line(document.name), document.words, document.oov), document.shares.tolist()
        if shares:
            values.append(about | {"shares": by_topic})
            rows.append((*begin, *by_topic))
        else:
            best = [(int(k) + 1, by_topic[k]) for k in (-document.shares).argsort(kind="stable")[:top]]
            shown = [{"topic": k, "share": share, "words": typical[k]} for k, share in best]
            values.append(about | {"topics": shown})
            rows += [(*begin, k, share, " ".join(typical[k])) for k, share in best]
    if output != "-" or not as_json:
        columns = [f"topic_{k}" for k in sorted(typical)] if shares else ["topic", "share", "typical"]
        write_table(output, ["document", "words", "oov", *columns], rows)
    if as_json:
        emit({"documents": values}, True)


@app.command()
def show(
    context: typer.Context,
    model: ModelFile,
    words: Annotated[int, typer.Option("--words", min=1, help="Typical words of each topic.")] = 10,
    phrases: Annotated[int, typer.Option("--phrases", min=0, help="Phrases of each topic.")] = 5,
    contexts: Annotated[
        int, typer.Option("--contexts", min=0, help="So many of the least and of the most topical contexts.")
    ] = 0,
    least: Annotated[
        int, typer.Option("--least", min=1, help="Only contexts with so many customers, which say how topical it is.")
    ] = 20,
    figure: Annotated[str | None, typer.Option("--figure", metavar="SVG", help="Draw the topics.")] = None,
    tsv: Annotated[
        str | None, typer.Option("--tsv", metavar="FILE", help="Write topic, share, words and phrases as a table.")
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Show topics with their words and phrases."""
    from corpuscle.topics import contexts as topical_contexts
    from corpuscle.topics import summaries
    from corpuscle.topics.products import has_topics

    for path in (figure, tsv):
        if path is not None:
            check_output(path)
    if not contexts and "least" in given(context):
        raise SettingError("--least means nothing without --contexts")
    loaded = _load(model)
    table = topical_contexts(loaded, least) if contexts else []
    found = summaries(loaded, words, phrases)
    if figure is not None:
        _draw(figure, found)
    if tsv is not None:
        rows = (
            (t.number, t.share, " ".join(word for word, _ in t.words), " | ".join(p.text for p in t.phrases))
            for t in found
        )
        write_table(tsv, ("topic", "share", "words", "phrases"), rows)
    values: dict[str, Any] = {
        "topics": [topic._asdict() | {"phrases": [p._asdict() for p in topic.phrases]} for topic in found]
    }
    lines = [] if has_topics(loaded) else ["no topics: a model of the method hpylm is one n-gram model"]
    for topic in found if has_topics(loaded) else ():
        lines.append(f"topic {topic.number}, {topic.share:.1%}: " + " ".join(word for word, _ in topic.words))
        if topic.phrases:
            lines.append("    " + " · ".join(phrase.text for phrase in topic.phrases))
    if contexts:
        shown = table if len(table) <= 2 * contexts else [*table[:contexts], *table[-contexts:]]
        values["contexts"] = [row._asdict() for row in shown]
        lines.append("topical\tcustomers\tcontext")
        lines += [f"{row.topical:.3f}\t{row.customers}\t{row.text or '(no context)'}" for row in shown]
    if as_json or tsv != "-":
        emit(values, as_json, "\n".join(lines))


def _draw(path: str, found: list[Any]) -> None:
    from corpuscle.figures import TopicShown, topic_list
    from corpuscle.text.files import write_atomically

    shown = [
        TopicShown(topic.number, topic.share, [word for word, _ in topic.words], [p.text for p in topic.phrases])
        for topic in found
    ]
    with write_atomically(path, "w") as out:
        out.write(topic_list(shown) + "\n")


@app.command()
def mark(
    model: ModelFile,
    docs: Docs,
    output: Output = "-",
    lines: Annotated[
        bool, typer.Option("--lines", help="A sentence a line: every word with its topic, or 0 if not topical.")
    ] = False,
    documents: Index = None,
    particles: Particles = 10,
    figure: Annotated[
        str | None, typer.Option("--figure", metavar="SVG", help="Draw the first document, topical words shaded.")
    ] = None,
    seed: Seed = 1,
    workers: Workers = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Mark topical words: a word a line, how topical it is, its topic; the names of documents after #, blank lines
    between documents."""
    from itertools import pairwise

    from corpuscle.text.files import write_atomically
    from corpuscle.topics import mark as marked
    from corpuscle.topics.products import document_names

    for path in (output, figure):
        if path is not None:
            check_output(path)
    loaded = _load(model)
    corpus = _read(docs, documents, loaded)
    found = marked(loaded, corpus, particles=particles, seed=seed, workers=workers)
    assert corpus.document_starts is not None
    texts = [
        _sentences(document, corpus.lengths[first:last].tolist())
        for document, (first, last) in zip(found, pairwise(corpus.document_starts.tolist()), strict=True)
    ]
    if output != "-" or not as_json:
        with write_atomically(output, "w") as out:
            for number, sentences in enumerate(texts):
                out.write("\n" if number else "")
                if corpus.labels is not None:
                    out.write(f"# {one_line(corpus.labels[number])}\n")
                for sentence in sentences:
                    if lines:
                        out.write(" ".join(f"{word}/{topic if share > 0.5 else 0}" for word, share, topic in sentence))
                        out.write("\n")
                    else:
                        out.writelines(f"{word}\t{share:.4f}\t{topic}\n" for word, share, topic in sentence)
    if figure is not None:
        from corpuscle.figures import shaded_text

        first_text = [[word for word, _, _ in sentence] for sentence in texts[0]]
        with write_atomically(figure, "w") as out:
            out.write(shaded_text(first_text, found[0].topical.tolist(), found[0].topics.tolist()) + "\n")
    if as_json:
        fields = ("word", "topical", "topic")
        values = [
            {"document": name, "sentences": [[dict(zip(fields, w, strict=True)) for w in s] for s in sentences]}
            for name, sentences in zip(document_names(corpus), texts, strict=True)
        ]
        emit({"documents": values}, True)


def _sentences(document: Mark, lengths: list[int]) -> list[list[tuple[str, float, int]]]:
    """The words of a document, how topical they are, and their topics, by sentence; empty sentences are left out."""
    from itertools import islice

    words = zip(document.words, document.topical.tolist(), document.topics.tolist(), strict=True)
    return [list(islice(words, n)) for n in lengths if n]
