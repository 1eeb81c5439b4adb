"""The commands of grammars."""

from corpuscle.cli.main import main
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
