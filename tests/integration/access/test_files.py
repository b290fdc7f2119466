"""The access file on a disk, replaced in the ways in which editors, tools and Kubernetes replace files."""

from __future__ import annotations

import asyncio
import logging
import os
import time

import pytest

from counterfoil.registry.access.file.in_force import Doubt, WatchedAccessFile, find_warnings
from counterfoil.registry.access.file.values import InvalidAccessFile

HASH = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"


def admins(*names):
    return f"admins: [{', '.join(f'User:{name}' for name in names)}]\n"


def write(path, text, *, age_s=5.0):
    """Write a file that looks as if it was written a while ago."""
    path.write_text(text)
    then = time.time() - age_s
    os.utime(path, (then, then))


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "access.yaml"
    write(path, admins("alice") + "htpasswd: users.htpasswd\n")
    write(tmp_path / "users.htpasswd", f"alice:{HASH}\n")
    return path


def test_a_file_that_is_replaced_by_renaming_is_read_again(path):
    watched = WatchedAccessFile(path)
    assert not watched.look()
    other = path.with_name("new")
    write(other, admins("bob"))
    other.rename(path)
    assert watched.look()
    assert watched.current.admins == ("User:bob",)
    assert not watched.look()


def test_a_changed_htpasswd_file_is_read_again(path):
    watched = WatchedAccessFile(path)
    write(path.with_name("users.htpasswd"), f"bob:{HASH}\n")
    assert watched.look()
    assert set(watched.current.users) == {"bob"}


def test_a_swapped_symbolic_link_is_noticed_as_kubernetes_makes_it(tmp_path):
    for name in ("1", "2"):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "access.yaml", admins(f"admin{name}"))
    (tmp_path / "data").symlink_to("1")
    (tmp_path / "access.yaml").symlink_to("data/access.yaml")
    watched = WatchedAccessFile(tmp_path / "access.yaml")
    (tmp_path / "next").symlink_to("2")
    (tmp_path / "next").rename(tmp_path / "data")
    assert watched.look()
    assert watched.current.admins == ("User:admin2",)


def test_the_same_size_and_time_with_another_content_is_noticed_while_it_is_young(path):
    watched = WatchedAccessFile(path)
    before = path.stat()
    path.write_text(path.read_text().replace("alice", "malia"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert watched.look()
    assert watched.current.admins == ("User:malia",)


def test_a_file_that_was_only_touched_changes_nothing(path):
    watched = WatchedAccessFile(path)
    before = watched.current
    os.utime(path)
    assert not watched.look(at_once=True)
    assert watched.current is before


@pytest.mark.parametrize("broken", ["admins: [alice]\n", "admins: [User:alice", "", "admins: [\x00]", None])
def test_of_a_broken_or_removed_file_the_old_rules_stay_and_the_log_has_the_place(path, broken, caplog):
    watched = WatchedAccessFile(path)
    if broken is None:
        path.unlink()
    else:
        write(path, broken)
    with caplog.at_level(logging.ERROR):
        assert not watched.look()
        assert not watched.look()  # the same mistake is logged once
    (record,) = caplog.records
    assert str(path) in record.getMessage()
    assert "the old rules stay" in record.getMessage()
    assert watched.current.admins == ("User:alice",)
    assert watched.mistake is not None
    write(path, admins("carol"))
    assert watched.look()
    assert watched.mistake is None
    assert watched.current.admins == ("User:carol",)


def test_a_broken_htpasswd_file_changes_nothing(path, caplog):
    watched = WatchedAccessFile(path)
    write(path, admins("mallory") + "htpasswd: users.htpasswd\n")
    write(path.with_name("users.htpasswd"), "alice:secret\n")
    assert not watched.look()
    assert watched.current.admins == ("User:alice",)
    assert "users.htpasswd:1:1: alice has no hash of a known kind" in caplog.text
    write(path.with_name("users.htpasswd"), f"alice:{HASH}\n")
    assert watched.look()
    assert watched.current.admins == ("User:mallory",)


def test_a_file_that_is_being_written_waits_unless_it_is_requested(path):
    watched = WatchedAccessFile(path, clock_ns=lambda: path.stat().st_mtime_ns + 500_000_000)
    write(path, admins("bob"))
    assert not watched.look()
    assert watched.look(at_once=True)


def test_a_server_does_not_start_with_a_broken_file(path):
    write(path, "admins: [alice]\n")
    with pytest.raises(InvalidAccessFile, match=r"access.yaml:1:10: an administrator must be"):
        WatchedAccessFile(path)
    with pytest.raises(InvalidAccessFile, match="there is no such file"):
        WatchedAccessFile(path.with_name("gone"))
    with pytest.raises(InvalidAccessFile, match="cannot be read"):
        WatchedAccessFile(path.parent)


def test_watching_calls_with_each_new_content_and_at_once_when_it_is_requested(path):
    async def story():
        watched = WatchedAccessFile(path)
        found = asyncio.Queue()
        often = asyncio.create_task(watched.watch(found.put, every_s=0.01))
        write(path, admins("bob"))
        assert (await asyncio.wait_for(found.get(), 60)).admins == ("User:bob",)
        often.cancel()
        rarely = asyncio.create_task(watched.watch(found.put, every_s=3600))
        write(path, admins("carol"), age_s=0.0)
        watched.request()
        assert (await asyncio.wait_for(found.get(), 60)).admins == ("User:carol",)
        rarely.cancel()

    asyncio.run(story())


def test_files_that_others_can_read_are_a_warning(path):
    path.chmod(0o644)  # it has no hashes itself
    path.with_name("users.htpasswd").chmod(0o644)
    found = find_warnings(WatchedAccessFile(path).current)
    assert [each.place for each in found if each.doubt is Doubt.READABLE] == [str(path.with_name("users.htpasswd"))]
