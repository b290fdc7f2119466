"""The options and arguments that commands share, where a command writes its report, and what it says meanwhile.

Nothing beyond click and the standard library is imported at the top, since help pages load this module.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import update_wrapper
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeVar

import click

from counterfoil.schema.datum import Json
from counterfoil.sdk.commands import STANDARD_OUTPUT
from counterfoil.sdk.commands.options import RegistryAccess

if TYPE_CHECKING:
    from counterfoil.contracts.baselines.choose import ComparedSides
    from counterfoil.contracts.project.files import ProjectFile
    from counterfoil.contracts.project.model import Project
    from counterfoil.contracts.reports import ReportForms, TextStyle
    from counterfoil.schema.agreements import Agreement
    from counterfoil.schema.reports import Report
    from counterfoil.sdk.client import Registry
    from counterfoil.sdk.kafka import KafkaAccess


# Options that the checking commands share, and how their values are read.

_DecoratedCommand = TypeVar("_DecoratedCommand", bound="Callable[..., object]")


def parse_subjects(values: Sequence[str]) -> dict[str, str]:
    """Return the subject of each file of ``FILE=SUBJECT`` values."""
    subjects: dict[str, str] = {}
    for value in values:
        path, separator, subject = value.partition("=")
        if not (separator and path and subject):
            raise click.UsageError(f"--subject {value!r} is not FILE=SUBJECT")
        if subjects.setdefault(path, subject) != subject:
            raise click.UsageError(
                f"--subject names {subjects[path]!r} and {subject!r} for {path}; a file with several subjects has a "
                "list of them in counterfoil.yaml"
            )
    return subjects


def shown_address(url: str) -> str:
    """Return ``url`` without a user name and password."""
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def chain(
    *options: Callable[[_DecoratedCommand], _DecoratedCommand],
) -> Callable[[_DecoratedCommand], _DecoratedCommand]:
    """Return a decorator that adds several options in this order."""

    def decorate(command: _DecoratedCommand) -> _DecoratedCommand:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


fail_on_option: Final = click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "never"]),
    metavar="SEVERITY",
    help="What causes exit code 1: error, warning or never. Default: the project's, or error.",
)
"""The option about severities of commands that report findings of files."""


# The option that names the project file, and the project that it opens.

project_option: Final = click.option(
    "--config",
    metavar="FILE",
    envvar="COUNTERFOIL_CONFIG",
    help="The project file. Default: the nearest counterfoil.yaml.  [COUNTERFOIL_CONFIG]",
)


def chosen_project(config: str | None, *, top: str | None = None) -> ProjectFile | None:
    """Return the project that ``--config`` names, else the nearest one up to ``top``; None where there is none."""
    from pathlib import Path

    from counterfoil.contracts.project.files import find_project, open_project

    return open_project(Path(config)) if config else find_project(".", top=top)


def registry_of(access: RegistryAccess, project: Project | None) -> RegistryAccess:
    """Return the access to the registry that is given, or else to that of the project."""
    return access if project is None else access.at(access.url or project.settings.registry)


# Versions on the command line: ``APP@VERSION`` and ``CONTRACT@MAJOR``, and those that a registry does not know.


class Versioned(NamedTuple):
    """A name with a version."""

    name: str
    version: str

    def __str__(self) -> str:
        """Return both, as sentences have them."""
        return f"{self.name} {self.version}"


class VersionedName(click.ParamType):
    """The type of ``NAME@VERSION``; the name may have an ``@`` as well. ``name`` is the form, for messages."""

    def __init__(self, form: str) -> None:
        self.name = form

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Versioned:
        """Return the two parts, or fail."""
        if isinstance(value, Versioned):
            return value
        name, _, version = str(value).rpartition("@")
        if not name or not version:
            self.fail(f"{value!r} is not {self.name}, such as {self.name.partition('@')[0].lower()}@2", param, ctx)
        return Versioned(name, version)


@contextmanager
def unknown_cannot_be_judged() -> Iterator[None]:
    """Raise ``NotKnown``, whose exit code is CANNOT_SAY, for a version or an environment that does not exist."""
    from counterfoil.contracts.errors import NotKnown
    from counterfoil.schema.errors import ApplicationNotFound, EnvironmentNotFound

    try:
        yield
    except (ApplicationNotFound, EnvironmentNotFound) as missing:
        raise NotKnown(missing.message) from None


# The registry of an environment: the one that is given, or that a server of a contract names.


def registries_of(environment: str, agreements: Iterable[Agreement | None]) -> list[str]:
    """Return the addresses of the registries that the servers of contracts with this environment name."""
    from counterfoil.schema.agreements import Contract

    servers = (server for each in agreements if isinstance(each, Contract) for server in each.servers)
    found = (each.registry for each in servers if environment == (each.environment or each.name))
    return [*dict.fromkeys(address for address in found if address)]


def agreements_of(comparison: ComparedSides) -> Iterator[Agreement | None]:
    """Yield what the contract and product files of the side that is checked declare; None for an invalid one."""
    from counterfoil.contracts.check.agreements import read_file
    from counterfoil.contracts.project.model import agreement_test

    head, is_agreement = comparison.yaml_files, agreement_test(comparison.project, comparison.scope.wanted)
    contents = head.contents([path for path in head.paths if is_agreement(path)])
    return (read_file(path, data).reading.agreement for path, data in contents.items())


def registry_in(
    environment: str, agreements: Iterable[Agreement | None], *, given: RegistryAccess, project: Project | None
) -> RegistryAccess:
    """Return the access to the registry that knows what is live in an environment.

    It is the one that is given, else that of the project, else that of the contracts' servers. Raises ``UsageError`` if
    there is none, or more than one.
    """
    address = given.url or (project.settings.registry if project is not None else None)
    if address:
        return given.at(address)
    return given.at(only_registry(environment, registries_of(environment, agreements)))


def only_registry(environment: str, addresses: list[str]) -> str:
    """Return the only one of some addresses; raise ``UsageError`` without one, and for several."""
    if len(addresses) == 1:
        return addresses[0]
    if addresses:
        named = ", ".join(addresses)
        raise click.UsageError(
            f"--environment {environment}: contracts name several registries for it ({named}); give one"
        )
    raise click.UsageError(
        f"--environment {environment}: no registry is known for it; give --registry URL, or a contract a server with "
        f"environment: {environment} and the custom property registry"
    )


# What commands share that read or write topics: required addresses, and the lines of JSON that they read.


def needed(kafka: KafkaAccess | None, what: str) -> KafkaAccess:
    """Return the access to Kafka; raise ``UsageError`` if there is no address."""
    if kafka is None:
        raise click.UsageError(f"{what} needs --bootstrap-servers or COUNTERFOIL_BOOTSTRAP_SERVERS")
    return kafka


def opened_once(access: RegistryAccess, context: click.Context) -> Callable[[], Registry]:
    """Return a function that opens the registry at its first call; the end of the command closes it."""
    opened: list[Registry] = []

    def client() -> Registry:
        if not opened:
            opened.append(context.with_resource(access.open()))
        return opened[0]

    return client


def json_lines(file: str) -> Iterator[tuple[int, Json]]:
    """Yield the number and the JSON value of each line of a file (``-`` is standard input) that is not blank.

    A line that is no JSON is a ``ValueError``, which is yielded as the value.
    """
    from counterfoil.contracts.values import read_json

    data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            try:
                yield number, read_json(line.decode())
            except ValueError as error:
                yield number, ValueError(f"the line is no JSON: {error}")


# The options that say in which formats a command writes its report, where, and how its text looks.

_Command = TypeVar("_Command", bound="Callable[..., object]")

REPORT_FORMATS: Final = ("text", "json", "junit", "sarif", "github", "gitlab", "markdown", "html")
"""The formats of a report with findings."""
_TEXT: Final = "text"
_JSON: Final = "json"


class Output(NamedTuple):
    """One report to write: its format, and the path of its file; None is standard output."""

    format: str
    path: str | None = None


class ReportWriter(NamedTuple):
    """Where a command writes its report, in which formats, and how its text looks: the values of the options."""

    outputs: tuple[Output, ...] = (Output(_TEXT),)
    is_colourless: bool = False
    is_quiet: bool = False
    is_verbose: bool = False

    def without_standard_output(self) -> ReportWriter:
        """Return the writer of the files alone, for a command that prints something else."""
        return self._replace(outputs=tuple(each for each in self.outputs if each.path is not None))

    def write(self, forms: ReportForms, *, prefix: str = "") -> None:
        """Write a report in every format; text has paths relative to the folder ``prefix`` of the tree.

        With the format of GitHub, the report is also added to the summary of the job, as Markdown.
        """

        def render(form: str, style: TextStyle) -> str:
            from counterfoil.contracts.cli.run import find_installed

            if form == _TEXT:
                return forms.text(style)
            if form == _JSON:
                return forms.json()
            return _printed(form, forms.report(version=find_installed().version))

        self.write_each(render, prefix=prefix)

    def write_each(self, render: Callable[[str, TextStyle], str], *, prefix: str = "") -> None:
        """Write every output as ``render`` prints its format; files first, so that they are written in any case."""
        from pathlib import Path

        for output in sorted(self.outputs, key=lambda one: one.path is None):
            text = render(output.format, self.style(prefix, is_on_terminal=output.path is None))
            if output.path is None:
                sys.stdout.write(text)
            else:
                Path(output.path).write_text(text, encoding="utf-8", errors="backslashreplace")

    def style(self, prefix: str = "", *, is_on_terminal: bool = True) -> TextStyle:
        """Return the style of text: coloured on a terminal only, and never with ``NO_COLOR`` set."""
        from counterfoil.contracts.baselines import shown_path
        from counterfoil.contracts.reports import TextStyle, Verbosity

        is_terminal = is_on_terminal and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        loud = Verbosity.VERBOSE if self.is_verbose else Verbosity.NORMAL
        return TextStyle(
            verbosity=Verbosity.QUIET if self.is_quiet else loud,
            is_coloured=is_terminal and not self.is_colourless,
            shown_path=lambda path: shown_path(path, prefix),
        )


def _printed(form: str, report: Report) -> str:
    if form == "html":
        from counterfoil.pages.files import report_file

        return report_file(report)
    from counterfoil.schema.reports.forms import ReportForm, print_report

    if form == ReportForm.GITHUB:
        _add_to_summary(report)
    return print_report(ReportForm(form), report)


def _add_to_summary(report: Report) -> None:
    """Add the report to the summary of GitHub's job if the process runs in one."""
    from pathlib import Path

    from counterfoil.schema.reports.forms import markdown_report

    if place := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(place).open("a", encoding="utf-8", errors="backslashreplace") as summary:
            summary.write(markdown_report(report))


