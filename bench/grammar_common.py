"""A common grammar of eleven languages beside separate ones: held-out perplexity, categories, spans; the time of it.

``tatoeba11``: the first lines of every language, every tenth held out; 20 categories, sentences of up to 10 words, the
best of a few starts, the same number of iterations for all. Categories and spans are judged on short sentences of
treebanks in these languages, which were not learned from: many-to-one accuracy against the twelve universal tags
(``tagsets``), categories pooled over languages, and F1 of spans (without whole sentences; those of dependency trees
are the yields of subtrees).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.harness import Call, Cell, Claim, table, typical

LANGUAGES = ("da", "de", "el", "en", "es", "fi", "fr", "it", "nl", "pt", "sv")
LINES, ANNEALING, ITERATIONS, RESTARTS, SPEED = 800, 15, 15, 2, 100_000
ESTIMATES = ("common", "separate", "em")
UD = {"en": "ud-english-ewt", "fr": "ud-french-sequoia", "de": "ud-german-gsd", "fi": "ud-finnish-tdt"}
BRACKETS = {"es": "cess-esp", "pt": "floresta-pt", "nl": "alpino-nl"}
RIGHT, APART = "right-branching F1", "right-branching, last word apart, F1"
SOURCES = ("corpuscle/grammar/common.py", "corpuscle/grammar/variational.py", "corpuscle/engine/dp/dense.py")


def cells(data: Path) -> Iterator[Cell]:
    """All languages by each estimate; growth; the time of an iteration."""
    texts = tuple(data / "tatoeba11" / f"{code}.txt" for code in LANGUAGES)
    sides = [Call(each, "bench.grammar_common:job", {"data": str(data), "estimate": each}) for each in ESTIMATES]
    yield Cell("languages", "eleven languages", tuple(sides), None, texts, None, 1, False, SOURCES)
    side = Call("common", "bench.grammar_common:speed", {"data": str(data)})
    yield Cell("speed", "time of an iteration", (side,), None, texts, None, 1, False, SOURCES)


def _texts(data: str, lines: int) -> list[Any]:
    from corpuscle.text import read_text

    return [read_text(Path(data) / "tatoeba11" / f"{code}.txt")[:lines] for code in LANGUAGES]


def job(timer: Any, data: str, estimate: str) -> dict[str, float]:
    """Learn, then score what was held out, and treebanks."""
    import numpy as np

    from corpuscle.grammar import CommonGrammar, warm

    warm()
    texts = _texts(data, LINES)
    held = [np.arange(len(text)) % 10 == 9 for text in texts]
    annealing = {} if estimate == "em" else {"annealing": ANNEALING}
    iterations = ITERATIONS + (ANNEALING if estimate == "em" else 0)
    settings = {"estimate": estimate, "restarts": RESTARTS, "iterations": iterations, **annealing}
    model = CommonGrammar(**settings, tolerance=0.0, min_count=2, workers=1)
    with timer:
        model.fit([text.select(~out) for text, out in zip(texts, held, strict=True)], list(LANGUAGES))
    figures: dict[str, Any] = {}
    logs = words = 0.0
    for code, text, out in zip(LANGUAGES, texts, held, strict=True):
        rest = text.select(out & (text.lengths > 0) & (text.lengths <= 10))
        model.language = code
        own = float(model.sentence_probability(rest).sum())
        figures[f"perplexity {code}"] = float(np.exp(-own / rest.n_tokens))
        logs, words = logs + own, words + rest.n_tokens
    figures["perplexity of all"] = float(np.exp(-logs / words))
    return figures | _judged(model, Path(data))


def _judged(model: Any, data: Path) -> dict[str, Any]:
    """Many-to-one accuracy with categories pooled over languages, F1 of spans by language, and the most frequent tag of
    each category in each (as numbers in ``UNIVERSAL``, -1 where it has no word)."""
    from collections import Counter

    import numpy as np

    from corpuscle.grammar import branching, span_f1
    from corpuscle.grammar.sentences import UNIVERSAL

    figures, pairs = dict[str, Any](), Counter[tuple[str, str]]()
    for code in (*UD, *BRACKETS):
        words, tags, gold = _treebank(data, code)
        model.language = code
        trees = model.parse(words).trees
        found, labels, own = [], trees.labels.strings(), Counter[tuple[str, str]]()
        for i in range(len(words)):
            a, b = trees.tree_starts[i : i + 2].tolist()
            spans = trees.spans[a:b]
            wide = spans[:, 1] - spans[:, 0] > 1
            found.append(spans[wide])
            own.update((labels[a + j], tags[i][spans[j, 0]]) for j in np.flatnonzero(~wide).tolist())
        right = branching("right", words.lengths, np.ones(len(words), int)).lists(words.lengths)
        inner = branching("right", words.lengths - 1, np.ones(len(words), int)).lists(words.lengths - 1)
        apart = [np.concatenate([each, [[0, n]]]) for each, n in zip(inner, words.lengths.tolist(), strict=True)]
        for name, spans_found in (("spans F1", found), (RIGHT, right), (APART, apart)):
            figures[f"{name} {code}"] = 100 * span_f1(gold, spans_found, words.lengths, 10)["proper"]
        figures[f"many-to-one accuracy {code}"] = 100 * _many_to_one(own)
        of = {label: max((n, tag) for (name, tag), n in own.items() if name == label)[1] for label, _ in own}
        named = (of.get(str(k)) for k in range(model.nonterminals))
        figures[f"tags {code}"] = [-1 if tag is None else UNIVERSAL.index(tag) for tag in named]
        pairs += own
    return figures | {"many-to-one accuracy": 100 * _many_to_one(pairs)}


def _many_to_one(pairs: Any) -> float:
    """The share of words whose tag is the most frequent one of their category."""
    best: dict[str, int] = {}
    for (label, _), n in pairs.items():
        best[label] = max(best.get(label, 0), n)
    return sum(best.values()) / sum(pairs.values())


def _treebank(data: Path, code: str) -> tuple[Any, Any, list[Any]]:
    """Sentences of up to ten words of a treebank: words, universal tags, and the spans of its trees."""
    import numpy as np

    from bench.tagsets import TAGSETS, read_treebank
    from corpuscle.grammar import TagMap, gold_spans
    from corpuscle.text import Corpus, read_conllu

    if code in BRACKETS:
        trees = read_treebank(data / BRACKETS[code] / "dev.mrg")
        trees = trees.select((trees.words.lengths > 1) & (trees.words.lengths <= 10))
        names, starts = TagMap.from_patterns(TAGSETS[BRACKETS[code]]), trees.words.sentence_starts.tolist()
        universal = [(names.of(tag) or ("X", True))[0] for tag in trees.word_tags]
        rows = [universal[a:b] for a, b in pairwise(starts)]
        return trees.words, rows, gold_spans(trees, np.ones(trees.words.n_tokens, bool))
    path = next((data / UD[code]).glob("*dev*.conllu"))
    bank = read_conllu(path)
    bank = bank.select((bank.corpus.lengths > 1) & (bank.corpus.lengths <= 10))
    names = TagMap.built_in()
    tags = [(names.of(tag) or ("X", True))[0] for tag in bank.tags.strings()]
    starts = bank.corpus.sentence_starts.tolist()
    gold = []
    for a, b in pairwise(starts):
        heads, spans = bank.heads[a:b].tolist(), {(0, b - a)}
        for word in range(b - a):
            below, grown = {word}, True
            while grown:
                more = {i for i, head in enumerate(heads) if head - 1 in below} - below
                below, grown = below | more, bool(more)
            if len(below) == max(below) - min(below) + 1 > 1:
                spans.add((min(below), max(below) + 1))
        gold.append(np.array(sorted(spans)))
    rows = [tags[a:b] for a, b in pairwise(starts)]
    return Corpus.from_sentences(list(bank.corpus)), rows, gold


def speed(timer: Any, data: str) -> dict[str, float]:
    """CPU seconds of a start and one iteration, on one thread, by number of sentences and of languages."""
    from corpuscle.grammar import CommonGrammar, warm

    warm()
    figures = {}
    each = SPEED // len(LANGUAGES)
    texts = _texts(data, 15_000)
    texts = [text.select((text.lengths > 0) & (text.lengths <= 10))[: each + 1] for text in texts]
    for name, some in (
        ("100,000 sentences", texts),
        ("25,000 sentences", [text[: each // 4] for text in texts]),
        ("25,000 sentences, five of the languages", [text[: each // 4] for text in texts[:5]]),
    ):
        model = CommonGrammar(restarts=1, annealing=0, iterations=1, tolerance=0.0, workers=1)
        begin = time.process_time()
        with timer:
            model.fit(some, list(LANGUAGES[: len(some)]))
        figures[f"{name}, CPU s"] = time.process_time() - begin
        figures[f"{name}, number"] = float(model.provenance_["sentences"])
    return figures


def tables(results: dict[str, Any]) -> list[str]:
    """Figures of each estimate by language; the tags of the common grammar's categories; time."""
    from corpuscle.grammar.sentences import UNIVERSAL

    found = [table(results["speed"])] if "speed" in results else []
    if "languages" not in results:
        return found
    result, judged, lines = results["languages"], (*UD, *BRACKETS), []

    def values(estimate: str, figure: str, codes: tuple[str, ...], whole: str = "") -> str:
        shown = [f"{typical(result, estimate, f'{figure} {code}'):.1f}" if code in codes else "" for code in LANGUAGES]
        return " | ".join([*shown, f"{typical(result, estimate, whole):.1f}" if whole else ""])

    rule = "| --- |" + " ---: |" * (len(LANGUAGES) + 1)
    lines += ["### Eleven languages", "", f"| | {' | '.join(LANGUAGES)} | all |", rule]
    for estimate in ESTIMATES:
        shown = values(estimate, "perplexity", LANGUAGES, "perplexity of all")
        lines.append(f"| held-out perplexity, {estimate} | {shown} |")
    for estimate in ESTIMATES:
        shown = values(estimate, "many-to-one accuracy", judged, "many-to-one accuracy")
        lines.append(f"| many-to-one accuracy, {estimate} | {shown} |")
    for estimate in ESTIMATES:
        lines.append(f"| spans F1, {estimate} | {values(estimate, 'spans F1', judged)} |")
    lines += [f"| {figure} | {values(ESTIMATES[0], figure, judged)} |" for figure in (RIGHT, APART)]
    curves = result["runs"][ESTIMATES[0]][0]["curves"]
    lines += ["", "### The most frequent tag of the common grammar's categories", "",
              f"| category | {' | '.join(judged)} |", "| ---: |" + " --- |" * len(judged)]  # fmt: skip
    for k in range(len(curves[f"tags {judged[0]}"])):
        tags = [int(curves[f"tags {code}"][k]) for code in judged]
        lines.append(f"| {k} | {' | '.join(UNIVERSAL[tag] if tag >= 0 else '' for tag in tags)} |")
    return ["\n".join(lines), *found]


