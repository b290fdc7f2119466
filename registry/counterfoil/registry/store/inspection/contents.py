"""The invariants of contents: each is what its fingerprint says, and refers to what is written down."""

from __future__ import annotations

import json
from itertools import groupby
from typing import TYPE_CHECKING, Any

from counterfoil.registry.domain.content import make_content
from counterfoil.registry.store.inspection.breach import Breach
from counterfoil.registry.store.inspection.rows import text_of, uuid_of
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.model import Reference, SchemaType
from counterfoil.schema.rest.json_values import RequestJson
from counterfoil.schema.rest.schemas import METADATA, REFERENCE, RULE_SET

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from counterfoil.registry.store.inspection.rows import Rows

_CONTENTS = "SELECT guid, schema_type, schema_text, refs, metadata, rule_set FROM contents"
_REFERENCES = """
SELECT c.name, i.id, t.refs, r.target_version FROM schema_ids i JOIN contexts c ON c.id = i.context_id
JOIN contents t ON t.guid = i.guid
LEFT JOIN schema_refs r ON r.context_id = i.context_id AND r.schema_id = i.id
WHERE t.refs IS NOT NULL OR r.position IS NOT NULL ORDER BY i.context_id, i.id, r.position"""


def check_contents(rows: Rows) -> Iterator[Breach]:
    """Contents that are not what their fingerprints say, or cannot be read."""
    for guid, *parts in rows.each(_CONTENTS):
        place = f"content {uuid_of(guid)}"
        try:
            found = _fingerprint(*parts)
        except (CounterfoilError, ValueError) as error:
            yield Breach("content-readable", place, f"it cannot be read: {error}")
            continue
        if found != uuid_of(guid):
            yield Breach("content-fingerprint", place, f"what is stored has the fingerprint {found}")


def _fingerprint(schema_type: str, text: Any, refs: str | None, metadata: str | None, rule_set: str | None) -> UUID:
    return make_content(
        text_of(text),
        SchemaType(schema_type),
        references=_references(refs),
        metadata=None if metadata is None else METADATA.read(RequestJson(json.loads(metadata), "metadata")),
        rule_set=None if rule_set is None else RULE_SET.read(RequestJson(json.loads(rule_set), "ruleSet")),
    ).guid


def _references(refs: str | None) -> tuple[Reference, ...]:
    return tuple(map(REFERENCE.read, RequestJson(json.loads(refs or "[]"), "references").items()))


def check_references(rows: Rows) -> Iterator[Breach]:
    """Ids whose guard against deletions does not cover what their contents refer to."""
    for (context, schema_id, refs), found in groupby(rows.each(_REFERENCES), key=lambda row: row[:3]):
        guarded = [version for *_, version in found if version is not None]
        try:
            named = [reference.version for reference in _references(refs)]
        except (CounterfoilError, ValueError):
            continue  # told as a content that cannot be read
        if guarded != named:
            yield Breach(
                "references-guarded",
                f"id {schema_id} in context {context}",
                f"its schema refers to the versions {named}, and {guarded} are guarded",
            )
