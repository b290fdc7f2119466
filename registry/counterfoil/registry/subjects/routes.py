"""The routes under ``/subjects``, ``/compatibility``, ``/config`` and ``/mode``; the most frequent ones come first."""

from __future__ import annotations

from functools import partial
from typing import Final

from counterfoil.registry.access.resources import AccessOperation
from counterfoil.registry.http.access import FOUND, FROM_BODY, MEMBER, on, the_scope, the_subject
from counterfoil.registry.http.replies import until_any_write, until_the_id_changes, until_the_subject_changes
from counterfoil.registry.http.route import ConfluentRoute
from counterfoil.registry.http.shapes import AS_OF, PAGE, SCHEMA_TEXT
from counterfoil.registry.subjects import endpoints
from counterfoil.registry.subjects import schema_routes as schemas
from counterfoil.registry.subjects.documents import (
    CONFIG_IN_FORCE,
    CONFIG_UPDATE,
    MODE,
    REGISTERED,
    REGISTRATION,
    REQUESTED_SCHEMA,
    SCHEMA_BY_ID,
    STORED_VERSION,
    TAGS,
)
from counterfoil.schema import errors
from counterfoil.schema.rest.object_forms import INTEGER, INTEGERS, TEXTS
from counterfoil.schema.rest.schemas import COMPATIBILITY

# The routes under ``/subjects`` and ``/compatibility``, and those by schema id; the most frequent ones come first.

_SUBJECT: Final = "/subjects/{subject}"
_VERSIONS: Final = f"{_SUBJECT}/versions"
_VERSION: Final = f"{_VERSIONS}/{{version}}"
_ID: Final = "/schemas/ids/{id}"
_COMPATIBILITY: Final = "/compatibility/subjects/{subject}/versions"

_subject = partial(ConfluentRoute, tag="subjects")
_schema = partial(ConfluentRoute, tag="schemas")
_test = partial(ConfluentRoute, tag="compatibility")

_DELETION: Final = on(AccessOperation.DELETE, the_subject, permanent=AccessOperation.PURGE)
_TEST: Final = on(AccessOperation.READ, the_subject) & FROM_BODY

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
        cached=until_the_id_changes,
        errors=(errors.SchemaNotFound,),
    ),
    _subject(
        "POST",
        _VERSIONS,
        endpoints.register,
        access=on(AccessOperation.WRITE, the_subject, force=AccessOperation.ALTER_CONFIGS) & FROM_BODY,
        query=("normalize", "format", "force"),
        body=REGISTRATION,
        result=REGISTERED,
        cached=until_the_subject_changes,
        errors=_REGISTRATION,
    ),
    _subject(
        "POST",
        _SUBJECT,
        endpoints.look_up,
        access=FOUND,
        query=("normalize", "format", "deleted"),
        body=REQUESTED_SCHEMA,
        result=STORED_VERSION,
        looks_up=True,
        cached=until_the_subject_changes,
        errors=(errors.InvalidSchema, errors.SubjectNotFound, errors.SchemaNotFound),
    ),
    _subject(
        "GET",
        _VERSION,
        endpoints.get_version,
        access=FOUND,
        query=("format", "referenceFormat", "deleted", "findTags", AS_OF),
        result=STORED_VERSION,
        cached=until_the_subject_changes,
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
        cached=until_the_id_changes,
        errors=(errors.SchemaNotFound,),
    ),
    _subject(
        "GET",
        "/subjects",
        endpoints.list_subjects,
        access=FOUND,
        query=("subjectPrefix", "deleted", "deletedOnly", *PAGE, AS_OF),
        result=TEXTS,
        cached=until_any_write,
        errors=(),
    ),
    _subject(
        "GET",
        _VERSIONS,
        endpoints.list_versions,
        access=on(AccessOperation.DESCRIBE, the_subject),
        query=("deleted", "deletedOnly", "deletedAsNegative", *PAGE, AS_OF),
        result=INTEGERS,
        cached=until_the_subject_changes,
        errors=(errors.SubjectNotFound,),
    ),
    _subject(
        "DELETE",
        _SUBJECT,
        endpoints.delete_subject,
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
        endpoints.find_by_metadata,
        access=on(AccessOperation.READ, the_subject),
        query=("key", "value", "format", "deleted"),
        result=STORED_VERSION,
        errors=(errors.SubjectNotFound, errors.SchemaNotFound),
    ),
    _subject(
        "POST",
        f"{_VERSION}/tags",
        endpoints.tag_version,
        access=on(AccessOperation.WRITE, the_subject),
        body=TAGS,
        result=REGISTERED,
        errors=(*_NO_VERSION, *_REGISTRATION),
    ),
    _subject(
        "GET",
        f"{_VERSION}/schema",
        endpoints.get_version_text,
        access=FOUND,
        query=("format", "deleted", AS_OF),
        result=SCHEMA_TEXT,
        cached=until_the_subject_changes,
        errors=_NO_VERSION,
    ),
    _subject(
        "GET",
        f"{_VERSION}/referencedby",
        endpoints.list_referrers,
        access=FOUND,
        query=("deleted", *PAGE),
        result=INTEGERS,
        errors=_NO_VERSION,
    ),
    _subject(
        "DELETE",
        _VERSION,
        endpoints.delete_version,
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
        endpoints.test_against_version,
        access=_TEST,
        query=("normalize", "verbose", AS_OF),
        body=REQUESTED_SCHEMA,
        result=COMPATIBILITY,
        cached=until_any_write,
        errors=(errors.InvalidVersion, errors.VersionNotFound, errors.InvalidSchema),
    ),
    _test(
        "POST",
        _COMPATIBILITY,
        endpoints.test_against_all,
        access=_TEST,
        query=("normalize", "verbose", AS_OF),
        body=REQUESTED_SCHEMA,
        result=COMPATIBILITY,
        cached=until_any_write,
        errors=(errors.InvalidSchema,),
    ),
)


