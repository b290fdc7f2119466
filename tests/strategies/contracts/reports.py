"""Reports of commands with any texts."""

from __future__ import annotations

from hypothesis import strategies as st

from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.reports import CheckedSubject, Report, ReportedApproval, ReportedRule, ReportEntry, Severity
from counterfoil.schema.texts import Position

_TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
_WORD = st.text(st.characters(codec="utf-8", exclude_characters="/.\0"), min_size=1, max_size=8)
_ENTRIES = st.builds(
    ReportEntry,
    rule=_WORD,
    severity=st.sampled_from(Severity),
    text=_WORD,
    fingerprint=st.from_regex("[0-9a-f]{12}", fullmatch=True),
    subject=_TEXT,
    path=_WORD | st.just(""),
    position=st.none() | st.builds(Position, st.integers(1, 99), st.integers(1, 99)),
    details=st.lists(_TEXT, max_size=2).map(tuple),
    advice=_TEXT,
    is_failing=st.booleans(),
    approval=st.none() | st.builds(ReportedApproval, _TEXT, _TEXT, _TEXT, _TEXT),
)
_REPORTS = st.builds(
    Report,
    command=st.sampled_from(["check", "lint"]),
    version=_WORD,
    summary=_TEXT,
    exit_code=st.sampled_from(ExitCode),
    against=_TEXT,
    entries=st.lists(_ENTRIES, max_size=3).map(tuple),
    checked=st.lists(st.builds(CheckedSubject, _TEXT, _TEXT, _TEXT, st.booleans()), max_size=2).map(tuple),
    rules=st.dictionaries(_WORD, st.builds(ReportedRule, _TEXT, st.just("https://example.com/rule")), max_size=2),
    note=_TEXT,
)


def reports() -> st.SearchStrategy[Report]:
    """Return reports with up to three entries."""
    return _REPORTS
