"""Contexts: the name spaces of a registry, and subject names with a context.

``foo`` is the subject ``foo`` of the default context ``.``; ``:.ctx:foo`` is the subject ``foo`` of the context
``.ctx``; ``:.ctx:`` is that context itself.

Source: Confluent Schema Registry's documentation of schema contexts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

DEFAULT_CONTEXT: Final = "."
"""The context of every name without one."""

GLOBAL_CONTEXT: Final = ".__GLOBAL"
"""The level of config and mode above all contexts; it is not a context."""

_MARK = ":."
_WILDCARD = ":*:"


@dataclass(frozen=True, slots=True, order=True)
class QualifiedSubject:
    """A subject's name inside a context; an empty ``name`` is the context itself.

    ``str()`` is the form that a registry returns: plain in the default context, ``:.ctx:name`` elsewhere.
    """

    context: str
    name: str

    def __str__(self) -> str:
        return self.name if self.context == DEFAULT_CONTEXT else f":{self.context}:{self.name}"

    @property
    def is_context(self) -> bool:
        """Whether this names a context and no subject in it."""
        return not self.name

    @property
    def is_default(self) -> bool:
        """Whether this is in the default context."""
        return self.context == DEFAULT_CONTEXT

    @property
    def is_global(self) -> bool:
        """Whether this is in the level above all contexts, which has config and mode only."""
        return self.context == GLOBAL_CONTEXT


TOP_LEVEL: Final = QualifiedSubject(DEFAULT_CONTEXT, "")
"""The default context itself: its config and mode are those without a subject."""

GLOBAL_LEVEL: Final = QualifiedSubject(GLOBAL_CONTEXT, "")
"""The last fallback of config and mode."""


@dataclass(frozen=True, slots=True)
class SubjectPrefix:
    """The beginning of the names to list. ``context`` is None for all contexts."""

    context: str | None
    name: str


def parse_subject(text: str, *, context: str = DEFAULT_CONTEXT) -> QualifiedSubject:
    """Return the subject that ``text`` names; a name without a context is in ``context``.

    Every text is a name: ``:foo`` is the subject ``:foo``, since a context is marked by a colon and a dot.
    """
    if not text.startswith(_MARK):
        return QualifiedSubject(context, text)
    found, _, name = text[1:].partition(":")
    return QualifiedSubject(found, name)


def parse_prefix(text: str) -> SubjectPrefix:
    """Return the prefix that ``text`` names: ``:*:foo`` in all contexts, else in the context of the name."""
    if text.startswith(_WILDCARD):
        return SubjectPrefix(None, text.removeprefix(_WILDCARD))
    subject = parse_subject(text)
    return SubjectPrefix(subject.context, subject.name)
