"""Avro messages in Java: the steps of reading each writer's values, and the types that are written, as constants.

The steps are those of the SDK's codec (:mod:`counterfoil.sdk.serde.avro.plan`), which resolves the schemas.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from counterfoil.converter.engines.java.generator import writers_by_ids
from counterfoil.converter.engines.java.messages.builder import Builder
from counterfoil.converter.engines.java.messages.operations import constant
from counterfoil.converter.engines.java.source import ENGINE, JavaClass, block, indented, quoted, signed
from counterfoil.converter.engines.protocol import EngineCannot
from counterfoil.schema.languages.avro.schema import AvroSchema
from counterfoil.schema.plans.avro import base_schema, tree_of
from counterfoil.schema.plans.derivations import derive_resolution, rounds_to_float
from counterfoil.schema.plans.tree import ArrayType, Leaf, MapType, Node, NullType, RecordType, UnionType
from counterfoil.schema.wire import id_prefix
from counterfoil.sdk.serde.avro.logical_types import PROMOTE_TO_FLOAT
from counterfoil.sdk.serde.avro.plan import (
    ArrayStep,
    BooleanStep,
    BranchStep,
    BytesStep,
    EnumStep,
    FixedStep,
    IntegerStep,
    MapStep,
    NullStep,
    RawStep,
    RealStep,
    RecordStep,
    Step,
    TextStep,
    UnionStep,
    UnreadableStep,
)
from counterfoil.sdk.serde.avro.resolve import resolve
from counterfoil.sdk.serde.avro.tagged import TaggingResolver

_KIND_BY_STEP: Final = {NullStep: "NULL", BooleanStep: "BOOLEAN", BytesStep: "BYTES", TextStep: "STRING"}
_INT_BITS: Final = 32
_FLOAT_BYTES: Final = 4


def read_lines(java: JavaClass, source: AvroSchema, writer_by_id: Mapping[int, AvroSchema]) -> list[str]:
    """Return the statements that read the message ``b`` from ``p`` on, by its schema id."""
    base = base_schema(source)
    java.member("final AvroReader reader = new AvroReader(this)")
    cases = []
    for ids, writer in writers_by_ids(writer_by_id):
        cases += [f"case {signed(each)}:" for each in ids]
        cases += indented(_writer_lines(java, writer, base))
    return block("switch (id)", [*cases, "default:", "  return UNKNOWN;"])


def write_lines(java: JavaClass, target: AvroSchema) -> list[str]:
    """Return the statements that write the value ``made``; bytes alone have no length in front, as the codec has it."""
    root = tree_of(target)
    if root.kind == "bytes":
        return ["out.put((byte[]) made);"]
    name = _Types(java).name(root, "")
    java.member("final AvroWriter writer = new AvroWriter()")
    return [f"writer.write({name}, made, out);"]


def prefix_of(_target: AvroSchema, target_id: int) -> bytes:
    """Return the frame of a converted message."""
    return id_prefix(target_id)


def _writer_lines(java: JavaClass, writer: AvroSchema, source: AvroSchema) -> list[str]:
    """Return the statements that read one writer's message as the source's value.

    As in the reference evaluator, a plan makes the source's value of the writer's where a whole number is rounded to a
    float.
    """
    if writer.text == source.text:
        return _read_lines(java, resolve(source, resolver=TaggingResolver()), tree_of(source))
    step = resolve(writer, source, resolver=TaggingResolver())
    resolution = derive_resolution(writer, source)
    written, wanted = tree_of(writer), tree_of(source)
    if resolution.problems or not rounds_to_float(resolution):
        return _read_lines(java, step, wanted)
    name = _Reading(java).name(resolve(writer, resolver=TaggingResolver()), written)
    resolved = Builder(java).method(resolution.root, wanted, written)
    return [
        *block("try", [f"return {resolved}(reader.read({name}, b, p));"]),
        *block("catch (Failure failure)", ["throw failure.as(Codes.UNDECODABLE);"]),
    ]


def _read_lines(java: JavaClass, step: Step, node: Node) -> list[str]:
    """Return the statements that read a message by a step; bytes alone are the whole message."""
    if isinstance(step, RawStep):
        if step.is_text:
            raise EngineCannot(ENGINE, field="", why="bytes of an earlier version that are read as a text")
        return ["return java.util.Arrays.copyOfRange(b, p, b.length);"]
    return [f"return reader.read({_Reading(java).name(step, node)}, b, p);"]


class _Reading:
    """Writes the steps of a plan of reading; a record's step is written once, since it may lead to itself."""

    def __init__(self, java: JavaClass) -> None:
        self._java = java
        self._name_by_record: dict[int, str] = {}

    def name(self, step: Step, node: Node | None) -> str:
        """Return the name of a step that reads values of ``node``; None for values that are skipped."""
        if isinstance(node, UnionType) and not isinstance(step, UnionStep):
            return self._as_branch(step, node)
        match step:
            case RecordStep():
                return self._record(step, node if isinstance(node, RecordType) else None)
            case UnionStep(branches=branches):
                return self._of("UNION", *(self.name(branch, node) for branch in branches))
            case ArrayStep(items=items, smallest=smallest):
                inside = self.name(items, node.items if isinstance(node, ArrayType) else None)
                return self._of("ARRAY", inside, ends=f".sized({smallest})")
            case MapStep(values=values):
                return self._of("MAP", self.name(values, node.values if isinstance(node, MapType) else None))
        return self._java.constant("AvroStep", self._scalar(step))

    def _as_branch(self, step: Step, node: UnionType) -> str:
        """Return the name of a step that reads one branch of a union."""
        if isinstance(step, BranchStep):
            index = int(step.name)
            return self._of("TAGGED", self.name(step.step, node.branches[index]), ends=f".sized({index})")
        wanted = {ArrayStep: ArrayType, MapStep: MapType, RecordStep: RecordType}.get(type(step))
        branch = next((each for each in node.branches if wanted is not None and isinstance(each, wanted)), None)
        return self.name(step, branch)

    def _of(self, kind: str, *parts: str, ends: str = "") -> str:
        inside = f"new AvroStep[] {{{', '.join(parts)}}}"
        return self._java.constant("AvroStep", f"new AvroStep(AvroStep.{kind}).of({inside}){ends}")

    def _scalar(self, step: Step) -> str:
        match step:
            case IntegerStep(bits=bits, conversion=conversion):
                made = f"new AvroStep(AvroStep.{'INT' if bits == _INT_BITS else 'LONG'})"
                return f"{made}.promoted()" if conversion is PROMOTE_TO_FLOAT else made
            case RealStep(size=size):
                return f"new AvroStep(AvroStep.{'FLOAT' if size == _FLOAT_BYTES else 'DOUBLE'})"
            case FixedStep(size=size):
                return f"new AvroStep(AvroStep.FIXED).sized({size})"
            case EnumStep(values=values):
                known = list(dict.fromkeys(value for value in values if value is not None))
                places = self._java.integers([-1 if value is None else known.index(value) for value in values])
                symbols = self._java.several([value.encode() for value in known])
                return f"new AvroStep(AvroStep.ENUM).reading({symbols}, {places})"
            case UnreadableStep(problem=problem):
                return f"new AvroStep(AvroStep.UNREADABLE).because({quoted(problem)})"
        return f"new AvroStep(AvroStep.{_KIND_BY_STEP[type(step)]})"

    def _record(self, step: RecordStep, node: RecordType | None) -> str:
        if id(step) in self._name_by_record:
            return self._name_by_record[id(step)]
        name = self._name_by_record[id(step)] = self._java.fresh("A")
        members = {member.name: member for member in node.fields} if node is not None else {}
        place_by_name = {target: place for place, target in enumerate(members)}
        places = [-1 if one.target is None else place_by_name.get(one.target, -1) for one in step.fields]
        names = self._java.words([one.name for one in step.fields])
        into = f".named({names}).into({self._java.integers(places)}, {len(members)}).sized({step.unpaid})"
        self._java.member(f"static final AvroStep {name} = new AvroStep(AvroStep.RECORD){into}")
        types = [members[one.target].type if one.target in members else None for one in step.fields]
        parts = [self.name(one.step, inner) for one, inner in zip(step.fields, types, strict=True)]
        self._java.fill(name, "AvroStep", parts)
        for target, default in step.defaults.items():
            if default is not None and target in members:
                value = constant(self._java, members[target].type, default, target)
                self._java.static(f"{name}.defaults[{place_by_name[target]}] = {value};")
        return name


