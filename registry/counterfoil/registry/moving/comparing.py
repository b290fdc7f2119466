"""Comparison of two registries: their content and their verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.moving.facts import Unreadable, VersionFact, schema_of
from counterfoil.registry.moving.lanes import gathered
from counterfoil.registry.moving.peer.connection import Refusal
from counterfoil.registry.moving.store.target import as_read
from counterfoil.schema.excerpt import excerpt
from counterfoil.schema.rest.config import config_document
from counterfoil.schema.rest.schemas import metadata_document, reference_documents, rule_set_document
from counterfoil.sdk import operations

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from counterfoil.registry.moving.facts import SettingsFact
    from counterfoil.registry.moving.peer.connection import Peer
    from counterfoil.registry.moving.peer.source import PeerSource
    from counterfoil.registry.moving.progress import Progress
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.rest.object_forms import Document
    from counterfoil.schema.rest.versions import Compatibility
    from counterfoil.sdk.operations import Operation

_AT_A_TIME: Final = 16


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference between two registries: its kind (``id``, ``config``, …), its place, and the values of both sides.

    ``left`` and ``right`` are JSON values; None if there is no value.
    """

    what: str
    where: str
    left: Any
    right: Any

    def __str__(self) -> str:
        return f"{self.where}: {self.what} is {_short(self.left)} on the left, {_short(self.right)} on the right"


def _short(value: Any) -> str:
    return "not there" if value is None else excerpt(repr(value), 200)


async def differences(left: PeerSource, right: PeerSource, progress: Progress) -> AsyncIterator[Difference]:
    """Yield every difference of content: contexts, subjects, versions with everything in them, config and mode."""
    ours, theirs = await gathered(left.context_names(), right.context_names())
    if left.knows_contexts and right.knows_contexts:
        for name in sorted(set(ours) ^ set(theirs)):
            yield Difference("context", f"context {name!r}", *_which(name in ours))
    subjects = await _union(left.subjects, right.subjects)
    for start in range(0, len(subjects), _AT_A_TIME):
        batch = subjects[start : start + _AT_A_TIME]
        for found in await gathered(*(_of_subject(left, right, subject) for subject in batch)):
            progress.step("subjects compared")
            for difference in found:
                yield difference
    scopes = await _union(left.scopes, right.scopes)
    for start in range(0, len(scopes), _AT_A_TIME):
        batch = scopes[start : start + _AT_A_TIME]
        for found in await gathered(*(_of_scope(left, right, scope) for scope in batch)):
            for difference in found:
                yield difference


def _which(is_left: bool) -> tuple[Any, Any]:  # noqa: FBT001 (one of two sides)
    return ("there", None) if is_left else (None, "there")


async def _union(left: Callable[[], Any], right: Callable[[], Any]) -> list[QualifiedSubject]:
    ours, theirs = await gathered(left(), right())
    return sorted({*ours, *theirs})


async def _of_subject(left: PeerSource, right: PeerSource, subject: QualifiedSubject) -> list[Difference]:
    ours, theirs = await gathered(left.versions(subject), right.versions(subject))
    where = f"subject {str(subject)!r}"
    if not ours or not theirs:
        return [Difference("subject", where, _numbers(ours), _numbers(theirs))] if ours or theirs else []
    found = [
        Difference("version", where, item.problem, None)
        if side is ours
        else Difference("version", where, None, item.problem)
        for side in (ours, theirs)
        for item in side
        if isinstance(item, Unreadable)
    ]
    by_number = [{item.version: item for item in side if isinstance(item, VersionFact)} for side in (ours, theirs)]
    for number in sorted({*by_number[0], *by_number[1]}):
        one, other = by_number[0].get(number), by_number[1].get(number)
        if one is None or other is None:
            found.append(Difference("version", f"{where} version {number}", *_which(one is not None)))
            continue
        found.extend(_of_version(one, other))
        guids = await left.stated_guid(one.key), await right.stated_guid(other.key)
        if None not in guids and guids[0] != guids[1]:
            found.append(Difference("guid", f"{where} version {number}", *guids))
    return found


def _numbers(versions: Any) -> list[int] | None:
    return [item.version for item in versions if isinstance(item, VersionFact)] or None


def _of_version(one: VersionFact, other: VersionFact) -> Iterator[Difference]:
    where = f"subject {str(one.subject)!r} version {one.version}"
    pairs = zip(_version_fields(one).items(), _version_fields(other).values(), strict=True)
    for (name, ours), theirs in pairs:
        if ours != theirs:
            yield Difference(name, where, ours, theirs)


def _version_fields(fact: VersionFact) -> Document:
    content = fact.content
    return {
        "id": fact.schema_id,
        "deleted": fact.deleted,
        "schemaType": content.schema_type.value,
        "schema": content.text,
        "references": reference_documents(content.references) or None,
        "metadata": metadata_document(content.metadata),
        "ruleSet": rule_set_document(content.rule_set),
    }


async def _of_scope(left: PeerSource, right: PeerSource, scope: QualifiedSubject) -> list[Difference]:
    ours, theirs = await gathered(left.settings_of(scope), right.settings_of(scope))
    where = f"subject {str(scope)!r}" if scope.name else f"context {scope.context!r}"
    pairs = (("config", _config_of(ours), _config_of(theirs)), ("mode", ours.mode, theirs.mode))
    return [Difference(name, where, one, other) for name, one, other in pairs if one != other]


def _config_of(settings: SettingsFact) -> Document | None:
    return None if settings.config is None else config_document(as_read(settings.config))


class Verdicts:
    """The verdicts of two registries about the same schemas."""

    def __init__(self, left: Peer, right: Peer, progress: Progress) -> None:
        self._peers = (left, right)
        self._progress = progress
        self.compared = 0

    async def differences(self, left: PeerSource, right: PeerSource) -> AsyncIterator[Difference]:
        """Yield every version of either side for which the verdicts against its subject's latest version differ."""
        for subject in await _union(left.subjects, right.subjects):
            sides = await gathered(left.versions(subject), right.versions(subject))
            facts = {item.content.guid: item for side in sides for item in side if isinstance(item, VersionFact)}
            judged = await gathered(*(self._judge(fact) for fact in facts.values()))
            for fact, (ours, theirs) in zip(facts.values(), judged, strict=True):
                if ours != theirs:
                    where = f"subject {str(subject)!r} version {fact.version} against the latest"
                    yield Difference("verdict", where, ours, theirs)

    async def _judge(self, fact: VersionFact) -> tuple[str, str]:
        operation = operations.check_compatibility(
            str(fact.subject), schema_of(fact.content), number="latest", verbose=False, normalize=False
        )
        ours, theirs = await gathered(*(self._verdict(peer, operation) for peer in self._peers))
        self.compared += 1
        self._progress.step("verdicts compared")
        return ours, theirs

    @staticmethod
    async def _verdict(peer: Peer, operation: Operation[Compatibility]) -> str:
        """Return ``compatible``, ``incompatible``, or the code of an error."""
        found = await peer.outcome(operation)
        if isinstance(found, Refusal):
            return f"error {found.code or found.status}"
        return "compatible" if found.is_compatible else "incompatible"
