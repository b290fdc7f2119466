"""The topics of contracts before and after a change, with what is offered of each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from counterfoil.schema.agreements.model import major_of
from counterfoil.schema.reads.model import Offer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.contracts.baseline import Baseline
    from counterfoil.contracts.consumers.agreements import Agreements, Links
    from counterfoil.contracts.tree import ReadSchema
    from counterfoil.schema.agreements.model import Contract, Promise


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic of a contract on one side: the promise, the contract's file, and the files of the schemas."""

    path: str
    contract: Contract
    promise: Promise
    value_path: str | None
    key_path: str | None


def topics_of(path: str, contract: Contract, links: Links) -> tuple[Topic, ...]:
    """Return the topics of the contract at ``path``."""
    return tuple(
        Topic(path, contract, each, links.value_of(path, each), links.key_of(path, each)) for each in contract.promises
    )


@dataclass(frozen=True)
class TopicChange:
    """A topic after a change, and before it; ``before`` is None for a new one."""

    before: Topic | None
    after: Topic
    schemas: Schemas

    @cached_property
    def is_changed(self) -> bool:
        """Whether the contract's file or a schema is another one than before."""
        before, after = self.before, self.after
        if before is None or before.promise != after.promise:
            return True
        pairs = ((before.value_path, after.value_path), (before.key_path, after.key_path))
        return any(self.schemas.is_changed(*pair) for pair in pairs)

    @cached_property
    def later(self) -> Offer | None:
        """What is offered after the change; None without a valid schema."""
        value = self.schemas.later(self.after.value_path)
        if value is None or value.schema is None:
            return None
        key = self.schemas.later(self.after.key_path)
        return Offer(value.schema, self.after.promise, key=key.schema if key is not None else None)

    @cached_property
    def earlier(self) -> Offer | None:
        """What was offered before the change; None where nothing was, or nothing is known of it."""
        before = self.before
        if before is None:
            return None
        value = self.schemas.earlier(before.value_path, self.after.value_path)
        if value is None or value.schema is None:
            return None
        key = self.schemas.earlier(before.key_path, self.after.key_path)
        return Offer(value.schema, before.promise, key=key.schema if key is not None else None)


@dataclass(frozen=True, slots=True)
class RemovedTopics:
    """Topics that a contract had, and has no longer, with the contract before and its path; none: it is gone itself."""

    path: str
    contract: Contract
    promises: tuple[Promise, ...]


class Schemas:
    """The schemas of both sides, which are parsed when they are needed.

    ``before`` are the links of the earlier side; None for a baseline without files, which knows only what was before a
    file of the head.
    """

    def __init__(self, head: Links, before: Links | None, baseline: Baseline) -> None:
        self.head = head
        self.before = before
        self._baseline = baseline

    def is_changed(self, before: str | None, after: str | None) -> bool:
        """Return whether the schema at ``after`` is another one than that at ``before``; nothing is parsed."""
        if before is None or after is None:
            return before != after
        if self.before is None:
            first = self.earlier(before, after)
            return first is None or first.content != self.head.tree.content(after)
        return self.before.tree.content(before) != self.head.tree.content(after)

    def later(self, path: str | None) -> ReadSchema | None:
        """Return the schema after the change."""
        return None if path is None else self.head.tree.read(path)

    def earlier(self, before: str | None, after: str | None) -> ReadSchema | None:
        """Return the schema before the change, which is the same object where nothing changed."""
        if after is not None:
            history = self._baseline.history(after, is_transitive=False)
            if history and (self.before is None or history[0].path == before):
                return history[0]
        if before is None or self.before is None:
            return None
        return self.before.tree.read(before)


def changes_of(after: tuple[Topic, ...], before: tuple[Topic, ...] | None, schemas: Schemas) -> Iterator[TopicChange]:
    """Yield the topics of a contract, each with itself before the change; ``before`` is None for a new contract.

    Topics are the same if they have the same subject, or else the same name.
    """
    by_subject = {each.promise.subject: each for each in before or ()}
    by_name = {each.promise.name: each for each in before or ()}
    for each in after:
        yield TopicChange(by_subject.get(each.promise.subject) or by_name.get(each.promise.name), each, schemas)


def removed_topics(after: Agreements, before: Agreements) -> Iterator[RemovedTopics]:
    """Yield what a side has no longer, by contract.

    A topic is kept if the contract still has it. A new major version may have another topic in its place, with the same
    subject or the same name.
    """
    for contract_id, (path, contract) in before.contracts.items():
        kept = after.contracts.get(contract_id)
        if kept is None:
            yield RemovedTopics(path, contract, ())
            continue
        promises = kept[1].promises
        is_new_major = major_of(kept[1].version) != major_of(contract.version)
        topics = {each.topic for each in promises}
        names = {each.subject for each in promises} | {each.name for each in promises}
        gone = tuple(
            each
            for each in contract.promises
            if each.topic not in topics and not (is_new_major and {each.subject, each.name} & names)
        )
        if gone:
            yield RemovedTopics(path, contract, gone)
