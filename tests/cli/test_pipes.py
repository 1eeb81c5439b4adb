"""Every input of every command may be a pipe, as in ``corpuscle align evaluate gold <(command)``: it is read like a
file, and where the end of a name says what a file is, the first line of a pipe does."""

import os
import re
from contextlib import chdir
from pathlib import Path

import pytest

from corpuscle.cli.main import main
from corpuscle.errors import InputError
from corpuscle.text.files import open_bytes, suffix_of
from tests.cli.test_manners import COMMANDS
from tests.tiny_models import AMBIGUOUS, BRACKETS, FOLDER, ITEMS, MESSAGES, NAMES, NOTES, SOURCE, TARGET, TEXT, TREES

FILES = {
    "AMBIGUOUS.conllu": AMBIGUOUS,
    "BRACKETS.mrg": BRACKETS,
    "ARPA": "\\data\\\nngram 1=3\n\n\\1-grams:\n-99\t<s>\n-0.3\ta\n-0.3\t</s>\n\n\\end\\\n",
    "CHAT": "teh catt\nu see\n",
    "GOLD": "0-0 1-1\n0-0 1?1\n",
    "ITEMS.tsv": ITEMS,
    "LINKS": "0-0\n0-0 1-1\n",
    "LINKS-15": "0-0 1-1\n" * 15,
    "LINKS-24": "0-0 1-1 2-2\n" * 24,
    "MESSAGES.tsv": MESSAGES,
    "NAACL": "1 1 1 S\n1 2 2 S\n2 1 1 S\n2 2 2 P\n",
    "NAMES.tsv": NAMES,
    "NOTES.jsonl": NOTES,
    "OTHERS": "1-1\n1-1\n",
    "OUTPUT": TEXT.replace("the ", "the"),
    "PAIRS.tsv": "cat\tdog\t3\nbird\tcat\t2\ndog\tbird\t1\n",
    "OFFSETS": "begin\tend\tgap\n0\t3\t\n4\t7\t \n8\t13\t \n13\t14\t\n15\t15\t\\n\n",
    "TOKENS": "the cat sings .\n",
    "QUESTIONS": ": animals\ncat dog bird cat\n",
    "RELATIONS.tsv": "".join(f"{a}-n\tanimal\tcoord\t{b}-n\n" for a, b in (("cat", "dog"), ("dog", "cat"))),
    "RESULTS": "".join(line.split("\t")[1] + "\n" for line in NAMES.splitlines()),
    "SOURCE": SOURCE,
    "SOURCES": "das haus\ndas buch\n",
    "SPELLED": "anna\nboda\n",
    "TARGET": TARGET,
    "TARGETS": "the house\nthe book\n",
    "TEXT": TEXT,
    "TREES.conllu": TREES * 6,
    "UNSPACED": TEXT.replace(" ", ""),
    "WORDS": TEXT,
}
READING = """
align apply align.hmm SOURCE TARGET
align draw align.hmm SOURCE TARGET -o OUT.svg
align evaluate GOLD --model align.hmm --source SOURCES --target TARGETS --train SOURCE TARGET
align evaluate GOLD LINKS
align evaluate GOLD NAACL --source SOURCES --target TARGETS --train SOURCE TARGET
align evaluate NAACL LINKS --against OTHERS
align filter align.hmm SOURCE TARGET
align lexicon align.hmm --examples SOURCE TARGET
align matrix align.hmm SOURCE TARGET -o OUT
align phrases SOURCE TARGET --links LINKS-15 -o OUT
align train SOURCE TARGET -o OUT --method ibm1
align update align.hmm SOURCE TARGET -o OUT
classes apply words.exchange TEXT
classes evaluate words.hmm TEXT
classes train TEXT -o OUT --classes 3
disambiguate apply disambiguate.ranker AMBIGUOUS.conllu
disambiguate apply disambiguate.ranker TEXT
disambiguate evaluate AMBIGUOUS.conllu --model disambiguate.ranker
disambiguate train AMBIGUOUS.conllu -o OUT --crossfit 3
disambiguate update disambiguate.ranker AMBIGUOUS.conllu -o OUT
disambiguate vocabulary disambiguate.ranker AMBIGUOUS.conllu -o OUT
entities apply entities.crf NOTES.jsonl
entities draw NOTES.jsonl --model entities.crf -o OUT.html
entities evaluate NOTES.jsonl --model entities.crf
entities train NOTES.jsonl -o OUT --iterations 5 --min-count 1
entities uncertain entities.crf NOTES.jsonl
grammar common SOURCE TARGET -o OUT --nonterminals 2 --restarts 1 --iterations 3
grammar compare BRACKETS.mrg BRACKETS.mrg BRACKETS.mrg
grammar dependencies BRACKETS.mrg
grammar draw BRACKETS.mrg -o OUT.svg
grammar evaluate BRACKETS.mrg --model grammar.pcfg
grammar induce TREES.conllu -o OUT --method ccm --iterations 2
grammar marginals grammar.pcfg TEXT
grammar parse grammar.ccm TREES.conllu
grammar parse grammar.pcfg BRACKETS.mrg
grammar perplexity grammar.common TEXT
grammar probability grammar.pcfg BRACKETS.mrg
grammar probability grammar.pcfg TEXT
grammar sample grammar.pcfg TEXT
grammar train BRACKETS.mrg -o OUT --method pcfg
lm compare lm.ngram lm.hpy TEXT
lm import ARPA -o OUT
lm mix lm.ngram lm.class -o OUT --dev TEXT
lm perplexity lm.ngram TEXT
lm score lm.ngram TEXT
lm train TEXT -o OUT --min-count 1 --order 2
meaning map words.hmm cat --sentences TEXT -o OUT.svg
meaning relations words.hmm RELATIONS.tsv
meaning represent words.hmm TEXT -o OUT
meaning senses words.hmm cat TEXT
meaning similarity words.hmm PAIRS.tsv
meaning substitutes words.hmm cat TEXT
metric apply metric.model ITEMS.tsv
metric evaluate metric.model ITEMS.tsv
metric neighbours metric.model ITEMS.tsv
metric train ITEMS.tsv -o OUT --method distortion --dimensions 3 --min-count 1 --function-words 3
normalise apply normalise.ranker CHAT
normalise corrupt MESSAGES.tsv TEXT
normalise evaluate MESSAGES.tsv --model normalise.ranker
normalise languages CHAT TEXT SOURCE
normalise survey CHAT TEXT
normalise train MESSAGES.tsv CHAT -o OUT --min-count 1
parse apply parse.mst TEXT --tagger tag.crf
parse apply parse.mst TREES.conllu
parse boost parse.mst parse.projected --dev TREES.conllu -o OUT
parse compare TREES.conllu TREES.conllu TREES.conllu
parse curve parse.mst TREES.conllu TREES.conllu --points 2
parse draw TREES.conllu -o OUT.svg
parse evaluate TREES.conllu --model parse.mst
parse probability parse.rerank TREES.conllu
parse project TREES.conllu TREES.conllu --links LINKS-24 -o OUT --passes 2 --hash-bits 10 --relation-bits 8
parse rerank TREES.conllu --parser parse.mst -o OUT --nbest 3 --passes 2 --hash-bits 10
parse strip TREES.conllu
parse train TREES.conllu -o OUT --passes 2 --hash-bits 10 --relation-bits 8
segment apply segment.npylm UNSPACED
segment evaluate WORDS --model segment.npylm
segment evaluate WORDS OUTPUT
segment perplexity segment.npylm TEXT
segment posterior segment.npylm UNSPACED -o OUT
segment score segment.npylm TEXT
segment train UNSPACED -o OUT --sweeps 3
tag apply tag.crf TEXT
tag apply tag.crf TREES.conllu
tag evaluate TREES.conllu --model tag.crf
tag jackknife TREES.conllu -o OUT --folds 2
tag train TREES.conllu -o OUT --passes 2 --hash-bits 10
text prepare TEXT
text restore TOKENS --offsets OFFSETS
text stats TEXT --against WORDS
topics apply topics.ngram TEXT
topics mark topics.ngram TEXT
topics perplexity topics.ngram TEXT
topics score topics.ngram TEXT
topics train TEXT -o OUT --topics 2 --sweeps 3 --min-count 1 --order 2
translate apply translate.phrase SOURCES
translate evaluate TARGETS --model translate.phrase --source SOURCES
translate train SOURCE TARGET -o OUT --aligner ibm1 --order 2 --rounds 2 --restarts 0
transliterate apply transliterate.phrase SPELLED
transliterate combine transliterate.phrase transliterate.neural --dev NAMES.tsv --candidates 3 -o OUT
transliterate evaluate NAMES.tsv --model transliterate.phrase
transliterate evaluate NAMES.tsv RESULTS
transliterate train NAMES.tsv -o OUT
vectors analogies words.ppmi QUESTIONS
vectors apply words.ppmi TEXT -o OUT
vectors similarity words.ppmi PAIRS.tsv
vectors train TEXT -o OUT --dimensions 2 --min-count 1 --subsample 0 --negative 1
""".strip().splitlines()
NOT_READING = set("""
align weights · classes coarsen · classes draw · classes export · classes show · entities features · grammar categories
· grammar distances · grammar languages · grammar rules · info · lm export · lm next · lm prune · lm sample · lm weights
· meaning compare · meaning nearest · metric show · pack diff · pack export · pack site · pack verify · samples write
· segment history · segment lexicon · segment next · segment sample · serve · topics show · translate attention
· translate export · translate weights · transliterate attention · transliterate draw · transliterate export
· transliterate weights · vectors analogy · vectors export · vectors map · vectors nearest · warm · learn
""".replace("\n", " ").strip().split(" · "))  # fmt: skip
"""These read a model or a folder alone, or nothing."""