def parse_outputs(values: Sequence[str], formats: Sequence[str]) -> tuple[Output, ...]:
    """Return the outputs that the ``NAME[=PATH]`` values name; text on standard output when there are none.

    ``formats`` are the names that the command has.
    """
    outputs = tuple(_parse_output(value, formats) for value in values or (_TEXT,))
    if sum(output.path is None for output in outputs) > 1:
        raise click.UsageError(
            "two formats go to standard output; give one of them a file, as in --format json=report.json"
        )
    return outputs


def _parse_output(value: str, formats: Sequence[str]) -> Output:
    name, separator, path = value.partition("=")
    if name not in formats:
        raise click.UsageError(f"unknown format {name!r}; expected one of {', '.join(formats)}")
    if separator and not path:
        raise click.UsageError(f"--format {value} names no file after the equals sign")
    return Output(name, None if path == STANDARD_OUTPUT else path or None)


def output_options(
    formats: Sequence[str] = REPORT_FORMATS, *, has_style: bool = True
) -> Callable[[_Command], _Command]:
    """Return a decorator that adds the options of a report, and passes their values as ``writer``.

    ``formats`` are those that the command has; without ``has_style`` there are no options for the look of text.
    """

    def decorate(command: _Command) -> _Command:
        def with_writer(*arguments: Any, formats_given: tuple[str, ...], is_json: bool, **given: Any) -> Any:
            outputs = parse_outputs((*formats_given, _JSON) if is_json else formats_given, formats)
            if not has_style:
                return command(*arguments, writer=ReportWriter(outputs), **given)
            look = (given.pop("no_color"), given.pop("quiet"), bool(given.pop("verbose")))
            return command(*arguments, writer=ReportWriter(outputs, *look), **given)

        options = (_format_option(formats), json_format_option, *(_STYLE if has_style else ()))
        decorated: Any = chain(*options)(update_wrapper(with_writer, command))
        return decorated  # type: ignore[no-any-return]  # click's decorators return what they decorate

    return decorate


