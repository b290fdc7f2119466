"""A compatibility rule as data. Pair walks find the places where it applies; reports, pages and tests read the tables.

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
"""All policies: the rule breaks under every one."""
NEVER: Final[frozenset[CompatibilityPolicy]] = frozenset()
"""No policy: the difference is reported and breaks no reader."""


@dataclass(frozen=True, slots=True)
class CompatibilityRule:
    """One kind of difference between a writer and a reader.

    ``id`` is this project's name of the rule and unique across all languages. ``schema_type`` is the language (None:
    all of them). ``error_type`` is Confluent's name (empty if the reference has none). ``breaks`` are the policies
    under which the reader cannot read everything. ``sentence`` is the template of a
    :class:`~counterfoil.schema.compatibility.sentences.Sentence`. ``why`` is what goes wrong with the records (or why
    nothing does), and ``fix`` how to correct it (empty: nothing needs to be corrected). ``forward_fix`` is the
    advice where the reader is deployed already and cannot be changed (empty: that of the language).
    ``promises_witness`` is whether every finite place of this rule has a datum that a decoder refuses or misreads; some
    checks are stricter than decoders, such as those of the names of records. ``is_of_change``: the rule is about what
    a later schema takes away from the one before, whatever is read; it does not break where the later one writes.
    ``of_side`` (``reader`` or ``writer``): the rule is about a fault of that schema alone, which counts while the
    schema is the one that is judged, and no longer when it is an earlier version.

    Each rule has a folder named after its id under ``tests/rules/`` with the schemas ``previous`` and ``current`` and
    the expected findings. The rule's page in the docs shows these schemas as its example.
    """

    id: str
    schema_type: SchemaType | None
    error_type: str
    sentence: str
    why: str
    fix: str = ""
    forward_fix: str = ""
    breaks: frozenset[CompatibilityPolicy] = ALWAYS
    promises_witness: bool = True
    is_of_change: bool = False
    of_side: str = ""

    @property
    def page(self) -> str:
        """The path of the rule's page below ``docs/reference/``."""
        folder = self.schema_type.value.lower() if self.schema_type else "logical"
        return f"rules/{folder}/{self.id}.md"

    def about(self, facts: Mapping[str, object]) -> Sentence:
        """Return the rule's sentence with these facts."""
        return Sentence.of(self.sentence, facts)
