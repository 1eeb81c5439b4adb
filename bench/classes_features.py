"""Classes as features: names and supersenses with classes of all methods, beside no classes.

``names``: a linear-chain CRF (python-crfsuite) learns from the training part of a set and is judged on its development
part, by F1 of whole spans. Three sets of features. *paper*: the class of a token and whether it is capitalised, and no
word form; its row without classes labels the strings that were entities in the training part. *window*: the same of two
tokens to either side, too. *full*: words, affixes, shapes and tags of five tokens as entity taggers have them, to which
classes are added (bit strings cut at 4, 6, 10 and 20 where there are any). Classes come from the Brown corpus,
WikiText-2 and the text of two treebanks (chains), for conll2003-en and ncbi-disease; from the trees of the treebanks,
and from their text, for streusle, whose spans are noun and verb supersenses and whose trees are given. Classes of text
that our own parser has parsed are in ``classes_parsed``.

``supersenses``: the supersense of nouns and verbs by a linear SVM on the square roots of the probabilities of classes
(one class where a word has one), among those that the training part has for the word; 50 random splits of the training
file by sentences, 80 and 20 per cent, of which at most 3,000 instances are learned from and 2,000 judged; intervals are
those of the mean. Grave, Obozinski and Bach, "Hidden Markov tree models for semantic class induction", 2013, Tables 3
and 5.

Settings were not tuned on the sets: classes are 256 (chains; hidden Markov models with 5 passes) or 128
(treebanks) of the 25,000 most frequent words, digits as 0; the CRF has the penalty 0.1 and 100 iterations. The window
was looked at first; the rows without passes were added after the others had been seen on the development parts, to find
out what learning does to the classes, and the features without a window, which are those of the paper, after a split of
the training part of conll2003-en had shown that the window takes the place of the context that hidden Markov classes
bring. *posteriors*: features are all classes of a token above one per cent, weighted by their probabilities; without
it, the best classes of the sentence (Viterbi).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bench import english
from bench.classes_tokens import Weights, all_features, classes_and_capitals, prefixes, spans_of_supersenses
from bench.harness import Call, Cell, Claim, row, source_digest, trained

SOURCES = (
    "corpuscle/engine/dp/trees.py",
    "corpuscle/words/kernels/brown.py", "corpuscle/words/kernels/exchange.py",
    *(f"corpuscle/words/{name}.py" for name in ("classes", "hard_classes", "hmm", "hmm_learning")),
)  # fmt: skip
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "Brown": ("brown", {}),
    "exchange": ("exchange", {}),
    "HMM, random": ("hmm", {"init": "random"}),
    "HMM, Brown": ("hmm", {"init": "brown"}),
    "HMM, exchange": ("hmm", {"init": "exchange"}),
    "HMM, exchange, no passes": ("hmm", {"init": "exchange", "passes": 0}),
}
TREES: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"{name}, chain": each for name, each in METHODS.items()},
    "Brown, tree": ("brown", {"structure": "tree"}),
    "HMM, random, tree": ("hmm", {"init": "random", "structure": "tree"}),
    "HMM, Brown, tree": ("hmm", {"init": "brown", "structure": "tree"}),
    "HMM, Brown, tree with labels": ("hmm", {"init": "brown", "structure": "tree", "labelled": True}),
}
POSTERIORS, LEAST = ", posteriors", 0.01
"""Methods whose features are all classes above the second, weighted by their probabilities, and not the best one."""
METHODS |= {name + POSTERIORS: METHODS[name] for name in ("HMM, random", "HMM, Brown")}
TREES |= {name + POSTERIORS: TREES[name] for name in ("HMM, random, chain", "HMM, Brown, tree")}
FULL = ("Brown", "exchange", "HMM, random, posteriors", "HMM, Brown, posteriors")
FULL_TREES = ("Brown, chain", "Brown, tree", "HMM, random, chain, posteriors", "HMM, Brown, tree, posteriors")
"""Those that are tried with all features, where a tagger takes minutes to learn."""
WIDTHS = {"paper": 0, "window": 2, "full": 2}
"""Sets of features, and how many tokens to either side they look at."""
NONE = "no classes"
SETS = {"conll2003-en": "chain", "ncbi-disease": "chain", "streusle": "tree"}
SPLITS, LEARNED, JUDGED = 50, 3000, 2000
ITERATIONS, PENALTY = 100, 0.1
NEEDED = ("pycrfsuite", "sklearn")


def cells(data: Path) -> Iterator[Cell]:
    """All tables, the cheaper features first."""
    if not all(map(importlib.util.find_spec, NEEDED)):
        return
    for features in WIDTHS:
        for name, structure in SETS.items():
            methods = METHODS if structure == "chain" else TREES
            chosen = methods if features != "full" else FULL if structure == "chain" else FULL_TREES
            for method in (NONE, *chosen):
                yield _cell(data, f"names, {name}, {features} features", method, "names", name, features=features)
    for name in ("semcor-supersense", "streusle"):
        methods = METHODS if name != "streusle" else TREES
        for method in (NONE, *(each for each in methods if not each.endswith(POSTERIORS))):
            yield _cell(data, f"supersenses, {name}", method, "supersenses", name)


def _cell(data: Path, title: str, method: str, function: str, name: str, **more: str) -> Cell:
    """One side alone, so that it can be run and kept alone."""
    side = Call(
        method, f"bench.classes_features:{function}", {"data": str(data), "name": name, "method": method} | more
    )
    plain = "-".join(f"{title} {method}".replace(",", "").split())
    inputs = tuple(sorted((data / name).glob("*.tsv")))
    return Cell(plain, title, (side,), None, inputs, partial(english.text, data), 1, False, SOURCES)


class Learned(NamedTuple):
    """Where classes come from: the ``name`` of the text, its ``files`` in the folder of data, how many ``classes``, the
    ``passes`` of hidden Markov models (None: their default), the ``methods``; ``parsed``: sets get trees by our own
    parser."""

    name: str
    files: Callable[[Path], list[Path]]
    classes: int
    passes: int | None
    methods: dict[str, tuple[str, dict[str, Any]]]
    parsed: bool = False


RUNNING = Learned("chain", lambda data: [english.text(data)], 256, 5, METHODS)
BANKS = Learned("tree", english.banks, 128, None, TREES)


def _learned(name: str) -> Learned:
    """What the classes for a set are learned from."""
    return BANKS if SETS.get(name) == "tree" else RUNNING


# ---- classes of tokens


def _model(data: Path, method: str, learned: Learned):
    """The model of a method: kept from an earlier run, or learned now."""
    from corpuscle.catalogue import TASKS, find
    from corpuscle.words import warm

    warm()
    method = method.removesuffix(POSTERIORS)
    name, settings = learned.methods[method]
    how = {"classes": learned.classes, "max_types": 25_000, "digits": True, **settings}
    if name == "hmm" and learned.passes is not None:
        how = {"passes": learned.passes, **how}
    make = partial(find(TASKS["classes"].methods[name].learner), **how)
    plain = "-".join(f"features {learned.name} {method}".replace(",", "").split())
    kept = f"{plain}-{source_digest((*SOURCES, *english.SOURCES) if learned.parsed else SOURCES)}"
    texts = () if (english.FILES / f"{kept}.model").exists() else (make().read(*learned.files(data)),)
    return trained(kept, make, *texts)[0]


def _classes(data: Path, method: str, learned: Learned, text: Any) -> tuple[Any, Any]:
    """The class of each token of a text, int (tokens,), and the path of each class, if they have paths."""
    from corpuscle.text.vocab import FIRST

    model = _model(data, method, learned)
    found = model.apply(_prepared(model, text)).tokens - FIRST
    return found, model.tree_.paths if model.tree_ is not None else None


def _prepared(model: Any, text: Any) -> Any:
    """A text as the model reads it: words prepared, a chain where it learned from chains."""
    import dataclasses

    from corpuscle.words import Forest

    if model.structure == "chain":
        return model.preprocessing.apply(text.corpus if isinstance(text, Forest) else text)
    return dataclasses.replace(text, corpus=model.preprocessing.apply(text.corpus))


# ---- the sets


def _read(data: Path, name: str, part: str, parsed: bool) -> tuple[Any, list[list[str]], list[list[str]], Any]:
    """Words by sentence, tags of words (or none), tags of spans, and the text that classes are found for."""
    if name == "streusle":
        return _streusle(data / name / f"{part}.tsv")
    from corpuscle.text import read_columns, read_conllu
    from corpuscle.words import Forest

    columns = read_columns(data / name / f"{part}.bio.tsv")
    sentences = range(len(columns))
    tags = [columns.values("column2", i) if "column2" in columns.layers else [] for i in sentences]
    labels = [columns.values("label", i) for i in sentences]
    words = [columns.corpus.words(i) for i in sentences]
    if parsed:
        return words, tags, labels, Forest.tree(read_conllu(english.parsed(data, words, f"{name}-{part}")))
    return words, tags, labels, columns.corpus


def _streusle(path: Path) -> tuple[Any, list[list[str]], list[list[str]], Any]:
    """The same of streusle; spans are strong expressions without gaps that have a noun or verb supersense."""
    from corpuscle.text import Treebank
    from corpuscle.words import Forest

    words, tags, labels, heads, relations = [], [], [], [], []
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        rows = [line.split("\t") for line in block.split("\n") if not line.startswith("#")]
        words.append([each[1] for each in rows])
        tags.append([each[3] for each in rows])
        heads.append([int(each[5]) for each in rows])
        relations.append([each[6] for each in rows])
        labels.append(spans_of_supersenses([each[7] for each in rows]))
    bank = Treebank.from_sentences(words, heads=heads, relations=relations)
    return words, tags, labels, Forest.tree(bank)


# ---- names


def names(
    timer, data: str, name: str, method: str, features: str, learned: Learned | None = None
) -> dict[str, Any]:
    """Learn a tagger, judge it; counts of spans by sentence are kept for paired tests."""
    from corpuscle.text.mention_tags import spans_of_tags

    folder, learned = Path(data), learned or _learned(name)
    train, test = (_read(folder, name, part, learned.parsed) for part in ("train", "dev"))
    gold = [set(spans_of_tags(labels, "bio", True)) for labels in test[2]]
    with timer:
        if method == NONE and features != "full":
            found = _strings_seen(train, test)
        else:
            found = _tagged(folder, learned, method, features, (train, test))
    counts = [(len(a & b), len(a), len(b)) for a, b in zip(found, gold, strict=True)]
    right, said, wanted = map(sum, zip(*counts, strict=True))
    scores = {"precision": 100 * right / max(1, said), "recall": 100 * right / wanted}
    return {"F1": 200 * right / (said + wanted), **scores, "counts": [n for each in counts for n in each]}


def _strings_seen(train: Any, test: Any) -> list[set[Any]]:
    """The longest strings that were entities in the training part, with the type that they had most often."""
    from collections import Counter, defaultdict

    from corpuscle.text.mention_tags import spans_of_tags

    seen: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for words, labels in zip(train[0], train[2], strict=True):
        for begin, end, label in spans_of_tags(labels, "bio", True):
            seen[tuple(words[begin:end])][label] += 1
    longest = max(map(len, seen))
    found = []
    for words in test[0]:
        spans, at = set(), 0
        while at < len(words):
            lengths = range(min(longest, len(words) - at), 0, -1)
            size = next((n for n in lengths if tuple(words[at : at + n]) in seen), 0)
            if size:
                label = seen[tuple(words[at : at + size])].most_common(1)[0][0]
                spans.add((at, at + size, label))
            at += max(1, size)
        found.append(spans)
    return found


def _tagged(data: Path, learned: Learned, method: str, features: str, parts: Any) -> list[set[Any]]:
    """The spans that a CRF finds in the second part after it has learned from the first."""
    import tempfile

    import pycrfsuite

    from corpuscle.text.mention_tags import spans_of_tags

    made = [_features(data, learned, method, features, part) for part in parts]
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    least = 2 if features == "full" else 1
    trainer.set_params({"c1": 0.0, "c2": PENALTY, "max_iterations": ITERATIONS, "feature.minfreq": least})
    for rows, labels in zip(made[0], parts[0][2], strict=True):
        trainer.append(rows, labels)
    with tempfile.NamedTemporaryFile(suffix=".crfsuite") as file:
        trainer.train(file.name)
        tagger = pycrfsuite.Tagger()
        with tagger.open(file.name):
            return [set(spans_of_tags(tagger.tag(rows), "bio", True)) for rows in made[1]]


def _features(data: Path, learned: Learned, method: str, features: str, part: Any) -> list[list[Weights]]:
    """The features of every token of every sentence."""
    words, tags, _, text = part
    classes = iter(_class_features(data, learned, method, features, text) if method != NONE else ())
    make, width = all_features if features == "full" else classes_and_capitals, WIDTHS[features]
    found = []
    for sentence, of_words in zip(words, tags, strict=True):
        here = [next(classes, Weights()) for _ in sentence]
        found.append([make(i, width, sentence, of_words, here) for i in range(len(sentence))])
    return found


def _class_features(data: Path, learned: Learned, method: str, features: str, text: Any) -> Iterator[Weights]:
    """The class of each token as a feature, or the beginnings of its path, or all probable classes."""
    if method.endswith(POSTERIORS):
        model = _model(data, method, learned)
        for rows in model.posteriors(_prepared(model, text)):
            for row_ in rows:
                kept = (row_ > LEAST).nonzero()[0].tolist()
                yield {f"c={number}": float(row_[number]) for number in kept}
        return
    found, paths = _classes(data, method, learned, text)
    for number in found.tolist():
        names = prefixes(paths[number]) if features == "full" and paths else [f"c={number}"]
        yield dict.fromkeys(names, 1.0)


# ---- supersenses


def supersenses(timer, data: str, name: str, method: str, learned: Learned | None = None) -> dict[str, Any]:
    """Accuracy on nouns and on verbs, by split."""
    import numpy as np

    folder, learned = Path(data), learned or _learned(name)
    words, _, labels, text = _read(folder, name, "train", learned.parsed)
    figures: dict[str, Any] = {}
    with timer:
        rows = None if method == NONE else _roots(folder, method, learned, text)
        for kind in ("noun", "verb"):
            made = _instances(words, labels, kind)
            found = [_split(made, len(words), rows, split) for split in range(SPLITS)]
            scores = np.array(found) * 100
            mean, spread = scores.mean(axis=0), 1.96 * scores.std(axis=0, ddof=1) / SPLITS**0.5
            figures |= {f"{kind}s": float(mean[0]), f"{kind}s, ±": float(spread[0])}
            if rows is None:
                figures |= {f"{kind}s, most frequent of the word": float(mean[1]), f"{kind}s, n": float(len(made[0]))}
            figures[f"{kind} splits"] = scores[:, 0].tolist()
    return figures


def _roots(data: Path, method: str, learned: Learned, text: Any) -> Any:
    """The square roots of the probabilities of classes of every token, sparse (tokens, C)."""
    import numpy as np
    import scipy.sparse as sparse

    model = _model(data, method, learned)
    if hasattr(model, "posteriors"):
        parts = model.posteriors(_prepared(model, text))
        return sparse.vstack([sparse.csr_array(np.sqrt(np.where(rows > 1e-4, rows, 0.0))) for rows in parts]).tocsr()
    found, _ = _classes(data, method, learned, text)
    ones = np.ones(len(found))
    return sparse.csr_array((ones, (np.arange(len(found)), found)), shape=(len(found), model.n_classes_))


def _instances(words: Any, labels: Any, kind: str) -> tuple[Any, Any, list[str], Any]:
    """Tokens, sentences, words in lower case and supersenses of all spans of nouns or verbs: a noun is judged at its
    last token, a verb at its first."""
    import numpy as np

    from corpuscle.text.mention_tags import spans_of_tags

    tokens, sentences, keys, senses, first = [], [], [], [], 0
    for number, (sentence, tags) in enumerate(zip(words, labels, strict=True)):
        for begin, end, label in spans_of_tags(tags, "bio", True):
            if label.startswith((f"{kind}.", f"{kind[0]}.")):
                at = end - 1 if kind == "noun" else begin
                tokens.append(first + at)
                sentences.append(number)
                keys.append(sentence[at].lower())
                senses.append(label)
        first += len(sentence)
    return np.array(tokens), np.array(sentences), keys, np.array(senses)


def _split(made: Any, n_sentences: int, rows: Any, split: int) -> tuple[float, float]:
    """Accuracy of one split: of the SVM (without classes, of the most frequent supersense), and of the most frequent
    supersense of each word."""
    from collections import Counter, defaultdict

    import numpy as np

    from corpuscle.random import Random

    tokens, sentences, keys, senses = made
    order = np.array(Random(1, "bench.supersenses", split).shuffled(range(n_sentences)))
    held = np.zeros(n_sentences, bool)
    held[order[: n_sentences // 5]] = True
    mixed = np.array(Random(2, "bench.supersenses", split).shuffled(range(len(tokens))))
    train, test = mixed[~held[sentences[mixed]]], mixed[held[sentences[mixed]]][:JUDGED]
    lexicon: dict[str, Counter[str]] = defaultdict(Counter)
    for i in train:
        lexicon[keys[i]][senses[i]] += 1
    usual = Counter(senses[train].tolist()).most_common(1)[0][0]
    by_word = [lexicon[keys[i]].most_common(1)[0][0] if keys[i] in lexicon else usual for i in test]
    if rows is None:
        return float((senses[test] == usual).mean()), float((senses[test] == by_word).mean())
    from sklearn.svm import LinearSVC

    learned = train[:LEARNED]
    svm = LinearSVC(dual=True, tol=1e-2, random_state=1).fit(rows[tokens[learned]].toarray(), senses[learned])
    scores = svm.decision_function(rows[tokens[test]].toarray())
    number = {sense: i for i, sense in enumerate(svm.classes_)}
    right = 0
    for row_, i in zip(scores, test, strict=True):
        allowed = [number[sense] for sense in lexicon.get(keys[i], ()) if sense in number] or list(range(len(row_)))
        right += svm.classes_[max(allowed, key=lambda j: row_[j])] == senses[i]
    return right / len(test), float((senses[test] == by_word).mean())


# ---- what it shows


def grouped_runs(results: dict[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """Runs by title and method."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for result in results.values():
        for side, runs in result["runs"].items():
            found.setdefault(result["title"], {})[side] = runs[0]
    return found


