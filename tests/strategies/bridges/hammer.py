"""Bridges that run while what they need is killed, stopped or filled, at moments drawn from a seed.

A scenario is one bridge on topics of its own: it is started, gets one fault at a random moment, is started again
until it ends well, and is verified. The languages and the ways of delivery take turns, and so do the kinds of faults.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from counterfoil.converter.kafka.cluster import Cluster
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.model import Schema, SchemaType
from counterfoil.schema.plans.bridge import DeliveryGuarantee
from counterfoil.schema.rest.bridges import NewBridge
from counterfoil.sdk import (
    AvroSerializer,
    JsonSerializer,
    ProtobufSerializer,
    Registry,
    SerializationContext,
    operations,
)
from local_services import wait_until
from strategies.bridges.program import DEADLINE_S, BridgeProgram, code_of, end
from strategies.kafka.records import produce
from strategies.machine.small_disks import can_mount, filled, small_disk
from strategies.machine.warm_commands import process_of

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator

    from local_services import KafkaBroker, RegistryProcess

RECORDS: Final = 20_000
PARTITIONS: Final = 2
BATCHES: Final = 4
STARTS: Final = 6
"""A bridge that has not ended well after this many starts never will."""
LAST_MOMENT: Final = 0.9
LONGEST_STOP_S: Final = 6.0
NO_FRAME_EVERY: Final = 97
TOMBSTONE_EVERY: Final = 89


class Fault(StrEnum):
    """What happens to a running bridge."""

    DRIVER_KILLED = "driver killed"
    WORKER_KILLED = "Python workers killed"
    BROKER_KILLED = "broker killed"
    BROKER_STOPPED = "broker stopped and continued"
    REGISTRY_KILLED = "registry killed"
    SECOND_DRIVER = "second driver"
    DISK_FULL = "disk full under the checkpoint"


def _avro(fare: str) -> Schema:
    fields = [{"name": "id", "type": "long"}, {"name": "fare", "type": fare}]
    return Schema(json.dumps({"type": "record", "name": "Ride", "fields": fields}))


def _json(fare: str) -> Schema:
    properties = {"id": {"type": "integer"}, "fare": {"type": fare}}
    text = json.dumps({"type": "object", "title": "Ride", "properties": properties, "required": ["id", "fare"]})
    return Schema(text, SchemaType.JSON)


def _protobuf(fare: str) -> Schema:
    text = f'syntax = "proto3"; message Ride {{ int64 id = 1; {fare} fare = 2; }}'
    return Schema(text, SchemaType.PROTOBUF)


LANGUAGES: Final[dict[str, tuple[Schema, Schema, Callable[..., Any]]]] = {
    "avro": (_avro("double"), _avro("string"), AvroSerializer),
    "json": (_json("number"), _json("string"), JsonSerializer),
    "protobuf": (_protobuf("double"), _protobuf("string"), ProtobufSerializer),
}


@dataclass(frozen=True)
class Scenario:
    """What happens in one scenario. ``moment`` is the share of the records that are written before the fault."""

    number: int
    fault: Fault
    delivery: DeliveryGuarantee
    language: str
    moment: float
    stop_s: float

    def __str__(self) -> str:
        return f"{self.number}: {self.language}, {self.delivery}, {self.fault} at {self.moment:.0%}"


def scenarios(count: int, *, seed: int) -> Iterator[Scenario]:
    """Yield the scenarios of a seed; kinds, deliveries and languages are drawn without replacement."""
    draw = random.Random(seed)
    kinds = [each for each in Fault if each is not Fault.DISK_FULL or can_mount()]
    decks: dict[int, list[Any]] = {}

    def next_of(number: int, cards: list[Any]) -> Any:
        waiting = decks.setdefault(number, [])
        if not waiting:
            waiting += draw.sample(cards, len(cards))
        return waiting.pop()

    for number in range(1, count + 1):
        decks_of_cards: tuple[list[Any], ...] = (kinds, list(DeliveryGuarantee), list(LANGUAGES))
        fault, delivery, language = (next_of(deck, cards) for deck, cards in enumerate(decks_of_cards))
        moment, stop_s = draw.uniform(0, LAST_MOMENT), draw.uniform(0.1, LONGEST_STOP_S)
        yield Scenario(number, fault, delivery, language, moment, stop_s)


@dataclass
class World:
    """What all scenarios share: services that are killed, and two programs that run commands."""

    broker: KafkaBroker
    registry: RegistryProcess
    folder: Path
    counterfoil: Path
    second_counterfoil: Path
    lines: list[str] = field(default_factory=list)

    def carry_out(self, scenario: Scenario) -> list[str]:
        """Carry out a scenario and return a sentence for each record that it lost, repeated or changed."""
        with ExitStack() as stack:
            run = _Run(self, scenario, stack)
            run.prepare()
            ends = [run.run_with_fault(), *run.until_it_ends_well()]
            found = run.verified()
        self.lines.append(f"{scenario}; exit codes {', '.join(str(int(code)) for code in ends)}")
        return [f"{scenario}: {each}" for each in found]


class _Run:
    def __init__(self, world: World, scenario: Scenario, stack: ExitStack) -> None:
        self._world, self._scenario, self._stack = world, scenario, stack
        self._name = f"bridge-{scenario.number}-{os.getpid()}"
        self._source, self._target, self._dead = (f"{self._name}.{each}" for each in ("in", "out", "dead"))
        self._folder = world.folder / self._name
        self._checkpoint = self._folder / "checkpoint"
        self._bridge = BridgeProgram(world.counterfoil, world.broker, world.registry, self._folder)
        self._cluster = Cluster(world.broker.bootstrap_servers, timeout_s=120)

    def prepare(self) -> None:
        """Make topics, schemas, records and the bridge."""
        self._checkpoint.mkdir(parents=True)
        if self._scenario.fault is Fault.DISK_FULL:
            self._stack.enter_context(small_disk(self._checkpoint, size_mb=16))
        for topic in (self._source, self._target, self._dead):
            self._world.broker.create_topic(topic, partitions=PARTITIONS)
        source, target, serializer = LANGUAGES[self._scenario.language]
        (self._folder / "bridge.yaml").write_text(
            f"bridge: {self._name}\nsource: {{topic: {self._source}}}\ntarget: {{topic: {self._target}}}\n"
            f"delivery: {self._scenario.delivery}\nerrors: {{topic: {self._dead}, stop_above: never}}\n"
            "fields: {fare: {from: fare, cast: string, decimals: 2}}\n"
        )
        with Registry(self._world.registry.url) as registry:
            registry.register(f"{self._target}-value", target)
            registry.register(f"{self._source}-value", source)
            plan = (self._folder / "bridge.yaml").read_text()
            registry.call(operations.register_bridge(NewBridge(plan=plan, owner="hammer")))
            self._produce(serializer(registry, source))

    def _produce(self, serialize: Callable[..., bytes]) -> None:
        context = SerializationContext(self._source)

        def value_of(number: int) -> bytes | None:
            if number % NO_FRAME_EVERY == 0:
                return b"no frame"
            if number % TOMBSTONE_EVERY == 0:
                return None
            return serialize({"id": number, "fare": number / 4}, context)

        records = (
            {"value": value_of(number), "key": f"k{number}".encode(), "partition": number % PARTITIONS}
            for number in range(RECORDS)
        )
        produce(self._world.broker.bootstrap_servers, self._source, records)

    def run_with_fault(self) -> int:
        """Start the bridge, cause the fault at its moment, and return the exit code of this start."""
        log = self._folder / "first.log"
        with log.open("w") as output:
            running = self._start(self._world.counterfoil, output)
            try:
                threshold = self._scenario.moment * RECORDS
                wait_until(
                    lambda: running.poll() is not None or self._written() >= threshold, what=f"{threshold:g} records"
                )
                code = running.poll()
                assert code in {None, ExitCode.OK}, f"{self._scenario}: the bridge ended before:\n{log.read_text()}"
                if code is None:  # else it was quicker than its fault
                    _CAUSES[self._scenario.fault](self, running)
                return running.wait(DEADLINE_S)
            finally:
                end(running)

    def until_it_ends_well(self) -> Iterator[int]:
        """Start the bridge again until it ends well, and yield the exit code of each start."""
        for start in range(STARTS):
            log = self._folder / f"start-{start}.log"
            with log.open("w") as output:
                code = code_of(self._start(self._world.counterfoil, output))
            yield code
            if code == ExitCode.OK:
                return
        raise AssertionError(f"{self._scenario}: the bridge does not end well:\n{log.read_text()}")

    def verified(self) -> list[str]:
        """Return what ``bridge verify`` finds, and counts that are not as expected."""
        self._cluster.settled_watermarks(self._target)
        with (self._folder / "verify.json").open("w+") as output:
            command = ["verify", "bridge.yaml", "--sample", "all", "--format", "json"]
            code_of(self._bridge.start(*command, output=output))
            output.seek(0)
            totals = json.load(output)["totals"]
        allowed = {"repeated", "out_of_order"} if self._scenario.delivery is DeliveryGuarantee.AT_LEAST_ONCE else set()
        kinds = {"missing", "repeated", "out_of_order", "misplaced", "unmatched", "unwarranted", "changed", "differing"}
        found = [f"{totals[kind]} {kind}" for kind in sorted(kinds - allowed) if totals[kind]]
        if totals["source"] != RECORDS:
            found.append(f"{totals['source']} of {RECORDS} records verified")
        return found

    def _start(self, program: Path, output: Any, *, checkpoint: Path | None = None) -> subprocess.Popen[str]:
        engine = "reference" if self._scenario.fault is Fault.WORKER_KILLED else "auto"
        options = ["--checkpoint", str(checkpoint or self._checkpoint), "--engine", engine, "--master", "local[2]"]
        size = ["--max-offsets-per-trigger", str(RECORDS // BATCHES)]
        return self._bridge.start("run", "bridge.yaml", *options, *size, program=program, output=output)

    def _written(self) -> int:
        marks = [self._cluster.watermarks(topic) for topic in (self._target, self._dead)]
        return sum(end for each in marks for _, end in each.values())

    # --- the faults

    def _kill_driver(self, running: subprocess.Popen[str]) -> None:
        process = process_of(self._world.counterfoil)
        os.killpg(running.pid, signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)  # it stays if the command has ended at this moment
        wait_until(lambda: not Path(f"/proc/{process}").exists(), what="the end of the driver")

    def _kill_worker(self, running: subprocess.Popen[str]) -> None:
        driver = process_of(self._world.counterfoil)

        def is_killed() -> bool:
            workers = list(_workers_of(driver))
            for worker in workers:
                with suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)
            return bool(workers) or running.poll() is not None

        wait_until(is_killed, what="Python workers")

    def _kill_broker(self, _running: subprocess.Popen[str]) -> None:
        self._world.broker.kill()
        self._world.broker.restart()

    def _stop_broker(self, _running: subprocess.Popen[str]) -> None:
        over = time.monotonic() + self._scenario.stop_s
        os.kill(self._world.broker.pid, signal.SIGSTOP)
        try:
            wait_until(lambda: time.monotonic() > over, what="the end of the stop")
        finally:
            os.kill(self._world.broker.pid, signal.SIGCONT)

    def _kill_registry(self, running: subprocess.Popen[str]) -> None:
        self._world.registry.kill()
        running.wait(DEADLINE_S)
        self._world.registry.restart()

    def _start_second(self, _running: subprocess.Popen[str]) -> None:
        """Start a second driver: on the same checkpoint it is refused, on another one it takes over."""
        takes_over = self._scenario.delivery is DeliveryGuarantee.EXACTLY_ONCE
        checkpoint = self._folder / "second checkpoint" if takes_over else self._checkpoint
        log = self._folder / "second.log"
        with log.open("w") as output:
            code = code_of(self._start(self._world.second_counterfoil, output, checkpoint=checkpoint))
        said = log.read_text()
        if takes_over:
            assert code == ExitCode.OK, said
        else:
            assert code == ExitCode.CONFLICT or "finished" in said, said

    def _fill_disk(self, running: subprocess.Popen[str]) -> None:
        with filled(self._checkpoint):
            running.wait(DEADLINE_S)


def _workers_of(driver: int) -> Iterator[int]:
    """Yield the processes in which the Spark of ``driver`` runs Python, the daemon that forks them first."""
    for entry in Path("/proc").iterdir():
        try:
            is_worker = entry.name.isdecimal() and b"pyspark.daemon" in (entry / "cmdline").read_bytes()
            if is_worker and os.getsid(int(entry.name)) == driver:
                yield int(entry.name)
        except (FileNotFoundError, ProcessLookupError):
            continue


_CAUSES: Final = {
    Fault.DRIVER_KILLED: _Run._kill_driver,
    Fault.WORKER_KILLED: _Run._kill_worker,
    Fault.BROKER_KILLED: _Run._kill_broker,
    Fault.BROKER_STOPPED: _Run._stop_broker,
    Fault.REGISTRY_KILLED: _Run._kill_registry,
    Fault.SECOND_DRIVER: _Run._start_second,
    Fault.DISK_FULL: _Run._fill_disk,
}
