"""A transport that answers from a bundle, for clients without a network. It is read-only, and it judges nothing.

It answers the requests of serializers and deserializers: schemas by id and guid, subjects, versions, look-ups, and the
registration of a schema that the bundle has under the subject. Anything else is an error that says so.
"""

from __future__ import annotations

import json
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

from counterfoil.schema.errors import (
    OperationNotPermitted,
    RegistryError,
    SchemaNotFound,
    SubjectNotFound,
    VersionNotFound,
)
from counterfoil.schema.parsed import Validation
from counterfoil.schema.parsing import parse_schema
from counterfoil.schema.references import resolved_references
from counterfoil.schema.rest.json_values import RequestJson
from counterfoil.schema.rest.schemas import SCHEMA, schema_document
from counterfoil.sdk.transport import Reply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.model import Schema
    from counterfoil.sdk.bundle.document import Bundle, BundledVersion
    from counterfoil.sdk.transport import Request

URL = "http://bundle.invalid"
"""The address that the clients of a bundle use; no such host can exist."""


class BundleTransport:
    """Answers from ``bundle``; a transport for both clients."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    def send(self, request: Request) -> Reply:
        """Return the reply to the request."""
        parts = urlsplit(request.url)
        steps = [unquote(step) for step in parts.path.strip("/").split("/")]
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        try:
            return _reply(HTTPStatus.OK, self._answer(request, steps, query))
        except RegistryError as error:
            return _reply(error.status, {"error_code": error.code, "message": error.message})

    async def asend(self, request: Request) -> Reply:
        """Return the reply to the request."""
        return self.send(request)

    def close(self) -> None:
        """Do nothing: there are no connections."""

    async def aclose(self) -> None:
        """Do nothing: there are no connections."""

    def _answer(self, request: Request, steps: list[str], query: Mapping[str, str]) -> Any:
        match request.method, steps:
            case "GET", ["schemas", "types"]:
                return sorted({version.schema.schema_type.value for version in self._bundle.versions})
            case "GET", ["schemas", "ids", number]:
                return _schema_answer(self._by_id(number))
            case "GET", ["schemas", "guids", guid]:
                return _schema_answer(self._by_guid(guid))
            case "GET", ["subjects"]:
                return [name for name in self._active if name.startswith(query.get("subjectPrefix", ""))]
            case "GET", ["subjects", subject, "versions"]:
                return [version.version for version in self._versions(subject)]
            case "GET", ["subjects", subject, "versions", number]:
                return _version_answer(self._version(subject, number))
            case "POST", ["subjects", subject] | ["subjects", subject, "versions"]:
                is_registration = len(steps) > 2  # noqa: PLR2004 (the two paths above)
                return _version_answer(self._known(subject, request.body, is_registration=is_registration))
        raise OperationNotPermitted(
            f"{request.method} /{'/'.join(steps)} cannot be answered by a bundle, which holds schemas alone"
        )

    @cached_property
    def _active(self) -> dict[str, list[BundledVersion]]:
        found: dict[str, list[BundledVersion]] = {}
        for version in self._bundle.versions:
            if not version.is_deleted:
                found.setdefault(version.subject, []).append(version)
        return {name: sorted(found[name], key=lambda version: version.version) for name in sorted(found)}

    @cached_property
    def _version_by_id(self) -> dict[str, BundledVersion]:
        return {str(version.id): version for version in self._bundle.versions}

    @cached_property
    def _version_by_guid(self) -> dict[str, BundledVersion]:
        return {str(version.guid): version for version in self._bundle.versions}

    def _by_id(self, number: str) -> BundledVersion:
        found = self._version_by_id.get(number)
        if found is None:
            raise SchemaNotFound(f"The bundle has no schema with id {number}")
        return found

    def _by_guid(self, guid: str) -> BundledVersion:
        found = self._version_by_guid.get(guid.lower())
        if found is None:
            raise SchemaNotFound(f"The bundle has no schema with guid {guid}")
        return found

    def _versions(self, subject: str) -> list[BundledVersion]:
        found = self._active.get(subject)
        if found is None:
            raise SubjectNotFound(f"The bundle has no subject {subject!r}")
        return found

    def _version(self, subject: str, number: str) -> BundledVersion:
        found = self._versions(subject)
        if number in {"latest", "-1"}:
            return found[-1]
        for version in self._bundle.versions:  # soft-deleted ones as well: schemas may refer to them
            if version.subject == subject and str(version.version) == number:
                return version
        raise VersionNotFound(f"The bundle has no version {number} of subject {subject!r}")

    def _known(self, subject: str, body: bytes | None, *, is_registration: bool) -> BundledVersion:
        """Return the version of the subject that has the content of a request."""
        wanted = SCHEMA.read(RequestJson(json.loads(body or b"{}")))
        for version in self._versions(subject):
            if self._is_same(version.schema, wanted):
                return version
        if is_registration:
            raise OperationNotPermitted(
                f"The bundle's subject {subject!r} does not have this schema, and a bundle cannot register one"
            )
        raise SchemaNotFound(f"The bundle's subject {subject!r} does not have this schema")

    def _is_same(self, held: Schema, wanted: Schema) -> bool:
        if (held.schema_type, held.references) != (wanted.schema_type, wanted.references):
            return False
        if wanted.metadata not in (None, held.metadata) or wanted.rule_set not in (None, held.rule_set):
            return False
        return held.text == wanted.text or self._canonical(held) == self._canonical(wanted)

    def _canonical(self, schema: Schema) -> str:
        """Return the canonical text; raise ``InvalidSchema`` for a text that is no schema."""
        references = resolved_references(schema, lambda each: self._version(each.subject, str(each.version)).schema)
        return parse_schema(
            schema.text, schema.schema_type, references=references, validation=Validation.LENIENT
        ).canonical()


def _schema_answer(version: BundledVersion) -> dict[str, Any]:
    return {**schema_document(version.schema), "guid": str(version.guid)}


def _version_answer(version: BundledVersion) -> dict[str, Any]:
    facts = {"subject": version.subject, "version": version.version, "id": version.id, "guid": str(version.guid)}
    return {**facts, **schema_document(version.schema)}


def _reply(status: int, document: Any) -> Reply:
    return Reply(int(status), {"content-type": "application/json"}, json.dumps(document).encode())
