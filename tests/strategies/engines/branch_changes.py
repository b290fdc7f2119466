"""Random changes of Avro types with unions, items and recursion: both schemas, the rules, and what becomes of a value.

The meaning is written here once more, from the pages about bridges, without plans: ``Change.convert`` takes a value as
fastavro writes it, where ``(name, value)`` is that of a branch, and returns the expected one in the same form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from random import Random

TEXTS: Final = ("", "A", "é", "12", "-7")
WHOLES: Final = (0, 1, -1, 63, 64, -(2**31), 2**31 - 1)
SYMBOLS: Final = ("A", "B", "C")
LEFT_OUT: Final = object()
"""The result for an item that is left out."""


class DeadLetter(Exception):
    """The value cannot be converted: the code, and the field without the names of branches."""

    def __init__(self, code: str, field: str) -> None:
        super().__init__(f"{field} {code}".strip())
        self.code = code
        self.field = field


@dataclass(frozen=True, eq=False)
class Change:
    """A type before and after; ``rules`` takes the path of the target and that of the source in its scope.

    ``convert`` takes a value and the field for failures; ``draw`` makes a value. ``name`` is the name of the type as a
    branch, before and after.
    """

    source: Any
    target: Any
    rules: Callable[[str, str], dict[str, Any]]
    convert: Callable[[Any, str], Any]
    draw: Callable[[Random, int], Any]
    name: tuple[str, str] = ("", "")

    def outcome(self, value: Any) -> Any:
        """Return the converted value of a whole record, or the dead letter."""
        try:
            return self.convert(value, "")
        except DeadLetter as letter:
            return letter


def _inside(around: str, name: str) -> str:
    return f"{around}.{name}" if around else name


def no_rules(_target: str, _source: str) -> dict[str, Any]:
    return {}


class Changes:
    """Draws changes; every named type has a name of its own."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._count = 0

    def fresh(self, stem: str) -> str:
        self._count += 1
        return f"{stem}{self._count}"

    def any(self, depth: int) -> Change:
        kinds = ["leaf", "enum", "record", "array", "map", "union", "union", "union", "tree"] if depth < 3 else ["leaf"]
        makers: dict[str, Callable[[int], Change]] = {
            "leaf": lambda _: self.leaf(),
            "enum": lambda _: self.enum(),
            "record": self.record,
            "array": self.array,
            "map": self.map,
            "union": self.union,
            "tree": self.tree,
        }
        return makers[self._rng.choice(kinds)](depth)

    # -- types without parts

    def leaf(self) -> Change:
        kind = self._rng.choice(["int", "string", "widened", "cast", "parsed"])
        if kind == "string":
            return Change("string", "string", no_rules, lambda v, _: v, lambda r, _: r.choice(TEXTS), ("string",) * 2)
        if kind == "parsed":
            return Change(
                "string",
                "int",
                lambda target, source: {target: {"from": source, "cast": "int"}},
                _whole_of_text,
                lambda r, _: r.choice(TEXTS),
                ("string", "int"),
            )
        whole: Callable[[Random, int], Any] = lambda r, _: r.choice(WHOLES)  # noqa: E731 - one of several makers
        if kind == "cast":
            return Change(
                "int",
                "string",
                lambda target, source: {target: {"from": source, "cast": "string"}},
                lambda v, _: str(v),
                whole,
                ("int", "string"),
            )
        wider = "long" if kind == "widened" else "int"
        return Change("int", wider, no_rules, lambda v, _: v, whole, ("int", wider))

    def enum(self) -> Change:
        name = self.fresh("E")
        table = dict(zip(SYMBOLS, self._rng.sample(("A", "B", "X"), 3), strict=True))
        missing = self._rng.random() < 0.3
        if missing:
            del table["C"]

        def convert(value: str, field: str) -> str:
            if value not in table:
                raise DeadLetter("lookup-missing", field)
            return table[value]

        return Change(
            {"type": "enum", "name": name, "symbols": [*SYMBOLS]},
            {"type": "enum", "name": name, "symbols": ["A", "B", "X"]},
            lambda target, source: {
                target: {"from": source, "lookup": table, **({"else": "error"} if missing else {})}
            },
            convert,
            lambda r, _: r.choice(SYMBOLS),
            (name, name),
        )

    # -- types with parts

    def record(self, depth: int, name: str = "", *, is_renamed: bool = False) -> Change:
        name = name or self.fresh("R")
        fields = {self.fresh("f"): self.any(depth + 1) for _ in range(self._rng.randint(1, 3))}
        other = self.fresh("R") if is_renamed else name
        return self._record((name, other), fields)

    def _record(self, name: tuple[str, str], fields: dict[str, Change]) -> Change:
        new_name = {each: self._rng.choice([each, each, self.fresh("g")]) for each in fields}
        order = [*fields]
        self._rng.shuffle(order)
        source = [{"name": each, "type": change.source} for each, change in fields.items()]
        target = [{"name": new_name[each], "type": fields[each].target} for each in order]

        def rules(around: str, scope: str) -> dict[str, Any]:
            made: dict[str, Any] = {}
            for each, change in fields.items():
                where, path = _inside(around, new_name[each]), _inside(scope, each)
                own = change.rules(where, path)
                if each != new_name[each] and where not in own:
                    made[where] = {"from": path}
                made |= own
            return made

        def convert(value: dict[str, Any], field: str) -> dict[str, Any]:
            failed: DeadLetter | None = None
            made = {}
            for each in order:  # the first failure is that of the target's order
                try:
                    made[new_name[each]] = fields[each].convert(value[each], _inside(field, new_name[each]))
                except DeadLetter as letter:
                    failed = failed or letter
            if failed is not None:
                raise failed
            return made

        def draw(rng: Random, left: int) -> dict[str, Any]:
            return {each: change.draw(rng, left - 1) for each, change in fields.items()}

        return Change(
            {"type": "record", "name": name[0], "fields": source},
            {"type": "record", "name": name[1], "fields": target},
            rules,
            convert,
            draw,
            name,
        )

    def array(self, depth: int) -> Change:
        inner = self.any(depth + 1) if self._rng.random() < 0.7 else self.union(depth + 1, in_array=True)

        def convert(value: list[Any], field: str) -> list[Any]:
            made = [inner.convert(item, f"{field}[]") for item in value]
            return [item for item in made if item is not LEFT_OUT]

        return Change(
            {"type": "array", "items": inner.source},
            {"type": "array", "items": inner.target},
            lambda target, _: inner.rules(f"{target}[]", _itself(inner)),
            convert,
            lambda r, left: [inner.draw(r, left - 1) for _ in range(r.randint(0, 3) if left > 0 else 0)],
            ("array", "array"),
        )

    def map(self, depth: int) -> Change:
        inner = self.any(depth + 1) if self._rng.random() < 0.7 else self.union(depth + 1, in_array=True)

        def convert(value: dict[str, Any], field: str) -> dict[str, Any]:
            made = {key: inner.convert(item, f"{field}{{}}") for key, item in value.items()}
            return {key: item for key, item in made.items() if item is not LEFT_OUT}

        return Change(
            {"type": "map", "values": inner.source},
            {"type": "map", "values": inner.target},
            lambda target, _: inner.rules(f"{target}{{}}", _itself(inner)),
            convert,
            lambda r, left: {f"k{n}": inner.draw(r, left - 1) for n in range(r.randint(0, 2) if left > 0 else 0)},
            ("map", "map"),
        )

    def tree(self, depth: int) -> Change:
        """Return a record that contains itself, with changed fields at every level."""
        name = self.fresh("N")
        kind = self._rng.choice(["array", "map", "next", "union"])
        fields: dict[str, Change] = {self.fresh("f"): self.leaf() for _ in range(self._rng.randint(1, 2))}
        node = {
            "array": {"type": "array", "items": name},
            "map": {"type": "map", "values": name},
            "next": ["null", name],
            "union": ["null", name, "string"],
        }[kind]
        del depth
        made: list[Change] = []

        def convert(value: Any, field: str) -> Any:
            if kind == "array":
                return [made[0].convert(each, f"{field}[]") for each in value]
            if kind == "map":
                return {key: made[0].convert(each, f"{field}{{}}") for key, each in value.items()}
            if value is None:
                return None
            branch, inner = value
            return (branch, made[0].convert(inner, field) if branch == name else inner)

        def draw(rng: Random, left: int) -> Any:
            if kind in {"array", "map"}:
                count = rng.randint(0, 2) if left > 0 else 0
                values = [made[0].draw(rng, left - 1) for _ in range(count)]
                return values if kind == "array" else {f"k{n}": each for n, each in enumerate(values)}
            if left <= 0 or rng.random() < 0.3:
                return None
            if kind == "union" and rng.random() < 0.5:
                return ("string", "A")
            return (name, made[0].draw(rng, left - 1))

        fields["again"] = Change(node, node, no_rules, convert, draw)
        made.append(self._record((name, name), fields))
        return made[0]

    # -- unions

    def union(self, depth: int, *, in_array: bool = False) -> Change:
        """Return a union whose branches are kept, changed, renamed, or lost in a way that a rule says."""
        while True:
            branches, has_null = self._branches(depth), self._rng.random() < 0.6
            goals = ["", "", "", "error", *(["null"] if has_null else []), *(["drop"] if in_array else [])]
            fates = [self._rng.choice(goals) for _ in branches]
            kept = [each.target for each, fate in zip(branches, fates, strict=True) if not fate]
            if self._rng.random() < 0.3:
                more = {"type": "record", "name": self.fresh("More"), "fields": [{"name": "x", "type": "int"}]}
                kept.append(more)
            if len(branches) > 1 and len(kept) > 1:
                break
        sources = [each.source for each in branches]
        self._rng.shuffle(kept)
        if has_null:
            for side in (sources, kept):
                side.insert(self._rng.randint(0, len(side)), "null")
        return _union(sources, kept, dict(zip(branches, fates, strict=True)), has_null=has_null)

    def _branches(self, depth: int) -> list[Change]:
        rng = self._rng
        made = [self.record(depth + 1, is_renamed=rng.random() < 0.4) for _ in range(rng.randint(1, 3))]
        if rng.random() < 0.5:
            made.append(self.enum())
        if rng.random() < 0.5:
            made.append(self.array(depth + 1) if depth < 2 else self.leaf())
        if rng.random() < 0.4:
            made.append(_plain("string"))
        return _of_distinct_names(made)