# The routes under ``/config`` and ``/mode``.

_config = partial(ConfluentRoute, tag="config")
_mode = partial(ConfluentRoute, tag="mode")

_READING: Final = ("defaultToGlobal", AS_OF)

_SEE: Final = on(AccessOperation.DESCRIBE_CONFIGS, the_scope)
_ALTER_CONFIG: Final = on(AccessOperation.ALTER_CONFIGS, the_scope)
_PUT_CONFIG: Final = _ALTER_CONFIG & FROM_BODY
_ALTER_MODE: Final = on(AccessOperation.ALTER_MODE, the_scope)
_PUT_MODE: Final = _ALTER_MODE & FROM_BODY

_WRITE: Final = (errors.OperationNotPermitted,)
_INVALID_CONFIG: Final = (*_WRITE, errors.InvalidCompatibilityLevel, errors.InvalidRuleSet)
_INVALID_MODE: Final = (*_WRITE, errors.InvalidMode, errors.ReferenceExists)

LEVEL_ROUTES: Final[tuple[ConfluentRoute, ...]] = (
    _config("GET", "/config", endpoints.get_config, access=MEMBER, query=_READING, result=CONFIG_IN_FORCE, errors=()),
    _config(
        "PUT",
        "/config",
        endpoints.put_config,
        access=_PUT_CONFIG,
        body=CONFIG_UPDATE,
        result=CONFIG_UPDATE,
        errors=_INVALID_CONFIG,
    ),
    _config("DELETE", "/config", endpoints.delete_config, access=_ALTER_CONFIG, result=CONFIG_IN_FORCE, errors=_WRITE),
    _config(
        "GET",
        "/config/{subject}",
        endpoints.get_config,
        access=_SEE,
        query=_READING,
        result=CONFIG_IN_FORCE,
        errors=(errors.ConfigNotFound,),
    ),
    _config(
        "PUT",
        "/config/{subject}",
        endpoints.put_config,
        access=_PUT_CONFIG,
        body=CONFIG_UPDATE,
        result=CONFIG_UPDATE,
        errors=(*_INVALID_CONFIG, errors.InvalidSubject),
    ),
    _config(
        "DELETE",
        "/config/{subject}",
        endpoints.delete_config,
        access=_ALTER_CONFIG,
        result=CONFIG_IN_FORCE,
        errors=(*_WRITE, errors.SubjectNotFound),
    ),
    _mode("GET", "/mode", endpoints.get_mode, access=MEMBER, query=_READING, result=MODE, errors=()),
    _mode(
        "PUT",
        "/mode",
        endpoints.put_mode,
        access=_PUT_MODE,
        query=("force",),
        body=MODE,
        result=MODE,
        errors=_INVALID_MODE,
    ),
    _mode(
        "DELETE", "/mode", endpoints.delete_mode, access=_ALTER_MODE, query=("recursive",), result=MODE, errors=_WRITE
    ),
    _mode(
        "GET",
        "/mode/{subject}",
        endpoints.get_mode,
        access=_SEE,
        query=_READING,
        result=MODE,
        errors=(errors.ModeNotFound,),
    ),
    _mode(
        "PUT",
        "/mode/{subject}",
        endpoints.put_mode,
        access=_PUT_MODE,
        query=("force",),
        body=MODE,
        result=MODE,
        errors=(*_INVALID_MODE, errors.InvalidSubject),
    ),
    _mode(
        "DELETE",
        "/mode/{subject}",
        endpoints.delete_mode,
        access=_ALTER_MODE,
        query=("recursive",),
        result=MODE,
        errors=(*_WRITE, errors.SubjectNotFound),
    ),
)
