"""``counterfoil auth``: the commands that need no server."""

from __future__ import annotations

import asyncio
import io
import sys

import pytest

from counterfoil.contracts.cli.root import root_command
from counterfoil.contracts.cli.run import run
from counterfoil.registry.access.administration import AccessAdministration
from counterfoil.registry.access.file.values import read_htpasswd
from counterfoil.registry.access.records import AccessBinding
from counterfoil.registry.access.store_commands import over_store
from counterfoil.registry.store.writes import NO_REQUEST

ACCESS = """\
admins: [User:root]
users: {root: "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"}
rules:
  - {allow: developer, to: Group:team, on: "pay.*"}
"""


@pytest.fixture
def auth(tmp_path, monkeypatch, capsys):
    """Run `counterfoil auth` in a folder with access.yaml; return exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "access.yaml").write_text(ACCESS)
    (tmp_path / "access.yaml").chmod(0o600)

    def command(*arguments, stdin=""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = run(root_command(), ["auth", *arguments])
        told = capsys.readouterr()
        return code, told.out, told.err

    return command


def test_check(auth, tmp_path):
    code, out, _ = auth("check", "access.yaml")
    assert code == 0
    assert out.splitlines()[-1] == "access.yaml: valid; 2 rules, 1 user, 0 issuers, 1 warning"
    assert "access.yaml:4: unknown name: Group:team" in out
    assert auth("check", "access.yaml", "--strict")[0] == 1
    (tmp_path / "broken.yaml").write_text("admins: [root]\n")
    code, out, _ = auth("check", "broken.yaml")
    assert (code, out) == (
        1,
        "broken.yaml:1:10: an administrator must be User:NAME or Service:NAME or Group:NAME, not root\n",
    )
    assert auth("check", "none.yaml") == (14, "", "counterfoil: there is no file 'none.yaml'\n")


def test_check_knows_the_users_of_a_store_and_who_made_its_rules(auth, tmp_path):
    store = f"sqlite:///{tmp_path}/registry.db"
    (tmp_path / "named.yaml").write_text("admins: [User:root]\nrules: [{allow: READ, to: 'User:ana', on: 'pay.*'}]\n")
    code, out, _ = auth("check", "named.yaml")
    assert (code, "unknown name: User:ana" in out) == (0, True)

    async def fill(administration: AccessAdministration) -> None:
        await administration.require("root", b"a long password", by=NO_REQUEST)
        await administration.put_user("ana", password=b"a long password", by=NO_REQUEST)
        for name, words in (("User:ana", ("READ",)), ("User:root", ("WRITE",))):
            await administration.put_binding(
                AccessBinding("", "User:eve", allows=True, operations=words, on="pay.*"),
                by=NO_REQUEST,
                maker=name,
                permit=lambda _: None,
                permit_held=lambda _: None,
            )

    asyncio.run(over_store(store, fill))
    code, out, _ = auth("check", "named.yaml", "--store", store, "--strict")
    assert (code, "unknown name" in out, out.count("maker without the right")) == (1, False, 1), out
    assert "User:ana made allow READ to User:eve on pay.*, and could not make it now" in out
    code, out, _ = auth("check", "--store", store, "--strict")
    assert (code, out.count("maker without the right"), "the store: valid; " in out) == (1, 1, True), out
    code, _, err = auth("check")
    assert (code, "Name the FILE to check" in err) == (2, True)
    (tmp_path / "named.yaml").write_text(
        "admins: [User:root]\nrules: [{allow: [READ, GRANT], to: 'User:ana', on: 'pay.*'}]\n"
    )
    code, out, _ = auth("check", "named.yaml", "--store", store, "--strict")
    assert (code, "maker without" in out) == (0, False), out


def test_can_and_who_can(auth):
    code, out, _ = auth("can", "User:x", "write", "pay.a", "--groups", "team", "--file", "access.yaml")
    assert code == 0
    assert out == "allowed: User:x WRITE pay.a\n  by access.yaml:4: allow READ, WRITE to Group:team on pay.*\n"
    code, out, _ = auth("can", "User:x", "DELETE", "pay.a", "--groups", "team", "--file", "access.yaml")
    assert code == 1
    assert out.splitlines() == [
        "denied: User:x DELETE pay.a",
        "  no rule is about it",
        "  near: access.yaml:4: allow READ, WRITE to Group:team on pay.*",
    ]
    code, out, _ = auth("who-can", "WRITE", "pay.a", "--file", "access.yaml")
    assert (code, out.splitlines()) == (
        0,
        [
            "User:root  by access.yaml:1: User:root is one of the admins",
            "Group:team  by access.yaml:4: allow READ, WRITE to Group:team on pay.*",
        ],
    )
    code, _, err = auth("can", "alice", "WRITE", "pay.a", "--file", "access.yaml")
    assert (code, err) == (2, "counterfoil: alice is no principal; expected User:NAME, Service:NAME or Group:NAME\n")


def test_import(auth, tmp_path):
    assert auth("import")[0] == 2
    (tmp_path / "k.json").write_text(
        '{"permissions": [{"username": "a", "operation": "Read", "resource": "Subject:a["}]}'
    )
    code, out, err = auth("import", "--karapace", "k.json")
    assert (code, out) == (14, "")
    assert "k.json cannot be imported: 'a', 'Read' on 'Subject:a['" in err
    assert auth("import", "--kafka-acls", "none")[0] == 14
    (tmp_path / "k.json").write_text(
        '{"permissions": [{"username": "a", "operation": "Read", "resource": "Subject:a"}]}'
    )
    code, out, _ = auth("import", "--karapace", "k.json")
    assert code == 0
    (tmp_path / "imported.yaml").write_text(out)
    assert auth("check", "imported.yaml")[0] == 0


def test_users_of_an_htpasswd_file(auth, tmp_path):
    path = tmp_path / "users.htpasswd"
    file = ("--file", "users.htpasswd")
    assert auth("user", "add", "alice", "--password-stdin", *file, stdin="gehéim\n")[0] == 0
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("# who may enter\n" + path.read_text().rstrip("\n"))
    path.chmod(0o640)
    assert auth("user", "add", "bob", "--password-stdin", *file, stdin="secret")[0] == 0
    assert path.stat().st_mode & 0o777 == 0o640
    alice, bob = read_htpasswd(path.read_bytes(), path="u")
    assert alice.stored.fits("gehéim".encode())
    assert bob.stored.fits(b"secret")
    assert path.read_text().startswith("# who may enter\n")

    assert auth("user", "passwd", "alice", "--password-stdin", *file, stdin="other\n")[0] == 0
    assert auth("user", "disable", "bob", *file)[0] == 0
    assert auth("user", "disable", "bob", *file)[0] == 0
    assert auth("user", "list", *file)[1] == "alice\nbob  disabled\n"
    assert read_htpasswd(path.read_bytes(), path="u")[0].stored.fits(b"other")
    assert auth("user", "enable", "bob", *file)[0] == 0
    assert auth("user", "list", *file)[1] == "alice\nbob\n"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["access.yaml", "users.htpasswd"]


@pytest.mark.parametrize(
    ("arguments", "stdin", "problem"),
    [
        (("add", "alice"), "x\n", "alice exists; `auth user passwd` sets another password"),
        (("add", "a:b"), "x\n", "no colon"),
        (("add", "new"), "\n", "the password is empty"),
        (("passwd", "none"), "x\n", "there is no user none"),
    ],
)
def test_what_cannot_be_changed_is_reported_and_the_file_stays(auth, tmp_path, arguments, stdin, problem):
    path = tmp_path / "users.htpasswd"
    auth("user", "add", "alice", "--password-stdin", "--file", str(path), stdin="x\n")
    before = path.read_bytes()
    code, _, err = auth("user", *arguments, "--password-stdin", "--file", str(path), stdin=stdin)
    assert code == 14
    assert problem in err
    assert path.read_bytes() == before


def test_the_target_of_a_link_is_replaced_and_not_the_link(auth, tmp_path):
    (tmp_path / "link").symlink_to("target")
    (tmp_path / "target").touch()
    assert auth("user", "add", "alice", "--password-stdin", "--file", "link", stdin="x\n")[0] == 0
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text().startswith("alice:$argon2id$")
