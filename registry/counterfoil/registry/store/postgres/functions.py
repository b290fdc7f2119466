"""The functions in the database: they are part of the program, and each version has names of its own."""

from __future__ import annotations

import hashlib
import re
from functools import cache, cached_property
from importlib import resources
from typing import Final

_CREATED: Final = re.compile(r"^CREATE FUNCTION (\w+)\(", re.MULTILINE)
_DIGITS: Final = 12
_OTHERS: Final = "pronamespace = 'counterfoil'::regnamespace AND right(proname, {length}) <> '{ending}'"
_COUNT: Final = "SELECT count(*) FROM pg_proc WHERE {others}"
_REMOVAL: Final = """
DO $$
DECLARE
  each regprocedure;
BEGIN
  PERFORM 1 FROM counterfoil.stamps FOR UPDATE;  -- after whatever they have under way
  FOR each IN SELECT oid FROM pg_proc WHERE {others} LOOP
    EXECUTE 'DROP FUNCTION ' || each;
  END LOOP;
END $$;
"""


class Functions:
    """The functions that ``source`` creates, under names that end in the digest of ``source``.

    So servers of several versions can use one database, as in an upgrade of one server after the other: each calls the
    functions that it was tested with. Equal names are equal functions.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._ending = "_" + hashlib.sha256(source.encode()).hexdigest()[:_DIGITS]

    def named(self, name: str) -> str:
        """Return the name in the database of the function ``name`` of ``source``."""
        return name + self._ending

    @cached_property
    def names(self) -> list[str]:
        """The sorted names in the database."""
        return sorted(self.named(name) for name in self._plain_names)

    @cached_property
    def creation(self) -> str:
        """The statements that create missing functions, in the first schema of the search path."""
        called = re.compile(rf"\b({'|'.join(self._plain_names)})(?=\()")
        text = called.sub(lambda found: self.named(found[1]), self._source)
        return text.replace("CREATE FUNCTION ", "CREATE OR REPLACE FUNCTION ")

    @property
    def removal_of_others(self) -> str:
        """The statement that removes the functions of all other versions, after their running calls."""
        return _REMOVAL.format(others=self._others)

    @property
    def count_of_others(self) -> str:
        """The query that counts the functions of all other versions."""
        return _COUNT.format(others=self._others)

    @property
    def _others(self) -> str:
        return _OTHERS.format(length=len(self._ending), ending=self._ending)

    @property
    def _plain_names(self) -> list[str]:
        return _CREATED.findall(self._source)


@cache
def own_functions() -> Functions:
    """Return the functions of this version."""
    return Functions(resources.files("counterfoil.registry.store.postgres").joinpath("commit.sql").read_text("utf-8"))
