"""The places of findings in Avro schemas: changes of a type, put into the places of types."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from strategies.places.cases import BACKWARD, FORWARD, PlaceCase, lay_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_FILE, _OTHER = "order.avsc", "inner.avsc"
_STRICT, _SOUND, _LOGICAL = CompatibilityPolicy.STRICT, CompatibilityPolicy.SOUND, CompatibilityPolicy.LOGICAL


@dataclass(frozen=True)
class Change:
    """A type before and after, the rule, and the place of the finding in either: with the new one, and with the old."""

    rule: str
    before: Any
    after: Any
    pointer: str
    element: str = ""
    policies: tuple[CompatibilityPolicy, ...] = (_STRICT, _SOUND, CompatibilityPolicy.LENIENT)
    forward: str | None = None
    """The place if the new type is the earlier one, with the change reversed; None for another rule."""


def _record(*fields: Any, name: str = "Card") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [*fields]}


def _field(name: str, field_type: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": field_type, **more}


def _enum(*symbols: str) -> dict[str, Any]:
    return {"type": "enum", "name": "State", "symbols": [*symbols]}


def _logical(base: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": base, "logicalType": name, **more}


_ID: Final = _field("id", "string")
CHANGES: Final = {
    "a field's type": Change(
        "type-mismatch",
        _record(_ID, _field("last4", "string")),
        _record(_ID, _field("last4", "int")),
        "/fields/1/type",
        "last4",
        forward="/fields/1/type",
    ),
    "a field's type, an array now": Change(
        "type-mismatch",
        _record(_ID, _field("tags", "string")),
        _record(_ID, _field("tags", {"type": "array", "items": "string"})),
        "/fields/1/type",
        "tags",
        forward="/fields/1/type",
    ),
    "the type of items": Change(
        "type-mismatch",
        _record(_ID, _field("tags", {"type": "array", "items": "string"})),
        _record(_ID, _field("tags", {"type": "array", "items": "int"})),
        "/fields/1/type/items",
        "tags[]",
        forward="/fields/1/type/items",
    ),
    "a field added": Change(
        "reader-field-missing-default",
        _record(_ID),
        _record(_ID, _field("note", "string")),
        "/fields/1",
        "note",
        forward="/fields",
    ),
    "a symbol removed": Change(
        "missing-enum-symbols",
        _record(_ID, _field("state", _enum("OPEN", "PAID", "LOST"))),
        _record(_ID, _field("state", _enum("OPEN", "PAID"))),
        "/fields/1/type/symbols",
        "state",
        forward="/fields/1/type/symbols/2",
    ),
    "another size": Change(
        "fixed-size-mismatch",
        _record(_field("hash", {"type": "fixed", "name": "Hash", "size": 16})),
        _record(_field("hash", {"type": "fixed", "name": "Hash", "size": 20})),
        "/fields/0/type/size",
        "hash",
        forward="/fields/0/type/size",
    ),
    "another name": Change(
        "name-mismatch",
        _record(_field("state", {"type": "enum", "name": "State", "symbols": ["A"]})),
        _record(_field("state", {"type": "enum", "name": "Status", "symbols": ["A"]})),
        "/fields/0/type/name",
        "state",
        forward="/fields/0/type/name",
    ),
    "a branch removed": Change(
        "missing-union-branch",
        _record(_field("key", ["null", "string", "long"])),
        _record(_field("key", ["null", "string"])),
        "/fields/0/type",
        "key",
        forward="/fields/0/type/2",
    ),
    "null taken out": Change(
        "type-mismatch",
        _record(_field("key", ["null", "string"])),
        _record(_field("key", "string")),
        "/fields/0/type",
        "key",
    ),
    "a field of a type that is declared before": Change(
        "type-mismatch",
        _record(_field("a", _enum("X")), _field("b", "string")),
        _record(_field("a", _enum("X")), _field("b", "State")),
        "/fields/1/type",
        "b",
        forward="/fields/1/type",
    ),
    "two names for one field": Change(
        "ambiguous-alias",
        _record(_ID, _field("key", "string")),
        _record(_field("id", "string", aliases=["key"])),
        "/fields/0",
        "id",
    ),
    "bytes as a string": Change(
        "bytes-read-as-string",
        _record(_ID, _field("raw", "bytes")),
        _record(_ID, _field("raw", "string")),
        "/fields/1/type",
        "raw",
        (_SOUND,),
    ),
    "another scale": Change(
        "decimal-misread",
        _record(_field("sum", _logical("bytes", "decimal", precision=9, scale=2))),
        _record(_field("sum", _logical("bytes", "decimal", precision=9, scale=4))),
        "/fields/0/type/scale",
        "sum",
        (_SOUND,),
        forward="/fields/0/type/scale",
    ),
    "another logical type": Change(
        "logical-type-misread",
        _record(_field("at", _logical("long", "timestamp-millis"))),
        _record(_field("at", _logical("long", "timestamp-micros"))),
        "/fields/0/type/logicalType",
        "at",
        (_SOUND,),
        forward="/fields/0/type/logicalType",
    ),
}


@dataclass(frozen=True)
class Around:
    """A type inside a document: the document, the pointer and the element in it; the rule may become another one."""

    wrap: Callable[[Any], Any]
    pointer: str
    element: str
    rule: str | None = None


_MISSING_BRANCH: Final = "missing-union-branch"
_AMBIGUOUS: Final = "ambiguous-alias"


def _order(*fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": "Order", "namespace": "shop", "doc": "𝄞 an order", "fields": [*fields]}


AROUND: Final = {
    "the root": Around(lambda inner: inner, "", ""),
    "a field": Around(lambda inner: _order(_field("n", "int"), _field("card", inner)), "/fields/1/type", "card"),
    "a nested field": Around(
        lambda inner: _order(_field("a", _record(_field("b", inner), name="A"))), "/fields/0/type/fields/0/type", "a.b"
    ),
    "items": Around(
        lambda inner: _order(_field("cards", {"type": "array", "items": inner})), "/fields/0/type/items", "cards[]"
    ),
    "values": Around(
        lambda inner: _order(_field("cards", {"type": "map", "values": inner})), "/fields/0/type/values", "cards{}"
    ),
    "items of values": Around(
        lambda inner: _order(_field("cards", {"type": "map", "values": {"type": "array", "items": inner}})),
        "/fields/0/type/values/items",
        "cards{}[]",
    ),
    "a union with null": Around(
        lambda inner: _order(_field("payment", ["null", inner], default=None)),
        "/fields/0/type/1",
        "payment<Card>",
        _MISSING_BRANCH,
    ),
    "a union of records": Around(
        lambda inner: _order(_field("payment", [_record(_field("iban", "string"), name="Transfer"), inner])),
        "/fields/0/type/1",
        "payment<Card>",
        _MISSING_BRANCH,
    ),
    "items that may be null": Around(
        lambda inner: _order(_field("cards", {"type": "array", "items": ["null", inner]})),
        "/fields/0/type/items/1",
        "cards[]<Card>",
        _MISSING_BRANCH,
    ),
    "a type that is used again": Around(
        lambda inner: _order(_field("first", inner), _field("second", "Card")), "/fields/0/type", "first"
    ),
    "a record that holds itself": Around(
        lambda inner: _order(_field("card", inner), _field("next", ["null", "Order"])), "/fields/0/type", "card"
    ),
    "the root's union": Around(lambda inner: ["null", inner], "/1", "<Card>", _MISSING_BRANCH),
}


def cases() -> Iterator[PlaceCase]:
    """Yield every change in every place, in both directions, under each policy under which it breaks."""
    for change_name, change in CHANGES.items():
        for around_name, around in AROUND.items():
            for policy in change.policies:
                stays = change.policies == (_SOUND,) or change.rule == _AMBIGUOUS
                rule = change.rule if stays else around.rule or change.rule
                for level, pointer in ((BACKWARD, change.pointer), (FORWARD, change.forward)):
                    if pointer is None:
                        continue
                    sides = around.wrap(change.before), around.wrap(change.after)
                    base, head = sides if level is BACKWARD else sides[::-1]
                    for inlines in (False, True):
                        old, new = lay_out(base, inlines=inlines), lay_out(head, inlines=inlines)
                        joined = ".".join(filter(None, [around.element, change.element]))
                        yield PlaceCase(
                            f"{change_name} in {around_name}, {policy.name} {level.name}{' inline' if inlines else ''}",
                            {_FILE: old.text},
                            {_FILE: new.text},
                            rule,
                            _FILE,
                            new.line_by_pointer[around.pointer + pointer],
                            joined,
                            level,
                            policy,
                        )


REFERENCES: Final = {
    "a field": (_field("x", "pay.Card"), "/fields/0/type", "x"),
    "a field with an object as type": (_field("x", {"type": "pay.Card"}), "/fields/0/type", "x"),
    "items": (_field("x", {"type": "array", "items": "pay.Card"}), "/fields/0/type/items", "x[]"),
    "values": (_field("x", {"type": "map", "values": "pay.Card"}), "/fields/0/type/values", "x{}"),
    "a union": (_field("x", ["null", "pay.Card"]), "/fields/0/type/1", "x<Card>"),
}


def dependants() -> Iterator[PlaceCase]:
    """Yield files that refer to the file with the change, which is not checked itself."""
    for change_name, change in CHANGES.items():
        for name, (field, pointer, element) in REFERENCES.items():
            for level in (BACKWARD, FORWARD) if _STRICT in change.policies else ():
                if level is FORWARD and change.forward is None:
                    continue
                before, after = ({**side, "namespace": "pay"} for side in (change.before, change.after))
                base, head = (before, after) if level is BACKWARD else (after, before)
                asking = lay_out(_order(field, _field("n", "int")), inlines=False)
                yield PlaceCase(
                    f"{change_name} in another file, used for {name}, {level.name}",
                    {_FILE: asking.text, _OTHER: json.dumps(base)},
                    {_FILE: asking.text, _OTHER: json.dumps(head)},
                    _MISSING_BRANCH if name == "a union" and change.rule != _AMBIGUOUS else change.rule,
                    _FILE,
                    asking.line_by_pointer[pointer],
                    f"{element}.{change.element}",
                    level,
                )


_NULLABLE: Final = ["null", "string"]
_A, _B, _NOTE = _field("a", "int"), _field("b", "string"), _field("note", _NULLABLE, default=None)
TABLES: Final = {
    "logical-required-field-added": (_record(_A), _record(_A, _B), "/fields/1", "b"),
    "logical-field-deleted": (_record(_A, _NOTE), _record(_A), "/fields", "note"),
    "logical-field-reordered": (_record(_A, _NOTE), _record(_NOTE, _A), "/fields", ""),
    "logical-nullable-to-non-nullable": (
        _record(_A, _NOTE),
        _record(_A, _field("note", "string", default="")),
        "/fields/1/type",
        "note",
    ),
    "logical-non-nullable-default-removed": (
        _record(_A, _field("b", "string", default="")),
        _record(_A, _B),
        "/fields/1",
        "b",
    ),
    "logical-type-mismatch": (_record(_A, _B), _record(_A, _field("b", "bytes")), "/fields/1/type", "b"),
    "logical-not-a-table": (
        _record(_A, _B),
        _record(_A, _field("b", ["string", "int"])),
        "/fields/1/type",
        "b",
    ),
}
"""For each rule of tables: a record before and after, the place of the finding in it, and its element."""


def tables() -> Iterator[PlaceCase]:
    """Yield the rules about tables, in every place of a table, and in files that refer to another one."""
    for rule, (before, after, pointer, element) in TABLES.items():
        for name, around in AROUND.items():
            if (around.rule == _MISSING_BRANCH and name != "a union with null") or name == "a record that holds itself":
                continue
            old, new = (lay_out(around.wrap(each), inlines=False) for each in (before, after))
            outer = around.element.replace("<Card>", "") if rule != "logical-not-a-table" else around.element
            yield PlaceCase(
                f"{rule} in {name}",
                {_FILE: old.text},
                {_FILE: new.text},
                rule,
                _FILE,
                new.line_by_pointer[around.pointer + pointer],
                ".".join(filter(None, [outer, element])),
                policy=_LOGICAL,
            )
        for name, (field, pointer_of_use, outer) in REFERENCES.items():
            asking = lay_out(_order(field, _field("n", "int")), inlines=False)
            texts = (json.dumps({**each, "namespace": "pay"}) for each in (before, after))
            old_files, new_files = ({_FILE: asking.text, _OTHER: text} for text in texts)
            use = "/fields/0/type" if name == "a union" else pointer_of_use
            named = outer.replace("<Card>", "")
            joined = named if rule == "logical-not-a-table" else ".".join(filter(None, [named, element]))
            line = asking.line_by_pointer[use]
            yield PlaceCase(f"{rule} for {name}", old_files, new_files, rule, _FILE, line, joined, policy=_LOGICAL)


def moved() -> Iterator[PlaceCase]:
    """Yield a type that moved to another file and lost a symbol."""
    full, less = ({**_enum(*symbols), "namespace": "shop"} for symbols in (("NEW", "PAID"), ("NEW",)))
    for name, wrap, pointer, element in (
        ("a field", lambda inner: inner, "/fields/1/type", "state"),
        ("items", lambda inner: {"type": "array", "items": inner}, "/fields/1/type/items", "state[]"),
        ("a union", lambda inner: ["null", inner], "/fields/1/type/1", "state<State>"),
    ):
        before = lay_out(_order(_ID, _field("state", wrap(full))), inlines=True)
        after = lay_out(_order(_ID, _field("state", wrap("shop.State"))), inlines=True)
        yield PlaceCase(
            f"a type that moved and lost a symbol, for {name}",
            {_FILE: before.text},
            {_FILE: after.text, _OTHER: json.dumps(less)},
            _MISSING_BRANCH if name == "a union" else "missing-enum-symbols",
            _FILE,
            after.line_by_pointer[pointer],
            element,
        )


_LAYOUTS: Final[dict[str, Callable[[str], str]]] = {
    "with carriage returns": lambda text: text.replace("\n", "\r\n"),
    "with tabs": lambda text: text.replace("  ", "\t"),
    "with a byte order mark": lambda text: f"\ufeff{text}",
    "as it is": lambda text: text,
}


def layouts() -> Iterator[PlaceCase]:
    """Yield the same file in other spellings."""
    change = CHANGES["a field's type"]
    old, new = (lay_out(AROUND["items"].wrap(each), inlines=True) for each in (change.before, change.after))
    line = new.line_by_pointer["/fields/0/type/items/fields/1/type"]
    for name, spell in _LAYOUTS.items():
        yield PlaceCase(
            f"a file {name}",
            {_FILE: old.text},
            {_FILE: spell(new.text)},
            change.rule,
            _FILE,
            line,
            "cards[].last4",
        )
