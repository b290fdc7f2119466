"""Protobuf files that are valid for every reader: proto2, proto3 and edition 2023."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from strategies.cases.depth import IS_DEEP

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from hypothesis.strategies import DrawFn


SCALARS = (
    *("double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64"),
    *("fixed32", "fixed64", "sfixed32", "sfixed64", "bool", "string", "bytes"),
)
MAP_KEYS = tuple(name for name in SCALARS if name not in {"double", "float", "bytes"})
WELL_KNOWN = {
    "google/protobuf/timestamp.proto": "google.protobuf.Timestamp",
    "google/protobuf/any.proto": "google.protobuf.Any",
    "google/protobuf/struct.proto": "google.protobuf.Struct",
    "google/protobuf/wrappers.proto": "google.protobuf.StringValue",
}
HEADS = ('syntax = "proto2";', 'syntax = "proto3";', 'edition = "2023";', "")
PACKAGES = ("", "a", "a.b", "com.acme.shop")
DEFAULTS = {
    "double": ("1.5", "-inf", "1e3", "0", "-2"),
    "float": ("1.5", "inf", "1e-7", "nan"),
    "int32": ("0x1F", "-7", "010", "2147483647"),
    "int64": ("-9223372036854775808", "42"),
    "uint32": ("4294967295", "7"),
    "uint64": ("18446744073709551615", "0"),
    "bool": ("true", "false"),
    "string": ('"x"', "'it'", '"caf\u00e9"', '"a\\n\\"b\\\\"'),
    "bytes": ('"b"', '"abc_1"'),
}
COMMENTS = ("", "", "", "// note ;{}\n", "/* block */ ", "/** doc\n * more */\n", "// a\n\n// b\n")


class _Writer:
    """Writes one file, with names that occur once."""

    def __init__(self, random: Random, head: str, *, is_alone: bool) -> None:
        self.random = random
        self.is_alone = is_alone
        self.is_proto2 = head in {"", HEADS[0]}
        self.is_proto3 = head == HEADS[1]
        self.is_edition = head == HEADS[2]
        self.count = 0
        self.types: list[str] = []
        self.enums: list[str] = []
        self.extendable: list[str] = []
        self.imports: dict[str, str] = {}
        self.package = self.pick(PACKAGES)

    def pick(self, values: Sequence[str]) -> str:
        return self.random.choice(values)

    def up_to(self, most: int) -> range:
        return range(self.random.randint(0, most))

    def chance(self, one_in: int) -> bool:
        return self.random.randint(1, one_in) == 1

    def name(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def named(self, full_name: str) -> str:
        """Return a name of a type of this file that refers to it in every scope."""
        return "." + full_name if self.chance(2) else full_name

    def field_type(self) -> str:
        kind = self.random.randint(0, 9)
        if kind == 0 and self.types:
            return self.named(self.pick(self.types))
        if kind == 1 and self.enums:
            return self.named(self.pick(self.enums))
        if kind == 2 and self.imports:
            return self.pick(list(self.imports.values()))
        return self.pick(SCALARS)

    def options(self, kind: str, label: str) -> str:
        found = []
        if self.chance(5):
            found.append("deprecated = true")
        if self.chance(6):
            found.append(f'json_name = "{self.name("j")}"')
        if kind in DEFAULTS and not self.is_proto3 and label != "repeated" and self.chance(3):
            found.append(f"default = {self.pick(DEFAULTS[kind])}")
        return f" [{', '.join(found)}]" if found else ""

    def label(self) -> str:
        if self.is_proto2:
            return self.pick(("optional ", "required ", "repeated "))
        return self.pick(("", "", "repeated ", "optional ") if self.is_proto3 else ("", "repeated "))

    def field(self, number: int, *, in_oneof: bool = False) -> str:
        comment = self.pick(COMMENTS)
        if not in_oneof and self.chance(6):
            key, value = self.pick(MAP_KEYS), self.field_type()
            return f"{comment}map<{key}, {value}> {self.name('f_')} = {number};\n"
        if not in_oneof and self.is_proto2 and self.chance(8):
            return f"{comment}optional group {self.name('Grp')} = {number} {{ optional int32 {self.name('g')} = 1; }}\n"
        label = "" if in_oneof else self.label()
        kind = self.field_type()
        name = self.name(self.pick(("f_", "camelCase", "snake_case_")))
        spelled = hex(number) if self.chance(8) else number
        return f"{comment}{label}{kind} {name} = {spelled}{self.options(kind, label.strip())};\n"

    def enum(self, scope: str) -> str:
        name = self.name("Kind")
        self.enums.append(f"{scope}.{name}".lstrip("."))
        reserved = "reserved 30, 40 to 45; " if self.chance(4) else ""
        constants = "".join(f"{name.upper()}_{i} = {number}; " for i, number in enumerate((0, 1, 7, -1)))
        return f"enum {name} {{ {reserved}{constants}}}\n"

    def message(self, scope: str, depth: int) -> str:
        name = self.name(self.pick(("Msg", "Order", "Item")))
        full_name = f"{scope}.{name}".lstrip(".")
        parts = []
        if self.chance(3):
            parts.append(self.enum(full_name))
        if depth < 3:
            parts.extend(self.message(full_name, depth + 1) for _ in self.up_to(2))
        self.types.append(full_name)
        numbers = iter(self.random.sample(range(1, 13), 12))
        parts.extend(self.field(next(numbers)) for _ in self.up_to(5))
        for _ in self.up_to(2):
            members = "".join(self.field(next(numbers), in_oneof=True) for _ in range(self.random.randint(1, 3)))
            parts.append(f"oneof {self.name('choice')} {{ {members}}}\n")
        if self.chance(4):
            names = "old, older" if self.is_edition else '"old", "older"'
            parts.append(f"reserved 90, 62 to 64; reserved {names};\n")
        if not self.is_proto3 and self.chance(3):
            parts.append("extensions 1000 to 1999, 5000 to max;\n")
            self.extendable.append(full_name)
        if self.chance(6):
            parts.append("option deprecated = true;\n")
        body = "".join(self.random.sample(parts, len(parts)))
        return f"{self.pick(COMMENTS)}message {name} {{\n{body}}}\n"

    def extend(self) -> str:
        label = "optional " if self.is_proto2 else ""
        self.count += 1
        extension = f"{label}int32 ext{self.count} = {1000 + self.count};"
        return f"extend {self.named(self.pick(self.extendable))} {{ {extension} }}\n"

    def service(self) -> str:
        streams = ("", "stream ")
        rpcs = "".join(
            f"rpc {self.name('Do')} ({self.pick(streams)}{self.named(self.pick(self.types))})"
            f" returns ({self.pick(streams)}{self.named(self.pick(self.types))});\n"
            for _ in self.up_to(3)
        )
        return f"service {self.name('Svc')} {{ {rpcs}}}\n"

    def file(self, head: str) -> str:
        paths = self.random.sample(sorted(WELL_KNOWN), 0 if self.is_alone else self.random.randint(0, 3))
        self.imports = {path: WELL_KNOWN[path] for path in paths}
        parts = [f'import {self.pick(("", "public "))}"{path}";\n' for path in paths]
        parts += [self.enum(self.package) for _ in self.up_to(2)]
        parts += [self.message(self.package, 0) for _ in range(self.random.randint(1, 3))]
        if self.chance(3):
            parts.append('option java_package = "com.acme";\n')
        if self.extendable and not self.is_alone and self.chance(2):
            parts.append(self.extend())
        if self.chance(3):
            parts.append(self.service())
        package = f"package {self.package};\n" if self.package else ""
        return f"{head}\n{package}{''.join(self.random.sample(parts, len(parts)))}"


@st.composite
def protobuf_schemas(draw: DrawFn, *, is_alone: bool = False) -> str:
    """Return the text of a valid file; one that is alone imports and extends nothing.

    In depth, Hypothesis makes each choice itself, so that it finds a smaller file that fails too; that takes ten times
    as long.
    """
    random = draw(st.randoms(use_true_random=not IS_DEEP))
    head = random.choice(HEADS)
    return _Writer(random, head, is_alone=is_alone).file(head)
