"""``corpuscle lm ...``: train, measure and use language models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from corpuscle.cli.command import (
    COUNT,
    Figures,
    argument,
    command,
    option,
    output,
    raw,
    resume,
    task_group,
    trainer,
    written,
)  # fmt: skip
from corpuscle.cli.common import load, naming, read_input, refuse_markup, table_text, warn_of_overlap
from corpuscle.errors import InputError, SettingError, warn
from corpuscle.lm.settings import NgramSettings
from corpuscle.progress import clock, one_line, say
from corpuscle.text.wording import count, number, percent, seconds

if TYPE_CHECKING:
    from corpuscle.lm import ClassModel, Events, LanguageModel, LogLinearModel, NgramModel
    from corpuscle.text import Corpus

__all__ = ["group"]

group = task_group("lm")
_index = option("documents", "first_line and lines of every document of a text, for a cache.", metavar="TSV")


def _read(paths: Sequence[str], model: LanguageModel, raw: bool = False, documents: str | None = None) -> Corpus:
    """A text as a model's training text was read, not an empty one; ``documents``: an index of its documents."""
    return _filled(_read_any(paths, model, raw, documents), paths[0], model)


def _read_any(paths: Sequence[str], model: LanguageModel, raw: bool, documents: str | None) -> Corpus:
    """The same for a text that may be empty."""
    if documents is None:
        return read_input(paths, raw, **model.reading)
    if raw or not model.by_document:
        raise SettingError(f"--documents means nothing {'with --raw' if raw else 'for a model that has no cache'}")
    return read_input(paths, documents=documents, **model.reading)


def _filled(corpus: Corpus, path: str, model: LanguageModel) -> Corpus:
    """The text itself, unless it is empty, which is an error."""
    if not len(corpus) or (model.boundary == "none" and not corpus.n_tokens):
        raise InputError(path, None, "the text is empty")
    return corpus


def _by_order(given: Mapping[str, str]) -> str:
    """Only one method has models of infinite order."""
    return "hpy" if given.get("order") == "infinite" else ""


@trainer(group, choose=_by_order)
@argument("text", many=True)
@output()
@option("dev", "Choose what was not given on this text.", metavar="TEXT")
@_index
@option("class_model", "A class n-gram over these word classes.", metavar="FILE")
@option("start", "Log-linear: begin with the weights of this model, whose words are kept.", metavar="MODEL")
@written("arpa", "Write an ARPA file, too.", metavar="FILE")
@resume
def train(
    model: Any,
    text: tuple[str, ...],
    output: str,
    dev: str | None,
    documents: str | None,
    class_model: str | None,
    start: str | None,
    arpa: str | None,
    resume: bool,
) -> Figures:
    """Learn a language model from text, one sentence a line."""
    for name, given, takes in (
        ("--dev", dev, model.TUNES),
        ("--class-model", class_model, model.KIND.name == "lm.ngram"),
        ("--start", start, model.KIND.name == "lm.loglinear"),
        ("--resume", resume, model.RESUMES),
        ("--documents", documents, model.method_name == "auto"),
    ):
        if given and not takes:
            raise SettingError(f"{name} means nothing with --method {model.method_name}")
    if getattr(model, "memory", None) is not None and (class_model or arpa):
        raise SettingError("--memory limits counting alone: not with --class-model or --arpa")
    if class_model is not None:
        model = _over_classes(model, class_model)
    arguments: dict[str, Any] = {}
    if start is not None:
        arguments["start"] = load(start, "lm", (model.KIND.name,))
        model = _going_on(model, arguments["start"], start)
    if arpa is not None:
        model.check_arpa()
    if dev is not None:
        arguments["dev"] = _development(model, dev, documents)
    return _learn(model, text, output, arpa, dev, resume, arguments)


def _training(model: Any, text: Sequence[str]) -> Corpus:
    """The text that a model is to be learned from."""
    corpus = read_input(text, **model.reading)
    if corpus.n_tokens == 0:
        raise InputError(text[0], None, "the training text is empty")
    if not getattr(model, "ngram", model).allow_markup:
        refuse_markup(corpus, text)
    return corpus


def _over_classes(ngram: NgramModel, path: str) -> ClassModel:
    """A class n-gram over the classes of a file, whose text it has to read in the same way."""
    from corpuscle.lm import ClassModel
    from corpuscle.text.settings import PreprocessingSettings

    if ngram.origins["min_count"] == "given":
        raise SettingError("a class n-gram knows the words that have a class: --min-count has no part in it")
    classes = load(path, "classes")
    ngram = _reading_as(ngram, classes, path, PreprocessingSettings.SETTINGS)
    return ClassModel(classes.as_dict(), ngram.replace(min_count=1))


