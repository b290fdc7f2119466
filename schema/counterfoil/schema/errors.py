"""Every error of the registry's API, one class per code, and the root of all of the project's errors.

::

    CounterfoilError
    ├── RegistryError                      status, code: what the REST API answers
    │   ├── BadRequest 400 … IncompatibleSchema 40901 … StoreUnavailable 50001
    │   └── InvalidSchema 42201
    │       └── SchemaParseError           line, column, path, expected
    ├── MissingExtra                       module, extra: a package is not installed
    └── (each room's own, in its errors.py)

The server raises these and the client raises the same classes again, from ``error_for_code``.

Source of the codes: the public REST API of Confluent Schema Registry, 8.5.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from counterfoil.schema.position import Position


class CounterfoilError(Exception):
    """The root: catching it catches everything that this project raises on purpose."""


class MissingExtra(CounterfoilError):
    """Something needs a package that is installed with an extra: which ``module``, which ``extra``."""

    def __init__(self, needed_by: str, *, module: str, extra: str) -> None:
        super().__init__(f'{needed_by} needs {module}, which is not installed: pip install "counterfoil[{extra}]"')
        self.module = module
        self.extra = extra


class RegistryError(CounterfoilError):
    """An answer of a registry that is not a success.

    ``status`` is the HTTP status, ``code`` the registry's own ``error_code``; a class without codes of its own
    stands for whatever a foreign registry answered.
    """

    status: int = HTTPStatus.INTERNAL_SERVER_ERROR
    code: int = 500

    def __init__(self, message: str, *, status: int | None = None, code: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        if status is not None:
            self.status = status
        if code is not None:
            self.code = code


_CLASS_BY_CODE: dict[int, type[RegistryError]] = {}


class _Coded(RegistryError):
    """A registry error with a fixed code; its status is the code's first three digits where no other is named."""

    def __init_subclass__(cls, *, code: int | None = None, status: int | None = None) -> None:
        if code is None:  # a refinement of a coded class keeps the code
            return
        cls.code = code
        cls.status = status or int(str(code)[:3])
        _CLASS_BY_CODE[code] = cls


class BadRequest(_Coded, code=400):
    """The body is not JSON of the expected shape, or a context name is malformed."""


class Unauthorized(_Coded, code=401):
    """No, or wrong, credentials."""


class Forbidden(_Coded, code=403):
    """The caller may not do this."""


class KeyAccessDenied(_Coded, code=40370):
    """The key management service does not let the registry use a key."""


class NotFound(_Coded, code=404):
    """No such route, or a number in path or query that does not parse."""


class MethodNotAllowed(_Coded, code=405):
    """The path exists, not with this method."""


class NotAcceptable(_Coded, code=406):
    """None of the accepted media types can be produced."""


class SlowRequest(_Coded, code=408):
    """The request did not arrive in time."""


class RequestTooLarge(_Coded, code=413):
    """The body is larger than the server takes."""


class UnsupportedMediaType(_Coded, code=415):
    """The body's media type is not one of JSON's."""


class MissingBody(_Coded, code=422):
    """A body is required and there is none."""


class HeadTooLarge(_Coded, code=431):
    """The request line and headers are larger than the server takes."""


class TooManyConnections(_Coded, code=503):
    """The server has as many connections as it takes."""


class AnswerTimeout(_Coded, code=504):
    """The answer had not begun in the time that the server gives itself."""


class SubjectNotFound(_Coded, code=40401):
    """The subject has no visible version, or no setting to delete."""


class VersionNotFound(_Coded, code=40402):
    """The subject exists, the version does not."""


class SchemaNotFound(_Coded, code=40403):
    """No schema with this id, guid or content."""


class SubjectSoftDeleted(_Coded, code=40404):
    """The subject is soft-deleted already."""


class SubjectNotSoftDeleted(_Coded, code=40405):
    """A permanent delete needs a soft delete first (subject)."""


class VersionSoftDeleted(_Coded, code=40406):
    """The version is soft-deleted already."""


class VersionNotSoftDeleted(_Coded, code=40407):
    """A permanent delete needs a soft delete first (version)."""


class ConfigNotFound(_Coded, code=40408):
    """No config is stored at this level."""


class ModeNotFound(_Coded, code=40409):
    """No mode is stored at this level."""


class AssociationNotFound(_Coded, code=40410):
    """The resource has no such association."""


class KeyNotFound(_Coded, code=40470):
    """No key encryption key, or data encryption key, of this name is visible."""


