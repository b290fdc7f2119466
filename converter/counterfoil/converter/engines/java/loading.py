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
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from counterfoil.converter.engines.java.generator import JavaSource

_FIRST_DATE: Final = (1980, 1, 1, 0, 0, 0)


def register(session: SparkSession, source: JavaSource) -> str:
    """Make the function of a plan known to a session of Spark's Java program, and return its name in SQL."""
    jvm: Any = session._jvm  # noqa: SLF001 - the way to Java that PySpark itself takes
    name = source.package.replace(".", "_")
    if not session.catalog.functionExists(name):
        for each in (*source.uses, source):
            _add_classes(session, jvm, each)
        made = load_plan(jvm, _loader(session), source)
        session._jsparkSession.udf().register(name, made, jvm.org.apache.spark.sql.types.DataTypes.BinaryType)  # noqa: SLF001 - PySpark registers Java functions by class name only, and only those whose type parameters are known
    return name


def _add_classes(session: SparkSession, jvm: Any, source: JavaSource) -> None:
    """Compile a package and add it to the session as a jar, unless it is there."""
    if _is_loaded(_loader(session), source):
        return
    classes = compile_classes(jvm, _loader(session), source)
    folder = session.sparkContext._temp_dir  # noqa: SLF001 - Spark removes it when its Java program ends
    with tempfile.NamedTemporaryFile(prefix="counterfoil-", suffix=".jar", dir=folder, delete=False) as file:
        _write_jar(Path(file.name), classes)
    session.sql(f"ADD JAR '{file.name}'")


def compile_classes(jvm: Any, parent: Any, source: JavaSource) -> Mapping[str, bytes]:
    """Return the compiled classes by their names. ``parent`` loads the classes that the text uses."""
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(parent)
    compiler.cook(source.text)
    compiled = compiler.getBytecodes()
    return {str(name): bytes(compiled[name]) for name in compiled}


def load_plan(jvm: Any, loader: Any, source: JavaSource) -> Any:
    """Return a new object of a plan's class."""
    found = jvm.java.lang.Class.forName(f"{source.package}.{PLAN_CLASS}", True, loader)  # noqa: FBT003 - Java's argument
    return found.getConstructors()[0].newInstance(None)


def _loader(session: SparkSession) -> Any:
    """Return the class loader that has the jars of a session."""
    return session._jsparkSession.sharedState().jarClassLoader()  # noqa: SLF001 - only the Java session has it


def _is_loaded(loader: Any, source: JavaSource) -> bool:
    return loader.getResource(f"{source.package.replace('.', '/')}/{source.first}.class") is not None


def _write_jar(path: Path, classes: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as jar:
        for name, data in classes.items():
            jar.writestr(zipfile.ZipInfo(f"{name.replace('.', '/')}.class", _FIRST_DATE), data)
