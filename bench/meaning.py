"""Meaning by a hidden Markov model on trees: word pairs, relations and phrases, beside vectors of the same text.

The text is the training parts of EWT and GUM, 296,000 tokens with gold trees; words are lower-cased forms with their
universal tags. Classes, the cut-off of the vocabulary and labelled transitions are chosen on MEN (``sweep``), on the
pairs whose words occur ten times or more, which all models know; of 5 and 10 as cut-offs, which are not told apart, 5
knows more words. All other sets are judged with the chosen model and words out of context by exact inference; beside it
stands the same model with every word of the text, since the sets have many rare ones (``every word``). ``ppmi`` is
positive pointwise mutual information of the same text, 100 dimensions, cosines: what a bag of words knows. The paper
has 1.9 billion tokens.

GS2011 has been looked at with six models: those of before words and transitions had priors (the chosen
one 0.018, -0.078 to 0.129; that of every word, added when the chosen one had been seen, 0.116, 0.022 to 0.216; two of
128 classes and every word, plain and labelled, 0.002 and 0.011), and the two of today. Differences are to be read in
this light, and beside the correlations themselves, which are below 0 for the chosen model.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import english
from bench.harness import HERE, Call, Cell, Claim, row, source_digest, trained

if TYPE_CHECKING:
    from corpuscle.text import ScoredPair
    from corpuscle.words import Forest, Meaning, PpmiVectors

MODELS = [
    *((classes, cut, False) for cut in (1, 5, 10) for classes in (32, 64)),
    (128, 5, False),
    (32, 5, True),
]
"""Classes, cut-off, labelled transitions."""
CHOSEN, EVERY = (32, 5, False), (32, 1, False)
"""The chosen model, and the same that knows every word of the text, since sets have rare words."""
MEASURES = ("hellinger", "js", "kl", "cosine")
SETS = {"rg65": "RG65", "ws353": "WS353", "ws353-similarity": "WS353, similarity", "ws353-relatedness": "relatedness"}
PHRASES = {"gs2011": "subject, verb, object (GS2011)", "ml2010-verb-object": "verb, object (ML2010)"}
WORDS = ("forests", "hmm", "hmm_learning", "meaning", "similarity_benchmarks", "cooccurrence")
SOURCES = ("corpuscle/engine/dp/*.py", "corpuscle/measure/correlation.py", "corpuscle/text/pairs.py",
           *(f"corpuscle/words/{name}.py" for name in WORDS))  # fmt: skip
PICTURE = HERE.parent / "docs" / "images" / "meaning-relations.svg"


def cells(data: Path) -> Iterator[Cell]:
    """The sweep first, since it decides; then each set."""
    texts = tuple(data / f"ud-english-{name}" / "train.conllu" for name in ("ewt", "gum"))
    paths = {"texts": list(map(str, texts))}

    def cell(name: str, title: str, calls: dict[str, tuple[str, dict[str, Any]]], *files: Path) -> Cell:
        sides = tuple(Call(side, f"bench.meaning:{what}", {**paths, **more}) for side, (what, more) in calls.items())
        return Cell(name, title, sides, None, (*texts, *files), None, repeats=1, warm_up=False, sources=SOURCES)

    men = data / "word-similarity" / "men3000.tsv"
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        _name(model): ("men", {"model": model, "pairs": str(men)}) for model in MODELS
    }
    calls["ppmi"] = "men", {"model": None, "pairs": str(men)}
    yield cell("sweep", "Classes and vocabulary, chosen on MEN", calls, men)
    files = {name: data / "word-similarity" / f"{file}.tsv" for file, name in SETS.items()}
    given = {"files": {name: str(path) for name, path in files.items()}}
    calls = {measure: ("pairs", {**given, "measure": measure}) for measure in (*MEASURES, "ppmi")}
    calls |= {f"{m}, every word": ("pairs", {**given, "measure": m, "model": EVERY}) for m in MEASURES}
    yield cell("pairs", "Word pairs: Spearman's correlation", calls, *files.values())
    bless = data / "bless" / "bless.tsv"
    calls = {
        side: ("bless", {"path": str(bless), "mapped": mapped, "prior": prior})
        for side, mapped, prior in (
            ("without map", False, "uniform"), ("with map", True, "uniform"), ("with map, marginal", True, "marginal"),
            ("with map, jeffrey", True, "jeffrey"),
        )
    }  # fmt: skip
    yield cell("relations", "BLESS: medians by relation, standardised by concept", calls, bless)
    for file, name in PHRASES.items():
        path = data / "composition" / f"{file}.tsv"
        calls = {"meaning": ("phrases", {"path": str(path)})}
        calls["every word"] = "phrases", {"path": str(path), "model": EVERY}
        yield cell(f"phrases-{file}", f"Phrases: {name}", calls, path)

def _name(model: Any) -> str:
    classes, cut, labelled = model
    return f"{classes} classes, words from {cut} on" + (", labelled" if labelled else "")


def _forest(texts: list[str], parsed: bool = False) -> Forest:
    """Trees of files, or of the text that our parser has parsed (``texts``: the folder of data)."""
    from corpuscle.words import HmmClasses

    if parsed:
        texts = [str(english.running_text(Path(texts[0])))]
    return HmmClasses(structure="tree", layer="form/tag", lowercase=True).read(*texts)  # type: ignore[return-value]


def _model(forest: Forest, model: Any = CHOSEN, parsed: bool = False, **settings: Any) -> tuple[Meaning, float]:
    """A model, trained or kept from before, its words out of context exactly; and the CPU seconds of its training."""
    import corpuscle
    from corpuscle.words import HmmClasses, Meaning, represent

    classes, cut, labelled = model
    how: dict[str, Any] = {"structure": "tree", "layer": "form/tag", "lowercase": True, "workers": 1}
    kept = source_digest((*SOURCES, *english.SOURCES) if parsed else SOURCES)
    name = f"meaning-{classes}-{cut}{'-labelled' if labelled else ''}{'-parsed' if parsed else ''}-{kept}"
    found, seconds = trained(
        name, lambda: HmmClasses(classes=classes, min_count=cut, labelled=labelled, **how), forest
    )  # fmt: skip
    exact = english.FILES / f"{name}.exact"
    if not exact.exists():
        represent(found, forest).save(exact)
    return Meaning(corpuscle.load(exact), **settings), seconds


def _ppmi(forest: Forest) -> PpmiVectors:
    from corpuscle.words import PpmiVectors

    return PpmiVectors(dimensions=100, min_count=CHOSEN[1], spelling=0.0, workers=1).fit(forest.corpus)


def _tagged(meaning: Meaning, pairs: list[ScoredPair]) -> list[ScoredPair]:
    """The pairs that a model knows, as the words that it takes them for."""
    from corpuscle.text import ScoredPair, Term

    found = [([meaning.find(Term.parse(word)) for word in pair[:2]], pair.score) for pair in pairs]
    return [ScoredPair(*(meaning.vocab.word(id) for id in ids), score) for ids, score in found if None not in ids]


def men(timer, texts: list[str], model: Any, pairs: str, parsed: bool = False) -> dict[str, float]:
    """Correlation on the pairs that all models know, and of all that this one knows."""
    from corpuscle.text import read_scored_pairs
    from corpuscle.words import judge_pairs

    forest, scored = _forest(texts, parsed), read_scored_pairs(pairs)
    common = _tagged(_model(forest, (32, 10, False), parsed)[0], scored)
    if model is None:
        with timer:
            vectors = _ppmi(forest)
        result = vectors.similarity(common, draws=2000)
        assert result.interval is not None
        return {
            "MEN": result["spearman"],
            "low": result.interval.low,
            "high": result.interval.high,
            "pairs": len(common),
        }
    with timer:
        meaning, seconds = _model(forest, model, parsed)
    result, all_known = judge_pairs(meaning, common), judge_pairs(meaning, scored, draws=1)
    assert result.interval is not None
    figures = {
        "MEN": result["spearman"],
        "low": result.interval.low,
        "high": result.interval.high,
        "pairs": len(common),
    }
    figures |= {"all that it knows": all_known["spearman"], "known": all_known["covered"], "training CPU s": seconds}
    return figures


def pairs(
    timer, texts: list[str], files: dict[str, str], measure: str, model: Any = CHOSEN, parsed: bool = False
) -> dict[str, float]:
    """Correlations on the pairs that the chosen model knows."""
    from corpuscle.text import read_scored_pairs
    from corpuscle.words import judge_pairs

    forest, figures = _forest(texts, parsed), dict[str, float]()
    how = {} if measure == "ppmi" else {"measure": measure}
    meaning, _ = _model(forest, model, parsed, **how)
    vectors = _ppmi(forest) if measure == "ppmi" else None
    for name, path in files.items():
        scored = read_scored_pairs(path)
        known = _tagged(meaning, scored)
        with timer:
            result = judge_pairs(meaning, scored) if vectors is None else vectors.similarity(known, draws=2000)
        assert result.interval is not None
        figures |= {
            name: result["spearman"],
            f"{name}, low": result.interval.low,
            f"{name}, high": result.interval.high,
        }
        figures |= {f"{name}, pairs": len(scored), f"{name}, known": len(known)}
    return figures


def bless(
    timer, texts: list[str], path: str, mapped: bool, prior: str, model: Any = CHOSEN, parsed: bool = False
) -> dict[str, Any]:
    """Median and Wilcoxon's p-value of every relation, and all standardised similarities."""
    from corpuscle.text import read_triples
    from corpuscle.words import judge_relations

    meaning, _ = _model(_forest(texts, parsed), model, parsed, head_prior=prior)
    with timer:
        found = judge_relations(meaning, read_triples(path), mapped=mapped)
    figures: dict[str, Any] = {"concepts": len(found.concepts), "of": found.were, "known triples": found.known}
    for column, (name, each) in enumerate(found.relations().items()):
        figures |= {name: each.median, f"p {name}": each.p_value} if each.beside else {name: each.median}
        figures[f"scores {name}"] = found.scores[:, column].tolist()
    return figures


