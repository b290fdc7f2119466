"""The invariants of a registry after any load, checked over HTTP against the record of the writes.

A test records each write with its outcome in a :class:`Story`, by itself or with a :class:`Client`, and calls
:func:`violations` at the end, when no request is running::

    story = Story()
    client = Client(url, story)  # one for each thread
    client.register("orders", '{"type": "fixed", "name": "F", "size": 1}')
    assert violations(url, story) == []

Schemas are compared by their JSON value, otherwise by their text: tests must send the text that the registry stores.
"""

from __future__ import annotations

import http.client
import itertools
import json
import random
import time
import uuid
from collections import defaultdict
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import quote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

UNCERTAIN: Final = "may have been carried out"
"""The words in a 503 whose write may have been carried out."""

_PAGE: Final = 1000
_MAX_SHOWN: Final = 20
_PATIENCE_S: Final = 120.0
"""How long a response is waited for: slowness is measured by the benchmarks, here only lost or wrong ones count."""


class Outcome(Enum):
    """The outcome of a write, as far as the client knows it."""

    ACKNOWLEDGED = "acknowledged"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete response; ``json`` is its value."""

    status: int
    json: Any
    headers: Mapping[str, str]


def outcome_of(reply: Reply | None) -> Outcome:
    """Return the outcome of the write with this response; None is a response that never arrived."""
    if reply is None:
        return Outcome.UNKNOWN
    if reply.status < 300:
        return Outcome.ACKNOWLEDGED
    if reply.status >= 500 and not isinstance(reply.json, dict):
        return Outcome.UNKNOWN
    return Outcome.UNKNOWN if reply.status >= 500 and UNCERTAIN in reply.json.get("message", "") else Outcome.FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """The fields of all writes: the subject, the outcome, and the times of request and response (monotonic seconds)."""

    subject: str
    outcome: Outcome
    begun: float
    ended: float

    @property
    def may_be_there(self) -> bool:
        return self.outcome is not Outcome.FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration(Write):
    """A registration; ``schema_id`` and ``version`` are the response's. ``chosen``: an import."""

    schema: str
    schema_type: str = "AVRO"
    references: tuple[tuple[str, str, int], ...] = ()
    schema_id: int | None = None
    version: int | None = None
    chosen: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion(Write):
    """A deletion of a subject or version; ``versions`` are the response's."""

    permanent: bool
    versions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting(Write):
    """A change of config or mode; ``kind`` is ``config`` or ``mode``; the value None is a removal."""

    kind: str
    value: str | None


Operation: TypeAlias = "Registration | Deletion | Setting"


@dataclass(slots=True)
class Story:
    """All requested writes. Threads may share a story; those of processes are joined with ``extend``."""

    operations: list[Operation] = field(default_factory=list)

    def note(self, operation: Operation) -> None:
        self.operations.append(operation)

    def extend(self, operations: Iterable[Operation]) -> None:
        self.operations.extend(operations)

    def count(self, outcome: Outcome) -> int:
        return sum(operation.outcome is outcome for operation in list(self.operations))

    def acknowledged(self) -> int:
        """Return how many writes were acknowledged."""
        return self.count(Outcome.ACKNOWLEDGED)


