"""The chapter about word vectors: a map of words, neighbours, and words of several senses."""

from __future__ import annotations

from typing import Any

from corpuscle.figures.maps import Place, place_map
from corpuscle.packs import page
from corpuscle.packs.step import Card, Chapter, Findings, Step, pick
from corpuscle.text.html import Html, bdi, element, fragment, h3, p
from corpuscle.text.wording import clip, count, counted, percent

__all__ = ["report"]


def report(findings: Findings, step: Step) -> Chapter:
    """What was found by the step."""
    ambiguous = findings["senses"]
    return Chapter(
        headline=(
            f"word vectors: {counted(findings['words'], 'word')} in {counted(findings['dimensions'], 'dimension')}; "
            f"{counted(len(ambiguous), 'word')} of several senses shown"
        ),
        figures={**pick(findings, "words", "dimensions", "classes", "structure"), "ambiguous": len(ambiguous)},
        cards=[_alike(findings)],
        body=[
            p(
                "A vector is a point in a space of many dimensions, one for each word that occurs at least "
                f"{findings['min_count']} times: words with similar words around them come to lie near each other. "
                f"These were learned from {counted(findings['tokens'], 'word')} of text. With less than a million, "
                "neighbours are often of the same topic or the same form rather than of the same meaning, and those "
                "of rare words are guesses."
            ),
            *_map(findings),
            *_neighbours(findings),
            *_senses(findings, step),
        ],
        commands=[
            ("corpuscle vectors nearest {model} WORD", "the words nearest to a word"),
            ("corpuscle vectors map {model} WORD -o map.svg", "a map of a word and its neighbours"),
            ("corpuscle vectors export {model} -o vectors.txt", "all vectors, in the format of word2vec"),
        ],
    )


def _alike(findings: Findings) -> Card:
    near = findings["alike"]
    if not near["words"]:
        return Card(count(findings["words"]), "words with vectors")
    what = f"nearest neighbours that behave alike, of {counted(findings['words'], 'word')}"
    return Card(percent(near["share"], 0), what, f"any word: {percent(near['chance'], 0)}")


def _map(findings: Findings) -> list[Html]:
    if not findings["map"]:
        return []
    places = [Place(**{**place, "name": clip(place["name"])}) for place in findings["map"]]
    return [
        h3("A map of words"),
        p(
            "The words in bold with those nearest to each, in one colour; the two directions in which these vectors "
            "differ most. What lies together here need not lie together in the other "
            f"{findings['dimensions'] - 2} dimensions."
        ),
        page.plots([page.figure(place_map(places, title="Words by their vectors"), natural=True)]),
    ]


def _neighbours(findings: Findings) -> list[Html]:
    rows = [
        (
            bdi(clip(each["word"]), class_="word"),
            count(each["count"]),
            fragment(*(
                fragment(bdi(clip(word), class_="word"), f"\u00a0{cosine:.2f}") for word, cosine in each["neighbours"]
            ), between=" · "),
        )
        for each in findings["nearest"]
    ]  # fmt: skip
    return [
        h3("Nearest neighbours"),
        p(
            "The most frequent words (after those that make up half of the text, if there are others), with the words "
            "whose vectors are nearest; a cosine of 1 is the same direction, 0 is none in common."
        ),
        page.table(("word", "times", "nearest"), rows, (1,)),
    ]  # fmt: skip


def _senses(findings: Findings, step: Step) -> list[Html]:
    parent = "left neighbour" if findings["structure"] == "chain" else "head in the dependency tree"
    text = "the running text" if findings["structure"] == "chain" else "the annotated sentences"
    what = p(
        "A vector cannot tell whether a word means one thing or two. A second model can say something about that: in a "
        f"hidden Markov model with {counted(findings['classes'], 'class', 'classes')}, the class of a word depends on "
        f"its {parent}, and so on its whole sentence. It has learned from {text} "
        f"({counted(findings['read'], 'word')}). Listed are the words of at least {findings['least']} occurrences "
        "whose classes differ most in their words; a class counts if it has at least "
        f"{percent(findings['share'], 0)} of the occurrences. Below each class stand "
        "the most frequent other words of it, and the sentence in which the word belongs to it most clearly. A second "
        "class may be a second meaning, another part of speech, or only another place in the sentence: the sentences "
        "tell."
    )
    cards = [_card(word) for word in findings["senses"]]
    found = page.grid(cards) if cards else page.note("There is no such word.")
    more = page.note(f"corpuscle classes show {step.writes[1]} --word WORD tells the classes of any other word.")
    return [h3("Words in several senses"), what, found, more]


def _card(word: dict[str, Any]) -> Html:
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
