"""``corpuscle grammar common``: one grammar for several languages from their raw sentences, and what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from corpuscle.cli.command import COUNT, Figures, argument, command, given_of, option, output, resume, work_of, written
from corpuscle.cli.common import load, table_text
from corpuscle.cli.grammar import group
from corpuscle.errors import InputError, SettingError
from corpuscle.grammar.settings import CommonSettings
from corpuscle.progress import clock
from corpuscle.text.wording import number, seconds

if TYPE_CHECKING:
    from corpuscle.grammar import CommonGrammar
    from corpuscle.text import Corpus

__all__: list[str] = []


def _codes(paths: tuple[str, ...], languages: str | None) -> list[str]:
    """Codes of languages: as given, or the names of their files without folder and ending."""
    from pathlib import PurePath

    codes = [PurePath(path).name.partition(".")[0] for path in paths] if languages is None else languages.split(",")
    if len(codes) != len(paths) or len(set(codes)) < len(codes) or not all(codes):
        raise SettingError("every text needs a language code of its own: --languages en,de,...")
    return codes


def _read(model: CommonGrammar, path: str) -> Corpus:
    """A text, or the words of a CoNLL-U file."""
    from corpuscle.text import Corpus, read_conllu
    from corpuscle.text.conllu import is_treebank

    return Corpus.from_sentences(read_conllu(path).corpus) if is_treebank(path) else model.read(path)


def _starts(model: CommonGrammar, paths: tuple[str, ...], texts: list[Corpus], class_models: tuple[str, ...]) -> Any:
    """What words are to categories at first, by their tags or classes; None at random."""
    import numpy as np

    from corpuscle.grammar import starts_from_groups, starts_from_tags
    from corpuscle.text import read_conllu
    from corpuscle.text.conllu import is_treebank

    if (model.start == "classes") != bool(class_models) or (class_models and len(class_models) != len(paths)):
        raise SettingError("--start classes needs a --class-model for each text, in the same order")
    if model.start == "random":
        return None
    if model.start == "classes":
        found = []
        for number, (path, text) in enumerate(zip(class_models, texts, strict=True)):
            classes = load(path, "classes", ("words.exchange", "words.brown"))
            groups = np.asarray(classes.classes_)[classes.vocab_.mapping_from(text.vocab)]
            found.append(starts_from_groups(groups, model.nonterminals, model.seed, number))
        return found
    for path in paths:
        if not is_treebank(path):
            raise InputError(path, None, "--start tags needs CoNLL-U files with UPOS")
    banks = [read_conllu(path) for path in paths]
    tags = sorted({tag for bank in banks for tag in bank.tags.used} - {"_"})
    return [starts_from_tags(bank, model.nonterminals, tags) for bank in banks]


@command(group, settings=CommonSettings.SETTINGS.values())
@argument("texts", many=True)
@output()
@option("languages", "Codes of languages, in the order of the texts.", metavar="CODE,...", show_default="file names")
@option("class_model", "Word classes of a text, for --start classes; once for each.", metavar="MODEL", multiple=True)
@written("plot", "Draw the objective by iteration (SVG or PNG).", form="figure")
@resume
def common(
    texts: tuple[str, ...], output: str, languages: str | None, class_model: tuple[str, ...], plot: str | None,
    resume: bool, **settings: Any,
) -> Figures:  # fmt: skip
    """Learn a grammar for each of several languages, and what they share, from raw sentences (no translations)."""

    from corpuscle.grammar import CommonGrammar, deviations, language_tree

    begin, codes = clock(), _codes(texts, languages)
    model = CommonGrammar(**given_of(settings), **work_of())
    corpora = [_read(model, path) for path in texts]
    starts = _starts(model, texts, corpora, class_model)
    with model.checkpoint(corpora, output, resume) as checkpoint:
        model.fit(corpora, codes, starts=starts, checkpoint=checkpoint).save(output)
    if plot is not None:
        _plot(model, plot)
    figures = {**model.provenance_, "seconds": clock() - begin}
    figures |= {"deviations": deviations(model), "tree": language_tree(model)}
    text = (
        f"{output}: {figures['sentences']:,} sentences of {len(codes)} languages ({figures['left_out']:,} left out), "
        f"{figures['iterations']} iterations, objective {number(figures['objective'])}, {seconds(figures['seconds'])}\n"
        f"{figures['tree']}"
    )
    return Figures(figures, text)


def _plot(model: CommonGrammar, path: str) -> None:
    from corpuscle.figures import save_figure
    from corpuscle.figures.plots import Series, line_plot

    series = Series("objective", list(range(1, len(model.history_) + 1)), model.history_.tolist())
    save_figure(line_plot([series], title="Objective by iteration", x_label="iteration", y_label="objective"), path)


def _names(path: str | None, categories: int) -> list[str]:
    """Names of categories: numbers, or from a file of number, tab, name."""
    from corpuscle.text import read_table

    names = list(map(str, range(categories)))
    for line, (category, name) in read_table(path, ("category", "name"), skip_blank=True) if path is not None else ():
        if not category.isdecimal() or int(category) >= categories:
            raise InputError(path, line, f"{category[:20]!r} is no category from 0 to {categories - 1}")
        names[int(category)] = name
    return names


_NAMES = option("names", "Names of categories: number, tab, name.", metavar="FILE")


@command(group)
@argument("model")
@_NAMES
@option("most", "How many rules.", metavar="N", type=COUNT, default=20)
def rules(model: str, names: str | None, most: int) -> Figures:
    """The rules that languages share, with their common probability and an example in each language."""
    from corpuscle.grammar import common_rules

    loaded = load(model, "grammar", ("grammar.common",))
    called = _names(names, loaded.nonterminals)
    found = common_rules(loaded, most)
    titles = [f"{called[rule.parent]} -> {called[rule.left]} {called[rule.right]}" for rule in found]
    values = [rule._asdict() | {"rule": title} for rule, title in zip(found, titles, strict=True)]
    rows = [(value["rule"], value["probability"], value["strength"], *value["examples"].values()) for value in values]
    return Figures({"rules": values}, table_text(("rule", "probability", "strength", *loaded.languages_), rows))


@command(group)
@argument("model")
@_NAMES
@option("k", "How many words of each category.", "-k", metavar="N", type=COUNT, default=8)
@written("html", "Also write the table as a page (HTML).")
def categories(model: str, names: str | None, k: int, html: str | None) -> Figures:
    """The categories of a common grammar, with their typical words in every language side by side."""
    from corpuscle.grammar import category_words

    loaded = load(model, "grammar", ("grammar.common",))
    called, words = _names(names, loaded.nonterminals), category_words(loaded, k)
    emits = loaded.common_.emits[:, 0] / loaded.common_.emits.sum(axis=1)
    heading = ("category", "emits", *loaded.languages_)
    each = zip(called, emits, words, strict=True)
    rows = [(name, float(share), *map(" ".join, row.values())) for name, share, row in each]
    if html is not None:
        from corpuscle.packs.page import document, table
        from corpuscle.text.files import write_atomically

        with write_atomically(html, "w") as file:
            file.write(document("Categories", table(heading, rows)))
    values = [
        {"category": number, "name": name, "emits": float(share), "words": row}
        for number, (name, share, row) in enumerate(zip(called, emits, words, strict=True))
    ]
    return Figures({"categories": values}, table_text(heading, rows))


@command(group)
@argument("model")
def languages(model: str) -> Figures:
    """How far the languages of a common grammar are from it and from each other, and the tree of the nearest ones."""
    from corpuscle.grammar import deviations, language_distances, language_tree

    loaded = load(model, "grammar", ("grammar.common",))
    table, apart, tree = language_distances(loaded), deviations(loaded), language_tree(loaded)
    rows = [(name, apart[name], *row) for name, row in zip(loaded.languages_, table.tolist(), strict=True)]
    values = {"languages": loaded.languages_, "deviations": apart, "distances": table, "tree": tree}
    return Figures(values, table_text(("language", "from common", *loaded.languages_), rows) + f"\n{tree}")


@command(group)
@argument("model")
@argument("text")
@option("language", "Which language the text is in.", metavar="CODE", show_default="the one that knows most words")
def perplexity(model: str, text: str, language: str | None) -> Figures:
    """The perplexity a word of a text under the grammar of its language."""
    loaded = load(model, "grammar", ("grammar.common",))
    loaded.language = language
    corpus = _read(loaded, text).filled()
    longest = int(corpus.lengths.max())
    if longest > 60:
        raise corpus.error(f"{longest} words in a sentence; at most 60", int(corpus.lengths.argmax()))
    name = loaded.languages_[loaded.language_of(corpus)]
    return Figures({"perplexity": loaded.perplexity(corpus), "words": corpus.n_tokens, "language": name})
