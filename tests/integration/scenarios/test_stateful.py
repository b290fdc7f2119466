"""The whole API against a model of it: random requests, one after the other, each answered as the model says.

In this process, through the fast lane, over each storage. ``make hammer`` runs it with many more examples
(REGISTRY_MODEL_EXAMPLES).
"""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.registry.store.sqlite.storage import SqliteStorage
from strategies.registry.driver import InProcessRegistry, Reply
from strategies.registry.model import GLOBAL, TOP, Refused, RegistryModel, Row, Schema, Subject, qualified, shown

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from counterfoil.registry.store.protocol import Storage

EXAMPLES = int(os.environ.get("REGISTRY_MODEL_EXAMPLES", "0"))
BUDGETS = {"memory": 40, "sqlite": 12, "postgres": 6}
STEPS = 50

CONTEXTS = (".", ".c", ".d")
OPTIONAL = st.sampled_from([None, True, False])
FLAG = st.booleans()
PAGES = st.sampled_from([None, None, (0, 2), (1, 1), (2, -1), (0, 0), (9, 3)])
LEVELS = ["NONE", *(f"{way}{reach}" for way in ("BACKWARD", "FORWARD", "FULL") for reach in ("", "_TRANSITIVE"))]

subjects = st.tuples(st.sampled_from([".", ".", ".c", ".d"]), st.sampled_from("aabp"))
aliased_or_not = st.one_of(subjects, subjects, st.sampled_from([(".", "al"), (".c", "al")]))
scopes = st.one_of(subjects, subjects, aliased_or_not, st.sampled_from([TOP, GLOBAL, (".c", "")]))
modes = st.sampled_from(["READWRITE", None, None, "READONLY", "IMPORT"])
versions = st.sampled_from([None, None, 1, 2, 3])
import_ids = st.integers(1, 12)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    """A member of a small family, whose relations the model knows."""
    fields = [("id", draw(st.sampled_from(["long", "long", "long", "boolean"])), False)]
    for name, kind in (("note", "string"), ("fare", "double")):
        default = draw(OPTIONAL)
        if default is not None:
            fields.append((name, kind, default))
    if draw(st.integers(0, 3)) == 0:
        return Schema("Place", tuple(fields))
    reference = None
    if draw(st.integers(0, 2)) == 0:
        reference = (draw(st.sampled_from(["p", "p", ":.c:p"])), draw(st.sampled_from([-1, 1, 2])))
    return Schema("Ride", tuple(fields), reference)


fitting = st.builds(
    lambda extras: Schema("Ride", (("id", "long", False), *((name, "string", True) for name in extras))),
    st.lists(st.sampled_from(["x", "y", "z"]), unique=True, max_size=3).map(sorted),
)


def text_of(schema: Schema) -> str:
    defaults = {"string": "", "double": 1.5}
    fields: list[dict[str, Any]] = [
        {"name": name, "type": kind, **({"default": defaults[kind]} if default else {})}
        for name, kind, default in schema.fields
    ]
    if schema.reference is not None:
        fields.append({"name": "place", "type": "Place"})
    return json.dumps({"type": "record", "name": schema.name, "fields": fields}, separators=(",", ":"))


def body_of(schema: Schema, **more: Any) -> dict[str, Any]:
    body = {"schema": text_of(schema), **{name: value for name, value in more.items() if value is not None}}
    if schema.reference is not None:
        subject, version = schema.reference
        body["references"] = [{"name": "Place", "subject": subject, "version": version}]
    return body


def query(**flags: bool) -> str:
    return "?" + "&".join(f"{name}=true" for name, is_set in flags.items() if is_set)


def page_of(listing: list[Any], page: tuple[int, int] | None) -> list[Any]:
    if page is None:
        return listing
    offset, limit = page
    return listing[offset : offset + limit] if limit > 0 else listing[offset:]


def page_query(page: tuple[int, int] | None) -> str:
    return "" if page is None else f"&offset={page[0]}&limit={page[1]}"


