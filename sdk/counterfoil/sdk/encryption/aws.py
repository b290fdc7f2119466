"""``aws-kms``: AWS Key Management Service; the id of a key is its ARN."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from threading import Lock
from typing import Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    HTTPClientError,
    NoCredentialsError,
    PartialCredentialsError,
)
from botocore.exceptions import ConnectionError as NoConnection

from counterfoil.schema.errors import KeyAccessDenied, KeyServiceUnavailable, KeyWrapFailed
from counterfoil.sdk.encryption.key_services import CONNECT_TIMEOUT_S, READ_TIMEOUT_S, malformed

_ARN_PARTS: Final = 6
_REFUSALS: Final = frozenset(
    {
        "AccessDeniedException",
        "ExpiredTokenException",
        "IncompleteSignature",
        "InvalidClientTokenId",
        "NotAuthorized",
        "UnrecognizedClientException",
    }
)
_TEMPORARY: Final = frozenset(
    {
        "DependencyTimeoutException",
        "KMSInternalException",
        "KeyUnavailableException",
        "RequestLimitExceeded",
        "ServiceUnavailable",
        "Throttling",
        "ThrottlingException",
    }
)
_NO_CREDENTIALS: Final = (NoCredentialsError, PartialCredentialsError, CredentialRetrievalError)
_RENEWED_BEFORE_S: Final = 300.0
_CONFIG: Final = Config(
    connect_timeout=CONNECT_TIMEOUT_S,
    read_timeout=READ_TIMEOUT_S,
    retries={"mode": "standard", "total_max_attempts": 2},
)


class AwsKeyService:
    """Wraps with AWS KMS.

    The settings are those of Confluent's clients: ``access.key.id`` and ``secret.access.key``, or ``profile``, else the
    usual sources of boto3; ``role.arn``, ``role.session.name`` and ``role.external.id`` (or ``AWS_ROLE_ARN`` and so on)
    name a role to assume. ``AWS_ENDPOINT_URL_KMS`` is another address of the service, as for all programs with boto3.
    """

    def __init__(self, conf: Mapping[str, str]) -> None:
        self._conf = conf
        self._clients: dict[str, tuple[Any, float]] = {}
        self._lock = Lock()

    def wrap(self, key_id: str, plain: bytes) -> bytes:
        """Return ``plain`` encrypted."""
        return self._call("encrypt", "CiphertextBlob", key_id, Plaintext=plain)

    def unwrap(self, key_id: str, wrapped: bytes) -> bytes:
        """Decrypt a wrapped key."""
        return self._call("decrypt", "Plaintext", key_id, CiphertextBlob=wrapped)

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            clients, self._clients = self._clients, {}
        for client, _ in clients.values():
            client.close()

    def _call(self, action: str, result: str, key_id: str, **content: bytes) -> bytes:
        try:
            answer: dict[str, bytes] = getattr(self._client(key_id), action)(KeyId=key_id, **content)
        except ClientError as error:
            raise _error_of(key_id, error) from None
        except _NO_CREDENTIALS as error:
            raise KeyAccessDenied(f"There are no credentials for the AWS key {key_id[:200]!r}: {error}") from None
        except (NoConnection, HTTPClientError) as error:
            raise KeyServiceUnavailable(f"AWS KMS did not answer for {key_id[:200]!r}: {error}") from None
        except BotoCoreError as error:
            raise KeyWrapFailed(f"The AWS key {key_id[:200]!r} cannot be used: {error}") from None
        return answer[result]

    def _client(self, key_id: str) -> Any:
        """Return the client of the key's region; with an assumed role it is renewed before the role expires."""
        region = _region_of(key_id)
        with self._lock:
            client, expires_s = self._clients.get(region, (None, 0.0))
            if client is None or time.time() > expires_s - _RENEWED_BEFORE_S:
                client, expires_s = self._clients[region] = self._connect(region)
            return client

    def _connect(self, region: str) -> tuple[Any, float]:
        session = self._session(region)
        role = self._setting("role.arn", "AWS_ROLE_ARN")
        if role is None or os.environ.get("AWS_WEB_IDENTITY_TOKEN_FILE"):  # boto3 assumes the role of such a token
            return session.client("kms", config=_CONFIG), float("inf")
        request = {
            "RoleArn": role,
            "RoleSessionName": self._setting("role.session.name", "AWS_ROLE_SESSION_NAME") or "counterfoil",
        }
        external_id = self._setting("role.external.id", "AWS_ROLE_EXTERNAL_ID")
        if external_id is not None:
            request["ExternalId"] = external_id
        assumed = session.client("sts", config=_CONFIG).assume_role(**request)["Credentials"]
        client = session.client(
            "kms",
            config=_CONFIG,
            aws_access_key_id=assumed["AccessKeyId"],
            aws_secret_access_key=assumed["SecretAccessKey"],
            aws_session_token=assumed["SessionToken"],
        )
        return client, assumed["Expiration"].timestamp()

    def _session(self, region: str) -> Any:
        key, secret = self._conf.get("access.key.id"), self._conf.get("secret.access.key")
        if key and secret:
            return boto3.Session(region_name=region, aws_access_key_id=key, aws_secret_access_key=secret)
        return boto3.Session(region_name=region, profile_name=self._conf.get("profile"))

    def _setting(self, name: str, variable: str) -> str | None:
        return self._conf.get(name) or os.environ.get(variable) or None


def _region_of(key_id: str) -> str:
    parts = key_id.split(":")
    if len(parts) < _ARN_PARTS or not parts[3]:
        raise malformed(key_id, "an ARN such as arn:aws:kms:us-west-2:111122223333:key/1234abcd-…")
    return parts[3]


def _error_of(key_id: str, error: ClientError) -> KeyWrapFailed | KeyAccessDenied:
    found = error.response.get("Error", {})
    code = str(found.get("Code", ""))
    text = f"{code}: {found.get('Message', 'it did not say why')}"
    if code in _REFUSALS:
        return KeyAccessDenied(f"The AWS key {key_id[:200]!r} is refused to this program: {text}")
    kind = KeyServiceUnavailable if code in _TEMPORARY else KeyWrapFailed
    return kind(f"The AWS key {key_id[:200]!r} cannot be used: {text}")
