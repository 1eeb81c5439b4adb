"""The made-up language: what its generator promises about the truth."""

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpuscle.cli.main import main
from corpuscle.errors import InputError, SettingError
from corpuscle.samples import generate, write
from corpuscle.samples.concepts import CONCEPTS, _listed
from corpuscle.samples.language import CHANGES
from corpuscle.samples.messages import WAYS
from corpuscle.samples.sounds import CONSONANTS, SCRIPTS, VOWELS, inventory, latin
from corpuscle.text import read_text
from corpuscle.text.alignments import read_pharaoh
from corpuscle.text.bitext import read_bitext
from corpuscle.text.brackets import read_brackets
from corpuscle.text.brat import read_brat
from corpuscle.text.columns import read_columns
from corpuscle.text.conllu import read_conllu
from corpuscle.text.files import read_lines
from corpuscle.text.pairs import read_pairs
from tests.schemas import conforms

TINY = {"sentences": 60, "pairs": 20, "names": 30, "notes": 20, "messages": 20}
GOLDEN = "bfc0f406dd9527c5"
"""Hash of the tiny kit of seed 1, of the files that no writer of a format has a say in. It changes only when the
generator is changed on purpose."""


@pytest.fixture(scope="module")
def language():
    return generate(seed=1, sentences=1500, pairs=300, names=300, notes=200, messages=300)


@pytest.fixture(scope="module", params=[1, 4, 5, 8, 10])
def some_language(request):
    """Languages with all orders of words, two or three genders, and with and without a dual."""
    return generate(seed=request.param, sentences=400, pairs=100, names=100, notes=100, messages=100)


def hash_of(folder: Path, *patterns: str) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(path for pattern in patterns for path in folder.rglob(pattern) if path.is_file()):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def features(leaf) -> dict[str, str]:
    return dict(pair.split("=") for pair in leaf.word.features.split("|") if "=" in pair)


def test_no_concept_is_listed_twice():
    assert len(CONCEPTS) == sum(1 for _ in _listed())


def test_a_seed_gives_the_same_bytes_in_every_process(tmp_path):
    write(tmp_path / "here", seed=1, **TINY)
    sizes = [f"--{name}={value}" for name, value in TINY.items()]
    run = subprocess.run(
        [sys.executable, "-m", "corpuscle", "samples", "write", str(tmp_path / "there"), *sizes, "--json"],
        env=os.environ | {"PYTHONHASHSEED": "12345"},
        capture_output=True,
        text=True,
        check=True,
    )
    result = json.loads(run.stdout.splitlines()[-1])
    names = "seed files documents sentences words types pairs names entity_sentences messages"
    conforms(result, {"folder": str} | dict.fromkeys(names.split(), int))
    assert (result["sentences"], result["seed"], result["messages"]) == (60, 1, 20)
    assert hash_of(tmp_path / "here", "*") == hash_of(tmp_path / "there", "*")
    (tmp_path / "here" / "README.txt").unlink()
    assert hash_of(tmp_path / "here", "*.txt", "*.src", "*.tgt", "*.ann") == GOLDEN


def test_seeds_differ():
    texts = [" ".join(map(str, generate(seed, sentences=5).sentences())) for seed in range(8)]
    assert len(set(texts)) == 8


def test_layers_do_not_depend_on_each_other(language):
    small = generate(seed=1, sentences=100, messages=10, names=20, pairs=10)
    assert list(map(str, small.sentences()[:80])) == list(map(str, language.sentences()[:80]))
    assert [m.typed for m in small.messages] == [m.typed for m in language.messages[:10]]
    assert small.names == language.names[:20]
    assert [str(pair.target) for pair in small.pairs[:5]] == [str(pair.target) for pair in language.pairs[:5]]


@pytest.mark.parametrize("seed", [1, 8])
def test_word_frequencies_follow_zipf(seed):
    corpus = generate(seed).corpus()
    counts = np.sort(corpus.vocab.counts[3:])[::-1]
    x, y = np.log(np.arange(10, 1001)), np.log(counts[9:1000])
    slope, _ = np.polyfit(x, y, 1)
    assert -1.3 < slope < -0.8
    assert np.corrcoef(x, y)[0, 1] ** 2 > 0.98
    assert (counts == 1).mean() > 0.2
    assert 60_000 < corpus.n_tokens < 80_000
    assert 10 < corpus.lengths.mean() < 12.5
    assert corpus.lengths.std() > 3


def test_topics_choose_the_words(language):
    corpus = language.corpus()
    assert corpus.labels is not None and len(set(corpus.labels)) == 8
    where = {topic: Counter() for topic in corpus.labels}
    for document in language.documents:
        for sentence in document.sentences:
            where[document.topic].update(leaf.word.gloss for leaf in sentence.leaves)
    assert where["sea"]["boat"] > 3 * max(where[topic]["boat"] for topic in where if topic != "sea")


