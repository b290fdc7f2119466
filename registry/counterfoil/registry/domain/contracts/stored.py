"""Applications, contracts, environments and deployments as stored documents.

Besides the records of the values themselves there are three kinds that lead to them, so that a verdict reads only what
it is about: the contracts of a subject, and the applications that offer and that read a contract, each with the newest
version that does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from counterfoil.registry.domain.writes.plan import record_write
from counterfoil.schema.rest.contracts import (
    APPLICATION,
    APPLICATION_VERSION,
    CONTRACT,
    DEPLOYMENT,
    ENVIRONMENT,
    Application,
    ApplicationVersion,
    ContractKind,
    Deployment,
    Environment,
    Liveness,
    PublishedContract,
)
from counterfoil.schema.rest.json_values import ReplyJson

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.registry.domain.writes.plan import Plan
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.rest.object_forms import Document, ObjectForm

_T = TypeVar("_T")

Key = tuple[str, ...]

NAME_PATTERN: Final = r"^[^\x00-\x1f\x7f]{1,300}$"
"""What names of applications, versions, contracts and environments are: parts of keys, and segments of paths."""
_NAME: Final = re.compile(NAME_PATTERN)


def is_name(text: str) -> bool:
    """Return whether a text can be a name."""
    return _NAME.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class StoredKind(Generic[_T]):
    """A kind of records that hold values: its name, the form of the values, and the key of each."""

    name: str
    form: ObjectForm[_T]
    key: Callable[[_T], Key]

    def read(self, document: Document) -> _T:
        """Return the value in a stored document."""
        return self.form.read(ReplyJson(document))

    def write(self, value: _T, *, revision: int) -> Plan:
        """Return the plan that stores ``value`` instead of the record with ``revision``; 0 if there is none."""
        return record_write(self.name, self.key(value), self.form.write(value), revision=revision)


def _deployment_key(each: Deployment) -> Key:
    """Return the key: one deployment for each instance, and one release for each version."""
    place = each.instance if each.liveness is Liveness.DEPLOYED else each.version
    return each.environment, each.application, each.liveness, place


APPLICATIONS: Final[StoredKind[Application]] = StoredKind("application", APPLICATION, lambda each: (each.name,))
VERSIONS: Final[StoredKind[ApplicationVersion]] = StoredKind(
    "application-version", APPLICATION_VERSION, lambda each: (each.application, each.version)
)
CONTRACTS: Final[StoredKind[PublishedContract]] = StoredKind(
    "contract", CONTRACT, lambda each: (each.id, each.kind, each.version)
)
ENVIRONMENTS: Final[StoredKind[Environment]] = StoredKind("environment", ENVIRONMENT, lambda each: (each.name,))
DEPLOYMENTS: Final[StoredKind[Deployment]] = StoredKind("deployment", DEPLOYMENT, _deployment_key)

OF_SUBJECT_KIND: Final = "contract-of-subject"
_OFFERING_KIND: Final = "contract-offered-by"
_READING_KIND: Final = "contract-read-by"


INDEX_KINDS: Final = frozenset({OF_SUBJECT_KIND, _OFFERING_KIND, _READING_KIND})
"""The kinds of the records that only lead to others."""
RECORD_KINDS: Final = INDEX_KINDS | {
    APPLICATIONS.name,
    VERSIONS.name,
    CONTRACTS.name,
    ENVIRONMENTS.name,
    DEPLOYMENTS.name,
}
"""The kinds of all records about contracts."""


def of_subject_key(subject: QualifiedSubject, contract: str = "") -> Key:
    """Return the key of the record that a contract is about a subject, or the prefix of all about this subject."""
    prefix = (subject.context, subject.name)
    return (*prefix, contract) if contract else prefix


def party_kind(kind: ContractKind) -> str:
    """Return the kind of the records that lead from a contract to those who offer it, or to those who read it."""
    return _OFFERING_KIND if kind is ContractKind.ODCS else _READING_KIND
