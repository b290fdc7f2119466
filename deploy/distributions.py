"""Build what is published (sdist, wheel, the accelerator's wheels) into ``dist/``, and try it on every Python here.

Each Python of `PYTHONS` that this machine has gets an empty environment for each step: with the wheel alone every
module is imported, and a module that is missing must be one that an extra brings; with the extras that can be
installed there, every module is imported; then the README's first minute is run. Which extras can be had on a Python,
also on one that this machine does not have, is asked of the resolver, and compared with the markers in
``pyproject.toml``.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from contextlib import contextmanager
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx
from packaging.markers import default_environment
from packaging.requirements import Requirement

from local_services import RegistryProcess

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).resolve().parents[1]
DIST: Final = ROOT / "dist"
PYTHONS: Final = ("3.11", "3.12", "3.13")
NEXT_PYTHONS: Final = ("3.14",)
"""Asked of the resolver alone."""
BIN: Final = Path(sys.executable).parent
PROJECT: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
_IMPORT_ALL = """
import importlib, json, sys
missing, broken = {}, {}
for name in json.load(sys.stdin):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing.setdefault((error.name or "").partition(".")[0], []).append(name)
    except Exception as error:
        broken[name] = f"{type(error).__name__}: {error}"
print(json.dumps({"missing": missing, "broken": broken}))
"""


def main() -> int:
    """Build, try, and print one line for each step; return 1 when a step failed."""
    shutil.rmtree(DIST, ignore_errors=True)
    _run(BIN / "python", "-m", "hatchling", "build", "-d", DIST)
    pythons = {version: found for version in PYTHONS if (found := _interpreter(version))}
    for version in PYTHONS:
        if version not in pythons:
            print(f"Python {version}: not on this machine, so nothing was installed with it", flush=True)
    for python in pythons.values():
        _run(
            BIN / "maturin", "build", "--quiet", "--release", "--locked", "--out", DIST, "--interpreter", python,
            "--manifest-path", ROOT / "sdk/accelerator/Cargo.toml",
        )  # fmt: skip
    for file in sorted(DIST.iterdir()):
        print(f"{file.stat().st_size / 1e6:6.1f} MB  dist/{file.name}")
    problems = [problem for version, python in pythons.items() for problem in tried(version, python)]
    problems += [problem for version in (*PYTHONS, *NEXT_PYTHONS) for problem in unresolved(version)]
    print("\n".join(f"PROBLEM: {each}" for each in problems) or "every step was right")
    return 1 if problems else 0


def tried(version: str, python: str) -> Iterator[str]:
    """Install the wheels for one Python into empty environments and use them; yield what is wrong."""
    extras = [name for name in PROJECT["optional-dependencies"] if name != "quixstreams" and _is_for(name, version)]
    with _environment(python) as folder:
        begun = time.monotonic()
        _install(folder, "")
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
        print(f"Python {version}: installed in {time.monotonic() - begun:.0f} s, {size:.0f} MB", flush=True)
        found = _imported(folder)
        yield from (f"{version}: {name}: {why}" for name, why in found["broken"].items())
        yield from (
            f"{version}: {', '.join(names)} need {top}, which no extra brings"
            for top, names in found["missing"].items()
            if top not in _brought_by_extras()
        )
        yield from (f"{version}: {problem}" for problem in first_minute(folder, has_registry=False))
        _install(folder, "[registry]")
        yield from (f"{version}: {problem}" for problem in first_minute(folder, has_registry=True))
    with _environment(python) as folder:
        _install(folder, f"[{','.join(extras)}]")
        found = _imported(folder)
        print(f"Python {version}: every module was imported with {len(extras)} extras", flush=True)
        yield from (f"{version}, all extras: {name}: {why}" for name, why in found["broken"].items())
        left_out = _brought_by_extras(set(PROJECT["optional-dependencies"]) - set(extras))
        yield from (
            f"{version}, all extras: {', '.join(names)} need {top}"
            for top, names in found["missing"].items()
            if top not in left_out
        )


def first_minute(folder: Path, *, has_registry: bool) -> Iterator[str]:
    """Run the commands of the README's first minute in an environment; yield what differs from the page."""
    page = (ROOT / "README.md").read_text()
    with tempfile.TemporaryDirectory() as place:
        for number, text in enumerate(re.findall(r"^echo '(.*?)' > ride-\d\.avsc$", page, re.DOTALL | re.MULTILINE), 1):
            (Path(place) / f"ride-{number}.avsc").write_text(text)
        command = [str(folder / "bin/counterfoil"), "check", "ride-2.avsc", "--against", "ride-1.avsc"]
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
        if done.returncode != 1 or 'witness: {"fare": 0.0}' not in done.stdout:
            yield f"the first check ended with {done.returncode}: {done.stdout}{done.stderr}"
    if has_registry:
        bodies = re.findall(r"-d '(\{\"schema\".*?)'$", page, re.MULTILINE)
        with RegistryProcess(program=folder / "bin/counterfoil") as registry:
            answers = [_posted(f"{registry.url}/subjects/rides-value/versions", body) for body in bodies]
        first, second = answers
        if '"id":1' not in first or "for example this record" not in second:
            yield f"the registry answered {answers}"


