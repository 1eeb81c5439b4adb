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

    Running the same command again continues an interrupted run and repeats only what depends on changed files.
    """
    from corpuscle.packs import learn as learn_pack

    outcome = learn_pack(kit, output, seed=seed, **work_of())
    lines = [chapter.headline for chapter in outcome.chapters.values()]
    return Figures(outcome.to_json(), "\n".join([*lines, f"report: {outcome.report}"]))
