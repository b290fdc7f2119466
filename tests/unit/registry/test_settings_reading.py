"""Settings: which spelling wins, what is refused and where, what is shown."""

from __future__ import annotations

import contextlib
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.registry.serving.command import serve
from counterfoil.registry.settings import SETTINGS, ServerSettings, Setting, masked, shown
from counterfoil.registry.settings_reading import SettingsNotUsable, check_together, parse_text, resolve

if TYPE_CHECKING:
    from pathlib import Path

BY_NAME = {each.name: each for each in SETTINGS}


def another_value(setting: Setting) -> str:
    """A value that is not the default, as it is written on the command line."""
    match setting.default:
        case bool():
            return shown(not setting.default)
        case int() | float():
            return shown(type(setting.default)(setting.default + 1))
        case tuple():
            networks, origins = "10.0.0.0/8,192.168.0.0/16", "https://a.example,https://b.example"
            return networks if setting.parse_item is not None else origins
        case _:
            others = [each for each in reversed(setting.choices) if each != setting.default]
            return others[0] if others else "another"


def in_yaml(setting: Setting, text: str) -> str:
    return (
        f"[{text}]" if isinstance(setting.default, tuple) else f'"{text}"' if isinstance(setting.default, str) else text
    )


@pytest.mark.parametrize("name", BY_NAME)
def test_every_setting_has_three_spellings_and_the_nearest_wins(name: str, tmp_path: Path) -> None:
    setting = BY_NAME[name]
    value = parse_text(setting, another_value(setting))
    assert value != setting.default
    file = tmp_path / "settings.yaml"
    file.write_text(f"# mine\n{name}: {in_yaml(setting, another_value(setting))}\n")
    default = resolve({}, {})
    assert (getattr(default.settings, name), default.origins[name]) == (setting.default, "default")
    from_file = resolve({}, {}, file=str(file))
    assert (getattr(from_file.settings, name), from_file.origins[name]) == (value, f"{file}, line 2")
    named = resolve({}, {"COUNTERFOIL_SETTINGS": str(file)})
    assert getattr(named.settings, name) == value
    environment = {setting.variable: shown(setting.default) or " "}
    if isinstance(setting.default, tuple):
        environment = {setting.variable: ""}
    from_environment = resolve({}, environment, file=str(file))
    assert (getattr(from_environment.settings, name), from_environment.origins[name]) == (
        setting.default,
        setting.variable,
    )
    from_flag = resolve({name: value}, environment, file=str(file))
    assert getattr(from_flag.settings, name) == value
    assert from_flag.origins[name] in {setting.flag, setting.negative_flag}


TLS = {"tls_certificate": "c.pem", "tls_key": "k.pem"}
WITH_CA = {**TLS, "tls_client_ca": "ca.pem", "tls_client_certificates": "required"}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"tls_certificate": "c.pem"}, "needs tls_key"),
        ({"tls_key": "k.pem"}, "needs tls_certificate"),
        ({"tls_client_ca": "ca.pem"}, "needs tls_certificate"),
        ({**TLS, "tls_client_certificates": "optional"}, "needs tls_client_ca"),
        ({**TLS, "tls_client_ca": "ca.pem"}, "expected optional or required"),
        ({**TLS, "tls_principal_rules": "DEFAULT"}, "needs tls_client_ca"),
        ({**WITH_CA, "tls_principal_prefix": "cert:"}, "needs tls_principal_rules"),
        ({**TLS, "redirect_port": 80}, "needs public_url"),
        ({**TLS, "redirect_port": 8081, "public_url": "https://a.example"}, "expected two ports"),
        ({"hsts_max_age_s": 1}, "needs tls_certificate, or auth_file with a proxy"),
        ({"audit_reads": ("orders.*",)}, "needs audit_file"),
        *[
            ({"public_url": url}, "expected an address such as https://registry.example")
            for url in (
                "registry.example",
                "ftp://a",
                "https://",
                "https://a:x",
                "https://u@a",
                "https://a/?b",
                "https://[",
            )
        ],
    ],
    ids=str,
)
def test_settings_that_need_one_another(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsNotUsable, match=said):
        check_together(ServerSettings(**settings))


