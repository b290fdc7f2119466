"""A test that is ready to run: its checks by kind, compiled, and the counts."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from counterfoil.contracts.errors import PreconditionFailed
from counterfoil.contracts.linting.expressions import VARIABLES, read_rule, variables_of
from counterfoil.contracts.testing.checks import CelCheck, HeaderCheck, KeyCheck, ValueCheck
from counterfoil.contracts.testing.quality import FreshnessCheck, Metric, QualityCheck
from counterfoil.contracts.testing.repeats import Repeats
from counterfoil.contracts.testing.tally import Failures, Tally, Window
from counterfoil.contracts.testing.writers import UNFRAMED, frame_key
from counterfoil.schema.sampling.moments import milliseconds_of
from counterfoil.schema.wire import KEY_HEADER
from counterfoil.sdk.errors import RuleError, SerdeError
from counterfoil.sdk.serde.headers import read_header

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from counterfoil.contracts.testing.columns import Columns
    from counterfoil.contracts.testing.promises import TopicTest
    from counterfoil.contracts.testing.repeats import RepeatedKeys
    from counterfoil.contracts.testing.tally import Place
    from counterfoil.contracts.testing.writers import Writers
    from counterfoil.schema.paths.model import FieldPath

UNDECODABLE: Final = 0
UNREADABLE: Final = 1
UNWRITABLE: Final = 2
"""The numbers of the checks about whole records."""


class Plan:
    """The checks of a test by kind, each with its number, and what was counted so far in ``tally``.

    ``keys`` opens the schemas of keys. With ``shows_values``, reasons quote values, except hidden ones. ``values`` are
    constraints of fields: number, path, constraint, and whether values that do not fit are only counted. ``repeats``
    makes what the keys of a rule about duplicates are added to.
    """

    def __init__(
        self,
        test: TopicTest,
        *,
        keys: Writers,
        shows_values: bool = False,
        has_proposed: bool = False,
        repeats: Callable[[int, QualityCheck], RepeatedKeys] = lambda _, check: Repeats(check.window_ms),
    ) -> None:
        self.tally = Tally()
        self.test = test
        self.keys = keys
        self.shows_values = shows_values
        self.has_proposed = has_proposed
        numbered = list(enumerate(test.checks))
        metrics = [(number, each) for number, each in numbered if isinstance(each, QualityCheck)]
        self.values: list[tuple[int, FieldPath, Any, bool]] = [
            (number, each.path, each.constraint, False) for number, each in numbered if isinstance(each, ValueCheck)
        ] + [
            (number, path, each.constraint, True)
            for number, each in metrics
            if each.constraint is not None
            for path in each.paths
        ]
        self.headers = [(number, each) for number, each in numbered if isinstance(each, HeaderCheck)]
        self.equal_keys = [(number, each) for number, each in numbered if isinstance(each, KeyCheck)]
        self.rules = [(number, Rule(each)) for number, each in numbered if isinstance(each, CelCheck)]
        levels = [(number, each) for number, each in numbered if isinstance(each, FreshnessCheck)]
        self.levels = [(number, each.path) for number, each in levels if each.path]
        self.broker_levels = [number for number, each in levels if not each.path]
        self.repeats = [
            (number, each, repeats(number, each)) for number, each in metrics if each.metric is Metric.DUPLICATE
        ]
        self.window_lengths = sorted({each.window_ms for _, each in metrics if each.constraint is None})

    def window(self, length: int, start: int) -> Window:
        """Return the counts of a window."""
        return self.tally.windows.setdefault(length, {}).setdefault(start, Window())

    def fail(self, number: int, place: Place) -> None:
        """Count a record that fails a check."""
        self.tally.failures.setdefault(number, Failures()).add(place)

    def count(self, number: int, place: Place) -> None:
        """Count a record for a quality rule."""
        self.tally.counts.setdefault(number, Failures()).add(place)

    def note_moments(self, number: int, values: Iterable[Any]) -> None:
        """Note the latest of some moments for a service level."""
        moments = [moment for each in values if (moment := _moment_ms(each)) is not None]
        if moments:
            newest = self.tally.newest_ms
            newest[number] = max(*moments, newest.get(number, moments[0]))


class Rule:
    """A rule in CEL, compiled, and what it reads of a record."""

    def __init__(self, check: CelCheck) -> None:
        from counterfoil.sdk.serde.rules.cel.executors import compile_check_of

        try:
            self.evaluate = compile_check_of(check.source, VARIABLES)
        except RuleError as mistake:
            raise PreconditionFailed(f"{check.file}:{check.position}: {mistake}") from None
        expression = read_rule(check.source)
        variables = variables_of(expression)
        parts = expression.reads.get("message", {})
        there = [path[1] for path in expression.presences.values() if path[0] == "message"]
        self._names = None if parts is None else tuple(dict.fromkeys((*parts, *there)))
        self.reads_key = "key" in variables
        self.reads_headers = "headers" in variables

    def rows_of(self, columns: Columns) -> Iterator[dict[str, Any]] | None:
        """Return what the rule reads of each row; None if columns do not have it."""
        return None if self._names is None else columns.dicts(self._names)


def key_value(data: bytes | None, headers: Any, keys: Writers) -> Any:
    """Return the value of a key: by its schema if it names one, else a text, else bytes."""
    if data is None:
        return None
    named = read_header(headers, KEY_HEADER) if headers else None
    key = frame_key(data) if named is None else named
    if key != UNFRAMED:
        try:
            writer = keys.find(key, data, named)
            if not isinstance(writer, SerdeError):
                layout, offset, _ = writer.layout(data, named)
                return layout.decode(data, offset)
        except SerdeError:
            pass
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def texts_of(headers: Any) -> dict[str, Any]:
    """Return the headers of a record as texts; bytes that are no text stay bytes."""
    found: dict[str, Any] = {}
    for name, content in headers or ():
        try:
            found[name] = None if content is None else content.decode()
        except UnicodeDecodeError:
            found[name] = content
    return found


def _moment_ms(value: Any) -> int | None:
    """Return a moment in milliseconds since 1970: of a timestamp, a number of milliseconds, or a text in ISO 8601."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, datetime):
        return milliseconds_of(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
