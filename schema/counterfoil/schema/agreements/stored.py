"""Contract files as a registry keeps them: their agreement, and the ports of a product as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.schema.agreements.document import read_agreement
from counterfoil.schema.agreements.odps import ports_by_contract
from counterfoil.schema.documents.node_json import node_json
from counterfoil.schema.documents.yaml_reader import read_yaml

if TYPE_CHECKING:
    from counterfoil.schema.agreements.model import Agreement


def stored_agreement(text: str) -> Agreement | None:
    """Return the agreement of a file that was validated when it was stored."""
    return read_agreement(text, is_validated=True).agreement


def ports_of(text: str) -> dict[str, list[Any]]:
    """Return the input ports of a product file as JSON, by the contract that they read."""
    root = read_yaml(text)
    found = {} if root is None else ports_by_contract(root)
    return {contract: [node_json(each) for each in ports] for contract, ports in found.items()}
