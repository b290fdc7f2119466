"""Warnings in the log about a new version with tags that mark what no rule changes, or that mark nothing."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.summary import TagsAsked, tags_without_effect

if TYPE_CHECKING:
    from counterfoil.registry.domain.equivalence import Candidate
    from counterfoil.registry.service.reading import SchemaReader
    from counterfoil.schema.contexts import QualifiedSubject

_LOGGER: Final = logging.getLogger("counterfoil.registry")
_MOST: Final = 5
_FEW_PATHS: Final = 16
_ENCRYPT: Final = "ENCRYPT"


async def warn_of_tags(subject: QualifiedSubject, candidate: Candidate, reader: SchemaReader) -> None:
    """Log, for a schema that is to be registered, the tags of its rules that mark what field rules do not reach.

    Tags of rules ENCRYPT that mark what cannot be encrypted, and paths of its metadata that name no field, are logged
    as well; many of them are compared beside the event loop. The version is registered all the same: Confluent's
    registries accept it, and serializers refuse to encrypt.
    """
    content = candidate.content
    rules = content.rule_set.domain_rules if content.rule_set is not None else ()
    asked = TagsAsked(
        by_path=content.metadata.tags if content.metadata is not None else {},
        of_rules=frozenset(tag for rule in rules for tag in rule.tags),
        encrypted=frozenset(tag for rule in rules if rule.type == _ENCRYPT for tag in rule.tags),
        most=_MOST,
    )
    if not asked.of_rules and not asked.by_path:
        return
    try:
        if len(asked.by_path) > _FEW_PATHS:
            found = await reader.beside(tags_without_effect, candidate.parsed, asked)
        else:
            found = await reader.about(candidate.parsed, tags_without_effect, asked)
    except CounterfoilError:
        return  # what cannot be described is refused when it is written
    for text, causes in found.items():
        for cause in causes:
            _LOGGER.warning(text, extra={"subject": str(subject), "cause": cause})
