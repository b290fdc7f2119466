"""The shapes of bodies about keys, for the OpenAPI description."""

from __future__ import annotations

from pydantic import Field

from counterfoil.registry.api.models import CamelShape


class KekChangeBody(CamelShape):
    """Changes to a key encryption key: an absent field stays, a null clears."""

    kms_props: dict[str, str] | None = None
    doc: str | None = None
    shared: bool | None = Field(None, description="Whether the registry wraps and unwraps with it.")


class NewKekBody(KekChangeBody):
    """A key encryption key to keep."""

    name: str
    kms_type: str = Field(description="Such as aws-kms, azure-kms, gcp-kms, hcvault, local-kms.")
    kms_key_id: str = Field(description="The key's id in the key management service.")
    deleted: bool | None = None


class KekBody(CamelShape):
    """A key encryption key: where it is."""

    name: str
    kms_type: str
    kms_key_id: str
    kms_props: dict[str, str]
    doc: str | None = None
    shared: bool
    ts: int = Field(description="When it was stored as it is, in epoch milliseconds.")
    deleted: bool | None = Field(None, description="There only when true.")


class NewDekBody(CamelShape):
    """A data encryption key to keep."""

    subject: str | None = Field(None, description="Needed where the path has none.")
    version: int = 1
    algorithm: str = Field("AES256_GCM", description="AES128_GCM, AES256_GCM or AES256_SIV.")
    encrypted_key_material: str | None = Field(None, description="Absent: the registry makes one, if it may.")
    deleted: bool | None = None


class DekBody(CamelShape):
    """A data encryption key, wrapped."""

    kek_name: str
    subject: str
    version: int
    algorithm: str
    encrypted_key_material: str
    key_material: str | None = Field(None, description="Unwrapped, where the KEK is shared.")
    ts: int = Field(description="When it was made, in epoch milliseconds.")
    deleted: bool | None = Field(None, description="There only when true.")
