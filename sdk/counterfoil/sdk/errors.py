"""What the SDK raises besides the registry's own errors.

::

    CounterfoilError
    ├── RegistryError …              (counterfoil.schema.errors) the registry answered "no"
    ├── RegistryUnavailable          the registry could not be asked; retryable
    └── SerdeError                   topic, field, subject, schema_id, data
        ├── FrameError
        │   ├── NotFramed            no magic byte where one must be
        │   └── TruncatedFrame       the frame ends too early
        ├── EncodeError              path, expected, got
        └── DecodeError              offset, path
"""

from __future__ import annotations

from counterfoil.schema.errors import CounterfoilError

_SHOWN_BYTES = 32


class RegistryUnavailable(CounterfoilError):
    """The registry could not be asked: no connection, no answer in time, or an answer that is not a registry's.

    ``url`` is what was asked, ``attempts`` how often; asking again later may help (``retryable`` is true).
    """

    retryable = True

    def __init__(self, message: str, *, url: str, attempts: int) -> None:
        super().__init__(message)
        self.url = url
        self.attempts = attempts


class SerdeError(CounterfoilError):
    """A value that could not be serialized or deserialized.

    ``problem`` says what was wrong; ``topic``, ``field`` ("key" or "value"), ``subject``, ``schema_id`` say where, and
    are None when not known; ``data`` holds the bytes at hand, whole, while the message shows the first of them.
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


class EncodeError(SerdeError):
    """A value that does not fit its schema. ``path`` leads to it, such as ``pickup.lat`` or ``items[3]``."""

    def __init__(
        self,
        problem: str,
        *,
        path: str = "",
        topic: str | None = None,
        field: str | None = None,
        subject: str | None = None,
        schema_id: int | None = None,
    ) -> None:
        super().__init__(problem, topic=topic, field=field, subject=subject, schema_id=schema_id)
        self.path = path


class DecodeError(SerdeError):
    """Bytes that are not a value of the writer's schema. ``offset`` counts from the start of the data."""

    def __init__(
        self,
        problem: str,
        *,
        offset: int | None = None,
        path: str = "",
        topic: str | None = None,
        field: str | None = None,
        subject: str | None = None,
        schema_id: int | None = None,
        data: bytes | None = None,
    ) -> None:
        super().__init__(problem, topic=topic, field=field, subject=subject, schema_id=schema_id, data=data)
        self.offset = offset
        self.path = path
