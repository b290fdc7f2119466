"""A change between two schemas, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from counterfoil.schema.paths import FieldPath, print_path
from counterfoil.schema.texts import Pointer


class ChangeKind(StrEnum):
    """The kind of a change."""

    FIELD_ADDED = "field-added"
    FIELD_REMOVED = "field-removed"
    FIELD_RENAMED = "field-renamed"
    FIELDS_REORDERED = "fields-reordered"
    TYPE_CHANGED = "type-changed"
    TYPE_RENAMED = "type-renamed"
    NAMESPACE_CHANGED = "namespace-changed"
    LOGICAL_TYPE_CHANGED = "logical-type-changed"
    SIZE_CHANGED = "size-changed"
    BRANCH_ADDED = "branch-added"
    BRANCH_REMOVED = "branch-removed"
    BRANCHES_REORDERED = "branches-reordered"
    SYMBOL_ADDED = "symbol-added"
    SYMBOL_REMOVED = "symbol-removed"
    SYMBOLS_REORDERED = "symbols-reordered"
    DEFAULT_ADDED = "default-added"
    DEFAULT_REMOVED = "default-removed"
    DEFAULT_CHANGED = "default-changed"
    ALIASES_CHANGED = "aliases-changed"
    DOC_CHANGED = "doc-changed"
    SORT_ORDER_CHANGED = "sort-order-changed"
    PROPERTY_CHANGED = "property-changed"
    PROPERTY_ADDED = "property-added"
    PROPERTY_REMOVED = "property-removed"
    REQUIRED_ADDED = "required-added"
    REQUIRED_REMOVED = "required-removed"
    CONSTRAINT_ADDED = "constraint-added"
    CONSTRAINT_REMOVED = "constraint-removed"
    CONSTRAINT_TIGHTENED = "constraint-tightened"
    CONSTRAINT_RELAXED = "constraint-relaxed"
    CONSTRAINT_CHANGED = "constraint-changed"
    VALUE_ADDED = "value-added"
    VALUE_REMOVED = "value-removed"
    ITEM_ADDED = "item-added"
    ITEM_REMOVED = "item-removed"
    DEFINITION_ADDED = "definition-added"
    DEFINITION_REMOVED = "definition-removed"
    TITLE_CHANGED = "title-changed"
    ID_CHANGED = "id-changed"
    DRAFT_CHANGED = "draft-changed"
    TYPE_ADDED = "type-added"
    TYPE_REMOVED = "type-removed"
    TYPE_MOVED = "type-moved"
    TYPES_REORDERED = "types-reordered"
    NUMBER_CHANGED = "number-changed"
    LABEL_CHANGED = "label-changed"
    ONEOF_ADDED = "oneof-added"
    ONEOF_REMOVED = "oneof-removed"
    ONEOF_RENAMED = "oneof-renamed"
    ONEOF_CHANGED = "oneof-changed"
    SYMBOL_RENAMED = "symbol-renamed"
    OPTION_CHANGED = "option-changed"
    RESERVED_CHANGED = "reserved-changed"
    EXTENSIONS_CHANGED = "extensions-changed"
    SYNTAX_CHANGED = "syntax-changed"
    IMPORT_ADDED = "import-added"
    IMPORT_REMOVED = "import-removed"
    SERVICE_ADDED = "service-added"
    SERVICE_REMOVED = "service-removed"
    METHOD_ADDED = "method-added"
    METHOD_REMOVED = "method-removed"
    METHOD_CHANGED = "method-changed"


@dataclass(frozen=True, slots=True)
class Change:
    """One change between two schemas.

    ``place`` is its place in the later schema's names; empty for the schema itself. ``earlier`` and ``later`` are the
    old and the new value as texts: a type, a JSON value, a name; None on the side that has none. The pointers are JSON
    pointers into the texts of the two schemas, to the element or to its nearest ancestor; they are empty for an element
    of a reference.
    """

    kind: ChangeKind
    place: FieldPath
    earlier: str | None
    later: str | None
    earlier_pointer: Pointer = ()
    later_pointer: Pointer = ()

    @property
    def element(self) -> str:
        """The place as a text: ``items[].sku``, ``attrs{}``, ``payment<Card>.last4``."""
        return print_path(self.place)

    @property
    def text(self) -> str:
        """The change in words, such as ``type changed: long → int`` or ``symbol added: PAID``."""
        if self.kind.endswith("-added"):
            what = self.later
        elif self.kind.endswith("-removed"):
            what = self.earlier
        else:
            what = f"{self.earlier or 'none'} → {self.later or 'none'}"
        return f"{self.kind.replace('-', ' ')}: {what}"
