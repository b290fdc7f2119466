"""The environment of the snippets of one page: a folder, and real services for the addresses on the page.

The text of a page stays unchanged. A port or host in it is replaced by one of a service that was started for the page;
commands that install or build are checked, not run: ``tests/architecture`` and
``tests/e2e/deploy/test_image.py`` do that.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import tomllib
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import yaml

from local_services import (
    KafkaClient,
    PostgresClient,
    RegistryProcess,
    connector_jars,
    free_port,
    quixstreams_environment,
    wait_until,
)
from strategies.docs.setups import SETUPS
from strategies.docs.snippets import Command, Snippet, snippets_of
from strategies.kafka.records import produce

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

ROOT = Path(__file__).resolve().parents[3]
_DEADLINE_S = 900
_WITHOUT_EXTRAS = """
import runpy, sys
absent = {"confluent_kafka", "fastapi", "starlette", "uvicorn", "orjson", "pyspark", "pyarrow", "pandas"}
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
runpy.run_path(sys.argv[1], run_name="__main__")
"""
_CURL_REFUSED = 22
"""curl's exit code with ``--fail-with-body`` when the status is 400 or more."""
_CONSUMER = """#!{python}
import sys
from confluent_kafka import Consumer
options = dict(zip(sys.argv[1::2], sys.argv[2::2])) if len(sys.argv) % 2 else {{}}
servers, topic = (sys.argv[sys.argv.index(name) + 1] for name in ("--bootstrap-server", "--topic"))
consumer = Consumer({{"bootstrap.servers": servers, "group.id": "console", "auto.offset.reset": "earliest"}})
consumer.subscribe([topic])
while message := consumer.poll(10):
    print(message.key().decode(), message.value().decode(), sep="\\t")
consumer.close()
"""
_TOPICS = """#!{python}
import sys
from confluent_kafka.admin import AdminClient, NewTopic
words = [word for word in sys.argv[1:] if word != "--create"]
options = dict(zip(words[::2], words[1::2]))
client = AdminClient({{"bootstrap.servers": options["--bootstrap-server"]}})
made = client.create_topics([NewTopic(options["--topic"], num_partitions=int(options["--partitions"]))])
for topic, result in made.items():
    result.result(60)
    print(f"Created topic {{topic}}.")
"""


