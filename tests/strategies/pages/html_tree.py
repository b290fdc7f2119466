"""A page as a tree of elements, read as strictly as a page of this project is written.

Sources: the HTML Standard (void elements, headings, labels), WCAG 2.2 (1.3.1, 2.4.6, 4.1.2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise
from typing import Final

VOID: Final = frozenset({"meta", "link", "input", "br", "hr", "img", "col"})
CONTROLS: Final = frozenset({"input", "select", "textarea"})


@dataclass
class Element:
    """An element with its attributes, its elements and the text that is directly in it."""

    tag: str
    attributes: dict[str, str]
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def walk(self) -> Iterator[Element]:
        """Yield this element and those inside it, in the order of the page."""
        yield self
        for each in self.children:
            yield from each.walk()

    def find(self, tag: str) -> list[Element]:
        """Return the elements with a tag."""
        return [each for each in self.walk() if each.tag == tag]

    def all_text(self) -> str:
        """Return all texts inside."""
        return self.text + "".join(each.all_text() for each in self.children)

    def shape(self) -> tuple[object, ...]:
        """Return the tree of tags and names of attributes, without texts and values.

        The beginnings of paths, which a page writes apart where a path has dots, are left out.
        """
        parts = tuple(each.shape() for each in self.children if each.attributes.get("class") != "before")
        return self.tag, tuple(sorted(self.attributes)), parts


class MalformedPage(Exception):
    """A page is not written as it has to be."""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        if len(names) != len(set(names)):
            raise MalformedPage(f"<{tag}> has an attribute twice: {names}")
        element = Element(tag, {name: "" if value is None else value for name, value in attrs})
        self._open[-1].children.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID or self._open[-1].tag != tag:
            raise MalformedPage(f"</{tag}> closes <{self._open[-1].tag}>")
        self._open.pop()

    def handle_data(self, data: str) -> None:
        self._open[-1].text += data

    def close(self) -> None:
        super().close()
        if len(self._open) > 1:
            raise MalformedPage(f"<{self._open[-1].tag}> is not closed")


def read_page(html: str) -> Element:
    """Return the tree of a page; an element that is not closed, or closed in the wrong order, is an error."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.root


def faults_of(html: str) -> list[str]:
    """Return what is wrong with a page: ids, headings, labels, tables, names of regions and links to places."""
    root = read_page(html)
    return [
        *_id_faults(root),
        *_heading_faults(root),
        *_control_faults(root),
        *_table_faults(root),
        *_name_faults(root),
    ]


def _id_faults(root: Element) -> Iterator[str]:
    ids = Counter(each.attributes["id"] for each in root.walk() if "id" in each.attributes)
    yield from (f"the id {name!r} is there {count} times" for name, count in ids.items() if count > 1 or not name)
    for each in root.walk():
        if each.tag == "a" and each.attributes.get("href", "").startswith("#"):
            name = each.attributes["href"].removeprefix("#")
            if name not in ids:
                yield f"a link leads to #{name}, which is not there"
        for attribute in ("aria-labelledby", "aria-describedby", "for"):
            missing = [name for name in each.attributes.get(attribute, "").split() if name not in ids]
            yield from (f"<{each.tag}> names {name} in {attribute}, which is not there" for name in missing)


def _heading_faults(root: Element) -> Iterator[str]:
    levels = [int(each.tag[1]) for each in root.walk() if each.tag in {"h1", "h2", "h3", "h4"}]
    if levels.count(1) != 1 or levels[:1] != [1]:
        yield f"the headings do not begin with one h1: {levels}"
    yield from (f"a heading h{to} follows h{of}" for of, to in pairwise(levels) if to > of + 1)
    yield from (
        f"<{each.tag}> is empty"
        for each in root.walk()
        if each.tag in {"h1", "h2", "h3"} and not each.all_text().strip()
    )


def _control_faults(root: Element) -> Iterator[str]:
    labelled = {each.attributes["for"] for each in root.find("label") if "for" in each.attributes}
    inside = {id(each) for label in root.find("label") for each in label.walk() if each.tag in CONTROLS}
    for each in root.walk():
        if each.tag not in CONTROLS or each.attributes.get("type") == "hidden":
            continue
        if each.attributes.get("id") not in labelled and id(each) not in inside and "aria-label" not in each.attributes:
            yield f"<{each.tag} name={each.attributes.get('name')}> has no label"
    yield from (f"a button has no name: {each}" for each in root.find("button") if not each.all_text().strip())


def _table_faults(root: Element) -> Iterator[str]:
    for table in root.find("table"):
        if not table.children or table.children[0].tag != "caption" or not table.children[0].all_text().strip():
            yield "a table does not begin with a caption"
        yield from (
            f"<th> without scope: {each.all_text()!r}" for each in table.find("th") if "scope" not in each.attributes
        )
        widths = {sum(int(cell.attributes.get("colspan", "1")) for cell in row.children) for row in table.find("tr")}
        if len(widths) > 1:
            yield f"the rows of a table have different widths: {sorted(widths)}"


def _name_faults(root: Element) -> Iterator[str]:
    for each in root.walk():
        if each.tag == "nav" and "aria-label" not in each.attributes:
            yield "<nav> has no name"
        if each.attributes.get("role") == "region" and not each.attributes.get("aria-label", "").strip():
            yield "a region has no name"
        if each.tag == "a" and not (each.all_text().strip() or each.attributes.get("aria-label")):
            yield f"a link has no text: {each.attributes}"
        if each.tag == "svg" and (not each.find("title") or each.attributes.get("role") != "img"):
            yield "a drawing has no title"
        if each.tag in {"a", "form", "link", "script"}:
            yield from (
                f"<{each.tag}> has an empty {name}" for name in ("href", "src") if each.attributes.get(name) == ""
            )