class Connection:
    """Sends requests to one registry, on one connection that is opened again when it is lost. For one thread."""

    def __init__(self, url: str) -> None:
        self._parts = urlsplit(url)
        self._connection: http.client.HTTPConnection | None = None

    def ask(self, method: str, path: str, body: Any = None) -> Reply | None:
        """Return the response; None if none arrived, or only a part."""
        sent = None if body is None else json.dumps(body).encode()
        headers = {} if sent is None else {"Content-Type": "application/vnd.schemaregistry.v1+json"}
        try:
            if self._connection is None:
                port = self._parts.port or 80
                self._connection = http.client.HTTPConnection(str(self._parts.hostname), port, timeout=_PATIENCE_S)
            self._connection.request(method, path, sent, headers)
            response = self._connection.getresponse()
            text = response.read()
            found = {name.lower(): value for name, value in response.getheaders()}
            is_json = "json" in found.get("content-type", "")
            return Reply(response.status, json.loads(text) if text and is_json else text.decode(), found)
        except (OSError, http.client.HTTPException, ValueError):
            self.close()
            return None

    def get(self, path: str) -> Any:
        """Return the value of a successful response."""
        reply = self.ask("GET", path)
        assert reply is not None, f"no answer to GET {path}"
        assert reply.status == 200, f"GET {path}: {reply.status} {reply.json}"
        return reply.json

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class Client(Connection):
    """A connection whose writes are recorded in ``story``, each with its outcome."""

    def __init__(self, url: str, story: Story) -> None:
        super().__init__(url)
        self._story = story

    def register(
        self,
        subject: str,
        schema: str,
        *,
        schema_type: str = "AVRO",
        references: tuple[tuple[str, str, int], ...] = (),
    ) -> Reply | None:
        """Register a schema; each reference is (name, subject, version)."""
        begun = time.monotonic()
        reply = self.ask("POST", f"/subjects/{_quoted(subject)}/versions", _body(schema, schema_type, references))
        outcome = outcome_of(reply)
        given = reply.json if reply is not None and outcome is Outcome.ACKNOWLEDGED else {}
        self._story.note(
            Registration(
                subject=subject,
                outcome=outcome,
                begun=begun,
                ended=time.monotonic(),
                schema=schema,
                schema_type=schema_type,
                references=references,
                schema_id=given.get("id"),
                version=given.get("version"),
            )
        )
        return reply

    def delete(self, subject: str, *, version: int | str | None = None, permanent: bool = False) -> Reply | None:
        """Delete a subject, or one version of it."""
        begun = time.monotonic()
        path = f"/subjects/{_quoted(subject)}" + ("" if version is None else f"/versions/{version}")
        reply = self.ask("DELETE", path + ("?permanent=true" if permanent else ""))
        outcome = outcome_of(reply)
        gone = reply.json if reply is not None and outcome is Outcome.ACKNOWLEDGED else []
        self._story.note(
            Deletion(
                subject=subject,
                outcome=outcome,
                begun=begun,
                ended=time.monotonic(),
                permanent=permanent,
                versions=tuple(gone) if isinstance(gone, list) else (int(gone),),
            )
        )
        return reply

    def set(self, subject: str, value: str | None, *, kind: str = "config") -> Reply | None:
        """Set, or remove, the compatibility level (``config``) or the ``mode`` of a subject."""
        begun = time.monotonic()
        sent = None if value is None else {"compatibility" if kind == "config" else "mode": value}
        reply = self.ask("DELETE" if value is None else "PUT", f"/{kind}/{_quoted(subject)}", sent)
        self._story.note(
            Setting(
                subject=subject,
                outcome=outcome_of(reply),
                begun=begun,
                ended=time.monotonic(),
                kind=kind,
                value=value,
            )
        )
        return reply


# --- the check --------------------------------------------------------------------------------------------------------


def violations(url: str, story: Story, *, max_lookups: int = 500, probe: bool = True, seed: int = 1) -> list[str]:
    """Return a sentence for each violation; an empty list if there is none.

    Of the existing schemas, ``max_lookups`` are drawn by ``seed`` and requested in each possible way. ``probe``
    registers one more schema (recorded in ``story``), whose id must be higher than all in earlier responses. Nothing
    else may write meanwhile, and the ``probe`` needs a registry that accepts writes to new subjects.
    """
    client = Client(url, story)
    try:
        stored = _Stored(client)
        found = [
            *_of_ids(stored, story),
            *_of_subjects(stored, story),
            *_of_answers(stored, story),
            *_of_failures(stored, story),
            *_of_deletions(stored, story),
            *_of_references(stored),
            *_of_settings(client, story),
            *_of_lookups(client, stored, max_lookups, seed),
        ]
        if probe:
            found += _of_a_fresh_id(client, stored, story)
    finally:
        client.close()
    more = [f"... and {len(found) - _MAX_SHOWN} more"] if len(found) > _MAX_SHOWN else []
    return found[:_MAX_SHOWN] + more


