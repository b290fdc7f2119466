"""Schema ids that are new while a bridge runs: what becomes of their records, and the service for executors."""

from __future__ import annotations

import errno
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import TYPE_CHECKING, Any, Final, TypeVar

from counterfoil.converter.bridge import ResolvedBridge, resolve
from counterfoil.converter.engines.lookup import (
    REQUEST_BYTES,
    SIGNATURE_BYTES,
    Half,
    LookupOutcome,
    RecipeForm,
    WriterLookup,
)
from counterfoil.converter.engines.protocol import Conversion, EngineCannot
from counterfoil.converter.engines.reference import recipe_of
from counterfoil.converter.errors import BridgeError
from counterfoil.converter.messages.table import reading_problem
from counterfoil.converter.run.checkpoint import Checkpoint, CheckpointIdentity
from counterfoil.schema.errors import CounterfoilError, SchemaNotFound
from counterfoil.schema.rest.versions import SubjectVersion
from counterfoil.sdk import Registry
from counterfoil.sdk.errors import RegistryUnavailable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# What becomes of records whose schema id the bridge does not know: the driver's part of ``engines/lookup.py``.
#
# A record can have an id only after the id was registered, so what the registry answers about an id that was just read
# is final. A version of the source's subject that the running plan reads is converted from then on. An id that the
# registry does not have is damaged data: a dead letter. Other ids are a decision of the person who runs the bridge
# (:class:`UnknownIds`): a schema of another subject, and a version that needs another plan. Keys that are converted
# have decisions of their own.

_PATIENCE_S: Final = 60.0
_PAUSE_S: Final = 0.5
_LARGEST_ID: Final = 2**31 - 1
"""Registries number schemas with integers of 32 bits; the four bytes of a frame can hold larger numbers."""


class UnknownIds(StrEnum):
    """What a run does at an id that the registry has and the plan cannot convert."""

    STOP = "stop"
    DEAD_LETTERS = "dead-letters"


@dataclass(frozen=True)
class WriterDecision:
    """What becomes of the records of one id, and why; if they are converted, with the ``name`` of their schema."""

    outcome: LookupOutcome
    text: str
    conversion: Conversion | None = None
    name: str = ""


class WriterDecisions:
    """Decides about schema ids that a running bridge does not know, once for each.

    ``bridge`` is that of values, or that of keys; ``registry`` None: none is named, and no id can be looked up.
    ``adopt`` is called with the bridge as the registry has it now, without keys of its own, before records of a new
    version are converted.
    """

    def __init__(
        self,
        bridge: ResolvedBridge,
        registry: Registry | None,
        policy: UnknownIds,
        *,
        adopt: Callable[[ResolvedBridge], None] = lambda _found: None,
        patience_s: float = _PATIENCE_S,
    ) -> None:
        self._bridge = bridge
        self._registry = registry
        self._policy = policy
        self._adopt = adopt
        self._patience_s = patience_s

    def decide(self, schema_id: int) -> WriterDecision:
        """Return what becomes of the records of an id; wait for a registry that does not answer."""
        deadline = time.monotonic() + self._patience_s
        while True:
            try:
                return self._decided(schema_id)
            except RegistryUnavailable as failure:
                if time.monotonic() > deadline:
                    return WriterDecision(LookupOutcome.STOP, f"schema id {schema_id} cannot be looked up: {failure}")
            except CounterfoilError as failure:
                return WriterDecision(LookupOutcome.STOP, f"schema id {schema_id} cannot be looked up: {failure}")
            time.sleep(_PAUSE_S)

    def unusable(self, text: str) -> WriterDecision:
        """Return the decision about an id that the registry has and that cannot be converted."""
        if self._policy is UnknownIds.STOP:
            return WriterDecision(
                LookupOutcome.STOP,
                f"{text}; change the bridge and start it again, or run it with --unknown-ids dead-letters",
            )
        return WriterDecision(LookupOutcome.DEAD_LETTER, f"{text}; its records are dead letters")

    def _decided(self, schema_id: int) -> WriterDecision:
        from counterfoil.sdk import Visibility

        if self._registry is None:
            return self.unusable(f"schema id {schema_id} is not in the package of the bridge, and no registry is named")
        subject = self._bridge.file.source_subject
        uses: tuple[SubjectVersion, ...] = ()
        if schema_id <= _LARGEST_ID:
            with suppress(SchemaNotFound):
                uses = self._registry.versions_of_id(schema_id, subject=subject, visibility=Visibility.WITH_DELETED)
        if not uses:
            return WriterDecision(
                LookupOutcome.DEAD_LETTER, f"schema id {schema_id} is not in the registry; its records are dead letters"
            )
        versions = [each.version for each in uses if each.subject == subject]
        if not versions:
            names = ", ".join(sorted({each.subject for each in uses}))
            return self.unusable(f"schema id {schema_id} belongs to {names}, and not to {subject}")
        return self._version(schema_id, self._registry, f"schema id {schema_id} (version {versions[0]} of {subject})")

    def _version(self, schema_id: int, registry: Registry, name: str) -> WriterDecision:
        """Decide about a version of the source's subject that was registered after the start."""
        running = self._bridge
        found = resolve(replace(running.file, target_version=running.target_version, keys=None), registry)
        if running.is_earlier and found.earlier is not None:
            found = found.earlier
        writer = found.writer_by_id[schema_id]
        problem = reading_problem(running.plan.source, writer)
        if problem is not None:
            newest = running.version_by_id[running.newest_id]
            return self.unusable(f"{name} cannot be read as version {newest}: {problem}")
        if found.plan.root != running.plan.root:
            return self.unusable(f"{name} changes how the target is filled, which needs a new start of the bridge")
        conversion = replace(running.conversion(), writer_by_id={schema_id: writer}, lookup=None)
        try:
            recipe_of(conversion)
        except EngineCannot as refusal:
            return self.unusable(f"{name} cannot be converted by the running plan: {refusal.field}: {refusal.why}")
        self._adopt(found)
        left = "; ".join(str(each) for each in found.plan.problems)
        warning = f"; the next start needs a change of the bridge: {left}" if left else ""
        text = f"{name} was registered after the start; it is converted{warning}"
        return WriterDecision(LookupOutcome.CONVERT, text, conversion, name)


