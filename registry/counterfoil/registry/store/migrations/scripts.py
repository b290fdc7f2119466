"""The migrations as SQL text, which is then run or shown: what one reads beforehand is what is carried out."""

from __future__ import annotations

from importlib import resources
from typing import Final

from counterfoil.registry.store.formats import FORMAT
from counterfoil.registry.store.postgres.functions import own_functions

SQLITE: Final = "sqlite"
POSTGRESQL: Final = "postgresql"

_WITHOUT_KEYS: Final = "PRAGMA foreign_keys = OFF;  -- so that a table can be put in another's place"
_MARK: Final = {
    SQLITE: "PRAGMA user_version = {number};\n",
    POSTGRESQL: "INSERT INTO counterfoil.store_format VALUES ({number});\n",
}


def migrations(dialect: str) -> dict[int, str]:
    """Return the SQL that makes each format of the one before it, in order; a file's name begins with the number."""
    folder = resources.files(__package__).joinpath(dialect)
    files = sorted((int(file.name.partition("_")[0]), file) for file in folder.iterdir() if file.name.endswith(".sql"))
    return {number: file.read_text("utf-8") for number, file in files}


def upgrade_script(dialect: str, found: int, *, until: int = FORMAT) -> str:
    """Return the statements that upgrade a store from the format ``found`` (0: an empty store) to the format ``until``.

    They are meant for one transaction, which is the caller's. In PostgreSQL they also make this version's functions
    where they are not there, and remove those of all others.
    """
    parts = ["SET LOCAL search_path = counterfoil, pg_catalog, pg_temp;\n"] if dialect == POSTGRESQL else []
    for number, statements in migrations(dialect).items():
        if found < number <= until:
            parts.append(f"-- format {number}\n{statements}\n{_MARK[dialect].format(number=number)}")
    if dialect == POSTGRESQL and until == FORMAT:
        parts.append(f"-- the functions of this version, and no others\n{own_functions().removal_of_others}")
        parts.append(own_functions().creation)
    return "\n".join(parts)


def in_transaction(dialect: str, script: str) -> str:
    """``script`` as one would give it to ``psql`` or ``sqlite3``: all of it is done, or nothing."""
    if dialect == SQLITE:
        return f"{_WITHOUT_KEYS}\nBEGIN IMMEDIATE;\n\n{script}\nCOMMIT;\n"
    return f"BEGIN;\n\n{script}\nCOMMIT;\n"
