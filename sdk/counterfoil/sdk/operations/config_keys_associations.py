"""Config and mode, the keys of encryption, and associations of topics with subjects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from counterfoil.schema.compatibility import CompatibilityLevel, parse_level
from counterfoil.schema.datum import JsonObject
from counterfoil.schema.rest.keys import KEK, NEW_KEK, DekId, Kek, ShownDek, new_dek_document, read_dek
from counterfoil.schema.rest.object_forms import JsonValue, read_each, read_integer, read_texts
from counterfoil.schema.rest.subjects import (
    CONFIG_KEYS,
    Association,
    Config,
    Mode,
    config_document,
    new_association_document,
    read_association,
    read_config,
    read_mode,
)
from counterfoil.schema.rest.versions import Visibility
from counterfoil.sdk.errors import InvalidSettings
from counterfoil.sdk.operations.operation import (
    Operation,
    ReplyForm,
    action,
    deleted_query,
    json_body,
    read_nothing,
    read_object,
    read_objects,
    url_path,
    url_query,
)

# Config and mode of the registry and of subjects.


def config(subject: str | None, *, default_to_global: bool) -> Operation[Config]:
    """``GET /config[/{subject}]``."""
    query = url_query(defaultToGlobal=default_to_global)
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
    return Operation("set_config", "PUT", _of_subject("config", subject), read_config, body=json_body(body))


def delete_config(subject: str | None) -> Operation[Config]:
    """``DELETE /config[/{subject}]``: the config that was set."""
    path = _of_subject("config", subject)
    return Operation("delete_config", "DELETE", path, read_config, is_repeatable=False)


def mode(subject: str | None, *, default_to_global: bool) -> Operation[Mode | None]:
    """``GET /mode[/{subject}]``."""
    query = url_query(defaultToGlobal=default_to_global)
    return Operation("mode", "GET", _of_subject("mode", subject), read_mode, query)


def set_mode(subject: str | None, new: Mode | str | None, *, force: bool) -> Operation[Mode | None]:
    """``PUT /mode[/{subject}]``; None unsets it."""
    body = json_body({"mode": None if new is None else str(new)})
    return Operation("set_mode", "PUT", _of_subject("mode", subject), read_mode, url_query(force=force), body)


def delete_mode(subject: str | None, *, recursive: bool) -> Operation[Mode | None]:
    """``DELETE /mode[/{subject}]``: the mode that was set."""
    path = _of_subject("mode", subject)
    return Operation("delete_mode", "DELETE", path, read_mode, url_query(recursive=recursive), is_repeatable=False)


def _of_subject(root: str, subject: str | None) -> str:
    return url_path(root) if subject is None else url_path(root, subject)


# Key encryption keys (KEK) and data encryption keys (DEK).

_KEKS: Final = ("dek-registry", "v1", "keks")


def keks(*, visibility: Visibility) -> Operation[tuple[str, ...]]:
    """``GET /dek-registry/v1/keks``: the names of the key encryption keys."""
    return Operation("keks", "GET", url_path(*_KEKS), read_texts, deleted_query(visibility))


def kek(name: str, *, visibility: Visibility, context: str | None = None) -> Operation[Kek]:
    """``GET /dek-registry/v1/keks/{name}``; ``context`` is for registries that have keys in each context."""
    query = deleted_query(visibility) + url_query(context=context)
    return Operation("kek", "GET", url_path(*_KEKS, name), KEK.read, query)


def create_kek(new: Kek, *, context: str | None = None) -> Operation[Kek]:
    """``POST /dek-registry/v1/keks``: repeatable, since the same key is found again."""
    body = json_body(NEW_KEK.write(new))
    return Operation("create_kek", "POST", url_path(*_KEKS), KEK.read, url_query(context=context), body)


def delete_kek(name: str) -> Operation[None]:
    """``DELETE /dek-registry/v1/keks/{name}``: a soft deletion."""
    return action("delete_kek", "DELETE", url_path(*_KEKS, name))


def undelete_kek(name: str) -> Operation[None]:
    """``POST /dek-registry/v1/keks/{name}/undelete``."""
    return action("undelete_kek", "POST", url_path(*_KEKS, name, "undelete"))


def dek_subjects(kek_name: str, *, visibility: Visibility) -> Operation[tuple[str, ...]]:
    """``GET /dek-registry/v1/keks/{name}/deks``: the subjects that have keys under this one."""
    return Operation("dek_subjects", "GET", url_path(*_KEKS, kek_name, "deks"), read_texts, deleted_query(visibility))


def dek_versions(kek_name: str, subject: str, *, algorithm: str, visibility: Visibility) -> Operation[tuple[int, ...]]:
    """``GET /dek-registry/v1/keks/{name}/deks/{subject}/versions``."""
    query = url_query(algorithm=algorithm) + deleted_query(visibility)
    return Operation("dek_versions", "GET", _deks(kek_name, subject, "versions"), read_each(read_integer), query)


def dek(kek_name: str, subject: str, number: int, *, algorithm: str, visibility: Visibility) -> Operation[ShownDek]:
    """``GET /dek-registry/v1/keks/{name}/deks/{subject}/versions/{version}``."""
    query = url_query(algorithm=algorithm) + deleted_query(visibility)
    return Operation("dek", "GET", _deks(kek_name, subject, "versions", number), read_dek, query)


def create_dek(dek_id: DekId, wrapped: str | None, *, has_subject_in_path: bool = True) -> Operation[ShownDek]:
    """``POST /dek-registry/v1/keks/{name}/deks/{subject}``: repeatable, since the same key is found again.

    ``wrapped`` None: the registry generates the key. Older registries (405) have the path without the subject.
    """
    path = _deks(dek_id.kek_name, *([str(dek_id.subject)] if has_subject_in_path else []))
    return Operation("create_dek", "POST", path, read_dek, body=json_body(new_dek_document(dek_id, wrapped)))


def delete_dek(kek_name: str, subject: str, number: int, *, algorithm: str) -> Operation[None]:
    """``DELETE /dek-registry/v1/keks/{name}/deks/{subject}/versions/{version}``: a soft deletion."""
    path = _deks(kek_name, subject, "versions", number)
    return action("delete_dek", "DELETE", path, url_query(algorithm=algorithm))


def _deks(kek_name: str, *more: str | int) -> str:
    return url_path(*_KEKS, kek_name, "deks", *more)


# Associations of resources, such as topics, with subjects.

_read_associations: Final = read_each(read_association)


def associations() -> Operation[tuple[Association, ...]]:
    """``GET /associations/resources/-/-``: those of all resources."""
    return Operation("associations", "GET", url_path("associations", "resources", "-", "-"), _read_associations)


def associations_of_resource(
    resource_id: str, *, resource_type: str | None, association_type: str | None
) -> Operation[tuple[Association, ...]]:
    """``GET /associations/resources/{resourceId}``."""
    query = url_query(resourceType=resource_type, associationType=association_type)
    path = url_path("associations", "resources", resource_id)
    return Operation("associations_of_resource", "GET", path, _read_associations, query)


def associated_subjects(
    namespace: str, name: str, *, resource_type: str, association_type: str
) -> Operation[tuple[str, ...]]:
    """``GET /associations/resources/{namespace}/{name}``: the subjects of a resource; ``-`` is every namespace."""
    query = url_query(resourceType=resource_type, associationType=association_type)
    path = url_path("associations", "resources", namespace, name)
    return Operation("associated_subjects", "GET", path, _subjects_of, query)


def create_association(new: Association) -> Operation[None]:
    """``POST /associations``: repeatable, since an existing association is found again."""
    body = json_body(new_association_document(new))
    return Operation("create_association", "POST", "/associations", read_nothing, body=body, form=ReplyForm.NOTHING)


def associations_by_name(
    namespace: str, name: str, *, resource_type: str | None, association_types: Iterable[str]
) -> Operation[tuple[JsonObject, ...]]:
    """``GET /associations/resources/{namespace}/{name}``; ``-`` is every namespace."""
    query = url_query(resourceType=resource_type) + _types(association_types)
    path = url_path("associations", "resources", namespace, name)
    return Operation("associations_by_name", "GET", path, read_objects, query)


def create_associations(request: Mapping[str, object]) -> Operation[JsonObject]:
    """``POST /associations``: those of one resource."""
    return Operation("create_associations", "POST", "/associations", read_object, body=json_body(request))


def delete_associations(
    resource_id: str, *, resource_type: str | None, association_types: Iterable[str], cascades: bool
) -> Operation[None]:
    """``DELETE /associations/resources/{resourceId}``; ``cascades``: the subjects that belong to it alone, too."""
    query = url_query(resourceType=resource_type, cascadeLifecycle=cascades) + _types(association_types)
    return action("delete_associations", "DELETE", url_path("associations", "resources", resource_id), query)


def _subjects_of(reply: JsonValue) -> tuple[str, ...]:
    return tuple(item.member("subject").text() for item in reply.items())


def _types(association_types: Iterable[str]) -> tuple[tuple[str, str], ...]:
    return tuple(("associationType", each) for each in association_types)
