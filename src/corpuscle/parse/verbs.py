"""What a dependency parser can do: learn from trees or from translations, be joined with another one, choose among the
trees of another one, parse, be compared with gold trees, draw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import product
from os import PathLike
from typing import TYPE_CHECKING, Any

from corpuscle.errors import InputError, SettingError
from corpuscle.settings import Setting
from corpuscle.text.wording import number, percent
from corpuscle.verbs import (
    ITEMS,
    MOST,
    RAW,
    SEED,
    Answer,
    Input,
    Keep,
    Learned,
    Picture,
    Shown,
    Table,
    a_model,
    evaluates,
    made_by,
    path,
    read_by,
    setting,
    trains,
    treebank,
    verb,
    view,
    written,
)

if TYPE_CHECKING:
    import numpy as np

    from corpuscle.parse import MstParser, PairParser, Reranker
    from corpuscle.parse.base import DependencyParser
    from corpuscle.text import Alignments, Treebank
    from corpuscle.words import WordClasses

_EMPTY = "the treebank is empty"
_SETTINGS = "corpuscle.parse.settings"
_classes = partial(a_model, "classes", "words.exchange", "words.brown", option=True)


# ---- what parsers work on


def _read_by(function: str, help: str = "", **facts: Any) -> Any:
    """An input that a function of this module reads."""
    return made_by(f"corpuscle.parse.verbs:{function}", help, **facts)


def _trees(help: str = "", **facts: Any) -> Any:
    """A treebank with words."""
    facts.setdefault("metavar", "CONLLU" if "option" in facts else "")
    return treebank(help, empty=_EMPTY, **facts)


_TAGS: Any = Setting(
    "file",
    "The tags in the input, or those of the tagger inside the parser or of --tagger; text always has these.",
    choices=("file", "predict"),
    name="tags",
)
TAGGER: Any = a_model("tag", help="Take the tags of this tagger.", option=True)


def _tagged(model: DependencyParser, bank: Treebank, tags: str, tagger: Any) -> Treebank:
    """A treebank with the tags that the parser is to see."""
    if tagger is not None:
        return tagger.annotate(bank.without(*tagger.layers_))
    return model.tagged(bank) if tags == "predict" else bank


def read_tagged(value: Any, model: Any, declared: Input, *, raw: bool, tags: str, tagger: Any) -> Treebank:
    """A treebank or a text with the tags that the parser is to see."""
    from corpuscle.parse.base import LONGEST
    from corpuscle.text import Treebank
    from corpuscle.text.conllu import is_treebank
    from corpuscle.text.inputs import treebank as read_treebank

    bank = read_treebank(value, model, declared, raw=raw)
    is_file = isinstance(value, str | PathLike)
    if raw or not (isinstance(value, Treebank) or value == "-" or (is_file and is_treebank(value))):
        tags = "predict"  # a text has none
    bank.check_lengths(LONGEST)
    return _tagged(model, bank, tags, tagger)


def read_known(value: Any, model: Any, declared: Input, *, class_model: Any, vectors: Any) -> Mapping[str, Any]:
    """Knowledge about words from raw text, as arguments of the learner's ``fit``."""
    from corpuscle.words.verbs import read_features

    if model.KNOWS_WORDS:
        return {"known": read_features(None, model, declared, class_model=class_model, vectors=vectors)}
    if vectors is not None:
        raise SettingError("--vectors is for --method mst")
    if class_model is not None:
        if model.settings.get("tag_layer") != "classes":
            raise SettingError("--class-model needs --method mst, or --method pairs --tag-layer classes")
        model.classes_ = class_model
    return {}


def read_target(value: Any, model: Any, declared: Input) -> Treebank:
    """A target text: CoNLL-U by its name, else plain text without tags."""
    from corpuscle.text import Treebank, read_text
    from corpuscle.text.conllu import is_treebank
    from corpuscle.text.inputs import treebank as read_treebank

    if not isinstance(value, str) or is_treebank(value):
        return read_treebank(value, model, declared)
    text = read_text(value)
    return Treebank.from_sentences([text.words(i) for i in range(len(text))], origin=text.origin)


