"""The word vectors of a pack, and words of several senses.

Vectors are learned from the whole text, for words that occur at least five times; their dimensions are a quarter of the
number of those words, at most 100. Neighbours are shown for words of middle frequency: the most frequent ones after
those that make up half of the text, which are mostly function words.

A vector says one thing about a word, wherever it stands. Senses come from a hidden Markov model, in which the class of
a word depends on its sentence. It learns from running text, where a word depends on its left neighbour, or from the
dependency trees of the kit, where they have at least as many words as the running text: from the same text, trees
without labels give classes that fit parts of speech worse than those of chains do, and fewer words make it worse still.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from corpuscle.errors import InputError, SettingError, warn
from corpuscle.figures.maps import Place, place_map
from corpuscle.packs import page
from corpuscle.packs.chapter import Card, Chapter, Findings, Table, amount, pick
from corpuscle.packs.step import Job, LeftOut, Settings, Step, by_rule, check_enough, declared
from corpuscle.packs.systems.word_classes import number_of_classes
from corpuscle.text.conllu import read_conllu
from corpuscle.text.corpus import Corpus
from corpuscle.text.html import Html, bdi, element, fragment, h3, p
from corpuscle.text.vocab import FIRST
from corpuscle.text.wording import clip, count, counted, percent
from corpuscle.words import Forest, HmmClasses, PpmiVectors, ambiguous_words, forest_of, map_shown
from corpuscle.words.vectors import alike, of_middle_frequency

FILE, SENSES = "models/vectors.model", "models/senses.model"
FEWEST, MOST_DIMENSIONS, MOST_CLASSES = 20, 100, 128
_SHOWN, _NEIGHBOURS, _ON_MAP, _AROUND = 24, 8, 8, 8
_AMBIGUOUS, _LEAST, _SHARE, _OTHERS, _LONGEST = 12, 20, 0.1, 8, 30


def number_of_dimensions(words: int) -> int:
    """The rule: the number of dimensions by that of words.

    >>> number_of_dimensions(20), number_of_dimensions(10_000)
    (5, 100)
    """
    return min(MOST_DIMENSIONS, words // 4)


def number_of_passes(tokens: int) -> int:
    """The rule: the number of passes of the hidden Markov model by that of tokens.

    >>> number_of_passes(60_000), number_of_passes(2_000_000), number_of_passes(100_000_000)
    (10, 5, 1)
    """
    return max(1, min(10, 10_000_000 // max(1, tokens)))


def _trees(job: Job, fewest: int) -> Forest | None:
    """The trees of the kit, if they have at least the ``fewest`` words."""
    try:
        banks = [read_conllu(path) for path in job.kit.paths("tagged")]
        parts = [forest_of(bank, "tree") for bank in banks if (bank.heads >= 0).any()]
    except InputError as error:
        warn(f"no senses from trees: {error}")
        return None
    return Forest.joined(parts) if parts and sum(part.n_tokens for part in parts) >= fewest else None


@dataclass(frozen=True)
class Vectors(Findings):
    """``words`` with vectors, from text of ``tokens`` words, with their neighbours and a map; and ``senses`` of words.

    - ``senses``: from a model of ``classes`` that has ``read`` chains or trees (``structure``), of words with at
      ``least`` this number of occurrences: each with its share, its other words and a sentence;
    - ``alike``: how often the nearest neighbour of a word is of its main hidden class, which was learned in another
      way, how often any other word would be (``alike_by_chance``), and of how many words (``compared``).
    """

    min_count: int
    dimensions: int
    words: int
    tokens: int
    nearest: Table
    map: tuple[Place, ...]
    structure: str
    classes: int
    passes: int
    read: int
    least: int
    share: float
    senses: Table
    alike: float
    alike_by_chance: float
    compared: int

    def chapter(self, step: Step) -> Chapter:
        words = counted(self.words, "word")
        trust = "neighbours are hints" if self.tokens < 1_000_000 else "neighbours can be relied on"
        card = Card(count(self.words), "words with vectors")
        verdict = f"Learned {amount(self.tokens, 100_000, 1_000_000, 'text')}: {trust}."
        if self.compared:
            alike, chance = percent(self.alike, 0), percent(self.alike_by_chance, 0)
            card = Card(alike, f"nearest neighbours that behave alike, of {words}", f"any word: {chance}")
            verdict += f" The nearest neighbour of a word behaves as it does in {alike} of the cases, any word in "
            verdict += f"{chance}."

        def near(each: Mapping[str, Any]) -> Html:
            named = (fragment(page.words([word]), f"\u00a0{cosine:.2f}") for word, cosine in each["neighbours"])
            return fragment(*named, between=" · ")

        rows = [(page.words([each["word"]]), count(each["count"]), near(each)) for each in self.nearest]
        return Chapter(
            headline=f"word vectors: {words} in {counted(self.dimensions, 'dimension')}; "
            f"{counted(len(self.senses), 'word')} of several senses shown",
            figures={**pick(self, "words", "dimensions", "classes", "structure"), "ambiguous": len(self.senses)},
            cards=[card],
            body=[
                p("A vector is a point in a space of many dimensions, one for each word that occurs at least "
                  f"{self.min_count} times: words with similar words around them come to lie near each other. "
                  f"These were learned from {counted(self.tokens, 'word')} of text. With less than a million, "
                  "neighbours are often of the same topic or the same form rather than of the same meaning, and "
                  "those of rare words are guesses."),
                *self._map(), h3("Nearest neighbours"),
                p("The most frequent words (after those that make up half of the text, if there are others), with "
                  "the words whose vectors are nearest; a cosine of 1 is the same direction, 0 is none in common."),
                page.table(("word", "times", "nearest"), rows, (1,)), *self._senses(),
            ],
            verdict=verdict,
        )  # fmt: skip

    def _map(self) -> list[Html]:
        if not self.map:
            return []
        places = [place._replace(name=clip(place.name)) for place in self.map]
        return [
            h3("A map of words"),
            p("The words in bold with those nearest to each, in one colour; the two directions in which these "
              "vectors differ most. What lies together here need not lie together in the other "
              f"{self.dimensions - 2} dimensions."),
            page.plots([page.figure(place_map(places, title="Words by their vectors"), natural=True)]),
        ]  # fmt: skip

    def _senses(self) -> list[Html]:
        chain = self.structure == "chain"
        parent = "left neighbour" if chain else "head in the dependency tree"
        text = "the running text" if chain else "the annotated sentences"
        cards = [_card(word) for word in self.senses]
        return [
            h3("Words in several senses"),
            p("A vector cannot tell whether a word means one thing or two. A second model can say something about "
              f"that: in a hidden Markov model with {counted(self.classes, 'class', 'classes')}, the class of a word "
              f"depends on its {parent}, and so on its whole sentence. It has learned from {text} "
              f"({counted(self.read, 'word')}). Listed are the words of at least {self.least} occurrences whose "
              "classes differ most in their words; a class counts if it has at least "
              f"{percent(self.share, 0)} of the occurrences. Below each class stand the most frequent other words "
              "of it, and the sentence in which the word belongs to it most clearly. A second class may be a second "
              "meaning, another part of speech, or only another place in the sentence: the sentences tell."),
            page.grid(cards) if cards else page.note("There is no such word."),
            page.note(f"corpuscle classes show {SENSES} --word WORD tells the classes of any other word."),
        ]  # fmt: skip


def _card(word: Mapping[str, Any]) -> Html:
    parts = []
    for sense in word["senses"]:
        marked = [
            element("mark", bdi(each)) if place == sense["place"] else bdi(each)
            for place, each in enumerate(sense["sentence"])
        ]
        begin, end = ("… " if cut else "" for cut in sense["cut"])
        parts += [
            p(f"{percent(sense['share'], 0)} like ", page.words(sense["words"])),
            p(begin, fragment(*marked, between=" "), " ", end.strip(), class_="note", dir="auto", translate="no"),
        ]
    return page.card(element("h4", bdi(word["word"], class_="word"), f" · {count(word['count'])} times"), *parts)


def learn(job: Job, settings: Settings) -> Vectors:
    text, folder, least = job.text.counted(), job.kit.folder / "text", settings["min_count"]
    words = int((text.vocab.counts[FIRST:] >= least).sum())
    check_enough(folder, words, FEWEST, f"word that occurs {least} times", f"words that occur {least} times")
    chosen = {"min_count": least, "dimensions": by_rule(settings["dimensions"], number_of_dimensions(words))}
    try:
        vectors = job.fit(PpmiVectors(**chosen, **job.common), text, name=FILE, save=True)
    except SettingError as error:  # words that hardly ever stand together span few directions
        raise LeftOut(folder, None, str(error)) from None
    shown, vocab = of_middle_frequency(text, least, vectors, _SHOWN), text.vocab
    source: Corpus | Forest = _trees(job, text.n_tokens) or text
    model = _senses(job, source, settings)
    agreeing, by_chance, compared = alike(vectors, model)
    return Vectors(
        **chosen, words=words, tokens=text.n_tokens,
        nearest=tuple({"word": word, "count": int(vocab.counts[vocab.id(word)]),
                       "neighbours": vectors.nearest(word, _NEIGHBOURS)} for word in shown),
        map=tuple(map_shown(vectors, shown[:_ON_MAP], _AROUND)), structure=model.structure, classes=model.n_classes_,
        passes=len(model.history_) - 1, read=model.n_tokens_, least=_LEAST, share=_SHARE,
        senses=tuple(_described(model, source)), alike=agreeing, alike_by_chance=by_chance, compared=compared,
        also_from=("tagged",) if model.structure == "tree" else (),
    )  # fmt: skip


def _senses(job: Job, source: Corpus | Forest, settings: Settings) -> HmmClasses:
    corpus, structure = (source.corpus, "tree") if isinstance(source, Forest) else (source, "chain")
    counts = corpus.vocab.counts[FIRST:]
    classes = min(MOST_CLASSES, number_of_classes(counts[counts > 0]))
    passes = by_rule(settings["passes"], number_of_passes(corpus.n_tokens))
    model = HmmClasses(classes=classes, structure=structure, passes=passes, **job.common)
    return job.fit(model, source, name=SENSES, save=True)


def _described(model: HmmClasses, source: Corpus | Forest) -> list[dict[str, Any]]:
    """Ambiguous words as plain data, their sentences cut to what stands around them."""

    def shown(sense: Any) -> dict[str, Any]:
        first = max(0, min(sense.place - _LONGEST // 2, len(sense.sentence) - _LONGEST))
        last = first + _LONGEST
        return {
            "class": sense.number, "share": sense.share, "words": [*map(clip, sense.words)],
            "sentence": [*map(clip, sense.sentence[first:last])], "place": sense.place - first,
            "cut": [first > 0, last < len(sense.sentence)],
        }  # fmt: skip

    return [
        {"word": clip(word.word), "count": word.tokens, "ambiguity": word.ambiguity,
         "senses": [shown(sense) for sense in word.classes]}
        for word in ambiguous_words(model, source, _AMBIGUOUS, _LEAST, _SHARE, _OTHERS)
    ]  # fmt: skip


WORD_VECTORS = declared("vectors", 3, (FILE, SENSES), learn, Vectors, check=Job.check_text)
