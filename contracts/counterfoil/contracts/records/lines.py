"""Records as lines of JSON: what ``counterfoil consume`` prints, and ``counterfoil produce`` reads.

The value, the key and their schemas are ``value``, ``valueForm``, ``valueId``, ``valueGuid``, ``key`` and so on.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.records.message import json_problem
from counterfoil.contracts.values.form import misfit_at_top, one_line, read_bytes, shown_bytes
from counterfoil.sdk.errors import EncodeError
from counterfoil.sdk.serde.context import misfit, placed

if TYPE_CHECKING:
    from counterfoil.contracts.records.message import RecordPart
    from counterfoil.contracts.records.topic import KafkaRecord
    from counterfoil.schema.datum import JsonObject
    from counterfoil.sdk.errors import SerdeError


_PARTS: Final = tuple(f"{field}{fact}" for field in ("key", "value") for fact in ("", "Form", "Id", "Guid"))
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MEMBERS: Final = frozenset((*_PARTS, "topic", "partition", "offset", "timestamp", "headers", "errors"))


def document_of(record: KafkaRecord, key: RecordPart, value: RecordPart) -> JsonObject:
    """Return the JSON of a record; members are only ever added to this form."""
    moment = record.timestamp_ms
    found = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": None if moment is None else (_EPOCH + timedelta(milliseconds=moment)).isoformat(),
        **_facts("key", key),
        **_facts("value", value),
        "headers": [_header(name, content) for name, content in record.headers],
        "errors": {field: json_problem(error) for field, error in errors_of(key, value).items()},
    }
    always = {"key", "value"}
    return {name: fact for name, fact in found.items() if name in always or fact not in (None, [], {})}


def errors_of(key: RecordPart, value: RecordPart) -> dict[str, SerdeError]:
    """Return why the key or the value could not be read."""
    return {field: part.error for field, part in (("key", key), ("value", value)) if part.error is not None}


def row_of(record: KafkaRecord, key: RecordPart, value: RecordPart) -> str:
    """Return a record as one line of text."""
    errors = errors_of(key, value)
    shown = [
        f"{field} cannot be read: {errors[field]}" if field in errors else one_line(part.shown)
        for field, part in (("key", key), ("value", value))
    ]
    return "  ".join((f"{record.partition}:{record.offset}", *shown))


def _facts(field: str, part: RecordPart) -> JsonObject:
    return {
        field: part.shown,
        f"{field}Form": part.form and part.form.value,
        f"{field}Id": part.schema_id,
        f"{field}Guid": part.guid and str(part.guid),
    }


def _header(name: str, content: bytes | None) -> JsonObject:
    if content is None:
        return {"name": name}
    try:
        return {"name": name, "text": content.decode()}
    except UnicodeDecodeError:
        return {"name": name, "base64": shown_bytes(content)}


def checked_line(given: object) -> JsonObject:
    """Return a line that has a value and no unknown member. Raises ``EncodeError``."""
    if not isinstance(given, dict) or "value" not in given:
        raise misfit('an object with the member "value"; with --values every line is a value', given)
    for name in given:
        if name not in _MEMBERS:
            raise misfit(f"only the members {', '.join(sorted(_MEMBERS))}", name)
    return given


def read_headers(line: JsonObject) -> list[tuple[str, bytes | None]]:
    """Return the headers of a line. Raises ``EncodeError``."""
    given = line.get("headers", [])
    if not isinstance(given, list):
        raise misfit_at_top(placed(misfit("an array of headers", given), "headers"))
    found = []
    for index, one in enumerate(given):
        try:
            found.append(_read_header(one))
        except EncodeError as error:
            raise misfit_at_top(placed(error, f"headers[{index}]")) from None
    return found


def _read_header(given: object) -> tuple[str, bytes | None]:
    match given:
        case {"name": str() as name, "text": str() as text, **rest} if not rest:
            return name, text.encode("utf-8", "surrogatepass")
        case {"name": str() as name, "base64": content, **rest} if not rest:
            return name, read_bytes(content)
        case {"name": str() as name, **rest} if not rest:
            return name, None
    raise misfit('{"name": …, "text": …} or {"name": …, "base64": …}', given)


def read_moment_ms(line: JsonObject) -> int | None:
    """Return the timestamp of a line in milliseconds. Raises ``EncodeError``."""
    given = line.get("timestamp")
    if given is None:
        return None
    try:
        moment = datetime.fromisoformat(given)
        since = moment - _EPOCH  # a TypeError for a time without zone
    except (TypeError, ValueError, OverflowError):
        raise misfit_at_top(placed(misfit("a time with its zone in ISO 8601", given), "timestamp")) from None
    return since // timedelta(milliseconds=1)


def read_partition(line: JsonObject) -> int | None:
    """Return the partition of a line. Raises ``EncodeError``."""
    given = line.get("partition")
    if given is None or (isinstance(given, int) and not isinstance(given, bool) and given >= 0):
        return given
    raise misfit_at_top(placed(misfit("the number of a partition", given), "partition"))
