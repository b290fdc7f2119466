"""Warnings in the log about a new version with tags that mark what no rule changes, or that mark nothing."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.tags.reach import unencryptable_tags, unnamed_paths_of, unreached_tags

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.registry.domain.equivalence import Candidate
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.model import Rule

_LOGGER: Final = logging.getLogger("counterfoil.registry")
_MOST: Final = 5
_ENCRYPT: Final = "ENCRYPT"
_ONE_WAY: Final[Mapping[str, str]] = {
    "WRITE": "WRITE, so that readers get ciphertext; expected WRITEREAD",
    "READ": "READ, so that writers leave plain text; expected WRITEREAD",
}


def _type_of(rule: Rule) -> str:
    return (rule.type or "").upper()


def warn_of_tags(subject: QualifiedSubject, candidate: Candidate) -> None:
    """Log, for a schema that is to be registered, the tags of its rules that mark what field rules do not reach.

    So are rules that encrypt in one direction only, tags of rules ENCRYPT that mark what cannot be encrypted, and paths
    of its metadata that name no field. The version is registered all the same: Confluent's registries accept it, and
    serializers refuse to encrypt.
    """
    content = candidate.content
    rules = content.rule_set.domain_rules if content.rule_set is not None else ()
    wanted = {tag for rule in rules for tag in rule.tags}
    encrypted = {tag for rule in rules if _type_of(rule) == _ENCRYPT for tag in rule.tags}
    for rule in content.rule_set.rules if content.rule_set is not None else ():
        if _type_of(rule).startswith(_ENCRYPT) and rule.mode in _ONE_WAY:
            extra = {"subject": str(subject), "cause": f"the rule {rule.name!r} has the mode {_ONE_WAY[rule.mode]}"}
            _LOGGER.warning("a rule encrypts in one direction only", extra=extra)
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
