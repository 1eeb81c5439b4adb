"""Make what docs/samples.md shows, from the language of seed 1: its pictures, and the text in its marked blocks; and
the pictures of docs/scale.md, docs/lm-plre.md, docs/lm-loglinear.md and docs/normalise.md.

    python docs/make_figures.py

A block is a fenced block after a comment with its name; the tests check that the page shows what ``blocks`` gives.
"""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from corpuscle.engine.linalg.sparse import Rows
from corpuscle.figures import Series, draw_mentions, line_plot
from corpuscle.figures.svg import Sheet, text_width
from corpuscle.lm.kernels.plre import factorise
from corpuscle.lm.kernels.proximal import forest_of, l1, tree_l2, tree_linf
from corpuscle.measure import normalisation_scores
from corpuscle.normalise import Normaliser
from corpuscle.samples import Language, Note, Pair, Sentence, generate
from corpuscle.text.brackets import format_brackets, parse_brackets
from corpuscle.text.brat import write_brat
from corpuscle.text.columns import Normalised

DOCS = Path(__file__).parent
PAGE = DOCS / "samples.md"


def in_columns(*rows: list[str]) -> str:
    """Rows of cells, the n-th cells of all rows below each other."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows)


def glossed(sentence: Sentence) -> str:
    """A sentence, with a gloss and a tag below every word."""
    words = [leaf.word for leaf in sentence.leaves]
    return in_columns(sentence.words, [word.gloss for word in words], [word.upos for word in words])


def with_relative_clause(language: Language) -> Sentence:
    """A sentence of moderate length in which agreement bridges a relative clause."""
    return next(
        sentence
        for sentence in language.sentences()
        if 8 <= len(sentence.words) <= 11
        and any(leaf.word.gloss == "which" and leaf.relation == "nsubj" for leaf in sentence.leaves[1:4])
    )


def telling_pair(language: Language) -> Pair:
    """A pair with words that have no counterpart, several, and a merely possible one."""

    def telling(pair: Pair) -> bool:
        sources = [link.source for link in pair.links]
        several = len(sources) > len(set(sources))
        return several and 8 <= len(pair.source.words) <= 11 and any(not link.sure for link in pair.links)

    return next(pair for pair in language.pairs if telling(pair))


def annotation(note: Note) -> str:
    """The mentions of a note as brat writes them."""
    with TemporaryDirectory() as folder:
        write_brat([note.document()], folder)
        return (Path(folder) / f"{note.label}.ann").read_text(encoding="utf-8").rstrip("\n")


def blocks(language: Language) -> dict[str, str]:
    """What each marked block of the page shows."""
    lexicon, sister = language.grammar.lexicon, language.sister.lexicon
    morphology = lexicon.morphology
    sentence, pair = with_relative_clause(language), telling_pair(language)

    regular = next(key for key in ("sailor.n", "boat.n", "fish.n") if (key, "Plur") not in lexicon.stems)
    irregular = next(key for key, number in lexicon.stems if number == "Plur")
    paradigms = [["", *(f"{case} {number}" for number in morphology.numbers for case in morphology.cases)]]
    for key in (regular, irregular):
        forms = [lexicon.noun(key, number, case).form for number in morphology.numbers for case in morphology.cases]
        paradigms.append([f"{lexicon.gloss(key)} ({lexicon.gender(key)})", *forms])

    change = language.sound_changes
    changed = [
        (key, root, sister.roots[key])
        for key, root in lexicon.roots.items()
        if key.endswith(".n") and sister.roots[key] == change(root) != root
    ][:8]
    exceptions = [name for name in language.names if not name.regular][:3]
    several = [name for name in language.names if name.regular and len(name.other) > 1][:2]
    plain = [name for name in language.names if name.regular and len(name.other) == 1][:3]
    note = next(note for note in language.entities if any(len(m.runs) > 2 for ms in note.mentions for m in ms))
    message = next(m for m in language.messages if sum(map(bool, m.ways)) > 2)
    return {
        "text": "\n".join(map(str, language.documents[0].sentences[:6])),
        "gloss": glossed(sentence),
        "tree": "\n".join(format_brackets(parse_brackets([sentence.brackets()]), indent=True)),
        "paradigms": in_columns(*map(list, zip(*paradigms, strict=True))),
        "changes": "\n".join(description for description, _, _ in change.chosen)
        + "\n\n"
        + in_columns(*([lexicon.gloss(key), f"/{old}/", "->", f"/{new}/"] for key, old, new in changed)),
        "pair": f"{glossed(pair.source)}\n\n{glossed(pair.target)}",
        "names": in_columns(
            *([name.latin, ", ".join(name.other), why] for names, why in
              ((plain, ""), (several, "several answers"), (exceptions, "against the rules")) for name in names)
        ),
        "message": in_columns(message.typed, message.meant, [way or "-" for way in message.ways]),
        "note": f"{note.text}\n{annotation(note)}",
    }


def zipf(language: Language) -> str:
    """Frequency against rank, with a line that falls as 1 / rank."""
    counts = np.sort(language.corpus().vocab.counts[3:])[::-1]
    ranks = np.unique(np.geomspace(1, len(counts), 120).astype(int))
    seen = Series("words of the sample", ranks.tolist(), counts[ranks - 1].tolist())
    ideal = Series("1 / rank", ranks.tolist(), (counts[9] * 10 / ranks).tolist())
    return line_plot(
        [seen, ideal],
        title="Word frequency by rank",
        x_label="rank",
        y_label="occurrences",
        log_x=True,
        log_y=True,
    )


def alignment(pair: Pair) -> str:
    """Two sentences with lines between the words that mean the same; dashed where a word only helps."""

    def centres(words: list[str], widest: float) -> list[float]:
        widths = [text_width(word) for word in words]
        gap = (widest - sum(widths)) / max(1, len(words) - 1)
        return [sum(widths[:i]) + gap * i + width / 2 + 10 for i, width in enumerate(widths)]

    rows = (pair.source.words, pair.target.words)
    widest = max(sum(map(text_width, row)) + 14 * len(row) for row in rows)
    sheet = Sheet(widest + 20, 150)
    top, bottom = (centres(row, widest) for row in rows)
    for link in pair.links:
        dash = None if link.sure else "4 4"
        sheet.add(
            "line", x1=top[link.source], y1=42, x2=bottom[link.target], y2=104, class_="ln l0", stroke_dasharray=dash
        )
    for row, places, y in ((rows[0], top, 32), (rows[1], bottom, 122)):
        for word, x in zip(row, places, strict=True):
            sheet.text(x, y, word, anchor="middle")
    return sheet.finish(
        "A sentence, its translation, and which words mean the same", " ".join(map(" ".join, rows))
    )


def sharing(chunks: int = 7) -> str:
    """Chunks of a text, the workers that have them, and the tree along which their results are added up."""
    sheet, wide, left = Sheet(616, 336), 84, 14
    centres = [left + wide * i + wide / 2 for i in range(chunks)]
    sheet.text(left, 24, "parameters, sent to every worker once in an iteration", class_="mu")
    sheet.add("line", x1=left, y1=34, x2=left + wide * chunks, y2=34, class_="ln l5")
    for i, x in enumerate(centres):
        worker = i % 2
        sheet.add("line", x1=x, y1=34, x2=x, y2=62, class_="ln l5", stroke_dasharray="3 4")
        sheet.add("rect", x=x - 34, y=62, width=68, height=40, rx=5, class_=f"bd f{worker}")
        sheet.add("rect", x=x - 34, y=62, width=68, height=40, rx=5, class_=f"ln l{worker}")
        sheet.text(x, 87, f"chunk {i + 1}", anchor="middle")
        sheet.text(x, 120, f"worker {worker + 1}", anchor="middle", class_="mu")
    rows, y = [(x, 128) for x in centres], 128
    while len(rows) > 1:
        y += 44
        pairs = [rows[i : i + 2] for i in range(0, len(rows), 2)]
        rows = []
        for pair in pairs:
            x = sum(place for place, _ in pair) / len(pair)
            for place, above in pair:
                sheet.add("line", x1=place, y1=above + (8 if above > 128 else 0), x2=x, y2=y - 8, class_="ln l2")
            if len(pair) == 2:
                sheet.add("circle", cx=x, cy=y, r=8, class_="f2")
            rows.append((x, y) if len(pair) == 2 else (x, y - 16))
    x, y = rows[0]
    sheet.text(x + 16, y + 5, "the sum: new parameters")
    sheet.text(left, y + 40, "Where chunks begin, and the shape of the tree, depend on the data alone.", class_="mu")
    sheet.text(left, y + 58, "So the result is the same to the last bit with 1 worker, 2, or 200.", class_="mu")
    return sheet.finish(
        "How work is shared out", "Chunks of a text go to workers; their results are added up along a binary tree."
    )


PAIRS = {
    "a": "dog boat house", "the": "dog boat sea", "old": "dog boat house sea", "red": "boat house",
    "she": "sees sings", "he": "sees runs", "dog": "runs sees", "they": "sees runs sings",
}  # fmt: skip
"""What follows what in a small text."""


def in_between(rank: int = 2) -> str:
    """A table of pairs of words, the same at low rank, and at rank one: a 2-gram, a 1.5-gram and a 1-gram."""
    before, after = list(PAIRS), ["dog", "boat", "house", "sea", "sees", "runs", "sings"]
    pairs = np.array([[float(word in PAIRS[first].split()) for word in after] for first in before])
    tables = [pairs, *(factorise(Rows.of(pairs), number, iterations=500).dense() for number in (rank, 1))]
    titles = ("2-gram", f"1.5-gram: rank {rank}", "1-gram: rank 1")
    said = ("pairs that were seen", "pairs like those that were seen", "every pair, as if by chance")
    sheet, cell, left, top = Sheet(740, 312), 24, 56, 88
    for number, (table, title, below) in enumerate(zip(tables, titles, said, strict=True)):
        x0 = left + number * (cell * len(after) + 62)
        sheet.text(x0, 22, title, "ti")
        for j, word in enumerate(after):
            x, y = x0 + cell * j + 15, top - 6
            sheet.text(x, y, word, transform=f"rotate(-45 {x} {y})")
        for i, word in enumerate(before):
            sheet.text(x0 - 6, top + cell * i + 16, word, anchor="end")
            for j in range(len(after)):
                place = {"x": x0 + cell * j, "y": top + cell * i, "width": cell - 2, "height": cell - 2}
                sheet.add("rect", **place, class_="f5 bd")
                sheet.add("rect", **place, class_="f0", opacity=f"{min(1.0, table[i, j]):.2f}")
        sheet.text(x0, top + cell * len(before) + 18, below, class_="mu")
    return sheet.finish(
        "What lies between a 2-gram and a 1-gram",
        "Three tables of words before and after: seen pairs only; of rank two, where pairs of the same kind are filled "
        "in; of rank one, where all rows look alike.",
    )


def penalties() -> str:
    """The weights of one word in the tree of its contexts: before a proximal step, and after that of each penalty."""
    contexts = ["", "same", "the same", "at the same", "long", "a long", "this", "by this"]
    parents = np.array([-1, 0, 1, 2, 0, 4, 0, 6])
    places = [(150, 48), (58, 100), (58, 152), (58, 204), (156, 100), (156, 152), (246, 100), (246, 152)]
    u, threshold = np.array([1.6, 1.1, 0.5, 1.3, 0.8, 0.7, 0.3, 0.45]), 0.5
    forest = forest_of(parents, threshold)
    panels = [
        ("after a gradient step", u),
        ("l1: every weight for itself", l1(u, threshold)),
        ("tree-l2: subtrees shrink together", tree_l2(forest, u)),
        ("tree-linf: subtrees are cut at a height", tree_linf(forest, u)),
    ]
    sheet = Sheet(640, 520)
    for number, (title, weights) in enumerate(panels):
        left, top = 16 + 314 * (number % 2), 16 + 256 * (number // 2)
        sheet.text(left, top + 10, title, class_="ti")
        for (x, y), parent in zip(places, parents, strict=True):
            if parent >= 0:
                above = places[parent]
                sheet.line(left + above[0], top + above[1], left + x, top + y, "gr")
        for (x, y), context, weight in zip(places, contexts, weights, strict=True):
            zero = weight == 0.0
            radius = 4.0 if zero else 8.0 * np.sqrt(weight + 0.2)
            sheet.add("circle", cx=left + x, cy=top + y, r=float(radius), class_="ln l5" if zero else "f0")
            shown = f"{context or '(no context)'} {'0' if zero else f'{weight:.2f}'}"
            sheet.text(left + x, top + y + 25, shown, anchor="middle", class_="mu" if zero else None, font_size=11)
    return sheet.finish(
        "What a tree penalty zeroes out",
        "Weights of the word time in the tree of its contexts: l1 leaves a long context whose shorter one is zero, "
        "tree penalties take whole subtrees back.",
    )


def mentions(language: Language) -> str:
    """The shortest sentence of the notes in which two mentions have gaps."""
    sentences = [
        (list(sentence.words), several)
        for note in language.entities
        for sentence, several in zip(note.sentences, note.mentions, strict=True)
        if sum(len(mention.runs) > 1 for mention in several) > 1
    ]
    words, several = min(sentences, key=lambda each: (-len({mention.type for mention in each[1]}), len(each[0])))
    return draw_mentions(words, several, title="A sentence with its mentions")


def messages_growth() -> str:
    """How many corrupted words of messages come out right by the number of annotated messages."""
    messages = generate(seed=1, messages=1300, pairs=10, names=10, notes=5).messages
    gold = Normalised.from_messages([message.typed for message in messages], [message.meant for message in messages])
    test = gold.select(np.arange(1000, 1300))
    typed = [list(message) for message in test.corpus]
    sizes, series = [30, 60, 125, 250, 500, 1000], []
    for combine, name in (("loglinear", "candidates ranked in context"), ("dictionary", "most frequent form")):
        found = []
        for n in sizes:
            model = Normaliser(combine=combine, min_count=1, workers=1).fit(gold=gold.select(np.arange(n)))
            found.append(normalisation_scores(test, model.normalise(typed), draws=1)["f1"])
        series.append(Series(name, sizes, found))
    return line_plot(
        series, title="Messages of the sample: F1 by annotated messages", x_label="annotated messages", y_label="F1",
        log_x=True, zero=True, x_ticks=sizes,
    )  # fmt: skip


def readings(language: Language) -> str:
    """The sentence of twelve words at most in which most words have several readings, by a model of all others."""
    from corpuscle.disambiguate import Ranker
    from corpuscle.figures import WordShown, draw_readings

    bank = language.treebank()
    model = Ranker(elements=("lemma", "pos", "Case", "Number", "Tense")).fit(bank[:900])
    short = [words for words in model.readings(bank[900:], 2) if 5 < len(words) <= 12]
    words = max(short, key=lambda words: sum(each["analyses"][0]["probability"] < 0.97 for each in words))
    shown = []
    for word in words:
        rows = []
        for each in word["analyses"]:
            values = [value for name, value in each["elements"].items() if name != "lemma" and value != "-"]
            rows.append((" ".join([each["gloss"] or each["elements"]["lemma"], *values]), each["probability"]))
        shown.append(WordShown(word["form"], rows))
    return draw_readings(shown, title="A sentence with the likeliest readings of its words")


def main() -> None:
    """Write the pictures and fill the blocks of the page."""
    language = generate(seed=1)
    images = DOCS / "images"
    images.mkdir(exist_ok=True)
    (images / "samples-zipf.svg").write_text(zipf(language) + "\n", encoding="utf-8")
    (images / "samples-alignment.svg").write_text(alignment(telling_pair(language)) + "\n", encoding="utf-8")
    (images / "scale-tree.svg").write_text(sharing() + "\n", encoding="utf-8")
    (images / "lm-plre.svg").write_text(in_between() + "\n", encoding="utf-8")
    (images / "lm-penalties.svg").write_text(penalties() + "\n", encoding="utf-8")
    (images / "entities-sample.svg").write_text(mentions(language) + "\n", encoding="utf-8")
    (images / "normalise-growth.svg").write_text(messages_growth() + "\n", encoding="utf-8")
    (images / "disambiguate-sample.svg").write_text(readings(language) + "\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    for name, content in blocks(language).items():
        pattern = re.compile(rf"(<!-- {name} -->\n```text\n).*?^```", re.S | re.M)
        page, found = pattern.subn(lambda match, content=content: f"{match[1]}{content}\n```", page)
        if found != 1:
            raise ValueError(f"{PAGE.name} has {found} blocks named {name}")
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
