"""The access file: YAML, read with the place of every mistake.

::

    file   = [ admins: [ principal, ... ] ] [ issuers: [ issuer, ... ] ] [ users: { name: hash, ... } ]
             [ htpasswd: path ] [ groups: { name: [ User:NAME | Service:NAME, ... ], ... } ]
             [ roles: { name: [ operation, ... ], ... } ] [ rules: [ rule, ... ] ]
             [ anonymous: [ rule without to, ... ] ] [ open: [ metrics | openapi | badges, ... ] ] [ proxy: proxy ]
    rule   = { allow | deny: role | [ operation | role, ... ], to: principals, on: resources }
    issuer = { issuer, audience, [ prefix ], [ algorithms ], [ jwks_url | jwks_file ], [ ca_file ], [ leeway_s ],
               [ max_lifetime_s ], [ jwks_stale_s ], [ require_at_jwt ], [ required_claims ], [ principal_claim ],
               [ groups_claims ] }
    proxy  = { addresses: [ CIDR, ... ], [ user_header ], [ groups_header ], [ prefix ],
               [ secret_header, secret_file ] }
    hash   = text | { algorithm, salt, password_hash }      # as in Karapace's file
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.registry.auth.errors import InvalidAccessFile
from counterfoil.registry.auth.file.issuers import read_issuer
from counterfoil.registry.auth.file.model import AccessFile, Place
from counterfoil.registry.auth.file.nodes import listed, one_or_more, principal
from counterfoil.registry.auth.file.rules import read_roles, read_rules
from counterfoil.registry.auth.file.snapshot import Snapshot
from counterfoil.registry.auth.passwords.hashes import InvalidHash, karapace_hash, parse_hash
from counterfoil.registry.auth.passwords.htpasswd import read_htpasswd
from counterfoil.registry.auth.passwords.verifier import StoredUser
from counterfoil.registry.auth.proxy import TrustedProxy, parse_networks
from counterfoil.registry.domain.access.names import GROUP, SERVICE, USER, is_name, is_user_name
from counterfoil.schema.documents.blocks import block, likely, refusal, text_of, words
from counterfoil.schema.documents.nodes import InvalidDocument, MappingNode
from counterfoil.schema.documents.yaml_reader import read_yaml
from counterfoil.schema.position import Position

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from counterfoil.registry.auth.jwt.issuers import Issuer
    from counterfoil.registry.auth.passwords.hashes import PasswordHash
    from counterfoil.schema.documents.nodes import Node

MAX_BYTES: Final = 1024 * 1024
_MIN_SECRET: Final = 16
OPEN_PATHS: Final = {"metrics": b"/metrics", "openapi": b"/openapi.json", "badges": b"/contracts/v1/badges/"}
_KEYS: Final = (
    "admins",
    "issuers",
    "users",
    "htpasswd",
    "groups",
    "roles",
    "rules",
    "anonymous",
    "open",
    "proxy",
)


def load_access_file(path: Path, files: Snapshot | None = None, *, certificate_prefix: str | None = None) -> AccessFile:
    """Return what the file at ``path`` declares, with the files that it names; raise ``InvalidAccessFile``.

    ``certificate_prefix`` is that of the names in certificates, if these name callers.
    """
    snapshot = Snapshot() if files is None else files
    data = snapshot.read(path, most=MAX_BYTES)
    try:
        return _read(data.decode(), path, snapshot, certificate_prefix)
    except UnicodeDecodeError:
        raise InvalidAccessFile(str(path), "the file is not UTF-8") from None
    except InvalidDocument as mistake:
        raise InvalidAccessFile(str(path), mistake.problem, position=mistake.position) from None


def _read(text: str, path: Path, files: Snapshot, certificate_prefix: str | None) -> AccessFile:
    root = read_yaml(text, aliases=False)
    if root is None:
        raise InvalidDocument(f"the file is empty; it has {', '.join(_KEYS)}")
    top = block(root, what="the access file", optional=_KEYS)
    issuers = _issuers(top, path.parent)
    proxy = _proxy(top.entries["proxy"], path.parent, files) if "proxy" in top.entries else None
    users, places = _users(top, path, files)
    groups = _groups(top, path, places)
    _check_prefixes(top, issuers, proxy, certificate_prefix)
    rules = read_rules(top, roles := read_roles(top), str(path))
    return AccessFile(
        path=path,
        admins=tuple(rule.principal for rule in rules if rule.is_final),
        issuers=issuers,
        users=users,
        groups=groups,
        roles=roles,
        rules=rules,
        open_paths=frozenset(_open(node) for node in listed(top, "open")),
        proxy=proxy,
        certificate_prefix=certificate_prefix,
        places=places,
        states=files.states,
    )


def _issuers(top: MappingNode, folder: Path) -> tuple[Issuer, ...]:
    found: dict[str, Issuer] = {}
    for node in listed(top, "issuers"):
        issuer = read_issuer(node, folder)
        if issuer.name in found:
            raise refusal(f"{issuer.name} is an issuer twice; keep one of them", node)
        found[issuer.name] = issuer
    return tuple(found.values())


def _users(top: MappingNode, path: Path, files: Snapshot) -> tuple[Mapping[str, StoredUser], dict[str, Place]]:
    users: dict[str, StoredUser] = {}
    places: dict[str, Place] = {}
    for name, node, position in _named(top, "users"):
        if not is_user_name(name):
            raise InvalidDocument(f"{name} has a meaning of its own in rules; take another name", position)
        users[name] = StoredUser(name, _hash(node, name))
        places[USER + name] = Place(str(path), position)
    if "htpasswd" not in top.entries:
        return users, places
    other = path.parent / words(top.entries["htpasswd"], what="htpasswd")
    for line in read_htpasswd(files.read(other), path=str(other)):
        position = Position(line.line, 1)
        if line.name in users:
            raise InvalidAccessFile(str(other), f"{line.name} is also one of the users in {path}", position=position)
        users[line.name] = StoredUser(line.name, line.stored, line.is_disabled)
        places[USER + line.name] = Place(str(other), position)
    return users, places


def _groups(top: MappingNode, path: Path, places: dict[str, Place]) -> dict[str, frozenset[str]]:
    groups: dict[str, frozenset[str]] = {}
    for name, node, position in _named(top, "groups"):
        members = listed(MappingNode(node.position, {name: node}, {}), name)
        groups[GROUP + name] = frozenset(
            principal(member, what=f"a member of {name}", words_allowed=(USER, SERVICE)) for member in members
        )
        places[GROUP + name] = Place(str(path), position)
    return groups


def _named(top: MappingNode, key: str) -> Iterable[tuple[str, Node, Position]]:
    """Yield the names of a mapping's keys, with values and positions."""
    node = top.entries.get(key)
    if node is None:
        return
    if not isinstance(node, MappingNode):
        raise refusal(f"{key} must be a mapping of names", node)
    for name, value in node.entries.items():
        if not is_name(name):
            raise InvalidDocument("a name must have 1 to 256 printable characters", node.key_positions[name])
        yield name, value, node.key_positions[name]


