"""Reading a contract or product file: YAML, valid under its standard, then as values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.agreements.fields import Faults
from counterfoil.schema.agreements.model import Fault, Reading
from counterfoil.schema.agreements.odcs import contract_of
from counterfoil.schema.agreements.odps import application_of
from counterfoil.schema.agreements.standards import ODCS, is_quickly_valid, standard_of, violations
from counterfoil.schema.agreements.violations import INVALID
from counterfoil.schema.documents.nodes import InvalidDocument
from counterfoil.schema.documents.yaml_reader import read_yaml

if TYPE_CHECKING:
    from counterfoil.schema.agreements.standards import Standard
    from counterfoil.schema.documents.nodes import Node


def read_agreement(text: str, *, is_validated: bool = False) -> Reading:
    """Return the contract or the application that a file declares, with every mistake in it and its place.

    ``is_validated``: the file is known to be valid under its standard, which is not checked again.

    >>> text = "{kind: DataContract, apiVersion: v3.1.0, id: a, version: 1.0.0, status: new, teams: 1}"
    >>> [f"{fault.position}: {fault.problem}" for fault in read_agreement(text).faults]
    ['1:78: the file has no key teams; did you mean team?']
    """
    try:
        root = read_yaml(text)
        if root is None:
            return Reading(None, (Fault(INVALID, "the file is empty", None),))
        standard = standard_of(root)
        if isinstance(standard, Fault):
            return Reading(None, (standard,))
        found = () if is_validated else violations(root, standard[1])
        return Reading(None, found) if found else _read(root, standard[0])
    except InvalidDocument as mistake:
        return Reading(None, (Fault(INVALID, mistake.problem, mistake.position, mistake.repair),))


def read_if_valid(text: str) -> Reading | None:
    """Return what :func:`read_agreement` does for a file that is valid under its standard; None for any other.

    To find the mistakes of a file may take a tenth of a second for each 10 kB.
    """
    try:
        root = read_yaml(text)
        standard = None if root is None else standard_of(root)
        if root is None or standard is None or isinstance(standard, Fault) or not is_quickly_valid(root, standard[1]):
            return None
        return _read(root, standard[0])
    except InvalidDocument:
        return None


def _read(root: Node, standard: Standard) -> Reading:
    faults = Faults()
    read = contract_of if standard is ODCS else application_of
    return Reading(read(root, faults), tuple(faults.found))
