"""Changing tags, metadata or rules of a version, which makes a new version."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from counterfoil.registry.domain.access.rights import everything
from counterfoil.registry.domain.merging import merge_rule_sets, without_rules
from counterfoil.registry.domain.rules import check_rule_set
from counterfoil.registry.domain.versions import check_next_version
from counterfoil.registry.service.requests import NEXT_VERSION, SchemaRequest
from counterfoil.schema.entity import TagEdit
from counterfoil.schema.errors import InvalidRuleSet, OperationNotPermitted

if TYPE_CHECKING:
    from counterfoil.registry.domain.access.rights import Shown
    from counterfoil.registry.domain.content import Content
    from counterfoil.registry.service.catalog import Catalog
    from counterfoil.registry.service.registration import Registered, Registration
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.model import Metadata, RuleSet


@dataclass(frozen=True, slots=True)
class TagRequest:
    """What to change in a version: tags, metadata and rules; metadata and rules that are None are not changed.

    ``new_version``, if given, must be the number after the latest one.
    """

    edit: TagEdit = field(default_factory=TagEdit)
    new_version: int | None = None
    metadata: Metadata | None = None
    rule_set: RuleSet | None = None
    rules_to_merge: RuleSet | None = None
    rules_to_remove: tuple[str, ...] = ()


class TagVersion:
    """The use case of changing the tags of a version, which makes a new one."""

    def __init__(self, storage: Storage, *, registration: Registration, catalog: Catalog) -> None:
        self._storage = storage
        self._registration = registration
        self._catalog = catalog

    async def tag(
        self,
        subject: QualifiedSubject,
        version: int | None,
        request: TagRequest,
        *,
        shown: Shown = everything,
    ) -> Registered:
        """Make a new version of ``version`` (None: the latest) with other tags, and return it.

        The version may be one of another context with the same name, if that is ``shown`` to the caller.
        Raises, in this order: ``SubjectNotFound``, ``VersionNotFound``, ``InvalidRuleSet`` if rules are given in two
        ways, ``InvalidSchema`` for an unknown place, and the errors of a registration. ``new_version`` that is not the
        next one is ``InvalidSchema`` as well, after compatibility, and in place of what the mode forbids.
        """
        stored = (await self._catalog.version(subject, version, deleted=False, shown=shown)).content
        if request.rule_set is not None and (request.rules_to_merge is not None or request.rules_to_remove):
            raise InvalidRuleSet("ruleSet goes with neither rulesToMerge nor rulesToRemove; expected one or the other")
        check_rule_set(request.rules_to_merge)
        registered = SchemaRequest(
            text=stored.text,
            schema_type=stored.schema_type.value,
            references=stored.references,
            metadata=stored.metadata if request.metadata is None else request.metadata,
            rule_set=await self._rule_set(subject, request, stored, shown=shown),
            version=request.new_version,
            tag_edit=request.edit,
            is_complete=True,
        )
        try:
            return await self._registration.register(subject, registered)
        except OperationNotPermitted:
            if request.new_version is not None and request.new_version != NEXT_VERSION:
                check_next_version(subject, await self._storage.history(subject), request.new_version)
            raise

    async def _rule_set(
        self, subject: QualifiedSubject, request: TagRequest, stored: Content, *, shown: Shown
    ) -> RuleSet | None:
        """Merge rules into those of the version before the new one, or replace them by a whole rule set."""
        if request.rule_set is not None:
            return request.rule_set
        if request.rules_to_merge is None and not request.rules_to_remove:
            return stored.rule_set
        before = None if request.new_version is None else request.new_version - 1
        under = (await self._catalog.version(subject, before, deleted=False, shown=shown)).content.rule_set
        merged = under
        if request.rules_to_merge is not None:
            merged = request.rules_to_merge if under is None else merge_rule_sets(under, request.rules_to_merge)
        return None if merged is None else without_rules(merged, request.rules_to_remove)
