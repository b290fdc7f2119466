"""Metadata, rules, references and config as JSON documents, in both directions.

The same documents are what callers send, what they get back, and what is stored. Writing leaves out what is empty;
reading fills in the defaults.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.domain.config import Config
from counterfoil.registry.domain.json_fields import (
    boolean_of,
    integer_of,
    list_of,
    map_of,
    object_of,
    optional,
    text_of,
)
from counterfoil.registry.domain.rules import ENABLE_AT, KINDS, MODES
from counterfoil.schema.compatibility.levels import parse_level
from counterfoil.schema.compatibility.policies import CompatibilityPolicy, parse_policy
from counterfoil.schema.errors import BadRequest
from counterfoil.schema.model import Metadata, Reference, Rule, RuleSet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.registry.domain.modes import Mode

Document = dict[str, Any]


def without_empty(document: Document) -> Document:
    """``document`` without nulls, empty texts, empty arrays and empty maps; ``false`` and 0 stay."""
    return {key: value for key, value in document.items() if value is not None and value not in ("", [], {})}


def without_null(document: Document) -> Document:
    """``document`` without nulls."""
    return {key: value for key, value in document.items() if value is not None}


# --- references -------------------------------------------------------------------------------------------------------


def reference_document(reference: Reference) -> Document:
    """One reference."""
    return {"name": reference.name, "subject": reference.subject, "version": reference.version}


def read_reference(value: object, what: str) -> Reference:
    """The reference that ``value`` describes; absent fields are empty, an absent version is -1, the latest."""
    fields = object_of(value, what)
    version = optional(fields, "version", integer_of, within=f"{what}.")
    return Reference(
        optional(fields, "name", text_of, within=f"{what}.") or "",
        optional(fields, "subject", text_of, within=f"{what}.") or "",
        -1 if version is None else version,
    )


# --- metadata ---------------------------------------------------------------------------------------------------------


def metadata_document(metadata: Metadata | None) -> Document | None:
    """Metadata with sorted keys; ``{}`` when all of it is empty, None when there is none."""
    if metadata is None:
        return None
    document: Document = {
        "tags": {path: sorted(tags) for path, tags in sorted(metadata.tags.items())},
        "properties": dict(sorted(metadata.properties.items())),
        "sensitive": sorted(metadata.sensitive),
    }
    return without_empty(document)


def read_metadata(value: object, what: str) -> Metadata:
    """The metadata that ``value`` describes; tags and sensitive names become sorted sets."""
    fields = object_of(value, what)
    return Metadata(
        tags=optional(fields, "tags", lambda tags, at: map_of(tags, at, _sorted_set), within=f"{what}.") or {},
        properties=optional(fields, "properties", lambda pairs, at: map_of(pairs, at, text_of), within=f"{what}.")
        or {},
        sensitive=optional(fields, "sensitive", _sorted_set, within=f"{what}.") or (),
    )


def _sorted_set(value: object, what: str) -> tuple[str, ...]:
    return tuple(sorted(set(list_of(value, what, text_of))))


# --- rules ------------------------------------------------------------------------------------------------------------


def rule_set_document(rule_set: RuleSet | None) -> Document | None:
    """A rule set; ``{}`` when it is empty, None when there is none."""
    if rule_set is None:
        return None
    document: Document = {
        "migrationRules": [rule_document(rule) for rule in rule_set.migration_rules],
        "domainRules": [rule_document(rule) for rule in rule_set.domain_rules],
        "encodingRules": [rule_document(rule) for rule in rule_set.encoding_rules],
        "enableAt": rule_set.enable_at,
    }
    return without_empty(document)


def rule_document(rule: Rule) -> Document:
    """One rule with its defaults filled in; ``disabled`` is always there."""
    document: Document = {
        "name": rule.name,
        "doc": rule.doc,
        "kind": rule.kind,
        "mode": rule.mode,
        "type": rule.type,
        "tags": list(rule.tags),
        "params": dict(sorted(rule.params.items())),
        "expr": rule.expr,
        "onSuccess": rule.on_success,
        "onFailure": rule.on_failure,
        "disabled": rule.disabled,
    }
    return without_empty(document)


def read_rule_set(value: object, what: str) -> RuleSet:
    """The rule set that ``value`` describes."""
    fields = object_of(value, what)

    def rules(key: str) -> tuple[Rule, ...]:
        return optional(fields, key, lambda items, at: list_of(items, at, _read_rule), within=f"{what}.") or ()

    return RuleSet(
        rules("migrationRules"),
        rules("domainRules"),
        rules("encodingRules"),
        _word(fields, "enableAt", what, ENABLE_AT),
    )


def _read_rule(value: object, what: str) -> Rule:
    fields = object_of(value, what)
    within = f"{what}."

    def text(key: str) -> str | None:
        return optional(fields, key, text_of, within=within)

    return Rule(
        name=text("name") or "",
        type=text("type"),
        doc=text("doc"),
        kind=_word(fields, "kind", what, KINDS) or "TRANSFORM",
        mode=_word(fields, "mode", what, MODES) or "WRITEREAD",
        tags=optional(fields, "tags", _sorted_set, within=within) or (),
        params=optional(fields, "params", lambda pairs, at: map_of(pairs, at, text_of), within=within) or {},
        expr=text("expr"),
        on_success=text("onSuccess"),
        on_failure=text("onFailure"),
        disabled=optional(fields, "disabled", boolean_of, within=within) or False,
    )


def _word(fields: Mapping[str, Any], key: str, what: str, words: tuple[str, ...]) -> str | None:
    word = optional(fields, key, text_of, within=f"{what}.")
    if word is not None and word not in words:
        raise BadRequest(f"{what}.{key} is {word[:80]!r}; expected one of {', '.join(words)}")
    return word


# --- config -----------------------------------------------------------------------------------------------------------

_PLAIN: Final = {
    "alias": ("alias", text_of),
    "aliasForDeks": ("alias_for_deks", text_of),
    "normalize": ("normalize", boolean_of),
    "validateFields": ("validate_fields", boolean_of),
    "validateNewSchemas": ("validate_new_schemas", boolean_of),
    "validateRules": ("validate_rules", boolean_of),
    "compatibility": ("compatibility", lambda value, what: parse_level(text_of(value, what))),
    "compatibilityPolicy": ("compatibility_policy", lambda value, what: _policy(text_of(value, what))),
    "compatibilityGroup": ("compatibility_group", text_of),
    "defaultMetadata": ("default_metadata", read_metadata),
    "overrideMetadata": ("override_metadata", read_metadata),
    "defaultRuleSet": ("default_rule_set", read_rule_set),
    "overrideRuleSet": ("override_rule_set", read_rule_set),
}


def _policy(text: str) -> CompatibilityPolicy | None:
    """The policy, None for a word that is none, as the reference has it."""
    try:
        return parse_policy(text)
    except BadRequest:
        return None


def read_config_changes(fields: Mapping[str, Any]) -> dict[str, object]:
    """What a config update changes, by the field's name in :class:`Config`; a null clears, so it is None."""
    return {
        name: None if fields[key] is None else read(fields[key], key)
        for key, (name, read) in _PLAIN.items()
        if key in fields
    }


def config_document(config: Config) -> Document:
    """All that ``config`` sets, as an update would say it; empty texts stay, as an update is answered."""
    document: Document = {key: getattr(config, name) for key, (name, _) in _PLAIN.items()}
    for key in ("defaultMetadata", "overrideMetadata"):
        document[key] = metadata_document(document[key])
    for key in ("defaultRuleSet", "overrideRuleSet"):
        document[key] = rule_set_document(document[key])
    return without_null(document)


def read_config(document: Mapping[str, Any]) -> Config:
    """The config that a stored document describes."""
    return Config().updated(read_config_changes(document))


def scope_document(config: Config | None, mode: Mode | None) -> Document:
    """All that is stored for a scope: ``config`` and ``mode``, where they are."""
    return without_null({"config": None if config is None else config_document(config), "mode": mode})
