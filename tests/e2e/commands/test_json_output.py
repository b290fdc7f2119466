"""``--json`` of every command: standard output is JSON and nothing else, whether the command succeeds or fails."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click
import pytest

from counterfoil.contracts.cli.root import root_command
from counterfoil.registry.audit.file import AuditFile
from strategies.contracts.agreement_files import BRIDGE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from strategies.machine.outcome import Outcome

LINES = {"audit show", "bridge run", "consume", "encode"}
"""Commands that print one document for each event, batch, record or value."""
NEEDS_SERVICES = {
    "bridge check": "a broker and Spark",
    "bridge package": "the jars of Spark",
    "bridge prepare": "Spark",
    "bridge replay": "a broker",
    "bridge report": "a broker",
    "bridge run": "a broker and Spark",
    "bridge verify": "a broker",
    "consume": "a broker",
    "produce": "a broker",
    "sketch": "a broker",
}
"""Commands that only fail here; ``bridges/test_commands.py`` and others of tests/integration have what they need."""
STORE = "--store sqlite:///team.db"
ENDED: list[tuple[str, int]] = [
    ("tutorial quickstart start", 0),
    ("tutorial migrate {name}-trips", 0),
    ("tutorial intended-break shop", 0),
    ("lint .", 0),
    ("lint nowhere", 14),
    ("check --consumers consumers", 0),
    ("check changed.avsc --against schemas/order.avsc", 1),
    ("check nothing", 14),
    ("check empty", 4),
    ("diff schemas/order.avsc changed.avsc", 0),
    ("test records --from-file good.hex --schemas ids", 0),
    ("test records --from-file bad.hex --schemas ids", 1),
    ("approve --list", 0),
    ("publish contracts --application shop --version 1.0.0 --dry-run", 0),
    ("applications", 0),
    ("applications shop", 0),
    ("applications nobody", 4),
    ("environments", 0),
    ("environments production", 0),
    ("environments nowhere", 4),
    ("record environment {name}", 0),
    ("record deployment shop@1.0.0 --environment {name}", 0),
    ("record release billing@1.0.0 --environment {name}", 0),
    ("record support-ended billing@1.0.0 --environment {name}", 0),
    ("record undeployment shop@1.0.0 --environment {name}", 0),
    ("record deployment shop@9 --environment {name}", 4),
    ("can-i-deploy shop@1.0.0 --environment production", 0),
    ("can-i-deploy shop@9 --environment production", 4),
    ("matrix --environment production --application shop", 0),
    ("usage orders.placed-value", 0),
    ("usage {name}-none", 4),
    ("schema register {name}-value.avsc", 0),
    ("schema register nowhere.avsc", 14),
    ("schema get {name}-value", 0),
    ("schema get {name}-none", 14),
    ("subjects list", 0),
    ("subjects show {name}-value", 0),
    ("subjects show {name}-none", 14),
    ("config set compatibility=FULL --subject {name}-value", 0),
    ("config get {name}-value", 0),
    ("config delete {name}-value --yes", 0),
    ("mode set READONLY {name}-value", 0),
    ("mode get {name}-value", 0),
    ("mode delete {name}-value", 0),
    ("encode values.jsonl --schema {name}-value@latest", 0),
    ("decode 00", 1),
    ("plan --config project.yaml", 0),
    ("plan --config project.yaml --fail-on-changes", 3),
    ("apply --config project.yaml", 0),
    ("apply --config nowhere.yaml", 14),
    ("bundle schemas.json {name}-value", 0),
    ("export backup.jsonl", 0),
    ("import backup.jsonl --store sqlite:///copy.db", 0),
    ("compare {url} {url}", 0),
    ("db upgrade --store sqlite:///copy.db", 0),
    ("db check --store sqlite:///copy.db", 0),
    ("db stats --store sqlite:///copy.db", 0),
    ("db reindex --store sqlite:///copy.db", 0),
    ("bridge plan bridge.yaml --source-schema schemas/order.avsc --target-schema schemas/order.avsc", 0),
    ("bridge status {name}", 4),
    ("bridges list", 0),
    ("schema register {name}-2-value.avsc", 0),
    ("bridges register {name}.yaml --owner ana --yes", 0),
    ("bridges show {name}", 0),
    ("bridges transition {name} shadow --by ana", 0),
    ("bridges delete {name} --yes", 0),
    ("bridges show {name}-none", 14),
    ("auth check access.yaml", 0),
    ("auth can User:bob WRITE orders-value --file access.yaml", 1),
    ("auth who-can WRITE orders-value --file access.yaml", 0),
    (f"auth init {STORE}", 0),
    (f"auth service add ci {STORE}", 0),
    (f"auth bind User:bob reader a.* {STORE}", 0),
    (f"auth bindings {STORE}", 0),
    (f"auth load access.yaml {STORE}", 0),
    (f"auth token create ci --for Service:ci {STORE}", 0),
    (f"auth token list {STORE}", 0),
    (f"auth user list {STORE}", 0),
    (f"auth service list {STORE}", 0),
    ("audit verify audit.jsonl", 0),
    ("audit show audit.jsonl", 0),
    ("audit show bad.hex", 1),
    ("subjects delete {name}-value --yes", 0),
    ("init --force", 0),
]
RECORD = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "string"}, {"name": "n", "type": "int"}]}
RECORDS = """\
apiVersion: v3.2.0
kind: DataContract
id: records
version: 1.0.0
status: active
team: {name: shop}
schema:
  - name: R
    physicalName: records
    properties:
      - {name: n, logicalType: integer, logicalTypeOptions: {minimum: 0}}
