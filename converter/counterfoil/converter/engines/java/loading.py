"""Compiling generated classes in Spark's Java program, and making them known to its executors.

Janino, which is one of PySpark's own jars, compiles them; as jars they reach the executors of any cluster, and the
session's class loader. A package is compiled and added once in a session.
"""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from counterfoil.converter.engines.java.generator import PLAN_CLASS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

    from counterfoil.converter.engines.java.generator import JavaSource
    from counterfoil.converter.engines.lookup import WriterLookup

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


def load_plan(jvm: Any, loader: Any, source: JavaSource) -> Any:
    """Return a new object of a plan's class."""
    return _constructor(jvm, loader, source, PLAN_CLASS).newInstance(None)


def load_first(session: SparkSession, source: JavaSource, *arguments: Any) -> Any:
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


def _objects(session: SparkSession, arguments: Sequence[Any]) -> Any:
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
