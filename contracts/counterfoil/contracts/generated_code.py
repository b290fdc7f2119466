"""What breaks the programs that use code generated from a schema, whatever it does to records.

These are the changes of names and types that a code generator makes classes, fields and constants of. The categories
are those of ``buf breaking``: PACKAGE, and FILE, under which a declaration must also stay in its file.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

from counterfoil.schema.change import ChangeKind
from counterfoil.schema.diff import find_changes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from counterfoil.schema.change import Change
    from counterfoil.schema.parsed import ParsedSchema

NAME_CHANGED: Final = "generated-name-changed"
TYPE_CHANGED: Final = "generated-type-changed"
PACKAGE_CHANGED: Final = "generated-package-changed"
FILE_MOVED: Final = "generated-file-moved"

_RULE_BY_KIND: Final[Mapping[ChangeKind, str]] = {
    **dict.fromkeys(
        (
            ChangeKind.FIELD_REMOVED,
            ChangeKind.FIELD_RENAMED,
            ChangeKind.TYPE_REMOVED,
            ChangeKind.TYPE_RENAMED,
            ChangeKind.TYPE_MOVED,
            ChangeKind.SYMBOL_REMOVED,
            ChangeKind.SYMBOL_RENAMED,
            ChangeKind.ONEOF_REMOVED,
            ChangeKind.ONEOF_RENAMED,
            ChangeKind.SERVICE_REMOVED,
        ),
        NAME_CHANGED,
    ),
    **dict.fromkeys(
        (
            ChangeKind.TYPE_CHANGED,
            ChangeKind.LOGICAL_TYPE_CHANGED,
            ChangeKind.BRANCH_ADDED,
            ChangeKind.BRANCH_REMOVED,
            ChangeKind.LABEL_CHANGED,
            ChangeKind.ONEOF_CHANGED,
        ),
        TYPE_CHANGED,
    ),
    ChangeKind.NAMESPACE_CHANGED: PACKAGE_CHANGED,
}
_PACKAGE_OPTIONS: Final = frozenset(
    {
        "java_package",
        "java_outer_classname",
        "java_multiple_files",
        "go_package",
        "csharp_namespace",
        "objc_class_prefix",
        "php_class_prefix",
        "php_namespace",
        "php_metadata_namespace",
        "ruby_package",
        "swift_prefix",
    }
)
"""The options of a ``.proto`` file that name what code generators make of it."""


class GeneratedCode(StrEnum):
    """What must stay as it is for programs with generated code."""

    NONE = "none"
    PACKAGE = "package"
    FILE = "file"


def changes_of_generated_code(earlier: ParsedSchema, later: ParsedSchema) -> Iterator[tuple[str, Change]]:
    """Yield the changes that break generated code, each with the id of its rule.

    Schemas of different languages have no change in common; that they differ is reported elsewhere.
    """
    if earlier.schema_type is not later.schema_type:
        return
    for change in find_changes(earlier, later):
        rule = PACKAGE_CHANGED if _names_a_package(change) else _RULE_BY_KIND.get(change.kind)
        if rule is not None:
            yield rule, change


def _names_a_package(change: Change) -> bool:
    """Return whether an option of the file says what generated code is called."""
    written = change.earlier or change.later or ""
    return change.kind is ChangeKind.OPTION_CHANGED and written.partition(" ")[0] in _PACKAGE_OPTIONS
