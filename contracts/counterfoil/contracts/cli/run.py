"""Running a command: its exit code, and the only place where errors become a line on stderr.

A traceback is never printed on the terminal: an error of this project is one line and its code in the table, and an
unexpected error is one line, with its traceback in a file.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from counterfoil.schema.exit_codes import ExitCode

if TYPE_CHECKING:
    import click


PROGRAM = "counterfoil"
COMPLETION = "_COUNTERFOIL_COMPLETE"
"""The variable with which a shell requests words instead of running a command."""
_ESCAPED = "counterfoil-escaped"
"""The name of the handler for characters that an encoding lacks."""


def run(command: click.Command, arguments: Sequence[str], *, name: str = PROGRAM) -> int:
    """Run ``command`` with ``arguments``, report errors on stderr, and return the exit code.

    ``name`` is the name of the command in its usage line. A command's return value is its exit code when it is an int;
    anything else is 0. ``SystemExit`` passes through.
    """
    import click

    def call() -> int:
        try:
            return _invoke(command, arguments, name)
        except click.ClickException as mistake:
            _show(mistake)
            return ExitCode.USAGE if isinstance(mistake, click.UsageError) else ExitCode.PRECONDITION
        except click.Abort:
            return ExitCode.INTERRUPTED

    return _ended(call)


def print_page(text: str) -> int:
    """Print a text on stdout, and return the exit code. Click is not imported."""

    def call() -> int:
        sys.stdout.write(text)
        return ExitCode.OK

    return _ended(call)


def _ended(call: Callable[[], int]) -> int:
    """Return what ``call`` returns; for an error, the exit code of its kind, after it was reported."""
    _tolerate_narrow_terminals()
    try:
        code = call()
        sys.stdout.flush()
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        _discard_output()
        return ExitCode.PIPE_CLOSED
    except Exception as error:  # noqa: BLE001 (the outermost handler, which reports every error)
        return _report(error)
    return code


def _invoke(command: click.Command, arguments: Sequence[str], name: str) -> int:
    import click

    if instruction := os.environ.get(COMPLETION):
        from click.shell_completion import shell_complete

        return shell_complete(command, {}, name, COMPLETION, instruction)
    try:
        with command.make_context(name, list(arguments)) as context:
            result = command.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    return result if isinstance(result, int) else ExitCode.OK


def _show(mistake: click.ClickException) -> None:
    """Write the line of one of click's errors, followed by the usage of the command."""
    import click

    context = mistake.ctx if isinstance(mistake, click.UsageError) else None
    if context is not None and mistake.format_message() == context.get_help():
        _write(context.get_help())  # a group that was called without a command
        return
    _write(f"{PROGRAM}: {' '.join(mistake.format_message().split())}")
    if context is not None:
        _write(f"{context.get_usage()}\nTry '{context.command_path} --help' for help.")


def _report(error: Exception) -> int:
    code = exit_code_for(error)
    line = " ".join(_sentence(error).split()) or type(error).__name__
    if code is ExitCode.BUG:
        line = f"unexpected {type(error).__name__}: {line} ({keep_traceback(error)})"
    _write(f"{PROGRAM}: {line}")
    return code


def _sentence(error: Exception) -> str:
    """Return the message of an error; that of the operating system without its number, with what to do."""
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        return f"{text}{_advice(error)}"
    return str(error)


def _advice(error: OSError) -> str:
    """Return the advice for an error of the operating system, to be added to its message; else nothing."""
    import errno

    if error.filename and error.errno in {errno.EACCES, errno.EPERM}:
        return "; give this user the right to read or write it, or name another"
    if error.filename and error.errno == errno.EROFS:
        return "; name a file or folder on a disk that can be written"
    if error.errno == errno.ENOSPC:
        return "; free some space"
    if isinstance(error, FileNotFoundError):
        from counterfoil.contracts.errors import about_backslashes

        return about_backslashes(str(error.filename))
    return ""


def _write(text: str) -> None:
    with contextlib.suppress(OSError):  # stderr may be closed, and then the text cannot be written
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def exit_code_for(error: Exception) -> ExitCode:
    """Return the exit code of a command that ends with ``error``.

    An error class can name its own in ``exit_code``. Otherwise: no connection or no response in time is UNREACHABLE; a
    registry's 401, 403 and 5xx are REFUSED and its 409 CONFLICT; any other error of this project or of the operating
    system is PRECONDITION; everything else is a BUG.
    """
    from counterfoil.schema.errors import CounterfoilError, RegistryError
    from counterfoil.sdk.errors import RegistryUnavailable

    own = getattr(error, "exit_code", None)
    if isinstance(own, ExitCode):
        return own
    if isinstance(error, RegistryUnavailable | ConnectionError | TimeoutError):
        return ExitCode.UNREACHABLE
    if isinstance(error, RegistryError):
        return _exit_code_for_status(error.status)
    if isinstance(error, CounterfoilError | OSError):
        return ExitCode.PRECONDITION
    return ExitCode.BUG


def _exit_code_for_status(status: int) -> ExitCode:
    from http import HTTPStatus

    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN} or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ExitCode.REFUSED
    return ExitCode.CONFLICT if status == HTTPStatus.CONFLICT else ExitCode.PRECONDITION


def keep_traceback(error: Exception) -> str:
    """Write the traceback of ``error`` to a file, and return a sentence that names the file."""
    import tempfile
    import traceback

    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="counterfoil-", suffix=".txt", delete=False, encoding="utf-8", errors="backslashreplace"
        ) as file:
            file.writelines(traceback.format_exception(error))
    except OSError as refusal:
        return f"this is a bug in counterfoil; its traceback could not be written: {refusal.strerror}"
    return f"this is a bug in counterfoil; its traceback is in {file.name}"


def _tolerate_narrow_terminals() -> None:
    """Print characters that the terminal's encoding lacks as escapes, so that they never stop a command.

    The escapes are those of JSON, since what is printed may be a document.
    """
    codecs.register_error(_ESCAPED, _escaped)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors=_ESCAPED)


def _escaped(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return the characters that cannot be encoded as JSON escapes them, and where encoding goes on.

    Bytes that cannot be decoded are escaped, too: a program that runs a command may read the stream that it captured.
    """
    if not isinstance(error, UnicodeEncodeError):
        return codecs.backslashreplace_errors(error)
    text = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    units = (text[place : place + 2] for place in range(0, len(text), 2))
    return "".join(f"\\u{unit.hex()}" for unit in units), error.end


def _discard_output() -> None:
    """Discard buffered output for a closed pipe, so that the interpreter ends without an error message."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
