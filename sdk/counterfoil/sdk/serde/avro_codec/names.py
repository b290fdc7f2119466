"""The names of records in unions, for rules: the fields of a value alone may not say which branch it is.

Two records may have the same fields, and a map the keys of a record. Where a union has such branches, rules see the
dicts of records with their full names, under the key of :data:`TYPE_KEY`; the program gets them without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.formats.avro.types import Array, Map, Record, Union
from counterfoil.sdk.serde.avro_codec.branches import branch_named
from counterfoil.sdk.serde.avro_codec.plan import TYPE_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from counterfoil.schema.formats.avro.types import AvroType

_DICTS: Final = (Record, Map)


def needs_names(root: AvroType) -> bool:
    """Return whether a schema has a union with a record, and with another record or a map."""
    seen: set[str] = set()
    waiting = [root]
    while waiting:
        match waiting.pop():
            case Record() as record if record.full_name not in seen:
                seen.add(record.full_name)
                waiting += [field.type for field in record.fields]
            case Array(items=inner) | Map(values=inner):
                waiting.append(inner)
            case Union(branches=branches):
                dicts = [branch for branch in branches if isinstance(branch, _DICTS)]
                if len(dicts) > 1:
                    return True
                waiting += branches
    return False


def without_names(root: AvroType) -> Callable[[Any], Any]:
    """Return a function from values of a schema whose records have their names to values without names."""
    return lambda value: _bare(root, value)


def _bare(avro_type: AvroType, value: Any) -> Any:
    match avro_type:
        case Record() if isinstance(value, dict):
            types = {field.name: field.type for field in avro_type.fields}
            kept = ((name, item) for name, item in value.items() if name != TYPE_KEY)
            return {name: _bare(types[name], item) if name in types else item for name, item in kept}
        case Array(items=items) if isinstance(value, list):
            return [_bare(items, item) for item in value]
        case Map(values=values) if isinstance(value, dict):
            return {key: _bare(values, item) for key, item in value.items()}
        case Union(branches=branches) if isinstance(value, (dict, list)):
            branch = _branch(avro_type, branches, value)
            return value if branch is None else _bare(branch, value)
    return value


def _branch(union: Union, branches: Sequence[AvroType], value: dict[str, Any] | list[Any]) -> AvroType | None:
    if isinstance(value, list):
        return next((branch for branch in branches if isinstance(branch, Array)), None)
    name = value.get(TYPE_KEY)
    index = branch_named(union, name) if isinstance(name, str) else None
    if index is not None:
        return branches[index]
    maps = (branch for branch in branches if isinstance(branch, Map))
    return next(maps, None) or next((branch for branch in branches if _has_names(branch, value)), None)


def _has_names(branch: AvroType, value: dict[str, Any]) -> bool:
    return isinstance(branch, Record) and value.keys() <= {field.name for field in branch.fields}
