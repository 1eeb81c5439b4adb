"""``corpuscle align``: learn word alignment from sentence pairs, align, measure, and look at what was learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from corpuscle.cli.align_features import measure_oracle, weights, write_n_best
from corpuscle.cli.align_links import as_text, check_links, read_links
from corpuscle.cli.common import (
    Digits,
    Json,
    Lowercase,
    ModelFile,
    Output,
    Quiet,
    Resume,
    Seed,
    Tokenise,
    Workers,
    check_model_output,
    check_output,
    check_second_output,
    emit,
)
from corpuscle.errors import InputError, SettingError, warn

if TYPE_CHECKING:
    from corpuscle.align import Aligner
    from corpuscle.text.alignments import Alignments
    from corpuscle.text.bitext import Bitext
    from corpuscle.text.preprocessing import Preprocessing

__all__ = ["app"]

app = typer.Typer(help="Word alignment: which words translate which.")
app.command()(weights)

Source = Annotated[str, typer.Argument(metavar="SRC", help="Source sentences, one a line; or both sides, with |||.")]
Target = Annotated[str | None, typer.Argument(metavar="[TGT]", help="Their translations, line by line.")]
Symmetrise = Annotated[
    str,
    typer.Option(
        "--symmetrise",
        help="forward, backward, intersection, union, grow, grow-diag, grow-diag-final[-and] or posterior.",
    ),
]
Decode = Annotated[
    str, typer.Option("--decode", help="viterbi: the best link of each word; posterior: all above the threshold.")
]
Threshold = Annotated[float, typer.Option("--threshold", help="The least probability of a link, where that decides.")]
Gold = Annotated[str | None, typer.Option("--gold", metavar="FILE", help="Gold links.")]


def _read(source: str, target: str | None, preprocessing: Preprocessing | None = None) -> Bitext:
    from corpuscle.text.bitext import read_bitext

    return read_bitext(source, target, preprocessing=preprocessing)


def _read_to_learn(source: str, target: str | None, preprocessing: Preprocessing, max_length: int) -> Bitext:
    """Sentence pairs, of which some at least can be learned from."""
    import numpy as np

    bitext = _read(source, target, preprocessing)
    lengths = np.column_stack([bitext.source.lengths, bitext.target.lengths])
    if not ((lengths > 0) & (lengths <= max_length)).all(axis=1).any():
        raise InputError(source, None, "there are no sentence pairs to learn from")
    return bitext


def _load(path: str, workers: int | None = None) -> Aligner:
    """A model of this task, and of no other."""
    from corpuscle.align import load

    model = load(path)
    model.workers = workers
    return model


def _write(links: Alignments, path: str, weights: bool = False) -> None:
    import dataclasses

    from corpuscle.text.alignments import write_pharaoh

    write_pharaoh(links if weights else dataclasses.replace(links, weights=None), path)


def _summary(model: Aligner, seconds: float, output: str) -> dict[str, Any]:
    return {
        "method": model.method,
        "sentence_pairs": model.provenance_["sentence_pairs"],
        "learned_from": model.provenance_["learned_from"],
        "source_tokens": model.provenance_["source_tokens"],
        "target_tokens": model.provenance_["target_tokens"],
        "couples": len(model.couples_.columns),
        "log_likelihood_per_token": model.history_[-1],
        "seconds": seconds,
        "model": output,
    }


@app.command()
def train(
    source: Source,
    output: Output,
    target: Target = None,
    method: Annotated[str, typer.Option("--method", help="ibm1, diagonal, hmm, fertility or loglinear.")] = "fertility",
    iterations: Annotated[int | None, typer.Option("--iterations", show_default="5", help="How many.")] = None,
    bayes: Annotated[
        bool | None,
        typer.Option("--bayes/--no-bayes", show_default="the method's", help="A sparse Dirichlet prior, or none."),
    ] = None,
    alpha: Annotated[
        float | None, typer.Option("--alpha", show_default="the method's", help="That prior's weight.")
    ] = None,
    agreement: Annotated[
        bool | None,
        typer.Option("--agreement/--no-agreement", show_default="the method's", help="Directions learn from both."),
    ] = None,
    p0: Annotated[
        float | None, typer.Option("--p0", show_default="the method's", help="How often a word comes from nothing.")
    ] = None,
    chains: Annotated[
        int | None, typer.Option("--chains", show_default="4", help="fertility: independent draws of all links.")
    ] = None,
    sweeps: Annotated[
        int | None, typer.Option("--sweeps", show_default="10", help="fertility: how often each chain draws them.")
    ] = None,
    features: Annotated[
        str | None, typer.Option("--features", metavar="FILE", help="loglinear: source, target, name, value: your own.")
    ] = None,
    families: Annotated[
        str | None, typer.Option("--families", show_default="all", help="loglinear: which features, as pair,dice,jump.")
    ] = None,
    neighbourhood: Annotated[
        str | None,
        typer.Option("--neighbourhood", show_default="eb-model1", help="loglinear: or model1, cooc, full."),
    ] = None,
    beta: Annotated[
        float | None, typer.Option("--beta", show_default="0.4", help="loglinear: the penalty; more is sparser.")
    ] = None,
    classes: Annotated[
        int | None, typer.Option("--classes", show_default="50", help="loglinear: word classes of each side.")
    ] = None,
    null_jump: Annotated[
        str | None, typer.Option("--null-jump", show_default="skip", help="loglinear: or remember.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", show_default="1", help="Of the draws of fertility, the order of loglinear.")
    ] = None,
    max_length: Annotated[
        int, typer.Option("--max-length", help="Pairs with a longer side are aligned, not learned from.")
    ] = 100,
    links: Annotated[
        str | None, typer.Option("--links", metavar="FILE", help="Also write the links of these sentence pairs.")
    ] = None,
    symmetrise: Symmetrise = "grow-diag-final-and",
    lowercase: Lowercase = False,
    digits: Digits = False,
    tokenise: Tokenise = "none",
    resume: Resume = False,
    workers: Workers = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Learn from sentence pairs, in both directions."""
    check_model_output(output)
    check_second_output(links, output)
    import time

    from corpuscle.align import learner, read_features
    from corpuscle.align.symmetrise import check_symmetrisation
    from corpuscle.text.preprocessing import Preprocessing

    check_symmetrisation(symmetrise)
    begin = time.perf_counter()
    given: dict[str, Any] = {"iterations": iterations, "bayes": bayes, "alpha": alpha, "agreement": agreement, "p0": p0}
    given |= {"chains": chains, "sweeps": sweeps, "seed": seed, "beta": beta, "classes": classes}
    given |= {"neighbourhood": neighbourhood, "null_jump": null_jump}
    given["families"] = None if families is None else tuple(families.split(","))
    chosen = {name: value for name, value in given.items() if value is not None}
    preprocessing = Preprocessing(lowercase=lowercase, digits=digits, tokenise=tokenise)
    if features is not None:
        chosen["features"] = read_features(features, preprocessing)
    if method == "ibm1" and p0 is not None:
        raise SettingError("Model 1 has no p0: its null word is as good as any other")
    aligner = learner(method, workers=workers, max_length=max_length, **chosen)
    bitext = _read_to_learn(source, target, preprocessing, max_length)
    with aligner.checkpoint(bitext, output, resume) as checkpoint:
        aligner.fit(bitext, preprocessing=preprocessing, checkpoint=checkpoint)
        aligner.save(output)
    if links is not None:
        _write(aligner.align(bitext, symmetrise), links)
    emit(_summary(aligner, time.perf_counter() - begin, output), as_json)


