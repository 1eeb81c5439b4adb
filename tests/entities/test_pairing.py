"""Joining pieces by a classifier: what it learns, and that every string of tags has an answer."""

from itertools import product

from corpuscle.entities.discontinuous import Pairing, runs_of_tags
from corpuscle.text.mention_tags import TokenMention, mentions_of_tags, tags_of_mentions


def mention(*tokens):
    return TokenMention("X", tokens)


def test_two_mentions_with_gaps_in_one_sentence_are_told_apart():
    words = ["left", "eye", "is", "red", "and", "right", "ear", "is", "sore"]
    mentions = [mention(0, 1, 3), mention(5, 6, 8)]
    one = (["the", "upper", "lip", "is", "torn"], [mention(1, 2, 4)])
    other = (["left", "eye", "is", "blue", "and", "right", "ear", "is", "numb"], mentions)
    learned = Pairing.learn([(words, mentions), one, other] * 10)
    assert learned is not None
    new = ["left", "arm", "is", "blue", "and", "right", "leg", "is", "sore"]
    tags = tags_of_mentions(mentions, len(words)).tags
    assert learned.join(new, tags) == mentions
    assert mentions_of_tags(tags) != mentions  # the fixed rule makes one mention of them


def test_a_shared_word_goes_with_the_pieces_that_take_it():
    words = ["left", "and", "right", "eye", "red", ",", "left", "and", "right", "ear", "sore"]
    mentions = [mention(0, 3, 4), mention(2, 3, 4), mention(6, 9, 10), mention(8, 9, 10)]
    learned = Pairing.learn([(words, mentions)] * 10)
    assert learned is not None
    assert learned.join(words, tags_of_mentions(mentions, len(words)).tags) == sorted(mentions, key=lambda m: m.tokens)


def test_without_both_kinds_of_pairs_there_is_nothing_to_learn():
    assert Pairing.learn([(["a", "b", "c"], [mention(0, 2)])]) is None


def test_every_string_of_tags_is_read_and_simple_mentions_stay():
    words = ["a", "b", "c", "d"]
    sentence = ["left", "eye", "is", "red", "and", "right", "ear", "is", "sore"]
    learned = Pairing.learn([(sentence, [mention(0, 3), mention(5, 8)])] * 5)
    assert learned is not None
    for string in product(("O", "B-X", "I-X", "DB-X", "DI-X", "HB-X"), repeat=4):
        found, (simple, runs) = set(learned.join(words, string)), runs_of_tags(string)
        assert set(simple) <= found
        pieces = {token for own, shared in runs.values() for run in own + shared for token in run}
        assert pieces <= {token for each in found for token in each.tokens}
