"""Segmenters as language models: scores, what comes next and random sentences against enumeration."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from corpuscle.cli.main import main
from corpuscle.segment import DirichletSegmenter, NestedSegmenter
from corpuscle.segment.kernels.lengths import length_factors
from corpuscle.segment.kernels.model import spelled
from corpuscle.text import Corpus, read_strings
from corpuscle.text.vocab import FIRST
from tests.schemas import FRACTION, last_line_conforms
from tests.tiny_models import FOLDER

LONGEST = 3
UNSEEN = "\u03b6"
LETTERS = ["a", "b", UNSEEN]
"""What any string consists of: the letters of the training text, and one that stands for all others."""

WORDS = ["".join(word) for k in range(1, LONGEST + 1) for word in product(LETTERS, repeat=k)]


class Enumerated:
    """A model of words of two letters, whose probabilities are written down one by one: the restaurants from the arrays
    of the file, the base measure from the spelling of every possible word."""

    def __init__(self, model):
        self.model, sample = model, model.samples_[0]
        self.order = len(sample["words/discounts"])
        nested = model._models[0]
        ids = {letter: max(0, model.vocab_.id(letter)) for letter in LETTERS}
        spellings = {w: spelled(nested, np.array([ids[c] for c in w], np.int32), 0, len(w)) for w in WORDS}
        if model.method == "npylm":  # the lengths that the letters imply, of all words instead of random ones
            law = np.zeros_like(nested.factors)
            for word, probability in spellings.items():
                law[nested.kinds[nested.masks[ids[word[0]]]], len(word)] += probability
            nested.factors[:] = length_factors(law, sample["means"], model.end_probability, None)
        kind = nested.kinds[nested.masks[FIRST]]
        self.base = {w: p * float(nested.factors[kind, len(w)]) for w, p in spellings.items()}
        self.base["$"] = model.end_probability
        self.words = ["$", *(entry.word for entry in model.lexicon())]
        self.sample = sample

    def probability(self, word, context):
        """P(word | the words before it), from the base measure to the longest context."""
        s, node, result = self.sample, 0, self.base[word]
        dish = self.words.index(word) if word in self.words else -1
        for depth in range(self.order):
            if depth:
                low, high = s["words/first_child"][node : node + 2]
                before = context[-depth] if len(context) >= depth else "$"
                symbol = self.words.index(before) if before in self.words else -1
                node = next((n for n in range(low, high) if s["words/symbols"][n] == symbol), -1)
                if node < 0:
                    break
            span = range(*s["words/first_entry"][node : node + 2])
            discount, strength = s["words/discounts"][depth], s["words/strengths"][depth]
            customers, tables = (sum(int(s[f"words/{name}"][i]) for i in span) for name in ("customers", "tables"))
            if not customers:
                continue
            own = sum(s["words/customers"][i] - discount * s["words/tables"][i] for i in span
                      if s["words/dishes"][i] == dish)  # fmt: skip
            result = (own + (strength + discount * tables) * result) / (strength + customers)
        return result

    def segmentations(self, string):
        """All ways to cut a string, with the probability of each without its end."""
        found = [([], 1.0)] if not string else []
        for k in range(1, min(LONGEST, len(string)) + 1):
            for words, p in self.segmentations(string[:-k]):
                found.append(([*words, string[-k:]], p * self.probability(string[-k:], words)))
        return found

    def total(self, string):
        return sum(p * self.probability("$", words) for words, p in self.segmentations(string))


TEXT = Corpus.from_sentences([["ab"], ["abab"], ["a"], ["bab"], ["ab"], ["b"], ["aab"]])
MODELS = {
    "bigram": lambda: NestedSegmenter(sweeps=3, max_word=LONGEST, types=False),
    "trigram": lambda: NestedSegmenter(sweeps=3, max_word=LONGEST, types=False, order=3),
    "dirichlet": lambda: DirichletSegmenter(sweeps=3, max_word=LONGEST, strengths=(2.0, 3.0), word_end=0.6),
}


@pytest.fixture(scope="module", params=MODELS)
def tiny(request):
    return Enumerated(MODELS[request.param]().fit(TEXT))


def strings(longest):
    return ["".join(letters) for n in range(longest + 1) for letters in product(LETTERS, repeat=n)]


def scored(model, lines, **options):
    corpus = Corpus.from_sentences([[line] if line else [] for line in lines])
    return np.exp(model.score(corpus, **options).log_probability)


def test_the_score_of_a_line_is_the_sum_over_all_its_segmentations(tiny):
    lines = strings(4)
    assert scored(tiny.model, lines) == pytest.approx([tiny.total(line) for line in lines], rel=1e-10)
    best = [max(p * tiny.probability("$", words) for words, p in tiny.segmentations(line)) for line in lines]
    assert scored(tiny.model, lines, best=True) == pytest.approx(best, rel=1e-10)


def test_scores_sum_to_one_over_all_strings(tiny):
    """Those of all strings of up to n letters are the probability that a sentence has ended by then; the rest is that
    of having more letters, added up over words alone: so no string has a probability that another one lacks."""
    assert sum(tiny.base.values()) == pytest.approx(1.0, abs=1e-12)
    ended, longer, alive, n = 0.0, 0.0, {((), 0): 1.0}, 5
    while alive:
        then = Counter()
        for (context, length), p in alive.items():
            ended += p * tiny.probability("$", context)
            for word in WORDS:
                more = (*context, word)[-(tiny.order - 1) :]
                then[more, length + len(word)] += p * tiny.probability(word, context)
        alive = {state: p for state, p in then.items() if state[1] <= n}
        longer += sum(p for state, p in then.items() if state[1] > n)
    total = scored(tiny.model, strings(n)).sum()
    assert total == pytest.approx(ended, rel=1e-10) and 0.5 < total < 1.0
    assert total + longer == pytest.approx(1.0, rel=1e-10)


def test_the_next_words_are_those_of_all_segmentations_of_the_beginning(tiny):
    for context in ("", "ab", "abab", "ba" + UNSEEN):
        found = tiny.model.next_words(read_strings([context]), k=1000)
        ways = tiny.segmentations(context)
        weight = sum(p for _, p in ways)
        for word, probability in found.words:
            word = "$" if word == "</s>" else word
            expected = sum(p * tiny.probability(word, words) for words, p in ways) / weight
            assert probability == pytest.approx(expected, rel=1e-10)
        assert sum(p for _, p in found.words) + found.new == pytest.approx(1.0, abs=1e-12)
        assert len(found.words) == len(tiny.words)
        assert found.words == sorted(found.words, key=lambda pair: -pair[1])
    one = tiny.model.next_words(read_strings(["a b"]), k=3)
    assert len(one.words) == 3 and one != tiny.model.next_words(read_strings(["ab"]), k=3)


def test_sampled_sentences_have_their_probabilities(tiny):
    n = 4000
    found = Counter("".join(words) for words in tiny.model.sample(n, seed=3, max_length=30))
    lines = [line for line in strings(4) if UNSEEN not in line]
    drawn, exact = np.array([found[line] / n for line in lines]), scored(tiny.model, lines)
    # Letters that nobody has seen are never drawn; what they would have had goes to all strings alike, about.
    others = 1.0 - scored(tiny.model, [line for line in strings(4) if UNSEEN in line]).sum()
    assert np.abs(drawn - exact / others).sum() / 2 < 0.08
    assert not any(UNSEEN in line for line in found)


def test_new_words_are_drawn_from_the_base_measure():
    model = NestedSegmenter(sweeps=3, max_word=LONGEST, types=False).fit(TEXT)
    tiny, stream = Enumerated(model), np.array([7, 0], np.uint64)
    new = [w for w in WORDS if UNSEEN not in w and w not in tiny.words]
    n = 3000
    found = Counter(model._spelled(model._prediction.spell(stream)) for _ in range(n))
    weights = np.array([tiny.base[w] for w in new])
    assert set(found) <= set(new)
    assert np.abs([found[w] / n for w in new] - weights / weights.sum()).sum() / 2 < 0.06


def test_samples_are_cut_at_their_length_and_cold_ones_repeat():
    model = NestedSegmenter(sweeps=3, max_word=LONGEST, types=False).fit(TEXT)
    assert all(len(words) <= 2 for words in model.sample(20, max_length=2))
    assert len({tuple(words) for words in model.sample(10, temperature=0.01)}) == 1
    assert list(model.sample(5, seed=2)) == list(model.sample(5, seed=2)) != list(model.sample(5, seed=3))


def test_given_words_of_any_length_count_in_the_sum_over_segmentations():
    gold = Corpus.from_sentences([["abcdef", "ab"], ["cd", "ab"], ["ef", "cd"]] * 3)
    with pytest.warns(match="never proposed"):
        model = NestedSegmenter(sweeps=2, max_word=2, types=False).fit(gold=gold)
    [every] = scored(model, ["abcdef"])
    [best] = scored(model, ["abcdef"], best=True)
    [whole] = scored(model, ["abcdef"], spaces="gold")
    assert every > whole > best


def test_lines_that_are_cut_into_pieces_have_one_score():
    model = NestedSegmenter(sweeps=2, max_word=LONGEST, types=False).fit(TEXT)
    with pytest.warns(match="were cut"):
        scores = model.score(Corpus.from_sentences([["ab"], ["ab" * 300], [], ["ba"]]))
    assert scores.letters.tolist() == [2, 600, 0, 2] and scores.log_probability[1] < scores.log_probability[0]
    alone = model.score(Corpus.from_sentences([["ba"], []])).log_probability
    assert scores.log_probability[[3, 2]].tolist() == alone.tolist()


# ---- the commands

NEXT = {"context": [str], "next": [{"word": str, "probability": FRACTION}], "new": FRACTION}


def test_the_commands_score_predict_and_sample(tmp_path, capsys):
    path = str(FOLDER / "segment.npylm.model")
    (tmp_path / "new.txt").write_text("abab\n\nab ab\n\u4e2d\n")
    assert main(["segment", "score", path, str(tmp_path / "new.txt")]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == ["sentence", "letters", "unknown", "log10", "perplexity"]
    assert [row[:3] for row in rows[1:]] == [["1", "4", rows[1][2]], ["2", "0", "0"], ["3", "4", rows[3][2]],
                                             ["4", "1", "1"]]  # fmt: skip
    assert rows[1][3] == rows[3][3] and float(rows[1][4]) == pytest.approx(10 ** (-float(rows[1][3]) / 4), rel=1e-3)
    assert main(["segment", "next", path, "ab", "-k", "3", "--json"]) == 0
    found = last_line_conforms(capsys.readouterr().out, NEXT)
    assert len(found["next"]) == 3 and "".join(found["context"]) == "ab"
    assert main(["segment", "next", path]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("(a new word)")
    assert main(["segment", "sample", path, "-n", "4", "--seed", "2"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4
    assert main(["segment", "sample", path, "--temperature", "0"]) == 2
    assert "temperature is above 0" in capsys.readouterr().err
    assert main(["segment", "next", str(FOLDER / "segment.trivial.model"), "ab"]) == 2
    assert "is needed" in capsys.readouterr().err
