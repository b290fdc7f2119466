"""The JSON of the REST API, read into values and written from them.

Every reader takes a :class:`Node`, which knows its place in the reply, so that what does not fit is named with it.
Unknown properties are ignored, as the API asks of its clients.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, TypeVar
from uuid import UUID

from counterfoil.schema.compatibility.levels import CompatibilityLevel
from counterfoil.schema.model import Metadata, Reference, Rule, RuleSet, Schema, SchemaType
from counterfoil.sdk.entities import Compatibility, Config, ContextId, Mode, RegisteredSchema, SubjectVersion

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")

_SHOWN_CHARACTERS = 80


class UnexpectedShapeError(Exception):
    """A reply is not what the operation answers with; never leaves the SDK, which raises ``RegistryUnavailable``."""


@dataclass(frozen=True, slots=True)
class Node:
    """A JSON value and its place, such as ``.references[0].name``; the methods read it as one type or raise."""

    value: Any
    place: str = ""

    def text(self) -> str:
        """The value, a string."""
        return self._typed(str, "a string")

    def integer(self) -> int:
        """The value, a whole number."""
        if isinstance(self.value, bool):
            raise self.misfit("a whole number")
        return self._typed(int, "a whole number")

    def flag(self) -> bool:
        """The value, true or false."""
        return self._typed(bool, "true or false")

    def items(self) -> tuple[Node, ...]:
        """The elements of the value, a list."""
        found = self._typed(list, "a list")
        return tuple(Node(item, f"{self.place}[{index}]") for index, item in enumerate(found))

    def entries(self) -> dict[str, Node]:
        """The members of the value, an object."""
        found = self._typed(dict, "an object")
        return {key: Node(item, f"{self.place}.{key}") for key, item in found.items()}

    def member(self, key: str) -> Node:
        """The member ``key`` of the value, an object."""
        found = self._typed(dict, "an object")
        if key not in found:
            raise UnexpectedShapeError(f"{self.place or 'the reply'} has no {key!r}")
        return Node(found[key], f"{self.place}.{key}")

    def optional(self, key: str, read: Callable[[Node], T]) -> T | None:
        """The member ``key`` as ``read`` takes it; None where it is absent or null."""
        found = self._typed(dict, "an object")
        value = found.get(key)
        return None if value is None else read(Node(value, f"{self.place}.{key}"))

    def misfit(self, expected: str) -> UnexpectedShapeError:
        """The error that says where what was expected, and what is there."""
        shown = repr(self.value)
        if len(shown) > _SHOWN_CHARACTERS:
            shown = f"{shown[:_SHOWN_CHARACTERS]}…"
        return UnexpectedShapeError(f"{self.place or 'the reply'} is {shown} and not {expected}")

    def _typed(self, kind: type[T], expected: str) -> T:
        if not isinstance(self.value, kind):
            raise self.misfit(expected)
        return self.value


def _texts(node: Node) -> tuple[str, ...]:
    return tuple(item.text() for item in node.items())


def _text_by_key(node: Node) -> dict[str, str]:
    return {key: item.text() for key, item in node.entries().items()}


# --- reading -------------------------------------------------------------------------------------------------------


def read_texts(node: Node) -> tuple[str, ...]:
    """A list of strings."""
    return _texts(node)


def read_integers(node: Node) -> tuple[int, ...]:
    """A list of whole numbers."""
    return tuple(item.integer() for item in node.items())


def read_integer(node: Node) -> int:
    """A whole number."""
    return node.integer()


def read_nothing(node: Node) -> None:
    """Nothing: whatever a success holds is fine."""
    _ = node


def read_any_texts(node: Node) -> None:
    """Nothing, of a list of strings."""
    _texts(node)


def read_object(node: Node) -> dict[str, Any]:
    """An object, as it is."""
    return {key: item.value for key, item in node.entries().items()}


def read_objects(node: Node) -> tuple[dict[str, Any], ...]:
    """A list of objects, as they are."""
    return tuple(map(read_object, node.items()))


def read_guid(node: Node) -> UUID:
    """A guid, in any of the spellings that UUIDs have."""
    try:
        return UUID(node.text())
    except ValueError:
        raise node.misfit("a guid") from None


def read_schema(node: Node) -> Schema:
    """A schema among the members of a reply. No ``schemaType`` means Avro: registries before 8.0 leave it out."""
    return Schema(
        node.member("schema").text(),
        node.optional("schemaType", read_schema_type) or SchemaType.AVRO,
        node.optional("references", _read_references) or (),
        node.optional("metadata", read_metadata),
        node.optional("ruleSet", read_rule_set),
    )


def read_schema_type(node: Node) -> SchemaType:
    """One of the schema types that this SDK knows."""
    try:
        return SchemaType(node.text())
    except ValueError:
        raise node.misfit(f"one of {', '.join(SchemaType)}") from None


def _read_references(node: Node) -> tuple[Reference, ...]:
    return tuple(
        Reference(item.member("name").text(), item.member("subject").text(), item.member("version").integer())
        for item in node.items()
    )


def read_metadata(node: Node) -> Metadata:
    """Metadata; an empty object is metadata without content, which is not the same as none."""
    return Metadata(
        node.optional("tags", lambda tags: {key: _texts(item) for key, item in tags.entries().items()}) or {},
        node.optional("properties", _text_by_key) or {},
        node.optional("sensitive", _texts) or (),
    )


def _read_rule(node: Node) -> Rule:
    return Rule(
        node.member("name").text(),
        type=node.optional("type", Node.text),
        doc=node.optional("doc", Node.text),
        kind=node.optional("kind", Node.text) or "TRANSFORM",
        mode=node.optional("mode", Node.text) or "WRITEREAD",
        tags=node.optional("tags", _texts) or (),
        params=node.optional("params", _text_by_key) or {},
        expr=node.optional("expr", Node.text),
        on_success=node.optional("onSuccess", Node.text),
        on_failure=node.optional("onFailure", Node.text),
        disabled=node.optional("disabled", Node.flag) or False,
    )


def _read_rules(node: Node) -> tuple[Rule, ...]:
    return tuple(_read_rule(item) for item in node.items())


def read_rule_set(node: Node) -> RuleSet:
    """A rule set with the defaults of its rules filled in."""
    return RuleSet(
        node.optional("migrationRules", _read_rules) or (),
        node.optional("domainRules", _read_rules) or (),
        node.optional("encodingRules", _read_rules) or (),
        node.optional("enableAt", Node.text),
    )


def read_registered(node: Node) -> RegisteredSchema:
    """A schema with its subject, version and id, all of which the reply must name."""
    return RegisteredSchema(
        node.member("subject").text(),
        node.member("version").integer(),
        node.member("id").integer(),
        node.optional("guid", read_guid),
        read_schema(node),
    )


def read_registration(subject: str, sent: Schema, node: Node) -> RegisteredSchema:
    """The answer to a registration; the schema is the one the registry names, or else the one that was sent."""
    return RegisteredSchema(
        subject,
        node.optional("version", Node.integer),
        node.member("id").integer(),
        node.optional("guid", read_guid),
        read_schema(node) if node.optional("schema", Node.text) is not None else sent,
    )


def read_subject_versions(node: Node) -> tuple[SubjectVersion, ...]:
    """The uses of an id, sorted: the API promises no order."""
    found = (SubjectVersion(item.member("subject").text(), item.member("version").integer()) for item in node.items())
    return tuple(sorted(found, key=lambda use: (use.subject, use.version)))


def read_context_ids(node: Node) -> tuple[ContextId, ...]:
    """The ids of a content, by context."""
    return tuple(ContextId(item.member("context").text(), item.member("id").integer()) for item in node.items())


def read_schema_types(node: Node) -> tuple[str, ...]:
    """The names of schema types, sorted: the API promises no order."""
    return tuple(sorted(_texts(node)))


def read_compatibility(node: Node) -> Compatibility:
    """The verdict of a compatibility check."""
    return Compatibility(node.member("is_compatible").flag(), node.optional("messages", _texts) or ())


def read_mode(node: Node) -> Mode | None:
    """A mode; None where the registry answers with none, as after a recursive delete of an unset one."""
    return node.optional("mode", _read_mode_name)


def _read_mode_name(node: Node) -> Mode:
    try:
        return Mode(node.text().upper())
    except ValueError:
        raise node.misfit(f"one of {', '.join(Mode)}") from None


def _read_level(node: Node) -> CompatibilityLevel:
    try:
        return CompatibilityLevel(node.text().upper())
    except ValueError:
        raise node.misfit(f"one of {', '.join(CompatibilityLevel)}") from None


def read_config(node: Node) -> Config:
    """A config. A level is called ``compatibilityLevel`` in answers to GET, ``compatibility`` in those to PUT."""
    level = node.optional("compatibilityLevel", _read_level) or node.optional("compatibility", _read_level)
    others = {name: node.optional(key, read) for name, (key, read) in _CONFIG_MEMBERS.items()}
    return Config(compatibility_level=level, **others)  # type: ignore[arg-type] # the table pairs each name with its type


_CONFIG_MEMBERS: Final[Mapping[str, tuple[str, Callable[[Node], object]]]] = {
    "compatibility_policy": ("compatibilityPolicy", Node.text),
    "compatibility_group": ("compatibilityGroup", Node.text),
    "normalize": ("normalize", Node.flag),
    "validate_fields": ("validateFields", Node.flag),
    "validate_new_schemas": ("validateNewSchemas", Node.flag),
    "validate_rules": ("validateRules", Node.flag),
    "alias": ("alias", Node.text),
    "alias_for_deks": ("aliasForDeks", Node.text),
    "default_metadata": ("defaultMetadata", read_metadata),
    "override_metadata": ("overrideMetadata", read_metadata),
    "default_rule_set": ("defaultRuleSet", read_rule_set),
    "override_rule_set": ("overrideRuleSet", read_rule_set),
}

# --- writing -------------------------------------------------------------------------------------------------------


def _without_empty(members: Mapping[str, object]) -> dict[str, object]:
    """The members that say something: the API drops null and empty ones, and keeps false."""
    return {key: value for key, value in members.items() if value is not None and value not in ("", [], {})}


def schema_json(schema: Schema) -> dict[str, object]:
    """The body that registers, looks up or checks a schema. Avro is the API's default, and is not written."""
    found = _without_empty(
        {
            "schemaType": schema.schema_type.value if schema.schema_type is not SchemaType.AVRO else None,
            "references": [
                {"name": item.name, "subject": item.subject, "version": item.version} for item in schema.references
            ],
        }
    )
    if schema.metadata is not None:  # an empty one counts
        found["metadata"] = metadata_json(schema.metadata)
    if schema.rule_set is not None:
        found["ruleSet"] = rule_set_json(schema.rule_set)
    return {"schema": schema.text, **found}


