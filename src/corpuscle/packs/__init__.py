"""Packs: everything that can be learned from one folder of files, and the report about it.

- ``learn(kit, pack)``: the whole job, step by step, resumable;
- ``Kit``, ``find_kit``: what the files of a folder are; ``take_in``, ``Intake``: what is in them, and what is wrong;
- ``LoadedPack``: a pack as one object, which ``corpuscle.load("pack")`` gives; ``Layers``: what it says about a text;
- ``Step``, ``Findings``, ``Chapter``, ``Job``: how a further thing to learn is added, see ``corpuscle.packs.step``;
- ``STEPS``: all that can be learned.
"""

from typing import TYPE_CHECKING

from corpuscle.lazy import contents

if TYPE_CHECKING:
    from corpuscle.packs.chapter import Card, Chapter, Findings
    from corpuscle.packs.intake import Intake, take_in
    from corpuscle.packs.kit import FileRow, Kit, Problem, find_kit
    from corpuscle.packs.pack import Layers, LoadedPack
    from corpuscle.packs.run import STEPS, Outcome, learn
    from corpuscle.packs.step import Job, Step

__all__, __getattr__, __dir__ = contents(__name__, __file__)
