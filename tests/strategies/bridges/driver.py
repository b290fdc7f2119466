"""A bridge's driver as a process that a test can kill: ``driver.py SETTINGS_JSON``.

Its engine swaps the schema id in front of the value, and refuses values that begin with the byte 0xFF.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's documentation uses

from counterfoil.converter.bridge import ResolvedBridge
from counterfoil.converter.engines.protocol import FAILURE_TYPE
from counterfoil.converter.kafka.cluster import Cluster
from counterfoil.converter.monitoring.observers import PlainLines
from counterfoil.converter.run.checkpoint import Checkpoint
from counterfoil.converter.run.job import BridgeRun, RunSettings
from counterfoil.schema.plans import FailureCode
from counterfoil.schema.plans.bridge import BridgeFile, DeliveryGuarantee, Partitioning, StopAbove, Timestamps

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TARGET_ID = 77
REFUSED = FailureCode.UNDECODABLE


class SwapEngine:
    """Another schema id in front of the same bytes. A task that comes to offset ``held_from`` stays there for ever."""

    name = "swap"

    def __init__(self, held_from: int | None = None) -> None:
        self._held_from = held_from

    def convert(self, records: DataFrame) -> DataFrame:
        is_refused = F.substring("value", 6, 1) == F.lit(b"\xff")
        swapped = F.concat(F.lit(b"\x00" + TARGET_ID.to_bytes(4, "big")), F.expr("substring(value, 6)"))
        reason = F.struct(F.lit(REFUSED).alias("code"), F.lit("").alias("field"), F.lit("marked").alias("text"))
        converted = F.when(~is_refused, swapped)
        if self._held_from is not None:
            held = F.expr("CAST(java_method('java.lang.Thread', 'sleep', 86400000L) AS BINARY)")
            converted = F.when(F.col("offset") < self._held_from, converted).otherwise(held)
        failure = F.when(is_refused, reason.cast(FAILURE_TYPE))
        return records.withColumn("converted", converted).withColumn("failure", failure)


def swap(value: bytes) -> bytes | None:
    """What ``SwapEngine`` makes of one value."""
    return None if value[5:6] == b"\xff" else b"\x00" + TARGET_ID.to_bytes(4, "big") + value[5:]


def bridge_between(source: str, target: str, **changes: Any) -> ResolvedBridge:
    """A bridge without a registry, for ``SwapEngine``."""
    no_rules: Any = SimpleNamespace()
    no_schema: Any = None
    file = BridgeFile(
        name=changes.pop("name", "swap-bridge"),
        source_topic=source,
        source_subject=f"{source}-value",
        target_topic=target,
        target_subject=f"{target}-value",
        dead_letter_topic=changes.pop("dead_letter_topic", f"{source}.bridge-dlq"),
        rules=no_rules,
        partitioning=Partitioning(changes.pop("partition", "same")),
        timestamps=Timestamps(changes.pop("timestamp", "keep")),
        delivery=DeliveryGuarantee(changes.pop("delivery", "restart-filter")),
        stop_above=changes.pop("stop_above", StopAbove()),
    )
    plan: Any = SimpleNamespace(hash=changes.pop("plan", "0123456789abcdef" * 4), problems=())
    return ResolvedBridge(
        file=file,
        plan=plan,
        writer_by_id={5: no_schema},
        version_by_id={5: 1},
        newest_id=5,
        target_id=TARGET_ID,
        target_version=1,
    )


def run_bridge(spark: Any, bootstrap_servers: str, bridge: ResolvedBridge, checkpoint: Path, **settings: Any) -> Any:
    """The outcome of a run of ``bridge``, with ``SwapEngine`` or another ``engine``, and the lines it said."""
    lines: list[str] = []
    engine, writers = settings.pop("engine", None) or SwapEngine(), settings.pop("writers", None)
    stop = settings.pop("stop", None) or threading.Event()

    def say(line: str) -> None:
        lines.append(line)
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    run = BridgeRun(
        bridge=bridge,
        engine=engine,
        cluster=Cluster(bootstrap_servers),
        settings=RunSettings(checkpoint=Checkpoint(checkpoint), **settings),
        say=say,
        stop=stop,
        listeners=[PlainLines(say)],
        writers=writers,
    )
    return run.run(spark), lines


def main() -> None:
    """Run a bridge as the settings on the command line say."""
    from counterfoil.converter.spark.options import SparkOptions
    from counterfoil.converter.spark.session import start_session

    wanted = json.loads(sys.argv[1])
    checkpoint = Path(wanted["checkpoint"])
    stop = threading.Event()
    spark = start_session(SparkOptions("local[2]", Path(wanted["jars"])), log_file=checkpoint.with_suffix(".spark.log"))
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    outcome, _ = run_bridge(
        spark,
        wanted["bootstrap_servers"],
        bridge_between(wanted["source"], wanted["target"], **wanted.get("bridge", {})),
        checkpoint,
        stop=stop,
        engine=SwapEngine(wanted.get("held_from")),
        **wanted.get("settings", {}),
    )
    sys.stdout.write(f"{outcome.text}\n")
    sys.exit(outcome.exit_code)


if __name__ == "__main__":
    main()