def piped(content: str) -> str:
    """The name of a pipe with a text in it, which can be read once."""
    reading, writing = os.pipe()
    os.write(writing, content.encode())
    os.close(writing)
    return f"/dev/fd/{reading}"


def without_names(text: str) -> str:
    """What a command printed, without the names of files, of languages named by files, and how long it took."""
    text = re.sub(r"/dev/fd/\d+|\b[A-Z-]{3,}[\d-]*(\.\w+)?\b|\b(one|other)\b", "FILE", text)
    return re.sub(r"[\d.]+ s\b|seconds: .*|^(FILE|\d+)(?=: \d+ messages)|^\(.*\);$", "", text, flags=re.M)


def test_every_command_that_reads_files_is_tried():
    tried = {" ".join(line.split()[:2]) for line in READING}
    assert tried | NOT_READING | {"meaning phrases"} == set(COMMANDS)  # that one needs a model of trees


@pytest.mark.parametrize("command", READING)
def test_a_command_reads_pipes_as_it_reads_files(command, tmp_path, capsys):
    for model in FOLDER.iterdir():
        (tmp_path / model.stem).symlink_to(model)
    for name, content in FILES.items():
        (tmp_path / name).write_text(content, "utf-8")
    words, pipes, printed, written = command.split(), [], [], []
    with chdir(tmp_path):
        for way in ("one", "other"):
            typed = [word if word in FILES else word.replace("OUT", way) for word in words]
            if way == "other":
                typed = [piped(FILES[word]) if word in FILES else word for word in typed]
                pipes = [word for word in typed if word.startswith("/dev/fd/")]
            assert main([*typed, "--quiet"]) == 0, capsys.readouterr().err
            printed.append(without_names(capsys.readouterr().out))
            written += [path.stat().st_size for path in Path().glob(f"{way}*")]
    for pipe in pipes:
        os.close(int(pipe.removeprefix("/dev/fd/")))
    assert pipes and printed[0] == printed[1]
    assert written[: len(written) // 2] == written[len(written) // 2 :]
    assert any("OUT" in word for word in set(words) - set(FILES)) == bool(written)


@pytest.mark.parametrize(
    ("content", "suffix"),
    [(TREES, ".conllu"), ("# a comment\n" + TREES, ".conllu"), (NOTES, ".jsonl"), (BRACKETS, ".mrg"), (NAMES, ".tsv"),
     (TEXT, ""), ("", ""), ("\n\n", "")],
)  # fmt: skip
def test_the_first_line_of_a_pipe_says_what_it_is_and_is_not_lost(content, suffix):
    pipe = piped(content)
    assert suffix_of(pipe) == suffix
    assert open_bytes(pipe) == open_bytes(pipe) == content.encode()
    os.close(int(pipe.removeprefix("/dev/fd/")))


def test_the_name_of_a_file_says_what_it_is_where_its_beginning_does_not(tmp_path):
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "d").write_text(NAMES)
    assert [suffix_of(tmp_path / name) for name in ("a.txt", "b.conllu.gz", "c.TMX", "d")] == [
        ".txt", ".conllu", ".TMX", "",
    ]  # fmt: skip
    for name, content in ("e.txt", "# a comment\n" + TREES), ("f", NOTES):
        (tmp_path / name).write_text(content)
        assert suffix_of(tmp_path / name) == (".conllu" if content.endswith(TREES) else ".jsonl")
    assert suffix_of("a\0b") == ""
    with pytest.raises(InputError, match="no such file"):
        open_bytes(tmp_path / "none")


