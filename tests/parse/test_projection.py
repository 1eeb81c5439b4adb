"""Projected parsers: what the links say of arcs, which pairs are learned from, what comes of it."""

import numpy as np
import pytest

import corpuscle
from corpuscle.align.base import save_matrix
from corpuscle.cli.main import main
from corpuscle.engine.dp import charts
from corpuscle.errors import CorpuscleWarning, InputError, SettingError
from corpuscle.parse import ProjectedParser, Projection
from corpuscle.parse.projection import direct_tree, evidence, probabilities
from corpuscle.random import Random, beta
from corpuscle.samples import generate
from corpuscle.text import write_conllu
from corpuscle.text.alignments import AlignmentMatrix, Alignments, write_pharaoh
from corpuscle.text.treebank import Treebank
from tests.hostile import survives_hostile_edits
from tests.schemas import FRACTION, last_line_conforms

SMALL = {"hash_bits": 14, "relation_bits": 8, "passes": 25}
TREE = np.array([2, 0, 2, 5, 3], np.int32)


def random_links(seed, m, n):
    random = Random(seed, "links")
    links = random.uniforms(m, n)
    return np.where(links > 0.6, links, 0.0)


@pytest.mark.parametrize("same_source", [True, False])
def test_evidence_is_the_sum_over_all_pairs_of_source_words(same_source):
    links = random_links(1, 5, 4)
    for_arc, against = evidence(links, TREE, same_source)
    for i in range(4):
        for j in range(4):
            yes = no = 0.0
            for a in range(5):
                for b in range(5):
                    product = links[a, i] * links[b, j]
                    yes += product * (TREE[b] == a + 1)
                    no += product * (TREE[b] != a + 1) * (same_source or a != b)
            assert for_arc[i, j] == pytest.approx(yes) and against[i, j] == pytest.approx(no)


@pytest.mark.parametrize("kappa", [1.0, 4.0, None])
def test_probabilities_have_complements_and_nothing_is_known_of_words_without_links(kappa):
    links = random_links(2, 5, 6)
    links[:, 3] = 0.0
    for_arc, against = evidence(links, TREE)
    sure = probabilities(for_arc, against, kappa)
    assert ((sure > 0) & (sure < 1)).all()
    assert sure + probabilities(against, for_arc, kappa) == pytest.approx(np.ones((6, 6)))
    assert sure[3] == pytest.approx(0.5) and sure[:, 3] == pytest.approx(0.5)


def test_certain_links_project_exactly_the_source_tree():
    sure = probabilities(*evidence(np.eye(5), TREE), 1000.0)
    arcs = {(int(h) - 1, m) for m, h in enumerate(TREE) if h}
    assert {(i, j) for i in range(5) for j in range(5) if sure[i, j] > 0.85} == arcs
    assert (sure[sure <= 0.85] < 0.15).all()
    scores, heads = np.zeros((6, 6)), np.zeros(5, np.int32)
    scores[1:, 1:] = np.log(np.maximum(sure, 1e-12))
    charts.best_heads(5, scores, charts.NO_SIBLINGS, True, charts.chart_for(5), heads)
    assert heads.tolist() == TREE.tolist()
    assert probabilities(*evidence(np.eye(5), TREE), 1.0).max() == pytest.approx(0.731, abs=1e-3)  # below 0.85


def test_other_orders_of_target_words_give_the_same_in_that_order():
    links, order = random_links(3, 5, 6), np.array([3, 0, 5, 1, 2, 4])
    sure = probabilities(*evidence(links, TREE), 4.0)
    assert probabilities(*evidence(links[:, order], TREE), 4.0) == pytest.approx(sure[np.ix_(order, order)])