def compared(one: dict[str, Any], other: dict[str, Any]) -> Any:
    """F1 of one minus that of another, by paired bootstrap over sentences."""
    import numpy as np

    from corpuscle.measure import compare_f1

    return compare_f1(*(np.reshape(run["curves"]["counts"], (-1, 3)) for run in (one, other)), items="sentences")


def claims(results: dict[str, Any]) -> list[Claim]:
    """What these figures must show: hidden Markov models that learned beside Brown clusters."""
    grouped, made = grouped_runs(results), []
    for features, shown in (("paper", "class and capital alone"), ("window", "of five tokens")):
        for name, structure in SETS.items():
            text = f"{name}, {shown}: F1 of the best hidden Markov model over Brown clusters"
            base = "Brown" if structure == "chain" else "Brown, chain"
            runs = grouped.get(f"names, {name}, {features} features", {})
            models = [each for each in runs if each.startswith("HMM") and "no passes" not in each]
            if base not in runs or not models:
                made.append(Claim(text, "0.5"))
                continue
            best = max(models, key=lambda method: runs[method]["figures"]["F1"])
            gain = runs[best]["figures"]["F1"] - runs[base]["figures"]["F1"]
            told = compared(runs[best], runs[base])
            measured = f"{gain:+.1f} ({best}; best of {len(models)}; {100 * told.low:+.1f} to {100 * told.high:+.1f})"
            made.append(Claim(text, "0.5", measured, gain >= 0.5 if told.low > 0 or told.high < 0 else None))
    return made


