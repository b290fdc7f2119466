"""Hashes of passwords, their checks in threads, throttling, htpasswd files."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import sys
import threading
import time
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.registry.access.file.values import InvalidAccessFile, read_htpasswd
from counterfoil.registry.access.identities.hashes import (
    InvalidHash,
    InvalidPassword,
    hash_password,
    karapace_hash,
    parse_hash,
)
from counterfoil.registry.access.identities.passwords import CheckLimits, PasswordChecks, PasswordVerifier, StoredUser
from counterfoil.registry.access.identity import Throttle, UnprovenCaller, UnprovenReason

# Written by htpasswd of Debian's apache2-utils 2.4.71: `htpasswd -nbB` (cost 5 is its default), `-m`, `-s`, `-d`, `-5`.
BCRYPT = "$2y$05$JgumHNC5onBUvbXUPvmDL.DyUuz3K.SyDEEkydKZhS4YXGBHHwgDW"  # correct horse
BCRYPT_UTF8 = "$2y$05$mY96FdGWQZzb2OnzW5N1KuCFu.CufFHjAa.M1gDFj95SY8sltHvKe"  # pä:ss
REFUSED = {
    "carol": "$apr1$Rm4RBQ7Z$k53ghfQY/TF27XqLqQEoi0",
    "dave": "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=",
    "erin": "5mg2k0uguo8k6",
    "frank": "secret",
    "gina": "$5$03R3KQy3bQHdje.B$fy7/DOae9KGJpyDnSxmn7RB1tHpwW6ipxBXpugdOnw/",
}
# From the test program of the reference implementation of Argon2: the password is "password".
ARGON2 = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
# From passlib's documentation: the password is "password".
SCRYPT = "$scrypt$ln=16,r=8,p=1$aM15713r3Xsvxbi31lqr1Q$nFNh2CVHVjNldFVKDHDlm4CbdRSCdEBsjjJxD+iCs5E"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "password"),
    [(BCRYPT, "correct horse"), (BCRYPT_UTF8, "pä:ss"), (ARGON2, "password"), (SCRYPT, "password")],
)
def test_hashes_of_other_tools_fit(text, password):
    stored = parse_hash(text)
    assert stored.fits(password.encode())
    assert not stored.fits(b"Password")


@pytest.mark.parametrize("wrong", [b"", b"correct horse\0", b"x" * 73, b"\xff\xfe"])
def test_strange_passwords_are_wrong(wrong):
    assert not parse_hash(BCRYPT).fits(wrong)


@pytest.mark.parametrize("start", ["$2a$", "$2b$"])
def test_other_spellings_of_bcrypt_fit(start):
    assert parse_hash(BCRYPT.replace("$2y$", start)).fits(b"correct horse")


@pytest.mark.parametrize("algorithm", ["sha1", "sha256", "sha512", "scrypt"])
def test_hashes_of_karapace_fit(algorithm):
    salt = "JdHHmh9ymq9hg"
    if algorithm == "scrypt":
        digest = hashlib.scrypt("gehéim".encode(), salt=salt.encode(), n=16384, r=8, p=1)
    else:
        digest = hashlib.pbkdf2_hmac(algorithm, "gehéim".encode(), salt.encode(), 5000)
    stored = karapace_hash(algorithm, salt, base64.b64encode(digest).decode())
    assert stored.fits("gehéim".encode())
    assert not stored.fits(b"geheim")
    assert stored.weakness


def test_a_password_of_73_bytes_is_wrong_for_bcrypt_even_if_its_beginning_fits():
    import bcrypt

    stored = parse_hash(bcrypt.hashpw(b"x" * 72, bcrypt.gensalt(4)).decode())
    assert stored.fits(b"x" * 72)
    assert not stored.fits(b"x" * 73)


def test_new_hashes_are_argon2id_and_different_each_time():
    first, second = hash_password(b"secret"), hash_password(b"secret")
    assert first != second
    assert first.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert parse_hash(first).fits(b"secret")
    assert parse_hash(first).weakness is None
    assert "cost 5" in (parse_hash(BCRYPT).weakness or "")


@pytest.mark.parametrize("password", [b"", b"a\nb", b"a\0b", b"x" * 1025, b"cfr_x"])
def test_unusable_passwords_are_refused(password):
    with pytest.raises(InvalidPassword):
        hash_password(password)


@pytest.mark.parametrize(
    "text",
    [
        *REFUSED.values(),
        ARGON2.replace("65536", "131073"),
        ARGON2.replace("t=2", "t=11"),
        ARGON2.replace("p=1", "p=5"),
        ARGON2.replace("p=1", "p=0"),
        BCRYPT.replace("$05$", "$15$"),
        BCRYPT.replace("$05$", "$03$"),
        BCRYPT.replace("$2y$", "$2x$"),
        SCRYPT.replace("ln=16", "ln=18"),
        SCRYPT.replace("p=1", "p=0"),
        ARGON2.replace("$argon2id$", "$argon2i$"),
        ARGON2 + "\n",
        "",
        "!",
    ],
)
def test_other_kinds_and_excessive_costs_are_refused_without_being_quoted(text):
    with pytest.raises(InvalidHash) as refused:
        parse_hash(text)
    if text:
        assert text not in str(refused.value).split()


def edited(text):
    places = st.integers(0, len(text) - 1)
    return st.builds(lambda at, new: text[:at] + new + text[at + 1 :], places, st.text(max_size=3))


@given(st.one_of(st.text(), st.sampled_from([ARGON2, BCRYPT, SCRYPT]).flatmap(edited)))
def test_every_text_is_a_hash_or_refused(text):
    try:
        parse_hash(text)
    except InvalidHash:
        return


@given(st.sampled_from(["sha1", "scrypt", "md5", ""]), st.text() | st.just("\ud800"), st.text() | st.just("A" * 32))
def test_every_entry_of_karapace_is_a_hash_or_refused(algorithm, salt, digest):
    try:
        karapace_hash(algorithm, salt, digest)
    except InvalidHash:
        return


# --- files ---


def test_an_htpasswd_file_is_read():
    data = f"# users\n\nalice:{BCRYPT}\r\nbob:!{BCRYPT_UTF8}\nUser Ä:{ARGON2}".encode()
    users = read_htpasswd(data, path="users.htpasswd")
    assert [(user.name, user.line, user.is_disabled) for user in users] == [
        ("alice", 3, False),
        ("bob", 4, True),
        ("User Ä", 5, False),
    ]


@pytest.mark.parametrize("name", REFUSED)
def test_refused_kinds_are_named_with_file_and_line(name):
    with pytest.raises(InvalidAccessFile) as refused:
        read_htpasswd(f"alice:{BCRYPT}\n{name}:{REFUSED[name]}\n".encode(), path="users.htpasswd")
    assert str(refused.value).startswith(f"users.htpasswd:2:1: {name} has ")
    assert REFUSED[name] not in str(refused.value).split()


@pytest.mark.parametrize(
    "line",
    [
        "alice",
        ":" + BCRYPT,
        " alice:" + BCRYPT,
        "a\x07:" + BCRYPT,
        "ANONYMOUS:" + BCRYPT,
        "*:" + BCRYPT,
        "x" * 257 + ":" + BCRYPT,
        "alice:",
    ],
)
def test_other_mistakes_of_htpasswd_files_have_their_line(line):
    with pytest.raises(InvalidAccessFile, match=r"^f:1:1: "):
        read_htpasswd(line.encode(), path="f")


def test_a_name_twice_is_refused():
    with pytest.raises(InvalidAccessFile, match="f:2:1: alice is here a second time; first in line 1"):
        read_htpasswd(f"alice:{BCRYPT}\nalice:{BCRYPT}".encode(), path="f")


@given(st.binary(max_size=200))
def test_every_file_is_read_or_refused(data):
    try:
        read_htpasswd(data, path="f")
    except InvalidAccessFile:
        return


# --- checks ---


@dataclass
class GatedHash:
    """A hash whose check waits until the test permits it; it counts how many run at once."""

    password: bytes = b"right"
    weakness: None = None
    gate: threading.Event = field(default_factory=threading.Event)
    one: threading.Event = field(default_factory=threading.Event)  # set when a check runs
    two: threading.Event = field(default_factory=threading.Event)  # set when two run at once
    running: int = 0
    most: int = 0
    checked: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def fits(self, password):
        with self.lock:
            self.running += 1
            self.checked += 1
            self.most = max(self.most, self.running)
            self.one.set()
            if self.running == 2:
                self.two.set()
        self.gate.wait(60)
        with self.lock:
            self.running -= 1
        return password == self.password


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def verifier(stored, *, limits=None, clock=None, names=("alice",), disabled=()):
    users = {name: StoredUser(name, stored, is_disabled=name in disabled) for name in names}
    throttle = Throttle(clock=clock or Clock())
    return PasswordVerifier(users, checks=PasswordChecks(limits), throttle=throttle)


def open_gate(password=b"right"):
    stored = GatedHash(password)
    stored.gate.set()
    return stored


def test_right_wrong_unknown_and_disabled():
    async def story():
        stored = open_gate()
        passwords = verifier(stored, names=("alice", "gone"), disabled=("gone",))
        assert (await passwords.verify("alice", b"right", "10.0.0.1")).name == "alice"
        assert await passwords.verify("alice", b"wrong", "10.0.0.1") == UnprovenCaller(UnprovenReason.WRONG)
        assert await passwords.verify("gone", b"right", "10.0.0.1") == UnprovenCaller(UnprovenReason.WRONG)
        assert await passwords.verify("nobody", b"right", "10.0.0.1") == UnprovenCaller(UnprovenReason.WRONG)
        assert stored.checked == 4  # an unknown name costs the check of a hash, too

    asyncio.run(story())


def test_an_unknown_name_costs_a_hash_where_there_are_no_users():
    async def story():
        passwords = verifier(open_gate(), names=())
        assert await passwords.verify("nobody", b"x", "") == UnprovenCaller(UnprovenReason.WRONG)

    asyncio.run(story())


def test_equal_checks_under_way_are_one_and_survive_a_cancelled_request():
    async def story():
        stored = GatedHash()
        passwords = verifier(stored)
        waiting = [asyncio.create_task(passwords.verify("alice", b"right", "10.0.0.1")) for _ in range(200)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        stored.gate.set()
        found = await asyncio.gather(*waiting, return_exceptions=True)
        assert isinstance(found[0], asyncio.CancelledError)
        assert all(user.name == "alice" for user in found[1:])
        assert stored.checked == 1

    asyncio.run(story())


def test_the_event_loop_comes_before_the_threads():
    """On Linux, where a thread has a priority of its own; ``nice(0)`` returns it."""

    class Niceness:
        def fits(self, password):
            self.found = os.nice(0)
            return bool(password)

    async def story():
        stored, own = Niceness(), os.nice(0)
        assert await PasswordChecks().fits(stored, b"right")
        assert stored.found == (min(own + 10, 19) if sys.platform == "linux" else own)
        assert os.nice(0) == own

    asyncio.run(story())


def test_two_run_at_a_time_and_others_wait_or_are_sent_away():
    async def story():
        stored = GatedHash()
        names = tuple(f"user{number}" for number in range(10))
        passwords = verifier(stored, names=names, limits=CheckLimits(at_once=2, waiting=5, wait_s=60))
        waiting = [asyncio.create_task(passwords.verify(name, b"right", "10.0.0.1")) for name in names]
        assert await asyncio.to_thread(stored.two.wait, 60)
        stored.gate.set()
        found = await asyncio.gather(*waiting)
        assert stored.most == 2
        assert [user.name for user in found[:7]] == list(names[:7])
        assert found[7:] == [UnprovenCaller(UnprovenReason.UNAVAILABLE, 1)] * 3

    asyncio.run(story())


def test_who_waits_too_long_is_sent_away():
    async def story():
        stored = GatedHash()
        passwords = verifier(stored, names=("a", "b"), limits=CheckLimits(at_once=1, waiting=5, wait_s=0.01))
        first = asyncio.create_task(passwords.verify("a", b"right", ""))
        assert await asyncio.to_thread(stored.one.wait, 60)
        assert await passwords.verify("b", b"right", "") == UnprovenCaller(UnprovenReason.UNAVAILABLE, 1)
        stored.gate.set()
        assert (await first).name == "a"

    asyncio.run(story())


@pytest.mark.slow
def test_wrong_passwords_take_a_share_of_a_core_and_right_ones_what_they_need():
    """The hash takes 10 ms of processor time; wrong ones may take 20 ms of it, and then half a core."""

    class Costly:
        weakness = None

        def fits(self, password):
            end_s = time.thread_time() + 0.01
            while time.thread_time() < end_s:
                pass
            return password == b"right"

    async def story():
        pauses, clock = [], Clock()

        async def pause(seconds):
            pauses.append(seconds)
            clock.now += seconds + 1e-9

        checks = PasswordChecks(CheckLimits(at_once=1, wrong_s=0.02, wrong_share=0.5), sleep=pause, clock=clock)
        for _ in range(20):
            assert await checks.fits(Costly(), b"right")
        assert (pauses, checks.is_slowed) == ([], False)
        for _ in range(8):
            assert not await checks.fits(Costly(), b"wrong")
        assert checks.is_slowed
        assert len(pauses) >= 5
        assert sum(pauses) * 0.5 >= 0.08 - 0.02 - 0.015  # all but the first 20 ms, and the last one
        before = len(pauses)
        assert await checks.fits(Costly(), b"right")  # it waits like the others, and costs nothing
        assert await checks.fits(Costly(), b"right")
        assert len(pauses) == before + 1

    asyncio.run(story())


def test_who_is_not_examined_is_counted_only_while_there_are_many_wrong_passwords():
    async def story(*, slowed):
        stored = GatedHash()
        limits = CheckLimits(at_once=1, waiting=1, wait_s=60, wrong_s=-1 if slowed else 1)
        passwords = verifier(stored, names=("alice",), limits=limits)
        first = asyncio.create_task(passwords.verify("alice", b"right", ""))
        second = asyncio.create_task(passwords.verify("alice", b"also wrong", ""))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        refused = [await passwords.verify("alice", b"%d" % number, "") for number in range(12)]
        stored.gate.set()
        first.cancel()
        second.cancel()
        return refused

    assert set(asyncio.run(story(slowed=False))) == {UnprovenCaller(UnprovenReason.UNAVAILABLE, 1)}
    first, *_, last = asyncio.run(story(slowed=True))
    assert first == UnprovenCaller(UnprovenReason.THROTTLED, 1)
    assert last == UnprovenCaller(UnprovenReason.THROTTLED, 6)  # ten attempts are counted


# --- throttling ---


def test_a_name_is_throttled_from_one_address_and_recovers():
    async def story():
        clock = Clock()
        passwords = verifier(open_gate(), clock=clock)
        for number in range(10):
            assert (await passwords.verify("alice", b"wrong%d" % number, "10.0.0.1")).reason is UnprovenReason.WRONG
        refused = await passwords.verify("alice", b"right", "10.0.0.1")
        assert refused == UnprovenCaller(UnprovenReason.THROTTLED, 6)
        assert (await passwords.verify("alice", b"right", "10.0.0.2")).name == "alice"  # nobody is locked out
        clock.now = 6.5
        assert (await passwords.verify("alice", b"wrong", "10.0.0.1")).reason is UnprovenReason.WRONG
        assert (await passwords.verify("alice", b"right", "10.0.0.1")).reason is UnprovenReason.THROTTLED
        clock.now = 13.0
        assert (await passwords.verify("alice", b"right", "10.0.0.1")).name == "alice"

    asyncio.run(story())


def test_right_passwords_are_not_counted():
    async def story():
        passwords = verifier(open_gate())
        for _ in range(50):
            assert (await passwords.verify("alice", b"right", "10.0.0.1")).name == "alice"

    asyncio.run(story())


def test_an_address_is_throttled_over_all_names_and_a_network_of_ipv6_is_one():
    throttle = Throttle(clock=Clock())
    for number in range(100):
        assert throttle.begin(f"user{number}", f"2001:db8::{number + 1:x}") is None
    assert throttle.begin("another", "2001:db8::ffff") == 1
    assert throttle.begin("another", "2001:db8:1::1") is None


def test_failures_cost_a_bounded_memory():
    throttle = Throttle(most=1000, clock=Clock())
    for number in range(5000):
        throttle.begin("alice", f"10.{number // 65536}.{number // 256 % 256}.{number % 256}")
    assert len(throttle._by_name) == len(throttle._by_address) == 1000
