"""A bridge as a service: systemd accepts and rates its unit, whose command runs as a process; rules for Prometheus."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from counterfoil.converter.monitoring.measures import RunMeasures
from counterfoil.converter.run.progress import PartitionPosition, RunSnapshot
from counterfoil.schema.exit_codes import ExitCode
from local_services import wait_until
from local_services.systemd import systemd_analyze
from strategies.bridges.fares import Fares, make_fares
from strategies.bridges.program import DEADLINE_S, end
from strategies.deploy.recipes import COUNTERFOIL, DEPLOY, INSTALLED, commands_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from local_services import KafkaClient, RegistryProcess

FOLDER = DEPLOY / "bridge"
UNIT = FOLDER / "counterfoil-bridge@.service"
EXPOSURE = 17
"""The most that `systemd-analyze security` may find, in tenths: Java needs memory that is written and run."""


def directives(name: str) -> list[str]:
    return re.findall(rf"^{name}=(.*)$", UNIT.read_text(), re.MULTILINE)


def test_systemd_accepts_the_unit_and_finds_it_protected(tmp_path: Path):
    unit = tmp_path / "counterfoil-bridge@rides.service"
    unit.write_text(UNIT.read_text().replace(INSTALLED, COUNTERFOIL))
    analyze, environment = systemd_analyze()
    checked = subprocess.run(
        [analyze, "verify", "--man=no", unit], capture_output=True, text=True, check=False, env=environment
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")
    rating = [analyze, "security", "--offline=true", f"--threshold={EXPOSURE}", "--no-pager"]
    rated = subprocess.run([*rating, unit], capture_output=True, text=True, check=False, env=environment)
    assert rated.returncode == 0, rated.stdout + rated.stderr


def test_the_commands_name_files_that_are_there():
    named = {word for command in commands_of(UNIT) for word in command if word.startswith("deploy/")}
    assert named == {"deploy/bridge/counterfoil-bridge@.service", "deploy/systemd/counterfoil.sysusers"}
    assert all((DEPLOY.parent / name).is_file() for name in named)


def test_what_a_restart_does_not_change_is_not_restarted():
    (codes,) = directives("RestartPreventExitStatus")
    assert {int(code) for code in codes.split()} == {ExitCode.USAGE, ExitCode.CONFLICT, ExitCode.PRECONDITION}


@pytest.fixture
def fares(
    broker: KafkaClient, live_registry: RegistryProcess, unique_name: Callable[[str], str], tmp_path: Path
) -> Fares:
    return make_fares(Path(COUNTERFOIL), broker, live_registry, unique_name, tmp_path)


def test_its_command_runs_a_bridge_that_ends_after_the_batch(fares: Fares):
    (line,) = directives("ExecStart")
    bridges, state = fares.folder / "bridges", fares.folder / "state"
    bridges.mkdir()
    state.mkdir()
    fares.file.rename(bridges / "fares.yaml")
    line = line.replace("%i", "fares").replace("/etc/counterfoil/bridges", str(bridges))
    line = line.replace("/var/lib/counterfoil-bridge", str(state)).replace("${METRICS_PORT}", "0")
    program, *arguments = line.replace("$OPTIONS", "--master local[2] --trigger 0.2").split()
    assert (program, arguments[0]) == (INSTALLED, "bridge")
    fares.produce(0, 50)
    running = fares.start(*arguments[1:])
    try:
        wait_until(lambda: running.poll() is not None or fares.written() == 50, what="50 records")
        assert running.poll() is None, running.communicate()
        running.send_signal(signal.SIGTERM)
        said, complained = running.communicate(timeout=DEADLINE_S)
    finally:
        end(running)
    assert running.returncode == 0, said + complained
    assert "measures for Prometheus: http://127.0.0.1:" in said
    assert "stopped on request: 50 records" in said


def test_the_rules_name_measures_and_labels_of_a_run():
    measures, registry = RunMeasures(), CollectorRegistry()
    measures(
        RunSnapshot(
            bridge="fares", plan_hash="f" * 64, engine="java", job="host:1", started_ts=5, ts=9, batch=1, batches=1,
            dead_letters={"undecodable": 1}, partitions=(PartitionPosition(0, 0, 3, 7),),
        )
    )  # fmt: skip
    registry.register(measures)
    families = text_string_to_metric_families(generate_latest(registry).decode())
    labels: dict[str, set[str]] = {}
    for sample in (each for family in families for each in family.samples):
        labels.setdefault(sample.name, set()).update(sample.labels)
    (group,) = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"]
    names = [rule["alert"] for rule in group["rules"]]
    assert len(names) == len(set(names))
    for rule in group["rules"]:
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert set(rule["annotations"]) == {"summary", "description"}
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        measured = re.findall(r"\bcounterfoil_\w+", rule["expr"])
        assert measured
        assert set(measured) <= labels.keys(), rule["alert"]
        known = set().union(*(labels[name] for name in measured))
        grouped = {label.strip() for each in re.findall(r"by \(([^)]*)\)", rule["expr"]) for label in each.split(",")}
        assert grouped <= known, rule["alert"]
        assert set(re.findall(r"\$labels\.(\w+)", str(rule["annotations"]))) <= grouped
