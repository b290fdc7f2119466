"""The shapes of bodies about keys, for the OpenAPI description."""

from __future__ import annotations

from typing import Final

from counterfoil.registry.api.openapi.shapes import Property, Shape, properties_of
from counterfoil.registry.domain.keys.validity import FIRST_VERSION
from counterfoil.schema.rest.keys import (
    CHANGEABLE,
    DEFAULT_ALGORITHM,
    DEK,
    DEK_ID,
    KEK,
    KEY_MATERIAL,
    NEW_KEK,
    Algorithm,
)
from counterfoil.schema.rest.object_forms import FLAG, INTEGER, TEXT

KEK_CHANGE: Final = Shape(
    "KekChangeBody",
    "Changes to a key encryption key: an absent field is not changed, null clears.",
    properties_of(CHANGEABLE, is_change=True),
)
KEK_TO_CREATE: Final = Shape("NewKekBody", "A key encryption key to store.", properties_of(NEW_KEK))
STORED_KEK: Final = Shape(
    "KekBody",
    "A key encryption key: its location.",
    properties_of(KEK, always=("kmsProps", "shared", "ts")),
)
DEK_TO_CREATE: Final = Shape(
    "NewDekBody",
    "A data encryption key to store.",
    (
        Property("subject", TEXT, "Required if the path has none."),
        Property("version", INTEGER, default=FIRST_VERSION),
        Property("algorithm", TEXT, " or ".join(Algorithm), default=DEFAULT_ALGORITHM.value),
        Property("encryptedKeyMaterial", TEXT, "Absent: the registry makes one, if it may use the KEK."),
        Property("deleted", FLAG),
    ),
)
STORED_DEK: Final = Shape(
    "DekBody",
    "A data encryption key, wrapped.",
    (
        *properties_of(DEK_ID),
        *properties_of(DEK, always=("ts",)),
        Property(KEY_MATERIAL, TEXT, "The unwrapped key, if the registry may use the KEK."),
    ),
)
