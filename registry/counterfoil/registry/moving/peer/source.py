"""The facts of a registry that offers Confluent's REST API, or a part of it.

Confluent's own (from 5 on), Karapace, Apicurio's ``ccompat`` and counterfoil differ in their responses; only the lists
of subjects and versions, and the versions themselves, are required.

Source: Confluent's public API reference; Karapace's and Apicurio Registry's documentation of the parts that they offer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.moving.facts import (
    ContextFact,
    PeerRefused,
    RecordFact,
    SettingsFact,
    Unreadable,
    VersionFact,
    read_content,
    whole_number,
)
from counterfoil.registry.moving.peer.connection import context_name, context_scope, scope_text
from counterfoil.registry.moving.peer.contracts import PeerContracts, PeerObservations
from counterfoil.registry.moving.peer.records import PeerAssociations, PeerBridges, PeerKeys, PeerSketches
from counterfoil.registry.moving.sources import Canonicaliser, gathered, version_in
from counterfoil.registry.subjects.levels import DEFAULT_LEVEL
from counterfoil.schema.compatibility import CompatibilityLevel
from counterfoil.schema.contexts import DEFAULT_CONTEXT, GLOBAL_LEVEL, TOP_LEVEL, QualifiedSubject, parse_subject
from counterfoil.schema.errors import RegistryError
from counterfoil.schema.rest.object_forms import RequestJson
from counterfoil.schema.rest.subjects import Config, Mode, read_config
from counterfoil.schema.rest.versions import Visibility
from counterfoil.sdk import operations

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from counterfoil.registry.moving.facts import Key
    from counterfoil.registry.moving.peer.connection import Peer


_SCOPES_AT_A_TIME: Final = 32
_KEPT_SUBJECTS: Final = 256
_DEFAULTS: Final = Config(compatibility_level=DEFAULT_LEVEL)
_NONE: Final = Config(compatibility_level=CompatibilityLevel.NONE)
_SOFTLY: Final = " now that it is soft-deleted"


@dataclass(frozen=True, slots=True)
class _Read:
    """A version as it was read, and its fingerprint in the registry's response, if there is one."""

    item: VersionFact | Unreadable
    guid: str | None = None

    @property
    def is_canonical(self) -> bool:
        """Whether the registry's own fingerprint is that of the text in its response."""
        return isinstance(self.item, VersionFact) and self.guid == str(self.item.content.guid)


