"""The language model of a pack: which order and method suit the text, how good it is, and what surprises it.

Kneser-Ney models of orders 1 to 5 learn from nine tenths of the text and are measured on the tenth that they have not
seen; at the best order other methods are tried, too. The best of them is then learned once more, from everything: that
model is the one in the pack.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from corpuscle.catalogue import TASKS
from corpuscle.errors import InputError, warn
from corpuscle.figures import Series, line_plot
from corpuscle.lm import LanguageModel, NgramModel, PlreModel, find_markup
from corpuscle.lm.base import surprises
from corpuscle.measure import Result
from corpuscle.packs import page
from corpuscle.packs.chapter import Card, Chapter, Findings, Table, amount, grade, pick, with_counts
from corpuscle.packs.step import FEWEST_SPACES, Job, Settings, Step, declared
from corpuscle.progress import bar
from corpuscle.text.corpus import Corpus
from corpuscle.text.heldout import FEWEST_DOCUMENTS, coverage, item_hashes, part_held, seen
from corpuscle.text.html import Html, bdi, fragment, h3, p, span
from corpuscle.text.vocab import FIRST, UNKNOWN
from corpuscle.text.wording import clip, count, percent

FILE = "models/lm.model"
_SURPRISING, _ORDINARY, _SAMPLED = 8, 3, 5
_MOST_WORDS = 60
_LINE = ("order", "perplexity", "low", "high")
_SHADES, _BITS_A_SHADE = 7, 2.5
_SHARES = (0.0, 100.0)  # the scale of two plots of shares that stand next to each other


def _shown(perplexity: float) -> str:
    """As people see it; what is not finite is kept as no number."""
    if not math.isfinite(perplexity):
        return "infinite"
    return f"{perplexity:,.1f}" if perplexity < 1000 else f"{perplexity:,.0f}"


def _edges(result: Result) -> str:
    return " to ".join(_shown(math.nan if edge is None else edge) for edge in pick(result, "low", "high").values())


@dataclass(frozen=True)
class HeldOut:
    """What was held out of a text, in ``groups`` ("documents", "sentences"), and how much of it is also in the rest."""

    groups: str
    sentences: int
    words: int
    repeated_sentences: int
    repeated_words: int


@dataclass(frozen=True)
class Predicted(Findings):
    """How well models of all ``orders`` and, at the best, of all ``methods`` predict what was held out, what surprises
    the best of them, and what the one in the pack makes up (``sampled``).

    - ``coverage``: shares of held-out words that are ``unseen`` after the first n words have been ``read``, and
      ``covered`` by the n most frequent words (``vocabulary``); ``frequencies``: ``count`` by ``rank``;
    - ``surprising``, ``ordinary``: sentences with word, surprisal in bits (None: no bound) and whether it is unknown.
    """

    words: int
    types: int
    marked_unknown: int
    sentences: int
    segmented: bool
    documents: int
    held_out: HeldOut
    orders: tuple[Result, ...]
    order: int
    methods: Mapping[str, Result]
    method: str
    coverage: Mapping[str, tuple[float, ...]]
    frequencies: Mapping[str, tuple[int, ...]]
    surprising: Table
    ordinary: Table
    sampled: tuple[tuple[str, ...], ...]
    ngrams: tuple[int, ...]

    def chapter(self, step: Step) -> Chapter:
        chosen = self.methods[self.method]
        figures = {name: value for name, value in chosen.to_json().items() if name != "signature"}
        perplexity, simple = _shown(chosen["perplexity"]), _shown(self.orders[0]["perplexity"])
        unseen = percent(chosen["oov"] / max(1, self.held_out.words))
        sizes = [(f"n-grams of order {m}", count(n)) for m, n in enumerate(self.ngrams, 1)]
        return Chapter(
            headline=f"language model ({self.method}) of order {self.order}: held-out perplexity {perplexity} "
            f"({_edges(chosen)}), {unseen} unknown words",
            figures={"method": self.method, **figures},
            cards=[
                Card(count(self.words), f"words of text read, {count(self.types)} different ones"),
                Card(perplexity, f"perplexity on unseen text, {unseen} of its words unknown",
                     f"by frequency alone: {simple}"),
            ],
            body=[
                *self._in_words(chosen, unseen), h3("Which method"),
                p(f"At order {self.order}; the first one is in the pack."), self._compared(), self._plots(),
                h3("The most surprising sentences"),
                p("The unseen sentences that the model found hardest, word for word. Look here first for other "
                  "languages, misspellings, lists, and passages that were not split into words well."),
                p("surprisal in bits: ",
                  *(span(f"{i * _BITS_A_SHADE:g}{'+' if i == _SHADES - 1 else ''}", class_=f"s{i}")
                    for i in range(_SHADES)), " ", span("never seen before", class_="unknown"), class_="key"),
                *map(_shaded, self.surprising), h3("The most ordinary ones"), *map(_shaded, self.ordinary),
                h3("Sentences that the model made up"),
                *(page.sentence(page.words(words)) for words in self.sampled if words), h3("Size"),
                page.facts([*sizes, ("file", f"{self.bytes / 1e6:.2f} MB")]),
                page.note(f"How the figures were counted: {chosen.signature.replace('|', ', ')}."),
            ],
            verdict=self._verdict(chosen),
        )  # fmt: skip

    def _verdict(self, chosen: Result) -> str:
        simple, ours = self.orders[0]["perplexity"], chosen["perplexity"]
        gain = simple / max(ours, 1e-9) if math.isfinite(simple / max(ours, 1e-9)) else 0.0
        how = grade(gain, (3, "It has learned how words follow one another"), (1.5, "It has learned something"),
                    (0, "It knows hardly more than frequencies"))  # fmt: skip
        much = amount(self.words, 20_000, 200_000, "text")
        sizes = [count(each) if math.isfinite(each) else "infinite" for each in (simple, ours)]
        return f"{how} {much}: {gain:.1f} times better than guessing by frequency ({' to '.join(sizes)})."

    def _in_words(self, chosen: Result, unseen: str) -> list[Html]:
        held, order = self.held_out, self.order
        last = "last word" if order == 2 else f"last {order - 1} words"
        looks = "looks at each word alone" if order == 1 else f"looks at the {last} to predict the next"
        few = "there are few documents" if self.documents < FEWEST_DOCUMENTS else "nearly all is in a few documents"
        whole = f"single sentences, since {few}" if held.groups == "sentences" else "whole documents"
        marked = ", or the text itself marks them as unknown" if self.marked_unknown else ""
        unknown = (
            f"{unseen} of the words were unknown: they do not occur in the text it learned from{marked}. "
            f"Leaving them out, the perplexity is {_shown(chosen['perplexity_without_oov'])}."
            if chosen["oov"]
            else "Not a single word was unknown."
        )
        repeated = held.repeated_sentences / held.sentences
        return [
            p(f"The model {looks}. On text that it had not seen it was, on average, as unsure as if it had to choose "
              f"among {_shown(chosen['perplexity'])} equally likely words (that is its perplexity; for another sample "
              f"of sentences one would expect {_edges(chosen)}). {unknown}"),
            p(f"These figures come from models trained without {part_held(held.words / max(1, self.words))} of the "
              f"text ({count(held.sentences)} sentences, {count(held.words)} words, {whole}, drawn by the seed). The "
              "order was chosen by the same part. The model in the pack was then trained once more, with the same "
              f"settings, on all {count(self.words)} words, so it should be a little better than the figures say."),
            *([p("The words are those that the segmenter has found. It was not told anything about that part, but it "
                 "has read it, which flatters these figures a little; and they are figures per word, so they cannot "
                 "be compared with those of other words for the same text.")] if self.segmented else []),
            *([p(f"{percent(repeated)} of the held-out sentences, with "
                 f"{percent(held.repeated_words / max(1, held.words))} of the words, also occur word for word in "
                 "the rest of the text. Repetition makes figures look better than they are.")]
              if repeated >= 0.005 else []),
        ]  # fmt: skip

    def _compared(self) -> Html:
        rows, (first, base) = [], next((name, result["perplexity"]) for name, result in self.methods.items())
        for name, result in sorted(self.methods.items(), key=lambda item: _perplexity(item[1])):
            share = result["perplexity"] / base - 1
            change = "" if name == first else f"{100 * (share if math.isfinite(share) else 0.0):+.1f} %"
            rows.append((TASKS["lm"].methods[name].help, _shown(result["perplexity"]), _edges(result), change))
        heading = ("method", "held-out perplexity", "95 % interval", "compared with Kneser-Ney")
        return page.table(heading, rows, (1, 2, 3))

    def _plots(self) -> Html:
        rows = [pick(row, *_LINE) for row in self.orders if math.isfinite(row["perplexity"])]
        line = Series("held-out perplexity", *([row[name] for row in rows] for name in _LINE))
        coverage, frequencies = self.coverage, self.frequencies
        read, unseen, sizes, covered = (coverage[name] for name in ("read", "unseen", "vocabulary", "covered"))
        half = float(np.interp(read[-1] / 2, read, unseen))
        known = [size for size in (10, 100, 1000, 10_000) if size <= sizes[-1]]
        shares = [percent(float(share), 0) for share in np.interp(known, sizes, covered)]
        said = ", ".join(f"{count(n)} words cover {share}" for n, share in zip(known, shares, strict=True))
        return page.plots([
            page.figure(
                line_plot([line], title="How much context helps",
                          x_label="order: words the model looks at, with the predicted one",
                          y_label="held-out perplexity (lower is better)", x_ticks=line.x, numbers=True),
                f"The best order is {self.order}. The band is the 95 % interval.",
            ) if rows else fragment(),
            page.curve(
                "unknown words", read, [100 * share for share in unseen],
                f"After half of the text {percent(half)} of the words of unseen text were unknown, after all of it "
                f"{percent(unseen[-1])}.",
                title="Would more text help?", x_label="words of text read", y_label="unknown words in unseen text, %",
                log_x=True, reach=_SHARES,
            ),
            page.curve(
                "covered", sizes, [100 * share for share in covered], f"The most frequent {said}." if said else "",
                title="How few words cover the text", x_label="most frequent words known",
                y_label="share of unseen text that they cover, %", log_x=True, reach=_SHARES,
            ),
            page.curve(
                "words", frequencies["rank"], frequencies["count"],
                "In most languages this is nearly a straight line (Zipf's law). Steps at the right are the rare words.",
                title="Frequent and rare words", x_label="rank of the word", y_label="how often it occurs", log_x=True,
                log_y=True,
            ),
        ])  # fmt: skip


def _shaded(sentence: Mapping[str, Any]) -> Html:
    """A sentence, each word the darker the more surprising it is; unknown words are underlined."""
    parts = []
    for word, bits, unknown in [*sentence["words"], *([["…", 0.0, False]] if sentence["cut"] else [])]:
        shade = _SHADES - 1 if bits is None else min(_SHADES - 1, max(0, int(bits / _BITS_A_SHADE)))
        tip = "impossible" if bits is None else f"{bits:.1f} bits"
        marks = (" unknown", ", unknown") if unknown else ("", "")
        parts.append(bdi(clip(word), class_=f"s{shade}{marks[0]}", title=f"{tip}{marks[1]}"))
    return page.sentence(fragment(*parts, between=" "))


def _markup(job: Job, text: Corpus) -> list[InputError]:
    """The first literal edge of a sentence, if there is one."""
    if (found := find_markup(text)) is None:
        return []
    return [job.raw.error(f"a literal {found[1]}, which stands for the edge of a sentence", found[0])]


def learn(job: Job, settings: Settings) -> Predicted:
    text, (train, held_out, groups) = job.text, job.split
    if wrong := _markup(job, text):  # a segmenter may have split off what was no word before
        raise wrong[0]
    if job.unspaced and text is job.raw:
        warn(
            f"fewer than {percent(FEWEST_SPACES, 0)} of the characters are spaces, and words are what stands "
            "between spaces: split the text into words before learning from it"
        )

    def learned(method: str, order: int, corpus: Corpus) -> Any:
        same = {"order": order, "min_count": settings["min_count"], **job.common}
        model = PlreModel(**same) if method == "plre" else NgramModel(method=method, **same)
        return model.fit(corpus)

    (first, *others), orders = settings["methods"], settings["orders"]
    with bar("language model", len(orders) + len(others) + 1) as progress:

        def measured(model: LanguageModel, name: str) -> Result:
            result = with_counts(model.perplexity(held_out, seed=job.seed), order=model.order_)
            progress.advance(note=f"{name}: {result['perplexity']:.1f}")
            return result

        longest = learned(first, max(orders), train)
        results = {order: measured(longest.at_order(order), f"order {order}") for order in orders}
        order = min(results, key=lambda each: _perplexity(results[each]))
        models, methods = {first: longest.at_order(order)}, {first: results[order]}
        for method in others:
            models[method] = learned(method, order, train)
            methods[method] = measured(models[method], method)
        chosen = min(methods, key=lambda name: _perplexity(methods[name]))
        final = learned(chosen, order, text)
        final.chosen_["order"] = order
        final.save(job.pack / FILE)
        progress.advance()
    recoded, repeated = held_out.recode(train.vocab), seen(item_hashes(train), held_out)
    surprising, ordinary = surprises(models[chosen], held_out, _SURPRISING, _ORDINARY, _MOST_WORDS)
    frequencies = np.sort(text.vocab.counts[FIRST:])[::-1]
    ranks = np.unique(np.geomspace(1, len(frequencies), 60).astype(np.int64))
    return Predicted(
        words=text.n_tokens, types=len(text.vocab) - FIRST, marked_unknown=int((text.tokens == UNKNOWN).sum()),
        sentences=len(text), segmented=text is not job.raw,
        documents=0 if text.document_starts is None else len(text.document_starts) - 1,
        held_out=HeldOut(
            groups, len(held_out), held_out.n_tokens, int(repeated.sum()), int(held_out.lengths[repeated].sum())
        ),
        orders=tuple(results.values()), order=order, methods=methods, method=chosen,
        coverage=coverage(train, recoded, job.seed),
        frequencies={"rank": ranks.tolist(), "count": frequencies[ranks - 1].tolist()},
        surprising=surprising, ordinary=ordinary, ngrams=tuple(np.diff(final.tables_.levels).tolist()),
        sampled=tuple(map(tuple, final.sample(_SAMPLED, seed=job.seed, max_length=_MOST_WORDS))),
    )  # fmt: skip


def _perplexity(result: Result) -> float:
    return result["perplexity"] if math.isfinite(result["perplexity"]) else math.inf


LANGUAGE_MODEL = declared(
    "lm", 5, (FILE,), learn, Predicted, check=lambda job: job.check_text() or _markup(job, job.raw)
)