def test_direct_projection_copies_arcs_skips_heads_and_completes():
    assert direct_tree(np.eye(5), TREE)[0].tolist() == TREE.tolist()
    assert direct_tree(np.eye(5)[:, ::-1], TREE)[0].tolist() == [3, 1, 4, 0, 4]
    links = np.delete(np.eye(5), 4, 1)  # word 5, head of 4, has no translation: 4 hangs on 3, the head of 5
    assert direct_tree(links, TREE)[0].tolist() == [2, 0, 2, 3]
    more = np.column_stack([np.eye(5), np.zeros(5)])  # a word without a link hangs on its neighbour
    assert direct_tree(more, TREE) == (pytest.approx([2, 0, 2, 5, 3, 5]), 5)
    assert direct_tree(np.zeros((5, 2)), TREE)[1] == 0
    for seed in range(30):
        tree, linked = direct_tree(random_links(seed, 5, 7), TREE)
        if linked:
            Treebank.from_sentences([["x"] * 7], heads=[tree.tolist()]).check_trees(single_root=True)


@pytest.fixture(scope="module")
def language():
    return generate(seed=1, sentences=20, pairs=160)


@pytest.fixture(scope="module")
def data(language):
    pairs = language.pairs
    return Projection(language.pair_treebank(pairs), language.sister_treebank(pairs), language.alignments(pairs))


@pytest.fixture(scope="module")
def held_out(language):
    return language.sister_treebank(language.held_out_pairs)


def test_a_projected_parser_parses_a_language_without_trees(data, held_out, tmp_path):
    parser = ProjectedParser(**SMALL).fit(data)
    parser.save(tmp_path / "m")
    loaded = corpuscle.load(tmp_path / "m")
    found = loaded.annotate(held_out)
    right = (found.heads == held_out.heads).mean()
    left = (np.roll(np.arange(len(found.heads)), 0) * 0 == held_out.heads).mean()
    assert right > 0.7 > left
    assert "nsubj" in found.relations.strings()
    assert loaded.provenance_["arcs"] > 0 and loaded.threshold == 0.85


@pytest.mark.parametrize("settings", [
    {"method": "direct"}, {"method": "tree"}, {"method": "tree", "tree_score": "sum"}, {"evidence": "ratio"},
    {"weighted": True}, {"punctuation": False}, {"same_source": False}, {"method": "direct", "coverage": 0.9},
])  # fmt: skip
def test_every_way_to_project_learns(data, held_out, settings):
    parser = ProjectedParser(**(SMALL | {"passes": 12}), **settings).fit(data)
    assert (parser.parse(held_out).heads == held_out.heads).mean() > 0.55


def test_words_without_tags_get_classes(data, held_out):
    bare = Treebank.from_sentences([data.target.corpus.words(i) for i in range(len(data.target))])
    with pytest.warns(CorpuscleWarning, match="no tags: 40 word classes"):
        parser = ProjectedParser(classes=40, **SMALL).fit(data._replace(target=bare))
    assert (parser.parse(held_out).heads == held_out.heads).mean() > 0.4


def test_target_trees_choose_the_threshold_unless_it_was_given(data, held_out):
    few = {"hash_bits": 12, "relation_bits": 8, "passes": 4}
    parser = ProjectedParser(**few).fit(data, held_out[:20])
    assert parser.chosen_["threshold"] in (0.65, 0.75, 0.8, 0.85, 0.9, 0.95)
    assert not ProjectedParser(threshold=0.8, **few).fit(data, held_out[:20]).chosen_


def test_broken_source_trees_and_long_sentences_are_counted_and_not_used(data):
    heads = data.source.heads.copy()
    first, second = data.source.corpus.sentence_starts[:2]
    heads[first:second] = 0
    broken = data._replace(source=data.source.replace(heads=heads))
    with pytest.warns(CorpuscleWarning, match="1 source trees have a cycle or several roots"):
        parser = ProjectedParser(max_length=8, **(SMALL | {"passes": 2})).fit(broken)
    assert parser.provenance_["broken_trees"] == 1
    assert parser.provenance_["too_long"] == int((data.target.corpus.lengths[1:] > 8).sum())
    assert parser.instances_.sentences.min() > 0


