"""Write the pages under docs/reference/ and the drawings from the code; with ``--check``, exit 1 when one has drifted.

make docs
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from access_page import access_page
from cli_pages import cli_pages
from contract_rules import contract_rules_page
from drawings import all_drawings
from file_pages import files_page
from python_pages import python_page
from rule_pages import rule_examples, rule_pages

from counterfoil.contracts.project.documents import project_json_schema
from counterfoil.contracts.reports.json_schema import report_json_schema
from counterfoil.registry.audit.events import FIELDS, EventKind
from counterfoil.registry.settings import SETTINGS, shown
from counterfoil.schema import errors
from counterfoil.schema.plans.bridge_document import bridge_json_schema

REFERENCE = Path(__file__).parent / "reference"
IMAGES = Path(__file__).parent / "images"
EXAMPLES = Path(__file__).parents[1] / "registry" / "counterfoil" / "registry" / "inspection" / "examples"
HEADER = "<!-- Written by `make docs` from the code: change it there. -->\n\n"


def errors_page() -> str:
    """Return the page of every error code of the REST API, with the exception that server and client raise for it."""
    coded = {
        each.code: each
        for each in vars(errors).values()
        if isinstance(each, type) and issubclass(each, errors.RegistryError) and "code" in vars(each)
    }
    lines = [
        "# Error codes",
        "",
        "The errors that the registry returns, and the exceptions that `counterfoil.sdk` raises for them. The body is",
        "always",
        '`{"error_code": <code>, "message": "<sentence>"}`.',
        "",
        "| HTTP | `error_code` | exception (`counterfoil.schema.errors`) | when |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {coded[code].status} | {code} | `{coded[code].__name__}` | {first_line(coded[code])} |"
        for code in sorted(coded, key=str)
        if coded[code] is not errors.RegistryError
    ]
    return "\n".join(lines)


def audit_events_page() -> str:
    """Return the page of the events in audit files, and of the members of their lines."""
    lines = ["# Audit events", "", "The lines of [audit files](../audit.md).", "", "| event | when |", "|---|---|"]
    lines += [f"| `{kind.text}` | {kind.about} |" for kind in EventKind]
    lines += ["", "A member that says nothing about an event is absent.", "", "| member | |", "|---|---|"]
    lines += [f"| `{name}` | {about} |" for name, about in FIELDS.items()]
    return "\n".join(lines)


def settings_page() -> str:
    """Return the page of every setting of the server: its three spellings, its default, its permitted values."""
    lines = [
        "# Settings of the registry",
        "",
        "Each setting has one name in three spellings: an option of `counterfoil serve`, a variable of the",
        "environment, and a key of a YAML file that `--settings` or `COUNTERFOIL_SETTINGS` names. The option wins over",
        "the variable, the variable over the file. `counterfoil serve --print-settings` prints the values in",
        "effect and the source of each.",
        "",
        "| option | variable | in the file | default | permitted values | meaning |",
        "|---|---|---|---|---|---|",
    ]
    for each in SETTINGS:
        default = f"`{shown(each.default)}`" if shown(each.default) else "(none)"
        flag = f"`{each.flag}`" + (f", `{each.negative_flag}`" if isinstance(each.default, bool) else "")
        lines.append(f"| {flag} | `{each.variable}` | `{each.name}` | {default} | {each.expected} | {each.about} |")
    return "\n".join(lines)


def all_pages() -> dict[str, str]:
    """Return the text of every page, by its name under ``docs/reference/``."""
    return {
        "errors.md": errors_page(),
        "files.md": files_page(),
        "access.md": access_page(),
        "audit-events.md": audit_events_page(),
        "settings.md": settings_page(),
        "python-api.md": python_page(),
        "bridge.schema.json": json.dumps(bridge_json_schema(), indent=2),
        "contract-rules.md": contract_rules_page(),
        "counterfoil.schema.json": json.dumps(project_json_schema(), indent=2),
        "report.schema.json": json.dumps(report_json_schema(), indent=2),
        **cli_pages(),
        **rule_pages(),
    }


def first_line(thing: object) -> str:
    """Return the first line of a docstring, escaped for a table's cell."""
    return (thing.__doc__ or "").strip().splitlines()[0].replace("|", "\\|")


def main() -> int:
    """Write the pages, or with ``--check`` compare them with the files."""
    is_check = "--check" in sys.argv
    pages = {name: f"{HEADER}{page}" if name.endswith(".md") else page for name, page in all_pages().items()}
    drifted = brought_up_to_date(REFERENCE, pages, is_check=is_check)
    drifted += brought_up_to_date(IMAGES, all_drawings(), is_check=is_check)
    drifted += brought_up_to_date(EXAMPLES, {"rules.json": rule_examples()}, is_check=is_check)
    if is_check:
        print(f"drifted, run `make docs`: {', '.join(drifted)}" if drifted else f"{len(pages)} pages are up to date")
        return 1 if drifted else 0
    print(f"written: {', '.join(drifted)}" if drifted else "nothing to write")
    return 0


def brought_up_to_date(folder: Path, files: dict[str, str], *, is_check: bool) -> list[str]:
    """Write the files of a folder that differ and remove those that are not among them; return their names.

    With ``is_check`` nothing is written or removed. Pictures of pages stay: ``make screenshots`` makes them.
    """
    drifted = []
    known = {str(path.relative_to(folder)) for path in folder.rglob("*.*") if path.suffix != ".png"}
    for name in known.difference(files):  # of a rule that was removed
        drifted.append(name)
        if not is_check:
            (folder / name).unlink()
    for name, content in files.items():
        path = folder / name
        if not path.exists() or path.read_text() != f"{content}\n":
            drifted.append(name)
            if not is_check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"{content}\n")
    return drifted


if __name__ == "__main__":
    sys.exit(main())
