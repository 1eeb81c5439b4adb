"""Claims about corpuscle.model.base: what a model says about what it lacks, and settings that change after learning."""

import copy
import pickle
from functools import cached_property

import pytest

import corpuscle
from corpuscle.errors import NotLearned, SettingError
from corpuscle.lm import HmmModel, NgramModel
from corpuscle.model.base import Model
from corpuscle.settings import learned, setting
from corpuscle.text import read_strings

TEXT = read_strings(["the cat sat on the mat", "the dog sat", "a dog and a cat"] * 5)
OTHER = read_strings(["the dog sat on a cat"])


class Faulty(Model):
    """A model whose properties have mistakes in them."""

    size: int = setting("How large.", default=1)
    _table: dict = learned()

    @property
    def words(self):
        return None.split()

    @property
    def total_(self):
        return (1).sum

    @cached_property
    def kept(self):
        return self.wurds

    @property
    def of_what_is_learned(self):
        return self.counts_


# ---- what is not there


@pytest.mark.parametrize(
    "name, reason",
    [
        ("words", "'NoneType' object has no attribute 'split'"),
        ("total_", "'int' object has no attribute 'sum'"),
        ("kept", "Faulty has no attribute wurds"),
    ],
)
def test_a_property_that_fails_shows_its_own_error(name, reason):
    with pytest.raises(AttributeError, match=reason):
        getattr(Faulty(), name)


@pytest.mark.parametrize("name", ["counts_", "_table", "of_what_is_learned"])
def test_what_is_learned_and_not_there_is_not_learned_yet(name):
    with pytest.raises(NotLearned, match="Faulty has learned nothing yet"):
        getattr(Faulty(), name)


def test_anything_else_is_no_attribute():
    for name in "colour", "_private", "__length_hint__":
        assert not hasattr(Faulty(), name)


# ---- set_params


def test_set_params_of_an_unfitted_model_changes_it():
    model = NgramModel(order=2).set_params(order=4)
    assert (model.order, model.order_, model.get_params()["order"]) == (4, 4, 4)
    assert model.fit(TEXT).order_ == 4


def test_set_params_keeps_what_was_learned():
    model = NgramModel(order=2).fit(TEXT)
    before, arrays = model.perplexity(OTHER), model.part().arrays
    assert model.set_params(order=4, lowercase=True) is model
    assert model.perplexity(OTHER) == before
    found = model.part().arrays
    assert arrays and arrays.keys() == found.keys() and all((found[name] == arrays[name]).all() for name in arrays)
    assert (model.get_params()["order"], model.order) == (4, 2)
    with pytest.raises(SettingError, match="order is"):
        model.set_params(order=0)
    assert model.perplexity(OTHER) == before and model.get_params()["order"] == 4


def test_fit_after_set_params_learns_what_a_new_learner_would():
    model = NgramModel(order=2, method="kn").fit(TEXT).set_params(order=4).set_params(lowercase=True).fit(TEXT)
    wanted = NgramModel(order=4, method="kn", lowercase=True).fit(TEXT)
    assert model.settings == wanted.settings and model.get_params() == wanted.get_params()
    assert model.perplexity(OTHER) == wanted.perplexity(OTHER)


def test_a_model_is_saved_with_the_settings_that_it_was_learned_with(tmp_path):
    model = NgramModel(order=2).fit(TEXT)
    model.save(tmp_path / "before")
    model.set_params(order=4).save(tmp_path / "after")
    assert (tmp_path / "after").read_bytes() == (tmp_path / "before").read_bytes()
    loaded = corpuscle.load(tmp_path / "after")
    assert (loaded.order, loaded.set_params(order=3).order_, loaded.fit(TEXT).order_) == (2, 2, 3)


def test_unfinished_work_is_that_of_the_settings_to_come(tmp_path):
    model = HmmModel(states=2, estimator="em", passes=2).fit(TEXT).set_params(passes=3)
    assert model.checkpoint(TEXT, tmp_path / "m").settings["passes"] == 3
    assert model.settings["passes"] == 2


def test_how_the_work_is_done_changes_at_once():
    model = NgramModel(order=2, workers=2).fit(TEXT).set_params(workers=1, order=3)
    assert (model.workers, model.order, model.get_params()["workers"]) == (1, 2, 1)
    assert (model.fit(TEXT).workers, model.order) == (1, 3)
    model.set_params(cluster="tcp://there:1", workers=None)
    assert (model.workers, model.cluster, model.order_) == (None, "tcp://there:1", 3)


def test_copies_know_the_settings_to_come():
    model = NgramModel(order=2).fit(TEXT).set_params(order=3)
    for again in copy.deepcopy(model), pickle.loads(pickle.dumps(model)):
        assert (again.order, again.get_params()["order"], again.fit(TEXT).order_) == (2, 3, 3)
    clone = pytest.importorskip("sklearn.base").clone
    assert clone(model).order == 3
