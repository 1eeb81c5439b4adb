"""The commands of grammars."""

import json

import pytest

from corpuscle.cli.main import main
from corpuscle.grammar import BRANCHINGS
from corpuscle.samples import generate
from corpuscle.text import read_brackets, write_brackets, write_conllu
from tests.schemas import FRACTION, last_line_conforms

GOLD = "(S (NP (DT the) (NN dog)) (VP (VBD slept)) (. .))\n(S (NP (NNS cats)) (VP (VBP sleep)))\n"
KINDS = [f"{kind}_{figure}" for kind in ("labelled", "unlabelled", "spans") for figure in ("precision", "recall", "f1")]
RATES = [*KINDS, *(f"{name}_proper" for name in KINDS), "exact", "no_crossing", "tags", "spans_sentences"]
SCORES = {name + end: FRACTION for name in RATES for end in ("", "_low", "_high")} | {
    "crossing": float, "crossing_low": float, "crossing_high": float, "words": int, "unparsed": int, "trees": int,
    "right": int, "found": int, "gold": int, "low": FRACTION, "high": FRACTION, "deviation": float, "signature": str,
}  # fmt: skip
ROWS = {
    "name": str,
    "right": int,
    "found": int,
    "gold": int,
    "precision": float | None,
    "recall": float | None,
    "f1": float | None,
}


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
    assert figures["unparsed"] == 1 and figures["labelled_recall"] == 3 / 6


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


def test_trees_by_chance(kit, tmp_path, capsys):
    (tmp_path / "in").write_text("\n".join((kit / "text").read_text().split("\n")[:3]) + "\n")
    sample = ["grammar", "sample", kit / "spectral", tmp_path / "in", "--draws", "4"]
    drawn = run(capsys, *sample, "--seed", "5").out
    assert drawn == run(capsys, *sample, "--seed", "5", "--workers", "2").out != run(capsys, *sample, "--seed", "6").out
    blocks = drawn.split("\n\n")
    assert [block.count("(TOP") for block in blocks] == [4, 4, 4]


def test_tags_of_conllu_are_a_grammar_too(kit, tmp_path, capsys):
    write_conllu(generate(seed=1, sentences=150).treebank()[:120], tmp_path / "known.conllu")
    new = generate(seed=1, sentences=150).treebank()[120:]
    write_conllu(new, tmp_path / "new.conllu")
    run(capsys, "grammar", "train", tmp_path / "known.conllu", "-o", tmp_path / "m", "--method", "em", "--states", "2")
    out = run(capsys, "grammar", "evaluate", tmp_path / "new.conllu", "--model", tmp_path / "m", "--json").out
    assert json.loads(out.splitlines()[-1])["tags"] > 0.9
    run(capsys, "grammar", "parse", tmp_path / "m", tmp_path / "new.conllu", "-o", tmp_path / "out.mrg")
    assert list(read_brackets(tmp_path / "out.mrg").words) == list(new.corpus)


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


INDUCED = {
    "method": str, "sentences": int, "left_out": int, "words": int, "symbols": int, "seconds": float,
    "dimensions?": int, "yields?": int, "contexts?": int, "iterations?": int,
    "brackets?": [{
        "name": str, "limit": int, "sentences_counted": int, "f1": float, "proper": float, "sentences": float,
    }],
}  # fmt: skip
TREES = "(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat))) (. .))\n" * 4 + (
    "(S (NP (NNS cats)) (VP (VBD saw) (NP (DT the) (NN bird))))\n(S (NP (DT a) (NN bird)) (VP (VBD slept)))\n" * 3
)


def test_brackets_are_induced_and_parse_finds_their_kind(tmp_path, capsys):
    bank, model = tmp_path / "t.mrg", tmp_path / "m"
    bank.write_text(TREES)
    for method, more in (("treemetric", ["--rank", "2", "--dimensions", "4"]), ("ccm", ["--iterations", "3"])):
        command = ["grammar", "induce", bank, "-o", model, "--method", method, *more, "--json", "-q"]
        figures = last_line_conforms(run(capsys, *command).out, INDUCED)
        assert figures["method"] == method and figures["sentences"] == 10
        assert {row["name"] for row in figures["brackets"]} == {*BRANCHINGS, "oracle-top-right", method}
        lines = run(capsys, "grammar", "parse", model, bank, "--confidence").out.splitlines()
        assert len(lines) == 10 and lines[0].startswith("(TOP (X~1.000 (X~")
        figures = last_line_conforms(
            run(capsys, "grammar", "evaluate", bank, "--model", model, "--json", "--quiet").out,
            SCORES | {"overlap_training": FRACTION, "overlap_tuning": FRACTION},
        )
        assert figures["unparsed"] == 0
        spans = json.loads(run(capsys, "grammar", "marginals", model, bank, "--json").out)["sentences"][0]["spans"]
        assert spans[0] == {"label": "X", "first": 0, "end": 6, "share": 1.0}
    tagged = tmp_path / "t.txt"
    tagged.write_text("the/DT dog/NN slept/VBD\n")
    assert "(X (DT the) (NN dog))" in run(capsys, "grammar", "parse", model, tagged).out
    assert "n best" in run(capsys, "grammar", "parse", model, tagged, "--nbest", "2", code=2).err


