"""A minimal model of a registry: lists of rows, and the rules by which they change, without speed or storage.

Subjects are pairs of a context (``.`` is the default one) and a name; the name of a context as a whole is empty. The
API's response is a return value, or :class:`Refused` with the error's code. Written from the documented behaviour of
Confluent's Schema Registry, not from this project's code.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

Subject: TypeAlias = tuple[str, str]
GLOBAL: Final[Subject] = (".__GLOBAL", "")
TOP: Final[Subject] = (".", "")


class Refused(Exception):
    """The response is an error; its argument is the code."""


class Schema(NamedTuple):
    """A record: fields as (name, type, has a default), and the version of ``Place`` that it refers to, if any."""

    name: str
    fields: tuple[tuple[str, str, bool], ...]
    reference: tuple[str, int] | None = None  # subject as it was written, version or -1


@dataclass
class Row:
    version: int
    schema_id: int
    schema: Schema
    deleted: bool = False


def qualified(text: str, context: str = ".") -> Subject:
    """Return the subject that a text names in a context."""
    if not text.startswith(":."):
        return (context, text)
    inside, _, name = text[1:].partition(":")
    return (inside, name)


def shown(subject: Subject) -> str:
    """Return a subject as responses print it."""
    return subject[1] if subject[0] == "." else f":{subject[0]}:{subject[1]}"


@dataclass
class RegistryModel:
    rows: dict[Subject, list[Row]] = field(default_factory=dict)
    levels: dict[Subject, dict[str, Any]] = field(default_factory=dict)  # config
    modes: dict[Subject, str] = field(default_factory=dict)
    max_ids: dict[str, int] = field(default_factory=dict)
    contexts: set[str] = field(default_factory=set)

    # --- reading

    def visible(self, subject: Subject, *, deleted: bool = False) -> list[Row]:
        return [row for row in self.rows.get(subject, []) if deleted or not row.deleted]

    def find(self, subject: Subject, version: int | None, *, deleted: bool = False) -> Row | None:
        """Return the row of a version; None is the latest, which is never a deleted one."""
        rows = self.visible(subject, deleted=deleted and version is not None)
        return next((row for row in reversed(rows) if version in {None, row.version}), None)

    def pick(self, subject: Subject, version: int | None, *, deleted: bool = False) -> Row:
        row = self.find(subject, version, deleted=deleted)
        if row is None:
            raise Refused(40402 if self.visible(subject, deleted=deleted) else 40401)
        return row

    def fetch(self, subject: Subject, version: int | None, *, deleted: bool = False) -> tuple[Subject, Row]:
        """Return a version; one that the default context does not have is searched in the others."""
        for place in self._places(subject):
            row = self.find(place, version, deleted=deleted)
            if row is not None:
                return place, row
        return subject, self.pick(subject, version, deleted=deleted)

    def _places(self, subject: Subject) -> list[Subject]:
        others = sorted(self.contexts - {"."}) if subject[0] == "." else []
        return [subject, *((context, subject[1]) for context in others)]

    def holders(self, context: str, schema_id: int) -> list[tuple[Subject, Row]]:
        """Return the rows with an id; an import may also have given their schema other ids."""
        rows = [(subject, row) for subject in self.rows if subject[0] == context for row in self.rows[subject]]
        schema = next((row.schema for _, row in rows if row.schema_id == schema_id), None)
        if schema is None:
            raise Refused(40403)
        return [(subject, row) for subject, row in rows if row.schema == schema]

    def referrers(self, subject: Subject, version: int) -> list[tuple[Subject, Row]]:
        return [
            (user, row)
            for user, rows in self.rows.items()
            for row in rows
            if row.schema.reference is not None
            and (qualified(row.schema.reference[0], user[0]), row.schema.reference[1]) == (subject, version)
        ]

    def look_up(self, subject: Subject, schema: Schema, *, deleted: bool) -> tuple[Subject, Row]:
        self.resolved(subject[0], schema, deleted=True)
        for place in self._places(subject):
            try:
                sought = self.resolved(place[0], schema, deleted=True)
            except Refused:
                continue
            found = [row for row in self.visible(place, deleted=deleted) if row.schema == sought]
            if found:
                return place, found[-1]
        raise Refused(40403 if self.visible(subject, deleted=deleted) else 40401)

    # --- what is in effect

    def aliased(self, subject: Subject) -> Subject:
        alias = self.levels.get(subject, {}).get("alias")
        return qualified(alias, subject[0]) if alias else subject

    def level(self, scope: Subject) -> str:
        """Return the level in effect: of the subject, else of its context, else the global one, else BACKWARD."""
        for place in (scope, (scope[0], ""), GLOBAL):
            if place in self.levels:
                return str(self.levels[place].get("compatibility", "BACKWARD"))
        return "BACKWARD"

    def mode(self, scope: Subject) -> str:
        found = [self.modes[place] for place in (scope, (scope[0], ""), GLOBAL) if place in self.modes]
        return found[0] if found else "READWRITE"

    # --- compatibility

    def resolved(self, context: str, schema: Schema, *, deleted: bool) -> Schema:
        """Return the schema with the real number in its reference, which must exist."""
        if schema.reference is None:
            return schema
        written, version = schema.reference
        row = self.find(qualified(written, context), None if version == -1 else version, deleted=deleted)
        if row is None or self._place(schema._replace(reference=(written, row.version)), context) is None:
            raise Refused(42201)
        return schema._replace(reference=(written, row.version))

    def reads(self, reader: Schema, writer: Schema, context: str) -> bool:
        """Return whether ``reader`` can read records of ``writer``: each field exists in its type, or is optional."""
        types = {name: kind for name, kind, _ in writer.fields}
        own = all(types[name] == kind if name in types else default for name, kind, default in reader.fields)
        if not own or reader.name != writer.name or reader.reference is None:
            return own and reader.name == writer.name
        read, written = self._place(reader, context), self._place(writer, context)
        return read is not None and written is not None and self.reads(read, written, context)

    def _place(self, schema: Schema, context: str) -> Schema | None:
        """Return the record ``Place`` of a reference: its target, or what the target itself refers to by that name."""
        row = None
        while schema.reference is not None:
            target = qualified(schema.reference[0], context)
            row = self.find(target, schema.reference[1], deleted=True)
            if row is None:
                return None
            schema, context = row.schema, target[0]
        return None if row is None or schema.name != "Place" else schema

    def compatible(self, subject: Subject, schema: Schema, rows: list[Row]) -> bool:
        level = self.level(subject)
        for row in rows if level.endswith("_TRANSITIVE") else rows[-1:]:
            if level.startswith(("BACKWARD", "FULL")) and not self.reads(schema, row.schema, subject[0]):
                return False
            if level.startswith(("FORWARD", "FULL")) and not self.reads(row.schema, schema, subject[0]):
                return False
        return True

    # --- writing

    def register(
        self, subject: Subject, schema: Schema, schema_id: int | None = None, version: int | None = None
    ) -> tuple[set[int], int]:
        """Return the ids that the response may have (several only after imports), and the version."""
        sought, active = self.resolved(subject[0], schema, deleted=True), self.visible(subject)
        for row in reversed(active):
            numbers = {(None, None), (row.schema_id, None), (row.schema_id, row.version)}
            if row.schema == sought and (schema_id, version) in numbers:
                return {row.schema_id}, row.version
        mode = self.mode(subject)
        if mode == "READONLY" or (mode == "IMPORT") != (schema_id is not None):
            raise Refused(42205)
        sought = self.resolved(subject[0], schema, deleted=schema_id is not None)
        if mode != "IMPORT" and not self.compatible(subject, sought, active):
            raise Refused(40901)
        ids = self._ids(subject[0], sought, schema_id)
        number = version or max((row.version for row in self.rows.get(subject, [])), default=0) + 1
        held = next((row for row in self.rows.get(subject, []) if row.version == number), None)
        if held is not None and (held.schema_id, held.schema) != (schema_id, sought):
            raise Refused(42205)
        return ids, number

    def _ids(self, context: str, schema: Schema, schema_id: int | None) -> set[int]:
        rows = [row for subject in self.rows if subject[0] == context for row in self.rows[subject]]
        if schema_id is not None:
            if any(row.schema_id == schema_id and row.schema != schema for row in rows):
                raise Refused(42205)
            return {schema_id}
        return {row.schema_id for row in rows if row.schema == schema} or {self.max_ids.get(context, 0) + 1}

    def store(self, subject: Subject, schema: Schema, schema_id: int, version: int) -> None:
        """Store a registration; deleted rows of the same id without referrers are removed."""
        row = next((row for row in self.visible(subject) if row.version == version), None)
        if row is not None:
            return
        sought = self.resolved(subject[0], schema, deleted=True)
        kept = [row for row in self.rows.get(subject, []) if row.version != version]
        kept = [
            row
            for row in kept
            if not (row.deleted and row.schema_id == schema_id and row.version < version)
            or self.referrers(subject, row.version)
        ]
        self.rows[subject] = sorted([*kept, Row(version, schema_id, sought)], key=lambda row: row.version)
        self.contexts.add(subject[0])
        self.max_ids[subject[0]] = max(schema_id, self.max_ids.get(subject[0], 0))

    def delete_subject(self, subject: Subject, *, permanent: bool) -> list[int]:
        rows = self.visible(subject, deleted=permanent)
        if not self.rows.get(subject):
            raise Refused(40401)
        if not rows:
            raise Refused(40404)
        self._check_writable(subject)
        users = [use for row in rows for use in self.referrers(subject, row.version) if use[0] != subject]
        if any(permanent or not row.deleted for _, row in users):
            raise Refused(42206)
        if permanent and self.visible(subject):
            raise Refused(40405)
        return self._remove(subject, rows, permanent=permanent)

    def delete_version(self, subject: Subject, version: int | None, *, permanent: bool) -> int:
        row = self.find(subject, version, deleted=True)
        if row is None:
            raise Refused(40402 if self.rows.get(subject) else 40401)
        if row.deleted and not permanent:
            raise Refused(40406)
        self._check_writable(subject)
        if any(permanent or not user.deleted for _, user in self.referrers(subject, row.version)):
            raise Refused(42206)
        if permanent and not row.deleted:
            raise Refused(40407)
        return self._remove(subject, [row], permanent=permanent)[0]

    def _remove(self, subject: Subject, rows: list[Row], *, permanent: bool) -> list[int]:
        for row in rows:
            row.deleted = True
        if permanent:
            self.rows[subject] = [row for row in self.rows[subject] if row not in rows]
            if not self.rows[subject]:
                for kept in (self.rows, self.levels, self.modes):
                    kept.pop(subject, None)
        return [row.version for row in rows]

    def _check_writable(self, scope: Subject) -> None:
        if self.mode(scope) == "READONLY":
            raise Refused(42205)

    def configure(self, scope: Subject, changes: dict[str, Any]) -> dict[str, Any]:
        self._check_writable(scope)
        merged = {**self.levels.get(scope, {}), **changes}
        self.levels[scope] = {name: value for name, value in merged.items() if value is not None}
        return self.levels[scope]

    def unconfigure(self, scope: Subject) -> dict[str, Any]:
        if scope not in self.levels and scope not in {TOP, GLOBAL}:
            raise Refused(40401)
        self._check_writable(scope)
        return self.levels.pop(scope, {})

    def set_mode(self, scope: Subject, mode: str | None, *, force: bool) -> None:
        if mode == "IMPORT" and self.mode(scope) != "IMPORT" and not force:
            whole = scope in {TOP, GLOBAL}
            inside = [each for each in self.rows if whole or each == scope or ((each[0], "") == scope)]
            if any(self.visible(subject) for subject in inside):
                raise Refused(42205)
            users = [use for each in inside for row in self.rows[each] for use in self.referrers(each, row.version)]
            if any(user not in inside for user, _ in users):
                raise Refused(42206)
            own = self.levels.get(scope)
            for subject in inside:
                self._remove(subject, self.rows[subject], permanent=True)
            if own is not None:
                self.levels[scope] = own
        self.modes.pop(scope, None)
        if mode is not None:
            self.modes[scope] = mode

    def unset_mode(self, scope: Subject) -> str:
        if scope not in self.modes and scope not in {TOP, GLOBAL}:
            raise Refused(40401)
        return self.modes.pop(scope, "READWRITE")

    def drop_context(self, context: str) -> None:
        if any(rows for subject, rows in self.rows.items() if subject[0] == context):
            raise Refused(42211)
        self.contexts.discard(context)