def test_every_clause_type_occurs(language):
    found = Counter(relation for sentence in language.sentences() for relation in sentence.dependencies[1])
    expected = "nsubj obj iobj obl nmod amod det nummod case advmod cop mark cc conj ccomp xcomp acl:relcl advcl flat"
    assert set(expected.split()) <= set(found)
    moods = Counter(sentence.meaning.mood for sentence in language.sentences())
    assert min(moods["ask"], moods["order"]) > 30


def test_words_agree_with_what_they_depend_on(some_language):
    checked = Counter()
    for sentence in some_language.sentences():
        leaves = sentence.leaves
        heads, relations = sentence.dependencies
        joined = (i for i, relation in enumerate(relations) if relation == "conj" and leaves[i].word.upos != "VERB")
        conjoined = {heads[i] for i in joined}
        for i, (leaf, head, relation) in enumerate(zip(leaves, heads, relations, strict=True)):
            own = features(leaf)
            above = features(leaves[head - 1])
            if relation in ("det", "amod") and leaf.word.upos in ("DET", "ADJ"):
                assert (own["Gender"], own["Number"]) == (above["Gender"], above["Number"]), str(sentence)
                checked[relation] += 1
            elif relation == "nsubj" and "PronType=Int" not in leaf.word.features:
                plural = i + 1 in conjoined
                if "PronType=Rel" in leaf.word.features:
                    antecedent = features(leaves[heads[head - 1] - 1])
                    assert (own["Gender"], own["Number"]) == (antecedent["Gender"], antecedent["Number"])
                    checked["relative"] += 1
                verb = above
                if "Tense" not in verb:  # a copular clause: the copula agrees in person and number
                    verb = next(features(leaves[j]) for j, r in enumerate(relations) if r == "cop" and heads[j] == head)
                    if leaves[head - 1].word.upos == "ADJ" and not plural and "Gender" in own:
                        assert (above["Gender"], above["Number"]) == (own["Gender"], own["Number"])
                        checked["predicate"] += 1
                assert verb["Person"] == own.get("Person", "3")
                assert verb["Number"] == ("Plur" if plural else own["Number"]), str(sentence)
                checked["verb"] += 1
            elif relation == "obj" and leaf.word.upos == "NOUN":
                assert own["Case"] == "Acc"
    assert min(checked.values()) > 5 and len(checked) == 5


def test_trees_are_projective_and_constituents_have_one_head(some_language):
    treebank, trees = some_language.treebank(), some_language.trees()
    treebank.check_trees(single_root=True)
    assert trees.words.signature() == treebank.corpus.signature()
    for tree in range(len(trees)):
        heads = treebank.sentence_heads(tree)
        first, last = trees.tree_starts[tree : tree + 2]
        for begin, end in trees.spans[first:last]:
            inside = heads[begin:end]
            assert ((inside <= begin) | (inside > end)).sum() == 1
    again = some_language.sister_treebank()
    again.check_trees(single_root=True)
    for pair in some_language.pairs:
        for sentence in (pair.source, pair.target):
            heads = [0, *sentence.dependencies[0]]
            arcs = [tuple(sorted((i, head))) for i, head in enumerate(heads) if i]
            assert not any(a < c < b < d for a, b in arcs for c, d in arcs)


def test_paradigms_have_allomorphs_irregular_forms_and_ambiguous_forms(language):
    lexicon = language.grammar.lexicon
    assert len(lexicon.stems) > 10
    readings = Counter(word.form for word in set(language.lexicon))
    assert sum(count > 1 for count in readings.values()) > 100
    tags = {(word.form, word.upos) for word in language.lexicon}
    assert sum(count > 1 for count in Counter(form for form, _ in tags).values()) > 10
    stems = {key for key, number in lexicon.stems if number == "Plur"}
    key = next(iter(stems))
    assert not lexicon.noun(key, "Plur", "Nom").sounds.startswith(lexicon.root(key))


def test_links_are_in_range_and_join_words_that_mean_the_same(some_language):
    possible = one_to_many = unlinked = unlinked_targets = 0
    for source, target, links in some_language.pairs:
        assert len({link[:2] for link in links}) == len(links)
        targets = Counter(link.source for link in links)
        one_to_many += sum(count > 1 for count in targets.values())
        unlinked += len(source.leaves) - len(targets)
        unlinked_targets += len(target.leaves) - len({link.target for link in links})
        for link in links:
            left, right = source.leaves[link.source].word, target.leaves[link.target].word
            possible += not link.sure
            if link.sure and left.upos in ("NOUN", "ADJ", "NUM", "ADP", "PROPN", "PUNCT"):
                assert right.gloss in left.gloss.replace("little", "small")
        assert str(source) != str(target)
    assert min(possible, one_to_many, unlinked, unlinked_targets) > 5


