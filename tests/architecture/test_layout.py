"""The rooms stay rooms: one shared namespace, nothing imported by its bare name, the layers hold."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).resolve().parents[2]
# "noqa: CODE" or "type: ignore[code]", and after it at least two words
REASON = re.compile(r"# (?:noqa: [A-Z]+[0-9]+(?:, [A-Z]+[0-9]+)*|type: ignore\[[a-z, -]+\])\W+\w[\w']*\W+\w")
ROOMS = ("schema", "pages", "sdk", "contracts", "registry", "converter")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CONTRACTS = PROJECT["tool"]["importlinter"]["contracts"]
BESIDE = {"sdk": ["accelerator"]}  # a distribution of its own, in Rust


@pytest.mark.parametrize("room", ROOMS)
def test_the_shared_name_is_a_namespace(room: str):
    folders = sorted(path.name for path in (ROOT / room).iterdir() if path.name != "__pycache__")
    assert folders == [*BESIDE.get(room, []), "counterfoil"]
    inside = sorted(path.name for path in (ROOT / room / "counterfoil").iterdir() if path.name != "__pycache__")
    assert inside == [room], f"{room}/counterfoil may hold only {room}: an __init__.py there would hide the other rooms"
    assert (ROOT / room / "counterfoil" / room / "py.typed").exists()


@pytest.mark.slow
def test_import_layers_hold():
    lint_imports = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([lint_imports], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_module_of_the_registry_is_in_one_layer():
    [layers] = [each["layers"] for each in CONTRACTS if each["name"] == "Inside the registry"]
    listed = [name for layer in layers for name in re.split(r"[\s:|]+", layer) if name]
    folder = ROOT / "registry/counterfoil/registry"
    paths = (file.relative_to(folder).with_suffix("") for file in folder.rglob("*.py") if file.name != "__init__.py")
    modules = [".".join(path.parts) for path in paths]
    layers_of = {each: [name for name in listed if f"{each}.".startswith(f"{name}.")] for each in modules}
    assert {each: found for each, found in layers_of.items() if len(found) != 1} == {}
    assert [name for name in listed if not any(name in found for found in layers_of.values())] == []


BASE_INSTALL = """
import sys, importlib, pkgutil
absent = {"fastapi", "starlette", "uvicorn", "orjson", "pyspark", "pyarrow", "pandas", "confluent_kafka"}
absent |= {"msgspec", "jsonschema_rs", "boto3", "botocore", "azure", "cryptography", "pydantic", "typing_extensions"}
absent |= {"mcp", "aiokafka", "faust", "faststream", "kafka", "beavers", "bytewax", "quixstreams"}
services = tuple(f"counterfoil.sdk.encryption.{name}" for name in ("aws", "azure", "gcp"))
only_with_an_extra = (*services, "counterfoil.sdk.serde.arrow", "counterfoil.contracts.testing.columns")
only_with_an_extra += ("counterfoil.contracts.assistants.server",)
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
names = ("aiokafka", "confluent_kafka", "faststream", "faust", "kafka_python")
names += ("beavers", "bytewax", "pyspark", "quixstreams", "spark_usage")
adapters = {f"counterfoil.sdk.adapters.{name}" for name in names}
for room in ("schema", "pages", "sdk", "contracts"):
    package = importlib.import_module(f"counterfoil.{room}")
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if found.name.endswith("__main__") or found.name in adapters or found.name.startswith(only_with_an_extra):
            continue
        importlib.import_module(found.name)