def read_vectors(value: Any, model: Any, declared: Input) -> Any:
    """Word vectors: a model of ``corpuscle vectors``, or word2vec text."""
    from corpuscle.text import read_vectors

    if not isinstance(value, str):
        return value
    with open(value, "rb") as file:
        is_model = file.read(9)[8:] == b"{"  # of a safetensors file, after the size of its header
    return a_model("vectors").read(value) if is_model else read_vectors(value)


# ---- learning


@trains("parse", "parse train train.conllu -o trees.parser")
def train(
    model: DependencyParser,
    bank: Treebank = _trees(metavar="TREEBANK"),
    *,
    dev: Treebank | None = _trees(
        "Choose by these trees: passes and temperature (mst), or the ratio (pairs).", option=True
    ),
    known: Mapping[str, Any] = _read_by(
        "read_known",
        default=None,
        only_options=True,
        options={
            "class_model": _classes(help="Word classes: more features (mst), or in place of tags (pairs)."),
            "vectors": path(
                "mst: features of clusters of word vectors: a model of vectors train, or .txt.", option=True
            ),
        },
    ),
    keep: Keep,
) -> Learned:
    """Learn a parser from a treebank (CoNLL-U) with heads, relations and tags."""
    model.fit(bank, dev, **keep.for_fit(model, bank, **known), **known)
    figures = {**model.provenance_, **model.summary(), "tuned": sorted(model.chosen_)}
    return Learned(model, figures, f"{figures['sentences']:,} sentences, {figures['relations']} relations")


@verb(
    "parse", "parse project source.conllu target.txt --links links.txt -o projected.parser",
    out="model", settings=f"{_SETTINGS}:ProjectionSettings",
)  # fmt: skip
def project(
    source: Treebank = _trees(),
    target: Treebank = _read_by("read_target", empty=_EMPTY),
    *,
    links: Alignments | None = read_by(
        "corpuscle.text:read_links",
        "Links between source and target words (Pharaoh or NAACL), weights allowed.",
        option=True,
    ),
    matrix: Any = a_model(
        "align", "align.matrix", help="How likely every link is (written by `align matrix`).", option=True
    ),
    dev: Treebank | None = _trees("Choose the threshold (or the coverage) by these target trees.", option=True),
    class_model: WordClasses | None = _classes(help="These word classes stand for tags."),
    instances: str | None = written("Also write the pairs that were learned from (TSV)."),
    settings: Mapping[str, Any],
    keep: Keep,
    names: Mapping[str, str],
) -> Learned:
    """Learn a parser for a language from parsed sentences (CoNLL-U) of another and their translations.

    TARGET is CoNLL-U with tags, or plain text, a sentence a line, whose words get classes for tags."""
    from corpuscle.parse import ProjectedParser, Projection

    if (links is None) == (matrix is None):
        raise SettingError("give --links or --matrix")
    model = ProjectedParser(**settings)
    if class_model is not None:
        if model.tag_layer not in ("auto", "classes"):
            raise SettingError(f"--class-model means nothing with --tag-layer {model.tag_layer}")
        model.classes_ = class_model
    data = Projection(source, target, matrix if links is None else links)
    data.check(names.get("links", names.get("matrix")))
    model.fit(data, dev, **keep.for_fit(model, data))
    if instances is not None:
        found = model.instances_
        weights = abs(2.0 * found.sure - 1.0) if model.weighted else found.sure * 0.0 + 1.0
        columns = (found.sentences + 1, found.heads, found.modifiers, (found.sure > 0.5) * 1, found.sure, weights)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        Table(("sentence", "head", "modifier", "arc", "sure", "weight"), rows).write(instances)
    chosen = {name: model.chosen_.get(name, getattr(model, name)) for name in ("threshold", "coverage")}
    figures = {
        **model.provenance_, **model.summary(), **chosen, "tuned": sorted(model.chosen_),
        "relations": model.relation_weights_.shape[1],
    }  # fmt: skip
    told = "{arcs:,} arcs and {others:,} other pairs of {sentences:,} sentences".format_map(figures)
    return Learned(model, figures, told)


