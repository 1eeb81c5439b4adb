"""What language models can do: learn, score texts and words, suggest and sample words; be mixed, pruned, exchanged,
compared."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from corpuscle.errors import CorpuscleWarning, InputError, SettingError, warn
from corpuscle.lm.settings import NgramSettings
from corpuscle.progress import one_line, say
from corpuscle.text.settings import ReadingSettings, TextSettings
from corpuscle.text.wording import count, counted, number, percent
from corpuscle.verbs import (
    MOST,
    RAW,
    SEED,
    Answer,
    Input,
    K,
    Keep,
    Learned,
    Shown,
    Table,
    a_model,
    path,
    setting,
    text,
    trains,
    verb,
    view,
    word,
)

if TYPE_CHECKING:
    from corpuscle.lm import Events, LanguageModel, LogLinearModel, Mixture, NgramModel
    from corpuscle.text import Corpus

# ---- texts


def text_of(value: Any, model: Any, declared: Input, *, raw: bool = False, documents: str | None = None) -> Corpus:
    """A text as the training text of a model was read; ``documents``: an index of its documents."""
    from corpuscle.text.inputs import text as read

    if documents is None:
        return read(value, model, declared, raw=raw)
    if raw or not model.by_document:
        raise SettingError(f"--documents means nothing {'with --raw' if raw else 'for a model that has no cache'}")
    return read(value, model, declared, documents=documents)


def stream_of(
    value: Any, model: Any, declared: Input, *, raw: bool = False, documents: str | None = None
) -> Iterator[Corpus]:
    """A text piece by piece, where what was said before does not matter to the model; else at once."""
    from corpuscle.text import iter_text

    if not isinstance(value, str) or raw or documents or model.boundary == "none" or model.by_document:
        return iter([text_of(value, model, declared, raw=raw, documents=documents)])
    return iter_text(value, **model.reading)


def lines_of(value: Any, model: Any, declared: Input) -> Any:
    """The lines of a text that several models read, each in its way."""
    from corpuscle.text.files import expand, read_lines

    if not isinstance(value, str | os.PathLike):
        return value
    return [line for file in expand([value]) for _, line in read_lines(file)]


_index = path("first_line and lines of every document of a text, for a cache.", metavar="TSV", option=True)
_TEXT, _DEV = text(many=True), text(empty="the development text is empty")
_MODELS, _CLASSES, _START = a_model("lm", many=True), a_model("classes"), a_model("lm", "lm.loglinear")


def _read(reader: str, *, raw: bool = True, **facts: Any) -> Any:
    return Input(f"corpuscle.lm.verbs:{reader}", options={"documents": _index} | ({"raw": RAW} if raw else {}), **facts)


# ---- learning


@trains(
    "lm",
    """
