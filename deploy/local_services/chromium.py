"""Chromium for tests of pages: the installed one, else Debian's, unpacked in the cache.

``COUNTERFOIL_CHROMIUM`` names another program. A fresh profile, and no request of the browser's own.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from local_services.debian import installed_program, library_path, unpacked_with_libraries

if TYPE_CHECKING:
    from collections.abc import Mapping

_PACKAGES: Final = ("chromium", "fonts-dejavu-core")
_PROGRAM: Final = Path("usr", "lib", "chromium", "chromium")
QUIET: Final = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-features=HttpsUpgrades",
)
"""The options with which the browser requests nothing by itself."""

_FONTS: Final = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>/usr/share/fonts</dir>
  <dir>{folder}/usr/share/fonts</dir>
  <cachedir>{folder}/fontconfig</cachedir>
</fontconfig>
"""


def chromium_program() -> tuple[Path, Mapping[str, str]]:
    """Return the browser, and the variables of the environment that it needs; raise ``ServiceError``."""
    own = os.environ.get("COUNTERFOIL_CHROMIUM")
    if own:
        return Path(own), {}
    installed = installed_program("chromium")
    if installed is not None:
        return installed, {}
    folder = unpacked_with_libraries("chromium", _PACKAGES, size="100 MB")
    fonts = folder / "fonts.conf"
    if not fonts.exists():
        fonts.write_text(_FONTS.format(folder=folder))
    return folder / _PROGRAM, {**library_path(folder), "FONTCONFIG_FILE": str(fonts)}


def chromium_options() -> list[str]:
    """Return the options of a browser for tests; its sandbox cannot be used by root."""
    return [*QUIET, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
