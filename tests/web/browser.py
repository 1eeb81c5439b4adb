"""The Chromium of the system, and a page of the workbench in it."""

from __future__ import annotations

import shutil
from urllib.parse import urlencode

import pytest

__all__ = ["CHROMIUM", "DONE", "NEEDS_CHROMIUM", "show"]

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
NEEDS_CHROMIUM = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no Chromium on this system (apt-get install chromium)"
)
DONE = "#output:not([aria-busy]) > *"


def show(page, address, view, **given):
    """Open a view of a server, and wait until it shows something."""
    page.goto("about:blank")
    page.goto(f"{address}#{view}&{urlencode(given)}")
    page.wait_for_selector(DONE, timeout=120_000)
    assert "error" not in (page.get_attribute("#status", "class") or ""), page.inner_text("#status")
