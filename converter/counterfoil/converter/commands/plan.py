"""``counterfoil bridge plan``: how every field of the target is filled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from counterfoil.converter.bridge import ResolvedBridge, load_bridge_file, resolve_with
from counterfoil.converter.engines.choice import AUTO, choose_engine
from counterfoil.converter.engines.protocol import Conversion, EngineCannot
from counterfoil.converter.errors import BridgeError, why_unreadable
from counterfoil.converter.outputs import give, parse_forms
from counterfoil.converter.run.checkpoint import begun_plan, checkpoint_of
from counterfoil.converter.sketch.command import load_samples
from counterfoil.schema.datum import JsonObject
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.languages.table import NAME_BY_TYPE, language_of_schema_file, parse_schema
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.plans.bridge import BridgeFile
from counterfoil.schema.plans.derivations import RoundTripLoss, derive_both_ways
from counterfoil.schema.plans.model import ConversionPlan
from counterfoil.schema.plans.suggest import Suggestion, suggest_rules
from counterfoil.schema.plans.tree import with_message
from counterfoil.schema.texts import counted

if TYPE_CHECKING:
    from counterfoil.sdk.commands.options import RegistryAccess
    from counterfoil.sdk.kafka import KafkaAccess


def show_plan(
    *,
    file: Path,
    registry: RegistryAccess,
    formats: Sequence[str],
    source_schema: Path | None,
    target_schema: Path | None,
    suggest: bool,
    samples: Sequence[str],
    kafka: KafkaAccess | None,
) -> ExitCode:
    """Run ``bridge plan``: print how every target field is filled."""
    forms = parse_forms(formats)
    declared = load_bridge_file(file)
    if (source_schema is None) != (target_schema is None):
        raise click.UsageError("give both --source-schema and --target-schema, or neither of them")
    if source_schema is not None and target_schema is not None:
        source, target = _schema_file(source_schema), _schema_file(target_schema)
        both = derive_both_ways(
            with_message(source, declared.source_message),
            with_message(target, declared.target_message),
            declared.rules,
        )
        plan, losses = both.there, both.losses
        languages = source.schema_type, target.schema_type
        problems = (*map(str, plan.problems), *declared.language_problems(*languages))
        read, written = (f"read as {NAME_BY_TYPE[each]}" for each in languages)
        facts, keys = [f"from {source_schema} ({read}) to {target_schema} ({written})"], None
        conversion, key_conversion = None if problems else Conversion(plan, {1: source}, 1), None
    else:
        resolved = resolve_with(declared, registry, lambda: begun_plan(checkpoint_of(file, declared.name, None)))
        plan, problems, losses, facts = resolved.plan, resolved.problems, resolved.losses, resolved.lines()
        facts += resolved.kept_lines()
        keys = resolved.keys
        conversion = None if problems else resolved.conversion()
        key_conversion = None if problems else resolved.key_conversion()
    counted_values = load_samples(samples, declared, registry=registry, kafka=kafka)
    suggest = suggest or bool(samples)
    suggestions = suggest_rules(plan, declared.rules, counted_values) if suggest else []
    give(
        forms,
        lines=lambda: [
            f"bridge {declared.name}",
            *facts,
            *plan_lines(plan),
            *_loss_lines(losses),
            *_key_lines(declared, keys),
            *_problem_lines(plan, problems, declared),
            *_engine_lines(conversion),
            *(f"keys: {line}" for line in _engine_lines(key_conversion)),
            *_suggestion_lines(suggestions),
        ],
        document=lambda: (
            _plan_document(declared, plan, problems)
            | {"losses": [asdict(loss) for loss in losses], "engine": next(iter(_engine_lines(conversion)), None)}
            | ({} if keys is None else {"keys": _plan_document(keys.file, keys.plan, keys.problems)})
            | ({"suggestions": [asdict(each) for each in suggestions]} if suggest else {})
        ),
    )
    return ExitCode.BROKEN if problems else ExitCode.OK


def _schema_file(path: Path) -> ParsedSchema:
    """Return the schema in a file; its language is that of the suffix, else that of the content."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as refusal:
        raise BridgeError(f"The schema {path} cannot be read: {why_unreadable(refusal)}") from None
    language = language_of_schema_file(path.name, text)
    try:
        return parse_schema(text, language)
    except InvalidSchema as invalid:
        raise BridgeError(f"The schema {path}, read as {NAME_BY_TYPE[language]}, is invalid: {invalid}") from None


def plan_lines(plan: ConversionPlan) -> Iterator[str]:
    """Yield how each field of the target is filled."""
    rows = [(row.target or "-", row.how, row.source, row.note) for row in plan.rows()]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield "  " + "  ".join([*cells, row[3]]).rstrip()


def _key_lines(declared: BridgeFile, keys: ResolvedBridge | None) -> list[str]:
    """Return the plan of keys, where they are converted."""
    warning = declared.key_warning()
    if warning is None:
        return []
    if keys is None:
        return ["keys: their plan needs the registry"]
    own = (*keys.lines(), *plan_lines(keys.plan), *_loss_lines(keys.losses))
    return ["keys:", *(f"  {line}" for line in own), f"note: {warning}"]


def _problem_lines(plan: ConversionPlan, problems: Sequence[str], declared: BridgeFile) -> list[str]:
    """Return the notes, and the problems, those of rules with the place of the rule in the file."""
    places = {
        str(each): f" (line {place.line}, column {place.column})"
        for each in plan.problems
        if (place := declared.positions.get(each.field)) is not None
    }
    notes = [f"note: {note}" for note in plan.notes]
    if problems:
        return [
            *notes,
            f"NOT COMPLETE: {len(problems)} open",
            *(f"  {problem}{places.get(problem, '')}" for problem in problems),
        ]
    return [*notes, f"complete, plan {plan.hash[:16]}"]


def _engine_lines(conversion: Conversion | None) -> list[str]:
    """Return which engine will convert the records of a complete plan, and what a slow one costs."""
    if conversion is None:
        return []
    try:
        choice = choose_engine(AUTO, conversion)
    except (EngineCannot, ImportError):  # said by the check and the run, which need Spark
        return []
    if choice.engine.name != "reference":
        return [choice.why]
    cost = "it takes about ten times the processor time of java, and bridge check measures its rate on this machine"
    return [f"{choice.why}; {cost}: change what is named in the schema, or plan with that rate"]


def _suggestion_lines(suggestions: Sequence[Suggestion]) -> list[str]:
    """Return the suggestions as YAML comments, to be copied under ``fields``."""
    return ["# suggestions for fields:", *(f"#   {each}" for each in suggestions)] if suggestions else []


def _loss_lines(losses: Sequence[RoundTripLoss]) -> list[str]:
    return (
        [
            f"{counted(len(losses), 'field')} of the source that the target does not keep:",
            *(f"  {loss}" for loss in losses),
        ]
        if losses
        else []
    )


def _plan_document(declared: BridgeFile, plan: ConversionPlan, problems: Sequence[str]) -> JsonObject:
    return {
        "bridge": declared.name,
        "hash": plan.hash,
        "complete": not problems,
        "rows": [asdict(row) for row in plan.rows()],
        "dropped": list(plan.dropped),
        "lossy": list(plan.lossy),
        "notes": list(plan.notes),
        "problems": list(problems),
    }
