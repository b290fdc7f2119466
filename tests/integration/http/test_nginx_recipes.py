"""The recipes for nginx, with a real nginx in front of a registry: TLS, names of certificates, what clients forge."""

from __future__ import annotations

import os
import re
import ssl
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from counterfoil.registry.access.identities.hashes import hash_password
from local_services import RegistryProcess
from local_services.nginx import Nginx
from local_services.process import Service, free_port
from strategies.access.certificates import Authority

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HEALTH = Path(__file__).parents[3] / "deploy" / "image" / "health.py"
CERTIFICATES = "counterfoil-certificates.conf"
ADDRESSES = re.compile(r'(?:href|src|action|formaction)="([^"]*)"')
SECRET = "the secret of the proxy"
ALICE = ("alice", "pw")
ACCESS = """\
users: {{alice: '{hash}'}}
proxy:
  addresses: [127.0.0.1/32]
  user_header: x-forwarded-user
  secret_header: x-proxy-secret
  secret_file: proxy-secret
  prefix: "cert:"
rules:
  - {{allow: developer, to: "User:*", on: "*"}}
"""


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    folder = tmp_path_factory.mktemp("access")
    (folder / "access.yaml").write_text(ACCESS.format(hash=hash_password(b"pw")))
    (folder / "proxy-secret").write_text(SECRET)
    with RegistryProcess(settings={"COUNTERFOIL_AUTH_FILE": str(folder / "access.yaml")}) as running:
        yield running


@pytest.fixture(scope="module")
def started(registry: RegistryProcess, authority: Authority) -> Iterator[Callable[[str], Nginx]]:
    """Return a function that returns the nginx of a recipe, started when it is first asked for."""
    running: dict[str, Nginx] = {}

    def start(recipe: str) -> Nginx:
        certificate, key = authority.issue("server")
        replaced = {
            "127.0.0.1:8081": f"127.0.0.1:{registry.port}",
            "/etc/counterfoil/tls/server.crt": str(certificate),
            "/etc/counterfoil/tls/server.key": str(key),
        }
        snippets = {}
        if recipe == CERTIFICATES:
            replaced["/etc/counterfoil/tls/clients.pem"] = str(authority.file)
            snippets["counterfoil-secret.conf"] = f'set $counterfoil_secret "{SECRET}";\n'
        return running.setdefault(recipe, Nginx(recipe, replaced, snippets=snippets))

    yield lambda recipe: running.get(recipe) or start(recipe)
    for each in running.values():
        each.stop()


@pytest.fixture(params=["counterfoil.conf", CERTIFICATES])
def nginx(request: pytest.FixtureRequest, started: Callable[[str], Nginx]) -> Nginx:
    return started(request.param)


def client_of(
    nginx: Nginx, authority: Authority, *, certificate: tuple[Path, Path] | None = None, address: str = "127.0.0.1"
) -> httpx.Client:
    """Return a client at ``address`` of the registry behind nginx."""
    context = ssl.create_default_context(cafile=str(authority.file))
    if certificate is not None:
        context.load_cert_chain(*certificate)
    transport = httpx.HTTPTransport(verify=context, local_address=address)
    return httpx.Client(base_url=f"https://127.0.0.1:{nginx.port}", transport=transport, timeout=60, trust_env=False)


def caller(client: httpx.Client, **options: Any) -> str | int:
    """Return whom the registry takes the client for, or the status with which it refuses it."""
    answer = client.get("/auth/v1/whoami", **options)
    return answer.json()["principal"] if answer.status_code == 200 else answer.status_code


def test_credentials_are_passed_on_and_paths_are_not_changed(nginx: Nginx, authority: Authority):
    with client_of(nginx, authority) as client:
        assert caller(client, auth=ALICE) == "User:alice"
        assert caller(client) == 401
        assert caller(client, auth=("alice", "wrong")) == 401
        registered = client.post("/subjects/a%2Fb%20%20c/versions", json={"schema": '"int"'}, auth=ALICE)
        assert registered.status_code == 200
        assert "strict-transport-security" in registered.headers
        assert "a/b  c" in client.get("/subjects", auth=ALICE).json()
        too_long = client.post("/subjects/a/versions", content=b"x" * 11_000_000, auth=ALICE)
        assert too_long.status_code == 413