@verb(
    "parse", "parse boost first.parser projected.parser --dev dev.conllu -o boosted.parser",
    out="model", settings=f"{_SETTINGS}:BoostSettings",
)  # fmt: skip
def boost(
    base: MstParser = a_model("parse", "parse.mst"),
    pairs: PairParser = a_model("parse", "parse.pairs", "parse.projected"),
    *,
    dev: Treebank = _trees("Trees that decide how much the pairs weigh.", option=True, default=...),
    settings: Mapping[str, Any],
) -> Learned:
    """Join a graph-based parser (BASE) and a parser of pairs (PAIRS), such as a projected one, in one."""
    from corpuscle.parse import BoostedParser

    model = BoostedParser(base, pairs, **settings)
    alone = float((base.parse(dev).heads == dev.heads).mean())
    model.fit(dev)
    figures = {"weight": model.weight_, "uas_dev": model.right_, "uas_dev_base": alone, **model.provenance_}
    told = f"weight {number(model.weight_)}, UAS {percent(alone)} before, {percent(model.right_)} after"
    return Learned(model, figures, told)


@verb(
    "parse", "parse rerank train.conllu --parser trees.parser -o reranked.parser",
    out="model", settings=f"{_SETTINGS}:RerankSettings",
)  # fmt: skip
def rerank(
    bank: Treebank = _trees(metavar="TREEBANK"),
    *,
    parser: MstParser = a_model(
        "parse", "parse.mst", help="Choose among the trees of this parser.", option=True, default=...
    ),
    vectors: Any = _read_by(
        "read_vectors",
        "Vectors of words for log p, a model or word2vec text; else from the trees.",
        option=True,
    ),
    dev: Treebank | None = _trees(
        "Trees to hold out beside the folds where a setting is chosen; not learned from.", option=True
    ),
    settings: Mapping[str, Any],
    keep: Keep,
) -> Learned:
    """Learn to choose among the best trees of a parser, from the treebank that it was learned from."""
    from corpuscle.parse import Reranker

    model = Reranker(**settings)
    model.fit(bank, parser, dev, vectors=vectors, **keep.for_fit(model, bank))
    figures: dict[str, Any] = {
        **model.provenance_, "tuned": sorted(model.chosen_), "passes": model.chosen_.get("passes", model.passes),
        "base_weight": float(model.number_weights_[0]), "number_weights": model.number_weights_[1:],
    }  # fmt: skip
    first, best = percent(figures["uas_lists"]), percent(figures["oracle_lists"])
    told = "{trees:,} trees of {sentences:,} sentences, the first of each list".format_map(figures)
    return Learned(model, figures, f"{told} {first} right, the best {best}")


@verb("parse", "parse curve trees.parser train.conllu dev.conllu", work=True)
def curve(
    model: MstParser = a_model("parse", "parse.mst"),
    bank: Treebank = _trees(metavar="TREEBANK"),
    held_out: Treebank = _trees(),
    *,
    points: int = setting("So many sizes, each half of the next.", default=5, low=1, high=20),
) -> Shown:
    """Learn again from growing parts of a treebank, with the settings of a model, and measure on other trees."""
    from corpuscle.parse import learning_curve

    bank.check_trees(single_root=model.single_root)
    held_out.check_trees()
    names = ("uas", "uas_low", "uas_high", "las", "las_low", "las_high")
    found = learning_curve(model, bank, held_out, points, known=model.known_)
    rows = [{"sentences": n, "words": words} | {name: result[name] for name in names} for n, words, _, result in found]
    shown = [(row["sentences"], row["words"], row["uas"], row["las"]) for row in rows]
    return Answer({"points": rows}, Table(("sentences", "words", "UAS", "LAS"), shown).text())


# ---- parsing


@verb("parse", "parse apply trees.parser text.conllu -o parsed.conllu", out="-", work=True)
def apply(
    model: DependencyParser = a_model("parse"),
    input: Treebank = _read_by("read_tagged", default="-", options={"raw": RAW, "tags": _TAGS, "tagger": TAGGER}),
    *,
    nbest: int | None = setting(
        "The N best trees of each sentence, with # rank and # score (and # logp).", default=None, low=1, high=MOST
    ),
    confidence: bool = setting("Write how likely each arc is into MISC (Confidence=).", default=False),
) -> Treebank:
    """Parse a CoNLL-U file (.conllu, stdin) by its words and tags, or text, a sentence per line; writes CoNLL-U."""
    if nbest is not None and confidence:
        raise SettingError("--confidence is of the best tree: not with --nbest")
    return model.best_trees(input, nbest) if nbest else model.annotate(input, confidence=confidence)


