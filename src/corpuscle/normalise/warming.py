"""Compiling ahead of first use."""

from __future__ import annotations

import os
import tempfile
import warnings

from corpuscle.errors import CorpuscleWarning
from corpuscle.model import read
from corpuscle.normalise.normaliser import Normaliser

__all__ = ["warm"]


def warm() -> None:
    """Compile every kernel of this task by running it on a few words."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore", CorpuscleWarning)
        path = os.path.join(folder, "model")
        Normaliser(min_count=1).fit([["see", "you", "there"], ["are", "you", "here"]]).save(path)
        Normaliser.from_container(read(path)).normalise([["yu", "thre"]])
