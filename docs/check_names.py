"""Exit 1 when a page, an example or a recipe names a file or a module of this project that is not there.

Decisions, the changelog and generated pages are left out: decisions and the changelog keep the names of their time.
"""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

from known_names import ROOMS, ROOT, exists

LOOKED_AT = re.compile(
    r"^(?:[A-Z]+\.md|docs/[\w-]+\.(?:md|py)|docs/decisions/README\.md|tests/.*\.md|(?:examples|deploy|benchmarks)/.*"
    r"|\.github/.*|\.ci/.*|Makefile|Dockerfile|action\.yml|pyproject\.toml)$"
)
LEFT_OUT = {"CHANGELOG.md", "docs/check_names.py"}
MODULE = re.compile(rf"\bcounterfoil(?:\.(?:{'|'.join(ROOMS)}))(?:\.\w+)*")
IMPORTED = re.compile(rf"^\s*from (counterfoil\.(?:{'|'.join(ROOMS)})[\w.]*) import (\([^)]*\)|[\w, ]+)", re.MULTILINE)
FILE = re.compile(r"(?<![\w./:$*{<>-])[\w-]+(?:/[\w-]+)*\.(?:py|java|rs|sql|css)\b(?![\w/*-])")
FOLDER = re.compile(rf"`((?:{'|'.join(ROOMS)}|tests|docs|deploy|benchmarks|examples)/[\w/-]*)`")
WITHOUT_FOLDER = {"ARCHITECTURE.md", "CONTRIBUTING.md"}
"""Pages on which also a name of a file without its folder is one of this project; on others users have such files."""


@cache
def listed() -> tuple[str, ...]:
    """Return the paths of all files that git knows."""
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return tuple(name for name in done.stdout.splitlines() if (ROOT / name).exists())


@cache
def known_ends() -> frozenset[str]:
    """Return every end of every path, so that `store/opening.py` is known as well as its whole path."""
    ends = set()
    for name in listed():
        parts = name.split("/")
        ends |= {"/".join(parts[start:]) for start in range(len(parts))}
    return frozenset(ends)


@cache
def known_folders() -> frozenset[str]:
    """Return the paths of all folders, those of the rooms also without the repeated name of the room."""
    folders = {str(parent) for name in listed() for parent in Path(name).parents}
    return frozenset(folders | {re.sub(r"^(\w+)/counterfoil/\1\b", r"\1", folder) for folder in folders})


def unknown_names(page: str) -> list[str]:
    """Return one line for every name on a page that nothing has."""
    try:
        text = (ROOT / page).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return []
    dotted = {name for name in MODULE.findall(text) if name not in known_ends()}  # a file: counterfoil.schema.json
    for module, names in IMPORTED.findall(text):
        dotted |= {f"{module}.{name.split(' as ')[0].strip()}" for name in names.strip("()").split(",") if name.strip()}
    found = [f"{page}: {name}: no such module or name" for name in sorted(dotted) if not exists(name.rstrip("."))]
    files = {name for name in FILE.findall(text) if "/" in name or page in WITHOUT_FOLDER}
    found += [f"{page}: {name}: no such file" for name in sorted(files - known_ends())]
    folders = {name.rstrip("/") for name in FOLDER.findall(text)}
    return found + [f"{page}: {name}/: no such folder" for name in sorted(folders - known_folders() - known_ends())]


def main() -> int:
    """Look at every page, example and recipe that git knows."""
    pages = [name for name in listed() if LOOKED_AT.match(name) and name not in LEFT_OUT]
    unknown = [line for page in pages for line in unknown_names(page)]
    print("\n".join(unknown) or f"{len(pages)} files, every name of a file or module exists")
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
