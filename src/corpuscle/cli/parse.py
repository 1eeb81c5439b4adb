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
    raw,
    resume,
    task_group,
    trainer,
    work_of,
    written,
)
from corpuscle.cli.common import load, read_bank, sources_of, table_text, warn_of_overlap
from corpuscle.cli.trees import (
    comparing,
    confidence,
    list_lengths,
    read_links,
    read_target,
    read_trees,
    write_instances,
)
from corpuscle.errors import InputError, SettingError
from corpuscle.parse.settings import BoostSettings, ProjectionSettings, RerankSettings
from corpuscle.progress import clock
from corpuscle.text.wording import number, percent, seconds

if TYPE_CHECKING:
    pass

__all__ = ["group"]

group = task_group("parse")

MODES = ("plain", "conll18")
PUNCTUATION = ("auto", "upos", "penn", "form")
TABLES = ("relation", "distance", "length")


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

    from corpuscle.parse.base import LONGEST

    begin, bank = clock(), read_trees(treebank)
    development = None if dev is None else read_trees(dev)
    if dev is not None and not hasattr(model, "fit"):
        raise SettingError("a rule learns nothing: there is nothing that --dev could choose")
    known = _sources(model, class_model, vectors)
    if hasattr(model, "fit"):
        with model.checkpoint(bank, output, resume, **known) as checkpoint:
            model.fit(bank, development, checkpoint=checkpoint, **known).save(output)
    else:
        bank.check_trees(single_root=getattr(model, "single_root", False))
        bank.check_lengths(LONGEST)
        model.save(output)
    figures = {
        "sentences": len(bank), "words": bank.corpus.n_tokens, "relations": 0, **model.provenance_, **model.summary(),
        "tuned": sorted(model.chosen_), "seconds": clock() - begin,
    }  # fmt: skip
    return Figures(
        figures,
        f"{output}: {figures['sentences']:,} sentences, {figures['relations']} relations, "
        f"{seconds(figures['seconds'])}",
    )


def _sources(model: Any, class_model: str | None, vectors: str | None) -> dict[str, Any]:
    """What a learner gets to know of words beside the treebank: arguments of its ``fit``."""
    if "sources" in model.SETTINGS:
        return {"known": sources_of(class_model, vectors, model.seed)}
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

    from corpuscle.parse import ProjectedParser, Projection

    begin = clock()
    if (links is None) == (matrix is None):
        raise SettingError("give --links or --matrix")
    model = ProjectedParser(**given_of(settings), **work_of())
    if class_model is not None:
        if model.tag_layer not in ("auto", "classes"):
            raise SettingError(f"--class-model means nothing with --tag-layer {model.tag_layer}")
        model.classes_ = _classes(class_model)
    data = Projection(read_trees(source), read_target(target), read_links(links, matrix))
    development = None if dev is None else read_trees(dev)
    data.check(links or matrix)
    with model.checkpoint(data, output, resume) as checkpoint:
        model.fit(data, development, checkpoint=checkpoint).save(output)
    if instances is not None:
        write_instances(model, instances)
    chosen = {name: model.chosen_.get(name, getattr(model, name)) for name in ("threshold", "coverage")}
    figures = {
        **model.provenance_, **model.summary(), **chosen, "tuned": sorted(model.chosen_),
        "relations": model.relation_weights_.shape[1], "seconds": clock() - begin,
    }  # fmt: skip
    return Figures(
        figures,
        f"{output}: {figures['arcs']:,} arcs and {figures['others']:,} other pairs of {figures['sentences']:,} "
        f"sentences, {seconds(figures['seconds'])}",
    )


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
    trees = read_trees(dev)
    alone = float((parts[0].parse(trees).heads == trees.heads).mean())
    model.fit(trees).save(output)
    figures = {"weight": model.weight_, "uas_dev": model.right_, "uas_dev_base": alone, **model.provenance_}
    return Figures(
        figures,
        f"{output}: weight {number(model.weight_)}, UAS {percent(alone)} before, {percent(model.right_)} after",
    )


