"""``corpuscle learn [KIT] [-o PACK]``: the main job."""

from __future__ import annotations

import click

from corpuscle.cli.command import Figures, argument, command, output, work_of

__all__ = ["group"]

group = click.Group("learn")


@command(group, work=True, seed=True)
@argument("kit", required=False)
@output("pack", help="The folder for models and report.", form="folder", metavar="PACK")
def learn(kit: str | None, output: str, seed: int) -> Figures:
    """Learn everything that a folder of files allows (default: the built-in sample), and write a report about it.

    Running the same command again continues an interrupted run and repeats only what depends on changed files. Files
    with errors cost what would be learned from them, and the exit code is 2; the rest is learned.
    """
    from corpuscle.packs import learn as learn_pack

    outcome = learn_pack(kit, output, seed=seed, **work_of())
    lines = [chapter.headline for chapter in outcome.chapters.values()]
    if outcome.failed:
        lines.append(f"missing: {', '.join(outcome.failed)}; the report says why")
    return Figures(outcome.to_json(), "\n".join([*lines, f"report: {outcome.report}"]), code=2 if outcome.failed else 0)
