"""The access file: YAML, read with the place of every mistake.

Its grammar::

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

from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.access.file.values import (
    ALGORITHMS,
    MAX_LEEWAY_S,
    AccessFile,
    FileSnapshot,
    InvalidAccessFile,
    Issuer,
    PlaceInFile,
    read_htpasswd,
)
from counterfoil.registry.access.identities.hashes import InvalidHash, karapace_hash, parse_hash
from counterfoil.registry.access.identities.issuers import is_trusted_address
from counterfoil.registry.access.identities.passwords import StoredUser
from counterfoil.registry.access.identity import TrustedProxy, parse_networks
from counterfoil.registry.access.resources import ALIASES, ROLES, AccessOperation
from counterfoil.registry.access.rules import (
    ANONYMOUS,
    EVERYBODY,
    GROUP,
    SERVICE,
    USER,
    AccessRule,
    InvalidPattern,
    ResourcePattern,
    administrator,
    is_name,
    is_user_name,
    parse_pattern,
)
from counterfoil.schema.caches import cached_if_short
from counterfoil.schema.documents import (
    InvalidDocument,
    ListNode,
    MappingNode,
    ScalarNode,
    YamlKind,
    block,
    flag,
    likely,
    refusal,
    text_of,
    words,
)
from counterfoil.schema.documents.yaml_reader import read_yaml
from counterfoil.schema.texts import Position

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from counterfoil.registry.access.identities.hashes import PasswordHash
    from counterfoil.schema.documents import Node


# Reading the values of an access file that several of its parts have.

_WORDS: Final = (USER, SERVICE, GROUP)


def each(node: Node) -> Sequence[Node]:
    """Return the items of a list, or the one value that stands without a list."""
    return node.items if isinstance(node, ListNode) else (node,)


def one_or_more(node: Node, *, what: str) -> tuple[str, ...]:
    """Return a text, or the texts of a list that is not empty."""
    found = tuple(words(item, what=what) for item in each(node))
    if not found:
        raise refusal(f"{what} must have at least one text", node)
    return found


def whole(node: Node, *, what: str, most: int) -> int:
    """Return a whole number from 0 to ``most``."""
    value = node.value if isinstance(node, ScalarNode) and node.kind is YamlKind.INTEGER else None
    if not isinstance(value, int) or not 0 <= value <= most:
        raise refusal(f"{what} must be a whole number from 0 to {most}, not {text_of(node) or 'this'}", node)
    return value


def principal(node: Node, *, what: str, words_allowed: tuple[str, ...] = _WORDS) -> str:
    """Return a principal such as ``User:alice``."""
    text = text_of(node)
    word = next((word for word in words_allowed if text.startswith(word)), None)
    if word is None or not is_name(text.removeprefix(word)):
        expected = " or ".join(f"{word}NAME" for word in words_allowed)
        raise refusal(f"{what} must be {expected}, not {text or 'this'}", node)
    if text == EVERYBODY and GROUP not in words_allowed:
        raise refusal(f"{what} cannot be {EVERYBODY}", node)
    return text


def listed(top: MappingNode, key: str) -> Iterator[Node]:
    """Yield the items of a key's list; none where the key is absent or null."""
    node = top.entries.get(key)
    if node is None or node.kind is YamlKind.NULL:
        return
    if not isinstance(node, ListNode):
        raise refusal(f"{key} must be a list", node)
    yield from node.items


# The rules of an access file.

if TYPE_CHECKING:
    Roles = Mapping[str, frozenset[AccessOperation]]

MAX_RULES: Final = 10_000
_OPERATIONS: Final = {operation.value: frozenset({operation}) for operation in AccessOperation}
_BUILT_IN: Final = {**ROLES, **ALIASES}
_EFFECTS: Final = ("allow", "deny")


def read_roles(top: MappingNode) -> Roles:
    """Return the roles of the file's own."""
    node = top.entries.get("roles")
    if node is None:
        return {}
    if not isinstance(node, MappingNode):
        raise refusal("roles must be a mapping of names to lists of operations", node)
    for name, position in node.key_positions.items():
        if name in _BUILT_IN or name in _OPERATIONS:
            raise InvalidDocument(f"{name} is the name of a built-in role or operation; take another name", position)
    return {name: _operations(given, _OPERATIONS) for name, given in node.entries.items()}


def read_rules(top: MappingNode, roles: Roles, path: str) -> tuple[AccessRule, ...]:
    """Return all rules: of administrators, of ``rules``, of anonymous callers."""
    known = {**_OPERATIONS, **_BUILT_IN, **roles}
    found = [administrator(name, source=source) for name, source in _admins(top, path)]
    for node in listed(top, "rules"):
        found += _rules(node, known, path, to=None)
        if len(found) > MAX_RULES:
            raise refusal(
                f"more than {MAX_RULES} rules; a rule with several principals or resources counts as several", node
            )
    for node in listed(top, "anonymous"):
        found += _rules(node, known, path, to=ANONYMOUS)
    return tuple(found)


