"""The runners of rules: executors, one for each type of rules, and actions, which run after a rule.

An executor is compiled once for each rule of a schema, for a subject and a mode, by a script, so that it can request
what it needs of the registry; the function that it returns is then called for every message. Executors and actions are
found by the entry points ``counterfoil.rule_executors`` and ``counterfoil.rule_actions``, whose names are the types and
whose values are classes without arguments, or they are given to
:class:`~counterfoil.sdk.serde.rules.settings.Rules`.

Source: the rules of data contracts in Confluent's documentation, and the public classes of confluent-kafka 2.16.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar, runtime_checkable

from counterfoil.schema.datum import Datum
from counterfoil.schema.marks import ROOT, Mark
from counterfoil.sdk.errors import SchemaNotCached

if TYPE_CHECKING:
    from counterfoil.schema.model import Rule, RuleSet, Schema
    from counterfoil.sdk.script import Script
    from counterfoil.sdk.serde.sources import RegistrySource, SchemaCalls
    from counterfoil.sdk.subjects import Field


T = TypeVar("T")


class RuleMode(StrEnum):
    """The operation on a message in which a rule runs."""

    WRITE = "WRITE"
    READ = "READ"
    UPGRADE = "UPGRADE"
    DOWNGRADE = "DOWNGRADE"


class RulePhase(StrEnum):
    """Which list of a rule set a rule is in; encoding rules receive and return bytes."""

    DOMAIN = "DOMAIN"
    ENCODING = "ENCODING"
    MIGRATION = "MIGRATION"


class FieldType(StrEnum):
    """The type of a field's value, by the names that rules of confluent-kafka see."""

    RECORD = "RECORD"
    ENUM = "ENUM"
    ARRAY = "ARRAY"
    MAP = "MAP"
    COMBINED = "COMBINED"
    FIXED = "FIXED"
    STRING = "STRING"
    BYTES = "BYTES"
    INT = "INT"
    LONG = "LONG"
    FLOAT = "FLOAT"
    DOUBLE = "DOUBLE"
    BOOLEAN = "BOOLEAN"
    NULL = "NULL"

    @property
    def is_primitive(self) -> bool:
        """Whether rules of the type CEL_FIELD run on values of this type."""
        return self in _PRIMITIVE


_PRIMITIVE = frozenset(
    {
        FieldType.STRING,
        FieldType.BYTES,
        FieldType.INT,
        FieldType.LONG,
        FieldType.FLOAT,
        FieldType.DOUBLE,
        FieldType.BOOLEAN,
        FieldType.NULL,
    }
)


@dataclass(frozen=True, slots=True)
class SchemaField:
    """A field of a schema, on whose values a field rule runs.

    ``full_name`` begins with the full name of the record (Avro, Protobuf) or with ``$`` (JSON). ``type`` is the type of
    the values: that of the items of an array, and of the branch of a union; ``COMBINED`` for values of every type.
    ``tags`` are those in the schema's text and those that its metadata assigns, also those of what is around the field
    and of its type. ``known_tags`` are those of them that Confluent's clients find, and ``is_beyond`` is whether they
    leave the values as they are: for an executor, whether they find none of the rule's tags there.
    ``is_key``: the values are the names of properties, which no rule can change. ``where`` is in words how the values
    are reached from the field. ``is_possible``: a value that is read may have been changed by the rule or not; one that
    was is returned as an :class:`OpenedText`. ``logical_type``: the values of this string or bytes field are of another
    Python type, such as UUID. ``may_be`` returns False for a text that the schema certainly refuses there when the
    message is written; None if it refuses none.
    """

    full_name: str
    name: str
    type: FieldType
    tags: frozenset[str] = frozenset()
    known_tags: frozenset[str] = frozenset()
    is_beyond: bool = False
    is_key: bool = False
    where: str = ""
    is_possible: bool = False
    logical_type: str = ""
    may_be: Callable[[str], bool] | None = field(default=None, compare=False, repr=False)

    @classmethod
    def marked(
        cls, mark: Mark, field_type: FieldType, where: str = "", *, is_key: bool = False, logical_type: str = ""
    ) -> SchemaField:
        """Return the field of a place of a schema."""
        known = frozenset() if mark.is_beyond else mark.own
        is_beyond = mark.is_beyond or mark.full_name == ROOT
        return cls(
            mark.full_name, mark.name, field_type, mark.tags, known, is_beyond, is_key, where, logical_type=logical_type
        )

    @property
    def place(self) -> str:
        """The place in words: ``the field shop.Order.email``, ``what is in the items of the field …``."""
        field = "the value itself" if self.full_name == ROOT else f"the field {self.full_name}"
        return f"what is {self.where} {field}" if self.where else field


class OpenedText(str):
    """A text that a rule has decrypted."""

    __slots__ = ()


Transform: TypeAlias = "Callable[[Datum], Datum]"
"""A compiled rule: from the message to the new message (TRANSFORM), or to whether it is valid (CONDITION).

In the encoding phase messages are bytes. It must not change its argument, which belongs to the program.
"""

Change: TypeAlias = "Callable[[Datum, Datum], Datum]"
"""A compiled rule for one field, ``(value, message)``: as :data:`Transform` for a value of the field.

``message`` is the value of the record that contains the field.
"""

