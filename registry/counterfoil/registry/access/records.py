"""Users, services, tokens, bindings and roles in a storage: stored documents, and all of them as one value."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeVar

from counterfoil.registry.access.resources import ALIASES, ROLES, AccessOperation
from counterfoil.registry.access.rules import SERVICE, USER, AccessRule, OperationScope, parse_pattern
from counterfoil.registry.store.changes import JournalChange, JournalChangeKind, WrittenChanges
from counterfoil.registry.store.protocol import Storage, StorageRecord
from counterfoil.registry.store.records import Key, StoredKind
from counterfoil.schema.rest.object_forms import FLAG, INTEGER, REQUIRED, TEXT, TEXTS, Member, ObjectForm, list_of

# Users, services, tokens, bindings and roles as stored documents, and the policy of a store.
#
# The record of the policy is written with every other one, so that its revision is that of all of them together
# ([decision 36](docs/decisions/0036-access-records-are-written-under-one-revision.md)).


@dataclass(frozen=True, slots=True)
class AccessUser:
    """A user with a password, of which the hash is stored; ``create_ts`` is in ms."""

    name: str
    hash: str = field(repr=False)
    is_disabled: bool = False
    create_ts: int = 0


@dataclass(frozen=True, slots=True)
class AccessService:
    """An account that has tokens and no password."""

    name: str
    description: str = ""
    is_disabled: bool = False
    create_ts: int = 0


@dataclass(frozen=True, slots=True)
class TokenScope:
    """The limit of a token: names of roles or operations, and a pattern."""

    operations: tuple[str, ...]
    on: str


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A token: ``digest`` is that of its secret part, in hexadecimal; times are in ms. ``is_scoped``: it has limits."""

    id: str
    digest: str = field(repr=False)
    owner: str
    name: str
    expires: int
    create_ts: int = 0
    last_used: int | None = None
    is_revoked: bool = False
    is_scoped: bool = False
    scopes: tuple[TokenScope, ...] = ()


@dataclass(frozen=True, slots=True)
class AccessBinding:
    """A rule: names of roles or operations that ``principal`` may, or may not, do to a pattern.

    ``maker`` is the principal that made it as it is, at ``made_ts`` (epoch ms); empty and None where that is not known.
    """

    id: str
    principal: str
    allows: bool
    operations: tuple[str, ...]
    on: str
    maker: str = ""
    made_ts: int | None = None


@dataclass(frozen=True, slots=True)
class AccessRole:
    """A name for operations."""

    name: str
    operations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """Whether every server on the store demands credentials."""

    is_required: bool = False


@dataclass(frozen=True, slots=True)
class AuditKey:
    """The key, in hexadecimal digits, by which the audit compares records about access and keys."""

    key: str = field(repr=False)


_NAME: Final = Member("name", "name", TEXT, otherwise=REQUIRED)
_DISABLED: Final = Member("disabled", "is_disabled", FLAG, about="Whether it is refused.")
_CREATED: Final = Member("createTs", "create_ts", INTEGER, about="When it was made (epoch ms).")
_OPERATIONS: Final = Member(
    "operations", "operations", TEXTS, otherwise=REQUIRED, about="Names of operations or of roles."
)
_ON: Final = Member("on", "on", TEXT, otherwise=REQUIRED, about="A pattern of resources.")

TOKEN_SCOPE: Final = ObjectForm(TokenScope, (_OPERATIONS, _ON))
SHOWN_USER: Final = ObjectForm(AccessUser, (_NAME, _DISABLED, _CREATED))
SHOWN_TOKEN: Final = ObjectForm(
    AccessToken,
    (
        Member("id", "id", TEXT, otherwise=REQUIRED),
        Member("owner", "owner", TEXT, otherwise=REQUIRED, about="A principal."),
        _NAME,
        Member("expires", "expires", INTEGER, otherwise=REQUIRED, about="When it ends (epoch ms)."),
        _CREATED,
        Member("lastUsed", "last_used", INTEGER, about="The hour of its last use (epoch ms)."),
        Member("revoked", "is_revoked", FLAG),
        Member("scoped", "is_scoped", FLAG, about="Whether it has no more rights than its scopes."),
        Member("scopes", "scopes", list_of(TOKEN_SCOPE)),
    ),
)
SERVICE_FORM: Final = ObjectForm(
    AccessService, (_NAME, Member("description", "description", TEXT), _DISABLED, _CREATED)
)
MADE_BY: Final = Member("by", "maker", TEXT, about="The principal that made it as it is; absent if not known.")
MADE: Final = Member("ts", "made_ts", INTEGER, about="When it was made as it is (epoch ms).")
BINDING: Final = ObjectForm(
    AccessBinding,
    (
        Member("id", "id", TEXT, otherwise=REQUIRED),
        Member("to", "principal", TEXT, otherwise=REQUIRED, about="A principal."),
        Member("allows", "allows", FLAG, otherwise=REQUIRED, about="Whether it allows or denies."),
        _OPERATIONS,
        _ON,
        MADE_BY,
        MADE,
    ),
)
ROLE: Final = ObjectForm(AccessRole, (_NAME, _OPERATIONS))

