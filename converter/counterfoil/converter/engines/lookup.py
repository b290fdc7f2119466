"""How executors request, from the driver, the conversion of records whose schema id was registered after the start.

A task that reads an unknown schema id waits for the answer of the driver: what converts records of this id, or that
they are dead letters, or that the run ends. So no record is written before its id is decided, order is kept, and the
query goes on without a restart. :mod:`counterfoil.converter.run.writers` is the driver's part.

A request is the letters of a form and of key or value, the id, and their signature; an answer is the letter of an
outcome, the length of a content, the content, and a signature of the request and all this. Both sides sign with a
secret that executors get with the query, so that nobody else can send them code.
"""

from __future__ import annotations

import hashlib
import hmac
import socket
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final

from counterfoil.schema.caches import cached_by_size

if TYPE_CHECKING:
    from typing import BinaryIO


REQUEST_BYTES: Final = 6
SIGNATURE_BYTES: Final = 32
_HEAD_BYTES: Final = 5
_CACHE_BYTES: Final = 64 * 1024 * 1024
_BYTES_AN_ID: Final = 300
_TIMEOUT_S: Final = 180
"""Longer than the driver waits for the registry."""


class RecipeForm(Enum):
    """What executors need to convert records of one id."""

    JAVA = b"J"
    """Compiled classes, for the engine ``java``."""
    RECIPE = b"R"
    """A packed recipe, for the reference evaluator."""


class Half(Enum):
    """Which part of a record an id was read from; keys are converted by a plan of their own."""

    KEY = b"K"
    VALUE = b"V"


class LookupOutcome(Enum):
    """What becomes of the records of an id."""

    CONVERT = b"C"
    """The content is what converts them."""
    DEAD_LETTER = b"D"
    """They are dead letters."""
    STOP = b"S"
    """The run ends; the content is the reason, as a sentence."""


class UnknownIdStop(RuntimeError):
    """The run ends because of a schema id that it cannot convert."""


@dataclass(frozen=True)
class WriterLookup:
    """The address at which the driver answers, and the secret of its run; ``half`` is what its user converts."""

    host: str
    port: int
    secret: str = field(repr=False)
    half: Half = Half.VALUE

    def sign(self, content: bytes) -> bytes:
        """Return the signature of a content."""
        return hmac.digest(self.secret.encode(), content, hashlib.sha256)

    def is_signed(self, content: bytes, signature: bytes) -> bool:
        """Return whether the signature is that of the content."""
        return hmac.compare_digest(self.sign(content), signature)

    def request(self, form: RecipeForm, schema_id: int) -> bytes:
        """Return the bytes of a request."""
        request = form.value + self.half.value + schema_id.to_bytes(4)
        return request + self.sign(request)

    def answer(self, request: bytes, outcome: LookupOutcome, content: bytes) -> bytes:
        """Return the bytes of an answer."""
        answer = outcome.value + len(content).to_bytes(4) + content
        return answer + self.sign(request + answer)


@cached_by_size(_CACHE_BYTES, size_of=lambda recipe, *_: len(recipe or b"") + _BYTES_AN_ID)
def recipe_from_driver(lookup: WriterLookup, schema_id: int) -> bytes | None:
    """Return the packed recipe for records of an id, or None if they are dead letters.

    It is requested once, unless those of very many other ids were requested since.

    Raises ``UnknownIdStop`` if the run ends, and ``OSError`` if the driver does not answer.
    """
    request = lookup.request(RecipeForm.RECIPE, schema_id)
    with socket.create_connection((lookup.host, lookup.port), _TIMEOUT_S) as connection:
        connection.sendall(request)
        with connection.makefile("rb") as answers:
            outcome, content = _read_answer(lookup, request[:REQUEST_BYTES], answers)
    if outcome is LookupOutcome.STOP:
        raise UnknownIdStop(content.decode())
    return content if outcome is LookupOutcome.CONVERT else None


def _read_answer(lookup: WriterLookup, request: bytes, answers: BinaryIO) -> tuple[LookupOutcome, bytes]:
    head = answers.read(_HEAD_BYTES)
    content = answers.read(int.from_bytes(head[1:]))
    if not lookup.is_signed(request + head + content, answers.read(SIGNATURE_BYTES)):
        raise ConnectionError("the answer about a schema id does not come from the driver of this run")
    return LookupOutcome(head[:1]), content
