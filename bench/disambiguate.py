"""Disambiguation on development parts: which analysis is first, by model, by element, by estimator, by size.

``E1``, ``E2``: per cent of the words whose right analysis is not first, or not among the first two; ``ambiguous``: the
same of words with several candidates, one of them right. Seconds are CPU seconds on one worker.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench.harness import CELLS, Call, Cell, Claim

FILES = CELLS / "files"
SOURCES = ("corpuscle/disambiguate/**/*.py", "corpuscle/measure/tags.py")
SETS = ("arabic-padt", "quran", "turkish-imst", "czech-fictree")
MODELS = {name: {"method": name} for name in ("first", "frequency", "uni", "baseline", "full")}
MORE = {name: {"method": name} for name in ("ind", "agreement", "viterbi")}
CHEAT = {"cheat": {"method": "cheat"}, "cheat, right neighbours": {"method": "cheat", "neighbours": "gold"}}
_SPLIT = {"crossfit": 0}
_PAPER = {**_SPLIT, "free": False}
PAPER = {name: {"method": name, **_PAPER} for name in ("uni", "baseline", "ind", "full", "cheat")}
ESTIMATORS: dict[str, dict[str, Any]] = {
    name: {"method": "full", "stage2": name, **_SPLIT}
    for name in ("softmax", "ridge", "svr", "svc", "james-stein", "none")
} | {
    f"{name}, {transform}": {"method": "full", "stage2": name, "transform": transform, **_SPLIT}
    for name in ("softmax", "svr") for transform in ("raw", "fraction")
}  # fmt: skip
PARTS = {f"{share:.0%}": {"method": "full", "d2": share, **_SPLIT} for share in (0.01, 0.02, 0.05, 0.1, 0.2, 0.4)}
DOCUMENTS = {
    f"{what}, {'with' if on else 'without'} documents": {"method": "full", "documents": on, **more, **_SPLIT}
    for what, more in (("lemma", {"elements": ["lemma"]}), ("all elements", {})) for on in (True, False)
} | {"lemma, with documents by word": {"method": "full", "by_word": True, "elements": ["lemma"], **_SPLIT}}  # fmt: skip
TABLES = {
    name: {"method": name, "analyser": "buckwalter"} for name in ("first", "frequency", "full", "cheat", "viterbi")
} | {"full, all endings": {"method": "full", "analyser": "buckwalter", "expand_endings": True}}
LABELS = {"pos": ["pos"], "pos, Case": ["pos", "Case"], "pos, dpos": ["pos", "dpos"]}
CHAINED = 800
"""Sentences that chains learn from: their seconds grow with the square of the number of labels."""
CHAINS = {"linear-chain CRF": "lbfgs", "structured perceptron": "ap", "MIRA, one best": "pa"}
SIZES = (22_000, 44_000, 88_000, 175_000, 350_000)


def cells(data: Path) -> Iterator[Cell]:
    """Models on four sets, then questions about some of them."""
    for name in SETS:
        yield _cell(data, f"models-{name}", f"{name}: models", name, MODELS)
        yield _cell(data, f"more-{name}", f"{name}: further models", name, MORE)
        yield _cell(data, f"cheat-{name}", f"{name}: with the analyses of neighbours", name, CHEAT)
    for name in ("arabic-padt", "quran"):
        yield _cell(data, f"paper-{name}", f"{name}: counts with the word only, a tenth for the weights", name, PAPER)
        yield _cell(data, f"elements-{name}", f"{name}: each element by its own model", name, None)
    for name in ("turkish-imst", "czech-fictree"):
        train, dev = _files(data, name)
        side = Call("all", "bench.disambiguate:beside", {"train": train, "dev": dev})
        inputs = Path(train), Path(dev)
        yield Cell(f"tagger-{name}", f"{name}: beside a tagger", (side,), None, inputs, None, 1, False, SOURCES)
    title = "arabic-padt: how the counts are weighed, a tenth for the weights"
    yield _cell(data, "estimators", title, SETS[0], ESTIMATORS)
    yield _cell(data, "parts", "arabic-padt: the share of the text for the weights", SETS[0], PARTS)
    for name in ("quran", "turkish-imst"):
        yield _cell(data, f"documents-{name}", f"{name}: the words of the document", name, DOCUMENTS)
    yield _cell(data, "tables", "arabic-padt: analyses of Buckwalter's tables", SETS[0], TABLES)
    train, dev = _files(data, SETS[0])
    for number, (kind, elements) in enumerate(LABELS.items(), 1):
        side = Call("all", "bench.disambiguate:chains", {"train": train, "dev": dev, "elements": elements})
        title = f"arabic-padt, {CHAINED} sentences: chains over {kind}"
        yield Cell(f"chains-{number}", title, (side,), None, (Path(train), Path(dev)), None, 1, False, SOURCES)
    for n in SIZES:
        side = Call("all", "bench.disambiguate:growth", {"words": n})
        yield Cell(f"growth-{n}", f"{n:,} words", (side,), None, (), None, 1, False, SOURCES)


def _files(data: Path, name: str) -> tuple[str, str]:
    folder = FILES if name == "quran" else data / f"ud-{name}"
    train, dev = (folder / f"{'quran-' if name == 'quran' else ''}{part}.conllu" for part in ("train", "dev"))
    return str(train), str(dev)


def _make_quran(data: Path) -> None:
    from bench.quran import convert

    FILES.mkdir(parents=True, exist_ok=True)
    source = data / "quran-morphology-ar"
    for part in ("train", "dev"):
        convert(source / f"{part}.tsv", source / "lemmas-glosses.tsv", FILES / f"quran-{part}.conllu")


def _cell(data: Path, name: str, title: str, which: str, runs: dict[str, dict[str, Any]] | None) -> Cell:
    train, dev = _files(data, which)
    job = "elements" if runs is None else "models"
    arguments = {"train": train, "dev": dev} | ({} if runs is None else {"runs": runs})
    inputs, prepare = (Path(train), Path(dev)), None
    if which == "quran":
        source = data / "quran-morphology-ar"
        inputs, prepare = (source / "train.tsv", source / "dev.tsv"), partial(_make_quran, data)
    sides = (Call("all", f"bench.disambiguate:{job}", arguments),)
    return Cell(name, title, sides, None, inputs, prepare, 1, False, SOURCES)


def learner(settings: dict[str, Any]) -> Any:
    """A disambiguator by its settings, the method among them."""
    from corpuscle.catalogue import TASKS, find

    kind = find(TASKS["disambiguate"].methods[settings["method"]].learner)
    known = kind().settings
    if "method" not in known:
        settings = {key: value for key, value in settings.items() if key != "method"}
    given = {key: tuple(value) if isinstance(value, list) else value for key, value in settings.items()}
    return kind(**given, workers=1)


def measured(model: Any, gold: Any) -> tuple[dict[str, float], Any]:
    """The figures of a model on a treebank in per cent, and its ranking."""
    from corpuscle.measure import analyses, ranks_of

    bank = model.words_of(gold)
    model.rank(bank[:2])
    begin = time.process_time()
    ranking = model.rank(bank)
    seconds = time.process_time() - begin
    ranks = ranks_of(ranking.starts, ranking.labels, model.gold(bank, ranking))
    found = analyses(ranking.starts, ranks, model.knows(bank), bank.corpus.sentence_starts)
    names = {
        "e1": "E1", "e1_low": "E1 low", "e1_high": "E1 high", "e2": "E2", "ambiguous_e1": "ambiguous E1",
        "ambiguous_e2": "ambiguous E2", "ceiling": "ceiling",
    }  # fmt: skip
    figures = found.to_json()
    chosen = {shown: 100 * figures[name] for name, shown in names.items() if name in figures}
    chosen |= {"candidates": figures["candidates"], "words a CPU second": len(ranks) / seconds}
    if hasattr(model, "scores"):
        chosen["after analysis"] = _speed(model, bank)
    return chosen, ranking


def _speed(model: Any, bank: Any) -> float:
    """The words that are ranked in a CPU second once their candidates are there."""
    from corpuscle.disambiguate.analyses import ranked, text_of
    from corpuscle.disambiguate.weight_fitting import shares_of

    lists = model.lists_of(text_of(bank, model.strip_vowels))
    begin = time.process_time()
    text = text_of(bank, model.strip_vowels)
    scores, counts = model.scores(text, lists)
    ranked(lists, scores, counts, shares_of(scores, lists.rows.starts))
    return len(text.tokens) / (time.process_time() - begin)


def models(timer: Any, train: str, dev: str, runs: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Learn and measure several models; figures are called by run and figure."""
    from corpuscle.disambiguate import warm
    from corpuscle.text import read_conllu

    warm()
    bank, gold = read_conllu(train), read_conllu(dev)
    figures = {}
    for name, settings in runs.items():
        model = learner(settings)
        begin = time.process_time()
        with timer:
            model.fit(bank)
        learned = time.process_time() - begin
        rows = measured(model, gold)[0] | {"training CPU s": learned}
        if settings.get("analyser") == "buckwalter":
            rows["ceiling of the tables"] = _ceiling(model, gold)
        figures |= {f"{name} · {key}": value for key, value in rows.items()}
        print(name, rows, flush=True)
    return figures


