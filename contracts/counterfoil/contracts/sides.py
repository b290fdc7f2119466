"""The names of the two sides of a comparison in reports, by the direction in which records are read."""

from __future__ import annotations

from typing import Final

from counterfoil.schema.compatibility.levels import Direction
from counterfoil.schema.compatibility.sentences import SideNames

SIDE_NAMES_BY_DIRECTION: Final = {
    Direction.BACKWARD: SideNames("this schema", "the earlier one", "this schema's", "the earlier schema's"),
    Direction.FORWARD: SideNames("the earlier schema", "this one", "the earlier schema's", "this schema's"),
}
ADVICE_NAMES: Final = SideNames("this schema", "the earlier schema", "this schema's", "the earlier schema's")
"""The names of the two sides in advice about a schema that fails to read."""
