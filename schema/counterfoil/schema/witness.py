"""The results of searches for witnesses and of confirmations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from counterfoil.schema.compatibility.rules import Sentence


BEYOND_LIMITS: Final = "none was found within the limits of a search"
"""The reason of a search that has no steps left."""


@dataclass(frozen=True, slots=True)
class Witness:
    """A datum that the writer may write and the reader cannot read, confirmed with a decoder of another project.

    ``datum_json`` is the datum as plain JSON: a union's value has no type name, bytes are text in which each character
    is one byte. ``body`` is the value of a message without framing: Avro binary, a Protobuf message, or JSON in UTF-8.
    ``stop`` is the place at which the reader stops and why; ``confirmed_by`` has the decoder's name and its error.
    """

    datum_json: str
    body: bytes
    stop: Sentence
    confirmed_by: str

    @property
    def step(self) -> str:
        """The place at which the reader stops and why, with the two sides called "the reader" and "the writer"."""
        return self.stop.render(is_start=False)


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The result of writing generated values with the writer's schema and reading them with the reader's.

    ``round_tripped`` is the number of values that were read as they were written. ``counter_witness`` is the first that
    was not: it proves a verdict "compatible" wrong. ``reason`` is why fewer values than requested were read although
    nothing contradicts the verdict: the decoder refuses the schemas, or there are no more values of a limited size.
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
    """The result of a search without a witness: the number of data ``tried``, and the ``reason``. It is falsy."""

    tried: int
    reason: str

    def __bool__(self) -> Literal[False]:
        return False

    def __str__(self) -> str:
        return f"no witness found ({self.tried} tried): {self.reason}"
