"""The server's settings: one name in two spellings, ``--port`` and ``COUNTERFOIL_PORT``."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8081
DEFAULT_STORE = "sqlite:///counterfoil.db"
DEFAULT_MAX_BODY_BYTES = 10 * 1024 * 1024
DEFAULT_MAX_KEYS = 20_000
DEFAULT_KMS_TIMEOUT_S = 5.0
DEFAULT_MAX_WAITING_WRITES = 4096
DEFAULT_WRITE_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How a registry runs.

    ``port`` 0 lets the system choose. ``store`` is ``sqlite:///relative.db``, ``sqlite:////absolute.db``,
    ``sqlite://`` for memory, or ``postgresql://user@host/database``. A request body above ``max_body_bytes`` is refused
    with 413. ``log_requests`` writes one line a request, which costs about a third of the throughput of the quickest
    answers. ``fast_lane`` answers from memory, ahead of routing, what is asked most; the answers are the same without
    it. ``max_keys`` bounds the keys of the DEK registry; what a key management service does not answer within
    ``kms_timeout_s`` has failed. Without ``associations`` all calls about them are answered with 404, and none of them
    has a say in anything. A write that finds ``max_waiting_writes`` waiting for the store, or that has not been carried
    out within ``write_timeout_s``, is refused with 503.
    """

    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    store: str = DEFAULT_STORE
    max_body_bytes: int = DEFAULT_MAX_BODY_BYTES
    log_requests: bool = False
    fast_lane: bool = True
    max_keys: int = DEFAULT_MAX_KEYS
    kms_timeout_s: float = DEFAULT_KMS_TIMEOUT_S
    associations: bool = True
    max_waiting_writes: int = DEFAULT_MAX_WAITING_WRITES
    write_timeout_s: float = DEFAULT_WRITE_TIMEOUT_S