def _union(sources: list[Any], targets: list[Any], fates: dict[Change, str], *, has_null: bool) -> Change:
    """Return a union; the fate of a branch is empty, or what a rule says becomes of its values."""

    def rules(target: str, _source: str) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for each, fate in fates.items():
            made |= _branch_rules(f"{target}<{each.name[0]}>", each, fate)
        return made

    def convert(value: Any, field: str) -> Any:
        if value is None:
            return None
        name, inner = value
        each, fate = next((each, fate) for each, fate in fates.items() if each.name[0] == name)
        if fate == "error":
            raise DeadLetter("union-branch-missing", field)
        lost = {"null": None, "drop": LEFT_OUT}
        return lost[fate] if fate else (each.name[1], each.convert(inner, field))

    def draw(rng: Random, left: int) -> Any:
        if has_null and rng.random() < 0.2:
            return None
        each = rng.choice([*fates])
        return (each.name[0], each.draw(rng, left - 1))

    return Change(sources, targets, rules, convert, draw)


def _branch_rules(where: str, change: Change, fate: str) -> dict[str, Any]:
    """Return the rules for one branch."""
    if fate:
        return {where: {"to": None if fate == "null" else fate}}
    own = change.rules(where, _itself(change))
    if where in own:
        own[where] = {**own[where], "to": f"<{change.name[1]}>"}
    elif change.name[0] != change.name[1]:
        own = {where: {"to": f"<{change.name[1]}>"}, **own}
    return own


def _plain(kind: str) -> Change:
    return Change(kind, kind, no_rules, lambda v, _: v, lambda r, _: r.choice(TEXTS), (kind, kind))


def _itself(change: Change) -> str:
    """Return the source path of a value in its own scope: a record's fields are reached by their names."""
    return "" if isinstance(change.source, dict) and change.source["type"] == "record" else "value"


def _of_distinct_names(branches: list[Change]) -> list[Change]:
    """Return the branches without those whose name, before or after, another one has."""
    found: list[Change] = []
    for each in branches:
        if all(each.name[side] != other.name[side] for other in found for side in (0, 1)):
            found.append(each)
    return found


def _whole_of_text(value: str, field: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise DeadLetter("cast-failed", field) from None


def changed_record(rng: Random) -> Change:
    """Return a change of a whole record."""
    return Changes(rng).record(0)


def changed_union(rng: Random) -> Change:
    """Return a change of a topic whose schema is a union at the top."""
    return Changes(rng).union(0)
