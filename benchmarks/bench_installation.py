"""How large and how quick an installation is, beside the goals: base, with the registry, the help, the first check.

python benchmarks/bench_installation.py

The wheel is built here, and installed with pip into empty environments, from an index.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
TURNS: Final = 15
GOALS: Final = {
    "base install, MB": 70,
    "base install, s": 15,
    "with [registry], MB": 130,
    "counterfoil --help, ms above Python": 60,
    "the README's first check after the installation, s": 60,
}
"""The largest value of each figure."""


def main() -> int:
    """Print each figure with its goal; times depend on the machine, so none of them is a failure."""
    with tempfile.TemporaryDirectory() as folder:
        wheels = Path(folder) / "wheels"
        _run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "-d", wheels)
        [wheel] = wheels.glob("counterfoil-*.whl")
        found = dict[str, float]()
        python = _environment(Path(folder) / "env")
        before = _megabytes(python.parents[1])
        begun = time.monotonic()
        _run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
        found["base install, s"] = time.monotonic() - begun
        found["base install, MB"] = _megabytes(python.parents[1]) - before
        begun = time.monotonic()
        _first_check(python, Path(folder))
        found["the README's first check after the installation, s"] = time.monotonic() - begun
        found["counterfoil --help, ms above Python"] = _help_ms(python)
        _run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{wheel}[registry]")
        found["with [registry], MB"] = _megabytes(python.parents[1]) - before
    for name, goal in GOALS.items():
        verdict = "ok" if found[name] <= goal else "SHORT OF IT"
        print(f"{name:<52} {found[name]:>8.1f}   goal {goal:>4}   {verdict}")
    return 0


def _environment(place: Path) -> Path:
    """Make an empty environment, and return its Python."""
    venv.create(place, with_pip=True)
    return place / "bin/python"


def _first_check(python: Path, folder: Path) -> None:
    """Run the first check of the README, and stop the benchmark if its output is another one."""
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    texts = re.findall(r"^echo '(.*?)' > ride-\d\.avsc$", page, re.DOTALL | re.MULTILINE)
    for number, text in enumerate(texts, 1):
        (folder / f"ride-{number}.avsc").write_text(text, encoding="utf-8")
    command = [python.with_name("counterfoil"), "check", "ride-2.avsc", "--against", "ride-1.avsc"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 1 or 'witness: {"fare": 0.0}' not in done.stdout:
        raise SystemExit(f"the first check ended with {done.returncode}: {done.stdout}{done.stderr}")


def _help_ms(python: Path) -> float:
    """Return the median of what ``counterfoil --help`` takes longer than the Python that runs nothing."""
    pairs = [
        (_milliseconds(python.with_name("counterfoil"), "--help"), _milliseconds(python, "-c", "pass"))
        for _ in range(TURNS)
    ]
    return statistics.median(ours - bare for ours, bare in pairs)


def _milliseconds(*command: object) -> float:
    begun = time.perf_counter()
    _run(*command)
    return (time.perf_counter() - begun) * 1000


def _megabytes(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink()) / 1e6


def _run(*command: object) -> None:
    subprocess.run([*map(str, command)], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)


if __name__ == "__main__":
    sys.exit(main())
