"""The kernel: schemas, their meaning, and the rules between them. No I/O, no framework.

The names below are loaded at their first use, so that the import of the kernel is fast.

>>> from counterfoil.schema import parse_schema
>>> parse_schema('{"type": "record", "name": "Order", "fields": []}').name
'Order'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from counterfoil.schema.compatibility import CompatibilityLevel, Direction, parse_level
    from counterfoil.schema.compatibility.findings import CompatibilityReport, Difference, Earlier, Failure
    from counterfoil.schema.errors import CounterfoilError, InvalidSchema, RegistryError, SchemaParseError
    from counterfoil.schema.fingerprint import (
        content_guid,
        md5_fingerprint,
        parsing_canonical_form,
        rabin_fingerprint,
        sha256_fingerprint,
    )
    from counterfoil.schema.judgement import Budget, Incompatibility, Judgement, UnreadValue, check_compatibility, judge
    from counterfoil.schema.languages.table import parse_schema
    from counterfoil.schema.model import Metadata, Reference, ResolvedReference, Rule, RuleSet, Schema, SchemaType
    from counterfoil.schema.parsed import ParsedSchema, Validation
    from counterfoil.schema.texts import Position


__all__ = [
    "Budget",
    "CompatibilityLevel",
    "CompatibilityReport",
    "CounterfoilError",
    "Difference",
    "Direction",
    "Earlier",
    "Failure",
    "Incompatibility",
    "InvalidSchema",
    "Judgement",
    "Metadata",
    "ParsedSchema",
    "Position",
    "Reference",
    "RegistryError",
    "ResolvedReference",
    "Rule",
    "RuleSet",
    "Schema",
    "SchemaParseError",
    "SchemaType",
    "UnreadValue",
    "Validation",
    "check_compatibility",
    "content_guid",
    "judge",
    "md5_fingerprint",
    "parse_level",
    "parse_schema",
    "parsing_canonical_form",
    "rabin_fingerprint",
    "sha256_fingerprint",
]

_NAMES_BY_MODULE = {
    "judgement": ("Budget", "Incompatibility", "Judgement", "UnreadValue", "check_compatibility", "judge"),
    "compatibility": ("CompatibilityLevel", "Direction", "parse_level"),
    "compatibility.findings": ("CompatibilityReport", "Difference", "Earlier", "Failure"),
    "errors": ("CounterfoilError", "InvalidSchema", "RegistryError", "SchemaParseError"),
    "fingerprint": (
        "content_guid",
        "md5_fingerprint",
        "parsing_canonical_form",
        "rabin_fingerprint",
        "sha256_fingerprint",
    ),
    "parsed": ("ParsedSchema", "Validation"),
    "model": ("Metadata", "Reference", "ResolvedReference", "Rule", "RuleSet", "Schema", "SchemaType"),
    "languages.table": ("parse_schema",),
    "texts": ("Position",),
}
_MODULE_BY_NAME = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}


def __getattr__(name: str) -> Any:
    module = _MODULE_BY_NAME.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
