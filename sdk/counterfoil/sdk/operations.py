"""Every endpoint as a value: how the request is made, and how its response is read. Both clients use them.

Each function returns an :class:`Operation` and does no I/O. Path segments are percent-encoded once, with any content.

Source: the public REST API of Confluent Schema Registry, 8.5.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar
from urllib.parse import quote, urlencode

from counterfoil.schema.compatibility.levels import CompatibilityLevel, parse_level
from counterfoil.schema.errors import InvalidSubject, error_for_code
from counterfoil.schema.rest.associations import new_association_document, read_association
from counterfoil.schema.rest.bridges import (
    BRIDGE,
    NEW_BRIDGE,
    POSSIBLE_TRANSITION,
    PROGRESS,
    READERS,
    RECEIVED_KEY,
    STATUS,
    VERIFICATION,
)
from counterfoil.schema.rest.config import CONFIG_KEYS, Config, config_document, read_config
from counterfoil.schema.rest.contracts import (
    APPLICATION,
    APPLICATION_VERSION,
    CONTRACT,
    CONTRACT_VERSIONS,
    DEPLOYMENT,
    ENVIRONMENT,
    NEW_CONTRACT,
    NEW_PUBLICATION,
    PUBLICATION,
    Liveness,
)
from counterfoil.schema.rest.json_values import (
    ReplyJson,
    UnexpectedShapeError,
    read_each,
    read_integer,
    read_text,
    read_texts,
)
from counterfoil.schema.rest.keys import KEK, NEW_KEK, new_dek_document, read_dek
from counterfoil.schema.rest.modes import read_mode
from counterfoil.schema.rest.schemas import SCHEMA, schema_request
from counterfoil.schema.rest.verdicts import CONSUMER, FIELD_USE, VERDICT
from counterfoil.schema.rest.version_forms import (
    COMPATIBILITY,
    read_context_ids,
    read_registered,
    read_registration,
    read_subject_versions,
)
from counterfoil.schema.rest.versions import Deletion, Visibility
from counterfoil.sdk.errors import InvalidSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from uuid import UUID

    from counterfoil.schema.errors import RegistryError
    from counterfoil.schema.model import Schema
    from counterfoil.schema.rest.associations import Association
    from counterfoil.schema.rest.bridges import (
        Bridge,
        BridgeState,
        BridgeStatus,
        NewBridge,
        PossibleTransition,
        Progress,
        Readers,
        Verification,
    )
    from counterfoil.schema.rest.contracts import (
        Application,
        ApplicationVersion,
        ContractKind,
        ContractVersions,
        Deployment,
        Environment,
        NewContract,
        NewPublication,
        Publication,
        PublishedContract,
    )
    from counterfoil.schema.rest.json_values import JsonValue
    from counterfoil.schema.rest.keys import DekId, Kek, ShownDek
    from counterfoil.schema.rest.modes import Mode
    from counterfoil.schema.rest.verdicts import Consumer, DeploymentVerdict, FieldUse
    from counterfoil.schema.rest.versions import (
        Compatibility,
        ContextId,
        RegisteredSchema,
        SubjectVersion,
        VersionNumber,
    )
    from counterfoil.sdk.transport import Reply

T = TypeVar("T")

_SHOWN_CHARACTERS: Final = 120
_ERROR_MEMBERS: Final = frozenset({"error_code", "message"})
_REFUSALS: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


class ReplyForm(Enum):
    """The form of the body of a successful response."""

    JSON = "JSON"
    TEXT = "text"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Operation(Generic[T]):
    """One call of the REST API. ``path`` is percent-encoded and begins with a slash; ``body`` is JSON or None.

    ``is_repeatable``: sending it twice has the same effect as sending it once, so it may be retried after a lost
    response.
    """

    name: str
    method: str
    path: str
    read: Callable[[JsonValue], T]
    query: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    is_repeatable: bool = True
    form: ReplyForm = ReplyForm.JSON

    @property
    def target(self) -> str:
        """The path and query, as in the request."""
        return f"{self.path}?{urlencode(self.query, quote_via=quote)}" if self.query else self.path


def page_of(operation: Operation[T], *, offset: int, limit: int) -> Operation[T]:
    """Return a listing's operation that requests ``limit`` entries at most, after the first ``offset``."""
    return replace(operation, query=(*operation.query, ("offset", str(offset)), ("limit", str(limit))))


def as_json(operation: Operation[Any]) -> Operation[Any]:
    """Return the operation with its unparsed JSON as the result: for responses of other registries."""
    return replace(operation, read=_value)


def _value(reply: JsonValue) -> Any:
    return reply.value


