"""The service of a run that answers executors about new schema ids: the driver's end of ``engines/lookup.py``.

What it answers is decided in :mod:`counterfoil.converter.run.writers`.
"""

from __future__ import annotations

import errno
import secrets
import socket
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import TYPE_CHECKING, Any, Final, TypeVar

from counterfoil.converter.engines.cannot import EngineCannot
from counterfoil.converter.engines.lookup import REQUEST_BYTES, SIGNATURE_BYTES, Form, Half, Outcome, WriterLookup
from counterfoil.converter.engines.record import recipe_of
from counterfoil.converter.errors import BridgeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

    from counterfoil.converter.engines.protocol import Conversion
    from counterfoil.converter.run.writers import Decision, WriterDecisions

_Part = TypeVar("_Part")
_LARGEST_PORT: Final = 65535
_PRINTED_IDS: Final = 20
"""How many dead ids are printed; damaged records may have any number of them."""


@dataclass(frozen=True)
class ServiceAddress:
    """Where executors reach the driver: an empty host is the one at which they reach Spark's driver, 0 a free port."""

    host: str = ""
    port: int = 0

    def __str__(self) -> str:
        host = f"[{_bare(self.host)}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse_address(text: str) -> ServiceAddress:
    """Return the address of ``HOST:PORT``, ``[IPV6]:PORT`` or ``PORT``. Raises ``ValueError``."""
    host, _, port = text.rpartition(":")
    is_host = bool(host) and (":" not in host or (host.startswith("[") and host.endswith("]")))
    if not port.isascii() or not port.isdecimal() or int(port) > _LARGEST_PORT or not (is_host or text == port):
        raise ValueError(f"{text!r} is not HOST:PORT, [IPV6]:PORT or PORT")
    return ServiceAddress(host, int(port))


class WriterService:
    """Answers the requests of executors; ``say`` is called with a line about each id.

    ``address`` is where executors reach the driver. ``failure`` is why the run ends, if an id ended it. A connection
    that sends no request is closed after ``patience_s``.
    """

    def __init__(
        self, say: Callable[[str], None], address: ServiceAddress | None = None, *, patience_s: float = 10.0
    ) -> None:
        self.failure: str | None = None
        self._decisions: Mapping[Half, WriterDecisions] = {}
        self._say = say
        self._address = address
        self.patience_s = patience_s
        self._decided: dict[tuple[Half, int], Decision] = {}
        self._contents: dict[tuple[Form, Half, int], bytes] = {}
        self._makers: Mapping[Form, Callable[[Conversion], bytes]] = {}
        self._lookup: WriterLookup | None = None
        self._lock = threading.Lock()

    def use(self, decisions: Mapping[Half, WriterDecisions]) -> None:
        """Decide with these; call it before ``serving``."""
        self._decisions = decisions

    def lookup(self) -> WriterLookup:
        """Return the address, for values; the service must be running."""
        return _required(self._lookup)

    def key_lookup(self) -> WriterLookup:
        """Return the address, for keys; the service must be running."""
        return replace(self.lookup(), half=Half.KEY)

    @contextmanager
    def serving(self, spark: SparkSession) -> Iterator[None]:
        """Answer requests of a session's executors during the block, at the address at which they reach the driver."""
        self._makers = makers_in(spark)
        driver = spark.conf.get("spark.driver.host") or ""
        wanted = self._address or ServiceAddress()
        host = wanted.host or driver
        bound = spark.conf.get("spark.driver.bindAddress", host) or host
        places = [replace(wanted, host=each) for each in (wanted.host, bound) if each]
        with _server_at(places, self) as server:
            self._lookup = WriterLookup(_bare(host), server.server_address[1], secrets.token_hex(32))
            thread = threading.Thread(target=server.serve_forever, args=(0.1,), name="new schema ids", daemon=True)
            thread.start()
            try:
                yield
            finally:
                self._lookup = None
                server.shutdown()

    def answer(self, request: bytes, signature: bytes) -> bytes:
        """Return the answer to a request; nothing to a request that is not signed."""
        lookup = self._lookup
        if lookup is None:  # the run has ended; so do its tasks
            return b""
        if len(request) != REQUEST_BYTES or not lookup.is_signed(request, signature):
            return b""
        form, half, schema_id = Form(request[:1]), Half(request[1:2]), int.from_bytes(request[2:])
        with self._lock:
            decision = self._decision(schema_id, half, form)
            if decision.outcome is Outcome.CONVERT:
                return lookup.answer(request, decision.outcome, self._contents[form, half, schema_id])
        return lookup.answer(request, decision.outcome, decision.text.encode())

    def _decision(self, schema_id: int, half: Half, form: Form) -> Decision:
        """Return the decision about an id, with the content of the answer if its records are converted."""
        decisions = _required(self._decisions.get(half))
        known = self._decided.get((half, schema_id))
        decision = known or decisions.decide(schema_id)
        if decision.conversion is not None and (form, half, schema_id) not in self._contents:
            try:
                self._contents[form, half, schema_id] = self._makers[form](decision.conversion)
            except EngineCannot as refusal:
                decision = decisions.unusable(f"{decision.name}: {refusal}")
        if decision is not known:
            self._decided[half, schema_id] = decision
            self._report(decision)
        return decision

    def report_error(self, error: BaseException) -> None:
        """Print why a request was not answered, if the run is not about to end; the task that waits ends the run."""
        if self._lookup is not None:
            text = f"a new schema id could not be looked up: {type(error).__name__}: {error}"
            self.failure = self.failure or text
            self._say(" ".join(text.split()))

    def _report(self, decision: Decision) -> None:
        if decision.outcome is Outcome.STOP:
            self.failure = decision.text
        elif decision.outcome is Outcome.CONVERT or len(self._decided) <= _PRINTED_IDS:
            self._say(decision.text)


