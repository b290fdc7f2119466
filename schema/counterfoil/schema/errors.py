"""Every error of the registry's API, one class per code; the base class of all errors; missing packages.

The base class of all errors of the project, and what is below it::

    CounterfoilError
    ├── RegistryError                      status, code of an error response of the REST API
    │   ├── BadRequest 400 … IncompatibleSchema 40901 … StoreUnavailable 50001
    │   └── InvalidSchema 42201
    │       └── SchemaParseError           line, column, path, expected
    ├── MissingExtra                       module, extra: a package is not installed; an ImportError
    └── (each room's own, in its errors.py)

The server raises these and the client raises the same classes again, from ``error_for_code``.

Source of the codes: the public REST API of Confluent Schema Registry, 8.5.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import ClassVar, Final

from counterfoil.schema.texts import Position

# Every error of the registry's API, one class per code, and the base class of all errors of the project.

_DENIED: Final = re.compile(r"User is denied operation (?P<operation>\w+) on (?P<resource>.+)", re.DOTALL)
_DENIED_WITH_RIGHTS: Final = re.compile(
    rf"{_DENIED.pattern}; .+ (?:may .+|has no rights) there(?:; `.+` explains it)?", re.DOTALL
)


class CounterfoilError(Exception):
    """The base class of every error that this project raises."""


class MissingExtra(CounterfoilError, ImportError):
    """Something needs a package that is installed with an extra: which ``module``, which ``extra``.

    A module of Python itself that is missing belongs to another system, and no extra brings it.
    """

    def __init__(self, needed_by: str, *, module: str, extra: str) -> None:
        if module in sys.stdlib_module_names:
            remedy = "which Python does not have on this system: use Linux or macOS, or WSL or a container on Windows"
        else:
            remedy = f'which is not installed: pip install "counterfoil[{extra}]"'
        super().__init__(f"{needed_by} needs {module}, {remedy}")
        self.name = self.module = module
        self.extra = extra


class RegistryError(CounterfoilError):
    """An error response of a registry.

    ``status`` is the HTTP status, ``code`` the registry's own ``error_code``; this class itself
    is raised for codes that have no class here, such as those of other registries. ``details`` are further members of
    the response, which some errors of this project's own API have.
    """

    status: int = HTTPStatus.INTERNAL_SERVER_ERROR
    code: int = 500
    is_response: bool = False
    """Whether a registry sent the error, so that its text has the HTTP status."""

    def __str__(self) -> str:
        return f"{self.message} (HTTP {int(self.status)})" if self.is_response else self.message

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: int | None = None,
        details: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details = details or {}
        if status is not None:
            self.status = status
        if code is not None:
            self.code = code

    @property
    def http_status_code(self) -> int:
        """``status``, by the name in Confluent's Python client; so are the two below."""
        return self.status

    @property
    def error_code(self) -> int:
        """``code``."""
        return self.code

    @property
    def error_message(self) -> str:
        """``message``."""
        return self.message


_CLASS_BY_CODE: dict[int, type[RegistryError]] = {}


class _Coded(RegistryError):
    """A registry error with a fixed code; its status is the code's first three digits unless another is given."""

    def __init_subclass__(cls, *, code: int | None = None, status: int | None = None) -> None:
        if code is None:  # a refinement of a coded class keeps the code
            return
        cls.code = code
        cls.status = status or int(str(code)[:3])
        _CLASS_BY_CODE[code] = cls


class BadRequest(_Coded, code=400):
    """The body is not JSON of the expected shape, or a context name is malformed."""


class Unauthorized(_Coded, code=401):
    """The request has no credentials, or wrong ones."""


class Forbidden(_Coded, code=40301):
    """The caller may not do this.

    ``operation`` and ``resource`` are what was denied; they are None where the response does not name them.

    >>> Forbidden("User is denied operation Write on Subject: rides-value; User:bob may READ there").resource
    'Subject: rides-value'
    """

    record: str | None = None
    """Which record of a topic needed the schema; a client that reads records sets it, and the text has it, too."""

    def __str__(self) -> str:
        text = super().__str__()
        return text if self.record is None else f"{text} [{self.record}]"

    @property
    def operation(self) -> str | None:
        """What was denied, such as ``Write``."""
        return self._denied[0]

    @property
    def resource(self) -> str | None:
        """Where it was denied, such as ``Subject: rides-value``."""
        return self._denied[1]

    @property
    def _denied(self) -> tuple[str | None, str | None]:
        found = _DENIED_WITH_RIGHTS.fullmatch(self.message) or _DENIED.fullmatch(self.message)
        return (None, None) if found is None else (found["operation"], found["resource"])


class KeyAccessDenied(_Coded, code=40370):
    """The key management service does not let the registry use a key."""


class NotFound(_Coded, code=404):
    """The route does not exist, or a number in path or query cannot be parsed."""


class MethodNotAllowed(_Coded, code=405):
    """The path exists, but not with this method."""