def read_reply(operation: Operation[T], reply: Reply) -> T:
    """Return the result in the response.

    Raises the registry's error for an error response, and ``UnexpectedShapeError`` for one that no registry sends.
    """
    if not HTTPStatus.OK <= reply.status < HTTPStatus.MULTIPLE_CHOICES:
        raise _error_of(reply)
    if operation.form is ReplyForm.NOTHING:
        return operation.read(ReplyJson(None))
    body = _text_of(reply)
    return operation.read(ReplyJson(body if operation.form is ReplyForm.TEXT else _json_of(body, reply)))


def _error_of(reply: Reply) -> RegistryError | UnexpectedShapeError:
    """Return the registry's error; a 401 or 403 needs no registry's body."""
    try:
        error = ReplyJson(_json_of(_text_of(reply), reply))
        code, message = error.member("error_code").integer(), error.member("message").text()
        details = {key: value for key, value in error.members().items() if key not in _ERROR_MEMBERS}
        return error_for_code(code, message, status=reply.status, details=details)
    except UnexpectedShapeError:
        if reply.status in _REFUSALS:
            phrase = HTTPStatus(reply.status).phrase
            return error_for_code(reply.status, f"{reply.status} {phrase}", status=reply.status)
        return UnexpectedShapeError(f"it answered {_shown(reply)}")


def _text_of(reply: Reply) -> str:
    try:
        return reply.body.decode("utf-8")
    except UnicodeDecodeError:
        raise UnexpectedShapeError(f"it answered {_shown(reply)}, which is not UTF-8") from None


def _json_of(text: str, reply: Reply) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise UnexpectedShapeError(f"it answered {_shown(reply)}, which is not JSON") from None


def _shown(reply: Reply) -> str:
    """Return the response in a few words: status, media type, redirect location, and the beginning of the body."""
    media_type = reply.headers.get("content-type", "no media type")
    location = reply.headers.get("location")
    text = reply.body[: 4 * _SHOWN_CHARACTERS].decode("utf-8", errors="replace")
    begin = repr(text[:_SHOWN_CHARACTERS]) if text else "nothing"
    more = "…" if len(text) > _SHOWN_CHARACTERS else ""
    return f"{reply.status} ({media_type}) with {begin}{more}" + (f" and points to {location}" if location else "")


def _any_texts(reply: JsonValue) -> None:
    """Check that the response is a list of texts, and ignore them."""
    read_texts(reply)


def _sorted_texts(reply: JsonValue) -> tuple[str, ...]:
    """Return a list of texts, sorted: the API promises no order."""
    return tuple(sorted(read_texts(reply)))


def _nothing(reply: JsonValue) -> None:
    """Ignore the body: a success needs no particular one."""
    del reply


def _object(reply: JsonValue) -> dict[str, Any]:
    return dict(reply.members())


def _subjects_of(reply: JsonValue) -> tuple[str, ...]:
    return tuple(item.member("subject").text() for item in reply.items())


_read_associations: Final = read_each(read_association)


def _objects(reply: JsonValue) -> tuple[dict[str, Any], ...]:
    return tuple(map(_object, reply.items()))


# --- parts of requests ---------------------------------------------------------------------------------------------


def _path(*segments: str | int) -> str:
    """Return the path of the segments, each encoded once; also one of dots alone, which a client would resolve.

    Raises ``InvalidSubject`` for None, which would else be the name ``None``.
    """
    if None in segments:
        before = "/".join(map(str, segments[: segments.index(None)]))
        raise InvalidSubject(f"None follows {before!r} in the path of the request; expected a name or a number")
    return "".join(f"/{_segment(str(segment))}" for segment in segments)


def _segment(text: str) -> str:
    return text.replace(".", "%2E") if text in (".", "..") else quote(_unicode(text), safe="")


def _unicode(text: str) -> str:
    """Return the text; raise ``InvalidSubject`` if it has no UTF-8 form for a URL."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidSubject(f"{text!r} is no name; expected Unicode text without lone surrogates") from None
    return text


def _query(**values: str | bool | int | None) -> tuple[tuple[str, str], ...]:
    """Return the parameters with a value: false and None are the API's defaults."""
    return tuple(
        (name, "true" if value is True else _unicode(str(value)))
        for name, value in values.items()
        if value is not None and value is not False
    )


def _deleted(visibility: Visibility) -> tuple[tuple[str, str], ...]:
    return _query(deleted=visibility is Visibility.WITH_DELETED, deletedOnly=visibility is Visibility.DELETED_ONLY)


