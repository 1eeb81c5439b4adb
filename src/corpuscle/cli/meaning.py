"""``corpuscle meaning``: what words and phrases mean by a hidden Markov model, out of context and in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from corpuscle.cli.command import (
    COUNT,
    Figures,
    annotation,
    argument,
    command,
    option,
    output,
    raw,
    task_group,
    written,
)
from corpuscle.cli.common import annotated, load, table_text
from corpuscle.errors import InputError, SettingError
from corpuscle.text.wording import percent
from corpuscle.words.settings import MeaningSettings

if TYPE_CHECKING:
    from corpuscle.words import Meaning, Standardised
    from corpuscle.words.senses import Token

__all__ = ["group"]

group = task_group("meaning")
_SETTINGS = MeaningSettings.SETTINGS
_MEASURE = [_SETTINGS[name] for name in ("measure", "least_probability")]
_NEAR = [*_MEASURE, _SETTINGS["rare_below"]]
_k = option("k", "How many words.", "-k", metavar="N", type=COUNT, default=10)
_draws = option("draws", "Draws of the bootstrap.", metavar="N", type=click.IntRange(1, 10**6), default=2000)
_best = option(
    "best", "Of all parts of speech that bare words may have, take those that are most alike; else nouns.", is_flag=True
)


def _meaning(model: str, settings: dict[str, Any]) -> Meaning:
    from corpuscle.words import Meaning

    return Meaning(load(model, "classes", ("words.hmm",)), **settings)


def _forest(loaded: Any, paths: tuple[str, ...], raw: bool, tagger: str | None, parser: str | None) -> Any:
    """Texts as the model reads them, tagged or parsed first if that is asked for."""
    from corpuscle.words.forests import Forest, forest_of

    if tagger is None and parser is None:
        _no_raw(raw)
        return loaded.read(*paths)
    found = [annotated(path, raw, tagger, parser) for path in paths]
    described = (loaded.structure, loaded.layer, loaded.preprocessing)
    return Forest.joined([forest_of(bank, *described, path) for bank, path in zip(found, paths, strict=True)])


def _no_raw(raw: bool) -> None:
    if raw:
        raise SettingError("--raw is for text that is tagged or parsed first: with --tagger or --parser")


def _near(found: list[tuple[str, float, int]]) -> list[dict[str, Any]]:
    return [{"word": word, "similarity": similarity, "count": count} for word, similarity, count in found]


@command(group, work=True)
@argument("model")
@argument("text", many=True)
@output("-", form="file")
@written("save", "Also write the model, with these meanings of words.", form="model", metavar="MODEL")
@written("tokens", "Also write the tokens in context: sentence, token, word, and its likeliest classes.", metavar="TSV")
@raw
@annotation
@option("k", "At most so many classes of each token.", "-k", metavar="N", type=COUNT, default=16)
def represent(
    model: str,
    text: tuple[str, ...],
    output: str,
    save: str | None,
    tokens: str | None,
    raw: bool,
    tagger: str | None,
    parser: str | None,
    k: int,
) -> Figures:
    """Write what the words of a text mean, the mean of their tokens in context, as word2vec text: the share of every
    class. Where the model has learned from trees, the text is CoNLL-U or is parsed first."""
    import numpy as np

    from corpuscle.text.vectors import write_vectors
    from corpuscle.text.vocab import FIRST
    from corpuscle.words import Meaning
    from corpuscle.words.meaning import represent as represented_by
    from corpuscle.words.meaning import write_tokens

    loaded = load(model, "classes", ("words.hmm",))
    read = _forest(loaded, text, raw, tagger, parser)
    if read.n_tokens == 0:
        raise InputError(" ".join(text), None, "an empty text: there are no words in it")
    found = represented_by(loaded, read)
    meaning = Meaning(found)
    ids = np.flatnonzero(meaning.counts > 0)
    if tokens is not None:
        write_tokens(loaded, read, tokens, k)
    words = ids[ids >= FIRST]
    write_vectors(meaning.vocab.subset(words), meaning.vectors[np.append(np.arange(FIRST), words)], output)
    if save is not None:
        found.save(save)
    figures = {"tokens": read.n_tokens, "types": len(ids), "classes": loaded.n_classes_}
    figures |= {"rare": int(meaning.rare(ids).sum())}
    return Figures(figures, "")


@command(group, settings=_NEAR)
@argument("model")
@argument("words")
@_k
@option("any_tag", "Words of all parts of speech.", "--any-tag", is_flag=True)
def nearest(model: str, words: str, k: int, any_tag: bool, **settings: Any) -> Figures:
    """Show the words nearest to a word, or to the head of a phrase in its context ("small house")."""
    from corpuscle.words import compose

    meaning = _meaning(model, settings)
    phrase = meaning.phrase(words)
    id = meaning.id(phrase.terms[phrase.head])
    vector = meaning.vectors[id]
    if len(phrase.terms) > 1:
        vector = compose(meaning, [phrase], ways=["head-context"]).vectors["head-context"][0]
    found = meaning.nearest(vector, k, "" if any_tag else meaning.tag(id), [id])
    count = round(meaning.counts[id])
    figures = {"word": meaning.vocab.word(id), "phrase": str(phrase), "count": count}
    figures |= {"rare": bool(meaning.rare(id)), "words": _near(found)}
    return Figures(figures, table_text((), found))


@command(group, settings=_MEASURE)
@argument("model")
@argument("first")
@argument("second")
def compare(model: str, first: str, second: str, **settings: Any) -> Figures:
    """Show how alike two words or phrases are, in all ways to compose them. A phrase is words ("small house", perhaps
    with parts of speech, "small/ADJ house/NOUN"), or any tree: word/TAG/HEAD, heads from 1 on, 0 for the root."""
    from corpuscle.words import COMPOSITIONS, compose

    meaning = _meaning(model, settings)
    phrases = [meaning.phrase(each) for each in (first, second)]
    alone = all(len(phrase.terms) == 1 for phrase in phrases)
    composed = compose(meaning, phrases, ways=COMPOSITIONS[:1] if alone else COMPOSITIONS)
    values = {way: float(meaning.similarity_of(rows[:1], rows[1:])[0]) for way, rows in composed.vectors.items()}
    figures = {"first": str(phrases[0]), "second": str(phrases[1]), "measure": meaning.measure, "similarity": values}
    return Figures(figures, table_text((), values.items()))


@command(group, settings=_NEAR, seed=True)
@argument("model")
@argument("pairs")
@_best
@option(
    "unknown", "Pairs with an unknown word: left out, or as alike as others on average.",
    type=click.Choice(("drop", "mean")), default="drop",
)  # fmt: skip
@option("sweep", "Compare with this model on the pairs that all know; may be repeated.", metavar="MODEL", multiple=True)
@_draws
def similarity(
    model: str, pairs: str, best: bool, unknown: str, sweep: tuple[str, ...], draws: int, seed: int, **settings: Any
) -> Figures:
    """Compare with how alike people find words: Spearman's rank correlation on a file of two words and a score a line,
    with its 95 % interval and how many pairs are known."""
    from corpuscle.text.pairs import read_scored_pairs
    from corpuscle.words import judge_pairs
    from corpuscle.words import sweep as compare_models

    scored = read_scored_pairs(pairs)
    meanings = {name: _meaning(name, settings) for name in (model, *sweep)}
    try:
        if not sweep:
            result = judge_pairs(meanings[model], scored, best=best, unknown=unknown, draws=draws, seed=seed)
            return Figures({"measure": settings["measure"], **result.to_json()}, result.text())
        if unknown != "drop":
            raise SettingError("--sweep compares models on the pairs that all of them know: --unknown means nothing")
        found = compare_models(meanings, scored, best=best, draws=draws, seed=seed)
    except SettingError as error:
        raise InputError(pairs, None, str(error)) from None
    rows: list[dict[str, Any]] = [
        {"model": name, "classes": meanings[name].model.n_classes_, "types": len(meanings[name].vocab) - 3}
        | {key: result.to_json()[key] for key in ("spearman", "covered", "low", "high")}
        for name, result in found.items()
    ]
    chosen = max(rows, key=lambda row: row["spearman"])
    heading = ("model", "classes", "types", "Spearman", "pairs", "low", "high")
    text = table_text(heading, (row.values() for row in rows)) + f"\nbest: {chosen['model']}"
    figures = {"measure": settings["measure"], "best": chosen["model"], "pairs": len(scored), "models": rows}
    return Figures(figures, text)


@command(group, settings=_NEAR, seed=True)
@argument("model")
@argument("judgements")
@option("weight", "How much the head counts in weighted.", type=click.FloatRange(0, 1), default=0.5)
@option("stretch", "How far dilation stretches a head along dependents.", type=click.FloatRange(1, 1e6), default=2.0)
@_draws
def phrases(
    model: str, judgements: str, weight: float, stretch: float, draws: int, seed: int, **settings: Any
) -> Figures:
    """Compare with how alike people find phrases: Spearman's rank correlation of every way to compose them, over single
    ratings and over the means of items, with 95 % intervals; and whether the context helps."""
    from corpuscle.text.judgements import read_judgements
    from corpuscle.words import judge_phrases

    read = read_judgements(judgements)
    meaning = _meaning(model, settings)
    meaning.check_trees()
    try:
        found = judge_phrases(meaning, read, weight=weight, stretch=stretch, draws=draws, seed=seed)
    except SettingError as error:
        raise InputError(judgements, None, str(error)) from None
    kept = ("spearman", "low", "high")
    values = {
        "measure": meaning.measure,
        **{name: getattr(found, name) for name in ("items", "covered", "rare", "vanished", "impossible", "ceiling")},
        "ratings": {"ratings": len(read), "covered": next(iter(found.ratings.values()))["covered"]}
        | {"ways": {way: {name: each.to_json()[name] for name in kept} for way, each in found.ratings.items()}},
        "means": {way: {name: each.to_json()[name] for name in kept} for way, each in found.means.items()},
        "differences": [{"first": a, "second": b, **each.to_json()} for (a, b), each in found.differences.items()],
        "signature": next(iter(found.ratings.values())).signature,
    }
    rows = [
        (way, *(each.to_json()[name] for each in (found.ratings[way], found.means[way]) for name in kept))
        for way in found.ratings
    ]
    lines = [table_text(("way", "ratings", "low", "high", "means", "low", "high"), rows)]
    lines += [f"{a} beside {b}: {each.text()}" for (a, b), each in found.differences.items()]
    lines.append(f"{found.covered} of {found.items} phrase pairs have known words, {found.rare} of them a rare one")
    return Figures(values, "\n".join(lines))


def _relations(found: Standardised) -> dict[str, Any]:
    return {name: each._asdict() for name, each in found.relations().items()}


@command(group, settings=[*_MEASURE, _SETTINGS["head_prior"]])
@argument("model")
@argument("triples")
@option("partial", "Also concepts that lack a relation.", is_flag=True)
@written("plot", "Also draw box plots.", form="figure")
def relations(model: str, triples: str, partial: bool, plot: str | None, **settings: Any) -> Figures:
    """Show which relations are alike by meaning (BLESS: concept, class, relation, relatum): similarities to the best
    relatum, standardised by concept, without and with the map from dependents to heads."""
    from corpuscle.figures import save_figure
    from corpuscle.text.judgements import read_triples
    from corpuscle.words import draw_relations, judge_relations

    read = read_triples(triples)
    meaning = _meaning(model, settings)
    try:
        plain = judge_relations(meaning, read, partial=partial)
        mapped = judge_relations(meaning, read, mapped=True, partial=partial) if meaning.has_trees else None
    except SettingError as error:
        raise InputError(triples, None, str(error)) from None
    if plot is not None:
        save_figure(draw_relations(plain, mapped), plot)
    both = {"without map": _relations(plain)} | ({} if mapped is None else {"with map": _relations(mapped)})
    rows = [
        (side, name, each["median"], each["mean"], each["lower"], each["upper"], each["beside"] or "", each["p_value"])
        for side, found in both.items()
        for name, each in found.items()
    ]
    heading = ("", "relation", "median", "mean", "lower", "upper", "beside", "p")
    text = table_text(heading, rows)
    text += f"\n{len(plain.concepts)} of {plain.were} concepts, {plain.known:,} of {plain.triples:,} triples are known"
    figures = {"measure": meaning.measure, "concepts": plain.were, "covered": len(plain.concepts)}
    figures |= {"triples": plain.triples, "known": plain.known, "plain": both["without map"]}
    return Figures({**figures, "mapped": both.get("with map")}, text)


@command(group, "map", settings=_NEAR, figures=False)
@argument("model")
@argument("words", many=True)
@output("-", form="figure")
@option("sentences", "Also the tokens of these words in a text (CoNLL-U where there are trees).", metavar="CONLLU")
@option("k", "How many neighbours of each word.", "-k", metavar="N", type=COUNT, default=12)
@option("most", "At most so many tokens of each word.", metavar="N", type=COUNT, default=12)
def map_(
    model: str, words: tuple[str, ...], output: str, sentences: str | None, k: int, most: int, **settings: Any
) -> None:
    """Draw words by their meaning out of context, with their neighbours, and their tokens in context (SVG or PNG)."""
    from corpuscle.figures import save_figure
    from corpuscle.words.senses import draw_meanings, read_sentences

    meaning = _meaning(model, settings)
    read = None if sentences is None else read_sentences(meaning.model, sentences)
    picture = draw_meanings(meaning, words, read, k, most)
    save_figure(picture, output)


def _sentences(meaning: Meaning, path: str, raw: bool, tagger: str | None, parser: str | None) -> Any:
    """The sentences of a file, tagged or parsed first if that is asked for."""
    from corpuscle.words.senses import read_sentences, sentences_of

    if tagger is None and parser is None:
        _no_raw(raw)
        return read_sentences(meaning.model, path)
    return sentences_of(meaning.model, annotated(path, raw, tagger, parser), path)


def _said(token: Token) -> dict[str, Any]:
    return {"sentence": token.sentence, "token": token.place, "text": token.shown}


@command(group, settings=_NEAR)
@argument("model")
@argument("word")
@argument("sentences")
@raw
@annotation
@option("number", "How many senses.", "--senses", metavar="N", type=COUNT, show_default="classes with a tenth of all")
@option("examples", "How many sentences of each.", metavar="N", type=COUNT, default=5)
@_k
def senses(
    model: str,
    word: str,
    sentences: str,
    raw: bool,
    tagger: str | None,
    parser: str | None,
    number: int | None,
    examples: int,
    k: int,
    **settings: Any,
) -> Figures:
    """Show the senses of a word in a text: its tokens in context, clustered, with the words nearest to each cluster and
    example sentences."""
    from corpuscle.words.senses import senses as find_senses

    meaning = _meaning(model, settings)
    found = find_senses(meaning, word, _sentences(meaning, sentences, raw, tagger, parser), number, k)
    rows = [
        {
            "share": sense.share,
            "tokens": len(sense.tokens),
            "words": _near(sense.words),
            "classes": [{"class": c, "share": share} for c, share in sense.classes],
            "examples": [_said(token) for token in sense.tokens[:examples]],
        }
        for sense in found
    ]
    lines = []
    for i, sense in enumerate(found, 1):
        near = " ".join(each for each, _, _ in sense.words)
        lines += [f"{i}. {percent(sense.share)} of {sum(len(s.tokens) for s in found)} tokens: {near}"]
        lines += [f"   {token.shown}" for token in sense.tokens[:examples]]
    return Figures({"word": meaning.vocab.word(meaning.id(word)), "senses": rows}, "\n".join(lines))


@command(group, settings=_NEAR)
@argument("model")
@argument("word")
@argument("sentences")
@raw
@annotation
@option("most", "At most so many tokens of the word.", metavar="N", type=COUNT, default=20)
@_k
def substitutes(
    model: str,
    word: str,
    sentences: str,
    raw: bool,
    tagger: str | None,
    parser: str | None,
    most: int,
    k: int,
    **settings: Any,
) -> Figures:
    """Show what could stand in the place of a word, for each of its tokens in a text."""
    from corpuscle.words.senses import substitutes as find_substitutes

    meaning = _meaning(model, settings)
    found = find_substitutes(meaning, word, _sentences(meaning, sentences, raw, tagger, parser), k, most)
    rows = [{**_said(token), "words": _near(words)} for token, words in found]
    lines = [f"{token.shown}\n   {' '.join(each for each, _, _ in words)}" for token, words in found]
    return Figures({"word": meaning.vocab.word(meaning.id(word)), "tokens": rows}, "\n".join(lines))
