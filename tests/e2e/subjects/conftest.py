"""A project whose files are mapped to subjects of a running registry."""

from __future__ import annotations

import pytest

from counterfoil.sdk import Registry


@pytest.fixture
def registry(live_registry):
    """A client of a registry that other tests use, too."""
    with Registry(live_registry.url) as client:
        yield client


@pytest.fixture
def shop(workshop, unique_name, live_registry):
    """A repository with a project file that a test declares; the subjects have a prefix of their own."""
    workshop.prefix = unique_name("own")

    def declare(*lines, top=""):
        entries = "".join(f"  - {line.format(p=workshop.prefix)}\n" for line in lines)
        workshop.write("counterfoil.yaml", f"registry: {live_registry.url}\n{top}schemas:\n{entries}")

    workshop.declare = declare
    return workshop