def tables(results: dict[str, Any]) -> list[str]:
    """A table for each task and set; differences to Brown clusters with their intervals."""
    made = []
    for title, runs in grouped_runs(results).items():
        figures = list(dict.fromkeys(key for run in runs.values() for key in run["figures"]))
        spans = "F1" in figures
        base = next((name for name in ("Brown", "Brown, chain") if name in runs), None)
        head = ["", "CPU s", *figures, *(["F1 over Brown (95 %)", "p"] if spans and base else [])]
        lines = [f"### {title}", "", row(head), row(["---"] + ["---:"] * (len(head) - 1))]
        for side, run in runs.items():
            cells = [side, f"{run['cpu']:.0f}"]
            cells += [f"{run['figures'][key]:,.2f}" if key in run["figures"] else "" for key in figures]
            if spans and base and side != base:
                told = compared(run, runs[base])
                difference = run["figures"]["F1"] - runs[base]["figures"]["F1"]
                cells += [f"{difference:+.2f} ({100 * told.low:+.2f} to {100 * told.high:+.2f})", f"{told.p_value:.3f}"]
            lines.append(row(cells + [""] * (len(head) - len(cells))))
        made.append("\n".join([*lines, ""]))
    return made


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    lines = ["### Notes", "", *(f"- {part}" for part in _ABOUT)]
    if not all(map(importlib.util.find_spec, NEEDED)):
        lines.append("- python-crfsuite or scikit-learn was not installed.")
    return "\n".join(lines)


_ABOUT = [" ".join(part.split()) for part in (__doc__ or "").split("\n\n")[1:]]
