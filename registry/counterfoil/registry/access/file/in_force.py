"""The access file of a running server: read again when it changes, united with the store's declarations."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import stat
import time
from collections import defaultdict
from dataclasses import dataclass
from enum import Enum
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.access.file.grammar import load_access_file
from counterfoil.registry.access.file.values import (
    AccessFile,
    FileSnapshot,
    InvalidAccessFile,
    is_being_written,
    is_unchanged,
)
from counterfoil.registry.access.identities.authenticator import RegistryAuthenticator
from counterfoil.registry.access.identities.passwords import StoredTokens, StoredUsers, WeakHashes
from counterfoil.registry.access.identity import IssuerState
from counterfoil.registry.access.questions import principals_named, united
from counterfoil.registry.access.records import StoredAccess
from counterfoil.registry.access.resources import ON_REGISTRY_ONLY, REGISTRY, AccessOperation, ResourceKind, lacks_of
from counterfoil.registry.access.rights import Rights
from counterfoil.registry.access.rules import (
    ANONYMOUS,
    EVERYBODY,
    GROUP,
    SERVICE,
    STORE_OWNER,
    USER,
    RulesInForce,
    contains,
    lets_anonymous_in,
    rule_text,
)
from counterfoil.schema.errors import StoreTimeout, StoreUnavailable
from counterfoil.schema.texts import counted

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence

    from counterfoil.registry.access.file.values import FileState
    from counterfoil.registry.access.identities.certificates import PrincipalRules
    from counterfoil.registry.access.records import AccessRecords, AccessUser
    from counterfoil.registry.access.rules import AccessRule


_LOGGER: Final = logging.getLogger(__name__)

# What is doubtful about an access file that can be used: findings for its administrators.

_MOST_COMPARED: Final = 1000


class Doubt(Enum):
    """The kinds of warnings."""

    READABLE = "readable by others"
    WEAK_HASH = "weak hash"
    NO_ADMIN = "no administrator"
    UNKNOWN_NAME = "unknown name"
    IDLE_RULE = "rule without effect"
    PREFIX = "prefixes that clash"
    ROLE = "role without a new operation"
    MAKER = "maker without the right"


@dataclass(frozen=True, slots=True)
class AccessWarning:
    """One warning: ``place`` is a file, with its line where there is one."""

    doubt: Doubt
    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.doubt.value}: {self.text}"


def find_warnings(file: AccessFile) -> tuple[AccessWarning, ...]:
    """Return the lines that a server logs at its start: about files, hashes, administrators, prefixes, roles."""
    return (*_readable(file), *_weak(file), *_no_admin(file), *_prefixes(file), *_roles(file))


def find_idle_rules(file: AccessFile, *, known: Collection[str] = ()) -> tuple[AccessWarning, ...]:
    """Return the rules that never apply, with names that nobody has, or that others decide; it takes longer.

    ``known`` are the principals that a store has.
    """
    return (*_unknown(file, known), *_covered(file), *_registry_only(file.rules))


def _readable(file: AccessFile) -> Iterator[AccessWarning]:
    """Yield the files with hashes or secrets that others can read: the ones that the access file names, or itself."""
    holders = {file.places[USER + name].path for name in file.users}
    for state in file.states:
        holds = state.path != file.path or str(state.path) in holders
        if holds and state.mode is not None and state.mode & stat.S_IROTH:
            text = f"it has hashes of passwords or a secret; chmod o-r {state.path}"
            yield AccessWarning(Doubt.READABLE, str(state.path), text)


def _weak(file: AccessFile) -> Iterator[AccessWarning]:
    for name, user in file.users.items():
        if user.stored.weakness is not None:
            yield AccessWarning(Doubt.WEAK_HASH, str(file.places[USER + name]), f"{name}: {user.stored.weakness}")


def _no_admin(file: AccessFile) -> Iterator[AccessWarning]:
    if not file.admins:
        yield AccessWarning(
            Doubt.NO_ADMIN,
            str(file.path),
            "nobody is listed in admins; nobody but an administrator in the store may change access",
        )


def _prefixes(file: AccessFile) -> Iterator[AccessWarning]:
    for (first, one), (second, other) in combinations(file.prefixes, 2):
        if one and other and (one.startswith(other) or other.startswith(one)):
            text = f"{first} ({one!r}) and {second} ({other!r}) can give the same names"
            yield AccessWarning(Doubt.PREFIX, str(file.path), text)
    for name in file.users:
        for source, prefix in file.prefixes:
            if prefix and name.startswith(prefix):
                text = f"{name} is a user of the file and can be a name of {source}"
                yield AccessWarning(Doubt.PREFIX, str(file.places[USER + name]), text)


def _roles(file: AccessFile) -> Iterator[AccessWarning]:
    for name, operations in file.roles.items():
        for lack in lacks_of(operations):
            yield AccessWarning(Doubt.ROLE, str(file.path), f"the role {name} {lack}")


def _unknown(file: AccessFile, known: Collection[str]) -> Iterator[AccessWarning]:
    """Yield the principals of rules and members of groups that no source of names can have."""
    outside = [prefix for _, prefix in file.prefixes]
    used = [(rule.principal, rule.source) for rule in file.rules]
    used += [(member, str(file.places[group])) for group, members in file.groups.items() for member in members]
    for principal, source in dict.fromkeys(used):
        word, name = principal.split(":", 1)
        is_named = principal in file.places or principal in known or principal in {ANONYMOUS, EVERYBODY}
        is_known = is_named or f"{word}:" == SERVICE
        if not is_known and not any(name.startswith(prefix) for prefix in outside):
            kind = "group" if f"{word}:" == GROUP else "user"
            text = f"{principal}: no {kind} of the file, and no issuer or proxy names it; a certificate may"
            yield AccessWarning(Doubt.UNKNOWN_NAME, source, text)


def _covered(file: AccessFile) -> Iterator[AccessWarning]:
    """Yield the rules that another one about the same principal makes superfluous."""
    by_principal: dict[str, list[AccessRule]] = defaultdict(list)
    for rule in file.rules:
        by_principal[rule.principal].append(rule)
    for principal, rules in by_principal.items():
        if len(rules) > _MOST_COMPARED:
            text = (
                f"{counted(len(rules), 'rule')} about {principal} were not compared with each other; there are too many"
            )
            yield AccessWarning(Doubt.IDLE_RULE, str(file.path), text)
            continue
        for number, rule in enumerate(rules):
            found = _stronger(rule, rules[:number], rules[number + 1 :])
            if found is not None:
                yield AccessWarning(
                    Doubt.IDLE_RULE, rule.source, f"{rule_text(rule)} has no effect, because of {found.source}"
                )


def _stronger(rule: AccessRule, before: Iterable[AccessRule], after: Iterable[AccessRule]) -> AccessRule | None:
    """Return a rule that leaves ``rule`` without effect. Of two equal ones the later has none."""
    for other, is_earlier in [*((each, True) for each in before), *((each, False) for each in after)]:
        if rule.is_final or not contains(other.pattern, rule.pattern):
            continue
        is_same_effect = other.allows == rule.allows
        denies_it = rule.allows and not other.allows and rule.affected <= other.affected
        wins = is_same_effect and rule.affected <= other.affected
        is_equal = wins and rule.affected == other.affected and contains(rule.pattern, other.pattern)
        if denies_it or (wins and (is_earlier or not is_equal)):
            return other
    return None


def _registry_only(rules: Iterable[AccessRule]) -> Iterator[AccessWarning]:
    for rule in rules:
        only = rule.operations & ON_REGISTRY_ONLY
        if rule.pattern.kind is not ResourceKind.REGISTRY and rule.operations == only:
            yield AccessWarning(
                Doubt.IDLE_RULE, rule.source, f"{rule_text(rule)} has an effect with on: registry alone"
            )
        elif rule.pattern.kind not in {ResourceKind.REGISTRY, ResourceKind.CONTEXT} and rule.operations == {
            AccessOperation.AUDIT
        }:
            text = f"{rule_text(rule)} has an effect on the registry and on contexts alone"
            yield AccessWarning(Doubt.IDLE_RULE, rule.source, text)


# What is doubtful about the rules that a store declares beside an access file.


def find_stored_warnings(file: AccessFile, stored: StoredAccess) -> tuple[AccessWarning, ...]:
    """Return the rules of a store that whoever made them could not make any more, by the rules in force."""
    return tuple(_orphaned(file, stored))


def _orphaned(file: AccessFile, stored: StoredAccess) -> Iterator[AccessWarning]:
    """Yield the rules with a maker who lacks the rights that ``/auth/v1`` demands, by the declared rules and groups."""
    declared = united(file, stored)
    for binding, rule in zip(stored.bindings.values(), stored.rules, strict=True):
        maker = binding.maker
        if not maker or maker == STORE_OWNER:
            continue
        if not _may_make(Rights(declared.rules, principals_named(declared, maker, ())), rule):
            text = (
                f"{maker} made {rule_text(rule)}, and could not make it now, by the declared rules and groups; "
                "delete it, or let somebody else make it"
            )
            yield AccessWarning(Doubt.MAKER, f"binding {binding.id} of the store", text)


def _may_make(rights: Rights, rule: AccessRule) -> bool:
    """Return whether a caller with these rights may make a rule, as ``/auth/v1`` decides it."""
    if rights.allows(AccessOperation.ALTER_ACCESS, REGISTRY):
        return True
    needed = {AccessOperation.GRANT, *rule.affected}
    return rule.allows and all(rights.holds(operation, rule.pattern) for operation in needed)


# The access file of a running server: read again when it changes, whole or not at all.

EVERY_S: Final = 2.0


class WatchedAccessFile:
    """The access file at ``path``: ``current`` has its declarations when it was last valid.

    Making one raises ``InvalidAccessFile``, so that a server does not start with a broken file. Later mistakes are
    logged and are in ``mistake``; the old rules stay. ``certificate_prefix`` is that of the names in certificates.
    """

    def __init__(
        self, path: Path, *, certificate_prefix: str | None = None, clock_ns: Callable[[], int] = time.time_ns
    ) -> None:
        self._path = path
        self._certificate_prefix = certificate_prefix
        self._clock_ns = clock_ns
        self.current = load_access_file(path, certificate_prefix=certificate_prefix)
        self.mistake: InvalidAccessFile | None = None
        self._states: tuple[FileState, ...] = self.current.states
        self._requested = asyncio.Event()

    def look(self, *, at_once: bool = False) -> bool:
        """Read the file again if it, or a file that it names, has changed; return whether ``current`` is another.

        Unless ``at_once``, one that was written less than a second ago is left for the next time: a half-written file
        could be valid, without the rules at its end.
        """
        if is_unchanged(self._states) or (not at_once and is_being_written(self._states, now_ns=self._clock_ns())):
            return False
        files = FileSnapshot()
        try:
            self.current = load_access_file(self._path, files, certificate_prefix=self._certificate_prefix)
        except InvalidAccessFile as mistake:
            _LOGGER.error("the access file cannot be used, the old rules stay: %s", mistake)  # noqa: TRY400  no bug of ours
            self.mistake = mistake
            return False
        finally:
            self._states = files.states
        self.mistake = None
        _LOGGER.info("the access file was read again: %s", self._path)
        return True

    def request(self) -> None:
        """Have the file read now if it has changed, as SIGHUP does."""
        self._requested.set()

    async def watch(self, changed: Callable[[AccessFile], Awaitable[None]], *, every_s: float = EVERY_S) -> None:
        """Look at the file for ever, and call ``changed`` with each new content."""
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._requested.wait(), every_s)
            at_once = self._requested.is_set()
            self._requested.clear()
            if await asyncio.to_thread(self.look, at_once=at_once):
                await changed(self.current)


# The access file of a running server and what its store declares: who calls, and the rules, united.


class AccessInForce:
    """The access file at ``path`` and ``records`` of a store, with their authenticator; each of them may be None.

    ``certificates`` and ``settings`` are those of :class:`RegistryAuthenticator`; ``note`` stores the hour of a token's
    use, ``renew`` another hash of a user's password. ``reloaded`` is called when another content of the file is in
    force. Making one reads the file, and raises ``InvalidAccessFile`` if a server cannot start with it.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        records: AccessRecords | None = None,
        certificates: PrincipalRules | None = None,
        note: Callable[[str, int], Awaitable[None]] | None = None,
        renew: Callable[[AccessUser, bytes], Awaitable[None]] | None = None,
        reloaded: Callable[[], None] | None = None,
        **settings: Any,
    ) -> None:
        prefix = None if certificates is None else certificates.prefix
        self._without_file = AccessFile(Path(), certificate_prefix=prefix)
        self._watched = None if path is None else WatchedAccessFile(path, certificate_prefix=prefix)
        self._records = records
        self._reloaded = reloaded
        self._stored = StoredAccess()
        self._users = StoredUsers()
        self._tokens = StoredTokens(has_user=self._has_user, note=note)
        tokens = None if records is None else self._tokens
        weak = None if renew is None else WeakHashes(self._users, renew)
        self.authenticator = RegistryAuthenticator(
            self.file, tokens=tokens, weak=weak, certificates=certificates, **settings
        )
        self._policy = self._united()
        if self._watched is not None:
            _log_warnings(self.file)

    @property
    def file(self) -> AccessFile:
        """The declarations of the access file, none if there is no file."""
        return self._without_file if self._watched is None else self._watched.current

    @property
    def issuers(self) -> Sequence[IssuerState]:
        """The state of each issuer's keys."""
        found = self.authenticator.issuers
        return [IssuerState(name, keys.age_s, keys.failures) for name, keys in found.items()]

    def policy(self) -> RulesInForce:
        """Return the rules that hold now."""
        return self._policy

    @property
    def is_current(self) -> bool:
        """Whether the rules and the users are as new as every answered write to the store."""
        records = self._records
        return records is None or (records.is_current and records.known is self._stored)

    async def catch_up(self) -> None:
        """Make the rules and the users as new as every answered write; raise ``StoreUnavailable``.

        While the store cannot be reached, the file alone decides if nothing was ever stored.
        """
        if self._records is None:
            return
        try:
            await self._records.catch_up()
        except (StoreUnavailable, StoreTimeout):
            if self._watched is None or not self._records.known.is_empty:
                raise
        self._take(self._records.known)

    @property
    def is_valid(self) -> bool:
        """Whether the file as it is on the disk is the one in force; false after a mistake was found in it."""
        return self._watched is None or self._watched.mistake is None

    def request_reading(self) -> None:
        """Have the file read now if it has changed, as SIGHUP does."""
        if self._watched is not None:
            self._watched.request()

    async def run(self, *, every_s: float = EVERY_S) -> None:
        """Fetch the keys of issuers, and read the file again when it changes, until this is cancelled."""
        self.authenticator.start()
        try:
            if self._watched is None:
                await asyncio.Event().wait()
            else:
                await self._watched.watch(self._changed, every_s=every_s)
        finally:
            await self.authenticator.close()

    async def _changed(self, file: AccessFile) -> None:
        """Put another content in force. Rules come first, so that nobody has a right that is no longer in the file."""
        self._policy = self._united()
        await self.authenticator.replace(file)
        if self._reloaded is not None:
            self._reloaded()
        _log_warnings(file)

    def _take(self, stored: StoredAccess) -> None:
        """Put the declarations of a store in force, the rules first."""
        before, self._stored = self._stored, stored
        self._tokens.state = stored
        if stored.rules != before.rules:
            self._policy = self._united()
            self.authenticator.has_anonymous = lets_anonymous_in(stored.rules)
        if stored.roles != before.roles:
            for role in stored.roles.values():
                for lack in lacks_of(stored.operations_of(role)):
                    _LOGGER.warning("the store's role %s %s", role.name, lack)
        if stored.users != before.users:
            self.authenticator.set_users(self._users.of(stored))
            for name, prefix in product(stored.users, self.file.foreign_prefixes):
                if name.startswith(prefix):
                    _LOGGER.error(
                        "the store has the user %s, and an issuer or a proxy of the access file, or "
                        "tls_principal_rules, has the prefix %r, which could give this name: change the prefix",
                        name,
                        prefix,
                    )

    def _united(self) -> RulesInForce:
        return RulesInForce((*self.file.rules, *self._stored.rules), self.file.open_paths)

    def _has_user(self, principal: str) -> bool:
        return principal in self.file.enabled


def _log_warnings(file: AccessFile) -> None:
    for warning in find_warnings(file):
        _LOGGER.warning("the access file: %s", warning)


def require_private_files(file: AccessFile) -> None:
    """Raise ``InvalidAccessFile`` where others can read the file, or one that it names, and it holds secrets."""
    exposed = [each for each in find_warnings(file) if each.doubt is Doubt.READABLE]
    if exposed:
        raise InvalidAccessFile(exposed[0].place, f"strict_files is set, and others can read it: {exposed[0].text}")
