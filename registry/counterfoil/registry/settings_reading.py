"""The settings in effect: read from the command line, the environment and a settings file, and checked together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from counterfoil.registry.settings import ENVIRONMENT_PREFIX, SETTINGS, ServerSettings, shown
from counterfoil.schema.documents import InvalidDocument, ListNode, MappingNode, ScalarNode, YamlKind, clear
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.registry.settings import Setting
    from counterfoil.schema.documents import Node
    from counterfoil.schema.texts import Position


# The settings in effect, read from the command line, the environment and a settings file, and their origins.
#
# The order of precedence is flag, environment, file, default. A value that is not permitted raises
# ``SettingsNotUsable`` with its place.

FILE_VARIABLE: Final = f"{ENVIRONMENT_PREFIX}SETTINGS"
KEY_PASSWORD_VARIABLE: Final = f"{ENVIRONMENT_PREFIX}TLS_KEY_PASSWORD"
"""A password, or with ``_FILE`` the file that has it; it is no setting, so that it is never printed."""

_BESIDE_SETTINGS: Final = frozenset({FILE_VARIABLE, KEY_PASSWORD_VARIABLE, f"{KEY_PASSWORD_VARIABLE}_FILE"})
_SWITCH: Final = {
    "true": True,
    "1": True,
    "yes": True,
    "on": True,
    "false": False,
    "0": False,
    "no": False,
    "off": False,
}
_SHOWN_CHARACTERS: Final = 80
_SIMILAR: Final = 0.74


class SettingsNotUsable(CounterfoilError):
    """A setting that is not known, or whose value is not permitted; the message names the place."""

    exit_code = ExitCode.USAGE


@dataclass(frozen=True, slots=True)
class Resolved:
    """The settings in effect; ``origins`` has the origin of each value by name, in words."""

    settings: ServerSettings
    origins: Mapping[str, str]

    def lines(self) -> list[str]:
        """Return one line for each setting: name, value without passwords, origin."""
        values = {each.name: shown(getattr(self.settings, each.name)) or "(none)" for each in SETTINGS}
        names_width, values_width = max(map(len, values)), max(map(len, values.values()))
        return [
            f"{name:{names_width}}  {value:{values_width}}  {self.origins[name]}".rstrip()
            for name, value in values.items()
        ]


def resolve(flags: Mapping[str, Any], environment: Mapping[str, str], *, file: str | None = None) -> Resolved:
    """Return the settings in effect. ``flags`` has the checked values of the command line, and None for the others.

    ``file`` is the settings file; without it ``COUNTERFOIL_SETTINGS`` may name one.
    """
    path = file or environment.get(FILE_VARIABLE)
    found: dict[str, tuple[Any, str]] = {each.name: (each.default, "default") for each in SETTINGS}
    if path:
        found.update(_from_file(Path(path)))
    found.update(_from_environment(environment))
    for each in SETTINGS:
        given = flags.get(each.name)
        if given is not None:
            found[each.name] = (given, each.flag if given is not False else each.negative_flag)
    values = {name: value for name, (value, _) in found.items()}
    return Resolved(ServerSettings(**values), {name: origin for name, (_, origin) in found.items()})


def parse_text(setting: Setting, text: str) -> Any:
    """Return the value of ``setting`` in ``text``; raise ``ValueError`` with the permitted values."""
    match setting.default:
        case bool():
            if text.strip().lower() not in _SWITCH:
                raise ValueError(setting.expected)
            return _SWITCH[text.strip().lower()]
        case int() | float():
            return _checked(setting, _number(setting, text))
        case tuple():
            return _checked_items(setting, tuple(filter(None, (each.strip() for each in text.split(",")))))
        case _:
            return _checked(setting, text.strip())


def _number(setting: Setting, text: str) -> float:
    try:
        number = float(text)
        return int(text) if isinstance(setting.default, int) else number
    except ValueError:
        raise ValueError(setting.expected) from None


def _checked(setting: Setting, value: Any) -> Any:
    """Return ``value``, of the setting's type already, if it is within the bounds; raise ``ValueError`` otherwise."""
    if setting.choices and value not in setting.choices:
        raise ValueError(setting.expected)
    if isinstance(value, int | float) and not (math.isfinite(value) and setting.at_least <= value <= setting.at_most):
        raise ValueError(setting.expected)
    if value == "" and setting.default != "":
        raise ValueError(f"{setting.expected} that is not empty")
    return value


