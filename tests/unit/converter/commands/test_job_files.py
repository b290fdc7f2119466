from __future__ import annotations

import itertools
import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from counterfoil.converter.commands import job_files
from counterfoil.converter.commands.job_files import JobDescription
from counterfoil.converter.spark.versions import SPARK_LINES, spark_line
from local_services.job_schemas import violations

SECRET = "correct-horse"
JOB = JobDescription(
    bridge="Rides_v2 to v1's",
    spark_version="4.0.2",
    line=spark_line("4.0.2"),
    connector="org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.2",
    image="images.example/bridge:1",
    settings={
        "spark.executor.memory": "3g",
        "spark.executor.cores": "4",
        "spark.executor.instances": "5",
        "spark.driver.memory": "2g",
        "spark.jars.packages": "org.apache.hadoop:hadoop-aws:3.4.1",
        "spark.hadoop.fs.s3a.endpoint": "https://s3.example/it's here",
        "spark.hadoop.fs.s3a.secret.key": SECRET,
    },
)


def test_the_script_gives_spark_submit_the_settings_as_they_are(tmp_path: Path):
    script, program = tmp_path / "spark-submit.sh", tmp_path / "program"
    script.write_text(job_files.submit_script(JOB))
    program.write_text('#!/bin/sh\nfor each in "$@"; do printf "%s\\n" "$each"; done\n')
    for each in (script, program):
        each.chmod(0o755)
    variables = {"PATH": os.environ["PATH"], "SPARK_SUBMIT": str(program)}
    said = subprocess.run(
        [script, "--master", "yarn"], env=variables, capture_output=True, text=True, check=True
    ).stdout
    given = said.splitlines()
    assert given[-2:] == [str(tmp_path / "main.py"), str(tmp_path)]
    assert given[given.index("--packages") + 1] == f"{JOB.connector},org.apache.hadoop:hadoop-aws:3.4.1"
    settings = dict(value.split("=", 1) for name, value in itertools.pairwise(given) if name == "--conf")
    assert settings["spark.hadoop.fs.s3a.endpoint"] == "https://s3.example/it's here"
    assert settings["spark.executor.memory"] == "3g"
    assert settings["spark.task.maxFailures"] == "1"
    assert settings["spark.speculation"] == "false"
    assert SECRET not in said
    assert given[-4:-2] == ["--master", "yarn"]
    with_jars = {**variables, "COUNTERFOIL_JARS": str(tmp_path)}
    assert (
        "--packages" not in subprocess.run([script], env=with_jars, capture_output=True, text=True, check=True).stdout
    )


@pytest.mark.slow
@pytest.mark.parametrize("line", SPARK_LINES, ids=[each.line for each in SPARK_LINES])
def test_the_job_files_have_the_forms_that_their_systems_publish(line: object):
    job = replace(JOB, line=line)
    application = yaml.safe_load(yaml.safe_dump(job_files.spark_application(job)))
    assert violations("kubernetes", application) == []
    broken = {**application, "spec": {**application["spec"], "driver": {"cores": "many"}}}
    assert violations("kubernetes", broken), "the judge accepts everything"
    if job.line.databricks is not None:
        request = json.loads(json.dumps(job_files.databricks_job(job)))
        assert violations("databricks", request) == []
        assert violations("databricks", {**request, "tasks": [{"task_key": 7, "spark_python_tusk": {}}]})


def test_the_application_of_kubernetes_runs_the_package_of_its_image():
    spec = job_files.spark_application(JOB)["spec"]
    assert spec["image"] == JOB.image
    assert spec["mainApplicationFile"] == "local:///opt/bridge/main.py"
    assert spec["arguments"][0] == "/opt/bridge"
    assert f"COPY . {spec['arguments'][0]}" in job_files.dockerfile(JOB)
    assert spec["executor"] == {"cores": 4, "instances": 5, "memory": "3g"}
    assert spec["driver"]["memory"] == "2g"
    assert spec["sparkConf"]["spark.task.maxFailures"] == "1"
    assert SECRET not in json.dumps(spec)


def test_the_page_of_a_package_names_the_files_that_it_has():
    page = job_files.readme(JOB)
    assert "sparkapplication.yaml" in page
    assert "databricks.json" in page
    without = job_files.readme(replace(JOB, is_lasting=False))
    assert "sparkapplication.yaml" not in without
    assert "write every record again, whenever it is restarted" in without
    assert "no runtime that is known here has Spark 4.2" in job_files.readme(replace(JOB, line=spark_line("4.2.0")))


@pytest.mark.parametrize(
    ("bridge", "name"),
    [
        ("rides-v2", "bridge-rides-v2"),
        ("Rides_v2 to v1's", "bridge-rides-v2-to-v1-s"),
        ("a" * 99, "bridge-" + "a" * 43),
    ],
)
def test_names_are_those_that_kubernetes_permits(bridge: str, name: str):
    assert replace(JOB, bridge=bridge).name == name


def test_the_drivers_packages_are_those_of_the_extra_without_pyspark():
    names = [Requirement(each).name for each in job_files.requirements()]
    assert names[0] == "counterfoil"
    assert {"confluent-kafka", "pyarrow", "pandas", "prometheus-client", "rich"} <= set(names)
    assert "pyspark" not in names
