"""``corpuscle text``: running text to tokenised sentences and back, and what is in a text."""

from __future__ import annotations

from typing import Annotated

import typer

from corpuscle.cli.common import Input, Inputs, Json, Output, Quiet, check_output, check_second_output, emit

app = typer.Typer(help="Prepare running text: sentences, tokens, formats.", no_args_is_help=True)

OffsetsOut = Annotated[
    str | None,
    typer.Option("--offsets", metavar="FILE", help="Also write where each token stands, and what is between (TSV)."),
]
OffsetsIn = Annotated[str, typer.Option("--offsets", metavar="FILE", help="The offsets that prepare has written.")]
Abbreviations = Annotated[
    str | None,
    typer.Option("--abbreviations", metavar="FILE", help="Words whose full stop ends no sentence, one a line."),
]
LineBreaks = Annotated[
    str, typer.Option("--line-breaks", help="A single line end is white space: space; or ends a sentence: sentence.")
]
Against = Annotated[
    str | None, typer.Option("--against", metavar="TEXT", help="Count what this other text does not have (OOV).")
]


@app.command("prepare")
def prepare_command(
    raw: Input,
    output: Output = "-",
    offsets: OffsetsOut = None,
    abbreviations: Abbreviations = None,
    line_breaks: LineBreaks = "space",
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Split running text into sentences, one a line, and tokens; blank lines stay between documents."""
    check_output(output)
    check_second_output(offsets, output)
    from corpuscle.text.files import read_lines
    from corpuscle.text.running import prepare, read_raw, write_gaps

    known = [] if abbreviations is None else [line for _, line in read_lines(abbreviations) if line.strip()]
    prepared = prepare(read_raw(raw), abbreviations=known, line_breaks=line_breaks)
    prepared.write(output)
    if offsets is not None:
        write_gaps(prepared, offsets)
    if as_json:
        emit(
            {
                "characters": len(prepared.text),
                "words": len(prepared.offsets),
                "sentences": len(prepared),
                "documents": len(prepared.document_starts) - 1,
            },
            as_json=True,
        )


@app.command("restore")
def restore_command(text: Input, offsets: OffsetsIn, output: Output = "-", quiet: Quiet = False) -> None:
    """Give back the running text that TEXT was prepared from, character by character."""
    check_output(output)
    from corpuscle.text.files import write_atomically
    from corpuscle.text.running import restore_file

    raw = restore_file(text, offsets)
    with write_atomically(output, "wb") as file:
        file.write(raw.encode())


@app.command("stats")
def stats_command(texts: Inputs, against: Against = None, quiet: Quiet = False, as_json: Json = False) -> None:
    """Count words, types, sentences and characters of a text, and what another text does not have of it."""
    from corpuscle.text import read_text
    from corpuscle.text.stats import text_stats

    emit(text_stats(read_text(*texts), None if against is None else read_text(against)), as_json)
