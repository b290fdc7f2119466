"""The rights of one caller: the decision by the rules, compiled and remembered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Final, NamedTuple, Protocol, TypeAlias

from counterfoil.registry.access.identity import CallerIdentity
from counterfoil.registry.access.resources import (
    AccessOperation,
    AccessResource,
    ResourceKind,
    allowed_by,
    subject_resource,
)
from counterfoil.registry.access.rules import (
    ANONYMOUS,
    EVERYBODY,
    EVERYTHING,
    AccessRule,
    Glob,
    OperationScope,
    ResourcePattern,
    contains,
    may_overlap,
)
from counterfoil.registry.store.name_ranges import (
    ALL_NAMES,
    Range,
    Ranges,
    difference,
    intersection,
    of_name,
    of_prefix,
    union,
)
from counterfoil.schema.contexts import QualifiedSubject

# The decision: may a caller do something to a resource, and which rule says so.


class AccessDecision(NamedTuple):
    """Whether something is allowed, and the rule that decided; None if no rule is about it."""

    allowed: bool
    by: AccessRule | None


def principals_of(identity: CallerIdentity) -> frozenset[str]:
    """Return the principals whose rules hold for a caller: the caller, its groups, and everybody if it has a name."""
    own = identity.groups | {identity.principal}
    return own if identity.principal == ANONYMOUS else own | {EVERYBODY}


def decide(
    rules: Iterable[AccessRule], principals: Collection[str], operation: AccessOperation, resource: AccessResource
) -> AccessDecision:
    """Return whether a caller with ``principals`` may do ``operation`` to ``resource``.

    A denying rule is stronger than every allowing one that is not final; without a rule it is not allowed. The order
    of the rules has no effect on the result.
    """
    allowing: AccessRule | None = None
    denying: AccessRule | None = None
    for rule in rules:
        if rule.principal in principals and operation in rule.affected and rule.pattern.covers(resource):
            if rule.is_final:
                return AccessDecision(allowed=True, by=rule)
            if rule.allows:
                allowing = allowing or rule
            else:
                denying = denying or rule
    return AccessDecision(allowed=denying is None and allowing is not None, by=denying or allowing)


# The rights of one caller: the rules about it, compiled, with the verdicts that were asked for remembered.

_MAX_REMEMBERED: Final = 10_000

Shown: TypeAlias = "Callable[[QualifiedSubject], bool]"
"""Whether a caller may see a subject: what it may not see is as if it were absent."""


def everything(_: QualifiedSubject) -> bool:
    """Return True: for callers who may see all subjects."""
    return True


Knows: TypeAlias = "Callable[[str], bool]"
"""Returns whether a caller may know the application of a name."""


def knows_all(_: str) -> bool:
    """Return True: for callers who may know all applications."""
    return True


class Needs(NamedTuple):
    """The need of a stored answer: an operation on one of some resources. ``key`` is the same as a text."""

    operation: AccessOperation
    resources: tuple[AccessResource, ...]
    key: str

    @classmethod
    def of(cls, operation: AccessOperation, *resources: AccessResource) -> Needs:
        """Return the need of ``operation`` on one of ``resources``."""
        return cls(operation, resources, "\n".join([operation.value, *map(str, resources)]))


EVERY_CALLER: Final = Needs.of(AccessOperation.DESCRIBE)
"""The need of an answer that is stored for each class of callers with equal rules."""


class NameRanges(NamedTuple):
    """The subjects of a context that a caller may do something to.

    Unless ``is_exact``, some of the names are to be left out, one by one: there are globs.
    """

    ranges: Ranges
    is_exact: bool


class Rights:
    """The rights of a caller: the ``rules`` about its ``principals``, limited to ``scopes`` if it has any.

    It is made once for a caller, and made anew when rules change.
    """

    def __init__(
        self, rules: Iterable[AccessRule], principals: Collection[str], scopes: Sequence[OperationScope] | None = None
    ) -> None:
        self._rules = tuple(rule for rule in rules if rule.principal in principals)
        self._principals = frozenset(principals)
        self._scopes = None if scopes is None else tuple((allowed_by(each.operations), each.pattern) for each in scopes)
        self._verdicts: dict[tuple[AccessOperation, AccessResource] | str, bool] = {}
        self._names: dict[tuple[AccessOperation, str], NameRanges] = {}
        self.key = self._key()
        """A digest of the rules: callers with the same one see the same lists. It is empty for those who see all."""

    @cached_property
    def digest(self) -> bytes:
        """A digest of all rules and scopes of the caller: callers with the same one may do the same."""
        return self._digest()

    def decision(self, operation: AccessOperation, resource: AccessResource) -> AccessDecision:
        """Return whether ``operation`` is allowed by the rules, whatever the scopes are, and the rule that decides."""
        return decide(self._rules, self._principals, operation, resource)

    def in_scope(self, operation: AccessOperation, resource: AccessResource) -> bool:
        """Return whether the scopes of the caller's token include ``operation`` on ``resource``."""
        return self._scopes is None or any(
            operation in operations and pattern.covers(resource) for operations, pattern in self._scopes
        )

    def allows(self, operation: AccessOperation, resource: AccessResource) -> bool:
        """Return whether the caller may do ``operation`` to ``resource``."""
        key = (operation, resource)
        found = self._verdicts.get(key)
        if found is None:
            found = self.in_scope(operation, resource) and self.decision(operation, resource).allowed
            self._remember(key, verdict=found)
        return found

    def holds(self, operation: AccessOperation, pattern: ResourcePattern) -> bool:
        """Return whether the caller certainly may do ``operation`` to all that ``pattern`` covers."""
        if self._scopes is not None and not any(
            operation in operations and contains(each, pattern) for operations, each in self._scopes
        ):
            return False
        about = [rule for rule in self._rules if operation in rule.affected]
        allowing = [rule for rule in about if rule.allows and contains(rule.pattern, pattern)]
        is_denied = any(not rule.allows and may_overlap(rule.pattern, pattern) for rule in about)
        return any(rule.is_final or not is_denied for rule in allowing)

    @property
    def rules(self) -> tuple[AccessRule, ...]:
        """The rules about the caller."""
        return self._rules

    def meets(self, needs: Needs) -> bool:
        """Return whether the caller has the right that a stored answer needs."""
        found = self._verdicts.get(needs.key)
        if found is None:
            found = any(self.allows(needs.operation, resource) for resource in needs.resources)
            self._remember(needs.key, verdict=found)
        return found

    def _remember(self, key: tuple[AccessOperation, AccessResource] | str, *, verdict: bool) -> None:
        if len(self._verdicts) >= _MAX_REMEMBERED:
            self._verdicts.clear()
        self._verdicts[key] = verdict

    # --- lists

    def names(self, operation: AccessOperation, context: str) -> NameRanges:
        """Return the subjects of ``context`` to which the caller may do ``operation``."""
        key = (operation, context)
        found = self._names.get(key)
        if found is None:
            if len(self._names) >= _MAX_REMEMBERED:
                self._names.clear()
            found = self._names[key] = self._ranges(operation, context)
        return found

    def has_on_context(self, operation: AccessOperation) -> bool:
        """Return whether a rule allows ``operation`` on a context at least, and the scopes do not rule that out."""
        kinds = {ResourceKind.CONTEXT, ResourceKind.REGISTRY}
        in_scope = self._scopes is None or any(
            operation in operations and pattern.kind in kinds for operations, pattern in self._scopes
        )
        return in_scope and any(
            rule.allows and operation in rule.affected and rule.pattern.kind in kinds for rule in self._rules
        )

    def sees_context(self, context: str) -> bool:
        """Return whether the caller has a right on a context, or on a subject in it."""
        is_seen = self.allows(AccessOperation.DESCRIBE, AccessResource(ResourceKind.CONTEXT, context=context))
        return is_seen or bool(self.names(AccessOperation.DESCRIBE, context).ranges)

    def _ranges(self, operation: AccessOperation, context: str) -> NameRanges:
        rules = [rule for rule in self._rules if operation in rule.affected]
        final = _covered([rule.pattern for rule in rules if rule.is_final], context)
        allowed = _covered([rule.pattern for rule in rules if rule.allows and not rule.is_final], context)
        denied = _covered([rule.pattern for rule in rules if not rule.allows], context)
        least = union([*difference(allowed.least, denied.most), *final.least])
        most = union([*difference(allowed.most, denied.least), *final.most])
        if self._scopes is not None:
            scopes = _covered([pattern for operations, pattern in self._scopes if operation in operations], context)
            least, most = intersection(least, scopes.least), intersection(most, scopes.most)
        return NameRanges(most, least == most)

    def _key(self) -> bytes:
        describing = [rule for rule in self._rules if AccessOperation.DESCRIBE in rule.affected]
        sees_all = any(rule.allows and rule.pattern == EVERYTHING for rule in describing)
        is_final = any(rule.is_final and rule.pattern == EVERYTHING for rule in describing)
        if self._scopes is None and (is_final or (sees_all and all(rule.allows for rule in describing))):
            return b""
        return self._digest()

    def _digest(self) -> bytes:
        lines = [(rule.allows, rule.is_final, *_texts(rule.operations, rule.pattern)) for rule in self._rules]
        scopes = [_texts(operations, pattern) for operations, pattern in self._scopes or ()]
        text = repr((sorted(set(lines)), self._scopes is None, sorted(set(scopes))))
        return sha256(text.encode("utf-8", "surrogatepass")).digest()


