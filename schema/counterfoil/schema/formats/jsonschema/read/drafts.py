"""The drafts of JSON Schema: which one a document uses, and the names of its keywords.

Source: the core specifications of draft-04, draft-06, draft-07, 2019-09 and 2020-12.
"""

from __future__ import annotations

from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping


class Draft(Enum):
    """A version of JSON Schema; the value is the URI of its metaschema, without a fragment. Ordered by age."""

    DRAFT_4 = "http://json-schema.org/draft-04/schema"
    DRAFT_6 = "http://json-schema.org/draft-06/schema"
    DRAFT_7 = "http://json-schema.org/draft-07/schema"
    DRAFT_2019_09 = "https://json-schema.org/draft/2019-09/schema"
    DRAFT_2020_12 = "https://json-schema.org/draft/2020-12/schema"

    @cached_property
    def is_modern(self) -> bool:
        """Whether it is 2019-09 or later, with ``$anchor``, ``$defs`` and keywords beside ``$ref``."""
        return self in (Draft.DRAFT_2019_09, Draft.DRAFT_2020_12)

    @cached_property
    def id_keyword(self) -> str:
        """The keyword for the URI of a schema: ``id`` in draft-04, ``$id`` since."""
        return "id" if self is Draft.DRAFT_4 else "$id"

    @property
    def validator(self) -> str:
        """The name of its validator in the packages jsonschema and jsonschema_rs, such as ``Draft201909Validator``."""
        return f"{self.name.title().replace('_', '')}Validator"


DEFAULT_DRAFT: Final = Draft.DRAFT_7
"""The draft of a document without ``$schema``, or with an unknown one."""

_DRAFT_BY_URI: Final[Mapping[str, Draft]] = {
    f"{scheme}://{draft.value.partition('://')[2]}": draft for draft in Draft for scheme in ("http", "https")
}


def draft_of(document: Any, *, default: Draft = DEFAULT_DRAFT) -> Draft:
    """Return the draft that a document's ``$schema`` names; ``default`` if it is absent or unknown.

    >>> draft_of({"$schema": "http://json-schema.org/draft-04/schema#"})
    <Draft.DRAFT_4: 'http://json-schema.org/draft-04/schema'>
    """
    named = document.get("$schema") if isinstance(document, dict) else None
    return _DRAFT_BY_URI.get(named.strip().rstrip("#"), default) if isinstance(named, str) else default


def metaschema(uri: str) -> Any | None:
    """Return the document of a draft's metaschema, or of one of its vocabularies, by URI; None for any other URI.

    The documents are in an installed package; nothing is fetched.
    """
    if "json-schema.org/" not in uri:
        return None
    known = specifications()
    resource = known.get(uri) or known.get(uri + "#")
    return resource.contents if resource else None


def specifications() -> Any:
    """Return the registry of the package ``referencing`` that contains the metaschemas of every draft."""
    from jsonschema import validators

    return validators.SPECIFICATIONS  # type: ignore[attr-defined]  # the stubs leave it out