def test_what_does_not_fit_is_an_error_that_names_the_pair(data):
    few = Projection(data.source[:3], data.target[:3], data.links[:3])
    shapes = [(len(few.source.corpus.words(i)), len(few.target.corpus.words(i))) for i in range(3)]
    matrices = [np.full(shape, 0.5, np.float32) for shape in shapes]
    wrong = [matrices[0], matrices[1][:, :-1], matrices[2]]
    cases = {
        "pair 2: a matrix of": few._replace(links=AlignmentMatrix.from_matrices(wrong)),
        "not between 0 and 1": few._replace(links=AlignmentMatrix.from_matrices([each * 3 for each in matrices])),
        "pair 3: the link 0-99": few._replace(links=Alignments.from_pairs([[], [], [(0, 99)]])),
        "links of 2 sentence pairs": few._replace(links=data.links[:2]),
        "no translations": few._replace(target=data.target[:2]),
        "a lower --threshold": few._replace(links=Alignments.from_pairs([[], [], []])),
    }
    for reason, each in cases.items():
        with pytest.raises(InputError, match=reason):
            ProjectedParser(**SMALL).fit(each)
    with pytest.raises(InputError, match="a larger --kappa"):
        ProjectedParser(kappa=1.0, **SMALL).fit(few)
    for settings in ({"method": "direct", "threshold": 0.9}, {"coverage": 0.5}, {"evidence": "ratio", "kappa": 2.0}):
        with pytest.raises(SettingError, match="means nothing"):
            ProjectedParser(**settings)


def test_the_command_projects_by_links_and_by_matrices(data, held_out, tmp_path, capsys):
    source, target, links, matrix, model = (str(tmp_path / name) for name in ("s.conllu", "t.conllu", "l", "m", "out"))
    few = Projection(data.source[:60], data.target[:60], data.links[:60])
    write_conllu(few.source, source)
    write_conllu(few.target, target)
    write_pharaoh(few.links, links)
    save_matrix(AlignmentMatrix.from_matrices([few.matrix(i) for i in range(60)]), matrix, matrix="geo")
    schema = {
        **dict.fromkeys(("sentences", "words", "broken_trees", "too_long", "arcs", "others", "features"), int),
        **dict.fromkeys(("relations", "passes"), int), "loss": float, "threshold": FRACTION, "coverage": FRACTION,
        "tuned": [str], "seconds": float,
    }  # fmt: skip
    options = ["-o", model, "--hash-bits", "12", "--relation-bits", "8", "--passes", "5", "--json"]
    table = str(tmp_path / "pairs.tsv")
    for way in (["--links", links, "--instances", table], ["--matrix", matrix]):
        assert main(["parse", "project", source, target, *way, *options]) == 0
        figures = last_line_conforms(capsys.readouterr().out, schema)
    rows = [line.split("\t") for line in (tmp_path / "pairs.tsv").read_text("utf-8").splitlines()]
    assert rows[0] == ["sentence", "head", "modifier", "arc", "sure", "weight"]
    assert len(rows) - 1 == figures["arcs"] + figures["others"]
    text = tmp_path / "t.txt"
    text.write_text("".join(" ".join(few.target.corpus.words(i)) + "\n" for i in range(60)), "utf-8")
    assert main(["parse", "project", source, str(text), "--links", links, "--classes", "9", *options]) == 0
    assert "no tags: 9 word classes take their place" in capsys.readouterr().err
    assert main(["parse", "apply", model, target]) == 0
    assert capsys.readouterr().out.count("\n\n") == 60
    for wrong in ([], ["--links", links, "--matrix", matrix], ["--matrix", links], ["--links", target]):
        assert main(["parse", "project", source, target, "-o", str(tmp_path / "new"), *wrong]) == 2
        assert capsys.readouterr().err.count("error:") == 1 and not (tmp_path / "new").exists()


TAGS = ["VERB", "NOUN", "DET", "ADJ", "ADP", "ADV", "PART", "SCONJ"]
_LEFT = {0: [(1, 0.9)], 1: [(2, 0.7), (3, 0.4)], 3: [(5, 0.2)]}
_RIGHT = {0: [(1, 0.6), (4, 0.4), (6, 0.3), (7, 0.15)], 1: [(4, 0.2)], 4: [(1, 1.0)], 7: [(0, 1.0)]}