FieldChanges: TypeAlias = "Callable[[SchemaField], Change | None]"
"""Returns the compiled rule for a field; None if the rule leaves its values as they are. Called once for each field."""


class Redact(Protocol):
    """Returns copies of values without the parts that tags mark; bytes of messages that are read stay as they are."""

    def __call__(self, value: Datum, tags: frozenset[str] | None, /, found: list[Datum] | None = None) -> Datum:
        """Return a copy of a value; for None as the tags, without anything. Hidden values are added to ``found``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleScope:
    """The rule that is compiled, and where it will run.

    ``rules`` are all rules of its list, in the order in which they run, of which it is the one at ``index``. ``schema``
    is the schema whose rule it is, ``conf`` are the settings of the program for its executors and actions.
    """

    rule: Rule
    mode: RuleMode
    phase: RulePhase
    subject: str
    topic: str | None
    field: Field
    schema: Schema
    rules: tuple[Rule, ...]
    index: int
    conf: Mapping[str, Datum]
    source: RegistrySource

    @property
    def calls(self) -> SchemaCalls:
        """The scripts of the registry client's calls, for :meth:`Executor.compile` and :meth:`request`."""
        return self.source.calls

    @property
    def rule_set(self) -> RuleSet | None:
        """The rule set that the rule is in."""
        return self.schema.rule_set

    @property
    def is_condition(self) -> bool:
        """Whether the rule decides about a message, and does not change it."""
        return self.rule.kind == "CONDITION"

    def parameter(self, name: str) -> str | None:
        """Return a parameter of the rule, or else the property of this name in the schema's metadata."""
        value = self.rule.params.get(name)
        if value is None and self.schema.metadata is not None:
            value = self.schema.metadata.properties.get(name)
        return value

    def request(self, script: Callable[[], Script[T]]) -> T:
        """Return the result of a script while a message is written or read.

        This is for requests that cannot be known when the rule is compiled, such as the key that a message names.
        ``script()`` begins the script; it has no steps if its result is in memory. With an async registry a script that
        has steps raises ``SchemaNotCached``, whose ``script`` the asynchronous serializers run before they repeat the
        call: what it fetches must be kept by the executor.
        """
        try:
            return self.source.run(script())
        except SchemaNotCached as error:
            error.script = script
            raise


@runtime_checkable
class Executor(Protocol):
    """Runs the rules of one type on whole messages; in the encoding phase, on bytes."""

    def compile(self, scope: RuleScope) -> Script[Transform]:
        """Return the function that runs the rule; it is called by several threads.

        Raises ``RuleError`` if the rule cannot be run. Any error of the function is the rule's failure.
        """

    def close(self) -> None:
        """Release what the executor holds; called by ``Rules.close``."""


@runtime_checkable
class FieldExecutor(Protocol):
    """Runs the rules of one type on the fields whose tags are among the rule's; without tags, on every field."""

    def compile_fields(self, scope: RuleScope) -> Script[FieldChanges]:
        """Return the function that compiles the rule for each field.

        Raises ``RuleError`` if the rule cannot be run. Any error of a compiled function is the rule's failure.
        """

    def close(self) -> None:
        """Release what the executor holds; called by ``Rules.close``."""


@runtime_checkable
class PlaceExecutor(FieldExecutor, Protocol):
    """A field executor that refuses rules by the declarations of a schema, before any message is written."""

    def check_places(self, scope: RuleScope, fields: Iterable[SchemaField]) -> None:
        """Raise ``RuleError`` if the rule marks a field that the executor can neither change nor leave as it is.

        ``fields`` are those of the whole schema that have one of the rule's tags; without tags, all.
        """


AnyExecutor: TypeAlias = Executor | FieldExecutor


class RedactKey(Protocol):
    """Returns a copy of a key without the parts that the rules of its schema encrypt."""

    def __call__(self, key: Datum, types: Iterable[str], /, found: list[Datum] | None = None) -> Datum:
        """Return a copy without the parts that rules of these types mark. Hidden values are added to ``found``."""


@dataclass(frozen=True, slots=True)
class RuleRun:
    """A run of a rule, for an action.

    ``error`` is why the rule failed, None if it succeeded. ``key`` and ``value`` are the record as it was given to the
    serializer or deserializer: objects when writing, bytes when reading; the key is that of the key serializer's last
    call in this thread or task. ``headers`` are the record's. ``redact`` returns a copy of the value (of a key's rules:
    of the key) without what certain tags mark; ``redact_key`` one of the key, by the rules of its own schema.
    ``marked`` returns the values that certain tags mark in the message as the rule saw it; None if that is not known.
    """

    scope: RuleScope
    error: Exception | None
    key: Datum
    value: Datum
    headers: Datum
    redact: Redact
    redact_key: RedactKey | None = None
    marked: Callable[[frozenset[str] | None], list[Datum] | None] | None = None


@runtime_checkable
class Action(Protocol):
    """What happens after a rule."""

    def run(self, run: RuleRun) -> None:
        """Do it; raise ``RuleError`` if the message must not be written or read."""

    def close(self) -> None:
        """Release the resources of the action; called by ``Rules.close``."""
