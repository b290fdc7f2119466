"""Names for values whose type only a schema knows: a datum of a message, a JSON value.

For a type checker each of them is ``Any``: which types a value has is decided by a schema at run time, and the modules
that handle it have read that schema. A value that is only passed on is an ``object`` instead.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Datum: TypeAlias = Any
"""Any value that a codec may meet: of a record, a field or an element, as Python has it.

None, a bool, int, float, str or bytes; a list, tuple or dict of such; a date, time, decimal or UUID of a logical type;
a Protobuf message; an object of a user's own class. Its schema says which.
"""

Json: TypeAlias = Any
"""A JSON value as Python has it: None, bool, int, float, str, or a list or dict of such."""

JsonObject: TypeAlias = dict[str, Json]
"""A JSON object as Python has it."""