"""


@pytest.mark.slow
def test_a_base_install_imports_without_any_extra():
    done = subprocess.run([sys.executable, "-c", BASE_INSTALL], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


EXTRAS = PROJECT["project"]["optional-dependencies"]
# The extras whose packages a room's modules import where they are used; else the extra of the room's name.
ADAPTERS = [
    "aiokafka",
    "beavers",
    "bytewax",
    "confluent-kafka",
    "faststream",
    "faust",
    "kafka-python",
    "pyspark",
    "quixstreams",
]
EXTRAS_OF = {
    "schema": ["crypto"],
    "contracts": ["mcp", "testing"],
    "sdk": ["arrow", "aws", "azure", "crypto", "gcp", "json", "rules", "rules-fast", *ADAPTERS],
}
# What is looked at only where the user's own program has brought it.
# py4j comes with PySpark, which pins its version.
# pydantic and attrs are imported for their own classes, typing-extensions is what type checkers have built in, and
# atheris runs the fuzz target of the accelerator.
FOREIGN = {
    "sdk": {
        "atheris",
        "confluent-kafka",
        "counterfoil-accelerator",
        "pydantic",
        "attrs",
        "pytest",
        "typing-extensions",
    },
    "contracts": {"confluent-kafka", "pyarrow", "pytest"},
    "converter": {"py4j"},
}


@pytest.mark.slow
@pytest.mark.parametrize("room", ROOMS)
def test_every_import_of_a_room_is_declared_by_what_brings_the_room(room: str):
    """A package that is there because another one needs it goes when that one no longer does."""
    requirements = [
        *PROJECT["project"]["dependencies"],
        *(one for extra in EXTRAS_OF.get(room, [room]) for one in EXTRAS.get(extra, [])),
    ]
    declared = {_distribution_of(each) for each in requirements} | FOREIGN.get(room, set())
    assert _strangers(ROOT / room, declared) == set()


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["tests", "benchmarks", "deploy", "docs", "examples"])
def test_every_import_of_tests_and_tools_is_declared(folder: str):
    requirements = [*PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"]["dev"]]
    requirements += [each for extra in EXTRAS.values() for each in extra]
    assert _strangers(ROOT / folder, {_distribution_of(each) for each in requirements}) == set()


def _distribution_of(requirement: str) -> str:
    return re.match(r"[\w.-]+", requirement)[0].lower().replace("_", "-")


def _strangers(folder: Path, declared: set[str]) -> set[tuple[str, str]]:
    """What the modules of a folder import that is neither Python's, nor ours, nor in ``declared``."""
    distributions = _distributions()
    files = [path for path in folder.rglob("*.py") if "strategies" not in path.parts]
    own = {path.stem for path in files} | {path.parent.name for path in files if path.name == "__init__.py"}
    own |= {path.stem for pattern in ("tests/*/*.py", "docs/*.py") for path in ROOT.glob(pattern)} | {
        "counterfoil",
        "strategies",  # tests/strategies
        "github_action",  # deploy/github_action
        "local_services",
        "nowhere_to_be_found",
        "quixstreams",  # beside .venv: deploy/local_services/quixstreams.txt
        "helm_python",  # beside .venv, with the next: deploy/local_services/charts.txt
        "kubernetes_validate",
        "kubeflow_spark_api",  # beside .venv, with the next: deploy/local_services/job_schemas.txt
        "databricks",
        *sys.stdlib_module_names,
    }
    return {
        (module, str(path.relative_to(ROOT)))
        for path in folder.rglob("*.py")
        for node in _statements(ast.parse(path.read_text()))
        for module in _imported(node)
        if module not in own and not declared & {_distribution_of(each) for each in distributions.get(module, [])}
    }


@cache
def _distributions() -> Mapping[str, list[str]]:
    """The distributions that bring each installed module."""
    return importlib.metadata.packages_distributions()


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.stmt | ast.excepthandler | ast.match_case):
            yield inner
            yield from _statements(inner)


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name.split(".")[0] for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [node.module.split(".")[0]]
    return []


def test_every_dependency_has_its_reason_beside_it():
    text = (ROOT / "pyproject.toml").read_text()
    listed = text[text.index("dependencies = [") : text.index("[project.scripts]")]
    bare = [line for line in listed.splitlines() if line.strip().startswith('"') and "#" not in line]
    assert bare == []


def test_the_sum_of_lint_suppressions_stays_small_and_each_has_a_reason():
    suppressions = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if "# noqa" in line or "# type: ignore" in line
    ]
    without_reason = [line for line in suppressions if not REASON.search(line)]
    assert without_reason == []
