"""Warnings in the log about a new version with tags that mark what no rule changes, or that mark nothing."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.summary import TagsAsked, tags_without_effect

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.registry.domain.equivalence import Candidate
    from counterfoil.registry.service.reading import SchemaReader
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.model import Rule

_LOGGER: Final = logging.getLogger("counterfoil.registry")
_MOST: Final = 5
_QUICK: Final = 20_000
"""Paths times characters of the schema that are examined in the event loop, in some milliseconds."""

_LONGEST: Final = 2_000_000
"""Those that are examined at all, in about a second: a warning must not keep a registration waiting for longer."""
_ENCRYPT: Final = "ENCRYPT"
_ONE_WAY: Final[Mapping[str, str]] = {
    "WRITE": "WRITE, so that readers get ciphertext; expected WRITEREAD",
    "READ": "READ, so that writers leave plain text; expected WRITEREAD",
}


def _type_of(rule: Rule) -> str:
    return (rule.type or "").upper()


async def warn_of_tags(subject: QualifiedSubject, candidate: Candidate, reader: SchemaReader) -> None:
    """Log, for a schema that is to be registered, the tags of its rules that mark what field rules do not reach.

    So are rules that encrypt in one direction only, tags of rules ENCRYPT that mark what cannot be encrypted, and paths
    of its metadata that name no field; many of them are examined beside the event loop, and of too many the log says
    that they were not examined. The version is registered all the same: Confluent's registries accept it, and
    serializers refuse to encrypt.
    """
    content = candidate.content
    rules = content.rule_set.domain_rules if content.rule_set is not None else ()
    asked = TagsAsked(
        by_path=content.metadata.tags if content.metadata is not None else {},
        of_rules=frozenset(tag for rule in rules for tag in rule.tags),
        encrypted=frozenset(tag for rule in rules if _type_of(rule) == _ENCRYPT for tag in rule.tags),
        most=_MOST,
    )
    for rule in content.rule_set.rules if content.rule_set is not None else ():
        if _type_of(rule).startswith(_ENCRYPT) and rule.mode in _ONE_WAY:
            extra = {"subject": str(subject), "cause": f"the rule {rule.name!r} has the mode {_ONE_WAY[rule.mode]}"}
            _LOGGER.warning("a rule encrypts in one direction only", extra=extra)
    if not asked.of_rules and not asked.by_path:
        return
    parsed = candidate.parsed
    cost = (1 + len(asked.by_path)) * (len(parsed.text) + parsed.referenced_chars)
    if cost > _LONGEST:
        count = {"subject": str(subject), "count": len(asked.by_path)}
        _LOGGER.warning("too many paths of tags to examine which of them name nothing", extra=count)
        return
    try:
        if cost > _QUICK and asked.by_path:
            found = await reader.beside(tags_without_effect, parsed, asked)
        else:
            found = await reader.about(parsed, tags_without_effect, asked)
    except CounterfoilError:
        return  # what cannot be described is refused when it is written
    for text, causes in found.items():
        for cause in causes:
            _LOGGER.warning(text, extra={"subject": str(subject), "cause": cause})
