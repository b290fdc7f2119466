from __future__ import annotations

import re
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from counterfoil.converter.errors import MissingPart, UnsupportedSpark
from counterfoil.converter.spark.java import check_java
from counterfoil.converter.spark.versions import SPARK_LINES, check_python, pyspark_version, spark_line
from counterfoil.schema.exit_codes import ExitCode

PAGE = Path(__file__).resolve().parents[4] / "docs/bridge-clusters.md"


@pytest.mark.parametrize(
    ("version", "scala"),
    [("3.5.0", "2.12"), ("3.5.7", "2.12"), ("4.0.2", "2.13"), ("4.1.0.dev1", "2.13"), ("4.2", "2.13")],
)
def test_a_version_has_a_line(version: str, scala: str):
    assert spark_line(version).scala == scala


@pytest.mark.parametrize("version", ["3.4.4", "3.50.1", "4.3.0", "4.20.0", "5.0.0", "2.4.8"])
def test_another_version_is_refused_with_those_that_are_supported(version: str):
    with pytest.raises(UnsupportedSpark, match=r"run on PySpark .*: they run on 3\.5 to 4\.2") as refusal:
        spark_line(version)
    assert refusal.value.version == version
    assert refusal.value.exit_code is ExitCode.PRECONDITION


def test_the_running_pyspark_has_a_line_and_its_jars_are_of_that_scala():
    import pyspark

    jars = Path(pyspark.__file__).parent / "jars"
    assert [path.name for path in jars.glob("spark-core_*")] == [
        f"spark-core_{spark_line().scala}-{pyspark_version()}.jar"
    ]


def test_lines_are_in_order_and_each_is_tested_in_itself():
    numbers = [tuple(map(int, each.line.split("."))) for each in SPARK_LINES]
    assert all(before < after for before, after in pairwise(numbers))
    assert all(spark_line(each.tested) is each for each in SPARK_LINES)


def test_pyspark_3_needs_a_python_with_distutils():
    old, new = SPARK_LINES[0], SPARK_LINES[-1]
    check_python(old, python=(3, 11), has_distutils=False)
    check_python(old, python=(3, 13), has_distutils=True)
    check_python(new, python=(3, 14), has_distutils=False)
    with pytest.raises(
        UnsupportedSpark, match=r"needs Python 3\.11, or the package setuptools .* this is Python 3\.12"
    ):
        check_python(old, python=(3, 12), has_distutils=False)


@pytest.mark.parametrize("reported", ["1.8.0_472", "11.0.29", "17.0.15", "21.0.9", "24.0.1"])
def test_java_is_one_on_which_the_running_spark_starts(reported: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    java = tmp_path / "bin/java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{reported}\"' >&2\n")
    java.chmod(0o755)
    assert reported in subprocess.run([java, "-version"], capture_output=True, text=True, check=True).stderr
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    line, major = spark_line(), int(re.match(r"(?:1\.)?(\d+)", reported)[1])
    if line.javas[0] <= major and (line.fails_on_java is None or major < line.fails_on_java):
        assert check_java() == str(java)
        return
    with pytest.raises(
        MissingPart, match=rf"Spark {line.line} needs Java {line.javas[0]} or newer.* is version {major}\."
    ):
        check_java()


def test_the_page_has_the_table():
    rows = [line.split("|")[1:-1] for line in PAGE.read_text().splitlines() if re.match(r"\| [34]\.\d ", line)]
    assert [[cell.strip() for cell in row] for row in rows] == [
        [
            each.line,
            each.tested,
            each.scala,
            f"{each.javas[0]} to {each.javas[1]}",
            "3.11" if each.newest_python else "3.11 or newer",
        ]
        for each in SPARK_LINES
    ]
