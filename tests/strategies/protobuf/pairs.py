"""Seeded pairs of valid ``.proto`` files: one, and the same after a few edits. A compiler accepts both."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

SCALARS = (
    *("int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32", "sfixed64"),
    *("bool", "string", "bytes", "float", "double"),
)
MAP_KEYS = ("string", "int32", "int64", "bool", "sint64", "fixed32")


@dataclass
class Field:
    """One field; ``oneof`` is the name of the oneof around it, ``default`` the option in brackets."""

    label: str
    type: str
    name: str
    number: int
    oneof: str = ""
    default: str = ""

    def text(self) -> str:
        """Return its line."""
        return " ".join(filter(None, [self.label, self.type, self.name, "=", f"{self.number}{self.default};"]))


@dataclass
class Message:
    """One message."""

    name: str
    fields: list[Field]
    reserved: list[str] = field(default_factory=list)
    numbers_used: int = 0

    def next_number(self) -> int:
        """Return a number that the message never had."""
        self.numbers_used += 1
        return self.numbers_used

    def text(self) -> str:
        """Return its lines."""
        lines = [f"reserved {each};" for each in self.reserved]
        lines += [each.text() for each in self.fields if not each.oneof]
        for oneof in dict.fromkeys(each.oneof for each in self.fields if each.oneof):
            members = " ".join(each.text() for each in self.fields if each.oneof == oneof)
            lines.append(f"oneof {oneof} {{ {members} }}")
        return "\n".join([f"message {self.name} {{", *(f"  {line}" for line in lines), "}"])


@dataclass
class Enum:
    """One enum."""

    name: str
    numbers: dict[str, int]
    reserved: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return its lines."""
        lines = [f"{name} = {number};" for name, number in self.numbers.items()]
        lines += [f"reserved {each};" for each in self.reserved]
        return "\n".join([f"enum {self.name} {{", *(f"  {line}" for line in lines), "}"])


@dataclass
class File:
    """One file."""

    syntax: str
    messages: list[Message]
    enums: list[Enum]

    def text(self, package: str) -> str:
        """Return the whole text."""
        parts = [f'syntax = "{self.syntax}";', f"package {package};" if package else ""]
        declared = [*(each.text() for each in self.messages), *(each.text() for each in self.enums)]
        return "\n".join([*parts, *declared, ""])


def seeded_pair(seed: int, *, package: str = "") -> tuple[str, str]:
    """Return the earlier and the later text, the same for the same seed; they may have the same meaning."""
    random = Random(seed)
    earlier = _file(random)
    later = deepcopy(earlier)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        random.choice(_EDITS)(later, random)
    return earlier.text(package), later.text(package)


def _file(random: Random) -> File:
    syntax = random.choice(("proto2", "proto3"))
    enums = [Enum(f"Kind{index}", _symbols(f"KIND{index}", random)) for index in range(2)]
    names = [f"Msg{index}" for index in range(random.randint(1, 3))]
    file = File(syntax, [], enums)
    for name in names:
        message = Message(name, [])
        file.messages.append(message)
        for _ in range(random.randint(1, 6)):
            message.fields.append(_field(file, message, random, names))
    return file


def _symbols(prefix: str, random: Random) -> dict[str, int]:
    return {f"{prefix}_{chr(65 + index)}": index for index in range(random.randint(1, 4))}


def _field(file: File, message: Message, random: Random, names: list[str]) -> Field:
    number = message.next_number()
    name = f"f_{number}{random.choice('abc')}"
    chance = random.random()
    if chance < 0.1:
        return Field("", f"map<{random.choice(MAP_KEYS)}, {_type(file, random, names)}>", name, number)
    if chance < 0.25:
        return Field("", _type(file, random, names), name, number, oneof="choice")
    return Field(_label(file, random), _type(file, random, names), name, number)


def _label(file: File, random: Random) -> str:
    return random.choice(("optional", "repeated", "") if file.syntax == "proto3" else ("optional", "repeated"))


def _type(file: File, random: Random, names: list[str]) -> str:
    return random.choice((*SCALARS, *SCALARS, *names, *(each.name for each in file.enums)))


