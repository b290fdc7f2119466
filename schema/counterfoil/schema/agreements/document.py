"""Reading a contract or product file: YAML, valid under its standard, then as values."""

from __future__ import annotations

from counterfoil.schema.agreements.fields import Faults
from counterfoil.schema.agreements.model import Fault, Reading
from counterfoil.schema.agreements.odcs import contract_of
from counterfoil.schema.agreements.odps import application_of
from counterfoil.schema.agreements.standards import ODCS, standard_of, violations
from counterfoil.schema.agreements.violations import INVALID
from counterfoil.schema.documents.nodes import InvalidDocument
from counterfoil.schema.documents.yaml_reader import read_yaml


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
        if found:
            return Reading(None, found)
        faults = Faults()
        read = contract_of if standard[0] is ODCS else application_of
        agreement = read(root, faults)
    except InvalidDocument as mistake:
        return Reading(None, (Fault(INVALID, mistake.problem, mistake.position, mistake.repair),))
    return Reading(agreement, tuple(faults.found))
