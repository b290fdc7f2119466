"""What becomes of records whose schema id the bridge does not know: the driver's part of ``engines/lookup.py``.

A record can have an id only after the id was registered, so what the registry answers about an id that was just read is
final. A version of the source's subject that the running plan reads is converted from then on. An id that the registry
does not have is damaged data: a dead letter. Other ids are a decision of the person who runs the bridge
(:class:`UnknownIds`): a schema of another subject, and a version that needs another plan.
"""

from __future__ import annotations

import secrets
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import TYPE_CHECKING, Final, TypeVar

from counterfoil.converter.bridge.resolve import resolve
from counterfoil.converter.engines.cannot import EngineCannot
from counterfoil.converter.engines.lookup import REQUEST_BYTES, SIGNATURE_BYTES, Form, Outcome, WriterLookup
from counterfoil.converter.engines.record import recipe_of
from counterfoil.converter.errors import BridgeError
from counterfoil.converter.messages.table import reading_problem
from counterfoil.converter.run.checkpoint import Identity
from counterfoil.schema.errors import CounterfoilError, SchemaNotFound
from counterfoil.sdk.errors import RegistryUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import SparkSession

    from counterfoil.converter.bridge.resolve import ResolvedBridge
    from counterfoil.converter.engines.protocol import Conversion
    from counterfoil.converter.run.checkpoint import Checkpoint
    from counterfoil.sdk import Registry

_Part = TypeVar("_Part")
_PATIENCE_S: Final = 60.0
_PAUSE_S: Final = 0.5
_LARGEST_ID: Final = 2**31 - 1
"""Registries number schemas with integers of 32 bits; the four bytes of a frame can hold larger numbers."""
_SAID: Final = 20
"""How many dead ids are printed; damaged records may have any number of them."""


class UnknownIds(StrEnum):
    """What a run does at an id that the registry has and the plan cannot convert."""

    STOP = "stop"
    DEAD_LETTERS = "dead-letters"


@dataclass(frozen=True)
class Decision:
    """What becomes of the records of one id, and why; ``conversion`` if they are converted."""

    outcome: Outcome
    text: str
    conversion: Conversion | None = None


