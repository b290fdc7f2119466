"""A bundle's content, and its file: one JSON document with a checksum and perhaps a signature.

The checksum is SHA-256 over the document's canonical JSON (sorted members, no spaces) without the members ``sha256``
and ``signature``. The signature is Ed25519 over the 32 bytes of the checksum.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from base64 import b64decode, b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.extras import needed_by
from counterfoil.schema.rest.json_values import ReplyJson, UnexpectedShapeError, read_flag
from counterfoil.schema.rest.schemas import SCHEMA, schema_document
from counterfoil.schema.rest.version_forms import read_guid
from counterfoil.sdk.errors import DamagedBundle

if TYPE_CHECKING:
    from uuid import UUID

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

    from counterfoil.schema.model import Schema
    from counterfoil.schema.rest.json_values import JsonValue

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
    document: dict[str, Any] = {
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
    Raises ``DamagedBundle``, which says what is wrong, and ``OSError`` for a file that cannot be read.
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


def _document(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    try:
        text = gzip.decompress(data) if path.suffix == _ZIPPED else data
        document = json.loads(text)
    except (OSError, EOFError, ValueError, zlib.error, RecursionError) as error:
        raise DamagedBundle(f"{path} is not a bundle: {error}") from None
    if not isinstance(document, dict):
        raise DamagedBundle(f"{path} is not a bundle: it is not a JSON object")
    return document


def _checksum(document: dict[str, Any]) -> bytes:
    content = {name: value for name, value in document.items() if name not in _SEAL}
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).digest()


def _version_document(version: BundledVersion) -> dict[str, Any]:
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