class _Stored:
    """Everything that the registry lists, in all contexts: the documents of the versions, with soft-deleted ones."""

    def __init__(self, connection: Connection) -> None:
        self.versions: list[dict[str, Any]] = list(_pages(connection, "/schemas?deleted=true&subjectPrefix=:*:"))
        active = _pages(connection, "/schemas?subjectPrefix=:*:")
        self.active = {(each["subject"], each["version"]) for each in active}
        self.by_subject: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
        for each in self.versions:
            self.by_subject[each["subject"]][each["version"]] = each
        self.contents = {(each["subject"], key_of(each["schema"])) for each in self.versions}
        self.doubled = len(self.versions) - sum(len(versions) for versions in self.by_subject.values())


def _pages(connection: Connection, path: str) -> Iterator[dict[str, Any]]:
    for offset in itertools.count(0, _PAGE):
        page = connection.get(f"{path}&offset={offset}&limit={_PAGE}")
        yield from page
        if len(page) < _PAGE:
            return


def key_of(schema: str) -> str:
    """Return what schemas are compared by."""
    try:
        return json.dumps(json.loads(schema), sort_keys=True)
    except ValueError:
        return schema.strip()


def _of_ids(stored: _Stored, story: Story) -> Iterator[str]:
    """Yield violations of: within a context one id always has the same content."""
    if stored.doubled:
        yield f"{stored.doubled} versions are listed twice"
    contents: dict[tuple[str, int], set[str]] = defaultdict(set)
    for each in stored.versions:
        contents[_context(each["subject"]), each["id"]].add(key_of(each["schema"]))
    for one in _registrations(story):
        if one.schema_id is not None:
            contents[_context(one.subject), one.schema_id].add(key_of(one.schema))
    for (context, schema_id), keys in contents.items():
        if len(keys) > 1:
            yield f"id {schema_id} in {context!r} has stood for {len(keys)} contents: {sorted(keys)[:2]}"
    ids: dict[tuple[Any, ...], set[int]] = defaultdict(set)
    for each in stored.versions:
        ids[(_context(each["subject"]), *_content(each))].add(each["id"])
    has_imports = any(each.chosen for each in _registrations(story))
    for (context, *_), given in ids.items():
        if len(given) > 1 and not has_imports:
            yield f"one content in {context!r} has the ids {sorted(given)}"


def _content(document: Mapping[str, Any]) -> tuple[str, ...]:
    parts = ("schemaType", "references", "metadata", "ruleSet")
    return key_of(document["schema"]), *(json.dumps(document.get(part), sort_keys=True) for part in parts)


def _of_subjects(stored: _Stored, story: Story) -> Iterator[str]:
    """Yield violations of: without deletions, versions count from 1 without a gap, and each is assigned once."""
    deleted = {each.subject for each in _deletions(story) if each.may_be_there}
    chosen = {each.subject for each in _registrations(story) if each.chosen}
    known = {each.subject for each in _registrations(story)} - deleted - chosen
    for subject, versions in stored.by_subject.items():
        if subject in known and sorted(versions) != list(range(1, len(versions) + 1)):
            yield f"{subject} has the versions {sorted(versions)[:50]}, and nothing of it was deleted"
    purged = {each.subject for each in _deletions(story) if each.may_be_there and each.permanent}
    given: dict[tuple[str, int], set[str]] = defaultdict(set)
    for each in _registrations(story):
        if each.version is not None and each.subject not in purged | chosen:
            given[each.subject, each.version].add(key_of(each.schema))
    for (subject, version), keys in given.items():
        if len(keys) > 1:
            yield f"{subject} version {version} was answered for {len(keys)} contents"


