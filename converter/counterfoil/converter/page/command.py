"""``counterfoil bridge report``: the page about a bridge, written to a file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from counterfoil.converter.bridge.file import load_bridge_file
from counterfoil.converter.bridge.resolve import resolve
from counterfoil.converter.errors import BridgeError, why_unreadable
from counterfoil.converter.kafka.cluster import named_cluster
from counterfoil.converter.monitoring.history import read_history
from counterfoil.converter.page.dead_letters import read_dead_letters, values_of
from counterfoil.converter.page.page import PageContent, page_of
from counterfoil.converter.run.checkpoint import default_folder
from counterfoil.converter.run.watch import now_ms
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.sdk.commands.output import is_printed, print_json

if TYPE_CHECKING:
    from pathlib import Path

    from counterfoil.sdk.kafka.access import KafkaAccess
    from counterfoil.sdk.registry_options import RegistryAccess


def report_bridge(
    *,
    file: Path,
    registry: RegistryAccess,
    kafka: KafkaAccess | None,
    checkpoint: Path | None,
    verification: Path | None,
    show_values: bool,
    out: Path,
    as_json: bool,
) -> ExitCode:
    """Run ``bridge report``: write a page about a bridge, its plan, its runs and its dead letters."""
    declared = load_bridge_file(file)
    if show_values and kafka is None:
        raise click.UsageError("--show-values needs --bootstrap-servers: values are those of the dead-letter topic")
    dead_letters = None
    with registry.open() as client:
        resolved = resolve(declared, client)
        if kafka is not None:
            values = values_of(resolved, client) if show_values else None
            dead_letters = read_dead_letters(resolved, named_cluster(kafka), values)
    content = PageContent(
        file=declared,
        plan=resolved.plan,
        problems=resolved.problems,
        losses=resolved.losses,
        history=read_history(checkpoint or default_folder(file, declared.name)),
        dead_letters=dead_letters,
        verification=None if verification is None else _verification(verification),
        made_ts=now_ms(),
    )
    if as_json and is_printed(out):
        raise click.UsageError("--out - prints the page, and --json where it is; give one of them")
    if is_printed(out):
        click.echo(page_of(content), nl=False)
        return ExitCode.OK
    try:
        out.write_text(page_of(content), encoding="utf-8")
    except OSError as refusal:
        raise BridgeError(f"The page cannot be written to {out}: {refusal.strerror}") from None
    if as_json:
        print_json({"bridge": declared.name, "page": str(out)})
    else:
        click.echo(f"wrote {out}")
    return ExitCode.OK


def _verification(path: Path) -> dict[str, Any]:
    """Return the JSON report of ``bridge verify`` in a file."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as refusal:
        raise BridgeError(f"The verification {path} cannot be read: {why_unreadable(refusal)}") from None
    is_report = isinstance(found, dict) and {"good", "totals", "partitions"} <= found.keys()
    if not is_report or not {"source", "converted", "recomputed"} <= found["totals"].keys():
        raise BridgeError(f"{path} is not what 'counterfoil bridge verify --format json={path.name}' writes")
    return found
