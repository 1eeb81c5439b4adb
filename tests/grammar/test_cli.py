"""The commands of grammars."""

import pytest

from corpuscle.cli.main import main
from corpuscle.samples import generate
from corpuscle.text import read_brackets, write_brackets
from tests.schemas import FRACTION, last_line_conforms

GOLD = "(S (NP (DT the) (NN dog)) (VP (VBD slept)) (. .))\n(S (NP (NNS cats)) (VP (VBP sleep)))\n"
KINDS = [f"{kind}_{figure}" for kind in ("labelled", "unlabelled", "spans") for figure in ("precision", "recall", "f1")]
RATES = [*KINDS, *(f"{name}_proper" for name in KINDS), "exact", "no_crossing", "tags", "spans_sentences"]
SCORES = {name + end: FRACTION for name in RATES for end in ("", "_low", "_high")} | {
    "crossing": float, "crossing_low": float, "crossing_high": float, "words": int, "failed": int, "trees": int,
    "right": int, "found": int, "gold": int, "low": FRACTION, "high": FRACTION, "deviation": float, "signature": str,
}  # fmt: skip
ROWS = {"name": str, "right": int, "found": int, "gold": int, "precision": float, "recall": float, "f1": float}


def run(capsys, *words, code=0):
    assert main([*map(str, words)]) == code
    return capsys.readouterr()


def test_evaluate_prints_all_figures(tmp_path, capsys):
    gold, found = tmp_path / "gold.mrg", tmp_path / "found.mrg"
    gold.write_text(GOLD)
    found.write_text(GOLD.replace("VP", "NP"))
    out = run(capsys, "grammar", "evaluate", gold, found, "--json", "--by", "label").out
    figures = last_line_conforms(out, SCORES | {"by_label": [ROWS]})
    assert figures["labelled_f1"] == 4 / 6 and figures["unlabelled_f1"] == 1
    assert "labelled F1 66.7 %" in run(capsys, "grammar", "evaluate", gold, found, "--by", "length").out


def test_a_blank_line_is_a_sentence_without_a_tree(tmp_path, capsys):
    gold, found = tmp_path / "gold.mrg", tmp_path / "found.mrg"
    gold.write_text(GOLD)
    found.write_text(GOLD.splitlines()[0] + "\n\n")
    figures = last_line_conforms(run(capsys, "grammar", "evaluate", gold, found, "--json").out, SCORES)
    assert figures["failed"] == 1 and figures["labelled_recall"] == 3 / 6


def test_compare_prints_differences(tmp_path, capsys):
    gold, found = tmp_path / "gold.mrg", tmp_path / "found.mrg"
    gold.write_text(GOLD)
    found.write_text(GOLD.replace("VP", "NP"))
    difference = {"difference": float, "low": float, "high": float, "deviation": float, "p_value": float}
    sides = {f"{name}_{side}": FRACTION for name in ("labelled_f1", "unlabelled_f1", "exact") for side in "ab"}
    schema = difference | sides | {"unlabelled_f1": difference, "spans_f1": difference}
    figures = last_line_conforms(run(capsys, "grammar", "compare", gold, gold, found, "--json").out, schema)
    assert figures["difference"] > 0 and figures["unlabelled_f1"]["difference"] == 0


def test_draw_writes_a_picture_with_confidence_and_another_parse(tmp_path, capsys):
    trees, other, picture = tmp_path / "a.mrg", tmp_path / "b.mrg", tmp_path / "t.svg"
    trees.write_text(GOLD.replace("VP", "VP~0.5"))
    other.write_text(GOLD.replace("VP", "X"))
    run(capsys, "grammar", "draw", trees, "-o", picture, "--tree", "2", "--other", other)
    text = picture.read_text()
    assert text.startswith("<svg") and "50 % sure" in text and ">cats</text>" in text and ">X<" in text
    assert "none of number 9" in run(capsys, "grammar", "draw", trees, "-o", picture, "--tree", "9", code=2).err


def test_mistakes_are_one_line(tmp_path, capsys):
    gold, bad = tmp_path / "gold.mrg", tmp_path / "bad.mrg"
    gold.write_text(GOLD)
    for text, reason in (
        ("(S (NP a)\n", "unbalanced"), ("", "2 gold trees, but 0"), ("(S (NP a))\n(S (NP b))\n", "other words"),
    ):  # fmt: skip
        bad.write_text(text)
        err = run(capsys, "grammar", "evaluate", gold, bad, code=2).err
        assert err.startswith("error: ") and reason in err and err.count("\n") == 1


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    """A folder with trees to learn from, others, their text, and a model of each method."""
    folder = tmp_path_factory.mktemp("grammar")
    trees = generate(seed=1, sentences=150).trees()
    write_brackets(trees[:120], folder / "train.mrg")
    write_brackets(trees[120:], folder / "dev.mrg")
    (folder / "text").write_text("".join(" ".join(words) + "\n" for words in trees[120:].words))
    for method, more in (("pcfg", []), ("em", ["--iterations", "3"]), ("spectral", ["--states", "2"])):
        train = ["grammar", "train", folder / "train.mrg", "-o", folder / method, "--method", method, *more, "--quiet"]
        assert main([*map(str, train)]) == 0
    return folder


TRAINED = {
    "method": str, "trees": int, "words": int, "phrases": int, "tags": int, "rules": int, "tuned": [str],
    "seconds": float, "logp?": float, "iterations?": int,
}  # fmt: skip


