"""Values in JSON form, written with a schema: its choice, and the messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from counterfoil.contracts.baselines.operands import SUBJECT_VERSION, find_operand
from counterfoil.contracts.baselines.registry import read_schema
from counterfoil.contracts.decoding.message import parse_read
from counterfoil.contracts.errors import InvalidOperand
from counterfoil.contracts.registration import Registration
from counterfoil.contracts.subjects import Subjects
from counterfoil.contracts.values.form import form_of
from counterfoil.sdk.errors import SerdeError
from counterfoil.sdk.serde.context import SerializationContext
from counterfoil.sdk.serde.languages import LANGUAGES
from counterfoil.sdk.serde.places import place
from counterfoil.sdk.serde.serializer import Serializer

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.contracts.tree import ReadSchema
    from counterfoil.schema.model import SchemaType
    from counterfoil.sdk.client import Registry
    from counterfoil.sdk.serde.context import Headers
    from counterfoil.sdk.subjects import Field


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
    held = Registration(tree, [path], subjects=Subjects(tree, given={path: subject}), registry=registry()).held()
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
            self._write: Callable[[Any, SerializationContext], bytes | None] = lambda value, _: encode(value, b"")
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
        self, given: Any, *, topic: str | None = None, field: Field = "value", headers: Headers = None
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