def beside(timer: Any, train: str, dev: str) -> dict[str, float]:
    """The full model, and the candidate nearest to the analysis of a tagger: second-order chains over all features."""
    from corpuscle.disambiguate import warm
    from corpuscle.measure.tags import TAG_LAYERS
    from corpuscle.tag import Tagger
    from corpuscle.text import read_conllu

    warm()
    bank, gold = read_conllu(train), read_conllu(dev)
    with timer:
        full, tagger = learner({"method": "full"}).fit(bank), Tagger(workers=1).fit(bank)
    figures, ranking = measured(full, gold)
    names, ids = full.labels_of(tagger.annotate(gold.without(*TAG_LAYERS.values())))
    said, right = [name.split("\t") for name in names], full.gold(gold, ranking).tolist()
    candidates, starts = [name.split("\t") for name in ranking.names], ranking.starts.tolist()
    hits = []
    for i, id in enumerate(ids.tolist()):
        here = ranking.labels[starts[i] : starts[i + 1]].tolist()
        if len(here) > 1 and right[i] in here:
            alike = [sum(a == b for a, b in zip(said[id], candidates[each], strict=True)) for each in here]
            hits.append(here[alike.index(max(alike))] == right[i])
    return {
        "full · ambiguous E1": figures["ambiguous E1"],
        "candidate nearest to a tagger's analysis · ambiguous E1": 100 * (1 - sum(hits) / len(hits)),
    }


