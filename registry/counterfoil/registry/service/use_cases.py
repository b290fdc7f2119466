"""All use cases over one storage, wired together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.registry.service.catalog import Catalog
from counterfoil.registry.service.compatibility import CompatibilityCheck, CompatibilityTest
from counterfoil.registry.service.deletion import Deletion
from counterfoil.registry.service.lookup import Lookup
from counterfoil.registry.service.matching import Matcher
from counterfoil.registry.service.reading import SchemaReader
from counterfoil.registry.service.registration import Registration
from counterfoil.registry.service.scopes import Scopes
from counterfoil.registry.service.settings import Settings
from counterfoil.registry.service.tag_version import TagVersion

if TYPE_CHECKING:
    from counterfoil.registry.service.storage import Storage

DEFAULT_MEMORY_CHARS = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class UseCases:
    """What the registry can be asked."""

    storage: Storage
    scopes: Scopes
    registration: Registration
    tagging: TagVersion
    lookup: Lookup
    catalog: Catalog
    deletion: Deletion
    settings: Settings
    compatibility: CompatibilityTest


def use_cases(storage: Storage, *, memory_chars: int = DEFAULT_MEMORY_CHARS) -> UseCases:
    """The use cases over ``storage``; ``memory_chars`` bounds the schemas that are kept parsed."""
    scopes = Scopes(storage)
    reader = SchemaReader(storage, memory_chars=memory_chars)
    matcher = Matcher(reader)
    check = CompatibilityCheck(reader)
    registration = Registration(storage, scopes=scopes, reader=reader, matcher=matcher, check=check)
    catalog = Catalog(storage, reader=reader)
    return UseCases(
        storage=storage,
        scopes=scopes,
        registration=registration,
        tagging=TagVersion(registration, catalog),
        lookup=Lookup(storage, scopes=scopes, reader=reader, matcher=matcher),
        catalog=catalog,
        deletion=Deletion(storage, scopes=scopes),
        settings=Settings(storage, scopes=scopes),
        compatibility=CompatibilityTest(storage, scopes=scopes, reader=reader, check=check),
    )
