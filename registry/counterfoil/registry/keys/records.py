"""Keys in a storage: which are valid, their stored documents, reads and writes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from counterfoil.registry.audit.digests import audit_key, digest_of_record
from counterfoil.registry.audit.events import facts_about
from counterfoil.registry.store.protocol import Storage, StorageRecord
from counterfoil.registry.store.writes import Requester, StoragePlan, record_write, together
from counterfoil.registry.subjects.versions import MAX_VERSION
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.errors import InvalidKey, KeyNotFound
from counterfoil.schema.model import Rule, RuleSet
from counterfoil.schema.rest.keys import Algorithm, Dek, DekId, Kek
from counterfoil.schema.rest.object_forms import Document

# Which names, fields and subjects of encryption keys are valid.
#
# Source: Confluent's documentation of client-side field level encryption, and the public API of its DEK registry.

FIRST_VERSION: Final = 1

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,255}")
_CANONICAL_TYPES: Final = {"aws": "aws-kms", "azure": "azure-kms", "gcp": "gcp-kms"}
_ID_BEGINNINGS: Final = {
    "aws-kms": ("arn:aws:kms:",),
    "azure-kms": ("https://",),
    "gcp-kms": ("projects/",),
    "hcvault": ("http://", "https://"),
}


def check_kek_name(name: str) -> None:
    """Raise ``InvalidKey`` unless ``name`` is a valid name of a key encryption key."""
    if not _NAME.fullmatch(name):
        raise InvalidKey(
            f"Key name {name[:80]!r} is not valid; expected a letter or '_', then letters, digits, '_' or '-', "
            "at most 256 of them"
        )


def check_kms(kms_type: str | None, kms_key_id: str | None) -> tuple[str, str]:
    """Return the type, in its canonical spelling, and the key's id in its service.

    Raise ``InvalidKey`` if one is invalid.
    """
    if not kms_type:
        raise InvalidKey("kmsType is missing; expected a type such as aws-kms, azure-kms, gcp-kms, hcvault, local-kms")
    if not kms_key_id:
        raise InvalidKey("kmsKeyId is missing; expected the id of the key in the key management service")
    beginnings = _ID_BEGINNINGS.get(kms_type, ())
    if beginnings and not kms_key_id.startswith(beginnings):
        raise InvalidKey(
            f"kmsKeyId {kms_key_id[:200]!r} is not valid for kmsType {kms_type}; "
            f"expected it to begin with {' or '.join(beginnings)}"
        )
    spelt = kms_type.lower()
    return next((full for word, full in _CANONICAL_TYPES.items() if spelt.startswith(word)), kms_type), kms_key_id


def check_key_subject(subject: QualifiedSubject) -> None:
    """Raise ``InvalidKey`` unless keys may be stored for ``subject``."""
    if not subject.name:
        raise InvalidKey(f"Subject {str(subject)!r} is not valid for a key: it has no name")
    if any(unicodedata.category(character) == "Cc" for character in f"{subject.context}{subject.name}"):
        raise InvalidKey(f"Subject {str(subject)!r} is not valid for a key: it contains a control character")


def check_key_version(version: int) -> None:
    """Raise ``InvalidKey`` unless ``version`` is a valid version of a data encryption key."""
    if not FIRST_VERSION <= version <= MAX_VERSION:
        raise InvalidKey(f"version {version} is not valid for a key; expected a number from 1 to {MAX_VERSION}")


# The settings of key encryption keys that are secrets of a key management service.

_SECRET_ENDINGS: Final = ("token.id", "password", "secret", "token", "key")
_MASK: Final = "***"


def without_secrets(properties: Mapping[str, str]) -> dict[str, str]:
    """Return settings with ``***`` in place of the values whose names say that they are secrets.

    >>> without_secrets({"token.id": "hvs.x", "namespace": "team", "client.Secret": "x"})
    {'token.id': '***', 'namespace': 'team', 'client.Secret': '***'}
    """
    return {name: _MASK if name.lower().endswith(_SECRET_ENDINGS) else value for name, value in properties.items()}


# The names of keys in rules that encrypt, filled in when a rule has only a key id.
#
# Source: Confluent's documentation of client-side field level encryption, for the names of the parameters.

_KEY_ID: Final = "encrypt.kms.key.id"
_KMS_TYPE: Final = "encrypt.kms.type"
_KEK_NAME: Final = "encrypt.kek.name"
_AWS_MARK: Final = "arn:"
_ILLEGAL: Final = re.compile(r"[^A-Za-z0-9_-]")


def with_key_names(rule_set: RuleSet | None) -> RuleSet | None:
    """Return ``rule_set`` with the key's name in each domain rule with a key id, and for AWS also the key's type."""
    if rule_set is None or not any(_KEY_ID in rule.params for rule in rule_set.domain_rules):
        return rule_set
    return replace(rule_set, domain_rules=tuple(_completed(rule) for rule in rule_set.domain_rules))


def _completed(rule: Rule) -> Rule:
    key_id = rule.params.get(_KEY_ID)
    if not key_id:
        return rule
    params = {_KEK_NAME: _ILLEGAL.sub("-", key_id.removeprefix(_AWS_MARK)), **rule.params}
    if key_id.startswith(_AWS_MARK):
        params = {_KMS_TYPE: "aws-kms", **params}
    return replace(rule, params=dict(sorted(params.items())))


# Keys as stored documents.

KEK_KIND: Final = "kek"
DEK_KIND: Final = "dek"
KEK_PASSING: Final = frozenset({"ts", "dekCount"})
"""The members of a key encryption key that are no content: its time, and how many keys it wraps."""
DEK_PASSING: Final = frozenset({"ts"})
"""The member of a data encryption key that is no content."""
_VERSION_DIGITS: Final = 10


def kek_key(name: str) -> tuple[str, ...]:
    """Return the record key of a key encryption key."""
    return (name,)


def stored_kek(kek: Kek) -> Document:
    """Return the stored document of a key encryption key."""
    return {
        "kmsType": kek.kms_type,
        "kmsKeyId": kek.kms_key_id,
        "kmsProps": dict(kek.kms_props),
        "doc": kek.doc,
        "shared": kek.shared,
        "deleted": kek.deleted,
        "ts": kek.ts,
        "dekCount": kek.dek_count,
    }


def read_stored_kek(key: tuple[str, ...], document: Document) -> Kek:
    """Return the key encryption key in a stored document."""
    return Kek(
        name=key[0],
        kms_type=document["kmsType"],
        kms_key_id=document["kmsKeyId"],
        kms_props=document["kmsProps"],
        doc=document["doc"],
        shared=document["shared"],
        deleted=document["deleted"],
        ts=document["ts"],
        dek_count=document["dekCount"],
    )


def dek_prefix(
    kek_name: str | None, subject: QualifiedSubject | None = None, algorithm: Algorithm | None = None
) -> tuple[str, ...]:
    """Return the prefix of the record keys of data encryption keys: all, or those of a KEK, a subject, an algorithm."""
    if kek_name is None:
        return ()
    if subject is None:
        return (kek_name,)
    of_subject = (kek_name, subject.context, subject.name)
    return of_subject if algorithm is None else (*of_subject, algorithm.value)


def dek_key(dek: DekId) -> tuple[str, ...]:
    """Return the record key of a data encryption key; versions sort as numbers."""
    return (*dek_prefix(dek.kek_name, dek.subject, dek.algorithm), f"{dek.version:0{_VERSION_DIGITS}}")


def stored_dek(dek: Dek) -> Document:
    """Return the stored document of a wrapped data encryption key."""
    return {"wrapped": dek.wrapped, "deleted": dek.deleted, "ts": dek.ts}


def read_stored_dek(key: tuple[str, ...], document: Document) -> Dek:
    """Return the data encryption key in a stored document."""
    kek_name, context, name, algorithm, version = key
    dek_id = DekId(kek_name, QualifiedSubject(context, name), Algorithm(algorithm), int(version))
    return Dek(dek_id, document["wrapped"], document["deleted"], document["ts"])


# Keys in a storage: reading them, and the writes that change them.
#
# Every write of a data encryption key rewrites its KEK's record, which counts them, so that of two contradicting writes
# only one is carried out: a KEK is not deleted while a key that it wraps is created.


@dataclass(frozen=True, slots=True)
class HeldKek:
    """A key encryption key and the revision of its record; 0 for one that is not stored yet."""

    kek: Kek
    revision: int


@dataclass(frozen=True, slots=True)
class HeldDek:
    """A data encryption key and the revision of its record; 0 for one that is not stored yet."""

    dek: Dek
    revision: int


class KeyRecords:
    """The keys in ``storage``."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def catch_up(self) -> None:
        """Wait until reads see everything that was answered before."""
        await self._storage.catch_up()

    async def keks(self) -> list[Kek]:
        """Return all key encryption keys, sorted by name."""
        return [_held_kek(record).kek for record in await self._storage.records(KEK_KIND)]

    async def find_kek(self, name: str) -> HeldKek | None:
        """Return the key encryption key of this name, soft-deleted or not."""
        found = await self._storage.records(KEK_KIND, kek_key(name))
        return _held_kek(found[0]) if found else None

    async def kek(self, name: str, *, deleted: bool) -> HeldKek:
        """Return the key encryption key of this name, a soft-deleted one only if ``deleted``; raise ``KeyNotFound``."""
        found = await self.find_kek(name)
        if found is None or (found.kek.deleted and not deleted):
            hint = "; it is soft-deleted" if found else ""
            raise KeyNotFound(f"There is no key encryption key {name!r}{hint}")
        return found

    async def deks(
        self,
        kek_name: str | None = None,
        subject: QualifiedSubject | None = None,
        algorithm: Algorithm | None = None,
    ) -> Sequence[HeldDek]:
        """Return sorted data encryption keys, also soft-deleted ones: all, or of a KEK, a subject, an algorithm."""
        found = await self._storage.records(DEK_KIND, dek_prefix(kek_name, subject, algorithm))
        return [_held_dek(record) for record in found]

    async def names_used(self, kek_names: Sequence[str], subject: QualifiedSubject) -> set[str]:
        """Return those of some key encryption keys that wrap a key of a subject which is not deleted."""
        prefixes = [dek_prefix(name, subject, None) for name in kek_names]
        found = await self._storage.records_under(DEK_KIND, prefixes) if prefixes else ()
        deks = (_held_dek(each).dek for records in found for each in records)
        return {each.id.kek_name for each in deks if not each.deleted}

    async def find_dek(self, dek_id: DekId) -> HeldDek | None:
        """Return the data encryption key with this id, soft-deleted or not."""
        found = await self._storage.records(DEK_KIND, dek_key(dek_id))
        return _held_dek(found[0]) if found else None

    async def put_kek(self, held: HeldKek, kek: Kek | None, *, by: Requester) -> None:
        """Replace the held key by ``kek``; None deletes it permanently. Raises ``StaleWrite``."""
        key, stored_key = await audit_key(self._storage)
        await self._storage.commit(together((stored_key, _kek_write(held, kek, key))), by=by)

    async def put_deks(self, of: HeldKek, changed: Sequence[tuple[HeldDek, Dek | None]], *, by: Requester) -> None:
        """Replace held keys of one KEK by others; None deletes one permanently. Raises ``StaleWrite``."""
        added = sum(held.revision == 0 for held, _ in changed) - sum(dek is None for _, dek in changed)
        counted = replace(of.kek, dek_count=of.kek.dek_count + added)
        key, stored_key = await audit_key(self._storage)
        writes = [_dek_write(held, dek, key) for held, dek in changed]
        await self._storage.commit(together((stored_key, _kek_write(of, counted, key), *writes)), by=by)


