"""Comparison of the registry's own worker processes with uvicorn's: `python benchmarks/bench_workers.py`.

It starts the registry's application with four workers, once under the registry's parent process and once under
uvicorn's, over stores in memory, and prints for each the memory of all workers, how evenly 200 connections are
distributed, and how long a killed worker is missing. Then it prints the cost of counting one request: in the process's
own memory, and with prometheus-client in its mode for several processes.
"""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import uvicorn

from counterfoil.registry.app import create_app
from counterfoil.registry.serving.server import listen
from counterfoil.registry.serving.workers import Workers
from counterfoil.registry.settings import ServerSettings
from counterfoil.registry.telemetry import Telemetry

WORKERS = 4
CONNECTIONS = 200
COUNTED = 200_000
DEADLINE_S = 60.0
SETTINGS = ServerSettings(store="sqlite://", workers=WORKERS, log_requests=False)


def app() -> Any:
    """Return the application that uvicorn's workers serve."""
    return create_app(SETTINGS, telemetry=Telemetry()).asgi


def serve(kind: str, port: int) -> None:
    """Serve until SIGTERM."""
    if kind == "own":
        Workers(SETTINGS, [listen("127.0.0.1", port, is_shared=True) for _ in range(WORKERS)]).run()
    else:
        uvicorn.run("bench_workers:app", factory=True, port=port, workers=WORKERS, loop="uvloop", log_config=None)


def children_of(pid: int) -> list[int]:
    """Return the workers of a parent process."""
    found = [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [each for each in found if b"resource_tracker" not in Path(f"/proc/{each}/cmdline").read_bytes()]


def memory_mb(pid: int) -> float:
    """Return the memory of a process; what processes share is divided among them."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def sockets_of(pid: int) -> int:
    """Return how many sockets a process has open."""
    count = 0
    for each in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            count += str(each.readlink()).startswith("socket:")
    return count


def wait_for_all(parent: int, port: int) -> None:
    """Return when every worker has accepted a connection."""
    deadline_s = time.monotonic() + DEADLINE_S
    before: Counter[int] = Counter()
    connections: list[http.client.HTTPConnection] = []
    while time.monotonic() < deadline_s:
        workers = children_of(parent)
        if len(workers) == WORKERS:
            before = before or Counter({pid: sockets_of(pid) for pid in workers})
            with suppress(OSError):
                connections.append(connected(port))
            time.sleep(0.1)
        if len(workers) == WORKERS and len(connections) > WORKERS * 8:
            break
        time.sleep(0.05)
    for each in connections:
        each.close()


def connected(port: int) -> http.client.HTTPConnection:
    """Return a connection on which one request has been answered, and which stays open."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_S)
    connection.request("GET", "/mode")
    connection.getresponse().read()
    return connection


def measure(kind: str) -> None:
    """Print the figures of one kind of parent process."""
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, __file__, kind, str(port)], cwd=Path(__file__).parent)
    try:
        wait_for_all(server.pid, port)
        workers = children_of(server.pid)
        memory = sum(map(memory_mb, workers))
        idle = {pid: sockets_of(pid) for pid in workers}
        connections = [connected(port) for _ in range(CONNECTIONS)]
        shares = sorted(sockets_of(pid) - idle[pid] for pid in workers)
        for each in connections:
            each.close()
        began_s = time.monotonic()
        os.kill(workers[0], signal.SIGKILL)
        while not is_replaced(server.pid, workers):
            if time.monotonic() - began_s > DEADLINE_S:
                raise TimeoutError(f"{kind}: the killed worker was not replaced within {DEADLINE_S:g} s")
            time.sleep(0.005)
        missing_s = time.monotonic() - began_s
        print(f"{kind}: {memory:.0f} MB, connections {shares}, a killed worker is missing for {missing_s:.2f} s")
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(DEADLINE_S)


def is_replaced(parent: int, before: list[int]) -> bool:
    """Return whether a new worker runs its event loop in place of the first one: it has as many sockets as another."""
    new = set(children_of(parent)) - set(before)
    return bool(new) and sockets_of(new.pop()) >= min(map(sockets_of, before[1:]))


def cost_us(action: Any) -> float:
    """Return the CPU time of one call, in microseconds."""
    began_s = time.process_time()
    for _ in range(COUNTED):
        action()
    return (time.process_time() - began_s) / COUNTED * 1e6


def measure_counting() -> None:
    """Print the cost of counting one request."""
    own = Telemetry()
    print(f"counting a request, own memory: {cost_us(lambda: own.record('GET', '/mode', 200, 0.0004)):.2f} us")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        program = [sys.executable, __file__, "counting"]
        subprocess.run(program, check=True)


def measure_prometheus() -> None:
    """Print the cost of counting one request with prometheus-client, which reads its mode when it is imported."""
    from prometheus_client import CollectorRegistry, Histogram
    from prometheus_client import Counter as PrometheusCounter

    registry = CollectorRegistry()
    requests = PrometheusCounter("requests", "", ["method", "route", "status"], registry=registry)
    seconds = Histogram("seconds", "", ["route"], registry=registry)
    children = requests.labels("GET", "/mode", "200"), seconds.labels("/mode")

    def count() -> None:
        children[0].inc()
        children[1].observe(0.0004)

    def look_up_and_count() -> None:
        requests.labels("GET", "/mode", "200").inc()
        seconds.labels("/mode").observe(0.0004)

    print(f"counting a request, prometheus-client, labels kept: {cost_us(count):.2f} us")
    print(f"counting a request, prometheus-client, labels looked up: {cost_us(look_up_and_count):.2f} us")


def main() -> None:
    """Measure everything, or run as one of the processes that are measured."""
    match sys.argv[1:]:
        case ["counting"]:
            measure_prometheus()
        case [kind, port]:
            serve(kind, int(port))
        case _:
            for kind in ("own", "uvicorn"):
                measure(kind)
            measure_counting()


if __name__ == "__main__":
    main()
