"""What a translator can do: learn from sentence pairs, translate, be compared with reference translations, show the
weights of its features and where its network looks, be exported."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from corpuscle.align.verbs import links_of
from corpuscle.errors import SettingError
from corpuscle.neural.settings import BEAM, PRECISION, REPORT, TOLERANCE, applying, export_networks
from corpuscle.settings import option_of
from corpuscle.verbs import (
    SEED,
    Answer,
    Input,
    Keep,
    Learned,
    Lines,
    Picture,
    Shown,
    Table,
    a_model,
    bitext,
    names,
    path,
    setting,
    text,
    trains,
    verb,
    view,
    word,
)

if TYPE_CHECKING:
    from corpuscle.text.bitext import Bitext
    from corpuscle.text.corpus import Corpus
    from corpuscle.translate import NeuralTranslator, PhraseTranslator
    from corpuscle.translate.base import Translator


def _meant(model: Translator, **options: Any) -> dict[str, Any]:
    """The options that are set; an error if one of them means nothing to the model."""
    given = {name: value for name, value in options.items() if value}
    for name in given.keys() & model.MEANINGLESS.keys():
        raise SettingError(f"{option_of(name)} {model.MEANINGLESS[name]}")
    return given


def speller(value: Any, model: Translator | None, declared: Input) -> Any:
    """A transliterator for the words that a translator does not know."""
    from corpuscle.text.inputs import a_model

    if model is not None:
        _meant(model, names=value)
    return a_model(value, model, declared)


_SPELLER: Any = a_model(
    "transliterate", help="A transliterator for words that are not known; without, they are copied.",
    metavar="MODEL", option=True, reader="corpuscle.translate.verbs:speller",
)  # fmt: skip


@trains("translate", "translate train old.src old.tgt -o draft.translate")
def train(
    model: Translator,
    pairs: Bitext = bitext(),
    *,
    dev: Bitext | None = bitext(
        "Tune weights (stop training) on these pairs, not on a tenth.", metavar="SRC TGT", option=True
    ),
    links: Iterable[Any] | None = path(
        "Links of the pairs, instead of an aligner's; may be repeated.", metavar="LINKS", option=True, many=True
    ),
    keep: Keep,
    output: str | None,
) -> Learned:
    """Learn from sentence pairs: SOURCE and TARGET, or both in one file with ||| between them."""
    known = [links_of(each, pairs).sorted() for each in links or ()] or None
    model.fit(pairs, dev, known, keep.checkpoint(model, pairs, dev, known))
    figures, said = model.summary()
    counted = {name: model.provenance_[name] for name in ("sentence_pairs", "learned_from", "tuning_pairs")}
    return Learned(model, {**counted, **figures, "model": output}, f"{len(pairs):,} sentence pairs, {said}")


@verb("translate", "translate apply draft.translate new.src > new.tgt", out="-", work=True)
def apply(
    model: Translator = a_model("translate"),
    source: Corpus = text(default="-", raw=True),
    *,
    nbest: int | None = setting("Line, rank, score and translation of so many.", default=None, low=1, high=10_000),
    names: Any = _SPELLER,
    beam: int | None = BEAM,
    shortlist: bool = setting(
        "Neural: write only what the words were linked to in training, which is quicker.", default=False
    ),
    precision: str | None = PRECISION,
    tolerance: float = TOLERANCE,
    report: str | None = REPORT,
) -> Lines | Table:
    """Translate, one sentence a line."""
    given = _meant(model, beam=beam, shortlist=shortlist, precision=precision)
    if names is not None:
        given["transliterator"] = names
    with applying(model, source, precision, tolerance, report):
        if nbest is None:
            return Lines.of(model.best(source, **given))
        found = model.translate(source, nbest, **given)
    rows = (
        (line, rank, score, target)
        for line, ranked in enumerate(found, 1)
        for rank, (target, score) in enumerate(ranked, 1)
    )
    return Table(("line", "rank", "score", "target"), rows, heading=False)


@verb("translate", "translate evaluate new.tgt --model draft.translate --source new.src", work=True, overlap="source")
def evaluate(
    reference: Sequence[str] = names(),
    found: Sequence[str] | None = names(metavar="OUTPUT", default=None),
    *,
    model: Translator | None = a_model(
        "translate", help="Translate --source with this model first.", metavar="MODEL", option=True
    ),
    source: Corpus | None = text("The sentences to translate.", metavar="SRC", option=True),
    against: Sequence[str] | None = names(
        "Other translations of the same sentences, to compare with.", metavar="FILE", option=True
    ),
    tokenise: str = setting("none, or a tokeniser of sacreBLEU: 13a, intl, zh, ...", default="none", metavar="NAME"),
    names: Any = _SPELLER,
    beam: int | None = BEAM,
    seed: int = SEED,
) -> Shown:
    """BLEU with its 95 % interval. OUTPUT has the translations of the sentences whose right ones are in REFERENCE."""
    from corpuscle.measure import bleu, compare_bleu
    from corpuscle.text.plain import read_strings

    if (found is None) == (model is None) or (model is None) != (source is None):
        raise SettingError("give either an OUTPUT to measure, or a --model and the --source to translate")
    wanted = list(reference)
    if model is not None and source is not None:
        _check(source, reference)
        spelling = {} if names is None else {"transliterator": names}
        found = model.best(source, **spelling, **_meant(model, beam=beam))
        wanted = [" ".join(words) for words in read_strings(wanted, **model.reading)]
    assert found is not None
    _check(found, reference)
    result = bleu(found, wanted, tokenise=tokenise, seed=seed)
    if against is None:
        return result
    _check(against, reference)
    compared = compare_bleu(found, against, wanted, tokenise=tokenise, seed=seed)
    return Answer({**result.to_json(), "against": compared.to_json()}, f"{result.text()}\n{compared.text()}")


def _check(found: Any, reference: Any) -> None:
    """An error if the numbers of sentences differ, or are zero."""
    from corpuscle.text.origin import error_about

    if len(found) != len(reference):
        origin = getattr(reference, "origin", None)
        whose = origin.files[0] if origin else "the reference"
        raise error_about(found, f"{len(found)} sentences, but {whose} has {len(reference)}")
    if not len(reference):
        raise error_about(reference, "there are no sentences")


@verb("translate", "translate export draft.translate -o phrases.txt", out="-")
def export(model: Any = a_model("translate"), *, output: str | None) -> Lines | None:
    """Write the phrase table in the text form of Moses, or a neural model as ONNX files (.onnx, .encoder.onnx)."""
    if model.NEURAL:
        export_networks(model, output)
        return None
    return Lines.of(model.table_.lines(model.source_vocab_, model.lm_.vocab_))


@verb("translate", "translate weights draft.translate")
def weights(model: PhraseTranslator = a_model("translate", "translate.phrase")) -> Answer:
    """Show the weights of the features."""
    return Answer(model.named_weights)


@verb("translate", 'translate attention neural.translate "a short sentence" -o where.svg', out="figure?")
def attention(
    model: NeuralTranslator = a_model("translate", "translate.neural"),
    sentence: str = word(),
    *,
    target: str | None = word("What is written, instead of the model's own best.", metavar="TEXT", option=True),
) -> Picture:
    """Draw which pieces of a sentence a neural model looks at while it writes each piece (SVG or PNG)."""
    from corpuscle.neural import draw_attention

    return Picture(draw_attention(model, sentence, target))


# ---- views


@view("translate", text="a b")
def translate(
    model: Translator,
    text: Corpus = text(raw=True),
    *,
    nbest: int = setting("How many translations of each.", default=3, low=1, high=50),
) -> dict[str, Any]:
    """Draft translations of sentences, the best first."""
    return {
        "sentences": [
            {"source": " ".join(words), "translations": [{"target": t, "score": s} for t, s in ranked]}
            for words, ranked in zip(text, model.translate(text, nbest), strict=True)
        ]
    }


@view("translate", kinds=("translate.neural",), name="attention", text="a b")
def attention_of(model: NeuralTranslator, text: Corpus = text(raw=True)) -> dict[str, Any]:
    """A picture of the pieces of the first sentence that a network looks at while it writes each piece."""
    from corpuscle.neural import draw_attention

    line = next((" ".join(words) for words in text if words), "")
    return {"source": line, "svg": draw_attention(model, line) if line else ""}


def warm() -> None:
    """Compile every kernel of this task."""
    from corpuscle.neural.decoder import warm_decoder
    from corpuscle.neural.subwords import Subwords

    warm_decoder()
    Subwords.learn({"ab": 2}, 1).encode(["abb"])
    warm_defaults()


def warm_defaults() -> None:
    """Compile what the default settings need by learning from a few made-up pairs, and translating."""
    import warnings

    from corpuscle.errors import CorpuscleWarning
    from corpuscle.random import Random
    from corpuscle.translate import PhraseTranslator

    random = Random(1, "warm")
    lines = [" ".join(random.choice("abcd") for _ in range(2 + i % 4)) for i in range(60)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CorpuscleWarning)
        model = PhraseTranslator(restarts=0, rounds=1, tuning_nbest=3, workers=1)
        train(model, [(line, line.upper()) for line in lines])
    list(apply(model, lines[:3]))
