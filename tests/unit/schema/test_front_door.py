"""The names that the kernel offers at its door, and what importing it costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import counterfoil.schema as kernel


@pytest.mark.parametrize("name", kernel.__all__)
def test_every_name_at_the_door_is_there(name: str) -> None:
    assert getattr(kernel, name) is not None
    assert name in dir(kernel)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = kernel.nothing  # type: ignore[attr-defined]


def _modules_after(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_importing_the_kernel_loads_none_of_it() -> None:
    loaded = {name for name in _modules_after("import counterfoil.schema") if name.startswith("counterfoil.schema.")}
    assert not loaded


def test_parsing_a_schema_needs_the_standard_library_only() -> None:
    loaded = _modules_after("from counterfoil.schema import parse_schema; parse_schema('\"int\"')")
    assert "counterfoil.schema.parsing" in loaded
    assert not loaded & {"fastavro", "httpx", "click", "yaml", "counterfoil.schema.languages.avro.compare.differences"}
