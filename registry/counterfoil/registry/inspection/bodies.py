"""The parameters and bodies of requests under ``/inspect/v1``."""

from __future__ import annotations

from typing import Annotated, Final, Literal
from uuid import UUID

from fastapi import Depends, Path, Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.json_schema import SkipJsonSchema

from counterfoil.registry.changes.routes import ScopeSubject
from counterfoil.registry.http.access import CasesOfRequest
from counterfoil.registry.http.request import decode_segment, expected, parse_integer
from counterfoil.registry.http.shapes import AS_OF
from counterfoil.registry.inspection.comparisons import ComparisonPages, OperandGiven, OperandText
from counterfoil.registry.inspection.decoding import MAX_TEXT_CHARS, BytesGiven
from counterfoil.registry.inspection.identifiers import MAX_DEPTH, ReferenceDirection
from counterfoil.registry.inspection.refusals import MAX_ROWS as MAX_REFUSALS
from counterfoil.registry.inspection.subjects import MAX_ROWS
from counterfoil.registry.subjects.versions import parse_version
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy
from counterfoil.schema.contexts import QualifiedSubject, parse_subject
from counterfoil.schema.errors import BadRequest, SchemaNotFound
from counterfoil.schema.model import Reference, SchemaType

_MAX_NAME: Final = 2_000
_MAX_LINE: Final = 2**31 - 1

# Parameters.


def _digits(text: object) -> object:
    """Return ``text``; refuse other spellings of a number that pydantic reads: a sign, a point, blanks, underscores."""
    if isinstance(text, str) and not (text.isascii() and text.isdigit()):
        raise ValueError("expected digits")
    return text


async def _subject(cases: CasesOfRequest, subject: ScopeSubject) -> QualifiedSubject:
    return await cases.scopes.aliased(subject)


async def _version(version: Annotated[str, Path()]) -> int | None:
    return parse_version(decode_segment(version))


async def _id(id: Annotated[str, Path()]) -> int:  # noqa: A002 - the name in the path
    return parse_integer(decode_segment(id), "id")


async def _guid(guid: Annotated[str, Path()]) -> UUID:
    digits = decode_segment(guid).replace("-", "")
    if len(digits) == _GUID_DIGITS and digits.isascii() and digits.isalnum():
        try:
            return UUID(digits)
        except ValueError:
            pass
    raise SchemaNotFound(f"Schema {guid[:80]!r} not found: this is no guid")


async def _as_of(
    as_of: Annotated[
        str | SkipJsonSchema[None],
        Query(alias=AS_OF, description="A change or a time: the answer is as it was then."),
    ] = None,
) -> None:
    """Declare the parameter, which is read before the endpoint is called."""
    del as_of


_GUID_DIGITS: Final = 32

SubjectOfPath = Annotated[QualifiedSubject, Depends(_subject)]
"""The subject in the path, or the one whose alias it is."""

VersionOfPath = Annotated[int | None, Depends(_version)]
IdOfPath = Annotated[int, Depends(_id)]
GuidOfPath = Annotated[UUID, Depends(_guid)]
Moment = Annotated[None, Depends(_as_of)]

Prefix = Annotated[str, Query(max_length=_MAX_NAME, description="The beginning of the names.")]
Context = Annotated[str | SkipJsonSchema[None], Query(max_length=_MAX_NAME, description="Default: all contexts.")]
OneContext = Annotated[str, Query(max_length=_MAX_NAME, description="Default: the default context.")]
Deleted = Annotated[bool, Query(description="Also list subjects of which all versions are soft-deleted.")]
After = Annotated[str, Query(max_length=_MAX_NAME, description="The `next` of the page before.")]
AfterVersion = Annotated[
    Annotated[int, Field(ge=0, le=_MAX_LINE), BeforeValidator(_digits)],
    Query(alias="after", description="The `next` of the page before."),
    expected("the number of a version", empty=0),
]
Limit = Annotated[
    Annotated[int, Field(ge=1, le=MAX_ROWS), BeforeValidator(_digits)],
    Query(description="The largest number of rows."),
    expected(f"a number from 1 to {MAX_ROWS}", empty=MAX_ROWS),
]
RefusalLimit = Annotated[
    Annotated[int, Field(ge=1, le=MAX_REFUSALS), BeforeValidator(_digits)],
    Query(alias="limit", description="The largest number of rows."),
    expected(f"a number from 1 to {MAX_REFUSALS}", empty=MAX_REFUSALS),
]
ElementPath = Annotated[str | SkipJsonSchema[None], Query(max_length=_MAX_NAME, description="The path of one element.")]
VersionParameter = Annotated[str, Query(max_length=20, description="Default: the latest version.")]
Lines = Annotated[
    Annotated[int, Field(ge=1, le=_MAX_LINE), BeforeValidator(_digits)],
    Query(description="The first line; 500 lines are returned."),
    expected("the number of a line", empty=1),
]
Direction = Annotated[ReferenceDirection, Query(), expected("out, in or both")]
Depth = Annotated[
    Annotated[int, Field(ge=1, le=MAX_DEPTH), BeforeValidator(_digits)],
    Query(description="How many references are followed one after the other."),
    expected(f"a number from 1 to {MAX_DEPTH}", empty=2),
]
FromOperand = Annotated[
    str, Query(alias="from", max_length=_MAX_NAME, description="A version: `subject@version`, or `subject@latest`.")
]
ToOperand = Annotated[str, Query(alias="to", max_length=_MAX_NAME, description="A version, likewise.")]
OfSubject = Annotated[str | SkipJsonSchema[None], Query(max_length=_MAX_NAME, description="Default: all subjects.")]
Language = Annotated[SchemaType | SkipJsonSchema[None], Query(), expected("AVRO, PROTOBUF or JSON", empty=None)]
_POLICIES: Final = ", ".join(CompatibilityPolicy)
Policy = Annotated[
    CompatibilityPolicy | SkipJsonSchema[None],
    Query(description="Only rules that break under it."),
    expected(f"one of {_POLICIES}", empty=None),
]
Words = Annotated[str, Query(max_length=300, description="Words of the rule.")]