def phrases(timer, texts: list[str], path: str, model: Any = CHOSEN, parsed: bool = False) -> dict[str, float]:
    """Every way to compose, over single ratings and over means; what the context gives; vectors beside it."""
    import numpy as np

    from corpuscle.engine.linalg import unit_rows
    from corpuscle.measure import spearman
    from corpuscle.text import read_judgements
    from corpuscle.words import judge_phrases

    forest, judgements = _forest(texts, parsed), read_judgements(path)
    meaning, _ = _model(forest, model, parsed)
    with timer:
        found = judge_phrases(meaning, judgements)
    figures: dict[str, float] = {"ceiling": found.ceiling} if found.ceiling == found.ceiling else {}
    figures |= {"items": found.items, "known": found.covered, "rare": found.rare}

    def note(name: str, result: Any) -> None:
        figures.update(
            {name: result["spearman"], f"{name}, low": result.interval.low, f"{name}, high": result.interval.high}
        )

    for way, result in found.ratings.items():
        note(way, result)
        note(f"{way}, means", found.means[way])
    for (a, b), each in found.differences.items():
        figures |= {f"{a} - {b}": each.difference, f"{a} - {b}, low": each.low, f"{a} - {b}, high": each.high}
        figures[f"{a} - {b}, p"] = each.p_value
    if tuple(model) == EVERY:
        return figures
    vectors, scores = _ppmi(forest), dict[str, list[float]]()
    known = [each for each in judgements if all(map(meaning.find, (*each.first.terms, *each.second.terms)))]  # type: ignore[union-attr]
    for each in known:
        rows = [
            vectors.vectors_[[vectors.vocab_.id(meaning.vocab.word(meaning.id(term))) for term in phrase.terms]]
            for phrase in (each.first, each.second)  # type: ignore[union-attr]
        ]  # fmt: skip
        both = {"ppmi, head": [part[phrase.head] for part, phrase in zip(rows, each[:2], strict=True)],
                "ppmi, add": [part.mean(axis=0) for part in rows]}  # fmt: skip
        for way, two in both.items():
            unit = unit_rows(np.array(two))
            scores.setdefault(way, []).append(float(unit[0] @ unit[1]))
    items = [hash(each[:2]) for each in known]
    for way, each in scores.items():
        note(way, spearman(each, [judgement.rating for judgement in known], items=items, of="phrase pairs", draws=2000))
    return figures


