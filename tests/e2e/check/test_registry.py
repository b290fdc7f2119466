"""``check`` and ``diff`` against registries: a real one, and ones that refuse or are not there."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from counterfoil.schema.model import Reference, Schema, SchemaType
from counterfoil.schema.rest.verdicts import NewApproval
from counterfoil.sdk import Config, Registry, operations
from local_services import free_port


@pytest.fixture
def subject(live_registry, unique_name, order):
    """A subject with two versions under BACKWARD_TRANSITIVE; the second gave ``total`` a default."""
    name = f"{unique_name('orders')}-value"
    with Registry(live_registry.url) as registry:
        registry.set_config(name, "BACKWARD_TRANSITIVE")
        registry.register(name, Schema(json.dumps(order(id="string"))))
        registry.register(name, Schema(json.dumps(order(id="string", total={"type": "long", "default": 0}))))
    return name


def test_consumers_are_judged_against_the_latest_version(counterfoil, live_registry, subject, order, tmp_path):
    (tmp_path / f"{subject}.avsc").write_text(json.dumps(order(id="string"), indent=1))
    head = "apiVersion: v3.1.0\nkind: DataContract\nid: orders\nversion: 1.0.0\nstatus: active\n"
    topic = subject.removesuffix("-value")  # no schema file is named: that of the subject counts
    (tmp_path / "orders.odcs.yaml").write_text(f"{head}schema:\n  - {{name: Order, physicalName: {topic}}}\n")
    (tmp_path / "billing.odps.yaml").write_text(
        "apiVersion: v1.0.0\nkind: DataProduct\nid: billing\nversion: 2.0.0\nstatus: active\ninputPorts:\n"
        "  - {name: orders, version: '1', contractId: orders,\n"
        "     customProperties: [{property: reads, value: [total]}]}\n"
    )
    arguments = ["check", "--against", "registry", "--registry", live_registry.url, "--format", "json"]
    assert counterfoil(*arguments).rules == []
    result = counterfoil(*arguments, "--consumers", ".")
    assert (result.code, result.rules) == (1, ["consumer-field-missing"])
    (finding,) = result.report["findings"]
    assert (finding["path"], finding["subject"]) == (f"{subject}.avsc", subject)


def test_approvals_of_the_registry_are_read(counterfoil, live_registry, subject, order, tmp_path):
    (tmp_path / f"{subject}.avsc").write_text(json.dumps(order(id="string", total="long"), indent=1))
    arguments = ["check", "--against", "registry", "--registry", live_registry.url]
    (finding,) = counterfoil(*arguments, "--format", "json").report["findings"]
    with Registry(live_registry.url) as registry:
        new = NewApproval((finding["fingerprint"],), "ana", "agreed", "2999-12-31")
        approval = registry.call(operations.approve(new))
        approved = counterfoil(*arguments, "--format", "json")
        registry.call(operations.revoke_approval(approval.id))
    (found,) = approved.report["findings"]
    assert (approved.code, found["approval"]["owner"], found["approval"]["until"]) == (0, "ana", "2999-12-31")
    assert counterfoil(*arguments).code == 1


def test_the_files_name_is_the_subject_and_the_registry_has_the_level(
    counterfoil, live_registry, subject, order, tmp_path
):
    (tmp_path / f"{subject}.avsc").write_text(json.dumps(order(id="string", total="long"), indent=1))
    arguments = ["check", "--against", "registry", "--registry", live_registry.url, "--format", "json"]
    result = counterfoil(*arguments)
    assert (result.code, result.rules) == (1, ["reader-field-missing-default"])
    (finding,) = result.report["findings"]
    assert finding["subject"] == subject
    assert finding["against"] == [f"{subject} version 1"]
    assert finding["line"] == 10
    assert result.report["files"][0]["level"] == "BACKWARD_TRANSITIVE"
    assert counterfoil(*arguments, "--level", "BACKWARD").code == 0  # version 2 has the field


def test_the_address_may_come_from_the_environment(installed, live_registry, subject, order, tmp_path):
    (tmp_path / "order.avsc").write_text(json.dumps(order(id="long")))
    settings = {"COUNTERFOIL_REGISTRY_URL": live_registry.url}
    arguments = ["check", "order.avsc", "--against", "registry", "--subject", f"order.avsc={subject}"]
    assert installed(*arguments, settings=settings).code == 1
    assert installed(*arguments, "--offline", settings=settings).code == 2


def test_what_is_registered_already_is_unchanged(counterfoil, live_registry, subject, order, tmp_path):
    text = json.dumps(order(id="string", total={"type": "long", "default": 0}), indent=3)
    (tmp_path / f"{subject}.avsc").write_text(text)
    result = counterfoil("check", "--against", "registry", "--registry", live_registry.url, "--format", "json")
    assert (result.code, result.report["files"][0]["status"]) == (0, "unchanged")


def test_a_new_subject_is_new_and_breaks_nothing(counterfoil, live_registry, unique_name, order, tmp_path):
    (tmp_path / f"{unique_name('new')}-value.avsc").write_text(json.dumps(order(id="string")))
    arguments = ["check", "--against", "registry", "--registry", live_registry.url]
    result = counterfoil(*arguments, "--format", "json")
    assert (result.code, result.rules) == (0, ["schema-new"])
    assert result.report["findings"][0]["severity"] == "notice"
    assert counterfoil(*arguments).out.splitlines()[-1].startswith("0 errors, 0 warnings; 0 schemas judged, 1 new")


def test_files_that_are_not_judged_are_counted_and_fail(counterfoil, live_registry, subject, order, tmp_path):
    text = json.dumps(order(id="string", total={"type": "long", "default": 0}))
    (tmp_path / f"{subject}.avsc").write_text(text)
    for number in range(3):
        (tmp_path / f"part{number}.avsc").write_text(json.dumps(order(id="string")))
    (tmp_path / f"new-{subject}.avsc").write_text(json.dumps(order(id="string")))
    arguments = ["check", "--against", "registry", "--registry", live_registry.url]
    result = counterfoil(*arguments)
    assert result.code == 4, result.out
    last = result.out.splitlines()[-1]
    assert last == (f"0 errors, 3 warnings; 1 schema judged, 1 new, 3 unmapped, against {live_registry.url} (exit 4)")
    allowed = counterfoil(*arguments, "--allow-unmapped", "--format", "json")
    assert allowed.code == 0
    summary = allowed.report["summary"]
    assert {name: summary[name] for name in ("judged", "new", "unmapped")} == {"judged": 1, "new": 1, "unmapped": 3}
    (tmp_path / f"{subject}.avsc").write_text(json.dumps(order(id="int")))
    assert counterfoil(*arguments).code == 1  # broken outranks what cannot be said


def test_a_file_without_subject_is_no_answer(counterfoil, live_registry, order, tmp_path):
    (tmp_path / "order.avsc").write_text(json.dumps(order(id="string")))
    arguments = ["check", "--against", "registry", "--registry", live_registry.url]
    result = counterfoil(*arguments, "--format", "json")
    assert (result.code, result.rules) == (4, ["subject-unknown"])
    assert counterfoil(*arguments, "--subject", "nowhere.avsc=x").code == 2


def test_against_one_version(counterfoil, live_registry, subject, order, tmp_path):
    (tmp_path / "order.avsc").write_text(json.dumps(order(id="string", total="long")))
    asked = ["check", "order.avsc", "--registry", live_registry.url, "--against"]
    assert counterfoil(*asked, f"{subject}@1").code == 1
    assert counterfoil(*asked, f"{subject}@2").code == 0
    assert counterfoil(*asked, f"{subject}@latest", "--level", "BACKWARD").code == 0
    missing = counterfoil(*asked, f"{subject}@9")
    assert (missing.code, missing.err.count("\n")) == (14, 1)


def test_references_of_registered_schemas_are_fetched(counterfoil, live_registry, unique_name, order, tmp_path):
    item = {"type": "record", "name": "shop.Item", "fields": [{"name": "sku", "type": "string"}]}
    referred, name = f"{unique_name('item')}", f"{unique_name('carts')}-value"
    cart = order(item="shop.Item")
    with Registry(live_registry.url) as registry:
        registry.register(referred, Schema(json.dumps(item)))
        registry.register(name, Schema(json.dumps(cart), references=(Reference("shop.Item", referred, 1),)))
    (tmp_path / "item.avsc").write_text(json.dumps({**item, "fields": [{"name": "sku", "type": "long"}]}))
    (tmp_path / f"{name}.avsc").write_text(json.dumps(cart))
    result = counterfoil(
        "check", f"{name}.avsc", "--against", "registry", "--registry", live_registry.url, "--format", "json"
    )
    assert (result.code, result.rules) == (1, ["type-mismatch"])


LINE = 'syntax = "proto3";\npackage shop;\nmessage Line { string sku = 1; }\n'
ORDER = """\
syntax = "proto3";
package shop;
import "shop/line.proto";
message Order {
  int64 total = 1;
  Line line = 2;
}
"""


def test_protobuf_with_an_import(counterfoil, live_registry, unique_name, tmp_path):
    referred, name = unique_name("line"), f"{unique_name('orders')}-value"
    with Registry(live_registry.url) as registry:
        registry.register(referred, Schema(LINE, SchemaType.PROTOBUF))
        references = (Reference("shop/line.proto", referred, 1),)
        registry.register(name, Schema(ORDER, SchemaType.PROTOBUF, references=references))
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/line.proto").write_text(LINE)
    place = tmp_path / f"{name}.proto"
    arguments = ["check", place.name, "--against", "registry", "--registry", live_registry.url, "--format", "json"]
    place.write_text(ORDER.replace("int64 total", "bytes total"))
    result = counterfoil(*arguments)
    assert (result.code, result.rules) == (1, ["field-scalar-kind-changed"]), result
    (finding,) = result.report["findings"]
    assert (finding["subject"], finding["line"], finding["against"]) == (name, 5, [f"{name} version 1"])
    place.write_text(ORDER.replace("}\n", "  string note = 3;\n}\n"))
    assert counterfoil(*arguments).code == 0
    changes = counterfoil("diff", f"{name}@1", place.name, "--registry", live_registry.url)
    assert (changes.code, changes.out.splitlines()[0]) == (
        0,
        f"+ Order.note: field added: string = 3  ({place.name}:7:3)",
    )


def test_json_schema_under_the_policy_of_its_subject(counterfoil, live_registry, unique_name, tmp_path):
    name = f"{unique_name('customers')}-value"
    schema = {"type": "object", "properties": {"id": {"type": "string"}}}
    with Registry(live_registry.url) as registry:
        registry.register(name, Schema(json.dumps(schema), SchemaType.JSON))
        registry.set_config(name, Config(compatibility_policy="LENIENT"))
    schema["properties"]["note"] = {"type": "string"}
    (tmp_path / f"{name}.schema.json").write_text(json.dumps(schema))
    arguments = ["check", "--against", "registry", "--registry", live_registry.url, "--format", "json"]
    result = counterfoil(*arguments)
    assert (result.code, result.report["files"][0]["policy"]) == (0, "LENIENT"), result
    strict = counterfoil(*arguments, "--policy", "STRICT")
    assert (strict.code, strict.rules) == (1, ["optional-property-added-to-open-content-model"])


def test_a_subject_that_holds_another_language(counterfoil, live_registry, subject, tmp_path):
    (tmp_path / f"{subject}.schema.json").write_text('{"type": "object"}')
    result = counterfoil("check", "--against", "registry", "--registry", live_registry.url, "--format", "json")
    assert (result.code, result.rules) == (1, ["schema-type-changed"]), result


def test_diff_of_versions(installed, live_registry, subject):
    result = installed("diff", f"{subject}@1", f"{subject}@latest", "--registry", live_registry.url)
    assert result.code == 0
    assert "+ total: field added: long = 0" in result.out
    missing = installed("diff", "nobody-value@1", f"{subject}@1", "--registry", live_registry.url)
    assert (missing.code, missing.err.count("\n")) == (14, 1)


@pytest.mark.parametrize("command", [["check", "--against", "registry"], ["diff", "orders-value@1", "orders-value@2"]])
def test_no_registry_there(counterfoil, order, tmp_path, command):
    (tmp_path / "orders-value.avsc").write_text(json.dumps(order(id="string")))
    address = f"http://127.0.0.1:{free_port()}"
    settings = {"COUNTERFOIL_REGISTRY_RETRIES": "0"}
    result = counterfoil(*command, "--registry", address, "--timeout", "2", settings=settings)
    assert (result.code, result.out, result.err.count("\n")) == (11, "", 1)
    assert address in result.err


@pytest.fixture
def answering():
    """A function that starts a server which answers everything with one status and body, and gives its address."""
    servers = []

    def start(status: int, body: str) -> str:
        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_: object) -> None:
                """Nothing is logged."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (401, '{"error_code": 401, "message": "who are you?"}', 12),
        (403, '{"error_code": 403, "message": "not for you"}', 12),
        (500, '{"error_code": 50001, "message": "the store is away"}', 12),
        (200, "<html>", 11),
    ],
)
def test_registries_that_refuse(counterfoil, answering, tmp_path, status, body, code):  # noqa: PLR0917 (three are the case)
    (tmp_path / "orders-value.avsc").write_text('"string"')
    settings = {"COUNTERFOIL_REGISTRY_RETRIES": "0"}
    result = counterfoil("check", "--against", "registry", "--registry", answering(status, body), settings=settings)
    assert (result.code, result.out, result.err.count("\n")) == (code, "", 1), result


def test_a_password_in_the_address_is_not_printed(counterfoil, live_registry, subject, order, tmp_path):
    (tmp_path / f"{subject}.avsc").write_text(json.dumps(order(id="long")))
    address = live_registry.url.replace("://", "://user:geheim@")
    result = counterfoil("check", "--against", "registry", "--registry", address)
    assert result.code == 1
    assert "geheim" not in result.out + result.err