def test_settings_that_are_right_together() -> None:
    for settings in ({}, TLS, WITH_CA, {"public_url": "https://a.example:8443/registry"}):
        check_together(ServerSettings(**settings))


def test_the_password_of_a_key_is_no_misspelt_setting() -> None:
    for name in ("COUNTERFOIL_TLS_KEY_PASSWORD", "COUNTERFOIL_TLS_KEY_PASSWORD_FILE"):
        assert "geheim" not in str(resolve({}, {name: "geheim"}).lines())


def test_the_spellings_are_the_names_of_the_fields() -> None:
    assert [each.name for each in SETTINGS] == [each.name for each in fields(ServerSettings)]
    setting = BY_NAME["read_timeout_s"]
    assert (setting.flag, setting.variable) == ("--read-timeout-s", "COUNTERFOIL_READ_TIMEOUT_S")
    options = {option for parameter in serve.get_params(click.Context(serve)) for option in parameter.opts}
    assert options >= {each.flag for each in SETTINGS}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prot: 8081", ["line 1", "'prot'", "did you mean port?"]),
        ("host: a\nmax-body-bytes: 5", ["line 2", "did you mean max_body_bytes?"]),
        ("nonsense: 1", ["line 1", "'nonsense'", "there are host, port"]),
        ("port: '8081'", ["line 1", "port", "'str'", "an integer from 0 to 65535"]),
        ("port: 70000", ["line 1: port is '70000'", "from 0 to 65535"]),
        ("port: 80.5", ["'float'"]),
        ("port:", ["'null'"]),
        ("port: [1]", ["'seq'"]),
        ("store: true", ["'bool'", "a text"]),
        ("store: ''", ["not empty"]),
        ("fast_lane: 1", ["'int'", "true or false"]),
        ("read_timeout_s: .nan", ["read_timeout_s is '.nan'"]),
        ("read_timeout_s: soon", ["'str'", "a number from 0.1 to 3600"]),
        ("compat_version: 9", ["one of 8, 7, 6, 5"]),
        ("cors_origins: [1]", ["a list of texts"]),
        ("cors_origins: {a: b}", ["a list of texts"]),
        ("port: 1\nport: 2", ["line 2", "second time", "line 1"]),
        ("- port", ["line 1", "names of settings"]),
        ("port", ["names of settings"]),
        ("port: [", ["not YAML"]),
        ("a: b: c", ["line 1", "not YAML"]),
        ("port: *unknown", ["not YAML"]),
        ("? [a]\n: 1", ["line 1", "a key must be a plain word"]),
        ("port: 0755", ["line 1", "0755 has two meanings: 493 in YAML 1.1, 755 in YAML 1.2"]),
        ("store: no", ["line 1", "no has two meanings"]),
        ("[\n" * 5000 + "]\n" * 5000, ["nested too deeply"]),
    ],
)
def test_what_a_file_cannot_say_is_refused_with_its_place(text: str, said: list[str], tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text(text)
    with pytest.raises(SettingsNotUsable) as refused:
        resolve({}, {}, file=str(file))
    message = str(refused.value)
    assert str(file) in message
    assert all(part in message for part in said), message


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    for path, said in [(tmp_path / "none.yaml", "No such file"), (tmp_path, "directory"), (binary, "not UTF-8")]:
        with pytest.raises(SettingsNotUsable, match=said):
            resolve({}, {}, file=str(path))


def test_an_empty_file_sets_nothing(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("# nothing yet\n")
    assert resolve({}, {}, file=str(file)).settings == ServerSettings()


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("COUNTERFOIL_PORT", "x", "COUNTERFOIL_PORT is 'x'; expected an integer from 0 to 65535"),
        ("COUNTERFOIL_PORT", "-1", "from 0 to 65535"),
        ("COUNTERFOIL_PORT", "", "expected an integer"),
        ("COUNTERFOIL_PORT", "8" * 5000, "expected an integer"),
        ("COUNTERFOIL_PORT", "tcp://10.0.0.1:8081", "enableServiceLinks"),
        ("COUNTERFOIL_FAST_LANE", "maybe", "expected true or false"),
        ("COUNTERFOIL_READ_TIMEOUT_S", "nan", "expected a number"),
        ("COUNTERFOIL_READ_TIMEOUT_S", "inf", "expected a number"),
        ("COUNTERFOIL_STORE", "", "not empty"),
        ("COUNTERFOIL_STOER", "x", "did you mean COUNTERFOIL_STORE?"),
        ("COUNTERFOIL_MAX_BODY_BYTE", "x", "did you mean COUNTERFOIL_MAX_BODY_BYTES?"),
    ],
)
def test_what_the_environment_cannot_say_is_refused(variable: str, value: str, said: str) -> None:
    with pytest.raises(SettingsNotUsable) as refused:
        resolve({}, {variable: value})
    assert said in str(refused.value)


