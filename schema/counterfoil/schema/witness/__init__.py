"""Witnesses: a datum that the writer may write and the reader cannot read."""

from counterfoil.schema.witness.model import NoWitness, Witness
from counterfoil.schema.witness.search import find_witness, search_for_witness

__all__ = ["NoWitness", "Witness", "find_witness", "search_for_witness"]
