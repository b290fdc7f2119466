"""Addresses: what a link names is what a server reads from it, whatever characters the name has."""

from __future__ import annotations

from urllib.parse import parse_qs, unquote, urljoin, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.pages.links import (
    MOST_ADDRESS,
    FileLinks,
    PageLinks,
    Section,
    ServerLinks,
    anchor,
    file_name,
    operand,
    split_operand,
)

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
SERVER = ServerLinks(prefix="/registry", assets="00")


def read(url: str) -> tuple[list[str], dict[str, str]]:
    """The segments of a path as a browser sends them, decoded by the server, and the query."""
    parts = urlsplit(urljoin("http://localhost/", url))
    assert parts.netloc == "localhost"
    return [unquote(each) for each in parts.path.split("/")[1:]], {k: v[0] for k, v in parse_qs(parts.query).items()}


@given(NAMES, st.integers(1, 10**6))
def test_the_name_of_a_subject_survives_an_address(name: str, version: int):
    segments, query = read(SERVER.version(name, version, at="a.b"))
    if name in {".", ".."}:
        assert (segments, query) == (
            ["registry", "ui", "subject"],
            {"name": name, "version": str(version), "at": "a.b"},
        )
    else:
        assert (segments, query) == (["registry", "ui", "subjects", name, "versions", str(version)], {"at": "a.b"})


@given(NAMES, NAMES)
def test_both_forms_of_an_address_name_the_same(name: str, path: str):
    _, query = read(ServerLinks(names="query").element(name, path))
    assert query == {"name": name, "part": "elements", "path": path}
    assert read(SERVER.element(name, path))[1]["path"] == path


def test_an_empty_name_has_an_address():
    assert SERVER.subject("") == "/registry/ui/subject?name="
    assert SERVER.topic("..") == "/registry/ui/topic?name=.."


def test_a_lone_surrogate_has_an_address_that_finds_nothing():
    assert SERVER.subject("a\ud800") == "/registry/ui/subjects/a%3F"


def test_an_address_that_no_server_takes_is_none():
    assert SERVER.subject("a" * MOST_ADDRESS) == ""
    assert SERVER.element("orders-value", "é" * MOST_ADDRESS) == ""


@given(NAMES, st.integers(1, 10**6) | st.none())
def test_an_operand_is_read_as_it_was_written(name: str, version: int | None):
    assert split_operand(operand(name, version)) == (name, "latest" if version is None else str(version))


def test_a_page_of_an_earlier_moment_leads_to_pages_of_that_moment():
    then = ServerLinks(as_of="42")
    assert then.subject("a") == "/ui/subjects/a?as_of=42"
    assert then.subject("a", tab="rules") == "/ui/subjects/a?tab=rules&as_of=42"
    assert then.rules() == "/ui/rules"
    assert then.now().subject("a") == "/ui/subjects/a"


@given(st.lists(NAMES, unique=True, max_size=6))
def test_places_in_a_page_are_unique_and_plain(names: list[str]):
    found = [anchor("e", each) for each in names]
    assert len(set(found)) == len(found)
    assert all(each.isascii() and " " not in each and '"' not in each and "#" not in each for each in found)


def test_the_place_of_a_long_name_is_short_and_its_own():
    assert len(anchor("e", "é" * 10_000)) < 150
    assert anchor("e", "a" * 300 + "b") != anchor("e", "a" * 300 + "c")


@given(st.lists(NAMES, unique=True, max_size=6))
def test_names_of_files_are_unique_where_case_is_ignored(names: list[str]):
    found = [file_name(each).lower() for each in names]
    assert len(set(found)) == len(found)
    assert all(set(each) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_=") and len(each) < 200 for each in found)


def test_a_folder_of_files_has_the_pages_that_it_names():
    site = FileLinks(pages=frozenset({"home", "subject", "version"}), depth=1)
    assert site.home() == "../index.html"
    assert site.version("Orders", 2) == "../subjects/=4f=rders.v2.html"
    assert site.compare("a@1", "a@2") == ""
    assert FileLinks().home() == ""


@pytest.mark.parametrize("links", [SERVER, FileLinks()], ids=["server", "files"])
def test_every_section_has_an_address_or_none(links: PageLinks):
    assert all((links.section(each) != "") == isinstance(links, ServerLinks) for each in Section)
