"""The records that topics still have, of earlier versions of a schema, and who cannot read them. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterfoil.schema.reads.model import ReadFinding
    from counterfoil.schema.reads.sides import Judge, Offering, Reading

EarlierOffering = tuple["Offering", str]
"""What is offered with the schema of an earlier version, and the end of the sentences about it."""

_UNBACKED = "expectation-unbacked"
"""The rule about what nothing promises, such as an enum's values in records whose field was a text."""


@dataclass(frozen=True, slots=True)
class RetainedRecords:
    """The records that topics still have: by the identity of what is offered, that with the schemas of each version."""

    earlier: Mapping[tuple[str, ...], Sequence[EarlierOffering]] = field(default_factory=dict)

    def findings(
        self, judge: Judge, known: Sequence[Offering], offered: Offering, reading: Reading
    ) -> list[ReadFinding]:
        """Return why a reader that reads old records again cannot read those of earlier versions.

        ``known`` are the offerings that the reader was built for.
        """
        found: dict[object, ReadFinding] = {}
        for before, where in self.earlier.get(offered.identity, ()) if reading.reads_again else ():
            for each in judge(known, before, reading):
                if each.application is not None and (each.rule.startswith("consumer-") or each.rule == _UNBACKED):
                    former = each.former and each.former._replace(text=f"{each.former.text}; {where}")
                    found.setdefault(each.identity, replace(each, text=f"{each.text}; {where}", former=former))
        return list(found.values())
