"""Validation of values against a JSON schema, compiled once: by jsonschema-rs, or by jsonschema without it.

Both give the same verdicts: formats are not asserted, numbers are compared exactly, references lead to the documents of
the schema's references and to the drafts' metaschemas, and never to the network. Patterns are those of ECMA 262: for
jsonschema-rs, whose dialect is another one, they are written so that they mean the same. A schema that jsonschema-rs
cannot compile, such as one with a pattern that cannot be written for it, is left to jsonschema.
"""

from __future__ import annotations

import logging
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol

from counterfoil.schema.ecma.spelling import Dialect
from counterfoil.schema.excerpt import excerpt
from counterfoil.schema.formats.jsonschema.read.patterns import is_too_large, spelled_pattern
from counterfoil.schema.formats.jsonschema.read.resolve import UnresolvedReference
from counterfoil.schema.formats.jsonschema.view.bundle import ROOT_URI, bundle, check_references, patterns_in
from counterfoil.schema.formats.jsonschema.witness.validator import (
    SchemaValidator,
    ValidatorRefuses,
    in_one_line,
    quote,
)
from counterfoil.sdk.errors import SchemaUnusable, ValidationError, Violation
from counterfoil.sdk.serde.json_codec.paths import TextOrder, path_text
from counterfoil.sdk.serde.json_codec.read_text import exact_numbers

try:
    import jsonschema_rs as rust
except ImportError:
    rust = None  # type: ignore[assignment]  # the extra json has it

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from counterfoil.schema.formats.jsonschema.schema import JsonSchema

_LOG = logging.getLogger(__name__)
_SHOWN: Final = 3
_MAX_VIOLATIONS: Final = 40
_NOT_TAKEN: Final = (ValueError, TypeError, OverflowError, RecursionError)
"""What jsonschema-rs raises for values of JSON that it does not take."""
_OF_NAMES: Final = frozenset(
    {"properties", "patternProperties", "dependentSchemas", "dependentRequired", "dependencies"}
)


class Validator(Protocol):
    """A validator of one schema."""

    def is_valid(self, value: Any, /) -> bool:
        """Return whether a value is valid; raise ``ValueError`` for a value that may have no form in JSON."""

    def accepts(self, value: Any, /) -> bool:
        """Return whether a JSON value is valid; False for one that cannot be validated, such as one nested too deep."""

    def violations(self, value: Any, /) -> list[Violation]:
        """Return what is wrong with a JSON value; empty if it is valid."""

    def first_violation(self, value: Any, /) -> Violation | None:
        """Return the violation whose place comes first in the text of a JSON value; None if it is valid.

        A value comes before its parts, so that the place does not depend on the order in which a package validates.
        """


def compile_validator(schema: JsonSchema) -> Validator:
    """Return the validator of a schema. Raises ``SchemaUnusable``.

    A reference without a target makes a schema unusable, and so does a pattern that is too large to be tried.
    """
    try:
        check_references(schema)
    except UnresolvedReference as error:
        problem = f"{error}; nothing is fetched: register that document, and name it in the schema's references"
        raise SchemaUnusable(f"The schema cannot be used: {problem}", reference=error.reference) from error
    large = next(filter(is_too_large, patterns_in(schema)), None)
    if large is not None:
        raise SchemaUnusable(
            f"The schema cannot be used: the pattern {excerpt(large)!r} is too large to be tried; "
            "write it with smaller least counts in its repetitions"
        )
    if rust is not None:
        try:
            return RustValidator(schema)
        except ValueError as error:
            _LOG.debug("jsonschema validates, since jsonschema-rs does not take the schema: %s", quote(error))
    try:
        return PythonValidator(schema)
    except ValidatorRefuses as error:
        raise SchemaUnusable(f"The schema cannot be used: {error}") from error


def refuse_invalid(validator: Validator, value: Any) -> NoReturn:
    """Raise ``ValidationError`` for a value that is not valid."""
    violations = validator.violations(value)
    shown = "; ".join(f"{one.path or 'the value'}: {one.message}" for one in violations[:_SHOWN])
    more = f"; and {len(violations) - _SHOWN} more" if len(violations) > _SHOWN else ""
    raise ValidationError(f"The value is not valid under its schema: {shown}{more}", violations=tuple(violations))


