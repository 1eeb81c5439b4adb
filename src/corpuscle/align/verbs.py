"""What an aligner can do: learn from sentence pairs, and go on learning; link words, list bad pairs, write phrase
tables, lexica, matrices and pictures; be compared with gold links."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from corpuscle.align.settings import DECODINGS, DEFAULT_SYMMETRISATION, MATRICES, NEIGHBOURHOODS, WAYS
from corpuscle.catalogue import TASKS
from corpuscle.errors import InputError, SettingError, warn
from corpuscle.progress import clock
from corpuscle.text.wording import number, percent
from corpuscle.verbs import (
    ITEMS,
    MOST,
    SEED,
    Answer,
    Input,
    K,
    Keep,
    Learned,
    Picture,
    Shown,
    Table,
    Typed,
    a_model,
    bitext,
    path,
    setting,
    text,
    trains,
    verb,
    view,
    word,
    written,
)

if TYPE_CHECKING:
    from corpuscle.align import Aligner, LogLinear
    from corpuscle.text.alignments import Alignments
    from corpuscle.text.bitext import Bitext
    from corpuscle.text.corpus import Corpus

_ALIGNERS = tuple(f"align.{method}" for method in TASKS["align"].methods)
_ENTRY = ("source", "target", "links", "forward", "backward", "score", "source_example", "target_example")


_MODEL: Any = a_model("align", *_ALIGNERS)
_SYMMETRISE: Any = setting(
    f"{', '.join(WAYS[:-1])} or {WAYS[-1]}.", default=DEFAULT_SYMMETRISATION, choices=WAYS, metavar="HOW"
)


def _figures(model: Aligner) -> dict[str, Any]:
    names = ("sentence_pairs", "learned_from", "source_tokens", "target_tokens")
    counted = {name: model.provenance_[name] for name in names}
    learned = {"couples": len(model.couples_.columns), "log_likelihood_per_token": model.history_[-1]}
    return {"method": model.method, **counted, **learned}


@trains(
    "align",
    "align train old.src old.tgt -o pairs.align\n"
    "align train pairs.txt -o pairs.align --method hmm  # source ||| target on each line",
)
def train(
    model: Aligner,
    pairs: Bitext = bitext(),
    *,
    links: str | None = written("Also write the links of these sentence pairs."),
    symmetrise: str = _SYMMETRISE,
    keep: Keep,
) -> Learned:
    """Learn from sentence pairs, in both directions: SOURCE and TARGET, or both in one file with ||| between them."""
    from corpuscle.text.alignments import write_pharaoh

    model.fit(pairs, checkpoint=keep.checkpoint(model, pairs))
    if links is not None:
        write_pharaoh(replace(model.align(pairs, symmetrise), weights=None), links)
    return Learned(model, _figures(model))


@verb("align", "align apply pairs.align new.src new.tgt > new.links", out="-", work=True)
def apply(
    model: Aligner = _MODEL,
    pairs: Bitext = bitext(),
    *,
    symmetrise: str = _SYMMETRISE,
    decode: str = setting(
        "viterbi: the best link of each word; posterior: all above the threshold.", default="viterbi", choices=DECODINGS
    ),
    threshold: float = setting("The least probability of a link, where that decides.", default=0.5, metavar="P"),
    weights: bool = setting("Write i-j:probability.", default=False),
    min_confidence: float = setting("Less sure sentence pairs get no links.", default=0.0, low=0, high=1, metavar="P"),
    all: str | None = written(
        "Write PREFIX.forward, PREFIX.union and so on: all of them.", form="prefix", metavar="PREFIX"
    ),
    nbest: int | None = setting(
        "The N best of one direction: line, rank, probability, links.", default=None, low=1, high=MOST
    ),
) -> Alignments | Table | None:
    """Align sentence pairs, new ones or old ones; one line of links for each pair."""
    from corpuscle.align import n_best
    from corpuscle.text.alignments import write_pharaoh

    if nbest is not None:
        if all is not None or weights or min_confidence > 0 or decode != "viterbi":
            raise SettingError("--nbest goes with --symmetrise forward or backward, and with nothing else")
        if symmetrise not in ("forward", "backward"):
            raise SettingError("the best alignments are those of one direction: --symmetrise forward or backward")
        rows = (
            (line, rank, each.probability, " ".join(f"{i}-{j}" for i, j in each.links.tolist()))
            for line, ranked in enumerate(n_best(model, pairs, nbest, int(symmetrise == "backward")), 1)
            for rank, each in enumerate(ranked, 1)
        )
        return Table(("line", "rank", "probability", "links"), rows, heading=False)
    if all is not None and symmetrise != _SYMMETRISE.default:
        raise SettingError(f"--symmetrise {symmetrise} means nothing with --all, which writes every way")
    if threshold != 0.5 and decode == "viterbi" and symmetrise != "posterior" and all is None:
        raise SettingError("--threshold means nothing with --decode viterbi, where each word has its best link")
    found = model.align_all(pairs, (symmetrise,) if all is None else WAYS, decode, threshold)
    for how, links in found.items():
        found[how] = model.weighted(links, pairs) if weights else replace(links, weights=None)
    if min_confidence > 0:
        sure = model.confidence(pairs) >= min_confidence
        found = {how: links.filtered(sure[links.pairs]) for how, links in found.items()}
    if all is None:
        return found[symmetrise]
    for how, links in found.items():
        write_pharaoh(links, f"{all}.{how}")
    return None


@verb("align", "align update pairs.align new.src new.tgt -o more.align", out="model", work=True)
def update(model: Aligner = _MODEL, pairs: Bitext = bitext()) -> Learned:
    """Go on learning from new sentence pairs; what the model has counted before stays."""
    begin = clock()
    learner = type(model).restored(model.described())
    learner.workers, learner.cluster = model.workers, model.cluster
    learner.fit(pairs, base=model)
    return Learned(learner, {**_figures(learner), "seconds": clock() - begin})


def as_written(value: Any, model: Any, declared: Input, **sides: Any) -> Bitext:
    """Sentence pairs as they stand in their files, whatever the model does to words."""
    from corpuscle.text.inputs import bitext
    from corpuscle.text.settings import TextSettings

    return bitext(value, TextSettings(nfc=False), declared, **sides)


@verb("align", "align filter pairs.align old.src old.tgt --kept good.txt > suspicious.tsv", out="-", work=True)
def filter(
    model: Aligner = _MODEL,
    pairs: Bitext = bitext(reader="corpuscle.align.verbs:as_written"),
    *,
    min_confidence: float = setting("Pairs below this are suspicious.", default=0.3, low=0, high=1, metavar="P"),
    kept: str | None = written("Write the other pairs, as source ||| target."),
) -> Table:
    """List sentence pairs that hardly translate each other: line, confidence, source, target; the worst first."""
    import numpy as np

    from corpuscle.text.bitext import Bitext, write_bitext

    sides = (pairs.source, pairs.target)
    confidence = model.confidence(Bitext(*map(model.preprocessing.apply, sides)))
    bad = np.flatnonzero(confidence < min_confidence)
    if kept is not None:
        write_bitext(pairs.select(confidence >= min_confidence), kept)
    worst = bad[np.argsort(confidence[bad], kind="stable")].tolist()
    mean = float(confidence.mean()) if len(confidence) else None
    return Table(
        (),
        ((k + 1, confidence[k], *(" ".join(side.words(k)) for side in sides)) for k in worst),
        figures={"sentence_pairs": len(pairs), "suspicious": len(bad), "mean_confidence": mean},
    )


@verb("align", "align phrases old.src old.tgt --links old.links -o phrases.txt.gz", out="-")
def phrases(
    pairs: Bitext = bitext(),
    more: Iterable[Any] = path(many=True, default=()),
    *,
    links: Iterable[Any] = path(
        "Links of these sentence pairs; several: all of them.", metavar="LINKS", option=True, many=True, default=...
    ),
    max_phrase: int = setting("Words of the longest phrase.", default=7, low=1, high=8),
    hierarchical: bool = setting("Rules with gaps, [X,1] and [X,2], instead of phrases.", default=False),
    match: Corpus | None = text("Only what this text of the source language can use.", metavar="TEXT", option=True),
    output: str | None,
) -> Shown:
    """Write the phrase table of aligned sentence pairs, as Moses does: source ||| target ||| phi(f|e) lex(f|e) phi(e|f)
    lex(e|f) ||| links ||| counts of target, source and both. MORE are further links: --links A B."""
    from corpuscle.align import write_table

    each = [links_of(given, pairs) for given in (*links, *more)]
    entries, matching = write_table(output or "-", pairs, each, max_phrase, hierarchical, match)
    return Answer({"sentence_pairs": len(pairs), "entries": entries, "matching": matching}, "")


@verb("align", "align lexicon pairs.align --examples old.src old.tgt -o lexicon.tsv", out="-", work=True)
def lexicon(
    model: Aligner = _MODEL,
    *,
    min_links: float = setting("At least so many expected links.", default=1.0),
    min_score: float = setting(
        "The least geometric mean of the probabilities of both directions.", default=0.1, metavar="P"
    ),
    examples: Bitext | None = bitext(
        "Sentence pairs to take an example of each entry from.", metavar="SRC TGT", option=True
    ),
) -> Table:
    """Write a bilingual lexicon: source, target, links, p(target|source), p(source|target), score (, examples)."""
    from corpuscle.align.lexicon import lexicon as entries

    found = entries(model, min_links=min_links, min_score=min_score, examples=examples)
    rows = ((*entry[:6], *(() if examples is None else entry.shown_in(examples))) for entry in found)
    return Table(_ENTRY[: 6 if examples is None else 8], rows, heading=False)


@verb("align", "align matrix pairs.align new.src new.tgt -o new.matrix", out="model", work=True)
def matrix(
    model: Aligner = _MODEL,
    pairs: Bitext = bitext(),
    *,
    matrix: str = setting("Of which direction, or the mean of both.", default="geo", choices=MATRICES),
    output: str | None,
) -> Answer:
    """Write the probability of every link of every sentence pair."""
    from corpuscle.align.base import save_matrix

    found = model.matrix(pairs, matrix)
    if output is not None:
        save_matrix(found, output, matrix=matrix, method=model.method)
    return Answer({"sentence_pairs": len(found), "cells": len(found.weights), "matrix": output})


@verb("align", "align weights loglinear.align --family --top 5", out="-")
def weights(
    model: LogLinear = a_model("align", "align.loglinear"),
    *,
    top: int | None = setting("Only so many of each direction.", default=None, low=1, high=MOST),
    family: bool = setting("Family by family: the N strongest of each, ten unless --top says so.", default=False),
) -> Table:
    """List the features of a log-linear model and their weights, the strongest first: direction, feature, weight."""
    rows = (
        (name, *learned)
        for direction, name in enumerate(("forward", "backward"))
        for learned in (model.strongest(direction, top or 10) if family else model.learned_features(direction)[:top])
    )
    return Table(("direction", "feature", "weight"), rows, heading=False)


@verb("align", "align draw pairs.align new.src new.tgt -o pair.svg --line 3", out="figure", work=True)
def draw(
    model: Aligner = _MODEL,
    pairs: Bitext = bitext(),
    *,
    line: int = setting("Which sentence pair, counted from 1.", default=1, low=1, high=MOST),
    symmetrise: str = _SYMMETRISE,
    gold: Any = path("Gold links.", metavar="FILE", option=True),
) -> Picture:
    """Draw a sentence pair as a grid: shaded by probability, links as dots, gold links as frames (SVG or PNG)."""
    from corpuscle.figures import alignment_grid

    if line > len(pairs):
        raise SettingError(f"there is no line {line}: there are {len(pairs)}")
    marks: dict[str, Any] = {"sure": [], "possible": []}
    if gold is not None:
        one = links_of(gold, pairs)[line - 1 : line]
        for (i, j), sure in zip(one.links.tolist(), one.sure.tolist(), strict=True):
            marks["sure" if sure else "possible"].append((i, j))
    pair = pairs[line - 1 : line]
    found = [(i, j) for i, j in model.align(pair, symmetrise).pair(0).tolist()]
    words, cells = (pair.source.words(0), pair.target.words(0)), model.matrix(pair).matrix(0)
    return Picture(alignment_grid(*words, cells, found, title=f"Sentence pair {line}", **marks))


@verb(
    "align",
    "align evaluate gold.links new.links\n"
    "align evaluate gold.links <(corpuscle align apply pairs.align new.src new.tgt)  # from a process",
    work=True,
)
def evaluate(
    gold: Any = path(),
    links: Any = path(default=None),
    *,
    model: Aligner | None = a_model(
        "align", *_ALIGNERS, help="Judge what this model gives instead of links.", option=True
    ),
    source: Bitext | None = bitext(
        "The source sentences.",
        metavar="SRC",
        option=True,
        options={"target": path("The target sentences.", metavar="TGT", option=True, belongs=True)},
    ),
    train: Bitext | None = bitext(
        "The training text, for the fertility of its rare words.", metavar="SRC TGT", option=True
    ),
    against: Any = path("Other links of the same pairs, to compare with.", metavar="LINKS", option=True),
    oracle: str | None = setting(
        "Judge what this neighbourhood, of the text of --train, allows.", default=None, choices=NEIGHBOURHOODS
    ),
    symmetrise: str = _SYMMETRISE,
    seed: int = SEED,
    work: Mapping[str, Any],
) -> Shown:
    """Measure links against gold links (Pharaoh: i-j sure, i?j possible; or NAACL): AER, precision, recall, F1."""
    from corpuscle.measure.links import alignment_error, compare_alignments, singleton_fertility

    if oracle is not None:
        if source is None or train is None or links is not None or model is not None:
            raise SettingError("--oracle needs --source, --target and --train, and neither links nor a model")
        return _oracle(gold, source, train, oracle, seed, work)
    if (links is None) == (model is None):
        raise SettingError("give links to judge, or a model and its texts (--model, --source, --target)")
    if source is None and (model is not None or train is not None):
        raise SettingError("this needs the sentences: --source and --target")
    wanted = _links(gold, None if source is None else len(source))
    if model is not None and source is not None:
        found = model.align(source, symmetrise)
    else:
        found = _links(links, len(wanted))
    _check_links(wanted, found, gold, links, source)
    result = alignment_error(wanted, found, seed=seed)
    turned = alignment_error(wanted, found.transposed(), draws=1)
    if turned["aer"] < result["aer"]:
        warn("the links fit better when source and target change places: is one of the files the wrong way round?")
    values, lines = dict(result.to_json()), [result.text()]
    if train is not None and source is not None:
        values["singleton_fertility"] = singleton_fertility(found, source.source, train.source)
        values["singleton_fertility_target"] = singleton_fertility(found.transposed(), source.target, train.target)
        for name, key in (("source", "singleton_fertility"), ("target", "singleton_fertility_target")):
            if not math.isnan(values[key]):
                lines.append(f"links of {name} words seen once in training: {number(values[key])}")
    if against is not None:
        other = _links(against, len(wanted))
        _check_links(wanted, other, gold, against, source)
        values["against"] = compared = compare_alignments(wanted, found, other, seed=seed).to_json()
        interval = f"({percent(compared['low'])} to {percent(compared['high'])})"
        difference, p_value = percent(compared["difference"]), number(compared["p_value"])
        lines.append(f"AER minus the other's: {difference} {interval}, p = {p_value}")
    return Answer(values, "\n".join(lines))


def links_of(given: Any, pairs: Bitext) -> Alignments:
    """Links of these sentence pairs, from a file or as they are."""
    links = _links(given, len(pairs))
    links.check_range(pairs, _name_of(given))
    return links


def _name_of(given: Any) -> Any:
    """The path of links from a file, None for others."""
    return given if isinstance(given, str | PathLike) else None


def _links(given: Any, sentences: int | None = None) -> Alignments:
    """Links of at least one sentence pair: as they are, or from a file in either format."""
    from corpuscle.text.alignments import read_links

    links = given if _name_of(given) is None else read_links(given, sentences)
    if not len(links):
        raise InputError(_name_of(given), None, "there are no sentence pairs")
    return links


def _check_links(wanted: Alignments, found: Alignments, gold: Any, links: Any, pairs: Bitext | None) -> None:
    """An error if the links are not those of the same sentence pairs as the gold links, and as the text."""
    if len(wanted) != len(found):
        others = f"{_name_of(gold) or 'the gold file'} has {len(wanted)}"
        raise InputError(_name_of(links), None, f"links of {len(found)} sentence pairs, but {others}")
    if pairs is not None:
        wanted.check_range(pairs, _name_of(gold))
        found.check_range(pairs, _name_of(links))


def _oracle(gold: Any, pairs: Bitext, training: Bitext, name: str, seed: int, work: Mapping[str, Any]) -> Answer:
    """How good links could be if only those that a neighbourhood allows may be chosen."""
    from corpuscle.align.loglinear_training import Neighbourhood, allowed_links
    from corpuscle.measure.links import alignment_error
    from corpuscle.scale import workers

    wanted = links_of(gold, pairs)
    with workers(work.get("workers"), work.get("cluster")) as pool:
        neighbourhood = Neighbourhood.learn(training, name, pool)
    values: dict[str, Any] = {"neighbourhood": name}
    lines = []
    for direction, which in enumerate(("forward", "backward")):
        result = alignment_error(wanted, allowed_links(wanted, pairs, neighbourhood, training, direction), seed=seed)
        couples = neighbourhood.size(direction)
        values |= {f"aer_{which}": result["aer"], f"couples_{which}": couples}
        lines.append(f"{which}: oracle AER {percent(result['aer'])}, {couples:,} couples")
    return Answer(values, "\n".join(lines))


# ---- views


_TYPED: Any = bitext(
    "Sentences, one a line.", options={"target": path("Their translations, one a line.", default=Typed(""))}
)
_JOINED: Any = setting("How the links of both directions are joined.", default=DEFAULT_SYMMETRISATION, choices=WAYS)


@view("align", kinds=_ALIGNERS, source="a b", target="c d")
def align(model: Aligner, source: Bitext = _TYPED, *, symmetrise: str = _JOINED) -> dict[str, Any]:
    """Which words of sentence pairs translate which, how probable every link is, and the grid as a picture."""
    from corpuscle.figures import alignment_grid

    links, matrix, sure = model.align(source, symmetrise), model.matrix(source), model.confidence(source)
    pairs = []
    for i, (words, translations) in enumerate(source):
        cells, linked = matrix.matrix(i), [(int(a), int(b)) for a, b in links.pair(i).tolist()]
        pairs.append({
            "source": words, "target": translations, "confidence": float(sure[i]),
            "links": [{"source": a, "target": b, "probability": float(cells[a, b])} for a, b in linked],
            "svg": alignment_grid(words, translations, cells, linked),
        })  # fmt: skip
    return {"pairs": pairs}


@view("align", kinds=_ALIGNERS, source="a b", target="c d")
def doubts(model: Aligner, source: Bitext = _TYPED, *, symmetrise: str = _JOINED, n: int = ITEMS) -> dict[str, Any]:
    """Sentence pairs whose links are least sure, with the links."""
    from corpuscle.measure import least_sure, unsure_item

    items = []
    for pair in align.function(model, source, symmetrise=symmetrise)["pairs"]:
        if pair["source"] and pair["target"]:
            links = [[link["source"], link["target"]] for link in pair["links"]]
            value = {"source": pair["source"], "target": pair["target"], "links": links}
            items.append(unsure_item(value, [link["probability"] for link in pair["links"]] or [0.0]))
    return least_sure(items, n, layer="links", choices=[])


DICTIONARY = "dictionary"
"""The task and the kind of the dictionary of a pack, a table, which is asked like a model."""


@view(DICTIONARY, kinds=(DICTIONARY,), search="a")
def lookup(
    model: Sequence[Mapping[str, Any]],
    search: str = word("The beginning of a word, of either language; empty: the first entries."),
    *,
    k: int = K,
) -> dict[str, Any]:
    """Entries of the dictionary whose words begin like this, with how sure they are and an example."""
    import unicodedata

    wanted = unicodedata.normalize("NFC", search).casefold()
    found = [row for row in model if row["source"].casefold().startswith(wanted)] or [
        row for row in model if row["target"].casefold().startswith(wanted)
    ]
    return {"entries": found[:k], "found": len(found), "all": len(model)}


def warm() -> None:
    """Compile the kernels of this task by running them on a tiny bitext."""
    _warm(tuple(TASKS["align"].methods))


def warm_defaults() -> None:
    """Compile what the default method needs, and the hidden Markov model, which knows likelihoods."""
    _warm(("hmm", "fertility"))


def _warm(methods: tuple[str, ...]) -> None:
    from corpuscle.align import learner
    from corpuscle.text.plain import warm as warm_text

    warm_text()
    pairs = [("a b", "x y"), ("b", "y")]
    models = {method: learner(method, passes=2, workers=1).fit(pairs) for method in methods}
    for model in models.values():
        links = apply(model, pairs, weights=True)
    evaluate(links, links)
    update(models["hmm"], pairs)
    list(apply(models["hmm"], pairs, nbest=2, symmetrise="forward").rows)