def claims(results: dict[str, Any]) -> list[Claim]:
    """Perplexity and categories beside separate grammars, and time."""
    found = [
        Claim("Common grammar of 11 languages: held-out perplexity beside separate grammars", "lower"),
        Claim("Common grammar of 11 languages: many-to-one accuracy beside separate grammars", "higher"),
        Claim("An iteration over 100,000 sentences of up to 10 words", "below 10 s on two cores (20 CPU s)"),
        Claim("Its time a sentence: a quarter of the sentences, and that of five languages", "the same within a fifth"),
    ]
    if "languages" in results:
        common, separate = (typical(results["languages"], each, "perplexity of all") for each in ESTIMATES[:2])
        found[0] = Claim(found[0].text, found[0].target, f"{common:.1f}, separate {separate:.1f}", common < separate)
        common, separate = (typical(results["languages"], each, "many-to-one accuracy") for each in ESTIMATES[:2])
        found[1] = Claim(found[1].text, found[1].target, f"{common:.1f}, separate {separate:.1f}", common > separate)
    if "speed" in results:
        value = typical(results["speed"], "common", "100,000 sentences, CPU s")
        found[2] = Claim(found[2].text, found[2].target, f"{value:.1f} CPU s on one thread", value < 20)
        each = [
            1e6 * typical(results["speed"], "common", f"{name}, CPU s")
            / typical(results["speed"], "common", f"{name}, number")
            for name in ("100,000 sentences", "25,000 sentences", "25,000 sentences, five of the languages")
        ]  # fmt: skip
        shown = ", ".join(f"{value:.0f}" for value in each) + " microseconds"
        found[3] = Claim(found[3].text, found[3].target, shown, max(each) < 1.2 * min(each))
    return found


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    return "\n".join([
        "### Notes", "",
        f"- {LINES:,} lines of every language; the best of {RESTARTS} starts by the objective, each of {ANNEALING}",
        f"  annealed and {ITERATIONS} further iterations (EM: {ANNEALING + ITERATIONS}). More of each would help all.",
        "- Words that occur once are unknown words, and perplexities count them as such.",
        "- Most short sentences end in a full stop, which right-branching trees take in: hence the line in which the",
        "  last word stands apart.",
        "- `corpuscle grammar rules M` and `corpuscle grammar categories M` list rules and categories with words.",
    ])  # fmt: skip
