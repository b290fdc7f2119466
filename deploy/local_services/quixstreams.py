"""Quix Streams, which pins a version of confluent-kafka that is older than the one in .venv.

Its programs import it and everything that it needs from ``quixstreams.txt``, and only the rest from .venv.
"""

from __future__ import annotations

import os
from pathlib import Path

from local_services.packages import package_folder

_REQUIREMENTS = Path(__file__).with_name("quixstreams.txt")


def quixstreams_environment() -> dict[str, str]:
    """Return this process's environment, in which programs import Quix Streams."""
    return {**os.environ, "PYTHONPATH": str(package_folder("quixstreams", _REQUIREMENTS, size="90 MB"))}
