"""Claims about the page in a real browser: every view, by keyboard, narrow, dark, from right to left, and the loop.

They drive the Chromium of the system. Accessibility is checked where axe-core is installed (``npm install --no-save
axe-core`` in the root of the checkout, or ``AXE_CORE`` names its file).
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

import pytest

from corpuscle.text import read_conllu
from tests.web.browser import CHROMIUM, DONE, NEEDS_CHROMIUM
from tests.web.processes import Server
from tests.web.served import write_pack

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = NEEDS_CHROMIUM

AXE = Path(os.environ.get("AXE_CORE", Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"))
KINDS = (
    "lm.ngram", "words.exchange", "words.ppmi", "words.hmm", "topics.ngram", "align.ibm1", "transliterate.combined",
    "translate.phrase", "tag.crf", "parse.mst", "entities.dictionary", "normalise.ranker", "disambiguate.ranker",
    "segment.npylm", "metric.model", "grammar.pcfg",
)  # fmt: skip
TEXT = quote("a b c\nb c a")
VIEWS = {
    "lm": (f"text={TEXT}", "Perplexity"),
    "next": (f"text={TEXT}", "next word"),
    "segment": ("text=abcab", "boundary"),
    "classes": (f"text={TEXT}", "a"),
    "topics": (f"text={TEXT}", "All topics"),
    "normalise": ("text=u%20there", "there"),
    "analyses": (f"text={TEXT}", "New to you: 100 % of its 3 lemmas"),
    "tag": (f"text={TEXT}", "sure"),
    "parse": (f"text={TEXT}", "The fainter an arc"),
    "entities": (f"text={TEXT}", "mention"),
    "translate": (f"text={TEXT}", "a b c"),
    "metric": (f"text={TEXT}", "distance"),
    "grammar": (f"text={TEXT}", "(TOP"),
    "align": ("source=a%20b&target=c%20d", "confidence"),
    "dictionary": ("word=ka", "1 of 2 entries"),
    "names": ("names=ab", "Letters that the network looks at"),
    "words": ("", "Map"),
    "meaning": (f"word=a&text={TEXT}", "Alike in meaning"),
    "report": ("", ""),
    "annotate": ("", "Fetch the least sure"),
    "kit": ("", "running text"),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    started = Server(write_pack(tmp_path_factory.mktemp("packs") / "pack", *KINDS))
    yield started
    started.end()


@pytest.fixture(scope="module")
def chromium():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(chromium, server):
    """A page that complains about nothing and asks nobody else."""
    opened, wrong = chromium.new_page(), []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("console", lambda said: wrong.append(said.text) if "Security Policy" in said.text else None)
    opened.on(
        "request", lambda request: wrong.append(request.url) if not request.url.startswith(server.address) else None
    )
    yield opened
    opened.close()
    assert wrong == []


def show(page, server, view, query=""):
    page.goto(f"{server.address}#{view}&{query}")
    page.wait_for_selector(DONE, timeout=120_000)


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_shows_what_it_is_about_and_a_phone_needs_no_scrolling_sideways(page, server, view):
    query, said = VIEWS[view]
    show(page, server, view, query)
    assert "error" not in (page.get_attribute("#status", "class") or ""), page.inner_text("#status")
    assert page.get_attribute(f"#tab-{view}", "aria-selected") == "true"
    if view == "report":
        assert "A report" in page.frame_locator("iframe").locator("body").inner_text()
    elif view == "segment":
        assert page.locator("[role=img].gap").count() or page.locator(".sentence").count()
    else:
        assert said in page.inner_text("#output")
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_keyboard_is_enough(page, server):
    show(page, server, "lm")
    page.keyboard.press("Tab")  # the link over the tabs
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "tab-lm"
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "tab-next"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "field-text"
    page.keyboard.type("b c a")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".sentence", timeout=120_000)
    assert "text=b+c+a" in page.url
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"


def test_an_address_reproduces_the_view_and_back_goes_back(page, server):
    show(page, server, "lm", "text=a%20b")
    page.click("#tab-classes")
    page.wait_for_selector(".class")
    assert "#classes&text=a+b" in page.url
    page.go_back()
    page.wait_for_selector(".key")
    assert page.input_value("#field-text") == "a b"


def test_dark_is_dark(page, server):
    page.emulate_media(color_scheme="dark")
    show(page, server, "lm", f"text={TEXT}")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"


def test_text_from_right_to_left_runs_from_right_to_left(page, server):
    show(page, server, "lm", f"text={quote('مرحبا يا عالم')}")
    assert page.evaluate("getComputedStyle(document.querySelector('.sentence')).direction") == "rtl"
    boxes = [word.bounding_box()["x"] for word in page.locator(".sentence bdi").all()]
    assert boxes == sorted(boxes, reverse=True)


def test_hostile_text_stays_text(page, server):
    show(page, server, "lm", f"text={quote('<img src=x onerror=alert(1)> <script>alert(1)</script>')}")
    assert page.locator("#output img, #output script").count() == 0


def test_a_hundred_thousand_characters_are_shown(page, server):
    show(page, server, "lm")
    page.fill("#field-text", ("a b c " * 17_000)[:100_000])
    page.click("button.main")
    page.wait_for_selector(".sentence", timeout=120_000)
    assert page.locator(".sentence bdi").count() > 40_000
    page.fill("#field-text", "a" * 100_001)
    page.click("button.main")
    page.wait_for_selector("#status.error")
    assert "at most 100,000" in page.inner_text("#status")


def test_a_server_that_is_gone_is_said_and_one_that_is_back_is_asked(chromium, tmp_path):
    pack = write_pack(tmp_path / "pack", "lm.ngram")
    server = Server(pack)
    port = server.address.rstrip("/").rpartition(":")[2]
    page = chromium.new_page()
    try:
        show(page, server, "lm", "text=a%20b")
        server.end()
        page.click("button.main")
        page.wait_for_selector("#status.error")
        assert "cannot be reached" in page.inner_text("#status")
        server = Server(pack, "--port", port)
        page.get_by_role("button", name="Try again").click()
        page.wait_for_selector(".sentence", timeout=120_000)
        assert page.get_attribute("#status", "class") != "error"
    finally:
        page.close()
        server.end()


def tab_to(page, id):
    """Press Tab until something has the focus, which must be visible."""
    for _ in range(300):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == id:
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
            return
    raise AssertionError(f"{id} cannot be reached by Tab")


def test_annotating_by_keys_alone_is_saved_undone_and_written_into_the_kit(chromium, tmp_path):
    pack = write_pack(tmp_path / "pack", "tag.crf")
    server = Server(pack)
    page = chromium.new_page()
    try:
        show(page, server, "tag")
        tab_to(page, "tab-tag")
        page.keyboard.press("End")
        page.keyboard.press("ArrowLeft")
        assert page.evaluate("document.activeElement.id") == "tab-annotate"
        tab_to(page, "annotator")
        page.keyboard.type("Ana")
        tab_to(page, "fetch")
        page.keyboard.press("Enter")
        page.wait_for_selector("#accept", timeout=120_000)  # the first word has the focus now
        page.keyboard.press("1")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("n")
        tab_to(page, "accept")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=Saved (1).")
        tab_to(page, "accept")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=Saved (2).")
        page.keyboard.press("u")
        page.wait_for_selector("text=Taken back.")
        tab_to(page, "export")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=tagged.conllu")
        bank = read_conllu(pack / "kit" / "tagged.conllu")
        assert len(bank) == 1 and bank.tags.strings()[1] == "_" and bank.tags.strings()[0] != "_"
    finally:
        page.close()
        server.end()


def test_files_are_dropped_and_what_is_wrong_with_them_is_said(chromium, tmp_path):
    server = Server(tmp_path / "new")
    page = chromium.new_page()
    try:
        show(page, server, "kit")
        page.set_input_files("#chooser", [
            {"name": "story.txt", "mimeType": "text/plain", "buffer": b"a b c\n" * 30},
            {"name": "bad.txt", "mimeType": "text/plain", "buffer": b"a \xff\n"},
        ])  # fmt: skip
        page.wait_for_selector("text=text/bad.txt:1:")
        assert "running text" in page.inner_text("#files")
    finally:
        page.close()
        server.end()


def test_a_cluster_is_offered_with_its_dashboard(chromium, tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0") as cluster:
        server = Server(tmp_path / "new", "--cluster", cluster.scheduler_address)
        page = chromium.new_page()
        try:
            show(page, server, "kit")
            page.get_by_role("link", name="its dashboard").wait_for(timeout=60_000)
            assert page.get_by_role("link", name="its dashboard").get_attribute("href") == cluster.dashboard_link
            assert page.is_checked("#on-cluster") and cluster.scheduler_address in page.inner_text("#where")
        finally:
            page.close()
            server.end()


_ENDED = "run => fetch('/api/learning').then(r => r.json()).then(now => now.run === run && now.state !== 'running')"


def test_corrections_are_learned_from(chromium, tmp_path):
    """Annotation -> export -> learn -> another model, all in the page."""
    pack = write_pack(tmp_path / "pack", "tag.crf")
    words = ((1, "a", "X"), (2, "b", "Y"), (3, "c", "Z"))
    rows = "".join(f"{i}\t{word}\t{word}\t{tag}\t_\t_\t_\t_\t_\t_\n" for i, word, tag in words)
    (pack / "kit" / "tagged.conllu").write_text((rows + "\n") * 30, encoding="utf-8")
    server, page = Server(pack), chromium.new_page()
    try:
        models, answers = [], []
        for number in range(2):
            show(page, server, "kit")
            page.click("#learn")
            page.wait_for_function(_ENDED, arg=number + 1, timeout=600_000)
            page.wait_for_selector("#learning:not(:has-text('Learning'))", timeout=120_000)
            log = page.inner_text("#log")
            ended = page.evaluate("fetch('/api/learning').then(answer => answer.json())")
            assert ended["state"] == "done" and "Done" in page.inner_text("#learning"), (ended, log)
            models.append((pack / "models" / "tagger.model").read_bytes())
            page.goto("about:blank")
            show(page, server, "tag", "text=c%20a%20b")
            answers.append(page.inner_text("#output"))
            if number:
                break
            show(page, server, "annotate")
            page.fill("#annotator", "Ana")
            page.select_option("#doubting", "tagger")
            page.fill("#annotate-text", "c a b")
            page.click("#fetch")
            page.wait_for_selector("#accept", timeout=120_000)
            for word, tag in (("c", "Y"), ("a", "Y"), ("b", "Y")):
                page.get_by_label(f"upos of {word}").fill(tag)
            page.click("#accept")
            page.wait_for_selector("text=Saved (1).")
            page.click("#export")
            page.wait_for_selector("#exported:has-text('tagged.conllu')")
            assert len(read_conllu(pack / "kit" / "tagged.conllu")) == 31
        assert models[0] != models[1], log
        assert answers[0] != answers[1]
    finally:
        page.close()
        server.end()


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed (npm install --no-save axe-core)")
@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing_against_wcag_aa_by_day_and_by_night(page, server, view):
    show(page, server, view, VIEWS[view][0])
    page.evaluate(AXE.read_text(encoding="utf-8"))
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found = page.evaluate("axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']})")
        wrong = [(each["id"], [node["html"][:160] for node in each["nodes"][:3]]) for each in found["violations"]]
        assert wrong == [], scheme
