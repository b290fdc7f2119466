"""The rules about schema files, and the advice about a finding of any rule.

``counterfoil.schema.formats.rules`` has the compatibility rules; this module has the rules about files, and the advice
for the direction in which the reader is already deployed and cannot be changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.sides import ADVICE_NAMES
from counterfoil.schema.compatibility.levels import Direction
from counterfoil.schema.compatibility.sentences import Sentence
from counterfoil.schema.formats.rules import RULE_BY_ID
from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class FileRule:
    """A rule about a schema file: its ``id``, ``why`` it matters and how to ``fix`` a finding (may be empty)."""

    id: str
    why: str
    fix: str = ""


FILE_RULE_BY_ID: Final[Mapping[str, FileRule]] = {
    rule.id: rule
    for rule in (
        FileRule(
            "schema-invalid",
            "The file is not a valid schema, so no registry accepts it. It is an error when the change made it so, "
            "and a "
            "warning when it was invalid before.",
            "Correct the text at the place that is named.",
        ),
        FileRule(
            "schema-removed",
            "A schema of the baseline is no longer there under any file name. Records written with it remain.",
            "If the topic is retired, nothing needs to be done; otherwise restore the file.",
        ),
        FileRule("schema-new", "There is no earlier version, so there is nothing that could break."),
        FileRule(
            "baseline-invalid",
            "An earlier version is not a valid schema, so this file cannot be compared with it, and does not count as "
            "checked unless another earlier version could be read.",
            "Compare with a commit or version that is valid: --against REF.",
        ),
        FileRule(
            "byte-order-mark",
            "JSON text must not start with a byte order mark (RFC 8259, section 8.1), and some readers refuse it.",
            "Save the file as UTF-8 without a byte order mark.",
        ),
        FileRule(
            "compatible-yet-unread",
            "The rules of the policy call the two schemas compatible, and yet a record that one of them writes is not "
            "read with the other, or is read as another value. Under SOUND this is an error.",
            "See whether such records exist. --policy SOUND refuses the change.",
        ),
        FileRule(
            "missing-import",
            "The file imports a file that does not exist. The types which that file declares are left out of the "
            "comparison, and a compiler will require them.",
            "Add the file, or correct the path of the import.",
        ),
        FileRule(
            "schema-type-changed",
            "The subject holds schemas of another language, and records of one cannot be read with the other.",
            "Use another subject, or compare under --level NONE.",
        ),
        FileRule(
            "subject-unknown",
            "The file's name without its suffix does not end in -key or -value and no --subject names its subject, so "
            "its earlier versions cannot be requested from the registry.",
            "Give --subject FILE=SUBJECT, or name the file after its subject, such as orders-value.avsc.",
        ),
    )
}

_FORWARD_FIX: Final[Mapping[str, str]] = {
    "reader-field-missing-default": "Keep writing the field: deployed readers have no default for it. "
    "Give it a default in one release and remove it in a later one.",
    "type-mismatch": "Keep the type that deployed readers expect, and add a field of the new type.",
    "missing-union-branch": "Do not write the new branch before the readers know it; add a field for it instead.",
    "missing-enum-symbols": "Do not write the new symbols before the readers know them, or give the enum a default "
    "in one release and add the symbols in a later one.",
    "fixed-size-mismatch": "Keep the size that deployed readers expect, and add a field of a new fixed type beside it.",
    "name-mismatch": "Keep the name: deployed readers have no alias for the new one.",
    "ambiguous-alias": "Do not write both names: deployed readers read both as the same field.",
    "required-attribute-added": "Keep the property required: deployed readers refuse records without it. Make it "
    "optional in one release and leave it out in a later one.",
    "required-field-added": "Keep writing the field: deployed readers require it.",
    "field-made-required": "Keep the field required: deployed readers refuse records without it.",
    "oneof-field-removed": "Do not set the new field of the oneof before the readers know it; add a field outside of "
    "it instead.",
    "message-removed": "Do not write the new message under this subject before the readers know it.",
}
_FORWARD_FIX_BY_TYPE: Final[Mapping[SchemaType, str]] = {
    SchemaType.AVRO: "Keep what deployed readers expect: they read with the earlier schema. Add a field beside it for "
    "what is new.",
    SchemaType.PROTOBUF: "Keep what deployed readers expect: they read with the earlier schema. Add a field with a "
    "number of its own for what is new.",
    SchemaType.JSON: "Do not write what deployed readers refuse: they read with the earlier schema. Widen it in one "
    "release, and make use of that in a later one.",
}


def advice_for(rule: str, direction: Direction | None = None) -> str:
    """Return how to fix a finding of ``rule``: one or two sentences, or an empty text if nothing needs to be fixed.

    With ``Direction.FORWARD`` the failing reader is an earlier schema, which a change cannot fix; with ``BACKWARD`` it
    is the schema that is checked, and the text names it so.
    """
    if rule in FILE_RULE_BY_ID:
        return FILE_RULE_BY_ID[rule].fix
    known = RULE_BY_ID.get(rule)
    if known is None:
        return ""
    if direction is Direction.FORWARD and known.breaks and known.schema_type is not None:
        return _FORWARD_FIX.get(rule, _FORWARD_FIX_BY_TYPE[known.schema_type])
    return Sentence(known.fix).render(ADVICE_NAMES) if direction is Direction.BACKWARD else known.fix
