"""``corpuscle transliterate ...``: write names in another script, learned from a list of pairs."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corpuscle.cli.common import (
    Input,
    Json,
    ModelFile,
    Output,
    Quiet,
    Resume,
    Seed,
    Workers,
    check_model_output,
    emit,
    naming,
)
from corpuscle.errors import InputError, SettingError, warn

if TYPE_CHECKING:
    from corpuscle.transliterate import PhraseTransliterator

__all__ = ["app"]

app = typer.Typer(help="Transliteration: write names in another script.")

Pairs = Annotated[
    str,
    typer.Argument(metavar="PAIRS", help="Source, tab, accepted targets; or NEWS XML (.xml); - is stdin."),
]
Reverse = Annotated[bool, typer.Option("--reverse", help="The way back: from targets to sources.")]
Beam = Annotated[
    int | None, typer.Option("--beam", min=1, show_default="the model's", help="Hypotheses kept at each letter.")
]
Nbest = Annotated[int, typer.Option("--nbest", min=1, max=10_000, help="How many candidates of each name.")]


def _read(path: str, reverse: bool) -> list[Any]:
    from corpuscle.transliterate import read_names, reversed_pairs

    pairs = read_names(path)
    if not pairs:
        raise InputError(path, None, "there are no pairs")
    return reversed_pairs(pairs) if reverse else pairs


def _load(path: str, workers: int | None, beam: int | None = None) -> PhraseTransliterator:
    """A model of this task, and of no other."""
    from corpuscle.model import read
    from corpuscle.transliterate import PhraseTransliterator

    model = PhraseTransliterator.from_container(read(path, PhraseTransliterator.KIND))
    model.workers = workers
    if beam is not None:
        model.beam = beam
    return model


@app.command()
def train(
    pairs: Pairs,
    output: Output,
    method: Annotated[str, typer.Option("--method", help="phrase.")] = "phrase",
    dev: Annotated[
        str | None,
        typer.Option("--dev", metavar="PAIRS", help="Tune weights on these pairs instead of a tenth of the input."),
    ] = None,
    reverse: Reverse = False,
    metric: Annotated[
        str, typer.Option("--metric", help="What tuning raises: likelihood, bleu, acc or fscore.")
    ] = "likelihood",
    tune: Annotated[bool, typer.Option("--tune/--no-tune", help="Tune the weights.")] = True,
    final_refit: Annotated[
        bool, typer.Option("--final-refit/--no-final-refit", help="After tuning learn from the held-out tenth too.")
    ] = True,
    aligner: Annotated[str, typer.Option("--aligner", help="joint, hmm, ibm1 or diagonal.")] = "joint",
    symmetrisation: Annotated[
        str, typer.Option("--symmetrisation", help="Of the two directions of hmm, ibm1 and diagonal.")
    ] = "grow-diag-final-and",
    heuristics: Annotated[
        bool,
        typer.Option("--heuristics/--no-heuristics", help="Links of hmm, ibm1, diagonal: none cross, no target free."),
    ] = True,
    iterations: Annotated[int, typer.Option("--iterations", help="Of the aligner.")] = 10,
    max_phrase: Annotated[int, typer.Option("--max-phrase", help="Letters of the longest phrase, at most 8.")] = 7,
    order: Annotated[int, typer.Option("--order", help="Order of the letter model of the target.")] = 8,
    joint_order: Annotated[
        int, typer.Option("--joint-order", help="Order of the joint model of both sides; 0: none.")
    ] = 6,
    context: Annotated[
        int, typer.Option("--context", help="How many letters to either side the context model sees; 0: none.")
    ] = 4,
    beam: Annotated[int, typer.Option("--beam", help="Hypotheses kept at each letter.")] = 10,
    threshold: Annotated[
        float, typer.Option("--threshold", help="Hypotheses so much worse than the best are dropped.")
    ] = 10.0,
    table_limit: Annotated[int, typer.Option("--table-limit", help="Targets considered of each source phrase.")] = 20,
    restarts: Annotated[
        int, typer.Option("--restarts", help="Random starting points of tuning (not for likelihood).")
    ] = 20,
    rounds: Annotated[int, typer.Option("--rounds", help="At most so many rounds of tuning.")] = 10,
    phrase_penalty: Annotated[bool, typer.Option("--phrase-penalty", help="Weigh the number of phrases too.")] = False,
    references: Annotated[
        str, typer.Option("--references", help="Learn from the first accepted target of a name, or from all.")
    ] = "first",
    units: Annotated[str, typer.Option("--units", help="What a letter is: characters or graphemes.")] = "characters",
    lowercase: Annotated[bool, typer.Option("--lowercase/--keep-case", help="Lower-case both sides.")] = True,
    resume: Resume = False,
    seed: Seed = 1,
    workers: Workers = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Learn from names and their transliterations."""
    check_model_output(output)
    import time

    from corpuscle.transliterate import FEATURES, METHODS

    if method not in METHODS:
        raise SettingError(f"the method is one of {', '.join(METHODS)}, not {method!r}")
    begin = time.perf_counter()
    model = METHODS[method](
        aligner=aligner, symmetrisation=symmetrisation, heuristics=heuristics, iterations=iterations,
        max_phrase=max_phrase, order=order, joint_order=joint_order, context=context, beam=beam, threshold=threshold,
        table_limit=table_limit, tune=tune, metric=metric, restarts=restarts, rounds=rounds,
        phrase_penalty=phrase_penalty, references=references, final_refit=final_refit, units=units,
        lowercase=lowercase, seed=seed, workers=workers,
    )  # fmt: skip
    names = _read(pairs, reverse)
    development = None if dev is None else _read(dev, reverse)
    if dev is not None and development is not None:
        with naming(dev):
            model.check_development(development)
    with naming(pairs), model.checkpoint(names, development, output, resume) as checkpoint:
        model.fit(names, development, checkpoint)
        model.save(output)
    weights = dict(zip(FEATURES, model.weights_.tolist(), strict=True))
    result = {
        "method": method, "pairs": len(names), "tuning_pairs": model.provenance_["tuning_pairs"],
        "entries": len(model.table_), "metric": metric if tune else None, "rounds": len(model.history_),
        "tuning_value": model.history_[-1].value if model.history_ else None, "weights": weights,
        "seconds": time.perf_counter() - begin, "model": output,
    }  # fmt: skip
    tuned = f", {metric} {model.history_[-1].value:.4f} on the pairs it was tuned on" if model.history_ else ""
    emit(result, as_json, f"{output}: {len(names):,} pairs, {len(model.table_):,} phrase pairs{tuned}")


