"""A JSON schema as a document: its draft, the keywords that contain schemas, and the targets of its references."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Final
from urllib.parse import unquote, urljoin

from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.texts import Pointer, print_pointer

# The drafts of JSON Schema: which one a document uses, and the names of its keywords.
#
# Source: the core specifications of draft-04, draft-06, draft-07, 2019-09 and 2020-12.


class Draft(Enum):
    """A version of JSON Schema; the value is the URI of its metaschema, without a fragment. Ordered by age."""

    DRAFT_4 = "http://json-schema.org/draft-04/schema"
    DRAFT_6 = "http://json-schema.org/draft-06/schema"
    DRAFT_7 = "http://json-schema.org/draft-07/schema"
    DRAFT_2019_09 = "https://json-schema.org/draft/2019-09/schema"
    DRAFT_2020_12 = "https://json-schema.org/draft/2020-12/schema"

    @cached_property
    def is_modern(self) -> bool:
        """Whether it is 2019-09 or later, with ``$anchor``, ``$defs`` and keywords beside ``$ref``."""
        return self in (Draft.DRAFT_2019_09, Draft.DRAFT_2020_12)

    @cached_property
    def id_keyword(self) -> str:
        """The keyword for the URI of a schema: ``id`` in draft-04, ``$id`` since."""
        return "id" if self is Draft.DRAFT_4 else "$id"

    @property
    def validator(self) -> str:
        """The name of its validator in the packages jsonschema and jsonschema_rs, such as ``Draft201909Validator``."""
        return f"{self.name.title().replace('_', '')}Validator"


DEFAULT_DRAFT: Final = Draft.DRAFT_7
"""The draft of a document without ``$schema``, or with an unknown one."""

_DRAFT_BY_URI: Final[Mapping[str, Draft]] = {
    f"{scheme}://{draft.value.partition('://')[2]}": draft for draft in Draft for scheme in ("http", "https")
}


def draft_of(document: object, *, default: Draft = DEFAULT_DRAFT) -> Draft:
    """Return the draft that a document's ``$schema`` names; ``default`` if it is absent or unknown.

    >>> draft_of({"$schema": "http://json-schema.org/draft-04/schema#"})
    <Draft.DRAFT_4: 'http://json-schema.org/draft-04/schema'>
    """
    named = document.get("$schema") if isinstance(document, dict) else None
    return _DRAFT_BY_URI.get(named.strip().rstrip("#"), default) if isinstance(named, str) else default


def metaschema(uri: str) -> Json | None:
    """Return the document of a draft's metaschema, or of one of its vocabularies, by URI; None for any other URI.

    The documents are in an installed package; nothing is fetched.
    """
    if "json-schema.org/" not in uri:
        return None
    known = specifications()
    resource = known.get(uri) or known.get(uri + "#")
    return resource.contents if resource else None


def specifications() -> Json:
    """Return the registry of the package ``referencing`` that contains the metaschemas of every draft."""
    from jsonschema import validators

    return validators.SPECIFICATIONS  # type: ignore[attr-defined]  # the stubs leave it out


# The keywords that contain schemas, and the form in which they contain them.
#
# Source: the applicator keywords of draft-04 to 2020-12.

ONE_SCHEMA: Final = frozenset(
    {
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
"""Keywords whose value is a schema; ``items`` may be a list of schemas."""

SCHEMA_LIST: Final = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
"""Keywords whose value is a list of schemas."""

SCHEMA_MAP: Final = frozenset(
    {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)
"""Keywords whose value is an object of schemas; ``dependencies`` may also contain lists of names."""


def subschemas(schema: object) -> Iterator[tuple[tuple[str | int, ...], Json]]:
    """Yield the schemas directly inside ``schema``, each with its steps; values of a wrong shape are left out.

    >>> [steps for steps, _ in subschemas({"items": [True], "properties": {"a": {}}, "not": {}})]
    [('items', 0), ('properties', 'a'), ('not',)]
    """
    if not isinstance(schema, dict):
        return
    for keyword, value in schema.items():
        if isinstance(value, list) and keyword in SCHEMA_LIST:
            for index, item in enumerate(value):
                if isinstance(item, dict | bool):
                    yield (keyword, index), item
        elif isinstance(value, dict | bool) and keyword in ONE_SCHEMA:
            yield (keyword,), value
        elif isinstance(value, dict) and keyword in SCHEMA_MAP:
            for name, item in value.items():
                if isinstance(item, dict | bool):
                    yield (keyword, name), item


# The resolution of references: from the text of a ``$ref`` to its target, inside one document or across several.
#
# Documents have a name (of a registry's reference), the ``$id`` of the document or of a part of it, or the URI of a
# draft's metaschema. Nothing is ever fetched. A place in ``$defs`` that a document does not have is looked for in its
# ``definitions``, in every draft: the reference registry copies the one into the other before it loads a document.
#
# Source: RFC 3986 (resolution of relative references), RFC 6901 (JSON pointers), and the core specifications of the
# drafts for ``id``, ``$id``, ``$anchor``, ``$dynamicAnchor`` and ``$recursiveAnchor``.

_NOTHING: Final = object()


@dataclass(frozen=True, slots=True)
class Base:
    """The position of a value, against which its references are resolved.

    ``document`` is the name of the document: empty for the schema's own text, else the name of a reference or the URI
    of a metaschema. ``pointer`` is the value's JSON Pointer in it, ``uri`` the base URI (without fragment, empty if no
    ``$id`` sets one), ``draft`` the draft that applies.
    """

    document: str
    pointer: Pointer
    uri: str
    draft: Draft

    def below(self, *steps: str | int) -> Base:
        """Return the position of a value inside this one.

        Use ``ReferenceResolver.enter`` for a value that may have an ``$id``.
        """
        return Base(self.document, self.pointer + steps, self.uri, self.draft)


class UnresolvedReference(InvalidSchema):
    """A reference without a target: its text ``reference``, its position ``base``, and the ``known`` documents."""

    def __init__(self, reference: str, base: Base, known: tuple[str, ...]) -> None:
        asked_by = f"{base.document or 'the schema'}#{print_pointer(base.pointer)}"
        names = ", ".join(known) or "no references"
        super().__init__(f"Unresolved reference {reference!r}, asked for by {asked_by}; known: {names}")
        self.reference = reference
        self.base = base
        self.known = known


class ReferenceResolver:
    """The resolver of one schema's references: in its own document and in those of its references, by name."""

    def __init__(self, document: object, documents: Mapping[str, object], draft: Draft) -> None:
        self._documents: JsonObject = {"": document, **documents}
        self._known = tuple(documents)
        self._draft = draft
        self._place_by_uri: dict[str, tuple[Json, Base]] = {}
        self._place_by_anchor: dict[tuple[str, str], tuple[Json, Base]] = {}
        self._place_by_dynamic_anchor: dict[tuple[str, str], tuple[Json, Base]] = {}
        self.root = self.enter(document, Base("", (), "", draft))
        self._is_indexed = False

    @property
    def documents(self) -> Mapping[str, Json]:
        """The documents by name: the schema's own under the empty name, and those of its references."""
        return self._documents

    def enter(self, value: object, base: Base) -> Base:
        """Return ``base`` with the URI of the schema's ``$id`` and the draft of its ``$schema``, if it has them."""
        if not isinstance(value, dict):
            return base
        draft = draft_of(value, default=base.draft) if "$schema" in value else base.draft
        identity = value.get(draft.id_keyword)
        is_hidden = "$ref" in value and not draft.is_modern
        if isinstance(identity, str) and not is_hidden and not identity.startswith("#"):
            return replace(base, uri=_join(base.uri, identity)[0], draft=draft)
        return base if draft is base.draft else replace(base, draft=draft)

    def resolve(self, reference: str, base: Base) -> tuple[Json, Base]:
        """Return the value to which ``reference`` at ``base`` leads, and the position of that value.

        Raises ``UnresolvedReference``.
        """
        uri, fragment = _join(base.uri, reference)
        if base.document == "" and reference.startswith("#/") and base.uri == self.root.uri:
            found: tuple[Json, Base] | None = (self._documents[""], self.root)
        else:
            self._index_all()
            found = self._resource(uri, reference, base)
        if found is not None:
            value, place = self._in_resource(found, uri, fragment)
            if value is not _NOTHING:
                return value, place
        raise UnresolvedReference(reference, base, self._known)

    def resolve_dynamic(self, reference: str, base: Base) -> tuple[Json, Base]:
        """Return the target of a ``$dynamicRef`` or ``$recursiveRef``, when the schema's own document is evaluated.

        The first target is replaced by the dynamic anchor of the same name in the schema's own document, if both exist,
        since that document is the outermost.
        """
        value, place = self.resolve(reference, base)
        if reference == "#" and not (isinstance(value, dict) and value.get("$recursiveAnchor") is True):
            return value, place
        anchor = "" if reference == "#" else reference.partition("#")[2]
        if anchor and not (isinstance(value, dict) and value.get("$dynamicAnchor") == anchor):
            return value, place
        self._index_all()
        return self._place_by_dynamic_anchor.get((self.root.uri, anchor), (value, place))

    @property
    def has_one_resource(self) -> bool:
        """Whether there is a single document, in which no part has an identifier of its own.

        Then the targets of dynamic references are known, whatever schema led to them.
        """
        self._index_all()
        return len(self._place_by_uri) == 1

    def _resource(self, uri: str, reference: str, base: Base) -> tuple[Json, Base] | None:
        """Return the document, or the part of one with its own ``$id``, for a URI; None if it is unknown."""
        if reference.startswith("#") and uri == self.base_of(base.document).uri and uri not in self._place_by_uri:
            return self._documents[base.document], self.base_of(base.document)
        found = self._place_by_uri.get(uri)
        if found is not None and (uri or base.document == ""):
            return found
        for name in (reference.partition("#")[0], uri, uri.rpartition("/")[2]):
            if name and name in self._documents:
                return self._documents[name], self.base_of(name)
        return self._load_metaschema(uri)

    def base_of(self, name: str) -> Base:
        """Return the position of the root of a document."""
        if name == "":
            return self.root
        document = self._documents[name]
        return self.enter(document, Base(name, (), name, self._draft))

    def _load_metaschema(self, uri: str) -> tuple[Json, Base] | None:
        document = metaschema(uri)
        if document is None:
            return None
        self._documents[uri] = document
        self._index(uri)
        return document, self.base_of(uri)

    def _in_resource(self, resource: tuple[Json, Base], uri: str, fragment: str) -> tuple[Json, Base]:
        value, base = resource
        if not base.pointer:
            fragment = _in_definitions(value, fragment)
        if fragment and not fragment.startswith("/"):
            place = self._place_by_anchor.get((base.uri or uri, fragment)) or self._place_by_anchor.get((uri, fragment))
            return place or (_NOTHING, base)
        for step in fragment.split("/")[1:]:
            name = _unescaped(step)
            key = int(name) if isinstance(value, list) and _is_index(name) else name
            value = _inside(value, key)
            if value is _NOTHING:
                return _NOTHING, base
            base = self.enter(value, base.below(key))
        return value, base

    def _index_all(self) -> None:
        """Index every document once, when the first reference needs more than a place in its own document."""
        if not self._is_indexed:
            self._is_indexed = True
            for name in (*self._known, ""):  # the schema's own $id overrides an equal one in another document
                self._index(name)

    def _index(self, name: str) -> None:
        """Index every ``$id`` and anchor of a document; each schema is visited once, without recursion."""
        root = self.root if name == "" else self.base_of(name)
        self._place_by_uri[root.uri] = (self._documents[name], root)
        waiting: list[tuple[Json, Base]] = [(self._documents[name], root)]
        while waiting:
            value, base = waiting.pop()
            if isinstance(value, dict):
                self._note(value, base)
                for steps, child in subschemas(value):
                    if isinstance(child, dict):
                        waiting.append((child, self.enter(child, base.below(*steps))))

    def _note(self, value: JsonObject, base: Base) -> None:
        identity = value.get(base.draft.id_keyword)
        if isinstance(identity, str) and ("$ref" not in value or base.draft.is_modern):
            if not identity.startswith("#"):
                self._place_by_uri.setdefault(base.uri, (value, base))
            if not base.draft.is_modern and "#" in identity:
                self._place_by_anchor.setdefault((base.uri, identity.partition("#")[2]), (value, base))
        for keyword in ("$anchor", "$dynamicAnchor"):
            anchor = value.get(keyword)
            if isinstance(anchor, str) and base.draft.is_modern:
                self._place_by_anchor.setdefault((base.uri, anchor), (value, base))
        dynamic = "" if value.get("$recursiveAnchor") is True else value.get("$dynamicAnchor")
        if isinstance(dynamic, str):
            self._place_by_dynamic_anchor.setdefault((base.uri, dynamic), (value, base))


