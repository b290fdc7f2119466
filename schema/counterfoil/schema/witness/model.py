"""What a search for a witness brings back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Witness:
    """A datum that the writer may write and the reader cannot read, seen to fail in a decoder that is not ours.

    ``datum_json`` is the datum as plain JSON for people: a union's value stands plain, bytes are text in which each
    character is one byte. ``body`` is its Avro binary encoding under the writer's schema, without framing. ``step``
    says where the reader stops and why; ``confirmed_by`` names the decoder and quotes what it said.
    """

    datum_json: str
    body: bytes
    step: str
    confirmed_by: str


@dataclass(frozen=True, slots=True)
class NoWitness:
    """A search that found none: how many data were ``tried``, and the ``reason`` in a few words. It is falsy."""

    tried: int
    reason: str

    def __bool__(self) -> Literal[False]:
        return False

    def __str__(self) -> str:
        return f"no witness found ({self.tried} tried): {self.reason}"
