"""The picture of the floors of the house as the linter knows them, and of how data flows through them, see
``make_pages``. The tasks and the modules of the ground are those of ``pyproject.toml``.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEFT, WIDTH = 230, 500
SHADES = ("#f8f2e8", "#f6efe2", "#f4ebda", "#f2e7d2", "#efe2c8", "#ebdcbd", "#e7d5b0", "#e2cda2", "#d9c08d")

HEAD = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 {height}" role="img" aria-labelledby="title desc"
     font-family="'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', 'Segoe UI', sans-serif">
  <title id="title">The floors of the house, and how data flows through them</title>
  <desc id="desc">From top to bottom: command line; workbench; packs; samples; the tasks {tasks}; measure and figures;
  engine; text; ground. Imports go downwards only. Data enters as files at the text floor, rises as integer arrays
  through the engine into the tasks, and leaves as model files, results and reports.</desc>
  <defs>
    <marker id="tip" viewBox="0 0 10 10" refX="8.5" refY="5" markerWidth="7" markerHeight="7" orient="auto">
      <path d="M0 0.8 L9 5 L0 9.2 z" fill="#8a5a2b"/>
    </marker>
    <marker id="grey" viewBox="0 0 10 10" refX="8.5" refY="5" markerWidth="7" markerHeight="7" orient="auto">
      <path d="M0 0.8 L9 5 L0 9.2 z" fill="#8d8374"/>
    </marker>
  </defs>
  <style>
    .page  {{ fill: #fbf8f3 }}
    .floor {{ stroke: #cbb994; stroke-width: 1.2 }}
    .room  {{ fill: #ffffff; stroke: #cbb994; stroke-width: 1.2 }}
    .paper {{ fill: #ffffff; stroke: #d9cdbb; stroke-width: 1.5 }}
    .code  {{ font: 600 15px ui-monospace, 'SFMono-Regular', Menlo, 'DejaVu Sans Mono', monospace; fill: #7a3e12 }}
    .small {{ font: 600 13px ui-monospace, 'SFMono-Regular', Menlo, 'DejaVu Sans Mono', monospace; fill: #7a3e12 }}
    .note  {{ font-size: 13px; fill: #6e5d47 }}
    .name  {{ font-size: 14px; font-weight: 600; fill: #3a2a18 }}
    .flow  {{ fill: none; stroke: #8a5a2b; stroke-width: 2.4 }}
    .down  {{ fill: none; stroke: #8d8374; stroke-width: 1.8; stroke-dasharray: 5 4 }}
  </style>
  <rect class="page" width="960" height="{height}" rx="16"/>
  <path d="M214 66 L480 18 L746 66 z" fill="#d8b67c" stroke="#b98a3f" stroke-width="1.2"/>
  <text class="name" x="480" y="54" text-anchor="middle">you</text>"""


