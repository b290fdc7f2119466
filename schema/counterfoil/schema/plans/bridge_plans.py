"""What a registry needs of a bridge: its file read, and its plan derived there and back, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.schema.documents import InvalidDocument
from counterfoil.schema.errors import InvalidBridge
from counterfoil.schema.plans.bridge_document import read_bridge
from counterfoil.schema.plans.derivations import derive_back, stored_plan
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.languages import with_message
from counterfoil.schema.plans.rules import NumberMeaning, PlanRules
from counterfoil.schema.rest.bridges import PROBLEM, Problem, ReversePlan

if TYPE_CHECKING:
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.plans.bridge import BridgeFile
    from counterfoil.schema.plans.model import ConversionPlan


@dataclass(frozen=True, slots=True)
class DerivedPlan:
    """A complete plan: its hash, what it loses and leaves out, and the plan that converts back."""

    hash: str
    lossy: tuple[str, ...]
    dropped: tuple[str, ...]
    reverse: ReversePlan


class StoredHashes(NamedTuple):
    """The hashes of the plans that are stored of a bridge, there and back; empty if there are none."""

    there: str = ""
    back: str = ""


NO_HASHES: Final = StoredHashes()


def plan_head(text: str) -> BridgeFile:
    """Return the bridge file in ``text`` without its rules, of which there may be thousands.

    Raise ``InvalidBridge`` with line and column of a mistake.
    """
    return replace(read_plan(text), rules=PlanRules(), positions={})


def read_plan(text: str, named: str = "The plan") -> BridgeFile:
    """Return the bridge file in ``text``; raise ``InvalidBridge`` with line and column of a mistake."""
    try:
        return read_bridge(text)
    except InvalidDocument as mistake:
        raise InvalidBridge(f"{named} cannot be read: {mistake}") from None


def derived_plan(
    text: str, source: ParsedSchema, target: ParsedSchema, reverse: str = "", stored: StoredHashes = NO_HASHES
) -> DerivedPlan:
    """Return the plan of the bridge file in ``text`` from ``source`` to ``target``, and the one back.

    ``reverse`` is the text of a bridge file for the plan back; without it, that plan is derived without rules, and may
    have problems. ``stored`` are the hashes of the plans that are stored, which keep their meaning where versions
    before derived other ones. Raise ``InvalidBridge`` for a plan that is not complete, with its problems by field in
    the details.
    """
    file = read_plan(text)
    source, target = with_message(source, file.source_message), with_message(target, file.target_message)
    plan = derive_plan(source, target, file.rules)
    earlier = stored_plan(plan, file.rules) if stored.there else None
    if earlier is not None and earlier.hash == stored.there:
        plan = earlier
    _check_complete(plan, f"The plan of bridge {file.name!r}")
    if unusable := file.language_problems(source.schema_type, target.schema_type):
        raise InvalidBridge("; ".join(unusable))
    return DerivedPlan(plan.hash, plan.lossy, plan.dropped, _reverse(file, plan, reverse, stored.back))


def _reverse(file: BridgeFile, plan: ConversionPlan, text: str, stored_hash: str) -> ReversePlan:
    if not text:
        back = derive_back(plan)
        if stored_hash not in {"", back.hash}:
            earlier = derive_plan(plan.target, plan.source, PlanRules(drop_rest=True, numbers=NumberMeaning.ALL))
            back = earlier if earlier.hash == stored_hash else back
        return ReversePlan(back.hash, problems=_problems(back), lossy=back.lossy)
    named = read_plan(text, "The reverse plan")
    if (named.source_subject, named.target_subject) != (file.target_subject, file.source_subject):
        raise InvalidBridge(
            f"The reverse plan converts {named.source_subject} to {named.target_subject}; "
            f"expected {file.target_subject} to {file.source_subject}"
        )
    back = derive_plan(plan.target, plan.source, named.rules)
    _check_complete(back, f"The reverse plan of bridge {file.name!r}")
    return ReversePlan(back.hash, text, lossy=back.lossy)


def _check_complete(plan: ConversionPlan, named: str) -> None:
    problems = _problems(plan)
    if problems:
        raise InvalidBridge(
            f"{named} is not complete: {'; '.join(map(str, problems))}",
            details={"problems": [PROBLEM.write(each) for each in problems]},
        )


def _problems(plan: ConversionPlan) -> tuple[Problem, ...]:
    return tuple(Problem(each.kind.value, each.field, each.text) for each in plan.problems)
