"""Resolution of field paths in Protobuf schemas.

A path starts in the first message, or with the name of any message, enum or service of the file. It may also start
with the full name of an extended message as an item: ``[shop.Order].note``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from counterfoil.schema.languages.protobuf.read.symbols import EnumType
from counterfoil.schema.languages.protobuf.read.syntax_tree import EnumConstant, ProtoOneOf, Service
from counterfoil.schema.languages.protobuf.types import FieldValueType, FileTypes, MessageType, NumberedField
from counterfoil.schema.paths import FieldPath, PathFault, PathTarget, Step, StepKind, follow, item, member
from counterfoil.schema.texts import Pointer


class HeldIn(NamedTuple):
    """One item of a repeated field, or one value of a map."""

    held: FieldValueType
    field: NumberedField


class OneOfIn(NamedTuple):
    """A oneof and the message that has it."""

    oneof: ProtoOneOf
    message: MessageType


class ElementGroup(NamedTuple):
    """A service, one of its methods, or the extensions of a message: named elements that have no type together."""

    words: str
    members: Mapping[str, Node]
    pointer: Pointer = ()


Node: TypeAlias = "MessageType | EnumType | NumberedField | HeldIn | OneOfIn | EnumConstant | ElementGroup"


def target_of(types: FileTypes, path: FieldPath) -> PathTarget:
    """Return the target of ``path`` in a file; raise ``PathFault`` for a step without a target."""
    declared: dict[Step, Node] = {member(each.name): _service(each) for each in types.file.services}
    declared |= {member(name): each for name, each in types.enums.items()}
    declared |= {member(name): each for name, each in types.messages.items()}
    for extendee in {extendee for extendee, _ in types.extensions()}:
        fields = {field.name: field for name, field in types.extensions() if name == extendee}
        declared[item(extendee)] = ElementGroup(f"the extensions of {extendee}", fields)
    first = path[0] if path else None
    if first in declared:
        start = declared[first]
        return _target(follow(start, path, lambda node, step: node if step is first else _inside(node, step)))
    message: Node | None = next(iter(types.messages.values()), None)
    if message is None:
        raise PathFault("the file declares no message")
    return _target(follow(message, path, _inside))


def _service(service: Service) -> ElementGroup:
    methods = {rpc.name: ElementGroup(f"method {rpc.name}", {}, rpc.pointer) for rpc in service.rpcs}
    return ElementGroup(f"service {service.name}", methods, service.pointer)


def _target(node: Node) -> PathTarget:
    if isinstance(node, MessageType | EnumType):
        return PathTarget(node.pointer if node.is_in_own_file else (), node)
    if isinstance(node, EnumConstant | ElementGroup):
        return PathTarget(node.pointer, node)
    field = node.field if isinstance(node, HeldIn) else node
    types, pointer = (
        (field.message.types, field.oneof.pointer) if isinstance(field, OneOfIn) else (field.types, field.pointer)
    )
    return PathTarget(pointer if types is types.index.root else (), node)


def _inside(node: Node, step: Step) -> Node:
    """Return the node that ``step`` selects in ``node``; raise ``PathFault`` if there is none."""
    match step.kind, node:
        case StepKind.MEMBER, EnumType():
            constants = {each.name: each for each in node.node.constants}
            return _named(constants, step.name, f"enum {node.local_name}", "constant")
        case StepKind.MEMBER, ElementGroup():
            return _named(node.members, step.name, node.words, "member")
        case StepKind.MEMBER, _:
            return _member(_message(node), step.name)
        case StepKind.ITEM, NumberedField() if node.is_repeated and not node.holds.is_map and not step.name:
            return HeldIn(node.holds, node)
        case StepKind.VALUE, NumberedField() if node.holds.value is not None and not step.name:
            return HeldIn(node.holds.value, node)
        case StepKind.BRANCH, OneOfIn():
            numbers = {each.number for each in node.oneof.fields}
            fields = {each.name: each for number, each in node.message.fields.items() if number in numbers}
            return _named(fields, step.name, f"oneof {node.oneof.name}", "field")
    raise PathFault(f"{_words(node)} has no {step.kind.value}{f' {step.name!r}' if step.name else ''}")


def _message(node: Node) -> MessageType:
    """Return the message of a node: itself, or the one that a singular field, an item or a value holds."""
    if isinstance(node, MessageType):
        return node
    if isinstance(node, NumberedField) and node.is_repeated:
        raise PathFault(
            f"field {node.name} is {'a map; write {}' if node.holds.is_map else 'repeated; write []'} after it"
        )
    held = node.holds if isinstance(node, NumberedField) else node.held if isinstance(node, HeldIn) else None
    if held is None or held.message is None:
        raise PathFault(f"{_words(node)} has no members")
    return held.message


def _member(message: MessageType, name: str) -> Node:
    members: dict[str, Node] = {each.name: each for each in message.fields.values()}
    members |= {each.name: OneOfIn(each, message) for each in message.oneofs.values()}
    members |= {**message.enums, **message.messages, **members}
    return _named(members, name, f"message {message.local_name}", "field")


def _named(
    known: Mapping[str, Node] | Mapping[str, NumberedField] | Mapping[str, EnumConstant],
    name: str,
    around: str,
    kind: str,
) -> Node:
    if name not in known:
        raise PathFault.of_names(around, kind, name, known)
    return known[name]


def _words(node: Node) -> str:
    match node:
        case NumberedField():
            return f"field {node.name}, which holds {node.holds.words},"
        case HeldIn():
            return node.held.words
        case OneOfIn():
            return f"oneof {node.oneof.name}"
        case EnumConstant():
            return f"constant {node.name}"
        case EnumType():
            return f"enum {node.local_name}"
        case ElementGroup():
            return node.words
        case _:
            return f"message {node.local_name}"
