"""The decoder finds what a plain beam search finds, however its work is cut and packed."""

import json

import numpy as np
import pytest

from corpuscle.errors import CorpuscleWarning, InputError, SettingError
from corpuscle.neural import reference
from corpuscle.neural.decoder import Decoder
from corpuscle.neural.output import Shortlist
from corpuscle.text.vocab import END, START, UNKNOWN
from tests.neural.made import SMALL, made

FORBIDDEN = (UNKNOWN, START)


def model(name="gru", seed=1, end=1.0):
    """A model of letters whose targets end after a while."""
    weights = made(SMALL[name], seed=seed)
    weights.arrays["output_bias"][END] += end
    return weights


def some_sources(lengths, seed=1, size=10):
    rng = np.random.default_rng(seed)
    return [rng.integers(3, size, length).astype(np.int32) for length in lengths]


SOURCES = some_sources([4, 9, 1, 6, 6, 2, 7, 3, 5, 12, 1, 8, 4, 4, 3, 6, 2])


def logs_of(logits: np.ndarray, forbidden=FORBIDDEN) -> np.ndarray:
    x = logits.astype(np.float64)
    x[list(forbidden)] = -np.inf
    return x - x.max() - np.log(np.exp(x - x.max()).sum())


def plain_search(members, source, beam, alpha=1.0):
    """Beam search as section 2.7 of the description has it, a hypothesis at a time: (symbols, score), best first."""
    read = [reference.encode(weights, np.append(source, END)) for weights in members]
    live = [((), 0.0, [reference.start(weights, each) for weights, each in zip(members, read, strict=True)])]
    finished = []
    for length in range(1, 3 * len(source) + 11):
        grown = []
        for symbols, total, states in live:
            last, logs, after = (symbols or (START,))[-1], [], []
            for weights, each, state in zip(members, read, states, strict=True):
                logits, state, _ = reference.step(weights, each, state, last)
                logs.append(logs_of(logits))
                after.append(state)
            mean = np.mean(logs, axis=0)
            grown += [((*symbols, c), total + mean[c], after) for c in np.flatnonzero(mean > -np.inf)]
        grown.sort(key=lambda each: -each[1])
        grown, live = grown[: beam - len(finished)], []
        for symbols, total, states in grown:
            if symbols[-1] == END:
                finished.append((symbols[:-1], total / length**alpha))
            elif length == 3 * len(source) + 10:
                finished.append((symbols, total / length**alpha))
            else:
                live.append((symbols, total, states))
        if not live:
            break
    return sorted(finished, key=lambda each: -each[1])


def assert_same(found, expected, tolerance=1e-5):
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert [h.symbols.tolist() for h in ours] == [h.symbols.tolist() for h in theirs]
        assert np.allclose([h.score for h in ours], [h.score for h in theirs], atol=tolerance)


# ---- it is beam search


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("beam", [1, 4])
def test_it_finds_what_a_plain_search_over_the_reference_finds(name, beam):
    weights = model(name)
    sources = some_sources([4, 1, 6], size=len(weights.source))
    found = Decoder(weights).decode(sources, beam=beam, nbest=beam)
    for source, hypotheses in zip(sources, found, strict=True):
        expected = plain_search([weights], source, beam)
        assert [tuple(h.symbols.tolist()) for h in hypotheses] == [symbols for symbols, _ in expected]
        assert np.allclose([h.score for h in hypotheses], [score for _, score in expected], atol=1e-5)


def test_a_beam_as_wide_as_everything_is_enumeration():
    weights, source = model(end=0.0), SOURCES[2]
    with pytest.warns(CorpuscleWarning, match="only 10 symbols"):
        found = Decoder(weights).decode([source], beam=200, nbest=200, length_factor=0, length_extra=2)[0]
    letters = range(3, len(weights.target))
    read = reference.encode(weights, np.append(source, END))
    first, state, _ = reference.step(weights, read, reference.start(weights, read), START)
    every = {(): logs_of(first)[END]}
    for a in letters:
        second = logs_of(reference.step(weights, read, state, a)[0])
        every |= {(a,): (logs_of(first)[a] + second[END]) / 2}
        every |= {(a, b): (logs_of(first)[a] + second[b]) / 2 for b in letters}
    assert {tuple(h.symbols.tolist()): h.score for h in found} == pytest.approx(every, abs=1e-5)


@pytest.mark.parametrize("name", SMALL)
def test_scores_are_those_of_forced_decoding(name):
    weights = model(name, end=3.0)
    sources = some_sources([4, 1, 6, 6, 2], size=len(weights.source))
    decoder = Decoder(weights, forbidden=())
    found = decoder.decode(sources, beam=3, nbest=2)
    pairs = [
        (source, h) for source, hypotheses in zip(sources, found, strict=True) for h in hypotheses
        if len(h.symbols) < 3 * len(source) + 10
    ]  # fmt: skip
    assert len(pairs) > 5
    scored = decoder.score([source for source, _ in pairs], [h.symbols for _, h in pairs])
    assert np.allclose(scored, [h.log for _, h in pairs], atol=1e-5)
    assert np.allclose(scored, [h.score * (len(h.symbols) + 1) for _, h in pairs], atol=1e-4)


