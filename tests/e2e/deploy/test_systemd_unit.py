"""The systemd unit: accepted and rated by systemd's own tool, and its commands run as plain processes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from typing import TYPE_CHECKING

import yaml

from local_services import free_port
from local_services.systemd import systemd_analyze
from strategies.deploy.recipes import COUNTERFOIL, DEPLOY, INSTALLED, RunningServer, commands_of, run

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = DEPLOY / "systemd"
UNIT = FOLDER / "counterfoil.service"
EXPOSURE = 13
"""The most that `systemd-analyze security` may find, in tenths: 100 is a service without any protection."""


def directive(name: str) -> str:
    [found] = re.findall(rf"^{name}=(.*)$", UNIT.read_text(), re.MULTILINE)
    return found


def test_systemd_accepts_the_unit_and_finds_it_protected(tmp_path: Path):
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace(INSTALLED, COUNTERFOIL))
    analyze, environment = systemd_analyze()
    checked = subprocess.run(
        [analyze, "verify", "--man=no", unit], capture_output=True, text=True, check=False, env=environment
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")
    rating = [analyze, "security", "--offline=true", f"--threshold={EXPOSURE}", "--no-pager"]
    rated = subprocess.run([*rating, unit], capture_output=True, text=True, check=False, env=environment)
    assert rated.returncode == 0, rated.stdout + rated.stderr

    unit.write_text(unit.read_text().replace("NoNewPrivileges", "NoNewPrivilege").replace("ProtectSystem=strict", ""))
    checked = subprocess.run([analyze, "verify", unit], capture_output=True, text=True, check=False, env=environment)
    assert "NoNewPrivilege" in checked.stderr
    assert subprocess.run([*rating, unit], capture_output=True, check=False, env=environment).returncode == 1


def test_the_commands_name_files_that_are_there_and_the_user_of_the_unit():
    commands = commands_of(UNIT)
    named = {word for command in commands for word in command if word.startswith("deploy/")}
    assert all((DEPLOY.parent / name).is_file() for name in named)
    assert {path.name for path in FOLDER.iterdir()} == {name.rpartition("/")[2] for name in named}
    user = directive("User")
    assert (FOLDER / "counterfoil.sysusers").read_text().split()[:2] == ["u", user]
    assert ["runuser", "-u", user] in [command[:3] for command in commands]
    state = f"/var/lib/{directive('StateDirectory')}"
    assert yaml.safe_load((FOLDER / "settings.yaml").read_text())["store"] == f"sqlite:///{state}/registry.db"


def test_its_steps_lead_to_a_registry_that_demands_credentials(tmp_path: Path):
    port = free_port()

    def moved(text: str) -> str:
        """Return a text with the folders of this test in place of the machine's."""
        for folder in ("/var/lib/counterfoil", "/etc/counterfoil"):
            text = text.replace(folder, str(tmp_path / folder[1:].replace("/", "-")))
        return text.replace("port: 8081", f"port: {port}")

    for folder in ("var-lib-counterfoil", "etc-counterfoil"):
        (tmp_path / folder).mkdir()
    for name in ("settings.yaml", "access.yaml"):
        (tmp_path / "etc-counterfoil" / name).write_text(moved((FOLDER / name).read_text()))
    [step] = [command for command in commands_of(UNIT) if INSTALLED in command]
    arguments = [moved(word) for word in step[step.index(INSTALLED) + 1 :]]
    password = re.findall(r"^password: (\S+)$", run(arguments, {"PATH": os.environ["PATH"]}), re.MULTILINE)[0]

    program, *arguments = moved(directive("ExecStart")).split()
    assert program == INSTALLED
    log = tmp_path / "registry.log"
    with RunningServer(arguments, {}, port=port, log=log, probe="/health/ready") as registry:
        registry.check_that_it_demands_credentials(f"admin:{password}")
        assert directive("ExecReload") == "/bin/kill -HUP $MAINPID"
        os.kill(registry.service.pid, signal.SIGHUP)
        assert registry.ask("/subjects", f"admin:{password}") == (200, b'["rides-value"]')
    written = {path.name for path in (tmp_path / "var-lib-counterfoil").iterdir()}
    assert {"registry.db", "registry.db.search"} <= written
