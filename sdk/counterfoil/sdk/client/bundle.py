"""Bundles: the schemas of a registry in one file, and the transport that answers a client from it."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, unquote, urlsplit
from uuid import UUID

from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.errors import (
    OperationNotPermitted,
    RegistryError,
    SchemaNotFound,
    SubjectNotFound,
    VersionNotFound,
    needed_by,
)
from counterfoil.schema.languages.table import parse_schema, resolved_references
from counterfoil.schema.model import Schema
from counterfoil.schema.parsed import Validation
from counterfoil.schema.rest.object_forms import JsonValue, ReplyJson, RequestJson, UnexpectedShapeError, read_flag
from counterfoil.schema.rest.schemas import SCHEMA, read_guid, schema_document
from counterfoil.sdk.errors import DamagedBundle
from counterfoil.sdk.transport import Reply, Request

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


# A bundle's content, and its file: one JSON document with a checksum and perhaps a signature.
#
# The checksum is SHA-256 over the document's canonical JSON (sorted members, no spaces) without the members ``sha256``
# and ``signature``. The signature is Ed25519 over the 32 bytes of the checksum.

FORMAT: Final = "counterfoil-bundle"
FORMAT_VERSION: Final = 1
_ZIPPED: Final = ".gz"
_SEAL: Final = ("sha256", "signature")


@dataclass(frozen=True, slots=True)
class BundledVersion:
    """A version of a subject. ``is_deleted``: it is soft-deleted, and in the bundle since records may have its id."""

    subject: str
    version: int
    id: int
    guid: UUID
    schema: Schema
    is_deleted: bool = False


@dataclass(frozen=True, slots=True)
class Bundle:
    """The versions of some subjects of the registry at ``origin``, read at ``created`` (ISO 8601, UTC)."""

    origin: str
    created: str
    versions: tuple[BundledVersion, ...]


def write_bundle(bundle: Bundle, path: str | Path, *, key_file: str | Path | None = None) -> str:
    """Write the bundle to ``path``, compressed if it ends in ``.gz``, and return its checksum as hexadecimal digits.

    ``key_file`` is an Ed25519 private key in a PEM file, which signs the bundle. An existing file is replaced when the
    new one is complete.
    """
    document: JsonObject = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "origin": bundle.origin,
        "created": bundle.created,
        "versions": [_version_document(version) for version in bundle.versions],
    }
    checksum = _checksum(document)
    document["sha256"] = checksum.hex()
    if key_file is not None:
        document["signature"] = b64encode(_private_key(key_file).sign(checksum)).decode("ascii")
    target = Path(path)
    text = json.dumps(document, ensure_ascii=False, indent=1).encode() + b"\n"
    beside = target.with_name(f".{target.name}.new")
    try:
        beside.write_bytes(gzip.compress(text, mtime=0) if target.suffix == _ZIPPED else text)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
    return checksum.hex()


def read_bundle(path: str | Path, *, public_key_file: str | Path | None = None) -> Bundle:
    """Return the bundle in a file.

    With ``public_key_file``, an Ed25519 public key in a PEM file, only a bundle that this key has signed is accepted.
    Raises ``DamagedBundle``, which names the damage, and ``OSError`` for a file that cannot be read.
    """
    document = _document(Path(path))
    if document.get("format") != FORMAT or document.get("version") != FORMAT_VERSION:
        raise DamagedBundle(f"{path} is not a bundle of version {FORMAT_VERSION}; make one with `counterfoil bundle`")
    checksum = _checksum(document)
    if document.get("sha256") != checksum.hex():
        raise DamagedBundle(f"{path} was changed after it was written: its checksum does not match its content")
    if public_key_file is not None:
        _verify(document.get("signature"), checksum, _public_key(public_key_file), path)
    try:
        value = ReplyJson(document)
        return Bundle(
            value.member("origin").text(),
            value.member("created").text(),
            tuple(map(_read_version, value.member("versions").items())),
        )
    except UnexpectedShapeError as error:
        raise DamagedBundle(f"{path} is not a bundle: {error}") from None


def _document(path: Path) -> JsonObject:
    data = path.read_bytes()
    try:
        text = gzip.decompress(data) if path.suffix == _ZIPPED else data
        document = json.loads(text)
    except (OSError, EOFError, ValueError, zlib.error, RecursionError) as error:
        raise DamagedBundle(f"{path} is not a bundle: {error}") from None
    if not isinstance(document, dict):
        raise DamagedBundle(f"{path} is not a bundle: it is not a JSON object")
    return document


def _checksum(document: JsonObject) -> bytes:
    content = {name: value for name, value in document.items() if name not in _SEAL}
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).digest()


def _version_document(version: BundledVersion) -> JsonObject:
    return {
        "subject": version.subject,
        "version": version.version,
        "id": version.id,
        "guid": str(version.guid),
        **({"deleted": True} if version.is_deleted else {}),
        **schema_document(version.schema),
    }


def _read_version(value: JsonValue) -> BundledVersion:
    return BundledVersion(
        value.member("subject").text(),
        value.member("version").integer(),
        value.member("id").integer(),
        read_guid(value.member("guid")),
        SCHEMA.read(value),
        is_deleted=value.optional("deleted", read_flag) or False,
    )


def _verify(signature: object, checksum: bytes, key: Ed25519PublicKey, path: str | Path) -> None:
    from cryptography.exceptions import InvalidSignature

    if not isinstance(signature, str):
        raise DamagedBundle(f"{path} is not signed, and a signature is required")
    try:
        key.verify(b64decode(signature, validate=True), checksum)
    except (InvalidSignature, ValueError):
        raise DamagedBundle(f"{path} was not signed with the key that belongs to the given public key") from None


def _private_key(path: str | Path) -> Ed25519PrivateKey:
    with needed_by("A signed bundle", extra="crypto"):
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    try:
        key = load_pem_private_key(Path(path).read_bytes(), password=None)
    except (ValueError, TypeError) as error:
        raise DamagedBundle(f"{path} is no private key in PEM without a password: {error}") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise DamagedBundle(f"{path} is no Ed25519 key; make one with: openssl genpkey -algorithm ed25519")
    return key


def _public_key(path: str | Path) -> Ed25519PublicKey:
    with needed_by("A signed bundle", extra="crypto"):
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key
    try:
        key = load_pem_public_key(Path(path).read_bytes())
    except ValueError as error:
        raise DamagedBundle(f"{path} is no public key in PEM: {error}") from None
    if not isinstance(key, Ed25519PublicKey):
        raise DamagedBundle(f"{path} is no Ed25519 key; make one with: openssl pkey -in key.pem -pubout")
    return key


# A transport that answers from a bundle, for clients without a network. It is read-only, and it judges nothing.
#
# It answers the requests of serializers and deserializers: schemas by id and guid, subjects, versions, look-ups, and
# the registration of a schema that the bundle has under the subject. Anything else is an error that says so.

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

    def _answer(self, request: Request, steps: list[str], query: Mapping[str, str]) -> Json:
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


def _schema_answer(version: BundledVersion) -> JsonObject:
    return {**schema_document(version.schema), "guid": str(version.guid)}


def _version_answer(version: BundledVersion) -> JsonObject:
    facts = {"subject": version.subject, "version": version.version, "id": version.id, "guid": str(version.guid)}
    return {**facts, **schema_document(version.schema)}


def _reply(status: int, document: object) -> Reply:
    return Reply(int(status), {"content-type": "application/json"}, json.dumps(document).encode())