def _derived(random, tag, depth=0):
    """Words of a tree as (tag, head as a distance in the list of words), in order, and where its root is."""

    def branches(table):
        return [_derived(random, child, depth + 1) for child, p in table.get(tag, ())
                if random.uniform() < p and depth < 8]  # fmt: skip

    left, right = branches(_LEFT), branches(_RIGHT)
    words, root = [], sum(len(part) for part, _ in left)
    for part, at in left:
        begin = len(words)
        words += [(t, root if i == at else begin + h) for i, (t, h) in enumerate(part)]
    words.append((tag, -1))
    for part, at in right:
        begin = len(words)
        words += [(t, root if i == at else begin + h) for i, (t, h) in enumerate(part)]
    return words, root


def translated(count, seed=1, wrong=0.3):
    """Trees of a small grammar, word-for-word translations with some neighbours swapped, and noisy links."""
    sentences, targets, matrices = [], [], []
    random = Random(seed, "grammar")
    while len(sentences) < count:
        words, _ = _derived(random, 0)
        n = len(words)
        if not 5 <= n <= 16:
            continue
        tags, heads = [tag for tag, _ in words], [h + 1 for _, h in words]
        forms = [random.below(20) for _ in words]
        order = list(range(n))
        i = 0
        while i + 1 < n:
            if random.uniform() < 0.1:
                order[i], order[i + 1] = order[i + 1], order[i]
                i += 1
            i += 1
        place = {word: at for at, word in enumerate(order)}
        moved = [0 if heads[word] == 0 else place[heads[word] - 1] + 1 for word in order]
        links = np.zeros((n, n), np.float32)
        stream = Random(seed, "links", len(sentences)).array()
        for j, word in enumerate(order):
            if random.uniform() < wrong:
                links[random.below(n), j] = beta(stream, 2.0, 2.0)
            else:
                links[word, j] = beta(stream, 8.0, 1.2)
        sentences.append(([f"s{t}-{f}" for t, f in zip(tags, forms, strict=True)], heads, tags))
        targets.append(([f"t{tags[w]}-{forms[w]}" for w in order], moved, [tags[w] for w in order]))
        matrices.append(links)

    def bank(rows):
        return Treebank.from_sentences(
            [words for words, _, _ in rows], heads=[heads for _, heads, _ in rows],
            tags=[[TAGS[tag] for tag in tags] for _, _, tags in rows],
        )  # fmt: skip

    return bank(sentences), bank(targets), AlignmentMatrix.from_matrices(matrices)


@pytest.mark.slow
def test_projection_through_noisy_links_recovers_a_grammar():
    source, target, links = translated(1000, wrong=0.3)
    test = translated(200, seed=7, wrong=0.0)[1]
    settings = {"hash_bits": 18, "tag_layer": "upos", "relation_bits": 8}

    def right(parser):
        return (parser.parse(test).heads == test.heads).mean()

    soft = right(ProjectedParser(**settings).fit(Projection(source, target, links)))
    hard = AlignmentMatrix.from_matrices([
        (matrix == matrix.max(0)).astype(np.float32) for matrix in (links.matrix(i) for i in range(len(links)))
    ])  # fmt: skip
    every = ProjectedParser(threshold=0.501, **settings).fit(Projection(source, target, hard))
    assert soft >= 0.83 and soft >= right(every) + 0.04


def test_hostile_files_of_projected_parsers_are_refused(tmp_path):
    source = generate(seed=3, sentences=12).treebank()[:10]
    links = AlignmentMatrix.from_matrices(np.eye(n, dtype=np.float32) for n in source.corpus.lengths.tolist())
    small = {"hash_bits": 10, "relation_bits": 8, "passes": 2}
    target = source.without("tags", "xpos")
    for number, settings in enumerate(({"tag_layer": "upos"}, {"tag_layer": "classes", "classes": 4})):
        data = Projection(source, source if number == 0 else target, links)
        ProjectedParser(**small, **settings).fit(data).save(tmp_path / f"{number}.model")

        def use(path):
            corpuscle.load(path).annotate(source[:2], confidence=True)

        assert survives_hostile_edits(tmp_path / f"{number}.model", use, edits=60, seed=number) > 15
