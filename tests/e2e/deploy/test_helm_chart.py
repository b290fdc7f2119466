"""The Helm chart: rendered by Helm, valid by Kubernetes' schemas, and its container run as a plain command."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from counterfoil.registry.settings import SETTINGS, ServerSettings
from counterfoil.registry.settings_reading import resolve
from local_services import free_port
from local_services.charts import KUBERNETES_VERSIONS, Rendered, render
from strategies.deploy.recipes import DEPLOY, INSTALLED, ROOT, RunningServer, run
from strategies.docs.snippets import snippets_of

if TYPE_CHECKING:
    from pathlib import Path

CHART = DEPLOY / "helm" / "counterfoil"
STORE = {"url": "postgresql://registry@db.example:5432/registry?sslmode=verify-full", "password": "a 'secret' \\ \"x\""}
CERTIFICATES = {"secretName": "server", "clientCaSecret": "clients", "checkRevocation": True}
FULL: dict[str, Any] = {
    "image": {"digest": "sha256:" + "a" * 64},
    "imagePullSecrets": ["pull"],
    "replicas": 3,
    "store": {"url": STORE["url"], "passwordSecret": {"name": "db", "key": "pw"}, "caSecret": "db-ca"},
    "access": {
        "file": {"admins": ["User:admin"], "htpasswd": "users.htpasswd"},
        "secretFiles": {"users.htpasswd": "admin:hash\nbob:hash\n"},
    },
    "settings": {"max_body_bytes": 104857600, "stale_reads_s": 600, "cors_origins": ["https://ui.example"]},
    "service": {"type": "LoadBalancer", "port": 443, "annotations": {"a": "b"}},
    "ingress": {"enabled": True, "className": "nginx", "host": "r.example", "tlsSecretName": "web"},
    "networkPolicy": {"from": [{"namespaceSelector": {"matchLabels": {"team": "data"}}}]},
    "serviceAccount": {"name": "registry"},
    "podAnnotations": {"prometheus.io/scrape": "true"},
    "podLabels": {"team": "data"},
    "nodeSelector": {"disk": "fast"},
    "tolerations": [{"operator": "Exists"}],
    "affinity": {"podAntiAffinity": {}},
    "priorityClassName": "high",
    "extraEnv": [{"name": "VAULT_TOKEN", "valueFrom": {"secretKeyRef": {"name": "vault", "key": "token"}}}],
    "extraVolumes": [{"name": "more", "emptyDir": {}}],
    "extraVolumeMounts": [{"name": "more", "mountPath": "/more"}],
}
PAGE = ROOT / "docs" / "deploying.md"
DOCUMENTED = next(yaml.safe_load(each.text) for each in snippets_of(PAGE, PAGE.name) if "file" in each.notes)
CASES: dict[str, dict[str, Any]] = {
    "plain": {"store": STORE},
    "full": FULL,
    "tls": {"store": STORE, "tls": {**CERTIFICATES, "clientCertificates": "optional"}},
    "certificates": {"store": STORE, "tls": {**CERTIFICATES, "clientCertificates": "required"}},
    "documented": DOCUMENTED,
    "sqlite": {"replicas": 1, "store": {"sqlite": {"enabled": True, "storageClassName": "fast"}}},
    "below a path": {
        "store": STORE,
        "ingress": {"enabled": True, "path": "/registry"},
        "settings": {"ui": "off", "public_path": "/registry"},
    },
    # refused
    "no store": {},
    "two stores": {"store": {**STORE, "sqlite": {"enabled": True}}},
    "two servers on a file": {"store": {"sqlite": {"enabled": True}}},
    "a password in the URL": {"store": {"url": "postgresql://registry:secret@db/registry"}},
    "a password as a parameter": {"store": {"url": "postgresql://registry@db/registry?pool_size=4&password=secret"}},
    "two passwords": {"store": {**STORE, "passwordSecret": {"name": "db"}}},
    "two secrets": {"store": STORE, "access": {"secretFiles": {"a": "b"}, "existingSecret": "c"}},
    "no authority": {"store": STORE, "tls": {"secretName": "server", "clientCertificates": "required"}},
    "a misspelt value": {"store": STORE, "replica": 3},
    "a wrong type": {"store": STORE, "replicas": "three"},
    "a wrong variable": {"store": STORE, "extraEnv": [{"nam": "A", "value": "b"}]},
}

USABLE = ["plain", "full", "tls", "certificates", "documented", "sqlite", "below a path"]


@pytest.fixture(scope="module")
def rendered() -> dict[str, Rendered]:
    return render(CHART, CASES)


def pod_of(chart: Rendered) -> dict[str, Any]:
    [deployment] = chart.of_kind("Deployment")
    return deployment["spec"]["template"]["spec"]


def settings_of(chart: Rendered) -> dict[str, Any]:
    return yaml.safe_load(chart.of_kind("ConfigMap")[0]["data"]["settings.yaml"])


@pytest.mark.parametrize("case", USABLE)
def test_helm_and_kubernetes_accept_what_it_makes(case: str, rendered: dict[str, Rendered]):
    assert (rendered[case].error, rendered[case].findings) == ("", [])


def test_a_mistake_in_the_manifests_would_be_found(rendered: dict[str, Rendered]):
    assert rendered["a wrong variable"].findings == [
        f"deployment.yaml: Kubernetes {version}: 'name' is a required property" for version in KUBERNETES_VERSIONS
    ]


@pytest.mark.parametrize(
    ("case", "sentence"),
    [
        ("no store", "set store.url to a PostgreSQL database"),
        ("two stores", "store.url and store.sqlite.enabled are both set"),
        ("two servers on a file", "set replicas to 1, or store.url"),
        ("a password in the URL", "set store.password or store.passwordSecret"),
        ("a password as a parameter", "set store.password or store.passwordSecret"),
        ("two passwords", "store.password and store.passwordSecret.name are both set"),
        ("two secrets", "access.secretFiles and access.existingSecret are both set"),
        ("no authority", "tls.clientCertificates needs tls.secretName and tls.clientCaSecret"),
        ("a misspelt value", "replica"),
        ("a wrong type", "replicas"),
    ],
)
def test_values_that_cannot_work_are_refused_with_a_sentence(case: str, sentence: str, rendered: dict[str, Rendered]):
    assert sentence in rendered[case].error


@pytest.mark.parametrize("case", USABLE)
def test_no_server_has_rights_that_it_does_not_need(case: str, rendered: dict[str, Rendered]):
    pod = pod_of(rendered[case])
    [container] = pod["containers"]
    assert pod["automountServiceAccountToken"] is False
    assert (pod["securityContext"]["runAsNonRoot"], pod["securityContext"]["runAsUser"]) == (True, 10001)
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert settings_of(rendered[case])["require_auth"] is True
    assert rendered[case].of_kind("NetworkPolicy")[0]["spec"]["policyTypes"] == ["Ingress", "Egress"]


def test_variables_of_kubernetes_are_no_settings(rendered: dict[str, Rendered]):
    """A Service named counterfoil would set COUNTERFOIL_PORT to tcp://…, in every pod of its namespace."""
    pod = pod_of(rendered["plain"])
    assert pod["enableServiceLinks"] is False
    own = {each["name"] for each in pod["containers"][0]["env"] if each["name"].startswith("COUNTERFOIL_")}
    assert own == {"COUNTERFOIL_SETTINGS", "COUNTERFOIL_STORE"}