OUTPUTS = [
    ("align apply align.hmm SOURCES TARGETS", "align evaluate GOLD", "links"),
    ("align apply align.hmm SOURCES TARGETS --weights", "align evaluate GOLD", "links"),
    ("entities apply entities.crf NOTES.jsonl", "entities evaluate NOTES.jsonl", "jsonl"),
    ("entities apply entities.crf NOTES.jsonl --format brat", "entities evaluate NOTES.jsonl", ""),
    ("entities apply entities.crf ARTICLES --format pubtator", "entities evaluate ARTICLES", "pubtator"),
    ("entities apply entities.crf TAGGED.tsv --format bio", "entities evaluate TAGGED.tsv", "bio.tsv"),
    ("grammar parse grammar.pcfg BRACKETS.mrg", "grammar evaluate BRACKETS.mrg", "mrg"),
    ("parse apply parse.mst TREES.conllu", "parse evaluate TREES.conllu", "conllu"),
    ("parse apply parse.mst TREES.conllu --nbest 2", "parse evaluate TREES.conllu", "conllu"),
    ("segment apply segment.npylm UNSPACED", "segment evaluate WORDS", "txt"),
    ("tag apply tag.crf TREES.conllu", "tag evaluate TREES.conllu", "conllu"),
    ("translate apply translate.phrase SOURCES", "translate evaluate TARGETS", "txt"),
    ("transliterate apply transliterate.phrase SPELLED", "transliterate evaluate TWO.tsv", "txt"),
    ("transliterate apply transliterate.phrase SPELLED --nbest 2", "transliterate evaluate TWO.tsv", "tsv"),
    ("transliterate apply transliterate.phrase SPELLED --format news", "transliterate evaluate TWO.tsv", "xml"),
    ("transliterate apply transliterate.phrase SPELLED --format json", "transliterate evaluate TWO.tsv", "jsonl"),
]  # fmt: skip
"""What a model says of a text, the evaluation of that, and the end of the name that such a file usually has."""