def _going_on(model: LogLinearModel, start: LogLinearModel, path: str) -> LogLinearModel:
    """A log-linear model that can begin with the weights of another one."""
    from corpuscle.text.settings import ReadingSettings

    if model.origins["min_count"] == "given":
        raise SettingError("a model that begins with another keeps its words: --min-count has no part in it")
    return _reading_as(model, start, path, (*ReadingSettings.SETTINGS, "boundary", "allow_markup"))


def _reading_as(model: Any, other: Any, path: str, names: Iterable[str]) -> Any:
    """A learner that reads text as the model of a file does; other settings may not have been given."""
    same = {name: getattr(other, name) for name in names}
    if any(model.origins[name] == "given" and getattr(model, name) != value for name, value in same.items()):
        raise SettingError(f"{path} was learned from text that was read in another way")
    return model.replace(**same)


def _development(model: Any, path: str, documents: str | None) -> Corpus:
    """A development text; ``documents``: an index of its documents."""
    corpus = read_input([path], documents=documents, **model.reading)
    if not corpus.n_tokens:
        raise InputError(path, None, "the development text is empty")
    return corpus


def _learn(
    model: Any,
    text: Sequence[str],
    output: str,
    arpa: str | None,
    dev: str | None,
    resume: bool,
    arguments: dict[str, Any],
) -> Figures:
    """Learn a model, write it, and say what came of it; ``arguments``: what ``fit`` takes beside the text."""
    import os
    from contextlib import nullcontext

    corpus, begin = _training(model, text), clock()
    if getattr(model, "memory", None) is not None:
        arguments["folder"] = os.path.dirname(os.path.realpath(output))
    with model.checkpoint(corpus, output, resume) if model.RESUMES else nullcontext() as checkpoint:
        if model.RESUMES:
            arguments["checkpoint"] = checkpoint
        given = [corpus]
        del corpus  # the model can let go of it
        with naming(text[0]):
            model.fit(given.pop(), **arguments)
        model.save(output)
    if arpa is not None:
        _export(model, output, arpa)
    sizes = {name: model.provenance_[name] for name in ("sentences", "words")} | {"types": len(model.vocab_) - 3}
    chosen = dict(sorted(getattr(model, "ngram", model).chosen_.items()))
    figures = {**sizes, **model.summary(), "tuned": list(chosen), "seconds": clock() - begin}
    if chosen:
        shown = (f"{name} {value}" if isinstance(value, int | float | str) else name for name, value in chosen.items())
        say(f"chosen on {dev}: {', '.join(shown)}")
    known = f"{sizes['words']:,} words, {sizes['types']:,} of them known"
    said = f"{output}: {model.method_name}, order {figures['order']}, {known}, {seconds(figures['seconds'])}"
    return Figures(figures, said + _parts_table(figures.get("parts", {})))


def _parts_table(parts: Mapping[str, Mapping[str, float]]) -> str:
    """What each candidate does for a mixture: how much higher perplexity would be without it, its own, size, speed."""
    if not parts:
        return ""
    columns = ("method", "weight", "without it", "perplexity", "MB", "tokens a second", "seconds")
    rows = [
        (name, number(part["weight"]), percent(part["contribution"], sign="+") if part["weight"] else "does not pay",
         number(part["perplexity"]), number(part["bytes"] / 1e6), count(part["words_per_second"]),
         number(part["seconds"]))
        for name, part in parts.items()
    ]  # fmt: skip
    return "\n" + table_text(columns, rows)


@command(group, work=True, seed=True)
@argument("model")
@argument("text", many=True)
@_index
@raw
def perplexity(model: str, text: tuple[str, ...], documents: str | None, raw: bool, seed: int) -> Figures:
    """Perplexity of a text, with and without unknown words, and its 95 % interval."""
    loaded = load(model, "lm")
    corpus = _read(text, loaded, raw, documents)
    shares = warn_of_overlap(loaded, corpus, model)
    result = loaded.perplexity(corpus, seed=seed)
    if 0 < corpus.n_tokens <= result["oov"]:
        warn("no word of the text is known to the model")
    figures = result.to_json() | shares | {"vocabulary": len(loaded.vocab_) - 3}
    return Figures(figures, result.text())