@verb("parse", "parse probability reranked.parser parsed.conllu", work=True)
def probability(
    model: Reranker = a_model("parse", "parse.rerank"), bank: Treebank = _trees(metavar="TREEBANK")
) -> Shown:
    """How likely the words of each sentence are given its tree, by the hidden states of a re-ranker."""
    found = model.probability(bank)
    columns = ("sentence", "words", "logp", "positive")
    numbers = range(1, len(bank) + 1)
    rows = list(zip(numbers, bank.corpus.lengths.tolist(), found.logs.tolist(), found.known.tolist(), strict=True))
    figures = {
        "sentences": len(rows), "tokens": bank.corpus.n_tokens, "logp": float(found.logs[found.known].sum()),
        "not_positive": int((~found.known).sum()), "trees": [dict(zip(columns, row, strict=True)) for row in rows],
    }  # fmt: skip
    return Answer(figures, Table(columns, rows).text())


# ---- comparing


_MODE: Any = setting(
    "conll18 compares relations without their subtypes.", default="plain", choices=("plain", "conll18")
)
_PUNCTUATION: Any = setting(
    "What punctuation is: words of this UPOS, of Penn tags, of such letters; auto: by the tags that are there.",
    default="auto",
    choices=("auto", "upos", "penn", "form"),
)
_MORE = (
    ("oracle_uas", "best of the list: UAS", percent), ("oracle_las", "best of the list: LAS", percent),
    ("oracle_complete", "best of the list: complete", percent), ("trees", "trees a sentence", number),
    ("calibration_error", "calibration error of confidence", number),
)  # fmt: skip


@contextmanager
def comparing(path: str | None) -> Iterator[None]:
    """Turn a ``ValueError`` of a measure into an error about a file."""
    try:
        yield
    except ValueError as error:
        raise InputError(path, None, str(error)) from None


def _confidence(bank: Treebank) -> np.ndarray:
    """What MISC says of the confidence of arcs, float64 (n_words,); empty unless all words have it."""
    import numpy as np

    notes = [dict(note.partition("=")[::2] for note in misc.split("|")) for misc in bank.misc.strings()]
    try:
        sure = np.array([float(note["Confidence"]) for note in notes if "Confidence" in note])
    except ValueError:
        return np.empty(0)
    return sure if len(sure) == len(notes) and ((sure >= 0) & (sure <= 1)).all() else np.empty(0)


def _list_lengths(bank: Treebank) -> np.ndarray | None:
    """How many trees each sentence of an n-best file has, by its # rank comments; None if it is none."""
    import numpy as np

    from corpuscle.text.treebank import comment_value

    ranks = [comment_value(lines, "rank") for lines in bank.comments]
    if None in ranks:
        return None
    firsts = np.flatnonzero(np.array(ranks) == "1")
    return np.diff(np.append(firsts, len(ranks))) if len(firsts) and firsts[0] == 0 else None


@evaluates("parse", "parse evaluate gold.conllu --model trees.parser", instead="a file of parses", work=True)
def evaluate(
    gold: Treebank = _trees(),
    found: Treebank | None = _trees(default=None),
    *,
    model: DependencyParser | None = a_model("parse", help="Parse the gold file with this model first.", option=True),
    tags: str = _TAGS,
    tagger: Any = TAGGER,
    mode: str = _MODE,
    punctuation: str = _PUNCTUATION,
    by: str | None = setting(
        "Also by relation, distance or length.", default=None, choices=("relation", "distance", "length")
    ),
    seed: int = SEED,
) -> Shown:
    """UAS, LAS, complete trees and roots, with and without punctuation, each with its 95 % interval; of n-best lists
    (# rank) the best trees by score, and the best by gold."""
    from corpuscle.measure import attachment, attachment_by, calibration_error, oracle

    gold.check_trees()
    if model is None and (tags != _TAGS.default or tagger is not None):
        raise SettingError("--tags and --tagger mean nothing for a file of parses: they are of what --model sees")
    if model is not None:
        found = model.annotate(_tagged(model, gold, tags, tagger), confidence=model.CALIBRATED)
    assert found is not None
    shares: dict[str, float] = {}
    counts = _list_lengths(found)
    with comparing(None):
        if counts is not None:
            shares |= oracle(gold, found, counts, mode=mode)
            found = found.select(counts.cumsum() - counts)
        result = attachment(gold, found, mode=mode, punct=punctuation, seed=seed)
    if len(sure := _confidence(found)) == len(gold.heads):
        shares["calibration_error"] = calibration_error(sure, found.heads == gold.heads)
    figures, text = {**result.to_json(), **shares}, result.text()
    text += "".join(f"\n{label}: {write(shares[name])}" for name, label, write in _MORE if name in shares)
    if by is not None:
        figures[f"by_{by}"] = attachment_by(gold, found, by, mode)
        table = Table((by, "words", "UAS", "LAS"), [row.values() for row in figures[f"by_{by}"]])
        text += f"\n{table.text()}"
    return Answer(figures, text)


