"""The key management services of the SDK against servers on loopback, beside confluent-kafka's drivers of the same."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.schema.errors import KeyAccessDenied, KeyServiceUnavailable, KeyWrapFailed
from counterfoil.schema.rest.keys import Kek
from counterfoil.sdk.encryption.key_services import KeyServices, LocalKeyService, VaultKeyService
from counterfoil.sdk.errors import KeyRefused, KeyUnavailable
from local_services import free_port
from strategies.encryption.key_services import (
    TOKEN,
    AwsServices,
    AzureVault,
    GoogleKms,
    Vault,
    certificate_file,
    serving,
)
from strategies.machine.late_modules import late_module

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

credentials = late_module("azure.core.credentials")
crypto = late_module("azure.keyvault.keys.crypto")
aws_driver = late_module("confluent_kafka.schema_registry.rules.encryption.awskms.aws_driver")
azure_aead = late_module("confluent_kafka.schema_registry.rules.encryption.azurekms.azure_aead")
vault_driver = late_module("confluent_kafka.schema_registry.rules.encryption.hcvault.hcvault_driver")
local_client = late_module("confluent_kafka.schema_registry.rules.encryption.localkms.local_client")
gcp_client = late_module("tink.integration.gcpkms._gcp_kms_client")
aws_keys = late_module("counterfoil.sdk.encryption.aws")
azure_keys = late_module("counterfoil.sdk.encryption.azure")
gcp_keys = late_module("counterfoil.sdk.encryption.gcp")
grpc = late_module("grpc")

PLAIN = b"\x1a\x10" + bytes(16)
ARN = "arn:aws:kms:eu-central-1:111122223333:key/1"
AWS_USER = {"access.key.id": "AKID", "secret.access.key": "very-secret"}


@pytest.fixture(scope="module", autouse=True)
def _registered() -> None:
    """Have Tink know its ciphers, as the drivers of confluent-kafka need it."""
    from tink import aead

    aead.register()


@pytest.fixture
def vault(monkeypatch: pytest.MonkeyPatch) -> Iterator[Vault]:
    for name in ("ADDR", "TOKEN", "NAMESPACE", "APPROLE_ROLE_ID", "APPROLE_SECRET_ID", "CACERT"):
        monkeypatch.delenv(f"VAULT_{name}", raising=False)
    with serving(Vault()) as server:
        yield server


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[AwsServices]:
    with serving(AwsServices()) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_KMS", server.url)
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", server.url)
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "PROFILE", "ROLE_ARN", "WEB_IDENTITY_TOKEN_FILE"):
            monkeypatch.delenv(f"AWS_{name}", raising=False)
        monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
        yield server


class Credential:
    def get_token(self, *_: Any, **__: Any) -> Any:
        return credentials.AccessToken("token", 2**33)


@pytest.fixture
def azure(tmp_path: Path) -> Iterator[tuple[AzureVault, dict[str, Any]]]:
    """The vault, and the options that its clients need since it is not Azure's."""
    certificate = certificate_file(tmp_path)
    server = AzureVault()
    server.secure(certificate)
    with serving(server):
        yield server, {"connection_verify": str(certificate), "verify_challenge_resource": False}