class Visible(NamedTuple):
    """The subjects that a caller sees in lists: it may do ``operation`` to them."""

    rights: Rights
    operation: AccessOperation

    def names(self, context: str) -> NameRanges:
        """Return the names in ``context``."""
        return self.rights.names(self.operation, context)

    def shows(self, subject: QualifiedSubject) -> bool:
        """Return whether ``subject`` is one of them."""
        return self.rights.allows(self.operation, subject_resource(subject))


def _texts(operations: Iterable[AccessOperation], pattern: ResourcePattern) -> tuple[str, str]:
    return ",".join(sorted(operation.value for operation in operations)), str(pattern)


class _Bounds(NamedTuple):
    """Subjects of a context that are certainly covered by patterns, and others that may be."""

    least: Ranges
    most: Ranges


def _covered(patterns: Iterable[ResourcePattern], context: str) -> _Bounds:
    """Return the subjects of ``context`` that one of ``patterns`` covers. A glob may cover all with its beginning."""
    found: list[Range] = []
    begun: list[Range] = []
    for pattern in patterns:
        if pattern.kind is ResourceKind.REGISTRY or (
            pattern.kind is ResourceKind.CONTEXT and pattern.context.matches(context)
        ):
            found += ALL_NAMES
        elif pattern.kind is ResourceKind.SUBJECT and pattern.context.matches(context):
            is_whole = pattern.name.is_literal or pattern.name.is_prefix
            (found if is_whole else begun).append(_range_of(pattern.name))
    return _Bounds(union(found), union([*found, *begun]))


