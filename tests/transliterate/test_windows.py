"""The model of pieces in their context, against the same model with dictionaries; and what it can learn."""

import numpy as np
import pytest

from corpuscle.random import Random
from corpuscle.transliterate.kernels import windows

LETTERS = range(3, 8)


def features(source, place, radius):
    """The features of a place, spelled out."""
    found = [("whole", source[i]) for i in range(len(source))]
    found += [("whole", source[i - 1], source[i]) for i in range(1, len(source))]
    padded = {-1: "begin", len(source): "end"} | dict(enumerate(source))
    for begin in range(max(-1, place - radius), place + 1):
        for end in range(max(begin, place - 1), min(len(source), begin + radius) + 1):
            found.append((place - begin, *(padded[i] for i in range(begin, end + 1))))
    return found


def fitting(pieces, source, place):
    return [p for p, own in enumerate(pieces) if own and tuple(source[place : place + len(own)]) == own]


def softmax(weights, source, place, radius, rivals):
    scores = np.array([sum(weights.get((f, p), 0.0) for f in features(source, place, radius)) for p in rivals])
    parts = np.exp(scores - scores.max())
    return parts / parts.sum()


@pytest.fixture
def world():
    """Random sources cut into pieces of one or two letters; a piece says which of two targets its letters have."""
    random = Random(1, "test")
    pieces = [(), (), (), *[(letter,) for letter in LETTERS for _ in range(2)], (3, 4), (3, 4), (5, 5), ()]
    names, cuts = [], []
    for _ in range(30):
        source, cut = [], []
        for _ in range(1 + random.below(5)):
            piece = random.choice([p for p, own in enumerate(pieces) if own])
            source += pieces[piece]
            cut.append(piece)
            if random.below(5) == 0:
                cut.append(len(pieces) - 1)  # a piece without source letters stands anywhere and says nothing
        names.append(source)
        cuts.append(cut)
    return pieces, names, cuts


def csr(rows):
    return np.concatenate([[0], np.cumsum([len(row) for row in rows])]), np.array([x for row in rows for x in row])


def learned(world, radius, epochs):
    pieces, names, cuts = world
    counts = np.bincount([p for cut in cuts for p in cut], minlength=len(pieces))
    model = windows.windows(*csr(pieces), counts, 8, radius)
    starts, source = csr(names)
    cut_starts, cut = csr(cuts)
    return model, windows.learn(model, source, starts, cut, cut_starts, epochs, seed=3)


def judged(model, source):
    out = np.empty((len(source), len(model.starts) - 1))
    symbols = np.array(source, np.int32)
    symbols.setflags(write=False)
    windows.judge(model, symbols, windows.room(model.radius, len(source)), out)
    return out


@pytest.mark.parametrize("radius", [1, 3])
def test_learning_is_that_of_the_same_model_with_dictionaries(world, radius, monkeypatch):
    monkeypatch.setattr(windows, "WEIGHTS", 1 << 23)  # so many that no two share a place
    pieces, names, cuts = world
    model, values = learned(world, radius, 2)
    weights, squares = {}, {}
    for epoch in range(2):
        total = 0.0
        for item in Random(3, "windows", epoch).shuffled(range(len(names))):
            place = 0
            for right in cuts[item]:
                if not pieces[right]:
                    continue
                rivals = [p for p in fitting(pieces, names[item], place) if any(p in cut for cut in cuts)]
                probability = softmax(weights, names[item], place, radius, rivals)
                total += np.log(probability[rivals.index(right)])
                for p, share in zip(rivals, probability, strict=True):
                    gradient = (p == right) - share
                    if abs(gradient) < windows.NEGLIGIBLE:
                        continue
                    for f in features(names[item], place, radius):
                        squares[f, p] = squares.get((f, p), windows.SPREAD) + gradient**2
                        weights[f, p] = weights.get((f, p), 0.0) + windows.RATE * gradient / squares[f, p] ** 0.5
                place += len(pieces[right])
        assert values[epoch] == pytest.approx(total / sum(map(len, cuts)), abs=1e-4)
    for source in ([3, 4, 5, 5], [7]):
        logs = judged(model, source)
        for place in range(len(source)):
            rivals = [p for p in fitting(pieces, source, place) if any(p in cut for cut in cuts)]
            np.testing.assert_allclose(
                logs[place, rivals], np.log(softmax(weights, source, place, radius, rivals)), atol=1e-3
            )
            assert (np.delete(logs[place], rivals) == windows.FLOOR).all()


def test_what_follows_and_how_the_whole_source_is_spelled_decide():
    # Letter 3 becomes piece 3 before a 5 and piece 4 otherwise; letter 4 becomes piece 5 if there is a 6 anywhere.
    random = Random(2, "test")
    pieces = [(), (), (), (3,), (3,), (4,), (4,), (5,), (6,), (7,)]
    names = [[random.choice(list(LETTERS)) for _ in range(3 + random.below(5))] for _ in range(600)]

    def cut(source):
        following = [*source[1:], 0]
        other = {3: lambda i: 3 if following[i] == 5 else 4, 4: lambda i: 5 if 6 in source else 6}
        return [other.get(letter, lambda i, letter=letter: letter + 2)(i) for i, letter in enumerate(source)]

    model, _ = learned((pieces, names[:500], [cut(source) for source in names[:500]]), 3, 4)
    right = [judged(model, source).argmax(axis=1).tolist() == cut(source) for source in names[500:]]
    assert np.mean(right) > 0.9


def test_only_the_most_frequent_pieces_of_a_letter_compete():
    n = windows.RIVALS + 5
    model = windows.windows(*csr([(3,)] * n), np.arange(1, n + 1), 4, 2)
    logs = judged(model, [3])
    np.testing.assert_allclose(np.exp(logs[0, 5:]).sum(), 1.0)
    assert (logs[0, :5] == windows.FLOOR).all()
