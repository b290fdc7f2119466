r"""Names of callers from their client certificates, by rules in Kafka's grammar.

::

    rules = rule { "," rule }          # the first that matches decides
    rule  = [ "SAN-URI:" | "SAN-DNS:" | "SAN-EMAIL:" ] ( "DEFAULT" | regex )
    regex = "RULE:" pattern "/" replacement "/" [ "L" | "U" ]

A pattern is a regular expression, which must match the whole distinguished name (RFC 4514), or the whole alternative
name where the rule begins with ``SAN-``. ``$1`` in the replacement is its first group; ``L`` and ``U`` change the case.
A slash in a pattern is written ``\/``.

Source: Kafka's documentation of ``ssl.principal.mapping.rules``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

import regex
from cryptography import x509

from counterfoil.registry.access.identity import CallerIdentity
from counterfoil.registry.access.rules import USER, is_name, is_user_name
from counterfoil.schema.caches import cached_by_size
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.texts import excerpt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


_MAX_SOURCE_CHARACTERS: Final = 4096
_MATCH_TIMEOUT_S: Final = 0.1
_CACHE_BYTES: Final = 16 * 1024 * 1024
_BYTES_AN_IDENTITY: Final = 500
_ESCAPED: Final = r"((?:\\.|[^\\/])*)"
_RULE: Final = re.compile(rf"\s*(SAN-(?:URI|DNS|EMAIL):)?(?:(DEFAULT)|RULE:{_ESCAPED}/{_ESCAPED}/([LU]?))\s*(?:,|$)")
_REFERENCE: Final = re.compile(r"\\(.)|\$([0-9])", re.DOTALL)


class InvalidPrincipalRules(CounterfoilError):
    """Rules for the names of certificates that cannot be read."""

    exit_code = ExitCode.USAGE


class NameSource(Enum):
    """The part of a certificate that a rule reads; the value stands before the rule."""

    SUBJECT = ""
    URI = "SAN-URI:"
    DNS = "SAN-DNS:"
    EMAIL = "SAN-EMAIL:"


@dataclass(frozen=True, slots=True)
class PrincipalRule:
    """One rule. Without ``pattern`` it is ``DEFAULT``: the name is the part itself."""

    source: NameSource
    pattern: regex.Pattern[str] | None = None
    replacement: str = ""
    case: str = ""

    def name_of(self, text: str) -> str | None:
        """Return the name that the rule makes of ``text``, or None if it does not match."""
        if self.pattern is None:
            return text
        try:
            found = self.pattern.fullmatch(text, timeout=_MATCH_TIMEOUT_S)
        except TimeoutError:
            return None
        if found is None:
            return None
        name = _REFERENCE.sub(lambda part: part[1] or found[int(part[2])] or "", self.replacement)
        return {"L": name.lower(), "U": name.upper()}.get(self.case, name)


class PrincipalRules:
    """The rules of a server; ``prefix`` stands before the names."""

    def __init__(self, rules: tuple[PrincipalRule, ...], *, prefix: str = "") -> None:
        self._rules = rules
        self.prefix = prefix
        self.identify: Callable[[bytes], CallerIdentity | None] = cached_by_size(
            _CACHE_BYTES, size_of=lambda _, der: len(der) + _BYTES_AN_IDENTITY
        )(self._identify)
        """Return whom a certificate in DER form names, until it ends, or None if no rule matches."""

    def _identify(self, der: bytes) -> CallerIdentity | None:
        try:
            certificate = x509.load_der_x509_certificate(der)
            name = self.name_of(_texts(certificate))
            expires = certificate.not_valid_after_utc.timestamp()
        except ValueError:
            return None
        if name is None or not is_name(name) or not is_user_name(self.prefix + name):
            return None
        return CallerIdentity(USER + self.prefix + name, method="certificate", expires=expires)

    def name_of(self, texts: Mapping[NameSource, tuple[str, ...]]) -> str | None:
        """Return the name by the first rule that matches one of the texts of its source."""
        for rule in self._rules:
            for text in texts.get(rule.source, ()):
                name = rule.name_of(text) if len(text) <= _MAX_SOURCE_CHARACTERS else None
                if name is not None:
                    return name
        return None


def parse_principal_rules(text: str, *, prefix: str = "") -> PrincipalRules:
    """Return the rules in ``text``; raise ``InvalidPrincipalRules``, which names the mistake."""
    rules: list[PrincipalRule] = []
    position = 0
    while position < len(text.rstrip()):
        found = _RULE.match(text, position)
        if found is None:
            raise InvalidPrincipalRules(
                f"{excerpt(text[position:])!r} is no rule for names of certificates; expected DEFAULT or "
                "RULE:pattern/replacement/ with L or U after it, with commas between rules"
            )
        rules.append(_rule(found))
        position = found.end()
    if not rules:
        raise InvalidPrincipalRules("there is no rule for names of certificates; DEFAULT is the distinguished name")
    return PrincipalRules(tuple(rules), prefix=prefix)


def _rule(found: re.Match[str]) -> PrincipalRule:
    source = NameSource(found[1] or "")
    if found[2]:
        return PrincipalRule(source)
    try:
        pattern = regex.compile(found[3])
    except regex.error as mistake:
        raise InvalidPrincipalRules(f"{found[3]!r} is no regular expression: {mistake}") from None
    for _, number in _REFERENCE.findall(found[4]):
        if number and int(number) > pattern.groups:
            raise InvalidPrincipalRules(f"${number} in {found[4]!r}: the pattern has {pattern.groups} groups")
    return PrincipalRule(source, pattern, found[4], found[5])


def _texts(certificate: x509.Certificate) -> dict[NameSource, tuple[str, ...]]:
    """Return the parts that rules can read; raise ``ValueError`` for a malformed certificate."""
    found: dict[NameSource, tuple[str, ...]] = {}
    if list(certificate.subject):
        found[NameSource.SUBJECT] = (certificate.subject.rfc4514_string(),)
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return found
    except x509.DuplicateExtension as mistake:
        raise ValueError(str(mistake)) from None
    found[NameSource.URI] = tuple(names.get_values_for_type(x509.UniformResourceIdentifier))
    found[NameSource.DNS] = tuple(names.get_values_for_type(x509.DNSName))
    found[NameSource.EMAIL] = tuple(names.get_values_for_type(x509.RFC822Name))
    return found
