"""Texts: misleading characters are seen, and texts to be copied or sent again are as they were."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from counterfoil.pages.markup import (
    are_mixed,
    cut_text,
    hexadecimal,
    marked,
    moment,
    name_text,
    path_markup,
    scripts_of,
    shown,
    source_line,
    style_text,
    true_text,
    type_markup,
    visible,
)
from counterfoil.schema.rest.inspection import SourceLine, SourceToken


@given(st.text())
def test_no_character_of_a_shown_text_is_invisible_or_turns_others_round(text: str):
    for each in visible(text):
        assert unicodedata.category(each) not in {"Cc", "Cs", "Cn"} or each in "\n\t"
        assert unicodedata.bidirectional(each) not in {"RLO", "LRO", "RLE", "LRE", "PDF", "RLI", "LRI", "FSI", "PDI"}


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain text, naïve, 日本語", "plain text, naïve, 日本語"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("a\u200bb\u200d\ufeff", "a⟨U+200B⟩b⟨U+200D⟩⟨U+FEFF⟩"),
        ("\x00\x1b\x7f\x9b", "⟨U+0000⟩⟨U+001B⟩⟨U+007F⟩⟨U+009B⟩"),
        ("\ud800", "⟨U+D800⟩"),
        ("\U000e0041\U000e0100", "⟨U+E0041⟩⟨U+E0100⟩"),
        ("\u3164\u2800", "⟨U+3164⟩⟨U+2800⟩"),
        ("one\r\ntwo\rthree", "one\ntwo⟨U+000D⟩three"),
        ("\u2028\u0378", "⟨U+2028⟩⟨U+0378⟩"),
        ("1\u202f000\u00a0€", "1\u202f000\u00a0€"),
    ],
)
def test_misleading_characters_are_written_as_their_numbers(text: str, seen: str):
    assert visible(text) == seen


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("orders-value", "orders-value"),
        ("", "⟨empty⟩"),
        ("p\u0430yment", "p\u0430yment ⟨mixed scripts: CYRILLIC, LATIN⟩"),
        ("\u0437\u0430\u043a\u0430\u0437", "\u0437\u0430\u043a\u0430\u0437"),
        ("注文データorders", "注文データorders"),
        ("latency_µs", "latency_µs"),
        ("\uff4frders", "\uff4frders ⟨mixed scripts: FULLWIDTH, LATIN⟩"),
        ("a\u00a0b", "a⟨U+00A0⟩b"),
        ("a\nb", "a⟨U+000A⟩b"),
        ("a" * 121, "a" * 119 + "…"),
    ],
)
def test_names_are_on_one_line_short_and_marked(name: str, seen: str):
    assert name_text(name) == seen


def test_scripts_that_are_written_together_are_no_mixture():
    assert not are_mixed(scripts_of("한국어abc"))
    assert are_mixed(scripts_of("\u03b1bc"))


@given(st.text())
def test_a_text_to_be_sent_again_is_the_same(text: str):
    assert true_text(text).unescape() == text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def test_markup_passes_and_none_is_refused():
    assert shown(Markup("<b>")) == "<b>"
    assert shown(12) == "12"
    with pytest.raises(ValueError, match="None"):
        shown(None)


@given(st.text("ab<&", max_size=8), st.lists(st.tuples(st.integers(-2, 9), st.integers(-2, 9)), max_size=3))
def test_marks_add_no_text_and_lose_none(text: str, ranges: list[tuple[int, int]]):
    assert marked(text, ranges).striptags().replace(" ", "") == text or marked(text, ranges).replace(
        "<mark>", ""
    ).replace("</mark>", "") == Markup.escape(text)


def test_types_in_words_are_links_where_they_have_an_address():
    urls = {"shop.Line": "#t-1", "Line": "#t-2"}
    assert type_markup("array of shop.Line", urls) == 'array of <a href="#t-1">shop.Line</a>'
    assert type_markup("map of Line | Lines", urls) == 'map of <a href="#t-2">Line</a> | Lines'
    assert type_markup("<b>", {}) == "&lt;b&gt;"


def test_a_line_of_a_source_has_its_tokens_and_is_cut():
    line = SourceLine(1, (SourceToken('"a"', "name"), SourceToken(": "), SourceToken("M", "text", "shop.M")))
    assert source_line(line, {"shop.M": "/m"}) == (
        '<span class="c-name">&#34;a&#34;</span>: <span class="c-text"><a href="/m">M</a></span>'
    )
    strange = SourceLine(1, (SourceToken("<x>", '"><script>'),))
    assert source_line(strange, {}) == "&lt;x&gt;"
    long = SourceLine(1, tuple(SourceToken("a" * 1500) for _ in range(1000)))
    assert len(source_line(long, {})) < 4_000


def test_numbers_times_and_bytes():
    assert path_markup("a.b.c") == '<span class="before">a.b.</span>c'
    assert path_markup("a.") == "a."
    assert path_markup("") == "the whole schema"
    assert moment(1_793_534_400_123) == '<time datetime="2026-11-01T12:00:00.123Z">2026-11-01 12:00:00</time>'
    assert moment(10**18) == "1000000000000000000 ms"
    assert hexadecimal("00" * 20, 0, 20) == "00 " * 8 + "…"
    assert cut_text("abc" * 1000, 3) == "abc… (2,997 more characters)"


def test_a_style_cannot_end_its_element():
    with pytest.raises(ValueError, match="<"):
        style_text("a{}</style>")