def _checked_items(setting: Setting, items: tuple[str, ...]) -> tuple[str, ...]:
    """Return the texts of a list; raise ``ValueError`` for one that is not permitted."""
    for each in items:
        if setting.parse_item is not None:
            try:
                setting.parse_item(each)
            except ValueError as problem:
                raise ValueError(f"{setting.expected}, each of which is permitted: {problem}") from None
    return items


def _from_environment(environment: Mapping[str, str]) -> dict[str, tuple[Any, str]]:
    known = {each.variable: each for each in SETTINGS}
    found = {}
    for variable, text in environment.items():
        setting = known.get(variable)
        if setting is not None:
            found[setting.name] = (_parsed(setting, text, variable), variable)
        elif variable.startswith(ENVIRONMENT_PREFIX) and variable not in _BESIDE_SETTINGS:
            _refuse_misspelt(variable, known)
    return found


def _refuse_misspelt(variable: str, known: Mapping[str, Setting]) -> None:
    """Raise if a variable's name is similar to a setting's.

    Other programs of this project have variables of their own.
    """
    name = variable.removeprefix(ENVIRONMENT_PREFIX)
    names = [each.removeprefix(ENVIRONMENT_PREFIX) for each in known]
    similar = get_close_matches(name, names, n=1, cutoff=_SIMILAR)
    if similar:
        raise SettingsNotUsable(
            f"The environment sets {variable}, which is no setting; did you mean {ENVIRONMENT_PREFIX}{similar[0]}?"
        )


def _parsed(setting: Setting, text: str, place: str) -> Any:
    try:
        return parse_text(setting, text)
    except ValueError as problem:
        hint = ""
        if setting.name == "port" and text.startswith("tcp://"):
            hint = "; Kubernetes sets it so for a service called counterfoil: enableServiceLinks: false keeps it away"
        raise SettingsNotUsable(f"{place} is {shown(text)[:_SHOWN_CHARACTERS]!r}; expected {problem}{hint}") from None


