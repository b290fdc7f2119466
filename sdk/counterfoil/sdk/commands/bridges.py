"""``counterfoil bridges``: the bridges of a registry, their states, and the gates of their transitions."""

from __future__ import annotations

from pathlib import Path

import click

from counterfoil.schema.rest.bridges import (
    Bridge,
    BridgeDirection,
    BridgeSide,
    BridgeState,
    BridgeStatus,
    PossibleTransition,
)
from counterfoil.sdk.commands import as_json, confirmed, print_json, print_rows
from counterfoil.sdk.commands.options import THE_REGISTRY, RegistryAccess, registry_options

_file = click.Path(exists=True, dir_okay=False, path_type=Path)
_STATES = [state.value for state in BridgeState]
_DIRECTIONS = [direction.value for direction in BridgeDirection]


@click.group()
def bridges() -> None:
    """Manage the bridges that a registry stores, and their states.

    'counterfoil bridge' runs the bridge of a file; these commands are about what the registry has stored.
    """


@bridges.command(name="list")
@registry_options(THE_REGISTRY)
@click.option("--state", type=click.Choice(_STATES), help="Only bridges in this state.")
@click.option("--subject", metavar="SUBJECT", help="Only bridges with this subject on one of their sides.")
@as_json
def list_bridges(registry: RegistryAccess, state: str | None, subject: str | None, as_json: bool) -> None:
    """Print the bridges with their states, one in each line.

    Exit codes: 0 printed, 2 usage, 11 registry unreachable, 12 registry refused.
    """
    from counterfoil.schema.rest.bridges import STATUS
    from counterfoil.sdk import operations

    listing = operations.bridges(state=None if state is None else BridgeState(state), subject=subject)
    with registry.open() as client:
        found = client.call_all(listing)
    if as_json:
        print_json([STATUS.write(each) for each in found])
        return
    print_rows(
        (each.bridge.name, each.bridge.state, _side(each.bridge.source), _side(each.bridge.target), _lag(each))
        for each in found
    )


@bridges.command(name="show")
@click.argument("name")
@registry_options(THE_REGISTRY)
@as_json
def show_bridge(name: str, registry: RegistryAccess, as_json: bool) -> None:
    """Print the bridge NAME, the latest reports about it, and the gates of its next transitions.

    Exit codes: 0 printed, 2 usage, 11 registry unreachable, 12 registry refused, 14 there is no such bridge.
    """
    from counterfoil.schema.rest.bridges import POSSIBLE_TRANSITION, STATUS
    from counterfoil.sdk import operations

    with registry.open() as client:
        status = client.call(operations.bridge(name))
        possible = client.call(operations.bridge_gates(name))
    if as_json:
        print_json({**STATUS.write(status), "next": [POSSIBLE_TRANSITION.write(each) for each in possible]})
        return
    bridge = status.bridge
    print_rows([*_facts(bridge), ("progress", _lag(status)), ("verification", _verified(status))])
    for transition in possible:
        for line in _gate_lines(transition):
            click.echo(line)


@bridges.command(name="register")
@click.argument("file", type=_file)
@registry_options(THE_REGISTRY)
@click.option("--owner", required=True, metavar="TEXT", help="The team or person to ask.")
@click.option("--description", metavar="TEXT", help="What the migration is for.")
@click.option("--direction", type=click.Choice(_DIRECTIONS), help="Which side producers write to.")
@click.option("--reverse", type=_file, help="A bridge file that converts back, for a roll-back.")
@click.option("--source-schema", type=_file, help="The schema of the source, if it is not registered yet.")
@click.option("--register-source", is_flag=True, help="Register --source-schema together with the bridge.")
@confirmed
@as_json
def register_bridge(
    file: Path,
    registry: RegistryAccess,
    owner: str,
    description: str | None,
    direction: str | None,
    reverse: Path | None,
    source_schema: Path | None,
    register_source: bool,
    is_confirmed: bool,
    as_json: bool,
) -> None:
    """Register the bridge in FILE; without --yes only check it. Its plan must be complete.

    Exit codes: 0 registered or checked, 2 usage, 11 registry unreachable, 12 registry refused, 14 the plan is not
    complete, or a schema is missing.
    """
    from counterfoil.schema.languages.table import language_of_schema_file
    from counterfoil.schema.model import Schema
    from counterfoil.schema.rest.bridges import NewBridge
    from counterfoil.sdk import operations

    text = None if source_schema is None else _text(source_schema)
    new = NewBridge(
        plan=_text(file),
        reverse_plan=None if reverse is None else _text(reverse),
        source_schema=None
        if text is None or source_schema is None
        else Schema(text, language_of_schema_file(source_schema.name, text)),
        direction=None if direction is None else BridgeDirection(direction),
        owner=owner,
        description=description,
        registers_source=register_source,
    )
    with registry.open() as client:
        found = client.call(operations.register_bridge(new, dry_run=not is_confirmed))
    _print(found, as_json=as_json)
    if not is_confirmed and not as_json:
        click.echo("The bridge is valid. Nothing was registered. Add --yes to register it.")


