"""The Compose file: valid by the Compose specification, its registry run as a plain command on PostgreSQL."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
import yaml
from jsonschema import Draft202012Validator

from counterfoil.registry.settings import SETTINGS
from local_services import free_port
from strategies.deploy.recipes import DEPLOY, INSTALLED, ROOT, RunningServer, commands_of, run

if TYPE_CHECKING:
    from pathlib import Path

RECIPE = DEPLOY / "compose" / "compose.yaml"
VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*)|:\?[^}]*)\}")


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    """The services, with the variables of .env in them."""
    known = {"DATABASE_PASSWORD": "secret"}
    text = VARIABLE.sub(lambda found: known.get(found[1]) or found[2], RECIPE.read_text())
    return yaml.safe_load(text)["services"]


def test_it_is_valid_by_the_compose_specification():
    schema = json.loads((ROOT / "tests/data/compose/compose-spec.json").read_text())
    document = yaml.safe_load(RECIPE.read_text())
    assert [error.message for error in Draft202012Validator(schema).iter_errors(document)] == []
    document["services"]["registry"]["read_onyl"] = True
    assert list(Draft202012Validator(schema).iter_errors(document))


def test_only_the_registry_can_be_reached_and_from_this_machine_alone(services: dict[str, Any]):
    assert {name: each.get("ports") for name, each in services.items()} == {
        "registry": ["127.0.0.1:8081:8081"],
        "database": None,
    }
    assert services["database"]["networks"] == ["store"]
    assert yaml.safe_load(RECIPE.read_text())["networks"]["store"] == {"internal": True}


def test_the_registry_has_no_rights_that_it_does_not_need(services: dict[str, Any]):
    registry = services["registry"]
    assert (registry["read_only"], registry["cap_drop"]) == (True, ["ALL"])
    assert registry["security_opt"] == ["no-new-privileges:true"]
    assert registry["environment"]["COUNTERFOIL_REQUIRE_AUTH"] == "true"


def test_variables_are_settings_and_both_services_use_one_password(services: dict[str, Any]):
    given = services["registry"]["environment"]
    assert {name for name in given if name.startswith("COUNTERFOIL_")} <= {each.variable for each in SETTINGS}
    store, database = urlsplit(given["COUNTERFOIL_STORE"]), services["database"]["environment"]
    assert (store.username, store.hostname, store.path) == (database["POSTGRES_USER"], "database", "/registry")
    assert given["PGPASSWORD"] == database["POSTGRES_PASSWORD"] == "secret"
    assert store.path[1:] == database["POSTGRES_DB"]


def test_its_steps_lead_to_a_registry_that_demands_credentials(
    services: dict[str, Any], postgres_url: str, tmp_path: Path
):
    variables = {**services["registry"]["environment"], "COUNTERFOIL_STORE": postgres_url, "PATH": os.environ["PATH"]}
    [step] = [command for command in commands_of(RECIPE) if "--entrypoint" in command]
    place = step.index("registry")
    assert step[place - 2 : place] == ["--entrypoint", INSTALLED]
    password = re.findall(r"^password: (\S+)$", run(step[place + 1 :], variables), re.MULTILINE)[0]
    port = free_port()
    variables["COUNTERFOIL_PORT"] = str(port)
    with RunningServer(
        ["serve"], variables, port=port, log=tmp_path / "registry.log", probe="/health/ready"
    ) as registry:
        registry.check_that_it_demands_credentials(f"admin:{password}")
        program = services["registry"]["healthcheck"]["test"][2].rpartition("/")[2]
        subprocess.run([sys.executable, DEPLOY / "image" / program], env=variables, check=True)
