"""Warnings in the log about a new version with tags that mark what no rule changes, or that mark nothing."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.summary import tags_without_effect

if TYPE_CHECKING:
    from counterfoil.registry.domain.equivalence import Candidate
    from counterfoil.registry.service.reading import SchemaReader
    from counterfoil.schema.contexts import QualifiedSubject

_LOGGER: Final = logging.getLogger("counterfoil.registry")
_MOST: Final = 5
_QUICK: Final = 20_000
"""Paths times characters of the schema that are examined in the event loop, in some milliseconds."""

_LONGEST: Final = 2_000_000
"""Those that are examined at all, in about a second: a warning must not keep a registration waiting for longer."""


async def warn_of_tags(subject: QualifiedSubject, candidate: Candidate, reader: SchemaReader) -> None:
    """Log, for a schema that is to be registered, the tags of its rules that mark what field rules do not reach.

    The paths of its metadata that name no field are logged as well; many of them are examined beside the event loop,
    and of too many the log says that they were not examined.
    The version is registered all the same: Confluent's registries accept it, and serializers refuse to encrypt.
    """
    content = candidate.content
    rules = content.rule_set.domain_rules if content.rule_set is not None else ()
    wanted = frozenset(tag for rule in rules for tag in rule.tags)
    by_path = content.metadata.tags if content.metadata is not None else {}
    if not wanted and not by_path:
        return
    parsed = candidate.parsed
    cost = (1 + len(by_path)) * (len(parsed.text) + parsed.referenced_chars)
    if cost > _LONGEST:
        extra = {"subject": str(subject), "count": len(by_path)}
        _LOGGER.warning("too many paths of tags to examine which of them name nothing", extra=extra)
        return
    try:
        if cost > _QUICK and by_path:
            unreached, unnamed = await reader.beside(tags_without_effect, parsed, by_path, wanted, _MOST)
        else:
            unreached, unnamed = await reader.about(parsed, tags_without_effect, by_path, wanted, _MOST)
    except CounterfoilError:
        return  # what cannot be described is refused when it is written
    for each in unreached:
        _LOGGER.warning("a tag marks what no rule changes", extra={"subject": str(subject), "cause": each})
    for each in unnamed:
        _LOGGER.warning("a path of tags names nothing", extra={"subject": str(subject), "cause": each})