def _range_of(glob: Glob) -> Range:
    return of_name(glob.parts[0]) if glob.is_literal else of_prefix(glob.parts[0])


# The caller of a request: who it is, and what it may do.

CALLER: Final = "counterfoil.caller"
"""The key in the scope of a request for its :class:`Caller`; absent where no authentication is set up."""


RENEWAL: Final = "counterfoil.renewal"
"""The key in the scope of a request whose response may last for hours: a function that examines its caller again."""

Renewal: TypeAlias = "Callable[[], Awaitable[Caller | None]]"
"""Returns the caller as it is now; None if its credentials are no longer right."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller with its rights. Without an identity it is a request without credentials to an open path."""

    identity: CallerIdentity | None
    rights: Rights
    rules: Sequence[AccessRule] = ()
    """All rules that the rights were made of."""

    @classmethod
    def of(cls, identity: CallerIdentity, rules: Sequence[AccessRule]) -> Caller:
        """Return the caller with the rights that ``rules`` give to it now."""
        return cls(identity, Rights(rules, principals_of(identity), identity.scopes), rules)

    @property
    def is_member(self) -> bool:
        """Whether the caller has proven who it is."""
        return self.identity is not None and self.identity.principal != ANONYMOUS

    @property
    def name(self) -> str:
        """The caller's principal, for logs."""
        return "-" if self.identity is None else self.identity.principal


NOBODY: Final = Caller(None, Rights((), ()))
"""The caller of a request to an open path without credentials."""


# Who looks at what a use case returns.


class Viewer(Protocol):
    """The rights of a caller, for use cases whose results are made of what it may know."""

    @property
    def readable(self) -> Shown:
        """The function that says whether the caller may read a subject."""

    def filters(self) -> None:
        """Declare that the result leaves out everything that the caller may not know."""

    def may(self, operation: AccessOperation, resource: AccessResource) -> bool:
        """Return whether the caller may do ``operation`` to ``resource``."""

    def may_read(self, subject: QualifiedSubject) -> bool:
        """Return whether the caller may read a subject."""

    def may_describe(self, subject: QualifiedSubject) -> bool:
        """Return whether the caller may know that a subject exists."""

    def may_know_application(self, name: str) -> bool:
        """Return whether the caller may know that an application exists."""

    def may_see_context(self, context: str) -> bool:
        """Return whether the caller has a right on a context, or on a subject in it."""

    def visible(self, operation: AccessOperation) -> Visible | None:
        """Return the subjects that the caller sees in lists; None if it sees all."""

    def denial(
        self, operation: AccessOperation, resource: AccessResource | None = None, *, named: AccessResource | None = None
    ) -> Exception:
        """Return the error for an operation that the caller may not do to the request's resource or to ``named``."""
