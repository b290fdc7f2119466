"""Generating the Java class of a conversion: its text, and the names that it has in the Java program."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from counterfoil.converter.engines.answers import NUMBER_BY_CODE
from counterfoil.converter.engines.cannot import EngineCannot, require_avro, require_frames
from counterfoil.converter.engines.java.readers import ReaderWriter, is_always_readable, note_defaults
from counterfoil.converter.engines.java.slots import ENGINE, declare, make_slot
from counterfoil.converter.engines.java.source import JavaClass, block, indented, quoted, signed
from counterfoil.converter.engines.java.writers import TargetWriter
from counterfoil.schema.evolution import base_schema, base_text, derive_resolution, rounds_to_float
from counterfoil.schema.evolution.model import BuildRecord
from counterfoil.schema.formats.avro.types import Record
from counterfoil.schema.wire import id_prefix
from counterfoil.sdk.serde.avro_codec.resolve import resolve

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.converter.engines.java.slots import Slot
    from counterfoil.converter.engines.protocol import Conversion
    from counterfoil.schema.formats.avro.schema import AvroSchema
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.sdk.serde.avro_codec.plan import Step

PLAN_CLASS: Final = "Plan"
_PARTS: Final = (
    "Failure", "Texts", "Words", "Reader", "Output", "Keys", "Table", "Numbers", "Instants", "Worker", "Received",
    "Lookup", "Conversion",
)  # fmt: skip
_DIGITS: Final = 16

_MOST_NAMES: Final = 50_000
_MOST_INITIAL_VALUES: Final = 4_000
"""Java's limits are 65,535 entries of a class's table of names and 65,535 bytes of a method; an entry or a value of a
member takes several of them."""


@dataclass(frozen=True)
class JavaSource:
    """The text of a compilation unit in a package of its own; equal texts have equal packages.

    ``first`` is one of its classes; ``uses`` are the units with the classes that it needs.
    """

    package: str
    text: str
    first: str
    uses: tuple[JavaSource, ...] = ()


@cache
def runtime_source() -> JavaSource:
    """Return the classes that every generated class uses: hand-written, but for the numbers of the codes."""
    folder = files("counterfoil.converter.engines.java") / "runtime"
    texts = [(folder / f"{name}.java").read_text(encoding="utf-8") for name in _PARTS]
    bodies = [text.partition(";\n")[2] for text in texts]
    codes = [f"public static final int {code.name} = {number};" for code, number in NUMBER_BY_CODE.items()]
    return packaged("runtime", "\n".join([*block("public final class Codes", codes), *bodies]), "Worker")


def plan_source(conversion: Conversion) -> JavaSource:
    """Return the class of a conversion. Raises ``EngineCannot`` for what it cannot do exactly."""
    java = JavaClass()
    source, target = (_avro(each) for each in (conversion.plan.source, conversion.plan.target))
    built = conversion.plan.root
    if not isinstance(target.root, Record) or not isinstance(built, BuildRecord):
        raise EngineCannot(ENGINE, field="", why="the top-level type is no record")
    root = make_slot(source.root, java)
    steps = [(ids, *_reading(writer, source)) for ids, writer in writers_by_ids(conversion.writer_by_id)]
    for _, step, _ in steps:
        note_defaults(step, root)
    writing = TargetWriter(java).root(built, target.root, root)
    cases = []
    for ids, step, is_strict in steps:
        cases += [*(f"case {signed(each)}:" for each in ids)]
        cases += indented([f"return {ReaderWriter(java, is_strict=is_strict).method(step, root)}(b, p);"])
    cases += ["default:", "  return -1;"]
    _readers_again(root, java)
    declare(root, java)
    prefix = java.data(id_prefix(require_frames(ENGINE, conversion)))
    known = quoted(", ".join(map(str, sorted(conversion.writer_by_id))))
    body = [
        *block("protected int read(int id, byte[] b, int p)", block("switch (id)", cases)),
        *block("protected void write()", writing),
        *block("protected byte[] prefix()", [f"return {prefix};"]),
        *block("protected String knownIds()", [f"return {known};"]),
    ]
    return conversion_class("Worker", java, body, (runtime_source(),))


def conversion_class(worker: str, java: JavaClass, body: list[str], uses: tuple[JavaSource, ...]) -> JavaSource:
    """Return the class of a plan; its worker, of the class that is named, has what ``java`` has, and ``body``.

    Raises ``EngineCannot`` for a class that Java would not load.
    """
    _check_size(java)
    plan = [
        "private static final ThreadLocal WORKERS = new ThreadLocal();",
        *block("protected ThreadLocal workers()", ["return WORKERS;"]),
        *block("protected Worker newWorker()", ["return new PlanWorker();"]),
    ]
    text = [
        *block(f"public final class {PLAN_CLASS} extends Conversion", plan),
        *block(f"final class PlanWorker extends {worker}", [*java.members, *body, *java.methods]),
    ]
    return packaged("plan", "\n".join(text), PLAN_CLASS, uses)


def _check_size(java: JavaClass) -> None:
    """Raise ``EngineCannot`` for a class that Java would not load: of too many names, or of a too long initializer."""
    strings = sum(line.count('"') // 2 for line in (*java.members, *java.statics, *java.methods))
    methods = sum(line.startswith("private ") for line in java.methods)
    names = 3 * (len(java.members) + methods) + 2 * strings
    initial = len(java.statics) + sum(" = " in line for line in java.members)
    if names > _MOST_NAMES or initial > _MOST_INITIAL_VALUES:
        raise EngineCannot(ENGINE, field="", why="so many fields do not fit into one Java class")


def packaged(stem: str, text: str, first: str, uses: tuple[JavaSource, ...] = ()) -> JavaSource:
    """Return a compilation unit in a package of its own."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
    package = f"counterfoil.{stem}_{digest}"
    lines = [f"package {package};", *(f"import {each.package}.*;" for each in uses)]
    return JavaSource(package, "\n".join([*lines, text, ""]), first, uses)


