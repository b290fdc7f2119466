"""Reports of defects that do not end a command: one line on standard error each, and the traceback in a file."""

from __future__ import annotations

import contextlib
import logging
import sys
from typing import TYPE_CHECKING

from counterfoil.contracts.cli.run import PROGRAM, keep_traceback

if TYPE_CHECKING:
    from collections.abc import Iterator


class _DefectHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        """Write the message to stderr, and the exception that came with it to a file."""
        error = record.exc_info[1] if record.exc_info else None
        kept = f" ({keep_traceback(error)})" if isinstance(error, Exception) else ""
        with contextlib.suppress(OSError):
            sys.stderr.write(f"{PROGRAM}: {record.getMessage()}{kept}\n")
            sys.stderr.flush()


@contextlib.contextmanager
def defects_on_stderr() -> Iterator[None]:
    """Report defects of the kernel on stderr while the block runs."""
    logger, handler = logging.getLogger("counterfoil.schema"), _DefectHandler(logging.ERROR)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