def test_secrets_are_in_secrets_alone(rendered: dict[str, Rendered]):
    plain, full = rendered["plain"], rendered["full"]
    assert [each["stringData"] for each in plain.of_kind("Secret")] == [{"password": STORE["password"]}]
    assert [each["stringData"] for each in full.of_kind("Secret")] == [FULL["access"]["secretFiles"]]
    secret = {"secretKeyRef": {"name": "registry-counterfoil-store", "key": "password"}}
    assert {"name": "PGPASSWORD", "valueFrom": secret} in pod_of(plain)["containers"][0]["env"]
    [access] = [each["projected"] for each in pod_of(full)["volumes"] if each["name"] == "access"]
    named = [
        {"configMap": {"name": "registry-counterfoil-access"}},
        {"secret": {"name": "registry-counterfoil-access"}},
    ]
    assert access == {"defaultMode": 0o440, "sources": named}


def test_several_servers_are_replaced_one_after_the_other_and_one_with_a_file_is_stopped_first(
    rendered: dict[str, Rendered],
):
    several, one = (rendered[case].of_kind("Deployment")[0]["spec"] for case in ("full", "sqlite"))
    assert several["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    assert one["strategy"] == {"type": "Recreate"}
    assert rendered["full"].of_kind("PodDisruptionBudget")[0]["spec"]["maxUnavailable"] == 1
    assert rendered["sqlite"].of_kind("PodDisruptionBudget") == []
    [claim] = rendered["sqlite"].of_kind("PersistentVolumeClaim")
    assert claim["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}


def test_probes_fit_the_way_servers_listen(rendered: dict[str, Rendered]):
    def probe(case: str) -> dict[str, Any]:
        return pod_of(rendered[case])["containers"][0]["readinessProbe"]

    assert probe("plain")["httpGet"] == {"path": "/health/ready", "port": "api", "scheme": "HTTP"}
    assert probe("tls")["httpGet"]["scheme"] == "HTTPS"
    assert probe("certificates")["tcpSocket"] == {"port": "api"}  # kubelet has no certificate


def test_settings_are_those_of_the_server(rendered: dict[str, Rendered], tmp_path: Path):
    path = tmp_path / "settings.yaml"
    path.write_text(rendered["full"].of_kind("ConfigMap")[0]["data"]["settings.yaml"])
    found = resolve({}, {}, file=str(path)).settings
    assert (found.max_body_bytes, found.stale_reads_s, found.cors_origins) == (104857600, 600, ("https://ui.example",))
    assert (found.require_auth, found.auth_file) == (True, "/etc/counterfoil/access/access.yaml")
    assert found.public_url == "https://r.example"
    assert "public_url" not in settings_of(rendered["plain"])
    below = settings_of(rendered["below a path"])
    assert {name: below[name] for name in ("ui", "public_path")} == {"ui": "off", "public_path": "/registry"}
    assert "public_url" not in below
    tls = {name: value for name, value in settings_of(rendered["certificates"]).items() if name != "require_auth"}
    assert tls == {
        "tls_certificate": "/etc/counterfoil/tls/tls.crt",
        "tls_key": "/etc/counterfoil/tls/tls.key",
        "tls_client_certificates": "required",
        "tls_client_ca": "/etc/counterfoil/clients/ca.crt",
        "tls_crl_file": "/etc/counterfoil/clients/crl.pem",
    }
    assert tls.keys() - {each.name for each in SETTINGS} in (set(), tls.keys())  # a server without TLS has none of them


def test_the_chart_is_of_this_version_and_uses_what_the_image_has():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert chart["appVersion"] == project["version"]
    image = (ROOT / "Dockerfile").read_text()
    assert f'ENTRYPOINT ["{INSTALLED}", "serve"]' in image
    assert "COUNTERFOIL_PORT=8081" in image
    assert "USER 10001:10001" in image


def test_its_container_demands_credentials(rendered: dict[str, Rendered], postgres_url: str, tmp_path: Path):
    """The files of its volumes are in a folder of this test, and the store is a PostgreSQL of this machine."""
    full = rendered["full"]
    users = str(tmp_path / "users.htpasswd")
    run(["auth", "user", "add", "admin", "--password-stdin", "--file", users], {}, stdin="pw\n")
    port = free_port()
    settings, access = (each["data"] for each in full.of_kind("ConfigMap"))
    (tmp_path / "access.yaml").write_text(access["access.yaml"])
    (tmp_path / "settings.yaml").write_text(
        re.sub(r"/etc/counterfoil/\w+", str(tmp_path), settings["settings.yaml"]) + f"port: {port}\n"
    )
    variables = {"COUNTERFOIL_SETTINGS": str(tmp_path / "settings.yaml"), "COUNTERFOIL_STORE": postgres_url}
    [container] = pod_of(full)["containers"]
    assert variables.keys() <= {each["name"] for each in container["env"]}
    probe = container["readinessProbe"]["httpGet"]["path"]
    with RunningServer(["serve"], variables, port=port, log=tmp_path / "registry.log", probe=probe) as registry:
        registry.check_that_it_demands_credentials("admin:pw")
        assert registry.ask(container["livenessProbe"]["httpGet"]["path"])[0] == 200


def test_the_memory_has_room_for_the_server_and_for_its_processes() -> None:
    limits = yaml.safe_load((CHART / "values.yaml").read_text())["resources"]["limits"]
    mebibytes = int(limits["memory"].removesuffix("Mi"))
    settings = ServerSettings()
    of_judges = settings.judgement_processes * settings.judgement_memory_bytes // (1024 * 1024)
    assert mebibytes - of_judges >= 512
