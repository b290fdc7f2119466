"""Generating the Java class of a conversion, compiling it in Spark's Java program, and making it known to executors."""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from counterfoil.converter.engines.java.readers import ReaderWriter, is_always_readable, note_defaults
from counterfoil.converter.engines.java.source import (
    ENGINE,
    JavaClass,
    Slot,
    block,
    declare,
    indented,
    make_slot,
    quoted,
    signed,
)
from counterfoil.converter.engines.java.writers import TargetWriter
from counterfoil.converter.engines.lookup import WriterLookup
from counterfoil.converter.engines.protocol import Conversion, EngineCannot, require_avro, require_frames
from counterfoil.converter.engines.reference import NUMBER_BY_CODE
from counterfoil.schema.languages.avro.schema import AvroSchema
from counterfoil.schema.languages.avro.types import AvroRecord
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.plans.avro import base_schema, base_text
from counterfoil.schema.plans.derivations import derive_resolution, rounds_to_float
from counterfoil.schema.plans.model import MAX_LEVELS, BuildRecord
from counterfoil.schema.wire import id_prefix
from counterfoil.sdk.serde.avro.plan import Step
from counterfoil.sdk.serde.avro.resolve import resolve

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# Generating the Java class of a conversion: its text, and the names that it has in the Java program.

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
    codes.append(f"public static final int MAX_LEVELS = {MAX_LEVELS};")
    return packaged("runtime", "\n".join([*block("public final class Codes", codes), *bodies]), "Worker")


def plan_source(conversion: Conversion) -> JavaSource:
    """Return the class of a conversion. Raises ``EngineCannot`` for what it cannot do exactly."""
    java = JavaClass()
    source, target = (_avro(each) for each in (conversion.plan.source, conversion.plan.target))
    built = conversion.plan.root
    if not isinstance(target.root, AvroRecord) or not isinstance(built, BuildRecord):
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


# Compiling generated classes in Spark's Java program, and making them known to its executors.
#
# Janino, which is one of PySpark's own jars, compiles them; as jars they reach the executors of any cluster, and the
# session's class loader. A package is compiled and added once in a session.

_FIRST_DATE: Final = (1980, 1, 1, 0, 0, 0)


def register(session: SparkSession, source: JavaSource, lookup: WriterLookup | None = None) -> str:
    """Make the function of a plan known to a session of Spark's Java program, and return its name in SQL.

    ``lookup`` is where the function requests what to do with records of unknown schema ids.
    """
    jvm: Any = session._jvm  # noqa: SLF001 - the way to Java that PySpark itself takes
    name = source.package.replace(".", "_") + (f"_{lookup.port}_{lookup.half.name}" if lookup else "")
    if lookup or not session.catalog.functionExists(name):
        for each in (*source.uses, source):
            add_classes(session, each)
        made = load_plan(jvm, _loader(session), source)
        if lookup:
            _call(session, made, "setLookup", lookup.host, lookup.port, lookup.secret, lookup.half.value.decode())
        session._jsparkSession.udf().register(name, made, jvm.org.apache.spark.sql.types.DataTypes.BinaryType)  # noqa: SLF001 - PySpark registers Java functions by class name only, and only those whose type parameters are known
    return name


def add_classes(session: SparkSession, source: JavaSource) -> None:
    """Compile a package and add it to the session as a jar, unless it is there.

    This thread's next statements and queries find the classes: Spark looks for them with the loader of the thread.
    """
    jvm: Any = session._jvm  # noqa: SLF001 - the way to Java that PySpark itself takes
    loader = _loader(session)
    jvm.java.lang.Thread.currentThread().setContextClassLoader(loader)
    if _is_loaded(loader, source):
        return
    classes, _ = compile_classes(jvm, loader, source)
    folder = session.sparkContext._temp_dir  # noqa: SLF001 - Spark removes it when its Java program ends
    with tempfile.NamedTemporaryFile(prefix="counterfoil-", suffix=".jar", dir=folder, delete=False) as file:
        _write_jar(Path(file.name), classes)
    session.sql(f"ADD JAR '{file.name}'")


def compile_classes(jvm: Any, parent: Any, source: JavaSource) -> tuple[Mapping[str, bytes], Any]:
    """Return the compiled classes by their names, and their loader. ``parent`` loads the classes that the text uses."""
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(parent)
    compiler.cook(source.text)
    compiled = compiler.getBytecodes()
    return {str(name): bytes(compiled[name]) for name in compiled}, compiler.getClassLoader()


def packed_classes(session: SparkSession, source: JavaSource) -> bytes:
    """Return the compiled classes of a plan as an executor receives them: name, length, bytes; the plan's own first.

    What the plan uses and the session does not have is packed, too: a running query gets no more jars.
    """
    loader, compiled = _loader(session), dict[str, bytes]()
    for each in (*source.uses, source):
        if not _is_loaded(loader, each):
            classes, loader = compile_classes(session._jvm, loader, each)  # noqa: SLF001 - the way to Java that PySpark itself takes
            compiled |= classes
    names = sorted(compiled, key=lambda name: (not name.endswith(f".{PLAN_CLASS}"), name))
    parts = [(name.encode(), compiled[name]) for name in names]
    return b"".join(len(name).to_bytes(2) + name + len(code).to_bytes(4) + code for name, code in parts)


def load_plan(jvm: object, loader: object, source: JavaSource) -> Any:
    """Return a new object of a plan's class."""
    return _constructor(jvm, loader, source, PLAN_CLASS).newInstance(None)


def load_first(session: SparkSession, source: JavaSource, *arguments: object) -> Any:
    """Return a new object of the first class of a package that was added; its constructor takes Java's objects."""
    jvm: Any = session._jvm  # noqa: SLF001 - the way to Java that PySpark itself takes
    return _constructor(jvm, _loader(session), source, source.first).newInstance(_objects(session, arguments))


def _constructor(jvm: Any, loader: Any, source: JavaSource, name: str) -> Any:
    found = jvm.java.lang.Class.forName(f"{source.package}.{name}", True, loader)  # noqa: FBT003 - Java's argument
    return found.getConstructors()[0]


def _call(session: SparkSession, plan: Any, name: str, *arguments: Any) -> None:
    """Call a method of a plan's object by Java's reflection: py4j confuses equally named classes of two sessions."""
    method = next(each for each in plan.getClass().getMethods() if each.getName() == name)
    method.invoke(plan, _objects(session, arguments))


def _objects(session: SparkSession, arguments: Sequence[object]) -> Any:
    """Return an array of Java's objects."""
    gateway = session.sparkContext._gateway  # noqa: SLF001 - the way to Java that PySpark itself takes
    given = gateway.new_array(gateway.jvm.java.lang.Object, len(arguments))
    for index, argument in enumerate(arguments):
        given[index] = argument
    return given


def _loader(session: SparkSession) -> Any:
    """Return the class loader that has the jars of a session."""
    return session._jsparkSession.sharedState().jarClassLoader()  # noqa: SLF001 - only the Java session has it


def _is_loaded(loader: Any, source: JavaSource) -> bool:
    """Return whether this session has a package; one that only an earlier session has does not reach executors."""
    return loader.findResource(f"{source.package.replace('.', '/')}/{source.first}.class") is not None


def _write_jar(path: Path, classes: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as jar:
        for name, data in classes.items():
            jar.writestr(zipfile.ZipInfo(f"{name.replace('.', '/')}.class", _FIRST_DATE), data)
