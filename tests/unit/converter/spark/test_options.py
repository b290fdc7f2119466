from __future__ import annotations

import pytest
from click.testing import CliRunner

from counterfoil.converter.cli import bridge
from counterfoil.converter.spark.options import REQUIRED, SparkOptions, joined, parse_settings, shown


def test_settings_are_names_and_values():
    given = ["spark.executor.memory=4g", "spark.hadoop.fs.s3a.endpoint=http://s3?a=b", "spark.eventLog.enabled="]
    assert parse_settings(given) == {
        "spark.executor.memory": "4g",
        "spark.hadoop.fs.s3a.endpoint": "http://s3?a=b",
        "spark.eventLog.enabled": "",
    }
    assert parse_settings([f"{name}={value}" for name, value in REQUIRED.items()]) == REQUIRED


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("spark.executor.memory", "'spark.executor.memory' is not the NAME of NAME=VALUE"),
        ("executor.memory=4g", "begins with 'spark.'"),
        ("spark.executor.memory =4g", "'spark.executor.memory ' is not the NAME"),
        ("spark.master=local[2]", "give --master"),
        ("spark.sql.session.timeZone=Europe/Berlin", "bridges run in UTC"),
        ("spark.task.maxFailures=4", "must be 1, and not 4: a repeated task writes records twice"),
        ("spark.speculation=true", "must be false, and not true"),
    ],
)
def test_a_setting_that_a_bridge_cannot_have_is_a_mistake_of_usage(text: str, sentence: str):
    with pytest.raises(ValueError, match="spark") as refusal:
        parse_settings([text])
    assert sentence in str(refusal.value)
    shown_to_user = CliRunner().invoke(bridge, ["run", "bridge.yaml", "--conf", text])
    assert shown_to_user.exit_code == 2
    assert "Invalid value for '--conf'" in shown_to_user.output


def test_lists_of_jars_are_joined_and_other_settings_are_the_users():
    own = {"spark.jars.packages": "o:kafka:1", "spark.driver.extraJavaOptions": "-Da=1", "spark.ui.enabled": "false"}
    given = {
        "spark.jars.packages": "o:hadoop-aws:2",
        "spark.driver.extraJavaOptions": "-Xss2m",
        "spark.ui.enabled": "true",
        "spark.jars": "more.jar",
    }
    assert joined(own, given) == {
        "spark.jars.packages": "o:kafka:1,o:hadoop-aws:2",
        "spark.driver.extraJavaOptions": "-Da=1 -Xss2m",
        "spark.ui.enabled": "true",
        "spark.jars": "more.jar",
    }


def test_secrets_are_not_arguments_of_the_process_and_are_not_printed():
    others = {"spark.executor.memory": "4g", "spark.jars": "spark-token-provider-kafka-0-10_2.13-4.0.0.jar"}
    settings = {"spark.hadoop.fs.s3a.secret.key": "hunter2", **others}
    assert shown(settings) == others
    assert "hunter2" not in repr(SparkOptions(settings=settings))
