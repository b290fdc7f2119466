"""Requests to register or change a bridge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from counterfoil.registry.service.requests import SchemaRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.schema.bridges.model import BridgeFile
    from counterfoil.schema.model import Schema
    from counterfoil.schema.rest.bridges import BridgeLimits, Direction


@dataclass(frozen=True, slots=True)
class BridgeRequest:
    """A bridge to register, or changes to one; None is not given.

    ``plan`` is the text of the bridge file, which names the bridge, the topics and the subjects, and ``reverse_plan``
    the text of one that converts back. ``schema`` is the schema of the source if it is not registered yet; with
    ``registers`` it is registered together with the bridge. Otherwise ``source_version`` is the version of the source,
    by default the latest. ``target_version`` is that of the target, by default the one in the bridge file.
    """

    plan: str | None = None
    reverse_plan: str | None = None
    schema: SchemaRequest | None = None
    source_version: int | None = None
    target_version: int | None = None
    registers: bool = False
    normalize: bool = False
    direction: Direction | None = None
    owner: str | None = None
    description: str | None = None
    limits: BridgeLimits | None = None

    @property
    def changes_plan(self) -> bool:
        """Whether the request is about the plan or its schemas."""
        given = (self.plan, self.reverse_plan, self.schema, self.source_version, self.target_version, self.direction)
        return any(each is not None for each in given)


Permit: TypeAlias = "Callable[[BridgeFile, BridgeRequest], None]"
"""Raises unless the caller may register or change the bridge in a file."""


def permit_all(_: BridgeFile, __: BridgeRequest) -> None:
    """Do nothing: for callers who may do everything."""


def schema_request_of(schema: Schema) -> SchemaRequest:
    """Return the request to register ``schema`` as it is, without parts of the latest version."""
    return SchemaRequest(
        schema.text,
        schema.schema_type.value,
        schema.references,
        schema.metadata,
        schema.rule_set,
        is_complete=True,
    )
