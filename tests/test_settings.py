"""Settings: what is declared is what is checked, parsed, shown, saved and compared."""

import json
import math
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpuscle.catalogue import TASKS, find
from corpuscle.errors import SettingError
from corpuscle.settings import Parallel, Seeded, Settings, learned, option_of, setting

CLASSES = sorted({each.settings for task in TASKS.values() for each in task.methods.values()})
DECLARED = [(place, declared) for place in CLASSES for declared in find(place).SETTINGS.values()]


class Toy(Seeded, Parallel):
    """Settings of every kind."""

    order: int | str = setting("How many words.", default=3, low=1, high=9, words=("auto",))
    rate: float = setting("How fast.", default=0.5, above=0.0, below=1.0)
    shape: str = setting("Which shape.", default="round", choices=("round", "square"))
    cuts: tuple[int, ...] = setting("Where to cut.", default=(), low=0)
    most: int | None = setting("At most so many.", default=None, low=1)
    strict: bool = setting("Be strict.", default=False)
    pairs: Any = setting("Anything.", default=None, parse=json.loads)

    total_: int = learned()

    def __post_init__(self):
        super().__post_init__()
        if self.most is not None and self.most < len(self.cuts):
            raise SettingError(f"most is {self.most}, but there are {len(self.cuts)} cuts")


class Learner(Toy):
    """Something that learns."""

    def fit(self):
        self.chosen_ = {"order": 7} if self.order == "auto" else {}
        self.total_ = sum(self.cuts)
        return self


VALUES = {
    "order": st.integers(1, 9) | st.just("auto"),
    "rate": st.floats(0, 1, exclude_min=True, exclude_max=True),
    "shape": st.sampled_from(["round", "square"]),
    "cuts": st.lists(st.integers(0, 10**30)).map(tuple),
    "most": st.integers(50, 10**30) | st.none(),
    "strict": st.booleans(),
    "seed": st.integers(0, 2**63 - 1),
    "workers": st.integers(1, 1024) | st.none(),
}
"""What each setting of the toy may be."""


def drawn(draw, values):
    return {name: draw(values[name]) for name in draw(st.sets(st.sampled_from(sorted(values))))}


def text_of(value):
    """A value as it is written on a command line."""
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


# ---- values


@given(st.data())
def test_a_right_value_is_kept_and_comes_back_from_its_text(data):
    name = data.draw(st.sampled_from(sorted(VALUES)))
    value, declared = data.draw(VALUES[name]), Toy.SETTINGS[name]
    assert declared.checked(value) == value and type(declared.checked(value)) is type(value)
    if value is not None and declared.type is not bool:
        assert declared.checked(declared.parsed(text_of(value))) == value


@given(st.sampled_from(sorted(Toy.SETTINGS)), st.text() | st.floats() | st.integers() | st.lists(st.text()) | st.none())
def test_any_value_is_either_right_or_a_setting_error_that_says_what_would_be(name, value):
    declared = Toy.SETTINGS[name]
    try:
        kept = declared.checked(value)
    except SettingError as error:
        assert str(error) == f"{name} is {declared.expected()}; not {value!r}"
    else:
        assert declared.checked(kept) == kept or math.isnan(kept)


@given(st.sampled_from(["order", "rate", "cuts", "most", "seed", "workers"]), st.text())
def test_any_text_is_either_a_value_or_a_setting_error(name, text):
    declared = Toy.SETTINGS[name]
    try:
        declared.checked(declared.parsed(text))
    except SettingError as error:
        assert str(error).startswith(f"{name} is ")


@pytest.mark.parametrize(
    "name, wrong",
    [
        ("order", (0, 10, 2.0, True, "3", "Auto", None, math.nan)),
        ("rate", (0, 1, 0.0, 1.0, math.nan, math.inf, "0.5", True, None, 10**400)),
        ("shape", ("Round", "", 1, None)),
        ("cuts", ((-1,), (1.5,), "12", 3, None, ("1",), (True,))),
        ("most", (0, 1.0, "1", False)),
        ("strict", (0, 1, "true", None)),
        ("seed", (-1, 2**63, 1.0, None)),
        ("workers", (0, 1025, 2.0)),
    ],
)
def test_wrong_values_are_refused(name, wrong):
    for value in wrong:
        with pytest.raises(SettingError, match=f"^{name} is .*; not "):
            Toy(**{name: value})


def test_a_text_that_may_be_anything_is_itself_unless_the_declaration_parses_it():
    assert Toy.SETTINGS["cluster"].parsed("tcp://there:8786") == "tcp://there:8786"
    assert Toy.SETTINGS["pairs"].parsed("[1, 2]") == [1, 2]


def test_numbers_of_numpy_are_numbers():
    import numpy as np

    toy = Toy(order=np.int32(4), rate=np.float32(0.25), cuts=np.array([1, 2]))
    assert toy.settings | {"order": 4, "rate": 0.25, "cuts": (1, 2)} == toy.settings
    assert [type(value) for value in (toy.order, toy.rate, toy.cuts[0])] == [int, float, int]


# ---- learners


@given(st.data())
def test_settings_come_back_from_a_file_with_their_origins(data):
    values = drawn(data.draw, {name: each for name, each in VALUES.items() if name != "workers"})
    learner = Learner(**values).fit()
    header = json.loads(json.dumps(learner.described()))
    again = Learner.restored({name: (value, origin) for name, (value, origin) in header.items()})
    assert again.settings == learner.settings | learner.chosen_ and again.origins == learner.origins
    assert again.described() == learner.described()