lm train text.txt -o lm.model
lm train text.txt -o lm.model --method hpy --order 4
zcat big.txt.gz | corpuscle lm train - -o lm.model --dev dev.txt  # from a pipe, tuned on dev.txt
""",
    choose=lambda given: "hpy" if given.get("order") == "infinite" else "",  # only that has models of infinite order
)
def train(
    model: Any,
    text: Any = path(metavar="TEXT", many=True),
    *,
    dev: Any = path("Choose what was not given on this text.", metavar="TEXT", option=True),
    documents: str | None = _index,
    class_model: Any = path("A class n-gram over these word classes.", metavar="FILE", option=True),
    start: Any = path(
        "Log-linear: begin with the weights of this model, whose words are kept.", metavar="MODEL", option=True
    ),
    arpa: str | None = path("Write an ARPA file, too.", option=True, form="file"),
    keep: Keep,
    output: str | None,
    names: Mapping[str, str],
) -> Learned:
    """Learn a language model from text, one sentence a line."""
    for name, given, takes in (
        ("--dev", dev, model.TUNES),
        ("--class-model", class_model, model.CLASSES),
        ("--start", start, model.STARTS),
        ("--seed", model.origins.get("seed") == "given", model.DRAWS),
        ("--resume", keep.resume, model.PARTIAL is not None),
        ("--documents", documents, model.TUNES and model.by_document),
    ):
        if given and not takes:
            raise SettingError(f"{name} means nothing with --method {model.method_name}")
    if model.memory is not None and (class_model or arpa):
        raise SettingError("--memory limits counting alone: not with --class-model or --arpa")
    arguments: dict[str, Any] = {}
    if class_model is not None:
        from corpuscle.lm import ClassModel

        classes, name = _CLASSES.read(class_model), names.get("class_model", "the class model")
        why = "a class n-gram knows the words that have a class"
        model = _reading_as(model, classes, name, TextSettings.SETTINGS, why)
        model = ClassModel(classes.as_dict(), model.replace(min_count=1))
    if start is not None:
        arguments["start"] = _START.read(start)
        reading = (*ReadingSettings.SETTINGS, "boundary", "allow_markup")
        name, why = names.get("start", "the model to begin with"), "a model that begins with another keeps its words"
        model = _reading_as(model, arguments["start"], name, reading, why)
    if arpa is not None:
        model.check_arpa()
    if dev is not None:
        known = {} if documents is None else {"documents": documents}
        arguments["dev"] = _DEV.read(dev, model, **known)
    if model.memory is not None and output is not None:
        arguments["folder"] = os.path.dirname(os.path.realpath(output))
    corpus = [_TEXT.read(text, model)]
    if model.PARTIAL is not None:
        arguments["checkpoint"] = keep.checkpoint(model, corpus[0])
    model.fit(corpus.pop(), **arguments)  # nobody else has the text, so that the model can let go of it
    if arpa is not None:
        _write_arpa(model, arpa, output)
    sizes = {name: model.provenance_[name] for name in ("sentences", "words")} | {"types": len(model.vocab_) - 3}
    chosen = dict(sorted(model.chosen_.items()))
    figures = {**sizes, **model.summary(), "tuned": list(chosen)}
    if chosen:
        shown = (f"{name} {value}" if isinstance(value, int | float | str) else name for name, value in chosen.items())
        say(f"chosen on {names.get('dev', 'the development text')}: {', '.join(shown)}")
    return Learned(
        model,
        figures,
        f"{model.method_name}, order {figures['order']}, {sizes['words']:,} words, {sizes['types']:,} of them known",
        _parts_table(figures.get("parts", {})),
    )


def _reading_as(model: Any, other: Any, name: str, settings: Iterable[str], why: str) -> Any:
    """A learner that reads text as another model does, whose words it has: other settings may not have been given."""
    if model.origins["min_count"] == "given":
        raise SettingError(f"{why}: --min-count has no part in it")
    same = {each: getattr(other, each) for each in settings}
    if any(model.origins[each] == "given" and getattr(model, each) != value for each, value in same.items()):
        raise SettingError(f"{name} was learned from text that was read in another way")
    return model.replace(**same)


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
    return "\n" + Table(columns, rows).text()


# ---- using


@verb("lm", "lm perplexity lm.model test.txt --json", work=True, overlap="text")
def perplexity(
    model: LanguageModel = a_model("lm"), text: Corpus = _read("text_of", many=True), *, seed: int = SEED
) -> Shown:
    """Perplexity of a text, with and without unknown words, and its 95 % interval."""
    result = model.perplexity(text, seed=seed)
    if 0 < text.n_tokens <= result["oov"]:
        warn("no word of the text is known to the model")
    return Answer({**result.to_json(), "vocabulary": len(model.vocab_) - 3}, result.text())


@verb("lm", "lm score lm.model test.txt --by-word > surprisal.tsv", work=True)
def score(
    model: LanguageModel = a_model("lm"),
    text: Iterator[Corpus] = _read("stream_of"),
    *,
    by_word: bool = setting("Every word with its surprisal in bits.", default=False),
) -> Table:
    """Log10 probability and perplexity of every sentence (TSV: sentence, tokens, oov, log10, perplexity)."""
    columns = ("word", "bits", "oov") if by_word else ("tokens", "oov", "log10", "perplexity")

    def rows() -> Iterator[tuple[Any, ...]]:
        sentence = 1
        for corpus, events in model.stream(text):
            made = _word_rows(corpus, events, model.boundary) if by_word else _sentence_rows(events)
            yield from ((sentence + i, *row) for i, row in made)
            sentence += len(corpus)

    return Table(("sentence", *columns), rows())


def _word_rows(corpus: Corpus, events: Events, boundary: str) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """The number of the sentence and a row for each word: the word, its surprisal, whether it is unknown."""
    import numpy as np

    bits, starts = events.log_probability / -np.log(2), events.starts
    for i in range(len(corpus)):
        words = corpus.words(i) + ([] if boundary == "none" else ["</s>"])
        span = slice(starts[i], starts[i + 1])
        for each, value, unknown in zip(words, bits[span], events.unknown[span], strict=True):
            yield i, (each, value, int(unknown))


def _sentence_rows(events: Events) -> Iterable[tuple[int, tuple[Any, ...]]]:
    """The number of the sentence and its row: tokens, unknown words, log10 probability, perplexity."""
    import numpy as np

    scores = events.by_sentence()
    with np.errstate(all="ignore"):
        perplexities = np.exp(-scores.log_probability / scores.tokens)
    log10 = scores.log_probability / np.log(10)
    return enumerate(zip(scores.tokens, scores.oov, log10, perplexities, strict=True))


@verb("lm", 'lm next lm.model "this is a" -k 5')
def next_(
    model: LanguageModel = a_model("lm"),
    context: str = word(default=""),
    *,
    k: int = setting("How many words.", default=10, low=1, high=MOST, flag="-k"),
) -> Answer:
    """The most likely next words after the beginning of a sentence, CONTEXT, such as "a b"."""
    words = model.words_of(context)
    unknown = [word for word in words if word not in model.vocab_]
    if unknown:
        warn(f"unknown to the model: {' '.join(unknown)}")
    found = _next(model, words, k)
    return Answer(found, Table((), ((each["probability"], each["word"]) for each in found["next"])).text())


def _next(model: LanguageModel, words: list[str], k: int) -> dict[str, Any]:
    begin = [] if model.boundary == "none" else ["<s>"]
    found = model.next_words([*begin, *words], k)
    return {"context": words, "next": [{"word": each, "probability": probability} for each, probability in found]}


@verb("lm", "lm sample lm.model -n 10 --seed 2")
def sample(
    model: LanguageModel = a_model("lm"),
    *,
    n: int = setting("How many sentences.", default=5, low=1, high=MOST, flag="-n"),
    temperature: float = setting("Below 1: likelier words.", default=1.0, above=0.0),
    max_length: int = setting("Cut sentences at this many words.", default=100, low=1, high=MOST),
    seed: int = SEED,
) -> Table:
    """Random sentences of the model, one a line."""
    found = model.sample(n, seed=seed, temperature=temperature, max_length=max_length)
    return Table(("sentence",), ([" ".join(words)] for words in found), heading=False)


@verb("lm", "lm mix lm.model other.model -o mix.model --dev dev.txt", out="model")
def mix(
    model: Any = path(metavar="MODEL", many=True),
    *,
    dev: Any = path("The text that decides the weights.", metavar="TEXT", option=True, default=...),
    documents: str | None = _index,
    output: str | None,
) -> Learned:
    """Mix two or more models with the weights that make a development text most likely. The perplexities are those of
    that text over the words of all models, so that they can be compared."""
    import numpy as np

    from corpuscle.lm import Mixture

    parts = _MODELS.read(model)
    if any(isinstance(part, Mixture) for part in parts):
        raise SettingError("a mixture of mixtures: give all the models in one command instead")
    mixture = Mixture(parts)
    corpus = text_of(dev, mixture, _DEV, documents=documents)
    mixture.fit(corpus)
    logs = [*mixture.component_logs(corpus), mixture.events(corpus).log_probability]
    with np.errstate(over="ignore"):
        values = [float(np.exp(-each.mean())) for each in logs]
    names = [one_line(str(each)) for each in (*model, output or "the mixture")]
    rows = zip([*mixture.weights_.tolist(), 1.0], map(number, values), names, strict=True)
    return Learned(
        mixture,
        {"weights": mixture.weights_.tolist(), "perplexity": values[-1], "perplexities": values[:-1]},
        Table(("weight", "perplexity", "model"), rows).text() + _of_all_words(mixture),
        named=True,
    )


def _of_all_words(mixture: Mixture) -> str:
    """A line on what the perplexities of models with other words have in common."""
    if all(len(model.vocab_) == len(mixture.vocab_) for model in mixture.models):
        return ""
    words = counted(len(mixture.vocab_) - 3, "word")
    return f"\nthe models know different words: these perplexities are over the {words} of all of them together"


@verb("lm", "lm weights loglinear.model house --top 20", out="-")
def weights(
    model: LogLinearModel = a_model("lm", "lm.loglinear"),
    word: Sequence[str] = word(many=True, default=()),
    *,
    top: int | None = setting("Only the first N.", default=None, low=1, high=MOST),
) -> Table:
    """What contexts add to the scores of words in a log-linear model, the most first: context, word, weight."""
    from itertools import islice

    rows = ((" ".join(context), *rest) for context, *rest in islice(model.weights(word), top))
    return Table(("context", "word", "weight"), rows, heading=False)


@verb("lm", "lm prune lm.model -o small.model --entropy 1e-7", out="model")
def prune(
    model: NgramModel = a_model("lm", "lm.ngram"),
    *,
    prune: tuple[int, ...] = NgramSettings.SETTINGS["prune"],  # type: ignore[assignment]
    entropy: float = NgramSettings.SETTINGS["entropy"],  # type: ignore[assignment]
) -> Learned:
    """Leave n-grams out of a model: rare ones, if it has counts, and those that change little."""
    pruned = model.pruned(prune, entropy)
    figures = {"order": pruned.order_, "ngrams": pruned.sizes_, "ngrams_before": model.sizes_}
    return Learned(pruned, figures, f"{sum(pruned.sizes_):,} of {sum(model.sizes_):,} n-grams are left")


@verb("lm", "lm export lm.model -o lm.arpa.gz", out="file", work=True)
def export(
    model: LanguageModel = a_model("lm"),
    *,
    approximate: bool = setting("Write what comes near to a model that has no exact ARPA form.", default=False),
    output: str,
    names: Mapping[str, str],
) -> None:
    """Write a model as an ARPA file (packed if its name ends in .gz or .xz)."""
    _write_arpa(model, output, names.get("model"), approximate)


def _write_arpa(model: LanguageModel, path: str, name: str | None, approximate: bool = False) -> None:
    from corpuscle.lm import write_arpa

    try:
        ngram = model.approximate_ngram() if approximate else model.as_ngram()
    except SettingError as error:
        raise InputError(name, None, str(error)) from error
    write_arpa(ngram, path)


@verb("lm", "lm import lm.arpa.gz -o lm.model", out="model")
def import_(arpa: str = path()) -> Learned:
    """Make a model of an ARPA file."""
    from corpuscle.lm import read_arpa

    return Learned(read_arpa(arpa), {})


@verb("lm", "lm compare lm.model other.model test.txt", work=True)
def compare(
    model_a: LanguageModel = a_model("lm"),
    model_b: LanguageModel = a_model("lm"),
    text: Any = Input("corpuscle.lm.verbs:lines_of"),
    *,
    seed: int = SEED,
    names: Mapping[str, str],
) -> Answer:
    """Compare two models on a text: the difference of their perplexities, paired by sentence."""
    import numpy as np

    from corpuscle.lm import compare_events
    from corpuscle.text.heldout import overlap_shares

    models, labels = (model_a, model_b), [names.get(each, each) for each in ("model_a", "model_b")]
    texts = [_TEXT.read(text, model) for model in models]
    a, b = (model.events(corpus) for model, corpus in zip(models, texts, strict=True))
    comparison = compare_events(a, b, seed=seed)
    shares = {
        f"{key}_{side}": share
        for side, label, model, corpus in zip("ab", labels, models, texts, strict=True)
        for key, share in overlap_shares(model, corpus, label).items()
    }
    if not np.array_equal(a.unknown, b.unknown):
        warn("the models do not know the same words: these perplexities are not comparable")
    first, second = (float(np.exp(-events.log_probability.mean())) for events in (a, b))
    figures = {"perplexity_a": first, "perplexity_b": second, "oov_a": int(a.unknown.sum()),
               "oov_b": int(b.unknown.sum()), "tokens": len(a.unknown)}  # fmt: skip
    said = f"{labels[0]}: {number(first)}\n{labels[1]}: {number(second)}\n{comparison.text()}"
    return Answer(figures | comparison.to_json() | shares, said)


# ---- the workbench


@view("lm", text="a b c\nb c a")
def surprisal(model: LanguageModel, text: Corpus = text(raw=True)) -> dict[str, Any]:
    """How surprising each word of each sentence is, in bits, and how likely each sentence is."""
    import numpy as np

    events = model.events(text)
    sentences: list[dict[str, Any]] = [
        {"words": [], "tokens": int(tokens), "oov": int(oov), "log10": float(log10)}
        for _, (tokens, oov, log10, _) in _sentence_rows(events)
    ]
    for i, (each, bits, unknown) in _word_rows(text, events, model.boundary):
        sentences[i]["words"].append({"word": each, "bits": float(bits), "oov": bool(unknown)})
    n, total = len(events.unknown), float(events.log_probability.sum())
    perplexity = float(np.exp(min(700.0, -total / n))) if n else None
    return {"sentences": sentences, "tokens": n, "oov": int(events.unknown.sum()), "perplexity": perplexity}


@view("lm", name="next", context="a", k=3)
def next_typed(
    model: LanguageModel, context: str = word("The beginning of a sentence."), *, k: int = K
) -> Mapping[str, Any]:
    """The most likely next words after the beginning of a sentence."""
    return _next(model, model.words_of(context), k)


@view("lm", name="sample", n=2)
def sample_typed(
    model: LanguageModel,
    *,
    n: int = setting("How many sentences.", default=5, low=1, high=100),
    temperature: float = setting("Below 1: likelier words.", default=1.0, low=0.01, high=100.0),
    max_length: int = setting("Cut sentences at this many words.", default=50, low=1, high=1000),
    seed: int = SEED,
) -> dict[str, Any]:
    """Random sentences of the model."""
    return {"sentences": list(model.sample(n, seed=seed, temperature=temperature, max_length=max_length))}


def warm() -> None:
    """Compile every kernel of this task by running it on a few words."""
    import tempfile
    import warnings

    import numpy as np

    from corpuscle import lm
    from corpuscle.engine.ngrams.trie import look_up
    from corpuscle.model import read
    from corpuscle.text import Corpus
    from corpuscle.text import warm as warm_text

    warm_text()
    corpus = Corpus.from_sentences([["a", "b", "a"], ["b", "c"], ["a"]])
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore", CorpuscleWarning)
        path = os.path.join(folder, "model")
        for settings in ({}, {"boundary": "none"}, {"method": "backoff-mkn"}, {"prune": (0, 1), "entropy": 1e-9}):
            model = lm.NgramModel(order=3, min_count=1, **settings).fit(corpus)
            if model.ngrams_ is not None:
                look_up(model.ngrams_, np.array([[3, 4]]))
            model.save(path)
            loaded = lm.NgramModel.from_container(read(path))
            loaded.perplexity(corpus, draws=10)
            loaded.next_words(["a"])  # lays the model out, so that from now on it scores otherwise
            loaded.perplexity(corpus, draws=10)
        lm.NgramModel(order=2, min_count=1).fit(corpus, dev=corpus)
        lm.PlreModel(order=3, min_count=1, ranks=(2,), lower="mass").fit(corpus).perplexity(corpus, draws=10)
        lm.CacheModel(min_count=1).fit(corpus).perplexity(corpus, draws=10)
        for order in (2, "infinite"):
            sampled = lm.HpyModel(order=order, sweeps=2, samples=1, min_count=1).fit(corpus)
            sampled.perplexity(corpus, draws=10)
            sampled.next_words(["a"])
            with sampled.checkpoint(corpus, path) as checkpoint:
                checkpoint.every = 0.0
                sampled.fit(corpus, checkpoint=checkpoint)
        for estimator in "hkz", "em":
            lm.HmmModel(states=1, estimator=estimator, min_count=1, pool=1).fit(corpus).perplexity(corpus, draws=10)
        common = lm.LogLinearModel(order=2, passes=1, min_count=1)
        for made in (
            common.replace(penalty="l1", signed=2),
            common,
            common.replace(penalty="tree-linf", estimator="stochastic"),
            common.replace(penalty="tree-linf", boundary="none", weighted=0.9, weighting="node"),
        ):
            with made.checkpoint(corpus, path) as checkpoint:
                made.fit(corpus, corpus, checkpoint=checkpoint).save(path)
            begun = lm.LogLinearModel.from_container(read(path))
            begun.perplexity(corpus, draws=10)
            common.replace(order=3).fit(corpus, start=begun)
        lm.write_arpa(model, path)
        lm.read_arpa(path)
