"""How a serializer finds the schema of a subject and its id, and makes a plan for writing of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.model import Reference, ResolvedReference, Schema
from counterfoil.schema.parsed import Validation
from counterfoil.schema.wire import guid_prefix, id_prefix
from counterfoil.sdk.errors import InvalidSettings
from counterfoil.sdk.serde.headers import header_name
from counterfoil.sdk.serde.plans import PlanTable, WritePlan
from counterfoil.sdk.serde.references import load_schema, parse_own
from counterfoil.sdk.subjects import find_subject

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from uuid import UUID

    from counterfoil.schema.rest.versions import RegisteredSchema
    from counterfoil.sdk.script import Script
    from counterfoil.sdk.serde.codec import Codec, Encode
    from counterfoil.sdk.serde.rules.settings import Rules
    from counterfoil.sdk.serde.rules.writing import WriteRules
    from counterfoil.sdk.serde.sources import SchemaCalls, Source
    from counterfoil.sdk.subjects import Field, SubjectNaming

P = TypeVar("P")

Register: TypeAlias = Literal["auto", "lookup", "latest"] | dict[str, Any]
"""How a serializer finds its schema id.

``auto`` registers the schema, ``lookup`` requires that it is registered, ``latest`` writes with the subject's latest
version, and ``{"id": 7}`` and ``{"metadata": {…}}`` write with the schema that they name.
"""

_OWN_SCHEMA = ("auto", "lookup")
_REFRESHED = ("latest", "metadata")


@dataclass(frozen=True, slots=True)
class Import:
    """A schema that a program's own schema refers to, and that is registered before it.

    ``name`` is the name in the text that refers to it, ``subject`` its subject, ``imports`` what it refers to itself;
    ``schema`` has no references.
    """

    name: str
    subject: str
    schema: Schema
    imports: tuple[Import, ...] = ()


class _Found(NamedTuple):
    """The schema of a subject; ``guid`` is None if the registry does not return it."""

    id: int
    guid: UUID | None
    schema: Schema


class _Own(NamedTuple, Generic[P]):
    """The program's own schema, and its parsed form."""

    schema: Schema
    parsed: P


class _Compiled(NamedTuple, Generic[P]):
    """A schema, parsed; its encoder, and the suffix of its frames."""

    parsed: P
    encode: Encode
    suffix: bytes


