"""The functions in the database: they belong to the program, and are replaced wherever they are not its own."""

from __future__ import annotations

import hashlib
from importlib import resources
from typing import Final

_DROP: Final = """
DO $$
DECLARE
  each regprocedure;
BEGIN
  PERFORM 1 FROM stamps FOR UPDATE;  -- after whatever they have under way
  FOR each IN SELECT oid FROM pg_proc WHERE pronamespace = 'counterfoil'::regnamespace LOOP
    EXECUTE 'DROP FUNCTION ' || each;
  END LOOP;
END $$;

"""


def _functions() -> str:
    return resources.files("counterfoil.registry.store").joinpath("postgres_commit.sql").read_text("utf-8")


def functions_digest() -> str:
    """What tells these functions from those of another version; kept as the comment on ``commit``."""
    return hashlib.sha256(_functions().encode()).hexdigest()


def functions_script() -> str:
    """The statements that put these functions in the place of all others, for the schema first in the search path."""
    return f"{_DROP}{_functions()}\nCOMMENT ON FUNCTION commit(jsonb, uuid[], bytea[]) IS '{functions_digest()}';\n"
