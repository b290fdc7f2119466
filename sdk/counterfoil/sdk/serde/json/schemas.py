"""The facts of a JSON schema about a value: whether it is valid, which of its parts describe it, and defaults."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol

from counterfoil.schema.compatibility import OutOfSteps
from counterfoil.schema.languages.jsonschema.document import UnresolvedReference
from counterfoil.schema.languages.jsonschema.schema import JsonSchema
from counterfoil.schema.languages.jsonschema.validator import (
    ROOT_URI,
    SchemaValidator,
    ValidatorRefuses,
    bundle,
    check_references,
    in_one_line,
    patterns_in,
    quote_exception,
)
from counterfoil.schema.languages.jsonschema.view.evaluation import Evaluator
from counterfoil.schema.languages.jsonschema.view.facts import ConstrainedSchema, KeywordFacts
from counterfoil.schema.languages.jsonschema.view.written import WrittenSchema, root_of
from counterfoil.schema.patterns.matching import is_too_large, spelled_pattern
from counterfoil.schema.patterns.syntax import PatternDialect
from counterfoil.schema.texts import excerpt
from counterfoil.sdk.errors import SchemaUnusable, ValidationError, Violation
from counterfoil.sdk.serde.json.text import TextOrder, exact_numbers, path_text

if TYPE_CHECKING:
    from counterfoil.schema.datum import Json, JsonObject
    from counterfoil.schema.languages.jsonschema.marks import BranchChoice


# Validation of values against a JSON schema, compiled once: by jsonschema-rs, or by jsonschema without it.
#
# Both give the same verdicts: formats are not asserted, numbers are compared exactly, references lead to the documents
# of the schema's references and to the drafts' metaschemas, and never to the network. Patterns are those of ECMA 262:
# for jsonschema-rs, whose dialect is another one, they are written so that they mean the same. A schema that
# jsonschema-rs cannot compile, such as one with a pattern that cannot be written for it, is left to jsonschema.

try:
    import jsonschema_rs as rust
except ImportError:
    rust = None  # type: ignore[assignment]  # the extra json has it


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

    def is_valid(self, value: Json, /) -> bool:
        """Return whether a value is valid; raise ``ValueError`` for a value that may have no form in JSON."""

    def accepts(self, value: Json, /) -> bool:
        """Return whether a JSON value is valid; False for one that cannot be validated, such as one nested too deep."""

    def violations(self, value: Json, /) -> list[Violation]:
        """Return what is wrong with a JSON value; empty if it is valid."""

    def first_violation(self, value: Json, /) -> Violation | None:
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
            _LOG.debug("jsonschema validates, since jsonschema-rs does not take the schema: %s", quote_exception(error))
    try:
        return PythonValidator(schema)
    except ValidatorRefuses as error:
        raise SchemaUnusable(f"The schema cannot be used: {error}") from error


def refuse_invalid(validator: Validator, value: object) -> NoReturn:
    """Raise ``ValidationError`` for a value that is not valid."""
    violations = validator.violations(value)
    shown = "; ".join(f"{one.path or 'the value'}: {one.message}" for one in violations[:_SHOWN])
    more = f"; and {len(violations) - _SHOWN} more" if len(violations) > _SHOWN else ""
    raise ValidationError(f"The value is not valid under its schema: {shown}{more}", violations=tuple(violations))


class RustValidator:
    """jsonschema-rs, for one schema; raises ``ValueError`` if it cannot compile the schema."""

    def __init__(self, schema: JsonSchema) -> None:
        for pattern in patterns_in(schema):
            if spelled_pattern(pattern, PatternDialect.RUST) is None:
                raise ValueError(f"the pattern {excerpt(pattern)!r} has no form in its dialect")
        self._pattern_by_spelling: dict[str, str] = {}
        bundled = bundle(schema, self._spelled)

        def retrieve(uri: str) -> Json:
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
        spelled = spelled_pattern(pattern, PatternDialect.RUST) or ""
        if spelled != pattern:
            self._pattern_by_spelling[spelled] = pattern
        return spelled

    @cached_property
    def _slower(self) -> PythonValidator:
        """The validator of values that jsonschema-rs does not take, such as those with more than 255 levels."""
        return PythonValidator(self._schema)

    def accepts(self, value: object) -> bool:
        """Return whether a JSON value is valid; False for one that cannot be validated."""
        try:
            return bool(self.is_valid(value))
        except _NOT_TAKEN:
            return self._slower.is_valid(value)

    def violations(self, value: object) -> list[Violation]:
        """Return what is wrong with a JSON value, in the order of the schema."""
        try:
            return [*self._violations(self._validator.iter_errors(value))][:_MAX_VIOLATIONS]
        except _NOT_TAKEN:
            return self._slower.violations(value)

    def first_violation(self, value: object) -> Violation | None:
        """Return the violation whose place comes first in the text of a JSON value; None if it is valid."""
        try:
            order = TextOrder(value)
            errors = self._validator.iter_errors(value)
            found = min(errors, key=lambda one: order.key(one.instance_path, lambda: one.instance), default=None)
            return None if found is None else next(self._violations([found]))
        except _NOT_TAKEN:
            return self._slower.first_violation(value)

    def _violations(self, errors: Iterable[Json], *, is_inner: bool = False) -> Iterator[Violation]:
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

    def is_valid(self, value: object) -> bool:
        """Return whether a value is valid; False if that cannot be decided."""
        try:
            return self._validator.accepts(exact_numbers(value))
        except (ValidatorRefuses, RecursionError):
            return False

    accepts = is_valid

    def violations(self, value: object) -> list[Violation]:
        """Return what is wrong with a JSON value, in the order of the schema."""
        try:
            failures = self._validator.failures(exact_numbers(value))
        except ValidatorRefuses as error:
            return [Violation("", "", str(error))]
        except RecursionError:
            return [Violation("", "", "arrays and objects are nested too deep to be validated")]
        return [Violation(path_text(one.path), one.keyword, one.message, one.is_inner) for one in failures]

    def first_violation(self, value: object) -> Violation | None:
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


# The schemas that certainly describe a JSON value: a schema, and those beside it.

_UNKNOWN: Final = object()
MAX_STEPS: Final = 200_000
"""How many steps an evaluator takes at most to find the branches that a value fits."""


def applicable(schema: ConstrainedSchema, value: object, evaluator: Evaluator) -> Iterator[ConstrainedSchema]:
    """Yield ``schema`` and the schemas beside it that certainly describe ``value``, each once."""
    found: dict[ConstrainedSchema, None] = {}
    waiting = [schema]
    while waiting:
        each = waiting.pop()
        if each in found:
            continue
        found[each] = None
        yield each
        facts = each.facts
        waiting += facts.all_of
        branches = [*(facts.any_of or ()), *(facts.one_of or ())]
        waiting += [branch for branch in branches if _fits(branch, value, evaluator)]
        if facts.condition is not None:
            holds = _fits(facts.condition, value, evaluator)
            chosen = (facts.condition, facts.consequence) if holds else (facts.alternative,)
            waiting += [one for one in chosen if one is not None]
        waiting += [
            needed for name, needed in facts.needed_schemas.items() if isinstance(value, dict) and name in value
        ]


class Fitting:
    """Finds, for the values of one message, the branches that they fit; its cost is bounded for the whole message.

    It fails closed: if it is not known whether a value fits a branch, it does, and a value that fits no branch has all.
    """

    def __init__(self) -> None:
        self._evaluator = Evaluator(MAX_STEPS)
        self._exact: list[Json] = []  # the evaluator knows values by identity, so that they must stay

    def choice(self, value: object) -> BranchChoice:
        """Return the choice of schemas for a value."""
        return _Choice(self, value)

    def exact(self, value: object) -> Json:
        """Return a value with exact numbers, as the evaluator needs it."""
        exact = exact_numbers(value)
        self._exact.append(exact)
        return exact

    def may_fit(self, schema: ConstrainedSchema, exact: object) -> bool:
        """Return False only if a value certainly does not fit a schema."""
        try:
            return self._evaluator.accepts(schema, exact) is not False
        except (OutOfSteps, RecursionError):
            return True


class _Choice:
    """The schemas that describe one value."""

    def __init__(self, fitting: Fitting, value: object) -> None:
        self._fitting = fitting
        self._value = value
        self._known: Json = _UNKNOWN

    @property
    def _exact(self) -> Json:
        if self._known is _UNKNOWN:
            self._known = self._fitting.exact(self._value)
        return self._known

    def branches(self, branches: Sequence[ConstrainedSchema]) -> Iterable[ConstrainedSchema]:
        return [each for each in branches if self._fitting.may_fit(each, self._exact)] or branches

    def conditional(self, facts: KeywordFacts) -> Iterable[ConstrainedSchema]:
        if facts.condition is None:
            return ()
        chosen = (
            (facts.condition, facts.consequence)
            if self._fitting.may_fit(facts.condition, self._exact)
            else (facts.alternative,)
        )
        return [each for each in chosen if each is not None]

    def needed(self, name: str) -> bool:
        return isinstance(self._value, dict) and name in self._value

    def contains(self, schema: ConstrainedSchema, index: int) -> bool:
        return self._fitting.may_fit(schema, self._exact[index])


def _fits(schema: ConstrainedSchema, value: object, evaluator: Evaluator) -> bool:
    try:
        return evaluator.accepts(schema, exact_numbers(value)) is True
    except (OutOfSteps, RecursionError):
        return False


# The defaults of a reader's schema, for properties that a message does not have.
#
# A default applies to an object that the property's schema certainly describes: through ``properties``, ``items``,
# ``additionalProperties``, ``patternProperties``, references, ``allOf``, the branches of ``anyOf`` and ``oneOf`` that
# the value fits, and ``if``, ``then``, ``else``. The value is tested before anything is added to it. A default is added
# as it is written: defaults inside it are not added to it. In drafts up to 7, a default beside ``$ref`` does not count,
# since nothing beside ``$ref`` counts there.

_NONE: Final = object()


def compile_defaults(schema: JsonSchema) -> Callable[[Json], None] | None:
    """Return a function that adds the defaults of ``schema`` to a value, in place; None if there are no defaults."""
    defaults = _Defaults()
    root = root_of(schema)
    if not defaults.are_below(root):
        return None

    def fill(value: object) -> None:
        defaults.fill(root, value, Evaluator(MAX_STEPS))

    return fill


class _Defaults:
    """The defaults of one schema text, found once for each schema in it."""

    def __init__(self) -> None:
        self._has_some: dict[ConstrainedSchema, bool] = {}
        self._own: dict[ConstrainedSchema, JsonObject] = {}

    def are_below(self, schema: ConstrainedSchema) -> bool:
        """Return whether any schema that ``schema`` leads to has a property with a default."""
        known = self._has_some.get(schema)
        if known is None:
            reached: dict[ConstrainedSchema, None] = {schema: None}
            waiting = [schema]
            while waiting:
                for each in _leads_to(waiting.pop()):
                    if each not in reached:
                        reached[each] = None
                        waiting.append(each)
            known = self._has_some[schema] = any(self._of(each) for each in reached)
        return known

    def _of(self, schema: ConstrainedSchema) -> JsonObject:
        """Return the defaults of the schema's own properties."""
        own = self._own.get(schema)
        if own is None:
            found = ((name, _default_of(each)) for name, each in schema.facts.properties.items())
            own = self._own[schema] = {name: default for name, default in found if default is not _NONE}
        return own

    def fill(self, schema: ConstrainedSchema, value: object, evaluator: Evaluator) -> None:
        """Add the defaults to ``value`` and to its members."""
        if not isinstance(value, dict | list) or not self.are_below(schema):
            return
        schemas = [*applicable(schema, value, evaluator)]
        for each in schemas:
            for inner, part in _parts(each, value):
                self.fill(inner, part, evaluator)
        if isinstance(value, dict):
            for each in schemas:
                for name, default in self._of(each).items():
                    if name not in value:
                        value[name] = deepcopy(default)


