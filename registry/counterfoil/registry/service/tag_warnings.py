"""Warnings in the log about a new version with tags that mark what no rule changes, or that mark nothing."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.tags.reach import unencryptable_tags, unnamed_paths_of, unreached_tags

if TYPE_CHECKING:
    from counterfoil.registry.domain.equivalence import Candidate
    from counterfoil.schema.contexts import QualifiedSubject

_LOGGER: Final = logging.getLogger("counterfoil.registry")
_MOST: Final = 5
_ENCRYPT: Final = "ENCRYPT"


def warn_of_tags(subject: QualifiedSubject, candidate: Candidate) -> None:
    """Log, for a schema that is to be registered, the tags of its rules that mark what field rules do not reach.

    Tags of rules ENCRYPT that mark what cannot be encrypted, and paths of its metadata that name no field, are logged
    as well. The version is registered all the same: Confluent's registries accept it, and serializers refuse to
    encrypt.
    """
    content = candidate.content
    rules = content.rule_set.domain_rules if content.rule_set is not None else ()
    wanted = {tag for rule in rules for tag in rule.tags}
    encrypted = {tag for rule in rules if rule.type == _ENCRYPT for tag in rule.tags}
    by_path = content.metadata.tags if content.metadata is not None else {}
    if not wanted and not by_path:
        return
    try:
        found = unreached_tags(candidate.parsed, by_path) if wanted else []
        unfit = unencryptable_tags(candidate.parsed, by_path) if encrypted else []
        unnamed = unnamed_paths_of(candidate.parsed, by_path)
    except CounterfoilError:
        return  # what cannot be described is refused when it is written
    for each in [each for each in found if wanted.intersection(each.tags)][:_MOST]:
        _LOGGER.warning("a tag marks what no rule changes", extra={"subject": str(subject), "cause": each.text})
    for other in [each for each in unfit if encrypted.intersection(each.tags)][:_MOST]:
        _LOGGER.warning("a tag marks what cannot be encrypted", extra={"subject": str(subject), "cause": other.text})
    for path in unnamed[:_MOST]:
        _LOGGER.warning("a path of tags names nothing", extra={"subject": str(subject), "cause": path.text})
