"""The migrations as SQL text, which is then run or shown: what one reads beforehand is what is carried out."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Final

from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from counterfoil.registry.store.formats import FORMAT
from counterfoil.registry.store.postgres.functions import own_functions

SQLITE: Final = "sqlite"
POSTGRESQL: Final = "postgresql"

_WITHOUT_KEYS: Final = "PRAGMA foreign_keys = OFF;  -- so that a table can be put in another's place"
_MARK: Final = {
    SQLITE: "PRAGMA user_version = {number};\n",
    POSTGRESQL: "INSERT INTO counterfoil.store_format VALUES ({number});\n",
}


def revisions() -> list[int]:
    """The numbers of all formats, in order."""
    return [int(script.revision) for script in reversed(list(_directory().walk_revisions()))]


def upgrade_script(dialect: str, found: int, *, until: int = FORMAT) -> str:
    """The statements that make a store of the format ``until`` out of one of the format ``found``, 0 being none.

    They are meant for one transaction, which is the caller's. In PostgreSQL they also make this version's functions
    where they are not there, and remove those of all others.
    """
    output = StringIO()
    if dialect == POSTGRESQL:
        output.write("SET LOCAL search_path = counterfoil, pg_catalog, pg_temp;\n\n")
    for script in reversed(list(_directory().walk_revisions())):
        number = int(script.revision)
        if found < number <= until:
            output.write(f"-- format {number}: {script.doc}\n\n")
            options = {"as_sql": True, "output_buffer": output}
            with Operations.context(MigrationContext.configure(dialect_name=dialect, opts=options)):
                script.module.upgrade()
            output.write(_MARK[dialect].format(number=number) + "\n")
    if dialect == POSTGRESQL and until == FORMAT:
        output.write(f"-- the functions of this version, and no others\n{own_functions().removal_of_others}\n")
        output.write(own_functions().creation)
    return output.getvalue()


def in_transaction(dialect: str, script: str) -> str:
    """``script`` as one would give it to ``psql`` or ``sqlite3``: all of it is done, or nothing."""
    if dialect == SQLITE:
        return f"{_WITHOUT_KEYS}\nBEGIN IMMEDIATE;\n\n{script}\nCOMMIT;\n"
    return f"BEGIN;\n\n{script}\nCOMMIT;\n"


def _directory() -> ScriptDirectory:
    here = Path(__file__).parent
    return ScriptDirectory(str(here), version_locations=[str(here / "versions")])