def _of_answers(stored: _Stored, story: Story) -> Iterator[str]:
    """Yield violations of: acknowledged content is there as in the response, without a deletion since it was sent."""
    last_deletion: dict[str, float] = defaultdict(lambda: float("-inf"))
    for deleted in _deletions(story):
        if deleted.may_be_there:
            end = float("inf") if deleted.outcome is Outcome.UNKNOWN else deleted.ended
            last_deletion[deleted.subject] = max(last_deletion[deleted.subject], end)
    for each in _registrations(story):
        if each.outcome is not Outcome.ACKNOWLEDGED or last_deletion[each.subject] >= each.begun:
            continue
        if each.version is None:
            if (each.subject, key_of(each.schema)) not in stored.contents:
                yield f"{each.subject}: {each.schema[:200]} was acknowledged as id {each.schema_id} and is not there"
            continue
        found = stored.by_subject.get(each.subject, {}).get(each.version)
        if found is None:
            yield f"{each.subject} version {each.version} (id {each.schema_id}) was acknowledged and is not there"
        elif not each.chosen and (found["id"], key_of(found["schema"])) != (each.schema_id, key_of(each.schema)):
            yield f"{each.subject} version {each.version} is {found}, acknowledged were id {each.schema_id} and {each}"


def _of_failures(stored: _Stored, story: Story) -> Iterator[str]:
    """Yield violations of: all content was requested, by a client that received no failure."""
    asked = {(each.subject, key_of(each.schema)) for each in _registrations(story)}
    allowed = {(each.subject, key_of(each.schema)) for each in _registrations(story) if each.may_be_there}
    for subject, key in sorted(stored.contents & asked - allowed):
        yield f"{subject}: {key[:200]} is there, and everybody who sent it was told that it failed"


def _of_deletions(stored: _Stored, story: Story) -> Iterator[str]:
    """Yield violations of: deleted content stays deleted, without a later or simultaneous registration."""
    last_registration: dict[str, float] = defaultdict(lambda: float("-inf"))
    for each in _registrations(story):
        if each.may_be_there:
            end = float("inf") if each.outcome is Outcome.UNKNOWN else each.ended
            last_registration[each.subject] = max(last_registration[each.subject], end)
    for deleted in _deletions(story):
        if deleted.outcome is not Outcome.ACKNOWLEDGED or last_registration[deleted.subject] >= deleted.begun:
            continue
        for version in deleted.versions:
            if (deleted.subject, version) in stored.active:
                yield f"{deleted.subject} version {version} was deleted and is active"
            if deleted.permanent and version in stored.by_subject.get(deleted.subject, {}):
                yield f"{deleted.subject} version {version} was deleted for good and is there"


def _of_references(stored: _Stored) -> Iterator[str]:
    """Yield violations of: every reference names an existing version."""
    for each in stored.versions:
        for reference in each.get("references") or ():
            target = _qualified(reference["subject"], _context(each["subject"]))
            if reference["version"] not in stored.by_subject.get(target, {}):
                place = f"{each['subject']} version {each['version']}"
                yield f"{place} refers to {target} {reference['version']}, which is not there"


