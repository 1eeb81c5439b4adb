"""Take the pictures of the workbench in docs/images, with the Chromium of the system, of a pack of the built-in sample.

corpuscle learn -o pack && python docs/make_screenshots.py pack

A folder as a second argument gets all views instead, light, dark and as wide as a phone, to look at.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, sync_playwright

IMAGES = Path(__file__).with_name("images")
DONE = "#output:not([aria-busy]) > *"
SHOWN = ("lm", "parse", "align", "words", "analyses", "annotate")
"""Views whose pictures are in the docs."""


def views(pack: Path) -> dict[str, dict[str, str]]:
    """Every view with an input from the kit of the pack."""
    kit = pack / "kit"
    lines = [line for line in (kit / "text" / "field-01.txt").read_text().splitlines() if line.strip()]
    source, target = ((kit / "parallel" / f"train.{side}").read_text().splitlines()[1] for side in ("src", "tgt"))
    notes = sorted((kit / "entities").glob("*.txt"))[0].read_text().splitlines()
    text, one = {"text": "\n".join(lines[:4])}, {"text": lines[0]}
    return {
        "lm": text, "next": {"text": " ".join(lines[0].split()[:4])}, "classes": text, "topics": text,
        "normalise": {"text": "\n".join((kit / "noisy.txt").read_text().splitlines()[:5])}, "analyses": one,
        "tag": one, "parse": one, "grammar": one, "entities": {"text": "\n".join(notes[:4])},
        "translate": {"text": source}, "align": {"source": source, "target": target}, "dictionary": {"word": "to"},
        "names": {"names": "Usatok"}, "words": {"word": lines[0].split()[1]}, "report": {}, "annotate": {}, "kit": {},
    }  # fmt: skip


def shoot(page: Page, address: str, name: str, given: dict[str, str], path: Path, whole: bool = False) -> None:
    """The picture of a view."""
    page.goto("about:blank")
    page.goto(f"{address}#{name}&{urlencode(given)}")
    page.wait_for_selector(DONE, timeout=300_000)
    if name == "annotate":
        page.fill("#annotator", "Ana")
        page.select_option("#doubting", "parser")
        page.click("#fetch")
        page.wait_for_selector("#accept", timeout=300_000)
    page.screenshot(path=path, full_page=whole)


@contextmanager
def served(pack: Path) -> Iterator[str]:
    """The address of a server of a pack."""
    command = [sys.executable, "-m", "corpuscle", "serve", str(pack), "--port", "0", "--seconds", "600"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        yield re.search(r"http://\S+", server.stderr.readline())[0]
    finally:
        server.terminate()
        server.wait()


def shoot_all(browser: Browser, address: str, pack: Path, folder: Path) -> None:
    """All views, in all ways."""
    folder.mkdir(parents=True, exist_ok=True)
    for way, scheme, width in (("light", "light", 980), ("dark", "dark", 980), ("phone", "light", 390)):
        page = browser.new_page(viewport={"width": width, "height": 760}, color_scheme=scheme)
        for name, given in views(pack).items():
            shoot(page, address, name, given, folder / f"{name}-{way}.png", whole=True)


def main(pack: Path, folder: Path | None = None) -> None:
    """Serve a pack, take the pictures, end the server."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("error: there is no chromium on this system")
    with served(pack) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        if folder is not None:
            shoot_all(browser, address, pack, folder)
        else:
            page = browser.new_page(viewport={"width": 980, "height": 640})
            for name in SHOWN:
                shoot(page, address, name, views(pack)[name], IMAGES / f"workbench-{name}.png")
        browser.close()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
