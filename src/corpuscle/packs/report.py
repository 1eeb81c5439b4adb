"""The report of a pack: one HTML file that needs nothing else, for someone who knows the language and not the models.

What each step has to say comes from the step; here it is put in order.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from corpuscle import __version__
from corpuscle.packs import page
from corpuscle.packs.chapter import Chapter, Findings
from corpuscle.packs.intake import Intake
from corpuscle.packs.kit import ROLES, Kit, show_rows
from corpuscle.packs.pack import Pack
from corpuscle.packs.step import Step
from corpuscle.text.html import Html, code, div, element, h3, p, section, small, span
from corpuscle.text.wording import clip, counted, enumerated, size

_MOST_BAD_LINES = 50
_REFRESH = 4  # seconds


class Section(NamedTuple):
    """A step that was done, what is written down about it, what was found, and its chapter."""

    step: Step
    record: Mapping[str, Any]
    findings: Findings
    chapter: Chapter

    @classmethod
    def of(cls, step: Step, record: Mapping[str, Any]) -> Section:
        findings = step.findings.from_json(record["findings"])
        return cls(step, record, findings, findings.chapter(step))

    @property
    def used(self) -> tuple[str, ...]:
        """The roles of the files that its findings come from."""
        return *self.step.needs, *self.findings.also_from

    @property
    def notes(self) -> list[Html]:
        return [page.note(f"Note: {text}") for text in self.record.get("notes", ())]


def render(
    intake: Intake,
    pack: Pack,
    sections: Sequence[Section],
    unused: Sequence[tuple[str, str]],
    left_out: Sequence[tuple[Step, str]],
    failed: Sequence[tuple[Step, list[str]]],
    waiting: int = 0,
) -> Html:
    """The whole page; ``unused`` are files and what they are, ``left_out`` steps and why, ``failed`` steps and their
    errors. While steps are still ``waiting``, it loads itself anew every few seconds."""
    kit = intake.kit
    is_sample = "sample" in pack.state and kit.folder == pack.folder / "kit"
    name = "the built-in sample" if is_sample else f"“{kit.folder.resolve().name or kit.folder}”"
    title = f"What was learned from {name}"
    parts = [("missing", "What is missing", _missing(pack, failed))] if failed else []
    parts += [(each.step.name, each.step.title, [*each.chapter.body, *each.notes]) for each in sections]
    if sections:
        parts.append(("use", "How to use it", _use(pack, sections)))
    parts.append(("made", "How it was made", _made(intake, pack, sections, unused, left_out, is_sample)))
    return page.document(
        title, page.links([(name, heading) for name, heading, _ in parts], class_="contents"),
        element("header", element("h1", title), *_still(waiting), *_summary(sections, is_sample)),
        *(section(element("h2", heading), *content, id=name) for name, heading, content in parts),
        refresh=_REFRESH if waiting else 0,
    )  # fmt: skip


def _still(waiting: int) -> list[Html]:
    return [p(f"Still learning: {counted(waiting, 'chapter')} to come.", class_="lead")] if waiting else []


def _summary(sections: Sequence[Section], is_sample: bool) -> list[Html]:
    """What was learned, what the figures mean in one sentence each, and the figures."""
    cards = [card for each in sections for card in each.chapter.cards]
    learned = enumerated([each.step.learned or each.step.title.lower() for each in sections]) or "nothing"
    lead = f"From these files Corpuscle has learned {learned}. Everything was computed on this computer."
    if is_sample:
        lead += " The sample is a made-up language that Corpuscle generates to be tried on; "
        lead += "give a folder of your own to learn from your text."
    boxes = [
        div(element("b", card.number), span(card.what), small(card.baseline) if card.baseline else "", class_="card")
        for card in cards
    ]
    short = [
        div(element("dt", element("a", step.title, href=f"#{step.name}")), element("dd", chapter.verdict))
        for step, _, _, chapter in sections
        if chapter.verdict
    ]
    said = [h3("In short"), element("dl", *short, class_="short")] if short else []
    return [p(lead, class_="lead"), *said, div(*boxes, class_="cards")]


def _missing(pack: Pack, failed: Sequence[tuple[Step, list[str]]]) -> list[Html]:
    old = [name for step, _ in failed for name in step.writes if (pack.folder / name).exists()]
    rows = [(step.title, clip(error, 600)) for step, errors in failed for error in errors]
    return [
        p("Mend these and run the same command again: what is done is not repeated."),
        page.table(("step", "why"), rows),
        *([page.note(f"From an earlier run, and not described here: {', '.join(old)}.")] if old else []),
    ]


def _use(pack: Pack, sections: Sequence[Section]) -> list[Html]:
    rows, all_say = list[Html](), "# what all its models say"
    for step, *_ in sections:
        model = shlex.quote(f"{pack.shown}/{step.writes[0]}")
        for command, what in step.commands:
            rows += [element("dt", code(command.replace("{model}", model))), element("dd", what)]
    return [
        p("In a terminal; words in capitals are files of yours with a sentence or a name on each line:"),
        element("dl", *rows, class_="commands"),
        p("In Python:"),
        element("pre", code(f"import corpuscle\npack = corpuscle.load({pack.shown!r})\npack('a text')  {all_say}")),
    ]


def _made(
    intake: Intake,
    pack: Pack,
    sections: Sequence[Section],
    unused: Sequence[tuple[str, str]],
    left_out: Sequence[tuple[Step, str]],
    is_sample: bool,
) -> list[Html]:
    kit = intake.kit
    used = {name: role for each in sections for role in each.used for name in kit.files.get(role, ())}

    def settings(step: Step) -> str:
        plain = {n: " ".join(map(str, v)) if isinstance(v, list | tuple) else v for n, v in step.settings.items()}
        return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in plain.items())

    timing = [(s.title, f"{made['seconds']:.1f} s", made["finished"], settings(s)) for s, made, _, _ in sections]
    models = [(name, _size(pack.folder / name)) for each in sections for name in each.step.writes]
    source = "" if is_sample else shlex.quote(str(kit.folder)) + " "
    parts = [
        page.facts([
            ("Corpuscle", __version__),
            ("seed", pack.state["seed"]),
            ("kit", kit.folder),
            ("pack", pack.shown),
        ]),
        page.table(("step", "time", "finished", "settings"), timing, (1,)),
        page.table(("written", "size"), models, (1,)),
        h3("Learned from"),
        *_files(kit, [(name, ROLES[role]) for name, role in sorted(used.items())]),
        h3("The files"),
        *_intake(intake),
    ]
    if left_out:
        reasons = [(step.title, reason) for step, reason in left_out]
        parts += [h3("Left out"), page.table(("step", "why"), reasons)]
    if unused:
        parts += [h3("Not used"), p("Nothing was learned from these files of the kit."), *_files(kit, unused)]
    return [
        *parts,
        p("The same files and the same seed give the same models:"),
        element("pre", code(f"corpuscle learn {source}-o {shlex.quote(pack.shown)} --seed {pack.state['seed']}")),
    ]


def _intake(intake: Intake) -> list[Html]:
    """What each file is, and what was done to it; lines that were left out."""
    heading = ("file", "role", "encoding", "script", "lines", "words a line", "attached punctuation", "what was done")
    parts = [page.table(heading, show_rows(intake.rows), (4, 5, 6))]
    bad = [(row.name, line, why) for row in intake.rows for line, why in row.bad]
    if bad:
        more = f" (the first {_MOST_BAD_LINES} of them)" if len(bad) > _MOST_BAD_LINES else ""
        listed = page.table(("file", "line", "why"), bad[:_MOST_BAD_LINES], (1,))
        said = f"{counted(len(bad), 'line')} that could not be read{more}"
        parts.append(element("details", element("summary", said), listed))
    return parts


def _files(kit: Kit, files: Sequence[tuple[str, str]]) -> list[Html]:
    """Files by folder, with what they are; the names of many are folded away."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name, what in files:
        folder, slash, _ = name.partition("/")
        groups.setdefault((folder + slash, what), []).append(name)
    rows = [
        (clip(place, 80), what, counted(len(names), "file"), _size(*(kit.path(name) for name in names)))
        for (place, what), names in groups.items()
    ]
    parts = [page.table(("where", "what it is", "", "size"), rows, (2, 3))]
    if len(files) > len(groups):
        listed = element("ul", *(element("li", code(clip(name, 120))) for name, _ in files))
        parts.append(element("details", element("summary", f"all {len(files)} names"), listed))
    return parts


def _size(*paths: Path) -> str:
    return size(sum(path.stat().st_size for path in paths))