def writers_by_ids(writer_by_id: Mapping[int, ParsedSchema]) -> list[tuple[list[int], AvroSchema]]:
    """Return the types below logical types of written records, each with the ids that have them."""
    ids_by_text: dict[str, list[int]] = {}
    for schema_id, schema in sorted(writer_by_id.items()):
        ids_by_text.setdefault(base_text(require_avro(ENGINE, schema).root), []).append(schema_id)
    return [(ids, _avro(writer_by_id[ids[0]])) for ids in ids_by_text.values()]


def _avro(schema: ParsedSchema) -> AvroSchema:
    """Return the types below logical types of an Avro schema; raise ``EngineCannot`` for another language."""
    return base_schema(require_avro(ENGINE, schema))


def _reading(writer: AvroSchema, source: AvroSchema) -> tuple[Step, bool]:
    """Return the plan of reading, as the reference evaluator uses it, and whether it reads everything.

    It does so where a whole number is rounded to a float: the reference evaluator reads the writer's value in whole
    then, and makes the source's value of it afterwards.
    """
    if writer.text == source.text:
        return resolve(writer), False
    step = resolve(writer, source)
    resolution = derive_resolution(writer, source)
    is_strict = rounds_to_float(resolution)
    if is_strict and (resolution.problems or not is_always_readable(step, resolve(writer))):
        why = "an earlier version's whole number is read as a float, and a part of it as text, or not always"
        raise EngineCannot(ENGINE, field="", why=why)
    return step, is_strict


def _readers_again(slot: Slot, java: JavaClass) -> None:
    """Add the method that reads an element once more when it is written, for each array and map that is needed."""
    for part in slot.members.values():
        _readers_again(part, java)
    if slot.element is None or not slot.is_needed():
        return
    _readers_again(slot.element, java)
    readers = slot.element_readers
    cases = [line for number, name in enumerate(readers) for line in (f"case {number}:", f"  return {name}(b, p);")]
    lines = block(f"switch (w{slot.name})", [*cases, "default:", "  return -1;"])
    java.method(f"int q{slot.name}(byte[] b, int p)", lines if len(readers) != 1 else [f"return {readers[0]}(b, p);"])