def _ceiling(model: Any, gold: Any) -> float:
    """For how many words the tables alone propose the right analysis, per cent."""
    from corpuscle.disambiguate.analyses import written

    names, ids = model.labels_of(gold)
    forms, proposals = gold.corpus.vocab.strings, model._proposals
    pairs = zip(gold.corpus.tokens.tolist(), ids.tolist(), strict=True)
    hits = [names[label] in proposals.notes(written(forms[token])) for token, label in pairs]
    return 100 * sum(hits) / len(hits)


def elements(timer: Any, train: str, dev: str) -> dict[str, float]:
    """A model for each element (E1, E2), and what the model of whole analyses has of it."""
    import numpy as np

    from corpuscle.disambiguate import Ranker, warm
    from corpuscle.disambiguate.analyses import label_hashes
    from corpuscle.measure import analyses_by_element
    from corpuscle.text import read_conllu

    warm()
    bank, gold = read_conllu(train), read_conllu(dev)
    with timer:
        full = Ranker(crossfit=0, workers=1).fit(bank)
    ranking = full.rank(gold)
    names, ids = full.labels_of(gold)
    found, right = (label_hashes(each, full.elements_)[:, 1:].view(np.int64) for each in (ranking.names, names))
    figures = {}
    for row in analyses_by_element(ranking.starts, ranking.labels, found, right[ids], full.elements_):
        name = row["element"]
        figures |= {f"{name} · full E1": 100 * row["e1"], f"{name} · full E2": 100 * row["e2"]}
        try:
            with timer:
                alone = Ranker(crossfit=0, elements=(name,), workers=1).fit(bank)
        except Exception as error:  # an element that no word has in two ways has nothing to learn
            print(name, error)
            continue
        mine = measured(alone, gold)[0]
        figures |= {f"{name} · E1": mine["E1"], f"{name} · E2": mine["E2"]}
    return figures


