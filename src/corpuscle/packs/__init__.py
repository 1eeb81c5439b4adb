"""Packs: everything that can be learned from one folder of files, and the report about it.

- ``learn(kit, pack)``: the whole job, step by step, resumable;
- ``Kit``, ``find_kit``: what the files of a folder are;
- ``Step``, ``Chapter``, ``Job``: how a further thing to learn is added, see ``corpuscle.packs.step``;
- ``STEPS``: all that can be learned.
"""

from corpuscle.packs.job import Job
from corpuscle.packs.kit import Kit, find_kit
from corpuscle.packs.run import STEPS, Outcome, learn
from corpuscle.packs.step import Chapter, Step

__all__ = ["STEPS", "Chapter", "Job", "Kit", "Outcome", "Step", "find_kit", "learn"]
