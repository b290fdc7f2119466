"""The measures of a running server, and the example dashboard and alert rules, which name nothing else."""

from __future__ import annotations

import json
import re
import urllib.request
from contextlib import suppress
from datetime import datetime, timedelta
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from uuid import uuid4

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from local_services import RegistryProcess, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

MONITORING = Path(__file__).parents[3] / "deploy" / "monitoring"
OF_PROMETHEUS = {"instance", "job"}
"""The labels that Prometheus adds to what it scrapes."""

METRIC = re.compile(r"\bcounterfoil_\w+")
SELECTOR = re.compile(r"\b(counterfoil_\w+)\{((?:[^{}\"]|\"[^\"]*\")*)\}")
MATCHER = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"")
GROUPING = re.compile(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)")


def get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=120) as reply:
        return reply.read()


def send(registry: RegistryProcess, method: str, path: str, body: Any = None) -> None:
    sent = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{registry.url}{path}", sent, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=120) as reply:
        reply.read()


def use(registry: RegistryProcess) -> None:
    """Two subjects with three versions, one of them deleted, and some answers in memory."""
    for subject, schema in (("a", '"int"'), ("a", '"long"'), ("b", '"int"'), ("b", '"long"')):
        send(registry, "POST", f"/subjects/{subject}/versions", {"schema": schema})
    send(registry, "DELETE", "/subjects/b/versions/1?permanent=false")
    for path in ("/schemas/ids/1", "/schemas/ids/2", "/subjects/a/versions/latest"):
        send(registry, "GET", path)


def samples_of(registry: RegistryProcess) -> dict[str, list[Any]]:
    """The samples that are scraped, by name."""
    found: dict[str, list[Any]] = {}
    for family in text_string_to_metric_families(get(f"{registry.url}/metrics").decode()):
        assert family.documentation, family.name
        for sample in family.samples:
            found.setdefault(sample.name, []).append(sample)
    return found


def value(registry: RegistryProcess, name: str) -> float:
    [sample] = samples_of(registry)[name]
    return sample.value


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def registry(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    """A server that was used, with its log, on either store."""
    store = None
    if request.param == "postgres":
        store = (
            request.getfixturevalue("postgres").create_database(f"monitored_{uuid4().hex[:10]}") + "?password=secret"
        )
    log = tmp_path_factory.mktemp("monitored") / "registry.log"
    with RegistryProcess(store=store, log=log, settings={"COUNTERFOIL_LOG_REQUESTS": "true"}) as running:
        use(running)
        yield running


def test_the_gauges_say_what_there_is(registry: RegistryProcess) -> None:
    wait_until(lambda: value(registry, "counterfoil_versions") == 3, what="the versions to be counted")
    assert value(registry, "counterfoil_subjects") == 2
    assert value(registry, "counterfoil_store_up") == 1
    assert value(registry, "counterfoil_cache_entries") >= 1
    assert value(registry, "counterfoil_cache_bytes") > 100
    assert value(registry, "counterfoil_waiting_writes") == 0
    assert value(registry, "counterfoil_stale_answers_total") == 0
    size = value(registry, "counterfoil_pool_connections_max")
    assert size == (10 if registry.store.startswith("postgresql") else 0)
    assert 0 <= value(registry, "counterfoil_pool_connections_in_use") <= size
    [build] = samples_of(registry)["counterfoil_build_info"]
    assert (build.value, build.labels["version"]) == (1, metadata.version("counterfoil"))


def test_the_log_has_lines_that_say_why(registry: RegistryProcess) -> None:
    lines = [json.loads(line) for line in registry.log.read_text().splitlines() if line.startswith("{")]
    [start] = [line for line in lines if line["message"] == "the registry serves"]
    assert (start["version"], start["address"]) == (metadata.version("counterfoil"), registry.url)
    assert start["store"].startswith(("sqlite:///", "postgresql://"))
    assert "secret" not in registry.log.read_text()
    [deletion] = [line for line in lines if line.get("method") == "DELETE"]
    assert (deletion["path"], deletion["query"]) == ("/subjects/b/versions/1", "permanent=false")
    assert deletion["client"].startswith("127.0.0.1:")
    assert deletion["principal"] == "-"
    for line in lines:
        assert line["asctime"].endswith("Z")
        assert datetime.fromisoformat(line["asctime"]).utcoffset() == timedelta(0)


# --- the examples


OF_TLS = {"counterfoil_tls_expires_seconds", "counterfoil_tls_files_valid"}
"""Measures of servers with TLS alone, which are in ``serving/test_tls.py``; they have no labels."""


ACCESS = """
open: [metrics]
issuers: [{issuer: https://login.example, prefix: "sso:", audience: [registry], jwks_file: keys.json}]
anonymous: [{allow: READ, on: "a*"}]
"""


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    """A server that demands credentials, after some requests."""
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "access.yaml").write_text(ACCESS)
    (folder / "keys.json").write_text('{"keys": []}')
    with RegistryProcess(settings={"COUNTERFOIL_AUTH_FILE": str(folder / "access.yaml")}) as running:
        wait_until(lambda: "counterfoil_jwks_age_seconds" in samples_of(running), what="the keys of the issuer")
        for path, header in (("/subjects", {}), ("/subjects", {"Authorization": "Basic bm86bm8="}), ("/config/b", {})):
            request = urllib.request.Request(f"{running.url}{path}", headers=header)
            with suppress(HTTPError), urllib.request.urlopen(request, timeout=120) as reply:
                reply.read()
        yield running