class WriteResolver(Generic[P]):
    """Makes plans for writing; its methods are scripts."""

    def __init__(
        self,
        codec: Codec[P],
        schema: Schema | None,
        *,
        imports: Sequence[Import],
        subject: SubjectNaming,
        register: Register,
        normalize: bool,
        is_in_header: bool,
        rules: Rules,
    ) -> None:
        self._codec = codec
        self._schema = schema
        self._imports = tuple(imports)
        self.subject = subject
        self._way, self._chosen = _read_register(register, schema)
        self._normalize = normalize
        self._is_in_header = is_in_header
        self._rules = rules
        self._encoders: PlanTable[tuple[str, tuple[Reference, ...]], _Compiled[P]] = PlanTable()
        self._own: _Own[P] | None = None
        self._parsed: P | None = None
        if schema is not None and not schema.references:
            self._parsed = self._parse(schema)

    def _parse(self, schema: Schema) -> P:
        """Return the given schema, parsed.

        Where another one is written with, this one names the record, and its references may be known only there.
        """
        try:
            return parse_own(self._codec, schema, list(_resolved(self._imports)))
        except SchemaParseError:
            if self._way in _OWN_SCHEMA:
                raise
            return self._codec.parse(schema, (), validation=Validation.LENIENT)

    @property
    def is_refreshed(self) -> bool:
        """Whether the schema of a subject may change, so that its plans expire."""
        return self._way in _REFRESHED

    def plan(self, source: Source, topic: str | None, field: Field, *, refresh: bool) -> Script[WritePlan]:
        """Return the plan for the keys or the values of a topic."""
        calls = source.calls
        own = yield from self._own_schema(calls)
        name = self._codec.record_name(own.parsed, self._codec.frame_suffix(own.parsed)) if own else None
        subject = yield from find_subject(
            calls, self.subject, topic=topic, field=field, record_name=name, refresh=refresh
        )
        found = yield from self._find(calls, subject, own, refresh=refresh)
        schema = own.schema if own and self._way in _OWN_SCHEMA else found.schema
        compiled = yield from self._compiled(calls, schema)
        ruled = schema if found.schema.rule_set is None else found.schema
        rules = yield from self._compiled_rules(source, compiled.parsed, ruled, (subject, topic, field))
        header = None
        if self._is_in_header:
            guid = found.guid or (yield from self._guid_of(calls, found.id))
            header = (header_name(field), guid_prefix(guid) + compiled.suffix)
        return WritePlan(
            encode=compiled.encode,
            prefix=b"" if header else id_prefix(found.id) + compiled.suffix,
            header=header,
            subject=subject,
            schema_id=found.id,
            rules=rules,
        )

    def clear(self) -> None:
        """Remove what was compiled."""
        self._encoders.clear()

    def _own_schema(self, calls: SchemaCalls) -> Script[_Own[P] | None]:
        """Return the given schema; with references it can be read only here."""
        if self._own is None and self._schema is not None:
            schema = self._schema
            if self._imports and self._way in _OWN_SCHEMA:
                references = yield from self._registered_imports(calls, self._imports)
                schema = replace(schema, references=references)
            parsed = self._parsed
            if parsed is None:
                parsed = yield from load_schema(calls, self._codec, schema, validation=Validation.STRICT)
            self._own = _Own(schema, parsed)
        return self._own

    def _registered_imports(self, calls: SchemaCalls, imports: Sequence[Import]) -> Script[tuple[Reference, ...]]:
        """Return references to the imports, each registered or looked up after those that it refers to itself."""
        references = []
        for each in imports:
            needed = yield from self._registered_imports(calls, each.imports)
            schema = replace(each.schema, references=needed)
            call = calls.register if self._way == "auto" else calls.lookup
            found = yield from call(each.subject, schema, normalize=self._normalize)
            if found.version is None:  # a registry that returns only the id of a registration
                found = yield from calls.lookup(each.subject, schema, normalize=self._normalize)
            references.append(Reference(each.name, each.subject, found.version or -1))
        return tuple(references)

    def _find(
        self, calls: SchemaCalls, subject: str, own: _Own[P] | None, *, refresh: bool
    ) -> Script[RegisteredSchema | _Found]:
        match self._way, own:
            case "auto", _Own(schema=schema):
                return (yield from calls.register(subject, schema, normalize=self._normalize))
            case "lookup", _Own(schema=schema):
                return (yield from calls.lookup(subject, schema, normalize=self._normalize))
            case "latest", _:
                return (yield from calls.version(subject, "latest", refresh=refresh))
            case "metadata", _:
                return (yield from calls.version_with_metadata(subject, self._chosen, refresh=refresh))
        held = yield from calls.schema_by_id(self._chosen)
        return _Found(self._chosen, None, held)

    def _guid_of(self, calls: SchemaCalls, schema_id: int) -> Script[UUID]:
        """Return the guid of a schema, computed from the stored content if the registry did not return it."""
        from counterfoil.schema.fingerprint import content_guid

        held = yield from calls.schema_by_id(schema_id)
        return content_guid(held.text, held.references, held.metadata, held.rule_set)

    def _compiled_rules(
        self, source: Source, parsed: P, ruled: Schema, place: tuple[str, str | None, Field]
    ) -> Script[WriteRules | None]:
        """Return the rules of ``ruled`` for values of the parsed schema, if there are any."""
        if ruled.rule_set is None and self._rules.check is None:
            return None
        from counterfoil.sdk.serde.rules.stages import Place
        from counterfoil.sdk.serde.rules.writing import compile_write_rules

        return (yield from compile_write_rules(self._codec, parsed, ruled, Place(*place, source, self._rules)))

    def _compiled(self, calls: SchemaCalls, schema: Schema) -> Script[_Compiled[P]]:
        """Return what is compiled of a schema; each content is compiled once."""
        key = (schema.text, schema.references)
        found = self._encoders.found.get(key)
        if found is not None:
            return found
        if self._own is not None and schema is self._own.schema:
            parsed = self._own.parsed
        else:
            parsed = yield from load_schema(calls, self._codec, schema)
        codec = self._codec
        return self._encoders.resolve(key, lambda: _Compiled(parsed, codec.encoder(parsed), codec.frame_suffix(parsed)))


def _resolved(imports: Sequence[Import]) -> Iterator[ResolvedReference]:
    """Yield the imports, each after those that it refers to itself."""
    for each in imports:
        yield from _resolved(each.imports)
        yield ResolvedReference(Reference(each.name, each.subject, -1), each.schema.text)


def _read_register(register: Register, schema: Schema | None) -> tuple[str, Any]:
    if isinstance(register, str) and register in ("auto", "lookup", "latest"):
        if schema is None and register in _OWN_SCHEMA:
            raise InvalidSettings(f"register={register!r} needs a schema, and there is none", setting="schema")
        return register, None
    match register:
        case {"id": int() as schema_id, **more} if not more and id_prefix(schema_id):
            return "id", schema_id
        case {"metadata": Mapping() as properties, **more} if not more:
            return "metadata", dict(properties)
    expected = "'auto', 'lookup', 'latest', {'id': number} or {'metadata': {…}}"
    raise InvalidSettings(f"register is {register!r}; expected {expected}", setting="register")
