"""``corpuscle lm ...``: train, measure and use language models."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corpuscle.cli.common import (
    Cluster,
    Digits,
    Input,
    Inputs,
    Json,
    Lowercase,
    ModelFile,
    Output,
    Quiet,
    Raw,
    Resume,
    Seed,
    Tokenise,
    Units,
    UnkToken,
    Workers,
    check_model_output,
    check_second_output,
    emit,
    given,
    read_input,
)
from corpuscle.cli.markup import refuse_markup
from corpuscle.cli.pitman_yor import check_options, train_hpy
from corpuscle.errors import InputError, SettingError, warn
from corpuscle.progress import say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from corpuscle.lm import LanguageModel
    from corpuscle.text import Corpus, Preprocessing
    from corpuscle.words import WordClasses

__all__ = ["app"]

app = typer.Typer(help="Language models: how likely is a sentence, how surprising a word, what comes next.")

METHODS = ("absolute", "backoff-kn", "kn", "backoff-mkn", "mkn", "hpy")

Dev = Annotated[str | None, typer.Option("--dev", metavar="TEXT", help="Choose what was not given on this text.")]


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Errors about a text that has no name yet get the name of its file."""
    try:
        yield
    except InputError as error:
        if error.path is None:
            raise InputError(path, error.line, error.reason) from None
        raise


def _read(path: str | list[str], model: Any, raw: bool = False) -> Corpus:
    """A text as a model's training text was read, in its own vocabulary."""
    paths = [path] if isinstance(path, str) else path
    corpus = read_input(paths, raw, units=model.units, unk=model.unk, preprocessing=model.preprocessing)
    if not len(corpus) or (model.boundary == "none" and not corpus.n_tokens):
        raise InputError(paths[0], None, "the text is empty")
    return corpus


def _load(path: str) -> Any:
    """A language model of any kind."""
    import corpuscle
    from corpuscle.lm import LanguageModel

    model = corpuscle.load(path)
    if not isinstance(model, LanguageModel):
        raise InputError(path, None, f"a model of kind {model.KIND.name}, not a language model")
    return model


def _discounts(text: str | None) -> list[list[float]] | list[float] | None:
    """``0.7`` or ``0.5,1,1.4``, or several of them with ``;`` between, one an order."""
    if text is None:
        return None
    try:
        orders = [[float(number) for number in order.split(",")] for order in text.split(";")]
    except ValueError:
        raise SettingError(f"discounts look like 0.7 or 0.5,1,1.4 or 0.6;0.7;0.8, not {text!r}") from None
    return orders[0] if len(orders) == 1 else orders


def _order(text: str) -> int | str:
    if text not in ("auto", "infinite") and not text.isdecimal():
        raise SettingError(f"order is a number from 1 on, auto or infinite; not {text!r}")
    return int(text) if text.isdecimal() else text


