"""Users, services, tokens, bindings and roles as stored documents, and the policy of a store.

The record of the policy is written with every other one, so that its revision is that of all of them together
([decision 36](docs/decisions/0036-access-records-are-written-under-one-revision.md)).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from counterfoil.registry.domain.stored_kinds import Key, StoredKind
from counterfoil.schema.rest.object_forms import FLAG, INTEGER, REQUIRED, TEXT, TEXTS, Member, ObjectForm, list_of


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
    """What a token is limited to: names of roles or operations, and a pattern."""

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
SERVICE: Final = ObjectForm(AccessService, (_NAME, Member("description", "description", TEXT), _DISABLED, _CREATED))
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
SERVICES: Final[StoredKind[AccessService]] = StoredKind("auth-service", SERVICE, lambda each: (each.name,))
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
