"""Warnings in the log about a new version whose rules name tags at places that no rule changes."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.tags.reach import unreached_tags

if TYPE_CHECKING:
    from counterfoil.registry.domain.equivalence import Candidate
    from counterfoil.schema.contexts import QualifiedSubject

_LOGGER: Final = logging.getLogger("counterfoil.registry")
_MOST: Final = 5


def warn_of_tags(subject: QualifiedSubject, candidate: Candidate) -> None:
    """Log, for a schema that is to be registered, the tags of its rules that mark what field rules do not reach.

    The version is registered all the same: Confluent's registries accept it, and serializers refuse to encrypt.
    """
    content = candidate.content
    if content.rule_set is None:
        return
    wanted = {tag for rule in content.rule_set.domain_rules for tag in rule.tags}
    if not wanted:
        return
    by_path = content.metadata.tags if content.metadata is not None else {}
    try:
        found = [each for each in unreached_tags(candidate.parsed, by_path) if wanted.intersection(each.tags)]
    except CounterfoilError:
        return  # what cannot be described is refused when it is written
    for each in found[:_MOST]:
        _LOGGER.warning("a tag marks what no rule changes", extra={"subject": str(subject), "cause": each.text})
