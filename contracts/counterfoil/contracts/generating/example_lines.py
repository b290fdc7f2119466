"""Example records and golden vectors as lines of JSON, the same ones for the same seed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterfoil.contracts.examples.choices import USUAL, SeededChoices, Shape
from counterfoil.contracts.values.form import one_line
from counterfoil.schema.model import SchemaType
from counterfoil.schema.wire import id_prefix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.contracts.examples.examples import Examples
    from counterfoil.contracts.library import FoundContract

SCHEMA_ID: Final = 1
"""The id in the frames of vectors, which no registry has given."""
_SPARSE: Final = Shape(leaves_out=True)


def fixture_lines(found: FoundContract, *, count: int, seed: int) -> Iterator[str]:
    """Yield records of a contract's topic, as ``counterfoil produce`` reads them; the first one leaves out what it may.

    Raises ``NoExample``.
    """
    choices = SeededChoices(f"fixtures {found.id} {seed}")
    records = found.records()
    for number in range(count):
        made = records.make(choices, USUAL if number else _SPARSE)
        line: dict[str, Any] = {"topic": found.topic, "key": made.key}
        if made.key is not None:
            line["keyForm"] = "text" if found.key_examples is None else "schema"
        line |= {"value": made.value, "headers": [{"name": name, "text": text} for name, text in made.headers]}
        yield one_line(line)


def vector_lines(examples: Examples, *, count: int, seed: int, name: str) -> Iterator[str]:
    """Yield vectors of a schema: a value, its message in hexadecimal, and what reading it returns.

    Raises ``NoExample``.
    """
    choices = SeededChoices(f"vectors {name} {seed}")
    prefix = id_prefix(SCHEMA_ID) + examples.suffix
    for number in range(count):
        value = examples.make(choices, USUAL if number else _SPARSE)
        data = examples.encode_in_order(examples.value(value), prefix)
        decoded = examples.show(data, len(prefix))
        line: dict[str, Any] = {
            "name": f"{name} {number + 1}",
            "format": examples.schema.schema_type.value,
            "schema": examples.schema.text,
            "value": value,
            "bytes_hex": data.hex(),
            "framing": {"form": "prefix", "schema_id": SCHEMA_ID, "bytes": len(prefix)},
            "decoded": _in_order(decoded) if examples.schema.schema_type is SchemaType.PROTOBUF else decoded,
        }
        if examples.references:
            line["references"] = [{"name": each.reference.name, "schema": each.text} for each in examples.references]
        yield one_line(line)


def _in_order(value: Any) -> Any:
    """Return a value whose keys are sorted."""
    match value:
        case dict():
            return {key: _in_order(value[key]) for key in sorted(value)}
        case list():
            return [_in_order(item) for item in value]
    return value