@app.command()
def update(
    model: ModelFile,
    source: Source,
    output: Output,
    target: Target = None,
    workers: Workers = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Go on learning from new sentence pairs; what the model has counted before stays."""
    check_model_output(output)
    import dataclasses
    import time

    begin = time.perf_counter()
    base = _load(model, workers)
    bitext = _read_to_learn(source, target, base.preprocessing_, base.max_length)
    settings = {f.name: getattr(base, f.name) for f in dataclasses.fields(base)}  # type: ignore[arg-type]
    aligner = type(base)(**settings).fit(bitext, preprocessing=base.preprocessing_, base=base)
    aligner.save(output)
    emit(_summary(aligner, time.perf_counter() - begin, output), as_json)


@app.command()
def apply(
    model: ModelFile,
    source: Source,
    target: Target = None,
    output: Output = "-",
    symmetrise: Symmetrise = "grow-diag-final-and",
    decode: Decode = "viterbi",
    threshold: Threshold = 0.5,
    weights: Annotated[bool, typer.Option("--weights", help="Write i-j:probability.")] = False,
    min_confidence: Annotated[
        float, typer.Option("--min-confidence", min=0, max=1, help="Less sure sentence pairs get no links.")
    ] = 0.0,
    every: Annotated[
        str | None,
        typer.Option("--all", metavar="PREFIX", help="Write PREFIX.forward, PREFIX.union and so on: all of them."),
    ] = None,
    nbest: Annotated[
        int | None, typer.Option("--nbest", min=1, help="The K best of one direction: line, rank, probability, links.")
    ] = None,
    workers: Workers = None,
    quiet: Quiet = False,
) -> None:
    """Align sentence pairs, new ones or old ones; one line of links for each pair."""
    import numpy as np

    from corpuscle.align import SYMMETRISATIONS

    loaded = _load(model, workers)
    bitext = _read(source, target, loaded.preprocessing_)
    if nbest is not None:
        if every is not None or weights or min_confidence > 0 or decode != "viterbi":
            raise SettingError("--nbest goes with --symmetrise forward or backward, and with nothing else")
        write_n_best(loaded, bitext, nbest, symmetrise, output)
        return
    ways = (symmetrise,) if every is None else (*SYMMETRISATIONS, "posterior")
    found = loaded.align_all(bitext, ways, decode, threshold)
    if weights:
        found = {how: loaded.weighted(links, bitext) for how, links in found.items()}
    if min_confidence > 0:
        sure = loaded.confidence(bitext) >= min_confidence
        found = {how: _only(links, np.flatnonzero(~sure)) for how, links in found.items()}
    for how, links in found.items():
        _write(links, output if every is None else f"{every}.{how}", weights)


def _only(links: Alignments, without: Any) -> Alignments:
    """The same links, none for some sentence pairs."""
    import numpy as np

    from corpuscle.text.alignments import Alignments
    from corpuscle.text.corpus import starts_of

    kept = ~np.isin(links.pairs, without)
    weights = None if links.weights is None else links.weights[kept]
    starts = starts_of(np.bincount(links.pairs[kept], minlength=len(links)))
    return Alignments(links.links[kept], starts, links.sure[kept], weights)


@app.command()
def filter(
    model: ModelFile,
    source: Source,
    target: Target = None,
    output: Output = "-",
    min_confidence: Annotated[
        float, typer.Option("--min-confidence", min=0, max=1, help="Pairs below this are suspicious.")
    ] = 0.3,
    kept: Annotated[
        str | None, typer.Option("--kept", metavar="FILE", help="Write the other pairs, as source ||| target.")
    ] = None,
    workers: Workers = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """List sentence pairs that hardly translate each other: line, confidence, source, target; the worst first."""
    check_output(output)
    check_second_output(kept, output)
    import numpy as np

    from corpuscle.text.bitext import Bitext, write_bitext
    from corpuscle.text.files import write_atomically
    from corpuscle.text.preprocessing import Preprocessing

    loaded = _load(model, workers)
    text = _read(source, target, Preprocessing(nfc=False))  # what is written is what was read
    bitext = Bitext(*map(loaded.preprocessing_.apply, (text.source, text.target)))
    confidence = loaded.confidence(bitext)
    bad = np.flatnonzero(confidence < min_confidence)
    if kept is not None:
        write_bitext(text.select(confidence >= min_confidence), kept)
    with write_atomically(output, "w") as file:
        for k in bad[np.argsort(confidence[bad], kind="stable")].tolist():
            words = " ".join(text.source.words(k)), " ".join(text.target.words(k))
            file.write(f"{k + 1}\t{confidence[k]:.4f}\t{words[0]}\t{words[1]}\n")
    if as_json:
        mean = float(confidence.mean()) if len(confidence) else None
        emit({"sentence_pairs": len(bitext), "suspicious": len(bad), "mean_confidence": mean}, True)


@app.command()
def lexicon(
    model: ModelFile,
    output: Output = "-",
    min_count: Annotated[float, typer.Option("--min-count", help="At least so many expected links.")] = 1.0,
    min_score: Annotated[
        float, typer.Option("--min-score", help="The least geometric mean of the probabilities of both directions.")
    ] = 0.1,
    examples: Annotated[
        tuple[str, str] | None,
        typer.Option("--examples", metavar="SRC TGT", help="Sentence pairs to take an example of each entry from."),
    ] = None,
    workers: Workers = None,
    quiet: Quiet = False,
) -> None:
    """Write a bilingual dictionary: source, target, count, p(target|source), p(source|target), score (, examples)."""
    from corpuscle.align.lexicon import lexicon as entries
    from corpuscle.align.lexicon import write_lexicon

    loaded = _load(model, workers)
    bitext = None if examples is None else _read(*examples, loaded.preprocessing_)
    found = entries(loaded, min_count=min_count, min_score=min_score, examples=bitext)
    write_lexicon(found, output, bitext)


@app.command()
def matrix(
    model: ModelFile,
    source: Source,
    output: Output,
    target: Target = None,
    kind: Annotated[str, typer.Option("--kind", help="geo, mean, forward, backward or nbest.")] = "geo",
    workers: Workers = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write the probability of every link of every sentence pair."""
    check_model_output(output)
    from corpuscle.align.matrices import save_matrix

    loaded = _load(model, workers)
    found = loaded.matrix(_read(source, target, loaded.preprocessing_), kind)
    save_matrix(found, output, kind=kind, method=loaded.method)
    emit({"sentence_pairs": len(found), "cells": len(found.weights), "matrix": output}, as_json)


@app.command()
def draw(
    model: ModelFile,
    source: Source,
    output: Output,
    target: Target = None,
    line: Annotated[int, typer.Option("--line", min=1, help="Which sentence pair, counted from 1.")] = 1,
    symmetrise: Symmetrise = "grow-diag-final-and",
    gold: Gold = None,
    workers: Workers = None,
    quiet: Quiet = False,
) -> None:
    """Draw a sentence pair as a grid: shaded by probability, links as dots, gold links as frames (SVG)."""
    from corpuscle.figures import alignment_grid
    from corpuscle.text.files import write_atomically

    loaded = _load(model, workers)
    bitext = _read(source, target, loaded.preprocessing_)
    if line > len(bitext):
        raise SettingError(f"there is no line {line}: {source} has {len(bitext)}")
    marks: dict[str, list[tuple[int, int]]] = {"sure": [], "possible": []}
    if gold is not None:
        links = read_links(gold, len(bitext))
        links.check_range(bitext, gold)
        begin, end = links.starts[line - 1 : line + 1]
        for (i, j), sure in zip(links.links[begin:end].tolist(), links.sure[begin:end].tolist(), strict=True):
            marks["sure" if sure else "possible"].append((i, j))
    one = bitext[line - 1 : line]
    found = [(i, j) for i, j in loaded.align(one, symmetrise).pair(0).tolist()]
    title = f"Sentence pair {line}"
    picture = alignment_grid(
        one.source.words(0), one.target.words(0), loaded.matrix(one).matrix(0), found, title=title, **marks
    )
    with write_atomically(output, "w") as file:
        file.write(picture + "\n")


@app.command()
def evaluate(
    gold: Annotated[str, typer.Argument(metavar="GOLD", help="Gold links: Pharaoh (i-j sure, i?j possible) or NAACL.")],
    links: Annotated[str | None, typer.Argument(metavar="[LINKS]", help="Links to judge.")] = None,
    model: Annotated[str | None, typer.Option("--model", help="Judge what this model gives instead.")] = None,
    source: Annotated[str | None, typer.Option("--source", metavar="SRC", help="The source sentences.")] = None,
    target: Annotated[str | None, typer.Option("--target", metavar="TGT", help="The target sentences.")] = None,
    train: Annotated[
        tuple[str, str] | None,
        typer.Option("--train", metavar="SRC TGT", help="The training text, for the fertility of its rare words."),
    ] = None,
    against: Annotated[
        str | None, typer.Option("--against", metavar="LINKS", help="Other links of the same pairs, to compare with.")
    ] = None,
    oracle: Annotated[
        str | None,
        typer.Option("--oracle", help="Judge what this neighbourhood, of the text of --train, allows: eb-model1, ..."),
    ] = None,
    symmetrise: Symmetrise = "grow-diag-final-and",
    seed: Seed = 1,
    workers: Workers = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Measure links against gold links: AER, precision, recall, F1 with intervals."""
    from corpuscle.align.symmetrise import check_symmetrisation
    from corpuscle.measure.links import alignment_error, compare_alignments, singleton_fertility

    check_symmetrisation(symmetrise)
    if oracle is not None:
        if source is None or target is None or train is None or links is not None or model is not None:
            raise SettingError("--oracle needs --source, --target and --train, and neither links nor a model")
        text = _read(source, target)
        wanted = read_links(gold, len(text))
        wanted.check_range(text, gold)
        measure_oracle(wanted, text, _read(*train), oracle, seed, workers, as_json)
        return
    if (links is None) == (model is None):
        raise SettingError("give links to judge, or a model and its texts (--model, --source, --target)")
    if (source is None) != (target is None):
        raise SettingError("--source and --target belong together")
    if source is None and (model is not None or train is not None):
        raise SettingError("this needs the sentences: --source and --target")
    loaded = None if model is None else _load(model, workers)
    bitext = None if source is None else _read(source, target, None if loaded is None else loaded.preprocessing_)
    wanted = read_links(gold, None if bitext is None else len(bitext))
    if loaded is not None and bitext is not None:
        found = loaded.align(bitext, symmetrise)
    else:
        assert links is not None
        found = read_links(links, len(wanted))
    check_links(wanted, found, gold, links or model or "", bitext)
    result = alignment_error(wanted, found, seed=seed)
    turned = alignment_error(wanted, found.transposed(), draws=1)
    if turned["aer"] < result["aer"]:
        warn("the links fit better when source and target change places: is one of the files the wrong way round?")
    values: dict[str, Any] = result.to_json()
    if train is not None and bitext is not None:
        training = _read(*train, None if loaded is None else loaded.preprocessing_)
        values["singleton_fertility"] = singleton_fertility(found, bitext.source, training.source)
        values["singleton_fertility_target"] = singleton_fertility(found.transposed(), bitext.target, training.target)
    if against is not None:
        other = read_links(against, len(wanted))
        check_links(wanted, other, gold, against, bitext)
        values["against"] = compare_alignments(wanted, found, other, seed=seed).to_json()
    emit(values, as_json, as_text(values))
