"""Find a Java that Spark and Kafka run on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path

OLDEST = 17
"""Spark 4 and Kafka 4 need at least this major version."""


class JavaMissingError(RuntimeError):
    """No Java, or one that is too old; the message says what to install."""


@lru_cache(maxsize=1)
def java_executable() -> str:
    """The path of a ``java`` of version 17 or newer, from JAVA_HOME or PATH."""
    home = os.environ.get("JAVA_HOME")
    candidates = [str(Path(home) / "bin" / "java")] if home else []
    candidates += [found] if (found := shutil.which("java")) else []
    seen = []
    for candidate in candidates:
        version = _major_version(candidate)
        if version is not None and version >= OLDEST:
            return candidate
        seen.append(f"{candidate} ({f'version {version}' if version else 'does not run'})")
    tried = f" Found only {', '.join(seen)}." if seen else ""
    raise JavaMissingError(
        f"Kafka and Spark need a JDK {OLDEST} or 21, and none was found in JAVA_HOME or PATH.{tried} "
        "Install one, for example: apt-get install openjdk-17-jdk-headless (Debian, Ubuntu), "
        "dnf install java-21-openjdk-headless (Fedora), brew install openjdk@21 (macOS)."
    )


def _major_version(java: str) -> int | None:
    try:
        shown = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', shown)
    return int(match[1]) if match else None
