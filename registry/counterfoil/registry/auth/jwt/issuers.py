"""What is configured of one issuer of JWTs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

ALGORITHMS: Final = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
)
"""What an issuer may sign with: signatures with a private key. ``none`` and HS256 to HS512 can never be listed."""

MAX_LEEWAY_S: Final = 300


@dataclass(frozen=True, slots=True)
class Issuer:
    """One issuer: ``name`` is its ``iss``, exactly; ``prefix`` stands before its names of users and groups.

    Its keys are at ``jwks_url``, in ``jwks_file``, or where its discovery document says.
    """

    name: str
    audience: tuple[str, ...]
    prefix: str = ""
    algorithms: tuple[str, ...] = ALGORITHMS
    jwks_url: str | None = None
    jwks_file: str | None = None
    jwks_stale_s: int = 86_400
    ca_file: str | None = None
    leeway_s: int = 30
    max_lifetime_s: int = 86_400
    require_at_jwt: bool = False
    required_claims: Mapping[str, str] = field(default_factory=dict)
    principal_claim: str = "sub"
    groups_claims: tuple[str, ...] = ()
