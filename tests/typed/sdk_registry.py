"""What a type checker sees of the two clients; checked by mypy, never run."""

from __future__ import annotations

from typing import assert_type

from counterfoil.schema.model import Schema
from counterfoil.sdk import AsyncRegistry, Compatibility, Config, Mode, RegisteredSchema, Registry
from counterfoil.sdk.testing import InMemoryRegistry


def sync_calls(registry: Registry, schema: Schema) -> None:
    """Results are plain values."""
    assert_type(registry.register("s", schema, normalize=True), RegisteredSchema)
    assert_type(registry.schema_by_id(1, subject=":.c:"), Schema)
    assert_type(registry.version("s"), RegisteredSchema)
    assert_type(registry.subjects(prefix="a"), tuple[str, ...])
    assert_type(registry.check_compatibility("s", schema, version="latest"), Compatibility)
    assert_type(registry.set_config("s", "FULL", clear=["alias"]), Config)
    assert_type(registry.mode(), Mode | None)
    with registry as same:
        assert_type(same, Registry)


async def async_calls(registry: AsyncRegistry, schema: Schema) -> None:
    """Results are awaited, and otherwise the same."""
    assert_type(await registry.register("s", schema, normalize=True), RegisteredSchema)
    assert_type(await registry.schema_by_id(1), Schema)
    assert_type(await registry.delete_subject("s"), tuple[int, ...])
    async with registry as same:
        assert_type(same, AsyncRegistry)


def mistakes(registry: Registry, schema: Schema) -> None:
    """Each of these is one; an ignore that is not needed is an error of its own."""
    registry.register("s", "text")  # type: ignore[arg-type] # a schema has a type and references, too
    registry.register("s", schema, True)  # type: ignore[call-arg] # noqa: FBT003 - no flags by position
    registry.schema_by_id("7")  # type: ignore[arg-type] # an id is a number
    registry.version("s", "newest")  # type: ignore[arg-type] # the word is latest
    registry.registre("s", schema)  # type: ignore[attr-defined] # a name that is not there


def in_memory() -> None:
    """The in-memory registry gives the same clients."""
    assert_type(InMemoryRegistry().client(), Registry)
    assert_type(InMemoryRegistry().async_client(), AsyncRegistry)
