"""``systemd-analyze``, which checks and rates units without a running systemd."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from local_services.debian import installed_program, library_path, unpacked_packages

if TYPE_CHECKING:
    from pathlib import Path

_PACKAGES: Final = ("systemd", "libsystemd-shared", "libkmod2", "libapparmor1", "libip4tc2")


def systemd_analyze() -> tuple[Path, dict[str, str]]:
    """Return the program, and the environment in which it runs."""
    installed = installed_program("systemd-analyze")
    if installed is not None:
        return installed, dict(os.environ)
    packages = unpacked_packages("systemd", _PACKAGES, size="6 MB")
    return packages / "usr" / "bin" / "systemd-analyze", {**os.environ, **library_path(packages)}
