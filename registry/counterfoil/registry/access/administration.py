"""Changing who exists and who may do what. Every change is decided on all records, and refused if one has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, NamedTuple, Protocol, TypeVar
from uuid import uuid4

from counterfoil.registry.access.questions import FileDeclarations, United, has_administrator, united
from counterfoil.registry.access.records import (
    BINDINGS,
    OPERATIONS_BY_WORD,
    POLICIES,
    POLICY_KEY,
    ROLE_RECORDS,
    SERVICES,
    TOKENS,
    USERS,
    AccessBinding,
    AccessPolicy,
    AccessRecords,
    AccessRole,
    AccessService,
    AccessToken,
    AccessUser,
    StoredAccess,
    TokenScope,
)
from counterfoil.registry.access.rules import (
    EVERYBODY,
    GROUP,
    SERVICE,
    STORE_OWNER,
    USER,
    AccessRule,
    InvalidPattern,
    OperationScope,
    ResourcePattern,
    is_name,
    is_user_name,
    parse_pattern,
)
from counterfoil.registry.audit.digests import audit_key, events_of
from counterfoil.registry.store.committing import WriteTurns, until_current
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.store.records import StoredKind
from counterfoil.registry.store.writes import (
    NO_REQUEST,
    PutRecord,
    RecordAt,
    RecordEvents,
    RefreshRecord,
    Requester,
    StoragePlan,
    together,
)
from counterfoil.schema.errors import AccessConflict, AccessRecordNotFound, InvalidAccess, RevisionChanged

_T = TypeVar("_T")

ADMIN: Final = "admin"
"""The role of administrators."""

_DAY_MS: Final = 86_400_000
_SHOWN: Final = 80
_MAX_DESCRIPTION: Final = 2000
_MAX_WORDS: Final = 100


class NewToken(Protocol):
    """A token as its owner has it."""

    @property
    def id(self) -> str:
        """The public id."""

    @property
    def text(self) -> str:
        """What the owner sends."""

    @property
    def digest(self) -> bytes:
        """What is stored of the secret."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """How secrets are made; the hash of a password takes a while.

    ``hash_password`` and ``check_hash`` raise ``ValueError`` for a text that cannot be used.
    """

    hash_password: Callable[[bytes], str]
    check_hash: Callable[[str], object]
    new_token: Callable[[], NewToken]


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """A token to be made; without ``scopes`` it has all rights of its owner."""

    owner: str
    name: str
    scopes: tuple[TokenScope, ...] | None
    days: int


class _Change(NamedTuple):
    """Records to be written (None removes one), and the declarations afterwards."""

    puts: tuple[PutRecord, ...]
    after: StoredAccess


class AccessAdministration:
    """The use cases of records about access. ``file`` returns the access file's declarations, if there is one."""

    def __init__(
        self,
        storage: Storage,
        *,
        records: AccessRecords,
        file: Callable[[], FileDeclarations],
        secrets: Secrets,
        now_ms: Callable[[], int],
        max_token_days: int,
    ) -> None:
        self._storage = storage
        self.records = records
        self._file = file
        self._secrets = secrets
        self._now_ms = now_ms
        self._max_token_days = max_token_days
        self._turns = WriteTurns(storage.catch_up)

    @property
    def declared(self) -> United:
        """The declarations of the access file and the store together, as of the last time that the store was read."""
        return united(self._file(), self.records.known)

    @property
    def max_token_days(self) -> int:
        """The longest life of a token."""
        return self._max_token_days

    # --- the policy

    async def require(self, name: str, password: bytes, *, by: Requester) -> None:
        """Make ``name`` an administrator, and have every server on the store demand credentials from now on."""
        hashed = await self._hashed(password)
        self._check_user_name(name)

        def change(state: StoredAccess) -> _Change:
            held = state.users.get(name)
            user = AccessUser(name, hashed, create_ts=self._now_ms() if held is None else held.create_ts)
            binding = AccessBinding(
                f"{ADMIN}-{name}",
                USER + name,
                allows=True,
                operations=(ADMIN,),
                on="registry",
                maker=STORE_OWNER,
                made_ts=self._now_ms(),
            )
            after = replace(
                state,
                is_required=True,
                users={**state.users, name: user},
                bindings={**state.bindings, binding.id: binding},
            )
            if not has_administrator(self._file(), after):
                raise AccessConflict(
                    f"A rule of the store denies ALTER_ACCESS to {USER}{name[:_SHOWN]}; `counterfoil auth bindings` "
                    "shows it, and `counterfoil auth unbind` deletes it"
                )
            return _Change((_put(USERS, user), _put(BINDINGS, binding)), after)

        await self._carry_out(change, by=by)

    async def disable(self, *, by: Requester) -> None:
        """Have servers on the store demand no credentials, unless their own settings say so."""
        await self._carry_out(lambda state: _Change((), replace(state, is_required=False)), by=by)

    # --- users and services

    async def user(self, name: str) -> AccessUser:
        """Return a user; raise ``AccessRecordNotFound``."""
        return _found((await self.records.current()).users, name, "user")

    async def put_user(
        self,
        name: str,
        *,
        by: Requester,
        password: bytes | None = None,
        hashed: str | None = None,
        is_disabled: bool | None = None,
    ) -> AccessUser:
        """Store a user, with a password or the hash of one; None keeps the present one. A new user needs one."""
        if hashed is not None:
            self._checked(partial(self._secrets.check_hash, hashed), "hash")
        elif password is not None:
            hashed = await self._hashed(password)

        def change(state: StoredAccess) -> _Change:
            self._check_is_not_of_file(USER + name)
            held = state.users.get(name)
            if held is None:
                self._check_user_name(name)
            if held is None and hashed is None:
                raise InvalidAccess(f"There is no user {name[:_SHOWN]!r} yet, and a new one needs a password")
            user = held or AccessUser(name, "", create_ts=self._now_ms())
            user = replace(user, hash=hashed or user.hash)
            user = user if is_disabled is None else replace(user, is_disabled=is_disabled)
            return _Change((_put(USERS, user),), replace(state, users={**state.users, name: user}))

        return (await self._carry_out(change, by=by)).users[name]

    async def renew_hash(self, user: AccessUser, password: bytes) -> None:
        """Replace the hash of a user by a new one of the same password, unless the user has changed."""
        hashed = await self._hashed(password)

        def change(state: StoredAccess) -> _Change:
            if state.users.get(user.name) != user:
                raise AccessConflict(f"{USER}{user.name[:_SHOWN]} has changed")
            renewed = replace(user, hash=hashed)
            return _Change((_put(USERS, renewed),), replace(state, users={**state.users, user.name: renewed}))

        await self._carry_out(change, by=NO_REQUEST)

    async def delete_user(self, name: str, *, by: Requester) -> None:
        """Delete a user, with its tokens and the bindings to it."""

        def change(state: StoredAccess) -> _Change:
            self._check_is_not_of_file(USER + name)
            user = _found(state.users, name, "user")
            return _without_principal(replace(state, users=_without(state.users, name)), USERS, user, USER + name)

        await self._carry_out(change, by=by)

    async def service(self, name: str) -> AccessService:
        """Return a service; raise ``AccessRecordNotFound``."""
        return _found((await self.records.current()).services, name, "service")

    async def put_service(
        self, name: str, *, by: Requester, description: str | None, is_disabled: bool | None
    ) -> AccessService:
        """Store an account for a program; None keeps the present value."""
        if not is_name(name):
            raise InvalidAccess(f"{name[:_SHOWN]!r} is no name; expected 1 to 256 printable characters")
        if description is not None and not (description.isprintable() and len(description) <= _MAX_DESCRIPTION):
            raise InvalidAccess(f"A description has at most {_MAX_DESCRIPTION} printable characters")

        def change(state: StoredAccess) -> _Change:
            service = state.services.get(name) or AccessService(name, create_ts=self._now_ms())
            service = service if description is None else replace(service, description=description)
            service = service if is_disabled is None else replace(service, is_disabled=is_disabled)
            return _Change((_put(SERVICES, service),), replace(state, services={**state.services, name: service}))

        return (await self._carry_out(change, by=by)).services[name]

    async def delete_service(self, name: str, *, by: Requester) -> None:
        """Delete a service, with its tokens and the bindings to it."""

        def change(state: StoredAccess) -> _Change:
            service = _found(state.services, name, "service")
            after = replace(state, services=_without(state.services, name))
            return _without_principal(after, SERVICES, service, SERVICE + name)

        await self._carry_out(change, by=by)

    # --- tokens

    async def create_token(
        self, request: TokenRequest, *, by: Requester, permit: Callable[[Sequence[OperationScope]], None]
    ) -> tuple[AccessToken, str]:
        """Store a new token; return it, and the text that its owner sends, which cannot be read again.

        ``permit`` raises ``Forbidden`` if the scopes go beyond what the caller may give.
        """
        if not 1 <= request.days <= self._max_token_days:
            raise InvalidAccess(f"days is {request.days}; expected 1 to {self._max_token_days}")
        if not is_name(request.name):
            raise InvalidAccess(f"{request.name[:_SHOWN]!r} is no name of a token; expected 1 to 256 characters")
        made, now = self._secrets.new_token(), self._now_ms()
        token = AccessToken(
            made.id,
            made.digest.hex(),
            request.owner,
            request.name,
            expires=now + request.days * _DAY_MS,
            create_ts=now,
            is_scoped=request.scopes is not None,
            scopes=request.scopes or (),
        )

        def change(state: StoredAccess) -> _Change:
            if not (state.has_active(token.owner) or (token.owner.startswith(USER) and self._is_of_file(token.owner))):
                raise InvalidAccess(
                    f"{token.owner[:_SHOWN]} is no enabled user or service that is declared here; callers of an issuer "
                    "make tokens for a service"
                )
            for each in token.scopes:
                _check_words(state, each.operations)
                _parsed(each.on)
            permit([state.scope(each) for each in token.scopes])
            return _Change((_put(TOKENS, token),), replace(state, tokens={**state.tokens, token.id: token}))

        await self._carry_out(change, by=by)
        return token, made.text

    async def token(self, token_id: str) -> AccessToken:
        """Return a token; raise ``AccessRecordNotFound``."""
        return _found((await self.records.current()).tokens, token_id, "token")

    async def tokens(self) -> list[AccessToken]:
        """Return all tokens, the newest first, with the hour of their last use."""
        found = [TOKENS.read(each.document) for each in await self._storage.records(TOKENS.name)]
        return sorted(found, key=lambda each: -each.create_ts)

    async def revoke_token(self, token_id: str, *, by: Requester) -> None:
        """Revoke a token: when this returns, no server on the store accepts it."""
        stored = await self._storage.records(TOKENS.name, (token_id,))
        # a use is stored without a change of the journal, so that the declarations in memory do not have it
        last_used = TOKENS.read(stored[0].document).last_used if stored else None

        def change(state: StoredAccess) -> _Change:
            token = replace(_found(state.tokens, token_id, "token"), is_revoked=True, last_used=last_used)
            return _Change((_put(TOKENS, token),), replace(state, tokens={**state.tokens, token.id: token}))

        await self._carry_out(change, by=by)

    async def note_use(self, token_id: str, hour_ms: int) -> None:
        """Store the hour of a token's last use, also where the token is revoked meanwhile."""

        async def attempt() -> None:
            found = await self._storage.records(TOKENS.name, (token_id,))
            if found:
                document = TOKENS.form.write(replace(TOKENS.read(found[0].document), last_used=hour_ms))
                await self._storage.commit(
                    StoragePlan(
                        (RecordAt(TOKENS.name, (token_id,), found[0].revision),),
                        (RefreshRecord(TOKENS.name, (token_id,), document),),
                    ),
                    by=NO_REQUEST,
                )

        await until_current(attempt, catch_up=self._storage.catch_up)

    # --- roles and bindings

    async def put_role(self, name: str, operations: tuple[str, ...], *, by: Requester) -> AccessRole:
        """Store a role of the store's own."""
        role = AccessRole(name, operations)

        def change(state: StoredAccess) -> _Change:
            if name in OPERATIONS_BY_WORD or not is_name(name):
                raise InvalidAccess(f"{name[:_SHOWN]!r} is the name of a built-in role or operation, or no name")
            _check_words(state, operations, known=OPERATIONS_BY_WORD)
            return _Change((_put(ROLE_RECORDS, role),), replace(state, roles={**state.roles, name: role}))

        await self._carry_out(change, by=by)
        return role

    async def delete_role(self, name: str, *, by: Requester) -> None:
        """Delete a role that no binding and no token names."""

        def change(state: StoredAccess) -> _Change:
            role = _found(state.roles, name, "role")
            scopes = (scope for token in state.tokens.values() if not token.is_revoked for scope in token.scopes)
            used = [each.operations for each in state.bindings.values()] + [each.operations for each in scopes]
            if any(name in words for words in used):
                raise AccessConflict(f"Role {name[:_SHOWN]!r} is in use by a binding or a token; remove those first")
            return _Change((_removed(ROLE_RECORDS, role),), replace(state, roles=_without(state.roles, name)))

        await self._carry_out(change, by=by)

    async def put_binding(
        self,
        given: AccessBinding,
        *,
        by: Requester,
        maker: str,
        permit: Callable[[AccessRule], None],
        permit_held: Callable[[AccessRule], None],
        revision: int | None = None,
    ) -> tuple[AccessBinding, int]:
        """Store a binding, a new one if it has no id; return it with its revision. ``maker`` is the caller.

        ``permit`` raises ``Forbidden`` for a rule that the caller may not make, ``permit_held`` for one that it may not
        change; ``revision`` is the one that the binding must have.
        """
        binding = replace(given, id=given.id or uuid4().hex[:16], maker=maker, made_ts=self._now_ms())

        def change(state: StoredAccess) -> _Change:
            if given.id:
                self._check_held(state, given.id, revision, permit_held)
            self._check_binding(state, binding)
            after = replace(state, bindings={**state.bindings, binding.id: binding})
            permit(_rule(after, binding))
            return _Change((_put(BINDINGS, binding),), after)

        state = await self._carry_out(change, by=by)
        return binding, state.revisions.get(binding.id, 0)

    async def delete_binding(
        self, binding_id: str, *, by: Requester, permit_held: Callable[[AccessRule], None], revision: int | None = None
    ) -> None:
        """Delete a binding; see :meth:`put_binding`."""

        def change(state: StoredAccess) -> _Change:
            held = self._check_held(state, binding_id, revision, permit_held)
            return _Change((_removed(BINDINGS, held),), replace(state, bindings=_without(state.bindings, binding_id)))

        await self._carry_out(change, by=by)

    def _check_held(
        self, state: StoredAccess, binding_id: str, revision: int | None, permit_held: Callable[[AccessRule], None]
    ) -> AccessBinding:
        held = _found(state.bindings, binding_id, "binding")
        permit_held(_rule(state, held))
        now = state.revisions[binding_id]
        if revision not in {None, now}:
            raise RevisionChanged(f"Binding {binding_id} is at revision {now}, not at {revision}; read it again")
        return held

    def _check_binding(self, state: StoredAccess, binding: AccessBinding) -> None:
        word, colon, name = binding.principal.partition(":")
        if binding.principal != EVERYBODY and (word + colon not in {USER, SERVICE, GROUP} or not is_name(name)):
            raise InvalidAccess(
                f"to is {binding.principal[:_SHOWN]!r}; expected User:NAME, Service:NAME, Group:NAME or User:*"
            )
        if not binding.allows and binding.principal in self._file().admins:
            raise AccessConflict(f"{binding.principal} is one of the admins of the access file and cannot be denied")
        _check_words(state, binding.operations)
        _parsed(binding.on)

    # --- how a change is carried out

    async def _carry_out(self, change: Callable[[StoredAccess], _Change], *, by: Requester) -> StoredAccess:
        """Carry out a change, decided on the present declarations; return the next ones."""

        async def attempt() -> None:
            state = await self.records.current()
            puts, after = change(state)
            if has_administrator(self._file(), state) and not has_administrator(self._file(), after):
                raise AccessConflict(
                    "Nobody who is enabled would be an administrator afterwards; appoint another first"
                )
            key, stored_key = await audit_key(self._storage)
            written = (*puts, _put(POLICIES, AccessPolicy(after.is_required)))
            events = RecordEvents(events_of(written, state, key=key))
            plan = StoragePlan((RecordAt(POLICIES.name, POLICY_KEY, state.revision),), (*written, events))
            await self._storage.commit(together((stored_key, plan)), by=by)

        await self._turns.take(attempt, written=POLICIES.name)
        return await self.records.current()

    async def _hashed(self, password: bytes) -> str:
        return await asyncio.to_thread(self._checked, partial(self._secrets.hash_password, password), "password")

    def _checked(self, make: Callable[[], _T], what: str) -> _T:
        try:
            return make()
        except ValueError as problem:
            raise InvalidAccess(f"The {what} cannot be used: {problem}") from None

    def _check_user_name(self, name: str) -> None:
        if not is_user_name(name) or ":" in name:
            raise InvalidAccess(
                f"{name[:_SHOWN]!r} is no name of a user; expected 1 to 256 printable characters without a colon, and "
                "not ANONYMOUS"
            )
        for prefix in self._file().foreign_prefixes:
            if name.startswith(prefix):
                raise AccessConflict(
                    f"An issuer or a proxy of the access file, or tls_principal_rules, has the prefix {prefix!r}, and "
                    f"could give the name {name[:_SHOWN]!r}; take another name, or change the prefix first"
                )

    def _is_of_file(self, principal: str) -> bool:
        return principal in self._file().names

    def _check_is_not_of_file(self, principal: str) -> None:
        if self._is_of_file(principal):
            raise AccessConflict(f"{principal[:_SHOWN]} is declared in the access file; change it there")