@app.command()
def train(
    context: typer.Context,
    text: Inputs,
    output: Output,
    method: Annotated[str, typer.Option("--method", help=", ".join(METHODS) + ".")] = "mkn",
    order: Annotated[
        str, typer.Option("--order", metavar="N|auto|infinite", help="How many words; auto tries 1 to 6 on --dev.")
    ] = "3",
    min_count: Annotated[int, typer.Option("--min-count", help="Rarer words become the unknown word.")] = 2,
    boundary: Annotated[str, typer.Option("--boundary", help="single, pad or none.")] = "single",
    unigram: Annotated[str, typer.Option("--unigram", help="uniform or types.")] = "uniform",
    discounts: Annotated[
        str | None, typer.Option("--discounts", metavar="D|D1,D2,D3[;...]", help="Instead of estimated ones.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Fail where discounts cannot be estimated.")] = False,
    prune: Annotated[
        str, typer.Option("--prune", metavar="0,0,1", help="Leave out n-grams this rare, by order.")
    ] = "",
    entropy: Annotated[
        float, typer.Option("--entropy", metavar="X", help="Leave out n-grams that change perplexity less than this.")
    ] = 0.0,
    classes: Annotated[
        str | None, typer.Option("--classes", metavar="MODEL", help="A class n-gram over these word classes.")
    ] = None,
    unk_token: UnkToken = "unknown",
    allow_markup: Annotated[bool, typer.Option("--allow-markup", help="Accept <s> and </s> as words.")] = False,
    units: Units = "words",
    lowercase: Lowercase = False,
    digits: Digits = False,
    tokenise: Tokenise = "none",
    dev: Dev = None,
    arpa: Annotated[str | None, typer.Option("--arpa", metavar="FILE", help="Write an ARPA file, too.")] = None,
    iterations: Annotated[int, typer.Option("--iterations", help="hpy: sweeps over the text.")] = 100,
    samples: Annotated[int, typer.Option("--samples", help="hpy: how many states of the sampler to average.")] = 5,
    max_order: Annotated[int, typer.Option("--max-order", help="Order infinite: at most so many words.")] = 8,
    resume: Resume = False,
    seed: Seed = 1,
    workers: Workers = None,
    cluster: Cluster = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Learn a language model from text, one sentence a line."""
    from corpuscle.lm import ClassModel, NgramModel
    from corpuscle.text import Preprocessing, read_text

    check_model_output(output)
    check_second_output(arpa, output)
    if arpa is not None and (classes is not None or boundary == "none"):
        raise SettingError("a model of classes, or without sentence boundaries, has no ARPA form")
    preprocessing: Preprocessing = Preprocessing(lowercase=lowercase, digits=digits, tokenise=tokenise)
    if method not in METHODS:
        raise SettingError(f"method is one of {', '.join(METHODS)}; not {method!r}")
    method = check_options(context, method, order)
    chosen = given(context)
    if method == "hpy":
        train_hpy(
            context, text, output, arpa, resume, as_json,
            order=_order(order), iterations=iterations, samples=samples, max_order=max_order, min_count=min_count,
            boundary=boundary, unk=unk_token, units=units, allow_markup=allow_markup, preprocessing=preprocessing,
            workers=workers, seed=seed,
        )  # fmt: skip
        return
    try:
        thresholds = [int(number) for number in prune.split(",")] if prune else []
    except ValueError:
        raise SettingError(f"prune looks like 0,0,1, not {prune!r}") from None
    settings: dict[str, Any] = {
        "method": method, "order": _order(order), "boundary": boundary, "unigram": unigram,
        "discounts": _discounts(discounts), "strict": strict, "prune": thresholds, "entropy": entropy,
        "unk": unk_token, "units": units, "allow_markup": allow_markup, "preprocessing": preprocessing,
        "workers": workers, "cluster": cluster, "seed": seed,
    }  # fmt: skip
    model: NgramModel | ClassModel
    if classes is None:
        model = NgramModel(min_count=min_count, **settings)
    else:
        if "min_count" in chosen:
            raise SettingError("a class n-gram knows the words that have a class: --min-count has no part in it")
        word_classes = _classes(classes)
        if chosen.isdisjoint(("lowercase", "digits", "tokenise")):
            preprocessing = settings["preprocessing"] = word_classes.preprocessing_
        elif preprocessing != word_classes.preprocessing_:
            raise SettingError(f"{classes} was learned from text with other preprocessing")
        model = ClassModel(word_classes.as_dict(), **settings)
    corpus = read_text(*text, units=units, unk=unk_token, preprocessing=preprocessing)
    if not allow_markup:
        refuse_markup(corpus, text)
    development = None if dev is None else read_text(dev, units=units, unk=unk_token, preprocessing=preprocessing)
    if development is not None and not development.n_tokens:
        raise InputError(dev, None, "the development text is empty")
    with _naming(text[0]):
        model.fit(corpus, development)
    inner = model if isinstance(model, NgramModel) else model.ngram_
    for name in inner.settings():
        if ("unk_token" if name == "unk" else name) in chosen and inner.origins.get(name) != "tuned":
            inner.origins[name] = "given"
    model.save(output)
    if arpa is not None:
        _export(model, output, arpa)
    rows = inner.ngrams_.levels if inner.ngrams_ is not None else inner.tables_.levels
    tuned = sorted(name for name, origin in inner.origins.items() if origin == "tuned")
    result = {
        "method": method, "order": model.order, "sentences": len(corpus), "words": corpus.n_tokens,
        "types": len(model.vocab_) - 3, "ngrams": [int(n) for n in rows[1:] - rows[:-1]],
        "discounts": [[round(d, 6) for d in row[1:]] for row in inner.discounts_.tolist()],
        "tuned": tuned,
    }  # fmt: skip
    if tuned:
        say(f"chosen on {dev}: {', '.join(tuned)}" + (f" (order {model.order})" if order == "auto" else ""))
    summary = f"{output}: {method}, order {model.order}, {corpus.n_tokens:,} words, {result['types']:,} of them known"
    emit(result, as_json, summary)


def _classes(path: str) -> WordClasses:
    """A model of word classes."""
    from corpuscle import model as container
    from corpuscle.words import WordClasses

    return WordClasses.from_container(container.read(path, WordClasses.KIND))


def _warn_of_overlap(model: Any, corpus: Corpus, name: str) -> dict[str, float]:
    """How much of a text the model has seen before; a warning if that is more than a little."""
    from corpuscle.text.overlap import overlap

    shares = {
        "overlap_training": overlap(model.items_, corpus),
        "overlap_tuning": overlap(model.tuning_items_, corpus),
    }
    for key, share in shares.items():
        if share > 0.05:
            warn(f"{share:.0%} of these sentences were in the {key[8:]} text of {name}")
    return shares


@app.command()
def perplexity(
    model: ModelFile,
    text: Inputs,
    raw: Raw = False,
    seed: Seed = 1,
    workers: Workers = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Perplexity of a text, with and without unknown words, and its 95 % interval."""
    import math

    loaded = _load(model)
    _set_workers(loaded, workers)
    corpus = _read(text, loaded, raw)
    shares = _warn_of_overlap(loaded, corpus, model)
    result = loaded.perplexity(corpus, seed=seed)
    if 0 < corpus.n_tokens <= result["oov"]:
        warn("no word of the text is known to the model")
    figures = result.to_json() | shares | {"vocabulary": len(loaded.vocab_) - 3}
    known, ends = result["perplexity_without_oov"], "" if loaded.boundary == "none" else " with </s>"
    emit(
        figures,
        as_json,
        f"perplexity {result['perplexity']:.3f} (95 % {result['low']:.3f} to {result['high']:.3f})"
        + ("" if math.isnan(known) else f", without unknown words {known:.3f}")
        + f"\n{result['tokens']:,} tokens{ends}, {result['oov']:,} unknown "
        f"({result['oov'] / result['tokens']:.2%}), {result['bits_per_token']:.4f} bits a token",
    )


def _set_workers(model: Any, workers: int | None) -> None:
    if workers is not None:
        model.workers = workers


@app.command()
def score(
    model: ModelFile,
    text: Input,
    words: Annotated[bool, typer.Option("--words", help="Every word with its surprisal in bits.")] = False,
    raw: Raw = False,
    quiet: Quiet = False,
) -> None:
    """Log10 probability and perplexity of every sentence (TSV: sentence, tokens, oov, log10, perplexity)."""
    import sys

    import numpy as np

    from corpuscle.text import iter_text

    loaded = _load(model)
    sentence = 0
    write = sys.stdout.write
    heading = "sentence\tword\tbits\toov\n" if words else "sentence\ttokens\toov\tlog10\tperplexity\n"
    settings = {"units": loaded.units, "unk": loaded.unk, "preprocessing": loaded.preprocessing}
    if raw or loaded.boundary == "none":  # without boundaries, a sentence goes on where the one before it ends
        corpora = iter([read_input([text], raw, **settings)])
    else:
        corpora = iter_text(text, **settings)
    for corpus in corpora:
        events = loaded.events(corpus)
        write(heading)
        heading = ""
        if words:
            bits, starts = events.log_probability / -np.log(2), events.starts
            for i in range(len(corpus)):
                tokens = corpus.words(i) + ([] if loaded.boundary == "none" else ["</s>"])
                span = slice(starts[i], starts[i + 1])
                for word, value, unknown in zip(tokens, bits[span], events.unknown[span], strict=True):
                    write(f"{sentence + i + 1}\t{word}\t{value:.4f}\t{int(unknown)}\n")
        else:
            scores = events.by_sentence()
            log10 = scores.log_probability / np.log(10)
            with np.errstate(all="ignore"):
                values = np.exp(-scores.log_probability / scores.tokens)
            for i, row in enumerate(zip(scores.tokens, scores.oov, log10, values, strict=True)):
                write(f"{sentence + i + 1}\t{row[0]}\t{row[1]}\t{row[2]:.6f}\t{row[3]:.4f}\n")
        sentence += len(corpus)
    write(heading)  # still to come if there is no text


@app.command("next")
def next_words(
    model: ModelFile,
    context: Annotated[str, typer.Argument(help='The sentence so far, such as "a b".')] = "",
    k: Annotated[int, typer.Option("-k", min=1, help="How many words.")] = 10,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """The most likely next words after the beginning of a sentence."""
    loaded = _load(model)
    begin = [] if loaded.boundary == "none" else ["<s>"]
    words = _preprocessed(context, loaded)
    unknown = [word for word in words if word not in loaded.vocab_]
    if unknown:
        warn(f"unknown to the model: {' '.join(unknown)}")
    found = loaded.next_words(begin + words, k)
    emit(
        {"context": words, "next": [{"word": word, "probability": probability} for word, probability in found]},
        as_json,
        "\n".join(f"{probability:.6f}\t{word}" for word, probability in found),
    )


def _preprocessed(line: str, model: Any) -> list[str]:
    """The units of a line as the model's training text was read."""
    from corpuscle.text import Corpus
    from corpuscle.text.characters import spell_out

    words = model.preprocessing.words(line)
    units = model.units
    return words if units == "words" else spell_out(Corpus.from_sentences([words]), units).words(0)


@app.command()
def sample(
    model: ModelFile,
    n: Annotated[int, typer.Option("-n", min=1, help="How many sentences.")] = 5,
    temperature: Annotated[float, typer.Option("--temperature", help="Below 1: likelier words.")] = 1.0,
    max_length: Annotated[int, typer.Option("--max-length", min=1, help="Cut sentences at this many words.")] = 100,
    seed: Seed = 1,
    quiet: Quiet = False,
) -> None:
    """Random sentences of the model, one a line."""
    for words in _load(model).sample(n, seed=seed, temperature=temperature, max_length=max_length):
        print(" ".join(words))


@app.command()
def mix(
    models: Annotated[list[str], typer.Argument(metavar="MODEL...", help="Two or more language models.")],
    output: Output,
    dev: Annotated[str, typer.Option("--dev", metavar="TEXT", help="The text that decides the weights.")],
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Mix models with the weights that make a development text most likely."""
    from corpuscle.lm import Mixture

    check_model_output(output)
    parts = [_load(path) for path in models]
    if any(isinstance(part, Mixture) for part in parts):
        raise SettingError("a mixture of mixtures: give all the models in one command instead")
    mixture = Mixture(parts)
    corpus = _read(dev, mixture)
    with _naming(dev):
        mixture.fit(corpus)
    mixture.save(output)
    weights = mixture.weights_.tolist()
    perplexities = [float(each.perplexity(corpus, draws=1)["perplexity"]) for each in (*parts, mixture)]
    table = zip([*weights, 1.0], perplexities, [*models, output], strict=True)
    rows = [f"{weight:.4f}\t{value:.3f}\t{name}" for weight, value, name in table]
    emit(
        {"weights": weights, "perplexity": perplexities[-1], "perplexities": perplexities[:-1]},
        as_json,
        "\n".join(["weight\tperplexity\tmodel", *rows]),
    )


@app.command()
def export(model: ModelFile, output: Output, quiet: Quiet = False) -> None:
    """Write a model as an ARPA file (packed if its name ends in .gz or .xz)."""
    _export(_load(model), model, output)


def _export(model: Any, name: str, path: str) -> None:
    from corpuscle.lm import HpyModel, NgramModel, write_arpa

    if isinstance(model, HpyModel):
        model = model.as_ngram()
    if not isinstance(model, NgramModel):
        raise InputError(name, None, f"a model of kind {model.KIND.name} has no ARPA form")
    if model.boundary == "none":
        raise InputError(name, None, "a model without sentence boundaries has no ARPA form")
    write_arpa(model, path)


@app.command("import")
def import_(arpa: Input, output: Output, quiet: Quiet = False) -> None:
    """Make a model of an ARPA file."""
    from corpuscle.lm import read_arpa

    check_model_output(output)
    read_arpa(arpa).save(output)


@app.command()
def compare(
    model_a: ModelFile, model_b: ModelFile, text: Input, seed: Seed = 1, quiet: Quiet = False, as_json: Json = False
) -> None:
    """Compare two models on a text: the difference of their perplexities, paired by sentence."""
    import numpy as np

    from corpuscle.lm import compare_events

    if text == "-":
        raise SettingError("compare reads its text twice; give a file")
    loaded: list[LanguageModel] = [_load(model_a), _load(model_b)]
    texts = [_read(text, model) for model in loaded]
    a, b = (model.events(corpus) for model, corpus in zip(loaded, texts, strict=True))
    comparison = compare_events(a, b, seed=seed)
    shares = {
        f"{key}_{side}": share
        for side, name, model, corpus in zip("ab", (model_a, model_b), loaded, texts, strict=True)
        for key, share in _warn_of_overlap(model, corpus, name).items()
    }
    if not np.array_equal(a.unknown, b.unknown):
        warn("the models do not know the same words: these perplexities are not comparable")
    figures = [float(np.exp(-events.log_probability.mean())) for events in (a, b)]
    values = {
        "perplexity_a": figures[0], "perplexity_b": figures[1],
        "oov_a": int(a.unknown.sum()), "oov_b": int(b.unknown.sum()), "tokens": len(a.unknown),
        **comparison.to_json(), **shares,
    }  # fmt: skip
    emit(
        values,
        as_json,
        f"{model_a}: {values['perplexity_a']:.3f}\n{model_b}: {values['perplexity_b']:.3f}\n"
        f"difference {comparison.difference:.3f} (95 % {comparison.low:.3f} to {comparison.high:.3f}), "
        f"p = {comparison.p_value:.3g}",
    )
