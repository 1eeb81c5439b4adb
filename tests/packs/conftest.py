"""What the tests of packs share."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpuscle import samples


@pytest.fixture(scope="session")
def sample(tmp_path_factory) -> Path:
    """A small sample: 400 pairs, 300 names."""
    folder = tmp_path_factory.mktemp("sample")
    samples.write(folder, sentences=60, pairs=400, names=300, notes=5, messages=5)
    return folder
