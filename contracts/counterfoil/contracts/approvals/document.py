"""The file of approvals: YAML, read with the place of every mistake, and printed.

::

    approvals = [ { fingerprint, reason, owner, until: YYYY-MM-DD, [ migration: path ],
                    [ rule ], [ subject ], [ path ], [ text ] }, ... ]

``rule``, ``subject``, ``path`` and ``text`` say to people which finding the fingerprint is of.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.project.document import accepted_finding
from counterfoil.schema.documents.blocks import block, items, text_of
from counterfoil.schema.documents.nodes import InvalidDocument, MappingNode
from counterfoil.schema.documents.yaml_reader import read_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from counterfoil.contracts.project.model import AcceptedFinding

FILE_NAME: Final = ".contract-approvals.yaml"
_ABOUT: Final = ("rule", "subject", "path", "text")
_HEADER: Final = "# Findings that are accepted until a day. `counterfoil approve` writes it and keeps no comments."


@dataclass(frozen=True, slots=True)
class ApprovalRecord:
    """An accepted finding, and for people what it is about: ``rule``, ``subject``, ``path``, ``text``."""

    accepted: AcceptedFinding
    rule: str = ""
    subject: str = ""
    path: str = ""
    text: str = ""


def read_approvals(text: str) -> tuple[ApprovalRecord, ...]:
    """Return the approvals in a YAML ``text``; raise ``InvalidDocument`` with the position of a mistake."""
    root = read_yaml(text)
    if root is None:
        return ()
    top = block(root, what="the file of approvals", required=("approvals",))
    found: dict[str, ApprovalRecord] = {}
    for node in items(top.entries["approvals"], what="approvals"):
        accepted = accepted_finding(node, what="an approval", also=_ABOUT)
        if accepted.fingerprint in found:
            raise InvalidDocument(f"{accepted.fingerprint} is approved twice; keep one of the entries", node.position)
        entries = node.entries if isinstance(node, MappingNode) else {}
        about = {name: text_of(entries[name]) for name in _ABOUT if name in entries}
        found[accepted.fingerprint] = ApprovalRecord(accepted, **about)
    return tuple(found.values())


def print_approvals(records: Iterable[ApprovalRecord]) -> str:
    """Return the text of the file with these approvals."""
    lines = [line for record in records for line in _lines(record)]
    return "".join(f"{line}\n" for line in (_HEADER, "approvals:" if lines else "approvals: []", *lines))


def _lines(record: ApprovalRecord) -> Iterator[str]:
    accepted = record.accepted
    yield f"  - fingerprint: {_quoted(accepted.fingerprint)}"
    facts = {name: getattr(record, name) for name in _ABOUT}
    facts |= {"reason": accepted.reason, "owner": accepted.owner, "until": accepted.until.isoformat()}
    facts |= {"migration": accepted.migration}
    yield from (f"    {name}: {_quoted(value)}" for name, value in facts.items() if value)


def _quoted(text: str) -> str:
    """Return the text as JSON, which is YAML, too."""
    return json.dumps(text)
