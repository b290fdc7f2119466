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


def stored_agreement(text: str) -> Agreement | None:
    """Return the agreement of a file that was validated when it was stored."""
    return read_agreement(text, is_validated=True).agreement


def hash_of_file(text: str, fingerprints: Mapping[str, str]) -> str:
    """Return the hash of what affects a verdict in a valid contract file; ``fingerprints`` are of its schemas."""
    agreement = read_agreement(text).agreement
    assert agreement is not None  # noqa: S101 - it is valid
    return content_hash(agreement, fingerprints=fingerprints)


def ports_of(text: str) -> dict[str, list[Any]]:
    """Return the input ports of a product file as JSON, by the contract that they read."""
    root = read_yaml(text)
    found = {} if root is None else ports_by_contract(root)
    return {contract: [node_json(each) for each in ports] for contract, ports in found.items()}
