"""Every command about contracts ends with each of its exit codes, and has each of its options."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from counterfoil.contracts.cli.root import root_command
from counterfoil.schema.model import Schema
from counterfoil.schema.rest.contracts import Environment, NewContract, NewPublication
from counterfoil.sdk import Registry, operations
from local_services import free_port
from strategies.contracts.agreement_files import APPLICATION, BRIDGE, CONTRACT, SCHEMA
from strategies.contracts.stories import LINK, expectation, promise, schema

OPTIONS = {
    "lint": "--rules --fix --fail-on --allow-empty --config --format --no-color -q -v",
    "diff": "--registry --offline --timeout --format --no-color -q -v",
    "check": "--against --level --policy --gate --environment --consumers --staged --offline --registry --timeout "
    "--config --fail-on --allow-empty --format --no-color -q -v",
    "test": "--server --proposed --sample --limit --seed --window --from-file --show-values --publish --environment "
    "--registry --fail-on --allow-empty --config --format --no-color -q -v",
    "generate fixtures": "--count --seed --check --out",
    "generate vectors": "--count --seed --check --out",
    "generate strategy": "--check --out",
    "generate docs": "--check --out",
    "generate contract": "--check --out --registry",
    "generate consumer": "--check --out --registry",
    "publish": "--application --version --branch --build-url --dry-run --registry --config",
    "can-i-deploy": "--environment --merge --retire --ignore --dry-run --explain --max-age --format --registry",
    "record deployment": "--environment --instance --registry",
    "record undeployment": "--environment --instance --registry",
    "record release": "--environment --registry",
    "record support-ended": "--environment --registry",
    "usage": "--topic --environment --unused --stale --import --format --registry",
    "plan": "--out --prune --fail-on-changes --environment --format --registry",
    "apply": "--prune --environment --registry",
    "approve": "--reason --until --owner --migration --list --revoke --local --registry",
}
AWAY = "--registry {away} --timeout 1 --retries 0"
REFUSES = "--registry {refuses} --retries 0"
APPROVED = "--reason r --owner o --until 2099-01-01"
CODES = {
    "lint": [("good", 0), ("bad", 1), ("--nonsense", 2), ("empty", 4), ("nowhere", 14)],
    "diff": [
        ("good/schemas/order.avsc changed.avsc", 0),
        ("changed.avsc", 2),
        (f"a@1 changed.avsc {AWAY}", 11),
        (f"a@1 changed.avsc {REFUSES}", 12),
        ("nowhere.avsc changed.avsc", 14),
    ],
    "check": [
        ("good", 0),
        ("changed.avsc", 1),
        ("--gate loose", 2),
        ("empty", 4),
        ("changed.avsc --environment nowhere", 4),
        (f"changed.avsc --against registry --subject changed.avsc=s {AWAY}", 11),
        (f"good --environment e {REFUSES}", 12),
        ("--against nowhere", 14),
    ],
    "test": [
        ("records --from-file good.hex --schemas ids", 0),
        ("records --from-file bad.hex --schemas ids", 1),
        ("records --window soon", 2),
        ("empty --from-file good.hex --schemas ids --topic x", 2),
        ("empty", 4),
        (f"records --from-file good.hex {AWAY}", 11),
        (f"records --from-file good.hex {REFUSES}", 12),
        ("records --from-file good.hex --schemas nowhere", 14),
    ],
    "generate": [
        ("docs good/orders.odcs.yaml", 0),
        ("contract changed.avsc --out good/orders.odcs.yaml --check", 1),
        ("nothing", 2),
        ("contract nowhere.avsc", 14),
        (f"contract a@1 {AWAY}", 11),
        (f"contract a@1 {REFUSES}", 12),
    ],
    "publish": [
        ("story --application {name}-shop --version 3 --dry-run", 0),
        ("bad --application a --version 1", 1),
        ("story --version 1", 2),
        ("empty --application a --version 1", 4),
        (f"story --application a --version 1 {AWAY}", 11),
        (f"story --application a --version 1 {REFUSES}", 12),
        ("other --application {name}-shop --version 1", 13),
        ("nowhere --application a --version 1", 14),
    ],
    "can-i-deploy": [
        ("{name}-shop@1 --environment {name}", 0),
        ("{name}-shop@2 --environment {name}", 1),
        ("{name}-shop@2 --environment {name} --dry-run", 0),
        ("{name}-shop@2 --environment {name} --ignore {name}-billing", 0),
        ("{name}-shop", 2),
        ("{name}-shop@9 --environment {name}", 4),
        (f"{{name}}-shop@1 --environment {{name}} {AWAY}", 11),
        (f"{{name}}-shop@1 --environment {{name}} {REFUSES}", 12),
    ],
    "record": [
        ("deployment {name}-shop@1 --environment {name}", 0),
        ("deployment {name}-shop --environment {name}", 2),
        ("release {name}-shop@9 --environment {name}", 4),
        ("deployment {name}-shop@1 --environment {name}-none", 4),
        (f"deployment {{name}}-shop@1 --environment {{name}} {AWAY}", 11),
        (f"deployment {{name}}-shop@1 --environment {{name}} {REFUSES}", 12),
    ],
    "usage": [
        ("{name}-value", 0),
        ("{name}-value --topic {name}", 2),
        ("{name}-none", 4),
        ("--topic {name}", 4),
        (f"{{name}}-value {AWAY}", 11),
        (f"{{name}}-value {REFUSES}", 12),
        ("--import changed.avsc", 14),
    ],
    "plan": [
        ("--config project.yaml --out plan.json", 0),
        ("--config project.yaml --fail-on-changes", 3),
        ("--config refused.yaml", 1),
        ("--config project.yaml --environment nowhere", 2),
        (f"--config project.yaml {AWAY}", 11),
        (f"--config project.yaml {REFUSES}", 12),
        ("--config nowhere.yaml", 14),
    ],
    "apply": [
        ("stale.json --config project.yaml", 13),
        ("nowhere.json --config project.yaml", 14),
        ("--config refused.yaml", 1),
        ("--config project.yaml --environment nowhere", 2),
        (f"--config project.yaml {AWAY}", 11),
        (f"--config project.yaml {REFUSES}", 12),
    ],
    "approve": [
        ("--list --offline", 0),
        ("abcdefabcdef --local", 2),
        (f"abcdefabcdef {APPROVED} --local", 4),
        (f"abcdefabcdef {APPROVED} {AWAY}", 11),
        (f"abcdefabcdef {APPROVED} {REFUSES}", 12),
        (f"abcdefabcdef {APPROVED} --local --against nowhere", 14),
    ],
}


class _Refusal(BaseHTTPRequestHandler):
    """A registry that refuses every request."""

    def _refuse(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        body = b'{"error_code": 40301, "message": "no"}'
        self.send_response(403)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = _refuse  # noqa: N815 (the names that the base class calls)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 (its name in the base class)
        """Print nothing."""


@pytest.fixture
def refusing():
    """The address of a registry that refuses every request."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Refusal) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def world(workshop, live_registry, unique_name, refusing):
    """Files for every case, and a producer and a consumer that are live in a registry; the names in commands."""
    name = unique_name("table")
    for folder, contract in (("good", CONTRACT), ("bad", CONTRACT.replace("value: EUR.cent", "value: coins"))):
        workshop.write(f"{folder}/orders.odcs.yaml", contract.replace("id: orders.placed", f"id: {folder}"))
        workshop.write(f"{folder}/billing.odps.yaml", APPLICATION.replace("orders.placed", folder))
        workshop.write(f"{folder}/schemas/order.avsc", SCHEMA.replace('"shop"', f'"{folder}"'))
        workshop.write(f"{folder}/converters/orders.yaml", BRIDGE)
    workshop.write("empty/README", "")
    workshop.write("changed.avsc", SCHEMA.replace('"shop"', '"changed"'))
    workshop.write("story/orders.odcs.yaml", promise(contract=name))
    workshop.write("story/order.avsc", schema())
    workshop.write("other/orders.odcs.yaml", promise(contract=name, unit="USD"))
    workshop.write("other/order.avsc", schema())
    workshop.write("records/records.odcs.yaml", RECORDS)
    workshop.write("ids/7.avsc", RECORD)
    workshop.write("good.hex", "0000000007066f2d3164\n")
    workshop.write("bad.hex", "0000000007066f2d3163\n")
    workshop.write("project.yaml", PROJECT.format(name, "BACKWARD"))
    workshop.write("refused.yaml", PROJECT.format(name, "FULL"))
    workshop.write("stale.json", '{"kind": "plan"}')
    workshop.commit()
    workshop.write("changed.avsc", SCHEMA.replace('"shop"', '"changed"').replace('"type": "long"}', '"type": "int"}'))
    with Registry(live_registry.url) as registry:
        registry.register(f"{name}-value", Schema(schema(extra="string")))
        registry.call(operations.put_environment(Environment(name)))
        for version, text in (("1", schema()), ("2", schema(total=None))):
            contract = NewContract(promise(f"2.{int(version)}.0", contract=name), {LINK: Schema(text)})
            registry.call(operations.publish(NewPublication(f"{name}-shop", version, (contract,))))
        reads = NewContract(expectation("total", contract=name, name=f"{name}-billing"))
        registry.call(operations.publish(NewPublication(f"{name}-billing", "1", (reads,))))
        for application in ("shop", "billing"):
            registry.call(operations.record_deployment(name, f"{name}-{application}", "1"))
    names = {"name": name, "refuses": refusing, "away": f"http://127.0.0.1:{free_port()}"}
    return workshop, names


