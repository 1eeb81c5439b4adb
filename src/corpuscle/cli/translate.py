"""``corpuscle translate ...``: a draft translator of short sentences, learned from sentence pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from corpuscle.cli import networks
from corpuscle.cli.command import Figures, argument, command, option, output, raw, resume, task_group, trainer
from corpuscle.cli.common import load, read_input, warn_of_overlap
from corpuscle.errors import InputError, SettingError
from corpuscle.progress import clock
from corpuscle.text.wording import number

if TYPE_CHECKING:
    from corpuscle.text.corpus import Corpus
    from corpuscle.translate import NeuralTranslator, PhraseTranslator

__all__ = ["group"]

group = task_group("translate")

names = option("names", "A transliterator for words that are not known; without, they are copied.", metavar="MODEL")


@trainer(group)
@argument("source")
@argument("target", required=False)
@output()
@option("dev", "Tune weights (stop training) on these pairs, not on a tenth.", nargs=2, type=str, metavar="SRC TGT")
@option("links", "Links of the pairs, instead of an aligner's; may be repeated.", metavar="LINKS", multiple=True)
@resume
def train(
    model: Any,
    source: str,
    target: str | None,
    output: str,
    dev: tuple[str, str] | None,
    links: tuple[str, ...],
    resume: bool,
) -> Figures:
    """Learn from sentence pairs: SOURCE and TARGET, or both in one file with ||| between them."""

    from corpuscle.text.alignments import read_links
    from corpuscle.text.bitext import read_bitext
    from corpuscle.translate import PhraseTranslator

    begin = clock()
    bitext = read_bitext(source, target, **model.reading)
    tuning = None if dev is None else read_bitext(*dev, **model.reading)
    known = [read_links(path, len(bitext)).sorted() for path in links] or None
    for path, own in zip(links, known or (), strict=True):
        own.check_range(bitext, path)
    with model.checkpoint(bitext, tuning, known, output, resume) as checkpoint:
        model.fit(bitext, tuning, known, checkpoint).save(output)
    figures, text = (_of_phrases if isinstance(model, PhraseTranslator) else _of_networks)(model)
    counted = {name: model.provenance_[name] for name in ("sentence_pairs", "learned_from", "tuning_pairs")}
    end = {"seconds": clock() - begin, "model": output}
    return Figures(counted | figures | end, f"{output}: {len(bitext):,} sentence pairs, {text}")


def _of_phrases(model: PhraseTranslator) -> tuple[dict[str, Any], str]:
    """What there is to say about a new model of phrases."""
    value = model.history_[-1].value if model.history_ else None
    figures = {
        "entries": len(model.table_), "rounds": len(model.history_), "tuning_bleu": value, "weights": _named(model),
    }  # fmt: skip
    tuned = "" if value is None else f", BLEU {number(value)} on the pairs it was tuned on"
    return figures, f"{len(model.table_):,} phrase pairs{tuned}"


def _of_networks(model: NeuralTranslator) -> tuple[dict[str, Any], str]:
    """What there is to say about a new neural model."""
    figures = {"pieces": len(model.vocab_)} | networks.figures_of(model, "validation_bleu")
    return figures, f"{len(model.vocab_):,} pieces, BLEU {number(figures['validation_bleu'])} held out, without a beam"


def _named(model: PhraseTranslator) -> dict[str, float]:
    """The weights of a model by their names."""
    from corpuscle.translate import FEATURES

    return dict(zip(FEATURES, model.weights_.tolist(), strict=True))


def _translated(model: Any, text: Corpus, nbest: int | None, names: str | None, **given: Any) -> list[Any]:
    """The best translations, without scores where nobody asks for a number of them; ``given``: beam, precision,
    shortlist of a network."""
    from corpuscle.translate import NeuralTranslator

    given = {name: value for name, value in given.items() if value}
    if isinstance(model, NeuralTranslator):
        if names is not None:
            raise SettingError("--names is for phrases: a network spells words that it does not know")
        return model.translate(text, nbest or 1, scores=nbest is not None, **given)
    if given:
        raise SettingError(f"--{next(iter(given))} is about networks")
    return model.translate(text, nbest or 1, None if names is None else load(names, "transliterate"))


@command(group, work=True, figures=False)
@argument("model")
@argument("source", default="-")
@output("-")
@option("nbest", "Line, rank, score and translation of so many.", metavar="N", type=click.IntRange(1, 10_000))
@names
@networks.beam
@option("shortlist", "Neural: write only what the words were linked to in training, which is quicker.", is_flag=True)
@networks.faster
@raw
def apply(
    model: str, source: str, output: str, nbest: int | None, names: str | None, beam: int | None, shortlist: bool,
    precision: str | None, tolerance: float, report: str | None, raw: bool,
) -> None:  # fmt: skip
    """Translate, one sentence a line."""
    from corpuscle.text.files import write_atomically
    from corpuscle.text.tables import write_table
    from corpuscle.translate import NeuralTranslator

    loaded = load(model, "translate")
    text = read_input([source], raw, **loaded.reading)
    if report is not None and not isinstance(loaded, NeuralTranslator):
        raise SettingError("--report is about networks")
    if precision == "int8" and isinstance(loaded, NeuralTranslator):
        loaded.check_precision(text, precision, tolerance)
    found = _translated(loaded, text, nbest, names, beam=beam, shortlist=shortlist, precision=precision)
    networks.write_report(loaded, precision, report)
    if nbest is None:
        with write_atomically(output, "w") as out:
            out.writelines((ranked[0].target if ranked else "") + "\n" for ranked in found)
        return
    rows = (
        (line, rank, score, target)
        for line, ranked in enumerate(found, 1)
        for rank, (target, score) in enumerate(ranked, 1)
    )
    write_table(output, (), rows, names=("line", "rank", "score", "target"))


@command(group, work=True, seed=True)
@argument("reference")
@argument("output", required=False)
@option("model", "Translate --source with this model first.", metavar="MODEL")
@option("source", "The sentences to translate.", metavar="SRC")
@option("against", "Other translations of the same sentences, to compare with.", metavar="FILE")
@option("tokenise", "none, or a tokeniser of sacreBLEU: 13a, intl, zh, ...", metavar="NAME", default="none")
@names
@networks.beam
def evaluate(
    reference: str,
    output: str | None,
    model: str | None,
    source: str | None,
    against: str | None,
    tokenise: str,
    names: str | None,
    beam: int | None,
    seed: int,
) -> Figures:
    """BLEU with its 95 % interval. OUTPUT has the translations of the sentences whose right ones are in REFERENCE."""
    from corpuscle.measure import bleu, compare_bleu
    from corpuscle.text.files import read_lines
    from corpuscle.text.plain import read_text

    if (output is None) == (model is None) or (model is None) != (source is None):
        raise SettingError("give either an OUTPUT to measure, or a --model and the --source to translate")
    shares: dict[str, float] = {}
    if output is not None:
        found, wanted = ([line for _, line in read_lines(path)] for path in (output, reference))
    else:
        assert model is not None and source is not None
        loaded = load(model, "translate")
        text = read_text(source, **loaded.reading)
        found = [ranked[0].target if ranked else "" for ranked in _translated(loaded, text, None, names, beam=beam)]
        wanted = [" ".join(words) for words in read_text(reference, **loaded.reading)]
        shares = warn_of_overlap(loaded, text, model)
    _check(found, wanted, output or source or "", reference)
    result = bleu(found, wanted, tokenise=tokenise, seed=seed)
    values, text_of = result.to_json() | shares, result.text()
    if against is not None:
        other = [line for _, line in read_lines(against)]
        _check(other, wanted, against, reference)
        compared = compare_bleu(found, other, wanted, tokenise=tokenise, seed=seed)
        values["against"], text_of = compared.to_json(), f"{text_of}\n{compared.text()}"
    return Figures(values, text_of)


def _check(found: list[str], wanted: list[str], path: str, reference: str) -> None:
    """Complain about different numbers of sentences, or none."""
    if len(found) != len(wanted):
        raise InputError(path, None, f"{len(found)} sentences, but {reference} has {len(wanted)}")
    if not wanted:
        raise InputError(reference, None, "there are no sentences")


@command(group, figures=False)
@argument("model")
@output("-")
def export(model: str, output: str) -> None:
    """Write the phrase table in the text form of Moses, or a neural model as ONNX files (.onnx, .encoder.onnx)."""
    from corpuscle.text.files import write_atomically
    from corpuscle.translate import NeuralTranslator

    loaded = load(model, "translate")
    if isinstance(loaded, NeuralTranslator):
        return networks.export_networks(loaded, output)
    with write_atomically(output, "w") as out:
        out.writelines(line + "\n" for line in loaded.table_.lines(loaded.source_vocab_, loaded.lm_.vocab_))


@command(group)
@argument("model")
def weights(model: str) -> Figures:
    """Show the weights of the features."""
    return Figures(_named(load(model, "translate", ("translate.phrase",))))


@command(group, figures=False)
@argument("model")
@argument("sentence")
@output("-", form="figure")
@option("target", "What is written, instead of the model's own best.", metavar="TEXT")
def attention(model: str, sentence: str, output: str, target: str | None) -> None:
    """Draw which pieces of a sentence a neural model looks at while it writes each piece (SVG or PNG)."""
    networks.draw(load(model, "translate", ("translate.neural",)), sentence, target, output)