@pytest.mark.parametrize(
    "forged",
    [
        [("X-Forwarded-User", "alice")],
        [("X-Forwarded-User", "alice"), ("X-Proxy-Secret", SECRET)],
        [("X-Forwarded-User", "alice"), ("X-Forwarded-User", "bob"), ("X-Proxy-Secret", SECRET)],
        [("x_forwarded_user", "alice"), ("x_proxy_secret", SECRET)],
        [("X-Forwarded-User", "alice"), ("X-Forwarded-Groups", "admins"), ("Connection", "X-Proxy-Secret")],
    ],
)
def test_no_client_passes_for_the_proxy(forged: list[tuple[str, str]], nginx: Nginx, authority: Authority):
    with client_of(nginx, authority) as client:
        assert caller(client, headers=forged) == 401
        assert caller(client, headers=forged, auth=ALICE) == "User:alice"


def test_events_are_passed_on_when_they_happen(nginx: Nginx, authority: Authority):
    with client_of(nginx, authority) as client:
        stream = {"Accept": "text/event-stream"}
        with client.stream("GET", "/changes?after=0", headers=stream, auth=ALICE) as events:
            lines = events.iter_lines()
            client.post(f"/subjects/news-{nginx.port}/versions", json={"schema": '"int"'}, auth=ALICE)
            assert any(f'"news-{nginx.port}"' in line for line in lines)


def test_wrong_passwords_are_counted_by_the_address_of_the_client(nginx: Nginx, authority: Authority):
    def guess(address: str, *, times: int) -> list[str | int]:
        with client_of(nginx, authority, address=address) as client:
            forged = {"X-Forwarded-For": "10.0.0.1"}
            return [caller(client, headers=forged, auth=("nobody", f"guess {number}")) for number in range(times)]

    first, second = f"127.{nginx.port % 200}.0.2", f"127.{nginx.port % 200}.0.3"
    assert set(guess(first, times=40)) == {401, 429}  # ten, and one more every six seconds
    assert guess(second, times=1) == [401]


def test_the_check_of_the_image_works_over_tls(nginx: Nginx):
    variables = {**os.environ, "COUNTERFOIL_PORT": str(nginx.port), "COUNTERFOIL_TLS_CERTIFICATE": "server.crt"}
    subprocess.run([sys.executable, HEALTH], env=variables, check=True)


def test_the_name_in_a_certificate_is_the_caller(started: Callable[[str], Nginx], authority: Authority, tmp_path: Path):
    nginx = started(CERTIFICATES)
    with client_of(nginx, authority, certificate=authority.issue("orders")) as client:
        assert caller(client) == "User:cert:orders"
        assert caller(client, headers={"X-Forwarded-User": "alice"}) == "User:cert:orders"
        assert caller(client, auth=ALICE) == "User:alice"
        assert caller(client, auth=("alice", "wrong")) == 401
    with client_of(nginx, authority, certificate=authority.issue("x,CN=orders")) as client:
        assert caller(client) == 401
    stranger = Authority(tmp_path, "stranger")
    with client_of(nginx, authority, certificate=stranger.issue("orders")) as client:
        assert caller(client) == 400


@pytest.fixture
def encrypted_port(authority: Authority, tmp_path: Path) -> Iterator[int]:
    """The port of a registry that ends TLS itself, and asks for client certificates."""
    certificate, key = authority.issue("server")
    (tmp_path / "access.yaml").write_text(
        f"users: {{alice: '{hash_password(b'pw')}'}}\nrules:\n  - {{allow: developer, to: 'User:*', on: '*'}}\n"
    )
    port, log = free_port(), tmp_path / "registry.log"
    settings = {
        "PORT": str(port),
        "STORE": f"sqlite:///{tmp_path}/encrypted.db",
        "AUTH_FILE": str(tmp_path / "access.yaml"),
        "TLS_CERTIFICATE": str(certificate),
        "TLS_KEY": str(key),
        "TLS_CLIENT_CERTIFICATES": "optional",
        "TLS_CLIENT_CA": str(authority.file),
        "TLS_PRINCIPAL_RULES": "RULE:CN=(.*)/$1/",
        "TLS_PRINCIPAL_PREFIX": "cert:",
    }
    environment = {f"COUNTERFOIL_{name}": value for name, value in settings.items()}
    command = [str(Path(sys.executable).with_name("counterfoil")), "serve"]
    registry = Service("the registry with TLS", command, log=log, environment=environment)
    try:
        registry.wait_ready(lambda: "listening on https://" in log.read_text())
        yield port
    finally:
        registry.stop()