def test_the_probabilities_of_all_continuations_sum_to_one():
    decoder = Decoder(model(end=0.0))
    source, letters = SOURCES[0], range(len(decoder.weights[0].target))
    total = np.exp(decoder.score([source], [np.zeros(0, np.int32)])).sum()
    assert decoder.score([], []).size == 0
    # A first symbol and then anything: by the chain rule, p(a) is what all continuations of a have together.
    read = reference.encode(decoder.weights[0], np.append(source, END))
    first = logs_of(reference.step(decoder.weights[0], read, reference.start(decoder.weights[0], read), START)[0], ())
    assert np.exp(first[[a for a in letters if a != END]]).sum() + total == pytest.approx(1, abs=1e-5)


# ---- however it is packed


@pytest.mark.parametrize("name", ["gru, context above", "mlstm", "transformer"])
@pytest.mark.parametrize("beam", [1, 2, 5])
def test_efficient_is_naive_is_one_at_a_time_is_sorted_is_refilled(name, beam):
    # BLAS rounds by the size of a batch, on some processors; weights of this seed do not amplify that over 40 steps.
    decoder = Decoder(model(name, seed=7, end=-1.0))
    alone = decoder.decode(SOURCES, beam=beam, nbest=beam, batch=1, sort=False, refill=False)
    rows = decoder.report_.rows
    for options in (
        {},
        {"batch": 4, "refill": False},
        {"batch": 4, "refill": True},
        {"batch": 4, "sort": False},
        {"batch": 16, "sort": False, "refill": False},
        {"batch_symbols": 20},
        {"batch": 1000},
    ):
        assert_same(decoder.decode(SOURCES, beam=beam, nbest=beam, **options), alone)
        report = decoder.report_
        assert report.rows == report.live == rows, "a row that was computed was not needed, or one was missing"
    assert_same(decoder.decode(SOURCES, beam=beam, nbest=beam, batch=4, batching="naive"), alone)
    assert decoder.report_.live == rows and decoder.report_.rows > rows


def test_a_sentence_fifty_times_as_long_as_the_others_changes_nothing():
    decoder, sources = Decoder(model("transformer", end=-3.0)), some_sources([2, 100, 2, 2, 1, 2])
    alone = decoder.decode(sources, beam=2, batch=1)
    for options in {"batch": 6}, {"batch": 6, "batching": "naive"}, {"batch": 2, "sort": False}:
        assert_same(decoder.decode(sources, beam=2, **options), alone)


def test_workers_change_no_bit():
    decoder, sources = Decoder(model()), some_sources([1 + i % 9 for i in range(1500)])
    one = decoder.decode(sources, beam=2, workers_=1)
    two = decoder.decode(sources, beam=2, workers_=2)
    assert_same(two, one, tolerance=0)
    targets = [h[0].symbols for h in one]
    assert np.array_equal(decoder.score(sources, targets, workers_=1), decoder.score(sources, targets, workers_=2))


def test_a_cluster_changes_no_bit(cluster):
    decoder, sources = Decoder(model()), some_sources([1 + i % 9 for i in range(700)])
    found = decoder.decode(sources, beam=2, cluster=cluster)
    assert_same(found, decoder.decode(sources, beam=2), tolerance=0)
    targets = [h[0].symbols for h in found]
    assert np.array_equal(decoder.score(sources, targets, cluster=cluster), decoder.score(sources, targets))


def test_without_probabilities_a_beam_of_one_skips_the_softmax_and_finds_the_same():
    decoder = Decoder(model())
    with_softmax = decoder.decode(SOURCES, beam=1)
    assert decoder.report_.softmax
    without = decoder.decode(SOURCES, beam=1, scores=False)
    assert not decoder.report_.softmax and np.isnan(without[0][0].score)
    assert [h[0].symbols.tolist() for h in without] == [h[0].symbols.tolist() for h in with_softmax]
    decoder.decode(SOURCES, beam=2, scores=False)
    assert decoder.report_.softmax, "hypotheses of different history must be comparable"


def test_what_cannot_win_may_be_left_and_the_winner_stays():
    decoder, options = Decoder(model(end=0.0)), {"beam": 6, "normalisation": 0.0}
    whole = decoder.decode(SOURCES, **options)
    rows = decoder.report_.rows
    pruned = decoder.decode(SOURCES, **options, prune=True)
    assert decoder.report_.rows < rows
    assert all(a[0].score >= b[0].score - 1e-5 for a, b in zip(pruned, whole, strict=True))
    assert_same(decoder.decode(SOURCES, **options, prune=True, batch=4, batching="naive"), pruned)


# ---- several models, few symbols, few bits


