"""Take the pictures of the workbench in docs/images, with the Chromium of the system, of a pack of the built-in sample.

corpuscle learn -o pack && python docs/make_screenshots.py pack
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Page, sync_playwright

IMAGES = Path(__file__).with_name("images")
DONE = "#output:not([aria-busy]) > *"


def shoot(page: Page, address: str, pack: Path) -> None:
    """All pictures of a server at an address."""
    lines = [line for line in (pack / "kit" / "text" / "field-01.txt").read_text().splitlines() if line.strip()]
    sources, targets = (
        (pack / "kit" / "parallel" / f"train.{side}").read_text().splitlines() for side in ("src", "tgt")
    )
    views = {
        "lm": f"lm&text={quote(chr(10).join(lines[:4]))}",
        "parse": f"parse&text={quote(lines[0])}",
        "align": f"align&source={quote(sources[1])}&target={quote(targets[1])}",
        "words": f"words&word={quote(lines[0].split()[1])}",
        "annotate": "annotate",
    }
    for name, view in views.items():
        page.goto("about:blank")
        page.goto(f"{address}#{view}")
        page.wait_for_selector(DONE, timeout=120_000)
        if name == "annotate":
            page.fill("#annotator", "Ana")
            page.select_option("#doubting", "parser")
            page.click("#fetch")
            page.wait_for_selector("#accept", timeout=120_000)
        page.screenshot(path=IMAGES / f"workbench-{name}.png")


def main(pack: Path) -> None:
    """Serve a pack, take the pictures, end the server."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("error: there is no chromium on this system")
    command = [sys.executable, "-m", "corpuscle", "serve", str(pack), "--port", "0"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        address = re.search(r"http://\S+", server.stderr.readline())[0]
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            shoot(browser.new_page(viewport={"width": 980, "height": 640}), address, pack)
            browser.close()
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
