"""How one schema file is checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.contracts.generated_code import GeneratedCode

if TYPE_CHECKING:
    from counterfoil.contracts.topic_records import Topics
    from counterfoil.schema.compatibility.levels import CompatibilityLevel
    from counterfoil.schema.compatibility.policies import CompatibilityPolicy


@dataclass(frozen=True, slots=True)
class FileRequest:
    """The level and policy of a file, and what else determines its check, as for :func:`..check.check_files`."""

    level: CompatibilityLevel
    policy: CompatibilityPolicy
    confirm: int = 0
    needs_all: bool = False
    topics: Topics | None = None
    owner: str = ""
    subject: str | None = None
    generated_code: GeneratedCode = GeneratedCode.NONE
