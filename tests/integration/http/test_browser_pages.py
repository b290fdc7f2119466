"""Pages in a real browser: what they can do to a registry on the machine of whoever looks at them.

The pages come from another loopback address, on the registry's port. Their names end in ``.example``, which the browser
resolves to that address.
"""

from __future__ import annotations

import http.client
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from local_services import RegistryProcess, free_port, wait_until
from local_services.chromium import chromium_options, chromium_program
from local_services.process import Service

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FRAMES = """<!doctype html><title>Pages of others</title>
<iframe src="//friend.example:{port}/page"></iframe>
<iframe src="//foreign.example:{port}/page"></iframe>
<iframe src="//rebound.example:{port}/page"></iframe>"""
PAGE = """<!doctype html><title>A page</title><body><script src="/script"></script>"""
SCRIPT = """
const me = location.hostname.split(".")[0], found = {}, by = "?by=" + me;
const registry = me === "rebound" ? "" : "http://127.0.0.1:" + location.port;
const schema = name => JSON.stringify({schema: JSON.stringify({type: "enum", name, symbols: ["A"]})});
const read = reply => reply.text().then(text => reply.status + " " + text);
const attempt = async (what, work) => { found[what] = await work().catch(error => error.name); };
const ended = element => new Promise(done => {
  element.onload = () => done("loaded");
  element.onerror = () => done("failed");
  document.body.append(element);
});

async function attack() {
  await attempt("read", () => fetch(registry + "/subjects/seed/versions" + by).then(read));
  await attempt("by id", () => fetch(registry + "/schemas/ids/1" + by).then(read));
  await attempt("blob", () => fetch(registry + `/subjects/${me}-blob/versions` + by,
    {method: "POST", mode: "no-cors", body: new Blob([schema("Blob")])}).then(reply => reply.type));
  for (const [kind, path] of [["img", "/mode"], ["script", "/config"]])
    await attempt(kind, () => ended(Object.assign(document.createElement(kind), {src: registry + path + by})));
  await attempt("form", async () => {
    const frame = Object.assign(document.createElement("iframe"), {name: "shown"});
    await ended(frame);
    const form = document.createElement("form"), field = document.createElement("input");
    Object.assign(form, {method: "POST", action: registry + `/subjects/${me}-form/versions` + by});
    Object.assign(form, {target: "shown", enctype: "text/plain"}).append(field);
    Object.assign(field, {name: schema("Form").slice(0, -1) + ', "x": "', value: '"}'});
    document.body.append(form);
    const answered = new Promise(done => { frame.onload = () => done("answered"); });
    form.submit();
    return await answered;
  });
  await fetch("/report", {method: "POST", body: JSON.stringify(found)});
}

attack();
"""
SERVED = {"/frames": ("html", FRAMES), "/page": ("html", PAGE), "/script": ("javascript", SCRIPT)}


class Pages(BaseHTTPRequestHandler):
    """A server of pages that passes everything else on to the registry: as if the name of a page now led there."""

    protocol_version = "HTTP/1.1"
    port: int
    reports: dict[str, dict[str, str]]

    def do_GET(self) -> None:
        if self.path not in SERVED:
            self._pass_on(None)
            return
        kind, text = SERVED[self.path]
        self._answer(200, f"text/{kind}", text.replace("{port}", str(self.port)).encode())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/report":
            self._answer(204, "text/plain", b"")
            self.reports[self.headers["Host"].partition(".")[0]] = json.loads(body)
        else:
            self._pass_on(body)

    def _pass_on(self, body: bytes | None) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        connection.request(self.command, self.path, body, dict(self.headers))
        reply = connection.getresponse()
        self._answer(reply.status, "text/plain", reply.read())
        connection.close()

    def _answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def pages(port: int) -> Iterator[dict[str, dict[str, str]]]:
    """Serve the pages; yield what they report, by the first part of their names."""
    reports: dict[str, dict[str, str]] = {}
    kind = type("PagesBeside", (Pages,), {"port": port, "reports": reports})
    with ThreadingHTTPServer(("127.0.0.2", port), kind) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield reports
        server.shutdown()


@contextmanager
def browser(folder: Path, address: str) -> Iterator[None]:
    """Chromium with this page."""
    program, environment = chromium_program()
    command = [str(program), "--headless=new", *chromium_options(), f"--user-data-dir={folder / 'profile'}"]
    command.append("--host-resolver-rules=MAP *.example 127.0.0.2")
    service = Service("Chromium", [*command, address], log=folder / "browser.log", environment=environment)
    try:
        yield
    finally:
        service.stop(grace_s=10)


def asked(port: int, method: str, path: str, body: str | None = None) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    connection.request(method, path, body)
    answer = json.loads(connection.getresponse().read())
    connection.close()
    return answer


def test_pages_of_other_origins_change_and_read_nothing(tmp_path: Path) -> None:
    """The page of an origin that is named does the same with success, so that the others do not fail by themselves."""
    port, log = free_port(), tmp_path / "log"
    settings = {"COUNTERFOIL_CORS_ORIGINS": f"http://friend.example:{port}", "COUNTERFOIL_LOG_REQUESTS": "true"}
    with RegistryProcess(store="sqlite://", settings=settings, port=port, log=log), pages(port) as found:
        asked(port, "POST", "/subjects/seed/versions", json.dumps({"schema": '"string"'}))
        with browser(tmp_path, f"http://index.example:{port}/frames"):
            wait_until(lambda: len(found) == 3, what="the reports of the pages")
        subjects = asked(port, "GET", "/subjects")
    statuses: dict[str, dict[str, int]] = {}
    for line in log.read_text().splitlines():
        entry = json.loads(line) if line.startswith("{") else {}
        if "by=" in entry.get("query", "") and entry["method"] != "OPTIONS":
            page = entry["query"].removeprefix("by=")
            statuses.setdefault(page, {})[f"{entry['method']} {entry['path']}"] = entry["status"]
    assert subjects == ["friend-blob", "seed"]
    assert (found["friend"]["read"], found["friend"]["blob"]) == ("200 [1]", "opaque")
    assert statuses["friend"] == {
        "GET /subjects/seed/versions": 200,
        "GET /schemas/ids/1": 200,
        "POST /subjects/friend-blob/versions": 200,
        "GET /mode": 403,  # browsers do not say which page an image or a script is for
        "GET /config": 403,
        "POST /subjects/friend-form/versions": 415,  # no type of a form is that of a request here
    }
    assert (found["foreign"]["read"], found["foreign"]["by id"]) == ("TypeError", "TypeError")
    assert found["rebound"]["read"].startswith("403 ")
    assert found["rebound"]["by id"].startswith("403 ")
    for page in ("foreign", "rebound"):
        assert set(statuses[page].values()) == {403}, statuses
        assert [each.replace(page, "friend") for each in statuses[page]] == list(statuses["friend"])
