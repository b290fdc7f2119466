"""Contract files (ODCS) and product files (ODPS) as YAML texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from counterfoil.contracts.generating.fields import paths_of, properties_of
from counterfoil.schema.agreements.odcs import SCHEMA_TYPE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.parsed import ParsedSchema


@dataclass(frozen=True, slots=True)
class ContractFacts:
    """What a contract file says besides its fields. ``schema_path`` is relative to the file, None without one."""

    id: str
    topic: str
    subject: str
    version: str = "1.0.0"
    owner: str | None = None
    schema_path: str | None = None


def contract_text(schema: ParsedSchema, facts: ContractFacts, *, has_fields: bool) -> str:
    """Return a contract file for a schema; its fields are listed with ``has_fields``, or if no file has them."""
    name = (schema.name or facts.topic).rpartition(".")[2]
    promise: dict[str, Any] = {"name": name, "physicalName": facts.topic, "logicalType": "object"}
    if facts.schema_path is not None:
        promise["authoritativeDefinitions"] = [{"type": SCHEMA_TYPE, "url": facts.schema_path}]
    if facts.subject != f"{facts.topic}-value":
        promise["customProperties"] = [{"property": "subject", "value": facts.subject}]
    if has_fields or facts.schema_path is None:
        promise["properties"] = properties_of(schema)
    return yaml_text(
        {
            "apiVersion": "v3.2.0",
            "kind": "DataContract",
            "id": facts.id,
            "name": facts.id,
            "version": facts.version,
            "status": "draft",
            **({} if facts.owner is None else {"team": {"name": facts.owner}}),
            "schema": [promise],
        }
    )


@dataclass(frozen=True, slots=True)
class ConsumerFacts:
    """What a product file says besides what it reads. ``contract_version`` is the major version that is read."""

    id: str
    contract_id: str
    contract_version: str = "1"
    version: str = "1.0.0"
    owner: str | None = None


def consumer_text(facts: ConsumerFacts, reads: Sequence[str]) -> str:
    """Return a product file with one input port that reads these paths."""
    port = {
        "name": facts.contract_id,
        "version": facts.contract_version,
        "contractId": facts.contract_id,
        "customProperties": [{"property": "reads", "value": list(reads)}],
    }
    return yaml_text(
        {
            "apiVersion": "v1.0.0",
            "kind": "DataProduct",
            "id": facts.id,
            "name": facts.id,
            "version": facts.version,
            "status": "draft",
            **({} if facts.owner is None else {"team": {"name": facts.owner}}),
            "inputPorts": [port],
        }
    )


def all_reads(schema: ParsedSchema | None) -> list[str]:
    """Return the paths of all fields; the whole record without a schema."""
    return ["*"] if schema is None else paths_of(schema)


def yaml_text(document: Any) -> str:
    """Return a document as YAML, as people write it."""
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


class _Dumper(yaml.SafeDumper):
    """Writes lists with an indent, as people do, and no aliases."""

    def increase_indent(self, *options: Any, **named: Any) -> None:
        """Indent the items of lists, too."""
        super().increase_indent(*options[:1], **{**named, "indentless": False})

    def ignore_aliases(self, data: Any) -> bool:
        """Return that everything is written where it is used."""
        del data
        return True