def test_what_callers_do_is_counted(guarded: RegistryProcess) -> None:
    samples = samples_of(guarded)

    def values(name: str, label: str) -> dict[str, float]:
        return {each.labels[label]: each.value for each in samples[name]}

    attempts = {
        (each.labels["method"], each.labels["outcome"]): each.value for each in samples["counterfoil_auth_total"]
    }
    assert attempts == {("anonymous", "accepted"): 2, ("password", "wrong"): 1}
    assert values("counterfoil_auth_cache_total", "hit") == {"true": 0, "false": 1}
    assert {name for name, count in values("counterfoil_denied_total", "operation").items() if count} == {
        "DESCRIBE_CONFIGS"
    }
    assert values("counterfoil_jwks_failures_total", "issuer") == {"https://login.example": 0}
    assert value(guarded, "counterfoil_auth_file_valid") == 1
    assert value(guarded, "counterfoil_password_seconds_count") == 1
    [rules] = samples["counterfoil_rules_info"]
    assert len(rules.labels["hash"]) == 16


def expressions() -> dict[str, str]:
    """All expressions of dashboard and rules, by where they are."""
    dashboard = json.loads((MONITORING / "dashboard.json").read_text())
    found = {
        f"panel {panel['title']}, {target['refId']}": target["expr"]
        for panel in dashboard["panels"]
        for target in panel["targets"]
    }
    found |= {f"variable {each['name']}": str(each["query"]) for each in dashboard["templating"]["list"]}
    rules = yaml.safe_load((MONITORING / "alerts.yml").read_text())
    return found | {f"alert {rule['alert']}": rule["expr"] for group in rules["groups"] for rule in group["rules"]}


def test_dashboard_and_rules_name_measures_and_labels_that_there_are(
    registry: RegistryProcess, guarded: RegistryProcess
) -> None:
    samples = {**samples_of(registry), **samples_of(guarded)}
    labels = {name: set().union(*(each.labels for each in found)) for name, found in samples.items()}
    labels |= {name: set() for name in OF_TLS}
    for place, expression in expressions().items():
        names = METRIC.findall(expression)
        assert names or place == "variable datasource", place
        assert set(names) <= labels.keys(), place
        for name, matchers in SELECTOR.findall(expression):
            assert set(MATCHER.findall(matchers)) <= labels[name] | OF_PROMETHEUS, place
        grouped = {label.strip() for group in GROUPING.findall(expression) for label in group.split(",")}
        assert grouped <= set().union(*(labels[name] for name in names)) | OF_PROMETHEUS, place


def test_the_dashboard_shows_every_measure(registry: RegistryProcess, guarded: RegistryProcess) -> None:
    shown = set(METRIC.findall("\n".join(expressions().values())))
    named = {re.sub("_(bucket|count|sum|created)$", "", name) for name in [*samples_of(registry), *samples_of(guarded)]}
    assert named | OF_TLS == {re.sub("_bucket$", "", name) for name in shown}


def test_the_dashboard_is_whole() -> None:
    dashboard = json.loads((MONITORING / "dashboard.json").read_text())
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids))
    places = set()
    for panel in dashboard["panels"]:
        assert panel["title"]
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & places, panel["title"]
        places |= cells


def test_the_rules_are_whole() -> None:
    rules = yaml.safe_load((MONITORING / "alerts.yml").read_text())
    [group] = rules["groups"]
    assert set(group) == {"name", "rules"}
    names = [rule["alert"] for rule in group["rules"]]
    assert len(names) == len(set(names))
    for rule in group["rules"]:
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert set(rule["annotations"]) == {"summary", "description"}
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        assert re.fullmatch(r"\d+[smh]", rule.get("for", "0s"))
        assert rule["expr"].count("(") == rule["expr"].count(")")