def _from_file(path: Path) -> dict[str, tuple[Any, str]]:
    from counterfoil.schema.documents.yaml_reader import read_yaml

    try:
        root = read_yaml(path.read_text(encoding="utf-8"))
        return {} if root is None else _read_entries(root, path)
    except OSError as error:
        raise SettingsNotUsable(f"The settings file {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SettingsNotUsable(f"The settings file {path} is not UTF-8") from None
    except InvalidDocument as error:
        raise SettingsNotUsable(f"{_place(path, error.position)}: {error.problem}") from None


def _place(path: Path, position: Position | None) -> str:
    return str(path) if position is None else f"{path}, line {position.line}"


def _read_entries(root: Node, path: Path) -> dict[str, tuple[Any, str]]:
    if not isinstance(root, MappingNode):
        raise InvalidDocument("expected names of settings, each with its value", root.position)
    known = {each.name: each for each in SETTINGS}
    found: dict[str, tuple[Any, str]] = {}
    for name, node in root.entries.items():
        if name not in known:
            similar = get_close_matches(name.replace("-", "_"), known, n=1, cutoff=_SIMILAR)
            hint = f"did you mean {similar[0]}?" if similar else f"there are {', '.join(known)}"
            raise InvalidDocument(f"{name[:_SHOWN_CHARACTERS]!r} is no setting; {hint}", root.key_positions[name])
        place = _place(path, root.key_positions[name])
        found[name] = (_node_value(known[name], node, place), place)
    return found


_KINDS_BY_TYPE: Final = {
    bool: {YamlKind.BOOLEAN},
    int: {YamlKind.INTEGER},
    float: {YamlKind.INTEGER, YamlKind.NUMBER},
    str: {YamlKind.TEXT, YamlKind.INTEGER},
}


def _node_value(setting: Setting, node: Node, place: str) -> Any:
    """Return the value in a node: of the setting's own type, not a text that spells it."""
    if isinstance(setting.default, tuple):
        items = node.items if isinstance(node, ListNode) else (node,)
        texts = [item.text for item in items if isinstance(item, ScalarNode) and item.kind is YamlKind.TEXT]
        if len(texts) < len(items):
            raise SettingsNotUsable(f"{place}: {setting.name} is of another kind; expected a list of texts")
        try:
            return _checked_items(setting, tuple(texts))
        except ValueError as problem:
            raise SettingsNotUsable(f"{place}: {problem}") from None
    if not isinstance(node, ScalarNode) or not _is_of_type(setting, node):
        raise SettingsNotUsable(
            f"{place}: {setting.name} is of the kind {node.kind.value!r}; expected {setting.expected}"
        )
    return _parsed(setting, node.text, f"{place}: {setting.name}")


def _is_of_type(setting: Setting, node: ScalarNode) -> bool:
    if isinstance(setting.default, bool) and node.kind is YamlKind.UNCLEAR:
        return node.text.lower() in _SWITCH  # such as yes: where true or false is expected it is clear
    if node.text in setting.choices:
        return True  # such as off: where that word is expected it is clear
    return clear(node).kind in _KINDS_BY_TYPE[type(setting.default)]


# What settings need of one another.

_NEEDS: Final = (
    ("tls_certificate", "tls_key"),
    ("tls_key", "tls_certificate"),
    ("tls_client_ca", "tls_certificate"),
    ("tls_crl_file", "tls_client_ca"),
    ("tls_principal_rules", "tls_client_ca"),
    ("tls_principal_prefix", "tls_principal_rules"),
    ("redirect_port", "tls_certificate"),
    ("redirect_port", "public_url"),
    ("audit_reads", "audit_file"),
)
"""Settings that have an effect only with another one."""

_NO_CERTIFICATES: Final = "none"


def check_together(settings: ServerSettings) -> None:
    """Raise ``SettingsNotUsable`` for settings that are right one by one, and not together."""
    conflict = _conflict(settings)
    if conflict is not None:
        raise SettingsNotUsable(conflict)


def _conflict(settings: ServerSettings) -> str | None:
    for name, needed in _NEEDS:
        if getattr(settings, name) and not getattr(settings, needed):
            return f"{name} is set, and needs {needed}, which is not set"
    asks_for_certificates = settings.tls_client_certificates != _NO_CERTIFICATES
    if asks_for_certificates and not settings.tls_client_ca:
        return (
            f"tls_client_certificates is {settings.tls_client_certificates}, and needs tls_client_ca, which is not set"
        )
    if settings.tls_client_ca and not asks_for_certificates:
        return "tls_client_ca is set, and tls_client_certificates is none; expected optional or required"
    if settings.hsts_max_age_s and not (settings.tls_certificate or settings.auth_file):
        return (
            "hsts_max_age_s is set, and needs tls_certificate, or auth_file with a proxy that ends TLS; neither is set"
        )
    if settings.redirect_port and settings.redirect_port == settings.port:
        return f"redirect_port and port are both {settings.port}; expected two ports"
    if settings.public_url and not _is_address(settings.public_url):
        return f"public_url is {settings.public_url[:80]!r}; expected an address such as https://registry.example"
    if settings.public_path and not _is_path(settings.public_path):
        return f"public_path is {settings.public_path[:80]!r}; expected the beginning of a path, such as /registry"
    return None


def _is_path(path: str) -> bool:
    """Return whether ``path`` begins with one slash and has nothing that ends or changes a path."""
    is_plain = path.isascii() and path.isprintable() and not set(path) & set(' "?#\\')
    return path.startswith("/") and is_plain and not {"", ".", ".."} & set(path.rstrip("/").split("/")[1:])


def _is_address(url: str) -> bool:
    """Return whether ``url`` is a scheme, a host, and perhaps a port and a path."""
    try:
        parts = urlsplit(url)
        has_port = parts.port is None or parts.port > 0
    except ValueError:
        return False
    is_plain = url.isascii() and url.isprintable() and not {" ", "@", "?", "#"} & set(url)
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and has_port and is_plain
