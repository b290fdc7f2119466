"""Messages that are written: the schema of each value, and whole records that are made of lines of JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from uuid import UUID

from counterfoil.contracts.baselines.baseline import read_schema
from counterfoil.contracts.baselines.operands import SUBJECT_VERSION, find_operand
from counterfoil.contracts.deploy.registration import FileRegistration
from counterfoil.contracts.errors import InvalidOperand
from counterfoil.contracts.project.subjects import Subjects
from counterfoil.contracts.records.lines import checked_line, read_headers, read_moment_ms, read_partition
from counterfoil.contracts.records.message import PartForm, guid_of, parse_read
from counterfoil.contracts.records.topic import NewRecord
from counterfoil.contracts.values.form import form_of, misfit_at_top, read_bytes
from counterfoil.schema.wire import KEY_HEADER, VALUE_HEADER
from counterfoil.sdk.errors import EncodeError, SerdeError
from counterfoil.sdk.serde.context import SerializationContext, misfit, place, placed
from counterfoil.sdk.serde.multi import LANGUAGES
from counterfoil.sdk.serde.serializer import Serializer

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.contracts.project.tree import ReadSchema
    from counterfoil.schema.datum import Json, JsonObject
    from counterfoil.schema.model import SchemaType
    from counterfoil.sdk.client import Registry
    from counterfoil.sdk.serde.context import Headers
    from counterfoil.sdk.subjects import Field


# Values in JSON form, written with a schema: its choice, and the messages.


@dataclass(frozen=True, slots=True)
class ChosenSchema:
    """The schema that values are written with. ``id`` is None for a file whose subject is not known."""

    found: ReadSchema
    language: SchemaType
    id: int | None


def choose_schema(operand: str, *, registry: Callable[[], Registry], subject: str | None = None) -> ChosenSchema:
    """Return the schema that ``operand`` names: a file, ``REF:PATH`` in git, or ``SUBJECT@VERSION``.

    A file has the id under which ``subject`` has its content; the files that it refers to have their subjects as in
    ``counterfoil schema register``. Raises what ``find_operand`` raises, and the errors of the client:
    ``SubjectNotFound`` and ``SchemaNotFound`` for a file that is not registered.
    """
    placed = find_operand(operand, ".", registry=registry)
    found, tree, path = placed.read, placed.tree, placed.path
    if found.schema is None:
        raise InvalidOperand(operand, "it was not read")
    named = SUBJECT_VERSION.fullmatch(operand)
    if named and found.label.startswith(f"{named['subject']} version "):
        version = named["version"]
        registered = registry().version(named["subject"], "latest" if version == "latest" else int(version))
        return ChosenSchema(found, registered.schema.schema_type, registered.id)
    language = found.schema.schema_type
    if subject is None or tree is None:
        return ChosenSchema(found, language, None)
    held = FileRegistration(tree, [path], subjects=Subjects(tree, given={path: subject}), registry=registry()).held()
    return ChosenSchema(found, language, held[path].id)


def schema_of_id(registry: Registry, schema_id: int) -> ChosenSchema:
    """Return the schema with this id; raise ``SchemaNotFound``."""
    held = registry.schema_by_id(schema_id)
    found = read_schema(registry, held, f"id {schema_id}")
    if found.problem is not None:
        raise InvalidOperand(found.label, found.problem.text, position=found.problem.position)
    return ChosenSchema(found, held.schema_type, schema_id)


class ValueWriter:
    """Writes values in JSON form as messages of one schema.

    ``message`` is the full name of a Protobuf message type; without it, it is the first of the file.
    """

    def __init__(
        self,
        chosen: ChosenSchema,
        *,
        registry: Callable[[], Registry],
        message: str | None = None,
        id_location: Literal["prefix", "header"] | None = "prefix",
    ) -> None:
        self.schema_id = chosen.id
        self._form = form_of(chosen.language)
        more = {} if message is None else {"message": message}
        codec = LANGUAGES[chosen.language].make_codec(**self._form.options, **more)
        self._message = message
        self._parsed = parse_read(codec, chosen.found)
        if id_location is None or chosen.id is None:
            encode = codec.encoder(self._parsed)
            self._write: Callable[[Json, SerializationContext], bytes | None] = lambda value, _: encode(value, b"")
        else:
            label = chosen.found.label
            self._write = Serializer(
                codec,
                registry(),
                register={"id": chosen.id},
                subject=lambda *_: label,
                id_location=id_location,
            )

    def write(
        self, given: object, *, topic: str | None = None, field: Field = "value", headers: Headers = None
    ) -> bytes | None:
        """Return the message of a value; None for null, a tombstone.

        A schema id in a header is put into ``headers``. Raises ``SerdeError``.
        """
        if given is None:
            return None
        context = SerializationContext(topic, field, headers)
        try:
            return self._write(self._form.value(self._parsed, given, self._message), context)
        except SerdeError as error:
            place(error, context, schema_id=self.schema_id)
            raise


# Records made of lines: which schema the key and the value of each have, and their bytes.


@dataclass(frozen=True, slots=True)
class PartChoice:
    """How keys, or values, are written if a line does not say it: a form, and a schema by its name for commands."""

    form: PartForm | None = None
    schema: str | None = None
    message: str | None = None


class RecordMaker:
    """Makes records of a topic; the registry is opened when it is first needed."""

    def __init__(
        self,
        topic: str,
        *,
        key: PartChoice,
        value: PartChoice,
        registry: Callable[[], Registry],
        id_location: Literal["prefix", "header"] | None = None,
    ) -> None:
        self._topic = topic
        self._choices: dict[Field, PartChoice] = {"key": key, "value": value}
        self._registry = registry
        self._id_location = id_location
        self._writers: dict[tuple[Json, ...], ValueWriter] = {}

    def make(self, given: object) -> NewRecord:
        """Return the record of a line. Raises ``SerdeError`` for a line or a value that does not fit."""
        line = checked_line(given)
        headers = read_headers(line)
        return NewRecord(
            self._part(line, "key", headers),
            self._part(line, "value", headers),
            headers,
            read_partition(line),
            read_moment_ms(line),
        )

    def _part(self, line: JsonObject, field: Field, headers: list[tuple[str, bytes | None]]) -> bytes | None:
        given = line.get(field)
        if given is None:
            return None
        form = self._form(line, field)
        if form is PartForm.SCHEMA:
            name = KEY_HEADER if field == "key" else VALUE_HEADER
            was_in_header = any(one[0] == name for one in headers)
            location = self._id_location or ("header" if was_in_header else "prefix")
            headers[:] = [one for one in headers if one[0] != name]
            writer = self._writer(line, field, location)
            return writer.write(given, topic=self._topic, field=field, headers=headers)
        try:
            return _text(given) if form is PartForm.TEXT else read_bytes(given)
        except EncodeError as error:
            raise misfit_at_top(placed(error, field)) from None

    def _form(self, line: JsonObject, field: Field) -> PartForm:
        choice = self._choices[field]
        named = line.get(f"{field}Form")
        if choice.form is not None:
            return choice.form
        if named is not None:
            try:
                return PartForm(named)
            except ValueError:
                expected = f"one of {', '.join(PartForm)}"
                raise misfit_at_top(placed(misfit(expected, named), f"{field}Form")) from None
        names = (choice.schema, line.get(f"{field}Id"), line.get(f"{field}Guid"))
        is_framed = field == "value" or any(one is not None for one in names)
        return PartForm.SCHEMA if is_framed else PartForm.TEXT

    def _writer(self, line: JsonObject, field: Field, location: Literal["prefix", "header"]) -> ValueWriter:
        """Return the writer of the schema that the command, or else the line names, or else of the latest version."""
        choice = self._choices[field]
        schema_id, guid = line.get(f"{field}Id"), line.get(f"{field}Guid")
        if choice.schema is not None:
            schema_id = guid = None
        key = (field, schema_id, guid, location)
        found = self._writers.get(key)
        if found is None:
            subject = f"{self._topic}-{field}"
            if schema_id is not None or guid is not None:
                chosen = schema_of_id(self._registry(), self._checked_id(field, schema_id, guid))
            else:
                chosen = choose_schema(choice.schema or f"{subject}@latest", registry=self._registry, subject=subject)
            found = self._writers[key] = ValueWriter(
                chosen, registry=self._registry, message=choice.message, id_location=location
            )
        return found

    def _checked_id(self, field: str, schema_id: object, guid: object) -> int:
        """Return the id of a line; in this registry it has to be the schema that the line's guid names."""
        if schema_id is None:
            return self._registry().ids_of_guid(_checked_guid(field, guid))[0].id
        if not isinstance(schema_id, int) or isinstance(schema_id, bool):
            raise misfit_at_top(placed(misfit("the id of a schema", schema_id), f"{field}Id"))
        if guid is not None:
            own = str(guid_of(self._registry().schema_by_id(schema_id)))
            if own != guid:
                expected = f"the guid of the schema with id {schema_id} in this registry, {own}"
                raise misfit_at_top(placed(misfit(expected, guid), f"{field}Guid"))
        return schema_id


def _checked_guid(field: str, guid: Json) -> UUID:
    try:
        return UUID(guid)
    except (AttributeError, TypeError, ValueError):
        raise misfit_at_top(placed(misfit("the guid of a schema", guid), f"{field}Guid")) from None


def _text(given: object) -> bytes:
    if not isinstance(given, str):
        raise misfit("a text", given)
    return given.encode("utf-8", "surrogatepass")