@bridges.command(name="transition")
@click.argument("name")
@click.argument("state", type=click.Choice(_STATES), metavar="STATE")
@registry_options(THE_REGISTRY)
@click.option("--by", required=True, metavar="TEXT", help="The person or program that requests it.")
@click.option("--reason", default="", metavar="TEXT", help="Why; it is kept in the history.")
@click.option("--force", is_flag=True, help="Change the state although gates are not met; needs --reason.")
@confirmed
@as_json
def change_state(
    name: str,
    state: str,
    registry: RegistryAccess,
    by: str,
    reason: str,
    force: bool,
    is_confirmed: bool,
    as_json: bool,
) -> None:
    """Change the state of the bridge NAME to STATE; without --yes only check whether its gates are met.

    Exit codes: 0 changed or permitted, 2 usage, 11 registry unreachable, 12 registry refused, 14 there is no such
    bridge, or a gate is not met.
    """
    from counterfoil.sdk import operations

    operation = operations.change_bridge_state(
        name, BridgeState(state), by=by, reason=reason, force=force, dry_run=not is_confirmed
    )
    with registry.open() as client:
        found = client.call(operation)
    _print(found, as_json=as_json)
    if not is_confirmed and not as_json:
        click.echo("The transition is permitted. Nothing was changed. Add --yes to change the state.")


@bridges.command(name="delete")
@click.argument("name")
@registry_options(THE_REGISTRY)
@confirmed
@as_json
def delete_bridge(name: str, registry: RegistryAccess, is_confirmed: bool, as_json: bool) -> None:
    """Delete the bridge NAME and the reports about it; without --yes only print what would be deleted.

    Exit codes: 0 deleted or printed, 2 usage, 11 registry unreachable, 12 registry refused, 14 there is no such bridge,
    or it is in use.
    """
    from counterfoil.sdk import operations

    with registry.open() as client:
        status = client.call(operations.bridge(name))
        if is_confirmed:
            client.call(operations.delete_bridge(name))
    if as_json:
        print_json({"name": name, "state": status.bridge.state, "done": is_confirmed})
        return
    click.echo(f"{'Deleted' if is_confirmed else 'Would delete'} bridge {name}, which is {status.bridge.state}.")
    if not is_confirmed:
        click.echo("Nothing was deleted. Add --yes to delete.")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{path} is not UTF-8: {error}") from error


def _print(found: Bridge, *, as_json: bool) -> None:
    from counterfoil.schema.rest.bridges import BRIDGE

    if as_json:
        print_json(BRIDGE.write(found))
    else:
        print_rows(_facts(found))


def _facts(found: Bridge) -> list[tuple[str, str]]:
    reverse = found.reverse
    rows = [
        ("bridge", found.name),
        ("state", found.state),
        ("source", _side(found.source)),
        ("target", _side(found.target)),
        ("direction", found.direction),
        ("owner", found.owner),
        ("description", found.description),
        ("plan", found.plan_hash),
        (
            "reverse plan",
            reverse.hash if reverse.is_complete else f"not complete: {'; '.join(map(str, reverse.problems))}",
        ),
        ("lossy", ", ".join(found.lossy)),
        ("dropped", ", ".join(found.dropped)),
    ]
    return [row for row in rows if row[1]]


def _side(side: BridgeSide) -> str:
    return f"{side.topic} ({side.subject} {'not registered' if side.version is None else side.version})"


def _lag(status: BridgeStatus) -> str:
    progress = status.reports.progress
    if progress is None:
        return "no report"
    stale = ", stale" if status.is_stale else ""
    return f"lag {progress.lag}, {progress.dead_letter_count} dead letters of {progress.records}{stale}"


def _verified(status: BridgeStatus) -> str:
    found = status.reports.verification
    if found is None:
        return "no report"
    return f"{'passed' if found.has_passed else 'failed'}: {found.fault_count} faults in {found.records} records"


def _gate_lines(transition: PossibleTransition) -> list[str]:
    state = "permitted" if transition.is_permitted else "not permitted"
    unmet = [gate for gate in transition.gates if not gate.is_met]
    return [f"-> {transition.state}: {state}", *(f"   {gate.name}: {gate.reason}" for gate in unmet)]
