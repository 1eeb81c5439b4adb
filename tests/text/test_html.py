"""Claims about corpuscle.text.html: text stays text, and HTML is put together nowhere else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import corpuscle
from corpuscle.text.html import Html, div, element, fragment, p, table

TAGS = (
    "a|abbr|article|aside|b|bdi|blockquote|body|br|button|caption|code|col|dd|details|div|dl|dt|em|figcaption|figure|"
    "footer|form|h[1-6]|head|header|hr|html|i|iframe|img|input|li|link|main|mark|meta|nav|ol|option|p|pre|script|section|"
    "select|small|span|strong|style|sub|summary|sup|table|tbody|td|tfoot|th|thead|title|tr|u|ul"
)
TAG = re.compile(rf"</?(?:{TAGS})(?:[\s/>]|$)|<!doctype", re.IGNORECASE)


class Reader(HTMLParser):
    def __init__(self, text: str):
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


printable = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"))


@given(printable, printable)
def test_text_stays_text_in_content_and_attributes(text, other):
    reader = Reader(element("p", text, class_=other))
    assert reader.text == text and reader.tags == [("p", {"class": other})]


def test_html_stays_html_and_all_else_is_escaped():
    inside = p("a < b", class_="note", id=None)
    assert inside == '<p class="note">a &lt; b</p>' and isinstance(inside, Html)
    assert div(inside, "<i>", 3) == '<div><p class="note">a &lt; b</p>&lt;i&gt;3</div>'
    assert fragment("a", p("b"), between=" & ") == "a &amp; <p>b</p>"
    assert div(inside + "<i>") == "<div>&lt;p class=&quot;note&quot;&gt;a &amp;lt; b&lt;/p&gt;&lt;i&gt;</div>"


def test_a_table_aligns_its_numbers():
    rows = Reader(table(("word", "n"), [("<b>", 3)], numbers=(1,)))
    assert [tag for tag, _ in rows.tags] == ["table", "thead", "tr", "th", "th", "tbody", "tr", "td", "td"]
    assert [attributes.get("class") for tag, attributes in rows.tags if tag == "td"] == [None, "n"]
    assert rows.text == "wordn<b>3"


def strings(path: Path) -> Iterator[ast.Constant]:
    """The string literals of a module, parts of f-strings included, without its docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node


def test_no_other_module_has_html_in_a_string():
    source = Path(corpuscle.__file__).parent
    allowed = {"text/html.py", "figures/svg.py"}
    found = [
        f"{path}:{node.lineno}: {node.value!r}"
        for path in source.rglob("*.py")
        if path.relative_to(source).as_posix() not in allowed
        for node in strings(path)
        if TAG.search(node.value)
    ]
    assert not found, "\n".join(found)
    assert any(TAG.search(node.value) for node in strings(source / "text" / "html.py"))
