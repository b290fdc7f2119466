"""Applications, contracts, environments, deployments, approvals and verifications as stored documents.

Besides the records of the values themselves there are four kinds that lead to them, so that a verdict reads only what
it is about: the contracts of a subject, the applications that offer and that read a contract, each with the newest
version that does, and what a version of an application reads of a contract.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.domain.contracts.history import HISTORY_KINDS
from counterfoil.registry.domain.stored_kinds import Key, StoredKind
from counterfoil.schema.rest.approvals import STORED_APPROVAL, Approval
from counterfoil.schema.rest.contracts import (
    APPLICATION,
    APPLICATION_VERSION,
    CONTRACT,
    CONTRACT_LINK,
    CONTRACT_SCHEMAS,
    DEPLOYMENT,
    ENVIRONMENT,
    Application,
    ApplicationVersion,
    ContractKind,
    ContractLink,
    Deployment,
    Environment,
    Liveness,
    PublishedContract,
)
from counterfoil.schema.rest.migrations import MIGRATION, ContractMigration
from counterfoil.schema.rest.object_forms import REQUIRED, JsonType, Member, ObjectForm, object_of
from counterfoil.schema.rest.verifications import VERIFICATION, Verification

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.model import Schema
    from counterfoil.schema.rest.object_forms import Document


NAME_PATTERN: Final = r"^[^\x00-\x1f\x7f]{1,300}$"
"""What names of applications, versions, contracts and environments are: parts of keys, and segments of paths."""
_ID_LENGTH: Final = 16
_NAME: Final = re.compile(NAME_PATTERN)


def is_name(text: str) -> bool:
    """Return whether a text can be a name."""
    return _NAME.fullmatch(text) is not None


def _deployment_key(each: Deployment) -> Key:
    """Return the key: one deployment for each instance, and one release for each version."""
    place = each.instance if each.liveness is Liveness.DEPLOYED else each.version
    return each.environment, each.application, each.liveness, place


def verification_key(contract_hash: str, environment: str, *topic: str) -> Key:
    """Return the key of the latest verification on a topic, or the prefix of those of a contract's content."""
    return contract_hash, environment, *topic


def content_id(document: Document) -> str:
    """Return an id that is equal for equal contents, so that a request that is repeated stores nothing new."""
    text = json.dumps(document, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:_ID_LENGTH]


APPLICATIONS: Final[StoredKind[Application]] = StoredKind("application", APPLICATION, lambda each: (each.name,))
VERSIONS: Final[StoredKind[ApplicationVersion]] = StoredKind(
    "application-version", APPLICATION_VERSION, lambda each: (each.application, each.version)
)
CONTRACTS: Final[StoredKind[PublishedContract]] = StoredKind(
    "contract", CONTRACT, lambda each: (each.id, each.kind, each.version)
)
ENVIRONMENTS: Final[StoredKind[Environment]] = StoredKind("environment", ENVIRONMENT, lambda each: (each.name,))
DEPLOYMENTS: Final[StoredKind[Deployment]] = StoredKind("deployment", DEPLOYMENT, _deployment_key)
APPROVALS: Final[StoredKind[Approval]] = StoredKind("approval", STORED_APPROVAL, lambda each: (each.id,))
VERIFICATIONS: Final[StoredKind[Verification]] = StoredKind(
    "verification", VERIFICATION, lambda each: verification_key(each.hash, each.environment, each.sample.topic)
)
MIGRATIONS: Final[StoredKind[ContractMigration]] = StoredKind("contract-migration", MIGRATION, lambda each: (each.id,))

OF_SUBJECT_KIND: Final = "contract-of-subject"
_OFFERING_KIND: Final = "contract-offered-by"
_READING_KIND: Final = "contract-read-by"
PORTS_KIND: Final = "contract-input-ports"
"""What a version reads of a contract; the key is the contract, the application, the version and the file's id."""

INDEX_KINDS: Final = HISTORY_KINDS | {OF_SUBJECT_KIND, _OFFERING_KIND, _READING_KIND, PORTS_KIND}
"""The kinds of the records that only lead to others, or tell when others were written."""
RECORD_KINDS: Final = INDEX_KINDS | {
    APPLICATIONS.name,
    VERSIONS.name,
    CONTRACTS.name,
    ENVIRONMENTS.name,
    DEPLOYMENTS.name,
    APPROVALS.name,
    VERIFICATIONS.name,
    MIGRATIONS.name,
}
"""The kinds of all records about contracts."""


@dataclass(frozen=True, slots=True)
class InputPorts:
    """What a version of an application reads of one contract: the file, and its input ports as JSON.

    ``schemas`` are the readers' schemas of the file, by link.
    """

    link: ContractLink
    ports: tuple[Any, ...]
    schemas: Mapping[str, Schema] = field(default_factory=dict)


INPUT_PORTS: Final = ObjectForm(
    InputPorts,
    (
        Member("file", "link", object_of(CONTRACT_LINK), otherwise=REQUIRED),
        Member("ports", "ports", JsonType(lambda value: tuple(value.value), list), otherwise=REQUIRED),
        CONTRACT_SCHEMAS,
    ),
)


def of_subject_key(subject: QualifiedSubject, contract: str = "") -> Key:
    """Return the key of the record that a contract is about a subject, or the prefix of all about this subject."""
    prefix = (subject.context, subject.name)
    return (*prefix, contract) if contract else prefix


def party_kind(kind: ContractKind) -> str:
    """Return the kind of the records that lead from a contract to those who offer it, or to those who read it."""
    return _OFFERING_KIND if kind is ContractKind.ODCS else _READING_KIND
