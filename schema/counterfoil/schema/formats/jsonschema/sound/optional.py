"""A schema in which a choice of null and one other schema is spelled as that schema, with null as one more type.

Keywords of objects, arrays and texts say nothing about null, so that both spellings accept the same values; and what is
refused inside has a place there. A schema that says more of null, by a negation or a condition, stays as it is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.jsonschema.view.facts import Schema, scalars_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.formats.jsonschema.view.facts import Facts

_NULL: Final = frozenset({"null"})
_MAX_REFERRED: Final = 60


class OptionalSpelling:
    """The other spelling of one schema; that of each schema in it is made once, when it is needed."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, bool], _Spelled] = {}

    def of(self, schema: Schema, *, is_nullable: bool = False) -> Schema:
        """Return the other spelling of a schema; with ``is_nullable``, of one that accepts null as well."""
        if schema.accepts_everything or isinstance(schema, _Spelled):
            return schema
        key = (id(schema), is_nullable)
        if key not in self._known:
            self._known[key] = _Spelled(schema, self, is_nullable=is_nullable)
        return self._known[key]


class _Spelled(Schema):
    """A schema whose facts are spelled when they are read."""

    def __init__(self, base: Schema, spelling: OptionalSpelling, *, is_nullable: bool) -> None:
        super().__init__(None, base.pointer)
        self.base = base
        self._spelling = spelling
        self._is_nullable = is_nullable

    @property
    def text(self) -> str | None:
        """The text of the schema itself, unless null was added."""
        return None if self._is_nullable else self.base.text

    def _read(self) -> Facts:
        facts, of = self.base.facts, self._spelling.of
        all_of = [of(each, is_nullable=self._is_nullable) for each in facts.all_of]
        choices: dict[str, tuple[Schema, ...] | None] = {"any_of": facts.any_of, "one_of": facts.one_of}
        for name, branches in choices.items():
            other = None if branches is None else _beside_null(branches)
            if other is not None:
                all_of.append(of(other, is_nullable=True))
                choices[name] = None
        found = replace(
            facts,
            properties=self._all(facts.properties),
            patterns=self._all(facts.patterns),
            additional=None if facts.additional is None else of(facts.additional),
            prefix=tuple(map(of, facts.prefix)),
            items=None if facts.items is None else of(facts.items),
            all_of=tuple(all_of),
            any_of=choices["any_of"],
            one_of=choices["one_of"],
        )
        return _with_null(found) if self._is_nullable else found

    def _all(self, schemas: Mapping[str, Schema]) -> dict[str, Schema]:
        return {name: self._spelling.of(each) for name, each in schemas.items()}


def written_of(schema: Schema) -> Schema:
    """Return the schema that was spelled in another way; any other schema unchanged."""
    return schema.base if isinstance(schema, _Spelled) else schema


def _with_null(facts: Facts) -> Facts:
    if facts.values is not None:
        values = [*facts.values, None]
        facts = replace(facts, values=values, scalars=scalars_of(values))
    if facts.is_false:
        return replace(facts, is_false=False, types=_NULL)
    return facts if facts.types is None else replace(facts, types=facts.types | _NULL)


def _beside_null(branches: tuple[Schema, ...]) -> Schema | None:
    """Return the one branch beside null, if it says of null nothing but that it is refused."""
    others = [each for each in branches if each.facts.types != _NULL]
    if len(others) != 1 or len(others) == len(branches):
        return None
    return others[0] if _refuses_null(others[0]) else None


def _refuses_null(schema: Schema) -> bool:
    """Return whether a schema refuses null by its types or values, and has no other constraint on null."""
    waiting, seen, is_refused = [schema], {id(schema)}, False
    while waiting:
        facts = waiting.pop().facts
        if facts.is_opaque or facts.refused is not None or facts.condition is not None or len(seen) > _MAX_REFERRED:
            return False
        if facts.any_of is not None or facts.one_of is not None:
            return False
        allows = facts.types is None or "null" in facts.types
        listed = facts.values is not None and None not in facts.values
        is_refused = is_refused or facts.is_false or not allows or listed
        for each in facts.all_of:
            if id(each) not in seen:
                seen.add(id(each))
                waiting.append(each)
    return is_refused
