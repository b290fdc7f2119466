"""Config and mode of the registry and of subjects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.compatibility.levels import parse_level
from counterfoil.schema.rest.config import CONFIG_KEYS, Config, config_document, read_config
from counterfoil.schema.rest.modes import read_mode
from counterfoil.sdk.errors import InvalidSettings
from counterfoil.sdk.operations.operation import Operation
from counterfoil.sdk.operations.requests import json_body, url_path, url_query

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.schema.compatibility.levels import CompatibilityLevel
    from counterfoil.schema.rest.modes import Mode


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