@given(st.data())
def test_a_replaced_setting_is_given_and_the_others_stay(data):
    values, changes = drawn(data.draw, VALUES), drawn(data.draw, VALUES)
    learner = Learner(**values)
    other = learner.replace(**changes)
    kept = {name: value for name, value in values.items() if name not in changes}
    assert other.settings == Learner(**kept, **changes).settings and other.origins == Learner(**kept, **changes).origins
    assert learner.settings == Learner(**values).settings


def test_origins_are_given_default_or_tuned():
    learner = Learner(order="auto", strict=False)
    assert learner.origins["order"] == learner.origins["strict"] == "given" and learner.origins["rate"] == "default"
    assert learner.fit().origins["order"] == "tuned" and learner.described()["order"] == (7, "tuned")
    assert learner.order == "auto" and learner.replace(rate=0.1).origins["order"] == "given"
    assert repr(learner) == "Learner(order='auto', strict=False)"


def test_settings_do_not_change_but_the_way_to_work_may():
    learner = Learner(order=2)
    with pytest.raises(AttributeError, match=r"order is a setting: use replace\(order=...\)"):
        learner.order = 3
    learner.workers = 4
    assert learner.workers == 4 and "workers" not in learner.settings
    with pytest.raises(SettingError, match="workers is a whole number from 1 to 1,024; not 0"):
        learner.workers = 0


def test_what_is_no_setting_is_refused_with_the_names_of_all():
    with pytest.raises(SettingError, match="Toy has no setting 'ordre'; it has workers, cluster, seed, order, rate"):
        Toy(ordre=3)
    with pytest.raises(TypeError):
        Toy(3)
    with pytest.raises(SettingError, match="has no setting 'total_'"):
        Toy(total_=3)


def test_what_single_declarations_cannot_say_is_checked_after_them():
    with pytest.raises(SettingError, match="most is 1, but there are 2 cuts"):
        Toy(most=1, cuts=(1, 2))
    with pytest.raises(SettingError, match="most is 1, but there are 2 cuts"):
        Toy.restored({"most": (1, "given"), "cuts": ([1, 2], "given")})


@pytest.mark.parametrize("name, value", [("workers", 2), ("cluster", "tcp://elsewhere:8786")])
def test_a_file_does_not_say_how_or_where_work_is_done(name, value):
    with pytest.raises(SettingError, match=f"{name} cannot come from a file"):
        Toy.restored({name: (value, "given")})


def test_a_learner_goes_to_another_process():
    learner = Learner(order=4, workers=2).fit()
    again = pickle.loads(pickle.dumps(learner))
    assert again.settings == learner.settings and again.origins == learner.origins and again.total_ == learner.total_


def test_a_declaration_of_a_subclass_replaces_that_of_its_base_in_its_place():
    class Other(Toy):
        rate: float = setting("How slow.", default=2.0, low=0.0)

    assert list(Other.SETTINGS) == list(Toy.SETTINGS) and Other().rate == 2.0 and Toy().rate == 0.5
    assert Other.SETTINGS["rate"].expected() == "a number from 0.0 on"


def test_the_schema_is_that_of_json_and_has_only_what_is_saved():
    schema = json.loads(json.dumps(Toy.schema()))["properties"]
    assert list(schema) == list(Toy().settings)
    assert schema["rate"] == {
        "type": "number", "exclusiveMinimum": 0.0, "exclusiveMaximum": 1.0, "description": "How fast.", "default": 0.5,
    }  # fmt: skip
    assert schema["order"]["anyOf"] == [{"type": "integer", "minimum": 1, "maximum": 9}, {"enum": ["auto"]}]
    assert schema["cuts"]["items"] == {"type": "integer", "minimum": 0} and {"type": "null"} in schema["most"]["anyOf"]


# ---- every setting of every method


@pytest.mark.parametrize(("place", "declared"), DECLARED, ids=lambda each: getattr(each, "name", each))
def test_every_declared_setting_is_sound(place, declared):
    assert declared.checked(declared.default) == declared.default
    assert option_of(declared.name).startswith("--") and declared.name.isidentifier() and declared.name.islower()
    assert declared.help[0].isupper() or not declared.help[0].isalpha()
    assert declared.help.endswith(".") and "\n" not in declared.help and len(declared.help) <= 120
    schema = json.loads(json.dumps(declared.schema(), allow_nan=False))
    assert schema["description"] == declared.help and schema["default"] == json.loads(json.dumps(declared.default))
    assert declared.type in (bool, int, float, str, Any)
    for word in (*declared.choices, *declared.words):
        assert declared.checked(declared.parsed(word)) == ((word,) if declared.items else word)
    if declared.type is not bool and declared.default not in (None, ()):
        assert declared.checked(declared.parsed(text_of(declared.default))) == declared.default
    assert declared.expected() and (declared.value_text() or declared.type is bool)


@pytest.mark.parametrize("place", CLASSES)
def test_the_defaults_of_every_method_go_together(place):
    settings = find(place)()
    assert isinstance(settings, Settings) and set(settings.origins.values()) <= {"default"}
    assert repr(settings) == f"{type(settings).__name__}()"
    assert type(settings).restored(settings.described()).settings == settings.settings


def test_one_name_is_one_thing_in_all_methods():
    kinds = {}
    for _, declared in DECLARED:
        kinds.setdefault(declared.name, set()).add((declared.type, declared.items))
    assert {name: kind for name, kind in kinds.items() if len(kind) > 1} == {}
