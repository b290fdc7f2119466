"""Contract and product files: read, their identity by content, and as a registry keeps them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.agreements.documents import application_of, contract_of, ports_by_contract
from counterfoil.schema.agreements.model import AgreementFault, AgreementReading, Contract, OnUnknownEnum
from counterfoil.schema.agreements.standards import INVALID, ODCS, Faults, is_quickly_valid, standard_of, violations
from counterfoil.schema.documents import InvalidDocument, node_json
from counterfoil.schema.documents.yaml_reader import read_yaml

if TYPE_CHECKING:
    from collections.abc import Mapping
    from dataclasses import Field

    from counterfoil.schema.agreements.model import Agreement, Expectation, Promise
    from counterfoil.schema.agreements.standards import Standard
    from counterfoil.schema.documents import Node
    from counterfoil.schema.model import Schema
    from counterfoil.schema.rest.contracts import PublishedContract


# Reading a contract or product file: YAML, valid under its standard, then as values.


def read_agreement(text: str, *, is_validated: bool = False) -> AgreementReading:
    """Return the contract or the application that a file declares, with every mistake in it and its place.

    ``is_validated``: the file is known to be valid under its standard, which is not checked again.

    >>> text = "{kind: DataContract, apiVersion: v3.1.0, id: a, version: 1.0.0, status: new, teams: 1}"
    >>> [f"{fault.position}: {fault.problem}" for fault in read_agreement(text).faults]
    ['1:78: the file has no key teams; did you mean team?']
    """
    try:
        root = read_yaml(text)
        if root is None:
            return AgreementReading(None, (AgreementFault(INVALID, "the file is empty", None),))
        standard = standard_of(root)
        if isinstance(standard, AgreementFault):
            return AgreementReading(None, (standard,))
        found = () if is_validated else violations(root, standard[1])
        return AgreementReading(None, found) if found else _read(root, standard[0])
    except InvalidDocument as mistake:
        return AgreementReading(None, (AgreementFault(INVALID, mistake.problem, mistake.position, mistake.repair),))


def read_if_valid(text: str) -> AgreementReading | None:
    """Return what :func:`read_agreement` does for a file that is valid under its standard; None for any other.

    To find the mistakes of a file may take a tenth of a second for each 10 kB.
    """
    try:
        root = read_yaml(text)
        standard = None if root is None else standard_of(root)
        if (
            root is None
            or standard is None
            or isinstance(standard, AgreementFault)
            or not is_quickly_valid(root, standard[1])
        ):
            return None
        return _read(root, standard[0])
    except InvalidDocument:
        return None


def _read(root: Node, standard: Standard) -> AgreementReading:
    faults = Faults()
    read = contract_of if standard is ODCS else application_of
    return AgreementReading(read(root, faults), tuple(faults.found))


# The identity of an agreement by content: equal where no verdict can differ.

_PROSE: Final = frozenset({"position", "places", "description", "status", "owner", "name", "version", "servers"})
"""What changes no verdict: places, texts for people, and where a contract is deployed."""
_NAMED: Final = frozenset({"HeaderPromise", "Expectation"})
"""The values whose name says what they are about."""
_UNSET: Final[Mapping[str, Mapping[Enum | None, str]]] = {
    "on_unknown_enum": {None: "fail", OnUnknownEnum.FAIL: "fail, written"}
}
"""Other texts of some values: in hashes that are stored, a port that does not say what it does counts as ``fail``."""


def content_hash(agreement: Agreement, *, fingerprints: Mapping[str, str] | None = None) -> str:
    """Return SHA-256, in hex, of the canonical JSON of the parts that affect a verdict.

    These are promises, expectations, rules, service levels and migrations, in any order of fields and reads, but not
    descriptions. ``fingerprints`` are those of the schemas, by the text with which a file refers to each.

    Release 0.2.0 did not count a zero, such as a minimum of 0, and took an empty list of reads for none. Such a file
    has another hash in a store of that release.
    """
    kind = "Contract" if isinstance(agreement, Contract) else "Application"  # the word of stored hashes, not the class
    content = {"kind": kind, **_plain(agreement), "schemas": dict(fingerprints or {})}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def part_hash(part: Expectation | Promise) -> str:
    """Return SHA-256, in hex, of what a port expects or a topic promises, without versions and texts for people."""
    text = json.dumps(_plain(part), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        kind = type(value).__name__
        kept = (each for each in fields(value) if each.name not in _PROSE or (each.name == "name" and kind in _NAMED))
        parts = ((each, _named(each.name, getattr(value, each.name))) for each in kept)
        return {each.name: _plain(found) for each, found in parts if not _is_unset(each, found)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return _listed(value)
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    return value if isinstance(value, str | int | float | bool | list | None) else str(value)


def _named(name: str, value: Any) -> Any:
    return _UNSET[name].get(value, value) if name in _UNSET else value


def _is_unset(member: Field[Any], value: Any) -> bool:
    """Return whether a file does not state a member; an empty list is a statement where None is possible, too."""
    return value is None or value is False or (value == () and member.default is not None)


def _listed(value: tuple[Any, ...]) -> list[Any]:
    """Return a tuple as a list; the order of fields, reads, rules and the like has no meaning, that of steps has."""
    listed = [_plain(each) for each in value]
    is_ordered = any(isinstance(each, list) for each in listed)
    return listed if is_ordered else sorted(listed, key=lambda each: json.dumps(each, sort_keys=True))


# Contract files as a registry keeps them: their agreement, and the ports of a product as JSON.


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
