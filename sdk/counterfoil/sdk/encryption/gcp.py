"""``gcp-kms``: Google Cloud KMS; the id of a key is ``projects/…/locations/…/keyRings/…/cryptoKeys/…``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from google.api_core.exceptions import (
    DeadlineExceeded,
    Forbidden,
    GoogleAPIError,
    RetryError,
    ServerError,
    TooManyRequests,
    Unauthorized,
)
from google.auth.exceptions import GoogleAuthError, TransportError
from google.cloud import kms_v1
from google.oauth2 import service_account

from counterfoil.schema.errors import KeyAccessDenied, KeyServiceUnavailable, KeyWrapFailed
from counterfoil.sdk.encryption.key_services import READ_TIMEOUT_S, malformed

T = TypeVar("T")

_ID: Final = re.compile(r"projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+(?:/cryptoKeyVersions/[^/]+)?")
_ACCOUNT: Final = ("client.id", "client.email", "private.key.id", "private.key")
_TOKEN_URI: Final = "https://oauth2.googleapis.com/token"  # noqa: S105 - an address, no token


class GcpKeyService:
    """Wraps with Google Cloud KMS.

    The settings are those of Confluent's clients: ``client.id``, ``client.email``, ``private.key.id``, ``private.key``
    and ``token.uri`` of a service account; without them Google's default credentials. ``client`` is for programs that
    make the service themselves.
    """

    def __init__(self, conf: Mapping[str, str], *, client: kms_v1.KeyManagementServiceClient | None = None) -> None:
        try:
            self._client = client or kms_v1.KeyManagementServiceClient(credentials=_credentials_of(conf))
        except (GoogleAuthError, ValueError) as error:
            raise KeyAccessDenied(f"There are no usable credentials for Google Cloud KMS: {error}") from None

    def wrap(self, key_id: str, plain: bytes) -> bytes:
        """Return ``plain`` encrypted."""
        request = {"name": _checked(key_id), "plaintext": plain}
        return bytes(_answer(key_id, lambda: self._client.encrypt(request=request, timeout=READ_TIMEOUT_S).ciphertext))

    def unwrap(self, key_id: str, wrapped: bytes) -> bytes:
        """Decrypt a wrapped key."""
        request = {"name": _checked(key_id), "ciphertext": wrapped}
        return bytes(_answer(key_id, lambda: self._client.decrypt(request=request, timeout=READ_TIMEOUT_S).plaintext))

    def close(self) -> None:
        """Close the connections."""
        self._client.transport.close()  # type: ignore[no-untyped-call] # it has no annotation


def _answer(key_id: str, call: Callable[[], T]) -> T:
    """Return the result of a call of Google's client, with our errors instead of its own."""
    about = f"the Google key {key_id[:200]!r}"
    try:
        return call()
    except (Forbidden, Unauthorized) as error:
        raise KeyAccessDenied(f"{about} is refused to this program: {error.message}") from None
    except (ServerError, TooManyRequests, DeadlineExceeded, RetryError, TransportError) as error:
        raise KeyServiceUnavailable(f"Google Cloud KMS did not answer for {about}: {error}") from None
    except GoogleAuthError as error:
        raise KeyAccessDenied(f"There are no usable credentials for {about}: {error}") from None
    except GoogleAPIError as error:
        raise KeyWrapFailed(f"{about} cannot be used: {error}") from None


def _checked(key_id: str) -> str:
    if _ID.fullmatch(key_id) is None:
        raise malformed(key_id, "projects/…/locations/…/keyRings/…/cryptoKeys/…")
    return key_id


def _credentials_of(conf: Mapping[str, str]) -> service_account.Credentials | None:
    held = {name.replace(".", "_"): conf[name] for name in _ACCOUNT if conf.get(name)}
    if len(held) < len(_ACCOUNT):
        return None
    info = {"type": "service_account", "token_uri": conf.get("token.uri") or _TOKEN_URI, **held}
    return service_account.Credentials.from_service_account_info(info)
