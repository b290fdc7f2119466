"""Contract files as a registry keeps them: their agreement, and the ports of a product as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.schema.agreements.document import read_agreement
from counterfoil.schema.agreements.identity import content_hash
from counterfoil.schema.agreements.odps import ports_by_contract
from counterfoil.schema.documents.node_json import node_json
from counterfoil.schema.documents.yaml_reader import read_yaml

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.agreements.model import Agreement
    from counterfoil.schema.model import Schema
    from counterfoil.schema.rest.contracts import PublishedContract


def stored_agreement(text: str) -> Agreement | None:
    """Return the agreement of a file that was validated before, such as when it was stored."""
    return read_agreement(text, is_validated=True).agreement


def hash_of_file(text: str, schemas: Mapping[str, Schema]) -> str:
    """Return the hash of the content of a contract file that was validated, with its schemas."""
    agreement = stored_agreement(text)
    assert agreement is not None  # noqa: S101 - it is valid
    return hash_of_contract(agreement, schemas)


def ports_of(text: str) -> dict[str, list[Any]]:
    """Return the input ports of a product file as JSON, by the contract that they read."""
    root = read_yaml(text)
    found = {} if root is None else ports_by_contract(root)
    return {contract: [node_json(each) for each in ports] for contract, ports in found.items()}


def hash_of_contract(agreement: Agreement, schemas: Mapping[str, Schema]) -> str:
    """Return the hash of a contract's content with its schemas."""
    prints = {link: f"{each.schema_type}:{each.text}:{each.references}" for link, each in schemas.items()}
    return content_hash(agreement, fingerprints=prints)


def are_the_same(one: PublishedContract, other: PublishedContract) -> bool:
    """Return whether two contracts have the same content, whatever release computed the hashes with which they came."""
    if one.text == other.text and one.schemas == other.schemas:
        return True
    hashes = []
    for each in (one, other):
        agreement = stored_agreement(each.text)
        hashes.append(each.hash if agreement is None else hash_of_contract(agreement, each.schemas))
    return hashes[0] == hashes[1]