class PeerSource:
    """Reads the registry that ``peer`` connects to."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._keys = PeerKeys(peer)
        self._associations = PeerAssociations(peer)
        self._bridges = PeerBridges(peer)
        self._sketches = PeerSketches(peer)
        self._contracts = PeerContracts(peer)
        self._observations = PeerObservations(peer)
        self._contexts: list[str] | None = None
        self._has_modes: bool | None = None
        self._max_ids: dict[str, int] = {}
        self._canonical = Canonicaliser(self._find)
        self._kept: dict[QualifiedSubject, Sequence[_Read]] = {}

    @property
    def origin(self) -> str:
        """The registry's URL, without user and password."""
        return self._peer.url

    async def mark(self) -> object:
        """Return the number of the last change if the registry counts changes, otherwise its list of subjects.

        Everything cached is dropped.
        """
        self._contexts, self._kept, self._max_ids = None, {}, {}
        feed = await self._peer.document(operations.changes(after="latest", limit=1))
        if feed is not None and "next" in feed:
            return feed["next"]
        return tuple(await self.subjects())

    async def context_names(self) -> list[str]:
        """Return the names of its contexts; the default one alone if it lists none. Requested once."""
        if self._contexts is None:
            listed = await self._peer.listed(operations.contexts())
            self._contexts = sorted({context_name(name) for name in listed or ()})
        return self._contexts or [DEFAULT_CONTEXT]

    @property
    def knows_contexts(self) -> bool:
        """Whether it has contexts, as far as they were requested."""
        return bool(self._contexts)

    async def unreadable(self) -> list[Unreadable]:
        """Return an empty list: only single versions can be unreadable."""
        return []

    # --- versions

    async def subjects(self) -> list[QualifiedSubject]:
        """Return all subjects, with the soft-deleted ones if the registry lists them."""
        found = await self._listed_subjects(None)
        if found is None:
            raise PeerRefused(f"{self._peer.url} does not list its subjects (GET /subjects): is it a schema registry?")
        names = await self.context_names()
        for name in names if self.knows_contexts else ():
            found |= await self._listed_subjects(f":{name}:") or set()
        return sorted(parse_subject(name) for name in found)

    async def _listed_subjects(self, prefix: str | None) -> set[str] | None:
        for visibility in (Visibility.WITH_DELETED, Visibility.ACTIVE):
            listed = await self._peer.listed(operations.subjects(prefix=prefix, visibility=visibility))
            if listed is not None:
                return set(listed)
        return None

    async def versions(self, subject: QualifiedSubject) -> Sequence[VersionFact | Unreadable]:
        """Return all versions of a subject, with the soft-deleted ones if the registry lists them."""
        known = self._kept.get(subject)
        if known is None:
            known = await self._read_versions(subject)
            while len(self._kept) >= _KEPT_SUBJECTS:
                del self._kept[next(iter(self._kept))]
            self._kept[subject] = known
        return [await self._settled(read) for read in known]

    async def _settled(self, read: _Read) -> VersionFact | Unreadable:
        item = read.item
        return item if isinstance(item, Unreadable) or read.is_canonical else await self._canonical.canonical(item)

    async def _find(self, key: Key) -> VersionFact | None:
        subject, number = key
        known = self._kept.get(subject)
        if known is None:
            known = self._kept[subject] = await self._read_versions(subject)
        return version_in([read.item for read in known], number)

    async def _read_versions(self, subject: QualifiedSubject) -> Sequence[_Read]:
        listings = (
            operations.versions(str(subject), visibility=visibility)
            for visibility in (Visibility.WITH_DELETED, Visibility.ACTIVE)
        )
        everything, active = [set(found or ()) for found in await gathered(*map(self._peer.listed, listings))]
        numbers, gone = sorted(everything | active), everything - active
        return await gathered(*(self._read_version(subject, number, deleted=number in gone) for number in numbers))

    async def _read_version(self, subject: QualifiedSubject, number: int, *, deleted: bool) -> _Read:
        visibility = Visibility.WITH_DELETED if deleted else Visibility.ACTIVE
        document = await self._peer.document(operations.version(str(subject), number, visibility=visibility))
        what = f"version {number} of subject {str(subject)!r}"
        if document is None:
            return _Read(Unreadable(f"{what} is listed, and cannot be read{_SOFTLY * deleted}"))
        named = parse_subject(str(document.get("subject", subject)))
        if named != subject:
            return _Read(Unreadable(f"{what} is hidden: the subject is an alias of {str(named)!r}"))
        try:
            content, schema_id = read_content(document), whole_number(document, "id")
        except RegistryError as error:
            return _Read(Unreadable(f"{what}: {error}"))
        self._max_ids[subject.context] = max(self._max_ids.get(subject.context, 0), schema_id)
        ts = document["ts"] if isinstance(document.get("ts"), int) else None
        fact = VersionFact(subject, number, schema_id, content, deleted=deleted, ts=ts)
        return _Read(fact, document.get("guid"))

    async def stated_guid(self, key: Key) -> str | None:
        """Return the registry's own fingerprint for a version that was read; None if it has none."""
        return next(
            (
                read.guid
                for read in self._kept.get(key[0], ())
                if isinstance(read.item, VersionFact) and read.item.key == key
            ),
            None,
        )

    async def bound_before(self, fact: VersionFact) -> list[Key]:
        """Return an empty list: the API does not show which of several ids of one content look-ups return."""
        del fact
        return []

    # --- contexts

    async def contexts(self) -> list[ContextFact]:
        """Return all contexts, each with the highest id that it reports or that was seen."""
        names = {*await self.context_names(), *self._max_ids}
        return [ContextFact(name, max_id) for name in sorted(names) if (max_id := await self._max_id(name))]

    async def _max_id(self, context: str) -> int:
        seen = self._max_ids.get(context, 0)
        if not seen:
            return 0
        document = await self._peer.document(
            operations.schema_by_id(seen, subject=context_scope(context), with_max_id=True)
        )
        found = None if document is None else document.get("maxId")
        return max(seen, found) if isinstance(found, int) else seen

    async def records(self) -> list[RecordFact | Unreadable]:
        """Return all keys, associations, bridges, sketches, contracts, and what was observed."""
        keys, associations = await self._keys.records(), await self._associations.records()
        ours = [
            *await self._bridges.records(),
            *await self._sketches.records(),
            *await self._contracts.records(),
            *await self._observations.records(),
        ]
        return [*keys, *associations, *ours]

    # --- settings

    async def settings(self) -> AsyncIterator[SettingsFact]:
        """Yield the config and mode of the top levels, of contexts and of subjects, aliases included."""
        scopes = await self.scopes()
        for start in range(0, len(scopes), _SCOPES_AT_A_TIME):
            batch = scopes[start : start + _SCOPES_AT_A_TIME]
            for found in await gathered(*map(self.settings_of, batch)):
                if found.config is not None or found.mode is not None:
                    yield found

    async def scopes(self) -> list[QualifiedSubject]:
        """Return all scopes that can have config and mode, as far as they can be listed."""
        names = await self.context_names()
        contexts = [QualifiedSubject(name, "") for name in names if name != DEFAULT_CONTEXT]
        above = [TOP_LEVEL, *([GLOBAL_LEVEL] if self.knows_contexts else []), *contexts]
        return [*above, *sorted({*await self.subjects(), *await self._aliases()})]

    async def _aliases(self) -> set[QualifiedSubject]:
        """Return the names that are aliases and have no versions of their own."""
        listing = operations.schemas(prefix=":*:", visibility=Visibility.WITH_DELETED, latest_only=True, aliases=True)
        listed = await self._peer.listed(listing) or ()
        return {parse_subject(str(name)) for item in listed for name in item.get("aliases") or ()}

    async def settings_of(self, scope: QualifiedSubject) -> SettingsFact:
        """Return the config and mode of one scope itself; defaults of the top levels count as not set."""
        place = scope_text(scope)
        if self._has_modes is None:
            self._has_modes = await self._peer.get(operations.mode(None, default_to_global=False)) is not None
        config, mode = await gathered(
            self._peer.get(operations.config(place, default_to_global=False)),
            self._peer.get(operations.mode(place, default_to_global=False)) if self._has_modes else _nothing(),
        )
        return SettingsFact(scope, self._config(scope, config), self._mode(scope, mode))

    def _config(self, scope: QualifiedSubject, document: Any) -> Config | None:
        if not isinstance(document, dict):
            return None
        try:
            config = read_config(RequestJson(document))
        except RegistryError as error:
            raise PeerRefused(
                f"the config of {str(scope) or 'the default context'!r} cannot be read: {error}"
            ) from None
        says_nothing = [Config()]
        if scope in {TOP_LEVEL, GLOBAL_LEVEL}:
            says_nothing.append(_DEFAULTS)
        if not self._has_modes and scope != TOP_LEVEL:
            says_nothing.append(_NONE)  # Apicurio, which has no modes, returns this for every subject without a config
        return None if config in says_nothing else config

    def _mode(self, scope: QualifiedSubject, document: Any) -> Mode | None:
        word = document.get("mode") if isinstance(document, dict) else None
        mode = Mode(word) if word in set(Mode) else None
        says_nothing = scope in {TOP_LEVEL, GLOBAL_LEVEL} or not self.knows_contexts  # there READWRITE is the default
        return None if mode is Mode.READWRITE and says_nothing else mode


async def _nothing() -> None:
    return None