def test_brackets_from_plain_text_with_classes(tmp_path, capsys):
    text, classes, model = tmp_path / "t.txt", tmp_path / "c", tmp_path / "m"
    text.write_text("the dog saw a cat .\na cat saw the bird .\nthe bird slept .\n" * 5)
    run(capsys, "classes", "train", text, "-o", classes, "--method", "brown", "--classes", "4", "-q")
    symbols = ["--symbols", "classes", "--class-model", classes]
    run(capsys, "grammar", "induce", text, "-o", model, *symbols, "--rank", "2", "-q")
    assert run(capsys, "grammar", "parse", model, text).out.count("(TOP") == 15
    table = run(capsys, "grammar", "distances", model).out.splitlines()
    assert table[0] == "left\tright\tapart\tdistance" and len(table) == 1 + 4 * 4 * 40


def test_what_cannot_be_induced_is_one_line(tmp_path, capsys):
    text, model, tags = tmp_path / "t.txt", tmp_path / "m", tmp_path / "map.tsv"

    def error(*more, content="the/DT dog/NN slept/VBD\n"):
        text.write_text(content)
        message = run(capsys, "grammar", "induce", text, "-o", model, "-q", *more, code=2).err
        assert not model.exists() and message.count("\n") == 1
        return message

    assert f"{text}:2: expected word/TAG" in error(content="a/DT b/NN\na b\n")
    assert "no tags" in error(content="the dog slept\n")
    assert "empty" in error(content="\n")
    assert "no sentence has from 2" in error(content="a/DT\n")
    assert "--vectors means nothing" in error("--method", "ccm", "--vectors", "x.vec")
    assert "--resume means nothing" in error("--resume")
    assert "--gamma means nothing with --method ccm" in error("--method", "ccm", "--gamma", "1")
    tags.write_text("DT\tDET\nNN\tQ\n")
    assert f"{tags}:2: 'Q' is no universal tag" in error("--tag-map", tags)


COMMON = {
    "languages": int, "sentences": int, "left_out": int, "words": int, "iterations": int, "objective": float,
    "seconds": float, "deviations": {str: float}, "tree": str,
}  # fmt: skip


def test_a_common_grammar_is_learned_and_read(tmp_path, capsys):
    one, two, model, names = (tmp_path / name for name in ("aa.txt", "bb.txt", "m", "names.tsv"))
    one.write_text("the dog sees a cat\na dog sleeps\nthe cat sleeps\n" * 3)
    two.write_text("der hund sieht eine katze\ndie katze schläft\n" * 3)
    settings = ["--nonterminals", "4", "--restarts", "2", "--iterations", "6"]
    command = ["grammar", "common", one, two, "-o", model, *settings, "--plot", tmp_path / "p.svg", "--json", "-q"]
    figures = last_line_conforms(run(capsys, *command).out, COMMON)
    assert figures["languages"] == 2 and set(figures["deviations"]) == {"aa", "bb"}
    assert (tmp_path / "p.svg").read_text().startswith("<svg")
    names.write_text("0\tROOT\n")
    found = json.loads(run(capsys, "grammar", "rules", model, "--names", names, "--json").out)["rules"]
    assert found[0]["rule"].startswith("ROOT -> ") and set(found[0]["examples"]) == {"aa", "bb"}
    page = tmp_path / "c.html"
    rows = json.loads(run(capsys, "grammar", "categories", model, "--html", page, "--json").out)["categories"]
    assert len(rows) == 4 and "<table" in page.read_text()
    assert len(json.loads(run(capsys, "grammar", "languages", model, "--json").out)["distances"]) == 2
    figures = json.loads(run(capsys, "grammar", "perplexity", model, two, "--json").out)
    assert figures["language"] == "bb" and 1 < figures["perplexity"] < 20
    assert run(capsys, "grammar", "parse", model, one).out.count("(TOP (0 ") == 9
    names.write_text("9\tROOT\n")
    assert f"{names}:1: '9' is no category" in run(capsys, "grammar", "rules", model, "--names", names, code=2).err


def test_what_common_grammars_refuse_is_one_line(tmp_path, capsys):
    one, empty = tmp_path / "aa.txt", tmp_path / "bb.txt"
    one.write_text("a b\n")
    empty.write_text("\n")
    for words, message in (
        ([one, empty], "bb: no sentence"),
        ([one, one], "a language code of its own"),
        ([one, "--nonterminals", "1"], "--nonterminals"),
        ([one, "--word-prior", "0"], "--word-prior"),
        ([one, "--start", "classes"], "--class-model"),
        ([one, "--start", "tags"], "CoNLL-U"),
    ):
        error = run(capsys, "grammar", "common", *words, "-o", tmp_path / "m", "-q", code=2).err
        assert message in error and error.count("\n") == 1 and not (tmp_path / "m").exists()
