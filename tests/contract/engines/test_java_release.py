"""The classes of bridges use nothing that Java 8 does not have, the oldest Java on which Spark 3.5 runs.

Janino compiles against the Java that runs, whichever it is; ``javac --release 8`` knows what that one had.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from counterfoil.converter.bridge import parse_bridge_file
from counterfoil.converter.engines.java.engine import JavaEngine, message_runtime
from counterfoil.converter.engines.java.generator import runtime_source
from counterfoil.converter.engines.protocol import EngineCannot
from counterfoil.converter.run.checkpoint_files import whole_files_source
from counterfoil.converter.run.delivery import run_sources
from counterfoil.converter.spark.versions import spark_line
from local_services import connector_jars
from strategies.engines.cases import CASES, conversion_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.converter.engines.java.generator import JavaSource

OLDEST = 8
BRIDGE = "bridge: b\nsource: {topic: in}\ntarget: {topic: out}\ndelivery: exactly-once\n"
CLASS = re.compile(r"^(?=(?:public |final |abstract )*(?:class|interface) \w)", re.MULTILINE)
NAME = re.compile(r"(?:public |final |abstract )*(?:class|interface) (\w+)")
COMMENT = re.compile(r"/\*\*(?:(?!\*/)[\s\S])*\*/\s*$")


def sources() -> Iterator[JavaSource]:
    yield from (runtime_source(), message_runtime(), *run_sources(parse_bridge_file(BRIDGE)))
    yield whole_files_source(spark_line().checkpoint_package)
    for case in CASES:
        with suppress(EngineCannot):
            yield JavaEngine(conversion_of(case)).source


def write_classes(source: JavaSource, folder: Path) -> int:
    """Write each class into a file of its own, as javac demands it; return how many there are."""
    place = folder / source.package.replace(".", "/")
    place.mkdir(parents=True)
    lines = source.text.splitlines()
    head = [line for line in lines if line.startswith(("package ", "import "))]
    body = "\n".join(line for line in lines if line not in head)
    classes = [part for part in CLASS.split(body) if NAME.match(part)]
    for part in classes:
        (place / f"{NAME.match(part)[1]}.java").write_text("\n".join([*head, COMMENT.sub("", part)]))
    return len(classes)


def test_every_class_of_a_run_is_compiled_for_java_8(tmp_path: Path):
    spec, javac = find_spec("pyspark"), shutil.which("javac")
    assert javac is not None, "tests need a JDK"
    found = {each.package: each for each in sources()}
    assert sum(write_classes(each, tmp_path) for each in found.values()) > 60
    assert any(".plan_" in package for package in found)
    jars = f"{Path(spec.origin).parent}/jars/*:{connector_jars()}/*"
    command = [javac, "--release", str(OLDEST), "-nowarn", "-Xlint:none", "-cp", jars, "-d", tmp_path / "classes"]
    done = subprocess.run([*command, *tmp_path.rglob("*.java")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
