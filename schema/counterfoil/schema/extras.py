"""Packages that an extra installs: where one is missing, the error names the extra."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from counterfoil.schema.errors import MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def needed_by(what: str, *, extra: str | None) -> Iterator[None]:
    """Raise ``MissingExtra`` for a package that cannot be found by the imports of this block.

    ``what`` needs the package, and is the beginning of the error's sentence. Without an ``extra`` that installs the
    package, and for a module of this project, Python's own error is raised.

    >>> with needed_by("This example", extra="kafka"):
    ...     import no_such_package
    Traceback (most recent call last):
    counterfoil.schema.errors.MissingExtra: This example needs no_such_package, ...
    """
    try:
        yield
    except ModuleNotFoundError as missing:
        if extra is None or (missing.name or "").partition(".")[0] == "counterfoil":
            raise
        raise MissingExtra(what, module=missing.name or "a package", extra=extra) from missing
