"""The front door: help, version, exit codes and silence."""

from __future__ import annotations

import importlib.metadata
import os
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from counterfoil.contracts.cli.root import root_command
from counterfoil.contracts.cli.run import COMMAND_GROUP, CommandEntry, find_installed, overview, run, terminal_columns
from counterfoil.schema.exit_codes import ExitCode

if TYPE_CHECKING:
    from pathlib import Path

HEAVY = {"fastapi", "uvicorn", "starlette", "pydantic", "orjson", "pyspark", "httpx", "httpcore", "fastavro", "sqlite3"}
HEAVY |= {"confluent_kafka", "pyarrow", "pandas", "yaml", "asyncio", "ssl", "email", "zipfile", "hashlib", "tempfile"}


def imported_modules(*arguments: str, folder: Path | None = None) -> set[str]:
    """The modules that the command has imported when it ends, by top-level name."""
    program = (
        "import sys; from counterfoil.contracts.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["check", "--help"], ["diff", "--help"]])
def test_help_imports_nothing_heavy(arguments):
    modules = imported_modules(*arguments)
    assert ("click" in modules) == (arguments != ["--help"])
    assert not HEAVY & {name.partition(".")[0] for name in modules}


def test_the_list_of_commands_imports_none_of_them():
    """Each module costs start time, and none is needed: a command's line in the list is in its room's table."""
    ours = {name for name in imported_modules("--help") if name.startswith("counterfoil.")}
    assert {name for name in ours if name.count(".") > 1} == {
        "counterfoil.contracts.cli",
        "counterfoil.contracts.cli.run",
        "counterfoil.contracts.entry_points",
        "counterfoil.converter.entry_points",
        "counterfoil.sdk.entry_points",
        "counterfoil.sdk.late_modules",
        "counterfoil.registry.entry_points",
        "counterfoil.schema.exit_codes",
    }


def test_a_check_of_schemas_imports_nothing_about_contracts(tmp_path):
    """Also one that finds an error: whether contracts permit it is not looked for where there are none."""
    for name, kind in (("new", "string"), ("old", "double")):
        text = f'{{"type": "record", "name": "Ride", "fields": [{{"name": "fare", "type": "{kind}"}}]}}'
        (tmp_path / f"{name}.avsc").write_text(text)
    modules = imported_modules("check", "new.avsc", "--against", "old.avsc", folder=tmp_path)
    assert "fastavro" in modules
    assert not modules & {"importlib.metadata", "yaml", "counterfoil.schema.agreements"}
    unused = ("counterfoil.contracts.lint.", "counterfoil.schema.plans", "counterfoil.schema.rest")
    assert [name for name in modules if name.startswith(unused)] == []


@pytest.mark.parametrize("columns", [1, 51, 52, 64, 79, 80, 81, 99, 100, 101, 300])
def test_the_list_of_commands_is_the_page_that_click_makes(monkeypatch, capsys, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    assert run(root_command(), ["--help"]) == ExitCode.OK
    assert capsys.readouterr().out == overview(find_installed().entries, columns=terminal_columns())


def test_a_command_without_a_line_is_listed_by_click():
    entries = [CommandEntry("one", "counterfoil.contracts.cli.diff:diff"), *find_installed().entries]
    assert overview(entries, columns=80) is None
    assert overview([CommandEntry("one", "nowhere_to_be_found:one", "converter")], columns=80) is None


def test_the_list_of_commands_ends_silently_at_a_closed_pipe():
    reading, writing = os.pipe()
    os.close(reading)
    program = "import sys; from counterfoil.contracts.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "--help"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (ExitCode.PIPE_CLOSED, b"")


def test_the_installed_table_is_the_one_that_importlib_reads():
    distribution = importlib.metadata.distribution("counterfoil")
    entries = distribution.entry_points.select(group=COMMAND_GROUP)
    installed = find_installed()
    assert installed.version == distribution.version
    assert {(each.name, each.target, each.extra) for each in installed.entries} == {
        (each.name, f"{each.module}:{each.attr}", "".join(each.extras)) for each in entries
    }


def test_a_distribution_that_is_in_no_plain_folder_is_found_by_importlib():
    assert set(find_installed(path=[]).entries) == set(find_installed().entries)


def test_a_subcommand_does_not_import_the_others():
    modules = imported_modules("check", "--help")
    assert "counterfoil.contracts.cli.check" in modules
    assert "counterfoil.contracts.cli.diff" not in modules
    assert not [name for name in modules if name.startswith(("counterfoil.registry", "counterfoil.converter"))]


def test_help_lists_every_command_of_the_distribution(installed):
    entries = importlib.metadata.entry_points(group="counterfoil.commands")
    result = installed("--help")
    assert result.code == 0
    groups = re.split(r"^(\w+):$", result.out.partition("--help")[2], flags=re.MULTILINE)[1:]
    assert groups[::2] == ["Check", "Registry", "Messages", "Contracts", "Bridges", "Administration"]
    listed = [line.split()[0] for part in groups[1::2] for line in part.splitlines() if re.match(r"  \w", line)]
    assert sorted(listed) == sorted(entry.name for entry in entries)
    assert "Not available" not in result.out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_of_a_shell_calls_the_command(installed, shell):
    result = installed("completion", shell)
    assert result.code == 0
    assert f"_COUNTERFOIL_COMPLETE={shell}_complete" in result.out


def test_bash_completes_commands_and_options(warm_counterfoil, tmp_path):
    """The script is read by bash, whose function then completes as with Tab."""
    script = """
eval "$(counterfoil completion bash)"
for words in "counterfoil can" "counterfoil check --gat"; do
  COMP_WORDS=($words) COMP_CWORD=$(($(wc -w <<< "$words") - 1)) COMPREPLY=()
  _counterfoil_completion counterfoil
  echo "${COMPREPLY[@]}"
done
"""
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env={"PATH": f"{warm_counterfoil.parent}:/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.split(), done.stderr) == (["can-i-deploy", "--gate"], "")


def test_version(installed):
    result = installed("--version")
    assert (result.code, result.out) == (0, f"counterfoil, version {importlib.metadata.version('counterfoil')}\n")


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["--nonsense"], ["check", "--nonsense"], ["diff", "one"]])
def test_usage_errors_are_2(counterfoil, arguments):
    result = counterfoil(*arguments)
    assert (result.code, result.out) == (2, "")
    assert "Usage: counterfoil" in result.err
    assert "Error:" not in result.err


def test_a_call_inside_this_process_has_the_outcome_of_the_process(installed, counterfoil, workshop, order):
    """Most tests of commands call them inside the process of the test."""
    workshop.write("order.avsc", order(id="string", total="long"))
    workshop.commit()
    workshop.write("order.avsc", order(id="string", total="int"))
    for arguments in (["check"], ["check", "--format", "json"], ["diff", "order.avsc", "none"], ["nonsense"]):
        assert counterfoil(*arguments, folder=workshop.folder) == installed(*arguments, folder=workshop.folder)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["serv"], "No such command 'serv'. Did you mean 'serve'?"),
        (["nonsense"], "No such command 'nonsense'."),
        (["db", "upgrad"], "No such command 'upgrad'."),  # the newest click names similar commands
        (["diff", "one"], "Missing argument 'HEAD'."),
        (["check", "--format", "xml"], "unknown format 'xml'; expected one of text, json"),
        (["check", "--subject", "x"], "--subject 'x' is not FILE=SUBJECT"),
        (["serve", "--port", "x"], "Invalid value for '--port': 'x'; expected an integer from 0 to 65535"),
        (["export", "x"], "name one registry: --store URL for its store, or --registry URL for a running one"),
    ],
)
def test_a_usage_error_begins_with_the_programs_name(counterfoil, arguments, line):
    result = counterfoil(*arguments)
    assert result.code == 2
    assert result.err.startswith(f"counterfoil: {line}")