def test_the_local_secret_wraps_as_theirs_does(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = local_client.LocalKmsClient("s3cret").get_aead("local-kms://x")
    ours = LocalKeyService({"secret": "s3cret"})
    assert ours.unwrap("x", theirs.encrypt(PLAIN, b"")) == PLAIN
    assert theirs.decrypt(ours.wrap("x", PLAIN), b"") == PLAIN
    monkeypatch.setenv("LOCAL_SECRET", "s3cret")
    assert LocalKeyService({}).unwrap("x", ours.wrap("x", PLAIN)) == PLAIN
    with pytest.raises(KeyWrapFailed, match="another one wrapped it"):
        LocalKeyService({"secret": "other"}).unwrap("x", ours.wrap("x", PLAIN))
    monkeypatch.delenv("LOCAL_SECRET")
    with pytest.raises(KeyAccessDenied, match="LOCAL_SECRET"):
        LocalKeyService({})


def test_vault_wraps_as_theirs_does(vault: Vault) -> None:
    key_id = f"{vault.url}/transit/keys/orders"
    conf = {"token.id": TOKEN, "namespace": "ours"}
    theirs = vault_driver.HcVaultKmsDriver().new_kms_client(conf, f"hcvault://{key_id}").get_aead(f"hcvault://{key_id}")
    ours = VaultKeyService(conf)
    assert ours.unwrap(key_id, theirs.encrypt(PLAIN, b"")) == PLAIN
    assert theirs.decrypt(ours.wrap(key_id, PLAIN), b"") == PLAIN
    assert vault.asked[1] == ("/v1/transit/decrypt/orders", TOKEN, "ours")
    ours.close()


def test_vault_with_a_role(vault: Vault) -> None:
    key_id = f"{vault.url}/transit/keys/orders"
    ours = VaultKeyService({"approle.role.id": "role", "approle.secret.id": "secret"})
    for _ in range(2):
        assert ours.unwrap(key_id, ours.wrap(key_id, PLAIN)) == PLAIN
    assert [path for path, *_ in vault.asked].count("/v1/auth/approle/login") == 1
    ours.close()


def test_the_token_is_sent_to_the_vault_of_the_environment_only(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULT_ADDR", "https://vault.example:8200")
    with pytest.raises(KeyWrapFailed, match=r"expected https://vault\.example:8200/"):
        VaultKeyService({"token.id": TOKEN}).wrap(f"{vault.url}/transit/keys/orders", PLAIN)
    assert vault.asked == []


@pytest.mark.parametrize(
    ("conf", "path", "kind", "reason"),
    [
        ({"token.id": "wrong"}, "/transit/keys/orders", KeyAccessDenied, "permission denied"),
        ({}, "/transit/keys/orders", KeyAccessDenied, "VAULT_TOKEN"),
        ({"token.id": "t\u00f6ken"}, "/transit/keys/orders", KeyWrapFailed, "X-Vault-Token"),
        ({"token.id": TOKEN}, "/transit/keys/other", KeyWrapFailed, "not found"),
        ({"token.id": TOKEN}, "/transit/other", KeyWrapFailed, "transit/keys/NAME"),
        ({"token.id": TOKEN, "ssl.ca.location": "/nowhere.pem"}, "s", KeyWrapFailed, "/nowhere.pem"),
    ],
)
def test_vault_refuses(vault: Vault, conf: dict[str, str], path: str, kind: type, reason: str) -> None:
    key_id = f"{vault.url}{path}" if path.startswith("/") else f"https{vault.url[4:]}/transit/keys/orders"
    with pytest.raises(kind, match=reason) as refused:
        VaultKeyService(conf).wrap(key_id, PLAIN)
    assert not [secret for secret in conf.values() if secret in str(refused.value) and "pem" not in secret]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_vault_that_fails_may_answer_later(vault: Vault, status: int) -> None:
    vault.answer = (status, b'{"errors":["Vault is sealed"]}')
    with pytest.raises(KeyServiceUnavailable, match="sealed"):
        VaultKeyService({"token.id": TOKEN}).wrap(f"{vault.url}/transit/keys/orders", PLAIN)


def test_a_vault_that_is_not_there() -> None:
    with pytest.raises(KeyServiceUnavailable, match="did not answer"):
        VaultKeyService({"token.id": TOKEN}).wrap(f"http://127.0.0.1:{free_port()}/transit/keys/orders", PLAIN)


@pytest.mark.usefixtures("aws")
def test_aws_wraps_as_theirs_does() -> None:
    uri = f"aws-kms://{ARN}"
    theirs = aws_driver.AwsKmsDriver().new_kms_client(AWS_USER, uri).get_aead(uri)
    ours = aws_keys.AwsKeyService(AWS_USER)
    assert ours.unwrap(ARN, theirs.encrypt(PLAIN, b"")) == PLAIN
    assert theirs.decrypt(ours.wrap(ARN, PLAIN), b"") == PLAIN
    ours.close()


def test_aws_with_an_assumed_role(aws: AwsServices) -> None:
    ours = aws_keys.AwsKeyService(
        {**AWS_USER, "role.arn": "arn:aws:iam::1:role/writer-of-orders", "role.external.id": "ext"}
    )
    for _ in range(2):
        assert ours.unwrap(ARN, ours.wrap(ARN, PLAIN)) == PLAIN
    assert aws.asked[:3] == [
        ("", "AKID"),
        ("arn:aws:iam::1:role/writer-of-orders", "counterfoil", ["ext"]),
        ("TrentService.Encrypt", "ASSUMED"),
    ]
    assert len(aws.asked) == 6


@pytest.mark.parametrize(
    ("conf", "key_id", "kind", "reason"),
    [
        ({**AWS_USER, "access.key.id": "NOBODY"}, ARN, KeyAccessDenied, "no such user"),
        ({}, ARN, KeyAccessDenied, "credentials"),
        (AWS_USER, f"{ARN}9", KeyWrapFailed, "no such key"),
        (AWS_USER, "alias/orders", KeyWrapFailed, "expected an ARN"),
        ({"profile": "nobody"}, ARN, KeyWrapFailed, "nobody"),
    ],
)
@pytest.mark.usefixtures("aws")
def test_aws_refuses(conf: dict[str, str], key_id: str, kind: type, reason: str) -> None:
    with pytest.raises(kind, match=reason) as refused:
        aws_keys.AwsKeyService(conf).wrap(key_id, PLAIN)
    assert "very-secret" not in str(refused.value)


def test_aws_that_fails_may_answer_later(aws: AwsServices, monkeypatch: pytest.MonkeyPatch) -> None:
    aws.answer = (400, b'{"__type": "ThrottlingException", "message": "slow down"}')
    with pytest.raises(KeyServiceUnavailable, match="slow down"):
        aws_keys.AwsKeyService(AWS_USER).wrap(ARN, PLAIN)
    monkeypatch.setenv("AWS_ENDPOINT_URL_KMS", f"http://127.0.0.1:{free_port()}")
    with pytest.raises(KeyServiceUnavailable, match="did not answer"):
        aws_keys.AwsKeyService(AWS_USER).wrap(ARN, PLAIN)


def test_azure_wraps_as_theirs_does(azure: tuple[AzureVault, dict[str, Any]]) -> None:
    server, options = azure
    key_id = f"{server.url}/keys/orders"
    algorithm = crypto.EncryptionAlgorithm.rsa_oaep_256
    theirs = azure_aead.AzureKmsAead(crypto.CryptographyClient(key_id, Credential(), **options), algorithm)
    ours = azure_keys.AzureKeyService({}, credential=Credential(), **options)
    assert ours.unwrap(key_id, theirs.encrypt(PLAIN, b"")) == PLAIN
    assert theirs.decrypt(ours.wrap(key_id, PLAIN), b"") == PLAIN
    ours.close()


def test_azure_saves_the_version_of_the_key_as_theirs_does(azure: tuple[AzureVault, dict[str, Any]]) -> None:
    server, options = azure
    key_id = f"{server.url}/keys/orders"

    def client(version: str) -> Any:
        return crypto.CryptographyClient(f"{key_id}/{version}", Credential(), **options)

    first = "1" * 32
    algorithm = crypto.EncryptionAlgorithm.rsa_oaep_256
    theirs = azure_aead.AzureKmsAead(client(first), algorithm, lambda: (client(first), first), client)
    saving = azure_keys.AzureKeyService({"encrypt.azure.key.version.save": "true"}, credential=Credential(), **options)
    plain = azure_keys.AzureKeyService({}, credential=Credential(), **options)
    wrapped = saving.wrap(key_id, PLAIN)
    assert wrapped.startswith(b"azure:v1:" + b"2" * 32 + b":")
    assert theirs.decrypt(wrapped, b"") == PLAIN
    assert plain.unwrap(key_id, theirs.encrypt(PLAIN, b"")) == PLAIN
    assert saving.wrap(f"{key_id}/{first}", PLAIN).startswith(b"azure:v1:" + b"1" * 32 + b":")


def test_azure_refuses(azure: tuple[AzureVault, dict[str, Any]]) -> None:
    server, options = azure
    ours = azure_keys.AzureKeyService({}, credential=Credential(), **options)
    with pytest.raises(KeyWrapFailed, match="no such key"):
        ours.unwrap(f"{server.url}/keys/other", b"x" * 256)
    with pytest.raises(KeyWrapFailed, match="cannot be decrypted"):
        ours.unwrap(f"{server.url}/keys/orders", b"x" * 256)
    with pytest.raises(KeyWrapFailed, match="expected https"):
        ours.wrap("http://127.0.0.1/keys/orders", PLAIN)
    server.answer = (403, b'{"error": {"code": "Forbidden", "message": "not you"}}')
    with pytest.raises(KeyAccessDenied, match="not you"):
        ours.unwrap(f"{server.url}/keys/orders", b"x" * 256)
    away = azure_keys.AzureKeyService({}, credential=Credential(), retry_total=0, **options)
    with pytest.raises(KeyServiceUnavailable, match="did not answer"):
        away.unwrap(f"https://127.0.0.1:{free_port()}/keys/orders", b"x" * 256)


def test_google_wraps_as_theirs_does() -> None:
    service = GoogleKms()
    with service.client() as client:
        theirs = gcp_client._GcpKmsAead(client, service.key_id)
        ours = gcp_keys.GcpKeyService({}, client=client)
        assert ours.unwrap(service.key_id, theirs.encrypt(PLAIN, b"")) == PLAIN
        assert theirs.decrypt(ours.wrap(service.key_id, PLAIN), b"") == PLAIN


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("PERMISSION_DENIED", KeyAccessDenied),
        ("UNAUTHENTICATED", KeyAccessDenied),
        ("RESOURCE_EXHAUSTED", KeyServiceUnavailable),
        ("INTERNAL", KeyServiceUnavailable),
        ("FAILED_PRECONDITION", KeyWrapFailed),
    ],
)
def test_google_refuses(status: str, kind: type) -> None:
    service = GoogleKms()
    service.status = grpc.StatusCode[status]
    with service.client() as client, pytest.raises(kind, match="prepared"):
        gcp_keys.GcpKeyService({}, client=client).wrap(service.key_id, PLAIN)