class WriterDecisions:
    """Decides about schema ids that a running bridge does not know, once for each.

    ``adopt`` is called with the bridge as the registry has it now, before records of a new version are converted.
    """

    def __init__(
        self,
        bridge: ResolvedBridge,
        registry: Registry,
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

    def decide(self, schema_id: int) -> Decision:
        """Return what becomes of the records of an id; wait for a registry that does not answer."""
        deadline = time.monotonic() + self._patience_s
        while True:
            try:
                return self._decided(schema_id)
            except RegistryUnavailable as failure:
                if time.monotonic() > deadline:
                    return Decision(Outcome.STOP, f"schema id {schema_id} cannot be looked up: {failure}")
            except CounterfoilError as failure:
                return Decision(Outcome.STOP, f"schema id {schema_id} cannot be looked up: {failure}")
            time.sleep(_PAUSE_S)

    def unusable(self, text: str) -> Decision:
        """Return the decision about an id that the registry has and that cannot be converted."""
        if self._policy is UnknownIds.STOP:
            return Decision(
                Outcome.STOP, f"{text}; change the bridge and start it again, or run it with --unknown-ids dead-letters"
            )
        return Decision(Outcome.DEAD_LETTER, f"{text}; its records are dead letters")

    def _decided(self, schema_id: int) -> Decision:
        from counterfoil.sdk import Visibility

        subject, uses = self._bridge.file.source_subject, ()
        if schema_id <= _LARGEST_ID:
            with suppress(SchemaNotFound):
                uses = self._registry.versions_of_id(schema_id, subject=subject, visibility=Visibility.WITH_DELETED)
        if not uses:
            return Decision(
                Outcome.DEAD_LETTER, f"schema id {schema_id} is not in the registry; its records are dead letters"
            )
        versions = [each.version for each in uses if each.subject == subject]
        if not versions:
            names = ", ".join(sorted({each.subject for each in uses}))
            return self.unusable(f"schema id {schema_id} belongs to {names}, and not to {subject}")
        return self._version(schema_id, f"schema id {schema_id} (version {versions[0]} of {subject})")

    def _version(self, schema_id: int, name: str) -> Decision:
        """Decide about a version of the source's subject that was registered after the start."""
        running = self._bridge
        found = resolve(replace(running.file, target_version=running.target_version), self._registry)
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
        return Decision(Outcome.CONVERT, f"{name} was registered after the start; it is converted{warning}", conversion)


class WriterService:
    """Answers the requests of executors; ``say`` is called with a line about each id.

    ``failure`` is why the run ends, if an id ended it.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self.failure: str | None = None
        self._decisions: WriterDecisions | None = None
        self._say = say
        self._decided: dict[int, Decision] = {}
        self._contents: dict[tuple[Form, int], bytes] = {}
        self._makers: Mapping[Form, Callable[[Conversion], bytes]] = {}
        self._lookup: WriterLookup | None = None
        self._lock = threading.Lock()

    def use(self, decisions: WriterDecisions) -> None:
        """Decide with these; call it before ``serving``."""
        self._decisions = decisions

    def lookup(self) -> WriterLookup:
        """Return the address; the service must be running."""
        return _required(self._lookup)

    @contextmanager
    def serving(self, spark: SparkSession) -> Iterator[None]:
        """Answer requests of a session's executors during the block, at the address at which they reach the driver."""
        self._makers = makers_in(spark)
        host = spark.conf.get("spark.driver.host") or ""
        with _Server((spark.conf.get("spark.driver.bindAddress", host) or host, 0), self) as server:
            self._lookup = WriterLookup(host, server.server_address[1], secrets.token_hex(32))
            thread = threading.Thread(target=server.serve_forever, name="new schema ids", daemon=True)
            thread.start()
            try:
                yield
            finally:
                server.shutdown()
                self._lookup = None

    def answer(self, request: bytes, signature: bytes) -> bytes:
        """Return the answer to a request; nothing to a request that is not signed."""
        lookup = self.lookup()
        if len(request) != REQUEST_BYTES or not lookup.is_signed(request, signature):
            return b""
        form, schema_id = Form(request[:1]), int.from_bytes(request[1:])
        with self._lock:
            decision = self._decision(schema_id, form)
            if decision.outcome is Outcome.CONVERT:
                return lookup.answer(request, decision.outcome, self._contents[form, schema_id])
        return lookup.answer(request, decision.outcome, decision.text.encode())

    def _decision(self, schema_id: int, form: Form) -> Decision:
        """Return the decision about an id, with the content of the answer if its records are converted."""
        decisions = _required(self._decisions)
        known = self._decided.get(schema_id)
        decision = known or decisions.decide(schema_id)
        if decision.conversion is not None and (form, schema_id) not in self._contents:
            try:
                self._contents[form, schema_id] = self._makers[form](decision.conversion)
            except EngineCannot as refusal:
                decision = decisions.unusable(f"{decision.text.partition(' was ')[0]}: {refusal}")
        if decision is not known:
            self._decided[schema_id] = decision
            self._report(decision)
        return decision

    def _report(self, decision: Decision) -> None:
        if decision.outcome is Outcome.STOP:
            self.failure = decision.text
        elif decision.outcome is Outcome.CONVERT or len(self._decided) <= _SAID:
            self._say(decision.text)


def decisions_for(
    bridge: ResolvedBridge, registry: Registry, checkpoint: Checkpoint, *, policy: str
) -> WriterDecisions:
    """Return the decisions of a run; a new version makes the checkpoint that of the bridge with this version."""
    return WriterDecisions(
        bridge, registry, UnknownIds(policy), adopt=lambda found: checkpoint.claim(Identity.of(found), force=True)
    )


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


class _Server(ThreadingTCPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], service: WriterService) -> None:
        self.service = service
        super().__init__(address, _Requests)


class _Requests(StreamRequestHandler):
    timeout = 10.0
    server: _Server

    def handle(self) -> None:
        """Answer one request."""
        request, signature = self.rfile.read(REQUEST_BYTES), self.rfile.read(SIGNATURE_BYTES)
        self.wfile.write(self.server.service.answer(request, signature))
