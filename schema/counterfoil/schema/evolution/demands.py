"""What the schema of a target demands of an object, whatever its values are: what no record of a plan can give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.evolution.model import Constant
from counterfoil.schema.evolution.presence import may_be_null

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from counterfoil.schema.evolution.model import Op
    from counterfoil.schema.evolution.tree import Demands

Path = tuple[str, ...]


def unmet_demands(
    demands: Demands, built: Mapping[str, Op], is_nullable: Callable[[Path], bool]
) -> Iterator[tuple[str, str]]:
    """Yield the demands that no record meets: the name of the property, empty for the object, and a sentence.

    ``built`` are the operations of the fields; ``is_nullable`` returns whether the source value at a path may be null.
    """
    possible = {name for name, op in built.items() if op != Constant(None)}
    certain = {name for name in possible if not may_be_null(built[name], is_nullable)}
    for name in demands.undeclared:
        yield name, "the target requires this property and does not declare it; declare it, so that it can be filled"
    for name in sorted(certain & demands.refused):
        yield name, "propertyNames of the target refuses this name"
    for name in sorted(certain & demands.needed.keys()):
        missing = sorted(demands.needed[name] - possible - {*demands.undeclared})
        if missing:
            yield name, f"where this property is, the target requires {', '.join(missing)} as well"
    if len(possible) < demands.least:
        yield "", f"the target requires at least {demands.least} properties; the plan fills {len(possible)}"
    if demands.most is not None and len(certain) > demands.most:
        yield "", f"the target permits at most {demands.most} properties; the plan fills {len(certain)}"
