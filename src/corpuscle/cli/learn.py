"""``corpuscle learn [KIT] [-o PACK]``: the main job."""

from __future__ import annotations

import click

from corpuscle.cli.command import Figures, argument, command, option, output, work_of
from corpuscle.errors import SettingError

__all__ = ["group"]

group = click.Group("learn")


def _checked(kit: str | None, pack: str, encoding: str | None, strict: bool) -> Figures:
    """The table of the files of a kit."""
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from corpuscle.packs.inspection import show_rows
    from corpuscle.packs.intake import take_in
    from corpuscle.progress import one_line

    if kit is None:
        raise SettingError("--check looks at a kit: give its folder")
    with TemporaryDirectory() as temporary:
        intake = take_in(kit, pack, Path(temporary) / "prepared", encoding=encoding, strict=strict)
    heading = ("file", "role", "encoding", "script", "lines", "words/line", "attached", "what is said about it")
    table = [heading, *show_rows(intake.rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(heading) - 1)]
    lines = [
        one_line("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]))
        for row in table
    ]
    lines += [one_line(f"{row.name}:{line}: {why}") for row in intake.rows for line, why in row.bad[:5]]
    roles = {role: len(names) for role, names in intake.kit.files.items()}
    wrong = [row for row in intake.rows if any(not problem.used for problem in row.problems)]
    found = ", ".join(f"{n} {role}" for role, n in roles.items()) or "nothing to learn from"
    languages = ", ".join(f"{side} {name}" for side, name in intake.kit.languages.items()) or "no names"
    lines.append(f"files that can be used: {found}; with errors: {len(wrong)}; languages: {languages}")
    values = {"files": [row.to_json() for row in intake.rows], "roles": roles, "languages": intake.kit.languages}
    return Figures(values, "\n".join(lines), code=2 if wrong or not roles else 0)


@command(group, work=True, seed=True)
@argument("kit", required=False)
@output("pack", help="The folder for models and report.", form="folder", metavar="PACK")
@option("check", "Only look at the files: what each is, and what is wrong with it.", is_flag=True)
@option("encoding", "The encoding of files that are not UTF-8 (cp1252, utf-16, ...).", metavar="NAME")
@option("strict", "Lines that cannot be read are errors; a few are left out otherwise.", is_flag=True)
def learn(kit: str | None, output: str, check: bool, encoding: str | None, strict: bool, seed: int) -> Figures:
    """Learn everything that a folder of files allows (default: the built-in sample), and write a report about it.

    Running the same command again continues an interrupted run and repeats only what depends on changed files. Files
    with errors cost what would be learned from them, and the exit code is 2; the rest is learned.
    """
    from corpuscle.packs import learn as learn_pack

    if check:
        return _checked(kit, output, encoding, strict)
    outcome = learn_pack(kit, output, seed=seed, encoding=encoding, strict=strict, **work_of())
    lines = [chapter.headline for chapter in outcome.chapters.values()]
    if outcome.failed:
        lines.append(f"missing: {', '.join(outcome.failed)}; the report says why")
    code = 2 if outcome.failed or outcome.refused else 0
    return Figures(outcome.to_json(), "\n".join([*lines, f"report: {outcome.report}"]), code=code)
