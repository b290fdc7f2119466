"""The issuers of an access file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.auth.file.nodes import one_or_more, whole
from counterfoil.registry.auth.jwt.fetching import is_trusted_address
from counterfoil.registry.auth.jwt.issuers import ALGORITHMS, MAX_LEEWAY_S, Issuer
from counterfoil.schema.documents.blocks import block, flag, refusal, text_of, words
from counterfoil.schema.documents.nodes import MappingNode

if TYPE_CHECKING:
    from pathlib import Path

    from counterfoil.schema.documents.nodes import Node

_MAX_SECONDS: Final = 366 * 86_400
_TEXTS: Final = ("principal_claim",)
_LISTS: Final = ("audience", "algorithms", "groups_claims")
_NUMBERS: Final = {"leeway_s": MAX_LEEWAY_S, "max_lifetime_s": _MAX_SECONDS, "jwks_stale_s": _MAX_SECONDS}


def read_issuer(node: Node, folder: Path) -> Issuer:
    """Return one entry of ``issuers``; paths in it are relative to ``folder``."""
    optional = ("prefix", "algorithms", "jwks_url", "jwks_file", "ca_file", "require_at_jwt", "required_claims")
    entry = block(
        node,
        what="an issuer",
        required=("issuer", "audience"),
        optional=(*optional, *_TEXTS, "groups_claims", *_NUMBERS),
    ).entries
    given: dict[str, Any] = {"name": words(entry["issuer"], what="issuer")}
    given |= {key: words(entry[key], what=key) for key in _TEXTS if key in entry}
    given |= {key: one_or_more(entry[key], what=key) for key in _LISTS if key in entry}
    given |= {key: whole(entry[key], what=key, most=most) for key, most in _NUMBERS.items() if key in entry}
    given |= {key: str(folder / words(entry[key], what=key)) for key in ("jwks_file", "ca_file") if key in entry}
    if "prefix" in entry:
        given["prefix"] = text_of(entry["prefix"])
    if "require_at_jwt" in entry:
        given["require_at_jwt"] = flag(entry["require_at_jwt"], what="require_at_jwt")
    if "required_claims" in entry:
        given["required_claims"] = _claims(entry["required_claims"])
    if "jwks_url" in entry:
        given["jwks_url"] = _trusted(entry["jwks_url"], "jwks_url")
    _check(given, entry)
    return Issuer(**given)


def _check(given: dict[str, Any], entry: Any) -> None:
    if "jwks_url" in entry and "jwks_file" in entry:
        raise refusal("an issuer has jwks_url or jwks_file; remove one of them", entry["jwks_file"])
    if "jwks_url" not in entry and "jwks_file" not in entry:
        _trusted(entry["issuer"], "issuer, whose keys are found by its address,")
    for algorithm in given.get("algorithms", ()):
        if algorithm not in ALGORITHMS:
            raise refusal(f"algorithms may be {', '.join(ALGORITHMS)}, not {algorithm}", entry["algorithms"])


def _trusted(node: Node, what: str) -> str:
    address = words(node, what=what)
    if not is_trusted_address(address):
        raise refusal(f"{what} must begin with https:// (http:// for an address of loopback)", node)
    return address


def _claims(node: Node) -> dict[str, str]:
    if not isinstance(node, MappingNode):
        raise refusal("required_claims must be a mapping of claims to texts", node)
    return {name: words(value, what=f"the claim {name}") for name, value in node.entries.items()}
