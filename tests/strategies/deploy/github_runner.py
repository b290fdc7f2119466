"""What GitHub's runner does with a composite action: expressions, steps, outputs; and an API that keeps comments."""

from __future__ import annotations

import json
import re
import subprocess
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qs, urlsplit

import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_EXPRESSION = re.compile(r"\$\{\{(.+?)\}\}")
_NAME = re.compile(r"\b(?:inputs|github|steps)(?:\.[\w-]+)+")


@dataclass
class Job:
    """How a run of the action ended: its exit code, outputs, log, summary, and the inputs of each other action."""

    code: int = 0
    outputs: dict[str, str] = field(default_factory=dict)
    log: str = ""
    summary: str = ""
    used: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Runner:
    """A runner in a checked-out repository; ``given`` has the outputs of steps that are not run, by their ids."""

    action: Path
    workspace: Path
    temp: Path
    environment: Mapping[str, str]
    api: str
    given: Mapping[str, Mapping[str, str]]

    def run(self, event: Mapping[str, Any], **inputs: str) -> Job:
        """Run the action for an event, with the inputs whose names have ``_`` in place of ``-``."""
        definition = yaml.safe_load((self.action / "action.yml").read_text())
        github = {"event": event, "token": "token-of-the-job"}
        context: dict[str, Any] = {"github": github, "steps": {}}
        defaults = {name: _filled(each.get("default", ""), context) for name, each in definition["inputs"].items()}
        context["inputs"] = defaults | {name.replace("_", "-"): value for name, value in inputs.items()}
        files = self._files(event)
        job, has_failed = Job(), False
        for step in definition["runs"]["steps"]:
            if not self._is_run(step, context, has_failed=has_failed):
                continue
            outputs, code = self._step(step, context, files, job)
            context["steps"][step.get("id", "")] = {"outputs": outputs}
            if code and not step.get("continue-on-error"):
                job.code, has_failed = code, True
        job.outputs = {name: _filled(each["value"], context) for name, each in definition["outputs"].items()}
        job.summary = files["GITHUB_STEP_SUMMARY"].read_text()
        return job

    def _files(self, event: Mapping[str, Any]) -> dict[str, Path]:
        places = {name: self.temp / name.lower() for name in ("GITHUB_EVENT_PATH", "GITHUB_STEP_SUMMARY")}
        places["GITHUB_EVENT_PATH"].write_text(json.dumps(event))
        places["GITHUB_STEP_SUMMARY"].write_text("")
        return places

    @staticmethod
    def _is_run(step: Mapping[str, Any], context: Mapping[str, Any], *, has_failed: bool) -> bool:
        condition = step.get("if", "true")
        if has_failed and "always()" not in condition:
            return False
        return condition == "true" or bool(_value(condition.replace("always()", "true"), context))

    def _step(
        self, step: Mapping[str, Any], context: Mapping[str, Any], files: Mapping[str, Path], job: Job
    ) -> tuple[Mapping[str, str], int]:
        if "uses" in step:
            job.used[step["uses"]] = {name: _filled(value, context) for name, value in step["with"].items()}
            return self.given.get(step.get("id", ""), {}), 0
        if step.get("id") in self.given:
            return self.given[step["id"]], 0
        output = self.temp / "github_output"
        output.write_text("")
        own = {name: _filled(value, context) for name, value in step.get("env", {}).items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.workspace / _filled(step.get("working-directory", "."), context),
            env={
                **self.environment,
                **{name: str(place) for name, place in files.items()},
                "GITHUB_ACTION_PATH": str(self.action),
                "GITHUB_API_URL": self.api,
                "GITHUB_OUTPUT": str(output),
                "GITHUB_REPOSITORY": "shop/orders",
                "RUNNER_TEMP": str(self.temp),
                **own,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        job.log += done.stdout
        return dict(line.split("=", 1) for line in output.read_text().splitlines()), done.returncode


def _filled(text: object, context: Mapping[str, Any]) -> str:
    return _EXPRESSION.sub(lambda found: str(_value(found[1], context)), str(text))


def _value(expression: str, context: Mapping[str, Any]) -> Any:
    """The value of an expression of names, texts, ``||``, ``&&``, ``==`` and ``!=``; an absent name is empty."""
    named = _NAME.sub(lambda found: repr(_looked_up(found[0], context)), expression.strip())
    words = {"||": " or ", "&&": " and ", "true": "True"}
    python = re.sub(r"\|\||&&|\btrue\b(?!')", lambda found: words[found[0]], named)
    return eval(python, {"__builtins__": {}})


def _looked_up(name: str, context: Mapping[str, Any]) -> Any:
    found: Any = context
    for part in name.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return "" if found is None else found


class CommentApi:
    """GitHub's API for the comments of pull requests; ``is_read_only`` is how a token of a fork sees it."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = []
        self.tokens: set[str] = set()
        self.is_read_only = False
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                query = parse_qs(urlsplit(self.path).query)
                size, page = int(query["per_page"][0]), int(query["page"][0])
                self._answer(200, api.comments[size * (page - 1) : size * page])

            def do_POST(self) -> None:
                if not api.is_read_only:
                    api.add(self._body())
                self._answer(*api.result(201, -1))

            def do_PATCH(self) -> None:
                index = int(self.path.rpartition("/")[2])
                if not api.is_read_only:
                    api.comments[index]["body"] = self._body()
                self._answer(*api.result(200, index))

            def _body(self) -> str:
                api.tokens.add(self.headers["Authorization"])
                return str(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"])

            def _answer(self, status: int, content: object) -> None:
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps(content).encode())

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def add(self, body: str, *, user: str = "Bot", association: str = "NONE") -> None:
        """Keep a comment."""
        number = len(self.comments)
        self.comments.append(
            {
                "id": number,
                "body": body,
                "user": {"type": user},
                "author_association": association,
                "html_url": f"https://github.example/comments/{number}",
            }
        )

    def result(self, status: int, index: int) -> tuple[int, object]:
        """The status and the content of the answer to a write."""
        if self.is_read_only:
            return 403, {"message": "Resource not accessible by integration"}
        return status, self.comments[index]

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