_STYLE: Final = (
    click.option("--no-color", is_flag=True, help="No colours, as with the variable NO_COLOR."),
    click.option("-q", "--quiet", is_flag=True, help="Print nothing when there is no finding."),
    click.option("-v", "--verbose", count=True, help="Also list the files without findings."),
)


json_format_option: Final = click.option("--json", "is_json", is_flag=True, help="The same as --format json.")
"""The short form of ``--format json``."""


def _format_option(formats: Sequence[str]) -> Callable[[_Command], _Command]:
    """Return the option that names the ``formats`` in which a report is written, and where; see ``parse_outputs``."""
    return click.option(
        "--format",
        "formats_given",
        multiple=True,
        metavar="NAME[=PATH]",
        help=f"{', '.join(formats[:-1])} or {formats[-1]}; with =PATH, to a file. Default: text. Repeatable.",
    )


# Progress of a command that takes longer than two seconds, at a terminal: a line that is redrawn.
#
# The line is on standard error, and only if that is a terminal which can redraw one. It is gone before a report is
# printed.

_AFTER_S: Final = 2.0
_EVERY_S: Final = 1.0
_CLEAR: Final = "\r\x1b[K"


class Waiting:
    """Says what is being done while the block runs, and for how many seconds already.

    ``stream`` is standard error by default; ``after_s`` and ``every_s`` are the time before the first line and between
    two of them.
    """

    def __init__(
        self, what: str, *, stream: IO[str] | None = None, after_s: float = _AFTER_S, every_s: float = _EVERY_S
    ) -> None:
        self._what = what
        self._stream = stream or sys.stderr
        self._times = (after_s, every_s)
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if self._stream.isatty() and os.environ.get("TERM") != "dumb":
            self._thread = threading.Thread(target=self._draw, name="progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _draw(self) -> None:
        begun = time.monotonic()
        after_s, every_s = self._times
        if self._ended.wait(after_s):
            return
        while True:
            self._write(f"{_CLEAR}{self._what}, {time.monotonic() - begun:.0f} s so far")
            if self._ended.wait(every_s):
                break
        self._write(_CLEAR)

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # the terminal is gone, and the command goes on
            self._ended.set()


# Reports of defects that do not end a command: one line on standard error each, and the traceback in a file.


@contextmanager
def defects_on_stderr() -> Iterator[None]:
    """Report defects of the kernel on stderr while the block runs."""
    import logging

    from counterfoil.contracts.cli.run import PROGRAM, keep_traceback

    class DefectHandler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            error = record.exc_info[1] if record.exc_info else None
            kept = f" ({keep_traceback(error)})" if isinstance(error, Exception) else ""
            with suppress(OSError):
                sys.stderr.write(f"{PROGRAM}: {record.getMessage()}{kept}\n")
                sys.stderr.flush()

    logger, handler = logging.getLogger("counterfoil.schema"), DefectHandler(logging.ERROR)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
