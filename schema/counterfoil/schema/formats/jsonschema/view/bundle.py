"""A schema and the documents that its references lead to, as validators of other projects need them.

Such a validator finds documents by URI and resolves relative references by RFC 3986 alone, while :mod:`..read.resolve`
knows more ways to name a document, such as the name of a registry's reference. So every reference is replaced by an
absolute URI with a JSON Pointer, to what that module finds for it. Nothing is ever fetched.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from counterfoil.schema.formats.jsonschema.read.drafts import metaschema
from counterfoil.schema.formats.jsonschema.read.keywords import subschemas
from counterfoil.schema.formats.jsonschema.read.resolve import UnresolvedReference, step_into
from counterfoil.schema.formats.jsonschema.read.values import plain
from counterfoil.schema.pointer import print_pointer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from counterfoil.schema.formats.jsonschema.read.resolve import Base
    from counterfoil.schema.formats.jsonschema.schema import JsonSchema

ROOT_URI: Final = "http://schema.invalid/"
"""The URI of the schema itself; of the domain that never exists (RFC 6761), and nothing requests it."""

_DYNAMIC: Final = ("$dynamicRef", "$recursiveRef")
_ANNOTATIONS: Final = ("contentEncoding", "contentMediaType")
_DEFINITIONS: Final = ("$defs", "definitions")
_UNESCAPED: Final = "/~!$&'()*+,;=:@"


@dataclass(frozen=True, slots=True)
class Bundle:
    """The schema as ``root``, whose URI is ``ROOT_URI``, and the documents that references lead to, by URI.

    Without the identifiers, to which nothing refers any more, and without annotations that some validators assert.
    """

    root: Any
    documents: dict[str, Any]


def bundle(schema: JsonSchema, respell: Callable[[str], str] | None = None, *, only_names: bool = False) -> Bundle:
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
        self._copy_by_name: dict[str, Any] = {}
        self._waiting: list[tuple[Any, Base]] = [(self._copy(""), schema.base)]
        self._seen: set[int] = set()
        self._keeps_identifiers = False
        self._refers_through_patterns = False

    def run(self) -> Bundle:
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
        return Bundle(documents.pop(ROOT_URI), documents)

    def _copy(self, name: str) -> Any:
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

    def _enter(self, value: dict[str, Any], base: Base) -> None:
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


def _respell_names(value: dict[str, Any], respell: Callable[[str], str]) -> bool:
    """Write the patterns in ``patternProperties`` of a schema in another way; return whether one of them changed."""
    held = value.get("patternProperties")
    if not isinstance(held, dict) or not held:
        return False
    spelled: dict[str, Any] = {}
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


def _followed(schema: JsonSchema) -> Iterator[dict[str, Any]]:
    """Yield the schemas that a validator may apply, each once."""
    resolver = schema.resolver
    waiting: list[tuple[Any, Base]] = [(schema.document, schema.base)]
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


def _references_of(value: dict[str, Any]) -> Iterator[str]:
    for keyword in ("$ref", *_DYNAMIC):
        if isinstance(value.get(keyword), str):
            yield value[keyword]