def test_the_sister_writes_in_another_script_and_inherits_by_regular_changes(some_language):
    main, sister = some_language.grammar, some_language.sister
    assert sister.order != main.order
    assert sister.lexicon.script.name in SCRIPTS
    change = some_language.sound_changes
    inherited = [key for key, root in main.lexicon.roots.items() if sister.lexicon.roots[key] == change(root)]
    assert 0.4 < len(inherited) / len(main.lexicon.roots) < 0.8
    assert len(change.chosen) < len(CHANGES)


phonemes = st.text(st.sampled_from([*CONSONANTS, *sorted(VOWELS)]), max_size=12)


@given(phonemes, st.sampled_from(sorted(SCRIPTS)), st.integers(0, 50))
def test_reading_inverts_spelling(sounds, name, seed):
    for script in (SCRIPTS[name], latin(seed)):
        assert script.read(script.spell(sounds)) == sounds
        if sounds:
            assert script.read(script.capitalise(script.spell(sounds))) == sounds


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_any_seed_gives_a_language(seed):
    sounds = inventory(seed)
    phonemes = [*sounds.consonants.items, *sounds.vowels.items]
    assert len(phonemes) == len(set(phonemes)) >= 20
    small = generate(seed, sentences=3, names=3, pairs=2, notes=3, messages=2)
    assert len(small.sentences()) == 3 and len(small.pairs) == 2 and len(small.entities) >= 1


def test_regular_names_follow_the_rules_and_the_others_do_not_all(language):
    script, other = language.script, language.other_script
    assert len({name.latin for name in language.names}) == len(language.names)
    broken = 0
    for name in language.names:
        for part in name.parts:
            by_rule = other.capitalise(other.spell(part.sounds))
            if part.regular:
                assert script.read(part.latin) == part.sounds
                assert part.other[0] == by_rule
            else:
                broken += script.capitalise(script.spell(part.sounds)) != part.latin or part.other[0] != by_rule
    irregular = sum(not part.regular for name in language.names for part in name.parts)
    assert irregular > 20 and broken == irregular
    assert sum(len(name.other) > 1 for name in language.names) > 20


def test_messages_are_repaired_token_by_token(language):
    forms = {word.form for word in language.lexicon}
    ways = Counter()
    for message in language.messages:
        assert len(message.typed) == len(message.meant) == len(message.ways)
        for typed, meant, way in zip(message.typed, message.meant, message.ways, strict=True):
            ways[way] += 1
            assert (typed == meant) == (way == "")
            if way:
                assert typed not in forms
    assert set(ways) == {"", *WAYS}
    assert 0.08 < 1 - ways[""] / ways.total() < 0.35


def test_entities_come_in_pieces_and_overlap(language):
    types, in_pieces, shared = Counter(), 0, 0
    illnesses = {concept.gloss for concept in CONCEPTS.values() if concept.kind == "illness"}
    for note in language.entities:
        document = note.document()
        covered = [document.covered(mention).split() for mention in document.mentions]
        pairs = zip(note.sentences, note.mentions, strict=True)
        assert covered == [[s.words[token] for token in m.tokens] for s, mentions in pairs for m in mentions]
        for sentence, mentions in zip(note.sentences, note.mentions, strict=True):
            types.update(mention.type for mention in mentions)
            in_pieces += sum(len(mention.runs) > 1 for mention in mentions)
            tokens = [token for mention in mentions for token in mention.tokens]
            shared += len(tokens) > len(set(tokens))
            assert all(max(mention.tokens) < len(sentence.words) for mention in mentions)
            named = {i for i, leaf in enumerate(sentence.leaves) if leaf.word.upos == "PROPN"}
            ill = {i for i, leaf in enumerate(sentence.leaves) if leaf.word.gloss in illnesses}
            assert named | ill <= set(tokens)
    assert set(types) == {"PERSON", "PLACE", "PRODUCT", "DISORDER"}
    assert min(types.values()) > 10 and in_pieces > 20 and shared > 10