def _kek_write(held: HeldKek, kek: Kek | None, key: bytes) -> StoragePlan:
    before = stored_kek(held.kek) if held.revision else None
    after = None if kek is None else stored_kek(kek)
    digests = _digests(before, after, key, without=KEK_PASSING)
    return record_write(KEK_KIND, kek_key(held.kek.name), after, revision=held.revision, for_audit=digests)


def _dek_write(held: HeldDek, dek: Dek | None, key: bytes) -> StoragePlan:
    before = stored_dek(held.dek) if held.revision else None
    after = None if dek is None else stored_dek(dek)
    noted = {**facts_about([held.dek.id.subject]), **_digests(before, after, key, without=DEK_PASSING)}
    return record_write(DEK_KIND, dek_key(held.dek.id), after, revision=held.revision, for_audit=noted)


def _digests(before: Document | None, after: Document | None, key: bytes, *, without: frozenset[str]) -> dict[str, str]:
    """Return what the audit has of the content of a key: digests of it, where there is one."""
    contents = {"before": before, "after": after}
    return {
        name: digest_of_record(document, key=key, without=without)
        for name, document in contents.items()
        if document is not None
    }


def _held_kek(record: StorageRecord) -> HeldKek:
    return HeldKek(read_stored_kek(record.key, record.document), record.revision)


def _held_dek(record: StorageRecord) -> HeldDek:
    return HeldDek(read_stored_dek(record.key, record.document), record.revision)