@pytest.mark.parametrize(("apply", "evaluate", "usual"), OUTPUTS)
def test_what_apply_has_written_is_evaluated_whatever_its_name(apply, evaluate, usual, tmp_path, capsys):
    for model in FOLDER.iterdir():
        (tmp_path / model.stem).symlink_to(model)
    tagged = "".join(f"{line}\n" for line in ("the\tO", "cat\tB-animal", "sings\tO", "", "dog\tB-animal", ""))
    articles = "1|t|left eye red\n1|a|no pain\n1\t16\t20\tpain\tY\n\n"
    spelled = "anna\tαννα\nboda\tβοδα\n"
    for name, content in (FILES | {"TAGGED.tsv": tagged, "TWO.tsv": spelled, "ARTICLES": articles}).items():
        (tmp_path / name).write_text(content, "utf-8")
    found = []
    with chdir(tmp_path):
        for name in f"out.{usual}", "out", "other.txt" if usual else "other":
            assert main([*apply.split(), "-o", name, "--quiet"]) == 0, capsys.readouterr().err
            capsys.readouterr()
            assert main([*evaluate.split(), name, "--json", "--quiet"]) == 0, (name, capsys.readouterr().err)
            found.append(capsys.readouterr().out)
    assert found[0] == found[1] == found[2]


def test_a_treebank_of_another_name_is_no_text_of_its_lines(tmp_path, capsys):
    (tmp_path / "trees").write_text("# sent_id = 1\n" + TREES)
    assert main(["parse", "apply", str(FOLDER / "parse.mst.model"), str(tmp_path / "trees"), "--quiet"]) == 0
    assert [line.split("\t")[1] for line in capsys.readouterr().out.splitlines()[1:4]] == ["the", "cat", "sings"]
