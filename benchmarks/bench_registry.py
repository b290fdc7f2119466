"""How quick the registry is, as ratios to a server that does nothing, taken in turns on the same machine.

``python benchmarks/bench_registry.py`` prints: what is asked most (an id, a latest version, a registration that is
there already, a compatibility test) against a bare ASGI application under the same server settings (by time, and by CPU
time of the server, which a busy machine disturbs less), and new registrations a second on a SQLite file with every
answered write on the disk. The load comes from a process of its own, over raw sockets.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

BODY = json.dumps({"schema": "x" * 380}).encode()
SCHEMAS = 2000
FIRST_ID = 1000
CLIENTS = 32
_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


# --- the servers ------------------------------------------------------------------------------------------------------


async def hello(scope, _receive, send):
    """The least that an ASGI application can do."""
    if scope["type"] != "http":
        return
    await send(
        {
            "type": "http.response.start",
            "status": 200,
            "headers": [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(BODY))],
        }
    )
    await send({"type": "http.response.body", "body": BODY})


def run_hello(port):
    import uvicorn

    uvicorn.run(
        hello,
        port=port,
        http="httptools",
        loop="uvloop",
        access_log=False,
        log_level="error",
        lifespan="off",
        server_header=False,
    )


class Server:
    """A server process, its port, and the CPU time that it has used."""

    def __init__(self, command, port):
        self.port = port
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health/live", timeout=1).read()
            except OSError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise
                time.sleep(0.05)
            else:
                return

    @property
    def cpu_s(self):
        """CPU time so far, in seconds."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        """End the process."""
        self.process.terminate()
        self.process.wait(30)


# --- the load ---------------------------------------------------------------------------------------------------------


def requests_of(kind, client):
    """The requests of one client, one after another, for ever."""
    if kind in KNOWN:
        number = client * 31
        while True:
            number = (number + 1) % (SCHEMAS - FIRST_ID)
            yield KNOWN[kind](FIRST_ID + number)
    count = 0
    stamp = f"{os.getpid()}_{client}"
    while True:
        count += 1
        if kind == "subjects":
            yield registration(f"s-{stamp}-{count}", record(f"R_{stamp}_{count}", 10))
        else:  # ten versions a subject, each with one field more
            subject, version = divmod(count, 10)
            yield registration(f"v-{stamp}-{subject}", record(f"V_{stamp}_{subject}", 10 + version))


def record(name, fields):
    return {
        "type": "record",
        "name": name,
        "namespace": "bench",
        "fields": [
            {"name": f"field_{number}", "type": ["null", "string"], "default": None} for number in range(fields)
        ],
    }


def registration(subject, schema):
    return posted(f"/subjects/{subject}/versions", schema)


def posted(path, schema):
    body = json.dumps({"schema": json.dumps(schema)}).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def got(path):
    return f"GET {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode()


def filled(number):
    """The schema that is there from the beginning under this number."""
    return {"type": "fixed", "name": f"F{number:05}", "size": 10000 + number}


KNOWN = {
    "by id": lambda number: got(f"/schemas/ids/{number}"),
    "latest": lambda number: got(f"/subjects/s{number:05}/versions/latest"),
    "same again": lambda number: registration(f"s{number:05}", filled(number)),
    "test": lambda number: posted(f"/compatibility/subjects/s{number:05}/versions/latest", filled(number)),
}
"""What was asked before, and is asked again."""


class Client(asyncio.Protocol):
    """Sends a request whenever the last one is answered."""

    def __init__(self, requests, tally):
        self.requests, self.tally, self.data = requests, tally, b""

    def connection_made(self, transport):
        """Send the first request."""
        self.transport = transport
        self.begin()

    def begin(self):
        """Send the next request."""
        self.begun = time.perf_counter()
        self.transport.write(next(self.requests))

    def data_received(self, data):
        """Take the answer in, and go on when it is whole."""
        self.data = data = self.data + data
        end = data.find(b"\r\n\r\n")
        if end < 0 or len(data) < end + 4 + int(_LENGTH.search(data, 0, end)[1]):
            return
        self.tally.append(time.perf_counter() - self.begun)
        if data[9:12] != b"200":
            raise SystemExit(data.decode())
        self.data = b""
        self.begin()


async def load(port, kind, clients, seconds):
    loop, tally = asyncio.get_running_loop(), []
    connections = [
        await loop.create_connection(lambda n=number: Client(requests_of(kind, n), tally), "127.0.0.1", port)
        for number in range(clients)
    ]
    begun = time.perf_counter()
    await asyncio.sleep(seconds)
    elapsed = time.perf_counter() - begun
    done = sorted(tally)
    for transport, _ in connections:
        transport.abort()
    print(json.dumps({"per_s": len(done) / elapsed, "p99_ms": done[len(done) * 99 // 100] * 1000, "n": len(done)}))


def measure(server, kind, seconds, clients=CLIENTS):
    """One measurement: requests a second, and the server's CPU time a request in microseconds."""
    before = server.cpu_s
    output = subprocess.run(
        [
            *(sys.executable, __file__, "--load", kind, "--port", str(server.port)),
            *("--clients", str(clients), "--seconds", str(seconds)),
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = json.loads(output)
    return {**found, "cpu_us": (server.cpu_s - before) / found["n"] * 1e6}


# --- the report -------------------------------------------------------------------------------------------------------


def fill(port):
    for number in range(SCHEMAS):
        body = json.dumps({"schema": json.dumps(filled(number))})
        url = f"http://127.0.0.1:{port}/subjects/s{number:05}/versions"
        request = urllib.request.Request(url, body.encode(), {"content-type": "application/json"})
        urllib.request.urlopen(request, timeout=30).read()


def median(runs, key):
    return statistics.median(run[key] for run in runs)


def report(rounds, seconds, base_port):
    with tempfile.TemporaryDirectory(prefix="counterfoil-bench-") as folder:
        bare = Server([sys.executable, __file__, "--hello", "--port", str(base_port)], base_port)
        counterfoil = str(Path(sys.executable).with_name("counterfoil"))
        command = [counterfoil, "serve", "--port", str(base_port + 1), "--store", f"sqlite:///{folder}/bench.db"]
        ours = Server(command, base_port + 1)
        try:
            fill(ours.port)
            for kind in KNOWN:
                measure(ours, kind, 1)
            rounds_run = [
                {"bare": measure(bare, "by id", seconds), **{kind: measure(ours, kind, seconds) for kind in KNOWN}}
                for _ in range(rounds)
            ]
            hello_runs = [each["bare"] for each in rounds_run]
            for kind in ("bare", *KNOWN):
                runs = [each[kind] for each in rounds_run]
                by_time = statistics.median(each[kind]["per_s"] / each["bare"]["per_s"] for each in rounds_run)
                by_cpu = statistics.median(each["bare"]["cpu_us"] / each[kind]["cpu_us"] for each in rounds_run)
                print(f"{kind:12} {median(runs, 'per_s'):9.0f}/s {median(runs, 'cpu_us'):7.1f} us CPU"
                      f"  p99 {median(runs, 'p99_ms'):5.2f} ms"
                      f"  {by_time:.3f} of bare by time, {by_cpu:.3f} by CPU")  # fmt: skip
            for kind, what in (("subjects", "new subjects"), ("versions", "new versions, checked")):
                runs = [measure(ours, kind, seconds) for _ in range(rounds)]
                share = median(hello_runs, "cpu_us") / median(runs, "cpu_us")
                print(f"registrations, {what}: {median(runs, 'per_s'):.0f}/s at {CLIENTS} clients, {share:.4f} of bare,"
                      f" {median(runs, 'cpu_us'):.0f} us CPU, p99 {median(runs, 'p99_ms'):.1f} ms")  # fmt: skip
        finally:
            bare.stop()
            ours.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--port", type=int, default=18300)
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--hello", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--load", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.hello:
        run_hello(options.port)
    elif options.load:
        import uvloop

        uvloop.run(load(options.port, options.load, options.clients, options.seconds))
    else:
        report(options.rounds, options.seconds, options.port)


if __name__ == "__main__":
    main()