@pytest.mark.parametrize("method", ["pcfg", "em", "spectral"])
def test_train_parse_and_evaluate(kit, tmp_path, capsys, method):
    more = [] if method == "pcfg" else ["--dev", kit / "dev.mrg", "--states", "2"]
    train = ["grammar", "train", kit / "train.mrg", "-o", tmp_path / "m", "--method", method, *more, "--json"]
    figures = last_line_conforms(run(capsys, *train).out, TRAINED)
    assert figures["trees"] == 120 and figures["tuned"] == ([] if method == "pcfg" else ["mix"])
    run(capsys, "grammar", "parse", tmp_path / "m", kit / "text", "-o", tmp_path / "out.mrg")
    assert list(read_brackets(tmp_path / "out.mrg").words) == list(read_brackets(kit / "dev.mrg").words)
    out = run(capsys, "grammar", "evaluate", kit / "dev.mrg", "--model", tmp_path / "m", "--json").out
    overlap = {"overlap_training": FRACTION, "overlap_tuning": FRACTION}
    one = last_line_conforms(out, SCORES | overlap)
    other = last_line_conforms(
        run(capsys, "grammar", "evaluate", kit / "dev.mrg", tmp_path / "out.mrg", "--json").out, SCORES
    )
    assert one["labelled_f1"] == other["labelled_f1"] > 0.7


def test_parse_reads_trees_tagged_text_and_conllu(kit, tmp_path, capsys):
    plain = run(capsys, "grammar", "parse", kit / "pcfg", kit / "text").out
    assert run(capsys, "grammar", "parse", kit / "pcfg", kit / "dev.mrg").out == plain
    trees = read_brackets(kit / "dev.mrg")
    tags, starts = trees.word_tags, trees.words.sentence_starts
    lines = [
        " ".join(
            f"{word}/{tag}" for word, tag in zip(trees.words.words(i), tags[starts[i] : starts[i + 1]], strict=True)
        )
        for i in range(len(trees))
    ]
    (tmp_path / "tagged").write_text("\n".join(lines) + "\n")
    gold = run(capsys, "grammar", "parse", kit / "pcfg", kit / "dev.mrg", "--tags", "gold").out
    assert run(capsys, "grammar", "parse", kit / "pcfg", tmp_path / "tagged", "--tags", "gold").out == gold
    (tmp_path / "gold.mrg").write_text(gold)
    assert read_brackets(tmp_path / "gold.mrg").word_tags == tags
    run(capsys, "grammar", "dependencies", kit / "dev.mrg", "-o", tmp_path / "dev.conllu")
    assert run(capsys, "grammar", "parse", kit / "pcfg", tmp_path / "dev.conllu", "--tags", "gold").out == gold
    err = run(capsys, "grammar", "parse", kit / "pcfg", kit / "text", "--tags", "gold", code=2).err
    assert err.startswith(f"error: {kit / 'text'}:1: expected word/TAG")


def test_parse_with_confidence_and_n_best(kit, tmp_path, capsys):
    (tmp_path / "in").write_text("\n".join((kit / "text").read_text().split("\n")[:2]) + "\n")
    sure = run(capsys, "grammar", "parse", kit / "em", tmp_path / "in", "--confidence").out
    (tmp_path / "sure.mrg").write_text(sure)
    run(capsys, "grammar", "draw", tmp_path / "sure.mrg", "-o", tmp_path / "t.svg")
    assert "% sure" in (tmp_path / "t.svg").read_text() and "~" in sure
    blocks = run(capsys, "grammar", "parse", kit / "em", tmp_path / "in", "--nbest", "3").out.split("\n\n")
    assert len(blocks) == 2 and all(block.strip() for block in blocks)
    assert blocks[0].count("(TOP") <= 3
    both = run(capsys, "grammar", "parse", kit / "em", tmp_path / "in", "--nbest", "3", "--confidence", code=2)
    assert "not with --nbest" in both.err


def test_probability_and_marginals(kit, capsys):
    schema = {"log10": float, "items": int, "impossible": int, "each": [float | None]}
    of_trees = last_line_conforms(
        run(capsys, "grammar", "probability", kit / "em", kit / "dev.mrg", "--json").out, schema
    )
    of_text = last_line_conforms(run(capsys, "grammar", "probability", kit / "em", kit / "text", "--json").out, schema)
    assert of_text["items"] == 30 and of_text["impossible"] == 0
    for tree, text in zip(of_trees["each"], of_text["each"], strict=True):
        assert tree is None or tree <= text + 1e-9
    spans = {"label": str, "first": int, "end": int, "share": FRACTION}
    schema = {"sentences": [{"words": [str], "spans": [spans]}]}
    found = last_line_conforms(
        run(capsys, "grammar", "marginals", kit / "spectral", kit / "text", "--json").out, schema
    )
    assert len(found["sentences"]) == 30
    assert "sentence\tlabel" in run(capsys, "grammar", "marginals", kit / "pcfg", kit / "text").out


def test_mistakes_of_models_are_one_line(kit, tmp_path, capsys):
    (tmp_path / "heads").write_text("NP sideways NN\n")
    (tmp_path / "empty.mrg").write_text("")
    for words, reason in (
        (("train", tmp_path / "empty.mrg", "-o", tmp_path / "m"), "there are no trees"),
        (("train", kit / "train.mrg", "-o", tmp_path / "m", "--method", "pcfg", "--dev", kit / "dev.mrg"), "--dev"),
        (("train", kit / "train.mrg", "-o", tmp_path / "m", "--resume"), "--resume is for --method em"),
        (("train", kit / "train.mrg", "-o", tmp_path / "m", "--method", "pcfg", "--states", "3"), "means nothing"),
        (("dependencies", kit / "dev.mrg", "--heads", tmp_path / "heads"), "heads:1: expected a label"),
        (("evaluate", kit / "dev.mrg"), "--model"),
    ):
        err = run(capsys, "grammar", *words, code=2).err
        assert err.startswith("error: ") and reason in err and err.count("\n") == 1
