"""The validator of another project: the package jsonschema, with one validator for a schema and all its references.

Formats are not asserted. References lead to the schema's own documents and to the drafts' metaschemas, never to the
network. Patterns are searched by the package ``regex``, which has a time limit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

from counterfoil.schema.ecma.spelling import Dialect
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.excerpt import excerpt
from counterfoil.schema.formats.jsonschema.read.drafts import Draft, specifications
from counterfoil.schema.formats.jsonschema.read.patterns import holds_match, spelled_pattern
from counterfoil.schema.formats.jsonschema.read.resolve import UnresolvedReference
from counterfoil.schema.formats.jsonschema.read.values import is_integer, is_multiple, type_of
from counterfoil.schema.formats.jsonschema.view.bundle import ROOT_URI, bundle, has_keyword

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

    from counterfoil.schema.formats.jsonschema.schema import JsonSchema
    from counterfoil.schema.formats.jsonschema.view.bundle import Bundle

_MAX_FAILURES: Final = 40


class ValidatorRefuses(CounterfoilError):
    """The error for a schema or a value that jsonschema cannot process; it proves nothing about either."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure that a validator found: the place in the value, the keyword that fails, and the message.

    ``limit`` is the keyword's value. ``is_inner``: the failure is in one branch of a combination.
    """

    path: tuple[str | int, ...]
    keyword: str
    limit: Any
    message: str
    is_inner: bool


class SchemaValidator:
    """A validator for one schema; raises ``ValidatorRefuses`` if the package cannot process the schema."""

    def __init__(self, schema: JsonSchema) -> None:
        try:
            self._validator = _compiled(schema)
        except Exception as refused:  # such as an identifier that is not a string
            raise ValidatorRefuses(f"jsonschema does not take the schema: {quote(refused)}") from refused

    def accepts(self, value: Any) -> bool:
        """Return whether ``value`` is valid; raise ``ValidatorRefuses`` if the package cannot decide."""
        try:
            return bool(self._validator.is_valid(value))
        except Exception as refused:  # an exception because of a pattern, a number or a reference proves nothing
            raise ValidatorRefuses(f"jsonschema cannot tell: {quote(refused)}") from refused

    def failures(self, value: Any) -> list[Failure]:
        """Return all failures of ``value``, including those inside combinations; empty if it is valid."""
        try:
            return [*_failures(self._validator.iter_errors(value))][:_MAX_FAILURES]
        except Exception as refused:  # as above
            raise ValidatorRefuses(f"jsonschema cannot tell: {quote(refused)}") from refused


@cache
def validator_name() -> str:
    """Return the validator and its version, such as ``jsonschema 4.26.0``."""
    from importlib.metadata import version

    return f"jsonschema {version('jsonschema')}"


def quote(exception: Exception) -> str:
    """Return the message of an exception on one line, shortened."""
    return in_one_line(str(getattr(exception, "message", exception)))


def in_one_line(message: str) -> str:
    """Return a message of the package, or of one like it, on one line, shortened."""
    return excerpt(re.sub(r"Decimal\('([^']*)'\)", r"\1", " ".join(message.split())), 200)


def _failures(errors: Iterable[ValidationError], outer: str = "", *, is_inner: bool = False) -> Iterator[Failure]:
    for error in errors:
        keyword = error.validator if isinstance(error.validator, str) else outer  # the schema false has none of its own
        yield Failure(tuple(error.absolute_path), keyword, error.validator_value, quote(error), is_inner)
        yield from _failures(error.context or (), keyword, is_inner=True)


def _compiled(schema: JsonSchema) -> Validator:
    bundled = _bundled(schema)
    documents = {ROOT_URI: bundled.root, **bundled.documents}
    wrapped = {
        uri: one if isinstance(one, dict) else {"$schema": schema.draft.value, "allOf": [one]}
        for uri, one in documents.items()
    }
    return _class_for(schema.draft)(bundled.root, registry=specifications().with_contents(wrapped.items()))


def _bundled(schema: JsonSchema) -> Bundle:
    """Return a schema with its documents; the package finds evaluated properties with the module ``re`` alone."""
    try:
        if has_keyword(schema, "unevaluatedProperties"):
            return bundle(schema, lambda text: spelled_pattern(text, Dialect.RE) or text, only_names=True)
    except (ValueError, UnresolvedReference):
        pass
    return bundle(schema)


@cache
def _class_for(draft: Draft) -> type[Validator]:
    import jsonschema
    from jsonschema import validators

    base = getattr(jsonschema, draft.validator)
    bounded = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "multipleOf": _multiple_of,
    }
    if draft is Draft.DRAFT_2020_12:
        bounded["items"] = _items
    with_fraction = draft is not Draft.DRAFT_4
    checker = base.TYPE_CHECKER.redefine("integer", lambda _, value: _is_integer(value, with_fraction=with_fraction))
    extended = validators.extend(base, bounded, type_checker=checker)  # type: ignore[no-untyped-call]  # stubs lack it
    extended.descend = _descend_of(extended)
    return cast("type[Validator]", extended)


def _descend_of(validator_class: Any) -> Callable[..., Iterator[ValidationError]]:
    """Return the method ``descend``, whose errors at the schema ``false`` have their place and their keyword, too."""
    descend = validator_class.descend

    def placed(
        self: Any, instance: Any, schema: Any, *, path: Any = None, schema_path: Any = None, resolver: Any = None
    ) -> Iterator[ValidationError]:
        from jsonschema import ValidationError

        if schema is not False:
            yield from descend(self, instance, schema, path, schema_path, resolver)
            return
        own = {"validator": schema_path} if schema_path in {"then", "else"} else {}  # else it is that of the caller
        yield ValidationError(
            f"False schema does not allow {instance!r}", path=() if path is None else (path,), instance=instance, **own
        )

    return placed


def _searches(pattern: str, text: str) -> bool:
    found = holds_match(pattern, text)
    if found is None:
        raise ValidatorRefuses(f"the pattern {pattern!r} cannot be tried")
    return found


def _is_integer(value: Any, *, with_fraction: bool) -> bool:
    """Return whether a value is an integer.

    The package counts no ``Decimal`` as an integer.
    """
    return type_of(value) == "number" and is_integer(value, with_fraction=with_fraction)


def _multiple_of(validator: Any, of: Any, value: Any, _: Any) -> Iterator[ValidationError]:
    """Validate ``multipleOf`` in exact arithmetic, since the package's own check fails beyond 28 digits."""
    from jsonschema import ValidationError

    if validator.is_type(value, "number") and not is_multiple(value, of):
        yield ValidationError(f"{value} is not a multiple of {of}")


