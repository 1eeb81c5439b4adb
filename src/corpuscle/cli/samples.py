"""``corpuscle samples``: a made-up language whose truth is known."""

from __future__ import annotations

from typing import Annotated

import typer

from corpuscle.cli.common import Json, Quiet, Seed, emit

app = typer.Typer(no_args_is_help=True, help="A made-up language whose truth is known, to try things on.")


@app.callback()
def samples() -> None:
    """A made-up language whose truth is known, to try things on."""


@app.command()
def write(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Where to write; an old sample there is replaced.")],
    sentences: Annotated[int, typer.Option("--sentences", min=1, help="Sentences of the main text.")] = 6000,
    pairs: Annotated[int, typer.Option("--pairs", min=1, help="Sentences with a translation.")] = 1500,
    names: Annotated[int, typer.Option("--names", min=1, help="Names in two scripts.")] = 1200,
    notes: Annotated[int, typer.Option("--notes", min=1, help="Sentences with entities.")] = 400,
    messages: Annotated[int, typer.Option("--messages", min=1, help="Noisy messages.")] = 800,
    seed: Seed = 1,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write a kit for `corpuscle learn`: texts of a made-up language, and the truth about them in gold/."""
    from corpuscle.samples import generate, write_language

    language = generate(seed, sentences, pairs, names, notes, messages)
    files = write_language(language, folder)
    corpus = language.corpus()
    result = {
        "folder": folder,
        "seed": seed,
        "files": len(files),
        "documents": len(language.documents),
        "sentences": len(corpus),
        "words": corpus.n_tokens,
        "types": len(corpus.vocab) - 3,
        "pairs": pairs,
        "names": names,
        "entity_sentences": notes,
        "messages": messages,
    }
    text = (
        f"{folder}: {len(files)} files, {result['documents']} documents, {len(corpus):,} sentences, "
        f"{corpus.n_tokens:,} words. README.txt says what is in them.\n"
        f"{language.documents[0].sentences[0]}"
    )
    emit(result, as_json, text)
