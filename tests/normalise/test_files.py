"""Files of normalisers under hostile edits, and messages that nobody would type."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corpuscle
from corpuscle.normalise import Normaliser, Replacements
from corpuscle.text.columns import Normalised
from tests.hostile import survives_hostile_edits
from tests.normalise.test_normaliser import clean, corrupted

pytestmark = pytest.mark.filterwarnings("ignore::corpuscle.errors.CorpuscleWarning")
ODD = [[], ["u"], ["@me", "#tag", ":)"], ["x" * 100_000], ["talkin"] * 300, ["ﬁ", "İ", "ß", "²", "٣", "a\u0301"]]


@pytest.fixture(scope="module")
def models():
    slang = Replacements.from_pairs([("lol", "laughing out loud"), ("al right", "alright"), ("u", "you")])
    gold = corrupted(clean(2, 80), 3)
    return {
        "annotated": Normaliser(min_count=1, pairs_bank=True).fit(gold=gold, slang=slang, never=["docter"]),
        "detector": Normaliser(min_count=1, detect=True, examples=300).fit(clean=clean(1, 100), slang=slang),
        "sum": Normaliser(min_count=1, combine="sum", pairs_bank=True).fit(clean=clean(1, 100)),
    }


@pytest.mark.parametrize("name", ["annotated", "detector"])
def test_hostile_files_are_refused(models, name, tmp_path):
    models[name].save(tmp_path / "m")
    messages = [["my", "docter", "is", "talkin", "lol", "al", "right"], *ODD[:3]]

    def use(path):
        corpuscle.load(path).choices(messages, ranked=2)

    assert survives_hostile_edits(tmp_path / "m", use, edits=120) > 20


@pytest.mark.parametrize("name", ["annotated", "detector", "sum"])
def test_odd_messages_have_an_answer_for_every_token(models, name):
    found = models[name].normalise(ODD)
    assert [len(message) for message in found] == [len(message) for message in ODD] and found[0] == []
    assert found[2] == ODD[2] and found[3] == ODD[3]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.text(min_size=1, max_size=8).filter(lambda t: not t.isspace()), max_size=5), max_size=3))
def test_any_message_has_an_answer_for_every_token(models, messages):
    for model in models.values():
        for message, choices in zip(messages, model.choices(messages, ranked=2), strict=True):
            assert [choice.place for choice in choices] == sorted({choice.place for choice in choices})
            assert all(0 <= choice.confidence <= 1 and choice.typed == message[choice.place] for choice in choices)


def test_what_is_never_changed_stays_however_often(models):
    model = models["annotated"]
    message = [["docter", "DOCTER", "@docter", "talking"]]
    once = model.normalise(message)
    assert once == message and model.normalise(once) == once


def test_runs_of_tokens_stand_for_one_word(models):
    assert models["detector"].normalise([["al", "right", "al"]])[0][:2] == ["alright", ""]
    gold = [(["at", "al", "right"], ["at", "alright", ""])] * 20 + [(["al", "right", "x"], ["al", "right", "x"])] * 30
    typed, meant = zip(*gold, strict=True)
    rarely = Normaliser(min_count=1).fit(gold=Normalised.from_messages(typed, meant))
    assert rarely.normalise([["at", "al", "right"]]) == [["at", "al", "right"]]  # it is mostly two words


def test_words_written_together_are_read_as_two_where_messages_were_annotated_so():
    first, second = ("every", "good", "that", "other"), ("night", "day", "thing", "people", "place")
    pairs = [(a + b, f"{a} {b}") for a in first for b in second][1:]  # everynight is not among them
    typed = [[one, "is", *two.split(), "here"] for one, two in pairs]
    gold = Normalised.from_messages(typed, [[two, "is", *two.split(), "here"] for _, two in pairs])
    words = {word for message in typed for word in message[1:]} | {"night"}
    model = Normaliser().fit(gold=gold, words=words)
    assert model.normalise([["everynight"]]) == [["every night"]]
    alone = Normaliser(allow_multiword=False).fit(gold=gold, words=words)
    assert alone.normalise([["everynight"]]) == [["everynight"]]