RECORD = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "string"}, {"name": "n", "type": "int"}]}
RECORDS = """\
apiVersion: v3.2.0
kind: DataContract
id: records
version: 1.0.0
status: active
team: {name: shop}
schema:
  - name: R
    physicalName: records
    properties:
      - {name: n, logicalType: integer, logicalTypeOptions: {minimum: 0}}
"""
PROJECT = """\
managed-by: {0}
schemas:
  - {{files: story/*.avsc, subject: '{0}-value', level: {1}}}
  - {{files: '**/*.avsc', part: true}}
"""


@pytest.mark.parametrize("command", OPTIONS)
def test_a_command_has_its_options(command):
    import click

    found = root_command()
    context = click.Context(found)
    for word in command.split():
        found = found.get_command(context, word)
    spelled = {spelling for each in found.params for spelling in each.opts}
    assert set(OPTIONS[command].split()) <= spelled


@pytest.mark.parametrize("command", CODES)
def test_a_command_ends_with_each_of_its_codes(counterfoil, world, live_registry, command):
    workshop, names = world
    settings = {"COUNTERFOIL_REGISTRY_URL": live_registry.url}
    found = []
    for words, code in CODES[command]:
        arguments = words.format(**names).split()
        ended = counterfoil(command, *arguments, folder=workshop.folder, settings=settings)
        found.append((words, ended.code, "" if ended.code == code else str(ended)))
    assert found == [(words, code, "") for words, code in CODES[command]]
