"""What words and phrases mean by a hidden Markov model, out of context and in it: written, asked for, judged, drawn."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from corpuscle.errors import SettingError
from corpuscle.text.wording import percent
from corpuscle.verbs import (
    RAW,
    SEED,
    Answer,
    Export,
    Input,
    K,
    Picture,
    Shown,
    Table,
    a_model,
    annotated,
    made_by,
    path,
    read_by,
    setting,
    text,
    verb,
    view,
    word,
    written,
)
from corpuscle.words.settings import MeaningSettings
from corpuscle.words.verbs import ANNOTATION, how_many, no_raw, of_data, words_of_a_text

if TYPE_CHECKING:
    from corpuscle.text import Corpus
    from corpuscle.text.pairs import Judgement, ScoredPair, Triple
    from corpuscle.words import Forest, HmmClasses, Meaning, Standardised
    from corpuscle.words.senses import Sentences, Token

_MEASURE = ("measure", "least_probability")
_NEAR = (*_MEASURE, "rare_below")
_K: Any = how_many("How many words.")
_DRAWS: Any = setting("Draws of the bootstrap.", default=2000, low=1, high=10**6)
_HMM = a_model("classes", "words.hmm")


def _meaning(*settings: str) -> Any:
    """What words mean by a model, compared as these settings say."""
    declared = {name: MeaningSettings.SETTINGS[name] for name in settings}
    return made_by("corpuscle.words.verbs.meaning:read_meaning", kinds=_HMM.kinds, options=declared)


def read_meaning(value: Any, model: Any, declared: Input, **given: Any) -> Meaning:
    """What words mean by a model, from its file or as it is."""
    from corpuscle.words import Meaning

    return value if isinstance(value, Meaning) else Meaning(_HMM.read(value), **given)


def read_in_context(
    value: Any,
    model: Meaning | HmmClasses,
    declared: Input,
    *,
    raw: bool = False,
    tagger: Any = None,
    parser: Any = None,
) -> Sentences:
    """Sentences as a model, or that of some meanings, reads them, tagged or parsed first if that is asked for."""
    from corpuscle.text import Treebank
    from corpuscle.words import Meaning, read_sentences
    from corpuscle.words.senses import Sentences, sentences_of

    model = model.model if isinstance(model, Meaning) else model
    if tagger is not None or parser is not None:
        value = annotated().read(value, raw=raw, tagger=tagger, parser=parser)
    elif isinstance(value, str | os.PathLike):
        no_raw(raw)
        return read_sentences(model, value)
    if isinstance(value, Sentences):
        return value
    if model.structure == "tree" and not isinstance(value, Treebank):
        raise SettingError("this model has learned from trees, and plain text has none")
    return sentences_of(model, value if isinstance(value, Treebank) else text().read(value, model, raw=raw))


_SENTENCES = "corpuscle.words.verbs.meaning:read_in_context"
_TYPED: Any = made_by(_SENTENCES, options={"raw": RAW})


def _near(found: list[tuple[str, float, int]]) -> list[dict[str, Any]]:
    return [{"word": each, "similarity": similarity, "count": count} for each, similarity, count in found]


def _token(token: Token) -> dict[str, Any]:
    return {"sentence": token.sentence, "token": token.place, "text": token.shown}


# ---- words out of context


@verb("meaning", "meaning represent trees.classes text.conllu -o words.txt", out="-", work=True)
def represent(
    model: HmmClasses = _HMM,
    text: Corpus | Forest = words_of_a_text(*ANNOTATION, empty="an empty text: there are no words in it"),
    *,
    save: str | None = written("Also write the model, with these meanings of words.", metavar="MODEL", form="model"),
    tokens: str | None = written("Also write the tokens in context: sentence, token, word, classes.", metavar="TSV"),
    k: int = how_many("At most N classes of each token.", 16),
) -> Export:  # fmt: skip
    """Write what the words of a text mean, the mean of their tokens in context, as word2vec text: the share of every
    class. Where the model has learned from trees, the text is CoNLL-U or is parsed first."""
    import numpy as np

    from corpuscle.text import write_vectors
    from corpuscle.text.vocab import FIRST
    from corpuscle.words import Meaning
    from corpuscle.words.meaning import represent, write_tokens

    found = represent(model, text)
    meaning = Meaning(found)
    ids = np.flatnonzero(meaning.counts > 0)
    words = ids[ids >= FIRST]
    vocab, rows = meaning.vocab.subset(words), meaning.vectors[np.append(np.arange(FIRST), words)]
    if tokens is not None:
        write_tokens(model, text, tokens, k)
    if save is not None:
        found.save(save)
    rare = int(meaning.rare(ids).sum())
    figures = {"tokens": text.n_tokens, "types": len(ids), "classes": model.n_classes_, "rare": rare}
    return Export(lambda path: write_vectors(vocab, rows, path), found, figures)


@verb("meaning", "meaning nearest trees.classes bank -k 5")
def nearest(
    model: Meaning = _meaning(*_NEAR),
    words: str = word(),
    *,
    k: int = _K,
    any_tag: bool = setting("Words of all parts of speech.", default=False),
) -> Shown:
    """Show the words nearest to a word, or to the head of a phrase in its context ("small house")."""
    from corpuscle.words import compose

    phrase = model.phrase(words)
    id = model.id(phrase.terms[phrase.head])
    vector = model.vectors[id]
    if len(phrase.terms) > 1:
        vector = compose(model, [phrase], ways=["head-context"]).vectors["head-context"][0]
    found = model.nearest(vector, k, "" if any_tag else model.tag(id), [id])
    values = {"word": model.vocab.word(id), "phrase": str(phrase), "count": round(model.counts[id])}
    return Answer({**values, "rare": bool(model.rare(id)), "words": _near(found)}, Table((), found).text())


@verb("meaning", "meaning compare trees.classes bank river")
def compare(model: Meaning = _meaning(*_MEASURE), first: str = word(), second: str = word()) -> Shown:
    """Show how alike two words or phrases are, in all ways to compose them. A phrase is words ("small house", perhaps
    with parts of speech, "small/ADJ house/NOUN"), or any tree: word/TAG/HEAD, heads from 1 on, 0 for the root."""
    from corpuscle.words import COMPOSITIONS, compose

    phrases = [model.phrase(each) for each in (first, second)]
    alone = all(len(phrase.terms) == 1 for phrase in phrases)
    composed = compose(model, phrases, ways=COMPOSITIONS[:1] if alone else COMPOSITIONS)
    values = {way: float(model.similarity_of(rows[:1], rows[1:])[0]) for way, rows in composed.vectors.items()}
    about = {"first": str(phrases[0]), "second": str(phrases[1]), "measure": model.measure, "similarity": values}
    return Answer(about, Table((), values.items()).text())


# ---- how well they agree with people


@verb("meaning", "meaning similarity trees.classes pairs.tsv")
def similarity(
    model: Meaning = _meaning(*_NEAR),
    pairs: list[ScoredPair] = read_by("corpuscle.text.pairs:read_scored_pairs"),
    *,
    best: bool = setting("Take the parts of speech of bare words that are most alike; else nouns.", default=False),
    unknown: str = setting(
        "Pairs with an unknown word: left out, or as alike as others on average.",
        default="drop", choices=("drop", "mean"),
    ),
    sweep: tuple[Any, ...] = path(
        "Compare with this model on the pairs that all know; may be repeated.",
        metavar="MODEL", option=True, many=True, default=(),
    ),
    draws: int = _DRAWS,
    seed: int = SEED,
    names: Mapping[str, str],
) -> Shown:  # fmt: skip
    """Compare with how alike people find words: Spearman's rank correlation on a file of two words and a score a line,
    with its 95 % interval and how many pairs are known."""
    from corpuscle.words import judge_pairs
    from corpuscle.words import sweep as compare_models

    how: dict[str, Any] = {"best": best, "draws": draws, "seed": seed}
    if not sweep:
        with of_data():
            result = judge_pairs(model, pairs, unknown=unknown, **how)
        return Answer({"measure": model.measure, **result.to_json()}, result.text())
    if unknown != "drop":
        raise SettingError("--sweep compares models on the pairs that all of them know: --unknown means nothing")
    declared, first = _meaning(*_NEAR), names.get("model", "model")
    same = {name: getattr(model, name) for name in _NEAR}
    meanings = {first: model} | {str(each): declared.read(each, **same) for each in sweep}
    with of_data():
        found = compare_models(meanings, pairs, **how)
    rows: list[dict[str, Any]] = [
        {"model": name, "classes": meanings[name].model.n_classes_, "types": len(meanings[name].vocab) - 3}
        | {key: result.to_json()[key] for key in ("spearman", "covered", "low", "high")}
        for name, result in found.items()
    ]
    chosen = max(rows, key=lambda row: row["spearman"])["model"]
    heading = ("model", "classes", "types", "Spearman", "pairs", "low", "high")
    said = f"{Table(heading, (row.values() for row in rows)).text()}\nbest: {chosen}"
    return Answer({"measure": model.measure, "best": chosen, "pairs": len(pairs), "models": rows}, said)


@verb("meaning", "meaning phrases trees.classes phrases.tsv")
def phrases(
    model: Meaning = _meaning(*_NEAR),
    judgements: list[Judgement] = read_by("corpuscle.text.pairs:read_judgements"),
    *,
    weight: float = setting("How much the head counts in weighted.", default=0.5, low=0, high=1),
    stretch: float = setting("How far dilation stretches a head along dependents.", default=2.0, low=1, high=1e6),
    draws: int = _DRAWS,
    seed: int = SEED,
) -> Shown:
    """Compare with how alike people find phrases: Spearman's rank correlation of every way to compose them, over single
    ratings and over the means of items, with 95 % intervals; and whether the context helps."""
    from corpuscle.words import judge_phrases

    model.check_trees()
    with of_data():
        found = judge_phrases(model, judgements, weight=weight, stretch=stretch, draws=draws, seed=seed)
    kept = ("spearman", "low", "high")
    ratings, means = (
        {way: {name: each.to_json()[name] for name in kept} for way, each in side.items()}
        for side in (found.ratings, found.means)
    )
    any_way = next(iter(found.ratings.values()))
    values = {
        "measure": model.measure,
        **{name: getattr(found, name) for name in ("items", "covered", "rare", "vanished", "impossible", "ceiling")},
        "ratings": {"ratings": len(judgements), "covered": any_way["covered"], "ways": ratings},
        "means": means,
        "differences": [{"first": a, "second": b, **each.to_json()} for (a, b), each in found.differences.items()],
        "signature": any_way.signature,
    }
    heading = ("way", "ratings", "low", "high", "means", "low", "high")
    lines = [Table(heading, ((way, *ratings[way].values(), *means[way].values()) for way in ratings)).text()]
    lines += [f"{a} beside {b}: {each.text()}" for (a, b), each in found.differences.items()]
    lines.append(f"{found.covered} of {found.items} phrase pairs have known words, {found.rare} of them a rare one")
    return Answer(values, "\n".join(lines))


@verb("meaning", "meaning relations trees.classes triples.tsv --plot boxes.svg")
def relations(
    model: Meaning = _meaning(*_MEASURE, "head_prior"),
    triples: list[Triple] = read_by("corpuscle.text.pairs:read_triples"),
    *,
    partial: bool = setting("Also concepts that lack a relation.", default=False),
    plot: str | None = written("Also draw box plots.", form="figure"),
) -> Shown:
    """Show which relations are alike by meaning (BLESS: concept, class, relation, relatum): similarities to the best
    relatum, standardised by concept, without and with the map from dependents to heads."""
    from corpuscle.words import draw_relations, judge_relations

    with of_data():
        plain = judge_relations(model, triples, partial=partial)
        mapped = judge_relations(model, triples, mapped=True, partial=partial) if model.has_trees else None
    if plot is not None:
        Picture(draw_relations(plain, mapped)).write(plot)
    both = {"without map": _relations(plain)} | ({} if mapped is None else {"with map": _relations(mapped)})
    rows = [
        (side, name, each["median"], each["mean"], each["lower"], each["upper"], each["beside"] or "", each["p_value"])
        for side, found in both.items()
        for name, each in found.items()
    ]
    said = Table(("", "relation", "median", "mean", "lower", "upper", "beside", "p"), rows).text()
    said += f"\n{len(plain.concepts)} of {plain.were} concepts, {plain.known:,} of {plain.triples:,} triples are known"
    values = {"measure": model.measure, "concepts": plain.were, "covered": len(plain.concepts)}
    values |= {"triples": plain.triples, "known": plain.known, "plain": both["without map"]}
    return Answer({**values, "mapped": both.get("with map")}, said)


def _relations(found: Standardised) -> dict[str, Any]:
    return {name: each._asdict() for name, each in found.relations().items()}


# ---- words in context


@verb("meaning", "meaning map trees.classes bank --sentences text.conllu -o map.svg", name="map", out="figure?")
def map_(
    model: Meaning = _meaning(*_NEAR),
    words: tuple[str, ...] = word(many=True),
    *,
    sentences: Sentences | None = made_by(
        _SENTENCES, "Also the tokens of these words in a text (CoNLL-U where there are trees).",
        metavar="CONLLU", option=True,
    ),
    k: int = how_many("How many neighbours of each word.", 12),
    most: int = how_many("At most N tokens of each word.", 12),
) -> Picture:  # fmt: skip
    """Draw words by their meaning out of context, with their neighbours, and their tokens in context (SVG or PNG)."""
    from corpuscle.words import draw_meanings

    return Picture(draw_meanings(model, words, sentences, k, most))


@verb("meaning", "meaning senses trees.classes bank text.conllu")
def senses(
    model: Meaning = _meaning(*_NEAR),
    word: str = word(),
    sentences: Sentences = made_by(_SENTENCES, options=ANNOTATION),
    *,
    number: int | None = how_many("How many senses.", None, flag="--senses", shown="classes with a tenth of all"),
    examples: int = how_many("How many sentences of each.", 5),
    k: int = _K,
) -> Shown:
    """Show the senses of a word in a text: its tokens in context, clustered, with the words nearest to each cluster and
    example sentences."""
    from corpuscle.words import senses as senses_of

    found = senses_of(model, word, sentences, number, k)
    rows, lines = [], []
    for i, sense in enumerate(found, 1):
        rows.append({
            "share": sense.share,
            "tokens": len(sense.tokens),
            "words": _near(sense.words),
            "classes": [{"class": c, "share": share} for c, share in sense.classes],
            "examples": [_token(token) for token in sense.tokens[:examples]],
        })
        near = " ".join(each for each, _, _ in sense.words)
        lines += [f"{i}. {percent(sense.share)} of {sum(len(s.tokens) for s in found)} tokens: {near}"]
        lines += [f"   {token.shown}" for token in sense.tokens[:examples]]
    return Answer({"word": model.vocab.word(model.id(word)), "senses": rows}, "\n".join(lines))


@verb("meaning", "meaning substitutes trees.classes bank text.conllu")
def substitutes(
    model: Meaning = _meaning(*_NEAR),
    word: str = word(),
    sentences: Sentences = made_by(_SENTENCES, options=ANNOTATION),
    *,
    most: int = how_many("At most N tokens of the word.", 20),
    k: int = _K,
) -> Shown:
    """Show what could stand in the place of a word, for each of its tokens in a text."""
    from corpuscle.words import substitutes as substitutes_of

    found = substitutes_of(model, word, sentences, k, most)
    rows = [_token(token) | {"words": _near(words)} for token, words in found]
    lines = [f"{token.shown}\n   {' '.join(each for each, _, _ in words)}" for token, words in found]
    return Answer({"word": model.vocab.word(model.id(word)), "tokens": rows}, "\n".join(lines))


# ---- the workbench


def _meaning_of(model: HmmClasses) -> Meaning:
    from corpuscle.words import Meaning

    return Meaning(model)


@view("meaning", name="similar", kinds=_HMM.kinds, word="a", k=3)
def nearest_typed(model: HmmClasses, word: str = word("A word."), *, k: int = K) -> Mapping[str, Any]:
    """The words nearest in meaning to a word, or to the head of a phrase in its context."""
    return nearest.function(_meaning_of(model), word, k=k, any_tag=False).values


@view("meaning", name="compare", kinds=_HMM.kinds, first="a", second="b")
def compare_typed(
    model: HmmClasses, first: str = word("A word or phrase."), second: str = word("Another one.")
) -> dict[str, Any]:
    """How alike two words or phrases are, in all ways to compose them."""
    values = compare.function(_meaning_of(model), first, second).values
    return {name: values[name] for name in ("first", "second", "similarity")}


@view("meaning", name="senses", kinds=_HMM.kinds, word="a", text="a b c", k=3)
def senses_typed(
    model: HmmClasses, word: str = word("A word."), text: Sentences = _TYPED, *, k: int = K
) -> dict[str, Any]:
    """The senses of a word in some sentences: its tokens clustered, with the words nearest to each cluster."""
    values = senses.function(_meaning_of(model), word, text, number=None, examples=5, k=k).values
    rows = [{name: value for name, value in row.items() if name != "classes"} for row in values["senses"]]
    return {**values, "senses": rows}


@view("meaning", name="substitutes", kinds=_HMM.kinds, word="a", text="a b c", k=3)
def substitutes_typed(
    model: HmmClasses, word: str = word("A word."), text: Sentences = _TYPED, *, k: int = K
) -> Mapping[str, Any]:
    """What could stand in the place of a word, for each of its first tokens in some sentences."""
    return substitutes.function(_meaning_of(model), word, text, most=50, k=k).values


@view("meaning", name="meanings", kinds=_HMM.kinds, words="a", k=3)
def map_typed(model: HmmClasses, words: str = word("Words with spaces between them."), *, k: int = K) -> dict[str, Any]:
    """A picture of words by their meaning, with their neighbours."""
    from corpuscle.words import draw_meanings

    given = words.split()[:20]
    if not given:
        raise SettingError("words: at least one is needed")
    return {"words": given, "svg": draw_meanings(_meaning_of(model), given, None, k, 1)}
