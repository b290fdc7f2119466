"""Every text holds a mark of its subject, and no answer has a mark or a name that its caller may not know.

A state machine writes, as the administrator, to two registries with the same content, with the fast lane and without.
It changes rules, revokes credentials and gives them back, and sends requests as a caller with some rights, whose
answers must be the same bytes from both, whether they were cached before or not.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from counterfoil.registry.access.resources import AccessOperation, AccessResource, ResourceKind, subject_resource
from counterfoil.registry.access.rights import Rights
from counterfoil.registry.access.rules import administrator, allow, deny, parse_pattern
from counterfoil.registry.logs import LOGGER
from counterfoil.schema.contexts import parse_subject
from strategies.access.callers import NamedCallers, Rules, access
from strategies.languages.marked_schemas import enum, full, record
from strategies.registry.driver import InProcessRegistry, Reply

if TYPE_CHECKING:
    from counterfoil.registry.access.rules import AccessRule

ALICE, ADMIN = "alice", "admin"
NAMES = ("alpha", "bravo", "charlie", ":.ctx:alpha", ":.ctx:delta")
ALIASES = ("foxtrot", "golf")
KEKS = ("hotel", "india")
RESOURCES = ("juliett", "kilo")
WORDS = ("alpha", "bravo", "charlie", "delta", *ALIASES, *KEKS, *RESOURCES)

OPERATIONS = [AccessOperation.READ, AccessOperation.DESCRIBE, AccessOperation.DESCRIBE_CONFIGS, AccessOperation.WRITE]
PATTERNS = st.sampled_from(
    [*NAMES, "*", "a*", "*lph*", ":.ctx:*", ":*:alpha", "context:.ctx", "registry", "kek:hotel", "kek:*"]
)
RULES = st.lists(
    st.builds(
        lambda allows, operations, pattern: (allow if allows else deny)(f"User:{ALICE}", operations, pattern),
        st.sampled_from([True, True, True, False]),
        st.frozensets(st.sampled_from(OPERATIONS), min_size=1),
        PATTERNS.map(parse_pattern),
    ),
    max_size=5,
)
SUBJECTS = st.sampled_from(NAMES)


class Knowledge:
    """What a caller may know, by :func:`~counterfoil.registry.access.rights.decide` and nothing else.

    A text may be known by whoever may read a subject that ever had it, or one that refers to it; a name by whoever may
    describe one of the subjects that have it, in whichever context.
    """

    def __init__(self) -> None:
        self.holders: dict[str, set[str]] = {}  # by mark: the subjects that ever had the text
        self.referred: dict[str, set[str]] = {}  # by subject: those that it ever referred to
        self.targets: dict[str, set[str]] = {}  # by alias: whose it ever was
        self.resources: dict[str, set[str]] = {}  # by the name of an associated resource: its subjects

    def readable(self, rights: Rights) -> set[str]:
        found = {name for name in NAMES if may(rights, AccessOperation.READ, name)}
        while more := {each for name in found for each in self.referred.get(name, ())} - found:
            found |= more
        return found

    def hidden_marks(self, rights: Rights) -> set[str]:
        readable = self.readable(rights)
        return {mark for mark, holders in self.holders.items() if not holders & readable}

    def hidden_names(self, rights: Rights) -> set[str]:
        known = self.readable(rights)
        known |= {name for name in (*NAMES, *ALIASES) if may(rights, AccessOperation.DESCRIBE, name)}
        for alias, targets in self.targets.items():
            if may(rights, AccessOperation.DESCRIBE_CONFIGS, alias):
                known |= targets
        seen = {parse_subject(name).name for name in known}
        seen |= {
            each for each in KEKS if rights.allows(AccessOperation.DESCRIBE, AccessResource(ResourceKind.KEK, each))
        }
        seen |= {each for each, subjects in self.resources.items() if subjects & known}
        return set(WORDS) - seen


def may(rights: Rights, operation: AccessOperation, name: str) -> bool:
    return rights.allows(operation, subject_resource(parse_subject(name)))


class Canaries(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.in_force, self.callers = Rules(), NamedCallers([ALICE, ADMIN])
        self.registries = [
            InProcessRegistry(access=access(self.in_force, self.callers), fast_lane=fast) for fast in (True, False)
        ]
        self.knowledge, self.number = Knowledge(), 0
        self.guids: list[str] = []
        self.is_revoked = False
        self.logged: list[str] = []
        self.handler = logging.Handler()
        self.handler.emit = lambda line: self.logged.append(f"{line.getMessage()} {line.__dict__}")  # type: ignore[method-assign]  # a handler of one line
        LOGGER.addHandler(self.handler)

    def teardown(self) -> None:
        LOGGER.removeHandler(self.handler)
        self.runner.close()

    def send(self, registry: InProcessRegistry, method: str, path: str, caller: str, body: Any = None) -> Reply:
        return self.runner.run(registry.send(method, path, caller, body))

    def write(self, method: str, path: str, body: Any = None) -> Reply:
        """Send a write to both registries, which answer the same."""
        first, second = (self.send(each, method, path, ADMIN, body) for each in self.registries)
        assert plain(first) == plain(second), (method, path)
        return first

    # --- what the administrator does

    @initialize(rules=RULES)
    def begin(self, rules: list[AccessRule]) -> None:
        self.write("PUT", "/config", {"compatibility": "NONE"})
        self.change_rules(rules)

    @rule(rules=RULES)
    def change_rules(self, rules: list[AccessRule]) -> None:
        self.in_force.set([*rules, administrator(f"User:{ADMIN}")])
        self.rights = Rights(rules, {f"User:{ALICE}", "User:*"})

    @rule()
    def rotate(self) -> None:
        """Revoke the caller's credentials, or accept them again."""
        if self.is_revoked:
            self.callers.admit(ALICE)
        else:
            self.callers.revoke(ALICE)
        self.is_revoked = not self.is_revoked

    @rule(name=SUBJECTS, other=SUBJECTS, kind=st.sampled_from(["own", "own", "same", "refers"]))
    def register(self, name: str, other: str, kind: str) -> None:
        marks = sorted(mark for mark, holders in self.knowledge.holders.items() if other in holders)
        self.number += 1
        mark = f"Mark{self.number:03}"
        body: dict[str, Any] = {"schema": enum(mark)}
        if kind == "same" and marks:
            mark = marks[0]
            body = {"schema": enum(mark)}
        elif kind == "refers" and marks and other != name:
            reference = {"name": marks[0], "subject": full(other), "version": 1}
            body = {"schema": record(mark, marks[0]), "references": [reference]}
        reply = self.write("POST", f"/subjects/{name}/versions", body)
        if reply.status == 200:
            self.guids.append(reply.json["guid"])
            self.knowledge.holders.setdefault(mark, set()).add(name)
            if "references" in body:
                self.knowledge.referred.setdefault(name, set()).add(other)

    @rule(name=SUBJECTS, version=st.sampled_from(["", "/versions/1", "/versions/latest"]), permanent=st.booleans())
    def delete(self, name: str, version: str, *, permanent: bool) -> None:
        self.write("DELETE", f"/subjects/{name}{version}")
        if permanent:
            self.write("DELETE", f"/subjects/{name}{version}?permanent=true")

    @rule(alias=st.sampled_from(ALIASES), name=SUBJECTS | st.none())
    def set_alias(self, alias: str, name: str | None) -> None:
        if name is None:
            self.write("DELETE", f"/config/{alias}")
            return
        if self.write("PUT", f"/config/{alias}", {"alias": full(name)}).status == 200:
            self.knowledge.targets.setdefault(alias, set()).add(name)

    @rule(resource=st.sampled_from(RESOURCES), name=st.sampled_from(NAMES[:3]))
    def associate(self, resource: str, name: str) -> None:
        association = {"subject": name, "associationType": "value", "lifecycle": "WEAK"}
        named = {"resourceName": resource, "resourceNamespace": "x", "resourceId": f"id-{resource}"}
        body = {**named, "resourceType": "topic", "associations": [association]}
        if self.write("POST", "/associations", body).status < 300:
            self.knowledge.resources.setdefault(resource, set()).add(name)

    @rule(kek=st.sampled_from(KEKS), name=st.sampled_from(NAMES[:3]))
    def add_keys(self, kek: str, name: str) -> None:
        self.write("POST", "/dek-registry/v1/keks", {"name": kek, "kmsType": "test", "kmsKeyId": f"key-of-{kek}"})
        self.write(
            "POST", f"/dek-registry/v1/keks/{kek}/deks", {"subject": name, "encryptedKeyMaterial": "bWF0ZXJpYWw="}
        )

    # --- what the caller asks

    @rule(name=st.sampled_from((*NAMES, *ALIASES)), data=st.data())
    def ask_about_a_subject(self, name: str, data: st.DataObject) -> None:
        paths = (
            "/subjects/{}/versions",
            "/subjects/{}/versions?deleted=true",
            "/subjects/{}/versions/1",
            "/subjects/{}/versions/latest?format=resolved",
            "/subjects/{}/versions/-1?deleted=true",
            "/subjects/{}/versions/1/schema",
            "/subjects/{}/versions/1/referencedby",
            "/subjects/{}/changes",
            "/subjects/{}/metadata?key=a&value=b",
            "/config/{}",
            "/config/{}?defaultToGlobal=true",
            "/mode/{}?defaultToGlobal=true",
            "/associations/subjects/{}",
            "/dek-registry/v1/keks/hotel/deks/{}",
        )
        self.ask("GET", data.draw(st.sampled_from(paths)).format(name))

    @rule(path=st.sampled_from(
        (
            "/subjects",
            "/subjects?deleted=true",
            "/subjects?offset=1&limit=2",
            "/subjects?as_of=3",
            "/contexts/ctx/subjects",
            "/contexts",
            "/schemas?subjectPrefix=:*:&aliases=true&includeAssociations=true",
            "/schemas?subjectPrefix=:*:&latestOnly=true&limit=2",
            "/changes?limit=500",
            "/associations/resources/-/-",
            "/associations/resources/x/juliett",
            "/dek-registry/v1/keks",
            "/dek-registry/v1/keks/hotel",
            "/dek-registry/v1/keks/hotel/deks",
            "/sketches/v1/subjects",
            "/openapi.json",
            "/auth/v1/whoami",
        )
    ))  # fmt: skip
    def ask_for_a_list(self, path: str) -> None:
        self.ask("GET", path)

    @rule(
        number=st.integers(1, 6),
        context=st.sampled_from(["", "/contexts/ctx"]),
        end=st.sampled_from(["", "/schema", "/subjects", "/versions", "?includeSubjects=true", "?subject=alpha"]),
    )
    def ask_for_an_id(self, number: int, context: str, end: str) -> None:
        self.ask("GET", f"{context}/schemas/ids/{number}{end}")

    @precondition(lambda self: self.guids)
    @rule(data=st.data(), end=st.sampled_from(["", "/ids"]))
    def ask_for_a_guid(self, data: st.DataObject, end: str) -> None:
        self.ask("GET", f"/schemas/guids/{data.draw(st.sampled_from(self.guids))}{end}")

    @rule(name=st.sampled_from((*NAMES, *ALIASES)), number=st.integers(1, 9), data=st.data())
    def send_something(self, name: str, number: int, data: st.DataObject) -> None:
        """Send what writes nothing, or is denied for want of a right that no rule gives to the caller."""
        requests = (
            ("POST", f"/subjects/{name}", {"schema": enum(f"Mark{number:03}")}),
            ("POST", f"/compatibility/subjects/{name}/versions?verbose=true", {"schema": enum(f"Mark{number:03}")}),
            ("DELETE", f"/subjects/{name}", None),
            ("DELETE", f"/subjects/{name}/versions/1?permanent=true", None),
            ("PUT", f"/config/{name}", {"alias": "bravo"}),
            ("POST", f"/subjects/{name}/versions?force=true", {"schema": '"int"'}),
            ("POST", "/contracts/v1/check", {"subject": name, "schema": {"schema": enum(f"Mark{number:03}")}}),
            ("GET", "/contracts/v1/can-i-retire?subject=" + name, None),
        )
        self.ask(*data.draw(st.sampled_from(requests)))

    def ask(self, method: str, path: str, body: Any = None) -> None:
        """Send a request three times; the administrator's answer to it is cached before, if it can be."""
        fast, slow = self.registries
        if method == "GET":
            self.send(fast, method, path, ADMIN)
        self.logged.clear()
        replies = [self.send(each, method, path, ALICE, body) for each in (fast, fast, slow)]
        assert len({plain(each) for each in replies}) == 1, (path, replies)
        reply = replies[0]
        assert (reply.status == 401) == self.is_revoked, (path, reply)
        sent = f"{path} {json.dumps(body)}"
        if path == "/auth/v1/whoami":  # it shows the caller's own rules, with the names in them
            sent += " ".join(str(rule.pattern) for rule in self.rights.rules)
        shown = f"{plain(reply)[1]} {reply.headers}"
        marks, names = self.knowledge.hidden_marks(self.rights), self.knowledge.hidden_names(self.rights)
        if self.is_revoked:
            marks, names = set(self.knowledge.holders), set(WORDS)
        found = [each for each in (*marks, *names) if each in shown and each not in sent]
        assert not found, (found, method, path, shown)
        logged = " ".join(self.logged)
        assert not [mark for mark in self.knowledge.holders if mark in logged and mark not in sent], logged


def plain(reply: Reply) -> tuple[int, str]:
    """Return what two registries with the same content answer alike: all but times, and ids that are random."""
    text = re.sub(r'"(ts|time|createdAt|updatedAt|startTimestamp|endTimestamp)":("[^"]*"|\d+)', "", reply.text)
    return reply.status, re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "", text)


@pytest.mark.slow
def test_no_answer_has_what_its_caller_may_not_know() -> None:
    run_state_machine_as_test(Canaries, settings=settings(stateful_step_count=30))
