"""A file system of Hadoop that is slow, refuses renames and fails: its jar, and the settings of Spark for it."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

_SOURCE = Path(__file__).with_name("DifficultFiles.java")


@dataclass(frozen=True)
class DifficultFiles:
    """The file system; ``folder`` has its jar, what it is told, and its files."""

    folder: Path

    def build(self) -> None:
        """Compile it for the Hadoop of PySpark."""
        spec, javac = find_spec("pyspark"), shutil.which("javac")
        assert spec is not None
        assert spec.origin is not None
        assert javac is not None, "tests need a JDK"
        classes = self.folder / "classes"
        classes.mkdir(parents=True)
        jars = Path(spec.origin).parent / "jars"
        subprocess.run([javac, "--release", "8", "-nowarn", "-cp", f"{jars}/*", "-d", classes, _SOURCE], check=True)
        archive = shutil.make_archive(str(self.folder / "difficult"), "zip", classes)
        Path(archive).rename(self.jar)
        self.tell()

    @property
    def jar(self) -> Path:
        """Return the jar, for the class path of Spark's driver."""
        return self.folder / "difficult.jar"

    @property
    def uri(self) -> str:
        """Return the URI of a folder in it."""
        return f"difficult://{self.folder / 'files'}"

    def tell(self, **wanted: object) -> None:
        """Say how it behaves from now on: ``delay_ms``, ``renames``, ``fails_on``."""
        lines = [f"{name}={str(value).lower()}" for name, value in wanted.items()]
        unfinished = self.folder / "difficult.new"
        unfinished.write_text("\n".join([f"log={self.folder / 'requests'}", *lines]))
        unfinished.replace(self.folder / "difficult.properties")

    def requests(self) -> list[tuple[str, str]]:
        """Return what it was asked: kinds and paths."""
        log = self.folder / "requests"
        lines = log.read_text().splitlines() if log.exists() else []
        return [(kind, path) for kind, _, path in (line.partition(" ") for line in lines)]

    def settings(self) -> dict[str, str]:
        """Return the settings of Spark with which its driver finds it."""
        return {
            "spark.driver.extraClassPath": str(self.jar),
            "spark.hadoop.fs.difficult.impl": "counterfoil.tests.DifficultFiles",
            "spark.hadoop.counterfoil.difficult": str(self.folder / "difficult.properties"),
        }

    def options(self) -> list[str]:
        """Return the same as options of a command."""
        return [part for name, value in self.settings().items() for part in ("--conf", f"{name}={value}")]
