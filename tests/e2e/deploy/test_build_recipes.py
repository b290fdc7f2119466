"""The commands in the examples for Maven and Gradle, read from their build files, since both tools are downloads."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
POM = {"m": "http://maven.apache.org/POM/4.0.0"}
SCHEMA = "src/main/avro/order.avsc"


def _maven():
    pom = ET.parse(EXAMPLES / "maven/pom.xml").getroot()
    execution = pom.find(".//m:execution", POM)
    assert execution.findtext("m:phase", namespaces=POM) == "validate"
    assert [goal.text for goal in execution.findall("m:goals/m:goal", POM)] == ["exec"]
    words = [execution.find(".//m:executable", POM), *execution.findall(".//m:argument", POM)]
    properties = {each.tag.partition("}")[2]: each.text for each in pom.find("m:properties", POM)}
    return [re.sub(r"\$\{(\w+)\}", lambda found: properties[found[1]], word.text) for word in words]


def _gradle():
    script = (EXAMPLES / "gradle/build.gradle.kts").read_text()
    program = re.search(r'val counterfoil = .*getOrElse\("(\w+)"\)', script)[1]
    words = re.search(r"commandLine\(counterfoil, (.*)\)", script)[1]
    assert 'tasks.named("check") {\n    dependsOn(schemaCheck)' in script
    return [program, *json.loads(f"[{words}]")]


@pytest.mark.parametrize(("name", "read"), [("maven", _maven), ("gradle", _gradle)])
def test_the_build_fails_when_a_change_breaks_a_reader(workshop, name, read):
    command = read()
    folder = workshop.folder / "orders"
    shutil.copytree(EXAMPLES / name, folder)
    workshop.commit()
    assert workshop.run(*command, folder="orders").code == 0
    schema = folder / SCHEMA
    schema.write_text(schema.read_text().replace('"long"', '"int"'))
    result = workshop.run(*command, folder="orders")
    assert (result.code, f"{SCHEMA}:7" in result.out, "type-mismatch" in result.out) == (1, True, True), result
