"""What a plan for writing does between the value of the program and the message, if its schema has rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from counterfoil.sdk.errors import SerdeError
from counterfoil.sdk.serde.references import resolve_references
from counterfoil.sdk.serde.rules.checks import compile_check
from counterfoil.sdk.serde.rules.protocol import RuleMode, RulePhase
from counterfoil.sdk.serde.rules.stages import Record, compile_stage, has_rules, marking, quote_nothing, redaction
from counterfoil.sdk.serde.rules.tags import find_field_tags

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from counterfoil.schema.model import RuleSet, Schema
    from counterfoil.sdk.script import Script
    from counterfoil.sdk.serde.codec import Codec, Encode
    from counterfoil.sdk.serde.context import MessageContext
    from counterfoil.sdk.serde.rules.protocol import RedactKey
    from counterfoil.sdk.serde.rules.stages import Marked, Place, Stage
    from counterfoil.sdk.serde.rules.values import RuleValues


@dataclass(frozen=True, slots=True)
class WriteRules:
    """The rules of writing to one subject. ``redact_key`` is for the rules of the value whose key this is.

    ``marked`` finds the values that tags mark in a value of the program; those of the rules ENCRYPT of ``rule_set`` are
    in no error.
    """

    opened: Callable[[Any], Any]
    encode: Encode
    before: Callable[[Any], None] | None
    domain: Stage | None
    after: Callable[[Any], None] | None
    encoding: Stage | None
    redact_key: RedactKey
    rule_set: RuleSet | None
    marked: Marked

    def write(self, value: Any, prefix: bytes, ctx: MessageContext | None) -> bytes:
        """Return the message for a value. Raises ``RuleError``, ``ValidationError``, and the errors of encoding."""
        try:
            return self._written(value, prefix, ctx)
        except SerdeError as error:
            quote_nothing(error, self.rule_set, lambda tags: self.marked(value, tags))
            raise

    def _written(self, value: Any, prefix: bytes, ctx: MessageContext | None) -> bytes:
        record = Record.of(ctx, value)
        message = self.opened(value)
        if self.before is not None:
            self.before(message)
        if self.domain is not None:
            message = self.domain.run(message, record)
        if self.after is not None:
            self.after(message)
        if self.encoding is None:
            return self.encode(message, prefix)
        body: bytes = self.encoding.run(self.encode(message, b""), record)
        return prefix + body


def compile_write_rules(codec: Codec[Any], parsed: Any, schema: Schema, place: Place) -> Script[WriteRules | None]:
    """Return the rules of ``schema`` for values of ``parsed``; None if none of them runs when values are written.

    Raises ``RuleError`` for a rule that cannot be run.
    """
    settings = place.settings
    phases = (RulePhase.DOMAIN, RulePhase.ENCODING)
    if settings.check is None and not any(has_rules(schema, RuleMode.WRITE, phase, settings) for phase in phases):
        return None
    references = yield from resolve_references(place.source.calls, schema)
    values = codec.rule_values(parsed, codec.frame_suffix(parsed), find_field_tags(schema, references))
    domain = yield from compile_stage(schema, RuleMode.WRITE, RulePhase.DOMAIN, place, values)
    encoding = yield from compile_stage(schema, RuleMode.WRITE, RulePhase.ENCODING, place, values)
    check = None if settings.check is None else compile_check(values, fail_fast=settings.fail_fast)
    if domain is None and encoding is None and check is None:
        return None
    return WriteRules(
        opened=values.opened,
        encode=codec.for_rules().encoder(parsed),
        before=check if settings.check == "before" else None,
        domain=domain,
        after=check if settings.check == "after" else None,
        encoding=encoding,
        redact_key=_key_redaction(values, schema),
        rule_set=schema.rule_set,
        marked=marking(values),
    )


def _key_redaction(values: RuleValues, schema: Schema) -> RedactKey:
    """Return what removes, from a key that has this schema, what its rules encrypt."""
    redact = redaction(values, RuleMode.WRITE)

    def redact_key(key: Any, types: Iterable[str], /, found: list[Any] | None = None) -> Any:
        from counterfoil.sdk.serde.rules.redaction import tags_to_hide

        return redact(key, tags_to_hide(schema.rule_set, types), found)

    return redact_key
