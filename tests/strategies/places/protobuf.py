"""The places of findings in ``.proto`` files: changes inside a message, put into the places of messages.

``◆`` marks the line of the expected finding if the text is the later one, ``◇`` if it is the earlier one of the pair
and the check has the other direction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from strategies.places.cases import BACKWARD, FORWARD, PlaceCase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_FILE, _OTHER = "shop/order.proto", "shop/inner.proto"
_SOUND, _WIRE, _JSON = CompatibilityPolicy.SOUND, CompatibilityPolicy.WIRE, CompatibilityPolicy.WIRE_JSON
_STRICT = (CompatibilityPolicy.STRICT, CompatibilityPolicy.LENIENT, CompatibilityPolicy.LOGICAL, _SOUND)
_WIRES = (_WIRE, _JSON)


@dataclass(frozen=True)
class Change:
    """The content of a message before and after, and the expected finding there under which policies."""

    rule: str
    before: str
    after: str
    element: str
    policies: tuple[CompatibilityPolicy, ...]
    syntax: str = 'syntax = "proto3";'
    forward: tuple[CompatibilityPolicy, ...] = ()
    """The policies under which the rule also breaks in the reversed direction."""


_PROTO2: Final = 'syntax = "proto2";'
_EDITION: Final = 'edition = "2023";'
CHANGES: Final = {
    "a field's kind": Change(
        "field-scalar-kind-changed",
        "string id = 1;\nint32 total = 2; ◇",
        "string id = 1;\n// the sum\nsint32 total = 2; ◆",
        ".total",
        _STRICT,
        forward=_STRICT,
    ),
    "a field that is a message now": Change(
        "field-kind-changed",
        "message Money { int64 cents = 1; }\nint64 total = 2; ◇",
        "message Money { int64 cents = 1; }\nMoney total = 2; ◆",
        ".total",
        _STRICT,
        forward=_STRICT,
    ),
    "the values of a map": Change(
        "field-scalar-kind-changed",
        "string id = 1;\nmap<string, int32> prices = 2; ◇",
        "string id = 1;\nmap<string, string> prices = 2; ◆",
        ".prices",
        _STRICT,
        forward=_STRICT,
    ),
    "the values of a map on the wire": Change(
        "field-wire-compatible-type",
        "string id = 1;\nmap<string, int32> prices = 2; ◇",
        "string id = 1;\nmap<string, string> prices = 2; ◆",
        ".prices",
        (_WIRE,),
        forward=(_WIRE,),
    ),
    "the keys of a map in JSON": Change(
        "field-wire-json-compatible-type",
        "string id = 1;\nmap<string, int32> prices = 2; ◇",
        "string id = 1;\nmap<int32, int32> prices = 2; ◆",
        ".prices",
        (_JSON,),
        forward=(_JSON,),
    ),
    "a type on the wire": Change(
        "field-wire-compatible-type",
        "string id = 1;\n/* total */ fixed32 total = 2; ◇",
        "string id = 1;\nfloat total = 2; ◆",
        ".total",
        (_WIRE,),
        forward=(_WIRE,),
    ),
    "a type in JSON": Change(
        "field-wire-json-compatible-type",
        "string id = 1;\nint32 total = 2; ◇",
        "string id = 1;\nint64 total = 2; ◆",
        ".total",
        (_JSON,),
        forward=(_JSON,),
    ),
    "a cardinality": Change(
        "field-wire-compatible-cardinality",
        "string id = 1;\nint64 total = 2; ◇",
        "string id = 1;\nrepeated int64 total = 2; ◆",
        ".total",
        (_WIRE,),
        forward=(_WIRE,),
    ),
    "a name in JSON": Change(
        "field-same-json-name",
        "string note = 1; ◇",
        'string note = 1 [\n  deprecated = true,\n  json_name = "comment" ◆\n];',
        ".note",
        (_JSON,),
        forward=(_JSON,),
    ),
    "a field's name": Change(
        "field-same-name",
        "string id = 1;\nstring note = 2; ◇",
        "string id = 1;\nstring comment = 2; ◆",
        ".comment",
        (_JSON,),
    ),
    "a default": Change(
        "field-same-default",
        "optional int32 total = 1 [ // ◇\n  deprecated = true\n];",
        "optional int32 total = 1 [\n  deprecated = true,\n  default = 7 ◆\n];",
        ".total",
        _WIRES,
        _PROTO2,
        forward=_WIRES,
    ),
    "a oneof": Change(
        "field-same-oneof",
        "string card = 1; ◇",
        "oneof payment {\n  string card = 1; ◆\n}",
        ".card",
        _WIRES,
        forward=_WIRES,
    ),
    "a field removed": Change(
        "field-no-delete-unless-number-reserved",
        "string id = 1;\nstring note = 2;",
        "string id = 1;",
        ".note",
        _WIRES,
    ),
    "a required field added": Change(
        "required-field-added",
        "required string id = 1;",
        "required string id = 1;\nrequired string currency = 2; ◆",
        ".currency",
        _STRICT,
        _PROTO2,
    ),
    "a field made required": Change(
        "field-made-required",
        "optional string id = 1;",
        "required string id = 1; ◆",
        ".id",
        (_SOUND,),
        _PROTO2,
    ),
    "a required field on the wire": Change(
        "message-same-required-fields",
        "optional string id = 1;",
        "optional string id = 1;\nrequired string key = 2; ◆",
        ".key",
        _WIRES,
        _PROTO2,
    ),
    "fields moved to a oneof": Change(
        "multiple-fields-moved-to-oneof",
        "string card = 2;\nstring iban = 3;",
        "oneof payment { // ◆\n  string card = 2;\n  string iban = 3;\n}",
        ".payment",
        _STRICT,
    ),
    "a member of a oneof removed": Change(
        "oneof-field-removed",
        "oneof payment {\n  string card = 2;\n  string iban = 3;\n}",
        "oneof payment { // ◆\n  string card = 2;\n}",
        ".iban",
        _STRICT,
    ),
    "the type of a member of a oneof": Change(
        "field-scalar-kind-changed",
        "oneof payment {\n  string card = 2;\n  int32 iban = 3; ◇\n}",
        "oneof payment {\n  string card = 2;\n  string iban = 3; ◆\n}",
        ".iban",
        _STRICT,
        forward=_STRICT,
    ),
    "a named type": Change(
        "field-named-type-changed",
        "message A { string x = 1; }\nmessage B { int32 y = 2; }\nA to = 1; ◇",
        "message A { string x = 1; }\nmessage B { int32 y = 2; }\nB to = 1; ◆",
        ".to",
        _STRICT,
        forward=_STRICT,
    ),
    "a value of a nested enum removed": Change(
        "enum-value-no-delete-unless-number-reserved",
        "enum State { // the states\n  NEW = 0;\n  PAID = 1;\n}\nState state = 1;",
        "enum State { // ◆\n  NEW = 0;\n}\nState state = 1;",
        ".State.PAID",
        _WIRES,
    ),
    "the name of a value of a nested enum": Change(
        "enum-value-same-name",
        "enum State {\n  NEW = 0;\n  PAID = 1; ◇\n}\nState state = 1;",
        "enum State {\n  NEW = 0;\n  SETTLED = 1; ◆\n}\nState state = 1;",
        ".State.SETTLED",
        (_JSON,),
    ),
    "numbers of values swapped": Change(
        "enum-value-renumbered",
        "enum State {\n  NEW = 0;\n  PAID = 1;\n  SENT = 2;\n}\nState state = 1;",
        "enum State {\n  NEW = 0;\n  SENT = 1;\n  PAID = 2; ◆\n}\nState state = 1;",
        ".State.PAID",
        (_SOUND,),
    ),
    "a reserved number freed": Change(
        "reserved-message-no-delete", "string id = 1;\nreserved 2;", "string id = 1;", "", _WIRES
    ),
    "the type of a field of a group": Change(
        "field-wire-compatible-type",
        "optional group Result = 1 {\n  optional fixed32 a = 1; ◇\n}",
        "optional group Result = 1 {\n  optional float a = 1; ◆\n}",
        ".Result.a",
        (_WIRE,),
        _PROTO2,
        forward=(_WIRE,),
    ),
    "the default of a field": Change(
        "default-value-changed",
        "optional int32 total = 1 [\n  default = 1\n];",
        "optional int32 total = 1 [\n  default = 2 ◆\n];",
        ".total",
        (_SOUND,),
        _PROTO2,
    ),
    "bytes as text": Change("bytes-to-string", "bytes token = 1;", "string token = 1; ◆", ".token", (_SOUND,)),
    "a narrower number": Change("integer-narrowed", "int64 n = 1;", "int32 n = 1; ◆", ".n", (_SOUND,)),
    "one of many": Change(
        "repeated-to-singular", "repeated string note = 1;", "string note = 1; ◆", ".note", (_SOUND,)
    ),
    "an encoding": Change(
        "message-encoding-changed",
        "message A { string x = 1; }\nA to = 1;",
        "message A { string x = 1; }\nA to = 1 [features.message_encoding = DELIMITED]; ◆",
        ".to",
        (_SOUND,),
        _EDITION,
    ),
}


def _indented(text: str, depth: int) -> str:
    return "".join(f"{'  ' * depth}{line}\n" for line in text.splitlines())


def _in_message(body: str) -> str:
    return f"message Order {{ // ◯\n{_indented(body, 1)}}}\n"


def _nested(body: str) -> str:
    return f"message First {{\n  message Order {{ // ◯\n{_indented(body, 2)}  }}\n  Order order = 1;\n}}\n"


def _used(body: str) -> str:
    first = "message First {\n  map<string, Order> orders = 1;\n  First next = 2;\n}\n"
    return f"{first}\n{_in_message(body)}"


_AROUND: Final = {
    "a message": (_in_message, "Order"),
    "a nested message": (_nested, "First.Order"),
    "a message that others use": (_used, "Order"),
}


def cases() -> Iterator[PlaceCase]:
    """Yield every change in every place, in both directions, under each policy under which it breaks."""
    for change_name, change in CHANGES.items():
        for around_name, (wrap, outer) in _AROUND.items():
            before, after = (
                f"// Orders. 𝄞\n{change.syntax}\n\npackage shop;\n\n{_wrapped(wrap, change, body)}"
                for body in (change.before, change.after)
            )
            told = f"{change_name} in {around_name}"
            for policy in change.policies:
                yield _case(change, told, (before, after), outer + change.element, policy)
            for policy in change.forward:
                yield _case(change, told, (after, before), outer + change.element, policy)


def _wrapped(wrap: Callable[[str], str], change: Change, body: str) -> str:
    text = wrap(body)
    if change.syntax == _PROTO2:
        for field in ("  Order order = 1;", "  First next = 2;"):
            text = text.replace(field, f"  optional {field.lstrip()}")
    return text


def _case(change: Change, name: str, sides: tuple[str, str], element: str, policy: CompatibilityPolicy) -> PlaceCase:
    base, head = sides
    is_forward = "◆" in base or "◇" in head
    level = FORWARD if is_forward else BACKWARD
    line = _line(head, "◇" if is_forward else "◆")
    texts = {_FILE: _plain(base)}, {_FILE: _plain(head)}
    return PlaceCase(f"{name}, {policy.name} {level.name}", *texts, change.rule, _FILE, line, element, level, policy)


def _line(text: str, mark: str) -> int:
    """Return the line with the mark; that of the message if nothing inside has it."""
    return text[: text.index(mark if mark in text else "◯")].count("\n") + 1


def _plain(text: str) -> str:
    for mark in "◆◇◯":
        text = text.replace(f" // {mark}", "").replace(f" {mark}", "")
    return text


_DEPENDANT: Final = """syntax = "proto3";