def test_variables_of_other_programs_are_left_alone() -> None:
    others = {"COUNTERFOIL_REGISTRY_URL": "http://x", "COUNTERFOIL_SERVICE_HOST": "10.0.0.1", "PORT": "x"}
    assert resolve({}, others).settings == ServerSettings()


@given(st.sampled_from(SETTINGS), st.text(max_size=20))
def test_any_text_is_a_value_or_refused(setting: Setting, text: str) -> None:
    with contextlib.suppress(ValueError):
        assert type(parse_text(setting, text)) is type(setting.default)


def test_passwords_are_not_shown() -> None:
    assert masked("postgresql://me:s3/c:r@et@db:5432/r?sslmode=require&password=x&sslpassword=y") == (
        "postgresql://me:***@db:5432/r?sslmode=require&password=***&sslpassword=***"
    )
    for same in ("sqlite:////var/lib/registry.db", "postgresql://me@db/r", "postgresql:///r?host=/run"):
        assert masked(same) == same


def test_the_command_prints_what_is_in_force_and_ends(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("keep_alive_s: 5\n")
    arguments = ["--print-settings", "--port", "9", "--no-fast-lane", "--settings", str(file)]
    done = CliRunner().invoke(serve, arguments, env={"COUNTERFOIL_STORE": "postgresql://me:secret@db/r"})
    assert done.exit_code == 0
    lines = {line.split()[0]: line.split(maxsplit=2)[1:] for line in done.output.splitlines()}
    assert lines.keys() == BY_NAME.keys()
    assert lines["port"] == ["9", "--port"]
    assert lines["fast_lane"] == ["false", "--no-fast-lane"]
    assert lines["keep_alive_s"] == ["5", f"{file}, line 1"]
    assert lines["store"] == ["postgresql://me:***@db/r", "COUNTERFOIL_STORE"]
    assert lines["host"] == ["127.0.0.1", "default"]
    assert "secret" not in done.output


@pytest.mark.parametrize(
    "arguments", [["--port", "x"], ["--port", "70000"], ["--compat-version", "9"], ["--prot", "1"]]
)
def test_a_wrong_option_is_a_usage_error(arguments: list[str]) -> None:
    done = CliRunner().invoke(serve, arguments)
    assert done.exit_code == click.UsageError.exit_code
    assert arguments[0] in done.output


@pytest.mark.parametrize(("line", "value"), [("ui: off", "off"), ("ui: read", "read"), ('ui: "off"', "off")])
def test_a_word_that_is_a_choice_needs_no_quotes(line: str, value: str, tmp_path: Path) -> None:
    """``off`` is a boolean in YAML 1.1 and a text in YAML 1.2."""
    file = tmp_path / "settings.yaml"
    file.write_text(f"{line}\n")
    assert resolve({}, {}, file=str(file)).settings.ui == value


@pytest.mark.parametrize("path", ["registry", "//registry", "/a/../b", "/a b", "/a?b", "/a#b", "/a\\b", "/ä"])
def test_a_path_that_no_proxy_strips_is_refused(path: str) -> None:
    with pytest.raises(SettingsNotUsable, match=r"public_path is .*; expected the beginning of a path"):
        check_together(resolve({"public_path": path}, {}).settings)


@pytest.mark.parametrize("path", ["/registry", "/registry/", "/a/b-c_d", "/"])
def test_a_path_that_a_proxy_strips(path: str) -> None:
    check_together(resolve({"public_path": path}, {}).settings)