def layers() -> tuple[list[str], list[str]]:
    """The tasks, the leftmost first, and the modules of the ground."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    order = contracts[0]["layers"]
    tasks = order[order.index("samples") + 1 : order.index("measure | figures")]
    ground = [name for layer in order[order.index("text") + 1 :] for name in layer.split(" | ")]
    return tasks[::-1], ground


def in_rows(names: list[str], width: int) -> list[list[str]]:
    """Names in rows of at most so many."""
    return [names[first : first + width] for first in range(0, len(names), width)]


def text(x: float, y: float, content: str, style: str = "note", centred: bool = False) -> str:
    """A line of text."""
    anchor = ' text-anchor="middle"' if centred else ""
    return f'  <text class="{style}" x="{x:g}" y="{y:g}"{anchor}>{content}</text>'


def storey(y: int, height: int, shade: str, x: int = LEFT, width: int = WIDTH) -> str:
    """The walls of a floor."""
    return f'  <rect class="floor" x="{x}" y="{y}" width="{width}" height="{height}" fill="{shade}"/>'


def paper(x: int, y: int, width: int, name: str, *lines: str) -> list[str]:
    """A sheet beside the house."""
    height = 36 + 18 * len(lines)
    shown = [text(x + width / 2, y + 44 + 17 * i, line, centred=True) for i, line in enumerate(lines)]
    return [
        f'  <rect class="paper" x="{x}" y="{y}" width="{width}" height="{height}" rx="8"/>',
        text(x + width / 2, y + 25, name, "name", centred=True),
        *shown,
    ]


def flow(path: str, style: str = "flow", tip: str = "tip") -> str:
    """An arrow."""
    return f'  <path class="{style}" d="{path}" marker-end="url(#{tip})"/>'


def picture() -> str:
    """The whole picture as SVG."""
    tasks, ground = layers()
    shades = iter(SHADES)
    body, tops, y = [], {}, 66
    plain = {
        "cli": "make options from settings, call the floor below, show the result",
        "web": "the workbench: one table of verbs, the server around it, the page",
        "packs": "everything learned from one kit of files, and the report about it",
        "samples": "a generated language whose truth is known",
        "tasks": "",
        "measure": "",
        "engine": "mathematics that tasks share, compiled: arrays in, arrays out",
        "text": "Vocab, Corpus, Treebank, Bitext ...; readers and writers of formats",
    }
    for name, note in plain.items():
        tops[name], shade = y, next(shades)
        if name == "tasks":
            rows = in_rows(tasks, 4)
            height = 42 + 40 * len(rows)
            body += [storey(y, height, shade), text(248, y + 24, "the tasks", "name")]
            body.append(text(330, y + 24, "a slice each, with its own kernels; may use those before it"))
            for i, row in enumerate(rows):
                for j, task in enumerate(row):
                    x, top = 248 + 118 * j, y + 36 + 40 * i
                    body.append(f'  <rect class="room" x="{x}" y="{top}" width="110" height="32" rx="6"/>')
                    body.append(text(x + 55, top + 21, task, "small", centred=True))
        elif name == "measure":
            height = 58
            for x, half, what in (
                (LEFT, "measure", "figures, intervals, paired tests"),
                (LEFT + WIDTH // 2, "figures", "pictures as SVG"),
            ):
                body.append(storey(y, height, shade, x, WIDTH // 2))
                body += [text(x + 18, y + 25, half, "code"), text(x + 18, y + 45, what)]
        else:
            height = 58
            body += [storey(y, height, shade), text(248, y + 25, name, "code"), text(248, y + 45, note)]
        y += height
    rows = in_rows(ground, 6)
    height = 38 + 20 * len(rows)
    body.append(storey(y, height, next(shades)))
    body += [text(248, y + 25 + 20 * i, " ".join(row), "small") for i, row in enumerate(rows)]
    body.append(text(248, y + height - 15, "the ground: settings, model files, workers, one seed, kernels, complaints"))
    end = y + height
    middle = tops["tasks"] + (tops["measure"] - tops["tasks"]) // 2
    door, engine, packs = tops["text"] + 36, tops["engine"], tops["packs"]
    body += [
        *paper(40, door - 38, 132, "files", "UTF-8, CoNLL-U,", "trees, bitext"),
        flow(f"M176 {door} H224"),
        text(40, door + 54, "encoded once, at the door"),
        flow(f"M226 {door - 20} C188 {door - 28} 188 {engine + 40} 224 {engine + 32}"),
        flow(f"M224 {engine + 18} C150 {engine - 10} 150 {middle + 40} 224 {middle + 10}"),
        text(36, engine - 30, "integer arrays"),
        text(36, engine - 13, "rise, answers too"),
        flow(f"M224 {middle - 8} C150 {middle - 42} 150 {packs + 56} 224 {packs + 32}"),
        text(36, packs + 96, "models with"),
        text(36, packs + 113, "their figures"),
        *paper(786, tops["cli"] + 8, 150, "results", "text, TSV, JSON"),
        flow(f"M734 {tops['cli'] + 34} H780"),
        *paper(786, packs + 22, 150, "a pack", "models, report.html"),
        flow(f"M734 {packs + 40} H780"),
        *paper(786, middle - 26, 150, "model files", "through the ground"),
        flow(f"M734 {middle} H780"),
        flow(f"M752 {tops['measure'] + 20} V{end - 12}", "down", "grey"),
        *(
            text(768, engine + 40 + 17 * i, line)
            for i, line in enumerate(("imports go", "downwards only;", "the linter keeps it so"))
        ),
        f'  <path d="M196 {end} H764" stroke="#8d8374" stroke-width="3"/>',
        text(480, end + 34, "solid: how data flows · dashed: who may import whom", centred=True),
        "</svg>",
    ]
    return "\n".join([HEAD.format(height=end + 68, tasks=", ".join(tasks)), *body]) + "\n"

