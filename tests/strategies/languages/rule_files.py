"""The schemas of the examples of rules, which have every construct that a rule is about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import Validation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.parsed import ParsedSchema

RULES: Final = Path(__file__).parents[2] / "rules"
TYPE_BY_SUFFIX: Final = {".avsc": SchemaType.AVRO, ".proto": SchemaType.PROTOBUF, ".json": SchemaType.JSON}


def rule_schemas(schema_type: SchemaType) -> Iterator[tuple[str, ParsedSchema]]:
    """Yield the schemas of one language, each with the name of its rule and side."""
    for path in sorted(RULES.glob("*/*/*")):
        if path.stem in ("previous", "current") and TYPE_BY_SUFFIX.get(path.suffix) is schema_type:
            schema = parse_schema(path.read_text(encoding="utf-8"), schema_type, validation=Validation.LENIENT)
            yield f"{path.parent.name}/{path.stem}", schema
