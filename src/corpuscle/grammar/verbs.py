"""What a grammar can do: learn from trees, from tagged words or from several languages, parse, say how likely trees and
sentences are, be compared with gold trees, draw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from corpuscle.catalogue import find
from corpuscle.errors import SettingError
from corpuscle.grammar import inputs
from corpuscle.grammar.inputs import TAGS, Words, bracketed_trees, read_with, tagged_words, words_of_bank
from corpuscle.parse.verbs import compared, comparing
from corpuscle.text.wording import number
from corpuscle.verbs import (
    ITEMS,
    MOST,
    SEED,
    Answer,
    Keep,
    Learned,
    Lines,
    Picture,
    Shown,
    Table,
    a_model,
    evaluates,
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
    from corpuscle.figures import NodeShown
    from corpuscle.grammar import BracketInducer, CommonGrammar, HeadTable, Parsed, TreebankGrammar, TreeMetric
    from corpuscle.grammar.sentences import TagMap
    from corpuscle.text import Corpus, Treebank, Trees
    from corpuscle.words import WordClasses

_classes = partial(a_model, "classes", "words.exchange", "words.brown", metavar="MODEL", option=True)
_TREEBANK = ("grammar.pcfg", "grammar.em", "grammar.spectral")


# ---- learning from trees


@trains("grammar", "grammar train trees.mrg -o trees.grammar", methods=("spectral", "em", "pcfg"))
def train(
    model: TreebankGrammar,
    trees: Trees = bracketed_trees(many=True),
    *,
    dev: Trees | None = bracketed_trees("Choose the weight of the PCFG by these trees.", metavar="TREES", option=True),
    keep: Keep,
) -> Learned:
    """Learn a grammar from bracketed trees: files, or folders of them; or, from a CoNLL-U file, a tagger."""
    if keep.resume and not model.RESUMES:
        raise SettingError("--resume is for --method em: the others learn in one pass")
    model.fit(trees, dev, **keep.for_fit(model, trees))
    figures: dict[str, Any] = {**model.provenance_, "tuned": sorted(model.chosen_)}
    told = "{trees:,} trees, {phrases:,} phrases, {tags:,} tags, {rules:,} rules".format_map(figures)
    return Learned(model, figures, told)


# ---- learning without trees


@trains("grammar", "grammar induce text.conllu -o brackets.grammar", methods=("treemetric", "ccm"))
def induce(
    model: BracketInducer,
    text: tuple[Treebank, Trees | None] = read_with("read_tagged"),
    *,
    vectors: Any = read_with(
        "read_vectors", "Word vectors (a model, or text of word2vec); else they are learned from TEXT.", option=True
    ),
    class_model: WordClasses | None = _classes(help="Word classes, as vectors or (--symbols) in the place of tags."),
    tag_map: TagMap | None = read_by(
        "corpuscle.grammar:read_tag_map",
        "Universal tags of other tags than Penn's: PATTERN, tab, tag.",
        metavar="TSV",
        option=True,
    ),
    keep: Keep,
) -> Learned:
    """Learn brackets from words with tags (CoNLL-U, word/TAG) or classes (plain text), without trees to learn from.

    Where TEXT is trees, only their words and tags are learned from, and the brackets are compared with theirs."""
    from corpuscle.grammar import class_vectors, span_table
    from corpuscle.words import class_sources, joint_sources

    bank, trees = text
    known: dict[str, Any] = {"sources": joint_sources(*[] if class_model is None else [class_sources(class_model)])}
    if tag_map is not None:
        known["tag_map"] = tag_map
    if model.TAKES_VECTORS:
        if vectors is None and class_model is not None:
            vectors = class_vectors(class_model)
        elif not (vectors is None or isinstance(vectors, tuple)):
            vectors = vectors.vocab_, vectors.vectors_
        known["vectors"] = vectors
    model.fit(bank, **known, **keep.for_fit(model, bank))
    figures: dict[str, Any] = dict(model.provenance_)
    more = ""
    if trees is not None:
        name = model.KIND.name.rpartition(".")[2]
        found = model.brackets(bank, gold=trees)
        rows = span_table(model.sentences(bank), trees, {name: found}, seed=model.settings["seed"])
        figures["brackets"] = rows
        columns = ("trees", "words at most", "sentences", "F1", "without whole sentences", "mean of sentences")
        more = "\n" + Table(columns, [row.values() for row in rows]).text()
    told = "{sentences:,} sentences, {words:,} words, {symbols:,} symbols".format_map(figures)
    return Learned(model, figures, told, more)


@verb("grammar", "grammar distances brackets.grammar -o distances.tsv", out="-")
def distances(model: TreeMetric = a_model("grammar", "grammar.treemetric")) -> Table:
    """Write the distances of an induced grammar: symbols, how many words apart, distance (TSV)."""
    table = model.distances_
    n, _, far = table.shape
    rows = ((a, b, apart, table[a, b, apart]) for a in range(n) for b in range(n) for apart in range(1, far))
    return Table(("left", "right", "apart", "distance"), rows)


# ---- one grammar for several languages


@verb(
    "grammar", "grammar common one.txt other.txt -o common.grammar",
    out="model", settings="corpuscle.grammar.settings:CommonSettings",
)  # fmt: skip
def common(
    texts: Sequence[Any] = path(many=True),
    *,
    languages: str | None = setting(
        "Codes of languages, in the order of the texts.", default=None, metavar="CODE,...", shown="file names"
    ),
    class_model: Sequence[WordClasses] | None = _classes(
        help="Word classes of a text, for --start classes; once for each.", many=True
    ),
    plot: str | None = written("Draw the objective by iteration (SVG or PNG).", form="figure"),
    settings: Mapping[str, Any],
    keep: Keep,
) -> Learned:
    """Learn a grammar for each of several languages, and what they share, from raw sentences (no translations)."""
    from corpuscle.figures.plots import Series, line_plot
    from corpuscle.grammar import CommonGrammar, deviations, language_tree

    codes, model = inputs.language_codes(texts, languages), CommonGrammar(**settings)
    corpora = [inputs.read_text(each, model, None) for each in texts]
    starts = inputs.first_categories(model, texts, corpora, class_model or ())
    model.fit(corpora, codes, starts=starts, **keep.for_fit(model, corpora))
    if plot is not None:
        series = Series("objective", list(range(1, len(model.history_) + 1)), model.history_.tolist())
        svg = line_plot([series], title="Objective by iteration", x_label="iteration", y_label="objective")
        Picture(svg).write(plot)
    figures = {**model.provenance_, "deviations": deviations(model), "tree": language_tree(model)}
    sizes = f"{figures['sentences']:,} sentences of {len(corpora)} languages ({figures['left_out']:,} left out)"
    told = f"{sizes}, {figures['iterations']} iterations, objective {number(figures['objective'])}"
    return Learned(model, figures, told, f"\n{figures['tree']}")


_COMMON = a_model("grammar", "grammar.common")
_NAMES: Any = read_with("read_names", "Names of categories: number, tab, name.", option=True)


@verb("grammar", "grammar rules common.grammar")
def rules(
    model: CommonGrammar = _COMMON,
    *,
    names: list[str] | None = _NAMES,
    most: int = setting("How many rules.", default=20, low=1, high=MOST),
) -> Shown:
    """The rules that languages share, with their common probability and an example in each language."""
    from corpuscle.grammar import common_rules

    called = names or [*map(str, range(model.nonterminals))]
    values = [
        rule._asdict() | {"rule": f"{called[rule.parent]} -> {called[rule.left]} {called[rule.right]}"}
        for rule in common_rules(model, most)
    ]
    rows = [(value["rule"], value["probability"], value["strength"], *value["examples"].values()) for value in values]
    return Answer({"rules": values}, Table(("rule", "probability", "strength", *model.languages_), rows).text())


@verb("grammar", "grammar categories common.grammar")
def categories(
    model: CommonGrammar = _COMMON,
    *,
    names: list[str] | None = _NAMES,
    k: int = setting("How many words of each category.", default=8, low=1, high=MOST, flag="-k"),
    html: str | None = written("Also write the table as a page (HTML)."),
) -> Shown:
    """The categories of a common grammar, with their typical words in every language side by side."""
    from corpuscle.grammar import category_words

    called = names or list(map(str, range(model.nonterminals)))
    emits = (model.common_.emits[:, 0] / model.common_.emits.sum(axis=1)).tolist()
    values = [
        {"category": i, "name": name, "emits": share, "words": row}
        for i, (name, share, row) in enumerate(zip(called, emits, category_words(model, k), strict=True))
    ]
    columns = ("category", "emits", *model.languages_)
    rows = [(each["name"], each["emits"], *map(" ".join, each["words"].values())) for each in values]
    if html is not None:
        from corpuscle.text.files import write_atomically

        document, table = find("corpuscle.packs.page:document"), find("corpuscle.packs.page:table")
        with write_atomically(html, "w") as file:
            file.write(document("Categories", table(columns, rows)))
    return Answer({"categories": values}, Table(columns, rows).text())


@verb("grammar", "grammar languages common.grammar")
def languages(model: CommonGrammar = _COMMON) -> Shown:
    """How far the languages of a common grammar are from it and from each other, and the tree of the nearest ones."""
    from corpuscle.grammar import deviations, language_distances, language_tree

    table, apart, tree = language_distances(model), deviations(model), language_tree(model)
    rows = [(name, apart[name], *row) for name, row in zip(model.languages_, table.tolist(), strict=True)]
    values = {"languages": model.languages_, "deviations": apart, "distances": table, "tree": tree}
    return Answer(values, Table(("language", "from common", *model.languages_), rows).text() + f"\n{tree}")


@verb("grammar", "grammar perplexity common.grammar test.txt")
def perplexity(
    model: CommonGrammar = _COMMON,
    text: Corpus = read_with("read_text"),
    *,
    language: str | None = setting(
        "Which language the text is in.", default=None, metavar="CODE", shown="the one that knows most words"
    ),
) -> Shown:
    """The perplexity a word of a text under the grammar of its language."""
    model.language = language
    text.filled()
    longest = int(text.lengths.max())
    if longest > 60:
        raise text.error(f"{longest} words in a sentence; at most 60", int(text.lengths.argmax()))
    name = model.languages_[model.language_of(text)]
    return Answer({"perplexity": model.perplexity(text), "words": text.n_tokens, "language": name})


# ---- parsing


@verb("grammar", "grammar parse trees.grammar text.txt -o parsed.mrg", name="parse", out="-", work=True)
def apply(
    model: Any = a_model("grammar"),
    input: Words = tagged_words(),
    *,
    nbest: int | None = setting("The N best trees of each sentence, and a blank line.", default=None, low=1, high=MOST),
    confidence: bool = setting("Write how likely each node is behind its label (NP~0.93).", default=False),
) -> Lines:
    """Parse text, a sentence a line, or the words of trees or of a CoNLL-U file; writes a tree a line."""
    if nbest is not None and confidence:
        raise SettingError("--confidence is of the best tree: not with --nbest")
    if nbest is not None:
        return _lists(model.best_trees(input.corpus, nbest, input.tags))
    return Lines.of(_bracketed(model.parse(input.corpus, input.tags), confidence))


@verb("grammar", "grammar sample trees.grammar text.txt --draws 5 -o drawn.mrg", out="-", work=True)
def sample(
    model: TreebankGrammar = a_model("grammar", *_TREEBANK),
    input: Words = tagged_words(),
    *,
    draws: int = setting("How many trees of each sentence.", default=1, low=1, high=MOST),
    seed: int = SEED,
) -> Lines:
    """Draw trees of sentences, each by its probability under the grammar's PCFG; writes them as parse --nbest does."""
    return _lists(model.sample_trees(input.corpus, draws, seed=seed, tags=input.tags))


