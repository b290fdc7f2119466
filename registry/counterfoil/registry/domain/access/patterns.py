"""Patterns of resources: a name itself, a prefix, or a glob; there are no regular expressions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.access.resources import Kind
from counterfoil.schema.contexts import DEFAULT_CONTEXT

if TYPE_CHECKING:
    from counterfoil.registry.domain.access.resources import Resource

_ANY: Final = "*"
_NAMED: Final = (Kind.KEK, Kind.APPLICATION, Kind.ENVIRONMENT, Kind.BRIDGE)


class InvalidPattern(ValueError):
    """A text that is no pattern; the message says what is wrong and what would be right."""


@dataclass(frozen=True, slots=True)
class Glob:
    """A text with stars: ``parts`` are the literal texts around them, so that one part is a literal name.

    >>> [Glob.of("pay.*-value").matches(name) for name in ("pay.a-value", "pay.a-key", "pay.-value")]
    [True, False, True]
    """

    parts: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Glob:
        r"""Return the glob that ``text`` is: ``*`` is any text, ``\*`` is a star, ``\\`` is a backslash."""
        if "\\" not in text:
            return cls._between(text.split(_ANY))
        parts, position = [""], 0
        while position < len(text):
            character = text[position]
            if character == "\\" and text[position + 1 : position + 2] in {"*", "\\"}:
                position += 1
                parts[-1] += text[position]
            elif character == _ANY:
                parts.append("")
            else:
                parts[-1] += character
            position += 1
        return cls._between(parts)

    @classmethod
    def _between(cls, parts: list[str]) -> Glob:
        """Return the glob with stars between ``parts``; several stars in a row are one."""
        return cls((parts[0], *filter(None, parts[1:-1]), parts[-1]) if len(parts) > 1 else (parts[0],))

    @property
    def is_literal(self) -> bool:
        """Whether it matches one name alone."""
        return len(self.parts) == 1

    @property
    def is_prefix(self) -> bool:
        """Whether it matches all names with one beginning: its only star is at the end."""
        return len(self.parts) == 2 and not self.parts[1]  # noqa: PLR2004  a beginning and an end

    @property
    def matches_all(self) -> bool:
        """Whether it matches every name."""
        return self.parts == ("", "")

    def matches(self, name: str) -> bool:
        """Return whether it matches ``name``, in time that grows with its length alone."""
        first, *middle = self.parts
        if not middle:
            return name == first
        last = middle.pop()
        if len(name) < len(first) + len(last) or not name.startswith(first) or not name.endswith(last):
            return False
        position, end = len(first), len(name) - len(last)
        for part in middle:
            found = name.find(part, position, end)
            if found < 0:
                return False
            position = found + len(part)
        return True

    def __str__(self) -> str:
        return _ANY.join(part.replace("\\", "\\\\").replace(_ANY, "\\*") for part in self.parts)


_ALL: Final = Glob(("", ""))


@dataclass(frozen=True, slots=True)
class Pattern:
    """The resources that a rule is about. ``context`` is that of subjects, ``name`` is for all kinds but contexts.

    A pattern of the registry covers everything, one of contexts covers their subjects, too.
    """

    kind: Kind
    name: Glob = _ALL
    context: Glob = _ALL

    def covers(self, resource: Resource) -> bool:
        """Return whether ``resource`` is one of those, or inside one of those."""
        match self.kind:
            case Kind.REGISTRY:
                return True
            case Kind.CONTEXT:
                return resource.kind in {Kind.CONTEXT, Kind.SUBJECT} and self.context.matches(resource.context)
            case Kind.SUBJECT:
                return (
                    resource.kind is Kind.SUBJECT
                    and self.name.matches(resource.name)
                    and self.context.matches(resource.context)
                )
            case _:
                return resource.kind is self.kind and self.name.matches(resource.name)

    def __str__(self) -> str:
        match self.kind:
            case Kind.REGISTRY:
                return str(self.kind.value)
            case Kind.CONTEXT:
                return f"context:{self.context}"
            case Kind.SUBJECT:
                return _subject_text(str(self.context), str(self.name))
            case _:
                return f"{self.kind.value}:{self.name}"


EVERYTHING: Final = Pattern(Kind.REGISTRY)


def parse_pattern(text: str) -> Pattern:
    """Return the pattern that ``text`` is, as files and requests write it; raise ``InvalidPattern`` if it is none.

    >>> [str(parse_pattern(text)) for text in ("registry", "context:.c", "kek:pii-*", ":*:orders.*", "subject:kek:a")]
    ['registry', 'context:.c', 'kek:pii-*', ':*:orders.*', 'subject:kek:a']
    """
    if text == Kind.REGISTRY.value:
        return EVERYTHING
    word, colon, rest = text.partition(":")
    if colon and word == Kind.SUBJECT.value:
        return _subject_pattern(rest)
    if colon and word == Kind.CONTEXT.value:
        if not rest.startswith((".", _ANY)):
            raise InvalidPattern(f"{text!r} is no pattern: the name of a context begins with a dot, as in context:.a")
        return Pattern(Kind.CONTEXT, context=Glob.of(rest))
    for kind in _NAMED:
        if colon and word == kind.value:
            return Pattern(kind, Glob.of(_checked(rest, text)))
    return _subject_pattern(text)


def pattern_of(resource: Resource) -> Pattern:
    """Return the pattern of one resource, whose names have stars and backslashes as any other characters."""
    return Pattern(resource.kind, Glob((resource.name,)), Glob((resource.context,)))


def _subject_pattern(text: str) -> Pattern:
    if not text.startswith((":.", ":*:")):
        return Pattern(Kind.SUBJECT, Glob.of(_checked(text, text)), Glob((DEFAULT_CONTEXT,)))
    context, _, name = text[1:].partition(":")
    if not name:
        raise InvalidPattern(f"{text!r} is no pattern of subjects; context:{context} is the context itself")
    return Pattern(Kind.SUBJECT, Glob.of(name), Glob.of(context))


def _checked(name: str, text: str) -> str:
    if not name:
        raise InvalidPattern(f"{text!r} is no pattern: a name is missing; * is every name")
    return name


def _subject_text(context: str, name: str) -> str:
    """Return the text of a pattern of subjects; one that would read as another kind begins with its word."""
    if context != DEFAULT_CONTEXT:
        return f":{context}:{name}"
    word, colon, _ = name.partition(":")
    is_word = word in {kind.value for kind in Kind} and (colon or word == Kind.REGISTRY.value)
    return f"subject:{name}" if is_word else name


# --- two patterns


def contains(outer: Pattern, inner: Pattern) -> bool:
    """Return whether ``outer`` certainly covers all that ``inner`` covers."""
    if outer.kind is Kind.REGISTRY:
        return True
    if outer.kind is Kind.CONTEXT and inner.kind in {Kind.CONTEXT, Kind.SUBJECT}:
        return _glob_contains(outer.context, inner.context)
    return (
        outer.kind is inner.kind
        and _glob_contains(outer.name, inner.name)
        and (outer.kind is not Kind.SUBJECT or _glob_contains(outer.context, inner.context))
    )


def _glob_contains(outer: Glob, inner: Glob) -> bool:
    if outer == inner or outer.matches_all:
        return True
    if inner.is_literal:
        return outer.matches(inner.parts[0])
    return outer.is_prefix and inner.parts[0].startswith(outer.parts[0])


def may_overlap(one: Pattern, other: Pattern) -> bool:
    """Return False only if no resource is covered by both patterns.

    >>> [may_overlap(parse_pattern("pay.*"), parse_pattern(text)) for text in ("pay.ledger-*", "*-value", "orders.*")]
    [True, True, False]
    """
    if contains(one, other) or contains(other, one):
        return True
    kinds = {one.kind, other.kind}
    if len(kinds) > 1 and kinds != {Kind.CONTEXT, Kind.SUBJECT}:
        return False
    same_name = len(kinds) > 1 or _globs_may_overlap(one.name, other.name)
    return same_name and _globs_may_overlap(one.context, other.context)


def _globs_may_overlap(one: Glob, other: Glob) -> bool:
    if one.is_literal or other.is_literal:
        return one.matches(other.parts[0]) if other.is_literal else other.matches(one.parts[0])
    begins = one.parts[0].startswith(other.parts[0]) or other.parts[0].startswith(one.parts[0])
    ends = one.parts[-1].endswith(other.parts[-1]) or other.parts[-1].endswith(one.parts[-1])
    return begins and ends
