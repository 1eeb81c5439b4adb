"""``corpuscle disambiguate``: learn to rank the analyses of words, rank those of a text, compare with gold ones;
what a reader has yet to learn, and what an annotator has chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from corpuscle.cli.command import COUNT, Figures, argument, command, option, output, raw, task_group, trainer
from corpuscle.cli.common import load, read_bank, table_text, warn_of_overlap
from corpuscle.errors import SettingError
from corpuscle.progress import clock
from corpuscle.text.wording import percent, seconds

if TYPE_CHECKING:
    from corpuscle.disambiguate import Disambiguator

__all__ = ["group"]

group = task_group("disambiguate")


@trainer(group)
@argument("treebank")
@output()
@option("candidates", "A table of lemma, form and features: what --analyser table proposes.", metavar="TSV")
def train(model: Any, treebank: str, output: str, candidates: str | None) -> Figures:
    """Learn from a treebank (CoNLL-U) which analysis of a word is right where it stands."""

    from corpuscle.disambiguate import read_candidates
    from corpuscle.text import read_conllu

    if (candidates is not None) != (model.analyser == "table"):
        raise SettingError("--analyser table and --candidates go together: give both or neither")
    begin, bank = clock(), read_conllu(treebank)
    table = None if candidates is None else read_candidates(candidates)
    model.fit(bank, table).save(output)
    figures = {**model.provenance_, "tuned": sorted(model.chosen_), "seconds": clock() - begin}
    return Figures(
        figures,
        f"{output}: {figures['labels']:,} analyses of {', '.join(figures['elements'])}, {figures['words']:,} words, "
        f"{seconds(figures['seconds'])}",
    )


@command(group, work=True, figures=False, as_json=False)
@argument("model")
@argument("input", default="-")
@output("-")
@raw
@option("json", "Write a sentence a line as JSON: words with their likeliest analyses.", is_flag=True)
@option("nbest", "With --json: how many analyses of a word.", metavar="K", type=COUNT)
@option("known", "With --json: words or lemmas that a reader knows, one a line.", metavar="WORDS")
@option("vowelled", "Write a sentence a line with the vowelled forms of the likeliest analyses.", is_flag=True)
def apply(
    model: str, input: str, output: str, raw: bool, json: bool, nbest: int | None, known: str | None, vowelled: bool
) -> None:
    """Analyse a text, one sentence of words a line, or a CoNLL-U file (.conllu, stdin), whose analyses are replaced;
    writes CoNLL-U with the probability of each analysis in MISC (Prob=), JSON, or the vowelled text."""
    from json import dumps

    from corpuscle.disambiguate.reading import read_familiar
    from corpuscle.text import write_conllu
    from corpuscle.text.files import write_atomically

    if nbest is not None and not json:
        raise SettingError("--nbest is for --json: CoNLL-U has room for one analysis")
    if known is not None and not json:
        raise SettingError("--known is for --json")
    if json and vowelled:
        raise SettingError("--json and --vowelled exclude each other")
    familiar = None if known is None else read_familiar(known)
    loaded, bank = load(model, "disambiguate"), read_bank(input, raw)
    if not json and not vowelled:
        write_conllu(loaded.annotate(bank), output)
        return
    sentences = loaded.readings(bank, (nbest or 3) if json else 1, familiar)
    with write_atomically(output, "w") as stream:
        for words in sentences:
            plain = " ".join(word["analyses"][0]["vowelled"] for word in words)
            stream.write((dumps({"words": words}, ensure_ascii=False) if json else plain) + "\n")


@command(group, work=True)
@argument("model")
@argument("input", default="-")
@output()
@raw
@option("known", "Words or lemmas that the reader knows, one a line.", metavar="WORDS")
def vocabulary(model: str, input: str, output: str, raw: bool, known: str | None) -> Figures:
    """What there is to learn in a text: a table of lemmas that a reader does not know, with a vowelled form, gloss and
    how often it is there, the most frequent first (for flash cards); the difficulty of the text is the share of its
    lemmas that are among them."""
    from corpuscle.disambiguate.reading import Card, read_familiar
    from corpuscle.disambiguate.reading import vocabulary as vocabulary_of
    from corpuscle.text.tables import write_table

    familiar = frozenset[str]() if known is None else read_familiar(known)
    loaded, bank = load(model, "disambiguate"), read_bank(input, raw)
    found = vocabulary_of(loaded.readings(bank, 1), familiar)
    write_table(output, Card._fields, found.cards)
    figures = {name: value for name, value in found._asdict().items() if name != "cards"}
    return Figures(
        figures | {"unknown_lemmas": len(found.cards)},
        f"{len(found.cards):,} of {found.lemmas:,} lemmas are not known ({percent(found.difficulty)}), "
        f"{percent(found.unknown_words)} of {found.words:,} words",
    )


@command(group, work=True)
@argument("model")
@argument("treebank")
@output()
@option("refit", "Fit the weights to these words first, near what they were; for many choices.", is_flag=True)
def update(model: str, treebank: str, output: str, refit: bool) -> Figures:
    """Count the analysed words of more sentences (CoNLL-U; words whose columns are empty are only neighbours): what an
    annotator has chosen is known from then on. Guesses stay as they are, and weights too, unless --refit."""
    from corpuscle.text import read_conllu

    loaded, bank = load(model, "disambiguate"), read_conllu(treebank)
    found = loaded.updated(bank, refit)
    found.save(output)
    words = found.provenance_["words"]
    figures = {"words": words, "added": words - loaded.provenance_["words"], "labels": found.provenance_["labels"]}
    return Figures(figures, f"{output}: {figures['added']:,} words more, {figures['labels']:,} analyses")


def _by_element(loaded: Disambiguator, bank: Any, ranking: Any) -> list[dict[str, Any]]:
    import numpy as np

    from corpuscle.disambiguate.labels import label_hashes
    from corpuscle.measure import analyses_by_element

    names, ids = loaded.labels_of(bank)
    found, right = (label_hashes(each, loaded.elements_)[:, 1:].view(np.int64) for each in (ranking.names, names))
    return analyses_by_element(ranking.starts, ranking.labels, found, right[ids], loaded.elements_)


@command(group, work=True, seed=True)
@argument("gold")
@option("model", "Rank the analyses of the words of the gold file with this model.", metavar="FILE", required=True)
def evaluate(gold: str, model: str, seed: int) -> Figures:
    """How often the right analysis is first (a1) or among the first two (a2), or not (e1, e2), with 95 % intervals;
    how often it is a candidate at all; of unseen and ambiguous words; by element; by how likely it was said to be."""
    from corpuscle.measure import analyses, analyses_by_probability, ranks_of
    from corpuscle.text import read_conllu

    loaded, bank = load(model, "disambiguate"), read_conllu(gold).filled()
    shares = warn_of_overlap(loaded, bank.corpus, model)
    bank = loaded.words_of(bank)
    ranking = loaded.rank(bank)
    ranks = ranks_of(ranking.starts, ranking.labels, loaded.gold(bank, ranking))
    result = analyses(ranking.starts, ranks, loaded.knows(bank), bank.corpus.sentence_starts, seed=seed)
    rows = _by_element(loaded, bank, ranking)
    likely = analyses_by_probability(ranking.probabilities[ranking.starts[:-1]], ranks == 1)
    figures = result.to_json() | shares | {"by_element": rows, "by_probability": likely}
    tables = [
        table_text(heading, [list(row.values()) for row in some])
        for heading, some in ((("element", "E1", "E2"), rows), (("above", "words", "probability", "right"), likely))
    ]
    return Figures(figures, "\n".join([result.text(), *tables]))
