"""``corpuscle align`` from the command line, on the sample language, whose links are known; and its model files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import corpuscle
from corpuscle.align import DEFAULT_METHOD, METHODS, SYMMETRISATIONS, learner, n_best, verbs
from corpuscle.align.lexicon import lexicon
from corpuscle.cli.main import main
from corpuscle.errors import CorpuscleWarning, InputError, Interrupted
from corpuscle.measure import alignment_error
from corpuscle.samples import generate
from corpuscle.text.alignments import Alignments, read_pharaoh, write_pharaoh
from corpuscle.text.bitext import Bitext, read_bitext
from corpuscle.text.corpus import Corpus
from tests.hostile import survives_hostile_edits
from tests.schemas import FRACTION, last_line_conforms

TRAINED = {
    "method": str,
    "sentence_pairs": int,
    "learned_from": int,
    "source_tokens": int,
    "target_tokens": int,
    "couples": int,
    "log_likelihood_per_token": [float],
    "seconds": float,
    "model": str,
}
COMPARED = {"difference": float, "low": float, "high": float, "deviation": float, "p_value": FRACTION}
MEASURED = {
    **{f"{name}{end}": FRACTION for name in ("aer", "precision", "recall", "f1") for end in ("", "_low", "_high")},
    **dict.fromkeys(("links", "sure", "possible", "sentence_pairs"), int),
    "low": FRACTION,
    "high": FRACTION,
    "deviation": float,
    "signature": str,
    "singleton_fertility?": float | None,
    "singleton_fertility_target?": float | None,
    "against?": COMPARED,
}


PHRASES = {"sentence_pairs": int, "entries": int, "matching": int | None}


@pytest.fixture(scope="module")
def sample(tmp_path_factory) -> Path:
    """Sentence pairs of the sample language with their gold links, and a model learned from them."""
    folder = tmp_path_factory.mktemp("align")
    pairs = generate(1, pairs=500).pairs
    bitext = Bitext(
        Corpus.from_sentences([pair.source.words for pair in pairs]),
        Corpus.from_sentences([pair.target.words for pair in pairs]),
    )
    for corpus, name in (bitext.source, "s.txt"), (bitext.target, "t.txt"):
        (folder / name).write_text("".join(" ".join(words) + "\n" for words in corpus), encoding="utf-8")
    gold = Alignments.from_pairs(
        [[(link.source, link.target) for link in pair.links] for pair in pairs],
        [[link.sure for link in pair.links] for pair in pairs],
    )
    write_pharaoh(gold, folder / "gold")
    assert main(["align", "train", str(folder / "s.txt"), str(folder / "t.txt"), "-o", str(folder / "m"), "-q"]) == 0
    return folder


def texts(sample: Path) -> list[str]:
    return [str(sample / "s.txt"), str(sample / "t.txt")]


def test_training_says_what_it_did_and_the_links_are_good(sample, capsys, tmp_path) -> None:
    capsys.readouterr()
    links = str(tmp_path / "links")
    assert main(["align", "train", *texts(sample), "-o", str(tmp_path / "m"), "--links", links, "--json", "-q"]) == 0
    printed = last_line_conforms(capsys.readouterr().out, TRAINED)
    assert printed["method"] == DEFAULT_METHOD and printed["sentence_pairs"] == 500
    assert (tmp_path / "m").read_bytes() == (sample / "m").read_bytes()
    more = ["--source", texts(sample)[0], "--target", texts(sample)[1], "--train", *texts(sample)]
    assert main(["align", "evaluate", str(sample / "gold"), links, *more, "--against", links, "--json"]) == 0
    figures = last_line_conforms(capsys.readouterr().out, MEASURED)
    assert figures["aer"] < 0.15
    assert figures["against"]["difference"] == 0
    assert main(["align", "apply", str(sample / "m"), *texts(sample)]) == 0
    assert capsys.readouterr().out == Path(links).read_text()
    assert main(["align", "evaluate", str(sample / "gold"), "--model", str(sample / "m"), *more[:4], "--json"]) == 0
    assert last_line_conforms(capsys.readouterr().out, MEASURED)["aer"] == figures["aer"]
    assert main(["align", "evaluate", str(sample / "gold"), links]) == 0
    assert "AER" in capsys.readouterr().out


@pytest.mark.parametrize("method", [name for name in METHODS if name != DEFAULT_METHOD])
def test_every_method_trains_and_is_loaded_again(method, sample, capsys, tmp_path) -> None:
    path = str(tmp_path / "m")
    assert main(["align", "train", *texts(sample), "-o", path, "--method", method, "--json", "-q"]) == 0
    assert last_line_conforms(capsys.readouterr().out, TRAINED)["method"] == method
    loaded = corpuscle.load(path)
    bitext = read_bitext(*texts(sample))[:20]
    fresh = learner(method).fit(read_bitext(*texts(sample)))
    assert loaded.align(bitext).links.tolist() == fresh.align(bitext).links.tolist()
    assert loaded.settings == fresh.settings


@pytest.mark.filterwarnings("ignore")
def test_every_seed_that_the_command_line_takes_is_one_of_the_models(tmp_path) -> None:
    bitext = Bitext(*(Corpus.from_sentences([["a", "b"], ["b", "c"]]) for _ in range(2)))
    model = learner("fertility", seed=2**63 - 1, passes=1, chains=1, sweeps=2, workers=1).fit(bitext)
    model.save(tmp_path / "m")
    again = corpuscle.load(tmp_path / "m")
    assert again.settings["seed"] == 2**63 - 1
    assert again.align(bitext).links.tolist() == model.align(bitext).links.tolist()


def test_help_shows_the_defaults_of_each_method_and_switches_turn_both_ways(sample, capsys, tmp_path) -> None:
    assert main(["align", "train", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    shared, *parts = text.split("Only with --method ")
    assert "--passes N How often to go through the text. [default: 5]" in shared
    sections = dict(part.split(": ", 1) for part in parts)
    assert "[default: 0.08]" in sections["diagonal"] and "[default: 0.001]" in sections["fertility"]
    path = str(tmp_path / "m")
    for switch, on in ("--bayes", True), ("--no-bayes", False):
        assert main(["align", "train", *texts(sample), "-o", path, "--method", "ibm1", switch, "-q"]) == 0
        assert corpuscle.load(path).bayes is on


@pytest.mark.filterwarnings("ignore:there is only one")
def test_best_alignments_of_very_long_pairs_are_not_looked_for() -> None:
    short = ["a"], ["b"]
    model = learner("hmm", passes=1, workers=1).fit(Bitext(*(Corpus.from_sentences([side]) for side in short)))
    bitext = Bitext(*(Corpus.from_sentences([side * 1001, side]) for side in short))
    with pytest.warns(CorpuscleWarning, match="1 sentence pairs have a side of more than 1,000 words"):
        long, ordinary = n_best(model, bitext, 3, 0)
    assert len(long) == 1 and not len(long[0].links) and len(ordinary[0].links) == 1


def test_new_sentences_and_unknown_words_are_aligned(sample, capsys, tmp_path) -> None:
    source, target = (Path(path).read_text().splitlines()[3].split() for path in texts(sample))
    (tmp_path / "n").write_text(f"{' '.join(source)} zzz ||| {' '.join(target)} qqq\n||| {target[0]}\nzzz ||| qqq\n")
    capsys.readouterr()
    assert main(["align", "apply", str(sample / "m"), str(tmp_path / "n"), "--weights"]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert len(lines) == 4 and lines[0] and lines[1] == ""
    assert all(0 <= float(link.split(":")[1]) <= 1 for link in lines[0].split())


def test_all_symmetrisations_in_one_command(sample, capsys, tmp_path) -> None:
    assert main(["align", "apply", str(sample / "m"), *texts(sample), "--all", str(tmp_path / "links")]) == 0
    found = {how: read_pharaoh(tmp_path / f"links.{how}") for how in (*SYMMETRISATIONS, "posterior")}
    sizes = {how: len(links.links) for how, links in found.items()}
    assert sizes["intersection"] <= sizes["grow-diag"] <= sizes["grow-diag-final-and"] <= sizes["union"]
    again = learner().fit(read_bitext(*texts(sample))).align(read_bitext(*texts(sample)), "union")
    assert again.links.tolist() == found["union"].links.tolist()


def test_the_lexicon_has_translations_with_examples(sample, capsys, tmp_path) -> None:
    capsys.readouterr()
    assert main(["align", "lexicon", str(sample / "m"), "--min-links", "3", "--examples", *texts(sample)]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert len(rows) > 20
    for source, target, count, forward, backward, score, left, right in rows:
        assert float(count) >= 3 and float(score) == pytest.approx((float(forward) * float(backward)) ** 0.5, abs=1e-3)
        if left:
            assert source in left.split() and target in right.split()
    assert sum(bool(row[6]) for row in rows) > 0.8 * len(rows)
    model = corpuscle.load(sample / "m")
    assert all(entry.example == -1 for entry in lexicon(model))


def test_phrase_tables_and_rules_from_several_alignments(sample, capsys, tmp_path) -> None:
    links = [str(tmp_path / how) for how in ("intersection", "union")]
    assert main(["align", "apply", str(sample / "m"), *texts(sample), "--all", str(tmp_path / "x")]) == 0
    for path in links:
        (tmp_path / f"x.{Path(path).name}").rename(path)
    counts = {}
    for kind in (), ("--hierarchical",):
        for given in links[:1], links[1:], links:
            options = ["--links", *given] if kind else [part for path in given for part in ("--links", path)]
            table, test = str(tmp_path / "table"), str(sample / "s.txt")
            run = ["align", "phrases", *texts(sample), *options, "-o", table, "--match", test, "--json", *kind]
            assert main(run) == 0
            figures = last_line_conforms(capsys.readouterr().out, PHRASES)
            lines = Path(table).read_text(encoding="utf-8").splitlines()
            assert len(lines) == figures["matching"]
            assert {line.count(" ||| ") for line in lines} == {5 if kind else 4}
            counts[kind, len(given), given[0]] = figures["entries"]
            if not kind:  # every phrase of the text is in the text
                assert figures["entries"] == figures["matching"]
        assert counts[kind, 2, links[0]] >= max(counts[kind, 1, links[0]], counts[kind, 1, links[1]])
    assert main(["align", "phrases", *texts(sample), "--links", str(sample / "s.txt")]) == 2


def test_matrices_are_files_that_load_as_matrices(sample, capsys, tmp_path) -> None:
    path = tmp_path / "matrix"
    assert main(["align", "matrix", str(sample / "m"), *texts(sample), "-o", str(path), "--json"]) == 0
    last_line_conforms(capsys.readouterr().out, {"sentence_pairs": int, "cells": int, "matrix": str})
    matrix = corpuscle.load(path)
    model, bitext = corpuscle.load(sample / "m"), read_bitext(*texts(sample))
    assert (matrix.weights == model.matrix(bitext).weights).all()
    positive = matrix.weights[matrix.weights > 0]
    assert positive.min() >= np.float32(0.01) and positive.max() <= 1
    both = [model.matrix(bitext, kind).weights for kind in ("forward", "backward")]
    assert np.allclose(model.matrix(bitext, "mean").weights, sum(both) / 2, atol=0.011)
    survives_hostile_edits(path, lambda p: corpuscle.load(p).links(), edits=60)


def test_a_picture_of_a_sentence_pair(sample, tmp_path) -> None:
    import xml.etree.ElementTree as tree

    path = tmp_path / "grid.svg"
    more = ["--line", "4", "--gold", str(sample / "gold")]
    assert main(["align", "draw", str(sample / "m"), *texts(sample), "-o", str(path), *more]) == 0
    picture = tree.parse(path).getroot()
    links = corpuscle.load(sample / "m").align(read_bitext(*texts(sample))).pair(3)
    circles = [e for e in picture.iter() if e.tag.endswith("circle")]
    assert len(circles) == len(links)


def test_pairs_that_do_not_belong_together_are_found(sample, capsys, tmp_path) -> None:
    source, target = (Path(path).read_text().splitlines() for path in texts(sample))
    mixed = target[:20] + target[20:40][::-1]
    (tmp_path / "p").write_text("".join(f"{a} ||| {b}\n" for a, b in zip(source[:40], mixed, strict=True)))
    capsys.readouterr()
    kept = tmp_path / "kept"
    command = ["align", "filter", str(sample / "m"), str(tmp_path / "p"), "--kept", str(kept)]
    assert main([*command, "--min-confidence", "0.6"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    found = {int(row[0]) for row in rows}
    assert found <= set(range(21, 41)) and len(found) >= 15
    assert [float(row[1]) for row in rows] == sorted(float(row[1]) for row in rows)
    assert len(kept.read_text().splitlines()) == 40 - len(found)


def test_filtered_text_is_the_text_that_was_read(capsys, tmp_path) -> None:
    pairs, kept, listed = tmp_path / "p", tmp_path / "kept", tmp_path / "listed"
    lines = ["E\u0301t\u00e9, 1984 ||| Summer, 1984", "Un Chat ||| A Cat", "Un\tChien ||| A  Dog 2"]
    pairs.write_text("\n".join(lines) + "\n", encoding="utf-8")
    model = str(tmp_path / "m")
    spelling = ["--lowercase", "--digits", "--tokenise", "simple"]
    assert main(["align", "train", str(pairs), "-o", model, "--method", "ibm1", *spelling, "-q"]) == 0
    command = ["align", "filter", model, str(pairs), "-o", str(listed), "-q"]
    written = [" ".join(line.split()) for line in lines]
    assert main([*command, "--kept", str(kept), "--min-confidence", "0"]) == 0
    assert kept.read_text(encoding="utf-8").splitlines() == written and not listed.read_text()
    assert main([*command, "--min-confidence", "1"]) == 0
    rows = [line.split("\t") for line in listed.read_text(encoding="utf-8").splitlines()]
    assert rows and all(" ||| ".join(row[2:]) == written[int(row[0]) - 1] for row in rows)
    source, target = tmp_path / "s", tmp_path / "t"
    source.write_text("a ||| b\n")
    target.write_text("c\n")
    listed.unlink()
    command[3:4] = [str(source), str(target)]
    assert main([*command, "--kept", str(kept), "--min-confidence", "0"]) == 2
    assert "cannot hold the word '|||'" in capsys.readouterr().err and not listed.exists()


def test_learning_goes_on_from_a_saved_model(sample, capsys, tmp_path) -> None:
    source, target = (Path(path).read_text().splitlines() for path in texts(sample))
    (tmp_path / "old").write_text("".join(f"{a} ||| {b}\n" for a, b in zip(source[:300], target[:300], strict=True)))
    (tmp_path / "new").write_text("".join(f"{a} ||| {b}\n" for a, b in zip(source[300:], target[300:], strict=True)))
    old, new = str(tmp_path / "m"), str(tmp_path / "m2")
    assert main(["align", "train", str(tmp_path / "old"), "-o", old, "-q"]) == 0
    capsys.readouterr()
    update = ["align", "update", old, str(tmp_path / "new"), "-q", "--json"]
    assert main([*update, "-o", new, "--workers", "1"]) == main([*update, "-o", new + "-2", "--workers", "2"]) == 0
    assert Path(new).read_bytes() == Path(new + "-2").read_bytes()
    last_line_conforms(capsys.readouterr().out, TRAINED)
    before, after = corpuscle.load(old), corpuscle.load(new)
    assert after.source_vocab_.strings[: len(before.source_vocab_)] == before.source_vocab_.strings
    assert after.counts_.sum() > before.counts_.sum()
    gold, bitext = read_pharaoh(sample / "gold"), read_bitext(*texts(sample))
    errors = [alignment_error(gold[300:], m.align(bitext[300:]), draws=1)["aer"] for m in (before, after)]
    assert errors[1] < errors[0]


@pytest.mark.parametrize("method, stop", [("hmm", 7), ("fertility", 7), ("fertility", 17)])
def test_an_interrupted_run_goes_on_to_the_same_model(method, stop, sample, tmp_path) -> None:
    bitext = read_bitext(*texts(sample))[:200]
    path = tmp_path / "m"
    model = learner(method)
    with pytest.raises(Interrupted), model.checkpoint(bitext, path) as checkpoint:
        after = checkpoint.after

        def stop_here(iteration, arrays, **more):
            checkpoint._stop.requested = iteration == stop
            after(iteration, arrays, **more)

        checkpoint.after = stop_here
        model.fit(bitext, checkpoint=checkpoint)
    again = learner(method)
    with again.checkpoint(bitext, path, resume=True) as checkpoint:
        again.fit(bitext, checkpoint=checkpoint).save(path)
    learner(method).fit(bitext).save(tmp_path / "whole")
    assert path.read_bytes() == (tmp_path / "whole").read_bytes()


def use(path: Path) -> None:
    """Load a model and align with it."""
    model = corpuscle.load(path)
    bitext = Bitext(Corpus.from_sentences([["a", "b"], ["q"]]), Corpus.from_sentences([["x"], ["y", "z"]]))
    model.workers = 1
    model.align(bitext)
    model.matrix(bitext)
    lexicon(model)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", list(METHODS))
def test_damaged_models_are_refused_or_harmless(tmp_path, method) -> None:
    bitext = Bitext(
        Corpus.from_sentences([["a", "b"], ["b"], ["a", "c"]]), Corpus.from_sentences([["x", "y"], ["y"], ["z", "x"]])
    )
    learner(method, passes=2).fit(bitext).save(tmp_path / "m")
    assert survives_hostile_edits(tmp_path / "m", use, edits=80) > 20


def test_a_word_that_is_not_in_the_training_text_is_not_one_seen_once(capsys, tmp_path) -> None:
    for name, text in {"training": "<unk> a a\n", "text": "new a\n", "links": "0-0 1-1\n"}.items():
        (tmp_path / name).write_text(text)
    training, text, links = (str(tmp_path / name) for name in ("training", "text", "links"))
    command = ["align", "evaluate", links, links, "--source", text, "--target", text, "--train", training, training]
    assert main(command) == 0
    assert "seen once" not in capsys.readouterr().out
    assert main([*command, "--json"]) == 0
    assert last_line_conforms(capsys.readouterr().out, MEASURED)["singleton_fertility"] is None


@pytest.mark.filterwarnings("ignore")
def test_bad_input_is_one_clear_line_and_exit_code_2(sample, capsys, tmp_path) -> None:
    short, empty, gold = tmp_path / "short", tmp_path / "empty", tmp_path / "gold"
    short.write_text("a\n")
    empty.write_text("\n\n")
    (tmp_path / "long").write_text("a b c\n\nd e f\n")
    gold.write_text("7-7\n")
    nothing = tmp_path / "nothing"
    nothing.write_text("")
    model, out = str(sample / "m"), ["-o", str(tmp_path / "m")]
    source, target = texts(sample)
    for arguments, reason in [
        (["train", source, str(short), *out], "1 lines, but"),
        (["train", str(empty), str(empty), *out], f"error: {empty}: there are no sentence pairs to learn from"),
        (["update", model, str(empty), str(empty), *out], f"error: {empty}: there are no sentence pairs to learn from"),
        (
            ["train", str(tmp_path / "long"), str(tmp_path / "long"), *out, "--max-length", "2"],
            "there are no sentence pairs to learn from: all have an empty side, or one of more than 2 words",
        ),
        (["train", source, target, *out, "--method", "magic"], "'magic' is not one of 'fertility', 'ibm1'"),
        (["train", source, target, *out, "--passes", "0"], "passes is a whole number from 1 to 10,000; not 0"),
        (["train", source, target, *out, "--method", "ibm1", "--p0", "0.1"], "--p0 means nothing with --method ibm1"),
        (["train", source, target, *out, "--resume"], "nothing to resume"),
        (["apply", model, source, target, "--symmetrise", "magic"], "--symmetrise is one of"),
        (["apply", model, source, target, "--decode", "posterior", "--threshold", "0"], "the threshold is above 0"),
        (["apply", source, source, target], ""),
        (["train", source, target, *out, "--links", out[1]], "two outputs cannot be one file"),
        (["filter", model, source, target, *out, "--kept", out[1]], "two outputs cannot be one file"),
        (["train", source, target, *out, "--symmetrise", "magic"], "--symmetrise is one of"),
        (["evaluate", str(gold), str(gold), "--symmetrise", "magic"], "--symmetrise is one of"),
        (["train", source, target, "-o", "-"], "cannot go to stdout"),
        (["update", model, source, target, "-o", "-"], "cannot go to stdout"),
        (["matrix", model, source, target, "-o", "-"], "cannot go to stdout"),
        (["evaluate", str(gold), str(sample / "gold")], "links of 500 sentence pairs"),
        (["evaluate", str(gold), str(gold), "--source", str(short), "--target", str(short)], "the link 7-7 lies"),
        (["evaluate", str(gold)], "give links to judge"),
        (["evaluate", str(nothing), str(nothing)], f"error: {nothing}: there are no sentence pairs"),
        (["draw", model, source, target, "-o", str(tmp_path / "g.svg"), "--line", "501"], "there is no line 501"),
        (["matrix", model, source, target, *out, "--matrix", "magic"], "--matrix is one of"),
    ]:
        assert main(["align", *arguments]) == 2, arguments
        error = capsys.readouterr().err.splitlines()[-1]
        assert error.startswith("error: ") and reason in error, (arguments, error)
        assert not (tmp_path / "m").exists(), arguments


def test_verbs_take_files_strings_and_objects_in_python(sample) -> None:
    model, bitext = corpuscle.load(sample / "m"), read_bitext(*texts(sample))
    links = verbs.apply(sample / "m", texts(sample)[0], target=texts(sample)[1])
    assert links.links.tolist() == model.align(bitext).links.tolist() and links.weights is None
    strings = [(" ".join(source), " ".join(target)) for source, target in bitext[:5]]
    assert verbs.apply(model, strings, weights=True).links.tolist() == links[:5].links.tolist()
    best = verbs.apply(learner("hmm").fit(bitext[:50]), strings, nbest=2, symmetrise="backward")
    assert {row[0] for row in best.rows} == {1, 2, 3, 4, 5}
    gold = read_pharaoh(sample / "gold")
    figures = verbs.evaluate(sample / "gold", links).to_json()
    assert figures == verbs.evaluate(gold, model=model, source=texts(sample)[0], target=texts(sample)[1]).to_json()
    with pytest.raises(InputError, match="links of 5 sentence pairs, but the gold file has 500"):
        verbs.evaluate(gold, links[:5])
    assert len(list(verbs.filter(model, bitext, min_confidence=1.0).rows)) == 500
    assert {len(row) for row in verbs.lexicon(model, min_links=3).rows} == {6}
    assert {len(row) for row in verbs.lexicon(model, min_links=3, examples=bitext).rows} == {8}
    more = verbs.update(model, bitext[:5])
    assert more.model.provenance_["sentence_pairs"] == more.figures["sentence_pairs"] == 5
    assert verbs.train(learner("ibm1", passes=1), (bitext.source, bitext.target)).figures["method"] == "ibm1"


def test_links_the_wrong_way_round_are_noticed(sample, capsys, tmp_path) -> None:
    turned = tmp_path / "turned"
    write_pharaoh(read_pharaoh(sample / "gold").transposed(), turned)
    assert main(["align", "evaluate", str(sample / "gold"), str(turned), "--json"]) == 0
    captured = capsys.readouterr()
    assert "change places" in captured.err
    assert json.loads(captured.out)["aer"] > 0
