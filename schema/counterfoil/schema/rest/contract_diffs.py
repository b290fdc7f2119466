"""What differs between two versions of a contract, as objects of the registry.

The JSON of these values is that of this project's own API under ``/contracts/v1``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from counterfoil.schema.rest.contracts import ContractKind
from counterfoil.schema.rest.object_forms import FLAG, REQUIRED, TEXT, Member, ObjectForm, list_of, word_of


@dataclass(frozen=True, slots=True)
class ContractChange:
    """One change, without judgement: ``subject`` is the subject, or the contract that a consumer reads."""

    subject: str
    kind: str
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class JudgedDifference:
    """One difference that a rule is about: whether it ``is_breaking``, and for which ``direction`` of reading.

    ``direction`` is that of the compatibility of schemas; it is empty for what the contract promises.
    """

    subject: str
    rule: str
    path: str
    text: str
    is_breaking: bool
    direction: str = ""


@dataclass(frozen=True, slots=True)
class ContractDiff:
    """What differs between two versions of a contract."""

    contract: str
    kind: ContractKind
    earlier: str
    later: str
    is_same: bool
    changes: tuple[ContractChange, ...] = ()
    findings: tuple[JudgedDifference, ...] = ()


_PLACE: Final = (
    Member("subject", "subject", TEXT, otherwise=REQUIRED),
    Member("path", "path", TEXT, otherwise=REQUIRED, about="The path of the field; empty for the whole."),
    Member("text", "text", TEXT, otherwise=REQUIRED),
)

CONTRACT_CHANGE: Final = ObjectForm(
    ContractChange,
    (Member("kind", "kind", TEXT, otherwise=REQUIRED, about="Such as field-removed."), *_PLACE),
    keeps_empty=True,
)

JUDGED_DIFFERENCE: Final = ObjectForm(
    JudgedDifference,
    (
        Member("rule", "rule", TEXT, otherwise=REQUIRED, about="The id of the rule."),
        Member("breaking", "is_breaking", FLAG, otherwise=REQUIRED),
        Member("direction", "direction", TEXT, about="BACKWARD or FORWARD, for a difference of schemas."),
        *_PLACE,
    ),
    keeps_empty=True,
)

CONTRACT_DIFF: Final = ObjectForm(
    ContractDiff,
    (
        Member("contract", "contract", TEXT, otherwise=REQUIRED),
        Member("kind", "kind", word_of(ContractKind), otherwise=REQUIRED, about="odcs or odps."),
        Member("from", "earlier", TEXT, otherwise=REQUIRED, about="The earlier version."),
        Member("to", "later", TEXT, otherwise=REQUIRED, about="The later version."),
        Member("same", "is_same", FLAG, otherwise=REQUIRED, about="Whether no verdict can differ."),
        Member("changes", "changes", list_of(CONTRACT_CHANGE), otherwise=REQUIRED, about="What changed."),
        Member(
            "findings",
            "findings",
            list_of(JUDGED_DIFFERENCE),
            otherwise=REQUIRED,
            about="What breaks readers in one direction, and what the contract no longer promises.",
        ),
    ),
    keeps_empty=True,
)
