"""``corpuscle parse``: learn dependency parsers from treebanks or translations, parse, compare with gold, draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from corpuscle.cli.command import (
    COUNT,
    Figures,
    argument,
    command,
    given_of,
    option,
    output,
    resume,
    task_group,
    trainer,
    work_of,
    written,
)
from corpuscle.cli.common import load, naming, table_text, warn_of_overlap
from corpuscle.errors import InputError, SettingError
from corpuscle.parse.settings import BoostSettings, ProjectionSettings

if TYPE_CHECKING:
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


@trainer(group)
@argument("treebank")
@output()
@option("dev", "Choose by these trees: the last pass (mst), or the ratio (pairs).", metavar="CONLLU")
@option("class_model", "pairs: these word classes stand for tags.", metavar="FILE")
@resume
def train(
    model: Any, treebank: str, output: str, dev: str | None, class_model: str | None, resume: bool
) -> Figures:
    """Learn a parser from a treebank (CoNLL-U) with heads, relations and tags."""
    import time

    begin, bank = time.perf_counter(), _read(treebank)
    development = None if dev is None else _read(dev)
    if dev is not None and not hasattr(model, "fit"):
        raise SettingError("a rule learns nothing: there is nothing that --dev could choose")
    if class_model is not None:
        if getattr(model, "tag_layer", "") != "classes":
            raise SettingError("--class-model needs --method pairs --tag-layer classes")
        model.classes_ = _classes(class_model)
    with naming(treebank):
        bank.check_trees(treebank, single_root=getattr(model, "single_root", False))
        if development is not None:
            development.check_trees(dev)
        if hasattr(model, "fit"):
            with model.checkpoint(bank, output, resume) as checkpoint:
                model.fit(bank, development, checkpoint=checkpoint).save(output)
        else:
            model.save(output)
    figures = {
        "sentences": len(bank), "words": bank.corpus.n_tokens, "relations": 0, **model.provenance_, **model.summary(),
        "tuned": sorted(model.chosen_), "seconds": time.perf_counter() - begin,
    }  # fmt: skip
    return Figures(
        figures,
        f"{output}: {figures['sentences']:,} sentences, {figures['relations']} relations, {figures['seconds']:.1f} s",
    )


def _classes(path: str) -> Any:
    """Word classes that can stand for tags."""
    from corpuscle.parse.pairs import class_models

    return load(path, "classes", tuple(class_models()))


@command(group, settings=ProjectionSettings.SETTINGS.values())
@argument("source")
@argument("target")
@output()
@option("links", "Links between source and target words (Pharaoh or NAACL), weights allowed.", metavar="FILE")
@option("matrix", "How likely every link is (written by `align matrix`).", metavar="FILE")
@option("dev", "Choose the threshold (or the coverage) by these target trees.", metavar="CONLLU")
@option("class_model", "These word classes stand for tags.", metavar="FILE")
@written("instances", "Also write the pairs that were learned from (TSV).", metavar="FILE")
@resume
def project(
    source: str, target: str, output: str, links: str | None, matrix: str | None, dev: str | None,
    class_model: str | None, instances: str | None, resume: bool, **settings: Any,
) -> Figures:  # fmt: skip
    """Learn a parser for a language from parsed sentences (CoNLL-U) of another and their translations.

    TARGET is CoNLL-U with tags, or plain text, a sentence a line, whose words get classes for tags."""
    import time

    from corpuscle.parse import ProjectedParser, Projection

    begin = time.perf_counter()
    if (links is None) == (matrix is None):
        raise SettingError("give --links or --matrix")
    model = ProjectedParser(**given_of(settings), **work_of())
    if class_model is not None:
        if model.tag_layer not in ("auto", "classes"):
            raise SettingError(f"--class-model means nothing with --tag-layer {model.tag_layer}")
        model.classes_ = _classes(class_model)
    data = Projection(_read(source), _read_target(target), _read_links(links, matrix))
    development = None if dev is None else _read(dev)
    data.check(links or matrix)
    with naming(target), model.checkpoint(data, output, resume) as checkpoint:
        model.fit(data, development, checkpoint=checkpoint).save(output)
    if instances is not None:
        _write_instances(model, instances)
    chosen = {name: model.chosen_.get(name, getattr(model, name)) for name in ("threshold", "coverage")}
    figures = {
        **model.provenance_, **model.summary(), **chosen, "tuned": sorted(model.chosen_),
        "relations": model.relation_weights_.shape[1], "seconds": time.perf_counter() - begin,
    }  # fmt: skip
    return Figures(
        figures,
        f"{output}: {figures['arcs']:,} arcs and {figures['others']:,} other pairs of {figures['sentences']:,} "
        f"sentences, {figures['seconds']:.1f} s",
    )


def _read_target(path: str) -> Treebank:
    """A target text: CoNLL-U by its name, else plain text without tags."""
    from corpuscle.text import read_text
    from corpuscle.text.treebank import Treebank
    from corpuscle.words import is_treebank

    if is_treebank(path):
        return _read(path)
    text = read_text(path)
    return Treebank.from_sentences([text.words(i) for i in range(len(text))])


def _read_links(links: str | None, matrix: str | None) -> Any:
    from corpuscle.text.alignments import read_links

    return load(str(matrix), "align", ("align.matrix",)) if links is None else read_links(links)


def _write_instances(model: Any, path: str) -> None:
    from corpuscle.text.tables import write_table

    found = model.instances_
    weights = abs(2.0 * found.sure - 1.0) if model.weighted else found.sure * 0.0 + 1.0
    columns = (found.sentences + 1, found.heads, found.modifiers, (found.sure > 0.5) * 1, found.sure, weights)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    write_table(path, ("sentence", "head", "modifier", "arc", "sure", "weight"), rows, ".6g")


@command(group, settings=BoostSettings.SETTINGS.values())
@argument("base")
@argument("pairs")
@output()
@option("dev", "Trees that decide how much the pairs weigh.", metavar="CONLLU", required=True)
def boost(base: str, pairs: str, output: str, dev: str, **settings: Any) -> Figures:
    """Join a graph-based parser (BASE) and a parser of pairs (PAIRS), such as a projected one, in one."""
    from corpuscle.parse import BoostedParser

    parts = load(base, "parse", ("parse.mst",)), load(pairs, "parse", ("parse.pairs", "parse.projected"))
    model = BoostedParser(parts[0], parts[1], **given_of(settings), **work_of())
    trees = _read(dev)
    with naming(dev):
        alone = float((parts[0].parse(trees).heads == trees.heads).mean())
        model.fit(trees).save(output)
    figures = {"weight": model.weight_, "uas_dev": model.right_, "uas_dev_base": alone, **model.provenance_}
    return Figures(
        figures, f"{output}: weight {model.weight_:.4g}, UAS {100 * alone:.2f} before, {100 * model.right_:.2f} after"
    )


@command(group, work=True, figures=False)
@argument("model")
@argument("input", default="-")
@output("-")
@option("nbest", "The N best trees of each sentence, with # rank and # score.", metavar="N", type=COUNT)
@option("confidence", "Write how likely each arc is into MISC (Confidence=).", is_flag=True)
def apply(model: str, input: str, output: str, nbest: int | None, confidence: bool) -> None:
    """Parse a CoNLL-U file by its words and tags; heads and relations in it are replaced."""
    from corpuscle.text import read_conllu, write_conllu

    loaded, bank = load(model, "parse"), read_conllu(input)
    if nbest is not None and confidence:
        raise SettingError("--confidence is of the best tree: not with --nbest")
    with naming(input):
        parsed = loaded.best_trees(bank, nbest) if nbest else loaded.annotate(bank, confidence=confidence)
    write_conllu(parsed, output)


@command(group, work=True, seed=True)
@argument("gold")
@argument("found", required=False)
@option("model", "Parse the gold file with this model first.", metavar="FILE")
@option("mode", "conll18 compares relations without their subtypes.", type=click.Choice(MODES), default=MODES[0])
@option("by", "Also by relation, distance or length.", type=click.Choice(("relation", "distance", "length")))
def evaluate(gold: str, found: str | None, model: str | None, mode: str, by: str | None, seed: int) -> Figures:
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
            guess = loaded.annotate(right)
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