class NotAcceptable(_Coded, code=406):
    """None of the accepted media types can be produced."""


class SlowRequest(_Coded, code=408):
    """The request did not arrive in time."""


class RevisionChanged(_Coded, code=412):
    """What was to be changed is not at the revision that ``If-Match`` names."""


class RequestTooLarge(_Coded, code=413):
    """The body is larger than the server accepts."""


class UnsupportedMediaType(_Coded, code=415):
    """The body's media type is not one of JSON's."""


class MissingBody(_Coded, code=422):
    """A body is required and there is none."""


class HeadTooLarge(_Coded, code=431):
    """The request line and headers are larger than the server accepts."""


class TooManyConnections(_Coded, code=503):
    """The server has reached its largest number of connections."""


class AnswerTimeout(_Coded, code=504):
    """The response did not begin within the server's time limit."""


class SubjectNotFound(_Coded, code=40401):
    """The subject has no visible version, or no setting to delete."""


class VersionNotFound(_Coded, code=40402):
    """The subject exists, but the version does not."""


class SchemaNotFound(_Coded, code=40403):
    """There is no schema with this id, guid or content."""


class SubjectSoftDeleted(_Coded, code=40404):
    """The subject is already soft-deleted."""


class SubjectNotSoftDeleted(_Coded, code=40405):
    """The subject must be soft-deleted before it is permanently deleted."""


class VersionSoftDeleted(_Coded, code=40406):
    """The version is already soft-deleted."""


class VersionNotSoftDeleted(_Coded, code=40407):
    """The version must be soft-deleted before it is permanently deleted."""


class ConfigNotFound(_Coded, code=40408):
    """No config is stored at this level."""


class ModeNotFound(_Coded, code=40409):
    """No mode is stored at this level."""


class AssociationNotFound(_Coded, code=40410):
    """The resource has no such association."""


class ApplicationNotFound(_Coded, code=40460):
    """There is no application of this name, or it has no such version."""


class ContractNotFound(_Coded, code=40461):
    """There is no contract with this id, or it has no such version."""


class EnvironmentNotFound(_Coded, code=40462):
    """There is no environment of this name."""


class DeploymentNotFound(_Coded, code=40463):
    """There is no deployment, or release, with this id in the environment."""


class ApprovalNotFound(_Coded, code=40464):
    """There is no approval with this id."""


class VerificationNotFound(_Coded, code=40465):
    """There is no verification with this id."""


class WebhookNotFound(_Coded, code=40466):
    """There is no webhook with this id."""


class DeliveryNotFound(_Coded, code=40467):
    """There is no delivery with this id of the webhook, or it has not ended yet."""


class TopicStatsNotFound(_Coded, code=40468):
    """Nothing is stored about the records of the topic."""


class MigrationNotFound(_Coded, code=40469):
    """There is no migration of contracts with this id."""


class KeyNotFound(_Coded, code=40470):
    """No key encryption key, or data encryption key, of this name is visible."""


class KeyNotSoftDeleted(_Coded, code=40471):
    """The key must be soft-deleted before it is permanently deleted."""


class KeyEncryptionKeyDeleted(_Coded, code=40472):
    """The key that wraps this one is soft-deleted, and must be undeleted first."""


class BridgeNotFound(_Coded, code=40480):
    """There is no bridge of this name."""


class SketchNotFound(_Coded, code=40490):
    """The subject has no sketch."""


class AccessRecordNotFound(_Coded, code=40450):
    """There is no user, service, role, binding or token of this name, or no authentication is set up."""


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
    """A key of this name already exists."""


class TooManyKeys(_Coded, code=40972):
    """The registry has reached its largest number of keys."""


class AssociationExists(_Coded, code=40903):
    """The resource already has another association of this type."""


class SubjectAssociated(_Coded, code=40904):
    """The subject is associated with a resource, which does not permit this."""


class SubjectOwned(_Coded, code=40905):
    """The subject belongs to one resource alone: its association is STRONG."""


class AssociatedSubjectEmpty(_Coded, code=40907):
    """An associated subject must have an active version."""


class AssociationFrozen(_Coded, code=40908):
    """The association is frozen."""


class AccessConflict(_Coded, code=40950):
    """A change of users, roles or bindings that is not possible now: the message says why."""


class ContractExists(_Coded, code=40960):
    """The version of the contract is published with other content; ``details`` has what differs."""


class NotDeployable(_Coded, code=40961):
    """The verdict is no, and was requested as a status; ``details`` has the verdict."""


class BridgeExists(_Coded, code=40980):
    """There is another bridge of this name already."""


class TransitionRefused(_Coded, code=40981):
    """The bridge cannot change to this state now; ``details`` has the gates that are not met."""


class BridgeInUse(_Coded, code=40982):
    """The bridge runs, so that its plan cannot be changed, nor the bridge deleted."""


class ReporterReplaced(_Coded, code=40983):
    """A later start of the job reports the progress of the bridge."""


