"""Heads of the audit: the file and the store each have the last hash of the other, signed by keys that rotate."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from counterfoil.contracts.cli.root import root_command
from counterfoil.contracts.cli.run import run
from counterfoil.registry.audit.events import AuditEvent, EventKind
from counterfoil.registry.audit.file import HASH, SIGNATURE, AuditFile, canonical, hash_of
from counterfoil.registry.audit.keys import SigningKey
from counterfoil.registry.audit.recording import AuditRecords
from counterfoil.registry.store.changes import chain_after
from counterfoil.registry.store.opening import open_store
from counterfoil.schema.exit_codes import ExitCode
from local_services import RegistryProcess, wait_until
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def make_key(folder: Path, name: str) -> Path:
    """Write a new key pair; return the file of the private one, beside which is ``.pub``."""
    key = Ed25519PrivateKey.generate()
    pem, encoding = serialization.PrivateFormat.PKCS8, serialization.Encoding.PEM
    path = folder / name
    path.with_suffix(".pub").write_bytes(
        key.public_key().public_bytes(encoding, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    path.write_bytes(key.private_bytes(encoding, pem, serialization.NoEncryption()))
    return path


class Story:
    """A registry over a file whose audit is signed by ``key``; tests decide when a minute is over."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = make_key(folder, "key.pem")
        self.public_keys = [self.key.with_suffix(".pub")]
        self.audit = folder / "audit.jsonl"
        self.store = f"sqlite:///{folder}/registry.db"

    async def play(self, *, turns: int = 2, rotated: Path | None = None) -> None:
        storage = open_store(self.store)
        signed = SigningKey(self.key).signed
        log = AuditFile(str(self.audit), max_bytes=2**20, refuses=False, signed=signed)
        records = AuditRecords(storage, file=log, signed=signed)
        registry = InProcessRegistry(storage, audit=records)
        for turn in range(turns):
            if turn == turns - 1 and rotated is not None:
                rotated.replace(self.key)  # noqa: ASYNC240  nothing else runs in this loop
            for number in range(3):
                assert (await registry.register(f"s{turn}{number}", '"int"')).status == 200
            wait_until(lambda: f"s{turn}2" in self.audit.read_text(), what="the lines")  # noqa: B023  called at once
            await records.write_minute()
            wait_until(lambda: self.audit.read_text().count("audit.head") > turn, what="the head")  # noqa: B023  as above
        await records.close()
        await storage.close()

    def verified(self, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str]:
        words = [option for path in self.public_keys for option in ("--public-key", str(path))]
        code = run(root_command(), ["audit", "verify", str(self.audit), *words, *options])
        return code, capsys.readouterr().out

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.audit.read_text().splitlines()]

    def write_anew(self, lines: list[dict[str, Any]]) -> None:
        """Write lines with all hashes computed again, as someone does who hides a line and has no key."""
        before, text = None, ""
        for seq, line in enumerate(lines, 1):
            facts = {**line, "seq": seq, "prev": before}
            facts.pop(HASH)
            before = hash_of(facts)
            text += canonical({**facts, HASH: before}).decode() + "\n"
        self.audit.write_text(text)

    def change_store(self, *statements: str) -> None:
        with closing(sqlite3.connect(self.folder / "registry.db")) as connection, connection:
            for statement in statements:
                connection.execute(statement)


@pytest.fixture
def story(tmp_path: Path) -> Story:
    made = Story(tmp_path)
    asyncio.run(made.play())
    return made


def test_a_whole_audit_fits_and_each_part_has_the_head_of_the_other(
    story: Story, capsys: pytest.CaptureFixture[str]
) -> None:
    heads = [line for line in story.lines() if line["event"] == "audit.head"]
    assert [(each["of"], each["change"]) for each in heads] == [("journal", 3), ("journal", 6)]
    for options in ([], ["--store", story.store]):
        assert story.verified(capsys, *options) == (ExitCode.OK, f"{len(story.lines())} lines: whole\n")


