"""The structure of the product's code does not become worse: the figures of :mod:`structure` and :mod:`flows`."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from types import ModuleType

HERE: Final = Path(__file__).parent
# The names that more than one public class has: those of confluent-kafka, which sdk/confluent and the serializers of
# Avro and Protobuf have too, so that programs change their imports alone; and those that two adapters share.
# The list may only become shorter: nothing is added to it.
REPEATED: Final = frozenset((HERE / "repeated_class_names.txt").read_text(encoding="utf-8").split())
# The largest share of import lines, in percent of all lines, and the modules that each flow may enter.
MOST_IMPORTS: Final = 7.7
MOST_ENTERED: Final = {"registration": 43, "can-i-deploy": 55, "check of one file": 35}


def loaded(name: str) -> ModuleType:
    """Return the module of this folder with a name; the folder is no package."""
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


structure = loaded("structure")
flows = loaded("flows")


def test_the_name_of_a_class_is_its_own():
    assert set(structure.repeated_class_names(structure.modules())) == REPEATED


@pytest.mark.slow
def test_modules_are_not_split_until_imports_fill_them():
    assert structure.figures(structure.modules())["import lines, percent"] <= MOST_IMPORTS


@pytest.mark.slow
@pytest.mark.parametrize("flow", flows.FLOWS)
def test_who_follows_a_flow_reads_no_more_modules_than_before(flow: str):
    assert len(flows.FLOWS[flow]()) <= MOST_ENTERED[flow]