class InvalidSchema(_Coded, code=42201):
    """Schema text or type is not valid, a reference is unresolved, or the version is not the next one."""


class InvalidVersion(_Coded, code=42202):
    """The version in the path is neither a version number nor `latest`."""


class InvalidCompatibilityLevel(_Coded, code=42203):
    """The level is not one of the seven levels."""


class InvalidMode(_Coded, code=42204):
    """The mode does not exist, or cannot be set at this level."""


class OperationNotPermitted(_Coded, code=42205):
    """The mode, or existing data, does not permit the operation."""


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
    """The key still encrypts other keys."""


class InvalidAssociation(_Coded, code=42212):
    """A property of an association is not valid; the message names it."""


class InvalidBridge(_Coded, code=42280):
    """The bridge is not valid; ``details`` has the problems of its plan, by field."""


class InvalidAccess(_Coded, code=42250):
    """A name, a password, an operation, a pattern or a scope that cannot be stored."""


class InvalidContract(_Coded, code=42260):
    """A contract file is not valid, or a schema to which it refers is missing; ``details`` has the mistakes."""


class InvalidApproval(_Coded, code=42261):
    """An approval names no finding, or its day is over."""


class InvalidVerification(_Coded, code=42262):
    """A verification contradicts itself, or is of other content than the contract that is published."""


class InvalidWebhook(_Coded, code=42266):
    """The address or the secret of a webhook is not one that can be used."""


class VerdictUnknown(_Coded, code=42460):
    """The verdict cannot be known, and was requested as a status; ``details`` has the verdict."""


class JudgementUndecided(_Coded, code=42213):
    """Whether two schemas are compatible cannot be decided within the limits of a comparison; it is not known."""


class UnusableSketch(_Coded, code=42290):
    """The document is no sketch of this subject."""


class StoreUnavailable(_Coded, code=50001, status=HTTPStatus.SERVICE_UNAVAILABLE):
    """The store failed; repeat the request after ``Retry-After``. The message says whether a write was carried out."""


class TooManyJudgements(_Coded, code=50010, status=HTTPStatus.SERVICE_UNAVAILABLE):
    """Too many schemas are being compared at this moment; repeat the request after ``Retry-After``."""


class JudgementEnded(_Coded, code=50011, status=HTTPStatus.SERVICE_UNAVAILABLE):
    """A comparison of schemas was ended: it took too long, needed too much memory, or its process was killed."""


class StoreTimeout(_Coded, code=50002, status=HTTPStatus.SERVICE_UNAVAILABLE):
    """The store did not respond in time; repeat the request after ``Retry-After``, as for ``StoreUnavailable``."""


class KeyWrapFailed(_Coded, code=50070):
    """A key could not be wrapped or unwrapped: the key management service failed, or there is no driver for it."""


class KeyServiceUnavailable(KeyWrapFailed):
    """The key management service could not be reached, or did not answer in time; a later attempt may succeed."""


class SchemaParseError(InvalidSchema):
    """A schema text that cannot be read, with the place of the error.

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


_CLASS_BY_STATUS: Final[Mapping[int, type[RegistryError]]] = {
    HTTPStatus.UNAUTHORIZED: Unauthorized,
    HTTPStatus.FORBIDDEN: Forbidden,
    HTTPStatus.CONFLICT: IncompatibleSchema,
}


def error_for_code(
    code: int, message: str, *, status: int, details: Mapping[str, object] | None = None
) -> RegistryError:
    """Return the error for an error response of a registry.

    ``code`` is the body's ``error_code``, and ``details`` are its further members. A code that is not in the table
    gives the class of the status: ``Unauthorized`` for 401 and ``Forbidden`` for 403, which proxies send with codes of
    their own, and ``IncompatibleSchema`` for 409, which is the code of older registries; else a plain
    :class:`RegistryError`.
    """
    found = _CLASS_BY_CODE.get(code) or _CLASS_BY_STATUS.get(status, RegistryError)
    error = found(message, status=status, code=code)
    error.details = details or {}
    error.is_response = True
    return error


# Packages that an extra installs: where one is missing, the error names the extra.


@contextmanager
def needed_by(what: str, *, extra: str | None) -> Iterator[None]:
    """Raise ``MissingExtra`` for a package that cannot be found by the imports of this block.

    ``what`` needs the package, and is the beginning of the error's sentence. Without an ``extra`` that installs the
    package, and for a module of this project, Python's own error is raised.

    >>> with needed_by("This example", extra="kafka"):
    ...     import no_such_package
    Traceback (most recent call last):
    counterfoil.schema.errors.MissingExtra: This example needs no_such_package, ...
    """
    try:
        yield
    except ModuleNotFoundError as missing:
        if extra is None or (missing.name or "").partition(".")[0] == "counterfoil":
            raise
        raise MissingExtra(what, module=missing.name or "a package", extra=extra) from missing