@command(group, work=True, figures=False)
@argument("model")
@argument("text")
@option("by_word", "Every word with its surprisal in bits.", is_flag=True)
@_index
@raw
def score(model: str, text: str, by_word: bool, documents: str | None, raw: bool) -> None:
    """Log10 probability and perplexity of every sentence (TSV: sentence, tokens, oov, log10, perplexity)."""
    from corpuscle.text import iter_text, write_table

    loaded = load(model, "lm")
    columns = ("word", "bits", "oov") if by_word else ("tokens", "oov", "log10", "perplexity")
    if raw or documents or loaded.boundary == "none" or loaded.by_document:  # what was said before matters
        corpora = iter([_read_any([text], loaded, raw, documents)])
    else:
        corpora = iter_text(text, **loaded.reading)
    rows = _score_rows(loaded, corpora, _word_rows if by_word else _sentence_rows)
    write_table("-", ("sentence", *columns), rows)


def _score_rows(model: LanguageModel, corpora: Iterator[Corpus], rows_of: Any) -> Iterator[tuple[Any, ...]]:
    """Rows about the words or sentences of a text that comes in pieces."""
    sentence = 1
    for corpus, events in model.stream(corpora):
        yield from rows_of(corpus, events, sentence, model.boundary)
        sentence += len(corpus)


def _word_rows(corpus: Corpus, events: Events, first: int, boundary: str) -> Iterator[tuple[Any, ...]]:
    """A row a word: the number of its sentence, the word, its surprisal, whether it is unknown."""
    import numpy as np

    bits, starts = events.log_probability / -np.log(2), events.starts
    for i in range(len(corpus)):
        tokens = corpus.words(i) + ([] if boundary == "none" else ["</s>"])
        span = slice(starts[i], starts[i + 1])
        for word, value, unknown in zip(tokens, bits[span], events.unknown[span], strict=True):
            yield first + i, word, value, int(unknown)


def _sentence_rows(corpus: Corpus, events: Events, first: int, boundary: str) -> Iterator[tuple[Any, ...]]:
    """A row a sentence: its number, tokens, unknown words, log10 probability, perplexity."""
    import numpy as np

    scores = events.by_sentence()
    log10 = scores.log_probability / np.log(10)
    with np.errstate(all="ignore"):
        perplexities = np.exp(-scores.log_probability / scores.tokens)
    numbers = range(first, first + len(corpus))
    return zip(numbers, scores.tokens, scores.oov, log10, perplexities, strict=True)


@command(group, "next")
@argument("model")
@argument("context", default="")
@option("k", "How many words.", "-k", metavar="N", type=COUNT, default=10)
def next_words(model: str, context: str, k: int) -> Figures:
    """The most likely next words after the beginning of a sentence, CONTEXT, such as "a b"."""
    loaded = load(model, "lm")
    begin = [] if loaded.boundary == "none" else ["<s>"]
    words = _preprocessed(context, loaded)
    unknown = [word for word in words if word not in loaded.vocab_]
    if unknown:
        warn(f"unknown to the model: {' '.join(unknown)}")
    found = loaded.next_words(begin + words, k)
    return Figures(
        {"context": words, "next": [{"word": word, "probability": probability} for word, probability in found]},
        table_text((), ((probability, word) for word, probability in found)),
    )


def _preprocessed(line: str, model: LanguageModel) -> list[str]:
    """The units of a line as the model's training text was read."""
    from corpuscle.text import Corpus
    from corpuscle.text.characters import spell_out

    words, units = model.reading["preprocessing"].words(line), model.reading["units"]
    return words if units == "words" else spell_out(Corpus.from_sentences([words]), units).words(0)


@command(group, seed=True, figures=False)
@argument("model")
@option("n", "How many sentences.", "-n", metavar="N", type=COUNT, default=5)
@option("temperature", "Below 1: likelier words.", metavar="X", type=float, default=1.0)
@option("max_length", "Cut sentences at this many words.", metavar="N", type=COUNT, default=100)
def sample(model: str, n: int, temperature: float, max_length: int, seed: int) -> None:
    """Random sentences of the model, one a line."""
    from corpuscle.text import write_table

    found = load(model, "lm").sample(n, seed=seed, temperature=temperature, max_length=max_length)
    write_table("-", (), ([" ".join(words)] for words in found), names=("sentence",))


