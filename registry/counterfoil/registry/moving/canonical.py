"""Conversion of the texts of other registries into their canonical form."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.content import make_content
from counterfoil.registry.moving.facts import Unreadable, VersionFact
from counterfoil.registry.moving.source import targets_of
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.model import ResolvedReference
from counterfoil.schema.parsed import Validation
from counterfoil.schema.parsing import parse_schema

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from counterfoil.registry.domain.content import Content
    from counterfoil.registry.moving.facts import Key

_MAX_DEPTH: Final = 100


class Canonicaliser:
    """Gives versions their canonical text; ``find`` returns the version of a reference, None if there is none.

    The results for the last few thousand texts are cached, since one schema is often in several subjects.
    """

    def __init__(self, find: Callable[[Key], Awaitable[VersionFact | None]], *, remembered: int = 4096) -> None:
        self._find = find
        self._remembered = remembered
        self._known: dict[Content, Content] = {}

    async def canonical(self, fact: VersionFact) -> VersionFact | Unreadable:
        """Return ``fact`` with its canonical text; ``Unreadable`` if the text or a reference is no valid schema."""
        if not fact.content.references and (known := self._known.get(fact.content)) is not None:
            return replace(fact, content=known)
        try:
            content = await self._content(fact)
        except InvalidSchema as error:
            return Unreadable(f"{fact} (id {fact.schema_id}): {error}")
        except RecursionError:
            return Unreadable(f"{fact} (id {fact.schema_id}): the schema is nested too deeply to be read")
        if not content.references:
            if len(self._known) >= self._remembered:
                self._known.clear()
            self._known[fact.content] = content
        return replace(fact, content=content)

    async def _content(self, fact: VersionFact) -> Content:
        given = fact.content
        resolved = await self._resolved(fact, _MAX_DEPTH)
        parsed = parse_schema(
            given.text, given.schema_type, references=tuple(resolved.values()), validation=Validation.LENIENT
        )
        return make_content(
            parsed.canonical(),
            given.schema_type,
            references=given.references,
            metadata=given.metadata,
            rule_set=given.rule_set,
        )

    async def _resolved(self, fact: VersionFact, depth: int) -> dict[str, ResolvedReference]:
        found: dict[str, ResolvedReference] = {}
        await self._collect(fact, found, depth)
        return found

    async def _collect(self, fact: VersionFact, found: dict[str, ResolvedReference], depth: int) -> None:
        """Add the references of ``fact``, each after its own references."""
        if depth == 0:
            raise InvalidSchema(f"references are nested more than {_MAX_DEPTH} deep")
        for reference, key in zip(fact.content.references, targets_of(fact), strict=True):
            if reference.name in found:
                continue
            target = await self._find(key)
            if target is None:
                raise InvalidSchema(
                    f"it refers to version {reference.version} of subject {reference.subject!r}, which is not there"
                )
            await self._collect(target, found, depth - 1)
            found.setdefault(reference.name, ResolvedReference(reference, target.content.text))


def version_in(versions: Sequence[VersionFact | Unreadable], number: int) -> VersionFact | None:
    """Return the version with this number among those of a subject; None if there is none."""
    return next((item for item in versions if isinstance(item, VersionFact) and item.version == number), None)
