"""``counterfoil bridge verify``: that every record of the source was written once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from counterfoil.converter.bridge.file import load_bridge_file
from counterfoil.converter.bridge.resolve import resolve_with
from counterfoil.converter.engines.keyed import key_converter
from counterfoil.converter.engines.reference import ReferenceEngine
from counterfoil.converter.errors import BridgeError
from counterfoil.converter.kafka.cluster import named_cluster
from counterfoil.converter.reports import WITH_JUNIT, failures_as_cases, give, parse_forms
from counterfoil.converter.run.checkpoint import Checkpoint, begun_plan
from counterfoil.converter.verify.reporting import report_verification
from counterfoil.converter.verify.verdict import verify_group
from counterfoil.converter.verify.verification import Sample, Verification

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from counterfoil.schema.exit_codes import ExitCode
    from counterfoil.sdk.kafka.access import KafkaAccess
    from counterfoil.sdk.registry_options import RegistryAccess


def verify_bridge(
    *,
    file: Path,
    registry: RegistryAccess,
    kafka: KafkaAccess | None,
    formats: Sequence[str],
    sample: str,
    seed: int,
    checkpoint: Path | None,
) -> ExitCode:
    """Run ``bridge verify``: check that every source record was written once."""
    forms = parse_forms(formats, WITH_JUNIT)
    if sample != "all" and not sample.isdecimal():
        raise click.UsageError("--sample must be a number, or all")
    declared = load_bridge_file(file)
    with failures_as_cases(forms, verify_group(declared.name)):
        resolved = resolve_with(declared, registry, lambda: begun_plan(file, declared.name, checkpoint))
        reference, keys = ReferenceEngine(resolved.conversion()), resolved.key_conversion()
        cluster = named_cluster(kafka)
        report = Verification(
            file=resolved.file,
            topics=cluster,
            recompute=lambda value: reference.convert_value(value).value,
            sample=Sample(size=None if sample == "all" else int(sample), seed=seed),
            ranges=_finished(checkpoint, resolved.file.source_topic) if checkpoint else None,
            convert_key=None if keys is None else key_converter(ReferenceEngine(keys)),
        ).run()
    give(forms, lines=report.lines, document=report.as_json, suite=report.suite)
    with registry.open() as client:
        report_verification(client, resolved, report)
    return report.exit_code


def _finished(folder: Path, topic: str) -> dict[int, tuple[int, int]]:
    """Return the source offsets whose batches are finished, by partition."""
    checkpoint = Checkpoint(folder)
    beginning, position = checkpoint.beginning(topic), checkpoint.position(topic)
    if beginning is None or position is None:
        raise BridgeError(f"The checkpoint {folder} has no batches of topic {topic}")
    return {partition: (beginning.get(partition, 0), end) for partition, end in position.items()}
