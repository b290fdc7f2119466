"""Every address that a page has: those of a server, and those of a folder of files.

Sources: RFC 3986 (segments, percent-encoding); the WHATWG URL Standard, by which browsers remove the segments ``.``,
``..`` and their percent-encoded forms from a path, whatever a link says.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Literal, TypeAlias
from urllib.parse import quote, quote_plus

Parameter: TypeAlias = str | int | bool | None
"""A value in a query: what is empty, zero, false or None is left out."""
NameForm: TypeAlias = Literal["path", "query"]
"""Where a link has the name of a subject: as a segment of the path, or in the query."""

_PLAIN: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-")
_NEEDS_NO_QUOTING: Final = re.compile(r"[A-Za-z0-9_.-]+").fullmatch
_IS_PLAIN_PLACE: Final = re.compile(r"[A-Za-z0-9.-]*").fullmatch
LATEST: Final = "latest"
UI: Final = "/ui"
MOST_ADDRESS: Final = 8_000
"""The longest address of a link, in characters: a longer one is refused by servers and proxies, and is no link."""
_UNDATED: Final = frozenset(
    {"search", "id", "guid", "try", "decode", "refusals", "refusal", "rules", "rule", "help", "registry"}
)
"""The kinds of pages that are the same at every moment, or have no earlier state."""
_MOST_ANCHOR: Final = 120
_UNSAFE_SEGMENTS: Final = frozenset({"", ".", ".."})


def segment(text: str) -> str:
    """Return a text as one segment of a path; a lone surrogate, which no address can have, becomes ``?``.

    >>> segment("com/shop/order.proto"), segment(":.eu:orders-value")
    ('com%2Fshop%2Forder.proto', ':.eu:orders-value')
    """
    return text if _NEEDS_NO_QUOTING(text) else quote(text.encode("utf-8", "replace"), safe=":!$'()*,;@")


def operand(subject: str, version: int | str | None = None) -> str:
    """Return the operand of a comparison: ``subject@version``, or ``subject@latest``.

    >>> operand("orders-value", 7), operand("orders-value")
    ('orders-value@7', 'orders-value@latest')
    """
    return f"{subject}@{LATEST if version is None else version}"


def split_operand(text: str) -> tuple[str, str]:
    """Return the subject and the version that an operand names; it is split at its last ``@``.

    >>> split_operand("a@b@7"), split_operand("orders-value")
    (('a@b', '7'), ('orders-value', 'latest'))
    """
    subject, found, version = text.rpartition("@")
    return (subject, version) if found and (version == LATEST or version.isdecimal()) else (text, LATEST)


def anchor(kind: str, name: str) -> str:
    """Return the name of a place in a page: unique for the kind and the name, whatever characters the name has.

    >>> anchor("e", "customer.email"), anchor("e", "a b")
    ('e-customer.email', 'e-a_20_b')
    """
    if len(name) <= _MOST_ANCHOR and _IS_PLAIN_PLACE(name):
        return f"{kind}-{name}"
    spelt = "".join(each if each in _PLAIN else f"_{ord(each):x}_" for each in name[: _MOST_ANCHOR + 1])
    if len(spelt) <= _MOST_ANCHOR:
        return f"{kind}-{spelt}"
    return f"{kind}-{spelt[:_MOST_ANCHOR]}_{_digest(name)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class Section(StrEnum):
    """The entries of the navigation, in its order; a frame lists those that its server has and its viewer may use."""

    SUBJECTS = "Subjects"
    CHANGES = "Changes"
    COMPARE = "Compare"
    TRY = "Try a change"
    DECODE = "Decode"
    REFUSALS = "Refusals"
    RULES = "Rules"
    CONTRACTS = "Contracts"
    BRIDGES = "Bridges"
    REGISTRY = "Registry"


_SECTION_PAGES: Final[Mapping[Section, tuple[str, str]]] = MappingProxyType(
    {
        Section.SUBJECTS: ("subjects", "/subjects"),
        Section.CHANGES: ("changes", "/changes"),
        Section.COMPARE: ("compare", "/compare"),
        Section.TRY: ("try", "/try"),
        Section.DECODE: ("decode", "/decode"),
        Section.REFUSALS: ("refusals", "/refusals"),
        Section.RULES: ("rules", "/rules"),
        Section.CONTRACTS: ("contracts", "/contracts"),
        Section.BRIDGES: ("bridges", "/bridges"),
        Section.REGISTRY: ("registry", "/admin/index"),
    }
)


class PageLinks(ABC):
    """The addresses of pages. An empty address means that there is no such page: what would be a link is a text."""

    __slots__ = ()

    @abstractmethod
    def page(self, kind: str, path: str, /, **query: Parameter) -> str:
        """Return the address of a page of a kind at a path below the first page."""

    @abstractmethod
    def of_subject(self, kind: str, subject: str, version: int | str | None = None, /, **query: Parameter) -> str:
        """Return the address of a page about a subject, or about one of its versions."""

    @abstractmethod
    def static(self, name: str) -> str:
        """Return the address of a static file."""

    @abstractmethod
    def api(self, path: str) -> str:
        """Return the address of a resource of the API, for scripts."""

    # Search and lists.

    def home(self) -> str:
        """Return the address of the first page."""
        return self.page("home", "/")

    def search(
        self,
        query: str = "",
        *,
        kind: str = "",
        lang: str = "",
        context: str = "",
        within: str = "",
        after: str = "",
    ) -> str:
        """Return the address of a search; ``within`` is ``latest`` (what an empty one means) or ``any``."""
        filters: dict[str, Parameter] = {"kind": kind, "lang": lang, "context": context, "in": within, "after": after}
        return self.page("search", "/search", q=query, **filters)

    def subjects(self, *, prefix: str = "", context: str = "", deleted: bool = False, after: str = "") -> str:
        """Return the address of a list of subjects."""
        return self.page("subjects", "/subjects", prefix=prefix, context=context, deleted=deleted, after=after)

    def changes(
        self,
        *,
        kind: str = "",
        subject: str = "",
        by: str = "",
        since: str = "",
        until: str = "",
        before: int = 0,
    ) -> str:
        """Return the address of changes, the newest first; those before a number if ``before`` is given."""
        filters: dict[str, Parameter] = {
            "kind": kind,
            "subject": subject,
            "actor": by,
            "from": since,
            "to": until,
            "before": before,
        }
        return self.page("changes", "/changes", **filters)

    def refusals(self, *, subject: str = "", after: str = "") -> str:
        """Return the address of the list of refused registrations."""
        return self.page("refusals", "/refusals", subject=subject, after=after)

    def refusal(self, request_id: str) -> str:
        """Return the address of a refused registration."""
        if request_id in _UNSAFE_SEGMENTS:
            return self.page("refusals", "/refusals", request=request_id)
        return self.page("refusal", f"/refusals/{segment(request_id)}")

    def rules(self, *, lang: str = "", policy: str = "", query: str = "") -> str:
        """Return the address of the list of rules."""
        return self.page("rules", "/rules", lang=lang, policy=policy, q=query)

    def rule(self, rule: str) -> str:
        """Return the address of the page of a rule."""
        return (
            self.page("rules", "/rules") if rule in _UNSAFE_SEGMENTS else self.page("rule", f"/rules/{segment(rule)}")
        )

    # What a registry has: subjects, versions, elements, ids, topics.

    def subject(self, subject: str, *, tab: str = "", after: int = 0) -> str:
        """Return the address of a subject."""
        return self.of_subject("subject", subject, tab=tab, after=after)

    def version(
        self,
        subject: str,
        version: int | str | None = None,
        *,
        view: str = "",
        lines: str = "",
        prefix: str = "",
        after: str = "",
        at: str = "",
    ) -> str:
        """Return the address of a version, the latest one if it is None.

        ``lines`` is the first line of the window of a source; ``at`` is a pointer or the path of an element, which the
        server redirects to its place.
        """
        chosen = LATEST if version is None else version
        return self.of_subject("version", subject, chosen, view=view, lines=lines, prefix=prefix, after=after, at=at)

    def element(self, subject: str, path: str) -> str:
        """Return the address of the life of an element."""
        return self.of_subject("element", subject, path=path)

    def references(self, subject: str, version: int, *, direction: str = "", depth: int = 0) -> str:
        """Return the address of the references of a version."""
        return self.of_subject("references", subject, version, direction=direction, depth=depth)

    def schema_id(self, schema_id: int, *, context: str = "") -> str:
        """Return the address of what has an id."""
        return self.page("id", f"/ids/{schema_id}", context=context)

    def guid(self, guid: str) -> str:
        """Return the address of what has a guid."""
        return self.page("guid", f"/guids/{segment(guid)}")

    def topic(self, topic: str) -> str:
        """Return the address of a topic."""
        if topic in _UNSAFE_SEGMENTS:
            return self.page("topic", "/topic", name=topic)
        return self.page("topic", f"/topics/{segment(topic)}")

    # Questions.

    def compare(
        self, earlier: str = "", later: str = "", *, policy: str = "", view: str = "", show: str = "", proof: str = ""
    ) -> str:
        """Return the address of a comparison of two operands."""
        filters: dict[str, Parameter] = {"from": earlier, "to": later, "policy": policy, "view": view, "show": show}
        return self.page("compare", "/compare", **filters, proof=proof)

    def draft(self, *, subject: str = "") -> str:
        """Return the address of the form that tries a draft."""
        return self.page("try", "/try", subject=subject)

    def decode(self, *, subject: str = "", topic: str = "") -> str:
        """Return the address of the form that decodes bytes."""
        return self.page("decode", "/decode", subject=subject, topic=topic)

    def registry(self) -> str:
        """Return the address of the page about the registry itself and its search index."""
        return self.page("registry", "/admin/index")

    def help(self, part: str = "") -> str:
        """Return the address of the help, or of a part of it."""
        found = self.page("help", "/help")
        return f"{found}#{part}" if part and found else found

    def section(self, section: Section) -> str:
        """Return the address of the first page of a section."""
        return self.page(*_SECTION_PAGES[section])


def _is_name(key: str, value: Parameter) -> bool:
    """Return whether a parameter is a name, which may be empty."""
    return key == "name" and value is not None


def _query(values: Mapping[str, Parameter]) -> str:
    kept = [f"{key}={_encoded(value)}" for key, value in values.items() if value or _is_name(key, value)]
    return f"?{'&'.join(kept)}" if kept else ""


def _encoded(value: Parameter) -> str:
    text = "true" if value is True else str(value)
    return text if _NEEDS_NO_QUOTING(text) else quote_plus(text.encode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class ServerLinks(PageLinks):
    """The addresses of a server's pages.

    ``prefix`` is the path that a proxy removes, such as ``/registry``, empty for none. ``names`` is where links have
    the names of subjects: in the path, or in the query, for proxies that decode ``%2F``. ``as_of`` is the earlier
    moment that the page shows, which its links keep. ``assets`` is the hash of the static files.
    """

    prefix: str = ""
    names: NameForm = "path"
    as_of: str = ""
    assets: str = ""

    def page(self, kind: str, path: str, /, **query: Parameter) -> str:
        """Return the address of a page at a path below ``/ui``."""
        values = {**query, "as_of": self.as_of} if self.as_of and kind not in _UNDATED else query
        found = f"{self.prefix}{UI}{path}{_query(values)}"
        return found if len(found) <= MOST_ADDRESS else ""

    def of_subject(self, kind: str, subject: str, version: int | str | None = None, /, **query: Parameter) -> str:
        """Return the address of a page about a subject: ``/subjects/{s}/…``, or ``/subject?name=…``."""
        ending = {"element": "/elements", "references": "/references"}.get(kind, "")
        if self.names == "query" or subject in _UNSAFE_SEGMENTS:
            part = ending.removeprefix("/")
            return self.page(kind, "/subject", name=subject, version=version, part=part, **query)
        numbered = "" if version is None else f"/versions/{version}"
        return self.page(kind, f"/subjects/{segment(subject)}{numbered}{ending}", **query)

    def static(self, name: str) -> str:
        """Return the address of a static file, below the hash of all of them."""
        return f"{self.prefix}{UI}/static/{self.assets}/{name}"

    def api(self, path: str) -> str:
        """Return the address of a resource of the API on the same server."""
        return f"{self.prefix}{path}"

    def now(self) -> ServerLinks:
        """Return the addresses of the same pages now."""
        return replace(self, as_of="")


# A folder of files: a site without a server, or the single file of a report.

_MOST_NAME: Final = 120
"""The longest name of a file before its ending: file systems allow 255 bytes, archives less."""


@dataclass(frozen=True, slots=True)
class FileLinks(PageLinks):
    """The addresses of pages in a folder of files, as seen from a file ``depth`` folders below it.

    ``pages`` are the kinds of pages that the folder has; all others have no address. A report of one file has none.
    """

    pages: Collection[str] = field(default_factory=frozenset)
    depth: int = 0

    def page(self, kind: str, path: str, /, **query: Parameter) -> str:
        """Return the address of a file, empty if the folder has no pages of its kind."""
        if kind not in self.pages or any(query.values()):
            return ""
        name = "index" if path == "/" else path.strip("/")
        return f"{'../' * self.depth}{name}.html"

    def of_subject(self, kind: str, subject: str, version: int | str | None = None, /, **query: Parameter) -> str:
        """Return the address of the file about a subject or a version."""
        numbered = "" if version is None else f".v{version}"
        return self.page(kind, f"/subjects/{file_name(subject)}{numbered}", **query)

    def static(self, name: str) -> str:
        """Return no address: the style of a file is inside it."""
        del name
        return ""

    def api(self, path: str) -> str:
        """Return no address: files have no API."""
        del path
        return ""


def file_name(text: str) -> str:
    """Return a name as that of a file on any file system: the same only for the same name, also where case is ignored.

    >>> file_name("orders-value"), file_name("Orders/x")
    ('orders-value', '=4f=rders=2f=x')
    """
    plain = "abcdefghijklmnopqrstuvwxyz0123456789-_"
    spelt = "".join(each if each in plain else f"={ord(each):x}=" for each in text)
    if len(spelt) <= _MOST_NAME:
        return spelt or "=="
    return f"{spelt[:_MOST_NAME]}={_digest(text)}"