def test_a_file_that_was_written_anew_is_found(story: Story, capsys: pytest.CaptureFixture[str]) -> None:
    lines = story.lines()
    story.write_anew([line for line in lines if line.get("resource") != "s01"])
    assert story.verified(capsys)[0] == ExitCode.BROKEN  # its signatures are of other hashes
    head = next(number for number, line in enumerate(story.lines(), 1) if line["event"] == "audit.head")
    assert f"{story.audit}:{head}: its signature is wrong" in story.verified(capsys)[1]
    story.write_anew([line for line in lines if line["event"] != "audit.head"])
    assert story.verified(capsys)[0] == ExitCode.OK  # heads and all: the store knows better
    code, text = story.verified(capsys, "--store", story.store)
    assert code == ExitCode.BROKEN
    assert "the file was written anew" in text or "lines were removed" in text
    unsigned = [{name: value for name, value in line.items() if name != SIGNATURE} for line in lines]
    story.write_anew(unsigned)
    assert "it is not signed" in story.verified(capsys)[1]


def test_a_file_that_was_cut_off_is_found(story: Story, capsys: pytest.CaptureFixture[str]) -> None:
    lines = story.audit.read_text().splitlines(keepends=True)
    story.audit.write_text("".join(lines[:3]))
    assert story.verified(capsys) == (ExitCode.OK, "3 lines: whole\n")
    code, text = story.verified(capsys, "--store", story.store)
    assert code == ExitCode.BROKEN
    assert "which is missing: lines were removed" in text
    story.audit.write_text("")
    assert story.verified(capsys, "--store", story.store)[0] == ExitCode.BROKEN
    assert story.verified(capsys, "--store", story.store, "--continued")[0] == ExitCode.OK


