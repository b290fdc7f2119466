"""How rules see the values of a schema, and how marked parts are removed from them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from counterfoil.schema.datum import Datum
from counterfoil.sdk.errors import EncodeError, RuleError, SerdeError, ValidationError
from counterfoil.sdk.serde.rules.protocol import Change, FieldChanges, FieldType, SchemaField, Transform

if TYPE_CHECKING:
    from counterfoil.schema.model import RuleSet
    from counterfoil.schema.tags import UnnamedPath


# How rules see the values of a schema: what a codec provides for them.


class Aim(Enum):
    """A field rule's treatment of values.

    ``ENCRYPT``: it is also applied to the defaults that the encoder would write for fields that a message does not
    have, and a value is changed so that the clients of Confluent and this SDK can change it back. ``DECRYPT`` is the
    way back: also values that only a part of a schema marks that does not fit the encrypted value are changed.
    """

    CHANGE = "change"
    ENCRYPT = "encrypt"
    DECRYPT = "decrypt"


@dataclass(slots=True)
class MessageBeforeRules:
    """One message as it was before rules changed it.

    ``message`` is the message before the first rule. ``plain`` has the texts that rules have encrypted, by their
    ciphertexts. ``decrypted`` is the message as all rules together decrypt it; None until one of them needs it.
    """

    message: Datum
    plain: dict[str, str] = field(default_factory=dict)
    decrypted: Datum = None


@runtime_checkable
class DecidesByTexts(Protocol):
    """A compiled field rule that needs the message as it was before other rules changed it."""

    def after(self, message: Datum, before: MessageBeforeRules, /) -> Datum:
        """Return the message after this rule."""


@dataclass(frozen=True, slots=True)
class InlineRule:
    """A condition that stands in a schema's text, in ``confluent:rules``: ``expr`` is CEL about the value ``this``."""

    name: str
    expr: str
    doc: str | None = None


@dataclass(frozen=True, slots=True)
class CheckedValue:
    """A value to which an inline rule applies, and its place in the message."""

    rule: InlineRule
    path: str
    value: Datum


class RuleValues(Protocol):
    """The values of one schema, as rules see them: dicts and lists (Avro, JSON), or messages (Protobuf)."""

    def opened(self, value: Datum, /) -> Datum:
        """Return a value of the program as a message that rules can work on."""

    def closed(self, message: Datum, /) -> Datum:
        """Return a message that rules changed as a value of the program; raise ``ValidationError`` if it is not one."""

    def encoded(self, message: Datum, /) -> bytes:
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

    def redacted(self, message: Datum, hiding: Hiding, /) -> Datum:
        """Return a copy of a value of the program without its hidden parts.

        It fails closed: a value that does not fit the schema is hidden as a whole.
        """

    def inline_rules(self) -> Callable[[Datum], Iterator[CheckedValue]] | None:
        """Return a function that finds the values to check in a message; None if the schema has no inline rules."""

    def to_json(self, message: Datum, /) -> Datum:
        """Return the message as a value of JSON, for migration rules."""

    def from_json(self, value: Datum, /) -> Datum:
        """Return the message of a value of JSON that migration rules returned."""


def read_inline_rules(written: object) -> tuple[InlineRule, ...]:
    """Return the inline rules of a property ``confluent:rules``; entries without ``expr`` are ignored, as elsewhere."""
    entries = written if isinstance(written, list) else []
    return tuple(
        InlineRule(str(entry.get("name") or "unnamed"), entry["expr"], entry.get("doc") or entry.get("sql"))
        for entry in entries
        if isinstance(entry, dict) and isinstance(entry.get("expr"), str)
    )


# Removing what tags mark before a record goes to a topic that others read.

REDACTED: Final = "<REDACTED>"
FIELDS: Final = ("ENCRYPT",)
"""The types of rules that encrypt fields."""
_BYTES: Final = REDACTED.encode()
_SHORT: Final = 4
"""Texts of fewer characters, and numbers, are only found in a sentence where they are words of it."""
_CUT_OFF: Final = 16
"""Of a longer text, its first characters are looked for: messages cut off long texts."""


