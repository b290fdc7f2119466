"""A rule ENCRYPT: its keys, the marked places that it encrypts, and its effect at the others."""

from __future__ import annotations

import binascii
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from threading import Lock
from typing import Final

from counterfoil.schema.contexts import QualifiedSubject, parse_subject
from counterfoil.schema.rest.keys import DEFAULT_ALGORITHM, Algorithm
from counterfoil.schema.tags import LEAST_BYTES, accepts_ciphertexts
from counterfoil.sdk.errors import NotEncrypted, RuleError
from counterfoil.sdk.serde.rules.protocol import FieldType, RuleMode, RuleScope, SchemaField

# What a rule says about its keys.

_KEK_NAME: Final = "encrypt.kek.name"
_KMS_TYPE: Final = "encrypt.kms.type"
_KMS_KEY_ID: Final = "encrypt.kms.key.id"
_ALGORITHM: Final = "encrypt.dek.algorithm"
_EXPIRY_DAYS: Final = "encrypt.dek.expiry.days"


@dataclass(frozen=True, slots=True)
class KeyPolicy:
    """The keys of a rule for one subject.

    ``kms_type`` and ``kms_key_id`` are required where the KEK is created. ``expiry_days`` 0: the data encryption key is
    used for ever; else a new version of it is created after so many days, and every ciphertext names its version.
    """

    kek_name: str
    subject: QualifiedSubject
    algorithm: Algorithm
    kms_type: str | None
    kms_key_id: str | None
    expiry_days: int
    is_reading: bool

    @property
    def is_rotated(self) -> bool:
        """Whether ciphertexts name the version of their key."""
        return self.expiry_days > 0

    @property
    def context(self) -> str | None:
        """The context of the subject; None for the default one."""
        return None if self.subject.is_default else self.subject.context


def policy_of(scope: RuleScope) -> KeyPolicy:
    """Return the setting in the parameters of a rule, or in the properties of its schema; raise ``RuleError``."""
    if scope.is_condition:
        raise _wrong(scope, "its kind is CONDITION; expected TRANSFORM")
    name = scope.parameter(_KEK_NAME)
    if not name:
        raise _wrong(scope, f"it has no parameter {_KEK_NAME}; expected the name of a key encryption key")
    return KeyPolicy(
        kek_name=name,
        subject=parse_subject(scope.subject),
        algorithm=_algorithm(scope),
        kms_type=scope.parameter(_KMS_TYPE) or None,
        kms_key_id=scope.parameter(_KMS_KEY_ID) or None,
        expiry_days=_expiry_days(scope),
        is_reading=scope.mode is RuleMode.READ,
    )


def _algorithm(scope: RuleScope) -> Algorithm:
    word = scope.parameter(_ALGORITHM)
    try:
        return Algorithm(word) if word else DEFAULT_ALGORITHM
    except ValueError:
        raise _wrong(scope, f"{_ALGORITHM} is {word!r}; expected one of {', '.join(Algorithm)}") from None


def _expiry_days(scope: RuleScope) -> int:
    text = (scope.parameter(_EXPIRY_DAYS) or "0").strip()
    if not (text.isascii() and text.isdigit()):
        raise _wrong(scope, f"{_EXPIRY_DAYS} is {text!r}; expected a number of days, 0 for keys that do not expire")
    return int(text)


def _wrong(scope: RuleScope, problem: str) -> RuleError:
    return RuleError(f"The rule {scope.rule.name!r} cannot be run: {problem}", rule=scope.rule.name)


# Which marked places of a schema a rule ENCRYPT encrypts, and what happens at the others.
#
# Confluent's clients leave some places as they are that a tag marks: what is inside a tagged record, the values of
# ``additionalProperties``, a Protobuf ``StringValue`` … Writing plain text there would break what the tag promises, and
# Confluent's readers would deliver a ciphertext as it is. So such a rule is refused before anything is written, unless
# the parameter ``encrypt.places`` says that all places are encrypted.

PLACES: Final = "encrypt.places"
PLAIN_TEXT: Final = "encrypt.plain.text"

_KNOWN, _ALL = "confluent", "all"
_READ, _REFUSE = "read", "refuse"
_SHOWN: Final = 3
_ENCRYPTED: Final = (FieldType.STRING, FieldType.BYTES)
_DECIDED_BY_VALUE: Final = (FieldType.COMBINED, FieldType.RECORD, FieldType.ARRAY, FieldType.MAP)
_LEAST_BYTES: Final = {Algorithm.AES256_SIV: LEAST_BYTES}
_LEAST_BYTES_OF_GCM: Final = 28
_VERSION_BYTES: Final = 5


@dataclass(frozen=True, slots=True)
class PlacePolicy:
    """``encrypts_all``: also where Confluent's clients do not; ``refuses_plain``: plain text there is not read."""

    encrypts_all: bool
    refuses_plain: bool


