"""Matching of the messages, enums, fields and oneofs of an earlier and a later Protobuf file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from counterfoil.schema.formats.protobuf.types.enums import EnumType
    from counterfoil.schema.formats.protobuf.types.index import FieldType, MessageType

_ALIKE: Final = 0.5
"""The least share of common members with which a type counts as renamed."""

_MAX_COMPARED: Final = 40_000
"""The largest number of pairs of types that are compared by members; above it no type counts as renamed."""

T = TypeVar("T")


class Named(Protocol):
    """A declaration with a name inside the file."""

    @property
    def local_name(self) -> str:
        """The full name without the package."""


TypeT = TypeVar("TypeT", bound=Named)


def match_messages(
    earlier: Sequence[MessageType], later: Sequence[MessageType]
) -> list[tuple[MessageType, MessageType]]:
    """Return pairs of messages in the order of ``later``: by name, last part of the name (moved), or common fields."""
    return _match_types(
        earlier, later, lambda message: {(field.number, field.name) for field in message.fields.values()}
    )


def match_enums(earlier: Sequence[EnumType], later: Sequence[EnumType]) -> list[tuple[EnumType, EnumType]]:
    """Return pairs of enums in the order of ``later``: by name, last part of the name (moved), or common symbols."""
    return _match_types(earlier, later, lambda enum: {(each.number, each.name) for each in enum.node.constants})


def match_fields(earlier: Iterable[FieldType], later: Iterable[FieldType]) -> list[tuple[FieldType, FieldType]]:
    """Return pairs of fields in the order of ``later``: those of one name, and of the others those of one number."""
    return match_in_turn(earlier, later, (lambda field: field.name, lambda field: field.number))


def match_in_turn(
    earlier: Iterable[T], later: Iterable[T], keys: Iterable[Callable[[T], Hashable]]
) -> list[tuple[T, T]]:
    """Return pairs of elements with an equal key: by the first key, then the next; each is in one pair at most."""
    before, now = list(earlier), list(later)
    match: dict[int, T] = {}
    left = before
    for key_of in keys:
        by_key: dict[Hashable, T] = {}
        for each in left:
            by_key.setdefault(key_of(each), each)
        for each in now:
            if id(each) not in match and key_of(each) in by_key:
                match[id(each)] = by_key.pop(key_of(each))
        taken = {id(each) for each in match.values()}
        left = [each for each in before if id(each) not in taken]
    return [(match[id(each)], each) for each in now if id(each) in match]


def match_oneofs(
    earlier: MessageType, later: MessageType, fields: Iterable[tuple[FieldType, FieldType]]
) -> Mapping[str, str]:
    """Return the later name of each matched oneof: the same, or that of the oneof that has one of its members."""
    match = {name: name for name in earlier.oneofs if name in later.oneofs}
    for was, now in fields:
        before, after = was.oneof_name, now.oneof_name
        if before and after and before not in match and after not in match.values():
            match[before] = after
    return match


def _match_types(
    earlier: Sequence[TypeT], later: Sequence[TypeT], members: Callable[[TypeT], set[tuple[int, str]]]
) -> list[tuple[TypeT, TypeT]]:
    keys = (lambda each: each.local_name, lambda each: each.local_name.rpartition(".")[2])
    pairs = match_in_turn(earlier, later, keys)
    before, now = {id(was) for was, _ in pairs}, {id(later_type) for _, later_type in pairs}
    left = {id(each): (each, members(each)) for each in earlier if id(each) not in before}
    new = [each for each in later if id(each) not in now]
    for each in new if len(left) * len(new) <= _MAX_COMPARED else ():
        wanted = members(each)
        best = max(left.values(), key=lambda was: _likeness(was[1], wanted), default=None)
        if best is not None and _likeness(best[1], wanted) >= _ALIKE:
            pairs.append((best[0], each))
            del left[id(best[0])]
    order = {id(each): index for index, each in enumerate(later)}
    return sorted(pairs, key=lambda pair: order[id(pair[1])])


def _likeness(one: set[tuple[int, str]], other: set[tuple[int, str]]) -> float:
    """Return the share of members that two types have in common; 0 for two without members."""
    return len(one & other) / max(len(one), len(other), 1)
