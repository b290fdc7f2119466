"""The code of the schema languages is loaded in a thread, once."""

import asyncio
import subprocess
import sys
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


@pytest.mark.slow
def test_code_that_cannot_be_loaded_prints_no_traceback_of_the_thread() -> None:
    program = """
import asyncio, sys
class Broken:
    def find_spec(self, name, path=None, target=None):
        if name == "counterfoil.schema.languages.avro.policies":
            raise ImportError(f"{name} is broken")
sys.meta_path.insert(0, Broken())
from counterfoil.registry.subjects.reading import LanguageCode
from counterfoil.schema.model import SchemaType
asyncio.run(LanguageCode().to_compare(SchemaType.AVRO))
print("loaded")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "loaded\n", "")
