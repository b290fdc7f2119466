"""Run the tests that failed in the last run once more, one after another, if they are few.

A test that fails beside others and passes alone depends on the time that the machine gives it. That is a defect as
well, of the test or of what it tests. Its name is printed last.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

AT_MOST = 3
FAILED = Path(".pytest_cache/v/cache/lastfailed")


def without_group(test: str) -> str:
    """Return the id of a test without the group that pytest-xdist adds to it (``test_x[a]@group``)."""
    return re.sub(r"@[^\]]*$", "", test)


def main() -> int:
    failed = sorted(map(without_group, json.loads(FAILED.read_text()))) if FAILED.exists() else []
    if not 0 < len(failed) <= AT_MOST:
        return 1
    sys.stdout.write(f"\nRunning what failed once more, alone: {len(failed)} of at most {AT_MOST}\n")
    sys.stdout.flush()
    status = subprocess.run([sys.executable, "-m", "pytest", "-m", "not long", *failed], check=False).returncode
    if status == 0:
        found = ["FAILED BESIDE OTHERS, PASSED ALONE (a defect that needs a fix):", *failed]
        sys.stdout.write("\n  ".join(found) + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
