"""``counterfoil bridge replay``: the dead letters are converted once more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.converter.bridge.file import load_bridge_file
from counterfoil.converter.bridge.resolve import resolve_with
from counterfoil.converter.check.preflight import created_again
from counterfoil.converter.engines.keyed import copied_key, key_converter
from counterfoil.converter.engines.reference import ReferenceEngine
from counterfoil.converter.errors import PreflightFailed
from counterfoil.converter.kafka.cluster import named_cluster
from counterfoil.converter.kafka.groups import group_of
from counterfoil.converter.reports import give, parse_forms
from counterfoil.converter.run.checkpoint import begun_plan
from counterfoil.converter.run.replay import Replay

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from counterfoil.schema.exit_codes import ExitCode
    from counterfoil.sdk.kafka.access import KafkaAccess
    from counterfoil.sdk.registry_options import RegistryAccess


def replay_bridge(
    *, file: Path, registry: RegistryAccess, kafka: KafkaAccess | None, formats: Sequence[str]
) -> ExitCode:
    """Run ``bridge replay``: convert the dead letters once more."""
    forms = parse_forms(formats)
    declared = load_bridge_file(file)
    resolved = resolve_with(declared, registry, lambda: begun_plan(file, declared.name))
    reference, keys = ReferenceEngine(resolved.conversion()), resolved.key_conversion()
    cluster = named_cluster(kafka)
    group, letters = group_of(resolved.file.name), resolved.file.dead_letter_topic
    topics = (resolved.file.target_topic, letters)
    findings = [f"there is no topic {each}" for each in topics if cluster.partition_count(each) is None]
    if not findings:
        again = created_again(group, letters, cluster.committed(group, letters), cluster.watermarks(letters))
        findings = [each.text for each in again]
    if findings:
        raise PreflightFailed(findings)
    report = Replay(
        resolved.file,
        cluster,
        reference.convert_value,
        resolved.plan.hash,
        convert_key=copied_key if keys is None else key_converter(ReferenceEngine(keys)),
    ).run()
    give(forms, lines=report.lines, document=report.as_json)
    return report.exit_code