def _bracketed(parsed: Parsed, confidence: bool = False) -> Iterable[str]:
    """Trees as lines; ``confidence``: with how likely each node is."""
    from corpuscle.text import format_brackets
    from corpuscle.text.layers import Layer

    trees = parsed.trees
    if confidence:
        labels = [f"{name}~{sure:.3f}" for name, sure in zip(trees.labels.strings(), parsed.confidence, strict=True)]
        trees = replace(trees, labels=Layer.from_strings(labels, missing=""))
    return format_brackets(trees.with_root())


def _lists(lists: Iterable[Parsed]) -> Lines:
    """Several trees of each sentence, a line each, and a blank line between sentences."""
    lines: list[str] = []
    for each in lists:
        trees = list(_bracketed(each))
        lines += [""] * bool(lines) + (trees if any(map(str.strip, trees)) else [""])
    return Lines.of(lines)


@verb("grammar", "grammar probability trees.grammar text.txt", work=True)
def probability(
    model: Any = a_model("grammar"), input: Trees | Corpus = read_with("read_either", default="-")
) -> Shown:
    """The probability of trees, or of sentences over all their trees (log10, a line each)."""
    import numpy as np

    from corpuscle.text import Trees

    logs = model.probability(input) if isinstance(input, Trees) else model.sentence_probability(input)
    tens = logs / np.log(10.0)
    possible = np.isfinite(tens)
    figures = {
        "log10": float(tens[possible].sum()), "items": len(tens), "impossible": int((~possible).sum()),
        "each": [float(value) if fine else None for value, fine in zip(tens, possible, strict=True)],
    }  # fmt: skip
    return Answer(figures, Table((), ([float(value)] for value in tens)).text())


