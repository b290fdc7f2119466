"""The routes under ``/dek-registry``, as a table."""

from __future__ import annotations

from typing import Final

from counterfoil.registry.api.keys import operations as keys
from counterfoil.registry.api.keys.models import DekBody, KekBody, KekChangeBody, NewDekBody, NewKekBody
from counterfoil.registry.api.routes import Route

_KEKS: Final = "/dek-registry/v1/keks"
_KEK: Final = f"{_KEKS}/{{name}}"
_DEKS: Final = f"{_KEK}/deks"
_DEK: Final = f"{_DEKS}/{{subject}}"
_VERSIONS: Final = f"{_DEK}/versions"
_VERSION: Final = f"{_VERSIONS}/{{version}}"
_PAGE: Final = ("offset", "limit")
_TAG: Final = "keys"
_DELETION: Final = ("algorithm", "permanent")

KEY_ROUTES: Final[tuple[Route, ...]] = (
    Route("GET", _KEKS, keys.list_keks, _TAG, ("subjectPrefix", "deleted", *_PAGE), None, list[str]),
    Route("POST", _KEKS, keys.create_kek, _TAG, ("testSharing",), NewKekBody, KekBody),
    Route("GET", _KEK, keys.get_kek, _TAG, ("deleted",), None, KekBody),
    Route("PUT", _KEK, keys.change_kek, _TAG, ("testSharing",), KekChangeBody, KekBody),
    Route("DELETE", _KEK, keys.delete_kek, _TAG, ("permanent",)),
    Route("POST", f"{_KEK}/undelete", keys.undelete_kek, _TAG),
    Route("POST", f"{_KEK}/test", keys.test_kek, _TAG, (), None, KekBody),
    Route("GET", _DEKS, keys.list_dek_subjects, _TAG, ("deleted", *_PAGE), None, list[str]),
    Route("POST", _DEKS, keys.create_dek_of_body, _TAG, ("rewrap",), NewDekBody, DekBody),
    Route("GET", _DEK, keys.get_dek, _TAG, ("algorithm", "deleted"), None, DekBody),
    Route("POST", _DEK, keys.create_dek, _TAG, ("rewrap",), NewDekBody, DekBody),
    Route("DELETE", _DEK, keys.delete_deks, _TAG, _DELETION),
    Route("POST", f"{_DEK}/undelete", keys.undelete_deks, _TAG, ("algorithm",)),
    Route("GET", _VERSIONS, keys.list_dek_versions, _TAG, ("algorithm", "deleted", *_PAGE), None, list[int]),
    Route("GET", _VERSION, keys.get_dek_version, _TAG, ("algorithm", "deleted"), None, DekBody),
    Route("DELETE", _VERSION, keys.delete_dek_version, _TAG, _DELETION),
    Route("POST", f"{_VERSION}/undelete", keys.undelete_dek_version, _TAG, ("algorithm",)),
)