def _json(value: object) -> bytes:
    """Return the JSON text of the value; equal values have equal texts, which caches use as keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


def _of_subject(root: str, subject: str | None) -> str:
    return _path(root) if subject is None else _path(root, subject)


# --- the registry itself -------------------------------------------------------------------------------------------


def ping() -> Operation[None]:
    """``GET /schemas/types``: whether a registry is there; the root has no response under the URL of a context."""
    return Operation("ping", "GET", "/schemas/types", _any_texts)


def schema_types() -> Operation[tuple[str, ...]]:
    """``GET /schemas/types``: the names of the schema types that it accepts."""
    return Operation("schema_types", "GET", "/schemas/types", _sorted_texts)


def contexts() -> Operation[tuple[str, ...]]:
    """``GET /contexts``: the default one, ``.``, first."""
    return Operation("contexts", "GET", "/contexts", read_texts)


def delete_context(context: str) -> Operation[None]:
    """``DELETE /contexts/{context}``: delete an empty context."""
    path = _path("contexts", context)
    return Operation("delete_context", "DELETE", path, _nothing, form=ReplyForm.NOTHING)


# --- schemas by id and guid ----------------------------------------------------------------------------------------


def schema_by_id(schema_id: int, *, subject: str | None, with_max_id: bool = False) -> Operation[Schema]:
    """``GET /schemas/ids/{id}``; ``subject`` selects the context that is searched first.

    ``with_max_id``: the JSON also has ``maxId``, the highest id that the context has assigned.
    """
    path = _path("schemas", "ids", schema_id)
    query = _query(subject=subject, fetchMaxId=with_max_id)
    return Operation("schema_by_id", "GET", path, SCHEMA.read, query)


def schema_text_by_id(schema_id: int, *, subject: str | None) -> Operation[str]:
    """``GET /schemas/ids/{id}/schema``: the bare text."""
    path = _path("schemas", "ids", schema_id, "schema")
    return Operation("schema_text_by_id", "GET", path, read_text, _query(subject=subject), form=ReplyForm.TEXT)


def subjects_of_id(schema_id: int, *, subject: str | None, visibility: Visibility) -> Operation[tuple[str, ...]]:
    """``GET /schemas/ids/{id}/subjects``."""
    path = _path("schemas", "ids", schema_id, "subjects")
    query = _query(subject=subject) + _deleted(visibility)
    return Operation("subjects_of_id", "GET", path, _sorted_texts, query)


def versions_of_id(
    schema_id: int, *, subject: str | None, visibility: Visibility
) -> Operation[tuple[SubjectVersion, ...]]:
    """``GET /schemas/ids/{id}/versions``."""
    path = _path("schemas", "ids", schema_id, "versions")
    query = _query(subject=subject) + _deleted(visibility)
    return Operation("versions_of_id", "GET", path, read_subject_versions, query)


def schema_by_guid(guid: UUID | str) -> Operation[Schema]:
    """``GET /schemas/guids/{guid}``."""
    return Operation("schema_by_guid", "GET", _path("schemas", "guids", str(guid)), SCHEMA.read)


def ids_of_guid(guid: UUID | str) -> Operation[tuple[ContextId, ...]]:
    """``GET /schemas/guids/{guid}/ids``."""
    return Operation("ids_of_guid", "GET", _path("schemas", "guids", str(guid), "ids"), read_context_ids)


# --- subjects and versions -----------------------------------------------------------------------------------------


def subjects(*, prefix: str | None, visibility: Visibility) -> Operation[tuple[str, ...]]:
    """``GET /subjects``."""
    return Operation("subjects", "GET", "/subjects", read_texts, _query(subjectPrefix=prefix) + _deleted(visibility))


def lookup(subject: str, schema: Schema, *, normalize: bool, visibility: Visibility) -> Operation[RegisteredSchema]:
    """``POST /subjects/{subject}``: the version that holds this content."""
    query = _query(normalize=normalize) + _deleted(visibility)
    return Operation(
        "lookup", "POST", _path("subjects", subject), read_registered, query, _json(schema_request(schema))
    )


def register(
    subject: str, schema: Schema, *, normalize: bool, schema_id: int | None = None, number: int | None = None
) -> Operation[RegisteredSchema]:
    """``POST /subjects/{subject}/versions``: repeatable, since existing content is found again.

    ``schema_id`` and ``number``, the version, are assigned to the schema in IMPORT mode.
    """
    reader = partial(read_registration, subject, schema)
    path = _path("subjects", subject, "versions")
    assigned = {name: value for name, value in (("id", schema_id), ("version", number)) if value is not None}
    body = _json({**schema_request(schema), **assigned})
    return Operation("register", "POST", path, reader, _query(normalize=normalize), body)


def versions(subject: str, *, visibility: Visibility) -> Operation[tuple[int, ...]]:
    """``GET /subjects/{subject}/versions``."""
    path = _path("subjects", subject, "versions")
    return Operation("versions", "GET", path, read_each(read_integer), _deleted(visibility))


def version(subject: str, number: VersionNumber, *, visibility: Visibility) -> Operation[RegisteredSchema]:
    """``GET /subjects/{subject}/versions/{version}``."""
    path = _path("subjects", subject, "versions", number)
    return Operation("version", "GET", path, read_registered, _deleted(visibility))


def schema_text(subject: str, number: VersionNumber, *, visibility: Visibility) -> Operation[str]:
    """``GET /subjects/{subject}/versions/{version}/schema``: the bare text."""
    path = _path("subjects", subject, "versions", number, "schema")
    return Operation("schema_text", "GET", path, read_text, _deleted(visibility), form=ReplyForm.TEXT)


def version_with_metadata(subject: str, properties: Mapping[str, str]) -> Operation[RegisteredSchema]:
    """``GET /subjects/{subject}/metadata``: the highest version whose metadata has all these properties."""
    pairs = sorted(properties.items())
    query = tuple(("key", _unicode(key)) for key, _ in pairs) + tuple(("value", _unicode(value)) for _, value in pairs)
    return Operation("version_with_metadata", "GET", _path("subjects", subject, "metadata"), read_registered, query)


def referenced_by(subject: str, number: VersionNumber, *, visibility: Visibility) -> Operation[tuple[int, ...]]:
    """``GET /subjects/{subject}/versions/{version}/referencedby``: ids of schemas that refer to this one."""
    path = _path("subjects", subject, "versions", number, "referencedby")
    return Operation("referenced_by", "GET", path, read_each(read_integer), _deleted(visibility))


def delete_subject(subject: str, *, deletion: Deletion) -> Operation[tuple[int, ...]]:
    """``DELETE /subjects/{subject}``: the deleted versions. Not repeatable: the second time it is not found."""
    query = _query(permanent=deletion is Deletion.PERMANENT)
    path = _path("subjects", subject)
    return Operation("delete_subject", "DELETE", path, read_each(read_integer), query, is_repeatable=False)


def delete_version(subject: str, number: VersionNumber, *, deletion: Deletion) -> Operation[int]:
    """``DELETE /subjects/{subject}/versions/{version}``: the deleted version."""
    query = _query(permanent=deletion is Deletion.PERMANENT)
    path = _path("subjects", subject, "versions", number)
    return Operation("delete_version", "DELETE", path, read_integer, query, is_repeatable=False)


# --- compatibility -------------------------------------------------------------------------------------------------


def check_compatibility(
    subject: str, schema: Schema, *, number: VersionNumber | None, verbose: bool, normalize: bool
) -> Operation[Compatibility]:
    """``POST /compatibility/subjects/{subject}/versions[/{version}]``: without a version, as a registration checks."""
    segments: Sequence[str | int] = () if number is None else (number,)
    path = _path("compatibility", "subjects", subject, "versions", *segments)
    query = _query(verbose=verbose, normalize=normalize)
    return Operation("check_compatibility", "POST", path, COMPATIBILITY.read, query, _json(schema_request(schema)))


# --- config and mode -----------------------------------------------------------------------------------------------


def config(subject: str | None, *, default_to_global: bool) -> Operation[Config]:
    """``GET /config[/{subject}]``."""
    query = _query(defaultToGlobal=default_to_global)
    return Operation("config", "GET", _of_subject("config", subject), read_config, query)


def set_config(
    subject: str | None, change: Config | CompatibilityLevel | str, *, clear: Iterable[str]
) -> Operation[Config]:
    """``PUT /config[/{subject}]``: fields that are None stay unchanged, the fields in ``clear`` are unset."""
    if isinstance(change, str):  # a level alone
        change = Config(compatibility_level=parse_level(change))
    body = config_document(change)
    for name in clear:
        if name not in CONFIG_KEYS:
            raise InvalidSettings(f"A config has no {name!r}; expected one of {', '.join(CONFIG_KEYS)}", setting=name)
        body[CONFIG_KEYS[name]] = None
    return Operation("set_config", "PUT", _of_subject("config", subject), read_config, body=_json(body))


def delete_config(subject: str | None) -> Operation[Config]:
    """``DELETE /config[/{subject}]``: the config that was set."""
    path = _of_subject("config", subject)
    return Operation("delete_config", "DELETE", path, read_config, is_repeatable=False)


def mode(subject: str | None, *, default_to_global: bool) -> Operation[Mode | None]:
    """``GET /mode[/{subject}]``."""
    query = _query(defaultToGlobal=default_to_global)
    return Operation("mode", "GET", _of_subject("mode", subject), read_mode, query)


def set_mode(subject: str | None, new: Mode | str | None, *, force: bool) -> Operation[Mode | None]:
    """``PUT /mode[/{subject}]``; None unsets it."""
    body = _json({"mode": None if new is None else str(new)})
    return Operation("set_mode", "PUT", _of_subject("mode", subject), read_mode, _query(force=force), body)


def delete_mode(subject: str | None, *, recursive: bool) -> Operation[Mode | None]:
    """``DELETE /mode[/{subject}]``: the mode that was set."""
    path = _of_subject("mode", subject)
    return Operation("delete_mode", "DELETE", path, read_mode, _query(recursive=recursive), is_repeatable=False)


# --- as the API's own JSON objects ------------------------------------------------------

_KEKS: Final = ("dek-registry", "v1", "keks")
_BRIDGES: Final = ("bridges", "v1")
_CONTRACTS: Final = ("contracts", "v1")
_SKETCHES: Final = ("sketches", "v1", "subjects")


def schemas(
    *, prefix: str | None, visibility: Visibility, latest_only: bool, aliases: bool
) -> Operation[tuple[dict[str, Any], ...]]:
    """``GET /schemas``: versions with their schemas.

    ``prefix`` is the beginning of subjects; None means the default context, ``:*:`` every context. ``aliases``: also
    the subjects that an alias names, with their ``aliases``.
    """
    query = _query(subjectPrefix=prefix, latestOnly=latest_only, aliases=aliases) + _deleted(visibility)
    return Operation("schemas", "GET", "/schemas", _objects, query)


def keks(*, visibility: Visibility) -> Operation[tuple[str, ...]]:
    """``GET /dek-registry/v1/keks``: the names of the key encryption keys."""
    return Operation("keks", "GET", _path(*_KEKS), read_texts, _deleted(visibility))


def kek(name: str, *, visibility: Visibility, context: str | None = None) -> Operation[Kek]:
    """``GET /dek-registry/v1/keks/{name}``; ``context`` is for registries that have keys in each context."""
    query = _deleted(visibility) + _query(context=context)
    return Operation("kek", "GET", _path(*_KEKS, name), KEK.read, query)


def create_kek(new: Kek, *, context: str | None = None) -> Operation[Kek]:
    """``POST /dek-registry/v1/keks``: repeatable, since the same key is found again."""
    body = _json(NEW_KEK.write(new))
    return Operation("create_kek", "POST", _path(*_KEKS), KEK.read, _query(context=context), body)


def delete_kek(name: str) -> Operation[None]:
    """``DELETE /dek-registry/v1/keks/{name}``: a soft deletion."""
    return _acting("delete_kek", "DELETE", _path(*_KEKS, name))


def undelete_kek(name: str) -> Operation[None]:
    """``POST /dek-registry/v1/keks/{name}/undelete``."""
    return _acting("undelete_kek", "POST", _path(*_KEKS, name, "undelete"))


def dek_subjects(kek_name: str, *, visibility: Visibility) -> Operation[tuple[str, ...]]:
    """``GET /dek-registry/v1/keks/{name}/deks``: the subjects that have keys under this one."""
    return Operation("dek_subjects", "GET", _path(*_KEKS, kek_name, "deks"), read_texts, _deleted(visibility))


def dek_versions(kek_name: str, subject: str, *, algorithm: str, visibility: Visibility) -> Operation[tuple[int, ...]]:
    """``GET /dek-registry/v1/keks/{name}/deks/{subject}/versions``."""
    query = _query(algorithm=algorithm) + _deleted(visibility)
    return Operation("dek_versions", "GET", _deks(kek_name, subject, "versions"), read_each(read_integer), query)


def dek(kek_name: str, subject: str, number: int, *, algorithm: str, visibility: Visibility) -> Operation[ShownDek]:
    """``GET /dek-registry/v1/keks/{name}/deks/{subject}/versions/{version}``."""
    query = _query(algorithm=algorithm) + _deleted(visibility)
    return Operation("dek", "GET", _deks(kek_name, subject, "versions", number), read_dek, query)


def create_dek(dek_id: DekId, wrapped: str | None, *, has_subject_in_path: bool = True) -> Operation[ShownDek]:
    """``POST /dek-registry/v1/keks/{name}/deks/{subject}``: repeatable, since the same key is found again.

    ``wrapped`` None: the registry generates the key. Older registries (405) have the path without the subject.
    """
    path = _deks(dek_id.kek_name, *([str(dek_id.subject)] if has_subject_in_path else []))
    return Operation("create_dek", "POST", path, read_dek, body=_json(new_dek_document(dek_id, wrapped)))


def delete_dek(kek_name: str, subject: str, number: int, *, algorithm: str) -> Operation[None]:
    """``DELETE /dek-registry/v1/keks/{name}/deks/{subject}/versions/{version}``: a soft deletion."""
    path = _deks(kek_name, subject, "versions", number)
    return _acting("delete_dek", "DELETE", path, _query(algorithm=algorithm))


def _deks(kek_name: str, *more: str | int) -> str:
    return _path(*_KEKS, kek_name, "deks", *more)


def _acting(name: str, method: str, path: str, query: tuple[tuple[str, str], ...] = ()) -> Operation[None]:
    """Return the operation without a result; the second time it may be refused, as it has been done."""
    return Operation(name, method, path, _nothing, query, is_repeatable=False, form=ReplyForm.NOTHING)


def associations() -> Operation[tuple[Association, ...]]:
    """``GET /associations/resources/-/-``: those of all resources."""
    return Operation("associations", "GET", _path("associations", "resources", "-", "-"), _read_associations)


def associations_of_resource(
    resource_id: str, *, resource_type: str | None, association_type: str | None
) -> Operation[tuple[Association, ...]]:
    """``GET /associations/resources/{resourceId}``."""
    query = _query(resourceType=resource_type, associationType=association_type)
    path = _path("associations", "resources", resource_id)
    return Operation("associations_of_resource", "GET", path, _read_associations, query)


def associated_subjects(
    namespace: str, name: str, *, resource_type: str, association_type: str
) -> Operation[tuple[str, ...]]:
    """``GET /associations/resources/{namespace}/{name}``: the subjects of a resource; ``-`` is every namespace."""
    query = _query(resourceType=resource_type, associationType=association_type)
    path = _path("associations", "resources", namespace, name)
    return Operation("associated_subjects", "GET", path, _subjects_of, query)


def create_association(new: Association) -> Operation[None]:
    """``POST /associations``: repeatable, since an existing association is found again."""
    body = _json(new_association_document(new))
    return Operation("create_association", "POST", "/associations", _nothing, body=body, form=ReplyForm.NOTHING)


def associations_by_name(
    namespace: str, name: str, *, resource_type: str | None, association_types: Iterable[str]
) -> Operation[tuple[dict[str, Any], ...]]:
    """``GET /associations/resources/{namespace}/{name}``; ``-`` is every namespace."""
    query = _query(resourceType=resource_type) + _types(association_types)
    path = _path("associations", "resources", namespace, name)
    return Operation("associations_by_name", "GET", path, _objects, query)


def create_associations(request: Mapping[str, Any]) -> Operation[dict[str, Any]]:
    """``POST /associations``: those of one resource."""
    return Operation("create_associations", "POST", "/associations", _object, body=_json(request))


def delete_associations(
    resource_id: str, *, resource_type: str | None, association_types: Iterable[str], cascades: bool
) -> Operation[None]:
    """``DELETE /associations/resources/{resourceId}``; ``cascades``: the subjects that belong to it alone, too."""
    query = _query(resourceType=resource_type, cascadeLifecycle=cascades) + _types(association_types)
    return _acting("delete_associations", "DELETE", _path("associations", "resources", resource_id), query)


def _types(association_types: Iterable[str]) -> tuple[tuple[str, str], ...]:
    return tuple(("associationType", each) for each in association_types)


def sketched_subjects() -> Operation[tuple[str, ...]]:
    """``GET /sketches/v1/subjects``, of this project's registry: the subjects that have a sketch."""
    return Operation("sketched_subjects", "GET", _path(*_SKETCHES), read_texts)


