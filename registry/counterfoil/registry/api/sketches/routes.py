"""The routes under ``/sketches/v1``."""

from __future__ import annotations

from functools import partial
from typing import Final

from counterfoil.registry.api.routes.access import FOUND, on, the_scope
from counterfoil.registry.api.routes.route import ValidatedRoute
from counterfoil.registry.api.sketches import endpoints as sketches
from counterfoil.registry.domain.access.operations import Operation
from counterfoil.schema import errors
from counterfoil.schema.rest.object_forms import JsonType, ListOf

_route = partial(ValidatedRoute, tag="sketches")
_ALL: Final = "/sketches/v1/subjects"
_ONE: Final = f"{_ALL}/{{subject}}"
_SKETCH: Final = JsonType(
    read=lambda given: given.value,
    schema={"type": "object", "description": "The document of a sketch, as `counterfoil sketch --out` writes it."},
)

SKETCH_ROUTES: Final[tuple[ValidatedRoute, ...]] = (
    _route("GET", _ALL, sketches.list_sketches, access=FOUND, result=ListOf({"type": "string"}), errors=()),
    _route(
        "GET",
        _ONE,
        sketches.get_sketch,
        access=on(Operation.READ, the_scope),
        result=_SKETCH,
        errors=(errors.SketchNotFound,),
    ),
    _route(
        "PUT",
        _ONE,
        sketches.put_sketch,
        access=on(Operation.WRITE, the_scope),
        errors=(errors.UnusableSketch, errors.OperationNotPermitted),
    ),
    _route(
        "DELETE",
        _ONE,
        sketches.delete_sketch,
        access=on(Operation.WRITE, the_scope),
        errors=(errors.SketchNotFound, errors.OperationNotPermitted),
    ),
)