def chains(timer: Any, train: str, dev: str, elements: list[str]) -> dict[str, float]:
    """Chains over labels of some elements by CRFsuite, beside a full ranker of the same elements."""
    import tempfile

    import pycrfsuite

    from corpuscle.disambiguate import Ranker, warm
    from corpuscle.text import read_conllu

    warm()
    bank, gold = read_conllu(train)[:CHAINED], read_conllu(dev)
    figures: dict[str, float] = {}
    begin = time.process_time()
    with timer:
        ranker = Ranker(elements=tuple(elements), workers=1).fit(bank)
    figures |= {"full · training CPU s": time.process_time() - begin, "full · E1": measured(ranker, gold)[0]["E1"]}
    sides = [(_sentences(each, ranker), *ranker.labels_of(each), each.corpus.sentence_starts) for each in (bank, gold)]
    figures["full · labels"] = len(ranker.labels_) - 3
    for name, algorithm in CHAINS.items():
        begin = time.process_time()
        trainer = pycrfsuite.Trainer(algorithm=algorithm, verbose=False)
        trainer.set_params({"max_iterations": 20 if algorithm == "lbfgs" else 10})
        rows, names, ids, starts = sides[0]
        for i, row in enumerate(rows):
            if row:
                trainer.append(row, [str(label) for label in ids[starts[i] : starts[i + 1]].tolist()])
        with tempfile.NamedTemporaryFile() as file:
            with timer:
                trainer.train(file.name)
            tagger = pycrfsuite.Tagger()
            tagger.open(file.name)
        learned = time.process_time() - begin
        rows, right, wanted, _ = sides[1]
        given = [names[int(tag)] for row in rows for tag in (tagger.tag(row) if row else ())]
        wrong = sum(a != right[b] for a, b in zip(given, wanted.tolist(), strict=True))
        figures |= {f"{name} · training CPU s": learned, f"{name} · E1": 100 * wrong / len(given)}
        print(name, elements, figures, flush=True)
    return figures


def _sentences(bank: Any, ranker: Any) -> list[list[list[str]]]:
    """The words of sentences with what the ranker looks at: the word, its neighbours and their letters, its ending."""
    from corpuscle.disambiguate.analyses import written

    rows = []
    for sentence in bank.corpus:
        words = ["<s>", *(written(word) for word in sentence), "</s>"]
        rows.append([
            [f"w={word}", f"p={p}", f"q={q}", f"wp={word} {p}", f"wq={word} {q}", f"p1={p[:1]}", f"q1={q[:1]}",
             f"pe={p[-1:]}", f"qe={q[-1:]}", *(f"e{k}={word[-k:]}" for k in range(1, 6)),
             *(f"b{k}={word[:k]}" for k in range(1, 4))]
            for p, word, q in zip(words, words[1:], words[2:], strict=False)
        ])  # fmt: skip
    return rows


