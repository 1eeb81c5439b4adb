"""``corpuscle pack ...``: packs as things to ship."""

from __future__ import annotations

from corpuscle.cli.command import COUNT, Figures, argument, command, option, output, task_group
from corpuscle.cli.common import table_text
from corpuscle.text.wording import number

__all__ = ["group"]

group = task_group("pack")


@command(group)
@argument("pack")
def verify(pack: str) -> Figures:
    """Check that every file of a pack, a folder or an exported .zip, is what was written; exit code 2 if not."""
    from corpuscle.packs.ship import problems
    from corpuscle.progress import complain

    wrong = problems(pack)
    for each in wrong:
        complain(f"{pack}: {each}")
    figures = {"pack": pack, "sound": not wrong, "problems": wrong}
    return Figures(figures, "" if wrong else f"{pack}: sound", code=2 if wrong else 0)


@command(group)
@argument("pack")
@output("pack.zip", help="The archive to write.")
def export(pack: str, output: str) -> Figures:
    """Write a pack as one .zip with checksums; the same pack gives the same bytes. Kit and annotations stay here."""
    from corpuscle.packs.ship import export as export_pack

    written = export_pack(pack, output)
    return Figures({**written, "archive": output}, f"{output}: {written['files']} files, {written['bytes']:,} bytes")


@command(group)
@argument("first")
@argument("second")
def diff(first: str, second: str) -> Figures:
    """Show what changed from one pack to another: steps, settings, figures, files."""
    from corpuscle.packs.ship import differences
    from corpuscle.text.wording import clip

    found = differences(first, second)
    rows = [(each.what, each.name, *(clip(_shown(value), 60) for value in each[2:])) for each in found]
    text = table_text(("what", "name", "first", "second"), rows) if rows else "no difference"
    return Figures({"same": not found, "differences": [each._asdict() for each in found]}, text)


def _shown(value: object) -> str:
    return "" if value is None else number(value) if isinstance(value, float) else " ".join(str(value).split())


@command(group)
@argument("pack")
@output("site", help="The folder for the pages.", form="folder", metavar="FOLDER")
@option("sentences", "So many sentences in the concordance at most.", metavar="N", type=COUNT, default=5000)
def site(pack: str, output: str, sentences: int) -> Figures:
    """Write report, dictionary and concordance as pages that open without a server."""
    from corpuscle.errors import warn
    from corpuscle.packs.site import write_site

    written = write_site(pack, output, sentences)
    for reason in written["missing"]:
        warn(reason)
    return Figures({**written, "site": output}, f"{output}/index.html: {', '.join(written['pages'][1:])}")
