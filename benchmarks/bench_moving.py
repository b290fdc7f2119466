"""Time and memory of a backup of many versions: `python benchmarks/bench_moving.py [VERSIONS]`.

It makes a registry in a SQLite file, with ten versions a subject and a reference in every tenth subject, then exports
it and imports it into another file with the command, and prints the time and the peak memory of each process.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from counterfoil.registry.store.opening import open_store
from counterfoil.registry.store.writes import NO_REQUEST, ReferenceTarget
from counterfoil.registry.subjects.planning import plan_version, read_state
from counterfoil.registry.subjects.versions import make_content
from counterfoil.schema.contexts import QualifiedSubject, parse_subject
from counterfoil.schema.model import Reference, SchemaType

COUNTERFOIL = str(Path(sys.executable).with_name("counterfoil"))
VERSIONS_A_SUBJECT = 10
SUBJECTS_AT_ONCE = 64


async def fill(path: Path, versions: int) -> None:
    """Store this number of versions."""
    storage = open_store(f"sqlite:///{path}")
    base = parse_subject("base")
    await put(storage, base, 1, ())
    subjects = [parse_subject(f"orders-{number:06}-value") for number in range(versions // VERSIONS_A_SUBJECT)]
    for start in range(0, len(subjects), SUBJECTS_AT_ONCE):
        batch = subjects[start : start + SUBJECTS_AT_ONCE]
        for version in range(1, VERSIONS_A_SUBJECT + 1):
            await asyncio.gather(
                *(
                    put(storage, each, version, (base,) if number % VERSIONS_A_SUBJECT == 0 else ())
                    for number, each in enumerate(batch)
                )
            )
    await storage.close()


async def put(storage, subject: QualifiedSubject, version: int, targets: tuple[QualifiedSubject, ...]) -> None:
    fields = [{"name": f"field_{number}", "type": "string", "doc": "What this is."} for number in range(10)]
    record = {
        "type": "record",
        "name": "Order" if targets or subject.name != "base" else "Base",
        "doc": f"{subject} {version}",
        "fields": fields,
    }
    references = tuple(Reference("Base", target.name, 1) for target in targets)
    content = make_content(json.dumps(record, separators=(",", ":")), SchemaType.AVRO, references=references)
    meant = tuple(ReferenceTarget(target, 1) for target in targets)
    await storage.commit(
        await plan_version(storage, await read_state(storage, subject), content, targets=meant), by=NO_REQUEST
    )


def measured(*arguments: str) -> str:
    """Run the command; return its time, its peak memory and its output."""
    began = time.monotonic()
    process = subprocess.Popen([COUNTERFOIL, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    output = process.stdout.read().decode().strip() if process.stdout else ""
    _, status, usage = os.wait4(process.pid, 0)
    took = time.monotonic() - began
    busy = usage.ru_utime + usage.ru_stime
    cost = f"{took:.1f} s ({busy:.1f} s CPU), {usage.ru_maxrss / 1024:.0f} MB"
    return f"{arguments[0]}: {cost}, exit {status >> 8}: {output}"


def main() -> None:
    versions = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        first, second, backup = (Path(folder) / name for name in ("first.db", "second.db", "backup.jsonl.gz"))
        asyncio.run(fill(first, versions))
        print(measured("export", str(backup), "--store", f"sqlite:///{first}"))
        print(f"{backup.stat().st_size / 1e6:.1f} MB compressed, {first.stat().st_size / 1e6:.0f} MB in the store")
        print(measured("import", str(backup), "--store", f"sqlite:///{second}"))
        print(measured("import", str(backup), "--store", f"sqlite:///{second}"))


if __name__ == "__main__":
    main()