@verb("parse", "parse compare gold.conllu one.conllu other.conllu")
def compare(
    gold: Treebank = _trees(),
    parses_a: Treebank = _trees(),
    parses_b: Treebank = _trees(),
    *,
    mode: str = _MODE,
    punctuation: str = _PUNCTUATION,
    seed: int = SEED,
    names: Mapping[str, str],
) -> Shown:
    """Compare two parses of the same sentences: the differences of their LAS and UAS, paired by sentence."""
    from corpuscle.measure import attachment, compare_attachment

    gold.check_trees()
    how: dict[str, Any] = {"mode": mode, "punct": punctuation, "seed": seed}
    return compared(
        {"parses_a": parses_a, "parses_b": parses_b}, names, partial(attachment, gold, **how),
        partial(compare_attachment, gold, parses_a, parses_b, **how), {"las": "LAS", "uas": "UAS"},
        {"las": "LAS", "uas": "UAS", "complete": "complete"},
    )  # fmt: skip


def compared(
    sides: Mapping[str, Any], names: Mapping[str, str], measure: Any, differ: Any,
    figures: Mapping[str, str], shown: Mapping[str, str],
) -> Answer:  # fmt: skip
    """How two sides score (``measure``), and how they differ (``differ``) in some figures; ``shown``: the figures of
    each side with their labels; those without a label are not printed."""
    values: dict[str, Any] = {}
    lines = []
    for (given, found), side in zip(sides.items(), "ab", strict=True):
        path = names.get(given)
        with comparing(path):
            result = measure(found)
        values |= {f"{name}_{side}": result[name] for name in shown}
        told = (f"{label} {percent(result[name])}" for name, label in shown.items() if label)
        lines.append(f"{path or side}: {', '.join(told)}")
    for i, (figure, label) in enumerate(figures.items()):
        difference = differ(figure=figure)
        values |= {figure: difference.to_json()} if i else difference.to_json()
        lines.append(f"{label}: {difference.text()}")
    return Answer(values, "\n".join(lines))


@verb("parse", "parse strip gold.conllu -o plain.conllu", out="-")
def strip(bank: Treebank = _trees(metavar="TREEBANK"), *, punctuation: str = _PUNCTUATION) -> Treebank:
    """Take punctuation out of trees: what hangs on it hangs on its head."""
    from corpuscle.measure import punctuation as marks

    bank.check_trees()
    with comparing(None):
        return bank.without_words(marks(bank, punctuation))


@verb("parse", "parse draw parsed.conllu -o tree.svg --sentence 3", out="figure")
def draw(
    bank: Treebank = _trees(metavar="TREEBANK"),
    *,
    sentence: int = setting("Which sentence, from 1 on.", default=1, low=1, high=MOST),
    other: Treebank | None = _trees(
        "Another parse of the same text: what it has differently hangs below the words.", option=True
    ),
) -> Picture:
    """Draw a dependency tree (SVG or PNG); arcs with a Confidence= in MISC are the fainter the less sure they are."""
    from corpuscle.figures import draw_arcs

    for each in (bank, other):
        if each is not None and sentence > len(each):
            raise each.error(f"it has {len(each):,} sentences, and none of number {sentence:,}")
    here = bank[sentence - 1 : sentence]
    here.check_trees()
    if other is not None and len(other.sentence_heads(sentence - 1)) != len(here.heads):
        raise other.error(f"sentence {sentence:,} has other words")
    sure = _confidence(here).tolist()
    svg = draw_arcs(
        here.corpus.words(0), here.heads.tolist(), here.relations.strings(),
        tags=here.tags.strings() if here.tags.ids.any() else None,
        confidence=sure if len(sure) == len(here.heads) else None,
        other=None if other is None else other.sentence_heads(sentence - 1).tolist(), title=here.text(0),
    )  # fmt: skip
    return Picture(svg)


