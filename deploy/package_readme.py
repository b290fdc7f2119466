"""README.md for a package index, with absolute links: relative ones do not work there.

A metadata hook of hatchling, which runs whenever the package is built.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(\]\()([^)\s]+)(\))")
_IMAGE = re.compile(r"(<(?:img|source)\b[^>]*?\bsrc(?:set)?=\")(?![a-z]+:)([^\"]+)")
_ELSEWHERE = re.compile(r"[a-z]+:|#")


class PackageReadme(MetadataHookInterface):
    """Sets the field ``readme``."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Put the text into ``metadata``, with links to the files at the tag of this version."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        repository, tag = metadata["urls"]["Repository"], f"v{metadata['version']}"
        text = with_absolute_links(text, f"{repository}/blob/{tag}/", f"{repository}/raw/{tag}/")
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def with_absolute_links(text: str, place: str, images: str) -> str:
    """Return Markdown with every relative link resolved against ``place``, and images against ``images``.

    Both end with a slash.
    """

    def absolute(link: re.Match[str]) -> str:
        target = link[2] if _ELSEWHERE.match(link[2]) else place + link[2]
        return f"{link[1]}{target}{link[3]}"

    return _IMAGE.sub(lambda image: f"{image[1]}{images}{image[2]}", _LINK.sub(absolute, text))
