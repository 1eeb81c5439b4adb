"""Every view of the pack of the built-in sample in a browser, its content compared with what the models say in Python.

Learning the sample takes a minute or two; ``CORPUSCLE_PACK`` names a pack that is learned already.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import corpuscle
from corpuscle.packs import learn
from corpuscle.text import Treebank, format_brackets, read_bitext, read_strings
from tests.web.browser import CHROMIUM, NEEDS_CHROMIUM, show
from tests.web.processes import Server

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [pytest.mark.slow, NEEDS_CHROMIUM]


@pytest.fixture(scope="module")
def pack(tmp_path_factory):
    if "CORPUSCLE_PACK" in os.environ:
        return Path(os.environ["CORPUSCLE_PACK"])
    folder = tmp_path_factory.mktemp("sample") / "pack"
    learn(None, folder)
    return folder


@pytest.fixture(scope="module")
def address(pack):
    server = Server(pack, "--read-only")
    yield server.address
    server.end()


@pytest.fixture(scope="module")
def page(address):
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        opened, wrong = browser.new_page(), []
        opened.on("pageerror", lambda error: wrong.append(str(error)))
        own = (address, "about:")
        opened.on("request", lambda asked: None if asked.url.startswith(own) else wrong.append(asked.url))
        yield opened
        browser.close()
    assert wrong == []


@pytest.fixture(scope="module")
def lines(pack):
    text = (pack / "kit" / "text" / "field-01.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.strip()][:2]


def model(pack, name):
    return corpuscle.load(pack / "models" / f"{name}.model")


def cells(page, selector="#output table"):
    """The rows of the first table."""
    rows = page.locator(selector).first.locator("tbody tr")
    return [row.locator("td").all_inner_texts() for row in rows.all()]


def drawn(page):
    """The text in the first picture."""
    return " ".join(page.locator("#output svg").first.locator("text").all_text_contents())


def bank(lines):
    return Treebank.from_sentences([line.split() for line in lines])


def test_surprisal(page, address, pack, lines):
    show(page, address, "lm", text="\n".join(lines))
    lm = model(pack, "lm")
    corpus = read_strings(lines, **lm.reading)
    assert page.locator(".sentence bdi").all_inner_texts() == [w for words in corpus for w in (*words, "■")]
    assert f"Perplexity {lm.perplexity(corpus)['perplexity']:.1f}" in page.inner_text("#output")


def test_next_words(page, address, pack, lines):
    begin = " ".join(lines[0].split()[:3])
    show(page, address, "next", text=begin)
    found = model(pack, "lm").next_words(["<s>", *begin.split()], 20)
    assert [row[0] for row in cells(page)] == [word for word, _ in found]


def test_classes(page, address, pack, lines):
    show(page, address, "classes", text=lines[0])
    classes = model(pack, "classes")
    applied = classes.apply(read_strings(lines[:1], **classes.reading).recode(classes.vocab_))
    assert page.locator(".class sub").all_inner_texts() == list(applied.words(0))


def test_topics(page, address, pack, lines):
    show(page, address, "topics", text="\n".join(lines))
    shares = [float(row[2].removesuffix(" %")) for row in cells(page)]
    assert 0 < len(shares) <= 3 and shares == sorted(shares, reverse=True)
    assert "All topics" in page.inner_text("#output") and page.locator("#output svg").count() == 2


def test_normalisation(page, address, pack):
    text = (pack / "kit" / "noisy.txt").read_text(encoding="utf-8").splitlines()[:5]
    show(page, address, "normalise", text="\n".join(text))
    choices = model(pack, "normaliser").choices([line.split() for line in text], ranked=9)
    changed = [choice.form for message in choices for choice in message if choice.form != choice.typed]
    assert changed and page.locator("#output ins").all_inner_texts() == [form or "∅" for form in changed]


def test_reading_helper(page, address, pack, lines):
    show(page, address, "analyses", text=lines[0])
    readings = model(pack, "disambiguator").readings(bank(lines[:1]), 3)[0]
    shown = page.locator(".card bdi:first-child").all_inner_texts()
    assert [word["analyses"][0]["vowelled"] for word in readings] == [
        card.locator("bdi").first.inner_text() for card in page.locator(".card").all()
    ], shown
    rows = cells(page)
    assert "New to you: 100 % of its" in page.inner_text("#output")
    page.get_by_role("button", name=f"I know it: {rows[0][0]}", exact=True).click()
    page.wait_for_function("n => document.querySelectorAll('#output tbody tr').length === n", arg=len(rows) - 1)
    assert "New to you: 100 %" not in page.inner_text("#output") and page.locator(".card.familiar").count() > 0


def test_tags(page, address, pack, lines):
    show(page, address, "tag", text=lines[0])
    tagged = model(pack, "tagger").annotate(bank(lines[:1]))
    heads = page.locator("#output th").all_inner_texts()
    assert [row[heads.index("upos")] for row in cells(page)] == tagged.tags.strings()


def test_dependency_trees(page, address, pack, lines):
    show(page, address, "parse", text=lines[0])
    tagged = model(pack, "tagger").annotate(bank(lines[:1]))
    parsed = model(pack, "parser").annotate(tagged, confidence=True)
    said = drawn(page)
    assert all(word in said for word in lines[0].split()) and all(name in said for name in parsed.relations.strings())
    assert page.locator("#output svg title").count() >= parsed.corpus.n_tokens - 1


def test_constituents(page, address, pack, lines):
    show(page, address, "grammar", text=lines[0], **{"model.grammar": "grammar"})
    found = model(pack, "grammar").parse(bank(lines[:1]).corpus, None)
    assert page.inner_text("#output pre") == " ".join(format_brackets(found.trees[:1].with_root()))
    assert all(word in drawn(page) for word in lines[0].split())


def test_entities(page, address, pack):
    text = sorted((pack / "kit" / "entities").glob("*.txt"))[0].read_text(encoding="utf-8").splitlines()[:3]
    show(page, address, "entities", text="\n".join(text))
    from corpuscle.entities.documents import from_corpus

    found = model(pack, "entities").tag(from_corpus(read_strings(text)))
    mentions = [[str(i + 1), each.type] for i, some in enumerate(found.mentions) for each in some]
    assert mentions and [row[:2] for row in cells(page)] == mentions


def test_draft_translation(page, address, pack):
    source = (pack / "kit" / "parallel" / "train.src").read_text(encoding="utf-8").splitlines()[1]
    show(page, address, "translate", text=source)
    translate = model(pack, "translate")
    found = translate.translate(read_strings([source], **translate.reading), 3)[0]
    assert page.locator("#output li").all_inner_texts() == [target for target, _ in found]


def test_alignment(page, address, pack):
    bitext = read_bitext(*(pack / "kit" / "parallel" / f"train.{side}" for side in ("src", "tgt")))[1:2]
    source, target = next(iter(bitext))
    show(page, address, "align", source=" ".join(source), target=" ".join(target))
    said = drawn(page)
    assert all(word in said for word in (*source, *target))
    sure = float(model(pack, "align").confidence(bitext)[0])
    assert f"confidence {100 * sure:.0f} %" in page.inner_text("#output")


def test_dictionary(page, address, pack):
    rows = [line.split("\t") for line in (pack / "dictionary.tsv").read_text(encoding="utf-8").splitlines()[1:]]
    word = next(row[0] for row in rows if len(row[0]) > 4)
    show(page, address, "dictionary", word=word)
    found = [row for row in rows if row[0].casefold().startswith(word.casefold())]
    assert [row[:2] for row in cells(page)] == [row[:2] for row in found][:100]
    assert found[0][6] in page.inner_text("#output")  # its example


def test_names(page, address, pack):
    show(page, address, "names", names="Usatok")
    found = model(pack, "names").transliterate(["Usatok"], 10)[0]
    assert [row[2] for row in cells(page)] == [candidate.target for candidate in found]
    assert page.locator("#output svg").count() == 1 and found[0].target[0] in drawn(page)


def test_words(page, address, pack, lines):
    word = lines[0].split()[1]
    show(page, address, "words", word=word, text="\n".join(lines))
    found = model(pack, "vectors").nearest(word, 12)
    assert [row[0] for row in cells(page)] == [each for each, _ in found]
    said = page.inner_text("#output")
    assert all(part in said for part in ("Its classes", "Alike in meaning", "Senses in the text", "Tree of classes"))
    assert page.locator("#output svg").count() == 2  # the map, the tree


def test_the_report_is_a_tab(page, address, pack):
    show(page, address, "report")
    title = page.frame_locator("iframe").locator("h1").first.inner_text()
    assert title and title in (pack / "report.html").read_text(encoding="utf-8")


def test_read_only_says_so_where_one_would_write(page, address):
    for view in ("annotate", "kit"):
        show(page, address, view)
        assert "read-only" in page.inner_text("#output")
    assert "train.src" in page.inner_text("#output")
