"""``corpuscle samples``: a made-up language whose truth is known."""

from __future__ import annotations

from typing import Any

from corpuscle.cli.command import COUNT, Figures, argument, command, option, task_group

__all__ = ["group"]

group = task_group("samples")


def _count(name: str, help: str, default: int) -> Any:
    return option(name, help, type=COUNT, metavar="N", default=default)


@command(group, seed=True)
@argument("folder")
@_count("sentences", "Sentences of the main text.", 6000)
@_count("pairs", "Sentences with a translation.", 1500)
@_count("names", "Names in two scripts.", 1200)
@_count("notes", "Sentences with entities.", 400)
@_count("messages", "Noisy messages.", 800)
def write(folder: str, seed: int, **sizes: int) -> Figures:
    """Write a kit for `corpuscle learn` to FOLDER (an old sample there is replaced): texts of a made-up language, and
    the truth about them in gold/."""
    from corpuscle.samples import generate, write_language

    language = generate(seed, **sizes)
    files = write_language(language, folder)
    corpus = language.corpus()
    figures = {
        "folder": folder,
        "seed": seed,
        "files": len(files),
        "documents": len(language.documents),
        "sentences": len(corpus),
        "words": corpus.n_tokens,
        "types": len(corpus.vocab) - 3,
        "pairs": sizes["pairs"],
        "names": sizes["names"],
        "entity_sentences": sizes["notes"],
        "messages": sizes["messages"],
    }
    text = (
        f"{folder}: {len(files)} files, {figures['documents']} documents, {len(corpus):,} sentences, "
        f"{corpus.n_tokens:,} words. README.txt says what is in them.\n"
        f"{language.documents[0].sentences[0]}"
    )
    return Figures(figures, text)
