"""The lines of audit files: every edited, removed or exchanged line is found."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.registry.audit.events import AuditEvent, EventKind, EventSelection
from counterfoil.registry.audit.file import Chain, canonical, hash_of
from counterfoil.registry.audit.verifying import AuditMisfit, StoredHead, Verifier, event_text, read_line

names = st.text(max_size=6)
events = st.builds(
    AuditEvent,
    st.sampled_from([EventKind.SCHEMA_REGISTER, EventKind.AUTH_FAILED]),
    st.fixed_dictionaries({"resource": names, "version": st.integers(0, 9), "caller": st.dictionaries(names, names)}),
)


def started(last: str | None = None) -> AuditEvent:
    return AuditEvent(EventKind.SERVER_STARTED, {"last": last})


def misfits(lines: list[bytes], **options: Any) -> list[AuditMisfit]:
    return list(Verifier(**options).misfits(read_line(f"line {at}", line) for at, line in enumerate(lines, 1)))


@st.composite
def files(draw: st.DrawFn) -> list[bytes]:
    """The lines of two processes that write at the same time, the second one started after the first."""
    chains = {"one": Chain("one"), "two": Chain("two")}
    data, chains["one"] = chains["one"].lines([started()])
    last = read_line("", data).facts
    assert last is not None
    lines = [data]
    for node, event in [
        ("two", started(last["hash"])),
        *draw(st.lists(st.tuples(st.sampled_from(["one", "two"]), events))),
    ]:
        data, chains[node] = chains[node].lines([event])
        lines.append(data)
    return lines


@given(files(), st.data())
def test_every_single_edit_is_found(lines: list[bytes], data: st.DataObject) -> None:
    assert misfits(lines) == []
    at = data.draw(st.integers(0, len(lines) - 1))
    place = data.draw(st.integers(0, len(lines[at]) - 2))
    byte = data.draw(st.integers(0, 255).filter(lambda each: each not in {lines[at][place], 10}))
    edited = lines[at][:place] + bytes([byte]) + lines[at][place + 1 :]
    assert misfits([*lines[:at], edited, *lines[at + 1 :]])


@given(files(), st.data())
def test_every_cut_and_swap_is_found(lines: list[bytes], data: st.DataObject) -> None:
    nodes = [(read_line("", line).facts or {})["node"] for line in lines]
    at = data.draw(st.integers(0, len(lines) - 1))
    later = [each for each in range(at + 1, len(lines)) if nodes[each] == nodes[at]]
    if later:  # the last line of a chain can be cut off: signed heads are for that
        assert misfits([*lines[:at], *lines[at + 1 :]])
        swapped = lines.copy()
        swapped[at], swapped[later[0]] = lines[later[0]], lines[at]
        assert misfits(swapped)


NAMES = ("node", "seq", "prev", "event", "last", "of", "change", "head", "signature", "key", "caller", "time", "count")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=2),
    max_leaves=4,
)


@pytest.mark.slow
@given(
    files(),
    st.lists(
        st.dictionaries(st.sampled_from(NAMES), VALUES | st.sampled_from(["one", "audit.head", "server.started"]))
    ),
    st.randoms(use_true_random=False),
)
def test_lines_with_right_hashes_and_any_members_are_read(
    lines: list[bytes], made: list[dict[str, Any]], random: Any
) -> None:
    """Whoever can write the file can write anything: it is reported as a misfit, and never ends the command."""
    forged = [canonical({**facts, "hash": hash_of(facts)}) + b"\n" for facts in made]
    for each in forged:
        lines.insert(random.randint(0, len(lines)), each)
    misfits(lines)
    for each in forged:
        facts = read_line("", each).facts
        assert facts is not None
        assert event_text(facts) != ""
        EventSelection(caller="User:ana", subject="s", outcome="failed", since="2026").selects(facts)


def test_a_line_that_is_nested_too_deep_is_no_line() -> None:
    first, chain = Chain("one").lines([started()])
    second, _ = chain.lines([AuditEvent(EventKind.AUTH_FAILED)])
    deep = b"[" * 100_000 + b"\n"
    assert [str(each) for each in misfits([first, deep, second])] == ["line 2: it is no JSON"]


def test_a_file_begins_with_a_start_unless_earlier_ones_are_missing() -> None:
    first, chain = Chain("one").lines([started()])
    second, _ = chain.lines([AuditEvent(EventKind.AUTH_FAILED)])
    assert misfits([first, second]) == []
    assert [str(each) for each in misfits([second])] == [
        "line 1: one begins with line 2: lines were removed, or earlier files are missing"
    ]
    assert misfits([second], is_continued=True) == []


def test_a_process_names_the_last_line_before_it() -> None:
    first, chain = Chain("one").lines([started()])
    second, _ = chain.lines([AuditEvent(EventKind.AUTH_FAILED)])
    last = (read_line("", second).facts or {})["hash"]
    next_one, _ = Chain("two").lines([started(last)])
    assert misfits([first, second, next_one]) == []
    [found] = misfits([first, next_one])
    assert found.message == "the line that was the last one when this process started is missing"


def test_an_incomplete_line_is_a_crash_only_at_the_end_or_before_a_start() -> None:
    first, chain = Chain("one").lines([started()])
    hashed = (read_line("", first).facts or {})["hash"]
    next_one, _ = Chain("two").lines([started(hashed)])
    second, _ = chain.lines([AuditEvent(EventKind.AUTH_FAILED)])
    assert misfits([first, b'{"torn', next_one]) == []
    assert misfits([first, b'{"torn']) == []
    assert misfits([first, second[:-1]]) == []
    assert [str(each) for each in misfits([first, b'{"torn\n'])] == ["line 2: it is no JSON"]
    assert [str(each) for each in misfits([first, b'{"torn\n', second])] == ["line 2: it is no JSON"]


def test_times_and_names_have_one_form() -> None:
    line, _ = Chain("one").lines([AuditEvent(EventKind.AUTH_FAILED, {"reason": "wrong", "agent": "ü\x01"})])
    facts = read_line("", line).facts
    assert facts is not None
    assert facts["time"].endswith("Z")
    assert (facts["event"], facts["seq"], facts["prev"]) == ("auth.failed", 1, None)
    assert line.startswith(b'{"agent":"\xc3\xbc\\u0001","event":')


def test_a_line_of_very_deep_json_is_a_misfit() -> None:
    deep = read_line("line 1", b"[" * 100_000 + b"]" * 100_000 + b"\n")
    assert (deep.facts, deep.mistake) == (None, "it is no JSON")


def test_a_store_names_the_servers_whose_files_are_missing() -> None:
    """Each server writes a file of its own: with the file of one of them, nothing says that lines were removed."""
    first, chain = Chain("one").lines([started()])
    second, _ = chain.lines([AuditEvent(EventKind.AUTH_FAILED)])
    last = (read_line("", second).facts or {})["hash"]
    heads = [
        StoredHead("event 1", "one", 2, last),
        StoredHead("event 2", "two", 40, "a"),
        StoredHead("event 3", "two", 90, "b"),
        StoredHead("event 4", "three", 7, "c"),
    ]
    assert [str(each) for each in misfits([first, second], heads=heads)] == [
        "event 2: the store has 90 lines of two, of which no file was given: name its file, too",
        "event 4: the store has 7 lines of three, of which no file was given: name its file, too",
    ]
    assert misfits([first, second], heads=heads, is_continued=True) == []
    assert misfits([first, second], heads=heads[:1]) == []
    cut = [str(each) for each in misfits([first], heads=heads[:1])]
    assert cut == ["event 1: the store has line 2 of one, which is missing: lines were removed"]