USERS: Final[StoredKind[AccessUser]] = StoredKind(
    "auth-user",
    ObjectForm(AccessUser, (*SHOWN_USER.members, Member("hash", "hash", TEXT, otherwise=REQUIRED))),
    lambda each: (each.name,),
)
SERVICES: Final[StoredKind[AccessService]] = StoredKind("auth-service", SERVICE_FORM, lambda each: (each.name,))
TOKENS: Final[StoredKind[AccessToken]] = StoredKind(
    "auth-token",
    ObjectForm(AccessToken, (*SHOWN_TOKEN.members, Member("digest", "digest", TEXT, otherwise=REQUIRED))),
    lambda each: (each.id,),
)
BINDINGS: Final[StoredKind[AccessBinding]] = StoredKind("auth-binding", BINDING, lambda each: (each.id,))
ROLE_RECORDS: Final[StoredKind[AccessRole]] = StoredKind("auth-role", ROLE, lambda each: (each.name,))
POLICIES: Final[StoredKind[AccessPolicy]] = StoredKind(
    "auth-policy",
    ObjectForm(AccessPolicy, (Member("required", "is_required", FLAG, otherwise=REQUIRED),)),
    lambda _: POLICY_KEY,
)
POLICY_KEY: Final[Key] = ("policy",)
AUDIT_KEYS: Final[StoredKind[AuditKey]] = StoredKind(
    "audit-key", ObjectForm(AuditKey, (Member("key", "key", TEXT, otherwise=REQUIRED),)), lambda _: AUDIT_KEY_KEY
)
AUDIT_KEY_KEY: Final[Key] = ("key",)

ACCESS_KINDS: Final = frozenset(
    each.name for each in (USERS, SERVICES, TOKENS, BINDINGS, ROLE_RECORDS, POLICIES, AUDIT_KEYS)
)
"""The kinds of records about access."""


# What a store declares about access, as one value: who exists, and the rules.

OPERATIONS_BY_WORD: Final[Mapping[str, frozenset[AccessOperation]]] = {
    **{operation.value: frozenset({operation}) for operation in AccessOperation},
    **ROLES,
    **ALIASES,
}
"""What the names of operations and of built-in roles stand for."""


@dataclass(frozen=True)
class StoredAccess:
    """The records about access of one store, as of ``revision``; ``revisions`` are the bindings' own.

    ``is_required``: every server on the store demands credentials.
    """

    is_required: bool = False
    revision: int = 0
    users: Mapping[str, AccessUser] = field(default_factory=dict)
    services: Mapping[str, AccessService] = field(default_factory=dict)
    tokens: Mapping[str, AccessToken] = field(default_factory=dict)
    bindings: Mapping[str, AccessBinding] = field(default_factory=dict)
    roles: Mapping[str, AccessRole] = field(default_factory=dict)
    revisions: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever stored."""
        return not self.revision

    @cached_property
    def words(self) -> Mapping[str, frozenset[AccessOperation]]:
        """The operations that names of operations and roles stand for, with the roles of the store."""
        own = {name: _known(role.operations) for name, role in self.roles.items()}
        return {**own, **OPERATIONS_BY_WORD}

    @cached_property
    def rules(self) -> tuple[AccessRule, ...]:
        """The bindings as rules."""
        return tuple(self._rule(each) for each in self.bindings.values())

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The principals of users and services."""
        return (*(USER + name for name in self.users), *(SERVICE + name for name in self.services))

    def operations_of(self, role: AccessRole) -> frozenset[AccessOperation]:
        """Return the operations of a role of the store, as far as this version knows them."""
        return _known(role.operations)

    def scopes(self, token: AccessToken) -> tuple[OperationScope, ...] | None:
        """Return the limit of a token; None for one without scopes."""
        if not token.is_scoped:
            return None
        return tuple(self.scope(each) for each in token.scopes)

    def scope(self, given: TokenScope) -> OperationScope:
        """Return a limit of a token."""
        return OperationScope(self._operations(given.operations, whole=False), parse_pattern(given.on))

    def has_active(self, principal: str) -> bool:
        """Return whether a principal is an enabled user or service of the store."""
        user, service = self.users.get(principal.removeprefix(USER)), self.services.get(principal.removeprefix(SERVICE))
        if principal.startswith(USER):
            return user is not None and not user.is_disabled
        return service is not None and not service.is_disabled

    def _rule(self, binding: AccessBinding) -> AccessRule:
        operations = self._operations(binding.operations, whole=not binding.allows)
        return AccessRule(
            binding.principal, binding.allows, operations, parse_pattern(binding.on), f"binding {binding.id}"
        )

    def _operations(self, words: Iterable[str], *, whole: bool) -> frozenset[AccessOperation]:
        """Return the operations that ``words`` mean. An unknown word means nothing, or with ``whole`` everything."""
        unknown = frozenset(AccessOperation) if whole else frozenset[AccessOperation]()
        return frozenset[AccessOperation]().union(*(self.words.get(word, unknown) for word in words))