def claims(results: dict[str, Any]) -> list[Claim]:
    """What the papers say, on these data."""
    made = []
    if "pairs" in results:
        sides = {side: runs[0]["figures"] for side, runs in results["pairs"]["runs"].items()}
        for name, model in (("RG65", ", every word"), ("WS353", "")):
            best, other = (max(sides[m + model][name] for m in two) for two in (("hellinger", "js"), ("kl", "cosine")))
            text = f"{name}{model}: Hellinger or Jensen-Shannon beside Kullback-Leibler and cosine"
            interval = sides[f"hellinger{model}"]
            close = interval[f"{name}, low"] < other < interval[f"{name}, high"]
            made.append(Claim(text, "higher", f"{best:.3f} beside {other:.3f}", None if close else best > other))
    if "relations" in results:
        sides = {side: runs[0]["figures"] for side, runs in results["relations"]["runs"].items()}
        for name, random in (("attri", "random-j"), ("event", "random-v")):
            found = sides["with map"]
            text = f"BLESS: median of {name} with map, beside {random}"
            holds = found[name] > found[random] if found[f"p {name}"] < 0.05 else None
            made.append(Claim(text, "higher", f"{found[name]:.2f} beside {found[random]:.2f}", holds))
    for side, text in (("meaning", ""), ("every word", ", every word (see the notes)")):
        if "phrases-gs2011" in results:
            found, name = results["phrases-gs2011"]["runs"][side][0]["figures"], "head-context - head"
            low, high = found[f"{name}, low"], found[f"{name}, high"]
            measured = f"{found[name]:.3f} ({low:.3f} to {high:.3f})"
            holds = None if low <= 0 <= high else found[name] > 0
            made.append(Claim(f"GS2011: head in context above head alone{text}", "higher", measured, holds))
    return made