@app.command()
def apply(
    model: ModelFile,
    names: Input = "-",
    output: Output = "-",
    nbest: Annotated[
        int | None, typer.Option("--nbest", min=1, max=10_000, help="Source, rank, target and score of so many.")
    ] = None,
    format: Annotated[str, typer.Option("--format", help="tsv, json (a line a name) or news (XML).")] = "tsv",
    sum: Annotated[
        bool, typer.Option("--sum", help="Add up the probabilities of all ways to write the same target.")
    ] = False,
    beam: Beam = None,
    workers: Workers = None,
    quiet: Quiet = False,
) -> None:
    """Write names in the other script, one name a line."""
    from corpuscle.text.files import read_lines, write_atomically
    from corpuscle.transliterate import write_results

    if format not in ("tsv", "json", "news"):
        raise SettingError(f"the format is tsv, json or news, not {format!r}")
    loaded = _load(model, workers, beam)
    sources = [line for _, line in read_lines(names)]
    found = loaded.transliterate(sources, nbest or 1, sum)
    if format == "news":
        write_results(zip(sources, found, strict=True), output)
        return
    with write_atomically(output, "w") as out:
        for source, candidates in zip(sources, found, strict=True):
            if format == "json":
                rows = [{"target": target, "score": score} for target, score in candidates]
                out.write(json.dumps({"source": source, "candidates": rows}, ensure_ascii=False) + "\n")
            elif nbest is None:
                out.write((candidates[0].target if candidates else "") + "\n")
            else:
                shown = source.replace("\t", " ")
                for rank, (target, score) in enumerate(candidates, 1):
                    out.write(f"{shown}\t{rank}\t{target}\t{score:.6f}\n")
                if not candidates:
                    out.write(f"{shown}\t0\t\t\n")


