"""Mentions in two pieces: every gold one whose pieces have a reason is a candidate, and enough of them are learned."""

from itertools import pairwise

import numpy as np
import pytest

import corpuscle
from corpuscle.entities import CrfTagger
from corpuscle.entities.discontinuous import ChainOutput, Part, Pieces, _known, _text, candidates_of, with_pieces
from corpuscle.entities.documents import from_standoff
from corpuscle.entities.kernels.discontinuous import FARTHEST, LONGEST, N_FEATURES, candidates
from corpuscle.errors import InputError
from corpuscle.measure import mention_scores
from corpuscle.random import Random
from corpuscle.text import Mention, Standoff
from corpuscle.text.mention_tags import TokenMention, tags_of_mentions
from tests.hostile import survives_hostile_edits

COLOURS, CELLS, ACTS = ["red", "blue", "grey", "green"], ["cells", "nerves", "glands"], ["growth", "loss", "death"]


def standoff(words, mentions):
    begins = np.cumsum([0, *(len(word) + 1 for word in words)])
    return Standoff(" ".join(words), tuple(
        Mention(each.type, tuple((int(begins[a]), int(begins[b] + len(words[b]))) for a, b in each.runs))
        for each in mentions
    ))  # fmt: skip


def notes(seed, n):
    """Sentences such as "we saw red and blue cells", where "red cells" has a gap, and "growth of the red cells"."""
    random, texts = Random(seed, "tests.pieces"), []
    for _ in range(n):
        one, other, *_ = random.shuffled(COLOURS)
        cells, act = random.choice(CELLS), random.choice(ACTS)
        words, mentions = [
            (["we", "saw", one, "and", other, cells, "."], [("C", (2, 5)), ("C", (4, 5))]),
            (["the", act, "of", one, cells, "was", "seen"], [("P", (1, 2, 4)), ("C", (3, 4))]),
            (["many", one, cells, "and", "a", "dish"], [("C", (1, 2))]),
            (["a", "cup", "of", other, "tea", "and", one, cells], [("C", (6, 7))]),
        ][random.below(4)]  # fmt: skip
        texts.append(standoff(words, [TokenMention(*each) for each in mentions]))
    return texts


def said_nothing(documents, types):
    return ChainOutput(["O"] * documents.corpus.n_tokens, np.zeros((documents.corpus.n_tokens, len(types) + 1)))