def _of_settings(connection: Connection, story: Story) -> Iterator[str]:
    """Yield violations of: config and mode are those of a write that no other acknowledged one came after."""
    writes: dict[tuple[str, str], list[Setting]] = defaultdict(list)
    deleted = {each.subject for each in _deletions(story) if each.may_be_there}
    for each in story.operations:
        if isinstance(each, Setting) and each.may_be_there and each.subject not in deleted:
            writes[each.kind, each.subject].append(each)
    for (kind, subject), all_of_them in writes.items():
        acknowledged = [each.begun for each in all_of_them if each.outcome is Outcome.ACKNOWLEDGED]
        latest = max(acknowledged, default=float("-inf"))
        possible = {each.value for each in all_of_them if each.outcome is Outcome.UNKNOWN or each.ended >= latest}
        if not acknowledged:
            possible.add(None)
        reply = connection.ask("GET", f"/{kind}/{_quoted(subject)}")
        value = None
        if reply is not None and reply.status == 200:
            value = reply.json["compatibilityLevel" if kind == "config" else "mode"]
        if value not in possible:
            yield f"{kind} of {subject} is {value}, expected one of {sorted(map(str, possible))}"


def _of_lookups(connection: Connection, stored: _Stored, max_lookups: int, seed: int) -> Iterator[str]:
    """Yield violations of: each version is found by its id, its number, its content, and in the list of its id."""
    drawn = random.Random(seed).sample(stored.versions, min(max_lookups, len(stored.versions)))
    for each in drawn:
        subject, version, schema_id = each["subject"], each["version"], each["id"]
        place = f"/subjects/{_quoted(subject)}"
        body = _body(each["schema"], each.get("schemaType", "AVRO"), (), each)
        held = {"subject": subject, "version": version}
        looked_up = connection.ask("POST", f"{place}?deleted=true", body)
        if looked_up is None or looked_up.status != 200 or looked_up.json["id"] != schema_id:
            yield f"{subject} version {version}: a look-up of its content gives {looked_up}, expected id {schema_id}"
        by_place = connection.get(f"{place}/versions/{version}?deleted=true")
        if (by_place["id"], by_place["schema"]) != (schema_id, each["schema"]):
            yield f"{subject} version {version} is listed as {each}, and by itself it is {by_place}"
        by_id = connection.get(f"/schemas/ids/{schema_id}?subject={_quoted(subject)}")
        if by_id["schema"] != each["schema"]:
            yield f"id {schema_id} stands for {by_id}, and {subject} version {version} holds {each}"
        path = f"/schemas/ids/{schema_id}/versions?deleted=true&subject={_quoted(subject)}"
        if held not in connection.get(path):
            yield f"{held} is not among the versions of its id {schema_id}"


def _of_a_fresh_id(client: Client, stored: _Stored, story: Story) -> Iterator[str]:
    """Yield violations of: a new schema gets an id above all that were assigned in its context."""
    given = [each["id"] for each in stored.versions if _context(each["subject"]) == "."]
    given += [each.schema_id for each in _registrations(story) if each.schema_id and _context(each.subject) == "."]
    name = f"Probe_{uuid.uuid4().hex}"
    reply = client.register(name, json.dumps({"type": "fixed", "name": name, "size": 1}))
    if reply is None or reply.status != 200:
        yield f"a new schema is not taken: {reply}"
    elif reply.json["id"] <= max(given, default=0):
        yield f"a new schema got the id {reply.json['id']}, and {max(given)} had been given out"


def _registrations(story: Story) -> Sequence[Registration]:
    return [each for each in story.operations if isinstance(each, Registration)]


def _deletions(story: Story) -> Sequence[Deletion]:
    return [each for each in story.operations if isinstance(each, Deletion)]


def _context(subject: str) -> str:
    return subject[1:].partition(":")[0] if subject.startswith(":.") else "."


def _qualified(subject: str, context: str) -> str:
    return subject if subject.startswith(":.") or context == "." else f":{context}:{subject}"


def _quoted(subject: str) -> str:
    return quote(subject, safe="")


def _body(
    schema: str,
    schema_type: str,
    references: tuple[tuple[str, str, int], ...],
    stored: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    named = [{"name": name, "subject": subject, "version": version} for name, subject, version in references]
    body = {"schema": schema, "schemaType": schema_type, "references": named}
    kept = ("references", "metadata", "ruleSet")
    return {**body, **{part: stored[part] for part in kept if stored.get(part)}} if stored else body