class _Types:
    """Writes the types that are written as steps; a record is written once, since it may contain itself."""

    def __init__(self, java: JavaClass) -> None:
        self._java = java
        self._name_by_record: dict[int, str] = {}

    def name(self, node: Node, where: str) -> str:
        """Return the name of a type."""
        if isinstance(node, RecordType):
            return self._record(node, where)
        return self._java.constant("AvroStep", f"new AvroStep(AvroStep.{node.kind.upper()}){self._ends(node, where)}")

    def _ends(self, node: Node, where: str) -> str:
        if isinstance(node, NullType):
            return ""
        if isinstance(node, Leaf):
            if node.kind == "enum":
                return f".writing({self._java.several([symbol.encode() for symbol in node.symbols])})"
            return "" if node.scalar.size is None else f".sized({node.scalar.size})"
        if isinstance(node, UnionType):
            parts = [self.name(branch, where) for branch in node.branches]
        elif isinstance(node, ArrayType):
            parts = [self.name(node.items, f"{where}[]")]
        elif isinstance(node, MapType):
            parts = [self.name(node.values, f"{where}{{}}")]
        else:
            raise EngineCannot(ENGINE, field=where, why=f"writing {node.kind} as Avro")
        return f".of(new AvroStep[] {{{', '.join(parts)}}})"

    def _record(self, node: RecordType, where: str) -> str:
        if id(node) in self._name_by_record:
            return self._name_by_record[id(node)]
        name = self._name_by_record[id(node)] = self._java.fresh("A")
        names = self._java.words([member.name for member in node.fields])
        self._java.member(f"static final AvroStep {name} = new AvroStep(AvroStep.RECORD).named({names})")
        inside = f"{where}." if where else ""
        self._java.fill(name, "AvroStep", [self.name(member.type, f"{inside}{member.name}") for member in node.fields])
        return name