def makers_in(spark: SparkSession) -> Mapping[Form, Callable[[Conversion], bytes]]:
    """Return what makes the contents of answers for the tasks of a session."""

    def classes(conversion: Conversion) -> bytes:
        from counterfoil.converter.engines.java.engine import JavaEngine
        from counterfoil.converter.engines.java.loading import packed_classes

        return packed_classes(spark, JavaEngine(conversion).source)

    return {Form.JAVA: classes, Form.RECIPE: lambda conversion: recipe_of(conversion).packed}


def _required(part: _Part | None) -> _Part:
    if part is None:
        raise BridgeError("The service for new schema ids is not running")
    return part


def _bare(host: str) -> str:
    """Return a host without the brackets in which Spark writes addresses of IPv6."""
    return host.removeprefix("[").removesuffix("]")


def _server_at(places: Sequence[ServiceAddress], service: WriterService) -> _Server:
    """Return a server, of IPv4 or IPv6, that listens at the first place that is an address of this machine."""
    for place in places:
        try:
            found = socket.getaddrinfo(_bare(place.host), place.port, type=socket.SOCK_STREAM)
            family, _, _, _, address = min(found, key=lambda each: each[0] != socket.AF_INET)  # Java's order
            return _Server(address, family, service)
        except OSError as refusal:
            if refusal.errno != errno.EADDRNOTAVAIL or place is places[-1]:
                raise BridgeError(
                    f"The driver cannot listen at {place} for requests of executors: {refusal.strerror}; --id-service "
                    "names another place"
                ) from None
    raise BridgeError("The driver has no address at which executors reach it; --id-service names one")


class _Server(ThreadingTCPServer):
    allow_reuse_address = True  # a bridge with a fixed port may start again at once
    daemon_threads = True
    request_queue_size = 128  # all tasks may read the first record with a new id at the same time

    def __init__(self, place: Any, family: socket.AddressFamily, service: WriterService) -> None:
        self.service = service
        self.address_family = family
        super().__init__(place, _Requests)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print one line about an error, but nothing about a connection that breaks off, or while the run ends."""
        del request, client_address
        error = sys.exception()
        if error is not None and not isinstance(error, OSError):
            self.service.report_error(error)


class _Requests(StreamRequestHandler):
    server: _Server

    def setup(self) -> None:
        """Limit the time for a request."""
        self.request.settimeout(self.server.service.patience_s)
        super().setup()

    def handle(self) -> None:
        """Answer one request."""
        request, signature = self.rfile.read(REQUEST_BYTES), self.rfile.read(SIGNATURE_BYTES)
        self.wfile.write(self.server.service.answer(request, signature))
