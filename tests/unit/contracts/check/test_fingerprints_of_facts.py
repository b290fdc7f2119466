"""Fingerprints are made of facts: another wording of every sentence changes none of them.

A second interpreter loads the modules that make sentences with all sentences changed, and checks the same files.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parents[3] / "data" / "fingerprints" / "checks-0.2.0.json"
REWORDED = (
    "counterfoil.schema.agreements.changes",
    "counterfoil.schema.agreements.findings",
    "counterfoil.schema.agreements.generation",
    "counterfoil.schema.agreements.judge",
    "counterfoil.schema.agreements.pairs",
    "counterfoil.schema.agreements.readers",
    "counterfoil.schema.agreements.findings",
    "counterfoil.schema.agreements.pairs",
    "counterfoil.schema.paths",
    "counterfoil.schema.agreements.standards",
    "counterfoil.schema.compatibility.findings",
    "counterfoil.contracts.check.agreements",
    "counterfoil.contracts.check.consumer_causes",
    "counterfoil.contracts.check.consumer_findings",
    "counterfoil.contracts.check.consumers",
    "counterfoil.contracts.findings",
    "counterfoil.contracts.lint.",
    "counterfoil.contracts.values.constraints",
    "counterfoil.registry.contracts.verdicts.verdict",
)
SENTENCE = re.compile(r"\w+ \w+,? \w+")
"""Facts are two words at most, such as the name of a limit."""


class Reworded(ast.NodeTransformer):
    """Changes the sentences of a module: texts in which three words follow each other."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        parts = (each.value for each in node.values if isinstance(each, ast.Constant))
        if any(SENTENCE.search(str(each)) for each in parts):
            node.values.insert(0, ast.Constant("in other words: "))
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str) and SENTENCE.search(node.value) and "\n" not in node.value:
            return ast.copy_location(ast.Constant(f"in other words: {node.value}"), node)
        return node


def reword_modules() -> None:
    """Have the modules that make sentences loaded with other ones."""
    from importlib.machinery import PathFinder, SourceFileLoader

    class Loader(SourceFileLoader):
        def source_to_code(self, data: Any, path: Any, **_: Any) -> Any:  # type: ignore[override]
            tree = ast.fix_missing_locations(Reworded().visit(ast.parse(data)))
            return compile(tree, path, "exec", dont_inherit=True)

        def get_code(self, _: str) -> Any:  # no compiled file is read or written
            return self.source_to_code(self.get_data(self.path), self.path)

    class Finder(PathFinder):
        @classmethod
        def find_spec(cls, fullname: str, path: Any = None, target: Any = None) -> Any:
            spec = PathFinder.find_spec(fullname, path, target)
            if spec is not None and fullname.startswith(REWORDED) and spec.origin and spec.origin.endswith(".py"):
                spec.loader = Loader(fullname, spec.origin)
            return spec

    sys.meta_path.insert(0, Finder)


def checked(folder: str) -> list[dict[str, Any]]:
    """Return the findings of all scenarios: of checks with consumers, and of lint."""
    import io
    from contextlib import chdir, redirect_stdout

    from counterfoil.contracts.cli.root import root_command
    from counterfoil.contracts.cli.run import run

    found: list[dict[str, Any]] = []
    for number, scenario in enumerate(json.loads(DATA.read_text())[::2]):
        top = Path(folder, str(number))
        for side, files in (
            ("before", scenario["before"]),
            ("after", {**scenario["before"], **scenario["changed"]}),
        ):
            for path, text in files.items():
                if text is not None:
                    (top / side / path).parent.mkdir(parents=True, exist_ok=True)
                    (top / side / path).write_text(text)
        options = ["--against", "../before", "--consumers", "consumers", "--level", "NONE", "--offline"]
        for arguments in (["check", *options], ["lint"]):
            printed = io.TextIOWrapper(io.BytesIO(), write_through=True)
            with chdir(top / "after"), redirect_stdout(printed):
                run(root_command(), [*arguments, "--format", "json", "."])
            report = json.loads(printed.buffer.getvalue())  # type: ignore[attr-defined]
            found += report["findings"]
    return found


@pytest.mark.slow
def test_another_wording_of_every_sentence_changes_no_fingerprint(tmp_path: Path) -> None:
    texts, fingerprints = [], []
    for mode in ("plain", "reworded"):
        (tmp_path / mode).mkdir()
        command = [sys.executable, __file__, mode, str(tmp_path / mode)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        findings = json.loads(done.stdout)
        assert len(findings) > 20
        texts.append({(each["rule"], each["path"], each["text"]) for each in findings})
        fingerprints.append(sorted((each["rule"], each["path"], each["fingerprint"]) for each in findings))
    assert fingerprints[0] == fingerprints[1]
    assert len(texts[0] & texts[1]) < len(texts[0]) / 2


if __name__ == "__main__":
    if sys.argv[1] == "reworded":
        reword_modules()
    json.dump(checked(sys.argv[2]), sys.stdout)