class Stage:
    """The folder and the services of one page; a context manager that ends them."""

    def __init__(
        self,
        folder: Path,
        *,
        counterfoil: Path,
        broker: Callable[[], KafkaClient],
        postgres: Callable[[], PostgresClient],
    ) -> None:
        self._base = folder
        self.folder = folder
        self.environment = _environment(folder, counterfoil)
        self._broker, self._postgres = broker, postgres
        self._database = ""
        self._urls: dict[str, str] = {}
        self._services = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._services.close()

    # --- services

    @property
    def broker(self) -> KafkaClient:
        """The broker of this test run."""
        return self._broker()

    def url(self, name: str = "") -> str:
        """Return the URL of the page's registry, or of another one that the page names; started at the first call."""
        if name not in self._urls:
            self._urls[name] = self._services.enter_context(RegistryProcess()).url
        return self._urls[name]

    def database(self) -> str:
        """Return the URL of the page's PostgreSQL database, which is empty at first."""
        if not self._database:
            name = f"docs_{free_port()}"
            self._database = self._postgres().create_database(name)
        return self._database

    @contextmanager
    def serving(self, store: str) -> Iterator[str]:
        """Yield the URL of a registry on ``store``, which is stopped afterwards."""
        with RegistryProcess(store=store) as running:
            yield running.url

    def produce(self, topic: str, records: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Write records to a topic of the broker."""
        produce(self.broker.bootstrap_servers, topic, ({"key": key, "value": value} for key, value in records))

    def file_of(self, page: str, name: str) -> str:
        """Return the text of the block of a page that is the file ``name``."""
        return next(each.text for each in snippets_of(ROOT / page, page) if each.notes.get("file") == name)

    # --- running

    def run(self, snippet: Snippet) -> None:
        """Run a snippet; fail with its place if it does not do what the page shows."""
        if setup := snippet.notes.get("setup"):
            self.folder = self._base / f"line-{snippet.line}"
            self.folder.mkdir()
            SETUPS[setup](self)
        if name := snippet.notes.get("file"):
            (self.folder / name).write_text(self._with_addresses(snippet.text))
        elif name := snippet.notes.get("made"):
            assert (self.folder / name).read_text() == self._with_addresses(snippet.text), snippet.place
        elif snippet.language == "python":
            self._run_python(snippet)
        elif snippet.language == "yaml":
            for text in _commands_in(yaml.safe_load(snippet.text)):
                self._run_command(Command(re.sub(r"\$\{\{.*\}\}", "HEAD^", text)), snippet)
        else:
            for command in snippet.commands():
                self._run_command(command, snippet)

    def _run_command(self, command: Command, snippet: Snippet) -> None:
        words = [word for word in command.words if not re.fullmatch(r"[A-Z_]+=\w*", word)]
        if words[0] == "make":
            assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE), snippet.place
        elif words[0] == "cd":
            self.folder /= words[1]
        elif command.words[0] == "export":
            name, _, value = command.words[1].partition("=")
            self.environment[name] = self._with_addresses(value)
        elif words[:2] == ["pip", "install"]:
            _check_install(words[2], snippet)
        elif words[0] == "createdb":
            self.database()
        elif words[:2] == ["counterfoil", "serve"] and "--print-settings" not in words:
            self._serve(words)
        elif words[:2] == ["curl", "-N"]:
            self._run_until_output(command, snippet)
        else:
            self._run_shell(command, snippet)

    def _serve(self, words: list[str]) -> None:
        """Start a registry; the page's other snippets use the first one that it starts."""
        options = [self._with_addresses(word) for word in words[2:]]
        scheme = "https" if "--tls-certificate" in words else "http"
        url = f"{scheme}://127.0.0.1:{free_port()}"
        server = subprocess.Popen(
            ["counterfoil", "serve", *options, "--port", url.rpartition(":")[2]],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert server.stdout
        line = server.stdout.readline()
        server.stdout.close()
        self._services.callback(_end, server)
        assert line == f"counterfoil registry listening on {url}, pages at {url}/ui/\n", line
        self._urls.setdefault("", url)

    def _run_shell(self, command: Command, snippet: Snippet) -> None:
        text = re.sub(r"\bcurl ", "curl --fail-with-body ", self._with_addresses(command.text))
        done = subprocess.run(
            ["bash", "-e", "-c", text],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=_DEADLINE_S,
        )
        shown = re.search(r"\(exit (\d+)\)$", command.shown, re.MULTILINE)
        report = f"{snippet.place}: {text}\nexit {done.returncode}\n{done.stdout}{done.stderr}"
        refused = snippet.notes.get("refused")
        wanted = _CURL_REFUSED if refused else int(shown[1]) if shown else 0
        assert done.returncode == wanted, report
        assert refused is None or refused in done.stdout, report
        if command.shown:
            assert _essence(done.stdout) == _essence(self._with_addresses(command.shown)), report

    def _run_until_output(self, command: Command, snippet: Snippet) -> None:
        """Run a command that does not end by itself, until its first output."""
        with subprocess.Popen(
            ["bash", "-c", f"exec {self._with_addresses(command.text)} --fail-with-body -sS"],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
        ) as running:
            assert running.stdout
            deadline = threading.Timer(_DEADLINE_S, running.kill)
            deadline.start()
            assert running.stdout.readline(), snippet.place
            deadline.cancel()
            running.terminate()

    def _run_python(self, snippet: Snippet) -> None:
        """Run a program as with the base install and the extra of its note; one that calls a webhook, until it does."""
        extra = snippet.notes.get("extra")
        assert extra is None or extra in _extras(), snippet.place
        isolation = [] if extra else ["-c", _WITHOUT_EXTRAS]
        more = {"PYTHONPATH": quixstreams_environment()["PYTHONPATH"]} if extra == "quixstreams" else {}
        with _Hook() as hook:
            text = self._with_addresses(snippet.text).replace("https://hooks.example", hook.url)
            program = self.folder / f"snippet_{snippet.line}.py"
            program.write_text(text)
            running = subprocess.Popen(
                [sys.executable, *isolation, str(program)],
                cwd=self.folder,
                env=self.environment | more,
                stderr=subprocess.PIPE,
                text=True,
            )
            try:
                wait_until(
                    lambda: running.poll() is not None or bool(hook.bodies),
                    what=f"{snippet.place} to end or to call its webhook",
                    deadline_s=_DEADLINE_S,
                )
                assert hook.bodies or running.returncode == 0, f"{snippet.place}: {running.communicate()[1]}"
            finally:
                _end(running)

    def _with_addresses(self, text: str) -> str:
        """Return ``text`` with the addresses of real services instead of those on the page."""
        if re.search(r"(?:127\.0\.0\.1|localhost):8081", text):
            text = re.sub(r"(?:http://)?(?:127\.0\.0\.1|localhost):8081", self.url(), text)
        text = re.sub(r"http://(old|new)-registry:8081", lambda found: self.url(found[1]), text)
        text = re.sub(r"postgresql://[\w.@:/]+", lambda _: self.database(), text)
        if "kafka:9092" in text:
            text = text.replace("kafka:9092", self.broker.bootstrap_servers)
        return text.replace("/var/lib/counterfoil", str(self.folder))


class _Hook:
    """A server that stores the bodies that are posted to it."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                hook.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _environment(folder: Path, counterfoil: Path) -> dict[str, str]:
    """Return the environment with the commands of this installation, without the settings of the user of the tests.

    ``counterfoil`` is the program of that name.
    """
    tools = folder / "tools"
    tools.mkdir()
    consumer = tools / "kafka-console-consumer"  # replaces the tool of that name in Kafka's archive
    consumer.write_text(_CONSUMER.format(python=sys.executable))
    consumer.chmod(0o755)
    topics = tools / "kafka-topics.sh"  # likewise
    topics.write_text(_TOPICS.format(python=sys.executable))
    topics.chmod(0o755)
    own = {name: value for name, value in os.environ.items() if not name.startswith(("COUNTERFOIL_", "GIT_"))}
    path = os.pathsep.join([str(tools), str(counterfoil.parent), str(Path(sys.executable).parent), os.environ["PATH"]])
    more = {"PATH": path, "HOME": str(folder), "NO_COLOR": "1", "GIT_CONFIG_NOSYSTEM": "1"}
    more |= {f"GIT_{who}_{what}": "dev@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    more |= {"CI": "true"}  # so that Hypothesis limits no times
    more |= {"GIT_CEILING_DIRECTORIES": str(folder), "COUNTERFOIL_JARS": str(connector_jars())}
    kept = {name: value for name, value in os.environ.items() if name == "COUNTERFOIL_CACHE"}
    return {**own, **more, **kept}


def _commands_in(node: Any) -> Iterator[str]:
    """Yield the commands in a workflow or a list of hooks."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in {"run", "entry"}:
                yield value
            else:
                yield from _commands_in(value)
    elif isinstance(node, list):
        for item in node:
            yield from _commands_in(item)


def _check_install(requirement: str, snippet: Snippet) -> None:
    found = re.fullmatch(r"counterfoil(?:\[([\w-]+)\])?", requirement)
    assert found, snippet.place
    assert found[1] is None or found[1] in _extras(), snippet.place


def _extras() -> Collection[str]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return list(project["optional-dependencies"])


def _essence(output: str) -> list[str]:
    """Return the lines of the output of ``check`` or ``diff``, without hashes and the wrapping of sentences."""
    lines = re.sub(r"\b[0-9a-f]{7,12}\b", "", output).splitlines()
    return [
        " ".join(line.split()[:2]) if re.match(r"\s+(error|warning|notice)\b", line) else line.rstrip()
        for line in lines
        if not line.startswith(" " * 9) and line.strip()
    ]


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stderr:
        process.stderr.close()
