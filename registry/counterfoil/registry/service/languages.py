"""Loading the code of the schema languages beside the event loop, when each is first needed.

Its modules and the decoders of other packages take up to a tenth of a second each to be imported. In the event loop,
all other requests would wait for that; a thread lets them go on.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from threading import Lock, Thread
from typing import TYPE_CHECKING, Final

from counterfoil.schema.compatibility.levels import CompatibilityLevel
from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.compatibility.report import Earlier
from counterfoil.schema.judgement.answers import Question, judged, messages_about
from counterfoil.schema.judgement.judge import Budget
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsing import parse_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counterfoil.schema.judgement.judge import Judgement

_EXAMPLES: Final[Mapping[SchemaType, tuple[str, str]]] = {
    SchemaType.AVRO: ('"int"', '"string"'),
    SchemaType.PROTOBUF: (
        'syntax = "proto3"; message Example { int32 field = 1; }',
        'syntax = "proto3"; message Example { string field = 1; }',
    ),
    SchemaType.JSON: ('{"type": "integer"}', '{"type": "string"}'),
}
"""Two versions of a schema, of which the second cannot read the first: comparing them needs the code of a language."""


class LanguageCode:
    """The code that this process has loaded: once, for whichever event loop and thread needs it first."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._loaded: dict[Callable[[SchemaType], object], dict[SchemaType, Future[None]]] = {}

    async def to_compare(self, schema_type: SchemaType) -> None:
        """Return when the code that parses, prints and compares schemas of a language is loaded."""
        await self._once(_compared, schema_type)

    async def to_search(self, schema_type: SchemaType) -> None:
        """Return when the code that searches for witnesses is loaded, too, with the decoders that it needs."""
        await self._once(_searched, schema_type)

    async def _once(self, work: Callable[[SchemaType], object], schema_type: SchemaType) -> None:
        by_type = self._loaded.setdefault(work, {})
        done = by_type.get(schema_type)
        if done is None:
            with self._lock:
                done = by_type.get(schema_type)
                if done is None:
                    done = by_type[schema_type] = Future()
                    loading = Thread(target=_carry_out, args=(work, schema_type, done), daemon=True)
                    loading.start()
        if not done.done():
            await asyncio.wrap_future(done)


LANGUAGE_CODE: Final = LanguageCode()
"""That of this process: modules are loaded once for all registries in it."""


def _carry_out(work: Callable[[SchemaType], object], schema_type: SchemaType, done: Future[None]) -> None:
    """Load code; if that fails, it fails again where the code is used, with an error that belongs to the request."""
    try:
        work(schema_type)
    finally:
        done.set_result(None)


def _compared(schema_type: SchemaType) -> Judgement:
    earlier, candidate = (parse_schema(text, schema_type) for text in _EXAMPLES[schema_type])
    candidate.canonical()
    question = Question(candidate, [Earlier(earlier)], CompatibilityLevel.FULL, CompatibilityPolicy.STRICT)
    return judged(question, Budget(witnesses=1))


def _searched(schema_type: SchemaType) -> tuple[str, ...]:
    return messages_about(_compared(schema_type))