class Hiding:
    """Hides the parts that ``tags`` mark; None hides everything. ``found`` are the values that were hidden.

    It fails closed: a value that does not fit its schema is hidden as a whole.
    """

    def __init__(self, tags: frozenset[str] | None, found: list[Datum] | None = None) -> None:
        self.tags = tags
        self.found = [] if found is None else found

    def hides(self, tags: frozenset[str]) -> bool:
        """Return whether values with these tags are hidden."""
        return self.tags is None or bool(self.tags & tags)

    def changes(self, field: SchemaField) -> Change | None:
        """Return the function that hides the values of a field, whatever their type; None if they are not hidden."""
        if not self.hides(field.tags):
            return None
        placeholder = _BYTES if field.type is FieldType.BYTES else REDACTED

        def hide(value: object, message: object) -> Datum:
            del message
            if value is None:
                return None
            self.found.append(value)
            return placeholder

        return hide

    def whole(self, value: object) -> Datum:
        """Return the stand-in for a value of which nothing may be seen."""
        if value is None:
            return None
        self.found.append(value)
        return REDACTED

    def key(self, index: int, name: object) -> str:
        """Return the stand-in for a key of a map of which nothing may be seen; keys stay different."""
        self.found.append(name)
        return REDACTED if index == 0 else f"{REDACTED} {index + 1}"


def tags_to_hide(rule_set: RuleSet | None, types: Iterable[str]) -> frozenset[str] | None:
    """Return the tags of the rules of these types; None if one of them is about everything, since it has no tags."""
    rules = [] if rule_set is None else [rule for rule in rule_set.rules if (rule.type or "").upper() in types]
    if any(not rule.tags for rule in rules):
        return None
    return frozenset(tag for rule in rules for tag in rule.tags)


def mentions(text: str, values: Iterable[object]) -> bool:
    """Return whether a sentence contains one of the values, or a text or a number inside one of them."""
    return any(_is_in(text, leaf) for value in values for leaf in _leaves(value))


def _is_in(text: str, leaf: str) -> bool:
    if len(leaf) >= _SHORT and not leaf.isdigit():
        return any(each in text for each in _written(leaf))
    return bool(leaf) and re.search(rf"(?<!\w){re.escape(leaf)}(?!\w)", text) is not None


def _written(leaf: str) -> Iterator[str]:
    """Yield how a text is written in sentences: as it is, as Python and JSON write it, each also cut off."""
    forms = (leaf, repr(leaf)[1:-1], json.dumps(leaf)[1:-1], json.dumps(leaf, ensure_ascii=False)[1:-1])
    yield from dict.fromkeys(each[:_CUT_OFF] for each in forms)


def without_values(error: SerdeError, hidden: Iterable[object]) -> None:
    """Remove the sentence of an error that mentions one of the values, and each of its causes that does."""
    hidden = [*hidden]
    facts = (error.problem, getattr(error, "got", None), *(each.message for each in getattr(error, "violations", ())))
    if any(fact is not None and mentions(str(fact), hidden) for fact in facts):
        path = getattr(error, "path", None)
        place = f" at {path}" if path and not mentions(path, hidden) else ""
        failed = f"The rule {error.rule!r} failed" if isinstance(error, RuleError) else f"The value is not valid{place}"
        error.problem = f"{failed}, and the reason quotes what is encrypted: {REDACTED}"
        error.args = (error.problem,)
        if isinstance(error, ValidationError):
            error.violations = tuple(replace(each, message=REDACTED) for each in error.violations)
        if isinstance(error, EncodeError):
            error.got = None
    causes = [*_causes(error)]
    if any(mentions(str(each), hidden) for each in causes):
        error.__cause__ = error.__context__ = None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the errors that an error was raised from, or that were handled meanwhile."""
    seen: list[BaseException] = []
    waiting: list[BaseException | None] = [error.__cause__, error.__context__]
    while waiting:
        each = waiting.pop()
        if each is not None and each not in seen:
            seen.append(each)
            yield each
            waiting += [each.__cause__, each.__context__]


def _leaves(value: object) -> Iterator[str]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        match each:
            case None | bool():
                continue
            case dict():
                waiting += [*each.keys(), *each.values()]
            case list() | tuple() | set() | frozenset():
                waiting += each
            case bytes() | bytearray() | memoryview():
                yield bytes(each).decode("latin-1")
            case _ if hasattr(each, "ListFields"):
                waiting += [inner for _, inner in each.ListFields()]
            case _:
                yield str(each)
