"""Every page with realistic values, and in its states: well formed, small, without anything from elsewhere."""

from __future__ import annotations

import gzip
import re

import pytest

from counterfoil.pages.render import PAGES
from strategies.pages.html_tree import faults_of, read_page
from strategies.pages.samples import SamplePage, samples

SAMPLES = {each.file: each for each in samples()}
ON_EVERY_ELEMENT = re.compile(r"^on|^style$")


@pytest.fixture(params=SAMPLES, scope="module")
def sample(request: pytest.FixtureRequest) -> SamplePage:
    return SAMPLES[request.param]


def test_there_is_a_sample_of_every_page():
    assert {each.page for each in SAMPLES.values()} == set(PAGES)


def test_a_page_is_well_formed(sample: SamplePage):
    assert faults_of(sample.html()) == []


def test_a_page_has_landmarks_a_title_and_a_language(sample: SamplePage):
    root = read_page(sample.html())
    assert [each.attributes["lang"] for each in root.find("html")] == ["en"]
    assert [len(root.find(tag)) for tag in ("header", "main", "footer", "title")][:3] == [1, 1, 1]
    assert root.find("title")[0].all_text().endswith(" · counterfoil")


def test_a_page_has_nothing_that_the_policy_for_contents_refuses(sample: SamplePage):
    root = read_page(sample.html())
    for each in root.walk():
        assert not [name for name in each.attributes if ON_EVERY_ELEMENT.match(name)], each
        for name in ("src", "href", "action", "data-feed", "data-suggest"):
            assert re.match(r"(/(ui|inspect|changes)|#|$)", each.attributes.get(name, "")), each
    assert not [each for each in root.find("script") if each.text.strip()]
    assert root.find("style") == []


def test_a_page_is_small(sample: SamplePage):
    html = sample.html()
    assert len(gzip.compress(html.encode())) <= 40_000
    assert len(list(read_page(html).walk())) <= 4_000


def test_forms_that_carry_bytes_or_drafts_are_sent_by_post():
    for file in ("try", "decode", "decode-read"):
        forms = read_page(SAMPLES[file].html()).find("main")[0].find("form")
        assert {each.attributes.get("method") for each in forms} == {"post"}
    for file, sample in SAMPLES.items():
        if sample.page not in {"try", "decode"}:
            assert not [form for form in read_page(sample.html()).find("form") if "method" in form.attributes], file
