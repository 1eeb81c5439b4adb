"""What can be done with the made-up language: write it as a kit."""

from __future__ import annotations

from typing import Any

from corpuscle.verbs import MOST, SEED, Answer, Shown, path, setting, verb


def _count(help: str, default: int) -> Any:
    return setting(help, default=default, low=1, high=MOST)


@verb("samples", "samples write kit --seed 1")
def write(
    folder: str = path(offers="dir"),
    *,
    sentences: int = _count("Sentences of the main text.", 6000),
    pairs: int = _count("Sentences with a translation.", 1500),
    names: int = _count("Names in two scripts.", 1200),
    notes: int = _count("Sentences with entities.", 400),
    messages: int = _count("Noisy messages.", 800),
    seed: int = SEED,
) -> Shown:
    """Write a kit for `corpuscle learn` to FOLDER (an old sample there is replaced): texts of a made-up language, and
    the truth about them in gold/."""
    from corpuscle.samples import generate, write_language

    language = generate(seed, sentences=sentences, pairs=pairs, names=names, notes=notes, messages=messages)
    files = write_language(language, folder)
    corpus = language.corpus()
    figures = {
        "folder": folder, "seed": seed, "files": len(files), "documents": len(language.documents),
        "sentences": len(corpus), "words": corpus.n_tokens, "types": len(corpus.vocab) - 3, "pairs": pairs,
        "names": names, "entity_sentences": notes, "messages": messages,
    }  # fmt: skip
    text = (
        f"{folder}: {len(files)} files, {figures['documents']} documents, {len(corpus):,} sentences, "
        f"{corpus.n_tokens:,} words. README.txt says what is in them.\n"
        f"{language.documents[0].sentences[0]}"
    )
    return Answer(figures, text)
