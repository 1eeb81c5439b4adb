"""``corpuscle parse``: learn dependency parsers from treebanks or translations, parse, compare with gold, draw."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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
    from corpuscle.words import WordSources

__all__ = ["group"]

group = task_group("parse")

MODES = ("plain", "conll18")
PUNCTUATION = ("auto", "upos", "penn", "form")
TABLES = ("relation", "distance", "length")


def _read(path: str) -> Treebank:
    from corpuscle.text import read_conllu

    bank = read_conllu(path)
    if bank.corpus.n_tokens == 0:
        raise InputError(path, None, "the treebank is empty")
    return bank


def _known(class_model: str | None, vectors: str | None, seed: int) -> WordSources:
    """What word classes and word vectors, a model of ours or word2vec text, say of words."""
    from corpuscle.text import read_vectors
    from corpuscle.words import class_sources, joint_sources, vector_sources

    found = []
    if class_model is not None:
        found.append(class_sources(load(class_model, "classes")))
    if vectors is not None and vectors.endswith((".txt", ".vec", ".txt.gz", ".vec.gz")):
        found.append(vector_sources(*read_vectors(vectors), seed))
    elif vectors is not None:
        model = load(vectors, "vectors")
        found.append(vector_sources(model.vocab_, model.vectors_, seed))
    return joint_sources(*found)


@contextmanager
def _comparing(path: str) -> Iterator[None]:
    """What does not fit the gold trees is an error about a file."""
    try:
        yield
    except ValueError as error:
        raise InputError(path, None, str(error)) from None


@trainer(group)
@argument("treebank")
@output()
@option("dev", "Choose by these trees: passes and temperature (mst), or the ratio (pairs).", metavar="CONLLU")
@option("class_model", "Word classes: more features (mst), or in place of tags (pairs).", metavar="FILE")
@option("vectors", "mst: features of clusters of word vectors: a model of vectors train, or .txt.", metavar="FILE")
@resume
def train(
    model: Any,
    treebank: str,
    output: str,
    dev: str | None,
    class_model: str | None,
    vectors: str | None,
    resume: bool,
) -> Figures:
    """Learn a parser from a treebank (CoNLL-U) with heads, relations and tags."""
    import time

    begin, bank = time.perf_counter(), _read(treebank)
    development = None if dev is None else _read(dev)
    if dev is not None and not hasattr(model, "fit"):
        raise SettingError("a rule learns nothing: there is nothing that --dev could choose")
    known = _sources(model, class_model, vectors)
    with naming(treebank):
        bank.check_trees(treebank, single_root=getattr(model, "single_root", False))
        if development is not None:
            development.check_trees(dev)
        if hasattr(model, "fit"):
            with model.checkpoint(bank, output, resume, **known) as checkpoint:
                model.fit(bank, development, checkpoint=checkpoint, **known).save(output)
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


def _sources(model: Any, class_model: str | None, vectors: str | None) -> dict[str, Any]:
    """What a learner gets to know of words beside the treebank: arguments of its ``fit``."""
    if "sources" in model.SETTINGS:
        return {"known": _known(class_model, vectors, model.seed)}
    if vectors is not None:
        raise SettingError("--vectors is for --method mst")
    if class_model is not None:
        if getattr(model, "tag_layer", "") != "classes":
            raise SettingError("--class-model needs --method mst, or --method pairs --tag-layer classes")
        model.classes_ = _classes(class_model)
    return {}


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


_mode = option("mode", "conll18 compares relations without their subtypes.", type=click.Choice(MODES), default=MODES[0])
_punctuation = option(
    "punctuation",
    "What punctuation is: words of this UPOS, of Penn tags, of such letters; auto: by the tags that are there.",
    type=click.Choice(PUNCTUATION),
    default=PUNCTUATION[0],
)


@command(group, work=True, seed=True)
@argument("gold")
@argument("found", required=False)
@option("model", "Parse the gold file with this model first.", metavar="FILE")
@_mode
@_punctuation
@option("by", "Also by relation, distance or length.", type=click.Choice(TABLES))
def evaluate(
    gold: str, found: str | None, model: str | None, mode: str, punctuation: str, by: str | None, seed: int
) -> Figures:
    """UAS, LAS, complete trees and roots, with and without punctuation, each with its 95 % interval; of n-best lists
    (# rank) the best trees by score, and the best by gold."""
    from corpuscle.measure import attachment, attachment_by, calibration_error, oracle

    if (found is None) == (model is None):
        raise SettingError("give a file of parses, or --model")
    right = _read(gold)
    right.check_trees(gold)
    shares: dict[str, float] = {}
    if model is not None:
        loaded = load(model, "parse")
        shares = warn_of_overlap(loaded, right.corpus, model)
        with naming(gold):
            guess = loaded.annotate(right, confidence=hasattr(loaded, "fit"))
    else:
        guess = _read(str(found))
    counts = _list_lengths(guess)
    with _comparing(found or gold):
        if counts is not None:
            shares |= oracle(right, guess, counts, mode=mode)
            guess = guess.select(counts.cumsum() - counts)
        result = attachment(right, guess, mode=mode, punct=punctuation, seed=seed)
    if len(sure := _confidence(guess)) == len(right.heads):
        shares["calibration_error"] = calibration_error(sure, guess.heads == right.heads)
    figures, text = result.to_json() | shares, result.text()
    text += "".join(f"\n{label}: {shares[name]:{form}}" for name, label, form in _MORE if name in shares)
    if by is not None:
        rows = attachment_by(right, guess, by, mode)
        figures[f"by_{by}"] = rows
        text += "\n" + table_text((by, "words", "UAS", "LAS"), [list(row.values()) for row in rows])
    return Figures(figures, text)


_MORE = (
    ("oracle_uas", "best of the list: UAS", ".1%"), ("oracle_las", "best of the list: LAS", ".1%"),
    ("oracle_complete", "best of the list: complete", ".1%"), ("trees", "trees a sentence", ".1f"),
    ("calibration_error", "calibration error of confidence", ".3f"),
)  # fmt: skip


def _confidence(bank: Treebank) -> Any:
    """What MISC says of the confidence of arcs, float64 (n_words,); empty unless all words have it."""
    import numpy as np

    notes = [dict(note.partition("=")[::2] for note in misc.split("|")) for misc in bank.misc.strings()]
    try:
        sure = np.array([float(note["Confidence"]) for note in notes if "Confidence" in note])
    except ValueError:
        return np.empty(0)
    return sure if len(sure) == len(notes) and ((sure >= 0) & (sure <= 1)).all() else np.empty(0)


def _list_lengths(bank: Treebank) -> Any:
    """How many trees each sentence of an n-best file has, by its # rank comments; None if it is none."""
    import numpy as np

    from corpuscle.text.treebank import comment_value

    ranks = [comment_value(lines, "rank") for lines in bank.comments]
    if None in ranks:
        return None
    firsts = np.flatnonzero(np.array(ranks) == "1")
    return np.diff(np.append(firsts, len(ranks))) if len(firsts) and firsts[0] == 0 else None


@command(group, seed=True)
@argument("gold")
@argument("parses_a")
@argument("parses_b")
@_mode
@_punctuation
def compare(gold: str, parses_a: str, parses_b: str, mode: str, punctuation: str, seed: int) -> Figures:
    """Compare two parses of the same sentences: the differences of their LAS and UAS, paired by sentence."""
    from corpuscle.measure import attachment, compare_attachment

    right, sides = _read(gold), {path: _read(path) for path in dict.fromkeys((parses_a, parses_b))}
    right.check_trees(gold)
    values: dict[str, Any] = {}
    lines = []
    for path, side in ((parses_a, "a"), (parses_b, "b")):
        with _comparing(path):
            result = attachment(right, sides[path], mode=mode, punct=punctuation, seed=seed)
        values |= {f"{name}_{side}": result[name] for name in ("las", "uas", "complete")}
        lines.append(f"{path}: LAS {result['las']:.2%}, UAS {result['uas']:.2%}, complete {result['complete']:.2%}")
    pair = sides[parses_a], sides[parses_b]
    for figure in ("las", "uas"):
        difference = compare_attachment(right, *pair, figure=figure, mode=mode, punct=punctuation, seed=seed)
        values |= difference.to_json() if figure == "las" else {figure: difference.to_json()}
        lines.append(f"{figure.upper()}: {difference.text()}")
    return Figures(values, "\n".join(lines))


@command(group, work=True)
@argument("model")
@argument("treebank")
@argument("held_out")
@option("points", "So many sizes, each half of the next.", metavar="N", type=click.IntRange(1, 20), default=5)
def curve(model: str, treebank: str, held_out: str, points: int) -> Figures:
    """Learn again from growing parts of a treebank, with the settings of a model, and measure on other trees."""
    from corpuscle.parse import learning_curve

    loaded, bank, gold = load(model, "parse", ("parse.mst",)), _read(treebank), _read(held_out)
    bank.check_trees(treebank, single_root=loaded.single_root)
    gold.check_trees(held_out)
    with naming(treebank):
        found = list(learning_curve(loaded, bank, gold, points, known=loaded.known_))
    names = ("uas", "uas_low", "uas_high", "las", "las_low", "las_high")
    rows = [{"sentences": p.sentences, "words": p.words} | {name: p.result[name] for name in names} for p in found]
    shown = [(row["sentences"], row["words"], row["uas"], row["las"]) for row in rows]
    return Figures({"points": rows}, table_text(("sentences", "words", "UAS", "LAS"), shown))


@command(group, figures=False)
@argument("treebank")
@output("-")
@_punctuation
def strip(treebank: str, output: str, punctuation: str) -> None:
    """Take punctuation out of trees: what hangs on it hangs on its head."""
    from corpuscle.measure import punctuation as marks
    from corpuscle.text import write_conllu

    bank = _read(treebank)
    bank.check_trees(treebank)
    with _comparing(treebank):
        write_conllu(bank.without_words(marks(bank, punctuation)), output)


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
    with naming(treebank):
        here.check_trees()
    if second is not None and len(second.sentence_heads(sentence - 1)) != len(here.heads):
        raise InputError(other, None, f"sentence {sentence:,} has other words")
    sure = _confidence(here).tolist()
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
