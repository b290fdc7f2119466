"""One client of the hammer: random requests to random nodes, each with the codes that are valid responses.

In shared subjects clients disturb each other, and any response that fits the kind of request is valid. In a subject of
its own a client knows what it wrote, and reads it from another node.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from strategies.registry.hammer_pages import PAGE_STATUSES, named_change, page_path, untruth
from strategies.registry.invariants import Client, Outcome, Registration, Story, outcome_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from strategies.registry.invariants import Reply

KEPT: Final = [f"kept-{number}" for number in range(6)]  # never deleted: their versions must have no gap
CHURNED: Final = [f"churned-{number}" for number in range(8)] + [":.there:churned"]
MOODY: Final = [f"moody-{number}" for number in range(3)]  # their modes change
IMPORTED: Final = [f":.moved:imported-{number}" for number in range(3)]
LEVELS: Final = ("NONE", "BACKWARD", "FORWARD", "FULL_TRANSITIVE", None)

_REGISTERED: Final = {200, 40901, 42201, 42205}
_READ: Final = {200, 40401, 40402, 40403}
_DELETED: Final = {200, 40401, 40402, 40404, 40405, 40406, 40407, 42205, 42206}
_MAX_COMPLAINTS: Final = 20
_MAX_IDLE_S: Final = 2.0


def ride(*extras: str, of_type: str = "long", uses: str | None = None) -> str:
    """Return a record; each of ``extras`` is a field with a default, ``uses`` a type that another schema defines."""
    fields: list[dict[str, Any]] = [{"name": "id", "type": of_type}]
    fields += [{"name": extra, "type": "string", "default": ""} for extra in extras]
    if uses is not None:
        fields.append({"name": "place", "type": ["null", uses], "default": None})
    return json.dumps({"type": "record", "name": "Ride", "fields": fields})


def place(*extras: str) -> str:
    """Return a record for others to refer to."""
    return ride(*extras).replace('"Ride"', '"Place"')


class TimedClient(Client):
    """A client that records the time of its slowest response."""

    slowest_s = 0.0

    def ask(self, method: str, path: str, body: Any = None) -> Reply | None:
        begun = time.monotonic()
        reply = super().ask(method, path, body)
        self.slowest_s = max(self.slowest_s, time.monotonic() - begun)
        return reply


class HammerClient:
    """Sends random requests to ``urls``, which are nodes of one registry, and records the writes in ``story``.

    ``complaints`` are violations: responses that do not fit the request, and own writes that another node does not
    return. ``counts`` are the responses by kind of request and code.
    """

    def __init__(self, urls: Sequence[str], story: Story, *, seed: str) -> None:
        self._rng = random.Random(seed)
        self._nodes = [TimedClient(url, story) for url in urls]
        self._rivals = [TimedClient(url, story) for url in urls]
        self._story = story
        self._name = seed
        self._last_asked: dict[int, float] = {}
        self._rounds = 0
        self._known: list[tuple[str, str]] = []
        self._ids: list[int] = [1]
        self.complaints: list[str] = []
        self.counts: Counter[tuple[str, int]] = Counter()
        self._strokes: dict[Callable[[], None], int] = {
            self._register_new: 20,
            self._register_known: 12,
            self._register_unfit: 5,
            self._register_referring: 8,
            self._register_place: 4,
            self._delete_place: 4,
            self._import: 5,
            self._read: 20,
            self._show_page: 6,
            self._show_subject: 4,
            self._look_up: 6,
            self._test: 6,
            self._delete: 8,
            self._configure: 3,
            self._change_mode: 2,
            self._configure_all: 1,
            self._keep_own_subject: 6,
            self._duel: 3,
        }

    def run(self, until: float) -> None:
        """Send requests until the monotonic time ``until``, or until there are too many violations."""
        kinds, weights = list(self._strokes), list(self._strokes.values())
        try:
            while time.monotonic() < until and len(self.complaints) < _MAX_COMPLAINTS:
                self._rng.choices(kinds, weights)[0]()
        finally:
            for node in self._nodes:
                node.close()

    @property
    def slowest_s(self) -> float:
        """The time of the slowest response."""
        return max(node.slowest_s for node in self._nodes)

    # --- shared subjects ---

    def _register_new(self) -> None:
        subject = self._rng.choice([*KEPT, *CHURNED, *MOODY])
        schema = ride(*(f"f{number}" for number in sorted(self._rng.sample(range(40), self._rng.randint(1, 4)))))
        self._note("register", self._node().register(subject, schema), _REGISTERED, learn=(subject, schema))

    def _register_known(self) -> None:
        if self._known:
            subject, schema = self._rng.choice(self._known)
            subject = subject if self._rng.random() < 0.7 else self._rng.choice(KEPT + CHURNED)
            self._note("register known", self._node().register(subject, schema), _REGISTERED)

    def _register_unfit(self) -> None:
        subject = self._rng.choice(KEPT + CHURNED)
        schema = self._rng.choice([ride(of_type="boolean"), '{"type": "record"}', ride("dup", "dup")])
        self._note("register unfit", self._node().register(subject, schema), _REGISTERED)

    def _register_referring(self) -> None:
        reference = ("Place", self._place(), self._rng.choice([-1, 1, 2]))
        schema = ride(f"f{self._rng.randrange(20)}", uses="Place")
        reply = self._node().register(self._rng.choice(KEPT), schema, references=(reference,))
        self._note("register referring", reply, _REGISTERED)

    def _register_place(self) -> None:
        reply = self._node().register(self._place(), place(f"f{self._rng.randrange(3)}"))
        self._note("register place", reply, _REGISTERED)

    def _delete_place(self) -> None:
        version, permanent = self._rng.choice([None, "latest", 1, 2]), self._rng.random() < 0.3
        reply = self._node().delete(self._place(), version=version, permanent=permanent)
        self._note("delete place", reply, _DELETED)

    def _place(self) -> str:
        """Return the subject that all clients refer to and delete now.

        It is a new one twice a second, since versions with referrers stay.
        """
        return f"place-{int(time.monotonic() * 2)}"

    def _import(self) -> None:
        self._rounds += 1
        subject, schema_id = self._rng.choice(IMPORTED), self._rng.randint(1, 50_000)
        schema = ride(f"of_{self._name.replace('-', '_')}_{self._rounds}")
        body = {"schema": schema, "id": schema_id}
        version = self._rng.choice([None, None, self._rng.randint(1, 5_000)])
        begun = time.monotonic()
        reply = self._node().ask(
            "POST", f"/subjects/{subject}/versions", body if version is None else {**body, "version": version}
        )
        outcome = outcome_of(reply)
        given = reply.json if reply is not None and outcome is Outcome.ACKNOWLEDGED else {}
        self._story.note(
            Registration(
                subject=subject,
                outcome=outcome,
                begun=begun,
                ended=time.monotonic(),
                schema=schema,
                schema_id=given.get("id"),
                version=given.get("version"),
                chosen=True,
            )
        )
        self._note("import", reply, {200, 42205})
        if given and (given["id"], given["version"]) != (schema_id, version or given["version"]):
            self._complain(f"imported as {schema_id} {version}, answered {given}")

    def _read(self) -> None:
        subject, schema_id = self._rng.choice([*KEPT, *CHURNED, *MOODY, self._place()]), self._rng.choice(self._ids)
        path = self._rng.choice(
            [
                f"/schemas/ids/{schema_id}",
                f"/schemas/ids/{schema_id}/versions",
                f"/schemas/ids/{schema_id}?subject={subject}",
                f"/subjects/{subject}/versions",
                f"/subjects/{subject}/versions?deleted=true",
                f"/subjects/{subject}/versions/latest",
                f"/subjects/{subject}/versions/{self._rng.randint(1, 9)}",
                f"/subjects/{subject}/versions/{self._rng.randint(1, 9)}/referencedby",
                f"/config/{subject}?defaultToGlobal=true",
                f"/mode/{subject}?defaultToGlobal=true",
                "/subjects?deleted=true",
                "/schemas?limit=20&latestOnly=true",
                "/contexts",
            ]
        )
        self._note("read", self._node().ask("GET", path), _READ)

    def _show_page(self) -> None:
        path = page_path(self._rng, self._rng.choice([*KEPT, *CHURNED, *MOODY, self._place()]), self._ids)
        self._note_page(path, self._node().ask("GET", path))

    def _show_subject(self) -> None:
        """Check the versions on a page, as of the change that the page names."""
        node, subject = self._node(), self._rng.choice([*KEPT, *CHURNED])
        reply = node.ask("GET", f"/ui/subjects/{subject}")
        self._note_page(f"/ui/subjects/{subject}", reply)
        if reply is not None and reply.status == 200:
            self.counts["page of one change" if named_change(reply.json)[1] else "page of a change or later", 200] += 1
            wrong = untruth(node, subject, reply.json)
            if wrong:
                self._complain(wrong)

    def _note_page(self, path: str, reply: Reply | None) -> None:
        status = 0 if reply is None else reply.status
        self.counts["page", status] += 1
        if status not in PAGE_STATUSES:
            self._complain(f"GET {path}: {reply}")

    def _look_up(self) -> None:
        if self._known:
            subject, schema = self._rng.choice(self._known)
            deleted = self._rng.choice(["", "?deleted=true"])
            reply = self._node().ask("POST", f"/subjects/{subject}{deleted}", {"schema": schema})
            self._note("look up", reply, {200, 40401, 40403})

    def _test(self) -> None:
        subject, version = self._rng.choice(KEPT + CHURNED), self._rng.choice(["", "/latest", "/1", "/2"])
        body = {"schema": ride(f"f{self._rng.randrange(40)}", of_type=self._rng.choice(["long", "boolean"]))}
        path = f"/compatibility/subjects/{subject}/versions{version}?verbose={self._rng.choice(['true', 'false'])}"
        self._note("test", self._node().ask("POST", path, body), {200, 40402})

    def _delete(self) -> None:
        subject = self._rng.choice(CHURNED)
        version = self._rng.choice([None, "latest", *range(1, 12)])
        permanent = self._rng.random() < 0.4
        self._note("delete", self._node().delete(subject, version=version, permanent=permanent), _DELETED)

    def _configure(self) -> None:
        reply = self._node().set(self._rng.choice(KEPT + CHURNED), self._rng.choice(LEVELS))
        self._note("configure", reply, {200, 40401})

    def _change_mode(self) -> None:
        mode = self._rng.choice(["READONLY", "READWRITE", "IMPORT", None])
        self._note("change mode", self._node().set(self._rng.choice(MOODY), mode, kind="mode"), {200, 40401, 42205})

    def _configure_all(self) -> None:
        body = {"compatibility": self._rng.choice(["BACKWARD", "FULL"])}
        self._note("configure all", self._node().ask("PUT", "/config", body), {200})

    # --- a subject of its own ---

    def _keep_own_subject(self) -> None:
        """Write to a new subject, and read it on another node; half of the subjects are deleted at the end."""
        self._rounds += 1
        subject = f"own-{self._name}-{self._rounds}"
        schemas = [ride(*(f"own{number}" for number in range(count + 1))) for count in range(self._rng.randint(1, 3))]
        for version, schema in enumerate(schemas, 1):
            reply = self._node().register(subject, schema)
            self._note("own register", reply, {200})
            if reply is None or reply.status != 200:
                return
            self._shows("POST", f"/subjects/{subject}", {"id": reply.json["id"], "version": version}, schema)
            self._shows("GET", f"/subjects/{subject}/versions/latest", {"id": reply.json["id"], "version": version})
            self._shows("GET", f"/schemas/ids/{reply.json['id']}?subject={subject}", {"guid": reply.json["guid"]})
        if self._rng.random() < 0.2:
            self._set_own_level(subject)
        if self._rng.random() < 0.5:
            self._drop_own_subject(subject, schemas)

    def _drop_own_subject(self, subject: str, schemas: list[str]) -> None:
        versions = list(range(1, len(schemas) + 1))
        last = versions[-1]
        self._answers(self._node().delete(subject, version=last), last)
        self._shows("GET", f"/subjects/{subject}/versions", versions[:-1] or 40401)
        self._shows("GET", f"/subjects/{subject}/versions?deletedAsNegative=true&deleted=true", [*versions[:-1], -last])
        self._shows("POST", f"/subjects/{subject}", 40403 if last > 1 else 40401, schemas[-1])
        again = self._node().register(subject, schemas[-1])
        self._note("own register", again, {200})
        self._shows("GET", f"/subjects/{subject}/versions?deleted=true", [*versions[:-1], last + 1])
        self._answers(self._node().delete(subject), [*versions[:-1], last + 1])
        self._shows("GET", f"/subjects/{subject}/versions/latest", 40401)
        self._answers(self._node().delete(subject, permanent=True), [*versions[:-1], last + 1])
        self._shows("GET", f"/subjects/{subject}/versions?deleted=true", 40401)
        self._shows("GET", f"/config/{subject}", 40408)

    def _set_own_level(self, subject: str) -> None:
        level = self._rng.choice(["NONE", "FULL"])
        self._note("own configure", self._node().set(subject, level), {200})
        self._shows("GET", f"/config/{subject}", {"compatibilityLevel": level})
        unfit = {"schema": ride(of_type="boolean")}
        compatible = {"is_compatible": level == "NONE"}
        self._answers(self._node().ask("POST", f"/compatibility/subjects/{subject}/versions", unfit), compatible)
        if level == "FULL":
            self._note("own unfit", self._node().register(subject, unfit["schema"]), {40901})
        self._note("own mode", self._node().set(subject, "READONLY", kind="mode"), {200})
        self._note("own read-only", self._node().register(subject, ride("late")), {42205})
        self._note("own mode", self._node().set(subject, None, kind="mode"), {200})

    def _duel(self) -> None:
        """Delete a version while another client registers a reference to it: exactly one of them must be refused."""
        self._rounds += 1
        target, user = f"target-{self._name}-{self._rounds}", f"user-{self._name}-{self._rounds}"
        self._note("own register", self._node().register(target, place("x")), {200})
        node, rival, deletions = self._node(), self._rng.choice(self._rivals), []
        second = threading.Thread(target=lambda: deletions.append(rival.delete(target)))
        second.start()
        reference = ("Place", target, self._rng.choice([-1, 1]))
        reply = node.register(user, ride(uses="Place"), references=(reference,))
        second.join()
        rival.close()
        self._note("duel to refer", reply, {200, 42201})
        self._note("duel to delete", deletions[0], {200, 42206})
        winners = [each for each in (reply, deletions[0]) if each is not None and each.status == 200]
        if len(winners) != 1:
            self._complain(f"{target} was deleted and referred to at once: {reply} and {deletions[0]}")

    def _shows(self, method: str, path: str, expected: Any, schema: str | None = None) -> None:
        """Check any node's response about own writes: the fields of a document, another value, or an error's code."""
        reply = self._node().ask(method, path, None if schema is None else {"schema": schema})
        self._answers(reply, expected, f"{method} {path}")

    def _answers(self, reply: Reply | None, expected: Any, what: str = "a deletion") -> None:
        found = _outcome(reply)
        self.counts[
            "own", 200 if reply is not None and reply.status < 300 else reply.json["error_code"] if reply else 0
        ] += 1
        if isinstance(expected, dict) and isinstance(found, dict):
            found = {name: found.get(name) for name in expected}
        if found != expected:
            self._complain(f"{what} of {self._name}: expected {expected}, got {found}")

    # --- what all requests do ---

    def _node(self) -> Client:
        """Return any node, on a connection that the server has no reason to have closed: idle ones end after 5 s."""
        node, now = self._rng.choice(self._nodes), time.monotonic()
        if now - self._last_asked.get(id(node), now) > _MAX_IDLE_S:
            node.close()
        self._last_asked[id(node)] = now
        return node

    def _note(
        self, kind: str, reply: Reply | None, expected: set[int], *, learn: tuple[str, str] | None = None
    ) -> None:
        code = 0 if reply is None else 200 if reply.status < 300 else reply.json["error_code"]
        self.counts[kind, code] += 1
        if code not in expected:
            self._complain(f"{kind}: {reply}")
        if code == 200 and learn is not None and reply is not None:
            self._known.append(learn)
            self._ids.append(reply.json["id"])

    def _complain(self, what: str) -> None:
        self.complaints.append(what[:1000])


def _outcome(reply: Reply | None) -> Any:
    if reply is None:
        return "no answer"
    return reply.json if reply.status < 300 else reply.json["error_code"]