_LEAST: Any = setting("Only constituents with at least this share.", default=0.01, low=0.0, high=1.0)


@verb("grammar", "grammar marginals trees.grammar text.txt", work=True)
def marginals(
    model: Any = a_model("grammar"), input: Words = read_with("read_words", default="-"), *, least: float = _LEAST
) -> Shown:
    """How likely every constituent of every sentence is, over all its trees."""
    found = model.marginals(input.corpus, least, input.tags)
    sentences = [
        {"words": input.corpus.words(i), "spans": [each._asdict() for each in spans]} for i, spans in enumerate(found)
    ]
    rows = [(i, *each) for i, spans in enumerate(found, 1) for each in spans]
    return Answer({"sentences": sentences}, Table(("sentence", "label", "first", "end", "share"), rows).text())


# ---- trees


_PUNCTUATION: Any = setting(
    "What punctuation is: words with such Penn tags, words of such letters, or none; auto: penn or form.",
    default="auto",
    choices=("auto", "penn", "form", "none"),
)
_MAX_LENGTH: Any = setting("Only sentences of at most N words.", default=None, low=1, high=MOST)


@evaluates(
    "grammar", "grammar evaluate gold.mrg --model trees.grammar", instead="a file of trees", overlap="", work=True
)
def evaluate(
    gold: Trees = bracketed_trees(),
    found: Any = path(metavar="TREES", default=None),
    *,
    model: Any = a_model("grammar", help="Parse the words of the gold trees with this model first.", option=True),
    tags: str = TAGS,
    punctuation: str = _PUNCTUATION,
    max_length: int | None = _MAX_LENGTH,
    by: str | None = setting("Also by label or length.", default=None, choices=("label", "length")),
    seed: int = SEED,
    names: Mapping[str, str],
) -> Shown:
    """Labelled and unlabelled brackets, exact trees, crossing brackets, tags, by the conventions of EVALB, with
    95 % intervals; a blank line among TREES is a sentence that was not parsed."""
    from corpuscle.measure import bracket_scores, bracket_scores_by
    from corpuscle.text.heldout import overlap_shares

    shares: dict[str, float] = {}
    if model is None and tags == "gold":
        raise SettingError("--tags gold means nothing for a file of trees: it is of what --model sees")
    if model is None:
        trees = inputs.parsed_trees(found, len(gold))
    else:
        words = inputs.words_of_trees(gold, model.needs_tags or tags == "gold")
        shares = overlap_shares(model, words.corpus, names.get("model", "the model"))
        trees = model.parse(*words).trees
    with comparing(None):
        result = bracket_scores(gold, trees, punctuation=punctuation, max_length=max_length, seed=seed)
    figures, text = {**result.to_json(), **shares}, result.text()
    if by is not None:
        rows = bracket_scores_by(gold, trees, by, punctuation=punctuation, max_length=max_length)
        figures[f"by_{by}"] = rows
        columns = (by, "right", "found", "gold", "precision", "recall", "F1")
        text += "\n" + Table(columns, [row.values() for row in rows]).text()
    return Answer(figures, text)