def place_policy_of(scope: RuleScope) -> PlacePolicy:
    """Return the setting of the program, of the parameters of a rule or of its schema; raise ``RuleError``."""
    return PlacePolicy(
        _word(scope, PLACES, _KNOWN, _ALL) == _ALL,
        _word(scope, PLAIN_TEXT, _READ, _REFUSE) == _REFUSE,
    )


def _word(scope: RuleScope, name: str, default: str, other: str) -> str:
    word = scope.conf.get(name) or scope.parameter(name) or default
    if word not in (default, other):
        problem = f"The rule {scope.rule.name!r} cannot be run: {name} is {word!r}; expected {default} or {other}"
        raise RuleError(problem, rule=scope.rule.name)
    return str(word)


def check_places(fields: Iterable[SchemaField], policy: PlacePolicy, keys: KeyPolicy, rule: str) -> None:
    """Raise ``RuleError`` for marked places that would be plain text, with the first of them in words."""
    marked = [field for field in fields if field.type is not FieldType.NULL]
    fits = {
        field.full_name for field in marked if field.type in _ENCRYPTED and not field.is_key and not field.logical_type
    }
    problems: dict[str, None] = {}
    for field in marked:
        can_be = field.full_name in fits or (field.type in (*_ENCRYPTED, *_DECIDED_BY_VALUE) and not field.logical_type)
        if field.is_key or not can_be:
            problems[_unfit(field)] = None
        elif field.is_beyond and not policy.encrypts_all:
            problems[_beyond(field)] = None
        elif not accepts_ciphertexts(field.may_be, _least_bytes(keys)):
            problems[_closed(field, keys)] = None
    if problems:
        shown = "; ".join([*problems][:_SHOWN])
        more = f"; and {len(problems) - _SHOWN} more places" if len(problems) > _SHOWN else ""
        found = NotEncrypted(f"{shown}{more}", kek=keys.kek_name, subject=str(keys.subject))
        raise RuleError(found.problem, rule=rule) from found


def refusal(field: SchemaField, keys: KeyPolicy, policy: PlacePolicy) -> NotEncrypted:
    """Return the error for a value that a rule marks and does not encrypt; it contains none of the data."""
    is_unfit = field.is_key or field.logical_type or field.type not in _ENCRYPTED or policy.encrypts_all
    problem = _unfit(field) if is_unfit else _beyond(field)
    return NotEncrypted(f"{problem[0].upper()}{problem[1:]}", kek=keys.kek_name, subject=str(keys.subject))


def _unfit(field: SchemaField) -> str:
    if field.is_key:
        return f"{field.place} is marked by a tag of the rule, and names cannot be encrypted"
    if field.logical_type:
        return (
            f"{field.place} has the logical type {field.logical_type}, whose values cannot be encrypted; expected a "
            "string or bytes field without a logical type"
        )
    return f"{field.place} is of the type {field.type}, which cannot be encrypted; expected a string or bytes field"


def _beyond(field: SchemaField) -> str:
    return (
        f"{field.place} is marked by a tag of the rule, and Confluent's clients do not encrypt or do not decrypt "
        f"there; move the tag beside a string or bytes field that they reach, or set {PLACES}={_ALL} if all readers "
        "use this SDK"
    )


def _closed(field: SchemaField, keys: KeyPolicy) -> str:
    least = len(binascii.b2a_base64(bytes(_least_bytes(keys)), newline=False))
    return (
        f"{field.place} is marked by a tag of the rule, and its schema accepts no ciphertext, which is base64 of at "
        f"least {least} characters; remove what limits its texts (maxLength, pattern, …), or the tag"
    )


class PlainValues:
    """Counts the values that were read although they were never encrypted, by subject and field."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, subject: str, full_name: str) -> None:
        """Count a value."""
        with self._lock:
            self._counts[subject, full_name] += 1

    def counts(self) -> dict[tuple[str, str], int]:
        """Return the numbers of values by subject and full name of the field."""
        with self._lock:
            return dict(self._counts)


def may_be_ciphertext(data: bytes, keys: KeyPolicy) -> bool:
    """Return whether bytes are long enough to be a ciphertext; if not, no key is requested for them."""
    return len(data) >= _least_bytes(keys) and (not keys.is_rotated or data[:1] == b"\0")


def _least_bytes(keys: KeyPolicy) -> int:
    """Return the size of the ciphertext of an empty value."""
    return _LEAST_BYTES.get(keys.algorithm, _LEAST_BYTES_OF_GCM) + (_VERSION_BYTES if keys.is_rotated else 0)


def bytes_of_text(value: str) -> bytes | None:
    """Return the bytes of a text that is base64; None for another text."""
    try:
        return binascii.a2b_base64(value.encode("ascii"), strict_mode=True)
    except (ValueError, UnicodeEncodeError):
        return None
