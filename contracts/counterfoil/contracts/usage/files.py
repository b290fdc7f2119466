"""Files of observed reads: batches of the SDK as lines of JSON, and events of OpenLineage."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from counterfoil.contracts.errors import PreconditionFailed
from counterfoil.schema.rest.usage import UsageOrigin

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_KAFKA: Final = "kafka"


def read_batches(path: Path) -> list[dict[str, Any]]:
    """Return the batches in a file, one or more lines of JSON; raise ``PreconditionFailed`` for another content.

    An event of OpenLineage (1.0, with the facet ``columnLineage`` of its outputs) becomes a batch of the topics that it
    reads, with the origin ``lineage``.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")  # texts in JSON may have other line ends
    except (OSError, UnicodeDecodeError) as error:
        problem = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise PreconditionFailed(f"{path} cannot be read: {problem}") from None
    batches: list[dict[str, Any]] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            batches += _batches(line, f"{path}:{number}")
    return batches


def _batches(line: str, place: str) -> Iterator[dict[str, Any]]:
    try:
        document = json.loads(line)
    except ValueError as error:
        raise PreconditionFailed(f"{place} is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise PreconditionFailed(f"{place} is not a JSON object; expected a batch of usage, or an OpenLineage event")
    if document.get("kind") == "usage" and "reads" in document:
        yield document
    elif isinstance(document.get("job"), dict) and isinstance(document.get("inputs"), list):
        try:
            yield from list(_of_lineage(document))
        except (AttributeError, KeyError, TypeError) as error:
            raise PreconditionFailed(f"{place} is not an event of OpenLineage: {error!r}") from None
    else:
        raise PreconditionFailed(f"{place} is neither a batch of usage nor an OpenLineage event")


def _of_lineage(event: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the batch of an OpenLineage event; none if it reads no topic."""
    topics = [each["name"] for each in event["inputs"] if str(each.get("namespace", "")).startswith(_KAFKA)]
    paths: dict[str, dict[str, int]] = {topic: {} for topic in topics}
    for output in event.get("outputs") or ():
        lineage = (output.get("facets") or {}).get("columnLineage") or {}
        used = [each for column in (lineage.get("fields") or {}).values() for each in column.get("inputFields") or ()]
        for each in (*used, *(lineage.get("dataset") or ())):
            if each.get("name") in paths:
                paths[each["name"]][each["field"]] = 1
    reads = [{"subject": f"{topic}-value", "paths": found or {"*": 1}} for topic, found in paths.items()]
    if reads:
        when = {"to": event["eventTime"]} if "eventTime" in event else {}
        yield {"application": event["job"]["name"], "origin": UsageOrigin.LINEAGE.value, "reads": reads, **when}
