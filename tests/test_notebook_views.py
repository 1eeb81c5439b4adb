"""How things look in a notebook: results, alignments, surprisal, topics, segmentations and packs show themselves."""

import re
from xml.etree import ElementTree

import corpuscle
from corpuscle.measure import segmentation_scores
from corpuscle.text import Alignments, Bitext, Corpus
from tests.tiny_models import FOLDER


def shown(thing):
    """The words that a notebook shows of something, from well-formed HTML."""
    root = ElementTree.fromstring(f"<div>{thing._repr_html_()}</div>")
    return [text.strip() for text in root.itertext() if text.strip()]


def test_links_stand_under_their_words():
    model = corpuscle.load(FOLDER / "align.hmm.model")
    links = model.align([("das haus", "the house")])
    view = shown(links)
    assert view[:2] == ["das", "haus"] and {"the", "house"} <= set(" ".join(view[2:]).split())
    assert shown(Alignments.from_pairs([[(0, 0), (1, 2)], []]))[2:] == ["1", "0-0 1-2", "2"]


def test_unlinked_words_are_named():
    words = Bitext(Corpus.from_sentences([["a"]]), Corpus.from_sentences([["x", "<y>"]]))
    links = Alignments.from_pairs([[(0, 0)]])
    assert shown(Alignments(links.links, links.starts, links.sure, bitext=words)) == ["a", "x", "not linked:", "<y>"]


def test_surprising_words_are_darker():
    model = corpuscle.load(FOLDER / "lm.ngram.model")
    found = model.surprisals(["the cat sees sings", "a"])
    bits, starts = found
    assert shown(found) == ["the", "cat", "sees", "sings", "a"] and starts.tolist()[0] == 0
    shades = [float(shade) for shade in re.findall(r"rgba\(194,80,10,([\d.]+)\)", found._repr_html_())]
    assert shades == [round(0.6 * min(bit / 16, 1), 2) for bit in [*bits[:4].tolist(), bits[5]]]


def test_segmentations_show_their_words_and_a_long_text_its_beginning():
    words = corpuscle.load(FOLDER / "segment.npylm.model").segment(["thecatsings"] * 12)
    assert shown(words) == words.words(0) * 10 + ["2 more"]


def test_topics_and_results_are_tables():
    assert shown(corpuscle.load(FOLDER / "topics.ngram.model"))[:3] == ["topic", "share", "words"]
    text = Corpus.from_sentences([["a", "b"]])
    assert "95 % interval" in shown(segmentation_scores(text, text, draws=10))