def growth(timer: Any, words: int) -> dict[str, float]:
    """The seconds to learn from a generated text, and how many words a second are ranked after analysis."""
    from corpuscle.disambiguate import Ranker, warm
    from corpuscle.samples import generate

    warm()
    bank = generate(seed=1, sentences=words // 10).treebank()
    n = int((bank.corpus.sentence_starts <= words).sum()) - 1
    bank = bank[:n]
    begin = time.process_time()
    with timer:
        model = Ranker(workers=1).fit(bank)
    learned = time.process_time() - begin
    return {
        "words": bank.corpus.n_tokens, "training CPU s": learned,
        "microseconds a word": 1e6 * learned / bank.corpus.n_tokens,
        "words a CPU second after analysis": _speed(model, bank[:2000]),
    }  # fmt: skip


def _rows(result: dict[str, Any]) -> dict[str, dict[str, float]]:
    """The figures of a cell by run."""
    rows: dict[str, dict[str, float]] = {}
    for key, value in _figures(result).items():
        run, _, figure = key.partition(" · ")
        rows.setdefault(run, {})[figure] = value
    return rows


def _figures(result: dict[str, Any]) -> dict[str, float]:
    return result["runs"]["all"][0]["figures"]


def _table(title: str, first: str, rows: dict[str, dict[str, float]]) -> str:
    heading = list(dict.fromkeys(name for row in rows.values() for name in row if name not in ("E1 low", "E1 high")))
    lines = [f"### {title}", "", f"| {' | '.join([first, *heading])} |", "| --- " * (1 + len(heading)) + "|"]
    for name, row in rows.items():
        shown = [_shown(row, figure) for figure in heading]
        lines.append(f"| {' | '.join([name, *shown])} |")
    return "\n".join(lines)


def _shown(row: dict[str, float], figure: str) -> str:
    if figure not in row:
        return ""
    value = row[figure]
    text = f"{value:,.0f}" if abs(value) >= 1000 or figure == "labels" else f"{value:.1f}"
    return f"{text} ({row['E1 low']:.1f} to {row['E1 high']:.1f})" if figure == "E1" and "E1 low" in row else text


def tables(results: dict[str, Any]) -> list[str]:
    """All tables of the section; those of the models of one set are one."""
    parts = []
    for name, result in results.items():
        if name.startswith(("more-", "cheat-", "growth-")):
            continue
        rows = _rows(result)
        for more in ("more", "cheat") if name.startswith("models-") else ():
            rows |= _rows(results[key]) if (key := name.replace("models", more)) in results else {}
        parts.append(_table(result["title"], "element" if name.startswith("elements-") else "model", rows))
    sizes = {f"{n:,}": _figures(results[key]) for n in SIZES if (key := f"growth-{n}") in results}
    return [*parts, _table("Generated text: seconds by size", "text", sizes)] if sizes else parts


def claims(results: dict[str, Any]) -> list[Claim]:
    """The full model beside frequency, and seconds."""
    found = []
    for name in SETS:
        claim = Claim(f"Disambiguation, {name}: E1 of ambiguous words, full model over frequency", "at most 0.6")
        if f"models-{name}" in results:
            rows = _rows(results[f"models-{name}"])
            ratio = rows["full"]["ambiguous E1"] / rows["frequency"]["ambiguous E1"]
            claim = Claim(claim.text, claim.target, f"{ratio:.2f}", ratio <= 0.6)
        found.append(claim)
    slow = Claim("Disambiguation: CPU seconds to learn from 350,000 words", "below 60")
    fast = Claim("Disambiguation, arabic-padt: words a CPU second after analysis", "at least 20,000")
    if f"growth-{SIZES[-1]}" in results:
        last = _figures(results[f"growth-{SIZES[-1]}"])
        slow = Claim(slow.text, slow.target, f"{last['training CPU s']:.0f}", last["training CPU s"] < 60)
    if f"models-{SETS[0]}" in results:
        speed = _rows(results[f"models-{SETS[0]}"])["full"]["after analysis"]
        fast = Claim(fast.text, fast.target, f"{speed:,.0f}", speed >= 20_000)
    return [*found, slow, fast]


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    return "\n".join([
        "### Notes", "",
        "- Learned from the training part, measured on the development part; nothing was tuned on it. The lexicon is",
        "  that of the training part, so that the ceiling is far below that of a full analyser; intervals are a",
        "  bootstrap over sentences.",
        "- Counts with the word only and a tenth kept for the weights are the paper's setting; its order (E1) is cheat",
        "  8.2, full 9.4, uni 11.6, baseline 13.6, ind 18.7.",
        f"- Chains have CRFsuite's learners (20 rounds; online ones 10) on the first {CHAINED} sentences, for their",
        "  seconds grow with the square of the labels, and the word, its neighbours, their letters and endings as",
        "  features; they choose among all labels, not among candidates. `full` has the same sentences. Chains are",
        "  better at one or two elements, where the lexicon of 800 sentences lacks many candidates, and as fast: that",
        "  they are slower by orders of magnitude, as the paper says, is true of thousands of labels, not of these.",
        "- Turkish and Czech miss the target, with 28,553 and 13,808 words to learn from (Arabic: 33,812): the full",
        "  model has a quarter and a third fewer errors than frequency. Our tagger, which learns from the same",
        "  words with far more features and decides whole sentences, is not much better at these words (tables",
        "  beside a tagger): what is left is hard for both. Of the errors on a held-out fifth of the training parts",
        "  a quarter of the Turkish ones are in the part of speech alone, a quarter of the Czech ones in the case",
        "  alone and a sixth in animacy and gender. Counts with the last two letters of words and neighbours in",
        "  their place were tried: on held-out training words E1 fell by 8 % (Arabic), 7 % (Czech) and 5 %",
        "  (Finnish) and rose by 2 % (Turkish), on these parts it fell by 1 to 3 %, while Viterbi became worse on",
        "  Arabic (10.9 to 11.5) and ranking a third slower: not in the product.",
        "- Words of a document: the paper's features cut E1 of lemmas by 5.7 points; here, with chapters of the Quran,",
        "  they change little, and weighing each word by itself makes it worse: many weights for few documents.",
        "- Of PADT, further models, analyses of neighbours, ways of weighing, Buckwalter's tables, 22,000 and 88,000",
        "  words were measured before document features became faster, a change after which all recorded rankings are",
        "  the same (`bench.record`, group disambiguate), and all of PADT before empty input got an answer; their",
        "  seconds are those of then.",
        "- Tokens of the Quran are written words: `pre1`, `pre2`, `suf` and `pron` are what is attached.",
    ])  # fmt: skip