def _cell(figures: dict[str, float], name: str) -> str:
    if name not in figures:
        return ""
    interval = (
        f" ({figures[f'{name}, low']:.2f} to {figures[f'{name}, high']:.2f})" if f"{name}, low" in figures else ""
    )
    return f"{figures[name]:.3f}{interval}"


def _pairs_table(result: dict[str, Any]) -> list[str]:
    sides = {side: runs[0]["figures"] for side, runs in result["runs"].items()}
    lines = [row(["", *SETS.values()]), row(["---", *["---:"] * len(SETS)])]
    for model in (side for side in ("hellinger", "hellinger, every word") if side in sides):
        known = [
            f"{sides[model][f'{name}, known']:.0f} of {sides[model][f'{name}, pairs']:.0f}" for name in SETS.values()
        ]
        lines.append(row(["known pairs" + model.removeprefix("hellinger"), *known]))
    return lines + [row([side, *(_cell(each, name) for name in SETS.values())]) for side, each in sides.items()]


def _phrases_table(result: dict[str, Any]) -> list[str]:
    sides = {side: runs[0]["figures"] for side, runs in result["runs"].items()}
    both = [(side, suffix) for side in sides for suffix in ("", ", means")]
    names = dict.fromkeys(name for each in sides.values() for name in each)
    ways = [name for name in names if f"{name}, low" in names and " - " not in name and not name.endswith("means")]
    heading = [f"{side}, {'item means' if suffix else 'single ratings'}" for side, suffix in both]
    lines = [row(["", *heading]), row(["---", *["---:"] * len(both)])]
    lines += [row([way, *(_cell(sides[side], way + suffix) for side, suffix in both)]) for way in ways]
    for side, each in sides.items():
        known = f"{each['known']:.0f} of {each['items']:.0f} phrase pairs have known words, {each['rare']:.0f} of them"
        lines += ["", f"{side}: {known} a word with fewer than ten tokens."]
        for name in (name for name in each if f"{name}, p" in each):
            lines.append(f"{name}: {_cell(each, name)}, p = {each[f'{name}, p']:.2g}.")
    if "ceiling" in names:
        lines += ["", f"People agree (each with the mean of all others): {sides['meaning']['ceiling']:.3f}."]
    return lines


def tables(results: dict[str, Any]) -> list[str]:
    """A table a cell, as people read it; and the box plot."""
    if "relations" in results:
        _draw(results["relations"])
    return plain_tables(results)


def plain_tables(results: dict[str, Any]) -> list[str]:
    """A table a cell, as people read it."""
    made = []
    for name, result in results.items():
        if name == "pairs":
            lines = _pairs_table(result)
        elif name.startswith("phrases"):
            lines = _phrases_table(result)
        else:
            sides = {side: runs[0]["figures"] for side, runs in result["runs"].items()}
            names = list(dict.fromkeys(figure for each in sides.values() for figure in each))
            lines = [row(["", *names]), row(["---", *["---:"] * len(names)])]
            lines += [
                row([side, *(f"{each[figure]:.3g}" if figure in each else "" for figure in names)])
                for side, each in sides.items()
            ]
        made.append("\n".join([f"### {result['title']}", "", *lines, ""]))
    return made


def _draw(result: dict[str, Any]) -> None:
    """Box plots of relations for the page of the task."""
    from corpuscle.figures import box_plot
    from corpuscle.words.similarity_benchmarks import NAMES, ORDER

    curves = {side: result["runs"][side][0]["curves"] for side in ("without map", "with map")}
    boxes = {side: [each[f"scores {name}"] for name in ORDER] for side, each in curves.items()}
    title = f"Similarity to {len(boxes['with map'][0])} concepts by relation"
    shown = [NAMES.get(name, name) for name in ORDER]
    picture = box_plot(shown, boxes, title=title, value_label="largest similarity, standardised by concept")
    PICTURE.write_text(picture + "\n", encoding="utf-8")


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    lines = [part.replace("\n", " ").strip() + "\n" for part in (__doc__ or "").split("\n\n")[1:]]
    lines.append(f"Chosen: {_name(CHOSEN)}.")
    return "\n".join(["### Notes", "", *lines])
