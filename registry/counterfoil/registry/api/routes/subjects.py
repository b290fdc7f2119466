"""The routes under ``/subjects`` and ``/compatibility``, and those by schema id; the most used come first."""

from __future__ import annotations

from typing import Final

from counterfoil.registry.api import levels, models, schemas, subjects
from counterfoil.registry.api.routes.parameters import AS_OF, PAGE
from counterfoil.registry.api.routes.route import ConfluentRoute
from counterfoil.schema import errors

_SUBJECT: Final = "/subjects/{subject}"
_VERSIONS: Final = f"{_SUBJECT}/versions"
_VERSION: Final = f"{_VERSIONS}/{{version}}"
_ID: Final = "/schemas/ids/{id}"
_COMPATIBILITY: Final = "/compatibility/subjects/{subject}/versions"

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
    ConfluentRoute(
        "GET",
        _ID,
        schemas.get_by_id,
        tag="schemas",
        query=("subject", "format", "referenceFormat", "findTags", "fetchMaxId", "includeSubjects"),
        result=models.SchemaByIdBody,
        has_tag=True,
        errors=(errors.SchemaNotFound,),
    ),
    ConfluentRoute(
        "POST",
        _VERSIONS,
        subjects.register,
        tag="subjects",
        query=("normalize", "format", "force"),
        body=models.RegistrationBody,
        result=models.RegisteredBody,
        errors=_REGISTRATION,
    ),
    ConfluentRoute(
        "POST",
        _SUBJECT,
        subjects.look_up,
        tag="subjects",
        query=("normalize", "format", "deleted"),
        body=models.SchemaBody,
        result=models.VersionBody,
        looks_up=True,
        errors=(errors.InvalidSchema, errors.SubjectNotFound, errors.SchemaNotFound),
    ),
    ConfluentRoute(
        "GET",
        _VERSION,
        subjects.get_version,
        tag="subjects",
        query=("format", "referenceFormat", "deleted", "findTags", AS_OF),
        result=models.VersionBody,
        errors=_NO_VERSION,
    ),
    ConfluentRoute(
        "GET",
        f"{_ID}/schema",
        schemas.get_text_by_id,
        tag="schemas",
        query=("subject", "format"),
        result=str,
        has_tag=True,
        errors=(errors.SchemaNotFound,),
    ),
    ConfluentRoute(
        "GET",
        "/subjects",
        subjects.list_subjects,
        tag="subjects",
        query=("subjectPrefix", "deleted", "deletedOnly", *PAGE, AS_OF),
        result=list[str],
        errors=(),
    ),
    ConfluentRoute(
        "GET",
        _VERSIONS,
        subjects.list_versions,
        tag="subjects",
        query=("deleted", "deletedOnly", "deletedAsNegative", *PAGE, AS_OF),
        result=list[int],
        errors=(errors.SubjectNotFound,),
    ),
    ConfluentRoute(
        "DELETE",
        _SUBJECT,
        subjects.delete_subject,
        tag="subjects",
        query=("permanent",),
        result=list[int],
        errors=(
            errors.SubjectNotFound,
            errors.SubjectSoftDeleted,
            errors.SubjectNotSoftDeleted,
            errors.SubjectAssociated,
            errors.ReferenceExists,
            errors.OperationNotPermitted,
        ),
    ),
    ConfluentRoute(
        "GET",
        f"{_SUBJECT}/metadata",
        subjects.find_by_metadata,
        tag="subjects",
        query=("key", "value", "format", "deleted"),
        result=models.VersionBody,
        errors=(errors.SubjectNotFound, errors.SchemaNotFound),
    ),
    ConfluentRoute(
        "POST",
        f"{_VERSION}/tags",
        subjects.tag_version,
        tag="subjects",
        body=models.TagBody,
        result=models.RegisteredBody,
        errors=(*_NO_VERSION, *_REGISTRATION),
    ),
    ConfluentRoute(
        "GET",
        f"{_VERSION}/schema",
        subjects.get_version_text,
        tag="subjects",
        query=("format", "deleted", AS_OF),
        result=str,
        errors=_NO_VERSION,
    ),
    ConfluentRoute(
        "GET",
        f"{_VERSION}/referencedby",
        subjects.list_referrers,
        tag="subjects",
        query=("deleted", *PAGE),
        result=list[int],
        errors=_NO_VERSION,
    ),
    ConfluentRoute(
        "DELETE",
        _VERSION,
        subjects.delete_version,
        tag="subjects",
        query=("permanent",),
        result=int,
        errors=(
            *_NO_VERSION,
            errors.VersionSoftDeleted,
            errors.VersionNotSoftDeleted,
            errors.AssociatedSubjectEmpty,
            errors.ReferenceExists,
            errors.OperationNotPermitted,
        ),
    ),
    ConfluentRoute(
        "POST",
        f"{_COMPATIBILITY}/{{version}}",
        levels.test_against_version,
        tag="compatibility",
        query=("normalize", "verbose", AS_OF),
        body=models.SchemaBody,
        result=models.CompatibilityBody,
        errors=(
            errors.InvalidVersion,
            errors.VersionNotFound,
            errors.InvalidSchema,
        ),
    ),
    ConfluentRoute(
        "POST",
        _COMPATIBILITY,
        levels.test_against_all,
        tag="compatibility",
        query=("normalize", "verbose", AS_OF),
        body=models.SchemaBody,
        result=models.CompatibilityBody,
        errors=(errors.InvalidSchema,),
    ),
)