def _put(kind: StoredKind[_T], value: _T) -> PutRecord:
    return PutRecord(kind.name, kind.key(value), kind.form.write(value), is_leased=True)


def _removed(kind: StoredKind[_T], value: _T) -> PutRecord:
    return PutRecord(kind.name, kind.key(value), None, is_leased=True)


def _without(values: Mapping[str, _T], key: str) -> dict[str, _T]:
    return {name: value for name, value in values.items() if name != key}


def _found(values: Mapping[str, _T], key: str, what: str) -> _T:
    found = values.get(key)
    if found is None:
        raise AccessRecordNotFound(f"There is no {what} {key[:_SHOWN]!r} in the store")
    return found


def _without_principal(after: StoredAccess, kind: StoredKind[_T], value: _T, principal: str) -> _Change:
    """Return the change that removes a user or a service with its members, tokens and rules."""
    tokens = [each for each in after.tokens.values() if each.owner == principal]
    bindings = [each for each in after.bindings.values() if each.principal == principal]
    puts = (
        _removed(kind, value),
        *(_removed(TOKENS, each) for each in tokens),
        *(_removed(BINDINGS, each) for each in bindings),
    )
    kept = replace(
        after,
        tokens={key: each for key, each in after.tokens.items() if each.owner != principal},
        bindings={key: each for key, each in after.bindings.items() if each.principal != principal},
    )
    return _Change(puts, kept)


def _rule(state: StoredAccess, binding: AccessBinding) -> AccessRule:
    return next(rule for rule in state.rules if rule.source == f"binding {binding.id}")


def _check_words(state: StoredAccess, words: Sequence[str], *, known: Iterable[str] | None = None) -> None:
    if not words or len(words) > _MAX_WORDS:
        raise InvalidAccess(f"operations has {len(words)} entries; expected 1 to {_MAX_WORDS}")
    allowed = state.words if known is None else known
    for word in words:
        if word not in allowed:
            raise InvalidAccess(f"{word[:_SHOWN]!r} is neither an operation nor a role; there are {', '.join(allowed)}")


def _parsed(text: str) -> ResourcePattern:
    if not text.isprintable():
        raise InvalidAccess("on has a character that is not printable")
    try:
        return parse_pattern(text)
    except InvalidPattern as mistake:
        raise InvalidAccess(str(mistake)) from None
