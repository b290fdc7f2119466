"""The change feed over a socket: coming again after a cut, heartbeats, slow readers, and the end of the server."""

from __future__ import annotations

import json
import re
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from local_services import RegistryProcess, wait_until
from local_services.process import PATIENCE_S
from strategies.registry.event_listener import SocketListener

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[3] / "docs" / "changes.md"
LARGE = 60_000


@pytest.fixture
def registry() -> Iterator[RegistryProcess]:
    with RegistryProcess() as running:
        yield running


def send(url: str, method: str, body: Any) -> Any:
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}, method=method
    )
    with urllib.request.urlopen(request, timeout=120) as reply:
        return json.load(reply)


def change(registry: RegistryProcess, text: str = "") -> None:
    """One more change, about as large as ``text``."""
    send(f"{registry.url}/config/s", "PUT", {"defaultMetadata": {"properties": {"p": text}}})


def anonymous_memory_bytes(pid: int) -> int:
    """What a process has taken of memory, without the files that it has mapped."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.partition("RssAnon:")[2].split()[0]) * 1024


def test_who_comes_again_after_a_cut_goes_on_where_it_was(registry: RegistryProcess) -> None:
    for _ in range(5):
        change(registry)
    first = SocketListener(registry.url)
    assert first.status == 200
    assert first.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert first.take(3) == [1, 2, 3]
    first.cut()
    for _ in range(2):
        change(registry)
    again = SocketListener(registry.url, last_event_id=3)
    assert again.take(4) == [4, 5, 6, 7]
    registry.kill()
    registry.restart()
    after_a_crash = SocketListener(registry.url, "/changes?after=latest", last_event_id=7)
    change(registry)
    assert after_a_crash.take(1) == [8]
    after_a_crash.cut()
    again.cut()


def test_listeners_are_informed_that_the_server_ends() -> None:
    """A server that waited for them would wait for an hour, and be killed with another status than 0."""
    registry = RegistryProcess(settings={"COUNTERFOIL_STOP_TIMEOUT_S": "3600"})
    change(registry)
    listeners = [SocketListener(registry.url) for _ in range(20)]
    for listener in listeners:
        assert listener.take(1) == [1]
    with ThreadPoolExecutor(1) as thread:
        stopping = thread.submit(registry.stop)
        for listener in listeners:
            assert list(listener.events()) == []  # the last chunk comes: the stream is whole
        assert stopping.result() == 0


def test_a_slow_reader_costs_the_server_no_memory(registry: RegistryProcess) -> None:
    for _ in range(50):
        change(registry, "x" * LARGE)
    slow = SocketListener(registry.url, buffer=4096)
    idle = SocketListener(registry.url, "/changes?after=latest")
    before = anonymous_memory_bytes(registry.pid)
    total = 600
    for _ in range(total - 50):
        change(registry, "x" * LARGE)
    grown_bytes = anonymous_memory_bytes(registry.pid) - before
    assert grown_bytes < total * LARGE / 2, grown_bytes
    assert slow.take(total) == list(range(1, total + 1))
    slow.cut()
    idle.cut()


class _Hook(BaseHTTPRequestHandler):
    """Whoever is called when something has changed."""

    received: list[Any]

    def do_POST(self) -> None:
        self.received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        return


def test_the_webhook_of_the_documentation_works(registry: RegistryProcess, tmp_path: Path) -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    received: list[Any] = []
    handler = type("Hook", (_Hook,), {"received": received})
    hook = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=hook.serve_forever, daemon=True).start()
    code = code.replace("http://localhost:8081", registry.url)
    code = code.replace("https://hooks.example/schemas", f"http://127.0.0.1:{hook.server_port}/")
    code = code.replace("last-change", str(tmp_path / "last-change"))
    following = threading.Thread(target=_run_until_cut, args=(code,), daemon=True)
    following.start()
    try:
        for number in range(3):
            body = {"schema": json.dumps({"type": "fixed", "name": "F", "size": number + 1})}
            send(f"{registry.url}/subjects/s{number}/versions", "POST", body)
            change(registry)
        wait_until(lambda: len(received) >= 3, what="the webhook")
        assert [(each["kind"], each["subject"], each["seq"]) for each in received] == [
            ("version-registered", "s0", 1),
            ("version-registered", "s1", 3),
            ("version-registered", "s2", 5),
        ]
        wait_until(lambda: (tmp_path / "last-change").read_text() == "5", what="the place being kept")
    finally:
        registry.kill()
        following.join(PATIENCE_S)
        hook.shutdown()
        hook.server_close()
    assert not following.is_alive()


def _run_until_cut(code: str) -> None:
    """Run the example; it ends with an error of the network when the server goes."""
    try:
        exec(compile(code, str(PAGE), "exec"), {})
    except OSError:
        return
    except Exception as error:
        if type(error).__name__ not in {"IncompleteRead", "RemoteDisconnected"}:
            raise


def test_the_requests_of_the_documentation_work(registry: RegistryProcess) -> None:
    send(f"{registry.url}/subjects/orders-value/versions", "POST", {"schema": '"string"'})
    for _ in range(45):
        change(registry)
    paths = re.findall(
        r"curl -?s?N? ?(?:-H '[^']*' )?'?(http://localhost:8081/[^\s']+)", PAGE.read_text(encoding="utf-8")
    )
    assert len(paths) >= 5
    for path in paths:
        with urllib.request.urlopen(path.replace("http://localhost:8081", registry.url), timeout=120) as reply:
            assert reply.status == 200, path