def sketch(subject: str) -> Operation[dict[str, Any]]:
    """``GET /sketches/v1/subjects/{subject}``: the document of a sketch."""
    return Operation("sketch", "GET", _path(*_SKETCHES, subject), _object)


def put_sketch(subject: str, document: Mapping[str, Any]) -> Operation[None]:
    """``PUT /sketches/v1/subjects/{subject}``: repeatable, since it replaces the sketch."""
    path, body = _path(*_SKETCHES, subject), _json(document)
    return Operation("put_sketch", "PUT", path, _nothing, body=body, form=ReplyForm.NOTHING)


def bridges(*, state: BridgeState | None = None, subject: str | None = None) -> Operation[tuple[BridgeStatus, ...]]:
    """``GET /bridges/v1``, of this project's registry, as all operations about bridges; :func:`page_of` continues."""
    return Operation("bridges", "GET", _path(*_BRIDGES), read_each(STATUS.read), _query(state=state, subject=subject))


def bridge(name: str) -> Operation[BridgeStatus]:
    """``GET /bridges/v1/{name}``."""
    return Operation("bridge", "GET", _path(*_BRIDGES, name), STATUS.read)


def register_bridge(new: NewBridge, *, dry_run: bool = False) -> Operation[Bridge]:
    """``POST /bridges/v1``: repeatable, since an equal bridge is found again."""
    body = _json(NEW_BRIDGE.write(new))
    return Operation("register_bridge", "POST", _path(*_BRIDGES), BRIDGE.read, _query(dryRun=dry_run), body)