def _names(file: File) -> list[str]:
    return [each.name for each in file.messages]


def _pick(file: File, random: Random) -> tuple[Message, Field | None]:
    message = random.choice(file.messages)
    return message, random.choice(message.fields) if message.fields else None


def _add(file: File, random: Random) -> None:
    message, _ = _pick(file, random)
    message.fields.append(_field(file, message, random, _names(file)))


def _drop(file: File, random: Random) -> None:
    message, gone = _pick(file, random)
    if gone:
        message.fields.remove(gone)
        for reserved in (str(gone.number), f'"{gone.name}"'):
            if random.random() < 0.5:
                message.reserved.append(reserved)


def _unreserve(file: File, random: Random) -> None:
    message, _ = _pick(file, random)
    if message.reserved:
        message.reserved.pop()


def _retype(file: File, random: Random) -> None:
    _, changed = _pick(file, random)
    if changed and not changed.type.startswith("map"):
        changed.type, changed.default = _type(file, random, _names(file)), ""


def _relabel(file: File, random: Random) -> None:
    _, changed = _pick(file, random)
    if changed and not changed.oneof and not changed.type.startswith("map"):
        labels = ("optional", "repeated", "") if file.syntax == "proto3" else ("optional", "repeated", "required")
        changed.label, changed.default = random.choice(labels), ""


def _rename(file: File, random: Random) -> None:
    _, changed = _pick(file, random)
    if changed:
        changed.name += "x"


def _renumber(file: File, random: Random) -> None:
    message, changed = _pick(file, random)
    if changed:
        changed.number = message.next_number()


def _move(file: File, random: Random) -> None:
    """Move a field into a oneof, out of it, or into another one."""
    _, changed = _pick(file, random)
    if changed and changed.label in {"", "optional"} and not changed.type.startswith("map"):
        changed.oneof = random.choice([each for each in ("", "choice", "other") if each != changed.oneof])
        changed.label = "" if changed.oneof or file.syntax == "proto3" else "optional"


def _set_default(file: File, random: Random) -> None:
    _, changed = _pick(file, random)
    if changed and file.syntax == "proto2" and changed.label == "optional" and changed.type in SCALARS:
        value = {"string": '"a"', "bytes": '"a"', "bool": "true"}.get(changed.type, random.choice("012"))
        changed.default = "" if changed.default else f" [default = {value}]"


def _change_enum(file: File, random: Random) -> None:
    enum = random.choice(file.enums)
    name, number = random.choice([*enum.numbers.items()])
    match random.randint(0, 3):
        case 0:
            number = random.randint(100, 1_000_000)
            enum.numbers[f"{enum.name.upper()}_{number}"] = number
        case 1 if number and len(enum.numbers) > 1:
            del enum.numbers[name]
            enum.reserved += [each for each in (str(number), f'"{name}"') if random.random() < 0.5]
        case 2:
            enum.numbers = {each + "_R" if each == name else each: value for each, value in enum.numbers.items()}
        case 3 if number:
            enum.numbers[name] = random.randint(100, 1_000_000)
        case _:
            pass


def _rename_message(file: File, random: Random) -> None:
    message = random.choice(file.messages)
    earlier, message.name = message.name, f"{message.name}R"
    for each in (one for every in file.messages for one in every.fields):
        each.type = each.type.replace(f"{earlier}>", f"{message.name}>") if "<" in each.type else each.type
        each.type = message.name if each.type == earlier else each.type


def _turn_syntax(file: File, random: Random) -> None:
    """Change the syntax if both syntaxes accept every line."""
    fields = [each for message in file.messages for each in message.fields]
    if all(each.label == "optional" or each.type.startswith("map") or each.oneof for each in fields):
        if not any(each.default for each in fields):
            file.syntax = "proto2" if file.syntax == "proto3" else "proto3"
    else:
        random.random()


_EDITS: tuple[Callable[[File, Random], None], ...] = (
    *(_add, _drop, _drop, _unreserve, _retype, _retype, _retype, _relabel, _relabel, _rename, _renumber),
    *(_move, _move, _set_default, _change_enum, _change_enum, _rename_message, _turn_syntax),
)