def unresolved(version: str) -> Iterator[str]:
    """Yield the extras that a Python cannot have by the resolver although no marker says so."""
    lacking = []
    for name in PROJECT["optional-dependencies"]:
        done = subprocess.run(
            [
                BIN / "uv", "pip", "compile", "--quiet", "--extra", name, "--python-version", version, "--only-binary",
                ":all:", "--no-header", ROOT / "pyproject.toml",
            ],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            lacking.append(name)
    marked = {name for name in PROJECT["optional-dependencies"] if not _is_for(name, version)}
    print(
        f"Python {version}: by the resolver every extra but {', '.join(sorted({*lacking, *marked})) or 'none'}",
        flush=True,
    )
    yield from (f"{version}: the extra {name} cannot be installed from wheels, and nothing says so" for name in lacking)


def _is_for(extra: str, version: str) -> bool:
    """Return whether the markers of an extra let it be installed on a Python at all."""
    environment: dict[str, str] = {
        **{name: str(value) for name, value in default_environment().items()},
        "python_version": version,
        "python_full_version": f"{version}.0",
    }
    needed = [Requirement(text) for text in PROJECT["optional-dependencies"][extra]]
    return all(each.marker is None or each.marker.evaluate(environment) for each in needed)


def _brought_by_extras(extras: set[str] | None = None) -> set[str]:
    """Return the names of the top-level modules of the packages that extras bring; without ``extras`` those of all."""
    table: dict[str, list[str]] = PROJECT["optional-dependencies"]
    names = {Requirement(text).name for extra in (table if extras is None else extras) for text in table[extra]}
    plain = {name.lower().replace("_", "-") for name in names}
    modules = {
        top
        for top, by in packages_distributions().items()
        if any(each.lower().replace("_", "-") in plain for each in by)
    }
    return modules | {name.replace("-", "_") for name in plain}


def _imported(folder: Path) -> dict[str, Any]:
    """Import every module of the wheel in an environment; return those that lack a package, and those that failed."""
    wheel = next(DIST.glob("counterfoil-*-py3-none-any.whl"))
    names = [
        name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".py") and name.startswith("counterfoil/")
    ]
    modules = [name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in names]
    text = json.dumps([name for name in modules if not name.endswith("__main__")])
    done = subprocess.run(
        [folder / "bin/python", "-c", _IMPORT_ALL], input=text, capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _install(folder: Path, extras: str) -> None:
    version = PROJECT["version"]
    wheels = [f"counterfoil{extras}=={version}", f"counterfoil-accelerator=={version}"]
    _run(BIN / "uv", "pip", "install", "--quiet", "--python", folder / "bin/python", "--find-links", DIST, *wheels)


@contextmanager
def _environment(python: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        _run(BIN / "uv", "venv", "--quiet", "--python", python, Path(folder) / "env")
        yield Path(folder) / "env"


def _interpreter(version: str) -> str | None:
    """Return the path of a Python of this machine, also of pyenv's, or None; nothing is downloaded."""
    candidates = [
        shutil.which(f"python{version}"),
        *sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python")),
    ]
    for candidate in filter(None, candidates):
        ask = [str(candidate), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        done = subprocess.run(ask, capture_output=True, text=True, check=False)
        if done.returncode == 0 and done.stdout.strip() == version:
            return str(candidate)
    return None


def _posted(url: str, body: str) -> str:
    return httpx.post(url, content=body, headers={"Content-Type": "application/json"}, timeout=60).text


def _run(*command: object) -> None:
    subprocess.run([str(word) for word in command], cwd=ROOT, check=True)


if __name__ == "__main__":
    sys.exit(main())
