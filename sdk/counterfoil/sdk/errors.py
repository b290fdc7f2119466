"""The errors of the SDK, besides those of the registry.

::

    CounterfoilError
    ├── RegistryError …              (counterfoil.schema.errors) the registry answered "no"
    ├── RegistryUnavailable          the registry could not be asked; retryable
    │   └── UnexpectedReply          status: something answered, and not as a schema registry does
    ├── InvalidSettings              a setting of the client or of a serializer is not valid; a ValueError
    │   └── ModelError               model, field, type_text: a class that no schema can describe
    ├── DamagedBundle                a file that is no bundle, was changed, or is not signed as required
    ├── NoReply                      (counterfoil.sdk.transport) what a transport raises; becomes RegistryUnavailable
    └── SerdeError                   topic, field, subject, schema_id, data; with confluent-kafka its SerializationError
        ├── FrameError
        │   ├── NotFramed            the magic byte is missing
        │   └── TruncatedFrame       the frame ends too early
        ├── SubjectUnresolved        the subject needs a topic or a record name
        ├── UnknownSchemaId          the registry has no schema of the id or guid in the prefix
        ├── SchemaForbidden          the registry does not let this program read the record's schema
        ├── SchemaNotCached          guid: an async registry has to be awaited first
        ├── EncryptionError          kek: a value cannot be encrypted or decrypted
        │   ├── KeyMissing           the registry has no such key, or it was deleted
        │   ├── KeyMismatch          a key is not what the rule, or its algorithm, requires
        │   ├── KeyRefused           the key management service refuses to use a key, or cannot
        │   ├── KeyUnavailable       the key management service did not answer; retryable
        │   ├── NotEncrypted         a tag marks what would be written as plain text
        │   └── NotDecrypted         bytes that are not a ciphertext of the key
        ├── RuleError                rule, action: a rule of the schema failed, or cannot be run
        │   ├── RuleConditionFailed  the message does not meet a condition
        │   └── RuleTypeMissing      nothing runs rules of a type, or an action, that the schema names
        ├── EncodeError              path, expected, got
        ├── DecodeError              offset, path
        │   └── IncompatibleReader   the reader's schema can never read the writer's
        ├── ValidationError          violations: path, keyword, message
        └── SchemaUnusable           reference: a schema that nothing can be validated with
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

from counterfoil.schema.errors import CounterfoilError, Forbidden, SchemaNotFound

if TYPE_CHECKING:
    from uuid import UUID

    from counterfoil.schema.datum import Datum


_SHOWN_BYTES = 32
_CONFLUENT = "confluent_kafka.serialization"


class RegistryUnavailable(CounterfoilError):
    """The registry could not be reached: no connection, no response in time, or a response that is not a registry's.

    ``url`` is the URL of the request, ``attempts`` how often it was sent; a later request may succeed (``retryable`` is
    true).
    """

    retryable = True

    def __init__(self, message: str, *, url: str, attempts: int) -> None:
        super().__init__(message)
        self.url = url
        self.attempts = attempts

    def __reduce__(self) -> tuple[object, ...]:
        """Return how to copy and pickle the error: its attributes are keyword-only and would be lost by default."""
        return (_unavailable, (str(self), self.url, self.attempts))


def _unavailable(message: str, url: str, attempts: int) -> RegistryUnavailable:
    return RegistryUnavailable(message, url=url, attempts=attempts)


class UnexpectedReply(RegistryUnavailable):
    """An answer that is not a schema registry's: ``status`` is its HTTP status, ``problem`` the mistake in it."""

    def __init__(self, message: str, *, url: str, attempts: int, status: int, problem: str) -> None:
        super().__init__(message, url=url, attempts=attempts)
        self.status = status
        self.problem = problem

    def __reduce__(self) -> tuple[object, ...]:
        return (_unexpected, (str(self), self.url, self.attempts, self.status, self.problem))


def _unexpected(message: str, url: str, attempts: int, status: int, problem: str) -> UnexpectedReply:
    return UnexpectedReply(message, url=url, attempts=attempts, status=status, problem=problem)