"""
FILES = {
    "empty/README": "",
    "records/records.odcs.yaml": RECORDS,
    "ids/7.avsc": RECORD,
    "good.hex": "0000000007066f2d3164\n",
    "bad.hex": "0000000007066f2d3163\n",
    "changed.avsc": {
        "type": "record",
        "name": "OrderPlaced",
        "namespace": "shop",
        "fields": [{"name": "order_id", "type": "string"}, {"name": "total_cents", "type": "string"}],
    },
    "values.jsonl": '{"id": "a", "n": 1}\n{"id": "b", "n": 2}\n',
    "access.yaml": "admins: [User:ana]\nrules: [{allow: reader, to: User:bob, on: orders-value}]\n",
    "bridge.yaml": BRIDGE,
}
PROJECT = """\
managed-by: {0}
schemas:
  - {{files: {0}-value.avsc, subject: {0}-value}}
  - {{files: '**/*.avsc', part: true}}
"""


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yield every command that has ``--json``, with its words."""
    pending: list[tuple[str, click.Command]] = [("", root_command())]
    while pending:
        path, command = pending.pop()
        if isinstance(command, click.Group):
            context = click.Context(command)
            found = ((name, command.get_command(context, name)) for name in command.list_commands(context))
            pending += [(f"{path} {name}".strip(), inner) for name, inner in found if inner is not None]
        elif "--json" in spellings(command):
            yield path, command


def spellings(command: click.Command) -> set[str]:
    return {name for each in command.params for name in each.opts}


COMMANDS = dict(commands())


def command_of(words: str) -> str:
    """The command in front of its arguments, empty for one that prints nothing."""
    return next((name for name in sorted(COMMANDS, key=len, reverse=True) if f"{words} ".startswith(f"{name} ")), "")


def documents(command: str, printed: str) -> list[Any]:
    """What was printed as JSON; raises ``ValueError`` for anything else."""
    if not printed:
        return []
    return [json.loads(line) for line in printed.splitlines()] if command in LINES else [json.loads(printed)]


@pytest.fixture
def world(workshop, counterfoil, live_registry, unique_name):
    """A repository with a contract that is live in a registry, and the names in the commands."""
    name = unique_name("json")
    settings = {"COUNTERFOIL_REGISTRY_URL": live_registry.url}
    laid = counterfoil("tutorial", "intended-break", "laid", settings=settings)
    assert laid.code == 0, laid
    folder = workshop.folder.parent / "laid"
    for path, content in {**FILES, "project.yaml": PROJECT.format(name)}.items():
        workshop.write(f"../laid/{path}", content)
    workshop.write(f"../laid/{name}.yaml", f"bridge: {name}\nsource: {{topic: {name}}}\ntarget: {{topic: {name}-2}}\n")
    for subject in (f"{name}-value", f"{name}-2-value"):
        workshop.write(f"../laid/{subject}.avsc", RECORD)
    log = AuditFile(str(folder / "audit.jsonl"), max_bytes=1 << 20, refuses=False)
    log.close()
    names = {"name": name, "url": live_registry.url}

    def run(words: str, *more: str) -> Outcome:
        return counterfoil(*words.format(**names).split(), *more, folder=folder, settings=settings)

    return run


def test_every_command_with_json_is_in_the_list() -> None:
    here = {command_of(words) for words, _ in ENDED} - {""}
    assert here | set(NEEDS_SERVICES) == set(COMMANDS)
    assert here & set(NEEDS_SERVICES) == set()


def test_commands_print_json_and_nothing_else(world: Callable[..., Outcome]) -> None:
    wrong = {}
    for words, code in ENDED:
        ended = world(words, *(["--json"] if command_of(words) else []))
        try:
            found = documents(command_of(words), ended.out)
        except ValueError as mistake:
            found, wrong[words] = [], f"{mistake}: {ended}"
        is_silent = not found and (code == 0 or not ended.err)
        if ended.code != code or is_silent == bool(command_of(words)):
            wrong[words] = str(ended)
    assert wrong == {}, "\n".join(f"{words}: {ended}" for words, ended in wrong.items())


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_a_mistake_leaves_standard_output_empty(counterfoil: Callable[..., Outcome], command: str) -> None:
    ended = counterfoil(*command.split(), "--json", "--nonsense")
    assert (ended.code, ended.out) == (2, ""), ended
    assert ended.err.startswith("counterfoil: No such option"), ended
