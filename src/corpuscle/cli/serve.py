"""``corpuscle serve PACK``: the workbench in the browser."""

from __future__ import annotations

import click

from corpuscle.cli.command import argument, command, option, work_of
from corpuscle.settings import size_of

__all__ = ["group"]

group = click.Group("serve")


@command(group, figures=False, as_json=False, work=True)
@argument("pack", default="pack")
@option("host", "Listen on this address; any but this machine's own needs a token, which is printed.",
        metavar="ADDRESS", default="127.0.0.1")  # fmt: skip
@option("port", "Listen on this port; 0: any free one.", metavar="N", type=click.IntRange(0, 65535), default=8765)
@option("open", "Open the page in a browser.", is_flag=True)
@option("read_only", "Write nothing: no annotations, no learning.", is_flag=True)
@option("kit", "The folder that annotations and new files go to (default: the pack's own).", metavar="KIT")
@option("seconds", "Refuse what takes longer.", metavar="X", type=click.FloatRange(0.1, 3600), default=60.0)
@option("memory", "Memory of each worker process.", metavar="SIZE", default="2G")
def serve(
    pack: str,
    host: str,
    port: int,
    open: bool,
    read_only: bool,
    kit: str | None,
    seconds: float,
    memory: str,
) -> None:
    """Serve a pack, or one model file, as a page in the browser, until Ctrl-C. A folder that is not there yet becomes
    an empty workbench: drop files there and learn."""
    from corpuscle.web.guard import Limits
    from corpuscle.web.server import serve as serve_pack

    limits = Limits(seconds=seconds, memory=size_of(memory))
    serve_pack(pack, host=host, port=port, open_page=open, read_only=read_only, kit=kit, limits=limits, **work_of())
