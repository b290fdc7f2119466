"""The outputs of reports: ``--format text``, ``--format json=FILE``, one or several."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from counterfoil.converter.errors import BridgeError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True, slots=True)
class Form:
    """One output: ``text`` or ``json``, to a file or, with ``path`` None, to stdout."""

    name: str
    path: Path | None = None


def parse_forms(options: Sequence[str]) -> tuple[Form, ...]:
    """Return the outputs that ``--format`` options name; text on stdout when there are none.

    >>> parse_forms(["text", "json=report.json"])
    (Form(name='text', path=None), Form(name='json', path=PosixPath('report.json')))
    """
    forms = []
    for option in options or ("text",):
        name, _, path = option.partition("=")
        if name not in {"text", "json"}:
            raise click.UsageError(f"--format must be text or json, each with or without =FILE; not {option}")
        forms.append(Form(name, Path(path) if path else None))
    return tuple(forms)


def give(forms: Sequence[Form], *, lines: Callable[[], Sequence[str]], document: Callable[[], dict[str, Any]]) -> None:
    """Write the report to every output: ``lines`` as text, ``document`` as JSON."""
    for form in forms:
        text = "\n".join(lines()) if form.name == "text" else json.dumps(document(), indent=2, default=str)
        if form.path is None:
            click.echo(text)
            continue
        try:
            form.path.write_text(f"{text}\n", encoding="utf-8")
        except OSError as refusal:
            raise BridgeError(f"The report cannot be written to {form.path}: {refusal.strerror}") from None