@verb("grammar", "grammar compare gold.mrg one.mrg other.mrg")
def compare(
    gold: Trees = bracketed_trees(),
    trees_a: Any = path(),
    trees_b: Any = path(),
    *,
    punctuation: str = _PUNCTUATION,
    max_length: int | None = _MAX_LENGTH,
    seed: int = SEED,
    names: Mapping[str, str],
) -> Shown:
    """Compare two parses of the same sentences: the differences of their F1, paired by sentence."""
    from corpuscle.measure import bracket_scores, compare_brackets

    sides = inputs.parsed_trees(trees_a, len(gold)), inputs.parsed_trees(trees_b, len(gold))
    how: dict[str, Any] = {"punctuation": punctuation, "max_length": max_length, "seed": seed}
    return compared(
        dict(zip(("trees_a", "trees_b"), sides, strict=True)), names, partial(bracket_scores, gold, **how),
        partial(compare_brackets, gold, *sides, **how),
        {"labelled_f1": "labelled F1", "unlabelled_f1": "unlabelled F1", "spans_f1": "spans F1"},
        {"labelled_f1": "labelled F1", "unlabelled_f1": "unlabelled", "exact": ""},
    )  # fmt: skip


@verb("grammar", "grammar dependencies gold.mrg -o gold.conllu", out="-")
def dependencies(
    trees: Trees = bracketed_trees(),
    *,
    heads: HeadTable | None = read_by(
        "corpuscle.grammar:read_heads",
        "A table of heads; else Penn's where labels are, or the first child.",
        option=True,
    ),
) -> Treebank:
    """Turn trees into dependencies by a table of heads; writes CoNLL-U with their tags as XPOS."""
    from corpuscle.grammar import to_dependencies

    return to_dependencies(trees, heads)


