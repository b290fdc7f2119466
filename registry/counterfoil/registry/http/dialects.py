"""The differences in responses for clients of older versions, as one table; applied where documents become bodies.

Source: Confluent's release notes and REST API reference for Schema Registry 5 to 8.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.http.shapes import BodyShape
from counterfoil.registry.subjects.documents import REGISTERED, SCHEMA_BY_ID
from counterfoil.schema.errors import ConfigNotFound, IncompatibleSchema, ModeNotFound, RegistryError, SubjectNotFound
from counterfoil.schema.rest.object_forms import ListOf

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


_NEW_FIELDS: Final = frozenset({"guid", "ts", "deleted"})
_NEW_PATHS: Final = ("/schemas/guids", "/associations")
_AVRO: Final = "AVRO"
_TOLERANT: Final = b"confluent-accept-unknown-properties"
_PYTHON: Final = b"python/"

CLIENT_VERSION: Final = b"confluent-client-version"
"""The request header in which Confluent's clients send their language and version."""

VARY: Final = b"Confluent-Accept-Unknown-Properties, Confluent-Client-Version"
"""The request headers that responses with an entity tag depend on, beside those of HTTP itself."""


@dataclass(frozen=True, slots=True, eq=False)  # compared by identity: there are few of them
class ResponseDialect:
    """The differences in the responses of one version.

    ``code_by_error``: the ``error_code`` of an error, where it was another one; the status stays. ``absent_paths``: the
    beginnings of paths that the version does not have. The other fields name what is left out of the bodies that hold a
    schema.
    """

    code_by_error: Mapping[type[RegistryError], int] = field(default_factory=dict)
    absent_paths: tuple[str, ...] = ()
    registers_id_alone: bool = False
    leaves_out: frozenset[str] = frozenset()
    leaves_out_avro: bool = False
    leaves_out_owner_of_id: bool = False

    def without(self, document: dict[str, Any], unwanted: frozenset[str]) -> dict[str, Any]:
        """Return ``document`` without the ``unwanted`` fields and those that this version omits for Avro schemas."""
        omits_type = self.leaves_out_avro and document.get("schemaType") == _AVRO
        return {
            name: value
            for name, value in document.items()
            if name not in unwanted and not (omits_type and name == "schemaType")
        }

    def translated(self, error: RegistryError) -> RegistryError:
        """Return ``error`` with the code that it has in this version."""
        for kind, code in self.code_by_error.items():
            if isinstance(error, kind):
                return RegistryError(error.message, status=error.status, code=code)
        return error

    def has(self, path: str) -> bool:
        """Return whether this version has a route of this path."""
        return not path.startswith(self.absent_paths)


@cache
def shaper(dialect: ResponseDialect, shape: Any) -> Callable[[Any], Any] | None:
    """Return the function that converts an operation's value of this ``shape`` for ``dialect``; None for no change."""
    is_list = isinstance(shape, ListOf)
    entity = shape.items if isinstance(shape, ListOf) else shape
    if not (isinstance(entity, BodyShape) and entity.has("schemaType")):
        return None
    if entity is REGISTERED and dialect.registers_id_alone:
        return _id_alone
    unwanted = dialect.leaves_out
    if entity is SCHEMA_BY_ID and dialect.leaves_out_owner_of_id:
        unwanted |= {"subject", "version"}
    if not unwanted and not dialect.leaves_out_avro:
        return None

    def shaped(value: Any) -> Any:
        return [dialect.without(each, unwanted) for each in value] if is_list else dialect.without(value, unwanted)

    return shaped


def _id_alone(value: dict[str, Any]) -> dict[str, Any]:
    return {"id": value["id"]}


NEWEST: Final = ResponseDialect()
"""The dialect that leaves nothing out."""

WITHHOLDING: Final = ResponseDialect(registers_id_alone=True, leaves_out=_NEW_FIELDS, leaves_out_avro=True)
"""The dialect of ``--withhold-new-fields``, for clients that do not declare to tolerate unknown properties."""

_SEVENTH: Final = replace(
    WITHHOLDING, code_by_error={IncompatibleSchema: 409}, absent_paths=_NEW_PATHS, leaves_out_owner_of_id=True
)
_FIFTH: Final = replace(
    _SEVENTH,
    code_by_error={IncompatibleSchema: 409, ConfigNotFound: SubjectNotFound.code, ModeNotFound: SubjectNotFound.code},
)

DIALECT_BY_VERSION: Final = {"8": NEWEST, "7": _SEVENTH, "6": _SEVENTH, "5": _FIFTH}
"""The versions that ``--compat-version`` accepts."""


def tolerates_new_fields(headers: list[tuple[bytes, bytes]]) -> bool:
    """Return whether a request declares that its client ignores unknown properties."""
    return any(name == _TOLERANT and value.strip().lower() == b"true" for name, value in headers)


def is_python(client_version: bytes) -> bool:
    """Return whether a value of :data:`CLIENT_VERSION` is that of Confluent's Python client.

    It reads the ``id`` in the response to a request by id (``use.schema.id``), and caches the response to a
    registration as if it had been requested with ``format=serialized``.
    """
    return client_version[: len(_PYTHON)].lower() == _PYTHON


def comes_from_python(headers: list[tuple[bytes, bytes]]) -> bool:
    """Return whether a request comes from Confluent's Python client."""
    return any(name == CLIENT_VERSION and is_python(value) for name, value in headers)


@dataclass(frozen=True, slots=True)
class Dialects:
    """The dialects of a server: one for all requests, or another one for clients that tolerate new fields."""

    usual: ResponseDialect = NEWEST
    tolerant: ResponseDialect | None = None

    def of(self, *, is_tolerant: bool) -> ResponseDialect:
        """Return the dialect of a request."""
        return self.tolerant if is_tolerant and self.tolerant is not None else self.usual


def choose_dialects(compat_version: str, *, withholds_new_fields: bool) -> Dialects:
    """Return the dialects of a server with these settings."""
    version = DIALECT_BY_VERSION[compat_version]
    if withholds_new_fields and version is NEWEST:
        return Dialects(WITHHOLDING, tolerant=NEWEST)
    return Dialects(version)