def in_two(documents):
    """The gold mentions in two pieces, as rows of candidates."""
    types, starts = documents.types, documents.corpus.sentence_starts.tolist()
    return {
        (i, types.index(each.type), *(first + edge for run in each.runs for edge in run))
        for i, (first, mentions) in enumerate(zip(starts, documents.mentions, strict=False))
        for each in mentions if len(each.runs) == 2
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_every_mention_whose_pieces_are_known_is_a_candidate(seed):
    random, texts = Random(seed, "tests.candidates"), []
    for _ in range(30):
        words = [f"w{random.below(40)}" for _ in range(18)]
        left, right, gap = 1 + random.below(LONGEST), 1 + random.below(LONGEST), 1 + random.below(FARTHEST)
        tokens = (*range(1, 1 + left), *range(1 + left + gap, 1 + left + gap + right))
        texts.append(standoff(words, [TokenMention("XY"[random.below(2)], tokens)]))
    documents = from_standoff(texts)
    types = documents.types
    seen = candidates_of(documents, said_nothing(documents, types), _known(documents, types), types)
    rows = [tuple(row[:6]) for row in seen.candidates.tolist()]
    assert in_two(documents) <= set(rows) and len(rows) == len(set(rows))
    assert seen.features.shape == (len(rows), N_FEATURES)
    starts = documents.corpus.sentence_starts
    for sentence, _, a, b, c, d in rows:
        assert starts[sentence] <= a <= b < c - 1 and c <= d < starts[sentence + 1]
        assert max(b - a, d - c) < LONGEST and c - b - 1 <= FARTHEST


def test_a_new_word_before_a_conjunction_goes_with_the_end_of_a_mention_that_the_chain_found():
    known = from_standoff(notes(1, 100))
    new = from_standoff([standoff(["we", "saw", "pink", "and", "blue", "cells"], [TokenMention("C", (4, 5))])])
    types = known.types
    tags = tags_of_mentions(new.mentions[0], 6).tags
    chances = np.zeros((6, len(types) + 1))
    seen = candidates_of(new, ChainOutput(tags, chances), _known(known, types), types)
    assert [0, types.index("C"), 2, 2, 5, 5] in seen.candidates[:, :6].tolist()


def test_candidates_are_counted_where_there_is_no_room_for_them():
    documents = from_standoff(notes(1, 40))
    types = documents.types
    text, _ = _text(documents, said_nothing(documents, types), types)
    lexicon = _known(documents, types)
    n = candidates(text, lexicon, 0, len(documents.corpus), np.zeros((0, 8), np.int32))
    whole, half = np.zeros((n, 8), np.int32), np.zeros((n // 2, 8), np.int32)
    assert candidates(text, lexicon, 0, len(documents.corpus), whole) == n > 40
    assert candidates(text, lexicon, 0, len(documents.corpus), half) == n
    np.testing.assert_array_equal(half, whole[: n // 2])


def test_a_simple_mention_that_is_a_part_of_an_accepted_one_goes_and_others_stay():
    gap = TokenMention("X", (0, 3))
    chain = [TokenMention("X", (0,)), TokenMention("X", (2, 3)), TokenMention("Y", (3,))]
    assert with_pieces(chain, [gap]) == [gap, chain[1], chain[2]]
    assert with_pieces([gap], [gap]) == [gap] and with_pieces(chain, []) == chain


@pytest.fixture(scope="module")
def tagger():
    return CrfTagger(nc="none", iterations=30, gaps="learned").fit(from_standoff(notes(1, 300)))


def test_pieces_are_found_where_the_tags_say_nothing(tagger):
    test = from_standoff(notes(2, 100))
    types = tagger.types
    found = tagger.pieces_.find(test, said_nothing(test, types), types)
    right = sum(len(set(some) & set(gold)) for some, gold in zip(found, test.mentions, strict=True))
    assert right >= 0.9 * len(in_two(test)) and right >= 0.9 * sum(map(len, found))
    assert all(0 <= sure <= 1 for some in found for sure in some.values())


def test_a_model_with_pieces_survives_its_file_and_its_mentions_are_read(tagger, tmp_path):
    tagger.save(tmp_path / "m")
    again, test = corpuscle.load(tmp_path / "m"), from_standoff(notes(3, 60))
    assert again.tag(test).mentions == tagger.tag(test).mentions
    assert mention_scores(test.texts, again.annotate(test))["discontinuous_f1"] >= 0.9
    assert again.guesses(test, 1)[0][0].mentions == tuple(again.tag(test).mentions[0])
    survives_hostile_edits(tmp_path / "m", lambda path: corpuscle.load(path).tag(test), edits=60)


def test_where_tags_say_all_no_classifier_is_kept_and_one_document_is_too_few():
    learned = CrfTagger(nc="none", iterations=30).fit(from_standoff(notes(1, 300)))
    assert learned.pieces_ is None and learned.chosen_["gaps"] == "none"
    few = CrfTagger(nc="none", iterations=5).fit(from_standoff(notes(1, 20)))
    assert few.pieces_ is None and "gaps" not in few.chosen_
    with pytest.raises(InputError, match="pieces needs several documents"):
        CrfTagger(nc="none", gaps="learned").fit(from_standoff(notes(1, 1)))


def test_without_right_candidates_nothing_is_learned():
    documents = from_standoff([standoff(["red", "cells", "."], [TokenMention("C", (0, 1))])] * 6)
    halves = [np.arange(3), np.arange(3, 6)]
    parts = [Part(half, said_nothing(documents.select(half), ["C"]), [[]] * 3) for half in halves]
    assert Pieces.learn(documents, parts, ["C"]) is None


def test_the_threshold_counts_what_the_chain_finds():
    documents = from_standoff(notes(1, 90))
    types, parts = documents.types, []
    for some in np.split(np.arange(90), 3):
        own = documents.select(some)
        simple = [[each for each in mentions if len(each.runs) == 1] for mentions in own.mentions]
        parts.append(Part(some, said_nothing(own, types), simple))
    _, gain = Pieces.learn(documents, parts, types)
    n, gaps = sum(map(len, documents.mentions)), len(in_two(documents))
    assert gain == pytest.approx(1 - 2 * (n - gaps) / (2 * n - gaps), abs=0.03)


def test_sentences_and_documents_stay_apart():
    texts = from_standoff(notes(5, 30))
    types = texts.types
    found = candidates_of(texts, said_nothing(texts, types), _known(texts, types), types).candidates
    for first, last in pairwise(texts.corpus.sentence_starts.tolist()):
        mine = found[(found[:, 2] >= first) & (found[:, 2] < last)]
        assert (mine[:, 5] < last).all()
