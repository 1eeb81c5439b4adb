"""The report of a pack: one HTML file that needs nothing else, for someone who knows the language and not the models.

What each step has to say comes from the step; here it is put in order.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from corpuscle import __version__
from corpuscle.packs import page
from corpuscle.packs.kit import ROLES, Kit
from corpuscle.packs.pack import Pack
from corpuscle.packs.step import Chapter, Step

__all__ = ["render"]


def render(
    kit: Kit,
    pack: Pack,
    steps: Sequence[Step],
    chapters: Mapping[str, Chapter],
    records: Mapping[str, Mapping[str, Any]],
    unused: Sequence[tuple[str, str]],
    left_out: Sequence[tuple[Step, str]],
) -> str:
    """The whole page; ``unused`` are files and what they are, ``left_out`` steps and why."""
    is_sample = _is_sample(kit, pack)
    name = "the built-in sample" if is_sample else f"“{kit.folder.resolve().name or kit.folder}”"
    title = f"What was learned from {name}"
    contents = [(step.name, step.title) for step in steps] + [("use", "How to use it"), ("made", "How it was made")]
    links = "".join(f'<a href="#{page.escape(anchor)}">{page.escape(text)}</a>' for anchor, text in contents)
    body = [
        f"<header><h1>{page.escape(title)}</h1>{_summary(steps, chapters, is_sample)}<nav>{links}</nav></header>",
        *(_chapter(step, chapters[step.name], records[step.name]) for step in steps),
        _use(pack, chapters, steps),
        _made(kit, pack, steps, records, unused, left_out),
    ]
    return page.document(title, "".join(body))


def _is_sample(kit: Kit, pack: Pack) -> bool:
    return "sample" in pack.state and kit.folder == pack.folder / "kit"


def _summary(steps: Sequence[Step], chapters: Mapping[str, Chapter], is_sample: bool) -> str:
    cards = [card for step in steps for card in chapters[step.name].cards]
    boxes = "".join(
        f'<div class="card"><b>{page.escape(number)}</b><span>{page.escape(what)}</span></div>'
        for number, what in cards
    )
    things = [step.learned or step.title.lower() for step in steps]
    learned = " and ".join([", ".join(things[:-1]), things[-1]] if things[1:] else things)
    sample = (
        " The sample is a made-up language that Corpuscle generates to be tried on; give a folder of your own to learn "
        "from your text."
        if is_sample
        else ""
    )
    lead = f"From these files Corpuscle has learned {learned}. Everything was computed on this computer.{sample}"
    return f'<p class="lead">{page.escape(lead)}</p><div class="cards">{boxes}</div>'


def _chapter(step: Step, chapter: Chapter, record: Mapping[str, Any]) -> str:
    notes = "".join(page.note(f"Note: {text}") for text in record.get("notes", ()))
    return f'<section id="{page.escape(step.name)}"><h2>{page.escape(step.title)}</h2>{chapter.body}{notes}</section>'


def _use(pack: Pack, chapters: Mapping[str, Chapter], steps: Sequence[Step]) -> str:
    commands = [command for step in steps for command in chapters[step.name].commands]
    rows = "".join(
        f"<dt><code>{page.escape(command)}</code></dt><dd>{page.escape(what)}</dd>" for command, what in commands
    )
    load = f"import corpuscle\nmodel = corpuscle.load({f'{pack.shown}/{steps[0].writes[0]}'!r})"
    return (
        '<section id="use"><h2>How to use it</h2>'
        + page.paragraph("In a terminal; words in capitals are files of yours with a sentence or a name on each line:")
        + f'<dl class="commands">{rows}</dl>'
        + page.paragraph("In Python:")
        + f"<pre><code>{page.escape(load)}</code></pre></section>"
    )


def _made(
    kit: Kit,
    pack: Pack,
    steps: Sequence[Step],
    records: Mapping[str, Mapping[str, Any]],
    unused: Sequence[tuple[str, str]],
    left_out: Sequence[tuple[Step, str]],
) -> str:
    used = {name: role for step in steps for role in step.needs for name in kit.files.get(role, ())}
    timing = [
        (step.title, f"{records[step.name]['seconds']:.1f} s", records[step.name]["finished"], _settings(step))
        for step in steps
    ]
    models = [(name, _size(pack.folder / name)) for step in steps for name in step.writes]
    source = "" if _is_sample(kit, pack) else shlex.quote(str(kit.folder)) + " "
    again = f"corpuscle learn {source}-o {shlex.quote(pack.shown)} --seed {pack.state['seed']}"
    parts = [
        '<section id="made"><h2>How it was made</h2>',
        page.facts(
            [("Corpuscle", __version__), ("seed", pack.state["seed"]), ("kit", kit.folder), ("pack", pack.shown)]
        ),
        page.table(("step", "time", "finished", "settings"), timing, (1,)),
        page.table(("written", "size"), models, (1,)),
        "<h3>Learned from</h3>",
        _files(kit, [(name, ROLES[role]) for name, role in sorted(used.items())]),
    ]
    if left_out:
        parts.append("<h3>Left out</h3>")
        parts.append(page.table(("step", "why"), [(step.title, reason) for step, reason in left_out]))
    if unused:
        parts.append("<h3>Not used</h3>")
        parts.append(page.paragraph("Nothing was learned from these files of the kit."))
        parts.append(_files(kit, unused))
    parts.append(page.paragraph("The same files and the same seed give the same models:"))
    parts.append(f"<pre><code>{page.escape(again)}</code></pre></section>")
    return "".join(parts)


def _files(kit: Kit, files: Sequence[tuple[str, str]]) -> str:
    """Files by folder, with what they are; the names of many are folded away."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name, what in files:
        folder, slash, _ = name.partition("/")
        groups.setdefault((folder + slash, what), []).append(name)
    rows = []
    for (place, what), names in groups.items():
        number = page.counted(len(names), "file")
        rows.append((page.clip(place, 80), what, number, _size(*(kit.folder / name for name in names))))
    listed = "".join(f"<li><code>{page.escape(page.clip(name, 120))}</code></li>" for name, _ in files)
    folded = f"<details><summary>all {len(files)} names</summary><ul>{listed}</ul></details>"
    return page.table(("where", "what it is", "", "size"), rows, (2, 3)) + (folded if len(files) > len(groups) else "")


def _settings(step: Step) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {_plain(value)}" for name, value in step.settings.items())


def _plain(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _size(*paths: Path) -> str:
    size = sum(path.stat().st_size for path in paths)
    return f"{size:,} bytes" if size < 10_000 else f"{size / 1e3:,.0f} kB" if size < 1e6 else f"{size / 1e6:,.1f} MB"