def test_tls_can_be_passed_through(encrypted_port: int, authority: Authority, tmp_path: Path):
    """The registry sees the certificates itself, and nothing counts that a client says in headers."""
    with Nginx("counterfoil-passthrough.conf", {"127.0.0.1:8443": f"127.0.0.1:{encrypted_port}"}) as passing:
        with client_of(passing, authority, certificate=authority.issue("orders")) as client:
            assert caller(client) == "User:cert:orders"
            assert caller(client, headers={"X-Forwarded-User": "alice"}) == "User:cert:orders"
            assert caller(client, auth=ALICE) == "User:alice"
            assert caller(client, auth=("alice", "wrong")) == 401
        with client_of(passing, authority) as client:
            assert caller(client) == 401
            assert caller(client, auth=ALICE) == "User:alice"
        stranger = Authority(tmp_path, "stranger")
        with (
            client_of(passing, authority, certificate=stranger.issue("orders")) as client,
            pytest.raises(httpx.TransportError),
        ):
            caller(client)


@pytest.fixture(scope="module")
def prefixed(authority: Authority) -> Iterator[httpx.Client]:
    """A client of the whole nginx with a registry below a path of it."""
    certificate, key = authority.issue("server")
    with RegistryProcess(settings={"COUNTERFOIL_PUBLIC_PATH": "/registry"}) as registry:
        replaced = {
            "127.0.0.1:8081": f"127.0.0.1:{registry.port}",
            "/etc/counterfoil/tls/server.crt": str(certificate),
            "/etc/counterfoil/tls/server.key": str(key),
        }
        with Nginx("counterfoil-prefix.conf", replaced) as nginx, client_of(nginx, authority) as client:
            yield client


def test_a_registry_below_a_path_gets_paths_as_they_were_sent(prefixed: httpx.Client):
    name = "a%2Fb%20%20c"
    registered = prefixed.post(f"/registry/subjects/{name}/versions", json={"schema": '"int"'})
    assert registered.status_code == 200
    assert prefixed.get("/registry/subjects?subjectPrefix=a/").json() == ["a/b  c"]
    assert prefixed.get(f"/registry/subjects/{name}/versions/1").json()["subject"] == "a/b  c"
    for path in ("/subjects", "/registryx/subjects", "/x/../subjects", "//registry/subjects"):
        assert prefixed.get(path).status_code == 404, path
    assert prefixed.get("/registry").headers["location"].endswith("/registry/")


def test_pages_below_a_path_lead_to_addresses_below_it(prefixed: httpx.Client):
    prefixed.post("/registry/subjects/paged%2Fa/versions", json={"schema": '"int"'})
    led = prefixed.get("/registry/", headers={"Accept": "text/html"})
    assert (led.status_code, led.headers["location"]) == (303, "/registry/ui/")
    todo, seen = ["/registry/ui/", "/registry/ui/subjects/paged%2Fa"], set()
    while todo:
        seen.add(address := todo.pop())
        page = prefixed.get(address)
        assert page.status_code == 200, address
        found = {each.replace("&amp;", "&") for each in ADDRESSES.findall(page.text)}
        local = {each.partition("#")[0] for each in found} - {""}
        assert {each for each in local if not each.startswith("/registry/")} == set(), address
        todo += [] if len(seen) > 1 else sorted(each for each in local if each not in seen and "/inspect/" not in each)
    assert any("/static/" in each for each in seen)


def test_a_refusal_below_a_path_names_its_page_there(prefixed: httpx.Client):
    prefixed.post("/registry/subjects/refused/versions", json={"schema": '"int"'})
    refused = prefixed.post("/registry/subjects/refused/versions", json={"schema": '"string"'})
    assert refused.status_code == 409
    address = refused.headers["link"].partition(">")[0].removeprefix("<")
    assert address.startswith("/registry/ui/refusals/")
    page = prefixed.get(address)
    assert page.status_code == 200
    assert "refused" in page.text
