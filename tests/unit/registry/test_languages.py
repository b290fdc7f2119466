"""The code of the schema languages is loaded in a thread, once."""

import asyncio
import threading

import pytest

from counterfoil.registry.subjects.reading import LanguageCode
from counterfoil.schema.model import SchemaType


@pytest.mark.parametrize("schema_type", list(SchemaType))
def test_code_is_loaded_once_for_all_who_wait_and_for_every_loop(schema_type: SchemaType) -> None:
    code = LanguageCode()

    async def need() -> None:
        await asyncio.gather(*(code.to_compare(schema_type) for _ in range(5)))
        await code.to_search(schema_type)

    threads = [threading.Thread(target=asyncio.run, args=(need(),)) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(timeout=60)
    assert not any(each.is_alive() for each in threads)
    asyncio.run(need())