def step_into(document: object, pointer: Pointer) -> Json:
    """Return the value at a pointer that leads to one in ``document``."""
    for step in pointer:
        document = _inside(document, step)
    return document


def _join(base_uri: str, reference: str) -> tuple[str, str]:
    """Return the absolute URI of a reference without its fragment, and the fragment without percent encoding."""
    uri, _, fragment = join_uris(base_uri, reference).partition("#")
    if base_uri.startswith("urn:") and reference.startswith("#"):
        uri = base_uri.partition("#")[0]
    return uri, unquote(fragment)


def join_uris(base_uri: str, reference: str) -> str:
    """Return ``reference`` resolved against ``base_uri``; unchanged if one of the two is not a URI."""
    try:
        return urljoin(base_uri, reference) if base_uri else reference
    except ValueError:  # such as an IPv6 address without its bracket
        return reference


def _in_definitions(document: object, fragment: str) -> str:
    """Return the fragment with ``definitions`` for ``$defs``, if only the former has the first name in the document."""
    if not fragment.startswith("/$defs/") or not isinstance(document, dict):
        return fragment
    rest = fragment.removeprefix("/$defs/")
    name = _unescaped(rest.partition("/")[0])
    in_defs, copied = (document.get(keyword) for keyword in ("$defs", "definitions"))
    is_there = isinstance(in_defs, dict) and name in in_defs
    return f"/definitions/{rest}" if not is_there and isinstance(copied, dict) and name in copied else fragment


def is_copied(reference: str, pointer: Pointer) -> bool:
    """Return whether a reference into ``$defs`` has led to ``pointer``, since ``definitions`` are copied there."""
    steps = [_unescaped(step) for step in unquote(reference.partition("#")[2]).split("/")[1:]]
    return steps[:1] == ["$defs"] and list(map(str, pointer)) == ["definitions", *steps[1:]]


def _unescaped(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")


def _is_index(name: str) -> bool:
    return name.isascii() and name.isdigit() and len(name) < len("1" * 10)


def _inside(value: Json, key: str | int) -> Json:
    if isinstance(value, dict):
        return value.get(key, _NOTHING)
    is_there = isinstance(value, list) and isinstance(key, int) and key < len(value)
    return value[key] if is_there else _NOTHING
