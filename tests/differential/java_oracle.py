"""Apache Avro for Java, asked through ``ApacheAvro.java``; see there for what it answers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_services.apache_avro import avro_class_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SOURCE = Path(__file__).with_name("ApacheAvro.java")
DEADLINE_S = 600


def java_command(*arguments: str) -> list[str]:
    """The command that runs the oracle from its source."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    assert java, "Java 17 or newer is needed: apt-get install openjdk-17-jdk-headless"
    return [java, "-cp", avro_class_path(), str(SOURCE), *arguments]


def ask_java(pairs: Iterable[tuple[str, str]], data: Iterable[Sequence[bytes]] | None = None) -> list[dict[str, Any]]:
    """One answer for each pair of reader and writer; with ``data``, also whether each datum of a pair was read."""
    questions = [{"reader": reader, "writer": writer} for reader, writer in pairs]
    if data is not None:
        bodies = [[body.hex() for body in each] for each in data]
        questions = [{**question, "data": each} for question, each in zip(questions, bodies, strict=True)]
    lines = "\n".join(map(json.dumps, questions))
    done = subprocess.run(
        java_command("check"), input=lines, capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(questions)
    return answers
