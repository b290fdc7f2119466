"""How a command of ``counterfoil`` ended."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Outcome:
    """How a command ended: ``code``, and what it printed."""

    code: int
    out: str
    err: str

    def __post_init__(self) -> None:
        assert "Traceback" not in self.err

    def __str__(self) -> str:
        return f"exit {self.code}\n{self.out}\n{self.err}"

    @property
    def report(self) -> dict[str, Any]:
        """Standard output as JSON."""
        read: dict[str, Any] = json.loads(self.out)
        return read

    @property
    def rules(self) -> list[str]:
        """The rules of the findings in a JSON report."""
        return [finding["rule"] for finding in self.report["findings"]]