def test_every_file_of_a_kit_is_read_by_our_readers(tmp_path):
    language = write(tmp_path, seed=2, **TINY)
    text = read_text(tmp_path / "text")
    assert sorted(map(tuple, text)) == sorted(tuple(sentence.words) for sentence in language.sentences())
    treebank, trees = read_conllu(tmp_path / "tagged.conllu"), read_brackets(tmp_path / "trees.mrg")
    treebank.check_trees(single_root=True)
    assert list(treebank.corpus) == list(trees.words) == list(text_of(language))[: len(treebank)]
    for stem in ("gold/held-out", "gold/parallel.tgt"):
        read_conllu(tmp_path / f"{stem}.conllu").check_trees(single_root=True)
    assert len(read_brackets(tmp_path / "gold/held-out.mrg")) == len(read_text(tmp_path / "gold/held-out.txt")) == 4
    noisy = read_columns(tmp_path / "gold/noisy.tsv", names=["typed", "meant", "way"])
    assert list(noisy.corpus) == list(read_text(tmp_path / "noisy.txt")) == [m.typed for m in language.messages]
    tagged = read_columns(tmp_path / "gold/entities.bio", names=["word", "tag"])
    assert any(tagged.spans("tag"))
    unspaced, words = (list(read_text(tmp_path / f"gold/{name}.txt")) for name in ("unspaced", "words"))
    assert ["".join(sentence) for sentence in words] == ["".join(line) for line in unspaced]
    for bitext, links, count in (
        (read_bitext(tmp_path / "parallel/train.src", tmp_path / "parallel/train.tgt"), "alignments.txt", 20),
        (read_bitext(tmp_path / "gold/parallel.src", tmp_path / "gold/parallel.tgt"), "parallel.align", 2),
    ):
        alignments = read_pharaoh(tmp_path / "gold" / links)
        assert len(bitext) == len(alignments) == count
        alignments.check_range(bitext)
    assert read_brat(tmp_path / "entities")[0].mentions == language.entities[0].document().mentions
    assert len(read_brat(tmp_path / "gold/entities")) == len(language.held_out_entities)
    names = read_pairs(tmp_path / "names.tsv")
    assert [(name.source, name.targets) for name in names] == [(name.latin, name.other) for name in language.names]
    rows = [line.split("\t") for _, line in read_lines(tmp_path / "lexicon.tsv")]
    assert {len(row) for row in rows} == {3}


def text_of(language):
    return (sentence.words for sentence in language.sentences())


def test_a_sample_replaces_only_a_sample(tmp_path, capsys):
    kit = tmp_path / "kit"
    write(kit, seed=1, **TINY)
    write(kit, seed=1, **TINY | {"sentences": 20})
    assert len(list((kit / "text").iterdir())) < 4
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(InputError, match="not empty"):
        write(tmp_path, seed=1, **TINY)
    assert main(["samples", "write", str(tmp_path), "--sentences", "5"]) == 2
    assert capsys.readouterr().err.startswith(f"error: {tmp_path}: the folder is not empty")
    with pytest.raises(InputError, match="not a folder"):
        write(tmp_path / "mine.txt", seed=1, **TINY)
    (tmp_path / "precious").write_text("x")
    for content in '{"files": ["../precious"]}', "[]":
        (kit / "sample.json").write_text(content)
        with pytest.raises(InputError, match="does not describe"):
            write(kit, seed=1, **TINY)
    assert (tmp_path / "precious").exists()


def test_quiet_silences_messages_and_not_the_result(tmp_path, capsys):
    sizes = [f"--{name}={value}" for name, value in TINY.items()]
    assert main(["samples", "write", str(tmp_path / "kit"), *sizes, "--quiet"]) == 0
    captured = capsys.readouterr()
    assert "60 sentences" in captured.out and captured.err == ""


def test_senseless_sizes_are_refused():
    with pytest.raises(SettingError, match="at least 1"):
        generate(sentences=0)
    with pytest.raises(SettingError, match="seed"):
        generate(seed=-1)


def test_the_page_about_samples_shows_what_is_generated():
    path = Path(__file__).parents[2] / "docs" / "make_figures.py"
    spec = importlib.util.spec_from_file_location("make_figures", path)
    figures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(figures)
    page = figures.PAGE.read_text(encoding="utf-8")
    for name, content in figures.blocks(generate(seed=1)).items():
        assert f"<!-- {name} -->\n```text\n{content}\n```" in page, name


def test_a_sample_that_was_interrupted_can_be_written_again(tmp_path, monkeypatch):
    small = {"sentences": 120, "pairs": 20, "names": 20, "notes": 5, "messages": 10}

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("corpuscle.samples.kit.write_brat", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "one", 1, **small)
    assert not (tmp_path / "one/sample.json").exists()
    monkeypatch.undo()
    for name in "one", "other":
        write(tmp_path / name, 1, **small)
    one, other = ({path.relative_to(tmp_path / name): path.read_bytes() for path in (tmp_path / name).rglob("*")
                   if path.is_file()} for name in ("one", "other"))  # fmt: skip
    assert one == other and not list(tmp_path.rglob("*.partial"))
