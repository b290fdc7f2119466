"""What a search for a witness brings back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from counterfoil.schema.compatibility.sentences import Sentence


@dataclass(frozen=True, slots=True)
class Witness:
    """A datum that the writer may write and the reader cannot read, seen to fail in a decoder that is not ours.

    ``datum_json`` is the datum as plain JSON for people: a union's value stands plain, bytes are text in which each
    character is one byte. ``body`` is what a message would carry, without framing: Avro binary, a Protobuf message, or
    JSON in UTF-8. ``stop`` says where the reader stops and why; ``confirmed_by`` names the decoder and quotes what it
    said.
    """

    datum_json: str
    body: bytes
    stop: Sentence
    confirmed_by: str

    @property
    def step(self) -> str:
        """Where the reader stops and why, with the two sides called "the reader" and "the writer"."""
        return self.stop.render(is_start=False)


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What came of writing generated values with the writer's schema and reading them with the reader's.

    ``round_tripped`` counts the values that were read. ``counter_witness`` is the first that was not: it proves a
    verdict "compatible" wrong. ``reason`` says in a few words why fewer values than asked for were read, where nothing
    speaks against the verdict: the decoder does not take the schemas, or no more values of bearable size exist.
    """

    round_tripped: int
    counter_witness: Witness | None = None
    reason: str = ""

    def __str__(self) -> str:
        if self.counter_witness is not None:
            return f"value {self.round_tripped + 1} is not read as it was written: {self.counter_witness.confirmed_by}"
        return f"{self.round_tripped} values were written and read" + (f"; {self.reason}" if self.reason else "")


@dataclass(frozen=True, slots=True)
class NoWitness:
    """A search that found none: how many data were ``tried``, and the ``reason`` in a few words. It is falsy."""

    tried: int
    reason: str

    def __bool__(self) -> Literal[False]:
        return False

    def __str__(self) -> str:
        return f"no witness found ({self.tried} tried): {self.reason}"
