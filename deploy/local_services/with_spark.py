"""``python -m local_services.with_spark VERSION PROGRAM ...`` runs a program with one of the PySparks for tests.

``VERSION`` is one of those, or its line such as 3.5, or ``oldest`` or ``newest``.
"""

from __future__ import annotations

import os
import sys

from local_services.spark_versions import TESTED_SPARKS, spark_environment


def tested_spark(name: str) -> str:
    """Return the version that a name stands for; ``SystemExit`` says which ones there are."""
    named = {"oldest": TESTED_SPARKS[0], "newest": TESTED_SPARKS[-1]}
    named |= {each.rpartition(".")[0]: each for each in TESTED_SPARKS}
    found = named.get(name, name)
    if found not in TESTED_SPARKS:
        raise SystemExit(f"Tests do not run on PySpark {name!r}; VERSION is one of {', '.join(TESTED_SPARKS)}")
    return found


if __name__ == "__main__":
    os.execvpe(sys.argv[2], sys.argv[2:], spark_environment(tested_spark(sys.argv[1])))  # noqa: S606 - the program of the command line