def test_every_single_edit_cut_and_swap_of_lines_is_found(story: Story, capsys: pytest.CaptureFixture[str]) -> None:
    """Each line is removed, repeated, exchanged with the next and the last one, and changed in each of its members."""
    lines = story.audit.read_text().splitlines(keepends=True)
    last = len(lines)

    def edits() -> Iterator[tuple[str, list[str]]]:
        for at, line in enumerate(lines):
            yield f"without line {at}", [*lines[:at], *lines[at + 1 :]]
            yield f"cut at line {at}", lines[:at]
            yield f"line {at} twice", [*lines[:at], line, *lines[at:]]
            yield f"half of line {at}", [*lines[:at], line[: len(line) // 2] + "\n", *lines[at + 1 :]]
            for other in {at + 1, last - 1} & set(range(at + 1, last)):
                swapped = lines.copy()
                swapped[at], swapped[other] = lines[other], line
                yield f"lines {at} and {other} exchanged", swapped
                yield (
                    f"line {at} moved behind line {other}",
                    [
                        *lines[:at],
                        *lines[at + 1 : other + 1],
                        line,
                        *lines[other + 1 :],
                    ],
                )
            facts = json.loads(line)
            for name, value in facts.items():
                changed = {**facts, name: f"{value}0" if isinstance(value, str) else 99 if value != 99 else 98}
                yield f"line {at} with another {name}", [*lines[:at], text_of(changed), *lines[at + 1 :]]
        yield "an empty file", []
        yield "the files of two servers", [*lines, *lines]

    def text_of(facts: dict[str, Any]) -> str:
        return canonical(facts).decode() + "\n"

    unnoticed = []
    for what, edited in edits():
        story.audit.write_text("".join(edited))
        if story.verified(capsys, "--store", story.store)[0] != ExitCode.BROKEN:
            unnoticed.append(what)
    assert unnoticed == []
    story.audit.write_text("".join(lines))
    assert story.verified(capsys, "--store", story.store)[0] == ExitCode.OK


def test_a_journal_that_was_edited_cut_or_written_anew_is_found(
    story: Story, capsys: pytest.CaptureFixture[str]
) -> None:
    def found() -> str:
        code, text = story.verified(capsys, "--store", story.store)
        assert code == ExitCode.BROKEN
        return text

    story.change_store("CREATE TABLE kept AS SELECT * FROM changes", "UPDATE changes SET name = 'x' WHERE seq = 2")
    assert "change 2 in the store: it is not what was written" in found()
    before = b""
    with closing(sqlite3.connect(story.folder / "registry.db")) as connection, connection:
        for *facts, _ in connection.execute("SELECT * FROM changes ORDER BY seq").fetchall():
            guid = facts[7].hex()
            before = chain_after(before, (*facts[:7], guid, *facts[8:]))
            connection.execute("UPDATE changes SET chain = ? WHERE seq = ?", (before, facts[0]))
    assert "change 3 in the store: the audit file has another hash of it" in found()
    story.change_store("DELETE FROM changes", "INSERT INTO changes SELECT * FROM kept WHERE seq <= 4")
    assert "change 6 in the store: the audit file has its hash, but the journal ends at change 4" in found()
    story.change_store("DELETE FROM changes", "INSERT INTO changes SELECT * FROM kept")
    assert story.verified(capsys, "--store", story.store)[0] == ExitCode.OK
    story.change_store("""UPDATE audit SET document = replace(document, '"line": ', '"line": 1')""")
    assert "in the store: its signature is wrong" in found()


def test_keys_rotate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    story, second = Story(tmp_path), make_key(tmp_path, "second.pem")
    asyncio.run(story.play(rotated=second))
    first, other = story.public_keys[0], second.with_suffix(".pub")
    story.public_keys = [first, other]
    assert story.verified(capsys, "--store", story.store)[0] == ExitCode.OK
    story.public_keys = [other]
    code, text = story.verified(capsys)
    assert code == ExitCode.BROKEN
    assert "it is signed by the key" in text


def test_keys_that_cannot_be_used_are_refused_or_leave_the_old_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make_key(tmp_path, "key.pem")
    key = SigningKey(path)
    first = key.signed({"a": 1})
    path.write_text("half a ke")
    assert key.signed({"a": 1}) == first
    assert run(root_command(), ["audit", "verify", str(path), "--public-key", str(path)]) == ExitCode.USAGE
    assert "has no public Ed25519 key" in capsys.readouterr().err
    serve = ["serve", "--store", "sqlite://", "--port", "0", "--audit-key-file"]
    for file in (path, tmp_path / "missing.pem"):
        assert run(root_command(), [*serve, str(file)]) == ExitCode.USAGE
        assert str(file) in capsys.readouterr().err


def test_a_file_is_read_while_it_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditFile(str(path), max_bytes=2**24, refuses=False)
    try:
        wait_until(lambda: path.stat().st_size > 0, what="the first line")
        for _ in range(20):
            for _ in range(200):
                log.record(AuditEvent(EventKind.KEY_TESTED))
            assert run(root_command(), ["audit", "verify", str(path)]) == ExitCode.OK, capsys.readouterr().out
    finally:
        log.close()


def test_a_file_without_lines_verifies_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "audit.jsonl"
    path.touch()
    assert run(root_command(), ["audit", "verify", str(path)]) == ExitCode.CANNOT_SAY
    assert capsys.readouterr().out == "0 lines: nothing was verified, since the files are empty\n"
    assert run(root_command(), ["audit", "verify", str(path), "--json"]) == ExitCode.CANNOT_SAY
    assert json.loads(capsys.readouterr().out) == {"lines": 0, "whole": False, "misfits": []}


def test_a_key_that_others_can_read_is_a_warning_in_the_log_of_the_server(tmp_path: Path) -> None:
    key = make_key(tmp_path, "key.pem")
    key.chmod(0o644)
    settings = {"COUNTERFOIL_AUDIT_FILE": str(tmp_path / "audit.log"), "COUNTERFOIL_AUDIT_KEY_FILE": str(key)}
    log = tmp_path / "registry.log"
    with RegistryProcess(settings=settings, log=log):
        lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    [found] = [each for each in lines if "others can read it" in each["message"]]
    assert (found["levelname"], found["message"].split()[:2]) == ("WARNING", ["audit_key_file", str(key)])