_tags = option(
    "tags",
    "The tags in the input, or those of the tagger inside the parser or of --tagger; text always has these.",
    type=click.Choice(("file", "predict")),
    default="file",
)
_tagger = option("tagger", "Take the tags of this tagger.", metavar="FILE")


def _tagged(loaded: Any, bank: Any, tags: str, tagger: str | None) -> Any:
    """A treebank with the tags that the parser is to see."""
    if tagger is not None:
        other = load(tagger, "tag")
        return other.annotate(bank.without(*other.layers_))
    return loaded.tagged(bank) if tags == "predict" else bank


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
    from corpuscle.parse.base import LONGEST
    from corpuscle.text import write_conllu
    from corpuscle.text.conllu import is_treebank

    loaded, bank = load(model, "parse"), read_bank(input, raw)
    if raw or not (is_treebank(input) or input == "-"):
        tags = "predict"
    else:
        bank.check_lengths(LONGEST)
    if nbest is not None and confidence:
        raise SettingError("--confidence is of the best tree: not with --nbest")
    bank = _tagged(loaded, bank, tags, tagger)
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
@_tags
@_tagger
@_mode
@_punctuation
@option("by", "Also by relation, distance or length.", type=click.Choice(TABLES))
def evaluate(
    gold: str, found: str | None, model: str | None, tags: str, tagger: str | None, mode: str, punctuation: str,
    by: str | None, seed: int,
) -> Figures:  # fmt: skip
    """UAS, LAS, complete trees and roots, with and without punctuation, each with its 95 % interval; of n-best lists
    (# rank) the best trees by score, and the best by gold."""
    from corpuscle.measure import attachment, attachment_by, calibration_error, oracle

    if (found is None) == (model is None):
        raise SettingError("give a file of parses, or --model")
    right = read_trees(gold)
    right.check_trees()
    shares: dict[str, float] = {}
    if model is not None:
        loaded = load(model, "parse")
        shares = warn_of_overlap(loaded, right.corpus, model)
        seen = _tagged(loaded, right, tags, tagger)
        guess = loaded.annotate(seen, confidence=loaded.KIND.name == "parse.mst")
    else:
        guess = read_trees(str(found))
    counts = list_lengths(guess)
    with comparing(found or gold):
        if counts is not None:
            shares |= oracle(right, guess, counts, mode=mode)
            guess = guess.select(counts.cumsum() - counts)
        result = attachment(right, guess, mode=mode, punct=punctuation, seed=seed)
    if len(sure := confidence(guess)) == len(right.heads):
        shares["calibration_error"] = calibration_error(sure, guess.heads == right.heads)
    figures, text = result.to_json() | shares, result.text()
    text += "".join(f"\n{label}: {write(shares[name])}" for name, label, write in _MORE if name in shares)
    if by is not None:
        rows = attachment_by(right, guess, by, mode)
        figures[f"by_{by}"] = rows
        text += "\n" + table_text((by, "words", "UAS", "LAS"), [list(row.values()) for row in rows])
    return Figures(figures, text)


_MORE = (
    ("oracle_uas", "best of the list: UAS", percent), ("oracle_las", "best of the list: LAS", percent),
    ("oracle_complete", "best of the list: complete", percent), ("trees", "trees a sentence", number),
    ("calibration_error", "calibration error of confidence", number),
)  # fmt: skip
_COMPARED = {"las": "LAS", "uas": "UAS", "complete": "complete"}