def _known(words: Iterable[str]) -> frozenset[AccessOperation]:
    """Return the operations that this version knows."""
    return frozenset[AccessOperation]().union(*(OPERATIONS_BY_WORD.get(word, frozenset()) for word in words))


# The records about access in a storage, in memory, and as current as every answer must be.

_T = TypeVar("_T")


class AccessRecords:
    """The declarations in ``storage`` about access, read as a whole after each write to it, by whichever server."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._writes = 1
        self._writes_read = 0
        self._lock = asyncio.Lock()
        self.known = StoredAccess()
        """What was read last."""
        storage.observe(self._note, of_records=True)

    @property
    def is_current(self) -> bool:
        """Whether ``known`` has every answered write, of any server."""
        return self._writes_read == self._writes and self._storage.has_current_ids

    async def catch_up(self) -> None:
        """Make ``known`` as new as every write that was answered before; raise ``StoreUnavailable``."""
        error = self._storage.contact.error
        if error is not None:  # the storage tries again by itself
            raise type(error)(error.message)
        if not self._storage.has_current_ids:
            await self._storage.catch_up_soon()
        if self._is_unread:
            async with self._lock:
                while self._is_unread:
                    await self._read()

    async def current(self) -> StoredAccess:
        """Return the present declarations."""
        await self.catch_up()
        return self.known

    @property
    def _is_unread(self) -> bool:
        """Whether something was written since ``known`` began to be read."""
        return self._writes_read != self._writes

    def _note(self, written: WrittenChanges | None, /) -> None:
        if written is None or any(map(_is_about_access, written.changes)):
            self._writes += 1

    async def _read(self) -> None:
        """Read all records. They are current only when all of them are read, at one revision of the policy."""
        writes = self._writes
        begun = await self._policy()
        found = await self._all(begun)
        if _revision(begun) == _revision(await self._policy()):
            self.known, self._writes_read = found, writes

    async def _policy(self) -> Sequence[StorageRecord]:
        return await self._storage.records(POLICIES.name, POLICY_KEY)

    async def _all(self, policies: Sequence[StorageRecord]) -> StoredAccess:
        bindings = await self._storage.records(BINDINGS.name)
        policy = POLICIES.read(policies[0].document) if policies else AccessPolicy()
        return StoredAccess(
            is_required=policy.is_required,
            revision=_revision(policies),
            users=await self._by_key(USERS),
            services=await self._by_key(SERVICES),
            tokens=await self._by_key(TOKENS),
            bindings=_values(BINDINGS, bindings),
            roles=await self._by_key(ROLE_RECORDS),
            revisions={each.key[0]: each.revision for each in bindings},
        )

    async def _by_key(self, kind: StoredKind[_T]) -> dict[str, _T]:
        return _values(kind, await self._storage.records(kind.name))


def _values(kind: StoredKind[_T], records: Sequence[StorageRecord]) -> dict[str, _T]:
    return {each.key[0]: kind.read(each.document) for each in records}


def _revision(policies: Sequence[StorageRecord]) -> int:
    return policies[0].revision if policies else 0


def _is_about_access(change: JournalChange) -> bool:
    return change.kind is JournalChangeKind.RECORD and (change.document or {}).get("kind") in ACCESS_KINDS