def decisions_for(
    bridge: ResolvedBridge, registry: Registry | None, checkpoint: Checkpoint | None, *, policy: str
) -> dict[Half, WriterDecisions]:
    """Return the decisions of a run; a new version makes the checkpoint that of the bridge with this version.

    With ``checkpoint`` None it stays that of the bridge as it is: the next run has the schemas of the same package.
    """
    current = bridge

    def claim(changed: ResolvedBridge) -> None:
        nonlocal current
        current = changed
        if checkpoint is not None:
            checkpoint.claim(CheckpointIdentity.of(current), force=True)

    unknown = UnknownIds(policy)
    made = {
        Half.VALUE: WriterDecisions(
            bridge, registry, unknown, adopt=lambda found: claim(replace(found, file=bridge.file, keys=current.keys))
        )
    }
    if bridge.keys is not None:
        made[Half.KEY] = WriterDecisions(
            bridge.keys, registry, unknown, adopt=lambda found: claim(replace(current, keys=found))
        )
    return made


# The service of a run that answers executors about new schema ids: the driver's end of ``engines/lookup.py``.

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
        self._decided: dict[tuple[Half, int], WriterDecision] = {}
        self._contents: dict[tuple[RecipeForm, Half, int], bytes] = {}
        self._makers: Mapping[RecipeForm, Callable[[Conversion], bytes]] = {}
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
        form, half, schema_id = RecipeForm(request[:1]), Half(request[1:2]), int.from_bytes(request[2:])
        with self._lock:
            decision = self._decision(schema_id, half, form)
            if decision.outcome is LookupOutcome.CONVERT:
                return lookup.answer(request, decision.outcome, self._contents[form, half, schema_id])
        return lookup.answer(request, decision.outcome, decision.text.encode())

    def _decision(self, schema_id: int, half: Half, form: RecipeForm) -> WriterDecision:
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

    def _report(self, decision: WriterDecision) -> None:
        if decision.outcome is LookupOutcome.STOP:
            self.failure = decision.text
        elif decision.outcome is LookupOutcome.CONVERT or len(self._decided) <= _PRINTED_IDS:
            self._say(decision.text)


def makers_in(spark: SparkSession) -> Mapping[RecipeForm, Callable[[Conversion], bytes]]:
    """Return what makes the contents of answers for the tasks of a session."""

    def classes(conversion: Conversion) -> bytes:
        from counterfoil.converter.engines.java.engine import JavaEngine
        from counterfoil.converter.engines.java.generator import packed_classes

        return packed_classes(spark, JavaEngine(conversion).source)

    return {RecipeForm.JAVA: classes, RecipeForm.RECIPE: lambda conversion: recipe_of(conversion).packed}


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

    def handle_error(self, request: object, client_address: object) -> None:
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
