"""A compatibility rule as data. Pair walks find where it applies; reports, pages and tests read the rule tables.

Each language has its table in ``formats/<language>/rules.py``; :mod:`counterfoil.schema.formats.rules` joins them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.compatibility.sentences import Sentence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.model import SchemaType

ALWAYS: Final = frozenset(CompatibilityPolicy)
"""Breaks under every policy."""
NEVER: Final[frozenset[CompatibilityPolicy]] = frozenset()
"""A difference that is reported and breaks no reader."""


@dataclass(frozen=True, slots=True)
class CompatibilityRule:
    """One kind of difference between what a writer writes and a reader reads.

    ``id`` is this project's name of the rule and unique across all languages. ``schema_type`` is the language (None:
    all of them). ``error_type`` is Confluent's name (empty where the reference has none). ``breaks`` are the policies
    under which the reader cannot read everything. ``sentence`` is the template of a
    :class:`~counterfoil.schema.compatibility.sentences.Sentence`. ``why`` says what goes wrong with the records (or
    why nothing does), and ``fix`` how to correct it (empty: nothing needs to be corrected). ``promises_witness`` says
    whether every finite place of this rule has a datum that a decoder refuses; checkers are stricter than decoders
    about some things, such as the names of records.

    Each rule has a folder of its id under ``tests/rules/`` with the schemas ``previous`` and ``current`` and the
    expected findings. The rule's page in the docs shows these schemas as its example.
    """

    id: str
    schema_type: SchemaType | None
    error_type: str
    sentence: str
    why: str
    fix: str = ""
    breaks: frozenset[CompatibilityPolicy] = ALWAYS
    promises_witness: bool = True

    def about(self, facts: Mapping[str, object]) -> Sentence:
        """Return the rule's sentence about a difference with these facts."""
        return Sentence.of(self.sentence, facts)