@verb("grammar", "grammar draw parsed.mrg -o tree.svg --tree 2", out="figure")
def draw(
    trees: Trees = bracketed_trees(),
    *,
    tree: int = setting("Which tree, from 1 on.", default=1, low=1, high=MOST),
    other: Trees | None = bracketed_trees(
        "Another parse of the same sentences: it hangs below the words.", metavar="TREES", option=True
    ),
) -> Picture:
    """Draw a tree (SVG or PNG); the less sure a node, by a number behind its label (NP~0.93), the fainter it is."""
    from corpuscle.figures import draw_constituents

    words, nodes = _shown(trees, tree)
    below = None
    if other is not None:
        same, below = _shown(other, tree)
        if same != words:
            raise other.error(f"tree {tree:,} has other words")
    return Picture(draw_constituents(words, nodes, below, title=" ".join(words)))


def _shown(trees: Trees, number: int) -> tuple[list[str], list[NodeShown]]:
    from corpuscle.figures import NodeShown

    if number > len(trees):
        raise trees.error(f"it has {len(trees):,} trees, and none of number {number:,}")
    here = trees[number - 1 : number]
    labels, parents = here.labels.strings(), here.parents.tolist()
    nodes = []
    for label, parent, (first, end) in zip(labels, parents, here.spans.tolist(), strict=True):
        name, mark, sure = label.rpartition("~")
        known = mark and sure.replace(".", "", 1).isdigit()
        nodes.append(NodeShown(name if known else label, parent, first, end, min(float(sure), 1.0) if known else None))
    return here.words.words(0), nodes


# ---- the workbench


def _typed(model: Any, bank: Treebank, tagger: Any) -> Words:
    """Sentences that were typed, with the tags of a tagger for a grammar that is of tags."""
    words = words_of_bank(bank, False)
    if not model.needs_tags or not len(bank):
        return words
    if tagger is None:
        raise SettingError("this grammar is of tags, and there is no tagger beside it")
    return words._replace(tags=words_of_bank(tagger.annotate(bank), True).tags)


def _each_tree(parsed: Parsed) -> Iterable[tuple[Trees, str]]:
    """The trees one by one, each with its brackets."""
    from corpuscle.text import format_brackets

    for i in range(len(parsed.trees)):
        tree = parsed.trees[i : i + 1]
        yield tree, " ".join(format_brackets(tree.with_root()))


@view("grammar", name="parse", text="a b c")
def parse_typed(model: Any, text: Treebank = treebank(raw=True), *, tagger: Any) -> dict[str, Any]:
    """The constituent tree of each sentence, as brackets and as a picture, and how sure each node is."""
    from corpuscle.figures import NodeShown, draw_constituents

    found, sentences = model.parse(*_typed(model, text, tagger)), []
    starts = found.trees.tree_starts.tolist()
    for (tree, brackets), begin, end in zip(_each_tree(found), starts, starts[1:], strict=False):
        sure = [float(share) for share in found.confidence[begin:end]] or [1.0] * (end - begin)
        rows = zip(tree.labels.strings(), tree.parents.tolist(), *tree.spans.T.tolist(), sure, strict=True)
        nodes, forms = [NodeShown(*row) for row in rows], tree.words.words(0)
        picture = draw_constituents(forms, nodes) if nodes else ""
        told = [node._asdict() for node in nodes]
        sentences.append({"words": forms, "tree": brackets, "nodes": told, "svg": picture})
    return {"sentences": sentences}