def test_an_ensemble_of_one_model_twice_is_the_model_and_of_two_is_a_plain_search_with_means():
    first, second = model(), model(seed=2)
    single = Decoder(first).decode(SOURCES, beam=3, nbest=3)
    for arithmetic in False, True:
        assert_same(Decoder([first, first], arithmetic=arithmetic).decode(SOURCES, beam=3, nbest=3), single)
    both = Decoder([first, second]).decode(SOURCES[:3], beam=3, nbest=3)
    for source, hypotheses in zip(SOURCES[:3], both, strict=True):
        expected = plain_search([first, second], source, 3)
        assert [tuple(h.symbols.tolist()) for h in hypotheses] == [symbols for symbols, _ in expected]
    with pytest.raises(SettingError, match="the same symbols"):
        Decoder([first, made(SMALL["gru"], "abc", "abc")])


def test_a_shortlist_of_everything_changes_nothing_and_a_short_one_is_kept_to():
    weights = model()
    decoder, size = Decoder(weights), len(weights.target)
    whole = decoder.decode(SOURCES, beam=3, nbest=3)
    everything = Shortlist(np.arange(size), np.full((size, 1), -1))
    assert_same(decoder.decode(SOURCES, beam=3, nbest=3, shortlist=everything), whole)
    table = np.zeros((size, size))
    table[np.arange(size), np.arange(size)] = 1.0
    short = Shortlist.of_table(table, np.arange(size), frequent=1, best=2)
    found = decoder.decode(SOURCES, beam=3, nbest=3, batch=1, refill=False, shortlist=short)
    for source, hypotheses in zip(SOURCES, found, strict=True):
        assert {c for h in hypotheses for c in h.symbols.tolist()} <= {*source.tolist(), size - 1}
    assert short.coverage(SOURCES, SOURCES) == 1.0
    assert short.coverage([np.array([3])], [np.array([3, 4, size - 1])]) == pytest.approx(2 / 3)


@pytest.mark.parametrize("name", SMALL)
def test_eight_bits_are_close(name):
    weights = model(name)
    sources = some_sources([4, 1, 6, 6, 2], size=len(weights.source))
    whole, small = Decoder(weights), Decoder(weights, precision="int8")
    found = whole.decode(sources, beam=4)
    targets = [h[0].symbols for h in found]
    assert np.abs(small.score(sources, targets) - whole.score(sources, targets)).max() < 0.5
    assert len(small.decode(sources, beam=4)) == len(sources) and small.report_.precision == "int8"


# ---- what goes wrong


def test_an_empty_source_has_no_target_and_moves_nothing():
    decoder = Decoder(model())
    found = decoder.decode([SOURCES[0], np.zeros(0, np.int32), SOURCES[1]], beam=2)
    assert found[1] == []
    assert_same([found[0], found[2]], decoder.decode(SOURCES[:2], beam=2))
    assert decoder.decode([], beam=2) == []


@pytest.mark.parametrize("scores", [True, False])
def test_what_is_not_a_number_is_an_error_with_item_and_step(scores):
    weights = model(end=-9.0)
    weights.arrays["embedding"][5] = 1e38  # the product of this symbol is too large for a float
    with pytest.raises(InputError, match=r"step 1: a score is not a finite number") as caught:
        Decoder(weights).decode([SOURCES[2][:0], np.array([3]), np.array([5]), np.array([4])], beam=1, scores=scores)
    assert caught.value.line == 3


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"beam": 0}, "beam"), ({"nbest": 0}, "nbest"), ({"batch": 0}, "batch"), ({"batching": "quick"}, "batching")],
)
def test_settings_that_make_no_sense_are_refused(options, reason):
    with pytest.raises(SettingError, match=reason):
        Decoder(model()).decode(SOURCES, **options)


def test_a_precision_that_is_not_there_is_refused():
    with pytest.raises(SettingError, match="fp32, int8; not 'fp64'"):
        Decoder(model(), precision="fp64")


def test_weights_of_another_architecture_are_refused_with_the_name_of_the_first_that_differs():
    weights = model()
    weights.arrays["attention/v"] = np.zeros(3, np.float32)
    with pytest.raises(ValueError, match="'attention/v' is float32"):
        Decoder(weights)


def test_a_beam_wider_than_the_symbols_is_used_as_far_as_it_goes():
    decoder = Decoder(model())
    with pytest.warns(CorpuscleWarning, match="only 10 symbols"):
        wide = decoder.decode(SOURCES[:3], beam=12, nbest=12)
    for source, hypotheses in zip(SOURCES[:3], wide, strict=True):
        expected = plain_search(decoder.weights, source, 12)
        assert [tuple(h.symbols.tolist()) for h in hypotheses] == [symbols for symbols, _ in expected]


def test_the_report_says_what_was_done():
    decoder = Decoder(model())
    decoder.decode(SOURCES, beam=3)
    said = json.loads(json.dumps(decoder.report_.to_json()))
    assert said["sentences"] == len(SOURCES) and said["symbols"] == sum(len(source) + 1 for source in SOURCES)
    assert {"encode", "network", "output", "search", "states", "results"} == said["seconds"].keys()
    assert said["peak_memory"] > 10 and said["steps"] == len(decoder.report_.curve)
