"""Records as lines of JSON, as they are printed and as they are written; the encoding of a line's key and value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal
from uuid import UUID

from counterfoil.contracts.baselines.operands import SUBJECT_VERSION, find_operand, read_schema
from counterfoil.contracts.deploy.registration import FileRegistration
from counterfoil.contracts.errors import InvalidOperand
from counterfoil.contracts.project import ReadSchema
from counterfoil.contracts.project.subjects import Subjects
from counterfoil.contracts.records.message import PartForm, RecordPart, guid_of, json_problem, parse_read
from counterfoil.contracts.records.topic import KafkaRecord, NewRecord
from counterfoil.contracts.values import form_of, misfit_at_top, one_line, read_bytes, shown_bytes
from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.model import SchemaType
from counterfoil.schema.wire import KEY_HEADER, VALUE_HEADER
from counterfoil.sdk.errors import EncodeError, SerdeError
from counterfoil.sdk.serde import Headers, SerializationContext, misfit, place, placed
from counterfoil.sdk.serde.multi import LANGUAGES
from counterfoil.sdk.serde.serializer import Serializer
from counterfoil.sdk.subjects import Field

if TYPE_CHECKING:
    from counterfoil.sdk.client import Registry


# Records as lines of JSON: what ``counterfoil consume`` prints, and ``counterfoil produce`` reads.
#
# The value, the key and their schemas are ``value``, ``valueForm``, ``valueId``, ``valueGuid``, ``key`` and so on.

_PARTS: Final = tuple(f"{field}{fact}" for field in ("key", "value") for fact in ("", "Form", "Id", "Guid"))
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MEMBERS: Final = frozenset((*_PARTS, "topic", "partition", "offset", "timestamp", "headers", "errors"))


def document_of(record: KafkaRecord, key: RecordPart, value: RecordPart) -> JsonObject:
    """Return the JSON of a record; members are only ever added to this form."""
    moment = record.timestamp_ms
    found = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": None if moment is None else (_EPOCH + timedelta(milliseconds=moment)).isoformat(),
        **_facts("key", key),
        **_facts("value", value),
        "headers": [_header(name, content) for name, content in record.headers],
        "errors": {field: json_problem(error) for field, error in errors_of(key, value).items()},
    }
    always = {"key", "value"}
    return {name: fact for name, fact in found.items() if name in always or fact not in (None, [], {})}


def errors_of(key: RecordPart, value: RecordPart) -> dict[str, SerdeError]:
    """Return why the key or the value could not be read."""
    return {field: part.error for field, part in (("key", key), ("value", value)) if part.error is not None}


def row_of(record: KafkaRecord, key: RecordPart, value: RecordPart) -> str:
    """Return a record as one line of text."""
    errors = errors_of(key, value)
    shown = [
        f"{field} cannot be read: {errors[field]}" if field in errors else one_line(part.shown)
        for field, part in (("key", key), ("value", value))
    ]
    return "  ".join((f"{record.partition}:{record.offset}", *shown))


def _facts(field: str, part: RecordPart) -> JsonObject:
    return {
        field: part.shown,
        f"{field}Form": part.form and part.form.value,
        f"{field}Id": part.schema_id,
        f"{field}Guid": part.guid and str(part.guid),
    }


def _header(name: str, content: bytes | None) -> JsonObject:
    if content is None:
        return {"name": name}
    try:
        return {"name": name, "text": content.decode()}
    except UnicodeDecodeError:
        return {"name": name, "base64": shown_bytes(content)}


def checked_line(given: object) -> JsonObject:
    """Return a line that has a value and no unknown member. Raises ``EncodeError``."""
    if not isinstance(given, dict) or "value" not in given:
        raise misfit('an object with the member "value"; with --values every line is a value', given)
    for name in given:
        if name not in _MEMBERS:
            raise misfit(f"only the members {', '.join(sorted(_MEMBERS))}", name)
    return given


def read_headers(line: JsonObject) -> list[tuple[str, bytes | None]]:
    """Return the headers of a line. Raises ``EncodeError``."""
    given = line.get("headers", [])
    if not isinstance(given, list):
        raise misfit_at_top(placed(misfit("an array of headers", given), "headers"))
    found = []
    for index, one in enumerate(given):
        try:
            found.append(_read_header(one))
        except EncodeError as error:
            raise misfit_at_top(placed(error, f"headers[{index}]")) from None
    return found


def _read_header(given: object) -> tuple[str, bytes | None]:
    match given:
        case {"name": str() as name, "text": str() as text, **rest} if not rest:
            return name, text.encode("utf-8", "surrogatepass")
        case {"name": str() as name, "base64": content, **rest} if not rest:
            return name, read_bytes(content)
        case {"name": str() as name, **rest} if not rest:
            return name, None
    raise misfit('{"name": …, "text": …} or {"name": …, "base64": …}', given)


def read_moment_ms(line: JsonObject) -> int | None:
    """Return the timestamp of a line in milliseconds. Raises ``EncodeError``."""
    given = line.get("timestamp")
    if given is None:
        return None
    try:
        moment = datetime.fromisoformat(given)
        since = moment - _EPOCH  # a TypeError for a time without zone
    except (TypeError, ValueError, OverflowError):
        raise misfit_at_top(placed(misfit("a time with its zone in ISO 8601", given), "timestamp")) from None
    return since // timedelta(milliseconds=1)


def read_partition(line: JsonObject) -> int | None:
    """Return the partition of a line. Raises ``EncodeError``."""
    given = line.get("partition")
    if given is None or (isinstance(given, int) and not isinstance(given, bool) and given >= 0):
        return given
    raise misfit_at_top(placed(misfit("the number of a partition", given), "partition"))


# Messages that are written: the schema of each value, and whole records that are made of lines of JSON.

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