@view("grammar", name="marginals", text="a b c")
def marginals_typed(
    model: Any, text: Treebank = treebank(raw=True), *, tagger: Any, least: float = _LEAST
) -> dict[str, Any]:
    """How likely every constituent of each sentence is, over all its trees."""
    words = _typed(model, text, tagger)
    spans = [[span._asdict() for span in each] for each in model.marginals(words.corpus, least, words.tags)]
    return {"sentences": [{"words": list(w), "spans": each} for w, each in zip(words.corpus, spans, strict=True)]}


@view("grammar", name="probability", kinds=(*_TREEBANK, "grammar.common"), text="a b c")
def probability_typed(model: Any, text: Treebank = treebank(raw=True)) -> dict[str, Any]:
    """How likely each sentence is, over all its trees (log10), where it has one."""
    import numpy as np

    corpus = words_of_bank(text, False).corpus
    rows = zip(corpus, (model.sentence_probability(corpus) / np.log(10)).tolist(), strict=True)
    return {"sentences": [{"words": list(w), "log10": log if np.isfinite(log) else None} for w, log in rows]}


@view("grammar", name="sample", kinds=_TREEBANK, text="a b c", draws=2)
def sample_typed(
    model: TreebankGrammar,
    text: Treebank = treebank(raw=True),
    *,
    tagger: Any,
    seed: int = SEED,
    draws: int = setting("Trees of each sentence.", default=5, low=1, high=100),
) -> dict[str, Any]:
    """Trees of each sentence drawn by their probability, as brackets."""
    words = _typed(model, text, tagger)
    drawn = model.sample_trees(words.corpus, draws, seed=seed, tags=words.tags)
    trees = ([brackets for _, brackets in _each_tree(found)] for found in drawn)
    return {"sentences": [{"words": list(w), "trees": each} for w, each in zip(words.corpus, trees, strict=True)]}


@view("grammar", text="a b c")
def doubts(model: Any, text: Treebank = treebank(raw=True), *, tagger: Any, n: int = ITEMS) -> dict[str, Any]:
    """Sentences whose constituent trees are least sure, with the trees."""
    from corpuscle.measure import least_sure, unsure_item

    found = parse_typed(model, text, tagger=tagger)["sentences"]
    sure = [[min(1.0, max(0.0, node["sure"])) for node in each["nodes"]] for each in found]
    items = [unsure_item({"tree": each["tree"]}, shares) for each, shares in zip(found, sure, strict=True)]
    return least_sure(items, n, layer="brackets", choices=[])


def warm() -> None:
    """Compile every kernel of this task by running it on a few words."""
    from corpuscle import grammar
    from corpuscle.text import parse_brackets

    trees = parse_brackets(["(S (NP (D a) (N b)) (VP (V c)))", "(S (NP (D a) (N d)) (VP (V c) (NP (D a) (N b))))"] * 5)
    em, spectral = grammar.EmGrammar(states=2, iterations=1), grammar.SpectralGrammar(states=2, decode="brackets")
    for model in (grammar.Pcfg(decode="best"), em, spectral):
        model.fit(trees)
        model.parse(trees.words)
        model.best_trees(trees.words[:2], 2)
        model.sample_trees(trees.words[:1], 1)
        model.probability(trees)
        model.replace(decode="rules").fit(trees).parse(trees.words[:1])
    several = grammar.CommonGrammar(nonterminals=2, restarts=1, annealing=0, iterations=2)
    several.fit([trees.words]).parse(trees.words)
    tagged = trees.relabel(lambda label: {"D": "DET", "N": "NOUN", "V": "VERB"}.get(label, label))
    bank = grammar.bank_of_trees(tagged)
    sentences = grammar.Sentences.from_bank(bank)
    grammar.TreeMetric(dimensions=2, rank=1, decode="risk").fit(bank).brackets(bank)
    grammar.branching("random", sentences.lengths, grammar.heuristic_tops(sentences))
    for start in ("splits", "random"):
        grammar.ConstituentContext(start=start, iterations=1, decode="risk").fit(bank).brackets(bank)