def _hash(node: Node, name: str) -> PasswordHash:
    try:
        if not isinstance(node, MappingNode):
            return parse_hash(text_of(node))
        keys = ("algorithm", "salt", "password_hash")
        entry = block(node, what=f"the hash of {name}", required=keys).entries
        return karapace_hash(*(text_of(entry[key]) for key in keys))
    except InvalidHash as mistake:
        raise refusal(f"{name}: {mistake}", node) from None


def _open(node: Node) -> bytes:
    text = text_of(node)
    if text not in OPEN_PATHS:
        raise refusal(f"{text or 'this'} cannot be open; {likely(text, OPEN_PATHS)}", node)
    return OPEN_PATHS[text]


def _proxy(node: Node, folder: Path, files: Snapshot) -> TrustedProxy:
    optional = ("user_header", "groups_header", "secret_header", "secret_file", "prefix")
    entry = block(node, what="proxy", required=("addresses",), optional=optional).entries
    try:
        networks = parse_networks(one_or_more(entry["addresses"], what="addresses"))
    except ValueError as mistake:
        raise refusal(f"addresses must be networks such as 10.0.0.0/8: {mistake}", entry["addresses"]) from None
    headers = {key: _header(entry[key], key) for key in optional[:3] if key in entry}
    if ("secret_header" in entry) != ("secret_file" in entry):
        raise refusal("secret_header and secret_file belong together", node)
    secret = None
    if "secret_file" in entry:
        secret = _secret(folder / words(entry["secret_file"], what="secret_file"), files)
    elif not all(network.is_loopback for network in networks):
        raise refusal("a proxy that is not on loopback needs secret_header and secret_file", node)
    prefix = text_of(entry["prefix"]) if "prefix" in entry else ""
    return TrustedProxy(networks, secret=secret, prefix=prefix, **headers)


def _secret(path: Path, files: Snapshot) -> str:
    text = files.read(path).strip()
    if len(text) < _MIN_SECRET or not text.isascii():
        raise InvalidAccessFile(
            str(path), f"the secret of a proxy must have at least {_MIN_SECRET} characters of ASCII"
        )
    return text.decode()


def _header(node: Node, what: str) -> str:
    text = words(node, what=what).lower()
    if not text.replace("-", "").isalnum() or not text.isascii():
        raise refusal(f"{what} must be the name of a header, of letters, digits and hyphens", node)
    return text


def _check_prefixes(
    top: MappingNode, issuers: tuple[Issuer, ...], proxy: TrustedProxy | None, certificate_prefix: str | None
) -> None:
    """Raise where two sources of names have no prefix, so that they could give the same name."""
    sources: list[tuple[str, Node]] = [("users and htpasswd", top)] if {"users", "htpasswd"} & set(top.entries) else []
    sources += [
        (issuer.name, node) for issuer, node in zip(issuers, listed(top, "issuers"), strict=True) if not issuer.prefix
    ]
    if proxy is not None and not proxy.prefix:
        sources.append(("the proxy", top.entries["proxy"]))
    if sources and certificate_prefix == "":
        name, node = sources[0]
        raise refusal(f"client certificates could give the same names as {name}; set tls_principal_prefix", node)
    if len(sources) > 1:
        (first, _), (second, node), *_ = sources
        raise refusal(f"{second} could give the same names as {first}; set a prefix, such as prefix: 'sso:'", node)