class InvalidSettings(CounterfoilError, ValueError):
    """A setting that is unknown, malformed, or contradicts another. ``setting`` is its name, as it was spelt."""

    def __init__(self, message: str, *, setting: str = "") -> None:
        super().__init__(message)
        self.setting = setting


class ModelError(InvalidSettings):
    """A class that cannot be a model: ``model`` is its name, ``field`` the field, ``type_text`` the type in words."""

    def __init__(
        self, message: str, *, model: str | None = None, field: str | None = None, type_text: str | None = None
    ) -> None:
        super().__init__(message, setting="model")
        self.model = model
        self.field = field
        self.type_text = type_text


class DamagedBundle(CounterfoilError):
    """A file that is no bundle, was changed after it was written, or is not signed with the required key."""


class SerdeFacts(TypedDict, total=False):
    """Where a value is that could not be serialized or deserialized; see :class:`SerdeError`."""

    topic: str | None
    field: str | None
    subject: str | None
    schema_id: int | None
    data: bytes | None


class SerdeError(CounterfoilError):
    """A value that could not be serialized or deserialized.

    In a program that has loaded confluent-kafka it is a ``confluent_kafka.serialization.SerializationError`` as well,
    so that code that catches that class catches this one.

    ``problem`` is what was wrong; ``topic``, ``field`` ("key" or "value"), ``subject`` and ``schema_id`` are where, and
    None when not known; ``data`` has all bytes of the message, of which the error message shows the first.
    """

    def __init__(
        self,
        problem: str,
        *,
        topic: str | None = None,
        field: str | None = None,
        subject: str | None = None,
        schema_id: int | None = None,
        data: bytes | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.topic = topic
        self.field = field
        self.subject = subject
        self.schema_id = schema_id
        self.data = data

    def __new__(cls, *args: object, **facts: object) -> Self:
        """Return the error; make this class a subclass of confluent-kafka's if that is loaded by now."""
        theirs = getattr(sys.modules.get(_CONFLUENT), "SerializationError", None)
        if theirs is not None and theirs not in SerdeError.__bases__:
            SerdeError.__bases__ = (CounterfoilError, theirs)
        return super().__new__(cls, *args, **facts)

    def __str__(self) -> str:
        facts = [
            f"{name}={value!r}"
            for name in ("topic", "field", "subject", "schema_id")
            if (value := getattr(self, name)) is not None
        ]
        if self.data is not None:
            more = "…" if len(self.data) > _SHOWN_BYTES else ""
            facts.append(f"data={self.data[:_SHOWN_BYTES].hex(' ')}{more} ({len(self.data)} bytes)")
        return f"{self.problem} [{', '.join(facts)}]" if facts else self.problem


class FrameError(SerdeError):
    """The bytes around the body are not the wire format."""


class NotFramed(FrameError):
    """The first byte is not a magic byte of the wire format."""


class TruncatedFrame(FrameError):
    """The data ends inside the frame."""


class SubjectUnresolved(SerdeError):
    """The subject cannot be named: its strategy needs a topic or a record name, and there is none."""


class EncodeError(SerdeError):
    """A value that does not fit its schema. ``path`` is its place, such as ``pickup.lat`` or ``items[3]``.

    ``expected`` describes a value that would fit, and ``got`` the value, in a few words.
    """

    def __init__(
        self,
        problem: str,
        *,
        path: str = "",
        expected: str | None = None,
        got: str | None = None,
        **facts: Unpack[SerdeFacts],
    ) -> None:
        super().__init__(problem, **facts)
        self.path = path
        self.expected = expected
        self.got = got


class DecodeError(SerdeError):
    """Bytes that are not a value of the writer's schema. ``offset`` counts from the start of the data."""

    def __init__(self, problem: str, *, offset: int | None = None, path: str = "", **facts: Unpack[SerdeFacts]) -> None:
        super().__init__(problem, **facts)
        self.offset = offset
        self.path = path


class IncompatibleReader(DecodeError):
    """A reader's schema that can never read the writer's data; ``path`` leads to the first type that does not fit."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that is wrong with a value: its ``path``, such as ``items[3].price``, and the schema's ``keyword``.

    ``is_inner``: it is wrong in one branch of a combination such as ``oneOf``, which is a violation of its own.
    """

    path: str
    keyword: str
    message: str
    is_inner: bool = False


class ValidationError(SerdeError):
    """A value that is JSON, and is not valid under its JSON schema; ``violations`` are the reasons, at least one."""

    def __init__(self, problem: str, *, violations: tuple[Violation, ...] = (), **facts: Unpack[SerdeFacts]) -> None:
        super().__init__(problem, **facts)
        self.violations = violations


class SchemaUnusable(SerdeError):
    """A schema that values cannot be validated with; ``reference`` is the text of its reference without a target."""

    def __init__(self, problem: str, *, reference: str | None = None, **facts: Unpack[SerdeFacts]) -> None:
        super().__init__(problem, **facts)
        self.reference = reference


class UnknownSchemaId(SerdeError, SchemaNotFound):
    """The registry has no schema with the id or guid that the data names: the record cannot be read."""


class SchemaForbidden(SerdeError, Forbidden):
    """The registry does not let this program read the schema of a record: the record cannot be read by it.

    A deserializer with ``on_forbidden="record"`` raises it; any other raises the registry's ``Forbidden``, which is not
    the record's error.
    """

    def __init__(self, problem: str, **facts: Unpack[SerdeFacts]) -> None:
        SerdeError.__init__(self, problem, **facts)
        self.message = problem

    __str__ = SerdeError.__str__


class SchemaNotCached(SerdeError):
    """A schema that an :class:`~counterfoil.sdk.AsyncRegistry` has not in memory, so that it must be awaited first.

    Await ``warm`` of the serializer or deserializer, and repeat the call; :class:`~counterfoil.sdk.AsyncSerializer` and
    :class:`~counterfoil.sdk.AsyncDeserializer` do this. ``schema_id`` or ``guid`` is the schema of a message that is
    read.
    """

    def __init__(self, problem: str, *, guid: UUID | None = None, **facts: Unpack[SerdeFacts]) -> None:
        super().__init__(problem, **facts)
        self.guid = guid
        self.script: Callable[[], Datum] | None = None
        """What a rule needs besides the schema: begins the script that fetches it."""


class EncryptionError(SerdeError):
    """A value that cannot be encrypted or decrypted; ``kek`` is the name of the key encryption key."""

    retryable = False

    def __init__(self, problem: str, *, kek: str | None = None, **facts: Unpack[SerdeFacts]) -> None:
        super().__init__(problem, **facts)
        self.kek = kek


class NotEncrypted(EncryptionError):
    """A tag marks a value that cannot be encrypted, or that the rule may not encrypt; nothing was written.

    It is raised whatever ``onFailure`` of the rule says, since the message would be plain text otherwise.
    """


class KeyMissing(EncryptionError):
    """The registry has no key encryption key or data encryption key of this name, or it was deleted."""


class KeyMismatch(EncryptionError):
    """A key in the registry that is not what the rule requires, or that is not a key for its algorithm."""


class KeyRefused(EncryptionError):
    """The key management service refuses to use a key, or cannot unwrap what the registry has."""


class KeyUnavailable(EncryptionError):
    """The key management service did not answer; a later attempt may succeed (``retryable`` is true)."""

    retryable = True


class NotDecrypted(EncryptionError):
    """Bytes that are not a ciphertext of the key: another key wrote them, they were changed, or never encrypted."""


class RuleError(SerdeError):
    """A rule of the schema failed, or cannot be run; ``rule`` is its name, ``action`` the action that raised the error.

    The error of the rule itself is the cause (``__cause__``).
    """

    def __init__(
        self, problem: str, *, rule: str | None = None, action: str | None = None, **facts: Unpack[SerdeFacts]
    ) -> None:
        super().__init__(problem, **facts)
        self.rule = rule
        self.action = action


class RuleConditionFailed(RuleError):
    """A message that does not meet a condition of its schema; ``path`` is the field's full name for a field rule."""

    def __init__(self, problem: str, *, path: str | None = None, **facts: Any) -> None:
        super().__init__(problem, **facts)
        self.path = path


class RuleTypeMissing(RuleError):
    """The schema names a type of rules, or an action, that is not installed; the message names the extra.

    Data of such a schema is neither written nor read, since leaving out a rule may publish data that it encrypts.
    """