def test_a_google_key_has_a_path() -> None:
    with GoogleKms().client() as client, pytest.raises(KeyWrapFailed, match="expected projects/"):
        gcp_keys.GcpKeyService({}, client=client).wrap("orders", PLAIN)


def test_the_first_id_of_a_key_that_can_be_used_is_used(vault: Vault) -> None:
    gone, there = f"{vault.url}/transit/keys/gone", f"{vault.url}/transit/keys/orders"
    services = KeyServices({"token.id": TOKEN, "encrypt.alternate.kms.key.ids": f"{gone}, {there}"})
    by_settings = Kek("k", "hcvault", gone)
    by_property = Kek("k", "hcvault", gone, {"encrypt.alternate.kms.key.ids": there})
    for kek in (by_settings, by_property):
        assert services.unwrap(kek, services.wrap(kek, PLAIN)) == PLAIN
    none = Kek("k", "hcvault", gone, {"encrypt.alternate.kms.key.ids": ""})
    with pytest.raises(
        KeyRefused, match=r"'k' \(hcvault\) cannot be used: The Vault key .*gone' .* not found"
    ) as error:
        services.wrap(none, PLAIN)
    assert error.value.kek == "k"
    services.close()


def test_a_service_that_is_away_is_told_from_one_that_refuses() -> None:
    away = f"http://127.0.0.1:{free_port()}/transit/keys/orders"
    services = KeyServices({"token.id": TOKEN})
    with pytest.raises(KeyUnavailable) as error:
        services.wrap(Kek("k", "hcvault", away), PLAIN)
    assert error.value.retryable
    with pytest.raises(KeyRefused, match="has no service for the kmsType 'acme-kms'; it has: aws-kms, azure-kms"):
        services.wrap(Kek("k", "acme-kms", "x"), PLAIN)


def test_a_service_of_another_package_is_used() -> None:
    services = KeyServices({"secret": "s"}, {"acme-kms": LocalKeyService})
    kek = Kek("k", "acme-kms", "x")
    assert services.unwrap(kek, services.wrap(kek, PLAIN)) == PLAIN


def test_threads_share_a_service(vault: Vault) -> None:
    services = KeyServices({"token.id": TOKEN})
    kek = Kek("k", "hcvault", f"{vault.url}/transit/keys/orders")
    results: list[bytes] = []

    def use() -> None:
        results.extend(services.unwrap(kek, services.wrap(kek, PLAIN)) for _ in range(5))

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [PLAIN] * 40
