"""``corpuscle lm train --method hpy``: the part of the command that samples."""

from __future__ import annotations

from typing import Any

import typer

from corpuscle.cli.common import emit, given
from corpuscle.cli.markup import refuse_markup
from corpuscle.errors import InputError, SettingError

__all__ = ["check_options", "train_hpy"]

_SAMPLED = ("iterations", "samples", "max_order", "resume")
_COUNTED = ("unigram", "discounts", "strict", "prune", "entropy", "classes", "dev", "cluster")
"""Options that only sampled models have, and options that they do not have."""


def check_options(context: typer.Context, method: str, order: str) -> str:
    """The method, ``hpy`` if the order asks for it; an option that would do nothing is an error."""
    chosen = given(context)
    if order == "infinite" and "method" not in chosen:
        method = "hpy"
    if order == "infinite" and method != "hpy":
        raise SettingError(f"order infinite needs --method hpy, not {method}")
    for name in _COUNTED if method == "hpy" else _SAMPLED:
        if name in chosen:
            raise SettingError(f"--{name.replace('_', '-')} means nothing with --method {method}")
    if order != "infinite" and "max_order" in chosen:
        raise SettingError("--max-order means nothing without --order infinite")
    return method


def train_hpy(
    context: typer.Context,
    text: list[str],
    output: str,
    arpa: str | None,
    resume: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Train a Pitman-Yor model and say what came of it."""
    import time

    from corpuscle.lm import HpyModel, write_arpa
    from corpuscle.text import read_text

    begin = time.perf_counter()
    model = HpyModel(**settings)
    if arpa is not None and (model.infinite or model.samples != 1 or model.boundary == "none"):
        raise SettingError("an ARPA file holds one sample of a model of fixed order with boundaries: --samples 1")
    for name in model.settings():
        if ("unk_token" if name == "unk" else name) in given(context):
            model.origins[name] = "given"
    corpus = read_text(*text, units=model.units, unk=model.unk, preprocessing=model.preprocessing)
    if corpus.n_tokens == 0:
        raise InputError(text[0], None, "the training text is empty")
    if not model.allow_markup:
        refuse_markup(corpus, text)
    with model.checkpoint(corpus, output, resume) as checkpoint:
        model.fit(corpus, checkpoint=checkpoint).save(output)
    if arpa is not None:
        write_arpa(model.as_ngram(), arpa)
    last = model.samples_[-1]
    result = {
        "method": "hpy", "order": model.requested_order, "sentences": len(corpus), "words": corpus.n_tokens,
        "types": len(model.vocab_) - 3, "iterations": model.iterations, "samples": model.samples,
        "discounts": [round(value, 6) for value in last["discounts"].tolist()],
        "strengths": [round(value, 6) for value in last["strengths"].tolist()],
        "log_likelihood": float(model.history_[-1]), "seconds": time.perf_counter() - begin,
    }  # fmt: skip
    summary = (
        f"{output}: hpy, order {model.requested_order}, {corpus.n_tokens:,} words, {result['types']:,} types, "
        f"{model.iterations} sweeps in {result['seconds']:.1f} s"
    )
    emit(result, as_json, summary)
