"""The installed commands and their list, and running one: its exit code, and errors as lines on stderr."""

from __future__ import annotations

import codecs
import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from counterfoil.schema.exit_codes import ExitCode

if TYPE_CHECKING:
    import click


# Running a command: its exit code, and the only place where errors become a line on stderr.
#
# A traceback is never printed on the terminal: an error of this project is one line and its code in the table, and an
# unexpected error is one line, with its traceback in a file.

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


# The commands that the installed distribution declares, and the list of them that ``counterfoil --help`` prints.

# The commands that the installed distribution declares: its own table of entry points, read from its own file.
#
# ``importlib.metadata`` would return the same. Importing it takes as long as everything else that ``counterfoil
# --help`` does, so it is used only where the distribution is in no plain folder of ``sys.path``, such as in a zip file.

DISTRIBUTION: Final = "counterfoil"
COMMAND_GROUP: Final = "counterfoil.commands"
OTHER_COMMANDS: Final = "Other"
"""The group of commands that name none."""
_SUFFIX: Final = ".dist-info"


class CommandEntry(NamedTuple):
    """One line of the table: the command's ``name``, its target (``module:attribute``), and the extra that it needs.

    The target is a click command, or three texts: where the command is, its line in the list of commands, and the group
    under which it stands there.
    """

    name: str
    target: str
    extra: str = ""

    def load(self) -> Any:
        """Import the command's module and return the command."""
        named = _named_by(self.target)
        return _named_by(named[0]) if isinstance(named, tuple) else named

    def listed(self) -> tuple[str | None, str]:
        """Return the command's line in the list of commands, or None, and its group, without importing its module."""
        named = _named_by(self.target)
        return (named[1], named[2]) if isinstance(named, tuple) else (None, OTHER_COMMANDS)


class InstalledDistribution(NamedTuple):
    """The installed distribution: its version and its commands."""

    version: str
    entries: tuple[CommandEntry, ...]


def find_installed(path: Sequence[str] | None = None) -> InstalledDistribution:
    """Return the distribution on ``path``, by default ``sys.path``: the first that is found, as Python does.

    Raises ``importlib.metadata.PackageNotFoundError`` when it is not installed.
    """
    for folder in sys.path if path is None else path:
        for name in _names_in(folder):
            if name.startswith(f"{DISTRIBUTION}-") and name.endswith(_SUFFIX):
                text = _text_of(os.path.join(folder, name, "entry_points.txt"))  # noqa: PTH118 (pathlib costs start time)
                if text is not None:
                    version = name.removeprefix(f"{DISTRIBUTION}-").removesuffix(_SUFFIX)
                    return InstalledDistribution(version, tuple(parse_entries(text, COMMAND_GROUP)))
    return _from_metadata()


def parse_entries(text: str, group: str) -> Iterator[CommandEntry]:
    """Yield the entries of ``group`` in the text of an ``entry_points.txt``.

    Source: the entry points specification of packaging.python.org.
    """
    section = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            section = line.strip("[]")
        elif section == group and line and line[0] not in "#;":
            name, _, value = line.partition("=")
            target, _, extras = value.partition("[")
            extra = extras.rstrip("] ").partition(",")[0]
            yield CommandEntry(name.strip(), target.replace(" ", ""), extra.strip())


def _named_by(target: str) -> Any:
    """Import and return the object that a reference names."""
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)


def _names_in(folder: str) -> list[str]:
    try:
        return os.listdir(folder or ".")  # noqa: PTH208 (pathlib costs start time)
    except OSError:  # not a folder, or it does not exist
        return []


def _text_of(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 (pathlib costs start time)
            return file.read()
    except OSError:
        return None


def _from_metadata() -> InstalledDistribution:
    from importlib import metadata

    distribution = metadata.distribution(DISTRIBUTION)
    entries = (
        CommandEntry(each.name, each.value.partition("[")[0].replace(" ", ""), next(iter(each.extras), ""))
        for each in distribution.entry_points.select(group=COMMAND_GROUP)
    )
    return InstalledDistribution(distribution.version, tuple(entries))


# The list of commands that ``counterfoil --help`` prints, as text, without click.
#
# The import of click takes several times as long as everything else that this page needs. A test compares the text with
# the page that click makes of the same table.

SENTENCE: Final = "A schema registry and contract tests for event streams: serve, check, compare, convert."
"""The description of the program, above its commands in the help."""
MAX_COLUMNS: Final = 100
"""The page is not wider than this, however wide the terminal is."""
_GROUPS: Final = ("Check", "Registry", "Messages", "Contracts", "Bridges", "Administration")
"""In the order of the help."""
_OPTIONS: Final = (("--version", "Show the version and exit."), ("-h, --help", "Show this message and exit."))
_DEFAULT_COLUMNS: Final = 80
_LEAST_COLUMNS: Final = 50
_INDENT: Final = 2


def by_group(listed: Iterable[tuple[str, str, str]]) -> dict[str, list[tuple[str, str]]]:
    """Return the names of commands with their lines, by group in the order of the help.

    ``listed`` are the name, the line and the group of each command.
    """
    rows: dict[str, list[tuple[str, str]]] = {group: [] for group in _GROUPS}
    for name, line, group in listed:
        rows.setdefault(group, []).append((name, line))
    return {group: found for group, found in rows.items() if found}


def overview(entries: Iterable[CommandEntry], *, columns: int) -> str | None:
    """Return the page for a terminal of ``columns``; None where a command has no line without its module."""
    listed = []
    for entry in sorted(entries):
        try:
            line, group = entry.listed()
        except ModuleNotFoundError:
            line, group = None, OTHER_COMMANDS
        if line is None:
            return None
        listed.append((entry.name, line, group))
    width = max(min(columns, MAX_COLUMNS) - 2, _LEAST_COLUMNS)
    margin = " " * _INDENT
    first = [f"Usage: {PROGRAM} [OPTIONS] COMMAND [ARGS]...", ""]
    first += wrap(SENTENCE, width, initial_indent=margin, subsequent_indent=margin)
    lines = [*first, "", "Options:", *_rows(_OPTIONS, width)]
    longest = max((len(name) for name, _, _ in listed), default=0)
    for group, rows in by_group(listed).items():
        lines += ["", f"{group}:", *_rows([(name.ljust(longest), line) for name, line in rows], width)]
    return "\n".join(lines) + "\n"


def _rows(rows: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    """Yield the lines of a table of terms and what they mean."""
    column = max(len(term) for term, _ in rows) + _INDENT
    for term, meaning in rows:
        first, *others = wrap(meaning, max(width - column - _INDENT, 10)) or [""]
        yield f"{'':{_INDENT}}{term:{column}}{first}"
        yield from (f"{'':{_INDENT + column}}{other}" for other in others)


def terminal_columns() -> int:
    """Return the width of the terminal, as ``shutil.get_terminal_size`` finds it; its module takes long to import."""
    try:
        columns = int(os.environ.get("COLUMNS", ""))
    except ValueError:
        columns = 0
    if columns > 0:
        return columns
    terminal = sys.__stdout__
    if terminal is None:
        return _DEFAULT_COLUMNS
    try:
        return os.get_terminal_size(terminal.fileno()).columns or _DEFAULT_COLUMNS
    except (ValueError, OSError):  # it is closed, or no terminal
        return _DEFAULT_COLUMNS
