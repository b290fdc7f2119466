"""One configuration of Kafka clients for librdkafka and for Java: both spellings, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import pytest
from click.testing import CliRunner

from counterfoil.sdk.commands.options import kafka_options
from counterfoil.sdk.errors import InvalidSettings
from counterfoil.sdk.kafka import KafkaAccess, read_properties
from strategies.access.certificates import Authority

if TYPE_CHECKING:
    from pathlib import Path

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
SECRET = 'p"w\\d;ü'
JAAS = f'{SCRAM} required username="ride" password="p\\"w\\\\d;ü";'
LOGIN = {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512"}


def java(settings: dict[str, str]) -> dict[str, str]:
    found = KafkaAccess("kafka:9092", settings).java_settings()
    assert found.pop("bootstrap.servers") == "kafka:9092"
    return found


def librdkafka(settings: dict[str, str]) -> dict[str, Any]:
    found = KafkaAccess("kafka:9092", settings).client_settings()
    assert (found.pop("bootstrap.servers"), found.pop("log_level")) == ("kafka:9092", 0)
    return found


def test_a_login_is_translated_both_ways() -> None:
    as_java = {**LOGIN, "sasl.jaas.config": JAAS, "ssl.endpoint.identification.algorithm": ""}
    as_librdkafka = {
        **LOGIN, "sasl.username": "ride", "sasl.password": SECRET, "ssl.endpoint.identification.algorithm": "none",
    }  # fmt: skip
    for given in (as_java, as_librdkafka):
        assert (java(given), librdkafka(given)) == (as_java, as_librdkafka)
    plain = {"security.protocol": "sasl_plaintext", "sasl.mechanisms": "PLAIN", "sasl.username": "a", "client.id": "c"}
    assert java({**plain, "sasl.password": "b"}) == {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "client.id": "c",
        "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'username="a" password="b";',
    }


def test_certificates_are_read_from_files_so_that_other_machines_can_use_them(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.issue("bridge")
    store = tmp_path / "store.pem"
    store.write_bytes(key.read_bytes() + certificate.read_bytes())
    as_java = {
        "ssl.truststore.type": "PEM", "ssl.truststore.location": str(authority.file),
        "ssl.keystore.type": "PEM", "ssl.keystore.location": str(store), "ssl.key.password": "x",
    }  # fmt: skip
    as_librdkafka = {
        "ssl.ca.location": str(authority.file), "ssl.certificate.location": str(certificate),
        "ssl.key.location": str(key), "ssl.key.password": "x",
    }  # fmt: skip
    inline = {
        "ssl.truststore.certificates": authority.file.read_text(), "ssl.truststore.type": "PEM",
        "ssl.keystore.certificate.chain": certificate.read_text(), "ssl.keystore.type": "PEM",
        "ssl.keystore.key": key.read_text(), "ssl.key.password": "x",
    }  # fmt: skip
    in_one_line = {name: value.replace("\n", "") for name, value in inline.items()}
    for given in (as_java, as_librdkafka, inline, in_one_line):
        assert java(given) == inline
        portable = KafkaAccess("kafka:9092", given).with_files_read()
        assert portable.client_settings()["ssl.key.pem"] == key.read_text()
        assert portable.client_settings()["ssl.certificate.pem"] == certificate.read_text()
    both = dict.fromkeys(("ssl.certificate.location", "ssl.key.location"), str(store))
    assert librdkafka(as_java) == {**as_librdkafka, **both}


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"ssl.truststore.location": "trust.jks"}, "ssl.truststore.location"),
        ({"ssl.truststore.type": "JKS", "ssl.truststore.location": "trust.jks"}, "ssl.truststore.type"),
        ({"ssl.keystore.location": "store.p12", "ssl.keystore.password": SECRET}, "ssl.keystore.location"),
        ({"ssl.ca.location": "missing.pem"}, "ssl.ca.location"),
        ({"ssl.ca.pem": SECRET}, "ssl.ca.pem"),
        ({"enable.ssl.certificate.verification": "false"}, "enable.ssl.certificate.verification"),
        ({"group.id": "mine"}, "group.id"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "GSSAPI"}, "sasl.mechanism"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "a"}, "sasl.mechanism"),
        ({"sasl.jaas.config": JAAS}, "sasl.jaas.config"),
        ({**LOGIN, "sasl.jaas.config": JAAS.removesuffix(";")}, "sasl.jaas.config"),
        ({**LOGIN, "sasl.jaas.config": f"{SCRAM} required password={SECRET[1:3]};"}, "sasl.jaas.config"),
        ({**LOGIN, "sasl.jaas.config": f"com.example.Login required password='{SECRET}';"}, "sasl.jaas.config"),
    ],
)
def test_what_not_both_clients_have_is_named_without_its_value(settings: dict[str, str], named: str) -> None:
    with pytest.raises(InvalidSettings, match=named.replace(".", r"\.")) as refusal:
        java(settings)
    assert refusal.value.setting == named
    assert SECRET not in str(refusal.value)


def test_a_key_that_java_cannot_read_is_named_with_the_command_that_converts_it() -> None:
    block = "-----BEGIN {0}-----\nAAAA\n-----END {0}-----\n"
    settings = {"ssl.certificate.pem": block.format("CERTIFICATE"), "ssl.key.pem": block.format("RSA PRIVATE KEY")}
    with pytest.raises(InvalidSettings, match="openssl pkcs8 -topk8"):
        java(settings)
    with pytest.raises(InvalidSettings, match="a key a certificate"):
        java({"ssl.key.pem": block.format("PRIVATE KEY")})


def test_settings_of_librdkafka_alone_are_passed_to_it_unchanged() -> None:
    own = {"ssl.keystore.location": "store.p12", "ssl.ca.location": "probe", "fetch.min.bytes": "1"}
    assert librdkafka(own) == own


def test_secrets_are_not_in_repr() -> None:
    assert SECRET not in repr(KafkaAccess("kafka:9092", {"sasl.password": SECRET}))


def test_a_properties_file_is_read_as_java_reads_it() -> None:
    text = (
        "# a comment\n! another \\\nsecurity.protocol = SASL_SSL\r\nsasl.mechanism:PLAIN\nclient.id name\n"
        '  sasl.jaas.config=A required \\\n    username="u" \\\n   password="a\\\\b\\u00fc\\t";\n\n'
        "odd\\=name=x\\\\\nempty=\nlast=1\nlast=2\\"
    )
    assert read_properties(text) == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "client.id": "name",
        "sasl.jaas.config": 'A required username="u" password="a\\bü\t";',
        "odd=name": "x\\",
        "empty": "",
        "last": "2",
    }


def test_options_replace_the_file_and_the_file_may_have_the_addresses(tmp_path: Path) -> None:
    seen: list[KafkaAccess | None] = []

    @click.command()
    @kafka_options
    def command(kafka: KafkaAccess | None) -> None:
        seen.append(kafka)

    file, password = tmp_path / "client.properties", tmp_path / "password"
    file.write_text("bootstrap.servers=file:1\nsasl.username=a\nsasl.password=b\n")
    password.write_text("from a file\n")
    run = CliRunner().invoke
    for arguments in ([], ["--kafka-config", str(file)], ["--bootstrap-servers", "option:1"]):
        assert run(command, arguments).exit_code == 0
    arguments = ["--bootstrap-servers", "option:1", "--client-setting", f"sasl.password=@{password}"]
    assert run(command, arguments, env={"COUNTERFOIL_KAFKA_CONFIG": str(file)}).exit_code == 0
    assert seen == [
        None,
        KafkaAccess("file:1", {"sasl.username": "a", "sasl.password": "b"}),
        KafkaAccess("option:1"),
        KafkaAccess("option:1", {"sasl.username": "a", "sasl.password": "from a file"}),
    ]
    file.write_bytes(b"\xff")
    assert "is not UTF-8 text" in run(command, ["--kafka-config", str(file)]).output