def change_bridge(name: str, changes: NewBridge, *, dry_run: bool = False) -> Operation[Bridge]:
    """``PUT /bridges/v1/{name}``: what is None in ``changes`` stays as it is."""
    body = _json(NEW_BRIDGE.write(changes))
    return Operation("change_bridge", "PUT", _path(*_BRIDGES, name), BRIDGE.read, _query(dryRun=dry_run), body)


def delete_bridge(name: str) -> Operation[None]:
    """``DELETE /bridges/v1/{name}``."""
    return _acting("delete_bridge", "DELETE", _path(*_BRIDGES, name))


def bridge_gates(name: str) -> Operation[tuple[PossibleTransition, ...]]:
    """``GET /bridges/v1/{name}/gates``: the states that the bridge can change to, with the gates as they are now."""
    path = _path(*_BRIDGES, name, "gates")
    return Operation("bridge_gates", "GET", path, read_each(POSSIBLE_TRANSITION.read))


def change_bridge_state(
    name: str,
    state: BridgeState,
    *,
    by: str,
    reason: str = "",
    force: bool = False,
    expected: BridgeState | None = None,
    dry_run: bool = False,
) -> Operation[Bridge]:
    """``POST /bridges/v1/{name}/transitions``; with ``expected`` it is refused in any other state."""
    body = {"to": state, "by": by, "reason": reason, "force": force} | ({"from": expected} if expected else {})
    path, query = _path(*_BRIDGES, name, "transitions"), _query(dryRun=dry_run)
    return Operation("change_bridge_state", "POST", path, BRIDGE.read, query, _json(body), is_repeatable=False)


