"""The YAML files of one side of a comparison, among which are its contract and product files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

YAML_SUFFIXES: Final = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class YamlFiles:
    """The paths of the files, sorted, and the function that reads several of them."""

    paths: tuple[str, ...]
    contents: Callable[[Sequence[str]], Mapping[str, bytes]]


def is_yaml(path: str) -> bool:
    """Return whether a file is YAML by its name."""
    return path.endswith(YAML_SUFFIXES)
