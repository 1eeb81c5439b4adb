"""Mistakes that people make in Python: an unfitted model, a list or a string where a corpus belongs, a wrong index.
Each gets one sentence that says what to do; what follows from the catalogue is asked of every learner."""

import importlib
import inspect

import pytest

import corpuscle
from corpuscle.catalogue import TASKS, find
from corpuscle.errors import CorpuscleError, InputError, NotLearned, SettingError
from corpuscle.lm import NgramModel
from corpuscle.text import Bitext, Corpus, read_strings
from corpuscle.words import ExchangeClasses, PpmiVectors

CORPUS = Corpus.from_sentences([["the", "cat"], ["a", "dog", "sat"]])
VALUES = {
    "Corpus": CORPUS,
    "Corpus | None": CORPUS,
    "Bitext": Bitext(CORPUS, CORPUS),
    "Iterable[Corpus]": [CORPUS],
    "Iterator[Corpus]": iter([CORPUS]),
    "Sequence[str]": ["the", "cat"],
    "str | Sequence[str]": ["the", "cat"],
    "Iterable[str]": ["the", "cat"],
    "str": "the",
    "int": 1,
}
RULES = {"parse left", "parse right"}
"""What looks at a treebank, from which it learns nothing."""
LEARNERS = {
    f"{task} {name}": find(method.learner)
    for task, each in TASKS.items()
    for name, method in each.methods.items()
    if hasattr(find(method.learner), "fit") and f"{task} {name}" not in RULES
}
MAKING = {"fit", "checkpoint", "replace", "restored", "restored_from", "from_container", "from_tables"}
"""What an unfitted learner is for."""


def verbs(learner):
    """The public methods of a learner that ask something of what it has learned, with their arguments."""
    for name, method in inspect.getmembers(learner, inspect.isfunction):
        if name.startswith("_") or name in MAKING:
            continue
        wanted = [each for each in inspect.signature(method).parameters.values() if each.default is each.empty][1:]
        if all(each.annotation in VALUES for each in wanted if each.kind is not each.VAR_POSITIONAL):
            yield name, [VALUES[each.annotation] for each in wanted if each.kind is not each.VAR_POSITIONAL]


@pytest.mark.parametrize("name", LEARNERS)
def test_an_unfitted_learner_says_that_it_has_learned_nothing(tmp_path, name):
    learner = LEARNERS[name]()
    with pytest.raises(NotLearned, match="has learned nothing yet"):
        learner.save(tmp_path / "m")
    asked = []
    for verb, arguments in verbs(type(learner)):
        try:
            result = getattr(learner, verb)(*arguments)
            if inspect.isgenerator(result):
                next(result)
        except (CorpuscleError, StopIteration):
            asked.append(verb)
        except Exception as error:
            raise AssertionError(f"{verb}: {error!r}") from error
    assert asked and repr(learner).startswith(type(learner).__name__)


@pytest.mark.parametrize("name", LEARNERS)
def test_fit_says_what_it_wants_instead_of_something_else(name):
    for wrong in ([1, 2], ["a b", 3]):
        with pytest.raises(CorpuscleError, match=r"needed|makes one|Pair\("):
            LEARNERS[name]().fit(wrong)


def test_text_is_given_as_a_path_as_strings_as_words_or_as_a_corpus(tmp_path):
    lines = ["the cat sat", "the dog sat", "a dog"] * 5
    (tmp_path / "text.txt").write_text("".join(f"{line}\n" for line in lines))
    forms = [tmp_path / "text.txt", str(tmp_path / "text.txt"), lines, [line.split() for line in lines]]
    vectors = PpmiVectors(dimensions=2, min_count=1, subsample=0)
    for learner in (NgramModel(order=2), ExchangeClasses(classes=2), vectors):
        wanted = learner.replace().fit(read_strings(lines)).part().arrays
        for form in forms:
            found = learner.replace().fit(form).part().arrays
            assert all((found[name] == wanted[name]).all() for name in wanted), type(learner)
    model = NgramModel(order=2, lowercase=True).fit(forms[0])
    assert len({repr(model.perplexity(form)) for form in (*forms, ["The cat sat", *lines[1:]])}) == 1
    with pytest.raises(InputError, match="no such file"):
        model.perplexity("missing.txt")


def test_settings_can_be_got_and_set_as_scikit_learn_does_it():
    clone = pytest.importorskip("sklearn.base").clone
    model = NgramModel(order=2, lowercase=True)
    assert clone(model).settings == model.settings and model.get_params()["order"] == 2
    assert model.set_params(order=4) is model and (model.order, model.lowercase) == (4, True)
    with pytest.raises(CorpuscleError, match="no setting 'colour'"):
        model.set_params(colour=1)


def test_a_language_model_splits_strings_as_its_text_was_split():
    model = NgramModel(order=2, lowercase=True).fit(read_strings(["the cat sat", "the dog"]))
    assert model.log_probability("The cat") == model.log_probability(["the", "cat"])
    assert model.next_words("<s> The") == model.next_words(["<s>", "the"])
    assert model.next_words("<s>") == model.next_words(["<s>"])
    assert (model.distribution("the") == model.distribution(["the"])).all()
    assert model.score("the cat").log_probability.tolist() == model.score(["the cat"]).log_probability.tolist()


def test_corpora_say_what_they_are_and_what_is_wrong():
    assert repr(CORPUS) == "Corpus(2 sentences, 5 tokens, Vocab(5 types))"
    assert repr(Bitext(CORPUS, CORPUS)) == "Bitext(2 sentence pairs, 5 and 5 tokens)"
    for strings in (["the cat"], "the cat"):
        with pytest.raises(SettingError, match="read_strings"):
            Corpus.from_sentences(strings)
    for index in (2, -1, 99):
        with pytest.raises(IndexError, match="no sentence"):
            CORPUS.words(index)
    with pytest.raises(TypeError, match=r"corpus\.words\(1\)"):
        CORPUS[1]
    with pytest.raises(SettingError, match=r"Pair\("):
        find(TASKS["transliterate"].methods["phrase"].learner)().fit([("a", "b", "c")])


@pytest.mark.parametrize("package", [*(task.package for task in TASKS.values()), "corpuscle.text", "corpuscle.measure"])
def test_packages_list_their_names(package):
    module = importlib.import_module(package)
    assert set(module.__all__) <= set(dir(module))
    assert not {"contents", "TYPE_CHECKING"} & set(dir(module))
    assert all(hasattr(module, name) for name in dir(module))


def test_every_public_class_has_a_repr():
    names = [(task.package, name) for task in TASKS.values() for name in importlib.import_module(task.package).__all__]
    for package, name in [*names, *(("corpuscle.text", name) for name in corpuscle.text.__all__)]:
        value = getattr(importlib.import_module(package), name)
        if inspect.isclass(value) and name != "MatrixFile":  # which has no objects
            assert value.__repr__ is not object.__repr__, f"{package}.{name}"
