"""How rules see the values of a schema: what a codec provides for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from counterfoil.schema.tags.reach import UnnamedPath
    from counterfoil.sdk.serde.rules.protocol import FieldChanges, SchemaField, Transform
    from counterfoil.sdk.serde.rules.redaction import Hiding


class Aim(Enum):
    """What a field rule does with values.

    ``ENCRYPT``: it is also applied to the defaults that the encoder would write for fields that a message does not
    have, and a value is changed so that the clients of Confluent and this SDK can change it back. ``DECRYPT`` is the
    way back: also values that only a part of a schema marks that does not fit the encrypted value are changed.
    """

    CHANGE = "change"
    ENCRYPT = "encrypt"
    DECRYPT = "decrypt"


@dataclass(slots=True)
class Before:
    """What one message was before rules changed it.

    ``message`` is the message before the first rule. ``plain`` has the texts that rules have encrypted, by their
    ciphertexts. ``decrypted`` is the message as all rules together decrypt it; None until one of them needs it.
    """

    message: Any
    plain: dict[str, str] = field(default_factory=dict)
    decrypted: Any = None


@runtime_checkable
class DecidesByTexts(Protocol):
    """A compiled field rule that needs to know what a message was before other rules changed it."""

    def after(self, message: Any, before: Before, /) -> Any:
        """Return the message after this rule."""


@dataclass(frozen=True, slots=True)
class InlineRule:
    """A condition that stands in a schema's text, in ``confluent:rules``: ``expr`` is CEL about the value ``this``."""

    name: str
    expr: str
    doc: str | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """A value to which an inline rule applies, and its place in the message."""

    rule: InlineRule
    path: str
    value: Any


class RuleValues(Protocol):
    """The values of one schema, as rules see them: dicts and lists (Avro, JSON), or messages (Protobuf)."""

    def opened(self, value: Any, /) -> Any:
        """Return a value of the program as a message that rules can work on."""

    def closed(self, message: Any, /) -> Any:
        """Return a message that rules changed as a value of the program; raise ``ValidationError`` if it is not one."""

    def encoded(self, message: Any, /) -> bytes:
        """Return the body of a message that rules changed; raise ``SerdeError`` if it is no value of the schema."""

    def fields(
        self, changes: FieldChanges, /, *, tags: frozenset[str] = frozenset(), aim: Aim = Aim.CHANGE
    ) -> Transform:
        """Return a function that applies a field rule for these tags to a message, and returns a changed copy of it.

        ``changes`` is called for each field of the schema with values; it may return None.
        """

    def places(self) -> Iterable[SchemaField]:
        """Return the fields of the whole schema, with the types and tags that it declares."""

    def unnamed_paths(self) -> list[UnnamedPath]:
        """Return the paths of the metadata that assign their tags to nothing."""

    def redacted(self, message: Any, hiding: Hiding, /) -> Any:
        """Return a copy of a value of the program without what is to be hidden.

        It fails closed: what does not fit the schema is hidden as a whole.
        """

    def inline_rules(self) -> Callable[[Any], Iterator[Checked]] | None:
        """Return a function that finds the values to check in a message; None if the schema has no inline rules."""

    def to_json(self, message: Any, /) -> Any:
        """Return the message as a value of JSON, for migration rules."""

    def from_json(self, value: Any, /) -> Any:
        """Return the message of a value of JSON that migration rules returned."""


def read_inline_rules(written: object) -> tuple[InlineRule, ...]:
    """Return the inline rules of a property ``confluent:rules``; entries without ``expr`` are ignored, as elsewhere."""
    entries = written if isinstance(written, list) else []
    return tuple(
        InlineRule(str(entry.get("name") or "unnamed"), entry["expr"], entry.get("doc") or entry.get("sql"))
        for entry in entries
        if isinstance(entry, dict) and isinstance(entry.get("expr"), str)
    )
