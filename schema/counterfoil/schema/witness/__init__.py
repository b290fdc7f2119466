"""Witnesses: a datum that the writer may write and the reader cannot read."""

from counterfoil.schema.witness.find import find_witness, search_for_witness
from counterfoil.schema.witness.model import NoWitness, Witness

__all__ = ["NoWitness", "Witness", "find_witness", "search_for_witness"]