def report_progress(name: str, report: Progress) -> Operation[None]:
    """``POST /bridges/v1/{name}/progress``: the latest report is kept."""
    return _report(name, "progress", PROGRESS.write(report))


def report_verification(name: str, report: Verification) -> Operation[None]:
    """``POST /bridges/v1/{name}/verification``: the latest report is kept."""
    return _report(name, "verification", VERIFICATION.write(report))


def report_readers(name: str, report: Readers) -> Operation[None]:
    """``POST /bridges/v1/{name}/readers``: the latest report is kept."""
    return _report(name, "readers", READERS.write(report))


def _report(name: str, kind: str, document: dict[str, Any]) -> Operation[None]:
    document.pop(RECEIVED_KEY, None)
    path = _path(*_BRIDGES, name, kind)
    return Operation(f"report_{kind}", "POST", path, _nothing, body=_json(document), form=ReplyForm.NOTHING)


def changes(*, after: str | None, limit: int | None) -> Operation[dict[str, Any]]:
    """``GET /changes``, of this project's registry: the changes after a position, such as ``"latest"``."""
    return Operation("changes", "GET", "/changes", _object, _query(after=after, limit=limit))


# --- contracts, of this project's registry ---------------------------------------------------------------------------


def applications() -> Operation[tuple[Application, ...]]:
    """``GET /contracts/v1/applications``."""
    return Operation("applications", "GET", _path(*_CONTRACTS, "applications"), read_each(APPLICATION.read))