class KeyNotSoftDeleted(_Coded, code=40471):
    """A permanent delete needs a soft delete first (key)."""


class KeyEncryptionKeyDeleted(_Coded, code=40472):
    """The key that wraps this one is soft-deleted, and must be undeleted first."""


class IncompatibleSchema(_Coded, code=40901):
    """The schema breaks the subject's compatibility level; ``reasons`` holds the report's message list."""

    def __init__(
        self,
        message: str,
        *,
        reasons: tuple[str, ...] = (),
        status: int | None = None,
        code: int | None = None,
    ) -> None:
        super().__init__(message, status=status, code=code)
        self.reasons = reasons


class KeyExists(_Coded, code=40971):
    """There is a key of this name already."""


class TooManyKeys(_Coded, code=40972):
    """The registry holds as many keys as it takes."""


class AssociationExists(_Coded, code=40903):
    """The resource has an association of this type already, and it is another one."""


class SubjectAssociated(_Coded, code=40904):
    """The subject is associated with a resource, which stands in the way."""


class SubjectOwned(_Coded, code=40905):
    """The subject belongs to one resource alone: its association is STRONG."""


class AssociatedSubjectEmpty(_Coded, code=40907):
    """An associated subject must have an active version."""


class AssociationFrozen(_Coded, code=40908):
    """The association is frozen."""


class InvalidSchema(_Coded, code=42201):
    """Schema text or type is not valid, a reference is unresolved, or the version is not the next one."""


class InvalidVersion(_Coded, code=42202):
    """The version in the path is no version."""


class InvalidCompatibilityLevel(_Coded, code=42203):
    """Not one of the seven levels."""


class InvalidMode(_Coded, code=42204):
    """Not a mode, or one that this level cannot take."""


class OperationNotPermitted(_Coded, code=42205):
    """Forbidden by the mode, or by data that is there."""


class ReferenceExists(_Coded, code=42206):
    """Another schema refers to this one."""


class InvalidSubject(_Coded, code=42208):
    """The subject's name is not valid."""


class SchemaTooLarge(_Coded, code=42209):
    """The store refuses a schema of this size."""


class InvalidRuleSet(_Coded, code=42210):
    """A rule set is not valid."""


class ContextNotEmpty(_Coded, code=42211):
    """The context still holds schemas."""


class InvalidKey(_Coded, code=42271):
    """A field of a key is missing, or not valid."""


class KeyInUse(_Coded, code=42272):
    """The key still wraps others."""


class InvalidAssociation(_Coded, code=42212):
    """A property of an association is not valid; the message names it."""


class StoreUnavailable(_Coded, code=50001, status=HTTPStatus.SERVICE_UNAVAILABLE):
    """The store failed; ask again after ``Retry-After``. A write was not carried out, unless the message says so."""


class StoreTimeout(_Coded, code=50002, status=HTTPStatus.SERVICE_UNAVAILABLE):
    """The store did not answer in time; ask again after ``Retry-After``. Writes are as with ``StoreUnavailable``."""


class KeyWrapFailed(_Coded, code=50070):
    """A key could not be wrapped or unwrapped: the key management service failed, or there is no driver for it."""


class SchemaParseError(InvalidSchema):
    """A schema text that cannot be read, with the place of the fault.

    Attributes: ``problem`` (what is wrong), ``expected`` (what would be right, or None), ``path`` (JSON pointer into
    the text, ``""`` for the root), ``position`` (line and column from 1, or None when the text has none).
    """

    prefix: ClassVar[str] = "Invalid schema"

    def __init__(
        self,
        problem: str,
        *,
        position: Position | None = None,
        path: str = "",
        expected: str | None = None,
    ) -> None:
        where = f" at line {position.line}, column {position.column}" if position else ""
        inside = f" ({path})" if path else ""
        wanted = f"; expected {expected}" if expected else ""
        super().__init__(f"{self.prefix}{where}{inside}: {problem}{wanted}")
        self.problem = problem
        self.expected = expected
        self.path = path
        self.position = position


def error_for_code(code: int, message: str, *, status: int) -> RegistryError:
    """The error that a registry's answer stands for, ready to raise.

    ``code`` is the body's ``error_code``; a code that is not in the table gives a plain :class:`RegistryError`, except
    that a 409 is an :class:`IncompatibleSchema` whatever its code, since older registries send 409 there.
    """
    found = _CLASS_BY_CODE.get(code)
    if found is None and status == HTTPStatus.CONFLICT:
        found = IncompatibleSchema
    return (found or RegistryError)(message, status=status, code=code)
