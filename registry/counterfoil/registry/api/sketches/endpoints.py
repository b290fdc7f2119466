"""The endpoints under ``/sketches/v1``."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Body

from counterfoil.registry.api.changes.parameters import ScopeSubject
from counterfoil.registry.api.routes.services import CallOfRequest, CasesOfRequest

SketchBody = Annotated[dict[str, Any], Body(description="The document of a sketch.")]


async def list_sketches(cases: CasesOfRequest, call: CallOfRequest) -> Any:
    """List the subjects that have a sketch."""
    call.asks()
    return [str(subject) for subject in await cases.sketches.subjects() if call.may_read(subject)]


async def get_sketch(cases: CasesOfRequest, subject: ScopeSubject) -> Any:
    """Return the sketch of a subject."""
    return await cases.sketches.get(subject)


async def put_sketch(cases: CasesOfRequest, subject: ScopeSubject, body: SketchBody) -> None:
    """Store a sketch with its subject, instead of the one before."""
    await cases.sketches.put(subject, body)


async def delete_sketch(cases: CasesOfRequest, subject: ScopeSubject) -> None:
    """Delete the sketch of a subject."""
    await cases.sketches.delete(subject)
