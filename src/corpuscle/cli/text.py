"""``corpuscle text``: running text to tokenised sentences and back, and what is in a text."""

from __future__ import annotations

import click

from corpuscle.cli.command import Figures, argument, command, option, output, task_group, written

__all__ = ["group"]

group = task_group("text")


@command(group)
@argument("raw")
@output("-")
@written("offsets", "Also write where each token stands, and what is between (TSV).", metavar="FILE")
@option("abbreviations", "Words whose full stop ends no sentence, one a line.", metavar="FILE")
@option(
    "line_breaks",
    "A single line end is white space (space), or ends a sentence.",
    type=click.Choice(("space", "sentence")),
    default="space",
)
def prepare(raw: str, output: str, offsets: str | None, abbreviations: str | None, line_breaks: str) -> Figures | None:
    """Split running text into sentences, one a line, and tokens; blank lines stay between documents."""
    from corpuscle.text.files import read_lines, read_raw
    from corpuscle.text.running import prepare, write_gaps

    known = [] if abbreviations is None else [line for _, line in read_lines(abbreviations) if line.strip()]
    prepared = prepare(read_raw(raw), abbreviations=known, line_breaks=line_breaks)
    prepared.write(output)
    if offsets is not None:
        write_gaps(prepared, offsets)
    figures = {
        "characters": len(prepared.text),
        "words": len(prepared.offsets),
        "sentences": len(prepared),
        "documents": len(prepared.document_starts) - 1,
    }
    return Figures(figures, "")


@command(group, figures=False)
@argument("text")
@option("offsets", "The offsets that prepare has written.", metavar="FILE", required=True)
@output("-")
def restore(text: str, offsets: str, output: str) -> None:
    """Give back the running text that TEXT was prepared from, character by character."""
    from corpuscle.text.files import write_atomically
    from corpuscle.text.running import restore_file

    raw = restore_file(text, offsets)
    with write_atomically(output, "wb") as file:
        file.write(raw.encode())


@command(group)
@argument("text", many=True)
@option("against", "Count what this other text does not have (OOV).", metavar="TEXT")
def stats(text: tuple[str, ...], against: str | None) -> Figures:
    """Count words, types, sentences and characters of a text, and what another text does not have of it."""
    from corpuscle.text import read_text
    from corpuscle.text.stats import text_stats

    return Figures(text_stats(read_text(*text), None if against is None else read_text(against)))
