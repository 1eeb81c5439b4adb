"""A common grammar of eleven languages beside separate ones: held-out perplexity, categories, spans; the time of it.

``tatoeba11``: the first lines of every language, every tenth held out; 20 categories, sentences of up to 10 words, one
start, the same number of iterations for all. Categories and spans are judged on short sentences of treebanks in these
languages, which were not learned from: many-to-one accuracy against universal tags where there are any, and F1 of spans
(without whole sentences; those of dependency trees are the yields of subtrees).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.harness import Call, Cell, Claim, typical

LANGUAGES = ("da", "de", "el", "en", "es", "fi", "fr", "it", "nl", "pt", "sv")
LINES, ITERATIONS, SPEED = 500, 15, 100_000
ESTIMATES = ("common", "separate")
UD = {"en": "ud-english-ewt", "fr": "ud-french-sequoia", "de": "ud-german-gsd", "fi": "ud-finnish-tdt"}
BRACKETS = {"es": "cess-esp", "pt": "floresta-pt", "nl": "alpino-nl"}
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
    model = CommonGrammar(estimate=estimate, restarts=1, iterations=ITERATIONS, tolerance=0.0, min_count=2, workers=1)
    begin = time.process_time()
    with timer:
        model.fit([text.select(~out) for text, out in zip(texts, held, strict=True)], list(LANGUAGES))
    figures = {"CPU s an iteration": (time.process_time() - begin) / ITERATIONS}
    logs = words = 0.0
    for code, text, out in zip(LANGUAGES, texts, held, strict=True):
        rest = text.select(out & (text.lengths > 0) & (text.lengths <= 10))
        model.language = code
        own = float(model.sentence_probability(rest).sum())
        figures[f"perplexity {code}"] = float(np.exp(-own / rest.n_tokens))
        logs, words = logs + own, words + rest.n_tokens
    figures["perplexity of all"] = float(np.exp(-logs / words))
    return figures | _judged(model, Path(data))


def _judged(model: Any, data: Path) -> dict[str, float]:
    """Many-to-one accuracy with categories pooled over languages, and F1 of spans by language."""
    from collections import Counter

    import numpy as np

    from corpuscle.grammar import branching, span_f1

    figures, pairs = dict[str, float](), Counter[tuple[str, str]]()
    for code in (*UD, *BRACKETS):
        words, tags, gold = _treebank(data, code)
        model.language = code
        trees = model.parse(words).trees
        found, labels = [], trees.labels.strings()
        for i in range(len(words)):
            a, b = trees.tree_starts[i : i + 2].tolist()
            spans = trees.spans[a:b]
            wide = spans[:, 1] - spans[:, 0] > 1
            found.append(spans[wide])
            if tags is not None:
                pairs.update((labels[a + j], tags[i][spans[j, 0]]) for j in np.flatnonzero(~wide).tolist())
        right = branching("right", words.lengths, np.ones(len(words), int)).lists(words.lengths)
        for name, trees_found in (("spans F1", found), ("right-branching F1", right)):
            figures[f"{name} {code}"] = 100 * span_f1(gold, trees_found, words.lengths, 10)["proper"]
    best = {label: max(n for (own, _), n in pairs.items() if own == label) for label, _ in pairs}
    return figures | {"many-to-one accuracy": 100 * sum(best.values()) / sum(pairs.values())}


def _treebank(data: Path, code: str) -> tuple[Any, Any, list[Any]]:
    """Sentences of up to ten words of a treebank: words, universal tags (or None), and the spans of its trees."""
    import numpy as np

    from bench.tagsets import read_treebank
    from corpuscle.grammar import gold_spans
    from corpuscle.text import Corpus, read_conllu

    if code in BRACKETS:
        trees = read_treebank(data / BRACKETS[code] / "dev.mrg")
        trees = trees.select((trees.words.lengths > 1) & (trees.words.lengths <= 10))
        return trees.words, None, gold_spans(trees, np.ones(trees.words.n_tokens, bool))
    path = next((data / UD[code]).glob("*dev*.conllu"))
    bank = read_conllu(path)
    bank = bank.select((bank.corpus.lengths > 1) & (bank.corpus.lengths <= 10))
    tags, starts = bank.tags.strings(), bank.corpus.sentence_starts.tolist()
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
        model = CommonGrammar(restarts=1, iterations=1, tolerance=0.0, workers=1)
        begin = time.process_time()
        with timer:
            model.fit(some, list(LANGUAGES[: len(some)]))
        figures[f"{name}, CPU s"] = time.process_time() - begin
        figures[f"{name}, number"] = float(model.provenance_["sentences"])
    return figures


def claims(results: dict[str, Any]) -> list[Claim]:
    """Perplexity beside separate grammars, and time."""
    found = [
        Claim("Common grammar of 11 languages: held-out perplexity beside separate grammars", "lower"),
        Claim("An iteration over 100,000 sentences of up to 10 words", "below 10 s on two cores (20 CPU s)"),
    ]
    if "languages" in results:
        common, separate = (typical(results["languages"], each, "perplexity of all") for each in ESTIMATES[:2])
        found[0] = Claim(found[0].text, found[0].target, f"{common:.1f}, separate {separate:.1f}", common < separate)
    if "speed" in results:
        value = typical(results["speed"], "common", "100,000 sentences, CPU s")
        found[1] = Claim(found[1].text, found[1].target, f"{value:.1f} CPU s on one thread", value < 20)
    return found


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    return "\n".join([
        "### Notes", "",
        f"- {LINES:,} lines of every language, {ITERATIONS} iterations from one start: a start decides much, and more",
        "  lines and iterations help all.",
        "- Words that occur once are unknown words, and perplexities count them as such.",
    ])  # fmt: skip
