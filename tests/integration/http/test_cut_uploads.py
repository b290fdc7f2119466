"""Uploads whose connections are cut: nothing of them stays in the server."""

from __future__ import annotations

import gzip
import json
import os
import socket
import struct
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from local_services import wait_until
from strategies.registry.served import ask, served

if TYPE_CHECKING:
    from local_services.process import Service

CUTS = 100
MIB = 1024 * 1024
SENT = b"x" * (4 * MIB)
RESET = struct.pack("ii", 1, 0)
"""The option SO_LINGER with no time: closing sends a reset instead of waiting for what is on its way."""


def head(path: str, *lines: str) -> bytes:
    return "\r\n".join([f"POST {path} HTTP/1.1", "host: localhost", *lines, "", ""]).encode()


UPLOADS = {
    "sized": head("/subjects/s/versions", f"content-length: {9 * MIB}") + SENT,
    "chunked": head("/subjects/s/versions", "transfer-encoding: chunked") + b"%x\r\n%b" % (9 * MIB, SENT),
    "compressed": head("/subjects/s/versions", "content-encoding: gzip", f"content-length: {9 * MIB}")
    + gzip.compress(os.urandom(MIB))[: MIB // 2],
    "looked up": head("/subjects/s", f"content-length: {60 * 1024}") + SENT[:30_000],  # the answers from memory read it
    "validated": head("/contracts/v1/usage", f"content-length: {9 * MIB}") + SENT,
    "refused": head("/subjects/s/versions", "authorization: Basic bm86bm8=", f"content-length: {9 * MIB}") + SENT,
    "head alone": head("/subjects/s/versions", f"content-length: {9 * MIB}"),
    "half a head": b"POST /subjects/s/versions HTTP/1.1\r\nhost: loc",
}


def cut(port: int, sent: bytes, *, reset: bool) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=120) as connection:
        try:
            connection.sendall(sent)
        except ConnectionError:  # a refused upload is cut by the server
            return
        if reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


def open_files(service: Service) -> int:
    return len(list(Path(f"/proc/{service.pid}/fd").iterdir()))


def memory_mib(service: Service) -> float:
    line = next(line for line in Path(f"/proc/{service.pid}/status").read_text().splitlines() if "VmRSS" in line)
    return int(line.split()[1]) / 1024


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
def test_nothing_of_a_cut_upload_stays(tmp_path: Path, *, reset: bool) -> None:
    access = tmp_path / "access.yaml"
    access.write_text("open: [metrics]\nanonymous: [{allow: admin, on: registry}]\n")
    settings = {"auth_file": str(access), "audit_file": str(tmp_path / "audit.jsonl"), "rate_limit": "100000"}
    with served(tmp_path, **settings) as (port, service):
        for sent in UPLOADS.values():
            cut(port, sent, reset=reset)
        wait_until(lambda: ask("127.0.0.1", port, "GET", "/subjects") == (200, b"[]"), what="the server")
        files = open_files(service)
        before = memory_mib(service)
        for _ in range(CUTS):
            for sent in UPLOADS.values():
                cut(port, sent, reset=reset)
        wait_until(lambda: open_files(service) <= files, what="all connections to be closed")
        assert memory_mib(service) - before < len(UPLOADS) * CUTS * len(SENT) / MIB / 10
        body = {"body": json.dumps({"schema": '"int"'}), "headers": {"Content-Type": "application/json"}}
        assert ask("127.0.0.1", port, "POST", "/subjects/s/versions", **body)[0] == 200
        measures = ask("127.0.0.1", port, "GET", "/metrics")[1].decode().splitlines()
        assert "counterfoil_waiting_writes 0.0" in measures
        assert not [line for line in measures if 'status="500"' in line or 'status="504"' in line]
        assert service.stop() == 0