def metadata_json(metadata: Metadata) -> dict[str, object]:
    """Metadata as the API spells it; ``{}`` for one without content."""
    return _without_empty(
        {
            "tags": {key: list(values) for key, values in metadata.tags.items()},
            "properties": dict(metadata.properties),
            "sensitive": list(metadata.sensitive),
        }
    )


def rule_set_json(rule_set: RuleSet) -> dict[str, object]:
    """A rule set as the API spells it."""
    return _without_empty(
        {
            "migrationRules": [_rule_json(rule) for rule in rule_set.migration_rules],
            "domainRules": [_rule_json(rule) for rule in rule_set.domain_rules],
            "encodingRules": [_rule_json(rule) for rule in rule_set.encoding_rules],
            "enableAt": rule_set.enable_at,
        }
    )


def _rule_json(rule: Rule) -> dict[str, object]:
    return _without_empty(
        {
            "name": rule.name,
            "doc": rule.doc,
            "kind": rule.kind,
            "mode": rule.mode,
            "type": rule.type,
            "tags": list(rule.tags),
            "params": dict(rule.params),
            "expr": rule.expr,
            "onSuccess": rule.on_success,
            "onFailure": rule.on_failure,
            "disabled": rule.disabled,
        }
    )


def config_json(config: Config, *, level_key: str = "compatibility") -> dict[str, object]:
    """The set members of a config; ``level_key`` is ``compatibilityLevel`` in answers to GET and DELETE."""
    found: dict[str, object] = {}
    if config.compatibility_level is not None:
        found[level_key] = config.compatibility_level.value
    for name, (key, _) in _CONFIG_MEMBERS.items():
        value = getattr(config, name)
        if isinstance(value, Metadata):
            value = metadata_json(value)
        elif isinstance(value, RuleSet):
            value = rule_set_json(value)
        if value is not None:
            found[key] = value
    return found


def config_keys() -> dict[str, str]:
    """The REST API's name of every field of :class:`Config`, as a PUT spells it."""
    others = {name: key for name, (key, _) in _CONFIG_MEMBERS.items()}
    return {field.name: others.get(field.name, "compatibility") for field in fields(Config)}