def put_application(application: Application) -> Operation[Application]:
    """``PUT /contracts/v1/applications/{application}``: repeatable, since it replaces what is known of it."""
    body = {"owner": application.owner, "repository": application.repository, "description": application.description}
    path = _path(*_CONTRACTS, "applications", application.name)
    return Operation("put_application", "PUT", path, APPLICATION.read, body=_json(body))


def application_versions(application: str) -> Operation[tuple[ApplicationVersion, ...]]:
    """``GET /contracts/v1/applications/{application}/versions``."""
    path = _path(*_CONTRACTS, "applications", application, "versions")
    return Operation("application_versions", "GET", path, read_each(APPLICATION_VERSION.read))


def put_application_version(version: ApplicationVersion) -> Operation[ApplicationVersion]:
    """``PUT /contracts/v1/applications/{application}/versions/{version}``; its contracts are not sent."""
    body = {"branch": version.branch, "commit": version.commit, "buildUrl": version.build_url}
    path = _path(*_CONTRACTS, "applications", version.application, "versions", version.version)
    return Operation("put_application_version", "PUT", path, APPLICATION_VERSION.read, body=_json(body))


def publish(new: NewPublication, *, dry_run: bool = False) -> Operation[Publication]:
    """``POST /contracts/v1/publish``: repeatable, since a published version is found again."""
    path, query = _path(*_CONTRACTS, "publish"), _query(dryRun=dry_run)
    return Operation("publish", "POST", path, PUBLICATION.read, query, _json(NEW_PUBLICATION.write(new)))


def published_contracts() -> Operation[tuple[ContractVersions, ...]]:
    """``GET /contracts/v1/contracts``."""
    return Operation("published_contracts", "GET", _path(*_CONTRACTS, "contracts"), read_each(CONTRACT_VERSIONS.read))


def published_contract(
    contract: str, version: str, *, kind: ContractKind | None = None
) -> Operation[PublishedContract]:
    """``GET /contracts/v1/contracts/{contract}/versions/{version}``; a producer's by default, or else a consumer's."""
    path = _path(*_CONTRACTS, "contracts", contract, "versions", version)
    return Operation("published_contract", "GET", path, CONTRACT.read, _query(kind=kind))


def environments() -> Operation[tuple[Environment, ...]]:
    """``GET /contracts/v1/environments``."""
    return Operation("environments", "GET", _path(*_CONTRACTS, "environments"), read_each(ENVIRONMENT.read))


