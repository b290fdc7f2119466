"""How quick the registry is on PostgreSQL, beside SQLite in the same run.

``python benchmarks/bench_registry_postgres.py`` prints registrations a second, every answered write on the disk: on a
SQLite file, on PostgreSQL by one server, by several servers on one database, and by several servers that are
``--delay-ms`` away from the database, through a forwarder that holds everything back for half of that each way.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "deploy"))

from bench_registry import CLIENTS, Server, measure

from local_services import PostgresServer, free_port

NODES = 4


async def forward(reader, writer, delay_s):
    """Hand on what comes, ``delay_s`` later, in order."""
    loop = asyncio.get_running_loop()
    while data := await reader.read(65536):
        loop.call_later(delay_s, writer.write, data)
    loop.call_later(delay_s, writer.close)


async def delay(port, target, delay_s):
    async def accept(reader, writer):
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", target)
        await asyncio.gather(forward(reader, there_writer, delay_s), forward(there_reader, writer, delay_s))

    server = await asyncio.start_server(accept, "127.0.0.1", port)
    print("ready", flush=True)
    await server.serve_forever()


def start(store, count):
    counterfoil = str(Path(sys.executable).with_name("counterfoil"))
    ports = [free_port() for _ in range(count)]
    return [Server([counterfoil, "serve", "--port", str(port), "--store", store], port) for port in ports]


def load(servers, kind, seconds):
    """Registrations a second over all servers, the worst p99, and the servers' CPU time a request."""
    found = [None] * len(servers)

    def one(index):
        found[index] = measure(servers[index], kind, seconds, clients=CLIENTS // len(servers))

    threads = [threading.Thread(target=one, args=(index,)) for index in range(len(servers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {
        "per_s": sum(each["per_s"] for each in found),
        "p99_ms": max(each["p99_ms"] for each in found),
        "cpu_us": statistics.mean(each["cpu_us"] for each in found),
    }


def report(rounds, seconds, delay_ms):
    with tempfile.TemporaryDirectory(prefix="counterfoil-bench-") as folder, PostgresServer(durable=True) as postgres:
        far = free_port()
        command = [sys.executable, __file__, "--forward", str(far), str(postgres.port), "--delay-ms", str(delay_ms)]
        forwarder = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        forwarder.stdout.readline()
        stores = {
            "SQLite, 1 server": start(f"sqlite:///{folder}/bench.db", 1),
            "PostgreSQL, 1 server": start(postgres.create_database("one"), 1),
            f"PostgreSQL, {NODES} servers": start(postgres.create_database("many"), NODES),
            f"PostgreSQL {delay_ms:g} ms away, {NODES} servers": start(
                postgres.create_database("far").replace(f":{postgres.port}/", f":{far}/"), NODES
            ),
        }
        try:
            for kind, what in (("subjects", "new subjects"), ("versions", "new versions, checked")):
                runs = {name: [] for name in stores}
                for _ in range(rounds):
                    for name, servers in stores.items():
                        runs[name].append(load(servers, kind, seconds))
                show(what, runs)
        finally:
            for servers in stores.values():
                for server in servers:
                    server.stop()
            forwarder.terminate()
            forwarder.wait(30)


def show(what, runs):
    print(f"{what}, {CLIENTS} clients")
    first = next(iter(runs.values()))
    for name, each in runs.items():
        ratio = statistics.median(run["per_s"] / pair["per_s"] for run, pair in zip(each, first, strict=True))
        per_s, p99_ms, cpu_us = (statistics.median(run[key] for run in each) for key in ("per_s", "p99_ms", "cpu_us"))
        print(
            f"  {name:36} {per_s:7.0f}/s  {ratio:5.2f} of SQLite  p99 {p99_ms:6.1f} ms  {cpu_us:5.0f} us CPU a server"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--delay-ms", type=float, default=2.0)
    parser.add_argument("--forward", type=int, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.forward:
        asyncio.run(delay(*options.forward, options.delay_ms / 2000))
    else:
        report(options.rounds, options.seconds, options.delay_ms)


if __name__ == "__main__":
    main()
