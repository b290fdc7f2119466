"""A search for small inputs that take long: hill-climbing on CPU time and memory for each byte.

    python tests/fuzz/cost.py [target ...]

Each try runs in a child process with a limit of CPU time and of memory. A target is what a route, or a command, does
with what a caller sends: see TARGETS. FUZZ_SECONDS (60) is the time for each target, or FUZZ_TRIES the number of tries;
FUZZ_SEED the first seed. What exceeds COST_LIMIT_S (5) or COST_LIMIT_MB (200), or does not end, is printed with its
genome, and the exit code is 1.
"""

from __future__ import annotations

import json
import os
import random
import resource
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS)]

from counterfoil.schema.agreements import Expectation, ExpectedRead
from counterfoil.schema.agreements.documents import read_agreement
from counterfoil.schema.agreements.findings import Offer, Reader
from counterfoil.schema.agreements.judge import judge_reader
from counterfoil.schema.answers import confluent_messages
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy
from counterfoil.schema.compatibility.findings import Earlier
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.judgement import judge
from counterfoil.schema.languages.table import language_for, parse_schema
from counterfoil.schema.marks import FieldTags, matches_path
from counterfoil.schema.model import SchemaType
from counterfoil.schema.paths import parse_path
from counterfoil.schema.plans.bridge_document import read_bridge
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.rules import parse_rules
from counterfoil.schema.sketch import make_sketcher
from counterfoil.schema.sketch.document import read_sketch
from counterfoil.schema.sketch.model import WriterSchema
from counterfoil.schema.texts import Position
from counterfoil.sdk.errors import RuleError
from counterfoil.sdk.serde.rules.cel import read_expression
from counterfoil.sdk.serde.rules.cel.executors import compile_program
from strategies.cases.dear_inputs import (
    TEXTS,
    Genome,
    bridge_rules,
    cel_text,
    changed_genome,
    contract_text,
    random_genome,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from counterfoil.schema.parsed import ParsedSchema

MAX_BYTES: Final = int(os.environ.get("FUZZ_MAX_BYTES") or 100_000)
"""The largest input that is tried; FUZZ_MAX_BYTES."""
MAX_CPU_S: Final = 60
MAX_MEMORY_BYTES: Final = 2 * 1024**3

Measure: TypeAlias = "Callable[[Genome], Cost]"
"""It does the work of a target with a genome, and returns what it took."""

Target: TypeAlias = "Callable[[Genome], int]"
"""It does its work with the input of a genome, and returns the bytes of the input; 0 if it is too large."""


def _pair(language: str, genome: Genome) -> tuple[str, str] | None:
    texts = tuple(TEXTS[language](genome, is_later=is_later) for is_later in (True, False))
    return (texts[0], texts[1]) if sum(map(len, texts)) <= MAX_BYTES else None


def _schemas(language: str, genome: Genome) -> tuple[list[ParsedSchema], int]:
    texts = _pair(language, genome) or ()
    return [parse_schema(each, SchemaType(language)) for each in texts], sum(map(len, texts))


def _judged(language: str, policy: CompatibilityPolicy) -> Target:
    """``POST /compatibility…?verbose=true``, a registration, ``counterfoil check``."""

    def judged(genome: Genome) -> int:
        schemas, size = _schemas(language, genome)
        if schemas:
            judgement = judge(schemas[0], [Earlier(schemas[1], 1)], CompatibilityLevel.FULL, policy=policy)
            confluent_messages(judgement.report, witnesses=judgement.witnesses())
        return size

    return judged


def _read(language: str) -> Target:
    """A registration under NONE, look-ups with ``normalize``, tags, ``/inspect``, ``counterfoil lint``."""

    def read(genome: Genome) -> int:
        schemas, size = _schemas(language, genome)
        for schema in schemas:
            _ = (schema.canonical, schema.warnings())
            with suppress(RecursionError):
                _ = schema.normalized
            form = language_for(schema.schema_type)
            form.find_tags(schema)
            for count, _ in enumerate(form.places(schema, FieldTags({}, {}))):
                if count == 10_000:
                    break
        return size

    return read


def _changes(language: str) -> Target:
    """``counterfoil diff``, ``/inspect/v1/…/diff``."""

    def changes(genome: Genome) -> int:
        schemas, size = _schemas(language, genome)
        if schemas:
            language_for(SchemaType(language)).find_changes(*schemas)
        return size

    return changes


def _plan(language: str) -> Target:
    """``/bridges/v1``, ``counterfoil bridge plan``."""

    def plan(genome: Genome) -> int:
        schemas, size = _schemas(language, genome)
        if schemas:
            derive_plan(*schemas, parse_rules(bridge_rules(genome), "rest"))
        return size

    return plan


READS: Final = (
    "f{at}",
    "r{at}.**",
    "**",
    "**.f{at}",
    "d.p0.p0.x{at}",
    "u.b{at}",
    "c.n.n.v",
    "l0.l0.l0.f{at}",
    "n.n.n.v",
)
"""The paths of a consumer; the number stands in each."""


def _reads(language: str) -> Target:
    """``can-i-deploy``, ``/contracts/v1/…``, ``counterfoil check --consumers``: two consumers, one with a schema."""

    def reads(genome: Genome) -> int:
        schemas, size = _schemas(language, genome)
        if not schemas:
            return size
        texts = [READS[at % len(READS)].format(at=at // len(READS)) for at in range(genome["reads"])]
        paths: list[ExpectedRead] = []
        for text in texts:
            with suppress(CounterfoilError, ValueError):
                paths.append(ExpectedRead(parse_path(text), Position(1, 1)))
        for chosen, declared in ((None, schemas[1]), (tuple(paths) or None, None), (tuple(paths) or None, schemas[1])):
            expectation = Expectation("orders", "orders", "1", Position(1, 1), chosen)
            reader = Reader("ui", expectation, schema=declared)
            list(judge_reader(Offer(schemas[0]), reader, reads_with=Offer(schemas[1])))
        return size

    return reads


def _sketched(language: str) -> Target:
    """``counterfoil sketch``: what counts the values of a schema."""

    def sketched(genome: Genome) -> int:
        schemas, size = _schemas(language, genome)
        for schema in schemas:
            make_sketcher(schema, WriterSchema(schema.schema_type, schema.text)).finish()
        return size

    return sketched


def _documents(genome: Genome) -> int:
    """``/contracts/v1``, ``/bridges/v1``, sketches: the documents alone."""
    texts = [contract_text(genome), json.dumps({"rules": bridge_rules(genome)}), "[" * genome["depth"] * 20]
    if sum(map(len, texts)) > MAX_BYTES:
        return 0
    for text, read in zip(texts, (read_agreement, read_bridge, read_sketch), strict=True):
        with suppress(CounterfoilError, ValueError):
            read(text)
    return sum(map(len, texts))


def _cel(engine: str) -> Target:
    """A rule of a rule set, in a serializer: the expression is compiled, and evaluated about one message."""

    def evaluated(genome: Genome) -> int:
        text = cel_text(genome)
        values = [*range(min(40, genome["values"]))]
        message = {"n": 1, "v": values, "s": "a" * genome["length"]}
        with suppress(RuleError):
            compile_program(read_expression(text, ["message"], ()), engine)({"message": message})
        return len(text) + len(values) + genome["length"]

    return evaluated


def _paths(genome: Genome) -> int:
    """Tags by path, paths of fields in queries."""
    pattern = "**.a" * genome["stars"] + "*a" * genome["length"]
    path = "a." * genome["required"] + "a" * genome["values"] + "b"
    matches_path(pattern, path)
    with suppress(CounterfoilError, ValueError):
        parse_path(path + "[]{}" * genome["depth"] + '("' * genome["links"])
    return len(pattern) + len(path)


def _targets() -> Iterator[tuple[str, Target]]:
    for language in TEXTS:
        yield f"judge-{language}", _judged(language, CompatibilityPolicy.STRICT)
        yield f"sound-{language}", _judged(language, CompatibilityPolicy.SOUND)
        yield f"read-{language}", _read(language)
        yield f"changes-{language}", _changes(language)
        yield f"plan-{language}", _plan(language)
        yield f"reads-{language}", _reads(language)
        yield f"sketch-{language}", _sketched(language)
    yield "cel-rust", _cel("rust")
    yield "cel-python", _cel("python")
    yield "documents", _documents
    yield "paths", _paths


TARGETS: Final[Mapping[str, Target]] = dict(_targets())


@dataclass(frozen=True)
class Cost:
    """What a try took: CPU time, the memory beyond that of the process before, the bytes of the input.

    ``fault`` says how it ended, if not by itself.
    """

    cpu_s: float
    memory_mb: float
    size: int
    fault: str = ""

    @property
    def score(self) -> float:
        """CPU time and memory for each byte; an input of less than 500 bytes counts as one of 500."""
        return (self.cpu_s + self.memory_mb / 100) / max(500, self.size) if self.size else 0.0


def measured(target: str, genome: Genome, *, cpu_s: int = MAX_CPU_S, memory_bytes: int = MAX_MEMORY_BYTES) -> Cost:
    """Run a target in a child process with limits, and return what it took."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        _in_child(target, genome, writing, (cpu_s, memory_bytes))
    os.close(writing)
    with os.fdopen(reading, "rb") as results:
        result = results.read()
    _, status, usage = os.wait4(child, 0)
    spent = usage.ru_utime + usage.ru_stime
    if not result:
        return Cost(spent, usage.ru_maxrss / 1024, 500, f"ended by signal {os.WTERMSIG(status)}" if status else "ended")
    known: dict[str, Any] = json.loads(result)
    return Cost(known["cpu_s"], known["memory_mb"], known["size"], known["fault"])


def _in_child(target: str, genome: Genome, writing: int, limits: tuple[int, int]) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (limits[0], limits[0]))
    resource.setrlimit(resource.RLIMIT_AS, (limits[1], limits[1]))
    before, memory = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    size, fault = 500, ""
    try:
        size = TARGETS[target](genome)
    except CounterfoilError:
        size = sum(len(text(genome, is_later=True)) for name, text in TEXTS.items() if target.endswith(name)) or 500
    except Exception as defect:  # noqa: BLE001 - whatever it is, it is reported
        fault = repr(defect)[:300]
    cost = {"cpu_s": time.process_time() - before, "size": size, "fault": fault}
    cost["memory_mb"] = max(0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024
    os.write(writing, json.dumps(cost).encode())
    os._exit(0)


def climb(
    measure: Measure, seed: int, *, tries: int | None = None, seconds: float | None = None
) -> Iterator[tuple[Genome, Cost]]:
    """Yield each genome that is tried with its cost: random ones, and changes of the dearest."""
    rng = random.Random(seed)
    best: list[tuple[float, Genome]] = []
    ends = None if seconds is None else time.monotonic() + seconds
    number = 0
    while (tries is None or number < tries) and (ends is None or time.monotonic() < ends):
        is_new = len(best) < 4 or rng.random() < 0.2
        genome = random_genome(rng) if is_new else changed_genome(rng.choice(best)[1], rng)
        cost = measure(genome)
        best = sorted([*best, (cost.score, genome)], key=lambda each: -each[0])[:8]
        number += 1
        yield genome, cost


def search(measure_by_target: Mapping[str, Measure], *, limit_s: float, limit_mb: float) -> int:
    """Search in each target, print the dearest inputs, and return the exit code."""
    seed, tries = int(os.environ.get("FUZZ_SEED") or 1), int(os.environ.get("FUZZ_TRIES") or 0) or None
    seconds = None if tries else float(os.environ.get("FUZZ_SECONDS") or 60)
    limit_s, limit_mb = (
        float(os.environ.get(f"COST_LIMIT_{unit}") or usual) for unit, usual in (("S", limit_s), ("MB", limit_mb))
    )
    is_bad = False
    for target, measure in measure_by_target.items():
        dearest: tuple[float, Genome, Cost] | None = None
        for genome, cost in climb(measure, seed, tries=tries, seconds=seconds):
            if cost.fault or cost.cpu_s > limit_s or cost.memory_mb > limit_mb:
                is_bad = True
                _say(f"{target}: {cost} {json.dumps(genome)}")
            if dearest is None or cost.cpu_s + cost.memory_mb / 100 > dearest[0]:
                dearest = (cost.cpu_s + cost.memory_mb / 100, genome, cost)
        if dearest:
            found, genome = dearest[2], json.dumps(dearest[1])
            _say(f"{target}: {found.cpu_s:.2f} s, {found.memory_mb:.1f} MB for {found.size} bytes {genome}")
    return 1 if is_bad else 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Search in the targets that are named, or in all, and return the exit code."""
    named = {target: partial(measured, target) for target in sys.argv[1:] or TARGETS}
    return search(named, limit_s=5, limit_mb=200)


if __name__ == "__main__":
    sys.exit(main())