def _parts(schema: ConstrainedSchema, value: JsonObject | list[Json]) -> Iterator[tuple[ConstrainedSchema, Json]]:
    """Yield the properties or items of a value with the schemas for them in ``schema``."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from ((inner, part) for inner in schema.facts.property(name))
    else:
        for index, part in enumerate(value):
            inner = schema.facts.item(index)
            if inner is not None:
                yield inner, part


def _leads_to(schema: ConstrainedSchema) -> Iterator[ConstrainedSchema]:
    facts = schema.facts
    yield from facts.beside()
    yield from facts.properties.values()
    yield from facts.patterns.values()
    yield from facts.prefix
    yield from (
        each
        for each in (facts.additional, facts.items, facts.unevaluated_properties, facts.unevaluated_items)
        if each is not None
    )


def _default_of(schema: ConstrainedSchema) -> Json:
    """Return the default of a property's schema, or of the schemas that it refers to; ``_NONE`` without one."""
    waiting, seen = [schema], set[int]()
    while waiting:
        each = waiting.pop(0)
        if not isinstance(each, WrittenSchema) or id(each) in seen:
            continue
        seen.add(id(each))
        if "default" in each.keywords:
            return _as_read(each.keywords["default"])
        waiting += each.referred
    return _NONE


def _as_read(value: Json) -> Json:
    """Return a value of a schema's text as a message's value would be read: other numbers than integers are floats."""
    match value:
        case list():
            return [_as_read(item) for item in value]
        case dict():
            return {name: _as_read(item) for name, item in value.items()}
        case None | bool() | str() | int():
            return value
    return float(value)