class Comparison(RuleBasedStateMachine):
    """A registry beside a model; every rule asks both."""

    def __init__(self, new_storage: Callable[[], Storage]) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.storage = new_storage()
        self.registry = InProcessRegistry(self.storage)
        self.model = RegistryModel()
        self.guids: dict[Schema, str] = {}

    def teardown(self) -> None:
        try:
            listed = self.ask("GET", "/schemas?deleted=true&subjectPrefix=:*:").json
            assert [self.brief(each) for each in listed] == self.lines(deleted=True)
        finally:
            self.runner.run(self.storage.close())
            self.runner.close()

    def ask(self, method: str, path: str, body: Any = None) -> Reply:
        text = None if body is None else json.dumps(body).encode()
        return self.runner.run(self.registry.ask(method, path, text, {"Content-Type": "application/json"}))

    def expect(self, reply: Reply, ask_model: Callable[[], Any]) -> Any:
        """The model's value, when the answer is a success, and the model finds so too."""
        value, code = None, None
        try:
            value = ask_model()
        except Refused as refused:
            code = refused.args[0]
        if code is None:
            assert reply.status in {200, 204}, f"expected {value}, got {reply.text}"
        else:
            assert reply.status >= 400, f"expected {code}, got {reply.text}"
            assert reply.code == code, reply.text
        return value

    def path(self, subject: Subject, *, by_prefix: bool) -> str:
        """The subject in a path: qualified, or behind a context's prefix."""
        if by_prefix:
            return f"/contexts/{subject[0]}/subjects/{subject[1]}"
        return f"/subjects/{quote(shown(subject), safe=':')}"

    def a_subject(self, data: st.DataObject) -> Subject:
        """One that has rows, in most cases."""
        known = sorted(self.model.rows)
        return data.draw(
            st.one_of(st.sampled_from(known), st.sampled_from(known), aliased_or_not) if known else subjects
        )

    def a_schema(self, data: st.DataObject) -> Schema:
        """One that is there, in most cases."""
        known = [row.schema for rows in self.model.rows.values() for row in rows]
        return data.draw(st.one_of(st.sampled_from(known), schemas()) if known else schemas())

    def brief(self, document: dict[str, Any]) -> tuple[str, int, int, bool]:
        return document["subject"], document["version"], document["id"], document.get("deleted", False)

    def lines(self, *, deleted: bool, latest_only: bool = False) -> list[tuple[str, int, int, bool]]:
        found = []
        for subject in sorted(self.model.rows, key=shown):
            rows = self.model.visible(subject, deleted=deleted)
            found += [
                (shown(subject), row.version, row.schema_id, row.deleted) for row in rows[-1 if latest_only else 0 :]
            ]
        return found

    def check_document(self, document: dict[str, Any], place: tuple[Subject, Row]) -> None:
        subject, row = place
        assert (document["subject"], document["version"], document["id"]) == (
            shown(subject),
            row.version,
            row.schema_id,
        )
        self.check_content(document, row.schema)

    def check_content(self, document: dict[str, Any], schema: Schema) -> None:
        assert document["schema"] == text_of(schema)
        assert document.get("references", []) == body_of(schema).get("references", [])
        assert self.guids.setdefault(schema, document["guid"]) == document["guid"]

    # --- writes

    @rule(subject=aliased_or_not, schema=schemas(), by_prefix=FLAG)
    def register(self, subject: Subject, schema: Schema, *, by_prefix: bool) -> None:
        self.send(subject, schema, by_prefix=by_prefix)

    @rule(subject=subjects, schema=fitting)
    def register_what_fits(self, subject: Subject, schema: Schema) -> None:
        self.send(subject, schema)

    @rule(data=st.data(), subject=subjects)
    def register_what_is_somewhere(self, data: st.DataObject, subject: Subject) -> None:
        self.send(subject, self.a_schema(data))

    @rule(data=st.data())
    def register_what_was_deleted(self, data: st.DataObject) -> None:
        gone = [(subject, row) for subject, rows in self.model.rows.items() for row in rows if row.deleted]
        if gone:
            subject, row = data.draw(st.sampled_from(gone))
            self.send(subject, row.schema)

    @rule(subject=subjects, schema=schemas(), version=st.sampled_from([1, -1]))
    def register_what_refers(self, subject: Subject, schema: Schema, version: int) -> None:
        self.send((subject[0], "p"), Schema("Place", schema.fields))
        self.send(subject, Schema("Ride", schema.fields, ("p", version)))

    @rule(subject=subjects, schema=schemas(), schema_id=import_ids, version=versions, stays=FLAG)
    def bring(self, subject: Subject, schema: Schema, schema_id: int, version: int | None, *, stays: bool) -> None:
        self.set_mode(subject, "IMPORT", force=True)
        self.send(subject, schema, schema_id=schema_id, version=version)
        if not stays:
            self.unset_mode(subject)

    @rule(data=st.data(), another_id=FLAG)
    def bring_again(self, data: st.DataObject, *, another_id: bool) -> None:
        there = [(subject, row) for subject, rows in self.model.rows.items() for row in rows]
        if there:
            subject, row = data.draw(st.sampled_from(there))
            schema_id = row.schema_id + 5 if another_id else row.schema_id
            version = data.draw(st.sampled_from([None, row.version, row.version + 1]))
            if data.draw(st.integers(0, 4)):
                self.set_mode(subject, "IMPORT", force=True)
            self.send(subject, row.schema, schema_id=schema_id, version=version)
            self.set_mode(subject, None, force=False)

    def send(
        self,
        subject: Subject,
        schema: Schema,
        *,
        by_prefix: bool = False,
        schema_id: int | None = None,
        version: int | None = None,
    ) -> None:
        body = body_of(schema, id=schema_id, version=version)
        reply = self.ask("POST", f"{self.path(subject, by_prefix=by_prefix)}/versions", body)
        real = self.model.aliased(subject)
        found = self.expect(reply, lambda: self.model.register(real, schema, schema_id, version))
        if found is not None:
            ids, number = found
            given = reply.json
            assert given["id"] in ids
            assert given["version"] == number
            self.model.store(real, schema, given["id"], number)
            self.check_content(given, self.model.pick(real, number).schema)

    @rule(data=st.data(), permanent=FLAG, by_prefix=FLAG)
    def delete_subject(self, data: st.DataObject, *, permanent: bool, by_prefix: bool) -> None:
        subject = self.a_subject(data)
        self.delete_whole(subject, permanent=permanent, by_prefix=by_prefix)

    def delete_whole(self, subject: Subject, *, permanent: bool, by_prefix: bool = False) -> None:
        reply = self.ask("DELETE", self.path(subject, by_prefix=by_prefix) + query(permanent=permanent))
        real = self.model.aliased(subject)
        deleted = self.expect(reply, lambda: self.model.delete_subject(real, permanent=permanent))
        assert deleted is None or reply.json == deleted

    @rule(data=st.data(), version=versions, permanent=FLAG)
    def delete_version(self, data: st.DataObject, version: int | None, *, permanent: bool) -> None:
        subject = self.a_subject(data)
        self.delete_one(subject, version, permanent=permanent)

    def delete_one(self, subject: Subject, version: int | None, *, permanent: bool) -> None:
        path = f"{self.path(subject, by_prefix=False)}/versions/{version or 'latest'}"
        reply = self.ask("DELETE", path + query(permanent=permanent))
        real = self.model.aliased(subject)
        deleted = self.expect(reply, lambda: self.model.delete_version(real, version, permanent=permanent))
        assert deleted is None or reply.json == deleted

    @rule(data=st.data())
    def delete_for_good(self, data: st.DataObject) -> None:
        subject = self.model.aliased(self.a_subject(data))
        versions_there = [row.version for row in self.model.visible(subject, deleted=True)]
        version = data.draw(st.sampled_from([None, *versions_there]))
        for permanent in (False, True):
            if version is None:
                self.delete_whole(subject, permanent=permanent)
            else:
                self.delete_one(subject, version, permanent=permanent)

    @rule(data=st.data(), user_first=FLAG)
    def delete_what_is_referred_to(self, data: st.DataObject, *, user_first: bool) -> None:
        users = [(subject, row) for subject, rows in self.model.rows.items() for row in rows if row.schema.reference]
        if users:
            user, row = data.draw(st.sampled_from(users))
            written, version = row.schema.reference or ("", 0)
            target = qualified(written, user[0])
            if user_first:
                self.delete_one(user, row.version, permanent=False)
            self.delete_one(target, version, permanent=False)
            self.delete_one(target, version, permanent=True)

    @rule(scope=scopes, level=st.sampled_from([*LEVELS, None, None]), read=aliased_or_not)
    def configure(self, scope: Subject, level: str | None, read: Subject) -> None:
        if level is None:
            self.unconfigure(scope)
        else:
            self.configure_level(scope, level)
        self.read_settings(read, default=True)
        self.read_settings(scope, default=False)

    def configure_level(self, scope: Subject, level: str) -> None:
        reply = self.ask("PUT", f"/config/{shown(scope) or ':.:'}", {"compatibility": level.lower()})
        config = self.expect(reply, lambda: self.model.configure(scope, {"compatibility": level}))
        assert config is None or reply.json == config

    @rule(context=st.sampled_from([".", ".c"]), to=st.sampled_from(["a", "b", ":.d:a", "al", None]))
    def alias(self, context: str, to: str | None) -> None:
        scope = (context, "al")
        reply = self.ask("PUT", f"/config/{shown(scope)}", {"alias": to})
        config = self.expect(reply, lambda: self.model.configure(scope, {"alias": to}))
        assert config is None or reply.json == config

    def unconfigure(self, scope: Subject) -> None:
        reply = self.ask("DELETE", f"/config/{shown(scope) or ':.:'}")
        self.expect(reply, lambda: self.model.unconfigure(scope))

    @rule(scope=scopes, mode=modes, force=FLAG, read=aliased_or_not)
    def change_mode(self, scope: Subject, mode: str | None, *, force: bool, read: Subject) -> None:
        if mode is None:
            self.unset_mode(scope)
        else:
            self.set_mode(scope, mode, force=force)
        self.read_settings(read, default=True)
        self.read_settings(scope, default=False)

    def set_mode(self, scope: Subject, mode: str | None, *, force: bool) -> None:
        reply = self.ask("PUT", f"/mode/{shown(scope) or ':.:'}{query(force=force)}", {"mode": mode})
        self.expect(reply, lambda: self.model.set_mode(scope, mode, force=force))

    def unset_mode(self, scope: Subject) -> None:
        reply = self.ask("DELETE", f"/mode/{shown(scope) or ':.:'}")
        mode = self.expect(reply, lambda: self.model.unset_mode(scope))
        assert mode is None or reply.json == {"mode": mode}

    @rule()
    def thaw(self) -> None:
        """All modes are cleared, so that a run does not end in a registry that takes nothing."""
        for scope in list(self.model.modes):
            self.unset_mode(scope)

    @rule(context=st.sampled_from([".c", ".d"]))
    def drop_context(self, context: str) -> None:
        self.expect(self.ask("DELETE", f"/contexts/{context}"), lambda: self.model.drop_context(context))

    # --- reads

    @rule(data=st.data(), version=versions, deleted=FLAG, by_prefix=FLAG)
    def fetch(self, data: st.DataObject, version: int | None, *, deleted: bool, by_prefix: bool) -> None:
        subject = self.a_subject(data)
        path = f"{self.path(subject, by_prefix=by_prefix)}/versions/{version or 'latest'}"
        reply = self.ask("GET", path + query(deleted=deleted))
        real = self.model.aliased(subject)
        place = self.expect(reply, lambda: self.model.fetch(real, version, deleted=deleted))
        if place is not None:
            self.check_document(reply.json, place)
            assert self.ask("GET", f"{path}/schema{query(deleted=deleted)}").text == reply.json["schema"]

    @rule(data=st.data(), deleted=FLAG)
    def look_up(self, data: st.DataObject, *, deleted: bool) -> None:
        subject, schema = self.a_subject(data), self.a_schema(data)
        reply = self.ask("POST", self.path(subject, by_prefix=False) + query(deleted=deleted), body_of(schema))
        real = self.model.aliased(subject)
        place = self.expect(reply, lambda: self.model.look_up(real, schema, deleted=deleted))
        if place is not None:
            self.check_document(reply.json, place)

    @rule(data=st.data(), deleted=FLAG, only=FLAG, negative=FLAG, page=PAGES)
    def list_versions(self, data: st.DataObject, *, deleted: bool, only: bool, negative: bool, page: Any) -> None:
        subject = self.a_subject(data)
        flags = query(deleted=deleted, deletedOnly=only, deletedAsNegative=negative)
        reply = self.ask("GET", f"{self.path(subject, by_prefix=True)}/versions{flags}{page_query(page)}")
        real = self.model.aliased(subject)

        def expected() -> list[int]:
            if not self.model.visible(real, deleted=deleted or only):
                raise Refused(40401)
            rows = self.model.visible(real, deleted=deleted or only or negative)
            if negative:
                return [-row.version if row.deleted else row.version for row in rows]
            return [row.version for row in rows if row.deleted or not only]

        found = self.expect(reply, expected)
        assert found is None or reply.json == page_of(found, page)

    @rule(prefix=st.sampled_from([None, "", ":.c:", ":.c:a", ":*:b", "a"]), deleted=FLAG, only=FLAG, page=PAGES)
    def list_subjects(self, prefix: str | None, *, deleted: bool, only: bool, page: Any) -> None:
        asked = "" if prefix is None else f"&subjectPrefix={prefix}"
        flags = query(deleted=deleted, deletedOnly=only)
        found = []
        for subject in self.model.rows:
            active = bool(self.model.visible(subject))
            everywhere = prefix is None or prefix.startswith(":*:")
            context, name = qualified((prefix or "").removeprefix(":*:"))
            fits = (everywhere or subject[0] == context) and subject[1].startswith(name)
            if fits and (not active if only else active or deleted):
                found.append(shown(subject))
        assert self.ask("GET", f"/subjects{flags}{asked}{page_query(page)}").json == page_of(sorted(found), page)

    @rule(deleted=FLAG, latest=FLAG, page=PAGES)
    def list_schemas(self, *, deleted: bool, latest: bool, page: Any) -> None:
        flags = query(deleted=deleted, latestOnly=latest)
        reply = self.ask("GET", f"/schemas{flags}&subjectPrefix=:*:{page_query(page)}")
        expected = page_of(self.lines(deleted=deleted, latest_only=latest), page)
        assert [self.brief(each) for each in reply.json] == expected

    @rule(data=st.data())
    def by_id(self, data: st.DataObject) -> None:
        known = [(subject[0], row.schema_id) for subject, rows in self.model.rows.items() for row in rows]
        unknown = st.tuples(st.sampled_from(CONTEXTS), st.integers(1, 8))
        context, schema_id = data.draw(st.one_of(st.sampled_from(known), unknown) if known else unknown)
        asked = "" if context == "." else f"&subject=:{context}:"
        reply = self.ask("GET", f"/schemas/ids/{schema_id}?{asked}")
        held = self.expect(reply, lambda: self.model.holders(context, schema_id))
        if held is None:
            return
        self.check_content(reply.json, held[0][1].schema)
        path = f"/schemas/ids/{schema_id}"
        for deleted in (False, True):
            uses = [(subject, row) for subject, row in held if deleted or not row.deleted]
            highest = {shown(subject): row.version for subject, row in sorted(uses, key=lambda use: use[1].version)}
            assert sorted(self.ask("GET", f"{path}/subjects{query(deleted=deleted)}{asked}").json) == sorted(highest)
            listed = self.ask("GET", f"{path}/versions{query(deleted=deleted)}{asked}").json
            assert {each["subject"]: each["version"] for each in listed} == highest
        ids = {
            (subject[0], row.schema_id)
            for subject, rows in self.model.rows.items()
            for row in rows
            if row.schema == held[0][1].schema
        }
        pairs = self.ask("GET", f"/schemas/guids/{reply.json['guid']}/ids").json
        assert [(each["context"], each["id"]) for each in pairs] == sorted(ids)

    @rule(data=st.data(), version=versions, deleted=FLAG)
    def referenced_by(self, data: st.DataObject, version: int | None, *, deleted: bool) -> None:
        subject = self.a_subject(data)
        path = f"{self.path(subject, by_prefix=False)}/versions/{version or 'latest'}/referencedby"
        real = self.model.aliased(subject)

        def expected() -> list[int]:
            place, row = self.model.fetch(real, version, deleted=True)
            users = self.model.referrers(place, row.version)
            return sorted(
                schema_id
                for _, schema_id in {(user[0], each.schema_id) for user, each in users if deleted or not each.deleted}
            )

        reply = self.ask("GET", path + query(deleted=deleted))
        found = self.expect(reply, expected)
        assert found is None or reply.json == found

    @rule(data=st.data(), schema=schemas(), version=st.sampled_from(["", "/latest", "/1", "/2"]))
    def check_compatibility(self, data: st.DataObject, schema: Schema, version: str) -> None:
        subject = self.a_subject(data)
        schema = schema._replace(reference=None)
        reply = self.ask(
            "POST", f"/compatibility{self.path(subject, by_prefix=False)}/versions{version}", body_of(schema)
        )
        real = self.model.aliased(subject)

        def expected() -> bool:
            rows = self.model.visible(real)
            if version.strip("/").isdigit():
                rows = [row for row in rows if row.version == int(version[1:])]
                if not rows:
                    raise Refused(40402)
            return self.model.compatible(real, schema, rows[-1:] if version else rows)

        verdict = self.expect(reply, expected)
        assert verdict is None or reply.json == {"is_compatible": verdict}

    def read_settings(self, scope: Subject, *, default: bool) -> None:
        always = default or scope in {TOP, GLOBAL}
        name = shown(scope) or ":.:"
        reply = self.ask("GET", f"/config/{name}{query(defaultToGlobal=default)}")
        own = self.model.levels.get(scope)
        if own is None and not always:
            assert reply.code == 40408
        else:
            level = self.model.level(scope) if default else (own or {}).get("compatibility", "BACKWARD")
            alias = {"alias": own["alias"]} if own and "alias" in own else {}
            assert reply.json == {"compatibilityLevel": level, **alias}
        reply = self.ask("GET", f"/mode/{name}{query(defaultToGlobal=default)}")
        if scope not in self.model.modes and not always:
            assert reply.code == 40409
        else:
            mode = self.model.mode(scope) if default else self.model.modes.get(scope, "READWRITE")
            assert reply.json == {"mode": mode}

    @invariant()
    def contexts_are_those_in_which_something_was_registered(self) -> None:
        others = sorted(self.model.contexts - {"."})
        assert self.ask("GET", "/contexts").json == [".", *others]

    @invariant()
    def a_guid_stands_for_one_schema(self) -> None:
        assert len(set(self.guids.values())) == len(self.guids)


@pytest.fixture(params=list(BUDGETS))
def new_storage(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Storage]:
    """A function that gives an empty storage."""
    if request.param == "postgres":
        return request.getfixturevalue("emptied_postgres")
    if request.param == "memory":
        return MemoryStorage
    files = iter(range(10**9))
    return lambda: SqliteStorage(tmp_path / f"{next(files)}.db")


def test_the_registry_is_what_the_model_is(new_storage: Callable[[], Storage], request: pytest.FixtureRequest) -> None:
    budget = EXAMPLES or BUDGETS[request.node.callspec.params["new_storage"]]
    run_state_machine_as_test(
        lambda: Comparison(new_storage),
        settings=settings(
            max_examples=budget,
            stateful_step_count=STEPS,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )
