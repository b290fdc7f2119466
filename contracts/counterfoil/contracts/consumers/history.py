"""The offers of the commit in which a consumer appeared, and the topics that were there at the same time, from git.

Of a consumer that declares no schema of its own it is taken that it reads with the schemas that the branch had when its
version appeared there, with what it expects now. These are files of commits, which are read only where a topic has
changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.contracts.consumers.agreements import Agreements, Consumer, Links, read_file
from counterfoil.contracts.consumers.pairs import topics_of
from counterfoil.contracts.errors import BaselineNotFound, GitFailed
from counterfoil.schema.agreements.identity import part_hash
from counterfoil.schema.agreements.model import Application, Contract, major_of
from counterfoil.schema.reads.model import Offer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from counterfoil.contracts.consumers.agreements import AgreementFile
    from counterfoil.contracts.consumers.pairs import Topic
    from counterfoil.contracts.past import CommitChanges, Past
    from counterfoil.contracts.project.model import Project
    from counterfoil.contracts.tree import SchemaTree
    from counterfoil.schema.agreements.model import Expectation, Promise

_MOST_STATES = 100
"""How many states are looked at for the first one in which a contract is offered."""


class ConsumerHistory:
    """The history of consumers up to the commit that is compared with.

    ``is_agreement`` returns whether a path is that of a contract or product file.
    """

    def __init__(self, past: Past, *, is_agreement: Callable[[str], bool], project: Project | None) -> None:
        self._past = past
        self._is_agreement = is_agreement
        self._project = project
        self._file_by_content: dict[tuple[str, bytes], AgreementFile] = {}
        self._offered: dict[tuple[str, str], Sequence[tuple[Topic, Offer]]] = {}
        self.is_cut = False
        """Whether a question was about a consumer whose first commit is missing in this clone."""

    def first_offered(self, consumer: Consumer) -> Sequence[tuple[Topic, Offer]]:
        """Return the topics of its contract that were there when a consumer appeared, with what they offered.

        Without any at that commit, they are those of the first later one that has the contract. Nothing comes back if
        it is not known when the consumer appeared.
        """
        try:
            return self._first_offered(consumer)
        except (BaselineNotFound, GitFailed):  # a clone without the contents of earlier commits
            self.is_cut = True
            return ()

    def _first_offered(self, consumer: Consumer) -> Sequence[tuple[Topic, Offer]]:
        first = self._appearance(consumer)
        if first is None:
            return ()
        contract = consumer.expectation.contract_id
        for commit in self._with_more(first):
            if found := self._offered_at(commit.commit, contract):
                return found
        return ()

    def were_together(self, consumer: Consumer, topic: Topic, tree: SchemaTree) -> bool:
        """Return whether a topic was as it is now, in the schemas of ``tree``, when the consumer was there already."""
        try:
            return self._were_together(consumer, topic, tree)
        except (BaselineNotFound, GitFailed):
            self.is_cut = True
            return False

    def _were_together(self, consumer: Consumer, topic: Topic, tree: SchemaTree) -> bool:
        first = self._appearance(consumer)
        schemas = [path for path in (topic.value_path, topic.key_path) if path is not None]
        if first is None or topic.value_path is None:
            return False
        texts = {path: _text(tree.data(path)) for path in (*schemas, *_referred(tree, schemas))}
        return any(
            all(_text(data) == texts[path] for path, data in state.items() if path in texts)
            and texts.keys() <= state.keys()
            and self._has_promise(state.get(topic.path), topic)
            for state in self._states_of((topic.path, *texts), first)
        )

    def _has_promise(self, data: bytes | None, topic: Topic) -> bool:
        """Return whether a contract file promises of a topic what it promises now."""
        found = None if data is None else self._read(topic.path, data).reading.agreement
        if not isinstance(found, Contract) or found.id != topic.contract.id:
            return False
        return any(_promised(each) == _promised(topic.promise) for each in found.promises)

    # --- commits

    def _appearance(self, consumer: Consumer) -> int | None:
        """Return the number of the commit, counted from the newest, in which a consumer appeared as it is now.

        Its file may have been moved since. None: it is not known.
        """
        path = consumer.path
        for number, commit in enumerate(self._past.commits):
            if path not in commit.files:
                continue
            moved = self._earlier_path(commit, path, consumer)
            if moved is None:
                if number == len(self._past.commits) - 1 and self._past.is_cut:
                    self.is_cut = True
                    return None
                return number
            path = moved
        return None

    def _earlier_path(self, commit: CommitChanges, path: str, consumer: Consumer) -> str | None:
        """Return the path of the file in which the consumer was before a commit; None if it was not there."""
        before, _ = commit.files[path]
        if before is not None:
            known = {path: before}
        else:
            gone = ((each, was) for each, (was, now) in commit.files.items() if now is None and was is not None)
            known = {each: was for each, was in gone if self._is_agreement(each)}
        contents = self._past.contents(known.values())
        return next((each for each, was in known.items() if self._declares(each, contents[was], consumer)), None)

    def _declares(self, path: str, data: bytes, consumer: Consumer) -> bool:
        """Return whether a file has the same version of a consumer, which expects the same."""
        found = self._read(path, data).reading.agreement
        if not isinstance(found, Application):
            return False
        same = (found.id, found.version) == (consumer.application.id, consumer.application.version)
        return same and any(_facts(each) == _facts(consumer.expectation) for each in found.expectations)

    def _with_more(self, first: int) -> Iterator[CommitChanges]:
        """Yield the commit with a number, and the later ones that have more files than the one before."""
        yield self._past.commits[first]
        later = [
            each for each in reversed(self._past.commits[:first]) if any(was is None for was, _ in each.files.values())
        ]
        yield from later[:_MOST_STATES]

    def _states_of(self, paths: Sequence[str], first: int) -> Iterator[Mapping[str, bytes]]:
        """Yield the contents of files at each state since the commit with a number, newest first, without the last."""
        changes = [
            {path: each.files[path] for path in paths if path in each.files} for each in self._past.commits[: first + 1]
        ]
        objects = {one for each in changes for pair in each.values() for one in pair if one is not None}
        contents = self._past.contents(sorted(objects))
        state: dict[str, str | None] = {}
        for each in changes:  # what is not changed later is as it was left by the newest commit that changed it
            for path, (_, now) in each.items():
                state.setdefault(path, now)
        older = self._older(paths, first, known=state)
        contents = {**contents, **self._past.contents(sorted({one for one in older.values() if one is not None}))}
        state = {**older, **state}
        yield {path: contents[one] for path, one in state.items() if one is not None}
        for each in changes[:-1]:
            if each:
                state.update({path: was for path, (was, _) in each.items()})
                yield {path: contents[one] for path, one in state.items() if one is not None}

    def _older(self, paths: Sequence[str], first: int, *, known: Mapping[str, str | None]) -> dict[str, str | None]:
        """Return the objects of files that did not change since the commit with a number."""
        found: dict[str, str | None] = {}
        for each in self._past.commits[first + 1 :]:
            for path in paths:
                if path in each.files and path not in known:
                    found.setdefault(path, each.files[path][1])
            if len(found) + len(known) == len(paths):
                break
        return found

    # --- files at a commit

    def _offered_at(self, commit: str, contract: str) -> Sequence[tuple[Topic, Offer]]:
        if (commit, contract) not in self._offered:
            self._offered[commit, contract] = tuple(self._read_offered(commit, contract))
        return self._offered[commit, contract]

    def _read_offered(self, commit: str, contract: str) -> Iterator[tuple[Topic, Offer]]:
        files = self._past.yaml_files(commit)
        contents = files.contents([path for path in files.paths if self._is_agreement(path)])
        named = {path: data for path, data in contents.items() if contract.encode() in data}
        agreements = Agreements.of((self._read(path, data) for path, data in named.items()), consumer_files=frozenset())
        known = agreements.contracts.get(contract)
        if known is None:
            return
        tree = self._past.tree(commit)
        for topic in topics_of(*known, Links(tree, self._project)):
            schema = None if topic.value_path is None else tree.read(topic.value_path).schema
            if schema is not None:
                key = None if topic.key_path is None else tree.read(topic.key_path).schema
                yield topic, Offer(schema, topic.promise, key=key)

    def _read(self, path: str, data: bytes) -> AgreementFile:
        if (path, data) not in self._file_by_content:
            self._file_by_content[path, data] = read_file(path, data)
        return self._file_by_content[path, data]


def _facts(expectation: Expectation) -> tuple[str, str]:
    return major_of(expectation.version), part_hash(expectation)


def _promised(promise: Promise) -> tuple[object, ...]:
    """Return the promises of a topic, with the meanings of the symbols of enums."""
    meanings = {each.path: [(one.value, one.description) for one in each.enum or ()] for each in promise.fields}
    return part_hash(promise), meanings


def _referred(tree: SchemaTree, paths: Sequence[str]) -> set[str]:
    """Return the paths of the files to which schemas refer."""
    return {each for path in paths for each in tree.referred(path).values()} - set(paths)


def _text(data: bytes) -> bytes:
    """Return the bytes of a file with one kind of line end."""
    return data.replace(b"\r\n", b"\n")