@pytest.mark.parametrize("module", ["counterfoil.registry", "counterfoil.converter"])
def test_modules_that_are_programs_report_errors_like_the_command(module, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", module, "--nonsense"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("counterfoil: No such option")


def test_a_report_that_cannot_be_written_is_a_sentence(workshop, order, installed):
    workshop.write("order.avsc", order(id="string"))
    workshop.commit()
    done = installed("check", "--format", "json=none/report.json", folder=workshop.folder)
    assert (done.code, done.err) == (14, "counterfoil: none/report.json: No such file or directory\n")


def test_a_closed_pipe_is_silent(workshop, order, tmp_path):
    for number in range(400):
        workshop.write(f"s{number}.avsc", {**order(id="string"), "name": f"S{number}"})
    command = subprocess.Popen(
        [str(sys.executable), "-c", "from counterfoil.contracts.cli import main; raise SystemExit(main())", "check"],
        cwd=workshop.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
    )
    assert command.stdout
    assert command.stderr
    command.stdout.close()
    assert command.stderr.read() == b""
    assert command.wait(timeout=300) == 141


def test_an_interrupt_is_silent_and_130(tmp_path):
    program = (
        "import os, signal\n"
        "import click\n"
        "from counterfoil.contracts.cli.run import run\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # it may be ignored where the tests run
        "command = click.Command('x', callback=lambda: os.kill(os.getpid(), signal.SIGINT))\n"
        "raise SystemExit(run(command, []))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")
    assert done.returncode == 128 + signal.SIGINT


def test_output_that_cannot_be_written_is_one_line(workshop, order):
    workshop.write("order.avsc", order(id="string"))
    with open("/dev/full", "w") as full:  # noqa: PTH123 (a device, not a path of ours)
        done = subprocess.run(
            [sys.executable, "-c", "from counterfoil.contracts.cli import main; raise SystemExit(main())", "check"],
            cwd=workshop.folder,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 14
    assert done.stderr.count(b"\n") == 1
    assert b"No space left" in done.stderr


def test_shells_can_complete(installed):
    settings = {"_COUNTERFOIL_COMPLETE": "bash_complete", "COMP_WORDS": "counterfoil che", "COMP_CWORD": "1"}
    assert installed(settings=settings).out == "plain,check\n"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["db", "upgrad"], 2, "No such command 'upgrad'. Did you mean 'upgrade'?"),
        (["subjects", "lst"], 2, "Did you mean 'list'?"),
        (["bridge", "pln"], 2, "Did you mean 'plan'?"),
        (["auth", "usr"], 2, "Did you mean 'user'"),
        (["auth", "user", "ad"], 2, "Did you mean 'add'"),
        (["db", "qqqq"], 2, "No such command 'qqqq'."),
        (["decode", "zz"], 2, "MESSAGE is 'zz', which is not hexadecimal"),
        (["decode", "--base64", "!"], 2, "MESSAGE is '!', which is not base64"),
        (["decode", "--header", "zz", "00"], 2, "--header is 'zz', which is not hexadecimal"),
        (
            ["lint", "schemas\\a.avsc"],
            14,
            "no file or folder 'schemas\\a.avsc'; paths are written with /, as in 'schemas/a.avsc'",
        ),
        (["schema", "register", "a\\b.avsc"], 14, "paths are written with /, as in 'a/b.avsc'"),
        (["check", "--against", "http://127.0.0.1:1"], 2, "--against registry --registry http://127.0.0.1:1"),
        (["check", "--against", "https://a.example/x"], 2, "--against registry --registry https://a.example/x"),
        (["diff", "http://127.0.0.1:1", "x@2"], 2, "name a schema as SUBJECT@VERSION, with --registry URL"),
        (
            ["subjects", "list"],
            2,
            "the URL of the registry is missing; give it as --registry or COUNTERFOIL_REGISTRY_URL",
        ),
        (
            ["check", "--against", "registry"],
            2,
            "the URL of the registry is missing; give it as --registry or COUNTERFOIL_REGISTRY_URL",
        ),
        (["plan"], 14, "there is no counterfoil.yaml in this folder or above it, and it says what"),
        (
            ["init"],
            4,
            "There is no schema file here (.avsc, .proto, .schema.json or .jsonschema), so nothing was written.",
        ),
        (
            ["can-i-deploy", "--environment", "x"],
            2,
            "the question is not one of these: APP@VERSION --environment ENV [",
        ),
        (["bridge", "status", "x"], 2, "there is no file x, so it is taken for the name of a bridge; say where its"),
        (["auth", "user", "add", "ana", "--file", "users"], 2, "there is no terminal to ask for the password; give it"),
        (["auth", "who-can", "FLY", "a", "--file", "x"], 2, "FLY is not an operation; "),
    ],
)
def test_a_mistake_is_answered_with_what_was_meant(counterfoil, tmp_path, arguments, code, said):
    (tmp_path / "empty").mkdir()
    done = counterfoil(*arguments, folder=tmp_path / "empty")
    assert done.code == code, done
    assert said in done.err


def test_lint_of_an_empty_folder_says_that_nothing_was_checked(counterfoil, tmp_path):
    done = counterfoil("lint", folder=tmp_path)
    assert (done.code, done.out.splitlines()[0]) == (
        4,
        "There is no schema, contract or product file here, so nothing was checked.",
    )