@app.command()
def evaluate(
    pairs: Pairs,
    results: Annotated[
        str | None, typer.Argument(metavar="[OUTPUT]", help="What apply wrote for the sources, in the same order.")
    ] = None,
    model: Annotated[str | None, typer.Option("--model", metavar="MODEL", help="Apply this model first.")] = None,
    nbest: Nbest = 20,
    reverse: Reverse = False,
    lowercase: Annotated[
        bool, typer.Option("--lowercase/--keep-case", help="Compare an OUTPUT in lower case (a model knows its own).")
    ] = True,
    beam: Beam = None,
    seed: Seed = 1,
    workers: Workers = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """ACC, mean F-score, MRR and MAP_ref, as the NEWS shared tasks define them, with 95 % intervals."""
    from corpuscle.measure import news_measures
    from corpuscle.transliterate import read_results
    from corpuscle.transliterate.preparation import Spelling

    if (results is None) == (model is None):
        raise SettingError("give either an OUTPUT to measure or a --model to apply")
    gold = _read(pairs, reverse)
    shares: dict[str, float] = {}
    if model is not None:
        loaded = _load(model, workers, beam)
        spelling = loaded.spelling
        ranked = loaded.transliterate([pair.source for pair in gold], nbest)
        candidates = [[candidate.target for candidate in found] for found in ranked]
        shares = dict(zip(("overlap_training", "overlap_tuning"), loaded.overlap(gold), strict=True))
        for name, share in shares.items():
            if share > 0.05:
                warn(f"{share:.0%} of these names were in the model's {name[8:]} pairs")
    else:
        assert results is not None
        spelling = Spelling(lowercase=lowercase)
        candidates = [[spelling.normal(target) for target in found] for found in read_results(results)]
        if len(candidates) != len(gold):
            raise InputError(results, None, f"{len(candidates)} names, but {pairs} has {len(gold)}")
    references = [[spelling.normal(target) for target in pair.targets] for pair in gold]
    result = news_measures(candidates, references, seed=seed)
    figures = result.to_json() | shares
    lines = [
        f"{label}: {figures[name]:.4f} (95 % {figures[f'{name}_low']:.4f} to {figures[f'{name}_high']:.4f})"
        for name, label in (("acc", "ACC"), ("f_score", "mean F"), ("mrr", "MRR"), ("map_ref", "MAP_ref"))
    ]
    emit(figures, as_json, "\n".join([*lines, f"{figures['names']:,} names"]))


@app.command()
def export(model: ModelFile, output: Output = "-", quiet: Quiet = False) -> None:
    """Write the phrase table in the text form of Moses."""
    from corpuscle.text.files import write_atomically

    loaded = _load(model, None)
    with write_atomically(output, "w") as out:
        out.writelines(line + "\n" for line in loaded.table_.lines(loaded.source_vocab_, loaded.lm_.vocab_))


@app.command()
def weights(
    model: ModelFile,
    set: Annotated[
        str | None, typer.Option("--set", metavar="FILE", help="JSON with other weights, for the model in -o.")
    ] = None,
    output: Annotated[str | None, typer.Option("-o", "--output", metavar="FILE", help="The changed model.")] = None,
    quiet: Quiet = False,
) -> None:
    """Show the weights as JSON, or write a model with other ones."""
    from corpuscle.transliterate import FEATURES

    loaded = _load(model, None)
    if (set is None) != (output is None):
        raise SettingError("--set and -o belong together")
    if set is None or output is None:
        print(json.dumps(dict(zip(FEATURES, loaded.weights_.tolist(), strict=True))))
        return
    check_model_output(output)
    loaded.set_weights(_weights(set))
    loaded.save(output)


def _weights(path: str) -> list[float]:
    """Weights by name from a JSON file; every feature must be there, and nothing else."""
    from corpuscle.text.files import decode, open_bytes
    from corpuscle.transliterate import FEATURES

    try:
        given = json.loads(decode(open_bytes(path), path))
    except (ValueError, RecursionError) as error:
        raise InputError(path, None, f"not JSON: {error}") from None
    numbers = isinstance(given, dict) and all(
        type(value) in (int, float) and abs(value) <= sys.float_info.max for value in given.values()
    )
    if not numbers or given.keys() != {*FEATURES}:
        raise InputError(path, None, f"expected {len(FEATURES)} finite weights by name: {', '.join(FEATURES)}")
    return [float(given[name]) for name in FEATURES]


@app.command()
def draw(
    model: ModelFile,
    word: Annotated[str, typer.Argument(help="One word.")],
    output: Output = "-",
    nbest: Annotated[int, typer.Option("--nbest", min=1, max=30, help="How many ways to write it.")] = 5,
    quiet: Quiet = False,
) -> None:
    """Draw the best ways to write a word as a lattice of phrases (SVG)."""
    from corpuscle.figures import phrase_lattice
    from corpuscle.text.files import write_atomically

    found = _load(model, 1).derivations(word, nbest)
    picture = phrase_lattice([(target, phrases) for (target, _), phrases in found], title=f"Ways to write {word}")
    with write_atomically(output, "w") as out:
        out.write(picture + "\n")
