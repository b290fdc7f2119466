"""The tables as they were before there were migrations."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from alembic import op

revision: Final = "0001"
down_revision: Final = None


def upgrade() -> None:
    """Create them."""
    dialect = op.get_context().dialect.name
    script = Path(__file__).with_name(f"r{revision}_{dialect}.sql").read_text("utf-8")
    op.execute(script.rstrip().removesuffix(";"))