def put_environment(environment: Environment) -> Operation[Environment]:
    """``PUT /contracts/v1/environments/{environment}``: repeatable, since it replaces what is known of it."""
    body = {key: value for key, value in ENVIRONMENT.write(environment).items() if key != "name"}
    path = _path(*_CONTRACTS, "environments", environment.name)
    return Operation("put_environment", "PUT", path, ENVIRONMENT.read, body=_json(body))


def deployments(
    environment: str, *, liveness: Liveness = Liveness.DEPLOYED, application: str | None = None
) -> Operation[tuple[Deployment, ...]]:
    """``GET /contracts/v1/environments/{environment}/deployments``, or ``/releases``."""
    query = _query(application=application)
    return Operation("deployments", "GET", _live(environment, liveness), read_each(DEPLOYMENT.read), query)


def record_deployment(
    environment: str, application: str, version: str, *, instance: str = "", liveness: Liveness = Liveness.DEPLOYED
) -> Operation[Deployment]:
    """``POST`` of a deployment or a release: repeatable, since the same one is found again."""
    body = {"application": application, "version": version} | ({"instance": instance} if instance else {})
    return Operation("record_deployment", "POST", _live(environment, liveness), DEPLOYMENT.read, body=_json(body))


def end_deployment(environment: str, deployment_id: str, *, liveness: Liveness = Liveness.DEPLOYED) -> Operation[None]:
    """``DELETE`` of a deployment, or of a release."""
    return _acting("end_deployment", "DELETE", _live(environment, liveness, deployment_id))


def _live(environment: str, liveness: Liveness, *more: str) -> str:
    kind = "deployments" if liveness is Liveness.DEPLOYED else "releases"
    return _path(*_CONTRACTS, "environments", environment, kind, *more)


def can_i_deploy(
    application: str, version: str, environment: str, *, ignored: Iterable[str] = ()
) -> Operation[DeploymentVerdict]:
    """``GET /contracts/v1/can-i-deploy``; applications in ``ignored`` do not count."""
    query = _query(application=application, version=version, environment=environment)
    query += tuple(("ignore", each) for each in ignored)
    return Operation("can_i_deploy", "GET", _path(*_CONTRACTS, "can-i-deploy"), VERDICT.read, query)


def can_i_retire(contract: str, major: str, environment: str) -> Operation[DeploymentVerdict]:
    """``GET /contracts/v1/can-i-retire``."""
    query = _query(contract=contract, major=major, environment=environment)
    return Operation("can_i_retire", "GET", _path(*_CONTRACTS, "can-i-retire"), VERDICT.read, query)


def matrix(
    environment: str, *, subject: str | None = None, application: str | None = None
) -> Operation[DeploymentVerdict]:
    """``GET /contracts/v1/matrix``: the pairs of a subject, or those with an application on one side."""
    query = _query(environment=environment, subject=subject, application=application)
    return Operation("matrix", "GET", _path(*_CONTRACTS, "matrix"), VERDICT.read, query)


def check_schema(
    subject: str, schema: Schema, *, environment: str | None = None, policy: str | None = None
) -> Operation[DeploymentVerdict]:
    """``POST /contracts/v1/check`` of a proposed schema: repeatable, since nothing is written."""
    given = {"subject": subject, "schema": SCHEMA.write(schema), "environment": environment, "policy": policy}
    body = {key: value for key, value in given.items() if value is not None}
    return Operation("check_schema", "POST", _path(*_CONTRACTS, "check"), VERDICT.read, body=_json(body))


def check_contract(
    contract: NewContract, *, environment: str | None = None, policy: str | None = None, application: str | None = None
) -> Operation[DeploymentVerdict]:
    """``POST /contracts/v1/check`` of a proposed contract: repeatable, since nothing is written."""
    given = {
        "contract": NEW_CONTRACT.write(contract),
        "environment": environment,
        "policy": policy,
        "application": application,
    }
    body = {key: value for key, value in given.items() if value is not None}
    return Operation("check_contract", "POST", _path(*_CONTRACTS, "check"), VERDICT.read, body=_json(body))


def consumers(subject: str, *, environment: str | None = None) -> Operation[tuple[Consumer, ...]]:
    """``GET /contracts/v1/subjects/{subject}/consumers``."""
    path, query = _path(*_CONTRACTS, "subjects", subject, "consumers"), _query(environment=environment)
    return Operation("consumers", "GET", path, read_each(CONSUMER.read), query)


def read_fields(subject: str, *, environment: str | None = None) -> Operation[tuple[FieldUse, ...]]:
    """``GET /contracts/v1/subjects/{subject}/fields``."""
    path, query = _path(*_CONTRACTS, "subjects", subject, "fields"), _query(environment=environment)
    return Operation("read_fields", "GET", path, read_each(FIELD_USE.read), query)