# Bodies.


class _InspectionBody(BaseModel):
    """A body, whose members are in camel case."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")


class ReferenceOfTextBody(_InspectionBody):
    """A reference of a text, as in the body of a registration."""

    name: str = Field(max_length=_MAX_NAME)
    subject: str = Field(max_length=_MAX_NAME)
    version: int = Field(description="A number, or -1 for the latest.")


class OperandTextBody(_InspectionBody):
    """A text to compare; without a subject, its references are resolved in the default context."""

    schema_text: str = Field(alias="schema", description="The text of the schema.")
    schema_type: str = Field(SchemaType.AVRO.value, max_length=100)
    references: Annotated[tuple[ReferenceOfTextBody, ...], Field(max_length=1000)] = ()
    subject: str = Field("", max_length=_MAX_NAME, description="The subject whose rules count for it.")

    def text(self) -> OperandText:
        """Return the text."""
        references = tuple(Reference(each.name, each.subject, each.version) for each in self.references)
        return OperandText(self.schema_text, self.schema_type, references, self.subject)


Operand = Annotated[str, Field(max_length=_MAX_NAME)] | OperandTextBody


def operand_of(given: str | OperandTextBody) -> OperandGiven:
    """Return the operand that a body has: the name of a version, or a text."""
    return ComparisonPages.operand(given) if isinstance(given, str) else given.text()


class DiffBody(_InspectionBody):
    """Two schemas to compare: each is a version (`subject@version`), or a text."""

    earlier: Operand = Field(alias="from")
    later: Operand = Field(alias="to")


class VerdictQuestionBody(_InspectionBody):
    """Two schemas to compare, or a draft for a subject; the level and the policy are those in force by default."""

    earlier: Operand | None = Field(None, alias="from", description="A version (`subject@version`), or a text.")
    later: Operand | None = Field(None, alias="to", description="The same.")
    draft: OperandTextBody | None = Field(None, description="A text, with the subject under which to register it.")
    policy: Annotated[CompatibilityPolicy, expected(f"one of {_POLICIES}")] | None = None
    level: Annotated[CompatibilityLevel, expected(f"one of {', '.join(CompatibilityLevel)}")] | None = None

    def operands(self) -> tuple[OperandGiven, OperandGiven] | None:
        """Return the two operands, None for a draft; raise ``BadRequest`` unless it is exactly one of both."""
        if self.earlier is not None and self.later is not None and self.draft is None:
            return operand_of(self.earlier), operand_of(self.later)
        if self.draft is None or self.earlier is not None or self.later is not None:
            raise BadRequest("The body has no question; expected `from` and `to`, or `draft`")
        return None

    def subject_of_draft(self) -> tuple[QualifiedSubject, OperandText]:
        """Return the subject and the text of the draft; raise ``BadRequest`` without a subject."""
        text = None if self.draft is None else self.draft.text()
        if text is None or not text.subject:
            raise BadRequest("draft.subject is missing; expected the subject under which to register the draft")
        return parse_subject(text.subject), text


class BytesToDecodeBody(_InspectionBody):
    """Bytes, as a text, and what is known of them."""

    text: str = Field(max_length=MAX_TEXT_CHARS, description="The bytes, or a record as `kcat -J` prints it.")
    form: Literal["", "hex", "base64", "kcat"] = Field("", description="Default: guessed.")
    header: str = Field("", max_length=200, description="The header that names the schema, as hexadecimal digits.")
    subject: str = Field("", max_length=_MAX_NAME)
    topic: str = Field("", max_length=_MAX_NAME)
    part: Literal["value", "key"] = "value"
    reader: str = Field("", max_length=_MAX_NAME, description="A version as which to read them: `subject@version`.")
    show: bool = Field(default=False, description="Also show values with a tag for personal data.")

    def given(self) -> BytesGiven:
        """Return what is known of the bytes."""
        return BytesGiven(
            self.text,
            self.form,
            self.header,
            self.subject,
            self.topic,
            is_key=self.part == "key",
            reader=self.reader,
            shows_masked=self.show,
        )