package shop;

import "shop/inner.proto";

message Basket {
  string id = 1;
%s
}
"""
_REFERENCES: Final = {
    "a field": "  pay.Order order = 2;",
    "a repeated field": "  repeated pay.Order order = 2;",
    "a map": "  map<string, pay.Order> order = 2;",
    "a member of a oneof": "  oneof choice {\n    pay.Order order = 2;\n  }",
}
_ACROSS_FILES: Final = (_SOUND, *_WIRES)
"""The policies that compare imported files of the same subject and version, as the files of one tree are."""
_NOT_IN_DEPENDANTS: Final = frozenset({"the type of a field of a group", "the keys of a map in JSON"})


def dependants() -> Iterator[PlaceCase]:
    """Yield files that import the file with the change, under the policies of the wire and of tables."""
    for change_name, change in CHANGES.items():
        if change_name in _NOT_IN_DEPENDANTS:
            continue
        before, after = (
            f"{change.syntax}\n\npackage pay;\n\n{_in_message(body)}" for body in (change.before, change.after)
        )
        for name, reference in _REFERENCES.items():
            text = _DEPENDANT % reference
            line = text[: text.index("order = 2")].count("\n") + 1
            for policy in (policy for policy in change.policies if policy in _ACROSS_FILES):
                yield PlaceCase(
                    f"{change_name} in another file, used by {name}, {policy.name}",
                    {_FILE: text, _OTHER: _plain(before)},
                    {_FILE: text, _OTHER: _plain(after)},
                    change.rule,
                    _FILE,
                    line,
                    "Basket.order",
                    BACKWARD,
                    policy,
                )


FILES: Final = (
    (
        "file-same-package",
        "",
        'syntax = "proto3";\npackage shop;\nmessage M { string a = 1; }',
        '// A file.\n\nsyntax = "proto3";\n\npackage shop.v2; ◆\nmessage M { string a = 1; }',
        _WIRES,
    ),
    (
        "package-changed",
        "",
        'syntax = "proto3";\npackage shop;\nmessage M { string a = 1; }',
        '// A file.\n\nsyntax = "proto3";\n\n/* x */ package shop.v2; ◆\nmessage M { string a = 1; }',
        (CompatibilityPolicy.STRICT, CompatibilityPolicy.LENIENT, CompatibilityPolicy.LOGICAL),
    ),
    (
        "message-removed",
        "Gone",
        'syntax = "proto3";\nmessage Gone { string a = 1; }\nmessage M { string a = 1; }',
        '// A file.\nsyntax = "proto3"; ◆\nmessage M { string a = 1; }',
        _STRICT,
    ),
    (
        "rpc-same-request-type",
        "Shop.Place",
        'syntax = "proto3";\nmessage M { }\nmessage N { }\nservice Shop {\n  rpc Place(M) returns (M);\n}',
        'syntax = "proto3";\nmessage M { }\nmessage N { }\nservice Shop {\n  // x\n  rpc Place(N) returns (M); ◆\n}',
        _WIRES,
    ),
    (
        "rpc-same-idempotency-level",
        "Shop.Place",
        'syntax = "proto3";\nmessage M { }\nservice Shop {\n  rpc Place(M) returns (M);\n}',
        """syntax = "proto3";
