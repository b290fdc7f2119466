"""The routes under ``/subjects`` and ``/compatibility``, and those by schema id; the most frequent ones come first."""

from __future__ import annotations

from functools import partial
from typing import Final

from counterfoil.registry.api import levels, schemas, subjects
from counterfoil.registry.api.bodies import (
    REGISTERED,
    REGISTRATION,
    REQUESTED_SCHEMA,
    SCHEMA_BY_ID,
    STORED_VERSION,
    TAGS,
)
from counterfoil.registry.api.openapi.shapes import SCHEMA_TEXT
from counterfoil.registry.api.routes.access import FOUND, FROM_BODY, on, the_subject
from counterfoil.registry.api.routes.parameters import AS_OF, PAGE
from counterfoil.registry.api.routes.route import ConfluentRoute
from counterfoil.registry.domain.access.operations import Operation
from counterfoil.schema import errors
from counterfoil.schema.rest.object_forms import INTEGER, INTEGERS, TEXTS
from counterfoil.schema.rest.version_forms import COMPATIBILITY

_SUBJECT: Final = "/subjects/{subject}"
_VERSIONS: Final = f"{_SUBJECT}/versions"
_VERSION: Final = f"{_VERSIONS}/{{version}}"
_ID: Final = "/schemas/ids/{id}"
_COMPATIBILITY: Final = "/compatibility/subjects/{subject}/versions"

_subject = partial(ConfluentRoute, tag="subjects")
_schema = partial(ConfluentRoute, tag="schemas")
_test = partial(ConfluentRoute, tag="compatibility")

_DELETION: Final = on(Operation.DELETE, the_subject, permanent=Operation.PURGE)
_TEST: Final = on(Operation.READ, the_subject) & FROM_BODY

_NO_VERSION: Final = (errors.InvalidVersion, errors.SubjectNotFound, errors.VersionNotFound)
_REGISTRATION: Final = (
    errors.IncompatibleSchema,
    errors.InvalidSchema,
    errors.InvalidSubject,
    errors.InvalidRuleSet,
    errors.SchemaTooLarge,
    errors.OperationNotPermitted,
)

SUBJECT_ROUTES: Final[tuple[ConfluentRoute, ...]] = (
    _schema(
        "GET",
        _ID,
        schemas.get_by_id,
        access=FOUND,
        query=("subject", "format", "referenceFormat", "findTags", "fetchMaxId", "includeSubjects"),
        result=SCHEMA_BY_ID,
        has_tag=True,
        errors=(errors.SchemaNotFound,),
    ),
    _subject(
        "POST",
        _VERSIONS,
        subjects.register,
        access=on(Operation.WRITE, the_subject, force=Operation.ALTER_CONFIGS) & FROM_BODY,
        query=("normalize", "format", "force"),
        body=REGISTRATION,
        result=REGISTERED,
        errors=_REGISTRATION,
    ),
    _subject(
        "POST",
        _SUBJECT,
        subjects.look_up,
        access=FOUND,
        query=("normalize", "format", "deleted"),
        body=REQUESTED_SCHEMA,
        result=STORED_VERSION,
        looks_up=True,
        errors=(errors.InvalidSchema, errors.SubjectNotFound, errors.SchemaNotFound),
    ),
    _subject(
        "GET",
        _VERSION,
        subjects.get_version,
        access=FOUND,
        query=("format", "referenceFormat", "deleted", "findTags", AS_OF),
        result=STORED_VERSION,
        errors=_NO_VERSION,
    ),
    _schema(
        "GET",
        f"{_ID}/schema",
        schemas.get_text_by_id,
        access=FOUND,
        query=("subject", "format"),
        result=SCHEMA_TEXT,
        has_tag=True,
        errors=(errors.SchemaNotFound,),
    ),
    _subject(
        "GET",
        "/subjects",
        subjects.list_subjects,
        access=FOUND,
        query=("subjectPrefix", "deleted", "deletedOnly", *PAGE, AS_OF),
        result=TEXTS,
        errors=(),
    ),
    _subject(
        "GET",
        _VERSIONS,
        subjects.list_versions,
        access=on(Operation.DESCRIBE, the_subject),
        query=("deleted", "deletedOnly", "deletedAsNegative", *PAGE, AS_OF),
        result=INTEGERS,
        errors=(errors.SubjectNotFound,),
    ),
    _subject(
        "DELETE",
        _SUBJECT,
        subjects.delete_subject,
        access=_DELETION,
        query=("permanent",),
        result=INTEGERS,
        errors=(
            errors.SubjectNotFound,
            errors.SubjectSoftDeleted,
            errors.SubjectNotSoftDeleted,
            errors.SubjectAssociated,
            errors.ReferenceExists,
            errors.OperationNotPermitted,
        ),
    ),
    _subject(
        "GET",
        f"{_SUBJECT}/metadata",
        subjects.find_by_metadata,
        access=on(Operation.READ, the_subject),
        query=("key", "value", "format", "deleted"),
        result=STORED_VERSION,
        errors=(errors.SubjectNotFound, errors.SchemaNotFound),
    ),
    _subject(
        "POST",
        f"{_VERSION}/tags",
        subjects.tag_version,
        access=on(Operation.WRITE, the_subject),
        body=TAGS,
        result=REGISTERED,
        errors=(*_NO_VERSION, *_REGISTRATION),
    ),
    _subject(
        "GET",
        f"{_VERSION}/schema",
        subjects.get_version_text,
        access=FOUND,
        query=("format", "deleted", AS_OF),
        result=SCHEMA_TEXT,
        errors=_NO_VERSION,
    ),
    _subject(
        "GET",
        f"{_VERSION}/referencedby",
        subjects.list_referrers,
        access=FOUND,
        query=("deleted", *PAGE),
        result=INTEGERS,
        errors=_NO_VERSION,
    ),
    _subject(
        "DELETE",
        _VERSION,
        subjects.delete_version,
        access=_DELETION,
        query=("permanent",),
        result=INTEGER,
        errors=(
            *_NO_VERSION,
            errors.VersionSoftDeleted,
            errors.VersionNotSoftDeleted,
            errors.AssociatedSubjectEmpty,
            errors.ReferenceExists,
            errors.OperationNotPermitted,
        ),
    ),
    _test(
        "POST",
        f"{_COMPATIBILITY}/{{version}}",
        levels.test_against_version,
        access=_TEST,
        query=("normalize", "verbose", AS_OF),
        body=REQUESTED_SCHEMA,
        result=COMPATIBILITY,
        errors=(errors.InvalidVersion, errors.VersionNotFound, errors.InvalidSchema),
    ),
    _test(
        "POST",
        _COMPATIBILITY,
        levels.test_against_all,
        access=_TEST,
        query=("normalize", "verbose", AS_OF),
        body=REQUESTED_SCHEMA,
        result=COMPATIBILITY,
        errors=(errors.InvalidSchema,),
    ),
)
