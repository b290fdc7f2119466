"""What a rule says about its keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.rest.keys import DEFAULT_ALGORITHM, Algorithm
from counterfoil.sdk.errors import RuleError
from counterfoil.sdk.serde.rules.protocol import RuleMode

if TYPE_CHECKING:
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.sdk.serde.rules.protocol import RuleScope

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
    """Return what the parameters of a rule, or the properties of its schema, say; raise ``RuleError``."""
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
