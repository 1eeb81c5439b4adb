"""Examples for the help of every command, a line each: what to type, and after ``#`` what it is for, where the command
itself does not say so. Those of verbs stand with them. A test parses all of them, and knows which commands have
none."""

from __future__ import annotations

from corpuscle.catalogue import TASKS
from corpuscle.verbs import verbs_of

__all__ = ["examples"]

_EXAMPLES = """
text prepare notes.txt -o notes.tok --offsets notes.offsets  # and how to get the notes back
text restore notes.tok --offsets notes.offsets -o notes.txt
text stats text.txt --against test.txt
segment train text.txt -o words.segment
segment train text.txt -o words.segment --sweeps 500 --chains 2  # longer, and twice
segment apply words.segment new.txt -o new.words.txt
segment evaluate gold.txt --model words.segment
segment perplexity words.segment new.txt
segment score words.segment new.txt > scores.tsv
segment next words.segment "thed" -k 5
segment sample words.segment -n 3
segment lexicon words.segment -o lexicon.tsv
segment posterior words.segment new.txt -o boundaries.tsv
segment history words.segment
lm train text.txt -o lm.model
lm train text.txt -o lm.model --method hpy --order 4
zcat big.txt.gz | corpuscle lm train - -o lm.model --dev dev.txt  # from a pipe, tuned on dev.txt
lm perplexity lm.model test.txt --json
lm score lm.model test.txt --by-word > surprisal.tsv
lm next lm.model "this is a" -k 5
lm sample lm.model -n 10 --seed 2
lm mix lm.model other.model -o mix.model --dev dev.txt
lm weights loglinear.model house --top 20
lm prune lm.model -o small.model --entropy 1e-7
lm export lm.model -o lm.arpa.gz
lm import lm.arpa.gz -o lm.model
lm compare lm.model other.model test.txt
classes train text.txt -o words.classes --classes 100
classes show words.classes -k 8
classes export words.classes -o classes.tsv
classes coarsen words.classes -o few.classes --classes 20
classes draw words.classes -o tree.svg
classes apply words.classes new.txt > new.classes.txt
classes evaluate hmm.classes test.txt
vectors train text.txt -o words.vectors --dimensions 100
vectors nearest words.vectors house
vectors analogy words.vectors man king woman
vectors analogies words.vectors questions.txt
vectors similarity words.vectors pairs.tsv
vectors map words.vectors house street -o map.png
vectors apply words.vectors new.txt -o new.vec
vectors export words.vectors -o words.vec
meaning represent trees.classes text.conllu -o words.txt
meaning nearest trees.classes bank -k 5
meaning compare trees.classes bank river
meaning similarity trees.classes pairs.tsv
meaning phrases trees.classes phrases.tsv
meaning relations trees.classes triples.tsv --plot boxes.svg
meaning map trees.classes bank --sentences text.conllu -o map.svg
meaning senses trees.classes bank text.conllu
meaning substitutes trees.classes bank text.conllu
topics train documents -o docs.topics --topics 20
topics show docs.topics --figure topics.svg
topics apply docs.topics new-documents -o shares.tsv
topics mark docs.topics new-documents --figure marked.png
topics score docs.topics new-documents -o scores.tsv
topics perplexity docs.topics new-documents
align train old.src old.tgt -o pairs.align
align train pairs.txt -o pairs.align --method hmm  # source ||| target on each line
align apply pairs.align new.src new.tgt > new.links
align update pairs.align new.src new.tgt -o more.align
align filter pairs.align old.src old.tgt --kept good.txt > suspicious.tsv
align phrases old.src old.tgt --links old.links -o phrases.txt.gz
align lexicon pairs.align --examples old.src old.tgt -o lexicon.tsv
align matrix pairs.align new.src new.tgt -o new.matrix
align weights loglinear.align --family --top 5
align draw pairs.align new.src new.tgt -o pair.svg --line 3
align evaluate gold.links new.links
align evaluate gold.links <(corpuscle align apply pairs.align new.src new.tgt)  # from a process
transliterate train names.tsv -o names.translit
transliterate apply names.translit names.txt --nbest 3
transliterate evaluate test.tsv --model names.translit
transliterate export names.translit -o phrases.tsv
transliterate weights names.translit
transliterate draw names.translit Ivanov -o ways.svg
transliterate combine phrase.translit neural.translit --dev dev.tsv -o both.translit
transliterate attention neural.translit Ivanov -o where.png
translate train old.src old.tgt -o draft.translate
translate apply draft.translate new.src > new.tgt
translate evaluate new.tgt --model draft.translate --source new.src
translate weights draft.translate
translate attention neural.translate "a short sentence" -o where.svg
translate export draft.translate -o phrases.txt
disambiguate train train.conllu -o words.ranker
disambiguate apply words.ranker text.conllu --nbest 2
disambiguate evaluate gold.conllu --model words.ranker
disambiguate vocabulary words.ranker text.conllu -o cards.tsv
disambiguate update words.ranker more.conllu -o grown.ranker
parse train train.conllu -o trees.parser
parse apply trees.parser text.conllu -o parsed.conllu
parse evaluate gold.conllu --model trees.parser
parse project source.conllu target.txt --links links.txt -o projected.parser
parse boost first.parser projected.parser --dev dev.conllu -o boosted.parser
parse rerank train.conllu --parser trees.parser -o reranked.parser
parse probability reranked.parser parsed.conllu
parse compare gold.conllu one.conllu other.conllu
parse curve trees.parser train.conllu dev.conllu
parse draw parsed.conllu -o tree.svg --sentence 3
parse strip gold.conllu -o plain.conllu
normalise train messages.txt --clean text.txt -o chat.normaliser
normalise apply chat.normaliser new.txt -o standard.txt
normalise evaluate gold.tsv --model chat.normaliser
normalise survey messages.txt text.txt
normalise corrupt gold.tsv text.txt -o noisy.tsv
normalise languages messages.txt english.txt spanish.txt -o languages.tsv
entities train documents -o mentions.entities
entities apply mentions.entities new-documents -o found.ann
entities evaluate gold-documents --model mentions.entities
entities uncertain mentions.entities new-documents --most 20
entities features mentions.entities
entities draw new-documents --model mentions.entities -o page.html
grammar train trees.mrg -o trees.grammar
grammar induce text.conllu -o brackets.grammar
grammar common one.txt other.txt -o common.grammar
grammar parse trees.grammar text.txt -o parsed.mrg
grammar sample trees.grammar text.txt --draws 5 -o drawn.mrg
grammar evaluate gold.mrg --model trees.grammar
grammar compare gold.mrg one.mrg other.mrg
grammar perplexity common.grammar test.txt
grammar probability trees.grammar text.txt
grammar marginals trees.grammar text.txt
grammar rules common.grammar
grammar categories common.grammar
grammar languages common.grammar
grammar dependencies gold.mrg -o gold.conllu
grammar distances brackets.grammar -o distances.tsv
grammar draw parsed.mrg -o tree.svg --tree 2
samples write kit --seed 1
pack verify pack
pack export pack -o language.zip
pack diff pack other-pack
pack site pack -o site
learn kit --check  # what is in the folder, and what is wrong with it
learn kit -o pack  # learn, and write pack/report.html
learn kit --encoding cp1251  # files that are not UTF-8 are in this encoding
serve pack
serve lm.model --port 8080
info lm.model
warm lm
"""


def examples(path: str) -> list[tuple[str, str]]:
    """The examples of a command, such as ``lm train``: what to type, and what it is for."""
    task, _, action = path.partition(" ")
    lines = _EXAMPLES
    if task in TASKS and TASKS[task].verbs:
        lines = verbs_of(task)[action.replace("-", "_")].example
    found = []
    for line in lines.strip().splitlines():
        typed, _, purpose = line.partition("  # ")
        piped = "| corpuscle " in typed
        if (typed.partition("| corpuscle ")[2] if piped else typed).startswith(path + " "):
            found.append((typed if piped else f"corpuscle {typed}", purpose))
    return found
