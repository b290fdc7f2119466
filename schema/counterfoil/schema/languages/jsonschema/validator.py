"""The validator of another project, the package jsonschema: a schema bundled with its references, and its failures."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import quote

from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.languages.jsonschema.document import (
    Base,
    Draft,
    UnresolvedReference,
    metaschema,
    specifications,
    step_into,
    subschemas,
)
from counterfoil.schema.languages.jsonschema.json_values import is_integer, is_multiple, plain, type_of
from counterfoil.schema.languages.jsonschema.schema import JsonSchema
from counterfoil.schema.patterns.matching import holds_match, spelled_pattern
from counterfoil.schema.patterns.syntax import PatternDialect
from counterfoil.schema.texts import excerpt, print_pointer

if TYPE_CHECKING:
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator


# A schema and the documents that its references lead to, as validators of other projects need them.
#
# Such a validator finds documents by URI and resolves relative references by RFC 3986 alone, while
# :mod:`~counterfoil.schema.languages.jsonschema.document` knows more ways to name a document, such as the name of a
# registry's reference. So every reference is replaced by an absolute URI with a JSON Pointer, to what that module finds
# for it. Nothing is ever fetched.

ROOT_URI: Final = "http://schema.invalid/"
"""The URI of the schema itself; of the domain that never exists (RFC 6761), and nothing requests it."""

_DYNAMIC: Final = ("$dynamicRef", "$recursiveRef")
_ANNOTATIONS: Final = ("contentEncoding", "contentMediaType")
_DEFINITIONS: Final = ("$defs", "definitions")
_UNESCAPED: Final = "/~!$&'()*+,;=:@"


@dataclass(frozen=True, slots=True)
class BundledSchema:
    """The schema as ``root``, whose URI is ``ROOT_URI``, and the documents that references lead to, by URI.

    Without the identifiers, to which nothing refers any more, and without annotations that some validators assert.
    """

    root: Json
    documents: JsonObject


def bundle(
    schema: JsonSchema, respell: Callable[[str], str] | None = None, *, only_names: bool = False
) -> BundledSchema:
    """Return a schema and its documents; references that lead nowhere are left as they are.

    ``respell`` returns the text of a pattern for the validator, whose dialect of patterns may be another one;
    with ``only_names``, only for ``patternProperties``. Raises ``ValueError`` if a reference leads through a pattern
    whose text changes.
    """
    return _Bundling(schema, respell, only_names=only_names).run()


class _Bundling:
    """Copies of a schema and its documents, by name, in which references are replaced one after the other."""

    def __init__(self, schema: JsonSchema, respell: Callable[[str], str] | None, *, only_names: bool) -> None:
        self._schema = schema
        self._respell = respell
        self._only_names = only_names
        self._resolver = schema.resolver
        self._copy_by_name: JsonObject = {}
        self._waiting: list[tuple[Json, Base]] = [(self._copy(""), schema.base)]
        self._seen: set[int] = set()
        self._keeps_identifiers = False
        self._refers_through_patterns = False

    def run(self) -> BundledSchema:
        entered = []
        while self._waiting:
            value, base = self._waiting.pop()
            if isinstance(value, dict) and id(value) not in self._seen:
                self._seen.add(id(value))
                entered.append((value, base))
                self._enter(value, base)
        if not self._keeps_identifiers:
            for value, base in entered:
                value.pop(base.draft.id_keyword, None)
        if self._respell is not None:
            for value, _ in entered:
                if not self._only_names and isinstance(value.get("pattern"), str):
                    value["pattern"] = self._respell(value["pattern"])
                if _respell_names(value, self._respell) and self._refers_through_patterns:
                    raise ValueError("a reference leads through a pattern that is written in another way")
        documents = {self._uri(name): copy for name, copy in self._copy_by_name.items()}
        return BundledSchema(documents.pop(ROOT_URI), documents)

    def _copy(self, name: str) -> Json:
        """Return the copy of a document, which names its draft."""
        if name not in self._copy_by_name:
            document = self._schema.references[name] if name else self._schema.document
            copy = plain(document)
            if isinstance(copy, dict):
                copy["$schema"] = self._resolver.base_of(name).draft.value
            self._copy_by_name[name] = copy
        return self._copy_by_name[name]

    def _uri(self, name: str) -> str:
        return f"{ROOT_URI}{[*self._schema.references].index(name)}" if name else ROOT_URI

    def _enter(self, value: JsonObject, base: Base) -> None:
        self._waiting += [
            (child, self._resolver.enter(child, base.below(*steps))) for steps, child in subschemas(value)
        ]
        for keyword in _ANNOTATIONS:
            value.pop(keyword, None)
        self._keeps_identifiers = self._keeps_identifiers or any(keyword in value for keyword in _DYNAMIC)
        reference = value.get("$ref")
        if not isinstance(reference, str):
            return
        try:
            _, place = self._resolver.resolve(reference, base)
        except UnresolvedReference:
            return
        self._refers_through_patterns = self._refers_through_patterns or "patternProperties" in place.pointer
        is_own = not place.document or place.document in self._schema.references
        uri = self._uri(place.document) if is_own else place.document
        value["$ref"] = f"{uri}#{quote(print_pointer(place.pointer), safe=_UNESCAPED)}"
        if is_own:  # the target may be where no keyword leads
            self._waiting.append((step_into(self._copy(place.document), place.pointer), place))


def _respell_names(value: JsonObject, respell: Callable[[str], str]) -> bool:
    """Write the patterns in ``patternProperties`` of a schema in another way; return whether one of them changed."""
    held = value.get("patternProperties")
    if not isinstance(held, dict) or not held:
        return False
    spelled: JsonObject = {}
    for each, below in held.items():
        text = respell(each)
        spelled[text] = {"allOf": [spelled[text], below]} if text in spelled else below  # two that mean the same
    value["patternProperties"] = spelled
    return spelled.keys() != held.keys()


def check_references(schema: JsonSchema) -> None:
    """Raise ``UnresolvedReference`` for the first reference without a target that a validator may follow."""
    deque(_followed(schema), maxlen=0)


def patterns_in(schema: JsonSchema) -> Iterator[str]:
    """Yield the patterns that a validator may try; raise ``UnresolvedReference`` as :func:`check_references` does."""
    for value in _followed(schema):
        pattern, held = value.get("pattern"), value.get("patternProperties")
        if isinstance(pattern, str):
            yield pattern
        if isinstance(held, dict):
            yield from held


def has_keyword(schema: JsonSchema, keyword: str) -> bool:
    """Return whether a validator may apply a keyword; raise ``UnresolvedReference`` as the function above does."""
    return any(keyword in value for value in _followed(schema))


def _followed(schema: JsonSchema) -> Iterator[JsonObject]:
    """Yield the schemas that a validator may apply, each once."""
    resolver = schema.resolver
    waiting: list[tuple[Json, Base]] = [(schema.document, schema.base)]
    seen: set[int] = set()
    while waiting:
        value, base = waiting.pop()
        if not isinstance(value, dict) or id(value) in seen or metaschema(base.document) is not None:
            continue
        seen.add(id(value))
        waiting.extend(resolver.resolve(reference, base) for reference in _references_of(value))
        if base.draft.is_modern or not isinstance(value.get("$ref"), str):  # else what is beside it is ignored
            yield value
            waiting.extend(
                (child, resolver.enter(child, base.below(*steps)))
                for steps, child in subschemas(value)
                if steps[0] not in _DEFINITIONS
            )


def _references_of(value: JsonObject) -> Iterator[str]:
    for keyword in ("$ref", *_DYNAMIC):
        if isinstance(value.get(keyword), str):
            yield value[keyword]


# The validator of another project: the package jsonschema, with one validator for a schema and all its references.
#
# Formats are not asserted. References lead to the schema's own documents and to the drafts' metaschemas, never to the
# network. Patterns are searched by the package ``regex``, which has a time limit.

_MAX_FAILURES: Final = 40


class ValidatorRefuses(CounterfoilError):
    """The error for a schema or a value that jsonschema cannot process; it proves nothing about either."""


@dataclass(frozen=True, slots=True)
class ValidationFailure:
    """A failure that a validator found: the place in the value, the keyword that fails, and the message.

    ``limit`` is the keyword's value. ``is_inner``: the failure is in one branch of a combination.
    """

    path: tuple[str | int, ...]
    keyword: str
    limit: Json
    message: str
    is_inner: bool


class SchemaValidator:
    """A validator for one schema; raises ``ValidatorRefuses`` if the package cannot process the schema."""

    def __init__(self, schema: JsonSchema) -> None:
        try:
            self._validator = _compiled(schema)
        except Exception as refused:  # such as an identifier that is not a string
            raise ValidatorRefuses(f"jsonschema does not take the schema: {quote_exception(refused)}") from refused

    def accepts(self, value: Json) -> bool:
        """Return whether ``value`` is valid; raise ``ValidatorRefuses`` if the package cannot decide."""
        try:
            return bool(self._validator.is_valid(value))
        except Exception as refused:  # an exception because of a pattern, a number or a reference proves nothing
            raise ValidatorRefuses(f"jsonschema cannot tell: {quote_exception(refused)}") from refused

    def failures(self, value: Json) -> list[ValidationFailure]:
        """Return all failures of ``value``, including those inside combinations; empty if it is valid."""
        try:
            return [*_failures(self._validator.iter_errors(value))][:_MAX_FAILURES]
        except Exception as refused:  # as above
            raise ValidatorRefuses(f"jsonschema cannot tell: {quote_exception(refused)}") from refused


@cache
def validator_name() -> str:
    """Return the validator and its version, such as ``jsonschema 4.26.0``."""
    from importlib.metadata import version

    return f"jsonschema {version('jsonschema')}"


def quote_exception(exception: Exception) -> str:
    """Return the message of an exception on one line, shortened."""
    return in_one_line(str(getattr(exception, "message", exception)))


def in_one_line(message: str) -> str:
    """Return a message of the package, or of one like it, on one line, shortened."""
    return excerpt(re.sub(r"Decimal\('([^']*)'\)", r"\1", " ".join(message.split())), 200)


def _failures(
    errors: Iterable[ValidationError], outer: str = "", *, is_inner: bool = False
) -> Iterator[ValidationFailure]:
    for error in errors:
        keyword = error.validator if isinstance(error.validator, str) else outer  # the schema false has none of its own
        yield ValidationFailure(
            tuple(error.absolute_path), keyword, error.validator_value, quote_exception(error), is_inner
        )
        yield from _failures(error.context or (), keyword, is_inner=True)


def _compiled(schema: JsonSchema) -> Validator:
    bundled = _bundled(schema)
    documents = {ROOT_URI: bundled.root, **bundled.documents}
    wrapped = {
        uri: one if isinstance(one, dict) else {"$schema": schema.draft.value, "allOf": [one]}
        for uri, one in documents.items()
    }
    return _class_for(schema.draft)(bundled.root, registry=specifications().with_contents(wrapped.items()))


def _bundled(schema: JsonSchema) -> BundledSchema:
    """Return a schema with its documents; the package finds evaluated properties with the module ``re`` alone."""
    try:
        if has_keyword(schema, "unevaluatedProperties"):
            return bundle(schema, lambda text: spelled_pattern(text, PatternDialect.RE) or text, only_names=True)
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


def _descend_of(validator_class: Json) -> Callable[..., Iterator[ValidationError]]:
    """Return the method ``descend``, whose errors at the schema ``false`` have their place and their keyword, too."""
    descend = validator_class.descend

    def placed(
        self: Json, instance: Json, schema: Json, *, path: Json = None, schema_path: Json = None, resolver: Json = None
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


def _is_integer(value: object, *, with_fraction: bool) -> bool:
    """Return whether a value is an integer.

    The package counts no ``Decimal`` as an integer.
    """
    return type_of(value) == "number" and is_integer(value, with_fraction=with_fraction)


def _multiple_of(validator: Json, of: Json, value: Json, _: Json) -> Iterator[ValidationError]:
    """Validate ``multipleOf`` in exact arithmetic, since the package's own check fails beyond 28 digits."""
    from jsonschema import ValidationError

    if validator.is_type(value, "number") and not is_multiple(value, of):
        yield ValidationError(f"{value} is not a multiple of {of}")


def _pattern(validator: Json, pattern: str, value: Json, _: Json) -> Iterator[ValidationError]:
    from jsonschema import ValidationError

    if validator.is_type(value, "string") and not _searches(pattern, value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _pattern_properties(validator: Json, schemas: JsonObject, value: Json, _: Json) -> Iterator[ValidationError]:
    if not validator.is_type(value, "object"):
        return
    for pattern, schema in schemas.items():
        for name, item in value.items():
            if _searches(pattern, name):
                yield from validator.descend(item, schema, path=name, schema_path=pattern)


def _items(validator: Json, items: Json, value: Json, schema: Json) -> Iterator[ValidationError]:
    """Validate ``items`` of 2020-12, where the package's own error for ``false`` has no place."""
    if validator.is_type(value, "array"):
        begin = len(schema.get("prefixItems", ()))
        for index, item in enumerate(value[begin:], begin):
            yield from validator.descend(item, items, path=index)


def _additional_properties(validator: Json, rest: Json, value: Json, schema: Json) -> Iterator[ValidationError]:
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