message M { }
service Shop {
  rpc Place(M) returns (M) {
    option deprecated = true;
    option idempotency_level = IDEMPOTENT; ◆
  }
}""",
        _WIRES,
    ),
    (
        "field-wire-compatible-type",
        "note",
        'syntax = "proto2";\nmessage M { extensions 5 to 9; }\nextend M {\n  optional fixed32 note = 5;\n}',
        'syntax = "proto2";\nmessage M { extensions 5 to 9; }\nextend M {\n  optional float note = 5; ◆\n}',
        (_WIRE,),
    ),
    (
        "enum-value-no-delete-unless-number-reserved",
        "State.PAID",
        'syntax = "proto3";\nenum State {\n  NEW = 0;\n  PAID = 1;\n}',
        'syntax = "proto3";\n\nenum State { // ◆\n  NEW = 0;\n}',
        _WIRES,
    ),
    (
        "reserved-enum-no-delete",
        "State",
        'syntax = "proto3";\nenum State {\n  NEW = 0;\n  reserved 4;\n}',
        'syntax = "proto3";\n\nenum State { // ◆\n  NEW = 0;\n}',
        _WIRES,
    ),
)
"""Changes outside of messages."""


def files() -> Iterator[PlaceCase]:
    """Yield changes of whole files."""
    for rule, element, before, after, policies in FILES:
        for policy in policies:
            head = after.replace(" // ◆", "").replace(" ◆", "")
            name = f"{rule} {policy.name}"
            line = after[: after.index("◆")].count("\n") + 1
            yield PlaceCase(name, {_FILE: before}, {_FILE: head}, rule, _FILE, line, element, BACKWARD, policy)


_MOVED: Final = 'syntax = "proto3";\n\npackage shop;\n\nenum State {\n  NEW = 0;\n%s}\n'
_USING: Final = 'syntax = "proto3";\n\npackage shop;\n%s\nmessage Basket {\n  string id = 1;\n  State state = 2;\n}\n%s'


def moved() -> Iterator[PlaceCase]:
    """Yield a type that moved to another file and lost a value."""
    before = _USING % ("", "enum State {\n  NEW = 0;\n  PAID = 1;\n}\n")
    after = _USING % ('\nimport "shop/inner.proto";\n', "")
    for policy in _WIRES:
        yield PlaceCase(
            f"a type that moved and lost a value, {policy.name}",
            {_FILE: before},
            {_FILE: after, _OTHER: _MOVED % ""},
            "enum-value-no-delete-unless-number-reserved"
            if policy is _WIRE
            else "enum-value-no-delete-unless-name-reserved",
            _FILE,
            after[: after.index("State state")].count("\n") + 1,
            "Basket.state",
            BACKWARD,
            policy,
        )


TABLES: Final = {
    "logical-required-field-added": Change(
        "logical-required-field-added",
        "required int32 a = 1;",
        "required int32 a = 1;\nrequired string b = 2; ◆",
        ".b",
        (CompatibilityPolicy.LOGICAL,),
        _PROTO2,
    ),
    "logical-field-deleted": Change(
        "logical-field-deleted",
        "int32 a = 1;\nstring b = 2;",
        "int32 a = 1;",
        ".b",
        (CompatibilityPolicy.LOGICAL,),
    ),
    "logical-type-mismatch": Change(
        "logical-type-mismatch",
        "int32 a = 1;\nstring b = 2;",
        "int32 a = 1;\nbytes b = 2; ◆",
        ".b",
        (CompatibilityPolicy.LOGICAL,),
    ),
    "logical-map-key-type-mismatch": Change(
        "logical-map-key-type-mismatch",
        "int32 a = 1;\nmap<string, int32> b = 2;",
        "int32 a = 1;\nmap<int32, int32> b = 2; ◆",
        ".b",
        (CompatibilityPolicy.LOGICAL,),
    ),
    "logical-nullable-to-non-nullable": Change(
        "logical-nullable-to-non-nullable",
        "int32 a = 1;\noptional string b = 2;",
        "int32 a = 1;\nstring b = 2; ◆",
        ".b",
        (CompatibilityPolicy.LOGICAL,),
    ),
}


def tables() -> Iterator[PlaceCase]:
    """Yield the rules about tables, in the first message, and in a message that another file declares."""
    for rule, change in TABLES.items():
        head = f"{change.syntax}\npackage shop;\n\n"
        before, after = (f"{head}{_in_message(body)}" for body in (change.before, change.after))
        yield _case(change, rule, (before, after), f"Order{change.element}", CompatibilityPolicy.LOGICAL)
        before, after = (
            f"{change.syntax}\n\npackage pay;\n\n{_in_message(body)}" for body in (change.before, change.after)
        )
        for name, reference in _REFERENCES.items():
            text = _DEPENDANT % reference
            yield PlaceCase(
                f"{rule} in another file, used by {name}",
                {_FILE: text, _OTHER: _plain(before)},
                {_FILE: text, _OTHER: _plain(after)},
                rule,
                _FILE,
                text[: text.index("order = 2")].count("\n") + 1,
                "Basket.order",
                BACKWARD,
                CompatibilityPolicy.LOGICAL,
            )