@command(group, seed=True)
@argument("gold")
@argument("parses_a")
@argument("parses_b")
@_mode
@_punctuation
def compare(gold: str, parses_a: str, parses_b: str, mode: str, punctuation: str, seed: int) -> Figures:
    """Compare two parses of the same sentences: the differences of their LAS and UAS, paired by sentence."""
    from corpuscle.measure import attachment, compare_attachment

    right, sides = read_trees(gold), {path: read_trees(path) for path in dict.fromkeys((parses_a, parses_b))}
    right.check_trees()
    values: dict[str, Any] = {}
    lines = []
    for path, side in ((parses_a, "a"), (parses_b, "b")):
        with comparing(path):
            result = attachment(right, sides[path], mode=mode, punct=punctuation, seed=seed)
        values |= {f"{name}_{side}": result[name] for name in _COMPARED}
        figures = (f"{label} {percent(result[name])}" for name, label in _COMPARED.items())
        lines.append(f"{path}: {', '.join(figures)}")
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

    loaded, bank, gold = load(model, "parse", ("parse.mst",)), read_trees(treebank), read_trees(held_out)
    bank.check_trees(single_root=loaded.single_root)
    gold.check_trees()
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

    bank = read_trees(treebank)
    bank.check_trees()
    with comparing(treebank):
        write_conllu(bank.without_words(marks(bank, punctuation)), output)


@command(group, figures=False)
@argument("treebank")
@output(form="figure")
@option("sentence", "Which sentence, from 1 on.", metavar="N", type=COUNT, default=1)
@option("other", "Another parse of the same text: what it has differently hangs below the words.", metavar="CONLLU")
def draw(treebank: str, output: str, sentence: int, other: str | None) -> None:
    """Draw a dependency tree (SVG or PNG); arcs with a Confidence= in MISC are the fainter the less sure they are."""
    from corpuscle.figures import draw_arcs, save_figure

    bank, second = read_trees(treebank), None if other is None else read_trees(other)
    for path, each in ((treebank, bank), (other, second)):
        if each is not None and sentence > len(each):
            raise InputError(path, None, f"it has {len(each):,} sentences, and none of number {sentence:,}")
    here = bank[sentence - 1 : sentence]
    here.check_trees()
    if second is not None and len(second.sentence_heads(sentence - 1)) != len(here.heads):
        raise InputError(other, None, f"sentence {sentence:,} has other words")
    sure = confidence(here).tolist()
    svg = draw_arcs(
        here.corpus.words(0),
        here.heads.tolist(),
        here.relations.strings(),
        tags=here.tags.strings() if here.tags.ids.any() else None,
        confidence=sure if len(sure) == len(here.heads) else None,
        other=None if second is None else second.sentence_heads(sentence - 1).tolist(),
        title=here.text(0),
    )
    save_figure(svg, output)


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
@option("dev", "Trees to hold out beside the folds where a setting is chosen; not learned from.", metavar="CONLLU")
@resume
def rerank(
    treebank: str, output: str, parser: str, vectors: str | None, dev: str | None, resume: bool, **settings: Any
) -> Figures:
    """Learn to choose among the best trees of a parser, from the treebank that it was learned from."""

    from corpuscle.parse import Reranker

    begin, context = clock(), click.get_current_context()
    source = click.core.ParameterSource.COMMANDLINE
    given = {name: value for name, value in settings.items() if context.get_parameter_source(name) is source}
    model, base = Reranker(**given, **work_of()), load(parser, "parse", ("parse.mst",))
    known = None if vectors is None else _vectors(vectors)
    bank, development = read_trees(treebank), None if dev is None else read_trees(dev)
    with model.checkpoint(bank, output, resume) as checkpoint:
        model.fit(bank, base, development, vectors=known, checkpoint=checkpoint).save(output)
    figures: dict[str, Any] = {
        **model.provenance_,
        "tuned": sorted(model.chosen_),
        "passes": model.chosen_.get("passes", model.passes),
        "base_weight": float(model.number_weights_[0]),
        "number_weights": model.number_weights_[1:],
        "seconds": clock() - begin,
    }
    return Figures(
        figures,
        f"{output}: {figures['trees']:,} trees of {figures['sentences']:,} sentences, the first of each list "
        f"{percent(figures['uas_lists'])} right, the best {percent(figures['oracle_lists'])}; "
        f"{seconds(figures['seconds'])}",
    )


@command(group, work=True)
@argument("model")
@argument("treebank")
def probability(model: str, treebank: str) -> Figures:
    """How likely the words of each sentence are given its tree, by the hidden states of a re-ranker."""
    loaded, bank = load(model, "parse", ("parse.rerank",)), read_trees(treebank)
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
