"""``corpuscle learn [KIT] [-o PACK]``: the main job."""

from __future__ import annotations

from typing import Annotated

import typer

from corpuscle.cli.common import Json, Quiet, Seed, Workers, emit

__all__ = ["app"]

app = typer.Typer()


@app.command()
def learn(
    kit: Annotated[
        str | None,
        typer.Argument(metavar="KIT", show_default="the built-in sample", help="A folder with text/*.txt and more."),
    ] = None,
    pack: Annotated[
        str, typer.Option("-o", "--output", metavar="PACK", help="The folder for models and report.")
    ] = "pack",
    seed: Seed = 1,
    workers: Workers = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Learn everything that a folder of files allows, and write a report about it.

    Running the same command again continues an interrupted run and repeats only what depends on changed files.
    """
    from corpuscle.packs import learn as learn_pack

    outcome = learn_pack(kit, pack, seed=seed, workers=workers)
    lines = [chapter.headline for chapter in outcome.chapters.values()]
    emit(outcome.to_json(), as_json, "\n".join([*lines, f"report: {outcome.report}"]))