def _admins(top: MappingNode, path: str) -> Iterator[tuple[str, str]]:
    for node in listed(top, "admins"):
        name = principal(node, what="an administrator")
        if name in {ANONYMOUS, "User:*"}:
            raise refusal(f"{name} cannot be an administrator", node)
        yield name, f"{path}:{node.position.line}"


def _rules(node: Node, known: Roles, path: str, *, to: str | None) -> Iterator[AccessRule]:
    """Yield the rules of one entry: one for each principal and resource."""
    entry = block(
        node,
        what="a rule",
        required=("on",) if to is not None else ("to", "on"),
        optional=_EFFECTS,
    ).entries
    effects = [word for word in _EFFECTS if word in entry]
    if len(effects) != 1:
        raise refusal("a rule needs allow or deny, and not both", node)
    operations = _operations(entry[effects[0]], known)
    names = [to] if to is not None else [principal(given, what="to") for given in each(entry["to"])]
    patterns = [_pattern(given) for given in each(entry["on"])]
    if not names or not patterns:
        raise refusal("a rule needs at least one principal and one resource", node)
    source = f"{path}:{node.position.line}"
    for name in names:
        for pattern in patterns:
            yield AccessRule(name, effects[0] == "allow", operations, pattern, source)


def _operations(node: Node, known: Roles) -> frozenset[AccessOperation]:
    """Return the operations that are listed, by their names or by names of roles."""
    given = each(node)
    if not given:
        raise refusal("a list of operations must have at least one", node)
    if len(given) == 1:
        return _operations_of_name(given[0], known)
    return frozenset[AccessOperation]().union(*(_operations_of_name(item, known) for item in given))


def _operations_of_name(node: Node, known: Roles) -> frozenset[AccessOperation]:
    text = text_of(node)
    found = known.get(text)
    if found is None:
        raise refusal(f"{text or 'this'} is neither an operation nor a role; {likely(text, known)}", node)
    return found


def _pattern(node: Node) -> ResourcePattern:
    try:
        return _parsed(text_of(node))
    except InvalidPattern as mistake:
        raise refusal(str(mistake), node) from None


_parsed = cached_if_short(10_000, longest=500)(parse_pattern)


# The issuers of an access file.

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


def load_access_file(
    path: Path, files: FileSnapshot | None = None, *, certificate_prefix: str | None = None
) -> AccessFile:
    """Return the declarations of the file at ``path``, with the files that it names; raise ``InvalidAccessFile``.

    ``certificate_prefix`` is that of the names in certificates, if these name callers.
    """
    snapshot = FileSnapshot() if files is None else files
    data = snapshot.read(path, most=MAX_BYTES)
    try:
        return _read(data.decode(), path, snapshot, certificate_prefix)
    except UnicodeDecodeError:
        raise InvalidAccessFile(str(path), "the file is not UTF-8") from None
    except InvalidDocument as mistake:
        raise InvalidAccessFile(str(path), mistake.problem, position=mistake.position) from None


def _read(text: str, path: Path, files: FileSnapshot, certificate_prefix: str | None) -> AccessFile:
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


def _users(
    top: MappingNode, path: Path, files: FileSnapshot
) -> tuple[Mapping[str, StoredUser], dict[str, PlaceInFile]]:
    users: dict[str, StoredUser] = {}
    places: dict[str, PlaceInFile] = {}
    for name, node, position in _named_entries(top, "users"):
        if not is_user_name(name):
            raise InvalidDocument(f"{name} has a meaning of its own in rules; take another name", position)
        users[name] = StoredUser(name, _hash(node, name))
        places[USER + name] = PlaceInFile(str(path), position)
    if "htpasswd" not in top.entries:
        return users, places
    other = path.parent / words(top.entries["htpasswd"], what="htpasswd")
    for line in read_htpasswd(files.read(other), path=str(other)):
        position = Position(line.line, 1)
        if line.name in users:
            raise InvalidAccessFile(str(other), f"{line.name} is also one of the users in {path}", position=position)
        users[line.name] = StoredUser(line.name, line.stored, line.is_disabled)
        places[USER + line.name] = PlaceInFile(str(other), position)
    return users, places


def _groups(top: MappingNode, path: Path, places: dict[str, PlaceInFile]) -> dict[str, frozenset[str]]:
    groups: dict[str, frozenset[str]] = {}
    for name, node, position in _named_entries(top, "groups"):
        members = listed(MappingNode(node.position, {name: node}, {}), name)
        groups[GROUP + name] = frozenset(
            principal(member, what=f"a member of {name}", words_allowed=(USER, SERVICE)) for member in members
        )
        places[GROUP + name] = PlaceInFile(str(path), position)
    return groups


def _named_entries(top: MappingNode, key: str) -> Iterable[tuple[str, Node, Position]]:
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


def _proxy(node: Node, folder: Path, files: FileSnapshot) -> TrustedProxy:
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


def _secret(path: Path, files: FileSnapshot) -> str:
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
