"""``corpuscle parse``: learn dependency parsers from treebanks, parse, compare with gold trees, draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

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
    work_of,
)
from corpuscle.cli.common import load, naming, read_bank, table_text, warn_of_overlap
from corpuscle.errors import InputError, SettingError
from corpuscle.parse.settings import RerankSettings

if TYPE_CHECKING:
    from corpuscle.parse import MstParser
    from corpuscle.text.treebank import Treebank

__all__ = ["group"]

group = task_group("parse")

MODES = ("plain", "conll18")


def _read(path: str) -> Treebank:
    from corpuscle.text import read_conllu

    bank = read_conllu(path)
    if bank.corpus.n_tokens == 0:
        raise InputError(path, None, "the treebank is empty")
    return bank


_tags = option(
    "tags",
    "The tags in the input, or those of the tagger inside the parser or of --tagger; text always has these.",
    type=click.Choice(("file", "predict")),
    default="file",
)
_tagger = option("tagger", "Take the tags of this tagger.", metavar="FILE")


def _tagged(loaded: MstParser, bank: Treebank, tags: str, tagger: str | None) -> Treebank:
    """The words with the tags that the parser is to see."""
    if tagger is not None:
        other = load(tagger, "tag")
        return other.annotate(bank.without(*other.layers_))
    return loaded.tagged(bank) if tags == "predict" else bank


@trainer(group)
@argument("treebank")
@output()
@option("dev", "Stop after the pass that parses these trees best.", metavar="CONLLU")
@resume
def train(model: MstParser, treebank: str, output: str, dev: str | None, resume: bool) -> Figures:
    """Learn a parser from a treebank (CoNLL-U) with heads, relations and tags."""
    import time

    begin, bank = time.perf_counter(), _read(treebank)
    development = None if dev is None else _read(dev)
    with naming(treebank):
        bank.check_trees(treebank, single_root=model.single_root)
        if development is not None:
            development.check_trees(dev)
        with model.checkpoint(bank, output, resume) as checkpoint:
            model.fit(bank, development, checkpoint=checkpoint).save(output)
    figures: dict[str, Any] = {
        **model.provenance_,
        "order": model.order,
        "nonprojective": model.crossing_,
        "tuned": sorted(model.chosen_),
        "passes": model.chosen_.get("passes", model.passes),
        "wrong_heads": float(model.history_[-1, 0]),
        "seconds": time.perf_counter() - begin,
    }
    if dev is not None:
        figures["uas_dev"] = float(model.history_[:, 1].max())
    what = "with crossing arcs" if model.crossing_ else "without crossing arcs"
    return Figures(
        figures,
        f"{output}: order {model.order}, {what}, {figures['sentences']:,} sentences, {figures['relations']} relations, "
        f"{figures['seconds']:.1f} s",
    )


@command(group, work=True, figures=False)
@argument("model")
@argument("input", default="-")
@output("-")
@raw
@_tags
@_tagger
@option("nbest", "The N best trees of each sentence, with # rank and # score (and # logp).", metavar="N", type=COUNT)
@option("confidence", "Write how likely each arc is into MISC (Confidence=).", is_flag=True)
def apply(
    model: str,
    input: str,
    output: str,
    raw: bool,
    tags: str,
    tagger: str | None,
    nbest: int | None,
    confidence: bool,
) -> None:
    """Parse a CoNLL-U file (.conllu, stdin) by its words and tags, or a text, one sentence of words a line; writes
    CoNLL-U."""
    from corpuscle.text import write_conllu
    from corpuscle.text.conllu import is_treebank

    loaded, bank = load(model, "parse"), read_bank(input, raw)
    if raw or not (is_treebank(input) or input == "-"):
        tags = "predict"
    if nbest is not None and confidence:
        raise SettingError("--confidence is of the best tree: not with --nbest")
    with naming(input):
        bank = _tagged(loaded, bank, tags, tagger)
        parsed = loaded.best_trees(bank, nbest) if nbest else loaded.annotate(bank, confidence=confidence)
    write_conllu(parsed, output)


@command(group, work=True, seed=True)
@argument("gold")
@argument("found", required=False)
@option("model", "Parse the gold file with this model first.", metavar="FILE")
@_tags
@_tagger
@option("mode", "conll18 compares relations without their subtypes.", type=click.Choice(MODES), default=MODES[0])
@option("by", "Also by relation, distance or length.", type=click.Choice(("relation", "distance", "length")))
def evaluate(
    gold: str,
    found: str | None,
    model: str | None,
    tags: str,
    tagger: str | None,
    mode: str,
    by: str | None,
    seed: int,
) -> Figures:
    """UAS, LAS, complete trees and roots, with and without punctuation, each with its 95 % interval."""
    from corpuscle.measure import attachment, attachment_by

    if (found is None) == (model is None):
        raise SettingError("give a file of parses, or --model")
    right = _read(gold)
    right.check_trees(gold)
    shares: dict[str, float] = {}
    if model is not None:
        loaded = load(model, "parse")
        shares = warn_of_overlap(loaded, right.corpus, model)
        with naming(gold):
            guess = loaded.annotate(_tagged(loaded, right, tags, tagger))
    else:
        guess = _read(str(found))
    try:
        result = attachment(right, guess, mode=mode, seed=seed)
    except ValueError as error:
        raise InputError(found or gold, None, str(error)) from None
    figures, text = result.to_json() | shares, result.text()
    if by is not None:
        rows = attachment_by(right, guess, by, mode)
        figures[f"by_{by}"] = rows
        text += "\n" + table_text((by, "words", "UAS", "LAS"), [list(row.values()) for row in rows])
    return Figures(figures, text)


@command(group, figures=False)
@argument("treebank")
@output(form="svg")
@option("sentence", "Which sentence, from 1 on.", metavar="N", type=COUNT, default=1)
@option("other", "Another parse of the same text: what it has differently hangs below the words.", metavar="CONLLU")
def draw(treebank: str, output: str, sentence: int, other: str | None) -> None:
    """Draw a dependency tree (SVG); arcs with a Confidence= in MISC are the fainter the less sure they are."""
    from corpuscle.figures import draw_arcs
    from corpuscle.text.files import write_atomically

    bank, second = _read(treebank), None if other is None else _read(other)
    for path, each in ((treebank, bank), (other, second)):
        if each is not None and sentence > len(each):
            raise InputError(path, None, f"it has {len(each):,} sentences, and none of number {sentence:,}")
    here = bank[sentence - 1 : sentence]
    here.check_trees(treebank)
    if second is not None and len(second.sentence_heads(sentence - 1)) != len(here.heads):
        raise InputError(other, None, f"sentence {sentence:,} has other words")
    notes = [dict(note.partition("=")[::2] for note in misc.split("|")) for misc in here.misc.strings()]
    sure = [float(note["Confidence"]) for note in notes if "Confidence" in note]
    svg = draw_arcs(
        here.corpus.words(0),
        here.heads.tolist(),
        here.relations.strings(),
        tags=here.tags.strings() if here.tags.ids.any() else None,
        confidence=sure if len(sure) == len(here.heads) else None,
        other=None if second is None else second.sentence_heads(sentence - 1).tolist(),
        title=here.text(0),
    )
    with write_atomically(output, "w") as file:
        file.write(svg + "\n")


_RERANK = [setting for name, setting in RerankSettings.SETTINGS.items() if name not in ("seed", "workers", "cluster")]


def _vectors(path: str) -> Any:
    """Word vectors: a model of ``corpuscle vectors``, or word2vec text."""
    from corpuscle.text.vectors import read_vectors

    with open(path, "rb") as file:
        is_model = file.read(9)[8:] == b"{"  # of a safetensors file, after the size of its header
    return load(path, "vectors") if is_model else read_vectors(path)


@command(group, settings=_RERANK, work=True, seed=True)
@argument("treebank")
@output()
@option("parser", "Choose among the trees of this parser.", metavar="FILE", required=True)
@option("vectors", "Vectors of words for log p, a model or word2vec text; else from the trees.", metavar="FILE")
@option("dev", "Choose the weight of the parser's score and the passes by these trees.", metavar="CONLLU")
@resume
def rerank(
    treebank: str, output: str, parser: str, vectors: str | None, dev: str | None, resume: bool, **settings: Any
) -> Figures:
    """Learn to choose among the best trees of a parser, from the treebank that it was learned from."""
    import time

    from corpuscle.parse import Reranker

    begin, context = time.perf_counter(), click.get_current_context()
    source = click.core.ParameterSource.COMMANDLINE
    given = {name: value for name, value in settings.items() if context.get_parameter_source(name) is source}
    model, base = Reranker(**given, **work_of()), load(parser, "parse", ("parse.mst",))
    known = None if vectors is None else _vectors(vectors)
    bank, development = _read(treebank), None if dev is None else _read(dev)
    with naming(treebank):
        bank.check_trees(treebank, single_root=base.single_root)
        if development is not None:
            development.check_trees(dev)
        with model.checkpoint(bank, output, resume) as checkpoint:
            model.fit(bank, base, development, vectors=known, checkpoint=checkpoint).save(output)
    figures: dict[str, Any] = {
        **model.provenance_,
        "tuned": sorted(model.chosen_),
        "passes": model.chosen_.get("passes", model.passes),
        "base_weight": float(model.number_weights_[0]),
        "number_weights": model.number_weights_[1:],
        "seconds": time.perf_counter() - begin,
    }
    if dev is not None:
        figures["uas_dev"] = float(model.history_[:, 1].max())
    return Figures(
        figures,
        f"{output}: {figures['trees']:,} trees of {figures['sentences']:,} sentences, the first of each list "
        f"{figures['uas_lists']:.1%} right, the best {figures['oracle_lists']:.1%}; {figures['seconds']:.1f} s",
    )


@command(group, work=True)
@argument("model")
@argument("treebank")
def probability(model: str, treebank: str) -> Figures:
    """How likely the words of each sentence are given its tree, by the hidden states of a re-ranker."""
    loaded, bank = load(model, "parse", ("parse.rerank",)), _read(treebank)
    bank.check_trees(treebank)
    with naming(treebank):
        found = loaded.probability(bank)
    rows = [
        {"sentence": number, "words": words, "logp": log, "positive": positive}
        for number, (words, log, positive) in enumerate(
            zip(bank.corpus.lengths.tolist(), found.logs.tolist(), found.known.tolist(), strict=True), 1
        )
    ]
    figures = {
        "sentences": len(rows),
        "tokens": bank.corpus.n_tokens,
        "logp": float(found.logs[found.known].sum()),
        "not_positive": int((~found.known).sum()),
        "trees": rows,
    }
    return Figures(figures, table_text(("sentence", "words", "logp", "positive"), [list(row.values()) for row in rows]))
