"""What can be done with kits and packs: learn from a folder, check a pack, send it, compare it, read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from corpuscle.errors import SettingError
from corpuscle.text.wording import number
from corpuscle.verbs import MOST, SEED, Answer, Shown, Table, path, setting, verb


def _folder(**facts: Any) -> Any:
    return path(offers="dir", **facts)


def _checked(kit: str | None, pack: str, encoding: str | None, strict: bool) -> Answer:
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from corpuscle.packs.intake import take_in
    from corpuscle.packs.kit import show_rows
    from corpuscle.progress import aligned, one_line

    if kit is None:
        raise SettingError("--check looks at a kit: give its folder")
    with TemporaryDirectory() as temporary:
        intake = take_in(kit, pack, Path(temporary) / "prepared", encoding=encoding, strict=strict)
    heading = ("file", "role", "encoding", "script", "lines", "words/line", "attached", "what is said about it")
    lines = aligned([heading, *show_rows(intake.rows)])
    lines += [one_line(f"{row.name}:{line}: {why}") for row in intake.rows for line, why in row.bad[:5]]
    roles = {role: len(names) for role, names in intake.kit.files.items()}
    wrong = [row for row in intake.rows if row.refused]
    found = ", ".join(f"{n} {role}" for role, n in roles.items()) or "nothing to learn from"
    languages = ", ".join(f"{side} {name}" for side, name in intake.kit.languages.items()) or "no names"
    lines.append(f"files that can be used: {found}; with errors: {len(wrong)}; languages: {languages}")
    values = {"files": [row.to_json() for row in intake.rows], "roles": roles, "languages": intake.kit.languages}
    return Answer(values, "\n".join(lines), code=2 if wrong or not roles else 0)


@verb(
    "learn",
    """
learn kit --check  # what is in the folder, and what is wrong with it
learn kit -o pack  # learn, and write pack/report.html
learn kit --encoding cp1251  # files that are not UTF-8 are in this encoding
""",
    work=True,
)
def learn(
    kit: str | None = _folder(default=None),
    *,
    output: str = path("The folder for models and report.", metavar="PACK", form="folder", option=True, default="pack"),
    check: bool = setting("Only look at the files: what each is, and what is wrong with it.", default=False),
    encoding: str | None = setting(
        "The encoding of files that are not UTF-8 (cp1252, utf-16, ...).", metavar="NAME", default=None
    ),
    strict: bool = setting("Lines that cannot be read are errors; a few are left out otherwise.", default=False),
    seed: int = SEED,
    work: Mapping[str, Any],
) -> Shown:
    """Learn everything that a folder of files allows (default: the built-in sample), and write a report about it.

    Running the same command again continues an interrupted run and repeats only what depends on changed files. Files
    with errors cost what would be learned from them, and the exit code is 2; the rest is learned.
    """
    from corpuscle.packs import learn as learn_pack

    if check:
        return _checked(kit, output, encoding, strict)
    outcome = learn_pack(kit, output, seed=seed, encoding=encoding, strict=strict, **work)
    lines = [chapter.headline for chapter in outcome.chapters.values()]
    if outcome.failed:
        lines.append(f"missing: {', '.join(outcome.failed)}; the report says why")
    code = 2 if outcome.failed or outcome.refused else 0
    return Answer(outcome.to_json(), "\n".join([*lines, f"report: {outcome.report}"]), code=code)


@verb("pack", "pack verify pack")
def verify(pack: str = _folder()) -> Shown:
    """Check that every file of a pack, a folder or an exported .zip, is what was written; exit code 2 if not."""
    from corpuscle.packs.ship import problems
    from corpuscle.progress import complain

    wrong = problems(pack)
    for each in wrong:
        complain(f"{pack}: {each}")
    figures = {"pack": pack, "sound": not wrong, "problems": wrong}
    return Answer(figures, "" if wrong else f"{pack}: sound", code=2 if wrong else 0)


@verb("pack", "pack export pack -o language.zip")
def export(
    pack: str = _folder(), *, output: str = path("The archive to write.", form="file", option=True, default="pack.zip")
) -> Shown:
    """Write a pack as one .zip with checksums; the same pack gives the same bytes. Kit and annotations stay here."""
    from corpuscle.packs.ship import export as export_pack

    written = export_pack(pack, output)
    return Answer({**written, "archive": output}, f"{output}: {written['files']} files, {written['bytes']:,} bytes")


@verb("pack", "pack diff pack other-pack")
def diff(first: str = _folder(), second: str = _folder()) -> Shown:
    """Show what changed from one pack to another: steps, settings, figures, files."""
    from corpuscle.packs.ship import differences
    from corpuscle.text.wording import clip

    found = differences(first, second)
    rows = [(each.what, each.name, *(clip(_shown(value), 60) for value in each[2:])) for each in found]
    text = Table(("what", "name", "first", "second"), rows).text() if rows else "no difference"
    return Answer({"same": not found, "differences": [each._asdict() for each in found]}, text)


def _shown(value: object) -> str:
    return "" if value is None else number(value) if isinstance(value, float) else " ".join(str(value).split())


@verb("pack", "pack site pack -o site")
def site(
    pack: str = _folder(),
    *,
    output: str = path("The folder for the pages.", metavar="FOLDER", form="folder", option=True, default="site"),
    sentences: int = setting("At most this many sentences in the concordance.", default=5000, low=1, high=MOST),
) -> Shown:
    """Write report, dictionary and concordance as pages that open without a server."""
    from corpuscle.errors import warn
    from corpuscle.packs.ship import write_site

    written = write_site(pack, output, sentences)
    for reason in written["missing"]:
        warn(reason)
    return Answer({**written, "site": output}, f"{output}/index.html: {', '.join(written['pages'][1:])}")
