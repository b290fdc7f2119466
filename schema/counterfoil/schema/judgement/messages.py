"""A report as the list of messages that Confluent's clients parse, with sentences of this project.

Source: the responses of Confluent Schema Registry 8.5 to ``POST /compatibility/…?verbose=true``: one text for each
difference, with ``errorType`` and ``path`` in the form that clients parse, then the earlier version and its text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.compatibility.levels import Direction
from counterfoil.schema.compatibility.sentences import SideNames

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.compatibility.report import CompatibilityReport, Difference, Failure
    from counterfoil.schema.witness import Witness

OLD_SCHEMA_LIMIT: Final = 10 * 1024
"""The largest number of characters of an earlier schema's text in a message."""

MAX_MESSAGES: Final = 100
"""The largest number of messages about differences."""

MAX_MESSAGE_BYTES: Final = 200 * 1024
"""The largest size of all messages about differences, in bytes of UTF-8; with the others an answer has 256 kB."""

_NEW, _OLD = ("the new schema", "the new schema's"), ("the old schema", "the old schema's")
SIDE_NAMES_BY_DIRECTION: Final = {
    Direction.BACKWARD: SideNames(_NEW[0], _OLD[0], _NEW[1], _OLD[1]),
    Direction.FORWARD: SideNames(_OLD[0], _NEW[0], _OLD[1], _NEW[1]),
}
"""The names of the two sides in messages to Confluent's clients."""


def confluent_messages(
    report: CompatibilityReport, *, witnesses: Mapping[Difference, Witness] | None = None
) -> list[str]:
    """Return the messages of ``report``, empty if it is compatible; without the last line, which names the level.

    Differences of the direction in which the earlier schema reads come first; after those of the last checked direction
    come ``oldSchemaVersion`` (if the earlier schema has a number) and ``oldSchema``, its canonical text, cut at 10 KiB.
    These lines are missing if both directions were checked and only the earlier schema fails to read, and after the one
    sentence about another schema type. The description of a difference with a witness in ``witnesses`` contains the
    record that breaks the reader.

    There are at most ``MAX_MESSAGES`` about differences, of at most ``MAX_MESSAGE_BYTES`` together; one that says how
    many are left out follows them.
    """
    known = witnesses or {}
    messages: list[str] = []
    size = 0
    found = [(failure, difference) for failure in report.failures for difference in failure.differences]
    for failure, difference in found[:MAX_MESSAGES]:
        message = _difference_message(difference, failure, known.get(difference) if known else None)
        size += len(message.encode(errors="replace"))
        if size > MAX_MESSAGE_BYTES:
            break
        messages.append(message)
    if len(messages) < len(found):
        left_out = len(found) - len(messages)
        messages.append(f"and {left_out} more {'differences' if left_out > 1 else 'difference'}, left out of this list")
    return messages + _earlier_messages(report)


def _earlier_messages(report: CompatibilityReport) -> list[str]:
    last = report.failures[-1] if report.failures else None
    if last is None or last.direction is not report.level.directions[-1] or _is_of_another_type(last):
        return []
    version = last.earlier.version
    numbered = [] if version is None else [f"{{oldSchemaVersion: {version}}}"]
    return [*numbered, f"{{oldSchema: '{_cut(last.earlier.schema.canonical())}'}}"]


def _is_of_another_type(failure: Failure) -> bool:
    return failure.reader.schema_type is not failure.writer.schema_type


def _difference_message(difference: Difference, failure: Failure, witness: Witness | None) -> str:
    sentence = difference.sentence.render(SIDE_NAMES_BY_DIRECTION[failure.direction])
    path, error_type = difference.path, difference.error_type
    if path:
        sentence += f" (path '{path}')"
    if witness:
        sentence += f"; for example this record: {witness.datum_json}"
    if not error_type:
        return sentence
    return f"{{errorType:'{error_type}', description:'{sentence}', additionalInfo:'{difference.detail}'}}"


def _cut(text: str) -> str:
    return text if len(text) <= OLD_SCHEMA_LIMIT else f"{text[:OLD_SCHEMA_LIMIT]}..."
