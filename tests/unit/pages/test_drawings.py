"""Drawings and alignments: inside their bounds, in order, bounded in number."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.pages.alignment import MOST_LINES, aligned_lines, line_text
from counterfoil.pages.svg import PlotPoint, lay_out_graph, lay_out_plot, lay_out_timeline, scale_of, thinned
from counterfoil.schema.rest.inspection import ReferenceEdge, ReferenceGraph, SourceLine, SourceToken, VersionStep
from strategies.pages.asked_samples import two_sources

TIMES = st.lists(st.none() | st.integers(0, 10**13), min_size=1, max_size=60)


@given(TIMES)
def test_versions_are_in_order_inside_the_drawing(times: list[int | None]):
    steps = [VersionStep(at, at, "", ts) for at, ts in enumerate(times, start=1)]
    drawn = lay_out_timeline(steps)
    places = [each.x for each in drawn.marks]
    assert places == sorted(set(places))
    assert 0 < places[0] <= places[-1] < drawn.width
    assert [each.step for each in drawn.marks] == steps[-40:]
    assert drawn.left_out == max(len(steps) - 40, 0)
    assert drawn.marks[-1].is_labelled


def test_a_timeline_is_to_scale_where_all_times_are_known_and_in_order():
    steps = [VersionStep(at, at, "", ts) for at, ts in enumerate((0, 100, 1000), start=1)]
    first, second, third = (each.x for each in lay_out_timeline(steps).marks)
    assert second - first < third - second
    assert not lay_out_timeline([*steps, replace(steps[0], version=4)]).is_to_scale


EDGES = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=20)


@given(EDGES)
def test_boxes_of_a_graph_do_not_touch(pairs: list[tuple[int, int]]):
    edges = tuple(ReferenceEdge(f"s{a}", 1, f"s{b}", 1) for a, b in pairs)
    drawn = lay_out_graph(ReferenceGraph("s0", 1, edges))
    if drawn is None:
        assert not any(a != b for a, b in pairs if 0 in {a, b})
        return
    boxes = [(each.x, each.y) for each in drawn.nodes]
    for at, (x, y) in enumerate(boxes):
        assert 0 <= x <= drawn.width - drawn.box_width
        assert 0 <= y <= drawn.height - drawn.box_height
        assert all(abs(x - a) >= drawn.box_width or abs(y - b) >= drawn.box_height for a, b in boxes[at + 1 :])
    assert sum(each.is_centre for each in drawn.nodes) == 1


def test_references_go_from_left_to_right_and_many_are_not_drawn():
    pairs = [("a", "b"), ("a", "b2"), ("b", "c"), ("b2", "c2"), ("z", "a"), ("z2", "a")]
    edges = tuple(ReferenceEdge(source, 1, target, 1) for source, target in pairs)
    drawn = lay_out_graph(ReferenceGraph("a", 1, edges))
    assert drawn is not None
    places = {each.subject: each.x for each in drawn.nodes}
    assert places["z"] < places["a"] < places["b"] < places["c"]
    assert all(places[each] == places[f"{each}2"] for each in "bcz")
    assert all(each.x1 < each.x2 for each in drawn.lines)
    many = tuple(ReferenceEdge("a", 1, f"b{at}", 1) for at in range(70))
    assert lay_out_graph(ReferenceGraph("a", 1, many)) is None


def test_many_points_are_thinned_and_the_last_is_kept():
    points = [PlotPoint(number, float(number)) for number in range(10_000)]
    few = thinned(points, 100)
    assert len(few) == 100
    assert few[-1] == points[-1]
    assert [each.ts for each in few] == sorted(each.ts for each in few)
    assert thinned(points[:3], 100) == points[:3]


@pytest.mark.parametrize("highest", [0, 0.4, 1, 7, 99, 100, 1234, 83_000, 5_000_000_000])
def test_the_scale_reaches_the_highest_value(highest: float):
    ticks = scale_of(highest)
    assert ticks[0] == 0
    assert ticks[-1] >= highest
    assert 2 <= len(ticks) <= 6


def test_a_plot_of_one_batch_is_a_dot():
    drawn = lay_out_plot([PlotPoint(1_790_000_000_000, 5)])
    assert len(drawn.dots) == 1
    assert "nan" not in drawn.curve
    assert lay_out_plot([PlotPoint(at, 1.0) for at in range(500)]).dots == ()


LINES = st.lists(st.sampled_from(["{", "}", '"a": 1', '"a": 2', '"b": 1', "c"]), max_size=14)


def lines(texts: list[str]) -> list[SourceLine]:
    return [SourceLine(at, (SourceToken(text, "text"),)) for at, text in enumerate(texts, start=1)]


@given(LINES, LINES)
def test_an_alignment_has_each_line_once_in_its_order(before: list[str], after: list[str]):
    rows = aligned_lines(lines(before), lines(after))
    assert [line_text(each.earlier) for each in rows if each.earlier is not None] == before
    assert [line_text(each.later) for each in rows if each.later is not None] == after
    for row in rows:
        assert "".join(part.text for part in row.earlier_parts) == (line_text(row.earlier) if row.earlier else "")
        assert "".join(part.text for part in row.later_parts) == (line_text(row.later) if row.later else "")
        assert (row.sign == "") == (
            not any(part.is_changed for part in (*row.earlier_parts, *row.later_parts))
            and None not in {row.earlier, row.later}
        )


@given(LINES)
def test_equal_texts_have_no_sign(texts: list[str]):
    assert {each.sign for each in aligned_lines(lines(texts), lines(texts))} <= {""}


def test_a_changed_field_is_in_one_row_and_its_changed_words_are_marked():
    earlier, later = two_sources()
    rows = aligned_lines(earlier.lines, later.lines)
    assert [each.sign for each in rows] == ["", "~", "", "", "", "~", "-", "", "+", ""]
    changed = [part.text for part in rows[5].earlier_parts if part.is_changed]
    assert changed == ["int"]


def test_no_more_than_a_window_is_aligned():
    many = lines([str(at) for at in range(MOST_LINES + 100)])
    assert len(aligned_lines(many, many[:1])) == MOST_LINES