class RustValidator:
    """jsonschema-rs, for one schema; raises ``ValueError`` if it cannot compile the schema."""

    def __init__(self, schema: JsonSchema) -> None:
        for pattern in patterns_in(schema):
            if spelled_pattern(pattern, Dialect.RUST) is None:
                raise ValueError(f"the pattern {excerpt(pattern)!r} has no form in its dialect")
        self._pattern_by_spelling: dict[str, str] = {}
        bundled = bundle(schema, self._spelled)

        def retrieve(uri: str) -> Any:
            try:
                return bundled.documents[uri]
            except KeyError:
                raise LookupError(f"nothing is fetched, and no reference is named {uri}") from None

        compiled = getattr(rust, schema.draft.validator)
        self._validator = compiled(bundled.root, validate_formats=False, retriever=retrieve, base_uri=ROOT_URI)
        self.is_valid = self._validator.is_valid
        self._schema = schema

    def _spelled(self, pattern: str) -> str:
        """Return a pattern for jsonschema-rs; an empty one for a pattern that is never tried."""
        spelled = spelled_pattern(pattern, Dialect.RUST) or ""
        if spelled != pattern:
            self._pattern_by_spelling[spelled] = pattern
        return spelled

    @cached_property
    def _slower(self) -> PythonValidator:
        """The validator of values that jsonschema-rs does not take, such as those with more than 255 levels."""
        return PythonValidator(self._schema)

    def accepts(self, value: Any) -> bool:
        """Return whether a JSON value is valid; False for one that cannot be validated."""
        try:
            return bool(self.is_valid(value))
        except _NOT_TAKEN:
            return self._slower.is_valid(value)

    def violations(self, value: Any) -> list[Violation]:
        """Return what is wrong with a JSON value, in the order of the schema."""
        try:
            return [*self._violations(self._validator.iter_errors(value))][:_MAX_VIOLATIONS]
        except _NOT_TAKEN:
            return self._slower.violations(value)

    def first_violation(self, value: Any) -> Violation | None:
        """Return the violation whose place comes first in the text of a JSON value; None if it is valid."""
        try:
            order = TextOrder(value)
            errors = self._validator.iter_errors(value)
            found = min(errors, key=lambda one: order.key(one.instance_path, lambda: one.instance), default=None)
            return None if found is None else next(self._violations([found]))
        except _NOT_TAKEN:
            return self._slower.first_violation(value)

    def _violations(self, errors: Iterable[Any], *, is_inner: bool = False) -> Iterator[Violation]:
        for error in errors:
            keyword = _keyword_of(error.evaluation_path)
            yield Violation(path_text(error.instance_path), keyword, self._message(error, keyword), is_inner)
            for branch in getattr(error.kind, "context", ()):
                yield from self._violations(branch, is_inner=True)

    def _message(self, error: Any, keyword: str) -> str:
        """Return the message of an error, with a pattern as it is written in the schema."""
        text = str(error.message)
        for spelled, pattern in self._pattern_by_spelling.items() if keyword == "pattern" else ():
            if text.endswith(f'"{spelled}"'):
                text = f'{text[: -len(spelled) - 2]}"{pattern}"'
                break
        return in_one_line(text)


class PythonValidator:
    """jsonschema, for one schema; raises ``ValidatorRefuses`` if it cannot process the schema."""

    def __init__(self, schema: JsonSchema) -> None:
        self._validator = SchemaValidator(schema)

    def is_valid(self, value: Any) -> bool:
        """Return whether a value is valid; False if that cannot be decided."""
        try:
            return self._validator.accepts(exact_numbers(value))
        except (ValidatorRefuses, RecursionError):
            return False

    accepts = is_valid

    def violations(self, value: Any) -> list[Violation]:
        """Return what is wrong with a JSON value, in the order of the schema."""
        try:
            failures = self._validator.failures(exact_numbers(value))
        except ValidatorRefuses as error:
            return [Violation("", "", str(error))]
        except RecursionError:
            return [Violation("", "", "arrays and objects are nested too deep to be validated")]
        return [Violation(path_text(one.path), one.keyword, one.message, one.is_inner) for one in failures]

    def first_violation(self, value: Any) -> Violation | None:
        """Return the violation whose place comes first in the text of a JSON value; None if it is valid."""
        try:
            failures = self._validator.failures(exact_numbers(value))
        except (ValidatorRefuses, RecursionError):
            return next(iter(self.violations(value)), None)
        outer = [one for one in failures if not one.is_inner]
        order = TextOrder(value)
        found = min(outer, key=lambda one: order.key(one.path), default=None)
        return None if found is None else Violation(path_text(found.path), found.keyword, found.message)


def _keyword_of(schema_path: Iterable[str | int]) -> str:
    """Return the last keyword of a path in a schema, which also has names of properties and numbers of branches."""
    keyword, is_name = "", False
    for part in schema_path:
        if is_name:
            is_name = False
        elif isinstance(part, str):
            keyword, is_name = part, part in _OF_NAMES
    return keyword