def _pattern(validator: Any, pattern: str, value: Any, _: Any) -> Iterator[ValidationError]:
    from jsonschema import ValidationError

    if validator.is_type(value, "string") and not _searches(pattern, value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, schemas: dict[str, Any], value: Any, _: Any) -> Iterator[ValidationError]:
    if not validator.is_type(value, "object"):
        return
    for pattern, schema in schemas.items():
        for name, item in value.items():
            if _searches(pattern, name):
                yield from validator.descend(item, schema, path=name, schema_path=pattern)


def _items(validator: Any, items: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    """Validate ``items`` of 2020-12, where the package's own error for ``false`` has no place."""
    if validator.is_type(value, "array"):
        begin = len(schema.get("prefixItems", ()))
        for index, item in enumerate(value[begin:], begin):
            yield from validator.descend(item, items, path=index)


def _additional_properties(validator: Any, rest: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    from jsonschema import ValidationError

    if not validator.is_type(value, "object"):
        return
    declared, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    extra = [name for name in value if name not in declared and not any(_searches(one, name) for one in patterns)]
    if validator.is_type(rest, "object"):
        for name in extra:
            yield from validator.descend(value[name], rest, path=name)
    elif rest is False and extra:
        names = ", ".join(map(repr, extra))
        yield ValidationError(f"Additional properties are not allowed ({names})")
