"""Tags of mentions with gaps: worked examples, and all small cases, there and back."""

from itertools import combinations, product

import pytest

from corpuscle.errors import InputError
from corpuscle.text.mention_tags import POLICIES, TokenMention, mentions_of_tags, spans_of_tags, tags_of_mentions


def mention(*tokens, type=""):
    return TokenMention(type, tokens)


def tags(text):
    return tuple(text.split())


def test_the_examples_tag_for_tag():
    # The left atrium is moderately dilated . / The left & right atrium are moderately dilated .
    assert tags_of_mentions([mention(1, 2, 5)], 7).tags == tags("O DB DI O O DB O")
    assert tags_of_mentions([mention(1, 4, 7), mention(3, 4, 7)], 9).tags == tags("O DB O DB HB O O HB O")
    # abdominal pain and tenderness: the first is consecutive, but shares a word
    assert tags_of_mentions([mention(0, 1), mention(0, 3)], 4).tags == tags("HB DB O DB")
    assert tags_of_mentions([mention(0, 2), mention(1, 2)], 3).tags == tags("DB DB HB")


SETS = [mention(*chosen) for size in range(1, 6) for chosen in combinations(range(5), size)]


def survives_in_theory(mentions):
    """At most one complex mention, or all share one core and the rest of each is one run."""
    complex_ones = []
    for each in mentions:
        alone = all(other is each or set(each.tokens).isdisjoint(other.tokens) for other in mentions)
        if len(each.runs) > 1 or not alone:
            complex_ones.append(set(each.tokens))
    if len(complex_ones) <= 1:
        return True
    cores = {frozenset(a & b) for a, b in combinations(complex_ones, 2)}
    core = next(iter(cores))
    rests = [mention(*sorted(each - core)).runs for each in complex_ones]
    return len(cores) == 1 and bool(core) and all(len(runs) == 1 for runs in rests)


def test_exactly_what_the_theory_says_comes_back():
    cases = [several for size in (1, 2, 3) for several in combinations(SETS, size)]
    assert len(cases) == 31 + 465 + 4495
    for several in cases:
        back = set(mentions_of_tags(tags_of_mentions(several, 5).tags))
        assert (back == set(several)) == survives_in_theory(several), several


def test_every_tag_string_decodes_to_something_that_comes_back():
    for string in product(tags("O B I DB DI HB HI"), repeat=4):
        found = mentions_of_tags(string)
        assert mentions_of_tags(tags_of_mentions(found, 4).tags) == found


def test_types_are_apart_and_the_longer_mention_keeps_a_word():
    several = [mention(0, 2, type="X"), mention(1, type="Y"), mention(2, 3, 4, type="Z")]
    encoded = tags_of_mentions(several, 5)
    assert encoded.tags == tags("O B-Y B-Z I-Z I-Z") and encoded.lost == (several[0],)
    assert mentions_of_tags(tags("DB-X B-Y DB-X")) == [mention(0, 2, type="X"), mention(1, type="Y")]


def test_bio_drops_what_it_cannot_say_and_agrees_with_the_scheme():
    encoded = tags_of_mentions([mention(0, 2, type="X"), mention(3, 4, type="X"), mention(1, type="Y")], 5, "bio")
    assert encoded.tags == tags("O B-Y O B-X I-X") and encoded.lost == (mention(0, 2, type="X"),)
    assert spans_of_tags(encoded.tags) == [(1, 2, "Y"), (3, 5, "X")]


def test_pairs_join_two_by_two_and_merge_joins_all():
    four = tags("DB O DB O DB O DB O DB")
    assert mentions_of_tags(four, "pairs") == [mention(0, 2), mention(4, 6, 8)]
    assert mentions_of_tags(four) == [mention(0, 2, 4, 6, 8)]
    for policy, several in (("pairs", [mention(0, 2), mention(4, 6)]), ("merge", [mention(0, 2, 4, 6)])):
        encoded = tags_of_mentions(several, 7).tags
        assert [name for name in POLICIES if mentions_of_tags(encoded, name) == several] == [policy]


def test_a_foreign_tag_is_named():
    with pytest.raises(InputError, match="token 2: 'E-X' is not a tag"):
        mentions_of_tags(["O", "E-X"])
