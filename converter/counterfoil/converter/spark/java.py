"""The Java that Spark runs on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Final

from counterfoil.converter.errors import MissingPart

OLDEST: Final = 17
"""Spark 4 and Kafka 4 need at least this major version."""


def check_java() -> str:
    """Return the ``java`` that Spark will start: JAVA_HOME's if it is set, else the PATH's.

    Raises ``MissingPart`` if it is missing or too old; the message says what to install.
    """
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    found = _java_version(java) if java else None
    if java and found is not None and found >= OLDEST:
        return java
    where = f"{java} is {f'version {found}' if found else 'no working Java'}" if java else "none is on the PATH"
    raise MissingPart(
        f"Spark needs Java {OLDEST} or newer, and {where}. Install one, for example "
        "apt-get install openjdk-17-jre-headless, dnf install java-21-openjdk-headless or brew install openjdk@21; "
        "JAVA_HOME names it where there are several"
    )


@lru_cache(maxsize=4)
def _java_version(java: str) -> int | None:
    try:
        shown = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=True)  # noqa: S603 - the user's own java
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', shown.stderr)
    return int(match[1]) if match else None