@command(group)
@argument("model", many=True)
@output()
@option("dev", "The text that decides the weights.", metavar="TEXT", required=True)
@_index
def mix(model: tuple[str, ...], output: str, dev: str, documents: str | None) -> Figures:
    """Mix two or more models with the weights that make a development text most likely."""
    from corpuscle.lm import Mixture

    parts = [load(path, "lm") for path in model]
    if any(isinstance(part, Mixture) for part in parts):
        raise SettingError("a mixture of mixtures: give all the models in one command instead")
    mixture = Mixture(parts)
    corpus = _read([dev], mixture, documents=documents)
    with naming(dev):
        mixture.fit(corpus)
    mixture.save(output)
    weights = mixture.weights_.tolist()
    perplexities = [float(each.perplexity(corpus, draws=1)["perplexity"]) for each in (*parts, mixture)]
    shown = [number(value) for value in perplexities]
    rows = zip([*weights, 1.0], shown, map(one_line, [*model, output]), strict=True)
    return Figures(
        {"weights": weights, "perplexity": perplexities[-1], "perplexities": perplexities[:-1]},
        table_text(("weight", "perplexity", "model"), rows),
    )


@command(group, figures=False)
@argument("model")
@argument("word", many=True, required=False)
@output("-")
@option("top", "Only so many.", metavar="N", type=COUNT)
def weights(model: str, word: tuple[str, ...], output: str, top: int | None) -> None:
    """What contexts add to the scores of words in a log-linear model, the most first: context, word, weight."""
    from itertools import islice

    from corpuscle.text.tables import write_table

    loaded = load(model, "lm", ("lm.loglinear",))
    rows = ((" ".join(context), *rest) for context, *rest in islice(loaded.weights(word), top))
    write_table(output, (), rows, names=("context", "word", "weight"))


@command(group, settings=[NgramSettings.SETTINGS[name] for name in ("prune", "entropy")])
@argument("model")
@output()
def prune(model: str, output: str, prune: tuple[int, ...], entropy: float) -> Figures:
    """Leave n-grams out of a model: rare ones, if it has counts, and those that change little."""
    loaded = load(model, "lm", ("lm.ngram",))
    pruned = loaded.pruned(prune, entropy)
    pruned.save(output)
    figures = {"order": pruned.order_, "ngrams": pruned.sizes_, "ngrams_before": loaded.sizes_}
    return Figures(figures, f"{output}: {sum(pruned.sizes_):,} of {sum(loaded.sizes_):,} n-grams are left")


@command(group, work=True, figures=False)
@argument("model")
@output(form="file")
@option("approximate", "Write what comes near to a model that has no exact ARPA form.", is_flag=True)
def export(model: str, output: str, approximate: bool) -> None:
    """Write a model as an ARPA file (packed if its name ends in .gz or .xz)."""
    _export(load(model, "lm"), model, output, approximate)


def _export(model: LanguageModel, name: str, path: str, approximate: bool = False) -> None:
    from corpuscle.lm import write_arpa

    try:
        ngram = model.approximate_ngram() if approximate else model.as_ngram()
    except SettingError as error:
        raise InputError(name, None, str(error)) from error
    write_arpa(ngram, path)


@command(group, "import", figures=False)
@argument("arpa")
@output()
def import_(arpa: str, output: str) -> None:
    """Make a model of an ARPA file."""
    from corpuscle.lm import read_arpa

    read_arpa(arpa).save(output)


@command(group, work=True, seed=True)
@argument("model_a")
@argument("model_b")
@argument("text")
def compare(model_a: str, model_b: str, text: str, seed: int) -> Figures:
    """Compare two models on a text: the difference of their perplexities, paired by sentence."""
    import numpy as np

    from corpuscle.lm import compare_events
    from corpuscle.text import read_strings
    from corpuscle.text.files import expand, read_lines

    loaded: list[LanguageModel] = [load(model_a, "lm"), load(model_b, "lm")]
    lines = [line for file in expand([text]) for _, line in read_lines(file)]
    texts = [_filled(read_strings(lines, **model.reading), text, model) for model in loaded]
    a, b = (model.events(corpus) for model, corpus in zip(loaded, texts, strict=True))
    comparison = compare_events(a, b, seed=seed)
    shares = {
        f"{key}_{side}": share
        for side, name, model, corpus in zip("ab", (model_a, model_b), loaded, texts, strict=True)
        for key, share in warn_of_overlap(model, corpus, name).items()
    }
    if not np.array_equal(a.unknown, b.unknown):
        warn("the models do not know the same words: these perplexities are not comparable")
    first, second = (float(np.exp(-events.log_probability.mean())) for events in (a, b))
    return Figures(
        {
            "perplexity_a": first,
            "perplexity_b": second,
            "oov_a": int(a.unknown.sum()),
            "oov_b": int(b.unknown.sum()),
            "tokens": len(a.unknown),
            **comparison.to_json(),
            **shares,
        },
        f"{model_a}: {number(first)}\n{model_b}: {number(second)}\n{comparison.text()}",
    )
