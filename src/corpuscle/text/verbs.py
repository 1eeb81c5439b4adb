"""What can be done with texts as such: split into sentences and words and put together again, counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corpuscle.verbs import Answer, Export, Shown, made_by, path, setting, text, verb, written

if TYPE_CHECKING:
    from corpuscle.text import Corpus


@verb("text", "text prepare notes.txt -o notes.tok --offsets notes.offsets  # and how to get the notes back", out="-")
def prepare(
    raw: str = made_by("corpuscle.text.inputs:running_text"),
    *,
    offsets: str | None = written("Also write where each token stands, and what is between (TSV)."),
    abbreviations: list[str] | None = made_by(
        "corpuscle.text.inputs:lines", "Words whose full stop ends no sentence, one a line.", option=True
    ),
    line_breaks: str = setting(
        "A single line end is white space (space), or ends a sentence.", default="space", choices=("space", "sentence")
    ),
) -> Export:
    """Split running text into sentences, one a line, and tokens; blank lines stay between documents."""
    from corpuscle.text.running import prepare, write_gaps

    prepared = prepare(raw, abbreviations=filter(str.strip, abbreviations or ()), line_breaks=line_breaks)
    if offsets is not None:
        write_gaps(prepared, offsets)
    figures = {
        "characters": len(prepared.text),
        "words": len(prepared.offsets),
        "sentences": len(prepared),
        "documents": len(prepared.document_starts) - 1,
    }
    return Export(prepared.write, prepared, figures)


@verb("text", "text restore notes.tok --offsets notes.offsets -o notes.txt", out="-")
def restore(
    text: str = path(), *, offsets: str = path("The offsets that prepare has written.", option=True, default=...)
) -> Export:
    """Give back the running text that TEXT was prepared from, character by character."""
    from corpuscle.text.files import write_atomically
    from corpuscle.text.running import restore_file

    raw = restore_file(text, offsets)

    def write(path: str) -> None:
        with write_atomically(path) as file:
            file.write(raw.encode())

    return Export(write, raw)


@verb("text", "text stats text.txt --against test.txt")
def stats(
    text: Corpus = text(many=True),
    *,
    against: Corpus | None = text("Count what this other text does not have (OOV).", metavar="TEXT", option=True),
) -> Shown:
    """Count words, types, sentences and characters of a text, and what another text does not have of it."""
    from corpuscle.text.corpus import text_stats

    return Answer(text_stats(text, against))