# ---- the workbench


@view("parse", name="parse", text="a b c")
def parse_typed(model: DependencyParser, text: Treebank = treebank(raw=True), *, tagger: Any) -> dict[str, Any]:
    """The dependency tree of each sentence, how sure each arc is where the parser knows, and its picture."""
    from corpuscle.figures import draw_arcs
    from corpuscle.text.conllu import treebank_as_json

    parsed = model.annotate(model.tagged_by(tagger, text), confidence=model.CALIBRATED)
    found = treebank_as_json(parsed, "Confidence" if model.CALIBRATED else "")
    for sentence in found["sentences"]:
        fields = ("form", ""), ("head", 0), ("deprel", ""), ("upos", "_")
        *shown, tags = ([word.get(name, none) for word in sentence["words"]] for name, none in fields)
        sure = [word["confidence"] for word in sentence["words"]] if model.CALIBRATED else None
        sentence["svg"] = draw_arcs(*shown, tags=tags if any(tag != "_" for tag in tags) else None, confidence=sure)
    return found


@view("parse", kinds=("parse.mst",), text="a b c")
def doubts(model: MstParser, text: Treebank = treebank(raw=True), *, tagger: Any, n: int = ITEMS) -> dict[str, Any]:
    """Sentences whose trees are least sure, with the trees."""
    from corpuscle.measure import least_sure, unsure_words
    from corpuscle.text.conllu import rows_by_sentence

    rows = rows_by_sentence(model.annotate(model.tagged_by(tagger, text), confidence=True), "Confidence")
    return least_sure(map(unsure_words, rows), n, layer="trees", choices=list(model.relations_.strings[3:]))


def warm() -> None:
    """Compile every kernel of this task by learning from a few words and parsing them."""
    import os
    import tempfile

    from corpuscle.model import read
    from corpuscle.parse import BoostedParser, MstParser, PairParser, ProjectedParser, Projection, Reranker
    from corpuscle.text import Alignments, Treebank

    bank = Treebank.from_sentences(
        [["a", "b", "c"], ["b", "a"]], heads=[[2, 0, 2], [0, 1]], tags=[["A", "B", "A"], ["B", "A"]],
        relations=[["x", "root", "y"], ["root", "x"]],
    )  # fmt: skip
    small: dict[str, Any] = {"hash_bits": 10, "relation_bits": 8}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")

        def learned(model: Any) -> Any:
            with (keep := Keep(path)).stack:
                train(model, bank, keep=keep).model.save(path)
            return model

        for order, decode in product((1, 2), ("projective", "nonprojective")):
            trees = 1 if order == 2 and decode == "nonprojective" else 2
            base = learned(MstParser(order=order, decode=decode, passes=1, trees=trees, **small))
            apply(path, bank, confidence=True)
            if trees > 1:
                apply(path, bank, nbest=2)
        pairs = learned(PairParser(passes=2, **small))
        for decoder in ("eisner", "chart", "mst"):
            saved = read(path)
            saved.header["settings"]["decoder"][0] = decoder
            apply(PairParser.from_container(saved), bank, nbest=2)
        apply(pairs, bank)
        apply(BoostedParser(base, pairs).fit(bank), bank)
        links = Alignments.from_pairs([[(0, 0), (1, 1), (2, 2)], [(0, 0), (1, 1)]])
        for method in ("instances", "tree"):
            ProjectedParser(method=method, passes=2, **small).fit(Projection(bank, bank, links))
        few = Treebank.from_sentences([["a", "b", "c"]] * 4, heads=[[2, 0, 2]] * 4, tags=[["A", "B", "A"]] * 4)
        base = MstParser(order=1, passes=1, **small).fit(few)
        every = ("base", "tags", "logp", "structure")
        for observe, learner in (("words", "maxent"), ("both", "perceptron")):
            ranker = Reranker(observe=observe, learner=learner, features=every, nbest=2, passes=1, hash_bits=10)
            ranker.fit(few, base, few).save(path)
        apply(path, few, nbest=2)
