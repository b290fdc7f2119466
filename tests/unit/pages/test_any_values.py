"""Any value of a page is shown; and a hostile text in any member of it is a text, never an element or an attribute."""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from counterfoil.pages.documents import FileDocument
from counterfoil.pages.files import document_file, report_file
from counterfoil.pages.frame import PageFrame
from counterfoil.pages.render import PAGES, render_page
from counterfoil.schema.reports import Report
from strategies.contracts.reports import reports
from strategies.pages.any_values import LINKS, frames, values_of, with_texts
from strategies.pages.html_tree import faults_of, read_page

HOSTILE: Final = (
    "<script>alert(1)</script>",
    "</textarea></title></style><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)" x="',
    "' autofocus onfocus='alert(1)",
    "<!-- --><svg onload=alert(1)>",
    "{{ 7 * 7 }}{% raw %}{# no #}",
    "javascript:alert(1)//",
    "&lt;b&gt;&#60;i&#62;&",
    "]]><![CDATA[<b>",
    "\u202e\u2066\u200b\ufeff\x00\x1b\x7f",
    "\ud800\udfff",
    "\n\r\t<b>\u2028",
    "a" * 130,
)
RARELY: Final = settings(
    max_examples=8,
    phases=[Phase.generate],
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
FORBIDDEN: Final = "\u202e\u2066\u200b\ufeff\x00\x1b\x7f\ud800\u2028"


def assert_same_elements(harmless: str, hostile: str) -> None:
    tree = read_page(hostile)
    assert read_page(harmless).shape() == tree.shape()
    for each in tree.walk():
        for name in ("href", "action"):
            assert each.attributes.get(name, "").startswith(("/", "#", "https://")) or not each.attributes.get(name)


def assert_nothing_is_hidden(html: str) -> None:
    """No character that misleads is in a text of the page; entries of forms have them as they are."""
    for each in read_page(html).walk():
        if each.tag != "textarea":
            assert not set(FORBIDDEN) & set(each.text), each


@pytest.mark.slow
@pytest.mark.parametrize("page", [name for name, kind in PAGES.items() if kind is not None])
def test_any_value_is_shown_as_a_well_formed_page(page: str):
    kind = PAGES[page]
    assert kind is not None

    @RARELY
    @given(values_of(kind), frames())
    def check(value: object, frame: PageFrame) -> None:
        assert faults_of(render_page(page, value, frame)) == []

    check()


@pytest.mark.slow
@pytest.mark.parametrize("page", [name for name, kind in PAGES.items() if kind is not None])
def test_a_hostile_text_changes_no_element(page: str):
    kind = PAGES[page]
    assert kind is not None

    @RARELY
    @given(values_of(kind), frames(), st.sampled_from(HOSTILE))
    def check(value: object, frame: PageFrame, payload: str) -> None:
        harmless = render_page(page, value, frame)
        bad = with_texts(value, lambda text: payload + text)
        hostile = render_page(page, bad, with_texts(frame, lambda text: payload + text))
        assert_same_elements(harmless, hostile)
        assert_nothing_is_hidden(hostile)

    check()


@pytest.mark.slow
@RARELY
@given(reports(), st.sampled_from(HOSTILE))
def test_a_hostile_text_changes_no_element_of_a_report(report: Report, payload: str):
    html = report_file(report)
    hostile = report_file(with_texts(report, lambda text: payload + text))
    assert faults_of(html) == []
    assert_same_elements(html, hostile)
    assert_nothing_is_hidden(hostile)


@pytest.mark.slow
@RARELY
@given(values_of(FileDocument), st.sampled_from(HOSTILE))
def test_a_hostile_text_changes_no_element_of_a_document(document: FileDocument, payload: str):
    hostile = document_file(with_texts(document, lambda text: payload + text))
    assert_same_elements(document_file(document), hostile)
    assert_nothing_is_hidden(hostile)


@pytest.mark.parametrize("payload", HOSTILE)
def test_a_hostile_title_and_search_are_texts(payload: str):
    frame = PageFrame(payload, LINKS, search=payload, here="/ui/help", parameters=((payload, payload),), user=payload)
    html = render_page("help", PAGES["help"]("http://localhost"), frame)  # type: ignore[misc] # the class of the page
    plain = PageFrame("title", LINKS, search="x", here="/ui/help", parameters=(("a", "b"),), user="ana")
    assert_same_elements(render_page("help", PAGES["help"]("http://localhost"), plain), html)  # type: ignore[misc] # as above
    field = next(each for each in read_page(html).find("input") if each.attributes.get("id") == "search")
    assert field.attributes["value"] == payload.encode("utf-8", "replace").decode().replace("\0", "\ufffd")
