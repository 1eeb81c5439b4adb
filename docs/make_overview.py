"""Draw docs/images/overview.svg: from the files of a kit to the models of a pack, as the steps of ``learn`` have them.

    python docs/make_overview.py

A test checks that the picture shows every step of the catalogue.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from corpuscle.packs.kit import ROLES
from corpuscle.packs.run import STEPS

PICTURE = Path(__file__).parent / "images" / "overview.svg"
ROW, TOP, BOX = 34, 96, 26
LEFT, MIDDLE, RIGHT = 30, 370, 700
WIDE = 230

HEAD = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 {height}" role="img" aria-labelledby="title desc"
     font-family="'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', 'Segoe UI', sans-serif">
  <title id="title">From a kit of files to a language pack</title>
  <desc id="desc">{description}</desc>
  <style>
    .page {{ fill: #fbf8f3 }} .kit {{ fill: #fff; stroke: #d9cdbb; stroke-width: 1.5 }}
    .step {{ fill: #f2e7d2; stroke: #cbb994; stroke-width: 1.2 }}
    .pack {{ fill: #fff; stroke: #b98a3f; stroke-width: 1.5 }}
    .flow {{ fill: none; stroke: #b98a3f; stroke-width: 1.4; opacity: .55 }}
    .also {{ fill: none; stroke: #b98a3f; stroke-width: 1.2; stroke-dasharray: 3 4; opacity: .5 }}
    .head {{ font-size: 20px; font-weight: 600; fill: #3a2a18 }} .note {{ font-size: 13px; fill: #6e5d47 }}
    .name {{ font-size: 14px; fill: #3a2a18 }} .code {{ font: 600 13px ui-monospace, Menlo, monospace; fill: #7a3e12 }}
  </style>
  <rect class="page" width="960" height="{height}" rx="16"/>"""


def _box(x: int, y: int, text: str, kind: str, style: str = "name") -> list[str]:
    return [
        f'  <rect class="{kind}" x="{x}" y="{y}" width="{WIDE}" height="{BOX}" rx="6"/>',
        f'  <text class="{style}" x="{x + 12}" y="{y + 18}">{escape(text)}</text>',
    ]


def _flow(x1: int, y1: int, x2: int, y2: int, kind: str = "flow") -> str:
    bend = (x2 - x1) // 2
    return f'  <path class="{kind}" d="M{x1} {y1} C{x1 + bend} {y1} {x2 - bend} {y2} {x2} {y2}"/>'


def picture() -> str:
    """The whole picture."""
    used = {role for step in STEPS for role in (*step.needs, *step.wants)}
    roles = [role for role in ROLES if role in used]
    height = TOP + ROW * len(STEPS) + 50
    gap = ROW * len(STEPS) // len(roles)
    places = {role: TOP + number * gap + (gap - BOX) // 2 for number, role in enumerate(roles)}
    learned = ", ".join(step.title.lower() for step in STEPS)
    parts = [HEAD.format(height=height, description=escape(f"Files of a kit become models of a pack: {learned}."))]
    for x, title, note in (
        (LEFT, "What you have: a kit", "any of these (dashed: helps, too)"),
        (MIDDLE, "corpuscle learn", "each step measured on a held-out tenth"),
        (RIGHT, "What you get: a pack", "models, tables, report.html"),
    ):
        parts.append(f'  <text class="head" x="{x}" y="48">{title}</text>')
        parts.append(f'  <text class="note" x="{x}" y="72">{note}</text>')
    boxes: list[str] = []
    for role, y in places.items():
        boxes += _box(LEFT, y, ROLES[role].replace("noisy messages with", "messages and"), "kit")
    for number, step in enumerate(STEPS):
        y = TOP + number * ROW
        parts += [
            _flow(LEFT + WIDE, places[role] + BOX // 2, MIDDLE, y + BOX // 2, kind)
            for kind, several in (("flow", step.needs), ("also", step.wants))
            for role in several
        ]
        parts.append(_flow(MIDDLE + WIDE, y + BOX // 2, RIGHT, y + BOX // 2))
        boxes += _box(MIDDLE, y, step.title, "step") + _box(RIGHT, y, Path(step.writes[0]).name, "pack", "code")
    return "\n".join([*parts, *boxes, "</svg>"]) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
