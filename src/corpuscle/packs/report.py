"""The report of a pack: one HTML file that needs nothing else, for someone who knows the language and not the models.

What each step has to say comes from the step; here it is put in order.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from corpuscle import __version__
from corpuscle.packs import page
from corpuscle.packs.chapter import Chapter, Findings
from corpuscle.packs.intake import Intake
from corpuscle.packs.kit import ROLES, Kit, show_rows
from corpuscle.packs.pack import Pack, write_json
from corpuscle.packs.step import Step
from corpuscle.text.files import write_atomically
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


@dataclass(frozen=True)
class Report:
    """What the report is made of: steps ``left_out`` and why, steps that ``failed`` and their errors, how many wait."""

    intake: Intake
    pack: Pack
    sections: Sequence[Section]
    left_out: Sequence[tuple[Step, str]]
    failed: Sequence[tuple[Step, list[str]]]
    waiting: int = 0

    def write(self) -> Path:
        """Write the report for people and that for programs; returns where the former is."""
        kit, used = self.intake.kit, {role for each in self.sections for role in each.used}
        unused = [(name, ROLES[role]) for role, names in kit.files.items() if role not in used for name in names]
        unused += list(kit.reasons.items())
        write_json(self.pack.folder / "report.json", {
            "corpuscle": __version__, "kit": str(kit.folder), "seed": self.pack.state["seed"],
            "files": {role: list(names) for role, names in sorted(kit.files.items()) if role in used},
            "not_used": sorted(name for name, _ in unused), "intake": [row.to_json() for row in self.intake.rows],
            "languages": dict(kit.languages), "steps": {each.step.name: each.record for each in self.sections},
            "left_out": {step.name: reason for step, reason in self.left_out},
            "failed": {step.name: errors for step, errors in self.failed},
        })  # fmt: skip
        path = self.pack.folder / "report.html"
        with write_atomically(path, "w") as file:
            file.write(self._page(sorted(unused)))
        return path

    def _page(self, unused: Sequence[tuple[str, str]]) -> Html:
        """The whole page, which loads itself anew every few seconds while steps are still to come; ``unused``: files
        and what they are."""
        kit, sections = self.intake.kit, self.sections
        is_sample = "sample" in self.pack.state and kit.folder == self.pack.folder / "kit"
        name = "the built-in sample" if is_sample else f"“{kit.folder.resolve().name or kit.folder}”"
        title = f"What was learned from {name}"
        parts = [("missing", "What is missing", self._missing())] if self.failed else []
        for step, record, _, chapter in sections:
            notes = [page.note(f"Note: {text}") for text in record.get("notes", ())]
            parts.append((step.name, step.title, [*chapter.body, *notes]))
        if sections:
            parts.append(("use", "How to use it", self._use()))
        parts.append(("made", "How it was made", self._made(unused, is_sample)))
        still = f"Still learning: {counted(self.waiting, 'chapter')} to come."
        lead = [p(still, class_="lead")] if self.waiting else []
        return page.document(
            title, page.links([(name, heading) for name, heading, _ in parts], class_="contents"),
            element("header", element("h1", title), *lead, *self._summary(is_sample)),
            *(section(element("h2", heading), *content, id=name) for name, heading, content in parts),
            refresh=_REFRESH if self.waiting else 0,
        )  # fmt: skip

    def _summary(self, is_sample: bool) -> list[Html]:
        """What was learned, what the figures mean in one sentence each, and the figures."""
        cards = [card for each in self.sections for card in each.chapter.cards]
        learned = enumerated([each.step.learned or each.step.title.lower() for each in self.sections]) or "nothing"
        lead = f"From these files Corpuscle has learned {learned}. Everything was computed on this computer."
        if is_sample:
            lead += " The sample is a made-up language that Corpuscle generates to be tried on; "
            lead += "give a folder of your own to learn from your text."
        boxes = [
            div(element("b", number), span(what), small(baseline) if baseline else "", class_="card")
            for number, what, baseline in cards
        ]
        short = [
            div(element("dt", element("a", step.title, href=f"#{step.name}")), element("dd", chapter.verdict))
            for step, _, _, chapter in self.sections
            if chapter.verdict
        ]
        said = [h3("In short"), element("dl", *short, class_="short")] if short else []
        return [p(lead, class_="lead"), *said, div(*boxes, class_="cards")]

    def _missing(self) -> list[Html]:
        old = [name for step, _ in self.failed for name in step.writes if (self.pack.folder / name).exists()]
        rows = [(step.title, clip(error, 600)) for step, errors in self.failed for error in errors]
        return [
            p("Mend these and run the same command again: what is done is not repeated."),
            page.table(("step", "why"), rows),
            *([page.note(f"From an earlier run, and not described here: {', '.join(old)}.")] if old else []),
        ]

    def _use(self) -> list[Html]:
        rows, shown = list[Html](), self.pack.shown
        for step, *_ in self.sections:
            model = shlex.quote(f"{shown}/{step.writes[0]}")
            for command, what in step.commands:
                rows += [element("dt", code(command.replace("{model}", model))), element("dd", what)]
        python = f"import corpuscle\npack = corpuscle.load({shown!r})\npack('a text')  # what all its models say"
        return [
            p("In a terminal; words in capitals are files of yours with a sentence or a name on each line:"),
            element("dl", *rows, class_="commands"),
            p("In Python:"),
            element("pre", code(python)),
        ]

    def _made(self, unused: Sequence[tuple[str, str]], is_sample: bool) -> list[Html]:
        kit, pack, sections = self.intake.kit, self.pack, self.sections
        used = {name: role for each in sections for role in each.used for name in kit.files.get(role, ())}

        def settings(step: Step) -> str:
            plain = {n: " ".join(map(str, v)) if isinstance(v, list | tuple) else v for n, v in step.settings.items()}
            return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in plain.items())

        timing = [(s.title, f"{made['seconds']:.1f} s", made["finished"], settings(s)) for s, made, _, _ in sections]
        models = [(name, _size(pack.folder / name)) for each in sections for name in each.step.writes]
        facts = (("Corpuscle", __version__), ("seed", pack.state["seed"]), ("kit", kit.folder), ("pack", pack.shown))
        parts = [
            page.facts(facts),
            page.table(("step", "time", "finished", "settings"), timing, (1,)),
            page.table(("written", "size"), models, (1,)),
            h3("Learned from"),
            *_files(kit, [(name, ROLES[role]) for name, role in sorted(used.items())]),
            *self._intake(),
        ]
        if self.left_out:
            reasons = [(step.title, reason) for step, reason in self.left_out]
            parts += [h3("Left out"), page.table(("step", "why"), reasons)]
        if unused:
            parts += [h3("Not used"), p("Nothing was learned from these files of the kit."), *_files(kit, unused)]
        source = "" if is_sample else shlex.quote(str(kit.folder)) + " "
        command = f"corpuscle learn {source}-o {shlex.quote(pack.shown)} --seed {pack.state['seed']}"
        return [*parts, p("The same files and the same seed give the same models:"), element("pre", code(command))]

    def _intake(self) -> list[Html]:
        """What each file is, and what was done to it; lines that were left out."""
        rows = self.intake.rows
        heading = ("file", "role", "encoding", "script", "lines", "words a line", "attached punctuation")
        parts = [h3("The files"), page.table((*heading, "what was done"), show_rows(rows), (4, 5, 6))]
        if bad := [(row.name, line, why) for row in rows for line, why in row.bad]:
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
