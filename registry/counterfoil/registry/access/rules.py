"""Rules of access: patterns of resources, their coverage, and the rules in force."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Final

from counterfoil.registry.access.resources import AccessOperation, AccessResource, ResourceKind, allowed_by, denied_by
from counterfoil.schema.contexts import DEFAULT_CONTEXT

# Patterns of resources: a name itself, a prefix, or a glob; there are no regular expressions.

_ANY: Final = "*"
_NAMED: Final = (ResourceKind.KEK, ResourceKind.APPLICATION, ResourceKind.ENVIRONMENT, ResourceKind.BRIDGE)


class InvalidPattern(ValueError):
    """A text that is no pattern; the message names the mistake and its correction."""


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
class ResourcePattern:
    """The resources that a rule is about. ``context`` is that of subjects, ``name`` is for all kinds but contexts.

    A pattern of the registry covers everything, one of contexts covers their subjects, too.
    """

    kind: ResourceKind
    name: Glob = _ALL
    context: Glob = _ALL

    def covers(self, resource: AccessResource) -> bool:
        """Return whether ``resource`` is one that the pattern covers, or inside such a one."""
        match self.kind:
            case ResourceKind.REGISTRY:
                return True
            case ResourceKind.CONTEXT:
                return resource.kind in {ResourceKind.CONTEXT, ResourceKind.SUBJECT} and self.context.matches(
                    resource.context
                )
            case ResourceKind.SUBJECT:
                return (
                    resource.kind is ResourceKind.SUBJECT
                    and self.name.matches(resource.name)
                    and self.context.matches(resource.context)
                )
            case _:
                return resource.kind is self.kind and self.name.matches(resource.name)

    def __str__(self) -> str:
        match self.kind:
            case ResourceKind.REGISTRY:
                return str(self.kind.value)
            case ResourceKind.CONTEXT:
                return f"context:{self.context}"
            case ResourceKind.SUBJECT:
                return _subject_text(str(self.context), str(self.name))
            case _:
                return f"{self.kind.value}:{self.name}"


EVERYTHING: Final = ResourcePattern(ResourceKind.REGISTRY)


def parse_pattern(text: str) -> ResourcePattern:
    """Return the pattern that ``text`` is, as files and requests write it; raise ``InvalidPattern`` if it is none.

    >>> [str(parse_pattern(text)) for text in ("registry", "context:.c", "kek:pii-*", ":*:orders.*", "subject:kek:a")]
    ['registry', 'context:.c', 'kek:pii-*', ':*:orders.*', 'subject:kek:a']
    """
    if text == ResourceKind.REGISTRY.value:
        return EVERYTHING
    word, colon, rest = text.partition(":")
    if colon and word == ResourceKind.SUBJECT.value:
        return _subject_pattern(rest)
    if colon and word == ResourceKind.CONTEXT.value:
        if not rest.startswith((".", _ANY)):
            raise InvalidPattern(f"{text!r} is no pattern: the name of a context begins with a dot, as in context:.a")
        return ResourcePattern(ResourceKind.CONTEXT, context=Glob.of(rest))
    for kind in _NAMED:
        if colon and word == kind.value:
            return ResourcePattern(kind, Glob.of(_checked(rest, text)))
    return _subject_pattern(text)


def pattern_of(resource: AccessResource) -> ResourcePattern:
    """Return the pattern of one resource, whose names have stars and backslashes as any other characters."""
    return ResourcePattern(resource.kind, Glob((resource.name,)), Glob((resource.context,)))


def _subject_pattern(text: str) -> ResourcePattern:
    if not text.startswith((":.", ":*:")):
        return ResourcePattern(ResourceKind.SUBJECT, Glob.of(_checked(text, text)), Glob((DEFAULT_CONTEXT,)))
    context, _, name = text[1:].partition(":")
    if not name:
        raise InvalidPattern(f"{text!r} is no pattern of subjects; context:{context} is the context itself")
    return ResourcePattern(ResourceKind.SUBJECT, Glob.of(name), Glob.of(context))


def _checked(name: str, text: str) -> str:
    if not name:
        raise InvalidPattern(f"{text!r} is no pattern: a name is missing; * is every name")
    return name


def _subject_text(context: str, name: str) -> str:
    """Return the text of a pattern of subjects; one that would read as another kind begins with its word."""
    if context != DEFAULT_CONTEXT:
        return f":{context}:{name}"
    word, colon, _ = name.partition(":")
    is_word = word in {kind.value for kind in ResourceKind} and (colon or word == ResourceKind.REGISTRY.value)
    return f"subject:{name}" if is_word else name


# --- two patterns


def contains(outer: ResourcePattern, inner: ResourcePattern) -> bool:
    """Return whether ``outer`` certainly covers all that ``inner`` covers."""
    if outer.kind is ResourceKind.REGISTRY:
        return True
    if outer.kind is ResourceKind.CONTEXT and inner.kind in {ResourceKind.CONTEXT, ResourceKind.SUBJECT}:
        return _glob_contains(outer.context, inner.context)
    return (
        outer.kind is inner.kind
        and _glob_contains(outer.name, inner.name)
        and (outer.kind is not ResourceKind.SUBJECT or _glob_contains(outer.context, inner.context))
    )


def _glob_contains(outer: Glob, inner: Glob) -> bool:
    if outer == inner or outer.matches_all:
        return True
    if inner.is_literal:
        return outer.matches(inner.parts[0])
    return outer.is_prefix and inner.parts[0].startswith(outer.parts[0])


def may_overlap(one: ResourcePattern, other: ResourcePattern) -> bool:
    """Return False only if no resource is covered by both patterns.

    >>> [may_overlap(parse_pattern("pay.*"), parse_pattern(text)) for text in ("pay.ledger-*", "*-value", "orders.*")]
    [True, True, False]
    """
    if contains(one, other) or contains(other, one):
        return True
    kinds = {one.kind, other.kind}
    if len(kinds) > 1 and kinds != {ResourceKind.CONTEXT, ResourceKind.SUBJECT}:
        return False
    same_name = len(kinds) > 1 or _globs_may_overlap(one.name, other.name)
    return same_name and _globs_may_overlap(one.context, other.context)


def _globs_may_overlap(one: Glob, other: Glob) -> bool:
    if one.is_literal or other.is_literal:
        return one.matches(other.parts[0]) if other.is_literal else other.matches(one.parts[0])
    begins = one.parts[0].startswith(other.parts[0]) or other.parts[0].startswith(one.parts[0])
    ends = one.parts[-1].endswith(other.parts[-1]) or other.parts[-1].endswith(one.parts[-1])
    return begins and ends


# Rules: who may, or may not, do what to which resources. A binding is a rule with the operations of a role.

ANONYMOUS: Final = "User:ANONYMOUS"
"""The principal of requests without credentials; it has what rules give to it by this name alone."""

EVERYBODY: Final = "User:*"
"""In rules: every caller but the anonymous one."""


@dataclass(frozen=True, slots=True)
class AccessRule:
    """One rule about ``principal``: the text ``User:NAME``, ``Service:NAME``, ``Group:NAME``, or ``User:*``.

    ``source`` is where it was written, for callers who ask why: a file with its line, or the id of a binding.
    ``is_final``: no denying rule has an effect on its permission; the rules of the administrators in the file are.
    """

    principal: str
    allows: bool
    operations: frozenset[AccessOperation]
    pattern: ResourcePattern
    source: str = ""
    is_final: bool = False

    @property
    def affected(self) -> frozenset[AccessOperation]:
        """The operations that it allows or denies, with those that follow from them."""
        return allowed_by(self.operations) if self.allows else denied_by(self.operations)


@dataclass(frozen=True, slots=True)
class OperationScope:
    """The limit of a token: these operations, and all that they imply, on these resources."""

    operations: frozenset[AccessOperation]
    pattern: ResourcePattern


def lets_anonymous_in(rules: Iterable[AccessRule]) -> bool:
    """Return whether requests without credentials are let in: some rule gives rights to them."""
    return any(rule.allows and rule.principal == ANONYMOUS for rule in rules)


def allow(
    principal: str, operations: Iterable[AccessOperation], on: ResourcePattern, *, source: str = ""
) -> AccessRule:
    """Return the rule that ``principal`` may do ``operations``, and all that they imply, to ``on``."""
    return AccessRule(principal, allows=True, operations=frozenset(operations), pattern=on, source=source)


def deny(principal: str, operations: Iterable[AccessOperation], on: ResourcePattern, *, source: str = "") -> AccessRule:
    """Return the rule that ``principal`` may not do ``operations``, nor any that implies them, to ``on``."""
    return AccessRule(principal, allows=False, operations=frozenset(operations), pattern=on, source=source)


def administrator(principal: str, *, source: str = "") -> AccessRule:
    """Return the rule that ``principal`` may do everything, whatever is denied."""
    return AccessRule(
        principal, allows=True, operations=frozenset(AccessOperation), pattern=EVERYTHING, source=source, is_final=True
    )


# Names of principals: ``User:NAME``, ``Service:NAME``, ``Group:NAME``.

MAX_NAME_CHARACTERS: Final = 256
USER: Final = "User:"
SERVICE: Final = "Service:"
GROUP: Final = "Group:"
STORE_OWNER: Final = "User:whoever owns the store"
"""The author of what commands do to a store that they open themselves."""

_RESERVED: Final = frozenset({ANONYMOUS, EVERYBODY, STORE_OWNER})


def is_user_name(text: str) -> bool:
    """Return whether ``text`` can be the name of a user: a name, and none that has a meaning of its own in rules.

    >>> is_user_name("alice"), is_user_name("ANONYMOUS"), is_user_name("*")
    (True, False, False)
    """
    return is_name(text) and USER + text not in _RESERVED


def is_name(text: str) -> bool:
    """Return whether ``text`` can be the name of a principal: 1 to 256 printable characters, not blank at the ends.

    >>> is_name("alice"), is_name(""), is_name(chr(0)), is_name(" alice")
    (True, False, False, False)
    """
    return 0 < len(text) <= MAX_NAME_CHARACTERS and text.isprintable() and text == text.strip()


# The rules in force, as one value: a new value takes the place of all of the old one.

_DIGITS: Final = 16


@dataclass(frozen=True)
class RulesInForce:
    """The rules, and the paths that need no credentials besides the paths of health; these are compared byte for byte.

    One that ends with a slash stands for the paths with one more segment.
    """

    rules: tuple[AccessRule, ...] = ()
    open_paths: frozenset[bytes] = frozenset()

    @cached_property
    def open_folders(self) -> frozenset[bytes]:
        """The open paths that stand for others."""
        return frozenset(path for path in self.open_paths if path.endswith(b"/"))

    def is_open(self, path: bytes | None) -> bool:
        """Return whether a path needs no credentials."""
        return path in self.open_paths or (path is not None and path[: path.rfind(b"/") + 1] in self.open_folders)

    @cached_property
    def digest(self) -> str:
        """The beginning of a digest of both: servers with the same one decide alike, wherever rules are written."""
        rules = {
            (
                rule.principal,
                rule.allows,
                rule.is_final,
                str(rule.pattern),
                *sorted(operation.value for operation in rule.operations),
            )
            for rule in self.rules
        }
        text = repr((sorted(rules), sorted(self.open_paths)))
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


# A rule as a sentence, for answers and warnings.


def rule_text(rule: AccessRule) -> str:
    """Return the text of a rule, without its place."""
    if rule.is_final:
        return f"{rule.principal} is one of the admins"
    operations = ", ".join(sorted(operation.value for operation in rule.operations))
    return f"{'allow' if rule.allows else 'deny'} {operations} to {rule.principal} on {rule.pattern}"
